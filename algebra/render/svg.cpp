#include "colours.h"

#include <inlay/algebra/render/escape.h>
#include <inlay/algebra/render/svg.h>

namespace inlay {
namespace {

// One unit is a CSS pixel. A character of the 12 px monospace face is 7.3 wide.
constexpr std::size_t cell_height = 24, line_height = 22, gap = 36, border = 16;
constexpr std::size_t width_of(std::size_t characters) { return (characters * 73 + 9) / 10; }

struct Box {
  std::size_t width = 0, height = 0;
};

// T12V3 of a wide tile in two lines, so that a tile of 64 columns can be read on a screen.
constexpr std::size_t narrow_from = 16, small_character = 61; // tenths of a unit
bool in_two_lines(const Panel& panel) {
  return panel.palette == Palette::pastel && panel.columns > narrow_from;
}
std::pair<std::string, std::string> lines_of(const std::string& label) {
  const std::size_t v = label.find('V');
  return v == std::string::npos ? std::pair(label, std::string())
                                : std::pair(label.substr(0, v), label.substr(v));
}

std::size_t cell_width(const Panel& panel) {
  if (!in_two_lines(panel)) return std::max(cell_height + 4, width_of(detail::widest_label(panel, 1)) + 10);
  std::size_t widest = 2;
  for (const Cell& cell : panel.cells) {
    const auto [first, second] = lines_of(cell.label);
    widest = std::max(widest, std::max(first.size(), second.size()));
  }
  return (widest * small_character + 9) / 10 + 5;
}
std::size_t row_height(const Panel& panel) { return in_two_lines(panel) ? cell_height + 2 : cell_height; }
std::size_t row_margin(const Panel& panel) {
  std::size_t widest = 0;
  for (const std::string& label : panel.row_labels) widest = std::max(widest, label.size());
  return widest == 0 ? 0 : width_of(widest) + 10;
}
// Pictures of a table have cells and margins of one width, so that what stands below one another belongs together.
struct Widths {
  std::size_t cell = 0, margin = 0;
};
Widths widths_of(const Panel& panel, const Widths& least) {
  return {std::max(cell_width(panel), least.cell), std::max(row_margin(panel), least.margin)};
}
Box box_of(const Panel& panel, const Widths& least) {
  const Widths w = widths_of(panel, least);
  return {w.margin + panel.columns * w.cell,
          (panel.title.empty() ? 0 : line_height) + line_height + panel.rows * row_height(panel)};
}
Box box_of(const Picture& picture, const Widths& least) {
  Box box{std::max(width_of(picture.title.size()) + 4, width_of(picture.caption.size())), 2 * line_height};
  for (const Panel& panel : picture.panels) {
    const Box inner = box_of(panel, least);
    box.width = std::max(box.width, inner.width);
    box.height += inner.height + line_height / 2;
  }
  return box;
}

std::string at(const char* x, std::size_t left, const char* y, std::size_t top) {
  return std::string(" ") + x + "=\"" + std::to_string(left) + "\" " + y + "=\"" + std::to_string(top) + "\"";
}
std::string text(const char* kind, std::size_t left, std::size_t top, std::string_view words) {
  return std::string("<text class=\"") + kind + "\"" + at("x", left, "y", top) + ">" + escape_xml(words) +
         "</text>\n";
}

std::string tool_tip(const Cell& cell) {
  std::string tip;
  if (!cell.coordinate.empty()) tip = cell.coordinate + "  index " + cell.index + "  value " + cell.value;
  if (!cell.note.empty()) tip += (tip.empty() ? "" : "  ") + cell.note;
  return tip;
}

// Lines where a tile ends.
void append_outlines(std::string& out, const Panel& panel, std::size_t left, std::size_t top,
                     std::size_t width, std::size_t height) {
  std::string path;
  const auto group = [&](std::size_t row, std::size_t column) {
    return row < panel.rows && column < panel.columns ? panel.at(row, column).group : -1;
  };
  const auto line = [&](std::size_t row, std::size_t column, const char* direction, std::size_t length) {
    path += "M" + std::to_string(left + column * width) + " " + std::to_string(top + row * height) +
            direction + std::to_string(length);
  };
  for (std::size_t row = 0; row <= panel.rows; ++row)
    for (std::size_t column = 0; column <= panel.columns; ++column) {
      const int here = group(row, column);
      if (column < panel.columns && here != (row == 0 ? -1 : group(row - 1, column)))
        line(row, column, "h", width);
      if (row < panel.rows && here != (column == 0 ? -1 : group(row, column - 1)))
        line(row, column, "v", height);
    }
  if (!path.empty()) out += "<path class=\"o\" d=\"" + path + "\"/>\n";
}

void append_panel(std::string& out, const Panel& panel, std::size_t left, std::size_t top,
                  const Widths& least) {
  if (!panel.title.empty()) {
    out += text("t", left, top + 16, panel.title);
    top += line_height;
  }
  const auto [width, margin] = widths_of(panel, least);
  const std::size_t height = row_height(panel);
  for (std::size_t column = 0; column < panel.column_labels.size(); ++column)
    out += text("h", left + margin + column * width + width / 2, top + 16, panel.column_labels[column]);
  top += line_height;
  for (std::size_t row = 0; row < panel.rows; ++row) {
    const std::size_t y = top + row * height;
    if (row < panel.row_labels.size()) out += text("r", left + margin - 6, y + 16, panel.row_labels[row]);
    for (std::size_t column = 0; column < panel.columns; ++column) {
      const Cell& cell = panel.at(row, column);
      const detail::Colour& colour = detail::colour_of(panel.palette, cell.colour);
      const std::size_t x = left + margin + column * width;
      const std::string tip = tool_tip(cell);
      out += "<g>";
      if (!tip.empty()) out += "<title>" + escape_xml(tip) + "</title>";
      out += "<rect" + at("x", x, "y", y) + at("width", width, "height", height) + " fill=\"" +
             detail::hex(colour) + "\"/>";
      const std::string kind = detail::is_dark(colour) ? "w" : "c";
      if (in_two_lines(panel) && !cell.label.empty()) {
        const auto [first, second] = lines_of(cell.label);
        out += text((kind + " s").c_str(), x + width / 2, y + 11, first);
        if (!second.empty()) out += text((kind + " s").c_str(), x + width / 2, y + 22, second);
      } else if (!cell.label.empty()) {
        out += "<text class=\"" + kind + "\"" + at("x", x + width / 2, "y", y + 16) + ">" +
               escape_xml(cell.label) + "</text>";
      }
      out += "</g>\n";
    }
  }
  append_outlines(out, panel, left + margin, top, width, height);
}

// Where each picture begins, and how large the whole is.
struct Arrangement {
  std::vector<std::pair<std::size_t, std::size_t>> at;
  Box whole;
  Widths least;
};
Arrangement arranged(const std::vector<Picture>& pictures) {
  Arrangement out;
  std::size_t rows = 1, columns = 0;
  for (const Picture& picture : pictures) {
    rows = std::max(rows, picture.place ? picture.place->first + 1 : 1);
    columns = std::max(columns, picture.place ? picture.place->second + 1 : pictures.size());
    if (picture.place)
      for (const Panel& panel : picture.panels) out.least = widths_of(panel, out.least);
  }
  std::vector<std::size_t> widths(columns), heights(rows);
  const auto place = [&](std::size_t i) {
    return pictures[i].place.value_or(std::pair<std::size_t, std::size_t>(0, i));
  };
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const auto [row, column] = place(i);
    const Box box = box_of(pictures[i], out.least);
    widths[column] = std::max(widths[column], box.width);
    heights[row] = std::max(heights[row], box.height);
  }
  const auto before = [](const std::vector<std::size_t>& sizes, std::size_t n, std::size_t apart) {
    std::size_t sum = border;
    for (std::size_t k = 0; k < n; ++k) sum += sizes[k] + apart;
    return sum;
  };
  for (std::size_t i = 0; i < pictures.size(); ++i)
    out.at.emplace_back(before(widths, place(i).second, gap), before(heights, place(i).first, line_height));
  out.whole = {before(widths, columns, gap) - (columns > 0 ? gap : 0) + border,
               before(heights, rows, line_height) - line_height + border};
  return out;
}

} // namespace

