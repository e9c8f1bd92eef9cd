#include "derive.h"

#include "inlay/solver/coalescing.h"
#include "inlay/solver/lds.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>

namespace inlay::solver::independent {
namespace {

// ---- polynomials in variables that are numbered in the order of their appearance

using Product = std::vector<int>; // sorted, with repetition
struct Sum {
  std::map<Product, Number> terms; // no zeros
  friend bool operator==(const Sum&, const Sum&) = default;
};

Sum constant(Number n) {
  Sum s;
  if (n != 0) s.terms[{}] = n;
  return s;
}

Sum operator+(const Sum& a, const Sum& b) {
  Sum s = a;
  for (const auto& [p, c] : b.terms) {
    Number& mine = s.terms[p];
    mine = plus(mine, c);
    if (mine == 0) s.terms.erase(p);
  }
  return s;
}

Sum operator*(const Sum& a, const Sum& b) {
  Sum s;
  for (const auto& [p, c] : a.terms)
    for (const auto& [q, d] : b.terms) {
      Product both = p;
      both.insert(both.end(), q.begin(), q.end());
      std::sort(both.begin(), both.end());
      Sum one;
      one.terms[both] = times(c, d);
      s = s + one;
      if (s.terms.size() > 5000) throw Stuck("a polynomial of more than 5000 terms");
    }
  return s;
}

Sum operator-(const Sum& a, const Sum& b) { return a + constant(-1) * b; }

std::optional<Number> number_in(const Sum& s) {
  if (s.terms.empty()) return Number{0};
  if (s.terms.size() == 1 && s.terms.begin()->first.empty()) return s.terms.begin()->second;
  return std::nullopt;
}

// p / q of products.
std::optional<Product> over(const Product& p, const Product& q) {
  Product rest = p;
  for (int v : q) {
    auto it = std::find(rest.begin(), rest.end(), v);
    if (it == rest.end()) return std::nullopt;
    rest.erase(it);
  }
  return rest;
}

// (q, r) with a = q d + r; which q is a guess that the inequalities 0 <= r < d have to confirm. The leading product
// is the longest one, so that subtracting a multiple of d makes progress.
std::pair<Sum, Sum> split(const Sum& a, const Sum& d) {
  Sum q, r;
  auto n = number_in(d);
  if (n && *n > 0) {
    for (const auto& [p, c] : a.terms) {
      Number whole = quotient(c, *n), rest = plus(c, -times(whole, *n));
      if (whole != 0) q.terms[p] = whole;
      if (rest != 0) r.terms[p] = rest;
    }
    return {q, r};
  }
  auto longer = [](const auto& x, const auto& y) {
    return x.first.size() != y.first.size() ? x.first.size() < y.first.size() : x.first < y.first;
  };
  if (d.terms.empty()) throw Stuck("a division by zero");
  auto lead = *std::max_element(d.terms.begin(), d.terms.end(), longer);
  Sum left = a;
  for (int steps = 0; !left.terms.empty(); ++steps) {
    if (steps > 5000) throw Stuck("a division that does not end");
    auto top = *std::max_element(left.terms.begin(), left.terms.end(), longer);
    auto p = over(top.first, lead.first);
    Sum one;
    if (p && top.second / lead.second != 0) {
      one.terms[*p] = top.second / lead.second;
      q = q + one;
      left = left - one * d;
    } else {
      one.terms[top.first] = top.second;
      r = r + one;
      left = left - one;
    }
  }
  return {q, r};
}

// ---- variables, and the algebra of polynomials over digits

struct Variable {
  enum class Kind { symbol, digit, parity } kind;
  std::string smt;
  Number lower = 0;            // symbol
  std::optional<Number> upper; // symbol
  Sum extent;                  // digit
  std::uint64_t mask = 0;      // parity, of the bits
  bool unbounded = false;      // digit
};

class Digits {
public:
  using Value = Sum;

  int add(Variable v) {
    all.push_back(std::move(v));
    return static_cast<int>(all.size() - 1);
  }
  static Sum variable(int v) {
    Sum s;
    s.terms[{v}] = 1;
    return s;
  }
  // A digit in [0, extent); one of two values is a bit.
  Sum digit(const Sum& extent, const std::string& name) {
    if (number_in(extent) == Number{1}) return {};
    if (number_in(extent) == Number{2}) {
      if (bits == 62) throw Stuck("more than 62 bits");
      return parity(std::uint64_t{1} << bits++);
    }
    Variable v{Variable::Kind::digit, name, 0, {}, extent, 0, false};
    return variable(add(v));
  }
  // All that is left of a coordinate, in [0, oo).
  Sum tail(const std::string& name) {
    Variable v{Variable::Kind::digit, name, 0, {}, {}, 0, true};
    return variable(add(v));
  }
  Sum parity(std::uint64_t mask) {
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].kind == Variable::Kind::parity && all[k].mask == mask) return variable(static_cast<int>(k));
    return variable(add({Variable::Kind::parity, "p" + std::to_string(mask), 0, {}, {}, mask, false}));
  }

  static Sum number(Number n) { return constant(n); }
  static Sum add(const Sum& a, const Sum& b) { return a + b; }
  static Sum multiply(const Sum& a, const Sum& b) { return a * b; }
  Sum divide(const Sum& a, const Sum& d) { return parts(a, d).first; }
  Sum modulo(const Sum& a, const Sum& d) { return parts(a, d).second; }
  static Sum power(const Sum& s) {
    auto n = number_in(s);
    if (!n || *n < 0 || *n > 60) throw Stuck("a shift that is not a number");
    return constant(Number{1} << static_cast<int>(*n));
  }
  static bool truth(const Sum& s) {
    auto n = number_in(s);
    if (!n) throw Stuck("a condition that depends on the index");
    return *n != 0;
  }
  // Guessed at one point, then an inequality to be shown.
  bool compare(const std::string& op, const Sum& a, const Sum& b) {
    Sum d = b - a;
    Number here = sample(d);
    if (op == "==" || op == "!=") {
      if (d.terms.empty()) return op == "==";
      nonnegative(here > 0 ? d - constant(1) : constant(-1) * d - constant(1));
      return op == "!=";
    }
    bool strict = op == "<" || op == ">";
    if (op == ">" || op == ">=") d = constant(-1) * d, here = -here;
    bool yes = strict ? here > 0 : here >= 0;
    if (yes) {
      nonnegative(strict ? d - constant(1) : d);
    } else {
      nonnegative(strict ? constant(-1) * d : constant(-1) * d - constant(1));
    }
    return yes;
  }
  Sum bitwise(char op, const Sum& a, const Sum& b) {
    if (op == '&')
      for (const auto& [mask, x] : {std::pair{a, b}, std::pair{b, a}})
        if (auto n = number_in(mask); n && *n >= 0 && ((*n + 1) & *n) == 0)
          return modulo(x, constant(*n + 1));
    auto wa = width(a), wb = width(b);
    if (!wa && !wb) throw Stuck("bit operations on two unbounded values");
    int w = wa && wb ? std::min(*wa, *wb) : wa ? *wa : *wb;
    auto [low_a, high_a] = taken_apart(a, w);
    auto [low_b, high_b] = taken_apart(b, w);
    // One of the two is below 2^w: its high part is 0.
    Sum out;
    if (op != '&') out = (high_a + high_b) * constant(Number{1} << w);
    for (int j = 0; j < w; ++j) {
      Bit x = low_a[static_cast<std::size_t>(j)], y = low_b[static_cast<std::size_t>(j)], z;
      if (op == '^') {
        z = {x.mask ^ y.mask, x.flip != y.flip};
      } else {
        if (y.mask != 0) std::swap(x, y);
        bool absorbing = y.flip == (op == '|'); // the constant y decides
        if (y.mask != 0) {
          if (x.mask != y.mask || x.flip != y.flip) throw Stuck("& or | of two different bits");
          z = x;
        } else {
          z = absorbing ? Bit{0, op == '|'} : x;
        }
      }
      Sum weight = constant(Number{1} << j);
      if (z.flip) out = out + weight;
      if (z.mask != 0) out = out + (z.flip ? constant(-1) : constant(1)) * weight * parity(z.mask);
    }
    return out;
  }

