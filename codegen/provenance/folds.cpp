// Rule of folds: each element once, all of them before the result is used.
#include "interpreter.h"

#include <bit>
#include <climits>

namespace inlay::codegen::provenance {

Term Interpreter::join(const Term& a, const Term& b) {
  Term out = a;
  if (b.has_part) {
    if (!out.has_part) {
      out.has_part = true;
      out.origin = b.origin;
      out.sets = b.sets;
    } else {
      if (out.origin == b.origin) {
        out.sets = unite(out.sets, b.sets, a.monoid);
      } else {
        next_round(out, b.origin, b.sets);
      }
    }
  }
  const auto of_both = [&](std::vector<Sym>& mine, const std::vector<Sym>& others) {
    std::erase_if(mine, [&](Sym e) {
      return std::none_of(others.begin(), others.end(), [&](Sym other) {
        return e == other ||
               (exiting_ ? relate(e) == relate(other) : with_branches(e) == with_branches(other));
      });
    });
  };
  of_both(out.ends, b.ends), of_both(out.begins, b.begins);
  for (const auto& [low, high] : b.intervals) add_interval(out, low, high);
  return out;
}

int Interpreter::unite(int a, int b, Monoid monoid) {
  const auto cache = std::tuple(a, b, monoid);
  if (const auto found = united_.find(cache); found != united_.end()) return found->second;
  const Column &x = columns_[a], &y = columns_[b];
  Column out(x.size());
  for (std::size_t s = 0; s < x.size(); ++s) {
    bool twice = false;
    out[s] = sets_.unite(x[s], y[s], twice);
    if (twice && !idempotent(monoid))
      refute("every element is summed once", std::string(to_string(monoid)),
             "slot " + std::to_string(s) + " adds " + text(sets_[x[s]]) + " and " + text(sets_[y[s]]));
  }
  return united_.emplace(cache, columns_.intern(std::move(out))).first->second;
}

std::string Interpreter::text(const Intervals& s) {
  std::string out;
  for (const auto& [low, high] : s) out += "[" + std::to_string(low) + "," + std::to_string(high) + ")";
  return out;
}

void Interpreter::end_round(Term& t) {
  if (!t.in_rounds()) {
    t.first = t.origin, t.first_sets = t.sets;
  } else if (!(t.origin == t.first + Sym(t.stride) * t.rounds) || t.sets != t.first_sets) {
    refute("parts of a sum follow one another from trip to trip", describe(t),
           "number " + to_string(t.rounds) + " begins at " + to_string(t.origin) + ", not at " +
               to_string(t.first + Sym(t.stride) * t.rounds) +
               (t.sets != t.first_sets ? ", and is of other elements" : ""));
  }
  t.rounds += Sym(1);
}

void Interpreter::next_round(Term& t, Sym origin, int sets) {
  end_round(t);
  t.origin = origin, t.sets = sets;
  if (t.stride != 0) return;
  // Sets of all work-items inside of one stride: then no element is in two rounds, whoever joins them.
  const auto apart = (t.origin - t.first).constant();
  int low = INT_MAX, high = INT_MIN;
  for (const int id : columns_[t.first_sets])
    for (const auto& [from, to] : sets_[id]) low = std::min(low, from), high = std::max(high, to);
  if (!apart || *apart < Int(1) || Int(high - low) > *apart)
    refute("parts of a sum follow one another from trip to trip", describe(t),
           "one begins at " + to_string(t.first) + ", the next at " + to_string(t.origin) +
               ", and together they are " + std::to_string(high - low) + " long");
  t.stride = apart->value();
}

void Interpreter::close(Term& t) {
  if (t.first_sets < 0) return;
  end_round(t);
  t.origin = t.first, t.sets = t.first_sets;
  t.first = Sym(0), t.first_sets = -1;
}

void Interpreter::settle(Term& t) {
  if (!t.has_part || t.first_sets >= 0) return;
  const auto [first, last] = columns_.range(t.sets);
  if (columns_[t.sets].empty() || first < 0) return;
  if (first != last) return settle_prefix(t);
  if (sets_[first].size() != 1) return;
  const auto [low, high] = sets_[first][0];
  // Rounds that leave nothing out between them are one interval.
  if (t.in_rounds() && !(t.rounds == Sym(1)) && high - low != t.stride) return;
  const Sym more = t.in_rounds() ? Sym(t.stride) * (t.rounds - Sym(1)) : Sym(0);
  t.has_part = false;
  t.sets = -1;
  t.rounds = Sym(0), t.stride = 0;
  const Sym o = t.origin;
  t.origin = Sym(0);
  add_interval(t, o + Sym(low), o + Sym(high) + more);
}

void Interpreter::settle_prefix(Term& t) {
  if (t.in_rounds()) return;
  Column last; // element of each slot's
  std::optional<int> begin;
  for (const int id : columns_[t.sets]) {
    if (sets_[id].size() != 1) return;
    const auto [low, high] = sets_[id][0];
    if (!begin) begin = low;
    if (low != *begin || low < 0) return;
    last.push_back(high - 1);
  }
  t.columns.push_back(columns_.intern(std::move(last)));
  const Sym o = t.origin, end = o + dollar(t.columns.size() - 1) + Sym(1);
  t.has_part = false;
  t.sets = -1;
  t.origin = Sym(0);
  add_interval(t, o + Sym(*begin), end);
}

void Interpreter::add_interval(Term& t, Sym low, Sym high) {
  if (const auto other = join_interval(t.intervals, low, high, idempotent(t.monoid)))
    refute("every element is summed once", describe(t),
           "[" + to_string(relate(low)) + ", " + to_string(relate(high)) +
               ") is not shown to be disjoint from [" + to_string(relate(other->first)) + ", " +
               to_string(relate(other->second)) + ")");
}

std::optional<std::pair<Sym, Sym>> Interpreter::join_interval(std::vector<std::pair<Sym, Sym>>& intervals,
                                                              Sym low, Sym high, bool may_overlap) {
  if (!may_overlap)
    for (const auto& interval : intervals)
      if (!less_equal(interval.second, low) && !less_equal(high, interval.first)) return interval;
  intervals.emplace_back(low, high);
  // Where the second begins at the end of the first, or inside of it: the end of both.
  const auto end_of_both = [&](const auto& first, const auto& second) -> std::optional<Sym> {
    if (first.second == second.first) return second.second;
    if (!may_overlap || !less_equal(first.first, second.first) || !less_equal(second.first, first.second))
      return std::nullopt;
    return less_equal(first.second, second.second)   ? std::optional(second.second)
           : less_equal(second.second, first.second) ? std::optional(first.second)
                                                     : std::nullopt;
  };
  for (bool merged = true; merged;) {
    merged = false;
    for (std::size_t i = 0; i < intervals.size() && !merged; ++i)
      for (std::size_t k = 0; k < intervals.size() && !merged; ++k)
        if (const auto end = i != k ? end_of_both(intervals[i], intervals[k]) : std::nullopt) {
          intervals[i].second = *end;
          intervals.erase(intervals.begin() + static_cast<std::ptrdiff_t>(k));
          merged = true;
        }
  }
  std::sort(intervals.begin(), intervals.end());
  return std::nullopt;
}

bool Interpreter::covers(const Term& t) {
  if (t.has_part) return false;
  if (t.intervals.size() == 1 && t.intervals[0] == std::pair(Sym(0), t.limit)) return true;
  std::vector<Sym> begins{Sym(0)}, ends{t.limit};
  for (const Sym& e : t.ends) ends.push_back(ranged(relate(e), t.columns));
  for (const Sym& b : t.begins) begins.push_back(ranged(relate(b), t.columns));
  return cover(t.intervals, begins, ends, t.monoid);
}

std::optional<Sym> Interpreter::reached(const std::vector<std::pair<Sym, Sym>>& intervals, Sym begin,
                                        Monoid monoid) {
  std::vector<std::pair<Sym, Sym>> all;
  for (const auto& [low, high] : intervals) all.emplace_back(relate(low), relate(high));
  Sym end = relate(begin);
  while (!all.empty()) {
    const auto next = std::find_if(all.begin(), all.end(), [&](const auto& x) {
      return x.first == end || (idempotent(monoid) && less_equal(x.first, end));
    });
    if (next == all.end()) return std::nullopt;
    end = next->second;
    all.erase(next);
  }
  return end;
}

bool Interpreter::cover(const std::vector<std::pair<Sym, Sym>>& intervals, const std::vector<Sym>& begins,
                        const std::vector<Sym>& ends, Monoid monoid) {
  // Where the body is empty before `begin`, an interval that starts there or before is the first that counts.
  std::vector<Sym> from{Sym(0)};
  for (const auto& [low, high] : intervals)
    if (std::any_of(begins.begin(), begins.end(), [&](Sym b) { return less_equal(low, b); }))
      from.push_back(low);
  return std::any_of(from.begin(), from.end(), [&](Sym first) {
    const auto end = reached(intervals, first, monoid);
    return end && std::any_of(ends.begin(), ends.end(), [&](Sym e) { return at_most(relate(e), *end); });
  });
}

bool Interpreter::at_most(Sym a, Sym b) {
  if (less_equal(a, b)) return true;
  for (const inlay::Term& term : b.terms())
    for (const Factor& f : term.factors())
      if (const auto two = least_of(context_.value(f.atom));
          two && context_.atom(f.atom).operands.size() == 2) {
        const std::pair<AtomId, Sym> first[] = {{f.atom, two->first}}, second[] = {{f.atom, two->second}};
        return at_most(a, substitute(b, first)) && at_most(a, substitute(b, second)); // it is one of them
      }
  return std::any_of(given_.begin(), given_.end(),
                     [&](const auto& x) {
                       const Sym least = relate(world(x.first)), other = relate(world(x.second));
                       // Of two ends of a part, too, which are that far from its begin.
                       return (less_equal(a, least) && less_equal(other, b)) ||
                              less_equal(a - least, b - other);
                     }) ||
         std::any_of(p_.uniforms().begin(), p_.uniforms().end(), [&](const Uniform& u) {
           return is_bound(code_, u) && less_equal(a, b - relate(world(u.symbol)));
         });
}

std::vector<Sym> Interpreter::ends_of(const ExprNode& fold) {
  std::vector<Sym> ends;
  const Expr body{&x_, fold.args[0]};
  (void)x_.rewrite(body, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::inside && n.index[0] == fold.sym &&
        outside(body, {}, {n.index[0], n.index[1], anything}) == empty_element(fold.monoid))
      ends.push_back(n.index[1]);
    return std::nullopt;
  });
  return ends;
}

