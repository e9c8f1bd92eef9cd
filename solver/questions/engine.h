/// One question on its way through the layers: facts, budget, what was found.
///
/// The statements live in a file each: equal.cpp, within.cpp, ... (pointwise.h), injective.cpp, ... (image.h), banks.cpp and
/// coalescing.cpp (memory). They end in proved(), refuted() or unknown(); nothing else makes a
/// Verdict, so that a counterexample cannot leave without having been replayed, nor a proof without its
/// claims.
#pragma once

#include "certificates/claims.h"
#include "layers/enumerate.h"
#include "layers/flat.h"
#include "layers/smt.h"

#include "inlay/solver/prove.h"

#include <functional>

namespace inlay::solver {

/// A counterexample before it is replayed. What the fields mean depends on `kind`.
struct Finding {
  enum class Kind {
    extents,    // top-level extents or sizes differ
    values,     // A(index) != B(index)
    collision,  // A(index) = A(second)
    outside,    // A(index) is not in [0, bound)
    missing,    // no index has value `bound`
    shared,     // A(index) = B(second)
    misaligned, // `bound` does not divide A(index)
    inverse,    // B(index) is outside A, or A(B(index)) != index
  } kind;
  naive::Environment environment;
  Wide index = 0, second = 0, bound = 0;
};

/// What a concrete instance of the question has to say.
struct Check {
  enum class State { holds, fails, undecided } state = State::undecided;
  std::optional<Finding> finding;
  static Check holds() { return {State::holds, {}}; }
  static Check fails(Finding f) { return {State::fails, std::move(f)}; }
  static Check undecided() { return {}; }
};

class Engine {
public:
  Engine(std::string property, std::vector<const Subject*> subjects, std::vector<std::string> terms,
         const Facts& facts, const Options& options);

  [[nodiscard]] const Parts& a() const { return *subjects_[0]; }
  [[nodiscard]] const Parts& b() const { return *subjects_[1]; }
  /// The extra argument, N or W.
  [[nodiscard]] const FormulaRef& term() const { return terms_.at(0); }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] bool concrete() const { return context.names().empty(); }

  [[nodiscard]] Verdict proved(std::string method);
  /// Replays the finding with the naive evaluator; InternalError when it is not confirmed.
  [[nodiscard]] Verdict refuted(const Finding& finding, std::string method);
  [[nodiscard]] Verdict unknown();

  /// left >= right for all values: by the context, else by a solver. Records the claim when it holds.
  bool at_least(const Poly& left, const Poly& right, const std::string& why);
  /// The extents of the top-level coordinates, when they are polynomials.
  [[nodiscard]] std::optional<std::vector<Poly>> extents(const Parts& f);
  [[nodiscard]] std::optional<Poly> size(const Parts& f);
  /// The function over fresh digits of its own, with its roots.
  struct Own {
    Lowering lowering;
    Form form;
  };
  [[nodiscard]] std::optional<Own> lower_alone(const Parts& f) {
    return lower_alone(f, [](Lowering&) {});
  }
  /// The same for a statement about the image, where a rotation of a digit may be replaced by a digit (lower.h).
  [[nodiscard]] std::optional<Own> lower_image(const Parts& f);

  /// Decides a concrete question by `check`, or looks for an assignment at which it fails.
  /// nullopt: symbolic and no counterexample found (or not all of a finite set decided).
  [[nodiscard]] std::optional<Verdict>
  by_instances(const std::function<Check(const naive::Environment&)>& check, const std::string& method);
  /// Runs a query; records it when it stays open. `found` turns a model into a finding.
  [[nodiscard]] std::optional<Verdict>
  ask(smt::Query& query,
      const std::function<std::optional<Finding>(const std::map<std::string, Wide>&)>& found);
  /// The internal symbols' values in a model.
  [[nodiscard]] naive::Environment environment(const std::map<std::string, Wide>& model) const;
  [[nodiscard]] bool confirmed(const Finding& finding, Witness* witness) const;
  void obligation(std::string what);
  /// How many evaluations an instance may use: all of the limit for a concrete question, a share of it
  /// otherwise.
  [[nodiscard]] Wide evaluations() const;
  [[nodiscard]] bool cancelled() const { return options.cancel && *options.cancel; }

  /// Gives every min, max and quotient among extents, strides, offsets and terms that no fact decides a symbol of its own (Choice), and
  /// asks no solver about the whole question any more. False: there are none.
  bool name_choices();

  /// Look at as much of what cannot be enumerated as the limit allows: when every other layer has given up.
  bool thorough = false;

  Context context;
  Options options;
  Claims claims;
  std::vector<std::string> notes;
  std::vector<std::string> settings; // "arch CDNA3": what else the question says, for the certificate
  /// For the certificate: the digits, least significant first, into which a subject's index falls; `*` for one that was
  /// rounded up.
  void digits(const char* which, const Lowering& lowering);
  std::vector<std::string> hints;

private:
  std::optional<Own> lower_alone(const Parts& f, const std::function<void(Lowering&)>& configure);
  std::string certificate(const std::string& method) const;
  smt::Result solve(const smt::Query& query, std::uint64_t steps);
  void require_extents();
  /// Is the formula at least 1 for all values? By the shape of the formula, else by a solver.
  bool positive(const FormulaRef& f);
  [[nodiscard]] bool surely_positive(const FormulaRef& f) const;
  /// The user's symbols at values that satisfy the conditions; nullopt: none was found. Contradiction when there are none.
  std::optional<naive::Environment> example();
  [[nodiscard]] std::string conditions_text() const;

  bool choices_ = false;
  std::function<Check(const naive::Environment&)> check_; // of by_instances, when it was left undecided
  std::string property_;
  std::vector<const Parts*> subjects_;
  std::vector<FormulaRef> terms_;
  std::vector<std::string> term_texts_;
  Facts facts_;
  std::vector<std::pair<FormulaRef, std::string>>
      doubtful_;                              // extents not known to be positive, with their subject
  std::optional<naive::Environment> example_; // for the certificate
  std::vector<std::string> obligations_;
  std::string open_query_;
  std::uint64_t spent_ = 0; // steps of queries that nobody answered
};

/// The function as one formula of the given coordinates (one per top-level mode), whatever form it was given
/// in.
[[nodiscard]] FormulaRef expand(const Parts& f, const std::vector<FormulaRef>& coordinates);
/// The same as a formula of the running index.
[[nodiscard]] FormulaRef expand_index(const Parts& f, const FormulaRef& index);
/// The extents of the top-level coordinates as formulas, and their product.
[[nodiscard]] std::vector<FormulaRef> extent_formulas(const Parts& f);
[[nodiscard]] FormulaRef size_formula(const Parts& f);

} // namespace inlay::solver
