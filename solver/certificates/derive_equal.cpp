// A = B: both sides as polynomials over the digits of one of them, or each against the layout of the line "through".
#include "certificates/derivation.h"

#include <algorithm>

namespace inlay::solver::independent {

void Derivation::equal() {
  Function a = s.functions[0], b = s.functions[1];
  // "core of both": what both apply last may go, as f(x) = f(y) follows from x = y.
  auto same_step = [&](const Stage& x, const Stage& y) {
    if (!x.modes.empty() || !y.modes.empty() || !x.offset != !y.offset) return false;
    if (x.offset) return e.expression(x.offset, user) == e.expression(y.offset, user);
    return x.bits == y.bits && x.base == y.base && x.shift == y.shift;
  };
  while (!hints("core").empty() && !a.outer.empty() && !b.outer.empty() &&
         same_step(a.outer.front(), b.outer.front())) {
    a.outer.erase(a.outer.begin());
    b.outer.erase(b.outer.begin());
  }
  same(size(a), size(b), "the sizes");
  if (s.by_mode) {
    if (a.extents.size() != b.extents.size()) throw Stuck("different numbers of modes");
    for (std::size_t k = 0; k < a.extents.size(); ++k)
      same(e.expression(a.extents[k], user), e.expression(b.extents[k], user), "the extents");
  }
  std::vector<std::string> digits = hints("digits"), through = hints("through");
  if (through.empty()) {
    bool swapped = digits.at(0).rfind("second ", 0) == 0;
    const Function &x = swapped ? b : a, &y = swapped ? a : b;
    // x over its own digits, y over the index that these make up: one polynomial for both.
    Place p = place(x, digits[0].substr(digits[0].find(' ') + 1), "x");
    same(e.at(x, p.coordinates, user), e.at_index(y, p.index, user), "the two functions");
    return;
  }
  // A = C and C = B, the layout C in between written in inner symbols: two layouts of different shapes have no digits in common, but each
  // has those in which C is the same function.
  std::map<std::string, Sum> inner = user;
  for (const Variable& v : d.all) {
    std::string n = v.smt;
    n.erase(std::remove(n.begin(), n.end(), '|'), n.end());
    if (v.kind == Variable::Kind::symbol)
      inner[n.substr(2)] = Digits::variable(static_cast<int>(&v - d.all.data()));
  }
  std::vector<Mode> c;
  for (std::size_t begin = 0; begin <= through[0].size();) {
    std::size_t end = std::min(through[0].find(" | ", begin), through[0].size());
    std::string mode = through[0].substr(begin, end - begin);
    std::size_t colon = mode.find(" : ");
    if (colon == std::string::npos) throw Stuck("a mode without a stride");
    c.push_back({read_expression(mode.substr(0, colon)), read_expression(mode.substr(colon + 3))});
    begin = end + 3;
  }
  auto offset = hints("offset");
  if (digits.size() != 2) throw Stuck("digits of both functions");
  for (std::size_t k = 0; k < 2; ++k) {
    const Function& f = k == 0 ? a : b;
    Place p = place(f, digits[k].substr(digits[k].find(' ') + 1), k == 0 ? "x" : "y");
    // What a function is at 0 is no part of the layout between: an offset, or what a swizzle makes of it.
    Sum zero = e.at_index(f, {}, user), here = e.at(f, p.coordinates, user);
    if (k == 1) same(e.at_index(a, {}, user), zero, "the values at index 0");
    same(here, zero + e.flat(c, p.index, inner), "a function and the layout between");
  }
}

} // namespace inlay::solver::independent
