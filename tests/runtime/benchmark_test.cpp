#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <inlay/runtime/benchmark.h>
#include <inlay/runtime/hip.h>
#include <nlohmann/json.hpp>

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
