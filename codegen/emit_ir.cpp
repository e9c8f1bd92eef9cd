// Code to LLVM IR through the builder. What each instruction becomes is in `one`; loops are in `loop`.
#include <inlay/codegen/emit_ir.h>

#include "emit_asm.h"

#include <inlay/codegen/address.h>
#include <inlay/codegen/kernel_builder.h>
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
namespace {

/// An offset that every descriptor refuses: the number of records stays below it.
constexpr std::int64_t out_of_bounds = std::int64_t{1} << 31;
constexpr int most_immediate = 4096; ///< bytes of a buffer instruction's offset stay below it: 12 bits
constexpr double log2_e = 1.4426950408889634, ln_2 = 0.6931471805599453;

using RegKey = std::pair<int, int>;
using Env = std::map<RegKey, Value>;

std::vector<Argument> typed(const std::vector<KernelArgument>& arguments) {
  std::vector<Argument> out;
  for (const KernelArgument& a : arguments)
    out.push_back({a.name(), a.tensor ? Type::global() : Type::i32(), !a.tensor || a.tensor->device < 0});
  return out;
}

// As f32, a NaN of this type may have bits in its lower half.
bool nan_is_long(Element e) { return e != Element::i8 && e != Element::i32 && e != Element::bf16; }

class Emitter {
public:
  Emitter(const Code& code, LoopForm form)
      : code_(code), form_(form), p_(*code.program), arguments_(typed(arguments_of(p_))),
        k(p_.target(), p_.name(), std::span<const Argument>(arguments_), {.workgroup_size = p_.threads()}) {}

  IrModule run() {
    k.locate(p_.where());
    bind_arguments();
    far_without_transfers();
    for (const CodeRegion& r : code_.regions)
      if (r.is_loop) plan(r);
    allocate();
    if (const auto& shares = p_.shares()) {
      k.bind(shares->worker, k.workgroup_id(0));
      define(p_.tile_map()->counts), define(shares->once);
      (void)k.loop(number(0), k.lower(shares->turns), number(1), {}, [&](Value turn, const auto&) {
        k.bind(shares->turn, turn);
        define(shares->each);
        // Opaque: what is made of it is made anew for each tile, and in no register while the tile's loop wants them all.
        const Value id = k.work_item_id();
        this->tile(k.assembly("", "=v,0", std::span(&id, 1), std::span(&id.type, 1))[0]);
        return KernelBuilder::Values();
      });
    } else {
      if (const auto& map = p_.tile_map()) {
        k.bind(map->id_x, k.workgroup_id(0)), k.bind(map->id_y, k.workgroup_id(1));
        define(map->counts);
      }
      tile(k.work_item_id());
    }
    if (std::any_of(code_.regions.begin(), code_.regions.end(), [](const CodeRegion& r) { return r.exact; }))
      k.spread_arithmetic();
    return std::move(k).finish();
  }

private:
  // ------------------------------------------------------------------------------------------------- preparation

  Value number(std::int64_t v) { return k.constant(v); }

