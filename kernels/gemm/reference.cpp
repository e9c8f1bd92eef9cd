// The GEMM's problems and their judge: Eigen in double precision, an error bound for every element.
#include "../data.h"
#include "../map/language.h"
#include "../problem.h"
#include "../with_data.h"

#include <inlay/kernels/gemm/spec.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {

std::int64_t preshuffled_offset(std::int64_t n, std::int64_t k, std::int64_t columns_of_b, Element type) {
  const std::int64_t v = 128 / codegen::bits(type);
  return n % 16 * v + n / 16 * (16 * columns_of_b) + k % v + k / v * (16 * v);
}

std::int64_t shuffled_scale_offset(std::int64_t row, std::int64_t block, std::int64_t k) {
  return row % 16 * 4 + row / 16 % 2 + row / 32 * k + block % 4 * 64 + block / 4 % 2 * 2 + block / 8 * 256;
}

namespace {

Bytes preshuffle(const Bytes& b, std::int64_t rows, std::int64_t columns, Element type) {
  // The order is one of 16 bytes whatever they are.
  if (codegen::bits(type) < 8) return preshuffle(b, rows, columns * codegen::bits(type) / 8, Element::i8);
  Bytes shuffled(b.size());
  const auto element = b.size() / static_cast<std::size_t>(rows * columns);
  for (std::int64_t n = 0; n < rows; ++n)
    for (std::int64_t k = 0; k < columns; ++k)
      std::copy_n(b.data() + static_cast<std::size_t>(n * columns + k) * element, element,
                  shuffled.data() +
                      static_cast<std::size_t>(preshuffled_offset(n, k, columns, type)) * element);
  return shuffled;
}

/// Rows [first, first + count) of a row-major matrix.
Matrix rows_of(const Bytes& matrix, std::int64_t first, std::int64_t count, std::int64_t columns,
               Element type) {
  const auto row = static_cast<std::size_t>(bytes_of(type, columns));
  return from_bytes(
      std::span(matrix).subspan(static_cast<std::size_t>(first) * row, static_cast<std::size_t>(count) * row),
      count, columns, type);
}

/// left right^T; of f64 in 64 bits of mantissa, so that it errs by less than a thousandth of what the kernel may.
Matrix product(const Matrix& left, const Matrix& right, Element type) {
  if (type != Element::f64) return left * right.transpose();
  return (left.cast<long double>() * right.cast<long double>().transpose()).cast<double>();
}

/// Rows so many bytes apart, with `between` between them, and back.
Bytes spread(const Bytes& dense, std::int64_t rows, std::int64_t gap, std::byte between) {
  if (gap == 0 || rows == 0) return dense;
  const std::size_t row = dense.size() / static_cast<std::size_t>(rows),
                    pitch = row + static_cast<std::size_t>(gap);
  Bytes out(pitch * static_cast<std::size_t>(rows) - static_cast<std::size_t>(gap), between);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
    std::copy_n(dense.data() + r * row, row, out.data() + r * pitch);
  return out;
}
Bytes dense(const Bytes& apart, std::int64_t rows, std::int64_t gap) {
  if (gap == 0) return apart;
  const std::size_t pitch = (apart.size() + static_cast<std::size_t>(gap)) / static_cast<std::size_t>(rows);
  Bytes out;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
    out.insert(out.end(), apart.begin() + static_cast<std::ptrdiff_t>(r * pitch),
               apart.begin() + static_cast<std::ptrdiff_t>((r + 1) * pitch) - gap);
  return out;
}

/// Scales of 32 k each, 2^-6 to 2^1, and where a kernel has them; padding is NaN.
struct BlockScales {
  Matrix values;
  Bytes shuffled;

