#include "expression_constants.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/symbol_kinds.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <unordered_set>

namespace inlay::codegen {
namespace {

std::uint64_t hash_of(const ExprNode& n) {
  std::uint64_t h = 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(n.fn) + 1);
  const auto mix = [&](std::uint64_t x) { h = (h ^ x) * 0xff51afd7ed558ccdULL, h ^= h >> 32; };
  mix(static_cast<std::uint64_t>(n.monoid));
  mix(std::bit_cast<std::uint64_t>(is_not_exact(n) ? rounded(n.value) : n.value));
  mix(static_cast<std::uint64_t>(n.tensor));
  mix(stable_hash(n.sym));
  for (const Sym& s : n.index) mix(stable_hash(s));
  for (const int a : n.args) mix(static_cast<std::uint64_t>(a) + 77);
  for (const int t : n.through) mix(static_cast<std::uint64_t>(t) + 777);
  return h;
}

// Of a NaN, which is equal to nothing.
bool same_but_value(ExprNode a, ExprNode b) {
  if (!std::isnan(a.value) || !std::isnan(b.value)) return false;
  a.value = b.value = 0;
  return a == b;
}

Expr binary(Fn fn, Expr a, Expr b) {
  INLAY_CHECK(a.arena && a.arena == b.arena, "expressions of one arena");
  return a.arena->make({.fn = fn, .args = {a.id, b.id}});
}
Expr unary(Fn fn, Expr a, double value = 0) {
  return a.arena->make({.fn = fn, .value = value, .args = {a.id}});
}

} // namespace

namespace {
struct IntegerFunction {
  Fn fn;
  std::string_view name;
};
constexpr IntegerFunction integer_functions[] = {{Fn::to_number, "float"},
                                                 {Fn::to_number_unsigned, "ufloat"},
                                                 {Fn::from_bits, "from_bits"},
                                                 {Fn::choose, "choose"},
                                                 {Fn::word, "int"},
                                                 {Fn::truncated, "trunc"},
                                                 {Fn::float_bits, "bits"},
                                                 {Fn::word_add, "iadd"},
                                                 {Fn::word_sub, "isub"},
                                                 {Fn::word_mul, "imul"},
                                                 {Fn::word_mul_hi, "mul_hi"},
                                                 {Fn::word_and, "and"},
                                                 {Fn::word_or, "or"},
                                                 {Fn::word_xor, "xor"},
                                                 {Fn::word_shl, "shl"},
                                                 {Fn::word_shr, "shr"},
                                                 {Fn::word_sar, "sar"},
                                                 {Fn::popcount, "popcount"},
                                                 {Fn::leading_zeros, "leading_zeros"},
                                                 {Fn::trailing_zeros, "trailing_zeros"},
                                                 {Fn::word_less, "uless"},
                                                 {Fn::word_less_signed, "less"},
                                                 {Fn::word_equal, "equal"}};

} // namespace

std::string_view integer_function(Fn fn) {
  for (const IntegerFunction& f : integer_functions)
    if (f.fn == fn) return f.name;
  return {};
}

const char* to_string(Monoid monoid) {
  switch (monoid) {
  case Monoid::sum: return "sum";
  case Monoid::max: return "max";
  case Monoid::min: return "min";
  case Monoid::wrapping_sum: return "wrapping sum";
  case Monoid::signed_max: return "signed max";
  case Monoid::signed_min: return "signed min";
  case Monoid::unsigned_max: return "unsigned max";
  case Monoid::unsigned_min: return "unsigned min";
  }
  return "?";
}

double empty_element(Monoid m) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (m) {
  case Monoid::max: return -infinity;
  case Monoid::min: return infinity;
  case Monoid::signed_max: return INT32_MIN;
  case Monoid::signed_min: return INT32_MAX;
  case Monoid::unsigned_min: return -1;
  default: return 0;
  }
}

