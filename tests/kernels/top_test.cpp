// The greatest elements of a row and their places: the network by the 0-1 principle, on the emulator against a stable sort, and what claims
// refuse.
#include "specified.h"

#include <inlay/algebra/parse.h>
#include <inlay/codegen/top_network.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

namespace top_test {

using namespace specified;
using Catch::Matchers::Contains;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

auto network(std::size_t count) {
  const auto greater = [](int a, int b) { return std::max(a, b); };
  const auto less = [](int a, int b) { return std::min(a, b); };
  return TopNetwork<int, decltype(greater), decltype(less)>(count, greater, less);
}
std::vector<int> greatest(std::vector<int> all, std::size_t count) {
  std::sort(all.begin(), all.end(), std::greater<>());
  all.resize(std::min(all.size(), count));
  return all;
}

/// Rows of `n` in lanes as `tv` says: the `count` greatest, values and then places, and then what another tensor has there.
struct Asked {
  std::string arch = "gfx942";
  int n = 64, count = 4, lanes = 8, vector = 4;
  bool f32 = true, places = true;
  std::optional<Element> beside{};
  [[nodiscard]] int columns() const { return count * (1 + (places ? 1 : 0) + (beside ? 1 : 0)); }
};
Program program(const Asked& s, const std::function<Fragment(Program&, const Fragment&)>& before = {}) {
  const int rows = 256 / s.lanes, columns = s.columns();
  Program k("top", Target::named(s.arch), 256);
  const Sym M = k.size("m", {.most = 1 << 20});
  const Tensor Y = k.output("y", Element::f32, {M, columns}),
               X = k.input("x", s.f32 ? Element::f32 : Element::bf16, {M, s.n});
  const Tensor Z = s.beside ? k.input("z", *s.beside, {M, s.n}) : X;
  const auto column = [&](Sym at, const std::vector<Expr>& all) {
    Expr e = all[0];
    for (int d = 1; d < columns; ++d)
      e = select(k.number(at), k.constant(d), all[static_cast<std::size_t>(d)], e);
    return e;
  };
  k.computes(Y, [&](const auto& c) {
    const auto best = k.top(s.count, {Sym(s.n)}, [&](const auto& i) { return k(X, {c[0], i[0]}); });
    std::vector<Expr> all = best.value;
    if (s.places) all.insert(all.end(), best.place.begin(), best.place.end());
    for (const Expr& place : best.place)
      if (s.beside)
        all.push_back(k.at_place(place, {Sym(s.n)}, [&](const auto& i) { return k(Z, {c[0], i[0]}); }));
    return column(c[1], all);
  });
  const Sym row = k.workgroups(0, M, rows);
  const Layout tv =
      parse_layout("((" + std::to_string(s.lanes) + "," + std::to_string(rows) + "),(" +
                   std::to_string(s.vector) + "," + std::to_string(s.n / s.lanes / s.vector) + ")):((" +
                   std::to_string(s.vector) + "@1,1@0),(1@1," + std::to_string(s.lanes * s.vector) + "@1))");
  const int vector = std::has_single_bit(static_cast<unsigned>(s.vector)) ? s.vector : 1;
  Fragment x = k.load(k.tile(X, {rows, s.n}, {row, 0}), tv, vector);
  if (before) x = before(k, x);
  const Program::Top best = s.beside
                                ? k.top(s.count, x, k.load(k.tile(Z, {rows, s.n}, {row, 0}), tv, vector), {1})
                                : k.top(s.count, x, {1});
  std::vector<Fragment> of = best.value;
  if (s.places) of.insert(of.end(), best.place.begin(), best.place.end());
  of.insert(of.end(), best.beside.begin(), best.beside.end());
  of.push_back(k.zeros(Element::f32,
                       parse_layout("((" + std::to_string(s.lanes) + "," + std::to_string(rows) + ")," +
                                    std::to_string(columns) + "):((0,1@0),1@1)"),
                       {rows, columns}));
  const Fragment all = k.map(of, [&](const std::vector<Expr>& a) {
    return column(k.position(1), {a.begin(), a.end() - 1});
  });
  k.store(all, k.tile(Y, {rows, columns}, {row, 0}), columns % 2 == 0 ? 2 : 1);
  return k;
}

/// Rows of ties, of nothing but NaN, of infinities, zeros of both signs, numbers below the least normal one, and any bits.
std::vector<float> rows_of(int n, int rows) {
  std::mt19937 random(7);
  std::vector<float> out;
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < n; ++i) {
      const auto word = static_cast<std::uint32_t>(random());
      const float of[] = {std::bit_cast<float>(word),
                          static_cast<float>(static_cast<int>(word % 5) - 2),
                          (word & 1) != 0 ? 0.0F : -0.0F,
                          (word & 1) != 0 ? infinity : -infinity,
                          std::numeric_limits<float>::quiet_NaN(),
                          -infinity,
                          (word % 3 != 0 ? 1.0F : -1.0F) * std::numeric_limits<float>::denorm_min() *
                              static_cast<float>(word % 4),
                          std::bit_cast<float>(word | 0xff800000U),
                          static_cast<float>(i),
                          static_cast<float>(-i)};
      out.push_back(of[r % 10]);
    }
  return out;
}
float as_bf16(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000U); }

