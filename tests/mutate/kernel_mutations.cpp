// One place of a kernel's code changed, again and again: either a claim is refuted, or the code still computes its
// specification. The second is decided by tokens.h, which shares nothing with the claims.
//
//   kernel_mutations [--sample N] [--seed S] [--only KERNEL] [--verbose]
//
// For each change: `caught` (refuted; tokens wrong), `cautious` (refuted; tokens right for every size and schedule tried),
// `harmless` (not refuted, tokens right: the change means nothing), `MISSED` (not refuted, tokens wrong: a wrong proof).
// The last line is `caught X of N`, N being the changes that the tokens or the claims object to. Exit 1 when anything is missed, or
// when a kernel as it is is refuted or wrong.
#include "../../kernels/attention/backward.h"
#include "../../kernels/attention/paged.h"
#include "../../kernels/attention/prefill.h"
#include "../../kernels/convolution/convolution.h"
#include "../../kernels/moe/grouped.h"
#include "../../kernels/recurrent/gated_delta_chunk.h"
#include "../../kernels/recurrent/gated_delta_step.h"
#include "../../kernels/routing/gating.h"
#include "judge.h"
#include "sampling.h"

#include <inlay/codegen/schedule.h>
#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/block_scale/spec.h>
#include <inlay/kernels/cumsum/spec.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/moe/spec.h>
#include <inlay/kernels/rope/spec.h>
#include <inlay/kernels/rows/spec.h>
#include <inlay/kernels/weight_only/spec.h>

#include <iostream>
#include <random>
#include <string>

using namespace inlay;
using namespace inlay::codegen;
using namespace inlay::mutate;