double combined(Monoid m, double a, double b) {
  const auto word = [](double v) { return static_cast<std::uint32_t>(static_cast<std::int64_t>(v)); };
  switch (m) {
  case Monoid::sum: return a + b;
  case Monoid::max:
  case Monoid::signed_max: return std::max(a, b);
  case Monoid::min:
  case Monoid::signed_min: return std::min(a, b);
  case Monoid::wrapping_sum: return static_cast<std::int32_t>(word(a + b));
  case Monoid::unsigned_max: return word(a) < word(b) ? b : a;
  case Monoid::unsigned_min: return word(a) < word(b) ? a : b;
  }
  return a;
}

const ExprNode& Expr::node() const { return arena->node(id); }

Expr Expressions::make(ExprNode node) {
  std::vector<int>& bucket = table_[hash_of(node)];
  for (const int id : bucket) {
    const ExprNode& known = nodes_[static_cast<std::size_t>(id)];
    if (known == node || (std::isnan(node.value) && same_but_value(known, node))) return {this, id};
    if (is_not_exact(node) && is_not_exact(known) && known.fn == node.fn && known.args == node.args &&
        rounded(known.value) == rounded(node.value))
      return {this, id};
  }
  bucket.push_back(static_cast<int>(nodes_.size()));
  nodes_.push_back(std::move(node));
  return {this, bucket.back()};
}
Expr Expressions::constant(double value) { return make(Number::written(value).node()); }
Expr Expressions::number(Sym value) {
  // One that f64 has not stays a formula.
  if (const auto c = value.constant()) {
    constexpr std::int64_t most = std::int64_t{1} << 53;
    if (const auto v = c->value(); - most <= v && v <= most)
      return make(Number{static_cast<double>(v)}.node());
  }
  return make({.fn = Fn::number, .sym = value});
}
Expr Expressions::integer(std::int64_t value) {
  const auto word = as_word(static_cast<double>(value));
  if (!word)
    throw CodegenError("integer: " + std::to_string(value) + " has more than 32 bits", "",
                       "integers are modulo 2^32: -2147483648 to 4294967295");
  return make({.fn = Fn::integer, .value = *word});
}
Expr Expressions::parameter(int index) { return make({.fn = Fn::parameter, .tensor = index}); }
Expr Expressions::load(int tensor, std::vector<Sym> index, std::vector<int> through) {
  if (std::all_of(through.begin(), through.end(), [](int t) { return t < 0; })) through.clear();
  return make({.fn = Fn::load, .tensor = tensor, .index = std::move(index), .through = std::move(through)});
}

int Expressions::depth(int id) const {
  std::unordered_map<int, int> known; // what occurs in many places is looked at once
  const auto of = [&](auto&& self, int at) -> int {
    if (const auto found = known.find(at); found != known.end()) return found->second;
    const ExprNode& n = node(at);
    int d = 0;
    for (const int a : n.args) d = std::max(d, self(self, a));
    return known[at] = d + (n.fn == Fn::fold ? 1 : 0);
  };
  return of(of, id);
}

Monoid of_words(Monoid m) {
  return m == Monoid::sum   ? Monoid::wrapping_sum
         : m == Monoid::max ? Monoid::signed_max
         : m == Monoid::min ? Monoid::signed_min
                            : m;
}

namespace {
// As a text has a fold of integers, and one of numbers.
const char* fold_name(Monoid m) {
  switch (m) {
  case Monoid::wrapping_sum: return "sum";
  case Monoid::signed_max: return "max";
  case Monoid::signed_min: return "min";
  case Monoid::unsigned_max: return "umax";
  case Monoid::unsigned_min: return "umin";
  default: return to_string(m);
  }
}
} // namespace

