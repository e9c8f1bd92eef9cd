// `varlen_attention` on the command line, and its limits.
#include "prefill_data.h"

#include <fmt/format.h>

namespace inlay::kernels {

void Prefill::check() const {
  const Refusal refuse{"varlen_attention"};
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
