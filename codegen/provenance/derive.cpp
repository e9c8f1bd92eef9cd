// The interpreter of provenance.h: its claims, and what is known about sizes. Begin at `run`.
#include "interpreter.h"

#include "../words.h"

#include <inlay/algebra/error.h>

#include <numeric>

namespace inlay::codegen {
namespace provenance {

Derivation Interpreter::run() {
  try {
    find_nests();
    make_world();
    find_blocks();
    static_claims();
    if (!nests_.empty()) prepared_.clear(); // what they are in any trip
    device_claims();
    regions(State{}, 0);
    coverage();
    narrowed();
  } catch (const Refuted& r) {
    fail(r);
  } catch (const LayoutError& e) {
    fail({"the layouts of the operation fit together", "", e.what()});
  }
  return std::move(out_);
}

void Interpreter::fail(const Refuted& r) {
  const Words words(p_, world_);
  const bool hints = far_branch_.empty() || r.counterexample.find("  hint ") != std::string::npos;
  const std::string why = r.counterexample + (hints ? "" : "\n  hint   " + far_branch_);
  out_.claims.push_back(
      {words(r.claim), words(r.subject), "provenance", at_ ? at_->op : -1, where(), false, words(why)});
}

std::source_location Interpreter::where() const { return at_ ? at_->where : line_.value_or(p_.where()); }

void Interpreter::add_claim(const std::string& claim, const std::string& subject, const char* method) {
  out_.claims.push_back({claim, subject, method, at_ ? at_->op : -1, where(), true, ""});
}

void Interpreter::refute(const std::string& claim, const std::string& subject, const std::string& why) {
  throw Refuted{claim, subject, why};
}

bool Interpreter::decide(ClaimKind kind, Sym a, Sym b) {
  const Truth t = kind == ClaimKind::less_equal ? le(a, b)
                  : kind == ClaimKind::divides  ? divides(a, b)
                                                : eq(a, b);
  if (t != Truth::unknown) return t == Truth::yes;
  const auto key = std::tuple(kind, a, b);
  if (const auto found = decided_.find(key); found != decided_.end()) return found->second;
  const bool yes = prover_.decide({kind, {a, b}, {}}) == Truth::yes;
  decided_.emplace(key, yes);
  return yes;
}

bool Interpreter::less_equal(Sym a, Sym b) {
  const Sym low = relate(a), high = relate(b);
  // b - a >= y - x, where x <= y is known, is enough.
  if (decide(ClaimKind::less_equal, low, high) ||
      std::any_of(begun_.begin(), begun_.end(), [&](const auto& known) {
        return decide(ClaimKind::less_equal, low + relate(known.second - known.first), high);
      }))
    return true;
  // Of workgroups that share one, x/q + c <= b is x <= q (b - c) + q - 1.
  for (const inlay::Term& term : low.terms()) {
    const SymAtom& of = context_.atom(term.factors()[0].atom);
    if (begun_.empty() || of.kind != AtomKind::floor_div || term.factors().size() > 1 ||
        term.factors()[0].power > 1 || !(term.coefficient == Int(1)))
      continue;
    const Sym x = of.operands[0], q = of.operands[1];
    const auto number = q.constant();
    if (number && *number > Int(0) && x.as_atom() &&
        less_equal(x, q * (high - low + context_.value(term.factors()[0].atom)) + q - Sym(1)))
      return true;
  }
  return false;
}

Sym Interpreter::ranged(Sym s, const std::vector<int>& columns) {
  if (s.is_constant()) return s;
  std::vector<std::pair<AtomId, Sym>> replace;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto [low, high] = columns_.range(columns[i]);
    const auto [at, fresh] = ranged_.try_emplace({i, low, high});
    if (fresh)
      at->second =
          low == high ? Sym(low)
                      : symbol_of(context_, SymbolKind::column_in, {low, high, i}, "", {Int(low), Int(high)});
    replace.emplace_back(*dollar(i).as_atom(), at->second);
  }
  return replaced_(s, replace);
}

Sym Interpreter::dollar(std::size_t i) {
  while (dollars_.size() <= i)
    dollars_.push_back(
        symbol_of(context_, SymbolKind::column, {dollars_.size()}, "", {Int(0), std::nullopt}));
  return dollars_[i];
}

void Interpreter::make_world() {
  const auto size_of = [&](Sym s) -> const Size* {
    for (const Size& z : p_.sizes())
      if (z.symbol == s) return &z;
    return nullptr;
  };
  split_workgroups();
  std::size_t number = 0;
  for (const CodeRegion& r : code_.regions)
    if (r.is_loop) world_of_loop(r, ends_of_loops_[number++]);
  for (const Around& around : nests_) world_of_loop(around.as_loop, ends_of_loops_[number++]);
  std::vector<std::pair<Sym, Sym>> again; // of a size that is cut into tiles more than once
  for (const GridAxis& a : p_.grid()) {
    const Size* z = size_of(a.extent);
    if (!z) { // there are ceil(extent / tile) workgroups
      if (!a.extent.is_constant()) again.emplace_back(Sym(a.tile) * a.symbol + Sym(1), a.extent);
      continue;
    }
    if (known(z->symbol)) {
      const std::int64_t unit = std::gcd(z->facts.multiple, static_cast<std::int64_t>(a.tile));
      again.emplace_back(Sym(a.tile) * a.symbol + Sym(unit), z->symbol);
      continue;
    }
    const auto over = [&](std::int64_t unit) { // of the size after the workgroup's first coordinate
      return symbol_of(context_, SymbolKind::over, {}, z->name,
                       {Int(0), Int(std::max<std::int64_t>(z->facts.most / unit - 1, 0))});
    };
    // Numbers that share one of a block: heads of a head of keys, tiles of a block whose entry of a table is read. Number G a + b of G n.
    const std::int64_t shared = z->facts.multiple % a.tile == 0 ? z->facts.multiple / a.tile : 1;
    if (shared > 1 && (a.tile == 1 || (!known(a.symbol) && reads_by_blocks(a.symbol, shared)))) {
      const Sym group(shared);
      const Sym outer = symbol_of(context_, SymbolKind::group, {}, z->name, {Int(0), Int(z->facts.most)});
      world_.emplace_back(*a.symbol.as_atom(), group * outer + symbol_of(context_, SymbolKind::member, {},
                                                                         z->name, {Int(0), Int(shared - 1)}));
      world_.emplace_back(*z->symbol.as_atom(),
                          Sym(z->facts.multiple) * (outer + over(z->facts.multiple) + Sym(1)));
      continue;
    }
    const std::int64_t g = std::gcd(z->facts.multiple, static_cast<std::int64_t>(a.tile));
    world_.emplace_back(*z->symbol.as_atom(), Sym(a.tile) * a.symbol + Sym(g) * (over(g) + Sym(1)));
  }
  for (const Size& z : p_.sizes())
    if (!known(z.symbol) && z.facts.multiple > 1)
      world_.emplace_back(*z.symbol.as_atom(),
                          Sym(z.facts.multiple) *
                              symbol_of(context_, SymbolKind::times, {}, z.name,
                                        {Int((z.facts.least + z.facts.multiple - 1) / z.facts.multiple),
                                         Int(z.facts.most / z.facts.multiple)}));
  // A number that is beyond a size is beyond what that is known to be.
  if (!no_trips_.empty()) {
    const std::vector<std::pair<AtomId, Sym>> sizes = world_;
    for (auto& [what, is] : world_) is = substitute(is, sizes);
  }
  for (const auto& [begun, size] : again) begun_.emplace_back(world(begun), world(size));
  for (const Size& z : p_.sizes()) {
    if (z.facts.multiple > 1)
      out_.contract.push_back({z.name + " % " + std::to_string(z.facts.multiple) + " == 0",
                               "declared for the size, and used by the claims"});
    out_.contract.push_back(
        {std::to_string(z.facts.least) + " <= " + z.name + " <= " + std::to_string(z.facts.most),
         "declared for the size, and used by the claims"});
  }
  out_.contract.push_back(
      {"outputs lie apart from all other buffers", "what is read is what was there before the launch"});
  std::string aligned;
  for (const Tensor& t : p_.tensors())
    if (const int bytes = t.space == Space::global && t.addresses < 0 ? pointer_alignment(p_, t) : 1;
        bytes > 1) // what is in a table of pointers no launch sees
      aligned += (aligned.empty() ? "" : ", ") + t.name + " % " + std::to_string(bytes) + " == 0";
  if (!aligned.empty()) out_.contract.push_back({aligned, "what is moved at once is aligned in memory"});
}

bool Interpreter::reads_by_blocks(Sym number, std::int64_t block) const {
  const Sym quotient = floor_div(number, Sym(block));
  return std::any_of(p_.uniforms().begin(), p_.uniforms().end(),
                     [&](const Uniform& u) { return u.at == quotient; });
}

void Interpreter::split_workgroups() {
  // Rows of a block see as much: a loop to 64 (wg / 64 + 1). The number is that of the block, and the row's in it.
  const auto look = [&](auto&& self, Sym s) -> void {
    for (const inlay::Term& term : s.terms())
      for (const Factor& f : term.factors()) {
        const SymAtom atom = context_.atom(f.atom);
        for (const Sym& operand : atom.operands) self(self, operand);
        if (atom.kind != AtomKind::floor_div) continue;
        const auto by = atom.operands[1].constant();
        const bool number = std::any_of(p_.grid().begin(), p_.grid().end(),
                                        [&](const GridAxis& g) { return g.symbol == atom.operands[0]; });
        if (!number || !by || *by < Int(2) || known(atom.operands[0])) continue;
        const std::string& name = context_.atom(*atom.operands[0].as_atom()).name;
        const Interval range = interval(atom.operands[0]);
        const Sym block = symbol_of(
                      context_, SymbolKind::block, {*by}, name,
                      {Int(0), range.upper ? std::optional(floor_div(*range.upper, *by)) : std::nullopt}),
                  row = symbol_of(context_, SymbolKind::in_block, {*by}, name, {Int(0), *by - Int(1)});
        world_.emplace_back(*atom.operands[0].as_atom(), Sym(*by) * block + row);
      }
  };
  for (const CodeRegion& r : code_.regions)
    if (const auto two = r.is_loop ? least_of(r.extent) : std::nullopt;
        two && uniform_in(p_, two->second) == nullptr)
      look(look, two->first), look(look, two->second);
  splits_ = world_;
}

bool Interpreter::known(Sym s) const {
  return std::any_of(world_.begin(), world_.end(), [&](const auto& w) { return w.first == *s.as_atom(); });
}

std::optional<Size> Interpreter::size_in(Sym extent) const {
  for (const Size& z : p_.sizes())
    if (adds_once(extent, z.symbol)) return z;
  return std::nullopt;
}

void Interpreter::world_without_trips(const Size& z, Sym rest) {
  if (known(z.symbol)) return;
  const auto some = [&](SymbolKind kind, std::initializer_list<NameNumber> numbers, const Interval& range) {
    return symbol_of(context_, kind, numbers, z.name, range);
  };
  const std::int64_t unit = z.facts.multiple;
  if (const auto c = rest.constant()) { // n is at most so much
    const std::int64_t least = (z.facts.least + unit - 1) / unit,
                       most = std::min(z.facts.most, -c->value()) / unit;
    if (least > most) return; // there is no such size
    world_.emplace_back(*z.symbol.as_atom(), least == most ? Sym(unit * least)
                                                           : Sym(unit) * some(SymbolKind::none_up_to, {most},
                                                                              {Int(least), Int(most)}));
    return;
  }
  // n - 64 wg is at most so much, of workgroups that go over n by 64.
  for (const GridAxis& g : p_.grid()) {
    const auto c = (rest + Sym(g.tile) * g.symbol).constant();
    const std::int64_t both = std::gcd(unit, static_cast<std::int64_t>(g.tile));
    if (!(g.extent == z.symbol) || !c || c->value() > -both) continue;
    const std::int64_t most = -c->value() / both;
    world_.emplace_back(*z.symbol.as_atom(),
                        Sym(g.tile) * g.symbol +
                            Sym(both) * some(SymbolKind::none_beyond, {most}, {Int(1), Int(most)}));
    return;
  }
  const Sym more = some(SymbolKind::none, {}, {Int(0), std::nullopt});
  // n - u + c <= 0: u is n + c and more.
  const auto beyond = [&](Sym u) {
    const Sym without = rest + u;
    const auto all = symbols(without);
    if (known(u) || std::find(all.begin(), all.end(), *u.as_atom()) != all.end()) return false;
    world_.emplace_back(*u.as_atom(), z.symbol + without + more);
    return true;
  };
  for (const Uniform& u : p_.uniforms())
    if (beyond(u.symbol)) return;
  for (const Size& other : p_.sizes())
    if (!(other.symbol == z.symbol) && other.facts.multiple == 1 && beyond(other.symbol)) return;
  // n is at most 128 wg: n is 128 a and less than 128 less, of some a >= 1 that wg is or is more than.
  for (const GridAxis& g : p_.grid()) {
    const auto c = rest.terms().size() == 1 ? Int(0) - rest.terms()[0].coefficient : Int(0);
    if (known(g.symbol) || c <= Int(0) || !(rest + Sym(c) * g.symbol == Sym(0)) ||
        !(floor_mod(c, Int(unit)) == Int(0)))
      continue;
    const Sym tiles = some(SymbolKind::none_tiles, {}, {Int(1), std::nullopt});
    world_.emplace_back(*z.symbol.as_atom(),
                        Sym(c) * tiles - Sym(unit) * some(SymbolKind::none_less, {c.value() / unit},
                                                          {Int(0), Int(c.value() / unit - 1)}));
    world_.emplace_back(*g.symbol.as_atom(), tiles + more);
    return;
  }
  world_.emplace_back(*z.symbol.as_atom(), Sym(0) - rest - more);
}

std::vector<const CodeRegion*> Interpreter::loops() const {
  std::vector<const CodeRegion*> out;
  for (const CodeRegion& r : code_.regions)
    if (r.is_loop) out.push_back(&r);
  for (const Around& around : nests_) out.push_back(&around.as_loop);
  return out;
}

void Interpreter::unknown_trips(const CodeRegion& r) {
  // What is known of a size is that of one loop: where others begin or end inside of it, they do so at one place.
  const auto parts_of = [&](Sym extent) {
    const auto two = least_of(extent);
    const bool second = two && !size_in(two->first);
    const auto size = size_in(!two ? extent : second ? two->second : two->first);
    const Sym cut = !size ? Sym(0) : !two ? size->symbol - extent : second ? two->first : two->second;
    return std::pair(size, cut);
  };
  const auto [size, cut] = parts_of(r.extent);
  for (const CodeRegion* other : loops()) {
    const auto [its_size, its_cut] = parts_of(other->extent);
    if (!size || !its_size || !(its_size->symbol == size->symbol)) continue;
    if (other->extent == r.extent && other->tile != r.tile)
      refute("loops over one size have one tile", to_string(r.extent),
             "one has tiles of " + std::to_string(r.tile) + ", another one of " +
                 std::to_string(other->tile));
    if (other->extent == r.extent || !last_trip_.contains(other)) continue;
    const std::string at = to_string(cut), &n = size->name;
    const bool uncut = cut == Sym(0) || its_cut == Sym(0);
    if (cut == its_cut)
      refute("the loop runs at least once", to_string(r.extent),
             "it may end at 0: k.if_less(" + at + ", " + n + ", ..) around it says where not");
    refute("loops over one size begin and end at one place inside of it",
           to_string(r.extent) + " and " + to_string(other->extent),
           n +
               (uncut ? " is cut at " + (cut == Sym(0) ? to_string(its_cut) : at) +
                            " in one and whole in the other"
                      : " is cut at " + at + " and at " + to_string(its_cut)) +
               "\n  hint   k.loop(min(" + n + ", c), ..) and, in k.if_less(c, " + n + ", ..), k.loop(c, " +
               n + ", ..) with one c in all loops; or all of " + n +
               ", and k.if_less by the trip's number in it");
  }
  refute("the loop's extent is a size of the kernel", to_string(r.extent),
         "an end before it has to be a whole number of tiles, min(n, 64*(wg + 1)), or a number from memory, "
         "min(n, k.uniform(table, i)) inside of if_less(0, that, ..)");
}

Sym Interpreter::rest_of(const std::string& name, std::int64_t units) {
  return units == 1 ? Sym(1) : symbol_of(context_, SymbolKind::rest, {units}, name, {Int(1), Int(units)});
}

void Interpreter::world_of_loop(const CodeRegion& r, LeastEnd which) {
  if (which == LeastEnd::none) {
    const auto two = least_of(r.extent);
    const Sym first = two ? (size_in(two->first) ? two->first : two->second) : r.extent;
    no_trips_[&r] = first;
    const auto z = size_in(first);
    return world_without_trips(*z, replaced_(first - z->symbol, splits_));
  }
  for (const auto& [other, last] : last_trip_)
    if (other->extent == r.extent && other->tile == r.tile) {
      last_trip_[&r] = last;
      return;
    }
  // Over as many as there are workgroups along an axis: a number of its own, of which nothing else is known.
  for (const GridAxis& g : p_.grid())
    if (r.extent == ceil_div(g.extent, Sym(g.tile)) && r.extent.as_atom()) {
      const Interval range = tile_numbers(r.extent, r.tile);
      const Sym trips =
          symbol_of(context_, SymbolKind::trips_along, {g.axis, r.tile}, "",
                    {Int(0), interval(r.extent).upper ? std::optional(*range.upper) : std::nullopt});
      const Sym some = r.tile == 1 ? Sym(1)
                                   : symbol_of(context_, SymbolKind::rest_along, {g.axis, r.tile}, "",
                                               {Int(1), Int(r.tile)});
      world_.emplace_back(*r.extent.as_atom(), Sym(r.tile) * trips + some);
      last_trip_[&r] = trips;
      return;
    }
  if (const auto all = r.extent.constant()) {
    if (all->value() >= 1) last_trip_[&r] = Sym((all->value() - 1) / r.tile);
    return;
  }
  auto two = least_of(r.extent);
  if (two && !size_in(two->first)) std::swap(two->first, two->second);
  if (two && two->first.constant()) std::swap(two->first, two->second);
  if (two && two->second.constant() && uniform_in(p_, two->first)) return world_of_part(r, *two, which);
  const Sym first = two ? two->first : r.extent;
  const auto z = size_in(first);
  // Whole tiles, as the workgroup's number says.
  if (!z && !two && divides(Sym(r.tile), r.extent) == Truth::yes)
    last_trip_[&r] = exact_div(r.extent, Sym(r.tile)) - Sym(1);
  if (!z || known(z->symbol)) return;                     // refused where the loop is run
  const Sym rest = replaced_(first - z->symbol, splits_); // of the size, before the loop
  std::int64_t g = std::gcd(z->facts.multiple, static_cast<std::int64_t>(r.tile));
  while (divides(Sym(g), rest) != Truth::yes) g = g % 2 == 0 ? g / 2 : 1;
  if (which == LeastEnd::size) {
    // From the size's start on, at least what is declared of it.
    const std::int64_t fewest = rest == Sym(0) && !two ? (z->facts.least + r.tile - 1) / r.tile - 1 : 0;
    std::int64_t most = (z->facts.most - 1) / r.tile;
    const auto end = two && rest == Sym(0) ? two->second.constant() : std::nullopt; // and not more than that
    if (end) most = std::min(most, (end->value() - 1) / r.tile);
    const Interval range{Int(std::min(fewest, most)), Int(most)};
    const Sym trips = end ? symbol_of(context_, SymbolKind::trips_below, {*end}, z->name, range)
                          : symbol_of(context_, SymbolKind::trips, {}, z->name, range);
    const Sym whole = Sym(r.tile) * trips + Sym(g) * rest_of(z->name, r.tile / g);
    world_.emplace_back(*z->symbol.as_atom(), whole - rest);
    if (two) world_.emplace_back(*r.extent.as_atom(), whole), given_.push_back(*two);
    last_trip_[&r] = trips;
    return;
  }
  const Sym tile(r.tile), end = replaced_(two->second, splits_);
  if (const Uniform* u = uniform_of(p_, end)) {
    // A number from memory, beside a size of which nothing more is known: some tiles and a rest, or nothing.
    if (known(u->symbol)) return;
    if (which == LeastEnd::nothing) {
      world_.emplace_back(*u->symbol.as_atom(), Sym(0));
      world_.emplace_back(*r.extent.as_atom(), Sym(0));
      last_trip_[&r] = Sym(0);
      return;
    }
    const std::string name = context_.atom(*u->symbol.as_atom()).name;
    const Sym trips = symbol_of(context_, SymbolKind::trips, {}, name, {Int(0), Int(INT32_MAX / r.tile)}),
              last = rest_of(name, r.tile);
    world_.emplace_back(*u->symbol.as_atom(), tile * trips + last);
    world_.emplace_back(*r.extent.as_atom(), tile * trips + last);
    given_.emplace_back(two->second, two->first);
    last_trip_[&r] = trips;
    return;
  }
  if (divides(tile, end) != Truth::yes) return;
  const auto ends_there = [&] {
    world_.emplace_back(*r.extent.as_atom(), end);
    last_trip_[&r] = exact_div(end, tile) - Sym(1);
  };
  // What is behind it another loop goes over, tile by tile.
  for (const CodeRegion* behind : loops())
    if (!least_of(behind->extent) && behind->extent == first - two->second) {
      world_of_loop(*behind, LeastEnd::size);
      return ends_there();
    }
  const Sym more = symbol_of(context_, SymbolKind::more, {}, z->name, {Int(0), Int(z->facts.most)});
  world_.emplace_back(*z->symbol.as_atom(), end - rest + Sym(g) * (more + Sym(1)));
  ends_there();
}

void Interpreter::world_of_part(const CodeRegion& r, const std::pair<Sym, Sym>& two, LeastEnd which) {
  const Uniform* u = uniform_in(p_, two.first);
  const std::int64_t most = two.second.constant()->value();
  if (known(u->symbol) || most < r.tile || most % r.tile != 0) return; // refused where the loop is run
  const std::int64_t trips = most / r.tile;
  const Sym begin = u->symbol - two.first; // of the part
  const std::string name = context_.atom(*u->symbol.as_atom()).name;
  Sym end(most);
  if (which == LeastEnd::nothing) { // the number is the part's begin, or less
    end = Sym(0);
    world_.emplace_back(*u->symbol.as_atom(), begin - symbol_of(context_, SymbolKind::before_part, {}, name,
                                                                {Int(0), std::nullopt}));
    last_trip_[&r] = Sym(0);
  } else if (which == LeastEnd::size) { // all of the part, and more
    world_.emplace_back(*u->symbol.as_atom(),
                        begin + Sym(most) +
                            symbol_of(context_, SymbolKind::after_part, {}, name, {Int(0), std::nullopt}));
    last_trip_[&r] = Sym(trips - 1);
  } else { // some tiles of it and a rest
    const Sym last = symbol_of(context_, SymbolKind::trips_part, {trips}, name, {Int(0), Int(trips - 1)});
    end = Sym(r.tile) * last + rest_of(name, r.tile);
    world_.emplace_back(*u->symbol.as_atom(), begin + end);
    last_trip_[&r] = last;
  }
  world_.emplace_back(*r.extent.as_atom(), end);
}

} // namespace provenance

