// What LDS is checked for: races, reads that come before the data, writes that come before a read is done; bank conflicts.
//
// Two records of the accesses. Precise: for each word who wrote and read it last (LdsShadow). Cheap: for each page of 256 bytes
// which waves read and wrote it since the last barrier. While no page is written by one wave and touched by another, and
// no page is read whose last write may not have arrived, nothing can be wrong; an access is then only appended to a log. When
// a page says otherwise the log is replayed into the precise record, which decides by words until the next barrier.
#include "engine.h"
#include <inlay/machine/target.h>

#include <inlay/machine/lds.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace inlay::runtime::emulator {
namespace {

constexpr const char* relaxed = "; an atomic: no race where the read is meant to be a relaxed atomic one";

/// Writers of a word that is no longer asked about, and several that all wrote what is there.
constexpr u16 many = 0xffff, agreed = 0xfffe;

/// The shadow of a word, that of an earlier workgroup forgotten.
LdsShadow& lds_word(Workgroup& g, u32 word) {
  if (g.shadow_of[word / 64] != g.generation) {
    g.shadow_of[word / 64] = g.generation;
    const std::size_t first = word / 64 * std::size_t{64}, end = std::min(first + 64, g.shadow.size());
    std::fill(g.shadow.begin() + static_cast<std::ptrdiff_t>(first),
              g.shadow.begin() + static_cast<std::ptrdiff_t>(end), LdsShadow{});
    if (!g.reads.empty()) {
      const std::size_t waves = g.waves.size();
      std::fill(g.reads.begin() + static_cast<std::ptrdiff_t>(first * waves),
                g.reads.begin() + static_cast<std::ptrdiff_t>(end * waves), 0);
    }
  }
  return g.shadow[word];
}

// ---- polls ----------------------------------------------------------------------------------------------------------
//
// A flag in LDS orders waves as a barrier does: whoever reads it until it has changed (find_polls) comes after all that the wave that
// changed it had done. LDS executes the instructions of all waves in one order, a wave's in the order of the program, so
// that those before the flag's are done when it is seen, waited for or not (LLVM, SIMemoryLegalizer, "LDS operations for all waves are
// executed in a total global ordering as observed by all waves"); loads to LDS only if vmcnt said so.

void join(Knowledge& to, const Knowledge& from) {
  to.resize(std::max(to.size(), from.size()));
  for (std::size_t k = 0; k < from.size(); ++k) {
    to[k].lds = std::max(to[k].lds, from[k].lds);
    to[k].vm = std::max(to[k].vm, from[k].vm);
  }
}

/// What a wave passes on with its LDS instruction `id`: what it has done, and what it knew of the others.
Knowledge passed_on(const Workgroup& g, u32 wave, u64 id, u64 vm_landed) {
  Knowledge out(g.waves.size());
  const auto& learnt = g.knowledge[wave];
  const auto after =
      std::upper_bound(learnt.begin(), learnt.end(), id, [](u64 a, const auto& e) { return a < e.first; });
  if (after != learnt.begin()) join(out, std::prev(after)->second);
  out[wave].lds = std::max(out[wave].lds, id);
  out[wave].vm = std::max(out[wave].vm, vm_landed);
  return out;
}

/// What comes with the word's last write of this epoch.
Knowledge left_at(const Workgroup& g, u32 word) {
  const LdsShadow& s = g.shadow[word];
  if (s.write_epoch != g.epoch || s.last_writer == 0 || !s.is_lds) return {};
  return passed_on(g, s.last_writer - 1U, s.id, s.vm_landed);
}

/// Wave `w` has seen what the word holds.
void learn(Workgroup& g, const Wave& w, u32 word) {
  Knowledge now = left_at(g, word);
  if (const auto arrived = g.arrivals.find(word); arrived != g.arrivals.end()) join(now, arrived->second);
  if (now.empty()) return;
  auto& mine = g.knowledge[w.id];
  if (!mine.empty()) {
    join(now, mine.back().second);
    const Knowledge& before = mine.back().second;
    if (std::equal(now.begin(), now.end(), before.begin(), before.end(),
                   [](const Reached& a, const Reached& b) { return a.lds == b.lds && a.vm == b.vm; }))
      return;
    if (mine.back().first == w.last_lds_id) mine.pop_back(); // another lane of the same instruction
  }
  mine.emplace_back(w.last_lds_id, std::move(now));
}

/// Whether `w` comes after what another wave did with instruction `id`.
bool comes_behind(const Workgroup& g, const Wave& w, u32 other, u64 id, bool dma) {
  if (g.knowledge.empty() || g.knowledge[w.id].empty()) return false;
  const Reached& k = g.knowledge[w.id].back().second[other];
  return id <= (dma ? k.vm : k.lds);
}

} // namespace

