#include "interleave.h"

#include "circle.h"

#include <inlay/codegen/emit_ir.h>

#include <inlay/algebra/error.h>

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <tuple>

namespace inlay::codegen {
namespace {

constexpr int clocks_a_slot = 4;
int slots_of(int clocks) { return (clocks + clocks_a_slot - 1) / clocks_a_slot; }

// Clocks that arithmetic takes to issue: two f32 at once where an instruction does two, eight for a transcendental.
int clocks_of(Expr e, int elements, std::set<int>& seen) {
  if (!seen.insert(e.id).second) return 0;
  const ExprNode& n = e.node();
  const int pairs = 4 * ((elements + 1) / 2), each = 4 * elements;
  int clocks = 0;
  for (const int a : n.args) clocks += clocks_of({e.arena, a}, elements, seen);
  switch (n.fn) {
  case Fn::constant:
  case Fn::parameter:
  case Fn::number:
  case Fn::integer:
  case Fn::word:
  case Fn::float_bits:
  case Fn::from_bits: break;
  case Fn::add: // with a product it is one instruction
    for (const int a : n.args)
      if (Expr{e.arena, a}.node().fn == Fn::mul) return clocks;
    clocks += pairs;
    break;
  case Fn::sub:
  case Fn::mul: clocks += pairs; break;
  case Fn::max:
  case Fn::min: clocks += each; break;
  case Fn::inside: clocks += each + 8; break;
  case Fn::select: clocks += 2 * each; break;
  case Fn::word_mul:
  case Fn::word_mul_hi: clocks += 4 * each; break;
  default: clocks += 2 * each; break; // exp2, log, reciprocals
  }
  return clocks;
}

class Interleave {
public:
  Interleave(const Region& loop, const std::vector<Register>& registers, const Program& program)
      : loop_(loop), registers_(registers), target_(program.target()),
        latencies_(Latencies::of(program.target())), edges_(edges_of(loop, registers)) {}

  bool analyse() {
    const auto& body = loop_.body;
    const auto count = body.size();
    role_.resize(count, Role::arithmetic);
    cost_.resize(count, 0);
    if (loop_.pipeline.ring < 2 || loop_.pipeline.distance < 1) return false;
    for (std::size_t n = 0; n < count; ++n) {
      const Inst& i = body[n];
      if (i.direct || !i.waves.all()) return false;
      switch (i.kind) {
      case InstKind::mma:
        if (!i.atom || !i.atom->mma) return false;
        role_[n] = Role::product;
        cost_[n] = 4;
        matrix_ += i.atom->mma->clocks();
        products_.push_back(static_cast<int>(n));
        break;
      case InstKind::load:
        role_[n] = Role::load;
        cost_[n] = 4;
        break;
      case InstKind::lds_read:
        role_[n] = Role::read;
        cost_[n] = 4;
        break;
      case InstKind::lds_write: {
        role_[n] = Role::write;
        const int from = value_of(static_cast<int>(n));
        if (i.access.idle || from < 0 || !from_memory(from)) return false;
        const int dwords = (i.uses[0].count * bits(element(i.uses[0])) + 31) / 32;
        cost_[n] = 4 + 4 * dwords;
        break;
      }
      case InstKind::fill: break; // products begin with a constant
      case InstKind::map: {
        if (prepares(static_cast<int>(n))) role_[n] = Role::prepared;
        if (role_[n] == Role::prepared &&
            renames(i, registers_)) { // halves of dwords are put together by pairs
          cost_[n] = bits(element(i.def)) < 32 ? 2 * i.def.count : 0;
          break;
        }
        std::set<int> seen;
        cost_[n] = std::max(clocks_of(i.map, i.def.count, seen), 4);
        if (bits(element(i.def)) < 32)
          cost_[n] += (target_.packs_bf16                           ? 2
                       : rounds_by_addition(i, registers_, target_) ? 10
                                                                    : 22) *
                      i.def.count;
        break;
      }
      case InstKind::fold_values:
        cost_[n] = 4 * static_cast<int>(i.uses.size()) / (i.monoid == Monoid::sum ? 2 : 1);
        break;
      case InstKind::fold_lanes: cost_[n] = 12; break;
      case InstKind::exchange_lanes: cost_[n] = target_.swaps_lanes && i.lane_mask >= 16 ? 8 : 20; break;
      default: return false;
      }
      issue_ += cost_[n];
    }
    if (products_.empty()) return false;
    results_by_tile();
    return true;
  }