std::optional<Sym> Interpreter::begin_of(Sym index, Sym bound, Sym summed) {
  const AtomId atom = *summed.as_atom();
  if (mentions(index, atom)) return std::nullopt;
  if (const Sym rest = bound - summed; !mentions(rest, atom)) return index - rest + Sym(1);
  // x < i/g + c from g (x - c + 1) on.
  for (const inlay::Term& t : bound.terms()) {
    const SymAtom& of = context_.atom(t.factors()[0].atom);
    const auto by = of.kind == AtomKind::floor_div ? of.operands[1].constant() : std::nullopt;
    if (!by || *by <= Int(0) || !(of.operands[0] == summed)) continue;
    if (const Sym rest = bound - floor_div(summed, Sym(*by)); !mentions(rest, atom))
      return Sym(*by) * (index - rest + Sym(1));
  }
  return std::nullopt;
}

std::vector<Sym> Interpreter::begins_of(const ExprNode& fold, bool of_finite) {
  std::vector<Sym> begins;
  const Expr body{&x_, fold.args[0]};
  const auto is_zero = [&](auto&& self, int id, const Fact& fact) -> bool {
    const ExprNode& n = x_.node(id);
    const auto zero = [&](int a) { return self(self, a, fact); };
    if (n.fn == Fn::constant) return n.value == 0;
    if (n.fn == Fn::inside)
      return n.value == 0 && (same_bound(n.index[0], n.index[1], fact) || zero(n.args[0]));
    if (n.fn == Fn::mul) return std::any_of(n.args.begin(), n.args.end(), zero);
    return n.fn == Fn::add && std::all_of(n.args.begin(), n.args.end(), zero);
  };
  const auto is_empty = [&](const Fact& fact) {
    return outside(body, {}, fact) == empty_element(fold.monoid) ||
           (of_finite && fold.monoid == Monoid::sum && is_zero(is_zero, body.id, fact));
  };
  (void)x_.rewrite(body, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::inside)
      if (const auto b = begin_of(n.index[0], n.index[1], fold.sym);
          b && is_empty({n.index[0], n.index[1], anything}))
        begins.push_back(*b);
    return std::nullopt;
  });
  return begins;
}