  // LLVM waits for what it loads by addresses of 64 bits, and may exchange two of these; transfers are waited for by their number
  // among all accesses.
  void far_without_transfers() const {
    const Inst *far = nullptr, *transfer = nullptr;
    for (const CodeRegion& r : code_.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (const Inst& i : *list) {
          if (i.kind == InstKind::load && is_far(p_, i.access)) far = &i;
          if (i.direct) transfer = &i;
        }
    if (far && transfer)
      throw CodegenError("transfers are not generated beside loads by addresses of 64 bits",
                         "transfer in line " + std::to_string(transfer->where.line()) + ", load in line " +
                             std::to_string(far->where.line()),
                         "copy, through registers");
  }

  void define(const std::vector<TileMap::Definition>& definitions) {
    for (const TileMap::Definition& d : definitions) {
      const Value v = k.lower_low(d.value);
      // Divided and chosen in vector registers, and a block's descriptors are made of what comes of it.
      k.bind(d.symbol, p_.shares() ? k.readfirstlane(v) : v);
    }
  }
  // What the program says, for one tile.
  void tile(Value work_item_id) {
    bind(work_item_id);
    begin();
    for (const CodeRegion& r : code_.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
        if (zeros_.id < 0 && std::any_of(list->begin(), list->end(), [&](const Inst& i) {
              return i.kind == InstKind::load && is_far(p_, i.access);
            }))
          zeros_ = k.zeros_in_memory();
    for (const CodeRegion& r : code_.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue}) prepare(*list);
    regions(0, code_.regions.size(), 0);
  }
  void bind_arguments() {
    std::map<std::string, Value> words; // of sizes
    int index = 0;
    for (const KernelArgument& a : arguments_of(p_)) {
      const Value v = k.argument(index++);
      a.tensor ? pointers_[a.tensor->id] = v : words[a.size->name] = v;
    }
    for (const Tensor& t : p_.tensors())
      if (t.space == Space::window) pointers_[t.id] = pointers_.at(t.of);
    const bool narrow = std::any_of(p_.tensors().begin(), p_.tensors().end(), [](const Tensor& t) {
      return t.space == Space::global && bits(t.element) < 8;
    });
    for (const Size& s : p_.sizes()) {
      k.bind(s.symbol, words.at(s.name));
      if (s.facts.multiple % 2 != 0 || !narrow) continue;
      // Where two elements share a byte, a row of n is n / 2 bytes.
      const Sym half = p_.symbols().symbol("_half_" + s.name, {Int(0), Int(s.facts.most / 2)});
      halves_.emplace_back(*s.symbol.as_atom(), Sym(2) * half);
      k.bind(half, k.lshr(words.at(s.name), k.constant(1)));
    }
  }
  void bind(Value work_item_id) {
    if (const auto& map = p_.tile_map()) define(map->numbering), define(map->stretching), define(map->tiling);
    for (const GridAxis& g : p_.grid())
      if (!p_.tile_map() || g.axis == 2) k.bind(g.symbol, k.workgroup_id(g.axis));
    tid_ = work_item_id;
    k.bind(work_item(p_), tid_);
    const bool roles = std::any_of(code_.regions.begin(), code_.regions.end(), [](const CodeRegion& r) {
      return has_roles(r.prologue) || has_roles(r.body);
    });
    const bool staggered = std::any_of(code_.regions.begin(), code_.regions.end(),
                                       [](const CodeRegion& r) { return !r.staggered.empty(); });
    if (roles || staggered)
      wave_ = k.readfirstlane(
          k.lshr(tid_, number(std::countr_zero(static_cast<unsigned>(p_.target().wave_size)))));
    for (const Uniform& u : p_.uniforms()) {
      k.locate(u.where);
      const Tensor& t = p_.tensor(u.tensor);
      // Up to past the last element: the place of coordinate 1 in an extent of 1 may be 0.
      const Sym last = t.at(std::vector<Sym>{t.shape[0] - Sym(1)});
      const Value table = k.buffer(pointers_.at(t.id), k.lower_low(bytes(t, last + Sym(1))));
      const Value loaded = k.buffer_load(table, k.lower_low(bytes(t, u.at)), {Element::i32, 1});
      k.bind(u.symbol, k.readfirstlane(loaded));
    }
  }

  // One block of LDS a stage, so that LLVM knows that a write to one does not wait for reads of another.
  void allocate() {
    const std::map<int, int> rings = lds_stages(code_);
    int stages = 1;
    for (const auto& [tensor, ring] : rings) stages = std::max(stages, ring);
    std::vector<int> bytes(static_cast<std::size_t>(stages), 0);
    for (const auto& [tensor, ring] : rings) {
      const Tensor& t = p_.tensor(tensor);
      const int size = static_cast<int>(t.stage_elements() * bits(t.element) / 8);
      for (int s = 0; s < ring; ++s) {
        lds_[{tensor, s}] = {s, bytes[static_cast<std::size_t>(s)]};
        bytes[static_cast<std::size_t>(s)] += (size + 15) / 16 * 16;
      }
    }
    if (!blocks_of_loops_.empty()) { // their text has one address and immediates for all stages
      const bool by_tile = std::any_of(code_.regions.begin(), code_.regions.end(),
                                       [](const CodeRegion& r) { return r.phases > 0; });
      for (const auto& [key, place] : lds_places(p_, rings, by_tile)) {
        lds_[key] = {0, place};
        if (by_tile && key.second == 0) begin_of_tile_[key.first] = place;
      }
      bytes = {std::accumulate(bytes.begin(), bytes.end(), 0)};
    }
    for (const int b : bytes)
      if (b > 0) blocks_.push_back(k.lds_allocate("stage", b));
  }
  Sym bytes(const Tensor& t, Sym elements) const {
    const int b = bits(t.element);
    return b % 8 == 0 ? elements * Sym(b / 8) : floor_div(substitute(elements, halves_) * Sym(b), Sym(8));
  }

  struct Memory {
    Value descriptor, offset;
    int immediate = 0;
    Sym step;
    std::vector<AddressSplit::Predicate> each_trip; ///< what depends on the trip
    // Of 64 bits: the pointer that the workgroup has and the lane's offset from it, and what the trip does not compare.
    Value pointer, lane;
    std::vector<AddressSplit::Predicate> always{};
  };
  bool of_trip(Sym s) const {
    for (const AtomId a : symbols(s))
      for (const CodeRegion& r : code_.regions)
        if (r.is_loop && a == *r.trip.as_atom()) return true;
    return false;
  }
  struct Lds {
    Value base;
    int immediate = 0;
  };

  void prepare(std::span<const Inst> list) {
    const Inst* load = nullptr; // of a transfer
    for (const Inst& i : list) {
      if (under_way_.contains(&i)) continue;
      if (i.direct && i.kind == InstKind::load) load = &i;
      if (i.direct && i.kind == InstKind::lds_write && !load->access.gathered()) {
        prepare(*load, i);
      } else if (&i != load && !i.access.gathered()) {
        prepare(i);
      }
    }
  }
  // A transfer. What its place in LDS is after that of others goes into the instruction as far as the address in memory has as
  // much to give: the immediate moves both, and several transfers share M0.
  void prepare(const Inst& load, const Inst& write) {
    k.locate(load.where);
    const Lds& to = lds_at_[&write] = lds(write);
    (void)uniform(to.base);
    memory_[&load] = memory(load, to.immediate % most_immediate);
  }
  void prepare(const Inst& i) {
    k.locate(i.where);
    // Addresses of stores are made where they are used: nothing keeps them in registers across a loop.
    if (i.kind == InstKind::load) memory_[&i] = memory(i);
    if (i.kind == InstKind::store) (void)descriptor(p_.tensor(i.access.tensor), split_of(i));
    if (i.kind == InstKind::lds_read || i.kind == InstKind::lds_write) lds_at_[&i] = lds(i);
    if (i.direct && i.kind == InstKind::lds_write) (void)uniform(lds_at_[&i].base);
  }

  // The transfers that the kernel begins with, each as soon as it has its address: those of all other accesses are made while these are
  // under way.
  void begin() {
    if (p_.shares())
      return; // after another tile LLVM would wait for its transfers once more than the block does
    const auto loop = std::find_if(code_.regions.begin(), code_.regions.end(), [](const CodeRegion& r) {
      return r.is_loop || !r.guards.empty() || !std::all_of(r.body.begin(), r.body.end(), [](const Inst& i) {
               return i.kind == InstKind::fill;
             });
    });
    if (loop == code_.regions.end() || !blocks_of_loops_.contains(&*loop) || !loop->guards.empty()) return;
    const std::size_t count = begins_with_transfers(*loop);
    for (std::size_t n = 0; n < count; ++n) {
      const Inst& i = loop->prologue[n];
      if (n % 2 != 0)
        prepare(loop->prologue[n - 1], i), one(loop->prologue[n - 1], 0, loop->ring), one(i, 0, loop->ring);
      under_way_.insert(&i);
    }
  }
  // How many instructions of the prologue are transfers of all waves, from its first one on.
  static std::size_t begins_with_transfers(const CodeRegion& r) {
    std::size_t n = 0;
    const auto fits = [&](std::size_t at, InstKind kind) {
      const Inst& i = r.prologue[at];
      return i.direct && i.kind == kind && i.waves.all() && !i.access.gathered();
    };
    while (n + 1 < r.prologue.size() && fits(n, InstKind::load) && fits(n + 1, InstKind::lds_write)) n += 2;
    return n;
  }

  // Whether rows that a table names were loaded in the same loop: the address is another one in each trip.
  // A zero of which LLVM does not know that all lanes have it.
  Value each_lanes_zero() {
    const Value zero = number(0);
    return k.assembly("", "=v,0", std::span(&zero, 1), std::span(&zero.type, 1))[0];
  }
  bool moves_rows(const Inst& i) const {
    for (const int row : i.access.rows)
      if (row >= 0 && !outside(i.uses[static_cast<std::size_t>(row)].id)) return true;
    return false;
  }
  const AddressSplit& split_of(const Inst& i) {
    const auto found = splits_.find(&i);
    return found != splits_.end() ? found->second
                                  : splits_.emplace(&i, split(coordinates_, i.access, i.uses)).first->second;
  }

  // `shared`: of a transfer, what its place in LDS has after one of others.
  Memory memory(const Inst& i, int shared = 0) {
    const Tensor& t = p_.tensor(i.access.tensor);
    const AddressSplit& a = split_of(i);
    std::vector<std::pair<AtomId, Sym>> rows; // of this trip, by names of their own
    for (std::size_t axis = 0; axis < i.access.rows.size(); ++axis) {
      if (!i.access.gathered(axis)) continue;
      const Reg& row = i.uses[static_cast<std::size_t>(i.access.rows[axis])];
      const Sym symbol = row_symbol(p_, t, axis, row);
      if (outside(row.id)) {
        if (bound_rows_.insert(*symbol.as_atom()).second) k.bind(symbol, use(row));
        continue;
      }
      const Sym here = p_.symbols().symbol("_row_here" + std::to_string(rows_here_++) + "_" +
                                               std::to_string(interval(symbol).upper->value()),
                                           interval(symbol));
      k.bind(here, use(row));
      rows.emplace_back(*symbol.as_atom(), here);
    }
    const auto of_rows = [&](Sym s) { return rows.empty() ? s : substitute(s, rows); };
    Memory out;
    out.step = bytes(t, a.step);
    if (a.far) {
      out.pointer = k.pointer_add(pointers_.at(t.id), wide(bytes(t, a.base)));
      out.lane = far_lane(of_rows(bytes(t, a.lane + Sym(a.immediate))));
      for (AddressSplit::Predicate q : a.predicates) {
        q.coordinate = of_rows(q.coordinate);
        (of_trip(q.room) ? out.each_trip : out.always).push_back(q);
      }
      return out;
    }
    const std::int64_t immediate = a.immediate * bits(t.element) / 8;
    const bool fits = immediate < most_immediate && !i.direct; // of a transfer it moves the place in LDS too
    out.immediate = fits ? static_cast<int>(immediate) : 0;
    Sym lane = of_rows(bytes(t, fits ? a.lane : a.lane + Sym(a.immediate)));
    if (shared > 0 && at_least(lane, shared)) {
      out.immediate = shared;
      lane = lane - Sym(shared);
    }
    out.offset = k.lower_low(lane);
    for (AddressSplit::Predicate q : a.predicates) {
      q.coordinate = of_rows(q.coordinate);
      if (of_trip(q.room) || of_trip(q.coordinate)) {
        out.each_trip.push_back(q);
      } else {
        out.offset = guarded(out.offset, q);
      }
    }
    if (i.access.idle) {
      const Value mine = k.compare(Compare::eq, idle(i), number(0));
      out.offset = k.select(mine, out.offset, number(out_of_bounds));
    }
    out.descriptor = descriptor(t, a);
    return out;
  }
  // In 64 bits, what fits 31 in 32.
  Value far_lane(Sym lane) {
    Sym near = lane;
    std::vector<Sym> far;
    for (const Term& term : lane.terms()) {
      const Sym value = p_.symbols().product(term.coefficient, term.factors());
      const Interval range = interval(value);
      if (range.lower && *range.lower >= Int(0) && range.upper && *range.upper < Int(1 << 28)) continue;
      far.push_back(value);
      near = near - value;
    }
    const Interval range = interval(near);
    const bool fits = range.lower && *range.lower >= Int(0) && range.upper && *range.upper <= Int(INT32_MAX);
    Value sum = fits ? k.zext64(k.lower_low(near)) : wide(near);
    for (const Sym& term : far) sum = k.add(sum, wide(term));
    return sum;
  }
  Value holds(const AddressSplit::Predicate& q) {
    // What a window looks at fits 32 bits, whatever its parts are: a claim.
    if (q.axis < 0) return k.compare(Compare::ult, k.lower_low(q.coordinate), k.lower(q.room));
    return q.data ? k.compare(Compare::ult, k.lower(q.coordinate), k.lower(q.room))
                  : k.less(q.coordinate, q.room);
  }
  // By an address of 64 bits; who is outside reads zeros.
  Value far_load(const Memory& m, Type type) {
    Value from = m.pointer;
    if (!(m.step == Sym(0))) from = k.pointer_add(from, wide(m.step));
    from = k.pointer_add(from, m.lane);
    for (const auto* list : {&m.always, &m.each_trip})
      for (const AddressSplit::Predicate& q : *list) from = k.select(holds(q), from, zeros_);
    return k.global_load(from, type);
  }
  // Whether a formula in the work-item and sizes is at least so much, for each work-item and all sizes.
  bool at_least(Sym formula, std::int64_t least) const {
    std::vector<std::pair<AtomId, Sym>> here; // sizes as multiples of what divides them
    for (const Size& s : p_.sizes()) {
      const std::int64_t unit = s.facts.multiple;
      here.emplace_back(*s.symbol.as_atom(),
                        Sym(unit) *
                            p_.symbols().symbol("_units_" + s.name, {Int((s.facts.least + unit - 1) / unit),
                                                                     Int(s.facts.most / unit)}));
    }
    here.emplace_back(*work_item(p_).as_atom(), Sym(0));
    for (int th = 0; th < p_.threads(); ++th) {
      here.back().second = Sym(th);
      if (le(Sym(least), substitute(formula, here)) != Truth::yes) return false;
    }
    return true;
  }
  Value guarded(Value offset, const AddressSplit::Predicate& q) {
    return k.select(holds(q), offset, number(out_of_bounds));
  }
  // The offset of this trip.
  Value offset_of(const Memory& m) {
    Value offset = m.offset;
    for (const AddressSplit::Predicate& q : m.each_trip) offset = guarded(offset, q);
    return offset;
  }
  Value idle(const Inst& i) { return k.lower(at_work_item(p_, *i.access.idle)); }

  Value descriptor(const Tensor& t, const AddressSplit& a) {
    const auto key = std::tuple(t.id, a.base, a.records);
    auto found = descriptors_.find(key);
    if (found == descriptors_.end()) {
      const Value records = a.ends() ? k.lower_low(bytes(t, a.records)) : number(out_of_bounds - 1);
      found = descriptors_
                  .emplace(key, k.buffer(k.pointer_add(pointers_.at(t.id), wide(bytes(t, a.base))), records))
                  .first;
    }
    return found->second;
  }

  // A uniform formula in 64 bits: products of sizes may pass 2^32.
  Value wide(Sym s) {
    Value sum = k.constant(s.constant_term().value(), Type::i64());
    for (const Term& term : s.terms()) {
      Value product = k.constant(term.coefficient.value(), Type::i64());
      for (const Factor& f : term.factors())
        for (std::uint32_t n = 0; n < f.power; ++n)
          product = k.mul(product, wide_atom(p_.symbols().value(f.atom)));
      sum = k.add(sum, product);
    }
    return sum;
  }
  // 32 bits with a sign or without. With one, it is extended as what it is above the least number, which has none.
  Value wide_atom(Sym s) {
    if (le(Sym(0), s) == Truth::yes) return k.zext64(k.lower(s));
    constexpr std::int64_t least = INT32_MIN;
    return k.add(k.zext64(k.lower(s - Sym(least))), k.constant(least, Type::i64()));
  }

  // An access at a constant distance from an earlier one at every work-item takes over its register.
  Lds lds(const Inst& i) {
    const Tensor& t = p_.tensor(i.access.tensor);
    const int size = bits(t.element);
    const auto in_bytes = [size](auto elements) {
      using Number = decltype(elements);
      if constexpr (std::is_same_v<Number, Sym>)
        return size % 8 == 0 ? elements * Sym(size / 8) : floor_div(elements * Sym(size), Sym(8));
      else
        return elements * size / 8; // of whole vectors
    };
    std::vector<std::vector<int>> coordinate;
    std::vector<Sym> first;
    for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis) {
      coordinate.push_back(thread_coordinates(i.access.threads, axis));
      first.push_back(i.access.origin[axis] + Sym(i.access.elements[0][axis]));
      const std::int64_t offset = first[axis].constant()->value();
      for (int& c : coordinate.back()) c += static_cast<int>(offset);
    }
    std::vector<std::int64_t> wanted;
    std::vector<std::int64_t> c(first.size());
    for (int th = 0; th < p_.threads(); ++th) {
      for (std::size_t axis = 0; axis < c.size(); ++axis)
        c[axis] = coordinate[axis][static_cast<std::size_t>(th)];
      wanted.push_back(in_bytes(t.at(c)));
    }
    for (const Base& b : bases_) {
      if (b.tensor != t.id || wanted[0] < b.bytes[0]) continue;
      bool constant = true;
      for (std::size_t th = 0; th < wanted.size() && constant; ++th)
        constant = wanted[th] - b.bytes[th] == wanted[0] - b.bytes[0];
      if (constant) return {b.value, static_cast<int>(wanted[0] - b.bytes[0])};
    }
    Tensor plain = t;
    const Swizzle swizzle = *t.place.swizzle();
    plain.place = SymComposedLayout(Swizzle(), t.place.offset(), t.place.inner());
    std::vector<Sym> formula;
    for (std::size_t axis = 0; axis < first.size(); ++axis)
      formula.push_back(coordinates_(i.access.threads, axis) + first[axis]);
    Sym address = in_bytes(plain.at(formula));
    if (!swizzle.is_identity()) {
      const auto mask = in_bytes(static_cast<std::int64_t>(swizzle.source_mask()));
      const Sym moved = bit_and(address, Sym(mask));
      address = bit_xor(address, swizzle.shift() >= 0 ? shift_right(moved, Sym(swizzle.shift()))
                                                      : shift_left(moved, Sym(-swizzle.shift())));
    }
    // The formula against the layout, at every work-item: what is emitted is what was proven about.
    const Sym item = work_item(p_);
    for (std::size_t th = 0; th < wanted.size(); ++th) {
      Assignment at;
      at.set(item, Int(static_cast<std::int64_t>(th)));
      const std::int64_t emitted = evaluate(address, at).value();
      INLAY_CHECK(emitted == wanted[th], "LDS address of work-item " + std::to_string(th) + " in " + t.name +
                                             ": " + std::to_string(emitted) + ", the layout says " +
                                             std::to_string(wanted[th]));
    }
    bases_.push_back({t.id, k.lower_low(address), std::move(wanted)});
    return {bases_.back().value, 0};
  }

