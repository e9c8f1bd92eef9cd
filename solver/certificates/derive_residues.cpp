// By residues: the lines "residues coordinate 0 4", "residues index 4" and "residues symbol M' 2" say what is written as P k + r. Every
// integer is, for one r in [0, P); so the claim is shown once for each choice of the r's, over k's of which only bounds are known. The claim's
// own text is evaluated over polynomials in the k's, and what is divided by a number leaves a number.
#include "certificates/derivation.h"
#include "certificates/derive_raw.h"

#include <algorithm>

namespace inlay::solver::independent {
namespace {

constexpr Number most_cases = 4096;

// s with its variables replaced; those that `by` does not name stay.
Sum replaced(const Sum& s, const std::map<int, Sum>& by) {
  Sum out;
  for (const auto& [product, c] : s.terms) {
    Sum t = constant(c);
    for (int v : product) {
      auto it = by.find(v);
      // All at once: a variable in what is put in is a new one and not to be replaced again.
      t = t * (it == by.end() ? Digits::variable(v) : it->second);
    }
    out = out + t;
  }
  return out;
}

} // namespace

void Derivation::by_residues() {
  if (s.property != "equal" && s.property != "aligned" && s.property != "within")
    throw Stuck("residues for " + s.property);
  symbols();
  const Function& a = s.functions[0];
  bool same_extents = true;
  if (s.property == "equal") {
    const Function& b = s.functions[1];
    same(size(a), size(b), "the sizes");
    // Coordinates that mean the same in both; else both are taken as functions of the index.
    same_extents = a.extents.size() == b.extents.size();
    for (std::size_t k = 0; same_extents && k < a.extents.size(); ++k)
      same_extents = e.expression(a.extents[k], user) == e.expression(b.extents[k], user);
    // The sizes alone are what the split below assumes, by-mode equality claims more.
    if (s.by_mode && !same_extents) throw Stuck("different extents");
  }
  // By the facts, which what follows does without.
  if (std::string q = positive_extents(s); !q.empty()) queries.push_back(q);
  if (!identities.empty() || !d.inequalities.empty()) finish();
  // What follows is shown for all values within the bounds, with no need of the facts.
  d.inequalities.clear();
  identities.clear();
  facts.clear();

  struct Split {
    Number period;
    std::vector<Sum> quotients; // one for each residue, with bounds of its own
    std::vector<bool> empty;    // no value has this residue
    int symbol = -1;            // an inner symbol, or
    std::size_t nth = 0;        // a coordinate
    Number residue = 0;
    [[nodiscard]] Sum value() const {
      return constant(period) * quotients[static_cast<std::size_t>(residue)] + constant(residue);
    }
  };
  const std::map<std::string, Sum> whole = user;
  std::vector<Split> splits;
  auto fresh = [&](Number lower, std::optional<Number> upper) {
    Variable k{Variable::Kind::symbol, "k_" + std::to_string(d.all.size()), lower, upper, {}, 0, false};
    return Digits::variable(d.add(std::move(k)));
  };
  std::vector<Sum> coordinates;
  // The index of both where they have different coordinates: each takes it apart in its own way.
  for (std::size_t k = 0; k < (same_extents ? a.extents.size() : 1); ++k) coordinates.push_back(fresh(0, {}));
  auto small = [](const std::string& word) {
    Expr n = read_expression(word);
    // Read by the same reader as everything else; a sign or a formula is no period.
    if (n->op != "int" || n->value > most_cases) throw Stuck("no small number: " + word);
    return n->value;
  };
  Number cases = 1;
  for (const std::string& line : hints("residues")) {
    std::size_t first = line.find(' '), last = line.rfind(' ');
    if (first == std::string::npos) throw Stuck("residues of nothing");
    std::string what = line.substr(0, first);
    Split split{small(line.substr(last + 1)), {}, {}};
    if (split.period < 1 || (cases = times(cases, split.period)) > most_cases)
      throw Stuck("too many residues");
    Number lower = 0; // of what is split
    std::optional<Number> upper;
    if (what == "coordinate" && same_extents && last > first) {
      split.nth = static_cast<std::size_t>(small(line.substr(first + 1, last - first - 1)));
      if (split.nth >= coordinates.size()) throw Stuck("residues of no coordinate");
    } else if (what == "symbol" && last > first) {
      std::string name = quoted("v_", line.substr(first + 1, last - first - 1));
      auto is = std::find_if(d.all.begin(), d.all.end(), [&](const Variable& v) { return v.smt == name; });
      if (is == d.all.end()) throw Stuck("residues of no symbol");
      split.symbol = static_cast<int>(is - d.all.begin());
      lower = is->lower, upper = is->upper;
    } else if (what != "index" || same_extents) {
      throw Stuck("residues of nothing: " + line);
    }
    for (Number r = 0; r < split.period; ++r) {
      // lower <= P k + r <= upper
      // The least k with P k + r >= lower is (lower - r) / P rounded up, which is minus (r - lower) / P
      // rounded down.
      Number least = -quotient(plus(r, -lower), split.period);
      std::optional<Number> most;
      if (upper) most = quotient(plus(*upper, -r), split.period);
      // A variable without a value would make the whole query unsatisfiable.
      split.empty.push_back(most && *most < least);
      split.quotients.push_back(split.empty.back() ? Sum{} : fresh(least, most));
    }
    // The later one would win and the earlier only multiply the cases: a line that says nothing is refused.
    for (const Split& other : splits)
      if (other.symbol == split.symbol && other.nth == split.nth) throw Stuck("residues twice");
    splits.push_back(std::move(split));
  }
  for (Number c = 0; c < cases; ++c) {
    Number rest = c;
    std::map<int, Sum> inner;
    std::vector<Sum> at = coordinates;
    bool empty = false;
    for (Split& x : splits) {
      x.residue = rest % x.period;
      rest /= x.period;
      empty = empty || x.empty[static_cast<std::size_t>(x.residue)];
      if (x.symbol >= 0)
        inner[x.symbol] = x.value();
      else
        at[x.nth] = x.value();
    }
    // No value of the symbol has this residue, so that there is nothing to show.
    if (empty) continue;
    for (const auto& [name, value] : whole) user[name] = replaced(value, inner);
    auto value = [&](const Function& f) {
      return same_extents ? e.at(f, at, user) : e.at_index(f, at[0], user);
    };
    Sum v = value(a);
    if (s.property == "equal") {
      same(v, value(s.functions[1]), "the two functions");
    } else if (s.property == "within") {
      inside(v, e.expression(s.terms[0], user));
    } else {
      // In this case: an alignment such as 4 + n % 4 is a number once the residue of n is known.
      auto w = number_in(e.expression(s.terms[0], user));
      if (!w || *w < 1) throw Stuck("an alignment that is no number");
      auto [q, r] = split(v, constant(*w));
      if (!r.terms.empty()) throw Stuck("a value that the alignment does not divide");
      same(v, q * constant(*w), "the value and a multiple of the alignment");
    }
  }
  // finish() would assert bounds of the user's symbols as the last case left them; what was noted holds for
  // all within the inner bounds.
  user.clear();
  finish();
}

} // namespace inlay::solver::independent
