// Numbers that are rounded: to integers, to i8, and to bf16 by the integer arithmetic that compilers make of it.
#include "values_of_words.h"

#include <inlay/algebra/print.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace inlay::kernels::validate {

using runtime::isa::Instruction;

namespace {
bool constant_is(const Terms& t, Word w, std::uint32_t value) { return t.value(w) == value; }
} // namespace

/// v_cvt_i32_f32 of v_rndne_f32, and what compilers put around it for numbers that no i32 is near: the same number again,
/// because the instruction does that itself.
std::optional<Number> ValuesOfWords::rounded_to_integer(Word w) {
  const auto function = [&](Word x, unsigned part) -> const Instruction* {
    if (t_.kind(x) != TermKind::function || t_.raw(x) >> 32 != part) return nullptr;
    const Instruction& i = flow_.instruction(t_.raw(x) & 0xffffffffU);
    const auto plain =
        std::none_of(i.operands.begin(), i.operands.end(), [](const auto& o) { return o.neg || o.abs; });
    return plain && !i.modifiers.clamp && i.modifiers.omod == 0 && i.form != runtime::isa::Form::sdwa
               ? &i
               : nullptr;
  };
  std::vector<std::pair<Word, bool>> around; ///< conditions, and whether the constant stands where they hold
  std::vector<Word> constants;
  while (t_.kind(w) == TermKind::select) {
    const Word c = t_.children(w)[0], x = t_.children(w)[1], y = t_.children(w)[2];
    if (t_.value(x).has_value() == t_.value(y).has_value()) return std::nullopt;
    const bool first = t_.value(x).has_value();
    around.emplace_back(c, first);
    constants.push_back(first ? x : y);
    w = first ? y : x;
  }
  const Instruction* convert = function(w, 0);
  if (convert == nullptr || convert->mnemonic != "v_cvt_i32_f32") return std::nullopt;
  const Word rounded = t_.children(w)[0];
  for (std::size_t k = 0; k < around.size(); ++k) {
    Word c = around[k].first;
    bool holds = around[k].second;
    while (t_.kind(c) == TermKind::invert) {
      c = t_.children(c)[0];
      holds = !holds;
    }
    if (t_.kind(c) == TermKind::bit && t_.raw(c) == 0) c = t_.children(c)[0];
    const Instruction* i = function(c, 99);
    if (i == nullptr || t_.children(c).size() < 2) return std::nullopt;
    const Word x = t_.children(c)[0], y = t_.children(c)[1];
    const std::string_view n = i->mnemonic;
    constexpr std::uint32_t least = 0xcf000000U, most = 0x4effffffU; // -2^31 and the largest f32 below 2^31
    const bool of_nan = (n == "v_cmp_u_f32" && holds) || (n == "v_cmp_o_f32" && !holds);
    const bool below = (n == "v_cmp_le_f32" && !holds) || (n == "v_cmp_nle_f32" && holds);
    const bool above = (n == "v_cmp_lt_f32" && holds) || (n == "v_cmp_nlt_f32" && !holds);
    const bool as_it_is =
        (of_nan && x == rounded && y == rounded && constant_is(t_, constants[k], 0)) ||
        (below && constant_is(t_, x, least) && y == rounded && constant_is(t_, constants[k], 0x80000000U)) ||
        (above && constant_is(t_, x, most) && y == rounded && constant_is(t_, constants[k], 0x7fffffffU));
    // A NaN passes the tests for the ends before that for itself, which stands outside.
    if (!as_it_is || (below && (k == 0 || !t_.value(constants[0]) || *t_.value(constants[0]) != 0)))
      return std::nullopt;
  }
  const Instruction* round = function(rounded, 0);
  if (round == nullptr || round->mnemonic != "v_rndne_f32") return std::nullopt;
  return read(t_.children(rounded)[0], Element::f32, 0);
}

std::optional<Number> ValuesOfWords::rounded_to_i8(Word w) {
  // The least of 127 and the largest of -128 and the integer, or the other way round.
  for (unsigned ends = 0; ends != 3;) {
    const TermKind kind = t_.kind(w);
    if (kind != TermKind::minimum_signed && kind != TermKind::maximum_signed) return std::nullopt;
    const bool upper = kind == TermKind::minimum_signed;
    const Word x = t_.children(w)[0], y = t_.children(w)[1];
    const std::uint32_t end = upper ? 127U : 0xffffff80U;
    if (!constant_is(t_, x, end) && !constant_is(t_, y, end)) return std::nullopt;
    w = constant_is(t_, x, end) ? y : x;
    ends |= upper ? 1U : 2U;
  }
  return rounded_to_integer(w);
}

