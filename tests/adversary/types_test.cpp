// Element types, literals that a type does not have or that are no numbers, and what is of another program.
#include "attack.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace types_test {

using namespace adversary;

namespace {

const std::vector<Sizes> lengths = {{8}, {300}};

// y(i) = x(i), through a tile of LDS.
enum class Through { copy, transfer, store, mapped };
std::function<Program()> through_lds(Element from, Element tile, Through how) {
  return [=] {
    Program k("through", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", from, {n}),
                 lds = k.lds("lds", tile, {256});
    k.computes(y, [&](const auto& i) { return k(x, {i[0]}); });
    const Sym w = k.workgroups(0, n, 256);
    const Layout tv = line_tv(256, 1, 64);
    const View of_x = k.tile(x, {256}, {w});
    const auto same = [](const auto& v) { return v[0]; };
    if (how == Through::copy) k.copy(of_x, lds, tv, 1);
    if (how == Through::transfer) k.transfer(of_x, lds, tv, 1);
    if (how == Through::store) k.store(k.load(of_x, tv, 1), k.whole(lds), 1);
    if (how == Through::mapped) k.store(k.map({k.load(of_x, tv, 1)}, same, tile), k.whole(lds), 1);
    k.store(k.map({k.read(lds, tv, 1)}, same), k.tile(y, {256}, {w}), 1);
    return k;
  };
}

// C = A B^T of one tile of 16 x 16 x 16, by an instruction for f16 unless said otherwise.
std::function<Program()> product(Element a, Element b, Element sum, Element of_instruction = Element::f16) {
  return [=] {
    const MmaTiling mma = MmaTiling::of(
        Atom::mma_of(target(), of_instruction, of_instruction, Element::f32, 16, 16), 1, 1, 16, 16, 16, 4);
    Program k("product", target(), mma.threads());
    const Tensor c = k.output("c", Element::f32, {Sym(16), Sym(16)}), x = k.input("a", a, {Sym(16), Sym(16)}),
                 z = k.input("b", b, {Sym(16), Sym(16)});
    k.computes(c, [&](const auto& at) {
      return k.sum(Sym(16), [&](Sym i) { return k(x, {at[0], i}) * k(z, {at[1], i}); });
    });
    const Sym w = k.workgroups(0, Sym(16), 16);
    const Fragment acc = k.zeros(sum, mma.c(), {16, 16});
    k.mma(acc, k.load(k.tile(x, {16, 16}, {w, 0}), mma.a(), 4),
          k.load(k.tile(z, {16, 16}, {0, 0}), mma.b(), 4), mma);
    k.store(acc, k.tile(c, {16, 16}, {w, 0}), 4);
    return k;
  };
}

// y = sum of exp(x(m, i)) over i < n, where what lies outside of the row is filled with `beyond` while it is of type `held`.
// `after`: of f32, and then laid out as `held`.
std::function<Program()> filled(Element in, Element held, double beyond, bool after = false) {
  return [=] {
    Program k("filled", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 16}), n = k.size("n", {.most = 256, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {m}), x = k.input("x", in, {m, n});
    k.computes(y, [&](const auto& i) { return k.sum(n, [&](Sym j) { return exp(k(x, {i[0], j})); }); });
    const Sym row = k.workgroups(0, m, 1);
    Fragment f = k.load(k.tile(x, {1, 256}, {row, 0}), rows_tv(1, 256, 4, 64), 4);
    if (held != in && !after)
      f = k.map(
          {f}, [](const auto& v) { return v[0]; }, held);
    f = k.fill(f, 1, 0, n, beyond);
    if (after) f = k.relayout(f, rows_tv(1, 256, 4, 64), held);
    k.store(k.fold(Monoid::sum, k.map({f}, [](const auto& v) { return exp(v[0]); }), 1),
            k.tile(y, {1}, {row}), 1);
    return k;
  };
}

// y(i) = x(i), and `beyond` where x has no element i: filled in f32, rounded by the store.
std::function<Program()> stored(Element out, double beyond) {
  return [=] {
    Program k("stored", target(), 64);
    const Sym m = k.size("m", {.most = 256});
    const Tensor y = k.output("y", out, {Sym(256)}), x = k.input("x", Element::f32, {m});
    k.computes(y, [&](const auto& i) { return inside(i[0], m, k(x, {i[0]}), beyond); });
    const Sym w = k.workgroups(0, Sym(256), 256);
    const Fragment f = k.load(k.tile(x, {256}, {w}), line_tv(256, 4, 64), 1);
    k.store(k.fill(f, 0, Sym(256) * w, m, beyond), k.tile(y, {256}, {w}), 1);
    return k;
  };
}

// y(i) = specified(i, x(i)), stored as mapped(i, x(i)).
using At = std::function<Expr(Program&, Sym, Expr)>;
std::function<Program()> mapped(At specified, At computed, Element out = Element::f32,
                                Element in = Element::f32) {
  return [=] {
    Program k("mapped", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 20});
    const Tensor y = k.output("y", out, {n}), x = k.input("x", in, {n});
    k.computes(y, [&](const auto& i) { return specified(k, i[0], k(x, {i[0]})); });
    const Sym w = k.workgroups(0, n, 256);
    k.store(k.map(
                {k.load(k.tile(x, {256}, {w}), line_tv(256, 4, 64), 1)},
                [&](const auto& v) { return computed(k, 256 * w + k.position(0), v[0]); }, out),
            k.tile(y, {256}, {w}), 1);
    return k;
  };
}

} // namespace

