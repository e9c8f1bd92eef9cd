// Group normalisation of images, channels before pixels (NCHW).
#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct GroupNormAsked {
  std::string arch{codegen::usual_target};
  Element type = Element::f16;
  std::int64_t b = 2, groups = 32, pixels = 1024;
  int channels = 4, threads = 256, vector = 0;
  bool streamed = false;
  double epsilon = 1e-5;
  [[nodiscard]] int vector_length() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
  /// Pixels of a trip.
  [[nodiscard]] int wide() const { return threads * vector_length(); }
};

void check(const GroupNormAsked& s) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw std::invalid_argument(fmt::format("group_norm: {}\n  hint   {}", what, hint));
  };
  if (s.type != Element::f16 && s.type != Element::bf16 && s.type != Element::f32)
    refuse(fmt::format("--dtype {}", to_string(s.type)),
           "f16, bf16 or f32; the arithmetic is f32 in any case");
  if (s.threads != 64 && s.threads != 128 && s.threads != 256 && s.threads != 512 && s.threads != 1024)
    refuse(fmt::format("--threads {}", s.threads), "64, 128, 256, 512 or 1024");
  const int v = s.vector_length();
  if ((v & (v - 1)) != 0 || v > 128 / codegen::bits(s.type))
    refuse(fmt::format("--vector {}", v), "1, 2, 4, of 16 bits also 8");
  if (s.channels * v > (s.threads == 1024 ? 64 : 128))
    refuse(fmt::format("--channels {} with --vector {}", s.channels, v),
           fmt::format("fewer elements a vector: a work-item has channels * vector elements, at most {}",
                       s.threads == 1024 ? 64 : 128));
}

// A workgroup has a group of an image: its channels side by side, pixels in parts. The mean is one reading of it, the variance another,
// of (x - mean)^2, and what is stored a third; not streamed, all three are of the same registers.
// [group_norm]
Program group_norm_program(const GroupNormAsked& s) {
  check(s);
  const int v = s.vector_length(), wide = s.wide(), C = s.channels;
  Program k("group_norm", Target::named(s.arch), s.threads);
  const Sym B = k.size("b", {.most = 65535}), G = k.size("groups", {.most = 1 << 16}),
            P = k.size("pixels", {.most = s.streamed ? 1 << 20 : wide, .multiple = v});
  const Tensor Y = k.output("y", s.type, {B, G, C, P}), X = k.input("x", s.type, {B, G, C, P}),
               W = k.input("w", s.type, {G, C, 1}), Bias = k.input("bias", s.type, {G, C, 1});
  const auto sum = [&](const std::function<Expr(Sym, Sym)>& of) {
    return k.sum(P, [&](Sym i) { return k.sum(Sym(C), [&](Sym c) { return of(c, i); }); });
  };
  const auto part = [&](Expr e) { return e * rcp(k.number(Sym(C) * P)); };
  k.computes(Y, [&](const auto& at) {
    const auto x = [&](Sym c, Sym i) { return k(X, {at[0], at[1], c, i}); };
    const auto moved = [&](Sym c, Sym i) { return x(c, i) - part(sum(x)); };
    const Expr variance = part(sum([&](Sym c, Sym i) { return moved(c, i) * moved(c, i); }));
    return moved(at[2], at[3]) * rsqrt(variance + s.epsilon) * k(W, {at[1], at[2], 0}) +
           k(Bias, {at[1], at[2], 0});
  });

  const Sym group = k.workgroups(0, G, 1), image = k.workgroups(1, B, 1);
  const Layout tv = codegen::rows_tv(C, wide, v, s.threads), of_channel = codegen::without_axis(tv, 1),
               of_group = codegen::without_axis(of_channel, 0);
  const auto tile = [&](const Tensor& of, Sym t) {
    return k.tile(of, {1, 1, C, wide}, {image, group, 0, t}).keep({2, 3});
  };
  std::optional<Fragment> kept;
  const auto load = [&](Sym t) {
    if (s.streamed) return k.load(tile(X, t), tv, v);
    if (!kept) kept = k.load(tile(X, t), tv, v);
    return *kept;
  };
  const auto trips = [&](const std::function<void(Sym)>& body) {
    if (!s.streamed) return body(Sym(0));
    k.loop(P, wide, {.distance = 0, .ring = 1}, body);
  };
  const auto mean = [&](const std::function<Fragment(Sym)>& of) {
    std::optional<Fragment> all;
    if (s.streamed) all = k.zeros(Element::f32, of_group, {1, 1});
    trips([&](Sym t) {
      // What stands between the folds says that each of the inner ones is whole.
      const Fragment of_pixel = k.map({k.fold(Monoid::sum, of(t), 0)}, [](const Exprs&a) { return a[0]; }),
                     one = k.fold(Monoid::sum, of_pixel, 1);
      if (s.streamed)
        k.update(*all, {one}, [](const Exprs& a) { return a[0] + a[1]; });
      else
        all = one;
    });
    return k.map({*all}, [&](const Exprs& a) { return part(a[0]); });
  };
  const Fragment m = mean(load);
  const auto moved = [&](Sym t) {
    return k.map({load(t), m}, [&, t](const Exprs& a) {
      return inside((s.streamed ? wide * t : Sym(0)) + k.position(1), P, a[0] - a[1], 0);
    });
  };
  const Fragment variance =
      mean([&](Sym t) { return k.map({moved(t)}, [](const Exprs& a) { return a[0] * a[0]; }); });
  const Fragment by = k.map({variance}, [&](const Exprs& a) { return rsqrt(a[0] + s.epsilon); });
  const auto weight = [&](const Tensor& of) {
    return k.load(k.tile(of, {1, C, 1}, {group, 0, 0}).keep({1, 2}), of_channel, 1);
  };
  const Fragment w = weight(W), b = weight(Bias);
  trips([&](Sym t) {
    k.store(k.map({moved(t), by, w, b}, [](const Exprs& a) { return a[0] * a[1] * a[2] + a[3]; }), tile(Y, t),
            v);
  });
  return k;
}
// [group_norm end]

