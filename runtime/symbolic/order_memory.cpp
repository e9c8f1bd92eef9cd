// One memory instruction of a wave: what it touches, what covers it, what is recorded of it.
#include "symbolic/order_explorer.h"

namespace inlay::runtime::symbolic::exploring {

u32 Explorer::footprint(Footprint f) {
  u64 h = f.mask * 31 + f.bytes;
  for (u64 m = f.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<std::size_t>(std::countr_zero(m));
    h = (h ^ f.first[l] ^ (u64{f.second[l]} << 20)) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 29;
  }
  for (const u32 id : footprint_index_[h])
    if (footprints_[id] == f) return id;
  std::vector<std::pair<u32, u32>> all;
  for (u64 m = f.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<std::size_t>(std::countr_zero(m));
    all.emplace_back(f.first[l], f.first[l] + f.bytes);
    if (f.two) all.emplace_back(f.second[l], f.second[l] + f.bytes);
  }
  std::sort(all.begin(), all.end());
  for (const auto& r : all) {
    if (!f.ranges.empty() && r.first <= f.ranges.back().second) {
      f.ranges.back().second = std::max(f.ranges.back().second, r.second);
    } else {
      f.ranges.push_back(r);
    }
  }
  footprints_.push_back(std::move(f));
  footprint_index_[h].push_back(static_cast<u32>(footprints_.size() - 1));
  return static_cast<u32>(footprints_.size() - 1);
}

bool Explorer::overlap(u32 a, u32 b) {
  if (a > b) std::swap(a, b);
  const auto [at, fresh] = overlaps_.try_emplace((u64{a} << 32) | b, false);
  if (!fresh) return at->second;
  const auto& x = footprints_[a].ranges;
  const auto& y = footprints_[b].ranges;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i].second <= y[j].first) {
      ++i;
    } else if (y[j].second <= x[i].first) {
      ++j;
    } else {
      return at->second = true;
    }
  }
  return false;
}

void Explorer::find(State& state, OrderFinding f, u32 site, u32 other_site) {
  auto [at, fresh] = findings_.try_emplace({f.kind, site, other_site});
  f.conditional = f.conditional || state.depth != 0;
  if (!fresh && (!at->second.conditional || f.conditional)) return;
  f.address = instruction(site).address;
  f.text = instruction(site).text;
  f.other_address = instruction(other_site).address;
  f.other_text = instruction(other_site).text;
  f.path = state.path;
  if (!f.conditional) {
    f.conditional = std::any_of(f.path.begin(), f.path.end(), [&](const auto& c) {
      return t().kind(c.first) == TermKind::symbol && t().name(c.first).starts_with("choice.");
    });
  }
  if (!f.conditional) {
    // A path behind many trips has long formulas, and the next one asks again.
    spend(step_witness);
    const bool again = ++witnesses_[{f.kind, site, other_site}] <= most_witnesses;
    if (const auto numbers = again ? find_witness(t(), f.path) : std::nullopt) {
      f.witness = *numbers;
    } else {
      f.conditional = true;
    }
  }
  at->second = std::move(f);
  if (options_.first && !at->second.conditional) throw Enough{};
}

void Explorer::cover(WaveRun& run, const Pending& p) {
  if (p.access != open_end && p.counters == 0) run.trace[p.access].done = run.barriers;
}

void Explorer::wait(WaveRun& run, unsigned vmcnt, unsigned lgkmcnt) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < run.pending.size(); ++i) {
    Pending p = run.pending[i];
    if ((p.counters & on_vm) != 0 && (vmcnt == 0 || (p.ordered && vmcnt < 63 && p.after >= vmcnt)))
      p.counters &= static_cast<u8>(~on_vm);
    if ((p.counters & on_lgkm) != 0 && (lgkmcnt == 0 || (p.ordered && lgkmcnt < 15 && p.after >= lgkmcnt)))
      p.counters &= static_cast<u8>(~on_lgkm);
    if (p.counters == 0) {
      cover(run, p);
    } else {
      run.pending[out++] = p;
    }
  }
  run.pending.resize(out);
}