TEST_CASE("adversary: bits move to LDS as they are") {
  std::vector<Attack> all;
  for (const auto& [from, to] :
       {std::pair(Element::f32, Element::i32), std::pair(Element::f16, Element::bf16),
        std::pair(Element::f32, Element::f16), std::pair(Element::f16, Element::f32)})
    for (const Through how : {Through::copy, Through::transfer, Through::store}) {
      const std::string name =
          to_string(from) + " to " + to_string(to) + ", way " + std::to_string(static_cast<int>(how));
      const bool narrow = how == Through::transfer && bits(to) != 32;
      if (!narrow)
        all.push_back({name, "and lds holds " + to_string(to), through_lds(from, to, how), lengths});
    }
  all.push_back({"f32 as f32", "", through_lds(Element::f32, Element::f32, Through::transfer), lengths});
  all.push_back({"f32 mapped to f16", "", through_lds(Element::f32, Element::f16, Through::mapped), lengths});
  all.push_back({"a register of another type", "what is written to lds is of its type",
                 through_lds(Element::f16, Element::f16, Through::store), lengths,
                 [](Code& code) {
                   for (Register& r : code.registers)
                     if (r.element == Element::f16) r.element = Element::bf16;
                 },
                 "what is read from LDS is bf16, too, and tokens have no types"});
  attack(all);
}

TEST_CASE("adversary: an instruction multiplies what its operands hold") {
  const std::vector<Sizes> one = {{}};
  const auto as = [](Element from, Element to) {
    return [=](Code& code) {
      for (Register& r : code.registers)
        if (r.element == from) r.element = to;
    };
  };
  const std::string claim = "an instruction multiplies what its operands hold",
                    unseen = "tokens have no types";
  attack({
      {"f16", "", product(Element::f16, Element::f16, Element::f32), one},
      {"A of bf16", "A holds bf16", product(Element::bf16, Element::f16, Element::f32), one},
      {"B of bf16", "B holds bf16", product(Element::f16, Element::bf16, Element::f32), one},
      {"f16 by an instruction for bf16", "A holds f16",
       product(Element::f16, Element::f16, Element::f32, Element::bf16), one},
      {"an accumulator of i32", "the accumulator holds i32",
       product(Element::f16, Element::f16, Element::i32), one},
      {"an accumulator of f16", "the accumulator holds f16",
       product(Element::f16, Element::f16, Element::f16), one},
      {"operands that are bf16 in the code", claim, product(Element::f16, Element::f16, Element::f32), one,
       as(Element::f16, Element::bf16), unseen},
      {"a sum that is i32 in the code", claim, product(Element::f16, Element::f16, Element::f32), one,
       as(Element::f32, Element::i32), unseen},
  });
}