Expr Interpreter::resolve(Expr e, const std::vector<int>& columns, std::vector<Asked>* asked) {
  const Expr out = x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    // Where a loop has no trip, what it would have folded may all be empty.
    if (n.fn == Fn::fold && n.index.size() == 1 && !no_trips_.empty())
      for (const Sym& begin : begins_of(n, true))
        if (less_equal(world(n.index[0]), ranged(relate(world(begin)), columns)))
          return x_.constant(empty_element(n.monoid));
    if (n.fn != Fn::fold || n.index.size() < 3) return std::nullopt;
    std::vector<std::pair<Sym, Sym>> intervals;
    for (std::size_t k = 1; k + 1 < n.index.size(); k += 2)
      intervals.emplace_back(n.index[k], n.index[k + 1]);
    std::vector<Sym> ends{n.index[0]};
    for (const Sym& end : ends_of(n)) ends.push_back(ranged(relate(end), columns));
    std::vector<Sym> begins{Sym(0)};
    for (const Sym& begin : begins_of(n)) begins.push_back(ranged(relate(begin), columns));
    if (!cover(intervals, begins, ends, n.monoid)) return std::nullopt;
    ExprNode whole = n;
    whole.index.resize(1);
    return x_.make(std::move(whole));
  });
  return asked ? normal_of(out, *asked) : x_.normal(out);
}

bool Interpreter::one_body(Term& a, const Term& b, const std::vector<int>& columns) {
  if (a.expr == b.expr) return true;
  Expr x = resolve(a.expr, columns), y = resolve(b.expr, columns);
  // After a loop, what is known of its trips holds for all that follows.
  if (!(x == y) && exiting_) x = normal_of(relate(x)), y = x_.normal(relate(y));
  if (!(x == y) && !exiting_) x = with_branches(x), y = with_branches(y);
  if (!(x == y) && choices_.chooses(x)) {
    std::vector<Asked> asked;
    x = ordered(x, asked), y = ordered(y, asked);
    if (!asked.empty()) return false;
  }
  if (!(x == y)) return false;
  a.expr = x;
  return true;
}

bool Interpreter::in_branches() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const Running& r) { return r.around->nest.branches; });
}

Expr Interpreter::with_branches(Expr e) {
  if (!in_branches()) return e;
  const auto known = known_of_others();
  return known.empty() ? e : x_.normal(replaced_(e, known));
}

Sym Interpreter::with_branches(Sym s) { return in_branches() ? replaced_(s, known_of_others()) : s; }