namespace {

struct Subject {
  std::string name;
  Program program;
  std::vector<Sizes> sizes;
  Scheduler scheduler = Scheduler::plain;
};

// Rows that replace others where a table says: by a number of the workgroup, or eight through registers; in two parts.
Program put(bool registers) {
  const int rows = registers ? 8 : 1, threads = 64 * (registers ? 2 : 1);
  Program k("put", Target::named("gfx942"), threads);
  const Sym t = k.size("t", {.most = 1 << 20, .multiple = rows}), v = k.size("rows", {.most = 1 << 16}),
            n = k.size("n", {.most = 1 << 8, .multiple = 128});
  const Tensor y = k.inout("y", Element::f32, {v, n}), x = k.input("x", Element::f32, {t, n}),
               ids = k.input("ids", Element::i32, {t}), w = k.input("w", Element::f32, {t, Sym(1)});
  k.puts(y, ids, [&](const auto& c) { return k(x, {c[0], c[1]}) * k(w, {c[0], 0}); });
  const Sym entries = k.workgroups(0, t, rows), part = k.workgroups(1, n, 128);
  for (const int half : {0, 1}) {
    const Layout tv = rows_tv(rows, 64, registers ? 4 : 1, threads), row = without_axis(tv, 1);
    const Sym column = Sym(2) * part + Sym(half);
    const int vector = registers ? 4 : 1;
    const Fragment of = k.load(k.tile(x, {rows, 64}, {entries, column}), tv, vector),
                   weight = k.load(k.tile(w, {rows, 1}, {entries, 0}), row, 1);
    View to = k.tile(y, {rows, 64}, {registers ? Sym(0) : k.uniform(ids, entries), column});
    if (registers) to = to.through(0, k.load(k.tile(ids, {rows}, {entries}), row, 1));
    k.store(k.map({of, weight}, [](const auto& a) { return a[0] * a[1]; }), to, vector);
  }
  return k;
}

std::vector<Subject> subjects() {
  std::vector<Subject> out;
  out.push_back({"rows put by a number", put(false), {{5, 7, 128}, {9, 3, 256}}});
  out.push_back({"rows put by registers", put(true), {{8, 20, 128}, {16, 5, 256}}});
  for (const bool pre : {false, true}) {
    kernels::GemmSpec spec;
    spec.preshuffled_b = pre;
    spec.tile_m = 32, spec.tile_n = 32, spec.tile_k = 32;
    spec.waves_m = pre ? 1 : 2, spec.waves_n = pre ? 2 : 1;
    // One tile of K, two, three and four; ragged in each direction.
    out.push_back({pre ? "preshuffle_gemm" : "gemm", kernels::gemm_program(spec),
                   pre ? std::vector<Sizes>{{33, 16, 32}, {20, 32, 96}, {7, 16, 64}}
                       : std::vector<Sizes>{{33, 30, 24}, {20, 32, 104}, {7, 31, 40}}});
  }
  // The same in an order of the modulo scheduler, through registers and past them.
  for (const bool transfer : {false, true}) {
    kernels::GemmSpec spec;
    spec.transfer = transfer;
    spec.arch = transfer ? "gfx950" : "gfx942";
    spec.tile_m = 32, spec.tile_n = 32, spec.tile_k = 32;
    spec.waves_m = 2, spec.waves_n = 1;
    out.push_back({transfer ? "gemm, transfers" : "gemm, modulo",
                   kernels::gemm_program(spec),
                   {{33, 30, 24}, {20, 32, 168}, {7, 31, 40}},
                   Scheduler::modulo});
  }
  kernels::GemmSpec parts;
  parts.tile_m = 32, parts.tile_n = 32, parts.tile_k = 32;
  parts.waves_m = 2, parts.waves_n = 1;
  parts.out = Element::f32;
  parts.split = 64;
  out.push_back({"gemm in parts", kernels::gemm_program(parts), {{33, 30, 24}, {20, 32, 168}, {7, 31, 72}}});
  for (const bool transfer :
       {false, true}) { // Shares of all tiles: whole ones and parts, one workgroup without any
    kernels::GemmSpec spec = parts;
    spec.split = 0, spec.workers = 3;
    spec.transfer = transfer;
    spec.arch = transfer ? "gfx950" : "gfx942";
    out.push_back({transfer ? "gemm by shares, transfers" : "gemm by shares",
                   kernels::gemm_program(spec),
                   {{33, 30, 24}, {70, 32, 104}, {7, 31, 72}},
                   transfer ? Scheduler::modulo : Scheduler::plain});
  }
  { // Stored, and summed by the workgroup that comes last
    kernels::GemmSpec spec = parts;
    spec.out = Element::f16, spec.gather = true;
    out.push_back(
        {"gemm in stored parts", kernels::gemm_program(spec), {{33, 28, 24}, {20, 32, 168}, {7, 32, 136}}});
  }
  { // The same in 16 bits, added in pairs
    kernels::GemmSpec spec = parts;
    spec.out = Element::f16;
    out.push_back(
        {"gemm in parts of f16", kernels::gemm_program(spec), {{33, 30, 24}, {20, 32, 168}, {7, 32, 72}}});
  }
  for (const bool in_place : {false, true}) { // D = alpha A B^T + beta C
    kernels::GemmSpec spec;
    spec.tile_m = 32, spec.tile_n = 32, spec.tile_k = 32;
    spec.waves_m = 2, spec.waves_n = 1;
    spec.out = Element::f32;
    spec.alpha = true, spec.bias = !in_place;
    spec.added = in_place ? kernels::GemmSpec::Added::in_place : kernels::GemmSpec::Added::apart;
    out.push_back({in_place ? "gemm, beta D" : "gemm, beta C",
                   kernels::gemm_program(spec),
                   {{33, 30, 24}, {20, 32, 104}, {7, 31, 40}}});
  }
  { // act(alpha A B^T + bias + row_bias) + residual
    kernels::GemmSpec spec;
    spec.tile_m = 32, spec.tile_n = 32, spec.tile_k = 32;
    spec.waves_m = 2, spec.waves_n = 1;
    spec.activation = kernels::GemmSpec::Activation::silu;
    spec.bias = spec.row_bias = spec.residual = true;
    out.push_back(
        {"gemm, activation", kernels::gemm_program(spec), {{33, 30, 24}, {20, 32, 104}, {7, 31, 40}}});
  }
  { // Tiles in another order, and columns in the order of 16-byte stores.
    kernels::GemmSpec spec;
    spec.tile_m = 32, spec.tile_n = 64, spec.tile_k = 32;
    spec.waves_m = 1, spec.waves_n = 2;
    spec.order = parse_tile_order("xcd+rows:2");
    out.push_back({"gemm, ordered", kernels::gemm_program(spec), {{97, 130, 24}, {70, 64, 40}, {7, 31, 40}}});
  }
  for (const bool pre :
       {false, true}) { // 4-bit elements with scales of 32 k; the second with a ragged last tile
    kernels::GemmSpec spec;
    spec.arch = "gfx950";
    spec.in = Element::e2m1, spec.out = Element::bf16;
    spec.preshuffled_b = pre;
    spec.tile_m = pre ? 32 : 64, spec.tile_n = pre ? 64 : 32, spec.tile_k = pre ? 512 : 256;
    spec.waves_m = pre ? 1 : 2, spec.waves_n = pre ? 2 : 1;
    out.push_back({pre ? "preshuffled mxfp4" : "mxfp4", kernels::gemm_program(spec),
                   pre ? std::vector<Sizes>{{3, 16, 256}, {2, 48, 768}}
                       : std::vector<Sizes>{{35, 30, 256}, {20, 5, 512}},
                   pre ? Scheduler::modulo : Scheduler::plain});
  }
  { // 6-bit elements
    kernels::GemmSpec spec;
    spec.arch = "gfx950";
    spec.in = Element::e2m3, spec.out = Element::bf16, spec.transfer = true;
    spec.tile_m = 64, spec.tile_n = 32, spec.tile_k = 256;
    spec.waves_m = 2, spec.waves_n = 1;
    out.push_back({"mxfp6", kernels::gemm_program(spec), {{35, 30, 256}, {20, 5, 512}}});
  }
  for (const Element type :
       {Element::f32, Element::f64, Element::e4m3fn}) { // wider ones, and scales of 32 k of 8 bits
    kernels::GemmSpec spec;
    const bool narrow = type == Element::e4m3fn;
    spec.arch = narrow ? "gfx950" : "gfx942";
    spec.in = type, spec.block_scales = narrow;
    spec.out = narrow ? Element::bf16 : type;
    spec.tile_m = narrow ? 64 : 32, spec.tile_n = 32;
    spec.tile_k = narrow ? 256 : type == Element::f64 ? 8 : 16;
    spec.waves_m = 2, spec.waves_n = 1;
    spec.alpha = !narrow;
    out.push_back({narrow ? "mxfp8" : "gemm of " + to_string(type), kernels::gemm_program(spec),
                   narrow ? std::vector<Sizes>{{35, 30, 256}, {20, 5, 512}}
                          : std::vector<Sizes>{{33, 30, 12}, {20, 32, 52}, {7, 31, 20}}});
  }
  kernels::RowSpec rows;
  rows.threads = 128;
  rows.vectors = 2;
  out.push_back({"softmax", kernels::softmax_program(rows), {{2, 8}, {1, 1048}}});
  out.push_back({"rmsnorm", kernels::rmsnorm_program(rows), {{2, 8}, {1, 1048}}});
  out.push_back({"silu_and_mul", kernels::silu_and_mul_program(rows), {{2, 8}, {1, 2056}}});
  rows.streamed = true;
  out.push_back({"softmax, streamed", kernels::softmax_program(rows), {{2, 8}, {1, 5000}}});
  out.push_back({"layernorm, streamed", kernels::layernorm_program(rows), {{2, 8}, {1, 5000}}});
  rows.streamed = false;
  rows.residual = true;
  out.push_back({"layernorm", kernels::layernorm_program(rows), {{2, 8}, {1, 1048}}});
  rows.quantised = Element::i8;
  out.push_back({"layernorm, quantised", kernels::layernorm_program(rows), {{2, 8}, {1, 1048}}});
  kernels::CumsumSpec cumsum;
  cumsum.rows = 3;
  out.push_back({"cumsum", kernels::cumsum_program(cumsum), {{9, 520}, {3, 64}}});
  kernels::RopeSpec rope;
  rope.head_dim = 32, rope.threads = 64;
  out.push_back({"rope", kernels::rope_program(rope), {{2, 33, 5}, {3, 7, 1}}});
  rope.in_place = true;
  out.push_back({"rope in place", kernels::rope_program(rope), {{2, 33, 5}, {3, 7, 1}}});
  kernels::MoeSpec moe;
  moe.tile_m = moe.tile_n = moe.tile_k = 32;
  moe.waves_n = 1;
  out.push_back({"moe_stage1", kernels::moe_stage1_program(moe), {{5, 40, 40, 3, 33}, {3, 96, 8, 2, 70}}});
  out.push_back({"moe_stage2", kernels::moe_stage2_program(moe), {{5, 40, 40, 3, 64}, {3, 8, 96, 2, 96}}});
  moe.tile_n = 64, moe.tile_k = 64;
  moe.type = Element::e4m3fnuz, moe.scales = kernels::Scales::row;
  out.push_back(
      {"moe_stage1 of fp8", kernels::moe_stage1_program(moe), {{5, 48, 48, 3, 33}, {3, 160, 16, 2, 70}}});
  moe.scales = kernels::Scales::block;
  out.push_back({"moe_stage2 of fp8 blocks",
                 kernels::moe_stage2_program(moe),
                 {{5, 40, 256, 3, 64}, {3, 136, 128, 2, 96}}});
  moe.arch = "gfx950", moe.type = Element::e2m1, moe.scales = kernels::Scales::mx, moe.waves_m = 1;
  out.push_back(
      {"moe_stage1 of mxfp4", kernels::moe_stage1_program(moe), {{5, 256, 40, 3, 33}, {3, 512, 8, 2, 70}}});
  out.push_back(
      {"moe_stage2 of mxfp4", kernels::moe_stage2_program(moe), {{5, 40, 256, 3, 64}, {3, 8, 512, 2, 96}}});
  kernels::GroupedGemm grouped;
  out.push_back({"grouped_gemm", kernels::grouped_gemm_program(grouped), {{70, 12, 72, 3}, {130, 68, 8, 2}}});
  kernels::GatedDeltaStep delta;
  delta.key = delta.value = delta.columns = 32, delta.threads = 64;
  out.push_back({"gated_delta_step", kernels::gated_delta_step_program(delta), {{2, 4}, {1, 6}}});
  kernels::GatedDeltaChunk
      chunks; // without the inverse and the state, of which one change takes 50 and 8 seconds
  chunks.key = chunks.value = 64;
  out.push_back({"gated_delta_gates", kernels::gated_delta_gates_program(chunks), {{1, 70, 2}, {2, 3, 1}}});
  out.push_back({"gated_delta_keys", kernels::gated_delta_keys_program(chunks), {{1, 70, 2}, {2, 3, 1}}});
  out.push_back({"gated_delta_rows", kernels::gated_delta_rows_program(chunks), {{1, 70, 2}, {2, 3, 2}}});
  out.push_back({"gated_delta_out", kernels::gated_delta_out_program(chunks), {{1, 70, 2}, {2, 3, 2}}});
  kernels::BlockScaleSpec scaled;
  scaled.tile_m = 32;
  scaled.waves_m = 1;
  out.push_back(
      {"block_scale_gemm", kernels::block_scale_gemm_program(scaled), {{33, 16, 256}, {7, 144, 384}}});
  kernels::WeightOnlySpec weights;
  weights.tile_m = weights.tile_n = weights.group = 32;
  weights.waves_m = 1;
  out.push_back(
      {"weight_only_gemm", kernels::weight_only_gemm_program(weights), {{33, 16, 64}, {7, 72, 128}}});
  for (const bool causal : {false, true}) {
    kernels::AttentionSpec attention;
    attention.head_dim = 64;
    attention.waves = causal ? 2 : 1; // the diagonal ends a tile
    attention.tile_q = causal ? 32 : 16;
    attention.tile_k = 32;
    attention.causal = causal;
    attention.group = causal ? 2 : 1;
    out.push_back({causal ? "causal attention" : "attention",
                   kernels::flash_attention_program(attention),
                   {{1, 18, 40, 2}, {1, 3, 70, 2}, {1, 2, 130, 2}}});
  }
  kernels::AttentionBackward gradient;
  gradient.head_dim = 64, gradient.tile = 16, gradient.waves = 1, gradient.causal = true, gradient.group = 2;
  out.push_back({"dq of attention",
                 kernels::attention_backward_program(gradient, false),
                 {{1, 18, 40, 2}, {1, 3, 70, 2}, {1, 50, 33, 2}}});
  out.push_back({"dk and dv of attention",
                 kernels::attention_backward_program(gradient, true),
                 {{1, 36, 40, 1}, {1, 70, 18, 1}, {1, 6, 50, 1}}});
  for (const auto stored : {kernels::GemmSpec::Stored::nn, kernels::GemmSpec::Stored::tn}) {
    kernels::GemmSpec spec; // transposed on its way to LDS
    spec.tile_m = 32, spec.tile_n = 32, spec.tile_k = 32;
    spec.waves_m = 1, spec.waves_n = 1;
    spec.stored = stored;
    out.push_back({stored == kernels::GemmSpec::Stored::nn ? "gemm nn" : "gemm tn",
                   kernels::gemm_program(spec),
                   {{40, 24, 24}, {24, 32, 104}, {8, 40, 40}}});
  }
  kernels::GemmSpec narrow; // 8 bits transposed on their way to LDS, and the greatest magnitudes of rows
  narrow.in = narrow.out = Element::e4m3fnuz;
  narrow.tile_m = 32, narrow.tile_n = 64, narrow.tile_k = 64;
  narrow.waves_m = 2, narrow.waves_n = 1;
  narrow.stored = kernels::GemmSpec::Stored::nn;
  narrow.amax = narrow.bias = true;
  out.push_back({"gemm nn of fp8 with amax", kernels::gemm_program(narrow), {{40, 80, 48}, {3, 48, 144}}});
  kernels::Prefill varlen;
  varlen.head_dim = 64, varlen.tile_q = 16, varlen.waves = 1, varlen.tile_k = 32, varlen.page = 4,
  varlen.group = 2;
  out.push_back({"attention of any lengths",
                 kernels::varlen_attention_program(varlen),
                 {{2, 20, 2, 64, 9}, {1, 5, 2, 32, 20}}});
  varlen.window = 9, varlen.sinks = varlen.alibi = true, varlen.soft_cap = 3;
  out.push_back({"attention of any lengths to a window",
                 kernels::varlen_attention_program(varlen),
                 {{2, 20, 2, 64, 9}, {1, 5, 2, 32, 20}}});
  kernels::PagedDecode window;
  window.head_dim = 64, window.window = 40, window.split = 64, window.page = 4;
  out.push_back(
      {"attention to a window", kernels::paged_decode_program(window), {{2, 1, 128, 9}, {1, 2, 192, 40}}});
  kernels::PagedDecode pages; // parts of two sequences, put together by who comes last
  pages.head_dim = 64, pages.split = 32, pages.page = 4, pages.group = 2;
  out.push_back({"paged_decode", kernels::paged_decode_program(pages), {{2, 1, 64, 20}, {1, 2, 96, 30}}});
  kernels::Gating gating;
  gating.experts = 64, gating.k = 3;
  out.push_back({"topk_gating", kernels::gating_program(gating), {{7}, {33}}});
  kernels::GroupedGating groups;
  groups.experts = 32, groups.groups = 4, groups.of_groups = 2, groups.k = 2, groups.scale = 2.5;
  out.push_back({"grouped_gating", kernels::grouped_gating_program(groups), {{7}, {17}}});
  kernels::Convolution volume;
  volume.volume = true;
  volume.c = 8, volume.t = 2, volume.r = 1, volume.s = 2, volume.tile_m = volume.tile_n = 32;
  volume.pad = volume.pad_d = 1, volume.h = volume.w = volume.d = 3;
  std::vector<std::int64_t> sizes{2};
  for (const auto& a : volume.axes()) sizes.push_back(a.extent);
  for (const auto& a : volume.axes()) sizes.push_back(a.results());
  sizes.push_back(2 * volume.deep_axis().results() * volume.high().results() * volume.wide().results());
  sizes.push_back(12);
  out.push_back({"conv3d", kernels::convolution_program(volume), {sizes}});
  return out;
}

Code code_of(const Subject& s) {
  const Graph graph = expand(s.program);
  return apply(graph, schedule_with(s.scheduler, graph));
}

} // namespace

