// Paged tensors, numbers of a table in specifications, and loops that begin where a workgroup says: right on the emulator against
// loops written out here, proved, the same for tokens, and refused where one place is changed.
#include "specified.h"

#include "../../kernels/attention/paged.h"
#include "../../kernels/attention/prefill.h"
#include "../mutate/tokens.h"

#include <inlay/kernels/build.h>

#include <random>

namespace paged_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace specified;
using Catch::Matchers::Contains;

namespace {

using Exprs = std::vector<Expr>;

// ------------------------------------------------------------------------------------------------ paged decode

struct Decode {
  std::string arch = "gfx942";
  int page = 16, columns = 32, group = 8, dim = 64;
  Element type = Element::bf16;
  int distance = 1, ring = 1;
  // what is wrong
  int other_page = 0, other_length = 0;
  bool fills_values = true, masks = true, reads_length = true;
};

// o(s,h,g,:) = softmax over the first lens(s) keys of sequence s, whose pages the table names.
Program decode(const Decode& d) {
  const Target& target = Target::named(d.arch);
  const Element e = d.type;
  const int D = d.dim, rows = 16, waves = 1;
  const double scale = 0.125, ninf = -INFINITY;
  const MmaTiling qk = MmaTiling::of(Atom::mma_best(target, e, e, Element::f32, 16), waves, 1, rows,
                                     d.columns, D, 8)
                           .with_columns(8),
                  pv = MmaTiling::of(Atom::mma_best(target, e, e, Element::f32, 16), waves, 1, rows, D,
                                     d.columns, 8);
  Program k("decode", target, 64 * waves);
  const Sym S = k.size("seqs", {.most = 1 << 12}), P = k.size("pages", {.most = 1 << 24}),
            HK = k.size("kv_heads", {.most = 16}),
            N = k.size("most_keys", {.most = 1 << 20, .multiple = d.page});
  const Tensor O = k.output("o", Element::f32, {S, HK, d.group, D}), Q = k.input("q", e, {S, HK, d.group, D}),
               KC = k.input("k", e, {P, d.page, HK, D}), VC = k.input("v", e, {P, d.page, HK, D}),
               T = k.input("table", Element::i32, {S, floor_div(N, Sym(d.page))}),
               L = k.input("lens", Element::i32, {S}), KP = k.paged("keys", KC, T),
               VP = k.paged("values", VC, T);
  k.computes(O, [&](const auto& c) {
    const Sym len = k.value(L, c[0]);
    const auto score = [&](Sym i) {
      const Expr x = k.sum(D, [&](Sym j) { return k(Q, {c[0], c[1], c[2], j}) * k(KP, {c[0], i, c[1], j}); });
      return inside(i, len, x * scale, ninf);
    };
    const Expr most = k.fold(Monoid::max, N, score);
    const auto p = [&](Sym i) { return exp(score(i) - most); };
    return inside(0, len,
                  k.sum(N,
                        [&](Sym i) {
                          return p(i) * inside(i, len, k(VP, {c[0], i, c[1], c[3]}), 0);
                        }) /
                      k.sum(N, p),
                  0);
  });
  const Sym s = k.workgroups(0, S, 1), h = k.workgroups(1, HK, 1);
  const Sym len = d.reads_length ? k.uniform(L, s) : k.uniform(L, 0);
  const View to = k.tile(O, {1, 1, rows, D}, {s, h, 0, 0}).keep({2, 3});
  const Layout of_row = without_axis(qk.c(), 1);
  const Tensor values = k.lds("lds_v", e, {D, d.columns}, Swizzle(2, 3, 3));
  k.if_less(
      Sym(0), len,
      [&] {
        const Fragment q = k.load(k.tile(Q, {1, 1, rows, D}, {s, h, 0, 0}).keep({2, 3}), qk.a(), 8);
        const Fragment m = k.full(ninf, of_row, {rows, 1}), l = k.zeros(Element::f32, of_row, {rows, 1}),
                       o = k.zeros(Element::f32, pv.c(), {rows, D});
        k.loop(min(N, len), d.columns, {.distance = d.distance, .ring = d.ring}, [&](Sym t) {
          const auto tile = [&](const Tensor& of, int other) {
            return k.tile(of, {1, d.columns, 1, D}, {s, t + Sym(other), h, 0}).keep({1, 3});
          };
          Fragment of_v = k.load(tile(VP, d.other_page), columns_tv(d.columns, D, 8, 64 * waves), 8);
          if (d.fills_values)
            of_v = k.map(
                {of_v},
                [&](const Exprs& x) {
                  const Sym i = d.columns * t + k.position(0);
                  return inside(i, N, inside(i, len, x[0], 0), 0);
                },
                e);
          k.store(of_v, k.whole(values).keep({1, 0}), 1);
          const Fragment scores = k.zeros(Element::f32, qk.c(), {rows, d.columns});
          k.mma(scores, q, k.load(tile(KP, 0), qk.b(), 8), qk);
          const Fragment x = k.map({scores}, [&](const Exprs& a) {
            const Sym i = d.columns * t + k.position(1);
            const Expr known = a[0] * scale;
            return inside(i, N, d.masks ? inside(i, len + Sym(d.other_length), known, ninf) : known, ninf);
          });
          const Fragment most =
              k.map({m, k.fold(Monoid::max, x, 1)}, [](const Exprs& a) { return max(a[0], a[1]); });
          const auto ex = [](const Exprs& a) { return exp(a[0] - a[1]); };
          const Fragment p = k.map({x, most}, ex), again = k.map({m, most}, ex);
          k.update(l, {again, k.fold(Monoid::sum, p, 1)}, [](const Exprs& a) { return a[0] * a[1] + a[2]; });
          k.update(o, {again}, [](const Exprs& a) { return a[0] * a[1]; });
          k.mma(o, k.relayout(p, pv.a(), e, codegen::Nan::any), k.read(values, pv.b(), 8), pv);
          k.update(m, {most}, [](const Exprs& a) { return a[1]; });
        });
        k.store(k.map({o, l}, [](const Exprs& v) { return v[0] / v[1]; }), to, 4);
      },
      [&] {
        k.store(k.zeros(Element::f32, pv.c(), {rows, D}), to, 4);
      });
  return k;
}

// y(s,d) = sum of the first lens(s) rows of sequence s, whose pages the table names; of one axis: of the only sequence.
struct Sums {
  int page = 4, rows = 8, distance = 1, ring = 1;
  bool one_axis = false;
  bool by_hand = false; // the rows are loaded through ids that the program loads itself
  int other_ids = 0;
};
Program sums(const Sums& d) {
  constexpr int wide = 64;
  Program k("sums", Target::named("gfx942"), 64);
  const Sym S = k.size("seqs", {.most = 1 << 12}), P = k.size("pages", {.most = 1 << 24}),
            N = k.size("keys", {.most = 1 << 20, .multiple = d.page});
  const Element f = Element::f32;
  const Sym pages = floor_div(N, Sym(d.page));
  const Tensor Y = k.output("y", f, {S, wide}), X = k.input("x", f, {P, d.page, wide}),
               T = k.input("table", Element::i32, d.one_axis ? std::vector{pages} : std::vector{S, pages}),
               L = k.input("lens", Element::i32, {S}), XP = k.paged("rows", X, T);
  k.computes(Y, [&](const auto& c) {
    const Sym len = k.value(L, c[0]);
    return inside(0, len,
                  k.sum(N,
                        [&](Sym i) {
                          return inside(i, len, d.one_axis ? k(XP, {i, c[1]}) : k(XP, {c[0], i, c[1]}), 0);
                        }),
                  0);
  });
  const Sym s = k.workgroups(0, S, 1), len = k.uniform(L, s);
  const Layout tv = rows_tv(d.rows, wide, 4, 64), row = without_axis(tv, 0);
  k.if_less(
      Sym(0), len,
      [&] {
        const Fragment sum = k.zeros(f, row, {1, wide});
        k.loop(min(N, len), d.rows, {.distance = d.distance, .ring = d.ring}, [&](Sym t) {
          Fragment x;
          if (d.by_hand) { // a page is a tile
            const Fragment ids =
                k.load(k.tile(T, {1, 1}, {s, t + Sym(d.other_ids)}), without_axis(without_axis(tv, 1), 0), 1);
            x = k.load(k.tile(X, {1, d.page, wide}, {0, 0, 0}).through(0, ids).keep({1, 2}), tv, 4);
          } else {
            x = k.load(d.one_axis ? k.tile(XP, {d.rows, wide}, {t, 0})
                                  : k.tile(XP, {1, d.rows, wide}, {s, t, 0}).keep({1, 2}),
                       tv, 4);
          }
          x = k.map({x}, [&](const Exprs& v) {
            const Sym i = d.rows * t + k.position(0);
            return inside(i, N, inside(i, len, v[0], 0), 0);
          });
          k.update(sum, {k.fold(Monoid::sum, x, 0)}, [](const Exprs& v) { return v[0] + v[1]; });
        });
        k.store(sum, k.tile(Y, {1, wide}, {s, 0}), 4);
      },
      [&] {
        k.store(k.zeros(f, row, {1, wide}), k.tile(Y, {1, wide}, {s, 0}), 4);
      });
  return k;
}

// ------------------------------------------------------------------------------------------------ windows

// o(h,q,:) = softmax over the `width` keys up to q. The diagonal tile comes first, so that every row has seen something; what lies
// before the window is skipped.
struct Window {
  int width = 128, distance = 1;
  // what is wrong
  int later = 0, narrower = 0, sooner_over = 0;
  bool diagonal = true, guarded = true;
};
Program window(const Window& w) {
  const Target& target = Target::named("gfx942");
  const Element e = Element::bf16;
  const int D = 64, rows = 64, waves = 4, threads = 64 * waves;
  const double scale = 0.125, ninf = -INFINITY;
  const auto tiling = [&](int n, int depth) {
    return MmaTiling::of(Atom::mma_best(target, e, e, Element::f32, 16), waves, 1, rows, n, depth, 8);
  };
  const MmaTiling qk = tiling(rows, D).with_columns(8), pv = tiling(D, rows);
  Program k("window", target, threads);
  const Sym H = k.size("heads", {.most = 1 << 16}), S = k.size("tokens", {.most = 1 << 16});
  const Tensor O = k.output("o", Element::f32, {H, S, D}), Q = k.input("q", e, {H, S, D}),
               K = k.input("k", e, {H, S, D}), V = k.input("v", e, {H, S, D});
  const auto seen = [&](Sym i, Sym row, int width, Expr x) {
    return inside(i, row + 1, inside(row - Sym(width), i, x, ninf), ninf);
  };
  k.computes(O, [&](const auto& c) {
    const auto score = [&](Sym i) {
      return seen(i, c[1], w.width, k.sum(D, [&](Sym j) {
        return k(Q, {c[0], c[1], j}) * k(K, {c[0], i, j});
      }) * scale);
    };
    const Expr most = k.fold(Monoid::max, S, score);
    const auto p = [&](Sym i) { return exp(score(i) - most); };
    return k.sum(S, [&](Sym i) { return p(i) * k(V, {c[0], i, c[2]}); }) / k.sum(S, p);
  });
  const Sym bq = k.workgroups(0, S, rows), h = k.workgroups(1, H, 1), first_row = Sym(rows) * bq;
  const Layout of_row = without_axis(qk.c(), 1);
  const Tensor values = k.lds("lds_v", e, {D, rows}, Swizzle(3, 3, 3));
  const Fragment q = k.load(k.tile(Q, {1, rows, D}, {h, bq, 0}).keep({1, 2}), qk.a(), 8);
  const Fragment m = k.full(ninf, of_row, {rows, 1}), l = k.zeros(Element::f32, of_row, {rows, 1}),
                 o = k.zeros(Element::f32, pv.c(), {rows, D});
  const auto see = [&](Sym t) {
    const auto tile = [&](const Tensor& of) { return k.tile(of, {1, rows, D}, {h, t, 0}).keep({1, 2}); };
    k.store(k.load(tile(V), columns_tv(rows, D, 8, threads), 8), k.whole(values).keep({1, 0}), 1);
    const Fragment scores = k.zeros(Element::f32, qk.c(), {rows, rows});
    k.mma(scores, q, k.load(tile(K), qk.b(), 8), qk);
    const Sym i = rows * t + k.position(1);
    const Fragment x = k.map({scores}, [&](const Exprs& a) {
      return inside(i, S, seen(i, first_row + k.position(0), w.width - w.narrower, a[0] * scale), ninf);
    });
    const Fragment most =
        k.map({m, k.fold(Monoid::max, x, 1)}, [](const Exprs& a) { return max(a[0], a[1]); });
    const auto ex = [](const Exprs& a) { return exp(a[0] - a[1]); };
    const Fragment p = k.map({x, most}, ex), again = k.map({m, most}, ex);
    k.update(l, {again, k.fold(Monoid::sum, p, 1)}, [](const Exprs& a) { return a[0] * a[1] + a[2]; });
    k.update(o, {again}, [](const Exprs& a) { return a[0] * a[1]; });
    k.mma(o, k.relayout(p, pv.a(), e, codegen::Nan::any), k.read(values, pv.b(), 8), pv);
    k.update(m, {most}, [](const Exprs& a) { return a[1]; });
  };
  if (w.diagonal) see(bq);
  const auto before = [&] {
    k.loop(max(Sym(0), first_row - Sym(w.width - w.later)), first_row - Sym(w.sooner_over), rows,
           {.distance = w.distance, .ring = std::max(1, w.distance)}, see);
  };
  w.guarded ? k.if_less(Sym(0), bq, before) : before();
  k.store(k.map({o, l}, [](const Exprs& a) { return a[0] / a[1]; }),
          k.tile(O, {1, rows, D}, {h, bq, 0}).keep({1, 2}), 4);
  return k;
}

// A launch with all checks, silent under a hostile schedule too, against loops.
void run_window(const Window& w, std::int64_t heads, std::int64_t tokens) {
  const std::int64_t D = 64;
  const auto n = static_cast<std::size_t>(heads * tokens * D);
  std::mt19937 random(7);
  std::vector<std::vector<double>> in(3);
  std::vector<kernels::Bytes> buffers(4);
  buffers[0].resize(4 * n, std::byte{0xff});
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t code = encode(Element::bf16, static_cast<double>(random() % 400) / 100 - 2);
      in[t].push_back(decode(Element::bf16, code));
      buffers[t + 1].push_back(static_cast<std::byte>(code));
      buffers[t + 1].push_back(static_cast<std::byte>(code >> 8));
    }
  const kernels::Artifact artifact = kernels::build(window(w));
  const auto device = kernels::open_device("emulator", artifact.arch);
  runtime::EmulatorOptions& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  options.checks = runtime::Checks::all();
  options.stress = true;
  const kernels::Bytes after = kernels::run(*device, artifact, buffers, {heads, tokens})[0];
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t q = 0; q < tokens; ++q) {
      std::vector<double> p, value(static_cast<std::size_t>(D), 0);
      double sum = 0;
      const std::int64_t first = std::max<std::int64_t>(0, q - w.width + 1);
      const auto at = [&](std::int64_t row, std::int64_t d) {
        return static_cast<std::size_t>((h * tokens + row) * D + d);
      };
      for (std::int64_t i = first; i <= q; ++i) {
        double x = 0;
        for (std::int64_t d = 0; d < D; ++d) x += in[0][at(q, d)] * in[1][at(i, d)];
        p.push_back(x / 8);
      }
      const double most = *std::max_element(p.begin(), p.end());
      for (double& x : p) sum += x = std::exp(x - most);
      for (std::int64_t d = 0; d < D; ++d) {
        double wanted = 0;
        for (std::int64_t i = first; i <= q; ++i)
          wanted += p[static_cast<std::size_t>(i - first)] / sum * in[2][at(i, d)];
        std::uint32_t code = 0;
        for (std::size_t b = 0; b < 4; ++b)
          code |= std::to_integer<std::uint32_t>(after[4 * at(q, d) + b]) << (8 * b);
        INFO("head " << h << ", row " << q << ", column " << d);
        REQUIRE(decode(Element::f32, code) == Approx(wanted).margin(0.02));
      }
    }
}

