// A schedule applied: iterations, waits and barriers.
#include "pingpong.h"
#include "stagger.h"
#include "stream.h"

#include <inlay/codegen/address.h>
#include <inlay/codegen/nest.h>
#include <inlay/codegen/symbol_kinds.h>

#include <inlay/algebra/error.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <map>
#include <set>
#include <tuple>

namespace inlay::codegen {
namespace {

bool uses_lds(const Inst& i) { return i.kind == InstKind::lds_read || i.kind == InstKind::lds_write; }

// ------------------------------------------------------------------------------------------------ waits, barriers

/// Walks code as a wave runs it and says what is missing before each instruction.
class Walker {
public:
  /// `waves`: how many are told apart; 1 where all do the same.
  Walker(const std::vector<Register>& registers, int ring, int waves)
      : registers_(&registers), ring_(ring), vm_(static_cast<std::size_t>(waves)),
        lgkm_(static_cast<std::size_t>(waves)) {}

  struct Need {
    int vm = -1, lgkm = -1;
    bool barrier = false;
  };
  /// `sides`: of tiles that are apart, by tensor.
  void set(int ring, std::map<int, int> sides) { ring_ = ring, sides_ = std::move(sides); }

  Need need(const Inst& inst, int trip) const {
    Need n;
    const auto wait_for = [&](const Reg& r) {
      const Key key = key_of(r, trip);
      for (std::size_t w = 0; w < vm_.size(); ++w) {
        if (!runs(inst, w)) continue;
        const auto &vm = vm_[w], &lgkm = lgkm_[w];
        for (std::size_t i = 0; i < vm.size(); ++i)
          if (vm[i] == key) n.vm = tighter(n.vm, static_cast<int>(vm.size() - 1 - i));
        for (std::size_t i = 0; i < lgkm.size(); ++i)
          if (lgkm[i] == key) n.lgkm = tighter(n.lgkm, static_cast<int>(lgkm.size() - 1 - i));
      }
    };
    for (const Reg& r : inst.uses) wait_for(r);
    if (inst.kind == InstKind::mma) wait_for(inst.def);
    if (uses_lds(inst)) {
      const Stage stage = stage_of(inst, trip);
      n.barrier = inst.kind == InstKind::lds_read ? written_.contains(stage) || added_.contains(stage)
                  : inst.combine                  ? written_.contains(stage) || read_.contains(stage)
                                                  : read_.contains(stage) || added_.contains(stage);
      // What transfers bring to this stage has to be there before the barrier, whosever they are.
      if (inst.kind == InstKind::lds_read)
        for (const auto& vm : vm_)
          for (std::size_t i = 0; i < vm.size(); ++i)
            if (vm[i] == transfer_to(stage)) n.vm = tighter(n.vm, static_cast<int>(vm.size() - 1 - i));
    }
    // What a wave stored is there before it says so, and what all waves stored before a number is drawn.
    if (inst.kind == InstKind::release && busy(vm_)) n.vm = 0;
    // Or the turn is passed on, or devices meet; and that it is the workgroup's turn, or that they have met, before any wave acquires
    // what that says.
    if (inst.kind == InstKind::ticket || inst.kind == InstKind::signal || inst.kind == InstKind::meet ||
        (inst.kind == InstKind::acquire && (inst.turn >= 0 || inst.system)))
      n.barrier = true;
    if (n.barrier && busy(lgkm_)) n.lgkm = 0;
    return n;
  }
  bool in_flight() const { return busy(lgkm_); } ///< accesses to LDS
  /// What ends everything that is under way.
  Need all() const {
    Need n;
    n.barrier = !written_.empty() || !read_.empty() || !added_.empty();
    if (busy(vm_)) n.vm = 0;
    if (busy(lgkm_)) n.lgkm = 0;
    return n;
  }
  /// What ends all accesses to LDS; others stay under way.
  Need out_of_lds() const {
    Need n;
    n.barrier = !written_.empty() || !read_.empty() || !added_.empty();
    for (const auto& vm : vm_)
      for (std::size_t i = 0; i < vm.size(); ++i)
        if (vm[i].first <= -2) n.vm = tighter(n.vm, static_cast<int>(vm.size() - 1 - i));
    if (busy(lgkm_)) n.lgkm = 0;
    return n;
  }
  /// Behind a loop nobody knows which stage its last trip was at: what has been read or written of a tile may be any of its stages.
  void at_any_stage(const std::vector<Inst>& body) {
    std::set<int> own;
    for (const Inst& i : body)
      if (uses_lds(i)) own.insert(i.access.tensor);
    for (std::set<Stage>* all : {&written_, &read_, &added_})
      for (const Stage& s : std::set<Stage>(*all))
        for (int stage = 0; stage < ring_ && own.contains(std::get<0>(s)); ++stage)
          all->insert({std::get<0>(s), stage, std::get<2>(s)});
  }
  void wait(int vm, int lgkm, const Waves& waves) {
    for (std::size_t w = 0; w < vm_.size(); ++w) {
      if (!waves.contains(static_cast<int>(w))) continue;
      if (vm >= 0)
        while (static_cast<int>(vm_[w].size()) > vm) vm_[w].pop_front();
      if (lgkm >= 0)
        while (static_cast<int>(lgkm_[w].size()) > lgkm) lgkm_[w].pop_front();
    }
  }
  void run(const Inst& inst, int trip) {
    switch (inst.kind) {
    case InstKind::load:
      if (!inst.direct) push(vm_, inst, key_of(inst.def, trip));
      break;
    case InstKind::store:
      // Of two versions the one with fewer: after more stores the same count waits for more.
      if (!inst.when || inst.when->divides) push(vm_, inst, {-1, 0});
      break;
    case InstKind::signal: push(vm_, inst, {-1, 0}); break;
    case InstKind::ticket: push(vm_, inst, key_of(inst.def, trip)); break;
    case InstKind::lds_read:
      for (int n = lds_reads(inst, *registers_); n > 0; --n) push(lgkm_, inst, key_of(inst.def, trip));
      read_.insert(stage_of(inst, trip));
      break;
    case InstKind::lds_write:
      if (inst.direct) {
        push(vm_, inst, transfer_to(stage_of(inst, trip)));
      } else {
        push(lgkm_, inst, {-1, 0});
      }
      (inst.combine ? added_ : written_).insert(stage_of(inst, trip));
      break;
    case InstKind::wait: wait(inst.vm, inst.lgkm, inst.waves); break;
    case InstKind::barrier:
      if (!inst.waves.all()) break; // of one half: it hands on nothing to the other
      // A transfer that is under way is not published.
      std::erase_if(written_, [&](const Stage& s) {
        return std::none_of(vm_.begin(), vm_.end(), [&](const auto& vm) {
          return std::find(vm.begin(), vm.end(), transfer_to(s)) != vm.end();
        });
      });
      read_.clear(), added_.clear();
      break;
    default: break;
    }
  }

private:
  using Key = std::pair<int, int>;             // register, iteration
  using Stage = std::tuple<int, int, int>;     // tensor, stage, part
  using Queues = std::vector<std::deque<Key>>; // by wave
  static bool runs(const Inst& inst, std::size_t wave) { return inst.waves.contains(static_cast<int>(wave)); }
  static bool busy(const Queues& queues) {
    return std::any_of(queues.begin(), queues.end(), [](const auto& q) { return !q.empty(); });
  }
  static void push(Queues& queues, const Inst& inst, const Key& key) {
    for (std::size_t w = 0; w < queues.size(); ++w)
      if (runs(inst, w)) queues[w].push_back(key);
  }
  static int tighter(int a, int b) { return a < 0 ? b : std::min(a, b); }
  Key key_of(const Reg& r, int trip) const {
    return {r.id, (*registers_)[static_cast<std::size_t>(r.id)].outside ? 0 : trip + r.ahead};
  }
  // By stage and part alone, so that one barrier is for all tiles of an iteration; where they are apart, for all of a side.
  Key transfer_to(const Stage& s) const {
    const auto [tensor, stage, part] = s;
    const auto side = sides_.find(tensor);
    return {(side == sides_.end() ? -2 : -3 - side->second) - 2 * part, stage};
  }
  Stage stage_of(const Inst& i, int trip) const {
    return {i.access.tensor, (trip + i.access.slot) % ring_, i.access.part};
  }

