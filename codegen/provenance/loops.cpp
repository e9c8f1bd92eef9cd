// Regions in order, branches by either path, loops by induction: base, step, and every exit.
#include "interpreter.h"

#include <numeric>

namespace inlay::codegen::provenance {

void Interpreter::regions(State s, std::size_t from) {
  for (std::size_t i = from; i < code_.regions.size(); ++i) {
    if (enters_or_ends(s, i)) return;
    const CodeRegion& r = code_.regions[i];
    if (const Guard* g = undecided(r))
      return choice_by(g->condition) ? by_data(std::move(s), *g, i) : both_paths(std::move(s), *g, i);
    if (!runs(r)) continue;
    if (!r.is_loop) {
      ring_ = 1;
      std::vector<When> versions;
      for (const Inst& inst : r.body)
        if (inst.when && std::find(versions.begin(), versions.end(), *inst.when) == versions.end())
          versions.push_back(*inst.when);
      if (versions.empty()) {
        list(s, r.body, Sym(0), 0);
        continue;
      }
      // Each version, and what follows it, by itself.
      for (const bool divides : {true, false}) {
        if (std::any_of(versions.begin(), versions.end(), [&](const When& w) {
              return w.size != versions[0].size || w.modulus != versions[0].modulus;
            }))
          refute("versions differ by one condition", to_string(versions[0].size),
                 to_string(versions.back().size));
        When when = versions[0];
        when.divides = divides;
        State version = s;
        const auto before = relation_;
        if (divides) {
          std::vector<std::pair<AtomId, Sym>> conditions;
          add_condition(conditions, when);
          for (const auto& [what, is] : conditions) learn(what, is);
        }
        run_version(version, r.body, divides);
        regions(std::move(version), i + 1);
        relation_ = before;
      }
      return;
    }
    loop(std::move(s), r, i);
    return; // each exit goes on by itself
  }
  if (!enters_or_ends(s, code_.regions.size())) finish(s);
}

const Guard* Interpreter::undecided(const CodeRegion& r) const {
  for (const Guard& g : r.guards) {
    const Condition here = in_trip(g.condition);
    const auto known =
        std::find_if(path_.begin(), path_.end(), [&](const Guard& x) { return x.condition == here; });
    if (known == path_.end()) return &g;
    if (known->holds != g.holds)
      return nullptr; // it does not run: what it depends on further does not matter
  }
  return nullptr;
}

bool Interpreter::runs(const CodeRegion& r) const {
  return std::all_of(r.guards.begin(), r.guards.end(), [&](const Guard& g) {
    return std::find(path_.begin(), path_.end(), Guard{in_trip(g.condition), g.holds}) != path_.end();
  });
}

void Interpreter::both_paths(State s, const Guard& g, std::size_t index) {
  for (std::size_t n = 0; n < p_.tickets().size(); ++n)
    for (const Sym& side : {g.condition.a, g.condition.b})
      if (mentions(side, *p_.tickets()[n].symbol.as_atom()) && !s.taken.contains(static_cast<int>(n)))
        refute("a branch is by numbers that the workgroup has", to_string(side),
               "it has not acquired its ticket");
  for (const bool holds : {true, false}) {
    const auto before = relation_;
    const auto written_before = written_;
    path_.push_back({in_trip(g.condition), holds});
    if (assume(path_.back())) {
      State taken = s;
      for (std::size_t k = before.size(); k < relation_.size(); ++k)
        if (!counts_nest(relation_[k].first) &&
            (std::any_of(
                 p_.grid().begin(), p_.grid().end(),
                 [&](const GridAxis& axis) { return *axis.symbol.as_atom() == relation_[k].first; }) ||
             std::any_of(code_.regions.begin(), code_.regions.end(), [&](const CodeRegion& loop) {
               return loop.is_loop && uniform_of(p_, context_.value(relation_[k].first)) &&
                      mentions(loop.extent, relation_[k].first); // and with it where a loop ends
             })))
          write_down(taken, relation_[k]);
      regions(std::move(taken), index);
    }
    path_.pop_back();
    relation_ = before;
    written_ = written_before;
  }
}

bool Interpreter::assume(const Guard& g) {
  const Sym in_world = g.holds ? world(g.condition.b) - world(g.condition.a) - Sym(1)
                               : world(g.condition.a) - world(g.condition.b);
  const Sym room = relate(in_world); // not negative
  // A size may be no more than so much, and written in trips, of which that is not said, it would be any.
  if (less_equal(room + Sym(1), Sym(0)) || le(in_world + Sym(1), Sym(0)) == Truth::yes) return false;
  if (less_equal(Sym(0), room)) return true; // nothing new
  // How many trips follow, times more than 1: what the others can be at most says how many at least, or at most. So what is known of them
  // stays: of 64 more + rest <= 64 nothing but more = 0 follows.
  for (const AtomId x : symbols(room))
    if (counts_nest(x) || numbers_trip(x))
      if (const auto possible = counted_by(x, room)) return *possible && assume(g);
  // The first symbol that may be replaced by what the condition says of it. To know less is to prove it for more; what is lost
  // is the range of that symbol. So what nothing else is known of comes first, and what is left of a size after the workgroup,
  // which keeps its tile inside, last.
  const auto is = [](AtomId x, const auto& list) {
    return std::any_of(list.begin(), list.end(), [&](const auto& e) { return x == *e.symbol.as_atom(); });
  };
  const auto rank = [&](AtomId x) {
    const std::string& name = context_.atom(x).name;
    const auto of = [&](SymbolKind kind) { return is_of(name, kind); };
    if (is(x, p_.sizes()) || is(x, p_.uniforms()) || is(x, p_.tickets()) || of(SymbolKind::times) ||
        of(SymbolKind::path) || of(SymbolKind::path_range) || of(SymbolKind::before_part))
      return 0;
    return is(x, p_.grid()) ? 1 : of(SymbolKind::over) ? 2 : counts_nest(x) ? 3 : 4;
  };
  // Of two numbers from memory the greater one is written as the other and more: then both are still known not to be negative.
  const std::vector<AtomId> used = symbols(room);
  if (std::all_of(used.begin(), used.end(), [&](AtomId x) { return is(x, p_.uniforms()); }))
    for (const AtomId x : used) {
      const std::pair<AtomId, Sym> at0[] = {{x, Sym(0)}};
      const Sym rest = substitute(room, at0), symbol = context_.value(x);
      if (!(room == symbol + rest) || rest.is_constant()) continue;
      if (const auto possible = assume_of(x, room, g.holds)) return *possible;
    }
  for (const int wanted : {0, 1, 2, 3})
    for (const AtomId x : symbols(room))
      if (rank(x) == wanted)
        if (const auto possible = assume_of(x, room, g.holds)) return *possible;
  return true;
}

void Interpreter::counts_as(AtomId x, Sym now) {
  for (const Running& trip : running_)
    if (Open& open = open_.at(trip.around); open.counts.contains(x)) open.counts.insert(*now.as_atom());
}

Interval Interpreter::narrowed(AtomId x, Int slope, Int limit) const {
  Interval left = interval(context_.value(x));
  if (slope > Int(0)) {
    const Int least = ceil_div(-limit, slope);
    if (!left.lower || *left.lower < least) left.lower = least;
  } else {
    const Int most = floor_div(limit, -slope);
    if (!left.upper || most < *left.upper) left.upper = most;
  }
  return left;
}

Sym Interpreter::told_apart(SymbolKind kind, std::initializer_list<NameNumber> numbers, AtomId of,
                            Interval range) {
  const std::string name = codegen::name_of(kind, numbers, context_.atom(of).name);
  constexpr std::size_t longest = 200; // each condition adds to the name of what it is about
  if (name.size() > longest)
    refute("the conditions of a trip are told apart", "",
           "each of too many follows from the one before: in a loop, that of a trip from all before it\n  "
           "hint   " +
               (far_branch_.empty() ? "fewer trips that are told apart by a branch" : far_branch_));
  return context_.symbol(name, range);
}

bool Interpreter::lies_in(AtomId x, Interval range, int how) {
  if (range.lower && range.upper && *range.upper < *range.lower) return false;
  if (range.lower && range.upper && *range.lower == *range.upper) {
    learn(x, Sym(*range.lower)); // no other
    return true;
  }
  const Sym known =
      told_apart(SymbolKind::path_range, {path_.size(), how, range.lower, range.upper}, x, range);
  counts_as(x, known);
  learn(x, known);
  return true;
}

std::optional<bool> Interpreter::counted_by(AtomId x, Sym room) {
  const std::pair<AtomId, Sym> at0[] = {{x, Sym(0)}}, at1[] = {{x, Sym(1)}};
  const Sym rest = substitute(room, at0), symbol = context_.value(x);
  const auto slope = (substitute(room, at1) - rest).constant();
  const auto most = interval(rest).upper;
  if (!slope || *slope == Int(0) || !most || !(room == Sym(*slope) * symbol + rest)) return std::nullopt;
  // With a step of 1 `assume_of` says more of how many follow.
  if (*slope >= Int(-1) && *slope <= Int(1) && counts_nest(x)) return std::nullopt;
  const Interval now = interval(symbol), left = narrowed(x, *slope, *most);
  if (left.lower == now.lower && left.upper == now.upper) return std::nullopt;
  return lies_in(x, left, 2);
}

std::optional<bool> Interpreter::assume_of(AtomId x, Sym room, bool holds) {
  const std::pair<AtomId, Sym> at0[] = {{x, Sym(0)}}, at1[] = {{x, Sym(1)}};
  const Sym rest = substitute(room, at0), symbol = context_.value(x);
  const auto slope = (substitute(room, at1) - rest).constant();
  if (!slope || *slope == Int(0) || !(room == Sym(*slope) * symbol + rest)) return std::nullopt;
  const auto limit = rest.constant();
  if (!limit) {
    if (*slope != Int(1) && *slope != Int(-1)) return std::nullopt;
    const Sym more = told_apart(SymbolKind::path, {path_.size(), holds ? 1 : 0}, x, {Int(0), std::nullopt});
    counts_as(x, more);
    learn(x, *slope == Int(1) ? more - rest : rest - more);
    return true;
  }
  return lies_in(x, narrowed(x, *slope, *limit), holds ? 1 : 0);
}

void Interpreter::run_version(State& s, const std::vector<Inst>& insts, bool divides) {
  trip_value_ = Sym(0);
  number_ = 0;
  for (const Inst& i : insts) {
    if (i.when && i.when->divides != divides) continue;
    at_ = &i;
    one(s, i);
  }
  at_ = nullptr;
}

void Interpreter::add_condition(std::vector<std::pair<AtomId, Sym>>& to, const When& when) {
  const Sym value = world(when.size);
  for (const AtomId a : symbols(value)) {
    const SymAtom& atom = context_.atom(a);
    if (!is_of(atom.name, SymbolKind::over)) continue;
    // size = tile*wg + g*(rest + 1)
    const std::pair<AtomId, Sym> at0[] = {{a, Sym(0)}}, at1[] = {{a, Sym(1)}};
    const auto step = (substitute(value, at1) - substitute(value, at0)).constant();
    if (!step || when.modulus % step->value() != 0) continue;
    const std::int64_t n = when.modulus / step->value();
    to.emplace_back(a,
                    Sym(n) * symbol_of(context_, SymbolKind::whole, {}, atom.name, {Int(0), std::nullopt}) +
                        Sym(n - 1));
  }
}

void Interpreter::learn(AtomId what, Sym is) {
  const std::pair<AtomId, Sym> known[] = {{what, is}};
  for (auto& [other, value] : relation_) value = substitute(value, known);
  relation_.emplace_back(what, is);
}

void Interpreter::write_down(State& s, const std::pair<AtomId, Sym>& what) {
  const std::pair<AtomId, Sym> known[] = {what};
  for (auto& [key, value] : s.regs) write_into(value.term, known);
  for (Term& t : s.terms) write_into(t, known);
  for (auto& [atom, value] : written_) value = substitute(value, known);
  written_.push_back(what);
}

void Interpreter::write_into(Term& t, std::span<const std::pair<AtomId, Sym>> known) {
  replace_all(t, known);
  t.expr = x_.normal(t.expr);
  for (Term& other : t.others) other.expr = x_.normal(other.expr);
}

void Interpreter::leave(State s, const CodeRegion& r, std::size_t index, Sym j, int residue) {
  const auto before = relation_;
  const auto written_before = written_;
  const bool counts = counts_trips(r), same_way = counts && simple_behind(index);
  if (!meet(r, j, false)) return;
  // What is known of workgroups from here on is written into what the places hold; of sizes it is looked up.
  if (!counts && relation_.size() > before.size()) write_down(s, relation_.back());
  const bool outer = std::exchange(exiting_, true);
  list(s, r.epilogue, relate(j), residue);
  forget_iterations(s);
  same_way ? go_on(std::move(s), index, before) : regions(std::move(s), index + 1);
  exiting_ = outer;
  relation_ = before;
  written_ = written_before;
}

bool Interpreter::simple_behind(std::size_t index) const {
  if (p_.shares() || !running_.empty()) return false; // another tile may follow, or another trip
  const auto simple = [&](const Inst& i) {
    if (i.access.tensor < 0) return true;
    const Tensor& t = p_.tensor(i.access.tensor);
    return t.space != Space::lds && !t.in_place && i.ticket < 0 && i.turn < 0;
  };
  return std::all_of(
      code_.regions.begin() + static_cast<std::ptrdiff_t>(index) + 1, code_.regions.end(),
      [&](const CodeRegion& r) { return !r.is_loop && std::all_of(r.body.begin(), r.body.end(), simple); });
}

void Interpreter::go_on(State s, std::size_t index, const std::vector<std::pair<AtomId, Sym>>& before) {
  // That this exit was taken says nothing new of what was known before.
  if (!std::equal(before.begin(), before.end(), relation_.begin(), relation_.end() - 1))
    return regions(std::move(s), index + 1);
  // LDS and its accesses under way are nobody's any more.
  s.lds.clear(), s.terms.clear(), s.batches.clear(), s.readings.clear();
  for (auto* queue : {&s.vm, &s.lgkm})
    for (Queued& q : *queue) {
      const bool reg = q.what == Queued::What::reg && s.regs.contains(q.reg);
      q = reg ? Queued{Queued::What::reg, q.reg, -1, {}, q.waves, q.left}
              : Queued{Queued::What::none, {}, -1, {}, q.waves, q.left};
    }
  // A fold that is over by now is over, however many trips made it.
  const auto close_over = [&](Term& t) {
    if (t.partial && covers(t)) t.intervals = {{Sym(0), t.limit}};
  };
  for (auto& [key, value] : s.regs) {
    close_over(value.term);
    for (Term& other : value.term.others) close_over(other);
  }
  const auto same = [&](const State& x) {
    return x.regs == s.regs && x.vm == s.vm && x.lgkm == s.lgkm && x.apart() == s.apart() &&
           x.stored == s.stored && x.stored_part == s.stored_part && x.read_tile == s.read_tile &&
           x.released == s.released && x.drawn == s.drawn && x.taken == s.taken && x.given == s.given &&
           x.awaited == s.awaited && x.met == s.met && x.signalled == s.signalled && x.passed == s.passed &&
           x.early == s.early && x.released_to_devices == s.released_to_devices && x.meeting == s.meeting &&
           x.knows_peers == s.knows_peers && x.read_of_peers == s.read_of_peers;
  };
  if (std::any_of(left_.begin(), left_.end(), same)) return;
  trips_begin_ = before.size(), trips_count_ = 1;
  asked_for_trips_ = false;
  State copy = s;
  regions(std::move(s), index + 1);
  trips_begin_ = trips_count_ = 0;
  if (!asked_for_trips_) left_.push_back(std::move(copy));
}

bool Interpreter::positive(const CodeRegion& r, Sym end) const {
  const auto reaches = [&](Sym one) { return le(one, end) == Truth::yes; }; // one >= 1
  return reaches(Sym(1)) ||
         std::any_of(p_.grid().begin(), p_.grid().end(),
                     [&](const GridAxis& g) { // what a workgroup begins with
                       return reaches(g.extent - Sym(g.tile) * g.symbol);
                     }) ||
         (p_.shares() && reaches(p_.shares()->extent - Sym(p_.shares()->tile) * p_.shares()->begin)) ||
         std::any_of(r.guards.begin(), r.guards.end(), [&](const Guard& g) { // a < b, or a >= b
           return reaches(g.holds ? g.condition.b - g.condition.a : g.condition.a - g.condition.b + Sym(1));
         });
}

bool Interpreter::passed_by(const CodeRegion& r) const {
  const auto none = no_trips_.find(&r);
  return none != no_trips_.end() && positive(r, none->second);
}

bool Interpreter::counts_trips(const CodeRegion& r) const {
  const auto atom = last_trip(r).as_atom();
  if (!atom) return false;
  const std::string& name = context_.atom(*atom).name;
  return is_of(name, SymbolKind::trips) || is_of(name, SymbolKind::trips_below) ||
         is_of(name, SymbolKind::trips_along) || is_of(name, SymbolKind::trips_part);
}

namespace {
/// s = slope x + begin, x the only symbol; a number has slope 0.
struct Line {
  std::optional<AtomId> x;
  Int slope, begin;
};
std::optional<Line> line_of(Sym s) {
  if (const auto c = s.constant()) return Line{std::nullopt, Int(0), *c};
  const auto all = symbols(s);
  if (all.size() != 1) return std::nullopt;
  const auto at = [&](std::int64_t v) {
    const std::pair<AtomId, Sym> replace[] = {{all[0], Sym(v)}};
    return substitute(s, replace).constant().value_or(Int(0));
  };
  const Line line{all[0], at(1) - at(0), at(0)};
  if (!(s == Sym(line.slope) * s.context()->value(all[0]) + Sym(line.begin))) return std::nullopt;
  return line;
}
} // namespace

bool Interpreter::meet(const CodeRegion& r, Sym j, bool later) {
  const Sym last = last_trip(r);
  const auto more =
      [&](AtomId of) { // a number of its own for each: how far one end lies off says nothing of another's
        return later ? symbol_of(context_, SymbolKind::later, {}, context_.atom(of).name,
                                 {Int(0), std::nullopt})
                     : Sym(0);
      };
  if (counts_trips(r)) {
    if (!later && le(j + Sym(1), Sym(interval(last).lower.value_or(Int(0)))) == Truth::yes)
      return false; // the size is declared to be more
    if (const auto most = interval(last).upper;
        most && le(Sym(*most) + Sym(1), j + Sym(later ? 1 : 0)) == Truth::yes)
      return false; // or less
    learn(*last.as_atom(), later ? j + Sym(1) + more(*last.as_atom()) : j);
    return true;
  }
  // j = a u + c; last = b x + d is j, or more when others come later.
  const Line trip = line_of(j).value(), end = line_of(last).value(); // see round_of
  const Int least = trip.begin + Int(later ? 1 : 0);
  if (!end.x) {
    const Int room = end.begin - least; // of a u
    if (!trip.x) return later ? room >= Int(0) : room == Int(0);
    const Int n = floor_div(room, trip.slope);
    if (n < Int(0) || (!later && trip.slope * n != room)) return false;
    learn(*trip.x, later
                       ? symbol_of(context_, SymbolKind::up_to, {n}, context_.atom(*trip.x).name, {Int(0), n})
                       : Sym(n));
    return true;
  }
  // a is a multiple of b, because `round_of` is.
  Int n = ceil_div(least - end.begin, end.slope);
  if (!later && (end.slope * n != least - end.begin || (!trip.x && n < Int(0)))) return false;
  if (!trip.x) n = std::max(n, Int(0));
  const Sym moved = trip.x ? Sym(exact_div(trip.slope, end.slope)) * context_.value(*trip.x) : Sym(0);
  learn(*end.x, moved + Sym(n) + more(*end.x));
  return true;
}

int Interpreter::period_of(const CodeRegion& r) const {
  std::int64_t period = r.ring;
  const auto look = [&](auto&& self, Sym s) -> void {
    for (const inlay::Term& term : s.terms())
      for (const Factor& f : term.factors()) {
        const SymAtom& atom = context_.atom(f.atom);
        for (const Sym& x : atom.operands) self(self, x);
        if (atom.kind != AtomKind::floor_div || !mentions(atom.operands[0], *r.trip.as_atom())) continue;
        if (const auto by = atom.operands[1].constant(); by && *by > Int(0) && *by <= Int(64))
          period = std::lcm(period, by->value());
      }
  };
  for (const Inst& i : r.body)
    for (const Sym& origin : i.access.origin)
      if (i.access.gathered()) look(look, origin);
  return static_cast<int>(period);
}

int Interpreter::round_of(const CodeRegion& r) const {
  const int period = period_of(r);
  if (counts_trips(r)) return period;
  const auto end = line_of(last_trip(r));
  if (!end || (end->x && (end->slope < Int(1) || end->slope > Int(64))))
    refute("the number of a loop's trips is known", to_string(r.extent),
           "it has to be a number, or to move with one symbol by at most 64 trips");
  return end->x ? std::lcm(period, static_cast<int>(end->slope.value())) : period;
}

void Interpreter::forget_iterations(State& s) {
  std::erase_if(s.regs, [&](const auto& entry) {
    return !code_.registers[static_cast<std::size_t>(entry.first.first)].outside;
  });
}

void Interpreter::loop(State s, const CodeRegion& r, std::size_t index) {
  const auto saved = relation_;
  if (!r.body.empty()) at_ = &r.body.front(); // a claim about the loop is found at its first line
  if (passed_by(r)) return;
  if (!last_trip_.contains(&r)) unknown_trips(r);
  const auto two = least_of(r.extent);
  std::vector<Sym> ends; // that may be 0
  if (two) ends = {two->first, two->second};
  if (!two) ends = {r.extent};
  // What the loop itself is taken to say of its size says nothing of whether there is a trip. Of a number from memory it does:
  // the case without one is looked at by itself (LeastEnd::nothing).
  const auto looked_at = [&](const Sym& end) {
    const Uniform* u = uniform_in(p_, end);
    return two && u && (uniform_of(p_, end) || two->first.constant() || two->second.constant());
  };
  for (const Sym& end : ends)
    if (!positive(r, end) && !(looked_at(end) && less_equal(Sym(1), world(end))))
      refute("the loop runs at least once", to_string(end),
             "it may end at 0: k.if_less(0, " + to_string(end) + ", ..) around it says where not");
  // What is known after the loop before this one holds in all trips of this one, but its own trips are not over.
  struct Inside {
    bool& flag;
    bool outer;
    ~Inside() { flag = outer; }
  } const inside{exiting_, std::exchange(exiting_, false)};
  ring_ = r.ring;
  left_.clear();
  int reach = 0;
  for (const Inst& i : r.body) reach = std::max(reach, i.ahead);
  // What is summed lane by lane is seen to be a sum in its second trip.
  const bool sums = find_lane_sums(r);
  // What was loaded ahead for a loop that this path does not run is nobody's.
  std::set<int> own;
  for (const Inst& i : r.body) own.insert(i.def.id);
  std::erase_if(s.regs, [&](const auto& entry) {
    return !code_.registers[static_cast<std::size_t>(entry.first.first)].outside &&
           !own.contains(entry.first.first);
  });
  list(s, r.prologue, Sym(0), 0);
  int base = (reach + (sums ? 1 : 0) + r.ring) / r.ring * r.ring;
  const int round = round_of(r); // from base on every round is like the others
  // A part of fixed length has so many trips at most: what lies beyond is not its own. A round of several pages' parts ends with it.
  std::optional<Int> most;
  if (counts_trips(r) && is_of(context_.atom(*last_trip(r).as_atom()).name, SymbolKind::trips_part)) {
    const Int last = *interval(last_trip(r)).upper;
    if (round > r.ring) base += static_cast<int>(floor_mod(last + Int(1 - base), Int(round)).value());
    most = floor_div(last - Int(base), Int(round));
  }
  State first;
  const auto in_loop = [&](Sym j) { // The loop runs trip j, so the last trip comes later.
    relation_ = saved;
    return meet(r, j, true);
  };
  const auto done = [&] { relation_ = saved; };
  // Inside of a nest paths multiply. Exits from `base` on are those of the rounds below, which begin there, if what is under way there is
  // what is under way a round later; else they are taken one by one.
  std::vector<std::pair<int, State>> put_off;
  const auto take_them = [&] {
    for (auto& [trip, state] : put_off) {
      relation_ = saved;
      ring_ = r.ring;
      leave(std::move(state), r, index, Sym(trip), trip % r.ring);
    }
    ring_ = r.ring;
  };
  for (int j = 0; j < base + round; ++j) {
    if (j == base) first = s;
    relation_ = saved;
    ring_ = r.ring;
    if (j < base || running_.empty())
      leave(s, r, index, Sym(j), j % r.ring);
    else
      put_off.emplace_back(j, s);
    ring_ = r.ring;
    if (!in_loop(Sym(j))) { // all exits have been taken, or are
      take_them();
      return done();
    }
    list(s, r.body, Sym(j), j);
    shift(s);
  }
  if (!put_off.empty() && !same_under_way(r, first, s)) take_them();
  const std::optional<Int> proof = running_.empty() ? std::nullopt : std::optional(Int(inductions_));
  const Sym u = symbol_of(context_, SymbolKind::in_trips, {index, proof, most}, "", {Int(0), most});
  struct Step {
    int& count;
    ~Step() { --count; }
  } const step{++inductions_};
  at_ = r.body.empty() ? nullptr : &r.body.front();
  State invariant = extrapolate(r, first, s, u);
  State now = invariant;
  for (int k = 0; k < round; ++k) {
    const Sym j = Sym(round) * u + Sym(base + k);
    relation_ = saved;
    ring_ = r.ring;
    leave(now, r, index, j, (base + k) % r.ring);
    ring_ = r.ring;
    if (!in_loop(j)) return done();
    list(now, r.body, j, base + k);
    shift(now);
  }
  const std::pair<AtomId, Sym> next[] = {{*u.as_atom(), u + Sym(1)}};
  at_ = r.body.empty() ? nullptr : &r.body.front();
  compare(r, invariant, now, next);
  relation_ = saved;
  prove("the loop's invariant holds in every trip",
        "base " + std::to_string(base) + ", step " + std::to_string(round), "induction");
}

void Interpreter::shift(State& s) {
  const auto move = [&](RegKey k) {
    return code_.registers[static_cast<std::size_t>(k.first)].outside ? k : RegKey{k.first, k.second - 1};
  };
  std::map<RegKey, RegState> regs;
  for (auto& [key, value] : s.regs) {
    const RegKey k = move(key);
    if (!code_.registers[static_cast<std::size_t>(k.first)].outside && k.second < 0) continue;
    regs.emplace(k, std::move(value));
  }
  s.regs = std::move(regs);
  for (auto* q : {&s.vm, &s.lgkm})
    for (Queued& e : *q)
      if (e.what == Queued::What::reg) e.reg = move(e.reg);
}

void Interpreter::not_inductive(const std::string& why, const std::string& about) {
  const char* const hint = "\n  hint   what goes on from trip to trip is a sum, a maximum or a minimum, "
                           "k.update(x, [y], ..) of a fragment that stands "
                           "before the loop; a tile in LDS is written in each trip before it is read";
  refute("the loop's state repeats from round to round", about, far_branch_.empty() ? why + hint : why);
}

void Interpreter::taken_by_nothing(const CodeRegion& r) {
  std::set<int> taken;
  each_inst([&](const Inst& i) {
    for (const Reg& u : i.uses) taken.insert(u.id);
  });
  for (const Inst& i : r.body)
    if (i.kind == InstKind::load && !taken.contains(i.def.id)) {
      at_ = &i;
      refute("what a loop loads is waited for", p_.tensor(i.access.tensor).name,
             "nothing takes it\n  hint   no load, or a k.map or k.store of what it gives");
    }
}

namespace {
/// What writes a tile of LDS in a trip, or else reads it.
const Inst* of_tile(const CodeRegion& r, int tensor, const Inst* otherwise) {
  for (const InstKind kind : {InstKind::lds_write, InstKind::lds_read})
    for (const Inst& i : r.body)
      if (i.kind == kind && i.access.tensor == tensor) return &i;
  return otherwise;
}
} // namespace

void Interpreter::stands_at(const CodeRegion& r, int reg) {
  for (const Inst& i : r.body)
    if (i.def.id == reg) at_ = &i;
}

Term Interpreter::extrapolate(const Term& x, const Term& next, Sym u) {
  Term y = next;
  order_like(x.facts, y.facts);
  if (x.columns != y.columns || x.partial != y.partial || x.facts.size() != y.facts.size() ||
      x.monoid != y.monoid || x.intervals.size() != y.intervals.size() || x.has_part != y.has_part ||
      x.ends.size() != y.ends.size() || x.begins.size() != y.begins.size() ||
      x.asked.size() != y.asked.size() || x.sets != y.sets || x.stride != y.stride ||
      x.first_sets != y.first_sets || x.others.size() != y.others.size())
    not_inductive("in the next round it is " + describe(y), describe(x));
  const auto line = [&](Sym a, Sym b) { return a + u * (b - a); };
  Term out = x;
  out.expr = extrapolate(x.expr, y.expr, line);
  for (std::size_t i = 0; i < x.facts.size(); ++i) {
    out.facts[i].index = line(x.facts[i].index, y.facts[i].index);
    out.facts[i].bound = line(x.facts[i].bound, y.facts[i].bound);
  }
  for (std::size_t i = 0; i < x.asked.size(); ++i) {
    out.asked[i].base = extrapolate(x.asked[i].base, y.asked[i].base, line);
    if (x.asked[i].where.size() != y.asked[i].where.size())
      not_inductive("in the next round it is " + describe(y), describe(x));
    for (std::size_t k = 0; k < x.asked[i].where.size(); ++k)
      out.asked[i].where[k] = extrapolate(x.asked[i].where[k], y.asked[i].where[k], line);
  }
  out.limit = line(x.limit, y.limit);
  for (std::size_t i = 0; i < x.ends.size(); ++i) out.ends[i] = line(x.ends[i], y.ends[i]);
  for (std::size_t i = 0; i < x.begins.size(); ++i) out.begins[i] = line(x.begins[i], y.begins[i]);
  for (std::size_t i = 0; i < x.intervals.size(); ++i)
    out.intervals[i] = {line(x.intervals[i].first, y.intervals[i].first),
                        line(x.intervals[i].second, y.intervals[i].second)};
  out.origin = line(x.origin, y.origin);
  out.rounds = line(x.rounds, y.rounds);
  out.first = line(x.first, y.first);
  for (std::size_t i = 0; i < x.others.size(); ++i) out.others[i] = extrapolate(x.others[i], y.others[i], u);
  return out;
}

Expr Interpreter::extrapolate(Expr x, Expr y, const std::function<Sym(Sym, Sym)>& line) {
  std::map<std::pair<int, int>, Expr> done; // what occurs in many places once
  const auto of = [&](auto&& self, Expr from, Expr to) -> Expr {
    if (from == to) return from;
    if (const auto found = done.find({from.id, to.id}); found != done.end()) return found->second;
    const ExprNode a = from.node();
    ExprNode b = to.node();
    if (!same_kind(a, b))
      not_inductive("in the next round it is " + to_string(y, name_of_tensor()),
                    to_string(x, name_of_tensor()));
    // What commutes is in the order of its numbers, which is another one in another round.
    if (commutes(a.fn)) {
      std::map<std::pair<int, int>, bool> known;
      for (std::size_t i = 0; i < a.args.size(); ++i)
        for (std::size_t j = i; j < b.args.size(); ++j)
          if (alike(x_, a.args[i], b.args[j], known)) {
            std::swap(b.args[i], b.args[j]);
            break;
          }
    }
    ExprNode n = a;
    n.sym = line(a.sym, b.sym);
    for (std::size_t i = 0; i < a.index.size(); ++i) n.index[i] = line(a.index[i], b.index[i]);
    for (std::size_t i = 0; i < a.args.size(); ++i)
      n.args[i] = self(self, Expr{&x_, a.args[i]}, Expr{&x_, b.args[i]}).id;
    return done.emplace(std::pair(from.id, to.id), x_.make(std::move(n))).first->second;
  };
  return of(of, x, y);
}

State Interpreter::extrapolate(const CodeRegion& r, const State& x, const State& y, Sym u) {
  State out = y; // statuses and queues of the later round; compare checks that they repeat
  for (auto& [key, value] : out.regs) {
    stands_at(r, key.first);
    const auto found = x.regs.find(key);
    if (found == x.regs.end()) not_inductive("a register appears in a later round");
    value.term = extrapolate(found->second.term, value.term, u);
  }
  if (x.regs.size() != y.regs.size()) not_inductive("a register is gone in a later round");
  std::map<std::pair<int, int>, int> pairs;
  out.terms.clear();
  for (auto& [stage, cells] : out.lds) {
    at_ = of_tile(r, stage.first, at_);
    const std::string tile = p_.tensor(stage.first).name;
    const auto found = x.lds.find(stage);
    if (found == x.lds.end() || found->second.read().size() != cells.read().size())
      not_inductive("a stage of " + tile + " appears in a later round");
    const std::vector<Cell>& all_before = found->second.read();
    std::vector<Cell>& all_now = cells.write();
    for (std::size_t i = 0; i < all_now.size(); ++i) {
      const Cell& before = all_before[i];
      Cell& now = all_now[i];
      if ((before.term < 0) != (now.term < 0) || before.slot != now.slot || before.wave != now.wave)
        not_inductive("a place of " + tile + " holds something else in the next round");
      if (now.term < 0) continue;
      const auto [at, fresh] =
          pairs.emplace(std::pair(before.term, now.term), static_cast<int>(out.terms.size()));
      if (fresh)
        out.terms.push_back(extrapolate(x.terms[static_cast<std::size_t>(before.term)],
                                        y.terms[static_cast<std::size_t>(now.term)], u));
      now.term = at->second;
    }
  }
  for (auto& [tensor, w] : out.stored) {
    const auto found = x.stored.find(tensor);
    if (found == x.stored.end() || found->second.runs.size() != w.runs.size())
      not_inductive("a workgroup writes other parts of an output");
    for (std::size_t i = 0; i < w.runs.size(); ++i) {
      const auto& before = found->second.runs[i];
      auto& run = w.runs[i];
      run = {before.first + u * (run.first - before.first), before.second + u * (run.second - before.second)};
    }
  }
  return out;
}

void Interpreter::replace_all(Term& t, std::span<const std::pair<AtomId, Sym>> replace) {
  replace_in(t, replace);
  t.limit = replaced_(t.limit, replace);
  t.origin = replaced_(t.origin, replace);
  t.rounds = replaced_(t.rounds, replace), t.first = replaced_(t.first, replace);
  for (Term& other : t.others) replace_all(other, replace);
}

bool Interpreter::same(const Term& a, const Term& other, std::span<const std::pair<AtomId, Sym>> next) {
  Term moved = a, b = other;
  replace_all(moved, next);
  order_like(moved.facts, b.facts);
  for (std::size_t i = 0; i < moved.others.size() && i < b.others.size(); ++i)
    order_like(moved.others[i].facts, b.others[i].facts);
  return moved.columns == b.columns && moved.sets == b.sets && moved.first_sets == b.first_sets &&
         equal(moved, b);
}

bool Interpreter::same_under_way(const CodeRegion& r, const State& now, const State& later) {
  const Inst* const before = at_;
  try {
    compare(r, now, later, {}, false);
    return true;
  } catch (const Refuted&) {
    at_ = before;
    return false;
  }
}

void Interpreter::compare(const CodeRegion& r, const State& invariant, const State& after,
                          std::span<const std::pair<AtomId, Sym>> next, bool values) {
  if (invariant.regs.size() != after.regs.size()) not_inductive("the registers in use differ");
  for (const auto& [key, value] : invariant.regs) {
    const auto found = after.regs.find(key);
    const Inst* const before = at_;
    stands_at(r, key.first);
    if (found == after.regs.end() || found->second.pending != value.pending ||
        found->second.waves != value.waves)
      not_inductive("register v" + std::to_string(key.first) + " is not in the same state");
    if (values && !same(value.term, found->second.term, next))
      not_inductive("register v" + std::to_string(key.first) + " does not hold the next round's value, but " +
                        describe(found->second.term),
                    describe(value.term));
    at_ = before;
  }
  std::map<std::pair<int, int>, bool> pairs;
  for (const auto& [stage, cells] : invariant.lds) {
    const Inst* const before = at_;
    at_ = of_tile(r, stage.first, at_);
    const std::string tile = p_.tensor(stage.first).name;
    const auto found = after.lds.find(stage);
    if (found == after.lds.end()) not_inductive("a stage of " + tile + " is gone");
    const std::vector<Cell>&all_a = cells.read(), &all_b = found->second.read();
    if (all_a.size() != all_b.size()) not_inductive("a stage of " + tile + " is not in the same state");
    for (std::size_t i = 0; i < all_a.size(); ++i) {
      const Cell &a = all_a[i], &b = all_b[i];
      if ((a.term < 0) != (b.term < 0)) not_inductive("a place of " + tile + " is not in the same state");
      if (a.term < 0) continue;
      if (a.slot != b.slot || a.wave != b.wave ||
          invariant.batches[static_cast<std::size_t>(a.batch)].passed.age(invariant.barriers) !=
              after.batches[static_cast<std::size_t>(b.batch)].passed.age(after.barriers))
        not_inductive("a place of " + tile + " is not in the same state");
      const auto [at, fresh] = pairs.emplace(std::pair(a.term, b.term), true);
      if (fresh && values &&
          !same(invariant.terms[static_cast<std::size_t>(a.term)],
                after.terms[static_cast<std::size_t>(b.term)], next))
        not_inductive("a place of " + tile + " does not hold the next round's value");
    }
    at_ = before;
  }
  for (const auto& [x, y] : {std::pair(&invariant.vm, &after.vm), std::pair(&invariant.lgkm, &after.lgkm)}) {
    if (x->size() != y->size()) taken_by_nothing(r), not_inductive("other accesses are under way");
    for (std::size_t i = 0; i < x->size(); ++i)
      if ((*x)[i].what != (*y)[i].what || (*x)[i].reg != (*y)[i].reg || (*x)[i].waves != (*y)[i].waves ||
          (*x)[i].left != (*y)[i].left)
        not_inductive("other accesses are under way");
  }
  if (invariant.stored.size() != after.stored.size()) not_inductive("other outputs are written");
  for (const auto& [tensor, w] : invariant.stored) {
    const Written& now = after.stored.at(tensor);
    bool same = w.axis == now.axis && w.tiles.size() == now.tiles.size() && w.runs.size() == now.runs.size();
    for (std::size_t i = 0; i < w.tiles.size() && same; ++i)
      same = w.tiles[i].origin == now.tiles[i].origin && w.tiles[i].extents == now.tiles[i].extents &&
             w.tiles[i].done == now.tiles[i].done;
    for (std::size_t i = 0; i < w.runs.size() && same && values; ++i)
      same = substitute(w.runs[i].first, next) == now.runs[i].first &&
             substitute(w.runs[i].second, next) == now.runs[i].second;
    if (!same) not_inductive("what is written of " + p_.tensor(tensor).name + " does not grow evenly");
  }
  for (const auto& [tensor, tile] : invariant.read_tile)
    if (!after.read_tile.contains(tensor) || after.read_tile.at(tensor) != tile)
      not_inductive("what is read of " + p_.tensor(tensor).name + " in place is not the same");
  if (invariant.apart() != after.apart())
    not_inductive("the halves of the waves are apart by other barriers");
  for (const auto& [stage, readings] : after.readings) {
    const auto open = [](const std::vector<Reading>& all, const Barriers& now) {
      std::vector<std::array<int, 3>> ages;
      for (const Reading& reading : all) ages.push_back(reading.passed.age(now));
      return ages;
    };
    const auto found = invariant.readings.find(stage);
    if (open(readings, after.barriers) != (found == invariant.readings.end()
                                               ? std::vector<std::array<int, 3>>()
                                               : open(found->second, invariant.barriers)))
      not_inductive("other reads are under way");
  }
}

} // namespace inlay::codegen::provenance
