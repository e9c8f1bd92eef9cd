/// Flat layouts s_0:d_0, s_1:d_1, ...: the normal form that decides equality, its smallest difference, stride
/// chains.
///
/// L(i) = sum_k d_k * (floor(i / P_k) mod s_k) with P_k = s_0 ... s_{k-1}, for 0 <= i < size. Nesting never
/// matters for this function. Dropping modes of extent 1 and merging (s:d)(t:s d) into (s t:d) until nothing
/// applies gives a normal form, and two layouts of one size are the same function exactly when their normal
/// forms are the same list. That holds for every rank and all integer strides, zero and negative ones too
/// (proofs/coq/Layout.v, layout_eq_iff). The first place where the lists differ gives the smallest index at
/// which the functions do (proofs/coq/FirstDiff.v).
///
/// Over polynomials the same algorithm with "equal for all values" in place of "equal" is sound, and complete
/// when the symbols range over a box: a product of the finitely many nonzero polynomials met on the way does
/// not vanish on it.
///
///     ((2,2),3):((24,2),8)   ->   2:24, 2:2, 3:8        (nothing merges)
///     (4,8):(1,4)            ->   32:1
#pragma once

#include "layers/lower.h"

#include <string>
#include <vector>

namespace inlay::solver {

template <class N>
struct Flat {
  N extent, stride;
  friend bool operator==(const Flat&, const Flat&) = default;
};
using ConcreteFlat = std::vector<Flat<Wide>>;
using SymbolicFlat = std::vector<FlatDigit>;

/// Normal form, by pushing modes from the last to the first. `merged(k)` hears of every merge of mode k into
/// k + 1.
[[nodiscard]] ConcreteFlat normal_form(const ConcreteFlat& modes);

/// One merge, for the certificate: the stride of the second mode is the first one's extent times its stride.
struct Merge {
  FlatDigit first, second;
};
[[nodiscard]] SymbolicFlat normal_form(const SymbolicFlat& modes, std::vector<Merge>* trace = nullptr);

/// The smallest i with A(i) != B(i), for normal forms of one size.
[[nodiscard]] std::optional<Wide> first_difference(const ConcreteFlat& a, const ConcreteFlat& b);

/// An order of the modes (extent 1 dropped) in which each stride is the product of the extents before it:
/// then, and only then, the layout is a bijection onto [0, size).
[[nodiscard]] std::optional<SymbolicFlat> stride_chain(const SymbolicFlat& modes);

} // namespace inlay::solver
