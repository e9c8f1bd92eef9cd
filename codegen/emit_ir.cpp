// Code to LLVM IR through the builder: regions and instructions. emitter.h names the other files.
#include "about.h"

#include "emitter.h"
#include "wait_limits.h"
#include <inlay/codegen/symbol_kinds.h>

namespace inlay::codegen {

IrModule Emitter::run() {
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
    of_problem([&] { tile(k.work_item_id()); });
  }
  if (std::any_of(code_.regions.begin(), code_.regions.end(), [](const CodeRegion& r) { return r.exact; }))
    k.spread_arithmetic();
  return std::move(k).finish();
}

void Emitter::define(const std::vector<TileMap::Definition>& definitions) {
  for (const TileMap::Definition& d : definitions) {
    const Value v = k.lower_low(d.value);
    // Divided and chosen in vector registers, and a block's descriptors are made of what comes of it.
    k.bind(d.symbol, p_.shares() ? k.readfirstlane(v) : v);
  }
}

// What the program says, for one tile.
void Emitter::tile(Value work_item_id) {
  bind(work_item_id);
  begin();
  for (const CodeRegion& r : code_.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      if (zeros_.id < 0 && std::any_of(list->begin(), list->end(), [&](const Inst& i) {
            return i.kind == InstKind::load && is_far(p_, i.access);
          }))
        zeros_ = k.zeros_in_memory();
  for (const CodeRegion& r : code_.regions)
    if (!nest_of(r))
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue}) prepare(*list);
  regions(0, code_.regions.size(), 0);
}

void Emitter::bind_arguments() {
  std::map<std::string, Value> words; // of sizes
  int index = 0;
  for (const KernelArgument& a : arguments_of(p_)) {
    const Value v = k.argument(index++);
    a.tensor ? pointers_[a.tensor->id] = v : words[a.size->name] = v;
  }
  const auto entry = [&](int table, Type type) {
    const Value at = k.mul(k.zext64(k.workgroup_id(2)), k.constant(type.bytes(), Type::i64()));
    return k.scalar_load(k.pointer_add(pointers_.at(table), at), type);
  };
  for (const Problems::Own& own : p_.problems().sizes) {
    const std::string& name = p_.symbols().atom(*own.size.as_atom()).name;
    largest_[name] = std::exchange(words.at(name), entry(own.table, Type::i32()));
  }
  for (const Tensor& t : p_.tensors())
    if (t.addresses >= 0) pointers_[t.id] = entry(t.addresses, Type::global());
  for (const Tensor& t : p_.tensors())
    if (t.space == Space::window) pointers_[t.id] = pointers_.at(t.of);
  int whole = 1; // elements of whole bytes: 2 of 4 bits, 4 of 6
  for (const Tensor& t : p_.tensors())
    if (t.space == Space::global) whole = std::max(whole, 8 / std::gcd(bits(t.element), 8));
  for (const Size& s : p_.sizes()) {
    k.bind(s.symbol, words.at(s.name));
    if (s.facts.multiple % whole != 0 || whole == 1) continue;
    // Where elements share bytes, a row of n is n / 2 bytes, or n / 4 times 3.
    const Sym part =
        symbol_of(p_.symbols(), SymbolKind::half, {}, s.name, {Int(0), Int(s.facts.most / whole)});
    whole_bytes_.emplace_back(*s.symbol.as_atom(), Sym(whole) * part);
    k.bind(part, k.lshr(words.at(s.name), k.constant(std::countr_zero(static_cast<unsigned>(whole)))));
  }
}

// `body` where the workgroup has a tile of its problem, whose sizes are first held against what the program says of them.
void Emitter::of_problem(const std::function<void()>& body) {
  const Problems& all = p_.problems();
  if (!all.there()) return body();
  const auto check = [&] {
    k.locate(all.where);
    const auto refuse = [&](Value wrong) {
      k.if_then(wrong, [&] { (void)k.assembly("s_trap 2", "", {}, {}); });
    };
    for (const Size& z : p_.sizes()) {
      const auto largest = largest_.find(z.name);
      if (largest == largest_.end()) continue;
      const Value own = k.lower(z.symbol);
      refuse(k.compare(Compare::slt, own, number(z.facts.least)));
      refuse(k.compare(Compare::slt, largest->second, own));
      if (z.facts.multiple > 1)
        refuse(k.compare(Compare::ne, k.urem(own, number(z.facts.multiple)), number(0)));
    }
    body();
  };
  std::function<void()> inner = check;
  for (const GridAxis& g : p_.grid())
    inner = [this, axis = g, then = std::move(inner)] {
      const Value begin = k.mul(k.workgroup_id(axis.axis), number(axis.tile));
      k.if_then(k.compare(Compare::slt, begin, k.lower(axis.extent)), then);
    };
  inner();
}

