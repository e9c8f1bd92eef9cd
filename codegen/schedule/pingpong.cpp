// The order of a ping-pong loop.
#include "pingpong.h"
#include "circle.h"

#include <inlay/codegen/schedule.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>

namespace inlay::codegen {
namespace {

constexpr int pairs = 4; // of phases: quarters of the results
/// From the issue of a barrier, the last wave's, to the first product of the others: 20 to 30 clocks by the cycle model. So much of a
/// phase's products stands after its barrier, and the matrix pipe has something to do.
constexpr int barrier_clocks = 32;
/// Of the address unit, for the transfers of 16 bytes a lane of one wave on each of 4 SIMDs (runtime/data/timing_*.json, line_clk and
/// vmem_dwordx4_clk).
constexpr int transfer_clocks = 64;
// Which half of the first and of the second side a quarter multiplies.
constexpr std::array<std::array<int, 2>, pairs> halves_of = {{{0, 0}, {0, 1}, {1, 1}, {1, 0}}};

class PingPong {
public:
  PingPong(const Region& loop, const std::vector<Register>& registers, const Program& program)
      : loop_(loop), registers_(registers), program_(program) {}

  LoopSchedule run() {
    const int waves = program_.threads() / program_.target().wave_size;
    if (waves != 2 * program_.target().simds)
      refuse(std::to_string(waves) + (waves == 1 ? " wave" : " waves") + " of a workgroup",
             std::to_string(2 * program_.target().simds) + ": two on each SIMD");
    if (loop_.pipeline.stagger) refuse("it is to be staggered, too", "either");
    if (loop_.pipeline.depth.given() || !loop_.pipeline.pins.empty())
      refuse("its pipeline is given or has pins", "without: its phases say where everything stands");
    if (loop_.pipeline.ring < 2) refuse("it has one stage of LDS", "two or more");
    analyse();
    quarters();
    LoopSchedule schedule;
    schedule.tail_first = schedule.exact = true;
    schedule.phases = 2 * pairs;
    const std::vector<std::vector<Slot>> reads = reads_of_pairs(), transfers = transfers_of_pairs(reads);
    for (int q = 0; q < pairs; ++q) {
      std::vector<int> products;
      for (const int p : products_)
        if (quarter_.at(p) == q) products.push_back(p);
      // The last ones, but not all, stand after the barrier.
      const int clocks = inst(products.front()).atom->mma->clocks();
      const std::size_t behind = std::min(static_cast<std::size_t>((barrier_clocks + clocks - 1) / clocks),
                                          products.size() - 1),
                        next = static_cast<std::size_t>(q + 1) % pairs;
      for (std::size_t n = 0; n < products.size(); ++n)
        schedule.slots.push_back({products[n], 0, false, 2 * q + (n + behind < products.size() ? 0 : 1)});
      memory(reads[next], transfers[next], 2 * q + 1, schedule.slots);
    }
    demand_registers(schedule);
    return schedule;
  }

private:
  [[noreturn]] void refuse(const std::string& why, const std::string& hint) const {
    throw CodegenError("this loop cannot be ping-pong: " + why,
                       "line   " + std::to_string(loop_.body.front().where.line()), hint);
  }
  const Inst& inst(int node) const { return loop_.body[static_cast<std::size_t>(node)]; }

  void analyse() {
    std::map<int, int> transferred; // register -> load
    for (int n = 0; n < static_cast<int>(loop_.body.size()); ++n) {
      const Inst& i = inst(n);
      const bool plain = i.waves.all() && !i.access.idle;
      if (plain && i.kind == InstKind::mma && i.atom && i.atom->mma) {
        products_.push_back(n);
      } else if (plain && i.kind == InstKind::load && i.direct) {
        transferred[i.def.id] = n;
      } else if (plain && i.kind == InstKind::lds_write && i.direct && transferred.contains(i.uses[0].id)) {
        writes_.push_back({transferred.at(i.uses[0].id), n});
      } else if (plain && i.kind == InstKind::lds_read) {
        reads_.push_back(n), read_of_[i.def.id] = n;
      } else {
        refuse(std::string("it has an instruction of the kind '") + to_string(i.kind) + "'" +
                   (i.kind == InstKind::load ? " that is no direct-to-LDS load" : ""),
               "loops of direct-to-LDS loads (--direct-to-lds yes), LDS reads and MFMAs alone");
      }
    }
    if (products_.empty() || writes_.empty()) refuse("it has no MFMAs, or no direct-to-LDS loads", "both");
  }

