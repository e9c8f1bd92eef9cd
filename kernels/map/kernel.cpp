// `map` on the command line: `map --expr 'y = silu(a) * b + c'`, with types and shapes of its operands; and its judge.
#include "operands.h"

namespace inlay::kernels {
namespace {

using ReadsMap = Reads<MapAsked>;

std::vector<Judged> map_reference(const MapAsked& a, const Workload& w, const Results&) {
  const Formulas& f = a.formulas;
  const auto rows = static_cast<std::size_t>(a.m), columns = static_cast<std::size_t>(a.n);
  std::vector<Judged> out;
  for (const std::string& name : f.outputs)
    out.push_back({name, std::vector<double>(rows * columns), std::vector<double>(rows * columns),
                   "the error of each f32 operation, carried, + u |" + name + "|"});
  std::vector<double> x(f.inputs.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        const Shape shape = a.operands.at(f.inputs[i]).shape;
        x[i] = w.values(f.inputs[i])[shape == Shape::whole    ? r * columns + c
                                     : shape == Shape::row    ? c
                                     : shape == Shape::column ? r
                                                              : 0];
      }
      const std::vector<double> value = defined(f, x);
      const std::vector<Bounded> error = carried(f, x);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const Element type = a.operands.at(out[i].output).type;
        // What is beyond an integer or an 8-bit float is its largest number (codegen/element.h).
        const double most = codegen::largest_finite(type);
        out[i].value[r * columns + c] = codegen::bits(type) == 8 ? std::clamp(value[i], -most, most)
                                        : type == Element::i32 && value[i] >= 0x1p31 ? value[i] - 0x1p32
                                                                                     : value[i];
        out[i].bound[r * columns + c] =
            error[i].error + rounding(type, std::abs(out[i].value[r * columns + c]) + error[i].error);
      }
    }
  return out;
}

/// Numbers that f32 has, and where they are integers alone, all there are.
double largest_of_data(const MapAsked& a, const std::string& name) {
  const Element type = a.operands.at(name).type;
  if (!codegen::is_integer(type)) return 4;
  if (type == Element::i8) return 128;
  return among(a.formulas.numbers, name) ? 1000 : 0x1p31;
}

std::vector<Flags> candidates(const MapAsked& a, const Flags& fixed) {
  std::vector<Flags> all;
  int vector = a.vector_length();
  while (!a.whole_words() && (a.flat() ? a.m * a.n : a.n) % vector != 0) vector /= 2;
  for (const int threads : {256, 64})
    for (const int vectors : {1, 2, 4, 8}) {
      add_candidate(all,
                    {{"threads", std::to_string(threads)},
                     {"vectors", std::to_string(vectors)},
                     {"vector", std::to_string(vector)}},
                    fixed);
    }
  return all;
}

// Latencies of a workgroup, and its lines by those that share a unit.
double clocks(const MapAsked& a) {
  check_map(a);
  double bytes = 0;
  for (const auto& [name, o] : a.operands) bytes += codegen::bits(o.type) / 8.0;
  const std::int64_t groups = a.flat() ? up(a.m * a.n, a.tile()) : a.m * up(a.n, a.tile());
  const int resident = resident_by_waves(a.threads);
  return rounds(a.arch, groups, resident) *
         std::max(2200.0 + a.tile() * bytes / 64, resident * a.tile() * bytes / 6.6);
}

} // namespace

std::unique_ptr<Kernel> map_kernel() {
  constexpr std::int64_t most = 1 << 24;
  Page<MapAsked> page{
      .summary =
          "any formula of elements, `y = silu(a) * b + c`: activations, casts, scales, optimiser steps",
      .options =
          {"map",
           {arch_option<MapAsked>(),
            {"dtype", ReadsMap::element(&MapAsked::type, "f16, bf16, f32"), "f16",
             "element type of what --operands does not say"},
            {"expr",
             ReadsMap::parsed(&MapAsked::formulas, "name = expression; ...",
                              [](const MapAsked&, const std::string& text) { return parse_formulas(text); }),
             "y = silu(a) * b + c", "what is computed, in f32", "",
             "Several formulas are separated by ';'. A name that is read before it is written is in "
             "place, and stands for its new, not yet rounded "
             "value in later formulas. Operators + - * / ^, a >= b ? x : y (also > <= <), functions " +
                 formula_functions() +
                 ". Numbers are f32; int(a) of a name of i32 or i8, trunc(x) and 0x1f are integers "
                 "modulo 2^32 (v, w), exact, with + - * of their own, and are written as i32."},
            {"operands",
             {"a:f32,b:bf16:row,c:column,d:scalar",
              [](MapAsked& asked, const std::string& text) {
                read_operands(asked, text);
                return std::string();
              }},
             "",
             "types and shapes of names: whole is M x N, row 1 x N, column M x 1, scalar one number"},
            {"m", ReadsMap::number(&MapAsked::m, 1, most), "1",
             "rows; without rows and columns among the operands a matrix is a line of M N elements"},
            {"n", ReadsMap::number(&MapAsked::n, 1, line), "100000", "columns"},
            {"threads", ReadsMap::number(&MapAsked::threads, 64, 1024), "auto", "work-items of a workgroup",
             "256"},
            {"vectors", ReadsMap::number(&MapAsked::vectors, 1, 64), "auto", "vectors of a work-item", "2"},
            {"vector", ReadsMap::number(&MapAsked::vector, 0, 8), "auto",
             "elements of a vector, of which N is a multiple but for lines of f32; 0 is 16 "
             "bytes of the widest operand",
             "0"}}},
      .program = map_program,
      .sizes =
          [](const MapAsked& a) {
            return a.flat() ? std::vector{a.m * a.n} : std::vector{a.m, a.n};
          },
      .size_names = {"m", "n"},
      .data =
          [](const MapAsked& a, Workload& w, std::uint64_t seed) {
            for (const std::string& name : a.formulas.inputs)
              w.random(name, ++seed, largest_of_data(a, name), a.operands.at(name).positive);
          },
      .reference = map_reference,
      .text =
          [](const MapAsked& a) { return fmt::format("{}, {} x {} elements", a.formulas.text, a.m, a.n); },
      .candidates = candidates,
      .bound = clocks};
  return page_of(std::move(page));
}

} // namespace inlay::kernels
