// Many products in one launch: for each of them C_g[m,n] = sum_k A_g[m,k] B_g[n,k], with sizes, data and a judge of its own.
#include "../problem.h"

#include <inlay/kernels/gemm/spec.h>

#include <algorithm>
#include <fmt/format.h>

namespace inlay::kernels {

std::array<std::int64_t, 3> largest_of(const GemmGroups& groups) {
  std::array<std::int64_t, 3> most{};
  for (const auto& g : groups)
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], g[i]);
  return most;
}

Problem gemm_problem(const GemmSpec& spec, const GemmGroups& groups, std::uint64_t seed,
                     const GemmPads& pads) {
  GemmSpec one = spec;
  one.own = GemmSpec::Own::none;
  std::vector<Problem> each;
  std::vector<std::vector<std::int64_t>> own;
  std::string text;
  for (const auto& [m, n, k] : groups) {
    each.push_back(m == 0 || n == 0 ? Problem() : gemm_problem(one, m, n, k, seed + 100 * each.size(), pads));
    own.push_back(spec.own == GemmSpec::Own::m ? std::vector{m} : std::vector{m, n, k});
    text += fmt::format("{}{}x{}x{}", text.empty() ? "" : ", ", m, n, k);
  }
  const auto [m, n, k] = largest_of(groups);
  std::vector<std::int64_t> sizes = gemm_sizes(spec, m, n, k, pads);
  sizes.push_back(static_cast<std::int64_t>(groups.size()));
  Problem all = together(gemm_program(spec), sizes, std::move(each), own);
  all.text = fmt::format("products of {}, {} -> {}", text, to_string(spec.in), to_string(spec.out));
  return all;
}

} // namespace inlay::kernels
