// The code of the GEMM: plan.h's layouts, lowered. Read from `build_gemm` at the end upwards.
#include "../compile.h"
#include "plan.h"

#include <inlay/algebra/print.h>
#include <inlay/algebra/sym.h>
#include <inlay/codegen/kernel_builder.h>

#include <algorithm>
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

/// The LDS addresses of one work-item for a series of accesses: for each a formula in the work-item id, shared where it
/// can be, and a constant that goes into the instruction. That they equal the layout's addresses is checked at every
/// work-item.
struct LaneAddress {
  Value base;
  int immediate;
};
using LaneAddresses = std::vector<LaneAddress>;

class Gemm {
public:
  Gemm(const GemmPlan& plan, ProofReport& report)
      : p(plan), report_(report),
        k(codegen::Target::named(plan.spec.arch), plan.spec.preshuffled_b ? "preshuffle_gemm" : "gemm",
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
    // Two blocks, not one of twice the size: LLVM then knows that a write to one does not wait for reads of the other.
    for (LdsBlock& stage : stages_) stage = k.lds_allocate("stage", p.stage_bytes);
    last_tile_ = k.udiv(k.sub(k_, number(1)), number(p.spec.tile_k));
    tail_ = k.sub(k_, k.mul(last_tile_, number(p.spec.tile_k)));
    operand(a_, p.a, k.argument(1), first_m_, m_);
    if (p.spec.preshuffled_b) {
      preshuffled();
    } else {
      operand(b_, p.b, k.argument(2), first_n_, n_);
    }
  }

  struct Operand {
    const OperandPlan* plan = nullptr;
    Value descriptor;
    Values offsets;                   ///< of each pass, for a full tile of K
    Values tail_offsets;              ///< the same with what lies beyond K out of bounds
    LaneAddresses writes;             ///< of each pass
    std::vector<LaneAddresses> reads; ///< of each step and repeat
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
    x.writes = lane_addresses(
        "LDS write addresses of " + plan.name, p.write_swizzle, plan.lds_offset, plan.passes,
        [&](int pass) { return (row + pass * p.rows_per_pass) * p.pitch + chunk * 16; },
        [&](int t, int pass) { return p.write_address(t, pass); });
    const Sym lane = floor_mod(tid_sym_, 64), wave = floor_div(tid_sym_, 64);
    const Sym index = &plan == &p.b ? floor_div(wave, p.spec.waves_m) : floor_mod(wave, p.spec.waves_m);
    for (int step = 0; step < p.steps; ++step)
      x.reads.push_back(lane_addresses(
          fmt::format("LDS read addresses of {} in step {}", plan.name, step), p.read_swizzle,
          plan.lds_offset, plan.repeats,
          [&](int r) {
            return (index * plan.wave_rows + r * p.spec.mfma + floor_mod(lane, p.spec.mfma)) * p.pitch +
                   (floor_div(lane, p.spec.mfma) + step * p.groups) * 16;
          },
          [&](int t, int r) { return p.read_address(plan, t, r, step); }));
  }

  /// Preshuffled B: its blocks of 16 rows x 32 k are 1 KiB each, what lies in one behind the other is a wave's registers.
  void preshuffled() {
    b_.plan = &p.b;
    const Value row_bytes = k.mul(k_, number(2));
    const Value rows_here = k.umin(k.sub(n_, first_n_), number(p.spec.tile_n));
    b_.descriptor = k.buffer(k.pointer_add(k.argument(2), k.mul(k.zext64(first_n_), k.zext64(row_bytes))),
                             k.mul(rows_here, row_bytes));
    const Sym lane = floor_mod(tid_sym_, 64), wave = floor_div(tid_sym_, 64 * p.spec.waves_m);
    for (int r = 0; r < p.b.repeats; ++r) // 16 rows of K elements are 32 K bytes
      b_.offsets.push_back(k.lower((wave * p.b.repeats + r) * (k_sym_ * 32) + lane * 16));
    for (int step = 0; step < p.steps; ++step) {
      const Value inside = k.compare(Compare::ult, number(32 * step), tail_);
      for (int r = 0; r < p.b.repeats; ++r)
        b_.tail_offsets.push_back(
            k.select(inside, b_.offsets[static_cast<std::size_t>(r)], number(out_of_bounds)));
    }
  }

