// The specification as numbers, against Eigen and plain loops.
#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/evaluate.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/moe/spec.h>
#include <inlay/kernels/rows/spec.h>

#include <Eigen/Core>

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace evaluate_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace inlay::kernels;

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<double> numbers(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> out(n);
  for (double& v : out) v = static_cast<double>(random() % 2001) / 1000 - 1;
  return out;
}
const Tensor& named(const Program& p, const std::string& name) {
  for (const Tensor& t : p.tensors())
    if (t.name == name) return t;
  throw std::logic_error("no tensor " + name);
}
Eigen::Map<const Matrix> matrix(const std::vector<double>& v, int rows) {
  return {v.data(), rows, static_cast<Eigen::Index>(v.size()) / rows};
}
std::vector<double> reference(const Program& p, const std::string& output, const EvaluationInput& input) {
  const Tensor& t = named(p, output);
  return evaluate(p, *p.specification(t), input);
}
void same(const std::vector<double>& got, const Matrix& wanted) {
  REQUIRE(got.size() == static_cast<std::size_t>(wanted.size()));
  for (std::size_t i = 0; i < got.size(); ++i)
    REQUIRE(got[i] == Approx(wanted.data()[i]).epsilon(1e-10).margin(1e-12));
}

} // namespace

TEST_CASE("evaluate: a product and a softmax are Eigen's") {
  const Program gemm = gemm_program(GemmSpec{});
  EvaluationInput input{{5, 7, 16}, {}};
  const auto a = numbers(5 * 16, 1), b = numbers(7 * 16, 2);
  input.tensors = {{named(gemm, "a").id, a}, {named(gemm, "b").id, b}};
  same(reference(gemm, "c", input), matrix(a, 5) * matrix(b, 7).transpose());

  const Program softmax = softmax_program(RowSpec{});
  const auto x = numbers(3 * 24, 3);
  Matrix y = matrix(x, 3);
  for (auto row : y.rowwise()) {
    row = (row.array() - row.maxCoeff()).exp().matrix();
    row /= row.sum();
  }
  same(reference(softmax, "y", {{3, 24}, {{named(softmax, "x").id, x}}}), y);
}

TEST_CASE("evaluate: attention, causal, of a window and grouped, by plain loops") {
  const bool windowed = GENERATE(false, true);
  AttentionSpec spec;
  spec.head_dim = 64;
  spec.group = 2;
  if (windowed)
    spec.window = 32, spec.tile_q = spec.tile_k = 32, spec.waves = 1;
  else
    spec.causal = true;
  const Program p = flash_attention_program(spec);
  const int B = 2, SQ = windowed ? 35 : 5, SK = windowed ? 35 : 4, H = 4, HK = 2, D = 64;
  const auto q = numbers(B * SQ * H * D, 1), k = numbers(B * SK * HK * D, 2), v = numbers(B * SK * HK * D, 3);
  const EvaluationInput input{windowed ? std::vector<std::int64_t>{B, SQ, H}
                                       : std::vector<std::int64_t>{B, SQ, SK, H},
                              {{named(p, "q").id, q}, {named(p, "k").id, k}, {named(p, "v").id, v}}};
  const auto o = reference(p, "o", input), lse = reference(p, "lse", input);
  for (int b = 0; b < B; ++b)
    for (int i = 0; i < SQ; ++i)
      for (int h = 0; h < H; ++h) {
        std::vector<double> s;
        const int first = windowed ? std::max(0, i - 31) : 0;
        for (int j = first; j <= std::min(i, SK - 1); ++j) {
          double sum = 0;
          for (int d = 0; d < D; ++d)
            sum += q[static_cast<std::size_t>(((b * SQ + i) * H + h) * D + d)] *
                   k[static_cast<std::size_t>(((b * SK + j) * HK + h / 2) * D + d)];
          s.push_back(std::exp(sum / 8));
        }
        double all = 0;
        for (const double x : s) all += x;
        REQUIRE(lse[static_cast<std::size_t>((b * H + h) * SQ + i)] == Approx(std::log(all)));
        for (int d = 0; d < D; ++d) {
          double sum = 0;
          for (std::size_t j = 0; j < s.size(); ++j)
            sum += s[j] / all *
                   v[((static_cast<std::size_t>(b * SK + first) + j) * HK + static_cast<std::size_t>(h / 2)) *
                         D +
                     static_cast<std::size_t>(d)];
          REQUIRE(o[static_cast<std::size_t>(((b * SQ + i) * H + h) * D + d)] == Approx(sum).margin(1e-12));
        }
      }
}

