#include <inlay/codegen/functions.h>

namespace inlay::codegen {
namespace {

auto constants(Expr x) {
  return [arena = x.arena](double value) { return arena->constant(value); };
}
Expr as_it_is(Expr x, double) { return x; }

} // namespace

Expr abs(Expr x) { return functions::abs(x); }
Expr erf(Expr x) { return functions::erf(x, constants(x), as_it_is); }
Expr floor(Expr x) {
  const Expr n = nearest(x);
  return select(x, n, n, n - 1.0);
}
Expr gelu(Expr x) { return functions::gelu(x, constants(x), as_it_is); }
Expr gelu_tanh(Expr x) { return functions::gelu_tanh(x); }
Expr mish(Expr x) { return functions::mish(x, constants(x)); }
Expr relu(Expr x) { return functions::relu(x, constants(x)); }
Expr sigmoid(Expr x) { return functions::sigmoid(x); }
Expr silu(Expr x) { return functions::silu(x); }
Expr softplus(Expr x) { return functions::softplus(x, constants(x)); }
Expr tanh(Expr x) { return functions::tanh(x); }

} // namespace inlay::codegen
