// Integers modulo 2^32 in maps: as published, against the specification on the emulator, and what is refused.
#include "specified.h"

#include <inlay/codegen/small_numbers.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/philox.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace integers_test {

using namespace inlay;
using namespace inlay::codegen;
using Catch::Matchers::Contains;

namespace {

using Words = std::vector<std::uint32_t>;

kernels::Bytes bytes_of(const Words& words) {
  kernels::Bytes out(4 * words.size());
  std::memcpy(out.data(), words.data(), out.size());
  return out;
}
Words words_of(const kernels::Bytes& bytes) {
  Words out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

/// y = map of elements of inputs, all of them in lines of n.
Program line(const std::string& arch, const std::vector<Element>& inputs, Element output,
             const std::function<Expr(Program&, const std::vector<Expr>&, Sym)>& map,
             const std::function<Expr(Program&, const std::vector<Expr>&, Sym)>& specification = {}) {
  Program k("line", Target::named(arch), 64);
  const Sym N = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor Y = k.output("y", output, {N});
  std::vector<Tensor> X;
  for (const Element e : inputs) X.push_back(k.input("x" + std::to_string(X.size()), e, {N}));
  k.computes(Y, [&](const auto& c) {
    std::vector<Expr> of;
    for (const Tensor& x : X) of.push_back(k(x, {c[0]}));
    return (specification ? specification : map)(k, of, c[0]);
  });
  const Sym part = k.workgroups(0, N, 256);
  const Layout tv = line_tv(256, 4, 64);
  std::vector<Fragment> of;
  for (const Tensor& x : X) of.push_back(k.load(k.tile(x, {256}, {part}), tv, 4));
  k.store(k.map(
              of, [&](const auto& a) { return map(k, a, Sym(256) * part + k.position(0)); },
              output == Element::i32 ? Element::i32 : Element::f32),
          k.tile(Y, {256}, {part}), 4);
  return k;
}

const std::vector<std::string> targets = {"gfx942", "gfx950"};

/// What the emulator makes of the line, with all checks.
Words run(Program k, const std::vector<Words>& inputs) {
  std::vector<kernels::Bytes> buffers = {kernels::Bytes(4 * inputs[0].size())};
  for (const Words& w : inputs) buffers.push_back(bytes_of(w));
  const kernels::Artifact artifact = kernels::build(std::move(k));
  const auto device = kernels::open_device("emulator", artifact.arch);
  dynamic_cast<runtime::EmulatorDevice&>(*device).options().checks = runtime::Checks::all();
  return words_of(kernels::run(*device, artifact, buffers, {static_cast<std::int64_t>(inputs[0].size())})[0]);
}

} // namespace

TEST_CASE("integers: Philox4x32-10 has the published known answers") {
  // Random123's kat_vectors: counter, key, words.
  const std::vector<std::array<std::uint32_t, 10>> known = {
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
       0xa20bc7c6, 0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
       0x5001e420, 0x24126ea1},
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}};
  std::vector<Words> inputs(6);
  for (const auto& row : known)
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].push_back(row[i]);
  for (const std::string& arch : targets)
    for (std::size_t word = 0; word < 4; ++word) {
      const Words got =
          run(line(arch, std::vector<Element>(6, Element::i32), Element::i32,
                   [&](Program&, const auto& x, Sym) {
                     return kernels::philox4x32({integer(x[0]), integer(x[1]), integer(x[2]), integer(x[3])},
                                                {integer(x[4]), integer(x[5])})[word];
                   }),
              inputs);
      for (std::size_t i = 0; i < known.size(); ++i) CHECK(got[i] == known[i][6 + word]);
    }
}

