/// Code to LLVM IR through the builder: the class of it. Its members are in four files:
///
///     emit_ir.cpp         the program: regions, branches, roles, one instruction, tickets and meetings
///     emit_ir_memory.cpp  addresses: descriptors, offsets, guards, LDS
///     emit_ir_values.cpp  maps, folds, conversions, matrix products
///     emit_ir_loops.cpp   loops, as IR and as blocks of assembly
#pragma once

#include <inlay/codegen/emit_ir.h>

#include "emit_asm.h"

#include <inlay/codegen/address.h>
#include <inlay/codegen/kernel_builder.h>
#include <inlay/codegen/nest.h>
#include <inlay/codegen/schedule.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>

namespace inlay::codegen {

/// An offset that every descriptor refuses: the number of records stays below it.
inline constexpr std::int64_t out_of_bounds = std::int64_t{1} << 31;
inline constexpr int most_immediate = 4096; ///< bytes of a buffer instruction's offset stay below it: 12 bits
inline constexpr double log2_e = 1.4426950408889634, ln_2 = 0.6931471805599453;

using RegKey = std::pair<int, int>;
using Env = std::map<RegKey, Value>;

inline std::vector<Argument> typed(const std::vector<KernelArgument>& arguments) {
  std::vector<Argument> out;
  for (const KernelArgument& a : arguments)
    out.push_back({a.name(), a.tensor ? Type::global() : Type::i32(), !a.tensor || a.tensor->device < 0});
  return out;
}

// As f32, a NaN of this type may have bits in its lower half.
inline bool nan_is_long(Element e) { return e != Element::i8 && e != Element::i32 && e != Element::bf16; }

class Emitter {
public:
  Emitter(const Code& code, LoopForm form)
      : code_(code), form_(form), p_(*code.program), arguments_(typed(arguments_of(p_))),
        k(p_.target(), p_.name(), std::span<const Argument>(arguments_),
          {.workgroup_size = p_.threads(), .waves_per_simd = std::max(p_.waves_per_simd(), 1)}) {}

  IrModule run();
  /// What it is at, or stopped at.
  [[nodiscard]] std::source_location located() const { return k.located(); }

private:
  Value number(std::int64_t v) { return k.constant(v); }

  void far_without_transfers() const;

  void define(const std::vector<TileMap::Definition>& definitions);
  void tile(Value work_item_id);
  void bind_arguments();
  void of_problem(const std::function<void()>& body);
  void bind(Value work_item_id);

  void allocate();
  Sym bytes(const Tensor& t, Sym elements) const;

  struct Memory {
    Value descriptor, offset;
    int immediate = 0;
    Sym step;
    std::vector<AddressSplit::Predicate> each_trip; ///< what depends on the trip
    // Of 64 bits: the pointer that the workgroup has and the lane's offset from it, and what the trip does not compare.
    Value pointer, lane;
    std::vector<AddressSplit::Predicate> always{};
  };
  bool of_trip(Sym s) const;
  struct Lds {
    Value base;
    int immediate = 0;
  };

  void prepare(std::span<const Inst> list);
  void prepare(const Inst& load, const Inst& write);
  void prepare(const Inst& i);

  void begin();
  static std::size_t begins_with_transfers(const CodeRegion& r);

  Value each_lanes_zero();
  void stay(const std::vector<Value>& loaded);
  void numbers_stay();
  bool moves_rows(const Inst& i) const;
  const AddressSplit& split_of(const Inst& i);

  Memory memory(const Inst& i, int shared = 0);
  Value far_lane(Sym lane);
  Value holds(const AddressSplit::Predicate& q);
  Value far_load(const Memory& m, Type type);
  bool at_least(Sym formula, std::int64_t least) const;
  Value guarded(Value offset, const AddressSplit::Predicate& q);
  Value offset_of(const Memory& m);
  void print(const Inst& i);
  void read(const Uniform& u);
  Value ask(const Uniform& u);
  void take(const Uniform& u, Value loaded);
  [[nodiscard]] bool begins_with_numbers() const;
  void numbers_beside();
  void add_in_lds(const Inst& i);
  Value idle(const Inst& i) { return k.lower(at_work_item(p_, *i.access.idle)); }