std::vector<Judged> group_norm_reference(const GroupNormAsked& s, const Workload& w, const Results&) {
  Judged y{"y", {}, {}, "errors of the mean and of the variance, carried, + u |y|"};
  const auto groups = static_cast<std::size_t>(s.groups), channels = static_cast<std::size_t>(s.channels),
             pixels = static_cast<std::size_t>(s.pixels), length = channels * pixels;
  const double
      n = static_cast<double>(length),
      // f32 additions that a term goes through: a work-item's, those across lanes and waves, those of the trips
      d = (s.channels * s.vector_length() + 6 + s.threads / 64 +
           static_cast<double>(up(s.pixels, s.wide()))) *
          u32;
  for (std::size_t r = 0; r < static_cast<std::size_t>(s.b) * groups; ++r) {
    const double* x = w.values("x").data() + r * length;
    double mean = 0, size = 0, variance = 0;
    for (std::size_t i = 0; i < length; ++i) mean += x[i] / n, size += std::abs(x[i]) / n;
    for (std::size_t i = 0; i < length; ++i) variance += (x[i] - mean) * (x[i] - mean) / n;
    const double by = 1 / std::sqrt(variance + s.epsilon), e_mean = (d + 3 * u32) * size,
                 e_by = d + 8 * u32 + 2 * e_mean * by;
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t channel = r % groups * channels + i / pixels;
      const double weight = w.values("w")[channel], bias = w.values("bias")[channel], c = x[i] - mean,
                   scaled = c * by * weight;
      y.value.push_back(scaled + bias);
      y.bound.push_back(1.01 * (std::abs(scaled) * (e_by + 4 * u32) + std::abs(by * weight) * e_mean +
                                u32 * (std::abs(scaled) + std::abs(bias))) +
                        rounding(s.type, y.value.back()));
    }
  }
  return {y};
}

} // namespace

std::unique_ptr<Kernel> group_norm_kernel() {
  using Read = Reads<GroupNormAsked>;
  Page<GroupNormAsked> page{
      .summary = "each group of channels of an image to mean 0 and variance 1, channels before pixels (NCHW)",
      .options = {"group_norm",
                  {arch_option<GroupNormAsked>(),
                   {"dtype", Read::element(&GroupNormAsked::type, "f16, bf16, f32"), "f16", "element type"},
                   {"b", Read::number(&GroupNormAsked::b, 1, 65535), "2", "images"},
                   {"groups", Read::number(&GroupNormAsked::groups, 1, 1 << 16), "32", "groups of an image"},
                   {"channels", Read::number(&GroupNormAsked::channels, 1, 128), "4", "channels of a group"},
                   {"pixels", Read::number(&GroupNormAsked::pixels, 1, 1 << 20), "1024",
                    "of a channel (height times width), a multiple of a vector"},
                   {"epsilon", Read::real(&GroupNormAsked::epsilon), "1e-5", "added to the variance"},
                   {"threads", Read::number(&GroupNormAsked::threads, 1, 1024), "auto",
                    "work-items of a group: 64 to 1024", "256"},
                   {"vector", Read::number(&GroupNormAsked::vector, 0, 8), "auto",
                    "elements that one instruction moves; 0: 16 bytes", "0"},
                   {"stream", Read::yes(&GroupNormAsked::streamed), "auto",
                    "channels of any length, so many vectors at a time", "no"}}},
      .program = group_norm_program,
      .sizes =
          [](const GroupNormAsked& s) {
            return std::vector{s.b, s.groups, s.pixels};
          },
      .size_names = {"b", "groups", "pixels"},
      .reference = group_norm_reference,
      .text =
          [](const GroupNormAsked& s) {
            return fmt::format("Y[{0},{1},{2}] in {3} groups of {4} channels, {5}", s.b,
                               s.groups * s.channels, s.pixels, s.groups, s.channels, to_string(s.type));
          },
      .candidates =
          [](const GroupNormAsked& s, const Flags& fixed) {
            std::vector<Flags> all;
            int widest = 128 / codegen::bits(s.type);
            while (s.pixels % widest != 0 || s.channels * widest > 128) widest /= 2;
            for (const int threads : {64, 128, 256, 512, 1024})
              for (int v = widest; v >= std::max(widest / 2, 1); v /= 2) {
                if (s.channels * v > (threads == 1024 ? 64 : 128)) continue;
                add_candidate(all,
                              {{"threads", std::to_string(threads)},
                               {"vector", std::to_string(v)},
                               {"stream", threads * v < s.pixels ? "yes" : "no"}},
                              fixed);
              }
            return all;
          },
      .bound =
          [](const GroupNormAsked& s) {
            check(s);
            if (!s.streamed && s.pixels > s.wide())
              throw std::invalid_argument("a channel is longer than the capacity");
            const double trips = static_cast<double>(up(s.pixels, s.wide())),
                         trip = s.channels * s.wide() * codegen::bits(s.type) / 8 / 6.6;
            const int resident = std::clamp(1024 / s.threads, 1, 8);
            return rounds(s.arch, s.b * s.groups, resident) *
                   (2500 + (s.streamed ? 3 * trips * (900 + resident * trip) : 2 * resident * trip));
          }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
