// Rows to 8 bits with a scale for each row or for each block of columns, of X or of act(A) * B.
#include "../map/lowered.h"
#include "page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct QuantiseAsked : RowAsked {
  std::string gate;  ///< the activation of the first half of X, or nothing
  int block = 0;     ///< columns that share a scale; 0: all of a row
  bool amax = false; ///< the greatest magnitudes are a result, too
};

/// The least of a row's magnitudes that a scale is made of: its reciprocal must be a number.
constexpr double least = 0x1p-100;

std::string formula(const QuantiseAsked& s) { return s.gate.empty() ? "y = a" : "y = " + s.gate + "(a) * b"; }

void check(const std::string& name, const QuantiseAsked& s) {
  RowSpec rows = s;
  rows.quantised = {}; // has types of its own
  check_rows(name, rows);
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("{}: {}\n  hint   {}", name, what, hint));
  };
  const Target& target = Target::named(s.arch);
  if (s.quantised && *s.quantised != Element::i8 && !codegen::is_float8(target, *s.quantised))
    refuse(fmt::format("--out {}", to_string(*s.quantised)), "i8, " + codegen::float8_names(target));
  if (s.amax && !s.quantised) refuse("--amax without --quant", "it is what scales are made of");
  if (s.block == 0) return;
  if (!s.quantised) refuse("--block without --quant", "blocks are what shares a scale");
  const int v = s.vector_length(), lanes = s.block / v;
  if (s.block % v != 0 || lanes < 1 || lanes > 64 || (lanes & (lanes - 1)) != 0)
    refuse(fmt::format("--block {}", s.block), "32, 64, 128, 256: 1 to 64 vectors");
  if (s.n % s.block != 0)
    refuse(fmt::format("--n {} is no multiple of --block {}", s.n, s.block), "rows of whole blocks");
}