// The claim that a change of the operations breaks.
std::string refuted_with(Program p, const std::function<bool(Program&, Op&)>& change) {
  bool any = false;
  const std::function<void(std::vector<Op>&)> walk = [&](std::vector<Op>& ops) {
    for (Op& op : ops) {
      any = change(p, op) || any;
      if (auto* l = std::get_if<LoopOp>(&op.what)) walk(l->body);
      if (auto* b = std::get_if<IfOp>(&op.what)) walk(b->then), walk(b->otherwise);
    }
  };
  walk(p.mutable_body());
  REQUIRE(any);
  return refuted(p);
}

// The claim that a change of some instructions breaks, and what tokens say of it.
std::pair<std::string, std::string> changed(const Program& p, const std::vector<std::int64_t>& sizes,
                                            const std::function<bool(const Tensor&, Inst&)>& change) {
  Code code = code_of(p);
  bool any = false;
  for (CodeRegion& r : code.regions)
    for (auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (Inst& i : *list)
        if (i.kind == InstKind::load) any = change(p.tensor(i.access.tensor), i) || any;
  REQUIRE(any);
  std::string tokens;
  for (const std::uint64_t seed : {1, 2, 3})
    if (tokens.empty()) tokens = mutate::run_tokens(code, sizes, seed);
  return {refuted(code), tokens};
}

} // namespace

