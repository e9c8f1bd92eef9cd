// What each instruction does to the state: registers, LDS, what is under way.
#include "interpreter.h"

#include <bit>
#include <cmath>

namespace inlay::codegen::provenance {

void Interpreter::list(State& s, const std::vector<Inst>& insts, Sym trip, int number) {
  trip_value_ = trip;
  number_ = number;
  for (const Inst& i : insts) {
    at_ = &i;
    one(s, i);
  }
  at_ = nullptr;
}

std::vector<std::pair<AtomId, Sym>> Interpreter::trips() const {
  std::vector<std::pair<AtomId, Sym>> replace;
  for (const CodeRegion& r : code_.regions)
    if (r.is_loop) replace.emplace_back(*r.trip.as_atom(), trip_value_);
  for (const Running& trip : running_) replace.emplace_back(*trip.around->nest.t.as_atom(), trip.number);
  return replace;
}

Sym Interpreter::here(Sym s) const {
  const Sym at = written(replaced_(s, trips()));
  return exiting_ ? relate(at) : at;
}

RegKey Interpreter::key(const Reg& r) const {
  return {r.id, code_.registers[static_cast<std::size_t>(r.id)].outside ? 0 : r.ahead};
}

const Term& Interpreter::value(State& s, const Reg& r) {
  Term& term = held(s, r).term;
  if (!term.others.empty()) term = total(term, code_.registers[static_cast<std::size_t>(r.id)].element);
  return term;
}

RegState& Interpreter::held(State& s, const Reg& r) {
  const auto found = s.regs.find(key(r));
  if (found == s.regs.end())
    refute("every register is written before it is read", "v" + std::to_string(r.id),
           std::string(name_of(*at_)) + " reads v" + std::to_string(r.id) + " of iteration " +
               std::to_string(r.ahead));
  if (const std::uint32_t without = waves_of(*at_) & ~found->second.waves; without != 0)
    refute("every register is written before it is read", "v" + std::to_string(r.id),
           "wave " + std::to_string(std::countr_zero(without)) + " reads it, and did not write it last");
  if (found->second.pending)
    refute("every register is waited for before it is used", "v" + std::to_string(r.id),
           std::string(name_of(*at_)) + " uses it while its load is under way");
  return found->second;
}

std::pair<int, int> Interpreter::stage_of(const Inst& i) const {
  const int n = number_ + i.access.slot;
  return {i.access.tensor, ((n % ring_) + ring_) % ring_};
}

std::uint32_t Interpreter::waves_of(const Inst& i) const {
  std::uint32_t bits = 0;
  for (int w = 0; w < p_.threads() / p_.target().wave_size; ++w)
    if (i.waves.contains(w)) bits |= std::uint32_t{1} << w;
  return bits;
}

void Interpreter::one(State& s, const Inst& i) {
  const std::uint32_t waves = waves_of(i);
  // What a workgroup does once is counted by barriers that all waves have run.
  const bool together = i.kind == InstKind::release || i.kind == InstKind::ticket ||
                        i.kind == InstKind::await || i.kind == InstKind::signal || i.kind == InstKind::meet ||
                        i.kind == InstKind::acquire;
  if (together && !i.waves.all())
    refute("all waves of the workgroup run every " + std::string(name_of(i)), "",
           "it is for waves " + std::to_string(i.waves.first) + " to " +
               std::to_string(i.waves.first + i.waves.count - 1) + " alone");
  if (together && s.apart() != 0)
    refute("all waves of the workgroup run every " + std::string(name_of(i)), "",
           "one half of them has run a barrier more");
  if (waves == 0)
    refute("an instruction has waves that run it", name_of(i), "the workgroup has none of them");
  const std::size_t vm = s.vm.size(), lgkm = s.lgkm.size();
  run(s, i);
  if (i.kind != InstKind::wait)
    for (const auto& [queue, before] : {std::pair(&s.vm, vm), std::pair(&s.lgkm, lgkm)})
      for (std::size_t n = before; n < queue->size(); ++n) (*queue)[n].waves = (*queue)[n].left = waves;
  if (i.def.id >= 0)
    if (const auto found = s.regs.find(key(i.def)); found != s.regs.end()) found->second.waves = waves;
}

void Interpreter::run(State& s, const Inst& i) {
  switch (i.kind) {
  case InstKind::fill: {
    Term t;
    t.expr = x_.constant(i.value);
    s.regs[key(i.def)] = {t, false};
    break;
  }
  case InstKind::load:
    half_ = i.direct ? &i : nullptr;
    load(s, i);
    break;
  case InstKind::store: store(s, i); break;
  case InstKind::lds_read: read(s, i); break;
  case InstKind::lds_write:
    // Both halves of a transfer, one after the other, of one iteration.
    if (i.direct &&
        (!half_ || !(half_->def == i.uses[0]) || half_->ahead != i.ahead || !(half_->waves == i.waves)))
      refute("a transfer is one instruction", p_.tensor(i.access.tensor).name,
             "its write does not stand right after its load");
    half_ = nullptr;
    write(s, i);
    break;
  case InstKind::mma: multiply(s, i); break;
  case InstKind::map:
    if (const auto one = one_sum_.find(&i); one == one_sum_.end())
      apply_map(s, i);
    else if (one->second)
      apply_map(s, *one->second);
    else
      for (const Reg& r : i.uses) (void)held(s, r); // it is there now
    break;
  case InstKind::fold_values: fold_values(s, i); break;
  case InstKind::fold_lanes: fold_lanes(s, i); break;
  case InstKind::top: top(s, i); break;
  case InstKind::exchange_lanes: exchange_lanes(s, i); break;
  case InstKind::wait:
    if (i.vm >= 0) complete(s, s.vm, i.vm, waves_of(i));
    if (i.lgkm >= 0) complete(s, s.lgkm, i.lgkm, waves_of(i));
    break;
  case InstKind::release: release(s, i); break;
  case InstKind::ticket: draw(s, i); break;
  case InstKind::await: await(s, i); break;
  case InstKind::signal: pass(s, i); break;
  case InstKind::meet: meet_devices(s, i); break;
  case InstKind::acquire: acquire(s, i); break;
  case InstKind::check: (void)assemble(s, i.uses); break; // of what was computed
  case InstKind::print:
    for (const Reg& r : i.uses) (void)assemble(s, std::vector{r});
    break;
  case InstKind::priority:
    if (i.value < 0 || i.value > 3 || i.value != std::floor(i.value))
      refute("a wave has a priority of 0 to 3", name_of(i), "it is " + std::to_string(i.value));
    break;
  case InstKind::barrier: meet(s, i); break;
  }
}

void Interpreter::meet(State& s, const Inst& i) {
  const std::string claim =
      "all waves of the workgroup run every barrier, but for one before and one after a "
      "loop that they run a phase apart";
  const int waves = p_.threads() / p_.target().wave_size, half = waves / 2;
  const auto of = [&](int first) { return waves % 2 == 0 && i.waves == Waves{first, half}; };
  if (i.waves.all()) {
    ++s.barriers[0], ++s.barriers[1];
    if (s.released) s.released = Status::published;
    if (s.meeting) s.meeting = Status::published;
    for (const auto& [turn, status] : s.awaited) s.met.insert(turn);
  } else if (of(half) && s.apart() == 0) {
    ++s.barriers[1];
  } else if (of(0) && s.apart() == 1) {
    ++s.barriers[0];
  } else {
    refute(claim, "",
           "it is for waves " + std::to_string(i.waves.first) + " to " +
               std::to_string(i.waves.first + i.waves.count - 1) + " alone, where the upper half has run " +
               std::to_string(s.apart()) + " more");
  }
  for (auto& [stage, readings] : s.readings)
    std::erase_if(readings, [&](const Reading& r) { return r.passed.published(s.barriers); });
  if (!i.waves.all() && s.apart() == 0) prove(claim, "", "counted along the code");
}

void Interpreter::complete(State& s, std::deque<Queued>& queue, int keep, std::uint32_t waves) {
  // Each wave counts its own accesses, from the youngest on; what all of its waves have waited for is over.
  std::vector<int> younger(32, 0);
  for (std::size_t n = queue.size(); n-- > 0;)
    for (std::uint32_t mine = queue[n].left & waves; mine != 0; mine &= mine - 1) {
      const int wave = std::countr_zero(mine);
      if (++younger[static_cast<std::size_t>(wave)] > keep) queue[n].left &= ~(std::uint32_t{1} << wave);
    }
  std::vector<Queued> over;
  std::erase_if(queue, [&](const Queued& q) {
    if (q.left == 0) over.push_back(q);
    return q.left == 0;
  });
  for (const Queued& q : over) finish(s, q);
}

void Interpreter::finish(State& s, const Queued& q) {
  if (q.what == Queued::What::reg) {
    // A second load into the register may still be under way.
    const auto same = [&](const Queued& other) {
      return other.what == Queued::What::reg && other.reg == q.reg;
    };
    const bool more =
        std::any_of(s.vm.begin(), s.vm.end(), same) || std::any_of(s.lgkm.begin(), s.lgkm.end(), same);
    if (const auto found = s.regs.find(q.reg); found != s.regs.end()) found->second.pending = more;
  } else if (q.what == Queued::What::write) {
    if (Passed& p = s.batches[static_cast<std::size_t>(q.index)].passed; !p.done) p = {true, s.barriers};
  }
  if (q.what == Queued::What::reg && q.index >= 0)
    for (Reading& r : s.readings[q.stage])
      if (!r.passed.done && r.waves == q.waves) {
        r.passed = {true, s.barriers}; // reads of one stage by the same waves return in order
        break;
      }
}

void Interpreter::load(State& s, const Inst& i) {
  const Prepared& r = prepared(i);
  const Tensor& t = p_.tensor(i.access.tensor);
  if (t.output && !running_.empty())
    refute("what is read is what was there before the launch", t.name,
           "it is an output, and is read inside of a loop that holds loops");
  bool in_turn = false;
  if (p_.tensor(t.memory()).device >= 0) load_of_peer(s, p_.tensor(t.memory()));
  if (const auto* spec = t.output ? p_.specification(t) : nullptr; spec && spec->table >= 0)
    refute("what is read is what was there before the launch", t.name,
           "its rows are written where " + p_.tensor(spec->table).name +
               " names them, by whichever workgroup");
  if (t.in_place)
    read_in_place(s, i, r);
  else if (t.output)
    in_turn = read_of_others(s, i, r);
  Term term;
  row_table_ = -1;
  std::vector<Sym> index;
  std::vector<int> through;
  for (std::size_t axis = 0; axis < r.origin.size(); ++axis) {
    const Uniform* u = uniform_of(p_, i.access.origin[axis]);
    if ((u || i.access.gathered(axis)) && !i.access.masked[axis])
      refute("rows that a table names and the tensor has not read as 0", t.name,
             "axis " + std::to_string(axis) + " is not masked");
    if (u) {
      if (std::any_of(r.coordinate[axis].begin(), r.coordinate[axis].end(), [](int c) { return c != 0; }))
        refute("a number of the workgroup is a coordinate by itself", t.name, to_string(u->symbol));
      through.push_back(u->tensor);
      index.push_back(here(world(u->at)));
    } else if (i.access.gathered(axis)) {
      index.push_back(row_index(s, i, axis, term));
      through.push_back(p_.tensor(row_table_).id);
    } else {
      through.push_back(-1);
      index.push_back(here(r.origin[axis]));
      // A tile of one coordinate has no column: it must not count as equal to the first of another axis.
      const std::vector<int>& coordinates = r.coordinate[axis];
      if (i.access.extents[axis] != 1 ||
          std::any_of(coordinates.begin(), coordinates.end(), [](int c) { return c != 0; })) {
        index.back() += dollar(term.columns.size());
        term.columns.push_back(r.column[axis]);
      }
      // What a guard leaves out is 0 in every bit: 2^-127 of e8m0, else the number 0.
      term.facts.push_back(
          {index.back(), world(t.shape[axis]), i.access.masked[axis] ? decode(t.element, 0) : anything});
    }
  }
  int of = t.id;
  by_position(term, t, index, through, of);
  if (!in_turn || !part_of_others(term, t, index))
    term.expr = x_.load(of, std::move(index), std::move(through));
  if (of != t.id) tidy(term); // of the columns of pages and slots
  s.regs[key(i.def)] = {std::move(term), !i.direct};
  if (i.direct) return; // the write right after it is the other half of the instruction
  s.vm.push_back({Queued::What::reg, key(i.def), t.in_place ? 1 : -1, {t.id, 0}});
}

void Interpreter::by_position(Term& term, const Tensor& cache, std::vector<Sym>& index,
                              std::vector<int>& through, int& tensor) {
  const auto t = std::find_if(p_.tensors().begin(), p_.tensors().end(), [&](const Tensor& x) {
    return x.space == Space::paged && x.cache == cache.id && x.table == through[0];
  });
  if (t == p_.tensors().end() || row_table_ != through[0] ||
      std::any_of(through.begin() + 1, through.end(), [](int table) { return table >= 0; }))
    return;
  // The page is entry `first` and a column of a row of the table, the slot another column from 0 on.
  const std::int64_t slots = cache.shape[1].constant()->value();
  const auto part = [&](Sym s) -> std::optional<std::pair<Sym, std::optional<std::size_t>>> {
    std::optional<std::size_t> column;
    for (std::size_t c = 0; c < term.columns.size(); ++c)
      if (mentions(s, *dollar(c).as_atom())) {
        if (column) return std::nullopt;
        column = c;
      }
    const Sym first = column ? s - dollar(*column) : s;
    if (column && mentions(first, *dollar(*column).as_atom())) return std::nullopt;
    return std::pair(first, column);
  };
  const Sym entry = row_entry_.back(), slot = index[1];
  const auto page = part(entry), in_page = part(slot);
  if (!page || !in_page) return;
  // All of the slots lie in the page: from 0 on, or behind what it has before a tile that is a part of it.
  const Sym begin = in_page->first;
  Column position;
  std::int64_t least = INT64_MAX, most = INT64_MIN;
  const std::size_t n =
      static_cast<std::size_t>(p_.threads()) *
      (term.columns.empty() ? 1 : columns_[term.columns[0]].size() / static_cast<std::size_t>(p_.threads()));
  for (std::size_t k = 0; k < n; ++k) {
    const std::int64_t p = page->second ? columns_[term.columns[*page->second]][k] : 0,
                       at = in_page->second ? columns_[term.columns[*in_page->second]][k] : 0;
    least = std::min(least, at), most = std::max(most, at);
    position.push_back(static_cast<int>(slots * p + at));
  }
  if (n == 0 || !less_equal(Sym(0), begin + Sym(least)) || !less_equal(begin + Sym(most + 1), Sym(slots)))
    return; // of another page
  // Behind the table's end the page is number 0: what is there is not known.
  std::erase_if(term.facts, [&](const Fact& f) { return f.index == entry || f.index == slot; });
  Sym at = Sym(slots) * page->first + begin;
  if (page->second || in_page->second) {
    at += dollar(term.columns.size());
    term.columns.push_back(columns_.intern(std::move(position)));
  } else {
    at += Sym(position.empty() ? 0 : position[0]);
  }
  const std::size_t axes = row_entry_.size();
  term.facts.push_back({at, world(t->shape[axes - 1]), anything});
  std::vector<Sym> by(row_entry_.begin(), row_entry_.end());
  by.back() = at;
  by.insert(by.end(), index.begin() + 2, index.end());
  index = std::move(by);
  through.assign(index.size(), -1);
  tensor = t->id;
}

void Interpreter::read_in_place(State& s, const Inst& i, const Prepared& r) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const std::string claim = "a workgroup reads of " + t.name + " what it alone writes, and before";
  if (i.direct || i.access.gathered() ||
      std::any_of(i.access.origin.begin(), i.access.origin.end(),
                  [&](const Sym& o) { return uniform_of(p_, o) != nullptr; }))
    refute(claim, t.name, "it is read by a transfer or through a table");
  auto& [origin, extents] = s.read_tile[t.id];
  if (origin.empty()) origin = r.origin, extents.assign(origin.size(), 0);
  const std::vector<int> from = distance(claim, t, origin, r.origin);
  const auto stored = s.stored.find(t.id);
  const std::size_t count = i.access.elements.size();
  std::vector<std::pair<int, int>> cells;
  for (std::size_t slot = 0; slot < r.coordinate[0].size(); ++slot) {
    std::vector<int> at;
    for (std::size_t axis = 0; axis < origin.size(); ++axis) at.push_back(r.coordinate[axis][slot]);
    // What else was written lies in other tiles, of which nothing is known here.
    if (stored != s.stored.end()) {
      const Written& w = stored->second;
      const auto index = w.tiles.empty() ? std::nullopt : w.tiles[0].index(at);
      if (w.axis >= 0 || w.tiles.size() != 1 || !(w.tiles[0].origin == r.origin) ||
          (index && w.tiles[0].done[*index]))
        refute(claim, t.name, "work-item " + std::to_string(slot / count) + " reads what was written");
    }
    for (std::size_t axis = 0; axis < origin.size(); ++axis) {
      at[axis] += from[axis];
      extents[axis] = std::max(extents[axis], at[axis] + 1);
    }
    const int place =
        coordinates_.emplace(std::move(at), static_cast<int>(coordinates_.size())).first->second;
    cells.emplace_back(place, static_cast<int>(slot / count) / p_.target().wave_size);
  }
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  s.readings[{t.id, 0}].push_back(
      {{}, std::make_shared<const std::vector<std::pair<int, int>>>(std::move(cells)), waves_of(i)});
}

