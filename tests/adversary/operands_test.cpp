// Maps that do not take all of their operands, of one type or of several: right as they are, and refused where the specification takes
// another operand.
#include "attack.h"

#include <catch2/catch.hpp>

namespace operands_test {

using namespace adversary;

namespace {

using Values = std::vector<Expr>;

// y(i) is element i of one input, of two that a map is given.
enum class Form { map, twice, update, loop };
std::function<Program()> takes(Element a, Element b, std::size_t taken, std::size_t specified, Form form,
                               bool mapped = true) {
  return [=] {
    Program k("takes", target(), 64);
    const Element of[] = {a, b};
    const Sym n = k.size("n", {.most = 1 << 12, .multiple = 8});
    const Tensor y = k.output("y", of[taken], {n}), in[] = {k.input("a", a, {n}), k.input("b", b, {n})};
    k.computes(y, [&](const auto& i) { return k(in[specified], {i[0]}); });
    const Sym w = k.workgroups(0, n, 128);
    const Layout tv = line_tv(128, 2, 64);
    const auto load = [&](std::size_t i) { return k.load(k.tile(in[i], {128}, {w}), tv, 2); };
    const auto pick = [&](const Values& x) { return x[taken]; };
    const Fragment f[] = {load(0), load(1)};
    Fragment r;
    if (form == Form::map) {
      r = k.map({f[0], f[1]}, pick, of[taken]);
    } else if (form == Form::twice) {
      r = k.map({f[0], f[1], f[0]}, pick, of[taken]);
    } else {
      // What is updated has the type of the result: it is its own operand, or the other one's.
      r = k.map(
          {f[taken]}, [](const Values& x) { return x[0]; }, of[taken]);
      const auto update = [&](const Fragment& other) {
        k.update(r, {other, f[taken]}, [](const Values& x) { return x[2]; });
        k.update(r, {other}, [](const Values& x) { return x[0]; });
      };
      if (form == Form::update)
        update(f[1 - taken]);
      else
        k.loop(n, 128, {.distance = 0, .ring = 1}, [&](Sym t) {
          const Fragment other = k.load(k.tile(in[1 - taken], {128}, {t}), tv, 2);
          update(mapped ? k.map(
                              {other}, [](const Values& x) { return x[0]; }, of[1 - taken])
                        : other);
        });
    }
    k.store(r, k.tile(y, {128}, {w}), 2);
    return k;
  };
}

} // namespace

TEST_CASE("a map that does not take an operand, of whatever type, is right, and is what it takes") {
  std::vector<Attack> all;
  const Element types[] = {Element::f32, Element::bf16, Element::i8,
                           Element::i32, Element::f64,  Element::i64};
  for (const Element a : types)
    for (const Element b : types)
      for (const std::size_t taken : {0U, 1U})
        for (const Form form : {Form::map, Form::twice, Form::update, Form::loop}) {
          const auto i64 = [&](std::size_t i) { return (i == 0 ? a : b) == Element::i64; };
          if (i64(taken) || (form == Form::loop && i64(1 - taken))) continue; // a map gives none
          const bool alike = a == b && form == Form::map;                     // any neighbour will do
          all.push_back({"operand " + std::to_string(taken) + " of " + to_string(a) + " and " + to_string(b),
                         "",
                         takes(a, b, taken, taken, form),
                         {{8}, {128}, {264}}});
          if (alike)
            all.push_back({"the other operand of " + to_string(a),
                           "y is what the specification says",
                           takes(a, b, taken, 1 - taken, form),
                           {{264}}});
        }
  attack(all);
}

TEST_CASE("an update that takes nothing of a sum under way, or nothing else") {
  // y(m) is 7 as before the loop, or the sum of the last tile alone, which is not what is said.
  const auto kept = [](std::size_t taken) {
    return [=] {
      Program k("kept", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
      const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
      k.computes(y, [&](const auto&) { return k.constant(7); });
      const Sym w = k.workgroups(0, m, 4);
      const Layout tv = rows_tv(4, 64, 1, 64);
      const Fragment a = k.full(7, without_axis(tv, 1), {4, 1});
      k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
        const Fragment s = k.fold(Monoid::sum, k.load(k.tile(x, {4, 64}, {w, t}), tv, 1), 1);
        k.update(a, {s}, [&](const Values& v) { return v[taken]; });
      });
      k.store(a, k.tile(y, {4, 1}, {w, 0}), 1);
      return k;
    };
  };
  attack({{"what it held", "", kept(0), {{1, 1}, {5, 130}}},
          {"the last tile's sum", "y is what the specification says", kept(1), {{1, 1}, {5, 130}}}});
}

TEST_CASE("what a trip loads and nothing takes is refused at its line") {
  attack({{"an operand of an update",
           "nothing takes it",
           takes(Element::i8, Element::f32, 0, 0, Form::loop, false),
           {{264}},
           {},
           "it is right"}});
}

TEST_CASE("what a map does not take of rows, folds and sums") {
  // y(m, n) is x(m, n), or a row's: what is broadcast, or nothing at all, is all that is taken.
  enum class Of { row, number, sum };
  const auto rows = [](Of of, double factor) {
    return [=] {
      Program k("rows", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 64});
      const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n}),
                   r = k.input("r", Element::f32, {m});
      k.computes(y, [&](const auto& c) {
        const Expr value = of == Of::row   ? k(r, {c[0]})
                           : of == Of::sum ? k.sum(n,
                                                   [&](Sym i) {
                                                     return k(x, {c[0], i});
                                                   })
                                           : k.constant(3);
        return value * factor;
      });
      const Sym w = k.workgroups(0, m, 4);
      const Layout tv = rows_tv(4, 64, 1, 64);
      const Fragment all = k.load(k.tile(x, {4, 64}, {w, 0}), tv, 1),
                     row = k.load(k.tile(r, {4}, {w}), without_axis(tv, 1), 1),
                     sum = k.fold(Monoid::sum, all, 1);
      const Fragment out = k.map({all, sum, row}, [&](const Values& v) {
        return of == Of::row ? v[2] : of == Of::sum ? v[1] : k.constant(3);
      });
      k.update(sum, {row}, [](const Values& v) { return v[0]; });
      k.store(out, k.tile(y, {4, 64}, {w, 0}), 1);
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {4, 33}};
  attack({{"a row", "", rows(Of::row, 1), sizes},
          {"a number", "", rows(Of::number, 1), sizes},
          {"a row's sum", "", rows(Of::sum, 1), sizes},
          {"twice a row", "y is what the specification says", rows(Of::row, 2), sizes},
          {"another number", "y is what the specification says", rows(Of::number, 2), sizes},
          {"twice a row's sum", "y is what the specification says", rows(Of::sum, 2), sizes}});
}

} // namespace operands_test
