#include "scan_order.h"

#include <algorithm>
#include <map>

namespace inlay::codegen {

std::optional<ScanOrder> scan_order(const Fragment& from, std::size_t axis, int threads, int wave_size) {
  ScanOrder out;
  const int n = from.values(), waves = threads / wave_size;
  const std::vector<int> at = coordinates(from.tv, axis);
  const auto value = [&](int v) { return at[static_cast<std::size_t>(v)]; };
  const auto apart = [&](int thread) { return value(thread * n) - value(0); };
  std::map<std::vector<int>, std::size_t> rows; // by the coordinates along the other axes
  for (int v = 0; v < n; ++v) {
    std::vector<int> other;
    for (std::size_t a = 0; a < from.extents.size(); ++a)
      other.push_back(a == axis ? 0 : coordinates(from.tv, a)[static_cast<std::size_t>(v)]);
    const auto [found, fresh] = rows.try_emplace(std::move(other), out.row.size());
    if (fresh) out.row.emplace_back();
    out.row[found->second].push_back(v);
  }
  for (std::vector<int>& row : out.row)
    std::sort(row.begin(), row.end(), [&](int a, int b) { return value(a) < value(b); });
  for (int bit = 1; bit < wave_size; bit *= 2)
    if (apart(bit) != 0) out.lanes.push_back(bit);
  std::sort(out.lanes.begin(), out.lanes.end(), [&](int a, int b) { return apart(a) < apart(b); });
  for (int w = 1; w < waves; ++w)
    if (apart(w * wave_size) != 0) out.waves = waves;
  out.unit = !out.lanes.empty() ? apart(out.lanes[0])
             : out.waves > 1    ? apart(wave_size)
                                : static_cast<int>(out.row[0].size());
  if (out.unit < 1) return std::nullopt;
  int whole = out.unit;
  for (const int bit : out.lanes) {
    if (apart(bit) != whole) return std::nullopt;
    whole *= 2;
  }
  for (int w = 1; w < out.waves; ++w)
    if (apart(w * wave_size) != w * whole) return std::nullopt;
  whole *= out.waves;
  for (const std::vector<int>& row : out.row)
    for (int k = 0; k < static_cast<int>(row.size()); ++k)
      if (row.size() != out.row[0].size() || static_cast<int>(row.size()) % out.unit != 0 ||
          value(row[static_cast<std::size_t>(k)]) - value(row[0]) != k / out.unit * whole + k % out.unit)
        return std::nullopt;
  return out;
}

} // namespace inlay::codegen
