// By pieces: the certificate cuts the domain into boxes on each of which the function is a sum of digits. The cuts are made again
// here, each with the inequality that makes it one, and what is claimed is shown of the boxes:
//
//     case COND                 the symbols' cases. One query says that one of them holds wherever the facts do; in each the
//                               symbols are others, "symbol" and "let" as at the top of a certificate
//     quotient q r = n / m      new names in the conditions: each n and m >= 1 has exactly one such q and r
//     cut digits 8 | M          the digits of the part that is next become others with the same products
//     cut at k t                its digit k below t, and from t on: 0 <= t <= extent
//     cut each k                its digit k value by value
//     cut empty k               it has no digit k: extent <= 0
//     cut box                   it is done
//
// The parts of a part cover it, so that no index is lost; and no index is in two boxes, as those share no value.
#include "certificates/derivation.h"

#include <algorithm>
#include <charconv>

namespace inlay::solver::independent {
namespace {

// A coordinate: a constant and a weight for each digit of the part.
struct Line {
  Sum constant;
  std::vector<Sum> weights;
};
struct Part {
  std::vector<Sum> extents;
  std::vector<Line> coordinates;
};
struct Box {
  Sum value;
};

// Boxes are compared in pairs, each with inequalities of its own; beyond this a solver has more to read than it will answer.
constexpr std::size_t most_boxes = 256, most_inequalities = 20000;

std::pair<std::string, std::string> first_word(const std::string& text) {
  std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return {text, {}};
  return {text.substr(0, blank), text.substr(blank + 1)};
}

class Cuts {
public:
  Cuts(Derivation& derivation, const Function& f) : d_(derivation), f_(f) {
    for (const Variable& v : d_.d.all) { // the inner symbols, which a cut may name
      std::string n = v.smt;
      n.erase(std::remove(n.begin(), n.end(), '|'), n.end());
      inner_[n.substr(2)] = Digits::variable(static_cast<int>(&v - d_.d.all.data()));
    }
  }

  std::vector<Box> boxes;
  /// No two of them share a value.
  void injective() {
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (!never_zero(boxes[i].value - boxes[j].value, 8)) throw Stuck("two boxes that may share a value");
  }

  void run(const std::vector<std::string>& cuts) {
    Part all;
    for (std::size_t k = 0; k < f_.extents.size(); ++k) {
      all.extents.push_back(d_.e.expression(f_.extents[k], d_.user));
      Line line;
      line.weights.resize(f_.extents.size());
      // At first each coordinate is one digit of its own; every cut rewrites the weights.
      line.weights[k] = constant(1);
      all.coordinates.push_back(std::move(line));
    }
    left_.push_back(std::move(all));
    for (const std::string& cut : cuts) {
      if (left_.empty() || left_.size() + boxes.size() > most_boxes) throw Stuck("a cut of nothing");
      auto [what, how] = first_word(cut);
      if (what == "digits") {
        digits(how);
        continue;
      }
      Part part = std::move(left_.back());
      left_.pop_back();
      if (what == "box") {
        box(part);
        continue;
      }
      auto [which, rest] = first_word(how);
      std::size_t k = 0;
      auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), k);
      if (error != std::errc() || end != which.data() + which.size() || k >= part.extents.size())
        throw Stuck("a cut of no digit");
      if (what == "empty") {
        d_.d.nonnegative(constant(-1) * part.extents[k]);
      } else if (what == "at") {
        at(part, k, d_.e.expression(read_expression(rest), inner_));
      } else if (what == "each") {
        each(part, k);
      } else {
        throw Stuck("no cut: " + cut);
      }
    }
    if (!left_.empty()) throw Stuck("a part that is not cut to its end");
  }

private:
  // x in [0, a b c) is x0 + a x1 + a b x2, when a and b are at least 1; there is no x where a b c is 0 or less.
  void digits(const std::string& sizes) {
    Part& old = left_.back();
    Part now;
    now.coordinates.resize(old.coordinates.size());
    for (std::size_t c = 0; c < old.coordinates.size(); ++c)
      now.coordinates[c].constant = old.coordinates[c].constant;
    std::size_t begin = 0;
    auto next = [&] {
      if (begin > sizes.size()) throw Stuck("digits that do not make up a part");
      std::size_t end = std::min(sizes.find(" | ", begin), sizes.size());
      Sum size = d_.e.expression(read_expression(sizes.substr(begin, end - begin)), inner_);
      begin = end + 3;
      return size;
    };
    for (std::size_t k = 0; k < old.extents.size(); ++k) {
      Sum have = constant(1);
      bool first = true;
      do {
        // Of all but the topmost: a digit of no value in the middle would empty what is not empty.
        if (!first) d_.d.nonnegative(now.extents.back() - constant(1));
        first = false;
        now.extents.push_back(next());
        for (std::size_t c = 0; c < old.coordinates.size(); ++c)
          now.coordinates[c].weights.push_back(old.coordinates[c].weights[k] * have);
        have = have * now.extents.back();
      } while (!(have == old.extents[k]));
    }
    while (begin <= sizes.size()) { // of one value
      now.extents.push_back(next());
      if (!(now.extents.back() == constant(1))) throw Stuck("digits that do not make up a part");
      for (Line& line : now.coordinates) line.weights.emplace_back();
    }
    old = std::move(now);
  }