TEST_CASE("adversary: literals that a type does not have") {
  const std::vector<Sizes> rows = {{1, 4}, {3, 200}};
  const At same = [](Program&, Sym, Expr x) { return x; };
  const auto inside_or = [](double beyond) {
    return At([=](Program&, Sym i, Expr x) { return inside(i, 5, x, beyond); });
  };
  const auto chosen_or = [](double beyond) {
    return At([=](Program& k, Sym, Expr x) { return select(x, k.constant(0), x, k.constant(beyond)); });
  };
  attack({
      {"-inf in f32", "", filled(Element::f32, Element::f32, -INFINITY), rows},
      {"-inf in f16", "", filled(Element::f16, Element::f16, -INFINITY), rows},
      {"-inf in i8", "is no number of i8", filled(Element::i8, Element::i8, -INFINITY), rows},
      {"-inf in i8, before it is f32", "is no number of i8", filled(Element::f32, Element::i8, -INFINITY),
       rows},
      {"-inf in a float of 8 bits without infinities", "is no number of e4m3fnuz",
       filled(Element::e4m3fnuz, Element::e4m3fnuz, -INFINITY), rows},
      {"-inf of f32 that becomes i8", "what lies outside of a sum is its empty element",
       filled(Element::f32, Element::i8, -INFINITY, true), rows},
      {"-inf of f32 that becomes f16", "", filled(Element::f32, Element::f16, -INFINITY, true), rows},
      {"-inf that a store rounds to i8",
       "y is what the specification says",
       stored(Element::i8, -INFINITY),
       {{1}, {255}}},
      {"-inf that a store rounds to f16", "", stored(Element::f16, -INFINITY), {{1}, {255}}},
      {"i8 as f32", "", filled(Element::i8, Element::f32, -INFINITY), rows},
      {"a half in i8", "is no number of i8", filled(Element::i8, Element::i8, 0.5), rows},
      {"1e30 in f16", "is no number of f16", filled(Element::f16, Element::f16, 1e30), rows},
      {"i8, and -inf beyond 5", "i8 has no such number",
       mapped(inside_or(-INFINITY), inside_or(-INFINITY), Element::i8), lengths},
      {"i8, and 300 below 0", "i8 has no such number", mapped(chosen_or(300), chosen_or(300), Element::i8),
       lengths},
      {"f16, and 0.1 beyond 5", "", mapped(inside_or(0.1), inside_or(0.1), Element::f16), lengths},
  });
}

// Where terms cancel, what is left of a number that has been rounded is all of it.
TEST_CASE("adversary: terms that cancel, up to digits that were rounded away") {
  const double c = 1 + 0x1p-23;
  const At left = [=](Program&, Sym, Expr x) { return (x * c * c - x * (1 + 0x1p-22)) * 0x1p46; },
           none = [](Program&, Sym, Expr x) { return x * 0.0; },
           same = [](Program&, Sym, Expr x) { return x * 1.0; };
  const std::string claim = "y is what the specification says";
  attack({
      {"a square less what it is nearly, in f32", claim, mapped(left, none, Element::f32), lengths},
      {"a square less what it is nearly, in f64", claim, mapped(left, none, Element::f64, Element::f64),
       lengths},
      {"a sum that f64 holds, and f32 does not",
       "is compared with others within 1e-11",
       mapped([](Program&, Sym, Expr x) { return x + (0x1p40 + 0.25) - 0x1p40; }, same, Element::f64,
              Element::f64),
       lengths,
       {},
       "refused before there is code"},
      {"a bound beside the one that is meant",
       "is compared with others within 1e-11",
       mapped([](Program& k, Sym, Expr x) { return select(x, k.constant(0x1p41 + 1), x, 2 * x); }, same,
              Element::f64, Element::f64),
       lengths,
       {},
       "refused before there is code"},
  });
}