bool has_heard_of(const Wave& w, u64 other) {
  const auto& knowledge = w.group->knowledge;
  if (knowledge.empty() || knowledge[w.id].empty()) return false;
  const Knowledge& k = knowledge[w.id].back().second;
  return other < k.size() && (k[other].lds != 0 || k[other].vm != 0);
}

u64 heard_of_one(const Wave& w, u64 Wave::*when) {
  u64 latest = 0;
  for (const auto& other : w.group->waves)
    if ((*other).*when > latest && has_heard_of(w, other->id)) latest = (*other).*when;
  return latest;
}

namespace {

/// What an access leaves behind at a word, for those that follow.
void remember_word(Workgroup& g, u32 word, u8 touched, const LdsSource& by, bool is_atomic, u32 epoch) {
  LdsShadow& s = lds_word(g, word);
  const u16 me = static_cast<u16>(by.wave + 1);
  if (!by.is_write) {
    if (by.polls) return; // a flag: whoever changes it does so while it is read
    if (s.read_epoch != epoch) {
      s.read_epoch = epoch;
      s.readers = 0;
    }
    s.readers |= 1U << (by.wave & 31);
    s.read_site = by.site;
    if (!g.knowledge.empty() && !by.is_lds) g.reads[word * g.waves.size() + by.wave] = ~0U; // no order known
    if (!g.reads.empty() && by.is_lds) {
      u32& last = g.reads[word * g.waves.size() + by.wave];
      const u32 id = static_cast<u32>(by.id) << 4;
      last = ((last & ~15U) == id ? last : id) | touched;
    }
    return;
  }
  if (s.write_epoch != epoch) {
    s.write_epoch = epoch;
    s.writer = me;
    s.bytes = touched;
    s.atomic = is_atomic;
  } else {
    if (s.writer != agreed) s.writer = s.writer == me || s.writer == 0 ? me : many;
    s.bytes |= touched;
    s.atomic = s.atomic && is_atomic;
  }
  if (!g.knowledge.empty()) {
    const auto arrived = g.arrivals.find(word);
    if (is_atomic && by.is_lds) { // what an atomic leaves, it has from those before it
      Knowledge& all = arrived != g.arrivals.end() ? arrived->second : g.arrivals[word] = left_at(g, word);
      join(all, passed_on(g, by.wave, by.id, by.vm_landed));
    } else if (arrived != g.arrivals.end()) {
      g.arrivals.erase(arrived);
    }
  }
  s.last_writer = me;
  s.is_lds = by.is_lds;
  s.vm_landed = by.vm_landed;
  s.dma = by.is_dma;
  s.id = by.id;
  s.site = by.site;
}

/// The same of an access that was only noted when it happened.
void remember(Workgroup& g, const LdsAccess& a) {
  const bool listed = a.list != LdsAccess::no_list;
  for (u64 m = a.mask; m != 0; m &= m - 1) {
    const unsigned l = first_lane(m);
    const u32 address = listed ? g.log.addresses[a.list + l] : a.low + l * a.bytes;
    for (u32 d = address / 4; d <= (address + a.bytes - 1U) / 4; ++d) {
      const u32 low = d * 4 < address ? address - d * 4 : 0;
      const u32 high = std::min<u32>(4, address + a.bytes - d * 4);
      remember_word(g, d, static_cast<u8>(((1U << high) - 1) & ~((1U << low) - 1)), a.by, a.by.is_atomic,
                    a.epoch);
    }
  }
}

/// Whether what `page` got last has arrived for the wave that touches it now.
bool has_arrived(const Workgroup& g, const Wave& reader, const LdsPage& page) {
  if (page.writer == 0 || page.write_epoch <= g.all_landed_epoch) return true;
  if (page.writer == LdsPage::several) return false;
  const Wave& writer = *g.waves[page.writer - 1U];
  if (&writer == &reader) return !page.dma || page.id <= writer.vm_landed;
  return page.id <= (page.dma ? writer.vm_landed_at_barrier : writer.lds_landed_at_barrier);
}

void go_precise(Workgroup& g) {
  if (g.precise) return;
  g.precise = true;
  for (const LdsAccess& a : g.log.accesses) remember(g, a);
  g.log.clear();
}

/// The last LDS instructions by which waves read the page, [wave]; nullptr where that is not asked.
u64* last_reads(Workgroup& g, const LdsPage& page) {
  if (g.page_reads.empty()) return nullptr;
  return &g.page_reads[static_cast<std::size_t>(&page - g.pages.data()) * g.waves.size()];
}

/// Whether another wave was still reading the page when the last barrier let `w` pass.
bool is_overtaken(Workgroup& g, const Wave& w, const LdsPage& page) {
  const u64* const reads = last_reads(g, page);
  for (std::size_t k = 0; reads != nullptr && k < g.waves.size(); ++k) {
    const Wave& reader = *g.waves[k];
    const u64 last = reads[k];
    if (k != w.id && last > reader.lds_landed_at_barrier && last <= reader.lds_issued_at_barrier) return true;
  }
  return false;
}

/// Enters an access into its page; true when something about it has to be looked at by words.
bool enter_page(Workgroup& g, const Wave& w, LdsPage& page, const LdsSource& by) {
  const u32 others = ~(1U << w.id);
  if (page.epoch != g.epoch) {
    page.epoch = g.epoch;
    page.readers = page.writers = page.combiners = 0;
  }
  if (!by.is_write) {
    const bool clash = ((page.writers | page.combiners) & others) != 0 || !has_arrived(g, w, page);
    page.readers |= ~others;
    if (u64* const reads = by.is_lds ? last_reads(g, page) : nullptr; reads != nullptr) reads[w.id] = by.id;
    return clash;
  }
  bool clash = ((page.writers | page.readers) & others) != 0;
  if (g.reads_crossing && !by.is_atomic) clash = clash || is_overtaken(g, w, page);
  if (by.is_dma) {
    page.dma_epoch = g.epoch;
  } else if (page.dma_epoch > g.all_landed_epoch) { // what is loaded may come after what is stored
    clash = clash || !has_arrived(g, w, page);
  }
  if (by.is_atomic) { // it reads too; what other atomics of this epoch leave, it may meet on its way
    const bool arrived = page.atomic_epoch == g.epoch || has_arrived(g, w, page);
    page.atomic_epoch = arrived ? g.epoch : 0;
    page.combiners |= ~others;
    clash = clash || !arrived;
  } else {
    clash = clash || (page.combiners & others) != 0;
    page.atomic_epoch = 0;
    page.writers |= ~others;
  }
  const u8 me = static_cast<u8>(w.id + 1);
  // One record of what is on its way to a page: a write by another wave or by the other path joins it.
  const bool alone = page.writer == 0 || page.write_epoch <= g.all_landed_epoch ||
                     (page.writer == me && page.dma == by.is_dma);
  page.writer = alone ? me : LdsPage::several;
  page.dma = by.is_dma;
  page.id = by.id;
  page.write_epoch = g.epoch;
  return clash;
}

LdsSource source_of(const Wave& w, const Operation& op, LdsUse use) {
  return {.site = w.current,
          .wave = static_cast<u16>(w.id),
          .is_write = use != LdsUse::read,
          .is_dma = use == LdsUse::dma,
          .is_atomic = use == LdsUse::atomic,
          .is_lds = op.cls == Class::lds,
          .polls = op.polls,
          .id = use == LdsUse::dma ? w.last_vm_id : w.last_lds_id,
          .vm_landed = w.vm_landed};
}

/// A write to a word that another wave was still reading when the last barrier let this one pass: the read may see it.
void check_overtaken(Wave& w, u32 word, u8 touched, u32 address, unsigned lane) {
  Workgroup& g = *w.group;
  const std::size_t count = g.waves.size();
  for (std::size_t k = 0; k < count && !g.reads.empty(); ++k) {
    u32& last = g.reads[word * count + k];
    if (k == w.id || (last & touched) == 0) continue;
    const Wave& reader = *g.waves[k];
    const u64 id = last >> 4;
    if (id > reader.lds_issued_at_barrier || id <= reader.lds_landed_at_barrier) continue;
    const isa::Instruction& i = *g.launch->code->operations[g.shadow[word].read_site].instruction;
    report(w, FindingKind::waits,
           "writes LDS byte " + std::to_string(address) + ", which wave " + std::to_string(reader.id) +
               " was still reading with '" + i.text +
               "' when it came to the barrier: it did not wait for it before",
           lane, address);
    last = 0;
  }
}

/// A store to a word that a load to LDS may still fill: what it brings may come after what is stored.
void check_overwritten(Wave& w, LdsShadow& s, u32 address, unsigned lane) {
  const Workgroup& g = *w.group;
  const bool own = s.last_writer == w.id + 1;
  if (!own && (s.last_writer == 0 || s.write_epoch == g.epoch)) return; // a race, if anything
  const Wave& loader = *g.waves[s.last_writer - 1U];
  if (s.id <= (own ? loader.vm_landed : loader.vm_landed_at_barrier)) return;
  const isa::Instruction& i = *g.launch->code->operations[s.site].instruction;
  report(w, FindingKind::waits,
         "writes LDS byte " + std::to_string(address) + ", which " +
             (own ? "the wave's own" : "wave " + std::to_string(loader.id) + "'s") + " direct load '" +
             i.text + "' (vmcnt) may fill after this" +
             (own ? "" : ": it did not wait for it before the barrier"),
         lane, address);
  s.id = 0;
}

} // namespace

