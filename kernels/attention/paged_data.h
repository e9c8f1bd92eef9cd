/// The data of paged decode attention, and its judge. Private.
#pragma once

#include "../page.h"
#include "paged.h"

namespace inlay::kernels {

void paged_data(const PagedDecode& s, Workload& w, std::uint64_t seed);
[[nodiscard]] std::vector<Judged> paged_reference(const PagedDecode& s, const Workload& w, const Results&);

} // namespace inlay::kernels
