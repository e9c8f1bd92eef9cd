#include "layers/pieces.h"

#include "inlay/solver/error.h"

#include <algorithm>
#include <bit>

namespace inlay::solver {
namespace {

// Boxes are compared in pairs, each pair with a search of its own: 96 of them are 4,560 pairs, some tenths of
// a second.
constexpr int most_cells = 96, most_cases = 400, most_steps = 20000;
// Every step lowers the formula over all digits of a part, which takes the square of their number: 300 of them were minutes.
constexpr std::size_t most_digits = 64;

// A part of the domain: roots with extents, coordinates as sums over them.
struct Cell {
  std::vector<Poly> extents;
  std::map<std::string, Form> names;
  FormulaRef value;
};

// What has to be known about the symbols before a cell can be cut: one of these conditions holds.
struct Need {
  std::vector<std::string> cases;
  std::string quotient; // what a new name in them is
};

// As text, since a case is a condition like the user's and goes through the same parser and context.
std::string negated(const FormulaRef& c) {
  switch (c->op) {
  case Op::lt: return to_string(make(Op::ge, c->args));
  case Op::le: return to_string(make(Op::gt, c->args));
  case Op::gt: return to_string(make(Op::le, c->args));
  case Op::ge: return to_string(make(Op::lt, c->args));
  case Op::eq: return to_string(make(Op::ne, c->args));
  case Op::ne: return to_string(make(Op::eq, c->args));
  default: return to_string(make(Op::logical_not, {c}));
  }
}

Poly unit(const Monomial& m) {
  Poly p(1);
  for (const auto& [s, e] : m)
    for (unsigned k = 0; k < e; ++k) p = p * Poly::symbol(s);
  return p;
}

// Digits of one run as one: e:s and f:(e s) take the values of (e f):s, each once. Fewer digits for apart(), which tries them in pairs.
std::vector<FlatDigit> merged(std::vector<FlatDigit> modes) {
  std::erase_if(modes, [](const FlatDigit& m) { return m.extent.is_one(); });
  for (std::size_t i = 0; i < modes.size(); ++i)
    for (std::size_t j = 0; j < modes.size(); ++j) {
      if (i == j || !(modes[j].stride == modes[i].stride * modes[i].extent) || modes[i].stride.is_zero())
        continue;
      modes[i].extent = modes[i].extent * modes[j].extent;
      modes.erase(modes.begin() + static_cast<std::ptrdiff_t>(j));
      return merged(std::move(modes));
    }
  return modes;
}

class Cutter {
public:
  Cutter(Context& context, const std::atomic<bool>* cancel) : context_(context), cancel_(cancel) {}

  // Cuts until everything is a box; false when it cannot go on. `need` is set when cases of the symbols would help.
  bool run(Cell first) {
    std::vector<Cell> left{std::move(first)};
    int steps = 0;
    while (!left.empty()) {
      if (++steps > most_steps || static_cast<int>(left.size() + boxes.size()) > most_cells ||
          (cancel_ && *cancel_)) {
        reason = "a cut of the domain into at most " + std::to_string(most_cells) + " pieces";
        return false;
      }
      // A stack: the checker makes the same cuts in the same order (derive_pieces.cpp), with the part that is
      // next on top.
      Cell cell = std::move(left.back());
      left.pop_back();
      if (cell.extents.size() > most_digits) {
        reason = "a cut of the domain into parts of at most " + std::to_string(most_digits) + " digits";
        return false;
      }
      auto empty = std::find_if(cell.extents.begin(), cell.extents.end(),
                                [&](const Poly& e) { return context_.nonnegative(Poly() - e); });
      if (empty != cell.extents.end()) {
        cuts.push_back("empty " + std::to_string(empty - cell.extents.begin()));
      } else if (!step(cell, left)) {
        return false;
      }
    }
    return true;
  }

