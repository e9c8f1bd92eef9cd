/// Where the tile of latent attention lies in LDS. Private.
#pragma once

#include "../places.h"

#include <inlay/algebra/parse.h>

#include <fmt/format.h>

namespace inlay::kernels {

/// Rows in the order in which keys are multiplied, 2 lines of 128 bytes each, and then those of the next columns. What the swizzle
/// exchanges, vectors of a line and the two lines, it exchanges by the low bits of a row's place; these are the bits of the row in which
/// those differ that one phase reads: lanes 0 to 3 of a row and 4 to 7 of one a lane group later, or 4 rows of one vector and 4 of the
/// next, with 32 banks; twice as many with 64.
[[nodiscard]] inline SymLayout place_of_tile(Program& k, int rows, bool banks_64) {
  return parse_sym_layout(k.symbols(),
                          fmt::format("((2,2,{}2,2),(64,2,5)):(({}),(1,64,{}))", rows == 32 ? "2," : "",
                                      banks_64     ? "1024,128,2048,256,512"
                                      : rows == 32 ? "256,512,2048,1024,128"
                                                   : "256,512,1024,128",
                                      128 * rows));
}

} // namespace inlay::kernels