TEST_CASE("integers: numbers of 4 and 6 bits from their codes and to them") {
  for (const std::string arch : {"gfx90a", "gfx942", "gfx950"})
    for (const Element e : {Element::e2m1, Element::e2m3, Element::e3m2, Element::i4}) {
      INFO(arch << " " << to_string(e));
      const int bits = codegen::bits(e);
      Words codes, numbers;
      std::vector<double> values;
      for (std::uint32_t c = 0; c < 1U << bits; ++c) {
        codes.push_back(c | 0xabcd0000U << (c % 3)); // what stands above is ignored
        codes.back() = (codes.back() & ~((1U << bits) - 1)) | c;
        values.push_back(codegen::decode(e, c));
      }
      const Words got = run(line(arch, {Element::i32}, Element::f32,
                                 [&](Program&, const auto& x, Sym) { return from_code(e, integer(x[0])); }),
                            {codes});
      for (std::size_t c = 0; c < codes.size(); ++c)
        CHECK(static_cast<double>(std::bit_cast<float>(got[c])) == values[c]);
      // Every number, halfway to the next and beside that, and past the ends.
      std::sort(values.begin(), values.end());
      std::vector<float> x = {1e30F, -1e30F, INFINITY, -INFINITY, 1e-30F, -1e-30F, 0.26F, -3.3F};
      for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        const auto half = static_cast<float>((values[i] + values[i + 1]) / 2);
        for (const float near :
             {static_cast<float>(values[i]), half, std::nextafter(half, 1e9F), std::nextafter(half, -1e9F)})
          if (near != 0) x.push_back(near);
      }
      x.push_back(static_cast<float>(values.back()) * 1.5F);
      while (x.size() % 4 != 0) x.push_back(1);
      for (const float f : x) numbers.push_back(std::bit_cast<std::uint32_t>(f));
      const Words coded = run(line(arch, {Element::f32}, Element::i32,
                                   [&](Program&, const auto& v, Sym) { return to_code(e, v[0]); }),
                              {numbers});
      for (std::size_t i = 0; i < x.size(); ++i) {
        INFO(x[i]);
        const auto wanted = codegen::encode(e, x[i], codegen::Overflow::saturate);
        CHECK(coded[i] == wanted);
      }
    }
  Expressions of;
  CHECK_THROWS_WITH(from_code(Element::e4m3fn, of.integer(1)), Catch::Contains("e2m1, e2m3, e3m2 or i4"));
  CHECK_THROWS_WITH(from_code(Element::e2m1, of.constant(1)), Catch::Contains("it takes an integer"));
  CHECK_THROWS_WITH(to_code(Element::i4, of.integer(1)), Catch::Contains("it takes a number"));
}

