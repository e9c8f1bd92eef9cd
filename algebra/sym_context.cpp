// The tables of a SymContext: monomials, polynomials and atoms, each stored once; and ring arithmetic on
// them.
#include <inlay/algebra/print.h>
#include <inlay/algebra/prover.h>
#include <inlay/algebra/sym.h>

#include <algorithm>
#include <deque>
#include <map>

namespace inlay {
namespace detail {
void derive_facts(SymAtom& atom); // sym_facts.cpp
}
namespace {

using detail::mix;
using detail::SymNode;

struct Polynomial { // a sum under construction
  Int constant = 0;
  SmallVector<Term, 16> terms;
};

// Graded lexicographic: higher degree first, then the higher power of the atom declared first.
std::strong_ordering leading_first(const Monomial& a, const Monomial& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (a.degree != b.degree) return b.degree <=> a.degree;
  for (std::size_t i = 0; i < a.factors.size() && i < b.factors.size(); ++i) {
    if (a.factors[i].atom != b.factors[i].atom) return a.factors[i].atom <=> b.factors[i].atom;
    if (a.factors[i].power != b.factors[i].power) return b.factors[i].power <=> a.factors[i].power;
  }
  return b.factors.size() <=> a.factors.size();
}

// Open addressing over stable pointers; the items live in a deque beside it.
template <class T>
class InternTable {
public:
  template <class Same, class Make>
  const T* find_or_make(std::uint64_t hash, Same same, Make make) {
    if (slots_.empty() || 2 * (items_.size() + 1) > slots_.size()) grow();
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].item; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == hash && same(*slots_[at].item)) return slots_[at].item;
    items_.push_back(make());
    slots_[at] = {hash, &items_.back()};
    return slots_[at].item;
  }

private:
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 64 : 2 * old.size(), {});
    for (const Slot& s : old) {
      if (!s.item) continue;
      std::size_t at = s.hash & (slots_.size() - 1);
      while (slots_[at].item) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = s;
    }
  }
  std::deque<T> items_;
  struct Slot {
    std::uint64_t hash = 0;
    const T* item = nullptr;
  };
  std::vector<Slot> slots_;
};

} // namespace

struct SymContext::Tables {
  InternTable<Monomial> monomials;
  InternTable<SymNode> nodes;
  std::deque<SymAtom> atoms;
  std::map<std::string, Sym, std::less<>> names;
  std::map<std::vector<std::uint64_t>, std::vector<AtomId>> operations; // by kind and operand hashes
  std::vector<Obligation> obligations;

  const Monomial* intern(const SmallVector<Factor, 4>& factors) {
    std::uint64_t hash = factors.size();
    std::uint32_t degree = 0;
    for (const Factor& f : factors) {
      hash = mix(hash, (std::uint64_t{f.atom} << 32) | f.power);
      degree += f.power;
    }
    return monomials.find_or_make(
        hash, [&](const Monomial& m) { return m.factors == factors; },
        [&] {
          return Monomial{factors, degree, hash};
        });
  }
  const Monomial* multiply(const Monomial& a, const Monomial& b) {
    SmallVector<Factor, 4> product;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.factors.size() || j < b.factors.size()) {
      if (j == b.factors.size() || (i < a.factors.size() && a.factors[i].atom < b.factors[j].atom)) {
        product.push_back(a.factors[i++]);
      } else if (i == a.factors.size() || b.factors[j].atom < a.factors[i].atom) {
        product.push_back(b.factors[j++]);
      } else {
        product.push_back({a.factors[i].atom, a.factors[i].power + b.factors[j].power});
        ++i;
        ++j;
      }
    }
    return intern(product);
  }
  // a / b, or null when a power would become negative; *constant is set when nothing is left.
  const Monomial* divide(const Monomial& a, const Monomial& b, bool* constant) {
    SmallVector<Factor, 4> quotient;
    std::size_t j = 0;
    for (const Factor& f : a.factors) {
      std::uint32_t power = f.power;
      if (j < b.factors.size() && b.factors[j].atom == f.atom) {
        if (b.factors[j].power > power) return nullptr;
        power -= b.factors[j++].power;
      }
      if (power > 0) quotient.push_back({f.atom, power});
    }
    if (j != b.factors.size()) return nullptr;
    *constant = quotient.empty();
    return intern(quotient);
  }
  const SymNode* intern(SymContext* context, const Polynomial& p) {
    std::uint64_t hash = stable_hash(p.constant);
    for (const Term& t : p.terms) hash = mix(mix(hash, t.monomial->hash), stable_hash(t.coefficient));
    return nodes.find_or_make(
        hash,
        [&](const SymNode& n) {
          return n.constant == p.constant &&
                 std::equal(n.terms.begin(), n.terms.end(), p.terms.begin(), p.terms.end());
        },
        [&] {
          SymNode n;
          n.context = context;
          n.constant = p.constant;
          n.terms.append(p.terms.span());
          n.hash = hash;
          return n;
        });
  }
};

