/// AMD GPUs through HIP, opened at run time: the library is built, installed and tested on machines without
/// ROCm.
///
///     HipProbe p = probe_hip();
///     if (p.devices.empty()) std::cout << p.why_not;       // "no AMD device: ..."
///     auto device = open_hip(0);                           // throws DeviceError with the same text
///
/// The library is looked for as $INLAY_HIP_LIBRARY, libamdhip64.so, .so.7, .so.6, .so.5, in that order. Of
/// HIP's interface only functions and numbers that are the same in HIP 5, 6 and 7 are used; in particular
/// device attributes, never hipGetDeviceProperties, whose struct changed in 6.0.
///
/// Source: HIP documentation, "HIP runtime API reference": module, stream, event, graph and peer access
/// management.
#pragma once

#include <inlay/runtime/device.h>

#include <memory>

namespace inlay::runtime {

/// What opening HIP found. Never throws: absence is an answer.
struct HipProbe {
  std::string library; ///< the name that could be opened; empty when none could
  int version = 0;     ///< hipRuntimeGetVersion: major * 10,000,000 + minor * 100,000 + patch
  std::vector<DeviceInfo> devices;
  std::string why_not; ///< one sentence when `devices` is empty
};

/// Opens the library, or `library` when that is not empty, and lists its devices.
[[nodiscard]] HipProbe probe_hip(const std::string& library = {});

/// The device with that ordinal. Errors: DeviceError saying why there is none.
[[nodiscard]] std::unique_ptr<Device> open_hip(int ordinal = 0, const std::string& library = {});

} // namespace inlay::runtime
