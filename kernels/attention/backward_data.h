/// The data of attention's backward pass, and its judges. Private.
#pragma once

#include "../page.h"
#include "backward.h"

namespace inlay::kernels {

using Doubles = std::vector<double>;
using ReadsBackward = Reads<AttentionBackward>;

/// Where the rows of a query and of a key are among a program's values; `of_keys`: queries of a group are one axis.
struct BackwardRows {
  AttentionBackward s;
  bool of_keys = false;
  [[nodiscard]] std::int64_t query(std::int64_t b, std::int64_t q, std::int64_t h) const {
    return (of_keys ? (b * s.queries + q) * s.group + h % s.group : b * s.queries + q) * heads() + head(h);
  }
  [[nodiscard]] std::size_t log(std::int64_t b, std::int64_t q, std::int64_t h) const {
    return at(((b * (s.heads / s.group) + h / s.group) * s.queries + q) * s.group + h % s.group);
  }
  [[nodiscard]] std::int64_t key(std::int64_t b, std::int64_t i, std::int64_t h) const {
    return (b * s.keys + i) * (s.heads / s.group) + h / s.group;
  }

private:
  [[nodiscard]] std::int64_t heads() const { return of_keys ? s.heads / s.group : s.heads; }
  [[nodiscard]] std::int64_t head(std::int64_t h) const { return of_keys ? h / s.group : h; }
};

/// The product of two rows, and that of their absolute values.
[[nodiscard]] std::pair<double, double> dot(const Doubles& a, std::int64_t row_a, const Doubles& b,
                                            std::int64_t row_b, int n);

template <class Body>
void each_query(const AttentionBackward& s, Body body) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t q = 0; q < s.queries; ++q) body(b, q, h);
}

/// Of the gradients; `of_keys`: of K and V.
void backward_data(const AttentionBackward& s, bool of_keys, Workload& w, std::uint64_t seed);
[[nodiscard]] std::vector<Judged> backward_reference(const AttentionBackward& s, bool of_keys,
                                                     const Workload& w);

} // namespace inlay::kernels
