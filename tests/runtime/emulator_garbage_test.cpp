// Garbage as code: whatever the bytes are, execution ends in a result or in an error that says where.
#include "emulator_support.h"

#include <random>

namespace emulator_garbage_test {

using namespace emulator_test;

TEST_CASE("random code never harms the process", "[error]") {
  std::mt19937 random(99);
  std::size_t refused = 0;
  for (unsigned round = 0; round < 200; ++round) {
    const isa::Arch arch = round % 2 == 0 ? isa::Arch::gfx942 : isa::Arch::gfx950;
    // Words with the leading bits of real encodings, so that many of them decode.
    std::string body;
    for (unsigned i = 0; i < 24; ++i) {
      static constexpr std::uint32_t prefixes[] = {0x00000000, 0x7e000000, 0x7c000000, 0xd1000000,
                                                   0xd3800000, 0xd8000000, 0xdc000000, 0xe0000000,
                                                   0x80000000, 0xbe800000, 0xb0000000, 0xc0000000};
      static constexpr std::uint32_t free_bits[] = {0x7fffffff, 0x01ffffff, 0x01ffffff, 0x03ffffff,
                                                    0x007fffff, 0x03ffffff, 0x03ffffff, 0x03ffffff,
                                                    0x3fffffff, 0x007fffff, 0x0fffffff, 0x03ffffff};
      const std::size_t p = random() % 12;
      body += ".long " + std::to_string(prefixes[p] | (static_cast<std::uint32_t>(random()) & free_bits[p])) +
              "\n.long " + std::to_string(static_cast<std::uint32_t>(random())) + "\n";
    }
    EmulatorDevice device(arch, {.threads = 1,
                                 .checks = round % 3 == 0 ? Checks::all() : Checks::none(),
                                 .stress = round % 5 == 0,
                                 .max_wave_instructions = 20000});
    try {
      run(device, kernel(body + "s_endpgm\n", arch, {.lds = 1024, .scratch = 64}),
          {.grid = {2}, .block = {128}}, {});
    } catch (const ExecutionError& e) {
      ++refused;
      CHECK(std::string(e.what()).find("at     ") != std::string::npos);
    }
  }
  CHECK(refused > 50);
}

} // namespace emulator_garbage_test
