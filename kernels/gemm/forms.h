/// The forms of a GEMM for given sizes, by clocks that follow from its bounds.
#pragma once

#include <inlay/codegen/target.h>
#include <inlay/kernels/gemm/spec.h>

namespace inlay::kernels {

/// What a specification says of itself before it is a program.
struct GemmFacts {
  int products = 0; ///< clocks of its matrix pipe that a wave's products of a trip take
  int stages = 0;   ///< of tiles in LDS
  /// A load takes half lines of memory, and the address unit twice the time for its bytes.
  bool half_lines = false;
};
/// Errors: std::invalid_argument, as gemm_program.
[[nodiscard]] GemmFacts gemm_facts(const GemmSpec& spec);

/// Clocks of a launch by the bounds of its parts: products, LDS, address unit, L2, MALL, HBM and latency of a trip, what
/// surrounds the loop, and whole rounds of tiles over the units. Meant to rank forms, not to be right: what ranks first is modelled.
[[nodiscard]] double gemm_bound(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k);

/// The order of tiles in which the units that run at a time ask for the fewest lines, the simplest of those that are about equal.
[[nodiscard]] codegen::TileOrder gemm_order(const GemmSpec& spec, std::int64_t m, std::int64_t n);

/// All values of the options that change only speed which are worth a thought for these sizes, those of `fixed` being given; the
/// program may refuse some. A tile's rows and columns, a trip's bytes of K, waves, transfers, ping-pong, parts of K.
[[nodiscard]] std::vector<Flags> gemm_candidates(const GemmSpec& spec, const Flags& fixed, std::int64_t m,
                                                 std::int64_t n, std::int64_t k);

} // namespace inlay::kernels
