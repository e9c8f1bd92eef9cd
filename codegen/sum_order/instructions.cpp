// What each instruction makes of the trees.
#include "trees.h"

#include <inlay/codegen/address.h>

#include <array>
#include <bit>

namespace inlay::codegen::sums {

const std::vector<std::vector<int>>& Trees::coordinates_of(const Inst& i) {
  const auto [at, fresh] = coordinates_.try_emplace(&i);
  if (!fresh) return at->second;
  for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis) {
    std::vector<int> c;
    for (const int t : thread_coordinates(i.access.threads, axis))
      for (const auto& e : i.access.elements) c.push_back(t + e[axis]);
    at->second.push_back(std::move(c));
  }
  return at->second;
}

void Trees::one(const Inst& i) {
  switch (i.kind) {
  case InstKind::fill:
    each_def(i, [&, id = intern({fill, std::bit_cast<std::int64_t>(i.value)}, Causes{}, true)](int, int) {
      return Value{id, no_row};
    });
    break;
  case InstKind::load: load_from(i); break;
  case InstKind::store: store_to(i); break;
  case InstKind::lds_read: read(i); break;
  case InstKind::lds_write: write(i); break;
  case InstKind::mma: multiply(i); break;
  case InstKind::map: apply(i); break;
  case InstKind::fold_values:
    each_def(i, [&](int t, int) {
      Key key = {fold, static_cast<std::int64_t>(i.monoid)};
      std::vector<Value> of;
      for (std::size_t u = 0; u < i.uses.size(); ++u) {
        if (const std::size_t count = whole_register(i, u, g_.registers); count > 1)
          key.push_back(-static_cast<std::int64_t>(count));
        of.push_back(at(i.uses[u], t)), key.push_back(of.back().id);
      }
      return make(i, key, of);
    });
    break;
  case InstKind::fold_lanes: {
    const Slots before = regs_[static_cast<std::size_t>(i.uses[0].id)];
    const int count = g_.registers[static_cast<std::size_t>(i.uses[0].id)].count;
    each_def(i, [&](int t, int e) {
      const auto value = [&](int thread) {
        return before[static_cast<std::size_t>(thread * count + i.uses[0].first + e)];
      };
      const std::array<Value, 2> of = {value(t), value(t ^ i.lane_mask)};
      const auto [low, high] = std::minmax(of[0].id, of[1].id); // a + b = b + a, bit for bit
      return make(i, {lanes, static_cast<std::int64_t>(i.monoid), low, high}, of);
    });
    break;
  }
  case InstKind::exchange_lanes:
    each_def(i, [&](int t, int e) {
      const int unit = i.uses[0].count, from = e / unit != 0 ? t | i.lane_mask : t & ~i.lane_mask;
      return at(i.uses[(t & i.lane_mask) != 0 ? 1 : 0], from, e % unit);
    });
    break;
  case InstKind::ticket: {
    const std::size_t c =
        cause({Cause::What::ticket, 0, i.op, i.where, "the order in which workgroups come"});
    each_def(i, [&, id = intern({drawn, i.ticket}, c)](int, int) { return Value{id, no_row}; });
    break;
  }
  case InstKind::await: { // those before it, along the axis
    Causes& c = in_turn_ ? *in_turn_ : in_turn_.emplace();
    causes_of_atoms(c, symbols(p_.axis(p_.turns()[static_cast<std::size_t>(i.turn)].axis).extent),
                    Cause::What::cut, i.op, i.where, "workgroups add one after the other");
    break;
  }
  case InstKind::wait:
  case InstKind::barrier:
  case InstKind::priority:
  case InstKind::release:
  case InstKind::signal:
  case InstKind::meet:
  case InstKind::acquire:
  case InstKind::check:
  case InstKind::print: break;
  }
}

Trees::Origin Trees::origin_of(Sym s) {
  const Int constant = s.constant_term();
  return {s, number_of(s - Sym(constant)), constant.value()};
}

int Trees::row_number(const Origin& origin, int at) {
  const auto key = std::pair(origin.number, origin.constant + at);
  const auto [found, fresh] = rows_.try_emplace(key, static_cast<int>(rows_.size()) + 2);
  if (fresh) row_symbols_.push_back(symbols(origin.at));
  return found->second;
}

