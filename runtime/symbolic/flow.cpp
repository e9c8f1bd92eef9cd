// All waves of a workgroup from one meeting point to the next, values as terms.
#include "emulator/buffer_format.h"
#include "symbolic/machine.h"

#include <inlay/machine/target.h>
#include <inlay/runtime/isa/control_flow.h>
#include <inlay/runtime/symbolic/flow.h>
#include <inlay/runtime/symbolic/order.h>

#include <algorithm>
#include <bit>
#include <set>
#include <stdexcept>

namespace inlay::runtime::symbolic {

using emulator::Class;
using emulator::exec_lo;
using emulator::MemoryFields;
using emulator::RowRange;
using FieldKind = MemoryFields::Kind;
using Space = MemoryFields::Space;

namespace {

struct Fail {
  std::string why;
};

enum class Meeting : u8 { none, barrier, head, ended };

struct FlowWave {
  Machine machine;
  Meeting meeting = Meeting::none;
  bool entered = false;                             ///< the head at which it stands has been reported
  std::map<u32, std::array<Term, lanes>> scratch{}; ///< by byte: whole words; 0: nothing was written
  bool stored = false;                              ///< since it has waited for vmcnt(0) last
  FlowAccess poll{};                                ///< the last load that decides a loop
  // What is released and acquired, in numbers of barriers that the wave has met.
  enum class Unreleased : u8 { nothing, stored, written_back }; ///< in memory since it was last released
  Unreleased unreleased = Unreleased::nothing;
  u32 barriers = 0, released = 0,
      invalidated = 0; ///< released: one more than at the last release; 0: there was none
  explicit FlowWave(Machine m) : machine(std::move(m)) {}
};

/// A loop that reads a word with a scope until that says that it is left, and does nothing else.
struct PollLoop {
  u32 load = 0;
  bool by_exec = false; ///< each lane by itself; otherwise by VCC, one lane
  bool while_set = false;
};

/// The loop of the operations first to last, when it is one. Nothing is carried from trip to trip but which lanes are left:
/// `s_or_b64 M, X, M` collects those that leave and `s_andn2_b64 exec, exec, M` takes them out.
std::optional<PollLoop> poll_loop(const emulator::PreparedProgram& code, u32 first, u32 last) {
  const auto& all = code.operations;
  const Operation& branch = all[last];
  const std::string_view jump = branch.instruction->mnemonic;
  PollLoop out;
  out.by_exec = jump == "s_cbranch_execnz";
  out.while_set = jump == "s_cbranch_vccnz";
  if (branch.cls != Class::branch || branch.target != first ||
      (!out.by_exec && !out.while_set && jump != "s_cbranch_vccz"))
    return std::nullopt;
  const auto bit = [](const u64(&set)[2], unsigned index) {
    return (set[index / 64] >> (index % 64) & 1U) != 0;
  };
  const auto is_pair = [](const isa::Operand& o, unsigned index) {
    return !o.is_vector() && o.index == index;
  };
  u64 scalars[2] = {0, 0};
  std::set<u32> rows;
  const auto add_writes = [&](const Operation& op) {
    for (unsigned half = 0; half < 2; ++half) scalars[half] |= op.scalar_writes[half];
    for (const RowRange& r : op.writes)
      for (u32 k = r.first; k < u32{r.first} + r.count; ++k) rows.insert(k);
  };
  for (u32 at = first; at < last; ++at) add_writes(all[at]);
  const u64 all_scalars[2] = {scalars[0], scalars[1]};
  const std::set<u32> all_rows = rows;
  scalars[0] = scalars[1] = 0;
  rows.clear();
  std::optional<unsigned> leaving; // M
  bool loads = false, takes_out = false, compares = false;
  for (u32 at = first; at < last; ++at) {
    const Operation& op = all[at];
    const isa::Instruction& i = *op.instruction;
    const auto& o = i.operands;
    bool collects = false;
    if (op.cls == Class::memory) {
      const MemoryFields& f = op.memory;
      if (loads || f.kind != FieldKind::load || f.bytes != 4 || !f.device_scope || f.d16 ||
          f.format_count != 0 || (f.space != Space::global && f.space != Space::buffer))
        return std::nullopt;
      loads = true;
      out.load = at;
    } else if (op.cls == Class::scalar) {
      if (o.size() != 3) return std::nullopt;
      if (i.mnemonic == "s_or_b64" && !leaving && (is_pair(o[2], o[0].index) || is_pair(o[1], o[0].index))) {
        leaving = o[0].index;
        collects = true;
      } else if (i.mnemonic == "s_andn2_b64" && leaving && !takes_out && is_pair(o[0], emulator::exec_lo) &&
                 is_pair(o[1], emulator::exec_lo) && is_pair(o[2], *leaving)) {
        takes_out = true;
      } else {
        return std::nullopt;
      }
    } else if (op.cls == Class::vector) {
      if (op.keeps_part || op.hazard.compares_exec || bit(op.scalar_writes, emulator::exec_lo) || takes_out)
        return std::nullopt;
      compares = compares || bit(op.scalar_writes, emulator::vcc_lo);
    } else if (op.cls != Class::wait && i.mnemonic != "s_sleep" && i.mnemonic != "s_nop") {
      return std::nullopt;
    }
    for (unsigned k = 0; k < 124; ++k) {
      const bool read = bit(op.scalar_reads, k) ||
                        (op.mask_source >= 0 && (k == static_cast<unsigned>(op.mask_source) ||
                                                 k == static_cast<unsigned>(op.mask_source) + 1));
      const bool own = collects && (k == *leaving || k == *leaving + 1);
      if (read && !own && bit(all_scalars, k) && !bit(scalars, k)) return std::nullopt;
    }
    for (const RowRange& r : op.reads)
      for (u32 k = r.first; k < u32{r.first} + r.count; ++k)
        if (all_rows.contains(k) && !rows.contains(k)) return std::nullopt;
    add_writes(op);
  }
  if (!loads || out.by_exec != takes_out || (!out.by_exec && (!compares || leaving))) return std::nullopt;
  return out;
}

/// What copies share.
struct Common {
  Setting setting;
  std::map<u32, std::set<u32>> heads; ///< of loops, with the operations of each
  u64 instructions = 0, max_instructions = 0, words_of_lds = 0;
  bool with_heads = true;
  bool meets = false;
  std::map<u32, PollLoop> polls; ///< by the operation that ends the loop
  std::function<void(u64)> executed;
  bool moves_scratch =
      false; ///< an instruction writes FLAT_SCRATCH, s[102:103], or the launch leaves it to the kernel
  Common(const CodeObject& object, const Kernel& kernel, const FlowOptions& o, const Extent3& block)
      : setting(object, kernel, block, o.dynamic_lds), max_instructions(o.max_instructions),
        with_heads(o.heads), meets(o.meets), executed(o.executed) {
    setting.maxima = o.maxima;
    setting.values = o.values;
    for (const FlowOptions::Table& table : o.tables) setting.tables[table.argument] = table.words;
    setting.segment = o.arguments;
    setting.reals = o.reals;
    setting.terms.at_most(o.max_bytes);
    if (o.garbage) setting.use_garbage();
    setting.options.stress = true; // what a launch does not set is marked
    moves_scratch = kernel.descriptor.flat_scratch_init ||
                    std::any_of(setting.code->operations.begin(), setting.code->operations.end(),
                                [](const Operation& op) { return (op.scalar_writes[1] >> 38 & 3U) != 0; });
  }
};

std::string place(const emulator::Operation& op) { return located(*op.instruction); }

/// Atomics of which the client is told: a word's sum or a pair's, and nothing comes back.
FlowAdd added(const emulator::Operation& op) {
  if (op.memory.kind != FieldKind::atomic || op.memory.returns || op.memory.bytes != 4) return FlowAdd::none;
  const std::string_view n = op.instruction->mnemonic;
  if (n == "buffer_atomic_add_f32" || n == "global_atomic_add_f32") return FlowAdd::f32;
  if (n == "buffer_atomic_add" || n == "global_atomic_add") return FlowAdd::i32;
  if (n == "buffer_atomic_pk_add_f16" || n == "global_atomic_pk_add_f16") return FlowAdd::f16;
  if (n == "buffer_atomic_pk_add_bf16" || n == "global_atomic_pk_add_bf16") return FlowAdd::bf16;
  return FlowAdd::none;
}

} // namespace

struct Flow::State {
  std::shared_ptr<Common> common;
  std::vector<FlowWave> waves;
  std::vector<Term> lds;
  std::vector<std::pair<Term, bool>> path;
  std::map<Term, bool> decided;
  Term question = 0;
  std::string why;
  u32 last = 0, last_wave = 0, last_lane = 0;
  std::map<u32, std::vector<u32>> heads; ///< of each wave, by that of the first
  // The number that was drawn: by which wave, whether it has waited for it, and the barrier after which all know of it.
  std::optional<u32> drawer;
  bool number_is_there = false;
  u32 published = 0;