std::vector<int> Interpreter::distance(const std::string& claim, const Tensor& t,
                                       const std::vector<Sym>& from, const std::vector<Sym>& to) {
  std::vector<int> out;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const auto d = (to[axis] - from[axis]).constant();
    if (!d || *d < Int(0) || *d > Int(1 << 20))
      refute(claim, t.name,
             "its tiles begin at " + to_string(from[axis]) + " and " + to_string(to[axis]) + " of axis " +
                 std::to_string(axis) +
                 ": the first one read has to be the first of all, a fixed distance before");
    out.push_back(static_cast<int>(d->value()));
  }
  return out;
}

void Interpreter::overwrite(State& s, const Inst& i, const Prepared& r) {
  const Tensor& t = p_.tensor(i.access.tensor);
  if (i.combine)
    refute(t.name + " holds 0 before the launch", t.name, "it holds an input, and workgroups add to it");
  const auto read = s.read_tile.find(t.id);
  if (read == s.read_tile.end()) return;
  const std::vector<int> from =
      distance("a workgroup reads of " + t.name + " what it alone writes, and before", t, read->second.first,
               r.origin);
  const auto& readings = s.readings[{t.id, 0}];
  const std::size_t count = i.access.elements.size();
  for (std::size_t slot = 0; slot < r.coordinate[0].size(); ++slot) {
    const int thread = static_cast<int>(slot / count);
    if (!r.acts[static_cast<std::size_t>(thread)]) continue;
    std::vector<int> at;
    for (std::size_t axis = 0; axis < from.size(); ++axis)
      at.push_back(r.coordinate[axis][slot] + from[axis]);
    if (const auto place = coordinates_.find(at); place != coordinates_.end())
      read_before(s, readings, place->second, thread / p_.target().wave_size, true, t.name);
  }
}

