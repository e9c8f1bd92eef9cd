#include "formulas.h"

#include "values.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/symbol_kinds.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <set>
#include <string_view>

namespace inlay::kernels::validate {

namespace {
/// Of a size that each problem has, what the launch says.
Sym largest_of(Sym own) {
  return symbol_of(*own.context(), codegen::SymbolKind::largest, {}, to_string(own), interval(own));
}
} // namespace

Formulas::Formulas(const codegen::Program& program, Terms& terms) : program_(program), t_(terms) {
  for (const codegen::Size& s : program.sizes()) {
    symbols_[s.name] = s.symbol;
    const std::string name = to_string(s.symbol);
    contract_.push_back(name + " >= " + std::to_string(s.facts.least));
    contract_.push_back(name + " <= " + std::to_string(s.facts.most));
    if (s.facts.multiple > 1) {
      contract_.push_back(name + " % " + std::to_string(s.facts.multiple) + " == 0");
      const Int m(s.facts.multiple);
      multiples_.emplace_back(
          *s.symbol.as_atom(),
          Sym(m) * symbol_of(context(), codegen::SymbolKind::part, {}, s.name,
                             {Int(ceil_div(Int(s.facts.least), m)), Int(floor_div(Int(s.facts.most), m))}));
    }
  }
  for (const codegen::Problems::Own& own : program.problems().sizes) { // the argument is the largest of them
    const std::string name = to_string(own.size);
    const Sym most = largest_of(own.size);
    symbols_[program.tensor_name(own.table)] = own.size;
    symbols_[name] = most;
    contract_.push_back(name + " <= " + to_string(most));
  }
  if (program.tile_map()) order_tiles(*program.tile_map());
  for (const codegen::GridAxis& g : program.grid()) {
    symbols_.try_emplace(std::string("workgroup_") + "xyz"[g.axis], g.symbol);
    contract_.push_back(to_string(g.symbol) + " >= 0");
    contract_.push_back(to_string(Sym(g.tile) * g.symbol + Sym(1)) + " <= " + to_string(g.extent));
  }
}

namespace {
/// A remainder in a formula that holds no other.
std::optional<AtomId> innermost_remainder(Sym s) {
  for (const Term& t : s.terms())
    for (const Factor& f : t.factors()) {
      const SymAtom& atom = s.context()->atom(f.atom);
      for (const Sym& x : std::vector<Sym>(atom.operands))
        if (const auto inner = innermost_remainder(x)) return inner;
      if (atom.kind == AtomKind::mod) return f.atom;
    }
  return std::nullopt;
}
/// With x - m floor(x / m) in place of remainders, as formulas of words have them.
Sym one_form(Sym s) {
  while (const auto found = innermost_remainder(s)) {
    const std::vector<Sym> x = s.context()->atom(*found).operands;
    const std::pair<AtomId, Sym> rule[] = {{*found, x[0] - x[1] * floor_div(x[0], x[1])}};
    s = substitute(s, rule);
  }
  return s;
}
} // namespace

/// The definitions as rules, an operation by what it is: its definition's symbol, as a rule. What is a sum is put in where
/// it is used; the number of the tile that is a sum is solved for one of its terms.
void Formulas::order_tiles(const codegen::TileMap& map) {
  const auto is_tile = [&](Sym s) {
    return std::any_of(program_.grid().begin(), program_.grid().end(),
                       [&](const codegen::GridAxis& g) { return g.symbol == s; });
  };
  // A term of the sum that is an atom once, operations first: symbols stand in other definitions.
  const auto unit = [&](Sym value) {
    std::optional<Term> found;
    for (const Term& t : value.terms()) {
      if ((t.coefficient != Int(1) && t.coefficient != Int(-1)) || t.factors().size() != 1 ||
          t.factors()[0].power != 1)
        continue;
      if (!found || context().atom(t.factors()[0].atom).kind != AtomKind::symbol) found = t;
    }
    return found;
  };
  const auto rule = [&](Sym value, Sym symbol, bool of_operation) {
    const auto t = unit(value);
    if (!t || (of_operation && context().atom(t->factors()[0].atom).kind == AtomKind::symbol)) return;
    const Sym rest = value - context().product(t->coefficient, t->factors());
    rules_.emplace_back(t->factors()[0].atom, Sym(t->coefficient) * (symbol - rest));
  };
  std::vector<std::pair<AtomId, Sym>> sums;
  std::vector<std::pair<Sym, Sym>> solved, all = {{map.id_x, map.id_x}, {map.id_y, map.id_y}};
  const auto definitions = map.definitions();
  const auto is_operation = [&](Sym s) {
    const auto atom = s.as_atom();
    return atom && context().atom(*atom).kind != AtomKind::symbol;
  };
  const auto value_of = [&](Sym s) { return settled(one_form(substitute(s, sums))); };
  for (const auto& d : definitions) {
    const Sym value = value_of(d.value);
    all.emplace_back(value, d.symbol);
    if (is_operation(d.value))
      rule(value, d.symbol, true);
    else if (!is_tile(d.symbol))
      sums.emplace_back(*d.symbol.as_atom(), value);
    else
      solved.emplace_back(value, d.symbol);
  }
  for (const auto& [value, symbol] : solved) rule(value, symbol, false);
  // The operations again, in what that has left of their operands.
  for (const auto& d : definitions) {
    if (!is_operation(d.value)) continue;
    const SymAtom of = context().atom(*d.value.as_atom());
    const Sym x = value_of(of.operands[0]), y = value_of(of.operands[1]);
    if (of.kind == AtomKind::floor_div || of.kind == AtomKind::min)
      rule(of.kind == AtomKind::min ? min(x, y) : floor_div(x, y), d.symbol, true);
  }
  for (const auto& [value, symbol] : all) ranges_of_.emplace(settled(value), interval(symbol));
  symbols_["workgroup_x"] = settled(map.id_x);
  symbols_["workgroup_y"] = settled(map.id_y);
}

Sym Formulas::settled(Sym s) const {
  for (int round = 0; round < 8 && !rules_.empty(); ++round) {
    const Sym next = substitute(s, rules_);
    if (next == s) break;
    s = next;
  }
  return s;
}

namespace {
/// Whether a sum has an element of memory once, beside something else: it is whatever it is, so that the sum is not in range.
bool spreads(Sym s) {
  for (const Term& t : s.terms()) {
    if (t.factors().size() != 1 || t.factors()[0].power != 1 ||
        !is_of(s.context()->atom(t.factors()[0].atom).name, codegen::SymbolKind::element))
      continue;
    const Sym rest = s - s.context()->product(t.coefficient, t.factors());
    const std::vector<AtomId> others = symbols(rest);
    if (std::find(others.begin(), others.end(), t.factors()[0].atom) == others.end()) return true;
  }
  return false;
}
} // namespace

std::optional<Sym> Formulas::in_range(std::optional<Sym> s, std::int64_t low, std::int64_t high) {
  if (!s) return s;
  const auto known = ranges_of_.find(*s);
  const Interval i = known != ranges_of_.end() ? known->second : interval(*s);
  if (i.lower && i.upper && *i.lower >= Int(low) && *i.upper <= Int(high)) return s;
  if (has_quotient(*s)) {
    const Interval f = range_of_fractions(*s);
    if (f.lower && f.upper && *f.lower >= Int(low) && *f.upper <= Int(high)) return s;
  }
  auto [at, fresh] = ranges_.try_emplace({*s, low, high}, false);
  if (fresh && !spreads(*s)) // otherwise nothing to ask
    at->second = decide(false, Sym(low), *s, contract_) == Truth::yes &&
                 decide(false, *s, Sym(high), contract_) == Truth::yes;
  if (at->second) return s;
  if (missing_.empty())
    missing_ = to_string(*s) + " in [" + std::to_string(low) + ", " + std::to_string(high) + "]";
  return std::nullopt;
}

std::optional<Sym> Formulas::number(Word word) {
  const std::string kept = missing_;
  const auto s = of(word);
  if (auto n = as_unsigned(s)) return n;
  if (!s) return s;
  const std::string why = std::exchange(missing_, kept);
  const Interval i = interval(*s); // of a number below 0, 2^32 more
  if (i.upper && *i.upper < Int(0) && i.lower && *i.lower >= -Int(std::int64_t{1} << 32))
    return *s + Sym(std::int64_t{1} << 32);
  missing_ = why;
  return std::nullopt;
}

std::optional<Sym> Formulas::number(Word word, const std::vector<Sym>& at_least_0) {
  const std::string kept = missing_;
  const auto s = of(word);
  if (s && !at_least_0.empty() && never_negative(digits(*s)))
    if (const auto upper = most(*s, at_least_0); upper && *upper <= Int(std::int64_t{0xffffffff})) return s;
  if (number(word)) return s;
  if (!s || at_least_0.empty()) return std::nullopt;
  std::vector<std::string> known = contract_;
  for (const Sym& d : at_least_0) known.push_back(fact(d));
  if (decide(false, Sym(0), *s, known) != Truth::yes ||
      decide(false, *s, Sym(std::int64_t{0xffffffff}), known) != Truth::yes)
    return std::nullopt;
  missing_ = kept;
  return s;
}

Sym Formulas::bound(std::uint64_t value) const {
  return symbol_of(context(), codegen::SymbolKind::word, {value}, "", {Int(0), Int(INT32_MAX)});
}

Sym Formulas::element(std::uint64_t value) const {
  return symbol_of(context(), codegen::SymbolKind::element, {value}, "",
                   {Int(0), Int(std::int64_t{0xffffffff})});
}

namespace {
/// Elements of memory by their order in a question: all have the same range, so what is asked of one is asked of any.
std::string with_elements_by_number(const std::string& text) {
  constexpr std::string_view begin = "_element";
  std::string out;
  std::map<std::string, std::size_t> known;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = text.find(begin, at);
    out.append(text, at, found - at);
    if (found == std::string::npos) break;
    std::size_t end = found + begin.size();
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const auto number = known.try_emplace(text.substr(found, end - found), known.size()).first->second;
    out += begin;
    out += std::to_string(number);
    at = end;
  }
  return out;
}

/// The names in a text that are not called.
std::vector<std::string> names_in(std::string_view text) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && part(text[end])) ++end;
    if (end > at && std::isdigit(static_cast<unsigned char>(text[at])) == 0 &&
        (end == text.size() || text[end] != '('))
      out.emplace_back(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return out;
}
} // namespace