  Terms& t() { return common->setting.terms; }
  std::optional<bool> decide(FlowClient& client, Term condition);
  Stop advance(FlowClient& client, FlowWave& wave);
  /// False: `question` has to be answered first.
  bool memory(FlowClient& client, FlowWave& wave, const Operation& op, u32 at);
  void lds_access(FlowWave& wave, const Operation& op);
  void lds_atomic(FlowWave& wave, const Operation& op);
  void scalar_store(FlowClient& client, FlowWave& wave, const Operation& op, u32 at);
  void to_lds(FlowWave& wave, const Operation& op, const std::vector<std::array<Term, 64>>& data);
  void lanes_access(FlowWave& wave, const Operation& op);
  void scratch_access(FlowWave& wave, const Operation& op);
  void matrix(FlowClient& client, FlowWave& wave, const Operation& op, u32 at);
  void leave(FlowClient& client, FlowWave& wave, const PollLoop& loop);
  void fence(FlowClient& client, FlowWave& wave, FlowFence::Kind kind, const Operation& op, u32 at);
  bool draw(FlowClient& client, FlowWave& wave, const Operation& op, FlowAccess a);
  void order_memory(FlowWave& wave, const Operation& op);
  void meet(FlowWave& wave);
};

/// What waits, write-backs and invalidations do for what others see.
void Flow::State::order_memory(FlowWave& wave, const Operation& op) {
  const isa::Instruction& i = *op.instruction;
  using Unreleased = FlowWave::Unreleased;
  const bool scopes =
      machine::target(common->setting.arch).scopes; // without: one L2, which stores reach when vmcnt says so
  if (i.wait && i.wait->vmcnt == 0) {
    if (wave.unreleased == (scopes ? Unreleased::written_back : Unreleased::stored))
      wave.unreleased = Unreleased::nothing, wave.released = wave.barriers + 1;
    if (drawer == wave.machine.wave().id) number_is_there = true;
    if (waves.size() == 1) meet(wave); // there is nobody else, and LLVM leaves the barriers out
  }
  if (i.mnemonic == "buffer_wbl2" && i.modifiers.sc1 && wave.unreleased == Unreleased::stored)
    wave.unreleased = Unreleased::written_back;
  if (scopes ? i.mnemonic == "buffer_inv" && i.modifiers.sc1 : i.mnemonic.starts_with("buffer_wbinvl1"))
    wave.invalidated = wave.barriers;
}

/// What this wave did before is before what all do from here on.
void Flow::State::meet(FlowWave& wave) {
  ++wave.barriers;
  if (drawer == wave.machine.wave().id && number_is_there && published == 0) published = wave.barriers;
}

/// False where it is no atomic that counts, of one lane that surely takes part.
bool Flow::State::draw(FlowClient& client, FlowWave& wave, const Operation& op, FlowAccess a) {
  const MemoryFields& f = op.memory;
  Machine& m = wave.machine;
  if (op.instruction->mnemonic != "global_atomic_inc" || !f.returns || f.bytes != 4 || drawer) return false;
  const auto first = static_cast<unsigned>(std::countr_zero(m.may()));
  if (m.may() == 0 || (m.may() & (m.may() - 1)) != 0 || t().value(m.guard(first)) != u64{1}) return false;
  const bool released = std::all_of(waves.begin(), waves.end(), [&](const FlowWave& w) {
    return w.unreleased == FlowWave::Unreleased::nothing && w.released <= wave.barriers;
  });
  const Term limit = m.vector(static_cast<unsigned>(f.data), first);
  const auto number = client.draw(a, limit, released && wave.barriers > 0);
  if (!number) return false;
  m.write_vector(static_cast<unsigned>(f.dest), first, *number);
  drawer = m.wave().id;
  return true;
}

std::optional<bool> Flow::State::decide(FlowClient& client, Term condition) {
  if (condition == Terms::unknown) throw Fail{"a branch depends on what nothing is known of"};
  if (const auto v = t().value(condition)) return *v != 0;
  bool value = true;
  while (t().kind(condition) == TermKind::invert) {
    condition = t().children(condition)[0];
    value = !value;
  }
  if (const auto at = decided.find(condition); at != decided.end()) return at->second == value;
  if (const auto known = client.decide(condition)) {
    decided[condition] = *known;
    path.emplace_back(condition, *known);
    return *known == value;
  }
  return std::nullopt;
}

/// Reads and writes of LDS by word; anything else than whole words in place is put together from bits.
void Flow::State::lds_access(FlowWave& wave, const Operation& op) {
  Machine& m = wave.machine;
  const MemoryFields& f = op.memory;
  if (f.kind == FieldKind::atomic && common->setting.garbage) return lds_atomic(wave, op);
  if (f.kind != FieldKind::load && f.kind != FieldKind::store) throw Fail{"not followed: " + place(op)};
  const unsigned parts = f.two ? 2 : 1;
  const unsigned words = std::max<unsigned>(1, f.bytes / 4);
  struct Write {
    u32 byte;
    Term value;
  };
  std::vector<Write> writes;
  std::vector<std::array<Term, lanes>> result(parts * words);
  const u64 active = m.may();
  for (u64 left = active; left != 0; left &= left - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(left));
    const auto on = t().value(m.guard(l));
    if (!on) throw Fail{"sizes switch lanes off at " + place(op)};
    if (*on == 0) continue;
    const auto base = t().value(m.vector(static_cast<unsigned>(f.vaddr), l));
    if (!base) throw Fail{"the LDS address is no number at " + place(op)};
    for (unsigned p = 0; p < parts; ++p) {
      const u32 at = static_cast<u32>(*base) + static_cast<u32>(p == 0 ? f.offset : f.offset1);
      // None of a view's: hardware drops it, and what it reads is nobody's, so that 0 would be a guess.
      if (u64{at} + f.bytes > common->setting.lds_bytes) {
        last_lane = l;
        throw Fail{"beyond LDS: byte " + std::to_string(at) + " of " +
                   std::to_string(common->setting.lds_bytes) + " at " + place(op)};
      }
      if (f.bytes % 4 == 0 ? at % 4 != 0 : at % f.bytes != 0) throw Fail{"misaligned in LDS: " + place(op)};
      for (unsigned k = 0; k < words; ++k) {
        if (f.kind == FieldKind::store) {
          const int data = p == 0 ? f.data : f.data2;
          Term v = m.vector(static_cast<unsigned>(data) + k, l);
          if (f.high) v = t().shr(v, t().constant(16));
          writes.push_back({at + 4 * k, v});
          continue;
        }
        Term v = Terms::unknown;
        if (const Term word = lds[at / 4 + k]; word != 0) {
          v = word;
          if (f.bytes < 4) {
            v = t().bit_and(t().shr(word, t().constant(8 * (at % 4))),
                            t().constant((u32{1} << (8 * f.bytes)) - 1));
            if (f.is_signed) {
              const Term up = t().constant(32 - 8 * f.bytes);
              v = t().ashr(t().shl(v, up), up);
            }
          }
        }
        result[p * words + k][l] = v;
      }
    }
  }
  for (const Write& w : writes) {
    Term& word = lds[w.byte / 4];
    if (f.bytes >= 4) {
      word = w.value;
      continue;
    }
    const u32 mask = ((u32{1} << (8 * f.bytes)) - 1) << (8 * (w.byte % 4));
    // What nothing is known of may be overwritten in parts: a symbol of its own until all of them are.
    const Term old = word == 0 || word == Terms::unknown
                         ? t().symbol("lds." + std::to_string(common->words_of_lds++))
                         : word;
    const Term part = t().shl(t().bit_and(w.value, t().constant((u32{1} << (8 * f.bytes)) - 1)),
                              t().constant(8 * (w.byte % 4)));
    word = t().bit_or(t().bit_and(old, t().constant(~mask)), part);
  }
  if (f.kind != FieldKind::load) return;
  for (unsigned k = 0; k < result.size(); ++k)
    for (u64 left = active; left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      const auto row = static_cast<unsigned>(f.dest) + k;
      m.set_vector(row, l, result[k][l] == 0 || f.d16 ? Terms::unknown : result[k][l]);
    }
}