  // ------------------------------------------------------------------------------------------------- instructions

  RegKey key(const Reg& r) const {
    return {r.id, code_.registers[static_cast<std::size_t>(r.id)].outside ? 0 : r.ahead};
  }
  Value whole(const Reg& r) {
    const auto found = env_.find(key(r));
    if (found == env_.end())
      throw CodegenError("a register is read before it is written",
                         "v" + std::to_string(r.id) + " of iteration " + std::to_string(r.ahead));
    return found->second;
  }
  Value use(const Reg& r) { return k.slice(whole(r), r.first, r.count); }
  // A result of a block in AGPRs stays there until here: read all at once, 256 would leave no register for anything else.
  Value stay(const Reg& r) {
    if (!in_agprs_.contains(r.id)) return use(r);
    const Value v = whole(r);
    return k.slice(k.assembly("", "=a,0", std::span(&v, 1), std::span(&v.type, 1))[0], r.first, r.count);
  }

  Value to_f32(Value v) { return v.type.element == Element::f32 ? v : k.convert(v, Element::f32); }

  // Regions begin .. end, which have `depth` guards in common; runs of them under the next guard are a branch.
  void regions(std::size_t begin, std::size_t end, std::size_t depth) {
    const auto guards = [&](std::size_t n) -> const std::vector<Guard>& { return code_.regions[n].guards; };
    for (std::size_t n = begin; n < end;) {
      if (guards(n).size() == depth) {
        const CodeRegion& r = code_.regions[n++];
        r.is_loop ? loop(r) : straight(r.body);
        continue;
      }
      std::size_t until = n;
      while (until < end && guards(until).size() > depth && guards(until)[depth] == guards(n)[depth]) ++until;
      branch(n, until, depth);
      n = until;
    }
  }
  void branch(std::size_t begin, std::size_t end, std::size_t depth) {
    const Guard& g = code_.regions[begin].guards[depth];
    k.locate(code_.regions[begin].is_loop || code_.regions[begin].body.empty()
                 ? p_.where()
                 : code_.regions[begin].body[0].where);
    const Value taken =
        g.holds ? k.less(g.condition.a, g.condition.b) : k.at_most(g.condition.b, g.condition.a);
    // Registers that the branch writes and that have a value before it: what the join chooses between.
    std::vector<RegKey> written;
    KernelBuilder::Values otherwise;
    for (std::size_t n = begin; n < end; ++n)
      for (const auto* list :
           {&code_.regions[n].prologue, &code_.regions[n].body, &code_.regions[n].epilogue})
        for (const Inst& i : *list)
          if (i.def.id >= 0 && outside(i.def.id) && env_.contains(key(i.def)) &&
              std::find(written.begin(), written.end(), key(i.def)) == written.end()) {
            written.push_back(key(i.def));
            otherwise.push_back(env_.at(key(i.def)));
          }
    under(taken, written, &otherwise, [&] { regions(begin, end, depth + 1); });
  }
  // `body` where the condition holds. What is made inside is known inside alone, but for the registers `written`; where it does not
  // hold these are `otherwise`, or nobody reads them.
  void under(Value condition, const std::vector<RegKey>& written, const KernelBuilder::Values* otherwise,
             const std::function<void()>& body) {
    const Env before = env_;
    const auto saved =
        std::tuple(descriptors_, memory_, lds_at_, bases_, bound_rows_, uniform_, in_agprs_, zeroed_);
    const auto then = [&] {
      body();
      KernelBuilder::Values out;
      for (const RegKey& w : written) out.push_back(env_.at(w));
      return out;
    };
    const KernelBuilder::Values joined =
        otherwise ? k.if_values(condition, *otherwise, then) : k.if_values(condition, then);
    env_ = before;
    std::tie(descriptors_, memory_, lds_at_, bases_, bound_rows_, uniform_, in_agprs_, zeroed_) = saved;
    for (std::size_t n = 0; n < written.size(); ++n) {
      env_[written[n]] = joined[n];
      zeroed_.erase(written[n].first);
    }
  }

  static bool has_roles(std::span<const Inst> list) {
    return std::any_of(list.begin(), list.end(), [](const Inst& i) { return !i.waves.all(); });
  }
  // f of runs of neighbours that the same waves run; those of a role under the condition that the wave is one of its.
  void by_roles(std::span<const Inst> list, const std::function<void(std::span<const Inst>)>& f) {
    const auto nothing = [&](const Inst& i) { return i.kind == InstKind::wait && !exact_; };
    for (std::size_t n = 0; n < list.size();) {
      if (nothing(list[n])) {
        ++n;
        continue;
      }
      std::size_t end = n + 1;
      while (end < list.size() && (nothing(list[end]) || list[end].waves == list[n].waves)) ++end;
      const auto part = list.subspan(n, end - n);
      list[n].waves.all() ? f(part) : role(part, f);
      n = end;
    }
  }
  void role(std::span<const Inst> list, const std::function<void(std::span<const Inst>)>& f) {
    k.locate(list[0].where);
    const Waves& waves = list[0].waves;
    const Value mine = k.compare(Compare::ult, k.sub(wave_, number(waves.first)), number(waves.count));
    std::vector<RegKey> written;
    for (const Inst& i : list)
      if (i.def.id >= 0 && !i.direct &&
          std::find(written.begin(), written.end(), key(i.def)) == written.end())
        written.push_back(key(i.def));
    under(mine, written, nullptr, [&] { f(list); });
  }
  void straight(const std::vector<Inst>& list) {
    by_roles(list, [&](std::span<const Inst> part) { versions(part); });
  }

  // Neighbours under one condition are one branch.
  void versions(std::span<const Inst> list) {
    std::vector<Value> loaded;
    for (std::size_t n = 0; n < list.size();) {
      if (!list[n].when) {
        const Inst& i = list[n++];
        one(i, 0, 1);
        if (i.kind != InstKind::load || i.direct) continue;
        // Bytes that are no words no register of LLVM's takes by themselves; they may sink.
        const Value held = handed_on(whole(i.def));
        if (bits(held.type.element) > 8) loaded.push_back(held);
        continue;
      }
      // A load stays before the branch: LLVM would sink it to its use after.
      if (!loaded.empty()) {
        std::string takes = "v";
        for (std::size_t l = 1; l < loaded.size(); ++l) takes += ",v";
        (void)k.assembly("", takes, loaded, {});
        loaded.clear();
      }
      const When when = *list[n].when;
      When other = when;
      other.divides = !when.divides;
      const auto run = [&](const When& wanted) {
        for (; n < list.size() && list[n].when == wanted; ++n) one(list[n], 0, 1);
      };
      // What both versions store is rounded once, before the branch.
      for (std::size_t m = n; m < list.size() && list[m].when == when; ++m) {
        const Reg& r = list[m].uses[0];
        const Element to = p_.tensor(list[m].access.tensor).element;
        if (reg_element(r) == to) continue;
        k.locate(list[m].where);
        rounded_[{r.id, r.first}] = k.convert(to_f32(stay(r)), to);
      }
      const Value rest = k.lower(floor_mod(when.size, Sym(when.modulus)));
      k.if_else(
          k.compare(when.divides ? Compare::eq : Compare::ne, rest, number(0)), [&] { run(when); },
          [&] { run(other); });
      rounded_.clear();
    }
  }

