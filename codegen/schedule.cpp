// The default schedule, and a schedule applied: iterations, waits and barriers.
#include <inlay/codegen/code.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <map>
#include <set>

namespace inlay::codegen {
namespace {

bool uses_lds(const Inst& i) { return i.kind == InstKind::lds_read || i.kind == InstKind::lds_write; }

// Which instructions of a loop use a register that the loop itself defines for each iteration.
using Users = std::map<int, std::vector<int>>;
Users users_of(const Region& loop) {
  Users users;
  for (std::size_t i = 0; i < loop.body.size(); ++i)
    for (const Reg& r : loop.body[i].uses) users[r.id].push_back(static_cast<int>(i));
  return users;
}

} // namespace

Schedule default_schedule(const Graph& graph) {
  Schedule schedule;
  for (const Region& region : graph.regions) {
    if (!region.is_loop) continue;
    LoopSchedule loop;
    const auto& body = region.body;
    const int count = static_cast<int>(body.size());
    const bool pipelined = region.pipeline.distance > 0 && region.pipeline.ring > 1;
    if (!pipelined) {
      for (int i = 0; i < count; ++i) loop.slots.push_back({i, 0});
      schedule.loops.push_back(std::move(loop));
      continue;
    }
    const Users users = users_of(region);
    const int write_ahead = region.pipeline.ring - 1;
    std::vector<int> ahead(body.size(), 0), step(body.size(), 0);
    int steps = 1;
    for (const Inst& i : body)
      if (i.kind == InstKind::mma) steps = std::max(steps, i.step + 1);
    // What feeds the matrix products, and in which step first.
    const auto first_step = [&](int node) {
      int first = INT_MAX;
      const auto found = users.find(body[static_cast<std::size_t>(node)].def.id);
      if (found != users.end())
        for (const int u : found->second)
          if (const Inst& user = body[static_cast<std::size_t>(u)]; user.kind == InstKind::mma)
            first = std::min(first, user.step);
      return first;
    };
    bool simple = true; // loads, writes, reads and products: what the order below is made for
    for (int i = 0; i < count; ++i) {
      const Inst& inst = body[static_cast<std::size_t>(i)];
      const auto n = static_cast<std::size_t>(i);
      switch (inst.kind) {
      case InstKind::load: {
        const auto found = users.find(inst.def.id);
        const bool staged =
            found != users.end() && std::all_of(found->second.begin(), found->second.end(), [&](int u) {
              return body[static_cast<std::size_t>(u)].kind == InstKind::lds_write;
            });
        ahead[n] = staged ? std::max(region.pipeline.distance, write_ahead) : 1;
        break;
      }
      case InstKind::lds_write: ahead[n] = write_ahead; break;
      case InstKind::lds_read:
        step[n] = first_step(i);
        ahead[n] = step[n] == 0 ? 1 : 0;
        simple = simple && step[n] != INT_MAX;
        break;
      case InstKind::mma: step[n] = inst.step; break;
      default: simple = false;
      }
    }
    if (!simple) {
      for (int i = 0; i < count; ++i) loop.slots.push_back({i, 0});
      schedule.loops.push_back(std::move(loop));
      continue;
    }
    loop.tail_first = true;
    const auto take = [&](auto wanted) {
      for (int i = 0; i < count; ++i)
        if (wanted(body[static_cast<std::size_t>(i)], static_cast<std::size_t>(i)))
          loop.slots.push_back({i, ahead[static_cast<std::size_t>(i)]});
    };
    // Direct loads first (they are for the next trip), then each staged register is written and loaded again.
    take([&](const Inst& i, std::size_t n) { return i.kind == InstKind::load && ahead[n] == 1; });
    take([&](const Inst& i, std::size_t) { return i.kind == InstKind::lds_write; });
    take([&](const Inst& i, std::size_t n) { return i.kind == InstKind::load && ahead[n] != 1; });
    for (int s = 0; s < steps; ++s) {
      const int next = (s + 1) % steps;
      take([&](const Inst& i, std::size_t n) { return i.kind == InstKind::lds_read && step[n] == next; });
      take([&](const Inst& i, std::size_t n) { return i.kind == InstKind::mma && step[n] == s; });
    }
    schedule.loops.push_back(std::move(loop));
  }
  return schedule;
}

namespace {

// ------------------------------------------------------------------------------------------------ waits, barriers

/// Walks code as a wave runs it and says what is missing before each instruction.
class Walker {
public:
  explicit Walker(const std::vector<Register>& registers, int ring) : registers_(&registers), ring_(ring) {}

  struct Need {
    int vm = -1, lgkm = -1;
    bool barrier = false;
  };
  void set_ring(int ring) { ring_ = ring; }

