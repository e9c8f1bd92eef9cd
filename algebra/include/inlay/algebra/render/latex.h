/// Pictures as a LaTeX document of class `standalone`, drawn with TikZ: `pdflatex` makes a page of its size.
#pragma once

#include <inlay/algebra/render/picture.h>

namespace inlay {

/// The pictures from left to right. Errors: `limit` (4,096 cells; SVG takes 16,384).
[[nodiscard]] std::string render_latex(const std::vector<Picture>& pictures);

} // namespace inlay