  void nonnegative(const Sum& p) {
    auto n = number_in(p);
    if (n && *n >= 0) return;
    if (std::find(inequalities.begin(), inequalities.end(), p) == inequalities.end())
      inequalities.push_back(p);
  }

  // Value at one point: symbols a little above their least values, digits 0.
  [[nodiscard]] Number sample(const Sum& p) const {
    Number sum = 0;
    for (const auto& [product, c] : p.terms) {
      Number t = c;
      for (int v : product) {
        const Variable& x = all[static_cast<std::size_t>(v)];
        if (x.kind != Variable::Kind::symbol) {
          t = 0;
        } else {
          Number value = plus(x.lower, 2);
          t = times(t, x.upper ? std::min(value, *x.upper) : value);
        }
      }
      sum = plus(sum, t);
    }
    return sum;
  }

  // Is every coefficient nonnegative once each symbol is written as its least value plus more?
  [[nodiscard]] bool surely(const Sum& p) const {
    Sum shifted;
    for (const auto& [product, c] : p.terms) {
      Sum t = constant(c);
      for (int v : product) {
        const Variable& x = all[static_cast<std::size_t>(v)];
        if (x.kind != Variable::Kind::symbol) return false;
        t = t * (variable(v) + constant(x.lower));
      }
      shifted = shifted + t;
    }
    return std::all_of(shifted.terms.begin(), shifted.terms.end(),
                       [](const auto& t) { return t.second >= 0; });
  }

  // The least value of p over all digits, as a polynomial in symbols, when the coefficient of every digit has a known
  // sign; digits must enter linearly.
  [[nodiscard]] std::optional<Sum> least(const Sum& p) const {
    Sum out;
    std::map<int, Sum> by_digit;
    for (const auto& [product, c] : p.terms) {
      int digit = -1;
      Sum rest = constant(c);
      for (int v : product) {
        if (all[static_cast<std::size_t>(v)].kind == Variable::Kind::symbol) {
          rest = rest * variable(v);
        } else if (digit >= 0) {
          return std::nullopt;
        } else {
          digit = v;
        }
      }
      if (digit < 0) {
        out = out + rest;
      } else {
        by_digit[digit] = by_digit[digit] + rest;
      }
    }
    for (const auto& [d, c] : by_digit) {
      if (surely(c)) continue;
      if (!surely(constant(-1) * c)) return std::nullopt;
      const Variable& x = all[static_cast<std::size_t>(d)];
      if (x.unbounded) return std::nullopt;
      out = out + c * (x.kind == Variable::Kind::parity ? constant(1) : x.extent - constant(1));
    }
    return out;
  }

  std::vector<Variable> all;
  std::vector<Sum> inequalities;
  int bits = 0;

private:
  struct Bit {
    std::uint64_t mask = 0;
    bool flip = false;
  };

  std::pair<Sum, Sum> parts(const Sum& a, const Sum& d) {
    for (const auto& [product, c] : d.terms)
      for (int v : product)
        if (all[static_cast<std::size_t>(v)].kind != Variable::Kind::symbol)
          throw Stuck("a divisor that depends on the index");
    auto [q, r] = split(a, d);
    nonnegative(r);
    nonnegative(d - constant(1) - r);
    return {q, r};
  }

  // Bits needed for a sum of parities and a number; nothing for anything else.
  [[nodiscard]] std::optional<int> width(const Sum& s) const {
    Number low = 0, high = 0;
    for (const auto& [product, c] : s.terms) {
      if (product.empty()) {
        low = plus(low, c), high = plus(high, c);
        continue;
      }
      if (product.size() != 1 || all[static_cast<std::size_t>(product[0])].kind != Variable::Kind::parity)
        return std::nullopt;
      (c > 0 ? high : low) = plus(c > 0 ? high : low, c);
    }
    if (low < 0) return std::nullopt;
    int w = 0;
    while ((Number{1} << w) <= high) ++w;
    if (w > 60) return std::nullopt;
    return w;
  }

  // s = sum of 2^j bit_j for j < w, plus 2^w high: exact, or Stuck.
  [[nodiscard]] std::pair<std::vector<Bit>, Sum> taken_apart(const Sum& s, int w) const {
    Number block = Number{1} << w, base = 0;
    std::vector<Bit> bit(static_cast<std::size_t>(w));
    Sum high;
    std::uint64_t used = 0;
    for (const auto& [product, c] : s.terms) {
      Number rest = plus(c, -times(quotient(c, block), block));
      if (product.empty()) {
        base = plus(base, c);
      } else if (rest == 0) {
        high.terms[product] = c / block;
      } else {
        bool is_bit =
            product.size() == 1 && all[static_cast<std::size_t>(product[0])].kind == Variable::Kind::parity;
        Number size = c < 0 ? -c : c;
        if (!is_bit || size >= block || (size & (size - 1)) != 0 ||
            (used & static_cast<std::uint64_t>(size)) != 0)
          throw Stuck("bits that carry");
        used |= static_cast<std::uint64_t>(size);
        if (c < 0) base = plus(base, c); // -p = (1 - p) - 1
        int j = std::countr_zero(static_cast<std::uint64_t>(size));
        bit[static_cast<std::size_t>(j)] = {all[static_cast<std::size_t>(product[0])].mask, c < 0};
      }
    }
    Number low = plus(base, -times(quotient(base, block), block));
    high = high + constant(quotient(base, block));
    if ((used & static_cast<std::uint64_t>(low)) != 0) throw Stuck("bits that carry");
    for (int j = 0; j < w; ++j)
      if ((low >> j) & 1) bit[static_cast<std::size_t>(j)] = {0, true};
    return {bit, high};
  }
};

// ---- SMT-LIB text

std::string smt_number(Number n) { return n < 0 ? "(- " + text(-n) + ")" : text(n); }

std::string quoted(const std::string& prefix, const std::string& name) {
  std::string s = prefix + name;
  for (char c : s)
    if (c == '\'' || c == '.') return "|" + s + "|";
  return s;
}

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

// A formula as it stands; divisors that could be 0 or less are goals of their own.
std::string smt(const Expr& e, const std::map<std::string, std::string>& names,
                std::vector<std::string>& goals);

std::string smt_condition(const Expr& e, const std::map<std::string, std::string>& names,
                          std::vector<std::string>& goals) {
  auto side = [&](std::size_t k) { return smt(e->args[k], names, goals); };
  if (e->op == "&&" || e->op == "||")
    return std::string(e->op == "&&" ? "(and " : "(or ") + smt_condition(e->args[0], names, goals) + " " +
           smt_condition(e->args[1], names, goals) + ")";
  if (e->op == "!") return "(not " + smt_condition(e->args[0], names, goals) + ")";
  for (const char* op : {"<", "<=", ">", ">="})
    if (e->op == op) return "(" + e->op + " " + side(0) + " " + side(1) + ")";
  if (e->op == "==") return "(= " + side(0) + " " + side(1) + ")";
  if (e->op == "!=") return "(not (= " + side(0) + " " + side(1) + "))";
  return "(not (= " + smt(e, names, goals) + " 0))";
}

