// Rows that a table names: stored or added where it says, by whom, once; what is read of them; which table it is.
#include "attack.h"

#include <catch2/catch.hpp>

namespace tables_test {

using namespace adversary;

namespace {

// y(ids(t), i) = x(t, i): a row for a workgroup by a number of its own, or four through what registers hold.
struct Put {
  bool by_registers = false;
  std::vector<int> halves = {0, 1}; ///< which columns of the tile are stored, in that order
  int entry = 0, of = 0;            ///< entries after the workgroup's; rows of x
  bool other_table = false;         ///< a second one, of as many entries
  bool no_table = false;            ///< row 0
  bool second_axis = false;         ///< columns are named, not rows
  bool adds = false;
  bool reads = false;         ///< y(t, i) + x(t, i), of what was there
  bool unused_axis = false;   ///< more workgroups along an axis that nothing counts
  bool ragged = false;        ///< four entries, of any number
  bool twice_counted = false; ///< a grid of twice as many entries a workgroup
  bool summed = false;        ///< specified as what is added
};
std::function<Program()> put(Put how) {
  return [how] {
    Program k("put", target(), 64);
    const int at_once = how.by_registers ? 4 : 1;
    const Sym t = k.size("t", {.most = 1 << 10, .multiple = how.by_registers && !how.ragged ? 4 : 1}),
              rows = k.size("rows", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10, .multiple = 128});
    const Tensor y = how.summed || how.adds
                         ? k.output("y", Element::f32, {rows, n})
                         : k.inout("y", Element::f32,
                                   how.second_axis ? std::vector{n, rows} : std::vector{rows, n}),
                 x = k.input("x", Element::f32, {t, n}), ids = k.input("ids", Element::i32, {t}),
                 others = k.input("others", Element::i32, {t});
    const auto value = [&](const auto& c) {
      return how.reads ? k(y, {c[0], c[1]}) + k(x, {c[0], c[1]}) : k(x, {c[0], c[1]});
    };
    how.summed || how.adds ? k.scatters(y, ids, value) : k.puts(y, ids, value);
    const Sym w = k.workgroups(0, t, how.twice_counted ? 2 * at_once : at_once), c = k.workgroups(1, n, 128);
    if (how.unused_axis) (void)k.workgroups(2, rows, 1);
    const Tensor& table = how.other_table ? others : ids;
    for (const int half : how.halves) {
      const Layout tv = rows_tv(at_once, 64, 1, 64);
      const Sym column = Sym(2) * c + Sym(half);
      Fragment v = k.load(k.tile(x, {at_once, 64}, {w + Sym(how.of), column}), tv, 1);
      if (how.reads) {
        const Fragment old = k.load(k.tile(y, {at_once, 64}, {0, column}), tv, 1);
        v = k.map({old, v}, [](const auto& a) { return a[0] + a[1]; });
      }
      View to = k.tile(y, {at_once, 64}, {0, column});
      if (how.by_registers)
        to = to.through(
            0, k.load(k.tile(table, {at_once}, {w + Sym(how.entry)}), codegen::without_axis(tv, 1), 1));
      else if (!how.no_table)
        to = how.second_axis ? k.tile(y, {64, 1}, {column, k.uniform(table, w)}).keep({1, 0})
                             : k.tile(y, {1, 64}, {k.uniform(table, w + Sym(how.entry)), column});
      how.adds ? k.add(v, to) : k.store(v, to, 1);
    }
    return k;
  };
}

// The mask of the rows that are named is gone.
void unmasked(Code& code) {
  for (CodeRegion& r : code.regions)
    for (auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (Inst& i : *list)
        if (i.kind == InstKind::store) i.access.masked[0] = false;
}
// What a store combines with memory, or no longer does.
std::function<void(Code&)> combining(std::optional<Monoid> with) {
  return [=](Code& code) {
    for (CodeRegion& r : code.regions)
      for (auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (Inst& i : *list)
          if (i.kind == InstKind::store) i.combine = with;
  };
}

// z(ids(p)) += the sum over k of x(p, k) in parts; whoever comes last of those with entry p stores w(p) = z(p): to row p others add, too.
Program last_reads_scattered() {
  Program k("scattered", target(), 64);
  const Sym p = k.size("p", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
  const Tensor z = k.output("z", Element::f32, {p, Sym(1)}), w = k.output("w", Element::f32, {p, Sym(1)}),
               x = k.input("x", Element::f32, {p, n}), ids = k.input("ids", Element::i32, {p});
  k.scatters(z, ids, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {c[0], i}); }); });
  k.computes(w, [&](const auto& c) { return k(z, {c[0], 0}); });
  const Sym bp = k.workgroups(0, p, 1), part = k.workgroups(1, n, 64);
  const Layout tv = rows_tv(1, 64, 1, 64), one = without_axis(tv, 1);
  const Fragment row = k.load(k.tile(ids, {1}, {bp}), one, 1),
                 sum = k.fold(Monoid::sum, k.load(k.tile(x, {1, 64}, {bp, part}), tv, 1), 1);
  k.add(sum, k.tile(z, {1, 1}, {0, 0}).through(0, row));
  k.if_less(k.count(1) - Sym(2), k.ticket("arrived", part), [&] {
    k.store(k.load(k.tile(z, {1, 1}, {bp, 0}), one, 1), k.tile(w, {1, 1}, {bp, 0}), 1);
  });
  return k;
}

} // namespace

