// `mla_reduce` on the command line, its data and its judge.
#include "mla_page.h"

namespace inlay::kernels {
namespace {

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

} // namespace

std::unique_ptr<Kernel> mla_reduce_kernel() {
  return page_of(Page<Latent>{.summary = "the parts that mla_decode leaves, put together in their order",
                              .options = mla_options("mla_reduce", {}),
                              .program = mla_reduce_program,
                              .sizes =
                                  [](const Latent& s) {
                                    return std::vector{s.sequences, s.splits()};
                                  },
                              .size_names = {"sequences", "keys"},
                              .data = data_of_parts,
                              .reference = reference_of_parts,
                              .text = [](const Latent& s) { return mla_text(s, "O"); },
                              .candidates =
                                  [](const Latent& s, const Flags& fixed) {
                                    return only_candidate({{"split", std::to_string(even_split(s))}}, fixed);
                                  },
                              .bound = [](const Latent&) { return 1.0; }});
}

} // namespace inlay::kernels
