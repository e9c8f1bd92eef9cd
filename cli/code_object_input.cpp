#include "code_object_input.h"

#include <inlay/runtime/isa/assemble.h>

namespace inlay::cli {

runtime::CodeObject read_code_object(Session& session, const std::string& file, const std::string& arch) {
  namespace isa = runtime::isa;
  const std::string bytes = read_text(session, file);
  const bool binary = bytes.starts_with("\177ELF") || bytes.starts_with("__CLANG_OFFLOAD_BUNDLE__") ||
                      bytes.starts_with("CCOB") || bytes.find('\0') != std::string::npos || bytes.empty();
  if (binary) return runtime::CodeObject::parse({bytes.begin(), bytes.end()}, arch);
  auto target = isa::target_of(bytes);
  if (!arch.empty()) {
    const isa::Arch asked = isa::parse_arch(arch);
    if (target && *target != asked)
      throw runtime::CodeObjectError(file + " is assembly for " + std::string(isa::to_string(*target)) +
                                         ", not for " + arch,
                                     "leave --arch out");
    target = asked;
  }
  if (!target)
    throw runtime::CodeObjectError(file + " is neither a code object nor assembly with a .amdgcn_target line",
                                   "for assembly without one, give --arch gfx942 or gfx950");
  return runtime::CodeObject::parse(isa::assemble_code_object(bytes, *target, file == "-" ? "stdin" : file));
}

} // namespace inlay::cli
