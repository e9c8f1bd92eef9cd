// What an expression asks of its arguments so that it is a number.
#include "domains.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace inlay::codegen::provenance {
namespace {
bool whole(double power) { return power == std::floor(power); }
} // namespace

bool commutes(Fn fn) {
  switch (fn) {
  case Fn::add:
  case Fn::mul:
  case Fn::max:
  case Fn::min:
  case Fn::word_add:
  case Fn::word_mul:
  case Fn::word_mul_hi:
  case Fn::word_and:
  case Fn::word_or:
  case Fn::word_xor:
  case Fn::word_equal: return true;
  default: return false;
  }
}
bool same_kind(const ExprNode& a, const ExprNode& b) {
  return a.fn == b.fn && a.args.size() == b.args.size() && a.tensor == b.tensor && a.value == b.value &&
         a.index.size() == b.index.size() && a.monoid == b.monoid && a.through == b.through;
}
// The same but for indices, and for the order of what commutes.
bool alike(const Expressions& x, int i, int j, std::map<std::pair<int, int>, bool>& known) {
  if (i == j) return true;
  if (const auto found = known.find({i, j}); found != known.end()) return found->second;
  const ExprNode a = x.node(i), b = x.node(j);
  bool same = same_kind(a, b);
  std::vector<bool> taken(b.args.size(), false);
  for (std::size_t n = 0; same && n < a.args.size(); ++n) {
    std::size_t m = commutes(a.fn) ? 0 : n;
    while (m < b.args.size() && (taken[m] || !alike(x, a.args[n], b.args[m], known)))
      m = commutes(a.fn) ? m + 1 : b.args.size();
    same = m < b.args.size();
    if (same) taken[m] = true;
  }
  return known[{i, j}] = same;
}

Domains::Needs Domains::lost(Expr from, Expr to) {
  Needs out;
  if (from == to) return out;
  const Needs wanted = needs(from.id), &has = needs(to.id);
  for (const auto& [of, need] : wanted)
    if (const unsigned missing = need & ~met(of, has); missing != 0) out[of] = missing;
  return out;
}

unsigned Domains::met(const Of& of, const Needs& has) {
  unsigned out = 0;
  for (auto at = has.lower_bound({of.base, {}}); at != has.end() && at->first.base == of.base; ++at)
    if (std::includes(of.where.begin(), of.where.end(), at->first.where.begin(), at->first.where.end()))
      out |= at->second;
  return out;
}

void Domains::add(Needs& into, Of of, unsigned need) {
  need &= ~met(of, into);
  if (need == 0) return;
  // What is asked for under these conditions and more is asked for already. Without this a chain of k choices, each between what the
  // one before it compares, asks the same under every subset of k conditions.
  for (auto at = into.lower_bound({of.base, {}}); at != into.end() && at->first.base == of.base;) {
    if (std::includes(at->first.where.begin(), at->first.where.end(), of.where.begin(), of.where.end()))
      at->second &= ~need;
    at = at->second == 0 ? into.erase(at) : std::next(at);
  }
  into[std::move(of)] |= need;
}

unsigned Domains::open(int id, unsigned need) {
  const Sign s = sign(id);
  if (s != Sign::unknown) need &= ~static_cast<unsigned>(not_negative);
  if (s == Sign::positive) need &= ~static_cast<unsigned>(not_zero);
  return need;
}

std::string Domains::text(int id, unsigned need, const std::function<std::string(int)>& name) const {
  return to_string({&x_, id}, name) + ((need & finite) != 0   ? " is not infinite"
                                       : need == not_zero     ? " is not 0"
                                       : need == not_negative ? " is not negative"
                                                              : " is positive");
}

