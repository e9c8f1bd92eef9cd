#include <inlay/codegen/tile_order.h>

#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/symbol_kinds.h>

#include <algorithm>
#include <functional>
#include <set>

namespace inlay::codegen {
namespace {

constexpr int xcds = 8, most_of_group = 64;
constexpr std::int64_t most = INT32_MAX; // workgroups

} // namespace

TileOrder parse_tile_order(const std::string& text) {
  TileOrder o;
  std::string rest = text;
  const auto refuse = [&] {
    throw CodegenError("unknown order of tiles", "order  " + text,
                       "linear, xcd, rows:G, columns:G, xcd+rows:G or xcd+columns:G with G from 1 to " +
                           std::to_string(most_of_group));
  };
  if (rest == "linear") return o;
  if (rest.rfind("xcd", 0) == 0) {
    o.stretches = true;
    rest = rest.substr(3);
    if (rest.empty()) return o;
    if (rest[0] != '+') refuse();
    rest = rest.substr(1);
  }
  const std::size_t colon = rest.find(':');
  const std::string kind = rest.substr(0, colon),
                    number = colon == std::string::npos ? "" : rest.substr(colon + 1);
  o.columns = kind == "columns";
  if ((kind != "rows" && kind != "columns") || number.empty() || number.size() > 2 ||
      number.find_first_not_of("0123456789") != std::string::npos)
    refuse();
  o.group = std::stoi(number);
  if (o.group < 1 || o.group > most_of_group) refuse();
  return o;
}

std::string to_string(const TileOrder& o) {
  const std::string groups = (o.columns ? "columns:" : "rows:") + std::to_string(o.group);
  if (o.group == 1 && !o.columns) return o.stretches ? "xcd" : "linear";
  return (o.stretches ? "xcd+" : "") + groups;
}

std::vector<TileMap::Definition> TileMap::definitions() const {
  std::vector<Definition> out;
  for (const auto* list : {&counts, &numbering, &stretching, &tiling})
    out.insert(out.end(), list->begin(), list->end());
  return out;
}

TileMap tile_map(const TileOrder& order, SymContext& symbols, Sym tiles_x, Sym tiles_y, Sym tile_x,
                 Sym tile_y, std::optional<Sym> number) {
  TileMap m;
  m.order = order;
  // The launch has at most 65535 workgroups along y.
  const Int most_x = interval(tiles_x).upper.value_or(Int(most)),
            most_y = std::min(interval(tiles_y).upper.value_or(Int(most)), Int(65535));
  const Sym in_all = Sym(most_x) * Sym(most_y), strips = Sym(order.group) * Sym(std::max(most_x, most_y));
  const bool too_many =
      !number && in_all.constant_term() > Int(most); // of shares a launch says how many there are
  if (too_many || strips.constant_term() > Int(most))
    throw CodegenError("an order of tiles: there may be more than 2^31 - 1 workgroups",
                       "grid   up to " + to_string(most_x) + " x " + to_string(most_y),
                       "sizes with a smaller upper bound, or larger tiles");
  const auto symbol = [&](const char* name, Int low, Int high) {
    return symbol_of(symbols, SymbolKind::of_tiles, {}, name, {low, high});
  };
  m.id_x = symbol("id_x", 0, most_x - Int(1));
  m.id_y = symbol("id_y", 0, most_y - Int(1));
  m.tiles_x = symbol("tiles_x", 1, most_x);
  m.tiles_y = symbol("tiles_y", 1, most_y);
  m.tiles = symbol("tiles_in_all", 1, most);
  m.number = symbol("number", 0, most);
  m.place = symbol("place", 0, most);
  m.counts = {{m.tiles_x, tiles_x}, {m.tiles_y, tiles_y}, {m.tiles, m.tiles_x * m.tiles_y}};
  m.numbering = {{m.number, number ? *number : m.id_x + m.tiles_x * m.id_y}};
  Sym place = m.number;
  if (order.stretches) {
    const Sym xcd = floor_mod(m.number, xcds);
    place = xcd * floor_div(m.tiles, xcds) + min(xcd, floor_mod(m.tiles, xcds)) + floor_div(m.number, xcds);
  }
  m.stretching = {{m.place, place}};
  // Strips of `group` rows; the last one may have fewer.
  const Sym across = order.columns ? m.tiles_x : m.tiles_y, along = order.columns ? m.tiles_y : m.tiles_x;
  const Sym group(order.group), strip = symbol("strip", 0, floor_div(Int(most), Int(order.group))),
                                inside = symbol("inside", 0, most);
  m.tiling = {{strip, floor_div(m.place, group * along)}, {inside, m.place - group * along * strip}};
  Sym rows(1);
  if (order.group > 1) {
    rows = symbol("rows", 1, order.group);
    m.tiling.push_back({rows, min(group, across - group * strip)});
  }
  const Sym of_along = floor_div(inside, rows), of_across = group * strip + inside - rows * of_along;
  m.tiling.push_back({tile_x, order.columns ? of_across : of_along});
  m.tiling.push_back({tile_y, order.columns ? of_along : of_across});
  return m;
}

double footprint(const TileOrder& order, const TileGrid& grid) {
  SymContext symbols;
  const Sym x = symbols.symbol("x", {Int(0), Int(grid.tiles_x - 1)}),
            y = symbols.symbol("y", {Int(0), Int(grid.tiles_y - 1)}),
            number = symbols.symbol("number", {Int(0), Int(most)});
  const TileMap map = tile_map(order, symbols, Sym(grid.tiles_x), Sym(grid.tiles_y), x, y, number);
  const std::int64_t tiles = grid.tiles_x * grid.tiles_y,
                     rounds = (tiles + grid.resident - 1) / grid.resident;
  const std::int64_t looked_at = std::min<std::int64_t>(rounds, 4);
  double bytes = 0;
  for (std::int64_t k = 0; k < looked_at; ++k) {
    const std::int64_t round = k * rounds / looked_at;
    std::set<std::pair<std::int64_t, std::int64_t>> columns, rows; // XCD, number
    for (std::int64_t n = round * grid.resident; n < std::min((round + 1) * grid.resident, tiles); ++n) {
      Assignment at;
      at.set(number, Int(n));
      for (const TileMap::Definition& d : map.definitions()) at.set(d.symbol, evaluate(d.value, at));
      columns.emplace(n % xcds, evaluate(x, at).value());
      rows.emplace(n % xcds, evaluate(y, at).value());
    }
    bytes += static_cast<double>(columns.size()) * static_cast<double>(grid.column_bytes) +
             static_cast<double>(rows.size()) * static_cast<double>(grid.row_bytes);
  }
  return bytes / static_cast<double>(looked_at);
}

TileOrder smallest_footprint(const TileGrid& grid) {
  std::vector<std::pair<TileOrder, double>> all;
  const auto consider = [&](const TileOrder& o) { all.emplace_back(o, footprint(o, grid)); };
  consider({});
  consider({.stretches = true});
  for (const bool stretches : {false, true})
    for (const bool columns : {false, true})
      for (const int group : {2, 4, 6, 8, 12, 16, 32})
        if (group < (columns ? grid.tiles_x : grid.tiles_y)) consider({stretches, columns, group});
  const double least = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->second;
  return std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.second <= 1.01 * least; })->first;
}