namespace {
/// Atomics that give nothing back and leave the same in either order.
bool commute(const MemoryFields& a, const MemoryFields& b) {
  switch (a.atomic) {
  case AtomicOp::add:
  case AtomicOp::sub:
  case AtomicOp::smin:
  case AtomicOp::umin:
  case AtomicOp::smax:
  case AtomicOp::umax:
  case AtomicOp::bit_and:
  case AtomicOp::bit_or:
  case AtomicOp::bit_xor: break;
  default: return false;
  }
  return a.atomic == b.atomic && a.bytes == b.bytes && !a.returns && !b.returns;
}
} // namespace

void check_lds(Wave& w, const Operation& op, u32 address, unsigned bytes, unsigned lane, bool is_write,
               bool is_atomic, bool is_dma, const u8* value) {
  Workgroup& g = *w.group;
  if (g.shadow.empty()) return;
  const Checks& checks = g.launch->options->checks;
  go_precise(g);
  const LdsSource by = source_of(w, op,
                                 is_dma      ? LdsUse::dma
                                 : is_atomic ? LdsUse::atomic
                                 : is_write  ? LdsUse::write
                                             : LdsUse::read);
  enter_page(g, w, g.pages[address / 256], by);
  const u16 me = static_cast<u16>(w.id + 1);
  const auto site = [&](u32 index) {
    const isa::Instruction& i = *g.launch->code->operations[index].instruction;
    return "'" + i.text + "'";
  };
  for (u32 d = address / 4; d <= (address + bytes - 1) / 4; ++d) {
    LdsShadow& s = lds_word(g, d);
    const u32 low = d * 4 < address ? address - d * 4 : 0;
    const u32 high = std::min<u32>(4, address + bytes - d * 4);
    const u8 touched = static_cast<u8>(((1U << high) - 1) & ~((1U << low) - 1));
    const bool reads =
        !is_write || (is_atomic && !commute(op.memory, g.launch->code->operations[s.site].memory));
    if (reads) {
      if (checks.waits && s.id != 0) {
        if (s.last_writer == me) {
          if (s.dma && s.id > w.vm_landed) {
            report(w, FindingKind::waits,
                   "reads LDS that the wave's own direct load " + site(s.site) +
                       " (vmcnt) has not yet filled",
                   lane, address);
            s.id = 0;
          }
        } else if (s.last_writer != 0 && s.write_epoch != g.epoch) {
          const Wave& writer = *g.waves[s.last_writer - 1U];
          if (s.id > (s.dma ? writer.vm_landed_at_barrier : writer.lds_landed_at_barrier)) {
            report(w, FindingKind::waits,
                   "reads LDS that wave " + std::to_string(writer.id) + " wrote with " + site(s.site) +
                       " and did not wait for before the barrier",
                   lane, address);
            s.id = 0;
          }
        }
      }
    }
    if (is_write && !is_dma && !is_atomic && checks.waits && s.dma && s.id != 0 && (s.bytes & touched) != 0)
      check_overwritten(w, s, address, lane);
    if (is_write && !is_atomic && g.reads_crossing) check_overtaken(w, d, touched, address, lane);
    if (checks.races) {
      // Atomics of several waves: whoever comes now, one of them was another's.
      const bool other_wrote = s.write_epoch == g.epoch && s.writer != 0 && s.writer != me &&
                               (s.writer != many || s.atomic) && (s.bytes & touched) != 0 &&
                               !(is_atomic && s.atomic);
      const bool flag = op.polls || (s.atomic && g.launch->code->operations[s.site].polls);
      const bool behind = s.writer < agreed && s.writer != 0 && s.is_lds != s.dma &&
                          comes_behind(g, w, s.writer - 1U, s.id, s.dma);
      if (other_wrote && !flag && !behind) {
        // Whichever comes last leaves the same: Triton has waves that hold a tensor twice write it twice.
        const u32 from = d * 4 + low;
        const bool equal =
            value != nullptr && std::memcmp(&g.lds[from], value + (from - address), high - low) == 0;
        const std::string writer =
            s.writer >= agreed ? "several waves write" : "wave " + std::to_string(s.writer - 1) + " writes";
        report(w, FindingKind::races,
               std::string(is_write ? "writes" : "reads") + " LDS byte " + std::to_string(address) +
                   ", which " + writer + " with " + site(s.site) + " and no barrier between" +
                   (s.atomic && !is_write ? relaxed : "") + (equal ? "; the value is the same" : ""),
               lane, address, equal || (s.atomic && !is_write));
        s.writer = equal ? agreed : me;
      }
      for (u32 m = s.readers & ~(1U << w.id); is_write && m != 0 && !g.knowledge.empty(); m &= m - 1) {
        const u32 other = first_lane(m);
        if (comes_behind(g, w, other, g.reads[d * g.waves.size() + other] >> 4, false))
          s.readers &= ~(1U << other);
      }
      if (is_write && s.read_epoch == g.epoch && (s.readers & ~(1U << w.id)) != 0) {
        report(w, FindingKind::races,
               "writes LDS byte " + std::to_string(address) + ", which wave " +
                   std::to_string(first_lane(s.readers & ~(1U << w.id))) + " reads with " +
                   site(s.read_site) + " and no barrier between" + (is_atomic ? relaxed : ""),
               lane, address, is_atomic);
        s.readers = 0;
      }
    }
    if (op.polls && !g.knowledge.empty()) learn(g, w, d);
    remember_word(g, d, touched, by, is_atomic, g.epoch);
  }
}

