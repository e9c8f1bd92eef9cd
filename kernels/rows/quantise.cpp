// y[m,n] = x[m,n] / scale[m] with scale[m] = max_n |x[m,n]| / largest number of the type, of rows or of blocks of columns.
#include "quantise.h"

namespace inlay::kernels {
namespace {

void check(const std::string& name, const QuantiseAsked& s) {
  RowSpec rows = s;
  rows.quantised = {}; // has types of its own
  check_rows(name, rows);
  const Refusal refuse{name};
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

} // namespace

// [quantise]
Program quantise_program(const std::string& name, const QuantiseAsked& s) {
  check(name, s);
  Program k(name, Target::named(s.arch), s.threads, s.where);
  const bool gated = !s.gate.empty();
  const int v = s.vector_length();
  const Formulas f = parse_formulas(formula(s));
  const auto value = [&](const Exprs& x) {
    return expressions_of(k, f, gated ? Exprs{x[0], x[1]} : Exprs{x[0]})[0];
  };
  const double largest = s.quantised ? codegen::largest_finite(*s.quantised) : 1;
  const auto scale_of = [&](Expr most) { return max(most, k.constant(least_scaled)) * (1 / largest); };
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

} // namespace inlay::kernels