  const std::vector<Register>* registers_;
  int ring_;
  std::map<int, int> sides_;
  Queues vm_, lgkm_;
  std::set<Stage> written_, read_, added_; ///< added to by atomics, in any order
};

Inst wait_of(const Walker::Need& n, const Inst& like) {
  Inst w;
  w.kind = InstKind::wait;
  w.op = like.op;
  w.where = like.where;
  w.vm = n.vm;
  w.lgkm = n.lgkm;
  return w;
}
Inst barrier_of(const Inst& like) {
  Inst b;
  b.kind = InstKind::barrier;
  b.op = like.op;
  b.where = like.where;
  return b;
}

void merge(Walker::Need& into, const Walker::Need& n) {
  const auto min = [](int a, int b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); };
  into.vm = min(into.vm, n.vm);
  into.lgkm = min(into.lgkm, n.lgkm);
  into.barrier = into.barrier || n.barrier;
}

/// `without`: a place that has to do without a barrier; `missing` says whether it cannot.
struct Omission {
  const Walker::Need* without = nullptr;
  bool missing = false;
};

void step_over(Walker& w, const std::vector<Inst>& list, std::vector<Walker::Need>& needs, int trip,
               Omission* omit = nullptr) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    Walker::Need need = w.need(list[i], trip);
    if (omit && omit->without == &needs[i]) omit->missing = omit->missing || need.barrier;
    merge(needs[i], need);
    // A barrier hands on what is done: also where another trip is the reason for it.
    if (needs[i].barrier && w.in_flight()) needs[i].lgkm = 0;
    // What was once found necessary here is there in every trip.
    w.wait(needs[i].vm, needs[i].lgkm, needs[i].barrier ? Waves{} : list[i].waves);
    if (needs[i].barrier) w.run(barrier_of(list[i]), trip);
    w.run(list[i], trip);
  }
}

