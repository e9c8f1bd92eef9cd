/// A third hand for codes that are proved: as machine code on the emulator. Claims and tokens see the code; descriptors, addresses
/// and what LLVM makes of it are seen here alone.
#pragma once

#include "tokens.h"

#include <inlay/kernels/artifact.h>

namespace inlay::mutate {

/// The machine code of a code.
class Machine {
public:
  /// Errors: CodegenError, of what no instruction is for.
  explicit Machine(const codegen::Code& code);
  /// Runs it for these sizes with all sanitizers, on all devices that share it. Gives the first element that is not what the
  /// specification says, or what a sanitizer found; nothing when all is well.
  [[nodiscard]] std::string wrong(const std::vector<Sizes>& sizes) const;

  struct Verdict {
    enum Is : std::uint8_t { validated, refuted, undecided } is = undecided;
    std::string why; ///< of the last two
  };
  /// Validated against a code, its own or another one of the same arguments; undecided in a build without inlay_validate.
  [[nodiscard]] Verdict against(const codegen::Code& code) const;

private:
  const codegen::Code& code_;
  kernels::Artifact artifact_;
};

/// Machine(code).wrong(sizes).
[[nodiscard]] std::string emulated(const codegen::Code& code, const std::vector<Sizes>& sizes);

} // namespace inlay::mutate
