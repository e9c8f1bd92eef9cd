/// What a loop's results become and where they go, in portions. Private.
///
///     r = round(c)  for all of a wave's 256 results, then 32 stores       the first store waits for 400 instructions
///     r = round(c)  for 32 of them, 4 stores, round the next 32, ..       stores are under way beside the arithmetic of those behind them
///
/// Reorders runs of pure instructions and stores: stores keep their order among those of one version (Inst::when), an instruction stands
/// before its first use. Two versions of a portion stand behind one another, so that each portion is a branch of its own.
#pragma once

#include <inlay/codegen/code.h>

namespace inlay::codegen {

/// `list`: of a region of `code` that is no loop, without waits and barriers. Ensures: the same instructions, each behind what it uses.
[[nodiscard]] std::vector<Inst> streamed(std::vector<Inst> list, const Code& code);

} // namespace inlay::codegen
