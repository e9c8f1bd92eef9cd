// Rule of maps: pointwise, joining, and linear in a sum under way.
#include "../integer_sums.h"
#include "interpreter.h"

#include <climits>
#include <cmath>
#include <limits>

namespace inlay::codegen::provenance {

double Interpreter::outside(Expr e, std::span<const double> operand, const Fact& fact) const {
  std::unordered_map<int, double> done; // what occurs in many places once
  const auto visit = [&](auto&& self, int id) -> double {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    const ExprNode& n = e.arena->node(id);
    const auto value = [&]() -> double {
      if (n.fn == Fn::constant || n.fn == Fn::integer) return n.value;
      if (n.fn == Fn::parameter) return operand[static_cast<std::size_t>(n.tensor)];
      if (n.fn == Fn::inside) {
        if (same_bound(n.index[0], n.index[1], fact)) return n.value;
        const double in = self(self, n.args[0]); // either of the two
        return in == n.value ? in : anything;
      }
      std::vector<double> x;
      for (const int a : n.args) x.push_back(self(self, a));
      if (n.fn == Fn::choose && x[1] == x[2]) return x[1]; // either of the two
      const bool sum = n.fn == Fn::add || n.fn == Fn::sub;
      if (sum && std::isinf(x[0]) && std::isnan(x[1])) return x[0];
      if (sum && std::isinf(x[1]) && std::isnan(x[0])) return n.fn == Fn::add ? x[1] : -x[1];
      for (const double v : x)
        if (std::isnan(v)) return anything;
      return x.empty() ? anything : function_value(n, x);
    }();
    return done[id] = value;
  };
  return visit(visit, e.id);
}

Expr Interpreter::strip_inside(Expr e, const std::vector<Fact>& facts) {
  std::unordered_map<int, int> done;
  const auto visit = [&](auto&& self, int id) -> int {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    ExprNode n = x_.node(id);
    const auto known = [&](const Fact& f) { return !f.condition && same_bound(n.index[0], n.index[1], f); };
    int out = 0;
    if (n.fn == Fn::inside && std::any_of(facts.begin(), facts.end(), known)) {
      out = self(self, n.args[0]);
    } else {
      for (int& a : n.args) a = self(self, a);
      out = x_.make(std::move(n)).id;
    }
    return done[id] = out;
  };
  return {&x_, visit(visit, e.id)};
}

std::optional<Term> Interpreter::more_sums(State& s, const Inst& i) {
  const std::size_t n = static_cast<std::size_t>(i.def.count), operands = i.uses.size() / n;
  if (!code_.registers[static_cast<std::size_t>(i.def.id)].outside || i.uses[0].id != i.def.id ||
      operands < 2)
    return std::nullopt;
  for (std::size_t e = 0; e < n; ++e)
    if (i.uses[e].id != i.def.id || i.uses[e].first != static_cast<int>(e)) return std::nullopt;
  // x0 and multiples of sums under way, each of its own.
  std::vector<std::pair<std::size_t, double>> added;
  bool goes_on = false;
  const ExprNode sum = x_.normal(i.map).node();
  for (const int id : sum.fn == Fn::add ? sum.args : std::vector<int>{}) {
    const ExprNode term = x_.node(id);
    const bool multiple =
        term.fn == Fn::mul && term.args.size() == 2 && x_.node(term.args[0]).fn == Fn::constant;
    const ExprNode& x = multiple ? x_.node(term.args[1]) : term;
    if (x.fn != Fn::parameter || (x.tensor == 0 && multiple)) return std::nullopt;
    if (x.tensor == 0)
      goes_on = true;
    else
      added.emplace_back(x.tensor, multiple ? x_.node(term.args[0]).value : 1);
  }
  if (!goes_on) return std::nullopt;
  std::vector<int> columns;
  std::vector<Term> sums;
  for (const auto& [k, factor] : added) {
    Term t = assemble(s, std::span(i.uses).subspan(k * n, n));
    if (!t.partial || t.monoid != Monoid::sum) return std::nullopt;
    close(t), settle(t);
    if (t.has_part) return std::nullopt;
    asks_nothing(t);
    if (factor != 1) t.expr = normal_of(t.expr * factor);
    for (Fact& f : t.facts) f.fill = anything;
    t.summed_by = summed_by(i, k);
    sums.push_back(std::move(t));
  }
  Term out = held(s, i.def).term;
  std::vector<Term*> all{&out};
  for (Term& t : out.others) all.push_back(&t);
  for (const Term* t : all)
    if (t->partial && (t->monoid != Monoid::sum || t->has_part)) return std::nullopt;
  for (Term& t : sums) all.push_back(&t);
  const bool none = !out.partial && out.others.empty() && out.expr == x_.constant(0);
  // One sum alone is what `linear` knows, and so are sums that are over.
  const auto one = [&] {
    const Term& first = none ? sums[0] : out;
    return out.others.empty() && (none || out.partial) &&
           std::all_of(sums.begin(), sums.end(), [&](const Term& t) {
             Term a = first, b = t;
             rename(a, columns), rename(b, columns);
             return one_body(a, b, columns) || one_body_inside(a, b, columns) ||
                    one_body_under(a, b, columns);
           });
  };
  if (one() || std::all_of(sums.begin(), sums.end(), [&](const Term& t) { return covers(t); }))
    return std::nullopt;
  for (Term* t : all) rename(*t, columns);
  for (Term* t : all) t->columns = columns;
  std::size_t next = 0;
  if (none) out = sums[next++];
  for (; next < sums.size(); ++next) out = with_more(out, std::move(sums[next]));
  tidy(out);
  for (Term& t : out.others) tidy(t);
  prove(
      "a map adds to sums under way", [&] { return to_string(i.map, name_of_tensor()); }, "provenance");
  return out;
}

void Interpreter::apply_map(State& s, const Inst& i) {
  if (auto sums = more_sums(s, i)) {
    s.regs[key(i.def)] = {*std::move(sums), false};
    return;
  }
  const std::size_t n = static_cast<std::size_t>(i.def.count), operands = i.uses.size() / n;
  std::vector<int> columns;
  std::vector<Term> terms;
  const std::set<int> taken = i.map.arena->parameters(i.map);
  for (std::size_t k = 0; k < operands; ++k) {
    Term t = assemble(s, std::span(i.uses).subspan(k * n, n));
    if (!taken.contains(static_cast<int>(k))) { // whatever it is, also a part of a sum
      t = Term{};
      t.expr = x_.constant(0);
    }
    if (t.partial && !(k == 0 && lane_sums_.contains(i.op))) close(t);
    if (t.partial) settle(t);
    if (t.partial && t.has_part && !(k == 0 && lane_sums_.contains(i.op)))
      refute("parts of a fold are joined before a map uses them", describe(t),
             to_string(i.map, name_of_tensor()));
    terms.push_back(std::move(t));
  }
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const bool added = k > 0 && lane_sums_.contains(i.op) && !running_.empty(); // by a trip around loops
    Term& t = terms[k];
    // In a trip's branch what is folded over its trips goes on, also where that is all of it: the other path leaves it as it was.
    if (t.partial && !(choice_ && one_limit(t.limit, choice_->extent)) &&
        (straight_ || added || idempotent(t.monoid)) && covers(t))
      t = complete_term(std::move(t));
  }
  for (Term& t : terms) rename(t, columns), t.columns.clear();
  // Positions in the tile, for what the map says about inside and outside.
  std::vector<std::pair<AtomId, Sym>> positions;
  const std::size_t axes = i.position.empty() ? 0 : i.position[0].size();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const Column thread = thread_coordinates(i.access.threads, axis);
    Column c;
    for (const int t : thread)
      for (const auto& e : i.position) c.push_back(t + e[axis]);
    const int column = columns_.intern(std::move(c));
    const Sym symbol =
        context_.symbol(Program::position_name(static_cast<int>(axis)), {Int(0), std::nullopt});
    auto at = std::find(columns.begin(), columns.end(), column);
    if (at == columns.end()) at = columns.insert(columns.end(), column);
    positions.emplace_back(*symbol.as_atom(), dollar(static_cast<std::size_t>(at - columns.begin())));
  }
  Expr map = replaced_(replaced_(world(i.map), positions), trips());
  if (exiting_) map = relate(map); // holds for all that follows

  Term out;
  const auto open = [](const Term& t) { return t.partial; };
  const auto element = [&](const Reg& r) { return code_.registers[static_cast<std::size_t>(r.id)].element; };
  const bool of_i32 =
      std::all_of(i.uses.begin(), i.uses.end(), [&](const Reg& r) { return element(r) == Element::i32; });
  if (lane_sums_.contains(i.op)) {
    if (auto sum = lane_sum(map, terms, columns)) {
      sum->columns = columns;
      if (code_.registers[static_cast<std::size_t>(i.def.id)].element == Element::i32 && adds_operands(i.map))
        whole_numbers(*sum, [&] { return to_string(i.map, name_of_tensor()); });
      tidy(*sum);
      s.regs[key(i.def)] = {std::move(*sum), false};
      return;
    }
    if (terms[0].partial && terms[0].has_part)
      refute("what is added to a sum is its next part", describe(terms[0]), to_string(map, name_of_tensor()));
  }
  const ExprNode what = x_.normal(map).node();
  if (what.fn == Fn::parameter && terms[static_cast<std::size_t>(what.tensor)].partial) {
    (void)normal_of(map);
    out = terms[static_cast<std::size_t>(what.tensor)]; // a copy
  } else if (std::any_of(terms.begin(), terms.end(), open) &&
             (joins(map, terms) || (element(i.def) == Element::i32 && adds_wrapping(map, terms, of_i32)))) {
    (void)normal_of(map);
    out = join_all(terms, columns);
  } else {
    // A maximum under way is a number like another; a sum is over, unless the map is linear in it.
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (Term& t = terms[k]; t.partial && idempotent(t.monoid)) {
        // Of no element, or of minus infinity alone, it is the number that stands beside it.
        const bool number =
            t.monoid == Monoid::max && domains_.bounded(map, static_cast<int>(k)) && !domains_.above(t.expr);
        t = number_of(t, columns, number);
      }
    // Nothing but such sums is linear in one modulo 2^32.
    for (Term& t : terms)
      if (t.partial && t.monoid == Monoid::wrapping_sum) {
        t.columns = columns;
        t = complete_term(std::move(t));
        std::vector<int> same = columns;
        rename(t, same); // completing may have dropped columns
      }
    std::optional<Term> sum;
    if (std::any_of(terms.begin(), terms.end(), open)) sum = linear(map, terms, columns);
    if (sum) {
      out = std::move(*sum);
    } else {
      for (Term& t : terms)
        if (t.partial) {
          t.columns = columns;
          t = complete_term(std::move(t));
          std::vector<int> same = columns;
          rename(t, same); // completing may have dropped columns
        }
      out = pointwise(map, terms, columns);
    }
  }
  out.columns = std::move(columns);
  // What the register's type does not have is something else there.
  const Element held = code_.registers[static_cast<std::size_t>(i.def.id)].element;
  for (Fact& f : out.facts)
    if (!std::isnan(f.fill) && !holds(held, f.fill)) f.fill = anything;
  if (held == Element::i32 && adds_operands(i.map) && !(out.partial && out.monoid == Monoid::wrapping_sum))
    whole_numbers(out, [&] { return to_string(i.map, name_of_tensor()); });
  tidy(out);
  s.regs[key(i.def)] = {std::move(out), false};
}

