// What follows from the views alone: inside, aligned, contiguous, within 31 bits, the descriptor's end.
#include "interpreter.h"

#include <stdexcept>
#include <utility>

namespace inlay::codegen::provenance {

namespace {
// The layout with f of each of its extents and strides.
SymLayout with_symbols(const SymLayout& layout, const std::function<Sym(Sym)>& f) {
  TupleBuilder<BasicMode<Sym>> b;
  b.profile(layout.profile().view());
  for (const auto& m : layout.modes())
    b.leaves().push_back(BasicMode<Sym>{f(m.extent), BasicStride<Sym>(f(m.stride.scale))});
  return SymLayout(std::move(b).finish());
}
} // namespace

const Interpreter::Prepared& Interpreter::prepared(const Inst& inst) {
  const auto found = prepared_.find(&inst);
  if (found != prepared_.end()) return found->second;
  Prepared r;
  const Access& a = inst.access;
  const std::size_t count = a.elements.size();
  for (std::size_t axis = 0; axis < a.origin.size(); ++axis) {
    const Column thread = thread_coordinates(a.threads, axis);
    std::vector<int> element;
    for (const auto& e : a.elements) element.push_back(e[axis]);
    Column c(thread.size() * count);
    std::size_t at = 0;
    for (const int t : thread)
      for (const int e : element) c[at++] = t + e;
    r.column.push_back(columns_.intern(c));
    r.coordinate.push_back(std::move(c));
    r.origin.push_back(replaced_(a.origin[axis], world_)); // of every path
  }
  for (int th = 0; th < p_.threads(); ++th)
    r.acts.push_back(a.acts(th) && inst.waves.contains(th / p_.target().wave_size));
  const Tensor& t = p_.tensor(a.tensor);
  if (t.space == Space::lds) {
    const std::vector<int>& places = places_of(t);
    const std::int64_t size = t.stage_elements();
    std::vector<std::int64_t> origin, extent;
    for (std::size_t axis = 0; axis < a.origin.size(); ++axis) {
      const auto o = r.origin[axis].constant();
      if (!o) refute("a tile in LDS is addressed by numbers", t.name, to_string(r.origin[axis]));
      origin.push_back(o->value());
      extent.push_back(t.shape[axis].constant()->value());
    }
    std::vector<std::int64_t> number(static_cast<std::size_t>(p_.threads()) * count, 0);
    for (std::size_t axis = extent.size(); axis-- > 0;) {
      const Column& coordinate = r.coordinate[axis];
      const std::int64_t begin = origin[axis], end = extent[axis];
      for (std::size_t s = 0; s < number.size(); ++s) {
        const std::int64_t at = begin + coordinate[s];
        if (at < 0 || at >= end)
          refute("accesses to " + t.name + " stay inside it", to_string(a.threads),
                 "work-item " + std::to_string(s / count) + " is at " + std::to_string(at) + " of " +
                     to_string(t.shape[axis]) + " along axis " + std::to_string(axis));
        number[s] = number[s] * end + at;
      }
    }
    r.places.resize(number.size());
    for (std::size_t s = 0; s < number.size(); ++s) {
      const int place = places[static_cast<std::size_t>(number[s])];
      if (place < 0 || place >= size)
        refute("accesses to " + t.name + " stay inside it", to_string(t.place),
               "work-item " + std::to_string(s / count) + " is at element " + std::to_string(place) + " of " +
                   std::to_string(size));
      r.places[s] = place;
    }
  }
  return prepared_.emplace(&inst, std::move(r)).first->second;
}

const std::vector<int>& Interpreter::places_of(const Tensor& t) {
  std::vector<int>& places = places_[t.id];
  if (!places.empty()) return places;
  std::vector<std::int64_t> at(t.shape.size(), 0);
  for (std::size_t axis = 0; axis < at.size();) {
    places.push_back(static_cast<int>(t.at(at)));
    for (axis = 0; axis < at.size() && ++at[axis] == t.shape[axis].constant()->value(); ++axis) at[axis] = 0;
  }
  return places;
}

void Interpreter::static_claims() {
  for (const Tensor& t : p_.tensors()) {
    if (t.space != Space::global) continue;
    place_claims(t);
    const bool counts =
        std::any_of(p_.tickets().begin(), p_.tickets().end(),
                    [&](const Ticket& k) { return k.tensor == t.id; }) ||
        std::any_of(p_.turns().begin(), p_.turns().end(), [&](const Turn& k) { return k.tensor == t.id; }) ||
        (t.output && t.device >= 0); // flags
    if (t.output && !counts && !p_.specification(t))
      refute("every output has a specification", t.name, "nothing says what it should hold");
  }
  std::int64_t bytes = 0;
  for (const auto& [tensor, ring] : lds_stages(code_))
    bytes += ring * p_.tensor(tensor).stage_elements() * bits(p_.tensor(tensor).element) / 8;
  out_.lds_bytes = static_cast<int>(bytes);
  if (bytes > p_.target().lds_bytes) {
    std::string tiles;
    std::int64_t most = 0;
    for (const auto& [tensor, ring] : lds_stages(code_)) {
      const Tensor& t = p_.tensor(tensor);
      const std::int64_t one = t.stage_elements() * bits(t.element) / 8;
      tiles += (tiles.empty() ? ": " : ", ") + t.name + " " + (ring > 1 ? std::to_string(ring) + " x " : "") +
               std::to_string(one);
      if (ring * one <= most) continue;
      most = ring * one;
      for (const CodeRegion& region : code_.regions)
        for (const auto* list : {&region.epilogue, &region.body, &region.prologue})
          for (const Inst& i : *list)
            if (i.access.tensor == tensor) at_ = &i;
    }
    refute("the stages fit into LDS", std::to_string(bytes) + " bytes" + tiles,
           std::string(p_.target().name) + " has " + std::to_string(p_.target().lds_bytes) +
               "\n  hint   smaller tiles, or a smaller ring of their loop");
  }
  if (bytes > 0)
    prove("the stages fit into LDS",
          std::to_string(bytes) + " of " + std::to_string(p_.target().lds_bytes) + " bytes", "enumeration");
  std::set<std::tuple<int, bool, std::vector<int>>> patterns;
  for (const CodeRegion& r : code_.regions) {
    bool possible = true;
    for (const Guard& g : r.guards) { // what its path says of where tiles begin
      path_.push_back(g);
      possible = possible && assume(g);
    }
    written_ = in_any_trip(r);
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) {
        if (!possible) break; // nobody comes here
        if (i.access.tensor < 0 || i.kind == InstKind::ticket || i.kind == InstKind::meet || i.turn >= 0)
          continue; // those of tickets, turns and meetings are their rule's
        at_ = &i;
        if (p_.tensor(i.access.tensor).space == Space::lds) {
          lds_claims(i, patterns);
        } else {
          memory_claims(i);
        }
      }
    path_.clear();
    relation_.clear(), written_.clear();
    stagger_claims(r);
  }
  at_ = nullptr;
  for (const auto& spec : p_.specifications()) {
    const auto all = x_.symbols(spec.value);
    const auto names = [&](Sym s) {
      if (s.as_atom() && std::find(all.begin(), all.end(), *s.as_atom()) != all.end())
        refute("a specification says the same in all workgroups", to_string(s),
               "it is another number in another workgroup: " + p_.tensor(spec.tensor).name +
                   " is a function of its coordinates and of sizes");
    };
    for (const GridAxis& g : p_.grid()) names(g.symbol);
    for (const Ticket& k : p_.tickets()) names(k.symbol);
    each_op(p_.body(), [&](const Op& op) {
      if (const auto* l = std::get_if<LoopOp>(&op.what)) names(l->t);
    });
  }
  for (const Uniform& u : p_.uniforms()) {
    line_ = u.where;
    const Tensor& t = p_.tensor(u.tensor);
    const Interval range = interval(t.shape[0]);
    const auto wrong = [&](const std::string& why) {
      refute("a number of the workgroup is read inside " + t.name, t.name + "[" + to_string(u.at) + "]", why);
    };
    // Of one that trips read there are as many as the loop has, or more.
    std::vector<std::pair<AtomId, Sym>> trips;
    const std::vector<AtomId> own = trips_of(p_, u);
    for (const Around& around : nests_)
      if (std::find(own.begin(), own.end(), *around.nest.t.as_atom()) != own.end())
        trips = in_any_trip(code_.regions[around.begin]);
    const Sym number = replaced_(world(u.at), trips);
    if (!decide(ClaimKind::less_equal, number + Sym(1), replaced_(world(t.shape[0]), trips)))
      wrong("it may pass " + to_string(t.shape[0]) + ", the end of " + t.name);
    if (!range.upper || range.upper->value() >= std::int64_t{1} << 29)
      wrong(t.name + " may have " + (range.upper ? to_string(*range.upper) : "any number of") +
            " entries, and 2^29 of 4 bytes or more have no offset of 31 bits\n  hint   most=" +
            std::to_string((std::int64_t{1} << 29) - 1) + " or less of the sizes in " +
            to_string(t.shape[0]));
    if (!decide(ClaimKind::less_equal, Sym(0), number)) wrong("it may be negative");
    prove(
        "a number of the workgroup is read inside " + t.name, [&] { return to_string(u.at); }, "prover");
    if (own.empty()) uniform_claims(u); // as a condition alone, any number is one
  }
  line_.reset();
}

