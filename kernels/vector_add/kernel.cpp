// c[i] = a[i] + b[i] in f32: the smallest kernel with everything that a kernel has. Each work-item adds four
// consecutive elements; what lies beyond n is cut off by the descriptors.
#include "../compile.h"
#include "../data.h"
#include "../flags.h"
#include "../kernels.h"

#include <inlay/codegen/kernel_builder.h>
#include <inlay/kernels/gemm/spec.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

constexpr int workgroup = 256;
constexpr int per_item = 4;

class VectorAdd final : public Kernel {
public:
  std::string name() const override { return "vector_add"; }
  std::string summary() const override { return "c[i] = a[i] + b[i], f32"; }
  std::vector<FlagHelp> flags() const override {
    return {{"arch", "gfx942", "gfx942 or gfx950"}, {"n", "1000", "number of elements"}};
  }

  Artifact build(const Flags& given, const BuildOptions& options) const override {
    using codegen::Type;
    using codegen::Value;
    const FlagReader read(name(), given, flags());
    const codegen::Target& target = codegen::Target::named(read.text("arch"));
    Artifact artifact;
    artifact.kernel = name();
    artifact.arch = read.text("arch");
    artifact.proofs = ProofReport(name(), std::source_location::current());
    const std::string offsets = fmt::format("({},w):(16,{})", workgroup, 16 * workgroup);
    artifact.proofs.require("no two work-items touch the same bytes", offsets,
                            solver::prove_injective(offsets));
    artifact.proofs.require("accesses are aligned to 16 bytes", offsets,
                            solver::prove_aligned(offsets, "16"));
    artifact.proofs.at_launch("n < 2^29", "byte offsets fit 31 bits");

    codegen::KernelBuilder k(
        target, name(),
        {{"c", Type::global()}, {"a", Type::global()}, {"b", Type::global()}, {"n", Type::i32()}},
        {.workgroup_size = workgroup});
    const Value bytes = k.mul(k.argument(3), k.constant(4));
    const Value item = k.add(k.mul(k.workgroup_id(0), k.constant(workgroup)), k.work_item_id());
    const Value at = k.mul(item, k.constant(4 * per_item));
    const Value a = k.buffer_load(k.buffer(k.argument(1), bytes), at, Type::f32(per_item));
    const Value b = k.buffer_load(k.buffer(k.argument(2), bytes), at, Type::f32(per_item));
    k.buffer_store(k.fadd(a, b), k.buffer(k.argument(0), bytes), at);
    compile_into(artifact, std::move(k).finish(), options);
    return artifact;
  }

  Problem problem(const Flags& given, std::uint64_t seed) const override {
    const FlagReader read(name(), given, flags());
    const std::int64_t n = read.number("n", 1, (std::int64_t{1} << 29) - 1);
    const Matrix a = random_matrix(1, n, DType::f32, seed), b = random_matrix(1, n, DType::f32, seed + 1);
    Problem problem;
    problem.buffers = {{"c", poison(static_cast<std::size_t>(n) * 4), true},
                       {"a", to_bytes(a, DType::f32), false},
                       {"b", to_bytes(b, DType::f32), false}};
    const std::int64_t per_group = workgroup * per_item;
    problem.launch.grid = {static_cast<std::uint32_t>((n + per_group - 1) / per_group), 1, 1};
    problem.launch.block = {workgroup, 1, 1};
    for (int i = 0; i < 3; ++i) problem.launch.arguments.push_back(LaunchArgument::of_buffer(i));
    problem.launch.arguments.push_back(LaunchArgument::of_i32(static_cast<std::int32_t>(n)));
    problem.flops = static_cast<double>(n);
    problem.text = fmt::format("c[{0}] = a[{0}] + b[{0}], f32", n);
    problem.check = [a, b, n](std::span<const Bytes> buffers) {
      // One addition of two f32 numbers is rounded once; double holds the exact sum of such numbers closely enough.
      const Matrix reference = a + b;
      return compare(from_bytes(buffers[0], 1, n, DType::f32), reference,
                     unit_roundoff(DType::f32) * reference.cwiseAbs() * (1 + 1e-9), "u |c|");
    };
    return problem;
  }
};

} // namespace

std::unique_ptr<Kernel> vector_add_kernel() { return std::make_unique<VectorAdd>(); }

} // namespace inlay::kernels
