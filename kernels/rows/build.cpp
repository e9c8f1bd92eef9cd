// The code of the row kernels: what they share is `Row`, what differs is the few lines of each at the end.
#include "../compile.h"

#include <inlay/codegen/kernel_builder.h>
#include <inlay/kernels/rows/spec.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::Compare;
using codegen::Element;
using codegen::KernelBuilder;
using codegen::LdsBlock;
using codegen::Type;
using codegen::Value;
using Values = std::vector<Value>;

constexpr int vector = 8; // elements of 16 bits in 128

[[noreturn]] void refuse(const std::string& kernel, const std::string& field, const std::string& value,
                         const std::string& hint) {
  throw std::invalid_argument(
      fmt::format("{}: {} = {} is not supported\n  hint   {}", kernel, field, value, hint));
}

void check(const std::string& kernel, const RowSpec& s) {
  if (s.type == DType::f32) refuse(kernel, "type", "f32", "f16 or bf16; the arithmetic is f32 in any case");
  if (s.threads < 64 || s.threads > 1024 || !std::has_single_bit(static_cast<unsigned>(s.threads)))
    refuse(kernel, "threads", std::to_string(s.threads), "64, 128, 256, 512 or 1024");
  if (s.vectors < 1 || s.vectors > 16) refuse(kernel, "vectors", std::to_string(s.vectors), "1 to 16");
  if (!(s.epsilon >= 0) || std::isinf(s.epsilon))
    refuse(kernel, "epsilon", std::to_string(s.epsilon), "a number that is not negative");
}

ProofReport prove(const std::string& kernel, const RowSpec& s) {
  using namespace solver;
  ProofReport report(kernel, s.where);
  const int waves = s.threads / 64;
  const std::string columns =
      fmt::format("({0},({1},{2})):({1},(1,{3}))", s.threads, vector, s.vectors, vector * s.threads);
  report.require("every column up to the capacity belongs to one value of one work-item", columns,
                 prove_bijective(columns));
  const std::string offsets = fmt::format("({},{}):(16,{})", s.threads, s.vectors, 16 * s.threads);
  report.require("accesses to a row are aligned to 16 bytes", offsets, prove_aligned(offsets, "16"));
  report.require("a vector that begins inside a row of N = 8 c elements ends inside it", "c:16 < 16*c - 15",
                 prove_within("c:16", "16*c - 15"));
  report.require("the rows of a launch do not overlap", "(8*c,M):(1,8*c)",
                 prove_bijective("(8*c,M):(1,8*c)"));
  const std::string butterfly = "(2,2,2,2,2,2):(1,2,4,8,16,32)";
  report.require("the butterfly's masks reach every lane of a wave from every lane exactly once", butterfly,
                 prove_bijective(butterfly));
  if (waves > 1) {
    const std::string words = fmt::format("{}:4", waves);
    report.require("waves write distinct words of LDS", words, prove_injective(words));
    report.require("and stay inside the block", words, prove_within(words, std::to_string(4 * waves - 3)));
  }
  report.at_launch("N % 8 == 0", "rows start on 16 bytes, and a vector is wholly inside or outside a row");
  report.at_launch(fmt::format("1 <= N <= {}", s.capacity()), "the specification's capacity");
  report.at_launch("1 <= M < 2^31", "one workgroup a row");
  return report;
}

class Row {
public:
  Row(const std::string& name, const RowSpec& spec, std::span<const codegen::Argument> arguments)
      : spec_(spec), k(codegen::Target::named(spec.arch), name, arguments, {.workgroup_size = spec.threads}),
        element_(spec.type == DType::f16 ? Element::f16 : Element::bf16) {
    n_ = k.argument(static_cast<int>(arguments.size()) - 1);
    row_bytes_ = k.mul(n_, k.constant(2));
    item_ = k.work_item_id();
    for (int v = 0; v < spec.vectors; ++v)
      offsets_.push_back(k.add(k.mul(item_, k.constant(16)), k.constant(16 * spec.threads * v)));
  }

  /// The descriptor of this workgroup's row.
  Value row_of(int argument) {
    const Value start = k.mul(k.zext64(k.workgroup_id(0)), k.zext64(row_bytes_));
    return k.buffer(k.pointer_add(k.argument(argument), start), row_bytes_);
  }
  Value whole(int argument) { return k.buffer(k.argument(argument), row_bytes_); }

  /// The work-item's vectors, in f32; 0 beyond N.
  Values load(Value descriptor) {
    Values out;
    for (const Value& at : offsets_) out.push_back(k.buffer_load(descriptor, at, {element_, vector}));
    for (Value& v : out) v = k.convert(v, Element::f32);
    return out;
  }
  void store(Value descriptor, const Values& values) {
    for (std::size_t v = 0; v < values.size(); ++v)
      k.buffer_store(k.convert(values[v], element_), descriptor, offsets_[v]);
  }
  /// `value` where the vector is inside the row, else `beyond` in each element.
  Value inside(std::size_t v, Value value, double beyond) {
    return k.select(k.compare(Compare::ult, offsets_[v], row_bytes_), value,
                    k.float_constant(beyond, Type::f32(vector)));
  }

