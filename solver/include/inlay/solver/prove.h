/// `prove_*`: is a statement about a layout true, for the given numbers or for all values of its symbols?
///
/// A question has three possible answers, and they are never mixed up:
///
///     proved   with a certificate that other programs check (certificate.h)
///     refuted  with a witness: values of the symbols and an index at which the statement fails, replayed on
///              plain integers by an evaluator that shares no code with the prover before anybody sees it
///     unknown  with the fact that is missing and the SMT-LIB text of what was left. Never a success.
///
///     using namespace inlay::solver;
///     Verdict v = prove_equal("((128,m),(128,n)):((1,128),(128*m,16384*m))", "(128*m,128*n):(1,128*m)");
///     v.outcome == Outcome::proved, v.method == "normal form"
///     prove_bijective("(4,4,2):(1,8,2)").witness->text == "index 2 = (2,0,0) and index 16 = (0,0,1) both give 2"
///
/// The layers, in the order in which they are asked (each file has its theory in the header): facts by
/// substitution (context.h), lowering to digits and parities (lower.h), normal form and stride chain (flat.h),
/// enumeration up to a stated limit (enumerate.h) and a search for small counterexamples, pieces at min / max /
/// select, concrete coordinates one by one with identity in the symbolic ones, Z3 and cvc5 (smt.h).
///
/// The theory: C. Cecka, "CuTe Layout Representation and Algebra", arXiv 2603.02298, for the layouts; G. Woeginger
/// and Z. Yu, "On the equal-subset-sum problem", IPL 42 (1992), for why injectivity has no fast complete test;
/// proofs/coq/Layout.v for why the normal form decides equality.
///
/// Every function is pure, uses no global state and may run on any number of threads; results do not depend on
/// time: budgets are counts of steps.
#pragma once

#include <inlay/solver/error.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {
template <class S>
class BasicLayout;
template <class S>
class BasicComposedLayout;
class Int;
class Sym;
} // namespace inlay

namespace inlay::solver {

struct Parts;

/// What is asked about: a layout, a composed layout, or a formula with its domain.
///
///     Subject("((2,2),3):((24,2),8)")
///     Subject("Sw<3,4,3> o 0 o (8,64):(64,1)")
///     Subject("(r, c) -> r*ld + (c ^ (r % 8)*16)", "(M, 128)")   named coordinates, the first one fastest
///     Subject("i / 8 + i % 8", "64")                             a formula in the index i; floor division
///     Subject("logical_divide((8,6):(1,8), (4,3))")              an operation of the algebra (expression.h,
///                                                                sym_expression.h for symbols)
///     Subject(parse_layout("(8,64):(64,1)"))
///
/// Outside its domain a function has no value; a layout that is applied to another's result runs on along its
/// last mode, as in CuTe. Errors: QuestionError for malformed text, basis strides, extents below 1.
class Subject {
public:
  Subject(const char* text) : Subject(std::string_view(text)) {} // NOLINT: text is the usual way to write one
  Subject(const std::string& text) : Subject(std::string_view(text)) {} // NOLINT
  Subject(std::string_view text, std::string_view domain = {});         // NOLINT
  Subject(const BasicLayout<Int>& layout);         // NOLINT: a layout is a question's subject
  Subject(const BasicLayout<Sym>& layout);         // NOLINT: ranges of its symbols come along
  Subject(const BasicComposedLayout<Int>& layout); // NOLINT
  Subject(const BasicComposedLayout<Sym>& layout); // NOLINT

