// The launch of a page's program, and its judge.
#include "page.h"

#include <fmt/format.h>

namespace inlay::kernels {

void check_vectors(const Refusal& refuse, const VectorsAsked& s) {
  const int v = s.vector_length();
  if (v < 1 || (v & (v - 1)) != 0 || v > 128 / codegen::bits(s.type))
    refuse(fmt::format("--vector {}", s.vector), "1, 2, 4, of 16 bits also 8");
}

Judged exactly(const std::string& output, std::vector<double> value) {
  std::vector<double> bound(value.size(), 0);
  return {output, std::move(value), std::move(bound), "0"};
}

double rounding(Element type, double value) {
  return codegen::is_integer(type)
             ? 0.5
             : std::max(unit_roundoff(type) * std::abs(value), codegen::smallest_positive(type) / 2);
}

void random_inputs(Workload& w, std::uint64_t seed, double scale) {
  for (const codegen::Tensor& t : w.program().tensors())
    if (t.space == codegen::Space::global && (!t.output || t.in_place) && t.element != Element::i32)
      w.random(t.name, ++seed, scale);
}

std::shared_ptr<Workload> workload(codegen::Program program, std::vector<std::int64_t> sizes) {
  return std::make_shared<Workload>(std::move(program), std::move(sizes));
}

Problem judged(const std::shared_ptr<Workload>& w, std::string text,
               std::function<std::vector<Judged>(const Workload&, const Results&, int rank)> reference) {
  Problem problem = w->problem();
  problem.text = std::move(text);
  problem.check = [w, reference = std::move(reference)](std::span<const Bytes> buffers) {
    const int devices = std::max(1, w->program().together().count); // one after the other
    const std::size_t each = buffers.size() / static_cast<std::size_t>(devices);
    std::optional<Check> all;
    for (int rank = 0; rank < devices; ++rank) {
      const auto result = [&](const std::string& output) {
        return w->result(output, buffers.subspan(static_cast<std::size_t>(rank) * each, each));
      };
      for (const Judged& j : reference(*w, result, rank)) {
        Check one = compare(result(j.output), j.value, j.bound,
                            std::max<std::int64_t>(1, w->extents(j.output).back()), j.formula);
        const std::string of = devices > 1 ? j.output + " of device " + std::to_string(rank) : j.output;
        if (!one.ok) one.message = of + ": " + one.message;
        all = all ? both(*all, one) : one;
      }
    }
    return *all;
  };
  return problem;
}

} // namespace inlay::kernels