namespace {

SymContext* common_context(Sym a, Sym b) {
  SymContext* x = a.context();
  SymContext* y = b.context();
  if (x && y && x != y)
    throw LayoutError(
        {"context", "symbols", "values of two contexts meet", {}, "", {}, "use one SymContext"});
  return x ? x : y;
}

// result += factor * b
void add_scaled(Polynomial& result, Sym b, Int factor) {
  Polynomial sum;
  sum.constant = result.constant + factor * b.constant_term();
  const std::span<const Term> other = b.terms();
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < result.terms.size() || j < other.size()) {
    const std::strong_ordering order = i == result.terms.size() ? std::strong_ordering::greater
                                       : j == other.size()
                                           ? std::strong_ordering::less
                                           : leading_first(*result.terms[i].monomial, *other[j].monomial);
    if (order < 0) {
      sum.terms.push_back(result.terms[i++]);
    } else if (order > 0) {
      sum.terms.push_back({factor * other[j].coefficient, other[j].monomial});
      ++j;
    } else {
      const Int c = result.terms[i].coefficient + factor * other[j].coefficient;
      if (c != 0) sum.terms.push_back({c, other[j].monomial});
      ++i;
      ++j;
    }
  }
  result = std::move(sum);
}

Polynomial polynomial(Sym a) {
  Polynomial p;
  p.constant = a.constant_term();
  p.terms.append(a.terms());
  return p;
}

void sort_and_merge(Polynomial& p) {
  std::sort(p.terms.begin(), p.terms.end(),
            [](const Term& a, const Term& b) { return leading_first(*a.monomial, *b.monomial) < 0; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < p.terms.size(); ++i) {
    if (kept > 0 && p.terms[kept - 1].monomial == p.terms[i].monomial) {
      p.terms[kept - 1].coefficient += p.terms[i].coefficient;
    } else {
      if (kept > 0 && p.terms[kept - 1].coefficient == 0) --kept;
      p.terms[kept++] = p.terms[i];
    }
  }
  if (kept > 0 && p.terms[kept - 1].coefficient == 0) --kept;
  p.terms.resize(kept);
}

} // namespace

std::optional<AtomId> Sym::as_atom() const {
  if (!node_ || node_->constant != 0 || node_->terms.size() != 1) return std::nullopt;
  const Term& t = node_->terms[0];
  if (t.coefficient != 1 || t.monomial->degree != 1) return std::nullopt;
  return t.monomial->factors[0].atom;
}

std::strong_ordering operator<=>(Sym a, Sym b) {
  if (a == b) return std::strong_ordering::equal;
  const auto x = a.terms();
  const auto y = b.terms();
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (const auto c = leading_first(*x[i].monomial, *y[i].monomial); c != 0) return c;
    if (const auto c = x[i].coefficient <=> y[i].coefficient; c != 0) return c;
  }
  if (x.size() != y.size()) return x.size() <=> y.size();
  return a.constant_term() <=> b.constant_term();
}

Sym operator+(Sym a, Sym b) {
  if (a.is_constant() && b.is_constant()) return a.constant_ + b.constant_;
  if (a == Sym(0)) return b;
  if (b == Sym(0)) return a;
  SymContext* context = common_context(a, b);
  Polynomial p = polynomial(a);
  add_scaled(p, b, 1);
  if (p.terms.empty()) return p.constant;
  return Sym(context->tables_->intern(context, p));
}

Sym operator-(Sym a, Sym b) {
  if (a.is_constant() && b.is_constant()) return a.constant_ - b.constant_;
  if (b == Sym(0)) return a;
  SymContext* context = common_context(a, b);
  Polynomial p = polynomial(a);
  add_scaled(p, b, -1);
  if (p.terms.empty()) return p.constant;
  return Sym(context->tables_->intern(context, p));
}

