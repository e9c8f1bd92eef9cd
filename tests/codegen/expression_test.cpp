// Normal forms of expressions against their values: by random expressions, and by identities one at a time.
#include "provenance/domains.h"

#include <inlay/codegen/error.h>
#include <inlay/codegen/expression.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <random>

namespace expression_test {

using namespace inlay;
using namespace inlay::codegen;

namespace {

/// Integers by definition, written with 64 bits: from 0 to 2^32 - 1.
double value_of_integers(const ExprNode& n, const std::vector<double>& x) {
  constexpr std::uint64_t modulus = 0x100000000;
  std::vector<std::uint64_t> w;
  for (const double v : x) w.push_back(v >= 0 && v < 0x1p32 ? static_cast<std::uint64_t>(v) : 0);
  const auto sign = [&](std::size_t i) {
    return static_cast<std::int64_t>(w[i]) - (w[i] >= modulus / 2 ? static_cast<std::int64_t>(modulus) : 0);
  };
  const auto number = [](std::uint64_t v) { return static_cast<double>(v % modulus); };
  std::uint64_t sum = 0, product = 1, both = modulus - 1, either = 0, one = 0;
  for (const std::uint64_t v : w) sum += v, product = product * v % modulus, both &= v, either |= v, one ^= v;
  switch (n.fn) {
  case Fn::integer: return n.value;
  case Fn::word: {
    const auto whole = static_cast<std::int64_t>(x[0]);
    return number(static_cast<std::uint64_t>(whole));
  }
  case Fn::truncated:
    return number(static_cast<std::uint64_t>(static_cast<std::int64_t>(std::isnan(x[0])       ? 0
                                                                       : x[0] > 2147483647.0  ? 2147483647.0
                                                                       : x[0] < -2147483648.0 ? -2147483648.0
                                                                                              : x[0])));
  case Fn::float_bits: return std::bit_cast<std::uint32_t>(static_cast<float>(x[0]));
  case Fn::from_bits: return std::bit_cast<float>(static_cast<std::uint32_t>(w[0]));
  case Fn::to_number: return static_cast<double>(sign(0));
  case Fn::to_number_unsigned: return x[0];
  case Fn::choose: return x[0] != 0 ? x[1] : x[2];
  case Fn::word_add: return number(sum);
  case Fn::word_sub: return number(w[0] + modulus - w[1]);
  case Fn::word_mul: return number(product);
  case Fn::word_mul_hi: return static_cast<double>(w[0] * w[1] / modulus);
  case Fn::word_and: return number(both);
  case Fn::word_or: return number(either);
  case Fn::word_xor: return number(one);
  case Fn::word_shl: return number(w[0] * (std::uint64_t{1} << w[1] % 32));
  case Fn::word_shr: return static_cast<double>(w[0] / (std::uint64_t{1} << w[1] % 32));
  case Fn::word_sar: return number(static_cast<std::uint64_t>(sign(0) >> w[1] % 32));
  case Fn::popcount: {
    int count = 0;
    for (std::uint64_t v = w[0]; v != 0; v /= 2) count += static_cast<int>(v % 2);
    return count;
  }
  case Fn::leading_zeros: {
    int count = 32;
    for (std::uint64_t v = w[0]; v != 0; v /= 2) --count;
    return count;
  }
  case Fn::trailing_zeros: {
    int count = 0;
    for (std::uint64_t v = w[0] + modulus; v % 2 == 0; v /= 2) ++count;
    return count;
  }
  case Fn::word_less: return x[0] < x[1] ? 1 : 0;
  case Fn::word_less_signed: return sign(0) < sign(1) ? 1 : 0;
  case Fn::word_equal: return x[0] == x[1] ? 1 : 0;
  default: return std::nan("");
  }
}

/// The value by definition: elements of tensors are numbers in (0.5, 1.5), extents are small.
double value(Expr e, std::map<AtomId, std::int64_t>& at) {
  const ExprNode n = e.node();
  const auto number = [&](Sym s) {
    Assignment a;
    for (const auto& [atom, v] : at) a.set(atom, Int(v));
    return inlay::evaluate(s, a).value();
  };
  const auto arg = [&](std::size_t i) { return value({e.arena, n.args[i]}, at); };
  switch (n.fn) {
  case Fn::constant: return n.value;
  case Fn::number: return static_cast<double>(number(n.sym));
  case Fn::load: {
    double x = n.tensor + 0.37;
    for (const Sym& s : n.index) x = x * 1.7 + static_cast<double>(number(s)) * 0.913;
    return 0.5 + (x - std::floor(x));
  }
  case Fn::add:
  case Fn::mul: {
    double out = n.fn == Fn::add ? 0 : 1;
    for (std::size_t i = 0; i < n.args.size(); ++i) out = n.fn == Fn::add ? out + arg(i) : out * arg(i);
    return out;
  }
  case Fn::sub: return arg(0) - arg(1);
  case Fn::div: return arg(0) / arg(1);
  case Fn::power: return std::pow(arg(0), n.value);
  case Fn::exp: return std::exp(arg(0));
  case Fn::exp2: return std::exp2(arg(0));
  case Fn::log: return std::log(arg(0));
  case Fn::log2: return std::log2(arg(0));
  case Fn::max:
  case Fn::min: {
    double out = arg(0);
    for (std::size_t i = 1; i < n.args.size(); ++i)
      out = n.fn == Fn::max ? std::max(out, arg(i)) : std::min(out, arg(i));
    return out;
  }
  case Fn::select: return arg(0) >= arg(1) ? arg(2) : arg(3);
  case Fn::inside: return number(n.index[0]) < number(n.index[1]) ? arg(0) : n.value;
  case Fn::fold: {
    double out = empty_element(n.monoid);
    const AtomId k = *n.sym.as_atom();
    for (std::int64_t i = 0; i < number(n.index[0]); ++i) {
      bool part = n.index.size() == 1;
      for (std::size_t p = 1; p + 1 < n.index.size(); p += 2)
        part = part || (number(n.index[p]) <= i && i < number(n.index[p + 1]));
      if (!part) continue;
      at[k] = i;
      const double x = arg(0);
      const auto word = [](double v) { return v < 0 ? v + 0x1p32 : v; };
      switch (n.monoid) {
      case Monoid::max:
      case Monoid::signed_max: out = std::max(out, x); break;
      case Monoid::min:
      case Monoid::signed_min: out = std::min(out, x); break;
      case Monoid::unsigned_max: out = word(x) > word(out) ? x : out; break;
      case Monoid::unsigned_min: out = word(x) < word(out) ? x : out; break;
      default: out += x;
      }
      if (n.monoid == Monoid::wrapping_sum) out -= 0x1p32 * std::floor(out / 0x1p32 + 0.5);
    }
    at.erase(k);
    return out;
  }
  case Fn::nearest: return std::nearbyint(arg(0));
  default: break;
  }
  std::vector<double> x;
  for (std::size_t i = 0; i < n.args.size(); ++i) x.push_back(arg(i));
  return value_of_integers(n, x);
}

struct World {
  SymContext context;
  Expressions x;
  Sym m = context.symbol("m"), n = context.symbol("n");
  std::map<AtomId, std::int64_t> at{{*m.as_atom(), 3}, {*n.as_atom(), 2}};
  int bound = 0;

