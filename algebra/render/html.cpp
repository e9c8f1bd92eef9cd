#include "colours.h"

#include <inlay/algebra/render/escape.h>
#include <inlay/algebra/render/html.h>

#include <algorithm>

namespace inlay {
namespace {

// What the page does, in plain JavaScript. Cells that belong together share a key: the threads of a cell in
// thread-value pictures and bank pictures, its value everywhere else. Marking dims every other cell of the
// page.
constexpr const char* script = R"js(
const cells = [...document.querySelectorAll('td')];
const byKey = new Map();
for (const cell of cells)
  for (const key of (cell.dataset.k || '').split(' '))
    if (key) byKey.set(key, [...(byKey.get(key) || []), cell]);
let pinned = null;
const about = document.getElementById('about');
function mark(keys) {
  document.body.classList.toggle('marking', keys.length > 0);
  for (const cell of cells) cell.classList.remove('on');
  for (const key of keys) for (const cell of byKey.get(key) || []) cell.classList.add('on');
}
function keysOf(cell) { return (cell.dataset.k || '').split(' ').filter(k => k); }
function describe(cell) {
  const d = cell.dataset, parts = [];
  if (d.c) parts.push('coordinate ' + d.c);
  if (d.i) parts.push('index ' + d.i);
  if (d.v) parts.push('value ' + d.v);
  if (d.n) parts.push(d.n);
  about.textContent = parts.join('   ');
}
document.addEventListener('mouseover', e => {
  const cell = e.target.closest('td');
  if (!cell) return;
  describe(cell);
  if (!pinned) mark(keysOf(cell));
});
document.addEventListener('mouseout', e => { if (!pinned && e.target.closest('td')) mark([]); });
function pin(cell) {
  pinned = pinned === cell ? null : cell;
  describe(cell);
  mark(keysOf(cell));
}
document.addEventListener('click', e => { if (e.target.closest('td')) pin(e.target.closest('td')); });
// One cell of each table is reached by Tab, the others from it by the arrows.
for (const cell of cells) cell.tabIndex = -1;
for (const table of document.querySelectorAll('table')) if (table.querySelector('td')) table.querySelector('td').tabIndex = 0;
document.addEventListener('focusin', e => {
  const cell = e.target.closest('td');
  if (!cell) return;
  for (const other of cell.closest('table').querySelectorAll('td')) other.tabIndex = other === cell ? 0 : -1;
  describe(cell);
  if (!pinned) mark(keysOf(cell));
});
const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
document.addEventListener('keydown', e => {
  const cell = e.target.closest('td');
  if (e.key === 'Escape') { pinned = null; mark([]); }
  if (!cell) return;
  if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); pin(cell); }
  if (!step[e.key]) return;
  e.preventDefault();
  const body = cell.closest('tbody').rows, [down, right] = step[e.key];
  const row = body[[...body].indexOf(cell.parentElement) + down], to = row && row.cells[cell.cellIndex + right];
  if (to && to.tagName === 'TD') to.focus();
});
for (const radio of document.querySelectorAll('input[name=face]'))
  radio.addEventListener('change', () => {
    for (const cell of cells) cell.textContent = cell.dataset[radio.value] || '';
  });
document.getElementById('thread').addEventListener('input', e => {
  pinned = e.target.value === '' ? null : e.target;
  mark(pinned ? ['T' + Number(e.target.value)] : []);
});
)js";

