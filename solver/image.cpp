// Statements about the image: injective, bijective, covers, disjoint.
//
// Injectivity is coNP-complete (two subsets of {a_k} with equal sums are a collision of
// (2,2,...):(a_1,a_2,...); Woeginger and Yu 1992), so there is no fast complete test. What settles real
// layouts is *domination*: sort the modes by stride; if each stride exceeds the greatest sum the modes before
// it can make, digits can be read off from the top and the layout is injective. Symbolically that is one
// inequality per mode, which is what a solver is asked instead of the definition. A bijection onto [0, size)
// is easy: it is exactly a stride chain (flat.h).
#include "layers.h"

#include "inlay/solver/error.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace inlay::solver {
namespace {

// Outer swizzles and offsets are injective: A is injective iff what they are applied to is.
Parts without_outer_bijections(const Parts& f) {
  Parts core = f;
  while (!core.outer.empty() && core.outer.front().kind != Step::Kind::layout)
    core.outer.erase(core.outer.begin());
  return core;
}

std::optional<Poly> magnitude(const Engine& e, const Poly& p) {
  if (e.context.nonnegative(p)) return p;
  if (e.context.nonnegative(Poly() - p)) return Poly() - p;
  return std::nullopt;
}

unsigned rank_over_gf2(std::vector<std::uint64_t> rows) {
  unsigned rank = 0;
  for (int bit = 0; bit < 64; ++bit) {
    auto pivot =
        std::find_if(rows.begin() + rank, rows.end(), [&](std::uint64_t r) { return (r >> bit) & 1; });
    if (pivot == rows.end()) continue;
    std::swap(*pivot, rows[rank]);
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (k != rank && ((rows[k] >> bit) & 1)) rows[k] ^= rows[rank];
    ++rank;
  }
  return rank;
}

// Domination over digits and parities. A set of parities whose masks have full rank over GF(2) determines its
// bits, and its values are told apart when each weight exceeds the sum of the smaller ones, just as with
// digits.
bool dominated(Engine& e, const Lowering& l, const Form& form) {
  struct Item {
    Poly stride, steps;
    std::uint64_t mask = 0;
  };
  std::vector<Item> left;
  std::uint64_t bits = 0;
  std::vector<std::uint64_t> masks;
  for (DigitId d : l.leaves()) {
    if (l.bit_of(d) >= 0 || l.extent(d).is_one()) continue;
    auto c = form.linear.find(d);
    if (c == form.linear.end()) return false; // a digit that does not matter
    auto size = magnitude(e, c->second);
    if (!size) return false;
    left.push_back({*size, l.extent(d) - Poly(1)});
  }
  for (DigitId d : l.leaves())
    if (l.bit_of(d) >= 0) bits |= std::uint64_t{1} << l.bit_of(d);
  for (const auto& [m, w] : form.parity) {
    auto size = magnitude(e, w);
    if (!size) return false;
    left.push_back({*size, Poly(1), m});
    masks.push_back(m);
  }
  if (rank_over_gf2(masks) != static_cast<unsigned>(std::popcount(bits))) return false;
  Poly reach;
  while (!left.empty()) {
    auto fits = [&](const Item& i) { return e.context.positive(i.stride - reach); };
    auto smaller = [&](const Item& x, const Item& y) { return e.context.nonnegative(y.stride - x.stride); };
    auto next = left.end();
    for (auto it = left.begin(); it != left.end(); ++it)
      if (fits(*it) && (next == left.end() || smaller(*it, *next))) next = it;
    if (next == left.end()) { // the context cannot say; a solver may, with the residual conditions
      for (auto it = left.begin(); it != left.end() && next == left.end(); ++it)
        if (e.at_least(it->stride, reach + Poly(1), "domination")) next = it;
      if (next == left.end()) return false;
    } else {
      e.claims.at_least(next->stride, reach + Poly(1), "domination");
    }
    reach = reach + next->stride * next->steps;
    left.erase(next);
  }
  return true;
}

Check check_injective(const Engine& e, const Parts& a, const naive::Environment& env) {
  Finding f;
  f.kind = Finding::Kind::collision;
  f.environment = env;
  auto collide = [&](Wide i, Wide j) {
    f.index = i, f.second = j;
    return Check::fails(f);
  };
  Evaluator x(a, env);
  Wide limit = e.evaluations();
  if (x.size() > limit && !e.thorough) limit = std::min<Wide>(limit, 4096);
  if (a.is_plain_layout()) {
    ConcreteFlat modes = concrete_modes(a, env);
    Wide before = 1;
    std::vector<std::pair<Wide, Wide>> sorted; // (|stride|, extent)
    for (const auto& m : modes) {
      if (m.extent > 1 && m.stride == 0) return collide(0, before);
      if (m.extent > 1) sorted.emplace_back(m.stride < 0 ? -m.stride : m.stride, m.extent);
      before = multiply(before, m.extent);
    }
    std::sort(sorted.begin(), sorted.end());
    Wide reach = 0;
    bool chain = true;
    for (auto [d, s] : sorted) {
      chain &= d > reach;
      reach = add(reach, multiply(d, s - 1));
    }
    if (chain) return Check::holds();
  }
  if (auto c = find_collision(x, std::min(limit, x.size()))) return collide(c->first, c->second);
  return x.size() <= limit ? Check::holds() : Check::undecided();
}

// Two copies of the coordinates with one value; for a layout the *differences* of digits, which is one copy
// less.
std::optional<Verdict> ask_injective(Engine& e, const Parts& a) {
  for (bool variables : {true, false}) {
    smt::Query q(e.context);
    q.quotient_variables = variables;
    auto extent = q.term(size_formula(a), {});
    if (!extent) return std::nullopt;
    std::map<std::string, std::string> first, second;
    std::vector<FormulaRef> names;
    auto extents = extent_formulas(a);
    std::string different;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      auto n = q.term(extents[k], {});
      if (!n) return std::nullopt;
      std::string x = "i" + std::to_string(k), y = "j" + std::to_string(k);
      q.coordinate(x, *n);
      q.coordinate(y, *n);
      names.push_back(variable("\x02" + std::to_string(k)));
      first[names.back()->name] = x;
      second[names.back()->name] = y;
      different += " (not (= " + x + " " + y + "))";
    }
    FormulaRef f = expand(a, names);
    auto x = q.term(f, first), y = q.term(f, second);
    if (!x || !y) {
      e.obligation("a form without bit operations on unbounded values, for a solver");
      return std::nullopt;
    }
    q.require("(or" + different + ")");
    q.goal("(= " + *x + " " + *y + ")");
    auto found = [&](const std::map<std::string, Wide>& model) -> std::optional<Finding> {
      Finding c;
      c.kind = Finding::Kind::collision;
      c.environment = e.environment(model);
      Wide before = 1;
      for (std::size_t k = 0; k < extents.size(); ++k) {
        c.index = add(c.index, multiply(before, model.at("i" + std::to_string(k))));
        c.second = add(c.second, multiply(before, model.at("j" + std::to_string(k))));
        before =
            multiply(before, evaluate(extents[k], [&](const std::string& n) { return c.environment.at(n); }));
      }
      return c;
    };
    if (auto v = e.ask(q, found)) return v;
  }
  return std::nullopt;
}