namespace {

/// One case: numbers in digits, and what the definitions have to come to.
class Case {
public:
  Case(Prover& prover, std::string name) : prover_(prover), name_(std::move(name)) {}

  void let(Sym symbol, Sym value) { known_.emplace_back(*symbol.as_atom(), value); }
  [[nodiscard]] Sym at(Sym s) const { return substitute(s, known_); }

  /// The definitions have these values, each in its range. `total`: how many workgroups there are, at most 2^31 - 1.
  void define(const std::vector<TileMap::Definition>& definitions, const std::vector<Sym>& values,
              Sym total) {
    if (definitions.size() != values.size()) return say("other definitions than those of the order");
    for (std::size_t n = 0; n < values.size(); ++n) {
      const TileMap::Definition& d = definitions[n];
      const Sym value = values[n];
      demand(ClaimKind::equal, at(d.value), value);
      const Interval range = interval(d.symbol);
      bool inside = holds(ClaimKind::less_equal, Sym(*range.lower), value);
      if (range.upper && le(value, Sym(*range.upper)) != Truth::yes && !below(d.symbol, value)) {
        // c v <= total, so v <= (2^31 - 1) / c.
        const Int c = floor_div(Int(most), std::max(*range.upper, Int(1)));
        inside = inside && floor_div(Int(most), c) <= *range.upper &&
                 holds(ClaimKind::less_equal, Sym(c) * value, total);
      }
      if (!inside) say(to_string(d.symbol) + " = " + to_string(value) + " may leave its range");
      let(d.symbol, value);
    }
  }
  /// A number of a tile is below `count`, a symbol; and so below all that `count` may be.
  void number_of_tile(Sym symbol, Sym count) { counted_.emplace_back(symbol, count); }
  void demand(ClaimKind kind, Sym a, Sym b) {
    if (!holds(kind, a, b))
      say(to_string(a) + (kind == ClaimKind::equal ? " is not " : " may exceed ") + to_string(b));
  }
  [[nodiscard]] const std::optional<std::string>& wrong() const { return wrong_; }

private:
  bool below(Sym symbol, Sym value) {
    for (const auto& [number, count] : counted_)
      if (number == symbol)
        return *interval(count).upper <= *interval(symbol).upper + Int(1) &&
               holds(ClaimKind::less_equal, value + Sym(1), at(count));
    return false;
  }
  bool holds(ClaimKind kind, Sym a, Sym b) {
    const Truth t = kind == ClaimKind::equal ? eq(a, b) : le(a, b);
    // u / v = b where 0 <= u - v b < v, without a solver.
    if (const auto atom = a.as_atom(); t == Truth::unknown && atom && kind == ClaimKind::equal)
      if (const SymAtom& of = a.context()->atom(*atom); of.kind == AtomKind::floor_div) {
        const Sym rest = of.operands[0] - of.operands[1] * b;
        if (le(Sym(0), rest) == Truth::yes && le(rest + Sym(1), of.operands[1]) == Truth::yes) return true;
      }
    return t == Truth::unknown ? prover_.decide({kind, {a, b}, {}}) == Truth::yes : t == Truth::yes;
  }
  void say(const std::string& what) {
    if (!wrong_) wrong_ = name_ + ": " + what;
  }

