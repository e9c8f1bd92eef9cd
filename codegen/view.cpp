#include <inlay/codegen/view.h>

#include "thread_value.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>

#include <algorithm>

namespace inlay::codegen {
namespace {

// Evaluates a layout of one coordinate axis for indices 0 .. size-1 of a mode, colexicographically.
std::vector<int> along(LayoutView<Int> mode, std::size_t axis) {
  std::size_t size = 1, before = 1;
  for (const Mode& m : mode.leaves()) size *= static_cast<std::size_t>(m.extent.value());
  std::vector<int> out(size, 0);
  for (const Mode& m : mode.leaves()) {
    const Axis& a = m.stride.axis;
    const int step = !a.empty() && a[0] == axis ? static_cast<int>(m.stride.scale.value()) : 0;
    const std::size_t after = before * static_cast<std::size_t>(m.extent.value());
    for (std::size_t k = before; k < after; ++k) out[k] = out[k - before] + step;
    before = after;
  }
  return out;
}

// floor(x / n), where what a work-item adds to whole tiles does not matter: floor((64 t + 8 (tid mod 8)) / 256) is floor(64 t / 256).
Sym quotient(Sym x, Sym n) {
  const auto divisor = n.constant();
  if (!divisor || x.is_constant()) return floor_div(x, n);
  // Parts c (y mod m), written c y - c m floor(y / m), from 0 to c (m - 1).
  Sym rest = x;
  Int most = 0;
  for (const Term& term : x.terms()) {
    if (term.factors().size() != 1 || term.factors()[0].power != 1 || term.coefficient >= Int(0)) continue;
    const SymAtom& atom = x.context()->atom(term.factors()[0].atom);
    if (atom.kind != AtomKind::floor_div) continue;
    const auto m = atom.operands[1].constant();
    if (!m || floor_mod(-term.coefficient, *m) != Int(0)) continue;
    const Int c = floor_div(-term.coefficient, *m);
    const Sym part = Sym(c) * (atom.operands[0] - Sym(*m) * x.context()->value(term.factors()[0].atom));
    if ((rest - part).terms().size() + 2 > rest.terms().size()) continue; // y itself is not there
    rest = rest - part;
    most += c * (*m - Int(1));
  }
  Int whole = *divisor;
  for (const Term& term : rest.terms()) whole = gcd(whole, term.coefficient);
  const Int left = floor_mod(rest.constant_term(), whole);
  return most + left < whole ? floor_div(rest - Sym(left), n) : floor_div(x, n);
}

} // namespace

Sym Tensor::at(std::span<const Sym> coordinate) const {
  INLAY_CHECK(coordinate.size() == shape.size(), "a coordinate of " + name);
  if (space == Space::window) {
    Sym sum = place.offset();
    for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
      Sym rest = coordinate[axis];
      const SymLayout mode = coordinate.size() == 1 ? place.inner() : place.inner().mode(axis);
      for (std::size_t d = 0; d < mode.modes().size(); ++d) {
        const auto& m = mode.modes()[d];
        const bool last = d + 1 == mode.modes().size();
        const Sym next = last ? Sym(0) : quotient(rest, m.extent);
        sum += (last ? rest : rest - m.extent * next) * m.stride.scale;
        rest = next;
      }
    }
    return sum;
  }
  if (coordinate.size() == 1) return place(coordinate[0]);
  TupleBuilder<Sym> b;
  const std::size_t at = b.open();
  for (const Sym& c : coordinate) b.leaf(c);
  b.close(at, coordinate.size());
  return place(BasicIntTuple<Sym>(std::move(b).finish()));
}

std::int64_t Tensor::at(std::span<const std::int64_t> coordinate) const {
  INLAY_CHECK(coordinate.size() == shape.size(), "a coordinate of " + name);
  std::int64_t sum = place.offset().constant()->value();
  const SymLayout& inner = place.inner();
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
    std::int64_t rest = coordinate[axis];
    const auto modes = coordinate.size() == 1 ? inner.view().leaves() : inner.view()[axis].leaves();
    for (std::size_t k = 0; k < modes.size(); ++k) {
      const std::int64_t extent = modes[k].extent.constant()->value(),
                         step = modes[k].stride.scale.constant()->value();
      const bool last = k + 1 == modes.size();
      sum += (last ? rest : rest % extent) * step;
      rest /= extent;
    }
  }
  const Swizzle* swizzle = place.swizzle();
  INLAY_CHECK(swizzle, "a swizzled place");
  return (*swizzle)(Int(sum)).value();
}

