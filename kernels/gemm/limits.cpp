// How long the sizes of a GEMM may be, and what is refused.
#include "parts.h"

#include <inlay/codegen/schedule.h>
#include <inlay/machine/matrix.h>
#include <inlay/machine/target.h>

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace inlay::kernels::gemm {

std::int64_t longest_row(int rows, Element element) {
  return std::min(std::int64_t{1} << 21,
                  ((std::int64_t{1} << 31) / (rows * bits(element) / 8) - 32) / 32 * 32);
}

std::int64_t half_of(std::int64_t row) { return row / 2 / 32 * 32; }

void refuse(const std::string& field, const std::string& value, const std::string& hint) {
  throw std::invalid_argument(fmt::format("gemm: {} = {} is not supported\n  hint   {}", field, value, hint));
}

bool multiplies(const Target& target, Element e) { return codegen::is_float8(target, e); }

std::int64_t longest_turned(const GemmSpec& s) {
  return (std::int64_t{1} << 31) / ((s.k_most + 4 * s.tile_k) * bits(s.in) / 8) / 32 * 32 - 32;
}

std::int64_t longest_columns(const GemmSpec& s) {
  std::int64_t row = longest_row(s.tile_m, s.out);
  if (s.padded.c || s.padded.d) row = half_of(row);
  if (s.gather) row = std::min(row, longest_row(s.tile_m, sum_of(s)) / most_parts);
  if (s.turned_b()) row = std::min(row, longest_turned(s));
  return s.order.linear() ? row : std::min(row, std::int64_t{32768} * s.tile_n);
}

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

namespace {
bool has_xf32(const Target& target) {
  return machine::multiply_adds_per_clock(target.arch, machine::Operand::xf32) > 0;
}
} // namespace

bool is_mx(const GemmSpec& s) { return s.has_block_scales(); }

Element sum_of(const GemmSpec& s) {
  return s.in == Element::i8 ? Element::i32 : s.in == Element::f64 ? Element::f64 : Element::f32;
}

Element weight_of(const GemmSpec& s) { return s.in == Element::f64 ? Element::f64 : Element::f32; }

int vector_of(Element e) { return bits(e) == 6 ? 32 : 128 / bits(e); }

int copied(const GemmSpec& s, const Target& target, int rows) {
  const int threads = 64 * s.waves_m * s.waves_n, lanes = target.lanes_per_transfer();
  if (bits(s.in) == 6) // 4 rows of 16 halves of a vector a wave
    return s.transfer && s.tile_k % 256 == 0 && rows % (threads / 16) == 0 ? vector_of(s.in) / 2 : 0;
  if (s.transfer && lanes > 1) // 4 rows of 4 vectors a wave
    return s.tile_k % (4 * vector_of(s.in)) == 0 && rows % (threads / 16) == 0 ? vector_of(s.in) / lanes : 0;
  const int least = s.transfer ? 128 : 32;
  for (int v = vector_of(s.in); v * bits(s.in) >= least; v /= 2)
    if (const int across = s.tile_k / v; threads % across == 0 && rows % (threads / across) == 0) return v;
  return 0;
}

const Atom& product(const GemmSpec& s, const Target& target) {
  if (is_mx(s)) return Atom::mma_scaled(target, s.in, s.in, s.mfma);
  const bool narrow = bits(s.in) == 8 && s.in != Element::i8;
  return narrow && (!target.ocp_fp8 || s.tile_k % (2048 / s.mfma) != 0)
             ? Atom::mma_of(target, s.in, s.in, sum_of(s), s.mfma, s.mfma == 16 ? 32 : 16)
             : Atom::mma_best(target, s.in, s.in, sum_of(s), s.mfma);
}

int stage_of_lines(const GemmSpec& s) {
  return s.stage_bytes() + 3 * 2 * 16 * (static_cast<int>(s.staged_a()) + static_cast<int>(s.staged_b()));
}

MmaTiling tiling(const GemmSpec& s, const Target& target) {
  return MmaTiling::of(product(s, target), s.waves_m, s.waves_n, s.tile_m, s.tile_n, s.tile_k,
                       vector_of(s.in));
}

int room(const GemmSpec& s, const Target& target) { return target.lds_bytes - (s.gather ? 4 : 0); }

int stages(const GemmSpec& s, const Target& target) {
  if (s.stages != 0) return s.stages;
  if (!s.transfer) return 2;
  const int trip = tiling(s, target).clocks(), latency = 2 * codegen::Latencies::of(target).memory;
  return std::clamp(std::max(1 + (latency + trip - 1) / trip, 3), 2,
                    std::clamp(room(s, target) / s.stage_bytes(), 2, 4));
}

bool whole_lines(const GemmSpec& s, const Target& target) {
  if (bits(s.in) == 6) return true;
  return s.transfer && target.lanes_per_transfer() == 4 && s.tile_k % (8 * vector_of(s.in)) == 0 &&
         stages(s, target) * stage_of_lines(s) <= room(s, target);
}

bool shares_out(const GemmSpec& s, int rows) {
  try {
    (void)codegen::columns_tv(s.tile_k, rows, columns_at_once(s.in), 64 * s.waves_m * s.waves_n);
    return true;
  } catch (const codegen::CodegenError&) {
    return false;
  }
}

void check(const GemmSpec& s, const Target& target) {
  const bool whole = s.in == Element::i8, narrow = multiplies(target, s.in) || is_mx(s);
  if (is_mx(s) && !target.ocp_fp8)
    refuse("in", to_string(s.in),
           fmt::format("{}: {} has no matrix instruction for {}", machine::with(&Target::mx_formats).names(),
                       s.arch,
                       bits(s.in) < 8 ? fmt::format("{}-bit elements", bits(s.in)) : "scales of 32 k"));
  const std::string narrower = target.ocp_fp8 ? ", e2m1, e2m3, e3m2" : "";
  if (s.block_scales && bits(s.in) >= 8 && !multiplies(target, s.in))
    refuse("in", to_string(s.in), "with scales of 32 k: " + codegen::float8_names(target) + narrower);
  const bool wide = bits(s.in) >= 32, doubles = s.in == Element::f64;
  if (s.in == Element::xf32 && !has_xf32(target))
    refuse("in", "xf32",
           fmt::format("f32 on {}, which has no xf32: {} alone multiplies it", s.arch,
                       machine::targets_where(has_xf32).names()));
  if (s.in != Element::f16 && s.in != Element::bf16 && s.in != Element::f32 && s.in != Element::xf32 &&
      !doubles && !narrow && !whole)
    refuse("in", to_string(s.in),
           fmt::format("f16, bf16, f32, f64, i8, {}{}; the accumulation is f32, f64 for f64, i32 for i8",
                       codegen::float8_names(target), narrower));
  if (is_mx(s) && s.scales)
    refuse("scales", "yes",
           fmt::format("without: {} has scales of its own, e8m0 for each 32 of K", to_string(s.in)));
  if (doubles && s.amax) refuse("amax", "yes", "without f64: it is a maximum of f32");
  if (doubles && s.activation != GemmSpec::Activation::none && s.activation != GemmSpec::Activation::relu)
    refuse("activation", to_string(s.activation), "relu: no instruction takes a power of f64");
  if (doubles && s.adds())
    refuse(s.workers > 0 ? "stream-k-workgroups" : "split",
           std::to_string(s.workers > 0 ? s.workers : s.split),
           s.workers > 0 ? "0: f64 is not added by atomics"
                         : "with split-k-fixup yes: f64 is not added by atomics");
  if (doubles && s.transfer && target.lanes_per_transfer() > 1)
    refuse("direct-to-lds", "yes",
           fmt::format("no: a transfer of {} has 4 bytes a lane, half of an f64", s.arch));
  if (s.amax && (s.split > 0 || s.workers > 0 || is_mx(s)))
    refuse("amax", "yes",
           is_mx(s) ? "without scales of 32 k, which order its columns"
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
    if (is_mx(s))
      refuse("layout", name,
             "nt (A as [M,K], B as [N,K]) " + (bits(s.in) < 8
                                                   ? fmt::format("of elements of {} bits", bits(s.in))
                                                   : "with scales of 32 k"));
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
  if (whole && !s.weighted() ? s.out != Element::i32
      : doubles              ? s.out != Element::f64
                             : s.out != Element::f32 && (s.out != s.in || s.in == Element::xf32) &&
                      (s.adds() || !multiplies(target, s.out)) &&
                      !((narrow || whole) && (s.out == Element::f16 || s.out == Element::bf16)))
    refuse("out", to_string(s.out),
           whole && !s.weighted()
               ? std::string(
                     "i32: sums of products of i8 are exact; with what changes them (scales, bias, alpha, "
                     "beta, activation, ..) f32, f16 or bf16")
           : doubles         ? "f64"
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
  if (s.own != GemmSpec::Own::none && (s.split > 0 || s.workers > 0 || !s.order.linear()))
    refuse("groups", "yes",
           "split 0, stream-k-workgroups 0 and tile-order linear: each product has its own number of tiles");
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
  if (doubles && s.mfma != 16) refuse("mfma", std::to_string(s.mfma), "16 rows: f64 has no other");
  if (s.mfma != 16 && s.mfma != 32) refuse("mfma", std::to_string(s.mfma), "16 or 32 rows");
  const int waves = s.waves_m * s.waves_n;
  if (s.waves_m < 1 || s.waves_n < 1 || waves > 16 || !std::has_single_bit(static_cast<unsigned>(waves)))
    refuse("waves", fmt::format("{} x {}", s.waves_m, s.waves_n), "1, 2, 4, 8 or 16 waves altogether");
  const int row = s.tile_k * bits(s.in) / 8;
  if (wide ? row != 64 && row != 128 && row != 256
           : s.tile_k != 32 && s.tile_k != 64 && s.tile_k != 128 && s.tile_k != 256 &&
                 (bits(s.in) >= 8 || s.tile_k != 512))
    refuse("tile_k", std::to_string(s.tile_k),
           is_mx(s)  ? bits(s.in) < 8 ? "256 or 512" : "256"
           : doubles ? "8, 16 or 32"
           : wide    ? "16, 32 or 64"
                     : "32, 64, 128 or 256");
  if (s.preshuffled_b && (wide || bits(s.in) == 6))
    refuse("in", to_string(s.in), "16, 8 or 4 bits: weights of an inference engine");
  if (s.preshuffled_b && s.mfma != 16)
    refuse("mfma", std::to_string(s.mfma), "16 rows when B is preshuffled: its blocks are 16 rows of 32 k");
  const int vector = vector_of(s.in), least_k = is_mx(s) ? 256 : 4 * vector,
            narrowest = s.transfer ? vector / target.lanes_per_transfer() : std::max(32 / bits(s.in), 1);
  if (s.direct != GemmSpec::Direct::none && (s.preshuffled_b || is_mx(s)))
    refuse("direct-to-vgpr", s.direct == GemmSpec::Direct::a ? "a" : "b",
           s.preshuffled_b ? "none: a preshuffled B goes past LDS already, and one operand has to go there"
                           : "none: elements with scales of 32 k go by LDS, or with a preshuffled B");
  if (bits(s.in) == 6 && !s.transfer)
    refuse("direct-to-lds", "no", fmt::format("yes: {} goes to LDS 12 bytes a lane", to_string(s.in)));
  if (s.mfma == 16 && s.tile_k < least_k)
    refuse("tile_k", std::to_string(s.tile_k), fmt::format("at least {} for {}", least_k, to_string(s.in)));
  const int rows_at_once = bits(s.in) == 6 || (s.transfer && target.lanes_per_transfer() > 1)
                               ? 4 * waves
                               : 64 * waves / (s.tile_k / narrowest);
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
  if (const int accumulators = s.tile_m / s.waves_m * (s.tile_n / s.waves_n) / 64 * (doubles ? 2 : 1);
      accumulators > 256)
    refuse("tile", fmt::format("{} x {}", s.tile_m, s.tile_n),
           fmt::format("a lane would hold {} accumulators, at most 256; more waves or a smaller tile",
                       accumulators));
}

} // namespace inlay::kernels::gemm
