// Guards, ends, signs, bounds: what an address, a mask and a descriptor say of where a tile is.
#include "attack.h"

#include <catch2/catch.hpp>
#include <inlay/algebra/parse.h>

namespace places_test {

using namespace adversary;

namespace {

// ((R, m/R), (C, n/C)): blocks of R rows by C columns, one after the other along a row of them.
SymLayout blocked(Sym m, Sym n, int rows, int columns) {
  const auto mode = [](Sym e, Sym s) { return BasicMode<Sym>{e, BasicStride<Sym>(s)}; };
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open(), of_rows = b.open();
  b.leaf(mode(rows, columns)), b.leaf(mode(floor_div(m, Sym(rows)), Sym(rows) * n));
  b.close(of_rows, 2);
  const std::size_t of_columns = b.open();
  b.leaf(mode(columns, 1)), b.leaf(mode(floor_div(n, Sym(columns)), Sym(rows * columns)));
  b.close(of_columns, 2);
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

// y = x, one of which lies in blocks of `block` rows, in tiles of `rows` rows: the workgroup's `parts` of them.
struct Unblocked {
  int block = 16, rows = 4, parts = 4;
  bool store = false;
};
std::function<Program()> unblocked(Unblocked how) {
  return [how] {
    Program k("unblocked", target(), 64);
    const int all = how.rows * how.parts;
    const Sym m = k.size("m", {.most = 1 << 10, .multiple = how.block}),
              n = k.size("n", {.least = 256, .most = 1 << 16, .multiple = 8});
    const SymLayout place = blocked(m, n, how.block, 8);
    const Tensor y = k.output("y", Element::f32, {m, n}, how.store ? std::optional(place) : std::nullopt),
                 x = k.input("x", Element::f32, {m, n}, how.store ? std::nullopt : std::optional(place));
    k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}); });
    const Sym c = k.workgroups(1, n, 256), w = k.workgroups(0, m, all);
    const Layout tv = rows_tv(how.rows, 256, 4, 64);
    for (int j = 0; j < how.parts; ++j) {
      const std::vector<Sym> at = {Sym(how.parts) * w + j, c};
      k.store(k.load(k.tile(x, {how.rows, 256}, at), tv, 4), k.tile(y, {how.rows, 256}, at), 4);
    }
    return k;
  };
}

// y = x, matrices of m by n at those places, in tiles.
struct Copied {
  std::string x{}, y{};
  int rows = 4, columns = 64, vector = 1, multiple = 1;
  Element element = Element::f32;
  bool by_columns = false; ///< work-items go down a column
};
std::function<Program()> copied(Copied how) {
  return [how] {
    Program k("copied", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 12}),
              n = k.size("n", {.most = 1 << 12, .multiple = how.multiple});
    const Tensor y = k.output("y", how.element, {m, n}, place_of(k, how.y)),
                 x = k.input("x", how.element, {m, n}, place_of(k, how.x));
    k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}); });
    const Sym c = k.workgroups(0, n, how.columns), r = k.workgroups(1, m, how.rows);
    const Layout tv = how.by_columns ? columns_tv(how.rows, how.columns, how.vector, 64)
                                     : rows_tv(how.rows, how.columns, how.vector, 64);
    k.store(k.load(k.tile(x, {how.rows, how.columns}, {r, c}), tv, how.vector),
            k.tile(y, {how.rows, how.columns}, {r, c}), how.vector);
    return k;
  };
}

void mask(Code& code, InstKind kind, std::size_t axis, bool on) {
  for (CodeRegion& r : code.regions)
    for (Inst& i : r.body)
      if (i.kind == kind) i.access.masked[axis] = on;
}

} // namespace

TEST_CASE("adversary: tiles that begin inside of a block") {
  const std::string inside = "the tile may begin inside a block of ";
  std::vector<Attack> all;
  for (const bool store : {false, true})
    for (const int block : {8, 16}) {
      const std::string where =
          std::string(store ? "store to" : "load from") + " blocks of " + std::to_string(block);
      const std::vector<Sizes> sizes = {{block, 256}, {2 * block, 264}, {5 * block, 520}};
      // Parts of a block one after another, and one part for each workgroup.
      for (const int parts : {2, 4})
        all.push_back({where + " in " + std::to_string(parts) + " parts", inside + std::to_string(block),
                       unblocked({block, block / parts, parts, store}), sizes});
      all.push_back({where + ", each half a workgroup's", "the place of ",
                     unblocked({block, block / 2, 1, store}), sizes});
      // Whole blocks are counted as they are.
      all.push_back({where + ", whole", "", unblocked({block, block, 1, store}), sizes});
      all.push_back(
          {where + ", two at a time of an odd number", "", unblocked({block, block, 2, store}), sizes});
      all.push_back({where + ", two in a tile", "", unblocked({block, 2 * block, 1, store}), sizes});
    }
  attack(all);
}

