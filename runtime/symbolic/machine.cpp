// A wave with symbols: initial state, registers, and which instructions the emulator executes as they are.
#include "symbolic/machine.h"

#include "symbolic/preload.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <inlay/runtime/isa/report.h>

namespace inlay::runtime::symbolic {

using emulator::Class;
using emulator::exec_lo;
using emulator::m0;
using emulator::RowRange;
using emulator::Source;
using emulator::vcc_lo;

namespace {

/// Numbers that a wave starts with where a launch would put its own: found again by value.
constexpr u32 marker = 0xc0de0000U;

constexpr std::string_view group_size_kinds[] = {"hidden_group_size_x", "hidden_group_size_y",
                                                 "hidden_group_size_z"};

bool writes_scc(const isa::Instruction& i) {
  const std::string_view n = i.mnemonic;
  switch (i.format) {
  case isa::Format::sopc: return !n.starts_with("s_set");
  case isa::Format::sopk: return n.starts_with("s_cmpk") || n == "s_addk_i32";
  case isa::Format::sop2:
    return !n.starts_with("s_mul") && !n.starts_with("s_bfm") && !n.starts_with("s_pack") &&
           !n.starts_with("s_cselect") && !n.starts_with("s_cbranch") && !n.starts_with("s_rfe");
  case isa::Format::sop1:
    return n.starts_with("s_not") || n.starts_with("s_wqm") || n.starts_with("s_quadmask") ||
           n.starts_with("s_bcnt") || n.starts_with("s_abs") ||
           n.find("saveexec") != std::string_view::npos || n.find("wrexec") != std::string_view::npos;
  default: return false;
  }
}

bool reads_scc(const isa::Instruction& i) {
  const std::string_view n = i.mnemonic;
  if (n.starts_with("s_addc") || n.starts_with("s_subb") || n.starts_with("s_cselect") ||
      n.starts_with("s_cmov"))
    return true;
  return std::any_of(i.operands.begin(), i.operands.end(), [](const isa::Operand& o) {
    return o.kind == isa::OperandKind::special && o.index == 253;
  });
}

} // namespace

bool Setting::rounds_to_nearest() const {
  return kernel.descriptor.mode.round_32 == 0 &&
         std::none_of(program.instructions.begin(), program.instructions.end(),
                      [](const isa::Instruction& i) {
                        return i.mnemonic.starts_with("s_setreg") || i.mnemonic.starts_with("s_round_mode");
                      });
}

Setting::Setting(const CodeObject& object, const Kernel& kernel_in, const Extent3& block, u32 dynamic_lds)
    : kernel(kernel_in) {
  arch = isa::arch_of(object);
  std::vector<isa::Symbol> symbols;
  for (const Symbol& s : object.symbols()) {
    if (s.function && s.section == kernel.section) symbols.push_back({s.name, s.address, s.size});
  }
  const Section& section = object.sections()[kernel.section];
  program = isa::decode(section.bytes, section.address, arch, symbols);
  const unsigned accum = kernel.descriptor.accum_offset == 0 ? 256U : kernel.descriptor.accum_offset;
  code = emulator::prepare(program, 0, accum, MatrixArithmetic::sequential);
  const u64 end = kernel.address + object.code(kernel).size();
  for (std::size_t k = 0; k < program.instructions.size(); ++k)
    if (const isa::Instruction& i = program.instructions[k]; i.address >= kernel.address && i.address < end)
      if (auto why = isa::not_reserved(i, kernel.descriptor))
        not_reserved.emplace(static_cast<u32>(k),
                             "a register that is not reserved, in '" + i.text + "': " + *why);
  const auto at = program.index_of(kernel.address);
  if (!at) throw isa::IsaError("validate: no instruction begins at the kernel's address");
  entry = static_cast<u32>(*at);
  if (kernel.descriptor.preload_length != 0) { // what loads preloaded arguments on older firmware is skipped
    if (const auto later = program.index_of(kernel.address + 256)) entry = static_cast<u32>(*later);
    if (auto why = wrong_without_preloading(program, kernel); !why.empty()) not_reserved.emplace(entry, why);
  }
  lds_bytes = kernel.descriptor.lds_bytes + dynamic_lds;
  options.checks = Checks::none();
  options.checks.hazard = true;
  geometry.block = block;
  geometry.dynamic_lds = dynamic_lds;
  launch.code = code.get();
  launch.kernel = &kernel;
  launch.arch = arch;
  launch.geometry = geometry;
  launch.options = &options;
  launch.lds_bytes = lds_bytes;
  launch.entry = entry;
  launch.dispatch_packet = u64{marker + 0x9000} | (u64{marker + 0x9001} << 32);
  group.launch = &launch;
  group.id = {marker + 0x8000, marker + 0x8001, marker + 0x8002};
  group.lds.resize(lds_bytes);
  kernarg = terms.join(terms.symbol("kernarg.lo"), terms.symbol("kernarg.hi", 0xffff));
  packet = terms.join(terms.symbol("dispatch.lo"), terms.symbol("dispatch.hi"));
}

void Setting::use_garbage() {
  garbage = true;
  // Where a launch may put them: whoever computes with such an address computes with a number.
  kernarg = terms.wide_constant(0x7fe134567000U);
  packet = terms.wide_constant(0x7fe200003000U);
}

Term Setting::argument_word(u64 offset) {
  const auto found = argument.find(offset);
  if (found != argument.end()) return found->second;
  if (offset + 4 <= segment.size()) {
    u32 word = 0;
    std::memcpy(&word, segment.data() + offset, 4);
    return argument[offset] = terms.constant(word);
  }
  Term t = 0;
  u32 value = 0;
  unsigned known = 0;
  for (const KernelArgument& a : kernel.arguments) {
    if (offset < a.offset || offset >= u64{a.offset} + a.size) continue;
    for (unsigned d = 0; d < 3; ++d) {
      if (a.kind != group_size_kinds[d]) continue;
      const u32 size = d == 0 ? geometry.block.x : d == 1 ? geometry.block.y : geometry.block.z;
      value |= size << (8 * (a.offset % 4));
      known += a.size;
    }
    if (a.kind == "hidden_remainder_x" || a.kind == "hidden_remainder_y" || a.kind == "hidden_remainder_z")
      known += a.size;
    if (known == 0) {
      std::string base = a.label();
      if (a.size == 8) base += offset == a.offset ? ".lo" : ".hi";
      if (a.size > 8) base += "+" + std::to_string(offset - a.offset);
      // Device addresses have 48 bits.
      t = named(base, a.pointer() && offset != a.offset ? 0xffffU : 0xffffffffU);
    }
  }
  // Two halves of a word may be two arguments.
  for (const KernelArgument& a : kernel.arguments) {
    if (known == 0 || a.offset / 4 != offset / 4 || a.offset == offset) continue;
    for (unsigned d = 0; d < 3; ++d) {
      if (a.kind != group_size_kinds[d]) continue;
      const u32 size = d == 0 ? geometry.block.x : d == 1 ? geometry.block.y : geometry.block.z;
      value |= size << (8 * (a.offset % 4));
      known += a.size;
    }
  }
  if (known != 0) t = known >= 4 ? terms.constant(value) : t;
  if (t == 0)
    t = garbage ? terms.constant(0x52000000U + static_cast<u32>(offset))
                : terms.symbol("arg+" + std::to_string(offset));
  argument[offset] = t;
  return t;
}

Term Setting::table_word(Term address) {
  const Term z = terms.zext(named("workgroup_z", 0x7fffffffU));
  for (const auto& [name, words] : tables) {
    const Term base = terms.join(named(name + ".lo", 0xffffffffU), named(name + ".hi", 0xffffU)),
               of_z = terms.multiply(z, terms.wide_constant(4 * words.size())),
               rest = terms.subtract(terms.subtract(address, base), of_z);
    const auto at = terms.value(rest);
    if (rest == Terms::unknown || !at || *at % 4 != 0 || *at / 4 >= words.size()) continue;
    const std::string& word = words[*at / 4];
    return named(word, word.ends_with(".hi") ? 0xffffU : 0xffffffffU); // device addresses have 48 bits
  }
  return 0;
}

Machine::Machine(Setting& setting, u32 wave_number)
    : setting_(&setting),
      wave_(std::make_unique<emulator::Wave>(
          setting.kernel.descriptor.accum_offset == 0 ? 256U : setting.kernel.descriptor.accum_offset)),
      shadow_(std::make_unique<Shadow>()) {
  emulator::Wave& w = *wave_;
  w.group = &setting.group;
  w.id = wave_number;
  const KernelDescriptor& d = setting.kernel.descriptor;
  // Where the emulator's launch puts what: numbers that stand for the arguments' address, ids and preloaded words.
  std::vector<u8> arguments(std::max<std::size_t>(4 * (d.preload_offset + d.preload_length), 16));
  for (std::size_t i = 0; i < arguments.size() / 4; ++i) {
    const u32 m = marker + static_cast<u32>(i);
    std::memcpy(arguments.data() + 4 * i, &m, 4);
  }
  setting.launch.kernarg = reinterpret_cast<u64>(arguments.data());
  const u32 threads = static_cast<u32>(setting.geometry.block.count());
  emulator::start_wave(w, setting.launch, wave_number * lanes, threads);
  w.hazards = std::make_unique<emulator::HazardState>();
  w.tracking = false;
  const auto low = static_cast<u32>(setting.launch.kernarg);
  const auto high = static_cast<u32>(setting.launch.kernarg >> 32);
  for (unsigned s = 0; s < 102; ++s) {
    const u32 v = w.scalar[s];
    if (v == low && w.scalar[s + 1] == high && d.kernarg_ptr) {
      set_scalar(s, t().low(setting.kernarg));
      set_scalar(s + 1, t().high(setting.kernarg));
    } else if (v >= marker && v < marker + 0x8000) {
      set_scalar(s, setting.argument_word(u64{4} * (v - marker)));
    } else if (v >= marker + 0x8000 && v < marker + 0x8003) {
      static constexpr const char* names[] = {"workgroup_x", "workgroup_y", "workgroup_z"};
      set_scalar(s, setting.named(names[v - marker - 0x8000], 0x7fffffffU));
    } else if (v == marker + 0x9000) {
      set_scalar(s, t().low(setting.packet));
      set_scalar(s + 1, t().high(setting.packet));
    }
  }
}

Machine::Machine(const Machine& o)
    : setting_(o.setting_), wave_(std::make_unique<emulator::Wave>(o.wave_->accum_offset)),
      shadow_(std::make_unique<Shadow>(*o.shadow_)), scalar_(o.scalar_), scc_(o.scc_) {
  emulator::Wave& w = *wave_;
  const emulator::Wave& v = *o.wave_;
  std::memcpy(w.row(0), v.row(0), sizeof(u32) * lanes * vector_rows);
  w.scalar = v.scalar;
  w.scc = v.scc;
  w.mode = v.mode;
  w.arch = v.arch;
  w.group = v.group;
  w.id = v.id;
  w.at = v.at;
  w.current = v.current;
  w.status = v.status;
  w.lane_exists = v.lane_exists;
  w.gpr_idx_mode = v.gpr_idx_mode;
  w.vskip = v.vskip;
  w.hazards = std::make_unique<emulator::HazardState>(*v.hazards);
}

// ---- registers ------------------------------------------------------------------------------------------------------

Term Machine::scalar(unsigned index) {
  return scalar_[index] != 0 ? scalar_[index] : t().constant(wave_->scalar[index]);
}

void Machine::set_scalar(unsigned index, Term value) {
  if (const auto v = t().value(value); v && value != Terms::unknown) {
    scalar_[index] = 0;
    wave_->scalar[index] = static_cast<u32>(*v);
  } else {
    scalar_[index] = value;
    if (index == exec_lo || index == exec_lo + 1) { // the lanes that may be active
      u32 may_be = 0;
      for (unsigned i = 0; i < 32; ++i) {
        const Term b = t().bit(value, i);
        if (t().value(b) != 0 || b == Terms::unknown) may_be |= u32{1} << i;
      }
      const u64 exists = wave_->lane_exists >> (index == exec_lo ? 0 : 32);
      wave_->scalar[index] = may_be & static_cast<u32>(exists);
    }
  }
}

Term Machine::scc() { return scc_ != 0 ? scc_ : t().constant(wave_->scc ? 1 : 0); }

void Machine::set_scc(Term value) {
  if (const auto v = t().value(value); v && value != Terms::unknown) {
    scc_ = 0;
    wave_->scc = *v != 0;
  } else {
    scc_ = value;
  }
}

Term Machine::vector(unsigned row, unsigned lane) {
  const u64 b = u64{1} << lane;
  if ((shadow_->symbolic[row] & b) == 0) return t().constant(wave_->row(row)[lane]);
  if ((shadow_->top[row] & b) != 0) return Terms::unknown;
  return shadow_->term[row][lane];
}

void Machine::set_vector(unsigned row, unsigned lane, Term value) {
  const u64 b = u64{1} << lane;
  if (value == Terms::unknown) {
    shadow_->symbolic[row] |= b;
    shadow_->top[row] |= b;
    return;
  }
  shadow_->top[row] &= ~b;
  if (const auto v = t().value(value)) {
    shadow_->symbolic[row] &= ~b;
    wave_->row(row)[lane] = static_cast<u32>(*v);
  } else {
    shadow_->symbolic[row] |= b;
    shadow_->term[row][lane] = value;
  }
}

void Machine::write_vector(unsigned row, unsigned lane, Term value) {
  const Term g = guard(lane);
  set_vector(row, lane, t().value(g) == 1 ? value : t().select(g, value, vector(row, lane)));
}

bool Machine::surely_same(const Machine& o, unsigned row) const {
  const u64 symbolic = shadow_->symbolic[row];
  const u64 top = shadow_->top[row];
  if (symbolic != o.shadow_->symbolic[row] || top != o.shadow_->top[row]) return false;
  for (u64 m = symbolic & ~top; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (shadow_->term[row][l] != o.shadow_->term[row][l]) return false;
  }
  if (symbolic == 0) return std::memcmp(wave_->row(row), o.wave_->row(row), sizeof(u32) * lanes) == 0;
  for (u64 m = ~symbolic; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (wave_->row(row)[l] != o.wave_->row(row)[l]) return false;
  }
  return true;
}

void Machine::forget(unsigned row, u64 mask) {
  shadow_->symbolic[row] |= mask;
  shadow_->top[row] |= mask;
}

Term Machine::guard(unsigned lane) {
  const unsigned r = exec_lo + lane / 32;
  if (scalar_[r] == 0) return t().constant((wave_->scalar[r] >> (lane % 32)) & 1U);
  return t().bit(scalar_[r], lane % 32);
}

Term Machine::under(Term g, Term value) const {
  const Terms& pool = setting_->terms;
  while (pool.kind(value) == TermKind::select) {
    const auto c = pool.children(value);
    if (pool.implies(g, c[0])) {
      value = c[1];
    } else if (pool.kind(c[0]) == TermKind::invert && pool.implies(g, pool.children(c[0])[0])) {
      value = c[2];
    } else {
      break;
    }
  }
  return value;
}

Term Machine::scalar_operand(const isa::Operand& o) {
  switch (o.kind) {
  case isa::OperandKind::sgpr: return scalar(o.index);
  case isa::OperandKind::special:
    switch (o.index) {
    case 251: return t().invert(t().either(t().nonzero(scalar(vcc_lo)), t().nonzero(scalar(vcc_lo + 1))));
    case 252: return t().invert(t().either(t().nonzero(scalar(exec_lo)), t().nonzero(scalar(exec_lo + 1))));
    case 253: return scc();
    default: break;
    }
    [[fallthrough]];
  default: return t().constant(emulator::read_scalar(*wave_, o));
  }
}

Term Machine::scalar_operand64(const isa::Operand& o) {
  if (o.kind == isa::OperandKind::sgpr) return t().join(scalar(o.index), scalar(o.index + 1U));
  if (o.kind == isa::OperandKind::special && o.index >= 251) return t().zext(scalar_operand(o));
  return t().wide_constant(emulator::read_scalar64(*wave_, o));
}

// ---- execution ------------------------------------------------------------------------------------------------------

namespace {
/// A selection that is a word, or a part of a sum of words.
std::optional<TermPart> selection_in(const Terms& t, Term w) {
  if (t.kind(w) == TermKind::select) return TermPart{w, 1};
  if (w != Terms::unknown && t.kind(w) == TermKind::linear)
    for (const TermPart& p : t.parts(w))
      if (t.kind(p.atom) == TermKind::select) return p;
  return std::nullopt;
}
} // namespace

Term Machine::lds_choice(const Operation& op) {
  if (op.memory.space != emulator::MemoryFields::Space::lds || op.memory.vaddr < 0) return 0;
  Term all = 0;
  for (u64 left = may(); left != 0; left &= left - 1) {
    const Term w =
        vector(static_cast<unsigned>(op.memory.vaddr), static_cast<unsigned>(std::countr_zero(left)));
    const auto s = selection_in(t(), w);
    if (!s) return 0;
    const Term c = t().children(s->atom)[0];
    if (c == Terms::unknown || (all != 0 && c != all)) return 0;
    all = c;
  }
  return all;
}

void Machine::choose(const Operation& op, Term condition, bool value) {
  const auto row = static_cast<unsigned>(op.memory.vaddr);
  for (u64 left = may(); left != 0; left &= left - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(left));
    const Term w = vector(row, l);
    const auto s = selection_in(t(), w);
    if (!s || t().children(s->atom)[0] != condition) continue;
    const Term side = t().children(s->atom)[value ? 1 : 2],
               factor = t().constant(static_cast<u32>(s->coefficient));
    set_vector(row, l, t().add(t().subtract(w, t().multiply(s->atom, factor)), t().multiply(side, factor)));
  }
}

