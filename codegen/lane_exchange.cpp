// Which bits of lanes and values change places.
#include "lane_exchange.h"

#include <algorithm>
#include <bit>

namespace inlay::codegen {
namespace {

// For each element address under `to`, the address under `from`; empty where an element has none, or two.
std::vector<int> sources(const Fragment& from, const Fragment& to) {
  const int threads = from.threads(), count = threads * from.values();
  std::vector<int> number(static_cast<std::size_t>(count)), out;
  std::vector<int> of_to = number;
  int size = 1;
  for (std::size_t axis = 0; axis < from.extents.size(); ++axis) {
    const std::vector<int> has = coordinates(from.tv, axis), wants = coordinates(to.tv, axis);
    for (std::size_t i = 0; i < number.size(); ++i) number[i] += size * has[i], of_to[i] += size * wants[i];
    size *= from.extents[axis];
  }
  if (size != count) return {};
  std::vector<int> at(static_cast<std::size_t>(count), -1);
  for (int i = 0; i < count; ++i) {
    int& there = at[static_cast<std::size_t>(number[static_cast<std::size_t>(i)])];
    if (there >= 0) return {};
    there = i;
  }
  for (const int n : of_to) out.push_back(at[static_cast<std::size_t>(n)]);
  return out;
}

// [bit of an address under `to`]: the bit under `from`; empty where it is no permutation of bits.
std::vector<int> permutation(const std::vector<int>& source) {
  if (source.empty() || !std::has_single_bit(source.size()) || source[0] != 0) return {};
  std::vector<int> out;
  for (std::size_t bit = 1; bit < source.size(); bit *= 2) {
    const auto one = static_cast<unsigned>(source[bit]);
    if (!std::has_single_bit(one)) return {};
    out.push_back(std::countr_zero(one));
  }
  for (std::size_t i = 0; i < source.size(); ++i) {
    std::size_t sum = 0;
    for (std::size_t bit = 0; bit < out.size(); ++bit) sum |= (i >> bit & 1) << out[bit];
    if (sum != static_cast<std::size_t>(source[i])) return {};
  }
  return out;
}

int clocks_of_exchange(int lane, const Target& target) {
  if (target.swaps_lanes && lane >= 16) return 8;
  const int moves = lane < 4 || lane == 8 ? 1 : 2; // and three selections
  return 4 * (3 + moves);
}

} // namespace

std::optional<RelayoutOp> lane_exchanges(const Fragment& from, const Fragment& to, const Target& target) {
  if (from.threads() != to.threads() || from.values() != to.values() || from.extents != to.extents) return {};
  const std::vector<int> wanted = permutation(sources(from, to));
  if (wanted.empty()) return {};
  const auto log2 = [](int n) { return std::countr_zero(static_cast<unsigned>(n)); };
  const int values = log2(from.values()), waves = values + log2(target.wave_size),
            inside = std::max(0, log2(32) - log2(bits(from.element))); // of one register
  std::vector<int> holds(wanted.size()); // [bit]: the bit under `from` that it is
  for (std::size_t i = 0; i < holds.size(); ++i) holds[i] = static_cast<int>(i);
  for (int i = 0; i < static_cast<int>(wanted.size()); ++i)
    if ((i < inside || i >= waves) && wanted[static_cast<std::size_t>(i)] != i) return {};
  RelayoutOp out;
  out.from = from.id, out.to = to.id;
  const auto exchange = [&](int lane, int value) {
    out.exchanges.push_back({1 << (lane - values), 1 << value});
    std::swap(holds[static_cast<std::size_t>(lane)], holds[static_cast<std::size_t>(value)]);
  };
  const auto where = [&](int bit) {
    return static_cast<int>(std::find(holds.begin(), holds.end(), bit) - holds.begin());
  };
  while (true) {
    int open = -1; // a bit of lanes that is not there yet; first one that a bit of values has
    for (int lane = values; lane < waves; ++lane) {
      const int bit = wanted[static_cast<std::size_t>(lane)];
      if (holds[static_cast<std::size_t>(lane)] == bit) continue;
      if (open < 0 || where(wanted[static_cast<std::size_t>(open)]) >= values) open = lane;
    }
    if (open < 0) break;
    const int at = where(wanted[static_cast<std::size_t>(open)]);
    if (at < values) {
      exchange(open, at);
    } else if (values > inside) { // among lanes: by way of a value
      exchange(at, values - 1);
    } else {
      return {};
    }
  }
  int clocks = 0;
  const int words = (from.values() * bits(from.element) + 31) / 32;
  for (const LaneExchange& x : out.exchanges) clocks += words / 2 * clocks_of_exchange(x.lane, target);
  if (clocks > 16 * to.values() + 100) return {};
  for (int v = 0; v < to.values(); ++v) {
    int source = 0;
    for (int bit = 0; bit < values; ++bit)
      source |= (v >> bit & 1) << where(wanted[static_cast<std::size_t>(bit)]);
    out.values.push_back(source);
  }
  return out;
}

} // namespace inlay::codegen
