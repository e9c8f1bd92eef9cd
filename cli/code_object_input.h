/// How commands take a kernel: a code object (HSACO, relocatable object, offload bundle), assembly text, or a description of a launch
/// that names its code object, from a file or from standard input. Assembly is assembled, and linked, in process for the processor
/// in its .amdgcn_target.
#pragma once

#include "command.h"

#include <inlay/launch/bundle.h>
#include <inlay/runtime/code_object.h>

#include <optional>

namespace inlay::cli {

/// A code object, and what the file says of its launch besides.
struct SourceFile {
  runtime::CodeObject object;
  std::optional<launch::Manifest> manifest;
  /// Of the .json that Triton's cache has beside each .hsaco: 64 times `num_warps`, and `shared`.
  std::uint32_t triton_block = 0;
  std::optional<std::uint32_t> triton_lds;
  /// Of a kernel with several forms, and which of them this is.
  std::optional<launch::Forms> forms = {};
  launch::Forms::Plan plan = {};
};

/// What a launch says that chooses among what a bundle holds.
struct OfBundle {
  std::string kernel;
  std::optional<launch::Sizes> sizes; ///< none: a file with several forms is refused
};

/// FILE (`-`: standard input). `arch` chooses from a bundle, and is what assembly without .amdgcn_target is for.
/// Errors: std::runtime_error, CodeObjectError, IsaError, LaunchError.
[[nodiscard]] SourceFile read_source(Session& session, const std::string& file, const std::string& arch,
                                     const OfBundle& which = {});

/// The kernel of that name, the linker's or C++'s (runtime/names.h); the only one when `name` is empty.
/// Errors: CodeObjectError with the nearest name, or those that it may mean.
[[nodiscard]] const runtime::Kernel& kernel_named(const runtime::CodeObject& object, const std::string& name);

/// Only the code object.
[[nodiscard]] runtime::CodeObject read_code_object(Session& session, const std::string& file,
                                                   const std::string& arch);

} // namespace inlay::cli