namespace {

/// Takes out of the log what `done` holds of.
template <class Done>
void forget(LdsLog& log, const Done& done) {
  u32 lists = 0;
  std::erase_if(log.accesses, [&](LdsAccess& a) {
    if (done(a)) return true;
    if (a.list != LdsAccess::no_list) {
      std::memmove(&log.addresses[lists], &log.addresses[a.list], lanes * sizeof(u32));
      a.list = lists;
      lists += lanes;
    }
    return false;
  });
  log.lists = lists;
}

/// The log is full: of accesses that differ in nothing but time the last stands for all, as it would in the precise record. What
/// then still fills half of it goes there.
void shorten_log(Workgroup& g) {
  constexpr u16 empty = 0xffff;
  static_assert(LdsLog::most < empty);
  thread_local std::array<u16, std::size_t{2} * LdsLog::most> table;
  table.fill(empty);
  std::vector<LdsAccess>& all = g.log.accesses;
  const auto same = [&](const LdsAccess& a, const LdsAccess& b) {
    const bool listed = a.list != LdsAccess::no_list;
    return a.mask == b.mask && a.low == b.low && a.bytes == b.bytes &&
           listed == (b.list != LdsAccess::no_list) && a.by.wave == b.by.wave &&
           a.by.is_write == b.by.is_write && a.by.is_dma == b.by.is_dma && a.by.is_atomic == b.by.is_atomic &&
           a.by.is_lds == b.by.is_lds && a.by.polls == b.by.polls &&
           (!listed ||
            std::memcmp(&g.log.addresses[a.list], &g.log.addresses[b.list], lanes * sizeof(u32)) == 0);
  };
  std::array<bool, LdsLog::most> kept{};
  for (std::size_t i = all.size(); i-- > 0;) {
    const LdsAccess& a = all[i];
    u32 hash = 0;
    for (unsigned l = 0; l < lanes && a.list != LdsAccess::no_list; ++l)
      hash += g.log.addresses[a.list + l] * (2 * l + 1);
    u32 slot = (hash ^ a.low * 31 ^ a.by.wave << 16 ^ a.bytes << 24) * 2654435761U;
    for (;; ++slot) {
      u16& entry = table[(slot >> 8) % table.size()];
      if (entry == empty) {
        entry = static_cast<u16>(i);
        kept[i] = true;
        break;
      }
      if (same(a, all[entry])) break;
      slot += 255;
    }
  }
  std::size_t count = 0;
  u32 lists = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!kept[i]) continue;
    LdsAccess a = all[i];
    if (a.list != LdsAccess::no_list) {
      std::memmove(&g.log.addresses[lists], &g.log.addresses[a.list], lanes * sizeof(u32));
      a.list = lists;
      lists += lanes;
    }
    all[count++] = a;
  }
  all.resize(count);
  g.log.lists = lists;
  if (count < LdsLog::most / 2) return;
  for (const LdsAccess& a : all) remember(g, a);
  g.log.clear();
}