/// With numbers: by the emulator, on the words that the lanes name.
void Flow::State::lds_atomic(FlowWave& wave, const Operation& op) {
  Machine& m = wave.machine;
  const MemoryFields& f = op.memory;
  std::vector<u8>& bytes = common->setting.group.lds;
  std::set<u32> words;
  if (f.vaddr < 0) throw Fail{"not followed: " + place(op)};
  for (u64 left = m.may(); left != 0; left &= left - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(left));
    const auto base = t().value(m.vector(static_cast<unsigned>(f.vaddr), l));
    if (!base) throw Fail{"the LDS address is no number at " + place(op)};
    for (unsigned p = 0; p < (f.two ? 2U : 1U); ++p) {
      const u32 at = static_cast<u32>(*base) + static_cast<u32>(p == 0 ? f.offset : f.offset1);
      if (at % 4 != 0 || at % f.bytes != 0) throw Fail{"misaligned in LDS: " + place(op)};
      if (u64{at} + f.bytes > common->setting.lds_bytes) {
        last_lane = l;
        throw Fail{"beyond LDS: byte " + std::to_string(at) + " of " +
                   std::to_string(common->setting.lds_bytes) + " at " + place(op)};
      }
      for (unsigned k = 0; k < f.bytes; k += 4) words.insert(at / 4 + k / 4);
    }
  }
  for (const u32 w : words) {
    const auto v = lds[w] == 0 ? std::nullopt : t().value(lds[w]);
    if (!v) throw Fail{"not followed: " + place(op)};
    for (unsigned b = 0; b < 4; ++b) bytes[4 * std::size_t{w} + b] = static_cast<u8>(*v >> (8 * b));
  }
  if (!m.execute_lds(op)) throw Fail{"not followed: " + place(op)};
  for (const u32 w : words) {
    u32 v = 0;
    for (unsigned b = 0; b < 4; ++b) v |= u32{bytes[4 * std::size_t{w} + b]} << (8 * b);
    lds[w] = t().constant(v);
  }
}

