#include "colours.h"

#include <inlay/algebra/render/svg.h>

namespace inlay {
namespace {

// One unit is a CSS pixel. A character of the 12 px monospace face is 7.3 wide.
constexpr std::size_t cell_height = 24, line_height = 22, gap = 36, border = 16;
constexpr std::size_t width_of(std::size_t characters) { return (characters * 73 + 9) / 10; }

struct Box {
  std::size_t width = 0, height = 0;
};

std::size_t cell_width(const Panel& panel) {
  return std::max(cell_height + 4, width_of(detail::widest_label(panel, 1)) + 10);
}
std::size_t row_margin(const Panel& panel) {
  std::size_t widest = 0;
  for (const std::string& label : panel.row_labels) widest = std::max(widest, label.size());
  return widest == 0 ? 0 : width_of(widest) + 10;
}
Box box_of(const Panel& panel) {
  return {row_margin(panel) + panel.columns * cell_width(panel),
          (panel.title.empty() ? 0 : line_height) + line_height + panel.rows * cell_height};
}
Box box_of(const Picture& picture) {
  Box box{std::max(width_of(picture.title.size()) + 4, width_of(picture.caption.size())), 2 * line_height};
  for (const Panel& panel : picture.panels) {
    const Box inner = box_of(panel);
    box.width = std::max(box.width, inner.width);
    box.height += inner.height + line_height / 2;
  }
  return box;
}

std::string at(const char* x, std::size_t left, const char* y, std::size_t top) {
  return std::string(" ") + x + "=\"" + std::to_string(left) + "\" " + y + "=\"" + std::to_string(top) + "\"";
}
std::string text(const char* kind, std::size_t left, std::size_t top, std::string_view words) {
  return std::string("<text class=\"") + kind + "\"" + at("x", left, "y", top) + ">" +
         detail::escape_xml(words) + "</text>\n";
}

std::string tool_tip(const Cell& cell) {
  std::string tip;
  if (!cell.coordinate.empty()) tip = cell.coordinate + "  index " + cell.index + "  value " + cell.value;
  if (!cell.note.empty()) tip += (tip.empty() ? "" : "  ") + cell.note;
  return tip;
}

void append_panel(std::string& out, const Panel& panel, std::size_t left, std::size_t top) {
  if (!panel.title.empty()) {
    out += text("t", left, top + 16, panel.title);
    top += line_height;
  }
  const std::size_t width = cell_width(panel), margin = row_margin(panel);
  for (std::size_t column = 0; column < panel.column_labels.size(); ++column)
    out += text("h", left + margin + column * width + width / 2, top + 16, panel.column_labels[column]);
  top += line_height;
  for (std::size_t row = 0; row < panel.rows; ++row) {
    const std::size_t y = top + row * cell_height;
    if (row < panel.row_labels.size()) out += text("r", left + margin - 6, y + 16, panel.row_labels[row]);
    for (std::size_t column = 0; column < panel.columns; ++column) {
      const Cell& cell = panel.at(row, column);
      const detail::Colour& colour = detail::colour_of(panel.palette, cell.colour);
      const std::size_t x = left + margin + column * width;
      const std::string tip = tool_tip(cell);
      out += "<g>";
      if (!tip.empty()) out += "<title>" + detail::escape_xml(tip) + "</title>";
      out += "<rect" + at("x", x, "y", y) + at("width", width, "height", cell_height) + " fill=\"" +
             detail::hex(colour) + "\"/>";
      if (!cell.label.empty())
        out += std::string("<text class=\"") + (detail::is_dark(colour) ? "w" : "c") + "\"" +
               at("x", x + width / 2, "y", y + 16) + ">" + detail::escape_xml(cell.label) + "</text>";
      out += "</g>\n";
    }
  }
}

} // namespace

std::string render_svg(const std::vector<Picture>& pictures) {
  check_drawable("as SVG", cell_count(pictures), max_picture_cells);
  Box whole{border, 0};
  for (const Picture& picture : pictures) {
    const Box box = box_of(picture);
    whole.width += box.width + (&picture == &pictures.back() ? border : gap);
    whole.height = std::max(whole.height, box.height);
  }
  whole.height += 2 * border;

  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\"" + at("width", whole.width, "height", whole.height) +
      " viewBox=\"0 0 " + std::to_string(whole.width) + " " + std::to_string(whole.height) + "\">\n" +
      "<style>text{font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#111}"
      ".t{font-weight:bold}.n,.h,.r{fill:#666}.h,.c,.w{text-anchor:middle}.r{text-anchor:end}.w{fill:#fff}"
      "rect{stroke:#444;stroke-width:.6}.p{stroke:none}</style>\n"
      "<rect class=\"p\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  std::size_t left = border;
  for (const Picture& picture : pictures) {
    std::size_t top = border;
    out += text("t", left, top + 14, picture.title) +
           text("n", left, top + 14 + line_height - 4, picture.caption);
    top += 2 * line_height;
    for (const Panel& panel : picture.panels) {
      append_panel(out, panel, left, top);
      top += box_of(panel).height + line_height / 2;
    }
    left += box_of(picture).width + gap;
  }
  return out + "</svg>\n";
}

} // namespace inlay
