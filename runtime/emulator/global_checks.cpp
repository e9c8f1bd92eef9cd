// Races in global memory: who stored to and read each word in this launch, what barriers, releases and acquires order, and what
// other devices see.
#include "engine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <inlay/machine/target.h>

namespace inlay::runtime::emulator {

namespace {

/// Who stored to global memory in this launch (Allocation::writers). An entry: bytes 4 bits, atomic 1, instruction 19, period 12,
/// wave of the launch + 1: 28. One entry a line of 64 bytes while one instruction of one wave in one period has stored there: the whole
/// line (bytes 15), or the bytes that `parts` says (bytes 0). Once a line is `divided` its words have entries. What a wave has stored
/// already in this period keeps its entry, and so the instruction that was first. Of a word that it has stored in parts since the
/// last barrier the first period counts, of those before that barrier nothing is kept: what was in order is not said to be none.
///
/// Threads that store to one place at one moment may miss each other. No line gets another's bytes: only who makes an entry
/// of nothing, which one thread does, adds to its part.
class Writers {
public:
  Writers(const Wave& w, Allocation& home, bool is_atomic)
      : lines_(home.writer_entries()), parts_(lines_ + home.writer_lines()),
        words_(parts_ + home.writer_lines()), me_(number_of(w)),
        mine_(entry_of(w) | (is_atomic ? atomic : 0)), since_(since_barrier(*w.group)), is_atomic_(is_atomic),
        alone_(w.group->launch->alone) {}
  /// A wave of the launch, from 1 on, and its entry at this instruction.
  [[nodiscard]] static u64 number_of(const Wave& w) {
    return (w.group->writer * w.group->waves.size() + w.id + 1) & 0xfffffffU;
  }
  [[nodiscard]] static u64 entry_of(const Wave& w) {
    return number_of(w) << 36 | u64{w.group->period % writer_periods} << 24 | u64{w.current & 0x7ffffU} << 5;
  }

  /// The first period since the last barrier that entries of the workgroup's present number can have.
  [[nodiscard]] static u64 since_barrier(const Workgroup& g) {
    const u32 first = g.period - g.period % writer_periods;
    return g.arrived > first ? g.arrived - first : 0;
  }
  [[nodiscard]] static u64 period_of(u64 entry) { return (entry >> 24) % writer_periods; }
  [[nodiscard]] static u64 operation_of(u64 entry) { return (entry >> 5) & 0x7ffffU; }

  static constexpr u64 atomic = 16;
  [[nodiscard]] u64 me() const { return me_; }
  /// This wave, at this instruction.
  [[nodiscard]] u64 mine() const { return mine_; }
  /// The entry of a word after a store of `touched` of its bytes.
  [[nodiscard]] u64 stored(u64 old, u64 touched) const {
    if (old >> 36 != me_ || period_of(old) < since_ || (old & 15U & ~touched) == 0) return mine_ | touched;
    return (((old ^ mine_) & who_and_when) == 0 ? mine_ : old) | touched | (old & 15U);
  }
  /// The entry of a word as it stands: 0 when nobody has stored there.
  [[nodiscard]] u64 of_word(u64 index) const {
    const u64 whole = lines_[index / line_words].load(std::memory_order_relaxed);
    if (whole == divided) return words_[index].load(std::memory_order_relaxed);
    const u64 bytes = whole == 0 ? 0 : covered(index / line_words, whole) >> (4 * (index % line_words)) & 15U;
    return bytes == 0 ? 0 : (whole & ~u64{15}) | bytes;
  }
  /// The entry of a word, its line divided.
  std::atomic<u64>& word(u64 index) {
    std::atomic<u64>& line = lines_[index / line_words];
    const u64 whole = line.load(std::memory_order_relaxed);
    if (whole != divided) {
      const u64 part = covered(index / line_words, whole);
      for (u64 k = 0; whole != 0 && k < line_words; ++k) {
        const u64 bytes = part >> (4 * k) & 15U;
        if (bytes != 0)
          words_[index / line_words * line_words + k].store((whole & ~u64{15}) | bytes,
                                                            std::memory_order_relaxed);
      }
      line.store(divided, std::memory_order_relaxed);
    }
    return words_[index];
  }
  /// Whether this wave has stored `bytes` of a line in this period already; 0 then.
  [[nodiscard]] u64 news(u64 line, u64 bytes) const {
    const u64 whole = lines_[line].load(std::memory_order_relaxed);
    if (whole != divided) return ((whole ^ mine_) & who_and_when) | (bytes & ~covered(line, whole));
    u64 some = 0;
    for (u64 m = words_of(bytes) & first_bytes; m != 0 && some == 0; m &= m - 1) {
      const u64 entry = words_[line * line_words + first_lane(m) / 4].load(std::memory_order_relaxed);
      some = ((entry ^ mine_) & who_and_when) | (bytes >> first_lane(m) & 15U & ~entry);
    }
    return some;
  }
  /// The same of a whole line.
  [[nodiscard]] u64 news(u64 line) const {
    const u64 whole = lines_[line].load(std::memory_order_relaxed);
    return ((whole ^ mine_) & who_and_when) | (~whole & 15U);
  }
  /// Whether nobody else has stored to the words of a line that `bytes` touch; beside atomics, atomics may have.
  [[nodiscard]] bool free_line(u64 line, u64 bytes) const {
    const u64 whole = lines_[line].load(std::memory_order_relaxed);
    if (whole != divided) return !in_the_way(whole) || (words_of(covered(line, whole)) & bytes) == 0;
    bool others = false;
    for (u64 m = words_of(bytes) & first_bytes; m != 0; m &= m - 1)
      others |= in_the_way(words_[line * line_words + first_lane(m) / 4].load(std::memory_order_relaxed));
    return !others;
  }
  void take_line(u64 line, u64 bytes) {
    std::atomic<u64>& entry = lines_[line];
    if (bytes == ~u64{0}) {
      entry.store(mine_ | 15U, std::memory_order_relaxed);
      return;
    }
    u64 whole = entry.load(std::memory_order_relaxed);
    if (whole == 0) { // the first
      if (alone_) {
        entry.store(mine_, std::memory_order_relaxed);
        whole = mine_;
      } else if (entry.compare_exchange_strong(whole, mine_, std::memory_order_relaxed)) {
        whole = mine_;
      }
    }
    if (whole == mine_) {
      parts_[line].store(parts_[line].load(std::memory_order_relaxed) | bytes, std::memory_order_relaxed);
      return;
    }
    if (news(line, bytes) == 0) return;
    word(line * line_words);
    for (u64 m = words_of(bytes) & first_bytes; m != 0; m &= m - 1) {
      const u64 touched = bytes >> first_lane(m) & 15U;
      std::atomic<u64>& at = words_[line * line_words + first_lane(m) / 4];
      at.store(stored(at.load(std::memory_order_relaxed), touched), std::memory_order_relaxed);
    }
  }
  /// The same of `bytes` bytes from `first` on, counted from the allocation's first.
  [[nodiscard]] bool free(u64 first, u64 bytes) const {
    return each_line(first, bytes, [&](u64 line, u64 touched) { return free_line(line, touched); });
  }
  void take(u64 first, u64 bytes) {
    each_line(first, bytes, [&](u64 line, u64 touched) {
      take_line(line, touched);
      return true;
    });
  }

