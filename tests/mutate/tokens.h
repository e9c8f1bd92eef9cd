/// A second hand for provenance: `Code` run for concrete sizes by plain loops, numbers in place of terms.
///
/// Every element of every input is a random real number, so that two different elements, products or sums agree with
/// probability 0; what a register or a place of LDS holds before it is written, or while an access is under way, is NaN. The
/// waves of a workgroup are interleaved at random; accesses complete as late as waits allow, at once, or at random. What the
/// stores leave is compared with the specification, evaluated by its definition, and each element must be written once.
///
/// It shares with provenance.h the data types of the instructions and nothing else: no terms, no layouts' algebra, no prover.
#pragma once

#include <inlay/codegen/code.h>

#include <string>

namespace inlay::mutate {

/// Values of the sizes, in the order of their declaration.
using Sizes = std::vector<std::int64_t>;

/// Empty when the code computes its specification for these sizes in this schedule, else the first thing that is wrong.
[[nodiscard]] std::string run_tokens(const codegen::Code& code, const Sizes& sizes, std::uint64_t seed);

} // namespace inlay::mutate
