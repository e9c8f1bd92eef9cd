// Kernels compiled by Triton 3.6 for both architectures, assembled here and run to the end, against references in double.
#include "emulator_support.h"

#include <cmath>
#include <random>

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
        got = static_cast<double>(type == "f16" || type == "fp8" ? half_to_float(v) : bf16_to_float(v));
        // One rounding to the result's precision and K roundings of the f32 sum.
        bound = std::fabs(sum) * (type == "bf16" ? 0x1p-8 : 0x1p-11) + magnitude * k * 0x1p-24 + 0x1p-24;
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
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950})
    gemm("gemm_f16_128x128x64", "f16", arch, 128, 128, 256, 128, 192, 256);
}
