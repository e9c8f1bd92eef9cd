// Loops that hold loops or branches: their trips as one list of regions after the other, by induction over the trips.
#include "interpreter.h"

namespace inlay::codegen::provenance {

void Interpreter::find_nests() {
  for (const Nest& nest : nests_of(p_)) {
    Around around{nest, 0, 0, {}};
    std::tie(around.begin, around.end) = regions_of(nest, code_);
    if (around.begin == around.end) continue; // it does nothing
    CodeRegion& loop = around.as_loop;
    const std::vector<Guard>& all = code_.regions[around.begin].guards;
    loop.guards.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(nest.guards));
    loop.is_loop = true;
    loop.trip = nest.t, loop.trips = nest.trips();
    loop.extent = nest.extent, loop.tile = nest.tile;
    for (std::size_t n = around.begin; n < around.end; ++n)
      if (const CodeRegion& r = code_.regions[n]; !r.is_loop)
        loop.body.insert(loop.body.end(), r.body.begin(), r.body.end());
      else
        for (const Inst& i : r.body)
          if (const Register& reg = code_.registers[static_cast<std::size_t>(std::max(i.def.id, 0))];
              reg.outside && reg.element != Element::i32 &&
              (i.kind == InstKind::mma || (i.kind == InstKind::map && i.uses[0].id == i.def.id)))
            around.summed.insert(i.def.id);
    for (const Inst& i : loop.body) // what begins anew in each trip is no sum over them
      if (i.kind == InstKind::fill) around.summed.erase(i.def.id);
    nests_.push_back(std::move(around));
  }
}

std::vector<std::pair<AtomId, Sym>> Interpreter::in_any_trip(const CodeRegion& r) {
  std::vector<std::pair<AtomId, Sym>> out;
  for (const Around& around : nests_) {
    const auto last = last_trip_.find(&around.as_loop);
    if (!around.nest.holds(r) || last == last_trip_.end()) continue;
    const auto atom = last->second.as_atom();
    if (!atom || std::any_of(out.begin(), out.end(), [&](const auto& x) { return x.first == *atom; }))
      continue;
    out.emplace_back(*atom, around.nest.t + symbol_of(context_, SymbolKind::any_later, {around.nest.op}, "",
                                                      {Int(0), std::nullopt}));
  }
  return out;
}

bool Interpreter::enters_or_ends(State& s, std::size_t i) {
  if (!running_.empty() && running_.back().around->end == i) {
    const Running now = running_.back();
    running_.pop_back();
    now.after(std::move(s));
    running_.push_back(now);
    return true;
  }
  for (const Around& around : nests_)
    if (around.begin == i && std::none_of(running_.begin(), running_.end(),
                                          [&](const Running& x) { return x.around == &around; })) {
      if (const Guard* g = undecided(around.as_loop))
        both_paths(std::move(s), *g, i);
      else if (runs(around.as_loop))
        nest(std::move(s), around);
      else
        regions(std::move(s), around.end);
      return true;
    }
  return false;
}

void Interpreter::trip(State s, const Around& around, Sym number, const After& after) {
  running_.push_back({&around, number, after});
  regions(std::move(s), around.begin);
  running_.pop_back();
}

Condition Interpreter::in_trip(const Condition& c) const {
  std::vector<std::pair<AtomId, Sym>> numbers;
  for (const Running& x : running_) numbers.emplace_back(*x.around->nest.t.as_atom(), x.number);
  return numbers.empty() ? c : Condition{substitute(c.a, numbers), substitute(c.b, numbers)};
}

bool Interpreter::counts_nest(AtomId x) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const Running& trip) { return open_.at(trip.around).counts.contains(x); });
}

bool Interpreter::numbers_trip(AtomId x) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const Running& trip) { return mentions(trip.number, x); });
}

