// `mla_decode` and `mla_reduce` on the command line, their data and their judges.
#include "../page.h"
#include "mla.h"

#include <fmt/format.h>
#include <random>

namespace inlay::kernels {
namespace {

// Lengths of none, all and more than all, of fewer tokens than there are queries, and beside pages and parts.
std::int64_t length_of(const Latent& s, std::int64_t sequence, std::mt19937_64& random) {
  const std::int64_t edges[] = {s.keys, 0, s.keys + 9, 1, s.page + 1, s.split - 1, s.split + 1, s.queries};
  return at(sequence) < std::size(edges)
             ? edges[sequence]
             : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(s.keys + 1));
}

// A table that names no page now and then, and nothing but NaN where nobody is to look.
void mla_data(const Latent& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("q", seed, 3), w.random("kv", seed + 1, 3);
  if (s.scaled()) w.random("scale", seed + 3, 1, true);
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  std::vector<double> lengths, table, rows = w.values("kv");
  std::vector<bool> used(at(s.pages * s.page), false);
  for (std::int64_t q = 0; q < s.sequences; ++q) {
    const std::int64_t length = length_of(s, q, random);
    lengths.push_back(static_cast<double>(length));
    for (std::int64_t n = 0; n < s.keys / s.page; ++n) {
      const bool none = n * s.page >= length || n % 11 == 5;
      const std::int64_t page = none ? below(2) * (s.pages + 1) - 1 : below(s.pages);
      table.push_back(static_cast<double>(page));
      for (std::int64_t i = 0; i < s.page && n * s.page + i < length && page >= 0 && page < s.pages; ++i)
        used[at(page * s.page + i)] = true;
    }
  }
  w.set("lengths", lengths), w.set("table", table);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!used[i / Latent::key]) rows[i] = NAN;
  w.set("kv", rows);
}

// How many positions query j of sequence q sees.
std::int64_t seen(const Latent& s, const Workload& w, std::int64_t q, std::int64_t j) {
  const auto length = static_cast<std::int64_t>(w.values("lengths")[at(q)]);
  return std::clamp<std::int64_t>(length - (s.queries - 1) + j, 0, s.keys);
}

std::vector<Judged> mla_reference(const Latent& s, const Workload& w, const Results&) {
  const std::vector<double>&q_of = w.values("q"), &rows = w.values("kv"), &table = w.values("table");
  const double scale = s.scaled() ? w.values("scale")[0] : 1;
  // Products of at most 3 * 3.
  const double score = (2.0 * Latent::key * 9 * Latent::key * s.scale * scale + 24) * u32,
               sum = (static_cast<double>(s.split) + 64) * u32, of_sum = 4 * score + 2 * sum;
  Judged parts{"parts", {}, {}, "(u + 4 s + 2 (split + 64) 2^-24) sum p |v|, s: error of a score"},
      most{"most", {}, {}, "s, the error of a score"},
      sums{"sums", {}, {}, "(4 s + 2 (split + 64) 2^-24) sum p"};
  for (std::int64_t q = 0; q < s.sequences; ++q)
    for (std::int64_t block = 0; block < s.blocks(); ++block) {
      const std::int64_t end = seen(s, w, q, block / (s.heads / s.group()));
      for (std::int64_t begin = 0; begin < s.keys; begin += s.split)
        for (std::int64_t g = 0; g < s.group(); ++g) {
          const double* const query = &q_of[at(((q * s.blocks() + block) * s.group() + g) * Latent::key)];
          std::vector<double> x, value(Latent::latent, 0), size(Latent::latent, 0);
          std::vector<const double*> v;
          for (std::int64_t i = begin; i < std::min({begin + s.split, end, s.keys}); ++i) {
            const auto page = static_cast<std::int64_t>(table[at((q * s.keys + i) / s.page)]);
            const bool there = page >= 0 && page < s.pages;
            v.push_back(there ? &rows[at((page * s.page + i % s.page) * Latent::key)] : nullptr);
            double dot = 0;
            for (int d = 0; there && d < Latent::key; ++d) dot += query[d] * v.back()[d];
            x.push_back(dot * s.scale * scale);
          }
          const double greatest = x.empty() ? -INFINITY : *std::max_element(x.begin(), x.end());
          double all = 0;
          for (std::size_t i = 0; i < x.size(); ++i) {
            const double p = std::exp(x[i] - greatest);
            all += p;
            for (int d = 0; v[i] && d < Latent::latent; ++d) {
              const double one = p * v[i][d] * scale;
              value[at(d)] += one, size[at(d)] += std::abs(one);
            }
          }
          most.value.push_back(greatest), most.bound.push_back(x.empty() ? 0 : score);
          sums.value.push_back(all), sums.bound.push_back(of_sum * all);
          for (int d = 0; d < Latent::latent; ++d) {
            parts.value.push_back(value[at(d)]);
            parts.bound.push_back((codegen::unit_roundoff(s.type) + of_sum) * size[at(d)]);
          }
        }
    }
  return {most, sums, parts};
}

