/// Replacing symbols, each formula once: unrolled instructions hold the same terms, and only their columns differ. Private.
#pragma once

#include <inlay/codegen/expression.h>

#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace inlay::codegen::provenance {

/// `substitute` of sym.h and of Expressions with a memory. Formulas and expressions are interned, and so are the lists of what
/// replaces what; a result depends on nothing else. Of 722 M instructions of the claims of a GEMM substitutions took 160 M.
class Substitutions {
public:
  using List = std::span<const std::pair<AtomId, Sym>>;

  explicit Substitutions(Expressions& x) : x_(x) {}

  Sym operator()(Sym s, List by) {
    if (s.is_constant() || by.empty()) return s;
    const auto [at, fresh] = formulas_.try_emplace({number(by), s});
    if (fresh) at->second = substitute(s, by);
    return at->second;
  }
  Expr operator()(Expr e, List by) {
    if (by.empty()) return e;
    const auto key = static_cast<std::uint64_t>(number(by)) << 32 | static_cast<std::uint32_t>(e.id);
    const auto [at, fresh] = expressions_.try_emplace(key);
    if (fresh) at->second = x_.substitute(e, by).id;
    return {&x_, at->second};
  }

private:
  int number(List by) {
    const auto is = [&](const auto& list) {
      return std::equal(by.begin(), by.end(), list.begin(), list.end());
    };
    if (last_ >= 0 && is(lists_[static_cast<std::size_t>(last_)])) return last_;
    std::uint64_t h = by.size();
    for (const auto& [atom, value] : by)
      h = (h ^ stable_hash(value)) * 0x9e3779b97f4a7c15ULL + atom, h ^= h >> 29;
    std::vector<int>& bucket = numbers_[h];
    for (const int id : bucket)
      if (is(lists_[static_cast<std::size_t>(id)])) return last_ = id;
    last_ = static_cast<int>(lists_.size());
    bucket.push_back(last_);
    lists_.emplace_back(by.begin(), by.end());
    return last_;
  }
  struct Hash {
    std::size_t operator()(const std::pair<int, Sym>& x) const {
      return (stable_hash(x.second) ^ static_cast<std::uint64_t>(x.first)) * 0x9e3779b97f4a7c15ULL;
    }
  };
  Expressions& x_;
  std::deque<std::vector<std::pair<AtomId, Sym>>> lists_;
  std::unordered_map<std::uint64_t, std::vector<int>> numbers_;
  std::unordered_map<std::pair<int, Sym>, Sym, Hash> formulas_;
  std::unordered_map<std::uint64_t, int> expressions_;
  int last_ = -1;
};

} // namespace inlay::codegen::provenance