  // The offset of stage (residue + slot) % ring of a tensor, whose stages lie in one block.
  Value stage_at_run_time(int tensor, int slot, int ring) {
    Value offset = number(lds_.at({tensor, slot}).second);
    for (int q = 1; q < ring; ++q)
      offset = k.select(k.compare(Compare::eq, residue_, number(q)),
                        number(lds_.at({tensor, (q + slot) % ring}).second), offset);
    return offset;
  }
  void one(const Inst& i, int trip, int ring) {
    k.locate(i.where);
    switch (i.kind) {
    case InstKind::fill: {
      const Type type{reg_element(i.def), i.def.count};
      env_[key(i.def)] = i.value == 0 ? k.zero(type) : k.float_constant(i.value, type);
      if (i.value == 0) zeroed_.insert(i.def.id);
      break;
    }
    case InstKind::load: {
      if (i.direct) {
        transfer_ = &i; // the write after it is the other half
        break;
      }
      const Tensor& t = p_.tensor(i.access.tensor);
      if (!moves_rows(i) && !memory_.contains(&i)) prepare(i);
      Memory m = moves_rows(i) ? memory(i) : memory_.at(&i);
      // What LLVM sees to be the same in all lanes it moves to a scalar at once, and waits for it, and for all loads before it.
      if (rows_ahead_.contains(i.def.id) && i.ahead > 0 && m.pointer.id < 0)
        m.offset = k.add(m.offset, each_lanes_zero());
      env_[key(i.def)] = m.pointer.id >= 0
                             ? far_load(m, {t.element, i.def.count})
                             : k.buffer_load(m.descriptor, offset_of(m), {t.element, i.def.count}, extra(m));
      break;
    }
    case InstKind::store: {
      const Memory m = memory(i);
      const Tensor& t = p_.tensor(i.access.tensor);
      const Value v = to_store(i.uses[0], t.element);
      if (i.combine) {
        k.buffer_add(v, m.descriptor, offset_of(m), extra(m));
      } else {
        k.buffer_store(v, m.descriptor, offset_of(m), extra(m));
      }
      break;
    }
    case InstKind::lds_read:
    case InstKind::lds_write: {
      const Lds& at = lds_at_.at(&i);
      const Tensor& t = p_.tensor(i.access.tensor);
      // trip -1: the number is known at run time only. Tensors of one stage lie in block 0 in any case.
      const bool rings = lds_.contains({t.id, ring - 1}) && ring > 1;
      const bool at_run_time = trip < 0 && rings;
      const int slot = ((((trip < 0 ? 0 : trip) + i.access.slot) % ring) + ring) % ring;
      // Where all stages lie in one block it is the offset in it that is known at run time only.
      const bool in_one = at_run_time && chosen_.empty();
      const auto [block, place] = lds_.at({t.id, rings ? slot : 0});
      const int offset = in_one ? 0 : place;
      const Value base = in_one ? k.add(at.base, stage_at_run_time(t.id, slot, ring)) : at.base;
      const LdsBlock b = at_run_time && !in_one ? chosen_[static_cast<std::size_t>(slot)]
                                                : blocks_[static_cast<std::size_t>(block)];
      if (i.kind == InstKind::lds_read) {
        env_[key(i.def)] = k.lds_load(b, base, at.immediate + offset, {t.element, i.def.count});
      } else if (i.direct) {
        INLAY_CHECK(transfer_ && transfer_->def == i.uses[0], "both halves of a transfer");
        const Memory m = moves_rows(*transfer_) ? memory(*transfer_) : memory_.at(transfer_);
        k.buffer_load_to_lds(m.descriptor, offset_of(m), i.uses[0].count * bits(t.element) / 8, b,
                             k.add(uniform(base), number(at.immediate + offset - m.immediate)), extra(m));
        transfer_ = nullptr;
      } else {
        const Value v = use(i.uses[0]);
        const auto write = [&] { k.lds_store(v, b, base, at.immediate + offset); };
        if (!i.access.idle) {
          write();
        } else {
          k.if_then(k.compare(Compare::eq, idle(i), number(0)), write);
        }
      }
      break;
    }
    case InstKind::mma:
      zeroed_.erase(i.def.id);
      env_[key(i.def)] =
          i.atom->mma->scaled  ? scaled_product(i)
          : i.uses.size() == 2 ? k.mfma(i.atom->emission.name, use(i.uses[0]), use(i.uses[1]), whole(i.def))
          : i.atom->name.find("f8f6f4") == std::string::npos // two steps of a narrower read
              ? k.mfma(i.atom->emission.name, k.pack(std::array{use(i.uses[0]), use(i.uses[1])}),
                       k.pack(std::array{use(i.uses[2]), use(i.uses[3])}), whole(i.def))
              : k.mfma_f8f6f4(i.atom->emission.name, operand(i, 0), operand(i, 1), whole(i.def),
                              format_of(*i.atom, "cbsz:"), format_of(*i.atom, "blgp:"));
      break;
    case InstKind::map: env_[key(i.def)] = map(i); break;
    case InstKind::fold_values: env_[key(i.def)] = fold(i); break;
    case InstKind::fold_lanes: {
      const Value v = to_f32(use(i.uses[0]));
      env_[key(i.def)] = combine(i.monoid, v, k.lane_xor(v, i.lane_mask));
      break;
    }
    case InstKind::exchange_lanes: {
      const Value a = stay(i.uses[0]), b = stay(i.uses[1]);
      const auto [low, high] =
          k.lane_exchange(k.bitcast(a, Type::i32()), k.bitcast(b, Type::i32()), i.lane_mask);
      env_[key(i.def)] = k.pack(std::array{k.bitcast(low, a.type), k.bitcast(high, b.type)});
      break;
    }
    case InstKind::wait:
      if (exact_) k.wait(i.vm, i.lgkm); // otherwise LLVM's
      break;
    case InstKind::barrier: k.barrier(); break;
    case InstKind::priority: k.set_priority(static_cast<int>(i.value)); break;
    case InstKind::check: {
      const Value all = gathered(i.uses, [](Value v) { return v; });
      Value least = k.extract(all, 0);
      for (int e = 1; e < all.type.lanes; ++e) least = k.umin(least, k.extract(all, e));
      k.if_then(k.compare(Compare::eq, least, number(0)), [&] { (void)k.assembly("s_trap 2", "", {}, {}); });
      break;
    }
    case InstKind::release: k.release(i.system); break;
    case InstKind::meet: meet(i); break;
    case InstKind::ticket: env_[key(i.def)] = draw(i); break;
    case InstKind::await: wait_for_turn(i); break;
    case InstKind::signal: pass_turn(i); break;
    case InstKind::acquire:
      if (i.turn < 0 && !i.system) k.bind(ticket_of(i).symbol, k.readfirstlane(use(i.uses[0])));
      k.acquire(i.system);
      break;
    }
  }

  const Ticket& ticket_of(const Inst& i) const { return p_.tickets()[static_cast<std::size_t>(i.ticket)]; }
  Value draw(const Inst& i) {
    const Value last = k.lower(p_.count(ticket_of(i).axis) - Sym(1));
    return k.if_values(k.compare(Compare::eq, idle(i), number(0)), {number(0)},
                       [&] { return KernelBuilder::Values{k.count_on(counter(i), last)}; })[0];
  }
  Value counter(const Inst& i) {
    const Tensor& t = p_.tensor(i.access.tensor);
    return k.pointer_add(pointers_.at(t.id), wide(bytes(t, t.at(i.access.origin))));
  }
  Sym turn_of(const Inst& i) const {
    return p_.axis(p_.turns()[static_cast<std::size_t>(i.turn)].axis).symbol;
  }
  void wait_for_turn(const Inst& i) {
    const Value mine = k.lower(turn_of(i));
    k.if_then(k.compare(Compare::eq, idle(i), number(0)), [&] { k.await(counter(i), mine); });
  }
  void pass_turn(const Inst& i) {
    const Sym count = p_.count(p_.turns()[static_cast<std::size_t>(i.turn)].axis);
    const Value next = k.lower(turn_of(i) + Sym(1));
    k.if_then(k.compare(Compare::eq, idle(i), number(0)), [&] {
      k.atomic_store(counter(i), k.select(k.compare(Compare::eq, next, k.lower(count)), number(0), next));
    });
  }

  // What this workgroup sets on each device lies at the same place there, its number along the last axis its own; what it waits for lies
  // here, that number the other's.
  void meet(const Inst& i) {
    const Devices& d = p_.together();
    const Tensor& t = p_.tensor(d.flags[0]);
    const Value item = k.work_item_id(), rank = k.lower(d.rank);
    k.if_then(k.compare(Compare::ult, item, number(d.count)), [&] {
      const auto of = [&](Value device) {
        Value at = pointers_.at(d.flags[0]);
        for (int n = 1; n < d.count; ++n)
          at = k.select(k.compare(Compare::eq, device, number(n)),
                        pointers_.at(d.flags[static_cast<std::size_t>(n)]), at);
        return at;
      };
      const Value own = wide(bytes(t, t.at(i.access.origin)));
      std::vector<Sym> first = i.access.origin;
      first.back() = Sym(0);
      const Value here = k.pointer_add(of(rank), wide(bytes(t, t.at(first))));
      k.meet(k.pointer_add(of(rank), own), k.pointer_add(of(item), own),
             k.pointer_add(here, k.zext64(k.mul(item, number(4)))));
    });
  }

  Value to_store(const Reg& r, Element element) {
    for (const auto& [from, v] : rounded_)
      if (from.first == r.id && from.second <= r.first && r.first + r.count <= from.second + v.type.lanes &&
          v.type.element == element)
        return k.slice(v, r.first - from.second, r.count);
    const Value v = stay(r);
    return v.type.element == element ? v : k.convert(to_f32(v), element);
  }
  // An operand of a product from its halves, as dwords.
  Value operand(const Inst& i, std::size_t which) {
    std::vector<Value> halves;
    for (const std::size_t h : {2 * which, 2 * which + 1}) {
      const Value v = use(i.uses[h]);
      halves.push_back(k.bitcast(v, Type::i32(v.type.bytes() / 4)));
    }
    return k.pack(halves);
  }
  Value scaled_product(const Inst& i) {
    const auto scale = [&](const Reg& r) {
      return KernelBuilder::Scale{k.bitcast(k.slice(whole(r), r.first / 4 * 4, 4), Type::i32()), r.first % 4};
    };
    return k.mfma_scaled(i.atom->emission.name, use(i.uses[0]), use(i.uses[1]), whole(i.def),
                         scale(i.uses[2]), scale(i.uses[3]), format_of(*i.atom, "cbsz:"),
                         format_of(*i.atom, "blgp:"));
  }
  // A modifier of the mnemonic: the format of an operand.
  static int format_of(const Atom& atom, const std::string& modifier) {
    const std::size_t at = atom.name.find(modifier);
    return at == std::string::npos ? 0 : atom.name[at + modifier.size()] - '0';
  }

  // The value of lane 0 for the whole wave.
  Value uniform(Value v) {
    auto [at, fresh] = uniform_.try_emplace(v.id);
    if (fresh) at->second = k.readfirstlane(v);
    return at->second;
  }
  Element reg_element(const Reg& r) const { return code_.registers[static_cast<std::size_t>(r.id)].element; }

  BufferOffset extra(const Memory& m) {
    BufferOffset e;
    e.immediate = m.immediate;
    if (!(m.step == Sym(0))) e.scalar = k.lower_low(m.step);
    return e;
  }

