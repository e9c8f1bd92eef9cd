// y[m,n] = f(a[m,n], b[0,n], c[m,0], ..): any formula of elements, of whole matrices, rows, columns and numbers.
#include "operands.h"

namespace inlay::kernels {

// [map]
Program map_program(const MapAsked& a) {
  check_map(a);
  const Formulas& f = a.formulas;
  const bool flat = a.flat();
  const int tile = a.tile(), v = a.vector_length();
  Program k("map", Target::named(a.arch), a.threads);
  const Sym M = flat ? Sym(1) : k.size("rows"),
            N = flat ? k.size("count", {.most = a.whole_words() ? line : line / 8 * 8,
                                        .multiple = a.whole_words() ? 1 : v})
                     : k.size("columns", {.most = 1 << 24, .multiple = v});
  std::map<std::string, Tensor> tensors;
  const auto declare = [&](const std::string& name) {
    if (tensors.contains(name)) return;
    const Element type = a.operands.at(name).type;
    const Operand& of = a.operands.at(name);
    const Sym rows = of.has_rows() ? M : Sym(1), columns = of.has_columns() ? N : Sym(1);
    const std::vector<Sym> extents = flat ? std::vector{columns} : std::vector{rows, columns};
    tensors.emplace(name, !f.writes(name) ? k.input(name, type, extents)
                          : f.reads(name) ? k.inout(name, type, extents)
                                          : k.output(name, type, extents));
  };
  for (const std::string& name : f.outputs) declare(name);
  for (const std::string& name : f.inputs) declare(name);

  const auto results = [&](const Exprs& inputs) { return expressions_of(k, f, inputs); };
  for (std::size_t i = 0; i < f.outputs.size(); ++i)
    k.computes(tensors.at(f.outputs[i]), [&](const auto& c) {
      Exprs inputs;
      for (const std::string& name : f.inputs) {
        const Operand& of = a.operands.at(name);
        const Sym row = of.has_rows() ? c.front() : Sym(0), column = of.has_columns() ? c.back() : Sym(0);
        inputs.push_back(flat ? k(tensors.at(name), {column}) : k(tensors.at(name), {row, column}));
      }
      return results(inputs)[i];
    });

  const Sym row = flat ? Sym(0) : k.workgroups(0, M, 1), column = k.workgroups(flat ? 0 : 1, N, tile);
  const Layout tv = flat ? codegen::line_tv(tile, v, a.threads) : codegen::rows_tv(1, tile, v, a.threads);
  const auto instruction = [&](const std::string& name) {
    return std::min(v, 128 / codegen::bits(a.operands.at(name).type));
  };
  const auto part = [&](const std::string& name) {
    const bool wide = a.operands.at(name).has_columns();
    const int extent = wide ? tile : 1;
    const Sym at = wide ? column : Sym(0);
    if (flat) return k.tile(tensors.at(name), {extent}, {at});
    return k.tile(tensors.at(name), {1, extent}, {a.operands.at(name).has_rows() ? row : Sym(0), at});
  };
  std::vector<Fragment> inputs;
  for (const std::string& name : f.inputs) {
    const bool wide = a.operands.at(name).has_columns();
    inputs.push_back(k.load(part(name), wide ? tv : codegen::without_axis(tv, flat ? 0 : 1),
                            wide ? instruction(name) : 1));
  }
  for (std::size_t i = 0; i < f.outputs.size(); ++i)
    k.store(k.map(
                inputs, [&](const Exprs& x) { return results(x)[i]; },
                f.integer(f.outputs[i]) ? Element::i32 : Element::f32),
            part(f.outputs[i]), instruction(f.outputs[i]));
  return k;
}
// [map end]

} // namespace inlay::kernels