void Interpreter::forget_tiles(State& s, const Around& around) {
  std::set<int> own;
  for (std::size_t n = around.begin; n < around.end; ++n)
    for (const auto* list : {&code_.regions[n].prologue, &code_.regions[n].body, &code_.regions[n].epilogue})
      for (const Inst& i : *list)
        if (i.kind == InstKind::lds_write) own.insert(i.access.tensor);
  if (own.empty()) return;
  leaves_lds(s, "loop's next trip");
  for (const int tensor : own)
    forgotten_[tensor] = "what is in LDS is not taken from one trip of the loop of line " +
                         std::to_string(around.nest.where.line()) +
                         " to the next, since it holds a branch\n  hint   what a trip reads of " +
                         p_.tensor(tensor).name +
                         ", or adds to, is written in that trip; else a loop without a branch";
  const auto is_own = [&](const auto& entry) { return own.contains(entry.first.first); };
  std::erase_if(s.lds, is_own), std::erase_if(s.readings, is_own);
}

std::string Interpreter::unwritten(const Tensor& t) const {
  const auto found = forgotten_.find(t.id);
  return found == forgotten_.end() ? ", which nothing has written" : ": " + found->second;
}

void Interpreter::after_trip(State s, const Around& around, Sym number, const After& on) {
  if (around.nest.branches) forget_tiles(s, around);
  // What a trip made is its own: the next one has what there was before the first, as trips have left it.
  std::erase_if(s.regs, [&](const auto& entry) { return !open_.at(&around).had.contains(entry.first); });
  add_up(s, around, number);
  const Sym last = open_.at(&around).last, rest = relate(last - number); // how many trips follow
  const Interval range = interval(rest);
  const auto before = relation_;
  const auto written_before = written_;
  const auto atom = rest.as_atom();
  const auto restore = [&] { relation_ = before, written_ = written_before; };
  if (!range.lower || *range.lower <= Int(0)) {
    State out = s;
    if (!rest.is_constant()) {
      // Of a fixed number of trips it is the number of this one that is known.
      const auto all = symbols(rest);
      const Sym u = atom ? rest : context_.value(all[0]);
      if (!atom && !(rest + u).is_constant())
        refute("the number of a loop's trips is known", to_string(around.nest.extent),
               "it holds loops, and " + to_string(rest) +
                   " trips follow; a size that no loop inside is over");
      learn(*u.as_atom(), atom ? Sym(0) : rest + u);
      if (!atom) write_down(out, relation_.back());
    }
    const bool outer = std::exchange(exiting_, true);
    regions(std::move(out), around.end);
    exiting_ = outer;
    restore();
  }
  if (range.upper && *range.upper <= Int(0)) return;
  if (atom) {
    // What was written into places about how many trips follow is said of the number of all trips again, which is the same in each.
    if (const std::pair<AtomId, Sym> back[] = {{*atom, last - number}}; !(rest == last)) write_into(s, back);
    const auto one_less = [](const std::optional<Int>& n) {
      return n ? std::optional(std::max(Int(0), *n - Int(1))) : n;
    };
    const Sym more = symbol_of(context_, SymbolKind::counted, {relation_.size()}, context_.atom(*atom).name,
                               {one_less(range.lower).value_or(Int(0)), one_less(range.upper)});
    open_.at(&around).counts.insert({*atom, *more.as_atom()});
    learn(*atom, Sym(1) + more);
  }
  on(std::move(s));
  restore();
}

void Interpreter::add_up(State& s, const Around& around, Sym number) {
  running_.push_back({&around, number, {}});
  for (auto& [reg, value] : s.regs) {
    if (!around.summed.contains(reg.first)) continue;
    Term& held = value.term;
    std::vector<Term> added = held.others;
    Term acc = held;
    acc.others.clear();
    const bool first = number == Sym(0) || (!acc.partial && acc.expr == x_.constant(0));
    if (first) added.insert(added.begin(), acc);
    const auto over = [&](const Term& t) { return !t.partial || (t.monoid == Monoid::sum && covers(t)); };
    if (added.empty() || !std::all_of(added.begin(), added.end(), over) ||
        (added.size() == 1 && first && !acc.partial))
      continue;
    Term more = std::move(added.front());
    more.others.assign(std::make_move_iterator(added.begin() + 1), std::make_move_iterator(added.end()));
    stands_at(around.as_loop, reg.first);
    more = total(more, code_.registers[static_cast<std::size_t>(reg.first)].element);
    if (first) {
      held = std::move(more);
      continue;
    }
    std::vector<int> columns;
    std::vector<Term> both{std::move(acc), std::move(more)};
    for (Term& t : both) rename(t, columns), t.columns.clear();
    auto sum = lane_sum(x_.parameter(0) + x_.parameter(1), both, columns);
    if (!sum) continue; // and the trips are not alike
    sum->columns = std::move(columns);
    sum->summed_by = -1;
    tidy(*sum);
    held = *std::move(sum);
  }
  running_.pop_back();
}

