// Loops: what they carry, as IR or as a block of assembly.
#include "emitter.h"
#include "wait_limits.h"

namespace inlay::codegen {

// The registers that a trip must find: used before written, here, in later trips or after the loop.
std::vector<RegKey> Emitter::carried(const CodeRegion& r) const {
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
Value Emitter::handed_on(Value v) {
  return bits(v.type.element) == 8 && v.type.lanes % 4 == 0 ? k.bitcast(v, Type::i32(v.type.lanes / 4)) : v;
}

namespace {
/// The waits that say nothing of a counter while a register is filled by an access with as many later ones as the counter counts to. LLVM
/// takes vmcnt(63) and lgkmcnt(15) for waits for so many and makes none for that register, but no document says that it is filled.
std::set<const Inst*> at_full_counters(const Code& code, const CodeRegion& r) {
  struct Access {
    std::pair<int, int> fills; ///< register and iteration; {-1, 0}: none
    bool lds;
    int later;
  };
  std::vector<Access> pending;
  std::set<const Inst*> out;
  const auto issued = [&](bool lds, std::pair<int, int> fills, int instructions) {
    for (int n = 0; n < instructions; ++n) {
      for (Access& a : pending) a.later += a.lds == lds ? 1 : 0;
      pending.push_back({fills, lds, 0});
    }
  };
  const auto wait = [&](bool lds, int most) {
    std::erase_if(pending, [&](const Access& a) { return a.lds == lds && a.later >= most; });
  };
  const auto run = [&](const std::vector<Inst>& list, int trip) {
    for (const Inst& i : list) {
      if (i.kind == InstKind::wait) {
        if (i.vm >= 0) wait(false, std::min(i.vm, most_vm));
        if (i.lgkm >= 0) wait(true, std::min(i.lgkm, most_lgkm));
        for (const Access& a : pending)
          if (a.fills.first >= 0 &&
              (a.lds ? i.lgkm < 0 && a.later > most_lgkm : i.vm < 0 && a.later > most_vm))
            out.insert(&i);
        continue;
      }
      int vm = most_vm + 1, lgkm = most_lgkm + 1; // LLVM waits for what is read
      for (const Reg& u : i.uses)
        for (const Access& a : pending)
          if (a.fills == std::pair(u.id, trip + u.ahead)) {
            int& least = a.lds ? lgkm : vm;
            least = std::min({least, a.later, a.lds ? most_lgkm : most_vm});
          }
      if (vm <= most_vm) wait(false, vm);
      if (lgkm <= most_lgkm) wait(true, lgkm);
      const bool lds = i.kind == InstKind::lds_read || (i.kind == InstKind::lds_write && !i.direct);
      if (!lds && i.kind != InstKind::load && i.kind != InstKind::store && !i.direct) continue;
      const Reg& moved = i.def.id >= 0 || i.uses.empty() ? i.def : i.uses[0];
      const int size =
          moved.id < 0 ? 32 : moved.count * bits(code.registers[static_cast<std::size_t>(moved.id)].element);
      issued(lds, i.def.id >= 0 ? std::pair(i.def.id, trip + i.def.ahead) : std::pair(-1, 0),
             i.kind == InstKind::lds_read ? lds_reads(i, code.registers)
                                          : (size + 127) / 128); // one moves 16 bytes of a lane at most
    }
  };
  run(r.prologue, 0);
  for (int trip = 0; trip < 3; ++trip) run(r.body, trip);
  run(r.epilogue, 3);
  return out;
}
} // namespace

void Emitter::loop(const CodeRegion& r) {
  exact_ = r.exact;
  if (exact_) full_waits_ = at_full_counters(code_, r);
  for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
    for (const Inst& i : *list)
      if (i.access.gathered() && i.kind != InstKind::lds_write) {
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
  bool gathers = false;
  by_roles(r.prologue, [&](std::span<const Inst> part) {
    for (const Inst& i : part) {
      // The next trip's numbers would sink to the trip that uses them, behind the rows that this one waits for. Where workgroups do not go
      // on to put parts together, that costs more than it gives (mla_decode of fp8 on gfx942).
      if (!gathers && moves_rows(i) && !rows_ahead_.empty() && !p_.tickets().empty()) numbers_stay();
      gathers = gathers || moves_rows(i);
      one(i, 0, r.ring);
    }
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

// Whether the loop begins with a sum of its own accumulators: of the loop before it, or of the trip before of one around it.
bool Emitter::goes_on(const CodeRegion& r, int accumulator) const {
  bool empty = false;
  for (const CodeRegion& before : code_.regions) {
    if (&before == &r) break;
    const bool reaches = before.guards.size() <= r.guards.size() &&
                         std::equal(before.guards.begin(), before.guards.end(), r.guards.begin()) &&
                         std::all_of(nests_.begin(), nests_.end(),
                                     [&](const Nest& n) { return !n.holds(r) || n.holds(before); });
    for (const auto* list : {&before.prologue, &before.body, &before.epilogue})
      for (const Inst& i : *list)
        if (i.def.id == accumulator) empty = reaches && i.kind == InstKind::fill && i.value == 0;
  }
  return !empty;
}

// Whether a loop is a block, and its registers; before LDS is allocated.
void Emitter::plan(const CodeRegion& r) {
  // Only a block has two orders, or keeps its phases.
  const char* const wanted = !r.staggered.empty() ? "staggered" : r.phases > 0 ? "in ping-pong" : nullptr;
  const std::string cannot = wanted ? "a loop that cannot be " + std::string(wanted) : std::string();
  if (wanted && form_ == LoopForm::ir)
    throw CodegenError(cannot + ": it is IR", "line   " + std::to_string(r.body[0].where.line()),
                       "--loops asm or auto");
  bool moves = false, far = false, windows = false, wide = false;
  for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
    for (const Inst& i : *list) {
      moves = moves || (list == &r.body && moves_rows(i));
      far = far || (i.kind == InstKind::load && is_far(p_, i.access));
      windows = windows || (i.kind == InstKind::load && p_.tensor(i.access.tensor).space == Space::window);
      wide = wide || (i.kind == InstKind::load && p_.tensor(i.access.tensor).element == Element::i64);
    }
  if ((moves || far || windows || wide) && (form_ == LoopForm::block || wanted)) {
    const std::string why = moves     ? ": a trip loads the rows that it gathers"
                            : far     ? ": it loads by addresses of 64 bits"
                            : windows ? ": it loads a window, whose masks depend on the trip"
                                      : ": it loads integers of 64 bits";
    throw CodegenError(wanted ? cannot + why : "the loop cannot be a block of assembly" + why,
                       "line   " + std::to_string(r.body[0].where.line()), "--loops auto or ir");
  }
  if (moves || far || windows || wide || !r.exact || form_ == LoopForm::ir) return;
  if (form_ == LoopForm::automatic && !wanted) {
    // What LLVM's allocator managed in final order without a copy: gemm 128x128x64, 184 and its addresses.
    constexpr int manageable = 192;
    const auto [loop, order] = as_region(r, own_order(r.body));
    const std::vector<Lifetime> lives = lifetimes(loop, code_.registers, order);
    const int slots = static_cast<int>(order.slots.size());
    const std::vector<int> alive = pressure(lives, slots);
    // A life longer than the turn of the loop would be a move in each trip.
    const bool turns = std::all_of(lives.begin(), lives.end(),
                                   [&](const Lifetime& l) { return l.end - l.begin + 1 <= r.ring * slots; });
    const bool transfers = std::any_of(r.body.begin(), r.body.end(), [](const Inst& i) { return i.direct; });
    if (turns && !transfers && // for which LLVM would wait before each read
        *std::max_element(alive.begin(), alive.end()) + accumulators(loop, code_.registers) <= manageable)
      return;
  }
  const auto registers = block_registers(code_, r);
  const bool sums = registers && std::any_of(registers->results.begin(), registers->results.end(),
                                             [&](const auto& of) { return goes_on(r, of.first); });
  if (registers && !sums) {
    blocks_of_loops_[&r] = *registers;
  } else if (sums && (form_ == LoopForm::block || wanted)) {
    throw CodegenError((wanted ? cannot : "the loop cannot be a block of assembly") +
                           ": it goes on with sums that it did not begin",
                       "line   " + std::to_string(r.body[0].where.line()),
                       "zeros right before the loop, or --loops auto or ir");
  } else if (form_ == LoopForm::block || wanted) {
    throw CodegenError(
        wanted ? cannot + ": it cannot be a block of assembly" : "the loop cannot be a block of assembly",
        "line   " + std::to_string(r.body[0].where.line()),
        "loops of loads, LDS and matrix products whose registers fit, by the modulo scheduler");
  }
}

// Whether the block can begin with the loop's prologue: its registers are the loop's in their places, and there is room for
// the addresses that the loop has not, those with masks.
bool Emitter::prologue_inside(const CodeRegion& r, const BlockRegisters& registers) const {
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

void Emitter::block(const CodeRegion& r, const BlockRegisters& registers, bool prologue) {
  std::vector<Type> results;
  std::vector<Value> inputs;
  std::vector<std::string> outputs, takes, clobbers;
  std::vector<RegKey> result_keys;
  // Results.
  for (const auto& [id, first] : registers.results) {
    const Register& reg = code_.registers[static_cast<std::size_t>(id)];
    INLAY_CHECK(zeroed_.contains(id), "a block of assembly begins with empty accumulators");
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
    inputs.push_back(k.words(env_.at(key_of)));
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
  std::map<std::pair<int, int>, std::string> lds_bases; // address, so many reaches after it
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
        base->second = input(k.lds_address(blocks_[static_cast<std::size_t>(number)], uniform(at.base)), 's');
      a.vector = base->second;
      a.immediate = at.immediate + offset;
      return a;
    }
    const auto tile = begin_of_tile_.find(i.access.tensor);
    const int bytes = at.immediate + offset, begin = tile == begin_of_tile_.end() ? 0 : tile->second,
              reach = lds_reach(p_.tensor(i.access.tensor).element),
              low = begin + (bytes - begin) / reach * reach;
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
std::pair<Sym, Sym> Emitter::advance(const CodeRegion& r, Sym step) const {
  const std::pair<AtomId, Sym> at0[] = {{*r.trip.as_atom(), Sym(0)}}, at1[] = {{*r.trip.as_atom(), Sym(1)}};
  const Sym start = substitute(step, at0), slope = substitute(step, at1) - start;
  if (eq(step, start + slope * r.trip) != Truth::yes)
    throw CodegenError("an address does not move evenly", "step   " + to_string(step));
  return {start, slope};
}

// In an order of LLVM's, a trip between its barriers: memory instructions spread among matrix instructions.
void Emitter::trip(const std::vector<Inst>& list, int residue, int ring) {
  tops_.clear(); // what a trip carries on has changed
  int mfmas = 0, reads = 0, writes = 0, loads = 0, group = 0;
  const auto hints = [&] {
    spread(mfmas, reads, writes, loads, group++);
    mfmas = reads = writes = loads = 0;
  };
  const bool checks = std::any_of(list.begin(), list.end(), [](const Inst& i) {
    return i.kind == InstKind::check || i.kind == InstKind::print ||
           (i.kind == InstKind::lds_write && i.combine);
  });
  if (has_roles(list) || checks) { // between its barriers a trip is several blocks
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

void Emitter::spread(int mfmas, int reads, int writes, int loads, int group) {
  if (mfmas == 0) return;
  std::vector<int> memory;
  // A tile that is written and read in one trip: reads as far before the products as LDS takes for them.
  constexpr int lead = 8;
  const bool first = !rows_ahead_.empty() && reads >= lead;
  if (first) k.sched_group(sched_ds_read, lead, group), reads -= lead;
  for (int i = 0; i < std::max({reads, writes, loads}); ++i) {
    if (i < reads) memory.push_back(sched_ds_read);
    if (i < writes) memory.push_back(sched_ds_write);
    if (i < loads) memory.push_back(sched_vmem_read);
  }
  const int count = static_cast<int>(memory.size());
  if (first && count == 0) k.sched_group(sched_mfma, mfmas, group); // after all reads
  int done = 0;
  for (int i = 0; i < count; ++i) {
    k.sched_group(memory[static_cast<std::size_t>(i)], 1, group);
    const int until = (i + 1) * mfmas / count;
    if (until > done) k.sched_group(sched_mfma, until - done, group);
    done = until;
  }
}

} // namespace inlay::codegen
