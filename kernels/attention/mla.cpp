// Latent attention: what it computes, and how its data moves.
#include "mla.h"

#include "parts.h"
#include "transposed.h"

#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Atom;
using codegen::inside;
using codegen::MmaTiling;
using codegen::Nan;
using codegen::rows_tv;
using codegen::without_axis;

constexpr double minus_infinity = -INFINITY;
constexpr int columns = 32; // positions of the cache at a time

void check(const Latent& s) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("mla: {}\n  hint   {}", what, hint));
  };
  if (s.waves_used() != 2 && s.waves_used() != 4) refuse(fmt::format("--waves {}", s.waves), "2 or 4");
  if (s.heads % s.group() != 0)
    refuse(fmt::format("--heads {} with --waves {}", s.heads, s.waves_used()),
           "heads in groups of 16 for each wave, or fewer heads than that");
  if (s.page < 1 || columns % s.page != 0)
    refuse(fmt::format("--page {}", s.page), "1, 2, 4, 8, 16 or 32: 32 positions, a tile, are whole pages");
  if (s.split % columns != 0)
    refuse(fmt::format("--split {}", s.split), fmt::format("a multiple of {}", columns));
  if (!std::isfinite(s.scale) || s.scale <= 0)
    refuse(fmt::format("--scale {}", s.scale), "a positive number");
}

// How many positions the queries of a block see, of a sequence of `length`.
Sym seen(const Latent& s, Sym length, Sym block) {
  return length + floor_div(block, Sym(s.heads / s.group())) - Sym(s.queries - 1);
}

// The parts of every block of heads: what one program stores and the other one reads.
template <class Make>
SoftmaxParts parts_of(const Latent& s, Sym sequences, Sym count, Make make) {
  const std::vector<Sym> each{sequences, s.blocks(), count, s.group()},
      all{sequences, s.blocks(), count, s.group(), Latent::latent};
  return {make("most", each), make("sums", each), make("parts", all), count, Sym(s.split)};
}

} // namespace