/// The facts that say something of these texts' symbols, or of symbols of such facts: a path's other conditions make the
/// question no other, and each question less is milliseconds.
std::vector<std::string> Formulas::about(const std::string& question, const std::vector<std::string>& facts) {
  std::vector<const std::vector<std::string>*> names;
  for (const std::string& f : facts) {
    const auto [at, fresh] = names_of_.try_emplace(f);
    if (fresh) at->second = names_in(f);
    names.push_back(&at->second);
  }
  std::set<std::string> reached;
  for (std::string& n : names_in(question)) reached.insert(std::move(n));
  std::vector<bool> taken(facts.size(), false);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t k = 0; k < facts.size(); ++k) {
      if (taken[k] || std::none_of(names[k]->begin(), names[k]->end(),
                                   [&](const std::string& n) { return reached.contains(n); }))
        continue;
      taken[k] = more = true;
      reached.insert(names[k]->begin(), names[k]->end());
    }
  }
  std::vector<std::string> out;
  for (std::size_t k = 0; k < facts.size(); ++k)
    if (taken[k]) out.push_back(facts[k]);
  return out;
}

/// Without a prover: said by a fact, or a product of what is not negative.
bool Formulas::not_negative(Sym s, const std::vector<std::string>& facts) {
  if (never_negative(digits(s))) return true;
  if (std::find(facts.begin(), facts.end(), "0 <= " + to_string(s)) != facts.end()) return true;
  if (s.terms().size() != 1 || s.constant_term() < Int(0) || s.terms()[0].coefficient < Int(0)) return false;
  const Term term = s.terms()[0];
  if (term.factors().size() == 1 && term.factors()[0].power == 1) {
    const SymAtom atom = s.context()->atom(term.factors()[0].atom);
    return atom.kind == AtomKind::min &&
           std::all_of(atom.operands.begin(), atom.operands.end(),
                       [&](const Sym& x) { return decide(false, Sym(0), x, facts) == Truth::yes; });
  }
  return std::all_of(term.factors().begin(), term.factors().end(), [&](const Factor& f) {
    const Factor once[] = {{f.atom, 1}};
    return f.power % 2 == 0 || not_negative(s.context()->product(Int(1), once), facts);
  });
}