  Need need(const Inst& inst, int trip) const {
    Need n;
    const auto wait_for = [&](const Reg& r) {
      const Key key = key_of(r, trip);
      for (std::size_t i = 0; i < vm_.size(); ++i)
        if (vm_[i] == key) n.vm = tighter(n.vm, static_cast<int>(vm_.size() - 1 - i));
      for (std::size_t i = 0; i < lgkm_.size(); ++i)
        if (lgkm_[i] == key) n.lgkm = tighter(n.lgkm, static_cast<int>(lgkm_.size() - 1 - i));
    };
    for (const Reg& r : inst.uses) wait_for(r);
    if (inst.kind == InstKind::mma) wait_for(inst.def);
    if (uses_lds(inst)) {
      const Stage stage = stage_of(inst, trip);
      n.barrier = inst.kind == InstKind::lds_read ? written_.contains(stage) : read_.contains(stage);
    }
    if (n.barrier && !lgkm_.empty()) n.lgkm = 0;
    return n;
  }
  void wait(int vm, int lgkm) {
    if (vm >= 0)
      while (static_cast<int>(vm_.size()) > vm) vm_.pop_front();
    if (lgkm >= 0)
      while (static_cast<int>(lgkm_.size()) > lgkm) lgkm_.pop_front();
  }
  void run(const Inst& inst, int trip) {
    switch (inst.kind) {
    case InstKind::load: vm_.push_back(key_of(inst.def, trip)); break;
    case InstKind::store: vm_.push_back({-1, 0}); break;
    case InstKind::lds_read:
      lgkm_.push_back(key_of(inst.def, trip));
      read_.insert(stage_of(inst, trip));
      break;
    case InstKind::lds_write:
      lgkm_.push_back({-1, 0});
      written_.insert(stage_of(inst, trip));
      break;
    case InstKind::wait: wait(inst.vm, inst.lgkm); break;
    case InstKind::barrier:
      written_.clear();
      read_.clear();
      break;
    default: break;
    }
  }

private:
  using Key = std::pair<int, int>;   // register, iteration
  using Stage = std::pair<int, int>; // tensor, stage
  static int tighter(int a, int b) { return a < 0 ? b : std::min(a, b); }
  Key key_of(const Reg& r, int trip) const {
    return {r.id, (*registers_)[static_cast<std::size_t>(r.id)].outside ? 0 : trip + r.ahead};
  }
  Stage stage_of(const Inst& i, int trip) const { return {i.access.tensor, (trip + i.access.slot) % ring_}; }

  const std::vector<Register>* registers_;
  int ring_;
  std::deque<Key> vm_, lgkm_;
  std::set<Stage> written_, read_;
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

void step_over(Walker& w, const std::vector<Inst>& list, std::vector<Walker::Need>& needs, int trip) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    merge(needs[i], w.need(list[i], trip));
    // What was once found necessary here is there in every trip.
    w.wait(needs[i].vm, needs[i].lgkm);
    if (needs[i].barrier) w.run(barrier_of(list[i]), trip);
    w.run(list[i], trip);
  }
}

std::vector<Inst> with_order(const std::vector<Inst>& list, const std::vector<Walker::Need>& needs) {
  std::vector<Inst> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (needs[i].vm >= 0 || needs[i].lgkm >= 0) out.push_back(wait_of(needs[i], list[i]));
    if (needs[i].barrier) out.push_back(barrier_of(list[i]));
    out.push_back(list[i]);
  }
  return out;
}

void drop_order(std::vector<Inst>& list) {
  std::erase_if(list, [](const Inst& i) { return i.kind == InstKind::wait || i.kind == InstKind::barrier; });
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
  Walker walker(code.registers, 1);
  for (CodeRegion& r : code.regions) {
    drop_order(r.prologue), drop_order(r.body), drop_order(r.epilogue);
    std::vector<Walker::Need> prologue(r.prologue.size()), body(r.body.size()), epilogue(r.epilogue.size());
    if (!r.is_loop) {
      walker.set_ring(1);
      step_over(walker, r.body, body, 0);
      r.body = with_order(r.body, body);
      continue;
    }
    walker.set_ring(r.ring);
    int reach = 0;
    for (const Inst& i : r.body) reach = std::max(reach, i.ahead);
    // Two passes: the second one knows what the first one found necessary in later trips.
    Walker end = walker;
    for (int pass = 0; pass < 2; ++pass) {
      Walker w = walker;
      step_over(w, r.prologue, prologue, 0);
      for (int trip = 0; trip < 2 * r.ring + reach + 2; ++trip) {
        Walker last = w;
        step_over(last, r.epilogue, epilogue, trip);
        end = last;
        step_over(w, r.body, body, trip);
      }
    }
    r.prologue = with_order(r.prologue, prologue);
    r.body = with_order(r.body, body);
    r.epilogue = with_order(r.epilogue, epilogue);
    walker = end;
  }
}

