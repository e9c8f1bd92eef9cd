// The GEMM: what it computes, and how its data moves. Nothing else about it is written anywhere.
#include "../lds_swizzle.h"
#include "../map/lowered.h"
#include "../places.h"
#include "../program_names.h"
#include "../transposed.h"
#include "forms.h"

#include <inlay/codegen/program.h>
#include <inlay/codegen/schedule.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/machine/target.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace inlay::kernels {
namespace {

using codegen::Atom;
using codegen::MmaTiling;
using codegen::rows_tv;

/// The longest row of which a tile of that many rows has byte offsets below 2^31, and at most 2^21.
std::int64_t longest_row(int rows, Element element) {
  return std::min(std::int64_t{1} << 21,
                  ((std::int64_t{1} << 31) / (rows * bits(element) / 8) - 32) / 32 * 32);
}

/// Of a row and of what lies between rows each, where these are apart.
std::int64_t half_of(std::int64_t row) { return row / 2 / 32 * 32; }

[[noreturn]] void refuse(const std::string& field, const std::string& value, const std::string& hint) {
  throw std::invalid_argument(fmt::format("gemm: {} = {} is not supported\n  hint   {}", field, value, hint));
}

/// The 8-bit floats that the target multiplies.
bool multiplies(const Target& target, Element e) { return codegen::is_float8(target, e); }

/// Of K, where they are stored side by side: a row of tiles of them has byte offsets below 2^31.
constexpr int most_parts = 64;

/// The longest row of an operand that is stored along m or n: as many as K may be, and those that are loaded ahead, are below 2^31 bytes.
std::int64_t longest_turned(const GemmSpec& s) {
  return (std::int64_t{1} << 31) / ((s.k_most + 4 * s.tile_k) * bits(s.in) / 8) / 32 * 32 - 32;
}

/// The longest N: rows of C as above; in an order of tiles, with 65535 workgroups along the other axis, at most 2^31.
std::int64_t longest_columns(const GemmSpec& s) {
  std::int64_t row = longest_row(s.tile_m, s.out);
  if (s.padded.c || s.padded.d) row = half_of(row);
  if (s.gather) row = std::min(row, longest_row(s.tile_m, Element::f32) / most_parts);
  if (s.turned_b()) row = std::min(row, longest_turned(s));
  return s.order.linear() ? row : std::min(row, std::int64_t{32768} * s.tile_n);
}

/// The longest K: rows as above; sums of i8 products stay inside i32 below 2^17 of them.
std::int64_t longest_k(const GemmSpec& s) {
  std::int64_t row = longest_row(std::max(s.tile_m, s.tile_n), s.in);
  if (s.padded.a || s.padded.b) row = half_of(row);
  if (s.gather) row = std::min(row, std::int64_t{most_parts} * s.split);
  if (s.stored != GemmSpec::Stored::nt) row = std::min(row, s.k_most);
  if (s.in != Element::i8) return row;
  constexpr std::int64_t inside = (std::int64_t{1} << 17) - 64;
  const std::int64_t together =
      std::int64_t{s.split} * s.at_once; // whole rounds of parts, which are summed in i32, too
  return std::min(row, s.gather ? inside / together * together : inside);
}

/// fp4, with scales of 32 k as the MX formats have them.
bool is_mx(const GemmSpec& s) { return s.in == Element::e2m1; }

/// Elements of 16 bytes: what a lane moves at once.
int vector_of(Element e) { return 128 / bits(e); }

/// Elements of a row that a work-item copies to LDS at once: the widest of 16, 8 and 4 bytes for which work-items tile the rows;
/// 0 if none.
int copied(const GemmSpec& s, const Target& target, int rows) {
  const int threads = 64 * s.waves_m * s.waves_n, lanes = target.lanes_per_transfer();
  if (s.transfer && lanes > 1) // 4 rows of 4 vectors a wave
    return s.tile_k % (4 * vector_of(s.in)) == 0 && rows % (threads / 16) == 0 ? vector_of(s.in) / lanes : 0;
  const int least = s.transfer ? 128 : 32;
  for (int v = vector_of(s.in); v * bits(s.in) >= least; v /= 2)
    if (const int across = s.tile_k / v; threads % across == 0 && rows % (threads / across) == 0) return v;
  return 0;
}

/// The widest product; of 8-bit floats on CDNA4 that is f8f6f4 at twice the rate, which takes two reads of 16 bytes an operand
/// and 2048 / mfma of K.
const Atom& product(const GemmSpec& s, const Target& target) {
  if (is_mx(s)) return Atom::mma_scaled(target, s.in, s.in, s.mfma);
  const Element sum = s.in == Element::i8 ? Element::i32 : Element::f32;
  const bool narrow = bits(s.in) == 8 && s.in != Element::i8;
  return narrow && (!target.ocp_fp8 || s.tile_k % (2048 / s.mfma) != 0)
             ? Atom::mma_of(target, s.in, s.in, sum, s.mfma, s.mfma == 16 ? 32 : 16)
             : Atom::mma_best(target, s.in, s.in, sum, s.mfma);
}

/// What becomes of a sum, in the specification and in the kernel: x is the sum, and of these what there is: sa, sb, alpha, beta, C, bias,
/// row_bias, residual.
/// Where beta is 0, C counts nothing, even NaN (BLAS's rule); a beta that is NaN is no 0.
codegen::Expr finished(const GemmSpec& s, Program& k, const std::vector<codegen::Expr>& x) {
  codegen::Expr y = x[0];
  std::size_t next = 1;
  if (s.scales) y = y * (x[1] * x[2]), next = 3;
  if (s.alpha) y = y * x[next++];
  if (s.adds_c()) {
    const codegen::Expr beta = x[next], c = x[next + 1];
    y = select(k.constant(0), max(beta, beta * -1.0), y, y + beta * c), next += 2;
  }
  if (s.bias) y = y + x[next++];
  if (s.row_bias) y = y + x[next++];
  if (s.activation != GemmSpec::Activation::none)
    y = lowered<codegen::Expr>(
        parse_formulas("y = " + to_string(s.activation) + "(x)"), {y},
        [&](double c, bool = false) { return k.constant(c); }, [](codegen::Expr e, double) { return e; })[0];
  return s.residual ? y + x[next] : y;
}

/// Columns of C in the order in which a wave's products have them, so that a lane's results are 8 adjacent columns: 16 bytes of
/// a 16-bit C. The instruction gives a lane 4 of them at a time; those of the next block of 16 columns, or of the next 8, are
/// made its neighbours by taking B's rows in another order. Nothing when C is wider, or a wave has a single block.
///
/// Of a preshuffled B, whose rows are 16 bytes beside one another, a load then takes half lines, twice as many: only where a wave
/// has many results and the products of a tile leave the address unit that time (docs/measurements/codegen.md).
std::optional<Layout> column_order(const GemmSpec& s, const MmaTiling& mma) {
  if (s.amax) return {};       // the mask of its maximum counts columns as they are
  if (is_mx(s)) return {};     // the order of its scales keeps rows where they are
  if (s.turned_b()) return {}; // loads of 8 columns at once, too
  if (bits(s.out) != 16 || (s.mfma == 16 && mma.repeat_n() % 2 != 0)) return {};
  if (s.preshuffled_b) {
    constexpr int bytes_a_clock = 64; // of the address unit: half of a line takes the time of a whole one
    const int loaded = (s.tile_m + 2 * s.tile_n) * s.tile_k * bits(s.in) / 8;
    if (s.tile_n < 64 * s.waves_n || loaded > bytes_a_clock * mma.clocks()) return {};
  }
  TupleBuilder<Mode> b;
  const std::size_t at = b.open();
  if (s.mfma == 16) {
    // column = i + 4 h + 8 g + 32 wave + ..: i of the instruction's lane group g, h the block of two
    const int w = s.waves_n;
    b.leaf({4, Stride(1)}), b.leaf({4, Stride(8)}), b.leaf({w, Stride(32)}), b.leaf({2, Stride(4)});
    b.leaf({s.tile_n / (32 * w), Stride(32 * w)});
  } else {
    b.leaf({4, Stride(1)}), b.leaf({2, Stride(8)}), b.leaf({2, Stride(4)}), b.leaf({2, Stride(16)});
    b.leaf({s.tile_n / 32, Stride(32)});
  }
  b.close(at, 5);
  return Layout(std::move(b).finish());
}

/// Rows in the order in which `waves` waves have the scales of two blocks of 16 adjacent rows in one register: row
/// i + 16 h + 32 wave is at place i + 16 wave + 16 waves h. Nothing where that is the order already.
std::optional<Layout> scaled_order(const GemmSpec& s, int waves, int tile) {
  if (!is_mx(s) || waves == 1) return {};
  TupleBuilder<Mode> b;
  const std::size_t at = b.open();
  b.leaf({16, Stride(1)}), b.leaf({waves, Stride(32)}), b.leaf({2, Stride(16)});
  b.leaf({tile / (32 * waves), Stride(32 * waves)});
  b.close(at, 4);
  return Layout(std::move(b).finish());
}

/// The results of a lane, those that `column_order` makes neighbours one after the other.
Layout results(const GemmSpec& s, const MmaTiling& mma, bool reordered) {
  const Layout c = mma.c();
  if (!reordered || s.mfma != 16) return c;
  // (4, repeat_m, repeat_n) as (4, 2, repeat_m, repeat_n / 2)
  const Layout threads = c.mode(0), values = c.mode(1);
  const auto of = values.modes();
  TupleBuilder<Mode> b;
  const std::size_t all = b.open(), left = b.open();
  for (const Mode& m : threads.modes()) b.leaf(m);
  b.close(left, threads.modes().size());
  const std::size_t right = b.open();
  b.leaf(of[0]), b.leaf({2, of[2].stride}), b.leaf(of[1]);
  b.leaf({floor_div(of[2].extent, Int(2)), Stride(of[2].stride.scale * Int(2), of[2].stride.axis)});
  b.close(right, 4);
  b.close(all, 2);
  return Layout(std::move(b).finish());
}

/// Whether lanes may exchange columns of C before they are stored, so that each has 8 adjacent ones: where the blocks of 16 columns that two lanes exchange lie side by side. Not of scaled sums, of which provenance would have to know that
/// scales of other columns are exchanged with them; and not of a number of elements that is no power of two, which would go through LDS (codegen/lane_exchange.cpp), and
/// there the stages are.
bool exchanges_columns(const GemmSpec& s, const Target& target, const MmaTiling& mma) {
  return target.swaps_lanes && !s.amax && std::has_single_bit(static_cast<unsigned>(s.tile_m * s.tile_n)) &&
         !s.weighted() && bits(s.out) == 16 && s.mfma == 16 && mma.repeat_n() % 2 == 0 &&
         (is_mx(s) || s.waves_n == 1) && !s.adds();
}

/// (M, N, parts) with the parts of a row side by side: (M,N,P):(N*P,1,N).
SymLayout side_by_side(Sym m, Sym n, Sym parts) {
  return by_strides({{m, n * parts}, {n, Sym(1)}, {parts, n}});
}

/// (rows, columns) whose rows are so many elements apart: (rows,columns):(columns+pad,1). Nothing of a pad that there is not.
std::optional<SymLayout> apart(Sym rows, Sym columns, const std::optional<Sym>& pad) {
  if (!pad) return {};
  return by_strides({{rows, columns + *pad}, {columns, Sym(1)}});
}

/// The results of a lane in so many parts of K, one after the other.
Layout results_of_parts(const Layout& c, int parts) {
  if (parts == 1) return c;
  TupleBuilder<Mode> b;
  const std::size_t all = b.open();
  for (const std::size_t half : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t at = b.open();
    const Layout of = c.mode(half);
    const auto modes = of.modes();
    for (const Mode& m : modes) b.leaf(m);
    if (half == 1) b.leaf({parts, Stride(Int(1), Axis{2})});
    b.close(at, modes.size() + half);
  }
  b.close(all, 2);
  return Layout(std::move(b).finish());
}

/// Bytes of a stage of LDS, whole lines of transfers with their padding: of 4 groups of rows, two vectors after all but the last
/// (codegen::transfer_place).
int stage_of_lines(const GemmSpec& s) {
  return s.stage_bytes() + 3 * 2 * 16 * (static_cast<int>(s.staged_a()) + static_cast<int>(s.staged_b()));
}

MmaTiling tiling(const GemmSpec& s, const Target& target) {
  return MmaTiling::of(product(s, target), s.waves_m, s.waves_n, s.tile_m, s.tile_n, s.tile_k,
                       vector_of(s.in));
}

/// LDS for stages, in bytes: with split-k-fixup the last workgroup says in a word of it that it is the last (Program::ticket).
int room(const GemmSpec& s, const Target& target) { return target.lds_bytes - (s.gather ? 4 : 0); }

/// Of LDS: two, or with transfers, which take a whole round of the ring, as many as cover twice memory's latency, from three on,
/// if there is room.
int stages(const GemmSpec& s, const Target& target) {
  if (s.stages != 0) return s.stages;
  if (!s.transfer) return 2;
  const int trip = tiling(s, target).clocks(), latency = 2 * codegen::Latencies::of(target).memory;
  return std::clamp(std::max(1 + (latency + trip - 1) / trip, 3), 2,
                    std::clamp(room(s, target) / s.stage_bytes(), 2, 4));
}

/// Whether a wave's transfers take whole lines of memory where four lanes share a vector: where rows have them, and LDS the room.
bool whole_lines(const GemmSpec& s, const Target& target) {
  return s.transfer && target.lanes_per_transfer() == 4 && s.tile_k % (8 * vector_of(s.in)) == 0 &&
         stages(s, target) * stage_of_lines(s) <= room(s, target);
}

/// The tile of an operand that is stored along m or n: as it is loaded, [tile_k, rows], and as it is written to LDS; the widest pieces
/// that the work-items share out.
TransposedTile turned_tile(const GemmSpec& s, const Target& target, int rows, const Layout& read) {
  const int threads = 64 * s.waves_m * s.waves_n;
  if (const auto tile = transposed_tile(target, s.in, s.tile_k, rows, threads, 8, read, vector_of(s.in)))
    return *tile;
  refuse("tile", fmt::format("{} x {}", rows, s.tile_k),
         "64, 128 or 256 rows: no place in LDS without conflicts");
}

/// Whether work-items share out such a tile at all.
bool shares_out(const GemmSpec& s, int rows) {
  try {
    (void)codegen::columns_tv(s.tile_k, rows, 8, 64 * s.waves_m * s.waves_n);
    return true;
  } catch (const codegen::CodegenError&) {
    return false;
  }
}

void check(const GemmSpec& s, const Target& target) {
  const bool whole = s.in == Element::i8, narrow = multiplies(target, s.in) || is_mx(s);
  if (is_mx(s) && !target.ocp_fp8)
    refuse("in", to_string(s.in),
           fmt::format("{}: {} has no matrix instruction for 4-bit elements",
                       machine::with(&Target::mx_formats).names(), s.arch));
  if (s.in != Element::f16 && s.in != Element::bf16 && !narrow && !whole)
    refuse("in", to_string(s.in),
           fmt::format("f16, bf16, i8, {}{}; the accumulation is f32, i32 for i8",
                       codegen::float8_names(target), target.ocp_fp8 ? ", e2m1" : ""));
  if (is_mx(s) && s.scales)
    refuse("scales", "yes", "without: e2m1 has scales of its own, e8m0 for each 32 of K");
  if (s.amax && (s.split > 0 || s.workers > 0 || is_mx(s)))
    refuse("amax", "yes",
           is_mx(s) ? "without e2m1, whose scales order its columns"
                    : "split 0, without stream-k-workgroups: it is no part of a sum");
  if (s.amax && s.waves_n > 1)
    refuse("waves", fmt::format("{} x {}", s.waves_m, s.waves_n),
           "with amax along M only, 4 x 1: a wave has all columns of its rows");
  if (s.adds_c() && s.adds())
    refuse("beta", s.added == GemmSpec::Added::in_place ? "in-place" : "yes",
           s.workers > 0 ? "without stream-k-workgroups: beta C would be added once a share"
                         : "split-k-fixup yes: beta C would be added once a part");
  if (s.padded.b && s.preshuffled_b)
    refuse("pad-b", "yes", "without: a preshuffled B lies in blocks of 16 rows and 64 bytes");
  if (s.padded.c && s.added != GemmSpec::Added::apart)
    refuse("pad-c", "yes",
           s.adds_c() ? "pad-d: in place, C is what D holds"
                      : "with --beta yes; pad-d is that of the result");
  if (s.stored != GemmSpec::Stored::nt) {
    const std::string name = s.stored == GemmSpec::Stored::nn   ? "nn"
                             : s.stored == GemmSpec::Stored::tn ? "tn"
                                                                : "tt";
    if (bits(s.in) < 8) refuse("layout", name, "nt (A as [M,K], B as [N,K]) of elements of 4 bits");
    if (s.preshuffled_b) refuse("layout", name, "nt: a preshuffled B has an order of its own");
    const std::string why = ": an operand is transposed on its way to LDS, through registers";
    if (s.transfer) refuse("direct-to-lds", "yes", "no" + why);
    if (s.direct != GemmSpec::Direct::none)
      refuse("direct-to-vgpr", s.direct == GemmSpec::Direct::a ? "a" : "b", "none" + why);
    if (s.padded.a && s.turned_a()) refuse("pad-a", "yes", "no" + why);
    if (s.padded.b && s.turned_b()) refuse("pad-b", "yes", "no" + why);
    for (const auto& [turned, tile, rows] :
         {std::tuple(s.turned_a(), "tile_m", s.tile_m), std::tuple(s.turned_b(), "tile_n", s.tile_n)})
      if (turned && !shares_out(s, rows))
        refuse(tile, std::to_string(rows),
               "64, 128 or 256: the work-items do not share out the transposed tile evenly");
  }
  if (is_mx(s) && s.mfma != 16)
    refuse("mfma", std::to_string(s.mfma), "16 rows: scales lie in blocks of twice 16 rows");
  if (whole && !s.weighted()
          ? s.out != Element::i32
          : s.out != Element::f32 && s.out != s.in && (s.adds() || !multiplies(target, s.out)) &&
                !((narrow || whole) && (s.out == Element::f16 || s.out == Element::bf16)))
    refuse("out", to_string(s.out),
           whole && !s.weighted()
               ? std::string(
                     "i32: sums of products of i8 are exact; with what changes them (scales, bias, alpha, "
                     "beta, activation, ..) f32, f16 or bf16")
           : narrow || whole ? "f32, f16, bf16, " + codegen::float8_names(target)
                             : fmt::format("f32, the type of A and B, {}, or {}", to_string(s.in),
                                           codegen::float8_names(target)));
  if (s.split < 0 || s.split % s.tile_k != 0)
    refuse("split", std::to_string(s.split), fmt::format("0, or a multiple of tile_k, {}", s.tile_k));
  if (s.gather && s.split == 0) refuse("split-k-fixup", "yes", "with split");
  if (s.at_once < 1 || s.at_once > 8 || (s.at_once > 1 && !s.gather))
    refuse("split-k-at-once", std::to_string(s.at_once),
           s.gather ? "1 to 8" : "1, or with split-k-fixup yes");
  if (whole && s.gather && longest_k(s) == 0)
    refuse("split", std::to_string(s.split),
           "parts of which those that are summed together fit i32: 131008 altogether");
  if (s.split > 0 && s.workers > 0)
    refuse("split", std::to_string(s.split),
           "without stream-k-workgroups, which cuts K where a workgroup's share of all ends");
  if (s.adds() && (s.bias || s.row_bias || s.residual || s.activation != GemmSpec::Activation::none)) {
    const std::string what = s.bias || s.row_bias ? "a bias would be added"
                             : s.residual         ? "a residual would be added"
                                                  : "an activation would be taken";
    refuse(s.workers > 0 ? "stream-k-workgroups" : "split",
           std::to_string(s.workers > 0 ? s.workers : s.split),
           (s.workers > 0 ? "0: " : "with split-k-fixup yes: ") + what +
               (s.workers > 0 ? " once a share" : " once a part"));
  }
  if (s.out == s.in && (is_mx(s) || whole || (narrow && s.adds())))
    refuse("out", to_string(s.out), "f32, f16 or bf16");
  if (s.mfma != 16 && s.mfma != 32) refuse("mfma", std::to_string(s.mfma), "16 or 32 rows");
  const int waves = s.waves_m * s.waves_n;
  if (s.waves_m < 1 || s.waves_n < 1 || waves > 16 || !std::has_single_bit(static_cast<unsigned>(waves)))
    refuse("waves", fmt::format("{} x {}", s.waves_m, s.waves_n), "1, 2, 4, 8 or 16 waves altogether");
  if (s.tile_k != 32 && s.tile_k != 64 && s.tile_k != 128 && s.tile_k != 256 &&
      (!is_mx(s) || s.tile_k != 512))
    refuse("tile_k", std::to_string(s.tile_k), is_mx(s) ? "256 or 512" : "32, 64, 128 or 256");
  if (s.preshuffled_b && s.mfma != 16)
    refuse("mfma", std::to_string(s.mfma), "16 rows when B is preshuffled: its blocks are 16 rows of 32 k");
  const int vector = vector_of(s.in), least_k = (is_mx(s) ? 8 : 4) * vector,
            narrowest = s.transfer ? vector / target.lanes_per_transfer() : 32 / bits(s.in);
  if (s.direct != GemmSpec::Direct::none && (s.preshuffled_b || is_mx(s)))
    refuse("direct-to-vgpr", s.direct == GemmSpec::Direct::a ? "a" : "b",
           s.preshuffled_b ? "none: a preshuffled B goes past LDS already, and one operand has to go there"
                           : "none: e2m1 by LDS, or with a preshuffled B");
  if (s.mfma == 16 && s.tile_k < least_k)
    refuse("tile_k", std::to_string(s.tile_k), fmt::format("at least {} for {}", least_k, to_string(s.in)));
  const int rows_at_once =
      s.transfer && target.lanes_per_transfer() > 1 ? 4 * waves : 64 * waves / (s.tile_k / narrowest);
  for (const auto& [name, tile, along] :
       {std::tuple{"tile_m", s.tile_m, s.waves_m}, std::tuple{"tile_n", s.tile_n, s.waves_n}}) {
    const int rows = is_mx(s) ? 2 * s.mfma : s.mfma;
    if (tile < 1 || tile > 512 || tile % (along * rows) != 0)
      refuse(name, std::to_string(tile),
             fmt::format("a multiple of {} ({} waves of {} rows), at most 512", along * rows, along, rows));
    const bool by_rows = name[5] == 'm' ? s.staged_a() : s.staged_b();
    if (by_rows && copied(s, target, tile) == 0)
      refuse(name, std::to_string(tile),
             fmt::format("a multiple of {}, the rows that {} work-items load at once",
                         std::max(rows_at_once, 1), 64 * waves));
  }
  if (s.multiple_n < 1 || s.multiple_n > 4096)
    refuse("multiple_n", std::to_string(s.multiple_n), "1 to 4096");
  if (s.stages != 0 && (s.stages < 2 || s.stages > 4))
    refuse("stages", std::to_string(s.stages), "2, 3 or 4, or 0 for the library's choice");
  const int lds = stages(s, target) * s.stage_bytes();
  if (lds > room(s, target))
    refuse("tile", fmt::format("{} x {} x {}", s.tile_m, s.tile_n, s.tile_k),
           fmt::format("{} stages take {} bytes of LDS, and {} has room for {}; halve tile_k or a tile",
                       stages(s, target), lds, s.arch, room(s, target)));
  if (const int accumulators = s.tile_m / s.waves_m * (s.tile_n / s.waves_n) / 64; accumulators > 256)
    refuse("tile", fmt::format("{} x {}", s.tile_m, s.tile_n),
           fmt::format("a lane would hold {} accumulators, at most 256; more waves or a smaller tile",
                       accumulators));
}

} // namespace

