#include "certificates/derive_raw.h"

#include "certificates/digits.h"
#include "certificates/facts.h"
#include "certificates/queries.h"

namespace inlay::solver::independent {
namespace {

Expr tree(std::string op, std::vector<Expr> args) {
  return std::make_shared<Expression>(Expression{std::move(op), 0, {}, std::move(args)});
}
Expr leaf(const std::string& name) { return std::make_shared<Expression>(Expression{"name", 0, name, {}}); }

// Evaluation with trees for values writes the layout as the formula that it is, by the one definition that numbers and polynomials use.
struct Trees {
  using Value = Expr;
  static Expr whole(const Expr& e, const std::map<std::string, Expr>& names);
  static Expr number(Number n) { return std::make_shared<Expression>(Expression{"int", n, {}, {}}); }
  static Expr add(const Expr& a, const Expr& b) {
    // Sums begin with 0; the query is for readers as well.
    return a->op == "int" && a->value == 0 ? b : tree("+", {a, b});
  }
  static Expr multiply(const Expr& a, const Expr& b) { return tree("*", {a, b}); }
  static Expr divide(const Expr& a, const Expr& b) { return tree("/", {a, b}); }
  static Expr modulo(const Expr& a, const Expr& b) { return tree("%", {a, b}); }
  // Layouts and swizzles need none of these; formulas do, and pass through whole().
  static Expr power(const Expr&) { throw Stuck("a shift in a layout"); }
  static Expr bitwise(char op, const Expr& a, const Expr& b) { return tree(std::string(1, op), {a, b}); }
  static bool truth(const Expr&) { throw Stuck("a condition in a layout"); }
  static bool compare(const std::string&, const Expr&, const Expr&) {
    throw Stuck("a condition in a layout");
  }
};

Expr substituted(const Expr& e, const std::map<std::string, Expr>& names) {
  if (e->op == "name") {
    auto it = names.find(e->name);
    return it == names.end() ? e : it->second;
  }
  if (e->args.empty()) return e;
  std::vector<Expr> args;
  for (const Expr& a : e->args) args.push_back(substituted(a, names));
  return tree(e->op, args);
}

Expr Trees::whole(const Expr& e, const std::map<std::string, Expr>& names) { return substituted(e, names); }

} // namespace

namespace {

// The claim's symbols as both languages have them, and what the facts say of them.
struct Symbols {
  std::map<std::string, Expr> leaves;
  std::map<std::string, std::string> names;
  std::vector<std::string> declared, asserted;