TEST_CASE("adversary: masks that are gone") {
  const std::vector<Sizes> sizes = {{5, 70}, {1, 1}, {4, 64}};
  std::vector<Attack> all;
  for (const std::size_t axis : {0, 1}) {
    all.push_back({"a store past axis " + std::to_string(axis), "is not masked", copied({}), sizes,
                   [axis](Code& c) { mask(c, InstKind::store, axis, false); }});
    all.push_back({"a store past axis " + std::to_string(axis) + " of columns", "is not masked",
                   copied({"(m,n):(1,m)", "(m,n):(1,m)"}), sizes,
                   [axis](Code& c) { mask(c, InstKind::store, axis, false); }});
  }
  // What is loaded past a row's end is stored nowhere, and the tensor's end is the descriptor's.
  all.push_back(
      {"a load past its row", "", copied({}), sizes, [](Code& c) { mask(c, InstKind::load, 1, false); }});
  all.push_back({"a load past its last row", "axis 0 is not masked", copied({}), sizes,
                 [](Code& c) { mask(c, InstKind::load, 0, false); }, "what lies past is stored nowhere"});
  // y = page 2 of x, or zeros where it has fewer.
  const auto page = [] {
    Program k("page", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
              p = k.size("p", {.most = 8});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {p, m, n});
    k.computes(y, [&](const auto& i) { return inside(Sym(2), p, k(x, {Sym(2), i[0], i[1]}), 0); });
    const Sym c = k.workgroups(0, n, 64), r = k.workgroups(1, m, 4);
    const Fragment of = k.load(k.tile(x, {1, 4, 64}, {2, r, c}).keep({1, 2}), rows_tv(4, 64, 1, 64), 1);
    k.store(k.map({of}, [&](const auto& v) { return inside(Sym(2), p, v[0], 0); }),
            k.tile(y, {4, 64}, {r, c}), 1);
    return k;
  };
  const std::vector<Sizes> pages = {{5, 70, 3}, {4, 64, 1}};
  all.push_back({"a page that need not be there", "", page, pages});
  // Its records end with the tensor then.
  all.push_back({"a page that need not be there, as if it were", "", page, pages,
                 [](Code& c) { mask(c, InstKind::load, 0, false); }});
  attack(all);
}

TEST_CASE("adversary: places of matrices, copied in tiles of which the last ones are ragged") {
  const std::vector<Sizes> sizes = {{1, 1}, {4, 64}, {5, 63}, {7, 130}};
  std::vector<Attack> all;
  for (const char* place :
       {"(m,n):(1,m)", "(m,n):(n+5,1)", "(m,n):(2*n,2)", "(m,n):(2,2*m)", "(m,n):(3,3*m+4)"})
    for (const bool of_y : {false, true})
      all.push_back({std::string(of_y ? "y " : "x ") + place, "",
                     copied({of_y ? "" : place, of_y ? place : ""}), sizes});
  // One row for all, one column for all.
  all.push_back({"one row for all", "", copied({"(m,n):(0,1)", ""}), sizes});
  all.push_back({"one column for all", "", copied({"(m,n):(1,0)", ""}), sizes});
  for (const char* place : {"(m,n):(0,1)", "(m,n):(1,1)", "(m,n):(2,1)", "(m,n):(n-1,1)"})
    all.push_back(
        {std::string("y ") + place, "each element of y has a place of its own", copied({"", place}), sizes});
  // Rows and columns before the address of the argument.
  for (const char* place : {"(m,n):(-n,1)", "(m,n):(-1,1)", "(m,n):(-4,1)", "(m,n):(1,-m)", "(m,n):(-n,-1)"})
    for (const bool of_y : {false, true})
      all.push_back({std::string(of_y ? "y " : "x ") + place, "lies before its address",
                     copied({of_y ? "" : place, of_y ? place : ""}), sizes});
  // Rows that overlap: the records end with the last element, after the place of a row that is not there.
  all.push_back({"rows that overlap",
                 "a coordinate inside along the other axes passes element",
                 copied({"(m,n):(4,1)", ""}),
                 sizes,
                 {},
                 "what is loaded of that row is stored nowhere"});
  attack(all);
}