void Interpreter::stagger_claims(const CodeRegion& r) {
  if (r.staggered.empty()) return;
  const auto& body = r.body;
  at_ = body.empty() ? nullptr : &body.front();
  const std::string claim = "the upper half of the waves has the loop's dependences in its order",
                    all = std::to_string(body.size()) + " instructions";
  if (!r.is_loop || p_.threads() / p_.target().wave_size % 2 != 0)
    refute(claim, all, "there is no loop, or no half of the waves");
  const auto name = [&](int n) {
    return "instruction " + std::to_string(n) + " (" + name_of(body[static_cast<std::size_t>(n)]) + ")";
  };
  std::vector<int> place(body.size(), -1);
  if (r.staggered.size() != body.size()) refute(claim, all, "it has " + std::to_string(r.staggered.size()));
  for (std::size_t s = 0; s < r.staggered.size(); ++s) {
    const int n = r.staggered[s];
    if (n < 0 || n >= static_cast<int>(body.size()))
      refute(claim, all, "there is no instruction " + std::to_string(n));
    if (std::exchange(place[static_cast<std::size_t>(n)], static_cast<int>(s)) >= 0)
      refute(claim, all, name(n) + " stands there twice");
  }
  const auto access = [](const Inst& i) {
    return i.kind == InstKind::load || i.kind == InstKind::store || i.kind == InstKind::lds_read ||
           i.kind == InstKind::lds_write;
  };
  const auto computes = [](const Inst& i) {
    return i.kind == InstKind::fill || i.kind == InstKind::mma || i.kind == InstKind::map ||
           i.kind == InstKind::fold_values || i.kind == InstKind::fold_lanes || i.kind == InstKind::top ||
           i.kind == InstKind::exchange_lanes;
  };
  const auto touches = [&](const Inst& x, const Reg& what, bool writes) {
    const auto same = [&](const Reg& y) {
      return y.id == what.id &&
             (y.ahead == what.ahead || code_.registers[static_cast<std::size_t>(y.id)].outside);
    };
    return what.id >= 0 && (same(x.def) || (!writes && std::any_of(x.uses.begin(), x.uses.end(), same)));
  };
  for (int a = 0; a < static_cast<int>(body.size()); ++a)
    for (int b = a + 1; b < static_cast<int>(body.size()); ++b) {
      if (place[static_cast<std::size_t>(a)] < place[static_cast<std::size_t>(b)]) continue;
      const Inst &x = body[static_cast<std::size_t>(a)], &y = body[static_cast<std::size_t>(b)];
      const auto turned = [&](const std::string& why) {
        refute(claim, all, name(b) + " would stand before " + name(a) + ": " + why);
      };
      if ((!access(x) && !computes(x)) || (!access(y) && !computes(y)))
        turned("nothing passes a wait, a barrier, or what orders workgroups");
      if (access(x) && access(y)) turned("both are accesses, which waits count");
      // Written here and used or written there, or the other way around.
      if (touches(y, x.def, false) ||
          std::any_of(x.uses.begin(), x.uses.end(), [&](const Reg& u) { return touches(y, u, true); }))
        turned("they share a register");
    }
  prove(claim, all, "enumeration");
}

