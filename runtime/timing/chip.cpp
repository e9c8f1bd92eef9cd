// Rounds, sharing, extrapolation.
#include <inlay/machine/matrix.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/report.h>
#include <inlay/runtime/timing/chip.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace inlay::runtime::timing {

unsigned resident_workgroups(unsigned vgprs, std::uint32_t lds_bytes, unsigned work_items, isa::Arch arch) {
  const machine::Target& t = machine::target(arch);
  const unsigned waves = std::max(1U, (work_items + 63) / 64);
  const unsigned by_registers = isa::occupancy(std::max(8U, vgprs), 0, work_items, arch).waves_per_simd *
                                static_cast<unsigned>(t.simds) / waves;
  // As many workgroups as LDS has room for, whether or not their waves are as many on each SIMD.
  const auto all = static_cast<unsigned>(t.lds_bytes), granule = static_cast<unsigned>(t.lds_granule);
  const unsigned each = (lds_bytes + granule - 1) / granule * granule;
  return std::max(1U, each == 0 ? by_registers : std::min(by_registers, all / std::min(all, each)));
}

ChipPlan plan(const Parameters& p, std::uint64_t workgroups, unsigned resident, unsigned waves) {
  ChipPlan c;
  c.workgroups = workgroups;
  c.units = static_cast<unsigned>(p["compute_units"]);
  c.xcds = static_cast<unsigned>(p["xcds"]);
  c.resident = std::max(1U, resident);
  const std::uint64_t places = std::uint64_t{c.units} * c.resident;
  c.rounds = (workgroups + places - 1) / places;
  c.last_round = workgroups == 0 ? 0 : (workgroups - 1) % places + 1;
  c.active_units = static_cast<double>(std::min<std::uint64_t>(workgroups, c.units));
  // Shader engines launch side by side, each one wave after the other, over its units in turn.
  const double engine = std::ceil(c.active_units / std::max(1.0, p["xcds"] * p["shader_engines"]));
  c.dispatch = std::max(0.0, engine - 1) * waves * p["wave_launch_clk"];
  return c;
}

std::vector<std::uint64_t> ChipPlan::of_first_unit(std::size_t most) const {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < workgroups && out.size() < most; i += units) out.push_back(i);
  return out;
}

std::vector<std::uint64_t> ChipPlan::first_round(unsigned xcd, std::size_t most) const {
  std::vector<std::uint64_t> out;
  const std::uint64_t end = std::min<std::uint64_t>(workgroups, std::uint64_t{units} * resident);
  for (std::uint64_t i = xcd; i < end && out.size() < most; i += xcds) out.push_back(i);
  return out;
}

NumberSet::Slot& NumberSet::slot_of(std::uint64_t block) {
  const auto find = [](std::vector<Slot>& slots, std::uint64_t of) -> Slot& {
    const std::size_t mask = slots.size() - 1;
    const std::uint64_t mixed = of * 0x9E3779B97F4A7C15U;
    std::size_t i = (mixed >> 32 ^ mixed >> 16) & mask;
    while (slots[i].numbers != 0 && slots[i].block != of) i = (i + 1) & mask;
    return slots[i];
  };
  if (2 * (blocks_ + 1) > slots_.size()) {
    std::vector<Slot> more(std::max<std::size_t>(64, 4 * slots_.size()));
    for (const Slot& s : slots_)
      if (s.numbers != 0) find(more, s.block) = s;
    slots_ = std::move(more);
  }
  return find(slots_, block);
}

void NumberSet::insert_all(std::uint64_t block, std::uint64_t numbers) {
  Slot& slot = slot_of(block);
  blocks_ += slot.numbers == 0;
  size_ += static_cast<std::size_t>(std::popcount(numbers & ~slot.numbers));
  slot.block = block;
  slot.numbers |= numbers;
}

bool NumberSet::insert(std::uint64_t number) {
  Slot& slot = slot_of(number / 64);
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  if ((slot.numbers & bit) != 0) return false;
  blocks_ += slot.numbers == 0;
  ++size_;
  slot.block = number / 64;
  slot.numbers |= bit;
  return true;
}

void NumberSet::insert(const std::vector<Slot>& others) {
  for (const Slot& s : others)
    if (s.numbers != 0) insert_all(s.block, s.numbers);
}

void NumberSet::move_to(std::vector<Slot>& to) {
  if (size_ == 0) return;
  to.reserve(to.size() + blocks_);
  for (Slot& s : slots_)
    if (s.numbers != 0) to.push_back(std::exchange(s, {}));
  blocks_ = size_ = 0;
}

