// Switches as text.
#pragma once

#include <optional>
#include <string_view>

namespace inlay::kernels {

/// Whether `text` says yes: of yes, true, on and 1 it does, of no, false, off and 0 not, in any capitals (`True` is Python's). Nothing of other texts.
[[nodiscard]] std::optional<bool> yes_or_no(std::string_view text);

} // namespace inlay::kernels