Term Machine::branch_condition(const Operation& op) {
  const std::string_view n = op.instruction->mnemonic;
  const auto any_of = [&](unsigned r) {
    return t().either(t().nonzero(scalar(r)), t().nonzero(scalar(r + 1)));
  };
  if (n == "s_cbranch_scc0") return t().invert(scc());
  if (n == "s_cbranch_scc1") return scc();
  if (n == "s_cbranch_vccz") return t().invert(any_of(vcc_lo));
  if (n == "s_cbranch_vccnz") return any_of(vcc_lo);
  if (n == "s_cbranch_execz") return t().invert(any_of(exec_lo));
  if (n == "s_cbranch_execnz") return any_of(exec_lo);
  return Terms::unknown;
}

bool Machine::execute(const Operation& op) {
  switch (op.cls) {
  case Class::scalar: return execute_scalar(op);
  case Class::vector: return execute_vector(op);
  case Class::matrix:
    for (const RowRange& r : op.writes)
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) forget(k, ~u64{0});
    return true;
  default: return false;
  }
}

bool Machine::execute_lds(const Operation& op) {
  emulator::Wave& w = *wave_;
  bool numbers = exec_is_number();
  for (const RowRange& r : op.reads)
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k)
      numbers = numbers && (shadow_->symbolic[k] & may()) == 0;
  for (unsigned half = 0; half < 2; ++half)
    for (u64 set = op.scalar_reads[half]; set != 0; set &= set - 1)
      numbers = numbers && scalar_[half * 64 + static_cast<unsigned>(std::countr_zero(set))] == 0;
  if (!numbers) return false;
  const bool deferring = w.deferring;
  w.deferring = false; // now, not when a wait says so
  op.execute(w, op);
  w.deferring = deferring;
  for (const RowRange& r : op.writes)
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
      shadow_->symbolic[k] &= ~may();
      shadow_->top[k] &= ~may();
    }
  return true;
}