TEST_CASE("adversary: vectors that the end of a row cuts") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 66}, {3, 63}, {4, 64}, {2, 128}};
  const std::string behind = "what is loaded past a row's end is stored nowhere";
  std::vector<Attack> all;
  for (const int vector : {2, 4}) {
    const std::string of = " in vectors of " + std::to_string(vector);
    all.push_back(
        {"f16" + of, "aligned", copied({.vector = vector, .element = Element::f16}), sizes, {}, behind});
    all.push_back({"f16 whole" + of,
                   "",
                   copied({.vector = vector, .multiple = vector, .element = Element::f16}),
                   {{1, 4}, {5, 68}, {3, 64}}});
    all.push_back({"f32" + of,
                   "a vector of x is wholly inside or wholly outside",
                   copied({.vector = vector}),
                   sizes,
                   {},
                   behind});
    all.push_back(
        {"f32 whole" + of, "", copied({.vector = vector, .multiple = vector}), {{1, 4}, {5, 68}, {3, 64}}});
    // Of single rows, which the hardware cuts by dwords.
    const auto row = [&](Element e) {
      return copied({.x = "(m,n):(8192,1)",
                     .y = "(m,n):(8192,1)",
                     .rows = 1,
                     .columns = 256,
                     .vector = vector,
                     .element = e});
    };
    if (vector == 4)
      all.push_back({"single rows of f32" + of, "", row(Element::f32), {{1, 1}, {2, 66}, {3, 63}}});
    all.push_back({"single rows of f16" + of,
                   "is wholly inside or wholly outside",
                   row(Element::f16),
                   sizes,
                   {},
                   "what is between two rows nobody looks at"});
    // Of columns, whose elements are no neighbours.
    all.push_back({"columns" + of,
                   "is contiguous",
                   copied({.x = "(m,n):(1,m)", .vector = vector, .multiple = vector}),
                   {{1, 4}, {5, 68}}});
  }
  // Loaded one by one and stored in vectors: two versions, by the row's length.
  for (const int vector : {2, 4})
    all.push_back(
        {"two versions of a store",
         "",
         [vector] {
           Program k("versions", target(), 64);
           const Sym m = k.size("m", {.most = 1 << 12}), n = k.size("n", {.most = 1 << 12});
           const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
           k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}) * 2.0; });
           const Sym c = k.workgroups(0, n, 64), r = k.workgroups(1, m, 4);
           const Layout tv = rows_tv(4, 64, vector, 64);
           const Fragment f = k.load(k.tile(x, {4, 64}, {r, c}), tv, 1);
           k.store(k.map({f}, [](const auto& v) { return v[0] * 2.0; }), k.tile(y, {4, 64}, {r, c}), vector);
           return k;
         },
         {{1, 1}, {5, 66}, {3, 63}, {4, 64}, {6, 127}}});
  attack(all);
}

namespace {
const std::string not_there = "its specification names elements that are not there";
} // namespace

