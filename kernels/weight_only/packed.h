/// Weights of 4 bits, two's complement, 8 in a word of i32, the first one in its lowest bits; each group of k has a scale. Private.
#pragma once

#include "../places.h"
#include "../problem.h"
#include "../program_names.h"

#include <random>

namespace inlay::kernels {

/// [.., K/8] words in memory, looked at weight by weight: [.., K], 8 of them at one place. Requires: 8 divides K.
[[nodiscard]] inline Tensor packed_weights(Program& k, const std::string& name, std::vector<Sym> shape,
                                           Sym K) {
  std::vector<Strided> axes = {{{8, 0}, {floor_div(K, Sym(8)), 1}}};
  Sym each = floor_div(K, Sym(8));
  for (std::size_t i = shape.size(); i-- > 0; each = each * shape[i])
    axes.emplace(axes.begin(), shape[i], each);
  shape.push_back(K);
  return k.input(name, codegen::Element::i32, std::move(shape), by_strides(axes));
}

/// The weight at position i of the word that has it: its bits at the top, and back with their sign.
[[nodiscard]] inline Expr packed_weight(Program& k, Expr word, Sym i) {
  const Expr up = 28 - 4 * integer(k.number(floor_mod(i, Sym(8))));
  return to_number(shift_right_signed(integer(word) << up, k.integer(28)));
}

/// Words and the scales of their groups, on their way to LDS as elements of the tile there.
inline void unpack(Program& k, const codegen::View& words, const codegen::View& scales, const Tensor& to,
                   const Layout& by_rows, std::source_location where = std::source_location::current()) {
  const Fragment word = k.load(words, by_rows, 1, where),
                 scale = k.load(scales, codegen::without_axis(by_rows, 1), 1, where);
  k.store(k.map(
              {word, scale}, [&](const Exprs& v) { return packed_weight(k, v[0], k.position(1)) * v[1]; },
              to.element, where),
          k.whole(to), 8, where);
}

/// Random words, each at its 8 positions.
inline void random_words(Workload& w, const std::string& name, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::size_t count = 1;
  for (const std::int64_t extent : w.extents(name)) count *= static_cast<std::size_t>(extent);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 8 == 0 ? static_cast<double>(static_cast<std::int32_t>(random() >> 32)) : values[i - 1];
  w.set(name, std::move(values));
}

/// The same in plain integers, for references.
[[nodiscard]] inline double weight_of(double word, std::int64_t i) {
  const auto four = static_cast<int>(static_cast<std::int64_t>(word) >> (4 * (i % 8)) & 15);
  return four < 8 ? four : four - 16;
}

} // namespace inlay::kernels