bool Machine::execute_scalar(const Operation& op) {
  const isa::Instruction& i = *op.instruction;
  const std::string_view n = i.mnemonic;
  const bool jumps = n.starts_with("s_setpc") || n.starts_with("s_swappc") || n.starts_with("s_call") ||
                     n.starts_with("s_cbranch_i_fork") || n.starts_with("s_cbranch_g_fork") ||
                     n.starts_with("s_cbranch_join") || n.starts_with("s_rfe") || n.starts_with("s_movrel") ||
                     n.starts_with("s_setvskip");
  if (jumps) return false;
  bool symbolic = scc_ != 0 && reads_scc(i);
  for (unsigned half = 0; half < 2; ++half)
    for (u64 set = op.scalar_reads[half]; set != 0; set &= set - 1)
      symbolic = symbolic || scalar_[half * 64 + static_cast<unsigned>(std::countr_zero(set))] != 0;
  for (const isa::Operand& o : i.operands)
    symbolic = symbolic || (o.kind == isa::OperandKind::special && o.index >= 251);
  const bool exec_read =
      n.find("saveexec") != std::string_view::npos || n.find("wrexec") != std::string_view::npos;
  symbolic = symbolic || (exec_read && !exec_is_number());
  if (n == "s_getreg_b32") { // the wave's place in the machine: only MODE is known
    const unsigned id = static_cast<unsigned>(i.operands[1].value) & 63;
    if (id != 1) {
      set_scalar(i.operands[0].index,
                 id == 20 ? t().symbol("xcc_id." + std::to_string(i.operands[1].value & 0xffff))
                          : Terms::unknown);
      return true;
    }
  }
  if (n.starts_with("s_setreg")) return set_hardware_register(op);
  if (symbolic) return scalar_formula(op);
  const std::array<u32, 2> exec_before = {wave_->scalar[exec_lo], wave_->scalar[exec_lo + 1]};
  op.execute(*wave_, op);
  for (unsigned half = 0; half < 2; ++half)
    for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1)
      scalar_[half * 64 + static_cast<unsigned>(std::countr_zero(set))] = 0;
  static_cast<void>(exec_before);
  if (writes_scc(i)) scc_ = 0;
  return true;
}

