#include "certificates/queries.h"

#include "certificates/facts.h"

#include <algorithm>
#include <map>
#include <set>

namespace inlay::solver::independent {

std::string smt_number(Number n) { return n < 0 ? "(- " + text(-n) + ")" : text(n); }

std::string quoted(const std::string& prefix, const std::string& name) {
  std::string s = prefix + name;
  for (char c : s)
    // The prefixes u_, v_ keep the user's names apart from the prover's, and both from SMT-LIB's words: a
    // symbol may be called div.
    if (c == '\'' || c == '.') return "|" + s + "|";
  return s;
}

// Powers are written as repeated factors, which is all that SMT-LIB's integers know.
std::string smt(const Sum& s, const std::vector<Variable>& all) {
  if (s.terms.empty()) return "0";
  std::string out;
  for (const auto& [product, c] : s.terms) {
    std::string t = c == 1 && !product.empty() ? "" : " " + smt_number(c);
    for (int v : product) t += " " + all[static_cast<std::size_t>(v)].smt;
    bool single = (c == 1 && product.size() == 1) || product.empty();
    out += single ? t : " (*" + t + ")";
  }
  return s.terms.size() == 1 ? out.substr(1) : "(+" + out + ")";
}

namespace {

// How often the bits that all of some terms have, and a mask, are in a sum; -1 is the mask of all bits.
using Bits = std::map<std::pair<std::set<std::string>, Number>, Number>;

bool is_bitwise(const Expr& e) { return e->op == "&" || e->op == "|" || e->op == "^"; }

// By x | y = x + y - (x & y) and x ^ y = x + y - 2 (x & y), which hold of all integers. & of two sums is taken out bit by bit: each bit of a
// sum here is 0 or 1 and the sum of its terms' bits, because each step's is.
template <class Text>
Bits bits_of(const Expr& e, const Text& text) {
  if (!is_bitwise(e)) {
    if (auto n = number_of(e)) return *n == 0 ? Bits{} : Bits{{{{}, *n}, 1}};
    return {{{{text(e)}, -1}, 1}};
  }
  const Bits a = bits_of(e->args[0], text), b = bits_of(e->args[1], text);
  Bits shared;
  for (const auto& [x, n] : a)
    for (const auto& [y, k] : b) {
      std::set<std::string> terms = x.first;
      terms.insert(y.first.begin(), y.first.end());
      if (Number mask = x.second & y.second; mask != 0) shared[{terms, mask}] += n * k;
    }
  Bits out;
  if (e->op == "&") {
    out = shared;
  } else {
    out = a;
    for (const auto& [y, k] : b) out[y] += k;
    for (const auto& [y, k] : shared) out[y] -= e->op == "^" ? 2 * k : k;
  }
  std::erase_if(out, [](const auto& t) { return t.second == 0; });
  if (out.size() > 64) throw Stuck("more than 64 products of bits");
  return out;
}

// x & m is a remainder of a quotient for every run of ones in m. Of two terms it is any function that commutes: what holds for all of
// them holds for it.
std::string shared_bits(const std::set<std::string>& terms, Number m) {
  if (terms.empty()) return smt_number(m);
  std::string x;
  for (const std::string& t : terms) x = x.empty() ? t : "(bits_and " + x + " " + t + ")";
  if (m == -1) return x;
  if (m < 0) return "(- " + x + " " + shared_bits(terms, -1 - m) + ")";
  // 2^100 leaves room for the weights.
  if (m >= Number{1} << 100) throw Stuck("a mask of more than 100 bits");
  std::string out;
  for (Number rest = m, low = 1; rest != 0;) {
    Number ones = 1;
    // One run of ones: its lowest bit is `low`, and `ones` is 2 to its length.
    while (rest % 2 == 0) rest /= 2, low *= 2;
    while (rest % 2 == 1) rest /= 2, ones *= 2;
    out +=
        " (* " + smt_number(low) + " (mod (div " + x + " " + smt_number(low) + ") " + smt_number(ones) + "))";
    low *= ones;
  }
  return "(+ 0" + out + ")";
}

} // namespace

std::string smt_condition(const Expr& e, const std::map<std::string, std::string>& names,
                          std::vector<std::string>& goals, bool any_divisor) {
  auto side = [&](std::size_t k) { return smt(e->args[k], names, goals, any_divisor); };
  auto condition = [&](std::size_t k) { return smt_condition(e->args[k], names, goals, any_divisor); };
  if (e->op == "&&" || e->op == "||")
    return std::string(e->op == "&&" ? "(and " : "(or ") + condition(0) + " " + condition(1) + ")";
  if (e->op == "!") return "(not " + condition(0) + ")";
  for (const char* op : {"<", "<=", ">", ">="})
    if (e->op == op) return "(" + e->op + " " + side(0) + " " + side(1) + ")";
  if (e->op == "==") return "(= " + side(0) + " " + side(1) + ")";
  if (e->op == "!=") return "(not (= " + side(0) + " " + side(1) + "))";
  return "(not (= " + smt(e, names, goals, any_divisor) + " 0))";
}

std::string smt(const Expr& e, const std::map<std::string, std::string>& names,
                std::vector<std::string>& goals, bool any_divisor) {
  static const std::set<std::string> conditions{"&&", "||", "!", "<", "<=", ">", ">=", "==", "!="};
  // A condition among numbers is 0 or 1, as the language has it.
  if (conditions.count(e->op) != 0) return "(ite " + smt_condition(e, names, goals, any_divisor) + " 1 0)";
  if (e->op == "int") return smt_number(e->value);
  if (e->op == "name") {
    auto it = names.find(e->name);
    if (it == names.end()) throw Stuck("nothing is known about " + e->name);
    return it->second;
  }
  if (e->op == "select") {
    // A divisor matters on the side that is taken.
    std::string condition = smt_condition(e->args[0], names, goals, any_divisor), side[2];
    for (std::size_t k = 0; k < 2; ++k) {
      std::vector<std::string> here;
      side[k] = smt(e->args[k + 1], names, here, any_divisor);
      for (const std::string& g : here)
        goals.push_back("(and " + (k == 0 ? condition : "(not " + condition + ")") + " " + g + ")");
    }
    return "(ite " + condition + " " + side[0] + " " + side[1] + ")";
  }
  if (is_bitwise(e)) {
    std::string out;
    const Bits sum = bits_of(e, [&](const Expr& x) { return smt(x, names, goals, any_divisor); });
    for (const auto& [b, n] : sum) out += " (* " + smt_number(n) + " " + shared_bits(b.first, b.second) + ")";
    return sum.empty() ? "0" : "(+ 0" + out + ")";
  }
  std::vector<std::string> v;
  for (const Expr& a : e->args) v.push_back(smt(a, names, goals, any_divisor));
  if (e->op == "neg") return "(- " + v[0] + ")";
  if (e->op == "+" || e->op == "-" || e->op == "*") return "(" + e->op + " " + v[0] + " " + v[1] + ")";
  if (e->op == "/" || e->op == "%") {
    if (auto n = number_of(e->args[1]); n && *n < 0) { // a / d = (-a) / (-d), a % d = -((-a) % (-d))
      // SMT-LIB's div rounds so that the remainder is not negative, ours down: they agree for d > 0 alone.
      std::string turned = "(- " + v[0] + ") " + smt_number(-*n) + ")";
      return e->op == "/" ? "(div " + turned : "(- (mod " + turned + ")";
    }
    // Of a number it is plain. Of anything else it is a goal: to be refuted with the claim, by the same query
    // and the same facts.
    bool positive = e->args[1]->op == "int" && e->args[1]->value >= 1;
    if (!positive && any_divisor) {
      // 0 alone has no quotient; below it, ours is written with both signs turned, where SMT-LIB's rounding
      // agrees.
      goals.push_back("(= " + v[1] + " 0)");
      std::string straight = v[0] + " " + v[1] + ")", turned = "(- " + v[0] + ") (- " + v[1] + "))";
      return "(ite (> " + v[1] + " 0) " +
             (e->op == "/" ? "(div " + straight + " (div " + turned
                           : "(mod " + straight + " (- (mod " + turned + ")") +
             ")";
    }
    if (!positive) goals.push_back("(<= " + v[1] + " 0)");
    return std::string(e->op == "/" ? "(div " : "(mod ") + v[0] + " " + v[1] + ")";
  }
  if (e->op == "min") return "(ite (<= " + v[0] + " " + v[1] + ") " + v[0] + " " + v[1] + ")";
  if (e->op == "max") return "(ite (<= " + v[0] + " " + v[1] + ") " + v[1] + " " + v[0] + ")";
  if ((e->op == "<<" || e->op == ">>") && e->args[1]->op == "int" && e->args[1]->value <= 60)
    return std::string(e->op == "<<" ? "(* " : "(div ") + v[0] + " " +
           smt_number(Number{1} << static_cast<int>(e->args[1]->value)) + ")";
  throw Stuck("no integer arithmetic for " + e->op);
}

// A fact that integers cannot say (an xor) is left out: what follows from the others follows. Nor does its division by zero
// matter: it holds nowhere, and the prover refuses it.
void assert_facts(const std::vector<Expr>& facts, const std::map<std::string, std::string>& names,
                  std::vector<std::string>& asserted) {
  for (const Expr& f : facts) try {
      std::vector<std::string> divisors;
      // The goals are dropped: a fact's own divisors are not the claim's. Where one is 0 or less the fact
      // says something else in SMT-LIB; the prover and require_example() evaluate facts by the definition.
      asserted.push_back(smt_condition(f, names, divisors));
    } catch (const Stuck&) {
    }
}

namespace {

// The expression that begins at `at`, up to its end. Names hold no parenthesis and no blank.
std::string_view expression_at(std::string_view text, std::size_t at) {
  int open = 0;
  std::size_t k = at;
  for (; k < text.size() && (open > 0 || (text[k] != ' ' && text[k] != ')')); ++k)
    open += text[k] == '(' ? 1 : text[k] == ')' ? -1 : 0;
  return text.substr(at, k - at);
}

// The bits that two values share, neither below 0, are no more than either: an instance for each call in the texts.
void bound_bits(const std::string& text, std::set<std::string>& out) {
  constexpr std::string_view call = "(bits_and ";
  for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
    std::string part[2];
    std::size_t k = at + call.size();
    for (std::string& p : part) {
      p = expression_at(text, k);
      k += p.size() + 1; // the blank between them, the parenthesis after them
    }
    std::string v = text.substr(at, k - at);
    out.insert("(=> (and (>= " + part[0] + " 0) (>= " + part[1] + " 0)) (and (>= " + v + " 0) (<= " + v +
               " " + part[0] + ") (<= " + v + " " + part[1] + ")))");
  }
}

} // namespace

