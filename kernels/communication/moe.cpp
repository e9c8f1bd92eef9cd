// Mixture of experts over devices: rows of all devices brought to the experts of this one, and results brought back, weighted. Each
// device reads what tables name of the others.
#include "../page.h"
#include "between_devices.h"

#include <fmt/format.h>
#include <random>

namespace inlay::kernels {

// Entry (m,j) of a row has a number for each device: its row there, or none. One device's row is taken, the others count nothing.
// [moe_devices]
Program moe_devices_program(const MoeDevices& s) {
  check_vector(s.type, s.vector);
  if (s.threads % 64 != 0)
    throw std::invalid_argument(
        fmt::format("--threads {}\n  hint   whole waves, 64, 128, 192, ..", s.threads));
  const int v = s.width(), tile = s.threads * v, each = s.of_row(), D = s.devices;
  Program k(s.name(), Target::named(s.arch), s.threads);
  const Sym M = k.size("m", {.most = 1 << 22}), N = k.size("n", {.most = 1 << 16, .multiple = v}),
            R = k.size("rows", {.most = 1 << 22});
  k.devices(D);
  const Tensor Y = k.output("y", s.type, {M, N});
  const std::vector<Tensor> X = k.peers("x", s.type, {R, N});
  const Tensor ids = k.input("ids", Element::i32, {Sym(each * D) * M});
  std::optional<Tensor> W;
  if (s.weighted) W = k.input("weights", Element::f32, {M, each});
  const auto entry = [&](Sym row, int j, int d) { return Sym(each * D) * row + Sym(j * D + d); };
  // Of each entry what its devices have, and its weight after it.
  const auto combined = [&](const Exprs& a) {
    std::optional<Expr> all;
    const std::size_t size = static_cast<std::size_t>(D) + (s.weighted ? 1 : 0);
    for (std::size_t at = 0; at < a.size(); at += size) {
      Expr x = a[at];
      for (std::size_t d = 1; d < static_cast<std::size_t>(D); ++d) x = x + a[at + d];
      if (s.weighted) x = x * a[at + size - 1];
      all = all ? *all + x : x;
    }
    return *all;
  };
  k.computes(Y, [&](const auto& c) {
    Exprs a;
    for (int j = 0; j < each; ++j) {
      for (int d = 0; d < D; ++d)
        a.push_back(k(X[static_cast<std::size_t>(d)], {k.at(ids, entry(c[0], j, d)), c[1]}));
      if (W) a.push_back(k(*W, {c[0], j}));
    }
    return combined(a);
  });
  const Sym row = k.workgroups(0, M, 1), part = k.workgroups(1, N, tile);
  const Layout tv = codegen::rows_tv(1, tile, v, s.threads), of_row = codegen::without_axis(tv, 1);
  k.meet("signals"); // their rows are there
  std::vector<Fragment> a;
  for (int j = 0; j < each; ++j) {
    for (int d = 0; d < D; ++d)
      a.push_back(
          k.load(k.tile(X[static_cast<std::size_t>(d)], {1, tile}, {k.uniform(ids, entry(row, j, d)), part}),
                 tv, v));
    if (W) a.push_back(k.load(k.tile(*W, {1, 1}, {row, j}), of_row, 1));
  }
  k.store(k.map(a, combined, s.type), k.tile(Y, {1, tile}, {row, part}), v);
  k.meet("signals"); // nobody reads mine any more
  return k;
}
// [moe_devices end]

namespace {

struct Dispatch : MoeDevices {};
struct Combine : MoeDevices {
  Combine() { weighted = true; }
};

// Each entry of any row of any device; now and then of none, or of a row that there is not.
void data(const MoeDevices& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  std::vector<double> ids;
  for (std::int64_t e = 0; e < s.m * s.of_row(); ++e) {
    const std::int64_t device = below(s.devices);
    for (int d = 0; d < s.devices; ++d)
      ids.push_back(static_cast<double>(d != device || e % 5 == 3 ? -1
                                        : e % 7 == 6              ? s.rows
                                                                  : below(s.rows)));
  }
  w.set("ids", ids);
}

std::vector<Judged> reference(const MoeDevices& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "(k + 1) 2^-24 sum |w x| + u |y|"};
  std::vector<std::vector<double>> x;
  for (int d = 0; d < s.devices; ++d) x.push_back(w.values("x_" + std::to_string(d)));
  const auto n = static_cast<std::size_t>(s.n), k = static_cast<std::size_t>(s.of_row());
  for (std::size_t row = 0; row < static_cast<std::size_t>(s.m); ++row)
    for (std::size_t c = 0; c < n; ++c) {
      double sum = 0, size = 0;
      for (std::size_t e = row * k; e < (row + 1) * k; ++e)
        for (std::size_t d = 0; d < x.size(); ++d) {
          const double id = w.values("ids")[e * x.size() + d];
          if (id < 0 || id >= static_cast<double>(s.rows)) continue;
          const double of =
              x[d][static_cast<std::size_t>(id) * n + c] * (s.weighted ? w.values("weights")[e] : 1);
          sum += of, size += std::abs(of);
        }
      y.value.push_back(sum);
      y.bound.push_back(s.weighted ? static_cast<double>(k + 1) * u32 * size + rounding(s.type, sum) : 0);
    }
  return {y};
}

template <class Asked>
std::unique_ptr<Kernel> kernel(const std::string& summary) {
  using Read = Reads<Asked>;
  const bool weighted = Asked().weighted;
  std::vector<Option<Asked>> options{
      arch_option<Asked>(),
      {"dtype", Read::element(&Asked::type, "f16, bf16, f32"), "bf16", "element type of X and Y"},
      {"devices", Read::number(&Asked::devices, 2, 8), "4", "devices; fixed when the kernel is built"},
      {"m", Read::number(&Asked::m, 1, 1 << 22), "64",
       weighted ? "tokens of a device" : "rows that a device takes"},
      {"rows", Read::number(&Asked::rows, 1, 1 << 22), "128", "rows that each device has"},
      {"n", Read::number(&Asked::n, 1, 1 << 16), "1024", "elements of a row"}};
  if (weighted) options.push_back({"k", Read::number(&Asked::k, 1, 8), "2", "experts of a token"});
  options.push_back(
      {"threads", Read::number(&Asked::threads, 64, 1024), "256", "work-items of a workgroup, 64, 128, .."});
  options.push_back({"vector", Read::number(&Asked::vector, 0, 8), "auto",
                     "elements that one instruction moves: 1 takes any number, 0 is 16 bytes", "0"});
  return page_of(Page<Asked>{
      .summary = summary,
      .options = {Asked().name(), options},
      .program = moe_devices_program,
      .sizes =
          [](const Asked& s) {
            return std::vector<std::int64_t>{s.m, s.n, s.rows, 0};
          },
      .size_names = {"m", "n", "rows"},
      .data = data,
      .reference = reference,
      .text =
          [](const Asked& s) {
            return fmt::format("Y[{0},{1}] = {2}X_d[{3},{1}] of {4} devices, {5}", s.m, s.n,
                               s.weighted ? fmt::format("weighted sums of {} rows of ", s.k) : "rows of ",
                               s.rows, s.devices, to_string(s.type));
          },
      .candidates =
          [](const Asked& s, const Flags& fixed) {
            return only_candidate({{"vector", std::to_string(widest_vector(s.type, {s.n}))}}, fixed);
          },
      .bound = [](const Asked&) { return 1.0; }});
}

} // namespace

std::unique_ptr<Kernel> moe_dispatch_kernel() {
  return kernel<Dispatch>(
      "Y[m] = the row that a table names of one of several devices: tokens to the experts of this one");
}
std::unique_ptr<Kernel> moe_combine_kernel() {
  return kernel<Combine>("Y[m] = weighted sum of k rows that a table names, each of one of several devices: "
                         "results of experts back to tokens");
}

} // namespace inlay::kernels