  std::vector<Box> boxes;
  std::vector<std::string> cuts;
  std::optional<Need> need;
  std::string reason;

private:
  void split_digits(const Cell& before, const std::vector<Poly>& extents) {
    if (extents == before.extents) return;
    std::string line = "digits";
    for (const Poly& e : extents) line += (line.size() == 6 ? " " : " | ") + context_.str(e);
    cuts.push_back(line);
  }

  // A cell is done when its formula is a sum of digits without choices: a box with strides.
  bool step(const Cell& cell, std::vector<Cell>& left) {
    Lowering l(context_, Lowering::Mode::exact);
    std::vector<DigitId> roots;
    for (const Poly& e : cell.extents) roots.push_back(l.root(e));
    auto f = l.lower(cell.value, cell.names);
    if (f) {
      auto flat = l.flat(*f);
      if (flat) {
        std::vector<Poly> extents;
        for (const FlatDigit& m : *flat) extents.push_back(m.extent);
        split_digits(cell, extents);
        cuts.push_back("box");
        boxes.push_back({l.normal(*f).constant, merged(*flat)});
        return true;
      }
      // A xor of two digits is no stride; apart() and dominated() know nothing else.
      reason = "sums of digits instead of parities";
      return false;
    }
    reason = l.reason();
    Cell next = adopted(l, cell);
    split_digits(cell, next.extents);
    return cut(next, left);
  }

  // The same cell over the digits that the lowering has split so far; its roots are numbered from 0. Splitting is exact here, so that
  // the new cell has the same indices; a bit becomes a digit of extent 2 again.
  Cell adopted(const Lowering& l, const Cell& cell) const {
    Cell out;
    out.value = cell.value;
    std::vector<DigitId> leaves = l.leaves();
    std::map<DigitId, DigitId> place;
    std::map<int, DigitId> bit;
    for (DigitId d : leaves) {
      auto k = static_cast<DigitId>(out.extents.size());
      out.extents.push_back(l.extent(d));
      place[d] = k;
      if (l.bit_of(d) >= 0) bit[l.bit_of(d)] = k;
    }
    for (const auto& [name, form] : cell.names) {
      Form n = l.normal(form);
      Form& mine = out.names[name];
      mine.constant = n.constant;
      for (const auto& [d, c] : n.linear) mine.linear[place.at(d)] = c;
      for (const auto& [m, c] : n.parity) mine.linear[bit.at(std::countr_zero(m))] = c;
    }
    return out;
  }

  // By what stops the lowering, and there alone: a cut that nothing asks for only makes boxes.
  bool cut(const Cell& cell, std::vector<Cell>& left) {
    Lowering l(context_, Lowering::Mode::exact);
    for (const Poly& e : cell.extents) l.root(e);
    FormulaRef at = blocker(l, cell.value, cell.names);
    if (!at) {
      reason = "a value for " + to_string(cell.value);
      return false;
    }
    switch (at->op) {
    case Op::min:
    case Op::max: return decide(l, cell, make(Op::le, {at->args[0], at->args[1]}), left);
    case Op::select: return decide(l, cell, at->args[0], left);
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne: return decide(l, cell, at, left);
    case Op::div:
    case Op::mod: return divide(l, cell, at, left);
    default: return false;
    }
  }

  // The innermost formula that does not lower though its arguments do.
  FormulaRef blocker(Lowering& l, const FormulaRef& f, const std::map<std::string, Form>& names) {
    // Lowering splits digits as it goes, also on the way to a failure: those splits are what adopted() keeps.
    if (l.lower(f, names)) return nullptr;
    if (f->op == Op::select) { // the side not taken is nobody's business
      auto c = l.lower(f->args[0], names);
      if (!c) return blocker(l, f->args[0], names);
      auto value = l.normal(*c).constant.constant(); // a condition is 0 or 1 once it is decided
      return value ? blocker(l, f->args[*value != 0 ? 1 : 2], names) : f;
    }
    for (const FormulaRef& a : f->args)
      if (FormulaRef b = blocker(l, a, names)) return b;
    return f;
  }

