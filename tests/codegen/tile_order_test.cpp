// Orders of tiles: permutations by enumeration for small grids, proved for all; a formula with one place changed is not.
#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/tile_order.h>
#include <inlay/solver/prover.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

namespace tile_order_test {

using namespace inlay;
using namespace inlay::codegen;

namespace {

const char* const orders[] = {"xcd",         "rows:2",     "rows:3",        "rows:8",       "columns:1",
                              "columns:3",   "columns:16", "xcd+rows:2",    "xcd+rows:5",   "xcd+rows:8",
                              "xcd+rows:64", "rows:1",     "xcd+columns:4", "xcd+columns:1"};

/// Definition `n` of these lists, one after the other.
TileMap::Definition* nth(std::initializer_list<std::vector<TileMap::Definition>*> lists, std::size_t n) {
  for (auto* list : lists) {
    if (n < list->size()) return &(*list)[n];
    n -= list->size();
  }
  return nullptr;
}

struct Grid {
  SymContext symbols;
  Sym n = symbols.symbol("n", {Int(1), Int(1 << 20)}), m = symbols.symbol("m", {Int(1), Int(1 << 20)});
  Sym x = symbols.symbol("wg_x", {Int(0), Int((1 << 14) - 1)}),
      y = symbols.symbol("wg_y", {Int(0), Int((1 << 14) - 1)});
  Sym tiles_x = ceil_div(n, Sym(64)), tiles_y = ceil_div(m, Sym(64));
  TileMap map;
  explicit Grid(const std::string& order)
      : map(tile_map(parse_tile_order(order), symbols, tiles_x, tiles_y, x, y)) {}