// Waits up to the next joint stand at the joint, as far as what they wait for is under way there; so does the barrier, if
// no access to LDS lies between.
void gather(const std::vector<Inst>& list, std::vector<Walker::Need>& needs,
            const std::vector<Register>& registers) {
  for (std::size_t joint = 0; joint < list.size(); ++joint) {
    if (!list[joint].joint) continue;
    int vm = 0, lgkm = 0, touched = 0, transfers = 0; // issued since; accesses to LDS since
    for (std::size_t x = joint; x < list.size() && (x == joint || !list[x].joint); ++x) {
      Walker::Need& need = needs[x];
      if (x != joint) {
        Walker::Need& at = needs[joint];
        const auto move = [](int& wanted, int& there, int since) {
          if (wanted < since) return;
          there = there < 0 ? wanted - since : std::min(there, wanted - since);
          wanted = -1;
        };
        // What frees a place may pass transfers to others: it is about reads.
        const bool frees = list[x].kind == InstKind::lds_write && list[x].direct;
        if (need.barrier && touched == 0 && (transfers == 0 || (frees && need.vm < 0))) {
          need.barrier = false;
          at.barrier = true;
        }
        if (need.vm >= 0) move(need.vm, at.vm, vm);
        if (need.lgkm >= 0 && !need.barrier) move(need.lgkm, at.lgkm, lgkm);
      }
      const bool in_lds = uses_lds(list[x]), transfer = in_lds && list[x].direct;
      vm += (list[x].kind == InstKind::load && !list[x].direct) || list[x].kind == InstKind::store ||
            list[x].kind == InstKind::ticket || list[x].kind == InstKind::signal || transfer;
      if (in_lds && !transfer) lgkm += list[x].kind == InstKind::lds_read ? lds_reads(list[x], registers) : 1;
      touched += in_lds && !transfer;
      transfers += transfer;
    }
  }
}

// What a list ends with.
void end_with(Walker& w, std::vector<Inst>& list, const Walker::Need& n) {
  const Inst last = list.back();
  if (n.vm >= 0 || n.lgkm >= 0) list.push_back(wait_of(n, last));
  w.wait(n.vm, n.lgkm, {});
  if (!n.barrier) return;
  list.push_back(barrier_of(last));
  w.run(list.back(), 0);
}
// Where a branch begins or ends nothing is under way. `meets`: other accesses to LDS may follow.
void end_all(Walker& w, std::vector<Inst>& list, bool meets) {
  Walker::Need n = w.all();
  n.barrier = n.barrier && meets;
  end_with(w, list, n);
}

std::vector<Inst> with_order(const std::vector<Inst>& list, const std::vector<Walker::Need>& needs) {
  std::vector<Inst> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (needs[i].vm >= 0 || needs[i].lgkm >= 0) {
      out.push_back(wait_of(needs[i], list[i]));
      if (!needs[i].barrier)
        out.back().waves = list[i].waves; // before a barrier the other role's accesses too
    }
    if (needs[i].barrier) out.push_back(barrier_of(list[i]));
    out.push_back(list[i]);
  }
  return out;
}