  // Without 0 <= t <= extent the two would overlap or reach beyond the part.
  void at(const Part& part, std::size_t k, const Sum& t) {
    d_.d.nonnegative(t);
    d_.d.nonnegative(part.extents[k] - t);
    Part low = part, high = part;
    low.extents[k] = t;
    high.extents[k] = part.extents[k] - t;
    for (Line& c : high.coordinates) c.constant = c.constant + c.weights[k] * t;
    left_.push_back(std::move(high));
    left_.push_back(std::move(low));
  }

  void each(const Part& part, std::size_t k) {
    auto n = number_in(part.extents[k]);
    if (!n || *n < 1 || *n > 64) throw Stuck("a digit of many values, one by one");
    for (Number v = *n; v-- > 0;) {
      Part one = part;
      one.extents[k] = constant(1);
      for (Line& c : one.coordinates) {
        c.constant = c.constant + c.weights[k] * constant(v);
        c.weights[k] = {};
      }
      left_.push_back(std::move(one));
    }
  }

  // Digits of its own, which may have no value at all: bounds of theirs go into those goals alone that name them (finish()).
  void box(const Part& part) {
    std::size_t from = d_.d.all.size();
    std::vector<Sum> x;
    for (const Sum& extent : part.extents) {
      if (number_in(extent) == Number{1}) {
        x.emplace_back();
        continue;
      }
      Variable v{Variable::Kind::digit, "b" + std::to_string(d_.d.all.size()), 0, {}, extent, 0, false};
      v.boxed = true;
      x.push_back(Digits::variable(d_.d.add(std::move(v))));
    }
    std::vector<Sum> coordinates;
    for (const Line& line : part.coordinates) {
      Sum c = line.constant;
      for (std::size_t k = 0; k < x.size(); ++k) c = c + line.weights[k] * x[k];
      coordinates.push_back(std::move(c));
    }
    // Evaluated anew from the claim's text; what the prover thought the box to be is not even in the certificate.
    Sum value = d_.e.at(f_, coordinates, d_.user);
    if (d_.s.property != "within") d_.dominated(value, from);
    if (d_.s.property != "injective")
      d_.inside(value, d_.s.property == "within" ? d_.e.expression(d_.s.terms[0], d_.user) : d_.size(f_));
    boxes.push_back({std::move(value)});
    // Each is a goal of one query.
    if (d_.d.inequalities.size() > most_inequalities) throw Stuck("too many inequalities");
  }

  // f = s U + R with |R| < s vanishes only where U and R do. So f never does where f > 0, f < 0, or one of U and R never does.
  bool never_zero(const Sum& f, int depth) {
    for (const Sum& g : {f, constant(-1) * f})
      if (auto low = d_.d.least(g - constant(1)); low && d_.d.surely(*low)) {
        d_.d.nonnegative(g - constant(1));
        return true;
      }
    // Each level takes a stride out of f: eight are more digits than boxes have after merging.
    if (depth == 0) return false;
    std::map<int, Sum> weights;
    Sum rest;
    for (const auto& [product, n] : f.terms) {
      auto digit = std::find_if(product.begin(), product.end(),
                                [&](int v) { return d_.d.all[static_cast<std::size_t>(v)].boxed; });
      Sum t;
      if (digit == product.end()) {
        t.terms[product] = n;
        rest = rest + t;
      } else {
        t.terms[*over(product, {*digit})] = n;
        weights[*digit] = weights[*digit] + t;
      }
    }
    std::vector<Sum> tried;
    for (const auto& [digit, weight] : weights) {
      Sum s = d_.d.surely(weight - constant(1)) ? weight : constant(-1) * weight;
      if (!d_.d.surely(s - constant(1)) || std::find(tried.begin(), tried.end(), s) != tried.end()) continue;
      // Every term with a coefficient that s divides goes to U; the rest is R, and R = f - s U whatever U is.
      tried.push_back(s);
      auto [whole, part] = split(rest, s);
      for (int off : {0, 1, -1}) {
        Sum u = whole + constant(off), r = part - constant(off) * s;
        for (const auto& [x, w] : weights) {
          auto [times, remains] = split(w, s);
          if (remains.terms.empty()) {
            u = u + times * Digits::variable(x);
          } else {
            r = r + w * Digits::variable(x);
          }
        }
        Sum above = s - constant(1) - r, below = s - constant(1) + r;
        auto high = d_.d.least(above), low = d_.d.least(below);
        // Only what is certain is gone into: an inequality that is noted has to be shown, though another
        // stride might have done.
        if (!high || !low || !d_.d.surely(*high) || !d_.d.surely(*low)) continue;
        if (!never_zero(r, depth - 1) && !never_zero(u, depth - 1)) continue;
        d_.d.nonnegative(above);
        d_.d.nonnegative(below);
        return true;
      }
    }
    return false;
  }

