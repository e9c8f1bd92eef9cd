// The greatest and the least of integers, with a sign and without: over a tile, lanes, waves and trips.
#include "attack.h"

#include <catch2/catch.hpp>

namespace extremes_test {

namespace extremes {

using namespace adversary;

namespace {

struct Row {
  Monoid of = Monoid::signed_max, said = Monoid::signed_max;
  bool tile = false; ///< one, and no trips
  int threads = 64;
  std::int64_t begins = 0; ///< in the place of the empty element
  bool begins_so = false;
  bool filled = true;      ///< what lies outside is the empty element
  int more = 0;            ///< places that are taken for the row's
  int step = 1;            ///< tiles from trip to trip
  bool other_way = false;  ///< choose(b < a, a, b)
  bool reversed = false;   ///< the other one of the two
  bool other_sign = false; ///< of the comparison
  bool numbers = false;    ///< the specification is that of the numbers
  bool again = false;      ///< each trip counts twice
  bool looks = false;      ///< a map in the loop looks at it
  int further = 0;         ///< tiles
  std::function<Expr(Expr)> body = [](Expr w) { return w; }, said_body = {}, after = {};
  Pipeline pipeline{.distance = 1, .ring = 2};
};
bool without_sign(Monoid m) { return m == Monoid::unsigned_max || m == Monoid::unsigned_min; }
bool greatest(Monoid m) { return m == Monoid::signed_max || m == Monoid::unsigned_max; }
std::function<Program()> row(Row how) {
  return [how] {
    Program k("extremes", target(), how.threads);
    const int wide = how.threads;
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = how.tile ? wide : 1 << 12});
    const Tensor y = k.output("y", Element::i32, {m, 1}), x = k.input("x", Element::i32, {m, n});
    k.computes(y, [&](const auto& c) {
      if (how.numbers)
        return k.fold(greatest(how.said) ? Monoid::max : Monoid::min, n, [&](Sym i) {
          return k(x, {c[0], i});
        });
      const Expr all = k.fold(how.said, n, [&](Sym i) {
        return (how.said_body ? how.said_body : how.body)(integer(k(x, {c[0], i})));
      });
      return how.after ? how.after(all) : all;
    });
    const Sym r = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, wide, 1, how.threads), one = without_axis(tv, 1);
    const auto empty = static_cast<std::int64_t>(empty_element(how.of));
    const auto fold = [&](Sym t) {
      const Fragment f = k.load(k.tile(x, {1, wide}, {r, t}), tv, 1);
      return k.fold(how.of,
                    k.map(
                        {f},
                        [&](const auto& v) {
                          const Expr w = how.body(integer(v[0]));
                          if (!how.filled) return w;
                          return choose(less_signed(integer(k.number(Sym(wide) * t + k.position(1))),
                                                    integer(k.number(n + Sym(how.more)))),
                                        w, k.integer(empty));
                        },
                        Element::i32),
                    1, Element::i32);
    };
    const auto joined = [&](const auto& v) {
      Expr a = integer(v[0]), b = integer(v[1]);
      if (how.other_way) std::swap(a, b);
      const Expr less = without_sign(how.of) != how.other_sign ? less_unsigned(a, b) : less_signed(a, b);
      return greatest(how.of) != how.reversed ? choose(less, b, a) : choose(less, a, b);
    };
    Fragment all = k.zeros(Element::i32, one, {1, 1});
    if (how.tile) {
      all = fold(0);
    } else {
      all = k.map(
          {all}, [&](const auto&) { return k.integer(how.begins_so ? how.begins : empty); }, Element::i32);
      k.loop(n, wide * how.step, how.pipeline, [&](Sym t) {
        const Fragment f = fold(Sym(how.step) * t + Sym(how.further));
        k.update(all, {f}, joined);
        if (how.again) k.update(all, {f}, joined);
        if (how.looks) k.update(all, {}, [](const auto& v) { return integer(v[0]) ^ 1; });
      });
    }
    if (how.after)
      all = k.map(
          {all}, [&](const auto& v) { return how.after(integer(v[0])); }, Element::i32);
    k.store(all, k.tile(y, {1, 1}, {r, 0}), 1);
    return k;
  };
}
} // namespace