Expr Expressions::fold(Monoid monoid, Sym k, Sym extent, Expr body) {
  const auto atom = k.as_atom();
  INLAY_CHECK(atom, "a single symbol as bound index");
  if (is_integer(body)) return codegen::integer(fold(of_words(monoid), k, extent, to_number(body)));
  // Bound indices are numbered by depth, so that equal folds are equal nodes whatever their index was called.
  const Sym bound = symbol_of(*k.context(), SymbolKind::bound, {depth(body.id)}, "", {Int(0), std::nullopt});
  const std::pair<AtomId, Sym> rename[] = {{*atom, bound}};
  const Expr inner = substitute(body, rename);
  return make({.fn = Fn::fold, .monoid = monoid, .sym = bound, .index = {extent}, .args = {inner.id}});
}

namespace {

using Along = std::span<const std::pair<Sym, Sym>>;
Expr over(Expressions& x, Monoid monoid, Along along, Expr e) {
  for (std::size_t a = along.size(); a-- > 0;)
    if (!(along[a].second == Sym(1))) e = x.fold(monoid, along[a].first, along[a].second, e);
  return e;
}
Sym place_along(Along along) {
  Sym at(0);
  for (const auto& [index, extent] : along) at = extent == Sym(1) ? at : extent * at + index;
  return at;
}
Expr stands_at(Expressions& x, Sym at, Expr place) {
  return equal(codegen::integer(x.number(at)), truncated(place));
}

} // namespace

Expr Expressions::at_place(Expr place, Along along, Expr body) {
  const double infinity = std::numeric_limits<double>::infinity();
  return over(*this, Monoid::max, along,
              choose(stands_at(*this, place_along(along), place), body, constant(-infinity)));
}

TopOf Expressions::top(int count, Along along, Expr body) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto over = [&](Monoid monoid, Expr e) { return codegen::over(*this, monoid, along, e); };
  const Sym at = place_along(along);
  const auto stands_at = [&](Expr place) { return codegen::stands_at(*this, at, place); };
  TopOf out;
  Expr left = body;
  for (int d = 0; d < count; ++d) {
    out.value.push_back(over(Monoid::max, left));
    Expr here = select(left, out.value.back(), number(at), constant(infinity));
    for (const Expr& before : out.place) here = choose(stands_at(before), constant(infinity), here);
    out.place.push_back(over(Monoid::min, here));
    left = choose(stands_at(out.place.back()), constant(-infinity), left);
  }
  return out;
}

Expr Expressions::partial_fold(Monoid monoid, Sym k, Sym extent,
                               std::span<const std::pair<Sym, Sym>> intervals, Expr body) {
  if (is_integer(body))
    return codegen::integer(partial_fold(of_words(monoid), k, extent, intervals, to_number(body)));
  ExprNode n = fold(monoid, k, extent, body).node();
  for (const auto& [low, high] : intervals) n.index.push_back(low), n.index.push_back(high);
  return make(std::move(n));
}

Expr Expressions::rewrite(Expr e, const std::function<std::optional<Expr>(const ExprNode&)>& rewrite) {
  std::unordered_map<int, int> done;
  const auto visit = [&](auto&& self, int id) -> int {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    ExprNode n = node(id);
    for (int& a : n.args) a = self(self, a);
    const auto other = rewrite(n);
    const int out = other ? other->id : make(std::move(n)).id;
    done.emplace(id, out);
    return out;
  };
  return {this, visit(visit, e.id)};
}

Expr Expressions::substitute(Expr e, std::span<const std::pair<AtomId, Sym>> replacements) {
  std::unordered_map<int, int> done;
  const auto visit = [&](auto&& self, int id) -> int {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    ExprNode n = node(id);
    bool same = true; // most of a large expression stays: it is not looked up again
    const auto put = [&](auto& x, auto by) { same = same && x == by, x = by; };
    if (n.fn == Fn::number) put(n.sym, inlay::substitute(n.sym, replacements));
    for (Sym& s : n.index) put(s, inlay::substitute(s, replacements));
    for (int& a : n.args) put(a, self(self, a));
    const int out = same                                        ? id
                    : n.fn == Fn::number && n.sym.is_constant() ? number(n.sym).id
                                                                : make(std::move(n)).id;
    done.emplace(id, out);
    return out;
  };
  return {this, visit(visit, e.id)};
}

