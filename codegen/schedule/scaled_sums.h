/// Loops whose products are scaled before they are added up: c += s * p, where p is a short sum of products. Private.
///
/// The results p of four matrix tiles are made at a time, so that each step of one of them has three others after it; they are
/// added, scaled, while the next four are made, after the wait states that a matrix result asks for. So the last ones of an iteration are added in
/// the trip that follows:
///
///     products, sums    an iteration's products in one trip, one trip ahead; sums after them, the last ones not ahead
///     LDS reads         over the trip before the products, by first use
///     transfers         two trips before the reads, evenly: `ring` stages are enough for that, and one wait a trip leaves a trip's loads under way
///     operands          from memory past LDS: two trips before the products
///     scales            `ring` trips before what takes them, and no longer, so that `ring` copies of the trip are enough
///
/// A gap between two products has one memory instruction, or as many as the trip asks for, with the sums between them.
#pragma once

#include <inlay/codegen/schedule.h>

namespace inlay::codegen {

/// Which operands of a map are what, in c = c + s * p of f32.
struct ScaledSum {
  int product = 0, scale = 0;
};
[[nodiscard]] std::optional<ScaledSum> scaled_sum(const Inst& inst, const std::vector<Register>& registers);
/// a * b of f32, one element.
[[nodiscard]] bool multiplies(const Inst& inst, const std::vector<Register>& registers);
/// Whether a loop has such sums.
[[nodiscard]] bool with_arithmetic(const std::vector<Inst>& body);

/// Nothing when the loop is not of this kind. Edges are for the caller to look at.
[[nodiscard]] std::optional<LoopSchedule>
scaled_sums(const Region& loop, const std::vector<Register>& registers, const Program& program);

} // namespace inlay::codegen
