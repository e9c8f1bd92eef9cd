// Where an access goes: its descriptor or pointer, its offset, what guards it, its place in LDS.
#include "emitter.h"

#include <inlay/codegen/symbol_kinds.h>

namespace inlay::codegen {

// LLVM waits for what it loads by addresses of 64 bits, and may exchange two of these; transfers are waited for by their number
// among all accesses.
void Emitter::far_without_transfers() const {
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

Sym Emitter::bytes(const Tensor& t, Sym elements) const {
  const int b = bits(t.element);
  return b % 8 == 0 ? elements * Sym(b / 8) : floor_div(substitute(elements, whole_bytes_) * Sym(b), Sym(8));
}

bool Emitter::of_trip(Sym s) const {
  for (const AtomId a : symbols(s))
    for (const CodeRegion& r : code_.regions)
      if (r.is_loop && a == *r.trip.as_atom()) return true;
  return false;
}

void Emitter::prepare(std::span<const Inst> list) {
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
void Emitter::prepare(const Inst& load, const Inst& write) {
  k.locate(load.where);
  const Lds& to = lds_at_[&write] = lds(write);
  (void)uniform(to.base);
  memory_[&load] = memory(load, to.immediate % most_immediate);
}

void Emitter::prepare(const Inst& i) {
  k.locate(i.where);
  // Addresses of stores are made where they are used: nothing keeps them in registers across a loop.
  if (i.kind == InstKind::load) memory_[&i] = memory(i);
  if (i.kind == InstKind::store) (void)descriptor(p_.tensor(i.access.tensor), split_of(i));
  if (i.kind == InstKind::lds_read || i.kind == InstKind::lds_write) lds_at_[&i] = lds(i);
  if (i.direct && i.kind == InstKind::lds_write) (void)uniform(lds_at_[&i].base);
}

// The transfers that the kernel begins with, each as soon as it has its address: those of all other accesses are made while these are
// under way.
void Emitter::begin() {
  if (p_.shares())
    return; // after another tile LLVM would wait for its transfers once more than the block does
  const auto loop = std::find_if(code_.regions.begin(), code_.regions.end(), [](const CodeRegion& r) {
    return r.is_loop || !r.guards.empty() ||
           !std::all_of(r.body.begin(), r.body.end(), [](const Inst& i) { return i.kind == InstKind::fill; });
  });
  if (loop != code_.regions.end() && nest_of(*loop)) return;
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
std::size_t Emitter::begins_with_transfers(const CodeRegion& r) {
  std::size_t n = 0;
  const auto fits = [&](std::size_t at, InstKind kind) {
    const Inst& i = r.prologue[at];
    return i.direct && i.kind == kind && i.waves.all() && !i.access.gathered();
  };
  while (n + 1 < r.prologue.size() && fits(n, InstKind::load) && fits(n + 1, InstKind::lds_write)) n += 2;
  return n;
}

bool Emitter::moves_rows(const Inst& i) const {
  for (const int row : i.access.rows)
    if (row >= 0 && !outside(i.uses[static_cast<std::size_t>(row)].id)) return true;
  return false;
}

const AddressSplit& Emitter::split_of(const Inst& i) {
  const auto found = splits_.find(&i);
  return found != splits_.end() ? found->second
                                : splits_.emplace(&i, split(coordinates_, i.access, i.uses)).first->second;
}

// `shared`: of a transfer, what its place in LDS has after one of others.
Emitter::Memory Emitter::memory(const Inst& i, int shared) {
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
    const Sym here = symbol_of(p_.symbols(), SymbolKind::row_here, {rows_here_++, *interval(symbol).upper},
                               "", interval(symbol));
    k.bind(here, use(row));
    rows.emplace_back(*symbol.as_atom(), here);
  }
  const auto of_rows = [&](Sym s) { return rows.empty() ? s : substitute(s, rows); };
  Memory out;
  out.step = bytes(t, a.step);
  if (a.far) {
    if (!(i.access.cache == CachePolicy{}))
      throw CodegenError("loads by addresses of 64 bits in each lane have no cache policy",
                         t.name + ", " + to_string(i.access.cache),
                         "a tile without it, or sizes below 2 GiB (most=)");
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
Value Emitter::far_lane(Sym lane) {
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

Value Emitter::holds(const AddressSplit::Predicate& q) {
  // What a window looks at fits 32 bits, whatever its parts are: a claim.
  if (q.axis < 0) return k.compare(Compare::ult, k.lower_low(q.coordinate), k.lower(q.room));
  return q.data ? k.compare(Compare::ult, k.lower(q.coordinate), k.lower(q.room))
                : k.less(q.coordinate, q.room);
}

// By an address of 64 bits; who is outside reads zeros.
Value Emitter::far_load(const Memory& m, Type type) {
  Value from = m.pointer;
  if (!(m.step == Sym(0))) from = k.pointer_add(from, wide(m.step));
  from = k.pointer_add(from, m.lane);
  for (const auto* list : {&m.always, &m.each_trip})
    for (const AddressSplit::Predicate& q : *list) from = k.select(holds(q), from, zeros_);
  return k.global_load(from, type);
}

// Whether a formula in the work-item and sizes is at least so much, for each work-item and all sizes.
bool Emitter::at_least(Sym formula, std::int64_t least) const {
  std::vector<std::pair<AtomId, Sym>> here; // sizes as multiples of what divides them
  for (const Size& s : p_.sizes()) {
    const std::int64_t unit = s.facts.multiple;
    here.emplace_back(*s.symbol.as_atom(), Sym(unit) * symbol_of(p_.symbols(), SymbolKind::units, {}, s.name,
                                                                 {Int((s.facts.least + unit - 1) / unit),
                                                                  Int(s.facts.most / unit)}));
  }
  here.emplace_back(*work_item(p_).as_atom(), Sym(0));
  for (int th = 0; th < p_.threads(); ++th) {
    here.back().second = Sym(th);
    if (le(Sym(least), substitute(formula, here)) != Truth::yes) return false;
  }
  return true;
}

Value Emitter::guarded(Value offset, const AddressSplit::Predicate& q) {
  return k.select(holds(q), offset, number(out_of_bounds));
}

// The offset of this trip.
Value Emitter::offset_of(const Memory& m) {
  Value offset = m.offset;
  for (const AddressSplit::Predicate& q : m.each_trip) offset = guarded(offset, q);
  return offset;
}

Value Emitter::descriptor(const Tensor& t, const AddressSplit& a) {
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
Value Emitter::wide(Sym s) {
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
Value Emitter::wide_atom(Sym s) {
  if (le(Sym(0), s) == Truth::yes) return k.zext64(k.lower(s));
  constexpr std::int64_t least = INT32_MIN;
  return k.add(k.zext64(k.lower(s - Sym(least))), k.constant(least, Type::i64()));
}

// An access at a constant distance from an earlier one at every work-item takes over its register.
Emitter::Lds Emitter::lds(const Inst& i) {
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

// The offset of stage (residue + slot) % ring of a tensor, whose stages lie in one block.
Value Emitter::stage_at_run_time(int tensor, int slot, int ring) {
  Value offset = number(lds_.at({tensor, slot}).second);
  for (int q = 1; q < ring; ++q)
    offset = k.select(k.compare(Compare::eq, residue_, number(q)),
                      number(lds_.at({tensor, (q + slot) % ring}).second), offset);
  return offset;
}

BufferOffset Emitter::extra(const Memory& m, const Inst& i) {
  BufferOffset e;
  e.cache = i.access.cache;
  e.immediate = m.immediate;
  if (!(m.step == Sym(0))) e.scalar = k.lower_low(m.step);
  return e;
}

} // namespace inlay::codegen
