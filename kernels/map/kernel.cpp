// Any formula of elements: `map --expr 'y = silu(a) * b + c'`, with types and shapes of its operands.
#include "../page.h"
#include "lowered.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::View;

enum class Shape { whole, row, column, scalar }; ///< (M,N), (1,N), (M,1), (1,1)

struct Operand {
  Element type = Element::f16;
  Shape shape = Shape::whole;
  bool positive = false; ///< what `inlay run` puts in: in (0, 4], for roots and logarithms
};

struct MapAsked {
  std::string arch{codegen::usual_target};
  Element type = Element::f16;
  Formulas formulas;
  std::map<std::string, Operand> operands; ///< of every name
  std::int64_t m = 1, n = 1 << 20;
  int threads = 256, vectors = 2, vector = 0;

  /// Without rows and columns a matrix is a line.
  [[nodiscard]] bool flat() const {
    return std::all_of(operands.begin(), operands.end(), [](const auto& o) {
      return o.second.shape == Shape::whole || o.second.shape == Shape::scalar;
    });
  }
  /// Elements of 32 bits alone: a line of them may end inside a vector.
  [[nodiscard]] bool whole_words() const {
    return flat() && std::all_of(operands.begin(), operands.end(),
                                 [](const auto& o) { return codegen::bits(o.second.type) == 32; });
  }
  /// 16 bytes of the widest operand.
  [[nodiscard]] int vector_length() const {
    int widest = 16;
    for (const auto& [name, o] : operands) widest = std::max(widest, codegen::bits(o.type));
    return vector > 0 ? vector : 128 / widest;
  }
  [[nodiscard]] int tile() const { return threads * vectors * vector_length(); }
};
using ReadsMap = Reads<MapAsked>;

constexpr std::int64_t line = (std::int64_t{1} << 29) - 1; ///< elements: 2 GiB of f32

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw std::invalid_argument(fmt::format("map: {}\n  hint   {}", what, hint));
}

bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
/// What is i32 where nothing is said.
bool is_whole(const Formulas& f, const std::string& name) {
  return f.integer(name) || among(f.integers, name);
}

/// `b:f32:row,y:f32`, each a name with its type, its shape, or both.
void read_operands(MapAsked& asked, const std::string& text) {
  for (const std::string& name : asked.formulas.names)
    asked.operands[name] = {is_whole(asked.formulas, name) ? Element::i32 : asked.type, Shape::whole, false};
  const std::string form = "a:f32,b:bf16:row,c:column,d:scalar: of names in --expr";
  const auto parts = [](const std::string& whole, char mark) {
    std::vector<std::string> out;
    for (std::size_t from = 0, to = 0; to != std::string::npos; from = to + 1) {
      to = whole.find(mark, from);
      std::string one = whole.substr(from, to == std::string::npos ? to : to - from);
      std::erase(one, ' ');
      out.push_back(std::move(one));
    }
    return out;
  };
  if (text.empty()) return;
  for (const std::string& one : parts(text, ',')) {
    const std::vector<std::string> words = parts(one, ':');
    const auto found = asked.operands.find(words[0]);
    if (found == asked.operands.end())
      refuse(
          fmt::format("--operands '{}': '{}' is no name of --expr '{}'", text, words[0], asked.formulas.text),
          form);
    if (words.size() < 2 || words.size() > 4) refuse(fmt::format("--operands '{}': '{}'", text, one), form);
    for (std::size_t i = 1; i < words.size(); ++i) {
      static const std::map<std::string, Shape> shapes = {
          {"whole", Shape::whole}, {"row", Shape::row}, {"column", Shape::column}, {"scalar", Shape::scalar}};
      if (const auto shape = shapes.find(words[i]); shape != shapes.end()) {
        found->second.shape = shape->second;
        continue;
      }
      if (words[i] == "positive") {
        found->second.positive = true;
        continue;
      }
      try {
        found->second.type = codegen::parse_element(words[i], Target::named(asked.arch));
      } catch (const std::invalid_argument&) {
        refuse(fmt::format("--operands '{}': '{}' is no type and no shape", text, words[i]),
               "f16, bf16, f32, i32, i8, fp8, bf8; whole, row, column, scalar; positive: of "
               "the data of `inlay run`");
      }
    }
  }
}

