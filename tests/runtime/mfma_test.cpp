// Matrix instructions executed: against the definition on numbers whose sums are exact, bit for bit against
// fused multiply-adds in order on arbitrary bits, and one set of kernels against the others.
#include "mfma_support.h"

#include "emulator/mfma_kernels.h"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

namespace mfma_test {

using namespace inlay::runtime;
using oracle::Problem;
using oracle::Registers;

namespace {

std::vector<const detail::MatrixKernels*> all_kernels() {
  std::vector<const detail::MatrixKernels*> all = {&detail::matrix_kernels_portable()};
  for (const auto* kernels : {detail::matrix_kernels_avx2(), detail::matrix_kernels_avx512()}) {
    if (kernels != nullptr) {
      all.push_back(kernels);
    }
  }
  return all;
}

auto on(const detail::MatrixKernels& kernels) {
  return [&kernels](const MatrixOp& op, const MatrixOperands& o, const MatrixModifiers& m,
                    const MatrixOptions& options) { detail::mfma_on(kernels, op, o, m, options); };
}

// Small integers that every element type has: 0, 1, 2, 3, 4, 6 and their negatives.
double small(std::mt19937& random) {
  constexpr std::array values = {0.0, 1.0, 2.0, 3.0, 4.0, 6.0};
  const double v = values[random() % values.size()];
  return (random() & 1u) != 0 ? -v : v;
}

void fill(Problem& p, std::mt19937& random) {
  for (auto* matrix : {&p.a, &p.b}) {
    for (auto& x : *matrix) {
      x = small(random);
    }
  }
  for (auto& x : p.c) {
    x = static_cast<double>(static_cast<int>(random() % 2001) - 1000);
  }
  for (auto& word : p.index) { // any two different places in ascending order
    word = 0;
    for (int n = 0; n < 8; ++n) {
      constexpr std::array<std::uint32_t, 6> fields = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
      word |= fields[random() % fields.size()] << 4 * n;
    }
  }
}

void random_bits(Registers& r, std::mt19937& random) {
  for (auto& word : r) {
    word = static_cast<std::uint32_t>(random());
  }
}

bool same_bits(const Registers& x, const Registers& y) { return x == y; }

std::uint32_t canonical(float x) { return std::isnan(x) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(x); }

} // namespace

TEST_CASE("every instruction gives the product of its definition, with every kernel", "[mfma]") {
  for (const auto* kernels : all_kernels()) {
    std::mt19937 random(1);
    for (const auto& op : matrix_ops()) {
      for (auto modifiers : oracle::type_modifiers(op)) {
        for (const auto kind : oracle::kinds(op)) {
          for (int round = 0; round < (op.sparse ? 4 : 1); ++round) {
            if (op.sparse) { // every index set, and CBSZ != 0 that ignores ABID
              modifiers.abid = static_cast<std::uint8_t>(round);
              modifiers.cbsz = static_cast<std::uint8_t>(round == 3 ? 1 : 0);
            }
            Problem p(op, modifiers, kind);
            fill(p, random);
            p.store();
            CAPTURE(op.name, kernels->name, int{modifiers.cbsz}, int{modifiers.blgp}, int{modifiers.abid});
            REQUIRE(p.result(on(*kernels)) == p.definition());
          }
        }
      }
    }
  }
}

TEST_CASE("one-hot probes: an element of A meets exactly the elements of B with its k", "[mfma]") {
  // A[i][k] = 1 alone gives D[i][j] = B[k][j] and nothing else; B holds numbers that tell k and j apart.
  for (const char* name : {"v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_f16", "v_mfma_f32_4x4x4_16b_f16",
                           "v_mfma_f32_32x32x4_2b_f16", "v_mfma_f32_16x16x32_f16", "v_mfma_f32_16x16x4_f32",
                           "v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"}) {
    const MatrixOp& op = *find_matrix_op(name);
    Problem p(op, {}, numerics::Fp8::ocp);
    CAPTURE(name);
    for (std::size_t n = 0; n < p.b.size(); ++n) {
      p.b[n] = static_cast<double>(n + 1); // below 2048: exact in f16
    }
    for (int block = 0; block < op.blocks; ++block) {
      for (int i = 0; i < op.m; i += 3) {
        for (int k = 0; k < op.k; ++k) {
          p.a.assign(p.a.size(), 0.0);
          p.a[p.at_a(block, i, k)] = 1.0;
          p.store();
          const auto d = p.result(on(detail::matrix_kernels()));
          std::vector<double> want(d.size(), 0.0);
          for (int j = 0; j < op.n; ++j) {
            want[p.at_c(block, i, j)] = p.b[p.at_b(block, k, j)];
          }
          REQUIRE(d == want);
        }
      }
    }
  }
}

TEST_CASE("float instructions are fused multiply-adds in ascending k, bit for bit, on arbitrary bits",
          "[mfma]") {
  std::mt19937 random(2);
  for (const auto& op : matrix_ops()) {
    if (op.d != Element::f32) {
      continue;
    }
    for (const auto& modifiers : oracle::type_modifiers(op)) {
      for (const auto kind : oracle::kinds(op)) {
        Problem p(op, modifiers, kind);
        random_bits(p.a_registers, random);
        random_bits(p.b_registers, random);
        random_bits(p.c_registers, random);
        random_bits(p.index, random);
        p.load();
        Registers d = p.c_registers;
        mfma(op,
             {.a = p.a_registers.data(),
              .b = p.b_registers.data(),
              .c = d.data(),
              .d = d.data(),
              .index = p.index.data()},
             modifiers, {.fp8 = kind});
        CAPTURE(op.name, int{modifiers.cbsz}, int{modifiers.blgp});
        const auto value = [&](double x) {
          return op.a == Element::xf32 ? numerics::xf32(static_cast<float>(x)) : static_cast<float>(x);
        };
        for (int lane = 0; lane < 64; ++lane) {
          for (int v = 0; v < p.values_of_d(); ++v) {
            const auto [block, i, j] = oracle::output_coordinate(op.n, false, lane, v);
            auto sum = static_cast<float>(p.c[p.at_c(block, i, j)]);
            for (int e = 0; e < p.packed; ++e) {
              sum =
                  std::fma(value(p.a[p.at_a(block, i, e)]), value(p.b[p.at_b(block, p.k_of(i, e), j)]), sum);
            }
            REQUIRE(d[static_cast<std::size_t>(v * 64 + lane)] == canonical(sum));
          }
        }
      }
    }
  }
}

TEST_CASE("the kernels agree bit for bit on arbitrary bits, subnormals and special values included",
          "[mfma]") {
  std::mt19937 random(3);
  for (const auto& op : matrix_ops()) {
    for (const auto& modifiers : oracle::type_modifiers(op)) {
      Problem p(op, modifiers,
                op.on(inlay::machine::Arch::gfx942) ? numerics::Fp8::fnuz : numerics::Fp8::ocp);
      for (int round = 0; round < 3; ++round) {
        random_bits(p.a_registers, random);
        random_bits(p.b_registers, random);
        random_bits(p.c_registers, random);
        random_bits(p.index, random);
        if (round == 1) { // small exponents: subnormal products and sums
          for (auto* r : {&p.a_registers, &p.b_registers, &p.c_registers}) {
            for (auto& word : *r) {
              word &= 0x87ff83ffu;
            }
          }
        }
        Registers first;
        for (const auto* kernels : all_kernels()) {
          Registers d = p.c_registers;
          detail::mfma_on(*kernels, op,
                          {.a = p.a_registers.data(),
                           .b = p.b_registers.data(),
                           .c = d.data(),
                           .d = d.data(),
                           .index = p.index.data()},
                          modifiers, {.fp8 = p.fp8});
          if (first.empty()) {
            first = d;
          }
          CAPTURE(op.name, kernels->name);
          REQUIRE(same_bits(first, d));
        }
      }
    }
  }
}

TEST_CASE("integer sums wrap", "[mfma]") {
  for (const char* name : {"v_mfma_i32_16x16x32_i8", "v_mfma_i32_32x32x4_2b_i8", "v_mfma_i32_4x4x4_16b_i8",
                           "v_smfmac_i32_32x32x64_i8"}) {
    const MatrixOp& op = *find_matrix_op(name);
    for (const auto* kernels : all_kernels()) {
      Problem p(op, {}, numerics::Fp8::ocp);
      p.a.assign(p.a.size(), -128.0);
      p.b.assign(p.b.size(), -128.0);
      p.store();
      p.c_registers.assign(p.c_registers.size(), 0x7fffffffu);
      Registers d = p.c_registers;
      detail::mfma_on(*kernels, op,
                      {.a = p.a_registers.data(),
                       .b = p.b_registers.data(),
                       .c = d.data(),
                       .d = d.data(),
                       .index = p.index.data()},
                      {}, {});
      const std::uint32_t want = 0x7fffffffu + static_cast<std::uint32_t>(p.packed) * 16384u;
      for (const std::uint32_t word : d) {
        REQUIRE(word == want);
      }
    }
  }
}

TEST_CASE("CBSZ and ABID broadcast blocks of A, BLGP permutes lanes of B", "[mfma]") {
  std::mt19937 random(4);
  for (const auto& op : matrix_ops()) {
    if (!op.broadcasts_a && !op.permutes_b) {
      continue;
    }
    const int most = op.broadcasts_a ? (op.blocks == 16 ? 4 : op.blocks == 4 ? 2 : 1) : 0;
    for (int cbsz = 0; cbsz <= most; ++cbsz) {
      for (int abid = 0; abid < 1 << cbsz; ++abid) {
        for (int blgp = 0; blgp < 8; ++blgp) {
          Problem p(op, {}, numerics::Fp8::ocp);
          fill(p, random);
          p.store();
          Problem q = p;
          q.modifiers = {.cbsz = static_cast<std::uint8_t>(cbsz),
                         .abid = static_cast<std::uint8_t>(abid),
                         .blgp = static_cast<std::uint8_t>(blgp)};
          // What the instruction should read, written into the registers of one without modifiers. The source
          // lanes of the eight patterns, by quarters of the wave:
          constexpr int quarters[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
                                          {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
          for (std::size_t r = 0; r < p.b_registers.size() / 64; ++r) {
            for (int lane = 0; lane < 64; ++lane) {
              const int from = quarters[blgp][lane / 16] * 16 + lane % 16;
              p.b_registers[r * 64 + static_cast<std::size_t>(lane)] =
                  q.b_registers[r * 64 + static_cast<std::size_t>(from)];
            }
          }
          for (int block = 0; block < op.blocks; ++block) {
            const int from = (block >> cbsz << cbsz) + abid;
            for (int i = 0; i < op.m; ++i) {
              for (int k = 0; k < op.k; ++k) {
                p.a[p.at_a(block, i, k)] = q.a[q.at_a(from, i, k)];
              }
            }
          }
          const Registers b = p.b_registers;
          p.store();
          p.b_registers = b;
          p.load();
          CAPTURE(op.name, cbsz, abid, blgp);
          REQUIRE(q.result(on(detail::matrix_kernels())) == p.definition());
        }
      }
    }
  }
}

TEST_CASE("instructions without those fields ignore them", "[mfma]") {
  std::mt19937 random(5);
  for (const auto& op : matrix_ops()) {
    if (op.broadcasts_a || op.permutes_b || op.negates || op.typed_by_modifiers || op.sparse) {
      continue;
    }
    Problem p(op, {.cbsz = 1, .abid = 1, .blgp = 5},
              op.on(inlay::machine::Arch::gfx942) ? numerics::Fp8::fnuz : numerics::Fp8::ocp);
    fill(p, random);
    p.store();
    CAPTURE(op.name);
    REQUIRE(p.result(on(detail::matrix_kernels())) == p.definition());
  }
}

TEST_CASE("BLGP negates A, B and C of f64, whose sums are fused multiply-adds", "[mfma]") {
  std::mt19937 random(6);
  std::normal_distribution<double> normal;
  for (const char* name : {"v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"}) {
    const MatrixOp& op = *find_matrix_op(name);
    for (std::uint8_t signs = 0; signs < 8; ++signs) {
      for (const auto* kernels : all_kernels()) {
        Problem p(op, {.blgp = signs}, numerics::Fp8::ocp);
        for (auto* matrix : {&p.a, &p.b, &p.c}) {
          for (auto& x : *matrix) {
            x = normal(random);
          }
        }
        p.store();
        std::vector<double> want = p.c;
        for (int block = 0; block < op.blocks; ++block) {
          for (int i = 0; i < op.m; ++i) {
            for (int j = 0; j < op.n; ++j) {
              double& sum = want[p.at_c(block, i, j)];
              sum = (signs & 4u) != 0 ? -sum : sum;
              for (int k = 0; k < op.k; ++k) {
                const double a = p.a[p.at_a(block, i, k)];
                const double b = p.b[p.at_b(block, k, j)];
                sum = std::fma((signs & 1u) != 0 ? -a : a, (signs & 2u) != 0 ? -b : b, sum);
              }
            }
          }
        }
        CAPTURE(name, int{signs}, kernels->name);
        REQUIRE(p.result(on(*kernels)) == want);
      }
    }
  }
}

TEST_CASE("inline constants, and D on top of any operand", "[mfma]") {
  std::mt19937 random(7);
  for (const auto& op : matrix_ops()) {
    Problem p(op, {}, op.on(inlay::machine::Arch::gfx942) ? numerics::Fp8::fnuz : numerics::Fp8::ocp);
    fill(p, random);
    CAPTURE(op.name);
    if (!op.sparse) {
      p.c.assign(p.c.size(), 1.0);
      p.store();
      Registers d(p.c_registers.size(), 0xdeadbeefu);
      mfma(op,
           {.a = p.a_registers.data(),
            .b = p.b_registers.data(),
            .d = d.data(),
            .constant = oracle::encode(op.d, 1.0, p.fp8)},
           {}, {.fp8 = p.fp8});
      REQUIRE(p.numbers(d) == p.definition());
    }
    p.store();
    const auto want = p.definition();
    // One file: B, A, then C three registers further; D starts on B and covers part of A and C.
    Registers file(64 * 80);
    const auto place = [&](const Registers& r, std::size_t at) {
      std::copy(r.begin(), r.end(), file.begin() + static_cast<std::ptrdiff_t>(at * 64));
    };
    const std::size_t a_at = p.b_registers.size() / 64;
    const std::size_t c_at = op.sparse ? 20 : 3 + a_at;
    place(p.c_registers, c_at);
    if (op.sparse) {
      place(p.b_registers, 0);
      place(p.a_registers, a_at);
      mfma(op,
           {.a = file.data() + a_at * 64,
            .b = file.data(),
            .d = file.data() + c_at * 64,
            .index = p.index.data()},
           {}, {.fp8 = p.fp8});
      const Registers d(file.begin() + static_cast<std::ptrdiff_t>(c_at * 64),
                        file.begin() + static_cast<std::ptrdiff_t>(c_at * 64 + p.c_registers.size()));
      REQUIRE(p.numbers(d) == want);
      continue;
    }
    Registers b_a = p.b_registers;
    b_a.insert(b_a.end(), p.a_registers.begin(), p.a_registers.end());
    if (c_at * 64 >= b_a.size()) {
      place(b_a, 0);
      mfma(op,
           {.a = file.data() + a_at * 64, .b = file.data(), .c = file.data() + c_at * 64, .d = file.data()},
           {}, {.fp8 = p.fp8});
      REQUIRE(p.numbers(Registers(file.begin(),
                                  file.begin() + static_cast<std::ptrdiff_t>(p.c_registers.size()))) == want);
    }
  }
}

TEST_CASE("scales multiply blocks of 32 k, exactly, over the whole range of E8M0", "[mfma]") {
  std::mt19937 random(8);
  for (const char* name : {"v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"}) {
    const MatrixOp& op = *find_matrix_op(name);
    for (auto modifiers : oracle::type_modifiers(op)) {
      for (const int spread : {4, 120}) {
        modifiers.scale_byte_a = static_cast<std::uint8_t>(random() & 3u);
        modifiers.scale_byte_b = static_cast<std::uint8_t>(random() & 3u);
        Problem p(op, modifiers, numerics::Fp8::ocp);
        random_bits(p.a_registers, random);
        random_bits(p.b_registers, random);
        random_bits(p.c_registers, random);
        p.load();
        Registers scale_a(64), scale_b(64);
        for (auto* scales : {&scale_a, &scale_b}) {
          random_bits(*scales, random);
          for (std::size_t lane = 0; lane < 64; ++lane) {
            const auto byte = static_cast<std::uint32_t>(scales == &scale_a ? modifiers.scale_byte_a
                                                                            : modifiers.scale_byte_b);
            const auto code = 127u - static_cast<std::uint32_t>(spread) +
                              static_cast<std::uint32_t>(random()) % static_cast<std::uint32_t>(2 * spread);
            (*scales)[lane] = ((*scales)[lane] & ~(0xffu << 8 * byte)) | code << 8 * byte;
          }
        }
        scale_a[5] |= 0xffu << 8 * modifiers.scale_byte_a; // NaN for one row
        Registers d = p.c_registers;
        mfma(op,
             {.a = p.a_registers.data(),
              .b = p.b_registers.data(),
              .c = d.data(),
              .d = d.data(),
              .scale_a = scale_a.data(),
              .scale_b = scale_b.data()},
             modifiers, {.fp8 = numerics::Fp8::ocp});
        const auto scale = [](const Registers& r, int byte, int lane) {
          const auto code = static_cast<int>(r[static_cast<std::size_t>(lane)] >> 8 * byte & 0xffu);
          return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127);
        };
        CAPTURE(name, int{modifiers.cbsz}, int{modifiers.blgp}, spread);
        for (int i = 0; i < op.m; ++i) {
          for (int j = 0; j < op.n; ++j) {
            auto sum = static_cast<float>(p.c[p.at_c(0, i, j)]);
            for (int k = 0; k < op.k; ++k) {
              const double a =
                  p.a[p.at_a(0, i, k)] * scale(scale_a, modifiers.scale_byte_a, k / 32 * op.m + i);
              const double b =
                  p.b[p.at_b(0, k, j)] * scale(scale_b, modifiers.scale_byte_b, k / 32 * op.n + j);
              // 113 bits hold the sum of a float and such a product, or what is lost is far below the
              // half-unit.
              sum = static_cast<float>(static_cast<__float128>(sum) +
                                       static_cast<__float128>(a) * static_cast<__float128>(b));
            }
            for (int lane = 0; lane < 64; ++lane) {
              for (int v = 0; v < p.values_of_d(); ++v) {
                const auto at = oracle::output_coordinate(op.n, false, lane, v);
                if (at.i == i && at.j == j) {
                  REQUIRE(d[static_cast<std::size_t>(v * 64 + lane)] == canonical(sum));
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("unscaled f8f6f4 is scale 1", "[mfma]") {
  std::mt19937 random(9);
  const MatrixOp& plain = *find_matrix_op("v_mfma_f32_16x16x128_f8f6f4");
  const MatrixOp& scaled = *find_matrix_op("v_mfma_scale_f32_16x16x128_f8f6f4");
  Problem p(plain, {.cbsz = 4, .blgp = 1}, numerics::Fp8::ocp);
  random_bits(p.a_registers, random);
  random_bits(p.b_registers, random);
  Registers d = p.c_registers, e = p.c_registers;
  const Registers ones(64, 0x7f7f7f7fu);
  mfma(plain, {.a = p.a_registers.data(), .b = p.b_registers.data(), .c = d.data(), .d = d.data()},
       p.modifiers, {.fp8 = p.fp8});
  mfma(scaled,
       {.a = p.a_registers.data(),
        .b = p.b_registers.data(),
        .c = e.data(),
        .d = e.data(),
        .scale_a = ones.data(),
        .scale_b = ones.data()},
       p.modifiers, {.fp8 = p.fp8});
  CHECK(d == e);
}

TEST_CASE("the host's rounding and flush modes change nothing and are left as they were", "[mfma]") {
#ifdef __SSE__
  std::mt19937 random(10);
  const MatrixOp& op = *find_matrix_op("v_mfma_f32_16x16x4_f32");
  Problem p(op, {}, numerics::Fp8::ocp);
  random_bits(p.a_registers, random);
  random_bits(p.b_registers, random);
  for (auto* r : {&p.a_registers, &p.b_registers}) {
    for (auto& word : *r) {
      word = (word & 0x807fffffu) | (0x20000000u + (word & 0x01800000u)); // products near the subnormals
    }
  }
  const auto run = [&] {
    Registers d = p.c_registers;
    mfma(op, {.a = p.a_registers.data(), .b = p.b_registers.data(), .c = d.data(), .d = d.data()}, {}, {});
    return d;
  };
  const Registers want = run();
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before |
                         0xc040u); // toward zero is 0x6000, up 0x4000; flush 0x8000, denormals are zero 0x40
  const Registers got = run();
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  CHECK(got == want);
  CHECK((after & 0xffc0u) == ((before | 0xc040u) & 0xffc0u));
#endif
}

TEST_CASE("conversions of 64 lanes are the scalar ones, with every kernel", "[mfma]") {
  std::mt19937 random(11);
  for (const auto format : {numerics::Format::f16, numerics::Format::bf16, numerics::Format::e4m3fnuz,
                            numerics::Format::e5m2fnuz, numerics::Format::e4m3fn, numerics::Format::e5m2,
                            numerics::Format::e2m3, numerics::Format::e3m2, numerics::Format::e2m1}) {
    for (const auto* kernels : all_kernels()) {
      for (int round = 0; round < 200; ++round) {
        std::array<std::uint32_t, 64> codes{}, seeds{}, got{};
        std::array<float, 64> values{}, wide{};
        for (std::size_t lane = 0; lane < 64; ++lane) {
          codes[lane] = static_cast<std::uint32_t>(random());
          seeds[lane] = static_cast<std::uint32_t>(random());
          const auto bits = static_cast<std::uint32_t>(random());
          values[lane] = std::bit_cast<float>(lane % 2 == 0 ? bits : (bits & 0x87ffffffu) | 0x38000000u);
        }
        kernels->widen(format, codes.data(), wide.data());
        for (std::size_t lane = 0; lane < 64; ++lane) {
          REQUIRE(std::bit_cast<std::uint32_t>(wide[lane]) ==
                  std::bit_cast<std::uint32_t>(numerics::widen(format, codes[lane])));
        }
        for (const auto rounding :
             {numerics::Rounding::nearest_even, numerics::Rounding::upward, numerics::Rounding::downward,
              numerics::Rounding::toward_zero, numerics::Rounding::stochastic}) {
          for (const auto overflow : {numerics::Overflow::special, numerics::Overflow::saturate}) {
            kernels->narrow(format, values.data(), got.data(), rounding, overflow, seeds.data());
            for (std::size_t lane = 0; lane < 64; ++lane) {
              REQUIRE(got[lane] == numerics::narrow(format, values[lane], rounding, overflow, seeds[lane]));
            }
          }
        }
      }
    }
  }
}

} // namespace mfma_test
