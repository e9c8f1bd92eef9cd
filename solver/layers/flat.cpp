#include "layers/flat.h"

#include <algorithm>

namespace inlay::solver {

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

std::optional<Wide> first_difference(const ConcreteFlat& a, const ConcreteFlat& b) {
  Wide before = 1;
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) {
    if (a[k].stride != b[k].stride) return before;
    if (a[k].extent != b[k].extent) return multiply(before, std::min(a[k].extent, b[k].extent));
    before = multiply(before, a[k].extent);
  }
  return std::nullopt;
}

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
