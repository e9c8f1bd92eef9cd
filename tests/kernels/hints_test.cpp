// Refusals say what to write instead; and what they say is proved.
#include "specified.h"

namespace hints_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace specified;
using Catch::Matchers::Contains;

namespace {

using Values = std::vector<Expr>;

/// C = (A g) B' with A scaled on its way to LDS, where past the end of K is 0 again, or not.
Program scaled(bool filled) {
  const Target& target = Target::named("gfx942");
  const Element e = Element::bf16, f = Element::f32;
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, e, e, f, 16), 2, 2, 64, 64, 64, 8);
  Program k("scaled", target, mma.threads());
  const Sym M = k.size("m", {.most = 1 << 13}), N = k.size("n", {.most = 1 << 13, .multiple = 4}),
            K = k.size("k", {.most = 1 << 13, .multiple = 8});
  const Tensor C = k.output("c", f, {M, N}), A = k.input("a", e, {M, K}), B = k.input("b", e, {N, K}),
               G = k.input("g", f, {M, 1});
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); }) * k(G, {c[0], 0});
  });
  const Sym bn = k.workgroups(0, N, 64), bm = k.workgroups(1, M, 64);
  const Layout rows = rows_tv(64, 64, 8, 256);
  const Tensor a = k.lds("lds_a", e, {64, 64}, Swizzle(3, 3, 3)),
               b = k.lds("lds_b", e, {64, 64}, Swizzle(3, 3, 3));
  const Fragment acc = k.zeros(f, mma.c(), {64, 64});
  k.loop(K, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
    const Fragment x = k.load(k.tile(A, {64, 64}, {bm, t}), rows, 8),
                   g = k.load(k.tile(G, {64, 1}, {bm, 0}), without_axis(rows, 1), 1);
    const Fragment s = k.map(
        {x, g}, [](const Values& v) { return v[0] * v[1]; }, e);
    k.store(filled ? k.fill(s, 1, 64 * t, K, 0) : s, k.whole(a), 8);
    k.copy(k.tile(B, {64, 64}, {bn, t}), b, rows, 8);
    k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma);
  });
  k.store(acc, k.tile(C, {64, 64}, {bm, bn}), 4);
  return k;
}

/// W times the rows of pages that a table names: page after page by hand, or as one axis. `one_w`: the same of each page.
Program pages(bool paged, bool one_w = false) {
  const Target& target = Target::named("gfx942");
  const Element e = Element::bf16, f = Element::f32;
  const int page = 32, D = 64;
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, e, e, f, 16), 1, 1, 16, D, page, 8);
  Program k("pages", target, 64);
  const Sym S = k.size("seqs", {.most = 1 << 12}), P = k.size("pages", {.most = 1 << 13}),
            N = k.size("keys", {.most = 1 << 15, .multiple = page}), slots = floor_div(N, Sym(page));
  const Tensor O = k.output("o", f, {S, 16, D}), W = k.input("w", e, {S, 16, one_w ? Sym(page) : N}),
               V = k.input("v", e, {P, page, D});
  const Tensor T = k.input("table", Element::i32, paged ? std::vector{S, slots} : std::vector{S * slots});
  const Tensor VP = paged ? k.paged("vp", V, T) : V;
  k.computes(O, [&](const auto& c) {
    return k.sum(N, [&](Sym i) {
      const Sym slot = floor_div(i, Sym(page));
      return k(W, {c[0], c[1], one_w ? floor_mod(i, Sym(page)) : i}) *
             (paged ? k(VP, {c[0], i, c[2]})
                    : k(V, {k.at(T, c[0] * slots + slot), floor_mod(i, Sym(page)), c[2]}));
    });
  });
  const Sym s = k.workgroups(0, S, 1);
  const Layout rows = columns_tv(page, D, 8, 64);
  const Tensor values = k.lds("lds_v", e, {D, page}, Swizzle(2, 3, 3));
  const Fragment acc = k.zeros(f, mma.c(), {16, D});
  k.loop(N, page, {.distance = 0, .ring = 1}, [&](Sym t) {
    const Fragment w = k.load(k.tile(W, {1, 16, page}, {s, 0, one_w ? Sym(0) : t}).keep({1, 2}), mma.a(), 8);
    if (paged) {
      k.store(k.load(k.tile(VP, {1, page, D}, {s, t, 0}).keep({1, 2}), rows, 8), k.whole(values).keep({1, 0}),
              1);
    } else {
      const Fragment ids = k.load(k.tile(T, {1}, {s * slots + t}), without_axis(without_axis(rows, 1), 0), 1);
      k.store(k.load(k.tile(V, {1, page, D}, {0, 0, 0}).through(0, ids).keep({1, 2}), rows, 8),
              k.whole(values).keep({1, 0}), 1);
    }
    k.mma(acc, w, k.read(values, mma.b(), 8), mma);
  });
  k.store(acc, k.tile(O, {1, 16, D}, {s, 0, 0}).keep({1, 2}), 4);
  return k;
}

} // namespace

TEST_CASE("hints: an operand that a map has changed is filled behind it", "[error]") {
  const std::string said = refuted(code_of(scaled(false)));
  CHECK_THAT(said, Contains("beyond the end of k both factors are 0"));
  CHECK_THAT(
      said,
      Contains("where the operand holds what follows in memory\n  hint   k.fill(x, axis, tile * t, extent, "
               "0) after the last map that makes what is multiplied"));
  CHECK(refuted(code_of(scaled(true))) == "");
}

TEST_CASE("hints: pages that are summed one by one are one axis of a paged tensor", "[error]") {
  for (const bool one_w : {false, true}) {
    const std::string said = refuted(code_of(pages(false, one_w)));
    CHECK_THAT(said, Contains(one_w ? "an accumulator sums one element of the result"
                                    : "A and B are multiplied at the same k"));
    CHECK_THAT(
        said,
        Contains("\n  hint   what one entry of table names is a sum of its own; in k.paged(\"v_pages\", v, "
                 "table) the rows of all entries are one axis, tile after tile"));
  }
  CHECK(refuted(code_of(pages(true))) == "");
}

} // namespace hints_test
