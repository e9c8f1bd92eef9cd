// Y[n,i,j,c] = X[n,i-top,j-left,c], 0 where X has no such pixel: what lies around images.
#include "../page.h"

#include <fmt/format.h>

#include <bit>

namespace inlay::kernels {
namespace {

struct PadAsked : VectorsAsked {
  std::int64_t n = 4, h = 28, w = 28, c = 64;
  int top = 1, bottom = 1, left = 1, right = 1;
  [[nodiscard]] std::int64_t high() const { return h + top + bottom; }
  [[nodiscard]] std::int64_t wide() const { return w + left + right; }
};

// [pad]
Program pad_program(const PadAsked& s) {
  constexpr int threads = 256;
  const int v = s.vector_length(),
            lanes = static_cast<int>(
                std::bit_ceil(std::clamp<std::uint64_t>(static_cast<std::uint64_t>(up(s.c, v)), 1, threads))),
            columns = v * static_cast<int>(up(s.c, lanes * v)) * lanes, rows = threads / lanes;
  Program k("pad", Target::named(s.arch), threads);
  const Sym N = k.size("n", {.most = 65535}), H = k.size("h", {.most = 65535}),
            W = k.size("w", {.most = 1 << 20}), HO = k.size("ho", {.most = 65535}),
            WO = k.size("wo", {.most = 1 << 20}), C = k.size("c", {.most = columns, .multiple = v});
  const Tensor Y = k.output("y", s.type, {N, HO, WO, C}), X = k.input("x", s.type, {N, H, W, C}),
               padded =
                   k.window("padded", X, {{N, {{N, 0}}}, {HO, {{HO, 1}}}, {WO, {{WO, 2}}}, {C, {{C, 3}}}},
                            {0, -s.top, -s.left, 0});
  k.computes(Y, [&](const auto& c) { return k(padded, {c[0], c[1], c[2], c[3]}); });
  const Sym part = k.workgroups(0, WO, rows), row = k.workgroups(1, HO, 1), image = k.workgroups(2, N, 1);
  const Layout tv = codegen::rows_tv(rows, columns, v, threads);
  const auto tile = [&](const Tensor& t) {
    return k.tile(t, {1, 1, rows, columns}, {image, row, part, 0}).keep({2, 3});
  };
  k.store(k.load(tile(padded), tv, v), tile(Y), v);
  return k;
}
// [pad end]

std::vector<Judged> pad_reference(const PadAsked& s, const Workload& w, const Results&) {
  std::vector<double> y;
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t i = -s.top; i < s.h + s.bottom; ++i)
      for (std::int64_t j = -s.left; j < s.w + s.right; ++j)
        for (std::int64_t c = 0; c < s.c; ++c)
          y.push_back(i < 0 || i >= s.h || j < 0 || j >= s.w
                          ? 0
                          : w.values("x")[at(((n * s.h + i) * s.w + j) * s.c + c)]);
  return {exactly("y", y)};
}

} // namespace

std::unique_ptr<Kernel> pad_kernel() {
  using Read = Reads<PadAsked>;
  Page<PadAsked> page{
      .summary = "Y[n,i,j,c] = X[n,i-top,j-left,c], 0 outside of X: padding of images, NHWC",
      .options = {"pad",
                  {arch_option<PadAsked>(),
                   {"dtype", Read::element(&PadAsked::type, "f16, bf16, f32, fp8, i8"), "bf16",
                    "element type"},
                   {"n", Read::number(&PadAsked::n, 1, 65535), "4", "images"},
                   {"h", Read::number(&PadAsked::h, 1, 60000), "28", "rows of an image"},
                   {"w", Read::number(&PadAsked::w, 1, 1000000), "28", "pixels of a row"},
                   {"c", Read::number(&PadAsked::c, 1, 8192), "64", "channels, a multiple of a vector"},
                   {"top", Read::number(&PadAsked::top, -1000, 1000), "1",
                    "rows before; a negative number cuts off"},
                   {"bottom", Read::number(&PadAsked::bottom, -1000, 1000), "1", "rows after"},
                   {"left", Read::number(&PadAsked::left, -1000, 1000), "1", "pixels before each row"},
                   {"right", Read::number(&PadAsked::right, -1000, 1000), "1", "pixels after it"},
                   {"vector", Read::number(&PadAsked::vector, 0, 16), "auto",
                    "elements that one instruction moves: 1 takes any C, 0 is 16 bytes", "0"}}},
      .program = pad_program,
      .sizes = [](const PadAsked& s) { return std::vector{s.n, s.h, s.w, s.high(), s.wide(), s.c}; },
      .size_names = {"n", "h", "w", "c"},
      .reference = pad_reference,
      .text =
          [](const PadAsked& s) {
            return fmt::format("Y[{0},{4},{5},{3}] = X[{0},{1},{2},{3}] with zeros around it, {6}", s.n, s.h,
                               s.w, s.c, s.high(), s.wide(), to_string(s.type));
          },
      .candidates =
          [](const PadAsked& s, const Flags& fixed) {
            return only_candidate({{"vector", std::to_string(widest_vector(s.type, {s.c}))}}, fixed);
          },
      .bound =
          [](const PadAsked& s) {
            return rounds(s.arch, s.n * s.high() * up(s.wide() * s.c, 256 * s.vector_length()), 8) * 8000;
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
