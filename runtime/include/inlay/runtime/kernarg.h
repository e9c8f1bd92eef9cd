/// A kernel's argument segment: the block of bytes that its first user SGPRs point to.
///
/// A kernel's metadata says for each argument where it lies, how wide it is and what it is. The user gives
/// the visible ones in order; the hidden ones (how many workgroups, how large, how much dynamic LDS) follow
/// from the geometry:
///
///     LaunchGeometry g{.grid = {4}, .block = {256}};
///     auto bytes = pack_arguments(kernel, std::vector{Argument::pointer(a), Argument::i32(n)}, g);
///
/// Source: LLVM "User Guide for AMDGPU Backend", "Code Object V5 Metadata", table of `.value_kind`.
#pragma once

#include <inlay/runtime/device.h>

namespace inlay::runtime {

/// One visible argument: its bytes, and what the user called it, for messages.
struct Argument {
  std::string spelled; ///< "i32:7", "ptr:0x7f00"
  std::vector<std::uint8_t> bytes;
  bool is_pointer = false;

  [[nodiscard]] static Argument pointer(DevicePointer p);
  [[nodiscard]] static Argument u32(std::uint32_t v);
  [[nodiscard]] static Argument i32(std::int32_t v);
  [[nodiscard]] static Argument u64(std::uint64_t v);
  [[nodiscard]] static Argument i64(std::int64_t v);
  [[nodiscard]] static Argument f32(float v);
  [[nodiscard]] static Argument f64(double v);
};

/// Arguments that do not fit the kernel: which one, and the signature that was expected.
class ArgumentError : public std::invalid_argument {
public:
  using std::invalid_argument::invalid_argument;
};

/// The visible arguments as a reader would declare them: `(ptr, ptr, 4 bytes n, 8 bytes)`.
[[nodiscard]] std::string signature(const Kernel& kernel);

/// The arguments a user has to give: not hidden, and not the padding words that hand-written kernels declare
/// between 16-byte slots (4-byte values named pad, pad1, ... or nothing at an offset that is no multiple of
/// 16, in a segment whose every other argument is).
[[nodiscard]] std::vector<KernelArgument> visible_arguments(const Kernel& kernel);

/// All that are not hidden, padding words too: what a launch by values passes one by one (HIP's `kernelParams`).
[[nodiscard]] std::vector<KernelArgument> declared_arguments(const Kernel& kernel);

/// Those that `given` of them are: where a kernel without names has as many, all that it declares. A compiler's (ptr, int, int) twice
/// and pointers in 16-byte slots, padded by words, are declared alike; only the number of what is given tells them apart.
[[nodiscard]] std::vector<KernelArgument> visible_arguments(const Kernel& kernel, std::size_t given);

/// The bytes of the whole argument segment of `kernel`, padding zero.
/// Requires: as many arguments as `visible_arguments(kernel)`, or as `declared_arguments(kernel)`, each of its size.
/// Errors: ArgumentError naming the argument and the signature.
/// A kernel without metadata takes its arguments packed one after the other, each naturally aligned.
[[nodiscard]] std::vector<std::uint8_t>
pack_arguments(const Kernel& kernel, std::span<const Argument> arguments, const LaunchGeometry& geometry);

/// Geometry that the kernel cannot take (required workgroup size, more work-items than it allows, zero, LDS), or no launch: 2^32
/// work-items along an axis, more than 65535 workgroups along y or z.
/// Errors: ArgumentError.
void check_geometry(const Kernel& kernel, const LaunchGeometry& geometry, std::uint32_t lds_bytes_of_device);

} // namespace inlay::runtime
