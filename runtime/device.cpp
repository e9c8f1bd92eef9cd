#include <inlay/runtime/device.h>

namespace inlay::runtime {

namespace {
std::string text_of(const Extent3& e) {
  return std::to_string(e.x) + "x" + std::to_string(e.y) + "x" + std::to_string(e.z);
}
} // namespace

std::string to_string(const LaunchGeometry& g) {
  std::string s = "grid " + text_of(g.grid) + " block " + text_of(g.block);
  if (g.dynamic_lds != 0) s += " lds +" + std::to_string(g.dynamic_lds);
  return s;
}

DeviceError::DeviceError(std::string call, int code, std::string text, std::string context)
    : std::runtime_error(call + ": " + text + (context.empty() ? "" : " (" + context + ")")),
      call_(std::move(call)), text_(std::move(text)), code_(code) {}

} // namespace inlay::runtime
