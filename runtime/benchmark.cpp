#include <inlay/runtime/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

namespace inlay::runtime {

namespace {

std::string number(double v) {
  char text[48];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

/// Handles that go away also when a launch throws.
struct Handles {
  Device& device;
  Stream stream;
  Event begin, end;
  explicit Handles(Device& d)
      : device(d), stream(d.create_stream()), begin(d.create_event()), end(d.create_event()) {}
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    try {
      device.release(begin);
      device.release(end);
      device.release(stream);
    } catch (const DeviceError&) { // nothing can be done about a handle that does not want to go
    }
  }
};

} // namespace

double BenchmarkResult::quantile(double q) const {
  if (milliseconds.empty() || !(q >= 0 && q <= 1))
    throw std::invalid_argument("quantile: needs 0 <= q <= 1 and a measurement");
  auto sorted = milliseconds;
  std::sort(sorted.begin(), sorted.end());
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}
double BenchmarkResult::median() const { return quantile(0.5); }
double BenchmarkResult::least() const { return quantile(0); }
double BenchmarkResult::spread() const {
  const double m = median();
  return m == 0 ? 0 : (quantile(0.9) - quantile(0.1)) / m;
}

BenchmarkResult benchmark(Device& device, const std::function<void(Stream)>& launch,
                          const BenchmarkOptions& options) {
  if (options.repetitions == 0) throw std::invalid_argument("benchmark: 0 repetitions");
  const Handles h(device);
  std::optional<Buffer> flush;
  if (options.flush_bytes != 0) flush.emplace(device, options.flush_bytes);
  BenchmarkResult r;
  r.options = options;
  r.device = device.info().kind;
  for (unsigned i = 0; i < options.warm_up; ++i) launch(h.stream);
  device.synchronize(h.stream);
  for (unsigned i = 0; i < options.repetitions; ++i) {
    if (flush) {
      device.fill(flush->address(), static_cast<std::uint8_t>(i), flush->size(), h.stream);
      device.synchronize(h.stream);
    }
    const auto begin = std::chrono::steady_clock::now();
    device.record(h.begin, h.stream);
    launch(h.stream);
    device.record(h.end, h.stream);
    device.synchronize(h.end);
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
    r.milliseconds.push_back(options.timer == Timer::events ? device.milliseconds(h.begin, h.end)
                                                            : wall.count());
  }
  return r;
}

std::string to_text(const BenchmarkResult& r) {
  return "median " + number(r.median()) + " ms, least " + number(r.least()) + ", spread " +
         number(100 * r.spread()) + " % (" + std::to_string(r.options.repetitions) + " repetitions, " +
         (r.options.timer == Timer::events ? "events" : "wall clock") +
         (r.options.flush_bytes != 0 ? ", caches flushed" : "") +
         (r.device == "emulator" ? ", of the emulator" : "") + ")\n";
}

std::string to_json(const BenchmarkResult& r) {
  std::string list;
  for (const double v : r.milliseconds) list += (list.empty() ? "" : ", ") + number(v);
  return "{\"device\": \"" + r.device + "\", \"timer\": \"" +
         (r.options.timer == Timer::events ? "events" : "wall") +
         "\", \"repetitions\": " + std::to_string(r.options.repetitions) +
         ", \"warm_up\": " + std::to_string(r.options.warm_up) +
         ", \"flush_bytes\": " + std::to_string(r.options.flush_bytes) +
         ", \"median_ms\": " + number(r.median()) + ", \"least_ms\": " + number(r.least()) +
         ", \"p10_ms\": " + number(r.quantile(0.1)) + ", \"p90_ms\": " + number(r.quantile(0.9)) +
         ", \"spread\": " + number(r.spread()) + ", \"milliseconds\": [" + list + "]}";
}

} // namespace inlay::runtime