void Emitter::bind(Value work_item_id) {
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
    wave_ =
        k.readfirstlane(k.lshr(tid_, number(std::countr_zero(static_cast<unsigned>(p_.target().wave_size)))));
  std::vector<std::pair<const Uniform*, Value>> asked;
  std::vector<const Uniform*> rest; // which entry another one says, or with nothing to be asked for beside it
  const bool beside = begins_with_numbers();
  for (const Uniform& u : p_.uniforms())
    if (trips_of(p_, u).empty()) {
      if (beside && !has_uniform(p_, u.at))
        asked.emplace_back(&u, ask(u));
      else
        rest.push_back(&u);
    }
  if (!asked.empty()) numbers_beside();
  for (const auto& [u, loaded] : asked) take(*u, loaded);
  for (const Uniform* u : rest) read(*u);
}

// Whether numbers of rows are loaded before everything else, for a loop in a branch.
bool Emitter::begins_with_numbers() const {
  if (code_.regions.empty() || p_.shares()) return false;
  const CodeRegion& first = code_.regions.front();
  return !first.is_loop && first.guards.empty() && !nest_of(first) &&
         std::any_of(first.body.begin(), first.body.end(),
                     [&](const Inst& i) { return i.def.id >= 0 && !outside(i.def.id); });
}

// The loads that the kernel begins with, where numbers of rows are among them: beside those that say what the workgroup does.
void Emitter::numbers_beside() {
  for (const Inst& i : code_.regions.front().body) {
    if (i.kind != InstKind::load || i.direct || !i.uses.empty() || i.when || !i.waves.all() ||
        std::any_of(i.access.origin.begin(), i.access.origin.end(),
                    [&](Sym at) { return has_uniform(p_, at); }))
      break;
    prepare(i), one(i, 0, 1);
    under_way_.insert(&i);
  }
  numbers_stay(); // all of them: waited for is what is numbers
}

void Emitter::read(const Uniform& u) { take(u, ask(u)); }

Value Emitter::ask(const Uniform& u) {
  k.locate(u.where);
  const Tensor& t = p_.tensor(u.tensor);
  // Up to past the last element: the place of coordinate 1 in an extent of 1 may be 0.
  const Sym last = t.at(std::vector<Sym>{t.shape[0] - Sym(1)});
  const Value table = k.buffer(pointers_.at(t.id), k.lower_low(bytes(t, last + Sym(1))));
  return k.buffer_load(table, k.lower_low(bytes(t, u.at)), {t.element, 1});
}

void Emitter::take(const Uniform& u, Value loaded) {
  k.locate(u.where);
  const Tensor& t = p_.tensor(u.tensor);
  // What bounds something is never negative: a loop of a negative number of trips would not end.
  const Value read = k.readfirstlane(t.element == Element::i64 ? k.nearest32(loaded) : loaded);
  k.bind(u.symbol, is_bound(code_, u) ? k.smax(read, number(0)) : read);
}

