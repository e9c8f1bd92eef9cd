// `gemm` and `preshuffle_gemm` on the command line: an option a row, turned into the specification and sizes of gemm/spec.h.
#include "../kernels.h"
#include "../options.h"
#include "forms.h"

#include <inlay/codegen/sum_order.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>

#include <algorithm>
#include <sstream>

namespace inlay::kernels {
namespace {

/// What is asked of bits.
enum class Same : std::uint8_t {
  any,
  launch, ///< a second launch gives the same, beside other rows too: the claims of codegen/sum_order.h
  batch   ///< and so do the forms that are chosen for another m
};
struct GemmAsked : GemmSpec {
  std::int64_t m = 256, n = 256, k = 256;
  GemmPads pads;
  GemmGroups groups;
  Same same = Same::any;
};
using ReadsGemm = Reads<GemmAsked>;
using Added = GemmSpec::Added;

constexpr std::int64_t most = 1 << 24; // refuses nonsense; plan_gemm_launch has the real limits

/// The type of C that is meant where none is named.
Element usual_result(const GemmAsked& asked) {
  return asked.in == Element::i8 && !asked.weighted() ? Element::i32
         : codegen::bits(asked.in) <= 8               ? Element::bf16
         : asked.in == Element::xf32                  ? Element::f32
                                                      : asked.in;
}

/// Elements of 128 bytes of a row, or what has a register of scales.
int line_of(const GemmSpec& s) { return s.has_block_scales() ? 256 : 1024 / codegen::bits(s.in); }

/// The type of A and B; those that begin with mx are floats of 8 or 6 bits with scales of 32 k.
ReadsGemm type_of_factors(bool pre) {
  return {pre ? "f16, bf16, fp8, bf8, i8, fp4, mxfp8, mxbf8"
              : "f16, bf16, f32, f64, xf32, fp8, bf8, i8, fp4, mxfp6, mxbf6, mxfp8, mxbf8",
          [](GemmAsked& asked, const std::string& text) -> std::string {
            const codegen::Target& target = codegen::Target::named(asked.arch);
            asked.block_scales = text.starts_with("mx");
            asked.in = codegen::parse_element(asked.block_scales ? text.substr(2) : text, target);
            return {};
          }};
}

ReadsGemm tile() {
  const ReadsGemm sizes =
      ReadsGemm::product("128x128x64", &GemmAsked::tile_m, &GemmAsked::tile_n, &GemmAsked::tile_k);
  return {sizes.range, [=](GemmAsked& asked, const std::string& text) {
            // A row of 128 bytes where nobody says otherwise.
            const bool by_line = codegen::bits(asked.in) >= 32 || asked.has_block_scales();
            return sizes.put(asked,
                             !text.empty() ? text : fmt::format("128x128x{}", by_line ? line_of(asked) : 64));
          }};
}

ReadsGemm waves(bool pre) {
  const ReadsGemm sizes = ReadsGemm::product("2x2", &GemmAsked::waves_m, &GemmAsked::waves_n);
  return {sizes.range, [=](GemmAsked& asked, const std::string& text) {
            return sizes.put(asked, !text.empty() ? text : asked.amax ? "4x1" : pre ? "1x4" : "2x2");
          }};
}

/// Of 6 bits where nobody says otherwise.
ReadsGemm transfer() {
  const ReadsGemm yes = ReadsGemm::yes(&GemmAsked::transfer);
  return {yes.range, [=](GemmAsked& asked, const std::string& text) {
            return yes.put(asked, !text.empty() ? text : codegen::bits(asked.in) == 6 ? "yes" : "no");
          }};
}

Artifact build_asked(const std::string& name, const GemmSpec& spec, Same same, const BuildOptions& how) {
  if (same == Same::any) return build_gemm(spec, how);
  const int of_k = line_of(spec);
  if (same == Same::batch && (spec.tile_k != of_k || spec.mfma != 16))
    throw std::invalid_argument(fmt::format("{}: --deterministic batch walks along K by {} with matrix "
                                            "instructions of 16 rows, and here by {} with {}\n  hint   "
                                            "--tile {}x{}x{} --mfma 16",
                                            name, of_k, spec.tile_k, spec.mfma, spec.tile_m, spec.tile_n,
                                            of_k));
  codegen::Program program = gemm_program(spec);
  for (const codegen::OrderClaim& c : codegen::sum_orders(codegen::expand(program)).claims) {
    if (c.verdict == codegen::OrderClaim::Verdict::proved) continue;
    throw std::invalid_argument(
        fmt::format("{}: --deterministic {} is not what this form does\n  claim  {} is {}: {}\n  where  "
                    "operation {}, {}:{}\n  hint   {}",
                    name, same == Same::batch ? "batch" : "yes", c.claim, to_string(c.verdict), c.reason,
                    c.op, c.where.file_name(), c.where.line(),
                    spec.workers > 0 ? "--split with --split-k-fixup yes in place of --stream-k-workgroups: "
                                       "parts of one length, in their order"
                                     : "--split-k-fixup yes: parts are stored, and summed in their order"));
  }
  return build(std::move(program), how);
}

/// The forms whose sums have the order that is wanted: with fixed parts that are summed in turn, and for any m the same lengths of tiles
/// and parts along K.
std::vector<Flags> of_order(std::vector<Flags> forms, const GemmAsked& asked, const Flags& fixed) {
  if (asked.same == Same::any) return forms;
  const std::string of_k = std::to_string(line_of(asked));
  std::vector<Flags> out;
  for (Flags& one : forms) {
    const bool exact = codegen::is_integer(asked.out); // in any order
    if (one["split"] != "0" && !fixed.contains("split-k-fixup") && !exact) one["split-k-fixup"] = "yes";
    if (one["split"] != "0" && one["split-k-fixup"] != "yes" && !exact) continue;
    if (asked.same == Same::batch && ((!fixed.contains("tile") && !one["tile"].ends_with("x" + of_k)) ||
                                      (!fixed.contains("split") && one["split"] != "0")))
      continue;
    out.push_back(std::move(one));
  }
  return out;
}

/// The forms of many products: none in parts, and stores that fit each n.
std::vector<Flags> of_groups(std::vector<Flags> forms, const GemmAsked& asked) {
  if (asked.groups.empty()) return forms;
  std::erase_if(forms, [](const Flags& f) { return f.at("split") != "0"; });
  const bool odd =
      std::any_of(asked.groups.begin(), asked.groups.end(), [](const auto& g) { return g[1] % 8 != 0; });
  for (Flags& f : forms)
    if (odd && asked.own == GemmSpec::Own::all) f["n-multiple"] = "1";
  return forms;
}

/// The longest K of which an operand's rows along m or n are below 2 GiB altogether: for the K that is asked, so that rows may be long.
std::int64_t k_most(const GemmAsked& asked) {
  std::int64_t longest = 1 << 12;
  while (longest < asked.k && longest < 1 << 20) longest *= 2;
  return longest;
}

ReadsGemm activation() {
  using Activation = GemmSpec::Activation;
  std::vector<std::pair<std::string, Activation>> words = {{"no", Activation::none}};
  for (const Activation a : {Activation::relu, Activation::silu, Activation::gelu, Activation::gelu_tanh})
    words.emplace_back(to_string(a), a);
  return ReadsGemm::one_of(&GemmAsked::activation, words);
}

/// The pad of a matrix, a size of the launch where it is not `no`.
ReadsGemm pad(bool GemmSpec::Padded::*there, std::int64_t GemmPads::*pad) {
  return {"no, or 0 to " + std::to_string(most),
          [=](GemmAsked& asked, const std::string& text) -> std::string {
            asked.padded.*there = text != "no";
            if (text == "no") return {};
            const auto number = number_in(text, 0, most);
            if (!number) return "is neither no nor a number from 0 to " + std::to_string(most);
            asked.pads.*pad = *number;
            return {};
          }};
}

/// Sizes of many products: `300,0,17` of m alone, `300x128x256,17x64x512`.
ReadsGemm groups() {
  return {"no, or M,M,.. or MxNxK,MxNxK,..", [](GemmAsked& asked, const std::string& text) -> std::string {
            if (text == "no") return {};
            std::istringstream in(text);
            for (std::string one; std::getline(in, one, ',');) {
              std::array<std::int64_t, 3> sizes{0, asked.n, asked.k};
              std::istringstream parts(one);
              std::size_t count = 0;
              for (std::string part; std::getline(parts, part, 'x'); ++count)
                if (const auto n = number_in(part, count == 2 ? 1 : 0, most); n && count < sizes.size())
                  sizes[count] = *n;
                else
                  return "has '" + one + "', which is neither M nor MxNxK";
              const GemmSpec::Own own = count == 3 ? GemmSpec::Own::all : GemmSpec::Own::m;
              if (count == 2 || (asked.own != GemmSpec::Own::none && asked.own != own))
                return "has '" + one + "': M of all groups, or MxNxK of all";
              asked.own = own, asked.groups.push_back(sizes);
            }
            const auto [m, n, k] = largest_of(asked.groups);
            if (m == 0 || n == 0) return "has no group with rows and columns";
            asked.m = m, asked.n = n, asked.k = k;
            return {};
          }};
}

/// The words of every switch, and `batch`.
Same same_bits(const GemmAsked&, const std::string& text) {
  if (text == "batch") return Same::batch;
  GemmAsked asked;
  if (!ReadsGemm::yes(&GemmAsked::stagger).put(asked, text).empty())
    throw std::invalid_argument(fmt::format("--deterministic '{}' is none of no, yes, batch", text));
  return asked.stagger ? Same::launch : Same::any;
}

Face<GemmAsked> face(bool pre) {
  const std::string name = pre ? "preshuffle_gemm" : "gemm";
  Options<GemmAsked> options(
      name,
      {arch_option<GemmAsked>(),
       {"dtype", type_of_factors(pre), "f16", "element type of A and B", "",
        std::string(pre ? ""
                        : "of f64 all else is f64, too; xf32 is f32 whose products leave out 13 bits\n") +
            "fp4 and mx.. have e8m0 scales of 32 k: C = sum_k A[m,k] SA[m,k/32] B[n,k] SB[n,k/32]" +
            (pre ? "" : "\nmxfp6 is e2m3, mxbf6 e3m2: 4 in 3 bytes, the first in the lowest bits")},
       {"layout",
        ReadsGemm::one_of(&GemmAsked::stored, {{"nt", GemmSpec::Stored::nt},
                                               {"nn", GemmSpec::Stored::nn},
                                               {"tn", GemmSpec::Stored::tn},
                                               {"tt", GemmSpec::Stored::tt}}),
        "nt", "A as [M,K] (n) or [K,M] (t), B as [K,N] (n) or [N,K] (t), row-major", "",
        "not with scales of 32 k; rows along m or n are a multiple of 16 bytes long, and below 2 GiB "
        "altogether"},
       {"scales", ReadsGemm::yes(&GemmAsked::scales), "no",
        "C times sa[m] sb[n], f32 (per token and per channel)", "", "with scales, i8 gives f32, f16 or bf16"},
       {"bias", ReadsGemm::yes(&GemmAsked::bias), "no", "plus bias[n], f32"},
       {"row-bias", ReadsGemm::yes(&GemmAsked::row_bias), "no", "plus row_bias[m], f32"},
       {"alpha", ReadsGemm::yes(&GemmAsked::alpha), "no", "times alpha, f32: one number in memory", "",
        "with this or anything else that changes a sum, i8 gives f32, f16 or bf16"},
       {"beta",
        ReadsGemm::one_of(&GemmAsked::added,
                          {{"no", Added::none}, {"yes", Added::apart}, {"in-place", Added::in_place}}),
        "no", "plus beta C: D = alpha A B^T + beta C, C like D, beta f32; or what D holds", "",
        "yes: C is a matrix of its own, and the result is named D\n"
        "in-place: C is what D holds before the launch; with --beta yes they may not share memory\n"
        "Where beta is 0, nothing of C reaches D, NaN neither"},
       {"activation", activation(), "no", "act(alpha sa sb A B^T + beta C + bias + row_bias): of all that",
        "", "gelu is that of erf, gelu_tanh the one by tanh"},
       {"residual", ReadsGemm::yes(&GemmAsked::residual), "no",
        "plus residual[m,n] after the activation, of the type of the result", "",
        "before it, or without one, that is --beta yes"},
       {"amax", ReadsGemm::yes(&GemmAsked::amax), "no",
        "a result more: the greatest magnitude of each row in each tile", "",
        "f32 [m, ceil(n / tile's n)], of the result before it is rounded; the maximum of that is what an fp8 "
        "result is scaled by"},
       {"pad-a", pad(&GemmSpec::Padded::a, &GemmPads::a), "no",
        "elements between rows of A, a size of the launch: lda is k and these", "", "a multiple of 16 bytes"},
       {"pad-b", pad(&GemmSpec::Padded::b, &GemmPads::b), "no",
        "elements between rows of B, a size of the launch: ldb is k and these", "", "a multiple of 16 bytes"},
       {"pad-c", pad(&GemmSpec::Padded::c, &GemmPads::c), "no",
        "with --beta yes: elements between rows of C: ldc is n and these", "", "a multiple of n-multiple"},
       {"pad-d", pad(&GemmSpec::Padded::d, &GemmPads::d), "no",
        "elements between rows of the result, a size of the launch: ldd is n and these", "",
        "a multiple of n-multiple; what lies there stays"},
       {"out",
        ReadsGemm::parsed(&GemmAsked::out, "f32, f16, bf16, fp8, bf8, i32",
                          [](const GemmAsked& asked, const std::string& text) {
                            return text.empty()
                                       ? usual_result(asked)
                                       : codegen::parse_element(text, codegen::Target::named(asked.arch));
                          }),
        "", "element type of C", "",
        "f32 or that of A and B (default), f64 of f64; of fp8, bf8, fp4, mx.., and of i8 with scales: f32, "
        "f16, "
        "bf16 "
        "(default); of i8: i32; fp8 and bf8 where nothing is added by atomics"},
       {"m", ReadsGemm::number(&GemmAsked::m, 1, most), "256", "rows of A and C"},
       {"n", ReadsGemm::number(&GemmAsked::n, 1, most), "256",
        pre ? "rows of B, columns of C, a multiple of 16" : "rows of B, columns of C"},
       {"k", ReadsGemm::number(&GemmAsked::k, 1, most), "256",
        pre ? "columns of A and B, a multiple of 32 (8-bit: 64; fp4, mx..: 256)"
            : "columns of A and B, a multiple of 8 (f64: 2; f32: 4; 8-bit: 16; fp4, mx..: 256)"},
       {"groups", groups(), "no",
        "many products in one launch, by tables of pointers: their m, or m, n and k", "",
        "A, B, C and whatever else there is are tables of 64-bit pointers then, a_at, b_at, .., and own "
        "sizes are in tables, "
        "m_of, ..; m, n and k are the largest\n"
        "a group of 0 rows or columns is nothing to do; without split and stream-k-workgroups"},
       {"tile", tile(), "auto", "tile of C and of K that a workgroup works on", "",
        "where sizes are not known 128x128x64, of fp4 and mx.. 128x128x256, f32 128x128x32, f64 128x128x16"},
       {"waves", waves(pre), "auto", "waves along M and N", "",
        "where sizes are not known 2x2, with a preshuffled B 1x4, with amax 4x1"},
       {"mfma", ReadsGemm::number(&GemmAsked::mfma, 16, 32), "auto",
        "rows of the matrix instruction, 16 or 32", "16"},
       {"direct-to-lds",
        transfer(),
        "auto",
        "direct global-to-LDS loads, without registers",
        "",
        "where sizes are not known no, and yes of mxfp6 and mxbf6, which go to LDS in no other way",
        {"transfer"}},
       {"direct-to-vgpr",
        ReadsGemm::one_of(
            &GemmAsked::direct,
            {{"none", GemmSpec::Direct::none}, {"a", GemmSpec::Direct::a}, {"b", GemmSpec::Direct::b}}),
        "auto",
        "an operand that is loaded directly to VGPRs, past LDS",
        "none",
        "",
        {"direct"}},
       {"stages", ReadsGemm::number(&GemmAsked::stages, 0, 4), "auto", "stages of a tile in LDS: 2, 3, 4",
        "0", "0: as many as memory latency asks for and LDS has room for"},
       {"n-multiple", ReadsGemm::number(&GemmAsked::multiple_n, 1, 4096), "auto", "n is a multiple of this",
        "1", "8 enables 16-byte stores of a C of 16 bits, in one version"},
       {"tile-order",
        ReadsGemm::parsed(
            &GemmAsked::order, "linear, xcd, rows:G, columns:G, xcd+rows:G, xcd+columns:G",
            [](const GemmAsked&, const std::string& text) { return codegen::parse_tile_order(text); }),
        "auto", "which workgroup has which tile", "linear",
        "auto: the order with the smallest footprint in the L2 caches for m and n"},
       {"stagger", ReadsGemm::yes(&GemmAsked::stagger), "auto",
        "half of the waves run a copy of the loop that is some MFMAs apart", "no",
        "the upper half of the waves accesses LDS and memory some MFMAs later or earlier"},
       {"pingpong", ReadsGemm::yes(&GemmAsked::pingpong), "auto",
        "half of the waves multiply while the others read LDS", "no",
        "with 8 waves and direct-to-LDS loads, in phases with a barrier after each"},
       {"split", ReadsGemm::number(&GemmAsked::split, 0, 1 << 20), "auto",
        "split-K: elements of K that a workgroup sums; 0: all of them", "0", "a multiple of the tile's"},
       {"split-k-fixup",
        ReadsGemm::yes(&GemmAsked::gather),
        "auto",
        "with split: parts are stored, and summed by the last workgroup of a tile",
        "no",
        "the same bits in every run; no: parts are added to C by atomics, so C is 0 before the launch\n"
        "auto takes forms of the second kind only where no is given; a C of 16 bits is rounded at each part: "
        "at most 8",
        {"parts", {{"stored", "yes"}, {"added", "no"}}}},
       {"split-k-at-once", ReadsGemm::number(&GemmAsked::at_once, 1, 8), "auto",
        "with split-k-fixup: parts that are loaded and summed together", "1",
        "each takes as many registers as a workgroup's tile of C"},
       {"stream-k-workgroups",
        ReadsGemm::number(&GemmAsked::workers, 0, 1 << 16),
        "0",
        "stream-K: so many workgroups share all iterations evenly; 0: a workgroup has a tile",
        "",
        "as many as the device runs at a time; parts are added by atomics, so C is 0 before the launch",
        {"stream-k"}},
       {"deterministic", ReadsGemm::parsed(&GemmAsked::same, "no, yes, batch", same_bits), "no",
        "the same bits in every launch and beside any rows", "",
        "yes: proved, or refused (parts that are added by atomics, stream-K); auto chooses among such forms\n"
        "batch: and from builds for any m: K in tiles of 128 bytes, and in parts only as --split says"},
       {"pin",
        ReadsGemm::parsed(
            &GemmAsked::pins, "'load a 0 after 5, ..'",
            [](const GemmAsked&, const std::string& text) { return codegen::parse_pins(text); }),
        "", "fixed places in the order of the loop", "",
        "'load a 0 after 5, read lds_b 3 after 17': the number of the access and of the MFMA"},
       {"pipeline",
        ReadsGemm::parsed(
            &GemmAsked::depth, "'waves 1, lead 5, ..'",
            [](const GemmAsked&, const std::string& text) { return codegen::parse_depth(text); }),
        "", "software pipeline of the loop", "",
        "any of these, separated by commas\n"
        "waves W: registers are to suffice for W waves a SIMD\n"
        "lead L: LDS reads are L windows before their MFMAs\n"
        "within P: LDS reads and direct-to-LDS loads are in the first P percent of an iteration\n"
        "trips T: loads are under way for T iterations\n"
        "loads P: loads past LDS are in the first P percent of a window\n"
        "barriers B: with two stages of direct-to-LDS loads, barriers an iteration: 1, 2 (tiles apart), "
        "3 (each operand read into the registers of the one before)"}});
  return {pre ? "the same with B stored in the order of the registers that multiply it"
              : "C[M,N] = A[M,K] x B[N,K]^T, f16, bf16, f32, fp8, bf8, with MX scales fp4, fp6 and fp8 "
                "(accumulated in f32), f64 or i8 (i32)",
          std::move(options),
          [=](const GemmAsked& asked, const BuildOptions& how) {
            GemmSpec spec = asked;
            spec.preshuffled_b = pre;
            spec.k_most = k_most(asked);
            return build_asked(name, spec, asked.same, how);
          },
          [=](const GemmAsked& asked, std::uint64_t seed) {
            GemmSpec spec = asked;
            spec.preshuffled_b = pre;
            spec.k_most = k_most(asked);
            return asked.groups.empty() ? gemm_problem(spec, asked.m, asked.n, asked.k, seed, asked.pads)
                                        : gemm_problem(spec, asked.groups, seed, asked.pads);
          },
          {"m", "n", "k"},
          [](const GemmAsked& asked) {
            std::vector<std::int64_t> sizes = gemm_sizes(asked, asked.m, asked.n, asked.k, asked.pads);
            if (!asked.groups.empty()) sizes.push_back(static_cast<std::int64_t>(asked.groups.size()));
            return sizes;
          },
#ifdef INLAY_VALIDATE // the cycle model is there
          [=](const GemmAsked& asked, const Flags& fixed) {
            GemmSpec spec = asked;
            spec.preshuffled_b = pre;
            return of_groups(of_order(gemm_candidates(spec, fixed, asked.m, asked.n, asked.k), asked, fixed),
                             asked);
          },
          [=](const GemmAsked& asked) {
            GemmSpec spec = asked;
            spec.preshuffled_b = pre;
            std::int64_t rows = asked.groups.empty() ? asked.m : 0; // in tiles of their own
            for (const auto& g : asked.groups) rows += (g[0] + spec.tile_m - 1) / spec.tile_m * spec.tile_m;
            return gemm_bound(spec, rows, asked.n, asked.k);
          },
          [=](const GemmAsked& asked, Flags& form) {
            if (!asked.groups.empty()) return;
            form["tile-order"] = codegen::to_string(gemm_order(asked, asked.m, asked.n));
          }
#endif
  };
}

} // namespace

std::unique_ptr<Kernel> gemm_kernel() { return kernel_of(face(false)); }
std::unique_ptr<Kernel> preshuffle_gemm_kernel() { return kernel_of(face(true)); }

} // namespace inlay::kernels