/// Without a prover, too: what the facts make of its digits is nowhere above 0.
bool Formulas::at_most_0(Sym s, const std::vector<std::string>& facts) {
  std::vector<Sym> known;
  for (const std::string& f : facts)
    if (const auto at = facts_by_text_.find(f); at != facts_by_text_.end()) known.push_back(at->second);
  if (known.empty()) return false;
  const auto upper = most(s, known);
  return upper && *upper <= Int(0);
}

std::string Formulas::fact(Sym d) {
  std::string text = "0 <= " + to_string(d);
  facts_by_text_.try_emplace(text, d);
  return text;
}

Assignment Formulas::with_parts(Assignment numbers) const {
  for (const auto& [size, as_multiple] : multiples_) {
    const Term& part = as_multiple.terms()[0];
    if (const auto n = numbers.get(size))
      numbers.set(part.factors()[0].atom, floor_div(*n, part.coefficient));
  }
  for (const codegen::Problems::Own& own : program_.problems().sizes) // as large as this one
    if (const auto n = numbers.get(*own.size.as_atom())) numbers.set(*largest_of(own.size).as_atom(), *n);
  return numbers;
}

void Formulas::launch(Assignment numbers) { launches_.push_back(with_parts(std::move(numbers))); }

bool Formulas::fails(bool equality, Sym a, Sym b, const std::vector<std::string>& facts) const {
  if (launches_.empty()) return false;
  std::vector<AtomId> used = symbols(a - b);
  std::vector<Sym> known; // beside the contract, which a launch meets
  for (const std::string& f : facts) {
    if (const auto at = facts_by_text_.find(f); at != facts_by_text_.end())
      known.push_back(at->second);
    else if (std::find(contract_.begin(), contract_.end(), f) == contract_.end())
      return false;
  }
  for (const Sym& d : known)
    for (const AtomId at : symbols(d))
      if (std::find(used.begin(), used.end(), at) == used.end()) used.push_back(at);
  std::uint64_t drawn = 0;
  const auto is_not_so = [&](Assignment numbers) {
    for (const AtomId at : used) {
      if (numbers.get(at)) continue;
      // An element of memory, a number of periods: the contract says nothing of it but its range.
      const SymAtom& atom = context().atom(at);
      if (!atom.interval.lower || !atom.name.starts_with("_")) return false;
      const Int from = *atom.interval.lower, last = atom.interval.upper.value_or(from + Int(64));
      const auto width = static_cast<std::uint64_t>((last - from).value()) + 1;
      const std::uint64_t far = random_of(at, ++drawn);
      const std::uint64_t way = far % 3 == 0 ? 0 : far % 3 == 1 ? width - 1 : far % width;
      numbers.set(at, from + Int(static_cast<std::int64_t>(way)));
    }
    if (std::any_of(known.begin(), known.end(), [&](const Sym& d) { return evaluate(d, numbers) < Int(0); }))
      return false;
    const Int x = evaluate(a, numbers), y = evaluate(b, numbers);
    return equality ? !(x == y) : y < x;
  };
  return std::any_of(found_.rbegin(), found_.rend(), is_not_so) ||
         std::any_of(launches_.begin(), launches_.end(), is_not_so);
}

void Formulas::keep(const solver::Witness& w, Sym question, const std::vector<std::string>& facts) {
  const std::map<std::string, std::int64_t> values(w.symbols.begin(), w.symbols.end());
  Assignment numbers;
  const auto take = [&](Sym s) {
    for (const AtomId at : symbols(s))
      if (const auto found = values.find(context().atom(at).name); found != values.end())
        numbers.set(at, Int(found->second));
  };
  take(question);
  for (const auto& [name, symbol] : symbols_) take(symbol);
  for (const std::string& f : facts)
    if (const auto at = facts_by_text_.find(f); at != facts_by_text_.end()) take(at->second);
  constexpr std::size_t most = 32;
  if (found_.size() == most) found_.pop_front();
  found_.push_back(with_parts(std::move(numbers)));
}

std::vector<std::string> Formulas::with_facts_of_parts(Sym s, std::vector<std::string> facts) {
  const std::vector<AtomId> used = multiples_.empty() ? std::vector<AtomId>() : symbols(s);
  for (const auto& [size, as_multiple] : multiples_)
    if (std::find(used.begin(), used.end(), as_multiple.terms()[0].factors()[0].atom) != used.end()) {
      const Sym rest = context().product(Int(1), std::array{Factor{size, 1}}) - as_multiple;
      facts.push_back(fact(rest));
      facts.push_back(fact(-rest));
    }
  return facts;
}