void data_of_parts(const Latent& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("most", seed, 9), w.random("sums", seed + 1, 4, true);
  std::mt19937_64 random(seed);
  std::vector<double> lengths;
  for (std::int64_t q = 0; q < s.sequences; ++q)
    lengths.push_back(static_cast<double>(length_of(s, q, random)));
  w.set("lengths", lengths);
  // A part without a position, as mla_decode leaves it.
  std::vector<double> most = w.values("most");
  for (std::int64_t q = 0, i = 0; q < s.sequences; ++q)
    for (std::int64_t block = 0; block < s.blocks(); ++block)
      for (std::int64_t r = 0; r < s.splits(); ++r)
        for (std::int64_t g = 0; g < s.group(); ++g, ++i)
          if (r * s.split >= seen(s, w, q, block / (s.heads / s.group()))) most[at(i)] = -INFINITY;
  w.set("most", most);
}

std::vector<Judged> reference_of_parts(const Latent& s, const Workload& w, const Results&) {
  const std::vector<double>&most = w.values("most"), &sums = w.values("sums"), &parts = w.values("parts");
  const std::int64_t count = s.splits();
  Judged o{"o", {}, {}, "(2 parts + 96) 2^-24 sum of weight |o| / sum of weight l + u |o|"};
  for (std::int64_t q = 0; q < s.sequences; ++q)
    for (std::int64_t block = 0; block < s.blocks(); ++block) {
      const std::int64_t end = seen(s, w, q, block / (s.heads / s.group())),
                         used = (end + s.split - 1) / s.split;
      for (std::int64_t g = 0; g < s.group(); ++g) {
        const auto row = [&](std::int64_t r) {
          return at(((q * s.blocks() + block) * count + r) * s.group() + g);
        };
        double greatest = -INFINITY, all = 0;
        for (std::int64_t r = 0; r < used; ++r) greatest = std::max(greatest, most[row(r)]);
        std::vector<double> value(Latent::latent, 0), size(Latent::latent, 0);
        for (std::int64_t r = 0; r < used; ++r) {
          const double weight = std::exp(most[row(r)] - greatest);
          all += weight * sums[row(r)];
          for (std::size_t d = 0; d < Latent::latent; ++d) {
            const double one = weight * parts[row(r) * Latent::latent + d];
            value[d] += one, size[d] += std::abs(one);
          }
        }
        for (std::size_t d = 0; d < Latent::latent; ++d) {
          o.value.push_back(used > 0 ? value[d] / all : 0);
          o.bound.push_back(used > 0 ? (2 * static_cast<double>(count) + 96) * u32 * size[d] / all +
                                           rounding(s.type, o.value.back())
                                     : 0);
        }
      }
    }
  return {o};
}

using ReadsMla = Reads<Latent>;

// What both kernels have, around rows of their own.
Options<Latent> options(const char* kernel, std::vector<Option<Latent>> own) {
  std::vector<Option<Latent>> rows = {
      arch_option<Latent>(),
      {"dtype", ReadsMla::element(&Latent::type, "f16, bf16"), "bf16", "of the queries and the result"},
      {"heads", ReadsMla::number(&Latent::heads, 1, 4096), "16", "heads of queries"},
      {"queries", ReadsMla::number(&Latent::queries, 1, 4), "1",
       "of a sequence, its last tokens: each sees up to its own"},
      {"sequences", ReadsMla::number(&Latent::sequences, 1, 1 << 16), "3", "sequences"},
      {"keys", ReadsMla::number(&Latent::keys, 1, 1 << 22), "512",
       "the longest sequence that there is room for, a multiple of 32 and of the page"},
      {"split", ReadsMla::number(&Latent::split, 1, 1 << 20), "auto",
       "positions of a part, the same for every sequence, so that a result does not depend on the batch; "
       "auto: by the sizes, the same for both kernels",
       "256"},
      {"waves", ReadsMla::number(&Latent::waves, 0, 8), "0",
       "of a workgroup of mla_decode, 16 heads each, 2 or 4; 0: 2 up to 32 heads. Both kernels have the "
       "same"}};
  for (Option<Latent>& row : own) rows.push_back(std::move(row));
  return {kernel, std::move(rows)};
}