Code apply(const Graph& graph, const Schedule& schedule) {
  const Program& p = *graph.program;
  Code code;
  code.program = &p;
  code.registers = graph.registers;
  std::size_t loops = 0;
  for (const Region& region : graph.regions) {
    CodeRegion out;
    if (!region.is_loop) {
      out.body = region.body;
      if (!out.body.empty()) code.regions.push_back(std::move(out));
      continue;
    }
    INLAY_CHECK(loops < schedule.loops.size(), "a schedule of every loop");
    const LoopSchedule& order = schedule.loops[loops++];
    out.is_loop = true;
    out.ring = region.pipeline.ring;
    out.tail_first = order.tail_first;
    out.extent = region.extent;
    out.tile = region.tile;
    out.trips = ceil_div(region.extent, Sym(region.tile));
    out.trip = p.symbols().symbol("_trip" + std::to_string(loops), {Int(0), Int(INT32_MAX)});
    const AtomId t = *region.t.as_atom();

    // Node n for iteration `number` (a formula): t is that tile, or with the tail first, the one before it.
    const auto at = [&](const Slot& slot, Sym iteration, bool first, int ahead) {
      Inst inst = region.body[static_cast<std::size_t>(slot.node)];
      inst.ahead = ahead;
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
    code.regions.push_back(std::move(out));
  }
  place_order(code);
  return code;
}

std::string Code::text() const {
  std::string out;
  const auto reg = [&](const Reg& r) {
    std::string s = "v" + std::to_string(r.id);
    if (!registers[static_cast<std::size_t>(r.id)].outside && r.ahead != 0)
      s += "'" + std::to_string(r.ahead);
    if (r.first != 0 || r.count != registers[static_cast<std::size_t>(r.id)].count)
      s += "[" + std::to_string(r.first) + (r.count > 1 ? ":" + std::to_string(r.first + r.count) : "") + "]";
    return s;
  };
  const auto access = [&](const Access& a) {
    const Tensor& t = program->tensor(a.tensor);
    std::string s = t.name;
    if (t.space == Space::lds) s += "." + std::to_string(a.slot);
    s += "(";
    for (std::size_t i = 0; i < a.origin.size(); ++i)
      s += (i ? ", " : "") + to_string(a.origin[i] + Sym(a.elements[0][i])) + (a.masked[i] ? "?" : "");
    return s + " + " + to_string(a.threads) + ")" +
           (a.elements.size() > 1 ? " x" + std::to_string(a.elements.size()) : "");
  };
  const auto line = [&](const Inst& i, const std::string& indent) {
    out += indent;
    switch (i.kind) {
    case InstKind::zero: out += reg(i.def) + " = 0"; break;
    case InstKind::load:
    case InstKind::lds_read: out += reg(i.def) + " = " + access(i.access); break;
    case InstKind::store:
    case InstKind::lds_write: out += access(i.access) + " = " + reg(i.uses[0]); break;
    case InstKind::mma: out += reg(i.def) + " += " + reg(i.uses[0]) + " x " + reg(i.uses[1]); break;
    case InstKind::map:
    case InstKind::fold_values: {
      out += reg(i.def) + " = " +
             (i.kind == InstKind::map ? to_string(i.map, [&](int id) { return program->tensor_name(id); })
                                      : std::string(to_string(i.monoid))) +
             " of";
      for (const Reg& r : i.uses) out += " " + reg(r);
      break;
    }
    case InstKind::fold_lanes:
      out += reg(i.def) + " = " + to_string(i.monoid) + " of " + reg(i.uses[0]) + " and lane ^ " +
             std::to_string(i.lane_mask);
      break;
    case InstKind::wait:
      out += "wait" + (i.vm >= 0 ? " vm " + std::to_string(i.vm) : std::string()) +
             (i.lgkm >= 0 ? " lgkm " + std::to_string(i.lgkm) : std::string());
      break;
    case InstKind::barrier: out += "barrier"; break;
    }
    out += "   ; op " + std::to_string(i.op) + ", line " + std::to_string(i.where.line()) + "\n";
  };
  for (const CodeRegion& r : regions) {
    for (const Inst& i : r.prologue) line(i, "  ");
    if (r.is_loop) {
      out += "  loop " + to_string(r.trip) + " < " + to_string(r.trips) + " - 1, ring " +
             std::to_string(r.ring) + (r.tail_first ? ", last tile first" : "") + "\n";
      for (const Inst& i : r.body) line(i, "    ");
      out += "  end\n";
      for (const Inst& i : r.epilogue) line(i, "  ");
    } else {
      for (const Inst& i : r.body) line(i, "  ");
    }
  }
  return out;
}

} // namespace inlay::codegen