bool Trees::holds_all_rows(Sym extent) const {
  if (le(*batch_, extent) == Truth::yes) return true;
  const auto terms = extent.terms(); // or whole blocks of them: 32 ceil(m / 32)
  if (terms.size() != 1 || terms[0].coefficient < Int(1)) return false;
  const Sym block(terms[0].coefficient);
  return extent == block * ceil_div(*batch_, block);
}

void Trees::load_from(const Inst& i) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const auto& at_axis = coordinates_of(i);
  const std::size_t axes = at_axis.size(), count = i.access.elements.size();
  Causes own;
  std::vector<bool> is_row(axes, false);
  std::vector<Origin> origin(axes);
  bool has_row = false;
  Origin row;
  std::size_t row_at = 0;
  bool by_formula = false;
  const std::string others = t.name + " is read at other rows";
  for (std::size_t a = 0; a < axes; ++a) {
    const Sym o = i.access.origin[a];
    const auto found = row_axes_.find({t.id, a});
    // Along an axis of as many as there are rows, and along one that rows have several places of: of others.
    const bool of_others =
        (batch_ && mentions_batch(t.shape[a])) || (found != row_axes_.end() && found->second.other);
    if (i.access.gathered(a)) { // a table may name any of them
      if (of_others) own.set(cause({Cause::What::rows, 0, i.op, i.where, others}));
      continue;
    }
    const bool output_row = t.output && row_axis(t) == a;
    const RowAxis* r = found != row_axes_.end() && !found->second.other ? &found->second : nullptr;
    const std::vector<int>& at = at_axis[a];
    const bool single = std::all_of(at.begin(), at.end(), [](int c) { return c == 0; });
    if (!has_row && (output_row || (r && r->itself))) {
      is_row[a] = has_row = true, row = origin_of(o), row_at = a;
    } else if (const auto only = !has_row && r && single ? only_row() : std::nullopt;
               only && o == substitute(r->at, std::vector<std::pair<AtomId, Sym>>{{r->coordinate, *only}})) {
      is_row[a] = has_row = true, row = origin_of(*only), row_at = a, by_formula = true; // of that row's own
    } else {
      if (of_others) own.set(cause({Cause::What::rows, 0, i.op, i.where, others}));
      own |= of_formula(o, Cause::What::bound, i, "where " + t.name + " is read");
      if (i.access.masked[a])
        own |= of_formula(t.shape[a], Cause::What::bound, i, "where " + t.name + " ends");
      origin[a] = origin_of(o);
    }
    // A row is there or not, whatever m is, unless the axis ends where a formula of m says; all are there where that is not before m.
    if (is_row[a] && i.access.masked[a] && !(t.shape[a] == *batch_) &&
        (by_formula || !holds_all_rows(t.shape[a])))
      own |= of_formula(t.shape[a], Cause::What::bound, i, "where " + t.name + " ends");
  }
  if (looks_at_others(t, has_row ? std::optional(row_at) : std::nullopt))
    own.set(cause({Cause::What::rows, 0, i.op, i.where, others}));
  if (t.output) { // what others stored, or what was there
    if (const auto s = stored.find(t.id); s != stored.end()) {
      Causes theirs = s->second.causes;
      for (std::size_t c = 0; c < causes.size(); ++c)
        if (causes[c].what == Cause::What::grid && s->second.origin.contains(causes[c].atom)) theirs.reset(c);
      own |= theirs;
      if (s->second.foreign || s->second.of_rows)
        own.set(cause({Cause::What::rows, 0, i.op, i.where, t.name + " was stored of several rows"}));
    }
    if (in_turn_) own |= *in_turn_;
  }
  const bool exact = is_integer(t.element);
  each_def(i, [&](int th, int e) {
    const std::size_t slot = static_cast<std::size_t>(th) * count + static_cast<std::size_t>(e);
    Key key = {load, t.id};
    std::vector<Value> through;
    for (std::size_t a = 0; a < axes; ++a) {
      if (i.access.gathered(a)) {
        const Value v = at(i.uses[static_cast<std::size_t>(i.access.rows[a])], th);
        through.push_back(v), key.push_back(-4), key.push_back(v.id);
      } else if (!is_row[a]) {
        key.push_back(-5), key.push_back(origin[a].number),
            key.push_back(origin[a].constant + at_axis[a][slot]);
      } else {
        key.push_back(-2);
      }
    }
    Causes all = own;
    int r = has_row ? row_number(row, by_formula ? 0 : at_axis[row_at][slot]) : no_row;
    for (const Value& v : through) {
      all |= causes_of(v.id);
      if (v.row == no_row || v.row == r) continue;
      r = r == no_row ? v.row : several;
    }
    if (r == several) all.set(cause({Cause::What::rows, 0, i.op, i.where, others}));
    return Value{intern(key, all, exact), r};
  });
}

