// Products of many matrices: C[b,m,n] = sum_k A[b,m,k] B[b,n,k].
#include "../lds_swizzle.h"
#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Atom;
using codegen::MmaTiling;

struct Asked {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16, out = Element::bf16;
  std::int64_t b = 4, m = 128, n = 128, k = 256;
  int tile = 64;
};

// [batched_gemm]
Program program(const Asked& s) {
  if (s.type != Element::f16 && s.type != Element::bf16)
    throw std::invalid_argument(
        fmt::format("batched_gemm: --dtype {}\n  hint   f16 or bf16", to_string(s.type)));
  if (s.tile != 32 && s.tile != 64 && s.tile != 128)
    throw std::invalid_argument(fmt::format("batched_gemm: --tile {}\n  hint   32, 64 or 128", s.tile));
  const Target& target = Target::named(s.arch);
  const int tile = s.tile, deep = 64;
  const MmaTiling mma =
      MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), 2, 2, tile, tile, deep, 8);
  Program k("batched_gemm", target, mma.threads());
  const Sym B = k.size("b", {.most = 65535}), M = k.size("m", {.most = 1 << 16}),
            N = k.size("n", {.most = 1 << 16, .multiple = 4}),
            K = k.size("k", {.most = 1 << 16, .multiple = 8});
  const Tensor C = k.output("c", s.out, {B, M, N}), A = k.input("a", s.type, {B, M, K}),
               X = k.input("x", s.type, {B, N, K});
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) { return k(A, {c[0], c[1], i}) * k(X, {c[0], c[2], i}); });
  });
  const Sym bn = k.workgroups(0, N, tile), bm = k.workgroups(1, M, tile), batch = k.workgroups(2, B, 1);
  const Layout rows = codegen::rows_tv(tile, deep, 8, mma.threads());
  const Tensor a = conflict_free_tile(k, "lds_a", s.type, tile, deep, 8, rows, mma.a()),
               x = conflict_free_tile(k, "lds_x", s.type, tile, deep, 8, rows, mma.b());
  const Fragment acc = k.zeros(Element::f32, mma.c(), {tile, tile});
  k.loop(K, deep, {.distance = 2, .ring = 2}, [&](Sym t) {
    k.copy(k.tile(A, {1, tile, deep}, {batch, bm, t}).keep({1, 2}), a, rows, 8);
    k.copy(k.tile(X, {1, tile, deep}, {batch, bn, t}).keep({1, 2}), x, rows, 8);
    const Fragment of_a = k.read(a, mma.a(), 8), of_x = k.read(x, mma.b(), 8);
    k.mma(acc, of_a, of_x, mma);
  });
  k.store(acc, k.tile(C, {1, tile, tile}, {batch, bm, bn}).keep({1, 2}), 4);
  return k;
}
// [batched_gemm end]

std::vector<Judged> reference(const Asked& s, const Workload& w, const Results&) {
  Judged c{"c", {}, {}, "2 K 2^-24 sum |a x| + u |c|"};
  const auto m = static_cast<Eigen::Index>(s.m), n = static_cast<Eigen::Index>(s.n),
             k = static_cast<Eigen::Index>(s.k);
  for (std::int64_t b = 0; b < s.b; ++b) {
    const Eigen::Map<const Matrix> a(w.values("a").data() + b * m * k, m, k),
        x(w.values("x").data() + b * n * k, n, k);
    const Matrix value = a * x.transpose(), size = a.cwiseAbs() * x.cwiseAbs().transpose();
    for (Eigen::Index i = 0; i < value.size(); ++i) {
      c.value.push_back(value.data()[i]);
      c.bound.push_back(2.0 * static_cast<double>(k) * u32 * size.data()[i] +
                        rounding(s.out, value.data()[i]));
    }
  }
  return {c};
}

} // namespace

std::unique_ptr<Kernel> batched_gemm_kernel() {
  using Read = Reads<Asked>;
  Page<Asked> page{
      .summary = "C[b,M,N] = A[b,M,K] x X[b,N,K]^T for many matrices at once, f16 or bf16",
      .options = {"batched_gemm",
                  {arch_option<Asked>(),
                   {"dtype", Read::element(&Asked::type, "f16, bf16"), "bf16", "element type of A and X"},
                   {"out", Read::element(&Asked::out, "f16, bf16, f32"), "bf16", "element type of C"},
                   {"b", Read::number(&Asked::b, 1, 65535), "4", "matrices"},
                   {"m", Read::number(&Asked::m, 1, 1 << 16), "128", "rows of A"},
                   {"n", Read::number(&Asked::n, 1, 1 << 16), "128", "rows of X, a multiple of 4"},
                   {"k", Read::number(&Asked::k, 1, 1 << 16), "256", "columns of A and X, a multiple of 8"},
                   {"tile", Read::number(&Asked::tile, 1, 256), "auto",
                    "rows and columns of a workgroup: 32, 64 or 128", "64"}}},
      .program = program,
      .sizes =
          [](const Asked& s) {
            return std::vector{s.b, s.m, s.n, s.k};
          },
      .size_names = {"b", "m", "n", "k"},
      .reference = reference,
      .text =
          [](const Asked& s) {
            return fmt::format("C[{0},{1},{2}] = A[{0},{1},{3}] x X[{0},{2},{3}]^T, {4} -> {5}", s.b, s.m,
                               s.n, s.k, to_string(s.type), to_string(s.out));
          },
      .candidates =
          [](const Asked&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const char* tile : {"32", "64", "128"})
              if (!fixed.contains("tile") || fixed.at("tile") == tile) all.push_back({{"tile", tile}});
            return all;
          },
      .bound =
          [](const Asked& s) {
            const double trips = static_cast<double>(up(s.k, 64)),
                         trip =
                             200 + s.tile * s.tile * 64.0 / products_per_clock(s.arch, machine::Operand::f16);
            return rounds(s.arch, s.b * up(s.m, s.tile) * up(s.n, s.tile), 2) * (3000 + trips * trip);
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
