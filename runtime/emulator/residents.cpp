// Workgroups of a launch: over threads, and in turns where they wait for each other.
//
// A workgroup as a rule runs until it has ended, and then the next one begins, x fastest. One that polls memory which another
// workgroup has to change cannot: it is put aside, others begin, as many as the device holds at a time, and all take turns. When none of
// them can go on any more, because each of their waves comes back to a state in which it was and nothing has changed memory
// meanwhile, that is a deadlock and is said.
#include "engine.h"
#include <inlay/machine/target.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <inlay/runtime/isa/report.h>
#include <numeric>
#include <random>
#include <thread>
#include <tuple>

namespace inlay::runtime::emulator {
namespace {

/// Workgroups that the device holds at a time.
u64 residents_of(const Launch& launch) {
  const KernelDescriptor& d = launch.kernel->descriptor;
  const auto items = static_cast<unsigned>(launch.geometry.block.count()),
             waves = (items + lanes - 1) / lanes;
  const unsigned room =
      4 * isa::occupancy(d.vgprs, launch.lds_bytes, items, launch.arch, d.sgprs).waves_per_simd;
  return static_cast<u64>(machine::target(launch.arch).compute_units) * std::max(1U, room / waves);
}

/// What a wave that spins reads of memory again and again.
struct Polled {
  u64 address = 0;
  bool lds = false;
  const isa::Instruction* instruction = nullptr;
  const Wave* wave = nullptr;
};

/// Whether the wave comes back to the state in which it is without having changed memory. It is executed meanwhile.
bool spins(Wave& w, std::vector<Polled>& polled) {
  constexpr unsigned longest = 1024;
  Launch& launch = *w.group->launch;
  const auto& operations = launch.code->operations;
  const std::size_t bytes = sizeof(u32) * lanes * vector_rows;
  std::vector<u8> rows(bytes);
  std::memcpy(rows.data(), w.row(0), bytes);
  const auto scalar = w.scalar;
  const auto state = [&] { return std::tuple(w.scc, w.mode, w.gpr_idx_mode, w.vskip); };
  const auto before = state();
  const u32 at = w.at;
  ObservedAccess access;
  for (unsigned n = 0; n < longest; ++n) {
    const Operation& op = operations[w.at];
    const MemoryFields& f = op.memory;
    const std::string_view name = op.instruction->mnemonic;
    const bool memory = op.cls == Class::lds || op.cls == Class::memory;
    const bool writes =
        memory && (f.kind == MemoryFields::Kind::store || f.kind == MemoryFields::Kind::to_lds ||
                   (f.kind == MemoryFields::Kind::add_tid && f.dest < 0));
    const bool scalar_load = name.starts_with("s_load") || name.starts_with("s_buffer_load");
    // Matrix instructions and LDS: waves that compute keep step, and this one must not run ahead of the others.
    if (op.cls == Class::matrix || (op.cls == Class::lds && !op.polls)) return false;
    if (writes || (op.cls == Class::scalar_memory && !scalar_load && !name.starts_with("s_dcache")) ||
        name == "s_barrier" || name.starts_with("s_endpgm"))
      return false;
    step(w, access);
    if (launch.changed || w.status != WaveStatus::running) return false;
    if (access.mask != 0 && (memory || scalar_load) && access.space != ObservedAccess::Space::crossbar &&
        access.space != ObservedAccess::Space::scratch) {
      const Polled p{access.address[static_cast<std::size_t>(std::countr_zero(access.mask))],
                     access.space == ObservedAccess::Space::lds, op.instruction, &w};
      const bool known = std::any_of(polled.begin(), polled.end(), [&](const Polled& o) {
        return o.address == p.address && o.lds == p.lds && o.wave->group == w.group;
      });
      if (!known) polled.push_back(p);
    }
    if (w.at == at && state() == before && w.scalar == scalar &&
        std::memcmp(rows.data(), w.row(0), bytes) == 0)
      return true;
  }
  return false;
}

/// Whether no wave of the workgroup can go on while memory stays as it is. `reads`: what they read of it.
bool is_stuck(Workgroup& g, std::vector<Polled>& reads) {
  if (g.launch->options->stress || g.launch->options->observer != nullptr) return false;
  bool some = false;
  for (const auto& w : g.waves) {
    if (w->status != WaveStatus::running) continue;
    some = true;
    if (!spins(*w, reads)) return false;
  }
  return some;
}

std::string describe(const Launch& launch, const Polled& p) {
  std::string where;
  u32 value = 0;
  if (p.lds) {
    where = "LDS byte " + std::to_string(p.address);
    if (p.address + 4 <= p.wave->group->lds.size()) std::memcpy(&value, &p.wave->group->lds[p.address], 4);
  } else if (const Allocation* const home = launch.memory->find(p.address, 4)) {
    where = "byte " + std::to_string(p.address - home->begin) + " of a buffer of " +
            std::to_string(home->end - home->begin) + " bytes";
    std::memcpy(&value, reinterpret_cast<const void*>(p.address), 4);
  } else {
    return "";
  }
  char text[24];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return "\n  polls  " + where + ", which holds " + text + ": '" + p.instruction->text + "' of workgroup " +
         std::to_string(p.wave->group->linear % launch.geometry.grid.count()) +
         (launch.devices > 1 ? " of device " + std::to_string(p.wave->group->device) : "") + ", wave " +
         std::to_string(p.wave->id);
}

[[noreturn]] void fail_stuck(const Launch& launch, const Workgroup& g, const std::vector<Polled>& reads,
                             const std::string& what) {
  std::string text = what;
  for (std::size_t i = 0; i < std::min<std::size_t>(reads.size(), 8); ++i) text += describe(launch, reads[i]);
  if (reads.size() > 8) text += "\n  polls  " + std::to_string(reads.size() - 8) + " more places";
  const auto wave = std::find_if(g.waves.begin(), g.waves.end(),
                                 [](const auto& w) { return w->status == WaveStatus::running; });
  fail(wave == g.waves.end() ? *g.waves[0] : **wave, text);
}

/// The workgroups of one thread.
class Residents {
public:
  Residents(Launch& launch, std::atomic<u64>& next, LaunchStatistics& statistics,
            const std::function<void()>& ended)
      : launch_(launch), next_(next), statistics_(statistics), ended_(ended), room_(residents_of(launch)),
        begun_(launch.devices), resident_(launch.devices), random_(launch.options->seed) {}

