/// `Value`: anything an expression of the algebra can be, and how it reads as an argument.
///
/// A tuple of integers, a by-mode tile and a list of results are all lists until an operation says what it wants: `(4,8)` is
/// a shape for `make_ordered_layout` and a by-mode tile for `logical_divide`. `as_*` converts, or says in one message which
/// argument was meant.
#pragma once

#include <inlay/algebra/composed.h>
#include <inlay/algebra/coord_swizzle.h>
#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/nested.h>
#include <inlay/algebra/tile.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace inlay {

class Value;
using List = std::vector<Value>;
/// Named results, in order: `{tiler: ..., layout_tv: ...}`.
using Record = std::vector<std::pair<std::string, Value>>;
/// `_`, in coordinates and tiles.
struct Free {
  friend bool operator==(Free, Free) = default;
};

class Value {
public:
  using Data = std::variant<Free, bool, Int, Layout, ComposedLayout, NestedLayout, Swizzle, CoordSwizzle,
                            std::string, List, Record>;

  Value() = default; // `_`
  template <class T>
  requires std::constructible_from<Data, T> &&(!std::same_as<std::remove_cvref_t<T>, Value>)Value(T&& data)
      : data_(std::forward<T>(data)) {} // NOLINT: every alternative is a value
  Value(const IntTuple& tuple);         // NOLINT: as a list

  [[nodiscard]] const Data& data() const { return data_; }
  template <class T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&data_);
  }

  [[nodiscard]] Int as_int() const;
  [[nodiscard]] IntTuple as_tuple() const;
  [[nodiscard]] Coordinate as_coordinate() const;
  [[nodiscard]] Layout as_layout() const;
  [[nodiscard]] ComposedLayout as_composed() const;
  /// A swizzle, or three integers.
  [[nodiscard]] Swizzle as_swizzle() const;
  [[nodiscard]] CoordSwizzle as_coord_swizzle() const;
  /// A layout, an integer, `_`, or a list of them.
  [[nodiscard]] Tile as_tile() const;
  [[nodiscard]] const Record& as_record() const;
  /// An entry of a record. Errors: `argument`.
  [[nodiscard]] const Value& operator[](const char* name) const;

  friend bool operator==(const Value&, const Value&) = default;

private:
  Data data_;
};

/// Canonical text; a list prints as `(a,b)`, a record as `{name: value, ...}`.
[[nodiscard]] std::string to_string(const Value& value);

/// outer o offset o inner, of layouts, swizzles, coordinate swizzles, composed and nested layouts: a composed layout where one map
/// and an integer say it, a nested one otherwise. Errors: `argument`.
[[nodiscard]] Value nested(const Value& outer, const IntTuple& offset, const Value& inner);

/// The function that a value is, when it is one: a layout, a composed layout, or a pair of a layout and an offset.
[[nodiscard]] std::optional<ComposedLayout> as_function(const Value& value);

} // namespace inlay