  /// All fragments of preshuffled B for one tile of K: step by step, and in each the repeats.
  Values load_preshuffled(Value tile, bool masked) {
    Values fragments;
    const auto repeats = static_cast<std::size_t>(p.b.repeats);
    const Value blocks = k.mul(tile, number(1024 * p.steps));
    for (std::size_t step = 0; step < static_cast<std::size_t>(p.steps); ++step)
      for (std::size_t r = 0; r < repeats; ++r) {
        BufferOffset extra;
        extra.scalar = blocks;
        extra.immediate = 1024 * static_cast<int>(step);
        fragments.push_back(k.buffer_load(b_.descriptor,
                                          masked ? b_.tail_offsets[step * repeats + r] : b_.offsets[r],
                                          Type{element_of(p.spec.in), 8}, extra));
      }
    return fragments;
  }

  /// Lowers `Sw(linear(access))`. An access that lies at a constant distance from an earlier one at every work-item takes
  /// over its register and has the distance as its immediate.
  template <class Linear, class Layout>
  LaneAddresses lane_addresses(const std::string& claim, const ChunkSwizzle& swizzle, int offset,
                               int accesses, Linear linear, Layout layout) {
    struct Base {
      Value value;
      std::vector<std::int64_t> bytes; ///< at each work-item
    };
    std::vector<Base> bases;
    LaneAddresses addresses;
    std::string formulas, counterexample;
    const auto threads = static_cast<std::size_t>(p.threads);
    for (int access = 0; access < accesses; ++access) {
      std::vector<std::int64_t> wanted(threads);
      for (std::size_t t = 0; t < threads; ++t) wanted[t] = layout(static_cast<int>(t), access);
      const auto from = std::find_if(bases.begin(), bases.end(), [&](const Base& b) {
        for (std::size_t t = 0; t < threads; ++t)
          if (wanted[t] - b.bytes[t] != wanted[0] - b.bytes[0]) return false;
        return wanted[0] >= b.bytes[0];
      });
      if (from != bases.end()) {
        addresses.push_back({from->value, static_cast<int>(wanted[0] - from->bytes[0]) + offset});
        continue;
      }
      const std::int64_t mask = ((std::int64_t{1} << swizzle.bits) - 1) << (4 + swizzle.shift);
      Sym formula = linear(access);
      if (swizzle.bits > 0)
        formula = bit_xor(formula, shift_right(bit_and(formula, Sym(mask)), Sym(swizzle.shift)));
      for (std::size_t t = 0; t < threads && counterexample.empty(); ++t) {
        Assignment at;
        at.set(tid_sym_, Int(static_cast<std::int64_t>(t)));
        if (const std::int64_t emitted = evaluate(formula, at).value(); emitted != wanted[t])
          counterexample =
              fmt::format("work-item {}, access {}: the code computes byte {}, the layout says {}", t, access,
                          emitted, wanted[t]);
      }
      bases.push_back({k.lower(formula), std::move(wanted)});
      addresses.push_back({bases.back().value, offset});
      formulas += (formulas.empty() ? "" : "; ") + to_string(formula);
    }
    report_.require_enumerated(claim + " equal the layout at every work-item", formulas,
                               counterexample.empty(), counterexample);
    return addresses;
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

  void write(const Operand& x, std::span<const Value> data, int stage) {
    for (std::size_t pass = 0; pass < data.size(); ++pass)
      k.lds_store(data[pass], stages_[stage], x.writes[pass].base, x.writes[pass].immediate);
  }

  /// The fragments that pass through LDS, those of A and then those of B, for one step of the tile in `stage`.
  Values read(int step, int stage) {
    Values fragments;
    for (const OperandPlan* plan : p.through_lds())
      for (const LaneAddress& at : (plan == &p.a ? a_ : b_).reads[static_cast<std::size_t>(step)])
        fragments.push_back(
            k.lds_load(stages_[stage], at.base, at.immediate, Type{element_of(p.spec.in), 8}));
    return fragments;
  }

  /// The matrix instructions of one step.
  void multiply(std::span<const Value> fragments, std::span<Value> accumulators) {
    const auto repeats = static_cast<std::size_t>(p.a.repeats);
    for (int j = 0; j < p.mfmas_per_step; ++j)
      for (std::size_t rn = 0; rn < static_cast<std::size_t>(p.b.repeats); ++rn)
        for (std::size_t rm = 0; rm < repeats; ++rm) {
          Value& acc = accumulators[rn * repeats + rm];
          acc =
              k.mfma(std::string(p.atom->intrinsic), k.slice(fragments[repeats + rn], j * p.values, p.values),
                     k.slice(fragments[rm], j * p.values, p.values), acc);
        }
  }

  /// What goes from turn to turn.
  struct State {
    Values accumulators;
    Values loads;     ///< the next tile, on its way from memory to registers: A's passes, then B's
    Values fragments; ///< of step 0 of the current tile
    Values direct;    ///< fragments of preshuffled B for the current tile; nothing otherwise

    Values pack() const {
      Values all = accumulators;
      all.insert(all.end(), loads.begin(), loads.end());
      all.insert(all.end(), fragments.begin(), fragments.end());
      all.insert(all.end(), direct.begin(), direct.end());
      return all;
    }
    /// The same, from what `like.pack()` became.
    static State unpack(const State& like, const Values& all) {
      const auto a = all.begin() + static_cast<std::ptrdiff_t>(like.accumulators.size());
      const auto b = a + static_cast<std::ptrdiff_t>(like.loads.size());
      const auto c = b + static_cast<std::ptrdiff_t>(like.fragments.size());
      return {Values(all.begin(), a), Values(a, b), Values(b, c), Values(c, all.end())};
    }
  };

  void write_loads(const State& now, int stage) {
    const std::span<const Value> loads(now.loads);
    write(a_, loads.first(a_.offsets.size()), stage);
    if (!p.spec.preshuffled_b) write(b_, loads.subspan(a_.offsets.size()), stage);
  }

  Values load_tile(Value tile) {
    Values loads = load(a_, a_.offsets, tile);
    if (p.spec.preshuffled_b) return loads;
    const Values b = load(b_, b_.offsets, tile);
    loads.insert(loads.end(), b.begin(), b.end());
    return loads;
  }

  /// The fragments of one step: those that were read from LDS, and those of B that came without it.
  Values operands(const Values& from_lds, const Values& direct, int step) const {
    Values all = from_lds;
    const auto repeats = static_cast<std::ptrdiff_t>(p.b.repeats);
    if (p.spec.preshuffled_b)
      all.insert(all.end(), direct.begin() + step * repeats, direct.begin() + (step + 1) * repeats);
    return all;
  }

  /// One tile. It lies in `stage`, its first fragments are in registers, and the next tile is on its way from memory.
  ///
  ///     first part    the next tile goes from registers to the other stage, each register being loaded again at once
  ///                   (tile `load_next`), so that a load has a whole turn to arrive and no wait is for all of them;
  ///                   fragments are read one step ahead of the matrix instructions
  ///     barrier       the other stage is complete. It was last read before the barrier of the turn before.
  ///     second part   the last step's matrix instructions hide the reads of the next tile's first fragments
  State turn(const State& now, int stage, Value load_next) {
    State next;
    next.accumulators = now.accumulators;
    Values fragments = now.fragments;
    if (p.spec.preshuffled_b) next.direct = load_preshuffled(k.sub(load_next, number(1)), false);
    write_loads(now, 1 - stage);
    next.loads = load_tile(load_next);
    for (int step = 0; step + 1 < p.steps; ++step) {
      const Values ahead = read(step + 1, stage);
      multiply(operands(fragments, now.direct, step), next.accumulators);
      fragments = ahead;
    }
    const int writes = static_cast<int>(now.loads.size()),
              loads = writes + static_cast<int>(next.direct.size());
    const int reads = static_cast<int>(now.fragments.size());
    const int mfmas = p.mfmas_per_step * p.a.repeats * p.b.repeats;
    hints((p.steps - 1) * mfmas, (p.steps - 1) * reads, writes, loads, 0);
    k.barrier();
    k.sched_barrier();
    next.fragments = read(0, 1 - stage);
    multiply(operands(fragments, now.direct, p.steps - 1), next.accumulators);
    hints(mfmas, reads, 0, 0, 1);
    k.sched_barrier();
    return next;
  }

  /// Asks the scheduler to spread memory instructions evenly among matrix instructions: LDS reads first in each round,
  /// then a write to LDS and the load that refills its registers.
  void hints(int mfmas, int reads, int writes, int loads, int group) {
    std::vector<int> memory;
    for (int i = 0; i < std::max({reads, writes, loads}); ++i) {
      if (i < reads) memory.push_back(codegen::sched_ds_read);
      if (i < writes) memory.push_back(codegen::sched_ds_write);
      if (i < loads) memory.push_back(codegen::sched_vmem_read);
    }
    const int count = static_cast<int>(memory.size());
    int done = 0;
    for (int i = 0; i < count; ++i) {
      k.sched_group(memory[static_cast<std::size_t>(i)], 1, group);
      const int until = (i + 1) * mfmas / count;
      if (until > done) k.sched_group(codegen::sched_mfma, until - done, group);
      done = until;
    }
  }

  /// The rest of the current tile, with nothing behind it.
  Values last_turn(const State& now, int stage) {
    Values accumulators = now.accumulators, fragments = now.fragments;
    for (int step = 0; step < p.steps; ++step) {
      const Values ahead = step + 1 < p.steps ? read(step + 1, stage) : Values();
      multiply(operands(fragments, now.direct, step), accumulators);
      fragments = ahead;
    }
    return accumulators;
  }

  /// The tile that may be ragged, the last one, comes first, so that the loop has no masks. Then tiles 0, 1, ... follow,
  /// two a turn of the loop, so that stages are constants.
  Values contract() {
    State state;
    for (const OperandPlan* plan : p.through_lds()) {
      const Operand& x = plan == &p.a ? a_ : b_;
      write(x, load(x, x.tail_offsets, last_tile_), 0);
    }
    if (p.spec.preshuffled_b) state.direct = load_preshuffled(last_tile_, true);
    // When the last tile is the only one, this loads it again and nobody uses it.
    state.loads = load_tile(number(0));
    for (int i = 0; i < p.a.repeats * p.b.repeats; ++i)
      state.accumulators.push_back(k.zero(Type::f32(p.acc_values)));
    k.barrier();
    state.fragments = read(0, 0);

    // Turn i computes what lies in a stage (the last tile, then i - 1), writes tile i and loads tile i + 1; at the end
    // that may be the last tile without its mask, inside or outside the descriptor, and nobody uses it either.
    const Value pairs = k.bit_and(last_tile_, number(0xfffffffe));
    const Values end = k.loop(number(0), pairs, number(2), state.pack(), [&](Value i, const Values& now) {
      const State half = turn(State::unpack(state, now), 0, k.add(i, number(1)));
      return turn(half, 1, k.add(i, number(2))).pack();
    });
    state = State::unpack(state, end);

    // One tile is left in stage 0, and when their number is even another one in registers.
    const Value another = k.compare(Compare::ne, last_tile_, pairs);
    const Values direct = p.spec.preshuffled_b ? load_preshuffled(pairs, false) : Values();
    k.if_then(another, [&] { write_loads(state, 1); });
    const Values sums = last_turn(state, 0);
    return k.if_values(another, sums, [&] {
      k.barrier();
      return last_turn({sums, {}, read(0, 1), direct}, 1);
    });
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
  Value tid_, m_, n_, k_, first_m_, first_n_;
  Value last_tile_, tail_; ///< number of the last tile of K, and the k that it has: 1 .. tile_k
  LdsBlock stages_[2];
  Operand a_, b_;
};

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace

Artifact build_gemm(const GemmSpec& spec, const BuildOptions& options) {
  Artifact artifact;
  artifact.kernel = spec.preshuffled_b ? "preshuffle_gemm" : "gemm";
  artifact.arch = spec.arch;
  const auto begin = std::chrono::steady_clock::now();
  const GemmPlan plan = plan_gemm(spec);
  artifact.proofs = prove_gemm(plan);
  artifact.times.layouts_and_proofs = milliseconds_since(begin);

  const auto ir_begin = std::chrono::steady_clock::now();
  const codegen::IrModule module = Gemm(plan, artifact.proofs).build();
  artifact.times.ir = milliseconds_since(ir_begin);

  compile_into(artifact, module, options);
  return artifact;
}

} // namespace inlay::kernels