void Interpreter::uniform_claims(const Uniform& u) {
  if (!is_bound(code_, u)) return;
  const std::string& table = p_.tensor(u.tensor).name;
  for (const auto& spec : p_.specifications()) {
    const auto all = x_.symbols(spec.value);
    if (std::find(all.begin(), all.end(), *u.symbol.as_atom()) != all.end() && !u.at.constant())
      refute("a specification says the same in all workgroups", to_string(u.symbol),
             table + "[" + to_string(u.at) + "] is another number in another workgroup");
  }
  callers(table + " holds nothing negative", "its elements are bounds");
  if (p_.tensor(u.tensor).element == Element::i64)
    callers(table + " holds nothing of 2^31 or more", "its elements are bounds, of 32 bits");
}

void Interpreter::place_claims(const Tensor& t) {
  const Tensor in_world = tensor_in_world(t);
  const SymLayout& place = in_world.place.inner();
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
    const Sym extent = (t.shape.size() == 1 ? place : place.mode(axis)).size();
    if (!decide(ClaimKind::equal, extent, world(t.shape[axis])))
      refute("the place of " + t.name + " is that of its coordinates", to_string(t.place),
             "axis " + std::to_string(axis) + " has " + to_string(t.shape[axis]) + " coordinates");
  }
  // Its memory begins at its address: the size of its buffer, and what the launch checks of it, are counted from there.
  for (const auto& m : place.modes())
    if (!decide(ClaimKind::less_equal, Sym(0), m.stride.scale))
      refute(
          "no element of " + t.name + " lies before its address", to_string(t.place),
          "the stride " + to_string(m.stride.scale) +
              " may be negative\n  hint   strides of at least 0, and a formula of the coordinate that counts "
              "backwards");
  if (!t.output) return;
  // Two coordinates in one place would be written by two stores.
  const std::string claim = "each element of " + t.name + " has a place of its own";
  // Quotients (numbers of tiles) as numbers of which nothing but the range is known: then products of them compare as such.
  std::vector<std::pair<AtomId, Sym>> opaque;
  const auto look = [&](Sym s) {
    for (const inlay::Term& term : s.terms())
      for (const Factor& f : term.factors())
        if (context_.atom(f.atom).kind != AtomKind::symbol)
          opaque.emplace_back(f.atom, symbol_of(context_, SymbolKind::quotient, {f.atom}, "",
                                                interval(context_.value(f.atom))));
  };
  for (const auto& m : place.modes()) look(m.extent), look(m.stride.scale);
  const SymLayout apart = with_symbols(place, [&](Sym s) { return substitute(s, opaque); });
  const auto injective = [&](const SymLayout& of) {
    try {
      return prover_.decide(Claim{ClaimKind::injective, {}, {of}}) == Truth::yes;
    } catch (const std::invalid_argument&) { // no question: an extent may be 0 by what is left of it here
      return false;
    }
  };
  if (!injective(apart) && !injective(place) && !injective(t.place.inner())) // sizes in their range
    refute(claim, to_string(t.place), "two coordinates may have the same");
  prove(claim, to_string(t.place), "prover");
}

void Interpreter::lds_claims(const Inst& i, std::set<std::tuple<int, bool, std::vector<int>>>& patterns) {
  if (i.combine) return named_alone(i); // which elements, a table says; what is none of them is left out
  const Tensor& t = p_.tensor(i.access.tensor);
  const Prepared& r = prepared(i);
  const std::size_t count = i.access.elements.size();
  for (std::size_t s = 0; s < r.places.size(); s += count) {
    if (static_cast<std::int64_t>(r.places[s]) * bits(t.element) %
            (static_cast<std::int64_t>(count) * bits(t.element)) !=
        0)
      refute(std::string(name_of(i)) + "s of " + t.name + " are aligned", to_string(t.place),
             "work-item " + std::to_string(s / count) + " is at element " + std::to_string(r.places[s]) +
                 ", " + std::to_string(count) + " at a time");
    for (std::size_t e = 1; e < count; ++e)
      if (r.places[s + e] != r.places[s] + static_cast<int>(e))
        refute("a vector of " + t.name + " is contiguous", to_string(t.place),
               "work-item " + std::to_string(s / count) + ": element " + std::to_string(e) + " is at " +
                   std::to_string(r.places[s + e]) + ", element 0 at " + std::to_string(r.places[s]));
  }
  prove(
      std::string(name_of(i)) + "s of " + t.name + " are inside it, aligned and contiguous",
      [&] { return to_string(t.place); }, "enumeration");
  // A transfer has one address a wave: its lanes' data lie one after another.
  if (i.direct)
    for (std::size_t s = 0; s < r.places.size(); s += count) {
      const std::size_t lane = s / count % static_cast<std::size_t>(p_.target().wave_size);
      if (r.places[s] != r.places[s - lane * count] + static_cast<int>(lane * count))
        refute("a transfer to " + t.name + " puts a wave's data lane after lane", to_string(t.place),
               "work-item " + std::to_string(s / count) + " is at element " + std::to_string(r.places[s]));
    }
  const bool read = i.kind == InstKind::lds_read;
  // Of several instructions the first: the others have the same places so many banks further on.
  const int all = static_cast<int>(count) * bits(t.element);
  LdsPattern pattern{
      i.op, read, all / (read ? Atom::lds_reads(all) : 1) / 8, static_cast<int>(count), t.name, {}, i.where};
  std::vector<int> first;
  for (int th = 0; th < p_.threads(); ++th) {
    const std::size_t s = static_cast<std::size_t>(th) * count;
    const bool idle = !r.acts[static_cast<std::size_t>(th)];
    pattern.address.push_back(idle ? -1 : std::int64_t{r.places[s]} * bits(t.element) / 8);
    first.push_back(idle ? -1 : r.places[s]);
  }
  if (patterns.emplace(i.access.tensor, read, first).second) out_.lds.push_back(std::move(pattern));
}

