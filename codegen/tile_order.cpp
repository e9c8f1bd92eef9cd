#include <inlay/codegen/tile_order.h>

#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>

#include <algorithm>

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
                 Sym tile_y) {
  TileMap m;
  m.order = order;
  // The launch has at most 65535 workgroups along y.
  const Int most_x = interval(tiles_x).upper.value_or(Int(most)),
            most_y = std::min(interval(tiles_y).upper.value_or(Int(most)), Int(65535));
  const Sym in_all = Sym(most_x) * Sym(most_y), strips = Sym(order.group) * Sym(std::max(most_x, most_y));
  if (in_all.constant_term() > Int(most) || strips.constant_term() > Int(most))
    throw CodegenError("an order of tiles: there may be more than 2^31 - 1 workgroups",
                       "grid   up to " + to_string(most_x) + " x " + to_string(most_y),
                       "sizes with a smaller upper bound, or larger tiles");
  const auto symbol = [&](const char* name, Int low, Int high) { return symbols.symbol(name, {low, high}); };
  m.id_x = symbol("_id_x", 0, most_x - Int(1));
  m.id_y = symbol("_id_y", 0, most_y - Int(1));
  m.tiles_x = symbol("_tiles_x", 1, most_x);
  m.tiles_y = symbol("_tiles_y", 1, most_y);
  m.tiles = symbol("_tiles_in_all", 1, most);
  m.number = symbol("_number", 0, most);
  m.place = symbol("_place", 0, most);
  m.counts = {{m.tiles_x, tiles_x}, {m.tiles_y, tiles_y}, {m.tiles, m.tiles_x * m.tiles_y}};
  m.numbering = {{m.number, m.id_x + m.tiles_x * m.id_y}};
  Sym place = m.number;
  if (order.stretches) {
    const Sym xcd = floor_mod(m.number, xcds);
    place = xcd * floor_div(m.tiles, xcds) + min(xcd, floor_mod(m.tiles, xcds)) + floor_div(m.number, xcds);
  }
  m.stretching = {{m.place, place}};
  // Strips of `group` rows; the last one may have fewer.
  const Sym across = order.columns ? m.tiles_x : m.tiles_y, along = order.columns ? m.tiles_y : m.tiles_x;
  const Sym group(order.group), strip = symbol("_strip", 0, floor_div(Int(most), Int(order.group))),
                                inside = symbol("_inside", 0, most);
  m.tiling = {{strip, floor_div(m.place, group * along)}, {inside, m.place - group * along * strip}};
  Sym rows(1);
  if (order.group > 1) {
    rows = symbol("_rows", 1, order.group);
    m.tiling.push_back({rows, min(group, across - group * strip)});
  }
  const Sym of_along = floor_div(inside, rows), of_across = group * strip + inside - rows * of_along;
  m.tiling.push_back({tile_x, order.columns ? of_across : of_along});
  m.tiling.push_back({tile_y, order.columns ? of_along : of_across});
  return m;
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
                                    Sym tiles_y, Sym tile_x, Sym tile_y) {
  const auto is = [](const TileMap::Definition& d, Sym symbol, Sym value) {
    return d.symbol == symbol && d.value == value;
  };
  if (m.counts.size() != 3 || !is(m.counts[0], m.tiles_x, tiles_x) || !is(m.counts[1], m.tiles_y, tiles_y) ||
      !is(m.counts[2], m.tiles, m.tiles_x * m.tiles_y))
    return "the counts are not those of the grid";
  if (m.tiling.size() < 2 || !(m.tiling[m.tiling.size() - 2].symbol == tile_x) ||
      !(m.tiling.back().symbol == tile_y))
    return "the numbers of the tile are not what is defined last";
  const auto natural = [&](const char* name) { return symbols.symbol(name, {Int(0), std::nullopt}); };
  const Sym a = natural("_a"), b = natural("_b"), more_a = natural("_more_a"), more_b = natural("_more_b");
  { // (a, b) of the grid is number a + X b: below X Y, and by digits every number below it.
    Case c(prover, "numbers of workgroups");
    c.let(m.id_x, a), c.let(m.id_y, b);
    c.let(m.tiles_x, a + more_a + Sym(1)), c.let(m.tiles_y, b + more_b + Sym(1));
    const Sym total = c.at(m.tiles_x * m.tiles_y), number = a + c.at(m.tiles_x) * b;
    c.demand(ClaimKind::less_equal, number + Sym(1), total);
    c.define(m.numbering, {number}, total);
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
        row = rows == 1 ? Sym(0) : symbols.symbol("_row_of_" + std::to_string(rows), {Int(0), Int(rows - 1)});
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

} // namespace inlay::codegen
