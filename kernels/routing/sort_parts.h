/// What the programs of a sort by counting have in common. Private.
#pragma once

#include "../program_names.h"
#include "sort.h"

#include <inlay/algebra/parse.h>

#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {

/// Errors: std::invalid_argument naming the option.
inline void check_sort(const MoeSort& s) {
  if (s.block < 16 || s.block > 256 || !std::has_single_bit(static_cast<unsigned>(s.block)))
    Refusal{"moe_sort"}(fmt::format("--block {}", s.block), "16, 32, 64, 128 or 256 rows");
}

/// Rows of `values` columns a work-item: 16 rows and 4 parts of the columns a wave; the rows alone, and the columns alone.
struct Square {
  Layout all, rows, columns;
  Square(int waves, int values) {
    const auto layout = [&](const char* row, const char* wave, int step, const char* value) {
      return parse_layout(fmt::format("((16,4,{}),{}):(({},{},{}),{})", waves, values, row,
                                      step == 0 ? "0" : fmt::format("{}@1", step), wave, value));
    };
    all = layout("1@0", "16@0", values, "1@1");
    columns = layout("0", "0", values, "1@1");
    rows = parse_layout(fmt::format("((16,4,{}),1):((1@0,0,16@0),0)", waves));
  }
};

[[nodiscard]] inline Expr one_if_equal(Program& k, Expr a, Expr b) {
  return choose(equal(integer(a), integer(b)), k.constant(1), k.constant(0));
}

} // namespace inlay::kernels
