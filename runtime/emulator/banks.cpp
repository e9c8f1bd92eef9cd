// Bank conflicts of LDS, by instruction, and which padding or swizzle would do without them: tried on the worst access.
#include "engine.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace inlay::runtime::emulator {

void ConflictCount::add(const ConflictCount& other) {
  accesses += other.accesses;
  extra += other.extra;
  if (other.worst <= worst) return;
  worst = other.worst;
  bytes = other.bytes;
  is_write = other.is_write;
  mask = other.mask;
  addresses = other.addresses;
}

void count_banks(Wave& w, const u32* addresses, u64 mask, unsigned bytes, bool is_write) {
  u32 conflicts = 0;
  w.stats.lds_cycles += lds_cycles(w.arch, addresses, mask, bytes, is_write, conflicts);
  if (conflicts == 0) return;
  w.stats.lds_conflict_cycles += conflicts;
  ConflictCount& c = w.group->conflicts[w.current];
  ++c.accesses;
  c.extra += conflicts;
  if (conflicts <= c.worst) return;
  c.worst = conflicts;
  c.bytes = bytes;
  c.is_write = is_write;
  c.mask = mask;
  std::copy_n(addresses, lanes, c.addresses.begin());
}

namespace {

/// Extra clocks of the worst access with its addresses changed by `f`.
template <class F>
u32 extra_after(const Launch& launch, const ConflictCount& c, F f) {
  std::array<u32, lanes> moved{};
  for (unsigned l = 0; l < lanes; ++l) moved[l] = f(c.addresses[l]);
  u32 extra = 0;
  lds_cycles(launch.arch, moved.data(), c.mask, c.bytes, c.is_write, extra);
  return extra;
}

/// The rows that the lanes' addresses may lie in: their differences, and powers of two up to their extent.
std::vector<u32> pitches(const ConflictCount& c) {
  std::vector<u32> found;
  u32 low = ~0U, high = 0, before = ~0U;
  for (u64 m = c.mask; m != 0; m &= m - 1) {
    const u32 at = c.addresses[static_cast<std::size_t>(std::countr_zero(m))];
    low = std::min(low, at);
    high = std::max(high, at);
    if (before != ~0U && at > before) found.push_back(at - before);
    before = at;
  }
  for (u32 p = 64; p <= 8192 && p <= high - low; p *= 2) found.push_back(p);
  std::sort(found.rbegin(), found.rend()); // longer rows need less padding
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase_if(found, [](u32 p) { return p < 64 || p % 4 != 0; });
  return found;
}

std::string left(u32 extra) {
  return extra == 0 ? "none left" : std::to_string(extra) + " extra clocks left";
}

/// The padding and the exclusive-or of least cost that help most.
std::vector<std::string> remedies(const Launch& launch, const ConflictCount& c) {
  std::vector<std::string> out;
  const u32 unit = std::max(4U, c.bytes == 12 ? 4U : c.bytes); // alignment stays
  u32 best = c.worst;
  std::string text;
  for (const u32 pitch : pitches(c)) {
    for (u32 pad = unit; pad <= 64 && pad < pitch; pad += unit) {
      const u32 extra = extra_after(launch, c, [&](u32 a) { return a + a / pitch * pad; });
      if (extra >= best) continue;
      best = extra;
      text = "pad rows of " + std::to_string(pitch) + " bytes by " + std::to_string(pad) + ": " + left(extra);
    }
  }
  if (!text.empty()) out.push_back(text);
  best = c.worst;
  text.clear();
  for (const u32 pitch : pitches(c)) {
    if (!std::has_single_bit(pitch) || !std::has_single_bit(unit) || pitch < 2 * unit) continue;
    for (u32 rows = 2; rows <= pitch / unit && rows <= 32; rows *= 2) {
      for (u32 step = 1; step <= 8; step *= 2) {
        const u32 extra = extra_after(launch, c, [&](u32 a) { return a ^ (a / pitch / step % rows) * unit; });
        if (extra >= best) continue;
        best = extra;
        // Sw<bits, base, shift> of bytes: bits of the address from base + shift on are added to those from base on.
        const unsigned bits = static_cast<unsigned>(std::countr_zero(rows)),
                       base = static_cast<unsigned>(std::countr_zero(unit));
        text = "swizzle bytes by Sw<" + std::to_string(bits) + "," + std::to_string(base) + "," +
               std::to_string(std::countr_zero(pitch * step) - static_cast<int>(base)) + ">: " + left(extra);
      }
    }
  }
  if (!text.empty()) out.push_back(text);
  return out;
}

/// Words that one bank gives in the phase that takes longest, from the pattern alone.
unsigned ways(const Launch& launch, const ConflictCount& c) {
  u32 most = 0;
  // The clocks of an access are the sum over its phases of their ways; a phase is found by leaving out the others' lanes.
  for (unsigned group = 0; group < lanes; ++group) {
    for (const u64 span : {u64{0xff}, u64{0xffff}, u64{0xffffffff}}) {
      const u64 some = c.mask & (span << group);
      u32 extra = 0;
      const u32 cycles = lds_cycles(launch.arch, c.addresses.data(), some, c.bytes, c.is_write, extra);
      const u32 phases = cycles - extra;
      if (phases == 1) most = std::max(most, cycles);
    }
  }
  return std::max(2U, most);
}

} // namespace

std::vector<LdsConflict> explain_conflicts(const Launch& launch) {
  std::vector<LdsConflict> out;
  for (const auto& [at, c] : launch.conflicts) {
    const isa::Instruction& i = *launch.code->operations[at].instruction;
    LdsConflict said{.address = i.address,
                     .disassembly = i.text,
                     .source = launch.source(i.address),
                     .accesses = c.accesses,
                     .extra_clocks = c.extra,
                     .ways = ways(launch, c),
                     .remedies = {}};
    out.push_back(std::move(said));
    out.back().remedies = remedies(launch, c);
  }
  std::stable_sort(out.begin(), out.end(), [](const LdsConflict& a, const LdsConflict& b) {
    return a.extra_clocks > b.extra_clocks;
  });
  return out;
}

} // namespace inlay::runtime::emulator

namespace inlay::runtime {

std::string to_string(const LdsConflict& c) {
  char text[160];
  std::snprintf(text, sizeof text, "0x%llx  %llu extra clocks in %llu accesses, %u ways  ",
                static_cast<unsigned long long>(c.address), static_cast<unsigned long long>(c.extra_clocks),
                static_cast<unsigned long long>(c.accesses), c.ways);
  std::string out = text + c.disassembly + (c.source ? "  " + isa::to_string(*c.source) : "") + "\n";
  for (const std::string& r : c.remedies) out += "    " + r + "\n";
  if (c.remedies.empty()) out += "    no padding or swizzle of rows that was tried does better\n";
  return out;
}

} // namespace inlay::runtime
