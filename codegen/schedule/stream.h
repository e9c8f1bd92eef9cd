/// What a loop's results become and where they go, in portions. Private.
///
///     r = round(c)  for all of a wave's 256 results, then 32 stores       the first store waits for 400 instructions
///     r = round(c)  for 8 of them, a store, round the next 8, ..          stores are under way beside the arithmetic of those after them
///
/// A portion is one store, because memory takes longer for C than waves for its arithmetic: what counts is when the first store begins,
/// and that none comes late (an i8 launch of 112x256 in fours: 490 clocks more). Of two versions of the stores it is four, because
/// each portion is a branch (i8 128x128 in ones: 540 clocks more).
///
/// Reorders runs of pure instructions and stores: stores keep their order among those of one version (Inst::when), an instruction stands
/// before its first use. Two versions of a portion stand one after another, so that each portion is a branch of its own.
#pragma once

#include <inlay/codegen/code.h>

namespace inlay::codegen {

/// `list`: of a region of `code` that is no loop, without waits and barriers. Ensures: the same instructions, each after what it uses.
[[nodiscard]] std::vector<Inst> streamed(std::vector<Inst> list, const Code& code);

} // namespace inlay::codegen