bool Interpreter::adds_beside(State& s, const Inst& i) {
  if (running_.empty() || choice_ || !running_.back().around->summed.contains(i.def.id) || i.def.first != 0 ||
      i.def.count != code_.registers[static_cast<std::size_t>(i.def.id)].count)
    return false;
  for (int e = 0; e < i.def.count; ++e)
    if (const Reg& own = i.uses[static_cast<std::size_t>(e)]; own.id != i.def.id || own.first != e)
      return false;
  if (const auto rest = rest_of(i.map); !rest || x_.parameters(*rest).contains(0)) return false;
  Term& acc = held(s, i.def).term;
  if (acc.others.empty() && !acc.partial && acc.expr == x_.constant(0)) return false; // the first
  State other = s;
  Term none;
  none.expr = x_.constant(0);
  other.regs[key(i.def)] = {none, false};
  apply_map(other, i);
  Term next = std::move(other.regs.at(key(i.def)).term);
  if (next.partial && (next.has_part || !covers(next))) return false;
  next = complete_term(std::move(next));
  next.summed_by = summed_by(i, 0);
  acc.others.push_back(std::move(next));
  return true;
}

void Interpreter::forget_rounds(State& s, Sym trips) {
  const auto all = symbols(trips);
  if (all.size() != 1 || !running_.empty()) return;
  const AtomId u = all[0];
  const std::pair<AtomId, Sym> at0[] = {{u, Sym(0)}}, at1[] = {{u, Sym(1)}};
  const auto round = (substitute(trips, at1) - substitute(trips, at0)).constant();
  if (!round || *round < Int(2) || interval(context_.value(u)).lower != Int(0) ||
      interval(context_.value(u)).upper)
    return;
  // What is a line in u, in whole rounds, is one in their trips.
  const Sym passed =
      symbol_of(context_, SymbolKind::passed, {}, context_.atom(u).name, {Int(0), std::nullopt});
  bool lines = true;
  // Rounds of a loop before that one, of which a round of it is no whole number, are written in its own, and forgotten as well.
  std::vector<std::pair<AtomId, Sym>> before;
  for (const auto& [what, is] : relation_)
    if (mentions(is, u) && divides(Sym(*round), substitute(is, at1) - substitute(is, at0)) != Truth::yes)
      before.emplace_back(what, is);
  const auto of = [&](Sym whole) -> Sym {
    const Sym x = before.empty() ? whole : substitute(whole, before);
    if (!mentions(x, u)) return x;
    const Sym begin = substitute(x, at0), slope = substitute(x, at1) - begin;
    if (!(x == begin + slope * context_.value(u)) || mentions(slope, u) ||
        divides(Sym(*round), slope) != Truth::yes) {
      lines = false;
      return x;
    }
    return begin + exact_div(slope, Sym(*round)) * passed;
  };
  const auto in = [&](Expr e) {
    return x_.normal(x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
      ExprNode out = n;
      if (n.fn == Fn::number) out.sym = of(n.sym);
      for (Sym& x : out.index) x = of(x);
      return out == n ? std::nullopt : std::optional(x_.make(std::move(out)));
    }));
  };
  const std::function<void(Term&)> term = [&](Term& t) {
    t.expr = in(t.expr);
    for (Fact& f : t.facts) f.index = of(f.index), f.bound = of(f.bound);
    for (Asked& a : t.asked) {
      a.base = in(a.base);
      for (Expr& e : a.where) e = in(e);
    }
    t.limit = of(t.limit), t.origin = of(t.origin), t.rounds = of(t.rounds), t.first = of(t.first);
    for (auto& [low, high] : t.intervals) low = of(low), high = of(high);
    for (auto* list : {&t.ends, &t.begins})
      for (Sym& x : *list) x = of(x);
    for (Term& other : t.others) term(other);
  };
  State out = s;
  for (auto& [key, value] : out.regs) term(value.term);
  for (Term& t : out.terms) term(t);
  for (auto& [tensor, w] : out.stored) {
    for (Sym& x : w.origin) x = of(x);
    for (Written::Tile& tile : w.tiles)
      for (Sym& x : tile.origin) x = of(x);
    for (auto& [low, high] : w.runs) low = of(low), high = of(high);
  }
  for (auto& [tensor, tile] : out.read_tile)
    for (Sym& x : tile.first) x = of(x);
  for (State::Early& early : out.early)
    for (Sym& x : early.origin) x = of(x);
  auto relation = relation_, written = written_;
  const auto forgotten = [&](AtomId x) {
    return std::any_of(before.begin(), before.end(), [&](const auto& known) { return known.first == x; });
  };
  for (auto* list : {&relation, &written})
    for (auto& [what, is] : *list)
      is = forgotten(what) ? context_.value(what) : of(is), lines = lines && what != u;
  for (const auto& [what, is] : before)
    for (const Guard& g : path_)
      lines = lines && !mentions(g.condition.a, what) && !mentions(g.condition.b, what);
  for (const Guard& g : path_) lines = lines && !mentions(g.condition.a, u) && !mentions(g.condition.b, u);
  if (!lines) return;
  s = std::move(out), relation_ = std::move(relation), written_ = std::move(written);
}

