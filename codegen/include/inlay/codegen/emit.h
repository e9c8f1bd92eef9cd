/// From LLVM IR to a code object, in process: verify, optimise, generate code, link.
///
/// The running example is the text of a module; kernels normally come from `KernelBuilder`:
///
///     Emitted e = emit(IrModule::parse(text), Target::named("gfx942"));
///     e.hsaco       // an ELF file that `inlay exec`, HIP and `inlay inspect` take
///     e.assembly    // the same as text, when asked for
///     e.timings     // milliseconds of optimisation, code generation and linking
///
/// The steps are those of `opt -O3`, `llc -O3` and `ld.lld -shared`, with the AMDGPU target's own passes at
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
#include <filesystem>
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
  [[nodiscard]] Impl& impl() const { return *impl_; }

private:
  std::unique_ptr<Impl> impl_;
};

/// Milliseconds of wall time.
struct Timings {
  double ir = 0;      ///< building the IR (filled by whoever built it)
  double opt = 0;     ///< verification and the optimisation pipeline
  double codegen = 0; ///< instruction selection to object
  double link = 0;    ///< lld
  [[nodiscard]] double total() const { return ir + opt + codegen + link; }
};

struct EmitOptions {
  int level = 3;         ///< of optimisation, 0..3
  bool assembly = false; ///< also the text form; it costs a second code generation
  /// The order of the IR is the order of the machine code: LLVM's machine schedulers do not run.
  bool keep_order = false;
};

/// What `emit` makes of a module.
struct Emitted {
  std::string ir;        ///< the module as given
  std::string optimised; ///< after the pipeline
  std::string assembly;  ///< empty unless asked for
  std::vector<std::byte> hsaco;
  Timings timings;
  bool from_cache = false;
};

/// Compiles a module for a target.
/// Errors: CodegenError when the IR does not verify, or when the backend or the linker refuses it, with their
/// words.
[[nodiscard]] Emitted emit(const IrModule& module, const Target& target, const EmitOptions& options = {});

/// Results of `emit`, kept under the hash of everything they depend on: IR text, target, options, LLVM
/// version.
///
/// In memory always, and in a directory when one is given; files are written under a temporary name and
/// renamed, so that processes sharing a directory see whole files or none. A file that is damaged counts as
/// absent. Not for concurrent use by threads; processes may share a directory.
class EmitCache {
public:
  explicit EmitCache(std::filesystem::path directory = {});
  ~EmitCache();
  EmitCache(const EmitCache&) = delete;
  EmitCache& operator=(const EmitCache&) = delete;

  /// As `emit`; `from_cache` says whether anything was compiled.
  [[nodiscard]] Emitted emit(const IrModule& module, const Target& target, const EmitOptions& options = {});
  /// The key, 64 hexadecimal digits (SHA-256).
  [[nodiscard]] static std::string key(const IrModule& module, const Target& target,
                                       const EmitOptions& options = {});

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// `22.1.x`, the LLVM that is linked in.
[[nodiscard]] std::string llvm_version();

} // namespace inlay::codegen