bool Trees::mentions_batch(Sym s) const {
  const std::vector<AtomId> of = symbols(s), batch = symbols(*batch_);
  return std::any_of(of.begin(), of.end(),
                     [&](AtomId a) { return std::find(batch.begin(), batch.end(), a) != batch.end(); });
}

bool Trees::looks_at_others(const Tensor& t, std::optional<std::size_t> row) const {
  if (t.of < 0 || !batch_) return false;
  const auto is_one = [&](std::size_t axis) { // whether the row's number alone is the place along it
    if (!row || t.looks[*row].looks.size() != 1) return false;
    const Look& own = t.looks[*row].looks[0];
    int movers = 0;
    for (const WindowAxis& w : t.looks)
      for (const Look& l : w.looks) movers += l.axis == static_cast<int>(axis) ? 1 : 0;
    return own.axis == static_cast<int>(axis) && movers == 1 && own.step == Sym(1) &&
           t.look_origin[axis] == Sym(0) &&
           (t.of_shape[axis] == *batch_ || !mentions_batch(t.of_shape[axis]));
  };
  for (std::size_t axis = 0; axis < t.of_shape.size(); ++axis) {
    bool of_row = mentions_batch(t.of_shape[axis]);
    if (row)
      for (const Look& l : t.looks[*row].looks) of_row = of_row || l.axis == static_cast<int>(axis);
    const auto found = row_axes_.find({t.of, axis});
    if ((found != row_axes_.end() && found->second.other) || (of_row && !is_one(axis))) return true;
  }
  return false;
}

std::vector<int> Trees::places(const Inst& i) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const auto& at_axis = coordinates_of(i);
  std::vector<int> out(static_cast<std::size_t>(p_.threads()) * i.access.elements.size(), 0);
  for (std::size_t a = 0; a < at_axis.size(); ++a) {
    const auto extent = static_cast<int>(t.shape[a].constant()->value()),
               begin = static_cast<int>(i.access.origin[a].constant()->value());
    for (std::size_t s = 0; s < out.size(); ++s) out[s] = out[s] * extent + begin + at_axis[a][s];
  }
  return out;
}

Trees::Slots& Trees::cells(const Tensor& t) {
  Slots& c = lds_[t.id];
  if (c.empty()) {
    std::size_t n = 1;
    for (const Sym& e : t.shape) n *= static_cast<std::size_t>(e.constant()->value());
    c.resize(n);
  }
  return c;
}

void Trees::write(const Inst& i) {
  Slots& c = cells(p_.tensor(i.access.tensor));
  if (i.combine) { // of i32, the same in any order; which entries an element has is not followed
    c.assign(c.size(), Value{});
    return;
  }
  const std::vector<int> place = places(i);
  const int count = static_cast<int>(i.access.elements.size());
  for (int t = 0; t < p_.threads(); ++t)
    if (runs(i, t) && i.access.acts(t))
      for (int e = 0; e < count; ++e)
        c[static_cast<std::size_t>(place[static_cast<std::size_t>(t * count + e)])] = at(i.uses[0], t, e);
}

void Trees::read(const Inst& i) {
  const Slots& c = cells(p_.tensor(i.access.tensor));
  const std::vector<int> place = places(i);
  each_def(i, [&](int t, int e) {
    return c[static_cast<std::size_t>(place[static_cast<std::size_t>(t * i.def.count + e)])];
  });
}

