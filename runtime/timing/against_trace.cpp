// A modelled launch beside a thread trace of it.
#include <inlay/runtime/timing/thread_trace.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

namespace inlay::runtime::timing {
namespace {

using Json = nlohmann::ordered_json;

std::string kind_name(const isa::Instruction& i) {
  using isa::Kind;
  switch (isa::kind_of(i)) {
  case Kind::mfma: return "matrix";
  case Kind::valu: return "vector";
  case Kind::smem: return "scalar memory";
  case Kind::lds_read:
  case Kind::lds_write:
  case Kind::lds_other: return "lds";
  case Kind::load:
  case Kind::store:
  case Kind::atomic:
  case Kind::load_to_lds: return "memory";
  case Kind::wait: return "wait";
  case Kind::barrier: return "barrier";
  case Kind::branch: return "branch";
  default: return i.mnemonic == "s_endpgm" ? "end" : "scalar";
  }
}

std::string mnemonic_of(const std::string& text) { return text.substr(0, text.find(' ')); }

/// Encodings that the disassembler of a trace spells out and others leave away.
std::string plain(std::string m) {
  for (const char* end : {"_e32", "_e64", "_sdwa", "_dpp"})
    if (m.ends_with(end)) m.resize(m.size() - std::char_traits<char>::length(end));
  return m;
}

std::vector<double> ranks(const std::vector<double>& v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v[a] < v[b]; });
  std::vector<double> r(v.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j < order.size() && v[order[j]] == v[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) r[order[k]] = static_cast<double>(i + j - 1) / 2;
    i = j;
  }
  return r;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const auto x = ranks(a), y = ranks(b);
  const double n = static_cast<double>(x.size());
  if (x.size() < 2) return 1;
  double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sx += x[i], sy += y[i], sxx += x[i] * x[i], syy += y[i] * y[i], sxy += x[i] * y[i];
  const double d = std::sqrt((sxx - sx * sx / n) * (syy - sy * sy / n));
  return d > 0 ? (sxy - sx * sy / n) / d : 1;
}

/// Half the sum of the differences of shares: what would have to be moved.
double moved(const std::vector<InstructionClocks>& v) {
  double a = 0, b = 0, off = 0;
  for (const auto& i : v) a += i.measured, b += i.modelled;
  if (a <= 0 || b <= 0) return 0;
  for (const auto& i : v) off += std::abs(i.measured / a - i.modelled / b);
  return off / 2;
}

} // namespace

