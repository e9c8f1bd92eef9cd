// `conv2d` and `conv3d` on the command line, and their judge.
#include "../page.h"
#include "convolution.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using Images = Convolution;
struct Volumes : Convolution {
  Volumes() { volume = true; }
};

std::vector<Judged> reference(const Convolution& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "2 (taps of a filter) 2^-24 sum |x f| + u |y|"};
  const std::vector<double>&x = w.values("x"), &f = w.values("f");
  const Slide deep = s.volume ? s.deep_axis() : Slide{"", ""}, high = s.high(), wide = s.wide();
  const auto at = [](const Slide& a, std::int64_t out, int tap) -> std::optional<std::int64_t> {
    const std::int64_t i = out * a.stride + std::int64_t{tap} * a.dilation - a.pad;
    return i < 0 || i >= a.extent ? std::nullopt : std::optional(i);
  };
  const auto pixel = [&](std::int64_t n, std::int64_t o, std::int64_t p, std::int64_t q, std::int64_t k) {
    double sum = 0, size = 0;
    for (int t = 0; t < deep.taps; ++t)
      for (int r = 0; r < high.taps; ++r)
        for (int c = 0; c < wide.taps; ++c) {
          const auto g = at(deep, o, t), i = at(high, p, r), j = at(wide, q, c);
          if (!g || !i || !j) continue;
          const double* in =
              &x[static_cast<std::size_t>((((n * deep.extent + *g) * s.h + *i) * s.w + *j) * s.c)];
          const double* by = &f[static_cast<std::size_t>((((k * deep.taps + t) * s.r + r) * s.s + c) * s.c)];
          for (std::int64_t l = 0; l < s.c; ++l) sum += in[l] * by[l], size += std::abs(in[l] * by[l]);
        }
    const double by = s.narrow() ? w.values("scale")[0] : 1;
    y.value.push_back(by * sum);
    y.bound.push_back(2.0 * static_cast<double>(s.taps() * s.c) * u32 * std::abs(by) * size +
                      rounding(s.out, by * sum));
  };
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t o = 0; o < deep.results(); ++o)
      for (std::int64_t p = 0; p < high.results(); ++p)
        for (std::int64_t q = 0; q < wide.results(); ++q)
          for (std::int64_t k = 0; k < s.k; ++k) pixel(n, o, p, q, k);
  return {y};
}

template <class Asked>
std::unique_ptr<Kernel> kernel() {
  using Read = Reads<Asked>;
  const Asked usual;
  std::vector<Option<Asked>> options{
      arch_option<Asked>(),
      {"dtype", Read::element(&Asked::type, "f16, bf16, fp8"), "bf16",
       "element type of X and F; of fp8 the sums times a number, the product of their scales"},
      {"out", Read::element(&Asked::out, "f16, bf16, f32"), "bf16", "element type of Y"},
      {"n", Read::number(&Asked::n, 1, 1 << 16), "2", "images"}};
  const auto add = [&](std::vector<Option<Asked>> more) {
    options.insert(options.end(), more.begin(), more.end());
  };
  if (usual.volume) add({{"d", Read::number(&Asked::d, 1, 1 << 13), "6", "images of a volume"}});
  add({{"h", Read::number(&Asked::h, 1, 1 << 13), "14", "rows of an image"},
       {"w", Read::number(&Asked::w, 1, 1 << 13), "14", "pixels of a row"},
       {"c", Read::number(&Asked::c, 1, 1 << 14), "64", "channels, a multiple of 8; of fp8 16"},
       {"k", Read::number(&Asked::k, 1, 1 << 16), "64", "filters, a multiple of 4"}});
  if (usual.volume) add({{"t", Read::number(&Asked::t, 1, 15), "3", "images of a filter"}});
  add({{"r", Read::number(&Asked::r, 1, 15), "3", "rows of a filter"},
       {"s", Read::number(&Asked::s, 1, 15), "3", "columns of it"},
       {"stride", Read::number(&Asked::stride, 1, 8), "1", "pixels from one result to the next"},
       {"dilation", Read::number(&Asked::dilation, 1, 32), "1", "pixels from one tap to the next"},
       {"pad", Read::number(&Asked::pad, 0, 64), "1", "zeros on each side"}});
  if (usual.volume)
    add({{"stride-d", Read::number(&Asked::stride_d, 1, 8), "1", "images from one result to the next"},
         {"dilation-d", Read::number(&Asked::dilation_d, 1, 32), "1", "images from one tap to the next"},
         {"pad-d", Read::number(&Asked::pad_d, 0, 64), "1", "images of zeros on each side"}});
  add({{"tile", Read::product("64x64", &Asked::tile_m, &Asked::tile_n), "auto",
        "pixels and filters of a workgroup: of 32, 64, 128", "64x64"}});
  std::vector<std::string> names{"n"};
  for (const Slide& a : usual.axes()) names.push_back(a.in);
  names.emplace_back("k");
  return page_of(Page<Asked>{
      .summary = usual.volume ? "Y[n,o,p,q,k] = sum_trsc X[n, stride_d o + dilation_d t - pad_d, stride p + "
                                "..., stride q + ..., c] F[k,t,r,s,c]"
                              : "Y[n,p,q,k] = sum_rsc X[n, stride p + dilation r - pad, stride q + dilation "
                                "s - pad, c] F[k,r,s,c]",
      .options = {usual.name(), options},
      .program = convolution_program,
      .sizes =
          [](const Asked& s) {
            std::vector sizes{s.n};
            for (const Slide& a : s.axes()) sizes.push_back(a.extent);
            for (const Slide& a : s.axes()) sizes.push_back(a.results());
            sizes.insert(sizes.end(), {s.pixels(), s.k});
            return sizes;
          },
      .size_names = names,
      .reference = reference,
      .text =
          [](const Asked& s) {
            std::string y, x, f;
            for (const Slide& a : s.axes())
              y += fmt::format(",{}", a.results()), x += fmt::format(",{}", a.extent),
                  f += fmt::format(",{}", a.taps);
            return fmt::format("Y[{}{},{}] = X[{}{},{}] * F[{}{},{}], {} -> {}", s.n, y, s.k, s.n, x, s.c,
                               s.k, f, s.c, to_string(s.type), to_string(s.out));
          },
      .candidates =
          [](const Asked&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const char* tile : {"64x64", "128x64", "128x128"})
              add_candidate(all, {{"tile", tile}}, fixed);
            return all;
          },
      .bound =
          [](const Asked& s) {
            const double trips = static_cast<double>(s.taps() * s.channels()) / s.deep(),
                         trip = 300 + s.tile_m * s.tile_n * s.deep() /
                                          products_per_clock(s.arch, s.narrow() ? machine::Operand::fp8
                                                                                : machine::Operand::f16);
            return rounds(s.arch, up(s.pixels(), s.tile_m) * up(s.k, s.tile_n), 2) * (3000 + trips * trip);
          }});
}

} // namespace

std::unique_ptr<Kernel> conv2d_kernel() { return kernel<Images>(); }
std::unique_ptr<Kernel> conv3d_kernel() { return kernel<Volumes>(); }

} // namespace inlay::kernels
