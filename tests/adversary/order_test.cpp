// Order, sharing out, aliasing: who writes what, once, and before or after whom.
#include "attack.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace order_test {

using namespace adversary;

namespace {

// y = x through LDS, read by other work-items than wrote it; `trips` in a loop over n.
std::function<Program()> turned(int threads, bool loop, int ring = 1) {
  return [=] {
    Program k("turned", target(), threads);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n}),
                 lds = k.lds("lds", Element::f32, {4, 64});
    k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}); });
    const Sym r = k.workgroups(1, m, 4);
    const Layout tv = rows_tv(4, 64, 1, threads), down = columns_tv(4, 64, 1, threads);
    const auto tile = [&](Sym c) {
      k.copy(k.tile(x, {4, 64}, {r, c}), lds, tv, 1);
      k.store(k.read(lds, down, 1), k.tile(y, {4, 64}, {r, c}), 1);
    };
    if (loop)
      k.loop(n, 64, {.distance = ring > 1 ? 1 : 0, .ring = ring}, tile);
    else
      tile(k.workgroups(0, n, 64));
    return k;
  };
}

// Number `n` of the instructions of a kind, in the order of the text, is left out, or what it waits for.
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
    throw std::logic_error("there are fewer");
  };
}
int count(const std::function<Program()>& make, InstKind kind) {
  const Program p = make();
  const Graph graph = expand(p);
  const Code code = apply(graph, default_schedule(graph));
  int n = 0;
  for (const CodeRegion& r : code.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      n += static_cast<int>(
          std::count_if(list->begin(), list->end(), [&](const Inst& i) { return i.kind == kind; }));
  return n;
}

// y = x in tiles of 64, stored as the workgroup's `stores` say.
struct Stored {
  std::vector<int> at = {0}; ///< which of the workgroup's parts are stored, in that order
  int parts = 1;             ///< of a workgroup
  bool unused_axis = false;  ///< more workgroups along an axis that nothing counts
  std::function<Sym(Sym)> to = [](Sym w) { return w; };
  int counted = 64; ///< what the grid counts, parts aside
};
std::function<Program()> stored(Stored how) {
  return [how] {
    Program k("stored", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 20, .multiple = how.parts > 1 ? 64 * how.parts : 1}),
              p = k.size("p", {.most = 8});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
    k.computes(y, [&](const auto& i) { return k(x, {i[0]}); });
    const Sym w = k.workgroups(0, n, how.counted * how.parts);
    if (how.unused_axis) (void)k.workgroups(1, p, 1);
    for (const int j : how.at) {
      const Sym at = how.to(Sym(how.parts) * w + j);
      k.store(k.load(k.tile(x, {64}, {at}), line_tv(64, 1, 64), 1), k.tile(y, {64}, {at}), 1);
    }
    return k;
  };
}

} // namespace

TEST_CASE("adversary: barriers and waits that are gone") {
  std::vector<Attack> all;
  const std::vector<Sizes> sizes = {{4, 64}, {5, 200}, {9, 130}};
  for (const auto& [name, make] : {std::pair("a tile of two waves", turned(128, false)),
                                   std::pair("a loop of two waves", turned(128, true)),
                                   std::pair("a loop of two stages", turned(128, true, 2))}) {
    all.push_back({name, "", make, sizes});
    for (int n = count(make, InstKind::barrier); n-- > 0;)
      all.push_back({name + std::string(" without barrier ") + std::to_string(n), "", make, sizes,
                     without(InstKind::barrier, n), "an order that the emulator need not have"});
    for (int n = count(make, InstKind::wait); n-- > 0;)
      all.push_back({name + std::string(" without wait ") + std::to_string(n), "", make, sizes,
                     without(InstKind::wait, n), "LLVM waits by itself"});
  }
  // What is refused has to be refused by the rules of order; what is not refused, right in every schedule of the tokens.
  for (Attack& a : all) {
    if (!a.change) {
      attack({a});
      continue;
    }
    INFO(a.name);
    const Program p = a.make();
    const Graph graph = expand(p);
    Code code = apply(graph, default_schedule(graph));
    a.change(code);
    const std::string refused = mutate::refuted(code);
    if (refused.empty())
      CHECK(mutate::wrong(code, a.sizes) == "");
    else
      CHECK_THAT(refused, Catch::Contains("arrived there") || Catch::Contains("overwrit") ||
                              Catch::Contains("waited for") ||
                              Catch::Contains("repeats from round to round"));
  }
}

