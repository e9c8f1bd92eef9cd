// Numbers that are not each other, whatever they are called: a symbol of claims that two things share would say how far they are apart.
#include "attack.h"

#include <inlay/codegen/symbol_kinds.h>

#include <catch2/catch.hpp>

#include <map>
#include <tuple>

namespace names_test {

using namespace adversary;

namespace {

// y(a, b, i) = x(a, i), from row 8 (a / 8) + b % 8, which is row a where a and b have one place in their groups of 8.
std::function<Program()> members(bool right) {
  return [=] {
    Program k("members", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10, .multiple = 8}),
              n = k.size("n", {.most = 1 << 10, .multiple = 8});
    const Tensor y = k.output("y", Element::f32, {m, n, 64}), x = k.input("x", Element::f32, {m, 64});
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[2]}); });
    const Sym a = k.workgroups(0, m, 1), b = k.workgroups(1, n, 1);
    const Layout tv = line_tv(64, 1, 64);
    const Sym row = Sym(8) * floor_div(a, Sym(8)) + floor_mod(right ? a : b, Sym(8));
    k.store(k.load(k.tile(x, {1, 64}, {row, 0}).keep({1}), tv, 1), k.tile(y, {1, 1, 64}, {a, b, 0}).keep({2}),
            1);
    return k;
  };
}

// y(i, a) = z(i) + 1 below q, else 7; the workgroup that drew number d stores z(i) + 1 everywhere where d + 2 < q.
std::function<Program()> drawn(const std::string& name) {
  return [=] {
    Program k("drawn", target(), 64);
    const Sym p = k.size("p", {.most = 64}), q = k.size("q", {.most = 64});
    const Tensor y = k.output("y", Element::f32, {64, p}), z = k.input("z", Element::f32, {q});
    k.computes(y, [&](const auto& c) { return inside(c[0], q, k(z, {c[0]}) + 1, 7); });
    const Sym part = k.workgroups(0, p, 1), number = k.ticket(name, part);
    const auto to = k.tile(y, {64, 1}, {0, part}).keep({0});
    const Fragment f = k.load(k.tile(z, {64}, {0}), line_tv(64, 1, 64), 1);
    const auto more = [](const auto& v) { return v[0] + 1; };
    k.if_less(
        number + Sym(2), q, [&] { k.store(k.map({f}, more), to, 1); },
        [&] {
          k.store(k.map({f}, [&](const auto& v) { return inside(k.position(0), q, v[0] + 1, 7); }), to, 1);
        });
    return k;
  };
}

// y(r) = sum of x(r, i) over n + that of z(r, i) below n + 16 over a size of another name; the first mask is left out where n is at most 64.
std::function<Program()> named(const std::string& name, bool right) {
  return [=] {
    Program k("named", target(), 64);
    const Sym n = k.size("n", {.most = 4096}), b = k.size(name, {.most = 64});
    const Tensor y = k.output("y", Element::f32, {64, 1}), x = k.input("x", Element::f32, {64, n}),
                 z = k.input("z", Element::f32, {64, b});
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) {
        return k(x, {c[0], i});
      }) + k.sum(b, [&](Sym i) {
        return inside(i, n + Sym(16), k(z, {c[0], i}), 0);
      });
    });
    const Layout tv = rows_tv(64, 16, 1, 64), of_row = without_axis(tv, 1);
    const Fragment of_x = k.zeros(Element::f32, of_row, {64, 1}),
                   of_z = k.zeros(Element::f32, of_row, {64, 1});
    const auto add = [&](const Fragment& acc, const Tensor& from, Sym extent, bool masked) {
      return [=, &k](Sym t) {
        Fragment f = k.load(k.tile(from, {64, 16}, {0, t}), tv, 1);
        if (masked)
          f = k.map({f},
                    [&](const auto& v) { return inside(Sym(16) * t + k.position(1), n + Sym(16), v[0], 0); });
        f = k.fill(f, 1, Sym(16) * t, extent, 0);
        k.update(acc, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
      };
    };
    const Pipeline plain{.distance = 0, .ring = 1};
    k.loop(min(n, Sym(64)), 16, plain, add(of_x, x, n, false));
    k.if_less(
        Sym(64), n,
        [&] {
          k.loop(Sym(64), n, 16, plain, add(of_x, x, n, false));
          k.loop(b, 16, plain, add(of_z, z, b, true));
        },
        [&] { k.loop(b, 16, plain, add(of_z, z, b, right)); });
    k.store(k.map({of_x, of_z}, [](const auto& v) { return v[0] + v[1]; }), k.tile(y, {64, 1}, {0, 0}), 1);
    return k;
  };
}

} // namespace