SharingRecorder::SharingRecorder(std::vector<std::uint64_t> workgroups, unsigned xcds, unsigned units,
                                 const std::vector<std::uint64_t>& counted, unsigned window)
    : wanted_(workgroups.begin(), workgroups.end()), executed_(wanted_), xcds_(std::max(1U, xcds)),
      units_(std::max(1U, units)), window_(std::max(1U, window)) {
  executed_.insert(counted.begin(), counted.end());
  xcd_stored_.resize(xcds_, 0);
}

void SharingRecorder::begin(const isa::Program& program) { all_before_ = sees_other_workgroups(program); }

bool SharingRecorder::wants(std::uint64_t workgroup) {
  return executed_.contains(workgroup) ||
         (all_before_ && !executed_.empty() && workgroup < *executed_.rbegin());
}

void SharingRecorder::executed(const ExecutedInstruction& e) {
  if (e.workgroup != group_) {
    put_aside();
    counts_.clear();
    group_ = e.workgroup;
    looked_at_ = wanted_.contains(group_);
    count_ = &work_[group_];
    if (looked_at_) {
      ++groups_;
      xcds_seen_.insert(group_ % xcds_);
    }
  }
  ++*count_;
  if (!looked_at_) return;
  if (e.access == nullptr || e.access->space != ObservedAccess::Space::global) return;
  if (e.access->kind != ObservedAccess::Kind::load && e.access->kind != ObservedAccess::Kind::to_lds) {
    const double bytes = static_cast<double>(std::popcount(e.access->mask)) * e.access->bytes;
    stored_ += bytes;
    xcd_stored_[group_ % xcds_] += bytes;
    return;
  }
  if (counts_.size() <= e.wave) counts_.resize(e.wave + 1, 0);
  const std::size_t window = counts_[e.wave]++ / window_;
  if (running_.size() <= window) running_.resize(window + 1);
  NumberSet& lines = running_[window];
  const auto& address = e.access->address;
  std::uint64_t last = ~std::uint64_t{0};
  const auto look = [&](unsigned lane) {
    const std::uint64_t line = address[lane] / 128;
    if (line != last) lines.insert(line);
    last = line;
  };
  // Neighbouring lanes are mostly in one line.
  constexpr unsigned together = 8;
  for (unsigned first = 0; first < address.size(); first += together) {
    std::uint64_t mask = e.access->mask >> first & ((1U << together) - 1);
    std::uint64_t apart = 0;
    for (unsigned l = 1; l < together; ++l) apart |= address[first + l] ^ address[first];
    if (mask == (1U << together) - 1 && apart < 128) mask = 1;
    for (; mask != 0; mask &= mask - 1) look(first + static_cast<unsigned>(std::countr_zero(mask)));
  }
}

void SharingRecorder::put_aside() {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (running_[i].size() == 0) continue;
    if (windows_.size() <= i) windows_.resize(i + 1, Window(std::lcm(units_, xcds_)));
    running_[i].move_to(windows_[i][group_ % windows_[i].size()]);
  }
}

Sharing SharingRecorder::result() {
  put_aside();
  std::size_t asked = 0, fetched = 0, from_hbm = 0;
  NumberSet touched;
  std::vector<NumberSet> xcd_touched(xcds_);
  for (const Window& w : windows_) {
    std::vector<NumberSet> of_xcd(xcds_);
    NumberSet all;
    for (std::size_t place = 0; place < w.size(); ++place) of_xcd[place % xcds_].insert(w[place]);
    for (std::size_t unit = 0; unit < units_; ++unit) {
      NumberSet lines;
      for (std::size_t place = unit; place < w.size(); place += units_) lines.insert(w[place]);
      asked += lines.size();
    }
    for (unsigned x = 0; x < xcds_; ++x) {
      fetched += of_xcd[x].size();
      all.insert(of_xcd[x]);
      xcd_touched[x].insert(of_xcd[x]);
    }
    from_hbm += all.size();
    touched.insert(all);
  }
  Sharing s;
  s.workgroups = groups_;
  s.xcds = xcds_seen_.size();
  s.bytes = static_cast<double>(touched.size()) * 128 + stored_;
  for (unsigned x = 0; x < xcds_; ++x)
    s.xcd_bytes = std::max(s.xcd_bytes, static_cast<double>(xcd_touched[x].size()) * 128 + xcd_stored_[x]);
  s.work = std::move(work_);
  s.requests = static_cast<double>(asked), s.fetched = static_cast<double>(fetched);
  s.from_hbm = static_cast<double>(from_hbm);
  if (fetched > 0) s.l2 = s.requests / s.fetched;
  if (from_hbm > 0) s.mall = s.requests / s.from_hbm;
  return s;
}