bool Interpreter::one_body_inside(Term& a, Term& b, const std::vector<int>& columns) {
  for (const auto& [bare, masked] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const Expr with = with_branches(resolve(masked->expr, columns));
    const ExprNode n = with.node();
    if (bare->has_part || n.fn != Fn::inside ||
        !(Expr{&x_, n.args[0]} == with_branches(resolve(bare->expr, columns))))
      continue;
    // All of its elements lie from the mask's begin on, or before its end.
    if (const auto begin = begin_of(n.index[0], n.index[1], bound_)) {
      const Sym from = ranged(relate(*begin), columns);
      if (!std::all_of(bare->intervals.begin(), bare->intervals.end(), [&](const auto& interval) {
            return less_equal(from, ranged(relate(interval.first), columns));
          }))
        continue;
      bare->expr = with;
      if (n.value == empty_element(bare->monoid)) bare->begins.push_back(*begin);
      return true;
    }
    const Sym rest = n.index[0] - bound_, end = ranged(relate(n.index[1] - rest), columns);
    if (mentions(rest, *bound_.as_atom()) || mentions(n.index[1], *bound_.as_atom())) continue;
    if (!std::all_of(bare->intervals.begin(), bare->intervals.end(), [&](const auto& interval) {
          return less_equal(ranged(relate(interval.second), columns), end);
        }))
      continue;
    bare->expr = with;
    if (rest == Sym(0) && n.value == empty_element(bare->monoid)) bare->ends.push_back(n.index[1]);
    return true;
  }
  return false;
}

void Interpreter::goes_on_empty(Term& t, const Term& wanted) {
  if (!t.partial || !wanted.partial || t.has_part || wanted.has_part ||
      t.intervals.size() != wanted.intervals.size())
    return;
  for (std::size_t i = 0; i < t.intervals.size(); ++i) {
    Sym& end = t.intervals[i].second;
    const Sym further = wanted.intervals[i].second;
    if (!(t.intervals[i].first == wanted.intervals[i].first) || end == further || !less_equal(end, further))
      continue;
    if (std::any_of(t.ends.begin(), t.ends.end(),
                    [&](Sym e) { return less_equal(ranged(relate(e), t.columns), relate(end)); }))
      end = further;
  }
}

Term Interpreter::complete_term(Term t) {
  if (!t.partial) return t;
  close(t);
  settle(t);
  const bool whole = covers(t);
  const auto of_limit = [&]() -> std::string { // how far that goes on the path that is looked at
    const Interval here = interval(relate(t.limit));
    if (t.limit.is_constant() || !here.lower) return "";
    return ", where " + to_string(t.limit) + " is " + std::to_string(here.lower->value()) +
           (here.upper ? " to " + std::to_string(here.upper->value()) : " or more");
  };
  if (!whole && (t.has_part || !names_part_of(t.monoid)))
    refute("a " + std::string(to_string(t.monoid)) + " is over the whole extent before it is used",
           describe(t),
           "wanted [0, " + to_string(t.limit) + ")" + of_limit() +
               (t.has_part ? ", and each work-item has a part alone: k.fold(..) along the axis joins them"
                : far_branch_.empty()
                    ? "\n  hint   loops and folds before what takes it, which leave no element out"
                    : ""));
  if (whole)
    prove(
        "a " + std::string(to_string(t.monoid)) + " is over the whole extent, each element once",
        [&] { return to_string(t.limit); }, "provenance");
  Term out;
  out.columns = t.columns;
  out.facts = t.facts;
  std::erase_if(out.facts, [](const Fact& f) { return f.condition; });
  std::vector<Asked> asked;
  const Expr body = resolve(t.expr, t.columns, &asked);
  if (!asked.empty()) lost(body, asked.front());
  out.expr = x_.normal(whole ? x_.fold(t.monoid, bound_, t.limit, body)
                             : x_.partial_fold(t.monoid, bound_, t.limit, t.intervals, body));
  tidy(out);
  return out;
}

bool Interpreter::names_part_of(Monoid monoid) {
  bool found = false;
  for (const auto& spec : p_.specifications())
    (void)x_.rewrite(spec.value, [&](const ExprNode& n) -> std::optional<Expr> {
      found = found || (n.fn == Fn::fold && n.monoid == monoid && n.index.size() == 3);
      return std::nullopt;
    });
  return found;
}

std::optional<Sym> Interpreter::one_of_sum(Term& t) {
  ExprNode n = t.expr.node();
  if (n.fn != Fn::load || !n.through.empty()) return {};
  std::optional<std::size_t> axis;
  for (std::size_t a = 0; a < n.index.size(); ++a)
    if (summed_axes_.contains({n.tensor, a})) {
      if (axis) return {};
      axis = a;
    }
  if (!axis) return {};
  const Sym at = n.index[*axis], bound = world(p_.tensor(n.tensor).shape[*axis]);
  n.index[*axis] = bound_;
  t.expr = x_.make(std::move(n));
  for (Fact& f : t.facts)
    if (f.index == at && f.bound == bound) {
      f.index = bound_;
      break;
    }
  return at;
}

int Interpreter::folded_column(const Inst& i) {
  Column position;
  const Column thread = thread_coordinates(i.access.threads, 0);
  const std::size_t n = i.uses.size();
  for (const int th : thread)
    for (std::size_t e = 0; e < n; ++e) position.push_back(th + i.position[e][0]);
  return columns_.intern(std::move(position));
}

