/// How long a kernel takes: warm-up, repetitions, caches flushed between them, median and spread.
///
///     BenchmarkResult r = benchmark(device, [&](Stream s) { device.launch(f, g, args, s); }, {.repetitions = 50});
///     to_text(r)   // "median 0.412 ms, least 0.409, spread 1.2 % (50 repetitions, events, caches flushed)"
///
/// The same call works on every device. Through HIP the time is that between two events on the launch's own stream; on
/// the emulator it is the host's clock and says how fast the emulator is, not how fast the kernel would be.
///
/// Median, because a few repetitions are disturbed; spread = (90th - 10th percentile) / median, so that a difference
/// smaller than it is not taken for one.
#pragma once

#include <inlay/runtime/device.h>

#include <functional>

namespace inlay::runtime {

enum class Timer : std::uint8_t { events, wall };

struct BenchmarkOptions {
  unsigned warm_up = 3;
  unsigned repetitions = 20; ///< at least 1
  std::uint64_t flush_bytes =
      0; ///< written before each repetition; 512 MiB evicts the 256 MiB of last-level cache
  Timer timer = Timer::events;
};

struct BenchmarkResult {
  std::vector<double> milliseconds; ///< in the order measured
  BenchmarkOptions options;
  std::string device; ///< its kind: "hip", "emulator"

  [[nodiscard]] double median() const;
  [[nodiscard]] double least() const;
  /// The q-th quantile by linear interpolation: `quantile(0.5)` of {1, 2, 4} is 2.
  /// Requires: 0 <= q <= 1 and at least one repetition.
  [[nodiscard]] double quantile(double q) const;
  /// (quantile(0.9) - quantile(0.1)) / median.
  [[nodiscard]] double spread() const;
};

/// Times `launch`, which enqueues the work on the stream it is given. Errors: what `launch` throws; std::invalid_argument
/// for 0 repetitions.
[[nodiscard]] BenchmarkResult benchmark(Device& device, const std::function<void(Stream)>& launch,
                                        const BenchmarkOptions& options = {});

[[nodiscard]] std::string to_text(const BenchmarkResult& r);

/// {"device", "timer", "repetitions", "warm_up", "flush_bytes", "median_ms", "least_ms", "p10_ms", "p90_ms", "spread",
/// "milliseconds"}
[[nodiscard]] std::string to_json(const BenchmarkResult& r);

} // namespace inlay::runtime