Sharing Sharing::continued(const Sharing& shorter, double steps) const {
  Sharing s = *this;
  const auto count = [&](double Sharing::*of) {
    return s.*of = std::max(this->*of, shorter.*of + (this->*of - shorter.*of) * steps);
  };
  const double all = count(&Sharing::requests), lines = count(&Sharing::fetched),
               far = count(&Sharing::from_hbm);
  if (lines > 0) s.l2 = all / lines;
  if (far > 0) s.mall = all / far;
  return s;
}

Work::Work(std::map<std::uint64_t, std::uint64_t> known, std::uint64_t workgroups)
    : known_(std::move(known)), complete_(known_.size() == workgroups) {
  if (known_.empty()) return;
  double sum = 0, least = static_cast<double>(known_.begin()->second), before = -1, steps = 0;
  for (const auto& [id, n] : known_) {
    const auto w = static_cast<double>(n);
    sum += w;
    most_ = std::max(most_, w);
    least = std::min(least, w);
    if (before >= 0) steps += std::abs(w - before);
    before = w;
  }
  mean_ = sum / static_cast<double>(known_.size());
  even_ = most_ <= 1.02 * least;
  if (!complete_ && !even_)
    doubt_ = std::min(1.0, steps / static_cast<double>(known_.size()) / std::max(1.0, mean_));
}

double Work::of(std::uint64_t workgroup) const {
  if (known_.empty()) return 1;
  auto after = known_.lower_bound(workgroup);
  if (after == known_.end()) return static_cast<double>(std::prev(after)->second);
  if (after->first == workgroup || after == known_.begin()) return static_cast<double>(after->second);
  const auto before = std::prev(after);
  return static_cast<double>(
      (workgroup - before->first <= after->first - workgroup ? before : after)->second);
}

namespace {

/// Workgroups on one unit: each has done `done` of the unit's time when the ones that share it have done as much.
struct Place {
  double until = 0; ///< of the unit's virtual time, which runs slower the more share it
  std::uint64_t workgroup = 0;
};
struct Busy {
  double now = 0, virtual_now = 0;
  std::vector<Place> places;
  UnitQueue queue;
  [[nodiscard]] double next() const {
    double least = std::numeric_limits<double>::infinity();
    for (const Place& p : places) least = std::min(least, p.until);
    return now + (least - virtual_now) * static_cast<double>(places.size());
  }
  void advance(double to) {
    if (!places.empty()) virtual_now += (to - now) / static_cast<double>(places.size());
    now = to;
  }
  void add(std::uint64_t workgroup, double work) {
    places.push_back({virtual_now + work, workgroup});
    queue.workgroups.push_back(workgroup);
    queue.work += work;
    queue.longest = std::max(queue.longest, work);
  }
  void end_one() {
    const auto least = std::min_element(places.begin(), places.end(),
                                        [](const Place& a, const Place& b) { return a.until < b.until; });
    places.erase(least);
  }
};

} // namespace

std::vector<UnitQueue> dispatch(const ChipPlan& plan, const Work& work) {
  std::vector<UnitQueue> out(plan.units);
  const auto put = [&](UnitQueue& q, std::uint64_t i) {
    const double w = work.of(i);
    q.workgroups.push_back(i);
    q.work += w;
    q.longest = std::max(q.longest, w);
  };
  if (work.even() || plan.workgroups <= std::uint64_t{plan.units} * plan.resident) {
    for (std::uint64_t i = 0; i < plan.workgroups; ++i) put(out[i % plan.units], i);
    return out;
  }
  const unsigned xcds = std::max(1U, plan.xcds);
  for (unsigned x = 0; x < xcds; ++x) {
    std::vector<Busy> units((plan.units - x + xcds - 1) / xcds);
    if (units.empty()) continue;
    std::uint64_t i = x;
    std::size_t turn = 0;
    for (std::size_t placed = 0; i < plan.workgroups && placed < units.size() * plan.resident;
         i += xcds, ++placed) {
      units[turn].add(i, work.of(i));
      turn = (turn + 1) % units.size();
    }
    std::vector<double> free;
    for (const Busy& u : units) free.push_back(u.next());
    for (; i < plan.workgroups; i += xcds) {
      // Of several units that have room at the same time the next one in turn: all from there on, then those before.
      const auto in_turn = free.begin() + static_cast<std::ptrdiff_t>(turn);
      const auto after = std::min_element(in_turn, free.end()),
                 before = std::min_element(free.begin(), in_turn);
      const auto u =
          static_cast<std::size_t>((before != in_turn && *before < *after ? before : after) - free.begin());
      units[u].advance(free[u]);
      units[u].end_one();
      units[u].add(i, work.of(i));
      free[u] = units[u].next();
      turn = (u + 1) % units.size();
    }
    for (std::size_t u = 0; u < units.size(); ++u) out[x + u * xcds] = std::move(units[u].queue);
  }
  return out;
}

