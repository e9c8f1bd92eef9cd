#include "lds_place.h"

#include <algorithm>
#include <numeric>

namespace inlay::codegen {
namespace {

/// (row, column) of each lane of a wave, one list for each access of a wave.
struct Group {
  std::vector<std::pair<int, int>> lanes;
  int banks;
};

void add_groups(std::vector<Group>& to, const Layout& tv, int banks) {
  const std::vector<int> row = coordinates(tv, 0), column = coordinates(tv, 1);
  const int threads = static_cast<int>(tv.mode(0).size().value()),
            values = static_cast<int>(tv.mode(1).size().value());
  for (int v = 0; v < values; ++v)
    for (int first = 0; first < threads; first += banks) {
      Group g{{}, banks};
      for (int t = first; t < std::min(first + banks, threads); ++t) {
        const auto at = static_cast<std::size_t>(t * values + v);
        g.lanes.emplace_back(row[at], column[at]);
      }
      // The same places, moved as a whole along whole lines of banks, are seen often; what is equal is looked at once.
      if (std::none_of(to.begin(), to.end(),
                       [&](const Group& x) { return x.banks == banks && x.lanes == g.lanes; }))
        to.push_back(std::move(g));
    }
}

bool free_of_conflicts(const Group& g, const Swizzle& swizzle, std::int64_t stride, int element_bits,
                       const std::vector<int>& row_at) {
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(g.banks), -1); // the dword that a bank delivers
  for (const auto& [row, column] : g.lanes) {
    const std::int64_t dword =
        swizzle(Int(row_at[static_cast<std::size_t>(row)] * stride + column)).value() * element_bits / 32;
    std::int64_t& bank = wanted[static_cast<std::size_t>(dword % g.banks)];
    if (bank >= 0 && bank != dword) return false;
    bank = dword;
  }
  return true;
}

} // namespace

std::optional<LdsPlace> place_without_conflicts(int element_bits, int rows, int columns, const Layout& write,
                                                const Layout& read, int banks_of_read) {
  std::vector<Group> groups;
  add_groups(groups, write, 32);
  add_groups(groups, read, banks_of_read);
  std::vector<int> row_at(static_cast<std::size_t>(rows));
  std::iota(row_at.begin(), row_at.end(), 0);
  const auto search = [&](int padding) -> std::optional<Swizzle> {
    const std::int64_t elements = std::int64_t{rows} * (columns + padding);
    for (int bits = 0; bits <= 6; ++bits)
      for (int base = 0; base <= 5; ++base)
        for (int shift = bits; shift <= 9; ++shift) {
          if (bits == 0 && (base > 0 || shift > 0)) continue;
          if (bits > 0 && (std::int64_t{1} << (bits + base + shift)) > 2 * elements) continue;
          const Swizzle s = bits == 0 ? Swizzle() : Swizzle(bits, base, shift);
          if (std::all_of(groups.begin(), groups.end(), [&](const Group& g) {
                return free_of_conflicts(g, s, columns + padding, element_bits, row_at);
              }))
            return s;
        }
    return std::nullopt;
  };
  const int dword = std::max(32 / element_bits, 1);
  for (const int padding : {0, dword, 2 * dword, 3 * dword, 4 * dword, 6 * dword, 8 * dword}) {
    if (columns == 1 && padding > 0) break; // a tile of one axis has no rows to pad
    if (const auto s = search(padding)) return LdsPlace{*s, padding};
  }
  // Some bits of the row's number after the others: a tile that is turned is written along one axis and read along the other, and a
  // swizzle alone takes bits that follow one another.
  for (int low = 1; low < rows && columns > 1; low *= 2)
    for (int high = 2; low * high < rows && rows % (low * high) == 0; high *= 2) {
      const int rest = rows / (low * high);
      for (int r = 0; r < rows; ++r)
        row_at[static_cast<std::size_t>(r)] = r % low + low * (r / (low * high) + rest * (r / low % high));
      if (const auto s = search(0)) return LdsPlace{*s, 0, low, high};
    }
  return std::nullopt;
}

} // namespace inlay::codegen
