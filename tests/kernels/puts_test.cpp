// Rows that are put where a table says: right on the emulator against loops written out here, rows that nobody names untouched, entries
// that are no row skipped; two entries of one row are a race.
#include "specified.h"

#include <inlay/kernels/artifact.h>

#include <climits>
#include <cstring>

namespace puts_test {

using namespace inlay;
using namespace inlay::codegen;
using Catch::Matchers::Contains;

namespace {

struct Rows {
  int at_once = 1; ///< entries of a workgroup: one, a number of its own; more, in registers
  int waves = 1;
  int wide = 64; ///< columns of a workgroup
};

// y(ids(t), i) = 2 x(t, i).
Program put(const Rows& d, const std::string& arch = "gfx942") {
  Program k("put", Target::named(arch), 64 * d.waves);
  const Sym T = k.size("tokens", {.most = 1 << 20, .multiple = d.at_once}),
            V = k.size("rows", {.most = 1 << 20}), N = k.size("n", {.most = 1 << 8});
  const Tensor Y = k.inout("y", Element::f32, {V, N}), X = k.input("x", Element::f32, {T, N}),
               ids = k.input("ids", Element::i32, {T});
  const auto twice = [](Expr x) { return x * 2.0; };
  k.puts(Y, ids, [&](const auto& c) { return twice(k(X, {c[0], c[1]})); });
  const Sym t = k.workgroups(0, T, d.at_once), part = k.workgroups(1, N, d.wide);
  const Layout tv = rows_tv(d.at_once, d.wide, 1, 64 * d.waves);
  View to = k.tile(Y, {d.at_once, d.wide}, {d.at_once == 1 ? k.uniform(ids, t) : Sym(0), part});
  if (d.at_once > 1)
    to = to.through(0, k.load(k.tile(ids, {d.at_once}, {t}), codegen::without_axis(tv, 1), 1));
  k.store(k.map(
              {k.load(k.tile(X, {d.at_once, d.wide}, {t, part}), tv, 1)},
              [&](const auto& a) { return twice(a[0]); }, Element::f32),
          to, 1);
  return k;
}

template <class T>
kernels::Bytes bytes_of(const std::vector<T>& values) {
  kernels::Bytes out(sizeof(T) * values.size());
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

// What is left of y, with all sanitizers and `seed` of a hostile schedule.
std::vector<float> run(const kernels::Artifact& a, const std::vector<float>& y, const std::vector<float>& x,
                       const std::vector<std::int32_t>& ids, std::int64_t rows, std::int64_t n,
                       std::uint64_t seed = 0) {
  const auto device = kernels::open_device("emulator", a.arch);
  auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  options.checks = runtime::Checks::all();
  options.stress = seed > 0, options.seed = seed;
  const kernels::Bytes after = kernels::run(*device, a, {bytes_of(y), bytes_of(x), bytes_of(ids)},
                                            {static_cast<std::int64_t>(ids.size()), rows, n})[0];
  std::vector<float> out(y.size());
  std::memcpy(out.data(), after.data(), after.size());
  return out;
}

std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(first + static_cast<float>(i));
  return out;
}

} // namespace

TEST_CASE("puts: rows go where a table says, and only there") {
  for (const Rows& d :
       {Rows{}, Rows{.waves = 2, .wide = 128}, Rows{.at_once = 4}, Rows{.at_once = 8, .waves = 4}}) {
    for (const char* arch : {"gfx942", "gfx950"}) {
      const kernels::Artifact a = kernels::build(put(d, arch));
      CHECK_THAT(a.proofs.text(), Contains("rows of y are stored where its table names them"));
      const auto callers = std::count_if(a.proofs.items().begin(), a.proofs.items().end(), [](const auto& i) {
        return i.verdict == "the caller's" && i.subject == "no two entries of ids name one row of y";
      });
      CHECK(callers == 1);
      for (const auto& [rows, n] : {std::pair(1, 1), {13, 67}, {40, 200}}) {
        INFO(d.at_once << " rows, " << d.waves << " waves, " << arch << ", " << rows << " x " << n);
        std::vector<std::int32_t> ids = {rows - 1, -1, rows, INT_MIN, INT_MAX, rows > 1 ? 0 : -7};
        for (int r = 1; r < rows - 1 && ids.size() < 24; r += 2) ids.push_back(rows - 1 - r);
        while (ids.size() % 8 != 0) ids.push_back(-1);
        const std::vector<float> x = numbers(ids.size() * static_cast<std::size_t>(n), 1),
                                 y = numbers(static_cast<std::size_t>(rows * n), -100000);
        std::vector<float> wanted = y;
        for (std::size_t t = 0; t < ids.size(); ++t)
          for (int i = 0; i < n && ids[t] >= 0 && ids[t] < rows; ++i)
            wanted[static_cast<std::size_t>(ids[t] * n + i)] =
                2 * x[t * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)];
        for (const std::uint64_t seed : {0, 1, 2}) CHECK(run(a, y, x, ids, rows, n, seed) == wanted);
      }
    }
  }
}

