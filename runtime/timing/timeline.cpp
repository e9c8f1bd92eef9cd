// The picture: SVG for a page, and a page with a canvas that zooms. Both hold everything they need.
#include <inlay/runtime/timing/report.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace inlay::runtime::timing {
namespace {

/// Issue in strong colours, waiting in pale ones.
constexpr const char* colours[causes] = {"#1b7f3b", "#2f6fc4", "#7a5cc2", "#c77800", "#a8326e", "#8a8a8a",
                                         "#f2b8b5", "#f7d6b2", "#ffe28a", "#e8a9cb", "#f28cb8", "#ffc24a",
                                         "#c9b6f2", "#dddddd", "#b8e0e6", "#eeeeee", "#f8f8f8"};

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string text_of(const isa::Program& p, std::uint32_t i) {
  char head[24];
  std::snprintf(head, sizeof head, "0x%llx  ", static_cast<unsigned long long>(p.instructions[i].address));
  return head + p.instructions[i].text;
}

} // namespace

std::string timeline_svg(const TimingReport& r, const isa::Program& program, std::uint32_t begin,
                         std::uint32_t end) {
  end = std::max(begin + 1, std::min<std::uint32_t>(end, static_cast<std::uint32_t>(r.clocks)));
  constexpr double left = 110, width = 1400, row = 16, top = 46;
  const double scale = width / (end - begin);
  std::string body;
  std::size_t lane = 0;
  char text[512];
  for (unsigned simd = 0; simd < 4; ++simd) {
    for (const WaveTimeline& w : r.unit.waves) {
      if (w.simd != simd || w.ended <= begin || w.launched >= end) continue;
      const double y = top + row * static_cast<double>(lane++);
      std::snprintf(text, sizeof text, "<text x=\"4\" y=\"%.0f\">SIMD %u wg %u wave %u</text>\n", y + 11,
                    simd, w.workgroup, w.wave);
      body += text;
      for (const Segment& s : w.segments) {
        if (s.end <= begin || s.begin >= end) continue;
        const double x = left + scale * (std::max(begin, s.begin) - begin);
        const double wide = scale * (std::min(end, s.end) - std::max(begin, s.begin));
        std::snprintf(text, sizeof text,
                      "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\"><title>", x, y,
                      std::max(0.2, wide), row - 2, colours[static_cast<std::size_t>(s.cause)]);
        body += text;
        body += std::string(to_string(s.cause)) + ", clocks " + std::to_string(s.begin) + " to " +
                std::to_string(s.end) + "&#10;" + escaped(text_of(program, s.instruction)) +
                "</title></rect>\n";
      }
    }
  }
  const double height = top + row * static_cast<double>(lane) + 8;
  std::snprintf(
      text, sizeof text,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
      "font-size=\"10\">\n",
      left + width + 8, height);
  std::string out = text;
  std::snprintf(text, sizeof text,
                "<text x=\"4\" y=\"12\" font-size=\"12\">%s, %s: clocks %u to %u of %llu</text>\n",
                escaped(r.kernel.substr(0, 200)).c_str(), std::string(isa::to_string(r.arch)).c_str(), begin,
                end, static_cast<unsigned long long>(r.clocks));
  out += text;
  double x = left;
  for (std::size_t c = 0; c < causes; ++c) {
    if (r.spent[c] <= 0) continue;
    const std::string name(to_string(static_cast<Cause>(c)));
    std::snprintf(text, sizeof text,
                  "<rect x=\"%.0f\" y=\"20\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%.0f\" "
                  "y=\"29\">%s</text>\n",
                  x, colours[c], x + 13, name.c_str());
    out += text;
    x += 24 + 6.2 * static_cast<double>(name.size());
  }
  return out + body + "</svg>\n";
}

