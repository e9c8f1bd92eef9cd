#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/render/views.h>

namespace inlay {
namespace {

constexpr int colour_steps = 8;

int step_of(std::int64_t value) {
  return static_cast<int>((value % colour_steps + colour_steps) % colour_steps);
}

IntTuple coordinate_of(TupleView<Int> shape, Int i) { return idx2crd(i, IntTuple(shape)); }

std::vector<std::string> counted(std::size_t n, std::string_view prefix = "") {
  std::vector<std::string> labels(n);
  for (std::size_t i = 0; i < n; ++i) labels[i] = std::string(prefix) + std::to_string(i);
  return labels;
}

/// How a shape lies on paper: mode 0 down, mode 1 to the right, a panel for each coordinate of the rest; a
/// lone mode is one row.
struct Sheet {
  std::size_t rows = 1, columns = 1, panels = 1;

  Sheet(std::string_view what, const IntTuple& shape) {
    // Sizes are multiplied one by one so that nothing large is formed: beyond the limit the answer is known.
    Int cells = 1;
    for (const Int& extent : shape.leaves()) {
      if (extent > Int(std::numeric_limits<std::int64_t>::max() / cells.value()))
        check_drawable(what, ~std::size_t{0}, max_picture_cells);
      cells *= extent;
    }
    check_drawable(what, static_cast<std::size_t>(cells.value()), max_picture_cells);
    const auto whole = static_cast<std::size_t>(cells.value());
    if (shape.rank() < 2) {
      columns = whole;
    } else {
      rows = static_cast<std::size_t>(size(shape.view()[0]).value());
      columns = static_cast<std::size_t>(size(shape.view()[1]).value());
      panels = whole / (rows * columns);
    }
  }
  [[nodiscard]] Int index(std::size_t panel, std::size_t row, std::size_t column) const {
    return Int(row + rows * (column + columns * panel));
  }
};

/// `(_,_,1,0)`: which part of a shape of rank 3 and more a panel shows.
std::string panel_title(const IntTuple& shape, std::size_t panel) {
  if (shape.rank() < 3) return "";
  std::string title = "(_,_";
  Int rest = Int(panel);
  for (std::size_t i = 2; i < shape.rank(); ++i) {
    const TupleView<Int> mode = shape.view()[i];
    title += "," + to_string(coordinate_of(mode, floor_mod(rest, size(mode))));
    rest = floor_div(rest, size(mode));
  }
  return title + ")";
}

[[noreturn]] void throw_outside(std::string_view what, Int value, std::string where, std::string hint) {
  throw LayoutError({"range",
                     "draw",
                     std::string(what),
                     {},
                     std::move(where),
                     {{"value", to_string(value)}},
                     std::move(hint)});
}

} // namespace

Picture function_picture(std::string title, const IntTuple& shape,
                         const std::function<DrawnValue(Int)>& value_of) {
  const Sheet sheet(title, shape);
  Picture picture{std::move(title), "", {}};
  for (std::size_t p = 0; p < sheet.panels; ++p) {
    Panel panel{panel_title(shape, p),  sheet.rows,   sheet.columns, {}, {},
                counted(sheet.columns), Palette::grey};
    if (shape.rank() >= 2) panel.row_labels = counted(sheet.rows);
    for (std::size_t row = 0; row < sheet.rows; ++row)
      for (std::size_t column = 0; column < sheet.columns; ++column) {
        const Int i = sheet.index(p, row, column);
        DrawnValue value = value_of(i);
        panel.cells.push_back({value.text,
                               value.text,
                               to_string(i),
                               to_string(coordinate_of(shape, i)),
                               step_of(value.step),
                               {},
                               ""});
      }
    picture.panels.push_back(std::move(panel));
  }
  return picture;
}

Picture layout_picture(const Layout& layout) {
  if (layout.has_basis_strides()) {
    Picture picture = function_picture(to_string(layout), layout.shape(), [&](Int i) {
      const IntTuple value = value_at(layout, i);
      Int sum = 0; // neighbours along any axis get different greys
      for (const Int& entry : value.leaves()) sum += entry;
      return DrawnValue{to_string(value), sum.value()};
    });
    picture.caption = "size " + to_string(layout.size()) + ", values are coordinates";
    return picture;
  }
  Picture picture = function_picture(to_string(layout), layout.shape(), [&](Int i) {
    const Int value = layout(i);
    return DrawnValue{to_string(value), value.value()};
  });
  picture.caption = "size " + to_string(layout.size()) + ", cosize " + to_string(layout.cosize());
  return picture;
}

Picture layout_picture(const ComposedLayout& layout) {
  if (layout.is_plain()) return layout_picture(layout.inner());
  Picture picture = function_picture(to_string(layout), layout.shape(), [&](Int i) {
    const Int value = layout(i);
    return DrawnValue{to_string(value), value.value()};
  });
  picture.caption = "size " + to_string(layout.size());
  return picture;
}

Picture thread_value_picture(const Layout& thread_value, const IntTuple& tile) {
  const std::string name = to_string(thread_value);
  if (thread_value.rank() != 2)
    throw LayoutError({"rank",
                       "draw",
                       "a thread-value layout has rank 2",
                       {{"layout", name}},
                       "rank " + std::to_string(thread_value.rank()),
                       {{"rank", std::to_string(thread_value.rank())}},
                       "mode 0 counts threads, mode 1 the values of a thread: ((4,8),2):((2,8),1)"});
  const Sheet sheet(name, tile);
  const Sheet owners(name, thread_value.shape());
  Picture picture{name, "", {}};
  for (std::size_t p = 0; p < sheet.panels; ++p) {
    Panel panel{panel_title(tile, p),   sheet.rows,     sheet.columns, {}, {},
                counted(sheet.columns), Palette::pastel};
    if (tile.rank() >= 2) panel.row_labels = counted(sheet.rows);
    for (std::size_t row = 0; row < sheet.rows; ++row)
      for (std::size_t column = 0; column < sheet.columns; ++column) {
        const Int i = sheet.index(p, row, column);
        panel.cells.push_back(
            {"", to_string(i), to_string(i), to_string(coordinate_of(tile, i)), -1, {}, ""});
      }
    picture.panels.push_back(std::move(panel));
  }

  const std::size_t cells_a_panel = sheet.rows * sheet.columns;
  std::size_t held = 0;
  for (std::size_t thread = 0; thread < owners.rows; ++thread)
    for (std::size_t value = 0; value < owners.columns; ++value) {
      const Int element = thread_value(owners.index(0, thread, value));
      if (element < 0 || element >= Int(sheet.panels * cells_a_panel))
        throw_outside("a thread holds an element outside the tile", element,
                      "thread " + std::to_string(thread) + ", value " + std::to_string(value) + " of " +
                          name + " is element " + to_string(element) + " of a tile " + to_string(tile) +
                          " of " + std::to_string(sheet.panels * cells_a_panel) + " elements",
                      "a tile of at least " + to_string(thread_value.cosize()) + " elements");
      const auto at = static_cast<std::size_t>(element.value());
      Panel& panel = picture.panels[at / cells_a_panel];
      Cell& cell = panel.cells[at % sheet.rows * sheet.columns + at / sheet.rows % sheet.columns];
      const std::string owner = "T" + std::to_string(thread) + "V" + std::to_string(value);
      if (cell.threads.empty()) {
        cell.label = cell.note = owner;
        cell.colour = step_of(static_cast<std::int64_t>(thread));
        ++held;
      } else {
        cell.note += " " + owner;
        const auto plus = cell.label.find('+');
        const int others = plus == std::string::npos ? 0 : std::stoi(cell.label.substr(plus + 1));
        cell.label = cell.label.substr(0, plus) + "+" + std::to_string(others + 1);
      }
      if (cell.threads.empty() || cell.threads.back() != thread)
        cell.threads.push_back(static_cast<unsigned>(thread));
    }
  picture.caption = std::to_string(owners.rows) + " threads of " + std::to_string(owners.columns) +
                    " values on a tile " + to_string(tile) + ", " + std::to_string(held) + " of " +
                    std::to_string(sheet.panels * cells_a_panel) + " elements held";
  return picture;
}

Picture transposed(Picture picture) {
  for (Panel& panel : picture.panels) {
    Panel t = panel;
    std::swap(t.rows, t.columns);
    std::swap(t.row_labels, t.column_labels);
    for (std::size_t row = 0; row < panel.rows; ++row)
      for (std::size_t column = 0; column < panel.columns; ++column)
        t.cells[column * panel.rows + row] = panel.at(row, column);
    panel = std::move(t);
  }
  return picture;
}

void outline(Picture& picture, const std::function<int(Int)>& tile_of) {
  for (Panel& panel : picture.panels)
    for (Cell& cell : panel.cells) cell.group = tile_of(Int(std::stoll(cell.index)));
}

std::vector<Picture> mfma_pictures(const std::string& name, const MfmaOperands& operands) {
  std::vector<Picture> pictures{thread_value_picture(operands.a, operands.a_tile),
                                transposed(thread_value_picture(operands.b, operands.b_tile)),
                                thread_value_picture(operands.c, operands.c_tile)};
  const char* const names[] = {"A, rows m, columns k", "B, rows k, columns n", "C and D, rows m, columns n"};
  const std::pair<std::size_t, std::size_t> places[] = {{1, 0}, {0, 1}, {1, 1}};
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    pictures[i].title = "mfma " + name + " " + names[i] + "   " + pictures[i].title;
    pictures[i].place = places[i];
  }
  return pictures;
}

} // namespace inlay
