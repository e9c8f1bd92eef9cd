// Terms against plain machine arithmetic: whatever is simplified, the value stays.
#include <inlay/runtime/symbolic/term.h>

#include <catch2/catch.hpp>
#include <random>

namespace term_test {

using namespace inlay::runtime::symbolic;

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u32 draw(std::mt19937_64& random) {
  static constexpr u32 edges[] = {0,      1,       2,          3,          7,          8,
                                  31,     32,      63,         64,         255,        256,
                                  0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
  if (random() % 2 == 0) return edges[random() % std::size(edges)];
  return static_cast<u32>(random() >> (random() % 32));
}

/// A term and what it must be under each of the assignments.
struct Pair {
  Term term;
  std::vector<u32> value;
};

} // namespace

TEST_CASE("random terms have the value of the arithmetic they stand for") {
  constexpr std::size_t tries = 6;
  for (u64 seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed);
    Terms t;
    std::vector<Terms::Assignment> given(tries);
    std::vector<Pair> words;
    std::vector<Pair> conditions;
    for (const char* name : {"x", "y", "z"}) {
      const bool small = random() % 3 == 0;
      Pair p{t.symbol(name, small ? 1000 : 0xffffffffU), {}};
      for (auto& g : given) {
        p.value.push_back(small ? draw(random) % 1001 : draw(random));
        g[p.term] = p.value.back();
      }
      words.push_back(p);
    }
    const auto pick = [&]() -> Pair {
      if (random() % 3 == 0) {
        const u32 k = draw(random);
        return {t.constant(k), std::vector<u32>(tries, k)};
      }
      return words[random() % words.size()];
    };
    for (int step = 0; step < 40; ++step) {
      const Pair a = pick();
      const Pair b = pick();
      Pair r{0, std::vector<u32>(tries)};
      const auto set = [&](Term term, auto f) {
        r.term = term;
        for (std::size_t i = 0; i < tries; ++i) r.value[i] = static_cast<u32>(f(a.value[i], b.value[i]));
      };
      const auto s = [](u32 v) { return static_cast<std::int32_t>(v); };
      bool condition = false;
      switch (random() % 30) {
      case 0: set(t.add(a.term, b.term), [](u32 x, u32 y) { return x + y; }); break;
      case 1: set(t.subtract(a.term, b.term), [](u32 x, u32 y) { return x - y; }); break;
      case 2: set(t.multiply(a.term, b.term), [](u32 x, u32 y) { return x * y; }); break;
      case 3: set(t.bit_and(a.term, b.term), [](u32 x, u32 y) { return x & y; }); break;
      case 4: set(t.bit_or(a.term, b.term), [](u32 x, u32 y) { return x | y; }); break;
      case 5: set(t.bit_xor(a.term, b.term), [](u32 x, u32 y) { return x ^ y; }); break;
      case 6: set(t.bit_not(a.term), [](u32 x, u32) { return ~x; }); break;
      case 7: set(t.shl(a.term, b.term), [](u32 x, u32 y) { return x << (y & 31); }); break;
      case 8:
      case 9: set(t.shr(a.term, b.term), [](u32 x, u32 y) { return x >> (y & 31); }); break;
      case 10: set(t.ashr(a.term, b.term), [&](u32 x, u32 y) { return s(x) >> (y & 31); }); break;
      case 11: set(t.minimum(a.term, b.term, false), [](u32 x, u32 y) { return std::min(x, y); }); break;
      case 12:
        set(t.maximum(a.term, b.term, true), [&](u32 x, u32 y) { return std::max(s(x), s(y)); });
        break;
      case 13:
        set(t.multiply_high(a.term, b.term, false), [](u32 x, u32 y) { return (u64{x} * y) >> 32; });
        break;
      case 14:
        set(t.multiply_high(a.term, b.term, true),
            [&](u32 x, u32 y) { return static_cast<u64>(std::int64_t{s(x)} * s(y)) >> 32; });
        break;
      case 15:
        condition = true;
        set(t.equal(a.term, b.term), [](u32 x, u32 y) { return x == y; });
        break;
      case 16:
        condition = true;
        set(t.less(a.term, b.term, false), [](u32 x, u32 y) { return x < y; });
        break;
      case 17:
        condition = true;
        set(t.less(a.term, b.term, true), [&](u32 x, u32 y) { return s(x) < s(y); });
        break;
      case 18:
        condition = true;
        set(t.carry(a.term, b.term), [](u32 x, u32 y) { return (u64{x} + y) >> 32; });
        break;
      case 19:
        condition = true;
        set(t.borrow(a.term, b.term), [](u32 x, u32 y) { return x < y; });
        break;
      case 20: {
        const unsigned k = random() % 32;
        condition = true;
        set(t.bit(a.term, k), [&](u32 x, u32) { return (x >> k) & 1; });
        break;
      }
      case 21:
        set(t.high(t.product(a.term, b.term, random() % 2 != 0 && false)),
            [](u32 x, u32 y) { return (u64{x} * y) >> 32; });
        break;
      case 22: { // a carry chain by hand and the wide sum
        const Term w = t.add(t.join(a.term, b.term), t.zext(b.term));
        set(t.high(w), [](u32 x, u32 y) { return ((x | (u64{y} << 32)) + y) >> 32; });
        break;
      }
      case 23: {
        const u32 k = static_cast<u32>(random() % 64);
        const Term w = t.wide_shift(TermKind::wide_shift_right_signed,
                                    t.wide_shift(TermKind::wide_shift_left, t.zext(a.term), t.constant(32)),
                                    t.constant(k));
        set(t.low(w), [&](u32 x, u32) { return static_cast<std::int64_t>(u64{x} << 32) >> k; });
        break;
      }
      case 24: { // a part in the high word
        const u64 k = (u64{draw(random) & 0x7fffffffU} << 32) | draw(random);
        const Term w = t.add(t.multiply(t.zext(a.term), t.wide_constant(k)), t.zext(b.term));
        set(t.high(w), [&](u32 x, u32 y) { return (k * x + y) >> 32; });
        break;
      }
      case 25: { // a product of two words, and more in its low word
        const Pair more = pick();
        const Term low = t.add(t.multiply(a.term, b.term), more.term);
        const Term w = t.join(low, t.multiply_high(a.term, b.term, false));
        const bool upper = random() % 2 != 0;
        r.term = upper ? t.high(t.add(w, t.zext(a.term))) : t.low(t.add(w, t.zext(a.term)));
        for (std::size_t i = 0; i < tries; ++i) {
          const u64 product = u64{a.value[i]} * b.value[i];
          const u64 sum = ((product >> 32 << 32) | static_cast<u32>(product + more.value[i])) + a.value[i];
          r.value[i] = static_cast<u32>(upper ? sum >> 32 : sum);
        }
        break;
      }
      case 26: { // a number of 64 bits that is shifted left, by words; or the upper part of another shift, or number
        const u32 by = 1 + static_cast<u32>(random() % 31);
        const u32 up = random() % 3 == 0 ? 1 + static_cast<u32>(random() % 63) : 32 - by;
        const Term w = t.product(a.term, b.term, false);
        const Term low = t.multiply(t.low(w), t.constant(u32{1} << by));
        const Pair other = random() % 3 == 0 ? pick() : a;
        const Term of = t.product(other.term, b.term, false);
        const Term high = t.low(t.wide_shift(TermKind::wide_shift_right, of, t.constant(up)));
        const Term sum = t.add(t.join(low, high), t.zext(a.term));
        const bool upper = random() % 2 != 0;
        r.term = upper ? t.high(sum) : t.low(sum);
        for (std::size_t i = 0; i < tries; ++i) {
          const u64 x = u64{a.value[i]} * b.value[i], z = u64{other.value[i]} * b.value[i];
          const u64 y = (static_cast<u32>(x << by) | (z >> up << 32)) + u64{a.value[i]};
          r.value[i] = static_cast<u32>(upper ? y >> 32 : y);
        }
        break;
      }
      default: {
        if (conditions.size() < 2) continue;
        const Pair c = conditions[random() % conditions.size()];
        const Pair d = conditions[random() % conditions.size()];
        switch (random() % 5) {
        case 0:
          r.term = t.select(c.term, a.term, b.term);
          for (std::size_t i = 0; i < tries; ++i) r.value[i] = c.value[i] != 0 ? a.value[i] : b.value[i];
          break;
        case 1:
          condition = true;
          r.term = t.both(c.term, d.term);
          for (std::size_t i = 0; i < tries; ++i) r.value[i] = c.value[i] & d.value[i];
          break;
        case 2:
          condition = true;
          r.term = t.either(c.term, d.term);
          for (std::size_t i = 0; i < tries; ++i) r.value[i] = c.value[i] | d.value[i];
          break;
        case 3:
          condition = true;
          r.term = t.differ(c.term, d.term);
          for (std::size_t i = 0; i < tries; ++i) r.value[i] = c.value[i] ^ d.value[i];
          break;
        default:
          condition = true;
          r.term = t.nonzero(t.subtract(a.term, b.term));
          for (std::size_t i = 0; i < tries; ++i) r.value[i] = a.value[i] != b.value[i];
          break;
        }
        // What one says follows does.
        if (t.implies(c.term, d.term))
          for (std::size_t i = 0; i < tries; ++i) REQUIRE((c.value[i] == 0 || d.value[i] == 1));
        break;
      }
      }
      for (std::size_t i = 0; i < tries; ++i) {
        INFO("seed " << seed << " step " << step << ": " << t.text(r.term));
        const auto v = t.evaluate(r.term, given[i]);
        REQUIRE(v.has_value());
        REQUIRE(*v == r.value[i]);
        REQUIRE(t.bound(r.term) >= r.value[i]);
      }
      if (condition) conditions.push_back(r);
      words.push_back(r);
    }
  }
}

