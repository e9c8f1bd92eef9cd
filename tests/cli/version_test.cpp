#include "inlay_command.h"

#include <catch2/catch.hpp>

TEST_CASE("the command line: version, an unknown command, no command") {
  const Ran version = inlay_command({"version"});
  CHECK(version.exit == 0);
  CHECK(version.out.rfind("inlay ", 0) == 0);
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"no-such-command"}, {}}) {
    const Ran ran = inlay_command(bad);
    CHECK(ran.exit == 2);
    CHECK(ran.err.find("hint") != std::string::npos);
  }
}