AgainstTrace compare_with_trace(const TimingReport& r, const Trace& t, const ChipTime& chip,
                                const ThreadTrace& m) {
  AgainstTrace a;
  a.launch_measured = m.clocks;
  a.launch_modelled = chip.clocks - chip.drain;
  a.mhz = m.mhz;
  const auto& program = t.program.instructions;
  // The same code, whatever address it is loaded at.
  std::map<std::uint64_t, std::size_t> at_offset;
  for (std::size_t k = 0; k < program.size(); ++k)
    at_offset[program[k].address - program.front().address] = k;
  std::vector<std::size_t> of_line(m.code.size(), ~std::size_t{0});
  const auto first = std::find_if(m.code.begin(), m.code.end(),
                                  [](const TracedCode& c) { return !c.text.starts_with(";"); });
  for (std::size_t n = 0; n < m.code.size(); ++n) {
    const TracedCode& c = m.code[n];
    if (c.text.starts_with(";")) continue;
    const auto found = at_offset.find(c.address - first->address);
    const std::string ours = found == at_offset.end() ? "nothing" : program[found->second].text;
    if (found == at_offset.end() ||
        plain(mnemonic_of(c.text)) != plain(mnemonic_of(program[found->second].text))) {
      char offset[32];
      std::snprintf(offset, sizeof offset, "+0x%llx",
                    static_cast<unsigned long long>(c.address - first->address));
      throw std::runtime_error(
          "the trace is of another kernel: at " + std::string(offset) + " it has '" + c.text +
          "', the file " + ours +
          "\n  hint   the code object that was traced, and --kernel when it holds several");
    }
    of_line[n] = found->second;
  }
  std::vector<double> measured(program.size(), 0), modelled(program.size(), 0);
  for (const TracedWave& w : m.waves) {
    std::uint32_t before = w.begin;
    for (const TracedInstruction& i : w.instructions) {
      const std::size_t k = of_line[i.line];
      if (k != ~std::size_t{0}) measured[k] += i.at + i.duration - before;
      before = i.at + i.duration;
    }
    a.measured_waves.push_back({"engine " + std::to_string(w.engine) + " SIMD " + std::to_string(w.simd) +
                                    " slot " + std::to_string(w.slot),
                                static_cast<double>(w.end - w.begin)});
  }
  for (const WaveTimeline& w : r.unit.waves) {
    for (const Segment& s : w.segments)
      if (s.cause == Cause::launch) {
        // From the wave's start to the first slot of its SIMD.
        modelled[s.instruction] += s.end - std::min(s.end, std::max(s.begin, w.launched));
      } else {
        // What passes after an issue until the next can be tried belongs to the one that waits, as in the trace.
        const bool after = s.cause == Cause::arbitration && s.instruction + 1 < program.size() &&
                           &s != &w.segments.back() && (&s)[1].instruction != s.instruction;
        modelled[after ? (&s)[1].instruction : s.instruction] += s.end - s.begin;
      }
    a.modelled_waves.push_back({"SIMD " + std::to_string(w.simd) + " workgroup " +
                                    std::to_string(w.workgroup) + " wave " + std::to_string(w.wave),
                                static_cast<double>(w.ended - w.launched)});
  }
  const double waves = static_cast<double>(std::max<std::size_t>(1, m.waves.size()));
  const double ours = static_cast<double>(std::max<std::size_t>(1, r.unit.waves.size()));
  std::map<std::string, InstructionClocks> kinds;
  std::vector<double> x, y;
  for (const auto& [offset, k] : at_offset) {
    InstructionClocks c{offset, program[k].text, kind_name(program[k]), measured[k] / waves,
                        modelled[k] / ours};
    if (c.measured == 0 && c.modelled == 0) continue;
    x.push_back(c.measured), y.push_back(c.modelled);
    InstructionClocks& sum = kinds[c.kind];
    sum.kind = c.kind;
    sum.measured += c.measured, sum.modelled += c.modelled;
    a.instructions.push_back(std::move(c));
  }
  for (auto& [name, c] : kinds) a.kinds.push_back(std::move(c));
  std::stable_sort(a.kinds.begin(), a.kinds.end(),
                   [](const auto& p, const auto& q) { return p.measured > q.measured; });
  a.misplaced = moved(a.instructions);
  a.kinds_off = moved(a.kinds);
  a.rank = spearman(x, y);
  for (const LoopTime& loop : r.loops) {
    TripClocks trip{loop.address - program.front().address, 0, 0, loop.clocks_per_trip};
    double sum = 0, n = 0;
    for (const TracedWave& w : m.waves) {
      std::int64_t before = -1;
      for (const TracedInstruction& i : w.instructions) {
        if (of_line[i.line] != loop.header) continue;
        const std::int64_t now = std::int64_t{i.at} + i.stall;
        if (before >= 0) sum += static_cast<double>(now - before), ++n;
        before = now;
      }
    }
    if (n == 0) continue;
    trip.measured = sum / n;
    trip.trips = n / waves + 1;
    a.loops.push_back(trip);
  }
  return a;
}

std::string to_text(const AgainstTrace& a) {
  std::string out;
  char line[320];
  const auto put = [&](auto... values) {
    std::snprintf(line, sizeof line, values...);
    out += line;
  };
  put("launch      %.0f clocks measured, %.0f modelled: %+.1f %%\n", a.launch_measured, a.launch_modelled,
      a.launch_measured > 0 ? 100 * (a.launch_modelled / a.launch_measured - 1) : 0.0);
  put("            %.1f %% of the clocks of a wave stand at another instruction, %.1f %% at another kind; "
      "rank of "
      "instructions %.2f\n",
      100 * a.misplaced, 100 * a.kinds_off, a.rank);
  if (!a.loops.empty()) out += "\n  loops                    trips   measured   modelled, clocks a trip\n";
  for (const TripClocks& l : a.loops)
    put("  +0x%-8llx %18.1f %10.0f %10.0f %+8.1f %%\n", static_cast<unsigned long long>(l.offset), l.trips,
        l.measured, l.modelled, 100 * (l.modelled / l.measured - 1));
  out += "\n  kinds of instructions          measured   modelled, clocks of an average wave\n";
  for (const InstructionClocks& k : a.kinds)
    put("  %-24s %14.0f %10.0f %+10.0f\n", k.kind.c_str(), k.measured, k.modelled, k.modelled - k.measured);
  std::vector<const InstructionClocks*> worst;
  for (const InstructionClocks& i : a.instructions) worst.push_back(&i);
  std::stable_sort(worst.begin(), worst.end(), [](const auto* p, const auto* q) {
    return std::abs(p->modelled - p->measured) > std::abs(q->modelled - q->measured);
  });
  if (worst.size() > 20) worst.resize(20);
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto* p, const auto* q) { return p->offset < q->offset; });
  out += "\n  instructions that differ most  measured   modelled, clocks of an average wave\n";
  for (const InstructionClocks* i : worst)
    put("  +0x%-8llx %27.0f %10.0f %+10.0f   %s\n", static_cast<unsigned long long>(i->offset), i->measured,
        i->modelled, i->modelled - i->measured, i->text.substr(0, 90).c_str());
  const auto life = [](const std::vector<WaveClocks>& v) {
    double least = 1e300, most = 0, sum = 0;
    for (const WaveClocks& w : v)
      least = std::min(least, w.clocks), most = std::max(most, w.clocks), sum += w.clocks;
    return std::array{v.empty() ? 0 : least, v.empty() ? 0 : sum / static_cast<double>(v.size()), most};
  };
  const auto p = life(a.measured_waves), q = life(a.modelled_waves);
  put("\n  waves       %zu traced live %.0f to %.0f clocks, %.0f on average; %zu modelled %.0f to %.0f, "
      "%.0f\n",
      a.measured_waves.size(), p[0], p[2], p[1], a.modelled_waves.size(), q[0], q[2], q[1]);
  return out;
}

