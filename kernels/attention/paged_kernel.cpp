// `paged_decode` on the command line, and its limits.
#include "paged_data.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

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
    const double stored = s.alone() ? 0 : of_part;
    // The first unit has most of both.
    const std::int64_t of_whole = up(pairs * whole, units), all = up(pairs * parts, units);
    const double most = static_cast<double>(of_whole * p + (all - of_whole) * (s.keys - whole * p)) +
                        stored * static_cast<double>(all);
    const double cost = std::max(most, 900 / static_cast<double>(units) / bytes * static_cast<double>(p)) +
                        2 * stored * static_cast<double>(parts);
    if (!best || cost < best->first) best = {cost, s.split};
  }
  return best ? best->second : PagedDecode{}.split;
}

} // namespace

void PagedDecode::check() const {
  const Refusal refuse{"paged_decode"};
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
          members(&PagedDecode::sequences, &PagedDecode::kv_heads, &PagedDecode::keys, &PagedDecode::pages),
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
