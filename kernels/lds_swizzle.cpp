#include <inlay/kernels/lds_swizzle.h>

#include <inlay/solver/lds.h>

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {

std::optional<Swizzle> find_swizzle(const codegen::Target& target, codegen::Element element, int rows,
                                    int columns, const std::vector<LdsUse>& uses) {
  if (uses.empty())
    throw std::invalid_argument("find_swizzle: of no uses\n  hint   each way in which the tile is written "
                                "or read, {tv, vector, whether it reads}");
  const int size = codegen::bits(element), threads = static_cast<int>(uses.at(0).tv.mode(0).size().value());
  struct Pattern {
    const solver::LdsAccess* model;
    std::vector<std::int64_t> element; ///< of each thread
  };
  std::vector<Pattern> patterns;
  for (const LdsUse& use : uses) {
    const std::vector<int> row = codegen::coordinates(use.tv, 0), column = codegen::coordinates(use.tv, 1);
    const int values = static_cast<int>(use.tv.mode(1).size().value());
    const auto by = codegen::Addressing::lds;
    const codegen::Atom& instruction = use.read ? codegen::Atom::load(target, by, use.vector * size)
                                                : codegen::Atom::store(target, by, use.vector * size);
    for (int v = 0; v < values; v += use.vector) {
      Pattern p{&solver::lds_access(instruction.name, target.name), {}};
      for (int t = 0; t < threads; ++t) {
        const auto at = static_cast<std::size_t>(t * values + v);
        p.element.push_back(std::int64_t{row[at]} * columns + column[at]);
      }
      patterns.push_back(std::move(p));
    }
  }
  int widest = 1;
  for (const LdsUse& use : uses) widest = std::max(widest, use.vector);
  const int base = std::countr_zero(static_cast<unsigned>(widest));
  const int row_bits = std::countr_zero(static_cast<unsigned>(columns)) - base;
  // Past the vectors of a row, too: rows of 64 bytes that lie 8 apart meet in the banks unless they change places in a line.
  for (int bits = 0; bits <= row_bits + 2; ++bits)
    for (int shift = bits; shift <= row_bits + 3; ++shift) {
      if (bits == 0 && shift > 0) break;
      if ((std::int64_t{1} << (bits + base + shift)) > std::int64_t{rows} * columns) break;
      const Swizzle swizzle(bits, base, shift);
      bool free = true;
      for (const Pattern& p : patterns)
        for (int wave = 0; wave < threads && free; wave += target.wave_size)
          free = solver::lds_conflicts(*p.model, [&](unsigned lane) {
                   return swizzle(Int(p.element[static_cast<std::size_t>(wave) + lane])).value() * size / 8;
                 }).degree <= 1;
      if (free) return swizzle;
    }
  return {};
}

Swizzle conflict_free_swizzle(const codegen::Target& target, codegen::Element element, int rows, int columns,
                              const std::vector<LdsUse>& uses) {
  if (const auto found = find_swizzle(target, element, rows, columns, uses)) return *found;
  throw std::invalid_argument(fmt::format("no swizzle makes reads and writes of a {} x {} tile of {} free of "
                                          "bank conflicts\n  hint   other tiles or padding",
                                          rows, columns, to_string(element)));
}

codegen::Tensor conflict_free_tile(codegen::Program& program, const std::string& name,
                                   codegen::Element element, int rows, int columns, int vector,
                                   const Layout& write, const Layout& read) {
  return program.lds(name, element, {rows, columns},
                     conflict_free_swizzle(program.target(), element, rows, columns,
                                           {{write, vector, false}, {read, vector, true}}));
}

} // namespace inlay::kernels
