/// The order in which `top` compares elements: the emitter emits it, and validation of machine code follows it.
///
/// Sorted parts of as many elements as are sought, and then the greater of two parts, which fall and rise one after the other, so that
/// half-cleaners sort them (Batcher, "Sorting networks and their applications", 1968). What is compared, and when, does not depend on
/// the elements.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace inlay::codegen {

/// The comparisons (i, j), i < j, that sort n elements, the first one first: merge exchange (Knuth, "The Art of Computer Programming",
/// volume 3, 5.2.2, algorithm M). Of 4 elements five: (0,2) (1,3) (0,1) (2,3) (1,2).
[[nodiscard]] inline std::vector<std::pair<std::size_t, std::size_t>> sorting_network(std::size_t n) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  const std::size_t top = std::bit_ceil(n) / 2;
  for (std::size_t p = top; p > 0; p /= 2)
    for (std::size_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      for (std::size_t i = 0; i + d < n; ++i)
        if ((i & p) == r) out.emplace_back(i, i + d);
      if (q == p) break;
    }
  return out;
}

/// The `count` greatest, the greatest first. `greater(a, b)` and `less(a, b)` give one of two elements each.
template <class T, class Greater, class Less>
class TopNetwork {
public:
  TopNetwork(std::size_t count, Greater greater, Less less) : count_(count), greater_(greater), less_(less) {}

  /// Of any elements, at least one. Ensures: min(count, all.size()) of them.
  [[nodiscard]] std::vector<T> of(const std::vector<T>& all) const {
    // Parts of as many elements each are merged as soon as there are two of them, so that few wait at a time.
    std::vector<std::vector<T>> parts;
    std::vector<std::size_t> elements; // of each
    const auto merge_last = [&] {
      const std::vector<T> last = std::move(parts.back());
      parts.pop_back(), parts.back() = merged(parts.back(), last);
      const std::size_t of_last = elements.back();
      elements.pop_back(), elements.back() += of_last;
    };
    const std::size_t each = std::bit_ceil(count_);
    for (std::size_t begin = 0; begin < all.size(); begin += each) {
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(begin);
      std::vector<T> part(at, at + static_cast<std::ptrdiff_t>(std::min(each, all.size() - begin)));
      for (const auto& [a, b] : sorting_network(part.size())) exchange(part[a], part[b]);
      if (part.size() > count_) part.erase(part.begin() + static_cast<std::ptrdiff_t>(count_), part.end());
      parts.push_back(std::move(part)), elements.push_back(each);
      while (parts.size() > 1 && elements.back() == elements[elements.size() - 2]) merge_last();
    }
    while (parts.size() > 1) merge_last();
    return std::move(parts[0]);
  }

  /// Of two sorted lists, which hold all of theirs, or `count`. Ensures: min(count, a.size() + b.size()) elements.
  [[nodiscard]] std::vector<T> merged(const std::vector<T>& a, const std::vector<T>& b) const {
    const std::size_t n = std::bit_ceil(std::max(a.size(), b.size()));
    std::vector<std::optional<T>> all(n), rising(n); // nothing is less than all
    std::copy(a.begin(), a.end(), all.begin());
    for (std::size_t e = 0; e < b.size(); ++e) rising[n - 1 - e] = b[e];
    if (n >= count_) {
      for (std::size_t e = 0; e < n; ++e)
        if (rising[e]) all[e] = all[e] ? greater_(*all[e], *rising[e]) : *rising[e];
    } else {
      all.insert(all.end(), rising.begin(), rising.end());
    }
    for (std::size_t d = all.size() / 2; d > 0; d /= 2)
      for (std::size_t e = 0; e < all.size(); ++e) {
        if ((e & d) != 0) continue;
        if (!all[e]) std::swap(all[e], all[e + d]);
        if (all[e + d]) exchange(*all[e], *all[e + d]);
      }
    std::vector<T> out;
    for (std::size_t e = 0; e < all.size() && all[e] && out.size() < count_; ++e) out.push_back(*all[e]);
    return out;
  }

private:
  void exchange(T& a, T& b) const {
    const T first = greater_(a, b);
    b = less_(a, b), a = first;
  }
  std::size_t count_;
  Greater greater_;
  Less less_;
};

/// The step of a wave from lane to lane, for each bit of `mask` from the lowest on, as the bits in which the two lanes differ that merge
/// their lists. Lanes whose lists are the same already may take each other's place: ^ 7 for ^ 4, which is one move.
[[nodiscard]] inline std::vector<int> lane_steps(int mask) {
  std::vector<int> out;
  for (int bit = 1; bit <= mask; bit *= 2)
    if ((mask & bit) != 0) out.push_back(bit == 4 && (mask & 3) == 3 ? 7 : bit);
  return out;
}

} // namespace inlay::codegen