std::vector<UnitQueue> heaviest(const ChipPlan& plan, const Work& work) {
  std::vector<UnitQueue> all = dispatch(plan, work);
  std::size_t most = 0, longest = 0;
  for (std::size_t u = 0; u < all.size(); ++u) {
    if (all[u].work > all[most].work) most = u;
    // Of those with an equally long workgroup, the one that has most beside it.
    if (all[u].longest > all[longest].longest ||
        (all[u].longest == all[longest].longest && all[u].work > all[longest].work))
      longest = u;
  }
  std::vector<UnitQueue> out;
  std::set<std::size_t> taken;
  for (const std::size_t u : {most, longest, std::size_t{0}})
    if (taken.insert(u).second && (out.empty() || !work.even())) out.push_back(std::move(all[u]));
  return out;
}

std::vector<std::uint64_t> sample_of(const UnitQueue& queue, unsigned resident, std::size_t most) {
  const std::vector<std::uint64_t>& all = queue.workgroups;
  const std::size_t r = std::max(1U, resident);
  if (all.size() <= std::max<std::size_t>(most, r)) return all;
  const std::size_t last = all.size() % r;
  // Of workgroups that differ one round says little: at least three, from all over the queue.
  const bool even = queue.longest * static_cast<double>(all.size()) <= 1.02 * queue.work;
  const std::size_t rounds = std::max<std::size_t>(even ? 1 : 3, most > last ? (most - last) / r : 1);
  if (rounds * r + last >= all.size()) return all;
  std::vector<std::uint64_t> out;
  for (std::size_t k = 0; k < rounds; ++k) {
    const std::size_t round = even ? k : (2 * k + 1) * (all.size() / r) / (2 * rounds);
    for (std::size_t i = 0; i < r; ++i) out.push_back(all[round * r + i]);
  }
  out.insert(out.end(), all.end() - static_cast<std::ptrdiff_t>(last), all.end());
  return out;
}

double held(double footprint, double cache_bytes) {
  return std::clamp((1.25 - footprint / std::max(1.0, cache_bytes)) / 0.5, 0.0, 1.0);
}

namespace {

/// One number for types that the same multipliers take.
int multipliers(machine::Operand type) {
  using machine::Operand;
  switch (type) {
  case Operand::bf16: return static_cast<int>(Operand::f16);
  case Operand::bf8: return static_cast<int>(Operand::fp8);
  case Operand::bf6:
  case Operand::fp4: return static_cast<int>(Operand::fp6);
  default: return static_cast<int>(type);
  }
}

double products_each_pass(const machine::MatrixInstruction& row, isa::Arch arch, bool narrow) {
  const int passes = row.on(arch) ? row.timing_on(arch, narrow).passes : 0;
  return passes == 0 ? 0 : static_cast<double>(row.work()) / (row.sparse ? 4 : 2) / passes;
}

} // namespace

double share_of_products(const isa::Instruction& i, isa::Arch arch) {
  const auto* row = machine::find_matrix_instruction(i.mnemonic);
  if (row == nullptr) return 0;
  const bool narrow = row->typed_by_modifiers && i.modifiers.cbsz >= 2 && i.modifiers.blgp >= 2;
  const int type = multipliers(!row->typed_by_modifiers ? row->a
                               : narrow                 ? machine::Operand::fp6
                                                        : machine::Operand::fp8);
  const double mine = products_each_pass(*row, arch, narrow);
  double most = mine;
  for (const auto& other : machine::matrix_instructions()) {
    if (!other.typed_by_modifiers) {
      if (multipliers(other.a) == type) most = std::max(most, products_each_pass(other, arch, false));
      continue;
    }
    for (const bool n : {false, true})
      if (type == multipliers(n ? machine::Operand::fp6 : machine::Operand::fp8))
        most = std::max(most, products_each_pass(other, arch, n));
  }
  return most == 0 ? 0 : mine / most;
}

