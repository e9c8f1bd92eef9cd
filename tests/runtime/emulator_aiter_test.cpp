// Hand-tuned kernels of AITER (github.com/ROCm/aiter), where INLAY_AITER names a checkout of it: int8, fp8 and bf16 products
// against references in double. Their argument structures are in AITER's csrc/py_itfs_cu/asm_*.cu: every argument takes 16 bytes.
#include "emulator_support.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

namespace emulator_aiter_test {

using namespace emulator_test;

namespace {

/// Arguments in slots of 16 bytes.
struct Slots {
  std::vector<std::uint8_t> bytes;
  template <class T>
  Slots& add(T v) {
    const std::size_t at = bytes.size();
    bytes.resize(at + 16);
    std::memcpy(&bytes[at], &v, sizeof v);
    return *this;
  }
};

std::string file(const std::string& name) {
  const char* root = std::getenv("INLAY_AITER");
  if (root == nullptr) return {};
  const std::string path = std::string(root) + "/hsa/gfx942/" + name;
  return std::filesystem::exists(path) ? path : std::string();
}

LaunchResult launch(EmulatorDevice& device, const std::string& path, const LaunchGeometry& geometry,
                    const Slots& slots) {
  const CodeObject code = CodeObject::read(path);
  std::vector<std::uint8_t> arguments = slots.bytes;
  arguments.resize(std::max<std::size_t>(arguments.size(), code.kernel("").kernarg_bytes));
  const Module module = device.load(code);
  device.launch(device.function(module, ""), geometry, arguments);
  return device.last_launch();
}

float bf16_to_float(std::uint16_t h) {
  const std::uint32_t bits = std::uint32_t{h} << 16;
  float f = 0;
  std::memcpy(&f, &bits, 4);
  return f;
}

/// [N][K] bytes in blocks [N/16][K/16 bytes][16 n][16 bytes].
std::vector<std::uint8_t> preshuffle(const std::vector<std::uint8_t>& b, std::size_t n,
                                     std::size_t row_bytes) {
  std::vector<std::uint8_t> out(b.size());
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t x = 0; x < row_bytes; ++x) {
      out[((j / 16) * (row_bytes / 16) + x / 16) * 256 + (j % 16) * 16 + x % 16] = b[j * row_bytes + x];
    }
  }
  return out;
}

double fnuz(std::uint8_t b) {
  const double sign = (b & 0x80) != 0 ? -1.0 : 1.0;
  const int e = (b >> 3) & 15;
  return e == 0 ? sign * std::ldexp(b & 7, -10) : sign * std::ldexp(1.0 + (b & 7) / 8.0, e - 8);
}

std::vector<float> scales(std::mt19937& random, std::size_t count) {
  std::vector<float> v(count);
  for (float& x : v) x = std::ldexp(1.0F + static_cast<float>(random() % 64) / 64.0F, -4);
  return v;
}

void check(const std::vector<std::uint16_t>& c, const std::vector<double>& want,
           const std::vector<double>& magnitude, std::size_t k) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double bound =
        std::fabs(want[i]) * 0x1p-7 + magnitude[i] * static_cast<double>(k) * 0x1p-24 + 1e-30;
    if (!(std::fabs(static_cast<double>(bf16_to_float(c[i])) - want[i]) <= bound) && wrong++ == 0) {
      UNSCOPED_INFO("element " << i << " is " << bf16_to_float(c[i]) << ", expected " << want[i]);
    }
  }
  CHECK(wrong == 0);
}

void i8gemm(const std::string& name, std::uint32_t tile_m, std::uint32_t tile_n, std::uint32_t m,
            std::uint32_t n, std::uint32_t k, bool races = false) {
  const std::string path = file("i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_" + name + ".co");
  if (path.empty()) return;
  INFO(path);
  std::mt19937 random(1);
  std::vector<std::uint8_t> a(std::size_t{m} * k), b(std::size_t{n} * k);
  for (auto& x : a) x = static_cast<std::uint8_t>(random());
  for (auto& x : b) x = static_cast<std::uint8_t>(random());
  const auto scale_a = scales(random, m), scale_b = scales(random, n);
  const std::vector<float> bias(n, 0.0F);
  EmulatorDevice device(isa::Arch::gfx942,
                        {.checks = Checks::parse("bounds,waits,races,barrier,uninit,align")});
  const DevicePointer pc = device.allocate(std::size_t{m} * n * 2);
  Slots slots;
  slots.add(pc).add(upload(device, a)).add(upload(device, preshuffle(b, n, k))).add(upload(device, scale_a));
  slots.add(upload(device, scale_b))
      .add(upload(device, bias))
      .add(m)
      .add(n)
      .add(k)
      .add(k)
      .add(k)
      .add(2 * n)
      .add(1U);
  const LaunchResult r =
      launch(device, path, {.grid = {n / tile_n, (m + tile_m - 1) / tile_m}, .block = {256}}, slots);
  INFO(all(r.findings));
  if (races) {
    CHECK(!r.findings.empty());
    for (const Finding& f : r.findings) CHECK(f.kind == FindingKind::races);
  } else {
    CHECK(r.findings.empty());
  }
  std::vector<double> want, magnitude;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t x = 0; x < k; ++x) {
        sum += static_cast<double>(static_cast<std::int8_t>(a[i * k + x])) *
               static_cast<double>(static_cast<std::int8_t>(b[j * k + x]));
      }
      want.push_back(sum * static_cast<double>(scale_a[i]) * static_cast<double>(scale_b[j]));
      magnitude.push_back(0);
    }
  }
  check(download<std::uint16_t>(device, pc, std::size_t{m} * n), want, magnitude, k);
}

} // namespace

