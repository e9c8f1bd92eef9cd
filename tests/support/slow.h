// Whether a test runs as ctest's label slow has it: the environment has INLAY_SLOW (inlay_slow in cmake/InlayTargets.cmake).
#pragma once

#include <cstdlib>

inline bool is_slow() { return std::getenv("INLAY_SLOW") != nullptr; }
