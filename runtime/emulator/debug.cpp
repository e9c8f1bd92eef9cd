// Breakpoints and watched memory: what a wave reports when it is looked into.
#include "debug.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <inlay/runtime/hex.h>

namespace inlay::runtime {
namespace {

std::string site_text(const DebugSite& s) {
  return hex(s.address) + "  " + s.disassembly + "\n  in     " +
         (s.source ? isa::to_string(*s.source) + ", " : std::string()) + "workgroup " +
         std::to_string(s.workgroup.x) + "," + std::to_string(s.workgroup.y) + "," +
         std::to_string(s.workgroup.z) + ", wave " + std::to_string(s.wave);
}

/// Bytes as the little-endian numbers they are: up to eight one number, more as words.
std::string value_text(const std::vector<std::uint8_t>& bytes) {
  std::string out;
  const std::size_t step = bytes.size() <= 8 ? 8 : 4;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const std::size_t n = std::min(step, bytes.size() - at);
    std::uint64_t v = 0;
    std::memcpy(&v, bytes.data() + at, n);
    out += (at == 0 ? "" : " ") + hex(v, static_cast<int>(2 * n));
  }
  return out;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

} // namespace

std::string_view to_string(WatchHit::Access access) {
  static constexpr std::string_view names[] = {"read", "write", "atomic"};
  return names[static_cast<std::size_t>(access)];
}

std::string to_string(const BreakHit& h) {
  std::string out = "break " + site_text(h.site) + ", hit " + std::to_string(h.hit) + "\n";
  for (const RegisterValue& r : h.registers) {
    out += "  " + padded(r.name, 7);
    if (r.lanes.empty()) {
      out += (r.bits == 1 ? std::to_string(r.value) : hex(r.value, static_cast<int>(r.bits / 4))) + "\n";
      continue;
    }
    for (std::size_t l = 0; l < r.lanes.size(); ++l) {
      if (l % 8 == 0)
        out += (l == 0 ? "" : "         ") + std::string(l < 10 ? " " : "") + std::to_string(l) + ":";
      out += " " + hex(r.lanes[l], 8).substr(2);
      if (l % 8 == 7) out += "\n";
    }
  }
  return out;
}

std::string to_string(const WatchHit& h) {
  return std::string(to_string(h.access)) + " of " + h.watch + " at " + site_text(h.site) + ", lane " +
         std::to_string(h.lane) + "\n  value  " + value_text(h.before) +
         (h.access == WatchHit::Access::read ? "" : " -> " + value_text(h.after)) + "\n";
}

RegisterRange RegisterRange::parse(std::string_view text) {
  RegisterRange out;
  out.name = std::string(text);
  struct Named {
    std::string_view name;
    File file;
    std::uint16_t first;
  };
  static constexpr Named named[] = {{"vcc", File::scalar64, 106},
                                    {"vcc_lo", File::scalar, 106},
                                    {"vcc_hi", File::scalar, 107},
                                    {"exec", File::scalar64, 126},
                                    {"exec_lo", File::scalar, 126},
                                    {"exec_hi", File::scalar, 127},
                                    {"flat_scratch", File::scalar64, 102},
                                    {"xnack_mask", File::scalar64, 104},
                                    {"m0", File::scalar, 124},
                                    {"scc", File::scc, 0},
                                    {"mode", File::mode, 0},
                                    {"pc", File::pc, 0}};
  for (const Named& n : named) {
    if (text == n.name) {
      out.file = n.file;
      out.first = n.first;
      return out;
    }
  }
  struct Indexed {
    std::string_view prefix;
    File file;
    unsigned first, count;
  };
  static constexpr Indexed indexed[] = {{"ttmp", File::scalar, 108, 16},
                                        {"v", File::vgpr, 0, 256},
                                        {"a", File::agpr, 0, 256},
                                        {"s", File::scalar, 0, 102}};
  for (const Indexed& f : indexed) {
    if (!text.starts_with(f.prefix)) continue;
    std::string_view rest = text.substr(f.prefix.size());
    const bool several = rest.starts_with('[') && rest.ends_with(']');
    if (several) rest = rest.substr(1, rest.size() - 2);
    const auto number = [](std::string_view t) -> std::optional<unsigned> {
      unsigned v = 0;
      const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), v);
      return error == std::errc() && end == t.data() + t.size() ? std::optional(v) : std::nullopt;
    };
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const auto low = number(rest.substr(0, colon));
    const auto high = colon == rest.size() ? low : number(rest.substr(colon + 1));
    if ((!several && colon != rest.size()) || !low || !high || *high < *low || *high >= f.count) break;
    out.file = f.file;
    out.first = static_cast<std::uint16_t>(f.first + *low);
    out.count = static_cast<std::uint16_t>(*high - *low + 1);
    return out;
  }
  throw std::invalid_argument(
      "dump: '" + out.name +
      "' is no register\n  hint   v0..v255, v[0:3], a0..a255, s0..s101, s[4:7], ttmp0..ttmp15, "
      "vcc, exec, flat_scratch, xnack_mask, m0, scc, mode, pc");
}

} // namespace inlay::runtime

