// The modulo scheduler. schedule.h says what it does; here are windows and the places inside them.
#include <inlay/machine/target.h>

#include "circle.h"
#include "early.h"
#include "interleave.h"
#include "pingpong.h"
#include "scaled_sums.h"
#include "turns.h"

#include <inlay/algebra/error.h>

#include <algorithm>
#include <climits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace inlay::codegen {
namespace {

/// A load is under way for at most as many: a wave has no registers and a compute unit no room in its L1 for more.
constexpr int most_trips = 4;

class Modulo {
public:
  Modulo(const Region& loop, const std::vector<Register>& registers, const Program& program)
      : loop_(loop), registers_(registers), program_(program), target_(program.target()) {
    int bytes = 0;
    std::map<int, int> stages;
    for (const Inst& i : loop.body)
      if (i.access.tensor >= 0)
        if (const Tensor& t = program.tensor(i.access.tensor);
            t.space == Space::lds && stages.try_emplace(t.id, loop.pipeline.ring).second)
          bytes += static_cast<int>(loop.pipeline.ring * t.stage_elements() * bits(t.element) / 8);
    const int groups = std::clamp(target_.lds_bytes / std::max(bytes, 1), 1, 8);
    addresses_ = address_registers(loop.body, program, stages);
    least_ = waves_at_once(program);
    waves_ = std::max(least_, std::min(groups * program.threads() / (target_.wave_size * target_.simds), 2));
  }

  // Whether an access is masked along an axis that the loop moves over.
  bool ragged(const Inst& i) const {
    for (std::size_t axis = 0; axis < i.access.masked.size(); ++axis) {
      const auto moving = symbols(i.access.origin[axis]);
      if (i.access.masked[axis] &&
          std::find(moving.begin(), moving.end(), *loop_.t.as_atom()) != moving.end())
        return true;
    }
    return false;
  }

  /// Windows of a trip: the steps of products; quarters of a single step, half of the rows by half of the columns, of which one half
  /// changes at a time, so that operands are alive for part of a trip; or quarters of the tile, each with all its steps, where rows
  /// change each time, so that an operand's registers are free for a quarter of the trip before its next read.
  enum class Windows { steps, quarters, turns };

