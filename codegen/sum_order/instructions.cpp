// What each instruction makes of the trees.
#include "trees.h"

#include <inlay/codegen/address.h>

#include <array>
#include <bit>

namespace inlay::codegen::sums {

const Trees::At& Trees::at_of(const Inst& i) {
  const auto [found, fresh] = at_.try_emplace(&i);
  At& at = found->second;
  if (!fresh) return at;
  for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis) {
    std::vector<int> c, element;
    for (const auto& e : i.access.elements) element.push_back(e[axis]);
    const std::vector<int> thread = thread_coordinates(i.access.threads, axis);
    c.reserve(thread.size() * element.size());
    for (const int t : thread)
      for (const int e : element) c.push_back(t + e);
    const auto [low, high] = std::ranges::minmax(c);
    at.least.push_back(low), at.count.push_back(high - low + 1);
    at.axis.push_back(std::move(c));
  }
  return at;
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
      const std::size_t taken = i.lane_mask > 0
                                    ? std::min(i.uses.size(), static_cast<std::size_t>(t / i.lane_mask))
                                    : i.uses.size();
      for (std::size_t u = 0; u < taken; ++u) {
        if (const std::size_t count = whole_register(i, u, g_.registers); count > 1 && i.lane_mask == 0)
          key.push_back(-static_cast<std::int64_t>(count));
        of.push_back(at(i.uses[u], t)), key.push_back(of.back().id);
      }
      return make(i, key, of);
    });
    break;
  case InstKind::fold_lanes: {
    const Reg &mine = i.uses.front(), &theirs = i.uses.back();
    const Slots own = regs_[static_cast<std::size_t>(mine.id)],
                before = regs_[static_cast<std::size_t>(theirs.id)];
    const auto value = [&](const Slots& from, const Reg& r, int thread, int e) {
      const int count = g_.registers[static_cast<std::size_t>(r.id)].count;
      return from[static_cast<std::size_t>(thread * count + r.first + e)];
    };
    each_def(i, [&](int t, int e) {
      if (i.uses.size() == 2 && (t & i.lane_mask) == 0) return value(own, mine, t, e);
      const std::array<Value, 2> of = {value(own, mine, t, e), value(before, theirs, t ^ i.lane_mask, e)};
      const auto [low, high] = std::minmax(of[0].id, of[1].id); // a + b = b + a, bit for bit
      return make(i, {lanes, static_cast<std::int64_t>(i.monoid), low, high}, of);
    });
    break;
  }
  case InstKind::top:
    each_def(i, [&](int t, int) { // of all of the lanes' elements, in the order of their places
      Key key = {best, i.place ? 1 : i.beside ? 2 : 0, i.rank, i.top, i.lane_mask};
      std::vector<Value> of;
      for (int lane = 0; lane < 64; ++lane)
        for (const Reg& u : i.uses)
          if ((lane & ~i.lane_mask) == 0)
            of.push_back(at(u, (t & ~i.lane_mask) | lane)), key.push_back(of.back().id);
      return make(i, key, of);
    });
    break;
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
  const At& places = at_of(i);
  const auto& at_axis = places.axis;
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
  // Elements of one column have one tree, each of its own row.
  const Column column = column_of(places, [&](std::size_t a) { return !is_row[a]; });
  std::vector<int> known(i.access.gathered() ? 0 : column.size, -1);
  Rows rows(*this, row);
  Key key = {load, t.id}; // of which each element has its own numbers
  struct Own {
    std::size_t at, axis; // in the key
    bool gathered;
  };
  std::vector<Own> own_numbers;
  for (std::size_t a = 0; a < axes; ++a) {
    const bool gathered = i.access.gathered(a);
    if (!gathered && is_row[a]) {
      key.push_back(-2);
      continue;
    }
    key.push_back(gathered ? -4 : -5);
    if (!gathered) key.push_back(origin[a].number);
    own_numbers.push_back({key.size(), a, gathered}), key.push_back(0);
  }
  std::vector<Value> through;
  each_def(i, [&](int th, int e) {
    const std::size_t slot = static_cast<std::size_t>(th) * count + static_cast<std::size_t>(e);
    int r = has_row ? rows(by_formula ? 0 : at_axis[row_at][slot]) : no_row;
    int* const tree = known.empty() ? nullptr : &known[column.of(slot)];
    if (tree && *tree >= 0) return Value{*tree, r};
    through.clear();
    for (const auto& [place, a, gathered] : own_numbers) {
      if (gathered) {
        through.push_back(at(i.uses[static_cast<std::size_t>(i.access.rows[a])], th));
        key[place] = through.back().id;
      } else {
        key[place] = origin[a].constant + at_axis[a][slot];
      }
    }
    int id = -1;
    if (through.empty()) {
      id = intern(key, own, exact);
    } else {
      Causes all = own;
      for (const Value& v : through) {
        all |= causes_of(v.id);
        if (v.row == no_row || v.row == r) continue;
        r = r == no_row ? v.row : several;
      }
      if (r == several) all.set(cause({Cause::What::rows, 0, i.op, i.where, others}));
      id = intern(key, all, exact);
    }
    if (tree) *tree = id;
    return Value{id, r};
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

const std::vector<int>& Trees::places(const Inst& i) {
  const Tensor& t = p_.tensor(i.access.tensor);
  (void)at_of(i);
  At& at = at_.at(&i);
  std::vector<int>& out = at.place;
  if (!out.empty()) return out;
  out.assign(static_cast<std::size_t>(p_.threads()) * i.access.elements.size(), 0);
  for (std::size_t a = 0; a < at.axis.size(); ++a) {
    const auto extent = static_cast<int>(t.shape[a].constant()->value()),
               begin = static_cast<int>(i.access.origin[a].constant()->value());
    for (std::size_t s = 0; s < out.size(); ++s) out[s] = out[s] * extent + begin + at.axis[a][s];
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
  const std::size_t count = i.access.elements.size();
  const int* place = places(i).data();
  for (int t = 0; t < p_.threads(); ++t, place += count) {
    if (!runs(i, t) || !i.access.acts(t)) continue;
    const Value* const from = elements(i.uses[0], t);
    for (std::size_t e = 0; e < count; ++e) c[static_cast<std::size_t>(place[e])] = from[e];
  }
}

void Trees::read(const Inst& i) {
  const Slots& c = cells(p_.tensor(i.access.tensor));
  const std::vector<int>& place = places(i);
  each_def(i, [&](int t, int e) {
    return c[static_cast<std::size_t>(place[static_cast<std::size_t>(t * i.def.count + e)])];
  });
}

void Trees::multiply(const Inst& i) {
  const Mma& mma = *i.atom->mma;
  const int lanes_ = p_.target().wave_size, results = mma.c_values();
  if (mma.blocks != 1 || mma.sparse) {
    each_def(i, [](int, int) { return Value{}; });
    return;
  }
  const bool exact = is_integer(mma.c_element);
  const auto [found, fresh] = atoms_.try_emplace(i.atom);
  if (fresh) {
    Places& p = found->second;
    p = {static_cast<int>(atoms_.size()), coordinates(mma.c, 0), coordinates(mma.c, 1), {}};
    for (std::size_t side = 0; side < 2; ++side) {
      const Layout& of = side == 0 ? mma.a : mma.b;
      const std::vector<int> row = coordinates(of, 0), k = coordinates(of, 1);
      for (std::size_t n = 0; n < row.size(); ++n) p.operand[side].push_back(row[n] * mma.k + k[n]);
    }
  }
  const Places& at_lane = found->second;
  for (int w = 0; w < p_.threads() / lanes_; ++w) {
    if (!i.waves.contains(w)) continue;
    const Operand &x = operand(i, at_lane, 0, w), &y = operand(i, at_lane, 1, w);
    // Results of rows and columns of one kind are one node where the sums before them are, each of its own row.
    struct Made {
      int before = -1, after = -1;
    };
    std::vector<Made> made(x.kinds.size() * y.kinds.size());
    std::size_t at_c = 0;
    for (int l = 0; l < lanes_; ++l) {
      Value* const sums = elements(i.def, w * lanes_ + l);
      for (int v = 0; v < results; ++v, ++at_c) {
        const auto row = static_cast<std::size_t>(at_lane.c_row[at_c]),
                   column = static_cast<std::size_t>(at_lane.c_column[at_c]);
        Value& sum = sums[v];
        const int of_rows = row_of(sum.row, row_of(x.list[row].row, y.list[column].row));
        Made& known = made[x.kind[row] * y.kinds.size() + y.kind[column]];
        if (of_rows != several && known.before == sum.id) {
          sum = {known.after, of_rows};
          continue;
        }
        const std::array<Value, 3> of = {sum, x.list[row], y.list[column]};
        const bool whole = exact && node(of[0].id).exact && node(of[1].id).exact && node(of[2].id).exact;
        const Value next = make(i, {product, at_lane.number, of[0].id, of[1].id, of[2].id}, of, {}, whole);
        if (of_rows != several) known = {sum.id, next.id};
        sum = next;
      }
    }
  }
}

const Trees::Operand& Trees::operand(const Inst& i, const Places& of, std::size_t side, int wave) {
  const Mma& mma = *i.atom->mma;
  const std::size_t parts = operand_parts(i);
  const int lanes_ = p_.target().wave_size, rows = side == 0 ? mma.m : mma.n,
            values = (side == 0 ? mma.a_values() : mma.b_values()) / static_cast<int>(parts);
  const Reg& first = i.uses[side * parts];
  Operand& out = operands_[{i.op, static_cast<int>(side), first.id, first.first, wave}];
  std::vector<Value> all(static_cast<std::size_t>(rows * mma.k));
  const int* to = of.operand[side].data();
  for (int l = 0; l < lanes_; ++l)
    for (std::size_t part = 0; part < parts; ++part) {
      const Value* const from = elements(i.uses[side * parts + part], wave * lanes_ + l);
      for (int v = 0; v < values; ++v) all[static_cast<std::size_t>(*to++)] = from[v];
    }
  for (int l = 0; mma.scaled && l < lanes_; ++l)
    all.push_back(at(i.uses[2 * parts + side], wave * lanes_ + l));
  if (out.all == all) return out; // most are read by several instructions
  out = {std::move(all), {}, {}, {}};
  std::vector<std::vector<Value>> scales(static_cast<std::size_t>(rows));
  if (mma.scaled) {
    const std::vector<int> s_row = coordinates(*mma.scale, 0), s_k = coordinates(*mma.scale, 1);
    std::map<std::pair<int, int>, Value> sorted;
    for (std::size_t l = 0; l < static_cast<std::size_t>(lanes_); ++l)
      sorted[{s_row[l], s_k[l]}] = out.all[static_cast<std::size_t>(rows * mma.k) + l];
    for (const auto& [where, v] : sorted) scales[static_cast<std::size_t>(where.first)].push_back(v);
  }
  // Rows of the batch are one list, each of its own row.
  std::span<const Value> before;
  std::vector<Value> row;
  Key key;
  for (int r = 0; r < rows; ++r) {
    const std::span<const Value> own(out.all.data() + r * mma.k, static_cast<std::size_t>(mma.k));
    const auto& s = scales[static_cast<std::size_t>(r)];
    if (const int row_r = row_of(own);
        s.empty() && row_r != several && std::ranges::equal(own, before, {}, &Value::id, &Value::id)) {
      out.list.push_back({out.list.back().id, row_r});
      out.kind.push_back(out.kind.back());
      continue;
    }
    row.assign(own.begin(), own.end());
    row.insert(row.end(), s.begin(), s.end());
    key.clear(), key.push_back(list);
    bool whole = true;
    for (const Value& v : row) key.push_back(v.id), whole = whole && node(v.id).exact;
    out.list.push_back(make(i, key, row, {}, whole));
    before = out.list.back().row == several ? std::span<const Value>() : own;
    const auto like = std::ranges::find(out.kinds, out.list.back().id);
    out.kind.push_back(static_cast<std::size_t>(like - out.kinds.begin()));
    if (like == out.kinds.end()) out.kinds.push_back(out.list.back().id);
  }
  return out;
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
  std::vector<Value> of(operands);
  Key key = {map, i.map.id, static_cast<std::int64_t>(element(i.def)), how}; // places and operands follow
  const std::size_t place_at = key.size(), operand_at = place_at + places_used.size() + 1;
  for (std::size_t a = 0; a < places_used.size(); ++a) key.push_back(0);
  key.push_back(-3);
  for (std::size_t k = 0; k < operands; ++k) key.push_back(0);
  for (int t = 0; t < p_.threads(); ++t) {
    if (!runs(i, t)) continue;
    before.clear();
    for (std::size_t e = 0; e < n; ++e) {
      for (std::size_t k = 0; k < operands; ++k) of[k] = at(i.uses[k * n + e], t);
      if (same) {
        before.push_back(of[0]);
        continue;
      }
      for (std::size_t a = 0; a < places_used.size(); ++a)
        key[place_at + a] = thread_at[a][static_cast<std::size_t>(t)] + i.position[e][places_used[a]];
      for (std::size_t k = 0; k < operands; ++k) key[operand_at + k] = of[k].id;
      before.push_back(make(i, key, of, own));
    }
    std::ranges::copy(before, elements(i.def, t));
  }
}

void Trees::store_to(const Inst& i) {
  const Tensor& t = p_.tensor(i.access.tensor);
  Stored& s = stored[t.id];
  const At& places = at_of(i);
  const auto& at_axis = places.axis;
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
  // What an element depends on, the same for most.
  Node last;
  const auto depends_on = [&](const Node& n) {
    if (n.causes == last.causes && n.exact == last.exact) return;
    last = n;
    Causes here = *n.causes;
    if (n.exact && is_integer(t.element)) // what the specification says, in any order
      for (std::size_t c = 0; c < causes.size(); ++c)
        if (causes[c].what != Cause::What::rows && causes[c].what != Cause::What::unknown &&
            causes[c].what != Cause::What::uniform && !(batch_ && causes[c].atom == *batch_->as_atom()))
          here.reset(c);
    all |= here;
    s.by_trip = s.by_trip || asks_trip(here);
  };
  const auto open = std::ranges::find(s.paths, path_);
  const int path = static_cast<int>(open - s.paths.begin());
  if (open == s.paths.end()) s.paths.push_back(path_);
  // The tree of a column that is open on this path: the first one there.
  const auto first_of = [&](std::size_t slot, int id, bool exact) {
    Key column;
    for (std::size_t a = 0; a < axes; ++a)
      if (a != row) {
        column.push_back(origin[a].number);
        column.push_back(origin[a].constant + at_axis[a][slot]);
      }
    auto& ways = s.by_column[column];
    for (const auto& [other_path, other] : ways)
      if (other_path == path) return other;
    for (const auto& [other_path, other] : ways)
      s.apart = s.apart || (other != id && together(s.paths[static_cast<std::size_t>(other_path)], path_) &&
                            !(exact && node(other).exact && whole));
    ways.push_back({path, id});
    return id;
  };
  const Column column = column_of(places, [&](std::size_t a) { return a != row; });
  s.by_column.reserve(s.by_column.size() + column.size);
  std::vector<int> of_column(has_row ? column.size : 0, -1);
  Rows rows(*this, has_row ? origin[row] : Origin{});
  for (std::size_t e = 0; e < count; ++e) {
    for (const int th : acting) {
      const std::size_t slot = static_cast<std::size_t>(th) * count + e;
      const Value v = at(i.uses[0], th, static_cast<int>(e));
      const Node& n = node(v.id);
      depends_on(n);
      if (s.first < 0) s.first = v.id;
      if (!has_row) {
        s.of_rows = s.of_rows || v.row != no_row;
        continue;
      }
      const int own = i.access.gathered(row)
                          ? at(i.uses[static_cast<std::size_t>(i.access.rows[row])], th).row
                          : rows(at_axis[row][slot]);
      s.foreign = s.foreign || (v.row != no_row && v.row != own);
      int in_column = of_column.empty() ? -1 : of_column[column.of(slot)];
      if (in_column < 0) {
        in_column = first_of(slot, v.id, n.exact);
        if (!of_column.empty()) of_column[column.of(slot)] = in_column;
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
