/// Verdicts about machine code, as a command ends and as it says them.
#pragma once

#include "colour.h"

#include <inlay/runtime/symbolic/order.h>

namespace inlay::cli {

[[nodiscard]] inline int exit_of(runtime::symbolic::Verdict v) {
  using runtime::symbolic::Verdict;
  return v == Verdict::validated ? Exit::yes : v == Verdict::refuted ? Exit::no : Exit::undecided;
}

[[nodiscard]] inline std::string painted(const Session& session, runtime::symbolic::Verdict v) {
  return painted_verdict(session, exit_of(v), std::string(to_string(v)));
}

} // namespace inlay::cli