  std::optional<LoopSchedule> run() {
    const int least = std::max(matrix_, issue_ + issue_ / 16);
    // Short lives when long ones do not fit: loads nearer to their use. Where none fits, what waits least.
    std::optional<LoopSchedule> chosen;
    for (const int percent : {130, 110, 90, 70}) {
      std::optional<LoopSchedule> found;
      for (int more = 0; more < 40 && !found; ++more)
        found = place(slots_of(least + more * least / 32), percent);
      if (!found) continue;
      if (!chosen) chosen = found;
      const int slots = static_cast<int>(found->slots.size());
      const std::vector<int> alive = pressure(lifetimes(loop_, registers_, *found), slots);
      if (*std::max_element(alive.begin(), alive.end()) + accumulators(loop_, registers_) <= room)
        return found;
    }
    return chosen;
  }

private:
  enum class Role { product, arithmetic, read, write, prepared, load };
  static constexpr int room = 224; ///< of 256 VGPRs, beside addresses

  Element element(const Reg& r) const { return registers_[static_cast<std::size_t>(r.id)].element; }
  const Inst& inst(int n) const { return loop_.body[static_cast<std::size_t>(n)]; }
  Role role(int n) const { return role_[static_cast<std::size_t>(n)]; }
  int cost(int n) const { return slots_of(cost_[static_cast<std::size_t>(n)]); }
  int value_of(int write) const {
    for (const Edge& e : edges_)
      if (e.to == write && e.kind == EdgeKind::value) return e.from;
    return -1;
  }
  // A load, or a map of what comes from memory alone.
  bool from_memory(int n) const {
    if (inst(n).kind == InstKind::load) return true;
    return inst(n).kind == InstKind::map && std::all_of(edges_.begin(), edges_.end(), [&](const Edge& e) {
             return e.to != n || (e.kind == EdgeKind::value && from_memory(e.from));
           });
  }
  // Such a map whose result goes to LDS and nowhere else: another order of elements, weights that become numbers.
  bool prepares(int n) const {
    const auto to_lds = [&](const Edge& e) {
      return e.kind == EdgeKind::value && (inst(e.to).kind == InstKind::lds_write || prepares(e.to));
    };
    return from_memory(n) &&
           std::all_of(edges_.begin(), edges_.end(), [&](const Edge& e) { return e.from != n || to_lds(e); });
  }
  // From the issue of `n` to that of what reads its result.
  int latency(int n) const {
    switch (inst(n).kind) {
    case InstKind::mma: return slots_of(inst(n).atom->mma->clocks() + 28);
    case InstKind::fold_lanes: return cost(n) + (inst(n).lane_mask < 16 ? 1 : slots_of(latencies_.lds));
    case InstKind::exchange_lanes:
      return cost(n) + (target_.swaps_lanes || inst(n).lane_mask < 16 ? 1 : slots_of(latencies_.lds));
    default: return std::max(cost(n), 1);
    }
  }

  // Products whose results no other product of the trip needs come tile by tile, so that few of the results are alive:
  // four at a time, by the operand of which there are more.
  void results_by_tile() {
    std::map<int, std::vector<int>> of_op;
    for (const int n : products_) of_op[inst(n).op].push_back(n);
    std::vector<int> order;
    for (auto& [op, list] : of_op) {
      const bool local = std::none_of(list.begin(), list.end(), [&](int n) {
        return registers_[static_cast<std::size_t>(inst(n).def.id)].outside;
      });
      if (local && !feeds_product(list)) {
        std::map<int, int> step, group;
        std::set<int> first, second;
        for (const int n : list) first.insert(inst(n).uses[0].id), second.insert(inst(n).uses.back().id);
        const bool many = second.size() >= first.size();
        std::map<int, std::pair<int, int>> key; // result -> (first operand seen, result)
        for (const int n : list)
          key.try_emplace(inst(n).def.id, (many ? inst(n).uses.back() : inst(n).uses[0]).id, inst(n).def.id);
        std::vector<std::pair<int, int>> results;
        for (const auto& [id, k] : key) results.push_back(k);
        std::sort(results.begin(), results.end());
        for (std::size_t r = 0; r < results.size(); ++r) group[results[r].second] = static_cast<int>(r / 4);
        std::stable_sort(list.begin(), list.end(), [&](int a, int b) {
          return std::tuple(group[inst(a).def.id], inst(a).step) <
                 std::tuple(group[inst(b).def.id], inst(b).step);
        });
      }
      order.insert(order.end(), list.begin(), list.end());
    }
    products_ = std::move(order);
  }
  bool feeds_product(const std::vector<int>& list) const {
    std::set<int> reached(list.begin(), list.end());
    for (std::size_t n = 0; n < loop_.body.size(); ++n) // edges go forward in the program
      for (const Edge& e : edges_)
        if (e.distance == 0 && e.to == static_cast<int>(n) && reached.contains(e.from) &&
            (e.kind == EdgeKind::value || e.kind == EdgeKind::accumulated)) {
          if (role(e.to) == Role::product && inst(e.to).op != inst(list[0]).op) return true;
          reached.insert(e.to);
        }
    return false;
  }

