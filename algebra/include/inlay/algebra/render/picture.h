/// `Picture`: what a drawing of a layout says, before anything decides how it looks.
///
/// A layout of rank 2 is a matrix: mode 0 runs down, mode 1 runs right, and the cell at (i, j) shows L((i,
/// j)). That is one `Panel`. A layout of rank 1 is one row; each coordinate of the modes beyond the second
/// gives a panel of its own. A cell knows its three faces, the *value* L(i), the colexicographic *index* i
/// and the *coordinate*, so that a page can switch between them; in drawings of thread-value layouts it knows
/// its threads as well.
///
///     views.h      layouts, operations, thread-value layouts, MFMA operands, LDS banks   ->  Picture
///     text.h  svg.h  latex.h  html.h  json.h                                  Picture  ->  std::string
///
/// Renderers return strings and never print. Colours follow what readers of CuTe's `print_latex` are used to:
/// eight steps of grey by value mod 8, eight pastels by thread mod 8.
///
/// A drawing with more cells than anybody can read is refused (`LayoutError`, code `limit`): 16,384 cells,
/// which is a 128x128 tile, and 4,096 in LaTeX, whose memory ends soon after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {

/// What the colour step of a cell means.
enum class Palette : std::uint8_t {
  grey,   ///< step = value mod 8
  pastel, ///< step = thread mod 8
  load,   ///< step = how many different words a bank must deliver: 0 idle, 1 at full speed, 2 and more in
          ///< conflict
};

/// One square of a drawing.
struct Cell {
  std::string label;      ///< what the square shows: `26`, `T3V1`, or nothing
  std::string value;      ///< L(i)
  std::string index;      ///< i
  std::string coordinate; ///< `((1,0),2)`
  int colour = -1;        ///< step 0..7 of the palette; -1 is blank
  std::vector<unsigned>
      threads;      ///< who holds it, in ascending order; more than one where data are replicated
  std::string note; ///< a sentence more than fits, shown on hover
  int group = -1;   ///< cells of one group have a line around them: a tile; -1: none
};

/// One matrix of cells, rows first: `cells[row * columns + column]`.
struct Panel {
  std::string title;
  std::size_t rows = 0, columns = 0;
  std::vector<Cell> cells;
  std::vector<std::string> row_labels, column_labels;
  Palette palette = Palette::grey;

  [[nodiscard]] const Cell& at(std::size_t row, std::size_t column) const {
    return cells[row * columns + column];
  }
};

/// A titled group of panels: one layout, one operand, one memory access.
struct Picture {
  std::string title;   ///< `((2,2),3):((24,2),8)`
  std::string caption; ///< `size 12, cosize 43`
  std::vector<Panel> panels;
  /// Where it stands among the others, row and column of a table, as A beside C and B above it; without: one beside the other.
  std::optional<std::pair<std::size_t, std::size_t>> place = {};
};

inline constexpr std::size_t max_picture_cells = 16384;
inline constexpr std::size_t max_latex_cells = 4096;

/// All cells of all panels.
[[nodiscard]] std::size_t cell_count(const std::vector<Picture>& pictures);

/// Refuses drawings beyond `limit`: `drawing 1,048,576 cells`, with what to draw instead. Errors: `limit`.
void check_drawable(std::string_view what, std::size_t cells, std::size_t limit);

} // namespace inlay
