/// Loops with arithmetic between or after their products. Private.
///
/// Products stand at even distances over the trip, in as many places as there are; everything else goes where issue is free
/// between them, each instruction with its own number of trips ahead. So the arithmetic of one iteration stands among the
/// products of another: a softmax between two products runs beside the first product of the next tile and the second one
/// of its own. Time is counted in slots of four clocks, from the start of the trip in which the first product of an
/// iteration stands; a trip is `length` of them.
///
///     products, arithmetic   as early as their operands, in the order of the program
///     LDS reads, loads       as late as their first use allows: latency before it
///     LDS writes             evenly over the trip before the reads, with the barrier between
///     maps of loads to LDS   as long before their write as they take twice, all of one in one trip (weights that become numbers)
///
/// What lives across trips is changed by the last trip but one at the latest, so that no iteration past the end reaches it.
#pragma once

#include <inlay/codegen/schedule.h>

namespace inlay::codegen {

/// Nothing when the loop is not of this kind: a tile in LDS that the trip itself computes, a store, one stage. Edges are for the
/// caller to look at.
[[nodiscard]] std::optional<LoopSchedule>
interleaved(const Region& loop, const std::vector<Register>& registers, const Program& program);

} // namespace inlay::codegen
