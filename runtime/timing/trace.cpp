// From lane addresses to requests.
#include "emulator/engine.h"

#include <inlay/runtime/isa/instruction_facts.h>
#include <inlay/runtime/timing/trace.h>

#include <algorithm>
#include <bit>

namespace inlay::runtime::timing {

using Space = ObservedAccess::Space;
using Kind = ObservedAccess::Kind;

std::uint64_t Trace::steps() const {
  std::uint64_t n = 0;
  for (const auto& g : workgroups)
    for (const auto& w : g.waves) n += w.steps.size();
  return n;
}

double Trace::steps_each() const {
  return static_cast<double>(steps()) / static_cast<double>(std::max<std::size_t>(1, workgroups.size()));
}

LdsClocks lds_clocks(isa::Arch arch, const ObservedAccess& a) {
  LdsClocks total;
  std::uint32_t at[64];
  for (unsigned half = 0; half < (a.two ? 2U : 1U); ++half) {
    for (unsigned l = 0; l < 64; ++l)
      at[l] = static_cast<std::uint32_t>(half == 0 ? a.address[l] : a.second[l]);
    std::uint32_t conflicts = 0;
    const bool write = a.kind == Kind::store;
    total.clocks += emulator::lds_cycles(arch, at, a.mask, std::min(16U, a.bytes), write, conflicts);
    total.conflicts += conflicts;
  }
  return total;
}

bool sees_other_workgroups(const isa::Program& program) {
  return std::any_of(program.instructions.begin(), program.instructions.end(),
                     [&](const isa::Instruction& i) {
                       const isa::Kind kind = isa::kind_of(i);
                       return kind == isa::Kind::atomic || i.mnemonic.starts_with("s_atomic") ||
                              (kind == isa::Kind::smem && i.text.find(" glc") != i.text.npos) ||
                              (kind == isa::Kind::load && isa::of_device_scope(i, program.arch));
                     });
}

TraceRecorder::TraceRecorder(isa::Arch arch, std::vector<std::uint64_t> workgroups, std::uint64_t limit)
    : wanted_(std::move(workgroups)), limit_(limit) {
  std::sort(wanted_.begin(), wanted_.end());
  trace_.arch = arch;
}

Trace TraceRecorder::take() {
  Trace t = std::move(trace_);
  trace_ = {};
  trace_.arch = t.arch;
  known_.clear();
  recorded_ = 0;
  // Counted from the page of the first one: where the host has put the memory is not a matter of the program, and the model takes chance
  // from the number of a line.
  constexpr std::uint64_t page = 4096 / 128;
  std::uint64_t base = ~std::uint64_t{0};
  const auto is_vector = [](const Request& r) {
    return r.lines != 0 && r.space != Space::scalar && r.space != Space::scratch;
  };
  for (const Request& r : t.requests)
    if (is_vector(r)) base = std::min(base, t.lines[r.first_line] / page * page); // they are sorted
  for (const Request& r : t.requests)
    if (is_vector(r) || r.space == Space::scalar)
      for (std::uint32_t k = 0; k < r.lines; ++k)
        t.lines[r.first_line + k] -= r.space == Space::scalar ? 2 * base : base;
  return t;
}

void TraceRecorder::begin(const isa::Program& program) {
  trace_.program = program;
  all_before_ = sees_other_workgroups(program);
}

bool TraceRecorder::wants(std::uint64_t workgroup) {
  return std::binary_search(wanted_.begin(), wanted_.end(), workgroup) ||
         (all_before_ && !wanted_.empty() && workgroup < wanted_.back());
}

void TraceRecorder::executed(const ExecutedInstruction& e) {
  if (all_before_ && !std::binary_search(wanted_.begin(), wanted_.end(), e.workgroup)) return;
  if (trace_.workgroups.empty() || trace_.workgroups.back().id != e.workgroup)
    trace_.workgroups.push_back({e.workgroup, {}});
  WorkgroupTrace& g = trace_.workgroups.back();
  if (g.waves.size() <= e.wave) g.waves.resize(e.wave + 1);
  if (++recorded_ > limit_)
    throw std::runtime_error("more than " + std::to_string(limit_) +
                             " wave instructions to model\n  hint   a smaller problem or --sample, or more "
                             "--max-instructions; a kernel that waits for "
                             "another workgroup may never end here");
  g.waves[e.wave].steps.push_back({e.index, e.access == nullptr ? 0 : request_of(*e.access)});
}

std::uint32_t TraceRecorder::request_of(const ObservedAccess& a) {
  if (a.space == Space::scratch && a.mask == 0) return 0;
  Request r;
  r.space = a.space;
  r.kind = a.kind;
  r.bytes = static_cast<std::uint8_t>(std::min(255U, a.bytes * (a.two ? 2 : 1)));
  r.lanes = static_cast<std::uint8_t>(std::popcount(a.mask));
  if (a.space == Space::lds) {
    const unsigned align = a.bytes >= 12 ? 16 : a.bytes;
    std::uint64_t low = 0;
    for (std::uint64_t m = a.mask; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      low |= a.address[l] | (a.two ? a.second[l] : 0);
    }
    r.misaligned = a.bytes == 16 && low % align != 0;
    const LdsClocks c = lds_clocks(trace_.arch, a);
    r.lds_clocks = static_cast<std::uint16_t>(std::min(65535U, c.clocks));
    r.lds_conflicts = static_cast<std::uint16_t>(std::min(65535U, c.conflicts));
  } else if (a.space != Space::crossbar) {
    r.first_line = static_cast<std::uint32_t>(trace_.lines.size());
    std::array<std::uint64_t, 128> lines;
    std::size_t n = 0;
    for (std::uint64_t m = a.mask; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      // Scratch is swizzled: the same dword of all lanes lies together.
      const std::uint64_t first = a.space == Space::scratch ? a.address[l] * 64 + 4 * l : a.address[l];
      const std::uint64_t bytes = a.space == Space::scratch ? 4 : std::max(1U, a.bytes);
      const unsigned size = a.space == Space::scalar ? 64 : 128;
      for (std::uint64_t line = first / size; line <= (first + bytes - 1) / size && n < 128; ++line)
        if (n == 0 || lines[n - 1] != line) lines[n++] = line;
    }
    std::sort(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(n));
    const auto end = std::unique(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(n));
    trace_.lines.insert(trace_.lines.end(), lines.begin(), end);
    r.lines = static_cast<std::uint16_t>(end - lines.begin());
    trace_.requests.push_back(r);
    return static_cast<std::uint32_t>(trace_.requests.size());
  }
  const std::uint64_t key = std::uint64_t{r.lds_clocks} | std::uint64_t{r.lds_conflicts} << 16 |
                            std::uint64_t{r.bytes} << 32 | std::uint64_t{r.lanes} << 40 |
                            std::uint64_t{r.misaligned} << 48 | static_cast<std::uint64_t>(r.space) << 50 |
                            static_cast<std::uint64_t>(r.kind) << 54;
  const auto [at, fresh] = known_.try_emplace(key, static_cast<std::uint32_t>(trace_.requests.size() + 1));
  if (fresh) trace_.requests.push_back(r);
  return at->second;
}

} // namespace inlay::runtime::timing