/// The rest of note_lds, once the pages are entered. `rising`: the addresses follow each other from the first one.
bool log_lds(Workgroup& g, const u32* addresses, bool rising, u64 mask, unsigned bytes, const LdsSource& by,
             bool clash) {
  if (!clash && g.waves.size() == 1) {
    if (!by.is_dma) return true; // nobody to race with
    // A wave alone has nothing to ask about what it knows to have arrived.
    if (g.log.accesses.size() >= LdsLog::most)
      forget(g.log, [&](const LdsAccess& a) { return a.by.id <= g.waves[0]->vm_landed; });
  }
  if (clash) {
    go_precise(g);
    return false;
  }
  if (g.log.accesses.size() >= LdsLog::most) shorten_log(g);
  LdsAccess& a = g.log.accesses.emplace_back();
  a.by = by;
  a.epoch = g.epoch;
  a.bytes = static_cast<u8>(bytes);
  a.mask = mask;
  a.low = addresses[0];
  if (rising) return true;
  if (g.log.addresses == nullptr) g.log.addresses.reset(new u32[std::size_t{LdsLog::most} * lanes]);
  a.list = g.log.lists;
  g.log.lists += lanes;
  std::copy_n(addresses, lanes, &g.log.addresses[a.list]);
  return true;
}

} // namespace

