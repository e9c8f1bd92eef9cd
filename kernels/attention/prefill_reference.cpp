// Sequences of any lengths and their pages, and the judge: the softmax of every slot and head, by plain loops.
#include "caches.h"
#include "prefill_data.h"

#include <fmt/format.h>

namespace inlay::kernels {

Sequences sequences_of(const Prefill& s) {
  Sequences out;
  std::mt19937_64 random(7);
  for (std::int64_t q = 0; q < s.sequences; ++q) {
    const std::int64_t some[] = {s.queries, 1, 0, s.tile_q, s.tile_q + 1};
    const std::int64_t n = at(q) < std::size(some) ? std::min(some[q], s.keys)
                                                   : below(random, std::min(s.queries, s.keys) + 1),
                       keys = q == 1       ? 0
                              : q % 2 == 0 ? n + below(random, s.keys - n + 1)
                                           : n;
    out.queries.push_back(n), out.keys.push_back(keys);
    for (std::int64_t first = 0; first < n; first += s.tile_q) {
      const std::int64_t last = std::min(first + s.tile_q, n);
      out.sequence.push_back(q);
      // With a window, from the page on that the block's first row sees first.
      const std::int64_t page =
          s.window > 0 ? std::max<std::int64_t>(0, keys - n + first - s.window + 1) / s.page : 0;
      const std::int64_t before = page * s.page;
      out.first.push_back(page);
      out.ends.push_back((s.causal ? std::max<std::int64_t>(0, keys - n + last) * (keys > 0) : keys) -
                         (keys > 0 ? before : 0));
      for (std::int64_t i = first; i < first + s.tile_q; ++i) {
        out.row.push_back(i < n ? out.rows + i : -1);
        out.position.push_back((s.causal ? keys - n + std::min(i, n - 1) : keys - 1) - before);
      }
    }
    out.rows += n;
  }
  // Blocks that no sequence has: no row, and no key.
  const auto has = static_cast<std::int64_t>(out.ends.size());
  const auto refuse = [](const std::string& option, std::int64_t given, std::int64_t least) {
    Refusal{"varlen_attention"}(fmt::format("--{} {}, and the sequences have {}", option, given, least),
                                fmt::format("--{} {} or more, or 0", option, least));
  };
  if (s.blocks > 0 && s.blocks < has) refuse("blocks", s.blocks, has);
  if (s.rows > 0 && s.rows < out.rows) refuse("rows", s.rows, out.rows);
  for (std::int64_t b = has; b < s.blocks; ++b) {
    out.sequence.push_back(0), out.first.push_back(0), out.ends.push_back(0);
    out.row.insert(out.row.end(), at(s.tile_q), -1),
        out.position.insert(out.position.end(), at(s.tile_q), -1);
  }
  out.rows = std::max(out.rows, s.rows);
  return out;
}

void varlen_data(const Prefill& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("q", seed, 3), w.random("k", seed + 1, 3);
  if (s.scaled()) w.random("scales", seed + 2, 1, true);
  const Sequences of = sequences_of(s);
  const auto set = [&](const char* name, const std::vector<std::int64_t>& values) {
    w.set(name, std::vector<double>(values.begin(), values.end()));
  };
  set("row", of.row), set("position", of.position), set("ends", of.ends);
  // Nothing but NaN where nobody is to look; now and then a table names no page.
  std::mt19937_64 random(seed);
  const std::int64_t each = s.keys / s.page;
  std::vector<double> table, of_blocks;
  CacheUse used(s.pages, s.page);
  for (std::int64_t q = 0; q < s.sequences; ++q)
    for (std::int64_t n = 0; n < each; ++n) {
      const bool none = n * s.page >= of.keys[at(q)] || n % 11 == 5;
      const std::int64_t page = none ? -1 : below(random, s.pages);
      table.push_back(static_cast<double>(page));
      used.add(page, n, 0, of.keys[at(q)]);
    }
  for (std::size_t b = 0; b < of.sequence.size(); ++b)
    for (std::int64_t n = 0; n < each; ++n)
      of_blocks.push_back(of.first[b] + n < each ? table[at(of.sequence[b] * each + of.first[b] + n)] : -1);
  w.set("table", of_blocks);
  used.leave_alone(w, "k", s.kv_heads * s.head_dim), used.leave_alone(w, "v", s.kv_heads * s.values());
}

std::vector<Judged> varlen_reference(const Prefill& s, const Workload& w, const Results&) {
  const Sequences of = sequences_of(s);
  const auto d = at(s.head_dim), dv = at(s.values()), heads = at(s.heads()), page = at(s.page);
  const double scale_k = s.scaled() ? w.values("scales")[0] : 1,
               scale_v = s.scaled() ? w.values("scales")[1] : 1;
  // What a power of e that is rounded to the products' type may lose beside its share.
  const double least = codegen::bits(s.type) == 8 ? codegen::smallest_positive(s.type) / 2 : 0;
  const double score = (2.0 * s.head_dim * 9 * std::sqrt(s.head_dim) + 24) * u32,
               sum = (static_cast<double>(s.keys) + 64) * u32;
  Judged o{"o", {}, {}, "(u + 4 s + 2 (keys + 64) 2^-24) sum p |v| + u |o|, s: error of a score"},
      lse{"lse", {}, {}, "2 s + 2 (keys + 64) 2^-24"};
  for (std::size_t slot = 0; slot < of.row.size(); ++slot)
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t block = slot / at(s.tile_q);
      const auto place = [&](std::size_t n) -> std::optional<std::size_t> {
        const double number = w.values("table")[(block * at(s.keys) + n) / page];
        if (number < 0) return std::nullopt;
        return (static_cast<std::size_t>(number) * page + n % page) * at(s.kv_heads) + h / at(s.group);
      };
      std::vector<double> x, value(dv, 0), size(dv, 0), lost(dv, 0);
      const std::int64_t ends = of.ends[block], sees = std::min(ends, of.position[slot] + 1);
      const std::int64_t from_key =
          s.window > 0 ? std::max<std::int64_t>(0, of.position[slot] + 1 - s.window) : 0;
      for (std::size_t n = at(from_key); n < at(std::max<std::int64_t>(sees, 0)); ++n) {
        const auto from = of.row[slot] < 0 ? std::nullopt : place(n);
        double dot = 0;
        for (std::size_t c = 0; from && c < d; ++c)
          dot += w.values("q")[(at(of.row[slot]) * heads + h) * d + c] * w.values("k")[*from * d + c];
        double score_of = scale_k * dot / std::sqrt(s.head_dim);
        if (s.soft_cap > 0) score_of = s.soft_cap * std::tanh(score_of / s.soft_cap);
        if (s.alibi)
          score_of +=
              w.values("slopes")[h] * static_cast<double>(static_cast<std::int64_t>(n) - of.position[slot]);
        if (s.bias && of.row[slot] >= 0)
          score_of += w.values("bias")[(at(of.row[slot]) * heads + h) * at(s.keys) + n];
        x.push_back(score_of);
      }
      const double most = x.empty() ? 0 : *std::max_element(x.begin(), x.end());
      double all = s.sinks && !x.empty() ? std::exp(w.values("sinks")[h] - most) : 0;
      for (std::size_t n = 0; n < x.size(); ++n) {
        const double p = std::exp(x[n] - most);
        all += p;
        if (const auto from = place(at(from_key) + n))
          for (std::size_t c = 0; c < dv; ++c) {
            const double v = scale_v * w.values("v")[*from * dv + c];
            value[c] += p * v, size[c] += p * std::abs(v), lost[c] += least * std::abs(v);
          }
      }
      for (std::size_t c = 0; c < dv; ++c) {
        o.value.push_back(x.empty() ? 0 : value[c] / all);
        o.bound.push_back(
            x.empty() ? 0
                      : ((codegen::unit_roundoff(s.type) + 4 * score + 2 * sum) * size[c] + lost[c]) / all +
                            rounding(s.out(), o.value.back()));
      }
      lse.value.push_back(x.empty() ? Prefill::unseen : most + std::log(all));
      lse.bound.push_back(x.empty() ? 0 : 2 * score + 2 * sum + 4 * u32 * std::abs(lse.value.back()));
    }
  return {o, lse};
}

} // namespace inlay::kernels