  // Root k in [0, t) and in [t, extent), the second one counted from t. A partition only where 0 <= t <= extent for all symbols;
  // one of the parts may then be empty for some.
  bool cut_root(const Cell& cell, DigitId k, const Poly& t, std::vector<Cell>& left) {
    const Poly& extent = cell.extents[static_cast<std::size_t>(k)];
    // A cut that leaves everything on one side would come again for ever.
    if (t.is_zero() || t == extent) return false;
    if (!context_.nonnegative(t) || !context_.nonnegative(extent - t)) {
      reason = "0 <= " + context_.str(t) + " <= " + context_.str(extent);
      if (!need && !at_least_one_more(t)) at_least_one_more(extent - t);
      return false;
    }
    cuts.push_back("at " + std::to_string(k) + " " + context_.str(t));
    Cell low = cell, high = cell;
    low.extents[static_cast<std::size_t>(k)] = t;
    high.extents[static_cast<std::size_t>(k)] = extent - t;
    for (auto& [name, form] : high.names)
      if (auto c = form.linear.find(k); c != form.linear.end()) form.constant = form.constant + c->second * t;
    left.push_back(std::move(high));
    left.push_back(std::move(low));
    return true;
  }

  // p >= 0 holds once some symbol is not the least it can be: two cases, and every value is in one of them, as one is the other's
  // negation. In the second the symbol has one value, and p is simpler by it.
  bool at_least_one_more(const Poly& p) {
    for (Symbol s : p.symbols()) {
      if (context_.nonnegative(p) || !context_.nonnegative(p.substitute(s, Poly::symbol(s) + Poly(1))))
        continue;
      for (const auto& [name, value] : context_.substitution()) {
        // The case has to be said of a user's symbol, as a condition; so one that is this symbol but for a
        // factor and an offset.
        auto scale = factor(value, s);
        if (!scale) continue;
        std::string from =
            to_string(add(multiply(scale->first, add(context_.bounds()[s].lower, 1)), scale->second));
        need = Need{{name + " >= " + from, name + " < " + from}, {}};
        return true;
      }
    }
    return false;
  }

  // value = scale * s + offset with scale >= 1.
  static std::optional<std::pair<Wide, Wide>> factor(const Poly& value, Symbol s) {
    Wide scale = 0, offset = 0;
    for (const auto& [m, c] : value.terms()) {
      if (m.empty()) {
        offset = c;
      } else if (m == Monomial{{s, 1}}) {
        scale = c;
      } else {
        return std::nullopt;
      }
    }
    if (scale < 1) return std::nullopt;
    return std::pair{scale, offset};
  }

  // A root of few values, value by value.
  bool enumerate_root(const Cell& cell, const Form& among, std::vector<Cell>& left) {
    std::optional<std::pair<Wide, DigitId>> best;
    for (const auto& [k, c] : among.linear) {
      if (k >= static_cast<DigitId>(cell.extents.size())) return false;
      auto n = cell.extents[static_cast<std::size_t>(k)].constant();
      // A digit of more values than this makes more boxes than are compared in reasonable time.
      if (n && *n > 1 && *n <= 16 && (!best || *n < best->first)) best = {*n, k};
    }
    if (!best) return false;
    cuts.push_back("each " + std::to_string(best->second));
    for (Wide v = best->first; v-- > 0;) {
      Cell one = cell;
      one.extents[static_cast<std::size_t>(best->second)] = Poly(1);
      for (auto& [name, form] : one.names)
        if (auto c = form.linear.find(best->second); c != form.linear.end()) {
          form.constant = form.constant + c->second * Poly(v);
          form.linear.erase(c);
        }
      left.push_back(std::move(one));
    }
    return true;
  }

