// Sums of integers modulo 2^32: over a tile, lanes, waves and trips, and added to memory.
#include "attack.h"

#include <catch2/catch.hpp>

namespace wrapping_test {

namespace wrapping {

using namespace adversary;

namespace {

enum class By { trips, lanes, tile, memory };
using One = std::function<Expr(Program&, Expr)>;
struct Row {
  By by = By::trips;
  int threads = 128;
  Pipeline pipeline{.distance = 1, .ring = 2};
  One body = [](Program&, Expr w) { return w; }; ///< of each element
  One said = {};                                 ///< of the specification, `body` else
  One after = {}, said_after = {};               ///< of the sum
  std::function<Expr(Expr, Expr)> add = [](Expr a, Expr b) { return integer(a) + integer(b); };
  int times = 1;        ///< that each element is added
  bool numbers = false; ///< the specification is the sum of the numbers
  bool in_f32 = false;  ///< the fold is of f32
  bool early = false;   ///< a map looks at the sum in the loop
  int begins = 0;       ///< what the sum begins with
  int moved = 0;        ///< rows
  int most = 1 << 12;   ///< columns
  Element out = Element::i32;
};

// y(m) = after(sum of body(x(m, i)) over i < n), modulo 2^32.
std::function<Program()> row(Row how) {
  return [how] {
    Program k("wrapping", target(), how.threads);
    const int wide = 2 * how.threads;
    const bool tile = how.by == By::tile, memory = how.by == By::memory;
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = tile ? wide : how.most});
    const Tensor y = k.output("y", how.out, {m, 1}), x = k.input("x", Element::i32, {m, n});
    const One same = [](Program&, Expr w) { return w; };
    const One said = how.said ? how.said : how.body, after = how.after ? how.after : same,
              said_after = how.said_after ? how.said_after : after;
    k.computes(y, [&](const auto& c) {
      const auto element = [&](Sym i) { return k(x, {c[0], i}); };
      if (how.numbers) return k.sum(n, element);
      return said_after(k, k.sum(n, [&](Sym i) { return said(k, integer(element(i))); }));
    });
    const Sym r = k.workgroups(0, m, 1), part = memory ? k.workgroups(1, n, wide) : Sym(0);
    const Layout tv = rows_tv(1, wide, 2, how.threads), one = without_axis(tv, 1);
    const auto load = [&](Sym t) { return k.load(k.tile(x, {1, wide}, {r + Sym(how.moved), t}), tv, 1); };
    const auto mapped = [&](Sym t) {
      return k.map(
          {load(t)}, [&](const auto& v) { return how.body(k, integer(v[0])); }, Element::i32);
    };
    const auto fold = [&](const Fragment& f) {
      return how.in_f32 ? k.fold(Monoid::sum, f, 1) : k.fold(Monoid::sum, f, 1, Element::i32);
    };
    const auto add = [&](const Fragment& acc, const Fragment& s) {
      for (int again = 0; again < how.times; ++again)
        k.update(acc, {s}, [&](const auto& v) { return how.add(v[0], v[1]); });
    };
    std::optional<Fragment> sum;
    if (tile || memory) {
      sum = fold(mapped(part));
    } else {
      const bool lanes = how.by == By::lanes;
      const Layout& of = lanes ? tv : one;
      const std::vector<int> extents{1, lanes ? wide : 1};
      const Fragment acc = how.begins == 0 ? k.zeros(Element::i32, of, extents)
                                           : k.map(
                                                 {k.full(how.begins, of, extents)},
                                                 [](const auto& v) { return truncated(v[0]); }, Element::i32);
      k.loop(n, wide, how.pipeline, [&](Sym t) {
        if (lanes)
          for (int again = 0; again < how.times; ++again)
            k.update(acc, {load(t)},
                     [&](const auto& v) { return integer(v[0]) + how.body(k, integer(v[1])); });
        else
          add(acc, fold(mapped(t)));
        if (how.early) k.update(acc, {}, [](const auto& v) { return integer(v[0]) ^ 1; });
      });
      sum = lanes ? fold(acc) : acc;
    }
    if (how.after)
      sum = k.map(
          {*sum}, [&](const auto& v) { return how.after(k, integer(v[0])); }, how.out);
    const View to = k.tile(y, {1, 1}, {r, 0});
    if (memory)
      k.add(*sum, to);
    else
      k.store(*sum, to, 1);
    return k;
  };
}
Row of(By by) {
  Row how;
  how.by = by;
  return how;
}
} // namespace