  Expr load(int tensor, Sym i) { return x.load(tensor, {i, m}); }
  template <class Body>
  Expr fold(Monoid monoid, Sym extent, Body body) {
    const Sym k = context.symbol("k" + std::to_string(bound++), {Int(0), std::nullopt});
    return x.fold(monoid, k, extent, body(k));
  }
};

Expr random_expression(World& w, std::mt19937_64& random, int depth, std::vector<Sym> indices) {
  const auto sub = [&] { return random_expression(w, random, depth - 1, indices); };
  if (depth == 0) {
    switch (random() % 3) {
    case 0: return w.x.constant(static_cast<double>(random() % 7) * 0.5 - 1);
    case 1: return w.x.number(w.m);
    default: return w.load(static_cast<int>(random() % 3), indices[random() % indices.size()]);
    }
  }
  switch (random() % 13) {
  case 0: return sub() + sub();
  case 1: return sub() - sub();
  case 2: return sub() * sub();
  case 3: return sub() / (sub() * sub() + 3.5);
  case 4: return exp(sub() * 0.25);
  case 5: return exp2(sub() * -0.5);
  case 6: return max(sub(), sub());
  case 7: return min(sub(), sub());
  case 8: return inside(indices[random() % indices.size()], w.n, sub(), random() % 2 == 0 ? 0 : 1.5);
  case 9: return log(exp(sub() * 0.5) + 1.5);
  case 12: { // compared is what no normal form rounds
    const Expr limit = w.x.constant(static_cast<double>(random() % 5) - 2);
    return select(w.load(static_cast<int>(random() % 3), indices[random() % indices.size()]), limit, sub(),
                  sub());
  }
  case 10:
  case 11: {
    const auto monoid = static_cast<Monoid>(random() % 3);
    return w.fold(monoid, w.m, [&](Sym k) {
      std::vector<Sym> more = indices;
      more.push_back(k);
      return random_expression(w, random, depth - 1, more);
    });
  }
  }
  return w.x.constant(1);
}

/// Of whole numbers, with constants at the ends of what they fold.
Expr random_integer(World& w, std::mt19937_64& random, int depth, Sym index) {
  const auto sub = [&] { return random_integer(w, random, depth - 1, index); };
  if (depth == 0) {
    static const std::int64_t ends[] = {0,   1,          2,          5,          31,        32,
                                        255, 0x7fffffff, 0x80000000, 0xffffffff, 0xd2511f53};
    switch (random() % 3) {
    case 0: return w.x.integer(ends[random() % std::size(ends)]);
    case 1: return integer(w.x.number(index * Sym(static_cast<std::int64_t>(random() % 5)) - Sym(3)));
    default: return truncated(w.load(static_cast<int>(random() % 3), index) * 4e9 - 3e9);
    }
  }
  switch (random() % 21) {
  case 0: return sub() + sub();
  case 1: return sub() - sub();
  case 2: return sub() * sub();
  case 3: return mul_hi(sub(), sub());
  case 4: return sub() & sub();
  case 5: return sub() | sub();
  case 6: return sub() ^ sub();
  case 7: return sub() << sub();
  case 8: return sub() >> sub();
  case 9: return shift_right_signed(sub(), sub());
  case 10: return popcount(sub());
  case 11: return less_unsigned(sub(), sub());
  case 12: return less_signed(sub(), sub());
  case 13: return equal(sub(), sub());
  case 14: return choose(less_signed(sub(), sub()), sub(), sub());
  case 15: return choose(sub() & 1, sub(), w.x.integer(7));
  case 16: return integer(to_number(sub()));
  case 17: return leading_zeros(sub());
  case 18: return trailing_zeros(sub());
  case 19: { // of none, of one, of some
    const Sym extents[] = {Sym(0), Sym(1), w.m};
    return w.fold(Monoid::sum, extents[random() % 3],
                  [&](Sym k) { return random_integer(w, random, depth - 1, random() % 3 == 0 ? index : k); });
  }
  default: return ~sub();
  }
}

} // namespace

TEST_CASE("expression: integers and their normal forms are the same modulo 2^32, and as text") {
  std::mt19937_64 random(11);
  World w;
  const Sym i = w.context.symbol("i", Interval{Int(0), std::nullopt});
  const std::vector<std::string> tensors = {"a", "b", "c"};
  int folded = 0;
  for (int round = 0; round < 4000; ++round) {
    w.at[*i.as_atom()] = static_cast<std::int64_t>(random() % 1000);
    Expr e = random_integer(w, random, static_cast<int>(random() % 5), i);
    if (round % 3 == 0) e = to_number(e);
    if (round % 3 == 1) e = to_number_unsigned(e);
    const Expr n = w.x.normal(e);
    const auto text = [&](Expr of) {
      return to_string(of, [&](int t) { return tensors[static_cast<std::size_t>(t)]; });
    };
    INFO(text(e) << " as " << text(n));
    REQUIRE(value(e, w.at) == value(n, w.at));
    REQUIRE(w.x.normal(n) == n);
    const Expr read = parse_expression(w.x, w.context, text(n), [&](std::string_view name) {
      const auto at = std::find(tensors.begin(), tensors.end(), name);
      return at == tensors.end() ? -1 : static_cast<int>(at - tensors.begin());
    });
    // A sum's number is written as that of an integer.
    REQUIRE((text(n).find("sum(") == std::string::npos ? read : w.x.normal(read)) == n);
    folded += n == e ? 0 : 1;
    // What the evaluator and the reference of kernels use says the same.
    std::function<double(Expr)> by_library = [&](Expr of) -> double {
      const ExprNode& node = of.node();
      if (node.fn == Fn::load || node.fn == Fn::number || node.fn == Fn::fold) return value(of, w.at);
      std::vector<double> x;
      for (const int a : node.args) x.push_back(by_library({&w.x, a}));
      return function_value(node, x);
    };
    REQUIRE(by_library(n) == value(e, w.at));
  }
  CHECK(folded > 1000);
}

TEST_CASE("expression: identities of integers, and what is no integer") {
  World w;
  const Expr a = integer(w.load(0, w.n)), b = integer(w.load(1, w.n)), x = w.load(2, w.n);
  const auto same = [&](Expr p, Expr q) { CHECK(w.x.normal(p) == w.x.normal(q)); };
  const auto other = [&](Expr p, Expr q) { CHECK_FALSE(w.x.normal(p) == w.x.normal(q)); };
  same((a + b) + 5.0, a + (b + 5.0));
  same(a - 5.0, a + 4294967291.0);
  same((a ^ b) ^ a, b);
  same(a * 3.0 * 5.0, a * 15.0);
  same(w.x.integer(0x80000000) * 2.0, w.x.integer(0));
  same(a & b & a, a & b);
  same(integer(to_number(a)), a);
  same(from_bits(float_bits(x)), x);
  same(choose(less_unsigned(a, a), x, x + 1.0), x + 1.0);
  same(to_number(w.x.integer(-1)), w.x.constant(-1));
  same(to_number_unsigned(w.x.integer(-1)), w.x.constant(4294967295.0));
  other(a >> 1, shift_right_signed(a, w.x.integer(1)));
  other(less_unsigned(a, b), less_signed(a, b));
  other(truncated(to_number(a)), a); // an f32 has 24 bits of it
  other(to_number(a) + to_number(b), to_number(a + b));
  other((a + b) * 3.0, a * 3.0 + b); // nothing is distributed, and this is another one
  // A sum of integers wraps, as none of their numbers does.
  const auto elements = [&](Sym k) { return truncated(w.load(0, k) * 4e9); };
  const Expr sum = w.fold(Monoid::sum, w.m, elements);
  other(to_number(sum), w.fold(Monoid::sum, w.m, [&](Sym k) { return to_number(elements(k)); }));
  other(sum * 2.0, w.fold(Monoid::sum, w.m, [&](Sym k) { return elements(k) * 3.0; }));
  same(w.fold(Monoid::sum, Sym(1), elements), elements(Sym(0)));
  same(to_number(w.fold(Monoid::sum, Sym(0), elements)), w.x.constant(0));
  const auto others = [&](Sym k) { return truncated(w.load(1, k) * 4e9); };
  same(sum + w.fold(Monoid::sum, w.m, others),
       w.fold(Monoid::sum, w.m, [&](Sym k) { return elements(k) + others(k); }));
  // The greatest of words with a sign is another one than that without.
  other(w.fold(Monoid::max, w.m, elements), w.fold(Monoid::unsigned_max, w.m, elements));
  other(w.fold(Monoid::min, w.m, elements), w.fold(Monoid::unsigned_min, w.m, elements));
  same(to_number(w.fold(Monoid::max, Sym(0), elements)), w.x.constant(INT32_MIN));
  same(to_number(w.fold(Monoid::unsigned_min, Sym(0), elements)), w.x.constant(-1));
  for (const auto& wrong : std::vector<std::function<Expr()>>{
           [&] { return a + x; }, [&] { return a * 0.5; }, [&] { return a + 1e10; }, [&] { return a / b; },
           [&] { return exp(a); }, [&] { return max(a, b); }, [&] { return x & 3; },
           [&] { return mul_hi(x, x); }, [&] { return to_number(x); }, [&] { return truncated(a); },
           [&] { return choose(x, a, b); }, [&] { return choose(a, b, x); },
           [&] { return select(a, b, x, x); }, [&] { return inside(w.m, w.n, a, 0); },
           [&] { return w.x.integer(std::int64_t{1} << 32); }})
    CHECK_THROWS_AS(wrong(), CodegenError);
}

TEST_CASE("expression: the normal form has the value of the expression, and is its own normal form") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    World w;
    const Expr e = random_expression(w, random, 1 + static_cast<int>(random() % 4), {w.m, w.n});
    const Expr n = w.x.normal(e);
    const double a = value(e, w.at), b = value(n, w.at);
    if (!std::isfinite(a) || std::abs(a) > 1e12) continue;
    INFO(to_string(e, [](int t) { return "t" + std::to_string(t); })
         << "\n"
         << to_string(n, [](int t) { return "t" + std::to_string(t); }));
    REQUIRE(b == Approx(a).epsilon(1e-7).margin(1e-8));
    REQUIRE(value(w.x.normal(n), w.at) == Approx(a).epsilon(1e-7).margin(1e-8));
  }
}