int main(int argc, char** argv) {
  Sampling how{.sample = 300};
  std::string only;
  CLI::App app("Kernels with one place of their code changed, before the claims and the tokens");
  how.add_to(app);
  app.add_option("--only", only, "A kernel");
  if (const auto status = parse(app, argc, argv)) return *status;
  std::vector<Subject> all = subjects();
  if (!only.empty()) std::erase_if(all, [&](const Subject& s) { return s.name != only; });
  bool sound = true;
  for (const Subject& s : all) {
    const Code code = code_of(s);
    const std::string claim = refuted(code), token = wrong(code, s.sizes);
    if (!claim.empty()) std::cout << s.name << " as it is: refuted: " << claim << "\n", sound = false;
    if (!token.empty()) std::cout << s.name << " as it is: wrong: " << token << "\n", sound = false;
  }
  Random random(how.seed);
  std::size_t tried = 0, caught = 0, cautious = 0, harmless = 0, missed = 0;
  while (tried < static_cast<std::size_t>(how.sample)) {
    Subject& s = all[random() % all.size()];
    // A change of attention, or of a chunk of the delta rule, costs as much as ten of a GEMM.
    const bool slow = s.name.find("attention") != std::string::npos || s.name.find("gated_delta_") == 0;
    if (all.size() > 1 && slow && random() % 4 != 0) continue;
    Code code = code_of(s);
    const std::string what = change(code, random);
    if (what.empty()) continue;
    ++tried;
    const std::string claim = refuted(code), token = wrong(code, s.sizes);
    const char* fate = nullptr;
    if (!claim.empty() && !token.empty()) {
      ++caught, fate = "caught";
    } else if (!claim.empty()) {
      ++cautious, fate = "cautious";
    } else if (token.empty()) {
      ++harmless, fate = "harmless";
    } else {
      ++missed, fate = "MISSED";
    }
    if (how.verbose || fate[0] == 'M')
      std::cout << fate << ": " << s.name << ": " << what << "\n    claim: " << claim
                << "\n    tokens: " << token << "\n";
  }
  std::cout << tried << " changes: " << caught << " caught, " << cautious
            << " refused though the tokens are right, " << harmless << " harmless, " << missed << " missed\n";
  std::cout << "caught " << caught << " of " << caught + missed << "\n";
  return sound && missed == 0 ? 0 : 1;
}