  // Whether the loop is what the windows are made for; and what each instruction feeds.
  bool analyse(Windows windows) {
    const auto& body = loop_.body;
    side_ = operand_sides(body);
    std::map<int, int> defined;
    int clocks = 0;
    for (std::size_t n = 0; n < body.size(); ++n) {
      const Inst& i = body[n];
      const int node = static_cast<int>(n);
      if (i.def.id >= 0 && i.kind != InstKind::mma) defined[i.def.id] = node;
      if (!i.waves.all()) return false; // its resources are those of waves that do the same
      switch (i.kind) {
      case InstKind::mma:
        if (!i.atom || !i.atom->mma) return false;
        clocks += i.atom->mma->clocks();
        products_.push_back(node);
        break;
      case InstKind::lds_write: {
        const auto d = defined.find(i.uses[0].id);
        if (d == defined.end() || body[static_cast<std::size_t>(d->second)].kind != InstKind::load)
          return false;
        if (i.access.idle) return false;
        writes_.push_back({node, d->second});
        transfers_ = transfers_ || i.direct;
        break;
      }
      case InstKind::load:
        loads_.push_back(node);
        masked_ += ragged(i);
        break;
      case InstKind::lds_read: reads_.push_back(node); break;
      default: return false;
      }
    }
    if (products_.empty() || loop_.pipeline.ring < 2 || loop_.pipeline.distance < 1) return false;
    // Loads before what they fill.
    if (!transfers_ && loop_.pipeline.distance < loop_.pipeline.ring - 1) return false;
    // Several operations take their steps together: what they share is read once and is alive for one step.
    const auto row_of = [&](int p) { // the last register of the second operand
      const Inst& i = body[static_cast<std::size_t>(p)];
      return i.uses[2 * operand_parts(i) - 1].id;
    };
    std::map<int, int> window;
    for (const int p : products_) window[p] = body[static_cast<std::size_t>(p)].step;
    if (windows != Windows::steps) {
      std::map<int, std::pair<std::set<int>, std::set<int>>> of_step; // rows and columns
      for (const int p : products_) {
        auto& [rows, columns] = of_step[window[p]];
        rows.insert(row_of(p));
        columns.insert(body[static_cast<std::size_t>(p)].uses[0].id);
      }
      const int steps = static_cast<int>(of_step.size());
      if (windows == Windows::quarters && (steps > 1 || window[products_[0]] != 0)) return false;
      for (const auto& [step, of] : of_step)
        if (of.first.size() < 2 || of.second.size() < 2) return false;
      const auto upper = [](const std::set<int>& all, int id) {
        return 2 * std::distance(all.begin(), all.find(id)) >= static_cast<std::ptrdiff_t>(all.size());
      };
      constexpr int one_changes[2][2] = {{0, 1}, {3, 2}}, rows_change[2][2] = {{0, 2}, {1, 3}};
      const auto& order = windows == Windows::quarters ? one_changes : rows_change;
      for (const int p : products_) {
        const auto& [rows, columns] = of_step.at(window[p]);
        const int quarter =
            order[upper(rows, row_of(p))][upper(columns, body[static_cast<std::size_t>(p)].uses[0].id)];
        window[p] += quarter * steps;
      }
    }
    std::map<int, int> group = groups(defined, row_of); // of a product's row, inside of its window
    std::stable_sort(products_.begin(), products_.end(), [&](int a, int b) {
      return std::pair(window[a], group[row_of(a)]) < std::pair(window[b], group[row_of(b)]);
    });
    for (int p = 0; p < static_cast<int>(products_.size()); ++p) {
      const Inst& i = body[static_cast<std::size_t>(products_[static_cast<std::size_t>(p)])];
      const int step = window[products_[static_cast<std::size_t>(p)]];
      while (steps_ <= step) begin_.push_back(p), ++steps_;
      for (const Reg& r : i.uses) {
        const auto d = defined.find(r.id);
        if (d == defined.end()) continue;
        auto [at, fresh] = feeds_.try_emplace(d->second, Feed{p, 0, step});
        at->second.last = p;
      }
    }
    clocks_ = clocks / static_cast<int>(products_.size());
    for (const int r : reads_)
      if (!feeds_.contains(r)) return false;
    for (const int l : loads_) {
      const auto w =
          std::count_if(writes_.begin(), writes_.end(), [&](const Write& x) { return x.load == l; });
      if ((w == 1) == feeds_.contains(l) || w > 1) return false;
    }
    return true;
  }

  /// The order with tiles apart, where that applies and its registers fit, beside the addresses of the first tile's transfers,
  /// which are masked: without room for these the block would have to leave its prologue to others.
  std::optional<LoopSchedule> halves() const {
    for (const int side : apart())
      if (LoopSchedule order = ordered(steps_, 1, side); fits(order, waves_, masked_ + beside()))
        return order;
    return std::nullopt;
  }

  /// The order with operands read in turn (Windows::turns), where tiles could be apart.
  std::optional<LoopSchedule> in_turn() const {
    if (apart().empty()) return std::nullopt;
    Turns turns;
    turns.products = products_;
    for (const int r : reads_) turns.reads.push_back({r, feeds_.at(r).first, feeds_.at(r).last});
    for (const Write& w : writes_) turns.transfers.push_back({w.node, w.load});
    turns.clocks = clocks_;
    turns.rest = rest();
    auto order = read_in_turn(turns, loop_, registers_, program_);
    if (!order || violated(edges_of(loop_, registers_, order->parts), *order) ||
        !fits(*order, waves_, masked_ + beside()))
      return std::nullopt;
    return order;
  }

  int steps() const { return steps_; }
  bool transfers() const { return transfers_; }