TEST_CASE("expression: what is the same in real arithmetic is one form") {
  World w;
  const Expr a = w.load(0, w.m), b = w.load(1, w.n);
  const auto row = [&](Sym k) { return w.load(2, k); };
  const Expr most = w.fold(Monoid::max, w.n, row);
  const auto same = [&](Expr x, Expr y) { return w.x.normal(x) == w.x.normal(y); };
  CHECK(same(exp(a - b), exp2(a * 1.4426950408889634 - b * 1.4426950408889634)));
  CHECK(same(exp2(a - b) * exp2(b), exp2(a)));
  CHECK(same(exp2(a * 3.0 - b) / exp2(a), exp2(a * 2.0 - b)));
  CHECK(same(w.fold(Monoid::max, w.n, [&](Sym k) { return row(k) * 0.125; }), most * 0.125));
  CHECK_FALSE(same(w.fold(Monoid::max, w.n, [&](Sym k) { return row(k) * -0.125; }), most * -0.125));
  CHECK(same(w.fold(Monoid::sum, w.n, [&](Sym k) { return row(k) * a; }), w.fold(Monoid::sum, w.n, row) * a));
  CHECK_FALSE(same(w.fold(Monoid::max, w.n, [&](Sym k) { return row(k) * a; }), most * a));
  CHECK(same(inside(w.m, w.n, a * 2.0, -INFINITY), inside(w.m, w.n, a, -INFINITY) * 2.0));
  CHECK_FALSE(same(inside(w.m, w.n, a * 2.0, 1.0), inside(w.m, w.n, a, 1.0) * 2.0));
  CHECK(same(a / (b * most), a / b / most));
  CHECK(same(max(a, w.x.constant(-INFINITY)), a));
  CHECK_FALSE(same(max(a, w.x.constant(0)), a));
  CHECK(same((a + b) * most, a * most + b * most));
  CHECK(same((a + b) * (a - b), a * a - b * b));
  CHECK(same((a + 0.5) * (a + 0.5), a * a + a + 0.25));
  CHECK(same(w.fold(Monoid::sum, w.n, [&](Sym k) { return (row(k) + b) * a; }),
             w.fold(Monoid::sum, w.n, [&](Sym k) { return row(k) * a + a * b; })));
  CHECK_FALSE(same(w.fold(Monoid::max, w.n, [&](Sym k) { return row(k) + row(k) * row(k); }),
                   most + w.fold(Monoid::max, w.n, [&](Sym k) { return row(k) * row(k); })));
  CHECK(same(w.fold(Monoid::sum, w.n, [&](Sym) { return a; }), w.x.number(w.n) * a));
  CHECK_FALSE(same(w.fold(Monoid::max, w.n, [&](Sym) { return a; }), w.x.number(w.n) * a));
  // A root of a square is no power: a may be negative.
  CHECK_FALSE(same(sqrt(a * a), a));
  CHECK_FALSE(same(rsqrt(a * a), rcp(a)));
  CHECK(same(sqrt(a) * sqrt(a), a));
  CHECK(same(rcp(rcp(a * a)), a * a));
  // A whole power of a product is a product of powers, also where another takes the place of a factor. A root of one is not.
  CHECK(same(sqrt(a * b) * sqrt(a * b) * most, a * b * most));
  CHECK(same(sqrt(a * b) * sqrt(a * b) * sqrt(a * a), a * b * sqrt(a * a)));
  CHECK_FALSE(same(sqrt(a * b), sqrt(a) * sqrt(b)));
  CHECK_FALSE(same(sqrt(a * b) * sqrt(a * b) * sqrt(a * a), a * a * b));
  const Expr squared = w.x.rewrite(w.x.normal(most * most * b), [&](const ExprNode& n) {
    return n.fn == Fn::fold ? std::optional(a * 2.0) : std::nullopt;
  });
  CHECK(same(squared, a * a * b * 4.0));
  // A softmax that is scaled by another number is the same; by one that is not the same everywhere, it is not.
  const auto softmax = [&](Expr by) {
    const auto p = [&](Sym k) { return exp(row(k) - by); };
    return p(w.m) / w.fold(Monoid::sum, w.n, p);
  };
  CHECK(same(softmax(most), softmax(a)));
  const auto shifted = [&](Sym k) { return exp(row(k) - w.load(1, k)); };
  CHECK_FALSE(same(shifted(w.m) / w.fold(Monoid::sum, w.n, shifted), softmax(most)));
}