TEST_CASE("equal formulas are one term") {
  Terms t;
  const Term x = t.symbol("x");
  const Term y = t.symbol("y");
  const auto k = [&](u32 v) { return t.constant(v); };
  CHECK(t.add(x, y) == t.add(y, x));
  CHECK(t.subtract(t.add(x, y), y) == x);
  CHECK(t.shl(t.add(x, k(3)), k(2)) == t.add(t.multiply(x, k(4)), k(12)));
  CHECK(t.bit_and(t.add(t.multiply(x, k(8)), k(5)), k(7)) == k(5));
  CHECK(t.bit_or(t.shl(x, k(4)), t.bit_and(y, k(15))) == t.add(t.multiply(x, k(16)), t.bit_and(y, k(15))));
  CHECK(t.join(t.low(t.zext(x)), t.high(t.zext(x))) == t.zext(x));
  const Term base = t.join(t.symbol("p.lo"), t.symbol("p.hi"));
  const Term far = t.add(base, t.zext(x));
  CHECK(t.join(t.low(far), t.high(far)) == far);
  CHECK(t.invert(t.invert(t.equal(x, y))) == t.equal(x, y));
  // x (y z) with 64 bits, in words; and what is not quite that, by its value.
  const Term z = t.symbol("z");
  const Term yz = t.multiply(y, z), high = t.multiply_high(y, z, false);
  const Term upper = t.add(t.multiply_high(x, yz, false), t.multiply(x, high));
  const Term whole = t.join(t.multiply(x, yz), upper);
  CHECK(whole == t.multiply(t.zext(x), t.product(y, z, false)));
  const Terms::Assignment numbers{{x, 0xfedcba98U}, {y, 0x87654321U}, {z, 0xdeadbeefU}};
  const u64 wide = u64{0x87654321U} * 0xdeadbeefU * 0xfedcba98U;
  CHECK(t.evaluate(whole, numbers) == wide);
  CHECK(t.kind(t.join(t.multiply(x, yz), t.add(upper, k(1)))) == TermKind::pair);
  CHECK(t.kind(t.join(t.multiply(x, yz), t.add(t.multiply_high(x, yz, false), t.multiply(y, high)))) ==
        TermKind::pair);
  // The same with a number: rows of a tile, its place and a row's length; and with another number in one of the words.
  const auto scaled = [&](u32 number, u32 other) {
    return t.join(t.multiply(k(number), yz),
                  t.add(t.multiply_high(k(number), yz, false), t.multiply(k(other), high)));
  };
  for (const u32 number : {96U, 112U, 0x80000001U}) {
    CHECK(scaled(number, number) == t.multiply(t.zext(k(number)), t.product(y, z, false)));
    CHECK(t.evaluate(scaled(number, number), numbers) == u64{0x87654321U} * 0xdeadbeefU * number);
    for (const u32 other : {1U, number - 1, number + 1, 2 * number})
      CHECK(t.evaluate(scaled(number, other), numbers) ==
            (u64{number} * (0x87654321U * 0xdeadbeefU) +
             (u64{other} * ((u64{0x87654321U} * 0xdeadbeefU) >> 32) << 32)));
  }
  CHECK(t.select(t.equal(x, y), x, x) == x);
  // What is unknown is equal to nothing.
  CHECK(t.equal(Terms::unknown, Terms::unknown) == Terms::unknown);
  CHECK(t.subtract(Terms::unknown, Terms::unknown) == Terms::unknown);
  CHECK(t.bit_and(Terms::unknown, k(0)) == k(0));
}