std::int64_t Tensor::stage_elements() const {
  const std::int64_t n = place.inner().cosize().constant()->value();
  const Swizzle* s = place.swizzle();
  if (!s || s->is_identity()) return n;
  const std::int64_t block = std::int64_t{1} << (s->bits() + s->base() + std::abs(s->shift()));
  return (n + block - 1) / block * block;
}

std::vector<Sym> Tensor::seen(std::span<const Sym> coordinate) const {
  INLAY_CHECK(coordinate.size() == looks.size(), "a coordinate of the window " + name);
  std::vector<Sym> out = look_origin;
  for (std::size_t axis = 0; axis < looks.size(); ++axis) {
    Sym rest = coordinate[axis];
    for (std::size_t d = 0; d < looks[axis].looks.size(); ++d) {
      const Look& look = looks[axis].looks[d];
      const bool last = d + 1 == looks[axis].looks.size();
      const Sym next = last ? Sym(0) : quotient(rest, look.extent);
      out[static_cast<std::size_t>(look.axis)] += look.step * (last ? rest : rest - look.extent * next);
      rest = next;
    }
  }
  return out;
}

bool Tensor::leaves(std::size_t axis) const {
  std::size_t digits = 0;
  bool whole = look_origin[axis] == Sym(0);
  for (const WindowAxis& w : looks)
    for (std::size_t d = 0; d < w.looks.size(); ++d) {
      if (w.looks[d].axis != static_cast<int>(axis)) continue;
      ++digits;
      const bool only = w.looks.size() == 1, last = d + 1 == w.looks.size();
      const Sym extent = only ? w.extent : w.looks[d].extent;
      whole = whole && w.looks[d].step == Sym(1) && extent == of_shape[axis] && (only || !last);
    }
  return digits > 1 || !whole;
}

View View::cached(const std::string& policy) const {
  View v = *this;
  v.cache = parse_cache_policy(policy);
  return v;
}

View View::keep(const std::vector<std::size_t>& modes) const {
  View v = *this;
  TupleBuilder<Mode> b;
  const std::size_t at = modes.size() == 1 ? 0 : b.open();
  for (const std::size_t m : modes) {
    if (m >= where.rank() || where.mode(m).modes().size() != 1)
      throw CodegenError("keep: the tile has no plain mode " + std::to_string(m),
                         "tile   " + to_string(where));
    b.leaf(where.mode(m).modes()[0]);
  }
  if (modes.size() != 1) b.close(at, modes.size());
  for (std::size_t m = 0; m < where.rank(); ++m)
    if (std::find(modes.begin(), modes.end(), m) == modes.end() && where.mode(m).size() != Int(1))
      throw CodegenError("keep: mode " + std::to_string(m) + " has several positions and is not kept",
                         "tile   " + to_string(where));
  v.where = Layout(std::move(b).finish());
  return v;
}

View View::through(std::size_t mode, const Fragment& ids) const {
  if (mode >= where.rank() || where.mode(mode).modes().size() != 1)
    throw CodegenError("through: the tile has no plain mode " + std::to_string(mode),
                       "tile   " + to_string(where));
  if (ids.element != Element::i32 && ids.element != Element::i64)
    throw CodegenError("through: indices are i32 or i64", "given  " + to_string(ids.element));
  View v = *this;
  const std::size_t axis = where.mode(mode).modes()[0].stride.axis[0];
  if (!(v.origin[axis] == Sym(0)))
    throw CodegenError("through: the indices say where the tile lies along that axis",
                       "tile   begins at " + to_string(v.origin[axis]), "index 0 along it");
  v.rows.resize(origin.size(), -1);
  v.rows[axis] = ids.id;
  return v;
}

bool View::plain() const {
  for (std::size_t i = 0; i < where.rank(); ++i)
    if (where.mode(i).modes().size() != 1) return false;
  return true;
}

