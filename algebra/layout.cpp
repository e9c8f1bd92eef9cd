// The errors of the value types, out of line so that the headers stay light.
#include <inlay/algebra/layout.h>
#include <inlay/algebra/print.h>

namespace inlay::detail {

void throw_limit(std::string_view what, std::size_t value, std::size_t limit) {
  throw LayoutError({"limit",
                     "limits",
                     std::string(what) + " is beyond the limit",
                     {},
                     std::to_string(value) + " is above " + std::to_string(limit),
                     {{"value", std::to_string(value)}, {"limit", std::to_string(limit)}},
                     ""});
}

void throw_axis(std::string_view what, std::size_t value, std::size_t limit) {
  throw_limit(what, value, limit);
}

void throw_extent(Int extent) {
  throw LayoutError({"extent",
                     "layout",
                     "an extent is not positive",
                     {},
                     "extent " + to_string(extent),
                     {{"extent", to_string(extent)}},
                     "extents are at least 1"});
}

void throw_incongruent(const IntTuple& shape, const Tuple<Stride>& stride) {
  throw LayoutError({"incongruent",
                     "layout",
                     "shape and stride are not congruent",
                     {{"shape", to_string(shape)}, {"stride", to_string(stride)}},
                     "",
                     {},
                     "both need the same parentheses"});
}

void throw_incongruent() {
  throw LayoutError({"incongruent",
                     "layout",
                     "two tuples are not congruent",
                     {},
                     "",
                     {},
                     "both need the same parentheses; an integer may stand for a mode only as a coordinate"});
}

void throw_mode_index(std::size_t i, std::size_t rank) {
  throw LayoutError({"mode",
                     "layout",
                     "there is no such mode",
                     {},
                     "mode " + std::to_string(i) + " of rank " + std::to_string(rank),
                     {{"mode", std::to_string(i)}, {"rank", std::to_string(rank)}},
                     ""});
}

void throw_basis_value() {
  throw LayoutError({"basis_value",
                     "layout",
                     "a layout with basis strides has coordinates as values, not offsets",
                     {},
                     "",
                     {},
                     "ask for the coordinate instead"});
}

} // namespace inlay::detail