TEST_CASE("paged: rows of pages are summed as far as a length says") {
  for (const Sums& d : {Sums{}, Sums{.page = 1}, Sums{.page = 8, .distance = 2, .ring = 2},
                        Sums{.one_axis = true}, Sums{.page = 8, .by_hand = true}}) {
    INFO("page " << d.page << ", distance " << d.distance << (d.one_axis ? ", one axis" : "")
                 << (d.by_hand ? ", by hand" : ""));
    for (const std::uint64_t seed : {1, 2})
      CHECK(mutate::run_tokens(code_of(sums(d)), {5, 3, 24}, seed) == "");
    check(sums(d), {6, 7, 24}, 0, true); // what is built is proved
  }
  check(sums({}), {1, 1, 8}, 5);
}

TEST_CASE("paged: another page, slot, row of the table or length is refused, and differs") {
  const Program p = sums({});
  const std::vector<std::int64_t> sizes{5, 9, 24};
  CHECK(changed(p, sizes, [](const Tensor& t, Inst&) { return t.name == "x"; }) ==
        std::pair(std::string(), std::string()));
  const auto caught = [&](const std::function<bool(const Tensor&, Inst&)>& change) {
    const auto [claim, tokens] = changed(p, sizes, change);
    CHECK(claim != "");
    CHECK(tokens != "");
  };
  caught([](const Tensor& t, Inst& i) { return t.name == "table" && (i.access.origin[1] += Sym(1), true); });
  caught([](const Tensor& t, Inst& i) { return t.name == "table" && (i.access.origin[0] = Sym(0), true); });
  caught([](const Tensor& t, Inst& i) { return t.name == "x" && (i.access.origin[1] += Sym(1), true); });
  caught(
      [reg = std::optional<Reg>()](const Tensor& t, Inst& i) mutable { // all rows by the first page's number
        if (t.name != "x") return false;
        if (!reg) reg = i.uses[0];
        i.uses[0] = *reg;
        return true;
      });
  caught([](const Tensor& t, Inst& i) { // the next slot
    if (t.name != "x") return false;
    for (auto& e : i.access.elements) e[1] += 1;
    return true;
  });
  caught([](const Tensor& t, Inst& i) { return t.name == "x" && (i.access.origin[2] += Sym(4), true); });
  // Rows of pages that a program names itself are the paged tensor's where they are, and only there.
  CHECK_THAT(refuted(sums({.page = 8, .by_hand = true, .other_ids = 1})), Contains("|"));
}

