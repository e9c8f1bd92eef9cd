// The normalisations on the command line, their data and their judge: rows in double, and how far f32 arithmetic may be from them.
#include "../with_data.h"
#include "kernel.h"

namespace inlay::kernels {
namespace {

// Below the smallest normal number, the error of rounding in units of the last place is that of the smallest ones.
double half_of_last(Element type) { return codegen::smallest_positive(type) / 2; }

/// Rows before they are rounded, and how far f32 arithmetic may be from them.
struct Normalised {
  Matrix value, error;
};

Normalised normalised(const RowSpec& spec, const Matrix& x, const Matrix& w, const Matrix* b) {
  Normalised rows{x, x};
  const double n = static_cast<double>(x.cols()), d = additions(spec, x.cols());
  for (Eigen::Index r = 0; r < x.rows(); ++r) {
    const auto row = x.row(r).array();
    const double mean = b ? row.sum() / n : 0, magnitude = row.abs().sum() / n;
    const Eigen::ArrayXXd centred = row - mean;
    const double deviation = std::sqrt(centred.square().sum() / n + spec.epsilon);
    const Eigen::ArrayXXd scaled = centred / deviation * w.row(0).array();
    rows.value.row(r) = scaled;
    rows.error.row(r) = (6 + d) * u32 * scaled.abs();
    if (!b) continue;
    rows.value.row(r).array() += b->row(0).array();
    const double of_mean = magnitude / deviation, t = std::pow((4 + d) * u32 * of_mean, 2) / 2;
    rows.error.row(r) = (10 + d) * u32 * (w.row(0).array().abs() * of_mean + scaled.abs()) +
                        t * scaled.abs() + u32 * rows.value.row(r).array().abs();
  }
  return rows;
}

Problem norm_problem(const RowSpec& spec, bool centre, std::int64_t m, std::int64_t n, std::uint64_t seed) {
  Problem problem;
  problem.launch = plan_with_data(centre ? layernorm_program(spec) : rmsnorm_program(spec), {m, n});
  const Element type = spec.type, to = spec.quantised.value_or(type);
  Matrix x = random_matrix(m, n, type, seed);
  const Matrix w = random_matrix(1, n, type, seed + 1), b = random_matrix(1, n, type, seed + 2),
               residual = spec.residual ? random_matrix(m, n, type, seed + 3) : Matrix();
  if (centre) { // means that leave few digits for what differs from them
    constexpr double means[] = {0, 16, 0, 1000};
    for (Eigen::Index r = 0; r < m; ++r) x.row(r).array() += means[r % 4];
    x = from_bytes(to_bytes(x, type), m, n, type);
  }
  if (spec.quantised && m > 2) x.row(2).setZero(); // of rmsnorm a row whose scale is the least
  if (spec.quantised && spec.residual && m > 2) x.row(2) = -residual.row(2);

  const auto elements = static_cast<std::size_t>(m * n);
  const auto bytes = [&](Element e) { return static_cast<std::size_t>(bytes_of(e)); };
  const bool over = spec.over_input();
  problem.buffers.push_back(
      {over ? "X" : "Y", over ? to_bytes(x, type) : poison(elements * bytes(to)), true});
  if (spec.residual)
    problem.buffers.push_back({spec.in_place ? "R" : "H",
                               spec.in_place ? to_bytes(residual, type) : poison(elements * bytes(type)),
                               true});
  if (spec.quantised) problem.buffers.push_back({"scale", poison(static_cast<std::size_t>(4 * m)), true});
  if (!over) problem.buffers.push_back({"X", to_bytes(x, type), false});
  if (spec.residual && !spec.in_place) problem.buffers.push_back({"R", to_bytes(residual, type), false});
  problem.buffers.push_back({"W", to_bytes(w, type), false});
  if (centre) problem.buffers.push_back({"B", to_bytes(b, type), false});
  problem.flops = (centre ? 7.0 : 4.0) * static_cast<double>(m * n);
  problem.text = fmt::format("Y[{0},{1}] = {2} of the rows of {3}[{0},{1}] * W[{1}]{4}, {5}{6}", m, n,
                             centre ? "layer normalisation" : "RMS normalisation",
                             spec.residual ? "(X + R)" : "X", centre ? " + B" : "", to_string(type),
                             spec.quantised ? " -> " + to_string(to) + " and a scale for each row" : "");
  problem.check = [=](std::span<const Bytes> buffers) {
    std::size_t next = 1;
    std::optional<Check> before; // of the sum, and of the scales
    const auto with = [&](Check last) {
      const std::string bound = last.bound;
      if (before) last = both(*before, last);
      last.bound = bound;
      return last;
    };
    Matrix h = x;
    if (spec.residual) {
      const Matrix sum = x + residual;
      h = from_bytes(buffers[next++], m, n, type);
      const Matrix bound = (unit_roundoff(type) + u32) * sum.cwiseAbs();
      before = compare(h, sum, (bound.array() + subnormal(type)).matrix(), "(u + 2^-24) |h|");
      if (!before->ok) return *before;
    }
    const Normalised rows = normalised(spec, h, w, centre ? &b : nullptr);
    const std::string formula =
        centre ? "(10 + D) 2^-24 (|w| mean|x| / s + |y - b|) + |y - b| t + 2^-24 |y|" : "(6 + D) 2^-24 |y|";
    if (!spec.quantised) {
      const Matrix bound =
          (rows.error.array() + unit_roundoff(type) * (rows.value.array().abs() + rows.error.array()) +
           subnormal(type))
              .matrix();
      return with(compare(from_bytes(buffers[0], m, n, type), rows.value, bound, formula + " + u |y|"));
    }
    const double largest = codegen::largest_finite(to);
    const Matrix scale = from_bytes(buffers[next], m, 1, Element::f32);
    Matrix wanted(m, 1), bound(m, 1);
    for (Eigen::Index r = 0; r < m; ++r) {
      const double most = rows.value.row(r).cwiseAbs().maxCoeff();
      wanted(r, 0) = std::max(most, least_scaled) / largest;
      bound(r, 0) = rows.error.row(r).maxCoeff() / largest + 2 * u32 * wanted(r, 0);
    }
    before = with(compare(scale, wanted, bound, "scale: of its row's bound / largest + 2 2^-24 scale"));
    if (!before->ok) return *before;
    Matrix v = rows.value, within = rows.error;
    for (Eigen::Index r = 0; r < m; ++r) {
      v.row(r) /= scale(r, 0);
      // Before it is rounded; then by half a unit of the last place, or of the smallest numbers.
      const Eigen::ArrayXXd open = within.row(r).array() / scale(r, 0) + 8 * u32 * v.row(r).array().abs();
      within.row(r) = open + (unit_roundoff(to) * (v.row(r).array().abs() + open)).max(half_of_last(to));
    }
    return with(compare(from_bytes(buffers[0], m, n, to), v, within, formula + ", over the scale, + u |y|"));
  };
  return problem;
}

} // namespace

Problem rmsnorm_problem(const RowSpec& spec, std::int64_t m, std::int64_t n, std::uint64_t seed) {
  return norm_problem(spec, false, m, n, seed);
}
Problem layernorm_problem(const RowSpec& spec, std::int64_t m, std::int64_t n, std::uint64_t seed) {
  return norm_problem(spec, true, m, n, seed);
}

std::unique_ptr<Kernel> rmsnorm_kernel() {
  return kernel_of_rows(
      "rmsnorm",
      "RMS normalisation of each row, in f32; after adding a residual, to 8 bits with a scale for each row",
      "n", rmsnorm_program, rmsnorm_problem, true, true);
}
std::unique_ptr<Kernel> layernorm_kernel() {
  return kernel_of_rows(
      "layernorm",
      "layer normalisation of each row, in f32; after adding a residual, to 8 bits with a scale for each row",
      "n", layernorm_program, layernorm_problem, true, true);
}

} // namespace inlay::kernels