std::string smt(const Expr& e, const std::map<std::string, std::string>& names,
                std::vector<std::string>& goals) {
  static const std::set<std::string> conditions{"&&", "||", "!", "<", "<=", ">", ">=", "==", "!="};
  if (conditions.count(e->op) != 0) return "(ite " + smt_condition(e, names, goals) + " 1 0)";
  if (e->op == "int") return smt_number(e->value);
  if (e->op == "name") {
    auto it = names.find(e->name);
    if (it == names.end()) throw Stuck("nothing is known about " + e->name);
    return it->second;
  }
  if (e->op == "select")
    return "(ite " + smt_condition(e->args[0], names, goals) + " " + smt(e->args[1], names, goals) + " " +
           smt(e->args[2], names, goals) + ")";
  std::vector<std::string> v;
  for (const Expr& a : e->args) v.push_back(smt(a, names, goals));
  if (e->op == "neg") return "(- " + v[0] + ")";
  if (e->op == "+" || e->op == "-" || e->op == "*") return "(" + e->op + " " + v[0] + " " + v[1] + ")";
  if (e->op == "/" || e->op == "%") {
    if (e->args[1]->op != "int" || e->args[1]->value < 1) goals.push_back("(<= " + v[1] + " 0)");
    return std::string(e->op == "/" ? "(div " : "(mod ") + v[0] + " " + v[1] + ")";
  }
  if (e->op == "min") return "(ite (<= " + v[0] + " " + v[1] + ") " + v[0] + " " + v[1] + ")";
  if (e->op == "max") return "(ite (<= " + v[0] + " " + v[1] + ") " + v[1] + " " + v[0] + ")";
  if (e->op == "&")
    for (std::size_t k = 0; k < 2; ++k)
      if (const Expr& m = e->args[k]; m->op == "int" && m->value >= 0 && ((m->value + 1) & m->value) == 0)
        return "(mod " + v[1 - k] + " " + smt_number(m->value + 1) + ")";
  // Any function with this value is the bit operation's weaker brother: what holds for all of them holds for it.
  if (e->op == "&" || e->op == "|" || e->op == "^") {
    std::sort(v.begin(), v.end());
    return (e->op == "&"   ? "(bits_and "
            : e->op == "|" ? "(bits_or "
                           : "(bits_xor ") +
           v[0] + " " + v[1] + ")";
  }
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
      asserted.push_back(smt_condition(f, names, divisors));
    } catch (const Stuck&) {
    }
}

std::string assembled(const std::vector<std::string>& declared, const std::vector<std::string>& asserted,
                      const std::vector<std::string>& goals) {
  std::string out = "(set-logic ALL)\n";
  for (const std::string& d : declared) out += "(declare-const " + d + " Int)\n";
  for (const char* f : {"bits_and", "bits_or", "bits_xor"}) {
    std::string call = std::string("(") + f + " ";
    auto in = [&](const std::string& text) { return text.find(call) != std::string::npos; };
    if (std::any_of(asserted.begin(), asserted.end(), in) || std::any_of(goals.begin(), goals.end(), in))
      out += "(declare-fun " + std::string(f) + " (Int Int) Int)\n";
  }
  for (const std::string& a : asserted) out += "(assert " + a + ")\n";
  std::set<std::string> seen;
  out += "(assert (or false";
  for (const std::string& g : goals)
    if (seen.insert(g).second) out += " " + g;
  return out + "))\n(check-sat)\n";
}

// ---- numbers: the definition

struct Plain {
  using Value = Number;
  static Number number(Number n) { return n; }
  static Number add(Number a, Number b) { return plus(a, b); }
  static Number multiply(Number a, Number b) { return times(a, b); }
  static Number divide(Number a, Number b) { return quotient(a, b); }
  static Number modulo(Number a, Number b) { return plus(a, -times(quotient(a, b), b)); }
  static Number power(Number n) {
    if (n < 0 || n > 100) throw Stuck("a shift by " + text(n));
    return Number{1} << static_cast<int>(n);
  }
  static bool truth(Number n) { return n != 0; }
  static bool compare(const std::string& op, Number a, Number b) {
    return op == "<"    ? a < b
           : op == "<=" ? a <= b
           : op == ">"  ? a > b
           : op == ">=" ? a >= b
           : op == "==" ? a == b
                        : a != b;
  }
  static Number bitwise(char op, Number a, Number b) {
    return op == '&' ? (a & b) : op == '|' ? (a | b) : (a ^ b);
  }
};

// ---- facts

void conjuncts(const Expr& e, std::vector<Expr>& out) {
  if (e->op == "&&") {
    conjuncts(e->args[0], out);
    conjuncts(e->args[1], out);
  } else {
    out.push_back(e);
  }
}

// The value of an expression without names: 3, -3, 2*(4-7).
std::optional<Number> number_of(const Expr& e) {
  std::vector<std::string> names;
  collect_names(e, names);
  if (!names.empty()) return std::nullopt;
  Plain plain;
  return Evaluation<Plain>(plain).expression(e, {});
}

// Symbols are at least 1 unless a condition bounds them from below by a number (prove.h).
bool has_lower_bound(const std::string& name, const std::vector<Expr>& facts) {
  for (const Expr& f : facts) {
    if (f->args.size() != 2) continue;
    for (bool swapped : {false, true}) {
      const Expr &x = f->args[swapped ? 1 : 0], &y = f->args[swapped ? 0 : 1];
      if (x->op != "name" || x->name != name || !number_of(y)) continue;
      if (f->op == "==" || f->op == (swapped ? "<=" : ">=") || f->op == (swapped ? "<" : ">")) return true;
    }
  }
  return false;
}

// Facts that nothing satisfies prove everything. So the certificate names values at which they hold.
void require_example(const Statement& s) {
  if (s.facts.empty()) return;
  if (s.example.empty()) throw Stuck("nothing shows that the facts hold for any value");
  std::vector<Expr> facts;
  for (const Expr& f : s.facts) conjuncts(f, facts);
  Plain plain;
  Evaluation<Plain> e(plain);
  for (const std::string& n : symbols_of(s)) {
    auto it = s.example.find(n);
    if (it == s.example.end()) throw Stuck("the example has no value for " + n);
    if (it->second < 1 && !has_lower_bound(n, facts)) throw Stuck("the example is below 1 for " + n);
  }
  for (const Expr& f : facts)
    if (e.expression(f, s.example) == 0) throw Stuck("the example does not satisfy the facts");
}

bool mentions(const Expr& e, std::initializer_list<const char*> ops) {
  for (const char* o : ops)
    if (e->op == o) return true;
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& a) { return mentions(a, ops); });
}

struct Derivation {
  explicit Derivation(const Statement& statement) : s(statement), e(d), names(symbols_of(statement)) {
    for (const Expr& f : statement.facts) conjuncts(f, facts);
  }

  const Statement& s;
  Digits d;
  Evaluation<Digits> e;
  std::vector<std::string> names; // the user's
  std::vector<Expr> facts;
  std::map<std::string, Sum> user;     // what the user's symbols are
  std::vector<std::string> identities; // goals that state A = B
  std::vector<std::string> extra_declarations, extra_goals;
  std::vector<std::string> constraints; // a coordinate whose digits reach beyond it
  std::vector<std::string> queries;