/// With numbers: what scalars store, a dword after the other.
void Flow::State::scalar_store(FlowClient& client, FlowWave& wave, const Operation& op, u32 at) {
  Machine& m = wave.machine;
  const isa::Instruction& i = *op.instruction;
  const auto place_of = m.scalar_place(op);
  const auto number = [&](Term x) { return x == Terms::unknown ? std::nullopt : t().value(x); };
  const auto address = place_of ? number(place_of->address) : std::nullopt;
  if (!common->setting.garbage || !address || i.operands.empty()) throw Fail{"not followed: " + place(op)};
  const bool atomic = i.mnemonic.find("atomic") != std::string_view::npos;
  u64 inside = place_of->bytes;
  if (i.operands[1].width == 4) { // what lies past the end of its buffer is dropped
    const auto records = number(m.scalar(i.operands[1].index + 2U)), first = number(place_of->offset);
    const u64 stride = number(m.scalar(i.operands[1].index + 1U)).value_or(~u64{0}) >> 16 & 0x3fff;
    if (!records || !first || stride != 0) throw Fail{"not followed: " + place(op)};
    inside = *first > *records ? 0 : std::min<u64>(inside, *records - *first);
  }
  FlowAccess a;
  a.instruction = at;
  a.wave = m.wave().id;
  a.bytes = static_cast<unsigned>(inside / 4 * 4);
  a.guard[0] = t().constant(1);
  a.offset[0] = t().wide_constant(*address & ~u64{3});
  std::vector<std::array<Term, 64>> data(std::max(1U, a.bytes / 4));
  for (unsigned k = 0; k < data.size(); ++k)
    data[k][0] = atomic ? Terms::unknown : m.scalar(i.operands[0].index + k);
  if (a.bytes != 0) client.store(a, data);
  for (unsigned half = 0; half < 2; ++half) // what an atomic returns
    for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1)
      m.set_scalar(half * 64 + static_cast<unsigned>(std::countr_zero(set)), Terms::unknown);
}

/// What a load to LDS brings: lane by lane from m0 on.
void Flow::State::to_lds(FlowWave& wave, const Operation& op, const std::vector<std::array<Term, 64>>& data) {
  Machine& m = wave.machine;
  const MemoryFields& f = op.memory;
  if (f.bytes % 4 != 0) throw Fail{"not followed: " + place(op)};
  const auto base = t().value(t().bit_and(m.scalar(emulator::m0), t().constant(0x3ffff)));
  if (!base) throw Fail{"m0 is no number at " + place(op)};
  for (u64 left = m.may(); left != 0; left &= left - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(left));
    const auto on = t().value(m.guard(l));
    if (!on) throw Fail{"sizes switch lanes off at " + place(op)};
    if (*on == 0) continue;
    const u64 at = *base + static_cast<u64>(f.offset) + u64{l} * f.bytes;
    if (at % 4 != 0) throw Fail{"misaligned in LDS: " + place(op)};
    if (at + f.bytes > common->setting.lds_bytes) {
      last_lane = l;
      throw Fail{"beyond LDS: byte " + std::to_string(at) + " of " +
                 std::to_string(common->setting.lds_bytes) + " at " + place(op)};
    }
    for (unsigned k = 0; k < data.size(); ++k)
      lds[at / 4 + k] = data[k][l] == 0 ? Terms::unknown : data[k][l];
  }
}

/// ds_swizzle, ds_permute, ds_bpermute: registers of other lanes.
void Flow::State::lanes_access(FlowWave& wave, const Operation& op) {
  Machine& m = wave.machine;
  const MemoryFields& f = op.memory;
  const u64 active = m.may();
  if (!m.exec_is_number()) throw Fail{"sizes switch lanes off at " + place(op)};
  std::array<Term, lanes> result{};
  for (unsigned l = 0; l < lanes; ++l) {
    if (((active >> l) & 1U) == 0) continue;
    unsigned from = 0;
    if (f.kind == FieldKind::swizzle) {
      const auto pattern = static_cast<unsigned>(op.instruction->modifiers.offset) & 0xffffU;
      if ((pattern & 0x8000U) != 0)
        from = (l & ~3U) | ((pattern >> (2 * (l & 3U))) & 3U);
      else
        from =
            (l & 32U) | ((((l & 31U) & (pattern & 31U)) | ((pattern >> 5) & 31U)) ^ ((pattern >> 10) & 31U));
    } else if (f.kind == FieldKind::bpermute) {
      const auto address = t().value(m.vector(static_cast<unsigned>(f.vaddr), l));
      if (!address) throw Fail{"the lane is no number at " + place(op)};
      from = ((static_cast<u32>(*address) + static_cast<u32>(f.offset)) >> 2) & 63U;
    } else {
      throw Fail{"not followed: " + place(op)};
    }
    result[l] =
        ((active >> from) & 1U) != 0 ? m.vector(static_cast<unsigned>(f.data), from) : t().constant(0);
  }
  for (unsigned l = 0; l < lanes; ++l)
    if (((active >> l) & 1U) != 0) m.set_vector(static_cast<unsigned>(f.dest), l, result[l]);
}

