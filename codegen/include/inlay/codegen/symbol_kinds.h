/// Symbols that the library makes beside the user's own, and what they are called.
///
/// A symbol is its name: two numbers of one name are one number to the prover, and what is said of one is then
/// proved of the other. So each name is made here, of a kind, whole numbers and at most one other name, in a way
/// that can be read back:
///
///     name_of(SymbolKind::trips_below, {64}, "n")      _tripsbelow64_n
///     name_of(SymbolKind::column_in, {-1, 5, 0})       _inN1_5_0
///
/// A kind's text is _ and lower-case letters, and no other kind's; symbol_kinds.cpp checks that when it is compiled.
/// A kind has a fixed number of numbers, which begin with a digit, N (negative) or X (none). The other name comes
/// last, after _. So of two different choices the names differ. Names that users give begin with a letter.
#pragma once

#include <inlay/algebra/print.h>
#include <inlay/algebra/sym.h>

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace inlay::codegen {

enum class SymbolKind {
  // of programs and expressions
  loop,      ///< a trip's number: of which loop
  ticket,    ///< of which, of what the user called it
  value,     ///< an entry of a table in a specification: of which, of the table
  uniform,   ///< a number from memory: of which, of the table
  index,     ///< a fold's index in the user's formula: of which
  bound,     ///< a fold's index in an expression: at which depth
  below,     ///< an index below so much
  exchanged, ///< the first or the second index of sums that are exchanged
  position,  ///< a place in a map, along which axis: `Program::position_name`
  work_item, ///< a work-item of the workgroup
  of_tiles,  ///< an order of tiles' and shares', called so
  // of emitters
  trip,     ///< a trip's number in code: of which loop
  row,      ///< a row that a register names: register, trips ahead, first element, the most
  row_here, ///< the same in one trip: of which, the most
  half,     ///< a size in whole bytes
  units,    ///< a size in its units
  // of claims
  times,       ///< a size over what divides it
  over,        ///< of a size after a workgroup's first element
  group,       ///< numbers that share one of a block, of a size: which block
  member,      ///< which of the block
  block,       ///< a grid axis' number over so much
  in_block,    ///< the rest of it
  none,        ///< more than a size, whose loop has no trip
  none_up_to,  ///< a size of at most so much
  none_beyond, ///< of a size after a workgroup's first element, at most so much
  none_tiles,  ///< tiles of a size, at least
  none_less,   ///< units by which a size is less, below so many
  rest,        ///< of a last tile, of so many units
  rest_along,  ///< the same, of workgroups along an axis, of so many
  trips,       ///< the last trip of a loop over it
  trips_below, ///< the same, where an end is so much
  trips_along, ///< the same, over workgroups along an axis, so many a tile
  trips_part,  ///< the same, of a part of so many trips
  before_part, ///< how much before a part it ends
  after_part,  ///< how much after it
  more,        ///< a size after the end of a loop
  later,       ///< how many trips later
  in_trips, ///< a trip's number in a proof by induction: of which region, the how manieth proof or none, the most or none
  in_nest,    ///< the same of a loop in a loop: of which operation, the how manieth proof, the most or none
  of_nest,    ///< trips after it: of which operation, the how manieth proof
  any_later,  ///< trips after any one of a nest: of which operation
  counted,    ///< trips that follow the first: what is known by then, of them
  passed,     ///< rounds that are over
  up_to,      ///< at most so much
  path,       ///< what is left under a condition: its depth, whether it holds
  path_range, ///< the same between two numbers: 2 is by how many trips follow
  whole,      ///< a size in whole tiles
  any,        ///< any number along an axis
  in_tile,    ///< an element of a tile of so many along an axis
  count,      ///< workgroups along an axis
  tiles,      ///< tiles of an extent
  last,       ///< elements of its last tile of so many, less one
  column,     ///< a coordinate that moves with work-items and elements: of which
  column_in,  ///< the same, in a range: least, greatest, of which
  fold,       ///< the first axis of a fold over lanes
  fold_along, ///< another one
  quotient,   ///< of which formula
  undefined,  ///< no number
  together,   ///< the index of sums that are joined, on which level
  chosen,     ///< the index of a sum of choices, on which level
  // of validation
  part,    ///< a size over what divides it
  largest, ///< the largest of a size of problems
  periods, ///< of a loop in machine code: of which, the most
  word,    ///< what a register holds, as an index: of which value
  element, ///< the same as an element
  digit,   ///< of which quotient
};

/// A whole number in a name, or none.
class NameNumber {
public:
  template <std::integral T>
  NameNumber(T n) : NameNumber(std::to_string(n)) {}                               // NOLINT: read as a number
  NameNumber(const Int& n) : NameNumber(to_string(n)) {}                           // NOLINT
  NameNumber(const std::optional<Int>& n) : NameNumber(n ? to_string(*n) : "X") {} // NOLINT
  [[nodiscard]] const std::string& text() const { return text_; }

private:
  explicit NameNumber(std::string text) : text_(std::move(text)) {
    if (text_[0] == '-') text_[0] = 'N';
  }
  std::string text_;
};

/// The name; `of` is "" where the kind is of nothing. Errors: std::logic_error with another count of numbers than
/// the kind has.
[[nodiscard]] std::string name_of(SymbolKind kind, std::initializer_list<NameNumber> numbers = {},
                                  std::string_view of = {});
/// The symbol of that name, in that range. Errors: as `name_of`; `redeclared` where it is known with another range.
Sym symbol_of(SymContext& context, SymbolKind kind, std::initializer_list<NameNumber> numbers,
              std::string_view of, Interval range);
/// Whether a name is one of this kind.
[[nodiscard]] bool is_of(std::string_view name, SymbolKind kind);

} // namespace inlay::codegen
