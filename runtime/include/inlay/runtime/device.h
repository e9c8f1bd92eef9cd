/// Something that runs kernels: an AMD GPU behind HIP, or the emulator. Programs that launch kernels name
/// only this.
///
///     Device& device = ...;
///     auto a = device.allocate(bytes);
///     device.copy_in(a, host_bytes);
///     auto module = device.load(object);
///     auto kernel = device.function(module, "gemm");
///     device.launch(kernel, {.grid = {64, 64}, .block = {256}}, pack_arguments(...));
///     device.synchronize();
///     device.copy_out(host_bytes, a);
///
/// Everything that takes a `Stream` is in order within it and may be asynchronous; `Stream::standard` is the
/// device's own. Handles are plain numbers owned by the device: they are valid until the matching `release`,
/// and until the device ends. What the machine refuses is a `DeviceError` with the call, the code and the
/// geometry.
#pragma once

#include <inlay/runtime/code_object.h>

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::runtime {

/// An address on the device.
using DevicePointer = std::uint64_t;

enum class Stream : std::uint64_t { standard = 0 };
enum class Event : std::uint64_t {};
enum class Module : std::uint64_t {};
enum class Function : std::uint64_t {};
enum class Graph : std::uint64_t {};

/// Counts along x, y and z.
struct Extent3 {
  std::uint32_t x = 1, y = 1, z = 1;
  [[nodiscard]] std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  bool operator==(const Extent3&) const = default;
};

/// How a kernel is spread: `grid` counts workgroups (as everywhere here; HSA's packets count work-items),
/// `block` work-items of one workgroup.
struct LaunchGeometry {
  Extent3 grid, block;
  std::uint32_t dynamic_lds = 0; ///< bytes on top of what the kernel declares
  bool operator==(const LaunchGeometry&) const = default;
};

/// `grid 4x1x1 block 256x1x1 lds +1024`
[[nodiscard]] std::string to_string(const LaunchGeometry& g);

/// What the machine refused: the call, its code and text, and for launches the kernel and geometry.
class DeviceError : public std::runtime_error {
public:
  DeviceError(std::string call, int code, std::string text, std::string context = {});
  [[nodiscard]] const std::string& call() const { return call_; }
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const std::string& text() const { return text_; }

private:
  std::string call_, text_;
  int code_;
};

/// What one device is.
struct DeviceInfo {
  std::string kind; ///< "hip" or "emulator"
  std::string name; ///< marketing name, or "inlay emulator"
  std::string arch; ///< the processor, also one that this library does not generate for
  std::uint32_t compute_units = 0;
  std::uint32_t clock_mhz = 0; ///< peak engine clock; 0 when there is none
  std::uint32_t lds_bytes = 0; ///< of one compute unit
  std::uint64_t memory_bytes = 0;
  std::string runtime; ///< version text of the library behind it
  bool operator==(const DeviceInfo&) const = default;
};

/// A device. Not copyable; calls from several threads need a lock of their own, as HIP streams do.
class Device {
public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual DeviceInfo info() const = 0;

  /// `bytes` of device memory, aligned to 256, contents undefined. Errors: DeviceError when there is not
  /// enough.
  [[nodiscard]] virtual DevicePointer allocate(std::uint64_t bytes) = 0;
  virtual void release(DevicePointer) = 0;
  virtual void copy_in(DevicePointer to, std::span<const std::uint8_t> from, Stream = Stream::standard) = 0;
  virtual void copy_out(std::span<std::uint8_t> to, DevicePointer from, Stream = Stream::standard) = 0;
  virtual void copy(DevicePointer to, DevicePointer from, std::uint64_t bytes, Stream = Stream::standard) = 0;
  virtual void fill(DevicePointer to, std::uint8_t value, std::uint64_t bytes, Stream = Stream::standard) = 0;

  /// Loads a linked code object for this device's architecture. Errors: DeviceError; CodeObjectError when
  /// relocatable.
  [[nodiscard]] virtual Module load(const CodeObject& object) = 0;
  virtual void release(Module) = 0;
  /// The kernel of that name. Errors: DeviceError or CodeObjectError naming it.
  [[nodiscard]] virtual Function function(Module module, std::string_view kernel) = 0;
  /// Starts a kernel. `arguments` are the bytes of its whole argument segment (kernarg.h packs them).
  virtual void launch(Function kernel, const LaunchGeometry& geometry,
                      std::span<const std::uint8_t> arguments, Stream = Stream::standard) = 0;

  [[nodiscard]] virtual Stream create_stream() = 0;
  virtual void release(Stream) = 0;
  virtual void synchronize(Stream) = 0;
  /// Waits for everything on this device.
  virtual void synchronize() = 0;

  [[nodiscard]] virtual Event create_event() = 0;
  virtual void release(Event) = 0;
  virtual void record(Event event, Stream = Stream::standard) = 0;
  virtual void synchronize(Event) = 0;
  /// Later work on `stream` waits for what `event` recorded.
  virtual void wait(Stream stream, Event event) = 0;
  /// Milliseconds between two recorded events. Requires: both have completed.
  [[nodiscard]] virtual double milliseconds(Event begin, Event end) = 0;

  /// Records what is enqueued on `stream` from here on instead of running it ...
  virtual void begin_capture(Stream stream) = 0;
  /// ... and gives it back as a graph that can be replayed. Errors: DeviceError when nothing is being
  /// captured.
  [[nodiscard]] virtual Graph end_capture(Stream stream) = 0;
  virtual void replay(Graph graph, Stream = Stream::standard) = 0;
  virtual void release(Graph) = 0;

  /// Whether kernels here may read memory of the device with that ordinal, and the permission to do so.
  [[nodiscard]] virtual bool can_access_peer(int other) = 0;
  virtual void enable_peer(int other) = 0;
};

/// Device memory that releases itself.
///
///     Buffer b(device, 4096);
///     device.fill(b.address(), 0, b.size());
class Buffer {
public:
  Buffer(Device& device, std::uint64_t bytes)
      : device_(&device), address_(device.allocate(bytes)), bytes_(bytes) {}
  Buffer(Buffer&& o) noexcept : device_(o.device_), address_(o.address_), bytes_(o.bytes_) {
    o.device_ = nullptr;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (device_ != nullptr) device_->release(address_);
  }
  [[nodiscard]] DevicePointer address() const { return address_; }
  [[nodiscard]] std::uint64_t size() const { return bytes_; }

private:
  Device* device_;
  DevicePointer address_;
  std::uint64_t bytes_;
};

} // namespace inlay::runtime
