/// Pictures as one self-contained HTML page: no network, no other file.
///
/// The page puts the pictures side by side, switches all cells between label, value, index and coordinate,
/// and marks what belongs together: pointing at a cell marks the cells of the same thread (in thread-value
/// pictures) or of the same value (elsewhere, across an operation's inputs and its result), a click keeps the
/// mark, a field takes a thread by number.
#pragma once

#include <inlay/algebra/render/picture.h>

namespace inlay {

/// A page titled `title`. Errors: `limit`.
[[nodiscard]] std::string render_html(const std::vector<Picture>& pictures, std::string_view title);

} // namespace inlay
