/// `choose_table`: forms of a kernel for ranges of sizes that are known when it is launched, and which of them is for which.
///
///     const auto kernel = find_kernel("gemm");
///     FormTable t = choose_table(*kernel, {{"dtype", "bf16"}, {"n", "4096"}, {"k", "4096"}}, {{"m", 1, 16384}}, {});
///     t.rows[0].least, t.rows[0].most, t.forms[t.rows[0].form]          // m 1 to 16: tile=16x64x64 ..
///
/// `choose` is asked at the points of a grid, powers of two first and then what lies between them, with the last size of each range; the
/// form that is chosen at a point is for the sizes after the point before it. Forms are then taken away, the one that costs least
/// first, until there are `most` and none that costs no size more than `small`: the points of one that goes take a form of a neighbour, by the clocks of the same model.
/// Of one range the grid is then made finer where by the bounds a form that stays is better between two points than the one of the second. What comes out is
/// a function of the flags and of the library, as a choice is.
#pragma once

#include <inlay/kernels/choose.h>

namespace inlay::kernels {

/// Multiples of `multiple` from `least` to `most` of a size that an option names.
struct SizeRange {
  std::string name;
  std::int64_t least = 1, most = 1, multiple = 1;
};

struct TableOptions {
  std::size_t most = 32; ///< forms that are kept
  double small =
      0.01; ///< what no size may lose more of, as a share, by a form that goes though there is room
  double better =
      0.01; ///< `auto` is asked between two points where, by the bounds, another form is better by more than this share
  std::size_t points = 32;  ///< of the grid, at most, but for the last size of each range
  std::vector<Flags> forms; ///< to choose from in place of all that the kernel has
  ChooseOptions choose;
  /// Hears how many of about how many things are done, and which.
  std::function<void(std::size_t done, std::size_t of, const std::string& what)> progress = {};
};

struct FormTable {
  struct Row {
    std::vector<std::int64_t> least, most; ///< one a range; both are in the row
    std::size_t form = 0;
    double clocks = 0; ///< modelled, with the last sizes of the row
    double best = 0;   ///< of the form that was chosen for these alone
  };
  /// A point of the grid: what it takes with the table, and what with its own choice.
  struct Point {
    std::vector<std::int64_t> sizes;
    std::size_t form = 0;
    double clocks = 0, best = 0;
  };
  std::vector<Flags> forms; ///< the options that were chosen, of each
  std::vector<Row> rows;    ///< cover the ranges once
  std::vector<Point> points;
  std::size_t chosen = 0;            ///< different forms before any was taken away
  std::vector<std::string> left_out; ///< forms that cannot be, and why
};

/// Why a form cannot be for the sizes from `least` to `most` of the ranges; empty: it can.
using Takes = std::function<std::string(const Flags& options, const std::vector<std::int64_t>& least,
                                        const std::vector<std::int64_t>& most)>;

/// `asked`: flags without the ranges' sizes. A form that `takes` refuses for a row of its own is no form of the table.
/// Errors: std::invalid_argument for flags that the kernel refuses, for a range that has no size, and where no form is left for some sizes.
[[nodiscard]] FormTable choose_table(const Kernel& kernel, const Flags& asked,
                                     const std::vector<SizeRange>& ranges, const TableOptions& options,
                                     const Takes& takes = {});

/// The points along one range: the last size, and as many of the steps as `level` says; each is a multiple. Level 0: the last size alone;
/// 1: also powers of 16; 2: of 4; 3: of 2; 4: and halfway between these; 5: quarters.
[[nodiscard]] std::vector<std::int64_t> grid_points(const SizeRange& range, int level);

} // namespace inlay::kernels