/// Registers that are spilled: whole words at places that the instruction says.
void Flow::State::scratch_access(FlowWave& wave, const Operation& op) {
  Machine& m = wave.machine;
  const MemoryFields& f = op.memory;
  if ((f.kind != FieldKind::load && f.kind != FieldKind::store) || f.vaddr >= 0 || f.saddr >= 0 ||
      f.bytes % 4 != 0 || f.d16 || f.offset < 0 || f.offset % 4 != 0 ||
      static_cast<u64>(f.offset) + f.bytes > common->setting.kernel.descriptor.scratch_bytes ||
      common->moves_scratch)
    throw Fail{"not followed: " + place(op)};
  if (!m.exec_is_number()) throw Fail{"sizes switch lanes off at " + place(op)};
  for (u32 k = 0; k < f.bytes / 4U; ++k) {
    std::array<Term, lanes>& words = wave.scratch[static_cast<u32>(f.offset) + 4 * k];
    for (u64 left = m.may(); left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      if (f.kind == FieldKind::store)
        words[l] = m.vector(static_cast<unsigned>(f.data) + k, l);
      else
        m.set_vector(static_cast<unsigned>(f.dest) + k, l, words[l] == 0 ? Terms::unknown : words[l]);
    }
  }
}

bool Flow::State::memory(FlowClient& client, FlowWave& wave, const Operation& op, u32 at) {
  Machine& m = wave.machine;
  const MemoryFields& f = op.memory;
  if (f.kind == FieldKind::none) {
    const std::string_view n = op.instruction->mnemonic;
    if (common->meets && (n == "buffer_inv" || n.starts_with("buffer_wbinvl1")))
      fence(client, wave, FlowFence::Kind::invalidate, op, at);
    if (common->meets && n == "buffer_wbl2") {
      fence(client, wave, FlowFence::Kind::write_back, op, at);
      wave.stored = true;
    }
    return true;
  }
  if (f.kind == FieldKind::swizzle || f.kind == FieldKind::permute || f.kind == FieldKind::bpermute)
    return lanes_access(wave, op), true;
  if (f.space == Space::lds) return lds_access(wave, op), true;
  if (f.space == Space::scratch) return scratch_access(wave, op), true;
  const FlowAdd adds = added(op);
  const bool stores = f.kind == FieldKind::store || adds != FlowAdd::none;
  const bool counts = f.kind == FieldKind::atomic && adds == FlowAdd::none && f.space == Space::global;
  if ((f.space != Space::buffer && f.space != Space::global) ||
      (f.kind != FieldKind::load && !stores && f.kind != FieldKind::to_lds && !counts))
    throw Fail{"not followed: " + place(op)};
  const isa::Modifiers& mod = op.instruction->modifiers;
  FlowAccess a;
  a.instruction = at;
  a.wave = m.wave().id;
  a.bytes = f.bytes;
  a.buffer = f.space == Space::buffer;
  a.plain = !mod.idxen && f.format_count == 0;
  bool index_is_0 = false;
  a.adds = adds;
  a.device_scope = f.device_scope;
  a.system_scope = f.system_scope;
  a.landed = !wave.stored;
  a.polls = std::any_of(common->polls.begin(), common->polls.end(),
                        [&](const auto& p) { return p.second.load == at; });
  a.acquired = published != 0 && wave.invalidated >= published;
  if (a.buffer) {
    for (unsigned k = 0; k < 4; ++k) a.descriptor[k] = m.scalar(static_cast<unsigned>(f.srsrc) + k);
    a.soffset = t().zext(m.scalar_operand(f.soffset));
    // An index that nothing is multiplied by: the stride and the lane's part of it are numbers, and 0.
    const auto high = t().value(a.descriptor[1]), of_lane = t().value(a.descriptor[3]);
    index_is_0 =
        mod.idxen && high && of_lane && ((*high >> 16) & 0x3fffU) == 0 && ((*of_lane >> 23) & 1U) == 0;
    a.plain = (!mod.idxen || index_is_0) && f.format_count == 0;
    if (f.format_count != 0 && !mod.idxen) {
      const auto flags = t().value(a.descriptor[3]).value_or(0);
      const auto format = f.typed ? emulator::BufferFormat{static_cast<u8>(mod.format & 15U),
                                                           static_cast<u8>(mod.format >> 4)}
                                  : emulator::BufferFormat{static_cast<u8>((flags >> 15) & 15U),
                                                           static_cast<u8>((flags >> 12) & 7U)};
      const bool known = f.typed || t().value(a.descriptor[3]).has_value();
      if (known) a.typed = format.components() == 0 ? 0 : format.bytes();
      if (known && format.components() != 0 && !format.exists()) a.typed.reset();
    }
  }
  const Term base =
      !a.buffer && f.saddr >= 0 ? m.scalar64(static_cast<unsigned>(f.saddr)) : t().wide_constant(0);
  const unsigned words = std::max<unsigned>(1, f.bytes / 4);
  std::vector<std::array<Term, 64>> data(words);
  for (u64 left = m.may(); left != 0; left &= left - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(left));
    const Term g = a.guard[l] = m.guard(l);
    const auto row = [&](unsigned k) { return m.under(g, m.vector(static_cast<unsigned>(f.vaddr) + k, l)); };
    if (a.buffer) {
      const bool offen = f.vaddr >= 0 && mod.offen && (!mod.idxen || index_is_0);
      a.offset[l] =
          t().add(t().constant(static_cast<u32>(f.offset)), offen ? row(mod.idxen ? 1 : 0) : t().constant(0));
    } else {
      Term v = t().wide_constant(0);
      if (f.vaddr >= 0) v = f.saddr >= 0 ? t().zext(row(0)) : t().join(row(0), row(1));
      a.offset[l] = t().add(t().add(base, v), t().wide_constant(static_cast<u64>(std::int64_t{f.offset})));
    }
    if (stores)
      for (unsigned k = 0; k < words; ++k) {
        data[k][l] = m.under(g, m.vector(static_cast<unsigned>(f.data) + k, l));
        if (f.high) data[k][l] = t().shr(data[k][l], t().constant(16));
      }
  }
  if (counts) {
    if (!draw(client, wave, op, a)) throw Fail{"not followed: " + place(op)};
    return true;
  }
  if (stores) {
    wave.stored = true;
    wave.unreleased = FlowWave::Unreleased::stored;
    client.store(a, data);
    return true;
  }
  while (const Term condition = client.open(a)) {
    const auto known = decide(client, condition);
    if (!known) {
      question = condition;
      return false;
    }
    a.settled.emplace_back(condition, *known);
  }
  client.load(a, data);
  if (a.polls) wave.poll = a;
  if (f.kind == FieldKind::to_lds) return to_lds(wave, op, data), true;
  for (unsigned k = 0; k < words; ++k)
    for (u64 left = m.may(); left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      const auto to = static_cast<unsigned>(f.dest) + k;
      Term v = data[k][l] == 0 ? Terms::unknown : data[k][l];
      if (f.is_signed && f.bytes < 4) {
        const Term up = t().constant(32 - 8 * f.bytes);
        v = t().ashr(t().shl(v, up), up);
      }
      if (f.d16) // beside the other half of what was there
        v = f.bytes > 2 ? Terms::unknown
            : f.high
                ? t().bit_or(t().bit_and(m.vector(to, l), t().constant(0xffff)), t().shl(v, t().constant(16)))
                : t().bit_or(t().bit_and(m.vector(to, l), t().constant(0xffff0000U)),
                             t().bit_and(v, t().constant(0xffff)));
      m.write_vector(to, l, v);
    }
  return true;
}