  bool proved() {
    solver::SolverProver prover;
    return !unproved(map, symbols, prover, tiles_x, tiles_y, x, y);
  }
  /// The tile of each workgroup of a grid; nothing where a formula has no value or one outside of its symbol's range.
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> tiles(std::int64_t w, std::int64_t h) {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (std::int64_t j = 0; j < h; ++j)
      for (std::int64_t i = 0; i < w; ++i) {
        Assignment at;
        at.set(n, Int(64 * w - 3)), at.set(m, Int(64 * h - 60));
        at.set(map.id_x, Int(i)), at.set(map.id_y, Int(j));
        for (const auto& d : map.definitions()) {
          Int v;
          try {
            v = evaluate(d.value, at);
          } catch (const LayoutError&) {
            return {};
          }
          const Interval range = interval(d.symbol);
          if (v < *range.lower || v > *range.upper) return {};
          at.set(d.symbol, v);
        }
        out.emplace_back(evaluate(x, at).value(), evaluate(y, at).value());
      }
    return out;
  }
  bool permutes(std::int64_t w, std::int64_t h) {
    const auto all = tiles(w, h);
    if (!all) return false;
    const std::set<std::pair<std::int64_t, std::int64_t>> once(all->begin(), all->end());
    for (const auto& [i, j] : once)
      if (i < 0 || j < 0 || i >= w || j >= h) return false;
    return once.size() == static_cast<std::size_t>(w * h);
  }
  bool permutes_all() {
    for (std::int64_t w = 1; w <= 9; ++w)
      for (std::int64_t h = 1; h <= 9; ++h)
        if (!permutes(w, h)) return false;
    return permutes(1, 23) && permutes(23, 1) && permutes(17, 19);
  }
};

} // namespace

TEST_CASE("tile order: text, both ways, and what is none") {
  for (const char* text : orders) {
    const TileOrder o = parse_tile_order(text);
    CHECK(parse_tile_order(to_string(o)) == o);
  }
  CHECK(parse_tile_order("linear").linear());
  CHECK(parse_tile_order("rows:1").linear());
  CHECK_FALSE(parse_tile_order("columns:1").linear());
  for (const char* text : {"", "rows", "rows:", "rows:0", "rows:65", "rows:-1", "rows:2x", "xcd+", "xcd+xcd",
                           "xcdrows:2", "tiles:3"})
    CHECK_THROWS_AS(parse_tile_order(text), CodegenError);
}

TEST_CASE("tile order: each is a permutation of small grids, and proved for all") {
  for (const char* text : orders) {
    INFO(text);
    Grid g(text);
    CHECK(g.permutes_all());
    CHECK(g.proved());
  }
}

TEST_CASE("tile order: what it is for, by hand") {
  // Rows in pairs, column by column; the fifth row alone.
  Grid pairs("rows:2");
  CHECK(*pairs.tiles(2, 5) ==
        std::vector<std::pair<std::int64_t, std::int64_t>>{
            {0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {0, 4}, {1, 4}});
  // 18 tiles in a row on 8 XCDs: the first two XCDs have three each, the others two, one after the other.
  Grid stretches("xcd");
  const auto tiles = *stretches.tiles(18, 1);
  std::map<int, std::vector<std::int64_t>> of;
  for (std::size_t i = 0; i < tiles.size(); ++i) of[static_cast<int>(i % 8)].push_back(tiles[i].first);
  CHECK(of[0] == std::vector<std::int64_t>{0, 1, 2});
  CHECK(of[1] == std::vector<std::int64_t>{3, 4, 5});
  CHECK(of[2] == std::vector<std::int64_t>{6, 7});
  CHECK(of[7] == std::vector<std::int64_t>{16, 17});
}

TEST_CASE("tile order: a map with one place changed is not proved, unless it permutes") {
  int wrong = 0, right = 0;
  for (const char* text : {"xcd", "rows:3", "columns:4", "xcd+rows:2"}) {
    const std::size_t count = Grid(text).map.definitions().size();
    for (std::size_t d = 0; d < count; ++d)
      for (int change = 0; change < 9; ++change) {
        Grid g(text);
        TileMap::Definition* const at =
            nth({&g.map.counts, &g.map.numbering, &g.map.stretching, &g.map.tiling}, d);
        const auto replace = [&](Sym from, Sym to) {
          const std::pair<AtomId, Sym> all[] = {{*from.as_atom(), to}};
          at->value = substitute(at->value, all);
        };
        const Sym before = at->value;
        switch (change) {
        case 0: at->value = before + Sym(1); break;
        case 1: at->value = before - Sym(1); break;
        case 2: at->value = Sym(2) * before; break;
        case 3: replace(g.map.tiles_x, g.map.tiles_y); break;
        case 4: replace(g.map.tiles_y, g.map.tiles_x); break;
        case 5: replace(g.map.place, g.map.number); break;
        case 6:
          replace(g.map.number, g.map.tiles - g.map.number - Sym(1));
          break; // the order backwards: right
        case 7: at->value = min(before, Sym(7)); break;
        default: std::swap(g.map.tiling.back().value, g.map.tiling[g.map.tiling.size() - 2].value);
        }
        if (at->value == before && change != 8) continue;
        INFO(text << ": " << to_string(at->symbol) << " = " << to_string(at->value));
        if (g.permutes_all()) {
          ++right;
        } else {
          ++wrong;
          CHECK_FALSE(g.proved());
        }
      }
  }
  CHECK(wrong > 100);
  CHECK(right > 0);
}

TEST_CASE("tile order: grids that may be too large are refused") {
  SymContext symbols;
  const Sym x = symbols.symbol("x", {Int(1), Int(1 << 20)}), y = symbols.symbol("y", {Int(1), Int(1 << 20)});
  CHECK_THROWS_AS(tile_map(parse_tile_order("xcd"), symbols, x, y, x, y), CodegenError);
}

namespace {

/// A sum over k in tiles of 16 for as many tiles, shared out.
struct Shared {
  SymContext symbols;
  Sym k = symbols.symbol("k", {Int(1), Int(1 << 20)}),
      tiles = symbols.symbol("tiles", {Int(1), Int(1 << 20)});
  Shares of;
  explicit Shared(int workers) : of(shares(workers, symbols, tiles, k, 16)) {}

  bool proved() {
    solver::SolverProver prover;
    return !unproved(of, symbols, prover, tiles);
  }
  /// How often each trip of each tile is in a share; nothing where a formula has no value or one outside of its symbol's range, or
  /// a share is outside of its tile. `longest`: the trips of the workgroup that has most of them.
  std::optional<std::map<std::pair<std::int64_t, std::int64_t>, int>>
  trips(std::int64_t count, std::int64_t extent, std::int64_t* longest = nullptr) {
    std::map<std::pair<std::int64_t, std::int64_t>, int> out;
    for (std::int64_t w = 0; w < of.workers; ++w) {
      Assignment at;
      at.set(k, Int(extent)), at.set(tiles, Int(count)), at.set(of.worker, Int(w));
      const auto define = [&](const std::vector<TileMap::Definition>& all) {
        for (const auto& d : all) {
          try {
            const Int v = evaluate(d.value, at);
            const Interval range = interval(d.symbol);
            if (v < *range.lower || v > *range.upper) return false;
            at.set(d.symbol, v);
          } catch (const LayoutError&) {
            return false;
          }
        }
        return true;
      };
      if (!define(of.once)) return {};
      std::int64_t mine = 0;
      for (Int turn = 0; turn < evaluate(of.turns, at); turn = turn + Int(1)) {
        at.set(of.turn, turn);
        if (!define(of.each)) return {};
        const std::int64_t begin = evaluate(of.begin, at).value(),
                           end = begin + evaluate(of.count, at).value();
        const std::int64_t tile = evaluate(of.number, at).value();
        if (tile >= count || begin < 0 || end <= begin || end > (extent + 15) / 16) return {};
        for (std::int64_t i = begin; i < end; ++i) ++out[{tile, i}], ++mine;
        if (mine > 2 * count * extent) return {}; // without an end
      }
      if (longest) *longest = std::max(*longest, mine);
    }
    return out;
  }
  bool each_once() {
    for (std::int64_t count = 1; count <= 9; ++count)
      for (const std::int64_t extent : {1, 16, 17, 48, 80, 112}) {
        const auto all = trips(count, extent);
        if (!all || all->size() != static_cast<std::size_t>(count * ((extent + 15) / 16))) return false;
        for (const auto& [trip, times] : *all)
          if (times != 1) return false;
      }
    return true;
  }
};

} // namespace

TEST_CASE("shares: each trip of each tile once, as many for every workgroup, and proved for all sizes") {
  for (const int workers : {1, 2, 3, 4, 7, 16, 304}) {
    INFO(workers);
    Shared s(workers);
    CHECK(s.each_once());
    CHECK(s.proved());
    for (const std::int64_t count : {1, 5, 8, 13})
      for (const std::int64_t extent : {16, 160, 1600}) {
        std::int64_t longest = 0;
        REQUIRE(s.trips(count, extent, &longest));
        CHECK(longest == (count * extent / 16 + workers - 1) / workers);
      }
  }
  for (const int workers : {0, -1, 1 << 20}) CHECK_THROWS_AS(Shared(workers), CodegenError);
}

TEST_CASE("shares: of as many trips as a launch may have all numbers are in their ranges") {
  constexpr std::int64_t most = Shares::most_steps;
  for (const int workers : {1, 2, 3, 304, 1 << 16})
    for (const std::int64_t trips : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1} << 16})
      for (const std::int64_t count : {most / trips, most / trips - 1, std::int64_t{1}}) {
        Shared s(workers);
        Assignment at;
        at.set(s.k, Int(16 * trips)), at.set(s.tiles, Int(count));
        INFO(workers << " workgroups, " << count << " tiles of " << trips << " trips");
        const auto define = [&](const std::vector<TileMap::Definition>& all) {
          for (const auto& d : all) {
            const Int v = evaluate(d.value, at);
            const Interval range = interval(d.symbol);
            INFO(to_string(d.symbol) << " = " << to_string(v));
            CHECK((v >= *range.lower && v <= *range.upper));
            at.set(d.symbol, v);
          }
        };
        for (const std::int64_t w : {0, 1, workers / 2, workers - 1}) {
          if (w >= workers) continue;
          at.set(s.of.worker, Int(w));
          define(s.of.once);
          const Int turns = evaluate(s.of.turns, at);
          for (const Int turn : {Int(0), floor_div(turns, Int(2)), turns - Int(2), turns - Int(1)}) {
            if (turn < Int(0) || turn >= turns) continue;
            at.set(s.of.turn, turn);
            const Interval range = interval(s.of.turn);
            CHECK((turn >= *range.lower && turn <= *range.upper));
            define(s.of.each);
          }
        }
      }
}