Sym operator*(Sym a, Sym b) {
  if (a.is_constant() && b.is_constant()) return a.constant_ * b.constant_;
  if (a == Sym(0) || b == Sym(0)) return 0;
  if (a == Sym(1)) return b;
  if (b == Sym(1)) return a;
  SymContext* context = common_context(a, b);
  Polynomial p;
  p.constant = a.constant_term() * b.constant_term();
  for (const Term& t : a.terms())
    if (b.constant_term() != 0) p.terms.push_back({t.coefficient * b.constant_term(), t.monomial});
  for (const Term& u : b.terms()) {
    if (a.constant_term() != 0) p.terms.push_back({u.coefficient * a.constant_term(), u.monomial});
    for (const Term& t : a.terms())
      p.terms.push_back(
          {t.coefficient * u.coefficient, context->tables_->multiply(*t.monomial, *u.monomial)});
  }
  sort_and_merge(p);
  if (p.terms.empty()) return p.constant;
  return Sym(context->tables_->intern(context, p));
}

std::optional<Sym> divide_exactly(Sym b, Sym a) {
  if (b == Sym(0)) return Sym(0);
  if (a == Sym(0)) return std::nullopt;
  SymContext* context = common_context(a, b);
  if (!context)
    return floor_mod(b.constant_, a.constant_) == 0 ? std::optional<Sym>(floor_div(b.constant_, a.constant_))
                                                    : std::nullopt;
  // Divide by the leading term until nothing is left; graded lexicographic order makes every step final.
  Sym quotient = 0;
  Sym rest = b;
  while (rest != Sym(0)) {
    Sym step;
    if (a.is_constant()) {
      Polynomial p = polynomial(rest);
      if (floor_mod(p.constant, a.constant_) != 0) return std::nullopt;
      p.constant = floor_div(p.constant, a.constant_);
      for (Term& t : p.terms) {
        if (floor_mod(t.coefficient, a.constant_) != 0) return std::nullopt;
        t.coefficient = floor_div(t.coefficient, a.constant_);
      }
      return p.terms.empty() ? Sym(p.constant) : Sym(context->tables_->intern(context, p));
    }
    if (rest.is_constant()) return std::nullopt;
    const Term& lead = rest.terms()[0];
    const Term& divisor = a.terms()[0];
    if (floor_mod(lead.coefficient, divisor.coefficient) != 0) return std::nullopt;
    bool constant = false;
    const Monomial* m = context->tables_->divide(*lead.monomial, *divisor.monomial, &constant);
    if (!m) return std::nullopt;
    const Int c = floor_div(lead.coefficient, divisor.coefficient);
    if (constant) {
      step = c;
    } else {
      Polynomial p;
      p.terms.push_back({c, m});
      step = Sym(context->tables_->intern(context, p));
    }
    quotient += step;
    rest -= step * a;
  }
  return quotient;
}

SymContext::SymContext() : tables_(std::make_unique<Tables>()) {}
SymContext::~SymContext() = default;

const SymAtom& SymContext::atom(AtomId id) const {
  INLAY_CHECK(id < tables_->atoms.size(), "atom of another context");
  return tables_->atoms[id];
}
std::size_t SymContext::atom_count() const { return tables_->atoms.size(); }

Sym SymContext::product(Int coefficient, std::span<const Factor> factors) {
  if (coefficient == 0 || factors.empty()) return coefficient;
  SmallVector<Factor, 4> sorted(factors);
  std::sort(sorted.begin(), sorted.end(), [](const Factor& a, const Factor& b) { return a.atom < b.atom; });
  Polynomial p;
  p.terms.push_back({coefficient, tables_->intern(sorted)});
  return Sym(tables_->intern(this, p));
}

Sym SymContext::value(AtomId id) {
  const Factor f{id, 1};
  return product(1, std::span<const Factor>(&f, 1));
}

std::optional<Sym> SymContext::find(std::string_view name) const {
  const auto it = tables_->names.find(name);
  return it == tables_->names.end() ? std::nullopt : std::optional<Sym>(it->second);
}

