// What the clocks of a unit go to, of an average SIMD, and how causes and limits are called.
#include <inlay/runtime/timing/compute_unit.h>

#include <algorithm>

namespace inlay::runtime::timing {

std::string_view to_string(Cause cause) {
  static constexpr std::string_view names[] = {
      "matrix",     "vector",      "scalar",    "lds",          "memory", "control",
      "dependency", "coissue",     "lds_queue", "address_unit", "vmcnt",  "lgkmcnt",
      "barrier",    "arbitration", "fetch",     "launch",       "idle"};
  return names[static_cast<std::size_t>(cause)];
}

std::string_view to_string(Limit limit) {
  static constexpr std::string_view names[] = {"none",
                                               "bank_conflicts",
                                               "lds",
                                               "lds_latency",
                                               "address_unit",
                                               "memory_latency",
                                               "memory_bandwidth",
                                               "barriers",
                                               "issue",
                                               "matrix",
                                               "dependencies",
                                               "launch"};
  return names[static_cast<std::size_t>(limit)];
}

std::array<double, causes> UnitResult::spent() const { return spent(0, static_cast<std::uint32_t>(clocks)); }

std::array<double, causes> UnitResult::spent(std::uint32_t begin, std::uint32_t end) const {
  std::array<double, causes> total{};
  for (unsigned simd = 0; simd < 4; ++simd) {
    // Where something changes: ends of segments and of the pipe's work.
    struct Edge {
      std::uint32_t at;
      std::uint8_t kind; ///< cause, or 255 for the pipe
      int delta;
    };
    std::vector<Edge> edges;
    for (const WaveTimeline& w : waves) {
      if (w.simd != simd) continue;
      for (const Segment& s : w.segments) {
        if (s.end <= begin || s.begin >= end) continue;
        edges.push_back({std::max(begin, s.begin), static_cast<std::uint8_t>(s.cause), 1});
        edges.push_back({std::min(end, s.end), static_cast<std::uint8_t>(s.cause), -1});
      }
    }
    for (const auto& [from, to] : matrix_busy[simd]) {
      if (to <= begin || from >= end) continue;
      edges.push_back({std::max(begin, from), 255, 1});
      edges.push_back({std::min(end, to), 255, -1});
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
    std::array<int, causes> active{};
    int pipe = 0;
    std::uint32_t at = begin;
    const auto put = [&](std::uint32_t until) {
      const double clocks_here = until - at;
      at = until;
      if (clocks_here <= 0) return;
      if (pipe > 0) {
        total[static_cast<std::size_t>(Cause::matrix)] += clocks_here;
        return;
      }
      int issuing = 0, waiting = 0;
      for (std::size_t c = 0; c < causes; ++c)
        (c <= static_cast<std::size_t>(Cause::control) ? issuing : waiting) += active[c];
      if (issuing + waiting == 0) {
        total[static_cast<std::size_t>(Cause::idle)] += clocks_here;
        return;
      }
      for (std::size_t c = 0; c < causes; ++c) {
        const bool issues = c <= static_cast<std::size_t>(Cause::control);
        if (issuing != 0 && !issues) continue;
        total[c] += clocks_here * active[c] / (issuing != 0 ? issuing : waiting);
      }
    };
    for (const Edge& e : edges) {
      put(e.at);
      if (e.kind == 255) {
        pipe += e.delta;
      } else {
        active[e.kind] += e.delta;
      }
    }
    put(end);
  }
  for (double& c : total) c /= 4;
  return total;
}

} // namespace inlay::runtime::timing
