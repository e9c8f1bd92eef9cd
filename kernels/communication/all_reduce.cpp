// Sums over devices, each of which reads what it needs of all of them: one-shot all-reduce and reduce-scatter, all elements in the order of
// the devices, so that all devices have the same bits, in every launch.
#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct Asked {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  int devices = 4, vectors = 2, vector = 0, rank = 0;
  std::int64_t n = 4096;
};

constexpr int threads = 256;

void check(const Asked& s) {
  if ((s.vector & (s.vector - 1)) != 0 || s.vector > 128 / codegen::bits(s.type))
    throw std::invalid_argument(
        fmt::format("--vector {}\n  hint   1, 2, 4, of 16 bits also 8; 0 for 16 bytes", s.vector));
}

// [all_reduce]
Program program(const Asked& s, bool scatters) {
  check(s);
  Program k(scatters ? "reduce_scatter" : "all_reduce", Target::named(s.arch), threads);
  const int v = s.vector > 0 ? s.vector : 128 / codegen::bits(s.type), tile = threads * v * s.vectors;
  const Sym N = k.size("n", {.most = (std::int64_t{1} << 28) / s.devices / v * v, .multiple = v}),
            rank = k.devices(s.devices);
  const Tensor Y = k.output("y", s.type, {N});
  const std::vector<Tensor> X = scatters ? k.peers("x", s.type, {s.devices, N}) : k.peers("x", s.type, {N});
  const auto sum = [](const Exprs& x) { return std::accumulate(x.begin() + 1, x.end(), x[0]); };
  k.computes(Y, [&](const auto& c) {
    Exprs x;
    for (const Tensor& t : X) x.push_back(scatters ? k(t, {rank, c[0]}) : k(t, {c[0]}));
    return sum(x);
  });
  const Sym part = k.workgroups(0, N, tile);
  const Layout tv = codegen::line_tv(tile, v, threads);
  k.meet("signals"); // their inputs are there
  std::vector<Fragment> x;
  for (const Tensor& t : X)
    x.push_back(
        k.load(scatters ? k.tile(t, {1, tile}, {rank, part}).keep({1}) : k.tile(t, {tile}, {part}), tv, v));
  k.store(k.map(x, sum, s.type), k.tile(Y, {tile}, {part}), v);
  k.meet("signals"); // nobody reads mine any more
  return k;
}
// [all_reduce end]

// Of what each device brings, in the order of the devices; rounded to f32 after each addition, and once to the result.
std::vector<Judged> reference(const Asked& s, const Workload& w, bool scatters) {
  Judged y{"y", {}, {}, "devices 2^-24 sum |x| + u |y|"};
  const auto n = static_cast<std::size_t>(s.n), from = scatters ? static_cast<std::size_t>(s.rank) * n : 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0, size = 0;
    for (int d = 0; d < s.devices; ++d) {
      const double x = w.values("x_" + std::to_string(d))[from + i];
      sum += x, size += std::abs(x);
    }
    y.value.push_back(sum);
    y.bound.push_back(s.devices * u32 * size + rounding(s.type, sum));
  }
  return {y};
}

std::unique_ptr<Kernel> kernel(bool scatters) {
  using Read = Reads<Asked>;
  return page_of(Page<Asked>{
      .summary = scatters
                     ? "Y of device r = sum over devices d of X_d[r,N]: each device has its part of the sum"
                     : "Y[N] = sum of X_d[N] over devices d, the same bits on all of them (one-shot)",
      .options =
          {scatters ? "reduce_scatter" : "all_reduce",
           {arch_option<Asked>(),
            {"dtype", Read::element(&Asked::type, "f16, bf16, f32"), "bf16", "element type of X and Y"},
            {"devices", Read::number(&Asked::devices, 2, 8), "4", "devices; fixed when the kernel is built"},
            {"n", Read::number(&Asked::n, 1, 1 << 25), "4096",
             scatters ? "elements of a part; X has as many parts as there are devices" : "elements"},
            {"vectors", Read::number(&Asked::vectors, 1, 8), "2",
             "vectors that a work-item loads from each device"},
            {"vector", Read::number(&Asked::vector, 0, 8), "auto",
             "elements that one instruction moves: 1 takes any number, 0 is 16 bytes", "0"}}},
      .program = [=](const Asked& s) { return program(s, scatters); },
      .sizes =
          [](const Asked& s) {
            return std::vector<std::int64_t>{s.n, 0};
          },
      .size_names = {"n"},
      .reference = [=](const Asked& s, const Workload& w,
                       const Results&) { return reference(s, w, scatters); },
      .text =
          [=](const Asked& s) {
            return scatters ? fmt::format("Y of device r = sum of X_d[r,{0}] over {1} devices, {2}", s.n,
                                          s.devices, to_string(s.type))
                            : fmt::format("Y[{0}] = sum of X_d[{0}] over {1} devices, {2}", s.n, s.devices,
                                          to_string(s.type));
          },
      .candidates =
          [](const Asked& s, const Flags& fixed) {
            return only_candidate({{"vector", std::to_string(widest_vector(s.type, {s.n}))}}, fixed);
          },
      .bound = [](const Asked&) { return 1.0; },
      .on_device = [](Asked& s, int rank) { s.rank = rank; }});
}

} // namespace

std::unique_ptr<Kernel> all_reduce_kernel() { return kernel(false); }
std::unique_ptr<Kernel> reduce_scatter_kernel() { return kernel(true); }

} // namespace inlay::kernels
