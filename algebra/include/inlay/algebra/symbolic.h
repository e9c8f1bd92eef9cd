/// Between the domains: a concrete layout seen as a symbolic one, and a symbolic one at given values of its symbols.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>
#include <inlay/algebra/tile.h>

namespace inlay {

[[nodiscard]] SymLayout symbolic(const Layout& layout);
[[nodiscard]] BasicIntTuple<Sym> symbolic(const IntTuple& tuple);
[[nodiscard]] SymTile symbolic(const Tile& tile);

/// The layout at these values. Errors: those of `evaluate`; `extent` (an extent below 1 there).
/// Law: an operation on symbolic layouts, instantiated, is the operation on the instances wherever its obligations hold.
[[nodiscard]] Layout instantiate(const SymLayout& layout, const Assignment& values);
[[nodiscard]] IntTuple instantiate(const BasicIntTuple<Sym>& tuple, const Assignment& values);

[[nodiscard]] SymLayout substitute(const SymLayout& layout,
                                   std::span<const std::pair<AtomId, Sym>> replacements);
/// The symbols of all extents and strides, each once.
[[nodiscard]] std::vector<AtomId> symbols(const SymLayout& layout);

} // namespace inlay
