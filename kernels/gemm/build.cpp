// The code of the GEMM: plan.h's layouts, lowered. Read from `build_gemm` at the end upwards.
#include "plan.h"

#include <inlay/algebra/print.h>
#include <inlay/algebra/sym.h>
#include <inlay/codegen/kernel_builder.h>

#include <chrono>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

using codegen::BufferOffset;
using codegen::Compare;
using codegen::Element;
using codegen::KernelBuilder;
using codegen::LdsBlock;
using codegen::Type;
using codegen::Value;
using Values = std::vector<Value>;

/// An offset that every descriptor of this kernel refuses: the launch keeps all sizes below 2^31.
constexpr std::int64_t out_of_bounds = std::int64_t{1} << 31;

Element element_of(DType type) {
  return type == DType::f16 ? Element::f16 : type == DType::bf16 ? Element::bf16 : Element::f32;
}

/// The LDS addresses of one work-item for a series of accesses: one formula in the work-item id, and a constant for
/// each access that goes into the instruction. That they equal the layout's addresses is checked at every work-item.
struct LaneAddress {
  Value base;
  std::vector<int> immediates;
};

class Gemm {
public:
  Gemm(const GemmPlan& plan, ProofReport& report)
      : p(plan), report_(report), k(codegen::Target::named(plan.spec.arch), "gemm",
                                    {{"c", Type::global()},
                                     {"a", Type::global()},
                                     {"b", Type::global()},
                                     {"m", Type::i32()},
                                     {"n", Type::i32()},
                                     {"k", Type::i32()}},
                                    {.workgroup_size = plan.threads}) {}

  codegen::IrModule build() {
    start();
    const Values accumulators = contract();
    store(accumulators);
    return std::move(k).finish();
  }

private:
  // --- where everything is -----------------------------------------------------------------------------------------

  void start() {
    tid_ = k.work_item_id();
    tid_sym_ = symbols_.symbol("tid", {Int(0), Int(p.threads - 1)});
    k_sym_ = symbols_.symbol("K", {Int(1), Int(max_row_elements)});
    m_ = k.argument(3);
    n_ = k.argument(4);
    k_ = k.argument(5);
    k.bind(tid_sym_, tid_);
    k.bind(k_sym_, k_);
    first_m_ = k.mul(k.workgroup_id(1), number(p.spec.tile_m));
    first_n_ = k.mul(k.workgroup_id(0), number(p.spec.tile_n));
    lds_ = k.lds_allocate("tiles", p.lds_bytes);
    full_tiles_ = k.udiv(k_, number(p.spec.tile_k));
    tail_ = k.urem(k_, number(p.spec.tile_k));
    operand(a_, p.a, k.argument(1), first_m_, m_);
    operand(b_, p.b, k.argument(2), first_n_, n_);
  }

  struct Operand {
    const OperandPlan* plan = nullptr;
    Value descriptor;
    Values offsets;      ///< of each pass, for a full tile of K
    Values tail_offsets; ///< the same with what lies beyond K out of bounds
    LaneAddress writes;
    std::vector<LaneAddress> reads; ///< of each step, an immediate for each repeat
  };

