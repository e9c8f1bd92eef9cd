// Products of many matrices: C[b,m,n] = sum_k A[b,m,k] X[b,n,k], over rows and matrices that may be apart, A or X the same for all.
#include "../page.h"
#include "../places.h"
#include <inlay/kernels/lds_swizzle.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct BatchedAsked {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16, out = Element::bf16;
  std::int64_t b = 4, m = 128, n = 128, k = 256;
  int tile = 64;
  /// Elements between the rows of a matrix (pad), and between one matrix and the next (gap): sizes of the launch, where there are.
  static constexpr const char* distances[] = {"pad_a", "gap_a", "pad_x", "gap_x", "pad_c", "gap_c"};
  std::array<std::optional<std::int64_t>, 6> distance;
  bool same_a = false, same_x = false; ///< a single matrix for all products
};

/// (matrices, rows, columns):(rows (columns + pad) + gap, columns + pad, 1); nothing where there are neither.
std::optional<SymLayout> apart(Sym matrices, Sym rows, Sym columns, const std::optional<Sym>& pad,
                               const std::optional<Sym>& gap) {
  if (!pad && !gap) return {};
  const Sym row = columns + pad.value_or(Sym(0));
  return by_strides({{matrices, rows * row + gap.value_or(Sym(0))}, {rows, row}, {columns, Sym(1)}});
}

// [batched_gemm]
Program batched_program(const BatchedAsked& s) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("batched_gemm: " + what); };
  if (s.type != Element::f16 && s.type != Element::bf16)
    refuse(fmt::format("--dtype {}\n  hint   f16 or bf16", to_string(s.type)));
  if (s.tile != 32 && s.tile != 64 && s.tile != 128)
    refuse(fmt::format("--tile {}\n  hint   32, 64 or 128", s.tile));
  const Target& target = Target::named(s.arch);
  const int tile = s.tile, deep = 64;
  const auto mma = tiling_of(target, s.type, 2, 2, tile, tile, deep);
  Program k("batched_gemm", target, mma.threads());
  const Sym B = k.size("b", {.most = 65535}), M = k.size("m", {.most = 1 << 16}),
            N = k.size("n", {.most = 1 << 16, .multiple = 4}),
            K = k.size("k", {.most = 1 << 16, .multiple = 8});
  std::array<std::optional<Sym>, 6> by;
  for (std::size_t i = 0; i < by.size(); ++i)
    if (s.distance[i])
      by[i] = k.size(BatchedAsked::distances[i], {.least = 0, .most = 1 << 16, .multiple = i < 4 ? 8 : 4});
  const Sym as = s.same_a ? Sym(1) : B, xs = s.same_x ? Sym(1) : B;
  const Tensor C = k.output("c", s.out, {B, M, N}, apart(B, M, N, by[4], by[5])),
               A = k.input("a", s.type, {as, M, K}, apart(as, M, K, by[0], by[1])),
               X = k.input("x", s.type, {xs, N, K}, apart(xs, N, K, by[2], by[3]));
  const auto of = [](bool same, Sym matrix) { return same ? Sym(0) : matrix; };
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) {
      return k(A, {of(s.same_a, c[0]), c[1], i}) * k(X, {of(s.same_x, c[0]), c[2], i});
    });
  });
  const Sym bn = k.workgroups(0, N, tile), bm = k.workgroups(1, M, tile), batch = k.workgroups(2, B, 1);
  const Layout rows = codegen::rows_tv(tile, deep, 8, mma.threads());
  const Tensor a = conflict_free_tile(k, "lds_a", s.type, tile, deep, 8, rows, mma.a()),
               x = conflict_free_tile(k, "lds_x", s.type, tile, deep, 8, rows, mma.b());
  const Fragment acc = k.zeros(Element::f32, mma.c(), {tile, tile});
  k.loop(K, deep, {.distance = 2, .ring = 2}, [&](Sym t) {
    k.copy(k.tile(A, {1, tile, deep}, {of(s.same_a, batch), bm, t}).keep({1, 2}), a, rows, 8);
    k.copy(k.tile(X, {1, tile, deep}, {of(s.same_x, batch), bn, t}).keep({1, 2}), x, rows, 8);
    const Fragment of_a = k.read(a, mma.a(), 8), of_x = k.read(x, mma.b(), 8);
    k.mma(acc, of_a, of_x, mma);
  });
  k.store(acc, k.tile(C, {1, tile, tile}, {batch, bm, bn}).keep({1, 2}), 4);
  return k;
}
// [batched_gemm end]

