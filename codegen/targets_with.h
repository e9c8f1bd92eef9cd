/// Sets of targets by what the machine's rows say of them. Private.
#pragma once

#include <inlay/codegen/target.h>
#include <inlay/machine/target.h>

namespace inlay::codegen {

inline constexpr TargetSet every_target{machine::every_target.members};
/// `targets_with(&machine::Target::packs_bf16)`.
[[nodiscard]] constexpr TargetSet targets_with(bool machine::Target::*feature) {
  return {machine::with(feature).members};
}
[[nodiscard]] constexpr TargetSet targets_without(bool machine::Target::*feature) {
  return {machine::without(feature).members};
}
/// Those that move that many bytes a lane from memory to LDS.
[[nodiscard]] constexpr TargetSet moves_to_lds(int bytes) {
  return {
      machine::targets_where([bytes](const machine::Target& t) { return t.moves_to_lds(bytes); }).members};
}

} // namespace inlay::codegen