TEST_CASE("adversary: tiles that begin outside") {
  // y(i, j) = x(i + rows, j + 64 tiles) - x(i, j), where there is such an element, else x(i, j).
  const auto shifted = [](int rows, int tiles, bool guarded, bool beside = false) {
    return [=] {
      Program k("shifted", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
      const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
      const auto there = [&](Expr e, Sym i, Sym j) {
        return guarded ? inside(i, m, inside(j, n, e, 0), 0) : e;
      };
      k.computes(y, [&](const auto& i) {
        const Sym row = i[0] + rows, column = i[1] + 64 * tiles;
        const Expr far = there(k(x, {row, column}), row, column) - k(x, {i[0], i[1]});
        return beside ? far + k(x, {row, column}) : far;
      });
      const Sym c = k.workgroups(0, n, 64), r = k.workgroups(1, m, 1);
      const Layout tv = rows_tv(1, 64, 1, 64);
      const Fragment here = k.load(k.tile(x, {1, 64}, {r, c}), tv, 1),
                     other = k.load(k.tile(x, {1, 64}, {r + rows, c + tiles}), tv, 1);
      k.store(k.map({other, here},
                    [&](const auto& v) {
                      const Expr far =
                          there(v[0], r + rows + k.position(0), 64 * (c + tiles) + k.position(1)) - v[1];
                      return beside ? far + v[0] : far;
                    }),
              k.tile(y, {1, 64}, {r, c}), 1);
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{3, 130}, {1, 1}, {2, 64}};
  std::vector<Attack> all;
  for (const bool guarded : {false, true}) {
    const std::string how = guarded ? ", looked at where it is inside" : "";
    all.push_back({"a row before" + how,
                   "axis 0 may begin at a negative coordinate",
                   shifted(-1, 0, guarded),
                   sizes,
                   {},
                   not_there});
    all.push_back({"a tile before" + how,
                   "axis 1 may begin at a negative coordinate",
                   shifted(0, -1, guarded),
                   sizes,
                   {},
                   not_there});
    for (const auto& [rows, tiles] : {std::pair(0, 1), {1, 0}, {1, 1}, {3, 2}})
      all.push_back({std::to_string(rows) + " rows and " + std::to_string(tiles) + " tiles after" + how,
                     guarded ? "" : "it holds something else, and that is stored",
                     shifted(rows, tiles, guarded),
                     sizes,
                     {},
                     guarded ? "" : not_there});
  }
  all.push_back({"a tile after, looked at beside that too",
                 "y is what the specification says",
                 shifted(0, 1, true, true),
                 sizes,
                 {},
                 not_there});
  attack(all);
}

TEST_CASE("adversary: bases with a sign") {
  // y(i, j) = x(f(i), j), row by row.
  const auto rows = [](std::function<Sym(Sym, Sym)> f, int multiple = 1) {
    return [=] {
      Program k("rows", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10, .multiple = multiple}), n = k.size("n", {.most = 256});
      const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
      k.computes(y, [&](const auto& i) { return k(x, {f(i[0], m), i[1]}); });
      const Sym r = k.workgroups(0, m, 1);
      const Layout tv = rows_tv(1, 256, 4, 64);
      k.store(k.load(k.tile(x, {1, 256}, {f(r, m), 0}), tv, 1), k.tile(y, {1, 256}, {r, 0}), 1);
      return k;
    };
  };
  const auto half = [](Sym s) { return floor_div(s, Sym(2)); };
  const std::vector<Sizes> sizes = {{1, 7}, {2, 256}, {5, 100}, {8, 33}};
  attack({
      {"ceil(i/2) as i + floor(-i/2)", "", rows([=](Sym i, Sym) { return i + half(Sym(0) - i); }), sizes},
      {"floor(i/2)", "", rows([=](Sym i, Sym) { return half(i); }), sizes},
      {"i - floor(i/2)", "", rows([=](Sym i, Sym) { return i - half(i); }), sizes},
      {"i - floor((i+1)/2)", "", rows([=](Sym i, Sym) { return i - half(i + 1); }), sizes},
      {"from the end", "", rows([](Sym i, Sym m) { return m - Sym(1) - i; }), sizes},
      {"one before the end",
       "axis 0 may begin at a negative coordinate",
       rows([](Sym i, Sym m) { return m - Sym(2) - i; }),
       sizes,
       {},
       not_there},
      {"floor(i/2) - 1",
       "axis 0 may begin at a negative coordinate",
       rows([=](Sym i, Sym) { return half(i) - 1; }),
       sizes,
       {},
       not_there},
      {"2i",
       "it holds something else, and that is stored",
       rows([](Sym i, Sym) { return Sym(2) * i; }),
       sizes,
       {},
       not_there},
      {"i + 1",
       "y is what the specification says",
       rows([](Sym i, Sym) { return i + 1; }),
       sizes,
       {},
       not_there},
  });
}

TEST_CASE("adversary: bounds of 31 bits, to the element") {
  // Rows of 64 from a matrix that lies column by column: `columns` columns are so many times m elements apart.
  const auto wide = [](int columns, std::int64_t most, Element element, bool store) {
    return [=] {
      Program k("wide", target(), 64);
      const Sym m = k.size("m", {.most = most});
      const auto place = place_of(k, "(m," + std::to_string(columns) + "):(1,m)");
      const Tensor y = k.output("y", element, {m, Sym(columns)}, store ? place : std::nullopt),
                   x = k.input("x", element, {m, Sym(columns)}, store ? std::nullopt : place);
      k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}); });
      const Sym r = k.workgroups(0, m, 64);
      const Layout tv = columns_tv(64, columns, 1, 64);
      k.store(k.load(k.tile(x, {64, columns}, {r, 0}), tv, 1), k.tile(y, {64, columns}, {r, 0}), 1);
      return k;
    };
  };
  std::vector<Attack> all;
  for (const bool store : {false, true})
    for (const auto& [element, bytes] : {std::pair(Element::f32, 4), std::pair(Element::f16, 2)})
      for (const int columns : {2, 8}) {
        // Records go on to where a column after the last one would begin.
        const std::int64_t most = INT32_MAX / (bytes * columns);
        const std::string what =
            std::string(store ? "store " : "load ") + to_string(element) + ", " + std::to_string(columns);
        all.push_back({what, "", wide(columns, most, element, store), {{70}, {1}}});
        all.push_back({what + ", beyond",
                       "fit 31 bits",
                       wide(columns, most + 1, element, store),
                       {{70}},
                       {},
                       "at sizes that no memory here has"});
      }
  attack(all);
}

