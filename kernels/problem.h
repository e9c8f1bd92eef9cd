/// Problems from programs: seeded data for the inputs, and the specification itself, evaluated in double, as the judge.
#pragma once

#include "data.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/evaluate.h>

#include <memory>

namespace inlay::kernels {

/// Values of all tensors of a program for given sizes, as numbers and as the bytes that a launch gets.
///
///     auto w = std::make_shared<Workload>(gemm_program(spec), {m, n, k});
///     w->random("a", 1), w->random("b", 2);
///     w->reference("c");                        // C(m,n) by the specification
///     w->reference("c", {"a", "b"});            // the same with |A| and |B|: what error bounds are made of
class Workload {
public:
  Workload(codegen::Program program, std::vector<std::int64_t> sizes);
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  [[nodiscard]] codegen::Program& program() { return program_; }
  [[nodiscard]] const codegen::Tensor& tensor(const std::string& name) const;
  [[nodiscard]] std::vector<std::int64_t> extents(const std::string& name) const;
  /// References ask for elements one by one, `w.values("x")[i]`: for a literal the search is a comparison or two of words.
  [[nodiscard]] const std::vector<double>& values(std::string_view name) const {
    for (const auto& [of, values] : given_)
      if (of == name) return *values;
    return nothing_for(std::string(name));
  }
  /// Rounds to the tensor's element. Requires: as many values as it has elements, row-major over coordinates.
  void set(const std::string& name, std::vector<double> values);
  /// Uniform in [-scale, scale) from the seed, or in (0, scale].
  void random(const std::string& name, std::uint64_t seed, double scale = 1, bool positive = false);

  /// What the specification says an output is, or another expression over the same coordinates; the tensors in `absolute`
  /// are taken by their absolute values.
  [[nodiscard]] std::vector<double> reference(const std::string& output,
                                              const std::vector<std::string>& absolute = {},
                                              codegen::Expr other = {}) const;

  /// The values of an output in what a launch left.
  [[nodiscard]] std::vector<double> result(const std::string& output, std::span<const Bytes> buffers) const;
  /// The launch with its buffers: inputs where their `place` has them, outputs poisoned (0 where rows are added to them, and counters of workgroups), in
  /// argument order. What it computes and how that is judged is the kernel's to say.
  [[nodiscard]] Problem problem() const;

private:
  /// Throws: std::invalid_argument for no tensor, std::out_of_range for one without values.
  const std::vector<double>& nothing_for(const std::string& name) const;
  /// Rows that a table names and a store replaces (`Program::puts`). Errors: std::invalid_argument for two entries of one row.
  void check_names_once(const codegen::Program::Specification& spec) const;

  codegen::Program program_;
  std::vector<std::int64_t> sizes_;
  LaunchPlan plan_;
  EvaluationInput input_;
  std::vector<std::pair<std::string, const std::vector<double>*>> given_; ///< those of input_, by name
};

/// Problems of one program in one launch (codegen::Program::problems): `each` of the program without them, nothing of one that has no
/// elements, and the values of the own sizes in their order.
[[nodiscard]] Problem together(const codegen::Program& program, const std::vector<std::int64_t>& sizes,
                               std::vector<Problem> each, const std::vector<std::vector<std::int64_t>>& own);

/// `result` against `reference` within `bound`, element by element, as rows of the last extent.
[[nodiscard]] Check compare(const std::vector<double>& result, const std::vector<double>& reference,
                            const std::vector<double>& bound, std::int64_t last, const std::string& formula);

} // namespace inlay::kernels
