/// One Catch2 test case a law, so that ctest runs and reports them one by one.
#pragma once

#include <catch2/catch.hpp>

#include <inlay/algebra/laws.h>

#include <iterator>
#include <string>
#include <utility>

namespace inlay::testing {

template <void (*run)(const laws::Law&), std::size_t k>
void law_case() {
  run(laws::all[k]);
}

/// Registers "WHAT, law: NAME" for every law. `static const bool done = register_laws<f>("on the zoo", "[tag]");`
template <void (*run)(const laws::Law&)>
bool register_laws(const std::string& what, const std::string& tags) {
  const auto one = [&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
    const std::string name = what + ", law: " + laws::all[k].name;
    Catch::AutoReg(Catch::makeTestInvoker(&law_case<run, k>), CATCH_INTERNAL_LINEINFO, Catch::StringRef(),
                   Catch::NameAndTags{name, tags});
  };
  [&]<std::size_t... k>(std::index_sequence<k...>) { (one(std::integral_constant<std::size_t, k>()), ...); }
  (std::make_index_sequence<std::size(laws::all)>());
  return true;
}

} // namespace inlay::testing