void Interpreter::whole_numbers(const Term& t, const std::function<std::string()>& made_by) {
  const std::string claim = "a sum of whole numbers stays inside of i32";
  double most = most_of(t.expr, {});
  if (t.partial) {
    const auto end = interval(t.limit).upper;
    double elements = end ? static_cast<double>(end->value()) : INFINITY;
    // A size that is written in trips and rests here is no more than it may be.
    for (const Size& z : p_.sizes())
      if (world(z.symbol) == t.limit) elements = std::min(elements, static_cast<double>(z.facts.most));
    most = most == 0 ? 0 : most * elements;
  }
  if (most > INT32_MAX)
    refute(claim, made_by() + " of " + describe(t),
           (std::isinf(most) ? "nothing says how large it may be"
                             : "it may be " + std::to_string(static_cast<std::int64_t>(most))) +
               "\n  hint   sizes with a smaller `most`; or numbers, to_number(integer(x)), and "
               "k.map([sum], truncated, \"i32\") in the end: exact up to 2^24");
  prove(
      claim, [&] { return std::to_string(static_cast<std::int64_t>(most)) + " at most"; }, "provenance");
}

namespace {
// How large an integer is at most, as i32, whatever it is made of.
double most_of_integer(const Expressions& x, const ExprNode& n) {
  const auto constant = [&](std::size_t k) -> std::optional<double> {
    const ExprNode& of = x.node(n.args[k]);
    return of.fn == Fn::integer ? std::optional(of.value) : std::nullopt;
  };
  constexpr double any = -static_cast<double>(INT32_MIN);
  switch (n.fn) {
  case Fn::integer:
    return std::abs(static_cast<double>(static_cast<std::int32_t>(static_cast<std::int64_t>(n.value))));
  case Fn::popcount:
  case Fn::leading_zeros:
  case Fn::trailing_zeros: return 32;
  case Fn::word_less:
  case Fn::word_less_signed:
  case Fn::word_equal: return 1;
  case Fn::word_and: { // no more than any of them that has no sign
    double most = any;
    for (std::size_t k = 0; k < n.args.size(); ++k) most = std::min(most, constant(k).value_or(any));
    return most;
  }
  case Fn::word_shr:
    if (const auto by = constant(1); by && std::fmod(*by, 32) != 0)
      return std::exp2(32 - std::fmod(*by, 32)) - 1;
    return any;
  case Fn::choose:
    return std::max(most_of_integer(x, x.node(n.args[1])), most_of_integer(x, x.node(n.args[2])));
  default: return any;
  }
}
// x x, or more of them.
bool is_square(const ExprNode& power) { return power.value >= 1 && power.value == std::floor(power.value); }
} // namespace

