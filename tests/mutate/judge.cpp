#include "judge.h"

#include <inlay/algebra/print.h>
#include <inlay/codegen/provenance.h>
#include <inlay/solver/prover.h>

#include <algorithm>

namespace inlay::mutate {

using namespace codegen;

std::string refuted(const Code& code) {
  try {
    solver::SolverProver prover;
    const Derivation d = derive(code, prover);
    const DerivedClaim* c = d.refuted();
    return c ? c->claim + ": " + c->counterexample : "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::string wrong(const Code& code, const std::vector<Sizes>& sizes) {
  for (const Sizes& s : sizes)
    for (std::uint64_t seed = 0; seed < 3; ++seed)
      if (const std::string what = run_tokens(code, s, seed); !what.empty()) return what;
  return "";
}

namespace {
template <class T>
T& pick(Random& random, std::vector<T>& from) {
  return from[random() % from.size()];
}

} // namespace

std::optional<Expr> another_map(Expr all, Random& random) {
  std::vector<int> places;
  (void)all.arena->rewrite(all, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::constant || n.fn == Fn::inside || n.fn == Fn::sub || n.fn == Fn::max ||
        n.fn == Fn::select || n.fn == Fn::integer || n.fn == Fn::choose || n.fn == Fn::word_less ||
        n.fn == Fn::word_add || n.fn == Fn::word_shr)
      places.push_back(all.arena->make(n).id);
    return std::nullopt;
  });
  if (places.empty()) return std::nullopt;
  const int place = places[random() % places.size()];
  const int by = random() % 2 == 0 ? 1 : -1;
  return all.arena->rewrite(all, [&](const ExprNode& n) -> std::optional<Expr> {
    if (all.arena->make(n).id != place) return std::nullopt;
    ExprNode other = n;
    if (n.fn == Fn::constant) {
      other.value = n.value * 1.5 + 0.25;
    } else if (n.fn == Fn::inside) {
      other.index[random() % 2] += Sym(by);
    } else if (n.fn == Fn::integer) {
      other.value = static_cast<double>(static_cast<std::uint32_t>(n.value) ^ 1U);
    } else if (n.fn == Fn::choose) {
      std::swap(other.args[1], other.args[2]);
    } else if (n.fn == Fn::word_add) {
      other.fn = Fn::word_xor;
    } else if (n.fn == Fn::word_shr) {
      other.fn = Fn::word_sar;
    } else if (n.fn == Fn::sub || n.fn == Fn::select || n.fn == Fn::word_less) {
      std::swap(other.args[0], other.args[1]);
    } else {
      other.fn = Fn::min;
    }
    return all.arena->make(other);
  });
}

namespace {
std::string change_guard(Code& code, CodeRegion& region, Random& random) {
  const std::size_t at = random() % region.guards.size();
  const Condition was = region.guards[at].condition;
  const std::string where = "branch where " + to_string(was.a) + " < " + to_string(was.b) + ": ";
  // Both sides of it, as an `if` has them.
  const auto everywhere = [&](const Condition& now) {
    for (CodeRegion& r : code.regions)
      for (Guard& g : r.guards)
        if (g.condition == was) g.condition = now;
  };
  switch (random() % 5) {
  case 0: everywhere({was.a + Sym(1), was.b}); return where + "one later";
  case 1: everywhere({was.a, was.b + Sym(1)}); return where + "one earlier";
  case 2: everywhere({was.b, was.a}); return where + "the sides exchanged";
  case 3: region.guards[at].holds = !region.guards[at].holds; return where + "a region of the other path";
  default:
    region.guards.erase(region.guards.begin() + static_cast<std::ptrdiff_t>(at));
    return where + "a region always runs";
  }
}
std::string change_waves(Inst& i, Random& random) {
  switch (random() % 4) {
  case 0: i.waves = {}; return "all waves run it";
  case 1: i.waves.first ^= 1; return "another wave runs it";
  case 2: i.waves.count += 1; return "another wave runs it too";
  default: i.waves.first = i.waves.first == 0 ? i.waves.count : 0; return "another role runs it";
  }
}
} // namespace

