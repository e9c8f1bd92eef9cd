// Running a workgroup: its waves take turns, barriers release them together.
#include "debug.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <inlay/machine/target.h>
#include <inlay/runtime/hex.h>
#include <thread>

namespace inlay::runtime::emulator {
namespace {

std::string where(const Wave& w, unsigned lane) {
  const Launch& launch = *w.group->launch;
  const isa::Instruction& i = *launch.code->operations[w.current].instruction;
  const Extent3& g = w.group->id;
  const auto source = launch.source(i.address);
  return "\n  at     " + hex(i.address) + "  " + i.text +
         (source ? "\n  source " + isa::to_string(*source) : "") + "\n  in     " + launch.kernel->name +
         (launch.devices > 1 ? ", device " + std::to_string(w.group->device) : "") + ", workgroup " +
         std::to_string(g.x) + "," + std::to_string(g.y) + "," + std::to_string(g.z) + ", wave " +
         std::to_string(w.id) + ", lane " + std::to_string(lane);
}

} // namespace

void fail(const Wave& w, const std::string& what, unsigned lane) {
  throw ExecutionError("emulator: " + what + where(w, lane));
}

namespace {

/// One more finding that is no note: the launch may have had enough of them.
void count_defect(const Wave& w) {
  Launch& launch = *w.group->launch;
  const u64 count = launch.defects.fetch_add(1, std::memory_order_relaxed) + 1;
  if (launch.options->max_findings != 0 && count >= launch.options->max_findings)
    fail(w, "stopped after " + std::to_string(count) + (count == 1 ? " finding" : " findings"));
}

/// Once more; other threads may say so at the same moment.
void count_again(const Wave& w, Finding& f) {
  if (w.group->launch->alone) {
    ++f.count;
  } else {
    std::atomic_ref(f.count).fetch_add(1, std::memory_order_relaxed);
  }
  if (!f.note) count_defect(w);
}

} // namespace

void report(Wave& w, FindingKind kind, const std::string& message, unsigned lane, u64 address, bool note) {
  Launch& launch = *w.group->launch;
  const Checks& c = launch.options->checks;
  const bool on[] = {c.bounds, c.uninit, c.races, c.waits, c.barrier, c.align, c.hazard};
  if (!on[static_cast<std::size_t>(kind)]) {
    if (kind == FindingKind::bounds) fail(w, "memory fault: " + message, lane);
    return;
  }
  const isa::Instruction& i = *launch.code->operations[w.current].instruction;
  const std::lock_guard lock(launch.mutex);
  auto [at, fresh] = launch.findings.try_emplace({static_cast<u8>(kind), i.address});
  if (!fresh && (note || !at->second.note)) return count_again(w, at->second);
  if (!fresh) ++at->second.count;
  Finding& f = at->second; // fresh, or a note that gives way to a defect
  f.kind = kind;
  f.kernel = launch.kernel->name;
  f.address = i.address;
  f.disassembly = i.text;
  f.source = launch.source(i.address);
  f.workgroup = w.group->id;
  if (launch.devices > 1) f.device = w.group->device;
  f.wave = w.id;
  f.lane = lane;
  f.memory_address = address;
  f.message = message;
  f.note = note;
  if (launch.options->on_finding) launch.options->on_finding(f);
  if (!note) count_defect(w);
}

bool report_again(Wave& w, FindingKind kind) {
  Launch& launch = *w.group->launch;
  Wave::Said& said = w.said[w.current % w.said.size()];
  if (said.finding == nullptr || said.at != w.current || said.kind != kind) {
    const std::lock_guard lock(launch.mutex);
    const auto found = launch.findings.find(
        {static_cast<u8>(kind), launch.code->operations[w.current].instruction->address});
    if (found == launch.findings.end() || found->second.note) return false;
    said = {w.current, kind, &found->second}; // what is no note stays as it is
  }
  count_again(w, *said.finding);
  return true;
}

void report_lds_bounds(Wave& w, u64 address, bool is_write, unsigned lane) {
  Launch& launch = *w.group->launch;
  const std::string hint = launch.geometry.dynamic_lds == 0 ? "; --lds BYTES gives dynamic LDS" : "";
  const std::string verb = is_write ? "writes" : "reads";
  if (launch.lds_bytes != 0) {
    report(w, FindingKind::bounds,
           verb + " LDS byte " + std::to_string(address) + " of " + std::to_string(launch.lds_bytes) + hint,
           lane, address);
    return;
  }
  {
    const std::lock_guard lock(launch.mutex);
    if (launch.no_lds_at) {
      count_again(w, launch.findings.at({static_cast<u8>(FindingKind::bounds), *launch.no_lds_at}));
      return;
    }
  }
  report(w, FindingKind::bounds, verb + " LDS, of which this launch has none" + hint, lane, address);
  const std::lock_guard lock(launch.mutex);
  const u64 at = launch.code->operations[w.current].instruction->address;
  if (launch.findings.contains({static_cast<u8>(FindingKind::bounds), at})) launch.no_lds_at = at;
}

std::string unwritten_byte(const Allocation& home, u64 address) {
  return "byte " + std::to_string(address - home.begin) + " of a buffer of " +
         std::to_string(home.end - home.begin) + " bytes, which nothing has written";
}

u8* global_bytes(Wave& w, u64 address, unsigned bytes, unsigned lane, bool is_write, Allocation** home) {
  Allocation* a = w.recent;
  if (a == nullptr || !a->covers(address, bytes)) {
    a = w.group->launch->memory->find(address, bytes);
    if (a == nullptr) {
      Allocation* near = w.group->launch->memory->find(address);
      std::string message =
          std::string(is_write ? "writes " : "reads ") + std::to_string(bytes) + " bytes at " + hex(address);
      const Allocation* const beside = near == nullptr ? w.group->launch->memory->beside(address) : nullptr;
      if (near != nullptr) {
        message += ", past the end of an allocation of " + std::to_string(near->end - near->begin) + " bytes";
      } else {
        message += ", which no allocation contains";
      }
      if (beside != nullptr) {
        const bool before = address < beside->begin;
        const u64 distance = before ? beside->begin - address : address - beside->end;
        message += (distance == 0 ? "; directly" : "; " + std::to_string(distance) + " bytes") +
                   (before ? " before the start" : " past the end") + " of one of " +
                   std::to_string(beside->end - beside->begin) + " bytes";
      }
      report(w, FindingKind::bounds, message, lane, address);
      return nullptr;
    }
    w.recent = a;
  }
  if (w.watching) note_access(w, false, address, bytes, lane, is_write, reinterpret_cast<const u8*>(address));
  if (is_write) a->mark_written(address, bytes);
  if (home != nullptr) *home = a;
  return reinterpret_cast<u8*>(address);
}

/// Registers at the start of a wave: LLVM "User Guide for AMDGPU Backend", "Initial Kernel Execution State".
void start_wave(Wave& w, const Launch& launch, u32 threads_before, u32 threads_total) {
  const KernelDescriptor& d = launch.kernel->descriptor;
  const bool poison = launch.options->stress;
  if (poison) {
    for (unsigned r = 0; r < vector_rows; ++r) std::fill_n(w.row(r), lanes, 0x7ff4beefU);
    std::fill(w.scalar.begin(), w.scalar.end(), 0x7ff4beefU);
  } else {
    std::memset(w.row(0), 0, sizeof(u32) * lanes * vector_rows);
  }
  w.arch = launch.arch;
  const FloatMode& m = d.mode;
  w.mode = u32{m.round_32} | (u32{m.round_16_64} << 2) | (u32{m.denorm_32} << 4) |
           (u32{m.denorm_16_64} << 6) | (m.dx10_clamp ? 0x100U : 0) | (m.ieee ? 0x200U : 0) |
           (m.fp16_overflow ? 1U << 23 : 0);
  unsigned s = 0;
  const auto put = [&](u32 value) {
    if (s < 102) w.scalar[s++] = value;
  };
  const auto put64 = [&](u64 value) {
    put(static_cast<u32>(value));
    put(static_cast<u32>(value >> 32));
  };
  const bool by_descriptor = !machine::target(launch.arch).architected_scratch;
  if (d.private_segment_buffer) { // here an offset in it is a byte of the lane: nothing has to be swizzled
    put64(by_descriptor ? u64{scratch_window} << 32 : 0);
    put64(by_descriptor ? 0xffffffffU | u64{machine::target(launch.arch).buffer_flags} << 32 : 0);
  }
  const auto [kernarg, packet] = launch.segments.empty() ? std::pair(launch.kernarg, launch.dispatch_packet)
                                                         : launch.segments[w.group->device];
  if (d.dispatch_ptr) put64(packet);
  if (d.queue_ptr) put64(0);
  if (d.kernarg_ptr) put64(kernarg);
  if (d.dispatch_id) put64(0);
  if (d.flat_scratch_init) put64(0);
  if (d.private_segment_size) put(launch.scratch_bytes);
  for (u32 i = 0; i < d.preload_length; ++i) {
    u32 value = 0;
    std::memcpy(&value, reinterpret_cast<const u8*>(kernarg) + 4 * (d.preload_offset + i), 4);
    put(value);
  }
  s = std::max(s, d.user_sgprs);
  const Extent3& id = w.group->id;
  if (d.workgroup_id_x) put(id.x);
  if (d.workgroup_id_y) put(id.y);
  if (d.workgroup_id_z) put(id.z);
  if (d.workgroup_info) put(0);
  if (d.scratch_enabled && by_descriptor) put(0); // where the wave's scratch begins

  const unsigned given = s;
  for (unsigned r = flat_scratch_lo; r < vcc_lo; ++r) w.scalar[r] = 0;

  const u32 here = std::min<u32>(lanes, threads_total - threads_before);
  w.lane_exists = here == lanes ? ~u64{0} : (u64{1} << here) - 1;
  w.set_scalar64(exec_lo, w.lane_exists);
  const Extent3& block = launch.geometry.block;
  u32* v0 = w.row(0);
  for (unsigned l = 0; l < lanes; ++l) {
    const u32 t = threads_before + l;
    const u32 x = t % block.x;
    const u32 y = t / block.x % block.y;
    const u32 z = t / block.x / block.y;
    v0[l] = x | (y << 10) | (z << 20);
  }
  w.scratch.assign(std::size_t{lanes} * launch.scratch_bytes, poison ? 0xee : 0);
  const Checks& c = launch.options->checks;
  if (c.uninit && !poison) {
    w.defined = std::make_unique<Definedness>(w.lane_exists);
    w.defined->lanes_of[0] = 0;
    for (unsigned r = given; r < 102; ++r) w.defined->set_scalar(r, ~0U, 0);
    for (const unsigned r : {unsigned{vcc_lo}, vcc_lo + 1U, unsigned{m0}}) w.defined->set_scalar(r, ~0U, 0);
    w.defined->scratch.assign(w.scratch.size(), 0xff);
  }
  w.deferring = poison;
  w.watching = !launch.options->debug.watches.empty();
  w.tracking = !poison && (c.waits || c.uninit || c.hazard || c.races);
  w.checks_waits = c.waits;
  if (w.tracking && c.hazard) w.hazards = std::make_unique<HazardState>();
  w.at = launch.entry;
  w.status = WaveStatus::running;
}

namespace {

std::string trace_line(const Wave& w, const Operation& op, unsigned lane) {
  std::string out = hex(op.instruction->address) + "  " + op.instruction->text;
  out.resize(std::max<std::size_t>(out.size(), 72), ' ');
  out += " ;";
  for (const RowRange& r : op.writes) {
    for (unsigned k = r.first; k < unsigned{r.first} + std::min<unsigned>(r.count, 4); ++k) {
      out += (k >= w.accum_offset ? " a" + std::to_string(k - w.accum_offset) : " v" + std::to_string(k)) +
             "=" + hex(w.row(k)[lane]);
    }
  }
  for (unsigned r = 0; r < 128; ++r) {
    if (((op.scalar_writes[r / 64] >> (r % 64)) & 1U) != 0)
      out += " s" + std::to_string(r) + "=" + hex(w.scalar[r]);
  }
  out += w.scc ? " scc=1" : " scc=0";
  if (const auto source = w.group->launch->source(op.instruction->address))
    out += "  " + isa::to_string(*source);
  return out;
}

/// Inlined into both loops: as a call it costs a tenth of a scalar instruction.
[[gnu::always_inline]] inline void count(Wave& w, const Operation& op) {
  ++w.stats.instructions;
  switch (op.cls) {
  case Class::scalar: ++w.stats.scalar; break;
  case Class::vector: ++w.stats.vector; break;
  case Class::matrix:
    ++w.stats.matrix;
    w.stats.multiply_adds += op.multiply_adds;
    break;
  case Class::lds: ++w.stats.lds; break;
  case Class::memory: ++w.stats.memory; break;
  case Class::scalar_memory: ++w.stats.scalar_memory; break;
  case Class::branch: ++w.stats.branches; break;
  case Class::wait: ++w.stats.waits; break;
  case Class::other: ++w.stats.other; break;
  }
}

/// Executes `op` and tells the observer, when there is one.
void execute_observed(Wave& w, const Operation& op) {
  LaunchObserver* observer = w.group->launch->options->observer;
  if (observer == nullptr) {
    op.execute(w, op);
    return;
  }
  static thread_local ObservedAccess access;
  const u64 exec = w.exec();
  const std::vector<u8>& unneeded = w.group->launch->unneeded;
  const bool memory = (op.cls == Class::lds && w.group->lds_is_observed) || op.cls == Class::memory ||
                      op.cls == Class::scalar_memory;
  access.mask = 0;
  w.observed = memory ? &access : nullptr;
  if (unneeded.empty()) {
    if (op.cls != Class::matrix || observer->needs_matrix_values()) op.execute(w, op);
  } else if (memory || unneeded[w.current] == 0) {
    w.addresses_alone = unneeded[w.current] != 0;
    op.execute(w, op);
    w.addresses_alone = false;
  }
  w.observed = nullptr;
  observer->executed({.workgroup = w.group->linear,
                      .wave = w.id,
                      .index = w.current,
                      .next = w.at,
                      .exec = exec,
                      .instruction = op.instruction,
                      .access = memory ? &access : nullptr});
}

/// What to know about the loop that the wave is in, the shortest that a backward branch closes around it, when it reads memory.
std::string polls(const Wave& w) {
  const auto& all = w.group->launch->code->operations;
  std::size_t first = 0, last = all.size();
  for (std::size_t i = w.current; i < all.size(); ++i) {
    const std::string_view name = all[i].instruction->mnemonic;
    if (!name.starts_with("s_branch") && !name.starts_with("s_cbranch")) continue;
    if (all[i].target > w.current || (last != all.size() && i - all[i].target >= last - first)) continue;
    first = all[i].target;
    last = i;
  }
  for (std::size_t i = first; last != all.size() && i <= last; ++i) {
    const MemoryFields::Kind kind = all[i].memory.kind;
    const std::string_view name = all[i].instruction->mnemonic;
    const bool reads = all[i].cls == Class::memory
                           ? kind == MemoryFields::Kind::load ||
                                 (kind == MemoryFields::Kind::atomic && all[i].memory.returns)
                           : name.starts_with("s_load") || name.starts_with("s_buffer_load");
    if (!reads) continue;
    return "\n  polls  " + all[i].instruction->text +
           "\n  hint   another workgroup has to change what it reads, or nobody does";
  }
  return "";
}

/// Runs one wave until it ends, meets a barrier, or has had its turn. `observed`: traced, or looked into.
template <bool observed>
u64 run_wave(Wave& w, u64 turn, bool traced) {
  Launch& launch = *w.group->launch;
  const Operation* operations = launch.code->operations.data();
  const bool check = w.tracking, debug = launch.options->debug.enabled();
  u64 done = 0;
  while (w.status == WaveStatus::running && done < turn) {
    const Operation& op = operations[w.at];
    w.current = w.at;
    w.at = op.next;
    if constexpr (observed)
      if (debug) report_breakpoints(w);
    if (check) check_registers(w, op);
    if constexpr (observed) {
      execute_observed(w, op);
    } else {
      op.execute(w, op);
    }
    count(w, op);
    ++done;
    if constexpr (observed) {
      if (!launch.counts.empty())
        std::atomic_ref(launch.counts[w.current]).fetch_add(1, std::memory_order_relaxed);
      if (debug) finish_access(w);
      if (traced) launch.options->trace.line(trace_line(w, op, launch.options->trace.lane));
    }
  }
  w.executed += done;
  if (launch.executed.fetch_add(done, std::memory_order_relaxed) + done >
      launch.options->max_wave_instructions) {
    fail(w, "the launch passed " + std::to_string(launch.options->max_wave_instructions) +
                " wave instructions without ending: an endless loop?" + polls(w));
  }
  if (launch.options->interrupt != nullptr && launch.options->interrupt->load(std::memory_order_relaxed))
    fail(w, "interrupted");
  return done;
}

} // namespace

void begin_workgroup(Launch& launch, Workgroup& g) {
  const EmulatorOptions& options = *launch.options;
  const Extent3& block = launch.geometry.block;
  const u32 threads = static_cast<u32>(block.count());
  const u32 wave_count = (threads + lanes - 1) / lanes;
  g.launch = &launch;
  g.epoch = 1;
  g.linear = ((u64{g.device} * launch.geometry.grid.z + g.id.z) * launch.geometry.grid.y + g.id.y) *
                 launch.geometry.grid.x +
             g.id.x;
  g.random.seed(options.seed * 0x9e3779b97f4a7c15ULL + g.linear);
  g.lds.assign(launch.lds_bytes, options.stress ? 0xfe : 0);
  g.reads_crossing = false;
  g.period = g.arrived = 1;
  g.synchronizes = g.acquires = 0;
  g.written_back = g.system_written_back = g.released = g.landed = {};
  g.stores_scoped = false;
  g.scalar_cache = {};
  g.peers = {};
  g.slices = 0;
  g.lds_is_observed = options.observer != nullptr && options.observer->needs_lds(g.linear);
  const Checks& c = options.checks;
  // A wave alone meets nobody, and waits for its own LDS instructions in order: only what DMA brings can come too late.
  if ((c.races || c.waits) && !options.stress && (wave_count > 1 || launch.code->loads_to_lds)) {
    const std::size_t words = launch.lds_bytes / 4 + 1, pages = launch.lds_bytes / 256 + 1;
    g.shadow.resize(words);
    g.shadow_of.resize(pages, 0);
    ++g.generation;
    g.pages.assign(pages, {});
    g.log.clear();
    g.precise = false;
    g.all_landed_epoch = 0;
    g.reads.resize((c.waits || launch.code->polls_lds) && wave_count > 1 ? words * wave_count : 0);
    g.page_reads.assign(g.reads.empty() ? 0 : pages * wave_count, 0);
    g.knowledge.assign(launch.code->polls_lds ? wave_count : 0, {});
    g.arrivals.clear();
  } else {
    g.shadow.clear();
    g.shadow_of.clear();
    g.reads.clear();
    g.page_reads.clear();
  }
  g.tracks_global =
      c.races && !options.stress && u64{wave_count} * launch.geometry.grid.count() * launch.devices > 1;
  if (g.tracks_global) name_writer(g);
  g.lds_undefined.assign(c.uninit && !options.stress ? launch.lds_bytes : 0, 0xff);
  g.lds_defined.assign(g.lds_undefined.size() / 256 / 64 + 3, 0);
  g.lds_origin.assign(c.uninit && !options.stress ? launch.lds_bytes / 4 + 1 : 0, 0);
  while (g.waves.size() < wave_count) {
    g.waves.push_back(std::make_unique<Wave>(
        launch.kernel->descriptor.accum_offset == 0 ? 256U : launch.kernel->descriptor.accum_offset));
  }
  g.order.clear();
  g.polled = 0;
  for (u32 i = 0; i < wave_count; ++i) {
    g.waves[i] = std::make_unique<Wave>(g.waves[i]->accum_offset, *g.waves[i]);
    Wave& w = *g.waves[i];
    w.group = &g;
    w.id = i;
    start_wave(w, launch, i * lanes, threads);
    g.order.push_back(i);
  }
}

bool continue_workgroup(Launch& launch, Workgroup& g, u64 instructions, u64 polls) {
  const EmulatorOptions& options = *launch.options;
  const u32 wave_count = static_cast<u32>(g.waves.size());
  const u64 polls_before = g.polled;
  u64 spent = 0;
  // Of several devices a turn ends soon after a flag is written: whoever waits for it finds it as it is, and not a later one.
  // Under stress workgroups that wait for others may have begun before them: those have short turns.
  const u64 usual_turn = launch.devices > 1                            ? 16
                         : options.stress && launch.code->polls_memory ? 128
                         : wave_count == 1 || options.stress           ? 20000
                                                                       : std::max(1U, options.turn);
  g.told = false;
  const bool traced_group = options.trace.enabled && options.trace.workgroup == g.linear;
  const bool looked_into = options.debug.enabled() || options.observer != nullptr || !launch.counts.empty();
  for (;;) {
    if (launch.stop.load(std::memory_order_relaxed)) return true;
    if (spent >= instructions || g.polled - polls_before >= polls) return false;
    if (g.told && !(options.stress && g.random() % 4 == 0)) return false;
    if (options.stress) std::shuffle(g.order.begin(), g.order.end(), g.random);
    u32 running = 0;
    u32 waiting = 0;
    for (const u32 i : g.order) {
      Wave& w = *g.waves[i];
      if (w.status != WaveStatus::running) continue;
      const u64 turn = options.stress && g.random() % 4 == 0 ? 1 + g.random() % 64 : usual_turn;
      const bool traced = traced_group && options.trace.wave == i;
      if (traced || looked_into) {
        spent += run_wave<true>(w, turn, traced);
      } else {
        spent += run_wave<false>(w, turn, false);
      }
      if (w.status == WaveStatus::ended) {
        wait_for(w, 0, 0);
        if (w.watching) finish_access(w);
      }
    }
    if (launch.print && launch.alone) launch.print();
    for (u32 i = 0; i < wave_count; ++i) {
      running += g.waves[i]->status == WaveStatus::running ? 1 : 0;
      waiting += g.waves[i]->status == WaveStatus::at_barrier ? 1 : 0;
    }
    if (running != 0) continue;
    if (waiting == 0) return true;
    if (waiting != wave_count) { // hardware lets ended waves count as arrived
      for (u32 i = 0; i < wave_count; ++i) {
        Wave& w = *g.waves[i];
        if (w.status != WaveStatus::at_barrier) continue;
        w.current = w.barrier_at;
        report(w, FindingKind::barrier,
               std::to_string(waiting) + " of " + std::to_string(wave_count) +
                   " waves wait here, the others have ended without it");
        break;
      }
    }
    if (options.stress && !launch.kernel->descriptor.tg_split)
      for (const auto& w : g.waves) reach_memory(*w);
    if (!g.shadow.empty()) lds_at_barrier(g);
    if (launch.devices > 1) peers_at_barrier(g);
    ++g.epoch;
    if (g.tracks_global) global_at_barrier(g);
    g.reads_crossing = false;
    for (u32 i = 0; i < wave_count; ++i) {
      Wave& w = *g.waves[i];
      w.lds_landed_at_barrier = w.lds_landed;
      w.vm_landed_at_barrier = w.vm_landed;
      w.lds_issued_at_barrier = w.last_lds_id;
      w.synchronizes = g.synchronizes, w.acquires = g.acquires;
      g.reads_crossing = g.reads_crossing || w.last_lds_read_id > w.lds_landed;
      if (w.status == WaveStatus::at_barrier) w.status = WaveStatus::running;
    }
  }
}

void end_workgroup(Workgroup& g, LaunchStatistics& statistics) {
  for (const auto& wave : g.waves) statistics.add(wave->stats);
  statistics.waves += g.waves.size();
  ++statistics.workgroups;
  if (g.launch->devices > 1) peers_at_end(g);
  if (g.conflicts.empty() && g.scratch.empty()) return;
  const std::lock_guard lock(g.launch->mutex);
  for (const auto& [at, c] : g.conflicts) g.launch->conflicts[at].add(c);
  for (const auto& [at, accesses] : g.scratch) g.launch->scratch[at] += accesses;
  g.conflicts.clear(), g.scratch.clear();
}

void step(Wave& w, ObservedAccess& access) {
  const Operation& op = w.group->launch->code->operations[w.at];
  w.current = w.at;
  w.at = op.next;
  if (w.tracking) check_registers(w, op);
  access.mask = 0;
  w.observed = &access;
  op.execute(w, op);
  w.observed = nullptr;
  if (w.watching) finish_access(w);
  count(w, op);
  ++w.executed;
}

} // namespace inlay::runtime::emulator
