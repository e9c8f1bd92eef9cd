// What the pages of latent attention have in common: options, and lengths of sequences.
#include "mla_page.h"
#include "mla_parts.h"

#include <cmath>

namespace inlay::kernels {

std::int64_t length_of(const Latent& s, std::int64_t sequence, std::mt19937_64& random) {
  const std::int64_t edges[] = {s.keys, 0, s.keys + 9, 1, s.page + 1, s.split - 1, s.split + 1, s.queries};
  return at(sequence) < std::size(edges) ? edges[sequence] : below(random, s.keys + 1);
}

std::int64_t seen(const Latent& s, const Workload& w, std::int64_t q, std::int64_t j) {
  const auto length = static_cast<std::int64_t>(w.values("lengths")[at(q)]);
  return std::clamp<std::int64_t>(length - (s.queries - 1) + j, 0, s.keys);
}

void check_latent(const Latent& s) {
  const Refusal refuse{"mla"};
  if (s.waves_used() != 2 && s.waves_used() != 4) refuse(fmt::format("--waves {}", s.waves), "2 or 4");
  if (s.heads % s.group() != 0)
    refuse(fmt::format("--heads {} with --waves {}", s.heads, s.waves_used()),
           "heads in groups of 16 for each wave, or fewer heads than that");
  if (s.page < 1 || s.page > 64 || 64 % s.page != 0)
    refuse(fmt::format("--page {}", s.page), "1, 2, 4, 8, 16, 32 or 64");
  if (s.split % s.step() != 0)
    refuse(fmt::format("--split {} with --page {}", s.split, s.page),
           fmt::format("a multiple of {}", s.step()));
  if (!std::isfinite(s.scale) || s.scale <= 0)
    refuse(fmt::format("--scale {}", s.scale), "a positive number");
}

Options<Latent> mla_options(const char* kernel, std::vector<Option<Latent>> own) {
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
       "of a workgroup of mla_decode, 2 or 4, 16 heads each; up to 16 heads two of them share. 0: 2 up to 32 "
       "heads. Both kernels have the same"}};
  for (Option<Latent>& row : own) rows.push_back(std::move(row));
  return {kernel, std::move(rows)};
}

// The split for which the unit with most to do is done soonest, in positions of a workgroup: of all workgroups it has every units-th, with a
// SIMD for each of their waves, and each begins and ends in the time of 90 positions. No less than its positions take from memory, 0.72 of one
// each, between bf16 and fp8, of which mla_reduce does not know. A part is put together in the time of a third of a position. A page of 64, likewise.
int even_split(const Latent& asked) {
  const std::int64_t units = codegen::Target::named(asked.arch).compute_units,
                     at_a_time = 4 / asked.waves_used(), pairs = asked.sequences * asked.blocks();
  std::optional<std::pair<double, int>> best;
  Latent s = asked;
  for (s.split = 64; s.split <= 2048; s.split += 64) {
    const std::int64_t longest = std::min<std::int64_t>(s.split, s.keys), whole = s.keys / longest,
                       last = s.keys - whole * longest;
    // The first unit has most of both.
    const std::int64_t of_whole = up(pairs * whole, units), others = up(pairs * s.splits(), units) - of_whole,
                       positions = of_whole * longest + others * last;
    const double cost =
        std::max({static_cast<double>(up(of_whole, at_a_time) * (longest + 90)),
                  static_cast<double>(positions + 90 * (of_whole + others)) / static_cast<double>(at_a_time),
                  0.72 * static_cast<double>(positions)}) +
        static_cast<double>(s.splits()) / 3;
    if (!best || cost < best->first) best = {cost, s.split};
  }
  return best->second;
}

std::string mla_text(const Latent& s, const char* what) {
  return fmt::format("{}[{},{},{},512] of latent attention to up to {} keys in parts of {}", what,
                     s.sequences, s.queries, s.heads, s.keys, s.split);
}

} // namespace inlay::kernels
