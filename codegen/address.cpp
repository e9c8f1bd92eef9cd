#include <inlay/codegen/address.h>
#include <inlay/codegen/nest.h>
#include <inlay/codegen/symbol_kinds.h>

#include "thread_value.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>

#include <inlay/algebra/symbolic.h>

#include <algorithm>
#include <numeric>

namespace inlay::codegen {

Sym work_item(const Program& program) {
  return symbol_of(program.symbols(), SymbolKind::work_item, {}, "", {Int(0), Int(program.threads() - 1)});
}

Sym at_work_item(const Program& program, const Layout& threads) {
  // The layout's value at the work-item, without the digits that it does not move with: each is a division, and coordinates of
  // threads were half of what the addresses of a kernel took.
  const auto modes = threads.modes();
  Sym sum(0), rest = work_item(program);
  Int before = 1; // of the digits passed over
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const Int extent = modes[k].extent, scale = modes[k].stride.scale;
    if (scale == Int(0)) {
      before *= extent;
      continue;
    }
    rest = floor_div(rest, Sym(before));
    before = extent;
    const bool last = k + 1 == modes.size();
    sum += (last ? rest : rest - Sym(extent) * floor_div(rest, Sym(extent))) * Sym(scale);
  }
  return sum;
}

Sym ThreadCoordinates::operator()(const Layout& threads, std::size_t axis) {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& k) { return k.axis == axis && k.threads == threads; });
  if (found != known_.end()) return found->coordinate;
  const Layout along = with_strides(
      threads, [&](const Mode& m) { return moves_along(m, axis) ? Stride(m.stride.scale) : Stride(0); });
  return known_.emplace_back(Known{threads, axis, at_work_item(*program_, along)}).coordinate;
}

Sym row_symbol(const Program& program, const Tensor& tensor, std::size_t axis, const Reg& row) {
  const auto most = interval(tensor.shape[axis]).upper;
  const Int upper = most ? *most : Int(INT32_MAX);
  return symbol_of(program.symbols(), SymbolKind::row, {row.id, row.ahead, row.first, upper}, "",
                   {Int(0), upper});
}

const Uniform* uniform_of(const Program& program, Sym origin) {
  for (const Uniform& u : program.uniforms())
    if (u.symbol == origin) return &u;
  return nullptr;
}

bool adds_once(Sym s, Sym symbol) {
  const auto has = [&](Sym x) {
    const auto all = symbols(x);
    return std::find(all.begin(), all.end(), *symbol.as_atom()) != all.end();
  };
  return has(s) && !has(s - symbol);
}

const Uniform* uniform_in(const Program& program, Sym s) {
  for (const Uniform& u : program.uniforms())
    if (adds_once(s, u.symbol)) return &u;
  return nullptr;
}

bool is_bound(const Code& code, const Uniform& uniform) {
  const AtomId atom = *uniform.symbol.as_atom();
  const auto has = [&](const std::vector<AtomId>& all) {
    return std::find(all.begin(), all.end(), atom) != all.end();
  };
  const Expressions& x = code.program->expressions();
  for (const CodeRegion& r : code.regions) {
    if (has(symbols(r.extent))) return true;
    for (const Guard& g : r.guards)
      if (has(symbols(g.condition.a)) || has(symbols(g.condition.b))) return true;
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) {
        if (i.map && has(x.symbols(i.map))) return true;
        // A coordinate by itself is compared with the extent; a part of one is not.
        for (const Sym& origin : i.access.origin)
          if (!(origin == uniform.symbol) && has(symbols(origin))) return true;
      }
  }
  for (const Uniform& other : code.program->uniforms())
    if (has(symbols(other.at))) return true;
  return std::any_of(code.program->specifications().begin(), code.program->specifications().end(),
                     [&](const auto& s) { return has(x.symbols(s.value)); });
}

bool has_workgroup(const Program& program, Sym s) {
  for (const AtomId a : symbols(s)) {
    for (const GridAxis& g : program.grid())
      if (a == *g.symbol.as_atom()) return true;
    if (program.shares() && a == *program.shares()->begin.as_atom()) return true;
    if (counts_trips_of_nest(program, a)) return true; // made anew in each
  }
  return false;
}