/// Whether a condition is that x is a NaN (true) or that it is none (false).
std::optional<bool> ValuesOfWords::says_nan(Word c, Word x) const {
  bool holds = true;
  for (; t_.kind(c) == TermKind::invert; c = t_.children(c)[0]) holds = !holds;
  if (t_.kind(c) == TermKind::bit) c = t_.children(c)[0];
  if (t_.kind(c) != TermKind::function || t_.children(c).size() < 2) return std::nullopt;
  const Instruction& i = flow_.instruction(t_.raw(c) & 0xffffffffU);
  const bool of_nan = i.mnemonic == "v_cmp_u_f32";
  if ((!of_nan && i.mnemonic != "v_cmp_o_f32") || i.form == runtime::isa::Form::sdwa ||
      i.form == runtime::isa::Form::dpp || t_.children(c)[0] != x || t_.children(c)[1] != x)
    return std::nullopt;
  return of_nan == holds;
}

/// x, of a word that is x where that is a number, and some NaN where it is one: the same in real arithmetic. Or x is what something
/// rounds to, and the NaN that one's.
std::optional<Word> ValuesOfWords::with_any_nan(Word w) const {
  for (const std::size_t k : {1U, 2U}) {
    const Word x = t_.children(w)[k];
    const auto nan = t_.value(t_.children(w)[3 - k]);
    if (!nan || (*nan & 0x7fffffffU) <= 0x7f800000U) continue;
    const bool widened = t_.kind(x) == TermKind::bit_and && t_.value(t_.children(x)[1]) == 0xffff0000U;
    const auto rounded = widened ? rounded_from(t_.children(x)[0]) : std::nullopt;
    if (says_nan(t_.children(w)[0], rounded.value_or(x)) == (k == 2)) return x;
  }
  return std::nullopt;
}

/// The number in the upper half of what rounds x to bf16: x + ((x >> 16) & 1) + 0x7fff or x + 0x8000, or that beside x | 0x400000
/// or a NaN of its own where x is a NaN. Nothing when the word is not of that form.
std::optional<Number> ValuesOfWords::rounded_to_bf16(Word w) {
  if (t_.kind(w) != TermKind::select) {
    const auto x = rounded_from(w);
    return x ? read(*x, Element::f32, 0) : std::nullopt;
  }
  for (const std::size_t k : {1U, 2U}) {
    const Word other = t_.children(w)[k];
    const auto x = rounded_from(t_.children(w)[3 - k]);
    if (!x) continue;
    const auto nan = t_.value(other);
    const bool is_nan =
        nan ? (*nan >> 16 & 0x7fffU) > 0x7f80U : other == t_.bit_or(*x, t_.constant(0x400000));
    if (is_nan && says_nan(t_.children(w)[0], *x) == (k == 1)) return read(*x, Element::f32, 0);
  }
  return std::nullopt;
}

/// x, of x + ((x >> 16) & 1) + 0x7fff, or of x + 0x8000, which takes a tie to the larger one.
std::optional<Word> ValuesOfWords::rounded_from(Word sum) const {
  if (any_rounding_ && t_.kind(sum) == TermKind::linear && !t_.is_wide(sum) && t_.raw(sum) == 0x8000 &&
      t_.parts(sum).size() == 1 && t_.parts(sum)[0].coefficient == 1)
    return t_.parts(sum)[0].atom;
  if (t_.kind(sum) != TermKind::linear || t_.raw(sum) != 0x7fff) return std::nullopt;
  const std::vector<TermPart> parts(t_.parts(sum).begin(), t_.parts(sum).end());
  if (parts.size() != 2) return std::nullopt;
  for (unsigned k = 0; k < 2; ++k) // a bf16 that was widened and is rounded again
    if (parts[k].coefficient == 65536 && parts[1 - k].coefficient == 1 &&
        parts[1 - k].atom == t_.bit_and(parts[k].atom, t_.constant(1)))
      return t_.shl(parts[k].atom, t_.constant(16));
  if (parts[0].coefficient != 1 || parts[1].coefficient != 1) return std::nullopt;
  for (unsigned k = 0; k < 2; ++k)
    if (parts[1 - k].atom == t_.bit_and(t_.shr(parts[k].atom, t_.constant(16)), t_.constant(1)))
      return parts[k].atom;
  return std::nullopt;
}

/// The same in the lower half, a NaN of its own where x is one: is x a NaN ? 0x7fff : (x + ((x >> 16) & 1) + 0x7fff) >> 16.
std::optional<Number> ValuesOfWords::rounded_to_low_bf16(Word select) {
  for (const std::size_t k : {1U, 2U}) {
    const Word high = t_.children(select)[3 - k];
    const auto nan = t_.value(t_.children(select)[k]);
    if (!nan || (*nan & 0x7fffU) <= 0x7f80U || *nan > 0xffffU || t_.kind(high) != TermKind::shift_right ||
        t_.value(t_.children(high)[1]) != 16)
      continue;
    const auto x = rounded_from(t_.children(high)[0]);
    if (x && says_nan(t_.children(select)[0], *x) == (k == 1)) return read(*x, Element::f32, 0);
  }
  return std::nullopt;
}

} // namespace inlay::kernels::validate
