// The problems of a GEMM: data from a seed, as a launch has them, and their judge.
#include "../problem.h"
#include "../with_data.h"
#include "data.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {

Problem gemm_problem(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed,
                     const GemmPads& pads) {
  Problem problem;
  problem.launch = plan_with_data(gemm_program(spec), gemm_sizes(spec, m, n, k, pads));
  // Of xf32 with the low bits that its products leave out.
  const Element stored_as = spec.in == Element::xf32 ? Element::f32 : spec.in;
  Bytes a = to_bytes(random_matrix(m, k, stored_as, seed), stored_as);
  Bytes b = to_bytes(random_matrix(n, k, stored_as, seed + 1), stored_as);
  const auto c_bytes = static_cast<std::size_t>(m * n * bytes_of(spec.out));
  const Matrix added = spec.adds_c() ? random_matrix(m, n, spec.out, seed + 5) : Matrix(),
               residual = spec.residual ? random_matrix(m, n, spec.out, seed + 8) : Matrix();
  const bool in_place = spec.added == GemmSpec::Added::in_place;
  const Bytes c = to_bytes(added, spec.out);
  // Between rows lies what is no number, and stays.
  const std::byte between = poison(1)[0];
  const auto gap = [](bool there, Element type, std::int64_t pad) { return there ? bytes_of(type, pad) : 0; };
  const std::int64_t gap_of_d = gap(spec.padded.d, spec.out, pads.d);
  const auto stored = [&](const Bytes& matrix, bool turned, std::int64_t rows) {
    if (!turned) return matrix;
    Bytes out(matrix.size());
    const std::int64_t each = bytes_of(spec.in);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < k; ++i)
        std::copy_n(matrix.data() + each * (r * k + i), each, out.data() + each * (i * rows + r));
    return out;
  };
  problem.buffers = {
      {spec.adds_c() ? "D" : "C",
       spread(in_place      ? c
              : spec.adds() ? Bytes(c_bytes)
                            : poison(c_bytes),
              m, gap_of_d, between),
       true},
      {"A", spread(stored(a, spec.turned_a(), m), m, gap(spec.padded.a, spec.in, pads.a), between), false},
      {"B",
       spec.preshuffled_b
           ? preshuffle(b, n, k, spec.in)
           : spread(stored(b, spec.turned_b(), n), n, gap(spec.padded.b, spec.in, pads.b), between),
       false}};
  // Scales of rows and columns and a bias, as vectors.
  const Element weight = spec.in == Element::f64 ? Element::f64 : Element::f32;
  const auto vector = [&](bool there, std::int64_t length, std::uint64_t offset, double otherwise) {
    return there ? random_matrix(length, 1, weight, seed + offset)
                 : Matrix(Matrix::Constant(length, 1, otherwise));
  };
  Matrix sa = vector(spec.scales, m, 2, 1), sb = vector(spec.scales, n, 3, 1),
         bias = vector(spec.bias, n, 4, 0), row_bias = vector(spec.row_bias, m, 7, 0);
  if (spec.scales) {
    problem.buffers.push_back({"SA", to_bytes(sa, weight), false});
    problem.buffers.push_back({"SB", to_bytes(sb, weight), false});
  }
  BlockScales block_a, block_b;
  if (spec.has_block_scales()) {
    block_a = BlockScales(m, k, seed + 2), block_b = BlockScales(n, k, seed + 3);
    problem.buffers.push_back({"SA", block_a.shuffled, false});
    problem.buffers.push_back({"SB", block_b.shuffled, false});
  }
  if (spec.bias) problem.buffers.push_back({"bias", to_bytes(bias, weight), false});
  if (spec.row_bias) problem.buffers.push_back({"row_bias", to_bytes(row_bias, weight), false});
  // Away from 0, and from what a kernel without them would take.
  std::mt19937_64 random(seed + 6);
  const double alpha = spec.alpha ? codegen::rounded(weight, 1.5 + uniform(random) / 4) : 1,
               beta = spec.adds_c() ? codegen::rounded(weight, -0.5 + uniform(random) / 4) : 0;
  const auto number = [weight](double value) { return to_bytes(Matrix::Constant(1, 1, value), weight); };
  if (spec.alpha) problem.buffers.push_back({"alpha", number(alpha), false});
  if (spec.adds_c()) problem.buffers.push_back({"beta", number(beta), false});
  if (spec.adds_c() && !in_place)
    problem.buffers.push_back({"C", spread(c, m, gap(spec.padded.c, spec.out, pads.c), between), false});
  if (spec.residual) problem.buffers.push_back({"residual", to_bytes(residual, spec.out), false});
  const std::size_t amax_at = problem.buffers.size();
  const std::int64_t tiles = (n + spec.tile_n - 1) / spec.tile_n;
  if (spec.amax) problem.buffers.push_back({"amax", poison(static_cast<std::size_t>(4 * m * tiles)), true});
  if (spec.gather) {
    const auto up = [](std::int64_t x, int by) { return static_cast<std::size_t>((x + by - 1) / by); };
    problem.buffers.push_back(
        {"parts", poison(static_cast<std::size_t>(m * n * bytes_of(weight)) * up(k, spec.split)), false});
    problem.buffers.push_back({"arrived", Bytes(4 * up(m, spec.tile_m) * up(n, spec.tile_n)), false});
  }
  problem.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const bool activated = spec.activation != GemmSpec::Activation::none;
  std::string what = spec.alpha ? "alpha " : "";
  what += spec.scales ? "sa sb " : spec.has_block_scales() ? "sa[k/32] sb[k/32] " : "";
  what += spec.turned_a() ? fmt::format("A[{},{}]^T x ", k, m) : fmt::format("A[{},{}] x ", m, k);
  what += spec.turned_b() ? fmt::format("B[{},{}]", k, n) : fmt::format("B[{},{}]^T", n, k);
  what += in_place ? " + beta D" : spec.adds_c() ? " + beta C" : "";
  what += spec.bias ? " + bias" : "";
  what += spec.row_bias ? " + row_bias" : "";
  if (activated) what = fmt::format("{}({})", to_string(spec.activation), what);
  if (spec.residual) what += " + residual";
  problem.text = fmt::format("{}[{},{}] = {}, {} x {} -> {}", spec.adds_c() ? "D" : "C", m, n, what,
                             to_string(spec.in), to_string(spec.in), to_string(spec.out));
  // By blocks, so that a large problem does not need its operands and reference in double precision at once.
  // Parts that are added: in 16 bits each is rounded, and so is each sum; in 32 bits the sums of scaled integers are.
  const double cuts = spec.adds() ? std::ceil(double(k) / (spec.workers > 0 ? spec.tile_k : spec.split)) : 0,
               parts = codegen::bits(spec.out) == 16 ? 2 * cuts : 0,
               sums = codegen::is_integer(spec.in) && spec.weighted() ? cuts : 0;
  // Roundings to f32 behind a sum: as f32, two products of scales, their sum with the bias; with alpha, one more, and with C three;
  // another bias, and the residual.
  const double operations = !spec.weighted() ? 0
                                             : (spec.adds_c() ? 8
                                                : spec.alpha  ? 5
                                                              : 4) +
                                                   (spec.row_bias ? 1 : 0) + (spec.residual ? 1 : 0);
  const Formulas act = parse_formulas("y = " + (activated ? to_string(spec.activation) : "abs") + "(x)");
  sa *= alpha;
  problem.check = GemmJudge{.a = std::move(a),
                            .b = std::move(b),
                            .sa = sa,
                            .sb = sb,
                            .bias = bias,
                            .row_bias = row_bias,
                            .block_a = block_a,
                            .block_b = block_b,
                            .added = added,
                            .residual = residual,
                            .beta = beta,
                            .operations = operations,
                            .m = m,
                            .n = n,
                            .k = k,
                            .parts = parts,
                            .sums = sums,
                            .in = spec.in,
                            .out = spec.out,
                            .gap_of_d = gap_of_d,
                            .between = between,
                            .activated = activated,
                            .act = act,
                            .amax = spec.amax,
                            .amax_at = amax_at,
                            .tiles = tiles,
                            .tile_n = spec.tile_n};
  return problem;
}

} // namespace inlay::kernels
