/// Expressions: the operations of the algebra by name.
///
///     evaluate_expression("composition((6,2):(8,2), 3:2)")                 3:16
///     evaluate_expression("logical_divide((8,6):(1,8), (4,3))")            ((4,2),(3,2)):((1,4),(8,24))
///     evaluate_expression("Sw<3,4,3> o 0 o (8,64):(64,1)")
///
/// An expression is a number, `_`, a tuple `(a,b)` (or `<a,b>`, which reads well for tiles), a layout `shape:stride`, a
/// swizzle `Sw<3,4,3>`, a composed layout, or `name(argument, ...)`. CuTe's own spellings are read as well: `Swizzle<3,4,3>{}`,
/// `_64{}`, `Int<64>{}`, `Shape<_8,_64>`, `Layout<Shape<..>,Stride<..>>`, `make_shape(8,64)`; and Triton's layouts (triton_layout.h). One table holds every operation; the command line, the fuzzer and
/// the JSON lines reader share it.
#pragma once

#include <inlay/algebra/value.h>

#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace inlay {

/// One row of the table.
struct NamedOperation {
  const char* name;
  const char* signature; ///< `(layout, tile)`
  Value (*apply)(std::span<const Value> arguments);
};

/// All operations, sorted by name.
[[nodiscard]] std::span<const NamedOperation> named_operations();

/// Errors: `unknown_operation` (with the nearest name), `argument`, and those of the operation.
[[nodiscard]] Value apply_operation(std::string_view name, std::span<const Value> arguments);

/// What a name stands for that is no operation, such as a matrix instruction's; nothing where it is none.
using NameLookup = std::function<std::optional<Value>(std::string_view)>;

/// Errors: `syntax` and those above. Limits: those of parse.h, and 64 nested calls.
[[nodiscard]] Value evaluate_expression(std::string_view text, const NameLookup& names = {});

/// The value of a function at an index or coordinate: an offset, or a coordinate for basis strides.
[[nodiscard]] Value value_of(const Value& function, const Value& coordinate);

} // namespace inlay