TEST_CASE("integers: every function on the emulator is that of C++") {
  Words a = {0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 31, 32, 33, 0xd2511f53, 12345, 0xfffffff0, 2}, b, c;
  for (std::size_t i = 0; i < a.size(); ++i)
    b.push_back(a[(5 * i + 3) % a.size()]), c.push_back(a[(7 * i + 1) % 12]);
  using W = std::uint32_t;
  struct Case {
    std::function<Expr(const std::vector<Expr>&)> map;
    W (*expected)(W a, W b, W c);
  };
  const auto i = [](Expr e) { return integer(e); };
  const std::vector<Case> cases = {
      {[&](const auto& x) { return i(x[0]) + i(x[1]); }, [](W p, W q, W) { return p + q; }},
      {[&](const auto& x) { return i(x[0]) - i(x[1]) - 7.0; }, [](W p, W q, W) { return p - q - 7; }},
      {[&](const auto& x) { return i(x[0]) * i(x[1]); }, [](W p, W q, W) { return p * q; }},
      {[&](const auto& x) { return mul_hi(i(x[0]), i(x[1])); },
       [](W p, W q, W) { return static_cast<W>(std::uint64_t{p} * q >> 32); }},
      {[&](const auto& x) { return (i(x[0]) & i(x[1])) | (~i(x[2]) ^ 0xff00ff00); },
       [](W p, W q, W r) { return (p & q) | (~r ^ 0xff00ff00); }},
      {[&](const auto& x) { return i(x[0]) << i(x[1]); }, [](W p, W q, W) { return p << (q & 31); }},
      {[&](const auto& x) { return i(x[0]) >> i(x[1]); }, [](W p, W q, W) { return p >> (q & 31); }},
      {[&](const auto& x) { return shift_right_signed(i(x[0]), i(x[1])); },
       [](W p, W q, W) { return static_cast<W>(static_cast<std::int32_t>(p) >> (q & 31)); }},
      {[&](const auto& x) { return popcount(i(x[0])); },
       [](W p, W, W) { return static_cast<W>(std::popcount(p)); }},
      {[&](const auto& x) { return leading_zeros(i(x[0]) >> i(x[1])); },
       [](W p, W q, W) {
         W count = 32;
         for (W v = p >> (q & 31); v != 0; v /= 2) --count;
         return count;
       }},
      {[&](const auto& x) { return trailing_zeros(i(x[0]) << i(x[1])); },
       [](W p, W q, W) {
         W count = 0;
         for (W v = p << (q & 31); count < 32 && v % 2 == 0; v /= 2) ++count;
         return count;
       }},
      {[&](const auto& x) { return choose(less_unsigned(i(x[0]), i(x[1])), i(x[2]), i(x[0])); },
       [](W p, W q, W r) { return p < q ? r : p; }},
      {[&](const auto& x) { return choose(less_signed(i(x[0]), i(x[1])), i(x[2]), i(x[0])); },
       [](W p, W q, W r) { return static_cast<std::int32_t>(p) < static_cast<std::int32_t>(q) ? r : p; }},
      {[&](const auto& x) { return equal(i(x[0]) & 1, i(x[1]) & 1) + less_signed(i(x[0]), i(x[2])); },
       [](W p, W q, W r) {
         return static_cast<W>((p & 1) == (q & 1)) +
                static_cast<W>(static_cast<std::int32_t>(p) < static_cast<std::int32_t>(r));
       }},
      {[&](const auto& x) { return truncated(to_number(i(x[0])) * 0.5); },
       [](W p, W, W) {
         return static_cast<W>(
             static_cast<std::int32_t>(static_cast<float>(static_cast<std::int32_t>(p)) * 0.5F));
       }},
      {[&](const auto& x) { return truncated(nearest(to_number_unsigned(i(x[0]) >> 9) * 0.5)); },
       [](W p, W, W) {
         const W half = p >> 10; // ties to the even one
         return (p >> 9 & 1) != 0 && half % 2 == 1 ? half + 1 : half;
       }}};
  for (const std::string& arch : targets)
    for (std::size_t n = 0; n < cases.size(); ++n) {
      const Words got = run(line(arch, std::vector<Element>(3, Element::i32), Element::i32,
                                 [&](Program&, const auto& x, Sym) { return cases[n].map(x); }),
                            {a, b, c});
      for (std::size_t e = 0; e < a.size(); ++e) {
        INFO(arch << ", case " << n << ", element " << e);
        REQUIRE(got[e] == cases[n].expected(a[e], b[e], c[e]));
      }
    }
}

TEST_CASE("integers: an index that is a number below 0 has its low 32 bits") {
  for (const std::int64_t c : {-1, -100, 5}) {
    const Words a = {0, 1, 0xffffffff, 99};
    const Words got =
        run(line("gfx942", {Element::i32}, Element::i32,
                 [&](Program& k, const auto& x, Sym) { return integer(x[0]) + integer(k.number(Sym(c))); }),
            {a});
    for (std::size_t e = 0; e < a.size(); ++e) CHECK(got[e] == static_cast<std::uint32_t>(a[e] + c));
  }
}

