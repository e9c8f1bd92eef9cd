#include "values_of_words.h"

#include <inlay/algebra/print.h>

#include <bit>
#include <cmath>

namespace inlay::kernels::validate {
namespace {

using runtime::isa::Instruction;
using runtime::isa::Select;

} // namespace

double ValuesOfWords::real_of_bits(Element format, std::uint32_t bits) {
  if (format == Element::f32) return std::bit_cast<float>(bits);
  const int width = codegen::bits(format);
  return codegen::decode(format, width < 32 ? bits & ((1U << width) - 1) : bits);
}

Word ValuesOfWords::word(Element format, std::span<const Number> elements) {
  std::uint64_t h = static_cast<std::uint64_t>(format) * 8 + elements.size();
  for (const Number n : elements) {
    h = (h ^ n) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 32;
  }
  const auto hash = static_cast<std::uint32_t>(h);
  if (data_.size() * 2 >= table_.size()) {
    std::vector<Slot> bigger(std::max<std::size_t>(std::size_t{1} << 14, table_.size() * 4));
    for (const Slot& s : table_) {
      if (s.word == 0) continue;
      std::size_t slot = s.hash & (bigger.size() - 1);
      while (bigger[slot].word != 0) slot = (slot + 1) & (bigger.size() - 1);
      bigger[slot] = s;
    }
    table_ = std::move(bigger);
  }
  std::size_t slot = hash & (table_.size() - 1);
  for (; table_[slot].word != 0; slot = (slot + 1) & (table_.size() - 1)) {
    if (table_[slot].hash != hash) continue;
    const Kept& d = data_[t_.raw(table_[slot].word)];
    if (d.format == format && d.count == elements.size() &&
        std::equal(elements.begin(), elements.end(), numbers_.begin() + d.first))
      return table_[slot].word;
  }
  const auto first = static_cast<std::uint32_t>(numbers_.size());
  numbers_.insert(numbers_.end(), elements.begin(), elements.end());
  data_.push_back({first, format, static_cast<std::uint8_t>(elements.size())});
  table_[slot] = {hash, t_.datum(data_.size() - 1)};
  return table_[slot].word;
}

Word ValuesOfWords::anything() {
  data_.push_back({0, Element::f32, 0});
  return t_.datum(data_.size() - 1);
}

Number ValuesOfWords::of(const Formulas::Condition& c) {
  if (c.never) return 0;
  Number n = 1;
  for (const Sym& d : c.all) n = multiply(n, of(d));
  return n;
}

Number ValuesOfWords::here(const Formulas::Condition& c) {
  Formulas::Condition out;
  const Formulas::Condition by_name = formulas_.canonical(c);
  out.never = by_name.never;
  if (context_ == nullptr || context_->first.empty()) return of(by_name);
  for (const Sym& d : by_name.all)
    Formulas::require(
        out, is_of_code && is_of_code(of(d)) ? d : formulas_.canonical(substitute(d, context_->first)));
  return of(out);
}

void ValuesOfWords::known(const std::vector<std::pair<AtomId, Sym>>& replaced) {
  if (context_ != nullptr && context_->first == replaced) return;
  context_ = &*done_.try_emplace(replaced).first;
}

Number ValuesOfWords::number_of(Sym s) {
  if (const auto c = s.constant()) return of_integer(c->value());
  return apply(Function::number, stable_hash(s));
}

std::optional<Number> ValuesOfWords::read(Word w, Element format, unsigned index) {
  if (w == 0 || w == Terms::unknown) {
    if (missing_.empty()) missing_ = "a word that nothing is known of";
    return std::nullopt;
  }
  if (t_.kind(w) == TermKind::datum) {
    const Kept& d = data_[t_.raw(w)];
    if (d.format == format && index < d.count) return numbers_[d.first + index];
    if (d.count == 0)
      return apply(Function::fresh, (t_.raw(w) << 12) + (static_cast<Number>(format) << 4) + index);
    if (missing_.empty()) missing_ = "elements of another format than they are used in";
    return std::nullopt;
  }
  const std::uint64_t key = (std::uint64_t{w} << 16) | (static_cast<unsigned>(format) << 4) | index;
  if (context_ == nullptr) known({});
  auto& done = context_->second;
  if (const auto at = done.find(key); at != done.end()) {
    if (!at->second && missing_.empty()) missing_ = "a value for " + t_.text(w, 4);
    return at->second;
  }
  const auto v = compute(w, format, index);
  if (!v && missing_.empty()) missing_ = "a value for " + t_.text(w, 4);
  return done[key] = v;
}

std::optional<Number> ValuesOfWords::compute(Word w, Element format, unsigned index) {
  const int width = bits(format);
  if (const auto v = t_.value(w)) {
    const auto word = static_cast<std::uint32_t>(*v);
    if (word == 0) return 0;
    if (width == 32 && format != Element::f32) return of_integer(static_cast<std::int32_t>(word));
    if (width != 32 && width != 16) return std::nullopt;
    return of_double(real_of_bits(format, width == 32 ? word : (word >> (16 * index)) & 0xffffU));
  }
  const auto child = [&](std::size_t i) { return t_.children(w)[i]; };
  switch (t_.kind(w)) {
  case TermKind::function: return of_function(w, format, index);
  case TermKind::select: {
    if (format == Element::bf16 && index == 1) // the upper half is the number
      if (const auto r = rounded_to_bf16(w)) return r;
    const Word c = child(0), x = child(1), y = child(2);
    const auto condition = formulas_.condition(c);
    if (!condition) {
      const auto opposite = formulas_.condition(c, false);
      if (!opposite) return std::nullopt;
      const auto a = read(y, format, index);
      const auto b = read(x, format, index);
      if (!a || !b) return std::nullopt;
      const Number n = here(*opposite);
      return add(multiply(n, *a), multiply(subtract(1, n), *b));
    }
    const auto a = read(x, format, index);
    const auto b = read(y, format, index);
    if (!a || !b) return std::nullopt;
    const Number n = here(*condition);
    return add(multiply(n, *a), multiply(subtract(1, n), *b));
  }
  default: break;
  }
  // Halves of words: x | y << 16, x & 0xffff, x >> 16, x << 16.
  const bool half = width == 16;
  const bool as_f32 = format == Element::f32; // bf16 in the upper half of a word is the same number as f32
  if (t_.kind(w) == TermKind::linear && t_.raw(w) == 0) {
    const std::vector<TermPart> parts(t_.parts(w).begin(), t_.parts(w).end());
    if (parts.size() == 1 && parts[0].coefficient == 65536) {
      if (half) return index == 0 ? std::optional<Number>(0) : read(parts[0].atom, format, 0);
      if (as_f32) return read(parts[0].atom, Element::bf16, 0);
    }
    if (parts.size() == 2 && half) {
      for (unsigned k = 0; k < 2; ++k) {
        const TermPart &low = parts[k], &high = parts[1 - k];
        if (low.coefficient != 1 || t_.bound(low.atom) > 0xffff) continue;
        if (high.coefficient == 65536) return read(index == 0 ? low.atom : high.atom, format, 0);
        if (high.coefficient == 1 && t_.kind(high.atom) == TermKind::bit_and &&
            t_.value(t_.children(high.atom)[1]) == 0xffff0000U)
          return index == 0 ? read(low.atom, format, 0) : read(t_.children(high.atom)[0], format, 1);
      }
    }
  }
  if (t_.kind(w) == TermKind::bit_and) {
    const auto m = t_.value(child(1));
    if (m == 0xffffU && half) return index == 0 ? read(child(0), format, 0) : std::optional<Number>(0);
    if (m == 0xffff0000U && half) return index == 1 ? read(child(0), format, 1) : std::optional<Number>(0);
    if (m == 0xffff0000U && as_f32) return read(child(0), Element::bf16, 1);
  }
  if (t_.kind(w) == TermKind::shift_right && half && t_.value(child(1)) == 16) {
    if (index == 1) return 0;
    const Word x = child(0);
    if (format == Element::bf16)
      if (const auto r = rounded_to_bf16(x)) return r;
    return read(x, format, 1);
  }
  if (half && index == 1 && format == Element::bf16)
    if (const auto r = rounded_to_bf16(w)) return r;
  // An integer in a register as a whole.
  if (width == 32 && format == Element::i32)
    if (const auto s = formulas_.signed_number(w)) return number_of(*s);
  return std::nullopt;
}

/// The number in the upper half of what rounds x to bf16, to nearest even: is x a NaN ? x | 0x400000 : x + ((x >> 16) & 1) +
/// 0x7fff. Nothing when the word is not of that form.
std::optional<Number> ValuesOfWords::rounded_to_bf16(Word w) {
  Word sum = w;
  std::optional<Word> kept;
  Word condition = 0;
  if (t_.kind(w) == TermKind::select) {
    condition = t_.children(w)[0];
    Word x = t_.children(w)[1], y = t_.children(w)[2];
    if (t_.kind(condition) == TermKind::invert) {
      condition = t_.children(condition)[0];
      std::swap(x, y);
    }
    kept = x;
    sum = y;
  }
  if (t_.kind(sum) != TermKind::linear || t_.raw(sum) != 0x7fff) return std::nullopt;
  const std::vector<TermPart> parts(t_.parts(sum).begin(), t_.parts(sum).end());
  if (parts.size() != 2 || parts[0].coefficient != 1 || parts[1].coefficient != 1) return std::nullopt;
  for (unsigned k = 0; k < 2; ++k) {
    const Word x = parts[k].atom;
    const Word odd = t_.bit_and(t_.shr(x, t_.constant(16)), t_.constant(1));
    if (parts[1 - k].atom != odd) continue;
    if (kept) {
      if (*kept != t_.bit_or(x, t_.constant(0x400000))) return std::nullopt;
      // The condition: x is unordered with itself.
      Word f = condition;
      if (t_.kind(f) == TermKind::bit) f = t_.children(f)[0];
      if (t_.kind(f) != TermKind::function) return std::nullopt;
      const Instruction& i = flow_.instruction(t_.raw(f) & 0xffffffffU);
      if (i.mnemonic != "v_cmp_u_f32" || t_.children(f).size() < 2 || t_.children(f)[0] != x ||
          t_.children(f)[1] != x)
        return std::nullopt;
    }
    return read(x, Element::f32, 0);
  }
  return std::nullopt;
}

std::optional<Number> ValuesOfWords::of_function(Word w, Element format, unsigned index) {
  const std::uint64_t raw = t_.raw(w);
  const Instruction& i = flow_.instruction(raw & 0xffffffffU);
  const auto part = static_cast<unsigned>(raw >> 32);
  const std::string_view n = i.mnemonic;
  const runtime::isa::Modifiers& m = i.modifiers;
  if (m.clamp || m.omod != 0) return std::nullopt;
  const std::vector<Word> a(t_.children(w).begin(), t_.children(w).end());
  // The k-th source as f32 with its sign changes; destinations stand first among the operands.
  const auto operand = [&](std::size_t k) -> const runtime::isa::Operand* {
    return k + 1 < i.operands.size() ? &i.operands[k + 1] : nullptr;
  };
  const auto modified = [&](std::size_t k, std::optional<Number> v) -> std::optional<Number> {
    const auto* o = operand(k);
    if (!v || o == nullptr) return v;
    if (o->abs) v = apply(Function::absolute, *v);
    if (o->neg) v = negate(*v);
    return v;
  };
  const auto f32 = [&](std::size_t k) -> std::optional<Number> {
    if (k >= a.size()) return std::nullopt;
    return modified(k, read(a[k], Element::f32, 0));
  };
  const bool sdwa = i.form == runtime::isa::Form::sdwa;
  if (sdwa && (m.dst_sel != Select::dword)) return std::nullopt;
  // f16 of a source, by half.
  const auto f16 = [&](std::size_t k, unsigned which) -> std::optional<Number> {
    if (k >= a.size()) return std::nullopt;
    if (sdwa) {
      const Select s = k == 0 ? m.src0_sel : m.src1_sel;
      if (s != Select::word0 && s != Select::word1 && s != Select::dword) return std::nullopt;
      which = s == Select::word1 ? 1 : 0;
    }
    return modified(k, read(a[k], Element::f16, which));
  };
  if (sdwa && n != "v_cvt_f32_f16") return std::nullopt;
  const auto two = [&](auto&& f) -> std::optional<Number> {
    const auto x = f32(0), y = f32(1);
    if (!x || !y) return std::nullopt;
    return f(*x, *y);
  };
  const auto one = [&](auto&& f) -> std::optional<Number> {
    const auto x = f32(0);
    if (!x) return std::nullopt;
    return f(*x);
  };
  if (format == Element::f32) {
    if (n == "v_add_f32") return two([](Number x, Number y) { return add(x, y); });
    if (n == "v_sub_f32") return two([](Number x, Number y) { return subtract(x, y); });
    if (n == "v_subrev_f32") return two([](Number x, Number y) { return subtract(y, x); });
    if (n == "v_mul_f32") return two([](Number x, Number y) { return multiply(x, y); });
    if (n == "v_max_f32") return two([&](Number x, Number y) { return extremes_.join(x, y, true); });
    if (n == "v_min_f32") return two([&](Number x, Number y) { return extremes_.join(x, y, false); });
    if (n == "v_max3_f32" || n == "v_min3_f32") {
      const auto x = f32(0), y = f32(1), z = f32(2);
      if (!x || !y || !z) return std::nullopt;
      const bool largest = n == "v_max3_f32";
      return extremes_.join(extremes_.join(*x, *y, largest), *z, largest);
    }
    if (n == "v_fma_f32" || n == "v_fmac_f32" || n == "v_fmamk_f32" || n == "v_fmaak_f32") {
      // v_fmac adds to its destination, which is its third source; v_fmamk multiplies by a literal in between.
      const auto x = f32(0), y = f32(1);
      const auto z = n == "v_fmac_f32" && a.size() > 2 ? read(a[2], Element::f32, 0) : f32(2);
      if (!x || !y || !z) return std::nullopt;
      return add(multiply(*x, *y), *z);
    }
    if (n == "v_rcp_f32" || n == "v_rcp_iflag_f32") return one([](Number x) { return inverse(x); });
    if (n == "v_exp_f32") return one([](Number x) { return apply(Function::exp2, x); });
    if (n == "v_log_f32") return one([](Number x) { return apply(Function::log2, x); });
    if (n == "v_rsq_f32") return one([](Number x) { return apply(Function::rsqrt, x); });
    if (n == "v_sqrt_f32") return one([](Number x) { return apply(Function::sqrt, x); });
    if (n == "v_mov_b32" || n == "v_accvgpr_read_b32" || n == "v_accvgpr_write_b32") return f32(0);
    if (n == "v_cvt_f32_f16") return f16(0, 0);
    if (n == "v_cvt_f32_i32" && !a.empty()) {
      const auto s = formulas_.signed_number(a[0]);
      if (!s) return std::nullopt;
      return number_of(*s);
    }
    if (n == "v_cvt_f32_u32" && !a.empty()) {
      const auto s = formulas_.number(a[0]);
      if (!s) return std::nullopt;
      return number_of(*s);
    }
    if (n.starts_with("v_pk_") && n.ends_with("_f32") && a.size() % 2 == 0) {
      // Source k of result word `part` is the low or the high word of its pair, by op_sel or op_sel_hi.
      const std::uint8_t select = part == 0 ? m.op_sel : m.op_sel_hi;
      const std::uint8_t sign = part == 0 ? m.neg_lo : m.neg_hi;
      const auto get = [&](std::size_t k) -> std::optional<Number> {
        if (2 * k + 1 >= a.size()) return std::nullopt;
        auto v = read(a[2 * k + ((select >> k) & 1U)], Element::f32, 0);
        if (v && ((sign >> k) & 1U) != 0) v = negate(*v);
        return v;
      };
      const auto x = get(0), y = get(1);
      if (!x || !y) return std::nullopt;
      if (n == "v_pk_add_f32") return add(*x, *y);
      if (n == "v_pk_mul_f32") return multiply(*x, *y);
      if (n == "v_pk_fma_f32") {
        const auto z = get(2);
        if (!z) return std::nullopt;
        return add(multiply(*x, *y), *z);
      }
    }
    return std::nullopt;
  }
  if (bits(format) == 16) {
    const bool to_f16 = format == Element::f16;
    if (n == "v_cvt_f16_f32" && to_f16) return index == 0 ? f32(0) : std::optional<Number>(0);
    if ((n == "v_cvt_pkrtz_f16_f32" && to_f16) || (n == "v_cvt_pk_f16_f32" && to_f16) ||
        (n == "v_cvt_pk_bf16_f32" && !to_f16))
      return f32(index);
    if (n == "v_pk_add_f16" && to_f16 && a.size() == 2) {
      // Half `index` of the result is of the half of each source that op_sel or op_sel_hi names.
      const std::uint8_t select = index == 0 ? m.op_sel : m.op_sel_hi,
                         sign = index == 0 ? m.neg_lo : m.neg_hi;
      const auto get = [&](std::size_t k) -> std::optional<Number> {
        const auto v = read(a[k], format, (select >> k) & 1U);
        return v && ((sign >> k) & 1U) != 0 ? std::optional<Number>(negate(*v)) : v;
      };
      const auto x = get(0), y = get(1);
      if (!x || !y) return std::nullopt;
      return add(*x, *y);
    }
    if (n == "v_pack_b32_f16" && index < a.size())
      return modified(index, read(a[index], format, (m.op_sel >> index) & 1U));
    if (n == "v_perm_b32" && a.size() == 3) {
      // Byte k of the result is byte s of {first, second}, the second one holding bytes 0 to 3.
      const auto selector = t_.value(a[2]);
      if (!selector) return std::nullopt;
      const auto s = static_cast<unsigned>((*selector >> (16 * index)) & 0xffff);
      for (unsigned k = 0; k < 4; ++k)
        if (s == 2 * k + 256 * (2 * k + 1)) return read(k < 2 ? a[1] : a[0], format, k % 2);
      return std::nullopt;
    }
  }
  return std::nullopt;
}

} // namespace inlay::kernels::validate
