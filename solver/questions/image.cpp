// Statements about the image: injective, bijective, covers, disjoint.
//
// Injectivity is coNP-complete (two subsets of {a_k} with equal sums are a collision of
// (2,2,...):(a_1,a_2,...); Woeginger and Yu 1992), so there is no fast complete test. What settles real
// layouts is *domination*: sort the modes by stride; if each stride exceeds the greatest sum the modes before
// it can make, digits can be read off from the top and the layout is injective. Symbolically that is one
// inequality per mode, which is what a solver is asked instead of the definition. A bijection onto [0, size)
// is easy: it is exactly a stride chain (flat.h).
#include "questions/image.h"

#include "certificates/certificate_text.h"

#include "inlay/solver/error.h"

#include <algorithm>
#include <bit>

namespace inlay::solver {
namespace {

// A digit that counts down tells indices apart as well as one that counts up. Of unknown sign it may be 0 somewhere.
std::optional<Poly> magnitude(const Engine& e, const Poly& p) {
  if (e.context.nonnegative(p)) return p;
  if (e.context.nonnegative(Poly() - p)) return Poly() - p;
  return std::nullopt;
}

// Gauss-Jordan, one column a turn. Rows of full rank are a system with at most one solution: the parities determine their bits.
unsigned rank_over_gf2(std::vector<std::uint64_t> rows) {
  unsigned rank = 0;
  for (int bit = 0; bit < 64; ++bit) {
    auto pivot =
        std::find_if(rows.begin() + rank, rows.end(), [&](std::uint64_t r) { return (r >> bit) & 1; });
    if (pivot == rows.end()) continue;
    std::swap(*pivot, rows[rank]);
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (k != rank && ((rows[k] >> bit) & 1)) rows[k] ^= rows[rank];
    ++rank;
  }
  return rank;
}

} // namespace

// Outer swizzles and offsets are injective: A is injective iff what they are applied to is.
Parts without_outer_bijections(const Parts& f) {
  Parts core = f;
  while (!core.outer.empty() && core.outer.front().kind != Step::Kind::layout)
    core.outer.erase(core.outer.begin());
  return core;
}

// x ^ (field of x, moved) changes the bits that it moves onto and none above them, so that each aligned block of 2^(their end) keeps its
// elements, below 0 as well; with |shift| >= bits it is its own inverse. Where such blocks make up [0, n), for all symbols, it is a
// bijection of [0, n) and of the rest of the integers. Sw<3,4,3> keeps blocks of 128, though it reads bits up to 1024.
Parts without_block_swizzles(Engine& e, const Parts& f, const Poly& n) {
  Parts core = f;
  while (!core.outer.empty() && core.outer.front().kind == Step::Kind::swizzle) {
    const Step& s = core.outer.front();
    int end = s.bits == 0 ? 0 : s.bits + s.base + std::max(-s.shift, 0);
    if (!exact_quotient(n, Poly(Wide{1} << end))) break;
    e.claims.note("a swizzle permutes the aligned blocks in which it stays, which make up " +
                  e.context.str(n));
    core.outer.erase(core.outer.begin());
  }
  return core;
}

// Domination over digits and parities. A set of parities whose masks have full rank over GF(2) determines its
// bits, and its values are told apart when each weight exceeds the sum of the smaller ones, just as with
// digits.
bool dominated(Engine& e, const Lowering& l, const Form& form) {
  struct Item {
    Poly stride, steps;
    std::uint64_t mask = 0;
  };
  std::vector<Item> left;
  std::uint64_t bits = 0;
  std::vector<std::uint64_t> masks;
  for (DigitId d : l.leaves()) {
    // Bits are counted by the rank of the parities below, and a digit of one value cannot tell two indices apart.
    if (l.bit_of(d) >= 0 || l.extent(d).is_one()) continue;
    auto c = form.linear.find(d);
    if (c == form.linear.end()) return false; // a digit that does not matter
    auto size = magnitude(e, c->second);
    if (!size) return false;
    left.push_back({*size, l.extent(d) - Poly(1)});
  }
  for (DigitId d : l.leaves())
    if (l.bit_of(d) >= 0) bits |= std::uint64_t{1} << l.bit_of(d);
  for (const auto& [m, w] : form.parity) {
    auto size = magnitude(e, w);
    if (!size) return false;
    // A parity moves by its weight once: one step, like a digit of extent 2.
    left.push_back({*size, Poly(1), m});
    masks.push_back(m);
  }
  if (rank_over_gf2(masks) != static_cast<unsigned>(std::popcount(bits))) return false;
  // Invariant: what was taken tells its digits apart, and two of its sums differ by at most `reach`. A stride beyond that tells the next
  // digit apart as well: s |p - q| > reach for p != q. A mode that fits now still fits after another one was taken only if its
  // stride is large enough, so the smallest comes first.
  Poly reach;
  while (!left.empty()) {
    auto fits = [&](const Item& i) { return e.context.positive(i.stride - reach); };
    auto smaller = [&](const Item& x, const Item& y) { return e.context.nonnegative(y.stride - x.stride); };
    auto next = left.end();
    for (auto it = left.begin(); it != left.end(); ++it)
      if (fits(*it) && (next == left.end() || smaller(*it, *next))) next = it;
    if (next == left.end()) { // the context cannot say; a solver may, with the residual conditions
      for (auto it = left.begin(); it != left.end() && next == left.end(); ++it)
        if (e.at_least(it->stride, reach + Poly(1), "domination")) next = it;
      if (next == left.end()) return false;
    } else {
      e.claims.at_least(next->stride, reach + Poly(1), "domination");
    }
    reach = reach + next->stride * next->steps;
    left.erase(next);
  }
  return true;
}

Check check_injective(const Engine& e, const Parts& a, const naive::Environment& env) {
  Finding f;
  f.kind = Finding::Kind::collision;
  f.environment = env;
  auto collide = [&](Wide i, Wide j) {
    f.index = i, f.second = j;
    return Check::fails(f);
  };
  Evaluator x(a, env);
  Wide limit = e.evaluations();
  if (x.size() > limit && !e.thorough) limit = std::min<Wide>(limit, 4096);
  // A chain is a proof at any size; no chain is nothing yet.
  if (a.is_plain_layout()) {
    ConcreteFlat modes = concrete_modes(a, env);
    Wide before = 1;
    std::vector<std::pair<Wide, Wide>> sorted; // (|stride|, extent)
    for (const auto& m : modes) {
      if (m.extent > 1 && m.stride == 0) return collide(0, before);
      if (m.extent > 1) sorted.emplace_back(m.stride < 0 ? -m.stride : m.stride, m.extent);
      before = multiply(before, m.extent);
    }
    std::sort(sorted.begin(), sorted.end());
    Wide reach = 0;
    bool chain = true;
    for (auto [d, s] : sorted) {
      chain &= d > reach;
      reach = add(reach, multiply(d, s - 1));
    }
    if (chain) return Check::holds();
  }
  // A collision among the first is one of all; none among them says nothing when there are more.
  if (auto c = find_collision(x, std::min(limit, x.size()))) return collide(c->first, c->second);
  return x.size() <= limit ? Check::holds() : Check::undecided();
}

// Two copies of the coordinates, different in one of them, with one value.
std::optional<Verdict> ask_injective(Engine& e, const Parts& a) {
  for (bool variables : {true, false}) {
    smt::Query q(e.context);
    q.quotient_variables = variables;
    auto extent = q.term(size_formula(a), {});
    if (!extent) return std::nullopt;
    std::map<std::string, std::string> first, second;
    std::vector<FormulaRef> names;
    auto extents = extent_formulas(a);
    std::string different;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      auto n = q.term(extents[k], {});
      if (!n) return std::nullopt;
      std::string x = "i" + std::to_string(k), y = "j" + std::to_string(k);
      q.coordinate(x, *n);
      q.coordinate(y, *n);
      names.push_back(variable("\x02" + std::to_string(k)));
      first[names.back()->name] = x;
      second[names.back()->name] = y;
      different += " (not (= " + x + " " + y + "))";
    }
    FormulaRef f = expand(a, names);
    auto x = q.term(f, first), y = q.term(f, second);
    if (!x || !y) {
      e.obligation("a form without bit operations on unbounded values, for a solver");
      return std::nullopt;
    }
    // Coordinates instead of indices: i and j differ exactly when a coordinate does, and the query has no products of extents for it.
    q.require("(or" + different + ")");
    q.goal("(= " + *x + " " + *y + ")");
    auto found = [&](const std::map<std::string, Wide>& model) -> std::optional<Finding> {
      Finding c;
      c.kind = Finding::Kind::collision;
      c.environment = e.environment(model);
      Wide before = 1;
      for (std::size_t k = 0; k < extents.size(); ++k) {
        c.index = add(c.index, multiply(before, model.at("i" + std::to_string(k))));
        c.second = add(c.second, multiply(before, model.at("j" + std::to_string(k))));
        before =
            multiply(before, evaluate(extents[k], [&](const std::string& n) { return c.environment.at(n); }));
      }
      return c;
    };
    if (auto v = e.ask(q, found)) return v;
  }
  return std::nullopt;
}