/// Followed where no instruction after it does anything else than before. MODE (CDNA3 ISA, 3.4): FP_ROUND 3:0, FP_DENORM
/// 7:4 (f32 5:4), DX10_CLAMP 8, IEEE 9, LOD_CLAMPED 10, DEBUG_EN 11, EXCP_EN 20:12, FP16_OVFL 23, GPR_IDX_EN 27, VSKIP 28, CSP
/// 31:29. TRAPSTS: the sticky bits of exceptions 8:0; SAVECTX and those beside it call a trap handler. STATUS holds the
/// conditions that branches look at, LDS_ALLOC and GPR_ALLOC where the wave's memory is: no code for compute writes them.
bool Machine::set_hardware_register(const Operation& op) {
  const isa::Instruction& i = *op.instruction;
  const u32 field = static_cast<u32>(i.operands[0].value) & 0xffff;
  const u32 id = field & 63;
  const u32 offset = (field >> 6) & 31;
  const u32 size = std::min((field >> 11) + 1, 32 - offset);
  const u32 mask = (size == 32 ? ~0U : (1U << size) - 1) << offset;
  if (id == 3) return (mask & ~0x1ffU) == 0;
  if (id != 1) return false;
  const auto value = t().value(scalar_operand(i.operands[1]));
  if (!value || scalar_operand(i.operands[1]) == Terms::unknown)
    return false; // numbers are computed by what MODE says
  // Where nothing is rounded only what becomes of f32 below 2^-126 may change: that may be 0 in any case. Order asks for no values.
  const u32 followed = setting_->reals ? 0x30U : 0x00ffffffU;
  const u32 changed = (wave_->mode ^ (static_cast<u32>(*value) << offset)) & mask;
  if ((changed & ~followed) != 0) return false;
  wave_->mode ^= changed;
  return true;
}