  Prover& prover_;
  std::string name_;
  std::vector<std::pair<AtomId, Sym>> known_;
  std::vector<std::pair<Sym, Sym>> counted_;
  std::optional<std::string> wrong_;
};

} // namespace

std::optional<std::string> unproved(const TileMap& m, SymContext& symbols, Prover& prover, Sym tiles_x,
                                    Sym tiles_y, Sym tile_x, Sym tile_y, std::optional<Sym> number) {
  const auto is = [](const TileMap::Definition& d, Sym symbol, Sym value) {
    return d.symbol == symbol && d.value == value;
  };
  if (m.counts.size() != 3 || !is(m.counts[0], m.tiles_x, tiles_x) || !is(m.counts[1], m.tiles_y, tiles_y) ||
      !is(m.counts[2], m.tiles, m.tiles_x * m.tiles_y))
    return "the counts are not those of the grid";
  if (m.tiling.size() < 2 || !(m.tiling[m.tiling.size() - 2].symbol == tile_x) ||
      !(m.tiling.back().symbol == tile_y))
    return "the numbers of the tile are not what is defined last";
  const auto natural = [&](const char* name) {
    return symbol_of(symbols, SymbolKind::of_tiles, {}, name, {Int(0), std::nullopt});
  };
  const Sym a = natural("a"), b = natural("b"), more_a = natural("more_a"), more_b = natural("more_b");
  if (number) { // every number below X Y is one: `unproved` of the shares
    if (m.numbering.size() != 1 || !is(m.numbering[0], m.number, *number))
      return "the number of the tile is not the share's";
  } else { // (a, b) of the grid is number a + X b: below X Y, and by digits every number below it.
    Case c(prover, "numbers of workgroups");
    c.let(m.id_x, a), c.let(m.id_y, b);
    c.let(m.tiles_x, a + more_a + Sym(1)), c.let(m.tiles_y, b + more_b + Sym(1));
    const Sym total = c.at(m.tiles_x * m.tiles_y), numbered = a + c.at(m.tiles_x) * b;
    c.demand(ClaimKind::less_equal, numbered + Sym(1), total);
    c.define(m.numbering, {numbered}, total);
    if (c.wrong()) return c.wrong();
  }
  // Places 0 .. 8q + r - 1, cut where the stretches of the XCDs end.
  for (int r = 0; r < xcds; ++r) {
    int whole = 0, rest = 0; // the stretch begins at whole q + rest
    for (int x = 0; x < xcds; ++x) {
      const int longer = x < r ? 1 : 0;
      Case c(prover, std::to_string(r) + " tiles more than a multiple of 8, XCD " + std::to_string(x));
      const Sym q = a + more_a + Sym(1 - longer), total = Sym(xcds) * q + Sym(r); // a < q + longer
      if (m.order.stretches) {
        c.let(m.tiles, total), c.let(m.number, Sym(xcds) * a + Sym(x));
      } else {
        c.let(m.tiles, total), c.let(m.number, Sym(whole) * q + Sym(rest) + a);
      }
      c.demand(ClaimKind::less_equal, c.at(m.number) + Sym(1), total);
      c.define(m.stretching, {Sym(whole) * q + Sym(rest) + a}, total);
      if (c.wrong()) return c.wrong();
      whole += 1, rest += longer;
    }
    if (whole != xcds || rest != r) return "the stretches do not add up";
  }
  // Tile (a, group b + row) of a grid whose strip b has `rows` rows; as many as a group, or those that are left.
  for (int rows = 1; rows <= m.order.group; ++rows) {
    Case c(prover, "a strip of " + std::to_string(rows));
    const Sym group(m.order.group),
        row = rows == 1 ? Sym(0)
                        : symbol_of(symbols, SymbolKind::of_tiles, {}, "row_of_" + std::to_string(rows),
                                    {Int(0), Int(rows - 1)});
    const Sym along = a + more_a + Sym(1),
              across = group * b + Sym(rows) + (rows == m.order.group ? more_b : Sym(0));
    c.let(m.tiles_x, m.order.columns ? across : along);
    c.let(m.tiles_y, m.order.columns ? along : across);
    const Sym total = along * across, place = group * along * b + Sym(rows) * a + row;
    c.demand(ClaimKind::less_equal, place + Sym(1), total);
    c.let(m.place, place);
    c.number_of_tile(tile_x, m.tiles_x), c.number_of_tile(tile_y, m.tiles_y);
    std::vector<Sym> values = {b, Sym(rows) * a + row};
    if (m.order.group > 1) values.push_back(Sym(rows));
    const Sym strip_row = group * b + row;
    values.push_back(m.order.columns ? strip_row : a);
    values.push_back(m.order.columns ? a : strip_row);
    c.define(m.tiling, values, total);
    if (c.wrong()) return c.wrong();
  }
  return {};
}