  // A condition without coordinates becomes a case, and so does its negation.
  // A comparison that holds in a part of the cell: cut where it changes, if that is at one value of one root.
  bool decide(Lowering& l, const Cell& cell, const FormulaRef& condition, std::vector<Cell>& left) {
    bool coordinates = false;
    for (const std::string& n : names_of(condition)) coordinates |= cell.names.count(n) != 0;
    if (!coordinates) {
      need = Need{{to_string(condition), negated(condition)}, {}};
      return false;
    }
    // && and || have been taken apart by the parser of conditions; what is left of them here has no
    // threshold.
    if (condition->op < Op::lt || condition->op > Op::ne) return false;
    auto a = l.lower(condition->args[0], cell.names), b = l.lower(condition->args[1], cell.names);
    if (!a || !b) return false;
    Form d = l.normal(*b + Lowering::scale(*a, Poly(-1))); // a <= b is d >= 0
    switch (condition->op) {
    case Op::lt: d.constant = d.constant - Poly(1); break;
    case Op::gt: d = Lowering::scale(d, Poly(-1)), d.constant = d.constant - Poly(1); break;
    case Op::ge: d = Lowering::scale(d, Poly(-1)); break;
    default: break; // of == and != first the <= ..., then the other side, when that is all that is left
    }
    if (threshold(l, cell, d, left)) return true;
    if (condition->op == Op::eq || condition->op == Op::ne) {
      d = Lowering::scale(d, Poly(-1));
      if (threshold(l, cell, d, left)) return true;
    }
    return enumerate_root(cell, d, left);
  }

  // d >= 0 cut at one root: d = T + c x + R with T = c Q + S, 0 <= S + R < c, c > 0: x >= -Q. For then d = c (x + Q) + (S + R) has the
  // sign of x + Q. A wrong threshold would be a useless cut, not a wrong one.
  bool threshold(const Lowering& l, const Cell& cell, Form d, std::vector<Cell>& left) {
    if (!d.parity.empty()) return false;
    for (const auto& [k, c] : d.linear) {
      if (l.bit_of(k) >= 0 || k >= static_cast<DigitId>(cell.extents.size())) return false;
      Form e = d;
      Poly step = c;
      // A falling digit is cut where the opposite begins to hold, which counts upwards.
      if (context_.nonnegative(Poly() - c)) { // d >= 0 fails where -d - 1 >= 0
        e = Lowering::scale(d, Poly(-1));
        e.constant = e.constant - Poly(1);
        step = Poly() - c;
      }
      if (!context_.positive(step)) continue;
      e.linear.erase(k);
      auto [q, s] = quotient_and_rest(e.constant, step);
      e.constant = s;
      auto span = l.range(e);
      if (!span || !context_.nonnegative(span->first) || !context_.positive(step - span->second)) continue;
      if (cut_root(cell, k, Poly() - q, left)) return true;
    }
    return false;
  }

  bool divide(Lowering& l, const Cell& cell, const FormulaRef& f, std::vector<Cell>& left) {
    auto x = l.lower(f->args[0], cell.names), by = l.lower(f->args[1], cell.names);
    if (!x || !by) return false;
    Form n = l.normal(*x), divisor = l.normal(*by);
    if (!divisor.linear.empty() || !divisor.parity.empty() || !n.parity.empty())
      return enumerate_root(cell, divisor, left);
    const Poly& d = divisor.constant;
    if (!context_.positive(d)) {
      reason = "the divisor " + context_.str(d) + " is positive";
      at_least_one_more(d - Poly(1));
      return false;
    }
    // A root whose extent is no multiple of the group that the divisor wants.
    Form rests;
    for (const auto& [k, c] : n.linear) {
      if (k >= static_cast<DigitId>(cell.extents.size())) return false;
      auto [exact, rest] = quotient_and_rest(c, d);
      if (rest.is_zero()) continue;
      rests.linear[k] = rest;
      auto group = exact_quotient(d, rest);
      const Poly& extent = cell.extents[static_cast<std::size_t>(k)];
      if (!group || !context_.positive(*group) || context_.nonnegative(*group - extent)) continue;
      if (exact_quotient(extent, *group)) continue;
      auto whole = context_.divided(extent, *group);
      auto [q, r] = whole ? *whole : quotient_and_rest(extent, *group);
      if (context_.nonnegative(r) && context_.nonnegative(*group - r)) {
        if (cut_root(cell, k, *group * q, left)) return true;
        continue;
      }
      // False with `need` set: not here, but in each of those cases.
      if (residues(r, *group) || named_quotient(r, *group)) return false;
    }
    auto whole = context_.divided(n.constant, d);
    Poly s = whole ? whole->second : quotient_and_rest(n.constant, d).second;
    if (!whole) {
      if (!residues(s, d)) named_quotient(s, d);
      return false;
    }
    // Every part is small; their sum is not. Cut where it reaches d: below, the sum is the remainder, above it is d more.
    Form sum = rests;
    sum.constant = s - d;
    if (threshold(l, cell, sum, left)) return true;
    return enumerate_root(cell, rests, left);
  }

