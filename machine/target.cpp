#include <inlay/machine/target.h>

namespace inlay::machine {

std::span<const Target> Target::all() { return targets; }

const Target& Target::named(std::string_view name) {
  if (const Target* t = find_target(name)) return *t;
  std::string chip, there_are; // MI300X names its target
  for (const Target& t : targets) {
    if (t.product.find(name) != std::string_view::npos && name.size() > 3)
      chip = std::string(name) + " is " + std::string(t.name) + "; ";
    there_are +=
        (there_are.empty() ? "" : " or ") + std::string(t.name) + " (" + std::string(t.product) + ")";
  }
  throw UnknownTarget("unknown architecture\n  arch   " + std::string(name) + "\n  hint   " + chip +
                      there_are);
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
