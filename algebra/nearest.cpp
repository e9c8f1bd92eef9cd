#include <inlay/algebra/nearest.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace inlay {
namespace {

constexpr std::size_t longest = 64; // longer words are nobody's typing error

std::string folded(std::string_view s) {
  std::string out(s.substr(0, longest));
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

} // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) {
  const std::string a = folded(left), b = folded(right);
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string nearest(std::string_view given, std::span<const std::string> known) {
  std::string found;
  std::size_t best = longest;
  for (const std::string& name : known)
    if (const std::size_t n = edit_distance(given, name); n < best) best = n, found = name;
  if (best <= std::max<std::size_t>(1, std::min(found.size(), given.size()) / 3)) return found;
  // attention for flash_attention, rms for rmsnorm: a part of one name alone.
  const std::string part = folded(given);
  std::string only;
  for (const std::string& name : known) {
    if (part.size() < 3 || folded(name).find(part) == std::string::npos) continue;
    if (!only.empty()) return {};
    only = name;
  }
  return only;
}

std::string did_you_mean(std::string_view given, std::span<const std::string> known,
                         std::string_view before) {
  const std::string name = nearest(given, known);
  return name.empty() ? "" : "did you mean " + std::string(before) + name + "? ";
}

} // namespace inlay