bool has_uniform(const Program& program, Sym s) {
  const std::vector<AtomId> in = symbols(s);
  return std::any_of(program.uniforms().begin(), program.uniforms().end(), [&](const Uniform& u) {
    return std::find(in.begin(), in.end(), *u.symbol.as_atom()) != in.end();
  });
}

namespace {
/// Whether a formula in sizes has no term below 0 where each size is its least one and as much more: then it is at least 0. `b m - m` of b and m
/// from 1 on is b m + b.
bool has_no_negative_term(Sym s) {
  std::vector<std::pair<AtomId, Sym>> more;
  for (const Term& term : s.terms())
    for (const Factor& f : term.factors()) {
      const Sym value = s.context()->value(f.atom);
      const Interval range = interval(value);
      if (s.context()->atom(f.atom).kind != AtomKind::symbol || !range.lower || *range.lower < Int(0))
        return false;
      more.emplace_back(f.atom, value + Sym(*range.lower));
    }
  const Sym from_least = substitute(s, more);
  const auto terms = from_least.terms();
  return from_least.constant_term() >= Int(0) &&
         std::all_of(terms.begin(), terms.end(), [](const Term& t) { return t.coefficient >= Int(0); });
}
} // namespace

std::vector<std::size_t> outside_in(const Tensor& tensor) {
  const std::size_t axes = tensor.shape.size();
  std::vector<std::size_t> order(axes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto distance = [&](std::size_t axis) {
    return (axes == 1 ? tensor.place.inner() : tensor.place.inner().mode(axis)).modes().back().stride.scale;
  };
  const auto farther = [&](std::size_t a, std::size_t b) { // known to be, for all sizes
    const Sym x = distance(a), y = distance(b);
    return !(x == Sym(0)) && !(y == Sym(0)) && (le(y, x) == Truth::yes || has_no_negative_term(x - y)) &&
           le(x, y) != Truth::yes;
  };
  for (std::size_t n = 1; n < axes; ++n)
    for (std::size_t i = n; i > 0 && farther(order[i], order[i - 1]); --i) std::swap(order[i], order[i - 1]);
  return order;
}

namespace {
// Whether a formula says how far a loop goes that ends at the least of two: it belongs to its trips.
bool counts_to_least(SymContext& context, Sym s) {
  for (const Term& term : s.terms())
    for (const Factor& f : term.factors()) {
      const SymAtom& atom = context.atom(f.atom);
      if (atom.kind == AtomKind::min) return true;
      for (const Sym& operand : atom.operands)
        if (counts_to_least(context, operand)) return true;
    }
  return false;
}
} // namespace

namespace {
/// max(0, x) as x: where a loop begins, in the branch where that is more than 0.
Sym without_least_0(Sym s) {
  std::vector<std::pair<AtomId, Sym>> inner;
  for (const Term& term : s.terms())
    for (const Factor& f : term.factors()) {
      const SymAtom& atom = s.context()->atom(f.atom);
      if (atom.kind == AtomKind::max && (atom.operands[0] == Sym(0) || atom.operands[1] == Sym(0)))
        inner.emplace_back(f.atom, atom.operands[atom.operands[0] == Sym(0) ? 1 : 0]);
    }
  return substitute(s, inner);
}

// Whether a tile may begin behind the end of its axis: then no number of records is left, and its coordinates are compared in registers. Of
// tiles that a grid axis counts those of its own length begin inside, and others need not: `64*wg` of n, `64*wg + 64`, `64*wg` where
// the grid counts another size. `or_at_it`: at the end is behind it. Where a branch is by one of the two it is for that to say; of what is
// loaded `ahead` of a loop for trips that it may not have, by the size.
bool may_begin_past(const Program& program, Sym begin, Sym extent, bool or_at_it = false,
                    bool ahead = false) {
  const auto size_of = [&](Sym s) {
    return std::find_if(program.sizes().begin(), program.sizes().end(),
                        [&](const Size& z) { return z.symbol == s; });
  };
  const auto size = size_of(extent);
  if (size == program.sizes().end()) return false;
  if (ahead) begin = without_least_0(begin);
  for (const GridAxis& g : program.grid()) {
    const std::pair<AtomId, Sym> first[] = {{*g.symbol.as_atom(), Sym(0)}},
                                 second[] = {{*g.symbol.as_atom(), Sym(1)}};
    const auto at = substitute(begin, first).constant(), next = substitute(begin, second).constant();
    if (!at || !next || !(begin == Sym(*at) + Sym(*next - *at) * g.symbol) || begin == Sym(*at)) continue;
    // A branch by the workgroup's number or by the size may say that the tile begins inside.
    bool branches = false;
    const auto says = [&](Sym side) {
      for (const AtomId a : symbols(side))
        branches = branches || (!ahead && a == *g.symbol.as_atom()) || a == *size->symbol.as_atom();
    };
    each_op(program.body(), [&](const Op& op) {
      if (const auto* b = std::get_if<IfOp>(&op.what)) says(b->condition.a), says(b->condition.b);
    });
    if (branches) return false;
    if (g.extent == extent)
      return *next - *at > Int(g.tile) ||
             *at + Int(or_at_it ? 1 : 0) > Int(std::gcd(size->facts.multiple, std::int64_t{g.tile}));
    return size_of(g.extent) != program.sizes().end() && le(g.extent, extent) != Truth::yes;
  }
  return false;
}
} // namespace

namespace {
/// Along a broadcast axis, `(m,n):(0,1)`, no coordinate lies behind another.
bool all_in_one_place(const Tensor& tensor, std::size_t axis) {
  const SymLayout& inner = tensor.place.inner();
  const SymLayout mode = tensor.shape.size() == 1 ? inner : inner.mode(axis);
  const auto modes = mode.modes();
  return std::all_of(modes.begin(), modes.end(), [](const auto& m) { return m.stride.scale == Sym(0); });
}
} // namespace

bool is_far(const Program& program, const Access& access) {
  const Tensor& t = program.tensor(access.tensor);
  if (t.space != Space::global || t.output) return false;
  if (t.far) return true;
  if (!access.gathered() || bits(t.element) < 8) return false;
  std::vector<Sym> most; // what a lane may add
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
    int last = 0;
    for (const int c : thread_coordinates(access.threads, axis))
      for (const auto& e : access.elements) last = std::max(last, c + e[axis]);
    most.push_back(access.gathered(axis) ? t.shape[axis] : Sym(last));
  }
  const Interval range = interval(t.at(most) * Sym(bits(t.element)));
  return !range.upper || range.upper->value() / 8 >= std::int64_t{1} << 31;
}