  // "symbol M' >= 1", "symbol n >= 0 <= 63"; "let M = 128*M'". The query: whatever values the facts allow, there are
  // values of the inner symbols in their bounds that give them.
  void symbols() {
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
      if (mine.count(name) == 0 || user.count(name) != 0) throw Stuck("a let for " + name);
      Sum p = e.expression(read_expression(value.substr(is + 3)), inner);
      user[name] = p;
      // user = factor * fresh + rest
      int fresh = -1;
      for (const auto& [product, c] : p.terms)
        for (int v : product)
          if (defined.count(v) == 0) {
            if (fresh >= 0 && fresh != v) throw Stuck("a let of two new symbols");
            fresh = v;
          }
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
      if (number_in(factor) == Number{1}) {
        asserted.push_back("(= " + v.smt + " " + difference + ")");
      } else {
        asserted.push_back("(= " + v.smt + " (div " + difference + " " + by + "))");
        goals.push_back("(<= " + by + " 0)");
        goals.push_back("(not (= " + mine[name] + " " + smt(p, d.all) + "))");
      }
      goals.push_back("(< " + v.smt + " " + smt_number(v.lower) + ")");
      if (v.upper) goals.push_back("(> " + v.smt + " " + smt_number(*v.upper) + ")");
      defined.insert(fresh);
    }
    for (const std::string& n : names)
      if (user.count(n) == 0) throw Stuck("no let for " + n);
    if (defined.size() != inner.size()) throw Stuck("a symbol that stands for nothing");
    if (!goals.empty()) queries.push_back(assembled(declared, asserted, goals));
  }

  // Digits of a function: one value per coordinate, and the index.
  struct Place {
    std::vector<Sum> coordinates, extents;
    Sum index;
  };
  Place place(const Function& f, const std::string& line, const std::string& prefix) {
    std::vector<std::optional<Sum>> sizes; // none: whatever is left of the coordinate
    std::map<std::string, Sum> inner;
    for (const Variable& v : d.all)
      if (v.kind == Variable::Kind::symbol) {
        std::string n = v.smt;
        n.erase(std::remove(n.begin(), n.end(), '|'), n.end());
        inner[n.substr(2)] = Digits::variable(static_cast<int>(&v - d.all.data()));
      }
    for (std::size_t begin = 0; begin <= line.size();) {
      std::size_t end = std::min(line.find(" | ", begin), line.size());
      std::string size = line.substr(begin, end - begin);
      if (size == "*") {
        sizes.emplace_back();
      } else {
        sizes.emplace_back(e.expression(read_expression(size), inner));
      }
      begin = end + 3;
    }
    bool larger = s.property == "equal" || s.property == "within" || s.property == "aligned" ||
                  s.property == "injective";
    Place p;
    Sum before = constant(1);
    std::size_t k = 0;
    for (const Expr& extent : f.extents) {
      Sum want = e.expression(extent, user), have = constant(1), c;
      while (!(have == want)) {
        // A box larger than the domain is enough for what is said point by point, and for injectivity.
        auto n = number_in(have), m = number_in(want);
        if (larger && n && m && *n > *m) break;
        if (k == sizes.size()) throw Stuck("digits that do not make up the coordinates");
        std::string name = prefix + std::to_string(k);
        if (!sizes[k]) {
          if (!larger) throw Stuck("digits that cover more than the domain");
          c = c + d.tail(name) * have;
          ++k;
          break;
        }
        d.nonnegative(*sizes[k] - constant(1));
        c = c + d.digit(*sizes[k], name) * have;
        have = have * *sizes[k++];
      }
      if (!(have == want)) constraints.push_back("(< " + smt(c, d.all) + " " + smt(want, d.all) + ")");
      p.coordinates.push_back(c);
      p.extents.push_back(want);
      p.index = p.index + c * before;
      before = before * want;
    }
    for (; k < sizes.size(); ++k)
      if (!sizes[k] || !(*sizes[k] == constant(1))) throw Stuck("digits that do not make up the coordinates");
    return p;
  }
  Sum size(const Function& f) {
    Sum n = constant(1);
    for (const Expr& x : f.extents) n = n * e.expression(x, user);
    return n;
  }
  void same(const Sum& a, const Sum& b, const char* what) {
    if (!(a == b)) throw Stuck(std::string(what) + " are not the same polynomial");
    identities.push_back("(not (= " + smt(a, d.all) + " " + smt(b, d.all) + "))");
  }

  // Everything into one query.
  void finish() {
    std::vector<std::string> declared, asserted, goals = identities;
    for (std::size_t k = 0; k < d.all.size(); ++k) {
      const Variable& v = d.all[k];
      declared.push_back(v.smt);
      if (v.kind == Variable::Kind::symbol) {
        asserted.push_back("(>= " + v.smt + " " + smt_number(v.lower) + ")");
        if (v.upper) asserted.push_back("(<= " + v.smt + " " + smt_number(*v.upper) + ")");
      } else if (v.unbounded) {
        asserted.push_back("(<= 0 " + v.smt + ")");
      } else if (v.kind == Variable::Kind::digit) {
        asserted.push_back("(and (<= 0 " + v.smt + ") (< " + v.smt + " " + smt(v.extent, d.all) + "))");
      } else {
        asserted.push_back("(and (<= 0 " + v.smt + ") (<= " + v.smt + " 1))");
      }
    }
    asserted.insert(asserted.end(), constraints.begin(), constraints.end());
    std::map<std::string, std::string> as_inner;
    for (const auto& [n, p] : user) as_inner[n] = smt(p, d.all);
    for (const Expr& f : facts)
      if (!mentions(f, {"^", "|", "min", "max", "select"})) {
        std::vector<std::string> none;
        std::string fact = smt_condition(f, as_inner, none);
        // Divisions by symbols cost a solver more than they help it.
        if (none.empty() && fact.find("(bits_and ") == std::string::npos) asserted.push_back(fact);
      }
    for (const Sum& p : d.inequalities) {
      auto low = d.least(p);
      goals.push_back("(< " + smt(low ? *low : p, d.all) + " 0)");
    }
    goals.insert(goals.end(), extra_goals.begin(), extra_goals.end());
    for (const std::string& x : extra_declarations) declared.push_back(x);
    queries.push_back(assembled(declared, asserted, goals));
  }

  [[nodiscard]] std::vector<std::string> hints(const std::string& key) const {
    std::vector<std::string> out;
    for (const auto& [k, v] : s.hints)
      if (k == key) out.push_back(v);
    return out;
  }

  // ---- the properties

  void equal() {
    const Function &a = s.functions[0], &b = s.functions[1];
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
      Place p = place(x, digits[0].substr(digits[0].find(' ') + 1), "x");
      same(e.at(x, p.coordinates, user), e.at_index(y, p.index, user), "the two functions");
      return;
    }
    // A = C and C = B, the layout C in between written in inner symbols.
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
      const Function& f = s.functions[k];
      Place p = place(f, digits[k].substr(digits[k].find(' ') + 1), k == 0 ? "x" : "y");
      Sum zero = e.at_index(f, {}, user), here = e.at(f, p.coordinates, user);
      if (k == 1) same(e.at_index(s.functions[0], {}, user), zero, "the values at index 0");
      same(here, zero + e.flat(c, p.index, inner), "a function and the layout between");
    }
  }

  // Coefficient of every variable in a sum without products of them.
  std::vector<std::pair<Sum, Sum>> items(const Sum& f) {
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
    for (std::size_t v = 0; v < d.all.size(); ++v) {
      if (d.all[v].kind == Variable::Kind::symbol) continue;
      Sum c = coefficient(static_cast<int>(v));
      for (const auto& [product, n] : c.terms)
        for (int w : product)
          if (d.all[static_cast<std::size_t>(w)].kind != Variable::Kind::symbol)
            throw Stuck("a product of digits");
      if (d.all[v].kind == Variable::Kind::digit) {
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
    if (rank != std::popcount(bits)) throw Stuck("parities that do not determine the bits");
    return out;
  }

  // Each weight exceeds what the smaller ones reach together.
  void dominated(const Sum& f) {
    auto all = items(f);
    for (auto& [c, steps] : all)
      if (d.sample(c) < 0) c = constant(-1) * c;
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& x, const auto& y) { return d.sample(x.first) < d.sample(y.first); });
    Sum reach;
    bool last = false; // an unbounded digit, the number of whose steps is written -1, has to be the topmost
    for (const auto& [c, steps] : all) {
      if (last) throw Stuck("a digit above one without bound");
      d.nonnegative(c - reach - constant(1));
      last = number_in(steps) == Number{-1};
      reach = reach + c * steps;
    }
  }

  // A swizzle at the end is a bijection of all integers >= 0, an offset of all integers.
  [[nodiscard]] static Function without_outer_bijections(Function f) {
    while (!f.outer.empty() && f.outer.front().modes.empty()) f.outer.erase(f.outer.begin());
    return f;
  }

  Place own(const Function& f, std::size_t which = 0) {
    std::vector<std::string> digits = hints("digits");
    const char* prefix[] = {"x", "y"};
    if (which >= digits.size()) throw Stuck("no digits");
    return place(f, digits[which].substr(digits[which].find(' ') + 1), prefix[which]);
  }

  void inside(const Sum& f, const Sum& n) {
    d.nonnegative(f);
    d.nonnegative(n - constant(1) - f);
  }

  void injective() {
    Function f = without_outer_bijections(s.functions[0]);
    Place p = own(f);
    dominated(e.at(f, p.coordinates, user));
  }

  void bijective() {
    Function f = s.functions[0];
    Sum n = size(f);
    // A swizzle permutes aligned blocks of its reach; it may go when they make up the size.
    while (!f.outer.empty() && f.outer.front().bits > 0) {
      const Stage& w = f.outer.front();
      Sum block = constant(Number{1} << (w.bits + w.base + (w.shift < 0 ? -w.shift : w.shift)));
      auto [q, r] = split(n, block);
      if (!r.terms.empty()) break;
      same(n, q * block, "the size and a multiple of the swizzle's reach");
      f.outer.erase(f.outer.begin());
    }
    Place p = own(f);
    Sum v = e.at(f, p.coordinates, user);
    inside(v, n);
    dominated(v);
  }

  void covers() {
    const Function& f = s.functions[0];
    Place p = own(f);
    Sum v = e.at(f, p.coordinates, user), n = e.expression(s.terms[0], user);
    if (s.method == "domination and count") {
      inside(v, size(f));
      dominated(v);
      d.nonnegative(size(f) - n);
      return;
    }
    // From [0, reach) with a stride of at most reach: [0, reach + stride * steps).
    std::vector<std::pair<Sum, Sum>> all;
    for (std::size_t k = 0; k < d.all.size(); ++k) {
      const Variable& x = d.all[k];
      if (x.kind == Variable::Kind::symbol) continue;
      Sum c;
      for (const auto& [product, m] : v.terms)
        if (auto without = over(product, {static_cast<int>(k)})) {
          Sum t;
          t.terms[*without] = m;
          c = c + t;
        }
      v = v - c * Digits::variable(static_cast<int>(k));
      if (x.kind == Variable::Kind::parity && std::popcount(x.mask) != 1 && !c.terms.empty())
        throw Stuck("a parity of several bits");
      if (!c.terms.empty())
        all.emplace_back(c, x.kind == Variable::Kind::parity ? constant(1) : x.extent - constant(1));
    }
    if (!v.terms.empty()) throw Stuck("a constant, or a product of digits");
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& x, const auto& y) { return d.sample(x.first) < d.sample(y.first); });
    // A digit that is not needed stays 0: those beyond n, and those whose stride leaves a gap.
    Sum reach = constant(1);
    for (const auto& [c, steps] : all) {
      if (d.surely(reach - n)) break;
      if (d.sample(c) <= 0 || d.sample(reach - c) < 0) continue;
      d.nonnegative(c);
      d.nonnegative(reach - c);
      reach = reach + c * steps;
    }
    d.nonnegative(reach - n);
  }

  void aligned() {
    Place p = own(s.functions[0]);
    Sum v = e.at(s.functions[0], p.coordinates, user), w = e.expression(s.terms[0], user);
    auto [q, r] = split(v, w);
    if (r.terms.empty()) {
      same(v, q * w, "the value and a multiple of the alignment");
      d.nonnegative(w - constant(1));
      return;
    }
    // What is left has to vanish modulo w for every residue of what it is made of.
    auto m = number_in(w);
    std::set<int> in;
    for (const auto& [product, c] : r.terms) in.insert(product.begin(), product.end());
    Number classes = 1;
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (!m || *m < 1 || *m > 4096) throw Stuck("a remainder modulo the alignment");
      classes = times(classes, *m);
      if (classes > 65536) throw Stuck("more than 65536 residues");
    }
    for (Number k = 0; k < classes; ++k) {
      Number sum = 0;
      for (const auto& [product, c] : r.terms) {
        Number t = c;
        for (int v2 : product) {
          Number rest = k;
          for (int other : in) {
            if (other == v2) break;
            rest /= *m;
          }
          t = times(t, rest % *m);
        }
        sum = plus(sum, t);
      }
      if (sum % *m != 0) throw Stuck("a value that the alignment does not divide");
    }
    same(v, q * w + r, "the value and its parts");
  }

  void within() {
    Place p = own(s.functions[0]);
    inside(e.at(s.functions[0], p.coordinates, user), e.expression(s.terms[0], user));
  }

  void disjoint() {
    Place p = own(s.functions[0], 0), q = own(s.functions[1], 1);
    Sum a = e.at(s.functions[0], p.coordinates, user), b = e.at(s.functions[1], q.coordinates, user);
    // Apart modulo the gcd of all coefficients: as a query without the products.
    Number g = 0;
    Sum difference = a - b;
    for (const auto& [product, c] : difference.terms) {
      if (product.empty()) continue;
      Number x = g < 0 ? -g : g, y = c < 0 ? -c : c;
      while (y != 0) std::swap(x %= y, y);
      g = x;
    }
    auto k = difference.terms.find({});
    Number c = k == difference.terms.end() ? 0 : k->second;
    if (g > 1 && c % g != 0) {
      extra_declarations.push_back("multiple");
      extra_goals.push_back("(= (* " + smt_number(g) + " multiple) " + smt_number(c) + ")");
      return;
    }
    auto low = d.least(a - b), high = d.least(b - a);
    if (low && d.sample(*low) > 0) {
      d.nonnegative(a - b - constant(1));
    } else if (high && d.sample(*high) > 0) {
      d.nonnegative(b - a - constant(1));
    } else {
      extra_goals.push_back("(= " + smt(a, d.all) + " " + smt(b, d.all) + ")");
    }
  }

  void inverse() {
    const Function &a = s.functions[0], &b = s.functions[1];
    Place p = own(b);
    Sum y = e.at(b, p.coordinates, user);
    inside(y, size(a));
    same(e.at_index(a, y, user), p.index, "A(B(i)) and i");
  }

  void by_digits() {
    symbols();
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
};

