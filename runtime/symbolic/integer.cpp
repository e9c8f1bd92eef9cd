// The integer instructions that addresses, conditions and masks are made of, on terms. What each computes is checked
// against the emulator on random numbers (tests/validate), so that there is one truth.
#include "symbolic/machine.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace inlay::runtime::symbolic {

using emulator::Class;
using emulator::exec_lo;
using emulator::m0;
using emulator::RowRange;
using emulator::Source;
using emulator::Type;
using emulator::vcc_lo;

namespace {

/// hi of (low pair sum) + (high pair sum): `c` is the carry of the low words.
Term add_with_carry(Terms& t, Term a, Term b, Term c) {
  if (t.kind(c) == TermKind::carry) {
    const Term x = t.children(c)[0];
    const Term y = t.children(c)[1];
    // Either pairing is the same sum; the one that joins what belongs together reads better.
    const auto rough = [&](Term lo, Term hi) {
      const Term j = t.join(lo, hi);
      if (j == Terms::unknown || t.kind(j) != TermKind::pair) return 0;
      const bool names =
          t.kind(lo) == TermKind::symbol && t.kind(hi) == TermKind::symbol && t.name(lo).ends_with(".lo") &&
          t.name(hi).ends_with(".hi") &&
          t.name(lo).substr(0, t.name(lo).size() - 3) == t.name(hi).substr(0, t.name(hi).size() - 3);
      const bool loads = t.kind(lo) == TermKind::load && t.kind(hi) == TermKind::load;
      return names || loads ? 0 : 1;
    };
    if (rough(x, a) + rough(y, b) > rough(x, b) + rough(y, a)) std::swap(a, b);
    return t.high(t.add(t.join(x, a), t.join(y, b)));
  }
  return t.add(t.add(a, b), c);
}

Term subtract_with_borrow(Terms& t, Term a, Term b, Term c) {
  if (t.kind(c) == TermKind::borrow) {
    const Term x = t.children(c)[0];
    const Term y = t.children(c)[1];
    return t.high(t.subtract(t.join(x, a), t.join(y, b)));
  }
  return t.subtract(t.subtract(a, b), c);
}

/// (x >> offset) & (2^width - 1), sign-extended when asked; nothing when the field is not a number.
std::optional<Term> field_of(Terms& t, Term x, Term offset, Term width, bool is_signed) {
  const auto o = t.value(offset);
  const auto w = t.value(width);
  if (!o || !w) return std::nullopt;
  if (*w == 0) return t.constant(0);
  if (*o + *w >= 32)
    return is_signed ? t.ashr(x, t.constant(static_cast<u32>(*o)))
                     : t.shr(x, t.constant(static_cast<u32>(*o)));
  if (!is_signed)
    return t.bit_and(t.shr(x, t.constant(static_cast<u32>(*o))), t.constant((u32{1} << *w) - 1));
  const auto up = static_cast<u32>(32 - *o - *w);
  return t.ashr(t.shl(x, t.constant(up)), t.constant(static_cast<u32>(32 - *w)));
}

std::optional<Term> compare(Terms& t, std::string_view relation, std::string_view type, Term a, Term b) {
  if (type == "u64" || type == "i64") {
    if (relation == "eq") return t.equal(a, b);
    if (relation == "ne" || relation == "lg") return t.invert(t.equal(a, b));
    return std::nullopt;
  }
  if (type != "u32" && type != "i32") return std::nullopt;
  const bool s = type == "i32";
  if (relation == "eq") return t.equal(a, b);
  if (relation == "ne" || relation == "lg") return t.invert(t.equal(a, b));
  if (relation == "lt") return t.less(a, b, s);
  if (relation == "gt") return t.less(b, a, s);
  if (relation == "le") return t.invert(t.less(b, a, s));
  if (relation == "ge") return t.invert(t.less(a, b, s));
  if (relation == "t") return t.constant(1);
  if (relation == "f") return t.constant(0);
  return std::nullopt;
}

/// Bit by bit, by a table of truth of which bit 4 a + 2 b + c is the result, where it is (x & y) | z, x & y & z, x | y | z or
/// x ^ y ^ z of the three in some order.
std::optional<Term> three_bits(Terms& t, unsigned truth, const std::array<Term, 3>& a) {
  static constexpr u8 bits_of[] = {0xf0, 0xcc, 0xaa};
  if (truth == 0x80) return t.bit_and(t.bit_and(a[0], a[1]), a[2]);
  if (truth == 0xfe) return t.bit_or(t.bit_or(a[0], a[1]), a[2]);
  if (truth == 0x96) return t.bit_xor(t.bit_xor(a[0], a[1]), a[2]);
  for (unsigned z = 0; z < 3; ++z) {
    const unsigned x = (z + 1) % 3, y = (z + 2) % 3;
    if (truth == ((bits_of[x] & bits_of[y]) | bits_of[z])) return t.bit_or(t.bit_and(a[x], a[y]), a[z]);
  }
  // Or operations on two of them and on what that gives and the third, or nothing, each itself or its complement.
  const auto bits_by = [](unsigned which, unsigned x, unsigned y) {
    return which == 0 ? x & y : which == 1 ? x | y : which == 2 ? x ^ y : x;
  };
  const auto by = [&](unsigned which, Term x, Term y) {
    return which == 0 ? t.bit_and(x, y) : which == 1 ? t.bit_or(x, y) : which == 2 ? t.bit_xor(x, y) : x;
  };
  for (unsigned form = 0; form < 3 * 3 * 4 * 8; ++form) {
    const unsigned z = form % 3, x = (z + 1) % 3, y = (z + 2) % 3, first = form / 3 % 3, then = form / 9 % 4,
                   not_of = form / 36;
    const auto bits = [&](unsigned k) { return bits_of[k] ^ ((not_of >> k & 1U) != 0 ? 0xffU : 0U); };
    if (truth != bits_by(then, bits_by(first, bits(x), bits(y)), bits(z))) continue;
    const auto term = [&](unsigned k) { return (not_of >> k & 1U) != 0 ? t.bit_not(a[k]) : a[k]; };
    return by(then, by(first, term(x), term(y)), term(z));
  }
  return std::nullopt;
}

/// v_perm_b32: byte k of the result is the one that byte k of the selector names: 0 to 3 of the second source, 4 to 7 of the first, 0 for
/// 12 and 0xff for more (CDNA3 ISA manual, V_PERM_B32). Nothing where the selector is no number, or names a sign.
std::optional<Term> permuted_bytes(Terms& t, const std::array<Term, 3>& a) {
  const auto selector = t.value(a[2]);
  if (!selector) return std::nullopt;
  const auto select = [&](unsigned k) { return static_cast<unsigned>(*selector >> (8 * k)) & 0xffU; };
  Term out = t.constant(0);
  for (unsigned k = 0; k < 4;) {
    const unsigned s = select(k);
    if (s >= 8 && s < 12) return std::nullopt;
    unsigned n = 1; // bytes that follow one another in one source are one field
    if (s < 8)
      for (; k + n < 4 && (s + n) % 4 != 0 && select(k + n) == s + n;) ++n;
    const Term source = s >= 12 ? t.constant(s == 12 ? 0 : 0xff) : s < 4 ? a[1] : a[0];
    const auto field = field_of(t, source, t.constant(8 * (s < 8 ? s % 4 : 0)), t.constant(8 * n), false);
    out = t.bit_or(out, t.shl(*field, t.constant(8 * k)));
    k += n;
  }
  return out;
}

using Body = std::optional<Term> (*)(Terms&, const std::array<Term, 3>&);

/// Instructions with one 32-bit result and 32-bit sources, in the order of the operands.
const std::unordered_map<std::string_view, Body>& words() {
  using A = const std::array<Term, 3>&;
  static const std::unordered_map<std::string_view, Body> table = {
      {"v_mov_b32", [](Terms&, A a) -> std::optional<Term> { return a[0]; }},
      {"v_accvgpr_read_b32", [](Terms&, A a) -> std::optional<Term> { return a[0]; }},
      {"v_accvgpr_write_b32", [](Terms&, A a) -> std::optional<Term> { return a[0]; }},
      {"v_accvgpr_mov_b32", [](Terms&, A a) -> std::optional<Term> { return a[0]; }},
      {"v_not_b32", [](Terms& t, A a) -> std::optional<Term> { return t.bit_not(a[0]); }},
      {"v_and_b32", [](Terms& t, A a) -> std::optional<Term> { return t.bit_and(a[0], a[1]); }},
      {"v_or_b32", [](Terms& t, A a) -> std::optional<Term> { return t.bit_or(a[0], a[1]); }},
      {"v_xor_b32", [](Terms& t, A a) -> std::optional<Term> { return t.bit_xor(a[0], a[1]); }},
      {"v_xnor_b32", [](Terms& t, A a) -> std::optional<Term> { return t.bit_not(t.bit_xor(a[0], a[1])); }},
      {"v_lshlrev_b32", [](Terms& t, A a) -> std::optional<Term> { return t.shl(a[1], a[0]); }},
      {"v_lshrrev_b32", [](Terms& t, A a) -> std::optional<Term> { return t.shr(a[1], a[0]); }},
      {"v_ashrrev_i32", [](Terms& t, A a) -> std::optional<Term> { return t.ashr(a[1], a[0]); }},
      {"v_add_u32", [](Terms& t, A a) -> std::optional<Term> { return t.add(a[0], a[1]); }},
      {"v_sub_u32", [](Terms& t, A a) -> std::optional<Term> { return t.subtract(a[0], a[1]); }},
      {"v_subrev_u32", [](Terms& t, A a) -> std::optional<Term> { return t.subtract(a[1], a[0]); }},
      {"v_add_i32", [](Terms& t, A a) -> std::optional<Term> { return t.add(a[0], a[1]); }},
      {"v_sub_i32", [](Terms& t, A a) -> std::optional<Term> { return t.subtract(a[0], a[1]); }},
      {"v_mul_lo_u32", [](Terms& t, A a) -> std::optional<Term> { return t.multiply(a[0], a[1]); }},
      {"v_mul_hi_u32",
       [](Terms& t, A a) -> std::optional<Term> { return t.multiply_high(a[0], a[1], false); }},
      {"v_mul_hi_i32",
       [](Terms& t, A a) -> std::optional<Term> { return t.multiply_high(a[0], a[1], true); }},
      {"v_mul_u32_u24",
       [](Terms& t, A a) -> std::optional<Term> {
         const Term m = t.constant(0xffffff);
         const Term x = t.bit_and(a[0], m);
         return t.multiply(x, t.bit_and(a[1], m));
       }},
      {"v_mad_u32_u24",
       [](Terms& t, A a) -> std::optional<Term> {
         const Term m = t.constant(0xffffff);
         const Term x = t.bit_and(a[0], m);
         return t.add(t.multiply(x, t.bit_and(a[1], m)), a[2]);
       }},
      {"v_mul_i32_i24",
       [](Terms& t, A a) -> std::optional<Term> {
         const auto low = [&](Term x) { return *field_of(t, x, t.constant(0), t.constant(24), true); };
         const Term x = low(a[0]);
         return t.multiply(x, low(a[1]));
       }},
      {"v_mad_i32_i24",
       [](Terms& t, A a) -> std::
                             optional<Term> {
                               const auto low = [&](Term x) {
                                 return *field_of(t, x, t.constant(0), t.constant(24), true);
                               };
                               const Term x = low(a[0]);
                               return t.add(t.multiply(x, low(a[1])), a[2]);
                             }},
      {"v_bfe_u32",
       [](Terms& t, A a) -> std::
                             optional<Term> {
                               const Term o = t.bit_and(a[1], t.constant(31));
                               return field_of(t, a[0], o, t.bit_and(a[2], t.constant(31)), false);
                             }},
      {"v_bfe_i32",
       [](Terms& t, A a) -> std::
                             optional<Term> {
                               const Term o = t.bit_and(a[1], t.constant(31));
                               return field_of(t, a[0], o, t.bit_and(a[2], t.constant(31)), true);
                             }},
      {"v_bfi_b32",
       [](Terms& t, A a) -> std::
                             optional<Term> {
                               const Term x = t.bit_and(a[0], a[1]);
                               return t.bit_or(x, t.bit_and(t.bit_not(a[0]), a[2]));
                             }},
      {"v_lshl_add_u32", [](Terms& t, A a) -> std::optional<Term> { return t.add(t.shl(a[0], a[1]), a[2]); }},
      {"v_add_lshl_u32", [](Terms& t, A a) -> std::optional<Term> { return t.shl(t.add(a[0], a[1]), a[2]); }},
      {"v_add3_u32", [](Terms& t, A a) -> std::optional<Term> { return t.add(t.add(a[0], a[1]), a[2]); }},
      {"v_lshl_or_b32",
       [](Terms& t, A a) -> std::optional<Term> { return t.bit_or(t.shl(a[0], a[1]), a[2]); }},
      {"v_and_or_b32",
       [](Terms& t, A a) -> std::optional<Term> { return t.bit_or(t.bit_and(a[0], a[1]), a[2]); }},
      {"v_or3_b32",
       [](Terms& t, A a) -> std::optional<Term> { return t.bit_or(t.bit_or(a[0], a[1]), a[2]); }},
      {"v_xad_u32", [](Terms& t, A a) -> std::optional<Term> { return t.add(t.bit_xor(a[0], a[1]), a[2]); }},
      {"v_min_u32", [](Terms& t, A a) -> std::optional<Term> { return t.minimum(a[0], a[1], false); }},
      {"v_min_i32", [](Terms& t, A a) -> std::optional<Term> { return t.minimum(a[0], a[1], true); }},
      {"v_max_u32", [](Terms& t, A a) -> std::optional<Term> { return t.maximum(a[0], a[1], false); }},
      {"v_max_i32", [](Terms& t, A a) -> std::optional<Term> { return t.maximum(a[0], a[1], true); }},
      {"v_min3_u32",
       [](Terms& t,
          A a) -> std::optional<Term> { return t.minimum(t.minimum(a[0], a[1], false), a[2], false); }},
      {"v_min3_i32",
       [](Terms& t,
          A a) -> std::optional<Term> { return t.minimum(t.minimum(a[0], a[1], true), a[2], true); }},
      {"v_max3_u32",
       [](Terms& t,
          A a) -> std::optional<Term> { return t.maximum(t.maximum(a[0], a[1], false), a[2], false); }},
      {"v_max3_i32",
       [](Terms& t,
          A a) -> std::optional<Term> { return t.maximum(t.maximum(a[0], a[1], true), a[2], true); }},
      {"v_lshlrev_b16",
       [](Terms& t, A a)
           -> std::optional<
               Term> { return t.bit_and(t.shl(a[1], t.bit_and(a[0], t.constant(15))), t.constant(0xffff)); }},
      {"v_ashrrev_i16",
       [](Terms& t, A a) -> std::
                             optional<Term> {
                               const Term x = *field_of(t, a[1], t.constant(0), t.constant(16), true);
                               return t.bit_and(t.ashr(x, t.bit_and(a[0], t.constant(15))),
                                                t.constant(0xffff));
                             }},
      {"v_lshrrev_b16",
       [](Terms& t, A a)
           -> std::optional<
               Term> { return t.shr(t.bit_and(a[1], t.constant(0xffff)), t.bit_and(a[0], t.constant(15))); }},
      {"v_med3_i32",
       [](Terms& t, A a) -> std::
                             optional<Term> {
                               const auto low = t.value(a[1]), high = t.value(a[2]);
                               if (low && high &&
                                   static_cast<std::int32_t>(*low) <= static_cast<std::int32_t>(*high))
                                 return t.minimum(t.maximum(a[0], a[1], true), a[2], true);
                               const Term least = t.minimum(a[0], a[1], true);
                               return t.maximum(least, t.minimum(t.maximum(a[0], a[1], true), a[2], true),
                                                true);
                             }},
      {"v_alignbit_b32",
       [](Terms& t, A a) -> std::
                             optional<Term> {
                               const auto k = t.value(a[2]);
                               if (!k) return std::nullopt;
                               const u32 n = *k & 31;
                               if (n == 0) return a[1];
                               const Term low = t.shr(a[1], t.constant(n));
                               return t.bit_or(low, t.shl(a[0], t.constant(32 - n)));
                             }},
      {"v_perm_b32", permuted_bytes},
  };
  return table;
}

} // namespace

