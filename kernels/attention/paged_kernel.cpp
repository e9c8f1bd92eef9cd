// `paged_decode` on the command line, its data and their judge.
#include "../page.h"
#include "paged.h"

#include <fmt/format.h>
#include <random>

namespace inlay::kernels {
namespace {

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

// Lengths of none, all and more than all; a table that names no page now and then; and nothing but NaN where nobody is to look.
void data(const PagedDecode& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("q", seed, 3), w.random("k", seed + 1, 3);
  if (s.scaled()) w.random("scales", seed + 3, 1, true);
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const std::int64_t each = s.keys / s.page;
  std::vector<double> lengths, table;
  std::vector<bool> used(at(s.pages * s.page), false);
  for (std::int64_t q = 0; q < s.sequences; ++q) {
    const std::int64_t length = q == 0 ? s.keys : q == 1 ? 0 : q == 2 ? s.keys + 9 : below(s.keys + 1);
    lengths.push_back(static_cast<double>(length));
    for (std::int64_t n = 0; n < each; ++n) {
      const std::int64_t page =
          n * s.page >= length || n % 11 == 5 ? below(2) * (s.pages + 1) - 1 : below(s.pages);
      table.push_back(static_cast<double>(page));
      for (std::int64_t i = 0; i < s.page && n * s.page + i < length && page >= 0 && page < s.pages; ++i)
        used[at(page * s.page + i)] = true;
    }
  }
  w.set("lengths", lengths), w.set("table", table);
  for (const char* name : {"k", "v"}) {
    std::vector<double> values = w.values(name);
    const std::size_t row = at(s.kv_heads * s.head_dim);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!used[i / row]) values[i] = NAN;
    w.set(name, values);
  }
}

std::vector<Judged> reference(const PagedDecode& s, const Workload& w, const Results&) {
  const auto d = at(s.head_dim), group = at(s.group);
  const double score = (2.0 * s.head_dim * 9 * std::sqrt(s.head_dim) + 24) * u32,
               sum = (static_cast<double>(s.keys) + 64) * u32;
  const double scale_k = s.scaled() ? w.values("scales")[0] : 1,
               scale_v = s.scaled() ? w.values("scales")[1] : 1;
  Judged o{"o", {}, {}, "(u + 4 s + 2 (keys + 64) 2^-24) sum p |v| + u |o|, s: error of a score"};
  for (std::int64_t q = 0; q < s.sequences; ++q)
    for (std::int64_t h = 0; h < s.kv_heads; ++h)
      for (std::size_t g = 0; g < group; ++g) {
        const std::size_t row = (at(q * s.kv_heads + h) * group + g) * d;
        std::vector<double> p, value(d, 0), size(d, 0);
        const auto length = std::min(at(s.keys), at(static_cast<std::int64_t>(w.values("lengths")[at(q)])));
        const auto place = [&](std::size_t i) { // of position i in the caches, or nowhere
          const auto page =
              static_cast<std::int64_t>(w.values("table")[at(q * s.keys / s.page) + i / at(s.page)]);
          if (page < 0 || page >= s.pages) return std::optional<std::size_t>();
          return std::optional(
              (at(page * s.page + static_cast<std::int64_t>(i) % s.page) * at(s.kv_heads) + at(h)) * d);
        };
        for (std::size_t i = 0; i < length; ++i) {
          const auto from = place(i);
          double x = 0;
          for (std::size_t c = 0; from && c < d; ++c) x += w.values("q")[row + c] * w.values("k")[*from + c];
          p.push_back(x * scale_k / std::sqrt(s.head_dim));
        }
        const double most = length > 0 ? *std::max_element(p.begin(), p.end()) : 0;
        double all = 0;
        for (double& x : p) all += x = std::exp(x - most);
        for (std::size_t i = 0; i < length; ++i)
          if (const auto from = place(i))
            for (std::size_t c = 0; c < d; ++c) {
              const double v = p[i] / all * scale_v * w.values("v")[*from + c];
              value[c] += v, size[c] += std::abs(v);
            }
        for (std::size_t c = 0; c < d; ++c) {
          o.value.push_back(value[c]);
          o.bound.push_back((codegen::unit_roundoff(s.type) + 4 * score + 2 * sum) * size[c] +
                            rounding(s.type, value[c]));
        }
      }
  return {o};
}

} // namespace

std::unique_ptr<Kernel> paged_decode_kernel() {
  using Read = Reads<PagedDecode>;
  return page_of(Page<PagedDecode>{
      .summary = "softmax(q K^T / sqrt(D)) V for one query a sequence, K and V in pages that a table names, "
                 "lengths from memory",
      .options = {"paged_decode",
                  {arch_option<PagedDecode>(),
                   {"dtype", Read::element(&PagedDecode::type, "f16, bf16"), "bf16",
                    "of the queries and the result"},
                   {"kv-dtype", Read::element(&PagedDecode::cache, "f16, bf16, fp8"), "bf16",
                    "of the caches; fp8: with a scale for K and one for V"},
                   {"head-dim", Read::number(&PagedDecode::head_dim, 1, 1024), "128",
                    "elements of a head, 64 or 128"},
                   {"group", Read::number(&PagedDecode::group, 1, 16), "8",
                    "heads of queries that share one of keys and values"},
                   {"page", Read::number(&PagedDecode::page, 1, 1024), "16", "positions of a page"},
                   {"sequences", Read::number(&PagedDecode::sequences, 1, 1 << 16), "3", "queries"},
                   {"kv-heads", Read::number(&PagedDecode::kv_heads, 1, 256), "2",
                    "heads of keys and values"},
                   {"keys", Read::number(&PagedDecode::keys, 1, 1 << 22), "272",
                    "the longest sequence that the table has pages for, a multiple of the page"},
                   {"pages", Read::number(&PagedDecode::pages, 1, 1 << 24), "64", "of the caches"},
                   {"tile-k", Read::number(&PagedDecode::tile_k, 1, 1024), "auto",
                    "positions at a time, 32 or 64", "64"},
                   {"distance", Read::number(&PagedDecode::distance, 0, 3), "auto",
                    "trips that loads run ahead", "1"}}},
      .program = paged_decode_program,
      .sizes =
          [](const PagedDecode& s) {
            return std::vector{s.sequences, s.kv_heads, s.keys, s.pages};
          },
      .size_names = {"sequences", "kv_heads", "keys", "pages"},
      .data = data,
      .reference = reference,
      .text =
          [](const PagedDecode& s) {
            return fmt::format("O[{},{},{},{}] = attention to up to {} keys in pages of {}, {}", s.sequences,
                               s.kv_heads, s.group, s.head_dim, s.keys, s.page, to_string(s.cache));
          }});
}

} // namespace inlay::kernels
