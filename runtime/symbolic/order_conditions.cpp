// What a path has decided: conditions against constants leave ranges of words.
#include "symbolic/order_explorer.h"

namespace inlay::runtime::symbolic::exploring {
namespace {

/// The values of x for which a comparison of x + c with a constant holds; nothing when it is not of that form.
std::optional<std::pair<Term, Ranges>> constraint(Terms& t, Term condition, bool value) {
  const TermKind k = t.kind(condition);
  if (k != TermKind::less_signed && k != TermKind::less_unsigned && k != TermKind::equal) return std::nullopt;
  const Term a = t.children(condition)[0];
  const Term b = t.children(condition)[1];
  if (t.is_wide(a)) return std::nullopt;
  const auto ka = t.value(a);
  const auto kb = t.value(b);
  if (ka.has_value() == kb.has_value()) return std::nullopt;
  const Term variable = ka ? b : a;
  const auto constant = static_cast<u32>(ka ? *ka : *kb);
  u32 lo = 0; // of variable, as an arc that may wrap
  u32 hi = 0;
  constexpr u32 least = 0x80000000U;
  constexpr u32 most = 0x7fffffffU;
  bool empty = false;
  if (k == TermKind::equal) {
    lo = hi = constant;
  } else if (k == TermKind::less_unsigned) {
    empty = ka ? constant == 0xffffffffU : constant == 0;
    lo = ka ? constant + 1 : 0;
    hi = ka ? 0xffffffffU : constant - 1;
  } else {
    empty = ka ? constant == most : constant == least;
    lo = ka ? constant + 1 : least;
    hi = ka ? most : constant - 1;
  }
  if (!value) { // the rest of the circle
    if (empty) {
      empty = false;
      lo = 0;
      hi = 0xffffffffU;
    } else if (lo == hi + 1) {
      empty = true;
    } else {
      const u32 old = lo;
      lo = hi + 1;
      hi = old - 1;
    }
  }
  const auto [base, shift] = t.split(variable);
  Ranges r;
  if (!empty) {
    const auto c = static_cast<u32>(shift);
    lo -= c;
    hi -= c;
    if (lo <= hi) {
      r = {{lo, hi}};
    } else {
      r = {{0, hi}, {lo, 0xffffffffU}};
    }
  }
  return std::pair{base, r};
}

Ranges intersect(const Ranges& a, const Ranges& b) {
  Ranges out;
  for (const auto& x : a)
    for (const auto& y : b) {
      const u32 lo = std::max(x.first, y.first);
      const u32 hi = std::min(x.second, y.second);
      if (lo <= hi) out.emplace_back(lo, hi);
    }
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace

/// Whether the condition may have that value on this path; with `commit`, it has.
bool Explorer::narrow(State& state, Term condition, bool value, bool commit) {
  const auto c = constraint(t(), condition, value);
  if (!c) return true;
  const auto at = state.ranges.find(c->first);
  const Ranges all = {{0, static_cast<u32>(std::min<u64>(t().bound(c->first), 0xffffffffU))}};
  Ranges left = intersect(at == state.ranges.end() ? all : at->second, c->second);
  const bool possible = !left.empty();
  if (commit) state.ranges[c->first] = std::move(left);
  return possible;
}

std::optional<bool> Explorer::decide(State& state, Term condition) {
  Answers answers;
  const auto r = decide(state, condition, answers);
  spend(answers.size() / 16);
  return r;
}

/// Each part of the condition once: masks of one trip are made of those of the trips before, and share most of them.
std::optional<bool> Explorer::decide(State& state, Term condition, Answers& answers) {
  if (const auto v = t().value(condition); v && condition != Terms::unknown) return *v != 0;
  if (t().kind(condition) == TermKind::invert) {
    const auto r = decide(state, t().children(condition)[0], answers);
    return r ? std::optional<bool>(!*r) : std::nullopt;
  }
  if (const auto at = state.decided.find(condition); at != state.decided.end()) return at->second;
  const TermKind k = t().kind(condition);
  if (k == TermKind::all || k == TermKind::any) {
    if (const auto at = answers.find(condition); at != answers.end()) return at->second;
    bool open = false;
    const std::vector<Term> c(t().children(condition).begin(), t().children(condition).end());
    for (const Term child : c) {
      const auto r = decide(state, child, answers);
      if (!r) open = true;
      if (r && *r != (k == TermKind::all)) return answers[condition] = *r;
    }
    return answers[condition] = open ? std::nullopt : std::optional(k == TermKind::all);
  }
  if (!narrow(state, condition, true, false)) return false;
  if (!narrow(state, condition, false, false)) return true;
  return std::nullopt;
}

void Explorer::assume(State& state, Term condition, bool value) {
  while (t().kind(condition) == TermKind::invert) {
    condition = t().children(condition)[0];
    value = !value;
  }
  state.path.emplace_back(condition, value);
  state.decided[condition] = value;
  narrow(state, condition, value, true);
  const TermKind k = t().kind(condition);
  if ((k == TermKind::all && value) || (k == TermKind::any && !value)) {
    const std::vector<Term> c(t().children(condition).begin(), t().children(condition).end());
    for (const Term child : c) {
      Term x = child;
      bool v = value;
      if (t().kind(x) == TermKind::invert) {
        x = t().children(x)[0];
        v = !v;
      }
      state.decided[x] = v;
      narrow(state, x, v, true);
    }
  }
}

} // namespace inlay::runtime::symbolic::exploring