void check(const Asked& s) {
  INFO(s.arch << ", " << s.count << " of " << s.n << ", " << s.lanes << " lanes, "
              << (s.f32 ? "f32" : "bf16"));
  const int m = 10 * (256 / s.lanes) / 10 + 13;
  std::vector<float> x = rows_of(s.n, m);
  if (!s.f32) std::transform(x.begin(), x.end(), x.begin(), as_bf16);
  kernels::Bytes given(x.size() * (s.f32 ? 4 : 2));
  for (std::size_t i = 0; i < x.size(); ++i)
    std::memcpy(given.data() + i * (s.f32 ? 4 : 2), reinterpret_cast<const char*>(&x[i]) + (s.f32 ? 0 : 2),
                s.f32 ? 4 : 2);
  // Beside: any bits but those of a NaN.
  std::mt19937 random(11);
  std::vector<float> z(x.size());
  kernels::Bytes other(2 * x.size());
  for (std::size_t i = 0; s.beside && i < z.size(); ++i) do {
      const auto code = static_cast<std::uint16_t>(random());
      std::memcpy(other.data() + 2 * i, &code, 2);
      z[i] = static_cast<float>(decode(*s.beside, code));
    } while (std::isnan(z[i]));
  const kernels::Artifact artifact = kernels::build(program(s));
  const auto device = kernels::open_device("emulator", artifact.arch);
  dynamic_cast<runtime::EmulatorDevice&>(*device).options().checks = runtime::Checks::all();
  std::vector<kernels::Bytes> all = {kernels::Bytes(static_cast<std::size_t>(4 * m * s.columns())), given};
  if (s.beside) all.push_back(other);
  const kernels::Bytes got = kernels::run(*device, artifact, all, {m})[0];
  std::vector<float> y(got.size() / 4);
  std::memcpy(y.data(), got.data(), got.size());
  const auto bits = [](float v) { return std::bit_cast<std::uint32_t>(v); };
  for (int r = 0; r < m; ++r) {
    const float* of = &x[static_cast<std::size_t>(r * s.n)];
    const auto number = [&](int i) { return std::isnan(of[i]) ? -infinity : of[i]; };
    std::vector<int> order(static_cast<std::size_t>(s.n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return number(a) > number(b); });
    for (int d = 0; d < s.count; ++d) {
      const int at = order[static_cast<std::size_t>(d)];
      const auto column = [&](int part) {
        return bits(y[static_cast<std::size_t>(r * s.columns() + part * s.count + d)]);
      };
      INFO("row " << r << ", number " << d);
      CHECK(column(0) == bits(number(at) == 0 ? 0.0F : number(at))); // no -0
      if (s.places) CHECK(column(1) == bits(static_cast<float>(at)));
      if (s.beside) CHECK(column(s.places ? 2 : 1) == bits(z[static_cast<std::size_t>(r * s.n + at)]));
    }
  }
}

} // namespace