TEST_CASE("adversary: what is written twice, by nobody, or by several") {
  const std::vector<Sizes> sizes = {{1, 2}, {64, 1}, {130, 3}, {300, 2}};
  const std::string once = "every element of y is written once";
  attack({
      {"one tile each", "", stored({}), sizes},
      {"two parts", "", stored({{0, 1}, 2}), {{128, 1}, {512, 2}}},
      {"two parts, the last one first", "", stored({{1, 0}, 2}), {{128, 1}, {512, 2}}},
      {"a tile twice", once, stored({{0, 0}, 1}), sizes},
      {"a part twice", once, stored({{0, 1, 1}, 2}), {{128, 1}, {512, 2}}},
      {"a part that nobody writes", once, stored({{0, 2}, 3}), {{192, 1}, {384, 2}}},
      {"half of what the grid counts", "workgroups share out axis 0 of y", stored({.counted = 128}), sizes},
      {"more workgroups than tiles",
       "workgroups share out axis 0 of y",
       stored({.counted = 32}),
       sizes,
       {},
       "all store the same"},
      {"an axis of the grid that nothing counts",
       "no two workgroups write one element of y",
       stored({.unused_axis = true}),
       sizes,
       {},
       "all of them write the same"},
      {"every other tile", "no grid axis counts these tiles",
       stored({.to = [](Sym w) { return Sym(2) * w; }}), sizes},
      {"each tile of two workgroups", "workgroups share out axis 0 of y",
       stored({.to = [](Sym w) { return floor_div(w, Sym(2)); }}), sizes},
  });
  // Two outputs, one of which nobody writes; one that nothing says anything of.
  const auto two = [](bool specified, bool written) {
    return [=] {
      Program k("two", target(), 64);
      const Sym n = k.size("n", {.most = 1 << 20});
      const Tensor y = k.output("y", Element::f32, {n}), z = k.output("z", Element::f32, {n}),
                   x = k.input("x", Element::f32, {n});
      k.computes(y, [&](const auto& i) { return k(x, {i[0]}); });
      if (specified) k.computes(z, [&](const auto& i) { return k(x, {i[0]}) * 2.0; });
      const Sym w = k.workgroups(0, n, 64);
      const Fragment f = k.load(k.tile(x, {64}, {w}), line_tv(64, 1, 64), 1);
      k.store(f, k.tile(y, {64}, {w}), 1);
      if (written) k.store(k.map({f}, [](const auto& v) { return v[0] * 2.0; }), k.tile(z, {64}, {w}), 1);
      return k;
    };
  };
  attack({
      {"two outputs", "", two(true, true), {{1}, {130}}},
      {"an output that nobody writes", "every element of z is written once", two(true, false), {{130}}},
      {"an output without a specification",
       "every output has a specification",
       two(false, false),
       {{130}},
       {},
       "nothing says what it should hold"},
      {"the same, written", "has a specification", two(false, true), {{130}}, {}, "likewise"},
  });
}