bool Interpreter::folds_nothing(Term& t, const Inst& i, int wanted) {
  const double empty = empty_element(i.monoid);
  if (t.partial || !(x_.normal(t.expr) == x_.constant(empty))) return false;
  const auto along = [&](const Fact& f) {
    for (std::size_t c = 0; c < t.columns.size(); ++c)
      if (t.columns[c] == wanted &&
          (mentions(f.index, *dollar(c).as_atom()) || mentions(f.bound, *dollar(c).as_atom())))
        return true;
    return false;
  };
  for (const Fact& f : t.facts)
    if (along(f) && f.fill != empty) return false;
  std::erase_if(t.facts, [&](const Fact& f) { return f.condition || along(f); });
  for (Fact& f : t.facts)
    if (f.fill != empty) f.fill = anything;
  t.expr = x_.constant(empty);
  tidy(t);
  return true;
}

namespace {
/// The axis along which the program folds there.
int axis_of_fold(const Program& program, const Inst& i) {
  int op = 0, axis = 0;
  each_op(program.body(), [&](const Op& of) {
    const auto* fold = std::get_if<FoldOp>(&of.what);
    if (op++ == i.op && fold) axis = fold->axis;
  });
  return axis;
}

/// Where the tile of a loop begins that is folded there, as the program says it, 64*t: what is loaded for it begins there.
std::optional<Sym> begin_in_trip(const Code& code, const Inst& fold) {
  for (const CodeRegion& r : code.regions) {
    std::set<int> of;
    for (const Inst& i : r.body)
      if (r.is_loop && i.op == fold.op)
        for (const Reg& u : i.uses) of.insert(u.id);
    for (std::size_t before = 0; before != of.size();) {
      before = of.size();
      for (const Inst& i : r.body)
        if (of.contains(i.def.id))
          for (const Reg& u : i.uses) of.insert(u.id);
    }
    for (const Inst& i : r.body)
      if (i.kind == InstKind::load && of.contains(i.def.id))
        for (const Sym& origin : i.access.origin) {
          const auto at = [&](int trips) {
            const std::pair<AtomId, Sym> other[] = {{*r.trip.as_atom(), r.trip + Sym(trips)}};
            return substitute(origin, other);
          };
          if (!(at(1) == origin)) return at(-i.ahead);
        }
  }
  return {};
}
} // namespace

