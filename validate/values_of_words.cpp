#include "values_of_words.h"

#include <inlay/machine/target.h>

#include <inlay/algebra/print.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace inlay::kernels::validate {
namespace {

using runtime::isa::Instruction;
using runtime::isa::Select;

bool is_plain(const Instruction& i) {
  return !i.modifiers.clamp && i.modifiers.omod == 0 && i.form != runtime::isa::Form::sdwa &&
         i.form != runtime::isa::Form::dpp &&
         std::none_of(i.operands.begin(), i.operands.end(), [](const auto& o) { return o.neg || o.abs; });
}

} // namespace

double ValuesOfWords::real_of_bits(Element format, std::uint64_t bits) {
  if (format == Element::f64) return std::bit_cast<double>(bits);
  const auto word = static_cast<std::uint32_t>(bits);
  if (format == Element::f32) return std::bit_cast<float>(word);
  const int width = codegen::bits(format);
  return codegen::decode(format, width < 32 ? word & ((1U << width) - 1) : word);
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
  for (const Sym& d : c.all) {
    if (Formulas::has_extreme(d)) { // of -min(a, b) it is not that a >= 1 and b >= 1
      Formulas::Condition otherwise;
      Formulas::require(otherwise, -d - Sym(1));
      if (otherwise.all != std::vector{Formulas::normal(-d - Sym(1))}) {
        n = multiply(n, subtract(1, of(otherwise)));
        continue;
      }
    }
    n = multiply(n, of(d));
  }
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

Flat<Word, Number> ValuesOfWords::settled(const Flat<Word, bool>& words,
                                          const std::vector<std::pair<AtomId, Sym>>& replaced,
                                          const Flat<Number, bool>& of_code) {
  known(replaced);
  // Which they are, as if nobody asked.
  std::size_t taken = arithmetic_->taken();
  auto kept = std::exchange(context_->second, {});
  std::vector<Word> first, others;
  for (const auto& [w, any] : words)
    if (const auto v = read(w, Element::f32, 0)) (of_code.contains(*v) ? first : others).push_back(w);
  arithmetic_->take_back(taken);
  context_->second = std::move(kept);
  Flat<Word, Number> out;
  for (const Word w : first) out.try_emplace(w, *read(w, Element::f32, 0));
  // What the others take when these are known.
  taken = arithmetic_->taken();
  kept = std::move(context_->second);
  const auto begin = [&] {
    context_->second = {};
    for (const auto& [w, v] : out) context_->second[key_of(w, Element::f32, 0)] = v;
  };
  begin();
  for (const Word w : others) {
    const auto v = read(w, Element::f32, 0);
    if (v && arithmetic_->said_since(taken)) {
      out.try_emplace(w, *v);
      taken = arithmetic_->taken();
    } else {
      arithmetic_->take_back(taken);
      begin();
    }
  }
  context_->second = std::move(kept);
  forget_missing();
  return out;
}

Number ValuesOfWords::number_of(Sym s) {
  const auto of = [&](Sym x) -> Number {
    if (const auto c = x.constant()) return arithmetic_->constant(static_cast<double>(c->value()));
    return apply(Function::number, stable_hash(x));
  };
  if (context_ == nullptr || context_->first.empty() || (is_of_code && is_of_code(of(s)))) return of(s);
  return of(substitute(s, context_->first));
}

namespace {
constexpr const char* cut_off = "a number as bf16 that is cut off, and not rounded";
} // namespace

std::optional<Number> ValuesOfWords::read(Word w, Element format, unsigned index) {
  if (w == 0 || w == Terms::unknown) {
    if (missing_.empty()) missing_ = "a word that nothing is known of";
    return std::nullopt;
  }
  if (t_.kind(w) == TermKind::datum) {
    const Kept& d = data_[t_.raw(w)];
    if (d.format == format && index < d.count && format != Element::f64) return numbers_[d.first + index];
    if (d.format == Element::f32 && d.count == 1 && format == Element::bf16 && index == 1) {
      if (any_rounding_) return numbers_[d.first];
      if (missing_.empty()) missing_ = cut_off;
    }
    if (d.count == 0)
      return apply(Function::fresh, (t_.raw(w) << 12) + (static_cast<Number>(format) << 4) + index);
    if (missing_.empty()) missing_ = "elements of another format than they are used in";
    return std::nullopt;
  }
  const std::uint64_t key = key_of(w, format, index);
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

std::optional<bool> ValuesOfWords::compares(Word c, Word x, float bound, float at) const {
  bool holds = true;
  for (; t_.kind(c) == TermKind::invert; c = t_.children(c)[0]) holds = !holds;
  if (t_.kind(c) == TermKind::bit) c = t_.children(c)[0];
  if (t_.kind(c) != TermKind::function || t_.children(c).size() != 2) return std::nullopt;
  const Instruction& i = flow_.instruction(t_.raw(c) & 0xffffffffU);
  if (!i.mnemonic.starts_with("v_cmp_") || !i.mnemonic.ends_with("_f32") || !is_plain(i)) return std::nullopt;
  const std::size_t of_x = t_.children(c)[0] == x ? 0 : 1;
  if (t_.children(c)[of_x] != x || t_.value(t_.children(c)[1 - of_x]) != std::bit_cast<std::uint32_t>(bound))
    return std::nullopt;
  const float a = of_x == 0 ? at : bound, b = of_x == 0 ? bound : at;
  const std::string_view n = std::string_view(i.mnemonic).substr(6, i.mnemonic.size() - 10);
  if (n == "lt" || n == "nlt") return (a < b) == ((n == "lt") == holds);
  if (n == "le" || n == "nle") return (a <= b) == ((n == "le") == holds);
  if (n == "gt" || n == "ngt") return (a > b) == ((n == "gt") == holds);
  if (n == "ge" || n == "nge") return (a >= b) == ((n == "ge") == holds);
  return std::nullopt;
}

std::optional<Word> ValuesOfWords::conversion(Word w) const {
  Word inner = w;
  const auto constant_child = [&](Word s) -> std::size_t { return t_.value(t_.children(s)[1]) ? 1 : 2; };
  while (t_.kind(inner) == TermKind::select) {
    const std::size_t k = constant_child(inner);
    if (!t_.value(t_.children(inner)[k])) return std::nullopt;
    inner = t_.children(inner)[3 - k];
  }
  if (t_.kind(inner) != TermKind::function ||
      flow_.instruction(t_.raw(inner) & 0xffffffffU).mnemonic != "v_cvt_i32_f32" ||
      !is_plain(flow_.instruction(t_.raw(inner) & 0xffffffffU)))
    return std::nullopt;
  const Word x = t_.children(inner)[0];
  bool may_be_nan = true;
  for (; w != inner; w = t_.children(w)[3 - constant_child(w)]) {
    const std::size_t k = constant_child(w);
    const Word c = t_.children(w)[0];
    const auto value = static_cast<std::uint32_t>(*t_.value(t_.children(w)[k]));
    const bool replaces = k == 1; // where the condition holds
    if (value == 0) {
      if (says_nan(c, x) != replaces) return std::nullopt;
      may_be_nan = false;
      continue;
    }
    if (value != 0x7fffffffU && value != 0x80000000U) return std::nullopt;
    // Beyond the last number below 2^31, or below -2^31; on the other side not, and not for NaN.
    const float end = value == 0x80000000U ? -0x1p31F : 2147483520.0F,
                beyond = std::nextafter(end, value == 0x80000000U ? -INFINITY : INFINITY);
    const auto is = [&](float at) { return compares(c, x, end, at); };
    if (is(beyond) != replaces || is(end) != !replaces || is(std::nextafter(end, 0.0F)) != !replaces ||
        (may_be_nan && is(NAN) != !replaces))
      return std::nullopt;
  }
  return inner;
}

std::optional<Number> ValuesOfWords::truncated(Word w) {
  const auto of = conversion(w);
  return of ? read(*of, Element::i32, 0) : std::nullopt;
}

std::optional<Number> ValuesOfWords::compute(Word w, Element format, unsigned index) {
  const int width = bits(format);
  if (const auto v = t_.value(w)) {
    const auto word = static_cast<std::uint32_t>(*v);
    if (word == 0) return arithmetic_->constant(0);
    if (width == 32 && format != Element::f32) return arithmetic_->constant(static_cast<std::int32_t>(word));
    if (width != 32 && width != 16) return std::nullopt;
    return arithmetic_->constant(real_of_bits(format, width == 32 ? word : (word >> (16 * index)) & 0xffffU));
  }
  if (width < 32) {
    const unsigned at = index * static_cast<unsigned>(width);
    const auto where = packed(w, at, static_cast<unsigned>(width));
    if (!where || where->second % static_cast<unsigned>(width) != 0) return std::nullopt;
    if (where->first == 0) return 0;
    if (where->first != w || where->second != at)
      return read(where->first, format, where->second / static_cast<unsigned>(width));
  }
  const auto child = [&](std::size_t i) { return t_.children(w)[i]; };
  if (width == 16 && index == 0) // what stands beside an element, in the lower half of the lower word
    if (const auto v = lower_of_ranked(w); v && places_.at(*v).beside == format)
      return apply(Function::top_beside, *v);
  // A number in the upper half as bf16 is the same number as f32.
  if (format == Element::bf16 && index == 1)
    if (const auto r = rounded_to_bf16(w)) return r;
  switch (t_.kind(w)) {
  case TermKind::function:
    // The upper half of a number in f32 is that number cut off, as v_perm_b32 takes it.
    if (const auto v = of_function(w, format, index); v || format != Element::bf16 || index != 1) return v;
    // A number of 8 bits is one of bf16, so that nothing is cut off.
    if (const std::string_view n = flow_.instruction(t_.raw(w) & 0xffffffffU).mnemonic;
        any_rounding_ || n == "v_cvt_f32_fp8" || n == "v_cvt_f32_bf8" || n == "v_cvt_pk_f32_fp8" ||
        n == "v_cvt_pk_f32_bf8")
      return read(w, Element::f32, 0);
    if (missing_.empty()) missing_ = cut_off;
    return std::nullopt;
  case TermKind::select: {
    if (const auto of = format == Element::i32 ? conversion(w) : std::nullopt) return read(*of, format, 0);
    if (const auto x = format == Element::f32 ? with_any_nan(w) : std::nullopt)
      return read(*x, Element::f32, 0);
    if (format == Element::bf16 && index == 0)
      if (const auto r = rounded_to_low_bf16(w)) return r;
    const Word c = child(0), x = child(1), y = child(2);
    const auto a = read(x, format, index);
    return chosen(c, a, read(y, format, index));
  }
  default: break;
  }
  if (format == Element::f32) {
    if (t_.kind(w) == TermKind::linear && t_.raw(w) == 0 && t_.parts(w).size() == 1 &&
        t_.parts(w)[0].coefficient == 65536) {
      narrowed_.insert(Element::bf16);
      return read(t_.parts(w)[0].atom, Element::bf16, 0);
    }
    if (t_.kind(w) == TermKind::linear && t_.raw(w) == 0xffff0000U && t_.parts(w).size() == 1 &&
        t_.parts(w)[0].coefficient == 0xffff0000U) // the lower half of ~word in the upper one
      return read(t_.bit_not(t_.parts(w)[0].atom), Element::bf16, 0);
    if (t_.kind(w) == TermKind::bit_and && t_.value(child(1)) == 0xffff0000U) {
      narrowed_.insert(Element::bf16);
      return read(child(0), Element::bf16, 1);
    }
    if (t_.kind(w) == TermKind::bit_and && t_.value(child(1)) == 0x7fffffffU) { // without its sign
      const auto v = read(child(0), Element::f32, 0);
      return v ? std::optional(extremes_.join(*v, negate(*v), true)) : v;
    }
  }
  if (format == Element::f32 && t_.kind(w) == TermKind::bit_xor) // the element in the upper half of one word
    for (const std::size_t k : {0, 1})
      if (t_.kind(child(k)) == TermKind::bit_and && t_.value(t_.children(child(k))[1]) == 0xffff0000U) {
        const Word of = t_.children(child(k))[0];
        if (!is_sign(child(1 - k), of, 0x7fff0000U)) continue;
        if (const auto v = ranked(of); v && !places_.at(*v).beside) return apply(Function::top_value, *v);
      }
  // Signs by their bits: of a word in f32, or of one half of it.
  const bool is_half = format == Element::f16 || format == Element::bf16;
  if (const bool flips = t_.kind(w) == TermKind::bit_xor;
      (flips && (is_half || format == Element::f32)) || (is_half && t_.kind(w) == TermKind::bit_and)) {
    const unsigned at = width == 32 ? 0 : 16 * index;
    const std::uint32_t sign = 1U << (width - 1), all = width == 32 ? 0xffffffffU : 0xffffU;
    const auto mask = t_.value(child(1));
    if (mask && (static_cast<std::uint32_t>(*mask >> at) & all) == (flips ? sign : all ^ sign)) {
      const auto v = read(child(0), format, index);
      if (!v) return v;
      return flips ? negate(*v) : extremes_.join(*v, negate(*v), true);
    }
  }
  if (format == Element::i8 && index == 0) return rounded_to_i8(w);
  // An integer in a register as a whole.
  if (width == 32 && format == Element::i32) return integer(w);
  return std::nullopt;
}

bool ValuesOfWords::is_fold(Word w) const {
  switch (t_.kind(w)) {
  case TermKind::linear:
    return formulas_.is_long_sum(w) || (!t_.is_wide(w) && t_.parts(w).size() > Integers::few);
  case TermKind::sum:
  case TermKind::minimum_signed:
  case TermKind::maximum_signed:
  case TermKind::minimum_unsigned:
  case TermKind::maximum_unsigned: return true;
  default: return false;
  }
}

Integers::Names ValuesOfWords::names_of_integers() {
  const auto number = [this](Sym s) -> Number {
    if (const auto c = s.constant()) return arithmetic_->constant(static_cast<double>(c->value()));
    return apply(Function::number, stable_hash(s));
  };
  return {[this, number](Sym s) {
            if (context_ == nullptr || context_->first.empty() || (is_of_code && is_of_code(number(s))))
              return s;
            return substitute(s, context_->first);
          },
          number,
          [this](Sym d) {
            Formulas::Condition c;
            Formulas::require(c, d);
            return here(c);
          },
          nullptr};
}

std::optional<Number> ValuesOfWords::integer(Word w) {
  if (t_.is_wide(w)) return std::nullopt;
  const TermKind kind = t_.kind(w);
  if (kind == TermKind::sum) return read(t_.children(w)[0], Element::i32, 0);
  if (is_fold(w) && kind != TermKind::linear) {
    const Word x = t_.children(w)[0], y = t_.children(w)[1];
    const auto a = read(x, Element::i32, 0), b = a ? read(y, Element::i32, 0) : a;
    using codegen::Monoid;
    const Monoid monoid = kind == TermKind::minimum_signed     ? Monoid::signed_min
                          : kind == TermKind::maximum_signed   ? Monoid::signed_max
                          : kind == TermKind::minimum_unsigned ? Monoid::unsigned_min
                                                               : Monoid::unsigned_max;
    return b ? std::optional(integers_.extreme(*a, *b, monoid)) : b;
  }
  if (const SignedField f = signed_field(w); f.width == 8 && f.at % 8 == 0)
    if (const auto v = read(f.word, Element::i8, f.at / 8)) return v;
  const std::string kept = missing_;
  if (!is_fold(w))
    if (const auto s = formulas_.of(w)) return integers_.of(*s, names_of_integers());
  if (kind != TermKind::linear) return std::nullopt;
  std::vector<Integers::Part> parts;
  const auto constant = static_cast<std::uint32_t>(t_.raw(w));
  for (const TermPart& p : std::vector<TermPart>(t_.parts(w).begin(), t_.parts(w).end())) {
    const auto v = read(p.atom, Element::i32, 0);
    if (!v) return std::nullopt;
    parts.push_back({*v, static_cast<std::uint32_t>(p.coefficient)});
  }
  missing_ = kept;
  return integers_.sum(parts, constant, names_of_integers());
}

std::optional<std::pair<Word, unsigned>> ValuesOfWords::packed(Word w, unsigned at, unsigned width) {
  const auto field = [&](unsigned from) { return ((std::uint64_t{1} << width) - 1) << from; };
  const auto zeros = std::pair<Word, unsigned>(0, 0);
  for (;;) {
    if (at + width > 32) return std::nullopt;
    if ((t_.maybe(w) & field(at)) == 0) return zeros;
    switch (t_.kind(w)) {
    case TermKind::linear: { // of parts of which no two have a bit in common, so that nothing is carried
      if (t_.parts(w).empty()) return std::pair(w, at);
      if (t_.raw(w) != 0 || t_.is_wide(w)) return std::pair(w, at);
      std::uint64_t taken = 0;
      std::optional<std::pair<Word, unsigned>> found;
      for (const TermPart& p : t_.parts(w)) {
        if (!std::has_single_bit(p.coefficient)) return std::pair(w, at);
        const auto shift = static_cast<unsigned>(std::countr_zero(p.coefficient));
        const std::uint64_t set = t_.maybe(p.atom) << shift & 0xffffffffU;
        if ((taken & set) != 0) return std::pair(w, at);
        taken |= set;
        if ((set & field(at)) == 0) continue;
        if (found || shift > at) return std::pair(w, at);
        found = {p.atom, at - shift};
      }
      if (!found) return zeros;
      std::tie(w, at) = *found;
      continue;
    }
    case TermKind::bit_and: {
      const auto mask = t_.value(t_.children(w)[1]);
      if (!mask || (*mask & field(at)) != field(at)) return std::pair(w, at);
      w = t_.children(w)[0];
      continue;
    }
    case TermKind::bit_or: {
      const Word x = t_.children(w)[0], y = t_.children(w)[1];
      if ((t_.maybe(x) & field(at)) == 0)
        w = y;
      else if ((t_.maybe(y) & field(at)) == 0)
        w = x;
      else
        return std::pair(w, at);
      continue;
    }
    case TermKind::shift_right: {
      const auto n = t_.value(t_.children(w)[1]);
      if (!n || at + width + *n > 32) return std::pair(w, at);
      w = t_.children(w)[0];
      at += static_cast<unsigned>(*n);
      continue;
    }
    default: return std::pair(w, at);
    }
  }
}

/// Of (y 2^c) >> s with its sign: bits s - c to 31 - c of y, which may be the sign of a field again.
ValuesOfWords::SignedField ValuesOfWords::signed_field(Word word) const {
  SignedField f{word, 0, 32};
  if (t_.kind(word) != TermKind::shift_right_signed) return f;
  const auto count = t_.value(t_.children(word)[1]);
  if (!count) return f;
  Word y = t_.children(word)[0];
  unsigned up = 0;
  if (t_.kind(y) == TermKind::linear && t_.raw(y) == 0 && t_.parts(y).size() == 1 &&
      std::has_single_bit(t_.parts(y)[0].coefficient)) {
    up = static_cast<unsigned>(std::countr_zero(t_.parts(y)[0].coefficient));
    y = t_.parts(y)[0].atom;
  }
  const auto down = static_cast<unsigned>(*count & 31);
  if (down < up) return f;
  f = {y, down - up, 32 - down};
  const std::uint64_t taken = ((std::uint64_t{1} << f.width) - 1) << f.at;
  while (t_.kind(f.word) == TermKind::bit_and) {
    const auto mask = t_.value(t_.children(f.word)[1]);
    if (!mask || (*mask & taken) != taken) break;
    f.word = t_.children(f.word)[0];
  }
  const SignedField inner = signed_field(f.word);
  if (inner.word == f.word || f.at >= inner.width) return f;
  return {inner.word, inner.at + f.at, std::min(f.width, inner.width - f.at)};
}

std::optional<Number> ValuesOfWords::chosen(Word condition, std::optional<Number> x,
                                            std::optional<Number> y) {
  const auto c = x && y ? truth(condition) : std::nullopt;
  return c ? std::optional(arithmetic_->chosen(*c, *x, *y)) : std::nullopt;
}

std::optional<Number> ValuesOfWords::truth(Word condition) {
  if (const auto c = formulas_.condition(condition)) return here(*c);
  if (const auto c = formulas_.condition(condition, false)) return subtract(1, here(*c));
  switch (t_.kind(condition)) {
  case TermKind::invert: {
    const auto c = truth(t_.children(condition)[0]);
    return c ? std::optional(subtract(1, *c)) : std::nullopt;
  }
  case TermKind::all:
  case TermKind::any: {
    const bool all = t_.kind(condition) == TermKind::all;
    Number n = 1;
    for (std::size_t k = 0; k < t_.children(condition).size(); ++k) {
      const auto c = truth(t_.children(condition)[k]);
      if (!c) return std::nullopt;
      n = multiply(n, all ? *c : subtract(1, *c));
    }
    return all ? n : subtract(1, n);
  }
  case TermKind::bit: return t_.raw(condition) == 0 ? compared(t_.children(condition)[0]) : std::nullopt;
  case TermKind::less_signed: {
    const Word x = t_.children(condition)[0], y = t_.children(condition)[1];
    const auto a = read(x, Element::i32, 0), b = a ? read(y, Element::i32, 0) : a;
    return b ? std::optional(arithmetic_->less(*a, *b)) : std::nullopt;
  }
  default: return std::nullopt;
  }
}

/// v_cmp of two numbers, by what it is where the first is less, equal, greater, and where one is a NaN: of c, whether x >= y, and d,
/// whether y >= x, which are both 0 there.
std::optional<Number> ValuesOfWords::compared(Word w) {
  if (t_.kind(w) != TermKind::function || t_.raw(w) >> 32 != 99) return std::nullopt;
  const Instruction& i = flow_.instruction(t_.raw(w) & 0xffffffffU);
  const std::string_view n = i.mnemonic;
  const bool wide = n.ends_with("_f64");
  const std::vector<Word> a(t_.children(w).begin(), t_.children(w).end());
  if (!n.starts_with("v_cmp_") || (!n.ends_with("_f32") && !wide) || a.size() != (wide ? 4U : 2U) ||
      i.modifiers.clamp || i.form == runtime::isa::Form::sdwa || i.operands.size() != 3)
    return std::nullopt;
  std::string_view relation = n.substr(6, n.size() - 10);
  const bool negated = relation.size() == 3 && relation[0] == 'n';
  if (negated) relation.remove_prefix(1);
  constexpr std::pair<std::string_view, std::array<Number, 4>> relations[] = {
      {"lt", {1, 0, 0, 0}}, {"eq", {0, 1, 0, 0}}, {"le", {1, 1, 0, 0}}, {"gt", {0, 0, 1, 0}},
      {"lg", {1, 0, 1, 0}}, {"ge", {0, 1, 1, 0}}, {"o", {1, 1, 1, 0}},  {"u", {0, 0, 0, 1}}};
  const auto at = std::find_if(std::begin(relations), std::end(relations),
                               [&](const auto& r) { return r.first == relation; });
  if (at == std::end(relations)) return std::nullopt;
  std::array<Number, 2> of{};
  for (std::size_t k = 0; k < 2; ++k) {
    auto v = wide ? read_f64(a[2 * k], a[2 * k + 1]) : read(a[k], Element::f32, 0);
    const auto& o = i.operands[k + 1];
    if (!v || o.sext) return std::nullopt;
    if (o.abs) v = extremes_.join(*v, negate(*v), true);
    of[k] = o.neg ? negate(*v) : *v;
  }
  const Number c = arithmetic_->comparison(of[0], of[1]), d = arithmetic_->comparison(of[1], of[0]);
  const Number is[] = {multiply(subtract(1, c), d), multiply(c, d), multiply(c, subtract(1, d)),
                       multiply(subtract(1, c), subtract(1, d))};
  Number all = 0;
  for (std::size_t k = 0; k < 4; ++k) all = add(all, multiply(at->second[k], is[k]));
  return negated ? subtract(1, all) : all;
}

std::optional<Number> ValuesOfWords::shifted_power(Word power, Word count) {
  const auto of = [&](Word w, std::string_view name) {
    return t_.kind(w) == TermKind::function && t_.raw(w) >> 32 == 0 &&
           flow_.instruction(t_.raw(w)).mnemonic == name && is_plain(flow_.instruction(t_.raw(w)));
  };
  if (t_.kind(count) != TermKind::select || !of(power, "v_exp_f32")) return std::nullopt;
  const Word condition = t_.children(count)[0];
  const auto yes = t_.value(t_.children(count)[1]), no = t_.value(t_.children(count)[2]);
  // Of v_ldexp's count and of the summand of x, what the two sides of the condition are.
  const auto undoes = [&](Word summand) {
    if (!yes || !no || t_.kind(summand) != TermKind::select || t_.children(summand)[0] != condition)
      return false;
    for (const std::size_t k : {1U, 2U}) {
      const auto s = t_.value(t_.children(summand)[k]);
      const auto n = static_cast<std::int32_t>(static_cast<std::uint32_t>(k == 1 ? *yes : *no));
      if (!s || real_of_bits(Element::f32, static_cast<std::uint32_t>(*s)) != -static_cast<double>(n))
        return false;
    }
    return true;
  };
  const Word x = t_.children(power)[0];
  const std::vector<Word> a(t_.children(x).begin(), t_.children(x).end());
  std::optional<Number> without;
  if (of(x, "v_add_f32") && a.size() == 2) {
    if (undoes(a[1]))
      without = read(a[0], Element::f32, 0);
    else if (undoes(a[0]))
      without = read(a[1], Element::f32, 0);
  } else if ((of(x, "v_fmac_f32") || of(x, "v_fma_f32")) && a.size() == 3 && undoes(a[2])) {
    const auto u = read(a[0], Element::f32, 0), v = read(a[1], Element::f32, 0);
    if (u && v) without = arithmetic_->product(*u, *v);
  }
  return without ? std::optional(arithmetic_->of(Function::exp2, *without)) : std::nullopt;
}

bool ValuesOfWords::is_scale(const Instruction& i, std::span<const Word> sources) const {
  return i.mnemonic == "v_div_scale_f32" && is_plain(i) && division_ && sources.size() == 3 &&
         (sources[0] == division_->first || sources[0] == division_->second) &&
         sources[1] == division_->second && sources[2] == division_->first;
}

std::optional<Number> ValuesOfWords::divided(Word quotient, Word denominator, Word numerator) {
  const auto x = read(numerator, Element::f32, 0), y = read(denominator, Element::f32, 0);
  if (!x || !y || division_) return std::nullopt;
  // What is read in between holds of this division alone.
  if (context_ == nullptr) known({});
  auto kept = std::exchange(context_->second, {});
  context_->second[key_of(numerator, Element::f32, 0)] = x;
  context_->second[key_of(denominator, Element::f32, 0)] = y;
  division_.emplace(numerator, denominator);
  const auto q = read(quotient, Element::f32, 0);
  division_.reset();
  context_->second = std::move(kept);
  const Number wanted = multiply(*x, inverse(*y));
  return q == wanted ? std::optional(wanted) : std::nullopt;
}

std::optional<Number> ValuesOfWords::read_f64(Word low, Word high) {
  const auto nothing = [&](Word w) -> std::optional<Number> {
    if (missing_.empty())
      missing_ = w == 0 || w == Terms::unknown ? "a word that nothing is known of"
                                               : "a value of f64 for " + t_.text(w, 4);
    return std::nullopt;
  };
  for (const Word w : {low, high})
    if (w == 0 || w == Terms::unknown) return nothing(w);
  const auto a = t_.value(low), b = t_.value(high);
  if (a && b) return arithmetic_->constant(real_of_bits(Element::f64, *a | *b << 32));
  if (const auto v = ranked(low, high)) return v;
  const TermKind kind = t_.kind(low);
  if (kind != t_.kind(high)) return nothing(high);
  if (kind == TermKind::datum) {
    const auto x = of_half(low, 0), y = of_half(high, 1);
    return x && x == y ? x : nothing(low);
  }
  if (kind == TermKind::select && t_.children(low)[0] == t_.children(high)[0]) {
    const std::array<Word, 3> x{t_.children(low)[0], t_.children(low)[1], t_.children(low)[2]};
    const std::array<Word, 2> y{t_.children(high)[1], t_.children(high)[2]};
    const auto yes = read_f64(x[1], y[0]);
    return chosen(x[0], yes, read_f64(x[2], y[1]));
  }
  // Both words of one result.
  if (kind == TermKind::function && t_.raw(low) >> 32 == 0 &&
      t_.raw(high) == (t_.raw(low) | std::uint64_t{1} << 32) &&
      std::equal(t_.children(low).begin(), t_.children(low).end(), t_.children(high).begin(),
                 t_.children(high).end()))
    if (const auto v = of_f64_function(low)) return v;
  return nothing(low);
}

std::optional<Number> ValuesOfWords::of_f64_function(Word w) {
  // Comparisons of comparisons: each is read once.
  if (context_ == nullptr) known({});
  const std::uint64_t key = key_of(w, Element::f64, 0);
  if (const auto at = context_->second.find(key); at != context_->second.end()) return at->second;
  const auto v = compute_f64(w);
  return context_->second[key] = v;
}

std::optional<Number> ValuesOfWords::compute_f64(Word low) {
  const Instruction& i = flow_.instruction(t_.raw(low) & 0xffffffffU);
  const std::string_view n = i.mnemonic;
  if (i.modifiers.clamp || i.modifiers.omod != 0 || i.form == runtime::isa::Form::sdwa) return std::nullopt;
  const std::vector<Word> a(t_.children(low).begin(), t_.children(low).end());
  const bool fma = n == "v_fma_f64" || n == "v_fmac_f64";
  const bool two = n == "v_add_f64" || n == "v_mul_f64" || n == "v_max_f64" || n == "v_min_f64";
  if ((!fma && !two) || a.size() != (fma ? 6U : 4U)) return std::nullopt;
  std::array<Number, 3> x{};
  for (std::size_t k = 0; 2 * k < a.size(); ++k) {
    auto v = read_f64(a[2 * k], a[2 * k + 1]);
    if (!v) return std::nullopt;
    if (k + 1 < i.operands.size()) { // v_fmac adds to its destination, which has no modifiers
      if (i.operands[k + 1].abs) v = extremes_.join(*v, negate(*v), true);
      if (i.operands[k + 1].neg) v = negate(*v);
    }
    x[k] = *v;
  }
  if (fma) return arithmetic_->sum(arithmetic_->product(x[0], x[1]), x[2]);
  if (n == "v_add_f64") return arithmetic_->sum(x[0], x[1]);
  if (n == "v_mul_f64") return arithmetic_->product(x[0], x[1]);
  return best_of(x[0], x[1], n == "v_max_f64");
}

ValuesOfWords::Flipped ValuesOfWords::flipped(Word w) const {
  Flipped out{w, 0};
  for (;;) {
    const Word x = out.base;
    if (t_.kind(x) == TermKind::bit_xor) {
      const auto mask = t_.value(t_.children(x)[1]);
      if (!mask) return out;
      out = {t_.children(x)[0], out.by ^ static_cast<std::uint32_t>(*mask)};
    } else if (t_.kind(x) == TermKind::linear && !t_.is_wide(x) && t_.raw(x) == 0xffffffffU &&
               t_.parts(x).size() == 1 && t_.parts(x)[0].coefficient == 0xffffffffU) { // -1 - x
      out = {t_.parts(x)[0].atom, ~out.by};
    } else {
      return out;
    }
  }
}

ValuesOfWords::Flipped ValuesOfWords::sign_of(Word w, Word high) const {
  const Flipped f = flipped(w);
  if (t_.kind(f.base) != TermKind::shift_right_signed || t_.value(t_.children(f.base)[1]) != 31U) return {};
  const Flipped of = flipped(t_.children(f.base)[0]); // the sign of ~x is the other one
  if (of.base != high || (of.by != 0 && of.by != 0xffffffffU)) return {};
  return {high, f.by ^ of.by};
}

std::optional<Word> ValuesOfWords::not_nan(Word w) const {
  // max(x + 0, -inf) is no NaN and no -0.
  const auto instruction = [&](Word of, const char* mnemonic) -> const Instruction* {
    if (t_.kind(of) != TermKind::function) return nullptr;
    const Instruction& i = flow_.instruction(t_.raw(of) & 0xffffffffU);
    return i.mnemonic == mnemonic ? &i : nullptr;
  };
  const auto is = [&](Word of, float constant) {
    return t_.value(of) == std::bit_cast<std::uint32_t>(constant);
  };
  const Instruction* const most = instruction(w, "v_max_f32");
  if (most == nullptr || !is_plain(*most) || t_.children(w).size() != 2) return std::nullopt;
  const bool second = is(t_.children(w)[0], -INFINITY);
  if (!second && !is(t_.children(w)[1], -INFINITY)) return std::nullopt;
  const Word of = t_.children(w)[second ? 1 : 0];
  const auto zero = [&](Word word) { return t_.value(word) == 0U; };
  const std::span<const Word> sum = t_.children(of);
  if (const Instruction* one = instruction(of, "v_add_f32"); one != nullptr && is_plain(*one)) {
    if (sum.size() == 2 && (zero(sum[0]) || zero(sum[1]))) return zero(sum[1]) ? sum[0] : sum[1];
  } else if (const Instruction* two = instruction(of, "v_pk_add_f32"); two != nullptr && is_plain(*two)) {
    const runtime::isa::Modifiers& m = two->modifiers;
    const std::uint8_t select = t_.raw(of) >> 32 == 0 ? m.op_sel : m.op_sel_hi;
    if (sum.size() != 4 || m.neg_lo != 0 || m.neg_hi != 0) return std::nullopt;
    const Word x = sum[select & 1U], y = sum[2 + (select >> 1 & 1U)];
    if (zero(x) || zero(y)) return zero(y) ? x : y;
  }
  return std::nullopt;
}

Number ValuesOfWords::placed(Number v, Places places) {
  Places& there = places_.try_emplace(v, places).first->second;
  there.bits |= places.bits;
  return v;
}

std::optional<Number> ValuesOfWords::moved_by(std::optional<Number> v, std::uint32_t bits) {
  const auto among = v ? places_.find(*v) : places_.end();
  if (among == places_.end() || (among->second.bits & bits) != 0) return std::nullopt;
  const auto half = among->second.beside;
  if (half && (bits & 0xffffU) != 0) return std::nullopt;
  return placed(at_place(*v, half ? bits >> 16 : bits), {among->second.bits | bits, half});
}

Number ValuesOfWords::best_of(Number x, Number y, bool greatest) {
  const Number best = extremes_.join(x, y, greatest);
  if (const auto p = places_.find(x), q = places_.find(y);
      p != places_.end() && q != places_.end() && p->second.beside == q->second.beside)
    placed(best, {p->second.bits | q->second.bits, p->second.beside});
  return best;
}

std::optional<Number> ValuesOfWords::ranked(Word low, Word high) {
  if (t_.kind(high) != TermKind::function) return std::nullopt;
  const Flipped f = flipped(low);
  if (const Flipped sign = sign_of(low, high); sign.base != 0) {
    const auto of = not_nan(high);
    const auto x = of ? read(*of, Element::f32, 0) : std::nullopt;
    return x ? std::optional(placed(ranked_at(*x, ~sign.by), {~sign.by, {}})) : x;
  }
  if (const auto v = ranked_beside(low, high)) return v;
  return f.by == 0 ? std::nullopt : moved_by(read_f64(f.base, high), f.by);
}

std::optional<Number> ValuesOfWords::ranked_beside(Word low, Word high) {
  const Flipped f = flipped(low);
  const auto element = not_nan(high);
  if (t_.kind(f.base) != TermKind::bit_xor || !element) return std::nullopt;
  for (const std::size_t k : {0, 1}) {
    const Flipped sign = sign_of(t_.children(f.base)[k], high), of = flipped(t_.children(f.base)[1 - k]);
    if (sign.base == 0) continue;
    const std::uint32_t by = ~(f.by ^ sign.by ^ of.by);
    Word other = of.base;
    std::uint32_t place = 0; // beside it, in a sum of what has no bit in common
    if (t_.kind(other) == TermKind::linear && !t_.is_wide(other) && t_.parts(other).size() == 1 &&
        t_.parts(other)[0].coefficient == 1) {
      place = static_cast<std::uint32_t>(t_.raw(other));
      other = t_.parts(other)[0].atom;
    }
    if (((by | place) & 0xffffU) != 0 || (t_.maybe(other) & ~std::uint64_t{0xffff}) != 0) return std::nullopt;
    place ^= by;
    const auto x = read(*element, Element::f32, 0);
    for (const Element format : {Element::bf16, Element::f16}) {
      forget_missing();
      if (const auto it = read(other, format, 0); it && x)
        return placed(beside(ranked_at(*x, place >> 16), *it), {place, format});
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Number> ValuesOfWords::ranked(Word w) {
  if (context_ == nullptr) known({});
  const std::uint64_t key = key_of(w, Element::f64, 1);
  if (const auto at = context_->second.find(key); at != context_->second.end()) return at->second;
  const auto v = compute_ranked(w);
  return context_->second[key] = v;
}

std::optional<Number> ValuesOfWords::compute_ranked(Word w) {
  constexpr std::uint32_t upper = 0xffff0000U;
  const TermKind kind = t_.kind(w);
  const auto child = [&](Word of, std::size_t k) { return t_.children(of)[k]; };
  if (kind == TermKind::maximum_signed || kind == TermKind::minimum_signed) {
    const Word a = child(w, 0), b = child(w, 1);
    const auto x = ranked(a), y = ranked(b);
    if (!x || !y || !places_.contains(*x) || !places_.contains(*y)) return std::nullopt;
    return best_of(*x, *y, kind == TermKind::maximum_signed);
  }
  if (const Flipped f = flipped(w); f.by != 0 && (f.by & upper) == 0) return moved_by(ranked(f.base), f.by);
  // (high ^ sign of high & 0x7fff0000) + ~place, of an element of which the lower half is 0.
  const bool sum = t_.kind(w) == TermKind::linear && !t_.is_wide(w) && t_.parts(w).size() == 1 &&
                   t_.parts(w)[0].coefficient == 1 && (t_.raw(w) & upper) == 0;
  const auto low = static_cast<std::uint32_t>(sum ? t_.raw(w) : 0);
  const auto high = turned(sum ? t_.parts(w)[0].atom : w, 0x7fff0000U);
  const auto of = high ? not_nan(*high) : std::nullopt;
  if (!of || t_.value(t_.bit_and(*of, t_.constant(0xffffU))) != 0U) return std::nullopt;
  const auto x = read(*of, Element::f32, 0);
  const std::uint32_t place = ~low & 0xffffU;
  return x ? std::optional(placed(ranked_at(*x, place), {place, {}})) : x;
}

bool ValuesOfWords::is_sign(Word w, Word of, std::uint32_t mask) const {
  if (t_.kind(w) != TermKind::bit_and || t_.value(t_.children(w)[1]) != mask) return false;
  const Flipped sign = sign_of(t_.children(w)[0], of);
  return sign.base != 0 && sign.by == 0;
}

std::optional<Word> ValuesOfWords::turned(Word w, std::uint32_t mask) const {
  if (t_.kind(w) != TermKind::bit_xor) return std::nullopt;
  for (const std::size_t k : {0, 1})
    if (is_sign(t_.children(w)[1 - k], t_.children(w)[k], mask)) return t_.children(w)[k];
  return std::nullopt;
}

std::optional<Number> ValuesOfWords::place_of_ranked(Word w) {
  // The lower half of ~word.
  if (t_.kind(w) == TermKind::bit_and && t_.value(t_.children(w)[1]) == 0xffffU) {
    const Word of = t_.children(w)[0];
    if (t_.kind(of) != TermKind::linear || t_.is_wide(of) || t_.parts(of).size() != 1 ||
        (t_.raw(of) & 0xffffU) != 0xffffU || (t_.parts(of)[0].coefficient & 0xffffU) != 0xffffU)
      return std::nullopt;
    const auto v = ranked(t_.parts(of)[0].atom);
    return v && !places_.at(*v).beside ? std::optional(apply(Function::top_place, *v)) : std::nullopt;
  }
  const bool half = t_.kind(w) == TermKind::shift_right && t_.value(t_.children(w)[1]) == 16U;
  const auto v = lower_of_ranked(half ? t_.children(w)[0] : w);
  return v && places_.at(*v).beside.has_value() == half ? std::optional(apply(Function::top_place, *v))
                                                        : std::nullopt;
}

std::optional<Number> ValuesOfWords::lower_of_ranked(Word w) {
  // low ^ ~sign, in either order.
  const Flipped f = flipped(w);
  if (t_.kind(f.base) != TermKind::bit_xor) return std::nullopt;
  for (const std::size_t k : {0, 1}) {
    const Word of = t_.children(f.base)[k];
    const Flipped shift = flipped(of), low = flipped(t_.children(f.base)[1 - k]);
    if (t_.kind(shift.base) != TermKind::shift_right_signed) continue;
    const Word high = flipped(t_.children(shift.base)[0]).base;
    if (const Flipped sign = sign_of(of, high); sign.base == 0 || (f.by ^ sign.by ^ low.by) != 0xffffffffU)
      continue;
    const auto v = read_f64(low.base, high);
    if (v && places_.contains(*v)) return v;
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
    if (o->abs) v = extremes_.join(*v, negate(*v), true);
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
  // The same as rounded_to_low_bf16, the half chosen by SDWA.
  if (sdwa && n == "v_cndmask_b32" && a.size() == 3 && format == Element::bf16 && index == 0)
    for (const std::size_t k : {0U, 1U}) {
      const auto nan = t_.value(a[k]);
      if (!nan || (*nan & 0x7fffU) <= 0x7f80U || *nan > 0xffffU ||
          (k == 0 ? m.src1_sel : m.src0_sel) != Select::word1 ||
          ((k == 0 ? m.src0_sel : m.src1_sel) != Select::dword &&
           (k == 0 ? m.src0_sel : m.src1_sel) != Select::word0))
        continue;
      const auto x = rounded_from(a[1 - k]);
      if (x && says_nan(a[2], *x) == (k == 1)) return read(*x, Element::f32, 0);
    }
  // A choice of two halves.
  if (sdwa && n == "v_cndmask_b32" && a.size() == 3 && bits(format) == 16 && index == 0 && !m.clamp) {
    std::array<std::optional<Number>, 2> of;
    for (std::size_t k = 0; k < 2; ++k) {
      const Select s = k == 0 ? m.src0_sel : m.src1_sel;
      const auto* o = operand(k);
      if ((s != Select::word0 && s != Select::word1 && s != Select::dword) || o == nullptr || o->sext)
        return std::nullopt;
      of[k] = modified(k, read(a[k], format, s == Select::word1 ? 1 : 0));
    }
    return chosen(a[2], of[1], of[0]);
  }
  const bool one_byte = n == "v_cvt_f32_fp8" || n == "v_cvt_f32_bf8",
             two_bytes = n == "v_cvt_pk_f32_fp8" || n == "v_cvt_pk_f32_bf8";
  if (sdwa && n != "v_cvt_f32_f16" && n != "v_cvt_f32_i32" && n != "v_cvt_f32_u32" && !one_byte && !two_bytes)
    return std::nullopt;
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
  // A source of v_fma_mix: f32 or a half of a word, its own absolute value and sign.
  const auto mixed = [&]() -> std::optional<Number> {
    std::array<Number, 3> x{};
    for (std::size_t k = 0; k < 3; ++k) {
      if (k >= a.size()) return std::nullopt;
      auto v = ((m.op_sel_hi >> k) & 1U) != 0 ? read(a[k], Element::f16, (m.op_sel >> k) & 1U)
                                              : read(a[k], Element::f32, 0);
      if (v && ((m.neg_hi >> k) & 1U) != 0) v = extremes_.join(*v, negate(*v), true);
      if (v && ((m.neg_lo >> k) & 1U) != 0) v = negate(*v);
      if (!v) return v;
      x[k] = *v;
    }
    return add(multiply(x[0], x[1]), x[2]);
  };
  if (format == Element::f32) {
    if (n == "v_fma_mix_f32") return mixed();
    if (n == "v_cndmask_b32" && a.size() == 3) {
      const auto y = f32(0);
      return chosen(a[2], f32(1), y);
    }
    if (n == "v_add_f32") return two([&](Number x, Number y) { return arithmetic_->sum(x, y); });
    if (n == "v_sub_f32") return two([&](Number x, Number y) { return arithmetic_->difference(x, y); });
    if (n == "v_subrev_f32") return two([&](Number x, Number y) { return arithmetic_->difference(y, x); });
    if (n == "v_mul_f32") return two([&](Number x, Number y) { return arithmetic_->product(x, y); });
    if (n == "v_max_f32") return two([&](Number x, Number y) { return extremes_.join(x, y, true); });
    if (n == "v_min_f32") return two([&](Number x, Number y) { return extremes_.join(x, y, false); });
    if (n == "v_max3_f32" || n == "v_min3_f32") {
      const auto x = f32(0), y = f32(1), z = f32(2);
      if (!x || !y || !z) return std::nullopt;
      const bool largest = n == "v_max3_f32";
      return extremes_.join(extremes_.join(*x, *y, largest), *z, largest);
    }
    if (n == "v_med3_f32" && a.size() == 3 &&
        is_plain(i)) { // of x and two constants: min(max(x, the smaller), the larger)
      std::vector<std::pair<double, std::size_t>> constants;
      for (std::size_t k = 0; k < 3; ++k)
        if (const auto bits_of = t_.value(a[k]))
          constants.emplace_back(real_of_bits(Element::f32, static_cast<std::uint32_t>(*bits_of)), k);
      if (constants.size() != 2 || !(std::min(constants[0].first, constants[1].first) > -HUGE_VAL))
        return std::nullopt;
      if (constants[1].first < constants[0].first) std::swap(constants[0], constants[1]);
      const auto x = f32(3 - constants[0].second - constants[1].second), least = f32(constants[0].second),
                 most = f32(constants[1].second);
      if (!x || !least || !most) return std::nullopt;
      return extremes_.join(extremes_.join(*x, *least, true), *most, false);
    }
    if (n == "v_fma_f32" || n == "v_fmac_f32" || n == "v_fmamk_f32" || n == "v_fmaak_f32") {
      // v_fmac adds to its destination, which is its third source; v_fmamk multiplies by a literal in between.
      const auto x = f32(0), y = f32(1);
      const auto z = n == "v_fmac_f32" && a.size() > 2 ? read(a[2], Element::f32, 0) : f32(2);
      if (!x || !y || !z) return std::nullopt;
      return arithmetic_->sum(arithmetic_->product(*x, *y), *z);
    }
    if (n == "v_ldexp_f32" && a.size() == 2 && is_plain(i)) {
      const auto count = t_.value(a[1]);
      const auto x = count ? read(a[0], Element::f32, 0) : shifted_power(a[0], a[1]);
      if (!x || !count) return x;
      const auto by = static_cast<std::int32_t>(static_cast<std::uint32_t>(*count));
      return by < -300 || by > 300 ? std::nullopt
                                   : std::optional(multiply(*x, of_double(std::ldexp(1.0, by))));
    }
    if (n == "v_div_fixup_f32" && a.size() == 3 && is_plain(i)) return divided(a[0], a[1], a[2]);
    if (n == "v_div_scale_f32" && part == 0)
      return is_scale(i, a) ? read(a[0], Element::f32, 0) : std::nullopt;
    if (n == "v_div_fmas_f32" && a.size() == 4) {
      Word flag = a[3];
      if (t_.kind(flag) == TermKind::bit && t_.raw(flag) == 0) flag = t_.children(flag)[0];
      if (!division_ || t_.kind(flag) != TermKind::function || t_.raw(flag) >> 32 != 99 ||
          t_.children(flag)[0] != division_->first ||
          !is_scale(flow_.instruction(t_.raw(flag) & 0xffffffffU), t_.children(flag)))
        return std::nullopt;
      const auto x = f32(0), y = f32(1), z = f32(2);
      return x && y && z ? std::optional(add(multiply(*x, *y), *z)) : std::nullopt;
    }
    if ((n == "v_max_f64" || n == "v_min_f64") && part == 1) {
      const auto v = of_f64_function(w); // the element of what was compared
      return v && places_.contains(*v) ? std::optional(apply(Function::top_value, *v)) : std::nullopt;
    }
    if (n == "v_rcp_f32" || n == "v_rcp_iflag_f32")
      return one([&](Number x) { return taken(Domain::not_zero, x, arithmetic_->inverse_of(x)); });
    if (n == "v_exp_f32") return one([&](Number x) { return arithmetic_->of(Function::exp2, x); });
    const auto root = [](Number x) { return apply(Function::sqrt, x); };
    if (n == "v_log_f32")
      return one([&](Number x) { return taken(Domain::positive, x, apply(Function::log2, x)); });
    if (n == "v_rsq_f32") return one([&](Number x) { return taken(Domain::positive, x, inverse(root(x))); });
    if (n == "v_sqrt_f32") return one([&](Number x) { return taken(Domain::not_negative, x, root(x)); });
    if (n == "v_mov_b32" || n == "v_accvgpr_read_b32" || n == "v_accvgpr_write_b32") return f32(0);
    if (n == "v_cvt_f32_f16") return f16(0, 0);
    if (n == "v_cvt_f32_i32" && !a.empty()) {
      Word x = a[0];
      if (sdwa && m.src0_sel != Select::dword) { // a byte or a half with its sign
        const auto* o = operand(0);
        if (o == nullptr || !o->sext) return std::nullopt;
        const auto select = static_cast<unsigned>(m.src0_sel);
        const unsigned size = select < 4 ? 8 : 16, at = select < 4 ? 8 * select : 16 * (select - 4);
        x = t_.ashr(t_.shl(x, t_.constant(32 - at - size)), t_.constant(32 - size));
      }
      if (const SignedField f = signed_field(x); f.width == 8 && f.at % 8 == 0)
        return read(f.word, Element::i8, f.at / 8);
      // An element that may be anything has no formula with its sign: a symbol for each would be made to say so.
      if (t_.kind(x) != TermKind::datum && !is_fold(x))
        if (const auto s = formulas_.signed_number(x)) return number_of(*s);
      return read(x, Element::i32, 0); // a sum of integers, a word with its sign
    }
    const bool byte = n.starts_with("v_cvt_f32_ubyte") && n.size() == 16;
    if ((n == "v_cvt_f32_u32" || byte) && !a.empty()) {
      Word x = a[0];
      if (byte)
        x = t_.bit_and(t_.shr(x, t_.constant(8U * static_cast<unsigned>(n[15] - '0'))), t_.constant(0xff));
      if (sdwa && m.src0_sel != Select::dword) { // a byte or a half
        const auto* o = operand(0);
        if (o == nullptr || o->sext) return std::nullopt;
        const auto select = static_cast<unsigned>(m.src0_sel);
        const unsigned size = select < 4 ? 8 : 16, at = select < 4 ? 8 * select : 16 * (select - 4);
        x = t_.bit_and(t_.shr(x, t_.constant(at)), t_.constant((1U << size) - 1));
      }
      if (const auto p = place_of_ranked(x)) return p;
      const auto s = formulas_.number(x);
      if (!s) return std::nullopt;
      return number_of(*s);
    }
    if ((one_byte || two_bytes) && !a.empty()) { // the byte, or that of the half, that SDWA or op_sel names
      const auto* o = operand(0);
      if (o == nullptr || o->neg || o->abs || o->sext || i.form == runtime::isa::Form::dpp)
        return std::nullopt;
      const bool ocp = machine::target(flow_.program().arch).ocp_fp8;
      const Element of_byte = n.ends_with("fp8") ? (ocp ? Element::e4m3fn : Element::e4m3fnuz)
                                                 : (ocp ? Element::e5m2 : Element::e5m2fnuz);
      const auto select = static_cast<unsigned>(sdwa ? m.src0_sel : Select::dword); // bytes, halves, the word
      if (two_bytes && (select < 4 || (m.op_sel & ~1U) != 0)) return std::nullopt;
      if (one_byte && ((select >= 4 && select != 6) || m.op_sel != 0)) return std::nullopt;
      const unsigned half = two_bytes ? (m.op_sel & 1U) | (select == 5 ? 1U : 0U) : 0;
      return read(a[0], of_byte, two_bytes ? 2 * half + part : select % 6);
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
      if (n == "v_pk_add_f32") return arithmetic_->sum(*x, *y);
      if (n == "v_pk_mul_f32") return arithmetic_->product(*x, *y);
      if (n == "v_pk_fma_f32") {
        const auto z = get(2);
        if (!z) return std::nullopt;
        return arithmetic_->sum(arithmetic_->product(*x, *y), *z);
      }
    }
    return std::nullopt;
  }
  if (format == Element::i32 && n == "v_cvt_i32_f32" && !sdwa) {
    const auto x = f32(0);
    return x ? std::optional(apply(Function::truncated, *x)) : x;
  }
  if (bits(format) == 16) {
    const bool to_f16 = format == Element::f16;
    if ((n == "v_fma_mixlo_f16" || n == "v_fma_mixhi_f16") && to_f16 && index == 0) {
      narrowed_.insert(format);
      return mixed();
    }
    const bool single = n == "v_cvt_f16_f32" && to_f16;
    if (single || (n == "v_cvt_pkrtz_f16_f32" && to_f16 && any_rounding_) ||
        (n == "v_cvt_pk_f16_f32" && to_f16) || (n == "v_cvt_pk_bf16_f32" && !to_f16)) {
      narrowed_.insert(format);
      return single && index != 0 ? std::optional<Number>(0) : f32(index);
    }
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
  if (bits(format) == 8 && a.size() == 3 && (m.op_sel & 3U) == 0) {
    const bool ocp = machine::target(flow_.program().arch).ocp_fp8;
    const bool fp8 = n == "v_cvt_pk_fp8_f32" && format == (ocp ? Element::e4m3fn : Element::e4m3fnuz),
               bf8 = n == "v_cvt_pk_bf8_f32" && format == (ocp ? Element::e5m2 : Element::e5m2fnuz);
    if (fp8 || bf8) { // two bytes; the others stay
      narrowed_.insert(format);
      const bool high = (m.op_sel & 8U) != 0;
      return (index >= 2) == high ? f32(index % 2) : read(a[2], format, index);
    }
  }
  return std::nullopt;
}

} // namespace inlay::kernels::validate