bool Interpreter::runs_along(const Access& a, std::size_t axis) {
  for (std::size_t e = 0; e < a.elements.size(); ++e)
    if (a.elements[e][axis] != a.elements[0][axis] + static_cast<int>(e)) return false;
  return true;
}

bool Interpreter::in_one_block(const Access& a, const Prepared& r, std::size_t axis) {
  const Column& c = r.coordinate[axis];
  const std::size_t count = a.elements.size();
  for (int block = 2; block <= 4096; block *= 2) {
    bool one = true;
    for (std::size_t s = 0; s < c.size() && one; ++s)
      one = c[s] >= 0 && c[s] / block == c[s - s % count] / block;
    if (one)
      return decide(ClaimKind::divides, Sym(block), r.origin[axis]) &&
             decide(ClaimKind::divides, Sym(block), world(p_.tensor(a.tensor).shape[axis]));
  }
  return false;
}

void Interpreter::named_alone(const Inst& i) {
  const Prepared& r = prepared(i);
  const Tensor& t = p_.tensor(i.access.tensor);
  for (std::size_t axis = 0; axis < r.origin.size(); ++axis)
    if (i.access.gathered(axis) &&
        (!(i.access.origin[axis] == Sym(0)) ||
         std::any_of(r.coordinate[axis].begin(), r.coordinate[axis].end(), [](int c) { return c != 0; })))
      refute("rows that a table names are the coordinates of " + t.name, to_string(i.access.origin[axis]),
             "something is added to them along axis " + std::to_string(axis));
}

