// `mla_decode` on the command line, its data and its judge.
#include "caches.h"
#include "mla_page.h"

namespace inlay::kernels {
namespace {

// A table that names no page now and then, and nothing but NaN where nobody is to look.
void mla_data(const Latent& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  w.random("q", seed, 3), w.random("kv", seed + 1, 3);
  if (s.scaled()) w.random("scale", seed + 3, 1, true);
  std::mt19937_64 random(seed);
  std::vector<double> lengths, table;
  CacheUse used(s.pages, s.page);
  for (std::int64_t q = 0; q < s.sequences; ++q) {
    const std::int64_t length = length_of(s, q, random);
    lengths.push_back(static_cast<double>(length));
    for (std::int64_t n = 0; n < s.keys / s.page; ++n) {
      const bool none = n * s.page >= length || n % 11 == 5;
      const std::int64_t page = none ? below(random, 2) * (s.pages + 1) - 1 : below(random, s.pages);
      table.push_back(static_cast<double>(page));
      used.add(page, n, 0, length);
    }
  }
  w.set("lengths", lengths), w.set("table", table);
  used.leave_alone(w, "kv", Latent::key);
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

} // namespace

std::unique_ptr<Kernel> mla_decode_kernel() {
  return page_of(Page<Latent>{
      .summary = "latent attention (MLA), 1 to 4 queries a sequence: parts of softmax(scale q KV^T) "
                 "KV[:,0:512], KV of 576 in "
                 "pages that all heads share",
      .options = mla_options(
          "mla_decode",
          {{"kv-dtype", ReadsMla::element(&Latent::cache, "f16, bf16, fp8"), "bf16",
            "of the cache; fp8: with a scale"},
           {"scale", ReadsMla::real(&Latent::scale), "0.07216878364870322", "of the scores"},
           {"page", ReadsMla::number(&Latent::page, 1, 1024), "16", "positions of a page, 1 to 64"},
           {"pages", ReadsMla::number(&Latent::pages, 1, 1 << 24), "64", "of the cache"},
           {"distance", ReadsMla::number(&Latent::distance, 0, 3), "auto", "trips that loads run ahead",
            "1"}}),
      .program = mla_decode_program,
      .sizes = members(&Latent::sequences, &Latent::keys, &Latent::pages),
      .size_names = {"sequences", "keys", "pages"},
      .data = mla_data,
      .reference = mla_reference,
      .text = [](const Latent& s) { return mla_text(s, "parts"); },
      // One: loads a trip ahead; without, or with more, a launch takes longer, and the model's launches have sequences of no length.
      .candidates =
          [](const Latent& s, const Flags& fixed) {
            return only_candidate({{"distance", "1"}, {"split", std::to_string(even_split(s))}}, fixed);
          },
      .bound = [](const Latent&) { return 1.0; }});
}

} // namespace inlay::kernels