  Value combine(Monoid m, Value a, Value b) {
    switch (m) {
    case Monoid::sum: return k.fadd(a, b);
    case Monoid::max: return k.fmax(a, b);
    case Monoid::min: return k.fmin(a, b);
    }
    throw InternalError("unknown monoid");
  }

  // count single elements as one vector; a register used as a whole stays one value.
  Value gather(std::span<const Reg> uses) {
    return gathered(uses, [&](Value v) { return to_f32(v); });
  }
  Value gathered(std::span<const Reg> uses, const std::function<Value(Value)>& as) {
    const int n = static_cast<int>(uses.size());
    bool whole_register = code_.registers[static_cast<std::size_t>(uses[0].id)].count == n;
    bool splat = true;
    for (int e = 0; e < n; ++e) {
      const Reg& r = uses[static_cast<std::size_t>(e)];
      whole_register = whole_register && r.id == uses[0].id && r.ahead == uses[0].ahead && r.first == e;
      splat = splat && r == uses[0];
    }
    if (whole_register) return as(stay({uses[0].id, uses[0].ahead, 0, n}));
    std::vector<Value> parts;
    if (splat) {
      parts.assign(static_cast<std::size_t>(n), as(use(uses[0])));
    } else {
      for (const Value& v : elements(uses)) parts.push_back(as(v));
    }
    return n == 1 ? parts[0] : k.pack(parts);
  }
  // One value each; what a block has left in AGPRs is read here, each register once.
  std::vector<Value> elements(std::span<const Reg> uses) {
    std::vector<Value> parts;
    std::map<RegKey, Value> out_of_agprs;
    for (const Reg& r : uses) {
      if (!in_agprs_.contains(r.id)) {
        parts.push_back(use(r));
        continue;
      }
      auto [at, fresh] = out_of_agprs.try_emplace(key(r));
      if (fresh) at->second = stay({r.id, r.ahead, 0, code_.registers[static_cast<std::size_t>(r.id)].count});
      parts.push_back(k.slice(at->second, r.first, r.count));
    }
    return parts;
  }

  Value each(Value v, const std::function<Value(Value)>& f) {
    if (v.type.lanes == 1) return f(v);
    std::vector<Value> out;
    for (int e = 0; e < v.type.lanes; ++e) out.push_back(f(k.extract(v, e)));
    return k.pack(out);
  }

  Value map(const Inst& i) {
    if (renames(i, code_.registers)) return k.pack(elements(i.uses));
    const int n = i.def.count;
    const Element to = reg_element(i.def);
    if (const Element from = reg_element(i.uses[0]); chooses(i, from))
      return widened(chosen(i, i.map, k.pack(elements(i.uses))), to);
    const bool by_addition = rounds_by_addition(i, code_.registers, p_.target(), shares_scales(i.op));
    // In an order of ours each by itself, where that costs no more: what stands between two matrix instructions is that much.
    const bool shortened = by_addition && i.nan == Nan::kept;
    const int few = exact_ && shortened ? 1 : n;
    std::vector<Value> operands, words;
    for (std::size_t at = 0; at < i.uses.size(); at += static_cast<std::size_t>(n)) {
      const auto uses = std::span(i.uses).subspan(at, static_cast<std::size_t>(n));
      Value v = gather(uses);
      if (shortened && nan_is_long(reg_element(uses[0]))) {
        const bool one = std::all_of(uses.begin(), uses.end(), [&](const Reg& r) { return r == uses[0]; });
        std::vector<Value> each;
        for (int e = 0; e < n; ++e) each.push_back(one && e > 0 ? each[0] : k.short_nan(k.extract(v, e)));
        v = k.pack(each);
      }
      operands.push_back(v);
      const bool integers = reg_element(uses[0]) == Element::i32 && takes_words(i.map);
      words.push_back(integers ? gathered(uses, [](Value word) { return word; }) : v);
    }
    // An integer stays one.
    const bool integer = to == Element::i32 && i.map.node().fn == Fn::to_number;
    const Expr what = integer ? Expr{i.map.arena, i.map.node().args[0]} : i.map;
    std::vector<Value> parts;
    for (int first = 0; first < n; first += few) {
      Inst part = i;
      part.def.count = few; // one of them has no places: sums and products of operands alone
      std::vector<Value> some;
      for (const auto* all : {&operands, &words}) // as numbers, then as integers
        for (const Value& o : *all) some.push_back(k.slice(o, first, part.def.count));
      std::map<int, Value> done;
      const Value v = value(part, what, some, done);
      parts.push_back(v.type.element == to ? v : k.convert(v, to, by_addition ? Nan::any : i.nan));
    }
    return k.pack(parts);
  }

  // Whether a map leaves elements of 8 or 16 bits as they are, or makes them 0, in a type that has all of them: codes are enough.
  bool chooses(const Inst& i, Element from) {
    const Element to = reg_element(i.def);
    if (i.def.count % 8 != 0) return false; // short vectors stay as they are: LLVM makes as little of them
    if (codegen::is_integer(from) || bits(from) > 16 || bits(from) < 8 ||
        static_cast<int>(i.uses.size()) != i.def.count)
      return false;
    if (from != to && !(bits(from) == 8 && to == Element::bf16 && i.def.count % 2 == 0)) return false;
    Expr e = i.map;
    while (e.node().fn == Fn::inside && e.node().value == 0 && !std::signbit(e.node().value))
      e = {e.arena, e.node().args[0]};
    return e.node().fn == Fn::parameter &&
           std::all_of(i.uses.begin(), i.uses.end(), [&](const Reg& r) { return reg_element(r) == from; });
  }
  // 8 bits as bf16: the upper half of f32 has all of their digits.
  Value widened(Value v, Element to) {
    if (v.type.element == to) return v;
    const Value words = k.bitcast(k.convert(v, Element::f32), Type::i32(v.type.lanes));
    std::vector<Value> pairs;
    for (int e = 0; e < v.type.lanes; e += 2)
      pairs.push_back(k.bit_or(k.lshr(k.extract(words, e), k.constant(16)),
                               k.bit_and(k.extract(words, e + 1), k.constant(0xffff0000LL))));
    return k.bitcast(k.pack(pairs), Type{to, v.type.lanes});
  }
  Value chosen(const Inst& i, Expr e, Value v) {
    const ExprNode& n = e.node();
    if (n.fn == Fn::parameter) return v;
    const Value of = chosen(i, {e.arena, n.args[0]}, v);
    const auto at = positions(i, n.index[0], n.index[1]);
    if (std::all_of(at.begin(), at.end(), [&](const auto& x) { return x == at[0]; }))
      return k.select(k.less(at[0].first, at[0].second), of, k.zero(of.type));
    std::vector<Value> out;
    for (int b = 0; b < of.type.lanes; ++b) {
      const auto& [index, bound] = at[static_cast<std::size_t>(b)];
      out.push_back(k.select(k.less(index, bound), k.extract(of, b), k.zero({of.type.element, 1})));
    }
    return k.pack(out);
  }