View View::reorder(std::size_t mode, const Layout& order) const {
  if (mode >= where.rank() || where.mode(mode).modes().size() != 1 || order.size() != where.mode(mode).size())
    throw CodegenError("reorder: the tile has no plain mode " + std::to_string(mode) + " of that size",
                       "tile   " + to_string(where) + "\n  order  " + to_string(order));
  std::vector<bool> taken(static_cast<std::size_t>(order.size().value()));
  for (std::size_t p = 0; p < taken.size(); ++p) {
    const Int to = order(Int(static_cast<std::int64_t>(p)));
    const bool inside = Int(0) <= to && to < order.size();
    if (!inside || taken[static_cast<std::size_t>(to.value())])
      throw CodegenError("reorder: position " + std::to_string(p) + " is coordinate " + to_string(to) +
                             ", which is " + (inside ? "another position's, too" : "not of the tile"),
                         "order  " + to_string(order), "an order takes each coordinate once: (8,8):(8,1)");
    taken[static_cast<std::size_t>(to.value())] = true;
  }
  View v = *this;
  TupleBuilder<Mode> b;
  const std::size_t at = b.open();
  for (std::size_t i = 0; i < where.rank(); ++i) {
    const Layout old = where.mode(i);
    const Layout& digits = i == mode ? order : old; // another one may be reordered already
    const std::size_t inner = digits.modes().size() == 1 ? 0 : b.open();
    for (const Mode& m : digits.modes())
      b.leaf(Mode{m.extent, Stride(m.stride.scale, old.modes()[0].stride.axis)});
    if (digits.modes().size() != 1) b.close(inner, digits.modes().size());
  }
  b.close(at, where.rank());
  v.where = Layout(std::move(b).finish());
  return v;
}

namespace {

// Steps 0, s, 2s, ... along a mode of a tile, as steps along the axis of the tensor: the digits that they pass.
void steps_along(const Layout& mode, const Mode& steps, std::vector<Mode>& out) {
  Int extent = steps.extent, step = steps.stride.scale;
  const auto digits = mode.modes();
  for (std::size_t d = 0; d < digits.size() && extent != Int(1); ++d) {
    const bool last = d + 1 == digits.size();
    if (!last && floor_mod(step, digits[d].extent) == Int(0)) {
      step = floor_div(step, digits[d].extent);
      continue;
    }
    Int take = extent;
    if (!last) {
      const Int room = floor_div(digits[d].extent, step);
      const bool divides = floor_mod(digits[d].extent, step) == Int(0);
      if (!divides || (extent > room && floor_mod(extent, room) != Int(0)))
        throw CodegenError("partition: steps that do not divide the order of the tile",
                           "tile   " + to_string(mode) + "\n  steps  " + to_string(steps.extent) + ":" +
                               to_string(steps.stride.scale));
      take = std::min(extent, room);
    }
    out.push_back(Mode{take, Stride(step * digits[d].stride.scale, digits[d].stride.axis)});
    extent = floor_div(extent, take);
    step = Int(1);
  }
}

} // namespace

View View::partition(const Layout& tv) const {
  check_axes(tv);
  const auto mode_of = [&](const Mode& m) {
    if (m.stride.axis[0] >= where.rank())
      throw CodegenError("partition: the thread-value layout names an axis that the tile does not have",
                         "tile   " + to_string(where) + "\n  tv     " + to_string(tv));
    return where.mode(m.stride.axis[0]);
  };
  TupleBuilder<Mode> b;
  if (plain()) {
    b.profile(tv.profile().view());
    for (const Mode& m : tv.modes())
      b.leaves().push_back({m.extent, m.stride.is_basis()
                                          ? Stride(m.stride.scale, mode_of(m).modes()[0].stride.axis)
                                          : Stride(0)});
    return {tensor, Layout(std::move(b).finish()), origin, rows};
  }
  const std::size_t all = b.open();
  for (const std::size_t side : {0, 1}) {
    std::vector<Mode> modes;
    const Layout part = tv.mode(side);
    for (const Mode& m : part.modes()) {
      if (m.stride.is_basis()) {
        steps_along(mode_of(m), m, modes);
      } else {
        modes.push_back(Mode{m.extent, Stride(0)});
      }
    }
    if (modes.empty()) modes.push_back(Mode{1, Stride(0)});
    const std::size_t open = modes.size() == 1 ? 0 : b.open();
    for (const Mode& m : modes) b.leaf(m);
    if (modes.size() != 1) b.close(open, modes.size());
  }
  b.close(all, 2);
  return {tensor, Layout(std::move(b).finish()), origin, rows};
}

