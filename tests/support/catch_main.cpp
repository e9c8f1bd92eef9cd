#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <malloc.h>

int main(int argc, char** argv) {
  // As in cli/main.cpp: Z3 takes and gives back tens of megabytes for each question.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  return Catch::Session().run(argc, argv);
}