LoadClock load_clock(const Parameters& p, const Activity& activity) {
  const double falls = p["load_clock_matrix"] * std::clamp(activity.matrix, 0.0, 1.0) +
                       p["load_clock_vector"] * std::clamp(activity.vector, 0.0, 1.0) +
                       p["load_clock_memory"] * std::clamp(activity.memory, 0.0, 1.0);
  const double mhz = p["clock_mhz"] * std::max(0.3, 1 - falls);
  return {mhz, mhz * p["load_clock_doubt"]};
}

Parameters at_clock(const Parameters& p, double mhz, const std::string& why) {
  const double slower = std::min(1.0, mhz / p["memory_latency_mhz"]), l2 = p["l2_latency_clk"];
  Parameters out = p.with("clock_mhz", mhz, why);
  for (const char* name : {"mall_latency_clk", "hbm_latency_clk"})
    out = out.with(name, l2 + (p[name] - l2) * slower, why);
  return out;
}

ChipTime extrapolate(const ChipPlan& plan, const UnitQueue& queue, const std::vector<std::uint64_t>& ids,
                     const UnitResult& sample, const Work& work) {
  ChipTime t;
  t.modelled = ids.size();
  t.of_unit = queue.workgroups.size();
  // When each workgroup of the sample has ended, in order.
  std::map<std::uint32_t, std::uint32_t> ended;
  for (const WaveTimeline& w : sample.waves) ended[w.workgroup] = std::max(ended[w.workgroup], w.ended);
  std::vector<double> ends;
  for (const auto& [id, clock] : ended) ends.push_back(clock);
  std::sort(ends.begin(), ends.end());
  if (ends.empty()) return t;
  const std::size_t r = std::min<std::size_t>(plan.resident, ends.size());
  double sampled = 0, first_work = 0;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    sampled += work.of(ids[k]);
    if (k < r) first_work += work.of(ids[k]);
  }
  t.first = ends[r - 1];
  // Clocks for a round's work, from the whole rounds after the first; with one round only, what that takes.
  const std::size_t whole = ends.size() / r;
  double per_work = first_work > 0 ? t.first / first_work : 0;
  if (whole > 1) {
    double later = 0;
    for (std::size_t k = r; k < whole * r && k < ids.size(); ++k) later += work.of(ids[k]);
    if (later > 0) per_work = (ends[whole * r - 1] - t.first) / later;
  }
  t.steady = whole > 1 ? (ends[whole * r - 1] - t.first) / static_cast<double>(whole - 1) : t.first;
  t.drain = static_cast<double>(sample.drained - sample.clocks);
  t.dispatch = plan.dispatch;
  const double left = t.exact() ? 0 : std::max(0.0, queue.work - sampled);
  t.clocks = t.dispatch + ends.back() + left * per_work + t.drain;
  const double each =
      queue.workgroups.empty() ? 0 : queue.work / static_cast<double>(queue.workgroups.size());
  // Equal units differ by about a fiftieth, and who shares a unit with whom is not known exactly; rounds not modelled by what those modelled
  // differ by.
  t.uncertainty = (work.even() ? 0.02 : 0.06) * t.clocks;
  if (left > 0 && each > 0) {
    double spread = 0.02 * t.steady;
    for (std::size_t i = r; i + r < whole * r; ++i)
      spread = std::max(spread, std::abs(ends[i + r] - ends[i] - t.steady));
    t.uncertainty += spread * left / each / static_cast<double>(r);
    // Where a round's workgroups differ, some of the unit's time passes with fewer than it holds.
    double uneven = 0;
    for (std::size_t k = 0; k + r <= ids.size() && r > 1; k += r) {
      double most = 0, sum = 0;
      for (std::size_t i = k; i < k + r; ++i) most = std::max(most, work.of(ids[i])), sum += work.of(ids[i]);
      if (sum > 0) uneven = std::max(uneven, most * static_cast<double>(r) / sum - 1);
    }
    t.uncertainty += 0.3 * std::min(1.0, uneven) * left * per_work;
  }
  t.uncertainty += work.doubt() * t.clocks * (t.exact() ? 0.1 : 0.3);
  const double units = std::min<double>(static_cast<double>(plan.workgroups), plan.units);
  const double average = work.mean() * static_cast<double>(plan.workgroups) / std::max(1.0, units);
  if (!work.even() && average > 0) t.uneven = queue.work / average;
  const double places = static_cast<double>(plan.units) * plan.resident;
  const double share = places > 0 ? static_cast<double>(plan.last_round) / places : 1;
  t.tail = (plan.rounds > 1 ? t.steady : t.first) * (1 - share);
  return t;
}

} // namespace inlay::runtime::timing
