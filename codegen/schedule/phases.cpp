// Barriers, priorities and waits of a ping-pong loop.
#include "pingpong.h"

#include <inlay/algebra/error.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace inlay::codegen {
namespace {

Inst plain(InstKind kind, const Inst& like) {
  Inst i;
  i.kind = kind;
  i.op = like.op;
  i.where = like.where;
  return i;
}
Inst half_barrier(const Inst& like, Waves waves) {
  Inst i = plain(InstKind::barrier, like);
  i.waves = waves;
  return i;
}

Inst priority(const Inst& like, int value) {
  Inst i = plain(InstKind::priority, like);
  i.value = value;
  return i;
}

// A trip with a barrier after each phase. Products have a priority of 1 from before the barrier that they wait at, and accesses of 0: what
// stands between a barrier and the first product after it is time of the matrix pipe.
std::vector<Inst> with_barriers(const std::vector<Inst>& body, int phases) {
  std::vector<Inst> out;
  int at = 0, now = 1; // the priority
  const auto end = [&](const Inst& like) {
    if (at % 2 == 1) out.push_back(priority(like, now = 1));
    out.push_back(plain(InstKind::barrier, like));
    ++at;
  };
  for (const Inst& i : body) {
    INLAY_CHECK(i.phase >= at && i.phase < phases, "phases in order");
    while (at < i.phase) end(i);
    const int wanted = i.kind != InstKind::mma                           ? 0
                       : out.empty() || out.back().kind != InstKind::mma ? now
                                                                         : 2;
    if (now != wanted) out.push_back(priority(i, now = wanted));
    out.push_back(i);
  }
  while (at < phases) end(body.back());
  return out;
}

/// Which instruction of which list: 0 prologue, 1 body, 2 epilogue.
using Site = std::pair<int, std::size_t>;
struct Counts {
  int vm = -1, lgkm = -1;
  int& of(bool transfer) { return transfer ? vm : lgkm; }
};

/// A run of the lists, instruction by instruction, with what each number of trips needs.
class Run {
public:
  struct Event {
    Site site;
    int trip;
    const Inst* inst;
    std::array<int, 2> barriers; ///< that each half has run before
  };
  struct Need {
    std::size_t access, at; ///< the access, and the event that a wait for it has to stand before
    bool transfer;
  };

  Run(const CodeRegion& loop, const std::vector<Register>& registers, int waves, int trips)
      : loop_(loop), registers_(registers), waves_(waves) {
    add(0, loop.prologue, 0);
    for (int trip = 0; trip < trips; ++trip) add(1, loop.body, trip);
    add(2, loop.epilogue, trips);
    issued_[0].push_back(0), issued_[1].push_back(0);
    for (const Event& e : events_) {
      issued_[0].push_back(issued_[0].back() + counted(*e.inst, false));
      issued_[1].push_back(issued_[1].back() + counted(*e.inst, true));
    }
  }

  // What the events need from `first` on; the others are those of a longer run.
  std::vector<Need> needs(bool epilogue_alone) const {
    std::vector<Need> out;
    for (std::size_t e = 0; e < events_.size(); ++e)
      if (!epilogue_alone || events_[e].site.first == 2) needs_of(e, out);
    return out;
  }

  const Site& site(const Need& n) const { return events_[n.at].site; }
  // Accesses of its queue after the access that a need is for, where the wait is.
  int younger(const Need& n, std::size_t at) const {
    const auto& issued = issued_[n.transfer ? 1 : 0];
    return issued[at] - issued[n.access + 1];
  }
  int younger(const Need& n) const { return younger(n, n.at); }
  bool met(const Need& n, std::map<Site, Counts>& waits) const {
    for (std::size_t at = n.at; at > n.access; --at)
      if (const auto w = waits.find(events_[at].site); w != waits.end())
        if (const int count = w->second.of(n.transfer); count >= 0 && count <= younger(n, at)) return true;
    return false;
  }

private:
  int counted(const Inst& i, bool transfer) const {
    if (transfer)
      return i.kind == InstKind::store || (i.kind == InstKind::load && !i.direct) ||
             (i.kind == InstKind::lds_write && i.direct);
    return i.kind == InstKind::lds_read ? lds_reads(i, registers_) : 0;
  }
  void add(int list, const std::vector<Inst>& insts, int trip) {
    for (std::size_t n = 0; n < insts.size(); ++n) {
      events_.push_back({{list, n}, trip, &insts[n], barriers_});
      if (insts[n].kind != InstKind::barrier) continue;
      for (const std::size_t half : {0U, 1U})
        barriers_[half] += insts[n].waves.contains(half == 0 ? 0 : waves_ - 1);
    }
  }
  std::pair<int, int> stage(const Event& e) const {
    return {e.inst->access.tensor, (e.trip + e.inst->access.slot) % loop_.ring};
  }
  // The last event before which a wait is handed on to event e, whichever halves both are of.
  std::size_t handed_on(std::size_t e) const {
    const auto& now = events_[e].barriers;
    const int least = std::min(now[0], now[1]);
    while (e > 0 && std::max(events_[e].barriers[0], events_[e].barriers[1]) >= least) --e;
    return e;
  }
  // Where the phase of an event of the loop begins, after `access`: its barrier, for the first one that at the end of the prologue. Else
  // the event itself.
  std::size_t begin_of_phase(std::size_t e, std::size_t access) const {
    for (std::size_t at = e; events_[e].site.first == 1 && at-- > access + 1;)
      if (events_[at].inst->kind == InstKind::barrier) return at;
    return e;
  }
  void needs_of(std::size_t e, std::vector<Need>& out) const {
    const Event& event = events_[e];
    const Inst& i = *event.inst;
    const auto reads = [&](const Inst& access, int trip) {
      return std::any_of(i.uses.begin(), i.uses.end(), [&](const Reg& u) {
        return u.id == access.def.id && !registers_[static_cast<std::size_t>(u.id)].outside &&
               event.trip + u.ahead == trip + access.def.ahead;
      });
    };
    const bool takes = i.kind == InstKind::mma,
               lds = i.kind == InstKind::lds_read || i.kind == InstKind::lds_write;
    if (!takes && !lds) return;
    const std::size_t handed = lds ? handed_on(e) : 0;
    for (std::size_t x = 0; x < e; ++x) {
      const Inst& access = *events_[x].inst;
      if (takes) {
        if (access.kind == InstKind::lds_read && reads(access, events_[x].trip))
          out.push_back({x, begin_of_phase(e, x), false});
        continue;
      }
      const bool read = i.kind == InstKind::lds_read;
      if (access.kind != (read ? InstKind::lds_write : InstKind::lds_read) ||
          stage(events_[x]) != stage(event))
        continue;
      INLAY_CHECK(x < handed, "phases between what waves do to one stage of LDS");
      out.push_back({x, handed, read});
    }
  }