TEST_CASE("adversary: branches") {
  // y = x, in workgroups below `b` and in the others, who write nothing, the same or something else.
  enum class Other { nothing, same, twice, another };
  const auto branched = [](Other other, bool then_too = false) {
    return [=] {
      Program k("branched", target(), 64);
      const Sym n = k.size("n", {.most = 1 << 20}), b = k.size("b", {.most = 1 << 20});
      const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
      k.computes(y, [&](const auto& i) { return k(x, {i[0]}); });
      const Sym w = k.workgroups(0, n, 64);
      const auto put = [&](double by) {
        Fragment f = k.load(k.tile(x, {64}, {w}), line_tv(64, 1, 64), 1);
        if (by != 1) f = k.map({f}, [&](const auto& v) { return v[0] * by; });
        k.store(f, k.tile(y, {64}, {w}), 1);
      };
      k.if_less(
          Sym(64) * w, b, [&] { put(1); },
          [&] {
            if (other == Other::same || other == Other::twice) put(1);
            if (other == Other::twice) put(1);
            if (other == Other::another) put(2);
          });
      if (then_too) put(1);
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{200, 70}, {64, 1}, {130, 1000}};
  attack({
      {"both write", "", branched(Other::same), sizes},
      {"one writes nothing", "on one path nothing is written", branched(Other::nothing), sizes},
      {"one writes twice", "every element of y is written once", branched(Other::twice), sizes},
      {"one writes something else", "y is what the specification says", branched(Other::another), sizes},
      {"and once more after", "every element of y is written once", branched(Other::same, true), sizes},
  });
}

TEST_CASE("adversary: loops whose trips are not alike") {
  // y = 2 x, tile by tile of a row; the code of a trip is changed.
  const auto doubled = [](int distance, int ring, bool fill = false) {
    return [=] {
      Program k("doubled", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
      const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
      k.computes(y, [&](const auto& i) { return fill ? k.constant(3) : k(x, {i[0], i[1]}) * 2.0; });
      const Sym r = k.workgroups(0, m, 1);
      const Layout tv = rows_tv(1, 64, 1, 64);
      k.loop(n, 64, {.distance = distance, .ring = ring}, [&](Sym t) {
        const Fragment f = fill ? k.full(3, tv, {1, 64})
                                : k.map({k.load(k.tile(x, {1, 64}, {r, t}), tv, 1)},
                                        [](const auto& v) { return v[0] * 2.0; });
        k.store(f, k.tile(y, {1, 64}, {r, t}), 1);
      });
      return k;
    };
  };
  const auto in_body = [](InstKind kind, std::function<void(Inst&)> change) {
    return [=](Code& code) {
      for (CodeRegion& r : code.regions)
        if (r.is_loop)
          for (Inst& i : r.body)
            if (i.kind == kind) change(i);
    };
  };
  const std::vector<Sizes> sizes = {{1, 64}, {2, 200}, {1, 500}, {3, 31}};
  std::vector<Attack> all;
  for (const auto& [distance, ring] : {std::pair(0, 1), std::pair(1, 2), std::pair(3, 2)}) {
    const std::string of = " (distance " + std::to_string(distance) + ")";
    all.push_back({"as it is" + of, "", doubled(distance, ring), sizes});
    for (const int by : {1, -1, 64})
      all.push_back({"a trip loads " + std::to_string(by) + " on" + of, ":", doubled(distance, ring), sizes,
                     in_body(InstKind::load, [by](Inst& i) { i.access.origin[1] += Sym(by); })});
    all.push_back({"a trip stores one tile further" + of, ":", doubled(distance, ring), sizes,
                   in_body(InstKind::store, [](Inst& i) { i.access.origin[1] += Sym(64); })});
    all.push_back({"a trip's map is another" + of, ":", doubled(distance, ring), sizes,
                   in_body(InstKind::map, [](Inst& i) { i.map = i.map * 2.0; })});
  }
  all.push_back({"stores alone",
                 "other accesses are under way",
                 doubled(0, 1, true),
                 sizes,
                 {},
                 "right: nobody waits for stores, and they are not counted up"});
  attack(all);
}

TEST_CASE("adversary: a tensor that is read and written") {
  // x = 2 x in place, read and written by work-items as given; y = x before.
  struct InPlace {
    bool by_others = false; ///< written by other work-items than read it
    bool late = false;      ///< read after the store
    int from = 0;           ///< tiles after its own that it reads
    bool exchanged = false; ///< with a barrier between
  };
  const auto in_place = [](InPlace how) {
    return [how] {
      Program k("in_place", target(), 128);
      const Sym n = k.size("n", {.most = 1 << 20, .multiple = 256});
      const Tensor x = k.inout("x", Element::f32, {n}), y = k.output("y", Element::f32, {n});
      k.computes(x, [&](const auto& i) { return k(x, {i[0]}) * 2.0; });
      k.computes(y, [&](const auto& i) { return k(x, {i[0]}); });
      const Sym w = k.workgroups(0, n, 256);
      const Layout ones = line_tv(256, 1, 128), pairs = line_tv(256, 2, 128);
      Fragment f = k.load(k.tile(x, {256}, {w + how.from}), ones, 1);
      const Fragment before = f;
      if (how.exchanged) f = k.relayout(f, pairs, Element::f32);
      const auto twice = [](const auto& v) { return v[0] * 2.0; };
      if (how.by_others && !how.exchanged) {
        // Each half of the tile by the work-items that did not read it.
        const Fragment again = k.load(k.tile(x, {256}, {w + how.from}), pairs, 1);
        k.store(k.map({again}, twice), k.tile(x, {256}, {w}), 1);
      } else {
        k.store(k.map({f}, twice), k.tile(x, {256}, {w}), 1);
      }
      k.store(how.late ? k.load(k.tile(x, {256}, {w}), ones, 1) : before, k.tile(y, {256}, {w}), 1);
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{256}, {512}, {1024}};
  attack({
      {"its own", "", in_place({}), sizes},
      {"by others, after a barrier", "", in_place({.exchanged = true}), sizes},
      {"by others, at once",
       "nothing of x is overwritten while it is read",
       in_place({.by_others = true}),
       sizes,
       {},
       "an order of two waves that need not come"},
      {"read when it is written", "reads what was written", in_place({.late = true}), sizes},
      {"another workgroup's", "x", in_place({.from = 1}), sizes},
  });
}

TEST_CASE("adversary: parts that are added on one path, and a whole sum that is stored on another") {
  // y(i) = the sum over p of x(p, i), by workgroups of one p each.
  const auto shared = [](bool first, bool second) { // whether the path stores all of it
    return [=] {
      Program k("shared", target(), 64);
      const Sym n = k.size("n", {.most = 1000}), m = k.size("m", {.most = 1 << 14});
      const Tensor y = k.output("y", Element::f32, {Sym(1), m}), x = k.input("x", Element::f32, {n, m});
      k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {i, c[1]}); }); });
      const Layout tv = rows_tv(1, 64, 1, 64);
      const Sym column = k.workgroups(0, m, 64), part = k.workgroups(1, n, 1);
      const auto row = [&](Sym p) {
        return k.fold(Monoid::sum, k.load(k.tile(x, {1, 64}, {p, column}), tv, 1), 0);
      };
      const View to = k.tile(y, {1, 64}, {0, column});
      const auto path = [&](bool all) {
        if (!all) return k.add(row(part), to);
        const Fragment sum = k.zeros(Element::f32, without_axis(tv, 0), {1, 64});
        k.loop(n, 1, {.distance = 0, .ring = 1},
               [&](Sym t) { k.update(sum, {row(t)}, [](const auto& v) { return v[0] + v[1]; }); });
        k.store(sum, to, 1);
      };
      k.if_less(
          n, 10, [&] { path(first); }, [&] { path(second); });
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{3, 64}, {20, 70}};
  const std::string same = "all that store a sum store the same one";
  attack({
      {"parts on both", "", shared(false, false), sizes},
      {"all of it on the other", "workgroups share out y in one way", shared(false, true), sizes, {}, same},
      {"all of it on the first", "workgroups share out y in one way", shared(true, false), sizes, {}, same},
      {"all of it on both", "no two workgroups write one element", shared(true, true), sizes, {}, same},
  });
}

