/// The machine's row of an architecture. Private.
#pragma once

#include <inlay/machine/target.h>
#include <inlay/runtime/isa/program.h>

namespace inlay::runtime::isa {

/// Both enumerations list the processors in the order of `machine::targets`.
static_assert(static_cast<int>(Arch::gfx942) == static_cast<int>(machine::Arch::gfx942) &&
              static_cast<int>(Arch::gfx950) == static_cast<int>(machine::Arch::gfx950));
[[nodiscard]] constexpr machine::Arch machine_arch(Arch arch) { return static_cast<machine::Arch>(arch); }
[[nodiscard]] constexpr const machine::Target& target(Arch arch) {
  return machine::target(machine_arch(arch));
}

} // namespace inlay::runtime::isa
