// What a message says of a formula. Begin at operator().
#include "words.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/symbol_kinds.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <tuple>

namespace inlay::codegen {

namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool internal(const std::string& name) { return name.size() > 1 && name[0] == '_'; }

// Where a word begins that is a symbol of the library, from `at` on.
std::size_t find_internal(const std::string& text, std::size_t at) {
  for (; at + 1 < text.size(); ++at)
    if (text[at] == '_' && (at == 0 || !in_word(text[at - 1])) &&
        std::islower(static_cast<unsigned char>(text[at + 1])))
      return at;
  return std::string::npos;
}

// Formulas as to_string writes them: without spaces. Each gives where it ends, or where it was to begin.
class Formula {
public:
  explicit Formula(const std::string& text) : text_(text) {}
  [[nodiscard]] std::size_t sum(std::size_t begin) const {
    std::size_t end = term(begin);
    if (end == begin) return begin;
    while (true) {
      const std::size_t next = after_operator(end), last = term(next);
      if (next == end || last == next) return end;
      end = last;
    }
  }
  [[nodiscard]] std::size_t term(std::size_t begin) const {
    if (at(begin) == '-') {
      const std::size_t end = term(begin + 1);
      return end == begin + 1 ? begin : end;
    }
    if (at(begin) == '(') return list(begin, begin, false);
    const std::size_t end = word(begin);
    if (at(end) == '.') return begin; // no whole number
    if (at(end) != '(') return end;
    const std::string function = text_.substr(begin, end - begin);
    return function == "min" || function == "max" || function == "select" ? list(end, begin, true) : begin;
  }
  [[nodiscard]] std::size_t word(std::size_t begin) const {
    std::size_t end = begin;
    while (end < text_.size() && in_word(text_[end])) ++end;
    return end;
  }

private:
  [[nodiscard]] char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  [[nodiscard]] std::size_t after_operator(std::size_t i) const {
    for (const char* op : {"<<", ">>", "<=", "=="})
      if (text_.compare(i, 2, op) == 0) return i + 2;
    return std::string("+-*/%^&|").find(at(i)) != std::string::npos && at(i) != '\0' ? i + 1 : i;
  }
  [[nodiscard]] std::size_t list(std::size_t open, std::size_t otherwise, bool several) const {
    std::size_t i = open;
    do {
      const std::size_t end = sum(i + 1);
      if (end == i + 1) return otherwise;
      i = end;
    } while (several && at(i) == ',');
    return at(i) == ')' ? i + 1 : otherwise;
  }
  const std::string& text_;
};

// What is left of s without its terms in z, and what those are of z; the latter 0 where s has none, or others than z itself.
std::pair<Sym, Sym> apart(Sym s, AtomId z) {
  Sym factor = 0, rest = s.constant_term();
  if (s.is_constant()) return {factor, s};
  SymContext& context = *s.context();
  for (const inlay::Term& term : s.terms()) {
    std::vector<Factor> others;
    bool has = false;
    for (const Factor& f : term.factors())
      if (f.atom == z && f.power == 1)
        has = true;
      else
        others.push_back(f);
    (has ? factor : rest) += context.product(term.coefficient, others);
  }
  return {factor, rest};
}

// Remainders of sums as what is subtracted, where that is the smaller number: (n+252)%256 is (n-4)%256.
std::string subtracted(const std::string& text) {
  static const std::regex remainder(R"(\+(\d{1,18})\)%(\d{1,18}))");
  std::string out;
  std::size_t done = 0;
  for (std::sregex_iterator m(text.begin(), text.end(), remainder), end; m != end; ++m) {
    const std::int64_t c = std::stoll((*m)[1]), of = std::stoll((*m)[2]);
    const auto at = static_cast<std::size_t>(m->position()); // of the sign
    std::size_t open = at;
    for (int depth = 1; depth > 0 && open > 0;) depth += text[--open] == ')' ? 1 : text[open] == '(' ? -1 : 0;
    const bool sum = Formula(text).term(open) == at + (*m)[1].str().size() + 2 && text[open] == '(' &&
                     text.substr(open, at - open).find_first_of(",&|^<>=") == std::string::npos &&
                     (open == 0 || !in_word(text[open - 1]));
    if (!sum || c >= of || 2 * c <= of) continue;
    out += text.substr(done, at - done) + "-" + std::to_string(of - c);
    done = at + 1 + (*m)[1].str().size();
  }
  return out + text.substr(done);
}

} // namespace