void Explorer::issue(WaveRun& run, const Operation& op, u8 counters, bool ordered, u32 access) {
  // Issue stalls while a counter is at its maximum, so LDS has executed what has 15 after it. No document says that what it reads is in
  // registers by then, and LLVM waits (SIInsertWaitcnts): that takes a wait.
  std::size_t out = 0;
  for (std::size_t i = 0; i < run.pending.size(); ++i) {
    Pending p = run.pending[i];
    const u32 most = counters == on_vm ? 63U : 15U;
    if (ordered && p.ordered && p.counters == counters && !p.full && ++p.after == most) {
      p.full = true;
      if (p.access != open_end && counters == on_lgkm) {
        run.trace[p.access].done = run.barriers;
        p.access = open_end;
      }
    }
    const bool fills = !p.op->writes.empty() && p.op != &op; // or the same is filled again, later
    if (!p.full || p.access != open_end || fills) run.pending[out++] = p;
  }
  run.pending.resize(out);
  // What fills no register and touches no LDS has counted for those before it: nobody asks for it again, and a loop may issue any number.
  if (access == open_end && op.writes.empty() && op.cls != Class::scalar_memory) return;
  run.pending.push_back({&op, access, counters, ordered, 0});
}

const char* const full_counter =
    "; as many later ones fill the counter, but no document says that its register is filled by then";

void Explorer::check_registers(State& state, WaveRun& run, const Operation& op, u32 at) {
  if (run.pending.empty()) return;
  const auto meets = [](const RowRange& a, const RowRange& b) {
    return a.first < b.first + b.count && b.first < a.first + a.count;
  };
  std::vector<RowRange> reads; // registers by number are those that m0 says now
  std::vector<RowRange> writes;
  emulator::each_read(run.machine.wave(), op, [&](const RowRange& r) { reads.push_back(r); });
  emulator::each_write(run.machine.wave(), op, [&](const RowRange& r) { writes.push_back(r); });
  const u8 own = op.cls == Class::lds                                        ? u8{on_lgkm}
                 : op.cls == Class::memory && op.memory.space != Space::flat ? u8{on_vm}
                                                                             : u8{0};
  for (const Pending& p : run.pending) {
    const u32 other = static_cast<u32>(p.op - setting_.code->operations.data());
    for (const RowRange& w : p.op->writes) {
      for (const RowRange& r : reads) {
        if (!meets(w, r)) continue;
        OrderFinding f;
        f.kind = OrderKind::wait;
        f.wave = f.other_wave = run.machine.wave().id;
        f.message = emulator::row_name(run.machine.wave(), std::max(w.first, r.first)) +
                    " is read before a wait covers what fills it" + (p.full ? full_counter : "");
        find(state, f, at, other);
      }
      for (const RowRange& x : writes) {
        if (!meets(w, x) || (p.ordered && p.counters == own)) continue; // the same queue lands in order
        OrderFinding f;
        f.kind = OrderKind::wait;
        f.wave = f.other_wave = run.machine.wave().id;
        f.message = emulator::row_name(run.machine.wave(), std::max(w.first, x.first)) +
                    " is overwritten before a wait covers what fills it: that lands later and wins" +
                    (p.full ? full_counter : "");
        find(state, f, at, other);
      }
    }
    if (p.op->cls != Class::scalar_memory) continue;
    for (unsigned half = 0; half < 2; ++half) {
      const u64 clash = p.op->scalar_writes[half] & (op.scalar_reads[half] | op.scalar_writes[half]);
      if (clash == 0) continue;
      OrderFinding f;
      f.kind = OrderKind::wait;
      f.wave = f.other_wave = run.machine.wave().id;
      f.message = emulator::scalar_name(half * 64 + static_cast<unsigned>(std::countr_zero(clash))) +
                  " is used before lgkmcnt(0) covers the scalar load that fills it";
      find(state, f, at, other);
    }
  }
}

AccessRecord Explorer::new_record(const WaveRun& run, u32 at) {
  AccessRecord r;
  r.instruction = at;
  r.wave = run.machine.wave().id;
  const auto before = run.executed.find(at);
  r.visit = before == run.executed.end() ? 0 : before->second;
  for (const auto& [u, steps] : run.steps)
    if (const auto step = steps.find(at); step != steps.end() && step->second != 0)
      r.visit_steps.emplace_back(u, step->second);
  r.lanes.resize(lanes);
  return r;
}

