// Loops, bounds, bottlenecks and their text.
#include <inlay/runtime/timing/report.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <inlay/runtime/hex.h>
#include <nlohmann/json.hpp>

namespace inlay::runtime::timing {
namespace {

using Json = nlohmann::ordered_json;
using Space = ObservedAccess::Space;

/// What the trips of one loop have in common, gathered from the waves.
struct Trips {
  std::vector<double> clocks;
  double count = 0;
  std::size_t waves = 0;
  std::uint32_t first = ~0U, last = 0; ///< clocks between which steady trips lie
};

std::vector<Trips> gather(const UnitResult& u, const std::vector<std::uint32_t>& headers) {
  std::vector<Trips> out(headers.size());
  std::map<std::uint32_t, std::size_t> index;
  for (std::size_t i = 0; i < headers.size(); ++i) index[headers[i]] = i;
  for (const WaveTimeline& w : u.waves) {
    std::map<std::size_t, std::vector<std::uint32_t>> visits;
    for (const Mark& m : w.marks)
      if (const auto at = index.find(m.instruction); at != index.end()) visits[at->second].push_back(m.clock);
    for (const auto& [i, v] : visits) {
      Trips& t = out[i];
      ++t.waves;
      t.count += static_cast<double>(v.size());
      const std::size_t skip = v.size() > 5 ? 2 : 0;
      for (std::size_t k = skip; k + 1 < v.size(); ++k) t.clocks.push_back(v[k + 1] - v[k]);
      if (v.size() > skip) {
        t.first = std::min(t.first, v[skip]);
        t.last = std::max(t.last, v.back());
      }
    }
  }
  return out;
}

/// The sums over one trip that bound it, from a middle trip of the first wave that makes one.
std::vector<Bound> bounds_of(const Trace& t, const Parameters& p, const UnitOptions& o, std::uint32_t header,
                             double waves_per_simd, double waves, LoopTime& loop) {
  for (const WorkgroupTrace& g : t.workgroups) {
    for (const WaveStream& w : g.waves) {
      std::vector<std::size_t> visits;
      for (std::size_t i = 0; i < w.steps.size(); ++i)
        if (w.steps[i].instruction == header) visits.push_back(i);
      if (visits.size() < 2) continue;
      const std::size_t k = (visits.size() - 1) / 2;
      double matrix = 0, issue = 0, vector = 0, lds = 0, read = 0, write = 0, address = 0, lines = 0,
             bytes = 0;
      for (std::size_t i = visits[k]; i < visits[k + 1]; ++i) {
        const isa::Instruction& in = t.program.instructions[w.steps[i].instruction];
        const double clk = p.issue_clocks(in.mnemonic);
        const auto kind = isa::kind_of(in);
        issue += kind == isa::Kind::nop
                     ? 4.0 * static_cast<double>((in.operands.empty() ? 0 : in.operands[0].value & 0xf) + 1)
                     : clk;
        if (kind == isa::Kind::mfma) matrix += isa::matrix_clocks(in, t.arch);
        if (kind == isa::Kind::mfma || kind == isa::Kind::valu) vector += clk;
        if (w.steps[i].request == 0) continue;
        const Request& r = t.requests[w.steps[i].request - 1];
        const bool store = r.kind == ObservedAccess::Kind::store;
        if (r.space == Space::lds) {
          lds += r.misaligned && !store ? std::max<double>(r.lds_clocks, p["lds_misaligned_b128_clk"])
                                        : r.lds_clocks;
          (store ? write : read) += r.total_bytes();
        } else if (r.space == Space::global || r.space == Space::scratch) {
          const unsigned bits = std::max(32U, isa::memory_bits(in));
          const char* width = bits <= 32   ? "vmem_dword_clk"
                              : bits <= 64 ? "vmem_dwordx2_clk"
                              : bits <= 96 ? "vmem_dwordx3_clk"
                                           : "vmem_dwordx4_clk";
          address += std::max(p[width], p["vmem_line_clk"] * r.lines);
          lines += r.lines;
          if (!store) bytes += r.total_bytes();
        }
      }
      loop.steps = static_cast<double>(visits[k + 1] - visits[k]);
      loop.matrix_clocks = matrix * waves_per_simd;
      const double hbm =
          std::min(p["l2_bytes_per_clk"],
                   p["hbm_tbytes"] * 1e12 * p["hbm_efficiency"] / (p["clock_mhz"] * 1e6) /
                       std::clamp(o.active_units, 1.0, p["compute_units"]) * std::max(1.0, o.mall_sharers));
      const double latency = p[o.data_in == UnitOptions::Start::hbm    ? "hbm_latency_clk"
                               : o.data_in == UnitOptions::Start::mall ? "mall_latency_clk"
                                                                       : "l2_latency_clk"];
      std::vector<Bound> b = {
          {"matrix", matrix * waves_per_simd},
          {"issue of one wave", issue},
          {"vector issue of a SIMD", vector * waves_per_simd},
          {"LDS memory", lds * waves},
          {"LDS ports",
           std::max(read / p["lds_read_port_bytes"], write / p["lds_write_port_bytes"]) * waves / 2},
          {"address unit", address * waves},
          {"L2", lines * p["line_bytes"] / p["l2_bytes_per_clk"] * waves},
          {"HBM", o.data_in == UnitOptions::Start::hbm ? lines * p["line_bytes"] / hbm * waves : 0},
          {"latency of what is in flight", bytes * waves / p["vmem_inflight_bytes"] * latency},
      };
      std::stable_sort(b.begin(), b.end(),
                       [](const Bound& x, const Bound& y) { return x.clocks > y.clocks; });
      std::erase_if(b, [](const Bound& x) { return x.clocks <= 0; });
      return b;
    }
  }
  return {};
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, v < 100 && v != std::floor(v) ? "%.1f" : "%.0f", v);
  return text;
}

std::string pad(std::string s, std::size_t n) {
  if (s.size() < n) s.append(n - s.size(), ' ');
  return s;
}

std::string sentence(Limit l) {
  switch (l) {
  case Limit::bank_conflicts: return "without bank conflicts";
  case Limit::lds: return "if LDS served at once";
  case Limit::lds_latency: return "without the latency of LDS";
  case Limit::address_unit: return "without the address unit's limits";
  case Limit::memory_latency: return "if all memory answered like L1";
  case Limit::memory_bandwidth: return "with unlimited memory bandwidth";
  case Limit::barriers: return "without barriers";
  case Limit::issue: return "if only matrix instructions took slots";
  case Limit::matrix: return "with an instant matrix pipe";
  case Limit::dependencies: return "without waits for results";
  case Limit::launch: return "without launch of waves";
  case Limit::none: break;
  }
  return "nothing stands out";
}

std::string spent_text(const std::array<double, causes>& spent, double total) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t c = 0; c < causes; ++c)
    if (spent[c] > 0) order.emplace_back(spent[c], c);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (const auto& [clocks, c] : order) {
    if (clocks < total / 1000) continue;
    char share[32];
    std::snprintf(share, sizeof share, "%10.0f  %5.1f %%\n", clocks, 100 * clocks / total);
    out += "    " + pad(std::string(to_string(static_cast<Cause>(c))), 14) + share;
  }
  return out;
}

} // namespace