std::optional<Machine::Part> Machine::written_part(const Operation& op) {
  const isa::Instruction& i = *op.instruction;
  const isa::Modifiers& m = i.modifiers;
  const emulator::VectorEntry& e = *op.vector;
  if (i.form == isa::Form::sdwa && m.dst_sel != isa::Select::dword) {
    const auto sel = static_cast<unsigned>(m.dst_sel);
    return Part{sel < 4 ? 8 * sel : 16 * (sel - 4), sel < 4 ? 8U : 16U, m.dst_unused};
  }
  if (i.form == isa::Form::sdwa || (e.d != emulator::Type::f16 && e.d != emulator::Type::b16))
    return std::nullopt;
  const bool by_op_sel = i.format == isa::Format::vop3 && (e.flags & emulator::own_op_sel) == 0;
  if ((e.flags & emulator::to_high) != 0 || (by_op_sel && (m.op_sel & 8U) != 0)) return Part{16, 16, 2};
  if ((e.flags & emulator::keeps_high) != 0 || (i.format == isa::Format::vop3 && m.op_sel != 0))
    return Part{0, 16, 2};
  return std::nullopt;
}

bool Machine::execute_vector(const Operation& op) {
  emulator::Wave& w = *wave_;
  if (w.vskip) return false;
  if (w.gpr_idx_mode != 0 && !op.sources.empty()) { // registers by number: by the emulator or not at all
    if (scalar_[m0] != 0) return false;
    bool numbers = exec_is_number() && op.special == nullptr;
    emulator::each_read(w, op, [&](const RowRange& r) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k)
        numbers = numbers && (shadow_->symbolic[k] & may()) == 0;
    });
    for (unsigned half = 0; half < 2; ++half)
      for (u64 set = op.scalar_reads[half]; set != 0; set &= set - 1)
        numbers = numbers && scalar_[half * 64 + static_cast<unsigned>(std::countr_zero(set))] == 0;
    if (numbers) op.execute(w, op);
    emulator::each_write(w, op, [&](const RowRange& r) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
        if (numbers) {
          shadow_->symbolic[k] &= ~may();
          shadow_->top[k] &= ~may();
        } else {
          forget(k, may());
        }
      }
    });
    for (unsigned half = 0; half < 2; ++half)
      for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1) {
        const unsigned r = half * 64 + static_cast<unsigned>(std::countr_zero(set));
        if (numbers) {
          scalar_[r] = 0;
        } else {
          set_scalar(r, Terms::unknown);
        }
      }
    return true;
  }
  if (op.special != nullptr) {
    lane_instruction(op);
    return true;
  }
  const isa::Instruction& i = *op.instruction;
  const u64 active = may();
  u64 symbolic = 0;
  u64 top = 0;
  for (const RowRange& r : op.reads)
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
      symbolic |= shadow_->symbolic[k];
      top |= shadow_->top[k];
    }
  const bool dpp = i.form == isa::Form::dpp;
  if (dpp && symbolic != 0) {
    symbolic = ~u64{0};
    top = ~u64{0};
  }
  for (unsigned half = 0; half < 2; ++half)
    for (u64 set = op.scalar_reads[half]; set != 0; set &= set - 1)
      if (scalar_[half * 64 + static_cast<unsigned>(std::countr_zero(set))] != 0) symbolic = ~u64{0};
  for (const Source& s : op.sources)
    if (s.kind == Source::Kind::special && s.index >= 251) symbolic = ~u64{0};
  // What stays of the register beside the result is read, too.
  const bool partial = op.vector == nullptr || written_part(op).has_value();
  if (partial && op.vector != nullptr) symbolic |= shadow_->symbolic[op.destination];
  symbolic &= active;
  const bool exact = exec_is_number();
  const bool rounds = setting_->reals && op.vector != nullptr && op.mask_destination < 0 &&
                      (i.mnemonic.find("_f32") != std::string_view::npos ||
                       i.mnemonic.find("_f16") != std::string_view::npos ||
                       i.mnemonic.find("_bf16") != std::string_view::npos ||
                       i.mnemonic.find("_f64") != std::string_view::npos);
  if (exact && symbolic == 0 && !rounds) {
    op.execute(w, op);
    std::array<emulator::i8, lanes> from{};
    const u64 written = dpp ? emulator::dpp_lanes(i.modifiers.dpp, active, from) : active;
    for (const RowRange& r : op.writes)
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
        shadow_->symbolic[k] &= ~written;
        shadow_->top[k] &= ~written;
      }
    for (unsigned half = 0; half < 2; ++half)
      for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1)
        scalar_[half * 64 + static_cast<unsigned>(std::countr_zero(set))] = 0;
    return true;
  }
  const bool moves_lanes = dpp && exact && op.vector != nullptr && op.mask_destination < 0;
  if (op.vector == nullptr || (dpp && (!moves_lanes || partial))) { // what the formulas do not describe
    for (const RowRange& r : op.writes)
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) forget(k, active);
    for (unsigned half = 0; half < 2; ++half)
      for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1)
        set_scalar(half * 64 + static_cast<unsigned>(std::countr_zero(set)), Terms::unknown);
    return true;
  }
  vector_formula(op, dpp ? 0 : top & active);
  return true;
}

