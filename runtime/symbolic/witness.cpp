// Numbers under which a path is taken: local search over the symbols of its conditions, each try evaluated.
#include <inlay/runtime/symbolic/witness.h>

#include <algorithm>
#include <random>
#include <set>

namespace inlay::runtime::symbolic {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

void collect(const Terms& t, Term root, std::set<Term>& symbols, std::set<u32>& constants, bool& fixed) {
  std::vector<Term> stack = {root};
  std::set<Term> seen;
  while (!stack.empty()) {
    const Term x = stack.back();
    stack.pop_back();
    if (!seen.insert(x).second) continue;
    if (t.kind(x) == TermKind::symbol || t.kind(x) == TermKind::load) {
      symbols.insert(x); // what memory holds is as free as an argument
      continue;
    }
    if (t.kind(x) == TermKind::function || t.kind(x) == TermKind::unknown) fixed = true;
    if (t.kind(x) == TermKind::linear) constants.insert(static_cast<u32>(t.raw(x)));
    for (const TermPart& p : t.parts(x)) {
      constants.insert(static_cast<u32>(p.coefficient));
      stack.push_back(p.atom);
    }
    for (const Term c : t.children(x)) stack.push_back(c);
  }
}

} // namespace

std::optional<Terms::Assignment>
find_witness(const Terms& t, std::span<const std::pair<Term, bool>> conditions, unsigned tries) {
  struct Condition {
    Term term;
    bool value;
    std::vector<Term> symbols;
  };
  std::vector<Condition> all;
  std::map<Term, std::set<u32>> candidates;
  for (const auto& [term, value] : conditions) {
    std::set<Term> symbols;
    std::set<u32> constants;
    bool fixed = false;
    collect(t, term, symbols, constants, fixed);
    if (fixed) return std::nullopt; // what an instruction makes of numbers is not searched
    all.push_back({term, value, {symbols.begin(), symbols.end()}});
    for (const Term s : symbols) {
      auto& c = candidates[s];
      for (const u32 k : constants)
        for (const u32 n : {1U, 2U, 3U, 4U, 8U, 12U, 16U})
          for (const u32 d : {0xffffffffU, 0U, 1U}) {
            c.insert(k * n + d);
            c.insert(0U - k * n + d);
          }
      for (unsigned b = 0; b < 32; ++b)
        for (const u32 d : {0xffffffffU, 0U, 1U}) c.insert((u32{1} << b) + d);
      for (u32 k = 0; k < 40; ++k) c.insert(k);
    }
  }
  Terms::Assignment now;
  for (const auto& [s, c] : candidates) now[s] = std::min<u64>(t.bound(s), 1024);
  const auto holds = [&](const Condition& c, const Terms::Assignment& a) {
    const auto v = t.evaluate(c.term, a);
    return v && (*v != 0) == c.value;
  };
  std::mt19937_64 random(1);
  for (unsigned step = 0; step < tries; ++step) {
    std::vector<const Condition*> wrong;
    for (const Condition& c : all)
      if (!holds(c, now)) wrong.push_back(&c);
    if (wrong.empty()) return now;
    const Condition& c = *wrong[random() % wrong.size()];
    if (c.symbols.empty()) return std::nullopt;
    const Term s = c.symbols[random() % c.symbols.size()];
    std::vector<const Condition*> touched;
    for (const Condition& o : all)
      if (std::binary_search(o.symbols.begin(), o.symbols.end(), s)) touched.push_back(&o);
    std::vector<u32> best;
    std::size_t most = 0;
    const u64 old = now[s];
    for (const u32 v : candidates[s]) {
      if (v > t.bound(s)) continue;
      now[s] = v;
      if (!holds(c, now) && random() % 8 != 0) continue;
      const auto score = static_cast<std::size_t>(
          std::count_if(touched.begin(), touched.end(), [&](const Condition* o) { return holds(*o, now); }));
      if (score > most) best.clear();
      if (score >= most) {
        most = score;
        best.push_back(v);
      }
    }
    now[s] = best.empty() ? old : best[random() % best.size()];
  }
  return std::nullopt;
}

} // namespace inlay::runtime::symbolic
