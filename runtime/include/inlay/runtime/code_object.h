/// A compiled GPU program as a value: which kernels it holds, what each declares, and where its bytes are.
///
/// A code object is an ELF file for machine 224 (AMDGPU). A kernel in it is a symbol pair: `NAME` labels its
/// machine code in an executable section, `NAME.kd` a 64-byte *kernel descriptor* that the command processor
/// reads before it starts a wave: how many registers and how much LDS to reserve, which values to place in
/// the first scalar registers, how floating point behaves. What a *launcher* needs besides (argument offsets,
/// sizes and kinds) is MessagePack metadata in a note. `CodeObject` reads both and joins them, once:
///
///     auto object = CodeObject::read("gemm.hsaco");
///     const Kernel& k = object.kernel("gemm");          // or kernel("") when there is only one
///     k.descriptor.vgprs;                               // 264
///     object.code(k).size();                            // bytes of machine code
///
/// Reads code objects of ABI version 4, 5 and 6 for gfx942, gfx950 and gfx9-4-generic: linked ones (what a
/// driver loads), relocatable ones (what an assembler writes; good for a report, not for a launch), and those
/// packed into a clang offload bundle or a HIP executable.
///
/// Invariant: every offset, size and address that a `CodeObject` hands out has been checked against the file,
/// so users index without checking again. Whatever is malformed is one `CodeObjectError`, never a crash and
/// never an allocation larger than the file justifies.
///
/// Source: LLVM "User Guide for AMDGPU Backend", sections "ELF Code Object", "Kernel Descriptor", "Code
/// Object Metadata"; clang "Offload Bundler" for the container.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::runtime {

/// A file that is not a code object we can use: what was wrong, and what to do.
class CodeObjectError : public std::invalid_argument {
public:
  CodeObjectError(std::string problem, std::string hint);
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

private:
  std::string problem_, hint_;
};

/// One argument of a kernel, at `[offset, offset + size)` of its argument segment.
struct KernelArgument {
  std::string name; ///< empty when the compiler dropped it
  std::string kind; ///< metadata's `.value_kind`: "global_buffer", "by_value", "hidden_block_count_x", ...
  std::string address_space; ///< "global", "local", ... ; empty for values
  std::uint32_t offset = 0;
  std::uint32_t size = 0;

  /// Filled by the launcher, not by the user: kinds that begin with `hidden_`.
  [[nodiscard]] bool hidden() const { return kind.starts_with("hidden_"); }
  /// Its name, `arg16` where the compiler dropped it: by its byte.
  [[nodiscard]] std::string label() const { return name.empty() ? "arg" + std::to_string(offset) : name; }
  /// A device pointer: `global_buffer` or `dynamic_shared_pointer`.
  [[nodiscard]] bool pointer() const { return kind == "global_buffer" || kind == "dynamic_shared_pointer"; }
  bool operator==(const KernelArgument&) const = default;
};

/// The floating-point part of the MODE register as a wave starts with it ("MODE register" in the CDNA3 ISA
/// guide). Rounding: 0 nearest even, 1 up, 2 down, 3 to zero. Denormals: bit 0 keeps them in sources, bit 1
/// in results.
struct FloatMode {
  std::uint8_t round_32 = 0, round_16_64 = 0;
  std::uint8_t denorm_32 = 0, denorm_16_64 = 3;
  bool dx10_clamp = true; ///< clamp turns NaN into 0
  bool ieee = true;       ///< min, max and friends quiet signalling NaNs
  bool fp16_overflow = false;
  bool operator==(const FloatMode&) const = default;
};

/// The 64-byte kernel descriptor, decoded for gfx90a and later CDNA. Each bool says "the hardware puts this
/// into the next user SGPRs", in the order of declaration; workgroup ids follow *after all* user SGPRs.
struct KernelDescriptor {
  std::uint32_t lds_bytes = 0;     ///< static LDS of a workgroup; dynamic LDS comes on top at launch
  std::uint32_t scratch_bytes = 0; ///< private memory of one lane
  std::uint32_t kernarg_bytes = 0; ///< as written in the descriptor; many hand-written kernels leave 0 here
  std::uint32_t vgprs = 0; ///< registers reserved a lane, ordinary and accumulation together, granule 8
  std::uint32_t accum_offset = 0; ///< a0 is the register at this index of the unified file, a multiple of 4
  std::uint32_t sgprs = 0;        ///< as declared, granule 16
  std::uint32_t user_sgprs = 0;
  bool private_segment_buffer = false, dispatch_ptr = false, queue_ptr = false, kernarg_ptr = false;
  bool dispatch_id = false, flat_scratch_init = false, private_segment_size = false;
  bool workgroup_id_x = false, workgroup_id_y = false, workgroup_id_z = false, workgroup_info = false;
  std::uint32_t workitem_id_dimensions =
      1; ///< 1, 2 or 3: v0 = x | y << 10 | z << 20, so many of them meaningful
  bool scratch_enabled = false;
  bool dynamic_stack = false;
  bool tg_split = false;
  std::uint32_t preload_offset = 0; ///< dwords of the argument segment skipped before preloading
  std::uint32_t preload_length = 0; ///< dwords of the argument segment preloaded into user SGPRs
  FloatMode mode;
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0; ///< the words these came from
  bool operator==(const KernelDescriptor&) const = default;
};