TEST_CASE("AITER i8 gemm 16x128") { i8gemm("16x128", 16, 128, 32, 256, 512); }
// This kernel overwrites LDS that other waves may still be reading: the races check says so, and the result is right only
// when the waves advance together, as they do on hardware and in turns of a few instructions.
TEST_CASE("AITER i8 gemm 112x256") { i8gemm("112x256", 112, 256, 112, 512, 512, true); }

TEST_CASE("AITER fp8 block-scale gemm 32x128") {
  const std::string path = file("fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_32x128.co");
  if (path.empty()) return;
  const std::uint32_t m = 64, n = 256, k = 512;
  std::mt19937 random(2);
  std::vector<std::uint8_t> a(std::size_t{m} * k), b(std::size_t{n} * k);
  for (auto& x : a) x = static_cast<std::uint8_t>(0x28 + random() % 0x28 + (random() % 2) * 0x80);
  for (auto& x : b) x = static_cast<std::uint8_t>(0x28 + random() % 0x28 + (random() % 2) * 0x80);
  const auto scale_a = scales(random, std::size_t{k} / 128 * m),
             scale_b = scales(random, std::size_t{n} / 128 * (k / 128));
  const std::vector<float> bias(n, 0.0F);
  EmulatorDevice device(isa::Arch::gfx942,
                        {.checks = Checks::parse("bounds,waits,races,barrier,uninit,align")});
  const DevicePointer pc = device.allocate(std::size_t{m} * n * 2);
  Slots slots;
  slots.add(pc)
      .add(upload(device, a))
      .add(upload(device, preshuffle(b, n, k)))
      .add(upload(device, scale_a))
      .add(upload(device, scale_b))
      .add(upload(device, bias))
      .add(m)
      .add(n)
      .add(k)
      .add(k)
      .add(k)
      .add(2 * n)
      .add(1U)
      .add(m)
      .add(n / 128)
      .add(k / 128);
  const LaunchResult r = launch(device, path, {.grid = {n / 128, m / 32}, .block = {256}}, slots);
  INFO(all(r.findings));
  CHECK(r.findings.empty());
  std::vector<double> want, magnitude;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::size_t x = 0; x < k; ++x) {
        const double p = fnuz(a[i * k + x]) * fnuz(b[j * k + x]) *
                         static_cast<double>(scale_a[x / 128 * m + i]) *
                         static_cast<double>(scale_b[j / 128 * (k / 128) + x / 128]);
        sum += p;
        size += std::fabs(p);
      }
      want.push_back(sum);
      magnitude.push_back(size);
    }
  }
  check(download<std::uint16_t>(device, pc, std::size_t{m} * n), want, magnitude, k);
}

TEST_CASE("AITER bf16 gemm 32x64 with split K") {
  const std::string path = file("bf16gemm/bf16gemm_fp32bf16_tn_32x64_splitk_clean.co");
  if (path.empty()) return;
  for (const std::uint32_t split : {1U, 2U}) {
    INFO("split " << split);
    const std::uint32_t m = 64, n = 128, k = 512;
    std::mt19937 random(3);
    const auto draw = [&](std::size_t count) {
      std::vector<std::uint16_t> v(count);
      for (auto& x : v)
        x = static_cast<std::uint16_t>(0x3e00 + (random() % 0x0180) + (random() % 2) * 0x8000);
      return v;
    };
    const auto a = draw(std::size_t{m} * k), b = draw(std::size_t{n} * k);
    EmulatorDevice device(isa::Arch::gfx942,
                          {.checks = Checks::parse("bounds,waits,races,barrier,uninit,align"),
                           .max_wave_instructions = 100'000'000});
    const DevicePointer pd = upload(device, std::vector<std::uint16_t>(std::size_t{m} * n));
    const DevicePointer semaphore = upload(device, std::vector<std::uint32_t>(16 * 64));
    const DevicePointer bias = upload(device, std::vector<std::uint16_t>(n));
    Slots slots;
    slots.add(pd)
        .add(DevicePointer{0})
        .add(upload(device, a))
        .add(upload(device, b))
        .add(1.0F)
        .add(0.0F)
        .add(0U)
        .add(0U)
        .add(2 * n)
        .add(0U)
        .add(2 * k)
        .add(0U)
        .add(2 * k)
        .add(0U)
        .add(m)
        .add(n)
        .add(k)
        .add(split)
        .add(1U)
        .add(bias)
        .add(0U)
        .add(semaphore);
    const LaunchResult r = launch(device, path, {.grid = {n / 64, m / 32, split}, .block = {256}}, slots);
    INFO(all(r.findings));
    CHECK(r.findings.empty());
    std::vector<double> want, magnitude;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (std::size_t x = 0; x < k; ++x) {
          const double p = static_cast<double>(bf16_to_float(a[i * k + x])) *
                           static_cast<double>(bf16_to_float(b[j * k + x]));
          sum += p;
          size += std::fabs(p);
        }
        want.push_back(sum);
        // The splits add their parts in bf16: each part and each sum is rounded once more.
        const double parts = split == 1 ? 0 : size;
        magnitude.push_back(size + parts * 0x1p-7 * 0x1p24 / k);
      }
    }
    check(download<std::uint16_t>(device, pd, std::size_t{m} * n), want, magnitude, k);
  }
}

} // namespace emulator_aiter_test
