#include "code_page.h"

#include <algorithm>
#include <fmt/format.h>
#include <inlay/algebra/render/escape.h>
#include <inlay/runtime/names.h>
#include <set>

namespace inlay::cli {
namespace {

namespace isa = runtime::isa;

constexpr const char* style = R"css(
:root{color-scheme:light dark;--back:#fff;--text:#111;--pale:#555;--line:#ccc;--mark:#fff3c4;--hot:#e8f1fb;--link:#0b57b0}
@media (prefers-color-scheme:dark){:root{--back:#15181c;--text:#e8e8e8;--pale:#a8adb3;--line:#3a3f45;--mark:#4a3f12;--hot:#1c2a3a;--link:#8ab8f0}}
body{font:14px system-ui,sans-serif;margin:1.2em;color:var(--text);background:var(--back)}
h1{font-size:1.15em;margin:0 0 .4em}
h2{font-size:1.05em;font-family:monospace;margin:1.2em 0 .4em;overflow-wrap:anywhere}
pre,table{font:12px/1.45 ui-monospace,monospace}
pre{overflow-x:auto;margin:.4em 0;padding:.4em;border:1px solid var(--line)}
header{position:sticky;top:0;background:var(--back);border-bottom:1px solid var(--line);padding:.4em 0;z-index:1}
fieldset{border:0;margin:.3em 0;padding:0}
legend{float:left;padding:0;margin-right:.8em}
label{margin-right:.9em;white-space:nowrap}
#about{min-height:1.4em;color:var(--pale)}
.code{overflow-x:auto;max-height:80vh;border:1px solid var(--line)}
table{border-collapse:collapse}
td{padding:0 .7em;white-space:pre}
th{font-weight:normal;text-align:left;color:var(--pale);padding:0 .7em}
tr.hot td:first-child{box-shadow:inset 4px 0 var(--link)}
tr.hot{background:var(--hot)}
tr.same{background:var(--mark)}
tr.source td{color:var(--pale);padding-top:.3em}
tr:focus,pre:focus,.code:focus{outline:2px solid var(--link);outline-offset:-2px}
tr[hidden]{display:none}
a{color:var(--link)}
)css";

// Rows are reached by the arrows, Home and End; Enter follows a branch, h goes to the hot loop. The instructions that name a register
// of the focused one are marked.
constexpr const char* script = R"js(
const rows = [...document.querySelectorAll('tr[data-k]')], about = document.getElementById('about');
const find = document.getElementById('find'), kinds = [...document.querySelectorAll('input[data-kind]')];
const registers = row => new Set((row.dataset.r || '').split(' ').filter(r => r));
function shown() {
  const off = new Set(kinds.filter(k => !k.checked).map(k => k.dataset.kind)), text = find.value.toLowerCase();
  let n = 0;
  for (const row of rows) {
    row.hidden = off.has(row.dataset.k) || (text && !row.textContent.toLowerCase().includes(text));
    n += row.hidden ? 0 : 1;
  }
  about.textContent = n + ' of ' + rows.length + ' instructions shown';
}
function marked(row) {
  const mine = registers(row), part = row.closest('section');
  let n = 0;
  for (const other of rows) {
    const on = other !== row && other.closest('section') === part && [...registers(other)].some(r => mine.has(r));
    other.classList.toggle('same', on);
    n += on ? 1 : 0;
  }
  about.textContent = row.dataset.about + (mine.size ? ', ' + n + ' other instructions name one of its registers' : '');
}
function to(row) { if (row) { row.hidden = false; row.focus(); row.scrollIntoView({block: 'nearest'}); } }
function next(row, step) {
  for (let k = rows.indexOf(row) + step; k >= 0 && k < rows.length; k += step)
    if (!rows[k].hidden) return rows[k];
}
for (const row of rows) {
  row.addEventListener('focus', () => marked(row));
  row.addEventListener('click', e => { if (!e.target.closest('a')) row.focus(); });
}
for (const link of document.querySelectorAll('td a'))
  link.addEventListener('click', e => { e.preventDefault(); to(document.getElementById(link.hash.slice(1))); });
document.addEventListener('keydown', e => {
  if (e.target === find) { if (e.key === 'Escape') { find.value = ''; shown(); } return; }
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  const row = e.target.closest ? e.target.closest('tr[data-k]') : null;
  const part = row ? row.closest('section') : document;
  let went = true;
  if (e.key === '/') find.focus();
  else if (e.key === 'h') to(part.querySelector('tr.hot'));
  else if (!row) went = false;
  else if (e.key === 'ArrowDown') to(next(row, 1));
  else if (e.key === 'ArrowUp') to(next(row, -1));
  else if (e.key === 'Home') to(part.querySelector('tr[data-k]:not([hidden])'));
  else if (e.key === 'End') to([...part.querySelectorAll('tr[data-k]:not([hidden])')].pop());
  else if (e.key === 'Enter' && row.querySelector('a')) row.querySelector('a').click();
  else went = false;
  if (went) e.preventDefault();
});
find.addEventListener('input', shown);
for (const kind of kinds) kind.addEventListener('change', shown);
shown();
)js";

std::string place(std::size_t part, std::uint64_t address) { return fmt::format("k{}-{:x}", part, address); }

/// `v4 v5 s0`: each register that the instruction names, by itself.
std::string registers(const isa::Instruction& i) {
  std::set<std::string> names;
  for (const isa::Operand& o : i.operands) {
    const char* file = o.kind == isa::OperandKind::vgpr   ? "v"
                       : o.kind == isa::OperandKind::agpr ? "a"
                       : o.kind == isa::OperandKind::sgpr ? "s"
                                                          : nullptr;
    for (unsigned n = 0; file != nullptr && n < o.width; ++n)
      names.insert(fmt::format("{}{}", file, o.index + n));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

void append_code(std::string& out, std::size_t number, const CodePart& part, const std::string& heading) {
  const isa::KernelReport& r = *part.report;
  std::set<std::uint64_t> known, hot;
  for (const auto& i : r.program.instructions) known.insert(i.address);
  if (r.hot)
    for (const std::size_t n : r.hot->trip) hot.insert(r.program.instructions[n].address);
  out += fmt::format("<div class=\"code\" tabindex=\"0\" role=\"region\" aria-label=\"instructions of {}\">"
                     "<table><thead><tr><th scope=\"col\">address</th><th scope=\"col\">kind</th><th "
                     "scope=\"col\">instruction</th></tr></thead><tbody>\n",
                     heading);
  for (const auto& i : r.program.instructions) {
    if (const std::string before = part.source ? part.source(i) : ""; !before.empty())
      out += "<tr class=\"source\"><td></td><td></td><td>" +
             escape_xml(before.substr(0, before.find_last_not_of('\n') + 1)) + "</td></tr>\n";
    const isa::Kind kind = isa::kind_of(i);
    const bool in_loop = hot.contains(i.address);
    std::string text = escape_xml(i.text);
    if (i.branch_target && known.contains(*i.branch_target))
      text += fmt::format("  <a href=\"#{}\" tabindex=\"-1\">to {:x}</a>", place(number, *i.branch_target),
                          *i.branch_target);
    out +=
        fmt::format("<tr id=\"{}\" tabindex=\"-1\" data-k=\"{}\" data-r=\"{}\" data-about=\"{:x}: {}{}\"{}>"
                    "<td>{:x}</td><td>{}</td><td>{}</td></tr>\n",
                    place(number, i.address), isa::to_string(kind), registers(i), i.address,
                    isa::to_string(kind), in_loop ? ", in the hot loop" : "", in_loop ? " class=\"hot\"" : "",
                    i.address, isa::letter(kind), text);
  }
  out += "</tbody></table></div>\n";
}

} // namespace

std::string code_page(const std::string& title, const std::string& introduction,
                      std::span<const CodePart> parts) {
  std::array<unsigned, 17> counts{};
  for (const CodePart& p : parts)
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += p.report->counts[k];
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                    escape_xml(title) + "</title>\n<style>" + style + "</style></head><body>\n<header><h1>" +
                    escape_xml(title) + "</h1>\n<fieldset><legend>show</legend>";
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const auto kind = static_cast<isa::Kind>(k);
    if (counts[k] > 0)
      out += fmt::format("<label><input type=\"checkbox\" data-kind=\"{0}\" checked> {1} {0} {2}</label>",
                         isa::to_string(kind), isa::letter(kind), counts[k]);
  }
  out += "</fieldset>\n<label>find <input id=\"find\" type=\"search\"></label>"
         "<span>/ to find, arrows from row to row, Enter follows a branch, h: the hot loop</span>"
         "<div id=\"about\" role=\"status\"></div></header>\n<main>\n";
  if (!introduction.empty())
    out +=
        "<pre tabindex=\"0\" role=\"region\" aria-label=\"report\">" + escape_xml(introduction) + "</pre>\n";
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const auto same = [&](const CodePart& p) { return p.report->name == parts[n].report->name; };
    std::string heading = escape_xml(runtime::demangled(parts[n].report->name));
    if (std::count_if(parts.begin(), parts.end(), same) > 1)
      heading += fmt::format(", {} of {}", n + 1, parts.size());
    out += "<section><h2>" + heading + "</h2>\n";
    if (!parts[n].text.empty())
      out += fmt::format("<pre tabindex=\"0\" role=\"region\" aria-label=\"report of {}\">{}</pre>\n",
                         heading, escape_xml(parts[n].text));
    append_code(out, n, parts[n], heading);
    out += "</section>\n";
  }
  return out + "</main>\n<script>" + script + "</script></body></html>\n";
}

} // namespace inlay::cli
