// Kernels compiled by Triton 3.6 for both architectures, assembled here and run to the end, against references in double.
#include "emulator_support.h"

#include <cmath>
#include <random>

namespace emulator_triton_test {

using namespace emulator_test;

namespace {

float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = (h & 0x8000U) << 16;
  const std::uint32_t exponent = (h >> 10) & 31U;
  const std::uint32_t mantissa = h & 0x3ffU;
  if (exponent == 0) return std::ldexp(static_cast<float>(mantissa), -24) * (sign != 0 ? -1.0F : 1.0F);
  const std::uint32_t bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  float f = 0;
  std::memcpy(&f, &bits, 4);
  return f;
}
float bf16_to_float(std::uint16_t h) {
  const std::uint32_t bits = std::uint32_t{h} << 16;
  float f = 0;
  std::memcpy(&f, &bits, 4);
  return f;
}

std::vector<std::uint8_t> triton(const std::string& name, isa::Arch arch) {
  return isa::assemble_code_object(read_file(std::string(INLAY_TESTS_DIR) + "/isa/triton/" + name + "." +
                                             std::string(isa::to_string(arch)) + ".s"),
                                   arch);
}

std::uint32_t lds_of(isa::Arch arch) { return arch == isa::Arch::gfx942 ? 65536 : 163840; }

/// Element types of the GEMMs: the bits of a random element, its value, and how far a result may be off.
struct ElementType {
  std::size_t bytes;
  std::function<std::uint16_t(std::mt19937&)> draw;
  std::function<double(std::uint16_t)> value;
};

ElementType element_type(const std::string& name, isa::Arch arch) {
  if (name == "f16") {
    return {2,
            [](std::mt19937& r) {
              return static_cast<std::uint16_t>(0x3000 + (r() % 0x0c00) + (r() % 2) * 0x8000);
            },
            [](std::uint16_t b) { return static_cast<double>(half_to_float(b)); }};
  }
  if (name == "bf16") {
    return {2,
            [](std::mt19937& r) {
              return static_cast<std::uint16_t>(0x3e00 + (r() % 0x0180) + (r() % 2) * 0x8000);
            },
            [](std::uint16_t b) { return static_cast<double>(bf16_to_float(b)); }};
  }
  if (name == "i8") {
    return {1, [](std::mt19937& r) { return static_cast<std::uint16_t>(r() % 256); },
            [](std::uint16_t b) { return static_cast<double>(static_cast<std::int8_t>(b)); }};
  }
  // e4m3: FNUZ on gfx942 (bias 8), OCP on gfx950 (bias 7); codes 0x20..0x4f of either sign.
  const int bias = arch == isa::Arch::gfx942 ? 8 : 7;
  return {1,
          [](std::mt19937& r) { return static_cast<std::uint16_t>(0x20 + (r() % 0x30) + (r() % 2) * 0x80); },
          [bias](std::uint16_t b) {
            const double m = 1.0 + (b & 7) / 8.0;
            return std::ldexp(m, ((b >> 3) & 15) - bias) * ((b & 0x80) != 0 ? -1.0 : 1.0);
          }};
}

void gemm(const std::string& file, const std::string& type, isa::Arch arch, std::uint32_t tile_m,
          std::uint32_t tile_n, std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t block) {
  INFO(file << " " << isa::to_string(arch) << " " << m << "x" << n << "x" << k);
  const ElementType t = element_type(type, arch);
  std::mt19937 random(7);
  const auto draw = [&](std::size_t count, std::vector<double>& values) {
    std::vector<std::uint8_t> bytes(count * t.bytes);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t b = t.draw(random);
      std::memcpy(&bytes[i * t.bytes], &b, t.bytes);
      values.push_back(t.value(b));
    }
    return bytes;
  };
  std::vector<double> a_values, b_values;
  const auto a = draw(std::size_t{m} * k, a_values); // A[M][K]
  const auto b = draw(std::size_t{k} * n, b_values); // B[N][K]
  EmulatorDevice device(arch, {.checks = Checks::all()});
  const bool wide_result = type == "i8";
  const std::size_t result_bytes = wide_result ? 4 : 2;
  const DevicePointer pa = upload(device, a);
  const DevicePointer pb = upload(device, b);
  const DevicePointer pc = device.allocate(std::size_t{m} * n * result_bytes);
  const auto int_of = [](std::uint32_t v) { return static_cast<std::int32_t>(v); };
  const auto arguments = Arguments()
                             .pointer(pa)
                             .pointer(pb)
                             .pointer(pc)
                             .i32(int_of(m))
                             .i32(int_of(n))
                             .i32(int_of(k))
                             .i32(int_of(k))
                             .i32(int_of(k))
                             .i32(int_of(n))
                             .pointer(0)
                             .pointer(0)
                             .bytes();
  const std::uint32_t groups = ((m + tile_m - 1) / tile_m) * ((n + tile_n - 1) / tile_n);
  const LaunchResult result =
      run(device, triton(file, arch), {.grid = {groups}, .block = {block}, .dynamic_lds = lds_of(arch)},
          arguments);
  INFO(all(result.findings));
  CHECK(result.findings.empty());
  CHECK(result.statistics.multiply_adds >= std::uint64_t{m} * n * k);
  const auto c = download<std::uint8_t>(device, pc, std::size_t{m} * n * result_bytes);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::size_t x = 0; x < k; ++x) {
        const double p = a_values[i * k + x] * b_values[j * k + x];
        sum += p;
        magnitude += std::fabs(p);
      }
      double got = 0, bound = 0;
      if (wide_result) {
        std::int32_t v = 0;
        std::memcpy(&v, &c[(i * n + j) * 4], 4);
        got = v;
      } else {
        std::uint16_t v = 0;
        std::memcpy(&v, &c[(i * n + j) * 2], 2);
        got = static_cast<double>(type == "f16" ? half_to_float(v) : bf16_to_float(v));
        // One rounding to the result's precision and K roundings of the f32 sum.
        bound = std::fabs(sum) * (type == "f16" ? 0x1p-11 : 0x1p-8) + magnitude * k * 0x1p-24 + 0x1p-24;
      }
      if (!(std::fabs(got - sum) <= bound)) {
        if (wrong++ == 0)
          UNSCOPED_INFO("C[" << i << "][" << j << "] is " << got << ", expected " << sum << " +- " << bound);
      }
    }
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("gemm f16 128x128x64 of Triton") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    gemm("gemm_f16_128x128x64", "f16", arch, 128, 128, 256, 128, 192, 256);
  }
}
TEST_CASE("gemm f16 256x256x64 of Triton") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    gemm("gemm_f16_256x256x64", "f16", arch, 256, 256, 256, 512, 128, 512);
  }
}
TEST_CASE("gemm bf16 256x256x64 of Triton") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    gemm("gemm_bf16_256x256x64", "bf16", arch, 256, 256, 256, 256, 192, 512);
  }
}
TEST_CASE("gemm i8 128x128x128 of Triton") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    gemm("gemm_i8_128x128x128", "i8", arch, 128, 128, 256, 128, 384, 256);
  }
}
TEST_CASE("gemm fp8 256x256x128 of Triton") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    gemm("gemm_fp8_256x256x128", "fp8", arch, 256, 256, 256, 256, 256, 512);
  }
}