TEST_CASE("adversary: loops that may have no trip") {
  // y(r) = the sum of x(r, i) over i < n - s, which may be none.
  const auto summed = [] {
    Program k("summed", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12}), m = k.size("m", {.most = 1 << 8}),
              s = k.size("s", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) { return inside(i, n - s, k(x, {c[0], i}), 0); });
    });
    const Sym r = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment sum = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    k.loop(n - s, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Sym i = 64 * t + k.position(1);
      const Fragment f = k.map({k.load(k.tile(x, {1, 64}, {r, t}), tv, 1)},
                               [&](const auto& v) { return inside(i, n, inside(i, n - s, v[0], 0), 0); });
      k.update(sum, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(sum, k.tile(y, {1, 1}, {r, 0}), 1);
    return k;
  };
  const std::vector<Sizes> sizes = {{70, 2, 5}, {64, 1, 63}, {200, 3, 8}};
  attack({{"of a difference of sizes",
           "the loop runs at least once",
           summed,
           sizes,
           {},
           "for s >= n the launch does not end"}});
}

TEST_CASE("adversary: what a trip leaves to the next one, which follows another rule after some trips") {
  // y = x, row by row: a trip stores the tile that the one before it has loaded.
  const auto ahead = [](const std::function<Sym(Sym)>& next) {
    return [=] {
      Program k("ahead", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 8}),
                n = k.size("n", {.least = 64, .most = 1 << 12, .multiple = 64});
      const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n + Sym(64)});
      k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}); });
      const Sym r = k.workgroups(0, m, 1);
      const Layout tv = rows_tv(1, 64, 1, 64);
      const auto load = [&](Sym t) { return k.load(k.tile(x, {1, 64}, {r, t}), tv, 1); };
      const Fragment held = load(0);
      k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
        k.store(held, k.tile(y, {1, 64}, {r, t}), 1);
        k.update(held, {load(next(t))}, [](const auto& v) { return v[1]; });
      });
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{2, 64}, {1, 320}, {3, 1024}};
  attack({
      {"the next tile", "", ahead([](Sym t) { return t + Sym(1); }), sizes},
      {"this tile again", ":", ahead([](Sym t) { return t; }), sizes},
      {"the next tile, as far as the fourth", ":", ahead([](Sym t) { return min(t + Sym(1), Sym(3)); }),
       sizes},
      {"the next tile, of eight", ":", ahead([](Sym t) { return floor_mod(t + Sym(1), Sym(8)); }), sizes},
      {"of sixteen in two", ":",
       ahead([](Sym t) { return t + Sym(1) - Sym(8) * floor_div(t + Sym(1), Sym(9)); }), sizes},
  });
}

TEST_CASE("adversary: tiles of a workgroup along two axes") {
  // y = x in tiles of 4 x 64, two for a workgroup.
  const auto two = [](int down, int along) {
    return [=] {
      Program k("two", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 8, .multiple = 8}),
                n = k.size("n", {.most = 1 << 10, .multiple = 128});
      const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
      k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}); });
      const Sym c = k.workgroups(0, n, 64 * (1 + along)), r = k.workgroups(1, m, 4 * (1 + down));
      const Layout tv = rows_tv(4, 64, 1, 64);
      for (const int j : {0, 1}) {
        const std::vector<Sym> at = {Sym(1 + down) * r + Sym(j * down), Sym(1 + along) * c + Sym(j * along)};
        k.store(k.load(k.tile(x, {4, 64}, at), tv, 1), k.tile(y, {4, 64}, at), 1);
      }
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{8, 128}, {16, 256}};
  attack({{"side by side", "", two(0, 1), sizes},
          {"one above the other", "", two(1, 0), sizes},
          {"a step down and a step along", "follow one another along one axis", two(1, 1), sizes}});
}

} // namespace order_test
