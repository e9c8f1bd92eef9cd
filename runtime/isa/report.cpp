// The static report: resources, mix, hot loop, distances.
#include <inlay/machine/target.h>

#include <inlay/runtime/isa/report.h>

#include <algorithm>
#include <set>

namespace inlay::runtime::isa {

namespace {

unsigned round_up(unsigned v, unsigned granule) { return (v + granule - 1) / granule * granule; }

bool is_vector_memory(Kind k) {
  return k == Kind::load || k == Kind::load_to_lds || k == Kind::store || k == Kind::atomic;
}
bool is_lds(Kind k) { return k == Kind::lds_read || k == Kind::lds_write || k == Kind::lds_other; }

// --- the trip
// ------------------------------------------------------------------------------------------------

struct Path {
  bool reached = false;
  unsigned matrix = 0;
  std::uint64_t cost = 0;
  std::size_t from = 0;
};

/// The instructions of the cheapest way from the header to a latch that keeps the most matrix instructions.
std::vector<std::size_t> find_trip(const Program& p, const ControlFlow& f, const Loop& loop) {
  std::vector<std::size_t> rank(f.blocks.size(), 0);
  for (std::size_t r = 0; r < f.order.size(); ++r) rank[f.order[r]] = r;
  std::vector<std::size_t> body = loop.blocks;
  std::sort(body.begin(), body.end(), [&](std::size_t a, std::size_t b) { return rank[a] < rank[b]; });
  std::vector<Path> best(f.blocks.size());
  const auto better = [](const Path& a, const Path& b) {
    return !b.reached || a.matrix > b.matrix || (a.matrix == b.matrix && a.cost < b.cost);
  };
  best[loop.header].reached = true;
  for (const std::size_t b : body) {
    Path& here = best[b];
    if (!here.reached) continue;
    for (std::size_t i = f.blocks[b].first; i <= f.blocks[b].last; ++i) {
      here.matrix += kind_of(p.instructions[i]) == Kind::mfma ? 1 : 0;
      here.cost += issue_clocks(p.instructions[i]);
    }
    for (const std::size_t to : f.blocks[b].successors) {
      if (!loop.contains(to) || rank[to] <= rank[b]) continue; // out of the loop, or backwards
      Path next = here;
      next.from = b;
      if (better(next, best[to])) best[to] = next;
    }
  }
  std::size_t end = loop.header;
  Path chosen;
  for (const std::size_t latch : loop.latches)
    if (best[latch].reached && better(best[latch], chosen)) {
      chosen = best[latch];
      end = latch;
    }
  std::vector<std::size_t> way = {end};
  while (way.back() != loop.header) way.push_back(best[way.back()].from);
  std::vector<std::size_t> trip;
  for (auto b = way.rbegin(); b != way.rend(); ++b)
    for (std::size_t i = f.blocks[*b].first; i <= f.blocks[*b].last; ++i) trip.push_back(i);
  return trip;
}

// --- distances
// -------------------------------------------------------------------------------------------------

/// One trip, unrolled around the circle: what was issued and completed where.
class Circle {
public:
  Circle(const Program& p, const std::vector<std::size_t>& trip) : program_(p), trip_(trip) {
    for (const std::size_t i : trip) {
      const Instruction& ins = p.instructions[i];
      kinds_.push_back(kind_of(ins));
      clocks_.push_back(matrix_clocks(ins, p.arch));
    }
  }

  [[nodiscard]] std::size_t size() const { return trip_.size(); }
  [[nodiscard]] Kind kind(std::size_t at) const { return kinds_[at % size()]; }
  [[nodiscard]] const Instruction& instruction(std::size_t at) const {
    return program_.instructions[trip_[at % size()]];
  }

  /// What lies between positions `from` and `to` > `from`, both excluded, except that `to` counts as an
  /// instruction.
  [[nodiscard]] Distance distance(std::size_t from, std::size_t to) const {
    Distance d;
    d.instructions = to - from;
    for (std::size_t at = from + 1; at < to; ++at) {
      d.matrix += kind(at) == Kind::mfma ? 1 : 0;
      d.clocks += clocks_[at % size()];
    }
    return d;
  }