int Interpreter::decided_from(const Around& around) {
  constexpr int most = 8; // each of them is run by itself
  const AtomId t = *around.nest.t.as_atom();
  const std::pair<AtomId, Sym> at0[] = {{t, Sym(0)}}, at1[] = {{t, Sym(1)}};
  int from = 0;
  for (std::size_t n = around.begin; n < around.end; ++n)
    for (const Guard& g : code_.regions[n].guards) {
      const Sym room = g.condition.b - g.condition.a; // 1 or more where it holds
      const auto first = substitute(room, at0).constant(),
                 slope = (substitute(room, at1) - substitute(room, at0)).constant();
      if (!first || !slope || *slope == Int(0)) continue;
      const Int trip = *slope > Int(0) ? floor_div(-*first, *slope) + Int(1) : ceil_div(*first, -*slope);
      if (trip <= Int(most))
        from = std::max(from, static_cast<int>(std::max(trip, Int(0)).value()));
      else
        far_branch_ = "the branch by " + to_string(g.condition.a) + " < " + to_string(g.condition.b) +
                      " changes sides in trip " + to_string(trip) + ", and trips are told apart up to trip " +
                      std::to_string(most) +
                      ": two loops, k.loop(min(n, c), ..) and, in k.if_less(c, n, ..), k.loop(c, n, ..)";
    }
  return from;
}