void Trees::multiply(const Inst& i) {
  const Mma& mma = *i.atom->mma;
  const int lanes_ = p_.target().wave_size, results = mma.c_values();
  const std::size_t parts = operand_parts(i);
  if (mma.blocks != 1 || mma.sparse) {
    each_def(i, [](int, int) { return Value{}; });
    return;
  }
  const bool exact = is_integer(mma.c_element);
  const auto [found, fresh] = atoms_.try_emplace(i.atom);
  if (fresh)
    found->second = {static_cast<int>(atoms_.size()),
                     coordinates(mma.c, 0),
                     coordinates(mma.c, 1),
                     {coordinates(mma.a, 0), coordinates(mma.b, 0)},
                     {coordinates(mma.a, 1), coordinates(mma.b, 1)}};
  const auto& [atom, c_row, c_column, row, k] = found->second;
  for (int w = 0; w < p_.threads() / lanes_; ++w) {
    if (!i.waves.contains(w)) continue;
    std::array<std::vector<Value>, 2> of_row;
    for (std::size_t side = 0; side < 2; ++side) {
      const int rows = side == 0 ? mma.m : mma.n, full = side == 0 ? mma.a_values() : mma.b_values(),
                values = full / static_cast<int>(parts);
      std::vector<Value> all(static_cast<std::size_t>(rows * mma.k));
      for (int l = 0; l < lanes_; ++l)
        for (int v = 0; v < full; ++v)
          all[static_cast<std::size_t>(row[side][static_cast<std::size_t>(l * full + v)] * mma.k +
                                       k[side][static_cast<std::size_t>(l * full + v)])] =
              at(i.uses[side * parts + static_cast<std::size_t>(v / values)], w * lanes_ + l, v % values);
      std::vector<std::vector<Value>> scales(static_cast<std::size_t>(rows));
      if (mma.scaled) {
        const std::vector<int> s_row = coordinates(*mma.scale, 0), s_k = coordinates(*mma.scale, 1);
        std::map<std::pair<int, int>, Value> sorted;
        for (int l = 0; l < lanes_; ++l)
          sorted[{s_row[static_cast<std::size_t>(l)], s_k[static_cast<std::size_t>(l)]}] =
              at(i.uses[2 * parts + side], w * lanes_ + l);
        for (const auto& [where, v] : sorted) scales[static_cast<std::size_t>(where.first)].push_back(v);
      }
      // Rows of the batch are one list, each of its own row.
      std::span<const Value> before;
      for (int r = 0; r < rows; ++r) {
        const std::span<const Value> own(all.data() + r * mma.k, static_cast<std::size_t>(mma.k));
        const auto& s = scales[static_cast<std::size_t>(r)];
        if (const int row_r = row_of(own);
            s.empty() && row_r != several && std::ranges::equal(own, before, {}, &Value::id, &Value::id)) {
          of_row[side].push_back({of_row[side].back().id, row_r});
          continue;
        }
        std::vector<Value> of(own.begin(), own.end());
        of.insert(of.end(), s.begin(), s.end());
        Key key = {list};
        bool whole = true;
        for (const Value& v : of) key.push_back(v.id), whole = whole && node(v.id).exact;
        of_row[side].push_back(make(i, key, of, {}, whole));
        before = of_row[side].back().row == several ? std::span<const Value>() : own;
      }
    }
    // Neighbours along the rows are one node, each of its own row.
    std::array<Value, 3> of_last{};
    int last = -1;
    Slots& sums = regs_[static_cast<std::size_t>(i.def.id)];
    const int count = g_.registers[static_cast<std::size_t>(i.def.id)].count;
    for (int v = 0; v < results; ++v)
      for (int l = 0; l < lanes_; ++l) {
        const auto at_c = static_cast<std::size_t>(l * results + v);
        Value& sum = sums[static_cast<std::size_t>((w * lanes_ + l) * count + i.def.first + v)];
        const std::array<Value, 3> of = {sum, of_row[0][static_cast<std::size_t>(c_row[at_c])],
                                         of_row[1][static_cast<std::size_t>(c_column[at_c])]};
        const int of_rows = row_of(of);
        if (last >= 0 && of_rows != several && of[0].id == of_last[0].id && of[1].id == of_last[1].id &&
            of[2].id == of_last[2].id) {
          sum = {last, of_rows};
          continue;
        }
        const bool all = exact && node(of[0].id).exact && node(of[1].id).exact && node(of[2].id).exact;
        sum = make(i, {product, atom, of[0].id, of[1].id, of[2].id}, of, {}, all);
        of_last = of, last = of_rows == several ? -1 : sum.id;
      }
  }
}

