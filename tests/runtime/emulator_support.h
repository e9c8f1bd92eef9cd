/// What the emulator's tests share: kernels from assembly, buffers from vectors.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/runtime/kernarg.h>
#include <sstream>

namespace emulator_test {

using namespace inlay::runtime;

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.good());
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

template <class T>
std::span<const std::uint8_t> bytes_of(const std::vector<T>& v) {
  return {reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T)};
}

template <class T>
DevicePointer upload(Device& device, const std::vector<T>& v) {
  const DevicePointer p = device.allocate(v.size() * sizeof(T));
  device.copy_in(p, bytes_of(v));
  return p;
}

template <class T>
std::vector<T> download(Device& device, DevicePointer p, std::size_t count) {
  std::vector<T> v(count);
  device.copy_out({reinterpret_cast<std::uint8_t*>(v.data()), count * sizeof(T)}, p);
  return v;
}

struct KernelOptions {
  unsigned lds = 0, scratch = 0, kernarg = 64, vgprs = 64, accum_offset = 32;
  unsigned workitem_dimensions = 0; // 0: x only, 2: x, y, z
  std::string extra = {};
};

/// A code object with one kernel `k` around a body of assembly. s[0:1] are the kernel arguments, s2 the workgroup's x.
inline std::vector<std::uint8_t> kernel(const std::string& body, isa::Arch arch,
                                        const KernelOptions& o = {}) {
  const std::string text = ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + body +
                           "\n.Lend:\n.size k, .Lend-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n"
                           ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_group_segment_fixed_size " +
                           std::to_string(o.lds) + "\n.amdhsa_private_segment_fixed_size " +
                           std::to_string(o.scratch) + "\n.amdhsa_kernarg_size " + std::to_string(o.kernarg) +
                           "\n.amdhsa_next_free_vgpr " + std::to_string(o.vgprs) + "\n.amdhsa_accum_offset " +
                           std::to_string(o.accum_offset) +
                           "\n.amdhsa_next_free_sgpr 96\n.amdhsa_system_vgpr_workitem_id " +
                           std::to_string(o.workitem_dimensions) + "\n" + o.extra + "\n.end_amdhsa_kernel\n";
  return isa::assemble_code_object(text, arch);
}

/// Runs kernel `k` (or the only one) of a code object.
inline LaunchResult run(EmulatorDevice& device, const std::vector<std::uint8_t>& object,
                        const LaunchGeometry& geometry, const std::vector<std::uint8_t>& arguments) {
  const CodeObject code = CodeObject::parse(object);
  const Module module = device.load(code);
  device.launch(device.function(module, ""), geometry, arguments);
  LaunchResult result = device.last_launch();
  device.release(module);
  return result;
}

/// Arguments laid one after the other: pointers 8 bytes, ints 4.
class Arguments {
public:
  Arguments& pointer(DevicePointer p) { return put(p); }
  Arguments& i32(std::int32_t v) { return put(v); }
  template <class T>
  Arguments& put(T v) {
    while (bytes_.size() % sizeof(T) != 0) bytes_.push_back(0);
    const auto* p = reinterpret_cast<const std::uint8_t*>(&v);
    bytes_.insert(bytes_.end(), p, p + sizeof v);
    return *this;
  }
  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

private:
  std::vector<std::uint8_t> bytes_;
};

inline std::string all(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) text += to_string(f);
  return text;
}

} // namespace emulator_test