// ---- scalar ---------------------------------------------------------------------------------------------------------

bool Machine::scalar_formula(const Operation& op) {
  const isa::Instruction& i = *op.instruction;
  std::string_view n = i.mnemonic;
  Terms& t = setting_->terms;
  const auto x = [&] { return scalar_operand(i.operands[1]); };
  const auto y = [&] { return scalar_operand(i.operands[2]); };
  const auto wx = [&] { return scalar_operand64(i.operands[1]); };
  const auto wy = [&] { return scalar_operand64(i.operands[2]); };
  const unsigned d = i.operands.empty() ? 0U : i.operands[0].index;
  const auto put = [&](Term v) {
    set_scalar(d, v);
    return true;
  };
  const auto put64 = [&](Term v) {
    const Term lo = t.low(v);
    const Term hi = t.high(v);
    set_scalar(d, v == Terms::unknown ? v : lo);
    set_scalar(d + 1, v == Terms::unknown ? v : hi);
    return true;
  };
  const auto logic = [&](Term v) {
    set_scalar(d, v);
    set_scc(t.nonzero(v));
    return true;
  };
  // The same on both words: masks are lane by lane.
  const auto pairwise = [&](auto f, bool two) {
    const auto word = [&](const isa::Operand& o, unsigned k) {
      if (o.kind == isa::OperandKind::sgpr) return scalar(o.index + k);
      const Term w = scalar_operand64(o);
      return k == 0 ? t.low(w) : t.high(w);
    };
    const Term lo = f(word(i.operands[1], 0), two ? word(i.operands[2], 0) : 0);
    const Term hi = f(word(i.operands[1], 1), two ? word(i.operands[2], 1) : 0);
    set_scalar(d, lo);
    set_scalar(d + 1, hi);
    const Term some = t.nonzero(lo);
    set_scc(t.either(some, t.nonzero(hi)));
    return true;
  };
  const auto bitwise = [&](std::string_view name) -> std::optional<std::function<Term(Term, Term)>> {
    if (name == "and") return [&](Term a, Term b) { return t.bit_and(a, b); };
    if (name == "or") return [&](Term a, Term b) { return t.bit_or(a, b); };
    if (name == "xor") return [&](Term a, Term b) { return t.bit_xor(a, b); };
    if (name == "andn2") return [&](Term a, Term b) { return t.bit_and(a, t.bit_not(b)); };
    if (name == "orn2") return [&](Term a, Term b) { return t.bit_or(a, t.bit_not(b)); };
    if (name == "nand") return [&](Term a, Term b) { return t.bit_not(t.bit_and(a, b)); };
    if (name == "nor") return [&](Term a, Term b) { return t.bit_not(t.bit_or(a, b)); };
    if (name == "xnor") return [&](Term a, Term b) { return t.bit_not(t.bit_xor(a, b)); };
    return std::nullopt;
  };
  // What has no formula is a function of what it reads.
  const auto some_function = [&] {
    std::vector<Term> arguments;
    for (unsigned half = 0; half < 2; ++half)
      for (u64 set = op.scalar_reads[half]; set != 0; set &= set - 1)
        arguments.push_back(scalar(half * 64 + static_cast<unsigned>(std::countr_zero(set))));
    arguments.push_back(scc());
    const auto number = static_cast<u32>(&op - setting_->code->operations.data());
    u32 word = 0;
    for (unsigned half = 0; half < 2; ++half)
      for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1)
        set_scalar(half * 64 + static_cast<unsigned>(std::countr_zero(set)),
                   t.function(number, word++, arguments));
    set_scc(t.bit(t.function(number, 99, arguments), 0));
    return true;
  };

  if (i.format == isa::Format::sopc || n.starts_with("s_cmpk")) {
    const bool constant = n.starts_with("s_cmpk");
    n.remove_prefix(constant ? 7 : 6);
    const auto cut = n.find('_');
    const std::string_view type = cut == std::string_view::npos ? "" : n.substr(cut + 1);
    if (i.mnemonic.starts_with("s_cmp")) {
      const bool wide = type == "u64";
      Term a = wide ? scalar_operand64(i.operands[0]) : scalar_operand(i.operands[0]);
      Term b = wide ? scalar_operand64(i.operands[1]) : scalar_operand(i.operands[1]);
      if (constant && type == "u32") b = t.bit_and(b, t.constant(0xffff));
      if (const auto r = compare(t, n.substr(0, cut), type, a, b)) {
        set_scc(*r);
        return true;
      }
    }
    if (i.mnemonic.starts_with("s_bitcmp") && i.mnemonic.ends_with("b32")) {
      const auto k = t.value(scalar_operand(i.operands[1]));
      const Term b = k ? t.bit(scalar_operand(i.operands[0]), *k & 31) : Terms::unknown;
      set_scc(i.mnemonic[8] == '0' ? t.invert(b) : b);
      return true;
    }
    if (i.mnemonic.starts_with("s_set_gpr_idx")) return false;
    set_scc(Terms::unknown);
    return true;
  }
  if (n == "s_mov_b32" || n == "s_movk_i32") return put(x());
  if (n == "s_mov_b64") {
    if (i.operands[1].kind == isa::OperandKind::sgpr) {
      const Term lo = scalar(i.operands[1].index);
      const Term hi = scalar(i.operands[1].index + 1U);
      set_scalar(d, lo);
      set_scalar(d + 1, hi);
      return true;
    }
    return put64(wx());
  }
  if (n == "s_cmov_b32" || n == "s_cmovk_i32") {
    const Term c = scc();
    return put(t.select(c, n == "s_cmov_b32" ? x() : scalar_operand(i.operands[1]), scalar(d)));
  }
  if (n == "s_add_u32" || n == "s_add_i32" || n == "s_addk_i32") {
    const Term a = n == "s_addk_i32" ? scalar_operand(i.operands[0]) : x();
    const Term b = n == "s_addk_i32" ? scalar_operand(i.operands[1]) : y();
    put(t.add(a, b));
    if (n == "s_add_u32") {
      set_scc(t.carry(a, b));
    } else {
      const Term c[2] = {a, b};
      set_scc(t.bit(t.function(static_cast<u32>(&op - setting_->code->operations.data()), 99, c), 0));
    }
    return true;
  }
  if (n == "s_sub_u32" || n == "s_sub_i32") {
    const Term a = x();
    const Term b = y();
    put(t.subtract(a, b));
    if (n == "s_sub_u32") {
      set_scc(t.borrow(a, b));
    } else {
      const Term c[2] = {a, b};
      set_scc(t.bit(t.function(static_cast<u32>(&op - setting_->code->operations.data()), 99, c), 0));
    }
    return true;
  }
  if (n == "s_addc_u32" || n == "s_subb_u32") {
    const Term a = x();
    const Term b = y();
    const Term c = scc();
    put(n == "s_addc_u32" ? add_with_carry(t, a, b, c) : subtract_with_borrow(t, a, b, c));
    const Term all[3] = {a, b, c};
    set_scc(t.bit(t.function(static_cast<u32>(&op - setting_->code->operations.data()), 99, all), 0));
    return true;
  }
  if (n == "s_mul_i32") return put(t.multiply(x(), y()));
  if (n == "s_mulk_i32") return put(t.multiply(scalar_operand(i.operands[0]), scalar_operand(i.operands[1])));
  if (n == "s_bitset1_b32" || n == "s_bitset0_b32") {
    const auto at = t.value(x());
    if (!at) return some_function();
    const u32 bit = u32{1} << (*at & 31);
    const Term before = scalar(d);
    return put(n == "s_bitset1_b32" ? t.bit_or(before, t.constant(bit))
                                    : t.bit_and(before, t.constant(~bit)));
  }
  if (n == "s_mul_hi_u32") return put(t.multiply_high(x(), y(), false));
  if (n == "s_mul_hi_i32") return put(t.multiply_high(x(), y(), true));
  if (n == "s_lshl_b32") return logic(t.shl(x(), y()));
  if (n == "s_lshr_b32") return logic(t.shr(x(), y()));
  if (n == "s_ashr_i32") return logic(t.ashr(x(), y()));
  if (n == "s_lshl_b64" || n == "s_lshr_b64" || n == "s_ashr_i64") {
    const Term r = t.wide_shift(n == "s_lshl_b64"   ? TermKind::wide_shift_left
                                : n == "s_lshr_b64" ? TermKind::wide_shift_right
                                                    : TermKind::wide_shift_right_signed,
                                wx(), y());
    put64(r);
    set_scc(t.nonzero(r));
    return true;
  }
  if (n == "s_bfe_u32" || n == "s_bfe_i32") {
    const auto f = t.value(y());
    if (!f) return some_function();
    const auto r = field_of(t, x(), t.constant(*f & 31), t.constant((*f >> 16) & 127), n == "s_bfe_i32");
    return logic(*r);
  }
  if (n == "s_min_i32" || n == "s_min_u32" || n == "s_max_i32" || n == "s_max_u32") {
    const bool s = n.ends_with("i32");
    const bool least = n.starts_with("s_min");
    const Term a = x();
    const Term b = y();
    put(least ? t.minimum(a, b, s) : t.maximum(a, b, s));
    set_scc(least ? t.less(a, b, s) : t.less(b, a, s));
    return true;
  }
  if (n == "s_cselect_b32") {
    const Term c = scc();
    const Term a = x();
    return put(t.select(c, a, y()));
  }
  if (n == "s_cselect_b64") {
    const Term c = scc();
    const bool mask = i.operands[1].is_constant() && i.operands[2].is_constant();
    const Term a = wx();
    const Term b = wy();
    if (mask && (t.value(a) == ~u64{0} || t.value(a) == 0) && (t.value(b) == ~u64{0} || t.value(b) == 0)) {
      std::array<Term, 32> all{}; // a uniform condition as a mask
      all.fill(t.value(a) == t.value(b) ? t.constant(t.value(a) == 0 ? 0 : 1)
               : t.value(a) == 0        ? t.invert(c)
                                        : c);
      const Term m = t.bits(all);
      set_scalar(d, m);
      set_scalar(d + 1, m);
      return true;
    }
    const Term lo = t.select(c, t.low(a), t.low(b));
    const Term hi = t.select(c, t.high(a), t.high(b));
    set_scalar(d, lo);
    set_scalar(d + 1, hi);
    return true;
  }
  if (n == "s_not_b32") return logic(t.bit_not(x()));
  if (n == "s_not_b64") return pairwise([&](Term a, Term) { return t.bit_not(a); }, false);
  if (n.starts_with("s_lshl") && n.ends_with("_add_u32")) {
    const Term r = t.add(t.shl(x(), t.constant(static_cast<u32>(n[6] - '0'))), y());
    put(r);
    set_scc(Terms::unknown);
    return true;
  }
  if (n == "s_sext_i32_i16" || n == "s_sext_i32_i8")
    return put(*field_of(t, x(), t.constant(0), t.constant(n == "s_sext_i32_i16" ? 16 : 8), true));
  if (n == "s_abs_i32") {
    const Term a = x();
    const Term negative = t.less(a, t.constant(0), true);
    return logic(t.select(negative, t.subtract(t.constant(0), a), a));
  }
  if (n.starts_with("s_pack_")) {
    const Term a = x();
    const Term b = y();
    const Term low = n[7] == 'l' ? t.bit_and(a, t.constant(0xffff)) : t.shr(a, t.constant(16));
    return put(t.bit_or(low, n[8] == 'l' ? t.shl(b, t.constant(16)) : t.bit_and(b, t.constant(0xffff0000U))));
  }
  if (const auto end = n.find("_saveexec_b64"); end != std::string_view::npos) {
    std::string_view name = n.substr(2, end - 2);
    const bool first = name.ends_with("n1"); // ~source with exec
    const auto f = bitwise(name == "andn1" ? "and" : name == "orn1" ? "or" : name);
    if (!f) return false;
    const isa::Operand& o = i.operands[1];
    std::array<Term, 2> old{};
    std::array<Term, 2> now{};
    for (unsigned k = 0; k < 2; ++k) {
      old[k] = scalar(exec_lo + k);
      Term s = o.kind == isa::OperandKind::sgpr ? scalar(o.index + k)
               : k == 0                         ? t.low(scalar_operand64(o))
                                                : t.high(scalar_operand64(o));
      if (first) s = t.bit_not(s);
      now[k] = (*f)(s, old[k]);
    }
    for (unsigned k = 0; k < 2; ++k) set_scalar(exec_lo + k, now[k]);
    for (unsigned k = 0; k < 2; ++k) set_scalar(d + k, old[k]);
    const Term some = t.nonzero(now[0]);
    set_scc(t.either(some, t.nonzero(now[1])));
    return true;
  }
  if (i.format == isa::Format::sop2 && (n.ends_with("_b32") || n.ends_with("_b64"))) {
    const bool wide = n.ends_with("_b64");
    const auto name = n.substr(2, n.size() - 6);
    if (const auto f = bitwise(name)) {
      if (wide) return pairwise(*f, true);
      const Term a = x();
      return logic((*f)(a, y()));
    }
  }
  if (n.find("exec") != std::string_view::npos || n.starts_with("s_set_gpr")) return false;
  return some_function();
}