std::string timeline_html(const TimingReport& r, const isa::Program& program, std::uint32_t begin,
                          std::uint32_t end) {
  using Json = nlohmann::ordered_json;
  end = std::max(begin + 1, std::min<std::uint32_t>(end, static_cast<std::uint32_t>(r.clocks)));
  Json data = {
      {"title", r.kernel + ", " + std::string(isa::to_string(r.arch))}, {"begin", begin}, {"end", end}};
  for (std::size_t c = 0; c < causes; ++c) {
    data["causes"].push_back(std::string(to_string(static_cast<Cause>(c))));
    data["colours"].push_back(colours[c]);
  }
  std::map<std::uint32_t, std::size_t> texts;
  data["texts"] = Json::array();
  data["lanes"] = Json::array();
  for (unsigned simd = 0; simd < 4; ++simd) {
    for (const WaveTimeline& w : r.unit.waves) {
      if (w.simd != simd || w.ended <= begin || w.launched >= end) continue;
      Json segments = Json::array(); // begin, length, cause, text, one after the other
      for (const Segment& s : w.segments) {
        if (s.end <= begin || s.begin >= end) continue;
        const auto [at, fresh] = texts.emplace(s.instruction, texts.size());
        if (fresh) data["texts"].push_back(text_of(program, s.instruction));
        for (const std::uint64_t v : {std::uint64_t{s.begin}, std::uint64_t{s.end} - s.begin,
                                      static_cast<std::uint64_t>(s.cause), std::uint64_t{at->second}})
          segments.push_back(v);
      }
      data["lanes"].push_back({{"name", "SIMD " + std::to_string(simd) + " wg " +
                                            std::to_string(w.workgroup) + " wave " + std::to_string(w.wave)},
                               {"segments", segments}});
    }
  }
  std::string json = data.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3)
    json.replace(at, 2, "<\\/");
  return R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>inlay time</title><style>
