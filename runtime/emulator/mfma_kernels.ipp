// Included by one file for each instruction set, inside an anonymous namespace and after a struct `Vector` of floats:
//   width, load(const float*), splat(float), store(float*), fma(a, b, c), and quad<i>() (element i of every four)
// and a struct `Words` of 32-bit integers for i8:
//   width, load, splat, store, quad<i>(), multiply_pairs(a, b, c): c + a.lo16 * b.lo16 + a.hi16 * b.hi16
// Everything here has internal linkage: code compiled for AVX-512 must not be picked by the linker for other files.

using numerics::Format;

// ---- unpacking ------------------------------------------------------------------------------------------------------

template <Format format>
void unpack_codes(int count, const std::uint32_t* registers, float* out) {
  constexpr int bits = numerics::facts(format).bits();
  constexpr std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
  for (int e = 0; e < count; ++e) {
    const std::uint32_t* low = registers + e * bits / 32 * lanes;
    const int shift = e * bits % 32;
    float* to = out + e * lanes;
    if (shift + bits <= 32) {
      for (int lane = 0; lane < lanes; ++lane) {
        to[lane] = numerics::widen<format>(low[lane] >> shift & mask);
      }
    } else { // 6-bit elements lie across registers
      for (int lane = 0; lane < lanes; ++lane) {
        to[lane] = numerics::widen<format>((low[lane] >> shift | low[lane + lanes] << (32 - shift)) & mask);
      }
    }
  }
}

// f16, two a word: by the host's own conversion where `V` has it, which quiets NaNs as widen() does.
template <class V>
void unpack_halves(int count, const std::uint32_t* registers, float* out) {
  if constexpr (requires(const std::uint32_t* words, float* to) { V::halves(words, to, to); }) {
    for (int n = 0; n < count / 2 * lanes; n += V::width) {
      float* const low = out + n / lanes * 2 * lanes + n % lanes;
      V::halves(registers + n, low, low + lanes);
    }
  } else {
    unpack_codes<Format::f16>(count, registers, out);
  }
}

void unpack(const Unpacking& how, const std::uint32_t* registers, float* out) {
  const bool ocp = how.fp8 == numerics::Fp8::ocp;
  switch (how.element) {
  case Element::f16: return unpack_halves<Vector>(how.count, registers, out);
  case Element::bf16: return unpack_codes<Format::bf16>(how.count, registers, out);
  case Element::fp8:
    return ocp ? unpack_codes<Format::e4m3fn>(how.count, registers, out)
               : unpack_codes<Format::e4m3fnuz>(how.count, registers, out);
  case Element::bf8:
    return ocp ? unpack_codes<Format::e5m2>(how.count, registers, out)
               : unpack_codes<Format::e5m2fnuz>(how.count, registers, out);
  case Element::fp6: return unpack_codes<Format::e2m3>(how.count, registers, out);
  case Element::bf6: return unpack_codes<Format::e3m2>(how.count, registers, out);
  case Element::fp4: return unpack_codes<Format::e2m1>(how.count, registers, out);
  case Element::xf32:
    for (int n = 0; n < how.count * lanes; ++n) {
      out[n] = numerics::xf32(__builtin_bit_cast(float, registers[n]));
    }
    return;
  case Element::i8:
    for (int e = 0; e < how.count; ++e) {
      for (int lane = 0; lane < lanes; ++lane) {
        const std::uint32_t word = registers[e / 4 * lanes + lane] >> 8 * (e % 4);
        out[e * lanes + lane] = static_cast<float>(static_cast<std::int8_t>(word & 0xffu));
      }
    }
    return;
  default: __builtin_memcpy(out, registers, sizeof(float) * static_cast<std::size_t>(how.count * lanes));
  }
}

// ---- products -------------------------------------------------------------------------------------------------------