  void operand(Operand& x, const OperandPlan& plan, Value pointer, Value first_row, Value rows) {
    x.plan = &plan;
    // The descriptor begins at the tile's first row, so that offsets stay small whatever the size of the matrix.
    const Value row_bytes = k.mul(k_, number(2));
    const Value rows_here = k.umin(k.sub(rows, first_row), number(plan.tile_rows));
    x.descriptor = k.buffer(k.pointer_add(pointer, k.mul(k.zext64(first_row), k.zext64(row_bytes))),
                            k.mul(rows_here, row_bytes));
    const Sym row = floor_div(tid_sym_, p.chunks), chunk = floor_mod(tid_sym_, p.chunks);
    const Value in_tail = k.compare(Compare::ult, k.lower(chunk * 8), tail_);
    for (int pass = 0; pass < plan.passes; ++pass) {
      x.offsets.push_back(k.lower((row + pass * p.rows_per_pass) * (k_sym_ * 2) + chunk * 16));
      x.tail_offsets.push_back(k.select(in_tail, x.offsets.back(), number(out_of_bounds)));
    }
    x.writes =
        lane_address("LDS write addresses of " + plan.name, row * p.pitch + chunk * 16, p.write_swizzle,
                     plan.lds_offset, plan.passes, [&](int t, int pass) { return p.write_address(t, pass); });
    const Sym lane = floor_mod(tid_sym_, 64), wave = floor_div(tid_sym_, 64);
    const Sym index = &plan == &p.b ? floor_div(wave, p.spec.waves_m) : floor_mod(wave, p.spec.waves_m);
    for (int step = 0; step < p.steps; ++step) {
      const Sym linear = (index * plan.wave_rows + floor_mod(lane, p.spec.mfma)) * p.pitch +
                         (floor_div(lane, p.spec.mfma) + step * p.groups) * 16;
      x.reads.push_back(lane_address(fmt::format("LDS read addresses of {} in step {}", plan.name, step),
                                     linear, p.read_swizzle, plan.lds_offset, plan.repeats,
                                     [&](int t, int r) { return p.read_address(plan, t, r, step); }));
    }
  }

  /// Lowers `Sw(linear)`, and takes the distance of the other accesses from it as immediates, after comparing all of
  /// them with the layout at every work-item.
  template <class Layout>
  LaneAddress lane_address(const std::string& claim, Sym linear, const ChunkSwizzle& swizzle, int offset,
                           int accesses, Layout layout) {
    const std::int64_t mask = ((std::int64_t{1} << swizzle.bits) - 1) << (4 + swizzle.shift);
    const Sym formula = swizzle.bits == 0
                            ? linear
                            : bit_xor(linear, shift_right(bit_and(linear, Sym(mask)), Sym(swizzle.shift)));
    LaneAddress address{k.lower(formula), {}};
    std::string counterexample;
    for (int access = 0; access < accesses; ++access) {
      const std::int64_t distance = layout(0, access) - layout(0, 0);
      for (int t = 0; t < p.threads && counterexample.empty(); ++t) {
        Assignment at;
        at.set(tid_sym_, Int(t));
        const std::int64_t emitted = evaluate(formula, at).value() + distance;
        if (emitted != layout(t, access))
          counterexample =
              fmt::format("work-item {}, access {}: the code computes byte {}, the layout says {}", t, access,
                          emitted, layout(t, access));
      }
      address.immediates.push_back(static_cast<int>(distance) + offset);
    }
    report_.require_enumerated(claim + " equal the layout at every work-item", to_string(formula),
                               counterexample.empty(), counterexample);
    return address;
  }

  // --- the contraction -----------------------------------------------------------------------------------------------

  /// Loads tile `tile` of an operand into registers, 16 bytes a pass.
  Values load(const Operand& x, const Values& offsets, Value tile) {
    Values data;
    const Value advance = k.mul(tile, number(p.pitch));
    for (int pass = 0; pass < x.plan->passes; ++pass) {
      BufferOffset extra;
      extra.scalar = advance;
      data.push_back(
          k.buffer_load(x.descriptor, offsets[static_cast<std::size_t>(pass)], Type::i32(4), extra));
    }
    return data;
  }

  void write(const Operand& x, const Values& data, Value stage) {
    const Value base = k.add(x.writes.base, stage);
    for (std::size_t pass = 0; pass < data.size(); ++pass)
      k.lds_store(data[pass], lds_, base, x.writes.immediates[pass]);
  }

  Values read(const Operand& x, int step, Value stage) {
    const LaneAddress& address = x.reads[static_cast<std::size_t>(step)];
    const Value base = k.add(address.base, stage);
    Values fragments;
    for (int immediate : address.immediates)
      fragments.push_back(k.lds_load(lds_, base, immediate, Type{element_of(p.spec.in), 8}));
    return fragments;
  }

