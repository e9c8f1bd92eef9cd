// Hand-tuned GEMM kernels of ROCm/aiter, executed and compared with their definition. They were written against hardware
// by people who never saw this emulator. Skipped where the files are absent; docs/isa_report.md says how to fetch them.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <inlay/runtime/emulator.h>
#include <random>

using namespace inlay::runtime;

namespace {

std::string file_of(const std::string& name) {
  const char* folder = std::getenv("INLAY_AITER_DIR");
  if (folder == nullptr || !std::filesystem::exists(std::filesystem::path(folder) / name)) {
    WARN("skipped: set INLAY_AITER_DIR to the folder hsa of ROCm/aiter (docs/isa_report.md says how)");
    return {};
  }
  return (std::filesystem::path(folder) / name).string();
}

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& v) {
  std::vector<std::uint8_t> b(v.size() * sizeof(T));
  std::memcpy(b.data(), v.data(), b.size());
  return b;
}

float float_of(std::uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
float bf16(std::uint16_t bits) { return float_of(std::uint32_t{bits} << 16); }
std::uint16_t to_bf16(float v) { // of values that bf16 holds exactly
  std::uint32_t bits;
  std::memcpy(&bits, &v, sizeof v);
  return static_cast<std::uint16_t>(bits >> 16);
}
/// E4M3 as gfx942 has it: bias 8, no infinities, no negative zero.
float fp8(std::uint8_t b) {
  const int e = (b >> 3) & 15, m = b & 7;
  const float v =
      e == 0 ? std::ldexp(static_cast<float>(m), -10) : std::ldexp(static_cast<float>(8 + m), e - 11);
  return (b & 0x80) != 0 ? -v : v;
}

/// Arguments of these kernels stand in slots of 16 bytes.
struct Slots {
  std::vector<std::uint8_t> bytes;
  explicit Slots(std::size_t size) : bytes(size, 0) {}
  template <class T>
  void set(std::size_t offset, T v) {
    REQUIRE(offset + sizeof v <= bytes.size());
    std::memcpy(bytes.data() + offset, &v, sizeof v);
  }
};

/// [N][K] to the order in which a lane's 16 bytes lie together: [N/16][K/16 bytes][16 n][16 bytes of k].
template <class T>
std::vector<T> preshuffled(const std::vector<T>& b, unsigned n, unsigned k) {
  const unsigned chunk = 16 / sizeof(T);
  std::vector<T> out(b.size());
  std::size_t at = 0;
  for (unsigned nb = 0; nb < n / 16; ++nb)
    for (unsigned kb = 0; kb < k / chunk; ++kb)
      for (unsigned r = 0; r < 16; ++r)
        for (unsigned e = 0; e < chunk; ++e) out[at++] = b[std::size_t{nb * 16 + r} * k + kb * chunk + e];
  return out;
}

struct Launcher {
  CodeObject object;
  EmulatorDevice device{isa::Arch::gfx942};
  std::vector<Buffer> buffers;

  explicit Launcher(const std::string& file) : object(CodeObject::read(file)) {}
  DevicePointer in(const std::vector<std::uint8_t>& b) {
    buffers.emplace_back(device, b.size());
    device.copy_in(buffers.back().address(), b);
    return buffers.back().address();
  }
  void run(const Slots& slots, Extent3 grid) {
    LaunchGeometry g;
    g.grid = grid, g.block = {256, 1, 1};
    const Module m = device.load(object);
    device.launch(device.function(m, object.kernel("").name), g, slots.bytes);
    device.synchronize();
    for (const Finding& f : device.last_launch().findings) FAIL_CHECK(to_string(f));
  }
  template <class T>
  std::vector<T> out(DevicePointer p, std::size_t n) {
    std::vector<std::uint8_t> b(n * sizeof(T));
    device.copy_out(b, p);
    std::vector<T> v(n);
    std::memcpy(v.data(), b.data(), b.size());
    return v;
  }
};

void i8_gemm(const std::string& tile, unsigned m, unsigned n, unsigned k, unsigned tile_m, unsigned tile_n) {
  const auto file = file_of("gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_" + tile + ".co");
  if (file.empty()) return;
  std::mt19937 random(11);
  std::vector<std::int8_t> a(std::size_t{m} * k), b(std::size_t{n} * k);
  for (auto& v : a) v = static_cast<std::int8_t>(random());
  for (auto& v : b) v = static_cast<std::int8_t>(random());
  std::vector<float> sa(m), sb(n), bias(n);
  for (auto& v : sa) v = std::ldexp(static_cast<float>(1 + random() % 255), -12);
  for (auto& v : sb) v = std::ldexp(static_cast<float>(1 + random() % 255), -12);
  for (auto& v : bias) v = static_cast<float>(random() % 64) - 32;
  Launcher l(file);
  l.buffers.reserve(8);
  Slots s(l.object.kernel("").kernarg_bytes);
  const auto c = l.in(std::vector<std::uint8_t>(std::size_t{m} * n * 2, 0));
  s.set(0x00, c), s.set(0x10, l.in(bytes_of(a))), s.set(0x20, l.in(bytes_of(preshuffled(b, n, k))));
  s.set(0x30, l.in(bytes_of(sa))), s.set(0x40, l.in(bytes_of(sb))), s.set(0x50, l.in(bytes_of(bias)));
  s.set(0x60, m), s.set(0x70, n), s.set(0x80, k), s.set(0x90, k), s.set(0xa0, k), s.set(0xb0, 2 * n),
      s.set(0xc0, 1U);
  l.run(s, {n / tile_n, (m + tile_m - 1) / tile_m, 1});
  const auto got = l.out<std::uint16_t>(c, std::size_t{m} * n);
  std::size_t wrong = 0;
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (unsigned x = 0; x < k; ++x)
        sum += std::int64_t{a[std::size_t{i} * k + x]} * b[std::size_t{j} * k + x];
      const double scaled =
          static_cast<double>(sum) * static_cast<double>(sb[j]) * static_cast<double>(sa[i]);
      const double expected = scaled + static_cast<double>(bias[j]);
      // Two f32 products and a sum, then truncation to 8 bits: one unit in the last place of bf16, and f32 rounding of
      // the addends.
      const double bound = std::ldexp(std::abs(expected), -7) +
                           std::ldexp(std::abs(scaled) + std::abs(static_cast<double>(bias[j])), -22);
      if (!(std::abs(static_cast<double>(bf16(got[std::size_t{i} * n + j])) - expected) <= bound)) ++wrong;
    }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("i8 GEMM 16x128: ragged rows, several tiles") { i8_gemm("16x128", 20, 256, 768, 16, 128); }

// The 112x256 kernel is not among these: a wave that runs ahead to its barrier overwrites LDS that the others still
// read, so it is right only where waves advance in step, which this emulator does not promise.

TEST_CASE("fp8 GEMM 32x128 with block scales") {
  const auto file = file_of("gfx942/fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_32x128.co");
  if (file.empty()) return;
  const unsigned m = 40, n = 256, k = 1024;
  std::mt19937 random(12);
  const auto byte = [&] { // exponents 4 to 11 of 15: products stay far from the ends
    return static_cast<std::uint8_t>(((random() & 1) << 7) | ((4 + random() % 8) << 3) | (random() & 7));
  };
  std::vector<std::uint8_t> a(std::size_t{m} * k), b(std::size_t{n} * k);
  for (auto& v : a) v = byte();
  for (auto& v : b) v = byte();
  std::vector<float> sa(std::size_t{k / 128} * m), sb(std::size_t{n / 128} * (k / 128)), bias(n, 0.0F);
  for (auto& v : sa) v = std::ldexp(static_cast<float>(1 + random() % 255), -9);
  for (auto& v : sb) v = std::ldexp(static_cast<float>(1 + random() % 255), -9);
  Launcher l(file);
  l.buffers.reserve(8);
  Slots s(l.object.kernel("").kernarg_bytes);
  const auto c = l.in(std::vector<std::uint8_t>(std::size_t{m} * n * 2, 0));
  s.set(0x00, c), s.set(0x10, l.in(a)), s.set(0x20, l.in(preshuffled(b, n, k)));
  s.set(0x30, l.in(bytes_of(sa))), s.set(0x40, l.in(bytes_of(sb))), s.set(0x50, l.in(bytes_of(bias)));
  s.set(0x60, m), s.set(0x70, n), s.set(0x80, k), s.set(0x90, k), s.set(0xa0, k), s.set(0xb0, 2 * n),
      s.set(0xc0, 1U);
  s.set(0xd0, m), s.set(0xe0, n / 128), s.set(0xf0, k / 128);
  l.run(s, {n / 128, (m + 31) / 32, 1});
  const auto got = l.out<std::uint16_t>(c, std::size_t{m} * n);
  std::size_t wrong = 0;
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j) {
      double expected = 0, size = 0;
      for (unsigned block = 0; block < k / 128; ++block) {
        double sum = 0, absolute = 0;
        for (unsigned x = 128 * block; x < 128 * (block + 1); ++x) {
          const double p = static_cast<double>(fp8(a[std::size_t{i} * k + x])) *
                           static_cast<double>(fp8(b[std::size_t{j} * k + x]));
          sum += p, absolute += std::abs(p);
        }
        const double scale = static_cast<double>(sa[std::size_t{block} * m + i]) *
                             static_cast<double>(sb[std::size_t{j / 128} * (k / 128) + block]);
        expected += sum * scale, size += absolute * scale;
      }
      // The matrix unit drops what lies below 2^-24 of the largest term of a group of 16 (half of them at a time).
      const double bound = std::ldexp(std::abs(expected), -7) + std::ldexp(size, -18);
      if (!(std::abs(static_cast<double>(bf16(got[std::size_t{i} * n + j])) - expected) <= bound)) ++wrong;
    }
  CHECK(wrong == 0);
}