  void run() {
    while (!launch_.stop) {
      // One that is put aside has its turn between any two that begin.
      if (Workgroup* const fresh = launch_.devices > 1     ? begin_on_device()
                                   : aside_.size() < room_ ? begin()
                                                           : nullptr) {
        turn(fresh);
      } else if (aside_.empty()) {
        break;
      }
      if (aside_.empty()) continue;
      const std::size_t next = launch_.devices > 1 && launch_.options->stress ? random_() % aside_.size() : 0;
      Workgroup* const g = aside_[next];
      aside_.erase(aside_.begin() + static_cast<std::ptrdiff_t>(next));
      turn(g);
    }
    if (launch_.devices > 1 && !all_.empty() && all_[0]->tracks_global && launch_.options->streams)
      check_ends(*all_[0]->waves[0]);
  }

private:
  /// So many instructions of a workgroup that polls nothing, and then a look whether it gets anywhere.
  static constexpr u64 patience = u64{1} << 22;
  static constexpr u64 most_polls = 256, most_polls_under_stress = 4;
  /// Of several devices: a turn, so that what they do is interleaved.
  static constexpr u64 slice = 1024;

  Workgroup* begin() {
    const Extent3& grid = launch_.geometry.grid;
    const u64 total = grid.count();
    LaunchObserver* const observer = launch_.options->observer;
    u64 i = next_++;
    while (i < total && observer != nullptr && !observer->wants(i)) i = next_++;
    return i < total ? begin(0, launch_.options->stress ? shuffled(i, total) : i) : nullptr;
  }
  /// Under stress: which workgroup comes `i`-th. Those that the device holds at a time come in any order. Atomics of floating point
  /// sum in the order of the workgroups all the same: that other orders leave other bits is known beforehand.
  u64 shuffled(u64 i, u64 total) {
    if (launch_.code->float_atomics || launch_.options->observer != nullptr) return i;
    const u64 block = i / room_, first = block * room_;
    if (block != block_ || order_.empty()) {
      block_ = block;
      order_.resize(std::min(room_, total - first));
      std::iota(order_.begin(), order_.end(), first);
      std::mt19937_64 random(launch_.options->seed * 0x9e3779b97f4a7c15ULL ^ (block + 1));
      std::shuffle(order_.begin(), order_.end(), random);
    }
    return order_[i - first];
  }