TEST_CASE("adversary: axes in every order of memory") {
  // A batch of matrices, row by row of one, whatever axis lies outermost.
  std::vector<Attack> all;
  for (const char* place : {"(b,m,n):(m*n,n,1)", "(b,m,n):(n,b*n,1)", "(b,m,n):(m,1,b*m)",
                            "(b,m,n):(1,b,b*m)", "(b,m,n):(m*n,1,m)", "(b,m,n):(1,b*n,b)"})
    for (const bool of_y : {false, true}) {
      all.push_back(
          {std::string(of_y ? "y " : "x ") + place,
           "",
           [=] {
             Program k("batch", target(), 64);
             const Sym b = k.size("b", {.most = 1 << 6}), m = k.size("m", {.most = 1 << 8}),
                       n = k.size("n", {.most = 1 << 8});
             const Tensor y = k.output("y", Element::f32, {b, m, n},
                                       of_y ? place_of(k, place) : std::nullopt),
                          x = k.input("x", Element::f32, {b, m, n}, of_y ? std::nullopt : place_of(k, place));
             k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1], i[2]}); });
             const Sym c = k.workgroups(0, n, 32), r = k.workgroups(1, m, 2), w = k.workgroups(2, b, 1);
             const Layout tv = rows_tv(2, 32, 1, 64);
             k.store(k.load(k.tile(x, {1, 2, 32}, {w, r, c}).keep({1, 2}), tv, 1),
                     k.tile(y, {1, 2, 32}, {w, r, c}).keep({1, 2}), 1);
             return k;
           },
           {{1, 1, 1}, {2, 3, 33}, {3, 2, 31}}});
    }
  attack(all);
}