  // ------------------------------------------------------------------------------------------------------- places

  struct Table {
    std::vector<bool> taken;
    std::vector<bool> memory; ///< by gap: it has a memory instruction
    int length = 0, gaps = 0;
    int gap(int slot) const { return modulo(slot, length) * gaps / length; }
    bool free(int slot) const { return !taken[static_cast<std::size_t>(modulo(slot, length))]; }
    // `cost` free slots from there on.
    void take(int slot, int cost) {
      for (; cost > 0; ++slot)
        if (free(slot)) taken[static_cast<std::size_t>(modulo(slot, length))] = true, --cost;
    }
    bool has(int cost) const { return std::count(taken.begin(), taken.end(), false) >= cost; }
    // The first free one from `from` on, or with step -1 up to there; not in one gap with another access to memory,
    // unless there is none without.
    std::optional<int> find(int from, int to, int step, bool of_memory) const {
      for (const bool strict : {true, false}) {
        if (strict && !of_memory) continue;
        for (int s = from; step > 0 ? s <= to : s >= to; s += step)
          if (free(s) && !(strict && memory[static_cast<std::size_t>(gap(s))])) return s;
      }
      return std::nullopt;
    }
  };

  std::optional<LoopSchedule> place(int length, int percent) {
    const int count = static_cast<int>(products_.size());
    Table table;
    table.length = length;
    table.gaps = count;
    table.taken.assign(static_cast<std::size_t>(length), false);
    table.memory.assign(static_cast<std::size_t>(count), false);
    std::vector<int> at(loop_.body.size(), INT_MIN); // of products and arithmetic, then of everything
    std::map<int, int> rank;                         // of a product in its order
    for (int p = 0; p < count; ++p) {
      rank[products_[static_cast<std::size_t>(p)]] = p;
      table.take(p * length / count, 1);
    }
    // The order of the program, with products in theirs.
    std::vector<int> order;
    {
      std::size_t next = 0;
      for (int n = 0; n < static_cast<int>(loop_.body.size()); ++n)
        if (role(n) == Role::product) {
          order.push_back(products_[next++]);
        } else if (role(n) == Role::arithmetic && inst(n).kind != InstKind::fill) {
          order.push_back(n);
        }
    }
    const Table empty = table;
    std::vector<int> before; // the round before
    for (int round = 0; round < 6; ++round) {
      table = empty;
      before = at;
      std::fill(at.begin(), at.end(), INT_MIN);
      int trip = 0;
      for (const int n : order) {
        int ready = INT_MIN;
        for (const Edge& e : edges_) {
          if (e.to != n || (e.kind != EdgeKind::value && e.kind != EdgeKind::accumulated)) continue;
          const int from = e.distance == 0 ? at[static_cast<std::size_t>(e.from)]
                           : round > 0     ? before[static_cast<std::size_t>(e.from)]
                                           : INT_MIN;
          if (from != INT_MIN) ready = std::max(ready, from + needed(e) - e.distance * length);
        }
        int& time = at[static_cast<std::size_t>(n)];
        if (role(n) == Role::product) {
          const int place = rank.at(n) * length / count;
          while (place + trip * length < ready) ++trip;
          time = place + trip * length;
          continue;
        }
        if (!table.has(cost(n))) return std::nullopt;
        ready = std::max(ready, 0);
        const auto found = table.find(ready, ready + length - 1, 1, false);
        if (!found) return std::nullopt;
        time = *found;
        table.take(time, cost(n));
      }
      if (at == before) break;
    }
    if (!memory_places(table, at, length, percent)) return std::nullopt;
    return slots(at, length);
  }
  int needed(const Edge& e) const {
    // Products into one accumulator follow one another without waiting.
    if (e.kind == EdgeKind::accumulated && role(e.from) == Role::product && role(e.to) == Role::product)
      return 1;
    return latency(e.from);
  }