// `Rows` rows of D by `Columns` vectors, all k: the accumulators stay in registers. Unrolled by name: gcc 12 otherwise keeps them
// in memory before and after the loop, which took a third of the time of a 16x16x16.
template <int Rows, int Columns>
void tile(const MatrixPlan& plan, const float* a, const float* b, const float* c, float* d, int row) {
  Vector sums[Rows][Columns];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < Columns; ++j) {
      sums[i][j] = Vector::load(c + plan.d[row + i] + j * Vector::width);
    }
  }
  for (int k = 0; k < plan.k; ++k) {
    const float* column = a + plan.a[k] + row;
    const float* line = b + plan.b[k];
    Vector right[Columns];
#pragma GCC unroll 16
    for (int j = 0; j < Columns; ++j) {
      right[j] = Vector::load(line + j * Vector::width);
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vector left = Vector::splat(column[i]);
#pragma GCC unroll 16
      for (int j = 0; j < Columns; ++j) {
        sums[i][j] = Vector::fma(left, right[j], sums[i][j]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < Columns; ++j) {
      sums[i][j].store(d + plan.d[row + i] + j * Vector::width);
    }
  }
}

template <int N>
void multiply_wide(const MatrixPlan& plan, const float* a, const float* b, const float* c, float* d) {
  constexpr int columns = N / Vector::width;
  constexpr int per_pass = columns > 2 ? 2 : columns;
  constexpr int rows = Vector::width == 16 ? 16 / per_pass : 8 / per_pass;
  for (int block = 0; block < plan.blocks; ++block) {
    const int at = block * plan.d_block;
    for (int column = 0; column < N; column += per_pass * Vector::width) {
      for (int row = 0; row < plan.m; row += rows) {
        tile<rows, per_pass>(plan, a + block * plan.m, b + block * N + column, c + at + column,
                             d + at + column, row);
      }
    }
  }
}

// 4x4 in 16 blocks: lane 4 block + j holds column j, so row i of all blocks is one register, and A[i] is element i of
// every four lanes. All four rows at once, so that A and B are loaded once: `K` of them, or the plan's.
template <int K>
void multiply_quads(const MatrixPlan& plan, const float* a, const float* b, const float* c, float* d) {
  const int depth = K > 0 ? K : plan.k;
  for (int lane = 0; lane < lanes; lane += Vector::width) {
    Vector s0 = Vector::load(c + lane), s1 = Vector::load(c + lanes + lane),
           s2 = Vector::load(c + 2 * lanes + lane), s3 = Vector::load(c + 3 * lanes + lane);
#pragma GCC unroll 4
    for (int k = 0; k < depth; ++k) {
      const Vector left = Vector::load(a + k * lanes + lane), right = Vector::load(b + k * lanes + lane);
      s0 = Vector::fma(left.template quad<0>(), right, s0);
      s1 = Vector::fma(left.template quad<1>(), right, s1);
      s2 = Vector::fma(left.template quad<2>(), right, s2);
      s3 = Vector::fma(left.template quad<3>(), right, s3);
    }
    s0.store(d + lane), s1.store(d + lanes + lane), s2.store(d + 2 * lanes + lane),
        s3.store(d + 3 * lanes + lane);
  }
}

// The same of 16-bit elements, two k a word, where `V` has both halves of 16 words as floats.
template <class V, bool brain>
void multiply_quads_of(const std::uint32_t* a, const std::uint32_t* b, const float* c, float* d) {
  for (int lane = 0; lane < lanes; lane += V::width) {
    V s0 = V::load(c + lane), s1 = V::load(c + lanes + lane), s2 = V::load(c + 2 * lanes + lane),
      s3 = V::load(c + 3 * lanes + lane);
#pragma GCC unroll 2
    for (int word = 0; word < 2; ++word) {
      V left[2], right[2];
      V::template halves<brain>(a + word * lanes + lane, left[0], left[1]);
      V::template halves<brain>(b + word * lanes + lane, right[0], right[1]);
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        s0 = V::fma(left[h].template quad<0>(), right[h], s0);
        s1 = V::fma(left[h].template quad<1>(), right[h], s1);
        s2 = V::fma(left[h].template quad<2>(), right[h], s2);
        s3 = V::fma(left[h].template quad<3>(), right[h], s3);
      }
    }
    s0.store(d + lane), s1.store(d + lanes + lane), s2.store(d + 2 * lanes + lane),
        s3.store(d + 3 * lanes + lane);
  }
}