void Interpreter::fold_values(State& s, const Inst& i) {
  Term t = assemble(s, i.uses);
  close(t);
  if (t.partial && !t.has_part) t = complete_term(std::move(t)); // a sum that each element has by itself
  const int n = static_cast<int>(i.uses.size());
  const auto threads = static_cast<std::size_t>(p_.threads());
  asks_nothing(t);
  if (is_of_i32(i.monoid) && !t.partial) t.expr = as_i32(t.expr);
  // The index that is folded: the columns that are the coordinate along the axis. None where parts of several waves are joined.
  const bool joins = i.position.size() != i.uses.size();
  if (i.lane_mask != 0 && (!joins || !std::has_single_bit(static_cast<unsigned>(i.lane_mask)) ||
                           (is_of_i32(i.monoid) && i.monoid != Monoid::wrapping_sum)))
    refute("parts of a fold are joined by its own monoid", describe(t),
           "those before number work-item / " + std::to_string(i.lane_mask));
  const int wanted = t.partial || joins ? -1 : folded_column(i);
  if (folds_nothing(t, i, wanted)) {
    // the empty element, however many there are
  } else if (!t.partial && joins) {
    refute("parts of a fold are joined by its own monoid", describe(t), "it is no part of one");
  } else if (!t.partial) {
    std::vector<std::size_t> folded;
    for (std::size_t c = 0; c < t.columns.size(); ++c)
      if (t.columns[c] == wanted) folded.push_back(c);
    std::optional<Sym> origin;
    for (const std::size_t c : folded)
      if (!origin) origin = origin_of(t.expr, c);
    // The number of an entry of a table is no coordinate where the table has several axes: what ends is the coordinate along one.
    const auto ends_at = [&](const Fact& f, Sym begin) {
      return !f.condition && std::any_of(folded.begin(), folded.end(),
                                         [&](std::size_t c) { return f.index == begin + dollar(c); });
    };
    if (origin &&
        std::none_of(t.facts.begin(), t.facts.end(), [&](const Fact& f) { return ends_at(f, *origin); }))
      for (const Fact& f : t.facts)
        for (const std::size_t c : folded)
          if (const Sym begin = f.index - dollar(c);
              ends_at(f, begin) && !mentions(begin, *dollar(c).as_atom()))
            origin = begin;
    std::vector<std::pair<AtomId, Sym>> replace;
    if (const auto one = origin ? std::nullopt : one_of_sum(t); one && n == 1) origin = *one;
    // Along an axis of one coordinate that is no index of the operand: the fold of an element is that element. Whoever joins it with others
    // asks for a part of a fold, which it is not.
    if (const Column& at = columns_[wanted];
        !origin && n == 1 && !at.empty() && std::all_of(at.begin(), at.end(), [](int c) { return c == 0; })) {
      s.regs[key(i.def)] = {std::move(t), false};
      return;
    }
    if (!origin)
      refute("a fold is along an index of its operand", describe(t),
             x_.normal(t.expr).node().fn == Fn::constant
                 ? "all of its elements are that number, which is no " + std::string(to_string(i.monoid)) +
                       " of none\n  hint   " + to_string(x_.constant(empty_element(i.monoid)), {}) +
                       " in its place, where a mask leaves elements out"
                 : "no index is the coordinate along the axis");
    std::vector<int> rest;
    for (std::size_t c = 0; c < t.columns.size(); ++c) {
      if (std::find(folded.begin(), folded.end(), c) != folded.end()) {
        replace.emplace_back(*dollar(c).as_atom(), bound_ - *origin);
      } else {
        replace.emplace_back(*dollar(c).as_atom(), dollar(rest.size()));
        rest.push_back(t.columns[c]);
      }
    }
    const Column& column = columns_[wanted];
    Column sets(threads);
    for (std::size_t th = 0; th < threads; ++th) {
      bool twice = false;
      sets[th] = sets_.of({column.begin() + static_cast<std::ptrdiff_t>(th) * n,
                           column.begin() + static_cast<std::ptrdiff_t>(th + 1) * n},
                          twice);
      if (twice && !idempotent(i.monoid))
        refute("every element is summed once", describe(t),
               "work-item " + std::to_string(th) + " adds one twice");
    }
    const int high = *std::max_element(column.begin(), column.end());
    replace_in(t, replace);
    t.columns = std::move(rest);
    t.partial = true;
    t.monoid = i.monoid;
    t.has_part = true;
    t.origin = *origin;
    t.sets = columns_.intern(std::move(sets));
    bool limited = false;
    std::vector<Fact> facts;
    for (const Fact& f : t.facts) {
      if (!(f.index == bound_)) {
        // Of what lies outside along another axis there may be many elements, or none.
        if (!f.condition)
          facts.push_back({f.index, f.bound, f.fill == empty_element(i.monoid) ? f.fill : anything});
        if (const auto b = begin_of(f.index, f.bound, bound_);
            b && f.condition && f.fill == empty_element(i.monoid))
          t.begins.push_back(*b);
        continue;
      }
      if (f.condition) {
        if (f.fill == empty_element(i.monoid)) t.ends.push_back(f.bound);
        continue;
      }
      if (limited && !(f.bound == t.limit)) refute("a fold has one extent", describe(t), to_string(f.bound));
      t.limit = f.bound;
      limited = true;
      if (f.fill != empty_element(i.monoid) && !less_equal(*origin + Sym(high + 1), f.bound))
        refute("what lies outside of a " + std::string(to_string(i.monoid)) + " is its empty element",
               describe(t),
               (std::isnan(f.fill)
                    ? "it is not known what lies outside, and elements from "
                    : "it is " + to_string(x_.constant(f.fill), name_of_tensor()) + ", and elements from ") +
                   to_string(f.bound) + " on take part\n  hint   " +
                   (is_of_i32(i.monoid)
                        ? "choose(less_signed(k.number(place), k.number(" + to_string(f.bound) +
                              ")), integer(x), " + to_string(x_.constant(empty_element(i.monoid)), {}) +
                              ") in the map before it, of an extent with a `most` that i32 has with its "
                              "last tile"
                        : "k.fill(x, " + std::to_string(axis_of_fold(p_, i)) + ", " +
                              to_string(begin_in_trip(code_, i).value_or(*origin)) + ", " +
                              to_string(f.bound) + ", " +
                              (!idempotent(i.monoid)     ? "0"
                               : i.monoid == Monoid::max ? "-INFINITY"
                                                         : "INFINITY") +
                              ") before the fold, or inside(index, " + to_string(f.bound) +
                              ", .., that) in the map before it"));
    }
    if (!limited) refute("a fold has an extent", describe(t), "nothing says where the index ends");
    t.facts = std::move(facts);
    prove(
        "what lies outside of a " + std::string(to_string(i.monoid)) + " is its empty element",
        [&] { return to_string(t.limit); }, "provenance");
  } else {
    if (t.monoid != i.monoid)
      refute("parts of a fold are joined by its own monoid", describe(t), to_string(i.monoid));
    const Column& sets = columns_[t.sets];
    Column out(threads);
    bool none = false;
    for (std::size_t th = 0; th < threads; ++th) {
      const int taken = i.lane_mask > 0 ? std::min(n, static_cast<int>(th) / i.lane_mask) : n;
      out[th] = taken > 0 ? sets[th * static_cast<std::size_t>(n)] : sets_.of({}, none);
      for (int e = 1; e < taken; ++e) {
        bool twice = false;
        out[th] =
            sets_.unite(out[th], sets[th * static_cast<std::size_t>(n) + static_cast<std::size_t>(e)], twice);
        if (twice && !idempotent(i.monoid))
          refute("every element is summed once", describe(t),
                 "work-item " + std::to_string(th) +
                     " adds a part twice\n  hint   a layout in which each element along the axis is one "
                     "work-item's, or a "
                     "number of waves that is a power of two");
      }
    }
    t.sets = columns_.intern(std::move(out));
  }
  // What is joined is of one result.
  for (int& c : t.columns) {
    const Column& column = columns_[c];
    Column out(threads);
    for (std::size_t th = 0; th < threads; ++th) {
      out[th] = column[th * static_cast<std::size_t>(n)];
      for (int e = 1; e < n; ++e)
        if (column[th * static_cast<std::size_t>(n) + static_cast<std::size_t>(e)] != out[th])
          refute("what a fold joins belongs to one result", describe(t),
                 "work-item " + std::to_string(th) + " joins " + std::to_string(out[th]) + " and " +
                     std::to_string(column[th * static_cast<std::size_t>(n) + static_cast<std::size_t>(e)]));
    }
    c = columns_.intern(std::move(out));
  }
  s.regs[key(i.def)] = {std::move(t), false};
}