TEST_CASE("integers: i32 operands that are added are integers, where no sum passes i32") {
  const auto sum_of = [](Element input, const std::function<Expr(const std::vector<Expr>&)>& add) {
    Program k("sum", Target::named("gfx942"), 64);
    const Sym N = k.size("n", {.most = 1 << 20, .multiple = 4});
    const Tensor Y = k.output("y", Element::i32, {N}), A = k.input("a", input, {N}),
                 B = k.input("b", input, {N});
    k.computes(Y, [&](const auto& c) {
      return to_number(integer(k(A, {c[0]}))) + to_number(integer(k(B, {c[0]})));
    });
    const Sym part = k.workgroups(0, N, 256);
    const Layout tv = line_tv(256, 4, 64);
    std::vector<Fragment> whole;
    for (const Tensor& x : {A, B})
      whole.push_back(k.map(
          {k.load(k.tile(x, {256}, {part}), tv, 4)}, [](const auto& v) { return integer(v[0]); },
          Element::i32));
    k.store(k.map(whole, add, Element::i32), k.tile(Y, {256}, {part}), 4);
    return k;
  };
  const auto added = [](const auto& v) { return v[0] + v[1]; };
  kernels::Bytes a(256), b(256);
  for (int i = 0; i < 256; ++i)
    a[static_cast<std::size_t>(i)] = static_cast<std::byte>(i),
    b[static_cast<std::size_t>(i)] = static_cast<std::byte>(7 * i + 1);
  const kernels::Artifact artifact = kernels::build(sum_of(Element::i8, added));
  const auto device = kernels::open_device("emulator", artifact.arch);
  const Words got = words_of(kernels::run(*device, artifact, {kernels::Bytes(1024), a, b}, {256})[0]);
  for (std::size_t i = 0; i < 256; ++i)
    REQUIRE(static_cast<std::int32_t>(got[i]) ==
            static_cast<std::int8_t>(a[i]) + static_cast<std::int8_t>(b[i]));
  // Of numbers that may be any there is a sum that passes 2^31 - 1.
  CHECK_THAT(specified::refuted(sum_of(Element::i32, added)),
             Contains("a sum of whole numbers stays inside of i32") && Contains("it may be 4294967296"));
  CHECK_THAT(specified::refuted(sum_of(Element::i8, [](const auto& v) { return v[0] + v[1] + v[1]; })),
             Contains("y") && !Contains("inside of i32"));
}

TEST_CASE("integers: parts of a product of i8 are added in i32, where f32 would round") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const int at_once : {1, 2}) {
      kernels::GemmSpec s;
      s.arch = arch;
      s.in = Element::i8, s.out = Element::i32;
      s.tile_m = 32, s.tile_n = 64, s.tile_k = 64;
      s.split = 2048, s.gather = true, s.at_once = at_once;
      const kernels::Artifact artifact = kernels::build_gemm(s);
      constexpr std::int64_t m = 3, n = 68, depth = 8192 - 64;
      kernels::Bytes a(m * depth, std::byte{127}), b(n * depth, std::byte{127});
      for (std::int64_t j = 0; j < n; ++j)
        b[static_cast<std::size_t>(j * depth + 97 * j)] = static_cast<std::byte>(126 - j);
      const std::vector<kernels::Bytes> buffers = {kernels::Bytes(4 * m * n), a, b,
                                                   kernels::Bytes(4 * 4 * m * n), kernels::Bytes(4 * 4)};
      const auto device = kernels::open_device("emulator", arch);
      dynamic_cast<runtime::EmulatorDevice&>(*device).options().checks = runtime::Checks::all();
      const Words got = words_of(kernels::run(*device, artifact, buffers, {m, n, depth})[0]);
      for (std::int64_t i = 0; i < m * n; ++i) {
        const std::int64_t wanted = 127 * (127 * (depth - 1) + 126 - i % n);
        REQUIRE(wanted > (1 << 24));
        REQUIRE(static_cast<std::int32_t>(got[static_cast<std::size_t>(i)]) == wanted);
      }
    }
}