namespace {

// y(t, c) = w(ids t, c) of a table that may have any number of rows: by addresses of 64 bits.
struct Far {
  int vector = 4, multiple = 4;
};
std::function<Program()> far_rows(Far how) {
  return [how] {
    Program k("far", target(), 64);
    const Sym t = k.size("t", {.most = 1 << 20}), v = k.size("v"),
              n = k.size("n", {.most = 1 << 20, .multiple = how.multiple});
    const Tensor y = k.output("y", Element::f32, {t, n}), w = k.input("w", Element::f32, {v, n}),
                 ids = k.input("ids", Element::i32, {t});
    k.computes(y, [&](const auto& c) { return k(w, {k.at(ids, c[0]), c[1]}); });
    const Sym c = k.workgroups(0, n, 64), r = k.workgroups(1, t, 4);
    const Layout tv = rows_tv(4, 64, how.vector, 64);
    const Fragment of = k.load(k.tile(ids, {4}, {r}), without_axis(tv, 1), 1);
    k.store(k.load(k.tile(w, {4, 64}, {0, c}).through(0, of), tv, how.vector), k.tile(y, {4, 64}, {r, c}), 1);
    return k;
  };
}

// y(m, 0) = sum of row m of x, along which a loop goes by addresses of 64 bits.
std::function<Program()> far_sums(int vector, int multiple, int distance) {
  return [=] {
    Program k("far_sums", target(), 64);
    const Sym m = k.size("m"), n = k.size("n", {.most = 1 << 30, .multiple = multiple});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
    k.far(x);
    k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {c[0], i}); }); });
    const Sym r = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, vector, 64), of = without_axis(tv, 1);
    const Fragment sum = k.zeros(Element::f32, of, {4, 1});
    k.loop(n, 64, {.distance = distance, .ring = std::max(distance, 1)}, [&](Sym t) {
      k.update(sum, {k.fold(Monoid::sum, k.load(k.tile(x, {4, 64}, {r, t}), tv, vector), 1)},
               [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(sum, k.tile(y, {4, 1}, {r, 0}), 1);
    return k;
  };
}

void unmask(Code& code, const std::string& tensor, std::size_t axis) {
  for (CodeRegion& r : code.regions)
    for (auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (Inst& i : *list)
        if (i.kind == InstKind::load && code.program->tensor(i.access.tensor).name == tensor)
          i.access.masked[axis] = false;
}

} // namespace

TEST_CASE("adversary: addresses of 64 bits, whose only guards are comparisons") {
  const std::vector<Sizes> rows = {{5, 3, 68}, {1, 1, 4}, {4, 9, 64}},
                           sums = {{5, 68}, {1, 4}, {4, 64}, {3, 260}};
  const std::string stored = "what is loaded past a row's end is stored nowhere";
  std::vector<Attack> all = {
      {"rows of a table", "", far_rows({}), rows},
      {"rows of a table, one by one", "", far_rows({.vector = 1, .multiple = 1}), {{5, 3, 67}, {1, 1, 1}}},
      {"the next one's row", "guards leave out what masks do", far_rows({}), rows,
       [](Code& c) {
         for (Inst& i : c.regions[0].body)
           if (i.kind == InstKind::load && c.program->tensor(i.access.tensor).name == "ids")
             ++i.access.elements[0][0];
       }},
      {"a row that the table does not have", "is not masked", far_rows({}), rows,
       [](Code& c) { unmask(c, "w", 0); }},
      {"columns past a row's end", "axis 1 is not masked", far_rows({}), rows,
       [](Code& c) { unmask(c, "w", 1); }, stored},
      {"a vector that a row's end cuts",
       "wholly inside or wholly outside",
       far_rows({.multiple = 2}),
       {{5, 3, 66}},
       {},
       stored},
  };
  for (const int distance : {0, 1, 2}) {
    const std::string of = ", distance " + std::to_string(distance);
    all.push_back({"sums" + of, "", far_sums(4, 4, distance), sums});
    all.push_back(
        {"sums one by one" + of, "", far_sums(1, 1, distance), {{5, 67}, {1, 1}, {4, 64}, {3, 129}}});
    all.push_back({"sums of vectors that a row's end cuts" + of,
                   "wholly inside or wholly outside",
                   far_sums(4, 1, distance),
                   {{5, 67}, {3, 129}}});
    all.push_back({"sums past a row's end" + of, distance < 2 ? "what lies outside of a sum" : "not masked",
                   far_sums(4, 4, distance), sums, [](Code& c) { unmask(c, "x", 1); }});
    all.push_back({"sums past the last row" + of, "axis 0 is not masked", far_sums(4, 4, distance), sums,
                   [](Code& c) { unmask(c, "x", 0); }, stored});
  }
  attack(all);
}

namespace {

// y(s, c) = sum over p of w(table(s, p), c).
struct Bags {
  bool transposed = false; ///< the table is asked for (p, s)
  bool filled = true;
  int behind = 0; ///< row of the table
};
std::function<Program()> bags(Bags how) {
  return [how] {
    Program k("bags", target(), 64);
    const Sym s = k.size("s", {.most = 1 << 10}), p = k.size("p", {.most = 1 << 10}),
              v = k.size("v", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {s, n}), w = k.input("w", Element::f32, {v, n}),
                 table = k.input("table", Element::i32, {s, p});
    k.computes(y, [&](const auto& c) {
      return k.sum(p, [&](Sym i) { return k(w, {k.at(table, c[0], i), c[1]}); });
    });
    const Sym c = k.workgroups(0, n, 64), r = k.workgroups(1, s, 1);
    const Layout tv = rows_tv(4, 64, 4, 64);
    const Fragment sum = k.zeros(Element::f32, without_axis(tv, 0), {1, 64});
    k.loop(p, 4, {.distance = 1, .ring = 1}, [&](Sym t) {
      const View entries = how.transposed ? k.tile(table, {4, 1}, {t, r}).keep({0})
                                          : k.tile(table, {1, 4}, {r + how.behind, t}).keep({1});
      const Fragment of = k.load(entries, without_axis(tv, 1), 1);
      Fragment x = k.load(k.tile(w, {4, 64}, {0, c}).through(0, of), tv, 4);
      if (how.filled) x = k.fill(x, 0, 4 * t, p, 0);
      k.update(sum, {k.fold(Monoid::sum, x, 0)}, [](const auto& a) { return a[0] + a[1]; });
    });
    k.store(sum, k.tile(y, {1, 64}, {r, c}), 4);
    return k;
  };
}

} // namespace

TEST_CASE("adversary: tables of two axes") {
  const std::vector<Sizes> sizes = {{3, 5, 7, 68}, {1, 1, 1, 4}, {4, 4, 3, 64}, {2, 9, 5, 8}};
  attack({
      {"bags", "", bags({}), sizes},
      {"the entries of the next row", "is what the specification says", bags({.behind = 1}), sizes},
      {"rows and columns of the table exchanged", "no index is the coordinate along the axis",
       bags({.transposed = true}), sizes},
      {"what a row of the table does not have", "of a sum is its empty element", bags({.filled = false}),
       sizes},
  });
}

namespace {

// y = x, square: both axes are cut from one size, in tiles of their own.
struct Square {
  int rows = 4, columns = 64;
  int cut = 0;        ///< rows of a tile by the grid; 0: `rows`
  bool other = false; ///< x has an extent of its own where the grid counts tiles of n
  int up = 0;         ///< rows that the tile of x begins after its own
};
std::function<Program()> square(Square how) {
  return [how] {
    Program k("square", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12}), p = how.other ? k.size("p", {.most = 1 << 12}) : n;
    const Tensor y = k.output("y", Element::f32, {n, n}), x = k.input("x", Element::f32, {p, n});
    k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}); });
    const Sym c = k.workgroups(0, n, how.columns), r = k.workgroups(1, n, how.cut == 0 ? how.rows : how.cut);
    const Layout tv = rows_tv(how.rows, how.columns, 1, 64);
    k.store(k.load(k.tile(x, {how.rows, how.columns}, {r + how.up, c}), tv, 1),
            k.tile(y, {how.rows, how.columns}, {r, c}), 1);
    return k;
  };
}

