// What is rounded under way to a format of less range: no claim says that it fits, so it is the caller's to say.
#include "interpreter.h"

#include <fmt/format.h>

namespace inlay::codegen::provenance {
namespace {

/// Whether a map gives one of its operands or a constant of that size: nothing of it is out of range that was within.
bool picks(Expr e, double most) {
  const ExprNode& n = e.node();
  const auto of = [&](std::size_t k) { return picks({e.arena, n.args[k]}, most); };
  switch (n.fn) {
  case Fn::parameter: return true;
  case Fn::constant: return std::abs(n.value) <= most;
  case Fn::inside: return std::abs(n.value) <= most && of(0);
  case Fn::max:
  case Fn::min: return of(0) && of(1);
  case Fn::choose: return of(1) && of(2);
  case Fn::select: return of(2) && of(3);
  default: return false;
  }
}

} // namespace

void Interpreter::narrowed() {
  const auto& tensors = p_.tensors();
  const bool halves = std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) {
    return t.space == Space::global && t.element == Element::f16;
  });
  // Whoever has tensors of f16 knows its range; a scale of e8m0 has that of f32.
  const auto narrow = [&](Element e) {
    return e == Element::f16 ? !halves : e != Element::e8m0 && e != Element::i1 && bits(e) <= 8;
  };
  if (std::none_of(code_.registers.begin(), code_.registers.end(),
                   [&](const Register& r) { return narrow(r.element); }) &&
      std::none_of(tensors.begin(), tensors.end(),
                   [&](const Tensor& t) { return t.space == Space::lds && narrow(t.element); }))
    return;
  struct Rounded {
    Element element;
    std::source_location where;
  };
  std::map<int, Rounded> registers, tiles; // that hold what was rounded
  const auto element_of = [&](const Reg& r) {
    return code_.registers[static_cast<std::size_t>(r.id)].element;
  };
  // Whether a format has all numbers of another one.
  const auto holds = [](Element all, Element of) {
    return all == of ||
           (is_floating(all) && is_floating(of) && facts(all).exponent_bits >= facts(of).exponent_bits &&
            facts(all).mantissa_bits >= facts(of).mantissa_bits && largest_finite(all) >= largest_finite(of));
  };
  const auto computed_with = [&](const Reg& r) {
    const auto found = registers.find(r.id);
    if (found == registers.end()) return;
    const auto& [element, where] = found->second;
    const std::string file = where.file_name();
    const double most = largest_finite(element);
    callers(fmt::format("what {}:{} rounds to {} {}", file.substr(file.find_last_of('/') + 1), where.line(),
                        to_string(element),
                        is_integer(element) ? fmt::format("is whole, {:g} to {:g}", -most - 1, most)
                                            : fmt::format("has no magnitude over {:g}", most)),
            "it is computed with");
  };
  const auto note = [](std::map<int, Rounded>& where, int id, const Rounded& what) {
    return where.try_emplace(id, what).second;
  };
  bool more = true;
  const auto visit = [&](const Inst& i) {
    const auto carried = [&]() -> const Rounded* {
      for (const Reg& u : i.uses)
        if (const auto found = registers.find(u.id); found != registers.end()) return &found->second;
      return nullptr;
    };
    const Element to = i.def.id >= 0 ? element_of(i.def) : Element::f32;
    const bool moves =
        i.kind == InstKind::exchange_lanes || (i.kind == InstKind::map && renames(i, code_.registers));
    if (moves) {
      if (const Rounded* r = carried()) more = note(registers, i.def.id, *r) || more;
    } else if (i.kind == InstKind::map && narrow(to) &&
               !(picks(i.map, largest_finite(to)) &&
                 std::all_of(i.uses.begin(), i.uses.end(),
                             [&](const Reg& u) { return holds(to, element_of(u)); }))) {
      more = note(registers, i.def.id, {to, i.where}) || more;
    } else if (i.kind == InstKind::lds_write) {
      const Element tile = p_.tensor(i.access.tensor).element;
      if (const Rounded* r = carried())
        more = note(tiles, i.access.tensor, *r) || more;
      else if (!i.direct && narrow(tile) && element_of(i.uses[0]) != tile)
        more = note(tiles, i.access.tensor, {tile, i.where}) || more;
    } else if (i.kind == InstKind::lds_read) {
      if (const auto found = tiles.find(i.access.tensor); found != tiles.end())
        more = note(registers, i.def.id, found->second) || more;
    }
    if (more) return;
    const bool computes = i.kind == InstKind::map || i.kind == InstKind::fold_values ||
                          i.kind == InstKind::fold_lanes || i.kind == InstKind::mma ||
                          i.kind == InstKind::top;
    const bool widens = i.kind == InstKind::store && !i.uses.empty() &&
                        element_of(i.uses[0]) != p_.tensor(i.access.tensor).element;
    if (moves || (!computes && !widens)) return;
    for (const Reg& u : i.uses) computed_with(u);
  };
  const auto all = [&] {
    for (const CodeRegion& r : code_.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (const Inst& i : *list) visit(i);
  };
  while (more) more = false, all();
}

} // namespace inlay::codegen::provenance