  explicit Symbols(const Statement& s) {
    std::vector<Expr> facts;
    for (const Expr& f : s.facts) conjuncts(f, facts);
    for (const std::string& n : symbols_of(s)) {
      leaves[n] = leaf(n);
      names[n] = quoted("u_", n);
      declared.push_back(names[n]);
      if (!has_lower_bound(n, facts)) asserted.push_back("(>= " + names[n] + " 1)");
    }
    assert_facts(facts, names, asserted);
  }
};

// Extents that are the same polynomials, however they are written: (n + 1) and 1*(n + 1).
bool same_extents(const Statement& s, const Function& a, const Function& b) {
  if (a.extents.size() != b.extents.size()) return false;
  Digits d;
  Evaluation<Digits> e(d);
  std::map<std::string, Sum> symbols;
  constexpr Number any = Number{1} << 60; // nothing is taken to be known of their signs
  for (const std::string& n : symbols_of(s))
    symbols[n] = Digits::variable(d.add({Variable::Kind::symbol, n, -any, {}, {}, 0, false}));
  try {
    for (std::size_t k = 0; k < a.extents.size(); ++k)
      if (!(e.expression(a.extents[k], symbols) == e.expression(b.extents[k], symbols))) return false;
  } catch (const Stuck&) {
    return false;
  }
  // What would have to be shown first (of a quotient, of the side of a minimum) is not shown here.
  return d.inequalities.empty();
}

} // namespace

// An empty domain proves everything.
std::string positive_extents(const Statement& s, bool any_divisor) {
  Symbols symbols(s);
  std::vector<std::string> goals;
  auto extent = [&](const Expr& x) {
    // Numbers have been looked at by the readers.
    if (x->op != "int") goals.push_back("(<= " + smt(x, symbols.names, goals, any_divisor) + " 0)");
  };
  auto modes = [&](const std::vector<std::vector<Mode>>& groups) {
    for (const auto& g : groups)
      for (const Mode& m : g) extent(m.extent);
  };
  for (const Function& f : s.functions) {
    modes(f.layout);
    if (f.formula)
      for (const Expr& x : f.extents) extent(x);
    for (const Stage& stage : f.outer) modes(stage.modes);
  }
  return goals.empty() ? "" : assembled(symbols.declared, symbols.asserted, goals);
}

// The claim as it stands, for the solvers: coordinates in their ranges, the facts, and the negated property. Divisors that may be 0 or
// less are goals of their own (queries.cpp), or with `any_divisor` divided by as we do.
std::vector<std::string> raw(const Statement& s, bool any_divisor) {
  Trees trees;
  Evaluation<Trees> e(trees);
  Symbols context(s);
  auto& symbols = context.leaves;
  auto& names = context.names;
  auto &declared = context.declared, &asserted = context.asserted;
  std::vector<std::string> goals;
  // Divisors met on the way become goals of the query that is being made.
  auto smt_of = [&](const Expr& x) { return smt(x, names, goals, any_divisor); };
  auto variable = [&](const std::string& name, const Expr& extent) {
    // A name that nobody can write, as a coordinate called i0 may be a symbol of the user's.
    names["\x01" + name] = name;
    declared.push_back(name);
    std::vector<std::string> divisors;
    asserted.push_back("(and (<= 0 " + name + ") (< " + name + " " + smt(extent, names, divisors) + "))");
    // An extent that is divided by what may be 0 has no value; what is claimed beyond it would be about nothing.
    goals.insert(goals.end(), divisors.begin(), divisors.end());
    return leaf("\x01" + name);
  };
  auto coordinates = [&](const Function& f, const std::string& prefix) {
    std::vector<Expr> out;
    for (std::size_t k = 0; k < f.extents.size(); ++k)
      out.push_back(variable(prefix + std::to_string(k), f.extents[k]));
    return out;
  };
  auto at = [&](const Function& f, const std::vector<Expr>& c) {
    // The formula's own names first, then its symbols: a coordinate hides a symbol of the same name.
    if (!f.formula) return e.at(f, c, symbols);
    std::map<std::string, Expr> by;
    for (std::size_t k = 0; k < c.size(); ++k) by[f.coordinates[k]] = c[k];
    return e.stages(f.outer, substituted(f.formula, by), symbols);
  };
  auto index_of = [&](const Function& f, const std::vector<Expr>& c) {
    // Horner's scheme: the first coordinate is the fastest.
    Expr i = c.back();
    for (std::size_t k = c.size() - 1; k-- > 0;) i = tree("+", {c[k], tree("*", {f.extents[k], i})});
    return i;
  };
  auto at_index = [&](const Function& f, const Expr& index) {
    std::vector<Expr> c;
    if (!f.formula) return e.at_index(f, index, symbols);
    Expr rest = index;
    for (std::size_t k = 0; k < f.extents.size(); ++k) {
      bool last = k + 1 == f.extents.size();
      // As the definition has it: the last coordinate is what is left.
      c.push_back(last ? rest : tree("%", {rest, f.extents[k]}));
      rest = tree("/", {rest, f.extents[k]});
    }
    return at(f, c);
  };
  auto size = [&](const Function& f) {
    Expr n = f.extents[0];
    for (std::size_t k = 1; k < f.extents.size(); ++k) n = tree("*", {n, f.extents[k]});
    return n;
  };
  const Function& a = s.functions[0];
  std::vector<std::string> queries;
  auto finish = [&] {
    queries.push_back(assembled(declared, asserted, goals));
    goals.clear();
  };
  // First and before the coordinates, which presuppose it. A query of its own: its negation is a fact for the next ones in truth, but
  // they do not need it.
  if (std::string q = positive_extents(s, any_divisor); !q.empty()) queries.push_back(q);
  // Of the function whose indices the claim runs over; A in `inverse` is only applied.
  std::vector<Expr> c = coordinates(s.property == "inverse" ? s.functions[1] : a, "i");
  auto outside = [&](const std::string& v, const std::string& n) {
    goals.push_back("(or (< " + v + " 0) (>= " + v + " " + n + "))");
  };
  if (s.property == "equal") {
    const Function& b = s.functions[1];
    goals.push_back("(not (= " + smt_of(size(a)) + " " + smt_of(size(b)) + "))");
    std::vector<std::string> ea, eb;
    for (const Expr& x : a.extents) ea.push_back(smt_of(x));
    for (const Expr& x : b.extents) eb.push_back(smt_of(x));
    if (s.by_mode && ea.size() != eb.size()) throw Stuck("different numbers of modes");
    // Modes of the same extents have the same coordinates, however the extents are written.
    for (std::size_t k = 0; s.by_mode && k < ea.size(); ++k)
      goals.push_back("(not (= " + ea[k] + " " + eb[k] + "))");
    std::string x = smt_of(at(a, c)),
                // By coordinates where the extents are the same text: without a quotient there is hardly
        // anything for a solver to do.
        y = smt_of(s.by_mode || ea == eb || same_extents(s, a, b) ? at(b, c) : at_index(b, index_of(a, c)));
    goals.push_back("(not (= " + x + " " + y + "))");
    finish();
  } else if (s.property == "within") {
    outside(smt_of(at(a, c)), smt_of(s.terms[0]));
    finish();
  } else if (s.property == "aligned") {
    goals.push_back("(not (= (mod " + smt_of(at(a, c)) + " " + smt_of(s.terms[0]) + ") 0))");
    // An alignment of 0 or less is a claim about nothing; SMT-LIB would give the remainder a value.
    goals.push_back("(<= " + smt_of(s.terms[0]) + " 0)");
    finish();
  } else if (s.property == "inverse") {
    const Function& b = s.functions[1];
    Expr y = at(b, c);
    // First the domain: beyond its size A runs on along its last mode and may lead back to i from there.
    outside(smt_of(y), smt_of(size(a)));
    goals.push_back("(not (= " + smt_of(at_index(a, y)) + " " + smt_of(index_of(b, c)) + "))");
    finish();
  } else if (s.property == "disjoint") {
    std::vector<Expr> k = coordinates(s.functions[1], "j");
    std::string x = smt_of(at(a, c)), y = smt_of(at(s.functions[1], k));
    goals.push_back("(= " + x + " " + y + ")");
    finish();
  } else if (s.property == "injective" || s.property == "bijective" || s.property == "covers") {
    if (s.property != "injective") {
      // Once each inside [0, size) is all of it, and that is enough for what is to be covered.
      if (s.property == "covers") goals.push_back("(> " + smt_of(s.terms[0]) + " " + smt_of(size(a)) + ")");
      outside(smt_of(at(a, c)), smt_of(size(a)));
      finish();
    }
    std::vector<Expr> k = coordinates(a, "j");
    std::string different = "(or";
    for (std::size_t m = 0; m < c.size(); ++m)
      different += " (not (= " + smt_of(c[m]) + " " + smt_of(k[m]) + "))";
    // Asserted and no goal: two indices are two when a coordinate differs, and a collision is what must not
    // be.
    asserted.push_back(different + ")");
    std::string x = smt_of(at(a, c)), y = smt_of(at(a, k));
    goals.push_back("(= " + x + " " + y + ")");
    finish();
  } else {
    throw Stuck("the claim itself is not one for a solver");
  }
  return queries;
}

} // namespace inlay::solver::independent