  const CodeRegion& loop_;
  const std::vector<Register>& registers_;
  int waves_;
  std::array<int, 2> barriers_{};
  std::vector<Event> events_;
  std::array<std::vector<int>, 2> issued_; ///< before each event: LDS reads, and what vm counts
};

std::vector<Inst> with_waits(const std::vector<Inst>& list, int number, const std::map<Site, Counts>& waits) {
  std::vector<Inst> out;
  for (std::size_t n = 0; n < list.size(); ++n) {
    if (const auto w = waits.find({number, n}); w != waits.end()) {
      out.push_back(plain(InstKind::wait, list[n]));
      out.back().vm = w->second.vm, out.back().lgkm = w->second.lgkm;
    }
    out.push_back(list[n]);
  }
  return out;
}

} // namespace

void place_phases(CodeRegion& loop, const std::vector<Register>& registers, int waves) {
  const Inst like = loop.body.front();
  loop.body = with_barriers(loop.body, loop.phases);
  // The prologue is in step: its transfers, a barrier, its reads.
  const auto first = std::find_if(loop.prologue.begin(), loop.prologue.end(),
                                  [](const Inst& i) { return i.kind == InstKind::lds_read; });
  if (first != loop.prologue.end()) loop.prologue.insert(first, plain(InstKind::barrier, *first));
  loop.prologue.push_back(priority(like, 1));
  loop.prologue.push_back(half_barrier(like, {waves / 2, waves / 2}));
  loop.epilogue.insert(loop.epilogue.begin(), {half_barrier(like, {0, waves / 2}), priority(like, 0)});

  int reach = 0;
  for (const Inst& i : loop.body) reach = std::max(reach, i.ahead);
  const int trips = 2 * loop.ring + reach + 2;
  std::vector<std::pair<Run, std::vector<Run::Need>>> runs;
  for (int t = trips; t >= 0; --t) {
    Run run(loop, registers, waves, t);
    auto needs = run.needs(t < trips);
    runs.emplace_back(std::move(run), std::move(needs));
  }
  std::map<Site, Counts> waits;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [run, needs] : runs)
      for (const Run::Need& n : needs) {
        if (run.met(n, waits)) continue;
        int& count = waits[run.site(n)].of(n.transfer);
        const int wanted = run.younger(n);
        count = count < 0 ? wanted : std::min(count, wanted);
        changed = true;
      }
  }
  // What others, found later, do as well is not needed.
  const auto all_met = [&] {
    return std::all_of(runs.begin(), runs.end(), [&](const auto& r) {
      return std::all_of(r.second.begin(), r.second.end(),
                         [&](const Run::Need& n) { return r.first.met(n, waits); });
    });
  };
  for (auto& [site, counts] : waits)
    for (const bool transfer : {false, true})
      if (const int was = std::exchange(counts.of(transfer), -1); was >= 0 && !all_met())
        counts.of(transfer) = was;
  std::erase_if(waits, [](const auto& w) { return w.second.vm < 0 && w.second.lgkm < 0; });
  loop.prologue = with_waits(loop.prologue, 0, waits);
  loop.body = with_waits(loop.body, 1, waits);
  loop.epilogue = with_waits(loop.epilogue, 2, waits);
}

} // namespace inlay::codegen