Truth Formulas::decide(bool equality, Sym a, Sym b, const std::vector<std::string>& all_facts) {
  const Truth at_once = equality ? eq(a, b) : le(a, b);
  if (at_once != Truth::unknown) return at_once;
  const std::string question = (equality ? "e" : "l") + to_string(a) + "|" + to_string(b);
  const std::vector<std::string> facts = about(question.substr(1), with_facts_of_parts(a - b, all_facts));
  if (!equality && (not_negative(b - a, facts) || at_most_0(a - b, facts))) return Truth::yes;
  std::string key = question;
  for (const auto& f : facts) key += "|" + f;
  key = with_elements_by_number(key);
  if (const auto at = answers_.find(key); at != answers_.end()) return at->second;
  if (fails(equality, a, b, facts)) return answers_[key] = Truth::no;
  // What follows from some facts follows from more.
  std::vector<std::vector<std::string>>& enough = proved_[question];
  const auto said = [&](const std::string& f) {
    return std::find(facts.begin(), facts.end(), f) != facts.end();
  };
  if (std::any_of(enough.begin(), enough.end(),
                  [&](const auto& of) { return std::all_of(of.begin(), of.end(), said); }))
    return answers_[key] = Truth::yes;
  if (steps != nullptr) steps->take(Steps::question);
  Truth answer = Truth::unknown;
  solver::Options options; // many small questions: what is not found soon is left open
  options.solver_steps = 1'000'000;
  options.enumeration_limit = 1 << 12;
  options.refuter_assignments = 100;
  options.recheck = options.certificates = false;
  try {
    solver::SolverProver prover(facts, options);
    answer = prover.decide({equality ? ClaimKind::equal : ClaimKind::less_equal, {a, b}, {}});
    if (const auto& w = prover.verdicts().back().witness; answer == Truth::no && w) keep(*w, a - b, facts);
  } catch (const std::
               exception&) { // contradictory facts: nothing takes this path, and nothing is shown of it here
  }
  if (answer == Truth::yes) enough.push_back(facts);
  answers_[key] = answer;
  if (steps != nullptr && answer == Truth::unknown) steps->take(Steps::left_open); // Z3 has been asked, too
  return answer;
}

// ---- operations that are no polynomials -------------------------------------------------------------------------------

bool Formulas::has_element(Sym s) {
  for (const AtomId a : symbols(s))
    if (is_of(s.context()->atom(a).name, codegen::SymbolKind::element)) return true;
  return false;
}

Sym Formulas::word_of(TermKind kind, const std::vector<Sym>& operands) {
  std::uint64_t h = random_of(0x0be7a7e, static_cast<std::uint64_t>(kind));
  for (const Sym& x : operands) h = random_of(h, stable_hash(x));
  return element(h);
}

/// Of any number of words, of which two that are the same are none.
Sym Formulas::exclusive_or(Sym a, Sym b) {
  std::vector<Sym> all;
  std::uint32_t constant = 0;
  const auto take = [&](Sym x) {
    if (const auto c = x.constant())
      constant ^= static_cast<std::uint32_t>(static_cast<std::uint64_t>(c->value()));
    else if (const auto twice = std::find(all.begin(), all.end(), x); twice != all.end())
      all.erase(twice);
    else
      all.push_back(x);
  };
  for (const Sym& x : {reduced(a), reduced(b)}) {
    const auto of = exclusive_.find(x);
    if (of == exclusive_.end())
      take(x);
    else
      for (const Sym& part : std::vector<Sym>(of->second)) take(part);
  }
  if (all.empty()) return Sym(std::int64_t{constant});
  if (constant == 0xffffffffU) { // ~x is -1 - x
    Sym rest = all[0];
    for (std::size_t k = 1; k < all.size(); ++k) rest = exclusive_or(rest, all[k]);
    return Sym(-1) - rest;
  }
  if (all.size() == 1 && constant == 0) return all[0];
  std::sort(all.begin(), all.end(), [](Sym x, Sym y) { return stable_hash(x) < stable_hash(y); });
  if (constant != 0) all.push_back(Sym(std::int64_t{constant}));
  const Sym s = word_of(TermKind::bit_xor, all);
  exclusive_.emplace(s, std::move(all));
  return s;
}

namespace {
/// s / 2^32, whole 2^32 by themselves: of (2^32 - 3) n that is n, and what is left, -3 n / 2^32, is -1 of a small n.
Sym high_of(Sym s) {
  const Sym word(std::int64_t{1} << 32), rest = Formulas::reduced(s);
  return floor_div(s - rest, word) + floor_div(rest, word);
}
} // namespace