TEST_CASE("paged: what cannot be is said", "[error]") {
  const auto said = [](const std::function<void(Program&)>& f) -> std::string {
    Program k("k", Target::named("gfx942"), 64);
    try {
      f(k);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  };
  const auto both = [](Program& k, int page) {
    const Sym n = k.size("n", {.multiple = 16});
    return k.paged("kp", k.input("k", Element::f32, {n, page, 64}), k.input("t", Element::i32, {n}));
  };
  CHECK_THAT(said([](Program& k) {
               const Sym n = k.size("n");
               (void)k.paged("kp", k.input("k", Element::f32, {n, n}), k.input("t", Element::i32, {n}));
             }),
             Contains("how long a page of k is, is no number"));
  CHECK_THAT(said([](Program& k) {
               const Sym n = k.size("n");
               (void)k.paged("kp", k.input("k", Element::f32, {n, 4}), k.input("t", Element::f32, {n}));
             }),
             Contains("t is no table of pages"));
  CHECK_THAT(said([&](Program& k) {
               (void)k.load(k.tile(both(k, 16), {24, 64}, {0, 0}), rows_tv(24, 64, 4, 64), 4);
             }),
             Contains("whole pages of 16"));
  CHECK_THAT(
      said([&](Program& k) {
        const Tensor t = both(k, 16);
        k.store(k.zeros(Element::f32, rows_tv(16, 64, 4, 64), {16, 64}), k.tile(t, {16, 64}, {0, 0}), 4);
      }),
      Contains("read only"));
  CHECK_THAT(said([&](Program& k) {
               const Tensor t = both(k, 4);
               k.transfer(k.tile(t, {16, 64}, {0, 0}), k.lds("l", Element::f32, {16, 64}),
                          transfer_tv(16, 64, 1, 64), 1);
             }),
             Contains("copy, through registers"));
}

TEST_CASE("paged: decode attention is proved, for pages of any length, and nothing next to it") {
  for (const Decode& d :
       {Decode{}, Decode{.page = 1}, Decode{.page = 32, .group = 16, .distance = 2, .ring = 2},
        Decode{.arch = "gfx950", .columns = 64}}) {
    INFO("page " << d.page << ", " << d.columns << " columns");
    CHECK(refuted(decode(d)) == "");
  }
  const Program p = decode({.group = 2});
  CHECK(mutate::run_tokens(code_of(p), {3, 4, 1, 48}, 1) == "");
  CHECK_THAT(refuted(decode({.other_page = 1})), Contains("same k"));
  CHECK_THAT(refuted(decode({.other_length = 1})), Contains("o is what the specification says"));
  CHECK_THAT(refuted(decode({.fills_values = false})), Contains("|"));
  CHECK_THAT(refuted(decode({.masks = false})), Contains("o is what the specification says"));
  CHECK_THAT(refuted(decode({.reads_length = false})), Contains("no k.uniform(lens"));
}

TEST_CASE("window: a loop begins where the window does") {
  run_window({}, 2, 300);
  run_window({.width = 64, .distance = 2}, 1, 130);
  run_window({}, 1, 1);
  // A tile earlier is right too; a tile later, a narrower mask, a tile left out before the diagonal or the diagonal itself is not.
  CHECK(refuted(window({.later = -64})) == "");
  CHECK_THAT(refuted(window({.later = 64})), Contains("over the whole extent"));
  CHECK_THAT(refuted(window({.narrower = 1})), Contains("o is what the specification says"));
  CHECK_THAT(refuted(window({.sooner_over = 64})), Contains("|"));
  CHECK_THAT(refuted(window({.guarded = false})), Contains("|")); // number 0 has no trip
  CHECK_THAT(refuted(window({.diagonal = false})), Contains("of at least one element"));
}

TEST_CASE(
    "paged decode: parts of a sequence and who puts them together are proved, and nothing next to them") {
  using kernels::PagedDecode;
  const PagedDecode asked{.head_dim = 64, .group = 2, .page = 8, .tile_k = 32, .split = 64};
  const Program p = kernels::paged_decode_program(asked);
  CHECK(refuted(p) == "");
  const std::vector<std::int64_t> sizes{3, 2, 128, 5}; // sequences, heads, keys, pages
  for (const std::uint64_t seed : {1, 2}) CHECK(mutate::run_tokens(code_of(p), sizes, seed) == "");
  const auto caught = [&](const std::string& tensor, std::size_t axis) { // another element along it
    INFO(tensor << ", axis " << axis);
    Code code = code_of(p);
    for (CodeRegion& r : code.regions)
      for (auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (Inst& i : *list)
          if (i.kind == InstKind::load && p.tensor(i.access.tensor).name == tensor)
            i.access.origin[axis] += Sym(1);
    CHECK(refuted(code) != "");
    // Where a sequence has one part, its greatest score is nobody's.
    if (tensor != "most") CHECK(mutate::run_tokens(code, sizes, 1) != "");
  };
  caught("q", 1);                                                 // another head
  caught("table", 0), caught("table", 1);                         // sequence, page
  caught("k", 1), caught("v", 2);                                 // slot, head
  for (const char* of : {"parts", "most", "sums"}) caught(of, 2); // another part
  caught("parts", 0), caught("sums", 1);
  // The first trips' numbers of pages are asked for before the branch, beside the sequence's length, and by no path of it.
  const auto loads = [&](const std::vector<Inst>& list, const std::string& tensor) {
    return std::count_if(list.begin(), list.end(), [&](const Inst& i) {
      return i.kind == InstKind::load && p.tensor(i.access.tensor).name == tensor;
    });
  };
  const Code as_made = code_of(p);
  CHECK(as_made.regions.front().guards.empty());
  CHECK(loads(as_made.regions.front().body, "table") == 4); // of K and V, of two trips
  for (const CodeRegion& r : as_made.regions) CHECK(loads(r.prologue, "table") == 0);
  // 4 rows are put together at a time, of which 2 are heads; all columns are in the tile, and not compared.
  for (const std::size_t axis : {2, 3}) {
    Code code = code_of(p);
    bool changed = false;
    for (CodeRegion& r : code.regions)
      for (Inst& i : r.body)
        if (i.kind == InstKind::store && p.tensor(i.access.tensor).name == "o")
          changed = changed || i.access.masked[axis], i.access.masked[axis] = false;
    CHECK(changed == (axis == 2));
    CHECK((refuted(code) != "") == (axis == 2));
  }
  // Without the wait for the others, and where another than the last one goes on.
  const auto without = [&](InstKind kind) {
    Code code = code_of(p);
    for (CodeRegion& r : code.regions) std::erase_if(r.body, [&](const Inst& i) { return i.kind == kind; });
    return refuted(code);
  };
  CHECK(without(InstKind::release) != "");
  CHECK(without(InstKind::acquire) != "");
  {
    const int by = -1;
    Code code = code_of(p);
    for (CodeRegion& r : code.regions)
      for (Guard& g : r.guards)
        if (g.condition.b == p.tickets()[0].symbol) g.condition.a += Sym(by);
    CHECK(refuted(code) != "");
  }
}

TEST_CASE("paged decode: bytes of fp8 are converted once, and become bf16 without rounding") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const std::string code =
        kernels::find_kernel("paged_decode")->build({{"arch", arch}, {"kv-dtype", "fp8"}}, {}).assembly;
    const auto count = [&](const std::string& mnemonic) {
      int n = 0;
      for (std::size_t at = 0; (at = code.find(mnemonic, at)) != code.npos; ++at) ++n;
      return n;
    };
    INFO(arch);
    // 32 positions of 128 numbers of K and of V, 64 work-items, two at a time: in the loop, and once more for its last trip.
    CHECK(count("v_cvt_pk_f32_fp8") == 2 * 32 * 2 * 128 / 64 / 2);
    // On gfx942 a number that is rounded is compared with itself, for its NaN: 16 rows of a part and 8 of the result. Weights are none.
    CHECK(count("v_cmp_o_f32") == (arch == std::string("gfx942") ? (16 + 8) * 128 / 64 : 0));
  }
}

