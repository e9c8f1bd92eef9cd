// Path by path: what the code has loaded and stored where the machine is, and what the machine has.
#include "code_sides.h"

namespace inlay::kernels::validate::sides {

/// What is known in this part of the code, and by the conditions of a path that have come since.
std::vector<std::string> Sides::known_of(const std::vector<std::pair<Word, bool>>& path) const {
  return formulas_->facts(part_.facts,
                          {path.begin() + static_cast<std::ptrdiff_t>(part_.conditions), path.end()});
}

void Sides::begin_part() {
  part_.most_boundaries = shape_->loop != nullptr ? 3 * static_cast<std::size_t>(shape_->loop->ring) + 2 : 0;
  if (shape_->loop != nullptr) static_cast<void>(boundary(0));
}

std::vector<std::string> Sides::facts(const Path& path, const Abstract* a) {
  const auto& all = path.flow.path();
  if (a == nullptr) return known_of(all);
  return formulas_->facts(a->facts,
                          {all.begin() + static_cast<std::ptrdiff_t>(a->from->path().size()), all.end()});
}

const CodeRun::State& Sides::boundary(int trips) {
  const CodeRegion* loop = shape_->loop;
  if (part_.boundaries.empty()) {
    code_run_->state = part_.state;
    code_run_->loads.clear();
    code_run_->stores = part_.stores;
    for (const CodeRegion* r : shape_->before)
      if (loop == nullptr || runs_with(*r, *loop, assumed_)) code_run_->run(r->body, *r, 0, Sym(0), {});
    if (loop != nullptr) code_run_->run(loop->prologue, *loop, 0, Sym(0), {});
    part_.boundaries.push_back(code_run_->state);
    part_.stores_of.push_back(std::move(code_run_->stores));
    for (const auto& [key, event] : code_run_->loads) part_.loads_until.try_emplace(key, 0);
  }
  while (static_cast<int>(part_.boundaries.size()) <= trips) {
    const int b = static_cast<int>(part_.boundaries.size()) - 1;
    code_run_->state = part_.boundaries.back();
    code_run_->loads.clear();
    code_run_->stores = {};
    code_run_->run(loop->body, *loop, b, Sym(b), {});
    std::erase_if(code_run_->state.registers, [&](const auto& e) {
      return !code_.registers[static_cast<std::size_t>(e.first.first)].outside && e.first.second < b - 1;
    });
    part_.boundaries.push_back(code_run_->state);
    part_.stores_of.push_back(std::move(code_run_->stores));
    for (const auto& [key, event] : code_run_->loads) part_.loads_until.try_emplace(key, b + 1);
  }
  return part_.boundaries[static_cast<std::size_t>(trips)];
}

/// How many more trips the code makes on a path, when that is one number.
std::optional<int> Sides::trips_of(const Path& path, const Abstract* a) {
  return trips_of(path, a, loop_trips(), a != nullptr ? Sym(a->first) + Sym(a->period) * a->u : Sym(0));
}

std::optional<int> Sides::trips_of(const Path& path, const Abstract* a, Sym trips, Sym base) {
  std::vector<int> candidates;
  const auto more = [&](std::size_t k) { return value_at(samples_[k], trips - Sym(1) - base); };
  if (!path.samples.empty() && more(path.samples[0])) {
    for (const std::size_t k : path.samples) {
      const auto n = static_cast<int>(more(k)->value());
      if (!candidates.empty() && candidates[0] != n) return std::nullopt;
      candidates.assign(1, n);
    }
  } else {
    for (int k = 0; k < 40; ++k) candidates.push_back(k);
  }
  const auto known = facts(path, a);
  for (const int c : candidates)
    if (c >= 0 && c < 64 && formulas_->decide(true, trips - Sym(1), base + Sym(c), known) == Truth::yes)
      return c;
  return std::nullopt;
}

/// Quotients in the conditions of a path that are one number on it, or that many more than the loop's periods: the trips of a
/// machine's loop that takes several of the code's at once, where the path leaves open how many those are.
std::vector<std::pair<AtomId, Sym>> Sides::counted(const Path& path, const Abstract* a) {
  std::vector<std::pair<AtomId, Sym>> out;
  if (path.samples.empty()) return out;
  std::set<Sym> quotients;
  const auto known = facts(path, a);
  for (const auto& [word, value] : path.flow.path())
    for (const Sym& d : formulas_->either(word, value, known))
      for (const auto& t : d.terms())
        for (const Factor& f : t.factors())
          if (formulas_->context().atom(f.atom).kind == AtomKind::floor_div)
            quotients.insert(formulas_->context().product(Int(1), std::array{Factor{f.atom, 1}}));
  for (const Sym& q : quotients)
    for (const int step : a != nullptr ? std::vector{1, a->period, 0} : std::vector{0}) {
      const Sym base = a != nullptr ? Sym(step) * a->u : Sym(0);
      const auto rest = [&](std::size_t k) { return value_at(samples_[k], q - base); };
      const auto one = rest(path.samples[0]);
      const bool same = one && std::all_of(path.samples.begin(), path.samples.end(),
                                           [&](std::size_t k) { return rest(k) == one; });
      if (!same || formulas_->decide(true, q, base + Sym(*one), known) != Truth::yes) continue;
      for (const Sym& form : {q, formulas_->canonical(q)})
        if (const auto atom = form.as_atom()) out.emplace_back(*atom, base + Sym(*one));
      break;
    }
  return out;
}

/// What symbols of trips and of periods stand for on a path, as far as it says so.
std::vector<std::pair<AtomId, Sym>> Sides::resolved(const Path& path, const Abstract* a) {
  std::vector<std::pair<AtomId, Sym>> out;
  if (shape_->loop == nullptr && part_.periods.empty()) return out;
  if (!path.flow.path().empty() && shape_->loop != nullptr) {
    const Sym trips = loop_trips();
    if (const auto n = trips.as_atom() ? trips_of(path, a) : std::nullopt) {
      const Sym number = (a != nullptr ? Sym(a->first) + Sym(a->period) * a->u : Sym(0)) + Sym(*n + 1);
      for (const Sym& t : formulas_->forms_of(trips))
        if (const auto atom = t.as_atom(); atom && !trips_are_a_size()) out.emplace_back(*atom, number);
    }
    if (out.empty()) out = counted(path, a);
  }
  // Periods before, and loops behind of which the path says that they are short.
  const auto of_loop = out;
  for (const auto& [atom, is] : part_.periods) out.emplace_back(atom, substitute(is, of_loop));
  for (std::size_t k = shape_->next.value_or(code_.regions.size()); k < code_.regions.size(); ++k) {
    const Sym trips = code_run_->fixed(code_.regions[k].trips);
    if (!code_.regions[k].is_loop || !trips.as_atom() || is_a_size(trips)) continue;
    if (const auto n = trips_of(path, nullptr, trips, Sym(0)))
      for (const Sym& t : formulas_->forms_of(trips))
        if (const auto atom = t.as_atom();
            atom && std::none_of(out.begin(), out.end(), [&](const auto& r) { return r.first == *atom; }))
          out.emplace_back(*atom, Sym(*n + 1));
  }
  return out;
}

std::vector<const CodeRegion*> Sides::that_run(const std::vector<const CodeRegion*>& regions,
                                               const Path& path, const Abstract* a) {
  std::vector<const CodeRegion*> out;
  for (const CodeRegion* r : regions)
    if (runs(*r, path, a)) out.push_back(r);
  return out;
}

/// What the path says of the versions that these regions have.
Versions Sides::versions(const Path& path, const Abstract* a, const std::vector<const CodeRegion*>& regions) {
  Versions out;
  for (const auto& v : versions_of(regions)) {
    std::optional<bool> divides;
    for (const std::size_t s : path.samples) {
      const bool d = evaluate(v.first, samples_[s].symbols).value() % v.second == 0;
      if (divides && *divides != d)
        throw NotFollowed{"the machine code takes one way for " + to_string(v.first) + " % " +
                          std::to_string(v.second) + " = 0 and otherwise"};
      divides = d;
    }
    const Sym rest = floor_mod(v.first, Sym(v.second));
    const auto known = facts(path, a);
    for (const bool d : {true, false}) {
      if (divides && *divides != d) continue;
      const bool shown = d ? formulas_->decide(true, rest, Sym(0), known) == Truth::yes
                           : formulas_->decide(false, Sym(1), rest, known) == Truth::yes;
      if (shown) {
        out[v] = d;
        break;
      }
    }
    if (!out.contains(v))
      throw NotFollowed{"whether " + std::to_string(v.second) + " divides " + to_string(v.first) +
                        " on a path of the machine code"};
  }
  return out;
}

/// Whether the code runs a region on a path: what the path says of the conditions of its branches.
bool Sides::runs(const CodeRegion& r, const Path& path, const Abstract* a) {
  for (const codegen::Guard& g : r.guards) {
    const codegen::Condition c = code_run_->fixed(g.condition);
    const auto known = facts(path, a);
    const bool below = formulas_->decide(false, c.a + Sym(1), c.b, known) == Truth::yes;
    if (!below && formulas_->decide(false, c.b, c.a, known) != Truth::yes)
      throw NotFollowed{"whether " + to_string(c.a) + " < " + to_string(c.b) +
                        " on a path of the machine code"};
    if (below != g.holds) return false;
  }
  return true;
}

template <class Accesses>
void Sides::differs(const Path& path, std::optional<ElementAccess> machine, const Accesses& all,
                    std::optional<ElementAccess> code) {
  if (differences_.size() > 400) return;
  if (machine && !code)
    for (const auto& [key, event] : all)
      if (key.name->tensor == machine->name->tensor && key.byte == machine->byte &&
          key.name->address == machine->name->address) {
        code = key;
        break;
      }
  if (differences_.empty() || *differences_.back().path != path.flow.path())
    differences_.push_back({std::make_shared<const std::vector<std::pair<Word, bool>>>(path.flow.path()),
                            std::move(machine), std::move(code)});
  else
    differences_.push_back({differences_.back().path, std::move(machine), std::move(code)});
}

/// Loads that the code has not made after so many trips, nor in `loads`.
void Sides::foreign_loads(const Path& path, const Events& loads, int trips, bool by_number,
                          const std::string& where) {
  std::size_t bad = 0;
  for (const auto& [key, event] : path.trace.loads) {
    const auto known = part_.loads_until.find(key);
    if (loads.contains(key) || (by_number && known != part_.loads_until.end() && known->second <= trips))
      continue;
    if (++bad % 16 == 1) differs(path, key, part_.loads_until);
    if (bad < 3)
      missing(where + ": " + at(event.instruction) + ", wave " + std::to_string(event.wave) + " lane " +
              std::to_string(event.lane) + ", loads " + text(key) + ", which the code does not in this form" +
              instead(key, part_.loads_until) + instead(key, loads));
  }
  // The last trip has no prefetch, and is not one of those that are counted.
  for (const auto& [key, event] : path.trace.of_latest)
    if (path.trace.latest > trips + 1 || (path.trace.latest > trips && !loads.contains(key))) {
      missing(where + ": " + at(event.instruction) + " loads what the code loads in a later trip only");
      break;
    }
}

/// The code's state after r more trips of the abstract loop.
const CodeRun::State& Sides::after(Abstract& a, int r) {
  while (static_cast<int>(a.runs.size()) <= r) {
    const int k = static_cast<int>(a.runs.size());
    code_run_->loads.clear();
    code_run_->stores = {};
    code_run_->state = a.runs.back();
    code_run_->run(shape_->loop->body, *shape_->loop, a.first + k - 1,
                   Sym(a.first) + Sym(a.period) * a.u + Sym(k - 1), {});
    for (const auto& [key, event] : code_run_->loads) a.loads.try_emplace(key, k);
    a.runs.push_back(code_run_->state);
    a.stores.push_back(std::move(code_run_->stores));
  }
  return a.runs[static_cast<std::size_t>(r)];
}

/// What is stored later takes the place of what was; sums are added.
void Sides::join(Events& to, const Events& from) const {
  for (const auto& [key, e] : from) {
    const auto [was, fresh] = to.try_emplace(key, e);
    if (fresh) continue;
    Event now = e;
    if ((e.adds != 0) != (was->second.adds != 0))
      throw NotFollowed{"the code stores an element and adds to it"};
    if (e.adds != 0) {
      now.value = values_->arithmetic().sum(was->second.value, e.value);
      now.adds += was->second.adds;
    }
    was->second = now;
  }
}

bool Sides::compare_stores(const Path& path, const Events& stores, const std::string& where) {
  std::size_t wrong = 0;
  for (const auto& [key, event] : path.trace.stores) {
    const auto found = stores.find(key);
    if (found == stores.end()) {
      if (wrong % 16 == 0) differs(path, key, stores);
      if (++wrong < 3)
        missing(where + ": " + at(event.instruction) + ", wave " + std::to_string(event.wave) + " lane " +
                std::to_string(event.lane) + ", stores " + text(key) +
                ", which the code does not in this form" + instead(key, stores));
    } else if (stores_in_loop_ && event.adds == 0 &&
               static_cast<unsigned>(found->second.thread) / 64 != event.wave) {
      // Another trip may store the same element: of one wave's stores the later one is later.
      if (++wrong < 3)
        missing(where + ": " + at(event.instruction) + ", wave " + std::to_string(event.wave) + " lane " +
                std::to_string(event.lane) + ", stores " + text(key) +
                ", which in the code is stored by wave " + std::to_string(found->second.thread / 64));
    } else if (event.adds != found->second.adds) {
      if (wrong % 16 == 0) differs(path, key, stores, key);
      if (++wrong < 3)
        missing(where + ": " + at(event.instruction) + ", wave " + std::to_string(event.wave) + " lane " +
                std::to_string(event.lane) + ", " + how_often(event.adds) + " " + text(key) + ", the code " +
                how_often(found->second.adds) + " it");
    } else if (!event.value) {
      if (wrong % 16 == 0) differs(path, key, stores, key);
      if (++wrong < 3)
        missing(where + ": what " + at(event.instruction) + ", wave " + std::to_string(event.wave) +
                " lane " + std::to_string(event.lane) + ", stores: " + path.trace.missing[event.missing] +
                (path.trace.unread.empty() ? "" : "; " + path.trace.unread));
    } else if (*event.value != found->second.value) {
      if (wrong % 16 == 0) differs(path, key, stores, key);
      if (++wrong < 3)
        missing(where + ": " + at(event.instruction) + ", wave " + std::to_string(event.wave) + " lane " +
                std::to_string(event.lane) + ", stores what is not seen to be the code's value at " +
                text(key));
    }
  }
  if (wrong == 0 && path.trace.stores.size() != stores.size())
    for (const auto& [key, event] : stores)
      if (!path.trace.stores.contains(key)) {
        differs(path, {}, stores, key);
        missing(where + ": nothing stores " + text(key) + " of work-item " + std::to_string(event.thread));
        ++wrong;
        break;
      }
  return wrong == 0;
}

void Sides::compare(const Path& path, const Events& stores, const Events& loads, int trips, bool by_number,
                    const std::string& where) {
  for (const auto& p : path.trace.problems) missing(p);
  if (waits_for_others() && !follows_ticket()) meetings(path, where);
  compare_stores(path, stores, where);
  foreign_loads(path, loads, trips, by_number, where);
  for (const auto& p : path.trace.products)
    if (!code_run_->products.contains(p.hash)) {
      missing(where + ": " + at(p.instruction) + ", wave " + std::to_string(p.wave) +
              ", makes what no matrix product of the code makes");
      break;
    }
  report_.elements_loaded = std::max(report_.elements_loaded, path.trace.elements);
  report_.elements_stored = std::max(report_.elements_stored, path.trace.stores.size());
}

/// After the loop of this part, where it runs (`trips`: how many more of its trips the path makes, without the last): the code's state, and
/// in `stores` what it has stored up to there on the path.
void Sides::left(const Path& path, Abstract* a, std::optional<int> trips, Events& stores) {
  if (!trips) {
    code_run_->state = part_.state;
    code_run_->loads.clear();
    code_run_->stores = part_.stores;
    code_run_->begin();
    const auto before = that_run(shape_->before, path, a);
    const Versions chosen = versions(path, a, before);
    for (const CodeRegion* r : before) code_run_->run(r->body, *r, 0, Sym(0), chosen);
    stores = std::move(code_run_->stores);
    code_run_->stores.clear();
    return;
  }
  const CodeRun::State& state = a == nullptr ? boundary(*trips) : after(*a, *trips);
  for (int k = 0; k <= *trips; ++k)
    join(stores, (a == nullptr ? part_.stores_of : a->stores)[static_cast<std::size_t>(k)]);
  code_run_->state = state;
  code_run_->loads.clear();
  code_run_->stores.clear();
  code_run_->begin();
  const Sym before = a != nullptr ? Sym(a->first) + Sym(a->period) * a->u : Sym(0);
  const auto counted_by = loop_trips().as_atom();
  if (counted_by && !trips_are_a_size()) code_run_->known = {{*counted_by, before + Sym(*trips + 1)}};
  const CodeRegion& loop = *shape_->loop;
  code_run_->run(loop.epilogue, loop, (a != nullptr ? a->first : 0) + *trips, loop_trips() - Sym(1),
                 versions(path, a, {&loop}));
}

/// How many more trips the code makes on the path in its loop, where it runs that; why that is not known is what is missing.
bool Sides::trips_left(const Path& path, Abstract* a, const std::string& where, std::optional<int>& trips) {
  if (shape_->loop == nullptr || !runs(*shape_->loop, path, a)) return true;
  trips = trips_of(path, a);
  if (trips) return true;
  differs(path, {}, Events(), {});
  missing(where + ": that the code leaves its loop after as many trips");
  return false;
}

/// Words become the numbers that they are where symbols of trips and of periods stand for that, as they did in the loop before: in this one
/// they stand for something else.
void Sides::settle(Flow& flow, const std::vector<std::pair<AtomId, Sym>>& replaced) {
  const auto each = [&](auto f) {
    for (unsigned w = 0; w < flow.waves(); ++w)
      for (unsigned r = 0; r < Flow::rows; ++r)
        for (unsigned l = 0; l < 64; ++l)
          if (const Word x = flow.vector(w, r, l);
              x != 0 && x != Terms::unknown && flow.terms().kind(x) == TermKind::function)
            f(w, r, l, x);
  };
  Flat<Number, bool> of_code;
  for (const auto& [key, values] : part_.state.registers)
    for (const Number v : values) of_code.try_emplace(v, true);
  static_cast<void>(
      boundary(1)); // what the code takes a root of in this loop, a compiler may take it of in front
  Flat<Word, bool> words;
  each([&](unsigned, unsigned, unsigned, Word x) { words.try_emplace(x, true); });
  const auto numbers = values_->settled(words, replaced, of_code);
  each([&](unsigned w, unsigned r, unsigned l, Word x) {
    const auto at = numbers.find(x);
    if (at != numbers.end()) flow.set_vector(w, r, l, values_->word(Element::f32, std::array{at->second}));
  });
}

void Sides::behind(Path& path, Abstract* a, std::optional<int> trips, bool at_head,
                   const std::function<void(Path)>& then) {
  Part next;
  Events stores;
  left(path, a, trips, stores);
  code_run_->known.clear();
  join(stores, code_run_->stores);
  next.state = code_run_->state;
  next.stores = std::move(stores);
  const int most = trips.value_or(0);
  // The periods of this loop have no name in what follows: there the number of its trips says what they are.
  next.periods = part_.periods;
  if (a != nullptr && a->period == 1)
    next.periods.emplace_back(*a->u.as_atom(), loop_trips() - Sym(a->first + most + 1));
  const auto loaded = [&](const ElementAccess& key) {
    next.loads_until.try_emplace(client_->by_other_symbols(key, next.periods), 0);
  };
  for (const auto& [key, trip] : a != nullptr ? a->loads : part_.loads_until)
    if (trip <= most) loaded(key);
  for (const auto& [key, event] : code_run_->loads) loaded(key);
  next.facts = facts(path, a);
  next.conditions = path.flow.path().size();
  Path on(path.flow);
  on.trace = path.trace;
  if (on.trace.latest > most + 1)
    missing("before another loop: a load of what the code loads in a later trip only");
  // What is none of the code's loads so far may be one of those that follow.
  for (const auto& [key, event] : on.trace.of_latest)
    if (on.trace.latest > most && !next.loads_until.contains(key)) on.trace.loads.try_emplace(key, event);
  on.trace.of_latest.clear();
  on.trace.latest = 0;
  for (const std::size_t k : path.samples) {
    on.samples.push_back(next.samples.size());
    next.samples.push_back(samples_[k]);
  }
  const auto replaced = at_head && trips ? resolved(path, a) : std::vector<std::pair<AtomId, Sym>>();
  const auto shape = std::make_unique<Shape>(code_, *shape_->next);
  auto samples = std::exchange(samples_, next.samples);
  std::swap(part_, next);
  auto former = std::exchange(shape_, std::make_unique<Shape>(*shape));
  const auto back = [&] {
    shape_ = std::move(former);
    std::swap(part_, next);
    samples_ = std::move(samples);
  };
  try {
    begin_part();
    if (at_head && trips && shape_->loop != nullptr) settle(on.flow, replaced);
    then(std::move(on));
  } catch (...) {
    back();
    throw;
  }
  back();
}

bool Sides::in_next_part(Path& path, Abstract* a, std::size_t head) {
  if (!shape_->next) return false;
  const bool enters = runs(*shape_->loop, path, a);
  // Of a loop whose trips are a number a path says nothing new.
  const auto trips = enters && !loop_trips().is_constant() ? trips_of(path, a) : std::nullopt;
  if (enters && !trips) return false;
  behind(path, a, trips, true, [&](Path on) {
    if (in_next_part(on, nullptr, head)) return;
    on.at_head(head);
    explore(std::move(on), nullptr);
  });
  return true;
}

void Sides::ended(Path& path, Abstract* a) {
  const std::string where =
      a != nullptr ? "after a loop of any number of trips" : "on a path without induction";
  std::optional<int> trips; // that the code makes here, without the last
  if (!trips_left(path, a, where, trips)) return;
  if (shape_->next) return behind(path, a, trips, false, [&](Path on) { ended(on, nullptr); });
  if (client_->ticket && !path.trace.in_place.drawn) missing(where + ": that the workgroup draws its number");
  Events stores; // of the trips before the last
  left(path, a, trips, stores);
  const auto behind_it = that_run(shape_->after, path, a);
  const Versions chosen = versions(path, a, behind_it);
  for (const CodeRegion* r : behind_it) code_run_->run(r->body, *r, 0, Sym(0), chosen);
  code_run_->known.clear();
  join(stores, code_run_->stores);
  compare(path, stores, code_run_->loads, trips.value_or(0), a == nullptr, where);
}

void Sides::explore(Path start, Abstract* a) {
  std::vector<Path> stack;
  stack.push_back(std::move(start));
  const auto filter = [&](Path& p) {
    const auto& [condition, value] = p.flow.path().back();
    std::erase_if(p.samples, [&](std::size_t s) {
      const auto v = p.flow.terms().evaluate(condition, samples_[s].words);
      return v && (*v != 0) != value;
    });
  };
  while (!stack.empty() && reasons_.size() < (a == nullptr ? 6U : 60U)) {
    Path path = std::move(stack.back());
    stack.pop_back();
    values_->known({});
    client_->trace = &path.trace;
    client_->samples = &samples_;
    client_->possible = &path.samples;
    client_->facts = [&] { return facts(path, a); };
    // What the code loads in its last trip, where the path says which that is.
    const bool ends_by_loads =
        shape_->loop != nullptr && std::any_of(shape_->loop->epilogue.begin(), shape_->loop->epilogue.end(),
                                               [](const Inst& i) { return i.kind == InstKind::load; });
    std::size_t end_asked = ~std::size_t{0};
    int last_trip = -1;
    Events of_last_trip;
    const auto in_last_trip = [&](const ElementAccess& key) {
      if (!ends_by_loads) return false;
      if (end_asked != path.flow.path().size()) {
        end_asked = path.flow.path().size();
        of_last_trip.clear();
        try {
          const auto n = runs(*shape_->loop, path, a) ? trips_of(path, a) : std::nullopt;
          last_trip = n.value_or(-1);
          Events stores;
          if (n) left(path, a, n, stores);
          if (n) of_last_trip = code_run_->loads;
        } catch (const NotFollowed&) { // a path that does not say it yet
        }
        code_run_->known.clear();
      }
      return of_last_trip.contains(key);
    };
    client_->several_loops = several_loops();
    client_->known_load = [&](const ElementAccess& key) {
      if (in_last_trip(key)) return last_trip;
      const Loads& in = a != nullptr ? a->loads : part_.loads_until;
      for (;;) {
        if (const auto found = in.find(key); found != in.end()) return found->second;
        // What a later trip loads may be loaded before.
        if (a != nullptr || shape_->loop == nullptr || part_.boundaries.size() > part_.most_boundaries)
          return -1;
        static_cast<void>(boundary(static_cast<int>(part_.boundaries.size())));
      }
    };
    client_->loaded = [&] {
      std::unordered_set<const AccessName*> seen;
      std::vector<ElementAccess> out;
      for (const auto& [key, trip] : a != nullptr ? a->loads : part_.loads_until)
        if (seen.insert(key.name).second) out.push_back({key.name, key.hash, 0, 0, 0});
      return out;
    };
    std::size_t asked = ~std::size_t{0};
    std::vector<std::pair<AtomId, Sym>> replaced;
    client_->resolve = [&] {
      if (asked != path.flow.path().size()) {
        asked = path.flow.path().size();
        replaced = resolved(path, a);
      }
      return replaced;
    };
    const Flow::Stop stop = path.flow.run(*client_);
    client_->facts = nullptr;
    client_->resolve = nullptr;
    client_->known_load = nullptr;
    client_->loaded = nullptr;
    if (stop == Flow::Stop::failed) {
      missing(path.flow.why());
      continue;
    }
    if (stop == Flow::Stop::fork) {
      Path other = path;
      other.flow.assume(false);
      path.flow.assume(true);
      filter(other);
      filter(path);
      // In the abstract loop the way around comes first: what it changes is not worth following to the end.
      const std::size_t at_once = path.flow.path().size() - 1;
      if (a != nullptr && at_once < a->way.size() && a->way[at_once] != path.flow.path().back().second)
        std::swap(other, path);
      // Where a loop has no head, because it is entered in its middle, nothing else ends this.
      const std::size_t each = path.flow.bytes() + path.trace.bytes();
      stack.push_back(std::move(other));
      stack.push_back(std::move(path));
      if (stack.size() * each > options_.max_bytes) {
        missing("more than " + std::to_string(options_.max_bytes >> 20) + " MB wait at forks");
        return;
      }
      continue;
    }
    // From each way out of a loop the next one is gone through.
    const unsigned most = options_.max_paths * (several_loops() ? 4 : 1);
    if (++paths_ > most) {
      missing("more than " + std::to_string(most) + " paths");
      return;
    }
    if (stop == Flow::Stop::ended) {
      ended(path, a);
      continue;
    }
    const std::size_t head = path.flow.at();
    // Where the code has left its loop, the head is that of its next one.
    if ((a != nullptr ? head != a->head : !path.heads.contains(head)) && in_next_part(path, a, head))
      continue;
    if (a != nullptr && head != a->head) {
      missing("a loop after a loop");
      continue;
    }
    if (a != nullptr) {
      // Around once more: the same places of the code, one period on.
      if (a->runs.empty()) continue;
      if (!path.flow.same_scratch(*a->begin)) {
        missing("a loop that changes what is spilled to scratch");
        continue;
      }
      const CodeRun::State& state = after(*a, a->period);
      // What the branch back has checked holds at the head one period later, if it did at first.
      const AtomId u_atom = *a->u.as_atom();
      const auto known = facts(path, a);
      std::vector<Sym> kept_invariants;
      for (const Sym& d : a->invariants) {
        const std::pair<AtomId, Sym> next[] = {{u_atom, a->u + Sym(1)}};
        if (formulas_->decide(false, Sym(0), substitute(d, next), known) == Truth::yes)
          kept_invariants.push_back(d);
        else
          a->changed = true;
      }
      const bool guessing = a->invariants.empty() && !a->guessed;
      if (guessing) {
        a->guessed = true;
        for (std::size_t k = a->from->path().size(); k < path.flow.path().size(); ++k) {
          const auto& all = path.flow.path();
          const auto& before_it =
              formulas_->facts(a->facts, {all.begin() + static_cast<std::ptrdiff_t>(a->from->path().size()),
                                          all.begin() + static_cast<std::ptrdiff_t>(k)});
          for (const Sym& d : formulas_->either(all[k].first, all[k].second, before_it)) {
            const std::pair<AtomId, Sym> before[] = {{u_atom, a->u - Sym(1)}}, first[] = {{u_atom, Sym(-1)}};
            const auto used = symbols(d);
            if (std::find(used.begin(), used.end(), u_atom) == used.end() ||
                formulas_->decide(false, Sym(0), substitute(d, first), a->base) != Truth::yes)
              continue;
            kept_invariants.push_back(substitute(d, before));
            a->changed = true;
          }
        }
      }
      a->invariants = std::move(kept_invariants);
      const Sym reached = Sym(a->first) + Sym(a->period) * (a->u + Sym(1));
      if (formulas_->decide(false, reached, loop_trips() - Sym(1), facts(path, a)) != Truth::yes) {
        if (!a->changed) { // with the invariants just found it may be
          missing("that the code stays in its loop as long as the machine code: " + to_string(reached) +
                  " <= " + to_string(loop_trips() - Sym(1)));
          continue;
        }
      }
      for (const auto& p : path.trace.problems) missing(p);
      foreign_loads(path, {}, a->period, false, "in the loop");
      for (const auto& p : path.trace.products)
        if (!code_run_->products.contains(p.hash) && !a->changed) {
          missing("in the loop: " + at(p.instruction) + ", wave " + std::to_string(p.wave) +
                  ", makes what no matrix product of the code makes");
          break;
        }
      // Places of the code that were taken to stay.
      std::vector<Number> end(a->start.size());
      for (const auto& b : a->blocks) {
        const auto& from = b.lds ? state.lds : state.registers;
        const bool outside = !b.lds && code_.registers[static_cast<std::size_t>(b.id)].outside;
        const auto found = from.find({b.id, b.lds || outside ? b.at : a->first + a->period + b.at});
        for (std::size_t k = 0; k < b.size; ++k) {
          const std::size_t place = b.base + k;
          end[place] = found == from.end() ? apply(Function::fresh, 1000 + place) : found->second[k];
          if (!a->fresh[place] && end[place] != a->start[place]) {
            a->fresh[place] = true;
            a->changed = true;
          }
        }
      }
      // Places that were taken to hold the same.
      Flat<Number, int> refined;
      std::vector<int> kinds(end.size());
      for (std::size_t k = 0; k < end.size(); ++k)
        kinds[k] = refined
                       .try_emplace(
                           random_of(static_cast<Number>(a->kind[k]) + (a->fresh[k] ? 0 : (Number{1} << 40)),
                                     end[k]),
                           static_cast<int>(refined.size()))
                       .first->second;
      const auto largest =
          std::max_element(a->kind.begin(), a->kind.end()); // none: nothing stays from trip to trip
      if (largest != a->kind.end() && refined.size() > static_cast<std::size_t>(1 + *largest)) {
        a->changed = true;
        a->kind = std::move(kinds);
      }
      Terms& t = path.flow.terms();
      const bool guessed = guessing && !a->invariants.empty();
      const auto lose = [&](Related& r) {
        if (!guessed) r.kind = Related::Kind::unknown; // with the invariants just found it may hold
        a->changed = true;
      };
      const auto holds = [&](int& index, Word now, Word before) {
        if (index < 0) {
          if (now == before) return;
          index = static_cast<int>(a->related.size());
          a->related.emplace_back();
          a->changed = true;
          return;
        }
        Related& r = a->related[static_cast<std::size_t>(index)];
        if (r.kind == Related::Kind::linear) {
          if (now == Terms::unknown || before == Terms::unknown || t.subtract(now, before) != r.step) lose(r);
        } else if (r.kind == Related::Kind::data) {
          for (std::size_t e = 0; e < r.places.size(); ++e) {
            if (r.places[e] < 0) continue;
            const auto v = now == 0     ? std::nullopt
                           : r.half < 0 ? values_->read(now, r.format, static_cast<unsigned>(e))
                                        : values_->of_half(now, static_cast<unsigned>(r.half));
            if (v && *v == end[static_cast<std::size_t>(r.places[e])]) continue;
            // Another place that held the same at both heads may be the one.
            const auto kind = static_cast<std::size_t>(a->first_kind[static_cast<std::size_t>(r.places[e])]);
            int other = v ? a->first_alike[kind] : -1;
            while (other >= 0 && end[static_cast<std::size_t>(other)] != *v)
              other = a->next_alike[static_cast<std::size_t>(other)];
            if (other >= 0) {
              r.places[e] = other;
              a->changed = true;
            } else {
              lose(r);
              return;
            }
          }
        }
      };
      for (unsigned w = 0; w < path.flow.waves(); ++w) {
        for (unsigned r = 0; r < Flow::scalars; ++r)
          holds(a->scalars[w][r], path.flow.scalar(w, r), a->begin->scalar(w, r));
        if (!a->scc[w] && path.flow.scc(w) != a->begin->scc(w)) a->scc[w] = a->changed = true;
        for (unsigned r = 0; r < Flow::rows; ++r) {
          const bool plain = std::all_of(a->vectors[w].begin() + r * 64, a->vectors[w].begin() + r * 64 + 64,
                                         [](int x) { return x < 0; });
          if (plain && path.flow.surely_same(*a->begin, w, r)) continue;
          for (unsigned l = 0; l < 64; ++l)
            holds(a->vectors[w][r * 64 + l], path.flow.vector(w, r, l), a->begin->vector(w, r, l));
        }
      }
      for (std::size_t k = 0; k < a->lds.size(); ++k)
        holds(a->lds[k], path.flow.lds()[k], a->begin->lds()[k]);
      if (a->changed) return;
      Events stores; // of one period, for any number of them
      for (int k = 1; k <= a->period; ++k) join(stores, a->stores[static_cast<std::size_t>(k)]);
      compare_stores(path, stores, "in the loop");
      continue;
    }
    path.at_head(head);
    const auto& kept = path.heads[head];
    std::string why = "its head was not come to often enough";
    if (shape_->loop == nullptr) {
      missing("a loop that the code does not have");
      continue;
    }
    if (kept.size() >= 2 && loop(path, head, why)) continue;
    // After another loop each visit is gone through once for each way out of that one.
    if (kept.size() >= (several_loops() ? std::min(options_.visits, 4U) : options_.visits)) {
      missing("the loop at " + at(head) + ": " + why);
      continue;
    }
    stack.push_back(std::move(path));
  }
}

/// Whether a register or a tensor has elements of that format. The field takes what is converted for the same number, so that a
/// conversion that the code does not have would not be seen.
bool Sides::has_elements(Element e) const {
  const auto is = [&](const auto& x) { return x.element == e; };
  return std::any_of(code_.registers.begin(), code_.registers.end(), is) ||
         std::any_of(p_.tensors().begin(), p_.tensors().end(), is);
}

} // namespace inlay::kernels::validate::sides