Expr Expressions::apply(Expr map, std::span<const Expr> operands) {
  std::unordered_map<int, int> done;
  const auto visit = [&](auto&& self, int id) -> int {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    ExprNode n = node(id);
    int out = 0;
    if (n.fn == Fn::parameter) {
      INLAY_CHECK(n.tensor >= 0 && static_cast<std::size_t>(n.tensor) < operands.size(),
                  "an operand of the map");
      out = operands[static_cast<std::size_t>(n.tensor)].id;
    } else {
      for (int& a : n.args) a = self(self, a);
      out = make(std::move(n)).id;
    }
    done.emplace(id, out);
    return out;
  };
  return {this, visit(visit, map.id)};
}

std::vector<AtomId> Expressions::symbols(Expr e) const {
  std::vector<AtomId> out;
  const auto add = [&](Sym s) {
    for (const AtomId a : inlay::symbols(s))
      if (std::find(out.begin(), out.end(), a) == out.end()) out.push_back(a);
  };
  std::unordered_set<int> seen; // what occurs in many places is looked at once
  const auto visit = [&](auto&& self, int id) -> void {
    if (!seen.insert(id).second) return;
    const ExprNode& n = node(id);
    if (n.fn == Fn::number) add(n.sym);
    for (const Sym& s : n.index) add(s);
    for (const int a : n.args) self(self, a);
  };
  visit(visit, e.id);
  return out;
}

std::set<int> Expressions::parameters(Expr map) const {
  std::set<int> out;
  std::unordered_set<int> seen;
  const auto visit = [&](auto&& self, int id) -> void {
    if (!seen.insert(id).second) return;
    const ExprNode& n = node(id);
    if (n.fn == Fn::parameter) out.insert(n.tensor);
    for (const int a : n.args) self(self, a);
  };
  visit(visit, map.id);
  return out;
}

std::set<AtomId> Expressions::free_symbols(Expr e) const {
  std::unordered_map<int, std::set<AtomId>> known;
  const auto visit = [&](auto&& self, int id) -> const std::set<AtomId>& {
    if (const auto found = known.find(id); found != known.end()) return found->second;
    const ExprNode n = node(id);
    std::set<AtomId> out;
    const auto add = [&](Sym s) {
      for (const AtomId a : inlay::symbols(s)) out.insert(a);
    };
    for (const int a : n.args) {
      const std::set<AtomId>& of = self(self, a);
      out.insert(of.begin(), of.end());
    }
    if (n.fn == Fn::fold) out.erase(*n.sym.as_atom());
    if (n.fn == Fn::number) add(n.sym);
    for (const Sym& s : n.index) add(s);
    return known[id] = std::move(out);
  };
  return visit(visit, e.id);
}

// ------------------------------------------------------------------------------------------------- writing them

