// What validation knows of quotients and remainders without a prover, against their values.
#include "formulas.h"

#include <inlay/algebra/print.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <random>

namespace digits_test {

using inlay::Assignment, inlay::AtomId, inlay::Int, inlay::Interval, inlay::Sym;
namespace codegen = inlay::codegen;
namespace runtime = inlay::runtime;
using inlay::kernels::validate::Formulas;

namespace {

/// Sums of digits of x = 4 g + j in the bases q, then p, as addresses and conditions of windows have them; u has few values.
struct Drawn {
  codegen::Program program{"digits", codegen::Target::named("gfx942"), 64};
  Sym p = program.size("p", {.most = 6}), q = program.size("q", {.most = 5}),
      w = program.size("w", {.most = 4}), n = program.size("n", {.most = 40}),
      g = program.workgroups(0, n, 4), u = program.symbols().symbol("_u", {Int(0), Int(17)});
  runtime::symbolic::Terms terms;
  Formulas formulas{program, terms};
  std::mt19937_64 random{20261129};

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  }
  Sym of_u() {
    const Sym a = Sym(number(1, 3)) * u + Sym(number(-2, 5));
    const std::pair<int, int> magic[] = {{171, 512}, {171, 1024}, {43, 128}, {86, 256}, {5, 16}};
    const auto [m, d] = magic[number(0, 4)];
    return number(0, 1) == 0 ? floor_div(a, Sym(number(2, 6)))
                             : floor_div(Sym(m) * u + Sym(number(0, d)), Sym(d));
  }
  Sym sum() {
    const Sym x = Sym(4) * g + Sym(number(-1, 3)), d = floor_div(x, q), e = floor_div(d, p);
    const Sym parts[] = {x - q * d, d - p * e, e, d, x, of_u(), u, w, of_u() - Sym(3) * of_u()};
    const Sym factors[] = {Sym(1), Sym(1), w, n, w * q, q};
    Sym s(number(-20, 20));
    for (int k = 0; k < 3; ++k) s += Sym(number(-3, 4)) * factors[number(0, 5)] * parts[number(0, 8)];
    return s;
  }
  Assignment values() {
    Assignment a;
    const auto edge = [&](std::int64_t low, std::int64_t high) {
      return random() % 3 == 0 ? low : random() % 2 == 0 ? high : number(low, high);
    };
    const std::int64_t of_n = edge(1, 40);
    a.set(p, Int(edge(1, 6))), a.set(q, Int(edge(1, 5))), a.set(w, Int(edge(1, 4))), a.set(n, Int(of_n));
    a.set(g, Int(edge(0, (of_n - 1) / 4))), a.set(u, Int(edge(0, 17)));
    return a;
  }
};

} // namespace

TEST_CASE("formulas: the most of a sum of digits is at least what it is anywhere") {
  Drawn d;
  int bounded = 0;
  for (int k = 0; k < 400; ++k) {
    const Sym s = d.sum();
    std::vector<Sym> known{d.sum(), d.sum()};
    known.push_back(d.w - Sym(1) - (Sym(4) * d.g - d.q * floor_div(Sym(4) * d.g, d.q)));
    const auto most = d.formulas.most(s, known);
    if (!most) continue;
    ++bounded;
    for (int v = 0; v < 100; ++v) {
      const Assignment at = d.values();
      if (std::any_of(known.begin(), known.end(), [&](const Sym& x) { return evaluate(x, at) < Int(0); }))
        continue;
      if (*most < evaluate(s, at)) FAIL(to_string(s) << " is said to be at most " << to_string(Sym(*most)));
    }
  }
  CHECK(bounded > 200);
  // The digits of a pixel in an image of p x q, which lie inside of one of h x w.
  const Sym x = Sym(4) * d.g, row = floor_div(x, d.q), column = x - d.q * row;
  const std::vector<Sym> inside{d.w - Sym(1) - column};
  CHECK((d.formulas.most(Sym(3) * column + d.w, inside) == Int(13)));
  CHECK((d.formulas.most(Sym(3) * column, {}) == Int(12))); // q - 1, and q is at most 5
}