namespace {
/// As many trips a tile has: 1 to this.
Int most_trips(Sym extent, int tile) {
  return std::min(interval(ceil_div(extent, Sym(tile))).upper.value_or(Int(Shares::most_steps)),
                  Int(Shares::most_steps));
}
/// The numbers that shares are made of, by name.
struct Steps {
  Sym rounds, whole, left, each, start, stop, first, filled, behind; // for the workgroup
  Sym before, from, to, end;                                         // for a tile
  Sym rest; ///< 1 where it is one of those that are left

  Steps(SymContext& symbols, const Shares& s) {
    const Int steps(Shares::most_steps), behind_all = steps + Int(s.workers),
                                         trips = most_trips(s.extent, s.tile);
    const auto symbol = [&](const char* name, Int low, Int high) {
      return symbol_of(symbols, SymbolKind::of_tiles, {}, name, {low, high});
    };
    rounds = symbol("rounds", 0, steps), whole = symbol("whole", 0, steps);
    left = symbol("left", 0, steps), each = symbol("each", 0, steps);
    start = symbol("start", 0, behind_all), stop = symbol("stop", 0, steps);
    first = symbol("first", 0, behind_all), behind = symbol("behind", 0, steps + Int(1));
    filled = symbol("filled", 0, steps + trips);
    before = symbol("before", 0, steps), from = symbol("from", 0, behind_all), to = symbol("to", 1, steps);
    end = symbol("end", 1, trips);
    rest = less_equal(rounds, s.turn);
  }
};
} // namespace

