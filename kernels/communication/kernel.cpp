// `all_reduce`, `reduce_scatter` and `all_gather` on the command line, and their judge.
#include "../page.h"
#include "between_devices.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

enum class Kind : std::uint8_t { all_reduce, reduce_scatter, all_gather };

// Of what each device brings, in the order of the devices; rounded to f32 after each addition, and once to the result.
std::vector<Judged> collective_reference(const BetweenDevices& s, const Workload& w, Kind kind) {
  const auto n = static_cast<std::size_t>(s.n);
  std::vector<std::vector<double>> all;
  for (int d = 0; d < s.devices; ++d) all.push_back(w.values("x_" + std::to_string(d)));
  if (kind == Kind::all_gather) {
    Judged y{"y", {}, std::vector<double>(n * static_cast<std::size_t>(s.devices), 0), "0"};
    for (const std::vector<double>& part : all) y.value.insert(y.value.end(), part.begin(), part.end());
    return {y};
  }
  Judged y{"y", {}, {}, "devices 2^-24 sum |x| + u |y|"};
  const std::size_t from = kind == Kind::reduce_scatter ? static_cast<std::size_t>(s.rank) * n : 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0, size = 0;
    for (const std::vector<double>& part : all) {
      const double x = part[from + i];
      sum += x, size += std::abs(x);
    }
    y.value.push_back(sum);
    y.bound.push_back(s.devices * u32 * size + rounding(s.type, sum));
  }
  return {y};
}

struct Said {
  const char *name, *summary, *elements, *text;
};
Said said(Kind kind) {
  switch (kind) {
  case Kind::all_reduce:
    return {"all_reduce", "Y[N] = sum of X_d[N] over devices d, the same bits on all of them (one-shot)",
            "elements", "Y[{0}] = sum of X_d[{0}] over {1} devices, {2}"};
  case Kind::reduce_scatter:
    return {"reduce_scatter",
            "Y of device r = sum over devices d of X_d[r,N]: each device has its part of the sum",
            "elements of a part; X has as many parts as there are devices",
            "Y of device r = sum of X_d[r,{0}] over {1} devices, {2}"};
  case Kind::all_gather: break;
  }
  return {"all_gather", "Y[d,N] = X_d[N] of every device d: what each of them has, on all of them",
          "elements of a part, which a device has", "Y[d,{0}] = X_d[{0}] of {1} devices, {2}"};
}

std::unique_ptr<Kernel> kernel(Kind kind) {
  using Read = Reads<BetweenDevices>;
  return page_of(Page<BetweenDevices>{
      .summary = said(kind).summary,
      .options = {said(kind).name,
                  {arch_option<BetweenDevices>(),
                   {"dtype", Read::element(&BetweenDevices::type, "f16, bf16, f32"), "bf16",
                    "element type of X and Y"},
                   {"devices", Read::number(&BetweenDevices::devices, 2, 8), "4",
                    "devices; fixed when the kernel is built"},
                   {"n", Read::number(&BetweenDevices::n, 1, 1 << 25), "4096", said(kind).elements},
                   {"vectors", Read::number(&BetweenDevices::vectors, 1, 8), "2",
                    "vectors that a work-item loads from each device"},
                   {"vector", Read::number(&BetweenDevices::vector, 0, 8), "auto",
                    "elements that one instruction moves: 1 takes any number, 0 is 16 bytes", "0"}}},
      .program =
          [=](const BetweenDevices& s) {
            return kind == Kind::all_gather ? gather_program(s)
                                            : reduce_program(s, kind == Kind::reduce_scatter);
          },
      .sizes =
          [](const BetweenDevices& s) {
            return std::vector<std::int64_t>{s.n, 0};
          },
      .size_names = {"n"},
      .reference = [=](const BetweenDevices& s, const Workload& w,
                       const Results&) { return collective_reference(s, w, kind); },
      .text =
          [=](const BetweenDevices& s) {
            return fmt::format(fmt::runtime(said(kind).text), s.n, s.devices, to_string(s.type));
          },
      .candidates =
          [](const BetweenDevices& s, const Flags& fixed) {
            return only_candidate({{"vector", std::to_string(widest_vector(s.type, {s.n}))}}, fixed);
          },
      .bound = [](const BetweenDevices&) { return 1.0; },
      .on_device = [](BetweenDevices& s, int rank) { s.rank = rank; }});
}

} // namespace

std::unique_ptr<Kernel> all_reduce_kernel() { return kernel(Kind::all_reduce); }
std::unique_ptr<Kernel> reduce_scatter_kernel() { return kernel(Kind::reduce_scatter); }
std::unique_ptr<Kernel> all_gather_kernel() { return kernel(Kind::all_gather); }

} // namespace inlay::kernels