// ---- finitely many values

using Environment = std::map<std::string, Number>;
constexpr Number most_evaluations = Number{1} << 24;

class Definition {
public:
  explicit Definition(const Statement& s) : s_(s), e_(plain_) {}

  // The property at one assignment; false is a counterexample.
  bool holds(const Environment& env) {
    env_ = &env;
    const std::string& p = s_.property;
    Number n = size(0);
    if (p == "conflict-free" || p == "coalesced") return by_waves(n);
    if (p == "equal") {
      if (n != size(1)) return false;
      if (s_.by_mode && extents(0) != extents(1)) return false;
    }
    Number term = s_.terms.empty() ? 0 : e_.expression(s_.terms[0], env);
    std::set<Number> seen;
    for (Number i = 0; i < (p == "inverse" ? size(1) : n); ++i) {
      if (p == "inverse") {
        Number y = at(1, i);
        if (y < 0 || y >= n || at(0, y) != i) return false;
        continue;
      }
      Number v = at(0, i);
      if (p == "equal" && v != at(1, i)) return false;
      if (p == "bijective" && (v < 0 || v >= n)) return false;
      if (p == "within" && (v < 0 || v >= term)) return false;
      if (p == "aligned" && (term < 1 || v % term != 0)) return false;
      bool fresh = true;
      if (p == "injective" || p == "bijective" || p == "disjoint" || (p == "covers" && v >= 0 && v < term))
        fresh = seen.insert(v).second;
      if ((p == "injective" || p == "bijective") && !fresh) return false;
    }
    if (p == "covers" && static_cast<Number>(seen.size()) < term) return false;
    if (p == "disjoint") {
      Number m = size(1);
      for (Number j = 0; j < m; ++j)
        if (seen.count(at(1, j)) != 0) return false;
    }
    return true;
  }