  Value descriptor(const Tensor& t, const AddressSplit& a);

  Value wide(Sym s);
  Value wide_atom(Sym s);

  Lds lds(const Inst& i);

  RegKey key(const Reg& r) const;
  Value whole(const Reg& r);
  Value use(const Reg& r) { return k.slice(whole(r), r.first, r.count); }
  Value stay(const Reg& r);

  /// As arithmetic takes it: f64 as it is, all else in f32.
  Value to_real(Value v) {
    return v.type.element == Element::f32 || v.type.element == Element::f64 ? v : k.convert(v, Element::f32);
  }

  void regions(std::size_t begin, std::size_t end, std::size_t depth);
  void branch(std::size_t begin, std::size_t end, std::size_t depth);
  void trips(const Nest& nest, std::size_t begin, std::size_t end, std::size_t depth);
  [[nodiscard]] const Nest* nest_of(const CodeRegion& r) const;
  [[nodiscard]] std::vector<RegKey> written_again(std::size_t begin, std::size_t end) const;
  KernelBuilder::Values handed_on(const std::vector<RegKey>& keys);
  void under(Value condition, const std::vector<RegKey>& written, const KernelBuilder::Values* otherwise,
             const std::function<void()>& body);

  static bool has_roles(std::span<const Inst> list);
  void by_roles(std::span<const Inst> list, const std::function<void(std::span<const Inst>)>& f);
  void role(std::span<const Inst> list, const std::function<void(std::span<const Inst>)>& f);
  void straight(const std::vector<Inst>& list);

  void versions(std::span<const Inst> list);

  Value stage_at_run_time(int tensor, int slot, int ring);
  void one(const Inst& i, int trip, int ring);

  const Ticket& ticket_of(const Inst& i) const { return p_.tickets()[static_cast<std::size_t>(i.ticket)]; }
  Value draw(const Inst& i);
  Value counter(const Inst& i);
  Sym turn_of(const Inst& i) const;
  void wait_for_turn(const Inst& i);
  void pass_turn(const Inst& i);

  void meet(const Inst& i);

  Value to_store(const Reg& r, Element element);
  Value operand(const Inst& i, std::size_t which);
  Value scaled_product(const Inst& i);
  static int format_of(const Atom& atom, const std::string& modifier);

  Value uniform(Value v);
  // As it is used: of i64 what `whole` gives.
  Element reg_element(const Reg& r) const {
    const Element held = code_.registers[static_cast<std::size_t>(r.id)].element;
    return held == Element::i64 ? Element::i32 : held;
  }

  BufferOffset extra(const Memory& m, const Inst& i);

  Value combine(Monoid m, Value a, Value b);

  Value gather(std::span<const Reg> uses);
  Value gathered(std::span<const Reg> uses, const std::function<Value(Value)>& as);
  std::vector<Value> elements(std::span<const Reg> uses);

  Value each(Value v, const std::function<Value(Value)>& f);

  Value map(const Inst& i);

  bool chooses(const Inst& i, Element from);
  Value widened(Value v, Element to);
  Value chosen(const Inst& i, Expr e, Value v);

  static bool takes_words(Expr map);
  Value integer_sum(const Inst& i);

  bool shares_scales(int op);

  Value value(const Inst& i, Expr e, const std::vector<Value>& operands, std::map<int, Value>& done);

  Value exclusive(const Inst& i, Expr e, const std::vector<Value>& operands, std::map<int, Value>& done);
  Value joined(const ExprNode& n, const std::function<Value(std::size_t)>& arg,
               const std::function<Value(Value, Value)>& join);
  Value shift(Value by) { return k.bit_and(by, k.constant(31, by.type)); }

