/// A kernel as one page: its options, its program, and a reference formula. Buffers, data, the launch and the judge follow from the
/// program (problem.h).
///
///     struct Asked { std::string arch{codegen::usual_target}; std::int64_t n = 1000; };
///     return page_of<Asked>({.summary = "y[i] = 2 x[i]",
///                            .options = {"double", {...}},
///                            .program = [](const Asked& a) { ... return k; },
///                            .sizes = [](const Asked& a) { return std::vector{a.n}; },
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

namespace inlay::kernels {

/// What an output should be, and how far from it each element may be.
struct Judged {
  std::string output;
  std::vector<double> value, bound;
  std::string formula; ///< of the bound
};

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

/// 2^-24, by which f32 rounds.
inline const double u32 = std::ldexp(1, -24);

/// Half a unit in the last place of the result, or of the type's smallest numbers.
[[nodiscard]] inline double rounding(Element type, double value) {
  return codegen::is_integer(type)
             ? 0.5
             : std::max(unit_roundoff(type) * std::abs(value), codegen::smallest_positive(type) / 2);
}

/// Random values for all inputs that have none yet; tables of i32 are the kernel's to set.
inline void random_inputs(Workload& w, std::uint64_t seed, double scale = 1) {
  for (const codegen::Tensor& t : w.program().tensors())
    if (t.space == codegen::Space::global && (!t.output || t.in_place) && t.element != Element::i32)
      w.random(t.name, ++seed, scale);
}

template <class Asked>
[[nodiscard]] Problem problem_of(const Page<Asked>& page, const Asked& asked, std::uint64_t seed) {
  const auto w = std::make_shared<Workload>(page.program(asked), page.sizes(asked));
  if (page.data)
    page.data(asked, *w, seed);
  else
    random_inputs(*w, seed);
  Problem problem = w->problem();
  problem.text = page.text ? page.text(asked) : page.summary;
  problem.check = [w, asked, reference = page.reference,
                   on_device = page.on_device](std::span<const Bytes> buffers) {
    const int devices = std::max(1, w->program().together().count); // one after the other
    const std::size_t each = buffers.size() / static_cast<std::size_t>(devices);
    std::optional<Check> all;
    for (int rank = 0; rank < devices; ++rank) {
      Asked own = asked;
      if (on_device) on_device(own, rank);
      const auto result = [&](const std::string& output) {
        return w->result(output, buffers.subspan(static_cast<std::size_t>(rank) * each, each));
      };
      for (const Judged& j : reference(own, *w, result)) {
        Check one = compare(result(j.output), j.value, j.bound,
                            std::max<std::int64_t>(1, w->extents(j.output).back()), j.formula);
        const std::string of = devices > 1 ? j.output + " of device " + std::to_string(rank) : j.output;
        if (!one.ok) one.message = of + ": " + one.message;
        all = all ? both(*all, one) : one;
      }
    }
    return *all;
  };
  return problem;
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