// [quantise]
Program quantise_program(const std::string& name, const QuantiseAsked& s) {
  check(name, s);
  Program k(name, Target::named(s.arch), s.threads, s.where);
  const bool gated = !s.gate.empty();
  const int v = s.vector_length();
  const Formulas f = parse_formulas(formula(s));
  const auto value = [&](const Exprs& x) {
    return lowered<Expr>(
        f, gated ? Exprs{x[0], x[1]} : Exprs{x[0]}, [&](double c, bool = false) { return k.constant(c); },
        [](Expr e, double) { return e; })[0];
  };
  const double largest = s.quantised ? codegen::largest_finite(*s.quantised) : 1;
  const auto magnitude = [](Expr e) { return max(e, e * -1.0); };
  const auto scale_of = [&](Expr most) { return max(most, k.constant(least)) * (1 / largest); };
  const Element out = s.quantised.value_or(s.type);

  if (s.block == 0) {
    const Sym M = k.size("m"), N = k.size("n", {.most = s.streamed ? 1 << 24 : s.capacity(), .multiple = v});
    const Tensor Y = k.output("y", out, {M, N});
    std::optional<Tensor> S, amax;
    if (s.quantised) S = k.output("scale", Element::f32, {M, 1});
    if (s.amax) amax = k.output("amax", Element::f32, {M, 1});
    const Tensor X = gated ? k.input("x", s.type, {M, 2, N}) : k.input("x", s.type, {M, N});
    const auto element = [&](Sym r, Sym i) {
      return gated ? value({k(X, {r, 0, i}), k(X, {r, 1, i})}) : k(X, {r, i});
    };
    const auto greatest = [&](Sym r) {
      return k.fold(Monoid::max, N, [&](Sym i) { return magnitude(element(r, i)); });
    };
    const auto scale = [&](Sym r) { return scale_of(greatest(r)); };
    k.computes(Y, [&](const auto& c) {
      return s.quantised ? element(c[0], c[1]) / scale(c[0]) : element(c[0], c[1]);
    });
    if (S) k.computes(*S, [&](const auto& c) { return scale(c[0]); });
    if (amax) k.computes(*amax, [&](const auto& c) { return greatest(c[0]); });

    Row row(k, s, k.workgroups(0, M, 1), N);
    const std::vector<RowOf> of = gated ? std::vector<RowOf>{{X, 0}, {X, 1}} : std::vector<RowOf>{X};
    if (!S) {
      row.store(Y, of, {}, [&](const Exprs& a, Sym) { return value(a); });
      return k;
    }
    const Fragment most =
        row.fold(Monoid::max, of, {}, [&](const Exprs& a, Sym) { return magnitude(value(a)); });
    const Fragment of_row = k.map({most}, [&](const Exprs& a) { return scale_of(a[0]); });
    row.store(of_row, *S);
    if (amax) row.store(most, *amax);
    const Fragment inverse = k.map({of_row}, [](const Exprs& a) { return rcp(a[0]); });
    row.store(Y, of, {inverse}, [&](const Exprs& a, Sym) { return value(a) * a.back(); });
    return k;
  }

  // A row is blocks x columns of a block, and some lanes of a wave have a block.
  const int blocks = s.capacity() / s.block, block = s.block;
  const Sym M = k.size("m"), N = k.size("blocks", {.most = 1 << 20});
  const Tensor Y = k.output("y", out, {M, N, block}), S = k.output("scale", Element::f32, {M, N, 1});
  const auto amax = s.amax ? std::optional(k.output("amax", Element::f32, {M, N, 1})) : std::nullopt;
  const Tensor X = k.input("x", s.type, {M, gated ? 2 : 1, N, block});
  const auto element = [&](Sym r, Sym b, Sym i) {
    return gated ? value({k(X, {r, 0, b, i}), k(X, {r, 1, b, i})}) : k(X, {r, 0, b, i});
  };
  const auto greatest = [&](Sym r, Sym b) {
    return k.fold(Monoid::max, Sym(block), [&](Sym i) { return magnitude(element(r, b, i)); });
  };
  const auto scale = [&](Sym r, Sym b) { return scale_of(greatest(r, b)); };
  k.computes(Y, [&](const auto& c) { return element(c[0], c[1], c[2]) / scale(c[0], c[1]); });
  k.computes(S, [&](const auto& c) { return scale(c[0], c[1]); });
  if (amax) k.computes(*amax, [&](const auto& c) { return greatest(c[0], c[1]); });

  const Sym row = k.workgroups(0, M, 1), part = k.workgroups(1, N, blocks);
  const Layout tv = codegen::rows_tv(blocks, block, v, s.threads);
  std::vector<Fragment> x;
  for (int half = 0; half < (gated ? 2 : 1); ++half)
    x.push_back(k.load(k.tile(X, {1, 1, blocks, block}, {row, half, part, 0}).keep({2, 3}), tv, v));
  const Fragment y = k.map(x, value);
  const Fragment most = k.fold(Monoid::max, k.map({y}, [&](const Exprs& a) { return magnitude(a[0]); }), 1);
  const Fragment of_block = k.map({most}, [&](const Exprs& a) { return scale_of(a[0]); });
  const auto of_blocks = [&](const Tensor& to) {
    return k.tile(to, {1, blocks, 1}, {row, part, 0}).keep({1, 2});
  };
  k.store(of_block, of_blocks(S), 1);
  if (amax) k.store(most, of_blocks(*amax), 1);
  k.store(k.map({y, of_block}, [](const Exprs& a) { return a[0] * rcp(a[1]); }),
          k.tile(Y, {1, blocks, block}, {row, part, 0}).keep({1, 2}), v);
  return k;
}
// [quantise end]

// The scale by what it is made of, the elements by the scale that was stored.
std::vector<Judged> quantise_reference(const QuantiseAsked& s, const Workload& w, const Results& result) {
  const Formulas f = parse_formulas(formula(s));
  const bool gated = !s.gate.empty();
  const auto rows = static_cast<std::size_t>(s.m), n = static_cast<std::size_t>(s.n);
  std::vector<double> value(rows * n), error(rows * n);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < n; ++i) {
      const std::vector<double>& x = w.values("x");
      const std::vector<double> operands =
          gated ? std::vector{x[2 * r * n + i], x[(2 * r + 1) * n + i]} : std::vector{x[r * n + i]};
      value[r * n + i] = defined(f, operands)[0],
                    error[r * n + i] = gated ? carried(f, operands)[0].error : 0;
    }
  Judged y{"y", value, error, "the error of each f32 operation, carried, over the scale, + u |y|"};
  if (!s.quantised) {
    for (std::size_t i = 0; i < value.size(); ++i)
      y.bound[i] += rounding(s.type, std::abs(value[i]) + error[i]);
    return {y};
  }
  const double largest = codegen::largest_finite(*s.quantised);
  const std::size_t length = s.block > 0 ? static_cast<std::size_t>(s.block) : n;
  Judged scale{"scale", {}, {}, "of its elements' bound / largest + 2 2^-24 scale"},
      amax{"amax", {}, {}, "of its elements' bound + 2^-24 amax"};
  const std::vector<double> stored = result("scale");
  for (std::size_t b = 0; b < value.size() / length; ++b) {
    double most = 0, within = 0;
    for (std::size_t i = b * length; i < (b + 1) * length; ++i)
      most = std::max(most, std::abs(value[i])), within = std::max(within, error[i]);
    amax.value.push_back(most), amax.bound.push_back(within + (gated ? u32 * most : 0));
    scale.value.push_back(std::max(most, least) / largest);
    scale.bound.push_back(within / largest + 2 * u32 * scale.value.back());
    for (std::size_t i = b * length; i < (b + 1) * length; ++i) {
      y.value[i] = value[i] / stored[b];
      const double open = error[i] / stored[b] + 8 * u32 * std::abs(y.value[i]);
      y.bound[i] = open + (codegen::is_integer(*s.quantised)
                               ? 0.5
                               : std::max(unit_roundoff(*s.quantised) * (std::abs(y.value[i]) + open),
                                          codegen::smallest_positive(*s.quantised) / 2));
    }
  }
  return s.amax ? std::vector{scale, y, amax} : std::vector{scale, y};
}

