// `moe_dispatch` and `moe_combine` on the command line, their data and their judge.
#include "../page.h"
#include "between_devices.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct Dispatch : MoeDevices {};
struct Combine : MoeDevices {
  Combine() { weighted = true; }
};

// Each entry of any row of any device; now and then of none, or of a row that there is not.
void data(const MoeDevices& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  std::mt19937_64 random(seed);
  std::vector<double> ids;
  for (std::int64_t e = 0; e < s.m * s.of_row(); ++e) {
    const std::int64_t device = below(random, s.devices);
    for (int d = 0; d < s.devices; ++d)
      ids.push_back(static_cast<double>(d != device || e % 5 == 3 ? -1
                                        : e % 7 == 6              ? s.rows
                                                                  : below(random, s.rows)));
  }
  w.set("ids", ids);
}

std::vector<Judged> reference(const MoeDevices& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "(k + 1) 2^-24 sum |w x| + u |y|"};
  std::vector<std::vector<double>> x;
  for (int d = 0; d < s.devices; ++d) x.push_back(w.values("x_" + std::to_string(d)));
  const auto n = at(s.n), k = at(s.of_row());
  for (std::size_t row = 0; row < at(s.m); ++row)
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