namespace {
std::string kind(Expr e) { return is_integer(e) ? "an integer" : "a number"; }
[[noreturn]] void mixed(std::string_view what, Expr a, Expr b) {
  throw CodegenError(std::string(what) + " of " + kind(a) + " and " + kind(b), "",
                     "integer(x), truncated(x) of a number, to_number(w) of an integer");
}
// A constant beside an integer is one.
Expr as_integer(std::string_view what, Expr e, Expr beside) {
  if (is_integer(e)) return e;
  if (e.node().fn != Fn::constant) mixed(what, e, beside);
  if (!as_word(e.node().value))
    throw CodegenError(std::string(what) + ": a constant beside an integer is no integer of 32 bits",
                       "value  " + std::to_string(e.node().value), "-2147483648 to 4294967295");
  return e.arena->integer(static_cast<std::int64_t>(e.node().value));
}
Expr words(Fn fn, Expr a, Expr b) {
  const std::string_view what = integer_function(fn);
  if (!is_integer(a) && !is_integer(b))
    throw CodegenError(std::string(what) + " of two numbers, and it is of integers", "",
                       "integer(x) of i32 operands, truncated(x) of other numbers");
  return binary(fn, as_integer(what, a, b), as_integer(what, b, a));
}
Expr of_integer(Fn fn, Expr a) {
  if (!is_integer(a))
    throw CodegenError(std::string(integer_function(fn)) + " of a number, and it is of an integer", "",
                       "integer(x) of i32 operands, truncated(x) of other numbers");
  return unary(fn, a);
}
Expr of_number(std::string_view what, Fn fn, Expr a, double value = 0) {
  if (is_integer(a))
    throw CodegenError(std::string(what) + " of an integer, and it is of a number", "", "to_number(w)");
  return unary(fn, a, value);
}
Expr numbers(std::string_view what, Fn fn, Expr a, Expr b) {
  if (is_integer(a) || is_integer(b)) {
    if (is_integer(a) != is_integer(b)) mixed(what, a, b);
    throw CodegenError(std::string(what) + " of integers", "",
                       "to_number(w) first; of integers there are choose(less_signed(a, b), ..) and shifts");
  }
  return binary(fn, a, b);
}
// Of two numbers or of two integers.
Expr either(Fn of_numbers, Fn of_words, Expr a, Expr b) {
  return is_integer(a) || is_integer(b) ? words(of_words, a, b) : binary(of_numbers, a, b);
}
} // namespace

Expr operator+(Expr a, Expr b) { return either(Fn::add, Fn::word_add, a, b); }
Expr operator-(Expr a, Expr b) { return either(Fn::sub, Fn::word_sub, a, b); }
Expr operator*(Expr a, Expr b) { return either(Fn::mul, Fn::word_mul, a, b); }
Expr operator/(Expr a, Expr b) { return numbers("/", Fn::div, a, b); }
Expr operator+(Expr a, double b) { return a + a.arena->constant(b); }
Expr operator-(Expr a, double b) { return a - a.arena->constant(b); }
Expr operator*(Expr a, double b) { return a * a.arena->constant(b); }
Expr operator/(Expr a, double b) { return a / a.arena->constant(b); }
Expr operator+(double a, Expr b) { return b.arena->constant(a) + b; }
Expr operator-(double a, Expr b) { return b.arena->constant(a) - b; }
Expr operator*(double a, Expr b) { return b.arena->constant(a) * b; }
Expr operator/(double a, Expr b) { return b.arena->constant(a) / b; }
Expr exp(Expr a) { return of_number("exp", Fn::exp, a); }
Expr exp2(Expr a) { return of_number("exp2", Fn::exp2, a); }
Expr log(Expr a) { return of_number("log", Fn::log, a); }
Expr log2(Expr a) { return of_number("log2", Fn::log2, a); }
Expr max(Expr a, Expr b) { return numbers("max", Fn::max, a, b); }
Expr min(Expr a, Expr b) { return numbers("min", Fn::min, a, b); }
Expr rcp(Expr a) { return of_number("rcp", Fn::power, a, -1); }
Expr sqrt(Expr a) { return of_number("sqrt", Fn::power, a, 0.5); }
Expr rsqrt(Expr a) { return of_number("rsqrt", Fn::power, a, -0.5); }
Expr nearest(Expr a) { return of_number("nearest", Fn::nearest, a); }