std::optional<Sym> Formulas::operation(TermKind kind, Sym a, Sym b) {
  const std::string kept = missing_;
  const auto number_of = [&](Sym s) -> std::optional<Sym> {
    if (has_element(s)) { // no fact says more of it than its range
      const Interval i = interval(s);
      return i.lower && i.upper && *i.lower >= Int(0) && *i.upper <= Int(0xffffffffLL) ? std::optional(s)
                                                                                       : std::nullopt;
    }
    const auto n = as_unsigned(s);
    missing_ = kept;
    return n;
  };
  const auto word = [](Sym s) -> std::optional<std::uint32_t> {
    const auto c = s.constant();
    return c ? std::optional(static_cast<std::uint32_t>(static_cast<std::uint64_t>(c->value())))
             : std::nullopt;
  };
  const bool sorted = kind == TermKind::bit_and || kind == TermKind::bit_or || kind == TermKind::bit_xor ||
                      kind == TermKind::multiply_high_unsigned;
  if (sorted && word(a)) std::swap(a, b);
  const auto x = word(a), y = word(b);
  const auto numbers = [&](auto&& f) -> std::optional<Sym> { // of what is no element of memory
    if (has_element(a) || has_element(b)) return std::nullopt;
    const auto m = number_of(a), n = number_of(b);
    return m && n ? std::optional<Sym>(f(*m, *n)) : std::nullopt;
  };
  const auto last = [&] { // one symbol
    std::vector<Sym> of{reduced(a), reduced(b)};
    if (sorted && stable_hash(of[1]) < stable_hash(of[0])) std::swap(of[0], of[1]);
    return word_of(kind, of);
  };
  switch (kind) {
  case TermKind::bit_and: {
    if (!y) return last();
    const std::int64_t mask = *y, low = mask & -mask, top = std::int64_t{1} << 32;
    if (mask == 0) return Sym(0);
    if (mask == top - 1) return number_of(a) ? a : last(); // the word as a number
    if (x) return Sym(std::int64_t{*x & *y});
    if (((mask + 1) & mask) == 0) return a - Sym(mask + 1) * floor_div(a, Sym(mask + 1));
    if (mask + low == top) return Sym(low) * floor_div(a, Sym(low));
    const auto n = number_of(a);
    if (!n) return last();
    const Interval i = interval(*n);
    if (((mask + low) & mask) == 0 && i.upper && *i.upper < Int(mask + low))
      return Sym(low) * floor_div(*n, Sym(low));
    return bit_and(*n, Sym(mask));
  }
  case TermKind::bit_or:
    if (x && y) return Sym(std::int64_t{*x | *y});
    if (y && *y == 0) return a;
    if (y && ((*y + std::int64_t{1}) & *y) == 0 && *y != 0xffffffffU) {
      const Sym size(std::int64_t{*y} + 1);
      return size * floor_div(a, size) + size - Sym(1);
    }
    if (y && std::has_single_bit(*y)) {
      const Sym one(std::int64_t{*y}), two(2 * std::int64_t{*y});
      return a + one - one * floor_div(a, one) + two * floor_div(a, two);
    }
    if (const auto s = numbers([](Sym m, Sym n) { return bit_or(m, n); })) return s;
    return last();
  case TermKind::bit_xor:
    if (const auto s = numbers([](Sym m, Sym n) { return bit_xor(m, n); })) return s;
    return exclusive_or(a, b);
  case TermKind::shift_left: return y ? a * Sym(std::int64_t{1} << (*y & 31)) : last();
  case TermKind::shift_right: {
    if (!y) return last();
    const Sym by(std::int64_t{1} << (*y & 31));
    if (x) return Sym(std::int64_t{*x >> (*y & 31)});
    const auto n = number_of(a);
    return n ? floor_div(*n, by) : last();
  }
  case TermKind::shift_right_signed: {
    if (!y) return last();
    const auto n = as_signed(x ? Sym(std::int64_t{static_cast<std::int32_t>(*x)}) : a);
    missing_ = kept;
    return n ? floor_div(*n, Sym(std::int64_t{1} << (*y & 31))) : last();
  }
  case TermKind::multiply_high_unsigned: {
    if (x && y) return Sym(static_cast<std::int64_t>((std::uint64_t{*x} * *y) >> 32));
    const auto m = y ? std::optional(Sym(std::int64_t{*y})) : number_of(b), n = number_of(a);
    if (m && n) {
      const auto most = [](Sym s) { return interval(s).upper.value_or(Int(INT64_MAX)); };
      if (static_cast<__int128>(most(*m).value()) * most(*n).value() <= INT64_MAX) return high_of(*m * *n);
    }
    return last();
  }
  default: return std::nullopt;
  }
}

std::optional<Sym> Formulas::of(Word word) {
  if (const auto at = done_.find(word); at != done_.end()) return at->second;
  std::optional<Sym> s;
  try {
    s = compute(word);
  } catch (const std::exception&) { // coefficients beyond 64 bits
  }
  if (s) s = settled(by_division(*s));
  if (!s && missing_.empty()) missing_ = "a formula for " + t_.text(word, 4);
  done_[word] = s;
  return s;
}

std::optional<Sym> Formulas::compute(Word w) {
  const TermKind kind = t_.kind(w);
  switch (kind) {
  case TermKind::bit_and:
  case TermKind::bit_or:
  case TermKind::bit_xor:
  case TermKind::shift_left:
  case TermKind::shift_right:
  case TermKind::shift_right_signed:
  case TermKind::multiply_high_unsigned: {
    const std::string kept = missing_;
    if (kind != TermKind::bit_xor && kind != TermKind::bit_or && kind != TermKind::multiply_high_unsigned)
      if (auto s = polynomial(w)) return s;
    const Word x = t_.children(w)[0], y = t_.children(w)[1];
    const auto a = of(x), b = of(y);
    if (!a || !b) return std::nullopt;
    missing_ = kept;
    return operation(kind, *a, *b);
  }
  default: return polynomial(w);
  }
}

std::optional<Sym> Formulas::at_least_0(Word w) {
  const TermKind kind = t_.kind(w);
  if (kind == TermKind::datum)
    if (const auto v = value_of_datum ? value_of_datum(w) : std::nullopt) return bound(*v);
  if (kind == TermKind::minimum_signed || kind == TermKind::maximum_signed) {
    const Word x = t_.children(w)[0], y = t_.children(w)[1];
    const auto a = at_least_0(x), b = at_least_0(y);
    if (!a || !b) return std::nullopt;
    return kind == TermKind::minimum_signed ? min(*a, *b) : max(*a, *b);
  }
  if (const auto v = t_.value(w)) return Sym(std::max(0, static_cast<std::int32_t>(*v)));
  const auto s = signed_number(w);
  return s ? std::optional(max(*s, Sym(0))) : std::nullopt;
}

std::optional<Sym> Formulas::long_product(Word low, Word high) {
  const auto of_words = [&](Word x, Word y, std::optional<Sym> rest) -> std::optional<Sym> {
    if (t_.multiply(x, y) != low || !rest) return std::nullopt;
    const Sym words(std::int64_t{1} << 32);
    const auto word = [&](Word w) -> std::optional<Sym> {
      if (const auto n = number(w)) return n;
      const auto s = of(w);
      return s ? std::optional(*s - words * floor_div(*s, words)) : std::nullopt;
    };
    const auto a = word(x), b = word(y);
    return a && b ? std::optional(*a * *b + words * *rest) : std::nullopt;
  };
  const auto is_high = [&](Word w) { return t_.kind(w) == TermKind::multiply_high_unsigned; };
  if (is_high(high)) return of_words(t_.children(high)[0], t_.children(high)[1], Sym(0));
  if (t_.kind(high) != TermKind::linear) return std::nullopt;
  const std::vector<TermPart> parts(t_.parts(high).begin(), t_.parts(high).end());
  for (const TermPart& p : parts)
    if (p.coefficient == 1 && is_high(p.atom))
      if (const auto s =
              of_words(t_.children(p.atom)[0], t_.children(p.atom)[1], of(t_.subtract(high, p.atom))))
        return s;
  return std::nullopt;
}