void Machine::lane_instruction(const Operation& op) {
  emulator::Wave& w = *wave_;
  const std::string_view n = op.instruction->mnemonic;
  const auto unknown_result = [&] {
    for (const RowRange& r : op.writes)
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) forget(k, ~u64{0});
    for (unsigned half = 0; half < 2; ++half)
      for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1)
        set_scalar(half * 64 + static_cast<unsigned>(std::countr_zero(set)), Terms::unknown);
  };
  if (n == "v_readfirstlane_b32" || n == "v_readlane_b32") {
    const Source& s = op.sources[0];
    const auto to = static_cast<unsigned>(op.mask_destination);
    if (s.kind != Source::Kind::row) {
      set_scalar(to, s.kind == Source::Kind::scalar
                         ? scalar(s.index)
                         : t().constant(s.constant != nullptr ? s.constant[0] : 0));
      return;
    }
    if (n == "v_readlane_b32") {
      const Source& lane = op.sources[1];
      if (lane.kind == Source::Kind::scalar && scalar_[lane.index] != 0) return unknown_result();
      const u32 l = lane.kind == Source::Kind::scalar ? w.scalar[lane.index] : lane.constant[0];
      set_scalar(to, vector(s.index, l & 63));
      return;
    }
    const u64 active = may();
    const unsigned first = active == 0 ? 0U : static_cast<unsigned>(std::countr_zero(active));
    Term value = under(guard(first), vector(s.index, first));
    if (t().value(guard(first)) != 1 && active != 0) {
      // Which lane is the first depends on sizes: all that may be must agree.
      for (u64 m = active; m != 0; m &= m - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(m));
        if (under(guard(l), vector(s.index, l)) != value) value = Terms::unknown;
      }
    }
    set_scalar(to, value);
    return;
  }
  if (n == "v_writelane_b32") {
    const Source& s = op.sources[0];
    const Source& lane = op.sources[1];
    if (lane.kind == Source::Kind::scalar && scalar_[lane.index] != 0) return unknown_result();
    const u32 l = lane.kind == Source::Kind::scalar ? w.scalar[lane.index] : lane.constant[0];
    set_vector(op.destination, l & 63,
               s.kind == Source::Kind::scalar ? scalar(s.index) : t().constant(s.constant[0]));
    return;
  }
  if (n == "v_nop" || n == "v_clrexcp") return;
  if ((n == "v_permlane16_swap_b32" || n == "v_permlane32_swap_b32") && exec_is_number()) {
    const unsigned size = n[10] == '1' ? 16 : 32, from = op.sources[0].index;
    for (unsigned l = 0; l < emulator::lanes; ++l) {
      if (l / size % 2 != 0 || ((may() >> l) & 1U) == 0) continue;
      const Term x = vector(op.destination, l + size), y = vector(from, l);
      set_vector(op.destination, l + size, y), set_vector(from, l, x);
    }
    return;
  }
  u64 symbolic = 0;
  for (const RowRange& r : op.reads)
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) symbolic |= shadow_->symbolic[k];
  if (symbolic != 0 || !exec_is_number()) return unknown_result();
  op.execute(w, op);
}