void Interpreter::nest(State s, const Around& around) {
  const Inst* const outer_at = at_;
  at_ = &code_.regions[around.begin].body.front();
  const Sym extent = around.nest.extent;
  if (passed_by(around.as_loop)) {
    at_ = outer_at;
    return;
  }
  const auto last = last_trip_.find(&around.as_loop);
  if (last == last_trip_.end()) unknown_trips(around.as_loop);
  if (!positive(around.as_loop, extent))
    refute("the loop runs at least once", to_string(extent),
           "it may end at 0: k.if_less(0, " + to_string(extent) + ", ..) around it says where not");
  // A number, a size's, or after another loop over that size one and so many more.
  const auto relation_before = relation_, written_before = written_;
  forget_rounds(s, relate(last->second));
  const Sym known = relate(last->second), some = known - Sym(known.constant_term());
  if (!known.is_constant() && !(some.as_atom() && known.constant_term() >= Int(0)))
    refute("the number of a loop's trips is known", to_string(extent),
           "it holds loops or branches, and its last one is " + to_string(known) +
               "; a size that no loop before it is over");
  // In its trips the number of trips is not known, whatever was known of it before.
  const bool exiting = std::exchange(exiting_, false);
  const Open outer = open_[&around];
  const std::vector<AtomId> of_last = symbols(known);
  open_[&around] = {{}, known, {of_last.begin(), of_last.end()}, relation_};
  for (const auto& [reg, value] : s.regs) open_[&around].had.insert(reg);
  // What is summed lane by lane is seen to be a sum in its second trip.
  const int base =
      std::max(find_lane_sums(around.as_loop) || !around.summed.empty() ? 2 : 1, decided_from(around));
  at_ = outer_at;
  const std::function<void(State, int)> from = [&](State start, int j) {
    const State first = j >= base ? start : State{};
    trip(std::move(start), around, Sym(j), [&, j](State end) {
      after_trip(std::move(end), around, Sym(j), [&](State next) {
        const Sym rest = relate(known) - Sym(j + 1);
        const bool more = j < base || !(rest.is_constant() || rest.as_atom());
        more ? from(std::move(next), j + 1) : in_all_trips(first, next, around, Sym(j + 1));
      });
    });
  };
  from(std::move(s), 0);
  open_[&around] = outer;
  exiting_ = exiting;
  relation_ = relation_before, written_ = written_before;
}

// `first`, `next`: what trips second - 1 and `second` begin with, and there is a trip `second`.
void Interpreter::in_all_trips(const State& first, const State& next, const Around& around, Sym second) {
  at_ = &code_.regions[around.begin].body.front();
  const Sym rest = relate(open_.at(&around).last) - second;
  const int proof = inductions_++;
  const Sym v = symbol_of(context_, SymbolKind::in_nest, {around.nest.op, proof, rest.constant()}, "",
                          {Int(0), rest.constant()});
  State x = first, y = next;
  write_down_others(x, around), write_down_others(y, around);
  const State invariant = extrapolate(around.as_loop, x, y, Sym(1) + v);
  const auto before = relation_;
  if (const auto atom = rest.as_atom()) {
    const Sym more =
        symbol_of(context_, SymbolKind::of_nest, {around.nest.op, proof}, "", {Int(0), std::nullopt});
    open_.at(&around).counts.insert({*atom, *more.as_atom()});
    learn(*atom, v + more);
  }
  const Sym number = second + v;
  const std::pair<AtomId, Sym> following[] = {{*v.as_atom(), v + Sym(1)}};
  trip(invariant, around, number, [&](State end) {
    after_trip(std::move(end), around, number, [&](State again) {
      at_ = &code_.regions[around.begin].body.front();
      State wanted = invariant;
      std::span<const std::pair<AtomId, Sym>> left = following;
      // What a branch says of sizes in this trip's number is no part of what the next trip begins with.
      if (around.nest.branches) write_into(wanted, std::exchange(left, {}));
      write_down_others(wanted, around), write_down_others(again, around);
      if (around.nest.branches)
        for (auto& [reg, value] : again.regs)
          if (const auto found = wanted.regs.find(reg); found != wanted.regs.end())
            goes_on_empty(value.term, found->second.term);
      compare(around.as_loop, wanted, again, left);
      prove("the loop's invariant holds in every trip", "from trip " + to_string(second) + " on",
            "induction");
    });
  });
  relation_ = before;
  --inductions_;
}