// [mla]
Program mla_decode_program(const Latent& s) {
  check(s);
  if (s.scaled() && codegen::bits(s.cache) != 8)
    throw std::invalid_argument(
        fmt::format("mla: --kv-dtype {} with --dtype {}\n  hint   the same, or fp8 with a scale",
                    to_string(s.cache), to_string(s.type)));
  const Target& target = Target::named(s.arch);
  const int waves = s.waves_used(), threads = 64 * waves, rows = 16 * waves;
  const auto tiling = [&](int n, int depth) {
    return MmaTiling::of(Atom::mma_best(target, s.type, s.type, Element::f32, 16), waves, 1, rows, n, depth,
                         8);
  };
  const MmaTiling qk = tiling(columns, Latent::key).with_columns(8), pv = tiling(Latent::latent, columns);
  Program k("mla_decode", target, threads);
  const Sym S = k.size("sequences", {.most = 1 << 16}),
            N = k.size("keys", {.most = 1 << 22, .multiple = s.split}),
            P = k.size("pages", {.most = 1 << 28}), split(s.split);
  const SoftmaxParts to =
      parts_of(s, S, ceil_div(N, split), [&](const char* name, const std::vector<Sym>& shape) {
        return k.output(name, Element::f32, shape, by_rows(shape));
      });
  const std::vector<Sym> queries{S, s.blocks(), s.group(), Latent::key};
  const Tensor Q = k.input("q", s.type, queries, by_rows(queries)),
               KV = k.input("kv", s.cache, {P, s.page, Latent::key}),
               T = k.input("table", Element::i32, {S, to.count, s.split / s.page}),
               L = k.input("lengths", Element::i32, {S}), rows_at = k.paged("kv_at", KV, T);
  std::optional<Tensor> scales;
  if (s.scaled()) scales = k.input("scale", Element::f32, {1, 1});
  // The softmax over part c[2], of the positions in it.
  const auto part_of = [&](const auto& c) {
    const Sym length = seen(s, k.value(L, c[0]), c[1]);
    const auto within = [split, length, c](Sym i, Expr e, double beyond) {
      return inside(i, length - split * c[2], e, beyond);
    };
    const auto score = [&, within, c](Sym i) {
      Expr all = k.sum(Latent::key, [&](Sym d) {
        return k(Q, {c[0], c[1], c[3], d}) * k(rows_at, {c[0], c[2], i, d});
      });
      if (scales) all = all * k(*scales, {0, 0});
      return within(i, all * s.scale, minus_infinity);
    };
    const Expr most = k.fold(Monoid::max, split, score);
    return std::tuple(within, most, [score, most](Sym i) { return exp(score(i) - most); });
  };
  k.computes(to.most, [&](const auto& c) {
    const auto [within, most, p] = part_of(c);
    return within(Sym(0), most, 0);
  });
  k.computes(to.sums, [&](const auto& c) {
    const auto [within, most, p] = part_of(c);
    return within(Sym(0), k.sum(split, p), 0);
  });
  k.computes(to.values, [&](const auto& c) {
    const auto [within, most, p] = part_of(c);
    Expr sum = k.sum(split, [&, within = within, p = p](Sym i) {
      return p(i) * within(i, k(rows_at, {c[0], c[2], i, c[4]}), 0);
    });
    if (scales) sum = sum * k(*scales, {0, 0});
    return within(Sym(0), sum, 0);
  });

  const Sym seq = k.workgroups(0, S, 1), block = k.workgroups(1, Sym(s.blocks()), 1),
            part = k.workgroups(2, N, s.split), length = seen(s, k.uniform(L, seq), block),
            begin = split * part;
  const auto v_tile = transposed_tile(target, s.type, columns, Latent::latent, threads, 4, pv.b());
  if (!v_tile)
    throw std::invalid_argument("mla_decode: no place for the values in LDS without bank conflicts");
  const Tensor lds = k.lds("lds_v", s.type, {Latent::latent, columns}, v_tile->swizzle);
  const Layout of_row = without_axis(qk.c(), 1), one = without_axis(of_row, 0);
  const auto store = [&](const Fragment& m, const Fragment& l, const Fragment& o) {
    const auto row = [&](const Tensor& of) {
      return k.tile(of, {1, 1, 1, rows}, {seq, block, part, 0}).keep({3});
    };
    k.store(m, row(to.most), 1), k.store(l, row(to.sums), 1);
    k.store(o, k.tile(to.values, {1, 1, 1, rows, Latent::latent}, {seq, block, part, 0, 0}).keep({3, 4}), 4);
  };
  const auto attend = [&] {
    const Fragment q =
        k.load(k.tile(Q, {1, 1, rows, Latent::key}, {seq, block, 0, 0}).keep({2, 3}), qk.a(), 8);
    const Fragment m = k.full(minus_infinity, of_row, {rows, 1}),
                   l = k.zeros(Element::f32, of_row, {rows, 1}),
                   o = k.zeros(Element::f32, pv.c(), {rows, Latent::latent});
    const Fragment scale = scales ? k.load(k.tile(*scales, {1, 1}, {0, 0}), one, 1) : m;
    k.loop(min(split, length - begin), columns, {.distance = s.distance, .ring = 1}, [&](Sym t) {
      const auto tile = [&](int d) {
        return k.tile(rows_at, {1, 1, columns, d}, {seq, part, t, 0}).keep({2, 3});
      };
      const auto before_end = [&](Sym i, Expr e, double beyond) {
        return inside(i, length - begin, e, beyond);
      };
      // Whole rows first: what stands in the cache after the end may be anything, and is no number to multiply.
      const Fragment within = k.map(
          {k.load(tile(Latent::latent), v_tile->loaded, 8)},
          [&](const Exprs& x) { return before_end(columns * t + k.position(0), x[0], 0); }, s.cache);
      k.store(k.map(
                  v_tile->written, {within}, [](const Exprs& x) { return x[0]; }, s.type),
              k.whole(lds).keep({1, 0}), v_tile->piece);
      Fragment key = k.load(tile(Latent::key), qk.b(), 8);
      if (scales)
        key = k.map(
            {key}, [](const Exprs& x) { return x[0]; }, s.type);
      const Fragment scores = k.zeros(Element::f32, qk.c(), {rows, columns});
      k.mma(scores, q, key, qk);
      const Fragment x = k.map({scores, scale}, [&](const Exprs& v) {
        return before_end(columns * t + k.position(1), (scales ? v[0] * v[1] : v[0]) * s.scale,
                          minus_infinity);
      });
      const Fragment most =
          k.map({m, k.fold(Monoid::max, x, 1)}, [](const Exprs& v) { return max(v[0], v[1]); });
      const auto ex = [](const Exprs& v) { return exp(v[0] - v[1]); };
      const Fragment p = k.map({x, most}, ex), again = k.map({m, most}, ex);
      k.update(l, {again, k.fold(Monoid::sum, p, 1)}, [](const Exprs& v) { return v[0] * v[1] + v[2]; });
      k.update(o, {again}, [](const Exprs& v) { return v[0] * v[1]; });
      k.mma(o, k.relayout(p, pv.a(), s.type, Nan::any), k.read(lds, pv.b(), 8), pv);
      k.update(m, {most}, [](const Exprs& v) { return v[1]; });
    });
    store(m, l, scales ? k.map({o, scale}, [](const Exprs& v) { return v[0] * v[1]; }) : o);
  };
  k.if_less(begin, length, attend, [&] {
    const Fragment none = k.zeros(Element::f32, of_row, {rows, 1});
    store(none, none, k.zeros(Element::f32, pv.c(), {rows, Latent::latent}));
  });
  return k;
}