  /// Whether a device has a workgroup that has not begun, and room for it.
  [[nodiscard]] bool may_begin(u32 device) const {
    return begun_[device] < launch_.geometry.grid.count() && resident_[device] < room_;
  }
  /// That of the device that has begun the fewest, so that they go together; under stress of any.
  Workgroup* begin_on_device() {
    std::vector<u32> open;
    for (u32 d = 0; d < launch_.devices; ++d)
      if (may_begin(d)) open.push_back(d);
    if (open.empty()) return nullptr;
    const u32 device = launch_.options->stress
                           ? open[random_() % open.size()]
                           : *std::min_element(open.begin(), open.end(),
                                               [&](u32 a, u32 b) { return begun_[a] < begun_[b]; });
    ++resident_[device];
    ++next_;
    return begin(device, begun_[device]++);
  }

  Workgroup* begin(u32 device, u64 i) {
    const Extent3& grid = launch_.geometry.grid;
    if (idle_.empty()) {
      all_.push_back(std::make_unique<Workgroup>());
      idle_.push_back(all_.back().get());
    }
    Workgroup* const g = idle_.back();
    idle_.pop_back();
    g->device = device;
    g->id = {static_cast<u32>(i % grid.x), static_cast<u32>(i / grid.x % grid.y),
             static_cast<u32>(i / grid.x / grid.y)};
    begin_workgroup(launch_, *g);
    return g;
  }

  void turn(Workgroup* g) {
    const u64 polls = !launch_.code->polls_memory ? ~u64{0}
                      : launch_.options->stress   ? most_polls_under_stress
                                                  : most_polls;
    u64 budget = patience;
    if (launch_.devices > 1) budget = launch_.options->stress ? 1 + random_() % 4096 : slice;
    for (;;) {
      const u64 polled = g->polled;
      if (continue_workgroup(launch_, *g, budget, polls)) {
        end_workgroup(*g, statistics_);
        idle_.push_back(g);
        if (launch_.devices > 1) --resident_[g->device];
        quiet_ = 0;
        ended_();
        return;
      }
      if (g->polled != polled) {
        g->slices = 0;
        break;
      }
      if (launch_.devices > 1 && ++g->slices % (patience / slice) != 0) break;
      std::vector<Polled> reads;
      launch_.changed = false;
      if (is_stuck(*g, reads)) {
        if (reads.empty())
          fail_stuck(
              launch_, *g, reads,
              "an endless loop: the wave comes back to the state in which it was, and reads no memory");
        break;
      }
      budget = std::min(budget * 2, u64{1} << 32);
    }
    aside_.push_back(g);
    if (++quiet_ > 2 * aside_.size()) look_for_deadlock();
  }

  bool all_stuck(std::vector<Polled>& reads) {
    launch_.changed = false;
    return std::all_of(aside_.begin(), aside_.end(), [&](Workgroup* g) { return is_stuck(*g, reads); });
  }
  [[nodiscard]] bool is_interrupted() const {
    return launch_.options->interrupt != nullptr && launch_.options->interrupt->load();
  }