std::vector<std::int64_t> sizes(const BatchedAsked& s) {
  std::vector out{s.b, s.m, s.n, s.k};
  for (const auto& there : s.distance)
    if (there) out.push_back(*there);
  return out;
}

std::vector<Judged> batched_reference(const BatchedAsked& s, const Workload& w, const Results&) {
  Judged c{"c", {}, {}, "2 K 2^-24 sum |a x| + u |c|"};
  const Eigen::Index m = s.m, n = s.n, k = s.k;
  for (std::int64_t b = 0; b < s.b; ++b) {
    const Eigen::Map<const Matrix> a(w.values("a").data() + (s.same_a ? 0 : b) * m * k, m, k),
        x(w.values("x").data() + (s.same_x ? 0 : b) * n * k, n, k);
    const Matrix value = a * x.transpose(), size = a.cwiseAbs() * x.cwiseAbs().transpose();
    for (Eigen::Index i = 0; i < value.size(); ++i) {
      c.value.push_back(value.data()[i]);
      c.bound.push_back(2.0 * double(k) * u32 * size.data()[i] + rounding(s.out, value.data()[i]));
    }
  }
  return {c};
}

} // namespace

std::unique_ptr<Kernel> batched_gemm_kernel() {
  using Read = Reads<BatchedAsked>;
  std::vector<Option<BatchedAsked>> options{
      arch_option<BatchedAsked>(),
      {"dtype", Read::element(&BatchedAsked::type, "f16, bf16"), "bf16", "element type of A and X"},
      {"out", Read::element(&BatchedAsked::out, "f16, bf16, f32"), "bf16", "element type of C"},
      {"b", Read::number(&BatchedAsked::b, 1, 65535), "4", "matrices"},
      {"m", Read::number(&BatchedAsked::m, 1, 1 << 16), "128", "rows of A"},
      {"n", Read::number(&BatchedAsked::n, 1, 1 << 16), "128", "rows of X, a multiple of 4"},
      {"k", Read::number(&BatchedAsked::k, 1, 1 << 16), "256", "columns of A and X, a multiple of 8"},
      {"same-a", Read::yes(&BatchedAsked::same_a), "no", "one A for all products"},
      {"same-x", Read::yes(&BatchedAsked::same_x), "no", "one X for all products"},
      {"tile", Read::number(&BatchedAsked::tile, 1, 256), "auto",
       "rows and columns of a workgroup: 32, 64 or 128", "64"}};
  for (std::size_t i = 0; i < std::size(BatchedAsked::distances); ++i) {
    std::string name = BatchedAsked::distances[i];
    name[3] = '-';
    const Read distance{
        "no, or 0 to 65536", [=](BatchedAsked& asked, const std::string& text) -> std::string {
          asked.distance[i] = text == "no" ? std::nullopt : number_in(text, 0, 1 << 16);
          return text == "no" || asked.distance[i] ? "" : "is neither no nor a number from 0 to 65536";
        }};
    const std::string help = fmt::format("elements between {} of {}, a size of the launch",
                                         i % 2 == 0 ? "rows" : "the matrices", "AXC"[i / 2]);
    const char* more = i < 4 ? "a multiple of 8" : "a multiple of 4; what lies there stays";
    options.push_back({name, distance, "no", help, "", more});
  }
  Page<BatchedAsked> page{.summary =
                              "C[b,M,N] = A[b,M,K] x X[b,N,K]^T for many matrices at once, f16 or bf16",
                          .options = {"batched_gemm", std::move(options)},
                          .program = batched_program,
                          .sizes = sizes,
                          .size_names = {"b", "m", "n", "k"},
                          .reference = batched_reference};
  page.text = [](const BatchedAsked& s) {
    return fmt::format("C[{0},{1},{2}] = A[{6},{1},{3}] x X[{7},{2},{3}]^T, {4} -> {5}", s.b, s.m, s.n, s.k,
                       to_string(s.type), to_string(s.out), s.same_a ? 1 : s.b, s.same_x ? 1 : s.b);
  };
  page.candidates = [](const BatchedAsked&, const Flags& fixed) {
    std::vector<Flags> all;
    for (const char* tile : {"32", "64", "128"}) add_candidate(all, {{"tile", tile}}, fixed);
    return all;
  };
  page.bound = [](const BatchedAsked& s) {
    const double trip = 200 + s.tile * s.tile * 64.0 / products_per_clock(s.arch, machine::Operand::f16);
    return rounds(s.arch, s.b * up(s.m, s.tile) * up(s.n, s.tile), 2) *
           (3000 + static_cast<double>(up(s.k, 64)) * trip);
  };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