Shares shares(int workers, SymContext& symbols, Sym tiles, Sym extent, int tile) {
  constexpr int most_workers = 1 << 16;
  if (workers < 1 || workers > most_workers)
    throw CodegenError("shares: the tiles are for a number of workgroups",
                       "number " + std::to_string(workers),
                       "1 to " + std::to_string(most_workers) + ", as many as the device runs at a time");
  const Int steps(Shares::most_steps), trips = most_trips(extent, tile);
  const auto symbol = [&](const char* name, Int low, Int high) {
    return symbol_of(symbols, SymbolKind::of_tiles, {}, name, {low, high});
  };
  Shares s;
  s.workers = workers, s.extent = extent, s.tile = tile;
  s.worker = symbol("worker", 0, workers - 1);
  s.turns = symbol("turns", 0, steps + Int(1)), s.turn = symbol("turn", 0, steps);
  s.number = symbol("share_of", 0, steps);
  s.trips = symbol("trips_in_tile", 1, trips), s.count = symbol("share", 1, trips);
  s.begin = symbol("begin", 0, trips - Int(1));
  const Steps n(symbols, s);
  const Sym all(workers);
  s.once = {{s.trips, ceil_div(extent, Sym(tile))},
            {n.rounds, floor_div(tiles, all)},
            {n.whole, all * n.rounds},
            {n.left, (tiles - n.whole) * s.trips},
            {n.each, ceil_div(n.left, all)},
            {n.start, n.each * s.worker},
            {n.stop, min(n.start + n.each, n.left)},
            {n.first, floor_div(n.start, s.trips)},
            {n.filled, n.stop + s.trips - Sym(1)},
            {n.behind, floor_div(n.filled, s.trips)},
            {s.turns, n.rounds + max(n.first, n.behind) - n.first}};
  const Sym of_whole = n.whole * s.trips;
  s.each = {{s.number, select(n.rest, n.whole + n.first + s.turn - n.rounds, s.worker + all * s.turn)},
            {n.before, s.trips * s.number},
            {n.from, select(n.rest, of_whole + n.start, n.before)},
            {n.to, select(n.rest, of_whole + n.stop, n.before + s.trips)},
            {s.begin, max(n.from, n.before) - n.before},
            {n.end, min(n.to, n.before + s.trips) - n.before},
            {s.count, n.end - s.begin}};
  return s;
}