Interpreter::Computed Interpreter::computed(const Reg& reg, int depth) {
  std::optional<Computed> out;
  each_inst([&](const Inst& i) {
    if (i.def.id != reg.id) return;
    Computed one;
    const Element held = code_.registers[static_cast<std::size_t>(reg.id)].element;
    if (i.kind == InstKind::load && p_.tensor(i.access.tensor).element == Element::i8) one = {128, 0, true};
    if (i.kind == InstKind::map && depth > 0 && (held == Element::f32 || held == Element::i32))
      one = computed(i, i.map, depth);
    out = out ? out->or_else(one) : one;
  });
  return out.value_or(Computed{});
}

Interpreter::Computed Interpreter::computed(const Inst& map, Expr e, int depth) {
  // f32 keeps whole numbers of 24 bits; of others it rounds 2^-24, and may lose what is less than its least normal number.
  constexpr double exact = 1 << 24, half_ulp = 0x1p-24, least = 0x1p-126;
  constexpr double largest = std::numeric_limits<float>::max();
  const ExprNode n = e.node();
  const auto arg = [&](std::size_t k) { return computed(map, {e.arena, n.args[k]}, depth); };
  const auto rounded = [&](Computed x) {
    if (x.whole && x.most + x.error <= exact) return x;
    x.error += (x.most + x.error) * half_ulp + least;
    return x.most + x.error <= largest ? x : Computed{}; // more may be infinite
  };
  const auto number = [&](double v) {
    const double held = static_cast<double>(static_cast<float>(v));
    if (!(std::abs(v) <= largest)) return Computed{};
    return Computed{std::abs(v), std::abs(held - v), v == std::floor(v)};
  };
  switch (n.fn) {
  case Fn::parameter: {
    const auto count = static_cast<std::size_t>(map.def.count),
               first = static_cast<std::size_t>(n.tensor) * count;
    Computed out{0, 0, true};
    for (std::size_t k = first; k < first + count; ++k)
      out = out.or_else(k < map.uses.size() ? computed(map.uses[k], depth - 1) : Computed{});
    return out;
  }
  case Fn::constant: return number(n.value);
  case Fn::truncated: {
    Computed out = arg(0);
    if (!out.whole || out.error > 0) out.error += 1;
    out.whole = true;
    return out.most + out.error < 0x1p31 ? out : Computed{}; // an i32 ends there
  }
  case Fn::to_number: return arg(0);
  case Fn::integer:
  case Fn::popcount:
  case Fn::leading_zeros:
  case Fn::trailing_zeros:
  case Fn::word_less:
  case Fn::word_less_signed:
  case Fn::word_equal:
  case Fn::word_and:
  case Fn::word_shr: { // of other bits, where they are not as memory has them, it is any other such number
    const double most = most_of_integer(*e.arena, n);
    return rounded({most, as_loaded(map, e) ? 0 : 2 * most, true});
  }
  case Fn::inside: return arg(0).or_else(number(n.value));
  case Fn::choose: return arg(1).or_else(arg(2));
  case Fn::add:
  case Fn::sub:
  case Fn::mul: {
    Computed out = arg(0);
    for (std::size_t k = 1; k < n.args.size(); ++k) {
      const Computed by = arg(k);
      out.whole = out.whole && by.whole;
      if (std::isinf(out.most + out.error + by.most + by.error)) return {};
      if (n.fn == Fn::mul)
        out.error = out.most * by.error + out.error * by.most + out.error * by.error, out.most *= by.most;
      else
        out.most += by.most, out.error += by.error;
      out = rounded(out);
    }
    return out;
  }
  default: return {};
  }
}

bool Interpreter::as_loaded(const Inst& map, Expr e) {
  const ExprNode n = e.node();
  if (n.fn == Fn::parameter) {
    bool loaded = true;
    const auto count = static_cast<std::size_t>(map.def.count),
               first = static_cast<std::size_t>(n.tensor) * count;
    each_inst([&](const Inst& i) {
      for (std::size_t k = first; k < first + count; ++k)
        if (i.def.id == map.uses[k].id) loaded = loaded && i.kind == InstKind::load;
    });
    return loaded;
  }
  // Integers of integers are exact; what a number is made an integer of may have been rounded.
  const bool exact =
      n.fn == Fn::constant || n.fn == Fn::number || (n.fn >= Fn::integer && n.fn != Fn::truncated);
  return exact && std::all_of(n.args.begin(), n.args.end(), [&](int a) {
           return as_loaded(map, {e.arena, a});
         });
}

double Interpreter::error_of_truncated() {
  if (error_of_truncated_) return *error_of_truncated_;
  double most = 0;
  each_inst([&](const Inst& i) {
    if (i.kind != InstKind::map) return;
    const std::function<void(Expr)> look = [&](Expr e) {
      const ExprNode n = e.node();
      if (n.fn == Fn::truncated) most = std::max(most, computed(i, e, depth_of_maps).error);
      for (const int a : n.args) look({e.arena, a});
    };
    look(i.map);
  });
  error_of_truncated_ = most;
  return most;
}