  // p by d, both symbols of the user's but for a common factor: with p = d q + r and r < d as facts about two more symbols the
  // quotient is one. Every p >= 0 is so, and one case is all there are.
  bool named_quotient(const Poly& p, const Poly& d) {
    Monomial common = common_factor(p, d);
    auto by = exact_quotient(d, unit(common)), of = exact_quotient(p, unit(common));
    if (!by || !of || !context_.nonnegative(*of) || !context_.positive(*by)) return false;
    auto name_of = [&](const Poly& value) -> std::string {
      for (const auto& [name, is] : context_.substitution())
        if (is == value) return name;
      return {};
    };
    std::string n = name_of(*of), m = name_of(*by);
    if (n.empty() || m.empty() || n == m) return false;
    // Names that tell what they are, as they stand in the conditions of a certificate.
    std::string q = n + "_by_" + m, r = n + "_rest_" + m;
    for (const std::string& name : {q, r})
      if (context_.substitution().count(name) != 0) return false;
    need = Need{
        {n + " == " + m + "*" + q + " + " + r + " && " + q + " >= 0 && " + r + " >= 0 && " + m + " > " + r},
        q + " " + r + " = " + n + " / " + m};
    return true;
  }

  static Monomial common_factor(const Poly& p, const Poly& d) {
    Monomial common;
    bool first = true;
    for (const Poly* each : {&p, &d})
      for (const auto& [m, c] : each->terms()) {
        if (first) {
          common = m;
          first = false;
          continue;
        }
        Monomial shared;
        for (const auto& [s, e] : common)
          for (const auto& [t, g] : m)
            if (s == t) shared.emplace_back(s, std::min(e, g));
        common = shared;
      }
    return common;
  }

  // The remainder of p by d depends on a symbol that is a user's but for a factor: cases of it.
  bool residues(const Poly& p, const Poly& d) {
    // A common factor of both does not matter.
    Monomial common = common_factor(p, d);
    auto reduced = exact_quotient(d, unit(common)), of = exact_quotient(p, unit(common));
    auto modulus = reduced ? reduced->constant() : std::nullopt;
    // One case for each residue: 64 of them, each cut anew.
    if (!of || !modulus || *modulus < 2 || *modulus > 64) return false;
    for (Symbol s : of->symbols()) {
      bool matters = false;
      for (const auto& [m, c] : of->terms())
        for (const auto& [t, e] : m) matters |= t == s && c % *modulus != 0;
      if (!matters) continue;
      for (const auto& [name, value] : context_.substitution()) {
        auto linear = factor(value, s);
        if (!linear) continue;
        auto [scale, offset] = *linear;
        // name = scale s + offset runs through the residues of scale * modulus that s modulo `modulus` gives, and no others: the
        // cases are all there are.
        Need found;
        Wide of_name = multiply(scale, *modulus);
        for (Wide j = 0; j < *modulus; ++j)
          found.cases.push_back(name + " % " + to_string(of_name) +
                                " == " + to_string(floor_mod(add(scale * j, offset), of_name)));
        need = found;
        return true;
      }
    }
    return false;
  }

