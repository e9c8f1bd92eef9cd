// Products that several groups of waves have, each the whole block: stored, added and folded once, and the next product by each for columns of its own.
#include "attack.h"

#include <catch2/catch.hpp>

namespace copies_test {

using namespace adversary;

namespace {

// c(m, n) = sum of a(m, i) b(n, i), which `groups` groups of two waves compute alike.
struct Copies {
  enum Then {
    stored,
    added,
    folded
  } then = stored; ///< folded: y(n) = sum over the 32 rows of a block of c(m, n)
  int groups = 2;
  double said = 1;
};
std::function<Program()> copies(Copies how) {
  return [how] {
    const Element e = Element::f16;
    const MmaTiling mma = MmaTiling::of(Atom::mma_best(target(), e, e, Element::f32, 16), 2, 1, 32, 32, 32, 8)
                              .repeated(how.groups);
    Program k("copies", target(), mma.threads());
    const bool folded = how.then == Copies::folded;
    const Sym m = folded ? Sym(32) : k.size("m", {.most = 1 << 10}),
              n = k.size("n", {.most = 1 << 10, .multiple = 4}),
              deep = k.size("k", {.most = 1 << 10, .multiple = 8});
    const Tensor c = k.output("c", Element::f32, {folded ? Sym(1) : m, n}), a = k.input("a", e, {m, deep}),
                 b = k.input("b", e, {n, deep});
    k.computes(c, [&](const auto& at) {
      const auto element = [&](Sym row) {
        return k.sum(deep, [&](Sym i) { return k(a, {row, i}) * k(b, {at[1], i}); });
      };
      return (folded ? k.sum(Sym(32), element) : element(at[0])) * how.said;
    });
    const Sym bn = k.workgroups(0, n, 32), bm = k.workgroups(1, m, 32);
    const Fragment acc = k.zeros(Element::f32, mma.c(), {32, 32});
    k.loop(deep, 32, {.distance = 1, .ring = 1}, [&](Sym t) {
      k.mma(acc, k.load(k.tile(a, {32, 32}, {bm, t}), mma.a(), 8),
            k.load(k.tile(b, {32, 32}, {bn, t}), mma.b(), 8), mma);
    });
    if (folded)
      k.store(k.fold(Monoid::sum, acc, 0), k.tile(c, {1, 32}, {0, bn}), 4);
    else if (how.then == Copies::added)
      k.add(acc, k.tile(c, {32, 32}, {bm, bn}));
    else
      k.store(acc, k.tile(c, {32, 32}, {bm, bn}), 4);
    return k;
  };
}

// d(m, j) = sum over n < 32 of (sum over i < 32 of a(m, i) b(n, i)) w(j, n): the first product by both waves, of the second one each has every
// other 16 columns.
struct Chained {
  bool exchanged = false; ///< columns of w are read in the order in which they are not stored
  bool half = false;      ///< the first product of 16 of the n alone
  bool own_rows = false;  ///< the second wave stores its columns a row further
};
std::function<Program()> chained(Chained how) {
  return [how] {
    const Element e = Element::f16;
    const Atom& atom = Atom::mma_best(target(), e, e, Element::f32, 16);
    const MmaTiling first = MmaTiling::of(atom, 1, 1, 16, 32, 32, 8).with_columns(8).repeated(2),
                    second = MmaTiling::of(atom, 1, 2, 16, 64, 32, 8);
    Program k("chained", target(), 128);
    const Sym m = k.size("m", {.most = 1 << 10}), columns(64), deep(32), n(32);
    const Tensor d = k.output("d", Element::f32, {m, columns}), a = k.input("a", e, {m, deep}),
                 b = k.input("b", e, {n, deep}), w = k.input("w", e, {columns, n});
    k.computes(d, [&](const auto& at) {
      return k.sum(n, [&](Sym j) {
        return k.sum(deep, [&](Sym i) { return k(a, {at[0], i}) * k(b, {j, i}); }) * k(w, {at[1], j});
      });
    });
    const Sym bm = k.workgroups(0, m, 16);
    const Fragment p = k.zeros(Element::f32, first.c(), {16, 32}),
                   acc = k.zeros(Element::f32, second.c(), {16, 64});
    k.mma(p, k.load(k.tile(a, {16, 32}, {bm, 0}), first.a(), 8),
          k.load(k.tile(b, {32, 32}, {how.half ? Sym(1) : Sym(0), 0}), first.b(), 8), first);
    View of = k.tile(w, {64, 32}, {0, 0});
    if (how.exchanged) of = of.reorder(0, parse_layout("(16,2,2):(1,32,16)"));
    k.mma(acc, k.relayout(p, second.a(), e), k.load(of, second.b(), 8), second);
    k.store(acc, k.tile(d, {16, 64}, {how.own_rows ? bm + Sym(1) : bm, 0}), 4);
    return k;
  };
}

} // namespace

TEST_CASE("copies: what several groups of waves have is stored, added and folded once") {
  const std::vector<Sizes> sizes = {{32, 32, 32}, {33, 20, 96}, {5, 36, 40}},
                           of_rows = {{32, 32}, {20, 96}, {36, 40}};
  const std::string says = "c is what the specification says";
  attack({
      {"stored", "", copies({}), sizes},
      {"by one group", "", copies({.groups = 1}), sizes},
      {"by four", "", copies({.groups = 4}), sizes},
      {"said twice", says, copies({.said = 2}), sizes},
      {"folded", "", copies({.then = Copies::folded}), of_rows},
      {"folded, said twice", says, copies({.then = Copies::folded, .said = 2}), of_rows},
      {"added", "", copies({.then = Copies::added}), sizes},
      {"added, said twice", says, copies({.then = Copies::added, .said = 2}), sizes},
  });
}

TEST_CASE("copies: a second product by each group for its columns") {
  const std::vector<Sizes> sizes = {{16}, {17}, {40}};
  attack({
      {"every other 16", "", chained({}), sizes},
      {"in another order", "d is what the specification says", chained({.exchanged = true}), sizes},
      {"of other rows of b", "A and B are multiplied at the same k", chained({.half = true}), sizes},
      {"stored a block further", "d is what the specification says", chained({.own_rows = true}), sizes},
  });
}

} // namespace copies_test