double Interpreter::most_of(Expr e, std::set<int> within) {
  const ExprNode n = e.node();
  const auto arg = [&](std::size_t k) { return most_of({e.arena, n.args[k]}, within); };
  const auto largest = [](Interval i) {
    return i.lower && i.upper ? std::max(std::abs(static_cast<double>(i.lower->value())),
                                         std::abs(static_cast<double>(i.upper->value())))
                              : INFINITY;
  };
  switch (n.fn) {
  case Fn::constant: return std::abs(n.value);
  case Fn::number: return largest(interval(n.sym));
  case Fn::load: {
    const Tensor& of = p_.tensor(n.tensor);
    if (of.element == Element::i8) return 128;
    const Program::Specification* spec = of.element == Element::i32 ? p_.specification(of) : nullptr;
    return spec != nullptr && !of.in_place && within.insert(of.id).second ? most_of(spec->value, within)
                                                                          : INFINITY;
  }
  case Fn::add:
  case Fn::sub:
  case Fn::mul: {
    double out = n.fn == Fn::mul ? 1 : 0;
    for (std::size_t k = 0; k < n.args.size(); ++k)
      if (const double one = arg(k); n.fn == Fn::mul)
        out = out == 0 || one == 0 ? 0 : out * one;
      else
        out += one;
    return out;
  }
  case Fn::max:
  case Fn::min: {
    double out = 0;
    for (std::size_t k = 0; k < n.args.size(); ++k) out = std::max(out, arg(k));
    return out;
  }
  case Fn::inside: return std::max(arg(0), std::abs(n.value));
  case Fn::choose: return is_integer(e) ? INFINITY : std::max(arg(1), arg(2));
  case Fn::to_number: { // of an integer: a word of a small number is that number
    const ExprNode& word = x_.node(n.args[0]);
    const double any = -static_cast<double>(INT32_MIN);
    if (word.fn != Fn::word && word.fn != Fn::truncated) return most_of_integer(x_, word);
    const double most = most_of({e.arena, word.args[0]}, within);
    // The normal form does not say what f32 rounds on the way.
    return std::min(any, word.fn == Fn::truncated && most < any ? most + error_of_truncated() : most);
  }
  case Fn::power: return is_square(n) ? std::pow(arg(0), n.value) : INFINITY;
  case Fn::fold: {
    if (n.monoid != Monoid::sum) return INFINITY;
    const auto at_most = [](Sym count) {
      const auto upper = interval(count).upper;
      return upper ? std::max(0.0, static_cast<double>(upper->value())) : INFINITY;
    };
    double elements = n.index.size() == 1 ? at_most(n.index[0]) : 0;
    for (std::size_t k = 1; k + 1 < n.index.size(); k += 2) elements += at_most(n.index[k + 1] - n.index[k]);
    const double one = arg(0);
    return elements == 0 || one == 0 ? 0 : elements * one;
  }
  default: return INFINITY;
  }
}

std::function<std::string(int)> Interpreter::name_of_tensor() const {
  return [this](int id) { return p_.tensor(id).name; };
}

bool Interpreter::same_bound(Sym index, Sym bound, const Fact& f) const {
  return (index == f.index && bound == f.bound) ||
         (relate(index) == relate(f.index) && relate(bound) == relate(f.bound));
}

void Interpreter::want(std::vector<Fact>& facts, const Fact& f) const {
  const auto have = std::find_if(facts.begin(), facts.end(),
                                 [&](const Fact& g) { return same_bound(g.index, g.bound, f); });
  if (have == facts.end()) {
    facts.push_back(f);
  } else {
    have->condition = have->condition && f.condition;
  }
}

bool Interpreter::looks_further(const Fact& f) {
  std::vector<std::pair<AtomId, Sym>> first; // of the tile
  for (const Sym& c : dollars_) first.emplace_back(*c.as_atom(), Sym(0));
  const Sym index = replaced_(relate(f.index), first), bound = relate(f.bound);
  bool some = false;
  for (const CodeRegion& r : code_.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) {
        if (i.kind != InstKind::store) continue;
        const Tensor& t = p_.tensor(i.access.tensor);
        for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
          if (!(relate(world(t.shape[axis])) == bound)) continue;
          const auto more = (index - relate(world(i.access.origin[axis]))).constant();
          if (!more || *more <= Int(0)) return false;
          some = true;
        }
      }
  return some;
}

Expr Interpreter::with_bounds_of(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns) {
  std::vector<std::pair<AtomId, Sym>> constants; // a load says of a column with one number what that is
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (const auto [low, high] = columns_.range(columns[c]); low == high)
      constants.emplace_back(*dollar(c).as_atom(), Sym(low));
  if (constants.empty()) return map;
  return x_.rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::inside) return std::nullopt;
    for (const Term& t : terms)
      for (const Fact& f : t.facts)
        if (same_bound(replaced_(n.index[0], constants), replaced_(n.index[1], constants),
                       {replaced_(f.index, constants), replaced_(f.bound, constants), f.fill})) {
          ExprNode same = n;
          same.index = {f.index, f.bound};
          return x_.make(std::move(same));
        }
    return std::nullopt;
  });
}

bool Interpreter::looks_inside(Expr map, const std::vector<Term>& terms, const Fact& f) {
  const auto has = [&](const Term& t) {
    return std::any_of(t.facts.begin(), t.facts.end(),
                       [&](const Fact& g) { return same_bound(g.index, g.bound, f); });
  };
  std::set<int> seen;
  const auto visit = [&](auto&& self, int id) -> bool {
    if (!seen.insert(id).second) return true;
    const ExprNode n = x_.node(id);
    if (n.fn == Fn::inside && same_bound(n.index[0], n.index[1], f)) return true;
    if (n.fn == Fn::parameter) return !has(terms[static_cast<std::size_t>(n.tensor)]);
    return std::all_of(n.args.begin(), n.args.end(), [&](int a) { return self(self, a); });
  };
  return visit(visit, map.id);
}

