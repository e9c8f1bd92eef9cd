/// Ping-pong of two halves of the waves: the phases of a trip, and their barriers and waits. Private.
///
/// A trip has four pairs of phases, one for each quarter of the wave's results: half of its rows by half of its columns, so that one half
/// changes at a time. `x` is the side of the products with more to read, `y` the other one:
///
///     pair          0       1       2       3
///     products   x0 y0   x0 y1   x1 y1   x1 y0
///     reads        y1      x1      x0'     y0'        ' of the next tile: no pair reads two halves
///     transfers   y''              y''     x''        of the next tile but one, two stages: what a stage's last reads leave open
///
/// What a pair reads is multiplied in the next one or after it, so no wave ever waits for LDS. Reads of pair q have been waited for
/// before the products of pair q + 1, hence a stage is free two pairs after its last read; what goes there is under way for two pairs
/// or more until it is waited for, one pair before its tile's first read. The accesses of pair 0 stand at the end of the trip before:
/// a trip begins with products.
///
/// Sources: Triton, third_party/amd/lib/TritonAMDGPUTransforms/BlockPingpong.cpp (memory and dot clusters of two waves a SIMD, one
/// conditional barrier before and one after the loop, s_setprio around the products); HipKittens, arXiv:2511.08083 (8 waves).
#pragma once

#include <inlay/codegen/code.h>

#include <vector>

namespace inlay::codegen {

/// Errors: CodegenError for a loop that has no such phases, or whose registers do not fit.
[[nodiscard]] LoopSchedule pingpong(const Region& loop, const std::vector<Register>& registers,
                                    const Program& program);

/// Barriers, priorities and waits of a loop of phases, which has none; its prologue, in step, included. A wait stands before the barrier
/// that hands on what it is for, or that begins the phase which wants it; there are no others than those needed.
/// Requires: transfers and reads are all that touches LDS.
void place_phases(CodeRegion& loop, const std::vector<Register>& registers, int waves);

} // namespace inlay::codegen