void Interpreter::memory_claims(const Inst& i) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const Prepared& r = prepared(i);
  const std::size_t count = i.access.elements.size();
  named_alone(i);
  std::vector<std::pair<AtomId, Sym>> condition;
  if (i.when && i.when->divides) add_condition(condition, *i.when);
  const auto given = [&](Sym s) { return substitute(s, condition); };
  // The address of each element as a formula in the work-item.
  std::vector<Sym> at0;
  for (std::size_t axis = 0; axis < r.origin.size(); ++axis)
    at0.push_back(i.access.gathered(axis)
                      ? row_symbol(p_, t, axis, i.uses[static_cast<std::size_t>(i.access.rows[axis])])
                      : r.origin[axis] + coordinate_of_(i.access.threads, axis) +
                            Sym(i.access.elements[0][axis]));
  const Tensor in_world = tensor_in_world(t);
  const Sym place0 = in_world.at(at0);
  for (std::size_t e = 1; e < count; ++e) {
    std::vector<Sym> at = at0;
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      at[axis] += Sym(i.access.elements[e][axis] - i.access.elements[0][axis]);
    if (!decide(ClaimKind::equal, in_world.at(at), place0 + Sym(e)))
      refute("a vector of " + t.name + " is contiguous", to_string(t.place),
             "element " + std::to_string(e) + " is " + to_string(in_world.at(at) - place0) +
                 " elements after element 0");
  }
  const std::string what = std::string(name_of(i)) + "s of " + t.name;
  const int width = static_cast<int>(count) * bits(t.element), at_once = std::clamp(width / 8, 1, 4);
  if (pointer_alignment(p_, t) % at_once != 0)
    refute(what + " have an address that the contract aligns", t.name,
           std::to_string(at_once) + " bytes are moved at once");
  const auto address = [&] { return to_string(place0); };
  if (count > 1) {
    // Registers are moved in units of 32 bits; a vector of bytes or halves needs the alignment of the whole.
    const auto unit = static_cast<std::int64_t>(count);
    if (!decide(ClaimKind::divides, Sym(unit), given(place0)) && bits(t.element) < 32)
      refute(what + " are aligned to " + std::to_string(unit * bits(t.element) / 8) + " bytes",
             to_string(place0),
             "the element number need not be a multiple of " + std::to_string(unit) + hint_multiple(t, unit));
    prove(what + " are contiguous and aligned", address, "facts");
  }
  AddressSplit a;
  try {
    a = split(coordinate_of_, i.access, i.uses);
  } catch (const std::invalid_argument& e) {
    refute(what + " have the address of their view", to_string(t.place), e.what());
  }
  prove(what + " have the address of their view: base + step + lane + immediate", address, "normal form");
  const auto no_trip = [&]() -> std::string {
    for (const CodeRegion& region : code_.regions)
      if (region.is_loop &&
          std::any_of(region.body.begin(), region.body.end(), [&](const Inst& x) { return x.op == i.op; }) &&
          !positive(region, region.extent))
        return "\n  hint   the loop to " + to_string(region.extent) + " may have no trip: k.if_less(0, " +
               to_string(region.extent) + ", ..) around it says where it has";
    return "";
  };
  // What a mask or a descriptor leaves out lies past the tensor's end; before its start nothing checks. And where
  // the base is past the end, what is left is negative, and to the hardware a large number.
  const bool shorter = std::find(a.shortened.begin(), a.shortened.end(), true) != a.shortened.end();
  for (std::size_t axis = 0; axis < at0.size(); ++axis) {
    if (i.access.gathered(axis) || uniform_of(p_, i.access.origin[axis])) continue;
    if (!decide(ClaimKind::less_equal, Sym(0), r.origin[axis]) && !at_most(Sym(0), r.origin[axis]))
      refute("tiles of " + t.name + " begin inside it", to_string(i.access.origin[axis]),
             "axis " + std::to_string(axis) + " may begin at a negative coordinate" + no_trip());
    const bool descriptor = static_cast<int>(axis) == a.descriptor_axis;
    if (!descriptor && !a.shortened[axis]) continue;
    const Sym least = descriptor && (shorter || a.to_last) ? Sym(1) : Sym(0); // of the rows from the base on
    if (!decide(ClaimKind::less_equal, world(a.begin[axis]) + least, world(t.shape[axis])) &&
        !less_equal(world(a.begin[axis]) + least, world(t.shape[axis])))
      refute("tiles of " + t.name + " begin inside it", to_string(i.access.origin[axis]),
             "axis " + std::to_string(axis) + " may start past " + to_string(t.shape[axis]) +
                 ", and the room that its descriptor has is negative there");
  }
  prove("tiles of " + t.name + " begin inside it", address, "facts");
  const auto guarded = [&](std::size_t axis) { // in registers
    return std::any_of(a.predicates.begin(), a.predicates.end(),
                       [&](const auto& q) { return q.axis == static_cast<int>(axis); });
  };
  // A vector is wholly inside or wholly outside. Descriptors cut off each dword by itself.
  for (std::size_t axis = 0; axis < at0.size(); ++axis) {
    bool varies = false;
    for (const auto& e : i.access.elements) varies = varies || e[axis] != i.access.elements[0][axis];
    if (!varies || (static_cast<int>(axis) == a.descriptor_axis && bits(t.element) == 32)) continue;
    if (!i.access.masked[axis] && !(a.far && guarded(axis))) continue;
    if (!i.access.gathered(axis) && !runs_along(i.access, axis)) {
      // Several coordinates that are no run, all in one block of a number that divides the extent.
      if (!in_one_block(i.access, r, axis))
        refute("a vector of " + t.name + " is wholly inside or wholly outside", to_string(place0),
               "its elements along axis " + std::to_string(axis) +
                   " are not in one block that divides the extent " + to_string(t.shape[axis]));
      prove(
          "a vector of " + t.name + " is wholly inside or wholly outside",
          [&] { return to_string(t.shape[axis]); }, "facts");
      continue;
    }
    const Sym room = given(world(t.shape[axis]) - at0[axis]);
    Tensor along = t;
    along.shape = {t.shape[axis]};
    if (!decide(ClaimKind::divides, Sym(count), room))
      refute("a vector of " + t.name + " is wholly inside or wholly outside", to_string(room),
             "vectors of " + std::to_string(count) + " along axis " + std::to_string(axis) + " of extent " +
                 to_string(t.shape[axis]) +
                 (divides(Sym(count), given(world(t.shape[axis]))) == Truth::yes
                      ? ", from " + to_string(r.origin[axis]) + " on; that has to be a multiple of " +
                            std::to_string(count) +
                            ", as the step of a loop or the tile of a grid axis gives it"
                      : hint_multiple(along, static_cast<std::int64_t>(count))));
    prove(
        "a vector of " + t.name + " is wholly inside or wholly outside", [&] { return to_string(room); },
        "facts");
  }
  if (t.space == Space::window) halo_claims(i, at0, a);
  // After the last coordinate of the access along an axis; and what it may pass where nothing masks it.
  const auto past = [&](std::size_t axis) {
    const Column& c = r.coordinate[axis];
    return r.origin[axis] + Sym(*std::max_element(c.begin(), c.end()) + 1);
  };
  const auto inside = [&](std::size_t axis) {
    return decide(ClaimKind::less_equal, past(axis), world(t.shape[axis])) ||
           decide(ClaimKind::less_equal, past(axis),
                  t.shape[axis]); // by its multiple, which trips do not show
  };
  const auto leaves = [&](std::size_t axis, const std::string& why) {
    refute("loads of " + t.name + " stay inside its memory", to_string(r.origin[axis]),
           "axis " + std::to_string(axis) + " is not masked, may pass " + to_string(t.shape[axis]) +
               ", and " + why +
               (i.ahead > 0
                    ? "\n  hint   it is loaded " + std::to_string(i.ahead) +
                          " trips ahead of the one that uses it, the last ones from beyond the end: a "
                          "Pipeline of distance 0"
                    : ""));
  };
  // What a window looks at past the end of its axis is compared, as what lies before its start is.
  const auto compared = [&](std::size_t axis) {
    return t.space == Space::window && t.leaves(static_cast<std::size_t>(t.looks[axis].looks.back().axis));
  };
  // Without a descriptor that ends, every coordinate that is not masked has to be inside.
  if (i.kind == InstKind::load && !a.ends())
    for (std::size_t axis = 0; axis < at0.size(); ++axis)
      if (!i.access.masked[axis] && !guarded(axis) && !counted(i, axis) && !compared(axis) && !inside(axis) &&
          !decide(ClaimKind::less_equal, past(axis), in_trip(i, world(t.shape[axis]))))
        leaves(axis, "no descriptor ends it");
  // So has a number along an axis outside of the descriptor's: it is part of the base.
  for (const std::size_t axis : outside_in(t)) {
    if (i.kind != InstKind::load || a.descriptor_axis < 0 || static_cast<int>(axis) == a.descriptor_axis)
      break;
    const auto number = i.access.origin[axis].constant();
    if (number && *number > Int(0) && !i.access.masked[axis] && !inside(axis))
      leaves(axis, "lies outside of the axis that the descriptor ends");
  }
  // After a base that is inside a row, what is not masked is inside, or the records end with the row.
  for (std::size_t axis = 0; i.kind == InstKind::load && a.descriptor_axis >= 0 && axis < at0.size(); ++axis)
    if (!i.access.masked[axis] && !a.shortened[axis] && !counted(i, axis) &&
        has_workgroup(p_, i.access.origin[axis]) && !inside(axis))
      leaves(axis, "the descriptor ends a row after it");
  if (i.kind == InstKind::load)
    prove(
        "loads of " + t.name + " stay inside its memory", [&] { return to_string(t.place); }, "facts");
  if (a.gathered_axis >= 0 || a.ends_with_tensor) {
    // The descriptor ends with the tensor: nothing inside is cut, nothing after it is read.
    std::vector<Sym> last(t.shape.size(), Sym(0));
    bool from_here = a.ends_with_tensor;
    for (const std::size_t axis : outside_in(t)) {
      from_here = from_here || static_cast<int>(axis) == a.gathered_axis;
      if (from_here) last[axis] = t.shape[axis] - Sym(1);
    }
    const Sym end = a.ends_with_tensor ? a.base + a.records : a.records;
    if (!decide(ClaimKind::less_equal, t.at(last) + Sym(1), end))
      refute("the descriptor of " + t.name + " ends with the tensor", to_string(t.place),
             "its last element is after element " + to_string(end));
    if (a.ends_with_tensor && !decide(ClaimKind::less_equal, end, t.at(last) + Sym(1)))
      refute("the descriptor of " + t.name + " ends with the tensor", to_string(t.place),
             "it goes on past the last element, up to element " + to_string(end));
    // A number of records has no sign.
    if (a.ends_with_tensor &&
        !decide(ClaimKind::less_equal, world(a.base) + Sym(1), world(t.at(last) + Sym(1))))
      refute("the descriptor of " + t.name + " ends with the tensor", to_string(t.place),
             "it may begin behind the last element, at element " + to_string(a.base));
    prove(
        "the descriptor of " + t.name + " ends with the tensor", [&] { return to_string(a.records); },
        "facts");
  }
  guard_claims(i, t, in_world, a);
  a.far ? far_claims(i, t, a) : range_claims(i, t, a);
  // What was said of formulas, once more in numbers; they are the same whichever end of a loop is the least.
  if (std::any_of(ends_of_loops_.begin(), ends_of_loops_.end(),
                  [](LeastEnd end) { return end != LeastEnd::size; }))
    return;
  const std::string content = what + " go to the places of their view, and guards leave out what masks do";
  if (const auto why = content_.wrong(i, a)) refute(content, to_string(t.place), *why);
  prove(content, address, "enumeration");
}

