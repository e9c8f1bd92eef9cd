// Rounds, sharing, extrapolation.
#include <inlay/runtime/timing/chip.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace inlay::runtime::timing {

ChipPlan plan(const Parameters& p, std::uint64_t workgroups, unsigned resident) {
  ChipPlan c;
  c.workgroups = workgroups;
  c.units = static_cast<unsigned>(p["compute_units"]);
  c.xcds = static_cast<unsigned>(p["xcds"]);
  c.resident = std::max(1U, resident);
  const std::uint64_t places = std::uint64_t{c.units} * c.resident;
  c.rounds = (workgroups + places - 1) / places;
  c.last_round = workgroups == 0 ? 0 : (workgroups - 1) % places + 1;
  c.active_units = static_cast<double>(std::min<std::uint64_t>(workgroups, c.units));
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

SharingRecorder::SharingRecorder(std::vector<std::uint64_t> workgroups, unsigned xcds, unsigned units,
                                 unsigned window)
    : wanted_(workgroups.begin(), workgroups.end()), xcds_(std::max(1U, xcds)), units_(std::max(1U, units)),
      window_(std::max(1U, window)) {}

void SharingRecorder::begin(const isa::Program& program) { all_before_ = sees_other_workgroups(program); }

bool SharingRecorder::wants(std::uint64_t workgroup) {
  return wanted_.contains(workgroup) || (all_before_ && !wanted_.empty() && workgroup < *wanted_.rbegin());
}

void SharingRecorder::executed(const ExecutedInstruction& e) {
  if (all_before_ && !wanted_.contains(e.workgroup)) return;
  if (e.workgroup != group_) {
    flush();
    group_ = e.workgroup;
    ++groups_;
    xcds_seen_.insert(group_ % xcds_);
  }
  ++work_;
  if (e.access == nullptr || e.access->space != ObservedAccess::Space::global) return;
  if (e.access->kind != ObservedAccess::Kind::load && e.access->kind != ObservedAccess::Kind::to_lds) return;
  if (counts_.size() <= e.wave) counts_.resize(e.wave + 1, 0);
  const std::size_t window = counts_[e.wave]++ / window_;
  if (mine_.size() <= window) mine_.resize(window + 1);
  std::uint64_t last = ~std::uint64_t{0};
  for (std::uint64_t m = e.access->mask; m != 0; m &= m - 1) {
    const std::uint64_t line = e.access->address[static_cast<unsigned>(std::countr_zero(m))] / 128;
    if (line == last) continue;
    last = line;
    mine_[window].insert(line);
  }
}

void SharingRecorder::flush() {
  all_work_ += work_;
  if (work_ > most_work_) most_work_ = work_, longest_ = group_;
  work_ = 0;
  for (std::size_t w = 0; w < mine_.size(); ++w) {
    if (all_.size() <= w) {
      all_.resize(w + 1);
      by_xcd_.resize(w + 1, std::vector<std::unordered_set<std::uint64_t>>(xcds_));
    }
    auto& unit = by_unit_[{w, group_ % units_}];
    for (const std::uint64_t line : mine_[w]) {
      unit.insert(line);
      by_xcd_[w][group_ % xcds_].insert(line);
      all_[w].insert(line);
    }
  }
  mine_.clear();
  counts_.clear();
}

Sharing SharingRecorder::result() {
  flush();
  double asked = 0, fetched = 0, from_hbm = 0;
  for (const auto& [key, lines] : by_unit_) asked += static_cast<double>(lines.size());
  for (std::size_t w = 0; w < all_.size(); ++w) {
    from_hbm += static_cast<double>(all_[w].size());
    for (const auto& x : by_xcd_[w]) fetched += static_cast<double>(x.size());
  }
  Sharing s;
  s.workgroups = groups_;
  s.xcds = xcds_seen_.size();
  s.mean_work = groups_ > 0 ? static_cast<double>(all_work_) / static_cast<double>(groups_) : 0;
  s.most_work = static_cast<double>(most_work_);
  s.longest = longest_;
  if (fetched > 0) s.l2 = asked / fetched;
  if (from_hbm > 0) s.mall = asked / from_hbm;
  return s;
}

ChipTime extrapolate(const ChipPlan& plan, const UnitResult& sample, double work, const Sharing& others) {
  ChipTime t;
  // When each workgroup of the sample has ended, in order.
  std::map<std::uint32_t, std::uint32_t> ended;
  for (const WaveTimeline& w : sample.waves) ended[w.workgroup] = std::max(ended[w.workgroup], w.ended);
  std::vector<double> ends;
  for (const auto& [id, clock] : ended) ends.push_back(clock);
  std::sort(ends.begin(), ends.end());
  if (ends.empty()) return t;
  const std::size_t r = std::min<std::size_t>(plan.resident, ends.size());
  t.first = ends[r - 1];
  const double beyond = static_cast<double>(ends.size() - r) / static_cast<double>(r); // rounds
  t.steady = beyond > 0 ? (ends.back() - t.first) / beyond : t.first;
  t.drain = static_cast<double>(sample.drained - sample.clocks);
  t.clocks = t.first + t.steady * static_cast<double>(plan.rounds > 0 ? plan.rounds - 1 : 0) + t.drain;
  double spread = 0.02 * t.steady; // what equal workgroups differ by when nothing else is known
  for (std::size_t i = r; i + r < ends.size(); ++i)
    spread = std::max(spread, std::abs(ends[i + r] - ends[i] - t.steady));
  t.uncertainty = spread * static_cast<double>(plan.rounds);
  if (work > 0 && others.mean_work > 0) {
    const double alike = t.clocks, mean = others.mean_work / work, longest = others.most_work / work;
    t.clocks = (alike - t.drain) * mean + t.first * (longest - mean) + t.drain;
    t.uneven = t.clocks / alike;
    t.uncertainty = t.uncertainty * mean + 0.1 * std::abs(t.clocks - alike);
  }
  const double places = static_cast<double>(plan.units) * plan.resident;
  const double share = places > 0 ? static_cast<double>(plan.last_round) / places : 1;
  t.tail = (plan.rounds > 1 ? t.steady : t.first) * (1 - share);
  return t;
}

} // namespace inlay::runtime::timing