void Interpreter::read_before(const State& s, const std::vector<Reading>& readings, int place, int wave,
                              bool in_order, const std::string& what) const {
  for (const Reading& reading : readings) {
    const auto low = std::lower_bound(reading.cells->begin(), reading.cells->end(), std::pair(place, -1));
    for (auto at = low; at != reading.cells->end() && at->first == place; ++at)
      if (at->second == wave ? !reading.passed.done && !in_order
                             : !reading.passed.there(s.barriers, half_of(at->second), half_of(wave)))
        refute("nothing of " + what + " is overwritten while it is read", "",
               "element " + std::to_string(place) + ": wave " + std::to_string(wave) + " writes what wave " +
                   std::to_string(at->second) + " may still be reading");
  }
}

Sym Interpreter::row_index(State& s, const Inst& i, std::size_t axis, Term& into) {
  const Reg& row = i.uses[static_cast<std::size_t>(i.access.rows[axis])];
  Term ids = part(value(s, row), row);
  const ExprNode n = ids.expr.node();
  if (ids.partial || n.fn != Fn::load || !n.through.empty())
    refute("a gathered coordinate is an element of a table", describe(ids), "it is something else");
  row_table_ = n.tensor;
  // One entry for each element that the work-item moves.
  const std::size_t count = i.access.elements.size();
  for (int& c : ids.columns) {
    Column wide;
    for (const int v : columns_[c]) wide.insert(wide.end(), count, v);
    c = columns_.intern(std::move(wide));
  }
  rename(ids, into.columns);
  for (Fact f : ids.facts) {
    f.fill = anything; // beyond the table's end there is nothing to say
    into.facts.push_back(f);
  }
  row_entry_ = ids.expr.node().index;
  std::vector<Sym> shape;
  for (const Sym& e : p_.tensor(row_table_).shape) shape.push_back(world(e));
  Tensor table = p_.tensor(row_table_);
  table.shape = std::move(shape);
  return Program::entry(table, ids.expr.node().index);
}

