/// A kernel as one page: its options, its program, and a reference formula. Buffers, data, the launch and the judge follow from the
/// program (problem.h).
///
///     struct Asked { std::string arch{codegen::usual_target}; std::int64_t n = 1000; };
///     return page_of<Asked>({.summary = "y[i] = 2 x[i]",
///                            .options = {"double", {...}},
///                            .program = [](const Asked& a) { ... return k; },
///                            .sizes = members(&Asked::n),
///                            .size_names = {"n"},
///                            .reference = [](const Asked&, const Workload& w, const Results&) {
///                              std::vector<double> y = w.values("x"), bound(y.size());
///                              for (double& v : y) v *= 2;
///                              return std::vector<Judged>{{"y", y, bound, "0"}};
///                            }});
///
/// A reference is written out in double, without the program's specification: what it judges includes that.
#pragma once

#include "kernels.h"
#include "options.h"
#include "problem.h"
#include "program_names.h"

#include <inlay/kernels/build.h>

#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace inlay::kernels {

/// Where the n-th value is in a vector.
[[nodiscard]] inline std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

/// The next number from 0 to n - 1.
[[nodiscard]] inline std::int64_t below(std::mt19937_64& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

/// What a kernel that moves or sums up vectors is asked for, beside its sizes.
struct VectorsAsked {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  int vector = 0; ///< elements that one instruction moves; 0: 16 bytes
  [[nodiscard]] int vector_length() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
};
/// Errors: std::invalid_argument for vectors that no instruction moves.
void check_vectors(const Refusal& refuse, const VectorsAsked& s);

/// What an output should be, and how far from it each element may be.
struct Judged {
  std::string output;
  std::vector<double> value, bound;
  std::string formula; ///< of the bound
};

/// Of data that is only moved, or of whole numbers.
[[nodiscard]] Judged exactly(const std::string& output, std::vector<double> value);

/// What the launch left in an output: a scale, say, by which the elements beside it are judged.
using Results = std::function<std::vector<double>(const std::string& output)>;

template <class Asked>
struct Page {
  std::string summary;
  Options<Asked> options;
  std::function<codegen::Program(const Asked&)> program;
  std::function<std::vector<std::int64_t>(const Asked&)> sizes;
  std::vector<std::string> size_names = {};
  /// Values of the inputs; in [-1, 1) where nothing is said.
  std::function<void(const Asked&, Workload&, std::uint64_t seed)> data = {};
  std::function<std::vector<Judged>(const Asked&, const Workload&, const Results&)> reference = {};
  /// `y[m,n] = ...`, with the numbers.
  std::function<std::string(const Asked&)> text = {};
  std::function<std::vector<Flags>(const Asked&, const Flags& fixed)> candidates = {};
  std::function<double(const Asked&)> bound = {};
  /// Of several devices that run the program together: what is asked of that one.
  std::function<void(Asked&, int rank)> on_device = {};
};

/// `Page::sizes` that are what is asked: members(&Asked::n, &Asked::k).
template <class... Of>
[[nodiscard]] auto members(std::int64_t Of::*... of) {
  return [=](const auto& asked) { return std::vector<std::int64_t>{(asked.*of)...}; };
}

/// 2^-24, by which f32 rounds.
inline const double u32 = std::ldexp(1, -24);

/// Half a unit in the last place of the result, or of the type's smallest numbers.
[[nodiscard]] double rounding(Element type, double value);

/// Random values for all inputs that have none yet; tables of i32 are the kernel's to set.
void random_inputs(Workload& w, std::uint64_t seed, double scale = 1);

[[nodiscard]] std::shared_ptr<Workload> workload(codegen::Program program, std::vector<std::int64_t> sizes);
/// The launch of a workload, judged output by output by what `reference` says of each device's part.
[[nodiscard]] Problem
judged(const std::shared_ptr<Workload>& w, std::string text,
       std::function<std::vector<Judged>(const Workload&, const Results&, int rank)> reference);

template <class Asked>
[[nodiscard]] Problem problem_of(const Page<Asked>& page, const Asked& asked, std::uint64_t seed) {
  const std::shared_ptr<Workload> w = workload(page.program(asked), page.sizes(asked));
  if (page.data)
    page.data(asked, *w, seed);
  else
    random_inputs(*w, seed);
  return judged(w, page.text ? page.text(asked) : page.summary,
                [asked, reference = page.reference,
                 on_device = page.on_device](const Workload& of, const Results& results, int rank) {
                  Asked own = asked;
                  if (on_device) on_device(own, rank);
                  return reference(own, of, results);
                });
}

template <class Asked>
[[nodiscard]] std::unique_ptr<Kernel> page_of(Page<Asked> page) {
  const auto shared = std::make_shared<const Page<Asked>>(std::move(page));
  // A form that the program refuses is none.
  const auto bound = [=](const Asked& asked) {
    static_cast<void>(shared->program(asked));
    return shared->bound(asked);
  };
  return kernel_of<Asked>(
      {shared->summary, shared->options,
       [=](const Asked& asked, const BuildOptions& how) { return build(shared->program(asked), how); },
       [=](const Asked& asked, std::uint64_t seed) { return problem_of(*shared, asked, seed); },
       shared->size_names, shared->sizes, shared->candidates, bound});
}

} // namespace inlay::kernels
