// The functions of formulas by <cmath>, and what formulas come to by them, in double.
#include "functions.h"

#include "language.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace inlay::kernels {
namespace formula {

std::uint64_t word(double v) { return static_cast<std::uint64_t>(v); }
double modulo(std::uint64_t v) { return static_cast<double>(v % 0x100000000ULL); }
std::int64_t with_sign(double v) { return static_cast<std::int64_t>(v) - (v >= 0x1p31 ? 0x100000000 : 0); }
double without_sign(std::int64_t v) { return static_cast<double>(v < 0 ? v + 0x100000000 : v); }
double whole(double x) { return std::isnan(x) ? 0 : std::trunc(std::clamp(x, -0x1p31, 0x1p31 - 1)); }

namespace {

double halves(double v, double w) { // bits 32 to 63 of the product, by halves
  const std::uint64_t a = word(v) >> 16, b = word(v) & 0xffff, c = word(w) >> 16, d = word(w) & 0xffff;
  const std::uint64_t middle = a * d + (b * d >> 16);
  return static_cast<double>(a * c + (middle >> 16) + ((middle & 0xffff) + b * c) / 0x10000);
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

} // namespace

const std::vector<Function>& functions() {
  using X = const std::vector<double>&;
  static const std::vector<Function> all = {
      {"abs", "abs(x)", 1, [](X x) { return std::abs(x[0]); }},
      {"and", "and(v, w)", 2, [](X x) { return modulo(word(x[0]) & word(x[1])); }, "www"},
      {"bits", "bits(a)", 1,
       [](X x) { return static_cast<double>(std::bit_cast<std::uint32_t>(static_cast<float>(x[0]))); }, "nw"},
      {"choose", "choose(w, x, y)", 3, [](X x) { return x[0] != 0 ? x[1] : x[2]; }, "wxxx"},
      {"clamp", "clamp(x, low, high)", 3, [](X x) { return std::min(std::max(x[0], x[1]), x[2]); }},
      {"equal", "equal(v, w)", 2, [](X x) { return x[0] == x[1] ? 1.0 : 0.0; }, "www"},
      {"erf", "erf(x)", 1, [](X x) { return std::erf(x[0]); }},
      {"exp", "exp(x)", 1, [](X x) { return std::exp(x[0]); }},
      {"exp2", "exp2(x)", 1, [](X x) { return std::exp2(x[0]); }},
      {"float", "float(w)", 1, [](X x) { return static_cast<double>(with_sign(x[0])); }, "wn"},
      {"from_bits", "from_bits(w)", 1,
       [](X x) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(x[0]))); }, "wn"},
      {"gelu", "gelu(x)", 1, [](X x) { return x[0] / 2 * std::erfc(-x[0] / std::sqrt(2.0)); }},
      {"gelu_tanh", "gelu_tanh(x)", 1,
       [](X x) {
         return x[0] / 2 *
                (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x[0] + 0.044715 * std::pow(x[0], 3))));
       }},
      {"int", "int(a)", 1, [](X x) { return without_sign(static_cast<std::int64_t>(x[0])); }, "nw"},
      {"leading_zeros", "leading_zeros(w)", 1,
       [](X x) { return x[0] == 0 ? 32.0 : 31 - std::floor(std::log2(x[0])); }, "ww"},
      {"less", "less(v, w)", 2, [](X x) { return with_sign(x[0]) < with_sign(x[1]) ? 1.0 : 0.0; }, "www"},
      {"log", "log(x)", 1, [](X x) { return std::log(x[0]); }},
      {"log2", "log2(x)", 1, [](X x) { return std::log2(x[0]); }},
      {"max", "max(x, y)", 2, [](X x) { return std::max(x[0], x[1]); }},
      {"min", "min(x, y)", 2, [](X x) { return std::min(x[0], x[1]); }},
      {"mish", "mish(x)", 1, [](X x) { return x[0] * std::tanh(softplus(x[0])); }},
      {"mul_hi", "mul_hi(v, w)", 2, [](X x) { return halves(x[0], x[1]); }, "www"},
      {"not", "not(w)", 1, [](X x) { return 4294967295.0 - x[0]; }, "ww"},
      {"or", "or(v, w)", 2, [](X x) { return modulo(word(x[0]) | word(x[1])); }, "www"},
      {"popcount", "popcount(w)", 1, [](X x) { return static_cast<double>(std::popcount(word(x[0]))); },
       "ww"},
      {"rcp", "rcp(x)", 1, [](X x) { return 1 / x[0]; }},
      {"relu", "relu(x)", 1, [](X x) { return std::max(x[0], 0.0); }},
      {"round", "round(x)", 1,
       [](X x) {
         const double below = std::floor(x[0]), part = x[0] - below;
         return part == 0.5 ? 2 * std::round(x[0] / 2) : part < 0.5 ? below : below + 1;
       }},
      {"rsqrt", "rsqrt(x)", 1, [](X x) { return 1 / std::sqrt(x[0]); }},
      {"sar", "sar(w, n)", 2,
       [](X x) {
         const double by = std::ldexp(1, static_cast<int>(word(x[1]) % 32));
         return without_sign(
             static_cast<std::int64_t>(std::floor(static_cast<double>(with_sign(x[0])) / by)));
       },
       "www"},
      {"shl", "shl(w, n)", 2, [](X x) { return modulo(word(x[0]) << word(x[1]) % 32); }, "www"},
      {"shr", "shr(w, n)", 2,
       [](X x) { return std::floor(std::ldexp(x[0], -static_cast<int>(word(x[1]) % 32))); }, "www"},
      {"sigmoid", "sigmoid(x)", 1, [](X x) { return 1 / (1 + std::exp(-x[0])); }},
      {"silu", "silu(x)", 1, [](X x) { return x[0] / (1 + std::exp(-x[0])); }},
      {"softplus", "softplus(x)", 1, [](X x) { return softplus(x[0]); }},
      {"sqrt", "sqrt(x)", 1, [](X x) { return std::sqrt(x[0]); }},
      {"square", "square(x)", 1, [](X x) { return x[0] * x[0]; }},
      {"tanh", "tanh(x)", 1, [](X x) { return std::tanh(x[0]); }},
      {"trailing_zeros", "trailing_zeros(w)", 1,
       [](X x) {
         int count = 0;
         while (count < 32 && std::fmod(x[0], std::ldexp(2, count)) == 0) ++count;
         return static_cast<double>(count);
       },
       "ww"},
      {"trunc", "trunc(x)", 1, [](X x) { return without_sign(static_cast<std::int64_t>(whole(x[0]))); },
       "nw"},
      {"ufloat", "ufloat(w)", 1, [](X x) { return x[0]; }, "wn"},
      {"uless", "uless(v, w)", 2, [](X x) { return x[0] < x[1] ? 1.0 : 0.0; }, "www"},
      {"xor", "xor(v, w)", 2, [](X x) { return modulo(word(x[0]) ^ word(x[1])); }, "www"}};
  return all;
}

} // namespace formula

std::string formula_functions() {
  std::string all;
  for (const formula::Function& f : formula::functions()) all += (all.empty() ? "" : ", ") + f.form;
  return all;
}

std::vector<double> defined(const Formulas& formulas, const std::vector<double>& inputs) {
  return evaluated<double>(
      formulas, inputs, [](double v, bool) { return v; },
      [](const std::string& f, const std::vector<double>& x) {
        if (f == "+") return x[0] + x[1];
        if (f == "-") return x[0] - x[1];
        if (f == "*") return x[0] * x[1];
        if (f == "/") return x[0] / x[1];
        if (f == "iadd") return formula::modulo(formula::word(x[0]) + formula::word(x[1]));
        if (f == "isub") return formula::modulo(formula::word(x[0]) + 0x100000000ULL - formula::word(x[1]));
        if (f == "imul") return formula::modulo(formula::word(x[0]) * formula::word(x[1]));
        if (f == "neg") return -x[0];
        if (f == "select") return x[0] >= x[1] ? x[2] : x[3];
        for (const formula::Function& one : formula::functions())
          if (one.name == f) return one.defined(x);
        throw std::logic_error("no function " + f);
      });
}

} // namespace inlay::kernels
