// Loops and branches.
#include "trees.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>

#include <array>
#include <utility>

namespace inlay::codegen::sums {

void Trees::run() {
  regs_.resize(g_.registers.size());
  for (std::size_t r = 0; r < regs_.size(); ++r)
    regs_[r].resize(static_cast<std::size_t>(p_.threads() * g_.registers[r].count));
  regions(0, g_.regions.size(), 0);
}

int Trees::after_trip(int row, AtomId trip) const {
  if (row == no_row || row == several) return row;
  const std::vector<AtomId>& of = row_symbols_[static_cast<std::size_t>(row - 2)];
  return std::find(of.begin(), of.end(), trip) == of.end() ? row : several;
}

void Trees::regions(std::size_t first, std::size_t last, std::size_t depth) {
  for (std::size_t n = first; n < last;) {
    const Region& r = g_.regions[n];
    if (r.guards.size() <= depth) {
      if (r.is_loop)
        run_loop(n);
      else
        for (const Inst& i : r.body) one(i);
      ++n;
      continue;
    }
    const Condition condition = r.guards[depth].condition;
    const auto end_of = [&](std::size_t from, bool holds) {
      while (from < last && g_.regions[from].guards.size() > depth &&
             g_.regions[from].guards[depth] == Guard{condition, holds})
        ++from;
      return from;
    };
    const std::size_t middle = end_of(n, true), end = end_of(middle, false);
    INLAY_CHECK(end > n, "regions of a branch follow one another");
    Causes own;
    const int which = branches_++;
    const auto [op, where] = static_cast<std::size_t>(which) < if_op_.size()
                                 ? if_op_[static_cast<std::size_t>(which)]
                                 : std::pair(-1, p_.where());
    for (const Sym& s : {condition.a, condition.b})
      causes_of_atoms(own, symbols(s), Cause::What::cut, op, where, "a branch is taken where it says so");
    bool by_ticket = false;
    for (std::size_t c = 0; c < causes.size(); ++c)
      by_ticket = by_ticket || (own[c] && causes[c].what == Cause::What::ticket);
    guards_.emplace_back(own, by_ticket);
    if (by_ticket) ticket_branches.insert(which);
    const State before{regs_, lds_};
    path_.push_back(2 * which);
    regions(n, middle, depth + 1);
    State then{std::move(regs_), std::move(lds_)};
    regs_ = before.regs, lds_ = before.lds;
    path_.back() = 2 * which + 1;
    regions(middle, end, depth + 1);
    path_.pop_back(), guards_.pop_back();
    merge(which, own, then);
    n = end;
  }
}

void Trees::merge(int which, const Causes& own, const State& then) {
  const auto join = [&](const Value& a, Value& b) {
    if (a == b) return;
    const std::array<Value, 2> of = {a, b};
    Causes all = own | causes_of(a.id) | causes_of(b.id);
    const int row = row_of(a.row, b.row);
    if (row == several && a.row != several && b.row != several)
      all.set(cause({Cause::What::rows, 0, -1, p_.where(), "values of several rows meet after a branch"}));
    b = {intern({branch, which, of[0].id, of[1].id, row == several ? 1 : 0}, all), row};
  };
  for (std::size_t r = 0; r < regs_.size(); ++r)
    for (std::size_t s = 0; s < regs_[r].size(); ++s) join(then.regs[r][s], regs_[r][s]);
  for (const auto& [t, c] : then.lds) {
    Slots& here = lds_[t];
    here.resize(c.size());
    for (std::size_t s = 0; s < c.size(); ++s) join(c[s], here[s]);
  }
}

void Trees::run_loop(std::size_t number) {
  const Region& r = g_.regions[number];
  Causes own;
  const AtomId trip = *r.t.as_atom();
  const auto [op, where] = loop_op_.at(trip);
  causes_of_atoms(own, symbols(r.extent), Cause::What::cut, op, where,
                  "a loop of trips of " + std::to_string(r.tile) + " over " + to_string(r.extent));
  std::set<int> carried_regs, written;
  for (const Inst& i : r.body) {
    if (i.def.id >= 0 && g_.registers[static_cast<std::size_t>(i.def.id)].outside)
      carried_regs.insert(i.def.id);
    if (i.kind == InstKind::lds_write) written.insert(i.access.tensor);
  }
  const State before{regs_, lds_};
  using Class = std::array<int, 3>;           // before the loop, after a trip, of the pass before
  struct Heads {                              // what a trip begins with
    std::map<int, std::vector<int>> class_of; // [register][slot]
    std::vector<Causes> causes;               // by class
    std::vector<bool> exact;
    bool operator==(const Heads&) const = default;
  };
  std::map<int, Slots> result;
  for (const int reg : carried_regs) result[reg] = before.regs[static_cast<std::size_t>(reg)];
  // Classes by what was there, and by what a trip made of it, `last` being what that trip began with.
  const auto classes = [&](const Heads* last) {
    std::vector<Class> known;
    std::vector<int> first(nodes_.size(), -1), like; // classes by what a trip made of it, and others of that
    Heads next;
    for (const int reg : carried_regs) {
      const Slots& init = before.regs[static_cast<std::size_t>(reg)];
      const Slots& after = result[reg];
      std::vector<int>& of = next.class_of[reg];
      const std::vector<int>* before_of = last ? &last->class_of.at(reg) : nullptr;
      Class same{-1, -1, -1};
      for (std::size_t s = 0; s < init.size(); ++s) {
        const Class c = {init[s].id, last ? after[s].id : 0, last ? (*before_of)[s] : 0};
        if (c == same) {
          of.push_back(of.back());
          continue;
        }
        same = c;
        int& begin = first[static_cast<std::size_t>(last ? c[1] : c[0])];
        int id = begin;
        while (id >= 0 && known[static_cast<std::size_t>(id)] != c) id = like[static_cast<std::size_t>(id)];
        of.push_back(id >= 0 ? id : static_cast<int>(known.size()));
        if (id >= 0) continue;
        like.push_back(std::exchange(begin, of.back()));
        known.push_back(c);
        next.causes.push_back(causes_of(init[s].id) | causes_of(after[s].id) | own);
        next.exact.push_back(node(init[s].id).exact && (!last || node(after[s].id).exact));
      }
    }
    return next;
  };
  Heads head = classes(nullptr);
  bool settled = false;
  const std::map<int, Stored> stored_before = stored;
  for (int pass = 0; pass < 16 && !settled; ++pass) {
    regs_ = before.regs, lds_ = before.lds, stored = stored_before;
    for (const int t : written)
      if (const auto c = lds_.find(t); c != lds_.end()) c->second.assign(c->second.size(), Value{});
    std::map<int, Slots> heads;
    std::vector<int> begins; // by class
    for (std::size_t id = 0; id < head.causes.size(); ++id)
      begins.push_back(
          intern({carried, static_cast<std::int64_t>(number), pass, static_cast<std::int64_t>(id)},
                 head.causes[id], head.exact[id]));
    for (const int reg : carried_regs) {
      Slots& now = regs_[static_cast<std::size_t>(reg)];
      const std::vector<int>& of = head.class_of[reg];
      const Slots& after = result[reg];
      for (std::size_t s = 0; s < now.size(); ++s) {
        now[s] = {begins[static_cast<std::size_t>(of[s])],
                  row_of(now[s].row, after_trip(after[s].row, trip))};
      }
      heads[reg] = now;
    }
    open_.emplace_back(trip, own);
    for (const Inst& i : r.body) one(i);
    open_.pop_back();
    bool rows = true;
    for (const int reg : carried_regs) {
      const Slots& now = regs_[static_cast<std::size_t>(reg)];
      for (std::size_t s = 0; s < now.size(); ++s)
        rows = rows && (after_trip(now[s].row, trip) == heads[reg][s].row || heads[reg][s].row == several);
      result[reg] = now;
    }
    // What a trip leaves is what the next one was said to begin with.
    Heads next = classes(&head);
    settled = rows && next == head;
    head = std::move(next);
    if (!settled) continue;
    for (const int reg : carried_regs) {
      Slots& now = regs_[static_cast<std::size_t>(reg)];
      const Slots& init = before.regs[static_cast<std::size_t>(reg)];
      const Slots& begin = heads[reg];
      std::array<int, 3> same{-1, -1, -1};
      for (std::size_t s = 0; s < now.size(); ++s) {
        now[s].row = after_trip(now[s].row, trip);
        const int begun = begin[s].id;
        const std::array<int, 3> of = {init[s].id, now[s].id, begun};
        if (of == same) {
          now[s].id = now[s - 1].id;
          continue;
        }
        same = of;
        now[s].id = intern({loop, static_cast<std::int64_t>(number), init[s].id, now[s].id, begun},
                           own | causes_of(init[s].id) | causes_of(now[s].id) | causes_of(begun),
                           node(init[s].id).exact && node(now[s].id).exact);
      }
    }
  }
  if (!settled)
    for (const int reg : carried_regs) {
      Slots& now = regs_[static_cast<std::size_t>(reg)];
      now.assign(now.size(), Value{});
    }
  // Of the last trip: not followed further. Nor what belongs to one trip.
  for (const int t : written)
    if (const auto c = lds_.find(t); c != lds_.end()) c->second.assign(c->second.size(), Value{});
  for (const Inst& i : r.body)
    if (i.def.id >= 0 && !g_.registers[static_cast<std::size_t>(i.def.id)].outside) {
      Slots& now = regs_[static_cast<std::size_t>(i.def.id)];
      now.assign(now.size(), Value{});
    }
}

} // namespace inlay::codegen::sums