namespace inlay::runtime::emulator {
namespace {

DebugSite site_of(const Wave& w) {
  const Launch& launch = *w.group->launch;
  const isa::Instruction& i = *launch.code->operations[w.current].instruction;
  return {i.address, i.text, launch.source(i.address), w.group->id, w.id};
}

void append(const Wave& w, const RegisterRange& r, std::vector<RegisterValue>& out) {
  using File = RegisterRange::File;
  const auto scalar_name = [&](unsigned k) {
    if (r.count == 1) return r.name;
    return k >= ttmp0 ? "ttmp" + std::to_string(k - ttmp0) : "s" + std::to_string(k);
  };
  for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
    RegisterValue v;
    v.name = r.name;
    switch (r.file) {
    case File::vgpr:
    case File::agpr: {
      const unsigned row = r.file == File::agpr ? w.accum_offset + k : k;
      v.name = (r.file == File::agpr ? "a" : "v") + std::to_string(k);
      v.lanes.assign(w.row(row), w.row(row) + lanes);
      break;
    }
    case File::scalar:
      v.name = scalar_name(k);
      v.value = w.scalar[k];
      break;
    case File::scalar64:
      v.value = w.scalar64(k);
      v.bits = 64;
      break;
    case File::scc:
      v.value = w.scc ? 1 : 0;
      v.bits = 1;
      break;
    case File::mode: v.value = w.mode; break;
    case File::pc:
      v.value = w.group->launch->code->operations[w.current].instruction->address;
      v.bits = 64;
      break;
    }
    out.push_back(std::move(v));
  }
}

/// Whether this is within the first `most` times for this wave; counts it.
bool count_hit(std::vector<u32>& hits, std::size_t which, u32 most) {
  if (hits.size() <= which) hits.resize(which + 1, 0);
  ++hits[which];
  return most == 0 || hits[which] <= most;
}

} // namespace

void check_debug(const Launch& launch) {
  const DebugOptions& d = launch.options->debug;
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(what + "\n  hint   " + hint);
  };
  const auto& instructions = launch.code->program->instructions;
  for (const Breakpoint& b : d.breakpoints) {
    if (launch.code->program->index_of(b.address)) continue;
    std::string hint = "the code is at " + hex(launch.code->program->begin) + " .. " +
                       hex(launch.code->program->end) + "; inlay inspect --disassemble prints the addresses";
    const auto after = std::upper_bound(instructions.begin(), instructions.end(), b.address,
                                        [](u64 a, const isa::Instruction& i) { return a < i.address; });
    if (after != instructions.begin() && after != instructions.end())
      hint = "the instructions around it are at " + hex(std::prev(after)->address) + " and " +
             hex(after->address);
    refuse("break: no instruction starts at " + hex(b.address), hint);
  }
  for (const Watch& w : d.watches) {
    if (w.bytes == 0) refuse("watch " + w.name + ": 0 bytes", "a watch has at least one byte");
    if (w.lds && (w.address > launch.lds_bytes || w.bytes > launch.lds_bytes - w.address))
      refuse("watch " + w.name + ": the workgroup has " + std::to_string(launch.lds_bytes) + " bytes of LDS",
             "dynamic LDS is given with the launch (--lds)");
    if (!w.lds && launch.memory->find(w.address, w.bytes) == nullptr)
      refuse("watch " + w.name + ": no allocation contains " + std::to_string(w.bytes) + " bytes at " +
                 hex(w.address),
             "watch a buffer: arg0+0x40");
  }
}

void report_breakpoints(Wave& w) {
  const DebugOptions& d = w.group->launch->options->debug;
  const u64 address = w.group->launch->code->operations[w.current].instruction->address;
  for (std::size_t i = 0; i < d.breakpoints.size(); ++i) {
    const Breakpoint& b = d.breakpoints[i];
    if (b.address != address || !b.where.admits(w.group->linear, w.id) || !count_hit(w.break_hits, i, d.hits))
      continue;
    BreakHit hit{site_of(w), w.break_hits[i], w.exec(), {}};
    for (const RegisterRange& r : d.dump) append(w, r, hit.registers);
    if (d.on_break) d.on_break(hit);
  }
}

void finish_access(Wave& w) {
  if (w.accesses.empty()) return;
  const DebugOptions& d = w.group->launch->options->debug;
  for (PendingAccess& p : w.accesses) {
    p.hit.after.assign(p.at, p.at + p.hit.before.size());
    if (d.on_watch) d.on_watch(p.hit);
  }
  w.accesses.clear();
}

void note_access(Wave& w, bool lds, u64 address, unsigned bytes, unsigned lane, bool is_write, const u8* at) {
  finish_access(w); // the lane before this one has done its work
  const DebugOptions& d = w.group->launch->options->debug;
  for (std::size_t i = 0; i < d.watches.size(); ++i) {
    const Watch& watch = d.watches[i];
    const u64 low = std::max(address, watch.address);
    const u64 high = std::min(address + bytes, watch.address + watch.bytes);
    if (watch.lds != lds || low >= high || !watch.where.admits(w.group->linear, w.id) ||
        !count_hit(w.watch_hits, i, d.accesses))
      continue;
    const bool atomic =
        w.group->launch->code->operations[w.current].instruction->mnemonic.find("atomic") !=
            std::string_view::npos ||
        (lds && w.group->launch->code->operations[w.current].memory.kind == MemoryFields::Kind::atomic);
    WatchHit hit;
    hit.site = site_of(w);
    hit.access = !is_write ? WatchHit::Access::read
                 : atomic  ? WatchHit::Access::atomic
                           : WatchHit::Access::write;
    hit.watch = watch.name;
    hit.lane = lane;
    hit.address = low;
    at += low - address;
    hit.before.assign(at, at + (high - low));
    w.accesses.push_back({std::move(hit), at});
    at -= low - address;
  }
}

} // namespace inlay::runtime::emulator