TEST_CASE("evaluate: rows through a table, where some ids are none") {
  MoeSpec spec;
  const Program p = moe_stage1_program(spec);
  const int T = 3, K = 8, I = 8, E = 2, P = 130;
  const auto x = numbers(T * K, 1), w = numbers(E * 2 * I * K, 2);
  std::vector<double> ids, experts{1, 0, 5};            // 5 is no expert
  for (int i = 0; i < P; ++i) ids.push_back(i % 5 - 1); // -1 and 3 are no tokens
  const auto y = reference(p, "y",
                           {{T, K, I, E, P},
                            {{named(p, "x").id, x},
                             {named(p, "w").id, w},
                             {named(p, "ids").id, ids},
                             {named(p, "experts_of_blocks").id, experts},
                             {named(p, "rows_in_use").id, {129}}}});
  for (int r = 0; r < P; ++r)
    for (int i = 0; i < I; ++i) {
      const int t = r % 5 - 1, e = static_cast<int>(experts[static_cast<std::size_t>(r / 64)]);
      double gate = 0, up = 0;
      if (t >= 0 && t < T && e < E && r < 129)
        for (int k = 0; k < K; ++k) {
          gate += x[static_cast<std::size_t>(t * K + k)] *
                  w[static_cast<std::size_t>(((e * 2 + 0) * I + i) * K + k)];
          up += x[static_cast<std::size_t>(t * K + k)] *
                w[static_cast<std::size_t>(((e * 2 + 1) * I + i) * K + k)];
        }
      REQUIRE(y[static_cast<std::size_t>(r * I + i)] ==
              Approx(gate / (1 + std::exp(-gate)) * up).epsilon(1e-10).margin(1e-14));
    }
}

TEST_CASE("evaluate: rows summed where a table names them, twice or not at all") {
  MoeSpec spec;
  const Program p = moe_stage2_program(spec);
  const int T = 4, D = 8, I = 8, E = 2, P = 128;
  const auto y = numbers(P * I, 1), v = numbers(E * D * I, 2), weights = numbers(P, 3);
  const std::vector<double> experts{1, 0};
  std::vector<double> ids;
  for (int i = 0; i < P; ++i) ids.push_back(i % 6 - 1); // -1 and 4 are no tokens
  const auto z = reference(p, "z",
                           {{T, D, I, E, P},
                            {{named(p, "y").id, y},
                             {named(p, "v").id, v},
                             {named(p, "weights").id, weights},
                             {named(p, "ids").id, ids},
                             {named(p, "experts_of_blocks").id, experts},
                             {named(p, "rows_in_use").id, {100}}}});
  std::vector<double> wanted(static_cast<std::size_t>(T * D), 0);
  for (int r = 0; r < 100; ++r)
    for (int d = 0; d < D && r % 6 > 0 && r % 6 < 5; ++d)
      for (int i = 0; i < I; ++i)
        wanted[static_cast<std::size_t>((r % 6 - 1) * D + d)] +=
            weights[static_cast<std::size_t>(r)] * y[static_cast<std::size_t>(r * I + i)] *
            v[static_cast<std::size_t>(((r < 64 ? 1 : 0) * D + d) * I + i)];
  same(z, Eigen::Map<const Matrix>(wanted.data(), T, D));
}

TEST_CASE("evaluate: what is missing or does not fit is said") {
  const Program gemm = gemm_program(GemmSpec{});
  CHECK_THROWS_WITH(reference(gemm, "c", {{5, 7, 16}, {}}), Catch::Contains("no values of"));
  CHECK_THROWS_WITH(
      reference(gemm, "c",
                {{5, 7, 16}, {{named(gemm, "a").id, numbers(3, 1)}, {named(gemm, "b").id, numbers(112, 1)}}}),
      Catch::Contains("has 80 elements"));
  CHECK_THROWS_WITH(reference(gemm, "c", {{5, 7}, {}}), Catch::Contains("has 3 sizes"));
}

} // namespace evaluate_test