  static bool takes_words(Expr map) {
    bool found = false;
    (void)map.arena->rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
      found = found || n.fn == Fn::word;
      return std::nullopt;
    });
    return found;
  }

  // Whether the maps of an operation have few numbers whose NaN may be long, beside their results: scales of rows and columns.
  bool shares_scales(int op) {
    auto [at, fresh] = shares_scales_.try_emplace(op, false);
    if (!fresh) return at->second;
    std::set<std::pair<int, int>> numbers;
    std::size_t results = 0;
    for (const CodeRegion& r : code_.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (const Inst& i : *list) {
          if (i.op != op || i.kind != InstKind::map || r.is_loop) continue;
          results += static_cast<std::size_t>(i.def.count);
          for (const Reg& u : i.uses)
            if (nan_is_long(reg_element(u))) numbers.emplace(u.id, u.first);
        }
    return at->second = 2 * numbers.size() <= results;
  }

  Value value(const Inst& i, Expr e, const std::vector<Value>& operands, std::map<int, Value>& done) {
    if (const auto found = done.find(e.id); found != done.end()) return found->second;
    const ExprNode& n = e.node();
    const Type type = Type{Element::f32, i.def.count};
    const auto arg = [&](std::size_t a) { return value(i, {e.arena, n.args[a]}, operands, done); };
    Value out;
    switch (n.fn) {
    case Fn::constant: out = k.float_constant(n.value, type); break;
    case Fn::parameter: out = operands[static_cast<std::size_t>(n.tensor)]; break;
    case Fn::number: {
      std::vector<Value> each;
      for (const auto& [index, bound] : positions(i, n.sym, Sym(0))) each.push_back(k.to_float(index));
      out = type.lanes == 1 ? each[0] : k.pack(each);
      break;
    }
    case Fn::add: {
      // A product and a sum are one instruction.
      const auto product = [&](std::size_t a) { return Expr{e.arena, n.args[a]}.node().fn == Fn::mul; };
      if (!product(0) && !product(1)) {
        out = k.fadd(arg(0), arg(1));
        break;
      }
      const std::size_t which = product(1) ? 1 : 0;
      const ExprNode& m = Expr{e.arena, n.args[which]}.node();
      const Value a = value(i, {e.arena, m.args[0]}, operands, done),
                  b = value(i, {e.arena, m.args[1]}, operands, done);
      out = k.fma(a, b, arg(1 - which));
      break;
    }
    case Fn::sub: out = k.fsub(arg(0), arg(1)); break;
    case Fn::mul: out = k.fmul(arg(0), arg(1)); break;
    case Fn::div: out = k.fmul(arg(0), each(arg(1), [&](Value x) { return k.rcp(x); })); break;
    case Fn::power:
      if (n.value == -1) {
        out = each(arg(0), [&](Value x) { return k.rcp(x); });
      } else if (n.value == -0.5) {
        out = each(arg(0), [&](Value x) { return k.rsqrt(x); });
      } else if (n.value == 0.5) {
        out = each(arg(0), [&](Value x) { return k.sqrt(x); });
      } else {
        throw CodegenError("map: no instruction raises to the power " + std::to_string(n.value));
      }
      break;
    case Fn::exp: {
      const Value scaled = k.fmul(arg(0), k.float_constant(log2_e, type));
      out = each(scaled, [&](Value x) { return k.exp2(x); });
      break;
    }
    case Fn::exp2: out = each(arg(0), [&](Value x) { return k.exp2(x); }); break;
    case Fn::log:
      out = k.fmul(each(arg(0), [&](Value x) { return k.log2(x); }), k.float_constant(ln_2, type));
      break;
    case Fn::log2: out = each(arg(0), [&](Value x) { return k.log2(x); }); break;
    case Fn::max: out = k.fmax(arg(0), arg(1)); break;
    case Fn::min: out = k.fmin(arg(0), arg(1)); break;
    case Fn::inside: out = inside(i, n, arg(0)); break;
    case Fn::select: out = k.at_least(arg(0), arg(1), arg(2), arg(3)); break;
    case Fn::nearest: out = k.round_even(arg(0)); break;
    case Fn::to_number: out = k.convert(arg(0), Element::f32); break;
    case Fn::to_number_unsigned: out = k.unsigned_to_float(arg(0)); break;
    case Fn::from_bits: out = k.bitcast(arg(0), type); break;
    case Fn::choose: out = k.choose(arg(0), arg(1), arg(2)); break;
    case Fn::integer: out = k.constant(static_cast<std::int64_t>(n.value), Type::i32(type.lanes)); break;
    case Fn::word: out = word(i, {e.arena, n.args[0]}, operands); break;
    case Fn::truncated: out = k.truncate(arg(0)); break;
    case Fn::float_bits: out = k.bitcast(arg(0), Type::i32(type.lanes)); break;
    case Fn::word_add: out = joined(n, arg, [&](Value a, Value b) { return k.add(a, b); }); break;
    case Fn::word_sub: out = k.sub(arg(0), arg(1)); break;
    case Fn::word_mul: out = joined(n, arg, [&](Value a, Value b) { return k.mul(a, b); }); break;
    case Fn::word_mul_hi: out = k.umul_high(arg(0), arg(1)); break;
    case Fn::word_and: out = joined(n, arg, [&](Value a, Value b) { return k.bit_and(a, b); }); break;
    case Fn::word_or: out = joined(n, arg, [&](Value a, Value b) { return k.bit_or(a, b); }); break;
    case Fn::word_xor: out = joined(n, arg, [&](Value a, Value b) { return k.bit_xor(a, b); }); break;
    case Fn::word_shl: out = k.shl(arg(0), shift(arg(1))); break;
    case Fn::word_shr: out = k.lshr(arg(0), shift(arg(1))); break;
    case Fn::word_sar: out = k.ashr(arg(0), shift(arg(1))); break;
    case Fn::popcount: out = k.popcount(arg(0)); break;
    case Fn::word_less: out = k.flag(k.compare(Compare::ult, arg(0), arg(1))); break;
    case Fn::word_less_signed: out = k.flag(k.compare(Compare::slt, arg(0), arg(1))); break;
    case Fn::word_equal: out = k.flag(k.compare(Compare::eq, arg(0), arg(1))); break;
    case Fn::load:
    case Fn::fold: throw CodegenError("map: loads and folds are operations of their own");
    }
    done.emplace(e.id, out);
    return out;
  }

  Value joined(const ExprNode& n, const std::function<Value(std::size_t)>& arg,
               const std::function<Value(Value, Value)>& join) {
    Value out = arg(0);
    for (std::size_t a = 1; a < n.args.size(); ++a) out = join(out, arg(a));
    return out;
  }
  Value shift(Value by) { return k.bit_and(by, k.constant(31, by.type)); }

  // A whole number modulo 2^32: an operand as it is in its register, or an index.
  Value word(const Inst& i, Expr e, const std::vector<Value>& operands) {
    const ExprNode& n = e.node();
    const Type type = Type::i32(i.def.count);
    if (n.fn == Fn::parameter) {
      const Value v = operands[operands.size() / 2 + static_cast<std::size_t>(n.tensor)];
      return v.type.element == Element::i32 ? v : k.truncate(v);
    }
    if (n.fn == Fn::constant) { // an index that is one
      const double modulus = 4294967296.0, v = n.value - modulus * std::floor(n.value / modulus);
      return k.constant(static_cast<std::int64_t>(v), type);
    }
    std::vector<Value> each;
    for (const auto& [index, bound] : positions(i, n.sym, Sym(0))) each.push_back(k.lower_low(index));
    return type.lanes == 1 ? each[0] : k.pack(each);
  }

  // Two formulas in an element's coordinate, for each element of the result.
  std::vector<std::pair<Sym, Sym>> positions(const Inst& i, Sym a, Sym b) {
    std::vector<std::pair<Sym, Sym>> out;
    for (int e = 0; e < i.def.count; ++e) {
      std::vector<std::pair<AtomId, Sym>> at;
      for (std::size_t axis = 0; !i.position.empty() && axis < i.position[static_cast<std::size_t>(e)].size();
           ++axis)
        at.emplace_back(*p_.symbols()
                             .symbol(Program::position_name(static_cast<int>(axis)), {Int(0), std::nullopt})
                             .as_atom(),
                        coordinates_(i.access.threads, axis) +
                            Sym(i.position[static_cast<std::size_t>(e)][axis]));
      out.emplace_back(substitute(a, at), substitute(b, at));
    }
    return out;
  }

  // One comparison for the whole vector where bound and position are multiples of its length.
  Value inside(const Inst& i, const ExprNode& n, Value v) {
    const auto at = positions(i, n.index[0], n.index[1]);
    const auto position = [&](std::size_t element) { return at[element]; };
    const auto holds = [&](std::size_t element) {
      const auto [index, bound] = position(element);
      return k.less(index, bound);
    };
    const Value beyond = k.float_constant(n.value, v.type);
    if (whole_vector(n.index[1], v.type.lanes) &&
        divides(Sym(v.type.lanes), position(0).first) == Truth::yes) {
      bool run = position(0).second == n.index[1];
      for (std::size_t e = 1; e < i.position.size(); ++e)
        run =
            run && eq(position(e).first - position(0).first, Sym(static_cast<std::int64_t>(e))) == Truth::yes;
      if (run) return k.select(holds(0), v, beyond);
    }
    // All comparisons first: a selection right after its own has to wait for it.
    std::vector<Value> held, out;
    for (int e = 0; e < v.type.lanes; ++e) held.push_back(holds(static_cast<std::size_t>(e)));
    for (int e = 0; e < v.type.lanes; ++e)
      out.push_back(k.select(held[static_cast<std::size_t>(e)], k.extract(v, e), k.float_constant(n.value)));
    return v.type.lanes == 1 ? out[0] : k.pack(out);
  }
  bool whole_vector(Sym bound, int lanes) const {
    for (const Size& s : p_.sizes())
      if (s.symbol == bound) return s.facts.multiple % lanes == 0;
    return divides(Sym(lanes), bound) == Truth::yes;
  }

  Value fold(const Inst& i) {
    // Whole registers are joined as vectors first, then halves, then what is left one by one.
    std::vector<Value> vectors, singles;
    for (std::size_t at = 0; at < i.uses.size();) {
      const Reg& r = i.uses[at];
      const int count = code_.registers[static_cast<std::size_t>(r.id)].count;
      bool all = r.first == 0 && at + static_cast<std::size_t>(count) <= i.uses.size();
      for (int e = 0; e < count && all; ++e) {
        const Reg& x = i.uses[at + static_cast<std::size_t>(e)];
        all = x.id == r.id && x.ahead == r.ahead && x.first == e;
      }
      if (all && count > 1) {
        vectors.push_back(to_f32(whole(r)));
        at += static_cast<std::size_t>(count);
      } else {
        singles.push_back(to_f32(use(r)));
        ++at;
      }
    }
    std::vector<Value> joined;
    for (const Value& v : vectors) {
      bool found = false;
      for (Value& j : joined)
        if (j.type == v.type && !found) j = combine(i.monoid, j, v), found = true;
      if (!found) joined.push_back(v);
    }
    for (Value j : joined) {
      while (j.type.lanes > 1 && j.type.lanes % 2 == 0) {
        const int half = j.type.lanes / 2;
        j = combine(i.monoid, k.slice(j, 0, half), k.slice(j, half, half));
      }
      for (int e = 0; e < j.type.lanes; ++e) singles.push_back(k.extract(j, e));
    }
    Value out = singles[0];
    for (std::size_t s = 1; s < singles.size(); ++s) out = combine(i.monoid, out, singles[s]);
    return out;
  }

  // -------------------------------------------------------------------------------------------------------- loops

  bool outside(int id) const { return code_.registers[static_cast<std::size_t>(id)].outside; }

  // The registers that a trip must find: used before written, here, in later trips or after the loop.
  std::vector<RegKey> carried(const CodeRegion& r) const {
    std::set<RegKey> need, defined;
    const auto scan = [&](const std::vector<Inst>& list) {
      std::set<RegKey> written;
      for (const Inst& i : list) {
        for (const Reg& u : i.uses)
          if (!written.contains(key(u))) need.insert(key(u));
        if (i.kind == InstKind::mma && !written.contains(key(i.def))) need.insert(key(i.def));
        if (i.def.id >= 0) written.insert(key(i.def));
      }
      return written;
    };
    defined = scan(r.body);
    (void)scan(r.epilogue);
    std::vector<RegKey> open(need.begin(), need.end());
    while (!open.empty()) {
      const RegKey k0 = open.back();
      open.pop_back();
      if (outside(k0.first)) continue;
      const RegKey before{k0.first, k0.second + 1};
      if (!defined.contains(before) && need.insert(before).second) open.push_back(before);
    }
    std::vector<RegKey> out;
    for (const RegKey& key_of : need) {
      if (outside(key_of.first)) {
        // Values that no trip changes need not be handed on.
        if (defined.contains(key_of)) out.push_back(key_of);
      } else if (env_.contains(key_of) || key_of.second >= 0) {
        out.push_back(key_of);
      }
    }
    std::erase_if(out, [&](const RegKey& key_of) { return !env_.contains(key_of); });
    return out;
  }

  // From trip to trip bytes go as words: by themselves LLVM would take each apart.
  Value handed_on(Value v) {
    return bits(v.type.element) == 8 && v.type.lanes % 4 == 0 ? k.bitcast(v, Type::i32(v.type.lanes / 4)) : v;
  }

  void loop(const CodeRegion& r) {
    exact_ = r.exact;
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list)
        if (i.access.gathered()) {
          if (!moves_rows(i))
            prepare(i);
          else if (!split_of(i).far) // its address is each trip's; what the trips share is made before them
            (void)descriptor(p_.tensor(i.access.tensor), split_of(i));
        }
    if (const auto registers = blocks_of_loops_.find(&r); registers != blocks_of_loops_.end()) {
      const bool inside = prologue_inside(r, registers->second);
      const bool sums = std::any_of(r.prologue.begin(), r.prologue.end(),
                                    [](const Inst& i) { return i.kind == InstKind::map; });
      if (sums && !inside)
        throw CodegenError("the first sums of a loop have no place before its block of assembly",
                           "line   " + std::to_string(r.body[0].where.line()),
                           "loads without masks that depend on the trip, or --loops ir");
      if (inside) {
        for (const Inst& i : r.prologue)
          if (i.kind == InstKind::fill) one(i, 0, r.ring);
      } else {
        by_roles(r.prologue, [&](std::span<const Inst> part) {
          for (const Inst& i : part)
            if (i.kind == InstKind::fill || !under_way_.contains(&i)) one(i, 0, r.ring);
        });
      }
      block(r, registers->second, inside);
      exact_ = false;
      return;
    }
    rows_ahead_.clear();
    for (const Inst& i : r.body)
      for (const int row : i.access.rows)
        if (row >= 0 && i.kind == InstKind::load && i.ahead > 0 && r.ring == 1)
          rows_ahead_.insert(i.uses[static_cast<std::size_t>(row)].id);
    by_roles(r.prologue, [&](std::span<const Inst> part) {
      for (const Inst& i : part) one(i, 0, r.ring);
    });
    const std::vector<RegKey> keys = carried(r);
    const Env before = env_;
    std::vector<Type> types;
    const auto enter = [&](const KernelBuilder::Values& values) {
      env_ = before;
      std::erase_if(env_, [&](const auto& e) { return !outside(e.first.first); });
      for (std::size_t n = 0; n < keys.size(); ++n)
        env_[keys[n]] = types[n] == values[n].type ? values[n] : k.bitcast(values[n], types[n]);
    };
    KernelBuilder::Values start;
    for (const RegKey& key_of : keys) {
      const Value v = env_.at(key_of);
      types.push_back(v.type);
      start.push_back(handed_on(v));
    }
    std::vector<RegKey> results; // what lives on after the loop
    for (const RegKey& key_of : keys)
      if (outside(key_of.first)) results.push_back(key_of);
    for (const Inst& i : r.epilogue)
      if (i.def.id >= 0 && outside(i.def.id) &&
          std::find(results.begin(), results.end(), key(i.def)) == results.end() &&
          (env_.contains(key(i.def)) || i.kind == InstKind::load)) // loaded in the last trip
        results.push_back(key(i.def));

    const Value last = k.lower(r.trips - Sym(1));
    const KernelBuilder::Values end = k.rotate(
        last, r.ring, start,
        [&](int residue, Value number_of_trip, const KernelBuilder::Values& values) {
          enter(values);
          k.bind(r.trip, number_of_trip);
          trip(r.body, residue, r.ring);
          KernelBuilder::Values next;
          for (const RegKey& key_of : keys) {
            const RegKey from = outside(key_of.first) ? key_of : RegKey{key_of.first, key_of.second + 1};
            const auto found = env_.find(from);
            if (found == env_.end())
              throw CodegenError("a register of the next trip is not written",
                                 "v" + std::to_string(key_of.first) + " of iteration " +
                                     std::to_string(from.second));
            next.push_back(handed_on(found->second));
          }
          return next;
        },
        [&](Value residue, const KernelBuilder::Values& values) {
          enter(values);
          // Stage s of the last trip is block (residue + s) % ring.
          residue_ = residue;
          chosen_.clear();
          for (int slot = 0; slot < r.ring && static_cast<int>(blocks_.size()) >= r.ring; ++slot) {
            std::vector<LdsBlock> in_order;
            for (int q = 0; q < r.ring; ++q)
              in_order.push_back(blocks_[static_cast<std::size_t>((q + slot) % r.ring)]);
            chosen_.push_back(r.ring == 1 ? in_order[0] : k.lds_choose(residue, in_order));
          }
          trip(r.epilogue, -1, r.ring);
          chosen_.clear();
          KernelBuilder::Values out;
          for (const RegKey& key_of : results) out.push_back(env_.at(key_of));
          return out;
        });
    env_ = before;
    std::erase_if(env_, [&](const auto& e) { return !outside(e.first.first); });
    for (std::size_t n = 0; n < results.size(); ++n) env_[results[n]] = end[n];
    exact_ = false;
  }

  // ------------------------------------------------------------------------------------------ loops of assembly

  // Whether a loop is a block, and its registers; before LDS is allocated.
  void plan(const CodeRegion& r) {
    // Only a block has two orders, or keeps its phases.
    const char* const wanted = !r.staggered.empty() ? "staggered" : r.phases > 0 ? "in ping-pong" : nullptr;
    const std::string cannot = wanted ? "a loop that cannot be " + std::string(wanted) : std::string();
    if (wanted && form_ == LoopForm::ir)
      throw CodegenError(cannot + ": it is IR", "line   " + std::to_string(r.body[0].where.line()),
                         "--loops asm or auto");
    bool moves = false, far = false, windows = false;
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) {
        moves = moves || (list == &r.body && moves_rows(i));
        far = far || (i.kind == InstKind::load && is_far(p_, i.access));
        windows = windows || (i.kind == InstKind::load && p_.tensor(i.access.tensor).space == Space::window);
      }
    if ((moves || far || windows) && (form_ == LoopForm::block || wanted)) {
      const std::string why = moves ? ": a trip loads the rows that it gathers"
                              : far ? ": it loads by addresses of 64 bits"
                                    : ": it loads a window, whose masks depend on the trip";
      throw CodegenError(wanted ? cannot + why : "the loop cannot be a block of assembly" + why,
                         "line   " + std::to_string(r.body[0].where.line()), "--loops auto or ir");
    }
    if (moves || far || windows || !r.exact || form_ == LoopForm::ir) return;
    if (form_ == LoopForm::automatic && !wanted) {
      // What LLVM's allocator managed in final order without a copy: gemm 128x128x64, 184 and its addresses.
      constexpr int manageable = 192;
      const auto [loop, order] = as_region(r, own_order(r.body));
      const std::vector<Lifetime> lives = lifetimes(loop, code_.registers, order);
      const int slots = static_cast<int>(order.slots.size());
      const std::vector<int> alive = pressure(lives, slots);
      // A life longer than the turn of the loop would be a move in each trip.
      const bool turns = std::all_of(lives.begin(), lives.end(), [&](const Lifetime& l) {
        return l.end - l.begin + 1 <= r.ring * slots;
      });
      const bool transfers =
          std::any_of(r.body.begin(), r.body.end(), [](const Inst& i) { return i.direct; });
      if (turns && !transfers && // for which LLVM would wait before each read
          *std::max_element(alive.begin(), alive.end()) + accumulators(loop, code_.registers) <= manageable)
        return;
    }
    const auto registers = block_registers(code_, r);
    if (registers) {
      blocks_of_loops_[&r] = *registers;
    } else if (form_ == LoopForm::block || wanted) {
      throw CodegenError(
          wanted ? cannot + ": it cannot be a block of assembly" : "the loop cannot be a block of assembly",
          "line   " + std::to_string(r.body[0].where.line()),
          "loops of loads, LDS and matrix products whose registers fit, by the modulo scheduler");
    }
  }

  // Whether the block can begin with the loop's prologue: its registers are the loop's in their places, and there is room for
  // the addresses that the loop has not, those with masks.
  bool prologue_inside(const CodeRegion& r, const BlockRegisters& registers) const {
    std::set<int> loop, masked;
    for (const Inst& i : r.body)
      if (i.kind == InstKind::load) loop.insert(memory_.at(&i).offset.id);
    for (const Inst& i : r.prologue) {
      if (i.kind != InstKind::load || under_way_.contains(&i)) continue;
      const Memory& m = memory_.at(&i);
      if (!m.each_trip.empty()) return false;
      if (!loop.contains(m.offset.id)) masked.insert(m.offset.id);
    }
    const int file = p_.target().registers_per_simd_lane / 2;
    return registers.prologue && registers.last + static_cast<int>(masked.size()) + prologue_spare <= file;
  }

  void block(const CodeRegion& r, const BlockRegisters& registers, bool prologue) {
    std::vector<Type> results;
    std::vector<Value> inputs;
    std::vector<std::string> outputs, takes, clobbers;
    std::vector<RegKey> result_keys;
    // Results.
    for (const auto& [id, first] : registers.results) {
      const Register& reg = code_.registers[static_cast<std::size_t>(id)];
      if (!zeroed_.contains(id))
        throw CodegenError("a block of assembly begins with empty accumulators", "v" + std::to_string(id));
      outputs.push_back("=&{" + register_range(first, dwords(reg)) + "}");
      results.push_back({reg.element, reg.count});
      result_keys.push_back({id, 0});
    }
    for (const auto& [id, first] : registers.loaded) {
      const Register& reg = code_.registers[static_cast<std::size_t>(id)];
      outputs.push_back("=&{" + register_range(first, dwords(reg)) + "}");
      results.push_back({reg.element, reg.count});
      result_keys.push_back({id, 0});
    }
    // Rings: what the prologue filled comes in and leaves as nobody's; the rest is clobbered.
    std::vector<bool> pinned(static_cast<std::size_t>(p_.target().registers_per_simd_lane), false);
    for (const RegKey& key_of : prologue ? std::vector<RegKey>() : carried(r)) {
      if (outside(key_of.first)) continue;
      const Register& reg = code_.registers[static_cast<std::size_t>(key_of.first)];
      const auto place = registers.rings.find({key_of.first, key_of.second % registers.copies});
      INLAY_CHECK(place != registers.rings.end(), "a place of v" + std::to_string(key_of.first));
      const Type words = Type::i32(dwords(reg));
      takes.push_back(std::to_string(outputs.size()));
      inputs.push_back(k.bitcast(env_.at(key_of), words));
      outputs.push_back("={" + register_range(place->second, words.lanes) + "}");
      results.push_back(words);
      for (int d = 0; d < words.lanes; ++d) {
        INLAY_CHECK(!pinned[static_cast<std::size_t>(place->second + d)], "one value a register");
        pinned[static_cast<std::size_t>(place->second + d)] = true;
      }
    }
    const auto in_results = [&](int v) {
      if (registers.results_in_agprs) return false;
      for (const auto& [id, first] : registers.results)
        if (v >= first && v < first + dwords(code_.registers[static_cast<std::size_t>(id)])) return true;
      return false;
    };
    for (int v = registers.first; v < registers.last; ++v)
      if (!pinned[static_cast<std::size_t>(v)] && !in_results(v))
        clobbers.push_back("~{" + register_range(v, 1) + "}");
    for (int a = registers.agprs.first; a < registers.agprs.second; ++a)
      if (!pinned[static_cast<std::size_t>(first_agpr + a)])
        clobbers.push_back("~{" + register_range(first_agpr + a, 1) + "}");
    // Scalar registers of the block's own: what is left of the trips, and one for each advance of a load.
    const Value last = k.lower(r.trips - Sym(1));
    const auto scalar_output = [&] {
      outputs.push_back("=&s");
      results.push_back(Type::i32());
      return "$" + std::to_string(outputs.size() - 1);
    };
    BlockText how;
    how.prologue = prologue;
    how.under_way = static_cast<std::size_t>(std::count_if(
        r.prologue.begin(), r.prologue.end(), [&](const Inst& i) { return under_way_.contains(&i); }));
    how.left = scalar_output();
    struct Advance {
      Sym start, slope;
      std::string name;
    };
    std::vector<Advance> advances;
    for (const Inst& i : r.body) {
      if (i.kind != InstKind::load) continue;
      const auto [start, slope] = advance(r, memory_.at(&i).step);
      bool known = slope == Sym(0);
      for (const Advance& a : advances) known = known || (a.start == start && a.slope == slope);
      if (!known) advances.push_back({start, slope, scalar_output()});
    }
    // Inputs after all outputs.
    std::map<std::pair<int, char>, std::string> named;
    const auto input = [&](Value v, char kind) {
      auto [at, fresh] = named.try_emplace({v.id, kind}, "");
      if (fresh) {
        at->second = "$" + std::to_string(outputs.size() + inputs.size());
        inputs.push_back(kind == 'd' ? k.descriptor_words(v) : v);
        takes.push_back(kind == 'v' ? "v" : "s");
      }
      return at->second;
    };
    how.trips = input(last, 's');
    if (!r.staggered.empty() || r.phases > 0) how.wave = input(wave_, 's');
    for (const Advance& a : advances)
      how.counters.push_back({a.name, input(k.lower_low(a.start), 's'),
                              a.slope.constant() ? std::to_string(a.slope.constant()->value())
                                                 : input(k.lower_low(a.slope), 's')});
    std::map<int, std::string> transfer_bases;
    std::map<std::pair<int, int>, std::string> lds_bases; // address, a multiple of 64 KiB after it
    how.address = [&](const Inst& i, int residue) {
      BlockAddress a;
      if (i.kind == InstKind::load) {
        const Memory& m = memory_.at(&i);
        INLAY_CHECK(m.each_trip.empty(), "loads of a block without masks that depend on the trip");
        a.vector = input(m.offset, 'v');
        a.descriptor = input(m.descriptor, 'd');
        a.immediate = m.immediate;
        const auto [start, slope] = advance(r, m.step);
        a.scalar = slope == Sym(0) ? (start == Sym(0) ? "0" : input(k.lower_low(start), 's')) : "";
        for (const Advance& x : advances)
          if (a.scalar.empty() && x.start == start && x.slope == slope) a.scalar = x.name;
        return a;
      }
      const Lds& at = lds_at_.at(&i);
      const int stage = ((residue + i.access.slot) % r.ring + r.ring) % r.ring;
      const bool rings = lds_.contains({i.access.tensor, r.ring - 1});
      const auto [number, offset] = lds_.at({i.access.tensor, rings ? stage : 0});
      if (i.direct) {
        auto [base, fresh] = transfer_bases.try_emplace(at.base.id, "");
        if (fresh)
          base->second =
              input(k.lds_address(blocks_[static_cast<std::size_t>(number)], uniform(at.base)), 's');
        a.vector = base->second;
        a.immediate = at.immediate + offset;
        return a;
      }
      const auto tile = begin_of_tile_.find(i.access.tensor);
      const int bytes = at.immediate + offset, begin = tile == begin_of_tile_.end() ? 0 : tile->second,
                low = begin + (bytes - begin) / 65536 * 65536;
      auto [base, fresh] = lds_bases.try_emplace({at.base.id, low}, "");
      if (fresh)
        base->second = input(k.lds_address(blocks_[static_cast<std::size_t>(number)],
                                           low == 0 ? at.base : k.add(at.base, this->number(low))),
                             'v');
      a.vector = base->second;
      a.immediate = bytes - low;
      return a;
    };
    how.line = [&](const Inst& i) { return k.line_directive(i.where); };
    const std::string text = block_text(code_, r, registers, how);
    clobbers.insert(clobbers.end(), {"~{scc}", "~{memory}"});
    // Where transfers write it: LLVM looks for such a name among all of its registers, for milliseconds.
    if (std::any_of(r.body.begin(), r.body.end(), [](const Inst& i) { return i.direct; }))
      clobbers.emplace_back("~{m0}");
    std::string constraints;
    for (const auto* list : {&outputs, &takes, &clobbers})
      for (const std::string& c : *list) constraints += (constraints.empty() ? "" : ",") + c;
    const KernelBuilder::Values values = k.assembly(text, constraints, inputs, results);
    std::erase_if(env_, [&](const auto& e) { return !outside(e.first.first); });
    for (std::size_t n = 0; n < result_keys.size(); ++n) {
      env_[result_keys[n]] = values[n];
      if (registers.loaded.contains(result_keys[n].first)) continue;
      if (registers.results_in_agprs) in_agprs_.insert(result_keys[n].first);
      zeroed_.erase(result_keys[n].first);
    }
  }
  // A formula in the trip as start + slope * trip. Errors: CodegenError when it is none.
  std::pair<Sym, Sym> advance(const CodeRegion& r, Sym step) const {
    const std::pair<AtomId, Sym> at0[] = {{*r.trip.as_atom(), Sym(0)}}, at1[] = {{*r.trip.as_atom(), Sym(1)}};
    const Sym start = substitute(step, at0), slope = substitute(step, at1) - start;
    if (eq(step, start + slope * r.trip) != Truth::yes)
      throw CodegenError("an address does not move evenly", "step   " + to_string(step));
    return {start, slope};
  }

  // In an order of LLVM's, a trip between its barriers: memory instructions spread among matrix instructions.
  void trip(const std::vector<Inst>& list, int residue, int ring) {
    int mfmas = 0, reads = 0, writes = 0, loads = 0, group = 0;
    const auto hints = [&] {
      spread(mfmas, reads, writes, loads, group++);
      mfmas = reads = writes = loads = 0;
    };
    if (has_roles(list)) { // between its barriers a trip is several blocks
      by_roles(list, [&](std::span<const Inst> part) {
        for (const Inst& i : part) {
          one(i, residue, ring);
          if (i.kind == InstKind::barrier && !exact_) k.sched_barrier();
        }
      });
      return;
    }
    for (const Inst& i : list) {
      if (exact_) {
        one(i, residue, ring);
        continue;
      }
      if (i.kind == InstKind::barrier) hints();
      one(i, residue, ring);
      if (i.kind == InstKind::barrier) k.sched_barrier();
      mfmas += i.kind == InstKind::mma;
      reads += i.kind == InstKind::lds_read;
      writes += i.kind == InstKind::lds_write;
      loads += i.kind == InstKind::load;
    }
    if (exact_) return;
    hints();
    k.sched_barrier();
  }
  void spread(int mfmas, int reads, int writes, int loads, int group) {
    if (mfmas == 0) return;
    std::vector<int> memory;
    // A tile that is written and read in one trip: reads as far before the products as LDS takes for them.
    constexpr int lead = 8;
    if (!rows_ahead_.empty() && reads > lead) k.sched_group(sched_ds_read, lead, group), reads -= lead;
    for (int i = 0; i < std::max({reads, writes, loads}); ++i) {
      if (i < reads) memory.push_back(sched_ds_read);
      if (i < writes) memory.push_back(sched_ds_write);
      if (i < loads) memory.push_back(sched_vmem_read);
    }
    const int count = static_cast<int>(memory.size());
    int done = 0;
    for (int i = 0; i < count; ++i) {
      k.sched_group(memory[static_cast<std::size_t>(i)], 1, group);
      const int until = (i + 1) * mfmas / count;
      if (until > done) k.sched_group(sched_mfma, until - done, group);
      done = until;
    }
  }

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
  Value wave_;                                 ///< the wave's number, where there are roles
  std::vector<std::pair<AtomId, Sym>> halves_; ///< even sizes as twice another symbol
  std::map<int, Value> pointers_;
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
  bool exact_ = false;              ///< the order is not LLVM's
  std::set<int> rows_ahead_;        ///< numbers of rows that this loop gathers ahead, into one stage of LDS
  const Inst* transfer_ = nullptr;  ///< the load half of a transfer
  std::set<const Inst*> under_way_; ///< what was emitted before everything else
  std::map<int, Value> uniform_;
  std::set<int> in_agprs_; ///< results of blocks
  std::map<std::pair<int, int>, Value>
      rounded_;                       ///< (register, first element): what two versions of a store share
  std::map<int, bool> shares_scales_; ///< by operation
  std::set<int> zeroed_;              ///< accumulators that nothing was added to yet
  std::map<const CodeRegion*, BlockRegisters> blocks_of_loops_;
};

} // namespace