TEST_CASE("adversary: rows that a table names are stored once, by whoever has the entry") {
  const std::vector<Sizes> sizes = {{1, 1, 128}, {5, 7, 128}, {9, 3, 256}, {12, 40, 128}},
                           fours = {{4, 3, 128}, {8, 20, 256}, {12, 5, 128}};
  const std::string says = "y is what the specification says", once = "every element of y is written once";
  std::vector<Attack> all;
  for (const bool registers : {false, true}) {
    const auto add = [&](const std::string& name, const std::string& because, Put how,
                         std::function<void(Code&)> change = {}, const std::string& unseen = {}) {
      how.by_registers = registers;
      all.push_back({name + (registers ? ", by registers" : ", by a number"), because, put(how),
                     registers ? fours : sizes, std::move(change), unseen});
    };
    add("rows", "", {});
    add("rows, the second half first", "", {.halves = {1, 0}});
    add("half of a row", "workgroups share out axis 1 of y", {.halves = {0}});
    add("a half twice", once, {.halves = {0, 1, 0}});
    add("the next entry", registers ? says : "read inside ids", {.entry = 1});
    add("the next row of x", "y is what the specification says", {.of = 1});
    add("another table", "the rows are those of others", {.other_table = true});
    add("half of the entries",
        registers ? "workgroups share out axis 0 of y" : "workgroups share out axis 0 of y",
        {.twice_counted = true});
    add("an axis of the grid that nothing counts", "no two workgroups write one element of y",
        {.unused_axis = true}, {}, "all of them write the same");
    add("no mask", registers ? "guards leave out what masks do" : "masked", {}, unmasked,
        "a store past the tensor");
    add("added, and specified as stored", "it is added to what was there", {}, combining(Monoid::sum));
    add("stored, and specified as added", "a row may be named twice", {.summed = true});
    add("added", "", {.adds = true});
    add("read before it is stored", "its rows are written where ids names them", {.reads = true});
  }
  all.push_back({"row 0", "it goes through no table", put({.no_table = true}), sizes});
  all.push_back({"columns that are named",
                 "axis 1 goes through a table, and not in the specification",
                 put({.second_axis = true}),
                 {{5, 7, 128}, {9, 3, 256}}});
  all.push_back({"entries past the table's end",
                 "t declared a multiple of 4; or a workgroup for each entry",
                 put({.by_registers = true, .ragged = true}),
                 {{5, 7, 128}, {9, 3, 256}}});
  all.push_back({"what workgroups add, read by the last of some",
                 "its rows are written where ids names them",
                 last_reads_scattered,
                 {{3, 64}, {5, 70}},
                 {},
                 "an order that the emulator need not have"});
  attack(all);
}

TEST_CASE("adversary: a table is there before the launch") {
  for (const bool in_place : {false, true}) {
    Program k("written", target(), 64);
    const Sym t = k.size("t", {.most = 1 << 10});
    const Tensor y = k.inout("y", Element::f32, {t}), x = k.input("x", Element::f32, {t}),
                 ids = in_place ? k.inout("ids", Element::i32, {t}) : k.output("ids", Element::i32, {t});
    const auto value = [&](const auto& c) { return k(x, {c[0]}); };
    CHECK_THROWS_WITH(k.puts(y, ids, value), Catch::Contains("ids is an output"));
    CHECK_THROWS_WITH(k.scatters(y, ids, value), Catch::Contains("ids is an output"));
    CHECK_THROWS_WITH(k.uniform(ids, 0), Catch::Contains("ids is an output"));
    const Tensor z = k.output("z", Element::f32, {t}), names = k.input("names", Element::i32, {t});
    CHECK_THROWS_WITH(k.puts(z, names, value), Catch::Contains("k.inout(\"z\", ..)"));
    CHECK_THROWS_WITH(k.puts(y, x, value), Catch::Contains("a table of i32"));
  }
}

} // namespace tables_test