  Derivation& d_;
  const Function& f_;
  std::map<std::string, Sum> inner_;
  std::vector<Part> left_;
};

// What the certificate says of one case.
struct Case {
  Statement statement; // with its condition among the facts, and its own symbols
  Expr condition;
  std::vector<std::pair<std::string, Expr>> named; // quotients and rests
  std::vector<std::string> cuts;
};

std::vector<Case> cases_of(const Statement& s) {
  std::vector<Case> out;
  std::vector<std::string> taken = symbols_of(s);
  for (const auto& [key, value] : s.hints) {
    if (key == "case") {
      out.push_back({s, read_expression(value), {}, {}});
      out.back().statement.facts.push_back(out.back().condition);
      // A case has its own symbols and lets; those at the top of the file are of the whole question.
      out.back().statement.hints.clear();
    } else if (out.empty()) {
      continue;
    } else if (key == "quotient") {
      auto [q, rest] = first_word(value);
      auto [r, definition] = first_word(rest);
      Expr e = definition.rfind("= ", 0) == 0 ? read_expression(definition.substr(2)) : nullptr;
      if (!e || e->op != "/") throw Stuck("no quotient: " + value);
      auto fresh = [&](const std::string& name) {
        Expr n = read_expression(name);
        bool known = std::find(taken.begin(), taken.end(), name) != taken.end();
        for (const auto& [other, is] : out.back().named) known |= other == name;
        if (known || n->op != "name" || n->name != name) throw Stuck("no new name: " + name);
      };
      fresh(q);
      out.back().named.emplace_back(q, e);
      fresh(r);
      out.back().named.emplace_back(r, std::make_shared<Expression>(Expression{"%", 0, {}, e->args}));
    } else if (key == "cut") {
      out.back().cuts.push_back(value);
    } else {
      out.back().statement.hints.emplace_back(key, value);
    }
  }
  return out;
}

// Wherever the facts hold, one of the cases does.
std::string one_of(const Statement& s, const std::vector<Case>& cases) {
  std::vector<Expr> facts;
  for (const Expr& f : s.facts) conjuncts(f, facts);
  std::map<std::string, std::string> names;
  std::vector<std::string> declared, asserted, goals;
  for (const std::string& n : symbols_of(s)) {
    names[n] = quoted("u_", n);
    declared.push_back(names[n]);
    if (!has_lower_bound(n, facts)) asserted.push_back("(>= " + names[n] + " 1)");
  }
  assert_facts(facts, names, asserted);
  // The negation: some values satisfy the facts and no case.
  std::string none = "(and true";
  for (const Case& c : cases) {
    std::map<std::string, std::string> mine = names;
    std::vector<Expr> conditions;
    conjuncts(c.condition, conditions);
    for (const auto& [name, is] : c.named) mine[name] = smt(is, mine, goals);
    std::string holds = smt_condition(c.condition, mine, goals);
    // The case takes a new symbol without a bound to be positive, like any other.
    for (const auto& [name, is] : c.named)
      if (!has_lower_bound(name, conditions)) holds = "(and " + holds + " (>= " + mine[name] + " 1))";
    none += " (not " + holds + ")";
  }
  goals.push_back(none + ")");
  return assembled(declared, asserted, goals);
}

} // namespace

Way by_pieces(const Statement& s) {
  static const std::set<std::string> known{"injective", "bijective", "covers", "within"};
  if (known.count(s.property) == 0) throw Stuck("pieces for " + s.property);
  std::vector<Case> cases = cases_of(s);
  Way out;
  // `case 1 == 1` is everything.
  bool always = cases.size() == 1 && number_of(cases[0].condition).value_or(0) != 0;
  if (!always) out.queries.push_back(one_of(s, cases));
  for (const Case& c : cases) {
    Derivation d(c.statement);
    d.symbols();
    Function f = c.statement.functions[0];
    if (s.property == "injective")
      f = Derivation::without_outer_bijections(f);
    else
      f = d.without_block_swizzles(f, s.property == "bijective" ? d.size(f)
                                                                : d.e.expression(s.terms[0], d.user));
    Cuts cuts(d, f);
    cuts.run(c.cuts);
    // A bijection onto [0, size) covers what is no more than its size.
    if (s.property == "covers") d.d.nonnegative(d.size(f) - d.e.expression(s.terms[0], d.user));
    if (s.property != "within") cuts.injective();
    d.finish();
    d.stronger.resize(d.queries.size());
    out.stronger.resize(out.queries.size());
    out.queries.insert(out.queries.end(), d.queries.begin(), d.queries.end());
    out.stronger.insert(out.stronger.end(), d.stronger.begin(), d.stronger.end());
  }
  return out;
}

} // namespace inlay::solver::independent
