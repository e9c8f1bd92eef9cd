// The data of paged decode attention, and its judge: the softmax of every part, and of all, by plain loops.
#include "caches.h"
#include "paged_data.h"

namespace inlay::kernels {
namespace {

// The first position that a query sees.
std::int64_t begin_of(const PagedDecode& s, std::int64_t length) {
  return s.window > 0 ? std::max<std::int64_t>(0, length - s.window) : 0;
}

} // namespace

// Lengths of none, all and more than all, one, a page and a part, and one beside these; a table that names no page now and then; and nothing but NaN where nobody is to look.
void paged_data(const PagedDecode& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("q", seed, 3), w.random("k", seed + 1, 3);
  if (s.scaled()) w.random("scales", seed + 3, 1, true);
  if (s.sinks) w.random("sinks", seed + 4, 3);
  std::mt19937_64 random(seed);
  const std::int64_t each = s.keys / s.page;
  std::vector<double> lengths, table;
  CacheUse used(s.pages, s.page);
  for (std::int64_t q = 0; q < s.sequences; ++q) {
    const std::int64_t edges[] = {s.keys, 0, s.keys + 9, 1, s.page, s.page - 1, s.split, s.split + 1};
    const std::int64_t length = at(q) < std::size(edges) ? edges[q] : below(random, s.keys + 1);
    lengths.push_back(static_cast<double>(length));
    const std::int64_t begin = begin_of(s, std::min(length, s.keys));
    for (std::int64_t n = 0; n < each; ++n) {
      const std::int64_t page = n * s.page >= length || (n + 1) * s.page <= begin || n % 11 == 5
                                    ? below(random, 2) * (s.pages + 1) - 1
                                    : below(random, s.pages);
      table.push_back(static_cast<double>(page));
      used.add(page, n, begin, length);
    }
  }
  w.set("lengths", lengths), w.set("table", table);
  for (const char* name : {"k", "v"}) used.leave_alone(w, name, s.kv_heads * s.head_dim);
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
  if (s.alone()) return {o};
  return {o, parts, most, sums, arrived};
}

} // namespace inlay::kernels