  Number evaluations = 0;

private:
  Number size(std::size_t k) {
    Number n = 1;
    for (Number x : extents(k)) n = times(n, x);
    return n;
  }
  std::vector<Number> extents(std::size_t k) {
    std::vector<Number> out;
    for (const Expr& x : s_.functions[k].extents) {
      out.push_back(e_.expression(x, *env_));
      if (out.back() < 1) throw Stuck("an extent below 1");
    }
    return out;
  }
  Number at(std::size_t k, Number i) {
    if (++evaluations > 4 * most_evaluations) throw Stuck("more than 2^26 evaluations");
    return e_.at_index(s_.functions[k], i, *env_);
  }
  // An index as colexicographic coordinates, also for a layout: lanes, values, instances.
  Number at_coordinates(const std::vector<Number>& c) {
    if (++evaluations > 4 * most_evaluations) throw Stuck("more than 2^26 evaluations");
    return e_.at(s_.functions[0], c, *env_);
  }
  bool by_waves(Number n) {
    std::vector<Number> size = extents(0);
    bool lds = s_.property == "conflict-free";
    Number values = !lds && size.size() > 1 ? size[1] : 1, wave = times(size[0], values);
    if (size[0] > 64 || values > 16) throw Stuck("no wave");
    for (Number first = 0; first < n; first += wave) {
      std::vector<std::vector<Number>> bytes(static_cast<std::size_t>(size[0]));
      for (Number k = first; k < first + wave; ++k) {
        std::vector<Number> c;
        Number rest = k;
        for (Number x : size) c.push_back(rest % x), rest /= x;
        bytes[static_cast<std::size_t>(c[0])].push_back(at_coordinates(c));
      }
      if (lds ? !conflict_free(s_, bytes) : !coalesced(s_, bytes)) return false;
    }
    return true;
  }

public:
  static bool conflict_free(const Statement& s, const std::vector<std::vector<Number>>& bytes) {
    const LdsAccess& model = lds_access(s.settings.at("access"), s.settings.at("arch"));
    Number width = model.bytes, aligned = width == 12 ? 4 : width;
    for (const auto& lane : bytes)
      if (lane[0] % aligned != 0) return false;
    for (const auto& phase : model.phases) {
      std::map<Number, Number> dword_in_bank;
      for (unsigned lane : phase) {
        if (lane >= bytes.size()) continue;
        Number first = quotient(bytes[lane][0], 4);
        for (Number dword = first; dword < first + width / 4; ++dword) {
          Number bank = Plain::modulo(dword, model.banks);
          auto [it, fresh] = dword_in_bank.emplace(bank, dword);
          if (!fresh && it->second != dword) return false;
        }
      }
    }
    return true;
  }
  static Number setting(const Statement& s, const char* key) {
    auto it = s.settings.find(key);
    if (it == s.settings.end()) throw Stuck(std::string("no ") + key);
    Expr x = read_expression(it->second);
    if (x->op != "int") throw Stuck(std::string(key) + " is no number");
    return x->value;
  }
  static bool coalesced(const Statement& s, const std::vector<std::vector<Number>>& offsets) {
    Number element = setting(s, "element-bytes"), allowed = setting(s, "lines"),
           line = global_memory(s.settings.at("arch")).line_bytes;
    std::set<Number> bytes, lines;
    for (const auto& lane : offsets)
      for (std::size_t v = 0; v < lane.size(); ++v) {
        if (lane[v] != lane[0] + static_cast<Number>(v)) return false;
        for (Number b = 0; b < element; ++b) bytes.insert(plus(times(lane[v], element), b));
      }
    for (Number b : bytes) lines.insert(quotient(b, line));
    auto count = static_cast<Number>(lines.size()),
         least = quotient(static_cast<Number>(bytes.size()) + line - 1, line);
    return count <= (allowed == 0 ? least : allowed);
  }

private:
  const Statement& s_;
  Plain plain_;
  Evaluation<Plain> e_;
  const Environment* env_ = nullptr;
};

// Every assignment that the facts allow, when they bound each symbol by numbers and leave at most 4096.
std::optional<std::vector<Environment>> assignments(const Statement& s) {
  std::vector<Expr> facts;
  for (const Expr& f : s.facts) conjuncts(f, facts);
  std::vector<Environment> out{{}};
  for (const std::string& n : symbols_of(s)) {
    std::optional<Number> low, high;
    for (const Expr& f : facts) {
      if (f->args.size() != 2) continue;
      Expr x = f->args[0], y = f->args[1];
      std::string op = f->op;
      if (number_of(x)) {
        std::swap(x, y);
        op = op == "<" ? ">" : op == "<=" ? ">=" : op == ">" ? "<" : op == ">=" ? "<=" : op;
      }
      auto value = number_of(y);
      if (x->op != "name" || x->name != n || !value) continue;
      Number v = *value;
      if (op == "==" || op == ">=" || op == ">") low = low ? std::max(*low, v) : v;
      if (op == "==" || op == "<=" || op == "<") high = high ? std::min(*high, v) : v;
    }
    if (!high) return std::nullopt;
    std::vector<Environment> more;
    for (const Environment& e : out)
      for (Number v = low ? *low : 1; v <= *high; ++v) { // a loop of at most 65536 steps
        more.push_back(e);
        more.back()[n] = v;
        if (more.size() > 65536) return std::nullopt;
      }
    out = std::move(more);
  }
  Plain plain;
  Evaluation<Plain> e(plain);
  std::erase_if(out, [&](const Environment& env) {
    return std::any_of(facts.begin(), facts.end(), [&](const Expr& f) { return e.expression(f, env) == 0; });
  });
  if (out.empty()) throw Stuck("no value satisfies the facts");
  if (out.size() > 4096) return std::nullopt;
  return out;
}

// Few enough values in all to look at each?
bool affordable(const Statement& s, const std::vector<Environment>& all) {
  Plain plain;
  Evaluation<Plain> e(plain);
  Number count = 0;
  for (const Environment& env : all)
    for (const Function& f : s.functions) {
      Number n = 1;
      for (const Expr& x : f.extents) n = times(n, e.expression(x, env));
      if ((count = plus(count, n)) > most_evaluations) return false;
    }
  return true;
}

std::string by_definition(const Statement& s, const std::vector<Environment>& all) {
  Definition d(s);
  for (const Environment& env : all)
    if (!d.holds(env)) throw False("the claim is false where it was evaluated");
  return text(d.evaluations) + " evaluations" +
         (all.size() > 1 ? " at " + std::to_string(all.size()) + " assignments" : "");
}

// ---- waves with symbols: residues for the banks of LDS

struct Residues : Plain { // numbers of which some stand for everything of their residue class
  struct Value {
    Number n = 0;
    bool any = false;
  };
  static Value number(Number n) { return {n, false}; }
  static Value add(Value a, Value b) { return {plus(a.n, b.n), a.any || b.any}; }
  static Value multiply(Value a, Value b) { return {times(a.n, b.n), a.any || b.any}; }
  static Value exact(Value a, Value b, Number n) {
    if (a.any || b.any) throw Stuck("a symbol that does not enter by + - * only");
    return {n, false};
  }
  static Value divide(Value a, Value b) { return exact(a, b, a.any || b.any ? 0 : Plain::divide(a.n, b.n)); }
  static Value modulo(Value a, Value b) { return exact(a, b, a.any || b.any ? 0 : Plain::modulo(a.n, b.n)); }
  static Value power(Value a) { return exact(a, a, a.any ? 0 : Plain::power(a.n)); }
  static Value bitwise(char op, Value a, Value b) { return exact(a, b, Plain::bitwise(op, a.n, b.n)); }
  static bool truth(Value a) { return exact(a, a, a.n).n != 0; }
  static bool compare(const std::string& op, Value a, Value b) {
    return Plain::compare(op, a.n, exact(a, b, b.n).n);
  }
};

