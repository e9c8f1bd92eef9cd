/// What the pages of the two programs of latent attention have in common. Private.
#pragma once

#include "../page.h"
#include "mla.h"

#include <fmt/format.h>

namespace inlay::kernels {

using ReadsMla = Reads<Latent>;

/// The length of a sequence of the data: none, all and more than all, of fewer tokens than there are queries, and beside pages and parts.
[[nodiscard]] std::int64_t length_of(const Latent& s, std::int64_t sequence, std::mt19937_64& random);
/// How many positions query j of sequence q sees.
[[nodiscard]] std::int64_t seen(const Latent& s, const Workload& w, std::int64_t q, std::int64_t j);
/// The options that both kernels have, around rows of their own.
[[nodiscard]] Options<Latent> mla_options(const char* kernel, std::vector<Option<Latent>> own);
/// The split for which all workgroups are done soonest.
[[nodiscard]] int even_split(const Latent& asked);
[[nodiscard]] std::string mla_text(const Latent& s, const char* what);

} // namespace inlay::kernels
