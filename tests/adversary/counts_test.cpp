// Histograms: atomics that add to a tile in LDS, at elements that a table names, each entry once.
#include "attack.h"

#include <catch2/catch.hpp>
#include <inlay/algebra/parse.h>
#include <stdexcept>

namespace counts_test {

namespace counts { // names of their own: the folder is one unit

using namespace adversary;

namespace {

// h(r) = how many s < n have ids(s) = r, or the sum of x(s) over these; 128 entries a workgroup and step.
struct Counts {
  int threads = 128, bins = 64;
  bool loops =
      false; ///< one workgroup goes over all entries, else each has 128 and adds what it counted to h
  bool masked = true; ///< nothing is added past the end
  int zeros =
      1; ///< the tile holds 0 before: 1 as a whole, 2 but for its upper half, 3 in each trip, 0 not at all
  double from = 0; ///< what it holds
  int times = 1;   ///< that each entry is added
  int further = 0; ///< entries after the step's that name elements
  bool other_table = false;
  int ones = 1;               ///< what is added
  bool moved = false;         ///< the value is that of another entry
  bool weights = false;       ///< x(s), a table of its own
  bool weighted = false;      ///< of the specification
  int label = 0;              ///< what an element counts, after its own number
  bool stored = false;        ///< a workgroup stores what it counted
  int shown = 0;              ///< elements further that are read of the tile
  int read_early = 0;         ///< 1 between zeros and adds, 2 between two adds
  bool one_axis_more = false; ///< a grid axis that nothing counts
};
std::function<Program()> counts(Counts how) {
  return [how] {
    Program k("counts", target(), how.threads);
    const Sym n = k.size("n", {.most = 1 << 16});
    const Tensor h = k.output("h", Element::i32, {how.bins}), ids = k.input("ids", Element::i32, {n}),
                 others = k.input("others", Element::i32, {n}), x = k.input("x", Element::i8, {n});
    k.computes(h, [&](const auto& c) {
      return k.sum(n, [&](Sym s) {
        const Expr is = equal(integer(k(ids, {s})), integer(k.number(c[0] + Sym(how.label))));
        return choose(is, how.weighted ? k(x, {s}) : k.constant(1), k.constant(0));
      });
    });
    const Sym w = k.workgroups(0, how.loops ? Sym(1) : n, how.loops ? 1 : 128);
    if (how.one_axis_more) (void)k.workgroups(1, Sym(2), 1);
    const Layout tv = line_tv(128, 1, how.threads),
                 each = line_tv(how.bins, 1, how.bins < how.threads ? how.bins : how.threads);
    const Layout all = how.bins < how.threads ? line_tv(how.threads, 1, how.threads) : each;
    const int length = how.bins < how.threads ? how.threads : how.bins;
    const Tensor lds = k.lds("tile", Element::i32, {length}), copy = k.lds("copy", Element::i32, {length});
    const auto clear = [&] {
      if (how.zeros == 0) return;
      const Fragment z = how.from == 0 ? k.zeros(Element::i32, all, {length})
                                       : k.map(
                                             {k.full(how.from, all, {length})},
                                             [](const auto& v) { return truncated(v[0]); }, Element::i32);
      k.store(z, k.whole(lds), 1);
    };
    const auto step = [&](Sym t) {
      const Fragment e = k.load(k.tile(how.other_table ? others : ids, {128}, {t + Sym(how.further)}), tv, 1);
      const auto value = [&](Sym at) {
        std::vector<Fragment> of = {e};
        if (how.weights) of.push_back(k.load(k.tile(x, {128}, {at}), tv, 1));
        return k.map(
            of,
            [&](const auto& v) {
              const Expr one = how.weights ? v[1] : k.constant(how.ones);
              return truncated(how.masked ? inside(Sym(128) * at + k.position(0), n, one, 0) : one);
            },
            Element::i32);
      };
      const Fragment v = value(how.moved ? t + Sym(1) : t);
      for (int i = 0; i < how.times; ++i) {
        k.add(v, k.tile(lds, {128}, {0}).through(0, e));
        if (how.read_early == 2 && i == 0) k.store(k.load(k.whole(lds), all, 1), k.whole(copy), 1);
      }
    };
    if (how.zeros != 3) clear();
    if (how.read_early == 1) k.store(k.load(k.whole(lds), all, 1), k.whole(copy), 1);
    if (how.loops)
      k.loop(n, 128, {.distance = 1, .ring = 1}, [&](Sym t) {
        if (how.zeros == 3) clear();
        step(t);
      });
    else
      step(w);
    const Fragment count = k.load(k.whole(lds), all, 1);
    const View to = k.tile(h, {length}, {Sym(how.shown)});
    how.loops || how.stored ? k.store(count, to, 1) : k.add(count, to);
    return k;
  };
}

// The n-th instruction of a kind, counted over all lists, left out.
std::function<void(Code&)> without(InstKind kind, int n) {
  return [=](Code& code) {
    int left = n;
    for (CodeRegion& r : code.regions)
      for (auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (std::size_t at = 0; at < list->size(); ++at)
          if ((*list)[at].kind == kind && left-- == 0) {
            list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
            return;
          }
    throw std::runtime_error("there is no such instruction");
  };
}
// Each instruction that adds, changed.
std::function<void(Code&)> adding(const std::function<void(Inst&)>& change) {
  return [=](Code& code) {
    for (CodeRegion& r : code.regions)
      for (auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (Inst& i : *list)
          if (i.kind == InstKind::lds_write && i.combine) change(i);
  };
}

} // namespace

TEST_CASE("adversary: what is added in LDS is ordered") {
  const std::vector<Sizes> sizes = {{1}, {128}, {400}};
  const auto drop = [](InstKind kind, int n) { return without(kind, n); };
  attack({
      {"no barrier after the zeros", "what is added to is there", counts({}), sizes,
       drop(InstKind::barrier, 0)},
      {"no barrier before the read", "has arrived there", counts({}), sizes, drop(InstKind::barrier, 1)},
      {"no barrier before a loop of one trip", "what is added to is there", counts({.loops = true}), sizes,
       drop(InstKind::barrier, 1)},
      {"no barrier after the loop", "has arrived there", counts({.loops = true}), sizes,
       drop(InstKind::barrier, 2)},
      {"no zeros", "what is added to is there", counts({}), sizes, drop(InstKind::lds_write, 0)},
      {"written in the place of added", "no two work-items write one place", counts({}), sizes,
       adding([](Inst& i) { i.combine.reset(); })},
      {"the greater one", "is a sum over its entries", counts({}), sizes,
       adding([](Inst& i) { i.combine = Monoid::max; }), "tokens and the emitter have sums alone"},
      {"of one wave alone", "is a sum over its entries", counts({}), sizes, adding([](Inst& i) {
         i.waves = {0, 1};
       })},
      {"of one work-item alone", "the parts of h that workgroups add", counts({}), sizes,
       adding([](Inst& i) { i.access.idle = parse_layout("128:1"); })},
      {"by a number of its own", "is a sum over its entries", counts({}), sizes,
       adding([](Inst& i) { i.access.rows[0] = -1; }), "the emitter has no such instruction"},
      {"the table's entry is the value", "a sum of whole numbers stays inside", counts({}), sizes,
       adding([](Inst& i) { i.uses[0] = i.uses[1]; })},
      {"the value names the element", "a gathered coordinate is an element of a table", counts({}), sizes,
       adding([](Inst& i) { i.uses[1] = i.uses[0]; })},
  });
}

TEST_CASE("adversary: a histogram counts each entry once") {
  const std::vector<Sizes> sizes = {{1}, {127}, {128}, {129}, {400}};
  attack({
      {"parts of workgroups", "", counts({}), sizes},
      {"one workgroup", "", counts({.loops = true}), sizes},
      {"one wave", "", counts({.threads = 64}), sizes},
      {"more elements than work-items", "", counts({.bins = 256}), sizes},
      {"more elements, in a loop", "", counts({.bins = 256, .loops = true}), sizes},
      {"weights", "", counts({.weights = true, .weighted = true}), sizes},
      {"weights, in a loop", "", counts({.loops = true, .weights = true, .weighted = true}), sizes},
      {"past the end", "what lies outside of a sum is its empty element", counts({.masked = false}), sizes},
      {"past the end, in a loop", "what lies outside", counts({.loops = true, .masked = false}), sizes},
      {"onto what is there", "what is added to is there", counts({.zeros = 0}), sizes},
      {"onto ones", "neither 0", counts({.from = 1}), sizes},
      {"cleared in each trip", "a sum is over the whole extent", counts({.loops = true, .zeros = 3}), sizes},
      {"twice", "every element is summed once", counts({.times = 2}), sizes},
      {"twice, in a loop", "every element is summed once", counts({.loops = true, .times = 2}), sizes},
      {"entries further", "it depends on", counts({.further = 1}), sizes},
      {"another table", "h is what", counts({.other_table = true}), sizes},
      {"twos", "h is what", counts({.ones = 2}), sizes},
      {"values of other entries", "it depends on", counts({.moved = true, .weights = true, .weighted = true}),
       sizes},
      {"counts for weights", "h is what", counts({.weighted = true}), sizes},
      {"weights for counts", "h is what", counts({.weights = true}), sizes},
      {"the element after", "h is what", counts({.label = 1}), sizes},
      {"a workgroup's part for all", "a sum is over the whole", counts({.stored = true}), sizes},
      {"read between zeros and adds", "", counts({.read_early = 1}), sizes},
      {"a grid axis more", "x", counts({.one_axis_more = true}), sizes},
  });
}

} // namespace counts

} // namespace counts_test