TEST_CASE("top: its comparisons give the greatest, the greatest first, of all zeros and ones") {
  for (std::size_t n = 1; n <= 12; ++n)
    for (unsigned bits = 0; bits < 1U << n; ++bits) {
      std::vector<int> all;
      for (std::size_t i = 0; i < n; ++i) all.push_back(static_cast<int>(bits >> i & 1));
      for (std::size_t count = 1; count <= n; ++count)
        REQUIRE(network(count).of(all) == greatest(all, count));
      std::vector<int> sorted = all;
      for (const auto& [a, b] : sorting_network(n))
        if (sorted[a] < sorted[b]) std::swap(sorted[a], sorted[b]);
      REQUIRE(sorted == greatest(all, n));
    }
  // Lists are ones and then zeros.
  for (std::size_t count = 1; count <= 17; ++count)
    for (std::size_t a = 1; a <= count; ++a)
      for (std::size_t b = 1; b <= count; ++b)
        for (std::size_t of_a = 0; of_a <= a; ++of_a)
          for (std::size_t of_b = 0; of_b <= b; ++of_b) {
            std::vector<int> x(a, 0), y(b, 0), all;
            std::fill_n(x.begin(), of_a, 1), std::fill_n(y.begin(), of_b, 1);
            all = x, all.insert(all.end(), y.begin(), y.end());
            REQUIRE(network(count).merged(x, y) == greatest(all, count));
          }
  for (int mask = 0; mask < 64; ++mask) { // all lanes have all lanes' elements, each once
    std::vector<std::vector<int>> lists(64);
    for (int lane = 0; lane < 64; ++lane) lists[static_cast<std::size_t>(lane)] = {lane};
    for (const int step : lane_steps(mask)) {
      const auto before = lists;
      for (std::size_t lane = 0; lane < 64; ++lane) {
        const auto& other = before[lane ^ static_cast<std::size_t>(step)];
        lists[lane].insert(lists[lane].end(), other.begin(), other.end());
      }
    }
    for (int lane = 0; lane < 64; ++lane) {
      std::vector<int> all = lists[static_cast<std::size_t>(lane)], wanted;
      std::sort(all.begin(), all.end());
      for (int other = 0; other < 64; ++other)
        if (((other ^ lane) & ~mask) == 0) wanted.push_back(other);
      REQUIRE(all == wanted);
    }
  }
}

TEST_CASE("top: ties, infinities, NaN and zeros of both signs as a stable sort has them") {
  check({});
  check({.n = 64, .count = 1});
  check({.n = 64, .count = 7, .lanes = 4, .vector = 2});
  check({.n = 64, .count = 16, .lanes = 64, .vector = 1});
  check({.n = 96, .count = 3, .lanes = 32, .vector = 1}); // three of a lane
  check({.arch = "gfx950", .n = 256, .count = 8, .lanes = 8, .vector = 8, .f32 = false});
  check({.arch = "gfx950", .n = 8, .count = 8, .lanes = 8, .vector = 1});
  check({.n = 96, .count = 4, .vector = 3}); // places that are sums
}

TEST_CASE("top: elements of 16 bits, which are one word with their places") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    check({.arch = arch, .n = 256, .count = 8, .lanes = 4, .vector = 8, .f32 = false});
    check({.arch = arch, .n = 64, .count = 1, .f32 = false});
    check({.arch = arch, .n = 512, .count = 5, .lanes = 16, .vector = 2, .f32 = false});
  }
  check({.n = 64, .count = 16, .lanes = 64, .vector = 1, .f32 = false});
  check({.n = 96, .count = 3, .lanes = 32, .vector = 1, .f32 = false}); // three of a lane
  check({.n = 96, .count = 4, .vector = 3, .f32 = false});              // places that are sums
}

TEST_CASE("top: without places") {
  for (const bool f32 : {true, false}) {
    check({.n = 64, .count = 2, .f32 = f32, .places = false});
    check({.arch = "gfx950", .n = 256, .count = 7, .lanes = 4, .f32 = f32, .places = false});
    check({.n = 64, .count = 1, .lanes = 64, .vector = 1, .f32 = f32, .places = false});
  }
}

TEST_CASE("top: what stands beside the greatest") {
  for (const Element of : {Element::bf16, Element::f16})
    for (const bool places : {true, false}) {
      check({.n = 64, .count = 4, .places = places, .beside = of});
      check({.arch = "gfx950",
             .n = 256,
             .count = 8,
             .lanes = 8,
             .vector = 8,
             .f32 = false,
             .places = places,
             .beside = of});
      check({.n = 96, .count = 3, .lanes = 32, .vector = 1, .places = places, .beside = of});
      check({.n = 96, .count = 4, .vector = 3, .places = places, .beside = of});
    }
}

