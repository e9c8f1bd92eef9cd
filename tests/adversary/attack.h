/// Programs that try to prove something false. Each is written with the rule at hand that it attacks; it is refused, with that rule's
/// reason, or it is right: proved, and so said tokens and the emulator, each against the specification evaluated by its definition.
///
///     {"a tile of rows 4 to 7 of blocks of 16", "may begin inside a block of 16", unblocked(16, 4, 1), {{16, 256}}}
///
/// What is refused has to be wrong as well: with claims left out, tokens or the emulator find it so for one of the sizes. Where
/// neither can (memory that happens to be there, an order that the emulator does not have) the attack says why it is refused.
#pragma once

#include "../mutate/emulated.h"
#include "../mutate/judge.h"

#include <inlay/codegen/program.h>

#include <functional>
#include <string>
#include <vector>

namespace adversary {

using namespace inlay;
using namespace inlay::codegen;
using mutate::Sizes;

struct Attack {
  std::string name;
  std::string because; ///< a part of what refuses it; "": it is right
  std::function<Program()> make;
  std::vector<Sizes> sizes;
  std::function<void(Code&)> change = {}; ///< what the adversary does to the code
  std::string unseen = {};                ///< refused, and why nothing shows it here
};

/// Tries each of them. With INLAY_CLAIMS in the environment claims are asked alone: neither tokens nor the emulator.
void attack(const std::vector<Attack>& attacks);

/// Whether a message has a symbol that no user wrote.
[[nodiscard]] bool names_internals(const std::string& message);

/// A place as text in the sizes that were declared; none for an empty one.
[[nodiscard]] std::optional<SymLayout> place_of(Program& k, const std::string& text);

[[nodiscard]] inline const Target& target() { return Target::named("gfx942"); }

} // namespace adversary
