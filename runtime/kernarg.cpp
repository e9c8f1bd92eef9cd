#include <inlay/runtime/kernarg.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace inlay::runtime {

namespace {

template <class T>
Argument make(const char* type, T v, std::string text) {
  Argument a;
  a.spelled = std::string(type) + ":" + std::move(text);
  a.bytes.resize(sizeof v);
  std::memcpy(a.bytes.data(), &v, sizeof v);
  return a;
}

void put(std::vector<std::uint8_t>& segment, const KernelArgument& a, std::uint64_t value) {
  const std::size_t bytes = std::min<std::size_t>(a.size, sizeof value);
  std::memcpy(segment.data() + a.offset, &value, bytes);
}

bool named_pad(const KernelArgument& a) {
  if (!a.name.starts_with("pad")) return false;
  return std::all_of(a.name.begin() + 3, a.name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || c == '_'; });
}

/// Hand-written kernels without names that give every argument a 16-byte slot declare the rest of the slot as
/// values. What is longer than 8 bytes is a structure, and what the runtime fills in is a compiler's: neither is in slots.
bool slotted(const Kernel& k) {
  return k.arguments.size() >= 4 &&
         std::all_of(k.arguments.begin(), k.arguments.end(),
                     [](const KernelArgument& a) {
                       return !a.hidden() && a.name.empty() && a.size <= 8 &&
                              (a.offset % 16 == 0 || a.kind == "by_value");
                     }) &&
         std::none_of(k.arguments.begin(), k.arguments.end(),
                      [&](const KernelArgument& a) {
                        // Two values of 8 bytes side by side are two arguments: padding of a value's slot comes in words.
                        return a.offset % 16 == 8 && a.size == 8 &&
                               std::any_of(k.arguments.begin(), k.arguments.end(),
                                           [&](const KernelArgument& b) {
                                             return b.offset + 8 == a.offset && !b.pointer() && b.size == 8;
                                           });
                      }) &&
         std::all_of(k.arguments.begin(), k.arguments.end(), [&](const KernelArgument& a) {
           // Every slot is filled to its end: something begins at the next multiple of 4 or 8 within it.
           return a.offset % 16 + a.size >= 16 ||
                  std::any_of(k.arguments.begin(), k.arguments.end(), [&](const KernelArgument& b) {
                    return b.offset == a.offset + a.size && b.offset % 16 != 0;
                  });
         });
}

void fill_hidden(std::vector<std::uint8_t>& segment, const KernelArgument& a, const LaunchGeometry& g) {
  const std::string_view kind = a.kind;
  const auto along = [&](std::string_view prefix, const Extent3& e) -> const std::uint32_t* {
    if (!kind.starts_with(prefix) || kind.size() != prefix.size() + 2) return nullptr;
    return kind.back() == 'x' ? &e.x : kind.back() == 'y' ? &e.y : &e.z;
  };
  if (const auto* v = along("hidden_block_count", g.grid)) put(segment, a, *v);
  if (const auto* v = along("hidden_group_size", g.block)) put(segment, a, *v);
  if (kind == "hidden_grid_dims")
    put(segment, a, g.grid.z * g.block.z > 1 ? 3U : g.grid.y * g.block.y > 1 ? 2U : 1U);
  if (kind == "hidden_dynamic_lds_size") put(segment, a, g.dynamic_lds);
  // hidden_remainder_*: 0, workgroups are always whole here. hidden_global_offset_*: 0. Pointers to the
  // host's services (printf, hostcall, heap, queues): 0, no such service is offered.
}

} // namespace

Argument Argument::pointer(DevicePointer p) {
  auto a = make("ptr", p, std::to_string(p));
  a.is_pointer = true;
  return a;
}
Argument Argument::u32(std::uint32_t v) { return make("u32", v, std::to_string(v)); }
Argument Argument::i32(std::int32_t v) { return make("i32", v, std::to_string(v)); }
Argument Argument::u64(std::uint64_t v) { return make("u64", v, std::to_string(v)); }
Argument Argument::i64(std::int64_t v) { return make("i64", v, std::to_string(v)); }
Argument Argument::f32(float v) { return make("f32", v, std::to_string(v)); }
Argument Argument::f64(double v) { return make("f64", v, std::to_string(v)); }

std::vector<KernelArgument> visible_arguments(const Kernel& kernel) {
  const bool slots = slotted(kernel);
  std::vector<KernelArgument> result;
  for (const auto& a : kernel.arguments)
    if (!a.hidden() && !named_pad(a) && !(slots && a.offset % 16 != 0)) result.push_back(a);
  return result;
}

std::vector<KernelArgument> declared_arguments(const Kernel& kernel) {
  std::vector<KernelArgument> result = kernel.arguments;
  std::erase_if(result, [](const KernelArgument& a) { return a.hidden(); });
  return result;
}

std::vector<KernelArgument> visible_arguments(const Kernel& kernel, std::size_t given) {
  auto all = declared_arguments(kernel);
  return all.size() == given ? all : visible_arguments(kernel);
}

