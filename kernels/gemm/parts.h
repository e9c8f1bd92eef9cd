/// What a GEMM is made of, before it is a program: how long its sizes may be, what is refused, how tiles lie. Private.
#pragma once

#include "../places.h"
#include "../transposed.h"
#include "forms.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/gemm/spec.h>

namespace inlay::kernels::gemm {

/// The longest row of which a tile of that many rows has byte offsets below 2^31, and at most 2^21.
[[nodiscard]] std::int64_t longest_row(int rows, Element element);

/// Of a row and of what lies between rows each, where these are apart.
[[nodiscard]] std::int64_t half_of(std::int64_t row);

[[noreturn]] void refuse(const std::string& field, const std::string& value, const std::string& hint);

/// The 8-bit floats that the target multiplies.
[[nodiscard]] bool multiplies(const Target& target, Element e);

/// Of K, where they are stored side by side: a row of tiles of them has byte offsets below 2^31.
constexpr int most_parts = 64;

/// The longest row of an operand that is stored along m or n: as many as K may be, and those that are loaded ahead, are below 2^31 bytes.
[[nodiscard]] std::int64_t longest_turned(const GemmSpec& s);

/// The longest N: rows of C as above; in an order of tiles, with 65535 workgroups along the other axis, at most 2^31.
[[nodiscard]] std::int64_t longest_columns(const GemmSpec& s);

/// The longest K: rows as above; sums of i8 products stay inside i32 below 2^17 of them.
[[nodiscard]] std::int64_t longest_k(const GemmSpec& s);

/// With scales of 32 k as the MX formats have them.
[[nodiscard]] bool is_mx(const GemmSpec& s);

/// What sums are of: i32 of i8, f64 of f64, f32 of all else.
[[nodiscard]] Element sum_of(const GemmSpec& s);

/// What alpha, beta, scales and biases are of: f64 of f64, f32 of all else.
[[nodiscard]] Element weight_of(const GemmSpec& s);

/// Elements of 16 bytes: what a lane moves at once. Of 6 bits what a product takes of a lane, 32 in 24 bytes, which two transfers bring.
[[nodiscard]] int vector_of(Element e);

/// Elements of a row that a work-item copies to LDS at once: the widest of 16, 8 and 4 bytes for which work-items tile the rows;
/// 0 if none.
[[nodiscard]] int copied(const GemmSpec& s, const Target& target, int rows);

/// The widest product; of 8-bit floats on CDNA4 that is f8f6f4 at twice the rate, which takes two reads of 16 bytes an operand
/// and 2048 / mfma of K.
[[nodiscard]] const Atom& product(const GemmSpec& s, const Target& target);

/// Columns of C in the order in which a wave's products have them, so that a lane's results are 8 adjacent columns: 16 bytes of
/// a 16-bit C. The instruction gives a lane 4 of them at a time; those of the next block of 16 columns, or of the next 8, are
/// made its neighbours by taking B's rows in another order. Nothing when C is wider, or a wave has a single block.
///
/// Of a preshuffled B, whose rows are 16 bytes beside one another, a load then takes half lines, twice as many: only where a wave
/// has many results and the products of a tile leave the address unit that time (docs/measurements/codegen.md).
///
/// Of f64 the instruction gives a lane every fourth column; in this order they are 4 adjacent ones, two stores of 16 bytes.
[[nodiscard]] std::optional<Layout> column_order(const GemmSpec& s, const MmaTiling& mma);

/// Rows in the order in which `waves` waves have the scales of two blocks of 16 adjacent rows in one register: row
/// i + 16 h + 32 wave is at place i + 16 wave + 16 waves h. Nothing where that is the order already.
[[nodiscard]] std::optional<Layout> scaled_order(const GemmSpec& s, int waves, int tile);

/// Adjacent columns of C that a lane stores at once; `ordered`: in that order, or after an exchange.
[[nodiscard]] int adjacent_columns(const GemmSpec& s, bool ordered);

/// The results of a lane, those that `column_order` makes neighbours one after the other.
[[nodiscard]] Layout results(const GemmSpec& s, const MmaTiling& mma, bool reordered);

/// Whether lanes may exchange columns of C before they are stored, so that each has 8 adjacent ones: where the blocks of 16 columns that two lanes exchange lie side by side. Not of scaled sums, of which provenance would have to know that
/// scales of other columns are exchanged with them; and not of a number of elements that is no power of two, which would go through LDS (codegen/lane_exchange.cpp), and
/// there the stages are.
[[nodiscard]] bool exchanges_columns(const GemmSpec& s, const Target& target, const MmaTiling& mma);

/// (M, N, parts) with the parts of a row side by side: (M,N,P):(N*P,1,N).
[[nodiscard]] SymLayout side_by_side(Sym m, Sym n, Sym parts);

/// (rows, columns) whose rows are so many elements apart: (rows,columns):(columns+pad,1). Nothing of a pad that there is not.
[[nodiscard]] std::optional<SymLayout> apart(Sym rows, Sym columns, const std::optional<Sym>& pad);

/// Bytes of a stage of LDS, whole lines of transfers with their padding: of 4 groups of rows, two vectors after all but the last
/// (codegen::transfer_place).
[[nodiscard]] int stage_of_lines(const GemmSpec& s);

[[nodiscard]] MmaTiling tiling(const GemmSpec& s, const Target& target);

/// LDS for stages, in bytes: with split-k-fixup the last workgroup says in a word of it that it is the last (Program::ticket).
[[nodiscard]] int room(const GemmSpec& s, const Target& target);

/// Of LDS: two, or with transfers, which take a whole round of the ring, as many as cover twice memory's latency, from three on,
/// if there is room.
[[nodiscard]] int stages(const GemmSpec& s, const Target& target);

/// Whether a wave's transfers take whole lines of memory where four lanes share a vector: where rows have them, and LDS the room.
[[nodiscard]] bool whole_lines(const GemmSpec& s, const Target& target);

/// The tile of an operand that is stored along m or n: as it is loaded, [tile_k, rows], and as it is written to LDS; the widest pieces
/// that the work-items share out.
[[nodiscard]] TransposedTile turned_tile(const GemmSpec& s, const Target& target, int rows,
                                         const Layout& read);

/// Whether work-items share out such a tile at all.
[[nodiscard]] bool shares_out(const GemmSpec& s, int rows);

/// Errors: std::invalid_argument naming what the kernel does not take.
void check(const GemmSpec& s, const Target& target);
/// Of those the ones that change only speed.
void check_form(const GemmSpec& s, const Target& target);

} // namespace inlay::kernels::gemm