bool note_lds(Wave& w, const Operation& op, const LaneOffsets& at, const LdsPages& pages, u64 mask,
              unsigned bytes, LdsUse use) {
  Workgroup& g = *w.group;
  if (pages.set == 0) return note_lds(w, op, at.at, mask, bytes, use);
  const LdsSource by = source_of(w, op, use);
  bool clash = g.precise || (by.polls && g.waves.size() > 1);
  if (!by.is_write) w.last_lds_read_id = w.last_lds_id;
  for (u64 set = pages.set; set != 0; set &= set - 1)
    clash = enter_page(g, w, g.pages[pages.first + first_lane(set)], by) || clash;
  return log_lds(g, at.at, at.rising, mask, bytes, by, clash);
}

bool note_lds(Wave& w, const Operation& op, const u32* addresses, u64 mask, unsigned bytes, LdsUse use) {
  Workgroup& g = *w.group;
  if (g.shadow.empty() || mask == 0) return true;
  const LdsSource by = source_of(w, op, use);
  bool clash = g.precise || (by.polls && g.waves.size() > 1);
  if (!by.is_write && op.cls == Class::lds) w.last_lds_read_id = w.last_lds_id;
  LdsPage* before = nullptr;
  for (u64 m = mask; m != 0; m &= m - 1) {
    const u32 address = addresses[first_lane(m)];
    if (address % 256 + bytes > 256 || u64{address} + bytes > g.lds.size()) {
      clash = true; // over two pages, or outside: there is no shadow of that
      continue;
    }
    LdsPage& page = g.pages[address / 256];
    if (&page == before) continue;
    before = &page;
    clash = enter_page(g, w, page, by) || clash;
  }
  return log_lds(g, addresses, false, mask, bytes, by, clash);
}

namespace {

/// 64 bits of a row of them, from any one on; the row has a word more than it needs.
u64 bits_at(const std::vector<u64>& bits, u32 first) {
  const u64 low = bits[first / 64] >> (first % 64);
  return first % 64 == 0 ? low : low | bits[first / 64 + 1] << (64 - first % 64);
}

} // namespace

bool lds_pages_defined(const Workgroup& g, const LdsPages& pages) {
  return pages.set != 0 && (bits_at(g.lds_defined, pages.first) & pages.set) == pages.set;
}

void settle_lds_pages(Workgroup& g, const LdsPages& pages) {
  for (u64 set = pages.set & ~bits_at(g.lds_defined, pages.first); set != 0; set &= set - 1) {
    const u32 page = pages.first + first_lane(set);
    const std::size_t begin = std::size_t{page} * 256,
                      end = std::min<std::size_t>(begin + 256, g.lds_undefined.size());
    u64 some = 0;
    for (std::size_t at = begin; at + 8 <= end && some == 0; at += 8)
      std::memcpy(&some, &g.lds_undefined[at], 8);
    for (std::size_t at = end - (end - begin) % 8; at < end; ++at) some |= g.lds_undefined[at];
    if (some == 0) g.lds_defined[page / 64] |= u64{1} << (page % 64);
  }
}

void undefine_lds(Workgroup& g, u64 address, unsigned bytes) {
  for (u64 page = address / 256; page <= (address + bytes - 1) / 256; ++page)
    g.lds_defined[page / 64] &= ~(u64{1} << (page % 64));
}