TEST_CASE("bf16 GEMM 32x64, whole and split along K, both output types") {
  const auto file = file_of("gfx942/bf16gemm/bf16gemm_fp32bf16_tn_32x64_pf3_splitk.co");
  if (file.empty()) return;
  const unsigned m = 40, n = 128, k = 512;
  std::mt19937 random(13);
  std::vector<std::uint16_t> a(std::size_t{m} * k), b(std::size_t{n} * k);
  const auto small = [&] { return static_cast<float>(static_cast<int>(random() % 255) - 127) / 64; };
  for (auto& v : a) v = to_bf16(small());
  for (auto& v : b) v = to_bf16(small());
  for (const unsigned split : {1U, 2U})
    for (const bool narrow : {false, true}) {
      CAPTURE(split, narrow);
      const unsigned element = narrow ? 2 : 4;
      Launcher l(file);
      l.buffers.reserve(8);
      Slots s(l.object.kernel("").kernarg_bytes);
      const auto d = l.in(std::vector<std::uint8_t>(std::size_t{m} * n * element, 0));
      s.set(0x00, d), s.set(0x20, l.in(bytes_of(a))), s.set(0x30, l.in(bytes_of(b)));
      s.set(0x40, 1.0F), s.set(0x50, 0.0F), s.set(0x80, n * element), s.set(0xa0, 2 * k), s.set(0xc0, 2 * k);
      s.set(0xe0, m), s.set(0xf0, n), s.set(0x100, k), s.set(0x110, split), s.set(0x120, narrow ? 1U : 0U);
      l.run(s, {n / 64, (m + 31) / 32, split});
      std::vector<float> got(std::size_t{m} * n);
      if (narrow) {
        const auto raw = l.out<std::uint16_t>(d, got.size());
        for (std::size_t i = 0; i < got.size(); ++i) got[i] = bf16(raw[i]);
      } else {
        got = l.out<float>(d, got.size());
      }
      std::size_t wrong = 0;
      for (unsigned i = 0; i < m; ++i)
        for (unsigned j = 0; j < n; ++j) {
          double expected = 0, size = 0;
          for (unsigned x = 0; x < k; ++x) {
            const double p = static_cast<double>(bf16(a[std::size_t{i} * k + x])) *
                             static_cast<double>(bf16(b[std::size_t{j} * k + x]));
            expected += p, size += std::abs(p);
          }
          const double bound =
              std::ldexp(size, -18) + (narrow ? std::ldexp(std::abs(expected) + size / 8, -8) * split : 0);
          if (!(std::abs(static_cast<double>(got[std::size_t{i} * n + j]) - expected) <= bound)) ++wrong;
        }
      CHECK(wrong == 0);
    }
}