:root { color-scheme: light dark; --back: #fff; --text: #111; --line: #ccc; }
@media (prefers-color-scheme: dark) { :root { --back: #15181c; --text: #e8e8e8; --line: #3a3f45; } }
body { font: 13px sans-serif; margin: 12px; color: var(--text); background: var(--back); } canvas { width: 100%; border: 1px solid var(--line); }
#about { font: 12px monospace; min-height: 3em; white-space: pre; } h1 { font-size: 15px; }
#legend span { display: inline-block; margin-right: 12px; } #legend i { display: inline-block; width: 10px; height: 10px; margin-right: 4px; }
#tip { position: fixed; background: var(--back); border: 1px solid #888; padding: 4px 6px; font: 12px monospace; white-space: pre;
pointer-events: none; display: none; } </style></head><body>
<main><h1 id="title"></h1><div id="legend"></div><p>Wheel zooms at the pointer, dragging moves, double click shows all. In the picture: arrows go from
instruction to instruction and from wave to wave, + and - zoom, Home shows all.</p>
<canvas id="c" tabindex="0" role="img" aria-label="waves over clocks"></canvas><div id="about" role="status"></div><div id="tip"></div></main><script>
const D = )" +
         json + R"(;
const c = document.getElementById('c'), tip = document.getElementById('tip'), g = c.getContext('2d'), left = 150, row = 18;
document.getElementById('title').textContent = D.title;
for (let i = 0; i < D.causes.length; ++i) {
  const s = document.createElement('span'), b = document.createElement('i');
  b.style.background = D.colours[i]; s.append(b, D.causes[i]); document.getElementById('legend').append(s);
}
let from = D.begin, to = D.end, drag = null, lane = 0, clock = D.begin;
const dark = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : {matches: false};
function find(S, t) { let a = 0, b = S.length / 4; while (a < b) { const m = (a + b) >> 1; if (S[4*m] + S[4*m+1] <= t) a = m + 1; else b = m; } return a; }
function draw() {
  c.width = c.clientWidth; c.height = 24 + row * D.lanes.length;
  const scale = (c.width - left) / (to - from);
  const ink = dark.matches ? '#e8e8e8' : '#000';
  g.font = '11px sans-serif'; g.fillStyle = ink;
  const step = Math.pow(10, Math.ceil(Math.log10((to - from) / 12)));
  for (let t = Math.ceil(from / step) * step; t < to; t += step) g.fillText(t, left + (t - from) * scale, 12);
  D.lanes.forEach((lane, k) => {
    const y = 20 + row * k, S = lane.segments;
    g.fillStyle = ink; g.fillText(lane.name, 2, y + 12);
    let end = -1;
    for (let i = find(S, from); 4 * i < S.length && S[4*i] < to; ++i) {
      const x = Math.max(left, left + (S[4*i] - from) * scale), e = left + (S[4*i] + S[4*i+1] - from) * scale;
      if (e < end + 0.5) continue;
      g.fillStyle = D.colours[S[4*i+2]]; g.fillRect(x, y, Math.max(0.5, e - x), row - 3); end = e;
    }
  });
}
const at = e => from + (e.offsetX - left) / (c.width - left) * (to - from);
c.onwheel = e => { e.preventDefault(); const t = at(e), f = e.deltaY > 0 ? 1.25 : 0.8;
  from = Math.max(D.begin, t - (t - from) * f); to = Math.min(D.end, Math.max(from + 8, t + (to - t) * f)); draw(); };
c.onmousedown = e => drag = [e.offsetX, from, to]; window.onmouseup = () => drag = null;
c.ondblclick = () => { from = D.begin; to = D.end; draw(); };
c.onmousemove = e => {
  if (drag) { const d = (drag[0] - e.offsetX) / (c.width - left) * (drag[2] - drag[1]);
    const w = drag[2] - drag[1]; from = Math.min(Math.max(D.begin, drag[1] + d), D.end - w); to = from + w; draw(); }
  const lane = D.lanes[Math.floor((e.offsetY - 20) / row)], t = at(e);
  if (!lane || e.offsetX < left) { tip.style.display = 'none'; return; }
  const S = lane.segments, i = find(S, t);
  if (4 * i >= S.length || S[4*i] > t) { tip.style.display = 'none'; return; }
  tip.textContent = words(S, i);
  tip.style.display = 'block'; tip.style.left = Math.min(e.clientX + 14, window.innerWidth - 420) + 'px'; tip.style.top = e.clientY + 14 + 'px';
};
// By keyboard: one segment of one lane is said, and framed.
const words = (S, i) => D.causes[S[4*i+2]] + ', clocks ' + S[4*i] + ' to ' + (S[4*i] + S[4*i+1]) + '\n' + D.texts[S[4*i+3]];
c.onkeydown = e => {
  const middle = (from + to) / 2, zoom = f => { from = Math.max(D.begin, middle - (middle - from) * f); to = Math.min(D.end, Math.max(from + 8, middle + (to - middle) * f)); };
  const S = () => D.lanes[lane].segments;
  let i = find(S(), clock);
  if (e.key === '+' || e.key === '=') zoom(0.8);
  else if (e.key === '-') zoom(1.25);
  else if (e.key === 'Home') { from = D.begin; to = D.end; }
  else if (e.key === 'ArrowUp' || e.key === 'ArrowDown') {
    lane = Math.min(D.lanes.length - 1, Math.max(0, lane + (e.key === 'ArrowUp' ? -1 : 1))); i = find(S(), clock);
  } else if (e.key === 'ArrowLeft') i = Math.max(0, i - 1);
  else if (e.key === 'ArrowRight') i = Math.min(S().length / 4 - 1, S()[4*i] > clock ? i : i + 1);
  else return;
  e.preventDefault();
  i = Math.max(0, Math.min(i, S().length / 4 - 1));
  clock = S()[4*i];
  if (clock < from || clock >= to) { const w = to - from; from = Math.max(D.begin, Math.min(clock - w / 2, D.end - w)); to = from + w; }
  draw();
  const scale = (c.width - left) / (to - from);
  g.strokeStyle = dark.matches ? '#fff' : '#000'; g.lineWidth = 2;
  g.strokeRect(left + (clock - from) * scale, 20 + row * lane, Math.max(3, S()[4*i+1] * scale), row - 3);
  document.getElementById('about').textContent = D.lanes[lane].name + ': ' + words(S(), i);
};
if (dark.addEventListener) dark.addEventListener('change', draw);
window.onresize = draw; draw();
</script></body></html>
)";
}

} // namespace inlay::runtime::timing