std::string signature(const Kernel& kernel) {
  if (!kernel.has_metadata)
    return "(no metadata: " + std::to_string(kernel.kernarg_bytes) + " bytes of arguments)";
  std::string text;
  for (const auto& a : visible_arguments(kernel)) {
    if (!text.empty()) text += ", ";
    text += a.pointer() ? "ptr" : std::to_string(a.size) + " bytes";
    if (!a.name.empty()) text += " " + a.name;
  }
  return "(" + text + ")";
}

std::vector<std::uint8_t> pack_arguments(const Kernel& kernel, std::span<const Argument> arguments,
                                         const LaunchGeometry& geometry) {
  std::vector<std::uint8_t> segment(kernel.kernarg_bytes, 0);
  const std::string whose = "arguments of kernel " + kernel.name + ": ";
  const std::string expected = "\n  hint   expected " + signature(kernel);
  if (!kernel.has_metadata) {
    std::size_t at = 0;
    for (const auto& a : arguments) {
      const std::size_t align = std::max<std::size_t>(1, std::min<std::size_t>(a.bytes.size(), 8));
      at = (at + align - 1) / align * align;
      if (at + a.bytes.size() > segment.size()) segment.resize(at + a.bytes.size(), 0);
      std::copy(a.bytes.begin(), a.bytes.end(), segment.begin() + static_cast<std::ptrdiff_t>(at));
      at += a.bytes.size();
    }
    if (kernel.kernarg_bytes != 0 && segment.size() > kernel.kernarg_bytes)
      throw ArgumentError(whose + std::to_string(segment.size()) + " bytes were given" + expected);
    return segment;
  }
  const auto wanted = visible_arguments(kernel, arguments.size());
  const std::size_t declared = declared_arguments(kernel).size();
  if (arguments.size() != wanted.size())
    throw ArgumentError(whose + std::to_string(arguments.size()) + " were given, " +
                        std::to_string(wanted.size()) + " are needed" +
                        (declared == wanted.size()
                             ? ""
                             : ", or " + std::to_string(declared) + " with what else it declares") +
                        expected);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& a = arguments[i];
    const auto& w = wanted[i];
    if (a.bytes.size() != w.size || (a.is_pointer && !w.pointer() && w.size != 8))
      throw ArgumentError(whose + "number " + std::to_string(i) + ", " + a.spelled + ", is " +
                          std::to_string(a.bytes.size()) + " bytes, but the kernel takes " +
                          std::to_string(w.size) + expected);
    if (!a.is_pointer && w.pointer())
      throw ArgumentError(whose + "number " + std::to_string(i) + ", " + a.spelled +
                          ", is a value, but the kernel takes a pointer" + expected);
    std::copy(a.bytes.begin(), a.bytes.end(), segment.begin() + static_cast<std::ptrdiff_t>(w.offset));
  }
  for (const auto& a : kernel.arguments)
    if (a.hidden()) fill_hidden(segment, a, geometry);
  return segment;
}

void check_geometry(const Kernel& kernel, const LaunchGeometry& g, std::uint32_t lds_bytes_of_device) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw ArgumentError("launch of kernel " + kernel.name + ": " + to_string(g) + ": " + what +
                        "\n  hint   " + hint);
  };
  if (g.grid.count() == 0 || g.block.count() == 0)
    refuse("an extent is 0", "--grid and --block count from 1");
  // A dispatch counts work-items along each axis in 32 bits: grid_size_x, _y, _z of hsa_kernel_dispatch_packet_t (HSA runtime
  // specification). HIP takes 2^31 - 1 workgroups along x, 65535 along y and z (hipDeviceProp_t::maxGridSize).
  const std::array<std::array<std::uint64_t, 3>, 3> axes = {
      {{g.grid.x, g.block.x, INT32_MAX}, {g.grid.y, g.block.y, 65535}, {g.grid.z, g.block.z, 65535}}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& [groups, items, hip] = axes[i];
    const std::string along = std::to_string(groups) + " workgroups along " + "xyz"[i];
    if (groups > hip) refuse(along, "HIP takes at most " + std::to_string(hip) + " there");
    if (groups * items > UINT32_MAX)
      refuse(along + " are " + std::to_string(groups * items) +
                 " work-items, a dispatch counts them in 32 bits",
             "at most " + std::to_string(UINT32_MAX / items) + " workgroups of " + std::to_string(items));
  }
  if (!kernel.required_workgroup.empty()) {
    const auto& r = kernel.required_workgroup;
    if (g.block.x != r[0] || g.block.y != r[1] || g.block.z != r[2])
      refuse("the kernel insists on its workgroup size",
             "--block " + std::to_string(r[0]) + "," + std::to_string(r[1]) + "," + std::to_string(r[2]));
  }
  if (g.block.count() > kernel.max_flat_workgroup_size)
    refuse(std::to_string(g.block.count()) + " work-items a workgroup, the kernel was compiled for " +
               std::to_string(kernel.max_flat_workgroup_size),
           "a smaller --block");
  const std::uint64_t lds = std::uint64_t{kernel.descriptor.lds_bytes} + g.dynamic_lds;
  if (lds > lds_bytes_of_device)
    refuse(std::to_string(lds) + " bytes of LDS, the device has " + std::to_string(lds_bytes_of_device),
           "less dynamic LDS");
}

} // namespace inlay::runtime