// "Sure" injectivity without a verdict: for bijective and covers.
bool surely_injective(Engine& e, const Parts& a) {
  Parts core = without_outer_bijections(a);
  auto own = e.lower_alone(core);
  if (!own || !dominated(e, own->lowering, own->form)) return false;
  e.digits("first", own->lowering);
  return true;
}

// Every case of the symbols holds; the trace says how many there are.
bool by_pieces(Engine& e, const Pieces& pieces, const std::function<bool(const PieceCase&)>& holds) {
  if (pieces.cases.empty() || !std::all_of(pieces.cases.begin(), pieces.cases.end(), holds)) return false;
  std::size_t boxes = 0;
  for (const PieceCase& c : pieces.cases) boxes += c.boxes.size();
  e.claims.note("domain cut into " + std::to_string(boxes) + " boxes in " +
                std::to_string(pieces.cases.size()) + " cases of the symbols");
  return true;
}

} // namespace

Pieces pieces_of(Engine& e, const Parts& f) {
  std::set<std::string> symbols;
  for (const auto& [name, p] : e.context.substitution()) symbols.insert(name);
  std::vector<Coordinate> domain;
  std::vector<FormulaRef> names;
  for (const FormulaRef& extent : extent_formulas(f)) {
    domain.push_back({"\x02" + std::to_string(domain.size()), extent});
    names.push_back(variable(domain.back().name));
  }
  Pieces p = cut_into_pieces(symbols, e.facts(), domain, expand(f, names), e.options.cancel);
  e.obligation(p.reason);
  return p;
}

