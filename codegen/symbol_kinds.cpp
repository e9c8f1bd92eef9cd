#include <inlay/codegen/symbol_kinds.h>

#include <array>
#include <stdexcept>

namespace inlay::codegen {

namespace symbol_kinds {

struct Kind {
  SymbolKind kind;
  std::string_view text;
  std::size_t numbers;
};
// In the order of the kinds.
constexpr auto kinds = std::to_array<Kind>({
    {SymbolKind::loop, "_t", 1},
    {SymbolKind::ticket, "_ticket", 1},
    {SymbolKind::value, "_value", 1},
    {SymbolKind::uniform, "_uniform", 1},
    {SymbolKind::index, "_fold", 1},
    {SymbolKind::bound, "_i", 1},
    {SymbolKind::below, "_below", 1},
    {SymbolKind::exchanged, "_exchanged", 1},
    {SymbolKind::position, "_at", 1},
    {SymbolKind::work_item, "_tid", 0},
    {SymbolKind::of_tiles, "_oftiles", 0},
    {SymbolKind::trip, "_trip", 1},
    {SymbolKind::row, "_row", 4},
    {SymbolKind::row_here, "_rowhere", 2},
    {SymbolKind::half, "_half", 0},
    {SymbolKind::units, "_units", 0},
    {SymbolKind::times, "_times", 0},
    {SymbolKind::over, "_over", 0},
    {SymbolKind::group, "_group", 0},
    {SymbolKind::member, "_member", 0},
    {SymbolKind::block, "_block", 1},
    {SymbolKind::in_block, "_inblock", 1},
    {SymbolKind::none, "_none", 0},
    {SymbolKind::none_up_to, "_noneupto", 1},
    {SymbolKind::none_beyond, "_nonebeyond", 1},
    {SymbolKind::none_tiles, "_nonetiles", 0},
    {SymbolKind::none_less, "_noneless", 1},
    {SymbolKind::rest, "_rest", 1},
    {SymbolKind::rest_along, "_restalong", 2},
    {SymbolKind::trips, "_trips", 0},
    {SymbolKind::trips_below, "_tripsbelow", 1},
    {SymbolKind::trips_along, "_tripsalong", 2},
    {SymbolKind::trips_part, "_tripspart", 1},
    {SymbolKind::before_part, "_beforepart", 0},
    {SymbolKind::after_part, "_afterpart", 0},
    {SymbolKind::more, "_more", 0},
    {SymbolKind::later, "_later", 0},
    {SymbolKind::in_trips, "_u", 3},
    {SymbolKind::in_nest, "_v", 3},
    {SymbolKind::of_nest, "_ofnest", 2},
    {SymbolKind::any_later, "_anylater", 1},
    {SymbolKind::counted, "_counted", 1},
    {SymbolKind::passed, "_passed", 0},
    {SymbolKind::up_to, "_upto", 1},
    {SymbolKind::path, "_path", 2},
    {SymbolKind::path_range, "_pathrange", 4},
    {SymbolKind::whole, "_whole", 0},
    {SymbolKind::any, "_any", 1},
    {SymbolKind::in_tile, "_intile", 2},
    {SymbolKind::count, "_count", 1},
    {SymbolKind::tiles, "_tiles", 0},
    {SymbolKind::last, "_last", 1},
    {SymbolKind::column, "_c", 1},
    {SymbolKind::column_in, "_in", 3},
    {SymbolKind::fold, "_index", 0},
    {SymbolKind::fold_along, "_indexalong", 1},
    {SymbolKind::quotient, "_quotient", 1},
    {SymbolKind::undefined, "_undefined", 0},
    {SymbolKind::together, "_together", 1},
    {SymbolKind::chosen, "_chosen", 1},
    {SymbolKind::part, "_part", 0},
    {SymbolKind::largest, "_largest", 0},
    {SymbolKind::periods, "_periods", 2},
    {SymbolKind::word, "_bound", 1},
    {SymbolKind::element, "_element", 1},
    {SymbolKind::digit, "_digit", 1},
});

constexpr bool lower(char c) { return 'a' <= c && c <= 'z'; }

// As the header says: then no name is of two kinds.
constexpr bool told_apart() {
  if (kinds.size() != static_cast<std::size_t>(SymbolKind::digit) + 1) return false;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view text = kinds[i].text;
    if (static_cast<std::size_t>(kinds[i].kind) != i || text.size() < 2 || text[0] != '_') return false;
    for (const char c : text.substr(1))
      if (!lower(c)) return false;
    for (std::size_t j = 0; j < kinds.size(); ++j)
      if (i != j && kinds[j].text == text) return false;
  }
  return true;
}
static_assert(told_apart());

} // namespace symbol_kinds

std::string name_of(SymbolKind kind, std::initializer_list<NameNumber> numbers, std::string_view of) {
  const symbol_kinds::Kind& k = symbol_kinds::kinds[static_cast<std::size_t>(kind)];
  if (numbers.size() != k.numbers)
    throw std::logic_error("a symbol " + std::string(k.text) + " has " + std::to_string(k.numbers) +
                           " numbers, not " + std::to_string(numbers.size()));
  std::string out(k.text);
  for (const NameNumber& n : numbers) {
    if (&n != numbers.begin()) out += '_';
    out += n.text();
  }
  if (!of.empty()) (out += '_') += of;
  return out;
}

Sym symbol_of(SymContext& context, SymbolKind kind, std::initializer_list<NameNumber> numbers,
              std::string_view of, Interval range) {
  return context.symbol(name_of(kind, numbers, of), range);
}

bool is_of(std::string_view name, SymbolKind kind) {
  const std::string_view text = symbol_kinds::kinds[static_cast<std::size_t>(kind)].text;
  return name.starts_with(text) && (name.size() == text.size() || !symbol_kinds::lower(name[text.size()]));
}

} // namespace inlay::codegen
