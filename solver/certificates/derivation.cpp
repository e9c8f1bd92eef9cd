#include "certificates/derivation.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

namespace inlay::solver::independent {

// Whatever values of the user's symbols the facts allow, there have to be values of the inner ones within their bounds that give them:
// else the derivation would be about fewer values than the claim. Each let is solved for its one new symbol, which is then a function
// of the user's: v = (u - rest) / factor. The goals are that the factor is not 0, that nothing is left over, and that v is in bounds.
void Derivation::symbols() {
  std::map<std::string, Sum> inner;
  for (const auto& [key, value] : s.hints) {
    if (key != "symbol") continue;
    std::size_t a = value.find(" >= "), b = value.find(" <= ");
    if (a == std::string::npos) throw Stuck("a symbol without its least value");
    std::string name = value.substr(0, a);
    auto bound = [](const std::string& t) {
      Expr x = read_expression(t);
      if (x->op == "neg" && x->args[0]->op == "int") return -x->args[0]->value;
      if (x->op != "int") throw Stuck("a bound that is not a number");
      return x->value;
    };
    Variable v{Variable::Kind::symbol, quoted("v_", name), 0, {}, {}, 0, false};
    v.lower = bound(value.substr(a + 4, b == std::string::npos ? b : b - a - 4));
    if (b != std::string::npos) v.upper = bound(value.substr(b + 4));
    if (!inner.emplace(name, Digits::variable(static_cast<int>(d.all.size()))).second)
      throw Stuck("a symbol twice");
    d.add(v);
  }
  std::vector<std::string> declared, asserted, goals;
  std::map<std::string, std::string> mine;
  for (const std::string& n : names) {
    mine[n] = quoted("u_", n);
    declared.push_back(mine[n]);
    if (!has_lower_bound(n, facts)) asserted.push_back("(>= " + mine[n] + " 1)");
  }
  assert_facts(facts, mine, asserted);
  std::set<int> defined;
  for (const auto& [key, value] : s.hints) {
    if (key != "let") continue;
    std::size_t is = value.find(" = ");
    if (is == std::string::npos) throw Stuck("a let without a value");
    std::string name = value.substr(0, is);
    // Of the claim's symbols and once each: a let for another name could smuggle in a fact about nothing.
    if (mine.count(name) == 0 || user.count(name) != 0) throw Stuck("a let for " + name);
    Sum p = e.expression(read_expression(value.substr(is + 3)), inner);
    user[name] = p;
    // user = factor * fresh + rest
    int fresh = -1;
    for (const auto& [product, c] : p.terms)
      for (int v : product)
        if (defined.count(v) == 0) {
          // One equation for two unknowns has many solutions, and that one of them is in bounds would have to
          // be found.
          if (fresh >= 0 && fresh != v) throw Stuck("a let of two new symbols");
          fresh = v;
        }
    // All of it is settled: that the user's symbol is this is itself to be shown.
    if (fresh < 0) {
      goals.push_back("(not (= " + mine[name] + " " + smt(p, d.all) + "))");
      continue;
    }
    Sum factor, rest;
    for (const auto& [product, c] : p.terms) {
      Sum t;
      auto without = over(product, {fresh});
      t.terms[without ? *without : product] = c;
      if (without && std::find(without->begin(), without->end(), fresh) != without->end())
        throw Stuck("a let that is not linear");
      (without ? factor : rest) = (without ? factor : rest) + t;
    }
    const Variable& v = d.all[static_cast<std::size_t>(fresh)];
    declared.push_back(v.smt);
    std::string difference = "(- " + mine[name] + " " + smt(rest, d.all) + ")", by = smt(factor, d.all);
    // By the user's name where the factor is one: that n = 2 m' n' follows from n % m == 0 and m = 2 m' is more than solvers see,
    // n = m n' is not, and m = 2 m' is among the goals.
    for (const auto& [other, value_of] : user)
      if (other != name && value_of == factor && !number_in(factor)) by = mine[other];
    if (number_in(factor) == Number{1}) {
      asserted.push_back("(= " + v.smt + " " + difference + ")");
    } else {
      asserted.push_back("(= " + v.smt + " (div " + difference + " " + by + "))");
      // With a factor of 0 the let would fix the user's symbol, and below 0 SMT-LIB's div rounds otherwise.
      goals.push_back("(<= " + by + " 0)");
      goals.push_back("(not (= " + mine[name] + " (+ (* " + by + " " + v.smt + ") " + smt(rest, d.all) +
                      ")))");
    }
    goals.push_back("(< " + v.smt + " " + smt_number(v.lower) + ")");
    if (v.upper) goals.push_back("(> " + v.smt + " " + smt_number(*v.upper) + ")");
    defined.insert(fresh);
  }
  for (const std::string& n : names)
    if (user.count(n) == 0) throw Stuck("no let for " + n);
  // Such a symbol would be in nobody's bounds, and a digit of its extent would be one of anything.
  if (defined.size() != inner.size()) throw Stuck("a symbol that stands for nothing");
  if (!goals.empty()) queries.push_back(assembled(declared, asserted, goals));
  choose_point();
}

// Where the facts hold, as what is guessed elsewhere is mostly wrong: the first point where they do, a little above the least
// values, then the certificate's own example.
void Derivation::choose_point() {
  std::vector<std::size_t> inner;
  for (std::size_t k = 0; k < d.all.size(); ++k)
    if (d.all[k].kind == Variable::Kind::symbol) inner.push_back(k);
  Plain plain;
  Evaluation<Plain> numbers(plain);
  auto holds = [&](Digits::Point where = Digits::Point::facts) {
    try {
      std::map<std::string, Number> env;
      for (const auto& [n, p] : user) {
        env[n] = d.sample(p, where);
        if (env[n] < 1 && !has_lower_bound(n, facts)) return false;
      }
      return std::all_of(facts.begin(), facts.end(),
                         [&](const Expr& f) { return numbers.expression(f, env) != 0; });
    } catch (const Stuck&) {
      return false;
    }
  };
  d.far_is_one = holds(Digits::Point::far);
  auto set = [&](std::size_t k, Number v) {
    Variable& x = d.all[inner[k]];
    x.at = x.upper ? std::min(v, *x.upper) : v;
  };
  // The least values themselves late: there strides are equal and parts of the domain empty that elsewhere are not.
  auto candidate = [&](std::size_t k, Number nth) {
    constexpr Number late = 30;
    return plus(d.all[inner[k]].lower, nth < late ? nth + 2 : nth < late + 2 ? late + 1 - nth : nth);
  };
  for (std::size_t k = 0; k < inner.size(); ++k) set(k, Digits::usual(d.all[inner[k]]));
  // Mostly the facts are mild and the usual point satisfies them.
  if (inner.empty() || holds()) return;
  int tried = 0;
  std::function<bool(std::size_t, Number)> spread = [&](std::size_t k, Number left) {
    if (k + 1 == inner.size()) {
      set(k, candidate(k, left));
      // A guess and a time limit: where no point is found the usual one is taken, and what is guessed with it
      // may fail to be shown.
      return ++tried < 4096 && holds();
    }
    for (Number here = 0; here <= left && tried < 4096; ++here) {
      set(k, candidate(k, here));
      if (spread(k + 1, left - here)) return true;
    }
    return false;
  };
  for (Number total = 0; tried < 4096 && total < 4096; ++total)
    if (spread(0, total)) return;
  for (std::size_t k = 0; k < inner.size(); ++k) set(k, Digits::usual(d.all[inner[k]]));
  // The user's values are the example's: each let has at most one symbol that those before it did not settle.
  std::set<int> settled;
  for (const auto& [key, value] : s.hints) {
    std::size_t is = value.find(" = ");
    if (key != "let" || s.example.count(value.substr(0, is)) == 0) continue;
    const Sum& p = user.at(value.substr(0, is));
    for (const auto& [product, c] : p.terms)
      for (int v : product) {
        if (!settled.insert(v).second) continue;
        Variable& x = d.all[static_cast<std::size_t>(v)];
        x.at = 0;
        Number rest = d.sample(p);
        x.at = 1;
        Number by = plus(d.sample(p), -rest), want = plus(s.example.at(value.substr(0, is)), -rest);
        x.at = by != 0 ? quotient(want, by) : x.lower;
      }
  }
}

namespace {

// "8 | [2*n: 8 | *] | M": the digits of a coordinate, least significant first. What stands in brackets is one digit of the extent
// before the colon in digits that reach beyond it; `*` is an extent of which nothing is known.
struct Item {
  std::string extent;
  std::vector<Item> parts;
};

std::vector<Item> read_items(std::string_view text, std::size_t& at, int depth) {
  if (depth > 100) throw Stuck("digits nested more than 100 deep");
  std::vector<Item> out;
  while (true) {
    Item item;
    bool bracket = at < text.size() && text[at] == '[';
    if (bracket) ++at;
    std::size_t end = std::min(text.find_first_of(":|]", at), text.size());
    std::size_t last = end;
    while (last > at && text[last - 1] == ' ') --last;
    item.extent = text.substr(at, last - at);
    at = end;
    if (bracket) {
      if (text.substr(at, 2) != ": ") throw Stuck("a bracket without parts");
      at += 2;
      item.parts = read_items(text, at, depth + 1);
      if (at >= text.size() || text[at] != ']') throw Stuck("a bracket that does not end");
      ++at;
    }
    out.push_back(std::move(item));
    if (text.substr(at, 3) == " | ")
      at += 3;
    else if (at < text.size() && text[at] == '|')
      at += 2; // the blank before it is gone
    else
      return out;
  }
}

} // namespace

// A coordinate in [0, want) is made up of digits whose extents have the product `want`; of a digit in brackets the parts reach at
// least as far, and its value is below its extent. So every index has its digits, and where the parts reach beyond, digits have no
// index: good enough for what is said of all points, and for images that are not to meet.
Derivation::Place Derivation::place(const Function& f, const std::string& line, const std::string& prefix) {
  std::map<std::string, Sum> inner;
  for (const Variable& v : d.all)
    if (v.kind == Variable::Kind::symbol) {
      std::string n = v.smt;
      // Bars are SMT-LIB's spelling of names with primes; the hints have them without.
      n.erase(std::remove(n.begin(), n.end(), '|'), n.end());
      inner[n.substr(2)] = Digits::variable(static_cast<int>(&v - d.all.data()));
    }
  std::size_t end = 0;
  std::vector<Item> items = read_items(line, end, 0);
  if (end != line.size()) throw Stuck("digits that cannot be read");
  // Where more digits than indices do no harm: what is said of every point, of two points, or of images that do not meet. To cover
  // something with indices that are none would be false.
  const bool larger = apart_only || s.property == "equal" || s.property == "within" ||
                      s.property == "aligned" || s.property == "injective" || s.property == "disjoint" ||
                      s.property == "inverse";
  int count = 0;
  auto name = [&] { return prefix + std::to_string(count++); };
  auto below = [&](const Sum& v, const Sum& extent) {
    constraints.push_back("(< " + smt(v, d.all) + " " + smt(extent, d.all) + ")");
  };
  // Value and extent of an item; no extent where nothing is known of it and nothing comes after it.
  std::function<std::pair<Sum, std::optional<Sum>>(const Item&, bool)> value = [&](const Item& item,
                                                                                   bool last) {
    std::optional<Sum> extent;
    if (item.extent != "*") {
      extent = e.expression(read_expression(item.extent), inner);
    } else if (!larger) {
      throw Stuck("digits that cover more than the domain");
    } else if (!last) { // what follows counts in units of it, whatever it is
      Variable any{Variable::Kind::symbol, "e_" + std::to_string(d.all.size()), 1, {}, {}, 0, false};
      extent = Digits::variable(d.add(std::move(any)));
    }
    if (item.parts.empty()) {
      if (!extent) return std::pair{d.tail(name()), extent};
      d.nonnegative(*extent - constant(1));
      return std::pair{d.digit(*extent, name()), extent};
    }
    if (!larger) throw Stuck("digits that cover more than the domain");
    Sum sum, before = constant(1);
    bool reaches = false;
    for (const Item& part : item.parts) {
      auto [v, n] = value(part, &part == &item.parts.back());
      sum = sum + v * before;
      reaches = !n;
      if (n) before = before * *n;
    }
    // Parts of known extents have to reach the digit's own; of a digit without one there is nothing to
    // compare with.
    if (!reaches && !extent) throw Stuck("digits that do not make up the coordinates");
    if (!reaches) d.nonnegative(before - *extent);
    if (extent) below(sum, *extent);
    return std::pair{sum, extent};
  };
  Place p;
  Sum before = constant(1);
  std::size_t k = 0;
  for (const Expr& extent : f.extents) {
    Sum want = e.expression(extent, user), have = constant(1), c;
    while (!(have == want)) {
      // A box larger than the domain is enough for what is said point by point, and for injectivity.
      auto n = number_in(have), m = number_in(want);
      if (larger && n && m && *n > *m) break;
      if (k == items.size()) throw Stuck("digits that do not make up the coordinates");
      auto [v, size] = value(items[k++], true);
      c = c + v * have;
      if (!size) break;
      have = have * *size;
    }
    // A box larger than the domain: the coordinate is below its extent all the same, which solvers are told.
    if (!(have == want)) below(c, want);
    p.coordinates.push_back(c);
    p.extents.push_back(want);
    p.index = p.index + c * before;
    before = before * want;
  }
  // Digits of one value are nobody's; any others left over would be indices that the domain does not have.
  for (; k < items.size(); ++k)
    if (items[k].extent != "1" || !items[k].parts.empty())
      throw Stuck("digits that do not make up the coordinates");
  return p;
}

// What the goals have in common is asserted: digits in their ranges, symbols in their bounds, and the facts, which may only help. A goal is
// a way in which the derivation could be wrong; one query for all.
void Derivation::finish() {
  std::vector<std::string> declared, asserted, goals = identities;
  std::set<int> named; // digits of boxes
  auto bounds = [&](const Variable& v) {
    return "(<= 0 " + v.smt + ") (< " + v.smt + " " + smt(v.extent, d.all) + ")";
  };
  for (std::size_t k = 0; k < d.all.size(); ++k) {
    const Variable& v = d.all[k];
    if (v.boxed) continue; // asserted here, the bounds of an empty box would make every goal unsatisfiable
    declared.push_back(v.smt);
    if (v.kind == Variable::Kind::symbol) {
      asserted.push_back("(>= " + v.smt + " " + smt_number(v.lower) + ")");
      if (v.upper) asserted.push_back("(<= " + v.smt + " " + smt_number(*v.upper) + ")");
      if (v.of) {
        std::string a = smt(v.of->a, d.all), b = smt(v.of->b, d.all);
        if (v.of->what == Variable::Of::quotient) {
          std::string whole = smt(v.of->b * Digits::variable(static_cast<int>(k)), d.all);
          asserted.push_back("(and (<= " + whole + " " + a + ") (< " + a + " (+ " + whole + " " + b + ")))");
        } else {
          asserted.push_back("(= " + v.smt + " (ite (<= " + a + " " + b + ") " +
                             (v.of->what == Variable::Of::least ? a + " " + b : b + " " + a) + "))");
        }
      }
    } else if (v.unbounded) {
      asserted.push_back("(<= 0 " + v.smt + ")");
    } else if (v.kind != Variable::Kind::digit) {
      asserted.push_back("(and (<= 0 " + v.smt + ") (<= " + v.smt + " 1))");
    }
  }
  const std::size_t digits_from = asserted.size();
  std::vector<std::string>
      empty; // ways in which a digit could have no value: then its bounds, asserted, would let every goal pass
  for (const Variable& v : d.all) {
    if (v.boxed || v.unbounded || v.kind != Variable::Kind::digit) continue;
    asserted.push_back("(and " + bounds(v) + ")");
    if (!d.surely(v.extent - constant(1))) empty.push_back("(< " + smt(v.extent, d.all) + " 1)");
  }
  asserted.insert(asserted.end(), constraints.begin(), constraints.end());
  const std::size_t digits_to = asserted.size();
  std::vector<std::string> costly;
  std::map<std::string, std::string> as_inner;
  for (const auto& [n, p] : user) {
    as_inner[n] = smt(p, d.all);
    if (!has_lower_bound(n, facts)) asserted.push_back("(>= " + as_inner[n] + " 1)");
  }
  for (const Expr& f : facts) try {
      std::vector<std::string> none;
      std::string fact = smt_condition(f, as_inner, none);
      // Divisions by symbols, choices and bits cost a solver more than they help it, nearly always.
      bool cheap =
          none.empty() && fact.find("(bits_") == std::string::npos && !mentions(f, {"min", "max", "select"});
      (cheap ? asserted : costly).push_back(fact);
    } catch (const Stuck&) { // what integers cannot say is left out: what follows from the others follows
    }
  if (!empty.empty()) {
    std::vector<std::string> of_symbols(asserted.begin(),
                                        asserted.begin() + static_cast<std::ptrdiff_t>(digits_from));
    of_symbols.insert(of_symbols.end(), asserted.begin() + static_cast<std::ptrdiff_t>(digits_to),
                      asserted.end());
    queries.push_back(assembled(declared, of_symbols, empty));
    if (!costly.empty()) {
      of_symbols.insert(of_symbols.end(), costly.begin(), costly.end());
      stronger.resize(queries.size());
      stronger.back().push_back(assembled(declared, of_symbols, empty));
    }
  }
  for (const Sum& p : d.inequalities) {
    // The least value instead of every value: symbols alone, and no products of digits with them, which solvers do badly with. It is over
    // the box, which may be larger than the domain; then a least value that is not certain may be below 0 where no index is.
    auto low = d.least(p);
    if (low && !constraints.empty() && !d.surely(*low)) low.reset();
    std::string goal = "(< " + smt(low ? *low : p, d.all) + " 0)", inside;
    std::set<int> mine;
    for (const auto& [product, c] : (low ? *low : p).terms)
      for (int v : product)
        if (d.all[static_cast<std::size_t>(v)].boxed) mine.insert(v);
    for (int v : mine) inside += bounds(d.all[static_cast<std::size_t>(v)]) + " ";
    goals.push_back(mine.empty() ? goal : "(and " + inside + goal + ")");
    named.insert(mine.begin(), mine.end());
  }
  for (int v : named) declared.push_back(d.all[static_cast<std::size_t>(v)].smt);
  goals.insert(goals.end(), extra_goals.begin(), extra_goals.end());
  for (const std::string& x : extra_declarations) declared.push_back(x);
  queries.push_back(assembled(declared, asserted, goals));
  if (costly.empty()) return;
  asserted.insert(asserted.end(), costly.begin(), costly.end());
  stronger.resize(queries.size());
  stronger.back().push_back(assembled(declared, asserted, goals));
}

// Every digit has to be there: one that is not makes two indices with one value. Bits may be missing themselves if the parities determine
// them.
std::vector<std::pair<Sum, Sum>> Derivation::items(const Sum& f, std::size_t from) {
  std::vector<std::pair<Sum, Sum>> out; // coefficient, steps
  std::vector<std::uint64_t> masks;
  auto coefficient = [&](int v) {
    Sum c;
    for (const auto& [product, n] : f.terms) {
      auto without = over(product, {v});
      if (!without) continue;
      Sum t;
      t.terms[*without] = n;
      c = c + t;
    }
    return c;
  };
  std::uint64_t bits = 0;
  for (std::size_t v = from; v < d.all.size(); ++v) {
    if (d.all[v].kind == Variable::Kind::symbol) continue;
    Sum c = coefficient(static_cast<int>(v));
    for (const auto& [product, n] : c.terms)
      for (int w : product)
        if (d.all[static_cast<std::size_t>(w)].kind != Variable::Kind::symbol)
          throw Stuck("a product of digits");
    if (d.all[v].kind == Variable::Kind::digit) {
      // A digit and its rotation are not independent: the one may only stand in the other's place.
      if (d.all[v].turned) {
        if (!c.terms.empty()) throw Stuck("a digit beside its own rotation");
        continue;
      }
      if (c.terms.empty()) {
        // An absent digit does not matter only when it has one value.
        throw Stuck("a digit that does not matter");
      }
      out.emplace_back(c, d.all[v].unbounded ? constant(-1) : d.all[v].extent - constant(1));
    } else if (!c.terms.empty()) {
      masks.push_back(d.all[v].mask);
      out.emplace_back(c, constant(1));
    }
  }
  bits = d.bits == 0 ? 0 : (std::uint64_t{1} << d.bits) - 1;
  // The parities that occur determine every bit.
  int rank = 0;
  for (int b = 0; b < d.bits; ++b) {
    auto pivot =
        std::find_if(masks.begin() + rank, masks.end(), [&](std::uint64_t m) { return (m >> b) & 1; });
    if (pivot == masks.end()) continue;
    std::swap(*pivot, masks[static_cast<std::size_t>(rank)]);
    for (std::size_t k = 0; k < masks.size(); ++k)
      if (static_cast<int>(k) != rank && ((masks[k] >> b) & 1))
        masks[k] ^= masks[static_cast<std::size_t>(rank)];
    ++rank;
  }
  // Full rank: each bit is a xor of the parities, so that what tells the parities apart tells the bits apart.
  if (rank != std::popcount(bits)) throw Stuck("parities that do not determine the bits");
  return out;
}

// The order is guessed at one point and the inequalities are shown for all: a wrong guess is a proof that fails. So is a wrong guess of a
// sign, as the stride is then negative somewhere and does not exceed `reach`.
void Derivation::dominated(const Sum& f, std::size_t from) {
  auto all = items(f, from);
  for (auto& [c, steps] : all)
    if (d.sample(c) < 0) c = constant(-1) * c;
  // A quotient is 1 for many small values: strides that are equal where it is guessed are told apart by what they are far away.
  auto before = [&](const Sum& x, const Sum& y) {
    if (d.smaller(x, y) || d.smaller(y, x)) return d.smaller(x, y);
    return d.named_quotients && d.far_is_one &&
           d.sample(x, Digits::Point::far) < d.sample(y, Digits::Point::far);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& x, const auto& y) { return before(x.first, y.first); });
  Sum reach;
  bool last = false; // an unbounded digit, the number of whose steps is written -1, has to be the topmost
  for (const auto& [c, steps] : all) {
    if (last) throw Stuck("a digit above one without bound");
    d.nonnegative(c - reach - constant(1));
    last = number_in(steps) == Number{-1};
    reach = reach + c * steps;
  }
}

