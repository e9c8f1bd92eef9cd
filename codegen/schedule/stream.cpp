#include "stream.h"

#include <inlay/codegen/schedule.h>

#include <algorithm>
#include <map>
#include <optional>

namespace inlay::codegen {
namespace {

constexpr std::size_t of_versions = 4; // stores of a portion that has two versions, which is a branch

bool pure(const Inst& i) {
  return i.kind == InstKind::map || i.kind == InstKind::exchange_lanes || i.kind == InstKind::fold_values ||
         i.kind == InstKind::fold_lanes || i.kind == InstKind::top;
}
bool overlap(const Reg& a, const Reg& b) {
  return a.id == b.id && a.first < b.first + b.count && b.first < a.first + a.count;
}
bool contains(const Reg& a, const Reg& b) {
  return a.id == b.id && a.first <= b.first && b.first + b.count <= a.first + a.count;
}

/// A run of pure instructions and stores of all waves.
class Run {
public:
  Run(std::vector<Inst> list, const Code& code) : list_(std::move(list)), code_(code) {}

  std::vector<Inst> in_portions() {
    if (!computes() || !writes_once() || !portions() || leaves_agprs()) return std::move(list_);
    taken_.assign(list_.size(), false);
    for (const std::vector<std::size_t>& portion : portions_) {
      for (const std::size_t s : portion) before(list_[s], s);
      for (const std::size_t s : portion) take(s);
    }
    for (std::size_t n = 0; n < list_.size(); ++n)
      if (!taken_[n]) take(n);
    return std::move(out_);
  }

private:
  // Whether there is something to do before what is stored is what the results are.
  bool computes() const {
    return std::any_of(list_.begin(), list_.end(), [&](const Inst& i) {
      return pure(i) || code_.registers[static_cast<std::size_t>(i.uses[0].id)].element !=
                            code_.program->tensor(i.access.tensor).element;
    });
  }
  // Results that a block may have in AGPRs, read after a branch: LLVM would copy all of them before the first one.
  bool leaves_agprs() const {
    if (std::none_of(list_.begin(), list_.end(), [](const Inst& i) { return i.when.has_value(); }))
      return false;
    int sum = 0;
    for (const CodeRegion& r : code_.regions)
      if (r.is_loop) sum += accumulators(as_region(r, own_order(r.body)).first, code_.registers);
    return sum >= code_.program->target().registers_per_simd_lane / 4;
  }
  // Whether each register has one value throughout.
  bool writes_once() const {
    std::map<int, std::vector<Reg>> seen; // used or written so far
    for (const Inst& i : list_) {
      if (i.def.id >= 0)
        for (const Reg& r : seen[i.def.id])
          if (overlap(r, i.def)) return false;
      for (const Reg& r : i.uses) seen[r.id].push_back(r);
      if (i.def.id >= 0) seen[i.def.id].push_back(i.def);
    }
    return true;
  }
  // Stores of the first version, each with those of the other version that store the same.
  bool portions() {
    for (std::size_t n = 0; n < list_.size();) {
      if (list_[n].kind != InstKind::store) {
        ++n;
        continue;
      }
      const std::optional<When> when = list_[n].when;
      std::optional<When> other = when;
      if (other) other->divides = !other->divides;
      const std::size_t first = portions_.size();
      const std::size_t at_once = when ? of_versions : 1;
      for (std::size_t k = 0; n < list_.size() && list_[n].kind == InstKind::store && list_[n].when == when;
           ++n, ++k) {
        if (k % at_once == 0) portions_.emplace_back();
        portions_.back().push_back(n);
      }
      std::vector<std::vector<std::size_t>> with(portions_.size() - first);
      for (; when && n < list_.size() && list_[n].kind == InstKind::store && list_[n].when == other; ++n) {
        std::size_t p = 0;
        const auto stores = [&](std::size_t s) { return contains(list_[s].uses[0], list_[n].uses[0]); };
        while (p < with.size() &&
               std::none_of(portions_[first + p].begin(), portions_[first + p].end(), stores))
          ++p;
        if (p == with.size()) return false;
        with[p].push_back(n);
      }
      for (std::size_t p = 0; p < with.size(); ++p)
        portions_[first + p].insert(portions_[first + p].end(), with[p].begin(), with[p].end());
    }
    return portions_.size() > 1;
  }
  // What instruction n uses and is not there yet.
  void before(const Inst& i, std::size_t n) {
    for (std::size_t d = 0; d < n; ++d)
      if (!taken_[d] && pure(list_[d]) &&
          std::any_of(i.uses.begin(), i.uses.end(), [&](const Reg& r) { return overlap(r, list_[d].def); })) {
        before(list_[d], d);
        take(d);
      }
  }
  void take(std::size_t n) {
    taken_[n] = true;
    out_.push_back(std::move(list_[n]));
  }

  std::vector<Inst> list_, out_;
  const Code& code_;
  std::vector<std::vector<std::size_t>> portions_; ///< numbers of stores
  std::vector<bool> taken_;
};

} // namespace

std::vector<Inst> streamed(std::vector<Inst> list, const Code& code) {
  std::vector<Inst> out;
  for (std::size_t n = 0; n < list.size();) {
    const auto fits = [&](const Inst& i) {
      return (pure(i) || i.kind == InstKind::store) && i.waves == list[n].waves;
    };
    std::size_t end = n;
    while (end < list.size() && fits(list[end])) ++end;
    if (end == n) {
      out.push_back(std::move(list[n++]));
      continue;
    }
    Run run({std::make_move_iterator(list.begin() + static_cast<std::ptrdiff_t>(n)),
             std::make_move_iterator(list.begin() + static_cast<std::ptrdiff_t>(end))},
            code);
    for (Inst& i : run.in_portions()) out.push_back(std::move(i));
    n = end;
  }
  return out;
}

} // namespace inlay::codegen