std::optional<std::string> unproved(const Shares& s, SymContext& symbols, Prover& prover, Sym tiles) {
  const Steps n(symbols, s);
  const Sym all(s.workers);
  const auto value_of = [&](Sym symbol) {
    for (const auto* list : {&s.once, &s.each})
      for (const TileMap::Definition& d : *list)
        if (d.symbol == symbol) return d.value;
    return symbol;
  };
  // What the definitions are that the cases below build on; of the others they show what they come to.
  for (const auto& [symbol, value] : std::initializer_list<std::pair<Sym, Sym>>{
           {s.trips, ceil_div(s.extent, Sym(s.tile))},
           {n.whole, all * n.rounds},
           {n.left, (tiles - n.whole) * s.trips},
           {n.start, n.each * s.worker},
           {n.stop, min(n.start + n.each, n.left)},
           {s.number, select(n.rest, n.whole + n.first + s.turn - n.rounds, s.worker + all * s.turn)},
           {n.before, s.trips * s.number},
           {n.from, select(n.rest, n.whole * s.trips + n.start, n.before)},
           {n.to, select(n.rest, n.whole * s.trips + n.stop, n.before + s.trips)}})
    if (!(value_of(symbol) == value)) return to_string(symbol) + " = " + to_string(value_of(symbol));
  const std::vector<Sym> order = {s.trips,  n.rounds, n.whole,  n.left,   n.each,  n.start,
                                  n.stop,   n.first,  n.filled, n.behind, s.turns, s.number,
                                  n.before, n.from,   n.to,     s.begin,  n.end,   s.count};
  std::vector<Sym> defined;
  for (const auto* list : {&s.once, &s.each})
    for (const TileMap::Definition& d : *list) defined.push_back(d.symbol);
  if (defined != order || s.once.back().symbol != s.turns) return "other definitions than those of shares";
  if (interval(s.worker) != Interval{Int(0), Int(s.workers - 1)}) return "there are other workgroups";
  const auto natural = [&](const char* name) {
    return symbol_of(symbols, SymbolKind::of_tiles, {}, name, {Int(0), std::nullopt});
  };
  const Sym a = natural("a"), b = natural("b"), f = natural("f"), j = natural("j"), v = natural("v"),
            w = natural("w"), one(1);
  const Sym rest_of_workers =
      symbol_of(symbols, SymbolKind::of_tiles, {}, "rest_of_workers", {Int(0), Int(s.workers - 1)});
  std::optional<std::string> wrong;
  const auto in = [&](const std::string& name, const std::function<void(Case&)>& body) {
    if (wrong) return;
    Case c(prover, name);
    body(c);
    wrong = c.wrong();
  };
  // Workgroup w has the steps [w each, (w + 1) each), cut off after the last one, and of a tile what these and
  // [before, before + trips) have in common. What is left to show is that all steps have a workgroup, that its turns are the tiles
  // with which it has something in common, and that each share is in its tile.
  in("whole tiles", [&](Case& c) { // tile = worker + workers turn: by digits each below workers rounds, once
    c.let(tiles, all * a + rest_of_workers);
    c.demand(ClaimKind::equal, c.at(value_of(n.rounds)), a);
    // Turn b of b + v + 1 rounds, of any workgroup.
    c.demand(ClaimKind::less_equal, s.worker + all * b + one, all * (b + v + one));
  });
  in("a share that is a whole tile", [&](Case& c) {
    c.let(n.before, a), c.let(n.from, a), c.let(n.to, a + s.trips);
    c.demand(ClaimKind::equal, c.at(value_of(s.begin)), Sym(0)), c.let(s.begin, Sym(0));
    c.demand(ClaimKind::equal, c.at(value_of(n.end)), s.trips), c.let(n.end, s.trips);
    c.demand(ClaimKind::equal, c.at(value_of(s.count)), s.trips);
  });
  in("every step that is left has a workgroup", [&](Case& c) {
    c.let(n.left, all * a + rest_of_workers + one);
    c.demand(ClaimKind::equal, c.at(value_of(n.each)), a + one);
    c.demand(ClaimKind::less_equal, c.at(n.left), all * (a + one));
  });
  in("no step that is left", [&](Case& c) {
    c.let(n.left, Sym(0));
    c.demand(ClaimKind::equal, c.at(value_of(n.each)), Sym(0));
  });
  // A workgroup that begins at trip a of tile f, or ends after trip a of it.
  const Sym trips = a + b + one;
  in("the first tile of a workgroup", [&](Case& c) {
    c.let(s.trips, trips), c.let(n.start, trips * f + a);
    c.demand(ClaimKind::equal, c.at(value_of(n.first)), f);
  });
  in("the last tile of a workgroup", [&](Case& c) {
    c.let(s.trips, trips), c.let(n.stop, trips * f + a + one);
    c.let(n.filled, c.at(value_of(n.filled)));
    c.demand(ClaimKind::equal, c.at(value_of(n.behind)), f + one);
    // Tiles before `behind` begin before the workgroup ends, tiles from there on do not.
    c.demand(ClaimKind::less_equal, trips * f + one, c.at(n.stop));
    c.demand(ClaimKind::less_equal, c.at(n.stop), trips * (f + one + j));
  });
  in("a workgroup after the last step", [&](Case& c) { // f tiles are left
    c.let(s.trips, trips), c.let(n.start, trips * f + j), c.let(n.stop, trips * f);
    c.let(n.filled, c.at(value_of(n.filled)));
    c.demand(ClaimKind::equal, c.at(value_of(n.behind)), f);
    c.demand(ClaimKind::less_equal, f, c.at(value_of(n.first)));
  });
  in("its turns", [&](Case& c) { // all before `behind`, from `first` on
    c.let(n.rounds, w), c.let(n.first, f), c.let(n.behind, f + one + j);
    c.demand(ClaimKind::equal, c.at(value_of(s.turns)), w + one + j);
  });
  in("no turn but whole tiles", [&](Case& c) {
    c.let(n.rounds, w), c.let(n.behind, f), c.let(n.first, f + j);
    c.demand(ClaimKind::equal, c.at(value_of(s.turns)), w);
  });
  // The share of tile w + `tile`, where w tiles are whole: the first trip of it and the one after the last.
  const auto share = [&](const std::string& name, Sym trips_of, Sym tile, Sym start, Sym stop, Sym first,
                         Sym last) {
    in(name, [&](Case& c) {
      c.let(s.trips, trips_of), c.let(n.before, trips_of * (w + tile));
      c.let(n.from, trips_of * w + start), c.let(n.to, trips_of * w + stop);
      c.demand(ClaimKind::less_equal, first + one, last); // something in common
      c.demand(ClaimKind::less_equal, last, trips_of);
      c.demand(ClaimKind::equal, c.at(value_of(s.begin)), first), c.let(s.begin, first);
      c.demand(ClaimKind::equal, c.at(value_of(n.end)), last), c.let(n.end, last);
      c.demand(ClaimKind::equal, c.at(value_of(s.count)), last - first);
    });
  };
  { // starts past trip a of tile f, and ends in it
    const Sym long_trips = a + b + v + one;
    share("inside of a tile", long_trips, f, long_trips * f + a, long_trips * f + a + b + one, a,
          a + b + one);
  }
  share("from inside of a tile on", trips, f, trips * f + a, trips * (f + one) + j, a, trips);
  share("all of a tile", trips, f + one + j, trips * f + a, trips * (f + j + Sym(2)) + v, Sym(0), trips);
  { // ends after a trip of tile f + 1 + j; began in tile f, at a trip before that one or after it
    const Sym more = a + v + b + one;
    share("the start of a tile, from earlier", more, f + one + j, more * f + a,
          more * (f + one + j) + a + v + one, Sym(0), a + v + one);
    share("the start of a tile, from later", more, f + one + j, more * f + a + v,
          more * (f + one + j) + a + one, Sym(0), a + one);
  }
  return wrong;
}

} // namespace inlay::codegen