/// The record, or one more path of one that is the same.
void Explorer::keep(const State& state, AccessRecord record) {
  constexpr std::size_t most_paths = 32;
  u64 h = record.visit;
  const auto mix = [&](u64 v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 31;
  };
  for (const auto& [u, step] : record.visit_steps) mix((u64{u} << 32) | step);
  for (const LaneAddress& a : record.lanes) {
    mix(a.address | (u64{a.guard} << 32));
    mix(a.lds | (u64{a.offset} << 32));
    mix(a.records);
  }
  const auto [found, fresh] =
      recorded_.try_emplace({static_cast<u32>(record.instruction), record.wave, h}, report_.accesses.size());
  if (fresh) {
    record.paths = {state.path};
    report_.accesses.push_back(std::move(record));
    return;
  }
  AccessRecord& r = report_.accesses[found->second];
  PathConditions path = state.path;
  for (bool changed = true; changed && !r.merged;) { // both ways of the last question: without it
    changed = false;
    for (auto p = r.paths.begin(); p != r.paths.end(); ++p) {
      if (path.size() >= p->size() && std::equal(p->begin(), p->end(), path.begin())) return;
      if (path.empty() || p->size() != path.size() || p->back().first != path.back().first ||
          !std::equal(path.begin(), path.end() - 1, p->begin()))
        continue;
      r.paths.erase(p);
      path.pop_back();
      changed = true;
      break;
    }
  }
  if (!r.merged && r.paths.size() < most_paths) {
    r.paths.push_back(std::move(path));
    return;
  }
  r.merged = true;
  std::erase_if(r.paths.back(),
                [&](const auto& c) { return std::find(path.begin(), path.end(), c) == path.end(); });
}

void Explorer::scalar_memory(State& state, WaveRun& run, const Operation& op, u32 at) {
  const auto place_of = run.machine.scalar_place(op);
  if (!place_of) return;
  if (op.instruction->mnemonic.find("load") == std::string::npos) check_store(place_of->address, at);
  if (record_ && !run.machine.in_launch(place_of->address)) {
    AccessRecord r = new_record(run, at);
    r.bytes = place_of->bytes;
    r.atomic = op.instruction->mnemonic.find("atomic") != std::string::npos;
    r.write = r.atomic || op.instruction->mnemonic.find("store") != std::string::npos;
    LaneAddress& a = r.lanes[0];
    a.guard = t().constant(1);
    for (const Optional& o : run.optional) a.guard = t().both(a.guard, o.taken); // EXEC does not hold it back
    a.address = place_of->exact ? place_of->address : Terms::unknown;
    a.offset = place_of->offset;
    a.records = place_of->records;
    keep(state, std::move(r));
  }
  ++run.executed[at];
}

/// The base is 48 bits wide and so are addresses: what the mask cuts off a sum is cut off anyway.
Term Explorer::descriptor_base(Machine& m, unsigned s) {
  Term high = m.scalar(s + 1);
  if (t().kind(high) == TermKind::bit_and && t().value(t().children(high)[1]) == 0xffff)
    high = t().children(high)[0];
  const Term base = t().join(m.scalar(s), high);
  return t().kind(base) == TermKind::pair
             ? t().join(m.scalar(s), t().bit_and(m.scalar(s + 1), t().constant(0xffff)))
             : base;
}