TEST_CASE("softmax f16 of Triton") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    for (const std::uint32_t columns : {8192U, 5000U}) {
      INFO(isa::to_string(arch) << " " << columns);
      const std::uint32_t rows = 3, stride = 8200;
      std::mt19937 random(3);
      std::vector<std::uint16_t> in(rows * stride);
      for (auto& v : in)
        v = static_cast<std::uint16_t>(0x3000 + (random() % 0x1400) + (random() % 2) * 0x8000);
      EmulatorDevice device(arch, {.checks = Checks::all()});
      const DevicePointer out = device.allocate(in.size() * 2);
      const DevicePointer source = upload(device, in);
      const auto arguments = Arguments()
                                 .pointer(source)
                                 .pointer(out)
                                 .i32(static_cast<std::int32_t>(columns))
                                 .i32(stride)
                                 .pointer(0)
                                 .pointer(0)
                                 .bytes();
      const LaunchResult result = run(device, triton("softmax_f16_8192", arch),
                                      {.grid = {rows}, .block = {512}, .dynamic_lds = 32768}, arguments);
      INFO(all(result.findings));
      CHECK(result.findings.empty());
      const auto got = download<std::uint16_t>(device, out, in.size());
      double worst = 0;
      for (std::uint32_t r = 0; r < rows; ++r) {
        double top = -1e30, sum = 0;
        for (std::uint32_t c = 0; c < columns; ++c)
          top = std::max(top, static_cast<double>(half_to_float(in[r * stride + c])));
        for (std::uint32_t c = 0; c < columns; ++c)
          sum += std::exp(static_cast<double>(half_to_float(in[r * stride + c])) - top);
        for (std::uint32_t c = 0; c < columns; ++c) {
          const double want = std::exp(static_cast<double>(half_to_float(in[r * stride + c])) - top) / sum;
          const double error = std::fabs(static_cast<double>(half_to_float(got[r * stride + c])) - want);
          worst = std::max(worst, error / (want * 0x1p-11 * 1.1 + 0x1p-25));
        }
      }
      CHECK(worst <= 1.0);
    }
  }
}