bool is_integer(Expr e) {
  const ExprNode& n = e.node();
  if (n.fn == Fn::choose) return is_integer({e.arena, n.args[1]});
  return n.fn >= Fn::integer;
}
Expr integer(Expr a) {
  if (is_integer(a)) return a;
  if (a.node().fn == Fn::to_number) return {a.arena, a.node().args[0]};
  if (a.node().fn == Fn::constant) return as_integer("integer", a, a);
  return unary(Fn::word, a);
}
Expr truncated(Expr a) { return of_number("truncated", Fn::truncated, a); }
Expr float_bits(Expr a) { return of_number("float_bits", Fn::float_bits, a); }
Expr to_number(Expr a) { return of_integer(Fn::to_number, a); }
Expr to_number_unsigned(Expr a) { return of_integer(Fn::to_number_unsigned, a); }
Expr from_bits(Expr a) { return of_integer(Fn::from_bits, a); }
Expr operator&(Expr a, Expr b) { return words(Fn::word_and, a, b); }
Expr operator|(Expr a, Expr b) { return words(Fn::word_or, a, b); }
Expr operator^(Expr a, Expr b) { return words(Fn::word_xor, a, b); }
Expr operator<<(Expr a, Expr b) { return words(Fn::word_shl, a, b); }
Expr operator>>(Expr a, Expr b) { return words(Fn::word_shr, a, b); }
Expr operator&(Expr a, std::int64_t b) { return a & a.arena->integer(b); }
Expr operator|(Expr a, std::int64_t b) { return a | a.arena->integer(b); }
Expr operator^(Expr a, std::int64_t b) { return a ^ a.arena->integer(b); }
Expr operator<<(Expr a, std::int64_t b) { return a << a.arena->integer(b); }
Expr operator>>(Expr a, std::int64_t b) { return a >> a.arena->integer(b); }
Expr operator~(Expr a) { return a ^ -1; }
Expr shift_right_signed(Expr a, Expr b) { return words(Fn::word_sar, a, b); }
Expr mul_hi(Expr a, Expr b) { return words(Fn::word_mul_hi, a, b); }
Expr popcount(Expr a) { return of_integer(Fn::popcount, a); }
Expr leading_zeros(Expr a) { return of_integer(Fn::leading_zeros, a); }
Expr trailing_zeros(Expr a) { return of_integer(Fn::trailing_zeros, a); }
Expr less_unsigned(Expr a, Expr b) { return words(Fn::word_less, a, b); }
Expr less_signed(Expr a, Expr b) { return words(Fn::word_less_signed, a, b); }
Expr equal(Expr a, Expr b) { return words(Fn::word_equal, a, b); }
Expr choose(Expr condition, Expr yes, Expr no) {
  if (!is_integer(condition))
    throw CodegenError("choose by a number, and it is by an integer", "",
                       "less_signed(a, b), equal(a, b), .. of integers; select(a, b, yes, no) of numbers");
  if (is_integer(yes) || is_integer(no)) {
    yes = as_integer("choose", yes, no);
    no = as_integer("choose", no, yes);
  }
  return yes.arena->make({.fn = Fn::choose, .args = {condition.id, yes.id, no.id}});
}

Expr inside(Sym index, Sym bound, Expr e, double beyond) {
  if (is_integer(e))
    throw CodegenError("inside of an integer, and it is of a number", "",
                       "inside(i, n, to_number(w), beyond): of numbers up to 2^24 exactly");
  return e.arena->make({.fn = Fn::inside, .value = beyond, .index = {index, bound}, .args = {e.id}});
}

Expr select(Expr a, Expr b, Expr yes, Expr no) {
  for (const Expr e : {a, b, yes, no})
    if (is_integer(e))
      throw CodegenError("select by integers or of them, and it is of numbers", "",
                         "choose(less_signed(a, b), yes, no), or to_number(w)");
  return a.arena->make({.fn = Fn::select, .args = {a.id, b.id, yes.id, no.id}});
}