void Flow::State::matrix(FlowClient& client, FlowWave& wave, const Operation& op, u32 at) {
  Machine& m = wave.machine;
  const auto& operands = op.instruction->operands;
  if (operands.size() < 4) throw Fail{"not followed: " + place(op)};
  FlowMatrix x;
  x.instruction = at;
  x.wave = m.wave().id;
  const auto fetch = [&](const isa::Operand& o, std::vector<std::array<Term, 64>>& out) {
    if (!o.is_vector()) return;
    const unsigned first = m.wave().row_of(o);
    for (unsigned k = 0; k < o.width; ++k) {
      out.emplace_back();
      for (unsigned l = 0; l < lanes; ++l) out.back()[l] = m.vector(first + k, l);
    }
  };
  fetch(operands[1], x.a);
  fetch(operands[2], x.b);
  fetch(operands[3], x.c);
  if (operands.size() > 5) {
    fetch(operands[4], x.scale_a);
    fetch(operands[5], x.scale_b);
  }
  x.d.resize(operands[0].width);
  client.matrix(x);
  const unsigned first = m.wave().row_of(operands[0]);
  for (unsigned k = 0; k < operands[0].width; ++k)
    for (unsigned l = 0; l < lanes; ++l)
      m.set_vector(first + k, l, x.d[k][l] == 0 ? Terms::unknown : x.d[k][l]);
}

void Flow::State::fence(FlowClient& client, FlowWave& wave, FlowFence::Kind kind, const Operation& op,
                        u32 at) {
  const isa::Modifiers& mod = op.instruction->modifiers;
  const bool scopes = machine::target(common->setting.arch).scopes;
  client.fence({.kind = kind,
                .instruction = at,
                .wave = wave.machine.wave().id,
                .device = !scopes || mod.sc1,
                .system = scopes && mod.sc0 && mod.sc1,
                .landed = !wave.stored});
}

void Flow::State::leave(FlowClient& client, FlowWave& wave, const PollLoop& loop) {
  Machine& m = wave.machine;
  const FlowAccess& poll = wave.poll;
  std::array<Term, 64> stays{};
  unsigned count = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    if (poll.guard[l] == 0) continue;
    if (t().value(poll.guard[l]) != 1U) throw Fail{"sizes switch lanes off in a loop that waits"};
    ++count;
    if (loop.by_exec) {
      stays[l] = ((m.may() >> l) & 1U) != 0 ? m.guard(l) : t().constant(0);
    } else {
      const Term set = t().bit(m.scalar(emulator::vcc_lo + l / 32), l % 32);
      stays[l] = loop.while_set ? set : t().invert(set);
    }
    if (stays[l] == Terms::unknown) throw Fail{"a loop that waits for what nothing is known of"};
  }
  if (!loop.by_exec && count != 1) throw Fail{"a loop that several lanes leave together"};
  client.left(poll, stays);
  if (!loop.by_exec) return;
  m.set_scalar(emulator::exec_lo, t().constant(0));
  m.set_scalar(emulator::exec_lo + 1U, t().constant(0));
}

