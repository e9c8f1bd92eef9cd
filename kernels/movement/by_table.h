/// Kernels that move rows of a matrix where a table says, each as a page (kernels/page.h): their options, forms and clocks.
#pragma once

#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {

struct ByTable : VectorsAsked {
  std::int64_t tokens = 64, rows = 1000, n = 1024;
  int threads = 256;
};

/// Tables may name rows again; and some of their entries are no row.
void ids_with_repetition(const ByTable& s, Workload& w, std::uint64_t seed);

[[nodiscard]] std::unique_ptr<Kernel>
by_table_page(const std::string& name, const std::string& summary,
              codegen::Program (*program)(const ByTable&),
              std::vector<Judged> (*reference)(const ByTable&, const Workload&, const Results&),
              void (*data)(const ByTable&, Workload&, std::uint64_t) = ids_with_repetition);

} // namespace inlay::kernels