  Context& context_;
  const std::atomic<bool>* cancel_;
};

// Least and greatest value; signs must be known.
std::optional<std::pair<Poly, Poly>> range(const Context& context, const Box& b) {
  Poly low = b.constant, high = b.constant;
  for (const FlatDigit& m : b.modes) {
    Poly steps = m.extent - Poly(1);
    if (context.nonnegative(m.stride)) {
      high = high + m.stride * steps;
    } else if (context.nonnegative(Poly() - m.stride)) {
      low = low + m.stride * steps;
    } else {
      return std::nullopt;
    }
  }
  return std::pair{low, high};
}

// The same as image.cpp's, of a box: each stride exceeds what the smaller ones reach together, so that two strings of digits with one value
// agree from the top down. An extent that may be 0 makes `reach` too small only where the box is empty.
bool dominated(const Context& context, const Box& b) {
  std::vector<FlatDigit> left;
  for (const FlatDigit& m : b.modes) {
    if (m.extent.is_one()) continue;
    if (context.positive(m.stride)) {
      left.push_back(m);
    } else if (context.positive(Poly() - m.stride)) {
      left.push_back({m.extent, Poly() - m.stride});
    } else {
      return false;
    }
  }
  Poly reach;
  while (!left.empty()) {
    auto next = left.end();
    for (auto it = left.begin(); it != left.end(); ++it)
      // The least of those that fit, by the context alone: a box is one of many, and a solver for each would
      // be minutes.
      if (context.positive(it->stride - reach) &&
          (next == left.end() || context.nonnegative(next->stride - it->stride)))
        next = it;
    if (next == left.end()) return false;
    reach = reach + next->stride * (next->extent - Poly(1));
    left.erase(next);
  }
  return true;
}

// Strides that are equal have to be equal as polynomials; it ends because a mode goes in every turn.
bool apart(const Context& context, const Box& a, const Box& b) {
  auto ra = range(context, a), rb = range(context, b);
  if (!ra || !rb) return false;
  if (context.positive(rb->first - ra->second) || context.positive(ra->first - rb->second)) return true;
  for (std::size_t i = 0; i < a.modes.size(); ++i)
    for (std::size_t j = 0; j < b.modes.size(); ++j) {
      const Poly& stride = a.modes[i].stride;
      if (!(stride == b.modes[j].stride) || stride.is_zero() || !context.positive(stride)) continue;
      Box x = a, y = b;
      x.modes.erase(x.modes.begin() + static_cast<std::ptrdiff_t>(i));
      y.modes.erase(y.modes.begin() + static_cast<std::ptrdiff_t>(j));
      auto rx = range(context, x), ry = range(context, y);
      if (!rx || !ry) continue;
      // stride (p - q) = y - x, and |y - x| < stride: p = q.
      if (context.positive(stride - (rx->second - ry->first)) &&
          context.positive(stride - (ry->second - rx->first)) && apart(context, x, y))
        return true;
    }
  // The same with a constant that holds a multiple of the other's stride: 3 s + x against s q + y.
  for (bool swapped : {false, true}) {
    const Box &x = swapped ? b : a, &y = swapped ? a : b;
    for (std::size_t j = 0; j < y.modes.size(); ++j) {
      const Poly& stride = y.modes[j].stride;
      if (!context.positive(stride)) continue;
      Box rest = y;
      rest.modes.erase(rest.modes.begin() + static_cast<std::ptrdiff_t>(j));
      auto rx = range(context, x), ry = range(context, rest);
      if (!rx || !ry) continue;
      // x - rest lies strictly between two multiples of the stride.
      Poly low = rx->first - ry->second, high = rx->second - ry->first;
      std::vector<Poly> multiples{Poly()};
      for (const Poly* p : {&low, &high}) multiples.push_back(quotient_and_rest(*p, stride).first);
      // Which multiple lies just below is a guess of the formal quotient, right but for one; 0 is the one
      // that overlapping blocks need.
      for (const Poly& t : multiples)
        for (int off : {-1, 0, 1}) {
          Poly base = stride * (t + Poly(off));
          if (context.positive(low - base) && context.positive(base + stride - high)) return true;
        }
    }
  }
  return false;
}

struct Search {
  const std::set<std::string>& symbols;
  const std::vector<Coordinate>& domain;
  const FormulaRef& value;
  const std::atomic<bool>* cancel;
  Pieces out;