// A loop whose waits and barriers stand, of so many trips.
void run_through(Walker& w, const CodeRegion& r, int trips) {
  for (const Inst& i : r.prologue) w.run(i, 0);
  for (int trip = 0; trip < trips; ++trip)
    for (const Inst& i : r.body) w.run(i, trip);
  for (const Inst& i : r.epilogue) w.run(i, trips);
}

void stagger(const Program& p, CodeRegion& r) {
  const int waves = p.threads() / p.target().wave_size;
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("a loop that cannot be staggered: " + why,
                       "line   " + std::to_string(r.body.front().where.line()), hint);
  };
  if (waves % 2 != 0)
    refuse(std::to_string(waves) + (waves == 1 ? " wave has" : " waves have") + " no two halves",
           "an even number of waves");
  if (!r.exact) refuse("its order is left to LLVM", "--scheduler modulo, in a loop that it orders");
  r.staggered = staggered_order(r.body);
  if (r.staggered.empty())
    refuse("wherever its accesses stand, as many meet after one product", "another tile, or no stagger");
}

void drop_order(std::vector<Inst>& list) {
  std::erase_if(list, [](const Inst& i) {
    return i.kind == InstKind::wait || i.kind == InstKind::barrier || i.kind == InstKind::priority;
  });
}

// Numbers of rows that a loop's prologue loads, at the head of a branch that a number from memory decides: they go before it, where
// that number is on its way too. They are inputs', which nobody writes meanwhile but another device, and where they lie does not depend
// on it: so the branch says nothing of it.
void before_branch(Code& code, CodeRegion& loop) {
  const Program& p = *code.program;
  if (loop.guards.empty() || loop.ring > 1 || !nests_of(p).empty() || p.together().count > 0) return;
  const Condition& by = loop.guards.back().condition;
  if (!has_uniform(p, by.a) && !has_uniform(p, by.b)) return;
  const std::vector<Guard> around(loop.guards.begin(), loop.guards.end() - 1);
  auto at = code.regions.rbegin();
  while (at != code.regions.rend() && !at->is_loop && at->guards == loop.guards) ++at;
  if (at == code.regions.rend() || at->is_loop || !(at->guards == around)) return;
  // Nothing there that orders memory, or that another's stores are waited for by.
  if (!std::all_of(at->body.begin(), at->body.end(),
                   [](const Inst& i) { return i.kind == InstKind::load || i.kind == InstKind::fill; }))
    return;
  std::set<int> numbers;
  for (const Inst& i : loop.prologue)
    for (const int row : i.access.rows)
      if (row >= 0) numbers.insert(i.uses[static_cast<std::size_t>(row)].id);
  const auto goes = [&](const Inst& i) {
    return i.kind == InstKind::load && !i.direct && i.uses.empty() && !i.when && i.waves.all() &&
           numbers.contains(i.def.id) && !p.tensor(i.access.tensor).output &&
           std::none_of(i.access.origin.begin(), i.access.origin.end(),
                        [&](Sym first) { return has_uniform(p, first); });
  };
  std::copy_if(loop.prologue.begin(), loop.prologue.end(), std::inserter(at->body, at->body.begin()), goes);
  std::erase_if(loop.prologue, goes);
}

} // namespace

std::map<int, int> lds_stages(const Code& code) {
  std::map<int, int> stages;
  for (const CodeRegion& r : code.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list)
        if (i.access.tensor >= 0 && code.program->tensor(i.access.tensor).space == Space::lds)
          stages[i.access.tensor] = std::max(stages[i.access.tensor], r.ring);
  return stages;
}