std::optional<Interpreter::Choice> Interpreter::choice_by(const Condition& c) {
  for (const Uniform& u : p_.uniforms()) {
    if (!mentions(c.a, *u.symbol.as_atom()) && !mentions(c.b, *u.symbol.as_atom())) continue;
    const std::vector<AtomId> trips = trips_of(p_, u);
    if (trips.empty()) continue;
    const auto number = (c.a == u.symbol ? c.b : c.a).constant();
    const std::string claim = "a branch by what a trip reads is by a number of that trip";
    const auto runs = [&](AtomId t) {
      return std::any_of(running_.begin(), running_.end(),
                         [&](const Running& x) { return *x.around->nest.t.as_atom() == t; });
    };
    // What is read is no negative number, and of 31 bits: `expand` says so at the line.
    if (!std::all_of(trips.begin(), trips.end(), runs) || !(c.a == u.symbol || c.b == u.symbol) || !number ||
        *number < Int(c.a == u.symbol ? 1 : 0) || *number > Int(INT32_MAX))
      refute(claim, p_.tensor(u.tensor).name, "it is by " + to_string(c.a) + " < " + to_string(c.b));
    const Running& trip = running_.back();
    const Nest& nest = trip.around->nest;
    Choice out;
    out.negated = c.a == u.symbol; // u < c is not c - 1 < u
    const Expr less = x_.integer((out.negated ? *number - Int(1) : *number).value());
    const auto at = [&](Sym trip_number) {
      const std::pair<AtomId, Sym> number_of[] = {{*nest.t.as_atom(), trip_number}};
      return x_.normal(less_signed(
          less, integer(x_.load(u.tensor, {here(replaced_(replaced_(u.at, number_of), world_))}))));
    };
    out.low = Sym(nest.tile) * trip.number, out.high = out.low + Sym(nest.tile);
    out.extent = world(nest.extent);
    out.of = with_branches(at(floor_div(bound_, Sym(nest.tile))));
    return out;
  }
  return std::nullopt;
}

void Interpreter::by_data(State s, const Guard& g, std::size_t index) {
  const std::vector<Guard>& guards = code_.regions[index].guards;
  const auto depth = static_cast<std::size_t>(&g - guards.data());
  std::size_t end = index;
  bool in_lds = false;
  std::set<int> own;
  const std::string claim = "a branch by what a trip reads leaves one state, by either path";
  for (; end < running_.back().around->end; ++end) {
    const CodeRegion& r = code_.regions[end];
    if (r.guards.size() <= depth ||
        !std::equal(guards.begin(), guards.begin() + static_cast<std::ptrdiff_t>(depth), r.guards.begin()) ||
        !(r.guards[depth].condition == g.condition))
      break;
    at_ = r.is_loop ? (r.prologue.empty() ? &r.epilogue.front() : &r.prologue.front()) : &r.body.front();
    if (r.is_loop || r.guards.size() != depth + 1 ||
        std::any_of(nests_.begin(), nests_.end(), [&](const Around& n) {
          return n.begin == end && std::none_of(running_.begin(), running_.end(),
                                                [&](const Running& x) { return x.around == &n; });
        }))
      refute(claim, to_string(g.condition.a) + " < " + to_string(g.condition.b),
             "it holds a loop or another branch");
    for (const Inst& i : r.body) {
      at_ = &i;
      const bool touches = i.kind == InstKind::lds_read || i.kind == InstKind::lds_write;
      in_lds = in_lds || touches || i.kind == InstKind::barrier;
      if (i.kind == InstKind::lds_write) own.insert(i.access.tensor);
      const bool loads = i.kind == InstKind::load && !p_.tensor(i.access.tensor).output &&
                         p_.tensor(p_.tensor(i.access.tensor).memory()).device < 0;
      if (!(loads || (touches && !i.combine) || i.kind == InstKind::fill || i.kind == InstKind::map ||
            i.kind == InstKind::fold_values || i.kind == InstKind::fold_lanes || i.kind == InstKind::top ||
            i.kind == InstKind::exchange_lanes || i.kind == InstKind::mma || i.kind == InstKind::wait ||
            (i.kind == InstKind::barrier && i.waves.all()) || i.kind == InstKind::priority ||
            i.kind == InstKind::check || i.kind == InstKind::print) ||
          i.when)
        refute(claim, to_string(g.condition.a) + " < " + to_string(g.condition.b),
               "a " + std::string(name_of(i)) + " stands in it");
    }
  }
  at_ = &code_.regions[index].body.front();
  const Choice choice = *choice_by(g.condition);
  std::array<State, 2> out{s, s}; // where the guard's condition holds, and where not
  for (const bool holds : {true, false}) {
    State& x = out[holds ? 0 : 1];
    choice_ = choice;
    choice_->holds = holds != choice.negated;
    path_.push_back({in_trip(g.condition), holds});
    for (std::size_t n = index; n < end; ++n)
      if (code_.regions[n].guards[depth].holds == holds) {
        ring_ = 1;
        list(x, code_.regions[n].body, Sym(0), 0);
      }
    path_.pop_back();
    choice_.reset();
    at_ = &code_.regions[index].body.front();
    if (!x.vm.empty() || !x.lgkm.empty()) refute(claim, "", "an access is under way where it ends");
    if (in_lds) {
      leaves_lds(x, "branch's end");
      const auto is_own = [&](const auto& entry) { return own.contains(entry.first.first); };
      std::erase_if(x.lds, is_own);
      x.readings.clear();
      for (const int tensor : own)
        forgotten_[tensor] =
            "only one path of a branch by what a trip reads, which ends before, writes it\n  hint   read " +
            p_.tensor(tensor).name + " in the branch";
    }
  }
  State merged = out[0]; // all that barriers order has been passed by either path
  merged.regs.clear();
  for (const auto& [key, before] : s.regs) {
    const auto yes = out[choice.negated ? 1 : 0].regs.find(key),
               no = out[choice.negated ? 0 : 1].regs.find(key);
    if (yes == out[choice.negated ? 1 : 0].regs.end() || no == out[choice.negated ? 0 : 1].regs.end())
      continue;
    for (std::size_t n = index; n < end; ++n) // the line that changes it
      for (const Inst& i : code_.regions[n].body)
        if (i.def.id == key.first) at_ = &i;
    merged.regs[key] = {either(choice, yes->second.term, no->second.term), false,
                        yes->second.waves & no->second.waves};
  }
  at_ = nullptr;
  prove(
      claim, [&] { return to_string(g.condition.a) + " < " + to_string(g.condition.b); }, "provenance");
  regions(std::move(merged), end);
}