std::vector<int> View::extents() const {
  std::vector<int> out;
  for (std::size_t i = 0; i < where.rank(); ++i)
    out.push_back(static_cast<int>(where.mode(i).size().value()));
  return out;
}

void check_axes(const Layout& tv) {
  for (const Mode& m : tv.modes())
    if (!m.stride.is_basis() && m.stride.scale != Int(0) && m.extent != Int(1))
      throw CodegenError(
          "the stride " + to_string(m.stride.scale) + " of the thread-value layout names no axis of the tile",
          "tv     " + to_string(tv), "(64,4):(1@0,1@1), or for a tile of one axis (64,4):(4@0,1@0)");
}

std::vector<int> coordinates(const Layout& tv, std::size_t axis) {
  const std::vector<int> thread = along(tv.view()[0], axis), value = along(tv.view()[1], axis);
  std::vector<int> out(thread.size() * value.size());
  auto at = out.begin();
  for (const int t : thread)
    for (const int v : value) *at++ = t + v;
  return out;
}

std::vector<int> thread_coordinates(const Layout& threads, std::size_t axis) {
  return along(threads.view(), axis);
}

int row_bits(const Layout& tv, std::size_t rank, std::size_t axis, int wave) {
  int bits = 0;
  for (std::size_t other = 0; other < rank; ++other) {
    if (other == axis) continue;
    const std::vector<int> c = thread_coordinates(tv.mode(0), other);
    for (int bit = 1; bit < wave; bit *= 2)
      if (c[static_cast<std::size_t>(bit)] != c[0]) bits |= bit;
  }
  return bits;
}

Layout without_axis(const Layout& tv, std::size_t axis, bool values_too) {
  TupleBuilder<Mode> b;
  const std::size_t at = b.open();
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<Mode> leaves;
    const Layout part = tv.mode(i);
    for (const Mode& m : part.modes()) {
      const bool moves = m.stride.is_basis() && m.stride.axis[0] == axis;
      if (moves && i == 1 && values_too) continue;
      leaves.push_back(moves ? Mode{m.extent, Stride(0)} : m);
    }
    if (leaves.empty()) leaves.push_back(Mode{Int(1), Stride(0)});
    if (leaves.size() == 1) {
      b.leaf(leaves[0]);
      continue;
    }
    const std::size_t inner = b.open();
    for (const Mode& m : leaves) b.leaf(m);
    b.close(inner, leaves.size());
  }
  b.close(at, 2);
  return Layout(std::move(b).finish());
}

Layout line_tv(int extent, int vector, int threads) {
  if (vector < 1 || extent % (vector * threads) != 0)
    throw CodegenError("line: the vectors do not divide the threads",
                       std::to_string(extent) + " elements, " + std::to_string(threads) + " threads, " +
                           std::to_string(vector) + " elements each",
                       "a multiple of " + std::to_string(vector * threads));
  return thread_value({{threads, vector, 0}},
                      {{vector, 1, 0}, {extent / (vector * threads), vector * threads, 0}});
}

namespace {

// Rows that 64 lanes take: 8 of whole cache lines where the tile has them, 16 of 4 vectors otherwise; 4 of 4 vectors where
// four lanes share a vector.
int transfer_rows(int rows, int columns, int vector, int waves, int lanes) {
  const int at_once = lanes > 1 ? 4 : columns % (8 * vector) == 0 ? 8 : 16;
  const int across = 64 / lanes / at_once * vector;
  if (vector % lanes != 0 || rows % (at_once * waves) != 0 || columns % across != 0)
    throw CodegenError("transfer: the lanes do not divide the tile",
                       "tile   " + std::to_string(rows) + " x " + std::to_string(columns),
                       "rows a multiple of " + std::to_string(at_once * waves) + ", columns of " +
                           std::to_string(across));
  return at_once;
}

// Where each lane has a vector of 12 bytes: 16 a row, 4 rows a wave.
constexpr int row_of_twelves = 16;
void check_rows_of_twelves(int rows, int columns, int vector, int waves) {
  if (columns % (row_of_twelves * vector) != 0 || rows % 16 != 0 || rows % (4 * waves) != 0)
    throw CodegenError("transfer: rows of 16 vectors do not divide the tile",
                       "tile   " + std::to_string(rows) + " x " + std::to_string(columns),
                       "rows a multiple of " + std::to_string(std::max(16, 4 * waves)) + ", columns of " +
                           std::to_string(row_of_twelves * vector));
}

constexpr int line = 8; // vectors of 16 bytes
void check_whole_lines(int rows, int columns, int vector, int waves, int lanes) {
  const int across = line * vector, at_once = 8 * std::max(waves / 4, 1);
  if (lanes != 4 || (waves > 4 && waves % 4 != 0) || columns % across != 0 || rows % at_once != 0)
    throw CodegenError("transfer: whole lines do not divide the tile",
                       "tile   " + std::to_string(rows) + " x " + std::to_string(columns),
                       "4 lanes a vector, rows a multiple of " + std::to_string(at_once) + ", columns of " +
                           std::to_string(across));
}

} // namespace

