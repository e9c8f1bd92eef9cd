// `paged_decode` on the command line, its data and their judge.
#include "../page.h"
#include "paged.h"

#include <fmt/format.h>
#include <random>

namespace inlay::kernels {
namespace {

// The first position that a query sees.
std::int64_t begin_of(const PagedDecode& s, std::int64_t length) {
  return s.window > 0 ? std::max<std::int64_t>(0, length - s.window) : 0;
}

// Lengths of none, all and more than all, one, a page and a part, and one beside these; a table that names no page now and then; and nothing but NaN where nobody is to look.
void paged_data(const PagedDecode& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("q", seed, 3), w.random("k", seed + 1, 3);
  if (s.scaled()) w.random("scales", seed + 3, 1, true);
  if (s.sinks) w.random("sinks", seed + 4, 3);
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const std::int64_t each = s.keys / s.page;
  std::vector<double> lengths, table;
  std::vector<bool> used(at(s.pages * s.page), false);
  for (std::int64_t q = 0; q < s.sequences; ++q) {
    const std::int64_t edges[] = {s.keys, 0, s.keys + 9, 1, s.page, s.page - 1, s.split, s.split + 1};
    const std::int64_t length = at(q) < std::size(edges) ? edges[q] : below(s.keys + 1);
    lengths.push_back(static_cast<double>(length));
    const std::int64_t begin = begin_of(s, std::min(length, s.keys));
    for (std::int64_t n = 0; n < each; ++n) {
      const std::int64_t page = n * s.page >= length || (n + 1) * s.page <= begin || n % 11 == 5
                                    ? below(2) * (s.pages + 1) - 1
                                    : below(s.pages);
      table.push_back(static_cast<double>(page));
      for (std::int64_t i = 0; i < s.page && n * s.page + i < length && page >= 0 && page < s.pages; ++i)
        if (n * s.page + i >= begin) used[at(page * s.page + i)] = true;
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

std::vector<Judged> paged_reference(const PagedDecode& s, const Workload& w, const Results&) {
  const auto d = at(s.head_dim), group = at(s.group), page = at(s.page), split = at(s.part()),
             keys = at(s.keys);
  const double score = (2.0 * s.head_dim * 9 * std::sqrt(s.head_dim) + 24 + 8 * s.soft_cap) * u32,
               sum = (static_cast<double>(s.keys) + 64) * u32, of_sum = 4 * score + 2 * sum;
  const double scale_k = s.scaled() ? w.values("scales")[0] : 1,
               scale_v = s.scaled() ? w.values("scales")[1] : 1;
  const double u_parts = s.of_parts() == s.type ? codegen::unit_roundoff(s.type) : 0;
  Judged o{"o",
           {},
           {},
           u_parts > 0 ? "(2 u + 4 s + 2 (keys + 64) 2^-24) sum p |v| + u |o|, s: error of a score"
                       : "(u + 4 s + 2 (keys + 64) 2^-24) sum p |v| + u |o|, s: error of a score"},
      parts{"parts",
            {},
            {},
            u_parts > 0 ? "(2 u + 4 s + 2 (keys + 64) 2^-24) sum p |v|"
                        : "(u + 4 s + 2 (keys + 64) 2^-24) sum p |v|"},
      most{"most", {}, {}, "s, the error of a score"},
      sums{"sums", {}, {}, "(4 s + 2 (keys + 64) 2^-24) sum p"};
  for (std::size_t q = 0; q < at(s.sequences); ++q)
    for (std::size_t h = 0; h < at(s.kv_heads); ++h) {
      const std::size_t length = std::min(keys, at(static_cast<std::int64_t>(w.values("lengths")[q]))),
                        first = at(begin_of(s, static_cast<std::int64_t>(length)));
      const std::int64_t tile =
          (static_cast<std::int64_t>(length) + s.tile_k - 1) / s.tile_k * s.tile_k - s.parts() * s.part();
      const std::size_t start =
                            s.window > 0 ? at(std::max<std::int64_t>(0, tile)) : 0, // where the parts begin
          stop = s.window > 0 ? start + at(s.parts()) * split : keys;
      const auto place = [&](std::size_t i) { // of position i in the caches, or nowhere
        const auto number = static_cast<std::int64_t>(w.values("table")[q * keys / page + i / page]);
        if (number < 0 || number >= s.pages) return std::optional<std::size_t>();
        return std::optional(((at(number) * page + i % page) * at(s.kv_heads) + h) * d);
      };
      // Positions from begin to end, of head g: the greatest score, and sums of powers and of values over it.
      struct Part {
        double most = 0, sum = 0;
        std::vector<double> value, size;
      };
      const auto part_of = [&](std::size_t g, std::size_t begin, std::size_t end) {
        const std::size_t row = ((q * at(s.kv_heads) + h) * group + g) * d;
        Part part{0, 0, std::vector<double>(d, 0), std::vector<double>(d, 0)};
        std::vector<double> x;
        for (std::size_t i = begin; i < end; ++i) {
          const auto from = place(i);
          double dot = 0;
          for (std::size_t c = 0; from && c < d; ++c)
            dot += w.values("q")[row + c] * w.values("k")[*from + c];
          dot *= scale_k / std::sqrt(s.head_dim);
          x.push_back(s.soft_cap > 0 ? s.soft_cap * std::tanh(dot / s.soft_cap) : dot);
        }
        if (begin < end) part.most = *std::max_element(x.begin(), x.end());
        for (std::size_t i = begin; i < end; ++i) {
          const double p = std::exp(x[i - begin] - part.most);
          part.sum += p;
          if (const auto from = place(i))
            for (std::size_t c = 0; c < d; ++c) {
              const double v = p * w.values("v")[*from + c];
              part.value[c] += v, part.size[c] += std::abs(v);
            }
        }
        return part;
      };
      for (std::size_t begin = start; begin < stop; begin += split)
        for (std::size_t g = 0; g < group; ++g) {
          Part part = part_of(g, std::clamp(begin, first, length), std::min(begin + split, length));
          // Of a window's part that has no position seen, all scores are minus infinity.
          if (s.window > 0 && part.sum == 0) part.most = std::numeric_limits<float>::lowest();
          most.value.push_back(part.most), most.bound.push_back(part.sum == 0 ? 0 : score);
          sums.value.push_back(part.sum), sums.bound.push_back(of_sum * part.sum);
          for (std::size_t c = 0; c < d; ++c)
            parts.value.push_back(part.value[c]),
                parts.bound.push_back((codegen::unit_roundoff(s.type) + u_parts + of_sum) * part.size[c]);
        }
      for (std::size_t g = 0; g < group; ++g) {
        Part all = part_of(g, first, length);
        if (s.sinks) all.sum += std::exp(w.values("sinks")[h * group + g] - all.most);
        for (std::size_t c = 0; c < d; ++c) {
          const double by = length > 0 ? scale_v / all.sum : 0;
          o.value.push_back(by * all.value[c]);
          o.bound.push_back((codegen::unit_roundoff(s.type) + u_parts + of_sum) * by * all.size[c] +
                            rounding(s.type, o.value.back()));
        }
      }
    }
  const Judged arrived{"arrived", std::vector<double>(at(s.sequences * s.kv_heads), 0),
                       std::vector<double>(at(s.sequences * s.kv_heads), 0), "0: as before the launch"};
  return {o, parts, most, sums, arrived};
}

// The split by which the unit with most to do has least, in positions: those of its parts, of which it has every units-th, and what
// a part's values cost it once, and twice for each where it puts parts together, after all others. A wave alone is slower than a
// unit's memory, of which there is more where units are fewer.
int even_split(const PagedDecode& asked) {
  const std::int64_t units = codegen::Target::named(asked.arch).compute_units,
                     pairs = asked.sequences * asked.kv_heads;
  const double bytes = codegen::bits(asked.cache) / 8.0,
               of_part = asked.group * codegen::bits(asked.of_parts()) / 16.0 / bytes;
  std::optional<std::pair<double, int>> best;
  PagedDecode s = asked;
  for (s.split = s.step(); s.split <= std::max(1152, s.step()); s.split += s.step()) {
    if (s.keys % s.of_keys() != 0) continue;
    const std::int64_t p = s.part(), whole = s.window > 0 ? s.parts() : s.keys / p,
                       parts = s.window > 0 ? whole : up(s.keys, p);
    // The first unit has most of both.
    const std::int64_t of_whole = up(pairs * whole, units), all = up(pairs * parts, units);
    const double most = static_cast<double>(of_whole * p + (all - of_whole) * (s.keys - whole * p)) +
                        of_part * static_cast<double>(all);
    const double cost = std::max(most, 900 / static_cast<double>(units) / bytes * static_cast<double>(p)) +
                        2 * of_part * static_cast<double>(parts);
    if (!best || cost < best->first) best = {cost, s.split};
  }
  return best ? best->second : PagedDecode{}.split;
}

} // namespace

void PagedDecode::check() const {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("paged_decode: {}\n  hint   {}", what, hint));
  };
  if (head_dim != 64 && head_dim != 128) refuse(fmt::format("--head-dim {}", head_dim), "64 or 128");
  if (tile_k != 32 && tile_k != 64) refuse(fmt::format("--tile-k {}", tile_k), "32 or 64");
  if (page < 1 || (tile_k % page != 0 && page % tile_k != 0))
    refuse(fmt::format("--page {} with --tile-k {}", page, tile_k),
           "1, 2, 4, ..: a tile is whole pages, or a part of one");
  if (!std::isfinite(soft_cap) || soft_cap < 0)
    refuse(fmt::format("--soft-cap {}", soft_cap), "a positive number, or 0 for none");
  if (split % step() != 0)
    refuse(fmt::format("--split {} with --tile-k {} and --page {}", split, tile_k, page),
           "a multiple of both");
  if (scaled() && codegen::bits(cache) != 8)
    refuse(fmt::format("--kv-dtype {} with --dtype {}", to_string(cache), to_string(type)),
           "the same, or fp8 with scales");
}

std::unique_ptr<Kernel> paged_decode_kernel() {
  using Read = Reads<PagedDecode>;
  return page_of(Page<PagedDecode>{
      .summary = "softmax(q K^T / sqrt(D)) V for one query a sequence, K and V in pages that a table names, "
                 "lengths from memory",
      .options =
          {"paged_decode",
           {arch_option<PagedDecode>(),
            {"dtype", Read::element(&PagedDecode::type, "f16, bf16"), "bf16",
             "of the queries and the result"},
            {"kv-dtype", Read::element(&PagedDecode::cache, "f16, bf16, fp8"), "bf16",
             "of the caches; fp8: with a scale for K and one for V"},
            {"head-dim", Read::number(&PagedDecode::head_dim, 1, 1024), "128",
             "elements of a head, 64 or 128"},
            {"group", Read::number(&PagedDecode::group, 1, 16), "8",
             "heads of queries that share one of keys and values"},
            {"soft-cap", Read::real(&PagedDecode::soft_cap), "0",
             "of the scores: x becomes cap tanh(x / cap); 0 for none"},
            {"sinks", Read::yes(&PagedDecode::sinks), "no",
             "yes: each head has a score more, of no value, in the input `sinks`"},
            {"window", Read::number(&PagedDecode::window, 0, 1 << 20), "0",
             "N: a query sees the last N positions of its sequence, what lies before is not read; 0 for all"},
            {"page", Read::number(&PagedDecode::page, 1, 1024), "16", "positions of a page"},
            {"sequences", Read::number(&PagedDecode::sequences, 1, 1 << 16), "3", "queries"},
            {"kv-heads", Read::number(&PagedDecode::kv_heads, 1, 256), "2", "heads of keys and values"},
            {"keys", Read::number(&PagedDecode::keys, 1, 1 << 22), "512",
             "the longest sequence that the table has pages for, a multiple of tile-k and page, and with a "
             "distance of 2 or 3 of the split"},
            {"pages", Read::number(&PagedDecode::pages, 1, 1 << 24), "64", "of the caches"},
            {"split", Read::number(&PagedDecode::split, 1, 1 << 20), "auto",
             "positions of a part, which a workgroup has: the same for every sequence; given, a result does "
             "not depend on the batch, else units have equal work for these sizes",
             "256"},
            {"tile-k", Read::number(&PagedDecode::tile_k, 1, 1024), "32", "positions at a time, 32 or 64"},
            {"distance", Read::number(&PagedDecode::distance, 0, 3), "auto", "trips that loads run ahead",
             "1"}}},
      .program = paged_decode_program,
      .sizes =
          [](const PagedDecode& s) {
            return std::vector{s.sequences, s.kv_heads, s.keys, s.pages};
          },
      .size_names = {"sequences", "kv-heads", "keys", "pages"},
      .data = paged_data,
      .reference = paged_reference,
      .text =
          [](const PagedDecode& s) {
            return fmt::format("O[{},{},{},{}] = attention to {} {} keys in pages of {}, {}", s.sequences,
                               s.kv_heads, s.group, s.head_dim, s.window > 0 ? "the last" : "up to",
                               s.window > 0 ? s.window : s.keys, s.page, to_string(s.cache));
          },
      // One: loads a trip ahead; without, or with more, a launch takes longer, and the model's launches have sequences of no length.
      .candidates =
          [](const PagedDecode& s, const Flags& fixed) {
            return only_candidate({{"distance", "1"}, {"split", std::to_string(even_split(s))}}, fixed);
          },
      .bound = [](const PagedDecode&) { return 1.0; }});
}

} // namespace inlay::kernels