// a = q d + r with 0 <= r < d in place of (div a d) and (mod a d); nothing is said of q and r where d is 0 or less.
std::string with_quotients(const std::string& query) {
  // On the text of the finished query, which the claims of all properties share.
  std::string text = query, declared, asserted;
  std::map<std::string, std::string> known;
  std::size_t from = text.size();
  while (true) { // the last one is innermost
    std::size_t at = std::max(text.rfind("(div ", from) + 1, text.rfind("(mod ", from) + 1);
    if (at-- == 0) break;
    std::string a(expression_at(text, at + 5)), d(expression_at(text, at + 6 + a.size()));
    // By a number solvers divide well themselves, and a product with a number is linear.
    if (d.find_first_not_of("0123456789") == std::string::npos) {
      if (at == 0) break;
      from = at - 1;
      continue;
    }
    // The same dividend and divisor share both variables, so that x / d and x % d stay quotient and rest of
    // one division.
    auto [it, fresh] = known.emplace(a + " / " + d, std::to_string(known.size()));
    const std::string &n = it->second, q = "q_" + n, r = "r_" + n;
    if (fresh) {
      declared += "(declare-const " + q + " Int)\n(declare-const " + r + " Int)\n";
      asserted += "(assert (or (<= " + d + " 0) (and (= " + a + " (+ (* " + q + " " + d + ") " + r +
                  ")) (<= 0 " + r + ") (< " + r + " " + d + "))))\n";
    }
    text.replace(at, 7 + a.size() + d.size(), text.compare(at, 5, "(div ") == 0 ? q : r);
    from = text.size();
  }
  if (known.empty()) return {};
  std::size_t begin = text.find("(assert "), end = text.rfind("(check-sat)");
  return text.substr(0, begin) + declared + text.substr(begin, end - begin) + asserted + text.substr(end);
}