Domains::Sign Domains::sign(int id) {
  if (const auto found = sign_.find(id); found != sign_.end()) return found->second;
  const ExprNode n = x_.node(id);
  const auto arg = [&](std::size_t i) { return sign(n.args[i]); };
  const auto least = [&](std::size_t from) {
    Sign s = Sign::positive;
    for (std::size_t i = from; i < n.args.size(); ++i) s = std::min(s, arg(i));
    return s;
  };
  const auto most = [&] {
    Sign s = Sign::unknown;
    for (std::size_t i = 0; i < n.args.size(); ++i) s = std::max(s, arg(i));
    return s;
  };
  const auto of = [](double v) {
    return v > 0 ? Sign::positive : v == 0 ? Sign::not_negative : Sign::unknown;
  };
  Sign out = Sign::unknown;
  switch (n.fn) {
  case Fn::constant: out = of(n.value); break;
  case Fn::number:
    if (const auto low = interval(n.sym).lower)
      out = *low > Int(0) ? Sign::positive : *low == Int(0) ? Sign::not_negative : Sign::unknown;
    break;
  case Fn::exp:
  case Fn::exp2:
    out = infinite(n.args[0]) || literal(n.args[0]).below ? Sign::not_negative : Sign::positive;
    break;
  case Fn::add: out = least(0) == Sign::unknown ? Sign::unknown : most(); break;
  case Fn::mul:
  case Fn::div:
  case Fn::min: out = least(0); break;
  case Fn::max: out = most(); break;
  case Fn::power:
    if (whole(n.value) && std::fmod(n.value, 2) == 0) {
      out = arg(0) == Sign::positive || n.value < 0 ? Sign::positive : Sign::not_negative;
    } else {
      out = n.value < 0 && arg(0) == Sign::not_negative ? Sign::positive : arg(0);
    }
    if (n.value < 0 && literal(n.args[0]).any()) out = std::min(out, Sign::not_negative);
    break;
  case Fn::inside: out = std::min(arg(0), of(n.value)); break;
  case Fn::select: out = least(2); break;
  case Fn::choose: out = least(1); break;
  case Fn::to_number_unsigned: out = Sign::not_negative; break;
  case Fn::fold: {
    const auto extent = n.index.empty() ? std::nullopt : interval(n.index[0]).lower;
    const bool some = n.index.size() == 1 && extent && *extent > Int(0);
    out = some || n.monoid != Monoid::sum ? arg(0) : std::min(arg(0), Sign::not_negative);
    if (is_of_i32(n.monoid) || (!some && n.monoid != Monoid::sum)) out = Sign::unknown;
    break;
  }
  default: break;
  }
  sign_.emplace(id, out);
  return out;
}

bool Domains::infinite(Expr e) { return infinite(e.id); }

bool Domains::infinite(int id) {
  if (const auto found = infinite_.find(id); found != infinite_.end()) return found->second;
  const ExprNode n = x_.node(id);
  bool out = false;
  switch (n.fn) {
  case Fn::constant: out = std::isinf(n.value); break;
  case Fn::select: out = infinite(n.args[2]) || infinite(n.args[3]); break;
  case Fn::exp:
  case Fn::exp2: break; // 0 where its argument is -inf
  case Fn::max:         // -inf beside a number is that number
    if (std::any_of(n.args.begin(), n.args.end(), [&](int a) { return is_finite_constant(a); }) &&
        std::none_of(n.args.begin(), n.args.end(), [&](int a) { return above(a); }))
      break;
    [[fallthrough]];
  default:
    for (const int a : n.args) out = out || infinite(a);
  }
  infinite_.emplace(id, out);
  return out;
}

bool Domains::is_finite_constant(int id) const {
  const ExprNode& n = x_.node(id);
  return n.fn == Fn::constant && std::isfinite(n.value);
}

bool Domains::above(int id) {
  const ExprNode n = x_.node(id);
  switch (n.fn) {
  case Fn::constant: return !(n.value < INFINITY);
  case Fn::select: return above(n.args[2]) || above(n.args[3]);
  case Fn::choose: return above(n.args[1]) || above(n.args[2]);
  case Fn::inside: return !(n.value < INFINITY) || above(n.args[0]);
  case Fn::fold: return n.monoid != Monoid::max ? infinite(id) : above(n.args[0]);
  default: return infinite(id);
  }
}

bool Domains::bounded(Expr map, int parameter) {
  bool only = true;
  (void)x_.rewrite(x_.normal(map), [&](const ExprNode& n) -> std::optional<Expr> {
    const bool beside = n.fn == Fn::max && std::any_of(n.args.begin(), n.args.end(),
                                                       [&](int a) { return is_finite_constant(a); });
    for (const int a : n.args)
      only = only && (beside || x_.node(a).fn != Fn::parameter || x_.node(a).tensor != parameter);
    return std::nullopt;
  });
  const ExprNode all = x_.normal(map).node();
  return only && (all.fn != Fn::parameter || all.tensor != parameter);
}

Domains::Infinities Domains::literal(int id) {
  if (const auto found = literal_.find(id); found != literal_.end()) return found->second;
  const Infinities out = literal_of(x_.node(id));
  return literal_.emplace(id, out).first->second;
}