// Sums and products of numbers that f32 has are exact; 0.1, quotients and functions of numbers are within 1e-11.
TEST_CASE("expression: numbers that f32 has are added and multiplied exactly") {
  World w;
  const Expr a = w.load(0, w.m), b = w.load(1, w.n);
  const auto row = [&](Sym k) { return w.load(2, k); };
  const auto same = [&](Expr x, Expr y) { return w.x.normal(x) == w.x.normal(y); };
  const double c = 1 + 0x1p-23;
  CHECK_FALSE(same(a * c * c, a * (1 + 0x1p-22)));
  CHECK(same(a * c * c - a * (1 + 0x1p-22), a * 0x1p-46));
  CHECK(same((a + 0x1p30 + 0x1p-20) - 0x1p30, a + 0x1p-20));
  CHECK_FALSE(same(a * c * c * c, a * (1 + 0x1p-22 + 0x1p-23))); // of more than 53 bits: not put together
  CHECK(same(a * c * c * c - a * c * c * c + b, b));
  CHECK(same((a * c) * (w.x.constant(c) * c), (c * (a * c)) * c));
  CHECK(same(a * c * c * c * -4.0 + 2.0 * a * c * c * c, c * a * c * c * -2.0));
  CHECK_FALSE(same(a + 0x1p60 + 0x1p-20, a + 0x1p60));
  CHECK(same((a + 0x1p60) + 0x1p-20 - 0x1p60, a + 0x1p-20));
  CHECK_FALSE(same((a * c) * (a * c), a * a * (1 + 0x1p-22)));
  CHECK_FALSE(same(exp2(a * c) / exp2(a), exp2(a * 0x1p-22)));
  CHECK_FALSE(same(exp2(a * c * c), exp2(a * (1 + 0x1p-22))));
  CHECK_FALSE(same(exp2(a * 0x1p40 + a * 0x1p-20) * exp2(a * -0x1p40), w.x.constant(1)));
  CHECK_FALSE(same(log2(exp2(a * (1 + 0x1p-23) * (1 + 0x1p-24))), log2(exp2(a * (1 + 0x1p-23 + 0x1p-24)))));
  // One that is not exact takes no other away, and comes to nothing at no end of what f64 has.
  const auto ninth = [](Expr x) { return x * x * x * x * x * x * x * x * x; };
  CHECK(same((a / 3.0 * 0x1p42 + a) - a / 3.0 * 0x1p42, a));
  CHECK(same((a * 0.1 * 0x1p50 + a) - a * 0.1 * 0x1p50, a));
  CHECK_FALSE(same(b * (a / 3.0 * 0x1p42 + a) - b * (a / 3.0 * 0x1p42), b * a * 2.0));
  CHECK_FALSE(same(ninth(a * 0x1p-122) * 0.1, w.x.constant(0)));
  CHECK_FALSE(same(ninth(a * 0x1p122) * 0.1, ninth(a * 0x1p122) * 0.2));
  CHECK_FALSE(same(ninth(exp(a - 40.0)) * ninth(exp(a - 40.0)) * exp(a - 40.0), w.x.constant(0)));
  CHECK_FALSE(same(rcp(ninth(a * 0x1p-122) * 0.1), rcp(ninth(a * 0x1p-122) * 0.2)));
  for (const double d : {40., 48., 64., 80., 96., 112., 128., 160., 192., 256., 320., 576.})
    CHECK(same(exp(a / std::sqrt(d) - b / std::sqrt(d)),
               exp2(a * (1.4426950408889634 / std::sqrt(d)) - b * (std::sqrt(1 / d) * 1.4426950408889634))));
  CHECK_FALSE(same(((a * 0.1 + a * c * c) - a * (1 + 0x1p-22)) - a * 0.1, w.x.constant(0)));
  CHECK_FALSE(same(a * w.x.number(Sym((std::int64_t{1} << 53) + 1)), a * 0x1p53));
  const std::pair<AtomId, Sym> at[] = {{*w.m.as_atom(), Sym((std::int64_t{1} << 41) + 1)}};
  CHECK_FALSE(same(a * w.x.substitute(w.x.number(w.m), at), a * 0x1p41));
  CHECK_FALSE(same(ninth(w.x.constant(c)) * ninth(w.x.constant(c)) * a, a * (1 + 18 * 0x1p-23)));
  const Expr nan = w.fold(Monoid::sum, min(w.n, Sym(64)), [&](Sym k) { return inside(k, 5, row(k), NAN); });
  CHECK(same(nan, nan));
  CHECK(same(a * 0.1 * 3.0, a * 0.3));
  CHECK(same(a / 3.0 * 3.0, a));
  CHECK(same(a * 0.75 * 0.6931471805599453 * 1.4426950408889634, a * 0.75));
  CHECK(same(exp2(a * 0.1) * exp2(a * 0.2), exp2(a * 0.3)));
  CHECK(same(a * 16777217.0, a * 16777216.0 + a));
  CHECK_FALSE(same(a * 16777217.0 * 16777217.0, a * 0x1p48));
}