bool Formulas::is_long_sum(Word w) const {
  if (t_.kind(w) == TermKind::sum) return true;
  if (t_.kind(w) != TermKind::linear || t_.is_wide(w)) return false;
  const auto parts = t_.parts(w);
  return std::any_of(parts.begin(), parts.end(),
                     [&](const TermPart& p) { return t_.kind(p.atom) == TermKind::sum; }) ||
         (parts.size() > few && std::all_of(parts.begin(), parts.end(), [&](const TermPart& p) {
            return t_.kind(p.atom) == TermKind::datum;
          }));
}

std::optional<Sym> Formulas::polynomial(Word w) {
  const auto child = [&](std::size_t i) { return t_.children(w)[i]; };
  const TermKind kind = t_.kind(w);
  const auto both = [&](auto&& get, auto&& f) -> std::optional<Sym> {
    const Word x = child(0), y = child(1);
    const auto a = get(x);
    const auto b = get(y);
    if (!a || !b) return std::nullopt;
    return f(*a, *b);
  };
  const auto plain = [&](Word x) { return of(x); };
  const auto as_unsigned = [&](Word x) { return number(x); };
  const auto as_signed = [&](Word x) { return signed_number(x); };
  switch (kind) {
  case TermKind::symbol: {
    if (const auto at = named_.find(w); at != named_.end()) return at->second;
    const auto at = symbols_.find(t_.name(w));
    if (at == symbols_.end()) return std::nullopt;
    return at->second;
  }
  case TermKind::function:
  case TermKind::datum: {
    const auto v = value_of_datum ? value_of_datum(w) : std::nullopt;
    return v ? std::optional<Sym>(element(*v)) : std::nullopt;
  }
  case TermKind::linear: {
    const bool wide = t_.is_wide(w);
    const auto signed_of = [&](std::uint64_t v) {
      return wide ? static_cast<std::int64_t>(v)
                  : std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(v))};
    };
    if (is_long_sum(w))
      if (const auto v = value_of_datum ? value_of_datum(w) : std::nullopt) return element(*v);
    if (t_.is_constant(w)) return Sym(wide ? signed_of(t_.raw(w)) : static_cast<std::int64_t>(t_.raw(w)));
    Sym sum(signed_of(t_.raw(w)));
    const std::vector<TermPart> parts(t_.parts(w).begin(), t_.parts(w).end());
    for (const TermPart& p : parts) {
      const auto a = of(p.atom);
      if (!a) return std::nullopt;
      sum += Sym(signed_of(p.coefficient)) * *a;
    }
    return sum;
  }
  case TermKind::multiply:
  case TermKind::wide_multiply: return both(plain, [](Sym a, Sym b) { return a * b; });
  case TermKind::product: return both(as_unsigned, [](Sym a, Sym b) { return a * b; });
  case TermKind::product_signed: return both(as_signed, [](Sym a, Sym b) { return a * b; });
  case TermKind::sum: return of(child(0));
  case TermKind::zext: return number(child(0));
  case TermKind::sext: return signed_number(child(0));
  case TermKind::low: return of(child(0));
  case TermKind::high: { // of a product of two words, or of a number that fits
    const Word whole = child(0);
    const auto high_of_product = [&](Word x, std::optional<Sym> y) {
      const auto a = of(x);
      return a && y ? operation(TermKind::multiply_high_unsigned, *a, *y) : std::nullopt;
    };
    if (t_.kind(whole) == TermKind::product) {
      const Word y = t_.children(whole)[1];
      return high_of_product(t_.children(whole)[0], of(y));
    }
    if (t_.kind(whole) == TermKind::linear && t_.raw(whole) == 0 && t_.parts(whole).size() == 1 &&
        t_.parts(whole)[0].coefficient <= 0xffffffffU && t_.kind(t_.parts(whole)[0].atom) == TermKind::zext) {
      const auto by = static_cast<std::int64_t>(t_.parts(whole)[0].coefficient);
      if (const auto s = high_of_product(t_.children(t_.parts(whole)[0].atom)[0], Sym(by))) return s;
    }
    const auto a = in_range(of(child(0)), INT64_MIN, INT64_MAX);
    if (!a) return std::nullopt;
    return high_of(*a);
  }
  case TermKind::pair: {
    const std::string kept = missing_;
    if (const auto s = long_product(child(0), child(1))) return missing_ = kept, s;
    missing_ = kept;
    const auto low = number(child(0)), high = low ? signed_number(child(1)) : std::nullopt;
    if (!high) return std::nullopt;
    return *low + Sym(std::int64_t{1} << 32) * *high;
  }
  case TermKind::minimum_signed: return both(as_signed, [](Sym a, Sym b) { return min(a, b); });
  case TermKind::minimum_unsigned: return both(as_unsigned, [](Sym a, Sym b) { return min(a, b); });
  case TermKind::maximum_signed:
    for (const std::size_t k : {0U, 1U})
      if (t_.value(child(k)) == std::uint64_t{0}) return at_least_0(child(1 - k));
    return both(as_signed, [](Sym a, Sym b) { return max(a, b); });
  case TermKind::maximum_unsigned: return both(as_unsigned, [](Sym a, Sym b) { return max(a, b); });
  case TermKind::wide_shift_right: {
    const auto n = t_.value(child(1));
    const auto a = n ? in_range(of(child(0)), 0, INT64_MAX) : std::nullopt;
    return a ? std::optional(floor_div(*a, Sym(std::int64_t{1} << (*n & 63)))) : std::nullopt;
  }
  case TermKind::shift_right:
  case TermKind::shift_right_signed:
  case TermKind::shift_left: {
    const auto n = t_.value(child(1));
    if (!n) return std::nullopt;
    const Word x = child(0);
    const auto a = kind == TermKind::shift_left    ? of(x)
                   : kind == TermKind::shift_right ? number(x)
                                                   : signed_number(x);
    if (!a) return std::nullopt;
    const Sym factor(std::int64_t{1} << (*n & 31));
    if (kind == TermKind::shift_right) return quotient(x, factor);
    return kind == TermKind::shift_left ? *a * factor : floor_div(*a, factor);
  }
  case TermKind::bit_and: {
    const auto m = t_.value(child(1));
    if (!m) return std::nullopt;
    const auto a = of(child(0));
    if (!a) return std::nullopt;
    const auto mask = static_cast<std::int64_t>(*m);
    const std::int64_t low = mask & -mask;
    if (((mask + 1) & mask) == 0)
      return *a - Sym(mask + 1) * floor_div(*a, Sym(mask + 1)); // one form of remainders
    if (((mask + low) & mask) == 0 && t_.bound(child(0)) < static_cast<std::uint64_t>(mask + low)) {
      const std::string kept = missing_; // all but the lowest, as far as there are any
      if (const auto q = quotient(child(0), Sym(low))) return Sym(low) * *q;
      missing_ = kept;
    }
    if (mask + low == std::int64_t{1} << 32) return Sym(low) * floor_div(*a, Sym(low)); // all but the lowest
    const auto whole = number(child(0));
    if (!whole) return std::nullopt;
    return bit_and(*whole, Sym(mask));
  }
  case TermKind::select: {
    if (const auto v = value_of_datum ? value_of_datum(w) : std::nullopt) return element(*v);
    if (const auto q = quotients_ ? quotients_->read(w) : std::nullopt) {
      const auto x = number(q->dividend), y = number(q->divisor);
      if (x && y && decide(false, Sym(1), *y, contract_) == Truth::yes)
        return q->remainder ? *x - *y * floor_div(*x, *y) : floor_div(*x, *y);
    }
    const auto c = condition(child(0));
    const auto a = of(child(1));
    const auto b = of(child(2));
    if (!c || !a || !b) return std::nullopt;
    if (c->never) return b;
    Sym result = *a;
    for (const Sym& d : c->all) result = select(less_equal(Sym(0), d), result, *b);
    return result;
  }
  default: return std::nullopt;
  }
}