Layout transfer_tv(int rows, int columns, int vector, int threads, int lanes, bool whole_lines) {
  if (whole_lines && lanes == 1) {
    const int waves = threads / 64, across = row_of_twelves * vector;
    check_rows_of_twelves(rows, columns, vector, waves);
    return thread_value({{row_of_twelves, vector, 1}, {4, 1, 0}, {waves, 4, 0}},
                        {{vector, 1, 1}, {rows / (4 * waves), 4 * waves, 0}, {columns / across, across, 1}});
  }
  if (whole_lines) {
    const int waves = threads / 64, apart = std::min(waves, 4), others = waves / apart;
    check_whole_lines(rows, columns, vector, waves, lanes);
    const int each = vector / lanes, across = line * vector;
    return thread_value({{lanes, each, 1}, {line, vector, 1}, {2, 4, 0}, {apart, 1, 0}, {others, 8, 0}},
                        {{each, 1, 1},
                         {4 / apart, apart, 0},
                         {rows / (8 * others), 8 * others, 0},
                         {columns / across, across, 1}});
  }
  const int waves = threads / 64, r = transfer_rows(rows, columns, vector, waves, lanes);
  const int each = vector / lanes, across = 64 / lanes / r * vector;
  return thread_value({{lanes, each, 1}, {r, 1, 0}, {64 / lanes / r, vector, 1}, {waves, r, 0}},
                      {{each, 1, 1}, {rows / (r * waves), r * waves, 0}, {columns / across, across, 1}});
}

