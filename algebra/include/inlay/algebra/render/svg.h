/// Pictures as one SVG document, side by side, with tool tips; it needs nothing else and opens in a browser.
#pragma once

#include <inlay/algebra/render/picture.h>

namespace inlay {

/// The pictures from left to right, the panels of each from top to bottom. Errors: `limit`.
[[nodiscard]] std::string render_svg(const std::vector<Picture>& pictures);

} // namespace inlay