void Explorer::memory(State& state, WaveRun& run, const Operation& op, u32 at) {
  Machine& m = run.machine;
  const MemoryFields& f = op.memory;
  const isa::Modifiers& mod = op.instruction->modifiers;
  const isa::Counted counted = isa::counted(*op.instruction);
  const u8 counters = static_cast<u8>((counted.vm ? on_vm : 0) | (counted.lgkm ? on_lgkm : 0));
  if (f.kind == FieldKind::none) { // of the caches
    if (counters != 0) issue(run, op, counters, counted.in_order, open_end);
    return;
  }
  const bool in_lds = f.space == Space::lds && f.kind != FieldKind::swizzle && f.kind != FieldKind::permute &&
                      f.kind != FieldKind::bpermute;
  const bool dma = f.kind == FieldKind::to_lds;
  const bool is_store = f.kind == FieldKind::store || (f.kind == FieldKind::add_tid && f.dest < 0);
  const u64 active = m.may();
  if (f.space == Space::flat) undecided("flat access at " + place(at) + ": it may go to LDS");

  // ---- addresses
  AccessRecord record;
  const bool wanted = record_ && f.space != Space::scratch && (f.space != Space::lds || in_lds);
  Footprint print;
  bool known = true;
  bool maybe = !run.optional.empty();
  Term culprit = 0;
  if (in_lds || dma) {
    print.bytes = f.bytes;
    print.two = f.two && in_lds;
    const unsigned slot = std::max<unsigned>(f.bytes, 4);
    if (dma) print.bytes = static_cast<u8>(slot);
    const Term base = dma || f.kind == FieldKind::add_tid ? m.scalar(m0) : 0;
    for (u64 left = active; left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      const Term g = m.guard(l);
      const auto decided = decide(state, g);
      if (decided && !*decided) continue;
      if (!decided) maybe = true;
      Term place_of = 0;
      if (dma) {
        place_of = t().add(t().bit_and(base, t().constant(0x3ffff)),
                           t().constant(static_cast<u32>(f.offset) + slot * l));
      } else if (f.kind == FieldKind::add_tid) {
        place_of = t().add(t().bit_and(base, t().constant(0xffff)),
                           t().constant(static_cast<u32>(f.offset) + 4 * l));
      } else if (f.vaddr < 0) { // append, consume
        place_of = t().add(t().bit_and(m.scalar(m0), t().constant(0xffff)),
                           t().constant(static_cast<u32>(f.offset)));
      } else {
        place_of = t().add(m.under(g, m.vector(static_cast<unsigned>(f.vaddr), l)),
                           t().constant(static_cast<u32>(f.offset)));
      }
      const auto v = t().value(place_of);
      if (!v || place_of == Terms::unknown) {
        known = false;
        culprit = place_of;
        break;
      }
      print.mask |= u64{1} << l;
      print.first[l] = static_cast<u32>(*v);
      if (print.two) print.second[l] = static_cast<u32>(*v) + static_cast<u32>(f.offset1 - f.offset);
      check_bounds(state, run, at, std::max(print.first[l], print.two ? print.second[l] : 0U), print.bytes, l,
                   !decided || !run.optional.empty());
    }
    if (!known) {
      // One reason an instruction: in the next trip the formula is another one.
      const auto [reason, fresh] =
          reasons_.try_emplace("LDS address of " + place(at) + " is not a number", "");
      if (fresh)
        reason->second = culprit == Terms::unknown
                             ? ": it comes from memory or from an instruction without formula"
                             : ": " + t().text(culprit, 5);
    }
    lds_sites_.insert(at);
    ++report_.lds_accesses;
  }
  if (f.space == Space::buffer || f.space == Space::global) global_sites_.insert(at);
  if (options_.check_stores && (is_store || f.kind == FieldKind::atomic)) {
    if (f.space == Space::buffer) check_store(descriptor_base(m, static_cast<unsigned>(f.srsrc)), at);
    const Term base = f.saddr >= 0 ? m.scalar64(static_cast<unsigned>(f.saddr)) : t().wide_constant(0);
    for (u64 left = f.space == Space::global ? active : 0; left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      const auto row = [&](unsigned k) {
        return m.under(m.guard(l), m.vector(static_cast<unsigned>(f.vaddr) + k, l));
      };
      check_store(
          f.vaddr < 0 ? base : t().add(base, f.saddr >= 0 ? t().zext(row(0)) : t().join(row(0), row(1))), at);
    }
  }
  if (wanted) {
    record = new_record(run, at);
    // A typed access has as many bytes as its format, at most four words.
    record.bytes = f.format_count != 0 ? 16U : f.bytes;
    record.write = is_store || f.kind == FieldKind::atomic;
    record.atomic = f.kind == FieldKind::atomic;
    record.lds = in_lds;
    record.to_lds = dma;
    Term buffer_base = 0;
    Term soffset = 0;
    Term records = 0;
    bool by_lane = false; // the descriptor adds the lane's number to the index: no formula
    if (f.space == Space::buffer) {
      const auto s = static_cast<unsigned>(f.srsrc);
      buffer_base = descriptor_base(m, s);
      soffset = t().zext(m.scalar_operand(f.soffset));
      records = m.scalar(s + 2);
      const Term add_tid = t().bit(m.scalar(s + 3), 23);
      by_lane = add_tid == Terms::unknown || t().value(add_tid) != 0;
    }
    const Term saddr = f.saddr >= 0 ? m.scalar64(static_cast<unsigned>(f.saddr)) : t().wide_constant(0);
    for (u64 left = active; left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      LaneAddress& a = record.lanes[l];
      a.guard = m.guard(l);
      const auto row = [&](unsigned k) {
        return m.under(a.guard, m.vector(static_cast<unsigned>(f.vaddr) + k, l));
      };
      if (in_lds) {
        a.address = t().constant(print.first[l]);
      } else if (f.space == Space::buffer) {
        Term part = t().constant(static_cast<u32>(f.offset));
        if (f.vaddr >= 0 && mod.offen) part = t().add(part, row(mod.idxen ? 1 : 0));
        a.offset = t().add(t().zext(part), soffset);
        a.records = records;
        a.address = mod.idxen || by_lane ? Terms::unknown : t().add(buffer_base, a.offset);
      } else if (f.space == Space::global || f.space == Space::flat) {
        Term v = t().wide_constant(0);
        if (f.vaddr >= 0) v = f.saddr >= 0 ? t().zext(row(0)) : t().join(row(0), row(1));
        a.address = t().add(t().add(saddr, v), t().wide_constant(static_cast<u64>(std::int64_t{f.offset})));
      }
      if (dma) a.lds = t().constant(print.first[l]);
    }
    keep(state, std::move(record));
  }
  ++run.executed[at];

  // ---- order
  u32 access = open_end;
  const bool atomic = f.kind == FieldKind::atomic;
  if ((in_lds || dma) && known && print.mask != 0) {
    Access a;
    a.site = at;
    a.write = dma || is_store || atomic;
    a.read = !dma && !is_store;
    a.atomic = atomic;
    a.dma = dma;
    a.maybe = maybe;
    a.issue = run.barriers;
    a.footprint = footprint(print);
    for (const Pending& p : run.pending) { // in this wave: the queues of LDS and of vector memory
      if (p.access == open_end) continue;
      const Access& other = run.trace[p.access];
      if (other.dma == dma || (!other.write && !a.write) || !overlap(other.footprint, a.footprint)) continue;
      OrderFinding finding;
      finding.kind = OrderKind::own;
      finding.wave = finding.other_wave = m.wave().id;
      finding.conditional = a.maybe || other.maybe;
      finding.message = dma ? "a load to LDS may land before an earlier LDS instruction of the same wave is "
                              "done: no lgkmcnt wait between"
                            : "LDS is accessed before a vmcnt wait covers the wave's own load to LDS";
      find(state, finding, at, other.site);
    }
    access = static_cast<u32>(run.trace.size());
    run.trace.push_back(a);
  }
  issue(run, op, counters, counted.in_order, access);
  const Term word = word_for_all(m, op); // asked first: what it loads may go where its address is
  for (const RowRange& r : op.writes)
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) m.forget(k, active);
  if (word != Terms::unknown)
    for (u64 left = active; left != 0; left &= left - 1)
      m.set_vector(op.writes[0].first, static_cast<unsigned>(std::countr_zero(left)), word);
}