void Interpreter::write(State& s, const Inst& i) {
  if (i.combine) return add(s, i);
  const Prepared& r = prepared(i);
  const Tensor& t = p_.tensor(i.access.tensor);
  if (const Element held = code_.registers[static_cast<std::size_t>(i.uses[0].id)].element; held != t.element)
    refute("what is written to " + t.name + " is of its type", to_string(t.element),
           "the register holds " + to_string(held));
  Term term = part(value(s, i.uses[0]), i.uses[0]);
  close(term);
  auto& cells = s.lds[stage_of(i)].write();
  if (cells.empty()) cells.resize(static_cast<std::size_t>(t.stage_elements()));
  const int id = static_cast<int>(s.terms.size());
  s.terms.push_back(std::move(term));
  const int batch = static_cast<int>(s.batches.size());
  s.batches.push_back({});
  const int count = static_cast<int>(i.access.elements.size());
  const auto& readings = s.readings[stage_of(i)];
  const bool is_read = !readings.empty();
  int last_batch = -1, last_wave = -1, last_half = -1;
  bool published = true; // what that one wrote, from that wave to that half
  Cell* const held = cells.data();
  const int* const place_of = r.places.data();
  for (int thread = 0; thread < p_.threads(); ++thread) {
    if (!r.acts[static_cast<std::size_t>(thread)]) continue;
    const int wave = thread / p_.target().wave_size, half = half_of(wave);
    for (int slot = thread * count; slot < (thread + 1) * count; ++slot) {
      const int place = place_of[slot];
      Cell& c = held[place];
      if (c.batch == batch)
        refute("no two work-items write one place of " + t.name, to_string(i.access.threads),
               "element " + std::to_string(place) + " is written twice, at last by work-item " +
                   std::to_string(thread));
      if (c.term >= 0 && (c.batch != last_batch || c.wave != last_wave || half != last_half)) {
        last_batch = c.batch, last_wave = c.wave, last_half = half;
        const Passed& passed = s.batches[static_cast<std::size_t>(c.batch)].passed;
        published =
            c.wave < 0 ? passed.published(s.barriers) : passed.there(s.barriers, half_of(c.wave), half);
      }
      if (c.term >= 0 && !published && !of_wave(c, wave))
        refute("writes to " + t.name + " of different waves are ordered", "",
               "element " + std::to_string(place) + ": wave " + std::to_string(wave) + " overwrites what " +
                   (c.wave < 0 ? "others" : "wave " + std::to_string(c.wave)) +
                   " wrote since the last barrier");
      if (is_read) read_before(s, readings, place, wave, false, t.name);
      c = {id, slot, batch, wave};
    }
  }
  (i.direct ? s.vm : s.lgkm).push_back({Queued::What::write, {}, batch, {}});
  prove("nothing of " + t.name + " is overwritten before every wave has read it", "", "provenance");
}

