/// "Did you mean": the known name that a mistyped one is nearest to.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace inlay {

/// Insertions, deletions, replacements and swaps of neighbours that make one word the other; `-` and `_` are one letter, and so are
/// capitals and small ones. `edit_distance("flsah", "flash") = 1`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known`, when it is near: at most a third of its letters apart, or the only one that begins like it.
/// `nearest("rmsnrom", {"softmax", "rmsnorm"}) = "rmsnorm"`; empty where none is.
[[nodiscard]] std::string nearest(std::string_view given, std::span<const std::string> known);
/// `did you mean rmsnorm? `, or nothing: the beginning of a hint.
[[nodiscard]] std::string did_you_mean(std::string_view given, std::span<const std::string> known,
                                       std::string_view before = {});

} // namespace inlay