namespace {

/// Five matrices of 8 x 8: zeros of both signs, and numbers of which many are equal.
std::vector<float> matrices() {
  std::vector<float> x(5 * 64);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = i < 64 ? (i == 5 ? -0.0F : 0.0F) : static_cast<float>(i * 37 % 11) - 5;
  return x;
}
/// y[m,8,8] of what `made` makes of x[m,8,8], an element a lane, which is to be what `said` says of (m, g, s).
using Elements = std::function<Expr(Sym, Sym)>;
std::vector<float> of_matrices(const std::function<Fragment(Program&, const Fragment&)>& made,
                               const std::function<Expr(Program&, const Elements&, Sym, Sym)>& said) {
  Program k("matrices", Target::named("gfx942"), 64);
  const Sym M = k.size("m", {.most = 1 << 20});
  const Tensor Y = k.output("y", Element::f32, {M, 8, 8}), X = k.input("x", Element::f32, {M, 8, 8});
  k.computes(Y, [&](const auto& c) {
    return said(
        k,
        [&](Sym g, Sym s) {
          return k(X, {c[0], g, s});
        },
        c[1], c[2]);
  });
  const Sym w = k.workgroups(0, M, 1);
  const Layout tv = parse_layout("((8,8),1):((1@2,1@1),0)");
  const Fragment x = k.load(k.tile(X, {1, 8, 8}, {w, 0, 0}), tv, 1);
  k.store(k.map({x, made(k, x)}, [](const auto& v) { return v[1]; }), k.tile(Y, {1, 8, 8}, {w, 0, 0}), 1);
  const kernels::Artifact artifact = kernels::build(k);
  const std::vector<float> of = matrices();
  kernels::Bytes given(of.size() * 4);
  std::memcpy(given.data(), of.data(), given.size());
  const auto device = kernels::open_device("emulator", artifact.arch);
  const kernels::Bytes got = kernels::run(*device, artifact, {given, given}, {5})[0];
  std::vector<float> y(of.size());
  std::memcpy(y.data(), got.data(), got.size());
  return y;
}
/// The place of number `rank`, of equal ones the first.
float place_of(const std::vector<float>& of, std::size_t rank) {
  std::vector<std::size_t> order(of.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return of[a] > of[b]; });
  return static_cast<float>(order[rank]);
}

} // namespace

TEST_CASE("top: several of one fragment, along other axes and of other lengths") {
  struct Two {
    std::vector<int> axes;
    int count;
  };
  const std::pair<Two, Two> cases[] = {{{{2}, 2}, {{1}, 2}},
                                       {{{1}, 3}, {{2}, 2}},
                                       {{{2}, 1}, {{2}, 2}},
                                       {{{1, 2}, 1}, {{1, 2}, 9}},
                                       {{{2}, 2}, {{1, 2}, 2}}};
  const auto matrix = matrices();
  for (const auto& [a, b] : cases) {
    const auto got = of_matrices(
        [&](Program& k, const Fragment& x) {
          const auto last = [&](const Two& t) { return k.top(t.count, x, t.axes).place.back(); };
          return k.map({x, last(a), last(b)}, [](const auto& v) { return v[1] + v[2] * 100.0; });
        },
        [&](Program& k, const Elements& x, Sym g, Sym s) {
          const auto last = [&](const Two& t) {
            const std::vector<Sym> extents(t.axes.size(), Sym(8));
            return k
                .top(t.count, extents,
                     [&](const auto& i) {
                       return t.axes.size() == 2 ? x(i[0], i[1]) : t.axes[0] == 1 ? x(i[0], s) : x(g, i[0]);
                     })
                .place.back();
          };
          return last(a) + last(b) * 100.0;
        });
    for (std::size_t n = 0; n < got.size(); ++n) {
      const std::size_t begin = n / 64 * 64, g = n / 8 % 8, s = n % 8;
      const auto last = [&](const Two& t) {
        std::vector<float> of;
        for (std::size_t i = 0; i < 64; ++i)
          if (t.axes.size() == 2 || (t.axes[0] == 1 ? i % 8 == s : i / 8 == g))
            of.push_back(matrix[begin + i]);
        return place_of(of, static_cast<std::size_t>(t.count - 1));
      };
      CHECK(got[n] == last(a) + 100 * last(b));
    }
  }
}

