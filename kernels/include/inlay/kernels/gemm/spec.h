/// C[M,N] = A[M,K] x B[N,K]^T for A and B of 64, 32, 16, 8, 6 and 4 bits, accumulated in f32, f64 in f64, i8 in i32.
///
/// Of f64 everything else is f64, too: C, alpha, beta, scales, biases. xf32 is f32 in memory, of which products leave out the low 13
/// bits (gfx942 alone has it).
///
/// Elements of 4 bits (e2m1, two to a byte; CDNA4) and of 6 (e2m3, e3m2, four in three bytes) have scales of the MX formats, and floats of 8
/// bits with `block_scales`: each 32 of K in a row of A or B share one, e8m0,
///
///     C[m,n] = sum_k A[m,k] SA[m,k/32] B[n,k] SB[n,k/32]
///
/// With `alpha` and `added` it is what BLAS has, D = alpha A B^T + beta C. Both are f32 in memory, where BLAS's device pointer mode has
/// them; of beta = 0 nothing of C reaches D, NaN neither.
///
/// What follows the sum has one order, whatever of it there is:
///
///     D[m,n] = act(alpha sa[m] sb[n] sum_k A[m,k] B[n,k] + beta C[m,n] + bias[n] + row_bias[m]) + residual[m,n]
///
/// A, B and C are row-major. M, N and K are arguments of the launch; everything else is fixed when the kernel is
/// built, and is the specification:
///
///     GemmSpec spec;                                     // f16, tiles of 128 x 128 x 64, 2 x 2 waves
///     Artifact kernel = build_gemm(spec);                // proofs first; throws ObligationError if one fails
///     Problem problem = gemm_problem(spec, 200, 256, 128, /*seed*/ 1);
///
/// The whole kernel is `gemm_program` in kernels/gemm/program.cpp: what it computes and how its data moves. A workgroup
/// computes one tile of C; tiles of A and B go 16 bytes a lane (8 or 4 where only then the tile's rows are shared out evenly)
/// through registers to LDS under a swizzle that is free of bank conflicts on both sides, two tiles ahead, LDS being
/// double-buffered. Ragged M is cut off by descriptors, ragged K
/// and N by comparison; the claims say that both do it exactly.
#pragma once

#include <inlay/codegen/program.h>
#include <inlay/kernels/artifact.h>

#include <array>
#include <optional>

namespace inlay::kernels {

using codegen::Element;

/// Elements between the rows of A, of B, of a C that is added, and of the result: of BLAS's leading dimensions lda = k + a, ldb = k + b,
/// ldc = n + c, ldd = n + d.
struct GemmPads {
  std::int64_t a = 0, b = 0, c = 0, d = 0;
};

struct GemmSpec {
  explicit GemmSpec(std::source_location here = std::source_location::current()) : where(here) {}