  /// `f(line, bytes)` of each line until one says no.
  template <class F>
  static bool each_line(u64 first, u64 bytes, F f) {
    const u64 end = first + bytes;
    for (u64 line = first / 64; line * 64 < end; ++line) {
      u64 touched = ~u64{0};
      if (first > line * 64) touched <<= first - line * 64;
      if (end < line * 64 + 64) touched &= ~u64{0} >> (line * 64 + 64 - end);
      if (!f(line, touched)) return false;
    }
    return true;
  }

private:
  /// The bytes of a line that is not divided.
  [[nodiscard]] u64 covered(u64 line, u64 whole) const {
    return (whole & 15U) == 15U ? ~u64{0} : parts_[line].load(std::memory_order_relaxed);
  }
  /// All bytes of the words of which there are some.
  static u64 words_of(u64 bytes) {
    bytes |= bytes >> 1;
    bytes |= bytes >> 2;
    return (bytes & first_bytes) * 15U;
  }
  [[nodiscard]] bool in_the_way(u64 entry) const {
    return entry != 0 && entry >> 36 != me_ && !(is_atomic_ && (entry & atomic) != 0);
  }

  static constexpr u64 line_words = 16;
  static constexpr u64 first_bytes = 0x1111111111111111U; ///< of each word of a line
  static constexpr u64 divided = 1;                       // no entry: those have a wave
  static constexpr u64 who_and_when = ~u64{0xffffff} | atomic;
  std::atomic<u64>* lines_;
  std::atomic<u64>* parts_;
  std::atomic<u64>* words_;
  u64 me_, mine_, since_;
  bool is_atomic_, alone_;
};

} // namespace

void name_writer(Workgroup& g) {
  const std::lock_guard lock(g.launch->mutex);
  g.writer = g.launch->writers.size();
  g.launch->writers.push_back({g.linear, g.period - g.period % writer_periods});
}

void next_period(Workgroup& g) {
  if (++g.period % writer_periods == 0) name_writer(g);
}

void global_at_barrier(Workgroup& g) {
  next_period(g);
  g.arrived = g.period;
  for (const auto& w : g.waves) {
    g.written_back.join(w->written_back);
    g.system_written_back.join(w->system_written_back);
    g.scalar_cache.join(w->scalar_cache);
  }
}

void synchronize(Wave& w) {
  Workgroup& g = *w.group;
  if (!g.tracks_global) return;
  std::atomic<u64>& clock = g.launch->clock;
  if (g.launch->alone) {
    clock.store(clock.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else {
    ++clock;
  }
  w.synchronizes = g.synchronizes = clock.load(std::memory_order_relaxed);
}

void acquire(Wave& w) {
  Workgroup& g = *w.group;
  u64 last = w.synchronizes; // flags in LDS order waves too
  if (g.synchronizes > last) last = std::max(last, heard_of_one(w, &Wave::synchronizes));
  if (last == 0) return;
  // Others may have released something between the read and its number.
  if (!g.launch->alone) last = ++g.launch->clock;
  w.acquires = std::max(w.acquires, last);
  g.acquires = std::max(g.acquires, last);
}

/// What other workgroups have released before this, on Launch::clock, is in order before what this wave does.
static u64 acquired(const Wave& w) {
  return w.group->acquires > w.acquires ? std::max(w.acquires, heard_of_one(w, &Wave::acquires)) : w.acquires;
}

void begin_write_back(Wave& w) {
  Workgroup& g = *w.group;
  if (w.stored_in == g.period) next_period(g);
  w.writing_back.before.fill(g.arrived);
  w.writing_back.before[w.id] = g.period;
}

void write_back(Wave& w, bool system) {
  if (w.writes_back == 0) begin_write_back(w);
  w.writes_back = 0;
  w.writes_back_system = false;
  w.written_back.join(w.writing_back);
  if (system) w.system_written_back.join(w.writing_back);
}

Progress written_back(const Wave& w, bool system) {
  const Workgroup& g = *w.group;
  Progress all = system ? g.system_written_back : g.written_back;
  all.join(system ? w.system_written_back : w.written_back);
  return all;
}

bool stores_have_landed(const Wave& w) {
  for (u32 i = 0; i < w.vm_queue.size(); ++i) {
    const MemoryFields& f = w.vm_queue[i].op->memory;
    if (f.kind == MemoryFields::Kind::store || f.kind == MemoryFields::Kind::atomic) return false;
  }
  return true;
}

namespace {

/// Stores of device scope need no write back, but they overtake each other: of those before what this wave tells now, which have
/// arrived. A barrier stands for the wait of other waves, as in LLVM's memory model.
Progress landed_stores(Wave& w) {
  Workgroup& g = *w.group;
  const bool landed = stores_have_landed(w);
  if (w.scoped_in == g.period) next_period(g); // what comes now is not what came before
  if (landed) w.landed = g.period;
  Progress all;
  all.before.fill(g.arrived);
  all.before[w.id] = std::max(g.arrived, w.landed);
  return all;
}

} // namespace

void release_stores(Wave& w) {
  Workgroup& g = *w.group;
  if (!g.tracks_global) return;
  bool news = false;
  for (std::size_t i = 0; i < g.waves.size(); ++i)
    news |= std::max(g.written_back.before[i], w.written_back.before[i]) > g.released.before[i];
  if (!news && !g.stores_scoped) return;
  g.released.join(written_back(w, false));
  if (g.stores_scoped) {
    const Progress landed = landed_stores(w);
    for (std::size_t i = 0; i < g.waves.size(); ++i) news |= landed.before[i] > g.landed.before[i];
    g.landed.join(landed);
  }
  const std::lock_guard lock(g.launch->mutex);
  const u64 now = g.launch->clock;
  if (w.scoped_in != 0) {
    Told& told = g.launch->told[g.linear];
    told.stored.before[w.id] = g.period;
    told.at[w.id] = now;
  }
  if (!news) return;
  std::vector<Release>& before = g.launch->releases[g.linear];
  if (before.empty() || before.back().at != now) before.push_back({now, {}, {}});
  before.back().stored = g.released;
  before.back().landed = g.landed;
}

void clear_scalar_cache(Wave& w) {
  Workgroup& g = *w.group;
  if (!g.tracks_global) return;
  ScalarCache now;
  now.cleared.before.fill(g.arrived);
  if (stores_have_landed(w)) {
    if (w.stored_in == g.period) next_period(g);
    now.cleared.before[w.id] = g.period;
  }
  now.acquires = acquired(w);
  w.scalar_cache.join(now);
}

namespace {

/// What an entry says, as this wave sees it.
struct Other {
  u64 wave = 0, group = 0, device = 0, period = 0; ///< in its workgroup; of the launch
  const Launch* launch = nullptr;
  bool same_group = false;
  bool ordered = false; ///< by a barrier
  u64 released = never; ///< what it stored can be seen elsewhere by who has acquired it since, see Release
  const Operation* operation = nullptr;
  const isa::Instruction* instruction = nullptr;

  static constexpr u64 never = ~u64{0};

  Other(const Wave& w, u64 entry) {
    const Workgroup& g = *w.group;
    const u64 count = g.waves.size(), number = (entry >> 36) - 1;
    launch = g.launch;
    wave = number % count;
    operation = &g.launch->code->operations[Writers::operation_of(entry)];
    instruction = operation->instruction;
    const std::lock_guard lock(g.launch->mutex);
    const Writer& writer = g.launch->writers[number / count];
    group = writer.group;
    device = group / launch->geometry.grid.count();
    period = writer.first_period + Writers::period_of(entry);
    same_group = group == g.linear;
    ordered = same_group && (wave == w.id || period < g.arrived);
    const bool scoped = instruction->modifiers.sc1;
    if ((entry & Writers::atomic) != 0) {
      released = 0;
    } else if (const auto all = launch->releases.find(group); all != launch->releases.end()) {
      const auto first = std::partition_point(all->second.begin(), all->second.end(), [&](const Release& r) {
        return !r.stored.covers(period, wave) && !(scoped && r.landed.covers(period, wave));
      });
      if (first != all->second.end()) released = first->at;
    }
  }
  [[nodiscard]] std::string who() const {
    return "wave " + std::to_string(wave) + " of " +
           (same_group ? "this workgroup"
                       : "workgroup " + std::to_string(group % launch->geometry.grid.count()) +
                             (launch->devices > 1 ? " of device " + std::to_string(device) : ""));
  }
  /// `'global_store_dword ...' (x.s:12)`
  [[nodiscard]] std::string what() const {
    const auto source = launch->source(instruction->address);
    return "'" + instruction->text + "'" + (source ? " (" + isa::to_string(*source) + ")" : "");
  }
};

constexpr const char* expected = "; a compare and swap expects what it brings, again until that holds";

std::string byte_of(const Allocation& home, u64 at) {
  return "byte " + std::to_string(at - home.begin) + " of a buffer of " +
         std::to_string(home.end - home.begin) + " bytes";
}

/// The bytes of word `d`, counted from the allocation's first, among `bytes` from `first` on.
u64 bytes_of_word(u64 d, u64 first, u64 bytes) {
  const u64 low = d * 4 < first ? first - d * 4 : 0, high = std::min<u64>(4, first + bytes - d * 4);
  return ((u64{1} << high) - 1) & ~((u64{1} << low) - 1);
}

// ---- several devices --------------------------------------------------------------------------------------------------

constexpr const char* both_scopes =
    "; between devices both have to be of system scope (sc0 sc1, of an atomic sc1)";

/// Why a wave may not see what another device has stored; empty when it does.
std::string why_unseen(const Wave& w, const Other& other, const Allocation& home) {
  const Heard heard = heard_of(w, other.group);
  if (heard.released.covers(other.period, other.wave)) return "";
  if (home.uncached && heard.cleared.covers(other.period, other.wave)) return "";
  if (heard.acquired.covers(other.period, other.wave)) {
    if (reaches_devices(*other.operation, home)) return "";
    return "; what orders them does not write it back to where other devices look: 'buffer_wbl2 sc0 sc1' and "
           "'s_waitcnt vmcnt(0)' before it, by that wave or after a barrier";
  }
  if (!heard.done.covers(other.period, other.wave) && heard.begun.covers(other.period, other.wave))
    return "; before what orders them that wave does not wait for it ('s_waitcnt vmcnt(0)')";
  if (heard.done.covers(other.period, other.wave))
    return "; after what orders them no 'buffer_inv sc0 sc1' lets it see what another device has stored";
  return ", and nothing that it has read with system scope orders them";
}

/// Memory of a device of which nothing is known yet: its stream may be at what is before this launch. True when that was said.
bool check_begun(Wave& w, const Allocation& home, u64 at, bool reads, unsigned lane) {
  const Workgroup& g = *w.group;
  if (home.device < 0 || static_cast<u32>(home.device) == g.device || !g.launch->options->streams)
    return false;
  const u64 bit = u64{1} << static_cast<u32>(home.device);
  if (((g.peers.written_back | w.peers.written_back) & bit) != 0) return false;
  const bool begun = ((g.peers.begun | w.peers.begun) & bit) != 0;
  if (begun && (!reads || home.uncached)) return false;
  if (report_again(w, FindingKind::races)) return true;
  const std::string device = "device " + std::to_string(home.device);
  report(w, FindingKind::races,
         (reads ? "reads " : "writes ") + byte_of(home, at) + " of " + device + ", and " +
             (begun ? "what it has read of that device does not release ('buffer_wbl2 sc0 sc1') and acquire "
                      "('buffer_inv sc0 sc1') "
                      "what its stream has stored before this launch"
                    : "nothing that it has read says that this launch has begun there: its stream may be at "
                      "what comes "
                      "before"),
         lane, at);
  return true;
}

/// A store over what another wave has loaded, and nothing orders it after. True when it was said.
bool check_global_readers(Wave& w, const Allocation& home, u64 d, u64 touched, u64 me, unsigned lane,
                          bool is_atomic) {
  const std::atomic<u64>* const readers = home.readers.load(std::memory_order_acquire);
  if (readers == nullptr) return false;
  const Workgroup& g = *w.group;
  const u64 line = home.readers_of_line(d / 16);
  for (const u64 k : {2 * d, 2 * d + 1, line, line + 1}) {
    const u64 entry = readers[k].load(std::memory_order_relaxed);
    if (entry == 0 || entry >> 36 == me || (entry & touched & 15U) == 0) continue;
    const Other other(w, entry);
    if (other.ordered || (other.same_group && has_heard_of(w, other.wave))) continue;
    const u64 at = home.begin + d * 4 + first_lane(entry & touched & 15U);
    if (other.device != g.device) {
      if (heard_of(w, other.group).done.covers(other.period, other.wave)) continue;
      report(w, FindingKind::races,
             "writes " + byte_of(home, at) + ", which " + other.who() + " reads with " + other.what() +
                 ", and nothing that it has read of that device says that this was before",
             lane, at);
      return true;
    }
    const bool may_be_ordered = g.synchronizes != 0, guess = is_atomic && other.operation->guesses;
    report(w, FindingKind::races,
           "writes " + byte_of(home, at) + ", which " + other.who() + " reads with '" +
               other.instruction->text + "'" + (other.same_group ? " and no barrier between" : "") +
               (guess            ? expected
                : may_be_ordered ? "; only the atomics that it reads can order them"
                                 : ""),
           lane, at, may_be_ordered || guess);
    return true;
  }
  return false;
}

} // namespace

namespace {

/// Loads, in the entries of a word or of a line: `two[0]` is who came last, `two[1]` who came before him.
struct Reader {
  explicit Reader(const Wave& w)
      : me(Writers::number_of(w)), mine(Writers::entry_of(w)), first_wave(me - w.id),
        waves(w.group->waves.size()), since(Writers::since_barrier(*w.group)) {}
  u64 me, mine, first_wave, waves, since; ///< first_wave: the number of the workgroup's first wave

  /// An entry of this workgroup.
  [[nodiscard]] bool is_ours(u64 e) const { return (((e >> 36) - first_wave) & 0xfffffffU) < waves; }
  void note(std::atomic<u64>* two, u64 touched) const {
    const u64 reader = two[0].load(std::memory_order_relaxed);
    if (reader != 0 && reader >> 36 != me) {
      // Of another workgroup rather than of another wave: no barrier orders that one, and any of another is as good.
      const u64 kept = two[1].load(std::memory_order_relaxed);
      if (kept == 0 || is_ours(kept)) two[1].store(reader, std::memory_order_relaxed);
    }
    const bool again = reader >> 36 == me && Writers::period_of(reader) >= since;
    const u64 now = mine | touched | (again ? reader & 15U : 0);
    if (now != reader) two[0].store(now, std::memory_order_relaxed);
  }
  /// The bytes of a line, counted from the allocation's first.
  void note_line(const Allocation& home, std::atomic<u64>* readers, u64 line, u64 bytes) const {
    if (bytes == ~u64{0}) return note(readers + home.readers_of_line(line), 15);
    for (u64 d = line * 16; bytes != 0; ++d, bytes >>= 4)
      if ((bytes & 15U) != 0) note(readers + 2 * d, bytes & 15U);
  }
  void note_range(const Allocation& home, std::atomic<u64>* readers, u64 first, u64 bytes) const {
    Writers::each_line(first, bytes, [&](u64 line, u64 touched) {
      note_line(home, readers, line, touched);
      return true;
    });
  }
};

} // namespace

void note_global_reads(Wave& w, Allocation& home, u64 base, const LaneOffsets& at, u64 mask, unsigned bytes) {
  if (home.of_host) return;
  if (home.device >= 0 && w.group->launch->devices > 1)
    check_begun(w, home, base + at.at[first_lane(mask)], true, first_lane(mask));
  const Reader reader(w);
  std::atomic<u64>* const readers = home.reader_entries();
  const u64 begin = base - home.begin;
  if (at.rising) return reader.note_range(home, readers, begin + at.low, u64{bytes} * lanes);
  if (const StoreLines* lines = store_lines(w, begin, at, mask, bytes)) {
    const u64 first = (begin + at.at[0]) / 64;
    for (const StoreLines::Line& l : lines->lines)
      reader.note_line(home, readers, first + static_cast<u64>(i64{l.at}), l.bytes);
    return;
  }
  for (; mask != 0; mask &= mask - 1)
    reader.note_range(home, readers, begin + at.at[first_lane(mask)], bytes);
}

void check_global_reads(Wave& w, Allocation& home, const u64* address, u64 mask, unsigned bytes) {
  if (home.of_host) return;
  if (home.device >= 0 && w.group->launch->devices > 1)
    check_begun(w, home, address[first_lane(mask)], true, first_lane(mask));
  const Reader reader(w);
  std::atomic<u64>* const readers = home.reader_entries();
  if (home.writers.load(std::memory_order_relaxed) == nullptr) {
    for (; mask != 0; mask &= mask - 1)
      reader.note_range(home, readers, address[first_lane(mask)] - home.begin, bytes);
    return;
  }
  Workgroup& g = *w.group;
  Writers writers(w, home, false);
  const u64 me = writers.me();
  bool said = false;
  const u64 acquires = acquired(w);
  u64 in_order = 0; // the last entry that was: as a rule the next word's
  for (; mask != 0; mask &= mask - 1) {
    const unsigned l = first_lane(mask);
    const u64 first = address[l] - home.begin;
    for (u64 d = first / 4; d <= (first + bytes - 1) / 4; ++d) {
      const u64 touched = bytes_of_word(d, first, bytes);
      reader.note(readers + 2 * d, touched);
      const u64 entry = writers.of_word(d);
      if (said || entry == 0 || entry >> 36 == me || (entry & touched & 15U) == 0 || entry == in_order)
        continue;
      const Other other(w, entry);
      if (other.ordered || (other.same_group && has_heard_of(w, other.wave)) ||
          (other.device == g.device && !other.same_group && other.released < acquires)) {
        in_order = entry;
        continue;
      }
      const u64 at = home.begin + d * 4 + first_lane(entry & touched & 15U);
      if (other.device != g.device) {
        const std::string why = why_unseen(w, other, home);
        if (why.empty()) {
          in_order = entry;
        } else {
          said = true;
          report(w, FindingKind::races,
                 "reads " + byte_of(home, at) + ", which " + other.who() + " writes with " + other.what() +
                     why,
                 l, at);
        }
        continue;
      }
      const bool scopes = machine::target(w.arch).scopes;
      std::string message = "reads " + byte_of(home, at) + ", which " + other.who() + " writes with '" +
                            other.instruction->text + "'" +
                            (other.same_group ? " and no barrier between" : "");
      if (g.synchronizes != 0 && other.same_group)
        message += "; only the atomics that it reads can order them";
      const std::string clears = scopes ? "buffer_inv sc1" : "buffer_wbinvl1_vol";
      if (g.acquires != 0 && other.released != Other::never && acquires != 0 && !other.same_group)
        message += "; it is released after this wave has cleared the caches last: a '" + clears +
                   "' after what orders them is missing";
      else if (g.acquires != 0 && acquires == 0 && !other.same_group)
        message += "; another wave reads atomics and clears the caches after them, and no barrier between";
      else if (g.acquires != 0 && !other.same_group && other.instruction->modifiers.sc1)
        message += "; before what orders them that wave does not wait for it ('s_waitcnt vmcnt(0)')";
      else if (g.acquires != 0 && !other.same_group)
        message += "; before what orders them nobody writes it back (" +
                   std::string(scopes ? "'buffer_wbl2 sc1', " : "") +
                   "'s_waitcnt vmcnt(0)', and a barrier where that was another wave)";
      else if (g.synchronizes != 0 && !other.same_group)
        message +=
            "; it reads atomics, but no '" + clears + "' after them lets it see what is ordered by them";
      const bool guess = (entry & Writers::atomic) != 0 && g.launch->code->operations[w.current].guesses;
      if (guess) message += expected;
      report(w, FindingKind::races, message, l, at, guess || (g.synchronizes != 0 && other.same_group));
      said = true;
    }
  }
}

namespace {

void note_store(Wave& w, const Operation& op) {
  Workgroup& g = *w.group;
  w.stored_in = g.period;
  if (op.memory.kind != MemoryFields::Kind::store || !op.memory.device_scope) return;
  w.scoped_in = g.period;
  g.stores_scoped = true;
}

} // namespace

void check_global_write(Wave& w, Allocation& home, u64 address, const u8* value, unsigned bytes,
                        unsigned lane, bool is_atomic) {
  if (home.of_host) return;
  Workgroup& g = *w.group;
  Writers writers(w, home, is_atomic);
  const u64 me = writers.me(), mine = writers.mine();
  const Operation& op = g.launch->code->operations[w.current];
  note_store(w, op);
  bool said = home.device >= 0 && g.launch->devices > 1 && !is_atomic && !reaches_devices(op, home) &&
              check_begun(w, home, address, false, lane);
  const u64 first = address - home.begin;
  for (u64 d = first / 4; d <= (first + bytes - 1) / 4; ++d) {
    const u64 touched = bytes_of_word(d, first, bytes);
    said = said || check_global_readers(w, home, d, touched, me, lane, is_atomic);
    std::atomic<u64>& entry = writers.word(d);
    const u64 old = entry.load(std::memory_order_relaxed);
    if (old == 0 || (old >> 36) == me) {
      entry.store(writers.stored(old, touched), std::memory_order_relaxed);
      continue;
    }
    const Other other(w, old);
    entry.store(mine | touched, std::memory_order_relaxed);
    if ((old & touched & 15U) == 0 || other.ordered) continue;
    if (other.device != g.device) {
      if (reaches_devices(op, home) && reaches_devices(*other.operation, home)) continue;
      const bool flags = (is_atomic || op.memory.device_scope) &&
                         ((old & Writers::atomic) != 0 || other.operation->memory.device_scope);
      const std::string why = why_unseen(w, other, home);
      if (why.empty()) continue;
      const u64 at = home.begin + d * 4 + first_lane(touched);
      report(w, FindingKind::races,
             "writes " + byte_of(home, at) + ", which " + other.who() + " writes with " + other.what() +
                 (flags ? both_scopes : why),
             lane, at);
      continue;
    }
    if (is_atomic && (old & Writers::atomic) != 0) continue;
    // Over a store of device scope, which no cache holds: readers ask which comes last.
    const u64 released = other.instruction->modifiers.sc1 ? 0 : other.released;
    if (!other.same_group && released < acquired(w)) continue;
    const u64 at = home.begin + d * 4 + first_lane(touched);
    const bool same = !is_atomic && std::memcmp(reinterpret_cast<const u8*>(at), value + (at - address),
                                                static_cast<std::size_t>(std::popcount(touched))) == 0;
    std::string message = "writes " + byte_of(home, at) + ", which " + other.who() + " writes with '" +
                          other.instruction->text + "'" + (other.same_group ? " and no barrier between" : "");
    // LLVM's atomic stores are stores of device scope.
    const bool scoped =
        is_atomic ? other.operation->memory.device_scope
                  : (old & Writers::atomic) != 0 && g.launch->code->operations[w.current].memory.device_scope;
    if (same) message += "; the value is the same";
    if (scoped) message += "; a store of device scope beside an atomic";
    const bool may_be_ordered = g.synchronizes != 0 && !other.same_group;
    if (may_be_ordered) message += "; only the atomics that it reads can order them";
    report(w, FindingKind::races, message, lane, at, same || scoped || may_be_ordered);
  }
}

namespace {

/// `f(entry, place)` of the words of an access that another wave has stored, until one says yes.
template <class F>
void each_stored_word(const Wave& w, Allocation& home, u64 address, unsigned bytes, F f) {
  if (home.writers.load(std::memory_order_relaxed) == nullptr) return;
  const Writers writers(w, home, false);
  const u64 first = address - home.begin;
  for (u64 d = first / 4; d <= (first + bytes - 1) / 4; ++d) {
    const u64 entry = writers.of_word(d);
    if (entry == 0 || entry >> 36 == writers.me() || (entry & bytes_of_word(d, first, bytes) & 15U) == 0)
      continue;
    if (f(entry, home.begin + d * 4)) return;
  }
}

} // namespace

void check_flag(Wave& w, Allocation& home, u64 address, unsigned bytes, unsigned lane) {
  const Workgroup& g = *w.group;
  each_stored_word(w, home, address, bytes, [&](u64 entry, u64 at) {
    const Other other(w, entry);
    if (other.device == g.device) return false;
    const Operation& op = g.launch->code->operations[w.current];
    if (reaches_devices(op, home) && reaches_devices(*other.operation, home)) {
      const Heard heard = heard_of(w, other.group);
      if ((entry & Writers::atomic) != 0 || op.memory.kind == MemoryFields::Kind::atomic || op.polls ||
          op.polling != nullptr || heard.done.covers(other.period, other.wave) ||
          !heard.begun.covers(other.period, other.wave))
        return false;
      report(w, FindingKind::races,
             "reads " + byte_of(home, at) + ", which " + other.who() + " writes with " + other.what() +
                 "; before what this wave has read since it does not wait for that store ('s_waitcnt "
                 "vmcnt(0)'), which may come later; no defect where the order does not matter",
             lane, at, true);
      return true;
    }
    const std::string why = why_unseen(w, other, home);
    if (why.empty()) return false;
    const bool flag = (entry & Writers::atomic) != 0 || other.operation->memory.device_scope;
    report(w, FindingKind::races,
           "reads " + byte_of(home, at) + ", which " + other.who() + " writes with " + other.what() +
               (flag ? both_scopes : why),
           lane, at);
    return true;
  });
}

namespace {

/// Stores of device scope of another workgroup: something else that it has told later has been read, as may be, and this one had not
/// arrived. Flags that are polled are what is told.
bool is_overtaken(const Wave& w, const Other& other) {
  const Workgroup& g = *w.group;
  const Operation& op = g.launch->code->operations[w.current];
  if (other.same_group || other.device != g.device || op.polls || op.polling != nullptr) return false;
  if (other.released < w.synchronizes) return false;
  const std::lock_guard lock(g.launch->mutex);
  const auto told = g.launch->told.find(other.group);
  return told != g.launch->told.end() && told->second.stored.covers(other.period, other.wave) &&
         told->second.at[other.wave] < w.synchronizes;
}

} // namespace

void check_scoped_read(Wave& w, Allocation& home, u64 address, unsigned bytes, unsigned lane) {
  const Workgroup& g = *w.group;
  each_stored_word(w, home, address, bytes, [&](u64 entry, u64 at) {
    if ((entry & Writers::atomic) != 0) return false;
    const Other other(w, entry);
    if (other.operation->memory.device_scope) {
      if (!is_overtaken(w, other)) return false;
      report(w, FindingKind::races,
             "reads " + byte_of(home, at) + ", which " + other.who() + " writes with '" +
                 other.instruction->text +
                 "'; before what this wave has read since it does not wait for that store ('s_waitcnt "
                 "vmcnt(0)'), which may come later; no defect where the order does not matter",
             lane, at, true);
      return true;
    }
    if (other.same_group || other.device != g.device || other.released != Other::never) return false;
    report(w, FindingKind::races,
           "reads " + byte_of(home, at) + ", which " + other.who() + " writes with '" +
               other.instruction->text +
               "'; a load of device scope sees what has been written back, and nobody does that "
               "('buffer_wbl2 sc1', 's_waitcnt vmcnt(0)')",
           lane, at);
    return true;
  });
}

void check_scalar_read(Wave& w, Allocation& home, u64 address) {
  if (home.of_host || home.writers.load(std::memory_order_relaxed) == nullptr) return;
  const Workgroup& g = *w.group;
  const u64 d = (address - home.begin) / 4, entry = Writers(w, home, false).of_word(d);
  if (entry == 0) return;
  const Other other(w, entry);
  if (other.device != g.device) return;
  const bool in_order = other.ordered || (other.same_group && has_heard_of(w, other.wave)) ||
                        (!other.same_group && other.released < acquired(w));
  if (!in_order) return; // check_global_reads says so
  ScalarCache cache = w.scalar_cache;
  cache.join(g.scalar_cache);
  if (other.same_group ? cache.cleared.covers(other.period, other.wave) : other.released < cache.acquires)
    return;
  report(w, FindingKind::races,
         "reads " + byte_of(home, address) + ", which " +
             (other.same_group && other.wave == w.id ? "this wave" : other.who()) + " writes with '" +
             other.instruction->text +
             "' in this launch; the scalar cache may hold what was there before: 's_dcache_inv' after "
             "'s_waitcnt "
             "vmcnt(0)' and what orders them is missing",
         0, address);
}

namespace {

/// What stands for an access of another device to memory of one that ends, as `entry` has it.
void report_end(Launch& launch, const Other& other, const Allocation& home, u64 at, bool reads) {
  const isa::Instruction& i = *other.instruction;
  auto [found, fresh] = launch.findings.try_emplace({static_cast<u8>(FindingKind::races), i.address});
  Finding& f = found->second;
  if (!fresh && !f.note) {
    ++f.count;
    return;
  }
  const u64 index = other.group % launch.geometry.grid.count();
  const Extent3& grid = launch.geometry.grid;
  f.kind = FindingKind::races;
  f.kernel = launch.kernel->name;
  f.address = i.address;
  f.disassembly = i.text;
  f.source = launch.source(i.address);
  f.workgroup = {static_cast<u32>(index % grid.x), static_cast<u32>(index / grid.x % grid.y),
                 static_cast<u32>(index / grid.x / grid.y)};
  f.device = static_cast<u32>(other.device);
  f.wave = static_cast<u32>(other.wave);
  f.memory_address = at;
  f.note = false;
  const std::string device = "device " + std::to_string(home.device);
  f.message =
      std::string(reads ? "reads " : "writes ") + byte_of(home, at) + " of " + device +
      ", and nothing that " + device + " has read says that this is done: its launch may end before" +
      (reads ? ", and its stream overwrite the byte"
             : ", or without what writes it back ('buffer_wbl2 sc0 sc1'), and its stream read the byte");
  ++launch.defects;
  if (launch.options->on_finding) launch.options->on_finding(f);
}

} // namespace

void check_ends(Wave& any) {
  const Workgroup& g = *any.group;
  Launch& launch = *g.launch;
  for (const auto& home : launch.memory->ranges()) {
    if (home->device < 0 || static_cast<u32>(home->device) >= launch.devices || home->of_host) continue;
    const Clock& end = launch.ends[static_cast<u32>(home->device)];
    u64 last = 0; // the one that was in order
    const auto look = [&](u64 entry, u64 at, bool reads) {
      if (entry == 0 || (entry & ~u64{15}) == last) return;
      const Other other(any, entry);
      const auto known = end.find(other.group);
      const bool scoped = (entry & Writers::atomic) != 0 || reaches_devices(*other.operation, *home);
      if (other.device == static_cast<u32>(home->device) || (!reads && scoped) ||
          (known != end.end() && (reads || home->uncached ? known->second.done : known->second.released)
                                     .covers(other.period, other.wave))) {
        last = entry & ~u64{15};
        return;
      }
      report_end(launch, other, *home, at, reads);
    };
    const std::atomic<u64>* const readers = home->readers.load(std::memory_order_relaxed);
    const bool written = home->writers.load(std::memory_order_relaxed) != nullptr;
    if (readers == nullptr && !written) continue;
    for (const auto& [begin, stop] : home->touched()) {
      for (u64 line = begin / 64; line * 64 < stop; ++line) {
        for (u64 k = 0; readers != nullptr && k < 2; ++k)
          look(readers[home->readers_of_line(line) + k].load(std::memory_order_relaxed),
               home->begin + line * 64, true);
        for (u64 d = line * 16; d < line * 16 + 16 && d * 4 < home->end - home->begin; ++d) {
          for (u64 k = 0; readers != nullptr && k < 2; ++k)
            look(readers[2 * d + k].load(std::memory_order_relaxed), home->begin + d * 4, true);
          if (written) look(Writers(any, *home, false).of_word(d), home->begin + d * 4, false);
        }
      }
    }
  }
}

const StoreLines* store_lines(const Wave& w, u64 base, const LaneOffsets& at, u64 mask, unsigned bytes) {
  static const RowFunctions& host = row_functions();
  thread_local std::array<StoreLines, 64> known;
  StoreLines& k = known[w.current % known.size()];
  const u64 start = base + at.at[0];
  const u32 phase = start % 64;
  const bool same = k.width == bytes && k.mask == mask && k.phase == phase && k.rising == at.rising;
  if (!same || (!at.rising && !host.follows(at.at, k.pattern.data()))) {
    k.rising = at.rising;
    k.width = bytes;
    k.mask = mask;
    k.phase = phase;
    k.lines.clear();
    for (unsigned l = 0; l < lanes; ++l) k.pattern[l] = at.at[l] - at.at[0];
    if (!std::is_sorted(at.at, at.at + lanes)) return nullptr;
  }
  if (k.lines.empty()) { // lanes upwards find their line at the end
    const auto add = [&](i32 line, u64 touched) {
      auto to = k.lines.end();
      while (to != k.lines.begin() && std::prev(to)->at > line) --to;
      if (to != k.lines.begin() && std::prev(to)->at == line) {
        std::prev(to)->bytes |= touched;
      } else {
        k.lines.insert(to, {line, touched});
      }
    };
    const u64 all = (u64{1} << bytes) - 1;
    for (const u32 offset : at.at) {
      const u64 begin = base + offset;
      const i32 line = static_cast<i32>(static_cast<i64>(begin / 64) - static_cast<i64>(start / 64));
      add(line, all << (begin % 64));
      if (begin % 64 + bytes > 64) add(line + 1, all >> (64 - begin % 64));
    }
    unsigned count = 0;
    k.whole = true;
    for (const StoreLines::Line& l : k.lines) {
      count += static_cast<unsigned>(std::popcount(l.bytes));
      k.whole = k.whole && l.bytes == ~u64{0};
    }
    k.shared = count != bytes * static_cast<unsigned>(std::popcount(mask));
  }
  return &k;
}

void check_global_lanes(Wave& w, const Allocation& home, const u64* address, u64 mask, unsigned bytes,
                        const u32* data) {
  std::array<u8, lanes> order;
  unsigned count = 0;
  bool sorted = true, apart = true;
  for (u64 m = mask; m != 0; m &= m - 1) {
    const unsigned l = first_lane(m);
    if (count != 0) {
      const u64 before = address[order[count - 1]];
      sorted = sorted && address[l] >= before;
      apart = apart && address[l] >= before + bytes;
    }
    order[count++] = static_cast<u8>(l);
  }
  if (sorted && apart) return;
  if (!sorted)
    std::stable_sort(order.begin(), order.begin() + count,
                     [&](u8 a, u8 b) { return address[a] < address[b]; });
  const auto value = [&](unsigned l) {
    std::array<u8, 16> v{};
    for (unsigned k = 0; k < std::max(1U, bytes / 4); ++k) std::memcpy(&v[4 * k], &data[l + k * lanes], 4);
    return v;
  };
  // Of equal width and in order of address: what two of them share, those between share too, so that neighbours say it all.
  for (unsigned n = 1; n < count; ++n) {
    const unsigned a = order[n - 1], b = order[n];
    const u64 shift = address[b] - address[a];
    if (shift >= bytes) continue;
    const auto left = value(a), right = value(b);
    if (std::memcmp(&left[shift], right.data(), bytes - shift) == 0) continue;
    report(w, FindingKind::races,
           "lanes " + std::to_string(std::min(a, b)) + " and " + std::to_string(std::max(a, b)) +
               " write different values to byte " + std::to_string(address[b] - home.begin) +
               " of a buffer of " + std::to_string(home.end - home.begin) + " bytes",
           std::max(a, b), address[b]);
    return;
  }
}

GlobalNote note_global_writes(Wave& w, Allocation& home, u64 base, const LaneOffsets& at,
                              const StoreLines* lines, u64 mask, unsigned bytes, bool is_atomic) {
  if (home.of_host) return GlobalNote::noted;
  note_store(w, w.group->launch->code->operations[w.current]);
  if (home.device >= 0 && static_cast<u32>(home.device) != w.group->device && w.group->launch->devices > 1)
    return GlobalNote::conflict; // of a peer: lane by lane
  Writers writers(w, home, is_atomic);
  const u64 begin = base - home.begin;
  if (const std::atomic<u64>* const readers = home.readers.load(std::memory_order_acquire)) {
    const auto others = [&](u64 first, u64 count) {
      u64 some = 0;
      const auto look = [&](u64 k) {
        for (const std::atomic<u64>* entry : {&readers[k], &readers[k + 1]}) {
          const u64 e = entry->load(std::memory_order_relaxed);
          some |= e == 0 ? 0 : e >> 36 ^ writers.me();
        }
      };
      for (u64 d = first / 4; d <= (first + count - 1) / 4; ++d) look(2 * d);
      for (u64 line = first / 64; line <= (first + count - 1) / 64; ++line) look(home.readers_of_line(line));
      return some != 0;
    };
    if (at.rising && others(begin + at.low, u64{bytes} * lanes)) return GlobalNote::conflict;
    for (u64 m = at.rising ? 0 : mask; m != 0; m &= m - 1)
      if (others(begin + at.at[first_lane(m)], bytes)) return GlobalNote::conflict;
  }
  if (at.rising) {
    const u64 first = begin + at.low, count = u64{bytes} * lanes;
    if (first % 64 == 0) { // whole lines
      u64 news = 0;
      for (u64 line = first / 64; line < (first + count) / 64; ++line) news |= writers.news(line);
      if (news == 0) return GlobalNote::again;
    }
    if (!writers.free(first, count)) return GlobalNote::conflict;
    writers.take(first, count);
    return GlobalNote::noted;
  }
  if (lines != nullptr) {
    const u64 first = (begin + at.at[0]) / 64;
    u64 news = 0;
    if (lines->whole) {
      for (const StoreLines::Line& l : lines->lines)
        news |= writers.news(first + static_cast<u64>(i64{l.at}));
    } else {
      for (const StoreLines::Line& l : lines->lines)
        news |= writers.news(first + static_cast<u64>(i64{l.at}), l.bytes);
    }
    if (news == 0) return GlobalNote::again;
    bool free = true;
    for (const StoreLines::Line& l : lines->lines)
      free &= writers.free_line(first + static_cast<u64>(i64{l.at}), l.bytes);
    if (!free) return GlobalNote::conflict;
    for (const StoreLines::Line& l : lines->lines)
      writers.take_line(first + static_cast<u64>(i64{l.at}), l.bytes);
    return GlobalNote::noted;
  }
  for (u64 m = mask; m != 0; m &= m - 1)
    if (!writers.free(begin + at.at[first_lane(m)], bytes)) return GlobalNote::conflict;
  for (u64 m = mask; m != 0; m &= m - 1) writers.take(begin + at.at[first_lane(m)], bytes);
  return GlobalNote::noted;
}

} // namespace inlay::runtime::emulator
