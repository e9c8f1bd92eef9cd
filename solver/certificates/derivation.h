/// One claim on its way to a query over digits: the symbols that stand for the user's, the digits of its functions, and what has
/// to be shown of them. The statements are one file each (derive_equal.cpp, ...).
#pragma once

#include "certificates/derive.h"
#include "certificates/facts.h"
#include "certificates/queries.h"

namespace inlay::solver::independent {

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
  /// The same as each query with facts that cost a solver more than they help it nearly always.
  std::vector<std::vector<std::string>> stronger;

  /// "symbol M' >= 1", "symbol n >= 0 <= 63"; "let M = 128*M'". The query: whatever values the facts allow, there are
  /// values of the inner symbols in their bounds that give them.
  void symbols();

  /// Values of the inner symbols at which Digits guesses.
  void choose_point();

  /// Digits of a function: one value per coordinate, and the index.
  struct Place {
    std::vector<Sum> coordinates, extents;
    Sum index;
  };
  Place place(const Function& f, const std::string& line, const std::string& prefix);
  /// Digits are used for injectivity alone, whatever the property is.
  bool apart_only = false;
  Sum size(const Function& f) {
    Sum n = constant(1);
    for (const Expr& x : f.extents) n = n * e.expression(x, user);
    return n;
  }
  void same(const Sum& a, const Sum& b, const char* what) {
    if (!(a == b)) throw Stuck(std::string(what) + " are not the same polynomial");
    identities.push_back("(not (= " + smt(a, d.all) + " " + smt(b, d.all) + "))");
  }

  /// Everything into one query.
  void finish();

  [[nodiscard]] std::vector<std::string> hints(const std::string& key) const {
    std::vector<std::string> out;
    for (const auto& [k, v] : s.hints)
      if (k == key) out.push_back(v);
    return out;
  }

  /// Coefficient and steps of every variable from number `from` on in a sum without products of them; the parities that occur
  /// determine every bit.
  std::vector<std::pair<Sum, Sum>> items(const Sum& f, std::size_t from = 0);
  /// Each weight exceeds what the smaller ones reach together.
  void dominated(const Sum& f, std::size_t from = 0);
  /// A swizzle at the end is a bijection of all integers >= 0, an offset of all integers.
  [[nodiscard]] static Function without_outer_bijections(Function f) {
    while (!f.outer.empty() && f.outer.front().modes.empty()) f.outer.erase(f.outer.begin());
    return f;
  }
  /// Swizzles at the end that permute [0, n).
  Function without_block_swizzles(Function f, const Sum& n);
  Place own(const Function& f, std::size_t which = 0);
  /// 0 <= f < n.
  void inside(const Sum& f, const Sum& n);

  // One a statement, each in the file of its name.
  void equal();
  void injective();
  void bijective();
  void covers();
  void aligned();
  void within();
  void disjoint();
  void inverse();
  /// The one that the statement asks for.
  void by_digits();
  /// The same by cases of the residues that the lines "residues" name (derive_residues.cpp).
  void by_residues();
  /// By intervals (derive_bounds.cpp).
  void by_bounds();
  /// 0 <= f < n by intervals: the inequalities of it.
  void bounded(const Function& f, const Sum& n);
  /// One value for each index and none outside of [0, size): digits tell the indices apart, and may reach beyond the domain for that;
  /// intervals keep the values inside.
  void counted_by_bounds(const Function& f);
};

/// The boxes into which the lines "case" and "cut" cut the domain. Errors: Stuck.
[[nodiscard]] Way by_pieces(const Statement& s);

} // namespace inlay::solver::independent