  // Halves of rows and columns by where they stand among those of the accumulators, and what each quarter reads first.
  void quarters() {
    std::map<int, std::array<int, 2>> block; // accumulator -> what its first product reads
    std::array<std::set<int>, 2> all;
    for (const int p : products_) {
      const Inst& i = inst(p);
      const std::array<int, 2> of = {i.uses[0].id, i.uses[operand_parts(i)].id};
      if (!block.emplace(i.def.id, of).second) continue;
      for (const std::size_t side : {0U, 1U}) all[side].insert(of[side]);
    }
    if (all[0].size() < 2 || all[1].size() < 2)
      refuse("a wave has one row or one column of matrix instructions",
             "two or more of both, so that quarters read halves");
    // Of `halves_of` the first side is the one with more to read.
    const std::map<int, int> sides = operand_sides(loop_.body);
    std::array<int, 2> many = {0, 0};
    for (const int r : reads_)
      if (const auto side = sides.find(inst(r).access.tensor); side != sides.end() && side->second >= 0)
        ++many[static_cast<std::size_t>(side->second)];
    const std::size_t first = many[0] > many[1] ? 0 : 1;
    for (const int p : products_) {
      const Inst& i = inst(p);
      std::array<int, 2> half{};
      for (const std::size_t side : {0U, 1U}) {
        const auto at = all[side].find(block.at(i.def.id)[side]);
        half[side == first ? 0 : 1] =
            2 * std::distance(all[side].begin(), at) >= static_cast<std::ptrdiff_t>(all[side].size());
      }
      const int q = static_cast<int>(std::find(halves_of.begin(), halves_of.end(), half) - halves_of.begin());
      quarter_[p] = q;
      for (const Reg& u : i.uses)
        if (const auto r = read_of_.find(u.id); r != read_of_.end()) {
          const auto [at, fresh] = first_use_.try_emplace(r->second, q);
          at->second = std::min(at->second, q);
        }
    }
    for (const int r : reads_) {
      if (!first_use_.contains(r)) refuse("something is read that no product takes", "products of all reads");
      const auto side = sides.find(inst(r).access.tensor);
      const bool of_first = side != sides.end() && side->second == static_cast<int>(first);
      // A pair before the products; the first side's first half two, as the second side's is read one before.
      pair_[r] = first_use_.at(r) - (first_use_.at(r) == 0 && of_first ? 2 : 1);
    }
  }

  // At pair q of the iteration's own trip, which may be before it; the first pair's accesses stand at the end of the trip before.
  static Slot slot(int node, int q) { return {node, -floor_of(q - 1, pairs), false, -1}; }

