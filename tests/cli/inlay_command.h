// The command line in-process: what a test of a command starts with.
#pragma once

#include "command.h"

#include <sstream>
#include <string>
#include <vector>

/// What a command answered.
struct Ran {
  int exit;
  std::string out, err;
};

/// `inlay ARGUMENTS...` with `input` on standard input: inlay_command({"eval", "coalesce((2,3):(1,2))"}).out
inline Ran inlay_command(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int exit = inlay::cli::run(arguments, in, out, err);
  return {exit, out.str(), err.str()};
}