  /// The first wait after `from` that forces it complete; nothing when no trip does.
  [[nodiscard]] std::optional<std::size_t> completed(std::size_t from) const {
    const bool vector = is_vector_memory(kind(from));
    std::size_t later = 0; // issued after it on the same counter
    bool scalar_later = false;
    for (std::size_t at = from + 1; at <= from + horizon(); ++at) {
      const Kind k = kind(at);
      if (k == Kind::wait && instruction(at).wait) {
        const WaitCounts w = *instruction(at).wait;
        if (vector && w.vmcnt <= later && w.vmcnt < 63) return at;
        if (!vector && w.lgkmcnt < 15 && (w.lgkmcnt == 0 || (w.lgkmcnt <= later && !scalar_later))) return at;
      }
      if (vector ? is_vector_memory(k) : (is_lds(k) || k == Kind::smem)) ++later;
      if (k == Kind::smem) scalar_later = true;
    }
    return std::nullopt;
  }

  /// The first reader of what `from` loads; nothing when it is overwritten unread.
  [[nodiscard]] std::optional<std::size_t> first_use(std::size_t from) const {
    const RegisterSet loaded = registers_written(instruction(from));
    if (loaded.none()) return std::nullopt;
    for (std::size_t at = from + 1; at <= from + horizon(); ++at) {
      if ((registers_read(instruction(at)) & loaded).any()) return at;
      if ((registers_written(instruction(at)) & loaded) == loaded) return std::nullopt;
    }
    return std::nullopt;
  }

  /// Most operations in flight on one counter in steady state.
  [[nodiscard]] unsigned outstanding(bool vector) const {
    unsigned now = 0, most = 0;
    bool waited = false;
    for (std::size_t at = 0; at < 3 * size(); ++at) {
      const Kind k = kind(at);
      if (vector ? is_vector_memory(k) : (is_lds(k) || k == Kind::smem)) ++now;
      if (k == Kind::wait && instruction(at).wait) {
        const WaitCounts w = *instruction(at).wait;
        const unsigned field = vector ? w.vmcnt : w.lgkmcnt;
        if (field < (vector ? 63U : 15U)) {
          waited = true;
          now = std::min(now, field);
        }
      }
      if (at >= size()) most = std::max(most, now);
    }
    return waited ? most : std::min(most, vector ? 63U : 15U);
  }

private:
  [[nodiscard]] std::size_t horizon() const { return 4 * size(); }