Domains::Infinities Domains::literal_of(const ExprNode& n) {
  const auto of = [](double v) {
    return Infinities{std::isnan(v) || v == -INFINITY, std::isnan(v) || v == INFINITY};
  };
  const auto arg = [&](std::size_t i) { return literal(n.args[i]); };
  const auto either = [](Infinities a, Infinities b) {
    return Infinities{a.below || b.below, a.above || b.above};
  };
  const auto is_number = [&](int a) { return x_.node(a).fn == Fn::constant || x_.node(a).fn == Fn::integer; };
  if (n.fn == Fn::constant) return of(n.value);
  if (n.fn != Fn::fold && n.fn != Fn::inside && !n.args.empty() &&
      std::all_of(n.args.begin(), n.args.end(), is_number)) {
    std::vector<double> values;
    for (const int a : n.args) values.push_back(x_.node(a).value);
    return of(function_value(n, values));
  }
  switch (n.fn) {
  case Fn::inside: return either(arg(0), of(n.value));
  case Fn::select: return either(arg(2), arg(3));
  case Fn::choose: return either(arg(1), arg(2));
  case Fn::nearest: return arg(0);
  case Fn::from_bits: return {true, true}; // of whatever bits
  case Fn::sub: return either(arg(0), arg(1).negated());
  case Fn::add: {
    Infinities out;
    for (const int a : n.args) out = either(out, literal(a));
    return out;
  }
  case Fn::max:
  case Fn::min: { // of one that is finite there is a bound
    Infinities any, all{true, true};
    for (const int a : n.args) {
      const Infinities one = literal(a);
      any = either(any, one), all = {all.below && one.below, all.above && one.above};
    }
    return n.fn == Fn::max ? Infinities{all.below, any.above} : Infinities{any.below, all.above};
  }
  case Fn::mul:
  case Fn::div: {
    Infinities out;
    bool known = true, negative = false; // the sign of what it is multiplied by
    for (std::size_t i = 0; i < n.args.size(); ++i) {
      const ExprNode& a = x_.node(n.args[i]);
      const bool number = a.fn == Fn::constant && std::isfinite(a.value) && a.value != 0;
      if (number && a.value < 0) negative = !negative;
      if (n.fn == Fn::div && i > 0) {
        known = known && (number || sign(n.args[i]) == Sign::positive);
      } else if (const Infinities one = literal(n.args[i]); one.any()) {
        known = known && !out.any();
        out = either(out, one);
      } else {
        known = known && (number || sign(n.args[i]) != Sign::unknown);
      }
    }
    if (!out.any()) return out;
    return !known ? Infinities{true, true} : negative ? out.negated() : out;
  }
  case Fn::power: { // 1 / inf is 0
    const Infinities base = arg(0);
    if (n.value <= 0 || !base.any()) return {};
    return whole(n.value) && std::fmod(n.value, 2) != 0 ? base : Infinities{false, true};
  }
  case Fn::exp:
  case Fn::exp2:
  case Fn::log:
  case Fn::log2:
    return {false, arg(0).above}; // 2^-inf is 0
  // That a maximum has an element that is none is what other rules show.
  case Fn::fold: return n.monoid == Monoid::sum ? arg(0) : Infinities{};
  default: return {};
  }
}

void Domains::require_no_clash(const ExprNode& n, Needs& into) {
  const auto nonzero = [&](int a) {
    const ExprNode& x = x_.node(a);
    return sign(a) == Sign::positive || (x.fn == Fn::constant && x.value != 0);
  };
  for (std::size_t i = 0; i < n.args.size(); ++i) {
    const Infinities a = literal(n.args[i]);
    if (!a.any()) continue;
    bool clash = false;
    for (std::size_t k = 0; k < n.args.size() && !clash; ++k) {
      if (k == i) continue;
      const Infinities b = literal(n.args[k]);
      if (n.fn == Fn::mul) {
        clash = !nonzero(n.args[k]);
      } else if (n.fn == Fn::div) {
        clash = b.any();
      } else {
        const Infinities other = n.fn == Fn::sub ? b.negated() : b;
        clash = (a.below && other.above) || (a.above && other.below);
      }
    }
    if (clash) require_finite(n.args[i], into);
  }
}

void Domains::require_finite(int id, Needs& into) {
  if (!literal(id).any()) return;
  const ExprNode n = x_.node(id);
  if (n.fn == Fn::add || n.fn == Fn::sub || n.fn == Fn::mul) {
    for (const int a : n.args) require_finite(a, into);
  } else {
    add(into, {x_.normal({&x_, id}).id, {}}, finite);
  }
}

Domains::Of Domains::Of::of(Expr base, std::span<const Expr> where) {
  Of out{base.id, {}};
  for (const Expr e : where) out.where.push_back(e.id);
  std::sort(out.where.begin(), out.where.end());
  out.where.erase(std::unique(out.where.begin(), out.where.end()), out.where.end());
  return out;
}