  /// `combine` over all values of all work-items; every work-item gets the result. Associative and commutative.
  template <class Combine>
  Value reduce(const Values& values, Combine combine) {
    Value all = values[0];
    for (std::size_t v = 1; v < values.size(); ++v) all = combine(all, values[v]);
    for (int lanes = vector / 2; lanes >= 1; lanes /= 2)
      all = combine(k.slice(all, 0, lanes), k.slice(all, lanes, lanes));
    for (int mask = 1; mask < 64; mask *= 2) all = combine(all, k.lane_xor(all, mask));
    const int waves = spec_.threads / 64;
    if (waves == 1) return all;
    // Each reduction has its own block, so that nobody has to wait before writing.
    const LdsBlock block = k.lds_allocate("partial", 4 * waves);
    const Value wave = k.lshr(item_, k.constant(6));
    k.if_then(k.compare(Compare::eq, k.bit_and(item_, k.constant(63)), k.constant(0)),
              [&] { k.lds_store(all, block, k.shl(wave, k.constant(2)), 0); });
    k.barrier();
    Value total = k.lds_load(block, k.constant(0), 0, Type::f32());
    for (int w = 1; w < waves; ++w)
      total = combine(total, k.lds_load(block, k.constant(0), 4 * w, Type::f32()));
    return total;
  }
  /// The same number in each element.
  Value splat(Value scalar) { return k.pack(Values(static_cast<std::size_t>(vector), scalar)); }
  /// A function of f32 element by element.
  template <class F>
  Value each(Value values, F f) {
    Values out;
    for (int i = 0; i < vector; ++i) out.push_back(f(k.extract(values, i)));
    return k.pack(out);
  }

private:
  const RowSpec& spec_;

public:
  KernelBuilder k;

private:
  Element element_;
  Value n_, row_bytes_, item_;
  Values offsets_; ///< bytes of each vector in the row
};

using Clock = std::chrono::steady_clock;
double milliseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

template <class Body>
Artifact build(const std::string& name, const RowSpec& spec,
               std::initializer_list<codegen::Argument> arguments, const BuildOptions& options, Body body) {
  check(name, spec);
  Artifact artifact;
  artifact.kernel = name;
  artifact.arch = spec.arch;
  const auto begin = Clock::now();
  artifact.proofs = prove(name, spec);
  artifact.times.layouts_and_proofs = milliseconds(begin);
  const auto ir = Clock::now();
  Row row(name, spec, std::span(arguments.begin(), arguments.size()));
  body(row);
  const codegen::IrModule module = std::move(row.k).finish();
  artifact.times.ir = milliseconds(ir);
  compile_into(artifact, module, options);
  return artifact;
}

} // namespace

Artifact build_softmax(const RowSpec& spec, const BuildOptions& options) {
  return build("softmax", spec,
               {{"y", Type::global()}, {"x", Type::global()}, {"m", Type::i32()}, {"n", Type::i32()}},
               options, [](Row& row) {
                 KernelBuilder& k = row.k;
                 Values x = row.load(row.row_of(1));
                 for (std::size_t v = 0; v < x.size(); ++v) x[v] = row.inside(v, x[v], -INFINITY);
                 const Value largest = row.reduce(x, [&](Value a, Value b) { return k.fmax(a, b); });
                 const Value shift = row.splat(largest),
                             scale = row.splat(k.float_constant(1.4426950408889634)); // log2 e
                 for (Value& v : x)
                   v = row.each(k.fmul(k.fsub(v, shift), scale), [&](Value e) { return k.exp2(e); });
                 const Value sum = row.reduce(x, [&](Value a, Value b) { return k.fadd(a, b); });
                 const Value factor = row.splat(k.rcp(sum));
                 for (Value& v : x) v = k.fmul(v, factor);
                 row.store(row.row_of(0), x);
               });
}

Artifact build_rmsnorm(const RowSpec& spec, const BuildOptions& options) {
  return build("rmsnorm", spec,
               {{"y", Type::global()},
                {"x", Type::global()},
                {"w", Type::global()},
                {"m", Type::i32()},
                {"n", Type::i32()}},
               options, [&](Row& row) {
                 KernelBuilder& k = row.k;
                 Values x = row.load(row.row_of(1));
                 const Values weight = row.load(row.whole(2));
                 Values squares;
                 for (const Value& v : x) squares.push_back(k.fmul(v, v));
                 const Value sum = row.reduce(squares, [&](Value a, Value b) { return k.fadd(a, b); });
                 const Value mean = k.fmul(sum, k.rcp(k.to_float(k.argument(4))));
                 const Value factor = row.splat(k.rsqrt(k.fadd(mean, k.float_constant(spec.epsilon))));
                 for (std::size_t v = 0; v < x.size(); ++v) x[v] = k.fmul(k.fmul(x[v], factor), weight[v]);
                 row.store(row.row_of(0), x);
               });
}

} // namespace inlay::kernels
