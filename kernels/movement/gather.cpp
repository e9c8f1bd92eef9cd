// Rows that a table names: read (embedding), and added to (its gradient).
#include "../page.h"

#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct Asked {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  std::int64_t tokens = 64, rows = 1000, n = 1024;
  int threads = 256, vector = 0;
  [[nodiscard]] int vector_length() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
};

// [gather_rows]
Program gather_program(const Asked& s) {
  const int v = s.vector_length(), tile = s.threads * v;
  Program k("gather_rows", Target::named(s.arch), s.threads);
  const Sym T = k.size("tokens", {.most = 1 << 24}), V = k.size("rows", {.most = 1 << 24}),
            N = k.size("n", {.most = 1 << 16, .multiple = v});
  const Tensor Y = k.output("y", s.type, {T, N}), X = k.input("x", s.type, {V, N}),
               ids = k.input("ids", Element::i32, {T});
  k.computes(Y, [&](const auto& c) { return k(X, {k.at(ids, c[0]), c[1]}); });
  const Sym token = k.workgroups(0, T, 1), part = k.workgroups(1, N, tile), row = k.uniform(ids, token);
  k.store(k.load(k.tile(X, {1, tile}, {row, part}), codegen::rows_tv(1, tile, v, s.threads), v),
          k.tile(Y, {1, tile}, {token, part}), v);
  return k;
}
// [gather_rows end]

// [scatter_add]
Program scatter_program(const Asked& s) {
  const int v = std::min(s.vector_length(), 4), tile = s.threads * v;
  // An atomic's offset has 32 bits: 2 GiB of sums, shared out between rows and columns by the columns that are asked for.
  const auto columns =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(s.n, 1024))));
  Program k("scatter_add", Target::named(s.arch), s.threads);
  const Sym T = k.size("tokens", {.most = 1 << 24}), V = k.size("rows", {.most = (1 << 29) / columns - 1}),
            N = k.size("n", {.most = columns, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {V, N}), X = k.input("x", s.type, {T, N}),
               ids = k.input("ids", Element::i32, {T});
  k.scatters(Y, ids, [&](const auto& c) { return k(X, {c[0], c[1]}); });
  const Sym token = k.workgroups(0, T, 1), part = k.workgroups(1, N, tile);
  const Layout tv = codegen::rows_tv(1, tile, v, s.threads);
  const Fragment row = k.load(k.tile(ids, {1}, {token}), codegen::without_axis(tv, 1), 1);
  const Fragment x = k.load(k.tile(X, {1, tile}, {token, part}), tv, v);
  k.add(k.map({x}, [](const auto& a) { return a[0]; }), k.tile(Y, {1, tile}, {0, part}).through(0, row));
  return k;
}
// [scatter_add end]

// Some ids are no row, and some name a row again.
void data(const Asked& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  std::mt19937_64 random(seed);
  std::vector<double> ids;
  for (std::int64_t t = 0; t < s.tokens; ++t)
    ids.push_back(t == 1   ? -1
                  : t == 2 ? static_cast<double>(s.rows)
                  : t == 3 ? static_cast<double>(s.rows - 1)
                           : static_cast<double>(random() % static_cast<std::uint64_t>((s.rows + 1) / 2)));
  w.set("ids", ids);
}

std::vector<Judged> gather_reference(const Asked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "0"};
  for (const double id : w.values("ids"))
    for (std::int64_t c = 0; c < s.n; ++c)
      y.value.push_back(
          id < 0 || id >= static_cast<double>(s.rows)
              ? 0
              : w.values("x")[static_cast<std::size_t>(static_cast<std::int64_t>(id) * s.n + c)]);
  y.bound.assign(y.value.size(), 0);
  return {y};
}

std::vector<Judged> scatter_reference(const Asked& s, const Workload& w, const Results&) {
  const std::vector<double>& x = w.values("x");
  const auto n = static_cast<std::size_t>(s.n);
  Judged y{"y", std::vector<double>(static_cast<std::size_t>(s.rows) * n),
           std::vector<double>(static_cast<std::size_t>(s.rows) * n), "tokens 2^-24 sum |x|, in any order"};
  for (std::size_t t = 0; t < w.values("ids").size(); ++t) {
    const double id = w.values("ids")[t];
    if (id < 0 || id >= static_cast<double>(s.rows)) continue;
    for (std::size_t c = 0; c < n; ++c) {
      const std::size_t at = static_cast<std::size_t>(id) * n + c;
      y.value[at] += x[t * n + c];
      y.bound[at] += static_cast<double>(s.tokens) * u32 * std::abs(x[t * n + c]);
    }
  }
  return {y};
}

std::unique_ptr<Kernel>
page(const std::string& name, const std::string& summary, Program (*program)(const Asked&),
     std::vector<Judged> (*reference)(const Asked&, const Workload&, const Results&)) {
  using Read = Reads<Asked>;
  Page<Asked> out{
      .summary = summary,
      .options = {name,
                  {arch_option<Asked>(),
                   {"dtype", Read::element(&Asked::type, "f16, bf16, f32"), "bf16", "element type of X"},
                   {"tokens", Read::number(&Asked::tokens, 1, 1 << 24), "64", "ids"},
                   {"rows", Read::number(&Asked::rows, 1, 1 << 24), "1000", "rows of the table"},
                   {"n", Read::number(&Asked::n, 1, 1 << 16), "1024", "columns, a multiple of a vector"},
                   {"threads", Read::number(&Asked::threads, 64, 1024), "auto", "work-items of a workgroup",
                    "256"},
                   {"vector", Read::number(&Asked::vector, 0, 8), "auto",
                    "elements that one instruction moves: 1 takes any row, 0 is 16 bytes", "0"}}},
      .program = program,
      .sizes =
          [](const Asked& s) {
            return std::vector{s.tokens, s.rows, s.n};
          },
      .size_names = {"tokens", "rows", "n"},
      .data = data,
      .reference = reference,
      .text =
          [=](const Asked& s) {
            return fmt::format("{}: {} ids of {} rows of {}, {}", name, s.tokens, s.rows, s.n,
                               to_string(s.type));
          },
      .candidates =
          [](const Asked& s, const Flags& fixed) {
            int v = 128 / codegen::bits(s.type);
            while (s.n % v != 0) v /= 2;
            std::vector<Flags> all;
            for (const int threads : {64, 128, 256}) {
              add_candidate(all, {{"threads", std::to_string(threads)}, {"vector", std::to_string(v)}},
                            fixed);
            }
            return all;
          },
      .bound =
          [](const Asked& s) {
            const int tile = s.threads * s.vector_length(),
                      resident = std::clamp(32 / (s.threads / 64), 1, 16);
            return rounds(s.arch, s.tokens * up(s.n, tile), resident) * (2200.0 + resident * tile);
          }};
  return page_of(std::move(out));
}

} // namespace

std::unique_ptr<Kernel> gather_rows_kernel() {
  return page("gather_rows", "Y[t] = X[ids[t]]: embedding; an id that is no row gives zeros", gather_program,
              gather_reference);
}
std::unique_ptr<Kernel> scatter_add_kernel() {
  return page("scatter_add",
              "Y[ids[t]] += X[t] in f32, by atomics: the gradient of an embedding; an id that is no row "
              "counts nowhere",
              scatter_program, scatter_reference);
}

} // namespace inlay::kernels
