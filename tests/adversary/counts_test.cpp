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
  int tile = 128;     ///< entries of a step; fewer than work-items: several have one, and one of them adds it
  int bound = 0;      ///< from how far past the end on nothing is added
  int early = 0;      ///< entries after its own that say whether it is added
  bool inner = false; ///< 3 more are added but for the last entry
  int said = 1;       ///< what is counted, of the specification
  int plus = 0;       ///< is added, and said, beside the weight
  bool other_extent = false; ///< the weights are of another length
  bool chosen = false;       ///< x where that is more than 0, else x and one
  bool quotient = false;     ///< x / x is added, which is 1 where x is not 0
  /// What `add` refuses, put into the program behind its back: 1 a tile with a swizzle, 2 a tile of f32, 3 f32 to a tile of i32, 4 the
  /// values of other entries
  int behind = 0;
  int between = 0; ///< between two adds 1 the lower half is cleared, 2 the upper one
  int halves = 0;  ///< the entries of a step in two adds: 1 both by the table, 2 the second by the other one
};
std::function<Program()> counts(Counts how) {
  return [how] {
    Program k("counts", target(), how.threads);
    const Sym n = k.size("n", {.most = 1 << 16});
    const Tensor h = k.output("h", Element::i32, {how.bins}), ids = k.input("ids", Element::i32, {n}),
                 others = k.input("others", Element::i32, {n}),
                 x = k.input("x", Element::i8, {how.other_extent ? k.size("m", {.most = 1 << 16}) : n});
    k.computes(h, [&](const auto& c) {
      return k.sum(n, [&](Sym s) {
        const Expr is = equal(integer(k(ids, {s})), integer(k.number(c[0] + Sym(how.label))));
        const Expr weight = k(x, {s});
        if (how.chosen)
          return choose(is,
                        choose(less_signed(k.integer(0), integer(weight)), weight, weight + k.constant(1)),
                        k.constant(0));
        return choose(is, (how.weighted ? k(x, {s}) : k.constant(how.said)) + k.constant(how.plus),
                      k.constant(0));
      });
    });
    const Sym w = k.workgroups(0, how.loops ? Sym(1) : n, how.loops ? 1 : how.tile);
    if (how.one_axis_more) (void)k.workgroups(1, Sym(2), 1);
    const std::string some = std::to_string(how.tile),
                      copies = std::to_string(std::max(1, how.threads / how.tile));
    const Layout tv = how.tile < how.threads ? parse_layout("((" + some + "," + copies + "),1):((1@0,0),0)")
                                             : line_tv(how.tile, 1, how.threads),
                 other_tv = line_tv(128, 2, 64),
                 each = line_tv(how.bins, 1, how.bins < how.threads ? how.bins : how.threads);
    const Layout all = how.bins < how.threads ? line_tv(how.threads, 1, how.threads) : each;
    const int length = how.bins < how.threads ? how.threads : how.bins;
    const Element held = how.behind == 2 ? Element::f32 : Element::i32;
    const Tensor lds = k.lds("tile", held, {length}, how.behind == 1 ? Swizzle(2, 0, 3) : Swizzle()),
                 copy = k.lds("copy", Element::i32, {length}),
                 plain = how.behind == 1 || how.behind == 2 ? k.lds("plain", Element::i32, {length}) : lds;
    std::optional<Fragment> behind;
    const auto clear = [&] {
      if (how.zeros == 0) return;
      const Sym pos = Sym(length) * w + k.position(0);
      const Fragment z =
          how.zeros == 4
              ? k.map(
                    {k.load(k.tile(x, {length}, {w}), all, 1)},
                    [&](const auto& v) { return truncated(inside(pos, n, v[0] * k.constant(0), 5)); },
                    Element::i32)
          : how.from == 0 ? k.zeros(held, all, {length})
                          : k.map(
                                {k.full(how.from, all, {length})},
                                [](const auto& v) { return truncated(v[0]); }, Element::i32);
      k.store(z, k.whole(lds), 1);
    };
    const auto half = [&](Sym t, const Tensor& table) {
      const Layout of = parse_layout("((64," + std::to_string(how.threads / 64) + "),1):((1@0,0),0)");
      const Fragment e = k.load(k.tile(table, {64}, {t}), of, 1),
                     v = k.map(
                         {e},
                         [&](const auto&) {
                           return truncated(inside(Sym(64) * t + k.position(0), n, k.constant(1), 0));
                         },
                         Element::i32);
      k.add(v, k.tile(lds, {64}, {0}).through(0, e));
    };
    const auto step = [&](Sym t) {
      if (how.halves != 0) {
        half(Sym(2) * t, ids);
        return half(Sym(2) * t + Sym(1), how.halves == 1 ? ids : others);
      }
      const Fragment e =
          k.load(k.tile(how.other_table ? others : ids, {how.tile}, {t + Sym(how.further)}), tv, 1);
      const auto value = [&](Sym at) {
        std::vector<Fragment> of = {e};
        if (how.weights) of.push_back(k.load(k.tile(x, {how.tile}, {at}), tv, 1));
        return k.map(
            of,
            [&](const auto& v) {
              const Sym entry = Sym(how.tile) * at + k.position(0);
              Expr one = how.quotient ? v[1] / v[1] : how.weights ? v[1] : k.constant(how.ones);
              if (how.chosen) one = choose(less_signed(k.integer(0), integer(one)), one, one + k.constant(1));
              if (how.inner) one = one + inside(entry + Sym(1), n, k.constant(3), 0);
              if (how.plus != 0) one = one + k.constant(how.plus);
              return truncated(how.masked ? inside(entry + Sym(how.early), n + Sym(how.bound), one, 0) : one);
            },
            Element::i32);
      };
      const Fragment v = value(how.moved ? t + Sym(1) : t);
      if (how.behind == 2 || how.behind == 3)
        behind = k.map(
            {e}, [&](const auto&) { return inside(Sym(how.tile) * t + k.position(0), n, k.constant(1), 0); });
      if (how.behind == 4)
        behind = k.map(
            {k.load(k.tile(x, {128}, {t}), other_tv, 1)},
            [&](const auto& of_x) { return truncated(inside(Sym(128) * t + k.position(0), n, of_x[0], 0)); },
            Element::i32);
      for (int i = 0; i < how.times; ++i) {
        k.add(v, k.tile(plain, {how.tile}, {0}).through(0, e));
        if (how.between != 0 && i == 0)
          k.store(k.zeros(Element::i32, line_tv(128, 1, 128), {128}), k.tile(lds, {128}, {how.between - 1}),
                  1);
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
    if (how.behind != 0)
      for (Op& op : k.mutable_body())
        if (auto* c = std::get_if<CopyOp>(&op.what); c && c->combine && c->to->tensor == plain.id) {
          c->to->tensor = lds.id;
          if (behind) c->from_fragment = behind->id;
        }
    Fragment count = k.load(k.whole(lds), all, 1);
    if (held == Element::f32)
      count = k.map(
          {count}, [](const auto& v) { return truncated(v[0]); }, Element::i32);
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
// The first wait after an instruction that adds, left out.
void without_wait(Code& code) {
  bool added = false;
  for (CodeRegion& r : code.regions)
    for (auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (auto at = list->begin(); at != list->end(); ++at) {
        added = added || (at->kind == InstKind::lds_write && at->combine);
        if (added && at->kind == InstKind::wait) {
          list->erase(at);
          return;
        }
      }
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
      {"no barrier after a read", "overwritten while it is read", counts({.read_early = 1}), sizes,
       drop(InstKind::barrier, 1), "waves of the emulator are not that far apart"},
      {"no wait before the read", "has arrived there", counts({}), sizes, without_wait,
       "the emulator adds at once"},
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
      {"an element further", "something is added to them", counts({}), sizes,
       adding([](Inst& i) { i.access.origin[0] += Sym(1); }), "tokens add it, and the emitter does not"},
      {"an element further, of the tile", "something is added to them", counts({}), sizes,
       adding([](Inst& i) { i.access.elements[0][0] = 1; }), "the emitter has no such instruction"},
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
      {"the lower half cleared between two adds", "neither 0",
       counts({.bins = 256, .times = 2, .between = 1}), sizes},
      {"the upper half cleared between two adds", "neither 0",
       counts({.bins = 256, .times = 2, .between = 2}), sizes},
      {"in two adds", "", counts({.halves = 1}), sizes},
      {"in two adds, the second by another table", "an accumulator sums one element", counts({.halves = 2}),
       sizes},
      {"two entries a step", "", counts({.tile = 2}), sizes},
      {"two entries a step, past the end", "what lies outside of a sum is its empty element",
       counts({.masked = false, .tile = 2}), sizes},
      {"nothing is added from one past the end on", "what lies outside of a sum", counts({.bound = 1}),
       sizes},
      {"nothing is added from one before the end on", "h is what", counts({.bound = -1}), sizes},
      {"added where the next entry is", "it depends on", counts({.early = 1}), sizes},
      {"more but for the last entry", "h is what", counts({.inner = true, .said = 4}), sizes},
      {"weights and one", "", counts({.weights = true, .weighted = true, .plus = 1}), sizes},
      {"weights and one, past the end", "what lies outside of a sum",
       counts({.masked = false, .weights = true, .weighted = true, .plus = 1}), sizes},
      {"weights of another length",
       "it is not known what is added from m on",
       counts({.weights = true, .weighted = true, .other_extent = true}),
       {{128, 100}},
       {},
       "nothing is said of what the specification reads there"},
      {"weights of another length, past the end",
       "it is not known what is added from m on",
       counts({.masked = false, .weights = true, .weighted = true, .other_extent = true}),
       {{128, 100}},
       {},
       "nothing is said of what the specification reads there"},
      {"one of two, by the weight", "", counts({.weights = true, .chosen = true}), sizes},
      {"one of two, by the weight, past the end", "what lies outside of a sum",
       counts({.masked = false, .weights = true, .chosen = true}), sizes},
      {"onto fives past the end", "neither 0", counts({.zeros = 4}), sizes},
      {"x / x for 1",
       "a map loses no condition",
       counts({.weights = true, .quotient = true}),
       sizes,
       {},
       "tokens have no entry that is 0"},
      {"onto a tile with a swizzle", "lies at", counts({.behind = 1}), sizes},
      {"onto floats", "of its type", counts({.behind = 2}), sizes},
      {"floats onto integers", "of its type", counts({.behind = 3}), sizes},
      {"values of entries that others have", "another index than what names its element",
       counts({.threads = 64, .weights = true, .weighted = true, .behind = 4}), sizes},
      {"an entry that two work-items have", "every element is summed once", counts({.tile = 64}), sizes,
       adding([](Inst& i) { i.access.idle.reset(); })},
  });
}

namespace {
// y(i) = the sum of x(i) over n - 5, stored as a product; where `told`, zeros are stored for n up to 5.
std::function<Program()> less_than_none(bool told) {
  return [=] {
    Program k("less", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
    k.computes(y, [&](const auto& c) { return k.sum(n - Sym(5), [&](Sym) { return k(x, {c[0]}); }); });
    const Sym w = k.workgroups(0, n, 64);
    const Layout tv = line_tv(64, 1, 64);
    const Fragment f = k.load(k.tile(x, {64}, {w}), tv, 1);
    const auto product = [&] {
      k.store(k.map({f}, [&](const auto& v) { return k.number(n - Sym(5)) * v[0]; }), k.tile(y, {64}, {w}),
              1);
    };
    if (told)
      k.if_less(
          n, Sym(6), [&] { k.store(k.zeros(Element::f32, tv, {64}), k.tile(y, {64}, {w}), 1); }, product);
    else
      product();
    return k;
  };
}
} // namespace

TEST_CASE("adversary: a sum over fewer than none is 0") {
  attack({{"times how many, which may be less than 0",
           "is what the specification says",
           less_than_none(false),
           {{3}, {70}}},
          {"0 where there are none", "", less_than_none(true), {{3}, {5}, {6}, {70}}}});
}

} // namespace counts

} // namespace counts_test