Verdict decide_injective(Engine& e) {
  const Parts& a = e.a();
  if (surely_injective(e, a)) return e.proved("domination");
  e.claims.clear();
  auto check = [&](const naive::Environment& env) { return check_injective(e, a, env); };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  if (by_pieces(e, pieces_of(e, without_outer_bijections(a)), injective)) return e.proved("pieces");
  if (auto v = ask_injective(e, a)) return *v;
  e.obligation("each stride exceeds what the smaller ones reach together");
  return e.unknown();
}

Verdict decide_bijective(Engine& e) {
  const Parts& a = e.a();
  auto n = e.size(a);
  Parts core = a;
  // A swizzle permutes each aligned block of 2^(bits + base + |shift|).
  while (n && !core.outer.empty() && core.outer.front().kind == Step::Kind::swizzle) {
    const Step& s = core.outer.front();
    if (!exact_quotient(*n, Poly(Wide{1} << (s.bits + s.base + std::abs(s.shift))))) break;
    e.claims.note("a swizzle permutes aligned blocks of its reach, which divides the size");
    core.outer.erase(core.outer.begin());
  }
  if (auto own = e.lower_alone(core); own && n) {
    auto flat = own->lowering.flat(own->form);
    if (flat && own->form.constant.is_zero() && !own->lowering.enlarged()) {
      if (auto chain = stride_chain(*flat)) {
        Poly product(1);
        for (const FlatDigit& m : *chain) {
          e.claims.equal(m.stride, product, "stride chain");
          product = product * m.extent;
        }
        e.digits("first", own->lowering);
        return e.proved("stride chain");
      }
    }
    auto r = own->lowering.range(own->form);
    if (r && e.at_least(r->first, Poly(0), "least value") &&
        e.at_least(*n - Poly(1), r->second, "greatest value") && dominated(e, own->lowering, own->form)) {
      e.digits("first", own->lowering);
      return e.proved("domination and count");
    }
    e.claims.clear();
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.environment = env;
    Evaluator x(a, env);
    Wide size = x.size();
    if (a.is_plain_layout()) {
      ConcreteFlat modes = concrete_modes(a, env);
      f.kind = Finding::Kind::outside;
      f.bound = size;
      for (bool greatest : {false, true}) {
        f.index = extreme_index(modes, greatest);
        Wide v = x(f.index);
        if (v < 0 || v >= size) return Check::fails(f);
      }
      return check_injective(e, a, env); // injective and inside: onto, by counting
    }
    Wide limit = std::min(size, e.evaluations());
    if (limit < size && !e.thorough) limit = std::min<Wide>(limit, 4096);
    for (Wide i = 0; i < limit; ++i) {
      Wide v = x(i);
      if (v >= 0 && v < size) continue;
      f.kind = Finding::Kind::outside;
      f.bound = size, f.index = i;
      return Check::fails(f);
    }
    Check c = check_injective(e, a, env);
    return c.state == Check::State::holds && limit < size ? Check::undecided() : c;
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  // Injective and within [0, size): onto, by counting.
  auto inside = [&](const PieceCase& c) {
    auto size = c.context.poly(size_formula(a));
    return size && injective(c) && within(c, *size);
  };
  if (by_pieces(e, pieces_of(e, a), inside)) return e.proved("pieces");
  if (auto v = ask_injective(e, a)) {
    if (v->outcome == Outcome::refuted) return *v;
    for (bool variables : {true, false}) {
      smt::Query q(e.context);
      q.quotient_variables = variables;
      auto extents = extent_formulas(a);
      std::map<std::string, std::string> names;
      std::vector<FormulaRef> coordinates;
      bool sayable = true;
      for (std::size_t k = 0; k < extents.size(); ++k) {
        auto s = q.term(extents[k], {});
        sayable &= s.has_value();
        if (!s) break;
        q.coordinate("i" + std::to_string(k), *s);
        coordinates.push_back(variable("\x02" + std::to_string(k)));
        names[coordinates.back()->name] = "i" + std::to_string(k);
      }
      if (!sayable) break;
      auto x = q.term(expand(a, coordinates), names);
      auto size = q.term(size_formula(a), {});
      if (!x || !size) break;
      q.goal("(or (< " + *x + " 0) (>= " + *x + " " + *size + "))");
      auto found = [&](const std::map<std::string, Wide>& model) -> std::optional<Finding> {
        Finding f;
        f.kind = Finding::Kind::outside;
        f.environment = e.environment(model);
        f.bound = naive::size(a, f.environment);
        Wide before = 1;
        for (std::size_t k = 0; k < extents.size(); ++k) {
          f.index = add(f.index, multiply(before, model.at("i" + std::to_string(k))));
          before = multiply(before,
                            evaluate(extents[k], [&](const std::string& s) { return f.environment.at(s); }));
        }
        return f;
      };
      e.claims.note("injective by " + v->method + "; below: every value is in [0, size)");
      if (auto w = e.ask(q, found)) return *w;
    }
  }
  e.obligation("an order of the modes in which each stride is the product of the extents before it");
  return e.unknown();
}

Verdict decide_covers(Engine& e) {
  const Parts& a = e.a();
  auto n = e.context.poly(e.term());
  auto size = e.size(a);
  if (auto own = e.lower_alone(a); own && n && !own->lowering.enlarged()) {
    // From [0, reach) with a stride d <= reach and s steps: [0, reach + d (s - 1)).
    auto flat = own->lowering.flat(own->form);
    if (flat && own->form.constant.is_zero()) {
      SymbolicFlat left;
      for (const FlatDigit& m : *flat)
        if (!m.extent.is_one() && !m.stride.is_zero()) left.push_back(m);
      Poly reach(1);
      bool progress = true;
      while (progress && !e.context.nonnegative(reach - *n)) {
        progress = false;
        for (auto it = left.begin(); it != left.end(); ++it) {
          if (!e.context.nonnegative(it->stride) || !e.context.nonnegative(reach - it->stride)) continue;
          e.claims.at_least(reach, it->stride, "no gap before this stride");
          reach = reach + it->stride * (it->extent - Poly(1));
          left.erase(it);
          progress = true;
          break;
        }
      }
      if (e.at_least(reach, *n, "everything is reached")) {
        e.digits("first", own->lowering);
        return e.proved("stride chain");
      }
    }
    // Injective and inside [0, size): all of it.
    auto r = own->lowering.range(own->form);
    if (r && size && e.at_least(*size, *n, "enough elements") &&
        e.at_least(r->first, Poly(0), "least value") &&
        e.at_least(*size - Poly(1), r->second, "greatest value") && dominated(e, own->lowering, own->form)) {
      e.digits("first", own->lowering);
      return e.proved("domination and count");
    }
    e.claims.clear();
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::missing;
    f.environment = env;
    Wide bound = evaluate(e.term(), [&](const std::string& s) { return env.at(s); });
    Evaluator x(a, env);
    if (x.size() > e.evaluations()) return Check::undecided();
    if (bound <= 0) return Check::holds();
    bound = std::min(bound, x.size() + 1); // size + 1 values cannot all be there
    std::vector<bool> seen(static_cast<std::size_t>(bound));
    for (Wide i = 0; i < x.size(); ++i) {
      Wide v = x(i);
      if (v >= 0 && v < bound) seen[static_cast<std::size_t>(v)] = true;
    }
    auto hole = std::find(seen.begin(), seen.end(), false);
    if (hole == seen.end()) return Check::holds();
    f.bound = hole - seen.begin();
    return Check::fails(f);
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  auto all = [&](const PieceCase& c) { // a bijection onto [0, size), and that is enough
    auto here = c.context.poly(size_formula(a)), bound = c.context.poly(e.term());
    return here && bound && c.context.nonnegative(*here - *bound) && injective(c) && within(c, *here);
  };
  if (by_pieces(e, pieces_of(e, a), all)) return e.proved("pieces");
  e.obligation("strides that leave no gap before " + to_string(e.term()));
  return e.unknown();
}

Verdict decide_disjoint(Engine& e) {
  const Parts &a = e.a(), &b = e.b();
  auto own_a = e.lower_alone(a), own_b = e.lower_alone(b);
  if (own_a && own_b) {
    auto ra = own_a->lowering.range(own_a->form), rb = own_b->lowering.range(own_b->form);
    if (ra && rb) {
      if (e.at_least(rb->first, ra->second + Poly(1), "the first ends before the second begins") ||
          e.at_least(ra->first, rb->second + Poly(1), "the second ends before the first begins")) {
        e.digits("first", own_a->lowering);
        e.digits("second", own_b->lowering);
        return e.proved("bounds of digits");
      }
    }
    // All values of A are constant_a modulo g, all of B constant_b modulo g.
    Wide g = 0;
    for (const Form* f : {&own_a->form, &own_b->form}) {
      for (const auto& [d, c] : f->linear) g = gcd(g, c.content());
      for (const auto& [m, c] : f->parity) g = gcd(g, c.content());
    }
    Poly apart = own_a->form.constant - own_b->form.constant;
    for (const auto& [m, c] : apart.terms())
      if (!m.empty()) g = gcd(g, c);
    auto constant = apart.terms().find(Monomial{});
    if (g > 1 && constant != apart.terms().end() && constant->second % g != 0) {
      e.claims.note("modulo " + to_string(g) + " the values differ by " +
                    to_string(floor_mod(constant->second, g)));
      e.digits("first", own_a->lowering);
      e.digits("second", own_b->lowering);
      return e.proved("residues");
    }
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::shared;
    f.environment = env;
    Evaluator x(a, env), y(b, env);
    if (exceeds(e.evaluations(), {x.size(), y.size()})) {
      if (x(0) == y(0)) return Check::fails(f);
      return Check::undecided();
    }
    std::vector<std::pair<Wide, Wide>> values;
    for (Wide i = 0; i < x.size(); ++i) values.emplace_back(x(i), i);
    std::sort(values.begin(), values.end());
    for (Wide j = 0; j < y.size(); ++j) {
      Wide v = y(j);
      auto it = std::lower_bound(values.begin(), values.end(), std::pair<Wide, Wide>{v, 0});
      if (it == values.end() || it->first != v) continue;
      f.index = it->second, f.second = j;
      return Check::fails(f);
    }
    return Check::holds();
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  for (bool variables : {true, false}) {
    smt::Query q(e.context);
    q.quotient_variables = variables;
    auto n = q.term(size_formula(a), {}), m = q.term(size_formula(b), {});
    if (!n || !m) break;
    q.coordinate("i", *n);
    q.coordinate("j", *m);
    auto x = q.term(expand_index(a, variable("\x02i")), {{"\x02i", "i"}});
    auto y = q.term(expand_index(b, variable("\x02j")), {{"\x02j", "j"}});
    if (!x || !y) break;
    q.goal("(= " + *x + " " + *y + ")");
    auto found = [&](const std::map<std::string, Wide>& model) -> std::optional<Finding> {
      Finding f;
      f.kind = Finding::Kind::shared;
      f.environment = e.environment(model);
      f.index = model.at("i"), f.second = model.at("j");
      return f;
    };
    if (auto v = e.ask(q, found)) return *v;
  }
  e.obligation("bounds or residues that keep the two images apart");
  return e.unknown();
}

} // namespace inlay::solver