void check(const MapAsked& a) {
  const Formulas& f = a.formulas;
  const Target& target = Target::named(a.arch);
  for (const char* size : {"rows", "columns", "count"})
    if (f.name_of(size) >= 0)
      refuse(fmt::format("'{}' is the name of a size", size), "another name in --expr");
  if (f.inputs.empty())
    refuse("--expr '" + f.text + "' reads nothing", "a formula of at least one operand: y = 2 * x");
  for (const auto& [name, o] : a.operands) {
    const bool floating = o.type == Element::f16 || o.type == Element::bf16 || o.type == Element::f32;
    const bool bytes = o.type == Element::i8 || codegen::is_float8(target, o.type);
    const std::string all = "f16, bf16, f32, i8, " + codegen::float8_names(target);
    if (f.reads(name) && !floating && !bytes && o.type != Element::i32)
      refuse(fmt::format("'{}' is read as {}", name, to_string(o.type)), "i32, " + all);
    if (among(f.integers, name) && o.type != Element::i32 && o.type != Element::i8)
      refuse(fmt::format("int({}) is of {}", name, to_string(o.type)),
             fmt::format("--operands {}:i32 or {}:i8; trunc({}) of a number", name, name, name));
    if (among(f.codes, name) && !floating)
      refuse(fmt::format("bits({}) is of {}", name, to_string(o.type)),
             "f32, f16 and bf16, whose code as f32 it is");
    if (f.writes(name) && f.integer(name) && o.type != Element::i32)
      refuse(fmt::format("'{}' is an integer, and is written as {}", name, to_string(o.type)),
             fmt::format("--operands {}:i32, or float(..)", name));
    if (f.writes(name) && !f.integer(name) && !floating && !bytes)
      refuse(fmt::format("'{}' is written as {}", name, to_string(o.type)),
             all + (o.type == Element::i32 ? "; i32 of integers: trunc(x), trunc(round(x))" : ""));
    if (f.writes(name) && o.shape != Shape::whole)
      refuse(fmt::format("the output '{}' is not whole", name),
             "rows, columns and scalars are inputs; sums of rows: inlay kernels");
  }
  const int v = a.vector_length();
  if ((v & (v - 1)) != 0) refuse(fmt::format("--vector {}", v), "1, 2, 4 or 8");
  if (a.vectors * v > 64)
    refuse(fmt::format("--vectors {}", a.vectors), "at most 64 elements of a work-item");
  if (a.threads % 64 != 0) refuse(fmt::format("--threads {}", a.threads), "64, 128, 256, 512 or 1024");
}

// [map]
Program map_program(const MapAsked& a) {
  check(a);
  const Formulas& f = a.formulas;
  const bool flat = a.flat();
  const int tile = a.tile(), v = a.vector_length();
  Program k("map", Target::named(a.arch), a.threads);
  const Sym M = flat ? Sym(1) : k.size("rows"),
            N = flat ? k.size("count", {.most = a.whole_words() ? line : line / 8 * 8,
                                        .multiple = a.whole_words() ? 1 : v})
                     : k.size("columns", {.most = 1 << 24, .multiple = v});
  std::map<std::string, Tensor> tensors;
  const auto declare = [&](const std::string& name) {
    if (tensors.contains(name)) return;
    const Element type = a.operands.at(name).type;
    const Shape shape = a.operands.at(name).shape;
    const Sym rows = shape == Shape::row || shape == Shape::scalar ? Sym(1) : M,
              columns = shape == Shape::column || shape == Shape::scalar ? Sym(1) : N;
    const std::vector<Sym> extents = flat ? std::vector{columns} : std::vector{rows, columns};
    tensors.emplace(name, !f.writes(name) ? k.input(name, type, extents)
                          : f.reads(name) ? k.inout(name, type, extents)
                                          : k.output(name, type, extents));
  };
  for (const std::string& name : f.outputs) declare(name);
  for (const std::string& name : f.inputs) declare(name);

  const auto results = [&](const Exprs& inputs) {
    return lowered<Expr>(
        f, inputs,
        [&](double value, bool integer = false) {
          return integer ? k.integer(static_cast<std::int64_t>(value)) : k.constant(value);
        },
        [](Expr e, double) { return e; });
  };
  for (std::size_t i = 0; i < f.outputs.size(); ++i)
    k.computes(tensors.at(f.outputs[i]), [&](const auto& c) {
      Exprs inputs;
      for (const std::string& name : f.inputs) {
        const Shape shape = a.operands.at(name).shape;
        const Sym row = shape == Shape::row || shape == Shape::scalar ? Sym(0) : c.front(),
                  column = shape == Shape::column || shape == Shape::scalar ? Sym(0) : c.back();
        inputs.push_back(flat ? k(tensors.at(name), {column}) : k(tensors.at(name), {row, column}));
      }
      return results(inputs)[i];
    });

  const Sym row = flat ? Sym(0) : k.workgroups(0, M, 1), column = k.workgroups(flat ? 0 : 1, N, tile);
  const Layout tv = flat ? codegen::line_tv(tile, v, a.threads) : codegen::rows_tv(1, tile, v, a.threads);
  const auto instruction = [&](const std::string& name) {
    return std::min(v, 128 / codegen::bits(a.operands.at(name).type));
  };
  const auto part = [&](const std::string& name) {
    const Shape shape = a.operands.at(name).shape;
    const bool wide = shape == Shape::whole || shape == Shape::row;
    const int extent = wide ? tile : 1;
    const Sym at = wide ? column : Sym(0);
    if (flat) return k.tile(tensors.at(name), {extent}, {at});
    return k.tile(tensors.at(name), {1, extent},
                  {shape == Shape::row || shape == Shape::scalar ? Sym(0) : row, at});
  };
  std::vector<Fragment> inputs;
  for (const std::string& name : f.inputs) {
    const Shape shape = a.operands.at(name).shape;
    const bool wide = shape == Shape::whole || shape == Shape::row;
    inputs.push_back(k.load(part(name), wide ? tv : codegen::without_axis(tv, flat ? 0 : 1),
                            wide ? instruction(name) : 1));
  }
  for (std::size_t i = 0; i < f.outputs.size(); ++i)
    k.store(k.map(
                inputs, [&](const Exprs& x) { return results(x)[i]; },
                f.integer(f.outputs[i]) ? Element::i32 : Element::f32),
            part(f.outputs[i]), instruction(f.outputs[i]));
  return k;
}
// [map end]

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
  check(a);
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
