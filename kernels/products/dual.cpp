// Two products of the same rows, one through an activation times the other: the up-projection of a gated feed-forward layer.
#include "../map/lowered.h"
#include "../page.h"
#include "../staged.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Atom;
using codegen::MmaTiling;

struct DualAsked {
  std::string arch{codegen::usual_target}, act = "silu";
  Element type = Element::bf16, out = Element::bf16;
  std::int64_t m = 128, n = 128, k = 256;
  int tile_m = 128, tile_n = 64, tile_k = 64, waves_m = 2, waves_n = 2;
  bool transfer = false;
  [[nodiscard]] int threads() const { return 64 * waves_m * waves_n; }
  [[nodiscard]] int stage_bytes() const { return (tile_m + 2 * tile_n) * tile_k * codegen::bits(type) / 8; }
};

constexpr int v = 8; ///< elements of 16 bytes

Formulas formula(const DualAsked& s) { return parse_formulas("y = " + s.act + "(a) * b"); }

void check(const DualAsked& s, const Target& target) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("dual_gemm: {}\n  hint   {}", what, hint));
  };
  if (s.type != Element::f16 && s.type != Element::bf16)
    refuse(fmt::format("--dtype {}", to_string(s.type)), "f16 or bf16");
  const int waves = s.waves_m * s.waves_n, rows = s.transfer ? 4 * waves : s.threads() * v / s.tile_k;
  if (waves != 1 && waves != 2 && waves != 4 && waves != 8)
    refuse(fmt::format("--waves {}x{}", s.waves_m, s.waves_n), "1, 2, 4 or 8 altogether");
  if (s.tile_k != 32 && s.tile_k != 64 && s.tile_k != 128)
    refuse(fmt::format("--tile {}x{}x{}", s.tile_m, s.tile_n, s.tile_k), "32, 64 or 128 of K");
  for (const auto& [tile, along] : {std::pair(s.tile_m, s.waves_m), std::pair(s.tile_n, s.waves_n)})
    if (tile < 1 || tile > 256 || tile % (16 * along) != 0 || tile % std::max(rows, 1) != 0)
      refuse(fmt::format("--tile {}x{}x{} with --waves {}x{}", s.tile_m, s.tile_n, s.tile_k, s.waves_m,
                         s.waves_n),
             fmt::format("rows and columns in multiples of {}, at most 256", std::lcm(16 * along, rows)));
  if (const int sums = 2 * s.tile_m * s.tile_n / s.threads(); sums > 256)
    refuse(fmt::format("--tile {}x{}x{}", s.tile_m, s.tile_n, s.tile_k),
           fmt::format("a work-item would have {} sums, at most 256; more waves or a smaller tile", sums));
  if (2 * s.stage_bytes() > target.lds_bytes)
    refuse(fmt::format("--tile {}x{}x{}", s.tile_m, s.tile_n, s.tile_k),
           fmt::format("two stages take {} bytes of LDS, and {} has {}", 2 * s.stage_bytes(), s.arch,
                       target.lds_bytes));
}

// One tile of X, read once, for both products.
// [dual_gemm]
Program dual_program(const DualAsked& s) {
  const Target& target = Target::named(s.arch);
  check(s, target);
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), s.waves_m,
                                      s.waves_n, s.tile_m, s.tile_n, s.tile_k, v);
  Program k("dual_gemm", target, mma.threads());
  const Sym M = k.size("m"), N = k.size("n", {.most = 1 << 20, .multiple = 4}),
            K = k.size("k", {.most = 1 << 16, .multiple = v});
  const Tensor Y = k.output("y", s.out, {M, N}), X = k.input("x", s.type, {M, K}),
               Wg = k.input("gate", s.type, {N, K}), Wu = k.input("up", s.type, {N, K});
  const Formulas f = formula(s);
  const auto gated = [&](const Exprs& x) {
    return lowered<Expr>(
        f, x, [&](double c, bool = false) { return k.constant(c); }, [](Expr e, double) { return e; })[0];
  };
  k.computes(Y, [&](const auto& c) {
    const auto product = [&](const Tensor& w) {
      return k.sum(K, [&](Sym i) { return k(X, {c[0], i}) * k(w, {c[1], i}); });
    };
    return gated({product(Wg), product(Wu)});
  });

  const Sym bn = k.workgroups(0, N, s.tile_n), bm = k.workgroups(1, M, s.tile_m);
  const Staged staged{s.type, s.tile_k, v, s.threads(), s.transfer};
  const Tensor x = staged.tile(k, "lds_x", s.tile_m, mma.a()),
               gate = staged.tile(k, "lds_gate", s.tile_n, mma.b()),
               up = staged.tile(k, "lds_up", s.tile_n, mma.b());
  const Fragment g = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n}),
                 u = k.zeros(Element::f32, mma.c(), {s.tile_m, s.tile_n});
  k.loop(K, s.tile_k, {.distance = 2, .ring = 2}, [&](Sym t) {
    staged.copy(k, k.tile(X, {s.tile_m, s.tile_k}, {bm, t}), x, s.tile_m);
    staged.copy(k, k.tile(Wg, {s.tile_n, s.tile_k}, {bn, t}), gate, s.tile_n);
    staged.copy(k, k.tile(Wu, {s.tile_n, s.tile_k}, {bn, t}), up, s.tile_n);
    const Fragment of_x = k.read(x, mma.a(), v), of_gate = k.read(gate, mma.b(), v),
                   of_up = k.read(up, mma.b(), v);
    k.mma(g, of_x, of_gate, mma);
    k.mma(u, of_x, of_up, mma);
  });
  k.store(k.map({g, u}, gated, s.out), k.tile(Y, {s.tile_m, s.tile_n}, {bm, bn}), 4);
  return k;
}
// [dual_gemm end]

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
      .sizes =
          [](const DualAsked& s) {
            return std::vector{s.m, s.n, s.k};
          },
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
            check(s, Target::named(s.arch));
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
