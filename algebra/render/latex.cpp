#include "colours.h"

#include <inlay/algebra/render/latex.h>

namespace inlay {
namespace {

std::string escape_latex(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '_' || c == '%' || c == '#' || c == '&' || c == '{' || c == '}' || c == '$') safe += '\\';
    if (c == '<')
      safe += "\\textless{}";
    else if (c == '>')
      safe += "\\textgreater{}";
    else if (c == '^')
      safe += "\\textasciicircum{}";
    else
      safe += c;
  }
  return safe;
}

/// `p2`: the colour of step 2 of a palette, defined once at the head of the document.
std::string name_of(Palette palette, int step) {
  if (step < 0) return "white";
  return std::string(palette == Palette::grey ? "g" : (palette == Palette::pastel ? "p" : "l")) +
         std::to_string(step % 8);
}

std::string node(const char* style, std::string fill, double x, double y, std::string_view label) {
  const auto number = [](double v) {
    std::string text = std::to_string(v);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
  };
  return std::string("\\node[") + style + (fill.empty() ? "" : ",fill=" + fill) + "] at (" + number(x) + "," +
         number(y) + ") {" + escape_latex(label) + "};\n";
}

} // namespace

std::string render_latex(const std::vector<Picture>& pictures) {
  check_drawable("as LaTeX", cell_count(pictures), max_latex_cells);
  std::string out = "\\documentclass[convert]{standalone}\n\\usepackage{tikz}\n";
  for (const Palette palette : {Palette::grey, Palette::pastel, Palette::load})
    for (int step = 0; step < 8; ++step) {
      const detail::Colour& c = detail::colour_of(palette, step);
      out += "\\definecolor{" + name_of(palette, step) + "}{RGB}{" + std::to_string(c.red) + "," +
             std::to_string(c.green) + "," + std::to_string(c.blue) + "}\n";
    }
  out += "\\begin{document}\n\\begin{tikzpicture}[x=1cm,y=-0.7cm,every "
         "node/.style={font=\\ttfamily\\scriptsize,outer sep=0pt},\n"
         "  c/.style={draw,minimum height=0.7cm,inner "
         "sep=0pt},w/.style={c,text=white},h/.style={text=gray},t/.style={anchor=west}]\n";
  double left = 0;
  for (const Picture& picture : pictures) {
    double top = 0,
           widest = 0.17 * static_cast<double>(std::max(picture.title.size(), picture.caption.size()));
    out += node("t", "", left - 0.5, top - 2.6, picture.title) +
           node("t,text=gray", "", left - 0.5, top - 2, picture.caption);
    for (const Panel& panel : picture.panels) {
      if (!panel.title.empty()) {
        out += node("t", "", left - 0.5, top - 1.4, panel.title);
        top += 0.4;
      }
      // Cells are as wide as the longest label needs, 0.17 cm a character of this face.
      const double width = std::max(0.8, 0.17 * static_cast<double>(detail::widest_label(panel, 1)) + 0.15);
      double margin = 0;
      for (const std::string& label : panel.row_labels)
        margin = std::max(margin, 0.17 * static_cast<double>(label.size()));
      std::string size = std::to_string(width);
      size.erase(size.find('.') + 3);
      const double x0 = left + margin;
      for (std::size_t column = 0; column < panel.column_labels.size(); ++column)
        out +=
            node("h", "", x0 + width * static_cast<double>(column), top - 0.8, panel.column_labels[column]);
      for (std::size_t row = 0; row < panel.rows; ++row) {
        const double y = top + static_cast<double>(row);
        if (row < panel.row_labels.size())
          out += node("h,anchor=east", "", x0 - width / 2 - 0.05, y, panel.row_labels[row]);
        for (std::size_t column = 0; column < panel.columns; ++column) {
          const Cell& cell = panel.at(row, column);
          const bool dark = detail::is_dark(detail::colour_of(panel.palette, cell.colour));
          out += node((std::string(dark ? "w" : "c") + ",minimum width=" + size + "cm").c_str(),
                      name_of(panel.palette, cell.colour), x0 + width * static_cast<double>(column), y,
                      cell.label);
        }
      }
      top += static_cast<double>(panel.rows) + 1.6;
      widest = std::max(widest, margin + width * static_cast<double>(panel.columns));
    }
    left += widest + 1.2;
  }
  return out + "\\end{tikzpicture}\n\\end{document}\n";
}

} // namespace inlay