TEST_CASE("products of 64 bits that are put together by words are products") {
  Terms t;
  std::mt19937_64 random(1);
  const Term x = t.symbol("x"), y = t.symbol("y"), a = t.symbol("a"), b = t.symbol("b");
  const auto mul_high = [&](Term p, Term q) { return t.multiply_high(p, q, false); };
  // The other factor: a sum of wide numbers whose halves are formulas of their own.
  const Term w = t.add(t.product(a, b, false), t.zext(y));
  const Term low = t.low(w), high = t.high(w);
  const Term one = t.join(t.multiply(x, low), t.add(mul_high(x, low), t.multiply(x, high)));
  const Term shifted = t.join(t.shl(x, t.constant(8)), t.shr(x, t.constant(24)));
  const Term scaled =
      t.join(t.multiply(y, t.shl(x, t.constant(8))),
             t.add(mul_high(y, t.shl(x, t.constant(8))), t.multiply(y, t.shr(x, t.constant(24)))));
  // Of another number's high word it is none.
  const Term wrong = t.join(t.multiply(x, low), t.add(mul_high(x, low), t.multiply(y, high)));
  CHECK(one == t.multiply(t.zext(x), w));
  CHECK(shifted == t.multiply(t.zext(x), t.wide_constant(256)));
  CHECK(scaled == t.multiply(t.multiply(t.zext(x), t.zext(y)), t.wide_constant(256)));
  CHECK(t.kind(wrong) == TermKind::pair);
  for (int k = 0; k < 200; ++k) {
    const u64 vx = draw(random), vy = draw(random), va = draw(random), vb = draw(random);
    const Terms::Assignment at{{x, vx}, {y, vy}, {a, va}, {b, vb}};
    const u64 wide = va * vb + vy;
    CHECK(t.evaluate(one, at) == vx * wide);
    CHECK(t.evaluate(shifted, at) == vx * 256);
    CHECK(t.evaluate(scaled, at) == vx * vy * 256);
    const auto l = static_cast<u32>(wide), h = static_cast<u32>(wide >> 32);
    CHECK(t.evaluate(wrong, at) ==
          static_cast<u32>(vx * l) + (u64{static_cast<u32>(((vx * l) >> 32) + vy * h)} << 32));
  }
}