void Trees::apply(const Inst& i) {
  const std::size_t n = static_cast<std::size_t>(i.def.count), operands = i.uses.size() / n;
  std::vector<Value> before; // an update may overwrite what it reads
  const bool same = renames(i, g_.registers);
  Causes own;
  std::vector<std::size_t> places_used;
  if (!same) {
    const std::vector<AtomId> of = p_.expressions().symbols(i.map);
    causes_of_atoms(own, of, Cause::What::choice, i.op, i.where, "a map says so");
    for (std::size_t a = 0; a < (i.position.empty() ? 0 : i.position[0].size()); ++a) {
      const std::string name = Program::position_name(static_cast<int>(a));
      if (std::any_of(of.begin(), of.end(), [&](AtomId s) { return p_.symbols().atom(s).name == name; }))
        places_used.push_back(a);
    }
  }
  // Which bits the same formula has.
  const std::int64_t how = static_cast<std::int64_t>(i.nan) * 8 + (i.math.contract ? 1 : 0) +
                           (i.math.approximate ? 2 : 0) + (i.math.reassociate ? 4 : 0);
  std::vector<std::vector<int>> thread_at;
  for (const std::size_t a : places_used) thread_at.push_back(thread_coordinates(i.access.threads, a));
  for (int t = 0; t < p_.threads(); ++t) {
    if (!runs(i, t)) continue;
    before.clear();
    for (std::size_t e = 0; e < n; ++e) {
      std::vector<Value> of;
      for (std::size_t k = 0; k < operands; ++k) of.push_back(at(i.uses[k * n + e], t));
      if (same) {
        before.push_back(of[0]);
        continue;
      }
      Key key = {map, i.map.id, static_cast<std::int64_t>(element(i.def)), how};
      for (std::size_t a = 0; a < places_used.size(); ++a)
        key.push_back(thread_at[a][static_cast<std::size_t>(t)] + i.position[e][places_used[a]]);
      key.push_back(-3);
      for (const Value& v : of) key.push_back(v.id);
      before.push_back(make(i, key, of, own));
    }
    for (std::size_t e = 0; e < n; ++e) put(i.def, t, static_cast<int>(e), before[e]);
  }
}

