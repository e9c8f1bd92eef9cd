// Several devices: which stores and loads of workgroups of other devices come before what a wave does, by what it has read.
//
// Between devices, LLVM's memory model (User Guide for AMDGPU Backend, the memory model of CDNA3) wants of who writes: its stores, those of
// other waves before a barrier, `buffer_wbl2 sc0 sc1` and `s_waitcnt vmcnt(0)`, then an atomic with sc1 or a store with sc0 and sc1; and of
// who reads: a load with sc0 and sc1 or an atomic with sc1 of that word, and `buffer_inv sc0 sc1`. Each such word, a flag, carries what
// was done before it, as a clock of workgroups: the periods of their waves (Workgroup::period). A relation that passes on from
// one to the next, over workgroups of one device, too, where device scope is enough.
//
// Whoever waits for the loads alone (a device that lets another overwrite what it has read) needs neither of the two instructions.
#include "engine.h"

#include <algorithm>

namespace inlay::runtime::emulator {

namespace {

void join(Heard& into, const Heard& from) {
  into.done.join(from.done);
  into.released.join(from.released);
  into.acquired.join(from.acquired);
  into.cleared.join(from.cleared);
  into.begun.join(from.begun);
}

void join(Clock& into, const Clock& from) {
  for (const auto& [group, heard] : from) join(into[group], heard);
}

u32 device_of(const Launch& launch, u64 group) {
  return static_cast<u32>(group / launch.geometry.grid.count());
}

/// Of a clock in a flag: what was done is known at once, the rest when the caches are cleared.
void hear(const Launch& launch, Peers& p, Clock& pending, const Clock& clock) {
  for (const auto& [group, heard] : clock) {
    p.known[group].done.join(heard.done);
    p.known[group].begun.join(heard.begun);
    p.begun |= u64{1} << device_of(launch, group);
    Heard& later = pending[group];
    later.acquired.join(heard.done);
    later.cleared.join(heard.done);
    later.released.join(heard.released);
  }
}

void take(const Launch& launch, Peers& p, const Clock& pending) {
  for (const auto& [group, heard] : pending) {
    Heard& known = p.known[group];
    known.acquired.join(heard.acquired);
    known.cleared.join(heard.cleared);
    known.released.join(heard.released);
    if (!heard.released.none()) p.written_back |= u64{1} << device_of(launch, group);
  }
}

/// Whether all that the wave has begun in this epoch is done, caches aside.
bool has_landed(const Wave& w) {
  for (u32 i = 0; i < w.vm_queue.size(); ++i)
    if (w.vm_queue[i].op->memory.kind != MemoryFields::Kind::none) return false;
  return true;
}

/// `buffer_wbl2` was executed and not waited for. LLVM leaves out `s_waitcnt vmcnt(0)` after it where it knows of nothing else that is on
/// its way, although its memory model has one there.
bool is_writing_back(const Wave& w, bool system) {
  return w.writes_back != 0 && (!system || w.writes_back_system);
}

/// What a flag says that this wave sets now.
Clock tell(Wave& w, bool system) {
  const Workgroup& g = *w.group;
  Progress released = written_back(w, system);
  if (is_writing_back(w, system)) released.join(w.writing_back);
  Clock out;
  for (const Peers* p : {&g.peers, &std::as_const(w.peers)}) {
    for (const auto& [group, heard] : p->known) {
      Heard& to = out[group];
      to.done.join(heard.done);
      to.begun.join(heard.begun);
      if (!released.none()) to.released.join(heard.released);
    }
  }
  Heard& own = out[g.linear];
  Progress done;
  done.before.fill(g.arrived);
  // What a flag before this one has told is done still, though that flag may be on its way.
  if (has_landed(w)) w.done = g.period + 1;
  done.before[w.id] = std::max(g.arrived, w.done);
  own.done.join(done);
  own.begun.before[w.id] = g.period + 1;
  own.released.join(released);
  return out;
}

void read_flag(Wave& w, const Operation& op, const Allocation& home, u64 word) {
  const Workgroup& g = *w.group;
  Launch& launch = *g.launch;
  const auto at = launch.flags.find(word);
  if (at == launch.flags.end()) return;
  const Flag& flag = at->second;
  u64& version = w.peers.versions[word];
  if (version == flag.version) return;
  version = flag.version;
  if (reaches_devices(op, home)) hear(launch, w.peers, w.peers.from_system, flag.system);
  if (const auto own = flag.on_device.find(g.device); own != flag.on_device.end())
    hear(launch, w.peers, w.peers.from_device, own->second);
}

void write_flag(Wave& w, const Operation& op, const Allocation& home, u64 word) {
  const Workgroup& g = *w.group;
  if (op.memory.system_scope && is_writing_back(w, true))
    report(w, FindingKind::waits,
           "no 's_waitcnt vmcnt(0)' between 'buffer_wbl2' and this: LLVM's memory model has one there, so "
           "that what is "
           "written back is there before (LLVM itself leaves it out where nothing else is on its way)",
           0, word, true);
  Flag& flag = g.launch->flags[word];
  if (op.memory.kind != MemoryFields::Kind::atomic) flag = {};
  flag.version = ++g.launch->flag_versions;
  if (reaches_devices(op, home)) join(flag.system, tell(w, true));
  join(flag.on_device[g.device], tell(w, false));
}

} // namespace

void Peers::join(const Peers& other) {
  emulator::join(known, other.known);
  emulator::join(from_system, other.from_system);
  emulator::join(from_device, other.from_device);
  begun |= other.begun;
  written_back |= other.written_back;
}

void note_flags(Wave& w, const Operation& op, const u64* address, u64 mask) {
  using Kind = MemoryFields::Kind;
  const MemoryFields& f = op.memory;
  const bool writes = f.kind == Kind::store || f.kind == Kind::atomic;
  for (u64 m = mask; m != 0; m &= m - 1) {
    const u64 at = address[std::countr_zero(m)];
    Allocation* const home = w.group->launch->memory->find(at, f.bytes);
    if (home == nullptr || home->of_host) continue;
    if (f.kind != Kind::store) check_flag(w, *home, at, f.bytes, static_cast<unsigned>(std::countr_zero(m)));
    for (u64 word = at / 4 * 4; word < at + f.bytes; word += 4) {
      if (f.kind != Kind::store && (f.kind != Kind::atomic || f.returns)) read_flag(w, op, *home, word);
      if (writes) write_flag(w, op, *home, word);
    }
  }
  if (!writes || mask == 0) return;
  next_period(*w.group); // what it stores from now on is none of what they tell
  w.group->told = true;
}

void clear_caches(Wave& w, bool system) {
  const Launch& launch = *w.group->launch;
  for (const Peers* p : {&std::as_const(w.group->peers), &std::as_const(w.peers)}) {
    take(launch, w.peers, Clock(p->from_device));
    if (system) take(launch, w.peers, Clock(p->from_system));
    for (const auto& [group, heard] : Clock(p->from_system)) w.peers.known[group].cleared.join(heard.cleared);
  }
}

void peers_at_barrier(Workgroup& g) {
  for (const auto& w : g.waves) {
    g.peers.join(w->peers);
    std::map<u64, u64> versions = std::move(w->peers.versions);
    w->peers = {};
    w->peers.versions = std::move(versions);
  }
}

void peers_at_end(const Workgroup& g) {
  const auto keep = [&](const Peers& p) {
    Clock& end = g.launch->ends[g.device];
    join(end, p.known);
    for (const Clock* pending : {&p.from_system, &p.from_device}) join(end, *pending);
  };
  keep(g.peers);
  for (const auto& w : g.waves) keep(w->peers);
}

Heard heard_of(const Wave& w, u64 group) {
  Heard out;
  for (const Peers* p : {&std::as_const(w.group->peers), &std::as_const(w.peers)})
    if (const auto at = p->known.find(group); at != p->known.end()) join(out, at->second);
  return out;
}

} // namespace inlay::runtime::emulator