// y(i) = x(i) sum x: the grid's tiles and the loop's are of one size.
std::function<Program()> share_of_sum(int tile, int trip, int up) {
  return [=] {
    Program k("share", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
    k.computes(y, [&](const auto& i) { return k(x, {i[0]}) * k.sum(n, [&](Sym j) { return k(x, {j}); }); });
    const Sym w = k.workgroups(0, n, tile);
    const Layout tv = line_tv(tile, 1, 64), of_trip = line_tv(trip, 1, 64);
    const Fragment sum = k.zeros(Element::f32, of_trip, {trip});
    k.loop(n, trip, {.distance = 1, .ring = 1}, [&](Sym j) {
      k.update(sum, {k.load(k.tile(x, {trip}, {j}), of_trip, 1)}, [](const auto& a) { return a[0] + a[1]; });
    });
    const Fragment mine = k.load(k.tile(x, {tile}, {w + up}), tv, 1);
    k.store(k.map({mine, k.fold(Monoid::sum, sum, 0)}, [](const auto& a) { return a[0] * a[1]; }),
            k.tile(y, {tile}, {w}), 1);
    return k;
  };
}

// y(i, j) = x(i + 16 up, j), and 0 behind the end of x: tiles of x begin as far behind it as they like.
struct Beyond {
  Element element = Element::f32;
  int vector = 1, multiple = 1;
  int up = 0;        ///< tiles that x's is after y's
  bool rows = false; ///< of two axes
  bool other = true; ///< x has another size than y
  int said = 0;      ///< the specification's distance is so much more
};
std::function<Program()> beyond(Beyond how) {
  return [how] {
    Program k("beyond", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 20, .multiple = how.multiple}),
              p = how.other ? k.size("p", {.most = 1 << 20, .multiple = how.multiple}) : n;
    const int tile = how.rows ? 16 : 256;
    const auto shape = [&](Sym s) { return how.rows ? std::vector<Sym>{s, Sym(64)} : std::vector<Sym>{s}; };
    const Tensor y = k.output("y", how.element, shape(n)), x = k.input("x", how.element, shape(p));
    k.computes(y, [&](const auto& i) {
      const Sym at = i[0] + Sym(tile * how.up + how.said);
      return inside(at, p, how.rows ? k(x, {at, i[1]}) : k(x, {at}), 0);
    });
    const Sym w = k.workgroups(0, n, tile);
    const auto part = [&](const Tensor& t, Sym at) {
      return how.rows ? k.tile(t, {16, 64}, {at, 0}) : k.tile(t, {256}, {at});
    };
    const Layout tv = how.rows ? rows_tv(16, 64, how.vector, 64) : line_tv(256, how.vector, 64);
    const Fragment of_x = k.load(part(x, w + how.up), tv, how.vector);
    k.store(k.map(
                {of_x},
                [&](const auto& v) { return inside(Sym(tile) * (w + how.up) + k.position(0), p, v[0], 0); },
                how.element),
            part(y, w), how.vector);
    return k;
  };
}

// y(j) = sum over t of x(t, j + 128), and 0 behind its end: the loop is along the outer axis.
std::function<Program()> columns_beyond(int distance) {
  return [=] {
    Program k("columns", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {1, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) {
      return inside(c[1] + 128, n, k.sum(m, [&](Sym t) { return k(x, {t, c[1] + 128}); }), 0);
    });
    const Sym b = k.workgroups(0, n, 64);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment acc = k.zeros(Element::f32, tv, {1, 64});
    k.loop(m, 1, {.distance = distance, .ring = 1}, [&](Sym t) {
      k.update(acc, {k.load(k.tile(x, {1, 64}, {t, b + 2}), tv, 1)},
               [](const auto& a) { return a[0] + a[1]; });
    });
    const auto there = [&](const auto& a) { return inside(Sym(64) * b + 128 + k.position(1), n, a[0], 0); };
    k.store(k.map({acc}, there), k.tile(y, {1, 64}, {0, b}), 1);
    return k;
  };
}

// y = x in tiles whose positions are in another order.
std::function<Program()> reordered(const char* from, const char* to, bool rows) {
  return [=] {
    Program k("reordered", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12});
    const std::vector<Sym> shape = rows ? std::vector<Sym>{n, Sym(4)} : std::vector<Sym>{n};
    const Tensor y = k.output("y", Element::f32, shape), x = k.input("x", Element::f32, shape);
    k.computes(y, [&](const auto& i) { return rows ? k(x, {i[0], i[1]}) : k(x, {i[0]}); });
    const Sym w = k.workgroups(0, n, 64);
    const auto tile = [&](const Tensor& t, const char* order) {
      const View plain = rows ? k.tile(t, {64, 4}, {w, 0}) : k.tile(t, {64}, {w});
      return *order == 0 ? plain : plain.reorder(0, parse_layout(order));
    };
    const Layout tv = parse_layout(rows ? "(64,4):(1@0,1@1)" : "(64,1):(1@0,0)");
    k.store(k.load(tile(x, from), tv, 1), tile(y, to), 1);
    return k;
  };
}

} // namespace