// The split for which all workgroups are done soonest, in positions of one: it has one SIMD for each of its waves, begins and ends in
// the time of 84 positions, and each part is put together in that of a third of one. A page of 64, as mla_reduce knows of none.
int even_split(const Latent& asked) {
  const std::int64_t at_a_time =
      std::int64_t{codegen::Target::named(asked.arch).compute_units} * 4 / asked.waves_used();
  std::optional<std::pair<double, int>> best;
  Latent s = asked;
  for (s.split = 64; s.split <= 2048; s.split += 64) {
    const std::int64_t groups = s.sequences * s.blocks() * s.splits(), rounds = up(groups, at_a_time),
                       longest = std::min<std::int64_t>(s.split, s.keys);
    const double cost = static_cast<double>(rounds * (longest + 84)) + static_cast<double>(s.splits()) / 3;
    if (!best || cost < best->first) best = {cost, s.split};
  }
  return best->second;
}

std::string text(const Latent& s, const char* what) {
  return fmt::format("{}[{},{},{},512] of latent attention to up to {} keys in parts of {}", what,
                     s.sequences, s.queries, s.heads, s.keys, s.split);
}

} // namespace

std::unique_ptr<Kernel> mla_decode_kernel() {
  return page_of(Page<Latent>{
      .summary = "latent attention (MLA), 1 to 4 queries a sequence: parts of softmax(scale q KV^T) "
                 "KV[:,0:512], KV of 576 in "
                 "pages that all heads share",
      .options =
          options("mla_decode",
                  {{"kv-dtype", ReadsMla::element(&Latent::cache, "f16, bf16, fp8"), "bf16",
                    "of the cache; fp8: with a scale"},
                   {"scale", ReadsMla::real(&Latent::scale), "0.07216878364870322", "of the scores"},
                   {"page", ReadsMla::number(&Latent::page, 1, 1024), "16", "positions of a page, 1 to 64"},
                   {"pages", ReadsMla::number(&Latent::pages, 1, 1 << 24), "64", "of the cache"},
                   {"distance", ReadsMla::number(&Latent::distance, 0, 3), "auto",
                    "trips that loads run ahead", "1"}}),
      .program = mla_decode_program,
      .sizes =
          [](const Latent& s) {
            return std::vector{s.sequences, s.keys, s.pages};
          },
      .size_names = {"sequences", "keys", "pages"},
      .data = mla_data,
      .reference = mla_reference,
      .text = [](const Latent& s) { return text(s, "parts"); },
      // One: loads a trip ahead; without, or with more, a launch takes longer, and the model's launches have sequences of no length.
      .candidates =
          [](const Latent& s, const Flags& fixed) {
            return only_candidate({{"distance", "1"}, {"split", std::to_string(even_split(s))}}, fixed);
          },
      .bound = [](const Latent&) { return 1.0; }});
}

std::unique_ptr<Kernel> mla_reduce_kernel() {
  return page_of(Page<Latent>{.summary = "the parts that mla_decode leaves, put together in their order",
                              .options = options("mla_reduce", {}),
                              .program = mla_reduce_program,
                              .sizes =
                                  [](const Latent& s) {
                                    return std::vector{s.sequences, s.splits()};
                                  },
                              .size_names = {"sequences", "keys"},
                              .data = data_of_parts,
                              .reference = reference_of_parts,
                              .text = [](const Latent& s) { return text(s, "O"); },
                              .candidates =
                                  [](const Latent& s, const Flags& fixed) {
                                    return only_candidate({{"split", std::to_string(even_split(s))}}, fixed);
                                  },
                              .bound = [](const Latent&) { return 1.0; }});
}

} // namespace inlay::kernels
