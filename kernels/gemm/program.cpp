// The GEMM: what it computes, and how its data moves.
#include "../lds_swizzle.h"
#include "../map/lowered.h"
#include "../program_names.h"
#include "parts.h"

#include <inlay/codegen/program.h>
#include <inlay/codegen/schedule.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/machine/target.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace inlay::kernels {
namespace {

using namespace gemm;
using codegen::rows_tv;

/// What becomes of a sum, in the specification and in the kernel: x is the sum, and of these what there is: sa, sb, alpha, beta, C, bias,
/// row_bias, residual.
/// Where beta is 0, C counts nothing, even NaN (BLAS's rule); a beta that is NaN is no 0.
codegen::Expr finished(const GemmSpec& s, Program& k, const std::vector<codegen::Expr>& x) {
  codegen::Expr y = x[0];
  std::size_t next = 1;
  if (s.scales) y = y * (x[1] * x[2]), next = 3;
  if (s.alpha) y = y * x[next++];
  if (s.adds_c()) {
    const codegen::Expr beta = x[next], c = x[next + 1];
    y = select(k.constant(0), max(beta, beta * -1.0), y, y + beta * c), next += 2;
  }
  if (s.bias) y = y + x[next++];
  if (s.row_bias) y = y + x[next++];
  if (s.activation != GemmSpec::Activation::none)
    y = lowered<codegen::Expr>(
        parse_formulas("y = " + to_string(s.activation) + "(x)"), {y},
        [&](double c, bool = false) { return k.constant(c); }, [](codegen::Expr e, double) { return e; })[0];
  return s.residual ? y + x[next] : y;
}

} // namespace

