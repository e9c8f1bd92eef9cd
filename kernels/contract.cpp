#include <inlay/kernels/artifact.h>

#include <cstring>
#include <fmt/format.h>

namespace inlay::kernels {

LaunchPlan LaunchContract::plan(const std::vector<std::int64_t>& values) const {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("{}: {}\n  hint   {}", kernel, what, hint));
  };
  if (values.size() != sizes.size())
    refuse(fmt::format("{} sizes were given", values.size()), fmt::format("the kernel has {}", sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Size& s = sizes[i];
    if (values[i] < s.least || values[i] > s.most)
      refuse(fmt::format("{} = {}", s.name, values[i]), fmt::format("{} to {}", s.least, s.most));
    if (values[i] % s.multiple != 0)
      refuse(fmt::format("{} = {} is not a multiple of {}", s.name, values[i], s.multiple),
             fmt::format("pad it to {} with zeros", (values[i] + s.multiple - 1) / s.multiple * s.multiple));
  }
  LaunchPlan plan;
  for (const Axis& g : grid) {
    const std::int64_t extent = g.size >= 0 ? values[static_cast<std::size_t>(g.size)] : g.extent;
    const std::int64_t count = (extent + g.tile - 1) / g.tile, most = g.axis == 0 ? INT32_MAX : 65535;
    if (count > most)
      refuse(fmt::format("{} workgroups along axis {}", count, "xyz"[g.axis]),
             fmt::format("at most {}; larger tiles", most));
    plan.grid[static_cast<std::size_t>(g.axis)] = static_cast<std::uint32_t>(count);
  }
  plan.block = {static_cast<std::uint32_t>(threads), 1, 1};
  for (std::size_t i = 0; i < buffers.size(); ++i)
    plan.arguments.push_back(LaunchArgument::of_buffer(static_cast<int>(i)));
  for (const std::int64_t v : values)
    plan.arguments.push_back(LaunchArgument::of_i32(static_cast<std::int32_t>(v)));
  return plan;
}

} // namespace inlay::kernels