TEST_CASE("shares: a formula with one place changed is not proved, unless each trip is in one share") {
  int wrong = 0;
  for (const int workers : {2, 5}) {
    const std::size_t count = Shared(workers).of.once.size() + Shared(workers).of.each.size();
    for (std::size_t d = 0; d < count; ++d)
      for (int change = 0; change < 12; ++change) {
        Shared s(workers);
        TileMap::Definition* const at = nth({&s.of.once, &s.of.each}, d);
        const auto replace = [&](std::size_t from, Sym to) {
          const std::pair<AtomId, Sym> all[] = {{*s.of.once[from].symbol.as_atom(), to}};
          at->value = substitute(at->value, all);
        };
        const Sym before = at->value;
        switch (change) {
        case 0: at->value = before + Sym(1); break;
        case 1: at->value = before - Sym(1); break;
        case 2: at->value = Sym(2) * before; break;
        case 3: at->value = max(before, Sym(1)); break;
        case 4: at->value = min(before, Sym(2)); break;
        case 5: replace(0, s.of.once[0].symbol + Sym(1)); break;    // trips
        case 6: replace(1, s.of.once[1].symbol + Sym(1)); break;    // rounds
        case 7: replace(4, s.of.once[4].symbol + Sym(1)); break;    // each
        case 8: replace(5, s.of.once[5].symbol + Sym(1)); break;    // start
        case 9: replace(6, s.of.once[6].symbol - Sym(1)); break;    // stop
        case 10: replace(7, s.of.once[7].symbol + Sym(1)); break;   // first
        default: std::swap(s.of.each[4].value, s.of.each[5].value); // begin and end
        }
        if (at->value == before && change != 11) continue;
        INFO(workers << " workgroups: " << to_string(at->symbol) << " = " << to_string(at->value));
        if (s.each_once()) continue;
        ++wrong;
        CHECK_FALSE(s.proved());
      }
  }
  CHECK(wrong > 150);
}