TEST_CASE("adversary: sums of integers modulo 2 to the 32nd") {
  const std::vector<Sizes> sizes = {{1, 1}, {2, 127}, {3, 128}},
                           more = {{1, 1}, {2, 257}, {3, 512}, {1, 700}};
  std::vector<Attack> all;
  for (const auto& [name, by] : {std::pair("trips", By::trips), std::pair("lanes", By::lanes),
                                 std::pair("tile", By::tile), std::pair("memory", By::memory)}) {
    const auto put = [&, name = name, by = by](const std::string& what, const std::string& because,
                                               const std::function<void(Row&)>& change) {
      Row how = of(by);
      change(how);
      all.push_back({std::string(name) + ", " + what, because, row(how), by == By::tile ? sizes : more});
    };
    const std::string says = "y is what the specification says";
    const auto plus_one = [](Program&, Expr w) { return w + 1; };
    const auto twice = [](Program&, Expr w) { return w * 2; };
    const auto plain = [](Program&, Expr w) { return w; };
    put("as it is", "", [](Row&) {});
    put("one wave", "", [](Row& how) { how.threads = 64; });
    put("squares", "", [](Row& how) { how.body = [](Program&, Expr w) { return w * w * 0x10001; }; });
    put("ones", "", [](Row& how) { how.body = [](Program&, Expr w) { return popcount(w ^ (w >> 1)); }; });
    put("chosen", "", [](Row& how) {
      how.body = [](Program& k, Expr w) { return choose(less_signed(w, k.integer(0)), w, k.integer(0)); };
    });
    put("another element", says, [&](Row& how) { how.body = twice, how.said = plain; });
    put("as numbers", says, [](Row& how) { how.numbers = true; });
    all.back().unseen = "small numbers do not wrap";
    put("another row", says, [](Row& how) { how.moved = 1; });
    put("what is outside", "what lies outside", [&](Row& how) { how.body = plus_one; });
    put("what is outside, by the specification", "what lies outside",
        [&](Row& how) { how.body = [](Program&, Expr w) { return leading_zeros(w); }; });
    if (by == By::memory) continue;
    put("i64", "", [](Row& how) { how.out = Element::i64; });
    put("a function", "", [](Row& how) { how.after = [](Program&, Expr s) { return s ^ (s >> 16); }; });
    put("a function of another sum", says, [&](Row& how) {
      how.after = [](Program&, Expr s) { return s >> 1; };
      how.said_after = plain;
    });
    put("half of it", "", [](Row& how) {
      how.out = Element::f32;
      how.after = [](Program&, Expr s) { return to_number(s) * 0.5; };
    });
    put("half of it inside", says, [&](Row& how) {
      how.out = Element::f32;
      how.after = [](Program&, Expr s) { return to_number(s) * 0.5; };
      how.said_after = [](Program&, Expr s) { return to_number(s); };
    });
    if (by == By::tile) continue;
    put("one stage", "", [](Row& how) { how.pipeline = {.distance = 0, .ring = 1}; });
    put("twice", ":", [](Row& how) { how.times = 2; });
    put("begins with 5", ":", [](Row& how) { how.begins = 5; });
    put("looked at in the loop", ":", [](Row& how) { how.early = true; });
  }
  // What a trip adds.
  const auto adds = [&](const std::string& name, const std::string& because,
                        const std::function<Expr(Expr, Expr)>& add) {
    Row how;
    how.add = add;
    all.push_back({"adds " + name, because, row(how), more});
  };
  adds("numbers of i32", "", [](Expr a, Expr b) { return a + b; });
  adds("in the other order", "", [](Expr a, Expr b) { return integer(b) + integer(a); });
  adds("less", ":", [](Expr a, Expr b) { return integer(a) - integer(b); });
  adds("twice as much", ":", [](Expr a, Expr b) { return integer(a) + integer(b) * 2; });
  adds("it twice", ":", [](Expr a, Expr b) { return integer(a) + integer(b) + integer(b); });
  adds("one more", ":", [](Expr a, Expr b) { return integer(a) + integer(b) + 1; });
  adds("bits", ":", [](Expr a, Expr b) { return integer(a) | integer(b); });
  Row floats;
  floats.in_f32 = true;
  floats.add = [](Expr a, Expr b) { return integer(a) + truncated(b); };
  all.push_back({"folds of f32", ":", row(floats), more, {}, "f32 has small numbers as they are"});
  attack(all);
}

} // namespace wrapping
} // namespace wrapping_test