std::string to_json(const AgainstTrace& a) {
  Json j = {{"launch", {{"measured", a.launch_measured}, {"modelled", a.launch_modelled}}},
            {"mhz", a.mhz},
            {"misplaced", a.misplaced},
            {"kinds_off", a.kinds_off},
            {"rank", a.rank}};
  const auto row = [](const InstructionClocks& i) {
    return Json{{"offset", i.offset},
                {"text", i.text},
                {"kind", i.kind},
                {"measured", i.measured},
                {"modelled", i.modelled}};
  };
  j["loops"] = Json::array(), j["instructions"] = Json::array(), j["kinds"] = Json::object();
  for (const TripClocks& l : a.loops)
    j["loops"].push_back(
        {{"offset", l.offset}, {"trips", l.trips}, {"measured", l.measured}, {"modelled", l.modelled}});
  for (const InstructionClocks& i : a.kinds)
    j["kinds"][i.kind] = {{"measured", i.measured}, {"modelled", i.modelled}};
  for (const InstructionClocks& i : a.instructions) j["instructions"].push_back(row(i));
  for (const auto& [name, waves] :
       {std::pair{"measured_waves", &a.measured_waves}, {"modelled_waves", &a.modelled_waves}}) {
    j[name] = Json::array();
    for (const WaveClocks& w : *waves) j[name].push_back({{"wave", w.wave}, {"clocks", w.clocks}});
  }
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_html(const AgainstTrace& a, const TimingReport& r, const Trace& t, const ThreadTrace& m) {
  const auto& program = t.program.instructions;
  // Pairs of lanes: the waves of the traced engine with the most, in order of their start, above those modelled.
  Json lanes = Json::array();
  std::vector<const TracedWave*> traced;
  for (const TracedWave& w : m.waves) traced.push_back(&w);
  std::stable_sort(traced.begin(), traced.end(), [](const TracedWave* p, const TracedWave* q) {
    return std::tuple(p->engine, p->begin) < std::tuple(q->engine, q->begin);
  });
  const std::size_t pairs = std::min<std::size_t>({16, traced.size(), r.unit.waves.size()});
  for (std::size_t n = 0; n < pairs; ++n) {
    const TracedWave& w = *traced[n];
    Json one = Json::array(), two = Json::array();
    for (const TracedInstruction& i : w.instructions)
      one.push_back({i.at - w.begin, i.stall, i.duration, m.code[i.line].text});
    const WaveTimeline& o = r.unit.waves[n];
    for (const Segment& s : o.segments) {
      if (s.cause == Cause::launch) continue;
      const std::uint32_t length = s.end - s.begin;
      two.push_back(
          {s.begin - o.launched, s.cause > Cause::control ? length : 0, length, program[s.instruction].text});
    }
    lanes.push_back({{"name", "measured " + std::to_string(n)}, {"rows", one}});
    lanes.push_back({{"name", "modelled " + std::to_string(n)}, {"rows", two}});
  }
  Json table = Json::array();
  for (const InstructionClocks& i : a.instructions)
    table.push_back({i.offset, i.text, std::round(i.measured * 10) / 10, std::round(i.modelled * 10) / 10});
  std::string json = Json{
      {"title", r.kernel},
      {"measured", a.launch_measured},
      {"modelled", a.launch_modelled},
      {"lanes", lanes},
      {"table", table}}.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3)
    json.replace(at, 2, "<\\/");
  return R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>inlay time --against</title><style>
:root { color-scheme: light dark; --back: #fff; --text: #111; --line: #ccc; }
@media (prefers-color-scheme: dark) { :root { --back: #15181c; --text: #e8e8e8; --line: #3a3f45; } }
body { font: 13px sans-serif; margin: 12px; color: var(--text); background: var(--back); } h1 { font-size: 15px; }
canvas { width: 100%; border: 1px solid var(--line); } th { text-align: left; } td { font: 12px monospace; padding: 0 8px; }
td.n { text-align: right; } #tip { font: 12px monospace; min-height: 1.4em; } </style></head><body>
<main><h1 id="title"></h1><p>Two lanes a wave: measured above, modelled below; issue dark, stalls pale. Wheel zooms, double click shows all; in the picture + and - zoom,
the arrows move, Home shows all.</p>
<canvas id="c" tabindex="0" role="img" aria-label="waves over clocks, measured and modelled"></canvas><div id="tip"></div>
<table id="t"><tr><th>offset<th>instruction<th>measured<th>modelled<th>difference</tr></table></main><script>
const D = )" +
         json + R"(;
document.getElementById('title').textContent = `${D.title}: ${Math.round(D.measured)} clocks measured, ${Math.round(D.modelled)} modelled`;
const c = document.getElementById('c'), g = c.getContext('2d'), left = 110, row = 14;
const last = Math.max(1, ...D.lanes.map(l => l.rows.length ? l.rows[l.rows.length - 1][0] + l.rows[l.rows.length - 1][2] : 0));
let from = 0, to = last;
const dark = matchMedia('(prefers-color-scheme: dark)');
function draw() {
  c.width = c.clientWidth; c.height = row * D.lanes.length + 6;
  const s = (c.width - left) / (to - from);
  D.lanes.forEach((l, k) => {
    const y = row * k + (k % 2 ? 0 : 4), colour = k % 2 ? ['#c77800', '#f7d6b2'] : ['#2f6fc4', '#c9dcf5'];
    g.fillStyle = dark.matches ? '#e8e8e8' : '#000'; g.font = '10px sans-serif'; g.fillText(l.name, 2, y + 10);
    for (const [at, stall, length] of l.rows) {
      if (at + length < from || at > to) continue;
      const x = left + (Math.max(at, from) - from) * s;
      g.fillStyle = colour[1]; g.fillRect(x, y, Math.max(0.5, stall * s), row - 4);
      g.fillStyle = colour[0]; g.fillRect(left + (Math.max(at + stall, from) - from) * s, y, Math.max(0.3, (length - stall) * s), row - 4);
    }
  });
}
c.onwheel = e => { e.preventDefault(); const t = from + (e.offsetX - left) / (c.width - left) * (to - from), f = e.deltaY > 0 ? 1.25 : 0.8;
  from = Math.max(0, t - (t - from) * f); to = Math.min(last, t + (to - t) * f); draw(); };
c.ondblclick = () => { from = 0; to = last; draw(); };
c.onkeydown = e => {
  const w = to - from, m = (from + to) / 2, by = {'+': 0.8, '=': 0.8, '-': 1.25}[e.key], go = {ArrowLeft: -1, ArrowRight: 1}[e.key];
  if (by) { from = Math.max(0, m - w / 2 * by); to = Math.min(last, m + w / 2 * by); }
  else if (go) { from = Math.min(Math.max(0, from + go * w / 8), last - w); to = from + w; }
  else if (e.key === 'Home') { from = 0; to = last; }
  else return;
  e.preventDefault(); draw();
};
dark.addEventListener('change', draw);
c.onmousemove = e => { const k = Math.floor(e.offsetY / row), l = D.lanes[k]; if (!l) return;
  const t = from + (e.offsetX - left) / (c.width - left) * (to - from), r = l.rows.find(r => r[0] <= t && t < r[0] + r[2]);
  document.getElementById('tip').textContent = r ? `${l.name}: ${r[3]}  at ${r[0]}, ${r[2]} clocks, ${r[1]} of them stalled` : ''; };
window.onresize = draw; draw();
for (const [o, text, a, b] of D.table) { const r = document.getElementById('t').insertRow();
  [['+0x' + o.toString(16), ''], [text, ''], [a, 'n'], [b, 'n'], [Math.round((b - a) * 10) / 10, 'n']].forEach(([v, k]) => { const d = r.insertCell(); d.textContent = v; d.className = k; }); }
</script></body></html>
)";
}

} // namespace inlay::runtime::timing
