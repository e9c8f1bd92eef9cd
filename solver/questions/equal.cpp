// A(i) = B(i): by the normal form of two layouts, which is unique; by their forms over common digits; by pieces; by a solver.
#include "questions/pointwise.h"

#include "inlay/solver/error.h"

#include <algorithm>
#include <bit>

namespace inlay::solver {

namespace {

struct Joint {
  Lowering lowering;
  Form a, b;
};

// A over digits of its own coordinates, B over the same index: forms over one box of independent digits are equal exactly when their
// coefficients are (lower.h), and where a digit had to be rounded up they are so on a larger box.
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
    // One digit a coordinate: formulas divide coordinates, and layouts are lowered over them by their own
    // modes.
    coordinates.push_back(j.lowering.digit(j.lowering.root(x)));
    index = index + Lowering::scale(coordinates.back(), before);
    before = before * x;
  }
  auto fa = j.lowering.lower(a, coordinates);
  auto fb =
      // By coordinates where they are the same, as an index has to be divided first and the extents may not
      // allow it.
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

// By the two normal forms; which layout both are goes into the certificate. Each over digits of its own, which have to be the index in
// full: rounded up they would be another domain. That both domains have one size has been shown before.
bool same_normal_form(Engine& e, const Parts& a, const Parts& b) {
  auto own_a = e.lower_alone(a), own_b = e.lower_alone(b);
  if (!own_a || !own_b || own_a->lowering.enlarged() || own_b->lowering.enlarged()) return false;
  auto flat_a = own_a->lowering.flat(own_a->form), flat_b = own_b->lowering.flat(own_b->form);
  if (!flat_a || !flat_b) return false;
  // Which modes became one goes into the trace, for its readers; the checker is told the layout between ("through").
  std::vector<Merge> merges;
  SymbolicFlat na = normal_form(*flat_a, &merges), nb = normal_form(*flat_b, &merges);
  if (!(na == nb) || !(own_a->form.constant == own_b->form.constant)) return false;
  for (const Merge& m : merges) e.claims.equal(m.second.stride, m.first.extent * m.first.stride, "merge");
  for (std::size_t k = 0; k < na.size(); ++k) {
    e.claims.equal(na[k].extent, nb[k].extent, "extent " + std::to_string(k) + " of the normal forms");
    e.claims.equal(na[k].stride, nb[k].stride, "stride " + std::to_string(k) + " of the normal forms");
  }
  e.claims.equal(own_a->form.constant, own_b->form.constant, "constant");
  e.digits("first", own_a->lowering);
  e.digits("second", own_b->lowering);
  std::string through = "through";
  for (const FlatDigit& m : na)
    through +=
        (through.size() == 7 ? " " : " | ") + e.context.str(m.extent) + " : " + e.context.str(m.stride);
  e.hints.push_back(na.empty() ? "through 1 : 0" : through);
  return true;
}

// The name of the method when the functions are the same over the digits of one of them.
std::optional<std::string> same_forms(Engine& e, const Parts& a, const Parts& b) {
  // Over the digits of either: one of the two may ask for a cut that the other one's extents do not allow.
  for (bool swapped : {false, true}) {
    auto j = lower_jointly(e, swapped ? b : a, swapped ? a : b);
    // Forms that differ prove nothing where a box is larger than the domain: what they are at real indices
    // may still be the same.
    if (!j || !(j->a == j->b)) continue;
    claim_forms(e, *j);
    e.digits(swapped ? "second" : "first", j->lowering);
    return has_parity(j->a) ? "parity normal form" : "digits";
  }
  return std::nullopt;
}

// What both apply last, in the same words, may go: f(x) = f(y) follows from x = y, whatever f is. The other way round it does
// not follow, so that this is no way to refute.
std::optional<std::pair<Parts, Parts>> without_common_steps(const Engine& e, Parts a, Parts b) {
  auto same_leaf = [&](const Leaf& x, const Leaf& y) {
    if (!x.formula && !y.formula) return x.value == y.value;
    auto p = x.formula ? e.context.poly(x.formula) : Poly(x.value);
    auto q = y.formula ? e.context.poly(y.formula) : Poly(y.value);
    return p && q && *p == *q;
  };
  auto same = [&](const Step& x, const Step& y) {
    if (x.kind != y.kind) return false;
    if (x.kind == Step::Kind::swizzle) return x.bits == y.bits && x.base == y.base && x.shift == y.shift;
    return x.kind == Step::Kind::offset && same_leaf(x.offset, y.offset);
  };
  bool any = false;
  while (!a.outer.empty() && !b.outer.empty() && same(a.outer.front(), b.outer.front())) {
    a.outer.erase(a.outer.begin());
    b.outer.erase(b.outer.begin());
    any = true;
  }
  if (!any) return std::nullopt;
  return std::pair{std::move(a), std::move(b)};
}

} // namespace

Verdict decide_equal(Engine& e) {
  const Parts &a = e.a(), &b = e.b();
  auto sa = e.size(a), sb = e.size(b);
  auto ea = e.extents(a), eb = e.extents(b);
  bool same_size = sa && sb && *sa == *sb && (!e.options.by_mode || *ea == *eb);
  // Sizes that are not the same polynomial may be the same number where the conditions say so, and are left to the instances.
  if (same_size) {
    e.claims.equal(*sa, *sb, "size");
    if (same_normal_form(e, a, b)) return e.proved("normal form");
    if (auto method = same_forms(e, a, b)) return e.proved(*method);
    if (auto cores = without_common_steps(e, a, b)) {
      e.hints.emplace_back("core of both");
      if (same_normal_form(e, cores->first, cores->second)) return e.proved("normal form");
      if (auto method = same_forms(e, cores->first, cores->second)) return e.proved(*method);
      e.hints.clear();
    }
  }
  bool plain = a.is_plain_layout() && b.is_plain_layout();
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.environment = env;
    f.kind = Finding::Kind::extents;
    Wide n = naive::size(a, env);
    // The default finding says `extents`: sizes that differ are told as such, with no index.
    if (n != naive::size(b, env)) return Check::fails(f);
    if (e.options.by_mode && naive::extents(a, env) != naive::extents(b, env)) return Check::fails(f);
    f.kind = Finding::Kind::values;
    // Normal forms of two sizes could be the same function as far as both go; the sizes are the same here.
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
      // Nothing below would help: an index of the one is none of the other where the sizes differ.
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

} // namespace inlay::solver