TEST_CASE("a product with a word of 64 bits that is added to another is one product") {
  Terms t;
  std::mt19937_64 random(2);
  const Term x = t.symbol("x"), y = t.symbol("y"), z = t.symbol("z");
  // 16384 x of 64 bits, as v_lshlrev_b64 makes it, and -8192 y, as s_sub_u32 and s_subb_u32 do.
  const Term far = t.multiply(t.zext(x), t.wide_constant(16384)),
             back = t.subtract(t.wide_constant(0), t.multiply(t.zext(y), t.wide_constant(8192)));
  // v_mad_u64_u32 with the low word, and the high word times the same added to the sum's.
  const auto mad = [&](Term n, Term w, Term c, Term above) {
    const Term sum = t.add(t.product(n, t.low(w), false), c);
    return t.join(t.low(sum), t.add(t.high(sum), t.multiply(n, above)));
  };
  const Term of_far = mad(y, far, t.zext(z), t.high(far)),
             of_back = mad(t.constant(5), back, t.zext(z), t.high(back)),
             wrong = mad(y, far, t.zext(z), t.high(t.add(far, t.wide_constant(1)))),
             twice = mad(y, far, t.zext(z), t.multiply(t.high(far), t.constant(2)));
  CHECK(of_far == t.add(t.multiply(t.zext(y), far), t.zext(z)));
  CHECK(of_back == t.add(t.multiply(back, t.wide_constant(5)), t.zext(z)));
  CHECK(t.kind(wrong) == TermKind::pair);
  CHECK(t.kind(twice) == TermKind::pair);
  for (int k = 0; k < 200; ++k) {
    const u64 vx = draw(random), vy = draw(random), vz = draw(random);
    const Terms::Assignment at{{x, vx}, {y, vy}, {z, vz}};
    const u64 wide = vx << 14;
    CHECK(t.evaluate(of_far, at) == vy * wide + vz);
    CHECK(t.evaluate(of_back, at) == vz - 5 * 8192 * vy);
    const u64 sum = vy * static_cast<u32>(wide) + vz;
    CHECK(t.evaluate(twice, at) == sum + (u64{static_cast<u32>(2 * vy * (wide >> 32))} << 32));
  }
}

