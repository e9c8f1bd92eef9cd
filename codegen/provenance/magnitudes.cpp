// How large the numbers are that maps compute, and what f32 rounds of them: whether sums of whole numbers stay inside of i32.
#include "interpreter.h"

#include <climits>
#include <cmath>
#include <limits>

namespace inlay::codegen::provenance {

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
  case Fn::word: { // of a whole number of i32 that nothing has rounded it is that one
    const Computed of = arg(0);
    return of.exact() && of.most < 0x1p31 ? of : Computed{};
  }
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

} // namespace inlay::codegen::provenance
