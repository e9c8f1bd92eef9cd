// Integers of 64 bits: what becomes of one that 32 bits have not, as a row, as a bound, in maps, and as a result.
#include "attack.h"

#include <catch2/catch.hpp>
#include <inlay/codegen/provenance.h>
#include <inlay/solver/prover.h>

namespace wide_test {

namespace wide { // names of their own: the folder is one unit

using namespace adversary;

namespace {

// y(t, i) = x(ids(t), i), of four ids in registers or of one for the workgroup.
struct Named {
  bool by_registers = true;
  Element table = Element::i64;
  std::function<Expr(Expr)> made = {}; ///< of an id before its row is loaded
  bool specified_made = false;         ///< the specification takes ids of i32 that the kernel has not
  int entry = 0;                       ///< after the workgroup's
  bool far = false;
};
std::function<Program()> rows(Named how) {
  return [how] {
    Program k("rows", target(), 64);
    const int at_once = how.by_registers ? 4 : 1;
    const Sym t = k.size("t", {.most = 1 << 10, .multiple = at_once}), v = k.size("v", {.most = 1 << 10}),
              n = k.size("n", {.most = 1 << 10, .multiple = 2});
    const Tensor y = k.output("y", Element::f32, {t, n}), x = k.input("x", Element::f32, {v, n}),
                 ids = k.input("ids", how.table, {t}), low = k.input("low", Element::i32, {t});
    if (how.far) k.far(x);
    k.computes(y, [&](const auto& c) { return k(x, {k.at(how.specified_made ? low : ids, c[0]), c[1]}); });
    const Sym w = k.workgroups(0, t, at_once), part = k.workgroups(1, n, 128);
    const Layout tv = rows_tv(at_once, 128, 2, 64);
    View from = k.tile(x, {at_once, 128}, {0, part});
    if (how.by_registers) {
      const Layout of = codegen::without_axis(tv, 1);
      Fragment named = k.load(k.tile(ids, {at_once}, {w + Sym(how.entry)}), of, 1);
      if (how.made)
        named = k.map(
            {named}, [&](const auto& e) { return how.made(e[0]); }, Element::i32);
      from = from.through(0, named);
    } else {
      from = k.tile(x, {1, 128}, {k.uniform(ids, w + Sym(how.entry)), part});
    }
    k.store(k.load(from, tv, 2), k.tile(y, {at_once, 128}, {w, part}), 2);
    return k;
  };
}

// y(d) = sum over p of w(ids(p), d), the ids loaded in the trip that gathers by them.
std::function<Program()> bag(Pipeline pipeline, bool masked) {
  return [=] {
    Program k("bag", target(), 64);
    const Sym t = k.size("t", {.most = 1 << 10}), v = k.size("v", {.most = 1 << 10}),
              d = k.size("d", {.most = 1 << 10, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {1, d}), w = k.input("w", Element::f32, {v, d}),
                 ids = k.input("ids", Element::i64, {t});
    k.computes(y, [&](const auto& c) { return k.sum(t, [&](Sym p) { return k(w, {k.at(ids, p), c[1]}); }); });
    const Sym b = k.workgroups(0, d, 256);
    const Layout tv = rows_tv(8, 256, 4, 64);
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 0), {1, 256});
    k.loop(t, 8, pipeline, [&](Sym i) {
      const Fragment of = k.load(k.tile(ids, {8}, {i}), without_axis(tv, 1), 1);
      Fragment x = k.load(k.tile(w, {8, 256}, {0, b}).through(0, of), tv, 4);
      if (masked) x = k.fill(x, 0, Sym(8) * i, t, 0);
      k.update(acc, {k.fold(Monoid::sum, x, 0)}, [](const auto& e) { return e[0] + e[1]; });
    });
    k.store(acc, k.tile(y, {1, 256}, {0, b}), 4);
    return k;
  };
}

// The rows of x stored where the ids say, or added there.
std::function<Program()> put(bool adds, bool by_registers) {
  return [=] {
    Program k("put", target(), 64);
    const int at_once = by_registers ? 4 : 1;
    const Sym t = k.size("t", {.most = 1 << 10, .multiple = at_once}), v = k.size("v", {.most = 1 << 10}),
              n = k.size("n", {.most = 1 << 10});
    const Tensor y = adds ? k.output("y", Element::f32, {v, n}) : k.inout("y", Element::f32, {v, n}),
                 x = k.input("x", Element::f32, {t, n}), ids = k.input("ids", Element::i64, {t});
    const auto value = [&](const auto& c) { return k(x, {c[0], c[1]}); };
    adds ? k.scatters(y, ids, value) : k.puts(y, ids, value);
    const Sym w = k.workgroups(0, t, at_once), part = k.workgroups(1, n, 64);
    const Layout tv = rows_tv(at_once, 64, 1, 64);
    const Fragment row = k.load(k.tile(x, {at_once, 64}, {w, part}), tv, 1);
    const View to =
        by_registers ? k.tile(y, {at_once, 64}, {0, part})
                           .through(0, k.load(k.tile(ids, {at_once}, {w}), codegen::without_axis(tv, 1), 1))
                     : k.tile(y, {1, 64}, {k.uniform(ids, w), part});
    adds ? k.add(row, to) : k.store(row, to, 1);
    return k;
  };
}

// The sum of as many elements of a row as `lengths` says, of i64.
std::function<Program()> prefix(bool counted) {
  return [=] {
    Program k("prefix", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 14, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n}),
                 counts = k.input("lengths", Element::i64, {m});
    k.computes(y, [&](const auto& c) {
      const Sym length = k.value(counts, c[0]);
      return k.sum(n, [&](Sym i) { return inside(i, length, k(x, {c[0], i}), 0); });
    });
    const Sym row = k.workgroups(0, m, 1), length = k.uniform(counts, row);
    const Layout tv = rows_tv(1, 256, 4, 64);
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    const auto body = [&](Sym t) {
      const Fragment of = k.load(k.tile(x, {1, 256}, {row, t}), tv, 4);
      const Fragment kept = k.map({of}, [&](const auto& e) {
        const Sym at = Sym(256) * t + k.position(1);
        return inside(at, counted ? length : n, inside(at, n, e[0], 0), 0);
      });
      k.update(acc, {k.fold(Monoid::sum, kept, 1)}, [](const auto& e) { return e[0] + e[1]; });
    };
    k.if_less(0, length, [&] { k.loop(min(n, length), 256, {.distance = 1, .ring = 1}, body); });
    k.store(acc, k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

// y = of(x), of i64 elements and a result of `out`, `v` at a time.
enum class Moved { mapped, stored, through_lds, zeros, filled, folded, relaid };
struct Mapped {
  std::function<Expr(Expr)> of = [](Expr x) { return integer(x); }, made = of;
  Element out = Element::i64;
  int v = 1, multiple = 1;
  Moved how = Moved::mapped;
};
std::function<Program()> map_of(Mapped how) {
  return [how] {
    Program k("integers", target(), 64); // of all of 32 bits, and past them: tests/mutate/emulated.cpp
    const Sym n = k.size("n", {.most = 1 << 20, .multiple = how.multiple});
    const Tensor y = k.output("y", how.out, {n}), x = k.input("x", Element::i64, {n});
    k.computes(y, [&](const auto& c) { return how.of(k(x, {c[0]})); });
    const Sym w = k.workgroups(0, n, 256);
    const Layout tv = line_tv(256, how.v, 64);
    Fragment f = k.load(k.tile(x, {256}, {w}), tv, how.v);
    const View to = k.tile(y, {256}, {w});
    const auto made = [&](const auto& e) { return how.made(e[0]); };
    if (how.how == Moved::through_lds)
      k.copy(k.tile(x, {256}, {w}), k.lds("lds", Element::i64, {256}), tv, 1);
    if (how.how == Moved::zeros) (void)k.zeros(Element::i64, tv, {256});
    if (how.how == Moved::filled) f = k.fill(f, 0, Sym(256) * w, n, 0);
    if (how.how == Moved::folded) f = k.fold(Monoid::max, f, 0);
    if (how.how == Moved::relaid) f = k.relayout(f, line_tv(256, 4 / how.v, 64), Element::i64);
    if (how.how == Moved::stored)
      k.store(f, to, how.v);
    else
      k.store(k.map({f}, made, how.out == Element::i64 ? Element::i32 : how.out), to, how.v);
    return k;
  };
}

} // namespace

TEST_CASE("adversary: an id of 64 bits names the row that it is and no other") {
  const std::vector<Sizes> fours = {{4, 3, 2}, {12, 1, 130}, {40, 300, 6}},
                           ones = {{1, 3, 2}, {13, 1, 130}, {40, 300, 6}};
  const auto low = [](Expr x) { return integer(x) & 0x7fffffff; };
  attack({
      {"rows by registers", "", rows({}), fours},
      {"rows by a number of the workgroup", "", rows({.by_registers = false}), ones},
      {"rows by addresses of 64 bits", "", rows({.far = true}), fours},
      {"rows that are made of ids",
       "a gathered coordinate is an element of a table",
       rows({.made = [](Expr x) { return integer(x); }}),
       fours,
       {},
       "they are the same rows"},
      {"the lower half of an id", "a gathered coordinate is an element of a table", rows({.made = low}),
       fours},
      {"the next id", "y is what the specification says", rows({.entry = 1}), fours},
      {"the next id of the workgroup", "read inside ids", rows({.by_registers = false, .entry = 1}), ones},
      {"ids of another table", "y is what the specification says", rows({.specified_made = true}), fours},
      {"ids loaded in the trip",
       "",
       bag({.distance = 2, .ring = 2}, true),
       {{1, 3, 4}, {9, 2, 260}, {65, 7, 8}}},
      {"ids loaded in the trip, nothing ahead",
       "",
       bag({.distance = 0, .ring = 1}, true),
       {{1, 3, 4}, {70, 9, 256}}},
      {"ids loaded in the trip, three ahead",
       "",
       bag({.distance = 3, .ring = 1}, true),
       {{1, 3, 4}, {70, 9, 256}}},
      {"past the last id",
       "what lies outside of a sum is its empty element",
       bag({.distance = 2, .ring = 2}, false),
       {{9, 2, 260}}},
      {"rows stored by registers", "", put(false, true), {{4, 5, 1}, {12, 30, 70}}},
      {"rows stored by a number", "", put(false, false), {{1, 1, 1}, {13, 30, 70}}},
      {"rows added", "", put(true, true), {{4, 5, 1}, {12, 7, 70}}},
      {"rows added by a number", "", put(true, false), {{1, 1, 1}, {13, 7, 70}}},
  });
}

TEST_CASE("adversary: a number of 64 bits bounds as what it is") {
  const std::vector<Sizes> sizes = {{1, 4}, {9, 300}, {20, 1024}};
  attack({
      {"as many as a length says", "", prefix(true), sizes},
      {"all of them", "y is what the specification says", prefix(false), sizes},
  });
  Program k = prefix(true)();
  const Graph graph = expand(k);
  const Code code = apply(graph, default_schedule(graph));
  solver::SolverProver prover;
  const Derivation derived = derive(code, prover);
  const auto says = [&](const std::string& what) {
    return std::any_of(derived.contract.begin(), derived.contract.end(),
                       [&](const auto& c) { return c.condition == what; });
  };
  CHECK(says("lengths holds nothing negative"));
  CHECK(says("lengths holds nothing of 2^31 or more"));
}

TEST_CASE("adversary: an integer of 64 bits in a map is the nearest of 32, and a result of 64 has its sign") {
  const std::vector<Sizes> any = {{1}, {77}, {300}}, even = {{2}, {78}, {300}};
  const auto plain = [](Expr x) { return x; };
  const auto twice = [](Expr x) { return integer(x) + integer(x); };
  const auto negative = [](Expr x) { return less_signed(integer(x), x.arena->integer(0)); };
  const std::string number = "an element of i64 is taken as a number", memory = "memory alone holds";
  attack({
      {"the integer", "", map_of({}), any},
      {"two at a time", "", map_of({.v = 2, .multiple = 2}), even},
      {"two at a time, of any number",
       "declare n a multiple of 2",
       map_of({.v = 2}),
       {{1}, {77}},
       {},
       "a descriptor leaves out each word by itself"},
      {"as i32", "", map_of({.out = Element::i32}), any},
      {"as f32", "", map_of({.of = [](Expr x) { return to_number(integer(x) & 1023); }, .out = Element::f32}),
       any},
      {"twice, modulo 2^32", "", map_of({.of = twice}), any},
      {"whether it is negative", "", map_of({.of = negative}), any},
      {"its complement", "y is what the specification says",
       map_of({.made = [](Expr x) { return ~integer(x); }}), any},
      {"half of it, without its sign", "y is what the specification says",
       map_of({.of = [](Expr x) { return shift_right_signed(integer(x), x.arena->integer(1)); },
               .made = [](Expr x) { return integer(x) >> 1; }}),
       any},
      {"as a number", number, map_of({.of = plain, .made = plain}), any},
      {"as a number, in the map alone", number, map_of({.made = [](Expr x) { return truncated(x); }}), any},
      {"as a number that is compared", number,
       map_of({.of =
                   [](Expr x) {
                     return truncated(
                         select(x, x.arena->constant(0), x.arena->constant(1), x.arena->constant(2)));
                   }}),
       any},
      {"a copy of 64 bits", "its fragment holds i64 as memory has it", map_of({.how = Moved::stored}), any},
      {"in LDS", memory, map_of({.how = Moved::through_lds}), any},
      {"zeros", memory, map_of({.how = Moved::zeros}), any},
      {"filled", "its fragment holds i64", map_of({.how = Moved::filled}), any},
      {"folded", "its fragment holds i64", map_of({.how = Moved::folded}), any},
      {"relaid", "its fragment holds i64", map_of({.how = Moved::relaid}), any},
  });
}

} // namespace wide

} // namespace wide_test
