// Tensors of more than 4 GiB: their memory is there where somebody touches it.
#include "../../kernels/attention/prefill.h"
#include "specified.h"

#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/moe/spec.h>

#include <cmath>
#include <cstring>
#include <random>

namespace large_test {

using namespace specified;
using Catch::Matchers::Contains;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

/// A kernel on the emulator, with all sanitizers and hostile schedules, whose buffers are as large as its sizes say and hold what was put there.
class Launch {
public:
  Launch(Program program, std::vector<std::int64_t> sizes)
      : artifact_(kernels::build(std::move(program))), sizes_(std::move(sizes)),
        device_(kernels::open_device("emulator", artifact_.arch,
                                     {.checks = runtime::Checks::all(), .stress = true})) {
    for (const auto& b : artifact_.contract.buffers) {
      bytes_.push_back(b.bytes(sizes_));
      buffers_.emplace_back(*device_, static_cast<std::uint64_t>(bytes_.back()));
    }
  }
  [[nodiscard]] std::int64_t bytes(std::size_t buffer) const { return bytes_[buffer]; }
  [[nodiscard]] std::size_t number(const std::string& name) const {
    std::size_t n = 0;
    while (artifact_.contract.buffers.at(n).name != name) ++n;
    return n;
  }
  template <class T>
  void put(std::size_t buffer, std::int64_t element, const std::vector<T>& values) {
    device_->copy_in(buffers_[buffer].address() + static_cast<std::uint64_t>(element) * sizeof(T),
                     {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)});
  }
  template <class T>
  std::vector<T> get(std::size_t buffer, std::int64_t element, std::size_t count) {
    std::vector<T> out(count);
    device_->copy_out({reinterpret_cast<std::uint8_t*>(out.data()), count * sizeof(T)},
                      buffers_[buffer].address() + static_cast<std::uint64_t>(element) * sizeof(T));
    return out;
  }
  void run() {
    std::vector<std::uint64_t> addresses;
    for (const runtime::Buffer& b : buffers_) addresses.push_back(b.address());
    kernels::LoadedKernel(*device_, artifact_).launch(addresses, sizes_);
    for (const runtime::Finding& f : dynamic_cast<runtime::EmulatorDevice&>(*device_).last_launch().findings)
      if (!f.note) FAIL(to_string(f));
  }

private:
  kernels::Artifact artifact_;
  std::vector<std::int64_t> sizes_, bytes_;
  std::unique_ptr<runtime::Device> device_;
  std::vector<runtime::Buffer> buffers_;
};

const Element f32 = Element::f32;

// y(t, d) = w(ids t, d).
Program gathered(int vector, bool transfer = false) {
  Program k("gathered", Target::named("gfx942"), 64);
  const Sym T = k.size("t", {.most = 1 << 20}), V = k.size("v"),
            D = k.size("d", {.most = 1 << 16, .multiple = vector});
  const Tensor y = k.output("y", f32, {T, D}), w = k.input("w", f32, {V, D}),
               ids = k.input("ids", Element::i32, {T});
  k.computes(y, [&](const auto& c) { return k(w, {k.at(ids, c[0]), c[1]}); });
  const Sym d = k.workgroups(0, D, 64 * vector), t = k.workgroups(1, T, 2);
  const Layout tv = rows_tv(2, 64 * vector, vector, 64);
  const Fragment of = k.load(k.tile(ids, {2}, {t}), without_axis(tv, 1), 1);
  const View rows = k.tile(w, {2, 64 * vector}, {0, d}).through(0, of);
  if (transfer) {
    const Tensor lds = k.lds("tile", f32, {2, 64 * vector});
    k.transfer(rows, lds, tv, vector);
    k.store(k.read(lds, tv, vector), k.tile(y, {2, 64 * vector}, {t, d}), vector);
  } else {
    k.store(k.load(rows, tv, vector), k.tile(y, {2, 64 * vector}, {t, d}), vector);
  }
  return k;
}