std::string render_svg(const std::vector<Picture>& pictures) {
  check_drawable("as SVG", cell_count(pictures), max_picture_cells);
  const Arrangement arrangement = arranged(pictures);
  const Box& whole = arrangement.whole;

  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\"" + at("width", whole.width, "height", whole.height) +
      " viewBox=\"0 0 " + std::to_string(whole.width) + " " + std::to_string(whole.height) + "\">\n" +
      "<style>text{font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#111}"
      ".t{font-weight:bold}.n,.h,.r{fill:#666}.h,.c,.w{text-anchor:middle}.r{text-anchor:end}.w{fill:#fff}"
      ".s{font-size:10px}rect{stroke:#444;stroke-width:.6}.p{stroke:none}.o{stroke:#000;stroke-width:2;fill:"
      "none}</style>\n"
      "<rect class=\"p\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const Picture& picture = pictures[i];
    auto [left, top] = arrangement.at[i];
    out += text("t", left, top + 14, picture.title) +
           text("n", left, top + 14 + line_height - 4, picture.caption);
    top += 2 * line_height;
    for (const Panel& panel : picture.panels) {
      append_panel(out, panel, left, top, arrangement.least);
      top += box_of(panel, arrangement.least).height + line_height / 2;
    }
  }
  return out + "</svg>\n";
}

} // namespace inlay
