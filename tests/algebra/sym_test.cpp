// Symbols: normal form, simplification, facts; each simplification is checked against evaluation.
#include <catch2/catch.hpp>

#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/prover.h>

#include <random>

namespace sym_test {

using namespace inlay;

TEST_CASE("equal polynomials are equal values") {
  SymContext ctx;
  const Sym m = ctx.symbol("m");
  const Sym n = ctx.symbol("n");
  CHECK((m + n) * (m - n) == m * m - n * n);
  CHECK((m + n) - n - m == Sym(0));
  CHECK(m * n == n * m);
  CHECK(to_string(128 * m) == "128*m");
  CHECK(to_string(2 * m * n + 3) == "2*m*n+3");
  CHECK(to_string(-m + n - 1) == "-m+n-1");
  CHECK(divide_exactly(128 * m * n + 64 * m, 64 * m) == std::optional<Sym>(2 * n + 1));
  CHECK(divide_exactly(m * m - n * n, m + n) == std::optional<Sym>(m - n));
  CHECK_FALSE(divide_exactly(m + 1, n).has_value());
  CHECK_FALSE(divide_exactly(m * n + 1, m).has_value());
  CHECK_THROWS_AS(Sym(std::numeric_limits<std::int64_t>::max()) * m * 2, OverflowError);
}

TEST_CASE("division and remainder simplify where the facts decide") {
  SymContext ctx;
  const Sym m = ctx.symbol("m");
  const Sym x = ctx.symbol("x", {Int(0), Int(127)});
  CHECK(floor_div(128 * m + 5, 128) == m);
  CHECK(floor_mod(128 * m + 5, 128) == Sym(5));
  CHECK(floor_div(128 * m + x, 128) == m);
  CHECK(floor_mod(128 * m + x, 128) == x);
  CHECK(floor_div(128 * m - 1, 128) == m - 1);
  CHECK(ceil_div(128 * m, 128) == m);
  CHECK(to_string(ceil_div(m, 128)) == "(m+127)/128");
  CHECK(floor_div(floor_div(m, 4), 8) == floor_div(m, 32));
  CHECK(floor_mod(floor_mod(m, 32), 8) == floor_mod(m, 8));
  CHECK(min(m, m + 1) == m);
  CHECK(bit_and(m, 7) == floor_mod(m, 8));
  CHECK(bit_xor(m, m) == Sym(0));
  CHECK(bit_xor(128 * m, x) == 128 * m + x);
  CHECK(select(m, x, 0) == x);
}

TEST_CASE("questions") {
  SymContext ctx;
  const Sym m = ctx.symbol("m");
  const Sym n = ctx.symbol("n");
  const Sym big = ctx.declare_multiple("N", 16, 16);
  CHECK(divides(16, big) == Truth::yes);
  CHECK(divides(8, big * m) == Truth::yes);
  CHECK(divides(32, big) == Truth::unknown);
  CHECK(divides(16, big + 4) == Truth::no);
  CHECK(le(1, m) == Truth::yes);
  CHECK(le(m, m * n) == Truth::yes);
  CHECK(le(m * n + 1, m) == Truth::no);
  CHECK(le(m, n) == Truth::unknown);
  CHECK(eq(2 * m, 2 * n + 1) == Truth::no);
  CHECK(eq(m, n) == Truth::unknown);
  CHECK(divides(128 * m, 96) == Truth::no);
  CHECK(le(floor_mod(n, m) + 1, m) == Truth::yes);
  CHECK(interval(m * n - m).lower == std::optional<Int>(0));
}

TEST_CASE("formulas mean what they evaluate to") {
  // Random formulas: parse, simplify, evaluate; against a direct evaluation of the same tree on integers.
  std::mt19937 random(1);
  SymContext ctx;
  const Sym symbols[] = {ctx.symbol("a"), ctx.symbol("b", {Int(-20), Int(20)}),
                         ctx.symbol("c", {Int(0), std::nullopt})};
  struct Node {
    Sym sym;
    Int value;
  };
  for (int round = 0; round < 3000; ++round) {
    Assignment at;
    const Int values[] = {Int(1 + random() % 40), Int(static_cast<int>(random() % 41) - 20),
                          Int(random() % 40)};
    for (int i = 0; i < 3; ++i) at.set(symbols[i], values[i]);
    std::vector<Node> nodes;
    for (int i = 0; i < 3; ++i) nodes.push_back({symbols[i], values[i]});
    for (int i = 0; i < 6; ++i) {
      const Node x = nodes[random() % nodes.size()];
      const Node y = nodes[random() % nodes.size()];
      const Int k = 1 + static_cast<int>(random() % 16);
      switch (random() % 12) {
      case 0: nodes.push_back({x.sym + y.sym, x.value + y.value}); break;
      case 1: nodes.push_back({x.sym - y.sym * k, x.value - y.value * k}); break;
      case 2: nodes.push_back({x.sym * k + 3, x.value * k + 3}); break;
      case 3: nodes.push_back({floor_div(x.sym, k), floor_div(x.value, k)}); break;
      case 4: nodes.push_back({floor_mod(x.sym, k), floor_mod(x.value, k)}); break;
      case 5: nodes.push_back({min(x.sym, y.sym), min(x.value, y.value)}); break;
      case 6: nodes.push_back({max(x.sym, y.sym), max(x.value, y.value)}); break;
      case 7: nodes.push_back({bit_xor(x.sym, y.sym), x.value.value() ^ y.value.value()}); break;
      case 8: nodes.push_back({bit_and(x.sym, 8 * k - 8), x.value.value() & (8 * k - 8).value()}); break;
      case 9: nodes.push_back({bit_or(x.sym, y.sym), x.value.value() | y.value.value()}); break;
      case 10:
        nodes.push_back({select(less_equal(x.sym, y.sym), x.sym, k), x.value <= y.value ? x.value : k});
        break;
      default:
        if (y.value != 0) nodes.push_back({floor_div(x.sym, y.sym), floor_div(x.value, y.value)});
        if (y.value != 0) nodes.push_back({floor_mod(x.sym, y.sym), floor_mod(x.value, y.value)});
      }
    }
    for (const Node& n : nodes) {
      INFO(to_string(n.sym) << " at a=" << values[0] << " b=" << values[1] << " c=" << values[2]);
      REQUIRE(evaluate(n.sym, at) == n.value);
      const Interval i = interval(n.sym);
      REQUIRE((!i.lower || *i.lower <= n.value));
      REQUIRE((!i.upper || n.value <= *i.upper));
      const Residue r = residue(n.sym);
      REQUIRE((r.modulus == 0 ? n.value == r.residue : floor_mod(n.value - r.residue, r.modulus) == 0));
      REQUIRE(parse_sym(ctx, to_string(n.sym)) == n.sym);
      const std::pair<AtomId, Sym> replaced{*symbols[0].as_atom(), Sym(values[0])};
      REQUIRE(evaluate(substitute(n.sym, {&replaced, 1}), at) == n.value);
      for (const Node& o : nodes) {
        if (const Truth t = le(n.sym, o.sym); t != Truth::unknown)
          REQUIRE((t == Truth::yes) == (n.value <= o.value));
        if (const Truth t = eq(n.sym, o.sym); t != Truth::unknown)
          REQUIRE((t == Truth::yes) == (n.value == o.value));
        if (const Truth t = divides(n.sym, o.sym); t != Truth::unknown && n.value != 0)
          REQUIRE((t == Truth::yes) == (floor_mod(o.value, n.value) == 0));
      }
    }
  }
}

TEST_CASE("symbolic layouts evaluate to formulas") {
  SymContext ctx;
  const SymLayout l = parse_sym_layout(ctx, "(m,n):(1,m)");
  const Sym i = ctx.symbol("i", {Int(0), std::nullopt});
  Assignment at;
  at.set(ctx.symbol("m"), 6);
  at.set(ctx.symbol("n"), 5);
  for (Int k = 0; k < 30; k += 1) {
    at.set(i, k);
    CHECK(evaluate(l(i), at) == k);
  }
  CHECK(l.size() == ctx.symbol("m") * ctx.symbol("n"));
}

TEST_CASE("contexts do not mix and names are checked") {
  SymContext a;
  SymContext b;
  CHECK_THROWS_AS(a.symbol("m") + b.symbol("m"), LayoutError);
  CHECK_THROWS_AS(a.symbol("2m"), LayoutError);
  CHECK_THROWS_AS(a.symbol("min"), LayoutError);
  CHECK_THROWS_AS(a.symbol("m", {Int(5), Int(9)}), LayoutError);
  CHECK_THROWS_AS(a.symbol("q", {Int(5), Int(4)}), LayoutError);
}

} // namespace sym_test