TEST_CASE("what grows without an end has an end: sums, texts, and the pool") {
  Terms t;
  Term sum = t.constant(0);
  for (unsigned k = 0; k < Terms::most_parts; ++k)
    sum = t.add(sum, t.multiply(t.symbol("x" + std::to_string(k)), t.constant(2 * k + 1)));
  REQUIRE(sum != Terms::unknown);
  CHECK(t.parts(sum).size() <= Terms::most_flat + 1);
  CHECK(t.subtract(t.add(sum, t.constant(7)), sum) == t.constant(7));
  Terms::Assignment numbers;
  u32 wanted = 0;
  for (unsigned k = 0; k < Terms::most_parts; ++k) {
    numbers[t.symbol("x" + std::to_string(k))] = 0x9e3779b9U * (k + 1);
    wanted += (2 * k + 1) * 0x9e3779b9U * (k + 1);
  }
  CHECK(t.evaluate(sum, numbers) == wanted);
  std::size_t more = 0;
  for (Term all = sum; all != Terms::unknown && more < 65 * Terms::most_parts; ++more)
    all = t.add(all, t.symbol("y" + std::to_string(more)));
  CHECK(more < 65 * Terms::most_parts);
  // A text as wide as deep.
  Term deep = t.symbol("y");
  for (unsigned k = 0; k < 12; ++k)
    deep = t.bit_xor(t.add(t.multiply(deep, sum), t.symbol("z" + std::to_string(k))),
                     t.shr(t.add(deep, sum), t.constant(1 + k)));
  CHECK(t.text(deep, 64).size() < 8 * Terms::most_text);
  CHECK(t.text(t.add(t.symbol("a"), t.constant(64))) == "(a + 64)");
  // A pool: exact below, an error beyond.
  const std::size_t most = t.bytes() + 200'000;
  t.at_most(most);
  Term x = t.symbol("seed");
  const auto grow = [&] {
    for (unsigned k = 0; k < 1'000'000; ++k)
      x = t.bit_xor(t.multiply(x, x), t.shr(x, t.constant(k % 31 + 1)));
  };
  CHECK_THROWS_AS(grow(), TooLarge);
  CHECK(t.bytes() < 3 * most);
}

} // namespace term_test