bool Derivation::ok() const { return refuted() == nullptr; }
const DerivedClaim* Derivation::refuted() const {
  for (const DerivedClaim& c : claims)
    if (!c.proved) return &c;
  return nullptr;
}

int pointer_alignment(const Program& program, const Tensor& tensor) {
  int width = bits(tensor.element);
  each_op(program.body(), [&](const Op& op) {
    const auto* copy = std::get_if<CopyOp>(&op.what);
    if (!copy) return;
    for (const auto* view : {&copy->from, &copy->to})
      if (*view && program.tensor((*view)->tensor).memory() == tensor.memory())
        width = std::max(width, copy->vector * bits(tensor.element));
  });
  return std::clamp(width / 8, 1, 4);
}

namespace {
using provenance::LeastEnd;

/// What is looked at of a loop, one after the other. To the least of two ends: either of them, and where one is a number from memory no
/// trip. Where a loop goes over what a size is beyond something, `n - 64`, what is known of it (`world_of_loop`) is that this is 1 or
/// more; so once that it is not, as on the paths around the loop.
std::vector<LeastEnd> cases_of(const Program& p, Sym extent) {
  const auto two = least_of(extent);
  std::vector<LeastEnd> out{LeastEnd::size};
  if (two) out.push_back(LeastEnd::other);
  if (two && (uniform_in(p, two->first) || uniform_in(p, two->second))) out.push_back(LeastEnd::nothing);
  const auto over_a_size = [&](Sym x) {
    return std::any_of(p.sizes().begin(), p.sizes().end(),
                       [&](const Size& z) { return adds_once(x, z.symbol); });
  };
  const Sym first = two && !over_a_size(two->first) ? two->second : two ? two->first : extent;
  const auto reaches = [&](Sym one) { return le(one, first) == Truth::yes; }; // one >= 1
  if (over_a_size(first) && !reaches(Sym(1)) &&
      std::none_of(p.grid().begin(), p.grid().end(),
                   [&](const GridAxis& g) { return reaches(g.extent - Sym(g.tile) * g.symbol); }) &&
      !(p.shares() && reaches(p.shares()->extent - Sym(p.shares()->tile) * p.shares()->begin)))
    out.push_back(LeastEnd::none);
  return out;
}
} // namespace

