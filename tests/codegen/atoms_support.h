/// What the probes of atoms share: assembly run on the emulator, and layouts as tables of numbers.
#pragma once

#include "../runtime/emulator_support.h"

#include <inlay/algebra/parse.h>
#include <inlay/codegen/atoms.h>

#include <array>
#include <string>
#include <vector>

namespace atoms_test {

using namespace inlay;
using namespace inlay::codegen;
namespace rt = inlay::runtime;

inline constexpr int lanes = 64;

inline rt::isa::Arch arch_of(const Target& target) { return target.arch; }

/// v[first:last], or v3 alone.
inline std::string registers(int first, int count, char file = 'v') {
  if (count == 1) return file + std::to_string(first);
  return std::string(1, file) + "[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

/// The coordinate that (lane, value) has in a layout with basis strides: entry a is along axis a. Read off the modes one
/// by one, by the definition of a layout.
inline std::array<int, 3> coordinate(const Layout& layout, int lane, int value) {
  std::array<int, 3> at{};
  for (int side = 0; side < 2; ++side) {
    std::int64_t i = side == 0 ? lane : value;
    const Layout part = layout.mode(static_cast<std::size_t>(side));
    for (const Mode& m : part.modes()) {
      const std::int64_t digit = i % m.extent.value();
      i /= m.extent.value();
      if (m.stride.is_basis()) at[m.stride.axis[0]] += static_cast<int>(digit * m.stride.scale.value());
    }
  }
  return at;
}

/// The value of a layout without basis strides at (lane, bit), likewise.
inline std::int64_t place(const Layout& layout, int lane, int bit) {
  std::int64_t at = 0;
  for (int side = 0; side < 2; ++side) {
    std::int64_t i = side == 0 ? lane : bit;
    const Layout part = layout.mode(static_cast<std::size_t>(side));
    for (const Mode& m : part.modes()) {
      at += i % m.extent.value() * m.stride.scale.value();
      i /= m.extent.value();
    }
  }
  return at;
}

/// Assembles `body` as a kernel, runs `workgroups` of one wave with these buffers (address n in s[4+2n:5+2n]) and reads
/// the buffers back.
inline void run(const Target& target, const std::string& body,
                std::vector<std::vector<std::uint8_t>*> buffers, unsigned workgroups = 1, unsigned lds = 0) {
  using namespace emulator_test;
  EmulatorDevice device(arch_of(target), {.threads = 1});
  std::string load;
  Arguments arguments;
  std::vector<DevicePointer> places;
  for (std::size_t n = 0; n < buffers.size(); ++n) {
    const DevicePointer p = device.allocate(buffers[n]->size());
    device.copy_in(p, *buffers[n]);
    places.push_back(p);
    arguments.pointer(p);
    load += "s_load_dwordx2 s[" + std::to_string(4 + 2 * n) + ":" + std::to_string(5 + 2 * n) +
            "], s[0:1], " + std::to_string(8 * n) + "\n";
  }
  const auto object = kernel(
      load + "s_waitcnt lgkmcnt(0)\n" + body + "\ns_endpgm\n", arch_of(target),
      {.lds = lds, .kernarg = static_cast<unsigned>(8 * buffers.size()), .vgprs = 128, .accum_offset = 128});
  const auto result =
      emulator_test::run(device, object, {.grid = {workgroups}, .block = {64}}, arguments.bytes());
  INFO(all(result.findings));
  REQUIRE(result.findings.empty());
  for (std::size_t n = 0; n < buffers.size(); ++n) device.copy_out(*buffers[n], places[n]);
}

} // namespace atoms_test
