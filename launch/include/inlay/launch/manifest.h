/// How a kernel is launched, as a file beside its code object: arguments, types, grid as formulas of sizes, block, LDS, and what
/// the sizes have to satisfy. `inlay build` writes it; `exec`, `time`, `validate`, the C interface and Python take it, and
/// anybody who reads JSON can. The format is documented in docs/cli.md, "Launch manifests", and versioned.
///
///     Manifest m = Manifest::read("out/gemm.json");
///     LaunchPlan p = m.plan({{"m", 200}, {"n", 64}, {"k", 32}});    // checked against the contract
///     p.grid, m.block, m.arguments[0].bytes(p.sizes)
#pragma once

#include <inlay/launch/formula.h>

#include <array>
#include <map>
#include <optional>

namespace inlay::launch {

/// A size of the launch: a name for a number that the caller chooses.
struct Size {
  std::string name;
  std::int64_t least = 1, most = INT32_MAX, multiple = 1;
  std::optional<std::int64_t>
      value; ///< what the kernel was built for, or what was launched; taken when nobody says another
  bool operator==(const Size&) const = default;
};

/// One argument, in the kernel's order.
struct Argument {
  enum class Kind : std::uint8_t { buffer, size, value };
  std::string name;
  Kind kind = Kind::value;
  std::string type;    ///< of an element, or of the number: f16, bf16, i32, ...; empty: bytes
  bool output = false; ///< of buffers: written by the kernel
  /// Of outputs: what one holds before the launch. `zeros`: a counter, or an output that parts are added to; `data`: the caller's, of which
  /// some is read or kept.
  enum class Before : std::uint8_t { anything, zeros, data };
  Before before = Before::anything;
  Formula bytes; ///< of buffers: how many it needs
  std::optional<std::uint32_t>
      device;       ///< of buffers: that device's buffer of the name before `_device`; none: this one's
  std::string file; ///< of buffers: what it holds before the launch, relative to the manifest; empty: nothing
  std::uint64_t file_offset = 0;   ///< where in the file's buffer the pointer points to
  std::vector<std::uint8_t> value; ///< of values: their bytes; of sizes: empty, an i32 or i64 by `type`
  /// Of buffers whose elements lie row by row: the extents of their dimensions; else empty. A launch goes by the bytes: who has arrays with
  /// shapes can tell a transposed one.
  std::vector<Formula> shape{};
  /// Of tables that a launch for many problems has (codegen::Problems), an entry a problem: of addresses, the buffer that each one points
  /// to, by the sizes of its problem (one element, else none); of numbers, the size whose values they are.
  std::vector<Argument> points_to{};
  std::string values_of{};
  /// `x` of `x_2`, the buffer of device 2: what each device calls its own.
  [[nodiscard]] std::string of_all() const;
  bool operator==(const Argument&) const = default;
};

/// `formula` must not exceed `most`.
struct Limit {
  Formula formula;
  std::int64_t most = 0;
  std::string what;
  bool operator==(const Limit&) const = default;
};

/// What code was made from: a kernel of the library, its options with those that were chosen, how its loops were ordered and written.
struct Made {
  std::string kernel, scheduler, loops;
  std::map<std::string, std::string> options;
  bool operator==(const Made&) const = default;
};

/// The launch for some sizes. Where a size of 0 leaves every output without elements there is none: `grid` is 0 x 0 x 0.
struct LaunchPlan {
  Sizes sizes;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  [[nodiscard]] bool nothing() const { return grid[0] == 0; }
};

struct Manifest {
  static constexpr const char* format = "inlay.launch/1";

  std::string kernel; ///< the function's name
  std::string arch;   ///< LLVM's name of the processor
  std::string code;   ///< the code object's file, relative to the manifest
  std::vector<Size> sizes;
  std::vector<Argument> arguments;
  std::array<Formula, 3> grid = {Formula("1"), Formula("1"), Formula("1")}; ///< workgroups
  std::array<std::uint32_t, 3> block = {1, 1, 1};                           ///< work-items of one
  std::uint32_t lds = 0;                                                    ///< bytes of dynamic LDS
  std::vector<Limit> limits;
  std::uint32_t devices = 1;  ///< that launch it together
  std::string rank;           ///< then: the size that is the device's number, from 0
  bool outputs_apart = false; ///< no output may share memory with another buffer
  std::optional<Made> made;   ///< where `inlay build` made it; a launch asks for nothing of it
  bool operator==(const Manifest&) const = default;

  /// Errors: LaunchError naming the field.
  [[nodiscard]] static Manifest parse(const std::string& json, const std::string& whose = "manifest");
  /// Errors: as parse; std::runtime_error when the file cannot be read.
  [[nodiscard]] static Manifest read(const std::string& file);
  /// `parse(m.text()) == m`.
  [[nodiscard]] std::string text() const;

  /// All sizes: those not given have their `value`. Errors: LaunchError for a name that is no size, and for one that has no value.
  [[nodiscard]] Sizes values(const Sizes& given) const;
  /// Sizes as above. Errors: LaunchError naming the size, its value and what would do; grids that no dispatch can count.
  [[nodiscard]] LaunchPlan plan(const Sizes& given) const;
  /// The bytes of argument `i`, which is a size or a value.
  [[nodiscard]] std::vector<std::uint8_t> bytes_of(std::size_t i, const Sizes& sizes) const;
  /// Errors: LaunchError naming the buffer, when its address is refused (refused_address of limits.h), or both, when an output shares memory
  /// with another one though `outputs_apart`. `addresses`: one an argument.
  void check_addresses(const std::vector<std::uint64_t>& addresses, const Sizes& sizes) const;
  /// That the code object is whole and declares these arguments, in number, size and kind. HIP is given neither its length nor the number of
  /// values: it reads what the code object describes, from wherever a launch points to. A file that is no ELF file, or has no metadata of the
  /// kernel, is left to who loads it. Errors: LaunchError with both lists. Source: LLVM, "User Guide for AMDGPU Backend", Code Object Metadata.
  void check_code(const std::vector<std::uint8_t>& code) const;
};

/// Whether some text is meant to be a manifest: JSON that names the format.
[[nodiscard]] bool is_manifest(const std::string& text);

} // namespace inlay::launch
