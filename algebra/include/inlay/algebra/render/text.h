/// Pictures as tables of characters, for terminals and for documentation.
///
///     ((2,2),3):((24,2),8)   size 12, cosize 43
///             0  1  2
///          +---------
///        0 |  0  8 16
///        1 | 24 32 40
///        2 |  2 10 18
///        3 | 26 34 42
#pragma once

#include <inlay/algebra/render/picture.h>

namespace inlay {

/// Whether cells are painted with the 256 colours of xterm. Whoever prints decides (a terminal, and no
/// NO_COLOR).
enum class TextColour : std::uint8_t { off, on };

/// The pictures one below the other. Errors: `limit`.
[[nodiscard]] std::string render_text(const std::vector<Picture>& pictures,
                                      TextColour colour = TextColour::off);

} // namespace inlay