// One block of LDS a stage, so that LLVM knows that a write to one does not wait for reads of another.
void Emitter::allocate() {
  const std::map<int, int> rings = lds_stages(code_);
  int stages = 1;
  for (const auto& [tensor, ring] : rings) stages = std::max(stages, ring);
  std::vector<int> bytes(static_cast<std::size_t>(stages), 0);
  // Those with most stages first: a tile lies at one place in all of its blocks, as which of them it is may be known at run time only.
  std::vector<std::pair<int, int>> by_stages(rings.begin(), rings.end());
  std::stable_sort(by_stages.begin(), by_stages.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [tensor, ring] : by_stages) {
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

// Whether rows that a table names were loaded in the same loop: the address is another one in each trip.
// A zero of which LLVM does not know that all lanes have it.
Value Emitter::each_lanes_zero() {
  const Value zero = number(0);
  return k.assembly("", "=v,0", std::span(&zero, 1), std::span(&zero.type, 1))[0];
}

RegKey Emitter::key(const Reg& r) const {
  return {r.id, code_.registers[static_cast<std::size_t>(r.id)].outside ? 0 : r.ahead};
}

Value Emitter::whole(const Reg& r) {
  const auto found = env_.find(key(r));
  if (found == env_.end())
    throw CodegenError("a register is read before it is written",
                       "v" + std::to_string(r.id) + " of iteration " + std::to_string(r.ahead));
  // Registers keep the 64 bits of memory, so that nothing waits for them before their use; what is used is the nearest of 32.
  return found->second.type.element == Element::i64 ? k.nearest32(found->second) : found->second;
}

// A result of a block in AGPRs stays there until here: read all at once, 256 would leave no register for anything else.
Value Emitter::stay(const Reg& r) {
  if (!in_agprs_.contains(r.id)) return use(r);
  const Value v = whole(r);
  return k.slice(k.assembly("", "=a,0", std::span(&v, 1), std::span(&v.type, 1))[0], r.first, r.count);
}

// Regions begin .. end, which have `depth` guards in common; runs of them under the next guard are a branch.
void Emitter::regions(std::size_t begin, std::size_t end, std::size_t depth) {
  const auto guards = [&](std::size_t n) -> const std::vector<Guard>& { return code_.regions[n].guards; };
  for (std::size_t n = begin; n < end;) {
    if (const Nest* const nest = nest_of(code_.regions[n]); nest && nest->guards == depth) {
      const std::size_t until = regions_of(*nest, code_).second;
      trips(*nest, n, until, depth);
      n = until;
      continue;
    }
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

// The outermost loop around loops or branches that the region is of and that is not open.
const Nest* Emitter::nest_of(const CodeRegion& r) const {
  for (const Nest& n : nests_)
    if (n.holds(r) && std::find(open_nests_.begin(), open_nests_.end(), &n) == open_nests_.end()) return &n;
  return nullptr;
}

// Registers that regions begin .. end write and that have a value before them.
std::vector<RegKey> Emitter::written_again(std::size_t begin, std::size_t end) const {
  std::vector<RegKey> out;
  for (std::size_t n = begin; n < end; ++n)
    for (const auto* list : {&code_.regions[n].prologue, &code_.regions[n].body, &code_.regions[n].epilogue})
      for (const Inst& i : *list)
        if (i.def.id >= 0 && outside(i.def.id) && env_.contains(key(i.def)) &&
            std::find(out.begin(), out.end(), key(i.def)) == out.end())
          out.push_back(key(i.def));
  return out;
}

KernelBuilder::Values Emitter::handed_on(const std::vector<RegKey>& keys) {
  KernelBuilder::Values out;
  for (const RegKey& key_of : keys) out.push_back(handed_on(env_.at(key_of)));
  return out;
}

// Regions begin .. end, once for each trip. What they write and has a value before is handed on; nothing else that a trip made is known
// in the next one, or after the last.
void Emitter::trips(const Nest& nest, std::size_t begin, std::size_t end, std::size_t depth) {
  k.locate(nest.where);
  const std::vector<RegKey> keys = written_again(begin, end);
  std::vector<Type> types;
  for (const RegKey& key_of : keys) {
    types.push_back(env_.at(key_of).type);
    zeroed_.erase(key_of.first), in_agprs_.erase(key_of.first);
  }
  const Env before = env_;
  const auto saved =
      std::tuple(descriptors_, memory_, lds_at_, bases_, bound_rows_, uniform_, in_agprs_, zeroed_, tops_);
  const auto enter = [&](const KernelBuilder::Values& values) {
    env_ = before;
    std::tie(descriptors_, memory_, lds_at_, bases_, bound_rows_, uniform_, in_agprs_, zeroed_, tops_) =
        saved;
    for (std::size_t n = 0; n < keys.size(); ++n)
      env_[keys[n]] = types[n] == values[n].type ? values[n] : k.bitcast(values[n], types[n]);
  };
  const KernelBuilder::Values last =
      k.loop(number(0), k.lower(nest.trips()), number(1), handed_on(keys),
             [&](Value t, const KernelBuilder::Values& values) {
               enter(values);
               k.bind(nest.t, t);
               open_nests_.push_back(&nest);
               // What this trip reads: the innermost of the loops whose numbers say which entry.
               for (const Uniform& u : p_.uniforms()) {
                 const std::vector<AtomId> of = trips_of(p_, u);
                 const auto opened = [&](AtomId atom) {
                   return std::any_of(open_nests_.begin(), open_nests_.end(),
                                      [&](const Nest* n) { return *n->t.as_atom() == atom; });
                 };
                 if (std::find(of.begin(), of.end(), *nest.t.as_atom()) != of.end() &&
                     std::all_of(of.begin(), of.end(), opened))
                   read(u);
               }
               for (std::size_t n = begin; n < end; ++n)
                 if (!nest_of(code_.regions[n]))
                   for (const auto* list :
                        {&code_.regions[n].prologue, &code_.regions[n].body, &code_.regions[n].epilogue})
                     prepare(*list);
               regions(begin, end, depth);
               open_nests_.pop_back();
               return handed_on(keys);
             });
  enter(last);
}

// What was loaded stays before what follows: LLVM would sink it to its use.
void Emitter::stay(const std::vector<Value>& loaded) {
  std::string takes = "v";
  for (std::size_t n = 1; n < loaded.size(); ++n) takes += ",v";
  if (!loaded.empty()) (void)k.assembly("", takes + ",~{memory}", loaded, {});
}

// Likewise numbers of rows, for the trips of a loop that comes.
void Emitter::numbers_stay() {
  std::vector<Value> loaded;
  for (const auto& [key_of, value] : env_)
    if (!outside(key_of.first)) loaded.push_back(value);
  stay(loaded);
}

void Emitter::branch(std::size_t begin, std::size_t end, std::size_t depth) {
  const Guard& g = code_.regions[begin].guards[depth];
  k.locate(code_.regions[begin].is_loop || code_.regions[begin].body.empty()
               ? p_.where()
               : code_.regions[begin].body[0].where);
  const Value taken =
      g.holds ? k.less(g.condition.a, g.condition.b) : k.at_most(g.condition.b, g.condition.a);
  const std::vector<RegKey> written = written_again(begin, end); // what the join chooses between
  KernelBuilder::Values otherwise;
  for (const RegKey& key_of : written) otherwise.push_back(env_.at(key_of));
  under(taken, written, &otherwise, [&] { regions(begin, end, depth + 1); });
}

// `body` where the condition holds. What is made inside is known inside alone, but for the registers `written`; where it does not
// hold these are `otherwise`, or nobody reads them.
void Emitter::under(Value condition, const std::vector<RegKey>& written,
                    const KernelBuilder::Values* otherwise, const std::function<void()>& body) {
  const Env before = env_;
  const auto saved =
      std::tuple(descriptors_, memory_, lds_at_, bases_, bound_rows_, uniform_, in_agprs_, zeroed_, tops_);
  const auto then = [&] {
    body();
    KernelBuilder::Values out;
    for (const RegKey& w : written) out.push_back(env_.at(w));
    return out;
  };
  const KernelBuilder::Values joined =
      otherwise ? k.if_values(condition, *otherwise, then) : k.if_values(condition, then);
  env_ = before;
  std::tie(descriptors_, memory_, lds_at_, bases_, bound_rows_, uniform_, in_agprs_, zeroed_, tops_) = saved;
  for (std::size_t n = 0; n < written.size(); ++n) {
    env_[written[n]] = joined[n];
    zeroed_.erase(written[n].first);
  }
}

bool Emitter::has_roles(std::span<const Inst> list) {
  return std::any_of(list.begin(), list.end(), [](const Inst& i) { return !i.waves.all(); });
}

// f of runs of neighbours that the same waves run; those of a role under the condition that the wave is one of its.
void Emitter::by_roles(std::span<const Inst> list, const std::function<void(std::span<const Inst>)>& f) {
  const auto nothing = [&](const Inst& i) { return i.kind == InstKind::wait && !exact_; };
  tops_.clear();
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

void Emitter::role(std::span<const Inst> list, const std::function<void(std::span<const Inst>)>& f) {
  k.locate(list[0].where);
  const Waves& waves = list[0].waves;
  const Value mine = k.compare(Compare::ult, k.sub(wave_, number(waves.first)), number(waves.count));
  std::vector<RegKey> written;
  for (const Inst& i : list)
    if (i.def.id >= 0 && !i.direct && std::find(written.begin(), written.end(), key(i.def)) == written.end())
      written.push_back(key(i.def));
  under(mine, written, nullptr, [&] { f(list); });
}

void Emitter::straight(const std::vector<Inst>& list) {
  by_roles(list, [&](std::span<const Inst> part) { versions(part); });
}

// Neighbours under one condition are one branch.
void Emitter::versions(std::span<const Inst> list) {
  std::vector<Value> loaded;
  for (std::size_t n = 0; n < list.size();) {
    if (!list[n].when) {
      const Inst& i = list[n++];
      if (under_way_.contains(&i)) continue;
      one(i, 0, 1);
      if (i.kind != InstKind::load || i.direct) continue;
      // Bytes that are no words no register of LLVM's takes by themselves; they may sink.
      const Value held = handed_on(whole(i.def));
      if (bits(held.type.element) > 8) loaded.push_back(held);
      continue;
    }
    // A load stays before the branch: LLVM would sink it to its use after.
    stay(loaded);
    loaded.clear();
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
      if (reg_element(r) == to || to == Element::i64) continue;
      k.locate(list[m].where);
      rounded_[{r.id, r.first}] = k.convert(to_real(stay(r)), to);
    }
    const Value rest = k.lower(floor_mod(when.size, Sym(when.modulus)));
    k.if_else(
        k.compare(when.divides ? Compare::eq : Compare::ne, rest, number(0)), [&] { run(when); },
        [&] { run(other); });
    rounded_.clear();
  }
}

void Emitter::one(const Inst& i, int trip, int ring) {
  k.locate(i.where);
  if (i.kind != InstKind::top) tops_.clear();
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
                           : k.buffer_load(m.descriptor, offset_of(m), {t.element, i.def.count}, extra(m, i));
    break;
  }
  case InstKind::store: {
    const Memory m = memory(i);
    const Tensor& t = p_.tensor(i.access.tensor);
    const Value v = to_store(i.uses[0], t.element);
    if (i.combine) {
      k.buffer_add(v, m.descriptor, offset_of(m), extra(m, i));
    } else {
      k.buffer_store(v, m.descriptor, offset_of(m), extra(m, i));
    }
    break;
  }
  case InstKind::lds_read:
  case InstKind::lds_write: {
    if (i.combine) {
      add_in_lds(i);
      break;
    }
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
                           k.add(uniform(base), number(at.immediate + offset - m.immediate)),
                           extra(m, *transfer_));
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
    env_[key(i.def)] = i.atom->mma->scaled ? scaled_product(i)
                       : i.uses.size() == 2
                           ? k.mfma(i.atom->emission.name, use(i.uses[0]), use(i.uses[1]), whole(i.def))
                       : i.atom->name.find("f8f6f4") == std::string::npos // two steps of a narrower read
                           ? k.mfma(i.atom->emission.name, k.pack(std::array{use(i.uses[0]), use(i.uses[1])}),
                                    k.pack(std::array{use(i.uses[2]), use(i.uses[3])}), whole(i.def))
                           : k.mfma_f8f6f4(i.atom->emission.name, operand(i, 0), operand(i, 1), whole(i.def),
                                           format_of(*i.atom, "cbsz:"), format_of(*i.atom, "blgp:"));
    break;
  case InstKind::map: env_[key(i.def)] = map(i); break;
  case InstKind::fold_values: env_[key(i.def)] = fold(i); break;
  case InstKind::fold_lanes: {
    const Value own = folded(i.monoid, use(i.uses[0])), v = folded(i.monoid, use(i.uses.back()));
    const Value both = combine(i.monoid, own, k.lane_xor(v, i.lane_mask));
    env_[key(i.def)] = i.uses.size() == 1 ? both : k.select(k.lanes_of(i.lane_mask), both, own);
    break;
  }
  case InstKind::top: env_[key(i.def)] = top(i); break;
  case InstKind::exchange_lanes: {
    const Value a = stay(i.uses[0]), b = stay(i.uses[1]);
    const auto [low, high] =
        k.lane_exchange(k.bitcast(a, Type::i32()), k.bitcast(b, Type::i32()), i.lane_mask);
    env_[key(i.def)] = k.pack(std::array{k.bitcast(low, a.type), k.bitcast(high, b.type)});
    break;
  }
  case InstKind::wait:
    if (exact_) { // otherwise LLVM's
      const bool full = full_waits_.contains(&i);
      k.wait(i.vm < 0 && full ? most_vm : i.vm, i.lgkm < 0 && full ? most_lgkm : i.lgkm);
    }
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
  case InstKind::print: print(i); break;
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

// The element that a register names, of a tile that is one line: `expand` has no other.
void Emitter::add_in_lds(const Inst& i) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const auto [block, place] = lds_.at({t.id, 0});
  const Value row = use(i.uses[static_cast<std::size_t>(i.access.rows[0])]), part = use(i.uses[0]);
  Value acts = k.compare(Compare::ult, row, number(static_cast<int>(t.shape[0].constant()->value())));
  if (i.access.idle) acts = k.compare(Compare::eq, k.select(acts, idle(i), number(1)), number(0));
  k.if_then(acts, [&, block = block, place = place] {
    k.lds_add(part, blocks_[static_cast<std::size_t>(block)], k.mul(row, number(bits(t.element) / 8)), place);
  });
}

void Emitter::print(const Inst& i) {
  const auto word = [&](const Reg& r) { return gathered(std::span(&r, 1), [](Value v) { return v; }); };
  std::vector<Value> values;
  for (int axis = 0; axis < 3; ++axis) values.push_back(k.workgroup_id(axis));
  const Value item = k.work_item_id();
  values.push_back(k.lshr(item, number(6)));
  values.push_back(k.bit_and(item, number(63)));
  std::string format = "workgroup %u,%u,%u, wave %u, lane %u: ";
  std::size_t next = 0;
  const std::string& text = p_.prints()[static_cast<std::size_t>(i.print)].text;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 2, "{}") == 0) {
      values.push_back(word(i.uses[next++]));
      format += values.back().type.element == Element::f32 ? "%.9g" : "%d";
      ++at;
    } else {
      format += text[at] == '%' ? "%%" : std::string(1, text[at]);
    }
  }
  std::function<void()> write = [&] { k.print(format + "\n", values); };
  if (next < i.uses.size()) // a condition is the last one
    write = [&, all = write] { k.if_then(k.compare(Compare::ne, word(i.uses[next]), number(0)), all); };
  if (i.access.idle)
    k.if_then(k.compare(Compare::eq, idle(i), number(0)), write);
  else
    write();
}

