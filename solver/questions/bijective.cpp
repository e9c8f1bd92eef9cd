// Onto [0, size): a stride chain is one, and only that; else injective and inside, by counting.
#include "questions/bounds.h"
#include "questions/image.h"

namespace inlay::solver {

Verdict decide_bijective(Engine& e) {
  const Parts& a = e.a();
  auto n = e.size(a);
  const Parts core = n ? without_block_swizzles(e, a, *n) : a;
  // A chain counts indices, and a box that was rounded up has more than the size.
  if (auto own = e.lower_image(core); own && n) {
    auto flat = own->lowering.flat(own->form);
    // Onto [0, size) from 0: with a constant the least value is another one. Parities are no modes (flat).
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
    // n different values among n. On a box that was rounded up both are shown of more indices than there are, which is fine: the
    // counting is done with those of the domain.
    auto r = own->lowering.range(own->form);
    if (r && e.at_least(r->first, Poly(0), "least value") &&
        e.at_least(*n - Poly(1), r->second, "greatest value") && dominated(e, own->lowering, own->form)) {
      e.digits("first", own->lowering);
      return e.proved("domination and count");
    }
    e.claims.clear();
    // Digits that were rounded up reach beyond the size, and tell indices apart all the same; that the values of the real ones stay
    // inside is then said without digits.
    if (dominated(e, own->lowering, own->form) && within_by_bounds(e, core, *n)) {
      e.digits("first", own->lowering);
      return e.proved("domination and bounds of blocks");
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
        // The two extremes before the collisions: a hole above is found in no time, a collision by looking at
        // all indices.
        f.index = extreme_index(modes, greatest);
        Wide v = x(f.index);
        if (v < 0 || v >= size) return Check::fails(f);
      }
      return check_injective(e, a, env); // injective and inside: onto, by counting
    }
    Wide limit = std::min(size, e.evaluations());
    if (limit < size && !e.thorough) limit = std::min<Wide>(limit, 4096);
    // Values that are inside are places in a bitmap, so that one round decides both halves; check_injective evaluates everything
    // twice more, and has to only where two values are the same. 2^20 bits are cleared faster than 4096 indices are evaluated.
    std::vector<bool> taken(size <= Wide{1} << 20 ? static_cast<std::size_t>(size) : 0);
    bool twice = taken.empty();
    for (Wide i = 0; i < limit; ++i) {
      Wide v = x(i);
      if (v < 0 || v >= size) {
        f.kind = Finding::Kind::outside;
        f.bound = size, f.index = i;
        return Check::fails(f);
      }
      if (twice) continue;
      auto bit = taken[static_cast<std::size_t>(v)];
      twice = bit;
      bit = true;
    }
    if (!twice) return limit < size ? Check::undecided() : Check::holds();
    // Injective as far as was looked, or by a chain; inside as far as was looked.
    Check c = check_injective(e, a, env);
    return c.state == Check::State::holds && limit < size ? Check::undecided() : c;
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  // Injective and within [0, size): onto, by counting.
  auto inside = [&](const PieceCase& c) {
    auto size = c.context.poly(size_formula(a));
    return size && injective(c) && within(c, *size);
  };
  if (by_pieces(e, pieces_of(e, core), inside)) return e.proved("pieces");
  if (auto v = ask_injective(e, a)) {
    // Injective by a solver is half of it; the other half is a query about one index instead of two.
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
      // In neither spelling then: what has no term with variables for quotients has none without.
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
      // The certificate's queries are derived anew from the claim and hold both halves (derive_raw.cpp); this
      // is for who reads the trace.
      e.claims.note("injective by " + v->method + "; below: every value is in [0, size)");
      if (auto w = e.ask(q, found)) return *w;
    }
  }
  e.obligation("an order of the modes in which each stride is the product of the extents before it");
  return e.unknown();
}

} // namespace inlay::solver
