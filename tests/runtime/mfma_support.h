/// An oracle for matrix instructions that shares no map with the library: places are written here from lane
/// to coordinates, case by case as the manuals' tables list them, where the library goes from coordinates to
/// lanes.
#pragma once

#include "emulator/mfma.h"
#include "emulator/numerics/formats.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

namespace oracle {

using namespace inlay::runtime;
using numerics::Format;
using Registers = std::vector<std::uint32_t>; // [register][64]

inline Format format_of(Element e, numerics::Fp8 fp8) {
  const bool ocp = fp8 == numerics::Fp8::ocp;
  switch (e) {
  case Element::f16: return Format::f16;
  case Element::bf16: return Format::bf16;
  case Element::fp8: return ocp ? Format::e4m3fn : Format::e4m3fnuz;
  case Element::bf8: return ocp ? Format::e5m2 : Format::e5m2fnuz;
  case Element::fp6: return Format::e2m3;
  case Element::bf6: return Format::e3m2;
  case Element::fp4: return Format::e2m1;
  default: throw std::logic_error("not a narrow float");
  }
}

inline std::uint64_t encode(Element e, double value, numerics::Fp8 fp8) {
  switch (e) {
  case Element::f64: return std::bit_cast<std::uint64_t>(value);
  case Element::f32:
  case Element::xf32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  case Element::i32: return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  case Element::i8: return static_cast<std::uint8_t>(static_cast<std::int8_t>(value));
  default: return numerics::narrow(format_of(e, fp8), static_cast<float>(value));
  }
}

inline double decode(Element e, std::uint64_t code, numerics::Fp8 fp8) {
  switch (e) {
  case Element::f64: return std::bit_cast<double>(code);
  case Element::f32:
  case Element::xf32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
  case Element::i32: return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(code)));
  case Element::i8: return static_cast<double>(static_cast<std::int8_t>(static_cast<std::uint8_t>(code)));
  default: return static_cast<double>(numerics::widen(format_of(e, fp8), static_cast<std::uint32_t>(code)));
  }
}

inline void put(Registers& r, int lane, int element, int bits, std::uint64_t code) {
  for (int n = 0; n < bits; ++n) {
    const int at = element * bits + n;
    auto& word = r[static_cast<std::size_t>(at / 32 * 64 + lane)];
    const std::uint32_t mask = std::uint32_t{1} << at % 32;
    word = (code >> n & 1u) != 0 ? word | mask : word & ~mask;
  }
}

inline std::uint64_t get(const Registers& r, int lane, int element, int bits) {
  std::uint64_t code = 0;
  for (int n = 0; n < bits; ++n) {
    const int at = element * bits + n;
    code |= std::uint64_t{r[static_cast<std::size_t>(at / 32 * 64 + lane)] >> at % 32 & 1u} << n;
  }
  return code;
}

struct Coordinate {
  int block, row, k;
};

/// What `lane` holds in element `e` of A (rows = M) or B (rows = N). `depth` is K, K/2 for packed sparse A.
inline Coordinate input_coordinate(int rows, int depth, int blocks, int bits, int lane, int e) {
  const int row = lane % rows;
  const int block = lane / rows % blocks;
  const int group = lane / (rows * blocks);
  const int groups = 64 / (rows * blocks);
  const int each = depth / groups;
  if (bits == 8 && each == 32) { // fp8 of f8f6f4; B of the sparse 8-bit forms with doubled K
    return {block, row, (e < 16 ? 0 : 16 * groups) + 16 * group + e % 16};
  }
  if (bits == 16 && each == 16) { // B of the sparse 16-bit forms with doubled K
    return {block, row, (e < 8 ? 0 : 8 * groups) + 8 * group + e % 8};
  }
  return {block, row, group * each + e};
}

struct OutputCoordinate {
  int block, i, j;
};