Limit TimingReport::bottleneck() const {
  if (bottlenecks.empty() || bottlenecks.front().saved * 100 < static_cast<double>(clocks))
    return Limit::none;
  return bottlenecks.front().limit;
}

TimingReport analyse(const Trace& trace, std::uint64_t entry, const Parameters& parameters,
                     const UnitOptions& options, bool bottlenecks) {
  TimingReport r;
  r.arch = trace.arch;
  r.resident = std::max(1U, options.resident);
  r.workgroups = trace.workgroups.size();
  const isa::ControlFlow flow = isa::control_flow(trace.program, entry);
  UnitOptions o = options;
  for (const isa::Loop& l : flow.loops)
    o.marks.push_back(static_cast<std::uint32_t>(flow.blocks[l.header].first));
  const std::vector<std::uint32_t> headers = o.marks;
  r.unit = simulate(trace, parameters, o);
  r.clocks = r.unit.clocks;
  r.steps = r.unit.steps;
  r.waves = r.unit.waves.size();
  r.spent = r.unit.spent();

  const std::vector<Trips> trips = gather(r.unit, headers);
  const double waves_each =
      trace.workgroups.empty() ? 0 : static_cast<double>(trace.workgroups[0].waves.size());
  const double resident = std::min<double>(r.resident, static_cast<double>(r.workgroups));
  const double waves = waves_each * resident, waves_per_simd = std::max(1.0, waves / parameters["simds"]);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const Trips& t = trips[i];
    if (t.waves == 0 || t.clocks.empty()) continue;
    LoopTime l;
    l.header = headers[i];
    l.address = trace.program.instructions[headers[i]].address;
    l.trips = t.count / static_cast<double>(t.waves);
    double sum = 0;
    for (const double c : t.clocks) sum += c;
    l.clocks_per_trip = sum / static_cast<double>(t.clocks.size());
    l.longest = *std::max_element(t.clocks.begin(), t.clocks.end());
    l.shortest = *std::min_element(t.clocks.begin(), t.clocks.end());
    for (const isa::Loop& other : flow.loops)
      l.depth += &other != &flow.loops[i] && other.contains(flow.loops[i].header) ? 1 : 0;
    l.bounds = bounds_of(trace, parameters, o, headers[i], waves_per_simd, waves, l);
    const auto inside = r.unit.spent(t.first, std::max(t.first + 1, t.last));
    const double span = std::max(1.0, static_cast<double>(t.last) - t.first);
    for (std::size_t c = 0; c < causes; ++c) l.spent[c] = inside[c] / span * l.clocks_per_trip;
    r.loops.push_back(l);
  }
  std::stable_sort(r.loops.begin(), r.loops.end(), [](const LoopTime& a, const LoopTime& b) {
    // The innermost of those with the most matrix work, else with the most clocks.
    const double wa = a.matrix_clocks * a.trips, wb = b.matrix_clocks * b.trips;
    if ((wa > 0 || wb > 0) && std::abs(wa - wb) > 0.01 * std::max(wa, wb)) return wa > wb;
    if (a.depth != b.depth && (wa > 0 || wb > 0)) return a.depth > b.depth;
    return a.clocks_per_trip * a.trips > b.clocks_per_trip * b.trips;
  });
  // Staggered copies: the same number of steps and the same matrix work.
  for (std::size_t i = 1; i < r.loops.size(); ++i)
    for (std::size_t k = 0; k < i && r.loops[i].copy_of == 0; ++k)
      if (r.loops[k].steps == r.loops[i].steps && r.loops[k].matrix_clocks == r.loops[i].matrix_clocks &&
          r.loops[k].depth == r.loops[i].depth && r.loops[i].matrix_clocks > 0)
        r.loops[i].copy_of = k + 1;

  if (const LoopTime* hot = r.hot()) {
    double n = 0;
    for (const WaveTimeline& w : r.unit.waves) {
      std::uint32_t first = 0, last = 0;
      bool any = false;
      for (const Mark& m : w.marks) {
        if (m.instruction != hot->header) continue;
        if (!any) first = m.clock;
        last = m.clock;
        any = true;
      }
      if (!any) continue;
      ++n;
      // The last trip ends one trip after its header.
      const double end = std::min<double>(w.ended, last + hot->clocks_per_trip);
      r.prologue += first - w.launched;
      r.loop += end - first;
      r.epilogue += w.ended - end;
    }
    if (n > 0) {
      r.prologue /= n;
      r.loop /= n;
      r.epilogue /= n;
    }
  }
  std::map<std::pair<std::uint32_t, Cause>, std::pair<double, double>> waits;
  for (const WaveTimeline& w : r.unit.waves)
    for (const Segment& s : w.segments)
      if (s.cause > Cause::control && s.cause != Cause::launch && s.cause != Cause::arbitration) {
        auto& at = waits[{s.instruction, s.cause}];
        at.first += s.end - s.begin;
        ++at.second;
      }
  for (const auto& [key, value] : waits)
    r.stalls.push_back({key.first, key.second, value.first / static_cast<double>(r.waves),
                        value.second / static_cast<double>(r.waves)});
  std::stable_sort(r.stalls.begin(), r.stalls.end(),
                   [](const Stall& a, const Stall& b) { return a.clocks > b.clocks; });

  if (bottlenecks) {
    UnitOptions without = options;
    without.keep_segments = false;
    for (std::size_t l = 1; l < limits; ++l) {
      without.without = static_cast<Limit>(l);
      const auto clocks = static_cast<double>(simulate(trace, parameters, without).clocks);
      r.bottlenecks.push_back({static_cast<Limit>(l), clocks, static_cast<double>(r.clocks) - clocks});
    }
    std::stable_sort(r.bottlenecks.begin(), r.bottlenecks.end(),
                     [](const Bottleneck& a, const Bottleneck& b) { return a.saved > b.saved; });
  }
  return r;
}

