// The kernels of rows on the command line, their problems and their judges.
#include "../data.h"
#include "../kernels.h"
#include "../with_data.h"
#include "row.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/rows/spec.h>

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

const double u32 = std::ldexp(1, -24);

// Below the smallest normal number of f16, rounding errs by up to 2^-25 whatever the value.
double subnormal(Element type) { return type == Element::f16 ? std::ldexp(1, -25) : 0; }

// Below the smallest normal number, the error of rounding in units of the last place is that of the smallest ones.
double half_of_last(Element type) { return codegen::smallest_positive(type) / 2; }

using RowsAsked = RowAsked;
using ReadsRows = Reads<RowsAsked>;
using Program = codegen::Program (*)(const RowSpec&);
using MakeProblem = Problem (*)(const RowSpec&, std::int64_t, std::int64_t, std::uint64_t);

/// A kernel of rows; `folds`: not an activation of each element, `normalises`: with weights.
std::unique_ptr<Kernel> of_rows(const std::string& name, const std::string& summary,
                                const std::string& length, Program program, MakeProblem problem, bool folds,
                                bool normalises) {
  std::vector<Option<RowsAsked>> rows = row_options<RowsAsked>(length, folds);
  if (folds)
    rows.push_back(
        {"in-place", ReadsRows::yes(&RowsAsked::in_place), "no", "Y takes the place of X, and H that of R"});
  if (normalises) {
    rows.push_back(
        {"epsilon", ReadsRows::real(&RowsAsked::epsilon), "1e-5", "added to the mean of the squares"});
    rows.push_back({"residual", ReadsRows::yes(&RowsAsked::residual), "no",
                    "h = x + r is stored, and is what is normalised"});
    rows.push_back(
        {"quant",
         ReadsRows::parsed(&RowsAsked::quantised, "no, i8, fp8",
                           [](const RowsAsked& asked, const std::string& text) -> std::optional<Element> {
                             if (text == "no") return {};
                             return codegen::parse_element(text, codegen::Target::named(asked.arch));
                           }),
         "no", "Y in that type, with a scale for each row"});
  }
  const auto candidates = [=](const RowsAsked& asked, const Flags& fixed) {
    return row_forms(asked, fixed, folds);
  };
  const auto bound = [=](const RowsAsked& asked) {
    return row_clocks(asked, folds, asked.quantised || asked.residual ? 3 : 2);
  };
  return kernel_of<RowsAsked>(
      {summary,
       {name, std::move(rows)},
       [=](const RowsAsked& asked, const BuildOptions& how) { return build(program(asked), how); },
       [=](const RowsAsked& asked, std::uint64_t seed) { return problem(asked, asked.m, asked.n, seed); },
       {"m", length},
       [](const RowsAsked& asked) {
         return std::vector{asked.m, asked.n};
       },
       candidates,
       bound});
}

/// Rows before they are rounded, and how far f32 arithmetic may be from them.
struct Rows {
  Matrix value, error;
};

Rows normalised(const RowSpec& spec, const Matrix& x, const Matrix& w, const Matrix* b) {
  Rows rows{x, x};
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

} // namespace

Problem softmax_problem(const RowSpec& spec, std::int64_t m, std::int64_t n, std::uint64_t seed) {
  const LaunchPlan plan = plan_with_data(softmax_program(spec), {m, n});
  // From -8 to 8, so that the largest and the smallest result differ by 2^23.
  const Matrix x = from_bytes(to_bytes(8 * random_matrix(m, n, spec.type, seed), spec.type), m, n, spec.type);
  Problem problem;
  problem.launch = plan;
  if (spec.in_place)
    problem.buffers = {{"X", to_bytes(x, spec.type), true}};
  else
    problem.buffers = {{"Y", poison(static_cast<std::size_t>(bytes_of(spec.type) * m * n)), true},
                       {"X", to_bytes(x, spec.type), false}};
  problem.flops = 5.0 * static_cast<double>(m * n);
  problem.text =
      fmt::format("Y[{0},{1}] = softmax of the rows of X[{0},{1}], {2}", m, n, to_string(spec.type));
  problem.check = [x, m, n, type = spec.type](std::span<const Bytes> buffers) {
    Matrix reference = x;
    for (auto row : reference.rowwise()) {
      row = (row.array() - row.maxCoeff()).exp().matrix();
      row /= row.sum();
    }
    Matrix distance = x;
    for (auto row : distance.rowwise()) row = (row.maxCoeff() - row.array()).matrix();
    const Matrix bound =
        (((4.0 + static_cast<double>(n) + 4.0 * distance.array()) * u32 + unit_roundoff(type)) *
             reference.array() +
         subnormal(type))
            .matrix();
    return compare(from_bytes(buffers[0], m, n, type), reference, bound,
                   "(4 + N + 4 |x - max|) 2^-24 y + u y");
  };
  return problem;
}

namespace {

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
    const Rows rows = normalised(spec, h, w, centre ? &b : nullptr);
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
      wanted(r, 0) = std::max(most, std::ldexp(1, -100)) / largest;
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

Problem silu_and_mul_problem(const RowSpec& spec, std::int64_t m, std::int64_t d, std::uint64_t seed) {
  Problem problem;
  problem.launch = plan_with_data(silu_and_mul_program(spec), {m, d});
  const Element type = spec.type;
  const Matrix x = from_bytes(to_bytes(8 * random_matrix(m, 2 * d, type, seed), type), m, 2 * d, type);
  problem.buffers = {{"Y", poison(static_cast<std::size_t>(bytes_of(type) * m * d)), true},
                     {"X", to_bytes(x, type), false}};
  problem.flops = 5.0 * static_cast<double>(m * d);
  problem.text = fmt::format("Y[{0},{1}] = silu(X[{0},:{1}]) * X[{0},{1}:], {2}", m, d, to_string(type));
  problem.check = [x, m, d, type](std::span<const Bytes> buffers) {
    const Eigen::ArrayXXd gate = x.leftCols(d).array(), up = x.rightCols(d).array();
    const Matrix y = (gate / (1 + (-gate).exp()) * up).matrix();
    const Matrix bound =
        (((8 + 4 * gate.abs()) * u32 + unit_roundoff(type)) * y.array().abs() + subnormal(type)).matrix();
    return compare(from_bytes(buffers[0], m, d, type), y, bound, "(8 + 4 |x|) 2^-24 |y| + u |y|");
  };
  return problem;
}

std::unique_ptr<Kernel> softmax_kernel() {
  return of_rows("softmax", "softmax of each row, in f32", "n", softmax_program, softmax_problem, true,
                 false);
}
std::unique_ptr<Kernel> rmsnorm_kernel() {
  return of_rows(
      "rmsnorm",
      "RMS normalisation of each row, in f32; after adding a residual, to 8 bits with a scale for each row",
      "n", rmsnorm_program, rmsnorm_problem, true, true);
}
std::unique_ptr<Kernel> layernorm_kernel() {
  return of_rows(
      "layernorm",
      "layer normalisation of each row, in f32; after adding a residual, to 8 bits with a scale for each row",
      "n", layernorm_program, layernorm_problem, true, true);
}
std::unique_ptr<Kernel> silu_and_mul_kernel() {
  return of_rows("silu_and_mul", "silu of half a row times the other half, in f32", "d", silu_and_mul_program,
                 silu_and_mul_problem, false, false);
}

} // namespace inlay::kernels