/// What `lane` holds in value `v` of D (a register, or a pair of them for f64).
inline OutputCoordinate output_coordinate(int n, bool wide, int lane, int v) {
  if (wide) {
    return n == 16 ? OutputCoordinate{0, 4 * v + lane / 16, lane % 16}
                   : OutputCoordinate{lane / 4 % 4, lane / 16, lane % 4};
  }
  switch (n) {
  case 32: return {v / 16, 8 * (v % 16 / 4) + 4 * (lane / 32) + v % 4, lane % 32};
  case 16: return {v / 4, 4 * (lane / 16) + v % 4, lane % 16};
  default: return {lane / 4, v, lane % 4};
  }
}

/// Dense matrices of one instruction, as numbers and as the registers that hold them.
struct Problem {
  const MatrixOp& op;
  MatrixModifiers modifiers;
  numerics::Fp8 fp8;
  Element a_type, b_type;
  int packed; ///< K of stored A
  std::vector<double> a, b, c;
  Registers a_registers, b_registers, c_registers, index;

  Problem(const MatrixOp& row, MatrixModifiers m, numerics::Fp8 kind)
      : op(row), modifiers(m), fp8(kind), a_type(element_a(row, m)), b_type(element_b(row, m)),
        packed(row.sparse ? row.k / 2 : row.k) {
    const MatrixRegisters r = registers_of(op, modifiers);
    a.resize(static_cast<std::size_t>(op.blocks * op.m * packed));
    b.resize(static_cast<std::size_t>(op.blocks * op.n * op.k));
    c.resize(static_cast<std::size_t>(op.blocks * op.m * op.n));
    a_registers.resize(static_cast<std::size_t>(r.a * 64));
    b_registers.resize(static_cast<std::size_t>(r.b * 64));
    c_registers.resize(static_cast<std::size_t>(r.d * 64));
    index.resize(64, 0x44444444u); // places 0 and 1 everywhere
  }

  [[nodiscard]] std::size_t at_a(int block, int i, int k) const {
    return static_cast<std::size_t>((block * op.m + i) * packed + k);
  }
  [[nodiscard]] std::size_t at_b(int block, int k, int j) const {
    return static_cast<std::size_t>((block * op.k + k) * op.n + j);
  }
  [[nodiscard]] std::size_t at_c(int block, int i, int j) const {
    return static_cast<std::size_t>((block * op.m + i) * op.n + j);
  }
  [[nodiscard]] int values_of_d() const { return op.m * op.n * op.blocks / 64; }

  /// Registers from numbers.
  void store() {
    for (int lane = 0; lane < 64; ++lane) {
      const int a_bits = bits_of(a_type);
      for (int e = 0; e < op.m * packed * op.blocks / 64; ++e) {
        const auto [block, i, k] = input_coordinate(op.m, packed, op.blocks, a_bits, lane, e);
        put(a_registers, lane, e, a_bits, encode(a_type, a[at_a(block, i, k)], fp8));
      }
      const int b_bits = bits_of(b_type);
      for (int e = 0; e < op.n * op.k * op.blocks / 64; ++e) {
        const auto [block, j, k] = input_coordinate(op.n, op.k, op.blocks, b_bits, lane, e);
        put(b_registers, lane, e, b_bits, encode(b_type, b[at_b(block, k, j)], fp8));
      }
      for (int v = 0; v < values_of_d(); ++v) {
        const auto [block, i, j] = output_coordinate(op.n, bits_of(op.d) == 64, lane, v);
        put(c_registers, lane, v, bits_of(op.d), encode(op.d, c[at_c(block, i, j)], fp8));
      }
    }
  }