/// One kernel: descriptor and metadata joined.
struct Kernel {
  std::string name; ///< without `.kd`
  KernelDescriptor descriptor;
  std::vector<KernelArgument> arguments; ///< by offset; hidden ones included
  std::uint32_t kernarg_bytes = 0;       ///< to allocate: covers the descriptor's size and every argument
  std::uint32_t max_flat_workgroup_size = 1024;  ///< work-items
  std::vector<std::uint32_t> required_workgroup; ///< x, y, z when the kernel insists, else empty
  std::uint32_t declared_vgprs = 0;              ///< metadata's `.vgpr_count`, 0 when absent
  std::uint32_t declared_agprs = 0;              ///< metadata's `.agpr_count`
  std::uint32_t declared_sgprs = 0;
  std::uint32_t spilled_vgprs = 0, spilled_sgprs = 0;
  bool has_metadata = false; ///< false: no arguments are known, only the descriptor is
  std::size_t section = 0;   ///< index into `CodeObject::sections()`
  std::uint64_t address = 0; ///< of the first instruction
  std::uint64_t size = 0;    ///< bytes, up to the symbol's size or the next function
};

/// A section with contents. In a relocatable object every address is 0-based within its section.
struct Section {
  std::string name;
  std::uint64_t address = 0;
  std::span<const std::uint8_t> bytes;
  bool executable = false;
};

/// A named address.
struct Symbol {
  std::string name;
  std::uint64_t address = 0, size = 0;
  std::size_t section = 0; ///< index into `sections()`, or `npos` for absolute and undefined symbols
  bool function = false;
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
};

/// What a loader maps: `bytes` at `address`, zeros up to `memory_bytes`.
struct Segment {
  std::uint64_t address = 0, memory_bytes = 0;
  std::span<const std::uint8_t> bytes;
  bool writable = false, executable = false;
};

/// What a loader writes into the image once it knows where that lies: at `address`, by `type` (R_AMDGPU_*), from the
/// symbol's address S, the addend A, the place P and the image's base B.
struct Relocation {
  std::uint64_t address = 0; ///< of the field, inside a segment
  std::uint32_t type = 0;
  std::int64_t addend = 0;
  std::string symbol;             ///< empty for those without one
  std::uint64_t symbol_value = 0; ///< its address in the object
  enum class Symbol : std::uint8_t { none, defined, absolute, weak, undefined } kind = Symbol::none;
};

/// A read code object. Cheap to copy: the bytes are shared and never change.
class CodeObject {
public:
  /// Reads a code object, or the one for `arch` out of a bundle or HIP executable.
  /// Requires: `arch` empty (the only suitable one), or "gfx942" / "gfx950".
  /// Errors: `CodeObjectError` for anything malformed, for another machine, and for a bundle without a match.
  [[nodiscard]] static CodeObject parse(std::vector<std::uint8_t> bytes, std::string_view arch = {});

  /// As `parse`, from a file. Errors: std::runtime_error naming the file when it cannot be read.
  [[nodiscard]] static CodeObject read(const std::string& file, std::string_view arch = {});

  /// What it was compiled for: "gfx942", or a generic processor.
  [[nodiscard]] const std::string& arch() const { return arch_; }
  /// 4, 5 or 6.
  [[nodiscard]] unsigned abi_version() const { return abi_version_; }
  /// An assembler's output: reports read it, devices refuse it.
  [[nodiscard]] bool relocatable() const { return relocatable_; }
  [[nodiscard]] std::span<const Kernel> kernels() const { return kernels_; }
  /// Metadata's `amdhsa.printf`, one of each text that its kernels print through a buffer: `0:0:1f,%d of %d`, 1f the text's number.
  [[nodiscard]] std::span<const std::string> prints() const { return prints_; }
  [[nodiscard]] std::span<const Section> sections() const { return sections_; }
  [[nodiscard]] std::span<const Symbol> symbols() const { return symbols_; }
  [[nodiscard]] std::span<const Segment> segments() const { return segments_; }
  /// Dynamic relocations, in the order of the file. None in a relocatable object.
  [[nodiscard]] std::span<const Relocation> relocations() const { return relocations_; }
  /// What to write where in an image that is loaded at `base`.
  /// Source: LLVM "User Guide for AMDGPU Backend", "Relocation Records".
  /// Errors: CodeObjectError for a symbol that nothing defines, a type that loaders do not apply, a field in code.
  struct Patch {
    std::uint64_t address = 0, value = 0;
    unsigned bytes = 8;
  };
  [[nodiscard]] std::vector<Patch> relocate(std::uint64_t base) const;
  /// The whole ELF, as a driver wants it.
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }

  /// The kernel of that name; the only one when `name` is empty.
  /// Errors: `CodeObjectError` listing the names there are.
  [[nodiscard]] const Kernel& kernel(std::string_view name) const;

  /// Machine code of one kernel: `k.size` bytes at `k.address`.
  [[nodiscard]] std::span<const std::uint8_t> code(const Kernel& k) const;

private:
  CodeObject() = default;
  friend struct CodeObjectReader;

  std::shared_ptr<const std::vector<std::uint8_t>> owner_; // keeps the bytes that all the spans point into
  std::span<const std::uint8_t> bytes_;
  std::string arch_;
  unsigned abi_version_ = 0;
  bool relocatable_ = false;
  std::vector<Kernel> kernels_;
  std::vector<std::string> prints_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  std::vector<Segment> segments_;
  std::vector<Relocation> relocations_;
};

} // namespace inlay::runtime