TEST_CASE("integers: conversions saturate, codes pass, and an element's number is exact") {
  const auto code = [](float v) { return std::bit_cast<std::uint32_t>(v); };
  const Words x = {code(2.5F),     code(-2.9F), code(3e9F),  code(-3e9F),
                   code(INFINITY), code(NAN),   code(-0.0F), code(1e-40F)};
  for (const std::string& arch : targets) {
    CHECK(run(line(arch, {Element::f32}, Element::i32,
                   [](Program&, const auto& v, Sym) { return truncated(v[0]); }),
              {x}) == Words{2, 0xfffffffe, 0x7fffffff, 0x80000000, 0x7fffffff, 0, 0, 0});
    Words negated = x;
    for (std::uint32_t& w : negated) w ^= 0x80000000;
    CHECK(run(line(arch, {Element::f32}, Element::i32,
                   [](Program&, const auto& v, Sym) { return float_bits(v[0]) ^ 0x80000000; }),
              {x}) == negated);
    CHECK(run(line(arch, {Element::f32}, Element::f32,
                   [](Program&, const auto& v, Sym) { return from_bits(float_bits(v[0]) ^ 0x80000000); }),
              {{code(2.5F), code(-3.0F), code(0.0F), code(1e30F)}}) ==
          Words{code(-2.5F), code(3.0F), code(-0.0F), code(-1e30F)});
    const Words n = run(line(arch, {Element::i32}, Element::i32,
                             [](Program& k, const auto& v, Sym i) {
                               return integer(v[0]) + integer(k.number(i)) * 65536.0 +
                                      integer(k.number(floor_div(i, Sym(4))));
                             }),
                        {Words(1000, 5)});
    for (std::uint32_t i = 0; i < 1000; ++i) REQUIRE(n[i] == 5 + 65536 * i + i / 4);
  }
}

TEST_CASE("integers: another function than the specification's is refuted") {
  using Map = std::function<Expr(Program&, const std::vector<Expr>&, Sym)>;
  const Map right = [](Program& k, const auto& x, Sym i) {
    return choose(less_unsigned(mul_hi(integer(x[0]), k.integer(0xd2511f53)), k.integer(1 << 20)),
                  integer(x[1]) >> 3, integer(x[0]) + integer(k.number(i)));
  };
  const auto with = [&](const Map& map) {
    return specified::refuted(line("gfx942", {Element::i32, Element::i32}, Element::i32, map, right));
  };
  CHECK(with(right) == "");
  for (const Map& wrong : std::vector<Map>{
           [](Program&k, const auto&x, Sym i) {
             return choose(less_signed(mul_hi(integer(x[0]), k.integer(0xd2511f53)), k.integer(1 << 20)),
                           integer(x[1]) >> 3, integer(x[0]) + integer(k.number(i)));
           },
           [](Program&k, const auto&x, Sym i) {
             return choose(less_unsigned(mul_hi(integer(x[0]), k.integer(0xd2511f52)), k.integer(1 << 20)),
                           integer(x[1]) >> 3, integer(x[0]) + integer(k.number(i)));
           },
           [](Program&k, const auto&x, Sym i) {
             return choose(less_unsigned(mul_hi(integer(x[0]), k.integer(0xd2511f53)), k.integer(1 << 20)),
                           shift_right_signed(integer(x[1]), k.integer(3)),
                           integer(x[0]) + integer(k.number(i)));
           },
           [](Program&k, const auto&x, Sym i) {
             return choose(less_unsigned(mul_hi(integer(x[0]), k.integer(0xd2511f53)), k.integer(1 << 20)),
                           integer(x[1]) >> 3, integer(x[0]) + integer(k.number(i + Sym(1))));
           },
           [](Program&k, const auto&x, Sym i) {
             return choose(less_unsigned(mul_hi(integer(x[0]), k.integer(0xd2511f53)), k.integer(1 << 20)),
                           integer(x[0]) + integer(k.number(i)), integer(x[1]) >> 3);
           },
           // By way of f32, which has 24 bits of it.
           [](Program&k, const auto&x, Sym i) {
             return choose(less_unsigned(mul_hi(integer(x[0]), k.integer(0xd2511f53)), k.integer(1 << 20)),
                           truncated(to_number(integer(x[1]) >> 3)), integer(x[0]) + integer(k.number(i)));
           }})
    CHECK(with(wrong) != "");
}

