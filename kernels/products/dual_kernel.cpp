// `dual_gemm` on the command line, and its judge.
#include "dual.h"

namespace inlay::kernels {
namespace {

// |act(a)| <= |a|, and its slope is at most 1.2.
std::vector<Judged> dual_reference(const DualAsked& s, const Workload& w, const Results&) {
  Judged y{
      "y", {}, {}, "4.8 K 2^-24 sum |x g| sum |x u| + the error of each f32 operation after them + u |y|"};
  const Formulas f = formula(s);
  const auto m = static_cast<Eigen::Index>(s.m), n = static_cast<Eigen::Index>(s.n),
             k = static_cast<Eigen::Index>(s.k);
  const Eigen::Map<const Matrix> x(w.values("x").data(), m, k), wg(w.values("gate").data(), n, k),
      wu(w.values("up").data(), n, k);
  const Matrix gate = x * wg.transpose(), up = x * wu.transpose(),
               of_gate = x.cwiseAbs() * wg.cwiseAbs().transpose(),
               of_up = x.cwiseAbs() * wu.cwiseAbs().transpose();
  const double error = 4.8 * static_cast<double>(k) * u32;
  for (Eigen::Index i = 0; i < gate.size(); ++i) {
    const std::vector<double> operands = {gate.data()[i], up.data()[i]};
    y.value.push_back(defined(f, operands)[0]);
    const double within = error * of_gate.data()[i] * of_up.data()[i] + carried(f, operands)[0].error;
    y.bound.push_back(within + rounding(s.out, std::abs(y.value.back()) + within));
  }
  return {y};
}

} // namespace

std::unique_ptr<Kernel> dual_gemm_kernel() {
  using Read = Reads<DualAsked>;
  Page<DualAsked> page{
      .summary = "Y[M,N] = act(X G^T) * (X U^T), the up-projection of a gated feed-forward layer "
                 "(SwiGLU), f16 or bf16",
      .options =
          {"dual_gemm",
           {arch_option<DualAsked>(),
            {"dtype", Read::element(&DualAsked::type, "f16, bf16"), "bf16", "of X and of both matrices"},
            {"out", Read::element(&DualAsked::out, "f16, bf16, f32"), "bf16", "of Y"},
            {"act",
             Read::one_of(&DualAsked::act, {{"silu", std::string("silu")},
                                            {"gelu", std::string("gelu")},
                                            {"gelu_tanh", std::string("gelu_tanh")},
                                            {"relu", std::string("relu")}}),
             "silu", "of the first product; gelu is that of erf"},
            {"m", Read::number(&DualAsked::m, 1, 1 << 24), "128", "rows of X"},
            {"n", Read::number(&DualAsked::n, 1, 1 << 20), "128", "rows of each matrix, a multiple of 4"},
            {"k", Read::number(&DualAsked::k, 1, 1 << 16), "256",
             "columns of X and of both matrices, a multiple of 8"},
            {"tile", Read::product("128x64x64", &DualAsked::tile_m, &DualAsked::tile_n, &DualAsked::tile_k),
             "auto", "rows and columns of a workgroup, and a step along K", "128x64x64"},
            {"waves", Read::product("2x2", &DualAsked::waves_m, &DualAsked::waves_n), "auto",
             "waves along M and N", "2x2"},
            direct_to_lds_option<DualAsked>(&DualAsked::transfer)}},
      .program = dual_program,
      .sizes = members(&DualAsked::m, &DualAsked::n, &DualAsked::k),
      .size_names = {"m", "n", "k"},
      .reference = dual_reference,
      .text =
          [](const DualAsked& s) {
            return fmt::format("Y[{0},{1}] = {3}(X[{0},{2}] x G[{1},{2}]^T) * (X x U^T), {4} -> {5}", s.m,
                               s.n, s.k, s.act, to_string(s.type), to_string(s.out));
          },
      .candidates =
          [](const DualAsked&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const auto& [tile, waves] : {std::pair("128x64x64", "2x2"),
                                              {"256x128x64", "2x4"},
                                              {"256x128x32", "2x4"},
                                              {"128x128x64", "2x2"},
                                              {"64x64x64", "2x2"},
                                              {"64x32x64", "2x2"},
                                              {"32x32x128", "2x2"}})
              for (const char* transfer : {"no", "yes"}) {
                add_candidate(all, {{"tile", tile}, {"waves", waves}, {"direct-to-lds", transfer}}, fixed);
              }
            return all;
          },
      .bound =
          [](const DualAsked& s) {
            check_dual(s, Target::named(s.arch));
            const double trips = static_cast<double>(up(s.k, s.tile_k)),
                         products = 2.0 * s.tile_m * s.tile_n * s.tile_k /
                                    products_per_clock(s.arch, machine::Operand::f16),
                         moved = s.stage_bytes() / (s.transfer ? 64.0 : 48.0);
            return rounds(s.arch, up(s.m, s.tile_m) * up(s.n, s.tile_n), s.threads() > 256 ? 1 : 2) *
                   (3000 + trips * (100 + std::max(products, moved)));
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