  BlockScales() = default;
  BlockScales(std::int64_t rows, std::int64_t k, std::uint64_t seed)
      : values(rows, k / 32), shuffled(poison(static_cast<std::size_t>((rows + 31) / 32 * k))) {
    std::mt19937_64 random(seed);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t b = 0; b < k / 32; ++b) {
        values(r, b) = std::ldexp(1, static_cast<int>(random() >> 61) - 6);
        put_code(shuffled, static_cast<std::size_t>(shuffled_scale_offset(r, b, k)), Element::e8m0,
                 codegen::encode(Element::e8m0, values(r, b)));
      }
  }
  /// Rows [first, ..) of a matrix, scaled.
  void apply(Matrix& of, std::int64_t first) const {
    for (std::int64_t r = 0; values.size() > 0 && r < of.rows(); ++r)
      for (std::int64_t i = 0; i < of.cols(); ++i) of(r, i) *= values(first + r, i / 32);
  }
};

} // namespace

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
  problem.check = [a = std::move(a), b = std::move(b), sa, sb, bias, row_bias, block_a, block_b, added,
                   residual, beta, operations, m, n, k, parts, sums, in = spec.in, out = spec.out, gap_of_d,
                   between, activated, act, amax = spec.amax, amax_at, tiles,
                   tile_n = spec.tile_n](std::span<const Bytes> buffers) {
    const Bytes of_d = dense(buffers[0], m, gap_of_d);
    Check stray;
    stray.message = "something was stored between the rows of the result";
    if (spread(of_d, m, gap_of_d, between) != buffers[0]) return stray;
    // Below the smallest normal number of f16, 2^-14, rounding errs by up to 2^-25 whatever the value.
    const double subnormal = out == Element::f16       ? std::max(parts, 1.0) * std::ldexp(1, -25)
                             : codegen::bits(out) == 8 ? codegen::smallest_positive(out) / 2
                                                       : 0;
    Matrix most = Matrix::Zero(m, tiles), off = most; // of rows in tiles, and what it may be off by
    constexpr std::int64_t block = 512;
    Check check;
    check.ok = true;
    for (std::int64_t i = 0; i < m; i += block) {
      const std::int64_t rows = std::min(block, m - i);
      Matrix left = rows_of(a, i, rows, k, in);
      block_a.apply(left, i);
      const Matrix result = rows_of(of_d, i, rows, n, out);
      for (std::int64_t j = 0; j < n; j += block) {
        const std::int64_t columns = std::min(block, n - j);
        Matrix right = rows_of(b, j, columns, k, in);
        block_b.apply(right, j);
        const Matrix scale = sa.middleRows(i, rows) * sb.middleRows(j, columns).transpose(),
                     sum = product(left, right, in),
                     of_bias = Matrix::Ones(rows, 1) * bias.middleRows(j, columns).transpose(),
                     of_rows = row_bias.middleRows(i, rows) * Matrix::Ones(1, columns),
                     of_c = added.size() > 0 ? Matrix(beta * added.block(i, j, rows, columns))
                                             : Matrix(Matrix::Zero(rows, columns)),
                     of_residual = residual.size() > 0 ? Matrix(residual.block(i, j, rows, columns))
                                                       : Matrix(Matrix::Zero(rows, columns));
        Matrix reference = sum.cwiseProduct(scale) + of_bias + of_rows + of_c;
        // Sums of i8 products are exact in i32 up to K = 2^17: nothing may differ but by what comes after them.
        // Of f64 what follows the sum is rounded here, too.
        const double unit = std::ldexp(1, in == Element::f64 ? -53 : -24),
                     rounding = codegen::is_integer(in) ? 0 : unit,
                     behind = operations * unit * (in == Element::f64 ? 2 : 1);
        Matrix within = (2.0 * static_cast<double>(k) * rounding + sums * std::ldexp(1, -24) +
                         (parts > 0 ? parts * unit_roundoff(out) : 0)) *
                            (left.cwiseAbs() * right.cwiseAbs().transpose()).cwiseProduct(scale.cwiseAbs()) +
                        behind * (sum.cwiseProduct(scale).cwiseAbs() + of_bias.cwiseAbs() +
                                  of_rows.cwiseAbs() + of_c.cwiseAbs() + of_residual.cwiseAbs());
        for (Eigen::Index e = 0; activated && e < reference.size(); ++e) { // whose slope is at most 1.2
          double& y = reference.data()[e];
          within.data()[e] = (1.2 * within.data()[e] + carried(act, {y})[0].error) * (1 + unit_roundoff(out));
          y = defined(act, {y})[0];
        }
        reference += of_residual;
        for (Eigen::Index r = 0; amax && r < rows; ++r)
          for (Eigen::Index at = 0; at < columns; ++at) {
            double &x = most(i + r, (j + at) / tile_n), &e = off(i + r, (j + at) / tile_n);
            x = std::max(x, std::abs(reference(r, at)));
            e = std::max(e, within(r, at) + std::ldexp(1, -24) * std::abs(reference(r, at)));
          }
        const Matrix bound =
            (within + (codegen::is_integer(out) ? 0 : unit_roundoff(out)) * reference.cwiseAbs()).array() +
            subnormal;
        const Check part = compare(
            result.middleCols(j, columns), reference, bound,
            codegen::is_integer(out) ? "0"
            : in == Element::f64     ? "|s| 2 K 2^-53 sum |a b| + 2^-49 (|s sum| + |bias| + |beta c|) + u |d|"
            : activated
                ? "1.2 (|s| 2 K 2^-24 sum |a b| + 2^-20 (|s sum| + ..)) + errors of the activation + u |d|"
            : parts > 0        ? "(2 K 2^-24 + 2 parts u) |s| sum |a b| + 2^-22 |s sum| + u |c|"
            : added.size() > 0 ? "|s| 2 K 2^-24 sum |a b| + 2^-21 (|s sum| + |bias| + |beta c|) + u |d|"
            : operations > 0   ? "|s| 2 K 2^-24 sum |a b| + 2^-22 (|s sum| + |bias|) + u |c|"
                               : "2 K 2^-24 sum |a b| + u |c|",
            i, j);
        check.bound = part.bound;
        check = both(check, part);
      }
    }
    if (amax)
      check = both(check, compare(from_bytes(buffers[amax_at], m, tiles, Element::f32), most, off,
                                  "of amax: the greatest of its elements' bounds before they are rounded"));
    return check;
  };
  return problem;
}

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