  std::string arch{codegen::usual_target};
  Element in =
      Element::f16; ///< f16, bf16, f32, f64, i8, and the target's xf32, fp8, bf8, e2m1, e2m3 and e3m2
  bool block_scales = false; ///< e8m0, of 32 k: of less than 8 bits always
  [[nodiscard]] bool has_block_scales() const { return block_scales || codegen::bits(in) < 8; }
  /// f64 of f64; else f32 or that of A and B; of fp8, bf8 and fewer bits f32, f16 or bf16; of i8 i32, with scales as of fp8. Of floats the target's fp8 or bf8 too.
  Element out = Element::f16;
  int tile_m = 128, tile_n = 128, tile_k = 64;
  int waves_m = 2, waves_n = 2;
  int mfma = 16; ///< rows of the matrix instruction: 16 or 32
  /// B is given in the order of `preshuffled_offset`, and goes from memory to the registers that multiply it, past LDS.
  bool preshuffled_b = false;
  /// Tiles go from memory to LDS without registers, in a ring of 2 to 4 stages: 16 bytes a lane on CDNA4, 4 on CDNA3. Of 6 bits always, 12
  /// bytes a lane.
  bool transfer = false;
  /// An operand that goes from memory straight to the registers that multiply it, past LDS, in its plain order: each wave
  /// loads the rows that it multiplies. At most one; a preshuffled B does so in any case.
  enum class Direct : std::uint8_t { none, a, b };
  Direct direct = Direct::none;
  int stages =
      0; ///< of tiles in LDS, 2 to 4; 0: two, with transfers what memory's latency asks for and LDS has room for
  /// C = sa[m] sb[n] A B^T, with f32 scales of the rows of A (tokens) and of B (channels); with `bias` + bias[n], f32.
  bool scales = false, bias = false;
  bool alpha = false; ///< times alpha, before the bias
  /// Plus beta times a matrix of M rows and N columns, of the type of the result, before the bias: another one, C, the result being D;
  /// or what D held before the launch.
  enum class Added : std::uint8_t { none, apart, in_place };
  Added added = Added::none;
  bool row_bias = false; ///< plus row_bias[m], f32
  /// Of what there is up to here; gelu is that of erf, gelu_tanh the one by tanh.
  enum class Activation : std::uint8_t { none, relu, silu, gelu, gelu_tanh };
  Activation activation = Activation::none;
  /// A result more, f32 [M, ceil(N / tile_n)]: the greatest magnitude of each row in each tile, of D before it is rounded. What an fp8 D is
  /// scaled by the next time is the maximum of that.
  bool amax = false;
  bool residual = false; ///< plus a matrix of the type of the result, after the activation
  /// Whose rows are apart: that matrix has a size of the launch more, pad_a, pad_b, pad_c or pad_d. Of A and B whole 16 bytes. What
  /// lies between the rows of the result is left as it is.
  struct Padded {
    bool a = false, b = false, c = false, d = false;
  };
  Padded padded;
  /// How A and B are stored, row-major and in BLAS's letters: A as [M,K] (n) or [K,M] (t), B as [K,N] (n) or [N,K] (t). An operand
  /// that is stored along m or n, of 16 or 8 bits, is transposed on its way to LDS, through registers.
  enum class Stored : std::uint8_t { nt, nn, tn, tt };
  Stored stored = Stored::nt;
  /// Of such an operand trips move along rows, by offsets of 32 bits: K is at most this, and M or N at most 2 GiB by K.
  std::int64_t k_most = 1 << 14;
  [[nodiscard]] bool turned_a() const { return stored == Stored::tn || stored == Stored::tt; }
  [[nodiscard]] bool turned_b() const { return stored == Stored::nn || stored == Stored::tn; }
  /// Elements of K that one workgroup sums, a multiple of tile_k; 0: all of them. The parts are added to C, f32 or i32, by
  /// atomics: C holds 0 before the launch, and sums of f32 depend on the order in their last bits.
  int split = 0;
  /// With `split`: parts are stored, in f32 (of i8 in i32) in a buffer of the launch, and the workgroup that comes last
  /// sums them in their order and stores C, of any type, with scales and bias, the same bits in every run. N is a multiple
  /// of 4 then, and K is at most 64 parts.
  bool gather = false;
  int at_once = 1; ///< with `gather`: so many parts are loaded and summed together, 1 to 8
  /// That many workgroups share out the trips of all tiles evenly (stream-K: as many as the device runs at a time), and add what
  /// they have of a tile to C, as with `split`; 0: a workgroup has a tile.
  int workers = 0;
  /// Divides N: rows of C of whole vectors (8 of 16 bits) need no second version of the stores, by single elements.
  int multiple_n = 1;
  /// Many products in one launch, matrices and these sizes of each in tables (Program::problems): m, or m, n and k; `none`: one product.
  enum class Own : std::uint8_t { none, m, all };
  Own own = Own::none;
  codegen::TileOrder order;       ///< which tile a workgroup works on
  std::vector<codegen::Pin> pins; ///< places in the loop's order that are fixed
  codegen::Depth depth;           ///< the software pipeline of the loop, where that is fixed
  /// The upper half of the waves runs a copy of the loop whose accesses to LDS and memory stand some products later or earlier.
  bool stagger = false;
  /// Two waves on each SIMD (8 in all) take turns: while one half of the waves multiplies, the other one reads LDS and begins
  /// transfers, a barrier after (codegen/code.h, Ping-pong). With transfers.
  bool pingpong = false;
  std::source_location where; ///< the line that made the specification, named when a proof fails