void Interpreter::fold_lanes(State& s, const Inst& i) {
  Term t = part(value(s, i.uses.back()), i.uses.back());
  close(t);
  const bool empty = !t.partial && t.expr == x_.constant(empty_element(i.monoid));
  if (!empty && (!t.partial || t.monoid != i.monoid || !t.has_part))
    refute("parts of a fold are joined by its own monoid", describe(t), to_string(i.monoid));
  const auto other = [&](int column) {
    const Column& c = columns_[column];
    Column out(c.size());
    for (std::size_t th = 0; th < c.size(); ++th) out[th] = c[th ^ static_cast<std::size_t>(i.lane_mask)];
    return columns_.intern(std::move(out));
  };
  for (const int c : t.columns)
    if (other(c) != c)
      refute("what a fold joins belongs to one result", describe(t),
             "lanes that differ by " + std::to_string(i.lane_mask) + " hold different rows");
  if (i.uses.size() == 2) {
    // What lies below: in lanes whose bit is set, also what the other one has.
    Term own = part(value(s, i.uses[0]), i.uses[0]);
    close(own);
    const bool nothing =
        !own.partial && own.facts.empty() && own.expr == x_.constant(empty_element(i.monoid));
    if (empty) {
      if (!nothing) refute("parts of a fold are of one fold", describe(own), describe(t));
    } else {
      if (!nothing) {
        Term like = own;
        like.sets = t.sets;
        if (!own.partial || !own.has_part || own.columns != t.columns || !equal(like, t))
          refute("parts of a fold are of one fold", describe(own), describe(t));
      }
      bool none = false;
      const int empty_set = sets_.of({}, none);
      Column taken = columns_[other(t.sets)];
      for (std::size_t th = 0; th < taken.size(); ++th)
        if ((th & static_cast<std::size_t>(i.lane_mask)) == 0) taken[th] = empty_set;
      const int of_other = columns_.intern(taken);
      t.sets = nothing ? of_other : unite(own.sets, of_other, t.monoid);
    }
  } else if (i.uses.size() != 1) {
    refute("parts of a fold are joined by its own monoid", describe(t),
           "of " + std::to_string(i.uses.size()) + " operands");
  } else if (!empty) {
    t.sets = unite(t.sets, other(t.sets), t.monoid);
  }
  s.regs[key(i.def)] = {std::move(t), false};
}