  bool run(const std::vector<std::string>& facts, const std::vector<std::string>& conditions,
           const std::vector<std::string>& quotients, int depth) {
    if (static_cast<int>(out.cases.size()) >= most_cases) {
      out.reason = "at most " + std::to_string(most_cases) + " cases of the symbols";
      return false;
    }
    std::vector<std::string> all = facts;
    all.insert(all.end(), conditions.begin(), conditions.end());
    std::optional<Context> context;
    try {
      context.emplace(symbols, all);
    } catch (const Contradiction&) {
      if (conditions.empty()) throw;
      return true;                              // no value of the symbols is in this case
    } catch (const QuestionError& unreadable) { // a number beyond 2^63, say
      if (conditions.empty()) throw;
      // Not an empty case but one that cannot be asked: to drop it would be to prove a part.
      out.reason = std::string("a case of the symbols that can be said: ") + unreadable.what();
      return false;
    }
    Cell cell;
    cell.value = value;
    for (const Coordinate& c : domain) {
      auto e = context->poly(c.extent);
      if (!e) {
        out.reason = "a polynomial extent instead of " + to_string(c.extent);
        return false;
      }
      auto k = static_cast<DigitId>(cell.extents.size());
      cell.extents.push_back(*e);
      cell.names[c.name].linear[k] = Poly(1);
    }
    // Of a case that has to be divided nothing is kept: its parts are cut anew, with what their conditions say.
    Cutter cutter(*context, cancel);
    if (cutter.run(cell)) {
      out.cases.push_back(
          {conditions, std::move(*context), std::move(cutter.boxes), std::move(cutter.cuts), quotients});
      return true;
    }
    // Ten cases within cases: each names a residue or a quotient of some symbol, and formulas have few of
    // these.
    if (!cutter.need || depth == 0) {
      out.reason = cutter.reason;
      return false;
    }
    for (const std::string& c : cutter.need->cases) {
      std::vector<std::string> more = conditions;
      more.push_back(c);
      std::vector<std::string> named = quotients;
      if (!cutter.need->quotient.empty()) named.push_back(cutter.need->quotient);
      if (!run(facts, more, named, depth - 1)) return false;
    }
    return true;
  }
};

} // namespace

Pieces cut_into_pieces(const std::set<std::string>& symbols, const std::vector<std::string>& facts,
                       const std::vector<Coordinate>& domain, const FormulaRef& value,
                       const std::atomic<bool>* cancel) {
  Search search{symbols, domain, value, cancel, {}};
  // All cases or none: what is proved of some of them is no proof.
  if (!search.run(facts, {}, {}, 10)) search.out.cases.clear();
  return std::move(search.out);
}

bool injective(const PieceCase& c) {
  for (std::size_t i = 0; i < c.boxes.size(); ++i) {
    if (!dominated(c.context, c.boxes[i])) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (!apart(c.context, c.boxes[i], c.boxes[j])) return false;
  }
  return true;
}

bool within(const PieceCase& c, const Poly& bound) {
  return std::all_of(c.boxes.begin(), c.boxes.end(), [&](const Box& b) {
    auto r = range(c.context, b);
    return r && c.context.nonnegative(r->first) && c.context.positive(bound - r->second);
  });
}

} // namespace inlay::solver