double function_value(const ExprNode& node, std::span<const double> x) {
  switch (node.fn) {
  case Fn::constant: return node.value;
  case Fn::add: return std::accumulate(x.begin(), x.end(), 0.0);
  case Fn::mul: return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>());
  case Fn::sub: return x[0] - x[1];
  case Fn::div: return x[0] / x[1];
  case Fn::power: return std::pow(x[0], node.value);
  case Fn::exp: return std::exp(x[0]);
  case Fn::exp2: return std::exp2(x[0]);
  case Fn::log: return std::log(x[0]);
  case Fn::log2: return std::log2(x[0]);
  case Fn::select: return x[0] >= x[1] ? x[2] : x[3];
  case Fn::max: return *std::max_element(x.begin(), x.end());
  case Fn::min: return *std::min_element(x.begin(), x.end());
  case Fn::nearest: return std::nearbyint(x[0]);
  default: break;
  }
  const auto word = [&](std::size_t i) { return word_of(x[i]); };
  const auto sign = [&](std::size_t i) { return static_cast<std::int32_t>(word(i)); };
  const auto all = [&](std::uint32_t first, auto f) {
    for (std::size_t i = 0; i < x.size(); ++i) first = f(first, word(i));
    return static_cast<double>(first);
  };
  using Word = std::uint32_t;
  switch (node.fn) {
  case Fn::to_number: return sign(0);
  case Fn::to_number_unsigned: return word(0);
  case Fn::from_bits: return std::bit_cast<float>(word(0));
  case Fn::choose: return word(0) != 0 ? x[1] : x[2];
  case Fn::integer: return node.value;
  case Fn::word: return std::isfinite(x[0]) ? x[0] - two_32 * std::floor(x[0] / two_32) : 0;
  case Fn::truncated: {
    const double v = std::isnan(x[0]) ? 0 : std::trunc(std::clamp(x[0], -two_32 / 2, two_32 / 2 - 1));
    return v < 0 ? v + two_32 : v;
  }
  case Fn::float_bits: return std::bit_cast<Word>(static_cast<float>(x[0]));
  case Fn::word_add: return all(0, [](Word a, Word b) { return a + b; });
  case Fn::word_sub: return word(0) - word(1);
  case Fn::word_mul: return all(1, [](Word a, Word b) { return a * b; });
  case Fn::word_mul_hi: return static_cast<Word>(std::uint64_t{word(0)} * word(1) >> 32);
  case Fn::word_and: return all(0xffffffff, [](Word a, Word b) { return a & b; });
  case Fn::word_or: return all(0, [](Word a, Word b) { return a | b; });
  case Fn::word_xor: return all(0, [](Word a, Word b) { return a ^ b; });
  case Fn::word_shl: return word(0) << (word(1) & 31);
  case Fn::word_shr: return word(0) >> (word(1) & 31);
  case Fn::word_sar: return static_cast<Word>(sign(0) >> (word(1) & 31));
  case Fn::popcount: return std::popcount(word(0));
  case Fn::leading_zeros: return std::countl_zero(word(0));
  case Fn::trailing_zeros: return std::countr_zero(word(0));
  case Fn::word_less: return word(0) < word(1) ? 1 : 0;
  case Fn::word_less_signed: return sign(0) < sign(1) ? 1 : 0;
  case Fn::word_equal: return word(0) == word(1) ? 1 : 0;
  default: return std::numeric_limits<double>::quiet_NaN();
  }
}