// A window's vectors lie wholly inside of what it looks at, or wholly outside, and each axis that may be left is compared.
void Interpreter::halo_claims(const Inst& i, const std::vector<Sym>& at0, const AddressSplit& a) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const std::string claim =
      "what " + t.name + " looks at outside of " + p_.tensor(t.of).name + " is left out";
  const std::size_t count = i.access.elements.size();
  Tensor w = t;
  for (Sym& s : w.look_origin) s = world(s);
  for (WindowAxis& axis : w.looks)
    for (Look& look : axis.looks) look.extent = world(look.extent), look.step = world(look.step);
  const std::vector<Sym> first = w.seen(at0);
  // Compared as 32 bits: how far it may look, up to a tile or what is loaded ahead past the end.
  std::vector<Sym> farthest = t.look_origin;
  for (std::size_t k = 0; k < t.looks.size(); ++k) {
    Sym end = t.shape[k] + Sym((i.ahead + 1) * i.access.extents[k]);
    for (std::size_t d = 0; d < t.looks[k].looks.size(); ++d) {
      const Look& look = t.looks[k].looks[d];
      const bool last = d + 1 == t.looks[k].looks.size();
      farthest[static_cast<std::size_t>(look.axis)] += look.step * (last ? end : look.extent - Sym(1));
      if (!last) end = floor_div(end, look.extent);
    }
  }
  for (std::size_t axis = 0; axis < first.size(); ++axis) {
    if (!t.leaves(axis)) continue;
    if (std::none_of(a.predicates.begin(), a.predicates.end(), [&](const AddressSplit::Predicate& q) {
          return q.axis == -1 && q.data && q.room == t.of_shape[axis];
        }))
      refute(claim, to_string(first[axis]), "axis " + std::to_string(axis) + " is not compared");
    const Interval most = interval(farthest[axis]), least = interval(t.look_origin[axis]);
    if (!most.upper || *most.upper > Int(INT32_MAX) || !least.lower || *least.lower < Int(INT32_MIN))
      refute(claim, to_string(farthest[axis]),
             "axis " + std::to_string(axis) +
                 " may be looked at past 2^31; declare the sizes with a smaller `most`");
    for (std::size_t e = 1; e < count; ++e) {
      std::vector<Sym> at = at0;
      for (std::size_t k = 0; k < at.size(); ++k)
        at[k] += Sym(i.access.elements[e][k] - i.access.elements[0][k]);
      const Sym seen = w.seen(at)[axis];
      if (decide(ClaimKind::equal, seen, first[axis])) continue;
      if (!decide(ClaimKind::equal, seen, first[axis] + Sym(e)) ||
          !decide(ClaimKind::divides, Sym(count), first[axis]) ||
          !decide(ClaimKind::divides, Sym(count), world(t.of_shape[axis])))
        refute("a vector of " + t.name + " is wholly inside or wholly outside", to_string(first[axis]),
               "vectors of " + std::to_string(count) + " go over the start or the end of axis " +
                   std::to_string(axis) + " of " + p_.tensor(t.of).name + ", of extent " +
                   to_string(t.of_shape[axis]) +
                   hint_multiple(p_.tensor(t.of), static_cast<std::int64_t>(count)) +
                   ", or an origin that is a multiple of it");
    }
  }
  prove(
      claim, [&] { return to_string(t.place); }, "facts");
}

