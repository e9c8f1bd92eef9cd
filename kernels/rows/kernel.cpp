// The kernels of rows on the command line, their problems and their judges.
#include "../data.h"
#include "../kernels.h"
#include "../options.h"

#include <inlay/kernels/build.h>
#include <inlay/kernels/rows/spec.h>

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

const double u32 = std::ldexp(1, -24);

// Below the smallest normal number of f16, rounding errs by up to 2^-25 whatever the value.
double subnormal(Element type) { return type == Element::f16 ? std::ldexp(1, -25) : 0; }

// Below the smallest normal number, the error of rounding in units of the last place is that of the smallest ones.
double half_of_last(Element type) { return codegen::smallest_positive(type) / 2; }

struct Asked : RowSpec {
  std::int64_t m = 64, n = 1024;
};
using Read = Reads<Asked>;
using Program = codegen::Program (*)(const RowSpec&);
using MakeProblem = Problem (*)(const RowSpec&, std::int64_t, std::int64_t, std::uint64_t);

std::string number_of(Asked& asked, const std::string& text) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), asked.epsilon);
  return error != std::errc() || end != text.data() + text.size() ? "is not a number" : "";
}

/// A kernel of rows; `folds`: not an activation of each element, `normalises`: with weights.
std::unique_ptr<Kernel> of_rows(const std::string& name, const std::string& summary,
                                const std::string& length, Program program, MakeProblem problem, bool folds,
                                bool normalises) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  std::vector<Option<Asked>> rows = {
      {"arch", Read::arch(), "gfx942", "the processor"},
      {"dtype", Read::element(&Asked::type, "f16, bf16, f32"), "f16", "element type"},
      {"m", Read::number(&Asked::m, 1, most), "64", "rows"},
      {length, Read::number(&Asked::n, 1, most), "1024", "columns, a multiple of the elements of a vector"},
      {"threads", Read::number(&Asked::threads, 1, 1024), "auto",
       "work-items of a row: 64, 128, 256, 512 or 1024", "256"},
      {"vectors", Read::number(&Asked::vectors, 1, 128), "auto",
       "vectors for each work-item, up to 128 elements", "4"},
      {"vector", Read::number(&Asked::vector, 0, 8), "auto",
       "elements that one instruction moves: 1 takes any row, 0 is 16 bytes", "0"}};
  if (folds) {
    rows.push_back(
        {"in-place", Read::yes(&Asked::in_place), "no", "Y takes the place of X, and H that of R"});
    rows.push_back({"stream", Read::yes(&Asked::streamed), "auto",
                    "rows of any length, in parts of that many vectors", "no"});
  }
  if (normalises) {
    rows.push_back({"epsilon", {"a number", number_of}, "1e-5", "added to the mean of the squares"});
    rows.push_back(
        {"residual", Read::yes(&Asked::residual), "no", "h = x + r is stored, and is what is normalised"});
    rows.push_back({"quant",
                    Read::parsed(&Asked::quantised, "no, i8, fp8",
                                 [](const Asked& asked, const std::string& text) -> std::optional<Element> {
                                   if (text == "no") return {};
                                   return codegen::parse_element(text, codegen::Target::named(asked.arch));
                                 }),
                    "no", "Y in that type, with a scale for each row"});
  }
  // Vectors of 16 bytes where rows are multiples of them; as many a work-item as a row needs.
  const auto candidates = [=](const Asked& asked, const Flags& fixed) {
    std::vector<Flags> all;
    const auto given = [&](const char* option, std::int64_t otherwise) {
      return fixed.contains(option) ? std::stoll(fixed.at(option)) : otherwise;
    };
    int vector = 128 / codegen::bits(asked.type);
    while (asked.n % vector != 0) vector /= 2;
    for (const std::int64_t threads : {64, 128, 256, 512, 1024}) {
      if (given("threads", threads) != threads && threads != 256) continue;
      const std::int64_t of_row = up(asked.n, given("threads", threads) * vector);
      for (const std::int64_t vectors : {of_row, std::int64_t{2}, std::int64_t{4}}) {
        const bool whole = vectors >= of_row;
        if (vectors * vector > 128 || (vectors != of_row && whole == folds)) continue;
        Flags one = {{"threads", std::to_string(given("threads", threads))},
                     {"vectors", std::to_string(given("vectors", vectors))},
                     {"vector", std::to_string(given(
                                    "vector", vector == 128 / codegen::bits(asked.type) ? 0 : vector))}};
        if (folds) one["stream"] = fixed.contains("stream") ? fixed.at("stream") : whole ? "no" : "yes";
        if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
      }
    }
    return all;
  };
  const auto bound = [=](const Asked& asked) {
    if (folds && !asked.streamed && asked.n > asked.capacity())
      throw std::invalid_argument("a row is longer than the capacity");
    // A workgroup's latencies (launch, load, folds across waves), and instructions of memory of those that share a unit.
    const double trips = folds ? static_cast<double>(up(asked.n, asked.capacity())) : 1;
    const std::int64_t groups = folds ? asked.m : asked.m * up(asked.n, asked.capacity());
    const int waves = asked.threads / 64, resident = std::clamp(16 / waves, 1, 16);
    const double moved = waves * asked.vectors * 16.0 * (asked.quantised || asked.residual ? 3 : 2);
    const double alone = 2200 + (folds && waves > 1 ? 250 : 0) + (trips - 1) * 1000, busy = trips * moved;
    return rounds(asked.arch, groups, resident) * std::max(alone + busy, resident * busy);
  };
  return kernel_of<Asked>(
      {summary,
       {name, std::move(rows)},
       [=](const Asked& asked, const BuildOptions& how) { return build(program(asked), how); },
       [=](const Asked& asked, std::uint64_t seed) { return problem(asked, asked.m, asked.n, seed); },
       {"m", length},
       [](const Asked& asked) {
         return std::vector{asked.m, asked.n};
       },
       candidates,
       bound});
}

// f32 additions that a term of a sum goes through: a work-item's, those across a wave, those across waves, and streamed, those
// of the trips.
double additions(const RowSpec& spec, std::int64_t n) {
  const auto trips = spec.streamed ? static_cast<double>(n) / spec.capacity() + 1 : 0;
  return spec.vectors * spec.vector_length() + 6 + spec.threads / 64 + trips;
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
  const LaunchPlan plan = contract_of(softmax_program(spec)).plan({m, n});
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
  problem.launch = contract_of(centre ? layernorm_program(spec) : rmsnorm_program(spec)).plan({m, n});
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
  problem.launch = contract_of(silu_and_mul_program(spec)).plan({m, d});
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
