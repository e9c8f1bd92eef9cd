// Pointwise statements: A(i) = B(i), 0 <= A(i) < N, W | A(i), A(B(i)) = i. They survive cutting the domain
// into pieces (where a min, max or select changes sides) and enlarging it, which the layers below make use
// of.
#include "layers.h"

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

Wide extreme_index(const ConcreteFlat& modes, bool greatest) {
  Wide index = 0, before = 1;
  for (const auto& m : modes) {
    if ((m.stride > 0) == greatest && m.stride != 0) index = add(index, multiply(m.extent - 1, before));
    before = multiply(before, m.extent);
  }
  return index;
}

namespace {

struct Joint {
  Lowering lowering;
  Form a, b;
};

// A over digits of its own coordinates, B over the same index.
std::optional<Joint> lower_jointly(Engine& e, const Parts& a, const Parts& b) {
  Joint j{Lowering(e.context), {}, {}};
  auto ea = e.extents(a), eb = e.extents(b);
  if (!ea || !eb) {
    e.obligation("polynomial extents");
    return std::nullopt;
  }
  std::vector<Form> coordinates;
  Form index;
  Poly before(1);
  for (const Poly& x : *ea) {
    coordinates.push_back(j.lowering.digit(j.lowering.root(x)));
    index = index + Lowering::scale(coordinates.back(), before);
    before = before * x;
  }
  auto fa = j.lowering.lower(a, coordinates);
  auto fb =
      fa ? (*ea == *eb ? j.lowering.lower(b, coordinates) : j.lowering.lower_index(b, index)) : std::nullopt;
  if (!fb) {
    e.obligation(j.lowering.reason());
    return std::nullopt;
  }
  j.a = j.lowering.normal(*fa);
  j.b = j.lowering.normal(*fb);
  return j;
}

bool has_parity(const Form& f) {
  return std::any_of(f.parity.begin(), f.parity.end(),
                     [](const auto& t) { return std::popcount(t.first) > 1; });
}

void claim_forms(Engine& e, const Joint& j) {
  e.claims.note("digits " + j.lowering.str(j.a));
  e.claims.equal(j.a.constant, j.b.constant, "constant");
  for (const auto& [d, c] : j.a.linear)
    e.claims.equal(c, j.b.linear.at(d), "coefficient of digit " + std::to_string(d));
  for (const auto& [m, w] : j.a.parity)
    e.claims.equal(w, j.b.parity.at(m), "weight of parity " + std::to_string(m));
}

// ---- pieces: formulas on a common box, cut where a case distinction depends on a coordinate

struct Piece {
  std::vector<Coordinate> domain;
  std::vector<FormulaRef> values;
};

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
  if (!k || !symbolic(y)) return std::nullopt;
  FormulaRef next = make(Op::add, {y, integer(1)});
  switch (op) {
  case Op::lt: return Cut{*k, y, true};
  case Op::le: return Cut{*k, next, true};
  case Op::gt: return Cut{*k, next, false};
  default: return Cut{*k, y, false};
  }
}

using PieceProof = std::function<bool(Lowering&, const std::vector<Form>&)>;