std::optional<Machine::ScalarPlace> Machine::scalar_place(const Operation& op) {
  const isa::Instruction& i = *op.instruction;
  const std::string_view n = i.mnemonic;
  const bool atomic = n.find("atomic") != std::string_view::npos;
  const bool load = n.find("load_dword") != std::string_view::npos;
  if (!load && !atomic && n.find("store_dword") == std::string_view::npos) return std::nullopt;
  ScalarPlace p;
  p.bytes = atomic ? (n.ends_with("_x2") ? 8U : 4U) : 4U * i.operands[0].width;
  const isa::Operand& b = i.operands[1];
  p.offset = t().wide_constant(static_cast<u64>(std::int64_t{i.modifiers.offset}));
  if (i.operands.size() > 2) {
    const isa::Operand& o = i.operands[2];
    const u64 unit = n.starts_with("s_scratch") ? 64 : 1;
    p.offset = t().add(p.offset, o.kind == isa::OperandKind::sgpr
                                     ? t().multiply(t().zext(scalar_operand(o)), t().wide_constant(unit))
                                     : t().wide_constant(o.value));
  }
  if (b.width == 4) {
    const Term high = scalar(b.index + 1U);
    p.address = t().add(t().join(scalar(b.index), t().bit_and(high, t().constant(0xffff))), p.offset);
    if (load) p.records = scalar(b.index + 2U);
    const Term stride = t().bit_and(t().shr(high, t().constant(16)), t().constant(0x3fff));
    p.exact = t().value(stride) == 0 && stride != Terms::unknown;
  } else {
    p.address = t().add(t().join(scalar(b.index), scalar(b.index + 1U)), p.offset);
    p.exact = true;
  }
  // Whether the low two bits are 0, all pointers being words' addresses.
  const auto whole = [&](const auto& self, Term x) -> bool {
    if (x == Terms::unknown) return false;
    const auto child = [&](std::size_t k) { return self(self, Term(t().children(x)[k])); };
    switch (t().kind(x)) {
    case TermKind::linear: {
      const std::vector<TermPart> parts(t().parts(x).begin(), t().parts(x).end());
      return t().raw(x) % 4 == 0 && std::all_of(parts.begin(), parts.end(), [&](const TermPart& part) {
               return part.coefficient % 4 == 0 || self(self, part.atom);
             });
    }
    case TermKind::pair: return child(0);
    case TermKind::symbol: return t().name(x).ends_with(".lo");
    case TermKind::zext:
    case TermKind::sext:
    case TermKind::low: return child(0);
    case TermKind::multiply:
    case TermKind::product:
    case TermKind::wide_multiply: return child(0) || child(1);
    case TermKind::bit_and: {
      const auto mask = t().value(t().children(x)[1]);
      return (mask && *mask % 4 == 0) || child(0);
    }
    case TermKind::select: return child(1) && child(2);
    default: return false;
    }
  };
  p.exact = p.exact && whole(whole, p.offset) && whole(whole, p.address);
  return p;
}