  // Reads, writes, loads. Waits are gathered every `joint` products, so data has to be there that much earlier.
  bool memory_places(Table& table, std::vector<int>& at, int length, int percent) const {
    const auto& body = loop_.body;
    const int count = static_cast<int>(products_.size());
    const int rest = slots_of(latencies_.lds);
    const int lead = rest + joint(count) * length / count;
    const auto first_use = [&](int n) {
      int first = INT_MAX;
      for (const Edge& e : edges_)
        if (e.from == n && e.kind == EdgeKind::value)
          first = std::min(first, at[static_cast<std::size_t>(e.to)]);
      return first;
    };
    std::vector<std::pair<int, int>> reads;  // deadline, node
    std::map<int, std::pair<int, int>> span; // of a tensor's reads
    for (int n = 0; n < static_cast<int>(body.size()); ++n) {
      if (role(n) != Role::read) continue;
      const int deadline = first_use(n) - lead;
      if (deadline > INT_MAX / 2) return false;
      reads.emplace_back(deadline, n);
      auto [s, fresh] = span.try_emplace(inst(n).access.tensor, deadline, deadline);
      s->second.first = std::min(s->second.first, deadline);
      s->second.second = std::max(s->second.second, deadline);
    }
    // The barrier stands where the fewest reads have to be hoisted over it.
    const auto epoch = [&](int tensor, int barrier) {
      return floor_of(span.at(tensor).first - barrier, length);
    };
    int barrier = 0, least = INT_MAX;
    for (int b = 0; b < length; ++b) {
      int hoisted = 0;
      for (const auto& [deadline, n] : reads)
        hoisted += std::max(0, deadline + rest - (b + (epoch(inst(n).access.tensor, b) + 1) * length));
      if (hoisted < least) least = hoisted, barrier = b;
    }
    const auto put = [&](int n, int from, int to, int step) {
      if (!table.has(cost(n))) return false;
      const auto found = table.find(from, to, step, true);
      if (!found) return false;
      at[static_cast<std::size_t>(n)] = *found;
      table.take(*found, cost(n));
      table.memory[static_cast<std::size_t>(table.gap(*found))] = true;
      return true;
    };
    std::stable_sort(reads.begin(), reads.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [deadline, n] : reads) {
      const int begin = barrier + epoch(inst(n).access.tensor, barrier) * length;
      const int last = std::min(deadline, begin + length - 1 - rest);
      // Too early rather than too late; where no place is left in the window, later.
      if (!put(n, last, begin, -1) && !put(n, last, std::min(last + lead - 1, begin + length - 1), 1))
        return false;
    }
    // Writes, evenly over the trip before.
    std::map<int, std::vector<int>> writes;
    for (int n = 0; n < static_cast<int>(body.size()); ++n)
      if (role(n) == Role::write) writes[inst(n).access.tensor].push_back(n);
    for (const auto& [tensor, list] : writes) {
      if (!span.contains(tensor)) return false;
      const int begin = barrier + (epoch(tensor, barrier) - 1) * length, size = length - rest - 4;
      for (std::size_t w = 0; w < list.size(); ++w) {
        const int ideal = begin + 1 + static_cast<int>(w) * size / static_cast<int>(list.size());
        if (!put(list[w], ideal, begin + size, 1) && !put(list[w], ideal, begin, -1)) return false;
      }
    }
    // What is made of memory's data on the way to LDS: some time before it is written, so that it can be let out evenly, and
    // all of it in one trip.
    for (int n = static_cast<int>(body.size()); n-- > 0;) {
      if (role(n) != Role::prepared) continue;
      const int last = first_use(n);
      if (last == INT_MAX || !table.has(cost(n))) return false;
      const auto start = [&](int end) {
        for (int missing = cost(n); missing > 0;)
          if (table.free(--end)) --missing;
        return end;
      };
      const bool only_moved = renames(inst(n), registers_);
      int slot = start(only_moved ? last : last - cost(n));
      if (const int begin = floor_of(last, length) * length; !only_moved && slot < begin && begin < last)
        slot = start(begin);
      at[static_cast<std::size_t>(n)] = slot;
      table.take(slot, cost(n));
    }
    return loads(table, at, length, percent);
  }