// A swizzle changes no bit above the field that it writes: the aligned blocks up to there keep their elements, and it may go where they
// make up [0, n).
Function Derivation::without_block_swizzles(Function f, const Sum& n) {
  while (!f.outer.empty() && f.outer.front().bits > 0) {
    const Stage& w = f.outer.front();
    Sum block = constant(Number{1} << (w.bits + w.base + (w.shift < 0 ? -w.shift : 0)));
    auto [q, r] = split(n, block);
    if (!r.terms.empty()) break;
    same(n, q * block, "the end and a multiple of the swizzle's blocks");
    f.outer.erase(f.outer.begin());
  }
  return f;
}

Derivation::Place Derivation::own(const Function& f, std::size_t which) {
  std::vector<std::string> digits = hints("digits");
  const char* prefix[] = {"x", "y"};
  if (which >= digits.size()) throw Stuck("no digits");
  return place(f, digits[which].substr(digits[which].find(' ') + 1), prefix[which]);
}

void Derivation::inside(const Sum& f, const Sum& n) {
  // Over all digits, which finish() turns into the least value where signs are known.
  d.nonnegative(f);
  d.nonnegative(n - constant(1) - f);
}

void Derivation::by_digits() {
  symbols();
  d.named_quotients = !hints("named").empty();
  d.rotations = s.property == "injective" || s.property == "bijective" || s.property == "covers";
  if (s.property == "equal")
    equal();
  else if (s.property == "injective")
    injective();
  else if (s.property == "bijective")
    bijective();
  else if (s.property == "covers")
    covers();
  else if (s.property == "aligned")
    aligned();
  else if (s.property == "within")
    within();
  else if (s.property == "disjoint")
    disjoint();
  else if (s.property == "inverse")
    inverse();
  else
    throw Stuck("digits for " + s.property);
  finish();
}

} // namespace inlay::solver::independent