TEST_CASE("top: zeros of a map's signs are equal") {
  const auto got = of_matrices(
      [](Program& k, const Fragment& x) {
        return k.top(1, k.map({x}, [](const auto& v) { return v[0] * -1.0; }), {1, 2}).place[0];
      },
      [](Program& k, const Elements& x, Sym, Sym) {
        return k.top(1, {Sym(8), Sym(8)}, [&](const auto& i) { return x(i[0], i[1]) * -1.0; }).place[0];
      });
  std::vector<float> minus = matrices();
  for (float& v : minus) v = -v;
  for (std::size_t n = 0; n < got.size(); ++n) {
    const auto begin = minus.begin() + static_cast<std::ptrdiff_t>(n / 64 * 64);
    CHECK(got[n] == place_of({begin, begin + 64}, 0));
  }
}

TEST_CASE("top: what is refused") {
  const auto with = [](const std::function<void(TopOp&)>& change) {
    Program p = program({});
    for (Op& op : p.mutable_body())
      if (auto* t = std::get_if<TopOp>(&op.what)) change(*t);
    return refuted(p);
  };
  CHECK(with([](TopOp&) {}).empty());
  // Another rank, or the place for the element.
  CHECK_FALSE(with([](TopOp& t) { t.rank = t.rank == 2 ? 1 : t.rank; }).empty());
  CHECK_FALSE(with([](TopOp& t) { t.place = true; }).empty());
  CHECK_THAT(with([](TopOp& t) { t.rank = t.rank == 3 ? 4 : t.rank; }), Contains("the greatest elements"));
  // Lanes that are not joined, or that have other rows.
  const Program whole_rows = program({});
  const Code code = code_of(whole_rows);
  const auto changed = [&](const std::function<void(Inst&)>& change) {
    Code other = code;
    for (CodeRegion& r : other.regions)
      for (Inst& i : r.body)
        if (i.kind == InstKind::top) change(i);
    return refuted(other);
  };
  CHECK(changed([](Inst&) {}).empty());
  CHECK_THAT(changed([](Inst& i) { i.lane_mask = 3; }), Contains("has 32 of 64"));
  CHECK_THAT(changed([](Inst& i) { i.lane_mask = 11; }), Contains("twice") || Contains("one result"));
  CHECK_THAT(changed([](Inst& i) { i.lane_mask = 15; }), Contains("twice"));
  CHECK_THAT(changed([](Inst& i) { i.uses.pop_back(), i.position.pop_back(); }), Contains("of 64"));
  CHECK_THAT(changed([](Inst& i) { std::swap(i.uses[0], i.uses[1]); }), Contains("one result"));
  CHECK_THAT(changed([](Inst& i) { i.position[0][0] = i.position[1][0]; }), Contains("twice"));
  CHECK_THAT(changed([](Inst& i) { i.position[0][0] = 64; }), Contains("a place is 64"));
  CHECK_THAT(changed([](Inst& i) { i.access.extents[0] = 65; }), Contains("has 64 of 65"));
  CHECK_THAT(changed([](Inst& i) { i.top = 65; }), Contains("the greatest elements"));
  // What stands beside other elements, what is no list of places, and another rank of what stands beside.
  const Program with_beside = program({.beside = Element::bf16});
  const Code of_both = code_of(with_beside);
  const auto beside = [&](const std::function<void(Inst&)>& change) {
    Code other = of_both;
    for (CodeRegion& r : other.regions)
      for (Inst& i : r.body)
        if (i.kind == InstKind::top) change(i);
    return refuted(other);
  };
  CHECK(beside([](Inst&) {}).empty());
  CHECK_THAT(beside([](Inst& i) { std::swap(i.uses[i.position.size()], i.uses.back()); }),
             Contains("one result"));
  CHECK_THAT(beside([](Inst& i) { i.uses.pop_back(); }), Contains("15 elements at 8"));
  CHECK_THAT(changed([](Inst& i) { i.beside = true; }), Contains("8 elements at 8"));
  CHECK_FALSE(beside([](Inst& i) { i.beside = false; }).empty());
  CHECK_FALSE(beside([](Inst& i) { i.beside = !i.place; }).empty());
  CHECK_FALSE(beside([](Inst& i) { i.rank = i.beside && i.rank == 2 ? 1 : i.rank; }).empty());
  CHECK_THAT(beside([](Inst& i) { i.places = false; }), Contains("no places"));
  // What lies outside of a ragged row takes part.
  const auto ragged = [](double outside) {
    Program k("ragged", Target::named("gfx942"), 64);
    const Sym M = k.size("m", {.most = 1 << 20}), N = k.size("n", {.least = 2, .most = 64});
    const Tensor Y = k.output("y", Element::f32, {M, 1}), X = k.input("x", Element::f32, {M, N});
    k.computes(Y, [&](const auto& c) {
      return k.top(2, {N}, [&](const auto& i) { return k(X, {c[0], i[0]}); }).value[1];
    });
    const Sym row = k.workgroups(0, M, 1);
    const Fragment x = k.load(k.tile(X, {1, 64}, {row, 0}), rows_tv(1, 64, 1, 64), 1);
    const Fragment filled = outside == 0 ? x : k.fill(x, 1, Sym(0), N, outside);
    k.store(k.top(2, filled, {1}).value[1], k.tile(Y, {1, 1}, {row, 0}), 1);
    return refuted(k);
  };
  CHECK(ragged(-infinity).empty());
  // A tile that has the first part of a row alone.
  Program part("part", Target::named("gfx942"), 64);
  const Sym rows = part.size("m", {.most = 1 << 20});
  const Tensor result = part.output("y", Element::f32, {rows, 1}),
               of = part.input("x", Element::f32, {rows, 128});
  part.computes(result, [&](const auto& c) {
    return part.top(2, {Sym(128)}, [&](const auto& i) { return part(of, {c[0], i[0]}); }).value[1];
  });
  const Sym here = part.workgroups(0, rows, 1);
  part.store(
      part.top(2, part.load(part.tile(of, {1, 64}, {here, 0}), rows_tv(1, 64, 1, 64), 1), {1}).value[1],
      part.tile(result, {1, 1}, {here, 0}), 1);
  CHECK_THAT(refuted(part), Contains("there are 128, and it has 64"));
  CHECK_THAT(ragged(0), Contains("outside"));
  CHECK_THAT(ragged(infinity), Contains("outside"));
  // Before it is proved: asked for in a way that no program can mean.
  Program k("asked", Target::named("gfx942"), 256);
  const Sym M = k.size("m", {.most = 1 << 20});
  const Tensor X = k.input("x", Element::f32, {M, 1024}), W = k.input("w", Element::i32, {M, 1024});
  const Sym row = k.workgroups(0, M, 4);
  const Fragment whole = k.load(k.tile(X, {4, 1024}, {row, 0}), rows_tv(4, 1024, 4, 256), 4),
                 wave = k.load(k.tile(X, {4, 64}, {row, 0}), rows_tv(4, 64, 1, 256), 1),
                 words = k.load(k.tile(W, {4, 64}, {row, 0}), rows_tv(4, 64, 1, 256), 1);
  CHECK_THROWS_WITH(k.top(2, whole, {1}), Contains("several waves"));
  CHECK_THROWS_WITH(k.top(2, words, {1}), Contains("i32"));
  CHECK_THROWS_WITH(k.top(0, wave, {1}), Contains("1 to 64"));
  CHECK_THROWS_WITH(k.top(65, wave, {1}), Contains("1 to 64"));
  CHECK_THROWS_WITH(k.top(2, wave, {}), Contains("1 to 64"));
  CHECK_THROWS_WITH(k.top(2, wave, {2}), Contains("axis 2"));
  CHECK_THROWS_WITH(k.top(2, wave, {1, 1}), Contains("axis 1"));
  CHECK_THROWS_WITH(k.top(2, wave, wave, {1}), Contains("is f32"));
  const Tensor Z = k.input("z", Element::bf16, {M, 1024});
  const auto of_z = [&](int high, int vector) {
    return k.load(k.tile(Z, {high, 64}, {row, 0}), rows_tv(high, 64, vector, 256), vector);
  };
  CHECK_THROWS_WITH(k.top(2, wave, of_z(16, 4), {1}), Contains("laid out"));
  CHECK_NOTHROW(k.top(2, wave, of_z(4, 1), {1}));
  CHECK_THROWS_WITH(k.top(3, {Sym(2)},
                          [&](const auto& i) {
                            return k(X, {0, i[0]});
                          }),
                    Contains("3 greatest"));
}

} // namespace top_test
