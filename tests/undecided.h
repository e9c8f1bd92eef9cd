/// While it lives, validation of what tests build may say that it does not decide, never that the code is wrong.
#pragma once

#include <cstdlib>

struct Undecided {
  Undecided() { setenv("INLAY_VALIDATE", "refuted", 1); }
  ~Undecided() { setenv("INLAY_VALIDATE", "all", 1); }
  Undecided(const Undecided&) = delete;
  Undecided& operator=(const Undecided&) = delete;
};
