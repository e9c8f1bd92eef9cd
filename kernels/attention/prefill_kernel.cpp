// `varlen_attention` on the command line, its data and their judge.
#include "../page.h"
#include "prefill.h"

#include <fmt/format.h>
#include <random>

namespace inlay::kernels {
namespace {

// Queries and keys of each sequence: none, one, a part of a tile, all; a sequence without keys, one whose queries are its last ones.
struct Sequences {
  std::vector<std::int64_t> queries, keys, row, position, sequence, ends,
      first; ///< of a block: the first page of its sequence that its tables have
  std::int64_t rows = 0;
};
Sequences sequences_of(const Prefill& s) {
  Sequences out;
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (std::int64_t q = 0; q < s.sequences; ++q) {
    const std::int64_t some[] = {s.queries, 1, 0, s.tile_q, s.tile_q + 1};
    const std::int64_t n = at(q) < std::size(some) ? std::min(some[q], s.keys)
                                                   : below(std::min(s.queries, s.keys) + 1),
                       keys = q == 1       ? 0
                              : q % 2 == 0 ? n + below(s.keys - n + 1)
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
  const auto refuse = [](const char* option, std::int64_t given, std::int64_t least) {
    throw std::invalid_argument(fmt::format(
        "varlen_attention: --{0} {1}, and the sequences have {2}\n  hint   --{0} {2} or more, or 0", option,
        given, least));
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
  std::vector<bool> used(at(s.pages * s.page), false);
  for (std::int64_t q = 0; q < s.sequences; ++q)
    for (std::int64_t n = 0; n < each; ++n) {
      const bool none = n * s.page >= of.keys[at(q)] || n % 11 == 5;
      const std::int64_t page =
          none ? -1 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(s.pages));
      table.push_back(static_cast<double>(page));
      for (std::int64_t i = 0; !none && i < s.page && n * s.page + i < of.keys[at(q)]; ++i)
        used[at(page * s.page + i)] = true;
    }
  for (std::size_t b = 0; b < of.sequence.size(); ++b)
    for (std::int64_t n = 0; n < each; ++n)
      of_blocks.push_back(of.first[b] + n < each ? table[at(of.sequence[b] * each + of.first[b] + n)] : -1);
  w.set("table", of_blocks);
  for (const char* name : {"k", "v"}) {
    std::vector<double> values = w.values(name);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!used[i / at(s.kv_heads * (*name == 'k' ? s.head_dim : s.values()))]) values[i] = NAN;
    w.set(name, values);
  }
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

} // namespace

void Prefill::check() const {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("varlen_attention: {}\n  hint   {}", what, hint));
  };
  const Element fp8 =
      codegen::Target::named(arch).has_fp8() ? codegen::fp8(codegen::Target::named(arch)) : type;
  if (type != Element::f16 && type != Element::bf16 && (type != fp8 || codegen::bits(type) != 8))
    refuse(fmt::format("--dtype {}", to_string(type)), "f16, bf16 or the target's fp8");
  if (of_cache() != type && of_cache() != fp8)
    refuse(fmt::format("--kv-dtype {} with --dtype {}", to_string(of_cache()), to_string(type)),
           "the same, or fp8 with scales");
  for (const auto& [name, dim] : {std::pair("head-dim", head_dim), std::pair("value-dim", values())})
    if (dim != 64 && dim != 96 && dim != 128 && dim != 192 && dim != 256)
      refuse(fmt::format("--{} {}", name, dim), "64, 96, 128, 192 or 256");
  if (soft_cap < 0) refuse(fmt::format("--soft-cap {}", soft_cap), "a number from 0 on");
  if (window > 0 && bias)
    refuse("--bias yes with --window", "one of them: positions of a window may count from any page");
  if (!causal && (window > 0 || alibi))
    refuse(fmt::format("--causal no with --{}", window > 0 ? "window" : "alibi"),
           "yes: both are of a row's own position");
  if (waves != 1 && waves != 2 && waves != 4) refuse(fmt::format("--waves {}", waves), "1, 2 or 4");
  if (tile_q != 16 * waves && tile_q != 32 * waves)
    refuse(fmt::format("--tile-q {} with --waves {}", tile_q, waves), "16 or 32 rows a wave");
  if (tile_k != 32 && tile_k != 64) refuse(fmt::format("--tile-k {}", tile_k), "32 or 64");
  if (page < 1 || tile_k % page != 0)
    refuse(fmt::format("--page {} with --tile-k {}", page, tile_k), "1, 2, 4, ..: a tile is whole pages");
}