  /// The matrix instructions of one tile that lies in LDS.
  Values multiply(Value stage, Values accumulators) {
    for (int step = 0; step < p.steps; ++step) {
      const Values a = read(a_, step, stage), b = read(b_, step, stage);
      for (int j = 0; j < p.mfmas_per_step; ++j)
        for (std::size_t rn = 0; rn < b.size(); ++rn)
          for (std::size_t rm = 0; rm < a.size(); ++rm) {
            Value& acc = accumulators[rn * a.size() + rm];
            acc = k.mfma(p.intrinsic, k.slice(b[rn], j * p.values, p.values),
                         k.slice(a[rm], j * p.values, p.values), acc);
          }
    }
    return accumulators;
  }

  /// One turn of the pipeline: tile `tile` is in LDS at `stage`; the next one is loaded, and written to the other stage
  /// when the matrix instructions have been issued. One barrier is enough: the other stage was last read in the turn
  /// before, which ended in a barrier.
  Values turn(Value tile, const Values& carried, bool next_is_tail) {
    const Value stage = carried.back();
    const Value next = k.add(tile, number(1));
    const Values a = load(a_, next_is_tail ? a_.tail_offsets : a_.offsets, next);
    const Values b = load(b_, next_is_tail ? b_.tail_offsets : b_.offsets, next);
    Values result = multiply(stage, Values(carried.begin(), carried.end() - 1));
    const Value other = k.bit_xor(stage, number(p.stage_bytes));
    write(a_, a, other);
    write(b_, b, other);
    hints(static_cast<int>(a.size() + b.size()));
    k.barrier();
    result.push_back(other);
    return result;
  }

  /// Asks the scheduler to spread the memory instructions of a turn among its matrix instructions.
  void hints(int loads) {
    const int mfmas = p.steps * p.mfmas_per_step * p.a.repeats * p.b.repeats;
    const int reads = p.steps * (p.a.repeats + p.b.repeats);
    const int first = p.a.repeats + p.b.repeats; // what the first step needs before any multiplication
    k.sched_group(codegen::sched_ds_read, first, 0);
    int done = 0, loads_left = loads, reads_left = reads - first, writes_left = loads;
    const int slots = std::max(1, mfmas);
    while (done < slots) {
      const int quantum = std::max(1, slots / (loads + (reads - first) + loads + 1));
      k.sched_group(codegen::sched_mfma, std::min(quantum, slots - done), 0);
      done += quantum;
      if (loads_left > 0) {
        k.sched_group(codegen::sched_vmem_read, 1, 0);
        --loads_left;
      } else if (reads_left > 0) {
        k.sched_group(codegen::sched_ds_read, 1, 0);
        --reads_left;
      } else if (writes_left > 0) {
        k.sched_group(codegen::sched_ds_write, 1, 0);
        --writes_left;
      }
    }
  }

  Values contract() {
    // The first tile: the tail itself when K is shorter than one tile.
    const Value only_tail = k.compare(Compare::eq, full_tiles_, number(0));
    const auto first_offsets = [&](const Operand& x) {
      Values offsets;
      for (std::size_t i = 0; i < x.offsets.size(); ++i)
        offsets.push_back(k.select(only_tail, x.tail_offsets[i], x.offsets[i]));
      return offsets;
    };
    const Values a = load(a_, first_offsets(a_), number(0)), b = load(b_, first_offsets(b_), number(0));
    write(a_, a, number(0));
    write(b_, b, number(0));
    k.barrier();

    Values carried;
    for (int i = 0; i < p.a.repeats * p.b.repeats; ++i) carried.push_back(k.zero(Type::f32(p.acc_values)));
    carried.push_back(number(0)); // the stage that holds the current tile

    // Turns whose next tile is full, then at most one whose next tile is the tail, then the last tile.
    const Value turns = k.select(only_tail, number(0), k.sub(full_tiles_, number(1)));
    carried = k.loop(number(0), turns, number(1), carried,
                     [&](Value tile, const Values& now) { return turn(tile, now, false); });
    const Value has_tail = k.compare(Compare::ne, tail_, number(0));
    const Value tail_turns = k.select(only_tail, number(0), k.select(has_tail, number(1), number(0)));
    carried = k.loop(number(0), tail_turns, number(1), carried,
                     [&](Value i, const Values& now) { return turn(k.add(turns, i), now, true); });
    return multiply(carried.back(), Values(carried.begin(), carried.end() - 1));
  }