SymLayout preshuffled_layout(Sym n, Sym k, int vector) {
  // ((16,N/16),(V,4,K/(4V))):((V,16*K),(1,16V,64V)), V = 8 or 16 elements of 16 bytes
  const auto mode = [](Sym extent, Sym stride) { return BasicMode<Sym>{extent, BasicStride<Sym>(stride)}; };
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open(), rows = b.open();
  b.leaf(mode(16, vector)), b.leaf(mode(floor_div(n, 16), 16 * k));
  b.close(rows, 2);
  const std::size_t columns = b.open();
  b.leaf(mode(vector, 1)), b.leaf(mode(4, 16 * vector)), b.leaf(mode(floor_div(k, 4 * vector), 64 * vector));
  b.close(columns, 3);
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

SymLayout shuffled_scales(Sym rows, Sym k) {
  // ((16,2,R/32),(4,2,K/256)):((4,1,K),(64,2,256))
  const auto mode = [](Sym extent, Sym stride) { return BasicMode<Sym>{extent, BasicStride<Sym>(stride)}; };
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open(), down = b.open();
  b.leaf(mode(16, 4)), b.leaf(mode(2, 1)), b.leaf(mode(ceil_div(rows, 32), k));
  b.close(down, 3);
  const std::size_t along = b.open();
  b.leaf(mode(4, 64)), b.leaf(mode(2, 2)), b.leaf(mode(floor_div(k, 256), 256));
  b.close(along, 3);
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

// [gemm]
Program gemm_program(const GemmSpec& s) {
  const Target& target = Target::named(s.arch);
  check(s, target);
  const int v = vector_of(s.in),           // elements of 16 bytes
      moved = bits(s.in) == 6 ? v / 2 : v; // by a transfer
  const MmaTiling mma = tiling(s, target);
  const bool pre = s.preshuffled_b, mx = is_mx(s);
  const bool pairs = s.adds() && bits(s.out) == 16; // added two at a time

  Program k(pre ? "preshuffle_gemm" : "gemm", target, mma.threads(), s.where);
  // Blocks of 32 rows are counted in 32 bits.
  const std::int64_t most_rows = mx ? std::int64_t{1} << 30 : INT32_MAX;
  const int multiple_n = std::lcm(s.multiple_n, pre ? 16 : s.gather ? 4 : pairs ? 2 : 1);
  const Sym M = k.size("m", {.most = s.turned_a() ? longest_turned(s) : most_rows,
                             .multiple = s.turned_a() ? v : 1}),
            N = k.size("n", {.most = longest_columns(s),
                             .multiple = s.turned_b() ? std::lcm(multiple_n, v) : multiple_n}),
            K = k.size("k", {.most = longest_k(s),
                             .multiple = mx                             ? 256
                                         : pre                          ? 4 * v
                                         : s.turned_a() && s.turned_b() ? 1
                                                                        : v});
  const auto pad = [&](bool there, const std::string& name, std::int64_t most, int multiple) {
    return there ? std::optional(k.size(name, {.least = 0, .most = half_of(most), .multiple = multiple}))
                 : std::nullopt;
  };
  const std::int64_t row_of_a = longest_row(std::max(s.tile_m, s.tile_n), s.in),
                     row_of_d = longest_row(s.tile_m, s.out);
  const auto pad_a = pad(s.padded.a, "pad_a", row_of_a, v), pad_b = pad(s.padded.b, "pad_b", row_of_a, v),
             pad_c = pad(s.padded.c, "pad_c", row_of_d, multiple_n),
             pad_d = pad(s.padded.d, "pad_d", row_of_d, multiple_n);
  const bool in_place = s.added == GemmSpec::Added::in_place;
  const std::string result = s.adds_c() ? "d" : "c";
  const Tensor C = in_place ? k.inout(result, s.out, {M, N}, apart(M, N, pad_d))
                            : k.output(result, s.out, {M, N}, apart(M, N, pad_d)),
               A = k.input("a", s.in, {M, K}, s.turned_a() ? by_columns(M, K) : apart(M, K, pad_a)),
               B = k.input("b", s.in, {N, K},
                           pre            ? preshuffled_layout(N, K, v)
                           : s.turned_b() ? by_columns(N, K)
                                          : apart(N, K, pad_b));
  std::optional<Tensor> SA, SB, bias, row_bias, residual;
  // One scale for 32 elements of K, in whole blocks of 32 rows.
  const auto block_scales = [&](const std::string& name, Sym rows) {
    return k.input(name, Element::e8m0, {32 * ceil_div(rows, 32), floor_div(K, 32)},
                   shuffled_scales(rows, K));
  };
  if (mx) SA = block_scales("sa", M), SB = block_scales("sb", N);
  const Element weight = weight_of(s);
  if (s.scales) SA = k.input("sa", weight, {M, 1}), SB = k.input("sb", weight, {1, N});
  if (s.bias) bias = k.input("bias", weight, {1, N});
  if (s.row_bias) row_bias = k.input("row_bias", weight, {M, 1});
  std::optional<Tensor> alpha, beta, added;
  if (s.alpha) alpha = k.input("alpha", weight, {1, 1});
  if (s.adds_c()) {
    beta = k.input("beta", weight, {1, 1});
    added = in_place ? C : k.input("c", s.out, {M, N}, apart(M, N, pad_c));
  }
  if (s.residual) residual = k.input("residual", s.out, {M, N});
  const auto amax =
      s.amax ? std::optional(k.output("amax", Element::f32, {M, ceil_div(N, Sym(s.tile_n))})) : std::nullopt;
  const auto product_of = [&](Sym m, Sym n, Sym i) {
    const auto value = [&](const Tensor& of, const std::optional<Tensor>& scale, Sym row) {
      return mx ? k(of, {row, i}) * k(*scale, {row, floor_div(i, 32)}) : k(of, {row, i});
    };
    return value(A, SA, m) * value(B, SB, n);
  };
  // Parts of K: how many there are, where one begins, and how far it goes.
  const Sym parts = s.gather ? ceil_div(K, s.split) : Sym(1);
  const auto length = [&](Sym part) { return min(K - Sym(s.split) * part, Sym(s.split)); };
  std::optional<Tensor> P;
  if (s.gather) {
    P = k.output("parts", mma.mma().c_element, {M, N, parts}, side_by_side(M, N, parts));
    k.computes(*P, [&](const auto& c) {
      const Sym begin = Sym(s.split) * c[2];
      return k.sum(K, begin, begin + length(c[2]), [&](Sym i) { return product_of(c[0], c[1], i); });
    });
  }
  const auto value = [&](const std::vector<Sym>& c) {
    const auto sum = s.gather ? k.sum(parts,
                                      [&](Sym part) {
                                        return k(*P, {c[0], c[1], part});
                                      })
                              : k.sum(K, [&](Sym i) { return product_of(c[0], c[1], i); });
    std::vector<codegen::Expr> of = {sum};
    if (s.scales) of.push_back(k(*SA, {c[0], Sym(0)})), of.push_back(k(*SB, {Sym(0), c[1]}));
    if (s.alpha) of.push_back(k(*alpha, {Sym(0), Sym(0)}));
    if (s.adds_c()) of.push_back(k(*beta, {Sym(0), Sym(0)})), of.push_back(k(*added, {c[0], c[1]}));
    if (s.bias) of.push_back(k(*bias, {Sym(0), c[1]}));
    if (s.row_bias) of.push_back(k(*row_bias, {c[0], Sym(0)}));
    if (s.residual) of.push_back(k(*residual, {c[0], c[1]}));
    return finished(s, k, of);
  };
  k.computes(C, value);
  const auto magnitude = [](codegen::Expr e) { return max(e, e * -1.0); };
  if (amax)
    k.computes(*amax, [&](const auto& c) {
      const Sym n = k.symbols().symbol("_compared", {Int(0), std::nullopt});
      const std::pair<Sym, Sym> tile[] = {{s.tile_n * c[1], s.tile_n * (c[1] + Sym(1))}};
      return k.expressions().partial_fold(codegen::Monoid::max, n, N, tile, magnitude(value({c[0], n})));
    });

  const Sym bn = k.workgroups(0, N, s.tile_n), bm = k.workgroups(1, M, s.tile_m);
  k.order_tiles(s.order);
  const std::optional<Layout> columns = column_order(s, mma), down = scaled_order(s, s.waves_m, s.tile_m),
                              across = mx ? scaled_order(s, s.waves_n, s.tile_n) : columns;
  const auto in_rows = [&](const codegen::View& view) { return down ? view.reorder(0, *down) : view; };
  const auto in_order = [&](const codegen::View& view, std::size_t mode) {
    return across ? view.reorder(mode, *across) : view;
  };
  const int lanes = target.lanes_per_transfer();
  const bool lines = whole_lines(s, target);
  const auto turned_if = [&](bool turned, int rows, const Layout& reads) {
    return turned ? std::optional(turned_tile(s, target, rows, reads)) : std::nullopt;
  };
  const auto turned_a = turned_if(s.turned_a(), s.tile_m, mma.a()),
             turned_b = turned_if(s.turned_b(), s.tile_n, mma.b());
  const auto tile_in_lds = [&](const std::string& name, int rows, const Layout& reads,
                               const std::optional<TransposedTile>& turned) {
    if (turned) return k.lds(name, s.in, {rows, s.tile_k}, turned->swizzle);
    if (s.transfer)
      return k.lds(name, s.in, {rows, s.tile_k},
                   codegen::transfer_place(rows, s.tile_k, moved, lanes, lines));
    const int w = copied(s, target, rows);
    return k.lds(
        name, s.in, {rows, s.tile_k},
        conflict_free_swizzle(target, s.in, rows, s.tile_k,
                              {{rows_tv(rows, s.tile_k, w, mma.threads()), w, false}, {reads, v, true}}));
  };
  const auto fill = [&](const codegen::View& from, const Tensor& to, int rows,
                        const std::optional<TransposedTile>& turned) {
    if (turned) {
      const Fragment loaded = k.load(from, codegen::transposed(turned->loaded), turned->vector);
      k.store(k.map(
                  codegen::transposed(turned->written), {loaded}, [](const auto& x) { return x[0]; }, s.in),
              k.whole(to), turned->piece);
    } else if (s.transfer) {
      k.transfer(from, to, codegen::transfer_tv(rows, s.tile_k, moved, mma.threads(), lanes, lines),
                 moved / lanes);
    } else {
      const int w = copied(s, target, rows);
      k.copy(from, to, rows_tv(rows, s.tile_k, w, mma.threads()), w);
    }
  };
  const Sym part = s.split > 0 ? k.workgroups(2, K, s.split) : Sym(0); // a workgroup has one
  const auto share = s.workers > 0 ? k.share(s.workers, K, s.tile_k) : Program::Share{Sym(0), Sym(0)};
  const Sym extent = s.split > 0     ? length(part)
                     : s.workers > 0 ? min(K - Sym(s.tile_k) * share.begin, Sym(s.tile_k) * share.count)
                                     : K;
  const auto tile_if = [&](bool staged, const std::string& name, int rows, const Layout& reads,
                           const std::optional<TransposedTile>& turned) {
    return staged ? std::optional(tile_in_lds(name, rows, reads, turned)) : std::nullopt;
  };
  const std::optional<Tensor> a = tile_if(s.staged_a(), "lds_a", s.tile_m, mma.a(), turned_a),
                              b = tile_if(s.staged_b(), "lds_b", s.tile_n, mma.b(), turned_b);
  // Scales of 32 k that several waves want, too: each comes from memory once for all of them.
  const int scale_columns = s.tile_k / 32;
  const auto scales_if = [&](const std::string& name, int rows, int waves, int sharing) {
    return s.staged_scales(rows, sharing)
               ? std::optional(k.lds(name, Element::e8m0, {rows, scale_columns},
                                     codegen::scales_place(rows, scale_columns, waves)))
               : std::nullopt;
  };
  const std::optional<Tensor> lds_sa = scales_if("lds_sa", s.tile_m, s.waves_m, s.waves_n),
                              lds_sb = scales_if("lds_sb", s.tile_n, s.waves_n, s.waves_m);
  const Fragment acc = k.zeros(mma.mma().c_element, mma.c(), {s.tile_m, s.tile_n});
  const codegen::Pipeline how{.distance = 2,
                              .ring = stages(s, target),
                              .pins = s.pins,
                              .depth = s.depth,
                              .stagger = s.stagger,
                              .pingpong = s.pingpong};
  k.loop(extent, s.tile_k, how, [&](Sym trip) {
    const Sym t = (s.split > 0 ? Sym(s.split / s.tile_k) * part : share.begin) + trip;
    const codegen::View tile_of_a = in_rows(k.tile(A, {s.tile_m, s.tile_k}, {bm, t})),
                        tile_of_b = in_order(k.tile(B, {s.tile_n, s.tile_k}, {bn, t}), 0);
    if (a) fill(tile_of_a, *a, s.tile_m, turned_a);
    if (b) fill(tile_of_b, *b, s.tile_n, turned_b);
    const auto fill_scales = [&](const codegen::View& from, const std::optional<Tensor>& to, int rows,
                                 int waves) {
      if (to)
        k.transfer(from, *to, codegen::scales_transfer_tv(rows, scale_columns, waves, mma.threads()), 4);
    };
    const auto scales_of = [&](const Tensor& of, int rows, const Sym& block) {
      return k.tile(of, {rows, scale_columns}, {block, t});
    };
    const auto operand = [&](const std::optional<Tensor>& lds, const codegen::View& view, const Layout& tv,
                             int at_once) {
      return lds ? k.read(*lds, tv, at_once) : k.load(view, tv, at_once);
    };
    if (!mx) {
      const Fragment of_a = operand(a, tile_of_a, mma.a(), v), of_b = operand(b, tile_of_b, mma.b(), v);
      k.mma(acc, of_a, of_b, mma);
      return;
    }
    const codegen::View tile_of_sa = in_rows(scales_of(*SA, s.tile_m, bm)),
                        tile_of_sb = in_order(scales_of(*SB, s.tile_n, bn), 0);
    fill_scales(tile_of_sa, lds_sa, s.tile_m, s.waves_m);
    fill_scales(tile_of_sb, lds_sb, s.tile_n, s.waves_n);
    const Fragment of_a = operand(a, tile_of_a, mma.a(), v), of_b = operand(b, tile_of_b, mma.b(), v),
                   sa = operand(lds_sa, tile_of_sa, mma.a_scales(), 4),
                   sb = operand(lds_sb, tile_of_sb, mma.b_scales(), 4);
    k.mma(acc, of_a, sa, of_b, sb, mma);
  });
  const auto of_tile = [&](const Tensor& matrix) {
    return in_order(in_rows(k.tile(matrix, {s.tile_m, s.tile_n}, {bm, bn})), 1);
  };
  const codegen::View tile_of_c = of_tile(C);
  const bool swaps = !columns && exchanges_columns(s, target, mma);
  // Rows that are apart by any number are aligned as n and that are.
  const int widest = adjacent_columns(s, columns.has_value() || swaps);
  const auto put = [&](const Fragment& sum) {
    if (s.adds()) return k.add(sum, tile_of_c);
    k.store(swaps ? k.relayout(sum, mma.c_by_eights(), s.out) : sum, tile_of_c,
            s.padded.d && bits(s.out) != 32 ? std::gcd(multiple_n, widest) : widest);
  };
  const auto finish = [&](const Fragment& sum) {
    if (!s.weighted() && !columns && !swaps && !amax) return put(sum);
    std::vector<Fragment> of = {sum};
    const Layout row = codegen::without_axis(mma.c(), 1), column = codegen::without_axis(mma.c(), 0),
                 all = results(s, mma, columns.has_value());
    const auto of_columns = [&](const Tensor& from) {
      const int at_once = pre ? 4 : 1; // N is a multiple of 16 then
      return k.load(in_order(k.tile(from, {1, s.tile_n}, {0, bn}), 1), column, at_once);
    };
    const auto of_rows = [&](const Tensor& from) {
      return k.load(in_rows(k.tile(from, {s.tile_m, 1}, {bm, 0})), row, 1);
    };
    const auto of_all = [&](const Tensor& from) {
      return k.load(of_tile(from), all, std::gcd(multiple_n, adjacent_columns(s, columns.has_value())));
    };
    const auto number = [&](const Tensor& from) {
      return k.load(k.tile(from, {1, 1}, {0, 0}), codegen::without_axis(row, 0), 1);
    };
    if (s.scales) {
      of.push_back(of_rows(*SA));
      of.push_back(of_columns(*SB));
    }
    if (s.alpha) of.push_back(number(*alpha));
    if (s.adds_c()) {
      of.push_back(number(*beta));
      of.push_back(of_all(*added));
    }
    if (s.bias) of.push_back(of_columns(*bias));
    if (s.row_bias) of.push_back(of_rows(*row_bias));
    if (s.residual) of.push_back(of_all(*residual));
    const auto of_sum = [&](const auto& x) { return finished(s, k, x); };
    if (!amax) return put(k.map(all, of, of_sum, s.out));
    const Fragment exact = k.map(all, of, of_sum);
    put(exact);
    const Fragment sizes = k.map({exact}, [&](const auto& x) {
      return inside(s.tile_n * bn + k.position(1), N, magnitude(x[0]), -INFINITY);
    });
    k.store(k.fold(codegen::Monoid::max, sizes, 1), k.tile(*amax, {s.tile_m, 1}, {bm, bn}), 1);
  };
  if (!s.gather) {
    finish(acc);
    if (s.own != GemmSpec::Own::none)
      k.problems("groups", s.own == GemmSpec::Own::m ? std::vector{M} : std::vector{M, N, K});
    return k;
  }
  const auto tile_of_parts = [&](int parts_of_it, Sym number) {
    return in_order(in_rows(k.tile(*P, {s.tile_m, s.tile_n, parts_of_it}, {bm, bn, number})), 1);
  };
  const int together = s.in == Element::f64 ? adjacent_columns(s, columns.has_value()) : 4;
  k.store(acc, tile_of_parts(1, part), together);
  const Sym number = k.ticket("arrived", part);
  k.if_less(parts - Sym(2), number, [&] { // the last one
    const Fragment sum = k.zeros(mma.mma().c_element, mma.c(), {s.tile_m, s.tile_n});
    k.loop(parts, s.at_once, {.distance = 0, .ring = 1}, [&](Sym t) {
      if (s.in == Element::i8 || s.in == Element::f64) { // a fold would be one of f32
        std::vector<Fragment> some;
        for (int e = 0; e < s.at_once; ++e)
          some.push_back(k.load(tile_of_parts(1, Sym(s.at_once) * t + Sym(e)), mma.c(), together));
        for (const Fragment& one : some) k.update(sum, {one}, [](const auto& x) { return x[0] + x[1]; });
        return;
      }
      const Fragment some = k.load(tile_of_parts(s.at_once, t), results_of_parts(mma.c(), s.at_once), 4);
      k.update(sum, {k.fold(codegen::Monoid::sum, some, 2)}, [](const auto& x) { return x[0] + x[1]; });
    });
    finish(sum);
  });
  return k;
}
// [gemm end]

GemmFacts gemm_facts(const GemmSpec& spec) {
  const Target& target = Target::named(spec.arch);
  check(spec, target);
  const bool shared = spec.transfer && target.lanes_per_transfer() == 4;
  return {tiling(spec, target).clocks(), stages(spec, target),
          spec.tile_k * bits(spec.in) < 1024 || (shared && !whole_lines(spec, target))};
}

std::string to_string(GemmSpec::Activation activation) {
  using Activation = GemmSpec::Activation;
  switch (activation) {
  case Activation::relu: return "relu";
  case Activation::silu: return "silu";
  case Activation::gelu: return "gelu";
  case Activation::gelu_tanh: return "gelu_tanh";
  case Activation::none: break;
  }
  return "none";
}

Artifact build_gemm(const GemmSpec& spec, const BuildOptions& options) {
  return build(gemm_program(spec), options);
}

std::vector<std::int64_t> gemm_sizes(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                                     const GemmPads& pads) {
  std::vector<std::int64_t> out = {m, n, k};
  for (const auto& [there, pad] : {std::pair(spec.padded.a, pads.a), std::pair(spec.padded.b, pads.b),
                                   std::pair(spec.padded.c, pads.c), std::pair(spec.padded.d, pads.d)})
    if (there) out.push_back(pad);
  return out;
}

LaunchPlan plan_gemm_launch(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k,
                            const GemmPads& pads) {
  return contract_of(gemm_program(spec)).plan(gemm_sizes(spec, m, n, k, pads));
}

} // namespace inlay::kernels