TEST_CASE("adversary: literal infinities, and what is no number whatever the data are") {
  const std::string lost = "a map loses no condition of what it takes";
  const At same = [](Program&, Sym, Expr x) { return x; };
  const At zero = [](Program& k, Sym, Expr) { return k.constant(0); };
  const auto guarded = [](Sym i, Expr x, double beyond) { return inside(i, 5, x, beyond); };
  const auto attack_of = [&](const std::string& name, At specified, At computed) {
    return Attack{name, lost, mapped(specified, computed), lengths};
  };
  attack({
      attack_of("inf - inf", zero,
                [=](Program&, Sym i, Expr x) { return guarded(i, x, INFINITY) - guarded(i, x, INFINITY); }),
      {"-inf + inf", "y is what the specification says",
       mapped(zero, [=](Program&, Sym i,
                        Expr x) { return guarded(i, x, -INFINITY) + guarded(i, x * -1.0, INFINITY); }),
       lengths},
      attack_of("inf 0", zero, [=](Program&, Sym i, Expr x) { return guarded(i, x, INFINITY) * 0.0; }),
      attack_of("(x + inf) 0", zero, [](Program&, Sym, Expr x) { return (x + INFINITY) * 0.0; }),
      attack_of("x + (x + inf) 0", same, [](Program&, Sym, Expr x) { return x + (x + INFINITY) * 0.0; }),
      attack_of("log(0) 0", zero, [](Program& k, Sym, Expr) { return log(k.constant(0)) * 0.0; }),
      attack_of(
          "exp(-inf) exp(inf)", [](Program& k, Sym, Expr) { return k.constant(1); },
          [=](Program&, Sym i, Expr x) {
            return exp(guarded(i, x, -INFINITY)) * exp(guarded(i, x, -INFINITY) * -1.0);
          }),
      attack_of("x 2^((x + inf) 0)", same,
                [](Program&, Sym, Expr x) { return x * exp2((x + INFINITY) * 0.0); }),
      attack_of(
          "inf / inf", [](Program& k, Sym, Expr) { return k.constant(1); },
          [=](Program&, Sym i, Expr x) {
            return guarded(i, x * x + 1.0, INFINITY) / guarded(i, x * x + 1.0, INFINITY);
          }),
      attack_of("a choice by what is no number", same,
                [](Program& k, Sym, Expr x) {
                  return select(rsqrt(k.constant(-2)), rsqrt(k.constant(-2)), x, x + 2.0);
                }),
      attack_of("bits of an infinity", zero,
                [](Program&, Sym, Expr x) { return from_bits(float_bits(x) | 0x7f800000) * 0.0; }),
      attack_of("log(-2) - log(-2)", same,
                [](Program& k, Sym, Expr x) { return x + (log(k.constant(-2)) - log(k.constant(-2))); }),
      {"-inf beside what is finite", "",
       mapped([=](Program&, Sym i, Expr x) { return exp(guarded(i, x, -INFINITY)) * exp(x * -1.0 + 1.0); },
              [=](Program&, Sym i, Expr x) { return exp(guarded(i, x, -INFINITY) - x + 1.0); }),
       lengths},
  });
}

