/// Where the elements of a matrix instruction live: register, bit and lane as functions of the coordinates.
///
/// Inputs. Call M the rows of A (for B read N and its columns), nb the blocks. 64 / (M nb) groups of lanes
/// share the K range; each lane holds K / groups elements of one row, packed from bit 0 upward:
///
///     lane = block M + group M nb + row             element e of group g holds k = g K/groups + e
///
/// so v_mfma_f32_16x16x16_f16 has A[i][k] in lane 16 (k/4) + i, element k % 4: CuTe's ((16,4),4):((1,64),16).
/// Where 8- and 16-bit elements need more than 128 bits a lane (fp8 of the f8f6f4 forms, B of CDNA4's
/// V_SMFMAC), they come in chunks of 128 bits dealt to the groups in turn: fp8 of 16x16x128 has k = 64 (e/16)
/// + 16 g + e%16. The 6- and 4-bit types of f8f6f4 stay 32 consecutive k.
///
/// Outputs of 32 bits. R = 64/N rows of lanes; P blocks share a register (only 4x4 has P > 1):
///
///     register = block MN/64 + 4 (i / 4R) + i%4     lane = (block%P) N + ((i/4) % R) P N + j
///
/// so 32x32 has row i in registers 4(i/8) + i%4, lanes 32 ((i/4)%2) + j: ((32,2),(4,4)):((32,4),(1,8)).
/// Outputs of 64 bits go row by row instead of four rows by four: pair i / R, lane (block%P) N + (i%R) P N +
/// j.
///
/// Sparse A keeps two of every four k, packed in order, so its elements are those of a dense A with K/2. The
/// index register of the same lane has a 4-bit field for every pair: bits 1:0 place the first, bits 3:2 the
/// second inside its group of four.
///
/// Sources: AMD Matrix Instruction Calculator, "GFX9" layouts (dense, CDNA3); CDNA4 ISA Reference Guide,
/// chapter 7, and the fragment parameters of composable_kernel's CDNA4 sparse and f8f6f4 atoms for the
/// chunks of 128 bits.
#pragma once

namespace inlay::runtime {

/// An element's place: `register` counts 32-bit registers of the operand, `bit` is where it starts in it.
struct MatrixPlace {
  int reg;
  int bit;
  int lane;
  friend constexpr bool operator==(const MatrixPlace&, const MatrixPlace&) = default;
};

/// Place of element k of row (A) or column (B) `row` of `block`, in an operand of `rows` x `depth` with
/// `bits` each.
///     input_place(16, 16, 1, 16, 0, 3, 6) == {1, 0, 19}: A[3][6] of 16x16x16 f16
[[nodiscard]] constexpr MatrixPlace input_place(int rows, int depth, int blocks, int bits, int block, int row,
                                                int k) {
  const int groups = 64 / (rows * blocks);
  const int per_lane = depth / groups;
  const int chunk = bits >= 8 && bits <= 16 && per_lane * bits > 128 ? 128 / bits : per_lane;
  const int group = (k / chunk) % groups;
  const int element = k / (chunk * groups) * chunk + k % chunk;
  return {element * bits / 32, element * bits % 32, block * rows + group * rows * blocks + row};
}

/// Place of D[i][j] (and C[i][j]) of `block`; `bits` is 32 or 64, of 64 bits the lower half's register is
/// given.
///     output_place(32, 32, 32, 0, 9, 5) == {5, 0, 5}
[[nodiscard]] constexpr MatrixPlace output_place(int m, int n, int bits, int block, int i, int j) {
  const int lane_rows = 64 / n;
  const int tall = bits == 64 ? 1 : 4;
  const int share = 64 * tall > m * n ? 64 * tall / (m * n) : 1;
  const int value = block * (m * n / 64) + i / (tall * lane_rows) * tall + i % tall;
  const int lane = block % share * n + i / tall % lane_rows * share * n + j;
  return {value * bits / 32, 0, lane};
}

/// The block of A that `block` multiplies: CBSZ makes groups of 2^CBSZ neighbouring blocks share block ABID
/// of the group. ABID beyond the group counts modulo its size (the manual leaves it open).
///     broadcast_block(5, 2, 1) == 5      broadcast_block(6, 2, 1) == 5
[[nodiscard]] constexpr int broadcast_block(int block, int cbsz, int abid) {
  const int size = 1 << cbsz;
  return block / size * size + abid % size;
}

/// The lane of B that feeds `lane` under BLGP: 1 and 2 broadcast a half of the wave, 3 rotates by 16 lanes, 4
/// to 7 broadcast a quarter.
///     permuted_lane(40, 1) == 8      permuted_lane(50, 3) == 2      permuted_lane(3, 6) == 35
[[nodiscard]] constexpr int permuted_lane(int lane, int blgp) {
  switch (blgp) {
  case 1: return lane % 32;
  case 2: return lane % 32 + 32;
  case 3: return (lane + 16) % 64;
  case 4:
  case 5:
  case 6:
  case 7: return lane % 16 + 16 * (blgp - 4);
  default: return lane;
  }
}

/// First bit of the sparse index of element `element` (of the packed ones a lane has) in the lane's index
/// register.
///
/// A lane with n packed elements uses 2n bits; where 32 bits hold several such sets, CBSZ = 0 lets ABID
/// choose the set, and CBSZ != 0 means the first. 16-bit types of CDNA3: 4 sets of 8 bits; 8-bit types and
/// the 16-bit types of doubled K: 2 sets of 16 bits; 8-bit types of doubled K: all 32 bits.
///     index_bit(4, 2, 0, 3) == 28
[[nodiscard]] constexpr int index_bit(int packed_elements, int element, int cbsz, int abid) {
  const int width = 2 * packed_elements;
  const int sets = 32 / width;
  return (cbsz == 0 ? abid % sets * width : 0) + 2 * element;
}

} // namespace inlay::runtime