void multiply(const MatrixPlan& plan, const float* a, const float* b, const float* c, float* d) {
  if (plan.n == 32) {
    multiply_wide<32>(plan, a, b, c, d);
  } else if (plan.n == 16) {
    multiply_wide<16>(plan, a, b, c, d);
  } else {
    plan.k == 4 ? multiply_quads<4>(plan, a, b, c, d) : multiply_quads<0>(plan, a, b, c, d);
  }
}

// i8: a register's four bytes become two words of 16-bit pairs, bytes 0 and 2, bytes 1 and 3, in A and in B alike, so a
// step of the loop multiplies two k at once.
void pairs(int registers, const std::uint32_t* in, std::uint32_t* out) {
  for (int r = 0; r < registers; ++r) {
    for (int lane = 0; lane < lanes; ++lane) {
      const std::uint32_t word = in[r * lanes + lane];
      // Sign extension of a byte in 16 bits: (x ^ 0x80) - 0x80 without a borrow between the halves.
      const std::uint32_t even = word & 0x00ff00ffu;
      const std::uint32_t odd = word >> 8 & 0x00ff00ffu;
      out[2 * r * lanes + lane] = even | (even & 0x00800080u) * 0x1feu;
      out[(2 * r + 1) * lanes + lane] = odd | (odd & 0x00800080u) * 0x1feu;
    }
  }
}

template <int N>
void multiply_i8_wide(const MatrixPlan& plan, const std::uint32_t* a, const std::uint32_t* b,
                      const std::uint32_t* c, std::uint32_t* d) {
  constexpr int columns = N / Words::width;
  constexpr int per_pass = columns > 2 ? 2 : columns;
  constexpr int rows = Words::width == 16 ? 16 / per_pass : 8 / per_pass;
  const int groups = 64 / (plan.m * plan.blocks);
  const int steps = plan.k / groups / 2;
  for (int block = 0; block < plan.blocks; ++block) {
    for (int column = 0; column < N; column += per_pass * Words::width) {
      for (int row = 0; row < plan.m; row += rows) {
        const std::uint32_t* from = c + block * plan.d_block + column;
        std::uint32_t* to = d + block * plan.d_block + column;
        Words sums[rows][per_pass];
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < per_pass; ++j) {
            sums[i][j] = Words::load(from + plan.d[row + i] + j * Words::width);
          }
        }
        for (int step = 0; step < steps * groups; ++step) {
          const int at = step / groups * lanes + step % groups * plan.m * plan.blocks;
          const std::uint32_t* left = a + at + block * plan.m + row;
          Words right[per_pass];
          for (int j = 0; j < per_pass; ++j) {
            right[j] = Words::load(b + at + block * N + column + j * Words::width);
          }
          for (int i = 0; i < rows; ++i) {
            const Words pair = Words::splat(left[i]);
            for (int j = 0; j < per_pass; ++j) {
              sums[i][j] = Words::multiply_pairs(pair, right[j], sums[i][j]);
            }
          }
        }
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < per_pass; ++j) {
            sums[i][j].store(to + plan.d[row + i] + j * Words::width);
          }
        }
      }
    }
  }
}

void multiply_i8(const MatrixPlan& plan, const std::uint32_t* a, const std::uint32_t* b,
                 const std::uint32_t* c, std::uint32_t* d) {
  alignas(64) std::uint32_t left[8 * lanes];
  alignas(64) std::uint32_t right[8 * lanes];
  const int registers = plan.m * plan.k * plan.blocks / 256;
  pairs(registers, a, left);
  pairs(registers, b, right);
  if (plan.n == 32) {
    multiply_i8_wide<32>(plan, left, right, c, d);
  } else if (plan.n == 16) {
    multiply_i8_wide<16>(plan, left, right, c, d);
  } else { // 4x4: element i of every four lanes against all of them, two k of a pair at once
    for (int lane = 0; lane < lanes; lane += Words::width) {
      const Words x = Words::load(left + lane), more_x = Words::load(left + lanes + lane),
                  y = Words::load(right + lane), more_y = Words::load(right + lanes + lane);
      const auto row = [&](int i, Words first, Words second) {
        const Words sum = Words::multiply_pairs(first, y, Words::load(c + i * lanes + lane));
        Words::multiply_pairs(second, more_y, sum).store(d + i * lanes + lane);
      };
      row(0, x.template quad<0>(), more_x.template quad<0>());
      row(1, x.template quad<1>(), more_x.template quad<1>());
      row(2, x.template quad<2>(), more_x.template quad<2>());
      row(3, x.template quad<3>(), more_x.template quad<3>());
    }
  }
}