// The negated claim is the disjunction of the goals: unsat says that none of them can be, whatever the facts allow.
std::string assembled(const std::vector<std::string>& declared, const std::vector<std::string>& asserted,
                      const std::vector<std::string>& goals) {
  std::string out = "(set-logic ALL)\n";
  for (const std::string& d : declared) out += "(declare-const " + d + " Int)\n";
  auto shares_bits = [](const std::string& text) { return text.find("(bits_and ") != std::string::npos; };
  if (std::any_of(asserted.begin(), asserted.end(), shares_bits) ||
      std::any_of(goals.begin(), goals.end(), shares_bits))
    out += "(declare-fun bits_and (Int Int) Int)\n";
  for (const std::string& a : asserted) out += "(assert " + a + ")\n";
  std::set<std::string> bounds;
  for (const auto* texts : {&asserted, &goals})
    for (const std::string& t : *texts) bound_bits(t, bounds);
  for (const std::string& b : bounds) out += "(assert " + b + ")\n";
  std::set<std::string> seen;
  out += "(assert (or false";
  for (const std::string& g : goals)
    // The same goal often comes from several places (a divisor in both functions), and solvers do not look
    // for that.
    if (seen.insert(g).second) out += " " + g;
  return out + "))\n(check-sat)\n";
}

} // namespace inlay::solver::independent