Flow::Stop Flow::State::advance(FlowClient& client, FlowWave& wave) {
  emulator::Wave& w = wave.machine.wave();
  for (;;) {
    const u32 at = w.at;
    if (at >= common->setting.code->operations.size()) throw Fail{"no instruction at the end of a jump"};
    const Operation& op = common->setting.code->operations[at];
    if (common->heads.contains(at) && !wave.entered) {
      wave.meeting = Meeting::head;
      return Stop::head;
    }
    if (++common->instructions > common->max_instructions)
      throw Fail{"more than " + std::to_string(common->max_instructions) + " instructions of waves"};
    if (common->executed && common->instructions % 256 == 0) common->executed(256);
    if (op.execute == nullptr || op.instruction->is_unknown()) throw Fail{"no instruction at " + place(op)};
    if (const auto& not_reserved = common->setting.not_reserved; !not_reserved.empty())
      if (const auto found = not_reserved.find(at); found != not_reserved.end()) {
        last = at;
        last_wave = w.id;
        throw Fail{found->second};
      }
    w.current = last = at;
    last_wave = w.id;
    last_lane = 0;
    w.at = op.next;
    const isa::Instruction& i = *op.instruction;
    order_memory(wave, op);
    switch (op.cls) {
    case Class::wait:
      if (i.wait && i.wait->vmcnt == 0) wave.stored = false;
      break;
    case Class::lds:
      while (const Term condition = wave.machine.lds_choice(op)) {
        const auto chosen = decide(client, condition);
        if (!chosen) {
          w.at = at;
          question = condition;
          return Stop::fork;
        }
        wave.machine.choose(op, condition, *chosen);
      }
      memory(client, wave, op, at);
      break;
    case Class::memory:
      if (!memory(client, wave, op, at)) {
        w.at = at;
        return Stop::fork;
      }
      break;
    case Class::matrix:
      if (!i.mnemonic.starts_with("v_mfma")) throw Fail{"not followed: " + place(op)};
      matrix(client, wave, op, at);
      break;
    case Class::scalar_memory:
      if (i.mnemonic.starts_with("s_load") || i.mnemonic.starts_with("s_buffer_load")) {
        wave.machine.scalar_load(op);
      } else if (i.mnemonic.find("store") != std::string_view::npos ||
                 i.mnemonic.find("atomic") != std::string_view::npos) {
        scalar_store(client, wave, op, at);
      } else if (op.scalar_writes[0] != 0 || op.scalar_writes[1] != 0) {
        wave.machine.scalar_load(op);
      }
      break;
    case Class::branch: {
      if (i.mnemonic == "s_branch") {
        w.at = op.target;
        break;
      }
      if (i.mnemonic.starts_with("s_cbranch_cdbg")) break; // no debugger
      if (const auto poll = common->polls.find(at); poll != common->polls.end()) {
        leave(client, wave, poll->second);
        break;
      }
      const Term condition = wave.machine.branch_condition(op);
      const auto taken = decide(client, condition);
      if (!taken) {
        w.at = at;
        question = condition;
        return Stop::fork;
      }
      if (*taken) w.at = op.target;
      break;
    }
    case Class::other:
      if (i.mnemonic == "s_barrier") {
        if (common->meets) fence(client, wave, FlowFence::Kind::barrier, op, at);
        meet(wave);
        wave.entered = false;
        wave.meeting = Meeting::barrier;
        return Stop::head;
      }
      if (i.mnemonic.starts_with("s_endpgm")) {
        wave.meeting = Meeting::ended;
        return Stop::ended;
      }
      if (i.mnemonic == "s_sethalt" && (i.operands[0].value & 1U) != 0) throw Fail{"a wave halts itself"};
      if (i.mnemonic != "s_nop" && i.mnemonic != "s_setprio" && i.mnemonic != "s_sleep" &&
          i.mnemonic != "s_icache_inv" && i.mnemonic != "s_incperflevel" && i.mnemonic != "s_decperflevel" &&
          i.mnemonic != "s_ttracedata" && !(i.mnemonic == "s_sethalt" && (i.operands[0].value & 1U) == 0) &&
          !(i.mnemonic == "s_setkill" && (i.operands[0].value & 1U) == 0))
        throw Fail{"not followed: " + place(op)};
      break;
    default:
      if (i.mnemonic == "s_call_b64" && common->setting.garbage) { // the address of the code is a number, too
        const u64 back = i.address + i.size;
        wave.machine.set_scalar(i.operands[0].index, t().constant(static_cast<u32>(back)));
        wave.machine.set_scalar(i.operands[0].index + 1U, t().constant(static_cast<u32>(back >> 32)));
        w.at = op.target;
        break;
      }
      if (!wave.machine.execute(op)) throw Fail{"instruction without formula: " + place(op)};
      break;
    }
    wave.entered = false;
  }
}

Flow::Flow(const CodeObject& object, const Kernel& kernel, const FlowOptions& options)
    : state_(std::make_unique<State>()) {
  const Extent3 block = options.block.x == 0 ? default_block(kernel) : options.block;
  state_->common = std::make_shared<Common>(object, kernel, options, block);
  Setting& s = state_->common->setting;
  const isa::ControlFlow flow = isa::control_flow(s.program, s.program.instructions[s.entry].address);
  for (const isa::Loop& l : flow.loops)
    if (options.heads) {
      const auto first = static_cast<u32>(flow.blocks[l.header].first),
                 last = static_cast<u32>(flow.blocks[l.header].last);
      if (options.meets && l.blocks.size() == 1)
        if (const auto poll = poll_loop(*s.code, first, last)) {
          state_->common->polls.emplace(last, *poll);
          continue;
        }
      auto& inside = state_->common->heads[static_cast<u32>(flow.blocks[l.header].first)];
      for (const std::size_t b : l.blocks)
        for (std::size_t i = flow.blocks[b].first; i <= flow.blocks[b].last; ++i)
          inside.insert(static_cast<u32>(i));
    }
  const auto count = static_cast<u32>((block.count() + lanes - 1) / lanes);
  constexpr u32 unset = 0x7ff4beefU; // emulator/schedule.cpp
  for (u32 k = 0; k < count; ++k) {
    Machine m(s, k);
    u32 garbage = options.garbage.value_or(0) + k;
    const bool small =
        options.garbage.value_or(0) % 2 == 1; // as an offset inside of a tensor, or far outside
    const auto next = [&] {
      garbage = garbage * 1664525U + 1013904223U;
      return small ? garbage >> 16 & 0x3fcU : 0x50000000U | garbage >> 4;
    };
    for (unsigned r = 0; r < 128; ++r)
      if (m.scalar_is_number(r) && m.wave().scalar[r] == unset)
        m.set_scalar(r, options.garbage ? s.terms.constant(next()) : Terms::unknown);
    for (unsigned row = 0; row < emulator::vector_rows; ++row) {
      u32* values = m.wave().row(row);
      if (!std::all_of(values, values + lanes, [](u32 v) { return v == unset; })) continue;
      if (options.garbage)
        std::generate(values, values + lanes, next);
      else
        m.forget(row, ~u64{0});
    }
    state_->waves.emplace_back(std::move(m));
  }
  state_->lds.resize((s.lds_bytes + 3) / 4);
}
Flow::Flow(const Flow& o) : state_(std::make_unique<State>(*o.state_)) {}
Flow& Flow::operator=(const Flow& o) {
  state_ = std::make_unique<State>(*o.state_);
  return *this;
}
Flow::Flow(Flow&&) noexcept = default;
Flow& Flow::operator=(Flow&&) noexcept = default;
Flow::~Flow() = default;