  [[nodiscard]] bool adds() const {
    return (split > 0 && !gather) || workers > 0;
  } ///< to C, parts of its sums
  [[nodiscard]] bool adds_c() const { return added != Added::none; }
  [[nodiscard]] bool weighted() const {
    return scales || bias || row_bias || alpha || adds_c() || residual || activation != Activation::none;
  }                                                                   ///< sums, before they are stored
  [[nodiscard]] bool staged_a() const { return direct != Direct::a; } ///< by LDS
  [[nodiscard]] bool staged_b() const { return !preshuffled_b && direct != Direct::b; }
  /// Whether the scales of 32 k of a tile's rows go there, too: with transfers, 32 rows a wave at a time, if several waves want them.
  [[nodiscard]] bool staged_scales(int rows, int sharing) const {
    return has_block_scales() && transfer && sharing > 1 && rows % (32 * waves_m * waves_n) == 0;
  }
  /// Of LDS, for one tile of those that go there; of 6 bits with what keeps rows apart (codegen::transfer_place).
  [[nodiscard]] int stage_bytes() const {
    const auto of_scales = [&](int rows, int sharing) {
      return staged_scales(rows, sharing) ? rows * tile_k / 32 : 0;
    };
    const int between = codegen::bits(in) == 6 ? 3 * 48 : 0;
    return ((staged_a() ? tile_m : 0) + (staged_b() ? tile_n : 0)) * tile_k * codegen::bits(in) / 8 +
           (static_cast<int>(staged_a()) + static_cast<int>(staged_b())) * between +
           of_scales(tile_m, waves_n) + of_scales(tile_n, waves_m);
  }
};

/// The kernel as a program. Errors: std::invalid_argument for a specification that is not supported, naming the field and
/// what would be.
[[nodiscard]] codegen::Program gemm_program(const GemmSpec& spec);

/// The name of an activation, of the command line and of formulas; `none` too.
[[nodiscard]] std::string to_string(GemmSpec::Activation activation);

/// `build(gemm_program(spec))`. Errors: those of both.
[[nodiscard]] Artifact build_gemm(const GemmSpec& spec, const BuildOptions& options = {});

/// Where element (n, k) of B lies when it is preshuffled, in elements: blocks of 16 rows x 64 bytes of k, in each block lane
/// by lane what a wave holds in its registers, V adjacent k (16 bytes: 8 or 16) for each of 4 x 16 lanes. A load of 16 bytes a
/// lane then reads 1 KiB in one piece. As a layout of ((n % 16, n / 16), (k % V, k / V % 4, k / (4 V))):
///
///     ((16,N/16),(V,4,K/(4V))):((V,16*K),(1,16V,64V))
///
/// Requires: 16 divides N, 4 V divides K. The order is the one that weights are stored in for AITER and Composable Kernel
/// (`shuffle_weight` with 16 x 16), of 16-bit and of 8-bit weights.
[[nodiscard]] std::int64_t preshuffled_offset(std::int64_t n, std::int64_t k, std::int64_t columns_of_b,
                                              Element type = Element::f16);

/// The same as a place for codegen's tensors; `vector` elements of 16 bytes.
[[nodiscard]] SymLayout preshuffled_layout(Sym n, Sym k, int vector);

/// Where the scale of row m and block k / 32 lies, in bytes; a row has `k` / 32 of them. A word holds the scales of rows m and m + 16
/// and of blocks b and b + 4, 64 words are 32 rows by 8 blocks:
///
///     ((16,2,M/32),(4,2,K/256)):((4,1,K),(64,2,256))
///
/// Requires: 256 divides K; rows are padded to 32. It is the order that AITER's `e8m0_shuffle` makes (which pads rows to 256).
[[nodiscard]] std::int64_t shuffled_scale_offset(std::int64_t row, std::int64_t block, std::int64_t k);

/// The same as a place for codegen's tensors.
[[nodiscard]] SymLayout shuffled_scales(Sym rows, Sym k);

/// The launch for sizes M, N, K, arguments (C, or D where C is added, A, B, then SA, SB, bias, row_bias, alpha, beta, C, residual, amax, parts and
/// arrived where there are, M, N, K). It makes the run-time checks of the proof report.
/// Errors: std::invalid_argument: K % 8 != 0 (8-bit types: 16; f32: 4; f64: 2; with scales of 32 k: 256; preshuffled: 32, 64, or N % 16); a size below 1; a row too long for 32-bit
/// offsets.
[[nodiscard]] LaunchPlan plan_gemm_launch(const GemmSpec& spec, std::int64_t m, std::int64_t n,
                                          std::int64_t k, const GemmPads& pads = {});

/// The sizes of the launch: m, n, k, and the pads of `padded`.
[[nodiscard]] std::vector<std::int64_t> gemm_sizes(const GemmSpec& spec, std::int64_t m, std::int64_t n,
                                                   std::int64_t k, const GemmPads& pads = {});

/// m, n and k of each product of a launch of many.
using GemmGroups = std::vector<std::array<std::int64_t, 3>>;

/// What a launch of many has as m, n and k: the largest of each.
[[nodiscard]] std::array<std::int64_t, 3> largest_of(const GemmGroups& groups);

/// A, B uniform in [-1, 1) from `seed`, C poisoned; the reference is Eigen in double precision, the bound for each
/// element 2 K 2^-24 sum_k |a_k b_k| + u |c| with u the unit roundoff of the output type: products of two 16-bit
/// or 8-bit numbers are exact in f32, and each of the K additions rounds once (of f32 and f64 with its product, in one), in whatever order (Higham, "Accuracy and
/// Stability of Numerical Algorithms", section 4.2), with a factor of 2 for the truncation inside the matrix unit. Of i8 the
/// bound is 0; of f64 it is the same with 2^-53, and the reference has 64 bits of mantissa; scales, biases, alpha and beta C add the roundings of at most ten operations. Through an activation, whose slope is at most
/// 1.2, goes 1.2 times that, and what f32 errs in it.
[[nodiscard]] Problem gemm_problem(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                                   std::uint64_t seed, const GemmPads& pads = {});

/// The same of many in one launch: a product for each of `groups`, with data and a judge of its own. Those without rows or columns have
/// no matrices, and null pointers.
[[nodiscard]] Problem gemm_problem(const GemmSpec& spec, const GemmGroups& groups, std::uint64_t seed,
                                   const GemmPads& pads = {});

} // namespace inlay::kernels