bool Interpreter::counted(const Inst& i, std::size_t axis) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const Column& c = prepared(i).coordinate[axis];
  return std::all_of(c.begin(), c.end(), [](int x) { return x == 0; }) &&
         std::any_of(p_.grid().begin(), p_.grid().end(), [&](const GridAxis& g) {
           return i.access.origin[axis] == g.symbol && t.shape[axis] == ceil_div(g.extent, Sym(g.tile));
         });
}

Sym Interpreter::in_trip(const Inst& i, Sym s) {
  for (const CodeRegion& r : code_.regions) {
    if (!r.is_loop || std::none_of(r.body.begin(), r.body.end(), [&](const Inst& x) { return &x == &i; }))
      continue;
    const auto last = last_trip_.find(&r);
    if (last == last_trip_.end() || !last->second.as_atom()) return s;
    const std::pair<AtomId, Sym> later[] = {
        {*last->second.as_atom(),
         r.trip + Sym(1) +
             symbol_of(context_, SymbolKind::later, {}, context_.atom(*last->second.as_atom()).name,
                       {Int(0), std::nullopt})}};
    return substitute(s, later);
  }
  return s;
}

Sym Interpreter::block_of(const Tensor& in_world, std::size_t axis) {
  const SymLayout& place = in_world.place.inner();
  const SymLayout mode = in_world.shape.size() == 1 ? place : place.mode(axis);
  Sym block = 1;
  for (std::size_t k = 0; k + 1 < mode.modes().size(); ++k) block *= mode.modes()[k].extent;
  return block;
}

void Interpreter::guard_claims(const Inst& i, const Tensor& t, const Tensor& in_world,
                               const AddressSplit& a) {
  if (a.descriptor_axis < 0) return;
  const auto d = static_cast<std::size_t>(a.descriptor_axis);
  const Sym block = block_of(in_world, d);
  const std::string claim =
      "the descriptor of " + t.name + " ends exactly what lies outside along axis " + std::to_string(d);
  // It counts coordinates from the base on, block by block.
  if (!decide(ClaimKind::divides, block, world(a.begin[d])))
    refute(claim, to_string(a.begin[d]),
           "the tile may begin inside a block of " + to_string(block) + ", of which whole ones are counted");
  if (!decide(ClaimKind::divides, block, world(a.rows)) &&
      !decide(ClaimKind::divides, block, world(t.shape[d])))
    refute(claim, to_string(a.rows), "it may end inside a block of " + to_string(block));
  std::vector<Sym> last(t.shape.size()), next(t.shape.size(), Sym(0));
  bool outside = true; // of the descriptor's axis: one coordinate for the workgroup
  for (const std::size_t axis : outside_in(t)) {
    outside = outside && axis != d;
    // What a trip adds counts towards the records like what a lane has.
    if (outside && !(replaced_(i.access.origin[axis], trips()) == i.access.origin[axis]))
      refute(claim, to_string(i.access.origin[axis]),
             "a loop moves along axis " + std::to_string(axis) + ", which lies outside of it");
    last[axis] = outside ? Sym(0) : world(t.shape[axis]) - Sym(1);
  }
  // After the base there are whole rows of records: where it lies before a row's start, the end of the last row is not among them.
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis)
    if (axis != d && !decide(ClaimKind::less_equal, Sym(0), world(a.begin[axis])))
      refute(claim, to_string(a.begin[axis]),
             "axis " + std::to_string(axis) + " may begin before the tensor does");
  last[d] = block - Sym(1);
  next[d] = block;
  // By what the tile says of the sizes, or by their ranges alone.
  std::vector<Sym> last_of_all = last;
  for (std::size_t axis = 0; axis < last.size(); ++axis)
    if (axis != d && !(last[axis] == Sym(0))) last_of_all[axis] = t.shape[axis] - Sym(1);
  if (!decide(ClaimKind::less_equal, in_world.at(last) + Sym(1), in_world.at(next)) &&
      !decide(ClaimKind::less_equal, t.at(last_of_all) + Sym(1), t.at(next)))
    refute(
        claim, to_string(t.place),
        "a coordinate inside along the other axes passes element " + to_string(in_world.at(next)) +
            "\n  hint   distances that leave room for what lies between them, of rows (m,n):(n+pad,1) with a "
            "size pad from 0 on");
  prove(
      claim, [&] { return to_string(a.records); }, "facts");
}

