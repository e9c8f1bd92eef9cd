/// What numbers a machine word stands for: elements of a format, as numbers of the field of values.h.
///
/// A word that came from memory or from a matrix product is a `datum` with its elements. What vector instructions made of
/// such words is read back from the term: floating-point instructions are the field's operations, conversions between
/// formats are the identity, packing and unpacking is followed bit by bit. What has no reading is nothing, and the message
/// names the instruction.
#pragma once

#include "flat.h"
#include "formulas.h"
#include "integers.h"
#include "values.h"

#include <inlay/codegen/element.h>
#include <inlay/runtime/symbolic/flow.h>

#include <array>
#include <set>
#include <span>
#include <tuple>

namespace inlay::kernels::validate {

using codegen::bits;
using codegen::Element;

class ValuesOfWords {
public:
  ValuesOfWords(const runtime::symbolic::Flow& flow, Formulas& formulas)
      : flow_(flow), t_(flow.terms()), formulas_(formulas) {}
  ValuesOfWords(const ValuesOfWords&) = delete;
  ValuesOfWords& operator=(const ValuesOfWords&) = delete;

  /// The word that holds these elements, lowest bits first; 32 bits of them.
  [[nodiscard]] Word word(Element format, std::span<const Number> elements);
  /// A word that may hold anything: a number of its own in every format.
  [[nodiscard]] Word anything();
  /// No elements: may hold anything. Valid until the next word is made.
  struct Datum {
    Element format = Element::f32;
    std::span<const Number> numbers;
  };
  [[nodiscard]] std::optional<Datum> datum(Word word) const {
    if (word == 0 || t_.kind(word) != TermKind::datum) return std::nullopt;
    const Kept& d = data_[t_.raw(word)];
    return Datum{d.format, std::span(numbers_).subspan(d.first, d.count)};
  }
  /// Element number `index` of a word in that format.
  [[nodiscard]] std::optional<Number> read(Word word, Element format, unsigned index);
  /// The low or the high word (`half` 0, 1) of a number of f64.
  [[nodiscard]] Word half_of_f64(Number v, unsigned half) {
    const Number both[] = {v, half};
    return word(Element::f64, both);
  }
  /// The number of which a word is that half.
  [[nodiscard]] std::optional<Number> of_half(Word word, unsigned half) const {
    const auto d = datum(word);
    const bool is = d && d->format == Element::f64 && d->numbers.size() == 2 && d->numbers[1] == half;
    return is ? std::optional(d->numbers[0]) : std::nullopt;
  }
  /// The number of f64 that two words are together: halves of one number, constants, or what one instruction has made of such pairs. No
  /// conversion from or to f32 is taken for the number itself.
  [[nodiscard]] std::optional<Number> read_f64(Word low, Word high);
  /// x as v_cvt_i32_f32 makes it an integer, where the word is that.
  [[nodiscard]] std::optional<Number> truncated(Word word);
  /// 1 where the condition holds, else 0, as a number that no size is known for.
  [[nodiscard]] static Number of(const Formulas::Condition& condition);
  /// Of d >= 0 and -d - 1 >= 0, which is where it does not hold, one is 1 less the other.
  [[nodiscard]] static Number of(Sym at_least_0) {
    const std::uint64_t holds = stable_hash(at_least_0), fails = stable_hash(-at_least_0 - Sym(1));
    return holds <= fails ? apply(Function::condition, holds)
                          : subtract(1, apply(Function::condition, fails));
  }
  /// What is replaced in conditions and numbers from now on, because a path says so: the number of trips. Those that the code
  /// has without that stay as they are.
  void known(const std::vector<std::pair<AtomId, Sym>>& replaced);
  /// What words are as numbers of f32 with that replaced, to stay so when something else is: those that are one of `of_code`, and what
  /// takes a reciprocal, a logarithm or a root of none, or of what the code takes one of, too.
  [[nodiscard]] Flat<Word, Number> settled(const Flat<Word, bool>& words,
                                           const std::vector<std::pair<AtomId, Sym>>& replaced,
                                           const Flat<Number, bool>& of_code);
  std::function<bool(Number)> is_of_code;
  [[nodiscard]] Number number_of(Sym s);
  /// The real number that bits are in f64, f32, f16 or bf16.
  [[nodiscard]] static double real_of_bits(Element format, std::uint64_t bits);
  [[nodiscard]] Extremes& extremes() { return extremes_; }
  [[nodiscard]] Integers& integers() { return integers_; }
  /// What f32 instructions compute with: the field, when nothing else is said. Before anything is read.
  void compute_with(FieldArithmetic& arithmetic) { arithmetic_ = &arithmetic; }
  [[nodiscard]] FieldArithmetic& arithmetic() { return *arithmetic_; }
  /// How other people's code rounds f32: to bf16 cut off, or a tie to the larger one, to f16 toward 0. Before anything is read. Not said:
  /// to nearest even alone.
  void take_any_rounding() { any_rounding_ = true; }
  /// Formats that instructions have converted f32 to. The field takes a conversion for the number itself, so that who judges has to ask
  /// whether there is anything of that format on the other side.
  [[nodiscard]] const std::set<Element>& narrowed() const { return narrowed_; }
  /// As if nothing had been read since machine code took so many reciprocals, logarithms and roots (FieldArithmetic::taken): what is read
  /// again asks for its own again.
  void forget_reads(std::size_t taken) {
    arithmetic_->take_back(taken);
    for (auto& [replaced, read] : done_) read.clear();
  }
  [[nodiscard]] const std::string& missing() const { return missing_; }
  void forget_missing() { missing_.clear(); }

private:
  /// What `done_` keeps the element of a word by.
  static std::uint64_t key_of(Word word, Element format, unsigned index) {
    return (std::uint64_t{word} << 16) | (static_cast<unsigned>(format) << 4) | index;
  }
  /// A word as an integer with a sign.
  std::optional<Number> integer(Word word);
  Integers::Names names_of_integers();
  /// Whether it is a sum of more words than a formula is made of, or a greatest or a least.
  [[nodiscard]] bool is_fold(Word word) const;
  /// The number of a condition on the path that is followed.
  Number here(const Formulas::Condition& condition);
  std::optional<Number> compute(Word word, Element format, unsigned index);
  std::optional<Number> of_function(Word word, Element format, unsigned index);
  /// What `top` compares: two words of which the upper one is an element as f32, of which 0 has no sign, and the lower one its place, or that
  /// of a result of comparisons and more bits of a place; ~place where the element is not negative.
  std::optional<Number> ranked(Word low, Word high);
  /// The same in one word, an integer with its sign, of elements of 16 bits: the upper half is an element, turned round but for its sign where
  /// it is negative, and the lower one ~place.
  std::optional<Number> ranked(Word word);
  std::optional<Number> compute_ranked(Word word);
  /// x of max(x + 0, -inf), which is x without NaN and -0.
  [[nodiscard]] std::optional<Word> not_nan(Word word) const;
  /// Whether it is mask & the sign of x, all ones below 0; and x of x ^ that.
  [[nodiscard]] bool is_sign(Word word, Word x, std::uint32_t mask) const;
  [[nodiscard]] std::optional<Word> turned(Word word, std::uint32_t mask) const;
  /// The same of two words with an element of 16 bits beside each in the lower half of the lower word, whose upper one is the place.
  std::optional<Number> ranked_beside(Word low, Word high);
  /// Of whose lower word `word` is what it was before it was turned round.
  std::optional<Number> lower_of_ranked(Word word);
  struct Places {
    std::uint32_t bits = 0;        ///< of the lower word that places may have
    std::optional<Element> beside; ///< what the lower half of it is, where the upper one is the place
  };
  Number placed(Number ranked, Places places);
  std::optional<Number> moved_by(std::optional<Number> ranked, std::uint32_t bits);
  Number best_of(Number x, Number y, bool greatest);
  /// The place of such a result, as a word.
  std::optional<Number> place_of_ranked(Word word);
  /// `word` is base, or its complement, exclusive or a constant.
  struct Flipped {
    Word base = 0;
    std::uint32_t by = 0;
  };
  [[nodiscard]] Flipped flipped(Word word) const;
  /// `word` is all ones where `high` is negative, and else 0, exclusive or a constant: {high, that constant}, or no word.
  [[nodiscard]] Flipped sign_of(Word word, Word high) const;
  std::unordered_map<Number, Places> places_; ///< of ranked elements
  std::optional<Number> of_f64_function(Word word);
  std::optional<Number> compute_f64(Word word);
  /// The word that holds the same bits as `word` from `at` on, as deep as packing goes; where they are there. 0: zeros.
  std::optional<std::pair<Word, unsigned>> packed(Word word, unsigned at, unsigned width);
  /// `width` bits of a word from `at` on as a number with a sign.
  struct SignedField {
    Word word = 0;
    unsigned at = 0, width = 32;
  };
  /// The least field that the word is, read as a number with a sign.
  [[nodiscard]] SignedField signed_field(Word word) const;
  /// 2^x, of what is (2^(x + s)) 2^-s with s a number that some condition chooses: how compilers keep results below 2^-126.
  std::optional<Number> shifted_power(Word power, Word count);
  /// numerator / denominator, when `quotient` is that by v_div_scale, a reciprocal, steps of Newton and v_div_fmas: the scales are
  /// powers of two that v_div_fmas takes back by the numerator's flag.
  std::optional<Number> divided(Word quotient, Word denominator, Word numerator);
  /// The result, with what machine code asks of x written down.
  Number taken(Domain domain, Number x, Number result) {
    arithmetic_->machine_takes(domain, x);
    return result;
  }
  /// Whether it is v_div_scale of that division, of which of the two.
  [[nodiscard]] bool is_scale(const runtime::isa::Instruction& i, std::span<const Word> sources) const;
  std::optional<Number> chosen(Word condition, std::optional<Number> x, std::optional<Number> y);
  /// 1 where the condition holds, else 0, as a number: conditions on sizes, comparisons of values, and what joins them.
  std::optional<Number> truth(Word condition);
  std::optional<Number> compared(Word comparison);
  /// The number of which the word is the integer that is nearest, at the ends of i32 or i8 what is nearest there.
  std::optional<Number> rounded_to_integer(Word word);
  std::optional<Number> rounded_to_i8(Word word);
  std::optional<Number> rounded_to_bf16(Word word);
  [[nodiscard]] std::optional<Word> rounded_from(Word sum) const;
  std::optional<Number> rounded_to_low_bf16(Word select);
  /// The word of v_cvt_i32_f32 that a word is: itself, or one that is replaced by 0 for NaN and by the ends of i32 beyond them, which
  /// it is there anyway.
  [[nodiscard]] std::optional<Word> conversion(Word word) const;
  /// Whether a comparison of x with the constant `bound` holds where x is `at`; nothing when it is none.
  [[nodiscard]] std::optional<bool> compares(Word condition, Word x, float bound, float at) const;
  [[nodiscard]] std::optional<bool> says_nan(Word condition, Word x) const;
  [[nodiscard]] std::optional<Word> with_any_nan(Word select) const;

  const runtime::symbolic::Flow& flow_;
  Terms& t_;
  Formulas& formulas_;
  // Millions of them: a page that is not touched is time that is not spent.
  struct Kept {
    std::uint32_t first = 0; ///< into numbers_
    Element format = Element::f32;
    std::uint8_t count = 0;
  };
  struct Slot {
    std::uint32_t hash = 0;
    Word word = 0;
  };
  std::vector<Kept> data_;
  std::vector<Number> numbers_;
  std::vector<Slot> table_; ///< open addressing, a power of two
  /// What words have been read as, by what was replaced then.
  std::map<std::vector<std::pair<AtomId, Sym>>, Flat<std::uint64_t, std::optional<Number>>> done_;
  decltype(done_)::value_type* context_ = nullptr;
  Extremes extremes_;
  Integers integers_{formulas_, extremes_};
  FieldArithmetic field_{extremes_};
  FieldArithmetic* arithmetic_ = &field_;
  std::set<Element> narrowed_;
  bool any_rounding_ = false;
  std::string missing_;
  std::optional<std::pair<Word, Word>> division_; ///< numerator and denominator of the one that is read
};

} // namespace inlay::kernels::validate