std::string to_text(const TimingReport& r, const isa::Program& program) {
  std::string out;
  const auto line = [&](const char* what, const std::string& text) {
    out += "  " + pad(what, 12) + text + "\n";
  };
  line("clocks", number(static_cast<double>(r.clocks)) + " of one compute unit for " +
                     std::to_string(r.workgroups) + " workgroup" + (r.workgroups == 1 ? "" : "s") + ", " +
                     std::to_string(r.resident) + " at a time, " + std::to_string(r.waves) + " waves, " +
                     std::to_string(r.steps) + " instructions");
  if (r.hot() != nullptr)
    line("phases", "before the hot loop " + number(r.prologue) + ", in it " + number(r.loop) + ", after it " +
                       number(r.epilogue) + " clocks of a wave");
  out += "\n  spent, clocks of an average SIMD\n" + spent_text(r.spent, static_cast<double>(r.clocks));
  for (std::size_t i = 0; i < r.loops.size() && i < 6; ++i) {
    const LoopTime& l = r.loops[i];
    out += "\n  loop at " + hex(l.address) + (i == 0 ? ", the hot one" : "") +
           (l.depth != 0 ? ", inside another" : "") +
           (l.copy_of != 0 ? ", a copy of the one at " + hex(r.loops[l.copy_of - 1].address) : "") + "\n";
    out += "    " + number(l.trips) + " trips of " + number(l.clocks_per_trip) + " clocks (" +
           number(l.shortest) + " to " + number(l.longest) + "), " + number(l.steps) + " instructions";
    if (l.matrix_clocks > 0) {
      char text[80];
      std::snprintf(text, sizeof text, ", matrix pipe %.0f clocks = %.1f %%", l.matrix_clocks,
                    100 * l.efficiency());
      out += text;
    }
    out += "\n    bounds  ";
    for (std::size_t b = 0; b < l.bounds.size() && b < 5; ++b)
      out += (b == 0 ? "" : ", ") + l.bounds[b].name + " " + number(l.bounds[b].clocks);
    out += "\n";
    if (i == 0) out += spent_text(l.spent, l.clocks_per_trip);
  }
  if (!r.stalls.empty()) {
    out += "\n  longest waits of an average wave\n";
    for (std::size_t i = 0; i < r.stalls.size() && i < 8; ++i) {
      const Stall& s = r.stalls[i];
      out += "    " + pad(number(s.clocks), 9) + pad(std::string(to_string(s.cause)), 13) +
             hex(program.instructions[s.instruction].address) + "  " +
             program.instructions[s.instruction].text + "  (" + number(s.times) + " times)\n";
    }
  }
  if (!r.bottlenecks.empty()) {
    out += "\n  what would help\n";
    for (std::size_t i = 0; i < r.bottlenecks.size(); ++i) {
      const Bottleneck& b = r.bottlenecks[i];
      if (i >= 3 && std::abs(b.saved) * 200 < static_cast<double>(r.clocks)) continue;
      char text[48];
      std::snprintf(text, sizeof text, "%+9.0f clk  %+6.1f %%\n", -b.saved,
                    -100 * b.saved / static_cast<double>(r.clocks));
      out += "    " + pad(sentence(b.limit), 42) + text;
    }
  }
  return out;
}

