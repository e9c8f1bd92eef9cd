/// The data of attention of sequences of any lengths, and its judge. Private.
#pragma once

#include "../page.h"
#include "prefill.h"

namespace inlay::kernels {

/// Queries and keys of each sequence: none, one, a part of a tile, all; a sequence without keys, one whose queries are its last ones.
struct Sequences {
  std::vector<std::int64_t> queries, keys, row, position, sequence, ends,
      first; ///< of a block: the first page of its sequence that its tables have
  std::int64_t rows = 0;
};
/// Errors: std::invalid_argument for fewer blocks or rows than the sequences have.
[[nodiscard]] Sequences sequences_of(const Prefill& s);
void varlen_data(const Prefill& s, Workload& w, std::uint64_t seed);
[[nodiscard]] std::vector<Judged> varlen_reference(const Prefill& s, const Workload& w, const Results&);

} // namespace inlay::kernels
