// What a GEMM does not compute: types, and what of them goes together.
#include "parts.h"

#include <inlay/machine/matrix.h>
#include <inlay/machine/target.h>

#include <fmt/format.h>

namespace inlay::kernels::gemm {

namespace {
bool has_xf32(const Target& target) {
  return machine::multiply_adds_per_clock(target.arch, machine::Operand::xf32) > 0;
}
} // namespace

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
  const bool doubles = s.in == Element::f64;
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
  check_form(s, target);
}

} // namespace inlay::kernels::gemm
