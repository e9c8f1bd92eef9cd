// Every simplification that `Sym` makes, against the definition: random formulas are evaluated once as a tree
// of plain 64-bit operations written here and once through the normal form, at random values inside the
// declared ranges. Answers of eq, le, divides, interval and residue are held against the same values.
#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/sym.h>

#include <catch2/catch.hpp>
#include <random>

namespace sym_random_test {

namespace {

using namespace inlay;
using Wide = __int128; // operands stay below 2^20 and trees shallow: no overflow here

struct Undefined {}; // division by zero and the like: not a value, so nothing to compare

Wide floor_quotient(Wide a, Wide b) {
  if (b == 0) throw Undefined{};
  Wide q = a / b;
  return q - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}

struct Formula {
  Sym sym;
  std::function<Wide(const std::vector<Wide>&)> value;
  std::string text;
};

class Generator {
public:
  explicit Generator(std::uint64_t seed) : random_(seed) {
    symbols_ = {context_.symbol("a"), context_.symbol("b", {Int(0), Int(7)}),
                context_.symbol("c", {Int(-5), Int(20)}), context_.symbol("t", {Int(0), Int(63)})};
    context_.declare_multiple("M", Int(16)); // M = 16 q, q >= 1
    multiple_ = *context_.find("M");
    quotient_ = symbols(multiple_).at(0);
  }

  Formula make(int depth) {
    const int kind = depth == 0 ? pick(2) : pick(16);
    if (kind == 0) {
      const int k = pick(41) - 12;
      return {Sym(k), [k](const auto&) { return Wide(k); }, std::to_string(k)};
    }
    if (kind == 1) {
      const std::size_t i = static_cast<std::size_t>(pick(5));
      if (i == 4) return {multiple_, [](const auto& v) { return 16 * v[4]; }, "M"};
      return {symbols_[i], [i](const auto& v) { return v[i]; }, std::string(1, "abct"[i])};
    }
    Formula x = make(depth - 1), y = make(depth - 1);
    auto binary = [&](Sym s, auto f, const char* name) {
      return Formula{s, [f, a = x.value, b = y.value](const auto& v) { return f(a(v), b(v)); },
                     std::string(name) + "(" + x.text + "," + y.text + ")"};
    };
    switch (kind) {
    case 2:
    case 3:
      return binary(
          x.sym + y.sym, [](Wide a, Wide b) { return a + b; }, "add");
    case 4:
      return binary(
          x.sym - y.sym, [](Wide a, Wide b) { return a - b; }, "sub");
    case 5:
      return binary(
          x.sym * y.sym, [](Wide a, Wide b) { return a * b; }, "mul");
    case 6:
    case 7:
    case 8:
    case 9: { // division and remainder by a positive constant or by a positive symbol
      const int d = pick(5);
      const Wide k = Wide{1} << (d % 4) << (d == 3);
      Sym divisor = d == 4 ? symbols_[0] : Sym(static_cast<std::int64_t>(k));
      auto value_of = [d, k](const std::vector<Wide>& v) { return d == 4 ? v[0] : k; };
      if (kind < 8)
        return {floor_div(x.sym, divisor),
                [=, a = x.value](const auto& v) { return floor_quotient(a(v), value_of(v)); },
                "div(" + x.text + "," + to_string(divisor) + ")"};
      return {
          floor_mod(x.sym, divisor),
          [=, a = x.value](const auto& v) { return a(v) - floor_quotient(a(v), value_of(v)) * value_of(v); },
          "mod(" + x.text + "," + to_string(divisor) + ")"};
    }
    case 10:
      return binary(
          min(x.sym, y.sym), [](Wide a, Wide b) { return std::min(a, b); }, "min");
    case 11:
      return binary(
          max(x.sym, y.sym), [](Wide a, Wide b) { return std::max(a, b); }, "max");
    case 12:
      return binary(
          bit_and(x.sym, y.sym), [](Wide a, Wide b) { return a & b; }, "and");
    case 13:
      return binary(
          bit_xor(x.sym, y.sym), [](Wide a, Wide b) { return a ^ b; }, "xor");
    case 14: {
      const int bits = pick(4);
      return {shift_right(x.sym, Sym(bits)), [bits, a = x.value](const auto& v) { return a(v) >> bits; },
              "shr(" + x.text + "," + std::to_string(bits) + ")"};
    }
    default: {
      Formula z = make(depth - 1);
      return {select(less_equal(x.sym, y.sym), z.sym, y.sym),
              [a = x.value, b = y.value, c = z.value](const auto& v) { return a(v) <= b(v) ? c(v) : b(v); },
              "select(" + x.text + "<=" + y.text + "," + z.text + "," + y.text + ")"};
    }
    }
  }

  std::vector<Wide> draw(Assignment& assignment) {
    const std::vector<Wide> v = {1 + pick(40), pick(8), pick(26) - 5, pick(64), 1 + pick(9)};
    for (std::size_t i = 0; i < 4; ++i) assignment.set(symbols_[i], Int(static_cast<std::int64_t>(v[i])));
    assignment.set(quotient_, Int(static_cast<std::int64_t>(v[4])));
    return v;
  }

private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::mt19937_64 random_;
  SymContext context_;
  std::vector<Sym> symbols_;
  Sym multiple_;
  AtomId quotient_ = 0;
};

} // namespace

TEST_CASE("Sym: 20,000 random formulas have the value of their tree, and no fact about them is wrong") {
  std::size_t compared = 0, decided = 0;
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    Generator generate(seed);
    Formula x = generate.make(static_cast<int>(1 + seed % 4)), y = generate.make(static_cast<int>(seed % 3));
    const Truth equal_truth = eq(x.sym, y.sym), le_truth = le(x.sym, y.sym),
                divides_truth = divides(Sym(4), x.sym);
    decided += (equal_truth != Truth::unknown) + (le_truth != Truth::unknown);
    const Interval range = interval(x.sym);
    const Residue rest = residue(x.sym);
    for (int trial = 0; trial < 6; ++trial) {
      Assignment assignment;
      const std::vector<Wide> v = generate.draw(assignment);
      Wide a = 0, b = 0;
      try {
        a = x.value(v);
        b = y.value(v);
      } catch (const Undefined&) {
        continue;
      }
      INFO("seed " << seed << ": " << x.text << " became " << to_string(x.sym) << "; other " << y.text
                   << " became " << to_string(y.sym));
      REQUIRE(Wide(evaluate(x.sym, assignment).value()) == a);
      REQUIRE(Wide(evaluate(y.sym, assignment).value()) == b);
      ++compared;
      if (equal_truth != Truth::unknown) REQUIRE((a == b) == (equal_truth == Truth::yes));
      if (le_truth != Truth::unknown) REQUIRE((a <= b) == (le_truth == Truth::yes));
      if (divides_truth != Truth::unknown) REQUIRE((a % 4 == 0) == (divides_truth == Truth::yes));
      if (range.lower) REQUIRE(Wide(range.lower->value()) <= a);
      if (range.upper) REQUIRE(a <= Wide(range.upper->value()));
      if (rest.modulus == Int(0))
        REQUIRE(a == Wide(rest.residue.value()));
      else
        REQUIRE((a - Wide(rest.residue.value())) % Wide(rest.modulus.value()) == 0);
    }
  }
  CHECK(compared > 40000);
  CHECK(decided > 2000); // it does decide
}

} // namespace sym_random_test
