// `quantise` and `gate_and_mul` on the command line, their data and their judge.
#include "quantise.h"

namespace inlay::kernels {
namespace {

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
    scale.value.push_back(std::max(most, least_scaled) / largest);
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