TEST_CASE("rmsnorm bf16 of Triton") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    INFO(isa::to_string(arch));
    const std::uint32_t rows = 2, columns = 8192;
    std::mt19937 random(5);
    const auto draw = [&](std::size_t n) {
      std::vector<std::uint16_t> v(n);
      for (auto& x : v)
        x = static_cast<std::uint16_t>(0x3e00 + (random() % 0x0280) + (random() % 2) * 0x8000);
      return v;
    };
    const auto x = draw(rows * columns);
    const auto weight = draw(columns);
    const float epsilon = 1e-5F;
    EmulatorDevice device(arch, {.checks = Checks::all()});
    const DevicePointer px = upload(device, x);
    const DevicePointer pw = upload(device, weight);
    const DevicePointer py = device.allocate(x.size() * 2);
    const auto arguments = Arguments()
                               .pointer(px)
                               .pointer(pw)
                               .pointer(py)
                               .i32(static_cast<std::int32_t>(columns))
                               .i32(static_cast<std::int32_t>(columns))
                               .put(epsilon)
                               .pointer(0)
                               .pointer(0)
                               .bytes();
    const LaunchResult result = run(device, triton("rmsnorm_bf16_8192", arch),
                                    {.grid = {rows}, .block = {512}, .dynamic_lds = 32768}, arguments);
    INFO(all(result.findings));
    CHECK(result.findings.empty());
    const auto y = download<std::uint16_t>(device, py, x.size());
    double worst = 0;
    for (std::uint32_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (std::uint32_t c = 0; c < columns; ++c)
        sum += std::pow(static_cast<double>(bf16_to_float(x[r * columns + c])), 2);
      const double scale = 1 / std::sqrt(sum / columns + static_cast<double>(epsilon));
      for (std::uint32_t c = 0; c < columns; ++c) {
        const double want = static_cast<double>(bf16_to_float(x[r * columns + c])) * scale *
                            static_cast<double>(bf16_to_float(weight[c]));
        worst = std::max(worst, std::fabs(static_cast<double>(bf16_to_float(y[r * columns + c])) - want) /
                                    (std::fabs(want) * 0x1p-8 * 1.05 + 1e-30));
      }
    }
    CHECK(worst <= 1.0);
  }
}

} // namespace emulator_triton_test