// y(0, n) = sum over m of x(m, n), a row of x every `pitch` elements.
Program column_sums(bool far, int distance) {
  Program k("column_sums", Target::named("gfx942"), 64);
  const Sym M = k.size("m", {.most = 1 << 20}), N = k.size("n", {.most = 1 << 20, .multiple = 4}),
            P = k.size("pitch", {.least = 1 << 20, .multiple = 4});
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open();
  b.leaf(BasicMode<Sym>{M, BasicStride<Sym>(P)}), b.leaf(BasicMode<Sym>{N, BasicStride<Sym>(Sym(1))});
  b.close(all, 2);
  const Tensor y = k.output("y", f32, {1, N}),
               x = k.input("x", f32, {M, N}, SymLayout(std::move(b).finish()));
  if (far) k.far(x);
  k.computes(y, [&](const auto& c) { return k.sum(M, [&](Sym i) { return k(x, {i, c[1]}); }); });
  const Sym n = k.workgroups(0, N, 64);
  const Layout tv = rows_tv(4, 64, 4, 64), of = without_axis(tv, 0);
  const Fragment sum = k.zeros(f32, of, {1, 64});
  k.loop(M, 4, {.distance = distance, .ring = std::max(distance, 1)}, [&](Sym t) {
    const Fragment part = k.fold(Monoid::sum, k.load(k.tile(x, {4, 64}, {t, n}), tv, 4), 0);
    k.update(sum, {part}, [](const auto& v) { return v[0] + v[1]; });
  });
  k.store(sum, k.tile(y, {1, 64}, {0, n}), 4);
  return k;
}

// Puts numbers into the rows that the ids name; what is gathered then: what names no row is 0.
std::vector<float> put_rows(Launch& l, const std::vector<std::int32_t>& ids, std::int64_t V, std::int64_t D,
                            int modulus) {
  std::vector<float> wanted;
  for (const std::int32_t id : ids) {
    std::vector<float> row(static_cast<std::size_t>(D), 0);
    if (id >= 0 && id < V) {
      for (std::size_t d = 0; d < row.size(); ++d)
        row[d] = static_cast<float>(id % modulus) + static_cast<float>(d) / 64;
      l.put(1, id * D, row);
    }
    wanted.insert(wanted.end(), row.begin(), row.end());
  }
  return wanted;
}

} // namespace

TEST_CASE("large: rows of a table of 5 GiB") {
  for (const int vector : {1, 4}) {
    const std::int64_t V = 41'000'000, D = 32, T = 9;
    Launch l(gathered(vector), {T, V, D});
    REQUIRE(l.bytes(1) > 5 * gib - gib / 8);
    const std::vector<std::int32_t> ids = {0,          static_cast<std::int32_t>(V - 1),
                                           -1,         static_cast<std::int32_t>(V),
                                           16'777'216, 16'777'215,
                                           33'554'432, INT32_MIN,
                                           INT32_MAX};
    l.put(2, 0, ids);
    const std::vector<float> wanted = put_rows(l, ids, V, D, 1000);
    l.run();
    CHECK(l.get<float>(0, 0, wanted.size()) == wanted);
  }
}

TEST_CASE("large: rows drawn from tables that end at 31, 32 and 33 bits of bytes, a row before and after") {
  std::mt19937_64 random(34);
  for (const int vector : {1, 4})
    for (const int bits : {31, 32, 33, 36}) {
      const std::int64_t D = 4 * (8 + static_cast<std::int64_t>(random() % 8)),
                         near = (std::int64_t{1} << bits) / (4 * D);
      for (const std::int64_t V : {near - 1, near, near + 1, near + 2}) {
        std::vector<std::int32_t> ids;
        // The last rows, the first after them, and those around every end below.
        for (int end = 31; end <= bits; ++end)
          for (const int by : {-1, 0, 1})
            ids.push_back(static_cast<std::int32_t>((std::int64_t{1} << end) / (4 * D) + by));
        for (const std::int64_t id : {V - 1, V, V + 1, std::int64_t{-1}})
          ids.push_back(static_cast<std::int32_t>(id));
        for (int n = 0; n < 20; ++n)
          ids.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(V + V / 8)));
        Launch l(gathered(vector), {static_cast<std::int64_t>(ids.size()), V, D});
        REQUIRE(l.bytes(1) == 4 * V * D);
        l.put(2, 0, ids);
        const std::vector<float> wanted = put_rows(l, ids, V, D, 4096);
        l.run();
        INFO("vector " << vector << ", rows of " << D << ", " << V << " of them");
        CHECK(l.get<float>(0, 0, wanted.size()) == wanted);
      }
    }
}

