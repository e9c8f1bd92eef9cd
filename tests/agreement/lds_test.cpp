// LDS clocks: the solver counts them from its table of phases, the emulator while a kernel runs. Two bodies, one truth.
#include "../runtime/emulator_support.h"

#include <inlay/solver/lds.h>

#include <random>

namespace lds_test {

using namespace emulator_test;

namespace {

/// Clocks and conflicts of one `instruction` executed at these byte addresses, as the emulator counts them.
std::pair<std::uint64_t, std::uint64_t> emulated(const std::string& instruction, isa::Arch arch,
                                                 const std::vector<std::uint32_t>& addresses) {
  const bool read = instruction.starts_with("ds_read");
  const auto registers = [&](unsigned bytes) {
    return bytes <= 4 ? std::string("v4") : "v[4:" + std::to_string(4 + bytes / 4 - 1) + "]";
  };
  const unsigned bytes = inlay::solver::lds_access(instruction, isa::to_string(arch)).bytes;
  const std::string body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                           "v_lshlrev_b32_e32 v1, 2, v0\n"
                           "s_waitcnt lgkmcnt(0)\n"
                           "global_load_dword v2, v1, s[4:5]\n"
                           "s_waitcnt vmcnt(0)\n" +
                           (read ? instruction + " " + registers(bytes) + ", v2\n"
                                 : instruction + " v2, " + registers(bytes) + "\n") +
                           "s_waitcnt lgkmcnt(0)\n"
                           "s_endpgm\n";
  EmulatorDevice device(arch, {.threads = 1, .checks = Checks::none(), .bank_model = true});
  const DevicePointer list = upload(device, addresses);
  const LaunchResult r = run(device, kernel(body, arch, {.lds = 65536}),
                             {.grid = {1}, .block = {static_cast<std::uint32_t>(addresses.size())}},
                             Arguments().pointer(list).bytes());
  return {r.statistics.lds_cycles, r.statistics.lds_conflict_cycles};
}

} // namespace

TEST_CASE("LDS clocks: the solver and the emulator agree on every instruction at any addresses") {
  std::mt19937 engine(7);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950, isa::Arch::gfx90a}) {
    for (const std::string instruction :
         {"ds_read_b32", "ds_read_b64", "ds_read_b96", "ds_read_b128", "ds_write_b32", "ds_write_b64",
          "ds_write_b96", "ds_write_b128", "ds_read_u8", "ds_read_u16", "ds_write_b8", "ds_write_b16"}) {
      const auto& access = inlay::solver::lds_access(instruction, isa::to_string(arch));
      const std::uint32_t unit = access.alignment;
      for (unsigned round = 0; round < 60; ++round) {
        std::vector<std::uint32_t> addresses(round % 6 == 5 ? 1 + random() % 64 : 64);
        // Few places meet in few banks; strides are what kernels have; everything shared is a broadcast.
        const std::uint32_t stride = unit * (1 + random() % 64), places = 1U << (round % 10);
        for (std::uint32_t lane = 0; lane < addresses.size(); ++lane)
          addresses[lane] = round % 2 == 0 ? random() % places * 128 % 32768 + random() % 2 * unit
                                           : lane * stride % 32768 / unit * unit;
        const auto model = inlay::solver::lds_conflicts(
            access, [&](unsigned lane) { return std::int64_t{addresses[lane]}; },
            static_cast<unsigned>(addresses.size()));
        const auto [clocks, conflicts] = emulated(instruction, arch, addresses);
        INFO(instruction << " on " << isa::to_string(arch) << ", round " << round << ", " << addresses.size()
                         << " lanes");
        REQUIRE(clocks == model.clocks);
        REQUIRE((conflicts == 0) == (model.degree == 1));
      }
    }
  }
}

} // namespace lds_test