  /// Numbers from registers.
  void load() {
    for (int lane = 0; lane < 64; ++lane) {
      const int a_bits = bits_of(a_type);
      for (int e = 0; e < op.m * packed * op.blocks / 64; ++e) {
        const auto [block, i, k] = input_coordinate(op.m, packed, op.blocks, a_bits, lane, e);
        a[at_a(block, i, k)] = decode(a_type, get(a_registers, lane, e, a_bits), fp8);
      }
      const int b_bits = bits_of(b_type);
      for (int e = 0; e < op.n * op.k * op.blocks / 64; ++e) {
        const auto [block, j, k] = input_coordinate(op.n, op.k, op.blocks, b_bits, lane, e);
        b[at_b(block, k, j)] = decode(b_type, get(b_registers, lane, e, b_bits), fp8);
      }
      for (int v = 0; v < values_of_d(); ++v) {
        const auto [block, i, j] = output_coordinate(op.n, bits_of(op.d) == 64, lane, v);
        c[at_c(block, i, j)] = decode(op.d, get(c_registers, lane, v, bits_of(op.d)), fp8);
      }
    }
  }

  /// The k that packed element `e` of row i stands for: its own, or what the index register says.
  [[nodiscard]] int k_of(int i, int e) const {
    if (!op.sparse) {
      return e;
    }
    const int each = packed * op.m / 64; // packed elements a lane
    const int sets = 16 / each;
    const int set = modifiers.cbsz == 0 ? modifiers.abid % sets : 0;
    const std::uint32_t word = index[static_cast<std::size_t>(e / each * op.m + i)] >> 2 * each * set;
    return e / 2 * 4 + static_cast<int>(word >> 2 * (e % each) & 3u);
  }

  /// D by running the instruction, as numbers in the order of `c`; C comes from the registers.
  template <class Run>
  [[nodiscard]] std::vector<double> result(Run&& run) const {
    Registers d = c_registers;
    run(op,
        MatrixOperands{.a = a_registers.data(),
                       .b = b_registers.data(),
                       .c = d.data(),
                       .d = d.data(),
                       .index = index.data()},
        modifiers, MatrixOptions{.fp8 = fp8});
    return numbers(d);
  }
  [[nodiscard]] std::vector<double> numbers(const Registers& d) const {
    std::vector<double> out(c.size());
    for (int lane = 0; lane < 64; ++lane) {
      for (int v = 0; v < values_of_d(); ++v) {
        const auto [block, i, j] = output_coordinate(op.n, bits_of(op.d) == 64, lane, v);
        out[at_c(block, i, j)] = decode(op.d, get(d, lane, v, bits_of(op.d)), fp8);
      }
    }
    return out;
  }

  /// D by the definition, exact where all sums fit a double.
  [[nodiscard]] std::vector<double> definition() const {
    std::vector<double> d = c;
    for (int block = 0; block < op.blocks; ++block) {
      for (int i = 0; i < op.m; ++i) {
        for (int j = 0; j < op.n; ++j) {
          for (int e = 0; e < packed; ++e) {
            d[at_c(block, i, j)] += a[at_a(block, i, e)] * b[at_b(block, k_of(i, e), j)];
          }
        }
      }
    }
    return d;
  }
};

/// The modifiers that select every pair of element types of f8f6f4, or none.
inline std::vector<MatrixModifiers> type_modifiers(const MatrixOp& op) {
  std::vector<MatrixModifiers> all;
  for (std::uint8_t cbsz = 0; cbsz < (op.typed_by_modifiers ? 5 : 1); ++cbsz) {
    for (std::uint8_t blgp = 0; blgp < (op.typed_by_modifiers ? 5 : 1); ++blgp) {
      all.push_back({.cbsz = cbsz, .blgp = blgp});
    }
  }
  return all;
}

/// The 8-bit kinds that an instruction is executed with: FNUZ on gfx942, OCP on gfx950.
inline std::vector<numerics::Fp8> kinds(const MatrixOp& op) {
  std::vector<numerics::Fp8> all;
  if (op.on(inlay::machine::Arch::gfx942)) {
    all.push_back(numerics::Fp8::fnuz);
  }
  if (op.on(inlay::machine::Arch::gfx950)) {
    all.push_back(numerics::Fp8::ocp);
  }
  if (all.empty()) {
    all.push_back(numerics::Fp8::fnuz); // gfx90a, which has neither
  }
  return all;
}

} // namespace oracle
