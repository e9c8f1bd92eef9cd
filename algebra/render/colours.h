/// What the colour steps of a picture look like, once for all renderers.
#pragma once

#include <inlay/algebra/render/picture.h>

#include <array>
#include <string>

namespace inlay::detail {

struct Colour {
  std::uint8_t red, green, blue;
  int xterm; ///< the nearest of the 256 colours of a terminal
};

/// Grey: black at 0, 40, 20, 60, 10, 50, 30, 70 percent, so that neighbouring values differ clearly.
inline constexpr std::array<Colour, 8> greys = {{{255, 255, 255, 231},
                                                 {153, 153, 153, 247},
                                                 {204, 204, 204, 252},
                                                 {102, 102, 102, 241},
                                                 {230, 230, 230, 254},
                                                 {128, 128, 128, 244},
                                                 {179, 179, 179, 249},
                                                 {77, 77, 77, 239}}};
inline constexpr std::array<Colour, 8> pastels = {{{175, 175, 255, 147},
                                                   {175, 255, 175, 157},
                                                   {255, 255, 175, 229},
                                                   {255, 175, 175, 217},
                                                   {210, 210, 255, 189},
                                                   {210, 255, 210, 194},
                                                   {255, 255, 210, 230},
                                                   {255, 210, 210, 224}}};
/// Load of a bank: idle, full speed, then ever hotter.
inline constexpr std::array<Colour, 8> loads = {{{250, 250, 250, 231},
                                                 {198, 235, 197, 194},
                                                 {255, 224, 138, 222},
                                                 {255, 190, 110, 215},
                                                 {255, 160, 122, 216},
                                                 {250, 128, 114, 209},
                                                 {240, 98, 98, 203},
                                                 {229, 72, 77, 167}}};
inline constexpr Colour blank = {255, 255, 255, 231};

[[nodiscard]] inline const Colour& colour_of(Palette palette, int step) {
  if (step < 0) return blank;
  const auto& steps = palette == Palette::grey ? greys : (palette == Palette::pastel ? pastels : loads);
  return steps[static_cast<std::size_t>(step) % steps.size()];
}
/// Whether white text reads better on it than black.
[[nodiscard]] inline bool is_dark(const Colour& c) { return 3 * c.red + 6 * c.green + c.blue < 1200; }

[[nodiscard]] inline std::string hex(const Colour& c) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "#";
  for (const int part : {int{c.red}, int{c.green}, int{c.blue}}) {
    text += digits[part / 16];
    text += digits[part % 16];
  }
  return text;
}

/// The longest label of a panel, in characters, and at least `least`.
[[nodiscard]] inline std::size_t widest_label(const Panel& panel, std::size_t least) {
  for (const Cell& cell : panel.cells) least = std::max(least, cell.label.size());
  for (const std::string& label : panel.column_labels) least = std::max(least, label.size());
  return least;
}

} // namespace inlay::detail
