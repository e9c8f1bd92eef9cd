#include <inlay/machine/target.h>

#include <cctype>

namespace inlay::machine {

std::span<const Target> Target::all() { return targets; }

const Target* find_chip(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Target& t : targets)
    if (small == t.name || t.is_chip(small)) return &t;
  // MI355 is the one whose name begins so.
  for (const Target& t : targets)
    if (small.size() >= 5 && small.find(' ') == std::string::npos &&
        (" " + std::string(t.chips)).find(" " + small) != std::string::npos)
      return &t;
  return nullptr;
}

const Target& Target::named(std::string_view name) {
  if (const Target* t = find_chip(name)) return *t;
  std::string there_are;
  for (const Target& t : targets)
    there_are +=
        (there_are.empty() ? "" : " or ") + std::string(t.name) + " (" + std::string(t.product) + ")";
  throw UnknownTarget("unknown architecture\n  arch   " + std::string(name) + "\n  hint   " + there_are);
}

std::string names(std::string_view between) {
  std::string out;
  for (const Target& t : targets) {
    if (!out.empty()) out += between;
    out += t.name;
  }
  return out;
}

std::string TargetSet::names() const {
  std::string out;
  for (const Target& t : targets)
    if (contains(t)) out += (out.empty() ? "" : ", ") + std::string(t.name);
  return out;
}

} // namespace inlay::machine