TEST_CASE("large: a loop along rows that lie 128 MiB apart") {
  CHECK_THAT(refuted(column_sums(false, 1)), Contains("fit 31 bits") && Contains("k.far(x)"));
  for (const int distance : {0, 2}) {
    const std::int64_t M = 41, N = 68, P = 1 << 25;
    Launch l(column_sums(true, distance), {M, N, P});
    REQUIRE(l.bytes(1) > 5 * gib);
    std::vector<float> wanted(static_cast<std::size_t>(N), 0);
    for (std::int64_t m = 0; m < M; ++m) {
      std::vector<float> row;
      for (std::size_t n = 0; n < wanted.size(); ++n) {
        row.push_back(static_cast<float>(m * 5 + static_cast<std::int64_t>(n)));
        wanted[n] += row.back();
      }
      l.put(1, m * P, row);
    }
    l.run();
    CHECK(l.get<float>(0, 0, wanted.size()) == wanted);
  }
}

TEST_CASE("large: what has no addresses of 64 bits") {
  CHECK_THROWS_WITH(refuted(gathered(1, true)),
                    Contains("no transfer by 64 bits") && Contains("copy, through registers"));
  Program both("both", Target::named("gfx942"), 64);
  const Sym n = both.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor z = both.output("z", f32, {n}), a = both.input("a", f32, {n}), b = both.input("b", f32, {n});
  both.computes(z, [&](const auto& c) { return both(a, {c[0]}) + both(b, {c[0]}); });
  both.far(a);
  const Sym w = both.workgroups(0, n, 64);
  const Layout line = line_tv(64, 1, 64);
  const Tensor tile = both.lds("tile", f32, {64});
  both.transfer(both.tile(b, {64}, {w}), tile, line, 1);
  both.store(both.map({both.load(both.tile(a, {64}, {w}), line, 1), both.read(tile, line, 1)},
                      [](const auto& v) { return v[0] + v[1]; }),
             both.tile(z, {64}, {w}), 1);
  CHECK_THROWS_WITH(kernels::build(std::move(both)), Contains("beside loads by addresses of 64 bits"));
  Program k("far", Target::named("gfx942"), 64);
  const Tensor y = k.output("y", f32, {Sym(8)}), x = k.input("x", Element::e2m1, {Sym(8)});
  CHECK_THROWS_WITH(k.far(y), Contains("y is no input"));
  CHECK_THROWS_WITH(k.far(x), Contains("elements of 4 bits"));
}

namespace {

/// 16-bit codes of small whole numbers, and back.
std::vector<std::uint16_t> codes(Element type, const std::vector<double>& values) {
  std::vector<std::uint16_t> out;
  for (const double v : values) out.push_back(static_cast<std::uint16_t>(encode(type, v)));
  return out;
}
double whole(std::int64_t seed) { return static_cast<double>((seed * 7919 + seed / 13 * 31) % 7 - 3); }

} // namespace

// AITER and others: row numbers times a pitch in 31 or 32 bits.
TEST_CASE("large: a GEMM whose rows of A, of B or of D pass 2 and 4 GiB") {
  for (const char matrix : {'a', 'b', 'd'}) {
    kernels::GemmSpec spec;
    spec.in = Element::bf16, spec.out = Element::f32;
    spec.tile_m = spec.tile_n = 64;
    spec.multiple_n = 8;
    (matrix == 'a' ? spec.padded.a : matrix == 'b' ? spec.padded.b : spec.padded.d) = true;
    // f32 rows of D are twice as many bytes.
    const std::int64_t pad = (1 << 20) - 1024, far = matrix == 'd' ? 1100 : 2200, M = matrix == 'b' ? 5 : far,
                       N = matrix == 'b' ? far : 8, K = 24;
    Launch l(kernels::gemm_program(spec), {M, N, K, pad});
    REQUIRE(l.bytes(matrix == 'a' ? 1 : matrix == 'b' ? 2 : 0) > 4 * gib);
    const auto fill = [&](std::size_t buffer, std::int64_t rows, std::int64_t pitch) {
      std::vector<std::vector<double>> all;
      for (std::int64_t r = 0; r < rows; ++r) {
        std::vector<double> row;
        for (std::int64_t i = 0; i < K; ++i)
          row.push_back(whole(r * K + i + static_cast<std::int64_t>(buffer)));
        l.put(buffer, r * pitch, codes(spec.in, row));
        all.push_back(std::move(row));
      }
      return all;
    };
    const auto a = fill(1, M, matrix == 'a' ? K + pad : K), b = fill(2, N, matrix == 'b' ? K + pad : K);
    l.run();
    INFO(matrix);
    for (std::int64_t m = 0; m < M; ++m) {
      std::vector<float> wanted;
      for (std::int64_t n = 0; n < N; ++n) {
        double sum = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(K); ++i)
          sum += a[static_cast<std::size_t>(m)][i] * b[static_cast<std::size_t>(n)][i];
        wanted.push_back(static_cast<float>(sum));
      }
      REQUIRE(l.get<float>(0, m * (matrix == 'd' ? N + pad : N), wanted.size()) == wanted);
    }
  }
}