constexpr const char* style = R"css(
:root{color-scheme:light dark;--back:#fff;--text:#111;--pale:#555;--line:#ccc;--mark:#c00}
@media (prefers-color-scheme:dark){:root{--back:#15181c;--text:#e8e8e8;--pale:#a8adb3;--line:#3a3f45;--mark:#ff6b6b}}
body{font:14px system-ui,sans-serif;margin:1.5em;color:var(--text);background:var(--back)}
h1{font-size:1.15em;font-family:monospace;margin:0 0 .6em}
h2{font-size:1em;font-family:monospace;margin:0}
p{margin:.2em 0 .6em;color:var(--pale)}
h3{font-size:.9em;font-family:monospace;margin:.6em 0 .2em}
header{position:sticky;top:0;background:var(--back);padding:.4em 0;border-bottom:1px solid var(--line);margin-bottom:1em;z-index:1}
fieldset{border:0;margin:0;padding:0;display:inline}
legend{float:left;padding:0;margin-right:.6em}
label{margin-right:1em}
#about{font-family:monospace;min-height:1.4em;white-space:pre}
main{display:flex;flex-wrap:wrap;gap:2em;align-items:flex-start}
section{max-width:100%;overflow-x:auto}
table{border-collapse:collapse;font:12px monospace}
td{border:1px solid #555;color:#111;padding:.25em .45em;text-align:center;cursor:pointer;min-width:1.6em;height:1.3em}
th{font-weight:normal;color:var(--pale);padding:.2em .45em;text-align:right}
thead th{text-align:center}
.marking td{opacity:.25}
.marking td.on{opacity:1;outline:2px solid var(--mark);outline-offset:-2px}
td:focus{opacity:1;outline:3px solid var(--mark);outline-offset:-3px}
)css";

std::string attribute(const char* name, std::string_view value) {
  return value.empty() ? "" : std::string(" data-") + name + "=\"" + escape_xml(value) + "\"";
}

std::string keys_of(const Cell& cell, Palette palette) {
  if (palette == Palette::grey) return "v" + cell.value;
  std::string keys;
  for (const unsigned thread : cell.threads) keys += (keys.empty() ? "T" : " T") + std::to_string(thread);
  return keys;
}

void append_panel(std::string& out, const Panel& panel) {
  if (!panel.title.empty()) out += "<h3>" + escape_xml(panel.title) + "</h3>\n";
  out += "<table><thead><tr><th></th>";
  for (const std::string& label : panel.column_labels) out += "<th>" + escape_xml(label) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (std::size_t row = 0; row < panel.rows; ++row) {
    out += "<tr><th>" + escape_xml(row < panel.row_labels.size() ? panel.row_labels[row] : "") + "</th>";
    for (std::size_t column = 0; column < panel.columns; ++column) {
      const Cell& cell = panel.at(row, column);
      const detail::Colour& colour = detail::colour_of(panel.palette, cell.colour);
      std::string borders;
      const auto other = [&](std::size_t r, std::size_t c) {
        return r >= panel.rows || c >= panel.columns || panel.at(r, c).group != cell.group;
      };
      if (cell.group >= 0) {
        if (other(row + 1, column)) borders += ";border-bottom:2px solid #000";
        if (other(row, column + 1)) borders += ";border-right:2px solid #000";
        if (row == 0) borders += ";border-top:2px solid #000";
        if (column == 0) borders += ";border-left:2px solid #000";
      }
      out += "<td style=\"background:" + detail::hex(colour) +
             (detail::is_dark(colour) ? ";color:#fff" : "") + borders + "\"" + attribute("l", cell.label) +
             attribute("v", cell.value) + attribute("i", cell.index) + attribute("c", cell.coordinate) +
             attribute("k", keys_of(cell, panel.palette)) + attribute("n", cell.note) + ">" +
             escape_xml(cell.label) + "</td>";
    }
    out += "</tr>\n";
  }
  out += "</tbody></table>\n";
}

} // namespace

std::string render_html(const std::vector<Picture>& pictures, std::string_view title) {
  check_drawable("as HTML", cell_count(pictures), max_picture_cells);
  const std::string heading = escape_xml(title);
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + heading +
                    "</title>\n<style>" + style + "</style></head><body>\n<header><h1>" + heading +
                    "</h1>\n<fieldset><legend>cells show</legend>";
  const char* const faces[][2] = {{"l", "label"}, {"v", "value"}, {"i", "index"}, {"c", "coordinate"}};
  for (const auto& [key, name] : faces)
    out += std::string("<label><input type=\"radio\" name=\"face\" value=\"") + key + "\"" +
           (*key == 'l' ? " checked" : "") + "> " + name + "</label>";
  out +=
      "</fieldset><label>thread <input id=\"thread\" type=\"number\" min=\"0\" style=\"width:5em\"></label>"
      "<div id=\"about\" role=\"status\">point at a cell, or go there by Tab and the arrows; a click or "
      "Enter keeps the "
      "mark</div></header>\n";
  const bool table =
      std::any_of(pictures.begin(), pictures.end(), [](const Picture& p) { return p.place.has_value(); });
  out += table ? "<main style=\"display:grid;justify-content:start\">\n" : "<main>\n";
  for (const Picture& picture : pictures) {
    out += (picture.place ? "<section style=\"grid-area:" + std::to_string(picture.place->first + 1) + "/" +
                                std::to_string(picture.place->second + 1) + "\"><h2>"
                          : std::string("<section><h2>")) +
           escape_xml(picture.title) + "</h2><p>" + escape_xml(picture.caption) + "</p>\n";
    for (const Panel& panel : picture.panels) append_panel(out, panel);
    out += "</section>\n";
  }
  return out + "</main>\n<script>" + script + "</script></body></html>\n";
}

} // namespace inlay