TEST_CASE("adversary: the greatest and the least of integers") {
  const std::vector<Sizes> sizes = {{1, 1}, {2, 63}, {3, 64}}, more = {{1, 1}, {2, 65}, {3, 128}, {1, 300}};
  const std::string says = "y is what the specification says";
  std::vector<Attack> all;
  for (const Monoid of : {Monoid::signed_max, Monoid::signed_min, Monoid::unsigned_max, Monoid::unsigned_min})
    for (const bool tile : {true, false}) {
      const auto put = [&](const std::string& name, const std::string& because,
                           const std::function<void(Row&)>& change, const std::string& unseen = "") {
        Row how{.of = of, .said = of, .tile = tile};
        change(how);
        all.push_back({std::string(to_string(of)) + (tile ? " of a tile, " : ", ") + name,
                       because,
                       row(how),
                       tile ? sizes : more,
                       {},
                       unseen});
      };
      put("as it is", "", [](Row&) {});
      put("two waves", "", [](Row& h) { h.threads = 128; });
      put("of a function", "", [](Row& h) { h.body = [](Expr w) { return w * w ^ 0x55; }; });
      put("a function of it", "", [](Row& h) { h.after = [](Expr w) { return w + 3; }; });
      // Beyond the end of a row there is 0, which is less than all words without a sign.
      put("what lies outside", of == Monoid::unsigned_max ? "" : "what lies outside",
          [](Row& h) { h.filled = false; });
      put(
          "what lies outside, of a function", "what lies outside",
          [](Row& h) {
            h.filled = false;
            h.body = [](Expr w) { return w ^ 0x0ff; };
          },
          of == Monoid::unsigned_max ? "some word is more than 255" : "");
      put(
          "one place too many", of == Monoid::unsigned_max ? says : "what lies outside",
          [](Row& h) { h.more = 1; }, of == Monoid::unsigned_max ? "0 is less than all" : "");
      put("one place left out", ":", [](Row& h) { h.more = -1; });
      put("the other end", says, [&](Row& h) {
        h.said = greatest(of) ? (without_sign(of) ? Monoid::unsigned_min : Monoid::signed_min)
                              : (without_sign(of) ? Monoid::unsigned_max : Monoid::signed_max);
      });
      put("the other sign", says, [&](Row& h) {
        h.said = greatest(of) ? (without_sign(of) ? Monoid::signed_max : Monoid::unsigned_max)
                              : (without_sign(of) ? Monoid::signed_min : Monoid::unsigned_min);
      });
      put(
          "that of numbers", says, [](Row& h) { h.numbers = true; },
          without_sign(of) ? "" : "the same, and said otherwise");
      put("another element", says, [](Row& h) {
        h.body = [](Expr w) { return w ^ 8; };
        h.said_body = [](Expr w) { return w; };
      });
      if (tile) continue;
      put("one stage", "", [](Row& h) { h.pipeline = {.distance = 0, .ring = 1}; });
      put("compared the other way", "", [](Row& h) { h.other_way = true; });
      put("each twice", "", [](Row& h) { h.again = true; });
      put("every other tile", ":", [](Row& h) { h.step = 2; });
      put("of the next tile", ":", [](Row& h) { h.further = 1; });
      put("the other one of the two", ":", [](Row& h) { h.reversed = true; });
      put("compared with the other sign", ":", [](Row& h) { h.other_sign = true; });
      put(
          "begins with 5", ":", [](Row& h) { h.begins = 5, h.begins_so = true; },
          of == Monoid::unsigned_max ? "some word is more than 5" : "");
      put("begins with 0", of == Monoid::unsigned_max ? "" : ":",
          [](Row& h) { h.begins = 0, h.begins_so = true; });
      put("looked at in the loop", ":", [](Row& h) { h.looks = true; });
    }
  attack(all);
}

} // namespace extremes

} // namespace extremes_test