  /// The order, as deep as its registers allow and Pipeline::depth says; and whether they fit. `with_addresses`: beside the addresses of the
  /// first tile's transfers, which are masked.
  std::pair<LoopSchedule, bool> run(bool with_addresses) const {
    const Depth& given = loop_.pipeline.depth;
    // The same number of waves as LDS lets in, if any lead allows it.
    // A load is under way for at least twice memory's latency when nobody else is there: with others it takes longer.
    const int trip = clocks_ * static_cast<int>(products_.size());
    // Where all that a trip uses is waited for at its start, half a trip less on the average, so for half of one more; three
    // trips or four are for that alone.
    const int latency = 2 * Latencies::of(target_).memory, one_wait = (latency + trip / 2 + trip - 1) / trip;
    // Transfers leave LDS to one workgroup, and registers to spare; but the first tile's masked addresses need some.
    const bool spare = transfers_ && loads_.size() > writes_.size();
    const int masked = transfers_ ? masked_ + aligned : 0;
    std::vector<int> depths;
    for (int trips = std::clamp(one_wait, spare ? 3 : 1, most_trips); trips > 2; --trips)
      depths.push_back(trips);
    if (trip <= latency) depths.push_back(2);
    depths.push_back(1);
    if (given.trips) depths = {given.trips};
    LoopSchedule chosen;
    for (int waves = given.waves ? given.waves : waves_; waves >= (given.waves ? given.waves : least_);
         --waves)
      for (const int trips : depths) {
        if (!with_addresses && trips > 2 && !given.trips) continue;
        const int least = given.lead ? given.lead : trips > 2 ? steps_ : 1;
        for (int lead = given.lead ? given.lead : steps_; lead >= least; --lead) {
          chosen = ordered(lead, trips);
          if (fits(chosen, waves, with_addresses ? masked : 0)) return {chosen, true};
        }
      }
    return {chosen, false};
  }

  /// Whether there are so many more registers, beside the first tile's addresses, without a wave less.
  bool room(const LoopSchedule& order, int more) const {
    const Need n = need(order);
    for (int waves = waves_; waves >= least_; --waves)
      if (fits(n, waves)) return fits(n, waves, masked_ + aligned + more);
    return false;
  }

  /// What it takes, in words.
  std::string need_of(const LoopSchedule& order) const {
    const Need n = need(order);
    return std::to_string(n.rings + addresses_) + " registers beside " + std::to_string(n.results) +
           " of results, " + std::to_string(n.copies) + " copies of a trip; there are " +
           std::to_string(target_.registers_per_simd_lane) + " for the waves of a SIMD, and " +
           std::to_string(most_copies) + " copies";
  }

private:
  static constexpr int aligned = 8; ///< registers that a block loses by aligning, and leaves beside
  struct Need {
    int rings, results, copies;
  };
  struct Feed {
    int first, last, step;
  };
  struct Write {
    int node, load;
  };
  struct Item {
    int node, ahead;
    double key; ///< where in its window, 0 to 1
  };

  // The slot where window q begins; windows go on before and after the trip.
  int window(int q) const {
    const int trip = floor_of(q, steps_);
    return trip * static_cast<int>(products_.size()) + begin_[static_cast<std::size_t>(q - trip * steps_)];
  }

  Need need(const LoopSchedule& order) const {
    const Rings rings = ring_registers(lifetimes(loop_, registers_, order),
                                       static_cast<int>(order.slots.size()), loop_.pipeline.ring);
    return {rings.dwords, accumulators(loop_, registers_), rings.copies};
  }
  /// What a block loses by aligning, and what lives beside it.
  int beside() const { return (4 - addresses_ % 4) % 4 + prologue_spare; }
  /// Products from the last read of a window to the wait for it.
  int rest() const { return 2 * ((Latencies::of(target_).lds + clocks_ - 1) / clocks_); }
  bool fits(const LoopSchedule& order, int waves, int others = 0) const {
    return fits(need(order), waves, others);
  }
  bool fits(const Need& n, int waves, int others = 0) const {
    const int most = n.rings + addresses_ + others, file = target_.registers_per_simd_lane / 2;
    const auto whole = [](int dwords) { // operands, where rings are in both files
      return (dwords + widest_operand - 1) / widest_operand * widest_operand;
    };
    const int all =
        most > file ? whole(whole(addresses_) + n.rings + others) + whole(n.results) : most + n.results;
    // Products with scales have their operands in VGPRs.
    const bool scaled = loop_.body[static_cast<std::size_t>(products_[0])].atom->mma->scaled;
    return n.copies <= most_copies && (most <= file || !scaled) && n.results <= file &&
           all <= target_.registers_per_simd_lane / waves;
  }