void Explorer::check_bounds(State& state, const WaveRun& run, u32 at, u32 address, unsigned bytes,
                            unsigned lane, bool conditional) {
  const u32 size = setting_.kernel.descriptor.lds_bytes + options_.dynamic_lds;
  if (size == 0 || u64{address} + bytes <= size) return;
  OrderFinding f;
  f.kind = OrderKind::bounds;
  f.wave = f.other_wave = run.machine.wave().id;
  f.lane = f.other_lane = lane;
  f.byte = address;
  f.conditional = conditional;
  f.message = "lane " + std::to_string(lane) + " reaches LDS byte " +
              std::to_string(u64{address} + bytes - 1) + " of " + std::to_string(size);
  find(state, f, at, at);
}

/// Whether an address is that of a read-only argument and something that no pointer is in; nothing: of no argument, or of
/// several.
std::optional<bool> Explorer::read_only_base(Term address) {
  if (address == Terms::unknown) return std::nullopt;
  const auto [at, fresh] = bases_.try_emplace(address);
  if (!fresh) return at->second;
  std::vector<TermPart> parts(t().parts(address).begin(), t().parts(address).end());
  if (t().kind(address) != TermKind::linear) parts = {{address, 1}};
  std::optional<bool> found;
  for (const KernelArgument& a : setting_.kernel.arguments) {
    if (!a.pointer() || a.size != 8) continue;
    const Term low = setting_.argument_word(a.offset), high = setting_.argument_word(a.offset + 4);
    const Term base = t().join(low, high);
    for (const TermPart& p : parts) {
      if (p.atom == base && p.coefficient == 1 && !found) {
        found = read_only(a);
      } else if (t().mentions(p.atom, low) || t().mentions(p.atom, high)) {
        return bases_[address] = std::nullopt;
      }
    }
  }
  return bases_[address] = found;
}

