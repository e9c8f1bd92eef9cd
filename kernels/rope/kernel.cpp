// Rotary position embedding on the command line, its problems and their judge.
#include "../data.h"
#include "../kernels.h"
#include "../options.h"
#include "../with_data.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/rope/spec.h>

#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct RopeAsked : RopeSpec {
  std::int64_t tokens = 64, heads_of_token = 32, rows = 4096;
};
using ReadsRope = Reads<RopeAsked>;

} // namespace

Problem rope_problem(const RopeSpec& spec, std::int64_t tokens, std::int64_t heads, std::int64_t rows,
                     std::uint64_t seed) {
  const LaunchPlan plan = plan_with_data(rope_program(spec), {tokens, heads, rows});
  const Eigen::Index half = spec.head_dim / 2, n = tokens * heads;
  const Element type = spec.type;
  const Matrix x = random_matrix(n, 2 * half, type, seed);
  // Angles as in models: row p, column i is p / 10000^(i / half).
  Matrix c(rows, half), s(rows, half);
  for (Eigen::Index p = 0; p < rows; ++p)
    for (Eigen::Index i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(p) * std::pow(10000, -static_cast<double>(i) / static_cast<double>(half));
      c(p, i) = std::cos(angle), s(p, i) = std::sin(angle);
    }
  c = from_bytes(to_bytes(c, type), rows, half, type), s = from_bytes(to_bytes(s, type), rows, half, type);
  std::mt19937_64 random(seed + 1);
  std::vector<std::int32_t> positions;
  for (std::int64_t t = 0; t < tokens; ++t)
    positions.push_back(static_cast<std::int32_t>(
        t == 0   ? rows - 1
        : t == 1 ? 0
                 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows))));
  Bytes table(positions.size() * 4);
  std::memcpy(table.data(), positions.data(), table.size());

  Problem problem;
  problem.launch = plan;
  if (!spec.in_place)
    problem.buffers.push_back({"Y", poison(static_cast<std::size_t>(bytes_of(type) * n * 2 * half)), true});
  problem.buffers.push_back({"X", to_bytes(x, type), spec.in_place});
  problem.buffers.push_back({"positions", table, false});
  problem.buffers.push_back({"cos", to_bytes(c, type), false});
  problem.buffers.push_back({"sin", to_bytes(s, type), false});
  problem.flops = 3.0 * static_cast<double>(n * 2 * half);
  problem.text = fmt::format("Y[{0},{1},{2}] = X[{0},{1},{2}] turned by the angles of {3} positions, {4}",
                             tokens, heads, spec.head_dim, rows, to_string(type));
  problem.check = [=](std::span<const Bytes> buffers) {
    Matrix y(n, 2 * half), bound(n, 2 * half);
    for (Eigen::Index r = 0; r < n; ++r) {
      const Eigen::Index p = positions[static_cast<std::size_t>(r / heads)];
      for (Eigen::Index i = 0; i < half; ++i) {
        const double a = x(r, i), b = x(r, half + i), with = c(p, i), by = s(p, i);
        y(r, i) = a * with - b * by, y(r, half + i) = b * with + a * by;
        const double low = std::abs(a * with) + std::abs(b * by),
                     high = std::abs(b * with) + std::abs(a * by);
        const auto within = [&](double sum, double value) {
          return 3 * std::ldexp(sum, -24) + unit_roundoff(type) * std::abs(value) +
                 codegen::smallest_positive(type) / 2;
        };
        bound(r, i) = within(low, y(r, i)), bound(r, half + i) = within(high, y(r, half + i));
      }
    }
    return compare(from_bytes(buffers[0], n, 2 * half, type), y, bound,
                   "3 2^-24 (|x cos| + |x' sin|) + u |y|");
  };
  return problem;
}

std::unique_ptr<Kernel> rope_kernel() {
  constexpr std::int64_t most = 1 << 22;
  return kernel_of<RopeAsked>(
      {"rotary position embedding: pairs of a head's halves turned by their token's angles",
       {"rope",
        {arch_option<RopeAsked>(),
         {"dtype", ReadsRope::element(&RopeAsked::type, "f16, bf16, f32"), "f16", "element type"},
         {"tokens", ReadsRope::number(&RopeAsked::tokens, 1, most), "64", "tokens"},
         {"heads", ReadsRope::number(&RopeAsked::heads_of_token, 1, 1 << 10), "32", "heads of a token"},
         {"head-dim", ReadsRope::number(&RopeAsked::head_dim, 1, 1 << 16), "128",
          "elements of a head: 32, 64, 128, 256 or 512"},
         {"rows", ReadsRope::number(&RopeAsked::rows, 1, most), "4096",
          "rows of the tables of cosines and sines"},
         {"threads", ReadsRope::number(&RopeAsked::threads, 1, 1024), "auto", "work-items: 64, 128 or 256",
          "256"},
         {"in-place", ReadsRope::yes(&RopeAsked::in_place), "no", "Y takes the place of X"}}},
       [](const RopeAsked& asked, const BuildOptions& how) { return build_rope(asked, how); },
       [](const RopeAsked& asked, std::uint64_t seed) {
         return rope_problem(asked, asked.tokens, asked.heads_of_token, asked.rows, seed);
       },
       {"tokens", "heads", "rows"},
       [](const RopeAsked& asked) {
         return std::vector{asked.tokens, asked.heads_of_token, asked.rows};
       },
       [](const RopeAsked&, const Flags& fixed) {
         std::vector<Flags> all;
         for (const char* threads : {"64", "128", "256"}) add_candidate(all, {{"threads", threads}}, fixed);
         return all;
       },
       [](const RopeAsked& asked) {
         const int resident = resident_by_waves(asked.threads);
         return rounds(asked.arch, asked.tokens * up(asked.heads_of_token, std::max(asked.heads(), 1)),
                       resident) *
                (2200.0 + resident * asked.threads * asked.vector_length());
       }});
}

} // namespace inlay::kernels