TEST_CASE("adversary: a specification that is no function of its coordinates") {
  const std::string claim = "a specification says the same in all workgroups";
  const auto said_by = [](bool by_ticket) {
    return [=] {
      Program k("by_number", target(), 64);
      const Sym n = k.size("n", {.most = 1 << 12});
      const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
      const Sym w = k.workgroups(0, n, 256), of = by_ticket ? k.ticket("arrived", w) : w;
      k.computes(y, [&](const auto& i) { return k(x, {i[0]}) + k.number(of); });
      k.store(k.map({k.load(k.tile(x, {256}, {w}), line_tv(256, 4, 64), 1)},
                    [&](const auto& v) { return v[0] + k.number(of); }),
              k.tile(y, {256}, {w}), 1);
      return k;
    };
  };
  const std::string unseen = "the specification has no value to compare with";
  attack({{"the workgroup's number", claim, said_by(false), lengths, {}, unseen},
          {"the order in which they come", claim, said_by(true), lengths, {}, unseen}});
  // Nor is what a tensor, its place or a window of it is. Found by writing a window of the last elements of each row: it was proved.
  const auto built = [](const std::function<void(Program&, Sym n, Sym w, const Tensor& x)>& what) {
    Program k("by_number", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12});
    const Tensor x = k.input("x", Element::f32, {n});
    what(k, n, k.workgroups(0, n, 64), x);
  };
  const auto other = Catch::Contains("which is another number in another workgroup");
  CHECK_THROWS_WITH(built([](Program& k, Sym n, Sym w, const Tensor& x) {
                      (void)k.window("seen", x, {{n, {{n, 0}}}}, {w});
                    }),
                    other);
  CHECK_THROWS_WITH(built([](Program& k, Sym n, Sym w, const Tensor& x) {
                      (void)k.window("seen", x, {{n, {{n, 0, w + 1}}}}, {0});
                    }),
                    other);
  CHECK_THROWS_WITH(built([](Program& k, Sym, Sym w, const Tensor& x) {
                      (void)k.window("seen", x, {{w + 1, {{w + 1, 0}}}}, {0});
                    }),
                    other);
  CHECK_THROWS_WITH(
      built([](Program& k, Sym n, Sym w, const Tensor&) { (void)k.input("z", Element::f32, {n + w}); }),
      other);
  CHECK_THROWS_WITH(built([](Program& k, Sym n, Sym, const Tensor&) {
                      const Tensor table = k.input("t", Element::i32, {n});
                      (void)k.input("z", Element::f32, {n + k.uniform(table, k.grid()[0].symbol)});
                    }),
                    other);
}

TEST_CASE("adversary: what is of another program", "[error]") {
  const auto program = [](const std::string& name) { return Program(name, target(), 64); };
  Program k = program("one"), other = program("other");
  const Tensor x = k.input("x", Element::f32, {Sym(256)}), y = k.output("y", Element::f32, {Sym(256)}),
               z = other.input("z", Element::f32, {Sym(256)}), lds = k.lds("lds", Element::f32, {256});
  const Layout tv = line_tv(256, 4, 64);
  const Fragment f = k.load(k.tile(x, {256}, {0}), tv, 1), g = other.zeros(Element::i32, tv, {256});
  const auto same = [](const auto& v) { return v[0]; };
  CHECK_THROWS_WITH(k.store(g, k.tile(y, {256}, {0}), 1), Catch::Contains("not one of this program's"));
  CHECK_THROWS_WITH(k.map({g}, same), Catch::Contains("not one of this program's"));
  CHECK_THROWS_WITH(k.fold(Monoid::sum, g, 0), Catch::Contains("not one of this program's"));
  CHECK_THROWS_WITH(k.tile(z, {256}, {0}), Catch::Contains("the tensor 'z' is not one"));
  CHECK_THROWS_WITH(k.map({f}, [](const auto&) { return Expr{}; }),
                    Catch::Contains("it gives no expression"));
  CHECK_THROWS_WITH(k.map({f}, [&](const auto&) { return other.constant(1); }),
                    Catch::Contains("another program's"));
  CHECK_THROWS_WITH(k.map({f},
                          [](const auto& v) {
                            Expr e = v[0];
                            for (int i = 0; i < 3000; ++i) e = exp(e * 0.1);
                            return e;
                          }),
                    Catch::Contains("levels deep"));
  CHECK_THROWS_WITH(k.add(f, k.whole(lds)), Catch::Contains("lds is in LDS"));
  for (const char* const name : {"", "a b", "x;y", "llvm.memcpy", "_c0", "2x", "max"})
    CHECK_THROWS_WITH(program(name), Catch::Contains("is no name"));
  CHECK_THROWS_WITH(k.size("min"), Catch::Contains("is no name"));
  CHECK_THROWS_WITH(k.output("", Element::f32, {Sym(4)}), Catch::Contains("is no name"));
}