TEST_CASE("expression: a fold over a part of its extent is not the fold") {
  World w;
  const Sym k = w.context.symbol("k"), half = floor_div(w.n, 2);
  const std::pair<Sym, Sym> first[] = {{Sym(0), half}};
  const Expr part = w.x.partial_fold(Monoid::max, k, w.n, first, w.load(0, k)),
             whole = w.x.fold(Monoid::max, k, w.n, w.load(0, k));
  CHECK_FALSE(w.x.normal(part) == w.x.normal(whole));
  // What does not depend on the index comes out, but for what is infinite: there may be no element.
  const auto sum_of = [&](Expr body) { return w.x.partial_fold(Monoid::sum, k, w.n, first, body); };
  const Expr b = w.load(1, w.m), x = w.load(0, k), one = w.x.constant(1);
  const auto same = [&](Expr p, Expr q) { return w.x.normal(p) == w.x.normal(q); };
  CHECK(same(sum_of(x + b) * 0.5, sum_of(x) * 0.5 + sum_of(b * 0.5)));
  CHECK(same(sum_of(b), b * sum_of(one)));
  CHECK(same(sum_of(w.x.constant(3)), sum_of(one) * 3.0));
  CHECK_FALSE(same(sum_of(b), b));
  CHECK_FALSE(same(sum_of(b), w.x.number(w.n) * b));
  CHECK_FALSE(same(sum_of(w.x.constant(INFINITY)), sum_of(one) * INFINITY));
  CHECK_FALSE(same(w.x.partial_fold(Monoid::max, k, w.n, first, b), b));
  // The greatest of all holds that of a part; the least of all does not.
  const auto with_part = [&](Monoid of, Monoid all, Monoid some) {
    const Expr of_all = w.x.fold(all, k, w.n, w.load(0, k)),
               piece = w.x.partial_fold(some, k, w.n, first, w.load(0, k));
    return same(of == Monoid::max ? max(of_all, piece) : min(of_all, piece), of_all);
  };
  CHECK(with_part(Monoid::max, Monoid::max, Monoid::max));
  CHECK(with_part(Monoid::min, Monoid::min, Monoid::min));
  CHECK_FALSE(with_part(Monoid::max, Monoid::min, Monoid::min));
  CHECK_FALSE(with_part(Monoid::min, Monoid::max, Monoid::max));
  CHECK_FALSE(with_part(Monoid::max, Monoid::max, Monoid::min));
  CHECK(to_string(part, [](int) { return "t"; }).find("over [0, ") != std::string::npos);
}