void lds_at_barrier(Workgroup& g) {
  bool all = true;
  const auto in_flight = [&](const LdsAccess& a) {
    const Wave& wave = *g.waves[a.by.wave];
    return a.by.id > (a.by.is_dma ? wave.vm_landed : wave.lds_landed);
  };
  // Atomics of several waves meet at one word: the record then keeps the last of them, in flight or not.
  const bool atomics = std::any_of(g.log.accesses.begin(), g.log.accesses.end(),
                                   [&](const LdsAccess& a) { return a.by.is_atomic && in_flight(a); });
  // What is on its way stays in the log; where words have an order of their own, in the precise record.
  if (atomics || !g.knowledge.empty()) {
    for (const LdsAccess& a : g.log.accesses)
      if (in_flight(a) || (atomics && a.by.is_atomic)) remember(g, a);
    g.log.clear();
  } else {
    forget(g.log, [&](const LdsAccess& a) { return !in_flight(a); });
  }
  for (const auto& wave : g.waves) {
    for (u32 i = 0; i < wave->vm_queue.size() && all; ++i) {
      const MemoryFields& f = wave->vm_queue[i].op->memory;
      all = f.kind != MemoryFields::Kind::to_lds && f.space != MemoryFields::Space::flat;
    }
    for (u32 i = 0; i < wave->lgkm_queue.size() && all; ++i) {
      const Operation& op = *wave->lgkm_queue[i].op;
      all = op.cls != Class::lds && op.memory.space != MemoryFields::Space::flat;
    }
  }
  if (all) g.all_landed_epoch = g.epoch;
  for (auto& learnt : g.knowledge) learnt.clear();
  g.arrivals.clear();
  g.precise = false;
}

namespace {

/// Whether two lanes write one word. Lanes that follow each other upwards, which is usual, cannot.
bool shares_words(Workgroup& g, const u32* addresses, u64 mask, unsigned bytes) {
  u64 next = 0;
  u32 low = ~0U, high = 0, all = 0;
  bool upwards = true;
  for (u64 m = mask; m != 0; m &= m - 1) {
    const u32 address = addresses[first_lane(m)];
    upwards = upwards && address >= next;
    next = u64{address} + bytes;
    low = std::min(low, address);
    high = std::max(high, address);
    all |= address;
  }
  if (upwards) return false;
  // Elements that lie on multiples of their size share bytes only as a whole: a bit each, where they are near.
  constexpr unsigned most = 4096;
  if (bytes != 12 && all % bytes == 0 && (high - low) / bytes < most) {
    std::array<u64, most / 64> taken{};
    const int shift = std::countr_zero(bytes);
    for (u64 m = mask; m != 0; m &= m - 1) {
      const u32 at = (addresses[first_lane(m)] - low) >> shift;
      const u64 bit = u64{1} << (at % 64);
      if ((taken[at / 64] & bit) != 0) return true;
      taken[at / 64] |= bit;
    }
    return false;
  }
  if (bytes < 4) return true; // parts of words: the exact comparison decides
  g.words_seen.resize(g.lds.size() / 256 + 1, 0);
  bool shared = false;
  const auto each = [&](auto f) {
    for (u64 m = mask; m != 0; m &= m - 1) {
      const u32 word = addresses[first_lane(m)] / 4;
      for (u32 k = word; k < word + bytes / 4; ++k) {
        if (k / 64 < g.words_seen.size()) f(g.words_seen[k / 64], u64{1} << (k % 64));
      }
    }
  };
  each([&](u64& seen, u64 bit) {
    shared = shared || (seen & bit) != 0;
    seen |= bit;
  });
  each([](u64& seen, u64 bit) { seen &= ~bit; });
  return shared;
}

} // namespace