void Interpreter::top(State& s, const Inst& i) {
  const std::string claim = "the greatest elements are those of whole rows, each element once";
  const std::size_t n = i.position.size(), axes = i.access.extents.size();
  const bool beside = i.uses.size() > n;
  if ((i.uses.size() != n && i.uses.size() != 2 * n) || (i.beside && !beside))
    refute(claim, "a list", std::to_string(i.uses.size()) + " elements at " + std::to_string(n) + " places");
  if (!i.places && (i.place || i.beside)) refute(claim, "a list", "it has no places, and one is asked for");
  const auto term_of = [&](std::size_t first) {
    Term out = assemble(s, std::span(i.uses).subspan(first, n));
    close(out);
    if (out.partial) out = complete_term(std::move(out));
    asks_nothing(out);
    return out;
  };
  Term t = term_of(0), other;
  if (beside) {
    other = term_of(n);
    std::vector<int> columns;
    for (Term* of : {&t, &other}) rename(*of, columns);
    t.columns = other.columns = columns;
  }
  const auto threads = static_cast<std::size_t>(p_.threads());
  const auto mask = static_cast<std::size_t>(i.lane_mask);
  // Where each element stands along the axes, and as one number.
  std::vector<Column> along(axes);
  Column places(threads * n, 0);
  int all = 1;
  for (std::size_t a = 0; a < axes; ++a) {
    const Column thread = thread_coordinates(i.access.threads, a);
    for (std::size_t th = 0; th < threads; ++th)
      for (std::size_t e = 0; e < n; ++e) along[a].push_back(thread[th] + i.position[e][a]);
    for (std::size_t slot = 0; slot < places.size(); ++slot) {
      if (along[a][slot] < 0 || along[a][slot] >= i.access.extents[a])
        refute(claim, describe(t), "a place is " + std::to_string(along[a][slot]));
      places[slot] = i.access.extents[a] * places[slot] + along[a][slot];
    }
    all *= i.access.extents[a];
  }
  for (std::size_t th = 0; th < threads; ++th) {
    if ((th & mask) != 0) continue;
    std::vector<bool> seen(static_cast<std::size_t>(all), false);
    std::size_t count = 0;
    for (std::size_t lane = 0; lane <= mask; ++lane)
      for (std::size_t e = 0; e < n && (lane & ~mask) == 0; ++e, ++count) {
        const auto place = static_cast<std::size_t>(places[(th | lane) * n + e]);
        if (seen[place])
          refute(claim, describe(t),
                 "work-item " + std::to_string(th) + " has place " + std::to_string(place) + " twice");
        seen[place] = true;
      }
    if (count != seen.size())
      refute(claim, describe(t),
             "work-item " + std::to_string(th) + " has " + std::to_string(count) + " of " +
                 std::to_string(all));
  }
  // The columns of the axes become indices; the others say which row it is, of which all lanes that join are.
  std::vector<std::pair<Sym, Sym>> over;
  std::vector<std::pair<AtomId, Sym>> replace;
  std::vector<int> rest;
  for (std::size_t a = 0; a < axes; ++a)
    over.emplace_back(a == 0 ? bound_
                             : symbol_of(context_, SymbolKind::fold_along, {a}, "", {Int(0), std::nullopt}),
                      Sym(0));
  for (std::size_t c = 0; c < t.columns.size(); ++c) {
    std::size_t a = 0;
    while (a < axes && (i.access.extents[a] == 1 || columns_[t.columns[c]] != along[a])) ++a;
    replace.emplace_back(*dollar(c).as_atom(), a < axes ? over[a].first : dollar(rest.size()));
    if (a < axes) continue;
    const Column& column = columns_[t.columns[c]];
    Column row;
    for (std::size_t th = 0; th < threads; ++th) {
      row.push_back(column[th * n]);
      for (std::size_t e = 0; e < n; ++e)
        if (column[th * n + e] != column[(th & ~mask) * n])
          refute("what a fold joins belongs to one result", describe(t),
                 "work-item " + std::to_string(th) + " joins " + std::to_string(column[(th & ~mask) * n]) +
                     " and " + std::to_string(column[th * n + e]));
    }
    rest.push_back(columns_.intern(std::move(row)));
  }
  if (beside) replace_in(other, replace);
  replace_in(t, replace);
  t.columns = std::move(rest);
  std::vector<Fact> facts;
  std::vector<bool> limited(axes, false);
  for (const Fact& f : t.facts) {
    std::size_t a = 0;
    while (a < axes && !(f.index == over[a].first)) ++a;
    for (const auto& [index, limit] : over)
      if (mentions(f.bound, *index.as_atom()) || (a == axes && mentions(f.index, *index.as_atom())))
        refute(claim, describe(t),
               "what lies outside begins at " + to_string(f.index) + " = " + to_string(f.bound));
    if (a == axes) {
      if (!f.condition) facts.push_back({f.index, f.bound, f.fill == -INFINITY ? f.fill : anything});
      continue;
    }
    if (f.condition) continue;
    const Sym extent(i.access.extents[a]);
    if (limited[a] && !(f.bound == over[a].second))
      refute("a fold has one extent", describe(t), to_string(f.bound));
    limited[a] = true, over[a].second = f.bound;
    if (!less_equal(f.bound, extent))
      refute(claim, describe(t),
             "along axis " + std::to_string(a) + " there are " + to_string(f.bound) + ", and it has " +
                 to_string(extent));
    // What lies outside is less than all, or stands after what is as little.
    if (!less_equal(extent, f.bound) && (a > 0 || f.fill != -INFINITY))
      refute("what lies outside of a top is minus infinity", describe(t),
             "elements from " + to_string(f.bound) + " on take part\n  hint   k.fill(x, axis, 0, " +
                 to_string(f.bound) + ", -INFINITY) before it, along its first axis");
  }
  // What stands beside an element that is there is there, too.
  for (const Fact& f : other.facts) {
    std::size_t a = 0;
    while (a < axes && !(f.index == over[a].first)) ++a;
    for (const auto& [index, limit] : over)
      if (mentions(f.bound, *index.as_atom()) || (a == axes && mentions(f.index, *index.as_atom())))
        refute(claim, describe(other), "what stands beside them ends at " + to_string(f.bound));
    if (a == axes)
      facts.push_back({f.index, f.bound, anything});
    else if (!f.condition && !(limited[a] && f.bound == over[a].second))
      refute(claim, describe(other), "what stands beside them ends at " + to_string(f.bound));
  }
  Sym count(1);
  for (std::size_t a = 0; a < axes; ++a) {
    if (i.access.extents[a] == 1)
      over[a].second = Sym(1);
    else if (!limited[a])
      refute("a fold has an extent", describe(t), "nothing says where index " + std::to_string(a) + " ends");
    count = count * over[a].second;
  }
  if (i.rank < 0 || i.rank >= i.top || !less_equal(Sym(i.top), count))
    refute(claim, describe(t), "it is number " + std::to_string(i.rank) + " of " + to_string(count));
  prove(
      claim, [&] { return to_string(count); }, "provenance");
  Term out;
  out.columns = t.columns;
  out.facts = std::move(facts);
  std::vector<Asked> asked;
  const Expr body = resolve(t.expr, t.columns, &asked);
  if (!asked.empty()) lost(body, asked.front());
  const TopOf best = x_.top(i.rank + 1, over, body);
  Expr found = (i.place || i.beside ? best.place : best.value).back();
  if (i.beside) {
    const Expr there = resolve(other.expr, t.columns, &asked);
    if (!asked.empty()) lost(there, asked.front());
    found = x_.at_place(found, over, there);
  }
  out.expr = x_.normal(found);
  tidy(out);
  s.regs[key(i.def)] = {std::move(out), false};
}

} // namespace inlay::codegen::provenance