  // Products of a window by rows, where rows come from LDS and columns from memory to registers: a read is alive while its
  // group of rows is multiplied, and the columns are there for the whole trip in any case.
  template <class RowOf>
  std::map<int, int> groups(const std::map<int, int>& defined, const RowOf& row_of) const {
    constexpr int apart = 4; // products from one of an accumulator to the next
    const auto kind = [&](int id) {
      const auto d = defined.find(id);
      return d == defined.end() ? InstKind::fill : loop_.body[static_cast<std::size_t>(d->second)].kind;
    };
    std::map<int, int> group;
    std::map<int, std::pair<std::set<int>, std::set<int>>> steps; // rows and columns
    for (const int p : products_) {
      const Inst& i = loop_.body[static_cast<std::size_t>(p)];
      if (kind(i.uses[0].id) != InstKind::load || kind(row_of(p)) != InstKind::lds_read) return {};
      steps[i.step].first.insert(row_of(p)), steps[i.step].second.insert(i.uses[0].id);
    }
    for (const auto& [step, of] : steps) {
      const auto& [rows, columns] = of;
      const int at_once = std::max(apart / static_cast<int>(columns.size()), 1);
      if (static_cast<int>(rows.size()) <= 2 * at_once) continue;
      int n = 0;
      for (const int r : rows) group[r] = n++ / at_once;
    }
    return group;
  }

  // Two operands that transfers bring into two stages can have a half of the trip each, with their scales: while the reads of one
  // stand in it, the other's stage is free and filled again. So transfers are spread over the whole trip and under way for at least
  // one. Which side of the products may be first; none where that does not apply.
  std::vector<int> apart() const {
    if (!transfers_ || loop_.pipeline.ring != 2 || steps_ % 2 != 0) return {};
    std::vector<int> sides;
    for (const int r : reads_) {
      const auto side = side_.find(loop_.body[static_cast<std::size_t>(r)].access.tensor);
      if (side == side_.end() || side->second < 0) return {};
      if (std::find(sides.begin(), sides.end(), side->second) == sides.end()) sides.push_back(side->second);
    }
    if (sides.size() != 2) sides.clear();
    return sides;
  }

