#include "fuzz_inputs.h"

#include <algorithm>

namespace inlay::cli {
namespace {

// All numbers of a leaf are drawn from their whole range: RapidCheck's size parameter only limits how many
// leaves.
constexpr int full_range = 100;

rc::Gen<RawLeaf> raw_leaf() {
  return rc::gen::resize(
      full_range,
      rc::gen::map(rc::gen::tuple(rc::gen::inRange(1, 9), rc::gen::inRange(0, 8), rc::gen::inRange(0, 30),
                                  rc::gen::inRange(0, 6)),
                   [](const std::tuple<int, int, int, int>& t) {
                     return RawLeaf{std::get<0>(t), std::get<1>(t), std::get<2>(t), std::get<3>(t)};
                   }));
}

rc::Gen<RawLayout> raw_layout(int leaves) {
  return rc::gen::map(
      rc::gen::pair(rc::gen::resize(leaves, rc::gen::container<std::vector<RawLeaf>>(raw_leaf())),
                    rc::gen::arbitrary<bool>()),
      [](std::pair<std::vector<RawLeaf>, bool> p) {
        return RawLayout{std::move(p.first), p.second};
      });
}

Int stride_of(const RawLeaf& leaf, Int span, const std::vector<Int>& hints) {
  switch (leaf.choice) {
  case 0:
  case 1:
  case 2: return span;                         // compact
  case 3: return span * (1 + leaf.number % 3); // with gaps
  case 4: return leaf.number - 5;              // anything, negative at times
  case 5: return leaf.number % 5 == 0 ? Int(0) : span;
  default: return hints.empty() ? span : hints[static_cast<std::size_t>(leaf.number) % hints.size()];
  }
}

struct Placed {
  Mode mode;
  int level;
};

/// Consecutive leaves that are nested deeper than `depth` become one mode.
Tuple<Mode> nest(const std::vector<Placed>& leaves, std::size_t first, std::size_t last, int depth) {
  std::vector<Tuple<Mode>> entries;
  for (std::size_t i = first; i < last;) {
    std::size_t j = i;
    while (j < last && leaves[j].level > depth) ++j;
    if (j > i) {
      entries.push_back(nest(leaves, i, j, depth + 1));
      i = j;
    } else {
      entries.push_back(Tuple<Mode>(leaves[i++].mode));
    }
  }
  return Tuple<Mode>::of(entries);
}

Layout build(const RawLayout& raw, const FuzzLimits& limits, const std::vector<Int>& hints) {
  std::vector<Placed> leaves;
  Int size = 1, span = 1;
  for (const RawLeaf& leaf : raw.leaves) {
    if (size * leaf.extent > limits.max_size) break;
    const Int stride = stride_of(leaf, span, hints);
    leaves.push_back({Mode{leaf.extent, Stride(stride)}, std::min(leaf.level % 3, limits.max_depth - 1)});
    size *= leaf.extent;
    span = max(span, abs(stride) * leaf.extent);
  }
  if (leaves.empty()) return {};
  if (leaves.size() == 1 && !raw.wrapped) return Layout(leaves[0].mode.extent, leaves[0].mode.stride);
  Layout layout(nest(leaves, 0, leaves.size(), 0));
  while (layout.rank() >
         static_cast<std::size_t>(limits.max_rank)) { // too many top-level modes: drop the last leaf
    leaves.pop_back();
    layout = Layout(nest(leaves, 0, leaves.size(), 0));
  }
  return layout;
}

} // namespace

rc::Gen<RawInput> raw_input(const FuzzLimits& limits) {
  const int leaves = limits.max_rank * (limits.max_depth > 1 ? 2 : 1);
  return rc::gen::map(
      rc::gen::tuple(raw_layout(leaves), raw_layout(leaves),
                     rc::gen::resize(full_range, rc::gen::inRange(1, std::max(2, limits.max_size))),
                     rc::gen::resize(full_range, rc::gen::inRange(0, 8))),
      [](std::tuple<RawLayout, RawLayout, int, int> t) {
        return RawInput{std::move(std::get<0>(t)), std::move(std::get<1>(t)), std::get<2>(t), std::get<3>(t)};
      });
}

FuzzInput build(const RawInput& raw, const FuzzLimits& limits) {
  FuzzInput input{build(raw.a, limits, {}), {}, raw.n, raw.form};
  std::vector<Int> hints{1};
  for (const Mode& m : input.a.modes()) hints.push_back(hints.back() * m.extent);
  input.b = build(raw.b, limits, hints);
  return input;
}

} // namespace inlay::cli