// "Sure" injectivity without a verdict: for bijective and covers.
bool surely_injective(Engine& e, const Parts& a) {
  Parts core = without_outer_bijections(a);
  auto own = e.lower_image(core);
  if (!own || !dominated(e, own->lowering, own->form)) return false;
  e.digits("first", own->lowering);
  return true;
}

// Every case of the symbols holds; the certificate says how each was cut.
bool by_pieces(Engine& e, const Pieces& pieces, const std::function<bool(const PieceCase&)>& holds) {
  if (pieces.cases.empty() || !std::all_of(pieces.cases.begin(), pieces.cases.end(), holds)) return false;
  std::size_t boxes = 0;
  for (const PieceCase& c : pieces.cases) {
    boxes += c.boxes.size();
    std::string when;
    for (const std::string& condition : c.conditions)
      when += (when.empty() ? "(" : " && (") + condition + ")";
    e.hints.push_back("case " + (when.empty() ? "1 == 1" : when));
    for (const std::string& q : c.quotients) e.hints.push_back("quotient " + q);
    for (const std::string& line : substitution(c.context)) e.hints.push_back(line);
    for (const std::string& cut : c.cuts) e.hints.push_back("cut " + cut);
  }
  e.claims.note("domain cut into " + std::to_string(boxes) + " boxes in " +
                std::to_string(pieces.cases.size()) + " cases of the symbols");
  return true;
}

Pieces pieces_of(Engine& e, const Parts& f) {
  std::set<std::string> symbols;
  for (const auto& [name, p] : e.context.substitution()) symbols.insert(name);
  std::vector<Coordinate> domain;
  std::vector<FormulaRef> names;
  for (const FormulaRef& extent : extent_formulas(f)) {
    domain.push_back({"\x02" + std::to_string(domain.size()), extent});
    names.push_back(variable(domain.back().name));
  }
  Pieces p = cut_into_pieces(symbols, e.facts(), domain, expand(f, names), e.options.cancel);
  e.obligation(p.reason);
  return p;
}

} // namespace inlay::solver