Term Interpreter::pointwise(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns) {
  Term out;
  map = with_bounds_of(map, terms, columns);
  std::vector<Fact> facts;
  for (const int k : x_.parameters(map)) // what a map does not look at says nothing of what it gives
    for (const Fact& f : terms[static_cast<std::size_t>(k)].facts) want(facts, f);
  (void)x_.rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::inside) want(facts, {n.index[0], n.index[1], anything, true});
    return std::nullopt;
  });
  for (Fact& f : facts) {
    std::vector<double> operand;
    for (const Term& t : terms) {
      const auto has = std::find_if(t.facts.begin(), t.facts.end(),
                                    [&](const Fact& g) { return same_bound(g.index, g.bound, f); });
      operand.push_back(has != t.facts.end() ? has->fill : constant_or_anything(t));
    }
    f.fill = outside(map, operand, f);
    // Nothing says what that is. Where what is stored looks further than its own place, the condition belongs to the value.
    f.condition = f.condition || (std::isnan(f.fill) && looks_further(f) && looks_inside(map, terms, f));
  }
  std::vector<Expr> values;
  for (const Term& t : terms) values.push_back(t.expr);
  out.expr = x_.normal(x_.apply(strip_inside(map, facts), values));
  // What was asked of an operand is asked where the map takes it, and what the map itself asks for with its conditions in it.
  for (const auto& [of, need] : domains_.passed(map, values, [&](int k) {
         Domains::Needs needs;
         for (const Asked& a : terms[static_cast<std::size_t>(k)].asked)
           Domains::add(needs, Domains::Of::of(a.base, a.where), a.need);
         return needs;
       }))
    ask(out.asked, asking(of, need, asked_by(terms, of.base)));
  for (const auto& [of, need] : domains_.lost(x_.apply(map, values), out.expr))
    ask(out.asked, asking(of, need, at_));
  std::erase_if(facts, [](const Fact& f) { return f.condition && std::isnan(f.fill); });
  out.facts = std::move(facts);
  return out;
}

void Interpreter::ask(std::vector<Asked>& all, const Asked& more) {
  // Under fewer conditions it is asked for already.
  unsigned need = more.need;
  for (const Asked& a : all)
    if (a.base == more.base && std::all_of(a.where.begin(), a.where.end(), [&](Expr e) {
          return std::find(more.where.begin(), more.where.end(), e) != more.where.end();
        }))
      need &= ~a.need;
  if (need == 0) return;
  const auto have = std::find_if(
      all.begin(), all.end(), [&](const Asked& a) { return a.base == more.base && a.where == more.where; });
  if (have == all.end()) {
    all.push_back(more);
    all.back().need = need;
  } else {
    have->need |= need;
  }
}

void Interpreter::lost(Expr of, const Asked& what) {
  if (what.by) at_ = what.by;
  refute("a map loses no condition of what it takes", to_string(of, name_of_tensor()),
         "it is that only where " + domains_.text(what.base.id, what.need, name_of_tensor()) +
             ": a root, a reciprocal or a logarithm cancels");
}

Expr Interpreter::normal_of(Expr e) {
  std::vector<Asked> asked;
  const Expr out = normal_of(e, asked);
  if (!asked.empty()) lost(out, asked.front());
  return out;
}

Expr Interpreter::normal_of(Expr e, std::vector<Asked>& asked) {
  const Expr out = x_.normal(e);
  for (const auto& [of, need] : domains_.lost(e, out)) ask(asked, asking(of, need, at_));
  return out;
}

void Interpreter::asks_nothing(const Term& t) {
  if (!t.asked.empty()) lost(t.expr, t.asked.front());
}

void Interpreter::asked_of(Expr wanted, Expr expected, const std::vector<Asked>& asked,
                           const std::function<Expr(Expr)>& settled) {
  if (asked.empty()) return;
  Domains::Needs allowed;
  const auto of = [&](const Asked& a) {
    std::vector<Expr> where;
    for (const Expr e : a.where)
      if (const Expr now = settled(e); !(now == x_.constant(1))) where.push_back(now);
    return Domains::Of::of(settled(a.base), where);
  };
  // What is asked for of the elements of a fold says nothing of those of another one, whose index has the same name.
  std::set<AtomId> indices{*bound_.as_atom()};
  for (const Expr e : {wanted, expected})
    (void)x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn == Fn::fold) indices.insert(*n.sym.as_atom());
      return std::nullopt;
    });
  const auto of_fold = [&](const Domains::Of& part) {
    const auto has_index = [&](int id) {
      const std::set<AtomId> all = x_.free_symbols({&x_, id});
      return std::any_of(all.begin(), all.end(), [&](AtomId a) { return indices.contains(a); });
    };
    return has_index(part.base) || std::any_of(part.where.begin(), part.where.end(), has_index);
  };
  for (const Expr e : {wanted, expected})
    for (const auto& [what, need] : Domains::Needs(domains_.needs(e)))
      for (const auto& [part, of_part] : parts_of(of(asking(what, need, nullptr)), need))
        if (!of_fold(part)) Domains::add(allowed, part, of_part);
  for (const Asked& a : asked)
    for (const auto& [what, need] : parts_of(of(a), a.need)) {
      const unsigned missing = domains_.open(what.base, need) & ~Domains::met(what, allowed);
      if (missing != 0) lost(expected, {{&x_, what.base}, missing, a.by});
    }
}

Domains::Needs Interpreter::parts_of(const Domains::Of& what, unsigned need) {
  if (!choices_.chooses({&x_, what.base})) return {{what, need}};
  Domains::Needs out;
  const auto split = [&](auto&& self, Expr e, const std::vector<int>& where) -> void {
    const ExprNode n = e.node();
    if (n.fn == Fn::choose) {
      for (const bool holds : {true, false}) {
        std::vector<Expr> under{
            choose(Expr{&x_, n.args[0]}, x_.constant(holds ? 1 : 0), x_.constant(holds ? 0 : 1))};
        for (const int w : where) under.push_back({&x_, w});
        self(self, Expr{&x_, n.args[holds ? 1 : 2]}, Domains::Of::of(e, under).where);
      }
    } else if (n.fn == Fn::mul && need == Domains::not_zero) {
      for (const int f : n.args) self(self, Expr{&x_, f}, where);
    } else if (const unsigned left = domains_.open(e.id, need); left != 0) {
      Domains::add(out, {e.id, where}, left);
    }
  };
  split(split, choices_.ordered({&x_, what.base}), what.where);
  return out;
}

const Inst* Interpreter::asked_by(const std::vector<Term>& terms, int base) const {
  for (const Term& t : terms)
    for (const Asked& a : t.asked)
      if (a.base.id == base && a.by) return a.by;
  return at_;
}

Asked Interpreter::asking(const Domains::Of& of, unsigned need, const Inst* by) {
  Asked out{{&x_, of.base}, need, by};
  for (const int e : of.where) out.where.push_back({&x_, e});
  return out;
}

Expr Interpreter::as_i32(Expr e) { return x_.normal(to_number(integer(e))); }

