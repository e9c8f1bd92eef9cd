// `group_norm` on the command line, and its judge.
#include "group_norm.h"

namespace inlay::kernels {
namespace {

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
      .sizes = members(&GroupNormAsked::b, &GroupNormAsked::groups, &GroupNormAsked::pixels),
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
            check_group_norm(s);
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