Sym SymContext::symbol(std::string_view name) {
  if (const auto known = find(name)) return *known;
  return symbol(name, {Int(1), std::nullopt});
}

Sym SymContext::symbol(std::string_view name, Interval range) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  bool good = !name.empty() && name.size() <= 256 && letter(name[0]);
  for (const char c : name) good = good && (letter(c) || digit(c));
  if (!good || name == "min" || name == "max" || name == "select")
    throw LayoutError({"name",
                       "symbols",
                       "not a name: '" + std::string(name.substr(0, 64)) + "'",
                       {},
                       "",
                       {},
                       "letters, digits and _, not starting with a digit, at most 256 characters"});
  if (const auto known = find(name)) {
    const auto id = known->as_atom();
    if (id && atom(*id).interval == range) return *known;
    throw LayoutError(
        {"redeclared", "symbols", "'" + std::string(name) + "' is declared twice", {}, "", {}, ""});
  }
  if (range.lower && range.upper && *range.upper < *range.lower)
    throw LayoutError(
        {"empty_range", "symbols", "'" + std::string(name) + "' has no possible value", {}, "", {}, ""});
  const auto id = static_cast<AtomId>(tables_->atoms.size());
  tables_->atoms.push_back({AtomKind::symbol, std::string(name), {}, range, {}});
  const Sym s = value(id);
  tables_->names.emplace(std::string(name), s);
  return s;
}

Sym SymContext::define(std::string_view name, Sym value) {
  if (const auto known = find(name)) {
    if (*known == value) return value;
    throw LayoutError(
        {"redeclared", "symbols", "'" + std::string(name) + "' is declared twice", {}, "", {}, ""});
  }
  tables_->names.emplace(std::string(name), value);
  return value;
}

Sym SymContext::declare_multiple(std::string_view name, Int divisor, Int lower) {
  if (divisor < 1)
    throw LayoutError(
        {"divisor", "symbols", "a divisor must be positive", {}, "", {{"divisor", to_string(divisor)}}, ""});
  std::string quotient = std::string(name) + "_div_" + to_string(divisor);
  return define(name, divisor * symbol(quotient, {ceil_div(lower, divisor), std::nullopt}));
}

void SymContext::restrict(AtomId symbol, Interval range) {
  SymAtom& a = tables_->atoms.at(symbol);
  if (range.lower && (!a.interval.lower || *a.interval.lower < *range.lower)) a.interval.lower = range.lower;
  if (range.upper && (!a.interval.upper || *range.upper < *a.interval.upper)) a.interval.upper = range.upper;
  if (a.interval.lower && a.interval.upper && *a.interval.upper < *a.interval.lower)
    throw LayoutError({"empty_range", "symbols", "'" + a.name + "' has no possible value", {}, "", {}, ""});
  for (SymAtom& other : tables_->atoms) // operands come before their operation, so one pass is enough
    if (other.kind != AtomKind::symbol) detail::derive_facts(other);
}

Sym SymContext::operation(AtomKind kind, std::span<const Sym> operands) {
  INLAY_CHECK(kind != AtomKind::symbol && !operands.empty(), "an operation atom");
  std::vector<std::uint64_t> key{static_cast<std::uint64_t>(kind)};
  for (const Sym& s : operands) {
    INLAY_CHECK(!s.context() || s.context() == this, "operands of this context");
    key.push_back(stable_hash(s));
  }
  std::vector<AtomId>& bucket = tables_->operations[key];
  for (const AtomId id : bucket)
    if (std::equal(operands.begin(), operands.end(), tables_->atoms[id].operands.begin())) return value(id);
  const auto id = static_cast<AtomId>(tables_->atoms.size());
  SymAtom atom{kind, "", {operands.begin(), operands.end()}, {}, {}};
  detail::derive_facts(atom);
  tables_->atoms.push_back(std::move(atom));
  bucket.push_back(id);
  return value(id);
}

std::span<const Obligation> SymContext::obligations() const { return tables_->obligations; }
void SymContext::oblige(Obligation obligation) {
  for (const Obligation& o : tables_->obligations)
    if (o.claim == obligation.claim) return; // one claim is proved once
  tables_->obligations.push_back(std::move(obligation));
}
std::vector<Obligation> SymContext::take_obligations() { return std::exchange(tables_->obligations, {}); }

} // namespace inlay
