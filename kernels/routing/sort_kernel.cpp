// Sorting of a mixture of experts on the command line: data and judges, by loops over the entries.
#include "../page.h"
#include "sort.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using Numbers = std::vector<double>;

std::size_t index(double n) { return static_cast<std::size_t>(n); }

/// The expert of each entry; of some there is none.
Numbers experts_of(const MoeSort& s, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Numbers e;
  for (std::int64_t i = 0; i < s.n; ++i) {
    const auto any = static_cast<double>(below(random, s.experts));
    e.push_back(i % 7 == 3 ? static_cast<double>(s.experts) : i % 11 == 5 ? -1 : i % 3 == 0 ? 0 : any);
  }
  return e;
}

struct Sorted {
  Numbers starts, places;
  double used = 0;
};
Sorted sorted(const MoeSort& s, const Numbers& e) {
  Sorted out;
  std::vector<std::vector<std::size_t>> of(at(s.experts));
  for (std::size_t i = 0; i < e.size(); ++i)
    if (e[i] >= 0 && e[i] < static_cast<double>(s.experts)) of[index(e[i])].push_back(i);
  out.places.assign(e.size(), -1);
  for (std::size_t x = 0; x < of.size(); ++x) {
    out.starts.push_back(out.used);
    for (std::size_t n = 0; n < of[x].size(); ++n) out.places[of[x][n]] = out.used + static_cast<double>(n);
    for (std::size_t n = 0; n < of[x].size(); n += at(s.block)) out.used += s.block;
  }
  return out;
}

std::vector<Judged> starts_reference(const MoeSort& s, const Workload& w, const Results&) {
  const Sorted all = sorted(s, w.values("e"));
  return {exactly("starts", all.starts), exactly("rows_in_use", {all.used})};
}
std::vector<Judged> blocks_reference(const MoeSort& s, const Workload& w, const Results&) {
  Numbers blocks;
  for (std::int64_t b = 0; b < s.blocks(); ++b) {
    double expert = -1;
    for (const double start : w.values("starts")) expert += start <= static_cast<double>(b * s.block) ? 1 : 0;
    blocks.push_back(expert);
  }
  return {exactly("experts_of_blocks", blocks)};
}
std::vector<Judged> places_reference(const MoeSort& s, const Workload& w, const Results&) {
  return {exactly("places", sorted(s, w.values("e")).places)};
}
std::vector<Judged> sort_reference(const MoeSort& s, const Workload& w, const Results&) {
  Judged ids = exactly("ids", w.values("ids")),
         weights = exactly("sorted_weights", w.values("sorted_weights"));
  for (std::size_t i = 0; i < at(s.n); ++i) {
    const double place = w.values("places")[i];
    if (place < 0) continue;
    ids.value[index(place)] = std::floor(static_cast<double>(i) / s.k);
    weights.value[index(place)] = w.values("weights")[i];
  }
  return {ids, weights};
}

struct Step {
  std::string name, summary;
  codegen::Program (*program)(const MoeSort&);
  std::function<std::vector<std::int64_t>(const MoeSort&)> sizes;
  std::function<void(const MoeSort&, Workload&, const Numbers& e)> data;
  std::function<std::vector<Judged>(const MoeSort&, const Workload&, const Results&)> reference;
};

std::unique_ptr<Kernel> page(const Step& step) {
  using Read = Reads<MoeSort>;
  return page_of<MoeSort>(
      {.summary = step.summary,
       .options = {step.name,
                   {arch_option<MoeSort>(),
                    {"n", Read::number(&MoeSort::n, 1, 1 << 23), "512",
                     "entries, tokens times k; moe_places takes multiples of 4, moe_sort of 64: an entry of "
                     "expert -1 "
                     "is none"},
                    {"experts", Read::number(&MoeSort::experts, 1, MoeSort::most_experts), "64", "experts"},
                    {"block", Read::number(&MoeSort::block, 1, 1 << 16), "32",
                     "rows of a block: 16, 32, 64, 128 or 256"},
                    {"k", Read::number(&MoeSort::k, 1, 64), "1", "entries of a token"}}},
       .program = step.program,
       .sizes = step.sizes,
       .data =
           [data = step.data](const MoeSort& s, Workload& w, std::uint64_t seed) {
             random_inputs(w, seed);
             data(s, w, experts_of(s, seed));
           },
       .reference = step.reference,
       .text =
           [](const MoeSort& s) {
             return fmt::format("{} entries to {} experts, blocks of {}", s.n, s.experts, s.block);
           }});
}

} // namespace

std::unique_ptr<Kernel> moe_starts_kernel() {
  return page({"moe_starts", "where the rows of each expert start, in blocks, and how many rows there are",
               moe_starts_program, members(&MoeSort::n, &MoeSort::experts),
               [](const MoeSort& s, Workload& w, const Numbers& e) {
                 Numbers labels(at(s.experts));
                 std::iota(labels.begin(), labels.end(), 0);
                 w.set("e", e), w.set("labels", labels);
               },
               starts_reference});
}
std::unique_ptr<Kernel> moe_blocks_kernel() {
  return page({"moe_blocks", "the expert of each block of rows", moe_blocks_program,
               [](const MoeSort& s) {
                 return std::vector{s.blocks(), s.experts};
               },
               [](const MoeSort& s, Workload& w, const Numbers& e) { w.set("starts", sorted(s, e).starts); },
               blocks_reference});
}
std::unique_ptr<Kernel> moe_places_kernel() {
  return page({"moe_places",
               "the row of each entry among those of its expert, in order; -1 where it has none",
               moe_places_program, members(&MoeSort::n, &MoeSort::n, &MoeSort::experts),
               [](const MoeSort& s, Workload& w, const Numbers& e) {
                 w.set("e", e), w.set("e_of_all", e), w.set("starts", sorted(s, e).starts);
               },
               places_reference});
}
std::unique_ptr<Kernel> moe_sort_kernel() {
  return page({"moe_sort",
               "token and weight of each entry, put at its place: what moe_stage1 and moe_stage2 take",
               moe_sort_program,
               [](const MoeSort& s) {
                 return std::vector{s.n, s.rows()};
               },
               [](const MoeSort& s, Workload& w, const Numbers& e) {
                 w.set("places", sorted(s, e).places);
                 w.set("ids", Numbers(at(s.rows()), static_cast<double>(s.n)));
               },
               sort_reference});
}

} // namespace inlay::kernels
