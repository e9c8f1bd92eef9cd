// Calibration on the emulator gives back the numbers that the model ran with.
#include "timing_support.h"

#include <inlay/runtime/timing/calibrate.h>

namespace calibrate_test {

using namespace timing_test;

namespace {

Calibration on_model(isa::Arch arch, const Parameters& truth) {
  static ModelDevice models[] = {ModelDevice(isa::Arch::gfx942), ModelDevice(isa::Arch::gfx950)};
  ModelDevice& model = models[static_cast<std::size_t>(arch)];
  return calibrate(
      arch, [&](const Microbenchmark& b, unsigned n) { return model.clocks(b, n, truth); }, "test", model);
}

double value(const Parameters& p, const std::string& name) {
  return name.starts_with("issue:") ? p.issue_clocks(name.substr(6)) : p[name];
}

} // namespace

TEST_CASE("the emulator gives back the numbers that it runs with") {
  for (const auto arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    const Parameters p = Parameters::of(arch);
    const Calibration c = on_model(arch, p);
    CHECK(c.fitted.size() == microbenchmarks(arch).size());
    for (const Fitted& f : c.fitted) {
      INFO(f.parameter);
      CHECK(f.after == f.before);
      CHECK(f.explained == Approx(f.measured));
      CHECK(f.measured > 0);
    }
    CHECK(c.parameters.to_json() == p.to_json());
  }
}

TEST_CASE("a device with other numbers gives these, one at a time") {
  for (const auto arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    for (const Microbenchmark& b : microbenchmarks(arch)) {
      INFO(isa::to_string(arch) << " " << b.parameter);
      const Parameters p = Parameters::of(arch);
      // Larger, in whole slots of 4 clocks, except what is counted; ports narrower, so that they show.
      double other = 2 * value(p, b.parameter) + 16;
      if (b.parameter == "lds_fifo_entries") other = 13;
      if (b.parameter.ends_with("port_bytes") || b.parameter.ends_with("bytes_per_clk")) other = 32;
      if (b.parameter.ends_with("wait_states")) other = value(p, b.parameter) + 3;
      const Parameters truth = p.with(b.parameter, other);
      const Calibration c = on_model(arch, truth);
      // A number that only shows in slots of 4 clocks is known to within one; bytes a clock likewise by the clocks they take.
      const double slack = b.parameter.ends_with("_clk") ? 3 : b.parameter.ends_with("port_bytes") ? 4 : 0;
      for (const Fitted& f : c.fitted) {
        INFO(f.parameter << " " << f.before << " -> " << f.after);
        CHECK(std::abs(f.explained - f.measured) <= 4 + 0.002 * f.measured);
      }
      CHECK(std::abs(value(c.parameters, b.parameter) - other) <= slack);
    }
  }
}

TEST_CASE("several numbers at once") {
  const Parameters truth = Parameters::of(isa::Arch::gfx942)
                               .with("lds_latency_clk", 64)
                               .with("lds_fifo_entries", 12)
                               .with("hbm_latency_clk", 1500)
                               .with("l2_latency_clk", 400)
                               .with("issue:ds_write_b128", 28)
                               .with("barrier_clk", 40);
  const Calibration c = on_model(isa::Arch::gfx942, truth);
  for (const char* name : {"lds_latency_clk", "lds_fifo_entries", "hbm_latency_clk", "l2_latency_clk",
                           "issue:ds_write_b128", "barrier_clk"}) {
    INFO(name);
    CHECK(std::abs(value(c.parameters, name) - value(truth, name)) <= 3);
  }
}

} // namespace calibrate_test