std::vector<std::pair<AtomId, Sym>> Interpreter::known_of_others(const Around* around) const {
  const auto of_nest = [&](AtomId x) {
    return (around && open_.at(around).counts.contains(x)) ||
           std::any_of(running_.begin(), running_.end(),
                       [&](const Running& trip) { return open_.at(trip.around).counts.contains(x); });
  };
  // Whoever asks what is known asks how many trips the loop before had: what follows is looked at after each number of them.
  if (trips_count_ != 0) asked_for_trips_ = true;
  // What was known before a nest, as it was known then: since then it may be in terms of how many trips that has.
  std::vector<std::pair<AtomId, Sym>> known;
  for (const auto& [what, is] : relation_) {
    if (of_nest(what)) continue;
    Sym before = is;
    const auto as_before = [&](const Around* nest) {
      for (const auto& [atom, value] : open_.at(nest).before)
        if (atom == what) before = value;
    };
    if (around) as_before(around);
    for (auto trip = running_.rbegin(); trip != running_.rend(); ++trip)
      as_before(trip->around); // outer ones last
    if (!(before == is))
      for (const auto& [other, value] : relation_) // but for what has become known since
        if (!of_nest(other)) {
          const std::pair<AtomId, Sym> since[] = {{other, value}};
          before = substitute(before, since);
        }
    known.emplace_back(what, before);
  }
  return known;
}

void Interpreter::write_down_others(State& s, const Around& around) {
  if (const auto known = known_of_others(&around); !known.empty()) write_into(s, known);
}

void Interpreter::write_into(State& s, std::span<const std::pair<AtomId, Sym>> known) {
  for (auto& [key, value] : s.regs) write_into(value.term, known);
  for (Term& t : s.terms) write_into(t, known);
  const auto know_all = [&](std::vector<Sym>& all) {
    for (Sym& x : all) x = replaced_(x, known);
  };
  for (auto& [tensor, w] : s.stored) {
    know_all(w.origin);
    for (Written::Tile& tile : w.tiles) know_all(tile.origin);
    for (auto& [low, high] : w.runs) low = replaced_(low, known), high = replaced_(high, known);
  }
}

} // namespace inlay::codegen::provenance
