// Queues, ports and caches.
#include "unit_memory.h"

#include <cmath>

namespace inlay::runtime::timing::unit {

using Space = ObservedAccess::Space;
using AccessKind = ObservedAccess::Kind;

Clock Memory::lds_full(unsigned pair, bool writes, Clock t) {
  auto& queue = lds_queue_[pair];
  while (!queue.empty() && queue.front() <= t) queue.pop_front();
  if (queue.size() >= n_.lds_entries) return queue.front();
  if (writes && write_free_[pair] > static_cast<double>(t))
    return static_cast<Clock>(std::ceil(write_free_[pair]));
  return 0;
}

Clock Memory::address_full(Clock t) {
  while (!address_queue_.empty() && address_queue_.front() <= t) address_queue_.pop_front();
  return address_queue_.size() >= n_.queue_entries ? address_queue_[address_queue_.size() - n_.queue_entries]
                                                   : 0;
}

Clock Memory::lds(unsigned pair, const Request& r, Clock t, Clock& last) {
  if (has(Limit::lds)) return t + n_.lds_latency;
  double clocks = r.lds_clocks;
  if (r.space == Space::crossbar) clocks = static_cast<double>(n_.crossbar);
  if (has(Limit::bank_conflicts)) {
    clocks -= r.lds_conflicts;
  } else if (r.misaligned && r.kind == AccessKind::load) {
    clocks = std::max(clocks, static_cast<double>(n_.misaligned));
  }
  if (r.kind == AccessKind::atomic) clocks *= 2; // reads and writes
  double& port = r.kind == AccessKind::store ? write_free_[pair] : read_free_[pair];
  const double port_clocks =
      r.kind == AccessKind::store ? 4 + r.total_bytes() / n_.write_port : r.total_bytes() / n_.read_port;
  double start = std::max(static_cast<double>(t), array_free_);
  // What is read waits for its port behind the memory, which goes on with the other pair's.
  // Data that arrived from memory before this access writes first.
  while (!dma_.empty() && static_cast<double>(dma_.top().first) <= start) {
    array_free_ = std::max(array_free_, static_cast<double>(dma_.top().first)) + dma_.top().second;
    start = std::max(start, array_free_);
    dma_.pop();
  }
  array_free_ = start + clocks;
  port = std::max(port, r.kind == AccessKind::store ? static_cast<double>(t) : start) + port_clocks;
  result_.lds_clocks += static_cast<std::uint64_t>(clocks);
  result_.lds_conflict_clocks += has(Limit::bank_conflicts) ? 0 : r.lds_conflicts;
  const double done = std::max(array_free_, port) + static_cast<double>(n_.lds_latency);
  auto complete = static_cast<Clock>(std::ceil(done));
  complete = std::max(complete, last);
  last = complete;
  auto& queue = lds_queue_[pair];
  queue.insert(std::upper_bound(queue.begin(), queue.end(), complete), complete);
  return complete;
}

Clock Memory::vector(unsigned address_clocks, const Request& r, Clock t) {
  double start = std::max(static_cast<double>(t), address_free_);
  const bool load = r.kind == AccessKind::load || r.kind == AccessKind::to_lds;
  // Loads hold their lines' place in L1 until they return.
  if (load) {
    while (!inflight_.empty() && (static_cast<double>(inflight_.front().first) <= start ||
                                  inflight_sum_ + r.total_bytes() > n_.inflight_bytes)) {
      if (!has(Limit::address_unit)) start = std::max(start, static_cast<double>(inflight_.front().first));
      inflight_sum_ -= inflight_.front().second;
      inflight_.pop_front();
    }
  }
  double clocks = std::max<double>(address_clocks, n_.line_clk * r.lines);
  if (has(Limit::address_unit)) clocks = 0;
  address_free_ = start + clocks;
  result_.address_clocks += static_cast<std::uint64_t>(clocks);
  address_queue_.push_back(static_cast<Clock>(std::ceil(address_free_)));
  double done = address_free_;
  for (unsigned k = 0; k < r.lines; ++k) {
    const std::uint64_t line = trace_.lines[r.first_line + k];
    ++result_.lines;
    if (!load) {
      // Written through to L2; the line stays in L1 only if it was there.
      l2_free_ = std::max(l2_free_, address_free_) + n_.line_bytes / n_.l2_rate;
      done = std::max(done, l2_free_);
      // What L2 passes on takes its turn with what is loaded from there.
      const double bytes =
          std::min(n_.line_bytes, static_cast<double>(r.total_bytes()) / std::max<unsigned>(1, r.lines));
      if (options_.l2_share > 0 && chance(line, 4) < options_.l2_share) {
        // stays in L2
      } else if ((options_.data_in == UnitOptions::Start::hbm && options_.mall_share < 0.5) ||
                 (options_.data_in == UnitOptions::Start::mall && !n_.has_mall)) {
        done = std::max(done, take(hbm_free_, address_free_, n_.hbm_latency, bytes / n_.hbm_store_rate));
      } else if (options_.data_in != UnitOptions::Start::l2) {
        done = std::max(done, take(mall_free_, address_free_, n_.mall_latency, bytes / n_.mall_store_rate));
      }
      if (l2_.find(line) == nullptr) l2_.put(line, static_cast<Clock>(address_free_));
      continue;
    }
    if (Clock* there = l1_.find(line)) {
      ++result_.l1_hits;
      done = std::max(done, std::max(address_free_ + static_cast<double>(n_.l1_latency),
                                     has(Limit::memory_latency) ? 0.0 : static_cast<double>(*there)));
      continue;
    }
    double at = std::max(address_free_, l2_free_);
    l2_free_ = at + n_.line_bytes / n_.l2_rate;
    double arrives = 0;
    if (Clock* there = l2_.find(line); there != nullptr || options_.data_in == UnitOptions::Start::l2 ||
                                       (options_.l2_share > 0 && chance(line, 4) < options_.l2_share)) {
      ++result_.l2_hits;
      arrives = std::max(at + static_cast<double>(n_.l2_latency) * spread_of(line),
                         there == nullptr || has(Limit::memory_latency) ? 0.0 : static_cast<double>(*there));
    } else {
      const bool mall =
          n_.has_mall && (mall_lines_.contains(line) || options_.data_in == UnitOptions::Start::mall ||
                          (options_.mall_share > 0 && chance(line, 5) < options_.mall_share));
      double& free = mall ? mall_free_ : hbm_free_;
      at = std::max(at, take(free, at, mall ? n_.mall_latency : n_.hbm_latency,
                             n_.line_bytes / (mall ? n_.mall_rate : n_.hbm_rate)));
      arrives = at + on_its_way(line, trace_.lines[r.first_line], at,
                                static_cast<double>(mall ? n_.mall_latency : n_.hbm_latency),
                                mall ? n_.l2_sharers : n_.mall_sharers);
      ++(mall ? result_.mall_hits : result_.hbm_lines);
      mall_lines_.insert(line);
      l2_.put(line, static_cast<Clock>(std::ceil(arrives)));
    }
    l1_.put(line, static_cast<Clock>(std::ceil(arrives)));
    done = std::max(done, arrives);
  }
  if (!load) {
    result_.stored_bytes += r.total_bytes();
    return static_cast<Clock>(std::ceil(done)) +
           (r.kind == AccessKind::atomic ? n_.atomic_latency : n_.store_latency);
  }
  // The way back is as wide as L1.
  return_free_ = std::max(return_free_, done) + r.total_bytes() / n_.l1_rate;
  done = std::max(done, return_free_);
  const auto complete = static_cast<Clock>(std::ceil(done));
  inflight_.emplace_back(complete, r.total_bytes());
  inflight_sum_ += r.total_bytes();
  return complete;
}

Clock Memory::scalar(const Request& r, Clock t) {
  Clock latency = n_.scalar_hit;
  for (unsigned k = 0; k < r.lines; ++k) {
    // Who asks while the line is on its way waits for it too.
    const std::uint64_t line = trace_.lines[r.first_line + k] / n_.scalar_line;
    const auto [at, fresh] = scalar_lines_.emplace(line, 0);
    // Lines that miss come one after the other.
    if (fresh) {
      scalar_filled_ = std::max(t + n_.scalar_miss, scalar_filled_ + n_.scalar_interval);
      at->second = scalar_filled_;
    }
    if (at->second > t) latency = std::max(latency, at->second - t);
  }
  return latency;
}

} // namespace inlay::runtime::timing::unit