  // Loads as far from one another as their windows allow, so that the waves' address unit has no bursts: not later than
  // memory's latency before the first use, not so early that a life is longer than the turn of the loop (it would be
  // moves), at most half a trip earlier than needed.
  bool loads(Table& table, std::vector<int>& at, int length, int percent) const {
    const int memory = slots_of(latencies_.memory * percent / 100);
    struct Window {
      int node, first, last;
    };
    // At least a trip ahead of the last instructions, so that what a trip loads is never what it needs itself.
    const int trips = floor_of(*std::max_element(at.begin(), at.end()), length);
    std::vector<Window> windows;
    for (int n = 0; n < static_cast<int>(loop_.body.size()); ++n) {
      if (role(n) != Role::load) continue;
      int use = INT_MAX, latest = INT_MIN;
      for (const Edge& e : edges_)
        if (e.from == n && e.kind == EdgeKind::value) {
          use = std::min(use, at[static_cast<std::size_t>(e.to)]);
          latest = std::max(latest, at[static_cast<std::size_t>(e.to)]);
        }
      if (use == INT_MAX) return false;
      const int turn = latest - loop_.pipeline.ring * length + 8,
                last = std::min(std::max(use - memory, turn + length / 8), trips * length - 1);
      if (last >= use) return false;
      windows.push_back({n, std::max(turn, last - length / 2), last});
    }
    std::stable_sort(windows.begin(), windows.end(),
                     [](const Window& a, const Window& b) { return a.last - a.first < b.last - b.first; });
    std::vector<int> taken;
    for (const Window& w : windows) {
      int best = INT_MIN, farthest = -1;
      for (int s = w.last; s >= w.first; --s) {
        if (!table.free(s)) continue;
        int distance = length;
        for (const int t : taken)
          distance = std::min({distance, modulo(s - t, length), modulo(t - s, length)});
        if (distance > farthest) best = s, farthest = distance;
      }
      if (best == INT_MIN) return false;
      at[static_cast<std::size_t>(w.node)] = best;
      taken.push_back(best);
      table.take(best, cost(w.node));
    }
    return true;
  }
  static int joint(int products) { return std::clamp(products / 8, 2, 8); }

  std::optional<LoopSchedule> slots(std::vector<int>& at, int length) const {
    const auto& body = loop_.body;
    // What costs nothing stands before its first use.
    for (std::size_t n = 0; n < body.size(); ++n) {
      if (body[n].kind != InstKind::fill) continue;
      int first = INT_MAX;
      for (const Edge& e : edges_)
        if (e.from == static_cast<int>(n) && e.distance == 0)
          first = std::min(first, at[static_cast<std::size_t>(e.to)]);
      for (std::size_t m = 0; m < body.size(); ++m)
        if (body[m].def.id == body[n].def.id && m != n && at[m] != INT_MIN) first = std::min(first, at[m]);
      if (first == INT_MAX) return std::nullopt;
      at[n] = first;
    }
    int last = INT_MIN;
    for (const int t : at) {
      if (t == INT_MIN) return std::nullopt;
      last = std::max(last, floor_of(t, length));
    }
    LoopSchedule out;
    out.exact = true;
    std::vector<int> order(body.size());
    for (std::size_t n = 0; n < body.size(); ++n) order[n] = static_cast<int>(n);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const auto key = [&](int n) {
        return std::tuple(modulo(at[static_cast<std::size_t>(n)], length),
                          inst(n).kind == InstKind::fill ? 0 : 1);
      };
      return key(a) < key(b);
    });
    int product = 0;
    const int every = joint(static_cast<int>(products_.size()));
    for (const int n : order) {
      const int ahead = last - floor_of(at[static_cast<std::size_t>(n)], length);
      const bool state = inst(n).def.id >= 0 && registers_[static_cast<std::size_t>(inst(n).def.id)].outside;
      if (state && ahead > 1) return std::nullopt; // iterations past the end would reach it
      out.slots.push_back({n, ahead, role(n) == Role::product && product++ % every == 0});
    }
    return out;
  }

  const Region& loop_;
  const std::vector<Register>& registers_;
  const Target& target_;
  const Latencies& latencies_;
  std::vector<Edge> edges_;
  std::vector<Role> role_;
  std::vector<int> cost_; ///< clocks of issue
  std::vector<int> products_;
  int matrix_ = 0, issue_ = 0;
};

} // namespace

std::optional<LoopSchedule> interleaved(const Region& loop, const std::vector<Register>& registers,
                                        const Program& program) {
  Interleave interleave(loop, registers, program);
  return interleave.analyse() ? interleave.run() : std::nullopt;
}

} // namespace inlay::codegen