std::string banks_by_residues(Derivation& derivation) {
  const Statement& s = derivation.s;
  derivation.symbols();
  Function core = s.functions[0];
  std::vector<Stage> outer;
  while (!core.outer.empty() && core.outer.front().modes.empty()) {
    outer.push_back(core.outer.front());
    core.outer.erase(core.outer.begin());
  }
  Number period = 4 * static_cast<Number>(lds_access(s.settings.at("access"), s.settings.at("arch")).banks);
  for (const Stage& w : outer)
    period = std::max(period, Number{1} << (w.bits + w.base + (w.shift < 0 ? -w.shift : w.shift)));
  Residues algebra;
  Evaluation<Residues> e(algebra);
  struct Free {
    std::string name; // of an inner symbol; "" for an instance coordinate
    Number first, count;
    bool any;
  };
  std::vector<Free> free;
  for (const Variable& v : derivation.d.all) {
    std::string n = v.smt;
    n.erase(std::remove(n.begin(), n.end(), '|'), n.end());
    bool small = v.upper && *v.upper - v.lower < period;
    free.push_back({n.substr(2), v.lower, small ? *v.upper - v.lower + 1 : period, !small});
  }
  for (std::size_t k = 1; k < core.extents.size(); ++k) {
    auto n = number_in(derivation.e.expression(core.extents[k], derivation.user));
    bool small = n && *n <= period;
    free.push_back({"", 0, small ? *n : period, !small});
  }
  auto lanes = number_in(derivation.e.expression(core.extents[0], derivation.user));
  if (!lanes || *lanes > 64) throw Stuck("no wave");
  Number points = 1;
  for (const Free& f : free)
    if ((points = times(points, f.count)) * *lanes > most_evaluations)
      throw Stuck("more than 2^24 evaluations");
  std::map<std::string, Expr> lets;
  for (const auto& [key, value] : s.hints)
    if (key == "let")
      lets[value.substr(0, value.find(" = "))] = read_expression(value.substr(value.find(" = ") + 3));
  // Each class at two of its values: lanes that want one dword at the first may want two at the second.
  for (Number point = 0; point < 2 * points; ++point) {
    Number rest = point / 2, second = point % 2;
    std::map<std::string, Residues::Value> inner, user;
    std::vector<Residues::Value> at(1);
    for (const Free& f : free) {
      Residues::Value v{f.first + rest % f.count + (f.any ? second * period : 0), f.any};
      rest /= f.count;
      if (f.name.empty()) {
        at.push_back(v);
      } else {
        inner[f.name] = v;
      }
    }
    for (const auto& [name, p] : lets) user[name] = e.expression(p, inner);
    std::vector<std::vector<Number>> bytes;
    for (Number lane = 0; lane < *lanes; ++lane) {
      at[0] = {lane, false};
      Number x = e.at(core, at, user).n;
      for (std::size_t k = outer.size(); k-- > 0;) {
        const Stage& w = outer[k];
        if (w.offset) {
          x = plus(x, e.expression(w.offset, user).n);
          continue;
        }
        int from = w.base + (w.shift > 0 ? w.shift : 0), to = w.base + (w.shift < 0 ? -w.shift : 0);
        x ^= ((x >> from) & ((Number{1} << w.bits) - 1)) << to;
      }
      bytes.push_back({x});
    }
    if (!Definition::conflict_free(s, bytes)) throw Stuck("the claim is false where it was evaluated");
  }
  return text(points) + " residues and instances modulo " + text(period);
}

// ---- lines with symbols: what all lanes share is any multiple of its coefficients' gcd; what they differ in is a
// multiple of the line but for a number.
std::string lines_by_forms(Derivation& derivation) {
  const Statement& s = derivation.s;
  derivation.symbols();
  const Function& f = s.functions[0];
  Number element = Definition::setting(s, "element-bytes"), allowed = Definition::setting(s, "lines"),
         line = global_memory(s.settings.at("arch")).line_bytes;
  std::vector<std::optional<Number>> size;
  for (const Expr& x : f.extents) size.push_back(number_in(derivation.e.expression(x, derivation.user)));
  if (!size[0] || *size[0] > 64 || (size.size() > 1 && (!size[1] || *size[1] > 16))) throw Stuck("no wave");
  Number values = size.size() > 1 ? *size[1] : 1, instances = 1;
  std::vector<bool> counted(size.size());
  std::vector<Sum> at(size.size());
  for (std::size_t k = 2; k < size.size(); ++k) {
    counted[k] = size[k] && instances * *size[k] <= 1024;
    if (counted[k]) {
      instances *= *size[k];
    } else {
      at[k] =
          derivation.d.digit(derivation.e.expression(f.extents[k], derivation.user), "x" + std::to_string(k));
    }
  }
  for (Number i = 0; i < instances; ++i) {
    Number rest = i;
    for (std::size_t k = 2; k < size.size(); ++k)
      if (counted[k]) at[k] = constant(rest % *size[k]), rest /= *size[k];
    std::optional<Sum> base;
    Number step = line;
    std::map<Product, int> unused;
    std::vector<std::pair<Sum, Number>> places; // rest, byte
    for (Number lane = 0; lane < *size[0]; ++lane) {
      Number first = 0;
      for (Number value = 0; value < values; ++value) {
        at[0] = constant(lane);
        if (at.size() > 1) at[1] = constant(value);
        Sum x = derivation.e.at(f, at, derivation.user) * constant(element);
        Number c = x.terms.count({}) != 0 ? x.terms.at({}) : 0;
        x = x - constant(c);
        if (!base) {
          base = x;
          for (const auto& [p, n] : x.terms) {
            Number a = n < 0 ? -n : n;
            while (a != 0) std::swap(step %= a, a);
          }
        }
        x = x - *base;
        for (const auto& [p, n] : x.terms)
          if (n % line != 0) throw Stuck("lanes that differ by no multiple of the line");
        if (value == 0) first = c;
        if (c != first + value * element || (value > 0 && !(places.back().first == x)))
          throw Stuck("a torn vector");
        places.emplace_back(x, c);
      }
    }
    for (Number shift = 0; shift < line; shift += step) {
      std::vector<std::pair<Sum, std::set<Number>>> by_rest;
      for (const auto& place : places) {
        const Sum& x = place.first;
        Number c = place.second;
        auto it = std::find_if(by_rest.begin(), by_rest.end(), [&](const auto& y) { return y.first == x; });
        if (it == by_rest.end()) it = by_rest.insert(it, {x, {}});
        for (Number b = 0; b < element; ++b) it->second.insert(c + shift + b);
      }
      Number lines = 0, bytes = 0;
      for (const auto& [x, set] : by_rest) {
        std::set<Number> mine;
        for (Number b : set) mine.insert(quotient(b, line));
        lines += static_cast<Number>(mine.size()), bytes += static_cast<Number>(set.size());
      }
      if (lines > (allowed == 0 ? quotient(bytes + line - 1, line) : allowed))
        throw Stuck("more lines than are claimed");
    }
  }
  return "every lane's bytes modulo " + text(line);
}

// ---- the claim as it stands

Expr tree(std::string op, std::vector<Expr> args) {
  return std::make_shared<Expression>(Expression{std::move(op), 0, {}, std::move(args)});
}
Expr leaf(const std::string& name) { return std::make_shared<Expression>(Expression{"name", 0, name, {}}); }

struct Trees {
  using Value = Expr;
  static Expr whole(const Expr& e, const std::map<std::string, Expr>& names);
  static Expr number(Number n) { return std::make_shared<Expression>(Expression{"int", n, {}, {}}); }
  static Expr add(const Expr& a, const Expr& b) {
    return a->op == "int" && a->value == 0 ? b : tree("+", {a, b});
  }
  static Expr multiply(const Expr& a, const Expr& b) { return tree("*", {a, b}); }
  static Expr divide(const Expr& a, const Expr& b) { return tree("/", {a, b}); }
  static Expr modulo(const Expr& a, const Expr& b) { return tree("%", {a, b}); }
  static Expr power(const Expr&) { throw Stuck("a shift in a layout"); }
  static Expr bitwise(char op, const Expr& a, const Expr& b) { return tree(std::string(1, op), {a, b}); }
  static bool truth(const Expr&) { throw Stuck("a condition in a layout"); }
  static bool compare(const std::string&, const Expr&, const Expr&) {
    throw Stuck("a condition in a layout");
  }
};

