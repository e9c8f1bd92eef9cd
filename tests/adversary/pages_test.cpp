// Pages that all waves load together, a trip ahead: who wrote what of the tile, by which page's number, when, and who may read it.
#include "attack.h"

#include <inlay/algebra/parse.h>

#include <catch2/catch.hpp>

namespace pages_test {

using namespace adversary;

namespace {

// y(s, d) = sum of x(s, i, d) below the sequence's length. Both waves load rows of the tile by the numbers of their pages, and put them
// into LDS; each of them sums up columns over all rows.
struct Shared {
  int page = 4, rows = 8, distance = 1;
};
std::function<Program()> shared(Shared how) {
  return [how] {
    constexpr int threads = 128, wide = 128;
    Program k("shared", target(), threads);
    const Sym S = k.size("seqs", {.most = 1 << 12}), P = k.size("pages", {.most = 1 << 20}), N(64);
    const Tensor y = k.output("y", Element::f32, {S, wide}),
                 x = k.input("x", Element::f32, {P, how.page, wide}),
                 table = k.input("table", Element::i32, {S, Sym(64 / how.page)}),
                 lens = k.input("lens", Element::i32, {S}), at = k.paged("rows", x, table);
    k.computes(y, [&](const auto& c) {
      const Sym len = k.value(lens, c[0]);
      return inside(0, len, k.sum(N, [&](Sym i) { return inside(i, len, k(at, {c[0], i, c[1]}), 0); }), 0);
    });
    const Sym s = k.workgroups(0, S, 1), len = k.uniform(lens, s);
    const Layout loaded = rows_tv(how.rows, wide, 4, threads),
                 down = parse_layout("(128," + std::to_string(how.rows) + "):(1@1,1@0)"),
                 by_columns = codegen::without_axis(down, 0);
    const Tensor lds = k.lds("lds", Element::f32, {how.rows, wide});
    const View to = k.tile(y, {1, wide}, {s, 0});
    k.if_less(
        Sym(0), len,
        [&] {
          const Fragment sum = k.zeros(Element::f32, by_columns, {1, wide});
          k.loop(min(N, len), how.rows, {.distance = how.distance, .ring = 1}, [&](Sym t) {
            const Fragment rows = k.load(k.tile(at, {1, how.rows, wide}, {s, t, 0}).keep({1, 2}), loaded, 4);
            k.store(k.map({rows},
                          [&](const auto& v) { return inside(how.rows * t + k.position(0), len, v[0], 0); }),
                    k.whole(lds), 4);
            k.update(sum, {k.fold(Monoid::sum, k.read(lds, down, 1), 0)},
                     [](const auto& v) { return v[0] + v[1]; });
          });
          k.store(sum, to, 1);
        },
        [&] {
          k.store(k.zeros(Element::f32, by_columns, {1, wide}), to, 1);
        });
    return k;
  };
}

// y(s, d) = sum of x(s, i, d) over 128 positions, 64 in each of two loops.
std::function<Program()> halves(int page) {
  return [page] {
    constexpr int threads = 128, wide = 128, rows = 8;
    Program k("halves", target(), threads);
    const Sym S = k.size("seqs", {.most = 1 << 12}), P = k.size("pages", {.most = 1 << 20});
    const Tensor y = k.output("y", Element::f32, {S, wide}), x = k.input("x", Element::f32, {P, page, wide}),
                 table = k.input("table", Element::i32, {S, Sym(128 / page)}), at = k.paged("rows", x, table),
                 lds = k.lds("lds", Element::f32, {rows, wide});
    k.computes(y, [&](const auto& c) { return k.sum(128, [&](Sym i) { return k(at, {c[0], i, c[1]}); }); });
    const Sym s = k.workgroups(0, S, 1);
    const Layout down = parse_layout("(128,8):(1@1,1@0)"), by_columns = codegen::without_axis(down, 0);
    const Fragment sum = k.zeros(Element::f32, by_columns, {1, wide});
    for (const int half : {0, 1})
      k.loop(64, rows, {.distance = 1, .ring = 1}, [&](Sym t) {
        k.store(k.load(k.tile(at, {1, rows, wide}, {s, t + Sym(8 * half), 0}).keep({1, 2}),
                       rows_tv(rows, wide, 4, threads), 4),
                k.whole(lds), 4);
        k.update(sum, {k.fold(Monoid::sum, k.read(lds, down, 1), 0)},
                 [](const auto& v) { return v[0] + v[1]; });
      });
    k.store(sum, k.tile(y, {1, wide}, {s, 0}), 1);
    return k;
  };
}

void each(Code& code, const std::function<void(Inst&)>& f) {
  for (CodeRegion& r : code.regions)
    for (auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (Inst& i : *list) f(i);
}
bool of(const Code& code, const Inst& i, InstKind kind, const std::string& tensor) {
  return i.kind == kind && i.access.tensor >= 0 && code.program->tensor(i.access.tensor).name == tensor;
}
// Changes every access of that kind to a tensor.
std::function<void(Code&)> all_of(InstKind kind, const std::string& tensor,
                                  const std::function<void(Inst&)>& f) {
  return [=](Code& code) {
    bool any = false;
    each(code, [&](Inst& i) {
      if (of(code, i, kind, tensor)) f(i), any = true;
    });
    if (!any) throw std::logic_error("there is no such access");
  };
}
// Leaves out instruction `n` of a kind in a loop's body.
std::function<void(Code&)> loop_without(InstKind kind, int n) {
  return [=](Code& code) {
    int left = n;
    for (CodeRegion& r : code.regions)
      if (r.is_loop)
        for (std::size_t at = 0; at < r.body.size(); ++at)
          if (r.body[at].kind == kind && left-- == 0) {
            r.body.erase(r.body.begin() + static_cast<std::ptrdiff_t>(at));
            return;
          }
    throw std::logic_error("there are fewer");
  };
}

} // namespace

TEST_CASE("adversary: pages that all waves load together") {
  const std::vector<Sizes> sizes = {{3, 5}, {4, 70}};
  std::vector<Attack> all;
  for (const Shared& how : {Shared{}, Shared{.page = 8}, Shared{.page = 1, .distance = 2}, Shared{.page = 16},
                            Shared{.page = 32, .distance = 2}, Shared{.page = 64, .distance = 0}}) {
    const std::string pages = "pages of " + std::to_string(how.page);
    all.push_back({pages, "", shared(how), sizes});
  }
  for (const int page : {4, 32}) {
    const auto make = shared({.page = page});
    const std::string pages = ", pages of " + std::to_string(page);
    const auto add = [&](const std::string& name, const std::string& because,
                         std::function<void(Code&)> change, const std::string& unseen = {}) {
      all.push_back({name + pages, because, make, sizes, std::move(change), unseen});
    };
    add("the next page", ": ",
        all_of(InstKind::load, "table", [](Inst& i) { i.access.origin[1] += Sym(1); }));
    add("the first sequence's pages", ": ",
        all_of(InstKind::load, "table", [](Inst& i) { i.access.origin[0] = Sym(0); }));
    add("the next slot", ": ", all_of(InstKind::load, "x", [](Inst& i) {
          for (auto& e : i.access.elements) e[1] += 1;
        }));
    add("numbers of the trip before", ": ", [](Code& code) { // but for the first trip, which has none
      for (CodeRegion& r : code.regions)
        for (auto* list : {&r.body, &r.epilogue})
          for (Inst& i : *list)
            if (r.is_loop && of(code, i, InstKind::load, "x")) --i.uses[0].ahead;
    });
    add("rows of the trip before", ": ", [](Code& code) {
      for (CodeRegion& r : code.regions)
        for (Inst& i : r.body)
          if (r.is_loop && of(code, i, InstKind::load, "x"))
            for (Sym& o : i.access.origin) {
              const std::pair<AtomId, Sym> before[] = {{*r.trip.as_atom(), r.trip - Sym(1)}};
              o = substitute(o, before);
            }
          else if (r.is_loop && of(code, i, InstKind::load, "table"))
            for (Sym& o : i.access.origin) {
              const std::pair<AtomId, Sym> before[] = {{*r.trip.as_atom(), r.trip - Sym(1)}};
              o = substitute(o, before);
            }
    });
    add("one wave's rows are missing", "what is read from lds was written",
        all_of(InstKind::lds_write, "lds", [](Inst& i) {
          i.waves = {0, 1};
        }));
    add("half of the rows twice", ": ", all_of(InstKind::lds_read, "lds", [](Inst& i) {
          for (auto& e : i.access.elements) e[0] &= 3;
        }));
  }
  // The same positions, said as slots that the page has not: what lies there is another page's, or nobody's.
  for (const int page : {4, 16, 32}) {
    const std::string pages = ", pages of " + std::to_string(page);
    all.push_back({"two halves" + pages, "", halves(page), sizes});
    all.push_back({"the page before, behind its end" + pages, ": ", halves(page), sizes, [=](Code& code) {
                     int loops = 0; // in the second one: in the first there is no page before
                     for (CodeRegion& r : code.regions) {
                       if (!r.is_loop || ++loops < 2) continue;
                       for (auto* list : {&r.prologue, &r.body, &r.epilogue})
                         for (Inst& i : *list) {
                           if (of(code, i, InstKind::load, "table")) i.access.origin[1] -= Sym(1);
                           if (of(code, i, InstKind::load, "x")) i.access.origin[1] += Sym(page);
                         }
                     }
                   }});
  }
  for (const Shared& how : {Shared{.page = 16}, Shared{.page = 32}}) {
    const std::string pages = ", pages of " + std::to_string(how.page);
    all.push_back({"a tile that begins with its page" + pages, ": ", shared(how), sizes,
                   all_of(InstKind::load, "x", [](Inst& i) { i.access.origin[1] = Sym(0); })});
    all.push_back({"a tile that begins behind its part of the page" + pages, ": ", shared(how), sizes,
                   all_of(InstKind::load, "x", [](Inst& i) { i.access.origin[1] += Sym(8); })});
    all.push_back({"a page a trip" + pages, ": ", shared(how), sizes, [](Code& code) {
                     for (CodeRegion& r : code.regions)
                       for (Inst& i : r.body)
                         if (r.is_loop && of(code, i, InstKind::load, "table"))
                           i.access.origin[1] = r.trip + Sym(2);
                   }});
  }
  attack(all);
}

TEST_CASE("adversary: pages that all waves load together, without a barrier or a wait") {
  const std::vector<Sizes> sizes = {{3, 5}};
  for (const int page : {4, 32}) {
    const auto make = shared({.page = page});
    const Program p = make();
    const Graph graph = expand(p);
    const Code code = apply(graph, default_schedule(graph));
    for (const InstKind kind : {InstKind::barrier, InstKind::wait}) {
      int n = 0;
      for (const CodeRegion& r : code.regions)
        if (r.is_loop)
          n += static_cast<int>(
              std::count_if(r.body.begin(), r.body.end(), [&](const Inst& i) { return i.kind == kind; }));
      REQUIRE(n > 0);
      for (int each = 0; each < n; ++each) {
        INFO("pages of " << page << ", without " << to_string(kind) << " " << each);
        Code changed = code;
        loop_without(kind, each)(changed);
        // Whatever the claims let pass is right in every order that the tokens try.
        if (mutate::refuted(changed).empty()) CHECK(mutate::wrong(changed, sizes).empty());
        if (kind == InstKind::barrier) CHECK(mutate::refuted(changed) != "");
      }
    }
  }
}

} // namespace pages_test