SymLayout transfer_place(int rows, int columns, int vector, int lanes, bool whole_lines) {
  const auto mode = [](int extent, int stride) {
    return BasicMode<Sym>{Sym(extent), BasicStride<Sym>(Sym(stride))};
  };
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open(), of_rows = b.open();
  if (whole_lines) {
    // Rows that a wave's instruction has side by side: 4 of twelves, else 2. Then those that lie a quarter of the tile apart.
    const int together = lanes == 1 ? 4 : 2, across = (lanes == 1 ? row_of_twelves : line) * vector,
              apart = rows / 4 * columns + (lanes == 1 ? 4 : 2) * vector;
    if (lanes == 1) {
      check_rows_of_twelves(rows, columns, vector, 1);
      b.leaf(mode(4, across)), b.leaf(mode(4, apart));
    } else {
      check_whole_lines(rows, columns, vector, 1, lanes);
      b.leaf(mode(4, apart)), b.leaf(mode(2, across));
    }
    b.leaf(mode(rows / (4 * together), together * columns));
    b.close(of_rows, 3);
    if (columns == across) {
      b.leaf(mode(columns, 1));
    } else {
      const std::size_t of_columns = b.open();
      b.leaf(mode(across, 1)), b.leaf(mode(columns / across, together * across));
      b.close(of_columns, 2);
    }
    b.close(all, 2);
    return SymLayout(std::move(b).finish());
  }
  const int r = transfer_rows(rows, columns, vector, 1, lanes);
  b.leaf(mode(r, vector)), b.leaf(mode(rows / r, r * columns));
  b.close(of_rows, 2);
  const std::size_t of_columns = b.open();
  b.leaf(mode(vector, 1)), b.leaf(mode(columns / vector, r * vector));
  b.close(of_columns, 2);
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

Layout scales_transfer_tv(int rows, int columns, int waves, int threads) {
  const int all = threads / 64;
  if (rows % (32 * all) != 0 || columns % 8 != 0 || all % waves != 0)
    throw CodegenError("transfer of scales: the waves do not divide the tile",
                       "tile   " + std::to_string(rows) + " x " + std::to_string(columns),
                       "rows a multiple of " + std::to_string(32 * all) + ", columns of 8");
  return thread_value({{16, 1, 0}, {4, 1, 1}, {waves, 16, 0}, {all / waves, 32 * waves, 0}},
                      {{2, 16 * waves, 0}, {2, 4, 1}, {rows / (32 * all), 32 * all, 0}, {columns / 8, 8, 1}});
}

SymLayout scales_place(int rows, int columns, int waves) {
  const auto mode = [](int extent, int stride) {
    return BasicMode<Sym>{Sym(extent), BasicStride<Sym>(Sym(stride))};
  };
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open(), of_rows = b.open();
  b.leaf(mode(16, 4)), b.leaf(mode(waves, 256)), b.leaf(mode(2, 1));
  b.leaf(mode(rows / (32 * waves), 256 * waves));
  b.close(of_rows, 4);
  const std::size_t of_columns = b.open();
  b.leaf(mode(4, 64)), b.leaf(mode(2, 2)), b.leaf(mode(columns / 8, 8 * rows));
  b.close(of_columns, 3);
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

Layout rows_tv(int rows, int columns, int vector, int threads) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("rows: " + why,
                       "tile   " + std::to_string(rows) + " x " + std::to_string(columns) + ", " +
                           std::to_string(threads) + " threads, " + std::to_string(vector) + " elements each",
                       hint);
  };
  if (vector < 1 || columns % vector != 0) refuse("a row is not a whole number of vectors", "other columns");
  const int across = columns / vector;
  if (across >= threads) {
    if (across % threads != 0)
      refuse("the threads do not divide the vectors of a row",
             "columns that are a multiple of " + std::to_string(vector * threads));
    return thread_value({{threads, vector, 1}},
                        {{vector, 1, 1}, {across / threads, vector * threads, 1}, {rows, 1, 0}});
  }
  if (threads % across != 0)
    refuse("the vectors of a row do not divide the threads", "other columns or threads");
  const int down = threads / across;
  if (rows % down != 0)
    refuse("the threads do not divide the rows", "rows that are a multiple of " + std::to_string(down));
  return thread_value({{across, vector, 1}, {down, 1, 0}}, {{vector, 1, 1}, {rows / down, down, 0}});
}

Layout columns_tv(int rows, int columns, int vector, int threads, int down) {
  const int high = rows > 0 && down > 0 && rows % down == 0 ? rows / down : 0, // threads down the rows
      across = high > 0 ? threads / high : 0;
  if (high < 1 || threads % high != 0 || vector < 1 || columns % (vector * across) != 0)
    throw CodegenError("columns: the threads do not divide the tile",
                       "tile   " + std::to_string(rows) + " x " + std::to_string(columns) + ", " +
                           std::to_string(threads) + " threads, " + std::to_string(vector) + " elements each",
                       "rows (over " + std::to_string(down) +
                           ") that divide the threads, and rows * columns a multiple of threads * vector");
  std::vector<TvMode> values = {{vector, 1, 1}, {columns / (vector * across), vector * across, 1}};
  if (down > 1) values.insert(values.begin() + 1, {down, 1, 0});
  return thread_value({{high, down, 0}, {across, vector, 1}}, values);
}

Layout values_exchanged(const Layout& tv) {
  const Layout threads = tv.mode(0), values = tv.mode(1);
  TupleBuilder<Mode> b;
  const std::size_t all = b.open(), left = b.open();
  for (const Mode& m : threads.modes()) b.leaf(m);
  b.close(left, threads.modes().size());
  std::vector<Mode> order(values.modes().begin(), values.modes().end());
  if (order.size() > 1) std::swap(order[0], order[1]);
  const std::size_t right = b.open();
  for (const Mode& m : order) b.leaf(m);
  b.close(right, order.size());
  b.close(all, 2);
  return Layout(std::move(b).finish());
}

Layout transposed(const Layout& tv) {
  return with_strides(tv, [](const Mode& m) {
    return m.stride.is_basis() && m.stride.axis[0] < 2 ? Stride(m.stride.scale, {1 - m.stride.axis[0]})
                                                       : m.stride;
  });
}

} // namespace inlay::codegen