TEST_CASE("paged decode: a window is proved, and one position, tile or part more or less is refused") {
  // 70 positions lie in four tiles: two parts, or one, of which nothing is stored but the result.
  const int split = GENERATE(64, 128);
  INFO("split " << split);
  const kernels::PagedDecode asked{
      .head_dim = 64, .group = 2, .page = 8, .tile_k = 32, .split = split, .window = 70};
  CHECK(asked.parts() == 128 / split);
  CHECK(asked.part() == split);
  const Program p = kernels::paged_decode_program(asked);
  CHECK(refuted(p) == "");
  const std::vector<std::int64_t> sizes{3, 2, 192, 7}; // sequences, heads, keys, pages
  for (const std::uint64_t seed : {1, 2}) CHECK(mutate::run_tokens(code_of(p), sizes, seed) == "");
  // Where the window begins and where it ends, for scores and for values.
  for (int number = asked.alone() ? 2 : 0; number < 4; ++number)
    for (const int by : {-1, 1}) {
      int seen = 0;
      INFO(number << ", " << by);
      CHECK(refuted_with(kernels::paged_decode_program(asked), [&](Program& q, Op& op) {
              auto* m = std::get_if<MapOp>(&op.what);
              bool here = false;
              if (!m) return false;
              m->map = q.expressions().rewrite(m->map, [&](const ExprNode& n) -> std::optional<Expr> {
                if (n.fn != Fn::number || seen++ != number) return std::nullopt;
                here = true;
                return q.number(n.sym + Sym(by));
              });
              return here;
            }) != "");
    }
  for (const int trips : {split / 32 - 1, split / 32 + 1})
    CHECK(refuted_with(kernels::paged_decode_program(asked), [&](Program&, Op& op) {
            auto* l = std::get_if<LoopOp>(&op.what);
            if (!l || l->tile != 32) return false;
            l->extent = Sym(32 * trips);
            return true;
          }) != "");
  for (const char* of : {"k", "v"}) { // of the tile after
    INFO(of);
    Code code = code_of(p);
    bool any = false;
    for (CodeRegion& r : code.regions)
      for (auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (Inst& i : *list)
          if (i.kind == InstKind::load && p.tensor(i.access.tensor).name == of)
            i.access.origin[1] += Sym(1), any = true;
    REQUIRE(any);
    CHECK(refuted(code) != "");
  }
}

TEST_CASE("paged decode: a mask, a scale or an end that is another is refused") {
  const kernels::PagedDecode asked{.head_dim = 64, .group = 2, .page = 8, .tile_k = 32, .split = 64};
  const auto with = [&](const std::function<bool(Program&, Op&)>& change) {
    return refuted_with(kernels::paged_decode_program(asked), change);
  };
  // Masks of scores, of values and of parts left out, one after the other; each constant of a map once.
  int masks = 0, constants = 0;
  const auto maps = [&](int number, bool mask) {
    int seen = 0;
    return with([&](Program& p, Op& op) {
      auto* m = std::get_if<MapOp>(&op.what);
      if (!m) return false;
      bool here = false;
      m->map = p.expressions().rewrite(m->map, [&](const ExprNode& n) -> std::optional<Expr> {
        if (n.fn != (mask ? Fn::inside : Fn::constant) || seen++ != number) return std::nullopt;
        here = true;
        return mask ? Expr{&p.expressions(), n.args[0]} : p.expressions().constant(1.5 * n.value);
      });
      return here;
    });
  };
  for (; masks < 6; ++masks)
    CHECK(
        maps(masks, true) !=
        ""); // of values and scores (each by the table and the sequence), parts that are none, and empty ones
  for (; constants < 1; ++constants) CHECK(maps(constants, false) != "");
  CHECK(with([](Program&, Op& op) { // a tile too few, and one too many
          auto* l = std::get_if<LoopOp>(&op.what);
          if (!l || l->tile != 32) return false;
          l->extent = min(Sym(32), least_of(l->extent)->second);
          return true;
        }) != "");
  CHECK(with([](Program&, Op& op) {
          auto* l = std::get_if<LoopOp>(&op.what);
          if (!l || l->tile != 32) return false;
          l->extent = min(Sym(96), least_of(l->extent)->second);
          return true;
        }) != "");
  CHECK(with([](Program&, Op& op) { // by the length of another sequence's part
          auto* l = std::get_if<LoopOp>(&op.what);
          if (!l || l->tile != 32) return false;
          l->extent = min(Sym(64), least_of(l->extent)->second - Sym(32));
          return true;
        }) != "");
  CHECK(with([](Program&, Op& op) { // where a length is one more than whole tiles, its last position
          auto* l = std::get_if<LoopOp>(&op.what);
          if (!l || l->tile != 32) return false;
          l->extent = min(Sym(64), least_of(l->extent)->second - Sym(1));
          return true;
        }) != "");
}

TEST_CASE("paged decode: the last part of a table may be a short one, and sequences may go on after it") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const auto cache : {Element::bf16, fp8(Target::named(arch))}) {
      const kernels::PagedDecode asked{
          .arch = arch, .cache = cache, .head_dim = 64, .group = 2, .page = 8, .tile_k = 32, .split = 96};
      const Program p = kernels::paged_decode_program(asked);
      INFO(arch);
      CHECK(refuted(p) == "");
      for (const std::int64_t keys : {32, 96, 128, 224}) // parts of 96, 32 left, 32 left
        CHECK(mutate::run_tokens(code_of(p), {3, 2, keys, 5}, 1) == "");
    }
}

