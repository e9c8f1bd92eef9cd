/// Assembly text to machine code, in process: LLVM's AMDGPU assembler and lld's ELF linker.
///
///     auto hsaco = assemble_code_object(read("softmax.gfx942.s"), Arch::gfx942);   // what the loader takes
///     auto bytes = assemble("v_add_u32 v2, v0, v1\n s_endpgm", Arch::gfx942);      // the bytes of .text
///     only
///
/// The syntax and the directives (.amdhsa_kernel, .amdgpu_metadata) are those of LLVM's "User Guide for
/// AMDGPU Backend", chapter "Assembler".
#pragma once

#include <inlay/runtime/isa/program.h>

namespace inlay::runtime::isa {

/// A relocatable ELF object from assembly text. Errors: IsaError with the assembler's first diagnostics
/// (line, column). With `source_file`, the object has debug information that names that file's lines, as `llvm-mc -g`
/// makes it, unless the text has its own (.file, .loc).
[[nodiscard]] std::vector<std::uint8_t> assemble_object(std::string_view text, Arch arch,
                                                        std::string_view source_file = {});

/// A loadable code object (shared ELF, as in a .hsaco) from a relocatable one. Errors: IsaError with lld's
/// message.
[[nodiscard]] std::vector<std::uint8_t> link_code_object(std::span<const std::uint8_t> object);

/// Both steps: text to a loadable code object.
[[nodiscard]] std::vector<std::uint8_t> assemble_code_object(std::string_view text, Arch arch,
                                                             std::string_view source_file = {});

/// The bytes of the .text section of `text`: for instruction tests. Errors: IsaError.
[[nodiscard]] std::vector<std::uint8_t> assemble(std::string_view text, Arch arch);

/// The architecture that a file of assembly names in its .amdgcn_target, if it does.
[[nodiscard]] std::optional<Arch> target_of(std::string_view text);

} // namespace inlay::runtime::isa