// Rows of different sizes; one of zeros, whose scale is the least.
void quantise_data(const QuantiseAsked& s, Workload& w, std::uint64_t seed) {
  w.random("x", seed, 6);
  std::vector<double> x = w.values("x");
  const std::size_t row = x.size() / static_cast<std::size_t>(s.m);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i / row == 2 ? 0 : x[i] / (i / row % 3 == 1 ? 64 : 1);
  w.set("x", x);
}

std::unique_ptr<Kernel> page(const std::string& name, const std::string& summary, bool gated) {
  using Read = Reads<QuantiseAsked>;
  std::vector<Option<QuantiseAsked>> options = row_options<QuantiseAsked>("n", true);
  if (gated)
    options.push_back(
        {"act",
         Read::one_of(&QuantiseAsked::gate,
                      {{"silu", "silu"}, {"gelu", "gelu"}, {"gelu_tanh", "gelu_tanh"}, {"relu", "relu"}}),
         "gelu_tanh", "of the first half of X; gelu is that of erf"});
  options.push_back(
      {"quant",
       Read::parsed(&QuantiseAsked::quantised, gated ? "no, i8, fp8, bf8" : "i8, fp8, bf8",
                    [=](const QuantiseAsked& asked, const std::string& text) -> std::optional<Element> {
                      if (gated && text == "no") return {};
                      return codegen::parse_element(text, Target::named(asked.arch));
                    }),
       gated ? "no" : "fp8", "type of Y, with scales of f32"});
  options.push_back({"block", Read::number(&QuantiseAsked::block, 0, 512), "0",
                     "columns that share a scale, 32 to 512; 0: all of a row"});
  options.push_back({"amax", Read::yes(&QuantiseAsked::amax), "no",
                     "a result more: what each scale is made of, the greatest magnitude"});
  Page<QuantiseAsked> out{
      .summary = summary,
      .options = {name, std::move(options)},
      .program = [=](const QuantiseAsked& s) { return quantise_program(name, s); },
      .sizes =
          [](const QuantiseAsked& s) {
            return std::vector{s.m, s.block > 0 ? s.n / s.block : s.n};
          },
      .data = quantise_data,
      .reference = quantise_reference,
      .text =
          [=](const QuantiseAsked& s) {
            return fmt::format("Y[{0},{1}] of {2}, {3}{4}", s.m, s.n,
                               s.gate.empty() ? "X" : s.gate + "(A) * B", to_string(s.type),
                               !s.quantised
                                   ? std::string()
                                   : fmt::format(" -> {}, a scale for each {}", to_string(*s.quantised),
                                                 s.block > 0 ? fmt::format("{} columns", s.block) : "row"));
          }};
  out.size_names = {"m", "n"};
  // Blocks do not fold across waves, and rows of them are of any length.
  out.candidates = [](const QuantiseAsked& a, const Flags& fixed) {
    std::vector<Flags> forms = row_forms(a, fixed, a.block == 0);
    if (a.block > 0)
      std::erase_if(forms, [](const Flags& form) { return std::stoll(form.at("vectors")) > 4; });
    return forms;
  };
  out.bound = [](const QuantiseAsked& a) { return row_clocks(a, a.block == 0, a.gate.empty() ? 1.5 : 2.5); };
  return page_of(std::move(out));
}

} // namespace

std::unique_ptr<Kernel> quantise_kernel() {
  return page("quantise", "rows to 8 bits, with a scale for each row or for each block of columns", false);
}
std::unique_ptr<Kernel> gate_and_mul_kernel() {
  return page(
      "gate_and_mul",
      "silu, gelu or relu of half a row times the other half; to 8 bits with scales of rows or blocks", true);
}

} // namespace inlay::kernels
