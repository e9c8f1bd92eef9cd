#include "atom_pictures.h"

#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>

#include <fmt/format.h>

namespace inlay::cli {
namespace {

using namespace codegen;

// A basis layout as places in a rows x columns x blocks tile, blocks side by side.
Layout flat(const Layout& l, int rows, int columns) {
  const int steps[] = {1, rows, rows * columns};
  TupleBuilder<Mode> b;
  b.profile(l.profile().view());
  for (const Mode& m : l.modes())
    b.leaves().push_back(Mode{
        m.extent, m.stride.is_basis() ? Stride(m.stride.scale * Int(steps[m.stride.axis[0]])) : Stride(0)});
  return Layout(std::move(b).finish());
}

} // namespace

MfmaOperands flat_operands(const Atom& atom) {
  const Mma& m = *atom.mma;
  const int k = m.sparse ? m.k / 2 : m.k;
  const auto tile = [&](int rows, int columns) { return IntTuple::of({Int(rows), Int(columns * m.blocks)}); };
  return {flat(m.a, m.m, k), flat(m.b, m.n, m.k), flat(m.c, m.m, m.n),
          tile(m.m, k),      tile(m.n, m.k),      tile(m.m, m.n)};
}

std::vector<Picture> matrix_pictures(const Atom& atom, const std::string& name) {
  return mfma_pictures(name, flat_operands(atom));
}

const Atom& matrix_instruction(const std::string& name_or_shape) {
  std::vector<const Atom*> found; // one a layout
  for (const Atom& a : Atom::all()) {
    if (!a.mma) continue;
    if (a.name == name_or_shape) return a;
    const Mma& m = *a.mma;
    if (m.sparse || m.scaled || m.blocks != 1 || fmt::format("{}x{}x{}", m.m, m.n, m.k) != name_or_shape)
      continue;
    bool known = false;
    for (const Atom* f : found) known = known || (f->mma->a == m.a && f->mma->b == m.b && f->mma->c == m.c);
    if (!known) found.push_back(&a);
  }
  if (found.size() == 1) return *found[0];
  if (found.empty())
    throw CodegenError("there is no such matrix instruction", "given  " + name_or_shape,
                       "a shape, 32x32x8, or a name; `inlay atoms --kind mma` lists them");
  std::string names;
  for (const Atom* f : found)
    names += "\n  " + f->name + "   A " + to_string(f->mma->a) + "   B " + to_string(f->mma->b);
  throw CodegenError("instructions of that shape lay their operands out differently",
                     "given  " + name_or_shape + names, "one of these names");
}

} // namespace inlay::cli