SymLayout preshuffled_layout(Sym n, Sym k, int vector) {
  // ((16,N/16),(V,4,K/(4V))):((V,16*K),(1,16V,64V)), V = 8 or 16 elements of 16 bytes
  const auto mode = [](Sym extent, Sym stride) { return BasicMode<Sym>{extent, BasicStride<Sym>(stride)}; };
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open(), rows = b.open();
  b.leaf(mode(16, vector)), b.leaf(mode(floor_div(n, 16), 16 * k));
  b.close(rows, 2);
  const std::size_t columns = b.open();
  b.leaf(mode(vector, 1)), b.leaf(mode(4, 16 * vector)), b.leaf(mode(floor_div(k, 4 * vector), 64 * vector));
  b.close(columns, 3);
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

SymLayout shuffled_scales(Sym rows, Sym k) {
  // ((16,2,R/32),(4,2,K/256)):((4,1,K),(64,2,256))
  const auto mode = [](Sym extent, Sym stride) { return BasicMode<Sym>{extent, BasicStride<Sym>(stride)}; };
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open(), down = b.open();
  b.leaf(mode(16, 4)), b.leaf(mode(2, 1)), b.leaf(mode(ceil_div(rows, 32), k));
  b.close(down, 3);
  const std::size_t along = b.open();
  b.leaf(mode(4, 64)), b.leaf(mode(2, 2)), b.leaf(mode(floor_div(k, 256), 256));
  b.close(along, 3);
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

// [gemm]
Program gemm_program(const GemmSpec& s) {
  const Target& target = Target::named(s.arch);
  check(s, target);
  const int v = vector_of(s.in); // elements of 16 bytes
  const MmaTiling mma = tiling(s, target);
  const bool pre = s.preshuffled_b, mx = is_mx(s);
  const bool pairs = s.adds() && bits(s.out) == 16; // added two at a time

  Program k(pre ? "preshuffle_gemm" : "gemm", target, mma.threads(), s.where);
  // Blocks of 32 rows are counted in 32 bits.
  const std::int64_t most_rows = mx ? std::int64_t{1} << 30 : INT32_MAX;
  const int multiple_n = std::lcm(s.multiple_n, pre ? 16 : s.gather ? 4 : pairs ? 2 : 1);
  const Sym M = k.size("m", {.most = s.turned_a() ? longest_turned(s) : most_rows,
                             .multiple = s.turned_a() ? v : 1}),
            N = k.size("n", {.most = longest_columns(s),
                             .multiple = s.turned_b() ? std::lcm(multiple_n, v) : multiple_n}),
            K = k.size("k", {.most = longest_k(s),
                             .multiple = mx                             ? 256
                                         : pre                          ? 4 * v
                                         : s.turned_a() && s.turned_b() ? 1
                                                                        : v});
  const auto pad = [&](bool there, const std::string& name, std::int64_t most, int multiple) {
    return there ? std::optional(k.size(name, {.least = 0, .most = half_of(most), .multiple = multiple}))
                 : std::nullopt;
  };
  const std::int64_t row_of_a = longest_row(std::max(s.tile_m, s.tile_n), s.in),
                     row_of_d = longest_row(s.tile_m, s.out);
  const auto pad_a = pad(s.padded.a, "pad_a", row_of_a, v), pad_b = pad(s.padded.b, "pad_b", row_of_a, v),
             pad_c = pad(s.padded.c, "pad_c", row_of_d, multiple_n),
             pad_d = pad(s.padded.d, "pad_d", row_of_d, multiple_n);
  const bool in_place = s.added == GemmSpec::Added::in_place;
  const std::string result = s.adds_c() ? "d" : "c";
  const Tensor C = in_place ? k.inout(result, s.out, {M, N}, apart(M, N, pad_d))
                            : k.output(result, s.out, {M, N}, apart(M, N, pad_d)),
               A = k.input("a", s.in, {M, K}, s.turned_a() ? by_columns(M, K) : apart(M, K, pad_a)),
               B = k.input("b", s.in, {N, K},
                           pre            ? preshuffled_layout(N, K, v)
                           : s.turned_b() ? by_columns(N, K)
                                          : apart(N, K, pad_b));
  std::optional<Tensor> SA, SB, bias, row_bias, residual;
  // One scale for 32 elements of K, in whole blocks of 32 rows.
  const auto block_scales = [&](const std::string& name, Sym rows) {
    return k.input(name, Element::e8m0, {32 * ceil_div(rows, 32), floor_div(K, 32)},
                   shuffled_scales(rows, K));
  };
  if (mx) SA = block_scales("sa", M), SB = block_scales("sb", N);
  if (s.scales) SA = k.input("sa", Element::f32, {M, 1}), SB = k.input("sb", Element::f32, {1, N});
  if (s.bias) bias = k.input("bias", Element::f32, {1, N});
  if (s.row_bias) row_bias = k.input("row_bias", Element::f32, {M, 1});
  std::optional<Tensor> alpha, beta, added;
  if (s.alpha) alpha = k.input("alpha", Element::f32, {1, 1});
  if (s.adds_c()) {
    beta = k.input("beta", Element::f32, {1, 1});
    added = in_place ? C : k.input("c", s.out, {M, N}, apart(M, N, pad_c));
  }
  if (s.residual) residual = k.input("residual", s.out, {M, N});
  const auto amax =
      s.amax ? std::optional(k.output("amax", Element::f32, {M, ceil_div(N, Sym(s.tile_n))})) : std::nullopt;
  const auto product_of = [&](Sym m, Sym n, Sym i) {
    const auto value = [&](const Tensor& of, const std::optional<Tensor>& scale, Sym row) {
      return mx ? k(of, {row, i}) * k(*scale, {row, floor_div(i, 32)}) : k(of, {row, i});
    };
    return value(A, SA, m) * value(B, SB, n);
  };
  // Parts of K: how many there are, where one begins, and how far it goes.
  const Sym parts = s.gather ? ceil_div(K, s.split) : Sym(1);
  const auto length = [&](Sym part) { return min(K - Sym(s.split) * part, Sym(s.split)); };
  std::optional<Tensor> P;
  if (s.gather) {
    P = k.output("parts", mma.mma().c_element, {M, N, parts}, side_by_side(M, N, parts));
    k.computes(*P, [&](const auto& c) {
      const Sym begin = Sym(s.split) * c[2];
      return k.sum(K, begin, begin + length(c[2]), [&](Sym i) { return product_of(c[0], c[1], i); });
    });
  }
  const auto value = [&](const std::vector<Sym>& c) {
    const auto sum = s.gather ? k.sum(parts,
                                      [&](Sym part) {
                                        return k(*P, {c[0], c[1], part});
                                      })
                              : k.sum(K, [&](Sym i) { return product_of(c[0], c[1], i); });
    std::vector<codegen::Expr> of = {sum};
    if (s.scales) of.push_back(k(*SA, {c[0], Sym(0)})), of.push_back(k(*SB, {Sym(0), c[1]}));
    if (s.alpha) of.push_back(k(*alpha, {Sym(0), Sym(0)}));
    if (s.adds_c()) of.push_back(k(*beta, {Sym(0), Sym(0)})), of.push_back(k(*added, {c[0], c[1]}));
    if (s.bias) of.push_back(k(*bias, {Sym(0), c[1]}));
    if (s.row_bias) of.push_back(k(*row_bias, {c[0], Sym(0)}));
    if (s.residual) of.push_back(k(*residual, {c[0], c[1]}));
    return finished(s, k, of);
  };
  k.computes(C, value);
  const auto magnitude = [](codegen::Expr e) { return max(e, e * -1.0); };
  if (amax)
    k.computes(*amax, [&](const auto& c) {
      const Sym n = k.symbols().symbol("_compared", {Int(0), std::nullopt});
      const std::pair<Sym, Sym> tile[] = {{s.tile_n * c[1], s.tile_n * (c[1] + Sym(1))}};
      return k.expressions().partial_fold(codegen::Monoid::max, n, N, tile, magnitude(value({c[0], n})));
    });

  const Sym bn = k.workgroups(0, N, s.tile_n), bm = k.workgroups(1, M, s.tile_m);
  k.order_tiles(s.order);
  const std::optional<Layout> columns = column_order(s, mma), down = scaled_order(s, s.waves_m, s.tile_m),
                              across = mx ? scaled_order(s, s.waves_n, s.tile_n) : columns;
  const auto in_rows = [&](const codegen::View& view) { return down ? view.reorder(0, *down) : view; };
  const auto in_order = [&](const codegen::View& view, std::size_t mode) {
    return across ? view.reorder(mode, *across) : view;
  };
  const int lanes = target.lanes_per_transfer();
  const bool lines = whole_lines(s, target);
  const auto turned_if = [&](bool turned, int rows, const Layout& reads) {
    return turned ? std::optional(turned_tile(s, target, rows, reads)) : std::nullopt;
  };
  const auto turned_a = turned_if(s.turned_a(), s.tile_m, mma.a()),
             turned_b = turned_if(s.turned_b(), s.tile_n, mma.b());
  const auto tile_in_lds = [&](const std::string& name, int rows, const Layout& reads,
                               const std::optional<TransposedTile>& turned) {
    if (turned) return k.lds(name, s.in, {rows, s.tile_k}, turned->swizzle);
    if (s.transfer)
      return k.lds(name, s.in, {rows, s.tile_k}, codegen::transfer_place(rows, s.tile_k, v, lanes, lines));
    const int w = copied(s, target, rows);
    return k.lds(
        name, s.in, {rows, s.tile_k},
        conflict_free_swizzle(target, s.in, rows, s.tile_k,
                              {{rows_tv(rows, s.tile_k, w, mma.threads()), w, false}, {reads, v, true}}));
  };
  const auto fill = [&](const codegen::View& from, const Tensor& to, int rows,
                        const std::optional<TransposedTile>& turned) {
    if (turned) {
      const Fragment loaded = k.load(from, codegen::transposed(turned->loaded), 8);
      k.store(k.map(
                  codegen::transposed(turned->written), {loaded}, [](const auto& x) { return x[0]; }, s.in),
              k.whole(to), turned->piece);
    } else if (s.transfer) {
      k.transfer(from, to, codegen::transfer_tv(rows, s.tile_k, v, mma.threads(), lanes, lines), v / lanes);
    } else {
      const int w = copied(s, target, rows);
      k.copy(from, to, rows_tv(rows, s.tile_k, w, mma.threads()), w);
    }
  };
  const Sym part = s.split > 0 ? k.workgroups(2, K, s.split) : Sym(0); // a workgroup has one
  const auto share = s.workers > 0 ? k.share(s.workers, K, s.tile_k) : Program::Share{Sym(0), Sym(0)};
  const Sym extent = s.split > 0     ? length(part)
                     : s.workers > 0 ? min(K - Sym(s.tile_k) * share.begin, Sym(s.tile_k) * share.count)
                                     : K;
  const auto tile_if = [&](bool staged, const std::string& name, int rows, const Layout& reads,
                           const std::optional<TransposedTile>& turned) {
    return staged ? std::optional(tile_in_lds(name, rows, reads, turned)) : std::nullopt;
  };
  const std::optional<Tensor> a = tile_if(s.staged_a(), "lds_a", s.tile_m, mma.a(), turned_a),
                              b = tile_if(s.staged_b(), "lds_b", s.tile_n, mma.b(), turned_b);
  // Scales of 32 k that several waves want, too: each comes from memory once for all of them.
  const int scale_columns = s.tile_k / 32;
  const auto scales_if = [&](const std::string& name, int rows, int waves, int sharing) {
    return s.staged_scales(rows, sharing)
               ? std::optional(k.lds(name, Element::e8m0, {rows, scale_columns},
                                     codegen::scales_place(rows, scale_columns, waves)))
               : std::nullopt;
  };
  const std::optional<Tensor> lds_sa = scales_if("lds_sa", s.tile_m, s.waves_m, s.waves_n),
                              lds_sb = scales_if("lds_sb", s.tile_n, s.waves_n, s.waves_m);
  const Fragment acc = k.zeros(mma.mma().c_element, mma.c(), {s.tile_m, s.tile_n});
  const codegen::Pipeline how{.distance = 2,
                              .ring = stages(s, target),
                              .pins = s.pins,
                              .depth = s.depth,
                              .stagger = s.stagger,
                              .pingpong = s.pingpong};
  k.loop(extent, s.tile_k, how, [&](Sym trip) {
    const Sym t = (s.split > 0 ? Sym(s.split / s.tile_k) * part : share.begin) + trip;
    const codegen::View tile_of_a = in_rows(k.tile(A, {s.tile_m, s.tile_k}, {bm, t})),
                        tile_of_b = in_order(k.tile(B, {s.tile_n, s.tile_k}, {bn, t}), 0);
    if (a) fill(tile_of_a, *a, s.tile_m, turned_a);
    if (b) fill(tile_of_b, *b, s.tile_n, turned_b);
    const auto fill_scales = [&](const codegen::View& from, const std::optional<Tensor>& to, int rows,
                                 int waves) {
      if (to)
        k.transfer(from, *to, codegen::scales_transfer_tv(rows, scale_columns, waves, mma.threads()), 4);
    };
    const auto scales_of = [&](const Tensor& of, int rows, const Sym& block) {
      return k.tile(of, {rows, scale_columns}, {block, t});
    };
    const auto operand = [&](const std::optional<Tensor>& lds, const codegen::View& view, const Layout& tv,
                             int at_once) {
      return lds ? k.read(*lds, tv, at_once) : k.load(view, tv, at_once);
    };
    if (!mx) {
      const Fragment of_a = operand(a, tile_of_a, mma.a(), v), of_b = operand(b, tile_of_b, mma.b(), v);
      k.mma(acc, of_a, of_b, mma);
      return;
    }
    const codegen::View tile_of_sa = in_rows(scales_of(*SA, s.tile_m, bm)),
                        tile_of_sb = in_order(scales_of(*SB, s.tile_n, bn), 0);
    fill_scales(tile_of_sa, lds_sa, s.tile_m, s.waves_m);
    fill_scales(tile_of_sb, lds_sb, s.tile_n, s.waves_n);
    const Fragment of_a = operand(a, tile_of_a, mma.a(), v), of_b = operand(b, tile_of_b, mma.b(), v),
                   sa = operand(lds_sa, tile_of_sa, mma.a_scales(), 4),
                   sb = operand(lds_sb, tile_of_sb, mma.b_scales(), 4);
    k.mma(acc, of_a, sa, of_b, sb, mma);
  });
  const auto of_tile = [&](const Tensor& matrix) {
    return in_order(in_rows(k.tile(matrix, {s.tile_m, s.tile_n}, {bm, bn})), 1);
  };
  const codegen::View tile_of_c = of_tile(C);
  const bool swaps = !columns && exchanges_columns(s, target, mma);
  // Rows that are apart by any number are aligned as n and that are.
  const int widest = columns || swaps ? 8 : 4;
  const auto put = [&](const Fragment& sum) {
    if (s.adds()) return k.add(sum, tile_of_c);
    k.store(swaps ? k.relayout(sum, mma.c_by_eights(), s.out) : sum, tile_of_c,
            s.padded.d && bits(s.out) == 16 ? std::gcd(multiple_n, widest) : widest);
  };
  const auto finish = [&](const Fragment& sum) {
    if (!s.weighted() && !columns && !swaps && !amax) return put(sum);
    std::vector<Fragment> of = {sum};
    const Layout row = codegen::without_axis(mma.c(), 1), column = codegen::without_axis(mma.c(), 0),
                 all = results(s, mma, columns.has_value());
    const auto of_columns = [&](const Tensor& from) {
      const int at_once = pre ? 4 : 1; // N is a multiple of 16 then
      return k.load(in_order(k.tile(from, {1, s.tile_n}, {0, bn}), 1), column, at_once);
    };
    const auto of_rows = [&](const Tensor& from) {
      return k.load(in_rows(k.tile(from, {s.tile_m, 1}, {bm, 0})), row, 1);
    };
    const auto of_all = [&](const Tensor& from) {
      return k.load(of_tile(from), all, std::gcd(multiple_n, columns ? 8 : 4));
    };
    const auto number = [&](const Tensor& from) {
      return k.load(k.tile(from, {1, 1}, {0, 0}), codegen::without_axis(row, 0), 1);
    };
    if (s.scales) {
      of.push_back(of_rows(*SA));
      of.push_back(of_columns(*SB));
    }
    if (s.alpha) of.push_back(number(*alpha));
    if (s.adds_c()) {
      of.push_back(number(*beta));
      of.push_back(of_all(*added));
    }
    if (s.bias) of.push_back(of_columns(*bias));
    if (s.row_bias) of.push_back(of_rows(*row_bias));
    if (s.residual) of.push_back(of_all(*residual));
    const auto of_sum = [&](const auto& x) { return finished(s, k, x); };
    if (!amax) return put(k.map(all, of, of_sum, s.out));
    const Fragment exact = k.map(all, of, of_sum);
    put(exact);
    const Fragment sizes = k.map({exact}, [&](const auto& x) {
      return inside(s.tile_n * bn + k.position(1), N, magnitude(x[0]), -INFINITY);
    });
    k.store(k.fold(codegen::Monoid::max, sizes, 1), k.tile(*amax, {s.tile_m, 1}, {bm, bn}), 1);
  };
  if (!s.gather) {
    finish(acc);
    return k;
  }
  const auto tile_of_parts = [&](int parts_of_it, Sym number) {
    return in_order(in_rows(k.tile(*P, {s.tile_m, s.tile_n, parts_of_it}, {bm, bn, number})), 1);
  };
  k.store(acc, tile_of_parts(1, part), 4);
  const Sym number = k.ticket("arrived", part);
  k.if_less(parts - Sym(2), number, [&] { // the last one
    const Fragment sum = k.zeros(mma.mma().c_element, mma.c(), {s.tile_m, s.tile_n});
    k.loop(parts, s.at_once, {.distance = 0, .ring = 1}, [&](Sym t) {
      if (s.in == Element::i8) { // a fold would be one of f32
        std::vector<Fragment> some;
        for (int e = 0; e < s.at_once; ++e)
          some.push_back(k.load(tile_of_parts(1, Sym(s.at_once) * t + Sym(e)), mma.c(), 4));
        for (const Fragment& one : some) k.update(sum, {one}, [](const auto& x) { return x[0] + x[1]; });
        return;
      }
      const Fragment some = k.load(tile_of_parts(s.at_once, t), results_of_parts(mma.c(), s.at_once), 4);
      k.update(sum, {k.fold(codegen::Monoid::sum, some, 2)}, [](const auto& x) { return x[0] + x[1]; });
    });
    finish(sum);
  });
  return k;
}
// [gemm end]

GemmFacts gemm_facts(const GemmSpec& spec) {
  const Target& target = Target::named(spec.arch);
  check(spec, target);
  const bool shared = spec.transfer && target.lanes_per_transfer() == 4;
  return {tiling(spec, target).clocks(), stages(spec, target),
          spec.tile_k * bits(spec.in) < 1024 || (shared && !whole_lines(spec, target))};
}

std::string to_string(GemmSpec::Activation activation) {
  using Activation = GemmSpec::Activation;
  switch (activation) {
  case Activation::relu: return "relu";
  case Activation::silu: return "silu";
  case Activation::gelu: return "gelu";
  case Activation::gelu_tanh: return "gelu_tanh";
  case Activation::none: break;
  }
  return "none";
}

Artifact build_gemm(const GemmSpec& spec, const BuildOptions& options) {
  return build(gemm_program(spec), options);
}

std::vector<std::int64_t> gemm_sizes(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                                     const GemmPads& pads) {
  std::vector<std::int64_t> out = {m, n, k};
  for (const auto& [there, pad] : {std::pair(spec.padded.a, pads.a), std::pair(spec.padded.b, pads.b),
                                   std::pair(spec.padded.c, pads.c), std::pair(spec.padded.d, pads.d)})
    if (there) out.push_back(pad);
  return out;
}

LaunchPlan plan_gemm_launch(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                            const GemmPads& pads) {
  return contract_of(gemm_program(spec)).plan(gemm_sizes(spec, m, n, k, pads));
}

} // namespace inlay::kernels
