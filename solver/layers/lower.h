/// Lowering: from formulas with / % & ^ << >> to sums over digits and parities, which can be compared
/// exactly.
///
/// A coordinate c in [0, e) is a *digit*. When c / t or c % t is needed and t divides e, the digit is split,
/// c = low + t * high with low in [0, t) and high in [0, e / t), and c / t is `high`, c % t is `low`: both
/// are linear again (TVM calls such sums iter maps). A digit whose extent is a constant power of two may be
/// split into bits, and then `^` and `&` are linear over GF(2). So a formula becomes a Form
///
///     constant + sum_k coefficient_k * digit_k + sum_a weight_a * parity(a & bits)
///
/// with polynomial coefficients and weights. On a box of digits this is *canonical*: the functions 1, the
/// digits and the parities of two or more bits are linearly independent (the parities are characters of
/// (Z/2)^n), so two formulas lowered over the same digits are equal for all indices and all symbols exactly
/// when their Forms are identical. That covers swizzles, padding after a swizzle (where sums carry and plain
/// GF(2) algebra fails), broadcast and negative strides. Linear layouts over F2 (Triton's LinearLayout) are
/// the case in which every weight is a power of two.
///
///     (r, c) -> r*128 + (c ^ (r % 8) * 16)      r = r0 + 2 r1 + 4 r2 + 8 r',  c = c0 + 2 c1 + ... + 64 c6
///         = 1024 r' + 128 r0 + 256 r1 + 512 r2 + c0 + ... + 16 [c4^r0] + 32 [c5^r1] + 64 [c6^r2]
///
/// A *rotation* (x + s) % d of a digit x of extent d by an s without x is, for every s, a permutation of [0, d). So for a
/// statement about the image it may be replaced by a new digit y of extent d in the place of x, when x occurs nowhere else:
///
///     (i/M)*M + (i%M + i/M) % M   =   M x1 + (x0 + x1) % M   ->   M x1 + y       (a skewed tile, a bijection)
///
/// Where an extent is not divisible the digit may be rounded up: the Form then describes the formula on a
/// larger box
/// (`enlarged()`), which is enough for statements about every point and not for statements about the whole
/// image. What cannot be lowered is reported as the missing fact, e.g. "8 divides M" (reason()).
#pragma once

#include "layers/subject.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inlay::solver {

using DigitId = int;

struct Form {
  Poly constant;
  std::map<DigitId, Poly> linear;
  std::map<std::uint64_t, Poly> parity; // mask of registered bits -> weight
  friend bool operator==(const Form&, const Form&) = default;
};

[[nodiscard]] Form operator+(const Form& a, const Form& b);

/// A mode of the flat layout that a Form without true parities is: one digit, its extent and its coefficient.
struct FlatDigit {
  Poly extent, stride;
  friend bool operator==(const FlatDigit&, const FlatDigit&) = default;
};

class Lowering {
public:
  /// `exact`: digits are never rounded up, and a part of a digit may be empty (pieces.h).
  enum class Mode { rounding, exact };
  explicit Lowering(Context& context, Mode mode = Mode::rounding) : context_(context), mode_(mode) {}

  /// Replace rotations, of the first digit that fits or of the last: for statements about the image alone, and only when
  /// rotations_hold() of the form in the end.
  void allow_rotations(bool of_last) { rotations_ = of_last ? Rotations::of_last : Rotations::of_first; }
  /// No digit that a rotation has replaced is left in the form.
  [[nodiscard]] bool rotations_hold(const Form& f) const;

  /// A new digit; roots are most significant last, as colexicographic coordinates are.
  DigitId root(const Poly& extent);
  /// The formula over forms for its names; names without one are symbols. nullopt: reason() says what is
  /// missing.
  [[nodiscard]] std::optional<Form> lower(const FormulaRef& f, const std::map<std::string, Form>& names);
  /// The whole function, its coordinates being `roots` (one per top-level coordinate) ...
  [[nodiscard]] std::optional<Form> lower(const Parts& f, const std::vector<Form>& coordinates);
  /// ... or one running index.
  [[nodiscard]] std::optional<Form> lower_index(const Parts& f, const Form& index);

  [[nodiscard]] Form digit(DigitId d) const;
  /// The index whose digits the roots are.
  [[nodiscard]] Form index() const;
  [[nodiscard]] static Form constant(const Poly& p);
  /// Everything expressed in digits that are not split any further, single bits as parities.
  [[nodiscard]] Form normal(const Form& f) const;
  /// Modes in the order of the index when every parity is of one bit; nullopt otherwise.
  [[nodiscard]] std::optional<std::vector<FlatDigit>> flat(const Form& f) const;
  /// Least and greatest value, when the signs of the coefficients are known.
  [[nodiscard]] std::optional<std::pair<Poly, Poly>> range(const Form& f) const;
  /// (f / d, f % d) for d >= 1.
  [[nodiscard]] std::optional<std::pair<Form, Form>> divide(const Form& f, const Poly& d);
  [[nodiscard]] std::vector<DigitId> leaves() const;
  /// The leaves as text, "8 | M"; a digit that was rounded up in brackets, "[3: 2 | 2]".
  [[nodiscard]] std::string leaves(const std::function<std::string(const Poly&)>& text) const;
  [[nodiscard]] const Poly& extent(DigitId d) const { return digits_[static_cast<std::size_t>(d)].extent; }
  [[nodiscard]] int bit_of(DigitId d) const { return digits_[static_cast<std::size_t>(d)].bit; }

  [[nodiscard]] bool enlarged() const { return enlarged_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] std::string str(const Form& f) const;

  [[nodiscard]] static Form scale(const Form& f, const Poly& by);

private:
  struct Digit {
    Poly extent;
    int low = -1, high = -1; // when split: digit = low + factor * high
    Poly factor;
    int bit = -1;
    bool is_root = false;
    int turned = -1; // the digit in its place after a rotation
  };
  struct Bit { // parity(mask & bits) ^ flip
    std::uint64_t mask = 0;
    bool flip = false;
  };
  struct Bits {
    std::vector<Bit> bits; // least significant first
    Form high;             // value = bits + 2^bits.size() * high
  };

  std::nullopt_t missing(const std::string& what);
  bool split(DigitId d, const Poly& factor);
  bool into_bits(DigitId d);
  std::optional<Bits> bits(const Form& f, int width);
  std::optional<int> width(const Form& f) const;
  std::optional<Form> rotated(const Form& f, const Poly& d);
  std::optional<Form> bitwise(Op op, const Form& a, const Form& b);
  std::optional<Form> apply(const std::vector<std::vector<FlatMode>>& modes, Form x);
  std::optional<Form> apply_steps(const Parts& f, Form x);
  std::optional<Poly> poly(const Leaf& leaf) const;
  std::optional<bool> decide(Op op, const Form& a, const Form& b) const;

  Context& context_;
  Mode mode_;
  enum class Rotations { none, of_first, of_last } rotations_ = Rotations::none;
  struct Rotation {
    Form of;
    Poly modulus;
    DigitId digit;
  };
  std::vector<Rotation> rotated_;
  std::vector<Digit> digits_;
  int bit_count_ = 0;
  bool enlarged_ = false;
  std::string reason_;
};

} // namespace inlay::solver
