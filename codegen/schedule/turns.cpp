#include "turns.h"

#include "circle.h"
#include "stagger.h"

#include <inlay/codegen/schedule.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <map>

namespace inlay::codegen {
namespace {

/// What reads get of a compute unit's LDS: all of CDNA3's (32 banks of 4 bytes), half of CDNA4's, where transfers arrive in between.
constexpr int lds_bytes_a_clock = 128;

class InTurn {
public:
  InTurn(const Turns& turns, const Region& loop, const std::vector<Register>& registers,
         const Program& program)
      : turns_(turns), loop_(loop), registers_(registers), program_(program),
        length_(static_cast<int>(turns.products.size())), gap_(turns.products.size()) {}

  std::optional<LoopSchedule> run() {
    share_out();
    if (halves_[0].empty() || halves_[1].empty()) return std::nullopt;
    // As late as the second half is there for its first product; later, with one more wait, where the first half's registers are not free.
    int middle = INT_MAX;
    double takes = 0;
    for (const Read& r : halves_[1]) middle = std::min(middle, r.first), takes += r.takes;
    middle = std::min(middle - static_cast<int>(std::ceil(takes)) - turns_.rest, length_);
    while (!first_half(middle))
      if (++middle > length_) return std::nullopt;
    const int end = second_half(middle);
    if (end > begin_ + length_) return std::nullopt;
    transfers(middle, end);
    return schedule({begin_, middle, end});
  }

private:
  struct Read {
    int node, free,
        first; ///< the product after which its register is free; the first one that wants it, in the trip after
    double takes; ///< products
  };

  // Parts of LDS, and which half of the reads each belongs to: the first where any product of the first quarter wants it.
  void share_out() {
    part_ = lds_parts(loop_, program_);
    for (const Turns::Read& r : turns_.reads) {
      const int half = r.first < length_ / 4 ? 0 : 1;
      const auto [at, fresh] = half_.try_emplace(part_[static_cast<std::size_t>(r.node)], half);
      at->second = std::min(at->second, half);
    }
    const int waves = program_.threads() / program_.target().wave_size;
    for (const Turns::Read& r : turns_.reads) {
      const int def = loop_.body[static_cast<std::size_t>(r.node)].def.id;
      const int bytes = 4 * dwords(registers_[static_cast<std::size_t>(def)]) * program_.target().wave_size;
      const double takes = static_cast<double>(waves * bytes) / lds_bytes_a_clock / turns_.clocks;
      halves_[static_cast<std::size_t>(half_of(r.node))].push_back(
          {r.node, r.last + most_products_apart, r.first + length_, std::max(takes, 1.0)});
    }
  }
  int half_of(int node) const { return half_.at(part_[static_cast<std::size_t>(node)]); }

  // After a product, counted from the start of the trip in which the iteration before runs.
  void put(int node, int product) {
    const int from = product - length_;
    gap_[static_cast<std::size_t>(modulo(from, length_))].push_back({node, -floor_of(from, length_), false});
  }

  // One read after the other, by when registers are free, the last one a rest before `middle`; whether they are free by then.
  bool first_half(int middle) {
    std::vector<Read> reads = halves_[0];
    std::stable_sort(reads.begin(), reads.end(),
                     [](const Read& a, const Read& b) { return a.free < b.free; });
    std::vector<double> at(reads.size());
    double before = middle - turns_.rest;
    for (std::size_t n = reads.size(); n-- > 0;) {
      at[n] = before -= reads[n].takes;
      if (before < reads[n].free) return false;
    }
    for (std::size_t n = 0; n < reads.size(); ++n) put(reads[n].node, static_cast<int>(at[n]));
    begin_ = static_cast<int>(before);
    return true;
  }

  // From `middle` on, what is wanted first of what is free; the product before which they have been waited for.
  int second_half(int middle) {
    std::vector<Read> reads = halves_[1];
    double now = middle;
    read_ = INT_MAX;
    while (!reads.empty()) {
      auto next = reads.end();
      for (auto r = reads.begin(); r != reads.end(); ++r)
        if (r->free <= now && (next == reads.end() || r->first < next->first)) next = r;
      if (next == reads.end()) {
        now += 1;
        continue;
      }
      read_ = std::min(read_, static_cast<int>(now));
      put(next->node, static_cast<int>(now));
      now += next->takes;
      reads.erase(next);
    }
    return static_cast<int>(now) + turns_.rest;
  }

  // The first half's from `middle` on, then the second half's, evenly up to a rest before the next `middle`, for the iteration
  // that has the stage next: none where its place is still read, or after the same product as a read, if there is a free one soon.
  void transfers(int middle, int end) {
    std::vector<Turns::Transfer> all = turns_.transfers;
    std::stable_sort(all.begin(), all.end(), [&](const Turns::Transfer& a, const Turns::Transfer& b) {
      return half_of(a.write) < half_of(b.write);
    });
    const int count = static_cast<int>(all.size());
    for (int n = 0; n < count; ++n) {
      const Turns::Transfer& t = all[static_cast<std::size_t>(n)];
      int at = middle + static_cast<int>((n + 0.2) * (length_ - turns_.rest) / count);
      at = std::max(at, half_of(t.write) == 1
                            ? end
                            : read_); // one barrier frees the first part and hands the second one on
      // Nor after the first products of a trip, before which the other half of a staggered loop would have it, with no instruction to
      // say its place in LDS beside.
      const auto taken = [&](int product) {
        const int in_trip = modulo(product, length_);
        return in_trip < most_products_apart || !gap_[static_cast<std::size_t>(in_trip)].empty();
      };
      const int wanted = at;
      while (taken(at) && at < wanted + length_) ++at;
      put(t.load, (taken(at) ? wanted : at) - loop_.pipeline.ring * length_);
    }
  }

  LoopSchedule schedule(const std::array<int, 3>& joints) const {
    LoopSchedule out;
    out.tail_first = true;
    out.exact = true;
    for (std::size_t n = 0; n < part_.size(); ++n)
      out.parts.push_back(part_[n] < 0 ? 0 : half_of(static_cast<int>(n)));
    std::map<int, int> write_of;
    for (const Turns::Transfer& t : turns_.transfers) write_of[t.load] = t.write;
    for (int m = 0; m < length_; ++m) {
      const bool joint =
          std::any_of(joints.begin(), joints.end(), [&](int j) { return modulo(j, length_) == m; });
      out.slots.push_back({turns_.products[static_cast<std::size_t>(m)], 0, joint});
      for (const Slot& s : gap_[static_cast<std::size_t>(m)]) {
        out.slots.push_back(s);
        if (const auto write = write_of.find(s.node); write != write_of.end())
          out.slots.push_back({write->second, s.ahead, false});
      }
    }
    return out;
  }

  const Turns& turns_;
  const Region& loop_;
  const std::vector<Register>& registers_;
  const Program& program_;
  int length_, begin_ = 0;
  int read_ = 0;            ///< where the second half's reads begin
  std::vector<int> part_;   ///< lds_parts
  std::map<int, int> half_; ///< of a part
  std::array<std::vector<Read>, 2> halves_;
  std::vector<std::vector<Slot>> gap_; ///< after each product
};

} // namespace

std::optional<LoopSchedule> read_in_turn(const Turns& turns, const Region& loop,
                                         const std::vector<Register>& registers, const Program& program) {
  return InTurn(turns, loop, registers, program).run();
}

} // namespace inlay::codegen
