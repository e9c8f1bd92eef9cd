// Pointwise statements: A(i) = B(i), 0 <= A(i) < N, W | A(i), A(B(i)) = i. They survive cutting the domain
// into pieces (where a min, max or select changes sides) and enlarging it, which the layers below make use
// of.
#include "questions/pointwise.h"
#include "questions/residues.h"

#include "inlay/solver/error.h"

#include <algorithm>
#include <bit>

namespace inlay::solver {
ConcreteFlat concrete_modes(const Parts& f, const naive::Environment& env) {
  auto number = [&](const Leaf& leaf) {
    if (!leaf.formula) return leaf.value;
    return evaluate(leaf.formula, [&](const std::string& n) { return env.at(n); });
  };
  ConcreteFlat out;
  for (const auto& top : f.modes)
    for (const FlatMode& m : top) out.push_back({number(m.extent), number(m.stride)});
  for (const auto& m : out)
    if (m.extent < 1)
      throw QuestionError("an extent is " + to_string(m.extent) +
                          " for some values of the symbols\n  in     " + f.text +
                          "\n  hint   state what keeps it positive with --where");
  return out;
}

// A layout is a sum of one term a mode, each at its own coordinate: it is least, and greatest, where every term is.
Wide extreme_index(const ConcreteFlat& modes, bool greatest) {
  Wide index = 0, before = 1;
  for (const auto& m : modes) {
    // A stride of 0 moves nothing; the last element of the others where the sign helps, the first where it
    // hurts.
    if ((m.stride > 0) == greatest && m.stride != 0) index = add(index, multiply(m.extent - 1, before));
    before = multiply(before, m.extent);
  }
  return index;
}

namespace {

// ---- pieces: formulas on a common box, cut where a case distinction depends on a coordinate

struct Piece {
  std::vector<Coordinate> domain;
  std::vector<FormulaRef> values;
};

// The innermost first, so that the condition itself has none and may be lowered.
std::optional<FormulaRef> undecided_case(const FormulaRef& f) {
  for (const FormulaRef& a : f->args)
    if (auto c = undecided_case(a)) return c;
  if (f->op == Op::min || f->op == Op::max) return make(Op::le, {f->args[0], f->args[1]});
  if (f->op == Op::select) return f->args[0];
  return std::nullopt;
}

// f with every min / max / select on this very condition decided.
FormulaRef take_side(const FormulaRef& f, const std::string& condition, bool yes) {
  if (f->args.empty()) return f;
  std::vector<FormulaRef> args;
  for (const FormulaRef& a : f->args) args.push_back(take_side(a, condition, yes));
  if ((f->op == Op::min || f->op == Op::max) &&
      to_string(make(Op::le, {f->args[0], f->args[1]})) == condition)
    return args[(f->op == Op::min) == yes ? 0 : 1];
  // By text, so that every place with the same condition takes the same side: one cut decides them all.
  if (f->op == Op::select && to_string(f->args[0]) == condition) return args[yes ? 1 : 2];
  return make(f->op, args);
}

// c < T (or its mirror images) on a coordinate c and a T without coordinates: the cut of the domain.
struct Cut {
  std::size_t coordinate;
  FormulaRef at; // the first value on the upper side
  bool yes_below;
};
std::optional<Cut> cut_of(const FormulaRef& condition, const std::vector<Coordinate>& domain) {
  auto coordinate = [&](const FormulaRef& f) -> std::optional<std::size_t> {
    for (std::size_t k = 0; k < domain.size(); ++k)
      if (f->op == Op::name && f->name == domain[k].name) return k;
    return std::nullopt;
  };
  auto symbolic = [&](const FormulaRef& f) {
    for (const Coordinate& c : domain)
      if (names_of(f).count(c.name) != 0) return false;
    return true;
  };
  if (condition->op < Op::lt || condition->op > Op::ge) return std::nullopt;
  FormulaRef x = condition->args[0], y = condition->args[1];
  Op op = condition->op;
  if (!coordinate(x)) {
    std::swap(x, y);
    op = op == Op::lt ? Op::gt : op == Op::le ? Op::ge : op == Op::gt ? Op::lt : Op::le;
  }
  auto k = coordinate(x);
  // No cut of the box: both sides are then proved on all of it, which is more than needed and often enough.
  if (!k || !symbolic(y)) return std::nullopt;
  FormulaRef next = make(Op::add, {y, integer(1)});
  switch (op) {
  case Op::lt: return Cut{*k, y, true};
  case Op::le: return Cut{*k, next, true};
  case Op::gt: return Cut{*k, next, false};
  default: return Cut{*k, y, false};
  }
}

// Does it have a value everywhere? A condition that is cut away takes its divisors with it, and a formula that means nothing for
// some values of the symbols is not proved by what it means for the others.
bool defined(const Engine& e, Lowering& l, const FormulaRef& f, const std::map<std::string, Form>& names) {
  for (const FormulaRef& a : f->args)
    if (!defined(e, l, a, names)) return false;
  if (f->op != Op::div && f->op != Op::mod && f->op != Op::shl && f->op != Op::shr) return true;
  auto by = l.lower(f->args[1], names);
  auto span = by ? l.range(*by) : std::nullopt;
  if (!span) return false;
  const auto& [least, greatest] = *span;
  if (f->op == Op::div || f->op == Op::mod)
    return e.context.positive(least) || e.context.positive(Poly() - greatest);
  constexpr Wide most = 60;
  return e.context.nonnegative(least) && e.context.nonnegative(Poly(most) - greatest);
}

// Each half is the formula with one side taken, on a box that contains every index of that side: proved of more than was asked. The
// halves together are all indices, so that the statement holds of each.
bool prove_piece(Engine& e, const Piece& piece, const PieceProof& proof, int depth, int& pieces) {
  // Halves of halves: twelve deep is 4096 pieces.
  if (++pieces > 4096 || e.cancelled()) return false;
  Lowering l(e.context);
  std::map<std::string, Form> names;
  // A box with an extent that is no polynomial has no digits; a cut may still make it one (max(0, min(T,
  // M))).
  bool polynomial = true;
  for (const Coordinate& c : piece.domain) {
    auto p = e.context.poly(c.extent);
    polynomial &= p.has_value();
    if (p && e.context.nonnegative(Poly() - *p)) return true; // empty
    if (p) names[c.name] = l.digit(l.root(*p));
  }
  if (polynomial) {
    std::vector<Form> forms;
    for (const FormulaRef& f : piece.values) {
      auto form = l.lower(f, names);
      if (!form) break;
      forms.push_back(*form);
    }
    if (forms.size() == piece.values.size()) {
      for (Form& f : forms) f = l.normal(f);
      if (proof(l, forms)) return true;
    } else {
      e.obligation(l.reason());
    }
  }
  if (depth == 0) return false;
  for (const FormulaRef& f : piece.values) {
    auto condition = undecided_case(f);
    if (!condition) continue;
    if (!defined(e, l, *condition, names)) {
      e.obligation("divisors of at least 1 in " + to_string(*condition));
      return false;
    }
    std::string text = to_string(*condition);
    auto cut = cut_of(*condition, piece.domain);
    for (bool yes : {true, false}) {
      Piece half = piece;
      for (FormulaRef& v : half.values) v = take_side(v, text, yes);
      if (cut) {
        Coordinate& c = half.domain[cut->coordinate];
        if (yes == cut->yes_below) {
          // min with the extent, as the threshold may lie beyond the domain; max with 0, as it may lie before
          // it.
          c.extent = make(Op::max, {integer(0), make(Op::min, {cut->at, c.extent})});
          if (auto p = e.context.poly(c.extent); !p) c.extent = cut->at; // a larger box is sound
        } else {
          // The coordinate counts from the cut now; below a cut that is negative it would begin before 0, which is more again.
          FormulaRef old = c.extent;
          c.extent = make(Op::sub, {old, cut->at});
          for (FormulaRef& v : half.values)
            v = replace(v, c.name, make(Op::add, {variable(c.name), cut->at}));
        }
      }
      if (!prove_piece(e, half, proof, depth - 1, pieces)) return false;
    }
    return true;
  }
  return false;
}

// Concrete coordinates one by one, identity in the rest: an xor with a coordinate of few values is a sum for each of them. All values of
// the coordinates that are fixed, so that nothing is left out.
bool prove_by_values(Engine& e, const Piece& piece, const PieceProof& proof, int& pieces) {
  std::vector<std::size_t> fixed;
  Wide points = 1;
  for (std::size_t k = 0; k < piece.domain.size(); ++k) {
    auto p = e.context.poly(piece.domain[k].extent);
    auto n = p ? p->constant() : std::nullopt;
    // The coordinates in their order while the product lasts; which ones are left symbolic does not matter for soundness.
    if (!n || *n > 4096 || points * *n > 4096) continue;
    points *= *n;
    fixed.push_back(k);
  }
  // With nothing fixed this is prove_piece() once more.
  if (fixed.empty() || points == 1) return false;
  for (Wide point = 0; point < points; ++point) {
    Piece here;
    here.values = piece.values;
    Wide rest = point;
    for (std::size_t k = 0; k < piece.domain.size(); ++k) {
      if (std::find(fixed.begin(), fixed.end(), k) == fixed.end()) {
        here.domain.push_back(piece.domain[k]);
        continue;
      }
      Wide n = *e.context.poly(piece.domain[k].extent)->constant();
      for (FormulaRef& v : here.values) v = replace(v, piece.domain[k].name, integer(rest % n));
      rest /= n;
    }
    int small = 0;
    if (!prove_piece(e, here, proof, 6, small)) return false;
    if ((pieces += small) > 65536) return false;
  }
  return true;
}

// One domain for all subjects: equal top-level extents, else the running index of the first; who asks about two has shown that their
// sizes are the same.
struct Common {
  Piece piece;
  bool indexed = false;
};
Common common(Engine& e, const std::vector<const Parts*>& subjects) {
  Common c;
  bool same = true;
  auto first = extent_formulas(*subjects[0]);
  for (const Parts* p : subjects) {
    auto other = extent_formulas(*p);
    same &= other.size() == first.size();
    for (std::size_t k = 0; same && k < first.size(); ++k) {
      auto x = e.context.poly(first[k]), y = e.context.poly(other[k]);
      // Extents that are no polynomials are the same when they are written the same; nothing else is known of
      // them here.
      same &= x && y ? *x == *y : to_string(first[k]) == to_string(other[k]);
    }
  }
  if (same) {
    std::vector<FormulaRef> names;
    for (std::size_t k = 0; k < first.size(); ++k) {
      c.piece.domain.push_back({"\x02" + std::to_string(k), first[k]});
      names.push_back(variable(c.piece.domain.back().name));
    }
    for (const Parts* p : subjects) c.piece.values.push_back(expand(*p, names));
  } else {
    c.indexed = true;
    c.piece.domain.push_back({"\x02i", size_formula(*subjects[0])});
    for (const Parts* p : subjects) c.piece.values.push_back(expand_index(*p, variable("\x02i")));
  }
  return c;
}

} // namespace

std::optional<Verdict> prove_pointwise(
    Engine& e, const std::vector<const Parts*>& subjects, const PieceProof& proof,
    const std::function<std::optional<std::string>(smt::Query&, const std::vector<std::string>&)>& negated,
    Finding::Kind kind, const FormulaRef& bound) {
  Common c = common(e, subjects);
  int pieces = 0;
  if (prove_piece(e, c.piece, proof, 12, pieces)) {
    e.claims.note("domain cut into " + std::to_string(pieces) + " pieces, each proved by its digits");
    return e.proved(pieces == 1 ? "digits" : "pieces");
  }
  // After the digits, which are quicker, and before value by value, which would take a symbolic coordinate
  // for hopeless.
  if (prove_by_residues(e, c.piece.domain, c.piece.values, kind, bound)) return e.proved("residue classes");
  if (prove_by_values(e, c.piece, proof, pieces)) {
    e.claims.note("concrete coordinates taken one by one, " + std::to_string(pieces) +
                  " cases, each proved by its digits");
    return e.proved("values x digits");
  }
  // With quotients as variables first, where linear reasoning sees q d <= a; solvers' own div and mod know more about numbers.
  for (bool variables : {true, false}) {
    smt::Query q(e.context);
    q.quotient_variables = variables;
    std::map<std::string, std::string> names;
    bool sayable = true;
    for (std::size_t k = 0; k < c.piece.domain.size(); ++k) {
      std::string name = c.indexed ? "i" : "c" + std::to_string(k);
      auto extent = q.term(c.piece.domain[k].extent, {});
      sayable &= extent.has_value();
      if (!extent) break;
      q.coordinate(name, *extent);
      names[c.piece.domain[k].name] = name;
    }
    std::vector<std::string> terms;
    for (const FormulaRef& f : c.piece.values) {
      auto t = sayable ? q.term(f, names) : std::nullopt;
      sayable &= t.has_value();
      if (t) terms.push_back(*t);
    }
    auto goal = sayable ? negated(q, terms) : std::nullopt;
    if (!goal) {
      e.obligation("a form without bit operations on unbounded values, for a solver");
      return std::nullopt;
    }
    q.goal(*goal);
    // The model's coordinates as one colexicographic index; whether it is a counterexample the replay says.
    auto found = [&](const std::map<std::string, Wide>& model) -> std::optional<Finding> {
      Finding f;
      f.kind = kind;
      f.environment = e.environment(model);
      if (bound) f.bound = evaluate(bound, [&](const std::string& n) { return f.environment.at(n); });
      Wide before = 1;
      for (std::size_t k = 0; k < c.piece.domain.size(); ++k) {
        auto it = model.find(c.indexed ? "i" : "c" + std::to_string(k));
        if (it == model.end()) return std::nullopt;
        f.index = add(f.index, multiply(before, it->second));
        before = multiply(before, evaluate(c.piece.domain[k].extent,
                                           [&](const std::string& n) { return f.environment.at(n); }));
      }
      return f;
    };
    if (auto v = e.ask(q, found)) return v;
  }
  return std::nullopt;
}

} // namespace inlay::solver