TEST_CASE("integers: an integer that was rounded on the way is not that integer", "[error]") {
  // i32 -> f32 -> integer in two maps: the second sees no operand of i32.
  Program k("two", Target::named("gfx942"), 64);
  const Sym N = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor Y = k.output("y", Element::i32, {N}), X = k.input("x", Element::i32, {N}),
               F = k.input("f", Element::f32, {N}), B = k.input("b", Element::i8, {N});
  k.computes(Y, [&](const auto& c) { return integer(k(X, {c[0]})); });
  const Sym part = k.workgroups(0, N, 256);
  const Layout tv = line_tv(256, 4, 64);
  const auto load = [&](const Tensor& t) { return k.load(k.tile(t, {256}, {part}), tv, 4); };
  const Fragment x = load(X), f = load(F), b = load(B);
  const Fragment number = k.map({x}, [](const auto& a) { return to_number(integer(a[0])); });
  const Fragment small = k.map(
      {f}, [](const auto& a) { return a[0] * 0.5; }, Element::i8);
  const auto refused = [&](const Fragment& of, const std::function<Expr(Expr)>& map, Element to) {
    try {
      (void)k.map(
          {of}, [&](const auto& a) { return map(a[0]); }, to);
    } catch (const CodegenError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const auto whole = [](Expr e) { return integer(e); };
  const auto code = [](Expr e) { return float_bits(e); };
  CHECK_THAT(refused(number, whole, Element::i32), Contains("truncated(x)") && Contains("line"));
  CHECK_THAT(refused(small, whole, Element::i32), Contains("operand of i32"));
  CHECK_THAT(refused(number, code, Element::i32), Contains("rounded otherwise"));
  CHECK_THAT(refused(x, code, Element::i32), Contains("float_bits"));
  CHECK_THAT(refused(x, whole, Element::f32), Contains("the result is an integer, and f32 is asked for"));
  CHECK_THAT(refused(
                 f, [](Expr e) { return e * 2.0; }, Element::i32),
             Contains("truncated(nearest(x))"));
  CHECK_THAT(refused(
                 f, [](Expr e) { return e * 1e300 * 1e-300; }, Element::f32),
             Contains("no number of f32"));
  CHECK_THAT(refused(
                 x, [](Expr e) { return integer(e + 1.0); }, Element::i32),
             Contains("operand of i32"));
  CHECK(refused(b, whole, Element::i32) == "accepted");
  CHECK(refused(f, code, Element::i32) == "accepted");
  // What is changed later, or was, is not what the input has: (x + 1) - 1 is x in real numbers alone.
  const auto off = [](const auto& a) { return (a[0] + 1.0) - 1.0; };
  CHECK_THROWS_WITH(k.update(f, {}, off), Contains("is changed, and float_bits or integer took it"));
  k.update(x, {}, [](const auto& a) { return integer(a[0]) + 1.0; }); // a whole number before and after
  const Fragment again = load(F);
  k.update(again, {}, off);
  CHECK_THAT(refused(again, code, Element::i32), Contains("rounded otherwise"));
  CHECK_THROWS_AS(
      k.computes(k.output("z", Element::f32, {N}), [&](const auto& c) { return integer(k(X, {c[0]})); }),
      CodegenError);
  CHECK_THROWS_AS(
      k.computes(k.output("w", Element::i32, {N}), [&](const auto& c) { return integer(k(F, {c[0]})); }),
      CodegenError);
}

} // namespace integers_test
