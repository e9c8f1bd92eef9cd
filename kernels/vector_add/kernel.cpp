// c[i] = a[i] + b[i] in f32: the smallest kernel with everything that a kernel has. Each work-item adds four
// consecutive elements; what lies beyond n is cut off by the descriptors.
#include "../data.h"
#include "../kernels.h"
#include "../options.h"
#include "../with_data.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/build.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

constexpr int workgroup = 256;
constexpr int per_item = 4;

struct Asked {
  std::string arch{codegen::usual_target};
  std::int64_t n = 1000;
};

// [vector_add]
codegen::Program program(const Asked& asked) {
  codegen::Program k("vector_add", codegen::Target::named(asked.arch), workgroup);
  const Sym n = k.size("n", {.most = (std::int64_t{1} << 29) - 1});
  const codegen::Tensor c = k.output("c", Element::f32, {n}), a = k.input("a", Element::f32, {n}),
                        b = k.input("b", Element::f32, {n});
  k.computes(c, [&](const auto& i) { return k(a, {i[0]}) + k(b, {i[0]}); });

  constexpr int tile = workgroup * per_item;
  const Sym w = k.workgroups(0, n, tile);
  const Layout tv = codegen::line_tv(tile, per_item, workgroup);
  const codegen::Fragment sum =
      k.map({k.load(k.tile(a, {tile}, {w}), tv, per_item), k.load(k.tile(b, {tile}, {w}), tv, per_item)},
            [](const auto& x) { return x[0] + x[1]; });
  k.store(sum, k.tile(c, {tile}, {w}), per_item);
  return k;
}
// [vector_add end]

Problem problem_of(const Asked& asked, std::uint64_t seed) {
  const std::int64_t n = asked.n;
  const LaunchPlan plan = plan_with_data(program(asked), {n});
  const Matrix a = random_matrix(1, n, Element::f32, seed), b = random_matrix(1, n, Element::f32, seed + 1);
  Problem problem;
  problem.buffers = {{"c", poison(static_cast<std::size_t>(n) * 4), true},
                     {"a", to_bytes(a, Element::f32), false},
                     {"b", to_bytes(b, Element::f32), false}};
  problem.launch = plan;
  problem.flops = static_cast<double>(n);
  problem.text = fmt::format("c[{0}] = a[{0}] + b[{0}], f32", n);
  problem.check = [a, b, n](std::span<const Bytes> buffers) {
    // One addition of two f32 numbers is rounded once; double holds the exact sum of such numbers closely enough.
    const Matrix reference = a + b;
    return compare(from_bytes(buffers[0], 1, n, Element::f32), reference,
                   unit_roundoff(Element::f32) * reference.cwiseAbs() * (1 + 1e-9), "u |c|");
  };
  return problem;
}

} // namespace

std::unique_ptr<Kernel> vector_add_kernel() {
  using Read = Reads<Asked>;
  return kernel_of<Asked>(
      {"c[i] = a[i] + b[i], f32",
       {"vector_add",
        {arch_option<Asked>(),
         {"n", Read::number(&Asked::n, 1, (std::int64_t{1} << 29) - 1), "1000", "number of elements"}}},
       [](const Asked& asked, const BuildOptions& how) { return build(program(asked), how); },
       problem_of});
}

} // namespace inlay::kernels