// y(w) = sum of x over 128 w <= i < 128 w + 128, i < 128 w + lens(w) % 64 + more: of which the program adds the first 64.
Program short_sum(int more) {
  Program k("short_sum", Target::named("gfx942"), 64);
  const Sym W = k.size("parts", {.most = 1 << 12}), N = 128 * W;
  const Tensor Y = k.output("y", Element::f32, {W}), X = k.input("x", Element::f32, {N}),
               L = k.input("lens", Element::i32, {W});
  const auto end = [&](Sym w, Sym length) { return 128 * w + floor_mod(length, Sym(64)) + Sym(more); };
  k.computes(Y, [&](const auto& c) {
    const Sym w = c[0], last = end(w, k.value(L, w));
    return k.sum(N, 128 * w, 128 * w + Sym(128), [&](Sym i) { return inside(i, last, k(X, {i}), 0); });
  });
  const Sym w = k.workgroups(0, W, 1), last = end(w, k.uniform(L, w));
  const Fragment x = k.map({k.load(k.tile(X, {64}, {2 * w}), line_tv(64, 1, 64), 1)},
                           [&](const Exprs& v) { return inside(128 * w + k.position(0), last, v[0], 0); });
  k.store(k.fold(Monoid::sum, x, 0), k.tile(Y, {1}, {w}), 1);
  return k;
}

