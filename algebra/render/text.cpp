#include "colours.h"

#include <inlay/algebra/render/text.h>

namespace inlay {
namespace {

std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string without_trailing_space(std::string line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

void append_panel(std::string& out, const Panel& panel, TextColour colour) {
  if (!panel.title.empty()) out += "  " + panel.title + "\n";
  const std::size_t width = detail::widest_label(panel, 1);
  std::size_t margin = 0;
  for (const std::string& label : panel.row_labels) margin = std::max(margin, label.size());

  std::string header = std::string(margin + 5, ' ');
  for (const std::string& label : panel.column_labels) header += right(label, width + 1);
  out += without_trailing_space(header) + "\n" + std::string(margin + 4, ' ') + "+" +
         std::string(panel.columns * (width + 1), '-') + "\n";
  for (std::size_t row = 0; row < panel.rows; ++row) {
    std::string line = "  " + right(panel.row_labels.empty() ? "" : panel.row_labels[row], margin + 1) + " |";
    for (std::size_t column = 0; column < panel.columns; ++column) {
      const Cell& cell = panel.at(row, column);
      const std::string label = right(cell.label.empty() && cell.colour < 0 ? "." : cell.label, width + 1);
      if (colour == TextColour::off || cell.colour < 0) {
        line += label;
        continue;
      }
      const detail::Colour& c = detail::colour_of(panel.palette, cell.colour);
      line += "\x1b[38;5;" + std::string(detail::is_dark(c) ? "231" : "16") + ";48;5;" +
              std::to_string(c.xterm) + "m" + label + "\x1b[0m";
    }
    out += without_trailing_space(line) + "\n";
  }
}

} // namespace

std::string render_text(const std::vector<Picture>& pictures, TextColour colour) {
  check_drawable("as text", cell_count(pictures), max_picture_cells);
  std::string out;
  for (const Picture& picture : pictures) {
    if (!out.empty()) out += "\n";
    out += picture.title + (picture.caption.empty() ? "" : "   " + picture.caption) + "\n";
    for (const Panel& panel : picture.panels) append_panel(out, panel, colour);
  }
  return out;
}

} // namespace inlay
