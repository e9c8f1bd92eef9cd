#include "image.h"

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <inlay/runtime/benchmark.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/hip.h>
#include <nlohmann/json.hpp>

namespace benchmark_test {

using namespace inlay::runtime;

TEST_CASE("quantiles of a known sample") {
  BenchmarkResult r;
  r.milliseconds = {4, 1, 2};
  CHECK(r.median() == 2);
  CHECK(r.least() == 1);
  CHECK(r.quantile(1) == 4);
  CHECK(r.quantile(0.75) == 3);
  CHECK(r.spread() == Approx((3.6 - 1.2) / 2));
  CHECK_THROWS_AS(r.quantile(1.5), std::invalid_argument);
  CHECK_THROWS_AS(BenchmarkResult{}.median(), std::invalid_argument);
}

TEST_CASE("warm-up, flush, events: what is called how often, in order") {
  void* fake = dlopen(INLAY_FAKE_HIP, RTLD_NOW);
  reinterpret_cast<void (*)(int, int, const char*, int)>(dlsym(fake, "fake_hip_reset"))(1, 4, "", 0);
  auto device = open_hip(0, INLAY_FAKE_HIP);
  int launches = 0;
  BenchmarkOptions o;
  o.warm_up = 2, o.repetitions = 3, o.flush_bytes = 64;
  const auto r = benchmark(
      *device, [&](Stream) { ++launches; }, o);
  CHECK(launches == 5);
  CHECK(r.milliseconds == std::vector<double>(3, 1.5)); // what the double's events say
  const auto j = nlohmann::json::parse(to_json(r));
  CHECK(j.at("median_ms") == 1.5);
  CHECK(j.at("spread") == 0);
  CHECK(j.at("device") == "hip");
  CHECK(j.at("repetitions") == 3);
  const std::string log = reinterpret_cast<const char* (*)()>(dlsym(fake, "fake_hip_log"))();
  const std::string repetition =
      "hipMemsetAsync 64 on stream\nhipStreamSynchronize  on stream\nhipEventRecord  on stream\n"
      "hipEventRecord  on stream\nhipEventSynchronize\nhipEventElapsedTime\n";
  CHECK(log.find(repetition + repetition + repetition) != std::string::npos);
  CHECK(log.ends_with("hipFree\nhipEventDestroy\nhipEventDestroy\nhipStreamDestroy\n"));
  o.repetitions = 0;
  CHECK_THROWS_AS(benchmark(
                      *device, [](Stream) {}, o),
                  std::invalid_argument);
}

TEST_CASE(
    "the same call on the emulator: it times the emulator, and says so; counts come from the last launch") {
  EmulatorDevice device(isa::Arch::gfx942, {.threads = 1});
  image::KernelImage k;
  k.name = "three";
  k.code = {0xbf800000, 0xbf800000, 0xbf810000}; // s_nop, s_nop, s_endpgm
  const Function f = device.function(device.load(CodeObject::parse(image::build({k}))), "three");
  for (const Timer timer : {Timer::events, Timer::wall}) {
    BenchmarkOptions o;
    o.warm_up = 1, o.repetitions = 4, o.flush_bytes = 4096, o.timer = timer;
    const auto r = benchmark(
        device, [&](Stream s) { device.launch(f, {.grid = {2}, .block = {64}}, {}, s); }, o);
    REQUIRE(r.milliseconds.size() == 4);
    for (const double ms : r.milliseconds) CHECK(ms >= 0);
    CHECK(to_text(r).find("of the emulator") != std::string::npos);
    const auto j = nlohmann::json::parse(to_json(r));
    CHECK(j.at("device") == "emulator");
    CHECK(j.at("timer") == (timer == Timer::events ? "events" : "wall"));
    CHECK(j.at("milliseconds").size() == 4);
    CHECK(device.last_launch().statistics.instructions == 6);
  }
}

} // namespace benchmark_test