Flow::Stop Flow::run(FlowClient& client) {
  State& s = *state_;
  if (!s.why.empty()) return Stop::failed;
  // Who waits at a barrier waits for those who are at a head.
  const auto resume = [&] {
    const bool heads = std::any_of(s.waves.begin(), s.waves.end(),
                                   [](const FlowWave& w) { return w.meeting == Meeting::head; });
    for (FlowWave& w : s.waves) {
      if (w.meeting == Meeting::ended || (heads && w.meeting == Meeting::barrier)) continue;
      if (w.meeting == Meeting::head) w.entered = true;
      w.meeting = Meeting::none;
    }
  };
  // All at heads; or the first wave, and the others inside of its loop at barriers.
  const auto at_head = [&] {
    const FlowWave& first = s.waves.front();
    if (first.meeting != Meeting::head) return false;
    const std::set<u32>& inside = s.common->heads.at(first.machine.wave().at);
    return std::all_of(s.waves.begin(), s.waves.end(), [&](const FlowWave& w) {
      return w.meeting == Meeting::head || inside.contains(w.machine.wave().at);
    });
  };
  try {
    // After a head that was reported everybody goes on.
    if (at_head()) resume();
    for (;;) {
      for (FlowWave& w : s.waves)
        if (w.meeting == Meeting::none && s.advance(client, w) == Stop::fork) return Stop::fork;
      const auto waited_for = [&](const FlowWave& w) {
        return s.common->with_heads || w.meeting != Meeting::ended;
      };
      const auto first = std::find_if(s.waves.begin(), s.waves.end(), waited_for);
      if (first == s.waves.end()) return Stop::ended;
      for (const FlowWave& w : s.waves)
        if (waited_for(w) && w.meeting != first->meeting &&
            (w.meeting == Meeting::ended || first->meeting == Meeting::ended))
          throw Fail{"waves do not meet at the same places"};
      if (first->meeting == Meeting::ended) return Stop::ended;
      if (at_head()) {
        // Copies of one loop may be for different waves: then it is always the same heads that belong together.
        std::vector<u32> now;
        for (const FlowWave& w : s.waves) now.push_back(w.machine.wave().at);
        if (s.heads.try_emplace(now.front(), now).first->second != now)
          throw Fail{"waves do not meet at the same places"};
        return Stop::head;
      }
      resume();
    }
  } catch (const Fail& f) {
    s.why = f.why;
  } catch (const std::runtime_error& e) { // of the emulator, of the client
    s.why = e.what();
  }
  return Stop::failed;
}

std::size_t Flow::at() const { return state_->waves[0].machine.wave().at; }
Term Flow::question() const { return state_->question; }

void Flow::assume(bool value) {
  Term c = state_->question;
  while (terms().kind(c) == TermKind::invert) {
    c = terms().children(c)[0];
    value = !value;
  }
  state_->decided[c] = value;
  state_->path.emplace_back(c, value);
  state_->question = 0;
}

const std::vector<std::pair<Term, bool>>& Flow::path() const { return state_->path; }
const std::string& Flow::why() const { return state_->why; }
Flow::Place Flow::stopped_at() const { return {state_->last, state_->last_wave, state_->last_lane}; }
Terms& Flow::terms() const { return state_->common->setting.terms; }
const isa::Program& Flow::program() const { return state_->common->setting.program; }
std::size_t Flow::bytes() const {
  constexpr std::size_t row = lanes * sizeof(u32);
  return state_->waves.size() * (sizeof(Shadow) + emulator::vector_rows * row) +
         state_->lds.size() * sizeof(Term);
}
bool Flow::rounds_to_nearest() const { return state_->common->setting.rounds_to_nearest(); }
const isa::Instruction& Flow::instruction(std::size_t index) const {
  return *state_->common->setting.code->operations[index].instruction;
}
unsigned Flow::waves() const { return static_cast<unsigned>(state_->waves.size()); }
Term Flow::scalar(unsigned wave, unsigned index) { return state_->waves[wave].machine.scalar(index); }
void Flow::set_scalar(unsigned wave, unsigned index, Term value) {
  state_->waves[wave].machine.set_scalar(index, value);
}
Term Flow::scc(unsigned wave) { return state_->waves[wave].machine.scc(); }
void Flow::set_scc(unsigned wave, Term value) { state_->waves[wave].machine.set_scc(value); }
Term Flow::vector(unsigned wave, unsigned row, unsigned lane) {
  return state_->waves[wave].machine.vector(row, lane);
}
void Flow::set_vector(unsigned wave, unsigned row, unsigned lane, Term value) {
  state_->waves[wave].machine.set_vector(row, lane, value);
}
bool Flow::surely_same(const Flow& other, unsigned wave, unsigned row) const {
  return state_->waves[wave].machine.surely_same(other.state_->waves[wave].machine, row);
}
std::vector<Term>& Flow::lds() { return state_->lds; }
bool Flow::same_scratch(const Flow& other) const {
  for (std::size_t w = 0; w < state_->waves.size(); ++w) {
    const auto &mine = state_->waves[w].scratch, &theirs = other.state_->waves[w].scratch;
    if (mine != theirs) return false;
    for (const auto& [at, words] : mine) // which is not even itself
      if (std::find(words.begin(), words.end(), Terms::unknown) != words.end()) return false;
  }
  return true;
}

} // namespace inlay::runtime::symbolic
