// queries[n,b,h,i,d] = q[b,64n+i,h,d] / |q|, keys likewise, 0 after the last token; key_columns[n,b,h,d,i] = keys[n,b,h,i,d].
#include "../transposed.h"
#include "gated_delta_page.h"
#include "gated_delta_step.h"

namespace inlay::kernels {

using Asked = GatedDeltaChunk;

// [gated_delta_keys]
Program gated_delta_keys_program(const Asked& s) {
  check_chunk("gated_delta_keys", s);
  const Target& target = Target::named(s.arch);
  const int D = s.key, threads = 256;
  Program k("gated_delta_keys", target, threads);
  const DeltaSizes z = DeltaSizes::of(k, 1);
  const Sym B = z.batch, T = z.tokens, H = z.heads, N = z.chunks, chunk(delta_chunk);
  const Tensor queries = k.output("queries", s.type, {N, B, H, chunk, D}),
               keys = k.output("keys", s.type, {N, B, H, chunk, D}),
               columns = k.output("key_columns", s.type, {N, B, H, D, chunk}),
               Q = k.input("q", s.type, {B, T, H, D}), K = k.input("k", s.type, {B, T, H, D});
  const auto unit = [&](Expr x, Expr squares) {
    return s.normalise ? x * rsqrt(squares + delta_epsilon) : x;
  };
  const auto said = [&](const Tensor& of, Sym n, Sym b, Sym h, Sym i, Sym d) {
    const Sym t = chunk * n + i;
    const Expr squares = k.sum(D, [&](Sym j) { return k(of, {b, t, h, j}) * k(of, {b, t, h, j}); });
    return inside(t, T, unit(k(of, {b, t, h, d}), squares), 0);
  };
  k.computes(queries, [&](const auto& c) { return said(Q, c[0], c[1], c[2], c[3], c[4]); });
  k.computes(keys, [&](const auto& c) { return said(K, c[0], c[1], c[2], c[3], c[4]); });
  k.computes(columns, [&](const auto& c) { return said(K, c[0], c[1], c[2], c[4], c[3]); });

  const Sym h = k.workgroups(0, H, 1), n = k.workgroups(1, T, delta_chunk), b = k.workgroups(2, B, 1);
  // Columns are made on the way to LDS: a work-item loads 8 columns of some rows, and writes what a column has of them at once.
  const Layout by_rows = codegen::rows_tv(delta_chunk, D, 8, threads),
               by_columns = codegen::rows_tv(D, delta_chunk, 8, threads);
  const TransposedTile turn = transposed_tile({"gated_delta_keys"}, "--key 128", target, s.type, delta_chunk,
                                              D, threads, D / 32, by_columns);
  const Tensor turned = k.lds("lds_keys", s.type, {D, delta_chunk}, turn.swizzle);
  const auto load = [&](const Tensor& of, const Layout& tv) {
    return k.load(k.tile(of, {1, delta_chunk, 1, D}, {b, n, h, 0}).keep({1, 3}), tv, 8);
  };
  const auto squares = [&](const Fragment& x) {
    return k.fold(Monoid::sum, k.map({x}, [](const Exprs& v) { return v[0] * v[0]; }), 1);
  };
  const auto units = [&](const Layout& tv, const Fragment& x, const Fragment& sums) {
    return k.map(
        tv, {x, sums},
        [&](const Exprs& v) { return inside(chunk * n + k.position(0), T, unit(v[0], v[1]), 0); }, s.type);
  };
  const auto put = [&](const Tensor& of, const Fragment& x) {
    k.store(x, k.tile(of, {1, 1, 1, delta_chunk, D}, {n, b, h, 0, 0}).keep({3, 4}), 8);
  };
  const Fragment query = load(Q, by_rows), key = load(K, by_rows), sums = squares(key);
  put(queries, units(by_rows, query, squares(query)));
  put(keys, units(by_rows, key, sums));
  const Fragment sums_of_rows = k.relayout(sums, codegen::without_axis(turn.loaded, 1), Element::f32);
  k.store(units(turn.written, load(K, turn.loaded), sums_of_rows), k.whole(turned).keep({1, 0}), turn.piece);
  k.store(k.read(turned, by_columns, 8),
          k.tile(columns, {1, 1, 1, D, delta_chunk}, {n, b, h, 0, 0}).keep({3, 4}), 8);
  return k;
}
// [gated_delta_keys end]

namespace {

std::vector<Judged> keys_reference(const Asked& s, const Workload& w, const Results&) {
  const std::int64_t C = delta_chunk, D = s.key;
  const std::string formula = "(D + 8) 2^-24 |x| + u |x|";
  Judged queries{"queries", {}, {}, formula}, keys{"keys", {}, {}, formula},
      columns{"key_columns", {}, {}, formula};
  for (Judged* j : {&queries, &keys, &columns})
    j->value.assign(static_cast<std::size_t>(s.chunks() * s.batch * s.heads * C * D), 0), j->bound = j->value;
  std::size_t row = 0; // [chunk, batch, head]
  for (std::int64_t n = 0; n < s.chunks(); ++n)
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t h = 0; h < s.heads; ++h, ++row)
        for (std::int64_t i = 0; i < C && n * C + i < s.tokens; ++i)
          for (const char* of : {"q", "k"}) {
            const std::vector<double>& x = w.values(of);
            const auto from = static_cast<std::size_t>(((b * s.tokens + n * C + i) * s.heads + h) * D);
            double squares = 0;
            for (std::int64_t d = 0; d < D; ++d)
              squares += x[from + static_cast<std::size_t>(d)] * x[from + static_cast<std::size_t>(d)];
            const double by = s.normalise ? 1 / std::sqrt(squares + delta_epsilon) : 1;
            for (std::int64_t d = 0; d < D; ++d) {
              const double value = x[from + static_cast<std::size_t>(d)] * by,
                           bound =
                               (static_cast<double>(D) + 8) * u32 * std::abs(value) + rounding(s.type, value);
              const auto put = [&](Judged& j, std::int64_t at) {
                const std::size_t to = row * static_cast<std::size_t>(C * D) + static_cast<std::size_t>(at);
                j.value[to] = value, j.bound[to] = bound;
              };
              put(*of == 'q' ? queries : keys, i * D + d);
              if (*of == 'k') put(columns, d * C + i);
            }
          }
  return {queries, keys, columns};
}

} // namespace

std::unique_ptr<Kernel> gated_delta_keys_kernel() {
  Page<Asked> page = chunk_page("gated_delta_keys",
                                "q and k of every head, divided by their lengths, in chunks of 64 tokens, "
                                "and k by columns too: for the "
                                "stages of the gated delta rule in chunks",
                                {"dtype", "batch", "tokens", "heads", "key", "normalise"},
                                gated_delta_keys_program, [](const Asked& s) {
                                  return fmt::format("queries and keys [{},{},{},64,{}], {}", s.chunks(),
                                                     s.batch, s.heads, s.key, to_string(s.type));
                                });
  page.reference = keys_reference;
  page.bound = [](const Asked& s) { return rounds(s.arch, s.batch * s.heads * s.chunks(), 4) * 16000; };
  return page_of(std::move(page));
}

} // namespace inlay::kernels