Domains::Needs Domains::of_arguments(const ExprNode& n, const std::function<const Needs&(int)>& of) {
  Needs out;
  const auto all = [&](int a) {
    for (const auto& [what, need] : of(a)) add(out, what, need);
  };
  if (n.fn == Fn::inside) {
    ExprNode condition = n;
    condition.value = 0, condition.args = {x_.constant(1).id};
    within(x_.make(std::move(condition)).id, of(n.args[0]), out);
  } else if (n.fn == Fn::select) {
    all(n.args[0]), all(n.args[1]);
    const Expr a = x_.normal({&x_, n.args[0]}), b = x_.normal({&x_, n.args[1]});
    within(select(a, b, x_.constant(1), x_.constant(0)).id, of(n.args[2]), out);
    within(select(a, b, x_.constant(0), x_.constant(1)).id, of(n.args[3]), out);
  } else if (n.fn == Fn::choose) {
    all(n.args[0]);
    const Expr condition = x_.normal({&x_, n.args[0]});
    within(choose(condition, x_.constant(1), x_.constant(0)).id, of(n.args[1]), out);
    within(choose(condition, x_.constant(0), x_.constant(1)).id, of(n.args[2]), out);
  } else {
    for (const int a : n.args) all(a);
  }
  return out;
}

Domains::Needs Domains::passed(Expr map, std::span<const Expr> values,
                               const std::function<Needs(int)>& asked) {
  std::unordered_map<int, Needs> done;
  const std::function<const Needs&(int)> visit = [&](int id) -> const Needs& {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    ExprNode n = x_.node(id);
    Needs out;
    if (n.fn == Fn::parameter) {
      out = asked(n.tensor);
    } else if (n.fn == Fn::select || n.fn == Fn::choose) { // compared are the operands' values
      const std::vector<int> own = n.args;
      const std::size_t conditions = n.fn == Fn::select ? 2 : 1;
      for (std::size_t k = 0; k < conditions; ++k) n.args[k] = x_.apply({&x_, own[k]}, values).id;
      out = of_arguments(n, [&](int a) -> const Needs& {
        static const Needs none;
        return a == own[conditions] || a == own[conditions + 1] ? visit(a) : none;
      });
      for (std::size_t k = 0; k < conditions; ++k)
        for (const auto& [what, need] : visit(own[k])) add(out, what, need);
    } else {
      out = of_arguments(n, visit);
    }
    return done.emplace(id, std::move(out)).first->second;
  };
  return visit(map.id);
}

void Domains::within(int condition, const Needs& branch, Needs& into) {
  for (const auto& [of, need] : branch) {
    Of under = of;
    const auto at = std::lower_bound(under.where.begin(), under.where.end(), condition);
    if (at == under.where.end() || *at != condition) under.where.insert(at, condition);
    add(into, std::move(under), need);
  }
}

// base ^ power, or its logarithm; a product is asked factor by factor where that is the same.
void Domains::require(int base, double power, bool logarithm, Needs& into) {
  const int normal = x_.normal({&x_, base}).id;
  const ExprNode n = x_.node(normal);
  if (!logarithm && whole(power)) {
    if (power >= 0) return;
    if (n.fn == Fn::mul) {
      for (const int f : n.args) require(f, power, false, into);
      return;
    }
    if (n.fn == Fn::power && whole(n.value)) return require(n.args[0], -std::abs(n.value), false, into);
  } else if (n.fn == Fn::mul &&
             std::all_of(n.args.begin(), n.args.end(), [&](int f) { return sign(f) != Sign::unknown; })) {
    for (const int f : n.args) require(f, power, logarithm, into);
    return;
  }
  unsigned need = whole(power) && !logarithm ? not_zero : not_negative;
  if (logarithm || power < 0) need |= not_zero;
  if (need = open(normal, need); need != 0) add(into, {normal, {}}, need);
}

const Domains::Needs& Domains::needs(int id) {
  if (const auto found = needs_.find(id); found != needs_.end()) return found->second;
  const ExprNode n = x_.node(id);
  Needs out = of_arguments(n, [&](int a) -> const Needs& { return needs(a); });
  if (n.fn == Fn::add || n.fn == Fn::sub || n.fn == Fn::mul || n.fn == Fn::div) require_no_clash(n, out);
  if (n.fn == Fn::div) require(n.args[1], -1, false, out);
  if (n.fn == Fn::power) require(n.args[0], n.value, false, out);
  if (n.fn == Fn::log || n.fn == Fn::log2) require(n.args[0], 1, true, out);
  return needs_.emplace(id, std::move(out)).first->second;
}

} // namespace inlay::codegen::provenance