  const Program& program_;
  const std::vector<std::size_t>& trip_;
  std::vector<Kind> kinds_;
  std::vector<unsigned> clocks_;
};

Cover summarise(std::vector<Distance> d) {
  Cover c;
  c.loads = d.size();
  if (d.empty()) return c;
  // Each component by itself: the instruction, matrix and clock distances need not come from one load.
  const auto middle = [&](auto component) {
    std::vector<std::size_t> v;
    for (const Distance& x : d) v.push_back(x.*component);
    std::sort(v.begin(), v.end());
    return std::pair{v.front(), v[v.size() / 2]};
  };
  const auto i = middle(&Distance::instructions), m = middle(&Distance::matrix),
             k = middle(&Distance::clocks);
  c.least = {i.first, m.first, k.first};
  c.median = {i.second, m.second, k.second};
  return c;
}

// --- the hot loop
// ----------------------------------------------------------------------------------------------

Tally& widths_of(LoopReport& r, Kind k) {
  switch (k) {
  case Kind::lds_read: return r.lds_reads;
  case Kind::lds_write: return r.lds_writes;
  case Kind::load_to_lds: return r.loads_to_lds;
  case Kind::load: return r.loads;
  default: return r.stores;
  }
}

std::string strip_matrix(std::string_view m) {
  if (m.starts_with("v_mfma_")) m.remove_prefix(7);
  for (const std::string_view prefix : {"f32_", "i32_", "f64_"})
    if (m.starts_with(prefix)) m.remove_prefix(4);
  return std::string(m);
}

LoopReport describe(const Program& p, std::vector<std::size_t> trip) {
  LoopReport r;
  r.trip = std::move(trip);
  r.begin = p.instructions[r.trip.front()].address;
  r.end = p.instructions[r.trip.back()].address + p.instructions[r.trip.back()].size;
  std::string letters;
  unsigned run = 0, accumulators = 0, sources = 0;
  std::vector<unsigned> lead; // memory run at the beginning, to close the circle
  for (const std::size_t index : r.trip) {
    const Instruction& i = p.instructions[index];
    const Kind k = kind_of(i);
    ++r.counts[static_cast<std::size_t>(k)];
    letters += letter(k);
    r.issue_clocks += issue_clocks(i);
    const std::uint64_t bytes = std::uint64_t{memory_bits(i)} * 8; // 64 lanes, 8 bits a byte
    switch (k) {
    case Kind::mfma:
      ++r.matrix[strip_matrix(i.mnemonic)];
      r.matrix_clocks += matrix_clocks(i, p.arch);
      r.work += matrix_work(i);
      if (!i.operands.empty() && i.operands[0].kind == OperandKind::agpr) ++accumulators;
      if (i.operands.size() > 2 &&
          (i.operands[1].kind == OperandKind::agpr || i.operands[2].kind == OperandKind::agpr))
        ++sources;
      break;
    case Kind::valu:
      r.valu_clocks += issue_clocks(i);
      if (i.mnemonic.starts_with("v_accvgpr")) ++r.accvgpr_moves;
      break;
    case Kind::lds_read: r.lds_read_bytes += bytes; break;
    case Kind::lds_write: r.lds_write_bytes += bytes; break;
    case Kind::load:
    case Kind::load_to_lds: r.memory_bytes += bytes; break;
    case Kind::wait:
      if (i.wait) r.waits.push_back(*i.wait);
      break;
    case Kind::branch:
      if (i.mnemonic.starts_with("s_cbranch_vcc") || i.mnemonic.starts_with("s_cbranch_exec"))
        ++r.divergent_branches;
      break;
    default: break;
    }
    if (k == Kind::lds_read || k == Kind::lds_write || k == Kind::load || k == Kind::load_to_lds ||
        k == Kind::store)
      ++widths_of(r, k)[width_name(i)];
    if (i.format == Format::scratch) {
      ++r.scratch_accesses;
      r.scratch_bits += memory_bits(i);
    }
    run = is_vector_memory(k) || is_lds(k) ? run + 1 : 0;
    r.longest_memory_run = std::max(r.longest_memory_run, run);
  }
  r.interleave = fold(letters);
  if (const unsigned n = r.count(Kind::mfma); n != 0) {
    r.accumulators_in_agprs = static_cast<double>(accumulators) / n;
    r.sources_in_agprs = static_cast<double>(sources) / n;
  }
  const Circle circle(p, r.trip);
  r.vm_outstanding = circle.outstanding(true);
  r.lgkm_outstanding = circle.outstanding(false);
  std::vector<Distance> to_lds, load_wait, load_use, lds_wait, lds_use;
  const auto note = [&](std::vector<Distance>& list, std::size_t from, std::optional<std::size_t> to) {
    if (to) list.push_back(circle.distance(from, *to));
  };
  for (std::size_t at = 0; at < circle.size(); ++at) {
    switch (circle.kind(at)) {
    case Kind::load_to_lds: note(to_lds, at, circle.completed(at)); break;
    case Kind::load:
      note(load_wait, at, circle.completed(at));
      note(load_use, at, circle.first_use(at));
      break;
    case Kind::lds_read:
      note(lds_wait, at, circle.completed(at));
      note(lds_use, at, circle.first_use(at));
      break;
    default: break;
    }
  }
  r.load_to_lds_cover = summarise(std::move(to_lds));
  r.load_cover = summarise(std::move(load_wait));
  r.load_use = summarise(std::move(load_use));
  r.lds_cover = summarise(std::move(lds_wait));
  r.lds_use = summarise(std::move(lds_use));
  return r;
}

/// Chooses the hot loop and counts its copies.
std::optional<LoopReport> hot_loop(const Program& p, const ControlFlow& f, KernelReport& out) {
  struct Candidate {
    std::vector<std::size_t> trip;
    std::size_t matrix = 0, weight = 0;
    std::multiset<std::string_view> multiset;
  };
  std::vector<Candidate> candidates(f.loops.size());
  for (std::size_t l = 0; l < f.loops.size(); ++l) {
    Candidate& c = candidates[l];
    for (const std::size_t b : f.loops[l].blocks)
      for (std::size_t i = f.blocks[b].first; i <= f.blocks[b].last; ++i)
        if (kind_of(p.instructions[i]) == Kind::mfma) ++c.matrix;
    out.matrix_loops += c.matrix != 0 ? 1 : 0;
  }
  out.loops = f.loops.size();
  const bool any_matrix = out.matrix_loops != 0;
  std::size_t best = f.loops.size();
  for (std::size_t l = 0; l < f.loops.size(); ++l) {
    Candidate& c = candidates[l];
    if (any_matrix && c.matrix == 0) continue;
    bool innermost = true; // among the loops that count
    for (std::size_t o = 0; o < f.loops.size() && innermost; ++o)
      innermost =
          o == l || !f.loops[l].contains(f.loops[o].header) || (any_matrix && candidates[o].matrix == 0);
    if (!innermost) continue;
    c.trip = find_trip(p, f, f.loops[l]);
    for (const std::size_t i : c.trip) {
      const Kind k = kind_of(p.instructions[i]);
      if (any_matrix ? k == Kind::mfma : (k == Kind::valu || is_vector_memory(k) || is_lds(k))) ++c.weight;
    }
    // Staggered copies of one loop differ in waits and padding; the longer one is reported, of equals the
    // last.
    const auto rank = [&](std::size_t at) {
      return std::pair{candidates[at].weight, candidates[at].trip.size()};
    };
    if (best == f.loops.size() || rank(l) >= rank(best)) best = l;
  }
  if (best == f.loops.size()) return std::nullopt;
  const auto multiset = [&](const std::vector<std::size_t>& trip) {
    std::multiset<std::string_view> names;
    for (const std::size_t i : trip)
      if (!p.instructions[i].is_branch()) names.insert(p.instructions[i].mnemonic);
    return names;
  };
  LoopReport r = describe(p, candidates[best].trip);
  const auto mine = multiset(candidates[best].trip);
  r.copies = 0;
  for (const Candidate& c : candidates)
    if (c.weight == candidates[best].weight && !c.trip.empty() && multiset(c.trip) == mine) ++r.copies;
  return r;
}

void scan_registers(const Program& p, Resources& r) {
  for (const Instruction& i : p.instructions)
    for (const Operand& o : i.operands) {
      const unsigned end = o.index + o.width;
      if (o.kind == OperandKind::vgpr) r.vgprs_used = std::max(r.vgprs_used, end);
      if (o.kind == OperandKind::agpr) r.agprs_used = std::max(r.agprs_used, end);
      if (o.kind == OperandKind::sgpr && o.index < 102) r.sgprs_used = std::max(r.sgprs_used, end);
    }
}

} // namespace

std::optional<std::string> not_reserved(const Instruction& i, const KernelDescriptor& d) {
  for (const Operand& o : i.operands) {
    const bool scalar = o.kind == OperandKind::sgpr;
    if (!scalar && !o.is_vector()) continue;
    const bool accumulation = o.kind == OperandKind::agpr;
    const unsigned last = o.index + std::max<unsigned>(o.width, 1) - 1;
    if (scalar ? last < d.sgprs || last >= 102 : last + (accumulation ? d.accum_offset : 0) < d.vgprs)
      continue;
    return (scalar         ? "s"
            : accumulation ? "a"
                           : "v") +
           std::to_string(last) +
           " does not belong to the wave: " + std::to_string(scalar ? d.sgprs : d.vgprs) +
           (scalar ? " scalar" : " vector") + " registers are reserved" +
           (scalar ? "" : ", AGPRs from " + std::to_string(d.accum_offset));
  }
  return std::nullopt;
}

Arch arch_of(const CodeObject& object) {
  if (const machine::Target* t = machine::find_runner(object.arch())) return t->arch;
  throw IsaError("the code object is for " + object.arch() + ", which is not known here\n  hint   " +
                 machine::names(" or "));
}

Occupancy occupancy(unsigned vgprs, unsigned lds_bytes, unsigned workgroup, Arch arch, unsigned sgprs) {
  const machine::Target& t = machine::target(arch);
  const auto number = [](int n) { return static_cast<unsigned>(n); };
  Occupancy o{number(t.max_waves_per_simd), "waves"};
  if (const unsigned waves = number(t.occupancy(static_cast<int>(vgprs))); waves < o.waves_per_simd)
    o = {waves, "vgprs"};
  if (sgprs != 0) {
    const unsigned waves = number(t.scalar_registers) / round_up(sgprs, number(t.scalar_granule));
    if (waves < o.waves_per_simd) o = {waves, "sgprs"};
  }
  if (lds_bytes != 0) {
    const unsigned all = number(t.lds_bytes),
                   workgroups = all / std::min(all, round_up(lds_bytes, number(t.lds_granule)));
    const unsigned waves = workgroups * ((workgroup + 63) / 64); // of one compute unit
    const unsigned per_simd = std::max(1U, waves / number(t.simds));
    if (per_simd < o.waves_per_simd) o = {per_simd, "lds"};
  }
  return o;
}

double LoopReport::issue_per_matrix() const {
  return matrix_clocks == 0 ? 0 : static_cast<double>(issue_clocks) / matrix_clocks;
}
double LoopReport::matrix_per_other() const {
  const auto others = total() - count(Kind::mfma);
  return others == 0 ? 0 : static_cast<double>(count(Kind::mfma)) / static_cast<double>(others);
}
double LoopReport::memory_bytes_per_clock() const {
  return matrix_clocks == 0 ? 0 : 4.0 * static_cast<double>(memory_bytes) / matrix_clocks;
}
double LoopReport::lds_bytes_per_clock() const {
  return matrix_clocks == 0 ? 0 : 4.0 * static_cast<double>(lds_read_bytes) / matrix_clocks;
}

KernelReport report(const CodeObject& object, const Kernel& kernel, unsigned dynamic_lds) {
  KernelReport r;
  r.name = kernel.name;
  r.arch = arch_of(object);
  r.program = decode(object.code(kernel), kernel.address, r.arch);
  Resources& res = r.resources;
  res.workgroup = kernel.max_flat_workgroup_size;
  if (!kernel.required_workgroup.empty()) {
    const auto& w = kernel.required_workgroup;
    const std::uint64_t items = std::uint64_t{w[0]} * w[1] * w[2];
    if (items != 0 && items <= 1024) res.workgroup = static_cast<unsigned>(items);
  }
  scan_registers(r.program, res);
  const KernelDescriptor& d = kernel.descriptor;
  res.vgprs_reserved = d.vgprs, res.accum_offset = d.accum_offset, res.sgprs_reserved = d.sgprs;
  res.lds_bytes = d.lds_bytes + dynamic_lds;
  res.scratch_bytes = d.scratch_bytes;
  res.spilled_vgprs = kernel.spilled_vgprs, res.spilled_sgprs = kernel.spilled_sgprs;
  const Occupancy o = occupancy(res.vgprs_reserved, res.lds_bytes, res.workgroup, r.arch, res.sgprs_reserved);
  res.waves_per_simd = o.waves_per_simd, res.limited_by = o.limited_by;
  res.instructions = r.program.instructions.size();
  res.code_bytes = kernel.size;
  for (const Instruction& i : r.program.instructions) {
    ++r.counts[static_cast<std::size_t>(kind_of(i))];
    if (auto why = not_reserved(i, d)) r.not_reserved.push_back({i.address, i.text, std::move(*why)});
  }
  if (r.program.instructions.empty()) return r;
  const ControlFlow f = control_flow(r.program, kernel.address);
  r.leaves_program = f.leaves_program;
  r.hot = hot_loop(r.program, f, r);
  return r;
}

} // namespace inlay::runtime::isa