void Interpreter::add(State& s, const Inst& i) {
  const Prepared& r = prepared(i);
  const Tensor& t = p_.tensor(i.access.tensor);
  const std::string sum =
      "what is added to elements of " + t.name + " that a table names is a sum over its entries";
  const auto type = [&](const Reg& reg) { return code_.registers[static_cast<std::size_t>(reg.id)].element; };
  if (type(i.uses[0]) != t.element || t.element != Element::i32)
    refute("what is written to " + t.name + " is of its type", to_string(t.element),
           "the register holds " + to_string(type(i.uses[0])));
  if (t.shape.size() != 1 || !i.access.gathered(0) || !i.waves.all() || s.apart() != 0 || ring_ != 1 ||
      *i.combine != Monoid::sum)
    refute(sum, t.name, "it is of one axis and one stage, and all waves add to it");
  const std::vector<int>& places = places_of(t);
  const auto elements = static_cast<std::size_t>(t.stage_elements());
  for (std::size_t e = 0; e < places.size(); ++e)
    if (places[e] != static_cast<int>(e) || places.size() != elements)
      refute(sum, t.name, "element " + std::to_string(e) + " lies at " + std::to_string(places[e]));
  // The values and the entries that name where each goes, over the same columns.
  Term term = complete_term(part(value(s, i.uses[0]), i.uses[0]));
  asks_nothing(term);
  const std::size_t own = term.facts.size(); // those of the values
  const Sym entry = row_index(s, i, 0, term);
  const int table = row_table_;
  if (row_entry_.size() != 1 || p_.tensor(table).output)
    refute(sum, p_.tensor(table).name, "it is an input with one axis");
  std::optional<std::size_t> column;
  for (std::size_t c = 0; c < term.columns.size(); ++c)
    if (mentions(entry, *dollar(c).as_atom())) {
      column = c;
    }
  const Sym origin = column ? entry - dollar(*column) : entry;
  if (!column || mentions(origin, *dollar(*column).as_atom()))
    refute(sum, describe(term), "entry " + to_string(entry) + " is no index along the tile");
  std::vector<std::pair<AtomId, Sym>> replace;
  for (std::size_t c = 0; c < term.columns.size(); ++c) {
    if (term.columns[c] != term.columns[*column])
      refute(sum, describe(term), "what is added has another index than what names its element");
    replace.emplace_back(*dollar(c).as_atom(), bound_ - origin);
  }
  // Which entries, each once.
  const Column& of = columns_[term.columns[*column]];
  const std::size_t count = of.size() / static_cast<std::size_t>(p_.threads());
  std::vector<int> all;
  for (std::size_t slot = 0; slot < of.size(); ++slot)
    if (r.acts[slot / count]) all.push_back(of[slot]);
  bool twice = false;
  const int high = all.empty() ? 0 : *std::max_element(all.begin(), all.end());
  const int set = sets_.of(std::move(all), twice);
  if (twice)
    refute("every element is summed once", describe(term),
           "an entry of " + p_.tensor(table).name + " is added twice");
  // Past the table's end nothing is added.
  const Sym limit = world(p_.tensor(table).shape[0]), index = origin + dollar(*column);
  bool ends = less_equal(origin + Sym(high + 1), limit);
  Term out;
  for (std::size_t f = 0; f < own; ++f) {
    const Fact& fact = term.facts[f];
    if (!(fact.index == index))
      refute(sum, describe(term), "it depends on " + to_string(fact.index) + " < " + to_string(fact.bound));
    const bool empty = fact.fill == 0 && (fact.condition || fact.bound == limit); // from there on
    if (!empty && !fact.condition && !less_equal(origin + Sym(high + 1), fact.bound))
      refute("what lies outside of a sum is its empty element", describe(term),
             "it is not known what is added from " + to_string(fact.bound) + " on");
    if (!empty) continue;
    if (fact.condition) out.ends.push_back(fact.bound);
    ends = ends || less_equal(fact.bound, limit);
  }
  if (!ends)
    refute("what lies outside of a sum is its empty element", describe(term),
           "entries from " + to_string(limit) +
               " on are read as 0 and are added to element 0\n  hint   a value that is 0 there: "
               "k.map({ids}, truncated(inside(position, " +
               to_string(p_.tensor(table).shape[0]) + ", 1, 0)), i32)");
  replace_in(term, replace);
  const bool exact = computed(i.uses[0]).exact();
  // Of entries of the table. Whole numbers that no step rounds are what they are truncated to.
  const Expr part = x_.rewrite(term.expr, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::inside && n.index[0] == bound_ && less_equal(limit, n.index[1]))
      return Expr{&x_, n.args[0]};
    if (n.fn != Fn::to_number) return std::nullopt;
    const ExprNode whole = x_.node(n.args[0]);
    const Expr inner{&x_, whole.fn == Fn::truncated ? whole.args[0] : -1};
    if (inner.id < 0 || !exact) return std::nullopt;
    return inner;
  });
  out.expr =
      x_.normal(choose(codegen::equal(integer(x_.load(table, {bound_})), integer(x_.number(dollar(0)))), part,
                       x_.constant(0)));
  Column coordinate(elements);
  for (std::size_t e = 0; e < elements; ++e) coordinate[e] = static_cast<int>(e);
  out.columns = {columns_.intern(std::move(coordinate))};
  out.partial = true, out.monoid = Monoid::sum, out.limit = limit;
  for (const auto& [low, end] : sets_[set]) add_interval(out, origin + Sym(low), origin + Sym(end));
  // What was there: zeros, or what other adds left; written by whoever, and there for all.
  auto& cells = s.lds[stage_of(i)].write();
  const bool alone = p_.threads() <= p_.target().wave_size;
  int before = -1;
  for (std::size_t e = 0; e < elements; ++e) {
    const Cell* c = cells.empty() ? nullptr : &cells[e];
    if (!c || c->term < 0)
      refute("what is added to is there", t.name, "element " + std::to_string(e) + unwritten(t));
    const Term& had = s.terms[static_cast<std::size_t>(c->term)];
    const Passed& passed = s.batches[static_cast<std::size_t>(c->batch)].passed;
    if (c->wave >= 0 && !alone && !passed.published(s.barriers))
      refute("what is added to is there", t.name,
             "element " + std::to_string(e) + ": wave " + std::to_string(c->wave) +
                 " wrote it, with no wait and barrier between");
    const bool zero = !had.partial && had.facts.empty() && x_.normal(had.expr) == x_.constant(0);
    const int now = zero ? -2 : c->term;
    if (before == -1) before = now;
    if (now != before || (!zero && c->wave >= 0)) // what was added is of no wave
      refute(sum, describe(had),
             "element " + std::to_string(e) + " held neither 0 nor what was added to all others, too");
  }
  for (const Reading& reading : s.readings[stage_of(i)])
    if (alone ? !reading.passed.done : !reading.passed.published(s.barriers))
      refute("nothing of " + t.name + " is overwritten while it is read", "",
             "it is added to what a wave may still be reading");
  if (before >= 0) {
    Term had = s.terms[static_cast<std::size_t>(before)];
    if (!one_body(had, out, out.columns)) // and so of one table
      refute("an accumulator sums one element", describe(had), describe(out));
    out = join(had, out);
  }
  whole_numbers(out, [&] { return "adding to " + t.name; });
  const int id = static_cast<int>(s.terms.size());
  s.terms.push_back(std::move(out));
  const int batch = static_cast<int>(s.batches.size());
  s.batches.push_back({});
  for (std::size_t e = 0; e < elements; ++e) cells[e] = {id, static_cast<int>(e), batch, -1};
  s.lgkm.push_back({Queued::What::write, {}, batch, {}});
  prove(
      sum, [&] { return p_.tensor(table).name; }, "provenance");
}