  std::vector<std::vector<Slot>> reads_of_pairs() const {
    std::vector<std::vector<Slot>> out(pairs);
    for (const int r : reads_)
      out[static_cast<std::size_t>(modulo(pair_.at(r), pairs))].push_back(slot(r, pair_.at(r)));
    return out;
  }
  int clocks_of_phase() const {
    int sum = 0;
    for (const int p : products_) sum += inst(p).atom->mma->clocks();
    return sum / pairs;
  }
  // Each transfer stands after the last read of its stage, and two pairs or more before its tile is waited for; of those pairs, or of
  // the first four of them, in the one with the least to do.
  std::vector<std::vector<Slot>> transfers_of_pairs(const std::vector<std::vector<Slot>>& reads) const {
    struct Window {
      int first = 0, last = 0; // pairs in the tile's own trip
    };
    std::map<int, Window> of_reads, of; // by tensor
    for (const int r : reads_) {
      const int q = pair_.at(r);
      const auto [at, fresh] = of_reads.try_emplace(inst(r).access.tensor, Window{q, q});
      at->second = {std::min(at->second.first, q), std::max(at->second.last, q)};
    }
    for (const auto& [tensor, read] : of_reads) {
      const int free = read.last + 2 - pairs * loop_.pipeline.ring, wait = read.first - 1;
      of[tensor] = {free, std::min(std::max(free, wait - 2), free + pairs - 1)};
    }
    std::vector<std::pair<int, int>> writes = writes_;
    std::stable_sort(writes.begin(), writes.end(),
                     [&](const auto& a, const auto& b) { // the least choice first
                       const auto choice = [&](const auto& w) {
                         const auto found = of.find(inst(w.second).access.tensor);
                         return found == of.end() ? 0 : found->second.last - found->second.first;
                       };
                       return choice(a) < choice(b);
                     });
    // As many as the address unit takes in one phase, and then the fewest accesses.
    const int most = std::max(clocks_of_phase() / transfer_clocks, 1);
    std::vector<std::vector<Slot>> out(pairs);
    const auto busy = [&](int q) {
      const auto at = static_cast<std::size_t>(modulo(q, pairs));
      const int transfers =
          static_cast<int>(out[at].size()) / 2; // two slots each, and twice the work of a read
      return std::pair(transfers >= most, reads[at].size() + out[at].size());
    };
    for (const auto& [load, write] : writes) {
      const auto window = of.find(inst(write).access.tensor);
      if (window == of.end()) refuse("a tile is written that nothing reads", "reads of all tiles");
      int best = window->second.first;
      for (int q = best; q <= window->second.last; ++q)
        if (busy(q) < busy(best)) best = q;
      auto& list = out[static_cast<std::size_t>(modulo(best, pairs))];
      list.push_back(slot(load, best)), list.push_back(slot(write, best));
    }
    return out;
  }

  // Reads, and transfers at even distances among them.
  static void memory(const std::vector<Slot>& reads, const std::vector<Slot>& transfers, int phase,
                     std::vector<Slot>& out) {
    const auto put = [&](Slot s) {
      s.phase = phase;
      out.push_back(s);
    };
    const std::size_t halves = transfers.size(); // two of each
    std::size_t t = 0;
    for (std::size_t r = 0; r < reads.size(); ++r) {
      put(reads[r]);
      while (t < halves && t * reads.size() < (r + 1) * halves)
        put(transfers[t]), put(transfers[t + 1]), t += 2;
    }
    for (; t < halves; ++t) put(transfers[t]);
  }

  void demand_registers(const LoopSchedule& schedule) const {
    const Target& target = program_.target();
    const Rings rings = ring_registers(lifetimes(loop_, registers_, schedule),
                                       static_cast<int>(schedule.slots.size()), loop_.pipeline.ring);
    std::vector<Inst> phased = loop_.body;
    std::map<int, int> stages;
    for (Inst& i : phased) {
      i.phase = 0;
      if (i.kind == InstKind::lds_read || i.kind == InstKind::lds_write)
        stages[i.access.tensor] = loop_.pipeline.ring;
    }
    const int others = address_registers(phased, program_, stages), results = accumulators(loop_, registers_),
              all = rings.dwords + others + results,
              there = target.registers_per_simd_lane / waves_at_once(program_);
    if (rings.copies > most_copies || all > there)
      refuse("it takes " + std::to_string(rings.dwords + others) + " registers beside " +
                 std::to_string(results) + " of results and " + std::to_string(rings.copies) +
                 " copies of a trip; there are " + std::to_string(there) + " and " +
                 std::to_string(most_copies),
             "a smaller tile");
  }

  const Region& loop_;
  const std::vector<Register>& registers_;
  const Program& program_;
  std::vector<int> products_, reads_;
  std::vector<std::pair<int, int>> writes_; ///< load, write
  std::map<int, int> read_of_;              ///< register -> read
  std::map<int, int> quarter_;              ///< of a product
  std::map<int, int> first_use_,
      pair_; ///< of a read: the first quarter that takes it; the pair that it stands in
};

} // namespace

LoopSchedule pingpong(const Region& loop, const std::vector<Register>& registers, const Program& program) {
  return PingPong(loop, registers, program).run();
}

} // namespace inlay::codegen
