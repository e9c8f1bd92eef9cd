#include <inlay/algebra/bodies/operation.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/tuple.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/symbolic.h>

namespace inlay {
namespace {

using View = TupleView<Int>;

// A leaf stands for any tree of its size, or of any size: so one walk serves compatible and weakly_congruent.
bool refines(View a, View b, bool sizes) {
  if (a.is_leaf()) return !sizes || a.leaf() == size<Int>(b);
  if (b.is_leaf() || a.rank() != b.rank()) return false;
  auto y = b.begin();
  for (View x : a) {
    if (!refines(x, *y, sizes)) return false;
    ++y;
  }
  return true;
}

// Writes f(x, divisor) for every leaf, letting the divisor shrink from leaf to leaf.
template <class F>
void fold_into(TupleBuilder<Int>& out, View a, Int& divisor, const F& f) {
  out.profile(a.profile());
  for (const Int x : a.leaves()) out.leaves().push_back(f(x, divisor));
}

template <class F>
void divide(const Operation& op, TupleBuilder<Int>& out, View a, View b, bool equal_ranks, const F& f) {
  if (b.is_leaf()) {
    Int divisor = b.leaf();
    fold_into(out, a, divisor, f);
    return;
  }
  // A number by a tuple is divided by all of it: how the tuple is nested says nothing about one number.
  if (a.is_leaf()) {
    Int divisor = size<Int>(b);
    fold_into(out, a, divisor, f);
    return;
  }
  if (a.rank() < b.rank() || (equal_ranks && a.rank() != b.rank()))
    op.fail("rank", "the tuples have different ranks");
  const std::size_t at = out.open();
  auto y = b.begin();
  std::size_t i = 0;
  for (View x : a) {
    if (i++ < b.rank()) {
      divide(op, out, x, *y, equal_ranks, f);
      ++y;
    } else {
      out.append(x);
    }
  }
  out.close(at, a.rank());
}

Operation binary(const char* name, const IntTuple& a, const IntTuple& b) {
  return Operation(name).with("left", a).with("right", b);
}

void require_positive(const Operation& op, const IntTuple& b) {
  for (const Int x : b.leaves())
    if (x < 1) op.fail("extent", "a divisor is not positive", "divisor " + to_string(x));
}

// Kinds and parts of a tile are two lists in step, so that both cursors are passed on: a `keep` has a part as well, which is skipped.
bool evenly(View shape, TupleView<TileKind> kinds, const TileKind*& kind, TupleView<Mode>::Iterator& part) {
  if (kinds.is_leaf()) {
    const TileKind k = *kind++;
    const LayoutView<Int> l = *part;
    ++part;
    if (k == TileKind::keep) return true;
    const Int n = size<Int>(shape);
    if (k == TileKind::extent) {
      const IntTuple rest = ceil_div(IntTuple(shape), IntTuple(l.leaf().extent));
      return n == l.leaf().extent * size(rest);
    }
    // With gaps in the tile the size alone does not say it: what the tile leaves out has to be covered by whole copies of it.
    const Layout tile(l);
    return n == tile.size() * complement(tile, IntTuple(shape)).size();
  }
  if (kinds.rank() > shape.rank()) return false;
  bool good = true;
  auto s = shape.begin();
  for (TupleView<TileKind> entry : kinds) {
    good = evenly(*s, entry, kind, part) && good;
    ++s;
  }
  return good;
}

} // namespace

bool congruent(const IntTuple& a, const IntTuple& b) { return a.profile() == b.profile(); }
bool weakly_congruent(const IntTuple& a, const IntTuple& b) { return refines(a.view(), b.view(), false); }
bool compatible(const IntTuple& a, const IntTuple& b) { return refines(a.view(), b.view(), true); }
bool evenly_divides(const IntTuple& shape, const Tile& tile) {
  const TileKind* kind = tile.kinds().leaves().data();
  auto part = tile.parts().begin();
  return evenly(shape.view(), tile.kinds(), kind, part);
}

Int product(const IntTuple& a) { return size(a); }
IntTuple product_each(const IntTuple& a) {
  TupleBuilder<Int> out;
  const std::size_t at = out.open();
  for (View x : a.view()) out.leaf(size<Int>(x));
  out.close(at, a.rank());
  return std::move(out).finish();
}
Int sum(const IntTuple& a) {
  Int n = 0;
  for (const Int x : a.leaves()) n += x;
  return n;
}
Int max(const IntTuple& a) {
  if (a.leaves().empty()) Operation("max").with("tuple", a).fail("rank", "the tuple is empty");
  return *std::max_element(a.leaves().begin(), a.leaves().end());
}
Int min(const IntTuple& a) {
  if (a.leaves().empty()) Operation("min").with("tuple", a).fail("rank", "the tuple is empty");
  return *std::min_element(a.leaves().begin(), a.leaves().end());
}
Int gcd(const IntTuple& a) {
  Int n = 0;
  for (const Int x : a.leaves()) n = gcd(n, x);
  return n;
}
Int inner_product(const IntTuple& a, const IntTuple& b) {
  if (a.profile() != b.profile())
    binary("inner_product", a, b).fail("incongruent", "the tuples are not congruent");
  Int n = 0;
  for (std::size_t i = 0; i < a.leaves().size(); ++i) n += a.leaves()[i] * b.leaves()[i];
  return n;
}

IntTuple product_like(const IntTuple& a, const IntTuple& guide) {
  if (!weakly_congruent(guide, a))
    binary("product_like", a, guide).fail("incongruent", "the tuple does not refine the guide");
  TupleBuilder<Int> out;
  const auto walk = [&](auto&& self, View x, View g) -> void {
    if (g.is_leaf()) {
      out.leaf(size<Int>(x));
      return;
    }
    const std::size_t at = out.open();
    auto e = x.begin();
    for (View m : g) {
      self(self, *e, m);
      ++e;
    }
    out.close(at, g.rank());
  };
  walk(walk, a.view(), guide.view());
  return std::move(out).finish();
}

namespace {

template <class F>
IntTuple leafwise(const char* name, const IntTuple& a, const IntTuple& b, const F& f) {
  if (!b.is_leaf() && !congruent(a, b))
    binary(name, a, b)
        .fail("incongruent", "two tuples are not congruent", "",
              "both need the same parentheses; an integer on the right goes with every leaf");
  TupleBuilder<Int> out;
  out.profile(a.profile().view());
  for (std::size_t i = 0; i < a.leaves().size(); ++i)
    out.leaves().push_back(f(a.leaves()[i], b.is_leaf() ? b.leaf() : b.leaves()[i]));
  return std::move(out).finish();
}

} // namespace

IntTuple add(const IntTuple& a, const IntTuple& b) {
  return leafwise("add", a, b, [](Int x, Int y) { return x + y; });
}
IntTuple sub(const IntTuple& a, const IntTuple& b) {
  return leafwise("sub", a, b, [](Int x, Int y) { return x - y; });
}
IntTuple mul(const IntTuple& a, const IntTuple& b) {
  return leafwise("mul", a, b, [](Int x, Int y) { return x * y; });
}
IntTuple div(const IntTuple& a, const IntTuple& b) {
  return leafwise("div", a, b, [](Int x, Int y) { return floor_div(x, y); });
}
IntTuple mod(const IntTuple& a, const IntTuple& b) {
  return leafwise("mod", a, b, [](Int x, Int y) { return floor_mod(x, y); });
}

IntTuple elem_scale(const IntTuple& a, const IntTuple& b) {
  if (!weakly_congruent(a, b))
    binary("elem_scale", a, b).fail("incongruent", "the right tuple does not refine the left");
  TupleBuilder<Int> out;
  const auto walk = [&](auto&& self, View x, View y) -> void {
    if (x.is_leaf()) {
      out.leaf(x.leaf() * size<Int>(y));
      return;
    }
    const std::size_t at = out.open();
    auto e = y.begin();
    for (View m : x) {
      self(self, m, *e);
      ++e;
    }
    out.close(at, x.rank());
  };
  walk(walk, a.view(), b.view());
  return std::move(out).finish();
}

IntTuple ceil_div(const IntTuple& a, const IntTuple& b) {
  const Operation op = binary("ceil_div", a, b);
  require_positive(op, b);
  TupleBuilder<Int> out;
  divide(op, out, a.view(), b.view(), false, [](Int x, Int& divisor) {
    const Int q = ceil_div(x, divisor);
    // What a mode does not use up of the divisor is left for the next: (4,3) by 8 is (1,2).
    divisor = ceil_div(divisor, x);
    return q;
  });
  return std::move(out).finish();
}
IntTuple shape_div(const IntTuple& a, const IntTuple& b) {
  const Operation op = binary("shape_div", a, b);
  require_positive(op, b);
  require_positive(op, a);
  TupleBuilder<Int> out;
  divide(op, out, a.view(), b.view(), true, [&](Int x, Int& divisor) {
    if (floor_mod(x, divisor) != 0 && floor_mod(divisor, x) != 0)
      op.fail("divisibility", "neither side divides the other", to_string(x) + " and " + to_string(divisor));
    const Int q = ceil_div(x, divisor);
    divisor = ceil_div(divisor, x);
    return q;
  });
  return std::move(out).finish();
}
IntTuple round_up(const IntTuple& a, const IntTuple& b) {
  const Operation op = binary("round_up", a, b);
  require_positive(op, b);
  TupleBuilder<Int> out;
  const auto walk = [&](auto&& self, View x, View y) -> void {
    if (x.is_leaf() && y.is_leaf()) {
      out.leaf(ceil_div(x.leaf(), y.leaf()) * y.leaf());
      return;
    }
    if (x.is_leaf() || y.is_leaf() || x.rank() < y.rank()) op.fail("rank", "the tuples have different ranks");
    const std::size_t at = out.open();
    auto e = y.begin();
    std::size_t i = 0;
    for (View m : x) {
      if (i++ < y.rank()) {
        self(self, m, *e);
        ++e;
      } else {
        out.append(m);
      }
    }
    out.close(at, x.rank());
  };
  walk(walk, a.view(), b.view());
  return std::move(out).finish();
}

namespace {
// -1, 0, 1; entries in the order of the iteration, the shorter tuple first.
int compare(const Operation& op, View a, View b, bool from_left) {
  if (a.is_leaf() && b.is_leaf()) return a.leaf() < b.leaf() ? -1 : b.leaf() < a.leaf() ? 1 : 0;
  if (a.is_leaf() != b.is_leaf()) op.fail("incongruent", "an integer is compared with a tuple");
  for (std::size_t k = 0;; ++k) {
    // A proper beginning comes before what continues it, as words do in a dictionary.
    if (k == a.rank() || k == b.rank()) return a.rank() < b.rank() ? -1 : b.rank() < a.rank() ? 1 : 0;
    const int c = from_left ? compare(op, a[k], b[k], true)
                            : compare(op, a[a.rank() - 1 - k], b[b.rank() - 1 - k], false);
    if (c != 0) return c;
  }
}
} // namespace

bool lex_less(const IntTuple& a, const IntTuple& b) {
  return compare(binary("lex_less", a, b), a.view(), b.view(), true) < 0;
}
bool colex_less(const IntTuple& a, const IntTuple& b) {
  return compare(binary("colex_less", a, b), a.view(), b.view(), false) < 0;
}
bool elem_less(const IntTuple& a, const IntTuple& b) {
  const Operation op = binary("elem_less", a, b);
  const auto walk = [&](auto&& self, View x, View y) -> bool {
    if (x.is_leaf() && y.is_leaf()) return x.leaf() < y.leaf();
    if (x.is_leaf() != y.is_leaf()) op.fail("incongruent", "an integer is compared with a tuple");
    // Entries that the right tuple has more are no bound on anything, as in CuTe.
    if (x.rank() > y.rank()) return false;
    auto e = y.begin();
    for (View m : x) {
      if (!self(self, m, *e)) return false;
      ++e;
    }
    return true;
  };
  return walk(walk, a.view(), b.view());
}

namespace {
BasicMode<Sym> lifted(const Mode& m) {
  return {Sym(m.extent), BasicStride<Sym>(Sym(m.stride.scale), m.stride.axis)};
}
Tuple<BasicMode<Sym>> lifted(LayoutView<Int> l) {
  TupleBuilder<BasicMode<Sym>> b;
  b.profile(l.profile());
  for (const Mode& m : l.leaves()) b.leaves().push_back(lifted(m));
  return std::move(b).finish();
}
} // namespace

SymLayout symbolic(const Layout& l) { return SymLayout::from_modes(lifted(l.view())); }
BasicIntTuple<Sym> symbolic(const IntTuple& t) {
  TupleBuilder<Sym> b;
  b.profile(t.profile().view());
  for (const Int x : t.leaves()) b.leaves().push_back(Sym(x));
  return std::move(b).finish();
}
SymTile symbolic(const Tile& t) { return SymTile::from(Tuple<TileKind>(t.kinds()), lifted(t.parts())); }

Layout instantiate(const SymLayout& l, const Assignment& values) {
  TupleBuilder<Mode> b;
  b.profile(l.profile().view());
  for (const auto& m : l.modes())
    b.leaves().push_back(
        {evaluate(m.extent, values), Stride(evaluate(m.stride.scale, values), m.stride.axis)});
  return Layout(std::move(b).finish());
}
IntTuple instantiate(const BasicIntTuple<Sym>& t, const Assignment& values) {
  TupleBuilder<Int> b;
  b.profile(t.profile().view());
  for (const Sym& x : t.leaves()) b.leaves().push_back(evaluate(x, values));
  return std::move(b).finish();
}
SymLayout substitute(const SymLayout& l, std::span<const std::pair<AtomId, Sym>> replacements) {
  TupleBuilder<BasicMode<Sym>> b;
  b.profile(l.profile().view());
  for (const auto& m : l.modes())
    b.leaves().push_back({substitute(m.extent, replacements),
                          BasicStride<Sym>(substitute(m.stride.scale, replacements), m.stride.axis)});
  return SymLayout(std::move(b).finish());
}
std::vector<AtomId> symbols(const SymLayout& l) {
  std::vector<AtomId> all;
  for (const auto& m : l.modes())
    for (const Sym& s : {m.extent, m.stride.scale})
      for (const AtomId id : symbols(s)) all.push_back(id);
  // Sorted, so that no output depends on the order in which modes name their symbols.
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

} // namespace inlay
