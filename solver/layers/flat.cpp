#include "layers/flat.h"

#include <algorithm>

namespace inlay::solver {

// One pass is enough: what is pushed is merged with the mode after it at once, and a merged mode keeps the stride of its first part, so
// that nothing between two modes that were looked at changes later. Unique by proofs/coq/Layout.v (layout_eq_iff).
ConcreteFlat normal_form(const ConcreteFlat& modes) {
  // From the last mode to the first; the result is kept reversed, its back being the mode pushed last.
  ConcreteFlat out;
  out.reserve(modes.size());
  for (std::size_t k = modes.size(); k-- > 0;) {
    const auto& m = modes[k];
    if (m.extent == 1) continue;
    if (!out.empty() && out.back().stride == multiply(m.extent, m.stride)) {
      out.back() = {multiply(m.extent, out.back().extent), m.stride};
    } else {
      out.push_back(m);
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// "Equal for all values" in the place of "equal": two modes that could be merged for some values only stay apart, and two layouts are
// then said to be different words, never wrongly the same.
SymbolicFlat normal_form(const SymbolicFlat& modes, std::vector<Merge>* trace) {
  SymbolicFlat out;
  for (std::size_t k = modes.size(); k-- > 0;) {
    const FlatDigit& m = modes[k];
    if (m.extent.is_one()) continue;
    if (!out.empty() && out.back().stride == m.extent * m.stride) {
      if (trace) trace->push_back({m, out.back()});
      out.back() = {m.extent * out.back().extent, m.stride};
    } else {
      out.push_back(m);
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Below `before` the modes so far decide, and they are the same. With other strides the first step along the next mode differs. With one
// stride d and extents s < t, the second layout is at s d where the first one takes the first step of its next mode; and that step is
// not s d, as the two modes would have been merged (proofs/coq/FirstDiff.v).
std::optional<Wide> first_difference(const ConcreteFlat& a, const ConcreteFlat& b) {
  Wide before = 1;
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) {
    if (a[k].stride != b[k].stride) return before;
    if (a[k].extent != b[k].extent) return multiply(before, std::min(a[k].extent, b[k].extent));
    before = multiply(before, a[k].extent);
  }
  return std::nullopt;
}

// Greedy is complete: strides of a bijection onto [0, size) are the products 1, s_1, s_1 s_2, ... in some order, each greater than the one
// before as extents are at least 2 (for symbols: not the polynomial 1), so that only one mode can be next.
std::optional<SymbolicFlat> stride_chain(const SymbolicFlat& modes) {
  SymbolicFlat left, chain;
  for (const FlatDigit& m : modes)
    if (!m.extent.is_one()) left.push_back(m);
  Poly product(1);
  while (!left.empty()) {
    auto next =
        std::find_if(left.begin(), left.end(), [&](const FlatDigit& m) { return m.stride == product; });
    if (next == left.end()) return std::nullopt;
    product = product * next->extent;
    chain.push_back(*next);
    left.erase(next);
  }
  return chain;
}

} // namespace inlay::solver
