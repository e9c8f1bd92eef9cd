#include "questions/engine.h"

#include "certificates/certificate_text.h"

#include <inlay/algebra/layout.h>

#include <algorithm>

namespace inlay::solver {
namespace {

// A sorted table of (value, index) takes 32 bytes an index.
constexpr std::uint64_t greatest_limit = std::uint64_t{1} << 26;

// Symbols that only conditions mention are none of the question's; Context refuses conditions about nothing in it.
std::set<std::string> names_in_question(const std::vector<const Parts*>& subjects,
                                        const std::vector<FormulaRef>& terms) {
  std::set<std::string> out;
  for (const Parts* p : subjects) out.merge(p->symbols());
  for (const FormulaRef& t : terms) out.merge(names_of(t));
  return out;
}

std::set<std::string> names_written(const std::vector<const Parts*>& subjects) {
  std::set<std::string> out;
  for (const Parts* p : subjects) out.insert(p->written.begin(), p->written.end());
  return out;
}

std::vector<FormulaRef> parse_all(const std::vector<std::string>& texts) {
  std::vector<FormulaRef> out;
  for (const std::string& t : texts) out.push_back(parse_formula(t));
  return out;
}

/// The words of a condition that are no calls: its symbols.
std::set<std::string> names_in_text(const std::string& text) {
  std::set<std::string> out;
  const auto letter = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  for (std::size_t i = 0, end = 0; i < text.size(); i = end) {
    for (end = i + 1; letter(i) && letter(end);) ++end;
    if (letter(i) && std::isdigit(static_cast<unsigned char>(text[i])) == 0 &&
        (end == text.size() || text[end] != '('))
      out.insert(text.substr(i, end - i));
  }
  return out;
}

/// Notes of symbols that are in one condition and nowhere else, where they limit nothing but themselves: mostly misspellings. What an
/// equation names is a definition.
std::vector<std::string> strangers(const Facts& facts, const std::set<std::string>& asked) {
  std::map<std::string, std::size_t> conditions;
  std::set<std::string> defined;
  for (std::string fact : facts)
    for (bool more = true; more;) { // of "a && b" each
      const std::size_t end = fact.find("&&");
      const std::string one = fact.substr(0, end);
      for (const std::string& name : names_in_text(one)) {
        ++conditions[name];
        if (one.find("==") != std::string::npos) defined.insert(name);
      }
      more = end != std::string::npos;
      fact.erase(0, more ? end + 2 : end);
    }
  std::vector<std::string> out;
  for (const auto& [name, count] : conditions)
    if (count == 1 && !asked.contains(name) && !defined.contains(name))
      out.push_back("the symbol " + name + " occurs in one condition, and nowhere in what is asked");
  return out;
}

std::vector<const Parts*> parts_of(const std::vector<const Subject*>& subjects) {
  std::vector<const Parts*> out;
  for (const Subject* s : subjects) out.push_back(&s->parts());
  return out;
}

// A subject that was made from a symbolic layout brings what its context knows; the certificate has to state it like the
// user's own conditions, since the checker has no such context.
Facts joined(const std::vector<const Subject*>& subjects, Facts facts) {
  for (const Subject* s : subjects) facts.insert(facts.end(), s->facts().begin(), s->facts().end());
  return facts;
}

// Witnesses hold 64 bits, as JSON readers do; what is beyond is in their text.
std::optional<std::int64_t> narrow(Wide v) {
  if (v < INT64_MIN || v > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(v);
}

FormulaRef leaf_formula(const Leaf& leaf) { return leaf.formula ? leaf.formula : integer(leaf.value); }

bool is_integer(const FormulaRef& f, Wide value) { return f->op == Op::integer && f->value == value; }
// Without these the formulas of large layouts are mostly 1 * x and x + 0, and a solver's time goes into removing them.
FormulaRef times(const FormulaRef& a, const FormulaRef& b) {
  if (is_integer(a, 1)) return b;
  if (is_integer(b, 1)) return a;
  if (is_integer(a, 0) || is_integer(b, 0)) return integer(0);
  return make(Op::mul, {a, b});
}
FormulaRef plus(const FormulaRef& a, const FormulaRef& b) {
  if (is_integer(a, 0)) return b;
  if (is_integer(b, 0)) return a;
  return make(Op::add, {a, b});
}

// The layout as a formula of its index, for queries: quotients by products of extents, which a solver takes apart more easily
// than quotients of quotients.
FormulaRef apply_modes(const std::vector<std::vector<FlatMode>>& modes, const FormulaRef& x) {
  std::vector<const FlatMode*> flat;
  for (const auto& top : modes)
    for (const FlatMode& m : top) flat.push_back(&m);
  FormulaRef sum = integer(0), before = integer(1);
  for (std::size_t k = 0; k < flat.size(); ++k) {
    FormulaRef digit = is_integer(before, 1) ? x : make(Op::div, {x, before});
    FormulaRef extent = leaf_formula(flat[k]->extent);
    // The last digit is not reduced: what is applied to another function's values runs on along it.
    if (k + 1 != flat.size()) digit = make(Op::mod, {digit, extent});
    sum = plus(sum, times(digit, leaf_formula(flat[k]->stride)));
    before = times(before, extent);
  }
  return sum;
}

FormulaRef apply_steps(const Parts& f, FormulaRef x) {
  for (std::size_t k = f.outer.size(); k-- > 0;) {
    const Step& s = f.outer[k];
    if (s.kind == Step::Kind::offset) x = plus(x, leaf_formula(s.offset));
    if (s.kind == Step::Kind::layout) x = apply_modes(s.modes, x);
    if (s.kind == Step::Kind::swizzle) {
      // As the definition has it (subject.cpp), with operators that the other layers read: they have no
      // operator for a swizzle.
      Wide mask = ((Wide{1} << s.bits) - 1) << (s.base + std::max(s.shift, 0));
      FormulaRef field = make(Op::bit_and, {x, integer(mask)});
      x = make(Op::bit_xor, {x, make(s.shift >= 0 ? Op::shr : Op::shl, {field, integer(std::abs(s.shift))})});
    }
  }
  return x;
}

} // namespace

// Of the top-level modes: they are the coordinates that a formula names and that by-mode equality compares.
std::vector<FormulaRef> extent_formulas(const Parts& f) {
  std::vector<FormulaRef> out;
  for (const Coordinate& c : f.domain) out.push_back(c.extent);
  for (const auto& top : f.modes) {
    FormulaRef e = integer(1);
    for (const FlatMode& m : top) e = times(e, leaf_formula(m.extent));
    out.push_back(e);
  }
  return out;
}

FormulaRef size_formula(const Parts& f) {
  FormulaRef n = integer(1);
  for (const FormulaRef& e : extent_formulas(f)) n = times(n, e);
  return n;
}

FormulaRef expand(const Parts& f, const std::vector<FormulaRef>& coordinates) {
  FormulaRef x;
  if (f.value) {
    x = f.value;
    // Two passes, so that a coordinate's new name cannot be caught by a later replacement.
    for (const Coordinate& c : f.domain) x = replace(x, c.name, variable("\x01" + c.name));
    for (std::size_t k = 0; k < f.domain.size(); ++k)
      x = replace(x, "\x01" + f.domain[k].name, coordinates[k]);
  } else {
    x = integer(0);
    for (std::size_t k = 0; k < f.modes.size(); ++k) x = plus(x, apply_modes({f.modes[k]}, coordinates[k]));
  }
  return apply_steps(f, x);
}

FormulaRef expand_index(const Parts& f, const FormulaRef& index) {
  if (!f.value) return apply_steps(f, apply_modes(f.modes, index));
  std::vector<FormulaRef> coordinates;
  FormulaRef before = integer(1);
  for (std::size_t k = 0; k < f.domain.size(); ++k) {
    FormulaRef c = is_integer(before, 1) ? index : make(Op::div, {index, before});
    if (k + 1 != f.domain.size()) c = make(Op::mod, {c, f.domain[k].extent});
    coordinates.push_back(c);
    before = times(before, f.domain[k].extent);
  }
  return expand(f, coordinates);
}

// The context is made first, from the conditions: everything after it may assume them.
Engine::Engine(std::string property, std::vector<const Subject*> subjects, std::vector<std::string> terms,
               const Facts& facts, const Options& o)
    : context(names_in_question(parts_of(subjects), parse_all(terms)), joined(subjects, facts),
              names_written(parts_of(subjects))),
      options(o), property_(std::move(property)), subjects_(parts_of(subjects)), terms_(parse_all(terms)),
      term_texts_(std::move(terms)), facts_(joined(subjects, facts)) {
  if (options.enumeration_limit > greatest_limit)
    throw QuestionError("the enumeration limit " + std::to_string(options.enumeration_limit) +
                        " is more than " + std::to_string(greatest_limit) +
                        " indices\n  hint   a table of so many values takes 2 GiB of memory");
  notes = strangers(facts_, names_in_question(subjects_, terms_));
  require_extents();
}

// An extent that may be 0 makes the domain empty and every statement about it true: a question, not a proof. What small
// values do not show to be 0 is still no proof until the extent is known to be positive (proved()).
void Engine::require_extents() {
  auto look = [&](const Parts& p, const FormulaRef& extent) {
    if (extent->op == Op::integer) return; // the parser has seen to it
    auto value = context.poly(extent);
    if (!value || !context.positive(*value)) doubtful_.emplace_back(extent, p.text);
  };
  for (const Parts* p : subjects_) {
    for (const Coordinate& c : p->domain) look(*p, c.extent);
    for (const auto& top : p->modes)
      for (const FlatMode& m : top) look(*p, leaf_formula(m.extent));
    for (const Step& s : p->outer)
      for (const auto& top : s.modes)
        for (const FlatMode& m : top) look(*p, leaf_formula(m.extent));
  }
  // Most doubts are ceil_div(M, T) and the like, which have no polynomial but are positive by their form.
  std::erase_if(doubtful_, [&](const auto& d) { return surely_positive(d.first); });
  if (doubtful_.empty()) return;
  // A domain that is empty for small values is worth an error with these values, before a proof is tried that
  // could not stand.
  context.search(context.finite(4096) ? 4096 : 400, [&](const std::vector<Wide>& values) {
    auto env = context.environment(values);
    for (const auto& [extent, text] : doubtful_) {
      Wide n = evaluate(extent, [&](const std::string& name) { return env.at(name); });
      if (n >= 1) continue;
      std::string at;
      for (const auto& [name, v] : env) at += (at.empty() ? "" : ", ") + name + " = " + to_string(v);
      throw QuestionError("an extent is not positive: " + to_string(extent) + " is " + to_string(n) +
                          " with " + at + "\n  in     " + text +
                          "\n  hint   say with --where what keeps it positive");
    }
    return false;
  });
}

// min, max and quotients in extents and strides as symbols with bounds of their own. A second attempt at the whole question, because it forgets
// which of the two the value is: a proof holds for either, a counterexample need not be one.
bool Engine::name_choices() {
  auto look = [&](const FormulaRef& f) { choices_ |= f && context.choose(f); };
  auto modes = [&](const std::vector<std::vector<FlatMode>>& groups) {
    for (const auto& top : groups)
      for (const FlatMode& m : top) look(m.extent.formula), look(m.stride.formula);
  };
  for (const Parts* p : subjects_) {
    for (const Coordinate& c : p->domain) look(c.extent);
    modes(p->modes);
    for (const Step& s : p->outer) modes(s.modes), look(s.offset.formula);
  }
  for (const FormulaRef& t : terms_) look(t);
  return choices_;
}

// By structure alone, as this is asked of every extent of every question; positive() asks a solver in the end.
bool Engine::surely_positive(const FormulaRef& f) const {
  if (auto p = context.poly(f)) return context.positive(*p);
  auto side = [&](std::size_t k) { return surely_positive(f->args[k]); };
  switch (f->op) {
  case Op::add:
  case Op::mul:
  case Op::min: return side(0) && side(1);
  case Op::max: return side(0) || side(1);
  // Whichever side is taken; the condition need not be understood.
  case Op::select: return side(1) && side(2);
  case Op::div: { // a / b >= 1 where a >= b > 0: ceil_div(M, T) = (M + T - 1) / T
    auto a = context.poly(f->args[0]), b = context.poly(f->args[1]);
    return a && b && context.positive(*b) && context.nonnegative(*a - *b);
  }
  default: return false;
  }
}

// unsat: no value within the conditions makes it 0 or less. Divisors that may not be positive have joined the goals (Query::division).
bool Engine::positive(const FormulaRef& f) {
  if (surely_positive(f)) return true;
  smt::Query q(context);
  auto t = q.term(f, {});
  if (!t) return false;
  // The query has the residual conditions, which polynomials do not know.
  q.goal("(<= " + *t + " 0)");
  return solve(q, std::min<std::uint64_t>(options.solver_steps, 1'000'000)).answer == smt::Answer::unsat;
}

// What would have helped, for the user. Several layers miss the same fact; it is said once.
void Engine::obligation(std::string what) {
  std::replace(what.begin(), what.end(), '\x02', 'x'); // a coordinate that has no name of its own
  if (!what.empty() && std::find(obligations_.begin(), obligations_.end(), what) == obligations_.end())
    obligations_.push_back(what);
}

std::optional<std::vector<Poly>> Engine::extents(const Parts& f) {
  std::vector<Poly> out;
  for (const FormulaRef& e : extent_formulas(f)) {
    auto p = context.poly(e);
    if (!p) return std::nullopt;
    out.push_back(*p);
  }
  return out;
}

std::optional<Poly> Engine::size(const Parts& f) {
  auto e = extents(f);
  if (!e) return std::nullopt;
  Poly n(1);
  for (const Poly& p : *e) n = n * p;
  return n;
}

// First without rotations: where those are not needed their side conditions only get in the way.
std::optional<Engine::Own> Engine::lower_image(const Parts& f) {
  if (auto own = lower_alone(f)) return own;
  for (bool of_last : {false, true}) {
    auto own = lower_alone(f, [&](Lowering& l) { l.allow_rotations(of_last); });
    if (own && own->lowering.rotations_hold(own->form)) {
      claims.note("a rotation (x + s) % d of a digit x in [0, d) takes every value of [0, d) once: a digit "
                  "in its place");
      return own;
    }
  }
  return std::nullopt;
}

// Every mode gets a root digit and every coordinate is the colexicographic sum of its modes' digits: as the definition of evaluation
// has it, so that there is nothing to prove about the start.
std::optional<Engine::Own> Engine::lower_alone(const Parts& f,
                                               const std::function<void(Lowering&)>& configure) {
  Own own{Lowering(context), {}};
  configure(own.lowering);
  std::vector<Form> coordinates;
  if (f.value) {
    auto e = extents(f);
    if (!e) {
      obligation("polynomial extents of " + f.text);
      return std::nullopt;
    }
    for (const Poly& p : *e) coordinates.push_back(own.lowering.digit(own.lowering.root(p)));
  } else {
    for (const auto& top : f.modes) {
      Form c;
      Poly before(1);
      for (const FlatMode& m : top) {
        auto e = context.poly(leaf_formula(m.extent));
        if (!e) {
          obligation("a polynomial extent instead of " + to_string(leaf_formula(m.extent)));
          return std::nullopt;
        }
        c = c + Lowering::scale(own.lowering.digit(own.lowering.root(*e)), before);
        before = before * *e;
      }
      coordinates.push_back(c);
    }
  }
  auto form = own.lowering.lower(f, coordinates);
  if (!form) {
    obligation(own.lowering.reason());
    return std::nullopt;
  }
  // In the digits as they are in the end: parts that were lowered early still name digits that were split
  // later.
  own.form = own.lowering.normal(*form);
  return own;
}

// The one budget of looking, in evaluations, so that a verdict does not depend on the machine.
Wide Engine::evaluations() const {
  auto limit = static_cast<Wide>(options.enumeration_limit);
  if (concrete()) return limit;
  // Where every instance is decided they are a proof. Elsewhere they only look for counterexamples, which are small or
  // found by a sample: hundreds of instances in full would be most of the time of a proof that comes after.
  return std::min<Wide>(limit, context.finite(4096) ? 1 << 16 : 1 << 12);
}

// Polynomial bounds first, as they take no solver. What is claimed goes into the certificate either way, and the checker
// shows it by one.
bool Engine::at_least(const Poly& left, const Poly& right, const std::string& why) {
  // A number that is negative is so for every value: no solver has to say it.
  bool yes = context.nonnegative(left - right);
  if (!yes && !(left - right).constant() && !context.negative_at_corner(left - right)) {
    smt::Query q(context);
    q.goal("(< " + q.term(left - right) + " 0)");
    yes = solve(q, std::min<std::uint64_t>(options.solver_steps, 1'000'000)).answer == smt::Answer::unsat;
  }
  if (yes) claims.at_least(left, right, why);
  return yes;
}

std::string Engine::conditions_text() const {
  std::string where;
  for (const std::string& f : facts_) where += (where.empty() ? "" : " && ") + f;
  return where;
}

// Conditions that no substitution expresses may contradict each other, and then everything would be proved.
// The example goes into the certificate: with it the checker sees for itself that the conditions are not empty.
std::optional<naive::Environment> Engine::example() {
  // Without conditions every symbol may be 1: there is nothing to contradict.
  if (example_ || facts_.empty()) return example_;
  // The search begins at small values, where conditions that people write are mostly satisfied; the solver is for those that only large or
  // related values satisfy.
  constexpr std::size_t enough = 4096;
  context.search(enough, [&](const std::vector<Wide>& values) {
    example_ = context.environment(values);
    return true;
  });
  if (example_) return example_;
  bool all_tried = context.finite(enough);
  smt::Result r;
  bool as_read = true; // no divisor of the conditions is 0 or less, where SMT-LIB reads them otherwise
  if (!all_tried) {
    smt::Query q(context);
    const std::uint64_t steps = std::min<std::uint64_t>(options.solver_steps, 1'000'000);
    // Two questions: do all divisors in the conditions stay positive, and are the conditions satisfiable as
    // SMT-LIB reads them.
    if (q.has_goals()) as_read = solve(q, steps).answer == smt::Answer::unsat;
    q.drop_goals();
    r = solve(q, steps);
  }
  if (all_tried || (as_read && r.answer == smt::Answer::unsat))
    throw Contradiction("where: the conditions contradict each other\n  where  " + conditions_text() +
                        "\n  hint   no value satisfies them, so everything would follow; drop one");
  if (r.answer == smt::Answer::sat && !r.model.empty())
    try { // conditions that SMT-LIB cannot say, an xor, were left out of the query
      if (auto env = environment(r.model); context.holds(env)) example_ = env;
    } catch (const Overflow&) {
    }
  return example_;
}

// The only place that says `proved`. Whatever the layer found, three things are asked here once more: conditions that hold somewhere,
// extents that are positive wherever they hold, and, where wanted, the checker's consent.
Verdict Engine::proved(std::string method) {
  if (!example() && !facts_.empty()) { // perhaps no value does, and then everything follows
    obligation("a value that satisfies " + conditions_text());
    return unknown();
  }
  if (!context.finite(4096)) // else every assignment was looked at by require_extents or by the definition
    for (const auto& [extent, text] : doubtful_)
      if (!positive(extent)) {
        obligation("an extent that is at least 1 for all values: " + to_string(extent));
        return unknown();
      }
  Verdict v;
  v.outcome = Outcome::proved;
  v.property = property_;
  v.method = std::move(method);
  if (options.certificates || options.recheck) v.certificate = certificate(v.method);
  v.notes = notes;
  return v;
}

// Only now is a large domain looked at in full: the layers that decide by argument have had their turn, and it may take seconds.
Verdict Engine::unknown() {
  if (concrete() && check_ && !thorough && !cancelled()) {
    thorough = true;
    try {
      Check c = check_(context.environment({})); // no symbol is open, but some may have a value: n == 8
      if (c.state == Check::State::fails) return refuted(*c.finding, "enumeration");
    } catch (const Overflow&) {
    }
  }
  Verdict v;
  v.property = property_;
  v.method = cancelled() ? "cancelled" : "none";
  v.obligations = obligations_;
  v.notes = notes;
  if (v.obligations.empty()) v.obligations.push_back("nothing that was tried decides this");
  if (spent_ > 0 && !cancelled())
    v.notes.push_back("the solvers stopped after " + std::to_string(options.solver_steps) +
                      " steps a query; --steps N raises the limit");
  v.smt2 = open_query_;
  return v;
}

// A counterexample is nobody's word: it is evaluated by the definition, on integers, before anybody hears of it. What a solver returns as
// a model is often none, because bit operations and divisions by 0 mean less to it than to us.
bool Engine::confirmed(const Finding& f, Witness* w) const {
  const naive::Environment& env = f.environment;
  // First the conditions: values that break them are no counterexample, whatever the function does there.
  if (!context.holds(env)) return false;
  Witness out;
  std::string large; // symbols beyond 64 bits are in the text alone
  for (const auto& [n, v] : env) {
    if (auto small = narrow(v)) {
      out.symbols.emplace_back(n, *small);
    } else {
      large += (large.empty() ? "with " : ", ") + n + " = " + to_string(v);
    }
  }
  auto where = [&](const Parts& p, Wide index) {
    std::string text = "index " + to_string(index);
    std::vector<Wide> c = naive::coordinate(p, index, env);
    if (c.size() > 1) {
      text += " = (";
      for (std::size_t k = 0; k < c.size(); ++k) text += (k ? "," : "") + to_string(c[k]);
      text += ")";
    }
    return text;
  };
  auto locate = [&](const Parts& p) {
    out.index = narrow(f.index);
    for (Wide c : naive::coordinate(p, f.index, env))
      if (auto small = narrow(c)) out.coordinate.push_back(*small);
  };
  auto inside = [&](const Parts& p, Wide index) { return index >= 0 && index < naive::size(p, env); };
  const Parts& A = *subjects_[0];
  bool yes = false;
  switch (f.kind) {
  case Finding::Kind::extents: {
    std::vector<Wide> x = naive::extents(A, env), y = naive::extents(b(), env);
    Wide n = naive::size(A, env), m = naive::size(b(), env);
    out.lhs = narrow(n), out.rhs = narrow(m);
    // Sizes first, as extents may differ where only the sizes are asked about.
    if (n != m) {
      out.text = "the sizes are " + to_string(n) + " and " + to_string(m);
      yes = true;
    } else {
      out.text = "the extents of the top-level modes differ";
      yes = options.by_mode && x != y;
    }
    break;
  }
  case Finding::Kind::values: {
    if (!inside(A, f.index) || !inside(b(), f.index)) return false;
    Wide x = naive::at(A, f.index, env), y = naive::at(b(), f.index, env);
    locate(A);
    out.lhs = narrow(x), out.rhs = narrow(y);
    out.text = "at " + where(A, f.index) + " the values are " + to_string(x) + " and " + to_string(y);
    yes = x != y;
    break;
  }
  case Finding::Kind::collision: {
    if (!inside(A, f.index) || !inside(A, f.second) || f.index == f.second) return false;
    Wide x = naive::at(A, f.index, env), y = naive::at(A, f.second, env);
    locate(A);
    out.second_index = narrow(f.second);
    out.lhs = narrow(x), out.rhs = narrow(y);
    out.text = where(A, f.index) + " and " + where(A, f.second) + " both give " + to_string(x);
    yes = x == y;
    break;
  }
  case Finding::Kind::outside: {
    if (!inside(A, f.index)) return false;
    Wide x = naive::at(A, f.index, env);
    locate(A);
    out.lhs = narrow(x), out.rhs = narrow(f.bound);
    out.text = "at " + where(A, f.index) + " the value " + to_string(x) + " is outside [0, " +
               to_string(f.bound) + ")";
    yes = x < 0 || x >= f.bound;
    break;
  }
  case Finding::Kind::missing: {
    // That no index has the value takes a look at all of them, as it took one to find the hole (covers.cpp).
    Wide n = naive::size(A, env);
    out.lhs = narrow(f.bound);
    out.text = "no index gives the value " + to_string(f.bound);
    yes = true;
    for (Wide i = 0; yes && i < n; ++i) yes = naive::at(A, i, env) != f.bound;
    break;
  }
  case Finding::Kind::shared: {
    if (!inside(A, f.index) || !inside(b(), f.second)) return false;
    Wide x = naive::at(A, f.index, env), y = naive::at(b(), f.second, env);
    locate(A);
    out.second_index = narrow(f.second);
    out.lhs = narrow(x), out.rhs = narrow(y);
    out.text = where(A, f.index) + " of the first and " + where(b(), f.second) + " of the second both give " +
               to_string(x);
    yes = x == y;
    break;
  }
  case Finding::Kind::misaligned: {
    if (!inside(A, f.index) || f.bound <= 0) return false;
    Wide x = naive::at(A, f.index, env);
    locate(A);
    out.lhs = narrow(x), out.rhs = narrow(f.bound);
    out.text = "at " + where(A, f.index) + " the value " + to_string(x) + " is not a multiple of " +
               to_string(f.bound);
    yes = x % f.bound != 0;
    break;
  }
  case Finding::Kind::inverse: {
    if (!inside(b(), f.index)) return false;
    Wide x = naive::at(b(), f.index, env);
    locate(b());
    out.lhs = narrow(x);
    if (!inside(A, x)) {
      out.text = "at " + where(b(), f.index) + " the second gives " + to_string(x) +
                 ", outside the first one's " + to_string(naive::size(A, env)) + " elements";
      yes = true;
      break;
    }
    Wide y = naive::at(A, x, env);
    out.lhs = narrow(y), out.rhs = narrow(f.index);
    out.text = "at " + where(b(), f.index) + " the second gives " + to_string(x) +
               " and the first leads back to " + to_string(y);
    yes = y != f.index;
    break;
  }
  }
  if (!large.empty()) out.text = large + ", " + out.text;
  if (yes && w) *w = std::move(out);
  return yes;
}

// A layer whose counterexample does not replay is wrong about something, and might be wrong in the other direction next time: that
// is an internal error and not an unknown.
Verdict Engine::refuted(const Finding& finding, std::string method) {
  Verdict v;
  Witness w;
  if (!confirmed(finding, &w))
    throw InternalError("prove " + property_ + ": the layer '" + method +
                        "' reported a counterexample that does not replay");
  v.outcome = Outcome::refuted;
  v.property = property_;
  v.method = std::move(method);
  v.witness = std::move(w);
  v.notes = notes;
  return v;
}

std::optional<Verdict> Engine::by_instances(const std::function<Check(const naive::Environment&)>& check,
                                            const std::string& method) {
  std::optional<Finding> found;
  bool all = true;
  Wide instances = 0;
  // When there are few assignments and each of them is decided, looking is a proof.
  // It is one only where every assignment was within the limits of `check` (undecided clears `all`), and where there was one at all.
  bool complete = context.finite(4096);
  context.search(complete ? 4096 : options.refuter_assignments, [&](const std::vector<Wide>& values) {
    if (cancelled()) return true;
    ++instances;
    Check c;
    try {
      c = check(context.environment(values));
    } catch (const Overflow&) {
    }
    if (c.state == Check::State::fails) found = c.finding;
    // An instance with numbers beyond 128 bits is undecided, too: nothing was seen of it.
    if (c.state == Check::State::undecided) all = false;
    return found.has_value();
  });
  if (found) return refuted(*found, concrete() ? method : "search");
  if (!all) check_ = check;
  if (cancelled()) return std::nullopt;
  if (complete && all) {
    if (instances == 0)
      throw Contradiction("where: the conditions contradict each other\n  where  " + conditions_text() +
                          "\n  hint   no value satisfies them, so everything would follow; drop one");
    if (!concrete())
      claims.note("every one of the " + to_string(instances) + " assignments of the symbols was decided");
    return proved(method);
  }
  if (!all && concrete())
    obligation("enumeration of more than " + std::to_string(options.enumeration_limit) +
               " indices (the limit; --limit N raises it)");
  return std::nullopt;
}

// Symbols that a model leaves out do not matter to it. Whether the rest satisfies the conditions as they were written is looked at when
// the finding is replayed.
naive::Environment Engine::environment(const std::map<std::string, Wide>& model) const {
  std::vector<Wide> values;
  for (const std::string& n : context.names()) {
    auto it = model.find(smt::symbol(n));
    values.push_back(it == model.end() ? Wide{1} : it->second);
  }
  return context.environment(values);
}

// A question may ask many queries; together the unanswered ones get no more than four times the steps of one.
smt::Result Engine::solve(const smt::Query& query, std::uint64_t steps) {
  // Only unanswered ones count, because an answer ends the question or makes progress that the next one needs.
  if (steps == 0 || cancelled() || spent_ + steps > 4 * options.solver_steps) return {};
  smt::Result r = smt::portfolio(query, steps, options.cancel);
  if (r.answer == smt::Answer::unknown) spent_ += steps;
  return r;
}

std::optional<Verdict>
// The last layer: the question itself as a query. Its text is kept when nobody answers, for the user to try other solvers on.
Engine::ask(smt::Query& query,
            const std::function<std::optional<Finding>(const std::map<std::string, Wide>&)>& found) {
  if (choices_) return std::nullopt; // the question without choices comes next
  smt::Result r = solve(query, options.solver_steps);
  // The query is weaker than the question where integers cannot say something (smt.h), so that unsat carries over and sat does not.
  if (r.answer == smt::Answer::unsat) return proved(r.solver);
  if (r.answer == smt::Answer::sat && !r.model.empty()) {
    try {
      if (auto f = found(r.model); f && confirmed(*f, nullptr)) return refuted(*f, r.solver);
    } catch (const Overflow&) {
    }
  }
  open_query_ = query.text(false);
  return std::nullopt;
}

std::string Engine::certificate(const std::string& method) const {
  CertificateText text;
  text.property = property_ + (options.by_mode ? " --by-mode" : "");
  text.method = method;
  for (const Parts* p : subjects_) {
    std::string domain;
    for (const Coordinate& c : p->domain) domain += (domain.empty() ? "(" : ",") + to_string(c.extent);
    text.arguments.emplace_back(p->text, domain.empty() ? "" : domain + ")");
  }
  // The user's own texts: what the checker reads is the claim as it was asked, before anything of ours has
  // seen it.
  text.terms = term_texts_;
  text.facts = facts_;
  if (example_)
    for (const auto& [name, value] : *example_) text.example.emplace_back(name, to_string(value));
  text.settings = settings;
  text.hints = hints;
  return render(text, context, claims);
}

// How the prover split the coordinates, as a hint for the checker: finding it took the search, following it takes none. A rounded
// extent is written `*`, as its symbol means nothing outside this context.
void Engine::digits(const char* which, const Lowering& lowering) {
  std::set<Symbol> known;
  for (const auto& [name, p] : context.substitution())
    // The symbols that the certificate explains: those of the lets, and min and max by their name.
    for (Symbol s : p.symbols()) known.insert(s);
  for (const Choice& c : context.choices()) known.insert(c.symbol);
  if (std::any_of(context.choices().begin(), context.choices().end(),
                  [](const Choice& c) { return c.op == Op::div; }))
    if (std::find(hints.begin(), hints.end(), "named quotients") == hints.end())
      hints.push_back("named quotients");
  auto text = [&](const Poly& extent) {
    auto all = extent.symbols();
    bool rounded = std::any_of(all.begin(), all.end(), [&](Symbol s) { return known.count(s) == 0; });
    return rounded ? "*" : context.str(extent);
  };
  hints.push_back(std::string("digits ") + which + " " + lowering.leaves(text));
}

} // namespace inlay::solver