  // --- the result ------------------------------------------------------------------------------------------------------

  void store(const Values& accumulators) {
    const int bytes = bytes_of(p.spec.out);
    const Sym lane = floor_mod(tid_sym_, 64), wave = floor_div(tid_sym_, 64);
    const Value m = k.lower(floor_mod(wave, p.spec.waves_m) * p.a.wave_rows + floor_mod(lane, p.spec.mfma));
    const Value n = k.add(first_n_, k.lower(floor_div(wave, p.spec.waves_m) * p.b.wave_rows +
                                            floor_div(lane, p.spec.mfma) * 4));
    const Value row_bytes = k.mul(n_, number(bytes));
    const Value rows_here = k.umin(k.sub(m_, first_m_), number(p.spec.tile_m));
    const Value descriptor =
        k.buffer(k.pointer_add(k.argument(0), k.mul(k.zext64(first_m_), k.zext64(row_bytes))),
                 k.mul(rows_here, row_bytes));
    // Four consecutive n of one row are one store when rows are a multiple of four elements, else four stores; what
    // lies beyond N goes out of bounds, and rows beyond M are.
    const Value whole = k.compare(Compare::eq, k.bit_and(n_, number(3)), number(0));
    const auto each = [&](auto store_four) {
      for (int rn = 0; rn < p.b.repeats; ++rn)
        for (int block = 0; block < p.acc_values / 4; ++block) {
          const Value column = k.add(n, number(rn * p.spec.mfma + block * 4 * p.groups));
          for (int rm = 0; rm < p.a.repeats; ++rm) {
            const Value row = k.add(m, number(rm * p.spec.mfma));
            const Value acc = accumulators[static_cast<std::size_t>(rn * p.a.repeats + rm)];
            const Value four = k.convert(k.slice(acc, 4 * block, 4), element_of(p.spec.out));
            store_four(four, column, k.add(k.mul(row, row_bytes), k.mul(column, number(bytes))));
          }
        }
    };
    const auto store_if = [&](Value value, Value column, Value offset) {
      k.buffer_store(value, descriptor,
                     k.select(k.compare(Compare::ult, column, n_), offset, number(out_of_bounds)));
    };
    k.if_then(whole,
              [&] { each([&](Value four, Value column, Value offset) { store_if(four, column, offset); }); });
    k.if_then(k.compare(Compare::ne, k.bit_and(n_, number(3)), number(0)), [&] {
      each([&](Value four, Value column, Value offset) {
        for (int v = 0; v < 4; ++v)
          store_if(k.extract(four, v), k.add(column, number(v)), k.add(offset, number(v * bytes)));
      });
    });
  }

  Value number(std::int64_t value) { return k.constant(value); }

  const GemmPlan& p;
  ProofReport& report_;
  KernelBuilder k;
  SymContext symbols_;
  Sym tid_sym_, k_sym_;
  Value tid_, m_, n_, k_, first_m_, first_n_, full_tiles_, tail_;
  LdsBlock lds_;
  Operand a_, b_;
};

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace

Artifact build_gemm(const GemmSpec& spec, const BuildOptions& options) {
  Artifact artifact;
  artifact.kernel = "gemm";
  artifact.arch = spec.arch;
  const auto begin = std::chrono::steady_clock::now();
  const GemmPlan plan = plan_gemm(spec);
  artifact.proofs = prove_gemm(plan);
  artifact.times.layouts_and_proofs = milliseconds_since(begin);

  const auto ir_begin = std::chrono::steady_clock::now();
  const codegen::IrModule module = Gemm(plan, artifact.proofs).build();
  artifact.times.ir = milliseconds_since(ir_begin);

  codegen::Emitted emitted =
      codegen::emit(module, codegen::Target::named(spec.arch), {.level = 3, .assembly = options.assembly});
  artifact.ir = std::move(emitted.ir);
  artifact.assembly = std::move(emitted.assembly);
  artifact.hsaco = std::move(emitted.hsaco);
  artifact.times.opt = emitted.timings.opt;
  artifact.times.codegen = emitted.timings.codegen;
  artifact.times.link = emitted.timings.link;
  return artifact;
}

} // namespace inlay::kernels
