#include "command.h"

#include <iostream>
#include <malloc.h>

int main(int argc, char** argv) {
  // Z3 takes and gives back tens of megabytes for each question. A third of the processor time of a validation that asks many was the
  // kernel's, for pages given back and cleared again.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  std::ios::sync_with_stdio(false);
  return inlay::cli::run(std::vector<std::string>(argv + 1, argv + argc), std::cin, std::cout, std::cerr);
}
