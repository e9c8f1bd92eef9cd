// `gemm` and `preshuffle_gemm` on the command line: what is asked, turned into the specification and sizes of gemm/spec.h.
#include "../kernels.h"
#include "asked.h"

#include <inlay/codegen/sum_order.h>
#include <inlay/kernels/build.h>

#include <algorithm>

namespace inlay::kernels {
namespace {

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

Face<GemmAsked> face(bool pre) {
  const std::string name = pre ? "preshuffle_gemm" : "gemm";
  std::vector<Option<GemmAsked>> options = options_of_values(pre);
  for (auto* const more : {options_of_sizes, options_of_form})
    for (Option<GemmAsked>& row : more(pre)) options.push_back(std::move(row));
  return {pre ? "the same with B stored in the order of the registers that multiply it"
              : "C[M,N] = A[M,K] x B[N,K]^T, f16, bf16, f32, fp8, bf8, with MX scales fp4, fp6 and fp8 "
                "(accumulated in f32), f64 or i8 (i32)",
          {name, std::move(options)},
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