// As `tile`, with a row of B for each row of A.
template <int N>
void multiply_sparse_wide(const MatrixPlan& plan, int packed, const std::uint16_t* rows, const float* a,
                          const float* b, float* d) {
  constexpr int columns = N / Vector::width > 2 ? 2 : N / Vector::width;
  constexpr int many = (Vector::width == 16 ? 16 : 8) / columns;
  for (int column = 0; column < N; column += columns * Vector::width) {
    for (int row = 0; row < plan.m; row += many) {
      Vector sums[many][columns];
#pragma GCC unroll 16
      for (int i = 0; i < many; ++i) {
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j) {
          sums[i][j] = Vector::load(d + plan.d[row + i] + column + j * Vector::width);
        }
      }
      for (int e = 0; e < packed; ++e) {
        const float* left = a + plan.a[e] + row;
        const std::uint16_t* which = rows + e * plan.m + row;
#pragma GCC unroll 16
        for (int i = 0; i < many; ++i) {
          const Vector factor = Vector::splat(left[i]);
          const float* right = b + which[i] + column;
#pragma GCC unroll 16
          for (int j = 0; j < columns; ++j) {
            sums[i][j] = Vector::fma(factor, Vector::load(right + j * Vector::width), sums[i][j]);
          }
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < many; ++i) {
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j) {
          sums[i][j].store(d + plan.d[row + i] + column + j * Vector::width);
        }
      }
    }
  }
}

void multiply_sparse(const MatrixPlan& plan, int packed, const std::uint16_t* rows, const float* a,
                     const float* b, float* d) {
  if (plan.n == 32) {
    multiply_sparse_wide<32>(plan, packed, rows, a, b, d);
  } else {
    multiply_sparse_wide<16>(plan, packed, rows, a, b, d);
  }
}

// f64: dense matrices by rows; `d` holds C on entry.
void multiply_f64(int m, int n, int depth, const double* a, const double* b, double* d) {
  for (int i = 0; i < m; ++i) {
    for (int k = 0; k < depth; ++k) {
      const double left = a[i * depth + k];
      for (int j = 0; j < n; ++j) {
        d[i * n + j] = __builtin_fma(left, b[k * n + j], d[i * n + j]);
      }
    }
  }
}

// ---- conversions of a wave ------------------------------------------------------------------------------------------

void widen_lanes(Format format, const std::uint32_t* codes, float* values) {
  numerics::dispatch(format, [&]<Format F>() {
    for (int lane = 0; lane < lanes; ++lane) {
      values[lane] = numerics::widen<F>(codes[lane]);
    }
  });
}

void narrow_lanes(Format format, const float* values, std::uint32_t* codes, numerics::Rounding rounding,
                  numerics::Overflow overflow, const std::uint32_t* seeds) {
  numerics::dispatch(format, [&]<Format F>() {
    switch (rounding) { // each mode its own loop, so that it is a constant inside
    case numerics::Rounding::stochastic:
      for (int lane = 0; lane < lanes; ++lane) {
        codes[lane] =
            numerics::narrow<F>(values[lane], numerics::Rounding::stochastic, overflow, seeds[lane]);
      }
      return;
    case numerics::Rounding::nearest_even:
      for (int lane = 0; lane < lanes; ++lane) {
        codes[lane] = numerics::narrow<F>(values[lane], numerics::Rounding::nearest_even, overflow);
      }
      return;
    default:
      for (int lane = 0; lane < lanes; ++lane) {
        codes[lane] = numerics::narrow<F>(values[lane], rounding, overflow);
      }
    }
  });
}