void Explorer::check_store(Term address, u32 at) {
  if (options_.check_stores && read_only_base(address) != false) stores_.insert(at);
}

/// What a load of one word at one place brings to all lanes, where nobody writes; unknown otherwise.
Term Explorer::word_for_all(Machine& m, const Operation& op) {
  const MemoryFields& f = op.memory;
  const isa::Modifiers& mod = op.instruction->modifiers;
  if (options_.read_only.empty() || f.kind != FieldKind::load || f.bytes != 4 || f.format_count != 0 ||
      op.writes.size() != 1 || op.writes[0].count != 1)
    return Terms::unknown;
  if (f.space == Space::global && m.exec_is_number()) {
    Term address = 0;
    const Term saddr = f.saddr >= 0 ? m.scalar64(static_cast<unsigned>(f.saddr)) : t().wide_constant(0);
    for (u64 left = m.may(); left != 0; left &= left - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(left));
      const auto row = [&](unsigned k) { return m.vector(static_cast<unsigned>(f.vaddr) + k, l); };
      Term v = t().wide_constant(0);
      if (f.vaddr >= 0) v = f.saddr >= 0 ? t().zext(row(0)) : t().join(row(0), row(1));
      const Term here =
          t().add(t().add(saddr, v), t().wide_constant(static_cast<u64>(std::int64_t{f.offset})));
      if (here == Terms::unknown || (address != 0 && here != address)) return Terms::unknown;
      address = here;
    }
    if (address == 0 || read_only_base(address) != true) return Terms::unknown;
    told_by_read_only_ = true;
    return t().load(address);
  }
  if (f.space != Space::buffer || mod.idxen) return Terms::unknown;
  const auto s = static_cast<unsigned>(f.srsrc);
  if (t().value(t().bit(m.scalar(s + 3), 23)) != 0)
    return Terms::unknown;       // the lane's number would be in the address
  Term offset = t().constant(0); // that of the lanes, where it is one
  if (mod.offen) {
    if (!m.exec_is_number() || m.may() == 0) return Terms::unknown;
    const auto of_lane = [&](u64 lanes) {
      return m.vector(static_cast<unsigned>(f.vaddr), static_cast<unsigned>(std::countr_zero(lanes)));
    };
    offset = of_lane(m.may());
    for (u64 left = m.may(); left != 0; left &= left - 1)
      if (of_lane(left) != offset) return Terms::unknown;
    if (offset == Terms::unknown) return Terms::unknown;
  }
  const Term base = descriptor_base(m, s), records = m.scalar(s + 2);
  for (const KernelArgument& a : setting_.kernel.arguments)
    if (read_only(a) &&
        base == t().join(setting_.argument_word(a.offset), setting_.argument_word(a.offset + 4))) {
      told_by_read_only_ = true;
      const Term soffset = m.scalar_operand(f.soffset);
      const Term last = t().add(t().add(soffset, offset), t().constant(static_cast<u32>(f.offset) + 3));
      const Term there = t().load(t().add(base, t().add(t().add(t().zext(soffset), t().zext(offset)),
                                                        t().wide_constant(static_cast<u64>(f.offset)))));
      // Sums may wrap: then the lanes' offset is beyond the records.
      return t().select(t().less(offset, records, false),
                        t().select(t().less(last, records, false), there, t().constant(0)), t().constant(0));
    }
  return Terms::unknown;
}

} // namespace inlay::runtime::symbolic::exploring
