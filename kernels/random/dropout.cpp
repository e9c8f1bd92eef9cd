// y[i] = x[i] / (1 - p) where a word of Philox of i and the key is at least p 2^32, else 0: dropout by a counter, so that nothing is stored of
// what is kept.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011: Philox4x32-10.
#include "../page.h"

#include <inlay/kernels/philox.h>

#include <array>
#include <cstdint>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct DropoutAsked : VectorsAsked {
  double p = 0.1;
  std::int64_t n = 100000;
  int threads = 256;
  /// Words below this drop their element.
  [[nodiscard]] std::int64_t threshold() const { return std::llround(p * 0x1p32); }
};

// [dropout]
// Word i mod 4 of Philox4x32-10 of the counter (i / 4, 0, 0, 0).
Expr random_word(Program& k, Sym i, Expr key0, Expr key1) {
  const Expr zero = k.integer(0), word = integer(k.number(floor_mod(i, Sym(4))));
  const auto w = philox4x32({integer(k.number(floor_div(i, Sym(4)))), zero, zero, zero}, {key0, key1});
  return choose(word & 2, choose(word & 1, w[3], w[2]), choose(word & 1, w[1], w[0]));
}

Program dropout_program(const DropoutAsked& s) {
  const int v = s.vector_length(), tile = s.threads * v;
  Program k("dropout", Target::named(s.arch), s.threads);
  const Sym N = k.size("n", {.most = (std::int64_t{1} << 29) - 8, .multiple = v});
  const Tensor Y = k.output("y", s.type, {N}), X = k.input("x", s.type, {N}),
               key = k.input("key", Element::i32, {2});
  const auto kept = [&](Expr x, Sym i, Expr key0, Expr key1) {
    return choose(less_unsigned(random_word(k, i, integer(key0), integer(key1)), k.integer(s.threshold())),
                  k.constant(0), x * (1 / (1 - s.p)));
  };
  k.computes(Y, [&](const auto& c) { return kept(k(X, {c[0]}), c[0], k(key, {0}), k(key, {1})); });

  const Sym part = k.workgroups(0, N, tile);
  const Layout tv = codegen::line_tv(tile, v, s.threads), one = codegen::without_axis(tv, 0);
  const Fragment x = k.load(k.tile(X, {tile}, {part}), tv, v), low = k.load(k.tile(key, {1}, {0}), one, 1),
                 high = k.load(k.tile(key, {1}, {1}), one, 1);
  k.store(k.map({x, low, high},
                [&](const auto& a) { return kept(a[0], Sym(tile) * part + k.position(0), a[1], a[2]); }),
          k.tile(Y, {tile}, {part}), v);
  return k;
}
// [dropout end]

/// The algorithm as published: words of 64 bits in the place of high and low products.
std::array<std::uint32_t, 4> published(std::array<std::uint32_t, 4> counter,
                                       std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * counter[0],
                        b = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9e3779b9, key[1] += 0xbb67ae85;
  }
  return counter;
}

void dropout_data(const DropoutAsked&, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  const auto half = [](std::uint64_t v) { return static_cast<double>(static_cast<std::int32_t>(v)); };
  w.set("key", {half(seed & 0xffffffff), half(seed >> 32)});
}

std::vector<Judged> dropout_reference(const DropoutAsked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "3 2^-24 |y| + u |y|; what is dropped is 0"};
  const std::vector<double>&x = w.values("x"), &key = w.values("key");
  const auto word = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(key[i]));
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint32_t random =
        published({static_cast<std::uint32_t>(i / 4), 0, 0, 0}, {word(0), word(1)})[i % 4];
    y.value.push_back(random < s.threshold() ? 0 : x[i] / (1 - s.p));
    y.bound.push_back(y.value[i] == 0 ? 0 : 3 * u32 * std::abs(y.value[i]) + rounding(s.type, y.value[i]));
  }
  return {y};
}

} // namespace

std::array<Expr, 4> philox4x32(std::array<Expr, 4> c, std::array<Expr, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const Expr a = c[0].arena->integer(0xd2511f53), b = c[0].arena->integer(0xcd9e8d57);
    c = {mul_hi(c[2], b) ^ c[1] ^ key[0], c[2] * b, mul_hi(c[0], a) ^ c[3] ^ key[1], c[0] * a};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return c;
}

std::unique_ptr<Kernel> dropout_kernel() {
  using Read = Reads<DropoutAsked>;
  Page<DropoutAsked> page{
      .summary = "y[i] = x[i] / (1 - p) with probability 1 - p, else 0, by Philox4x32-10; the gradient is "
                 "the same of dy",
      .options = {"dropout",
                  {arch_option<DropoutAsked>(),
                   {"dtype", Read::element(&DropoutAsked::type, "f16, bf16, f32"), "bf16",
                    "element type of X and Y"},
                   {"p",
                    {"0 to 0.999",
                     [](DropoutAsked& s, const std::string& text) -> std::string {
                       const std::string wrong = Read::real(&DropoutAsked::p).put(s, text);
                       if (!wrong.empty()) return wrong;
                       return s.p >= 0 && s.p <= 0.999 ? "" : "is not a number from 0 to 0.999";
                     }},
                    "0.1",
                    "what is dropped: words below p 2^32"},
                   {"n", Read::number(&DropoutAsked::n, 1, (std::int64_t{1} << 29) - 8), "100000",
                    "elements, a multiple of a vector"},
                   {"threads", Read::number(&DropoutAsked::threads, 64, 1024), "auto",
                    "work-items of a workgroup", "256"},
                   {"vector", Read::number(&DropoutAsked::vector, 0, 8), "auto",
                    "elements that one instruction moves: 1 takes any N, 0 is 16 bytes", "0"}}},
      .program = dropout_program,
      .sizes = members(&DropoutAsked::n),
      .size_names = {"n"},
      .data = dropout_data,
      .reference = dropout_reference,
      .text = [](const DropoutAsked& s) { return fmt::format("dropout of {} elements, p = {}", s.n, s.p); },
      .candidates =
          [](const DropoutAsked& s, const Flags& fixed) {
            return candidates_by_threads(s.type, s.n, {64, 256}, fixed);
          },
      .bound = [](const DropoutAsked&
                      s) { // ten rounds for four elements: 40 products of 16 clocks and 80 operations of 4
        const int tile = s.threads * s.vector_length(), resident = resident_by_waves(s.threads);
        const double each = s.vector_length() < 4 ? 4.0 : 1.0;
        return rounds(s.arch, up(s.n, tile), resident) * (2200 + each * resident * tile);
      }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