std::optional<Sym> Formulas::quotient(Word word, Sym divisor) {
  // x / a + c is (x + a c) / a.
  Word whole = word;
  Sym more(0);
  if (t_.kind(word) == TermKind::linear && t_.cannot_wrap(word) && t_.parts(word).size() == 1 &&
      t_.parts(word)[0].coefficient == 1) {
    whole = t_.parts(word)[0].atom;
    more = Sym(static_cast<std::int64_t>(t_.raw(word)));
  }
  if (t_.kind(whole) == TermKind::shift_right)
    if (const auto n = t_.value(t_.children(whole)[1])) {
      const Sym factor(std::int64_t{1} << (*n & 31));
      const auto x = number(t_.children(whole)[0]);
      return x ? std::optional<Sym>(floor_div(*x + more * factor, divisor * factor)) : std::nullopt;
    }
  const auto a = number(word);
  return a ? std::optional<Sym>(floor_div(*a, divisor)) : std::nullopt;
}

Formulas::Condition Formulas::canonical(const Condition& c) const {
  Condition out;
  out.never = c.never;
  for (const Sym& d : c.all) {
    if (const auto at = bounds_.find(d); at != bounds_.end()) {
      require(out, at->second);
      continue;
    }
    const Sym bound = as_bound(canonical(d));
    bounds_.try_emplace(d, bound);
    require(out, bound);
  }
  return out;
}

Formulas::Condition Formulas::asked(const Condition& c, const std::function<bool(Sym)>& of) {
  Condition out;
  out.never = c.never;
  for (const Sym& d : c.all) {
    if (of && !of(d)) {
      out.all.push_back(d);
      continue;
    }
    const auto [at, fresh] = always_.try_emplace(d, false);
    if (fresh) at->second = decide(false, Sym(0), d, contract_) == Truth::yes;
    if (!at->second) out.all.push_back(d);
  }
  return out;
}

std::optional<Sym> Formulas::difference(Word x, Word y) {
  const std::string kept = missing_;
  auto a = number(x), b = number(y);
  if (!a || !b) {
    a = signed_number(x);
    b = signed_number(y);
    // One side as a signed number, the other a constant that is written unsigned.
    const auto fold = [&](Word w) -> std::optional<Sym> {
      const auto v = t_.value(w);
      if (!v) return std::nullopt;
      return Sym(std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(*v))});
    };
    if (!a) a = fold(x);
    if (!b) b = fold(y);
  }
  if (a && b) return *a - *b;
  // An element and a number: e + c = 0 modulo 2^32 where e is the word that -c is.
  const auto p = of(x), q = of(y);
  if (!p || !q) return std::nullopt;
  const Sym d = *p - *q;
  if (d.terms().size() != 1 || !has_element(d)) return std::nullopt;
  const Sym e = d.terms()[0].coefficient < Int(0) ? Sym(d.constant_term()) - d : d - Sym(d.constant_term());
  const auto atom = e.as_atom();
  if (!atom || context().atom(*atom).kind != AtomKind::symbol) return std::nullopt;
  const auto c = static_cast<std::uint64_t>(d.constant_term().value());
  missing_ = kept;
  return e - Sym(std::int64_t{static_cast<std::uint32_t>(d.terms()[0].coefficient < Int(0) ? c : -c)});
}

/// x + 1 carries where it is 0: LLVM counts the trips of some loops from -n to 0.
Word Formulas::carried(Word c) {
  if (t_.kind(c) != TermKind::carry) return c;
  const Word x = t_.children(c)[0], y = t_.children(c)[1];
  if (t_.value(x) != std::uint64_t{1} && t_.value(y) != std::uint64_t{1}) return c;
  return t_.equal(t_.add(x, y), t_.constant(0));
}