bool Interpreter::adds_wrapping(Expr map, const std::vector<Term>& terms, bool of_i32) {
  const auto wraps = [](const Term& t) { return t.partial && t.monoid == Monoid::wrapping_sum; };
  if (std::none_of(terms.begin(), terms.end(), wraps)) return false;
  const ExprNode whole = x_.normal(map).node();
  const bool words = whole.fn == Fn::to_number;
  const ExprNode sum = words ? x_.node(whole.args[0]) : whole;
  if (words ? sum.fn != Fn::word_add : !of_i32 || sum.fn != Fn::add) return false;
  std::set<int> added;
  for (const int a : sum.args) {
    const ExprNode& word = x_.node(a);
    if (words && word.fn != Fn::word) return false;
    const ExprNode& x = words ? x_.node(word.args[0]) : word;
    if (x.fn != Fn::parameter || !added.insert(x.tensor).second) return false;
  }
  return added.size() == terms.size() && std::all_of(terms.begin(), terms.end(), [&](const Term& t) {
           return wraps(t) || (!t.partial && t.expr == x_.constant(0));
         });
}

bool Interpreter::joins(Expr map, const std::vector<Term>& terms) {
  const ExprNode n = x_.normal(map).node();
  const std::optional<Monoid> monoid = n.fn == Fn::max   ? std::optional(Monoid::max)
                                       : n.fn == Fn::min ? std::optional(Monoid::min)
                                                         : std::nullopt;
  if (!monoid || n.args.size() != terms.size()) return false;
  for (const int a : n.args)
    if (x_.node(a).fn != Fn::parameter) return false;
  return std::all_of(terms.begin(), terms.end(), [&](const Term& t) {
    return t.partial ? t.monoid == *monoid : t.expr == x_.constant(empty_element(*monoid));
  });
}

Term Interpreter::join_all(const std::vector<Term>& terms, const std::vector<int>& columns) {
  std::optional<Term> out;
  for (Term t : terms) {
    if (!t.partial) continue; // the empty element
    t.expr = x_.normal(t.expr);
    if (!out) {
      out = t;
      continue;
    }
    if (!one_limit(out->limit, t.limit) ||
        (!one_body(*out, t, columns) && !one_body_inside(*out, t, columns) &&
         !one_body_under(*out, t, columns)))
      refute("parts of a fold are of one fold", describe(*out), describe(t));
    const std::vector<Fact> facts = out->facts;
    out = join(*out, t);
    out->facts = facts;
    for (Fact& f : out->facts)
      if (std::find(t.facts.begin(), t.facts.end(), f) == t.facts.end()) f.fill = anything;
    for (const Fact& f : t.facts) want(out->facts, f);
  }
  return std::move(*out);
}

Term Interpreter::number_of(const Term& t, const std::vector<int>& columns, bool bounded) {
  const auto met = [&](Sym at) { // element `at` is not left out
    const std::pair<AtomId, Sym> first[] = {{*bound_.as_atom(), at}};
    bool yes = less_equal(at + Sym(1), t.limit);
    (void)x_.rewrite(t.expr, [&](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn == Fn::inside && yes)
        yes = less_equal(ranged(substitute(n.index[0], first), columns) + Sym(1),
                         ranged(substitute(n.index[1], first), columns));
      return std::nullopt;
    });
    return yes;
  };
  // The last one before an end, for those of the columns where that comes first: of a window the first may be left out.
  std::vector<std::pair<AtomId, Sym>> least;
  for (std::size_t c = 0; c < columns.size(); ++c)
    least.emplace_back(*dollar(c).as_atom(), Sym(columns_.range(columns[c]).first));
  std::vector<Sym> last;
  (void)x_.rewrite(t.expr, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::inside && n.index[0] == bound_) last.push_back(substitute(n.index[1], least) - Sym(1));
    return std::nullopt;
  });
  const auto has = [&](const auto& x) {
    if (less_equal(x.first + Sym(1), x.second) && met(x.first)) return true;
    return std::any_of(last.begin(), last.end(), [&](Sym at) {
      return less_equal(x.first, at) && less_equal(at + Sym(1), x.second) && met(at);
    });
  };
  if (!bounded && std::none_of(t.intervals.begin(), t.intervals.end(), has))
    refute("a " + std::string(to_string(t.monoid)) + " that scales is of at least one element", describe(t),
           "its first element may be left out, and then it is infinite");
  if (!bounded && domains_.infinite(t.expr))
    refute("a " + std::string(to_string(t.monoid)) + " that scales is of at least one element", describe(t),
           "its elements so far may all be infinite; `inside` says which are left out");
  prove(
      "a " + std::string(to_string(t.monoid)) + " that scales is " +
          (bounded ? "taken where a number bounds it" : "of at least one element"),
      [&] { return describe(t); }, "provenance");
  Term out;
  out.expr = x_.normal(x_.partial_fold(t.monoid, bound_, t.limit, t.intervals, t.expr));
  out.facts = t.facts;
  std::erase_if(out.facts, [](const Fact& f) { return f.condition; });
  for (Fact& f : out.facts) f.fill = anything;
  return out;
}