void place_order(Code& code) {
  // Where both paths of a last branch meet stands nothing but order.
  if (code.regions.size() > 1 && !code.regions.back().is_loop) {
    drop_order(code.regions.back().body);
    if (code.regions.back().body.empty()) code.regions.pop_back();
  }
  bool roles = false;
  for (const CodeRegion& r : code.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) roles = roles || (!i.waves.all() && i.kind != InstKind::barrier);
  Walker walker(code.registers, 1, roles ? code.program->threads() / code.program->target().wave_size : 1);
  const std::vector<Nest> nests = nests_of(*code.program);
  for (std::size_t index = 0; index < code.regions.size(); ++index) {
    CodeRegion& r = code.regions[index];
    const CodeRegion* next = index + 1 < code.regions.size() ? &code.regions[index + 1] : nullptr;
    bool branches = next != nullptr && !(next->guards == r.guards);
    std::size_t follows = index + 1; // the first region that may run after this one
    for (const Nest& nest : nests) {
      const bool inside = nest.holds(r);
      branches = branches || inside != (next != nullptr && nest.holds(*next));
      if (inside) follows = std::min(follows, regions_of(nest, code).first);
    }
    const bool meets =
        std::any_of(code.regions.begin() + static_cast<std::ptrdiff_t>(follows), code.regions.end(),
                    [](const CodeRegion& after) {
                      return std::any_of(after.prologue.begin(), after.prologue.end(), uses_lds) ||
                             std::any_of(after.body.begin(), after.body.end(), uses_lds);
                    });
    drop_order(r.prologue), drop_order(r.body), drop_order(r.epilogue);
    std::vector<Walker::Need> prologue(r.prologue.size()), body(r.body.size()), epilogue(r.epilogue.size());
    if (!r.is_loop) {
      walker.set(1, {});
      step_over(walker, r.body, body, 0);
      r.body = with_order(r.body, body);
      if (branches) end_all(walker, r.body, meets);
      continue;
    }
    walker.set(r.ring, r.apart ? operand_sides(r.body) : std::map<int, int>());
    int reach = 0;
    for (const Inst& i : r.body) reach = std::max(reach, i.ahead);
    if (r.phases > 0) {
      place_phases(r, code.registers, code.program->threads() / code.program->target().wave_size);
      run_through(walker, r, 2 * r.ring + reach + 2);
      walker.at_any_stage(r.body);
      if (branches) end_all(walker, r.epilogue, meets);
      continue;
    }
    Walker end = walker;
    const auto walk = [&](Omission* omit) {
      Walker w = walker;
      step_over(w, r.prologue, prologue, 0, omit);
      for (int trip = 0; trip < 2 * r.ring + reach + 2; ++trip) {
        Walker last = w;
        step_over(last, r.epilogue, epilogue, trip, omit);
        end = last;
        step_over(w, r.body, body, trip, omit);
      }
    };
    // Two passes: the second one knows what the first one found necessary in later trips.
    walk(nullptr), walk(nullptr);
    // A barrier that only the first trip needs may be spared by one that only later trips do.
    bool tried = false;
    const auto spare = [&](std::vector<Walker::Need>& list) {
      if (std::count_if(list.begin(), list.end(), [](const Walker::Need& n) { return n.barrier; }) < 2)
        return;
      for (std::size_t i = list.size(); i-- > 0;) {
        if (!list[i].barrier) continue;
        const auto before = std::tuple(prologue, body, epilogue);
        for (auto* all : {&prologue, &body, &epilogue})
          for (Walker::Need& n : *all) n.vm = n.lgkm = -1;
        list[i].barrier = false;
        tried = true;
        Omission omit{&list[i], false};
        walk(&omit), walk(&omit);
        if (omit.missing) std::tie(prologue, body, epilogue) = before;
      }
    };
    spare(body), spare(epilogue);
    if (tried) walk(nullptr); // leaves `end` as the order that was taken does
    gather(r.body, body, code.registers);
    gather(r.epilogue, epilogue, code.registers);
    r.prologue = with_order(r.prologue, prologue);
    r.body = with_order(r.body, body);
    r.epilogue = with_order(r.epilogue, epilogue);
    if (!r.staggered.empty()) r.staggered = staggered_order(r.body);
    walker = end;
    walker.at_any_stage(r.body);
    if (branches) end_all(walker, r.epilogue, meets);
  }
  if (code.program->shares() && !code.regions.empty()) {
    CodeRegion& r = code.regions.back(); // all waves are through with LDS before the workgroup's next tile
    std::vector<Inst>& list = r.is_loop ? r.epilogue : r.body;
    if (r.guards.empty()) return end_with(walker, list, walker.out_of_lds());
    CodeRegion meets; // where both paths of the branch go on
    meets.body = {list.back()};
    end_with(walker, meets.body, walker.out_of_lds());
    meets.body.erase(meets.body.begin());
    if (!meets.body.empty()) code.regions.push_back(std::move(meets));
  }
}