std::vector<Sym> Formulas::either(Word c, bool value, const std::vector<std::string>& known) {
  if (const auto one = condition(c, value, known)) return one->never ? std::vector<Sym>() : one->all;
  while (t_.kind(c) == TermKind::invert) {
    c = t_.children(c)[0];
    value = !value;
  }
  c = carried(c);
  if (t_.kind(c) != TermKind::equal || value || t_.is_wide(t_.children(c)[0])) return {};
  const auto d = difference(t_.children(c)[0], t_.children(c)[1]);
  return d ? std::vector<Sym>{normal(*d - Sym(1)), normal(-*d - Sym(1))} : std::vector<Sym>();
}

std::optional<Formulas::Condition> Formulas::condition(Word c, bool value,
                                                       const std::vector<std::string>& known) {
  while (t_.kind(c) == TermKind::invert) {
    c = t_.children(c)[0];
    value = !value;
  }
  c = carried(c);
  Condition out;
  if (const auto v = t_.value(c)) {
    if ((*v != 0) != value) require(out, Sym(-1));
    return out;
  }
  const TermKind kind = t_.kind(c);
  if ((kind == TermKind::all && value) || (kind == TermKind::any && !value)) {
    for (const Word child : std::vector<Word>(t_.children(c).begin(), t_.children(c).end())) {
      const auto one = condition(child, value, known);
      if (!one) return std::nullopt;
      for (const Sym& d : one->all) require(out, d);
      out.never = out.never || one->never;
    }
    return out;
  }
  if (kind == TermKind::equal) {
    if (t_.is_wide(t_.children(c)[0])) return std::nullopt;
    const Word x = t_.children(c)[0], y = t_.children(c)[1];
    const auto difference_of = difference(x, y);
    if (!difference_of) return std::nullopt;
    const Sym d = *difference_of;
    if (value) {
      require(out, d);
      require(out, -d);
      return out;
    }
    // Different: above or below, when one of them cannot be.
    const Interval i = interval(d);
    if (i.lower && *i.lower >= Int(0)) {
      require(out, d - Sym(1));
    } else if (i.upper && *i.upper <= Int(0)) {
      require(out, -d - Sym(1));
    } else if (decide(false, Sym(0), d, known) == Truth::yes) {
      require(out, d - Sym(1));
    } else if (decide(false, d, Sym(0), known) == Truth::yes) {
      require(out, -d - Sym(1));
    } else {
      return std::nullopt;
    }
    return out;
  }
  if (kind == TermKind::bit) { // the same of all numbers that are congruent modulo 2^32
    const auto s = of(t_.children(c)[0]);
    if (!s || has_element(*s)) return std::nullopt;
    const Sym low(std::int64_t{1} << t_.raw(c)), two(std::int64_t{2} << t_.raw(c));
    const Sym bit = floor_div(*s, low) - Sym(2) * floor_div(*s, two);
    require(out, value ? bit - Sym(1) : -bit);
    return out;
  }
  const bool borrows = kind == TermKind::borrow && !t_.is_wide(t_.children(c)[0]);
  if (kind != TermKind::less_signed && kind != TermKind::less_unsigned && !borrows) return std::nullopt;
  const Word x = t_.children(c)[0], y = t_.children(c)[1];
  const bool is_signed = kind == TermKind::less_signed;
  const auto get = [&](Word w) -> std::optional<Sym> {
    if (const auto v = t_.value(w); v && is_signed)
      return Sym(std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(*v))});
    if (is_signed) return signed_number(w);
    const std::string before = missing_;
    const auto n = number(w);
    if (!n)
      if (const auto s = signed_number(w); s && decide(false, Sym(0), *s, known) == Truth::yes) {
        missing_ = before;
        return s;
      }
    const auto whole = n ? n : of(w); // of what has an element in it the word is a symbol for itself
    return n || !whole || !has_element(*whole) ? n : operation(TermKind::bit_and, *whole, Sym(0xffffffffLL));
  };
  const std::string kept = missing_;
  auto a = get(x), b = get(y);
  // An element that may be negative is below 1 and more, or above 0 and more, when the larger of it and 0 is.
  if (is_signed && !a && b && decide(false, Sym(1), *b, known) == Truth::yes && (a = at_least_0(x)))
    missing_ = kept;
  if (is_signed && !b && a && decide(false, Sym(0), *a, known) == Truth::yes && (b = at_least_0(y)))
    missing_ = kept;
  if (!a && b && !is_signed && as_signed(*b)) { // b is not negative
    if (const auto s = signed_number(x)) {      // as unsigned, what is negative is 2^31 at least
      missing_ = kept;
      const Sym inside = *b - *s - Sym(1);
      if (value) {
        require(out, *s);
        require(out, inside);
        return out;
      }
      if (decide(false, Sym(0), inside, known) != Truth::yes) return std::nullopt;
      require(out, -*s - Sym(1));
      return out;
    }
  }
  if (!a || !b) return std::nullopt;
  require(out, value ? *b - *a - Sym(1) : *a - *b);
  return out;
}

const std::vector<std::string>& Formulas::facts(const std::vector<std::string>& known,
                                                const std::vector<std::pair<Word, bool>>& path) {
  if (path.empty()) return facts_[{known, path}] = known;
  const auto [at, fresh] = facts_.try_emplace({known, path});
  if (!fresh) return at->second;
  const auto& before = facts(known, {path.begin(), path.end() - 1});
  const std::string kept = missing_;
  const auto c = condition(path.back().first, path.back().second, before);
  missing_ = kept;
  at->second = before;
  if (c)
    for (const Sym& d : c->all)
      if (!d.is_constant()) at->second.push_back(fact(d));
  return at->second;
}

} // namespace inlay::kernels::validate