  // `lead` windows from reads to products, `trips` from loads to writes; `leading`: the tile that is read in the first half of
  // the trip, where tiles are apart.
  LoopSchedule ordered(int lead, int trips, int leading = -1) const {
    const int length = static_cast<int>(products_.size());
    std::vector<std::vector<Item>> windows(static_cast<std::size_t>(steps_));
    const int percent = loop_.pipeline.depth.within ? loop_.pipeline.depth.within : 100;
    const auto put = [&](int node, int q, double key) {
      const int trip = floor_of(q, steps_);
      windows[static_cast<std::size_t>(q - trip * steps_)].push_back({node, -trip, key});
    };
    // At window q of the trip, `shift` windows from there, in the part of a trip that there is for it.
    const auto put_within = [&](int node, int q, double key, int shift) {
      const double at = (q + key) * percent / 100;
      const int whole = static_cast<int>(at);
      put(node, whole + shift, at - whole);
    };
    // Reads, by first use.
    std::vector<int> reads = reads_;
    std::stable_sort(reads.begin(), reads.end(),
                     [&](int a, int b) { return feeds_.at(a).first < feeds_.at(b).first; });
    const auto half_of = [&](int node) {
      return side_.at(loop_.body[static_cast<std::size_t>(node)].access.tensor) == leading ? 0 : 1;
    };
    // What has a half of the trip is spread over its windows.
    const auto put_in_half = [&](int node, int half, int number, int many, double shift) {
      const int windows_of_half = steps_ / 2, at = number * windows_of_half / many;
      put(node, half * windows_of_half + at,
          (static_cast<double>(number) * windows_of_half + shift) / many - at);
    };
    if (leading >= 0) {
      std::map<int, int> reads_of, writes_of, read, written;
      for (const int r : reads) ++reads_of[half_of(r)];
      for (const Write& w : writes_) ++writes_of[half_of(w.node)];
      // The first read of a half before the first transfer: the barrier is for both where nothing lies between.
      for (const int r : reads) {
        const int half = half_of(r), many = reads_of[half], others = writes_of[1 - half];
        put_in_half(r, half - 2, read[half]++, many, others > many ? 0.2 * many / others : 0.2);
      }
      // After the reads of the iteration that had the stage before.
      for (const Write& w : writes_) {
        const int half = half_of(w.node);
        put_in_half(w.load, half + 1 - 2 * (1 + loop_.pipeline.ring), written[half]++, writes_of[half], 0.4);
      }
    }
    std::map<int, int> of_step, done;
    for (const int r : reads) ++of_step[feeds_.at(r).step];
    for (const int r : reads) {
      if (leading >= 0) break;
      const int step = feeds_.at(r).step, many = of_step[step], others = static_cast<int>(writes_.size());
      // Before the first transfer, as above.
      const double shift = transfers_ && others >= 2 * many ? 0.3 * many / others : 0.2;
      put_within(r, step, (done[step]++ + shift) / many, -lead);
    }
    // Writes over one trip's length before the reads, each with the load of its register after it.
    const int count = static_cast<int>(writes_.size());
    for (int w = 0; w < count && leading < 0; ++w) {
      const int q = w * steps_ / count; // window, and how far inside
      const double key = (w * steps_ % count + 0.4 * steps_) / count;
      // A transfer takes the whole ring: it has to arrive by itself. With two stages that is one trip, and all begin in its
      // first half.
      if (transfers_) {
        const int early = loop_.pipeline.ring > 2 ? 1 : 2;
        const int at = w * steps_ / early / count;
        const double inside = static_cast<double>(w * steps_) / early / count - at;
        put_within(writes_[static_cast<std::size_t>(w)].load, at, inside + 0.4 / count,
                   -lead - (loop_.pipeline.ring - 1) * steps_);
        continue;
      }
      put_within(writes_[static_cast<std::size_t>(w)].node, q, key, -lead - steps_);
      put_within(writes_[static_cast<std::size_t>(w)].load, q, key,
                 -lead - (1 + trips) * steps_); // next to it: the sort is stable
    }
    // Loads that feed products directly: as soon as the last reader of the iteration before (or two before) is through.
    const double part = loop_.pipeline.depth.loads / 100.0;
    std::map<int, int> fed, placed; // by step
    for (const int l : loads_)
      if (const auto f = feeds_.find(l); f != feeds_.end()) ++fed[f->second.step];
    for (const int l : loads_) {
      const auto f = feeds_.find(l);
      if (f == feeds_.end()) continue;
      // Two trips ahead in the window after that reader, so that two copies of the register do. The window is not lost where the number
      // of trips is given and memory's latency wants all of them, if the ring has a copy more in any case.
      const int under_way = (trips * steps_ - 1) * length * clocks_ / steps_;
      const bool whole = loop_.pipeline.depth.trips > 0 && trips % loop_.pipeline.ring != 0 &&
                         under_way < 2 * Latencies::of(target_).memory;
      const int late = trips > 1 && steps_ > 1 && !whole ? 1 : 0, q = f->second.step - trips * steps_ + late;
      if (part > 0) { // or in the part of that window that is said
        put(l, q, part * (placed[f->second.step]++ + 0.5) / fed[f->second.step]);
        continue;
      }
      const int before = window(q - late), size = window(q - late + 1) - before;
      put(l, q, static_cast<double>(f->second.last - trips * length - before + 0.5) / size);
    }

    LoopSchedule schedule;
    schedule.tail_first = true;
    schedule.exact = true;
    schedule.apart = leading >= 0;
    std::vector<std::vector<Slot>> gap(products_.size());
    for (int q = 0; q < steps_; ++q) {
      auto& items = windows[static_cast<std::size_t>(q)];
      std::stable_sort(items.begin(), items.end(),
                       [](const Item& a, const Item& b) { return a.key < b.key; });
      const int begin = window(q), size = window(q + 1) - begin, n = static_cast<int>(items.size());
      const int rest = std::clamp(size - n, 0, this->rest());
      for (int i = 0; i < n; ++i)
        gap[static_cast<std::size_t>(begin + i * (size - rest) / n)].push_back(
            {items[static_cast<std::size_t>(i)].node, items[static_cast<std::size_t>(i)].ahead, false});
    }
    for (int m = 0; m < length; ++m) {
      // Reads a whole trip ahead need one joint a trip, if loads are two trips under way, those that feed products three;
      // otherwise there is a second one, so that not all of them are waited for at once.
      const bool window_begins = std::find(begin_.begin(), begin_.end(), m) != begin_.end();
      const bool one_is_enough =
          (lead >= steps_ && (trips > 2 || ((trips > 1 || transfers_) && loads_.size() == writes_.size())));
      const bool joint = m == 0 || (schedule.apart  ? m == begin_[static_cast<std::size_t>(steps_ / 2)]
                                    : one_is_enough ? false
                                    : steps_ == 1   ? m == length / 2
                                                    : window_begins);
      schedule.slots.push_back({products_[static_cast<std::size_t>(m)], 0, joint});
      for (const Slot& s : gap[static_cast<std::size_t>(m)]) {
        schedule.slots.push_back(s);
        if (!transfers_) continue;
        for (const Write& w : writes_) // the other half of the instruction
          if (w.load == s.node) schedule.slots.push_back({w.node, s.ahead, false});
      }
    }
    return schedule;
  }