// ---- vector ---------------------------------------------------------------------------------------------------------

Term Machine::source(const Operation& op, std::size_t index, unsigned lane, unsigned word, Term g) {
  const Source& s = op.sources[index];
  Terms& t = setting_->terms;
  switch (s.kind) {
  case Source::Kind::row: return under(g, vector(s.index + word, lane));
  case Source::Kind::scalar: return under(g, scalar(s.index + word));
  case Source::Kind::constant: return t.constant(s.constant[lane + word * lanes]);
  case Source::Kind::special: {
    isa::Operand o;
    o.kind = isa::OperandKind::special;
    o.index = s.index;
    if (s.index >= 251) return word == 0 ? scalar_operand(o) : t.constant(0);
    const bool aperture = s.index >= 235 && s.index <= 238;
    const u32 v = emulator::read_special(*wave_, s.index);
    const bool two = emulator::words(s.type) == 2;
    return t.constant(!two || !aperture ? (word == 0 ? v : 0) : (word == 1 ? v : 0));
  }
  default: return t.constant(0);
  }
}

void Machine::vector_formula(const Operation& op, u64 top) {
  Terms& t = setting_->terms;
  emulator::Wave& w = *wave_;
  const emulator::VectorEntry& e = *op.vector;
  const isa::Instruction& i = *op.instruction;
  const std::string_view n = i.mnemonic;
  const bool dpp = i.form == isa::Form::dpp;
  std::array<emulator::i8, lanes> from{};
  const u64 active = dpp ? emulator::dpp_lanes(i.modifiers.dpp, may(), from) : may();
  const auto number = static_cast<u32>(&op - setting_->code->operations.data());
  const unsigned result_words = e.d == Type::mask ? 0 : emulator::words(e.d);
  const auto found = words().find(n);
  // Integer instructions take bytes and halves of their sources.
  const bool selects = found != words().end() && std::none_of(op.sources.begin(), op.sources.end(),
                                                              [](const Source& s) { return s.neg || s.abs; });
  const bool plain = (selects || std::all_of(op.sources.begin(), op.sources.end(),
                                             [](const Source& s) { return s.plain; })) &&
                     !i.modifiers.clamp && i.modifiers.omod == 0;
  const auto selected = [&](std::size_t k, Term x) {
    const Source& s = op.sources[k];
    if (!selects || s.select == isa::Select::dword || x == Terms::unknown) return x;
    const auto sel = static_cast<u32>(s.select);
    return *field_of(t, x, t.constant(sel < 4 ? 8 * sel : 16 * (sel - 4)), t.constant(sel < 4 ? 8 : 16),
                     s.sext);
  };
  const bool is_compare = e.d == Type::mask && (n.starts_with("v_cmp_") || n.starts_with("v_cmpx_"));
  std::string_view relation;
  std::string_view type;
  if (is_compare) {
    std::string_view rest = n.substr(n.starts_with("v_cmpx_") ? 7 : 6);
    relation = rest.substr(0, rest.find('_'));
    type = rest.substr(rest.find('_') + 1);
  }
  const bool packed = n == "v_pk_add_f32" || n == "v_pk_mul_f32" || n == "v_pk_fma_f32";
  // Each half of these is made of one source, or stays; and the low word of a sum needs no high one.
  const bool halves = n.starts_with("v_cvt_pk_") || n.starts_with("v_cvt_pkrtz_") ||
                      n.starts_with("v_mad_u64") || n.starts_with("v_mad_i64");
  const auto part = written_part(op);
  const bool absorbs = n == "v_cndmask_b32" || n == "v_and_b32" || n == "v_mul_lo_u32" || packed || halves ||
                       part; // an unknown input may not matter
  struct Result {
    std::array<Term, 2> word{};
    Term mask = 0;
  };
  const auto compute = [&](const std::array<std::array<Term, 2>, 3>& a, Term mask_in) {
    Result r;
    const auto functions = [&] {
      std::vector<Term> arguments;
      if (packed) { // each result reads one word of each pair; the other one may be anything
        for (unsigned word = 0; word < result_words; ++word) {
          arguments.clear();
          const std::uint8_t select = word == 0 ? i.modifiers.op_sel : i.modifiers.op_sel_hi;
          for (std::size_t k = 0; k < op.sources.size(); ++k)
            for (unsigned half = 0; half < 2; ++half)
              arguments.push_back(((select >> k) & 1U) == half ? a[k][half] : t.constant(0));
          r.word[word] = t.function(number, word, arguments);
        }
        return;
      }
      for (std::size_t k = 0; k < op.sources.size(); ++k)
        for (unsigned word = 0; word < emulator::words(op.sources[k].type); ++word)
          arguments.push_back(a[k][word]);
      if (op.mask_source >= 0) arguments.push_back(mask_in);
      for (unsigned word = 0; word < result_words; ++word) r.word[word] = t.function(number, word, arguments);
      if (op.mask_destination >= 0) r.mask = t.bit(t.function(number, 99, arguments), 0);
    };
    const auto wide = [&](std::size_t k) { return t.join(a[k][0], a[k][1]); };
    const auto put_wide = [&](Term v) {
      r.word = {v == Terms::unknown ? v : t.low(v), v == Terms::unknown ? v : t.high(v)};
    };
    if (n.starts_with("v_mbcnt")) { // counts lanes below this one
      r.word[0] = Terms::unknown;
      return r;
    }
    if (!plain) {
      functions();
      return r;
    }
    if (is_compare) {
      const bool two = type == "u64" || type == "i64";
      if (const auto c = compare(t, relation, type, two ? wide(0) : a[0][0], two ? wide(1) : a[1][0])) {
        r.mask = *c;
        return r;
      }
      functions();
      return r;
    }
    if (found != words().end()) {
      if (const auto v = found->second(t, {a[0][0], a[1][0], a[2][0]})) {
        r.word[0] = *v;
        return r;
      }
      functions();
      return r;
    }
    if (n == "v_bitop3_b32" || n == "v_bitop3_b16") {
      if (const auto v = three_bits(t, i.modifiers.bitop3, {a[0][0], a[1][0], a[2][0]})) {
        r.word[0] = n == "v_bitop3_b32" ? *v : t.bit_and(*v, t.constant(0xffff));
        return r;
      }
      functions();
      return r;
    }
    if (n == "v_cndmask_b32") {
      r.word[0] = t.select(mask_in, a[1][0], a[0][0]);
    } else if (n == "v_add_co_u32") {
      r.word[0] = t.add(a[0][0], a[1][0]);
      r.mask = t.carry(a[0][0], a[1][0]);
    } else if (n == "v_sub_co_u32" || n == "v_subrev_co_u32") {
      const std::size_t first = n == "v_sub_co_u32" ? 0 : 1;
      r.word[0] = t.subtract(a[first][0], a[1 - first][0]);
      r.mask = t.borrow(a[first][0], a[1 - first][0]);
    } else if (n == "v_addc_co_u32") {
      functions();
      r.word[0] = add_with_carry(t, a[0][0], a[1][0], mask_in);
    } else if (n == "v_subb_co_u32" || n == "v_subbrev_co_u32") {
      const std::size_t first = n == "v_subb_co_u32" ? 0 : 1;
      functions();
      r.word[0] = subtract_with_borrow(t, a[first][0], a[1 - first][0], mask_in);
    } else if (n == "v_lshl_add_u64") {
      const Term count = t.bit_and(a[1][0], t.constant(7));
      put_wide(t.add(t.wide_shift(TermKind::wide_shift_left, wide(0), count), wide(2)));
    } else if (n == "v_lshlrev_b64") {
      put_wide(t.wide_shift(TermKind::wide_shift_left, wide(1), a[0][0]));
    } else if (n == "v_lshrrev_b64") {
      put_wide(t.wide_shift(TermKind::wide_shift_right, wide(1), a[0][0]));
    } else if (n == "v_ashrrev_i64") {
      put_wide(t.wide_shift(TermKind::wide_shift_right_signed, wide(1), a[0][0]));
    } else if (n == "v_mad_u64_u32" || n == "v_mad_i64_i32") {
      functions();
      put_wide(t.add(t.product(a[0][0], a[1][0], n == "v_mad_i64_i32"), wide(2)));
    } else if (n == "v_pk_mov_b32") {
      r.word = {a[0][i.modifiers.op_sel & 1U], a[1][(i.modifiers.op_sel >> 1) & 1U]};
    } else if (n == "v_mov_b64") {
      r.word = {a[0][0], a[0][1]};
    } else {
      functions();
    }
    return r;
  };

  // What the destination held, for lanes that may be inactive; then the lanes that are numbers, at once.
  std::array<std::array<Term, lanes>, 2> old{};
  const bool exact = exec_is_number();
  if (!exact) {
    for (unsigned word = 0; word < result_words; ++word)
      for (u64 m = active; m != 0; m &= m - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(m));
        old[word][l] = vector(op.destination + word, l);
      }
  }
  std::array<Term, lanes> mask_out{};
  mask_out.fill(t.constant(0));
  std::array<std::array<Term, lanes>, 2> now{};
  std::array<std::array<Term, 2>, 3> before{};
  Term mask_before = 0;
  Result last;
  bool have = false;
  for (u64 m = active; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const Term g = guard(l);
    if (((top >> l) & 1U) != 0 && !absorbs) {
      now[0][l] = now[1][l] = Terms::unknown;
      mask_out[l] = Terms::unknown;
      continue;
    }
    std::array<std::array<Term, 2>, 3> a{};
    for (std::size_t k = 0; k < op.sources.size(); ++k)
      for (unsigned word = 0; word < emulator::words(op.sources[k].type); ++word)
        a[k][word] = !dpp || k != 0 ? selected(k, source(op, k, l, word, g))
                     : from[l] < 0  ? t.constant(0)
                                    : source(op, k, static_cast<unsigned>(from[l]), word, g);
    if (halves) { // a symbol for what nothing is known of, unless that is all of it: then the result is unknown, too
      const auto each = [&](auto f) {
        for (std::size_t k = 0; k < op.sources.size(); ++k)
          for (unsigned word = 0; word < emulator::words(op.sources[k].type); ++word) f(a[k][word]);
      };
      bool any = false;
      each([&](Term x) { any = any || x != Terms::unknown; });
      if (any) each([&](Term& x) { x = kept(x); });
    }
    Term mask_in = 0;
    if (op.mask_source >= 0) {
      const auto r = static_cast<unsigned>(op.mask_source) + l / 32;
      mask_in = under(g, t.bit(scalar(r), l % 32));
    }
    if (!have || a != before || mask_in != mask_before || n.starts_with("v_mbcnt")) {
      last = compute(a, mask_in);
      before = a;
      mask_before = mask_in;
      have = true;
    }
    now[0][l] = last.word[0];
    now[1][l] = last.word[1];
    if (part && last.word[0] != Terms::unknown) {
      const Term field = t.constant((part->width == 8 ? 0xffU : 0xffffU) << part->shift);
      const Term v = t.bit_and(t.shl(last.word[0], t.constant(part->shift)), field);
      Term rest = t.constant(0);
      if (part->others == 1) { // its sign above it
        const u32 up = 32 - part->width;
        const Term whole = t.ashr(t.shl(last.word[0], t.constant(up)), t.constant(up - part->shift));
        rest = t.bit_and(whole, t.bit_not(t.constant((u32{1} << (part->shift + part->width - 1) << 1) - 1)));
      } else if (part->others == 2) {
        const Term before_it = under(g, kept(vector(op.destination, l)));
        rest = t.bit_and(before_it, t.bit_not(field));
      }
      now[0][l] = t.bit_or(rest, v);
    }
    if (op.mask_destination >= 0) mask_out[l] = t.value(g) == 1 ? last.mask : t.both(g, last.mask);
  }
  for (unsigned word = 0; word < result_words; ++word)
    for (u64 m = active; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      const Term g = guard(l);
      set_vector(op.destination + word, l,
                 exact || t.value(g) == 1 ? now[word][l] : t.select(g, now[word][l], old[word][l]));
    }
  if (op.mask_destination >= 0) {
    const std::span<const Term> all(mask_out);
    const Term lo = t.bits(all.first(32));
    const Term hi = t.bits(all.subspan(32));
    const auto r = static_cast<unsigned>(op.mask_destination);
    set_scalar(r, lo);
    set_scalar(r + 1, hi);
    if ((e.flags & emulator::writes_exec) != 0) {
      set_scalar(exec_lo, lo);
      set_scalar(exec_lo + 1, hi);
    }
  }
  static_cast<void>(w);
}

} // namespace inlay::runtime::symbolic