Value Emitter::draw(const Inst& i) {
  const Value last = k.lower(p_.count(ticket_of(i).axis) - Sym(1));
  return k.if_values(k.compare(Compare::eq, idle(i), number(0)), {number(0)},
                     [&] { return KernelBuilder::Values{k.count_on(counter(i), last)}; })[0];
}

Value Emitter::counter(const Inst& i) {
  const Tensor& t = p_.tensor(i.access.tensor);
  return k.pointer_add(pointers_.at(t.id), wide(bytes(t, t.at(i.access.origin))));
}

Sym Emitter::turn_of(const Inst& i) const {
  return p_.axis(p_.turns()[static_cast<std::size_t>(i.turn)].axis).symbol;
}

void Emitter::wait_for_turn(const Inst& i) {
  const Value mine = k.lower(turn_of(i));
  k.if_then(k.compare(Compare::eq, idle(i), number(0)), [&] { k.await(counter(i), mine); });
}

void Emitter::pass_turn(const Inst& i) {
  const Sym count = p_.count(p_.turns()[static_cast<std::size_t>(i.turn)].axis);
  const Value next = k.lower(turn_of(i) + Sym(1));
  k.if_then(k.compare(Compare::eq, idle(i), number(0)), [&] {
    k.atomic_store(counter(i), k.select(k.compare(Compare::eq, next, k.lower(count)), number(0), next));
  });
}

// What this workgroup sets on each device lies at the same place there, its number along the last axis its own; what it waits for lies
// here, that number the other's.
void Emitter::meet(const Inst& i) {
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

LoopForm parse_loop_form(const std::string& name) {
  if (name == "auto") return LoopForm::automatic;
  if (name == "ir") return LoopForm::ir;
  if (name == "asm") return LoopForm::block;
  throw CodegenError("unknown form of a loop", "name   " + name, "auto, ir or asm");
}

IrModule emit_ir(const Code& code, LoopForm form) {
  Emitter emitter(code, form);
  return about([&] { return emitter.located(); }, [&] { return emitter.run(); });
}

} // namespace inlay::codegen