namespace {
std::string number_text(double v) {
  if (std::isfinite(v) && v != 0 && (std::abs(v) >= 1e15 || std::abs(v) < 1e-3)) {
    // The fewest digits that come to the same constant.
    for (int digits = 1; digits <= 17; ++digits) {
      char text[40];
      (void)std::snprintf(text, sizeof text, "%.*g", digits, v);
      if (rounded(std::strtod(text, nullptr)) == rounded(v)) return text;
    }
  }
  std::string s = std::to_string(v);
  if (s.find('.') != std::string::npos) s.erase(s.find_last_not_of('0') + 1);
  if (!s.empty() && s.back() == '.') s.pop_back();
  return s;
}

/// What occurs in many places is printed in each; after `left` of them comes "...": of a choice of a choice 2^n.
std::string text_of(Expr e, const std::function<std::string(int)>& name, int& left) {
  if (--left < 0) return "...";
  const ExprNode& n = e.node();
  const auto arg = [&](std::size_t i) { return text_of(Expr{e.arena, n.args[i]}, name, left); };
  const auto factor = [&](std::size_t i) { // 1/(8*n) is not 1/8*n
    const std::string s = arg(i);
    const bool formula = e.arena->node(n.args[i]).fn == Fn::number;
    return formula && s.find_first_of("+-*/%") != std::string::npos ? "(" + s + ")" : s;
  };
  const auto infix = [&](const char* sign) {
    std::string s = "(";
    for (std::size_t i = 0; i < n.args.size(); ++i)
      s += (i ? sign : "") + (n.fn == Fn::add ? arg(i) : factor(i));
    return s + ")";
  };
  const auto call = [&](const std::string& f) {
    std::string s = f + "(";
    for (std::size_t i = 0; i < n.args.size(); ++i) s += (i ? ", " : "") + arg(i);
    return s + ")";
  };
  switch (n.fn) {
  case Fn::constant: return number_text(n.value);
  case Fn::number: return inlay::to_string(n.sym);
  case Fn::parameter: return "x" + std::to_string(n.tensor);
  case Fn::load: {
    std::string s = name(n.tensor) + "(";
    for (std::size_t i = 0; i < n.index.size(); ++i) {
      const int through = n.through.empty() ? -1 : n.through[i];
      const std::string at = inlay::to_string(n.index[i]);
      s += (i ? ", " : "") + (through < 0 ? at : name(through) + "[" + at + "]");
    }
    return s + ")";
  }
  case Fn::add: return infix(" + ");
  case Fn::sub: return infix(" - ");
  case Fn::mul: return infix(" * ");
  case Fn::div: return infix(" / ");
  case Fn::power:
    return n.value == -1     ? "1/" + factor(0)
           : n.value == 0.5  ? call("sqrt")
           : n.value == -0.5 ? call("rsqrt")
                             : factor(0) + "^" + number_text(n.value);
  case Fn::exp: return call("exp");
  case Fn::exp2: return call("exp2");
  case Fn::log: return call("log");
  case Fn::log2: return call("log2");
  case Fn::max: return call("max");
  case Fn::min: return call("min");
  case Fn::nearest: return call("round");
  case Fn::integer: {
    char text[20];
    (void)std::snprintf(text, sizeof text, n.value < 65536 ? "%uu" : "0x%x", word_of(n.value));
    return text;
  }
  case Fn::select: return "(" + arg(0) + " >= " + arg(1) + " ? " + arg(2) + " : " + arg(3) + ")";
  case Fn::inside:
    return "(" + inlay::to_string(n.index[0]) + " < " + inlay::to_string(n.index[1]) + " ? " + arg(0) +
           " : " + number_text(n.value) + ")";
  case Fn::fold: {
    const ExprNode& body = e.arena->node(n.args[0]);
    const bool words = is_fold_of_i32(n);
    std::string s = std::string(fold_name(n.monoid)) + "(" + inlay::to_string(n.sym) + " < " +
                    inlay::to_string(n.index[0]);
    for (std::size_t i = 1; i + 1 < n.index.size(); i += 2)
      s += (i == 1 ? " over [" : " and [") + inlay::to_string(n.index[i]) + ", " +
           inlay::to_string(n.index[i + 1]) + ")";
    if (!words) return s + ", " + arg(0) + ")";
    const std::string word =
        body.fn == Fn::to_number ? text_of({e.arena, body.args[0]}, name, left) : "int(" + arg(0) + ")";
    return "float(" + s + ", " + word + "))";
  }
  case Fn::word: { // a sum of integers is one
    const std::string number = arg(0), before = "float(";
    return is_fold_of_i32(e.arena->node(n.args[0])) && number.starts_with(before)
               ? number.substr(before.size(), number.size() - before.size() - 1)
               : "int(" + number + ")";
  }
  default: return call(std::string(integer_function(n.fn)));
  }
  return "?";
}
} // namespace

std::string to_string(Expr e, const std::function<std::string(int)>& name) {
  int left = 10000;
  return text_of(e, name, left);
}

} // namespace inlay::codegen