void Trees::store_to(const Inst& i) {
  const Tensor& t = p_.tensor(i.access.tensor);
  Stored& s = stored[t.id];
  const auto& at_axis = coordinates_of(i);
  const std::size_t axes = at_axis.size(), count = i.access.elements.size();
  if (!s.at) s.at = &i;
  const bool adds = i.combine && *i.combine == Monoid::sum;
  if (adds && !is_integer(t.element) && std::find(atomic.begin(), atomic.end(), &i) == atomic.end())
    atomic.push_back(&i);
  for (const Sym& o : i.access.origin)
    for (const AtomId a : symbols(o)) s.origin.insert(a);
  const auto row_axis_of = row_axis(t);
  const Program::Specification* spec = p_.specification(t);
  const bool named = spec && spec->table >= 0; // rows that a table names: its entry is the row
  const std::size_t row = named ? 0 : row_axis_of.value_or(0);
  const bool has_row = named ? batch_ && p_.tensor(spec->table).shape[0] == *batch_ : row_axis_of.has_value();
  Causes all;
  for (const auto& [guard, by_ticket] : guards_)
    if (!by_ticket) all |= guard;
  const bool for_all = std::any_of(guards_.begin(), guards_.end(), [](const auto& g) { return g.second; });
  const auto drawn = std::find_if(guards_.begin(), guards_.end(), [](const auto& g) { return g.second; });
  if (for_all) s.drawn = &i;
  s.ways.emplace(
      path_.span().first(for_all ? static_cast<std::size_t>(drawn - guards_.begin()) + 1 : path_.size()));
  std::vector<Origin> origin; // [axis]
  for (const Sym& o : i.access.origin) origin.push_back(origin_of(o));
  Key column;
  std::vector<int> acting;
  for (int th = 0; th < p_.threads(); ++th)
    if (runs(i, th) && i.access.acts(th)) acting.push_back(th);
  // What several operations store is stored in ways of which these decide.
  Causes& elements = s.elements[i.op];
  for (const auto& [trip, own] : open_) elements |= own;
  for (const Sym& o : i.access.origin)
    for (const AtomId a : symbols(o))
      if (std::any_of(p_.sizes().begin(), p_.sizes().end(),
                      [&](const Size& z) { return *z.symbol.as_atom() == a; }))
        causes_of_atoms(elements, {a}, Cause::What::cut, i.op, i.where, "one operation or another stores it");
  if (s.elements.size() > 1)
    for (const auto& [op, of] : s.elements) all |= of;
  // Trips that say which row it is.
  std::set<AtomId> of_row;
  for (const auto& [trip, own] : open_) {
    const std::vector<AtomId> in = has_row ? symbols(i.access.origin[row]) : std::vector<AtomId>();
    if (has_row && (i.access.gathered(row) || std::find(in.begin(), in.end(), trip) != in.end()))
      of_row.insert(trip);
  }
  const auto asks_trip = [&](const Causes& of) {
    for (std::size_t c = 0; c < causes.size() && !of_row.empty(); ++c)
      if (of[c] && causes[c].what == Cause::What::trip && of_row.contains(causes[c].atom)) return true;
    return false;
  };
  s.by_trip = s.by_trip || asks_trip(all);
  // Both may be open in one launch.
  const auto together = [](const Key& a, const Key& b) {
    return std::none_of(a.begin(), a.end(),
                        [&](std::int64_t x) { return std::find(b.begin(), b.end(), x ^ 1) != b.end(); });
  };
  const bool whole = is_integer(t.element);
  auto of_column = s.by_column.end(); // that of the element before, whose column most have
  int in_column = -1;
  for (std::size_t e = 0; e < count; ++e) {
    for (const int th : acting) {
      const std::size_t slot = static_cast<std::size_t>(th) * count + e;
      const Value v = at(i.uses[0], th, static_cast<int>(e));
      const Node& n = node(v.id);
      Causes here = *n.causes;
      if (n.exact && is_integer(t.element)) // what the specification says, in any order
        for (std::size_t c = 0; c < causes.size(); ++c)
          if (causes[c].what != Cause::What::rows && causes[c].what != Cause::What::unknown &&
              causes[c].what != Cause::What::uniform && !(batch_ && causes[c].atom == *batch_->as_atom()))
            here.reset(c);
      all |= here;
      if (s.first < 0) s.first = v.id;
      if (!has_row) {
        s.of_rows = s.of_rows || v.row != no_row;
        continue;
      }
      int own = no_row;
      if (i.access.gathered(row))
        own = at(i.uses[static_cast<std::size_t>(i.access.rows[row])], th).row;
      else
        own = row_number(origin[row], at_axis[row][slot]);
      s.foreign = s.foreign || (v.row != no_row && v.row != own);
      column.clear();
      for (std::size_t a = 0; a < axes; ++a)
        if (a != row) {
          column.push_back(origin[a].number);
          column.push_back(origin[a].constant + at_axis[a][slot]);
        }
      s.by_trip = s.by_trip || asks_trip(here);
      if (of_column == s.by_column.end() || of_column->first != column) {
        of_column = s.by_column.try_emplace(column).first;
        auto& ways = of_column->second;
        auto known = std::find_if(ways.begin(), ways.end(), [&](const auto& w) { return w.first == path_; });
        if (known == ways.end()) {
          for (const auto& [path, id] : ways)
            s.apart =
                s.apart || (id != v.id && together(path, path_) && !(n.exact && node(id).exact && whole));
          ways.emplace_back(path_, v.id);
          known = std::prev(ways.end());
        }
        in_column = known->second;
      }
      s.apart = s.apart || (in_column != v.id && !(n.exact && whole));
    }
  }
  if (for_all)
    for (std::size_t c = 0; c < causes.size(); ++c)
      if (all[c] && causes[c].what == Cause::What::grid)
        for (const Ticket& ticket : p_.tickets())
          if (*p_.axis(ticket.axis).symbol.as_atom() == causes[c].atom)
            own_of_ticket.emplace_back(&i, causes[c].atom);
  s.causes |= all;
}

} // namespace inlay::codegen::sums