std::optional<Term> Interpreter::linear(Expr map, const std::vector<Term>& terms,
                                        const std::vector<int>& columns) {
  std::vector<Expr> values;
  std::vector<Fact> facts;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    asks_nothing(terms[k]);
    values.push_back(terms[k].partial ? x_.parameter(static_cast<int>(k)) : terms[k].expr);
    for (Fact f : terms[k].facts) {
      if (f.condition || less_equal(ranged(f.index, columns) + Sym(1), f.bound)) continue;
      f.fill = anything;
      want(facts, f);
    }
  }
  const Expr e = normal_of(x_.apply(map, values));
  std::vector<Term> parts;
  const ExprNode sum = e.node();
  for (const int id : sum.fn == Fn::add ? sum.args : std::vector<int>{e.id}) {
    const ExprNode product = x_.node(id);
    if (product.fn == Fn::constant && product.value == 0) continue;
    std::vector<int> factors;
    int operand = -1;
    for (const int f : product.fn == Fn::mul ? product.args : std::vector<int>{id}) {
      if (x_.node(f).fn == Fn::parameter && operand < 0) {
        operand = x_.node(f).tensor;
      } else if (x_.parameters({&x_, f}).empty()) {
        factors.push_back(f);
      } else {
        operand = -2;
      }
    }
    if (operand < 0) return std::nullopt;
    Term t = terms[static_cast<std::size_t>(operand)];
    for (const int f : factors)
      t.expr = t.expr * (t.intervals.size() != 1
                             ? Expr{&x_, f}
                             : within_block(t.intervals[0].first, t.intervals[0].second, {&x_, f}, columns));
    t.expr = normal_of(t.expr);
    if (choices_.chooses(t.expr)) { // factors meet where the same is chosen
      std::vector<Asked> asked;
      if (const Expr in_order = ordered(t.expr, asked); asked.empty()) t.expr = in_order;
    }
    if (operand != 0) t.summed_by = summed_by(*at_, static_cast<std::size_t>(operand));
    parts.push_back(std::move(t));
  }
  if (parts.empty()) {
    Term zero;
    zero.expr = x_.constant(0);
    return zero;
  }
  Term out = parts[0];
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const bool one = one_limit(out.limit, parts[k].limit) && out.monoid == parts[k].monoid &&
                     (one_body(out, parts[k], columns) || one_body_inside(out, parts[k], columns) ||
                      one_body_under(out, parts[k], columns));
    // Sums that are over are numbers, and what is made of them need be no sum: also twice the same.
    if (!(one && choice_) && // in a trip's branch the sum goes on, also where that is all of it
        std::all_of(terms.begin(), terms.end(), [&](const Term& t) { return !t.partial || covers(t); }))
      return std::nullopt;
    if (!one)
      refute("an accumulator sums one element of the result", describe(out),
             "and then " + describe(parts[k]));
    out = join(out, parts[k]);
  }
  out.facts = std::move(facts);
  prove(
      "a map of a sum under way is linear in it", [&] { return to_string(map, name_of_tensor()); },
      "provenance");
  return out;
}

Expr Interpreter::within_block(Sym low, Sym high, Expr factor, const std::vector<int>& columns) {
  return x_.rewrite(factor, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::load) return std::nullopt;
    const auto moves = [&](Sym s) { // with k already, or with the index of a fold in the factor
      const auto all = symbols(s);
      return std::any_of(all.begin(), all.end(), [&](AtomId a) {
        const std::string& name = context_.atom(a).name;
        return a == *bound_.as_atom() ||
               (name.size() > 2 && name.starts_with("_i") && name[2] >= '0' && name[2] <= '9');
      });
    };
    ExprNode out = n;
    for (std::size_t axis = 0; axis < n.index.size(); ++axis) {
      const auto g = blocked_.find({n.tensor, axis});
      if (g == blocked_.end() || moves(n.index[axis])) continue;
      const Sym block(g->second);
      const Sym of = ranged(relate(n.index[axis]), columns);
      if (!decide(ClaimKind::equal, floor_div(relate(low), block), of) ||
          !decide(ClaimKind::equal, floor_div(relate(high) - Sym(1), block), of))
        refute("a factor of a block is used inside it", to_string({&x_, x_.make(n).id}, name_of_tensor()),
               "k from " + to_string(relate(low)) + " to " + to_string(relate(high)) + ", blocks of " +
                   to_string(block));
      out.index[axis] = floor_div(bound_, block);
    }
    return x_.make(std::move(out));
  });
}

void Interpreter::find_blocks() {
  for (const auto& spec : p_.specifications())
    (void)x_.rewrite(spec.value, [&](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn == Fn::load)
        for (std::size_t axis = 0; axis < n.index.size(); ++axis) {
          const auto inner = symbols(n.index[axis]);
          if (const auto atom = n.index[axis].as_atom(); atom && inner.size() == 1 && inner[0] == *atom &&
                                                         context_.atom(*atom).name.rfind("_i", 0) == 0 &&
                                                         (n.through.empty() || n.through[axis] < 0))
            summed_axes_.emplace(n.tensor, axis);
          if (inner.size() != 1 || context_.atom(inner[0]).name.rfind("_i", 0) != 0) continue;
          const Sym k = context_.value(inner[0]);
          for (std::int64_t g = 2; g <= 4096; g *= 2)
            if (n.index[axis] == floor_div(k, Sym(g))) blocked_[{n.tensor, axis}] = g;
        }
      return std::nullopt;
    });
}

namespace {
// x0 + f as f; nothing where it is no such sum, or f depends on x0.
std::optional<Expr> without_first(Expressions& x, Expr e) {
  const ExprNode n = e.node();
  const auto first = [&](int id) { return x.node(id).fn == Fn::parameter && x.node(id).tensor == 0; };
  if (n.fn == Fn::add)
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const Expr other{&x, n.args[1 - k]};
      if (first(n.args[k])) return other;
      if (const auto rest = without_first(x, {&x, n.args[k]})) return *rest + other;
    }
  if (n.fn == Fn::sub)
    if (const auto rest = without_first(x, {&x, n.args[0]})) return *rest - Expr{&x, n.args[1]};
  return std::nullopt;
}
} // namespace

std::optional<Expr> Interpreter::wrapping_rest(Expr map) {
  const ExprNode whole = x_.normal(map).node();
  if (whole.fn != Fn::to_number || x_.node(whole.args[0]).fn != Fn::word_add) return std::nullopt;
  const auto first = [&](int id) {
    const ExprNode& word = x_.node(id);
    if (word.fn != Fn::word) return false;
    const ExprNode& x = x_.node(word.args[0]);
    return x.fn == Fn::parameter && x.tensor == 0;
  };
  std::vector<int> args = x_.node(whole.args[0]).args;
  const auto at = std::find_if(args.begin(), args.end(), first);
  if (at == args.end()) return std::nullopt;
  args.erase(at);
  return x_.normal(
      to_number(args.size() == 1 ? Expr{&x_, args[0]} : x_.make({.fn = Fn::word_add, .args = args})));
}

bool Interpreter::find_lane_sums(const CodeRegion& r) {
  std::set<int> folded;
  for (const Inst& i : r.body)
    if (i.kind == InstKind::fold_values || i.kind == InstKind::fold_lanes) folded.insert(i.def.id);
  bool found = false;
  for (const Inst& i : r.body) {
    const auto n = static_cast<std::size_t>(i.def.count);
    if (i.kind != InstKind::map || i.uses.empty() || i.uses.size() < 2 * n) continue;
    const bool update =
        code_.registers[static_cast<std::size_t>(i.def.id)].outside && i.uses[0].id == i.def.id;
    const bool of_fold =
        std::any_of(i.uses.begin(), i.uses.end(), [&](const Reg& u) { return folded.contains(u.id); });
    if (!update || of_fold) continue;
    auto rest = without_first(x_, i.map);
    if (!rest) rest = wrapping_rest(i.map);
    if (!rest || x_.parameters(*rest).contains(0)) continue;
    lane_sums_.insert(i.op);
    found = true;
  }
  return found;
}