// An expert's number times the bytes of its matrices, and a page's times those of a page.
TEST_CASE("large: an expert's matrices past 4 GiB") {
  kernels::MoeSpec spec;
  const std::int64_t T = 3, K = 4096, I = 2048, E = 170, P = 64;
  Launch l(kernels::moe_stage1_program(spec), {T, K, I, E, P});
  REQUIRE(l.bytes(2) > 5 * gib);
  // Columns of the gate are 1, and those of the other matrix 2, for one k of each row of X; silu(x) of x = 1.
  const std::int64_t expert = E - 1, at = K - 3;
  std::vector<double> x(static_cast<std::size_t>(T * K), 0);
  for (std::int64_t t = 0; t < T; ++t) x[static_cast<std::size_t>(t * K + at)] = 1;
  l.put(1, 0, codes(Element::bf16, x));
  const std::vector<std::uint16_t> zeros(static_cast<std::size_t>(K), 0);
  for (const std::int64_t which : {0, 1})
    for (std::int64_t i = 0; i < I; ++i) {
      const std::int64_t row = ((expert * 2 + which) * I + i) * K;
      l.put(2, row, zeros);
      l.put(2, row + at, codes(Element::bf16, {which == 0 ? 1.0 : static_cast<double>(i % 100)}));
    }
  std::vector<std::int32_t> ids(static_cast<std::size_t>(P), static_cast<std::int32_t>(T));
  ids[0] = 2, ids[1] = 0;
  l.put(3, 0, ids), l.put(4, 0, std::vector<std::int32_t>{static_cast<std::int32_t>(expert)});
  l.put(5, 0, std::vector<std::int32_t>{2});
  l.run();
  for (std::int64_t row = 0; row < 3; ++row) {
    const std::vector<std::uint16_t> y = l.get<std::uint16_t>(0, row * I, static_cast<std::size_t>(I));
    for (std::int64_t i = 0; i < I; ++i)
      REQUIRE(decode(Element::bf16, y[static_cast<std::size_t>(i)]) ==
              Approx(row < 2 ? static_cast<double>(i % 100) / (1 + std::exp(-1.0)) : 0).epsilon(0.01));
  }
}

TEST_CASE("large: pages past 4 GiB, of keys that many and one workgroup reads") {
  const kernels::Prefill asked{.head_dim = 64, .page = 64, .tile_q = 16, .waves = 1};
  const std::int64_t pages = 600'000, D = 64, keys = 128, H = 1;
  Launch l(kernels::varlen_attention_program(asked), {1, 16, H, keys, pages});
  const auto number = [&](const std::string& name) { return l.number(name); };
  REQUIRE(l.bytes(number("k")) > 4 * gib);
  // The value of a key is its number; all keys have one score, so that o is the mean of those that a row sees.
  const std::int32_t table[] = {static_cast<std::int32_t>(pages - 1), static_cast<std::int32_t>(pages - 2)};
  for (std::int64_t i = 0; i < keys; ++i) {
    const std::int64_t at = (table[i / 64] * std::int64_t{64} + i % 64) * D;
    l.put(number("k"), at, codes(Element::bf16, std::vector<double>(static_cast<std::size_t>(D), 1)));
    l.put(number("v"), at,
          codes(Element::bf16, std::vector<double>(static_cast<std::size_t>(D), static_cast<double>(i))));
  }
  l.put(number("q"), 0, std::vector<std::uint16_t>(static_cast<std::size_t>(16 * D), 0));
  l.put(number("table"), 0, std::vector<std::int32_t>{table[0], table[1]});
  std::vector<std::int32_t> row, position;
  for (std::int32_t j = 0; j < 16; ++j) row.push_back(j), position.push_back(j * 8);
  l.put(number("row"), 0, row), l.put(number("position"), 0, position);
  l.put(number("ends"), 0, std::vector<std::int32_t>{128});
  l.run();
  for (std::int64_t j = 0; j < 16; ++j)
    for (const std::uint16_t o : l.get<std::uint16_t>(number("o"), j * D, static_cast<std::size_t>(D)))
      REQUIRE(decode(Element::bf16, o) == Approx(static_cast<double>(j) * 4).margin(0.5));
}

} // namespace large_test
