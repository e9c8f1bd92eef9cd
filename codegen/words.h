/// What a message says of a formula: sizes, tables and positions as the user wrote them, in the place of the symbols that the claims
/// work with. Private.
#pragma once

#include <inlay/codegen/program.h>

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace inlay::codegen {

/// The claims write a size as a sum, n = 64 wg_x + 4 (_over_n + 1), so that what is known of it needs no condition. The other way around
/// `_over_n` is the one symbol of that sum that nothing else says:
///
///     "elements from 64*wg_x+4*_over_n+4 on"    ->    "elements from n on"
///     "x(64*wg_x+_c0, _index+1)"                ->    "x(64*wg_x+c0, index+1)"
class Words {
public:
  using List = std::span<const std::pair<AtomId, Sym>>;
  /// `world`: what sizes and ends of loops are.
  explicit Words(const Program& program, List world = {});

  [[nodiscard]] std::string operator()(const std::string& text) const;

private:
  struct
      Solved { // value = unit symbol + step next, exactly, the first less than one step; a step of 0: there is no next
    AtomId symbol, next;
    Sym value;
    Int unit, least, step;
  };
  [[nodiscard]] Sym written(Sym s) const;
  [[nodiscard]] Sym solve(Sym s, const Solved& by) const;
  [[nodiscard]] std::string name(const std::string& symbol) const;
  [[nodiscard]] std::string names(const std::string& text) const;

  const Program& p_;
  std::vector<Solved> solved_;
  int loops_ = 0;
  std::map<std::string, std::string> read_; ///< uniforms and values, by the entry that they are
};

} // namespace inlay::codegen
