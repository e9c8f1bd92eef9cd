// Linked into a test, this validates the machine code of every kernel that the test builds (kernels/build.cpp).
#include <cstdlib>

namespace {
[[maybe_unused]] const int validated = setenv("INLAY_VALIDATE", "all", 0);
}