// Two different choices of a kind, numbers and another name have two names, and each name is of its kind alone.
TEST_CASE("adversary: each symbol of the library has a name of its own") {
  const std::optional<Int> numbers[] = {std::nullopt, Int(-1), Int(0), Int(1), Int(11)};
  std::vector<std::string> others = {"", "n", "n_1", "N1", "X", "X_0", "p", "of_n", "_t0", "_over_n"};
  using Choice = std::tuple<SymbolKind, std::vector<std::string>, std::string>;
  std::map<std::string, Choice> seen;
  const auto see = [&](const std::string& name, const Choice& choice) {
    CAPTURE(name);
    const auto [at, fresh] = seen.emplace(name, choice);
    CHECK((fresh || at->second == choice));
  };
  for (int kind = 0; kind <= static_cast<int>(SymbolKind::digit); ++kind) {
    const auto of = static_cast<SymbolKind>(kind);
    for (const std::string& other : others) {
      // As many numbers as the kind has; others are refused.
      int counts = 0;
      const auto with = [&](auto... n) {
        try {
          see(name_of(of, {n...}, other), {of, {NameNumber(n).text()...}, other});
          ++counts;
        } catch (const std::logic_error&) {
        }
      };
      with();
      for (const auto& a : numbers) {
        with(a);
        for (const auto& b : numbers) {
          with(a, b);
          for (const auto& c : numbers) {
            with(a, b, c);
            for (const auto& d : {numbers[0], numbers[2], numbers[4]}) with(a, b, c, d);
          }
        }
      }
      CHECK((counts == 1 || counts == 5 || counts == 25 || counts == 125 || counts == 375));
    }
  }
  for (const auto& [name, choice] : seen)
    for (int kind = 0; kind <= static_cast<int>(SymbolKind::digit); ++kind) {
      const auto of = static_cast<SymbolKind>(kind);
      if (is_of(name, of) != (of == std::get<0>(choice))) FAIL(name << " and kind " << kind);
    }
  CHECK(Program::position_name(3) == name_of(SymbolKind::position, {3}));
  CHECK(seen.size() > 5000);
}

TEST_CASE("adversary: a size that is called as the trips of another one") {
  for (const char* name : {"b", "n_below_64", "below_64_of_n", "of_n", "n_4", "uniform0_n"})
    attack({{std::string("a mask left out beside ") + name,
             "is what the specification says",
             named(name, false),
             {{1, 64}, {17, 64}}},
            {std::string("all masks beside ") + name, "", named(name, true), {{1, 64}, {70, 3}}}});
}

TEST_CASE("adversary: two grid axes in groups of one size") {
  attack({{"row by the other axis' place in its group",
           "is what the specification says",
           members(false),
           {{8, 8}, {16, 8}}},
          {"row by its own place", "", members(true), {{8, 8}, {16, 8}}}});
}

TEST_CASE("adversary: a ticket that is called as a symbol of the claims") {
  for (const char* name : {"arrived", "in0_63_", "t", "c", "in"})
    attack({{std::string("a number drawn as ") + name,
             "is what the specification says",
             drawn(name),
             {{2, 5}, {1, 64}}}});
}

TEST_CASE("adversary: a size that is called as a number of the program") {
  const auto program = [] {
    Program k("named", target(), 64);
    const Sym n = k.size("n", {.most = 4096}), w = k.size("wg_x", {.least = 0, .most = 63});
    static_cast<void>(w);
    k.workgroups(0, n, 64);
  };
  CHECK_THROWS_WITH(program(), Catch::Matchers::Contains("the name wg_x is another number's"));
}

} // namespace names_test