  [[nodiscard]] const Parts& parts() const { return *parts_; }
  /// Facts that came with the value (the ranges of a SymContext), as conditions.
  [[nodiscard]] const std::vector<std::string>& facts() const { return facts_; }
  [[nodiscard]] std::string text() const;
  /// What a symbolic operation in the text assumed and these facts do not prove; a question about it is then unknown.
  [[nodiscard]] std::vector<std::string> open(const std::vector<std::string>& facts,
                                              const struct Options& options) const;

private:
  struct Assumed; // obligations, with the context that their symbols live in
  std::shared_ptr<const Assumed> assumed_;
  std::shared_ptr<const Parts> parts_;
  std::vector<std::string> facts_;
};

/// Conditions on the symbols: `{"M % 128 == 0", "K >= 64 && K <= 8192"}`. Symbols are >= 1 unless a condition
/// says otherwise. Contradictory ones, and ones about nothing in the question, are a QuestionError.
using Facts = std::vector<std::string>;

[[nodiscard]] bool recheck_by_default();

struct Options {
  /// Limit on enumeration, in evaluations: about a second.
  std::uint64_t enumeration_limit = std::uint64_t{1} << 24;
  /// Z3's `rlimit` per query, elementary steps; 0 asks no solver.
  std::uint64_t solver_steps = 3'000'000;
  /// Assignments of symbols that the refuter tries.
  std::size_t refuter_assignments = 400;
  /// Equal also mode by mode.
  bool by_mode = false;
  /// Every proof is derived again by the checker (certificate.h) before it is a proof: `rechecked()`. On by default where
  /// the environment says INLAY_RECHECK=1, as `./check` does, so that tests and kernel builds run with it.
  bool recheck = recheck_by_default();
  /// Proofs come with what the checker needs; false: without, for questions whose answer is used at once.
  bool certificates = true;
  /// Stops the search when it becomes true; the verdict is then unknown.
  const std::atomic<bool>* cancel = nullptr;
};

enum class Outcome { proved, refuted, unknown };
[[nodiscard]] const char* to_string(Outcome o);

/// Why a statement is false. Integers that do not fit 64 bits are only in `text`.
struct Witness {
  std::vector<std::pair<std::string, std::int64_t>> symbols;
  std::optional<std::int64_t> index;        ///< into the (first) subject, colexicographic
  std::vector<std::int64_t> coordinate;     ///< the same, per top-level mode
  std::optional<std::int64_t> second_index; ///< the other index of a collision
  std::optional<std::int64_t> lhs, rhs;     ///< the two values that should (not) agree
  std::string text;                         ///< one sentence
};

struct Verdict {
  Outcome outcome = Outcome::unknown;
  std::string property;
  std::string method; ///< the layer that decided: "normal form", "stride chain", "domination", "enumeration",
                      ///< "Z3", ...
  std::string certificate;              ///< when proved: SMT-LIB 2 with a trace, see certificate.h
  std::optional<Witness> witness;       ///< when refuted
  std::vector<std::string> obligations; ///< when unknown: what would settle it
  std::string smt2;                     ///< when unknown and it can be said in SMT-LIB
  std::vector<std::string> notes;       ///< e.g. that phase groups are assumed, not measured

  /// True only when proved.
  explicit operator bool() const { return outcome == Outcome::proved; }
  /// One line: "equal: proved (normal form)".
  [[nodiscard]] std::string summary() const;
};

/// A and B have the same size and A(i) = B(i) for 0 <= i < size; with `by_mode` also the same extents of
/// top-level modes. `prove_equal("(4,8):(1,4)", "32:1")` is proved.
[[nodiscard]] Verdict prove_equal(const Subject& a, const Subject& b, const Facts& facts = {},
                                  const Options& options = {});
/// A(i) = A(j) only for i = j. `prove_injective("(3,2):(2,3)")` is proved, `"(3,2):(1,1)"` refuted by 1
/// and 3.
[[nodiscard]] Verdict prove_injective(const Subject& a, const Facts& facts = {}, const Options& options = {});
/// A is a bijection onto [0, size A). `prove_bijective("(4,4,2):(1,8,4)")` is proved.
[[nodiscard]] Verdict prove_bijective(const Subject& a, const Facts& facts = {}, const Options& options = {});
/// A(i) != B(j) for all i, j. `prove_disjoint("4:2", "4:2 o 1 o 4:1")`.
[[nodiscard]] Verdict prove_disjoint(const Subject& a, const Subject& b, const Facts& facts = {},
                                     const Options& options = {});
/// The image of A contains [0, N); N is a formula in the symbols. `prove_covers("(4,3):(1,3)", "12")` is
/// refuted.
[[nodiscard]] Verdict prove_covers(const Subject& a, std::string_view n, const Facts& facts = {},
                                   const Options& options = {});
/// 0 <= A(i) < N. "Byte offsets fit 32 bits" is `prove_within(bytes, "2147483648")`.
[[nodiscard]] Verdict prove_within(const Subject& a, std::string_view n, const Facts& facts = {},
                                   const Options& options = {});
/// W divides A(i). `prove_aligned("(M,K):(K,8)", "8", {"K % 8 == 0"})` is proved.
[[nodiscard]] Verdict prove_aligned(const Subject& a, std::string_view w, const Facts& facts = {},
                                    const Options& options = {});
/// B(i) lies in the domain of A and A(B(i)) = i for 0 <= i < size B. `prove_inverse("(2,3):(3,1)",
/// "(3,2):(2,1)")`.
[[nodiscard]] Verdict prove_inverse(const Subject& a, const Subject& b, const Facts& facts = {},
                                    const Options& options = {});
/// A maps (lane, instance...) to byte offsets in LDS: no phase of `access` ("ds_read_b128") on `arch`
/// ("MI300X") needs one bank twice, for any instance. lds.h has the model, the degree and the offending
/// lanes.
[[nodiscard]] Verdict prove_conflict_free(const Subject& a, std::string_view access, std::string_view arch,
                                          const Facts& facts = {}, const Options& options = {});

} // namespace inlay::solver