std::string change(Code& code, Random& random) {
  CodeRegion& region = pick(random, code.regions);
  if (!region.guards.empty() && random() % 3 == 0) return change_guard(code, region, random);
  std::vector<std::vector<Inst>*> lists;
  for (auto* list : {&region.prologue, &region.body, &region.epilogue})
    if (!list->empty()) lists.push_back(list);
  if (lists.empty()) return "";
  std::vector<Inst>& list = *lists[random() % lists.size()];
  const std::size_t at = random() % list.size();
  Inst& i = list[at];
  const std::string where = std::string(to_string(i.kind)) + " number " + std::to_string(at) + " of " +
                            std::to_string(list.size()) + ": ";
  if (!i.waves.all() && random() % 4 == 0) return where + change_waves(i, random);
  const bool memory = i.access.tensor >= 0;
  const auto axis = [&] { return random() % i.access.origin.size(); };
  switch (random() % 20) {
  case 0:
    if (at + 1 == list.size()) return "";
    std::swap(list[at], list[at + 1]);
    return where + "exchanged with the next";
  case 1: list.erase(list.begin() + static_cast<std::ptrdiff_t>(at)); return where + "left out";
  case 2:
    if (i.kind != InstKind::wait) return "";
    (i.vm >= 0 ? i.vm : i.lgkm) += 1;
    return where + "waits for one access less";
  case 3: {
    if (!memory) return "";
    const std::size_t a = axis();
    const int by = std::vector<int>{1, -1, 8, 32}[random() % 4];
    i.access.origin[a] += Sym(by);
    return where + "origin of axis " + std::to_string(a) + " by " + std::to_string(by);
  }
  case 4: {
    if (!memory) return "";
    const std::size_t e = random() % i.access.elements.size(), a = axis();
    i.access.elements[e][a] ^= 1 << random() % 5;
    return where + "element " + std::to_string(e) + " elsewhere";
  }
  case 5: {
    if (!memory) return "";
    const std::size_t a = axis();
    i.access.masked[a] = !i.access.masked[a];
    return where + "mask of axis " + std::to_string(a) + " " + (i.access.masked[a] ? "on" : "off");
  }
  case 6:
    if (!memory) return "";
    i.access.slot += 1;
    return where + "the next stage";
  case 7: {
    if (i.uses.empty()) return "";
    Reg& r = pick(random, i.uses);
    const int total = code.registers[static_cast<std::size_t>(r.id)].count;
    if (r.count == total) return "";
    r.first = (r.first + r.count) % total;
    return where + "another part of an operand";
  }
  case 8: {
    if (i.uses.empty()) return "";
    Reg& r = pick(random, i.uses);
    r.ahead += random() % 2 == 0 ? 1 : -1;
    return where + "an operand of another iteration";
  }
  case 9: {
    Inst& other = pick(random, list);
    if (other.kind != i.kind || &other == &i || i.def.id < 0) return "";
    std::swap(i.def, other.def);
    return where + "destination exchanged with another";
  }
  case 10: {
    Inst& other = pick(random, list);
    if (other.kind != i.kind || &other == &i || i.uses.size() != other.uses.size() || i.uses.empty())
      return "";
    const std::size_t u = random() % i.uses.size();
    std::swap(i.uses[u], other.uses[u]);
    return where + "an operand exchanged with another's";
  }
  case 11:
    if (i.kind != InstKind::fold_lanes && i.kind != InstKind::exchange_lanes &&
        (i.kind != InstKind::fold_values || i.lane_mask == 0))
      return "";
    i.lane_mask = 1 << random() % (i.kind == InstKind::fold_values ? 9 : 6);
    return where + "another lane";
  case 12:
    if (i.kind != InstKind::fold_lanes && i.kind != InstKind::fold_values) return "";
    i.monoid = i.monoid == Monoid::sum ? Monoid::max : Monoid::sum;
    return where + "another monoid";
  case 13:
    if (i.kind != InstKind::mma) return "";
    std::swap(i.uses[0], i.uses[1]);
    return where + "operands exchanged";
  case 14: {
    if (!memory || i.access.threads.modes().size() < 2) return "";
    // Two strides of the threads exchanged: a transposed access.
    TupleBuilder<Mode> b;
    std::vector<Mode> modes(i.access.threads.modes().begin(), i.access.threads.modes().end());
    std::swap(modes[0].stride, modes[1].stride);
    b.profile(i.access.threads.profile().view());
    for (const Mode& m : modes) b.leaves().push_back(m);
    i.access.threads = Layout(std::move(b).finish());
    return where + "threads transposed";
  }
  case 15: {
    if (i.kind != InstKind::fill) return "";
    i.value = i.value == 0 ? 1 : 0;
    return where + "another value";
  }
  case 16: {
    if (i.kind != InstKind::map) return "";
    const std::optional<Expr> other = another_map(i.map, random);
    if (!other) return "";
    i.map = *other;
    return where + "another map";
  }
  case 17: {
    if (!i.access.idle) return "";
    i.access.idle.reset();
    return where + "every work-item takes part";
  }
  case 18: {
    if (i.access.rows.empty() || i.uses.size() < 1) return "";
    Inst& other = pick(random, list);
    if (other.access.rows.empty() || other.uses.empty() || &other == &i) return "";
    std::swap(i.uses.back(), other.uses.back());
    return where + "another row of the table";
  }
  default:
    if (i.uses.size() < 2 || i.kind == InstKind::mma) return "";
    i.uses.pop_back();
    if (i.kind == InstKind::map) return "";
    return where + "an operand less";
  }
}

} // namespace inlay::mutate
