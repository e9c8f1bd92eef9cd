/// Kernels against their specification: run on the emulator, and refused by a claim.
#pragma once

#include "../undecided.h"

#include <inlay/codegen/provenance.h>
#include <inlay/codegen/schedule.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/evaluate.h>
#include <inlay/kernels/launch.h>
#include <inlay/runtime/emulator.h>
#include <inlay/solver/prover.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

namespace specified {

using namespace inlay;
using namespace inlay::codegen;

/// The first claim that fails, or "".
inline std::string refuted(const Code& code) {
  solver::SolverProver prover;
  const Derivation d = derive(code, prover);
  const DerivedClaim* c = d.refuted();
  return c ? c->claim + " | " + c->counterexample : "";
}
inline Code code_of(const Program& p) {
  const Graph graph = expand(p);
  return apply(graph, default_schedule(graph));
}
inline std::string refuted(const Program& p) { return refuted(code_of(p)); }

using ::Undecided;

/// A kernel of floats and of i32 tables: proved, built and, where the test asks for it, validated once for all sizes.
class Built {
public:
  explicit Built(Program program) : program_(std::move(program)), artifact_(kernels::build(program_)) {}

  /// Runs it and compares its first output, f32, with the specification. A table of one entry holds `number`, a longer one n - 1, ..., 0.
  /// `hostile`: also with all sanitizers, under hostile schedules: the same bits, or a finding is thrown.
  void check(const std::vector<std::int64_t>& sizes, int number = 0, bool hostile = false) const;

private:
  Program program_;
  kernels::Artifact artifact_;
};

inline void Built::check(const std::vector<std::int64_t>& sizes, int number, bool hostile) const {
  kernels::EvaluationInput input{sizes, {}};
  std::vector<kernels::Bytes> buffers;
  for (const Tensor& t : program_.tensors()) {
    if (t.space != Space::global) continue;
    std::int64_t n = 1;
    for (const std::int64_t e : kernels::extents_of(program_, t, sizes)) n *= e;
    std::vector<double> values;
    for (std::int64_t i = 0; i < n; ++i)
      values.push_back(t.output ? 99 : static_cast<double>((i * 37 + t.id) % 41 - 20) / 8);
    if (t.element == Element::i32)
      for (std::int64_t i = 0; i < n; ++i)
        values[static_cast<std::size_t>(i)] = t.output ? 0 : static_cast<double>(n == 1 ? number : n - 1 - i);
    kernels::Bytes& bytes = buffers.emplace_back();
    for (const double v : values)
      for (int b = 0; b < bits(t.element) / 8; ++b)
        bytes.push_back(static_cast<std::byte>(encode(t.element, v) >> (8 * b)));
    if (!t.output) input.tensors[t.id] = std::move(values);
  }
  const Tensor& first = *std::find_if(program_.tensors().begin(), program_.tensors().end(),
                                      [](const Tensor& t) { return t.space == Space::global && t.output; });
  for (const auto& other : program_.specifications()) // what its own may be made of
    if (other.tensor != first.id) input.tensors[other.tensor] = kernels::evaluate(program_, other, input);
  const std::vector<double> wanted = kernels::evaluate(program_, *program_.specification(first), input);
  const auto device = kernels::open_device("emulator", artifact_.arch);
  runtime::EmulatorOptions& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  // Under hostile schedules the sanitizers of order are off: once without.
  if (hostile) options.checks = runtime::Checks::all();
  const kernels::Bytes after = kernels::run(*device, artifact_, buffers, sizes)[0];
  if (hostile) {
    options.stress = true;
    for (const std::uint64_t seed : {1, 2}) {
      options.seed = seed;
      REQUIRE(kernels::run(*device, artifact_, buffers, sizes)[0] == after);
    }
  }
  REQUIRE(after.size() == 4 * wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::uint64_t code = 0;
    for (std::size_t b = 0; b < 4; ++b) code |= std::to_integer<std::uint64_t>(after[4 * i + b]) << (8 * b);
    INFO("element " << i);
    REQUIRE(decode(Element::f32, code) == Approx(wanted[i]).epsilon(1e-5).margin(1e-5));
  }
}

inline void check(Program program, const std::vector<std::int64_t>& sizes, int number = 0,
                  bool hostile = false) {
  Built(std::move(program)).check(sizes, number, hostile);
}

} // namespace specified
