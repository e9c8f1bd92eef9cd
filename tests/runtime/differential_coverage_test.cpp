// The list that a machine keeps: everything the emulator says it executes has been executed and compared.
#include "differential.h"

#include <catch2/catch.hpp>
#include <inlay/runtime/emulator.h>

using namespace differential;

TEST_CASE("every implemented instruction executes and agrees with its formula", "[differential]") {
  scalar_family();
  scalar_memory_family();
  lds_family();
  vector_memory_family();
  vector_family();
  lane_family();
  matrix_family();
  std::string missing;
  std::size_t implemented = 0;
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950, isa::Arch::gfx90a}) {
    for (const InstructionSupport& i : instruction_support(arch)) {
      if (!i.emulated) continue;
      ++implemented;
      if (covered().count({arch, i.format, i.mnemonic}) == 0) {
        missing += std::string(isa::to_string(arch)) + " " + std::to_string(static_cast<int>(i.format)) +
                   " " + i.mnemonic + "\n";
      }
    }
  }
  CHECK(missing == "");
  CHECK(implemented > 2000);
}
