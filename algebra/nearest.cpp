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

namespace {

// attention for flash_attention, rms for rmsnorm: names of which it is a part.
std::vector<std::string> containing(std::string_view given, std::span<const std::string> known) {
  const std::string part = folded(given);
  std::vector<std::string> out;
  for (const std::string& name : known)
    if (part.size() >= 3 && folded(name).find(part) != std::string::npos) out.push_back(name);
  return out;
}

} // namespace

std::string nearest(std::string_view given, std::span<const std::string> known) {
  std::string found;
  std::size_t best = longest;
  for (const std::string& name : known)
    if (const std::size_t n = edit_distance(given, name); n < best) best = n, found = name;
  if (best <= std::max<std::size_t>(1, std::min(found.size(), given.size()) / 3)) return found;
  const std::vector<std::string> parts = containing(given, known);
  return parts.size() == 1 ? parts[0] : "";
}

std::string did_you_mean(std::string_view given, std::span<const std::string> known,
                         std::string_view before) {
  std::vector<std::string> names;
  if (const std::string one = nearest(given, known); !one.empty())
    names.push_back(one);
  else if (names = containing(given, known); names.size() > 8)
    names.clear();
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i)
    all += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + std::string(before) + names[i];
  return all.empty() ? "" : "did you mean " + all + "? ";
}

} // namespace inlay