TEST_CASE("formulas: one quotient stands for all of the same values, and a bound for a condition") {
  Drawn d;
  int shorter = 0, bounds = 0;
  for (int k = 0; k < 400; ++k) {
    const Sym s = d.sum(), same = d.formulas.by_tables(s),
              one = d.of_u() * Sym(d.number(0, 1) == 0 ? -1 : 1) + Sym(d.number(-4, 9)),
              bound = d.formulas.as_bound(one);
    shorter += same == s ? 0 : 1;
    bounds += bound == one ? 0 : 1;
    for (int v = 0; v < 60; ++v) {
      const Assignment at = d.values();
      if (evaluate(s, at) != evaluate(same, at)) FAIL(to_string(s) << " became " << to_string(same));
    }
    for (int v = 0; v <= 17; ++v) {
      Assignment at;
      at.set(d.u, Int(v));
      if ((evaluate(one, at) < Int(0)) != (evaluate(bound, at) < Int(0)))
        FAIL(to_string(one) << " >= 0 became " << to_string(bound) << " >= 0");
    }
  }
  CHECK(shorter > 100);
  CHECK(bounds > 200);
  // 171 u / 512 is u / 3 below 18 as it is below 256.
  CHECK((d.formulas.by_tables(floor_div(Sym(171) * d.u, Sym(512))) == floor_div(d.u, Sym(3))));
  CHECK((d.formulas.as_bound(Sym(8) - floor_div(d.u + Sym(2), Sym(2))) == Sym(15) - d.u));
}

TEST_CASE("formulas: a compiler's division by a constant is that division, where it is one") {
  inlay::SymContext c;
  const std::int64_t most = INT32_MAX;
  const Sym n = c.symbol("n", {Int(0), Int(most)}), word(std::int64_t{1} << 32);
  std::mt19937_64 random{20261130};
  int divided = 0, left = 0;
  for (int k = 0; k < 600; ++k) {
    const auto number = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    const std::int64_t usual[] = {3, 5, 7, 48, 96, 112, 160, 192, 224, 641, 2752, 65535};
    const std::int64_t d = random() % 2 == 0 ? usual[random() % 12] : number(3, 1 << 20);
    const std::int64_t more = random() % 3 == 0 ? 0 : random() % 2 == 0 ? d - 1 : number(0, 70'000);
    // The multiplier of ceil(2^(32 + s) / d), or one that is too large or too small, with as many bits as a word has at most.
    const int s =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(d))) - 1 - static_cast<int>(random() % 2);
    const std::int64_t of = (std::int64_t{1} << (32 + s)) / d + 1;
    const std::int64_t m = std::max<std::int64_t>(of + (random() % 4 == 0 ? number(-3, 40) : 0), 2);
    // As the machine has it: m (n + more) as a signed coefficient and what it is of 2^32; then, of the high word, the rest.
    const std::int64_t at_once = m * more, low = at_once % (std::int64_t{1} << 32), high = at_once >> 32;
    const std::int64_t as_signed = m >= std::int64_t{1} << 31 ? m - (std::int64_t{1} << 32) : m;
    const Sym carried = m >= std::int64_t{1} << 31 ? n : Sym(0);
    const Sym sum = carried + floor_div(Sym(as_signed) * n + Sym(low), word) + Sym(high);
    const Sym quotient = floor_div(sum, Sym(std::int64_t{1} << s));
    const Sym now = Formulas::by_division(quotient);
    (now == floor_div(n + Sym(more), Sym(d)) ? divided : left) += 1;
    for (int v = 0; v < 60; ++v) {
      // At the ends, and where the quotient grows.
      const std::int64_t by =
          v % 2 == 0 ? d : std::max<std::int64_t>(((std::int64_t{1} << (32 + s)) + m - 1) / m, 1);
      const std::int64_t near =
          (most / by - number(0, v % 3 == 0 ? 3 : most / by)) * by - more + number(-1, 1);
      const std::int64_t x = v == 0   ? 0
                             : v == 1 ? most
                             : v == 2 ? most - 1
                             : v == 3 ? (most / d) * d - more - 1
                                      : near;
      if (x < 0 || x > most) continue;
      const auto wide = static_cast<__int128>(m) * (static_cast<__int128>(x) + more); // the machine's
      Assignment at;
      at.set(n, Int(x));
      REQUIRE(evaluate(quotient, at) == Int(static_cast<std::int64_t>(wide >> (32 + s))));
      if (evaluate(now, at) != evaluate(quotient, at))
        FAIL(to_string(quotient) << " became " << to_string(now) << ", which is another number at " << x);
    }
  }
  CHECK(divided > 250);
  CHECK(left > 50);
  // Of n + 191 by 192, as LLVM has it. A number that may be negative, or is too large for the multiplier, is divided otherwise.
  const auto by_192 = [&](Sym x) {
    return floor_div(x + floor_div(Sym(-1431655765) * x + Sym(1431655829), word) + Sym(127), Sym(128));
  };
  CHECK(Formulas::by_division(by_192(n)) == floor_div(n + Sym(191), Sym(192)));
  const Sym signed_n = c.symbol("i", {Int(-500), Int(most)}),
            wide = c.symbol("w", {Int(0), Int(std::int64_t{1} << 36)});
  CHECK(Formulas::by_division(by_192(signed_n)) == by_192(signed_n));
  CHECK(Formulas::by_division(by_192(wide)) == by_192(wide));
}

} // namespace digits_test