Words::Words(const Program& program, List world) : p_(program) {
  SymContext& context = program.symbols();
  const auto text = [](const Tensor& t, Sym at) { return t.name + "[" + to_string(at) + "]"; };
  for (const Uniform& u : program.uniforms())
    read_.emplace(to_string(u.symbol), text(program.tensor(u.tensor), u.at));
  for (const Entry& v : program.values())
    read_.emplace(to_string(v.symbol), text(program.tensor(v.tensor), v.at));
  each_op(program.body(), [&](const Op& op) { loops_ += std::holds_alternative<LoopOp>(op.what) ? 1 : 0; });
  const auto known = [&](AtomId a) {
    return read_.contains(context.atom(a).name) ||
           std::any_of(solved_.begin(), solved_.end(),
                       [&](const Solved& s) { return s.symbol == a || s.next == a; });
  };
  for (const auto& [atom, value] : world) {
    std::vector<std::pair<Int, AtomId>> parts; // the symbols that nothing says yet, the finest first
    for (const inlay::Term& term : value.terms())
      if (term.factors().size() == 1 && term.factors()[0].power == 1)
        if (const AtomId a = term.factors()[0].atom; internal(context.atom(a).name) && !known(a))
          parts.emplace_back(term.coefficient, a);
    std::sort(parts.begin(), parts.end(),
              [](const auto& x, const auto& y) { return abs(x.first) < abs(y.first); });
    if (parts.empty()) continue;
    const auto [unit, finest] = parts[0];
    Solved one{finest, finest, context.value(atom) - (value - Sym(unit) * context.value(finest)),
               unit,   Int(0), Int(0)};
    const Interval range = context.atom(finest).interval;
    if (parts.size() > 1 && unit >= Int(1) && range.lower && range.upper &&
        unit * (*range.upper - *range.lower) < parts[1].first) {
      one.least = *range.lower;
      std::tie(one.step, one.next) = parts[1];
      one.value += Sym(one.step) * context.value(one.next);
    }
    solved_.push_back(one);
  }
}

Sym Words::solve(Sym s, const Solved& by) const {
  const auto [factor, rest] = apart(s, by.symbol);
  const std::optional<Sym> times = divide_exactly(factor, Sym(by.unit));
  const Sym from_least = by.value - Sym(by.unit * by.least);
  std::vector<std::pair<AtomId, Sym>> replace;
  if (by.step == Int(0)) {
    if (times) s = rest + *times * by.value;
    replace.emplace_back(by.symbol, floor_div(by.value, Sym(by.unit)));
  } else {
    const auto [of_next, others] = apart(rest, by.next);
    const Sym part = floor_mod(from_least, Sym(by.step)); // of a step
    if (times)
      s = of_next == *times * Sym(by.step) ? others + *times * by.value
                                           : rest + *times * (part + Sym(by.unit * by.least));
    replace.emplace_back(by.symbol, floor_div(part, Sym(by.unit)) + Sym(by.least));
    replace.emplace_back(by.next, floor_div(from_least, Sym(by.step)));
  }
  return substitute(s, replace);
}

Sym Words::written(Sym s) const {
  if (s.is_constant()) return s;
  SymContext& context = *s.context();
  std::vector<std::pair<AtomId, Sym>> inner; // first what stands in quotients and the like
  for (const inlay::Term& term : s.terms())
    for (const Factor& f : term.factors()) {
      const SymAtom atom = context.atom(f.atom);
      if (atom.kind == AtomKind::symbol) continue;
      std::vector<Sym> operands;
      for (const Sym& operand : atom.operands) operands.push_back(written(operand));
      if (operands != atom.operands) inner.emplace_back(f.atom, context.operation(atom.kind, operands));
    }
  s = substitute(s, inner);
  for (int i = 0; i < 3; ++i) // what one is said by, another one says
    for (const Solved& by : solved_) s = solve(s, by);
  return s;
}

std::string Words::name(const std::string& symbol) const {
  if (const auto found = read_.find(symbol); found != read_.end()) return names(found->second);
  const auto of = [&](SymbolKind kind) { return is_of(symbol, kind); };
  if (of(SymbolKind::position)) return "position(" + symbol.substr(3) + ")";
  if (of(SymbolKind::work_item)) return "thread";
  const bool any = of(SymbolKind::in_trips) || of(SymbolKind::in_nest),
             trip = of(SymbolKind::loop) || of(SymbolKind::trip);
  std::string out = any || (trip && loops_ == 1) ? "trip" : symbol.substr(1);
  const auto taken = [&](const auto& x) { return x.name == out; };
  while (std::any_of(p_.sizes().begin(), p_.sizes().end(), taken) ||
         std::any_of(p_.tensors().begin(), p_.tensors().end(), taken))
    out += "_";
  return out;
}

std::string Words::names(const std::string& text) const {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at; (at = find_internal(text, done)) != std::string::npos;) {
    const std::size_t end = Formula(text).word(at);
    out += text.substr(done, at - done) + name(text.substr(at, end - at));
    done = end;
  }
  return out + text.substr(done);
}

std::string Words::operator()(const std::string& text) const {
  if (find_internal(text, 0) == std::string::npos) return subtracted(text);
  const Formula formula(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    // Not from inside of a word, and not the arguments of x(..).
    const bool inside = at > 0 && in_word(text[at - 1]) && (in_word(text[at]) || text[at] == '(');
    std::size_t end = inside ? at : formula.sum(at);
    std::string piece = text.substr(at, end - at);
    if (piece.starts_with("1/")) { // of a number, and no quotient of formulas
      out += "1/";
      at += 2;
      continue;
    }
    if (find_internal(piece, 0) != std::string::npos) try {
        const bool whole = piece[0] == '(' && formula.term(at) == end;
        piece = to_string(written(parse_sym(p_.symbols(), piece, UnknownSymbol::refuse)));
        if (whole && !std::all_of(piece.begin(), piece.end(), in_word)) piece = "(" + piece + ")";
      } catch (const LayoutError&) { // no formula after all
      }
    if (end == at) piece = text[end++];
    out += piece;
    at = end;
  }
  return subtracted(names(out));
}

} // namespace inlay::codegen