  const Region& loop_;
  const std::vector<Register>& registers_;
  const Program& program_;
  const Target& target_;
  int waves_ = 1; ///< that LDS lets into a SIMD; more than two hide nothing more
  int least_ = 1; ///< of one workgroup
  int addresses_ = 0;
  int masked_ = 0;         ///< loads whose first tile has an address of its own
  bool transfers_ = false; ///< loads go to LDS without registers
  int steps_ = 0, clocks_ = 16;
  std::vector<int> begin_, products_, reads_, loads_;
  std::vector<Write> writes_;
  std::map<int, Feed> feeds_;
  std::map<int, int> side_; ///< operand_sides
};

} // namespace

const Latencies& Latencies::of(const Target& target) {
  static const auto all = [] {
    std::array<Latencies, machine::targets.size()> of_each;
    for (const machine::Target& t : machine::targets)
      of_each[static_cast<std::size_t>(t.arch)] = {t.lds_latency_clk, t.memory_latency_clk,
                                                   t.latency_sources.data()};
    return of_each;
  }();
  return all[static_cast<std::size_t>(machine::find_target(target.name)->arch)];
}

Scheduler parse_scheduler(const std::string& name) {
  if (name == "default") return Scheduler::plain;
  if (name == "modulo") return Scheduler::modulo;
  throw CodegenError("unknown scheduler", "name   " + name, "default or modulo");
}
const char* to_string(Scheduler scheduler) { return scheduler == Scheduler::plain ? "default" : "modulo"; }