namespace {

/// c = a b^T of i8, whose sums a matrix instruction makes modulo 2^32; in parts of `part` that atomics add, where it is not 0.
std::function<Program()> whole_products(Element to, std::int64_t most, int part = 0) {
  return [=] {
    const Element e = Element::i8;
    const codegen::MmaTiling mma =
        codegen::MmaTiling::of(Atom::mma_best(target(), e, e, Element::i32, 16), 2, 2, 32, 32, 64, 8);
    Program k("whole_products", target(), mma.threads());
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10, .multiple = 4}),
              depth = k.size("k", {.most = most, .multiple = 64});
    const Tensor c = k.output("c", to, {m, n}), a = k.input("a", e, {m, depth}),
                 b = k.input("b", e, {n, depth});
    k.computes(c, [&](const auto& at) {
      return k.sum(depth, [&](Sym i) { return k(a, {at[0], i}) * k(b, {at[1], i}); });
    });
    const Sym of_n = k.workgroups(0, n, 32), of_m = k.workgroups(1, m, 32);
    const Layout rows = rows_tv(32, 64, 8, mma.threads());
    const Tensor a_lds = k.lds("a_lds", e, {32, 64}), b_lds = k.lds("b_lds", e, {32, 64});
    const Fragment sum = k.zeros(Element::i32, mma.c(), {32, 32});
    const auto trip = [&](Sym t) {
      k.copy(k.tile(a, {32, 64}, {of_m, t}), a_lds, rows, 8);
      k.copy(k.tile(b, {32, 64}, {of_n, t}), b_lds, rows, 8);
      k.mma(sum, k.read(a_lds, mma.a(), 8), k.read(b_lds, mma.b(), 8), mma);
    };
    if (part == 0) {
      k.loop(depth, 64, {}, trip);
    } else {
      const Sym of_part = k.workgroups(2, depth, part);
      k.loop(Sym(part) * of_part, min(Sym(part) * (of_part + Sym(1)), depth), 64, {}, trip);
    }
    const Fragment out = to == Element::i32 ? sum
                                            : k.map(
                                                  {sum}, [](const auto& x) { return x[0]; }, to);
    const View tile = k.tile(c, {32, 32}, {of_m, of_n});
    if (part == 0)
      k.store(out, tile, 4);
    else
      k.add(out, tile);
    return k;
  };
}

} // namespace

TEST_CASE("sums of integer products that pass 2^31 are no sums of numbers") {
  const std::string because = "a sum of whole numbers stays inside of i32",
                    unseen = "2^17 products of -128 and -128 are asked of no size here";
  const std::vector<Sizes> sizes{{5, 8, 64}, {33, 36, 192}};
  attack({
      {"131071 products at most", "", whole_products(Element::i32, 131071), sizes},
      {"2^17 of them", because, whole_products(Element::i32, 131072), {}, {}, unseen},
      {"2^20, as f32", because, whole_products(Element::f32, 1 << 20), {}, {}, unseen},
      {"2^20 in parts, which atomics add in i32",
       because,
       whole_products(Element::i32, 1 << 20, 1024),
       {},
       {},
       unseen},
      {"131071 in parts", "", whole_products(Element::i32, 131071, 1024), {}},
  });
}

} // namespace types_test