void Interpreter::range_claims(const Inst& i, const Tensor& t, const AddressSplit& a) {
  const auto check = [&](Sym elements, const char* part) {
    const Interval range = interval(elements * Sym(bits(t.element)));
    if (!range.upper || range.upper->value() / 8 >= (std::int64_t{1} << 31))
      refute("byte offsets into " + t.name + " fit 31 bits", to_string(elements),
             std::string("the ") + part + " may be " +
                 (range.upper ? std::to_string(range.upper->value() / 8) : "any number") +
                 " bytes; declare the sizes with a smaller `most`, or use smaller tiles" +
                 (i.kind == InstKind::load && !i.direct && !t.output && bits(t.element) >= 8
                      ? ", or k.far(" + t.name + "), which loads by 64 bits of address"
                      : ""));
  };
  // Of who is not left out of a window by its digits, lane and trip are at most what lies between its base and the end of the tensor.
  const bool digits = std::any_of(t.looks.begin(), t.looks.end(),
                                  [](const WindowAxis& axis) { return axis.looks.size() > 1; });
  if (digits) {
    const Tensor& of = p_.tensor(t.of);
    std::vector<Sym> last;
    for (const Sym& extent : of.shape) last.push_back(extent - Sym(1));
    check(of.at(last) - t.place.offset() + Sym(1), "offset of a lane");
  }
  Tensor from_zero = t; // of a window: without its origin, which is in the base
  if (t.space == Space::window) from_zero.place = SymComposedLayout(Swizzle(), Sym(0), t.place.inner());
  std::vector<Sym> most;
  for (const Column& c : prepared(i).coordinate) most.push_back(Sym(*std::max_element(c.begin(), c.end())));
  if (a.gathered_axis >= 0)
    most[static_cast<std::size_t>(a.gathered_axis)] = t.shape[static_cast<std::size_t>(a.gathered_axis)];
  if (t.space != Space::window)
    check(t.at(most), "offset of a lane"); // strides of tensors in memory are not negative
  if (a.descriptor_axis >= 0) {
    std::vector<Sym> end(t.shape.size(), Sym(0));
    // As far as records reach: whole blocks of the axis, however little of the last one the tile has.
    const auto d = static_cast<std::size_t>(a.descriptor_axis);
    const SymLayout mode = t.shape.size() == 1 ? t.place.inner() : t.place.inner().mode(d);
    std::int64_t block = 1;
    for (std::size_t k = 0; k + 1 < mode.modes().size(); ++k)
      if (const auto extent = mode.modes()[k].extent.constant()) block *= extent->value();
    end[d] = Sym((i.access.extents[d] + block - 1) / block * block);
    check(t.at(end), "number of records");
  }
  if (a.ends_with_tensor) check(a.records + a.base, "number of records");
  // The hardware adds both to the base as numbers without a sign.
  const auto of_one_axis = [&](Sym step) { // strides are not negative, nor is what a tile begins with
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
      std::vector<Sym> at(t.shape.size(), Sym(0));
      at[axis] = prepared(i).origin[axis];
      if (step == world(from_zero.at(at)) && at_most(Sym(0), at[axis])) return true;
    }
    return false;
  };
  const Sym step = world(a.step);
  if (!decide(ClaimKind::less_equal, Sym(0), step) && !less_equal(Sym(0), step) && !of_one_axis(step))
    refute("byte offsets into " + t.name + " fit 31 bits", to_string(a.step),
           "the offset of a trip may be negative");
  for (const Column& c : prepared(i).coordinate)
    if (const int least = *std::min_element(c.begin(), c.end()); least < 0)
      refute("byte offsets into " + t.name + " fit 31 bits", to_string(a.lane),
             "a lane is at " + std::to_string(least) + " from the tile's start");
  // A tile begins inside the tensor, or after it by fewer tiles than the loop runs ahead.
  std::vector<Sym> far(t.shape.size(), Sym(0));
  for (std::size_t axis = 0; axis < far.size(); ++axis) {
    bool moves = false;
    for (const AtomId s : symbols(i.access.origin[axis]))
      for (const CodeRegion& r : code_.regions) moves = moves || (r.is_loop && s == *r.trip.as_atom());
    if (moves) far[axis] = t.shape[axis] + Sym(i.ahead * i.access.extents[axis]);
  }
  if (!digits) check(from_zero.at(far), "offset of a trip");
  prove(
      "byte offsets into " + t.name + " fit 31 bits", [&] { return to_string(a.lane); }, "facts");
}

void Interpreter::far_claims(const Inst& i, const Tensor& t, const AddressSplit& a) {
  const std::string claim = "loads of " + t.name + " have 64 bits of address";
  if (i.kind != InstKind::load || i.direct || t.output || a.ends())
    refute(claim, to_string(t.place), "it is no load of an input to registers");
  // What is masked is compared: there is no descriptor that would leave it out.
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis)
    if (i.access.masked[axis] && std::none_of(a.predicates.begin(), a.predicates.end(), [&](const auto& q) {
          return q.axis == static_cast<int>(axis);
        }))
      refute(claim, to_string(t.place), "axis " + std::to_string(axis) + " is masked and not compared");
  // Who is outside reads as much from the code's zeros, of which there are 16 bytes.
  if (static_cast<int>(i.access.elements.size()) * bits(t.element) > 128)
    refute(claim, to_string(t.place), "more than 16 bytes at a time");
  prove(
      claim, [&] { return to_string(a.base + a.step) + "  +  " + to_string(a.lane + Sym(a.immediate)); },
      "normal form");
}

std::string Interpreter::hint_multiple(const Tensor& t, std::int64_t n) const {
  std::string s;
  for (const Sym& e : t.shape)
    for (const Size& z : p_.sizes())
      if (z.symbol == e && z.facts.multiple % n != 0)
        s += "; declare " + z.name + " a multiple of " + std::to_string(n) +
             " or move fewer elements at a time";
  return s;
}

Tensor Interpreter::tensor_in_world(const Tensor& t) const {
  Tensor out = t;
  out.place = t.place.with_inner(with_symbols(t.place.inner(), [&](Sym s) { return world(s); }));
  if (t.space == Space::window)
    out.place = SymComposedLayout(Swizzle(), world(t.place.offset()), out.place.inner());
  return out;
}

} // namespace inlay::codegen::provenance
