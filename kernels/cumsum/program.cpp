// y[n,m] = sum over i <= n of x[i,m]: running sums down the columns of a matrix.
#include "../program_names.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/cumsum/spec.h>

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace inlay::kernels {
namespace {

void check(const CumsumSpec& s) {
  const Refusal refuse{"cumsum"};
  if (s.type != Element::f16 && s.type != Element::bf16 && s.type != Element::f32)
    refuse("type", to_string(s.type), "f16, bf16 or f32; the arithmetic is f32 in any case");
  if (s.threads != 64 && s.threads != 128 && s.threads != 256)
    refuse("threads", std::to_string(s.threads), "64, 128 or 256");
  if (s.rows < 1 || s.rows > 32) refuse("rows", std::to_string(s.rows), "1 to 32, which lie in registers");
  const int most = 128 / codegen::bits(s.type);
  if (s.vector < 0 || s.vector > most || (s.vector & (s.vector - 1)) != 0)
    refuse("vector", std::to_string(s.vector), fmt::format("a power of two up to {}, 16 bytes", most));
}

} // namespace

// [cumsum]
Program cumsum_program(const CumsumSpec& s) {
  check(s);
  const int wide = s.columns(), v = s.vector_length(), of_sums = std::min(v, 4); // 16 bytes of f32
  Program k("cumsum", Target::named(s.arch), s.threads, s.where);
  const Sym N = k.size("n", {.most = 1 << 20, .multiple = s.rows}),
            M = k.size("m", {.most = 1 << 20, .multiple = v}), parts = ceil_div(N, Sym(s.rows));
  const Tensor Y = k.output("y", s.type, {N, M}), C = k.output("carry", Element::f32, {parts, M}),
               X = k.input("x", s.type, {N, M});
  const auto sum_to = [&](Sym end, Sym column) { // of the rows before `end`
    return k.sum(N, Sym(0), end, [&](Sym i) { return k(X, {i, column}); });
  };
  k.computes(Y, [&](const auto& c) { return sum_to(c[0] + Sym(1), c[1]); });
  k.computes(C, [&](const auto& c) { return sum_to(s.rows * (c[0] + Sym(1)), c[1]); });

  const Sym columns = k.workgroups(0, M, wide), part = k.workgroups(1, N, s.rows);
  const Layout tv = codegen::rows_tv(1, wide, v, s.threads), line = codegen::without_axis(tv, 0);
  const auto row = [&](const Tensor& of, Sym number) { return k.tile(of, {1, wide}, {number, columns}); };
  const auto add = [&](const Fragment& a, const Fragment& b, Element element = Element::f32) {
    return k.map(
        {a, b}, [](const Exprs& x) { return x[0] + x[1]; }, element);
  };
  std::vector<Fragment> sums; // of the workgroup's rows, up to each
  for (int i = 0; i < s.rows; ++i) {
    const Fragment one = k.fold(Monoid::sum, k.load(row(X, s.rows * part + Sym(i)), tv, v), 0);
    sums.push_back(i == 0 ? one : add(sums.back(), one));
  }
  const auto before = [&] { return k.load(row(C, part - Sym(1)), line, of_sums); };
  const auto carry = [&](const Fragment& sum) { k.store(sum, row(C, part), of_sums); };
  const auto put = [&](int i, const Fragment& sum) { k.store(sum, row(Y, s.rows * part + Sym(i)), v); };
  k.await("turn", part);
  k.if_less(
      Sym(0), part, [&] { carry(add(before(), sums.back())); }, [&] { carry(sums.back()); });
  k.signal("turn");
  const auto each = [&](const std::function<Fragment(const Fragment&)>& result) {
    for (int i = 0; i < s.rows; ++i) put(i, result(sums[static_cast<std::size_t>(i)]));
  };
  const auto first = [&](const Fragment& sum) {
    return k.map(
        {sum}, [](const Exprs& x) { return x[0]; }, s.type);
  };
  k.if_less(
      Sym(0), part,
      [&] {
        const Fragment all = before();
        each([&](const Fragment& sum) { return add(all, sum, s.type); });
      },
      [&] { each(first); });
  return k;
}
// [cumsum end]

Artifact build_cumsum(const CumsumSpec& spec, const BuildOptions& options) {
  return build(cumsum_program(spec), options);
}

} // namespace inlay::kernels