  Value word(const Inst& i, Expr e, const std::vector<Value>& operands);

  std::vector<std::pair<Sym, Sym>> positions(const Inst& i, Sym a, Sym b);

  Value inside(const Inst& i, const ExprNode& n, Value v);
  bool whole_vector(Sym bound, int lanes) const;

  Value fold(const Inst& i);
  Value top(const Inst& i);
  /// Elements with their places, as numbers of f64: the greatest first.
  using Ranked = std::vector<Value>;
  Ranked ranked(const Inst& i);
  Value folded(Monoid m, Value v); ///< as it is joined

  bool outside(int id) const { return code_.registers[static_cast<std::size_t>(id)].outside; }

  std::vector<RegKey> carried(const CodeRegion& r) const;

  Value handed_on(Value v);

  void loop(const CodeRegion& r);

  void plan(const CodeRegion& r);
  [[nodiscard]] bool goes_on(const CodeRegion& r, int accumulator) const;

  bool prologue_inside(const CodeRegion& r, const BlockRegisters& registers) const;

  void block(const CodeRegion& r, const BlockRegisters& registers, bool prologue);
  std::pair<Sym, Sym> advance(const CodeRegion& r, Sym step) const;

  void trip(const std::vector<Inst>& list, int residue, int ring);
  void spread(int mfmas, int reads, int writes, int loads, int group);

  struct Base {
    int tensor;
    Value value;
    std::vector<std::int64_t> bytes;
  };

  const Code& code_;
  LoopForm form_;
  const Program& p_;
  std::vector<Argument> arguments_;
  KernelBuilder k;
  Value tid_;
  Value wave_; ///< the wave's number, where there are roles
  std::vector<std::pair<AtomId, Sym>>
      whole_bytes_; ///< sizes as the least that whole bytes are, times another symbol
  std::map<int, Value> pointers_;
  std::map<std::string, Value> largest_;                   ///< of sizes that each problem has
  std::map<std::pair<int, int>, std::pair<int, int>> lds_; ///< (tensor, stage) -> block, offset
  std::map<int, int> begin_of_tile_;      ///< of a ping-pong loop's tensors: their first stage's offset
  std::vector<LdsBlock> blocks_, chosen_; ///< of each stage; of the last trip's stages
  Value residue_;                         ///< of the last trip, modulo the ring
  std::map<std::tuple<int, Sym, Sym>, Value> descriptors_;
  ThreadCoordinates coordinates_{p_};
  std::map<const Inst*, AddressSplit> splits_;
  std::map<const Inst*, Memory> memory_;
  std::map<const Inst*, Lds> lds_at_;
  std::vector<Base> bases_;
  std::set<AtomId> bound_rows_; ///< symbols of coordinates from memory
  int rows_here_ = 0;           ///< how many of them are a trip's
  Value zeros_;                 ///< in memory, for who is outside
  Env env_;
  bool exact_ = false;               ///< the order is not LLVM's
  std::set<const Inst*> full_waits_; ///< of its loop, see at_full_counters
  std::set<int> rows_ahead_;         ///< numbers of rows that this loop gathers ahead, into one stage of LDS
  const Inst* transfer_ = nullptr;   ///< the load half of a transfer
  std::set<const Inst*> under_way_;  ///< what was emitted before everything else
  std::map<int, Value> uniform_;
  std::set<int> in_agprs_; ///< results of blocks
  std::map<std::pair<int, int>, Value>
      rounded_;                       ///< (register, first element): what two versions of a store share
  std::map<int, bool> shares_scales_; ///< by operation
  std::vector<std::pair<Inst, Ranked>> tops_; ///< lists, while ranks of them follow one another
  std::set<int> zeroed_;                      ///< accumulators that nothing was added to yet
  std::map<const CodeRegion*, BlockRegisters> blocks_of_loops_;
  std::vector<Nest> nests_ = nests_of(p_);
  std::vector<const Nest*> open_nests_;
};

} // namespace inlay::codegen
