#include "command.h"

#include <catch2/catch.hpp>
#include <sstream>

TEST_CASE("the command line: version, an unknown command, no command") {
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(inlay::cli::run({"version"}, in, out, err) == 0);
  CHECK(out.str().rfind("inlay ", 0) == 0);
  CHECK(inlay::cli::run({"no-such-command"}, in, out, err) == 2);
  CHECK(inlay::cli::run({}, in, out, err) == 2);
  CHECK(err.str().find("hint") != std::string::npos);
}