Schedule modulo_schedule(const Graph& graph) {
  Schedule schedule = default_schedule(graph);
  std::size_t loop = 0;
  for (std::size_t index = 0; index < graph.regions.size(); ++index) {
    const Region& region = graph.regions[index];
    if (!region.is_loop) continue;
    LoopSchedule& order = schedule.loops[loop++];
    const LoopSchedule plain = order;
    const Depth& depth = region.pipeline.depth;
    // Where a trip loads the numbers of the rows that it gathers, the order is the default one, in which these are there before.
    const bool gathers = std::any_of(region.body.begin(), region.body.end(), [&](const Inst& i) {
      return std::any_of(i.access.rows.begin(), i.access.rows.end(), [&](int row) {
        return row >= 0 &&
               !graph.registers[static_cast<std::size_t>(i.uses[static_cast<std::size_t>(row)].id)].outside;
      });
    });
    if (gathers && !depth.given() && !region.pipeline.pingpong) continue;
    const std::vector<Edge> edges = edges_of(region, graph.registers);
    Modulo modulo(region, graph.registers, *graph.program);
    if (region.pipeline.pingpong) {
      order = pingpong(region, graph.registers, *graph.program);
    } else if (modulo.analyse(Modulo::Windows::steps)) {
      Modulo smaller(region, graph.registers, *graph.program);
      const bool quarters = smaller.analyse(Modulo::Windows::quarters);
      std::optional<LoopSchedule> two_stages;
      if (!depth.given() || depth.barriers == 3)
        if (Modulo turns(region, graph.registers, *graph.program); turns.analyse(Modulo::Windows::turns))
          two_stages = turns.in_turn();
      if (!two_stages && (!depth.given() || depth.barriers == 2)) {
        two_stages = modulo.halves();
        if (!two_stages && quarters) two_stages = smaller.halves();
      }
      if (two_stages) {
        order = std::move(*two_stages);
      } else if (depth.barriers > 1) {
        throw CodegenError(
            "a pipeline that cannot be had", "pipeline   " + to_string(depth),
            "two tiles that transfers bring into two stages, whose operands take LDS for less of the "
            "trip, and registers for it");
      } else {
        const bool by_quarters = depth.lead > 0 && quarters && modulo.steps() == 1;
        bool fits = false;
        for (const bool with_addresses : {true, false}) {
          if (fits || !(with_addresses || modulo.transfers())) break; // the same again
          std::tie(order, fits) = by_quarters ? smaller.run(with_addresses) : modulo.run(with_addresses);
          if (!fits && quarters && !depth.given())
            if (auto [found, better] = smaller.run(with_addresses); better)
              order = std::move(found), fits = true;
        }
        if (!fits && depth.given())
          throw CodegenError("a pipeline that does not fit: it takes " +
                                 (by_quarters ? smaller : modulo).need_of(order),
                             "pipeline   " + to_string(depth), "fewer waves, a shorter lead, fewer trips");
      }
      if (index + 1 < graph.regions.size()) {
        const Region& behind = graph.regions[index + 1];
        const std::vector<int> early = early_loads(region, behind, *graph.program);
        if (!early.empty() &&
            modulo.room(order, early_registers(early, behind, graph.registers, *graph.program)))
          order.early = early;
      }
    } else if (depth.given()) {
      throw CodegenError("a pipeline for a loop without windows of products",
                         "pipeline   " + to_string(depth),
                         "loops of loads, LDS and matrix products alone, two stages or more");
    } else {
      for (const auto order_of : {scaled_sums, interleaved}) {
        auto found = order_of(region, graph.registers, *graph.program);
        if (found) found->tail_first = order.tail_first;
        if (!found || violated(edges, *found)) continue;
        order = std::move(*found);
        break;
      }
    }
    const auto wrong =
        violated(order.parts.empty() ? edges : edges_of(region, graph.registers, order.parts), order);
    if (wrong && depth.given())
      throw CodegenError(
          "a pipeline that cannot be had: an instruction would stand before what it depends on (" +
              std::string(to_string(wrong->kind)) + ")",
          "pipeline   " + to_string(depth), "another lead, more of the trip");
    if (wrong && wrong->kind == EdgeKind::accumulated) { // of two operations into one accumulator
      order = plain;
      continue;
    }
    if (wrong && wrong->kind == EdgeKind::free) {
      const Inst& again = region.body[static_cast<std::size_t>(wrong->to)];
      throw CodegenError(
          "loop: " +
              (again.access.tensor < 0 ? std::string("a tile")
                                       : graph.program->tensor(again.access.tensor).name) +
              " is written again in a trip, and a pipeline of distance " +
              std::to_string(region.pipeline.distance) + " over " + std::to_string(region.pipeline.ring) +
              " stages does not keep what it held until it has been read",
          "line   " + std::to_string(again.where.line()), "distance 0 and ring 1, or a tile of its own");
    }
    INLAY_CHECK(!wrong, "a schedule that respects edge " + std::to_string(wrong->from) + " -> " +
                            std::to_string(wrong->to) + ", " + to_string(wrong->kind));
  }
  return schedule;
}

Schedule schedule_with(Scheduler scheduler, const Graph& graph) {
  Schedule schedule = scheduler == Scheduler::modulo ? modulo_schedule(graph) : default_schedule(graph);
  std::size_t loop = 0;
  for (const Region& region : graph.regions)
    if (region.is_loop) {
      LoopSchedule& order = schedule.loops[loop++];
      if (const Depth& depth = region.pipeline.depth; depth.given() && scheduler == Scheduler::plain)
        throw CodegenError("a pipeline that is given, by a scheduler that has none",
                           "pipeline   " + to_string(depth), "--scheduler modulo");
      if (region.pipeline.pingpong && scheduler == Scheduler::plain)
        throw CodegenError("this loop cannot be ping-pong: its order is LLVM's", "scheduler   default",
                           "--scheduler modulo");
      order = pinned(region, graph.registers, *graph.program, std::move(order));
    }
  return schedule;
}

} // namespace inlay::codegen
