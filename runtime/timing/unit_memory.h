/// What a compute unit asks for data: LDS, vector memory with its caches, scalar loads. Every part is a queue that serves in order of request, so that when something is asked for, the clock at which it is
/// done is known at once. Of waves it knows nothing.
#pragma once

#include "unit_numbers.h"

#include <deque>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace inlay::runtime::timing::unit {

/// Tags of a set-associative cache with the clock at which a line is there; the least recently used way is replaced.
class Cache {
public:
  Cache(double bytes, double line, double ways)
      : ways_(static_cast<std::size_t>(ways)),
        sets_(std::max<std::size_t>(1, static_cast<std::size_t>(bytes / line) / ways_)),
        tags_(ways_ * sets_, ~std::uint64_t{0}), used_(ways_ * sets_, 0), ready_(ways_ * sets_, 0) {}
  /// The clock at which the line is (or will be) there; nullptr when it is not.
  Clock* find(std::uint64_t line) {
    const std::size_t base = set_of(line);
    for (std::size_t w = 0; w < ways_; ++w) {
      if (tags_[base + w] != line) continue;
      used_[base + w] = ++time_;
      return &ready_[base + w];
    }
    return nullptr;
  }
  void put(std::uint64_t line, Clock ready) {
    const std::size_t base = set_of(line);
    std::size_t best = base;
    for (std::size_t w = 0; w < ways_; ++w)
      if (used_[base + w] < used_[best]) best = base + w;
    tags_[best] = line;
    used_[best] = ++time_;
    ready_[best] = ready;
  }

private:
  std::size_t set_of(std::uint64_t line) const {
    // Folded, so that powers of two between rows do not all meet in one set: the hash of the hardware is not published.
    return ((line ^ (line >> 7) ^ (line >> 15)) % sets_) * ways_;
  }
  std::size_t ways_, sets_;
  std::uint64_t time_ = 0;
  std::vector<std::uint64_t> tags_, used_;
  std::vector<Clock> ready_;
};

class Memory {
public:
  /// `counts` has what was asked for; all arguments outlive this.
  Memory(const Trace& t, const Parameters& p, const UnitOptions& o, const Numbers& n, UnitResult& counts)
      : trace_(t), options_(o), n_(n), result_(counts), l1_(p["l1_bytes"], p["line_bytes"], p["l1_ways"]),
        l2_(p["l2_bytes"], p["line_bytes"], p["l2_ways"]) {}

  /// Until when the queue of a SIMD pair, or its port for writes, takes nothing at `t`; 0 when it does.
  [[nodiscard]] Clock lds_full(unsigned pair, bool writes, Clock t);
  /// The same for vector memory.
  [[nodiscard]] Clock address_full(Clock t);
  /// When an access to LDS is done; not before `last` of its wave, which it becomes.
  [[nodiscard]] Clock lds(unsigned pair, const Request& r, Clock t, Clock& last);
  /// When an access to memory is done, of an instruction that takes the address unit for `address_clocks`; of a store, when it is back.
  [[nodiscard]] Clock vector(unsigned address_clocks, const Request& r, Clock t);
  /// What a load to LDS brings at `at` takes LDS for so many clocks.
  void to_lds(Clock at, unsigned clocks) { dma_.emplace(at, clocks); }
  /// Clocks that a scalar load takes.
  [[nodiscard]] Clock scalar(const Request& r, Clock t);
  /// When the unit's share of L2, MALL and HBM is free.
  [[nodiscard]] double free_at() const { return std::max({l2_free_, mall_free_, hbm_free_}); }

private:
  bool has(Limit l) const { return options_.without == l; }
  /// Takes `clocks` of this unit's share of a bandwidth at `now` or when it is free; the clock at which that is over. The others do not ask at the same moment: what a
  /// unit has left unused while a request is on its way, and for as long as units are apart, is there for it afterwards.
  [[nodiscard]] double take(double& free, double now, Clock latency, double clocks) const {
    free = std::max(free, now - static_cast<double>(latency) - apart(now)) + clocks;
    return std::max(free, now);
  }
  /// How far apart units are that began together: more, the longer they have run.
  [[nodiscard]] double apart(double now) const { return n_.stagger + n_.drift * now; }
  /// A number from 0 to 1 that belongs to the line: chance that is the same in every run.
  [[nodiscard]] static double chance(std::uint64_t line, std::uint64_t of) {
    std::uint64_t x = (line + of * 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return static_cast<double>((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
  }
  /// Latencies spread around their mean: channels are near and far, banks are busy.
  [[nodiscard]] double spread_of(std::uint64_t line) const {
    return 1 + n_.spread * (2 * chance(line, 1) - 1);
  }
  /// Of the units that ask for a line together one fetches it. The others ask later, by as much as units are apart; a line that is still on its way is waited for, one that is there
  /// is a hit in L2. Who comes first is decided once for the lines of an instruction, by its `first` line: the units ask for all of them at once.
  [[nodiscard]] double on_its_way(std::uint64_t line, std::uint64_t first, double now, double latency,
                                  double sharers) const {
    const double full = latency * spread_of(line);
    if (chance(first, 2) * sharers < 1) return full;
    const double later = chance(first, 3) * apart(now);
    return std::max(std::min(full, static_cast<double>(n_.l2_latency)), full - later);
  }

  const Trace& trace_;
  const UnitOptions& options_;
  const Numbers& n_;
  UnitResult& result_;
  Cache l1_, l2_;

  // LDS
  std::array<std::deque<Clock>, 2> lds_queue_; ///< completions of what is queued, by SIMD pair
  double array_free_ = 0;
  std::array<double, 2> read_free_{}, write_free_{};
  std::priority_queue<std::pair<Clock, unsigned>, std::vector<std::pair<Clock, unsigned>>, std::greater<>>
      dma_;
  // vector memory
  std::deque<Clock> address_queue_; ///< when each entry leaves
  double address_free_ = 0, return_free_ = 0, l2_free_ = 0, mall_free_ = 0, hbm_free_ = 0;
  std::deque<std::pair<Clock, std::uint64_t>> inflight_;
  std::uint64_t inflight_sum_ = 0;
  std::unordered_map<std::uint64_t, Clock> scalar_lines_; ///< when each is there
  Clock scalar_filled_ = 0;                               ///< when the last of them comes
  std::unordered_set<std::uint64_t> mall_lines_;
};

} // namespace inlay::runtime::timing::unit
