// What a program does with an artifact: load it on a device, pack the arguments, launch, copy back.
#pragma once

#include <inlay/kernels/artifact.h>
#include <inlay/runtime/device.h>
#include <inlay/runtime/kernarg.h>

#include <vector>

inline std::span<const std::uint8_t> as_bytes(const inlay::kernels::Bytes& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

/// The contents of all buffers of `problem` after `artifact` ran on it.
inline std::vector<inlay::kernels::Bytes> launch(inlay::runtime::Device& device,
                                                 const inlay::kernels::Artifact& artifact,
                                                 const inlay::kernels::Problem& problem) {
  using namespace inlay::runtime;
  const auto code = as_bytes(artifact.hsaco);
  const CodeObject object = CodeObject::parse({code.begin(), code.end()}, artifact.arch);
  const Kernel& kernel = object.kernel(artifact.kernel);

  std::vector<Buffer> buffers;
  for (const auto& buffer : problem.buffers) {
    buffers.emplace_back(device, buffer.data.size());
    device.copy_in(buffers.back().address(), as_bytes(buffer.data));
  }
  std::vector<Argument> arguments;
  for (const auto& argument : problem.launch.arguments) {
    if (argument.buffer >= 0) {
      arguments.push_back(Argument::pointer(buffers[static_cast<std::size_t>(argument.buffer)].address()));
    } else {
      const auto scalar = as_bytes(argument.scalar);
      arguments.push_back({"scalar", {scalar.begin(), scalar.end()}, false});
    }
  }
  const auto& [grid, block, lds, unused] = problem.launch;
  const LaunchGeometry geometry{{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, lds};
  device.launch(device.function(device.load(object), artifact.kernel), geometry,
                pack_arguments(kernel, arguments, geometry));
  device.synchronize();

  std::vector<inlay::kernels::Bytes> results;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    results.emplace_back(problem.buffers[i].data.size());
    device.copy_out({reinterpret_cast<std::uint8_t*>(results.back().data()), results.back().size()},
                    buffers[i].address());
  }
  return results;
}