TEST_CASE("puts: one row of two entries is a race: of two workgroups, two waves, two lanes", "[error]") {
  const std::vector<float> x = numbers(8 * 8, 1), y = numbers(10 * 8, -1000);
  for (const Rows& d : {Rows{}, Rows{.at_once = 8, .waves = 8}, Rows{.at_once = 8, .wide = 8}}) {
    INFO(d.at_once << " rows, " << d.waves << " waves");
    const kernels::Artifact a = kernels::build(put(d));
    CHECK_NOTHROW(run(a, y, x, {0, 1, 2, 3, 4, 5, 6, 7}, 10, 8));
    CHECK_NOTHROW(run(a, y, x, {0, 1, 2, 3, -1, -1, 10, 10}, 10, 8)); // none of them is a row
    CHECK_THROWS_AS(run(a, y, x, {0, 1, 2, 3, 4, 5, 1, 7}, 10, 8), kernels::FindingsError);
  }
}

TEST_CASE("puts: entries of a mixture of experts are sorted to blocks by four launches, whatever the sizes") {
  for (const auto& [n, experts] : {std::pair(64, 1), {192, 7}, {640, 256}}) {
    const int block = 16, blocks = (n + block - 1) / block + experts, rows = blocks * block;
    INFO(n << " entries, " << experts << " experts");
    std::vector<std::int32_t> e, labels;
    for (int x = 0; x < experts; ++x) labels.push_back(x);
    std::vector<float> weights;
    for (int i = 0; i < n; ++i) {
      e.push_back(i % 9 == 4 ? -1 : i % 5 == 0 ? experts - 1 : (i * i + 3) % (experts + 1));
      weights.push_back(static_cast<float>(i) + 0.5F);
    }
    const auto launch = [&](const std::string& kernel, const std::vector<kernels::Bytes>& buffers,
                            const std::vector<std::int64_t>& sizes) {
      const kernels::Artifact a = kernels::find_kernel(kernel)->build({{"block", std::to_string(block)}}, {});
      const auto device = kernels::open_device("emulator", a.arch);
      auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
      options.checks = runtime::Checks::all(), options.stress = true;
      return kernels::run(*device, a, buffers, sizes);
    };
    const auto empty = [](int count) {
      return bytes_of(std::vector<std::int32_t>(static_cast<std::size_t>(count), -9));
    };
    const auto words = [](const kernels::Bytes& bytes) {
      std::vector<std::int32_t> out(bytes.size() / 4);
      std::memcpy(out.data(), bytes.data(), bytes.size());
      return out;
    };
    const kernels::Bytes entries = bytes_of(e);
    const auto started =
        launch("moe_starts", {empty(experts), empty(1), entries, bytes_of(labels)}, {n, experts});
    const auto of_blocks = launch("moe_blocks", {empty(blocks), started[0]}, {blocks, experts});
    const auto places = launch("moe_places", {empty(n), entries, entries, started[0]}, {n, n, experts});
    const std::vector<float> none(static_cast<std::size_t>(rows), 0);
    const auto sorted =
        launch("moe_sort", {empty(rows), bytes_of(none), places[0], bytes_of(weights)}, {n, rows});
    // The same by a list for each expert.
    std::vector<std::int32_t> ids(static_cast<std::size_t>(rows), -9), experts_of_blocks;
    std::vector<float> of_rows = none;
    std::size_t row = 0;
    for (int x = 0; x < experts; ++x) {
      for (int i = 0; i < n; ++i)
        if (e[static_cast<std::size_t>(i)] == x)
          of_rows[row] = weights[static_cast<std::size_t>(i)], ids[row++] = i;
      row = (row + block - 1) / block * block;
      experts_of_blocks.resize(row / block, x);
    }
    CHECK(words(started[1])[0] == static_cast<std::int32_t>(row));
    std::vector<std::int32_t> in_use = words(of_blocks[0]);
    in_use.resize(row / block);
    CHECK(in_use == experts_of_blocks);
    CHECK(words(sorted[0]) == ids);
    CHECK(sorted[1] == bytes_of(of_rows));
  }
}

TEST_CASE("a launch on arrays where they lie: an overrun that ends in the next one", "[emulator]") {
  kernels::Artifact a = kernels::build(put({}));
  a.contract.buffers[0].bits = {"rows*n*16", {"tokens", "rows", "n"}}; // of half of them
  std::vector<float> memory(64 + 128, 3.0F); // y of one row, though there are two, and x
  std::vector<std::int32_t> ids = {0, 1};
  const auto part = [&](std::size_t begin, std::size_t count) {
    return std::as_writable_bytes(std::span(memory).subspan(begin, count));
  };
  runtime::EmulatorDevice device(runtime::isa::parse_arch(a.arch));
  CHECK_THROWS_WITH(
      kernels::run_in_place(device, a, {part(0, 64), part(64, 128), std::as_writable_bytes(std::span(ids))},
                            std::vector<std::int64_t>{2, 2, 64}),
      Contains("bounds: writes") && Contains("directly past the end of one of 256 bytes"));
  CHECK(std::all_of(memory.begin(), memory.begin() + 64, [](float v) { return v == 6; }));
  CHECK(std::all_of(memory.begin() + 64, memory.end(), [](float v) { return v == 3; }));
}

} // namespace puts_test
