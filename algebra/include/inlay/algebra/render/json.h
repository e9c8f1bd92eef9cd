/// Pictures as JSON for other programs to draw.
///
///     {"schema": "inlay.pictures/1", "pictures": [
///       {"title", "caption", "panels": [
///         {"title", "palette", "rows", "columns", "row_labels", "column_labels", "cells": [
///           {"label", "value", "index", "coordinate", "colour", "threads", "note"}]}]}]}
///
/// Cells come row by row. Numbers that a layout computes are strings: they may need more than the 53 bits a
/// JSON reader keeps. Empty members of a cell are left out.
#pragma once

#include <inlay/algebra/render/picture.h>

namespace inlay {

/// One line of JSON. Errors: `limit`.
[[nodiscard]] std::string render_json(const std::vector<Picture>& pictures);

} // namespace inlay