Program mla_reduce_program(const Latent& s) {
  check(s);
  constexpr int threads = Latent::latent / 4; // of a row, four numbers each
  Program k("mla_reduce", Target::named(s.arch), threads);
  const Sym S = k.size("sequences", {.most = 1 << 16}), R = k.size("splits", {.most = (1 << 19) / s.group()});
  const std::vector<Sym> results{S, s.blocks(), s.group(), Latent::latent};
  const Tensor O = k.output("o", s.type, results, by_rows(results));
  const SoftmaxParts from = parts_of(s, S, R, [&](const char* name, const std::vector<Sym>& shape) {
    return k.input(name, Element::f32, shape, by_rows(shape));
  });
  const Tensor L = k.input("lengths", Element::i32, {S});
  k.computes(O, [&](const auto& c) {
    const Sym length = seen(s, k.value(L, c[0]), c[1]);
    const auto [most, all, value] = from.together(k, c, length);
    return inside(0, length, value / all, 0);
  });
  const Sym seq = k.workgroups(0, S, 1), block = k.workgroups(1, Sym(s.blocks()), 1),
            head = k.workgroups(2, Sym(s.group()), 1), length = seen(s, k.uniform(L, seq), block);
  const Layout tv = rows_tv(1, Latent::latent, 4, threads);
  const codegen::View to = k.tile(O, {1, 1, 1, Latent::latent}, {seq, block, head, 0}).keep({2, 3});
  k.if_less(
      Sym(0), length,
      [&] {
        const auto [most, all, value] = from.together(k, seq, block, head, 1, Latent::latent, tv, length);
        k.store(k.map({value, all}, [](const Exprs& v) { return v[0] / v[1]; }), to, 4);
      },
      [&] {
        k.store(k.zeros(Element::f32, tv, {1, Latent::latent}), to, 4);
      });
  return k;
}
// [mla end]

} // namespace inlay::kernels
