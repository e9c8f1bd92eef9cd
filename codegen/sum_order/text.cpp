// Trees in words.
#include "trees.h"

#include <inlay/algebra/print.h>

namespace inlay::codegen::sums {

std::string Trees::describe(int id, int depth) const {
  if (const auto found = described_.find(id); found != described_.end()) return found->second;
  std::string out = depth > 60 ? ".." : described(id, depth);
  if (out.size() > 400) out = "..";
  return described_[id] = std::move(out);
}

std::string Trees::described(int id, int depth) const {
  const auto key = node(id).key;
  const auto below = [&](std::int64_t of) { return describe(static_cast<int>(of), depth + 1); };
  switch (static_cast<Kind>(key[0])) {
  case load: return p_.tensor(static_cast<int>(key[1])).name;
  case fill: return "";
  case product: {
    std::string name;
    for (const auto& [atom, n] : atoms_)
      if (n.number == key[1]) name = atom->name;
    int count = 1;
    std::int64_t from = key[2];
    while (node(static_cast<int>(from)).key[0] == product && node(static_cast<int>(from)).key[1] == key[1])
      ++count, from = node(static_cast<int>(from)).key[2];
    const std::string rest = below(from);
    return (rest.empty() ? "" : rest + ", then ") + (count > 1 ? std::to_string(count) + " x " : "") + name;
  }
  case fold: {
    const auto elements = key.subspan(2);
    const auto first = std::ranges::find_if(elements, [](std::int64_t k) { return k >= 0; });
    const auto count = std::ranges::count_if(elements, [](std::int64_t k) { return k >= 0; });
    const bool vectors = static_cast<std::size_t>(count) != elements.size();
    const std::string what = std::string(to_string(static_cast<Monoid>(key[1]))) + " of " +
                             std::to_string(count) + (vectors ? ", vectors by halves" : " in order");
    const std::string of = node(static_cast<int>(*first)).key[0] == load ? "" : below(*first);
    return count == 1 ? below(*first) : (of.empty() ? "" : of + "; ") + what;
  }
  case lanes: {
    int count = 1;
    std::int64_t from = key[2];
    while (node(static_cast<int>(from)).key[0] == lanes) ++count, from = node(static_cast<int>(from)).key[2];
    const std::string of = below(from);
    return (of.empty() ? "" : of + "; ") + std::to_string(1 << count) + " lanes in pairs";
  }
  case best: // nothing is added: what the elements are
    return node(static_cast<int>(key[5])).key[0] == load ? "" : below(key[5]);
  case loop: {
    const Region& r = g_.regions[static_cast<std::size_t>(key[1])];
    std::string out = below(key[2]); // before the loop
    const std::string body = below(key[3]);
    if (!out.empty()) out += "; ";
    out += "trips of " + std::to_string(r.tile) + " over " + to_string(r.extent);
    if (!body.empty()) out += " (" + body + ")";
    return out;
  }
  case branch: {
    const std::string a = below(key[2]), b = below(key[3]);
    return a == b || b.empty() ? a : a.empty() ? b : "either " + a + " or " + b;
  }
  case map: {
    std::set<std::string> of;
    std::string out;
    const auto begin = std::find(key.begin() + 4, key.end(), -3) + 1;
    for (auto k = begin; k != key.end(); ++k) {
      if (node(static_cast<int>(*k)).key[0] == load) continue;
      const std::string one = below(*k);
      if (!one.empty() && one.size() < 400 && of.insert(one).second) out += (out.empty() ? "" : ", ") + one;
    }
    return out;
  }
  case mixed:
  case unset:
  case list:
  case carried:
  case drawn: return "";
  }
  return "";
}

} // namespace inlay::codegen::sums