TEST_CASE("a part of a sum ends where all after it is empty, and not one element before") {
  CHECK(refuted(short_sum(1)) == "");
  CHECK_THAT(refuted(short_sum(2)), Contains("y is what the specification says"));
}

TEST_CASE("varlen: rows, pages and ends of blocks are proved, and nothing next to them") {
  const kernels::Prefill asked{.head_dim = 64, .group = 2, .page = 8, .tile_q = 16, .tile_k = 32, .waves = 1};
  const Program p = kernels::varlen_attention_program(asked);
  CHECK(refuted(p) == "");
  const std::vector<std::int64_t> sizes{2, 5, 4, 64, 5}; // blocks, rows, heads, keys, pages
  for (const std::uint64_t seed : {1, 2}) CHECK(mutate::run_tokens(code_of(p), sizes, seed) == "");
  const auto caught = [&](InstKind kind, const std::string& tensor, std::size_t axis) {
    INFO(tensor << ", axis " << axis);
    Code code = code_of(p);
    bool any = false;
    for (CodeRegion& r : code.regions)
      for (auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (Inst& i : *list)
          if (i.kind == kind && p.tensor(i.access.tensor).name == tensor)
            i.access.origin[axis] += Sym(1), any = true;
    REQUIRE(any);
    CHECK(refuted(code) != "");
  };
  for (const std::size_t axis : {0, 1}) // block; row, page
    for (const char* of : {"row", "position", "table"}) caught(InstKind::load, of, axis);
  for (const std::size_t axis : {1, 2}) { // head or slot, column or head
    caught(InstKind::load, "q", axis), caught(InstKind::load, "k", axis), caught(InstKind::load, "v", axis);
    caught(InstKind::store, "o", axis);
  }
  caught(InstKind::store, "o", 0), caught(InstKind::store, "lse", 0), caught(InstKind::store, "lse", 2);
  // Each mask of a map left out, one after the other; the order of positions the other way; a tile too few.
  for (int number = 0; number < 4; ++number) {
    int seen = 0;
    INFO("mask " << number);
    CHECK(refuted_with(kernels::varlen_attention_program(asked), [&](Program& q, Op& op) {
            auto* m = std::get_if<MapOp>(&op.what);
            bool here = false;
            if (!m) return false;
            m->map = q.expressions().rewrite(m->map, [&](const ExprNode& n) -> std::optional<Expr> {
              if (n.fn != Fn::inside || seen++ != number) return std::nullopt;
              here = true;
              return Expr{&q.expressions(), n.args[0]};
            });
            return here;
          }) != "");
  }
  for (const int by : {-1, 1})
    CHECK(refuted_with(kernels::varlen_attention_program(asked), [&](Program& q, Op& op) {
            auto* m = std::get_if<MapOp>(&op.what);
            bool here = false;
            if (!m) return false;
            m->map = q.expressions().rewrite(m->map, [&](const ExprNode& n) -> std::optional<Expr> {
              if (n.fn != Fn::number) return std::nullopt;
              here = true;
              return q.number(n.sym + Sym(by));
            });
            return here;
          }) != "");
  CHECK(refuted_with(kernels::varlen_attention_program(asked), [](Program&, Op& op) {
          auto* l = std::get_if<LoopOp>(&op.what);
          if (!l) return false;
          const auto two = *least_of(l->extent);
          l->extent = min(two.first - Sym(32), two.second - Sym(32));
          return true;
        }) != "");
}

} // namespace paged_test