  /// Nobody has ended for two rounds.
  void look_for_deadlock() {
    quiet_ = 0;
    if (!launch_.alone) return;
    const u64 total = launch_.geometry.grid.count() * launch_.devices;
    if (launch_.devices == 1 && aside_.size() < room_ && next_.load() < total) return;
    for (u32 d = 0; launch_.devices > 1 && d < launch_.devices; ++d)
      if (may_begin(d)) return;
    std::vector<Polled> reads;
    if (!all_stuck(reads)) return;
    const auto& others = launch_.options->others;
    while (others && others(true)) {
      reads.clear();
      if (is_interrupted() || !all_stuck(reads)) {
        others(false);
        return;
      }
    }
    const u64 waiting = total - std::min(total, next_.load());
    fail_stuck(launch_, *aside_.front(), reads,
               std::string(aside_.size() == 1 ? "a spin without end" : "a deadlock") + ": " +
                   std::to_string(aside_.size()) +
                   (aside_.size() == 1 ? " workgroup waits" : " workgroups wait") +
                   " for words of memory that nobody changes any more" +
                   (waiting == 0 ? std::string()
                                 : "; " + std::to_string(waiting) + " have not begun, as " +
                                       (launch_.devices > 1 ? "a" : "the") + " device holds " +
                                       std::to_string(room_) + " of them at a time"));
  }

  Launch& launch_;
  std::atomic<u64>& next_;
  LaunchStatistics& statistics_;
  const std::function<void()>& ended_;
  u64 room_;
  u64 quiet_ = 0; ///< turns since one ended
  u64 block_ = 0; ///< see shuffled
  std::vector<u64> order_;
  std::vector<u64> begun_, resident_; ///< of each device, where there are several
  std::mt19937_64 random_;            ///< under stress
  std::vector<std::unique_ptr<Workgroup>> all_;
  std::vector<Workgroup*> idle_;
  std::deque<Workgroup*> aside_; ///< under way
};

} // namespace

void run_launch(Launch& launch, LaunchResult& result) {
  const auto begin = std::chrono::steady_clock::now();
  const u64 total = launch.geometry.grid.count() * launch.devices;
  unsigned threads = launch.options->threads != 0 ? launch.options->threads
                                                  : std::max(1U, std::thread::hardware_concurrency());
  if (launch.code->order_sensitive_atomics || launch.code->polls_memory || launch.devices > 1 ||
      launch.options->trace.enabled || launch.options->debug.enabled() || launch.options->observer != nullptr)
    threads = 1;
  if (const auto observer = launch.options->observer) {
    observer->begin(*launch.code->program);
    if (!observer->needs_results() && launch.host_calls == nullptr && !launch.options->debug.enabled() &&
        !launch.options->trace.enabled)
      launch.unneeded = unneeded_operations(*launch.code, launch.entry, observer->needs_matrix_values());
  }
  threads = static_cast<unsigned>(std::min<u64>(threads, total));
  launch.alone = threads == 1;
  if (launch.options->fidelity) launch.counts.assign(launch.code->operations.size(), 0);
  std::atomic<u64> next{0};
  std::atomic<u64> finished{0};
  std::vector<LaunchStatistics> statistics(threads);
  std::vector<std::exception_ptr> errors(threads);
  std::mutex progress;
  const std::function<void()> ended = [&] {
    const u64 done = ++finished;
    if (!launch.options->progress) return;
    const std::lock_guard lock(progress);
    launch.options->progress(done, total);
  };
  const auto work = [&](unsigned t) {
    try {
      Residents(launch, next, statistics[t], ended).run();
    } catch (...) {
      errors[t] = std::current_exception();
      launch.stop = true;
    }
  };
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t) pool.emplace_back(work, t);
  work(0);
  for (std::thread& t : pool) t.join();
  for (const LaunchStatistics& s : statistics) result.statistics.add(s);
  result.statistics.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (auto& [key, finding] : launch.findings) result.findings.push_back(finding);
  result.conflicts = explain_conflicts(launch);
  result.scratch = explain_scratch(launch);
  result.fidelity = explain_fidelity(launch);
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
}

} // namespace inlay::runtime::emulator