void check_lds_lanes(Wave& w, const Operation& op, const u32* addresses, u64 mask, unsigned bytes,
                     const u32* data) {
  if (w.deferring || !w.group->launch->options->checks.races) return;
  static const RowFunctions& host = row_functions();
  // A loop stores in one pattern, at bases that move: what shares no words needs no second look.
  struct Pattern {
    u32 bytes = 0, low_bits = 0;
    std::array<u32, lanes> offsets{};
  };
  thread_local std::array<Pattern, 128> known; // waves have patterns of their own
  if (mask == ~u64{0}) {
    Pattern& k = known[(w.current + 37 * w.id) % known.size()];
    if (k.bytes == bytes && k.low_bits == (addresses[0] & 3U) && host.follows(addresses, k.offsets.data()))
      return;
    if (host.ascending(addresses, bytes) || !shares_words(*w.group, addresses, mask, bytes)) {
      if (*std::max_element(addresses, addresses + lanes) + u64{bytes} > w.group->lds.size()) return;
      k.bytes = bytes;
      k.low_bits = addresses[0] & 3U;
      for (unsigned l = 0; l < lanes; ++l) k.offsets[l] = addresses[l] - addresses[0];
      return;
    }
  } else if (!shares_words(*w.group, addresses, mask, bytes)) {
    return;
  }
  // Open addressing over the words that this instruction writes.
  struct Entry {
    u32 address;
    u32 value;
    u8 lane;
    bool used;
  };
  Entry table[512] = {};
  const unsigned words_each = bytes < 4 ? 1 : bytes / 4;
  for (; mask != 0; mask &= mask - 1) {
    const unsigned l = first_lane(mask);
    for (unsigned k = 0; k < words_each; ++k) {
      const u32 at = addresses[l] + 4 * k;
      const u32 low = bytes < 4 && op.memory.high ? data[l] >> 16 : data[l + k * lanes];
      const u32 value = bytes < 4 ? low & ((1U << (8 * bytes)) - 1) : low;
      for (u32 slot = (at * 2654435761U) >> 23;; slot = (slot + 1) & 511) {
        Entry& e = table[slot & 511];
        if (!e.used) {
          e = {at, value, static_cast<u8>(l), true};
          break;
        }
        if (e.address == at) {
          if (e.value != value) {
            report(w, FindingKind::races,
                   "lanes " + std::to_string(e.lane) + " and " + std::to_string(l) +
                       " write different values to LDS byte " + std::to_string(at),
                   l, at);
            return;
          }
          break;
        }
      }
    }
  }
}

namespace {

u32 count_lds_cycles(isa::Arch arch, const u32* addresses, u64 mask, unsigned bytes, bool is_write,
                     u32& conflicts) {
  const machine::LdsService& service = machine::lds_service(arch, is_write, bytes);
  const unsigned banks = service.banks, phases = service.phases();
  u32 cycles = 0;
  conflicts = 0;
  // The different words that a phase wants of a bank: at most one for each of its 64 / phases lanes.
  const unsigned places = 64 / phases;
  std::array<u32, 64 * 64> words; // [phase][bank][depth]
  std::array<std::array<u8, 64>, 8> depth{};
  std::array<u8, 8> worst{};
  for (; mask != 0; mask &= mask - 1) {
    const unsigned l = first_lane(mask);
    const unsigned p = service.phase[l];
    for (unsigned k = 0; k < std::max(1U, bytes / 4); ++k) {
      const u32 word = addresses[l] / 4 + k;
      const unsigned bank = word % banks;
      u32* const wanted = &words[(p * 64 + bank) * places];
      u8& n = depth[p][bank];
      if (std::find(wanted, wanted + n, word) != wanted + n) continue; // lanes asking for one word share it
      wanted[n++] = word;
      worst[p] = std::max(worst[p], n);
    }
  }
  for (unsigned p = 0; p < phases; ++p) { // a phase without active lanes takes no clock (assumed)
    cycles += worst[p];
    conflicts += worst[p] > 1 ? worst[p] - 1U : 0U;
  }
  return cycles;
}

} // namespace

// Kernels ask about few patterns again and again, at bases that move by the rings of a pipeline: what was counted is kept by the
// pattern, of which 256 bytes, all banks once, are no part.
u32 lds_cycles(isa::Arch arch, const u32* addresses, u64 mask, unsigned bytes, bool is_write,
               u32& conflicts) {
  if (mask == 0) return conflicts = 0;
  struct Known {
    std::array<u32, lanes> pattern;
    u64 mask = 0; // 0: empty
    u32 kind = 0, cycles = 0, conflicts = 0;
  };
  thread_local std::array<Known, 128> all;
  const u32 base = addresses[first_lane(mask)] & ~255U;
  std::array<u32, lanes> pattern;
  u32 hash = bytes;
  for (unsigned l = 0; l < lanes; ++l) {
    pattern[l] = ((mask >> l) & 1U) != 0 ? addresses[l] - base : 0;
    hash += pattern[l] * (2 * l + 1);
  }
  const u32 kind = bytes << 8 | (is_write ? 2U : 0U) | static_cast<u32>(arch) << 16;
  Known& k = all[(hash * 2654435761U) >> 25];
  if (k.mask != mask || k.kind != kind || k.pattern != pattern) {
    k.pattern = pattern;
    k.mask = mask;
    k.kind = kind;
    k.cycles = count_lds_cycles(arch, addresses, mask, bytes, is_write, k.conflicts);
  }
  conflicts = k.conflicts;
  return k.cycles;
}

} // namespace inlay::runtime::emulator