TEST_CASE("text is read as the expression that it prints as") {
  Expressions arena;
  SymContext symbols;
  for (const char* name : {"m", "n", "k"}) static_cast<void>(symbols.symbol(name));
  for (const char* name : {"i", "j"}) static_cast<void>(symbols.symbol(name, Interval{Int(0), std::nullopt}));
  const std::vector<std::string> tensors = {"a", "b", "ids"};
  const auto number = [&](std::string_view name) {
    const auto at = std::find(tensors.begin(), tensors.end(), name);
    return at == tensors.end() ? -1 : static_cast<int>(at - tensors.begin());
  };
  const auto read = [&](const std::string& text) { return parse_expression(arena, symbols, text, number); };
  const auto text = [&](Expr e) {
    return to_string(e, [&](int t) { return tensors[static_cast<std::size_t>(t)]; });
  };
  for (const std::string s :
       {"sum(q < k, a(i,q) * b(j,q))", "exp(a(i,j) - max(q < n, a(i,q))) / sum(p < n, exp(a(i,p)))",
        "a(i,2*j + 1) * 0.5 - b(j,(i + 3) / 4) + 1", "rsqrt(sum(q < n, a(i,q) * a(i,q)) / n + 0.25)",
        "(i < m ? a(i,j) : 0)", "(a(i,j) >= 0 ? a(i,j) : b(i,j))", "a(ids[i],j) * 2", "max(a(i,j), -2.5) ^ 3",
        "1 / (1 + exp2(-a(i,j)))", "min(q < k, a(i,q)) - inf", "sqrt(a(i,j)) - rcp(b(i,j))",
        "sum(q < k/32, b(j,q) * sum(p < 32, a(i,32*q + p)))", "float(iadd(int(a(i,j)), 0xd2511f53, 7u))",
        "choose(less(int(a(i,j)), trunc(b(i,j))), a(i,j), round(b(i,j)))",
        "float(sum(q < k, xor(int(a(i,q)), 5u))) * sum(q < k, a(i,q))", "shr(sum(q < k, int(a(i,q))), 5u)",
        "from_bits(xor(bits(a(i,j)), 0x80000000))"}) {
    INFO(s);
    const Expr e = read(s);
    INFO(text(e));
    CHECK(read(text(e)) == e);
  }
  // The tree, not only that it is the same twice.
  CHECK(read("a(i,j) - b(i,j) - 1") == (arena.load(0, {*symbols.find("i"), *symbols.find("j")}) -
                                        arena.load(1, {*symbols.find("i"), *symbols.find("j")})) -
                                           1.0);
  CHECK(read("2 + 3 * 4") == arena.constant(2) + arena.constant(3) * arena.constant(4));
  CHECK(read("n") == arena.number(*symbols.find("n")));
  const Expr fold = read("sum(q < k, a(i,q) * b(j,q))");
  CHECK(fold.node().fn == Fn::fold);
  CHECK(fold.node().index.at(0) == *symbols.find("k"));
  for (const std::string wrong : {"",
                                  "a(i,",
                                  "a(i,j",
                                  "a(i,j))",
                                  "c(i,j)",
                                  "z + 1",
                                  "sum(n < k, a(i,n))",
                                  "sum(q < , a(i,q))",
                                  "iadd(1u, a(i,j))",
                                  "popcount(1u, 2u)",
                                  "leading_zeros(1u, 2u)",
                                  "trailing_zeros(a(i,j))",
                                  "0x100000000",
                                  "5000000000u",
                                  "1.5u",
                                  "choose(1u, 2u, a(i,j))",
                                  "a(i,z)",
                                  "1 +",
                                  "max(a(i,j))",
                                  "(i < m ? a(i,j) : b(i,j))",
                                  "a(q[i],j)",
                                  "2 ^ x",
                                  "exp a(i,j)"}) {
    INFO(wrong);
    CHECK_THROWS_AS(read(wrong), CodegenError);
  }
  CHECK_THROWS_AS(read(std::string(100000, '(')), CodegenError);
  CHECK_THROWS_AS(read(std::string(100000, '-') + "1"), CodegenError);
}

TEST_CASE("domains: the largest of nothing is not positive, and a sum of nothing is not negative") {
  SymContext symbols;
  Expressions x;
  const Sym i = symbols.symbol("i", {Int(0), std::nullopt});
  using provenance::Domains;
  Domains domains(x);
  for (const std::int64_t least : {0, 1}) {
    const Sym n = symbols.symbol("n" + std::to_string(least), {Int(least), std::nullopt});
    const auto fold = [&](Monoid m) { return x.fold(m, i, n, exp(x.load(0, {i}))); };
    const Expr most = fold(Monoid::max), sum = fold(Monoid::sum);
    const auto asked = [&](Expr of, Expr comes_to) {
      unsigned all = 0;
      for (const auto& [what, need] : domains.lost(of, x.normal(comes_to)))
        all |= domains.open(what.base, need);
      return all;
    };
    INFO("n >= " << least);
    CHECK(asked(sqrt(most) * sqrt(most), most) == (least == 0 ? Domains::not_negative : 0U));
    CHECK(asked(sqrt(sum) * sqrt(sum), sum) == 0);
    CHECK(asked(sum * rcp(sum), x.constant(1)) == (least == 0 ? Domains::not_zero : 0U));
  }
}

} // namespace expression_test
