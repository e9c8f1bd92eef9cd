#include <inlay/algebra/error.h>
#include <inlay/algebra/render/picture.h>

namespace inlay {

std::size_t cell_count(const std::vector<Picture>& pictures) {
  std::size_t cells = 0;
  for (const Picture& picture : pictures)
    for (const Panel& panel : picture.panels) cells += panel.cells.size();
  return cells;
}

void check_drawable(std::string_view what, std::size_t cells, std::size_t limit) {
  if (cells <= limit) return;
  throw LayoutError({"limit",
                     "draw",
                     "the drawing is too large",
                     {{"picture", std::string(what)}},
                     std::to_string(cells) + " cells, and at most " + std::to_string(limit) + " can be drawn",
                     {{"cells", std::to_string(cells)}, {"limit", std::to_string(limit)}},
                     "draw one tile of it: mode 0 of zipped_divide(L, tiler), or a slice"});
}

} // namespace inlay