bool Machine::in_launch(Term address) {
  for (const Term base : {setting_->kernarg, setting_->packet})
    if (const Term d = t().subtract(address, base); d != Terms::unknown)
      if (const auto at = t().value(d); at && *at < 0x10000) return true;
  return false;
}

void Machine::scalar_load(const Operation& op) {
  const isa::Instruction& i = *op.instruction;
  const std::string_view n = i.mnemonic;
  const isa::Operand& d = i.operands[0];
  const auto unknown_result = [&] {
    for (unsigned half = 0; half < 2; ++half)
      for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1)
        set_scalar(half * 64 + static_cast<unsigned>(std::countr_zero(set)), Terms::unknown);
  };
  // Of scratch nobody says where it is; numbers are at the address that the instruction has.
  if (!n.starts_with("s_load_dword") && !n.starts_with("s_buffer_load_dword") &&
      !(setting_->garbage && n.starts_with("s_scratch_load_dword")))
    return unknown_result();
  const ScalarPlace place = *scalar_place(op);
  // A buffer ends: what lies past its end reads as 0, so that all of it has to be known to lie in front.
  u32 inside = d.width; // words
  if (i.operands[1].width == 4) {
    const auto records = t().value(place.records), first = t().value(place.offset);
    if (!place.exact || !records || !first) return unknown_result();
    const u64 words = *first > *records ? 0 : (*records - *first) / 4;
    if (words < inside && !setting_->garbage) return unknown_result();
    inside = static_cast<u32>(std::min<u64>(inside, words));
  }
  const Term address = place.address;
  const Term relative = t().subtract(address, setting_->kernarg);
  for (unsigned k = 0; k < d.width; ++k) {
    Term value = 0;
    if (k >= inside) {
      value = t().constant(0);
    } else if (const auto at = t().value(relative); at && *at < 0x10000 && *at % 4 == 0) {
      value = setting_->argument_word(*at + 4 * k);
    } else if (const Term word = setting_->table_word(t().add(address, t().wide_constant(4 * k)))) {
      value = word;
    } else if (setting_->garbage) { // whatever is there
      value = t().constant(0x51000000U + static_cast<u32>(4 * k));
    } else {
      value = t().load(t().add(address, t().wide_constant(4 * k)));
    }
    set_scalar(d.index + k, value);
  }
}

} // namespace inlay::runtime::symbolic