Expr substituted(const Expr& e, const std::map<std::string, Expr>& names) {
  if (e->op == "name") {
    auto it = names.find(e->name);
    return it == names.end() ? e : it->second;
  }
  if (e->args.empty()) return e;
  std::vector<Expr> args;
  for (const Expr& a : e->args) args.push_back(substituted(a, names));
  return tree(e->op, args);
}

Expr Trees::whole(const Expr& e, const std::map<std::string, Expr>& names) { return substituted(e, names); }

std::vector<std::string> raw(const Statement& s) {
  Trees trees;
  Evaluation<Trees> e(trees);
  std::map<std::string, Expr> symbols;
  std::map<std::string, std::string> names;
  std::vector<std::string> declared, asserted, goals;
  std::vector<Expr> facts;
  for (const Expr& f : s.facts) conjuncts(f, facts);
  for (const std::string& n : symbols_of(s)) {
    symbols[n] = leaf(n);
    names[n] = quoted("u_", n);
    declared.push_back(names[n]);
    if (!has_lower_bound(n, facts)) asserted.push_back("(>= " + names[n] + " 1)");
  }
  assert_facts(facts, names, asserted);
  auto smt_of = [&](const Expr& x) { return smt(x, names, goals); };
  auto variable = [&](const std::string& name, const Expr& extent) {
    names["\x01" + name] = name;
    declared.push_back(name);
    std::vector<std::string> divisors;
    asserted.push_back("(and (<= 0 " + name + ") (< " + name + " " + smt(extent, names, divisors) + "))");
    goals.insert(goals.end(), divisors.begin(), divisors.end());
    return leaf("\x01" + name);
  };
  auto coordinates = [&](const Function& f, const std::string& prefix) {
    std::vector<Expr> out;
    for (std::size_t k = 0; k < f.extents.size(); ++k)
      out.push_back(variable(prefix + std::to_string(k), f.extents[k]));
    return out;
  };
  auto at = [&](const Function& f, const std::vector<Expr>& c) {
    if (!f.formula) return e.at(f, c, symbols);
    std::map<std::string, Expr> by;
    for (std::size_t k = 0; k < c.size(); ++k) by[f.coordinates[k]] = c[k];
    return e.stages(f.outer, substituted(f.formula, by), symbols);
  };
  auto index_of = [&](const Function& f, const std::vector<Expr>& c) {
    Expr i = c.back();
    for (std::size_t k = c.size() - 1; k-- > 0;) i = tree("+", {c[k], tree("*", {f.extents[k], i})});
    return i;
  };
  auto at_index = [&](const Function& f, const Expr& index) {
    std::vector<Expr> c;
    if (!f.formula) return e.at_index(f, index, symbols);
    Expr rest = index;
    for (std::size_t k = 0; k < f.extents.size(); ++k) {
      bool last = k + 1 == f.extents.size();
      c.push_back(last ? rest : tree("%", {rest, f.extents[k]}));
      rest = tree("/", {rest, f.extents[k]});
    }
    return at(f, c);
  };
  auto size = [&](const Function& f) {
    Expr n = f.extents[0];
    for (std::size_t k = 1; k < f.extents.size(); ++k) n = tree("*", {n, f.extents[k]});
    return n;
  };
  const Function& a = s.functions[0];
  std::vector<std::string> queries;
  auto finish = [&] {
    queries.push_back(assembled(declared, asserted, goals));
    goals.clear();
  };
  // An empty domain proves everything: first, every extent is positive. Before the coordinates, which presuppose it.
  for (const Function& f : s.functions) {
    auto extent = [&](const Expr& x) {
      if (x->op != "int") goals.push_back("(<= " + smt_of(x) + " 0)");
    };
    auto modes = [&](const std::vector<std::vector<Mode>>& groups) {
      for (const auto& g : groups)
        for (const Mode& m : g) extent(m.extent);
    };
    modes(f.layout);
    if (f.formula)
      for (const Expr& x : f.extents) extent(x);
    for (const Stage& stage : f.outer) modes(stage.modes);
  }
  if (!goals.empty()) finish();
  std::vector<Expr> c = coordinates(s.property == "inverse" ? s.functions[1] : a, "i");
  auto outside = [&](const std::string& v, const std::string& n) {
    goals.push_back("(or (< " + v + " 0) (>= " + v + " " + n + "))");
  };
  if (s.property == "equal") {
    const Function& b = s.functions[1];
    goals.push_back("(not (= " + smt_of(size(a)) + " " + smt_of(size(b)) + "))");
    std::vector<std::string> ea, eb;
    for (const Expr& x : a.extents) ea.push_back(smt_of(x));
    for (const Expr& x : b.extents) eb.push_back(smt_of(x));
    if (s.by_mode && ea != eb) throw Stuck("the extents of the modes by another way than their text");
    std::string x = smt_of(at(a, c)), y = smt_of(ea == eb ? at(b, c) : at_index(b, index_of(a, c)));
    goals.push_back("(not (= " + x + " " + y + "))");
    finish();
  } else if (s.property == "within") {
    outside(smt_of(at(a, c)), smt_of(s.terms[0]));
    finish();
  } else if (s.property == "aligned") {
    goals.push_back("(not (= (mod " + smt_of(at(a, c)) + " " + smt_of(s.terms[0]) + ") 0))");
    goals.push_back("(<= " + smt_of(s.terms[0]) + " 0)");
    finish();
  } else if (s.property == "inverse") {
    const Function& b = s.functions[1];
    Expr y = at(b, c);
    outside(smt_of(y), smt_of(size(a)));
    goals.push_back("(not (= " + smt_of(at_index(a, y)) + " " + smt_of(index_of(b, c)) + "))");
    finish();
  } else if (s.property == "disjoint") {
    std::vector<Expr> k = coordinates(s.functions[1], "j");
    std::string x = smt_of(at(a, c)), y = smt_of(at(s.functions[1], k));
    goals.push_back("(= " + x + " " + y + ")");
    finish();
  } else if (s.property == "injective" || s.property == "bijective") {
    if (s.property == "bijective") {
      outside(smt_of(at(a, c)), smt_of(size(a)));
      finish();
    }
    std::vector<Expr> k = coordinates(a, "j");
    std::string different = "(or";
    for (std::size_t m = 0; m < c.size(); ++m)
      different += " (not (= " + smt_of(c[m]) + " " + smt_of(k[m]) + "))";
    asserted.push_back(different + ")");
    std::string x = smt_of(at(a, c)), y = smt_of(at(a, k));
    goals.push_back("(= " + x + " " + y + ")");
    finish();
  } else {
    throw Stuck("the claim itself is not one for a solver");
  }
  return queries;
}

} // namespace

Derived derive(const Statement& s, bool evaluate) {
  Derived out;
  require_example(s);
  bool waves = s.property == "conflict-free" || s.property == "coalesced";
  bool digits =
      std::any_of(s.hints.begin(), s.hints.end(), [](const auto& h) { return h.first == "digits"; });
  if (digits && !waves) {
    Derivation d(s);
    d.by_digits();
    out.queries = std::move(d.queries);
    return out;
  }
  if (auto all = assignments(s); all && affordable(s, *all)) {
    if (evaluate) out.evaluated = by_definition(s, *all);
    return out;
  }
  if (waves) {
    Derivation d(s);
    if (!evaluate) {
      d.symbols();
    } else {
      out.evaluated = s.property == "coalesced" ? lines_by_forms(d) : banks_by_residues(d);
    }
    out.queries = std::move(d.queries);
    return out;
  }
  out.queries = raw(s);
  return out;
}

} // namespace inlay::solver::independent
