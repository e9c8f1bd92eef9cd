#include "attack.h"

#include <inlay/algebra/parse.h>
#include <inlay/codegen/schedule.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <regex>

namespace adversary {

std::optional<SymLayout> place_of(Program& k, const std::string& text) {
  if (text.empty()) return {};
  return parse_sym_layout(k.symbols(), text);
}

// Symbols of the library begin with a low line, and what users name does not.
bool names_internals(const std::string& message) {
  static const std::regex symbol("(^|[^A-Za-z0-9_])_[a-z]");
  return std::regex_search(message, symbol);
}

void attack(const std::vector<Attack>& attacks) {
  static const bool alone = std::getenv("INLAY_CLAIMS") != nullptr;
  for (const Attack& a : attacks) {
    INFO(a.name);
    std::string refused, shown;
    std::optional<Program> program;
    try {
      program.emplace(a.make());
      const Graph graph = expand(*program);
      Code code = apply(graph, default_schedule(graph));
      if (a.change) a.change(code);
      refused = mutate::refuted(code);
      const bool run = !alone && (a.because.empty() || a.unseen.empty());
      if (run) shown = mutate::wrong(code, a.sizes);
      if (run && shown.empty()) try {
          shown = mutate::emulated(code, a.sizes);
        } catch (const std::exception& e) { // nothing to emit
          shown = e.what();
        }
    } catch (const std::exception& e) { // by the program itself, or for want of an instruction
      refused = e.what(), shown = "there is no code";
    }
    CHECK_FALSE(names_internals(refused));
    if (a.because.empty()) {
      CHECK(refused == "");
      CHECK(shown == "");
    } else {
      CHECK_THAT(refused, Catch::Contains(a.because));
      INFO("refused: " << refused);
      if (!alone && a.unseen.empty()) CHECK(shown != "");
    }
  }
}

} // namespace adversary
