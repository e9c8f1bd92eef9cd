// Y[b,h,s,d] = X[b,s,h,d]: two axes exchanged, rows of D stay as they are.
#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

struct Swapped {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  std::int64_t b = 2, s = 100, h = 8;
  int d = 128;
};

// [swap_axes]
Program swap_program(const Swapped& a) {
  constexpr int threads = 256;
  const int v = std::min(128 / codegen::bits(a.type), a.d & -a.d), lanes = a.d / v;
  if (lanes > threads || (lanes & (lanes - 1)) != 0)
    Refusal{"swap_axes"}(fmt::format("--d {}", a.d), fmt::format("a power of two from 1 to {}", 256 * v));
  const int rows = 2 * threads / lanes;
  Program k("swap_axes", Target::named(a.arch), threads);
  const Sym B = k.size("b", {.most = 65535}), S = k.size("s", {.most = 1 << 24}),
            H = k.size("h", {.most = 65535});
  const Tensor Y = k.output("y", a.type, {B, H, S, a.d}), X = k.input("x", a.type, {B, S, H, a.d});
  k.computes(Y, [&](const auto& c) { return k(X, {c[0], c[2], c[1], c[3]}); });
  const Sym part = k.workgroups(0, S, rows), head = k.workgroups(1, H, 1), batch = k.workgroups(2, B, 1);
  const Fragment x = k.load(k.tile(X, {1, rows, 1, a.d}, {batch, part, head, 0}).keep({1, 3}),
                            codegen::rows_tv(rows, a.d, v, threads), v);
  k.store(x, k.tile(Y, {1, 1, rows, a.d}, {batch, head, part, 0}).keep({2, 3}), v);
  return k;
}
// [swap_axes end]

std::vector<Judged> swap_reference(const Swapped& a, const Workload& w, const Results&) {
  std::vector<double> y;
  for (std::int64_t b = 0; b < a.b; ++b)
    for (std::int64_t h = 0; h < a.h; ++h)
      for (std::int64_t i = 0; i < a.s; ++i)
        for (std::int64_t d = 0; d < a.d; ++d)
          y.push_back(w.values("x")[at(((b * a.s + i) * a.h + h) * a.d + d)]);
  return {exactly("y", y)};
}

} // namespace

std::unique_ptr<Kernel> swap_axes_kernel() {
  using Read = Reads<Swapped>;
  Page<Swapped> page{
      .summary = "Y[b,h,s,d] = X[b,s,h,d]: heads before tokens, or back",
      .options = {"swap_axes",
                  {arch_option<Swapped>(),
                   {"dtype", Read::element(&Swapped::type, "f16, bf16, f32"), "bf16", "element type"},
                   {"b", Read::number(&Swapped::b, 1, 65535), "2", "batches"},
                   {"s", Read::number(&Swapped::s, 1, 1 << 24), "100", "tokens"},
                   {"h", Read::number(&Swapped::h, 1, 65535), "8", "heads"},
                   {"d", Read::number(&Swapped::d, 1, 2048), "128", "elements of a head, a power of two"}}},
      .program = swap_program,
      .sizes = members(&Swapped::b, &Swapped::s, &Swapped::h),
      .size_names = {"b", "s", "h"},
      .reference = swap_reference,
      .text = [](const Swapped& a) {
        return fmt::format("Y[{0},{2},{1},{3}] = X[{0},{1},{2},{3}], {4}", a.b, a.s, a.h, a.d,
                           to_string(a.type));
      }};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
