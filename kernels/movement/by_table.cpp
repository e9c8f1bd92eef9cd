#include "by_table.h"

namespace inlay::kernels {

// Some ids are no row, and some name a row again.
void ids_with_repetition(const ByTable& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  std::mt19937_64 random(seed);
  std::vector<double> ids;
  for (std::int64_t t = 0; t < s.tokens; ++t)
    ids.push_back(t == 1   ? -1
                  : t == 2 ? static_cast<double>(s.rows)
                  : t == 3 ? static_cast<double>(s.rows - 1)
                           : static_cast<double>(below(random, (s.rows + 1) / 2)));
  w.set("ids", ids);
}

std::unique_ptr<Kernel>
by_table_page(const std::string& name, const std::string& summary, Program (*program)(const ByTable&),
              std::vector<Judged> (*reference)(const ByTable&, const Workload&, const Results&),
              void (*data)(const ByTable&, Workload&, std::uint64_t)) {
  using Read = Reads<ByTable>;
  Page<ByTable> out{
      .summary = summary,
      .options = {name,
                  {arch_option<ByTable>(),
                   {"dtype", Read::element(&ByTable::type, "f16, bf16, f32"), "bf16", "element type of X"},
                   {"tokens", Read::number(&ByTable::tokens, 1, 1 << 24), "64", "ids"},
                   {"rows", Read::number(&ByTable::rows, 1, 1 << 24), "1000", "rows of the table"},
                   {"n", Read::number(&ByTable::n, 1, 1 << 16), "1024", "columns, a multiple of a vector"},
                   {"threads", Read::number(&ByTable::threads, 64, 1024), "auto", "work-items of a workgroup",
                    "256"},
                   {"vector", Read::number(&ByTable::vector, 0, 8), "auto",
                    "elements that one instruction moves: 1 takes any row, 0 is 16 bytes", "0"}}},
      .program = program,
      .sizes = members(&ByTable::tokens, &ByTable::rows, &ByTable::n),
      .size_names = {"tokens", "rows", "n"},
      .data = data,
      .reference = reference,
      .text =
          [=](const ByTable& s) {
            return fmt::format("{}: {} ids of {} rows of {}, {}", name, s.tokens, s.rows, s.n,
                               to_string(s.type));
          },
      .candidates =
          [](const ByTable& s, const Flags& fixed) {
            return candidates_by_threads(s.type, s.n, {64, 128, 256}, fixed);
          },
      .bound =
          [](const ByTable& s) {
            const int tile = s.threads * s.vector_length(), resident = resident_by_waves(s.threads);
            return rounds(s.arch, s.tokens * up(s.n, tile), resident) * (2200.0 + resident * tile);
          }};
  return page_of(std::move(out));
}

} // namespace inlay::kernels