bool prove_piece(Engine& e, const Piece& piece, const PieceProof& proof, int depth, int& pieces) {
  if (++pieces > 4096 || e.cancelled()) return false;
  Lowering l(e.context);
  std::map<std::string, Form> names;
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
    std::string text = to_string(*condition);
    auto cut = cut_of(*condition, piece.domain);
    for (bool yes : {true, false}) {
      Piece half = piece;
      for (FormulaRef& v : half.values) v = take_side(v, text, yes);
      if (cut) {
        Coordinate& c = half.domain[cut->coordinate];
        if (yes == cut->yes_below) {
          c.extent = make(Op::max, {integer(0), make(Op::min, {cut->at, c.extent})});
          if (auto p = e.context.poly(c.extent); !p) c.extent = cut->at; // a larger box is sound
        } else {
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

// Concrete coordinates one by one, identity in the rest.
bool prove_by_values(Engine& e, const Piece& piece, const PieceProof& proof, int& pieces) {
  std::vector<std::size_t> fixed;
  Wide points = 1;
  for (std::size_t k = 0; k < piece.domain.size(); ++k) {
    auto p = e.context.poly(piece.domain[k].extent);
    auto n = p ? p->constant() : std::nullopt;
    if (!n || *n > 4096 || points * *n > 4096) continue;
    points *= *n;
    fixed.push_back(k);
  }
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

// One domain for all subjects: equal top-level extents, else the running index.
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

// Pieces, then values, then a solver on the whole. `negated` writes the negation of the claim as an SMT term;
// `finding` names the kind of counterexample.
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
  if (prove_by_values(e, c.piece, proof, pieces)) {
    e.claims.note("concrete coordinates taken one by one, " + std::to_string(pieces) +
                  " cases, each proved by its digits");
    return e.proved("values x digits");
  }
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

// Looks at every index of a small instance, at a sample of a large one.
template <class Fails>
Check scan(const Engine& e, Wide size, const Fails& fails) {
  Wide limit = std::min(size, e.evaluations());
  // What cannot be enumerated in full is looked at in full last, when nothing else has an answer.
  if (limit < size && !e.thorough) limit = std::min<Wide>(limit, 4096);
  for (Wide i = 0; i < limit; ++i) {
    if ((i & 0xffff) == 0 && e.cancelled()) return Check::undecided();
    if (auto f = fails(i)) return Check::fails(*f);
  }
  if (limit == size) return Check::holds();
  // Powers of two and their neighbours, and a fixed pseudo-random walk: where layouts that differ usually do.
  for (Wide p = std::max<Wide>(limit, 1); p<size; p = p> size / 2 ? size : 2 * p)
    for (Wide i : {p - 1, p, p + 1})
      if (i < size)
        if (auto f = fails(i)) return Check::fails(*f);
  if (auto f = fails(size - 1)) return Check::fails(*f);
  std::uint64_t state = 88172645463325252ULL;
  for (int k = 0, most = e.concrete() ? 20000 : 512; k < most; ++k) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    if (auto f = fails(static_cast<Wide>(state) % size)) return Check::fails(*f);
  }
  return Check::undecided();
}

} // namespace

Verdict decide_equal(Engine& e) {
  const Parts &a = e.a(), &b = e.b();
  auto sa = e.size(a), sb = e.size(b);
  auto ea = e.extents(a), eb = e.extents(b);
  bool same_size = sa && sb && *sa == *sb && (!e.options.by_mode || *ea == *eb);
  if (same_size) {
    e.claims.equal(*sa, *sb, "size");
    auto own_a = e.lower_alone(a), own_b = e.lower_alone(b);
    if (own_a && own_b && !own_a->lowering.enlarged() && !own_b->lowering.enlarged()) {
      auto flat_a = own_a->lowering.flat(own_a->form), flat_b = own_b->lowering.flat(own_b->form);
      if (flat_a && flat_b) {
        std::vector<Merge> merges;
        SymbolicFlat na = normal_form(*flat_a, &merges), nb = normal_form(*flat_b, &merges);
        if (na == nb && own_a->form.constant == own_b->form.constant) {
          for (const Merge& m : merges)
            e.claims.equal(m.second.stride, m.first.extent * m.first.stride, "merge");
          for (std::size_t k = 0; k < na.size(); ++k) {
            e.claims.equal(na[k].extent, nb[k].extent,
                           "extent " + std::to_string(k) + " of the normal forms");
            e.claims.equal(na[k].stride, nb[k].stride,
                           "stride " + std::to_string(k) + " of the normal forms");
          }
          e.claims.equal(own_a->form.constant, own_b->form.constant, "constant");
          e.digits("first", own_a->lowering);
          e.digits("second", own_b->lowering);
          std::string through = "through";
          for (const FlatDigit& m : na)
            through += (through.size() == 7 ? " " : " | ") + e.context.str(m.extent) + " : " +
                       e.context.str(m.stride);
          e.hints.push_back(na.empty() ? "through 1 : 0" : through);
          return e.proved("normal form");
        }
      }
    }
    for (bool swapped : {false, true}) {
      auto j = lower_jointly(e, swapped ? b : a, swapped ? a : b);
      if (j && j->a == j->b) {
        claim_forms(e, *j);
        e.digits(swapped ? "second" : "first", j->lowering);
        return e.proved(has_parity(j->a) ? "parity normal form" : "digits");
      }
    }
  }
  bool plain = a.is_plain_layout() && b.is_plain_layout();
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.environment = env;
    f.kind = Finding::Kind::extents;
    Wide n = naive::size(a, env);
    if (n != naive::size(b, env)) return Check::fails(f);
    if (e.options.by_mode && naive::extents(a, env) != naive::extents(b, env)) return Check::fails(f);
    f.kind = Finding::Kind::values;
    if (plain) {
      auto d = first_difference(normal_form(concrete_modes(a, env)), normal_form(concrete_modes(b, env)));
      if (!d) return Check::holds();
      f.index = *d;
      return Check::fails(f);
    }
    Evaluator x(a, env), y(b, env);
    return scan(e, n, [&](Wide i) -> std::optional<Finding> {
      if (x(i) == y(i)) return std::nullopt;
      f.index = i;
      return f;
    });
  };
  if (auto v = e.by_instances(check, plain ? "normal form" : "enumeration")) return *v;
  if (!same_size) {
    if (!sa || !sb) {
      e.obligation("polynomial sizes");
    } else {
      e.obligation(e.context.str(*sa) + " = " + e.context.str(*sb));
    }
    return e.unknown();
  }
  auto proof = [](Lowering&, const std::vector<Form>& f) { return f[0] == f[1]; };
  auto negated = [](smt::Query&, const std::vector<std::string>& t) -> std::optional<std::string> {
    return "(not (= " + t[0] + " " + t[1] + "))";
  };
  if (auto v = prove_pointwise(e, {&a, &b}, proof, negated, Finding::Kind::values, nullptr)) return *v;
  return e.unknown();
}

Verdict decide_within(Engine& e) {
  const Parts& a = e.a();
  auto bound = e.context.poly(e.term());
  auto inside = [&](Lowering& l, const Form& f) {
    auto r = l.range(f);
    return r && bound && e.at_least(r->first, Poly(0), "least value") &&
           e.at_least(*bound - Poly(1), r->second, "greatest value");
  };
  if (auto own = e.lower_alone(a)) {
    if (inside(own->lowering, own->form)) {
      e.digits("first", own->lowering);
      return e.proved("bounds of digits");
    }
    e.claims.clear();
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::outside;
    f.environment = env;
    f.bound = evaluate(e.term(), [&](const std::string& n) { return env.at(n); });
    Evaluator x(a, env);
    auto fails = [&](Wide i) -> std::optional<Finding> {
      Wide v = x(i);
      if (v >= 0 && v < f.bound) return std::nullopt;
      f.index = i;
      return f;
    };
    if (a.is_plain_layout()) {
      ConcreteFlat modes = concrete_modes(a, env);
      for (bool greatest : {false, true})
        if (auto bad = fails(extreme_index(modes, greatest))) return Check::fails(*bad);
      return Check::holds();
    }
    return scan(e, x.size(), fails);
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  Pieces pieces = pieces_of(e, a);
  bool all = !pieces.cases.empty();
  for (const PieceCase& c : pieces.cases) {
    auto n = c.context.poly(e.term());
    all = all && n && within(c, *n);
  }
  if (all) return e.proved("pieces");
  auto proof = [&](Lowering& l, const std::vector<Form>& f) { return inside(l, f[0]); };
  auto negated = [&](smt::Query& q, const std::vector<std::string>& t) -> std::optional<std::string> {
    auto n = q.term(e.term(), {});
    if (!n) return std::nullopt;
    return "(or (< " + t[0] + " 0) (>= " + t[0] + " " + *n + "))";
  };
  if (auto v = prove_pointwise(e, {&a}, proof, negated, Finding::Kind::outside, e.term())) return *v;
  return e.unknown();
}

namespace {

// Does w divide p for all values? By exact division, else by trying every residue class of the symbols modulo
// w.
bool divides(Engine& e, const Poly& w, const Poly& p) {
  if (auto q = exact_quotient(p, w)) {
    e.claims.equal(p, w * *q, "multiple");
    return true;
  }
  auto m = w.constant();
  std::vector<Symbol> symbols = p.symbols();
  if (!m || *m <= 0) return false;
  Wide classes = 1;
  for (std::size_t k = 0; k < symbols.size(); ++k)
    if (*m > 65536 || (classes *= *m) > 65536) return false;
  std::vector<Wide> values(e.context.names().size(), 0);
  for (Wide c = 0; c < classes; ++c) {
    Wide rest = c;
    for (Symbol s : symbols) values[s] = rest % *m, rest /= *m;
    if (floor_mod(p.at(values), *m) != 0) return false;
  }
  e.claims.note(e.context.str(w) + " divides " + e.context.str(p) + ": all " + to_string(classes) +
                " residue classes");
  return true;
}

} // namespace

Verdict decide_aligned(Engine& e) {
  const Parts& a = e.a();
  auto w = e.context.poly(e.term());
  if (w && w->constant() && *w->constant() < 1)
    throw QuestionError("aligned: the alignment is " + to_string(*w->constant()) +
                        "\n  hint   it is at least 1");
  auto aligned = [&](Lowering&, const Form& f) {
    if (!w || !e.at_least(*w, Poly(1), "the alignment is positive")) return false;
    bool yes = divides(e, *w, f.constant);
    for (const auto& [d, c] : f.linear) yes = yes && divides(e, *w, c);
    for (const auto& [m, c] : f.parity) yes = yes && divides(e, *w, c);
    return yes;
  };
  if (auto own = e.lower_alone(a)) {
    if (aligned(own->lowering, own->form)) {
      e.digits("first", own->lowering);
      return e.proved("residues");
    }
    e.claims.clear();
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::misaligned;
    f.environment = env;
    f.bound = evaluate(e.term(), [&](const std::string& n) { return env.at(n); });
    if (f.bound < 1)
      throw QuestionError("aligned: the alignment is " + to_string(f.bound) +
                          " for some values of the symbols\n  hint   it is at least 1");
    Evaluator x(a, env);
    auto fails = [&](Wide i) -> std::optional<Finding> {
      if (x(i) % f.bound == 0) return std::nullopt;
      f.index = i;
      return f;
    };
    if (a.is_plain_layout()) { // V divides L(i) for all i iff it divides every stride that is used: L(P_k) =
                               // d_k
      Wide before = 1;
      for (const auto& m : concrete_modes(a, env)) {
        if (m.extent > 1)
          if (auto bad = fails(before)) return Check::fails(*bad);
        before = multiply(before, m.extent);
      }
      return Check::holds();
    }
    return scan(e, x.size(), fails);
  };
  if (auto v = e.by_instances(check, "residues")) return *v;
  auto proof = [&](Lowering& l, const std::vector<Form>& f) { return aligned(l, f[0]); };
  auto negated = [&](smt::Query& q, const std::vector<std::string>& t) -> std::optional<std::string> {
    auto n = q.term(e.term(), {});
    if (!n) return std::nullopt;
    return "(not (= (mod " + t[0] + " " + *n + ") 0))";
  };
  if (auto v = prove_pointwise(e, {&a}, proof, negated, Finding::Kind::misaligned, e.term())) return *v;
  return e.unknown();
}

Verdict decide_inverse(Engine& e) {
  const Parts &a = e.a(), &b = e.b();
  auto sa = e.size(a);
  if (auto own = e.lower_alone(b); own && sa) {
    // A on top of B, over B's digits; the index over the same digits.
    auto eb = e.extents(b);
    auto r = own->lowering.range(own->form);
    if (eb && r && e.at_least(r->first, Poly(0), "least value of the second") &&
        e.at_least(*sa - Poly(1), r->second, "greatest value of the second")) {
      auto image = own->lowering.lower_index(a, own->form);
      if (image) {
        Form index;
        Poly before(1);
        // The roots of lower_alone are the flat modes in order, so the index is their mixed-radix sum.
        SymbolicFlat identity;
        for (DigitId d : own->lowering.leaves()) {
          index = index + Lowering::scale(own->lowering.digit(d), before);
          before = before * own->lowering.extent(d);
        }
        Form left = own->lowering.normal(*image), right = own->lowering.normal(index);
        if (left == right && !own->lowering.enlarged()) {
          e.claims.equal(left.constant, right.constant, "constant of A(B(i)) - i");
          for (const auto& [d, c] : left.linear) e.claims.equal(c, right.linear.at(d), "coefficient");
          for (const auto& [m, c] : left.parity) e.claims.equal(c, right.parity.at(m), "weight");
          e.digits("second", own->lowering);
          return e.proved("digits");
        }
      } else {
        e.obligation(own->lowering.reason());
      }
    }
    e.claims.clear();
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::inverse;
    f.environment = env;
    Evaluator x(a, env), y(b, env);
    return scan(e, y.size(), [&](Wide i) -> std::optional<Finding> {
      Wide v = y(i);
      if (v >= 0 && v < x.size() && x(v) == i) return std::nullopt;
      f.index = i;
      return f;
    });
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  // A solver on A(B(i)) = i and 0 <= B(i) < size A.
  for (bool variables : {true, false}) {
    smt::Query q(e.context);
    q.quotient_variables = variables;
    auto extent = q.term(size_formula(b), {});
    if (!extent) break;
    q.coordinate("i", *extent);
    std::map<std::string, std::string> names{{"\x02i", "i"}};
    auto y = q.term(expand_index(b, variable("\x02i")), names);
    if (!y) break;
    q.define("y", *y);
    names["\x02y"] = "y";
    auto x = q.term(expand_index(a, variable("\x02y")), names);
    auto n = q.term(size_formula(a), {});
    if (!x || !n) break;
    q.goal("(or (< y 0) (>= y " + *n + ") (not (= " + *x + " i)))");
    auto found = [&](const std::map<std::string, Wide>& model) -> std::optional<Finding> {
      Finding f;
      f.kind = Finding::Kind::inverse;
      f.environment = e.environment(model);
      f.index = model.at("i");
      return f;
    };
    if (auto v = e.ask(q, found)) return *v;
  }
  return e.unknown();
}

} // namespace inlay::solver
