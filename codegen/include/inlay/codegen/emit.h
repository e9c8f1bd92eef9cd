/// From LLVM IR to a code object, in process: verify, optimise, generate code, link.
///
/// The running example is the text of a module; kernels normally come from `KernelBuilder`:
///
///     Emitted e = emit(IrModule::parse(text), Target::named("MI300X"));
///     e.hsaco       // an ELF file that `inlay exec`, HIP and `inlay inspect` take
///     e.assembly    // the same as text
///     e.timings     // milliseconds of optimisation, code generation and linking
///
/// The steps are those of `opt -O3`, `llc -O3`, `llvm-mc` and `ld.lld -shared`, with the AMDGPU target's own passes at
/// the extension points (its Attributor removes the implicit kernel arguments that a kernel does not use),
/// without starting a process: the floor of a process start is 11-18 ms a tool, more than the work for a
/// small kernel. LLVM is built without assertions on Debian, so IR is verified here, before and after
/// optimisation.
///
/// Sources: LLVM "User Guide for AMDGPU Backend" (code object, kernel metadata, triple), "Using the New Pass
/// Manager", lld/Common/Driver.h.
#pragma once

#include <inlay/codegen/target.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace inlay::codegen {

/// A module of LLVM IR with its context. Move only; LLVM's types stay behind the pointer.
class IrModule {
public:
  struct Impl;
  explicit IrModule(std::unique_ptr<Impl> impl);
  IrModule(IrModule&&) noexcept;
  IrModule& operator=(IrModule&&) noexcept;
  ~IrModule();

  /// The module in LLVM assembly text. Errors: CodegenError with LLVM's message and the line.
  [[nodiscard]] static IrModule parse(const std::string& text);
  /// Its LLVM assembly text, as `.ll` files hold it.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] double build_milliseconds() const;
  [[nodiscard]] Impl& impl() const { return *impl_; }

private:
  std::unique_ptr<Impl> impl_;
};

/// Milliseconds of wall time.
struct Timings {
  double ir = 0;      ///< building the IR (filled by whoever built it)
  double opt = 0;     ///< verification and the optimisation pipeline
  double codegen = 0; ///< instruction selection to assembly, and the assembler
  double link = 0;    ///< lld
  [[nodiscard]] double total() const { return ir + opt + codegen + link; }
};

struct EmitOptions {
  int level = 3; ///< of optimisation, 0..3
  /// The order of the IR is the order of the machine code: LLVM's machine schedulers do not run.
  bool keep_order = false;
};

/// What `emit` makes of a module.
struct Emitted {
  std::string ir;       ///< the module as given
  std::string assembly; ///< what `hsaco` was assembled from
  std::vector<std::byte> hsaco;
  Timings timings;
  bool from_cache = false;
};

/// Compiles a module for a target.
/// Errors: CodegenError when the IR does not verify, or when the backend or the linker refuses it, with their
/// words.
[[nodiscard]] Emitted emit(const IrModule& module, const Target& target, const EmitOptions& options = {});

/// `22.1.x`, the LLVM that is linked in.
[[nodiscard]] std::string llvm_version();

} // namespace inlay::codegen