std::optional<Term> Interpreter::lane_sum(Expr map, const std::vector<Term>& terms,
                                          const std::vector<int>& columns) {
  auto rest = without_first(x_, map);
  const Monoid monoid = rest ? Monoid::sum : Monoid::wrapping_sum;
  if (!rest) rest = wrapping_rest(map);
  if (!rest || std::any_of(terms.begin() + 1, terms.end(), [](const Term& t) { return t.partial; }))
    return {};
  if (!terms[0].partial && terms[0].expr.node().fn == Fn::constant) return {}; // nothing was added yet
  std::vector<Term> others = terms;
  others[0] = Term{};
  others[0].expr = x_.constant(0);
  Term next = pointwise(*rest, others, columns);
  const auto both = [&](const Term& sum, const Term& now) {
    Term out = join(sum, now);
    for (const Fact& f : now.facts) want(out.facts, f);
    return out;
  };
  if (terms[0].partial) {
    const Term& sum = terms[0];
    // The part that comes now: where it has to begin, and over which column.
    if (sum.monoid != monoid) return {};
    if (!sum.has_part) {
      if (sum.intervals.size() != 1) return {};
      const auto now =
          part_at(next, monoid, sum.intervals[0].second, std::nullopt, columns, sum.expr, sum.limit);
      return now ? std::optional(both(sum, *now)) : std::nullopt;
    }
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (singles(columns[c]) == sum.first_sets)
        if (const auto now =
                part_at(next, monoid, sum.origin + Sym(sum.stride), c, columns, sum.expr, sum.limit))
          return both(sum, *now);
    return {};
  }
  // Two elements, one after the other: which index moves, and by how much.
  std::vector<std::pair<Sym, Sym>> moved;
  Expr body;
  std::optional<std::size_t> column;
  const auto record = [&](Sym a, Sym b) {
    if (!(a == b)) moved.emplace_back(a, b);
    return a == b ? a : bound_;
  };
  try {
    // After a loop, what is known of its trips holds for all that follows.
    const auto known = [&](Expr e) { return x_.normal(exiting_ ? relate(e) : e); };
    body = x_.normal(extrapolate(known(terms[0].expr), known(next.expr), record));
  } catch (const Refuted&) {
    return {};
  }
  if (moved.empty()) return {};
  for (std::size_t c = 0; c < columns.size() && !column; ++c)
    if (mentions(moved[0].first, *dollar(c).as_atom())) column = c;
  const Sym of_column = column ? dollar(*column) : Sym(0);
  const Sym from = moved[0].first - of_column, to = moved[0].second - of_column;
  const auto apart = (to - from).constant();
  if (!apart || *apart < Int(1)) return {};
  for (const auto& [a, b] : moved)
    if (!(a == from + of_column) || !(b == to + of_column)) return {};
  const auto now = part_at(next, monoid, to, column, columns, body, std::nullopt);
  const auto before = now ? part_at(terms[0], monoid, from, column, columns, body, now->limit) : std::nullopt;
  if (!before) return {};
  return both(*before, *now);
}

std::optional<Term> Interpreter::part_at(const Term& t, Monoid monoid, Sym origin,
                                         std::optional<std::size_t> column, const std::vector<int>& columns,
                                         Expr body, std::optional<Sym> limit) {
  const Sym index = column ? origin + dollar(*column) : origin;
  const std::pair<AtomId, Sym> here[] = {{*bound_.as_atom(), index}};
  const Expr wanted = x_.normal(replaced_(body, here)), held = x_.normal(t.expr);
  if (!(wanted == held) && !(exiting_ && x_.normal(relate(wanted)) == x_.normal(relate(held)))) return {};
  // The body moves with the index alone.
  if (column) {
    const auto used = x_.symbols(body);
    if (std::find(used.begin(), used.end(), *dollar(*column).as_atom()) != used.end()) return {};
  }
  Term out = t;
  out.expr = body;
  out.partial = true;
  out.monoid = monoid;
  out.facts.clear();
  bool limited = false;
  for (const Fact& f : t.facts) {
    if (!(f.index == index) && !(exiting_ && relate(f.index) == relate(index))) {
      if (column && mentions(f.index, *dollar(*column).as_atom())) return {};
      if (f.condition) continue;
      out.facts.push_back(f);
      out.facts.back().fill = anything;
      continue;
    }
    if (f.condition) {
      if (f.fill == 0) out.ends.push_back(f.bound);
      continue;
    }
    if (limit && !(f.bound == *limit)) { // of another axis, at the same coordinate
      if (!less_equal(index + Sym(1), f.bound)) return {};
      continue;
    }
    if (limited && !(f.bound == out.limit)) return {};
    out.limit = f.bound, limited = true;
    if (f.fill != 0 && !less_equal(ranged(index, columns) + Sym(1), f.bound))
      refute("what lies outside of a sum is its empty element", describe(t),
             std::isnan(f.fill) ? "it is not known what lies outside; inside(i, n, x, 0) says it"
                                : "it is " + to_string(x_.constant(f.fill), name_of_tensor()));
  }
  // What a trip around loops adds may be no element of a tensor that ends: its index is the trip's number, and ends with the trips.
  for (const Running& trip : running_)
    if (!limited && !column && (limit || (trip.around->nest.tile == 1 && trip.number == origin)))
      out.limit = limit ? *limit : world(trip.around->nest.extent), limited = true;
  if (!limited) return {};
  asks_nothing(t); // of many elements in one
  if (column) {
    out.has_part = true;
    out.origin = origin;
    out.sets = singles(columns[*column]);
  } else {
    out.intervals = {{origin, origin + Sym(1)}};
  }
  return out;
}

int Interpreter::singles(int column) {
  auto [at, fresh] = singles_.try_emplace(column, -1);
  if (!fresh) return at->second;
  Column out;
  for (const int v : columns_[column]) {
    bool twice = false;
    out.push_back(sets_.of({v}, twice));
  }
  return singles_[column] = columns_.intern(std::move(out));
}

double Interpreter::constant_or_anything(const Term& t) {
  return t.expr.node().fn == Fn::constant ? t.expr.node().value : anything;
}

} // namespace inlay::codegen::provenance