Code apply(const Graph& graph, const Schedule& schedule) {
  const Program& p = *graph.program;
  Code code;
  code.program = &p;
  code.registers = graph.registers;
  std::size_t loops = 0;
  std::vector<std::size_t> staggered;
  std::vector<int> early; // of the region that comes next
  for (std::size_t index = 0; index < graph.regions.size(); ++index) {
    const Region& region = graph.regions[index];
    CodeRegion out;
    out.guards = region.guards;
    if (!region.is_loop) {
      for (std::size_t n = 0; n < region.body.size(); ++n)
        if (std::find(early.begin(), early.end(), static_cast<int>(n)) == early.end())
          out.body.push_back(region.body[n]);
      early.clear();
      out.body = streamed(std::move(out.body), code);
      if (!out.body.empty()) code.regions.push_back(std::move(out));
      continue;
    }
    INLAY_CHECK(loops < schedule.loops.size(), "a schedule of every loop");
    const LoopSchedule& order = schedule.loops[loops++];
    out.is_loop = true;
    out.ring = region.pipeline.ring;
    out.tail_first = order.tail_first;
    out.exact = order.exact;
    out.apart = order.apart;
    out.phases = order.phases;
    out.extent = region.extent;
    out.tile = region.tile;
    out.trips = ceil_div(region.extent, Sym(region.tile));
    out.trip =
        symbol_of(p.symbols(), SymbolKind::trip, {loops}, "", tile_numbers(region.extent, region.tile));
    const AtomId t = *region.t.as_atom();

    // Node n for iteration `number` (a formula): t is that tile, or with the tail first, the one before it.
    const auto at = [&](const Slot& slot, Sym iteration, bool first, int ahead) {
      Inst inst = region.body[static_cast<std::size_t>(slot.node)];
      inst.ahead = ahead;
      inst.joint = slot.joint;
      inst.phase = slot.phase;
      const Sym tile = !order.tail_first ? iteration : first ? out.trips - Sym(1) : iteration - Sym(1);
      const std::pair<AtomId, Sym> replace[] = {{t, tile}};
      for (Sym& o : inst.access.origin) o = substitute(o, replace);
      if (inst.map) inst.map = p.expressions().substitute(inst.map, replace);
      if (order.tail_first && !first && (inst.kind == InstKind::load || inst.kind == InstKind::store)) {
        // Full tiles need no mask along the axes that the loop moves over.
        const Inst& source = region.body[static_cast<std::size_t>(slot.node)];
        for (std::size_t axis = 0; axis < inst.access.origin.size(); ++axis) {
          const auto symbols_of = symbols(source.access.origin[axis]);
          if (std::find(symbols_of.begin(), symbols_of.end(), t) != symbols_of.end())
            inst.access.masked[axis] = false;
        }
      }
      const auto shift = [&](Reg& r) {
        if (r.id >= 0 && !code.registers[static_cast<std::size_t>(r.id)].outside) r.ahead = ahead;
      };
      shift(inst.def);
      for (Reg& r : inst.uses) shift(r);
      inst.access.slot = ahead;
      if (!order.parts.empty()) inst.access.part = order.parts[static_cast<std::size_t>(slot.node)];
      return inst;
    };
    int reach = 0;
    for (const Slot& s : order.slots) reach = std::max(reach, s.ahead);
    for (int trip = -reach; trip < 0; ++trip)
      for (const Slot& s : order.slots)
        if (const int q = trip + s.ahead; q >= 0) out.prologue.push_back(at(s, Sym(q), q == 0, q));
    for (const Slot& s : order.slots) {
      out.body.push_back(at(s, out.trip + Sym(s.ahead), false, s.ahead));
      if (s.ahead == 0) out.epilogue.push_back(at(s, out.trips - Sym(1), false, 0));
    }
    early = order.early;
    INLAY_CHECK(early.empty() || index + 1 < graph.regions.size(), "a region after the loop");
    auto behind = out.epilogue.begin();
    for (const int node : early) { // one after each product, and the rest after the last
      behind =
          std::find_if(behind, out.epilogue.end(), [](const Inst& i) { return i.kind == InstKind::mma; });
      if (behind != out.epilogue.end()) ++behind;
      behind = out.epilogue.insert(behind, graph.regions[index + 1].body[static_cast<std::size_t>(node)]) + 1;
    }
    if (region.pipeline.stagger) staggered.push_back(code.regions.size());
    before_branch(code, out);
    code.regions.push_back(std::move(out));
  }
  place_order(code);
  for (const std::size_t n : staggered) stagger(p, code.regions[n]);
  return code;
}

} // namespace inlay::codegen
