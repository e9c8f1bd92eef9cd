/// Text to values: the inverse of print.h.
///
/// Malformed text is one `LayoutError` (code `syntax`) that shows the text, the position and what was
/// expected. Limits: 1 MiB of text, and the limits of profile.h on rank, depth and number of leaves; nothing
/// allocates more than the text justifies.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

#include <string_view>

namespace inlay {

/// `((2,2),3):((24,2),8)`; strides may be basis strides `1@0@1`. Errors: `syntax`, `incongruent`, `extent`,
/// `limit`.
[[nodiscard]] Layout parse_layout(std::string_view text);
/// `8`, `(4,8)`, `((2,2),3)`, `(4)`, `()`.
[[nodiscard]] IntTuple parse_int_tuple(std::string_view text);
[[nodiscard]] Int parse_int(std::string_view text);

/// What to do with a name that the context does not know.
enum class UnknownSymbol : std::uint8_t { declare_positive, refuse };

/// `(128*m,n):(1,128*m)`: every leaf may be a formula. Errors: those of `parse_layout`; `undeclared`.
[[nodiscard]] SymLayout parse_sym_layout(SymContext& context, std::string_view text,
                                         UnknownSymbol unknown = UnknownSymbol::declare_positive);
[[nodiscard]] BasicIntTuple<Sym> parse_sym_tuple(SymContext& context, std::string_view text,
                                                 UnknownSymbol unknown = UnknownSymbol::declare_positive);
/// A formula of `+ - * / % ^ & | << >>`, comparisons `< <= > >= == !=` (1 or 0), `min max select`, numbers
/// and names, with the precedence of C except that comparisons bind weakest; `/` and `%` are floor division.
[[nodiscard]] Sym parse_sym(SymContext& context, std::string_view text,
                            UnknownSymbol unknown = UnknownSymbol::declare_positive);

namespace literals {
[[nodiscard]] inline Layout operator""_layout(const char* text, std::size_t n) {
  return parse_layout({text, n});
}
[[nodiscard]] inline IntTuple operator""_tuple(const char* text, std::size_t n) {
  return parse_int_tuple({text, n});
}
} // namespace literals

} // namespace inlay