std::string to_json(const TimingReport& r, const isa::Program& program) {
  const auto by_cause = [](const std::array<double, causes>& s) {
    Json j = Json::object();
    for (std::size_t c = 0; c < causes; ++c)
      if (s[c] > 0) j[std::string(to_string(static_cast<Cause>(c)))] = std::round(s[c] * 100) / 100;
    return j;
  };
  Json j = {
      {"clocks", r.clocks},
      {"clocks_per_trip", r.hot() == nullptr ? Json(nullptr) : Json(r.hot()->clocks_per_trip)},
      {"bottleneck", r.bottlenecks.empty() ? Json(nullptr) : Json(std::string(to_string(r.bottleneck())))},
      {"spent", by_cause(r.spent)},
      {"matrix_efficiency", r.hot() == nullptr ? Json(nullptr) : Json(r.hot()->efficiency())},
      {"phases", {{"before", r.prologue}, {"loop", r.loop}, {"after", r.epilogue}}},
      {"workgroups", r.workgroups},
      {"resident", r.resident},
      {"waves", r.waves},
      {"instructions", r.steps},
      {"lds_clocks", r.unit.lds_clocks},
      {"lds_conflict_clocks", r.unit.lds_conflict_clocks},
      {"lines",
       {{"asked", r.unit.lines},
        {"l1", r.unit.l1_hits},
        {"l2", r.unit.l2_hits},
        {"mall", r.unit.mall_hits},
        {"hbm", r.unit.hbm_lines}}}};
  if (!program.instructions.empty()) j["address"] = program.instructions.front().address;
  j["loops"] = Json::array();
  for (const LoopTime& l : r.loops) {
    Json b = Json::object();
    for (const Bound& x : l.bounds) b[x.name] = x.clocks;
    j["loops"].push_back({{"address", l.address},
                          {"trips", l.trips},
                          {"clocks_per_trip", l.clocks_per_trip},
                          {"matrix_clocks", l.matrix_clocks},
                          {"instructions", l.steps},
                          {"depth", l.depth},
                          {"copy_of", l.copy_of == 0 ? Json(nullptr) : Json(r.loops[l.copy_of - 1].address)},
                          {"bounds", b},
                          {"spent", by_cause(l.spent)}});
  }
  j["without"] = Json::array();
  for (const Bottleneck& b : r.bottlenecks)
    j["without"].push_back(
        {{"limit", std::string(to_string(b.limit))}, {"clocks", b.clocks}, {"saved", b.saved}});
  j["stalls"] = Json::array();
  for (std::size_t i = 0; i < r.stalls.size() && i < 32; ++i)
    j["stalls"].push_back({{"address", program.instructions[r.stalls[i].instruction].address},
                           {"text", program.instructions[r.stalls[i].instruction].text},
                           {"cause", std::string(to_string(r.stalls[i].cause))},
                           {"clocks", r.stalls[i].clocks},
                           {"times", r.stalls[i].times}});
  return j.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace inlay::runtime::timing
