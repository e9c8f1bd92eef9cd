// What a refusal says of formulas is what the user wrote: sizes, entries of tables, positions. No symbol of the claims is in it.
#include "attack.h"

#include <inlay/codegen/schedule.h>
#include <inlay/kernels/build.h>

#include <catch2/catch.hpp>
#include <cmath>

namespace messages_test {

namespace messages { // names of their own: the folder is one unit

using namespace adversary;
using Catch::Matchers::Contains;

namespace {

std::string refusal(const Program& program) {
  try {
    const Graph graph = expand(program);
    (void)kernels::prove(apply(graph, default_schedule(graph)));
  } catch (const std::exception& e) {
    CHECK_FALSE(names_internals(e.what()));
    CHECK_THAT(e.what(), !Contains("about  \n"));
    return e.what();
  }
  return "";
}

// The sum of each row in tiles of 256, with nothing said of what lies behind a row.
Program rows(int multiple, int vector, const char* table) {
  Program k("rows", target(), 64);
  const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 14, .multiple = multiple});
  const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
  const bool ends = *table != 0;
  const Sym end = ends ? k.uniform(k.input(table, Element::i32, {1}), 0) : n;
  k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {c[0], i}); }); });
  const Sym row = k.workgroups(0, m, 1);
  const Layout tv = rows_tv(1, 256, vector, 64);
  const Fragment acc = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
  k.loop(end, 256, {.distance = 0, .ring = 1}, [&](Sym t) {
    const Fragment x_part = k.load(k.tile(x, {1, 256}, {row, t}), tv, vector);
    k.update(acc, {k.fold(Monoid::sum, k.map({x_part}, [](const auto& v) { return exp(v[0]); }), 1)},
             [](const auto& v) { return v[0] + v[1]; });
  });
  k.store(acc, k.tile(y, {1, 1}, {row, 0}), 1);
  return k;
}

// One tile of a row of any length, and its maximum, which is more than 0 at least.
Program tile(int times, int wide) {
  Program k("tile", target(), 64);
  const Sym m = k.size("m", {.most = 1 << 10, .multiple = times}),
            n = k.size("n", {.most = 256, .multiple = 4});
  const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
  k.computes(y, [&](const auto& c) {
    return k.fold(Monoid::max, n, [&](Sym i) { return k(x, {c[0], i}); });
  });
  const Sym row = k.workgroups(0, m, wide);
  const Layout tv = rows_tv(wide, 256, 4, 64);
  k.store(k.fold(Monoid::max, k.load(k.tile(x, {wide, 256}, {row, 0}), tv, 4), 1),
          k.tile(y, {wide, 1}, {row, 0}), 1);
  return k;
}

} // namespace

TEST_CASE("messages: a size is its name, not what the claims make of it") {
  CHECK_THAT(refusal(rows(4, 4, "")),
             Contains("elements from n on take part") && Contains("inside(index, n, .., that)"));
  CHECK_THAT(refusal(rows(1, 1, "")), Contains("elements from n on take part"));
  CHECK_THAT(refusal(tile(1, 1)), Contains("k.fill(x, 1, 0, n, -INFINITY)"));
  CHECK_THAT(refusal(tile(4, 4)), Contains("k.fill(x, 1, 0, n, -INFINITY)"));
}

TEST_CASE("messages: a number that is read from memory is its entry") {
  CHECK_THAT(refusal(rows(4, 4, "len")), Contains("about  256*((len[0]+255)/256)-256"));
}

TEST_CASE("messages: where a work-item and a trip are") {
  CHECK_THAT(refusal(rows(1, 4, "")), Contains("n-256*trip-4*thread"));
}

TEST_CASE("messages: a number that a fragment does not have, and the nearest that it has") {
  Program k("fill", target(), 64);
  const Sym n = k.size("n");
  const Layout tv = line_tv(64, 1, 64);
  const auto load = [&](const char* name, Element e) {
    return k.load(k.tile(k.input(name, e, {n}), {64}, {0}), tv, 1);
  };
  CHECK_THROWS_WITH(k.fill(load("x", Element::f32), 0, 0, n, -1e30),
                    Contains("-1e+30 is no number of f32") && Contains("-1.0000000150474662e+30"));
  CHECK_THROWS_WITH(k.fill(load("b", Element::i8), 0, 0, n, 0.5),
                    Contains("the nearest that it has is 0") && Contains("a k.map before it gives f32"));
}

TEST_CASE("messages: names that are no names") {
  Program k("names", target(), 64);
  CHECK_THROWS_WITH(k.size("_tid"), Contains("names that begin with _ are the library's"));
  CHECK_THROWS_WITH(k.size("select"), Contains("the word is reserved"));
  CHECK_THROWS_WITH(k.size("a b"), Contains("letters, digits and _, a letter first"));
}

TEST_CASE("messages: a table that is too long, and vectors that LDS does not have, are at their lines") {
  unsigned line = 0;
  Program k("table", target(), 64);
  const Sym n = k.size("n", {.most = 1 << 10}), t = k.size("t");
  const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
               table = k.input("table", Element::i32, {t});
  line = __LINE__ + 1;
  const Sym used = k.uniform(table, 0);
  k.computes(y, [&](const auto& c) { return inside(c[0], used, k(x, {c[0]}), 0); });
  const Sym w = k.workgroups(0, n, 64);
  k.store(k.fill(k.load(k.tile(x, {64}, {w}), line_tv(64, 1, 64), 1), 0, Sym(64) * w, used, 0),
          k.tile(y, {64}, {w}), 1);
  CHECK_THAT(refusal(k), Contains("2^29 of 4 bytes") && Contains("most=536870911") &&
                             Contains("messages_test.cpp:" + std::to_string(line)));
  const Tensor lds = k.lds("lds", Element::f32, {512});
  const Layout wide = line_tv(512, 8, 64);
  const Fragment f = k.zeros(Element::f32, wide, {512});
  const auto said = [](const std::function<void()>& what) {
    try {
      what();
    } catch (const CodegenError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto at = [](unsigned number) { return "messages_test.cpp:" + std::to_string(number); };
  line = __LINE__ + 1;
  CHECK_THAT(said([&] { k.copy(k.tile(x, {512}, {w}), lds, wide, 8); }),
             Contains("256 bits a lane, lds") && Contains(at(line)));
  line = __LINE__ + 1;
  CHECK_THAT(said([&] { (void)k.read(lds, wide, 8); }),
             Contains("256 bits a lane, lds") && Contains(at(line)));
  line = __LINE__ + 1;
  CHECK_THAT(said([&] { k.store(f, k.whole(lds), 8); }),
             Contains("256 bits a lane, lds") && Contains(at(line)));
}

} // namespace messages

} // namespace messages_test
