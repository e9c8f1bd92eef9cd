/// Fitting the numbers of the model to a device: small kernels whose clocks one number decides, measured there and explained here.
///
/// A microbenchmark is the same kernel with few and with many repetitions of something; the difference of their clocks leaves out
/// whatever surrounds it. The number that it belongs to is moved until the model gives the measured difference:
///
///     ModelDevice model(arch);
///     const auto measure = [&](const Microbenchmark& b, unsigned n) { return clocks_on_hardware(b, n); };
///     Calibration c = calibrate(arch, measure, "calibrated on my MI300X", model);
///     c.parameters                     // for `inlay time --parameters`
///
/// Nothing is fitted that the model explains already, so numbers that a device does not contradict keep their sources.
///
/// Ensures: measured on the model itself with other numbers (`ModelDevice`), those come back, each where the microbenchmark can tell it
/// from its neighbours (law: "the emulator gives back the numbers that it runs with").
#pragma once

#include <inlay/runtime/timing/compute_unit.h>

#include <functional>

namespace inlay::runtime::timing {

struct Microbenchmark {
  std::string parameter;    ///< that it decides, as Parameters::with takes it
  std::string what;         ///< in words
  double low = 0, high = 0; ///< the range in which it is sought, whole numbers
  unsigned few = 0, many = 0;
  unsigned block = 64;
  std::string setup;                             ///< before the first clock is read
  std::string (*repeated)(unsigned n) = nullptr; ///< n repetitions
};

/// The microbenchmarks of `arch`, in the order in which they are fitted: each needs only what comes before it.
[[nodiscard]] const std::vector<Microbenchmark>& microbenchmarks(isa::Arch arch);

/// The code object: kernel `k` reads the clock (s_memtime), does n repetitions, reads it again and stores the difference, 8 bytes, where its
/// first argument points; the second points to 1 MiB of zeros.
[[nodiscard]] std::vector<std::uint8_t> microbenchmark_kernel(const Microbenchmark& b, unsigned n,
                                                              isa::Arch arch);

/// Clocks between the two readings of the clock, by the model. Keeps the executed streams, which do not depend on the numbers.
class ModelDevice {
public:
  explicit ModelDevice(isa::Arch arch);
  ~ModelDevice();
  [[nodiscard]] double clocks(const Microbenchmark& b, unsigned n, const Parameters& p);

private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Fitted {
  std::string parameter, what;
  double before = 0, after = 0;
  double measured = 0;  ///< difference of clocks, many less few
  double explained = 0; ///< by the model with `after`
};

struct Calibration {
  Parameters parameters;
  std::vector<Fitted> fitted;
};

/// `measure(b, n)`: clocks of n repetitions on the device; called for few and for many. `source`: what the fitted numbers will say.
/// `model` keeps what it has run for the next calibration of the same architecture.
[[nodiscard]] Calibration calibrate(isa::Arch arch,
                                    const std::function<double(const Microbenchmark&, unsigned)>& measure,
                                    const std::string& source, ModelDevice& model);

} // namespace inlay::runtime::timing