TEST_CASE("footprint: rows and columns that an XCD works on at a time, by hand and by enumeration") {
  // 9 rows of 32 and half of one: an XCD has each eighth column, 4, and all 10 rows.
  TileGrid grid{32, 32, 3, 5, 304};
  grid.tiles_y = 9; // one round, of 288
  CHECK(footprint({}, grid) == 8 * (4 * 3 + 9 * 5));
  for (const char* text : {"linear", "xcd", "rows:4", "xcd+columns:3"})
    for (const auto& [w, h] : {std::pair{33, 7}, {8, 8}, {5, 31}}) {
      INFO(text << " " << w << " x " << h);
      const auto tiles = *Grid(text).tiles(w, h);
      for (const int resident : {304, 40}) {
        double bytes = 0;
        std::vector<std::size_t> rounds;
        const std::size_t all =
            (tiles.size() + static_cast<std::size_t>(resident) - 1) / static_cast<std::size_t>(resident);
        for (std::size_t k = 0; k < std::min<std::size_t>(all, 4); ++k)
          rounds.push_back(k * all / std::min<std::size_t>(all, 4));
        for (const std::size_t r : rounds)
          for (std::size_t xcd = 0; xcd < 8; ++xcd) {
            std::set<std::int64_t> columns, rows;
            for (std::size_t n = r * static_cast<std::size_t>(resident);
                 n < std::min(tiles.size(), (r + 1) * static_cast<std::size_t>(resident)); ++n)
              if (n % 8 == xcd) columns.insert(tiles[n].first), rows.insert(tiles[n].second);
            bytes += 3.0 * static_cast<double>(columns.size()) + 5.0 * static_cast<double>(rows.size());
          }
        CHECK(footprint(parse_tile_order(text), {w, h, 3, 5, resident}) ==
              Approx(bytes / static_cast<double>(rounds.size())));
      }
    }
}

TEST_CASE("footprint: the order that is chosen has the smallest") {
  for (const auto& [w, h] : {std::pair{32, 32}, {33, 32}, {7, 100}, {100, 7}, {1, 1}, {19, 16}}) {
    const TileGrid grid{w, h, 1, 1, 304};
    const double chosen = footprint(smallest_footprint(grid), grid);
    INFO(w << " x " << h << ": " << to_string(smallest_footprint(grid)));
    for (const char* text :
         {"linear", "xcd", "rows:2", "rows:8", "columns:4", "xcd+rows:4", "xcd+rows:8", "xcd+columns:8"})
      CHECK(chosen <= 1.01 * footprint(parse_tile_order(text), grid));
  }
  CHECK(smallest_footprint({1, 1, 1, 1, 304}).linear());
  // 33 columns: in linear order an XCD has nearly all of them at a time.
  CHECK_FALSE(smallest_footprint({33, 32, 1, 1, 304}).linear());
}

} // namespace tile_order_test
