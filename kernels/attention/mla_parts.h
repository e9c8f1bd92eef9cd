/// What the two programs of latent attention have in common. Private.
#pragma once

#include "mla.h"
#include "parts.h"

namespace inlay::kernels {

/// Errors: std::invalid_argument naming the option.
void check_latent(const Latent& s);

/// How many positions the queries of a block see, of a sequence of `length`.
[[nodiscard]] inline Sym seen(const Latent& s, Sym length, Sym block) {
  return length + floor_div(block, Sym(s.heads / s.group())) - Sym(s.queries - 1);
}

/// The parts of every block of heads: what one program stores and the other one reads. `make`: a tensor of a name and a shape.
template <class Make>
[[nodiscard]] SoftmaxParts parts_of(const Latent& s, Sym sequences, Sym count, Make make) {
  const std::vector<Sym> each{sequences, s.blocks(), count, s.group()},
      all{sequences, s.blocks(), count, s.group(), Latent::latent};
  return {make("most", each), make("sums", each), make("parts", all), count, std::nullopt};
}

} // namespace inlay::kernels
