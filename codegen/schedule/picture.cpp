// Loops as pictures: a row a resource, waits and barriers through all of them, registers below.
#include "show.h"

#include <algorithm>
#include <cstdio>

namespace inlay::codegen {
namespace {

constexpr int left = 90, width = 1400, row = 26, gap = 10, chart = 90;

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}
std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}
std::string rect(double x, double y, double w, double h, const char* fill, const std::string& title) {
  return "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(w) + "\" height=\"" +
         number(h) + "\" fill=\"" + fill + "\"><title>" + escaped(title) + "</title></rect>\n";
}
std::string text(double x, double y, const std::string& s, int size = 10) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" font-size=\"" + std::to_string(size) + "\">" +
         escaped(s) + "</text>\n";
}

struct Row {
  const char* name;
  const char* colour;
};
constexpr Row rows[] = {{"matrix", "#1b7f3b"},
                        {"memory", "#a8326e"},
                        {"LDS reads", "#c77800"},
                        {"LDS writes", "#7a5cc2"},
                        {"vector", "#2f6fc4"}};
std::size_t row_of(InstKind k) {
  switch (k) {
  case InstKind::mma: return 0;
  case InstKind::load:
  case InstKind::store: return 1;
  case InstKind::lds_read: return 2;
  case InstKind::lds_write: return 3;
  default: return 4;
  }
}

} // namespace

std::string schedule_svg(const Code& code) {
  const std::vector<ShownLoop> loops = shown_loops(code);
  std::string body;
  double y = 0;
  for (const ShownLoop& loop : loops) {
    body += text(4, y + 14, loop.title, 12) + text(4, y + 28, loop.sum);
    const double top = y + 46, bottom = top + std::size(rows) * row;
    for (std::size_t n = 0; n < std::size(rows); ++n)
      body += text(4, top + static_cast<double>(n) * row + 16, rows[n].name);
    // A slot is as wide as its matrix clocks; between two products everything has a share of the first one's time.
    std::vector<double> at(loop.slots.size() + 1), end(loop.slots.size());
    const double scale = width / std::max(1.0, static_cast<double>(loop.clocks));
    for (std::size_t n = 0; n < loop.slots.size();) {
      const std::size_t begin = n;
      for (++n; n < loop.slots.size() && loop.slots[n].inst->kind != InstKind::mma; ++n) {
      }
      const double from = loop.slots[begin].clock,
                   to = n < loop.slots.size() ? loop.slots[n].clock : std::max(loop.clocks, 1);
      const double share = (to - from) / static_cast<double>(n - begin);
      for (std::size_t k = begin; k < n; ++k) {
        at[k] = left + scale * (from + share * static_cast<double>(k - begin));
        end[k] = left + scale * (k == begin ? to : from + share * static_cast<double>(k - begin + 1));
      }
    }
    int most = 1;
    for (const ShownSlot& s : loop.slots) most = std::max(most, s.dwords + loop.results);
    const double floor = bottom + gap + chart;
    double
        upper = 0,
        lower =
            0; // where the labels of waits and of barriers end; one that would run into another is in its tool tip
    for (std::size_t n = 0; n < loop.slots.size(); ++n) {
      const ShownSlot& s = loop.slots[n];
      const std::string title = "slot " + std::to_string(n) + ", clock " + std::to_string(s.clock) +
                                (s.iteration.empty() ? "" : ", iteration " + s.iteration) + ", " +
                                std::to_string(s.dwords) + " dwords alive\n" + s.what;
      if (s.inst->kind == InstKind::wait || s.inst->kind == InstKind::barrier) {
        const bool barrier = s.inst->kind == InstKind::barrier;
        body += rect(at[n], top - 4, 1.5, bottom - top + 4, barrier ? "#000000" : "#d04020", title);
        const std::string label = barrier ? "barrier" : s.what;
        if (double& free = barrier ? lower : upper; at[n] + 2 >= free) {
          body += text(at[n] + 2, barrier ? bottom + 8 : top - 6, label, 7);
          free = at[n] + 6 + 4.2 * static_cast<double>(label.size());
        }
      } else {
        const std::size_t r = row_of(s.inst->kind);
        body += rect(at[n], top + static_cast<double>(r) * row + 2, std::max(end[n] - at[n] - 0.4, 0.8),
                     row - 6, rows[r].colour, title);
      }
      const double high = chart * static_cast<double>(s.dwords + loop.results) / most;
      const double next = n + 1 < loop.slots.size() ? at[n + 1] : left + width;
      body += rect(at[n], floor - high, std::max(next - at[n], 0.4), high, "#9fb7d8", title);
    }
    const double results = chart * static_cast<double>(loop.results) / most;
    body += rect(left, floor - results, width, results, "#6f8db8",
                 std::to_string(loop.results) + " dwords of results");
    body += text(4, bottom + gap + 12, std::to_string(most) + " dwords");
    body += text(4, floor, "0");
    y = floor + 2 * gap;
  }
  if (loops.empty()) body = text(4, 14, "no loop", 12), y = 24;
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + std::to_string(left + width + 10) +
         " " + number(y) + "\" font-family=\"sans-serif\">\n" + body + "</svg>\n";
}

} // namespace inlay::codegen