Derivation derive(const Code& code, Prover& prover) {
  std::vector<std::pair<Sym, std::vector<LeastEnd>>> cases; // of each extent
  std::vector<std::size_t> loops;                           // which of them that is
  const auto add = [&](Sym extent) {
    const auto found =
        std::find_if(cases.begin(), cases.end(), [&](const auto& x) { return x.first == extent; });
    loops.push_back(static_cast<std::size_t>(found - cases.begin()));
    if (found == cases.end()) cases.emplace_back(extent, cases_of(*code.program, extent));
  };
  for (const CodeRegion& r : code.regions)
    if (r.is_loop) add(r.extent);
  for (const Nest& nest : nests_of(*code.program))
    if (const auto [begin, end] = regions_of(nest, code); begin != end) add(nest.extent);
  std::size_t all = 1;
  for (const auto& [extent, of] : cases) all *= of.size();
  Derivation out;
  for (std::size_t which = 0; which < all; ++which) {
    std::vector<LeastEnd> of_cases, ends;
    std::size_t digits = which;
    for (const auto& [extent, of] : cases) {
      of_cases.push_back(of[digits % of.size()]);
      digits /= of.size();
    }
    for (const std::size_t n : loops) ends.push_back(of_cases[n]);
    provenance::Interpreter interpreter(code, prover, ends);
    Derivation d = interpreter.run();
    // Parts of one sum, of which the last trip has fewer than updates, are summed one by one.
    if (!d.ok() && interpreter.joined())
      if (Derivation apart = provenance::Interpreter(code, prover, std::move(ends), false).run(); apart.ok())
        d = std::move(apart);
    if (which == 0) {
      out = std::move(d);
    } else {
      for (DerivedClaim& c : d.claims)
        if (!c.proved || std::none_of(out.claims.begin(), out.claims.end(), [&](const DerivedClaim& have) {
              return have.claim == c.claim && have.op == c.op;
            }))
          out.claims.push_back(std::move(c));
    }
    if (!out.ok()) break;
  }
  return out;
}

} // namespace inlay::codegen