AddressSplit split(ThreadCoordinates& coordinates, const Access& access, std::span<const Reg> uses) {
  const Program& program = coordinates.program();
  const Tensor& tensor = program.tensor(access.tensor);
  SymContext& context = program.symbols();
  const std::size_t axes = tensor.shape.size();
  const bool window = tensor.space == Space::window;
  AddressSplit out;
  out.shortened.assign(axes, false);
  // Where coordinate 0 of a window lies belongs to the base, which may lie before the tensor: who looks there is left out by comparison.
  Tensor from_zero = tensor;
  if (window) from_zero.place = SymComposedLayout(Swizzle(), Sym(0), tensor.place.inner());

  // What of an origin belongs to the workgroup: the terms with a workgroup's number in them.
  std::vector<Sym> base(axes), step(axes), lane(axes), all(axes), thread(axes);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const Sym origin = access.origin[axis];
    for (const Term& term : origin.terms()) {
      const Sym value = context.product(term.coefficient, term.factors());
      const bool of_workgroup = has_workgroup(program, value) || uniform_of(program, value);
      if (of_workgroup && !counts_to_least(context, value)) base[axis] += value;
    }
    // Of a tile before that of the trip's number the distance belongs to the trip: the base must not lie before the workgroup's part.
    const Int constant = origin.constant_term();
    const bool of_trip = constant < Int(0) && !(origin - base[axis]).is_constant();
    if (!(base[axis] == Sym(0)) && !of_trip) base[axis] += Sym(constant);
    step[axis] = origin - base[axis];
    thread[axis] = access.gathered(axis)
                       ? row_symbol(program, tensor, axis, uses[static_cast<std::size_t>(access.rows[axis])])
                       : coordinates(access.threads, axis);
    lane[axis] = thread[axis] + Sym(access.elements[0][axis]);
    all[axis] = origin + lane[axis];
    // Digits of a coordinate, pixels of images: where no trip moves it they are each lane's.
    if (window && tensor.looks[axis].looks.size() > 1 && step[axis].is_constant()) {
      lane[axis] += base[axis] + step[axis];
      base[axis] = step[axis] = Sym(0);
    }
  }
  out.far = is_far(program, access);
  // The outermost masked axis in memory, if everything outside of it is a single coordinate.
  const std::vector<std::size_t> order = outside_in(tensor);
  std::size_t before = 0; // axes of that order with one coordinate for the workgroup
  bool moves = false;     // with the trip: the hardware compares what that adds with the records too
  for (; before < axes && !out.far && !window; ++before) {
    const std::size_t outer = order[before];
    if (access.gathered(outer)) {
      if (moves)
        throw CodegenError("rows that a table names lie inside of an axis that a loop moves along",
                           "tensor " + tensor.name + " " + to_string(tensor.place), "the rows outermost");
      out.gathered_axis = static_cast<int>(outer);
      break;
    }
    if (access.masked[outer] && !uniform_of(program, access.origin[outer])) {
      bool shorter = false; // see below
      for (std::size_t n = before + 1; n < axes; ++n)
        shorter = shorter || (!tensor.output && !(base[order[n]] == Sym(0)) && access.extents[order[n]] > 1);
      if (step[outer] == Sym(0) && !moves &&
          !may_begin_past(program, base[outer], tensor.shape[outer], shorter, access.slot > 0)) {
        if (all_in_one_place(tensor, outer)) continue; // where it ends is for a comparison to say
        out.descriptor_axis = static_cast<int>(outer);
      }
      break;
    }
    moves = moves || !step[outer].is_constant();
    bool single = thread[outer] == Sym(0);
    for (const auto& e : access.elements) single = single && e[outer] == 0;
    if (!single) break;
  }
  // What is loaded before the loop is trips after the first.
  const auto runs_ahead = [&](std::size_t axis) {
    return access.slot >= (step[axis].is_constant() ? 1 : 2) &&
           le(all[axis] - thread[axis] - Sym(access.elements[0][axis]) + Sym(access.extents[axis]),
              tensor.shape[axis]) != Truth::yes;
  };
  // One coordinate of the outermost axis, nothing masked: a loop along the others may run ahead of its end, so the records end with that coordinate.
  if (const std::size_t outer = order[0];
      !out.far && !window && axes > 1 && !tensor.output && access.rows.empty() && out.descriptor_axis < 0 &&
      access.extents[outer] == 1 && step[outer] == Sym(0) && !(base[outer] == Sym(0)) &&
      !uniform_of(program, access.origin[outer]) &&
      std::none_of(access.masked.begin(), access.masked.end(), [](bool m) { return m; })) {
    out.descriptor_axis = static_cast<int>(outer);
    before = 0;
  }
  // Or with the innermost of those that have one coordinate each, where tiles are loaded ahead along an axis inside of them and what lies
  // inside of that is masked: columns of one of several matrices.
  else if (const std::size_t single = before;
           !out.far && !window && !tensor.output && access.rows.empty() && out.descriptor_axis < 0 &&
           single > 0 && single < axes && !access.masked[order[single]] && runs_ahead(order[single]) &&
           std::all_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(single),
                       [&](std::size_t n) {
                         return access.extents[n] == 1 && !access.masked[n] && step[n].is_constant() &&
                                !uniform_of(program, access.origin[n]);
                       })) {
    before = single - 1;
    const std::size_t axis = order[before];
    base[axis] += step[axis], step[axis] = Sym(0);
    out.descriptor_axis = static_cast<int>(axis);
  }
  // The same of an axis that the loop moves along, with masks inside of it: the records end with the tensor. Number 0 is there always; its
  // end may lie before the tile where that begins behind it.
  const auto behind = [&] {
    for (std::size_t axis = 0; axis < axes; ++axis)
      if (may_begin_past(program, base[axis], tensor.shape[axis])) return true;
    return false;
  };
  if (const std::size_t outer = order[0];
      !out.far && !window && axes > 1 && !tensor.output && access.rows.empty() &&
      out.descriptor_axis != static_cast<int>(outer) && access.extents[outer] == 1 && !access.masked[outer] &&
      base[outer] == Sym(0) && !(step[outer] == Sym(0)) &&
      std::any_of(access.masked.begin(), access.masked.end(), [](bool m) { return m; }) && !behind()) {
    out.ends_with_tensor = true;
    out.descriptor_axis = -1;
  }
  // And of an axis along which tiles are loaded ahead, whatever is inside of it: what
  // is loaded after the last tile nobody reads, but it has to be memory of the tensor's or nothing. Of the tile of the trip itself
  // it is known that it is inside, and of a first one that is: the axis's first, or that of a part which the grid counts (split-K).
  const auto begins_inside = [&](std::size_t axis) {
    const Sym first = base[axis] - Sym(base[axis].constant_term());
    return base[axis] == Sym(0) ||
           std::any_of(program.grid().begin(), program.grid().end(), [&](const GridAxis& g) {
             return g.extent == tensor.shape[axis] && first == Sym(g.tile) * g.symbol;
           });
  };
  if (const std::size_t outer = order[0]; !out.far && !window && !tensor.output && access.rows.empty() &&
                                          out.descriptor_axis < 0 && !out.ends_with_tensor &&
                                          access.extents[outer] > 1 && !access.masked[outer] &&
                                          begins_inside(outer) && runs_ahead(outer))
    out.ends_with_tensor = std::any_of(program.sizes().begin(), program.sizes().end(),
                                       [&](const Size& z) { return z.symbol == tensor.shape[outer]; });
  if (const std::size_t outer = order[0]; out.ends_with_tensor) {
    const Sym constant(base[outer].constant_term());
    base[outer] -= constant, step[outer] += constant;
  }
  // A number in front of the descriptor's axis must not count as a distance along it.
  if (out.descriptor_axis >= 0 || out.gathered_axis >= 0)
    for (std::size_t n = 0; n < before; ++n)
      if (const std::size_t axis = order[n]; step[axis].is_constant())
        base[axis] += step[axis], step[axis] = Sym(0);

  // Along an axis inside of that one, a loop may run past the end: from where the workgroup begins there is less of a row,
  // and how far a trip is from there counts as a step.
  std::vector<Sym> begin(axes, Sym(0));
  bool past_an_end = false; // where no mask is: what lies after a single coordinate counts too
  for (std::size_t axis = 0; axis < axes; ++axis)
    past_an_end = past_an_end || (!access.gathered(axis) && !access.masked[axis] && runs_ahead(axis));
  for (std::size_t n = before + 1; out.descriptor_axis >= 0 && n < axes; ++n)
    if (const std::size_t inner = order[n];
        !tensor.output && !(base[inner] == Sym(0)) &&
        (access.extents[inner] > 1 || (past_an_end && !uniform_of(program, access.origin[inner])))) {
      out.shortened[inner] = true;
      const Sym constant(base[inner].constant_term());
      base[inner] -= constant, step[inner] += constant;
      begin[inner] = base[inner];
    }

  out.begin = base;
  out.base = tensor.at(base);
  out.step = from_zero.at(step);
  const Sym at_lane = from_zero.at(lane);
  out.immediate = std::max<std::int64_t>(at_lane.constant_term().value(), 0);
  out.lane = at_lane - Sym(out.immediate);
  const Sym address = tensor.at(all);
  if (eq(address, out.base + out.step + at_lane) != Truth::yes)
    throw CodegenError("an address of " + tensor.name + " does not split into workgroup, trip and lane",
                       "address " + to_string(address) + "\n  parts   " + to_string(out.base) + "  +  " +
                           to_string(out.step) + "  +  " + to_string(at_lane),
                       "tiles that divide the extents of the tensor's modes");

  for (std::size_t axis = 0; axis < axes; ++axis) {
    // What a trip loads ahead of another may pass an end that no descriptor is at.
    const bool ahead = out.far && !step[axis].is_constant();
    if (!access.masked[axis] && !ahead) continue;
    if (static_cast<int>(axis) == out.descriptor_axis) continue;
    const Uniform* u = uniform_of(program, access.origin[axis]);
    if (access.gathered(axis) || u) {
      out.predicates.push_back(
          {static_cast<int>(axis), u ? u->symbol : thread[axis], tensor.shape[axis], true});
    } else {
      out.predicates.push_back({static_cast<int>(axis), thread[axis] + Sym(access.elements[0][axis]),
                                tensor.shape[axis] - access.origin[axis], false});
    }
  }
  if (window) {
    const std::vector<Sym> seen = tensor.seen(all);
    for (std::size_t axis = 0; axis < seen.size(); ++axis)
      if (tensor.leaves(axis)) out.predicates.push_back({-1, seen[axis], tensor.of_shape[axis], true});
  }
  // Where memory that ends with an element ends. Where axes have one mode each that is a formula of no more digits than the other.
  const auto ends_after = [&](const std::vector<Sym>& last) { return tensor.at(last) + Sym(1); };
  const auto plain_from = [&](std::size_t n) {
    for (; n < axes; ++n)
      if (axes > 1 ? tensor.place.inner().mode(order[n]).modes().size() > 1
                   : tensor.place.inner().modes().size() > 1)
        return false;
    return true;
  };
  if (out.descriptor_axis >= 0) {
    const auto axis = static_cast<std::size_t>(out.descriptor_axis);
    // Not more than the tile, so that the number of records fits 32 bits whatever the size of the tensor.
    // A whole block of a mode that is itself divided (16 rows of a preshuffled matrix).
    const SymLayout mode = axes == 1 ? tensor.place.inner() : tensor.place.inner().mode(axis);
    std::int64_t block = 1;
    for (std::size_t k = 0; k + 1 < mode.modes().size(); ++k)
      block *= mode.modes()[k].extent.constant() ? mode.modes()[k].extent.constant()->value() : 1;
    const std::int64_t reach = (access.extents[axis] + block - 1) / block * block;
    out.rows = min(tensor.shape[axis] - base[axis], Sym(reach));
    std::vector<Sym> end(axes, Sym(0));
    end[axis] = out.rows;
    out.records = tensor.at(end) - tensor.at(begin);
    // Of rows with something between them the last one ends with its last element: what would lie behind it need not be memory.
    if (!tensor.output) {
      for (std::size_t n = before; n < axes; ++n) // what lies outside of the axis is the base's
        end[order[n]] = (order[n] == axis ? out.rows : tensor.shape[order[n]]) - Sym(1);
      const Sym to_last = ends_after(end) - tensor.at(begin);
      out.to_last = plain_from(before) && !(to_last == out.records);
      if (out.to_last) out.records = to_last;
    }
  } else if (out.ends_with_tensor) {
    std::vector<Sym> last; // rows may overlap: past the last element, not where a next row would begin
    for (const Sym& extent : tensor.shape) last.push_back(extent - Sym(1));
    out.records = tensor.at(last) + Sym(1) - out.base;
  } else if (out.gathered_axis >= 0) {
    std::vector<Sym> end(axes, Sym(0));
    const auto axis = static_cast<std::size_t>(out.gathered_axis);
    end[axis] = tensor.shape[axis];
    out.records = tensor.at(end);
    if (plain_from(before)) {
      for (std::size_t n = before; n < axes; ++n) end[order[n]] = tensor.shape[order[n]] - Sym(1);
      out.records = ends_after(end);
    }
  }
  return out;
}

} // namespace inlay::codegen