TEST_CASE("adversary: a size that is cut into tiles twice") {
  const std::vector<Sizes> sizes = {{1}, {3}, {63}, {64}, {65}, {130}};
  const std::string other = "is what the specification says";
  attack({
      {"rows of 4", "", square({}), sizes},
      {"rows of 64", "", square({.rows = 64}), sizes},
      {"single rows", "", square({.rows = 1}), sizes},
      {"tiles of 32 by 128", "", square({.rows = 32, .columns = 128}), sizes},
      {"tiles of 64 rows, of which the grid counts those of 16",
       "share out axis 0",
       square({.rows = 64, .cut = 16}),
       sizes,
       {},
       "all store the same"},
      {"the next tile's rows", other, square({.rows = 16, .up = 1}), sizes},
      {"rows of another size", other, square({.rows = 16, .other = true}), {{64, 16}, {130, 65}}},
      {"a loop over it", "", share_of_sum(64, 64, 0), sizes},
      {"a loop in longer tiles", "", share_of_sum(64, 128, 0), sizes},
      {"a loop in shorter tiles", "", share_of_sum(128, 64, 0), sizes},
      {"a loop over it, and the next tile", other, share_of_sum(64, 128, 1), sizes},
  });
}

TEST_CASE("adversary: tiles that begin behind the end") {
  const std::vector<Sizes> sizes = {{1, 1}, {700, 3}, {1000, 256}, {256, 257}, {5, 900}, {513, 512}},
                           fours = {{4, 4}, {700, 8}, {1000, 256}, {260, 516}},
                           one = {{1}, {255}, {256}, {257}, {513}, {1000}};
  const std::string other = "is what the specification says";
  attack({
      {"a shorter x", "", beyond({}), sizes},
      {"in vectors", "", beyond({.vector = 4, .multiple = 4}), fours},
      {"in vectors of any length",
       "wholly inside or wholly outside",
       beyond({.vector = 4}),
       sizes,
       {},
       "a descriptor would cut off each dword by itself"},
      {"of halves", "", beyond({.element = Element::f16, .vector = 4, .multiple = 4}), fours},
      {"of bytes", "", beyond({.element = Element::i8, .vector = 4, .multiple = 4}), fours},
      {"rows", "", beyond({.vector = 4, .rows = true}), sizes},
      {"three tiles on", "", beyond({.up = 3}), sizes},
      {"the next tile of the same size", "", beyond({.up = 1, .other = false}), one},
      {"rows of the next tile of the same size", "", beyond({.up = 1, .rows = true, .other = false}), one},
      {"and one element more", other, beyond({.up = 1, .said = 1}), sizes},
      {"rows, and one more", other, beyond({.rows = true, .said = 1}), sizes},
      {"columns, in a loop over rows", "", columns_beyond(0), {{1, 1}, {1, 64}, {3, 130}, {5, 400}}},
      {"columns, loaded ahead", "", columns_beyond(1), {{1, 1}, {1, 64}, {3, 130}, {5, 400}}},
  });
}

TEST_CASE("adversary: tiles in another order") {
  const std::vector<Sizes> sizes = {{1}, {64}, {65}, {130}};
  const std::string other = "is what the specification says";
  std::vector<Attack> all;
  for (const bool rows : {false, true}) {
    const std::string of = rows ? ", of two axes" : ", of one axis";
    for (const char* order : {"(8,8):(8,1)", "(8,8):(1,8)", "(2,32):(32,1)", "64:1"})
      all.push_back({order + of, "", reordered(order, order, rows), sizes});
    all.push_back({"that of the store alone" + of, other, reordered("", "(8,8):(8,1)", rows), sizes});
    all.push_back({"that of the load alone" + of, other, reordered("(8,8):(8,1)", "", rows), sizes});
    all.push_back({"two orders" + of, other, reordered("(2,32):(32,1)", "(8,8):(8,1)", rows), sizes});
  }
  attack(all);
  for (const bool rows : {false, true})
    for (const char* order : {"64:2", "64:0", "(8,8):(8,2)", "(8,8):(4,1)"})
      CHECK_THROWS_WITH(reordered(order, order, rows)(), Catch::Contains("reorder: position"));
}

TEST_CASE("adversary: strides of a thread-value layout that name no axis") {
  Program k("integers", target(), 64);
  const Sym n = k.size("n", {.most = 1 << 12});
  const Tensor x = k.input("x", Element::f32, {n});
  const View tile = k.tile(x, {64}, {k.workgroups(0, n, 64)});
  CHECK_THROWS_WITH(k.load(tile, parse_layout("(64,1):(1,0)"), 1),
                    Catch::Contains("names no axis of the tile"));
  CHECK_THROWS_WITH(tile.partition(parse_layout("(16,4):(4@0,1)")),
                    Catch::Contains("names no axis of the tile"));
  CHECK_NOTHROW(k.load(tile, parse_layout("(64,1):(1@0,0)"), 1));
  CHECK_NOTHROW(
      k.load(tile, parse_layout("((16,4),4):((4@0,0),1@0)"), 1)); // four work-items have one element
}

} // namespace places_test