std::unique_ptr<Kernel> varlen_attention_kernel() {
  using Read = Reads<Prefill>;
  return page_of(Page<Prefill>{
      .summary = "softmax(Q K^T / sqrt(D)) V of sequences of any lengths beside one another, K and V in "
                 "pages that a table names",
      .options =
          {"varlen_attention",
           {arch_option<Prefill>(),
            {"dtype", Read::element(&Prefill::type, "f16, bf16, fp8"), "bf16",
             "of Q and the products; of fp8 O is bf16"},
            {"kv-dtype",
             Read::parsed(&Prefill::cache, "same, fp8",
                          [](const Prefill& asked, const std::string& text) -> std::optional<Element> {
                            if (text == "same") return {};
                            return codegen::parse_element(text, codegen::Target::named(asked.arch));
                          }),
             "same", "of K and V; fp8: with a scale of products of Q and K and one of V"},
            {"head-dim", Read::number(&Prefill::head_dim, 1, 1024), "128",
             "elements of a head: 64, 96, 128, 192 or 256"},
            {"value-dim", Read::number(&Prefill::value_dim, 0, 1024), "0",
             "elements of a value; 0: as of a head"},
            {"window", Read::number(&Prefill::window, 0, 1 << 22), "0",
             "keys that a query sees, its own the last; 0: all"},
            {"soft-cap", Read::real(&Prefill::soft_cap), "0",
             "a score x becomes cap tanh(x / cap); 0: it stays x"},
            {"alibi", Read::yes(&Prefill::alibi), "no",
             "slopes[h] (i - position) added to the score of key i"},
            {"blocks", Read::number(&Prefill::blocks, 0, 1 << 20), "0",
             "of a launch, as attention_blocks makes them; 0: those that the sequences have"},
            {"rows", Read::number(&Prefill::rows, 0, 1 << 24), "0",
             "of q in a launch; 0: those that the sequences have"},
            {"bias", Read::yes(&Prefill::bias), "no", "bias[row,h,i] added to the score of key i"},
            {"sinks", Read::yes(&Prefill::sinks), "no", "a score of each head that has no value"},
            {"causal", Read::yes(&Prefill::causal), "yes",
             "yes: a query sees the keys up to its own position; no: all of its sequence"},
            {"group", Read::number(&Prefill::group, 1, 64), "1", "heads of Q that share one of K and V"},
            {"page", Read::number(&Prefill::page, 1, 1024), "16",
             "positions of a page; 1: rows of any tensor"},
            {"sequences", Read::number(&Prefill::sequences, 1, 1 << 16), "4", "sequences"},
            {"queries", Read::number(&Prefill::queries, 1, 1 << 20), "100",
             "of the longest one; the others have fewer"},
            {"kv-heads", Read::number(&Prefill::kv_heads, 1, 64), "2", "heads of keys and values"},
            {"keys", Read::number(&Prefill::keys, 1, 1 << 22), "256",
             "the longest sequence that the table has pages for, a multiple of tile-k"},
            {"pages", Read::number(&Prefill::pages, 1, 1 << 24), "64", "of the caches"},
            {"tile-q", Read::number(&Prefill::tile_q, 1, 1024), "64",
             "slots of a block: 16 or 32 for each of its waves"},
            {"tile-k", Read::number(&Prefill::tile_k, 1, 1024), "auto", "keys at a time, 32 or 64", "64"},
            {"waves", Read::number(&Prefill::waves, 1, 16), "auto", "waves of a workgroup: 1, 2 or 4", "4"}}},
      .program = varlen_attention_program,
      .sizes =
          [](const Prefill& s) {
            const Sequences of = sequences_of(s);
            return std::vector<std::int64_t>{static_cast<std::int64_t>(of.ends.size()), of.rows, s.heads(),
                                             s.keys, s.pages};
          },
      .size_names = {"sequences", "queries", "kv-heads", "keys", "pages"},
      .data = varlen_data,
      .reference = varlen_reference,
      .text =
          [](const Prefill& s) {
            return fmt::format(
                "O[{},{},{}] = attention of {} sequences to up to {} keys in pages of {}, {}{}",
                sequences_of(s).rows, s.heads(), s.head_dim, s.sequences, s.keys, s.page,
                s.causal ? "causal, " : "", to_string(s.type));
          },
      // One: the model's launches have sequences of no length. With data all others take longer (docs/measurements/codegen.md).
      .candidates =
          [](const Prefill& s, const Flags& fixed) {
            return only_candidate({{"tile-k", s.keys % 64 == 0 ? "64" : "32"},
                                   {"waves", s.tile_q % 64 == 0   ? "4"
                                             : s.tile_q % 32 == 0 ? "2"
                                                                  : "1"}},
                                  fixed);
          },
      .bound = [](const Prefill&) { return 1.0; }});
}

} // namespace inlay::kernels