bool rounds_by_addition(const Inst& i, const std::vector<Register>& registers, const Target& target,
                        bool few) {
  const auto element = [&](const Reg& r) { return registers[static_cast<std::size_t>(r.id)].element; };
  if (i.kind != InstKind::map || element(i.def) != Element::bf16 || target.packs_bf16) return false;
  if (i.nan == Nan::any) return true;
  if (i.def.count < 2) return false; // LLVM's conversion
  const std::function<bool(Expr)> linear = [&](Expr e) {
    const ExprNode& n = e.node();
    if (n.fn == Fn::parameter || (n.fn == Fn::constant && std::isfinite(n.value))) return true;
    return (n.fn == Fn::add || n.fn == Fn::sub || n.fn == Fn::mul) &&
           std::all_of(n.args.begin(), n.args.end(), [&](int a) {
             return linear({e.arena, a});
           });
  };
  if (!linear(i.map)) return false;
  const auto n = static_cast<std::size_t>(i.def.count);
  for (std::size_t at = 0; at < i.uses.size(); at += n) {
    const auto uses = std::span(i.uses).subspan(at, n);
    if (!few && nan_is_long(element(uses[0])) &&
        !std::all_of(uses.begin(), uses.end(), [&](const Reg& r) { return r == uses[0]; }))
      return false;
  }
  return true;
}

LoopForm parse_loop_form(const std::string& name) {
  if (name == "auto") return LoopForm::automatic;
  if (name == "ir") return LoopForm::ir;
  if (name == "asm") return LoopForm::block;
  throw CodegenError("unknown form of a loop", "name   " + name, "auto, ir or asm");
}

IrModule emit_ir(const Code& code, LoopForm form) { return Emitter(code, form).run(); }

} // namespace inlay::codegen