void Interpreter::read(State& s, const Inst& i) {
  const Prepared& r = prepared(i);
  const Tensor& t = p_.tensor(i.access.tensor);
  const std::vector<Cell>& cells = s.lds[stage_of(i)].read();
  const int count = static_cast<int>(i.access.elements.size());
  Read& known = reads_[&i];
  const bool fresh = !known.touched;
  if (fresh) known.from.resize(r.places.size()), known.of.resize(r.places.size());
  int differs = fresh ? 1 : 0;    // 0: slot by slot the same was written as when the instruction ran last
  std::vector<int> terms;         // that are read
  int last_term = -1, which = 0;  // the number of that one among them
  const Passed* passed = nullptr; // of the last batch
  int last_batch = -1;
  bool ok_any_wave = false;
  const auto unwritten_at = [&](int thread, int place) {
    refute("what is read from " + t.name + " was written", to_string(i.access.threads),
           "work-item " + std::to_string(thread) + " reads element " + std::to_string(place) + unwritten(t));
  };
  if (cells.empty() && !r.places.empty()) unwritten_at(0, r.places[0]);
  const Cell* const held = cells.data();
  const int* const place_of = r.places.data();
  int *const known_from = known.from.data(), *const known_of = known.of.data();
  for (int thread = 0; thread < p_.threads(); ++thread) {
    const int wave = thread / p_.target().wave_size;
    // The waves beside a role read nothing: what they would see stands in the table for nobody.
    const bool acts = r.acts[static_cast<std::size_t>(thread)];
    for (int slot = thread * count; slot < (thread + 1) * count; ++slot) {
      const int place = place_of[slot];
      const Cell& c = held[place];
      if (c.term < 0) unwritten_at(thread, place);
      if (c.batch != last_batch) {
        last_batch = c.batch;
        passed = &s.batches[static_cast<std::size_t>(c.batch)].passed;
        ok_any_wave = passed->published(s.barriers);
      }
      if (acts && !ok_any_wave &&
          !(of_wave(c, wave) ? passed->done
                             : c.wave >= 0 && passed->there(s.barriers, half_of(c.wave), half_of(wave))))
        refute("what is read from " + t.name + " has arrived there", to_string(i.access.threads),
               "element " + std::to_string(place) + ": wave " + std::to_string(wave) + " reads what " +
                   (c.wave < 0 ? "all waves" : "wave " + std::to_string(c.wave)) +
                   " wrote, with no wait and barrier between");
      if (c.term != last_term) {
        if (last_term >= 0 &&
            !equal(s.terms[static_cast<std::size_t>(last_term)], s.terms[static_cast<std::size_t>(c.term)]))
          refute("a fragment of " + t.name + " is of one tile",
                 describe(s.terms[static_cast<std::size_t>(last_term)]),
                 "work-item " + std::to_string(thread) + " reads " +
                     describe(s.terms[static_cast<std::size_t>(c.term)]));
        last_term = c.term;
        which = static_cast<int>(std::find(terms.begin(), terms.end(), last_term) - terms.begin());
        if (which == static_cast<int>(terms.size())) terms.push_back(last_term);
      }
      differs |= (known_from[slot] ^ c.slot) | (known_of[slot] ^ which);
      known_from[slot] = c.slot;
      known_of[slot] = which;
    }
  }
  if (fresh) {
    // In order of the places; a workgroup has at most 16 waves.
    std::vector<std::uint32_t> waves(cells.size(), 0);
    const auto lanes = static_cast<std::size_t>(count * p_.target().wave_size);
    for (std::size_t slot = 0; slot < r.places.size(); ++slot)
      if (r.acts[slot / static_cast<std::size_t>(count)])
        waves[static_cast<std::size_t>(r.places[slot])] |= std::uint32_t{1} << slot / lanes;
    std::vector<std::pair<int, int>> where;
    for (std::size_t place = 0; place < cells.size(); ++place)
      for (std::uint32_t left = waves[place]; left != 0; left &= left - 1)
        where.emplace_back(static_cast<int>(place), std::countr_zero(left));
    known.touched = std::make_shared<const std::vector<std::pair<int, int>>>(std::move(where));
  }
  Term term = s.terms[static_cast<std::size_t>(last_term)];
  const bool parts = term.partial && term.has_part;
  std::vector<std::vector<int>> columns; // of each term, of a part with its sets
  for (const int id : terms) {
    const Term& of = s.terms[static_cast<std::size_t>(id)];
    columns.push_back(of.columns);
    if (parts) columns.back().push_back(of.sets);
  }
  if (differs != 0 || columns != known.columns) {
    known.out.clear();
    for (std::size_t k = 0; k < columns.front().size(); ++k) {
      std::vector<const Column*> sources;
      for (const auto& of : columns) sources.push_back(&columns_[of[k]]);
      Column c(known.from.size());
      for (std::size_t slot = 0; slot < c.size(); ++slot)
        c[slot] =
            (*sources[static_cast<std::size_t>(known.of[slot])])[static_cast<std::size_t>(known.from[slot])];
      known.out.push_back(columns_.intern(std::move(c)));
    }
    known.columns = std::move(columns);
  }
  term.columns.assign(known.out.begin(), known.out.end() - (parts ? 1 : 0));
  if (parts) term.sets = known.out.back();
  s.regs[key(i.def)] = {std::move(term), true};
  s.readings[stage_of(i)].push_back({{}, known.touched, waves_of(i)});
  // Of several instructions the last to come back says that all are there.
  for (int n = lds_reads(i, code_.registers); n > 1; --n) s.lgkm.push_back({});
  s.lgkm.push_back({Queued::What::reg, key(i.def), 1, stage_of(i)});
  prove("what is read from " + t.name + " was written, waited for and published by a barrier", "",
        "provenance");
}

} // namespace inlay::codegen::provenance
