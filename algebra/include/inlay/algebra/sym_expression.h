/// Expressions over symbols: what expression.h does for numbers, for layouts whose leaves are formulas.
///
///     evaluate_sym_expression(ctx, "logical_divide((128*m,64*k):(64*k,1), <128,64>)")
///         = ((128,m),(64,k)):((64*k,8192*k),(1,64))
///
/// The operations are those that return layouts: coalesce, flatten, filter, composition, complement, the inverses, divides and
/// products, tile_to_shape, select, get, take, group, append, prepend, zip, make_layout, make_ordered_layout, upcast, downcast.
/// What they assume is recorded in the context (`SymContext::obligations`).
#pragma once

#include <inlay/algebra/composed.h>
#include <inlay/algebra/parse.h>

#include <string_view>

namespace inlay {

/// A layout, a composed layout, or an operation applied to such. Errors: `syntax`, `unknown_operation`, `argument`, and those
/// of the operations.
[[nodiscard]] SymComposedLayout
evaluate_sym_expression(SymContext& context, std::string_view text,
                        UnknownSymbol unknown = UnknownSymbol::declare_positive);

/// Whether a text starts like a call of an operation, `name(`, and is therefore for this reader.
[[nodiscard]] bool is_sym_operation(std::string_view text);

} // namespace inlay
