// The operations that rearrange: coalesce and filter, selecting modes, constructing layouts, coordinates.
#include "retry.h"
#include "text_reader.h"

#include <inlay/algebra/bodies/coalesce.h>
#include <inlay/algebra/bodies/construct.h>
#include <inlay/algebra/bodies/select.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/construct.h>
#include <inlay/algebra/ops/product.h>
#include <inlay/algebra/ops/select.h>

namespace inlay {

using detail::exact;

Layout coalesce(const Layout& l) {
  return exact([](const auto& x) { return body::unwrapped(body::coalesced_modes(x.modes(), false)); }, l);
}
SymLayout coalesce(const SymLayout& l) { return body::coalesce(l.view()); }
Layout coalesce(const Layout& l, const IntTuple& profile) {
  const Operation op = Operation("coalesce").with("layout", l).with("profile", profile);
  return exact([&](const auto& x) { return body::coalesce(op, x.view(), profile.view()); }, l);
}
SymLayout coalesce(const SymLayout& l, const IntTuple& profile) {
  return body::coalesce(Operation("coalesce").with("layout", l).with("profile", profile), l.view(),
                        profile.view());
}

Layout flatten(const Layout& l) { return Layout::from_modes(body::flatten(l.view())); }
SymLayout flatten(const SymLayout& l) { return SymLayout::from_modes(body::flatten(l.view())); }
IntTuple flatten(const IntTuple& t) { return body::flatten(t.view()); }

Layout unflatten(const Layout& l, const IntTuple& p) {
  const Operation op = Operation("unflatten").with("layout", l).with("profile", p);
  return Layout::from_modes(body::unflatten(op, l.view(), p.profile().view()));
}
SymLayout unflatten(const SymLayout& l, const IntTuple& p) {
  const Operation op = Operation("unflatten").with("layout", l).with("profile", p);
  return SymLayout::from_modes(body::unflatten(op, l.view(), p.profile().view()));
}

Layout filter_zeros(const Layout& l) { return body::filter_zeros(l.view()); }
SymLayout filter_zeros(const SymLayout& l) { return body::filter_zeros(l.view()); }
Layout filter_zeros(const Layout& l, const IntTuple& profile) {
  const Operation op = Operation("filter_zeros").with("layout", l).with("profile", profile);
  LayoutBuilder<Int> out;
  out.profile(l.profile().view());
  const auto walk = [&](auto&& self, LayoutView<Int> x, TupleView<Int> p) -> void {
    if (p.is_leaf()) {
      for (Mode m : x.leaves()) {
        if (p.leaf() == 0) m.extent = 1;
        out.leaves().push_back(m);
      }
      return;
    }
    if (x.is_leaf() || x.rank() != p.rank()) op.fail("incongruent", "the profile does not fit the layout");
    auto e = p.begin();
    for (LayoutView<Int> mode : x) {
      self(self, mode, *e);
      ++e;
    }
  };
  walk(walk, l.view(), profile.view());
  return body::finish(std::move(out));
}

Layout filter(const Layout& l) {
  return exact([](const auto& x) { return body::filter(x.view()); }, l);
}
SymLayout filter(const SymLayout& l) { return body::filter(l.view()); }
Layout filter(const Layout& l, const IntTuple& profile) {
  const Operation op = Operation("filter").with("layout", l).with("profile", profile);
  return exact([&](const auto& x) { return body::filter(op, x.view(), profile.view()); }, l);
}
SymLayout filter(const SymLayout& l, const IntTuple& profile) {
  return body::filter(Operation("filter").with("layout", l).with("profile", profile), l.view(),
                      profile.view());
}

namespace {
// Layouts and tuples are the same tree over other leaves; these two functions are all that differs.
template <class S>
TupleView<BasicMode<S>> tree(const BasicLayout<S>& l) {
  return l.view();
}
TupleView<Int> tree(const IntTuple& t) { return t.view(); }
template <class S>
void set(BasicLayout<S>& out, Tuple<BasicMode<S>> t) {
  out = BasicLayout<S>::from_modes(std::move(t));
}
void set(IntTuple& out, IntTuple t) { out = std::move(t); }

template <class T, class Tree>
T made(Tree t) {
  T out;
  set(out, std::move(t));
  return out;
}

template <class T>
T extended_to(const char* name, const T& t, std::size_t rank, const T& mode, bool front) {
  const auto view = tree(t);
  if (rank < view.rank())
    Operation(name)
        .with("tuple", t)
        .fail("rank", "there are more modes already",
              "rank " + std::to_string(view.rank()) + " is above " + std::to_string(rank));
  if (rank == view.rank()) return t;
  if (rank > max_rank) detail::throw_limit("rank", rank, max_rank);
  return made<T>(body::extended(view, tree(mode), rank - view.rank(), front));
}
} // namespace

#define INLAY_MODE_OPERATIONS(T, L)                                                                          \
  T concatenate(std::span<const T> modes) {                                                                  \
    TupleBuilder<L> b;                                                                                       \
    const std::size_t at = b.open();                                                                         \
    for (const T& m : modes) b.append(tree(m));                                                              \
    b.close(at, modes.size());                                                                               \
    return made<T>(std::move(b).finish());                                                                   \
  }                                                                                                          \
  T select(const T& t, Indices i) {                                                                          \
    return made<T>(body::select(Operation("select").with("tuple", t), tree(t), i));                          \
  }                                                                                                          \
  T get(const T& t, Indices i) {                                                                             \
    return made<T>(Tuple<L>(body::get(Operation("get").with("tuple", t), tree(t), i)));                      \
  }                                                                                                          \
  T take(const T& t, std::size_t begin, std::size_t end) {                                                   \
    return made<T>(body::take(Operation("take").with("tuple", t), tree(t), begin, end));                     \
  }                                                                                                          \
  T group(const T& t, std::size_t begin, std::size_t end) {                                                  \
    return made<T>(body::group(Operation("group").with("tuple", t), tree(t), begin, end));                   \
  }                                                                                                          \
  T append(const T& t, const T& mode) { return made<T>(body::extended(tree(t), tree(mode), 1, false)); }     \
  T prepend(const T& t, const T& mode) { return made<T>(body::extended(tree(t), tree(mode), 1, true)); }     \
  T append(const T& t, std::size_t rank, const T& mode) {                                                    \
    return extended_to("append", t, rank, mode, false);                                                      \
  }                                                                                                          \
  T prepend(const T& t, std::size_t rank, const T& mode) {                                                   \
    return extended_to("prepend", t, rank, mode, true);                                                      \
  }                                                                                                          \
  T replace(const T& t, std::size_t index, const T& mode) {                                                  \
    return made<T>(body::replace(Operation("replace").with("tuple", t), tree(t), index, tree(mode)));        \
  }                                                                                                          \
  T zip(const T& t) { return made<T>(body::zip(Operation("zip").with("tuple", t), tree(t))); }               \
  T slice(const Coordinate& c, const T& t) {                                                                 \
    return made<T>(body::filter_by(Operation("slice").with("coordinate", c).with("tuple", t), c.view(),      \
                                   tree(t), true));                                                          \
  }                                                                                                          \
  T dice(const Coordinate& c, const T& t) {                                                                  \
    return made<T>(body::filter_by(Operation("dice").with("coordinate", c).with("tuple", t), c.view(),       \
                                   tree(t), false));                                                         \
  }
INLAY_MODE_OPERATIONS(Layout, Mode)
INLAY_MODE_OPERATIONS(SymLayout, BasicMode<Sym>)
INLAY_MODE_OPERATIONS(IntTuple, Int)
#undef INLAY_MODE_OPERATIONS

Sliced<Layout, Int> slice_and_offset(const Coordinate& c, const Layout& l) {
  const Operation op = Operation("slice_and_offset").with("coordinate", c).with("layout", l);
  return {slice(c, l), exact([&](const auto& x) { return body::offset_at(op, c.view(), x.view()); }, l)};
}
Sliced<SymLayout, Sym> slice_and_offset(const Coordinate& c, const SymLayout& l) {
  const Operation op = Operation("slice_and_offset").with("coordinate", c).with("layout", l);
  return {slice(c, l), body::offset_at(op, c.view(), l.view())};
}

Layout make_ordered_layout(const IntTuple& shape, const IntTuple& order) {
  const Operation op = Operation("make_ordered_layout").with("shape", shape).with("order", order);
  return exact([&](const auto& s) { return body::ordered(op, s.view(), order.view()); }, shape);
}
SymLayout make_ordered_layout(const BasicIntTuple<Sym>& shape, const IntTuple& order) {
  return body::ordered(Operation("make_ordered_layout").with("shape", shape).with("order", order),
                       shape.view(), order.view());
}

namespace {
// Shape with 1 where the stride is 0, ordered by the strides; extents put back.
Layout like(const Operation& op, LayoutView<Int> l) {
  TupleBuilder<Int> shape;
  TupleBuilder<Int> order;
  shape.profile(l.profile());
  order.profile(l.profile());
  for (const Mode& m : l.leaves()) {
    shape.leaves().push_back(m.stride.scale == 0 ? Int(1) : m.extent);
    order.leaves().push_back(m.stride.scale);
  }
  const IntTuple s = std::move(shape).finish();
  const Layout compact = body::ordered<Int>(op, s.view(), std::move(order).finish().view());
  LayoutBuilder<Int> out;
  out.profile(l.profile());
  for (std::size_t i = 0; i < compact.modes().size(); ++i)
    out.leaves().push_back({l.leaves()[i].extent, compact.modes()[i].stride});
  return body::finish(std::move(out));
}
} // namespace

Layout make_layout_like(const Layout& l) {
  return like(Operation("make_layout_like").with("layout", l), l.view());
}

Layout make_fragment_like(const Layout& l) {
  const Operation op = Operation("make_fragment_like").with("layout", l);
  if (l.rank() <= 1) return Layout::col_major(l.shape());
  // Mode 0 first, with its zeros kept; the others in the order of their strides.
  TupleBuilder<Int> filtered;
  const LayoutView<Int> first = l.view()[0];
  filtered.profile(first.profile());
  for (const Mode& m : first.leaves()) filtered.leaves().push_back(m.stride.scale == 0 ? Int(1) : m.extent);
  const Layout compact = Layout::col_major(std::move(filtered).finish());
  LayoutBuilder<Int> block;
  const std::size_t at = block.open();
  block.profile(first.profile());
  for (std::size_t i = 0; i < first.leaves().size(); ++i)
    block.leaves().push_back({first.leaves()[i].extent, compact.modes()[i].stride});
  Int next = 1;
  for (const Mode& m : compact.modes()) next *= m.extent;
  const Layout others = take(l, 1, l.rank());
  TupleBuilder<Int> order; // equal strides alias, as zeros do
  order.profile(others.profile().view());
  for (const Mode& m : others.modes()) order.leaves().push_back(m.stride.scale);
  const Layout rest = body::ordered<Int>(op, others.shape().view(), std::move(order).finish().view());
  LayoutBuilder<Int> scaled;
  scaled.profile(rest.profile().view());
  for (const Mode& m : rest.modes()) scaled.leaves().push_back({m.extent, Stride(m.stride.scale * next)});
  const std::size_t n = body::append_modes<Mode>(block, std::move(scaled).finish().view());
  block.close(at, n + 1);
  return body::finish(std::move(block));
}

Layout make_identity_layout(const IntTuple& shape) { return body::identity(shape.view()); }
SymLayout make_identity_layout(const BasicIntTuple<Sym>& shape) { return body::identity(shape.view()); }

namespace {
IntTuple compact(const Operation& op, const IntTuple& shape, const IntTuple& start, bool left_first) {
  if (!start.is_leaf()) {
    if (shape.is_leaf() || shape.rank() != start.rank())
      op.fail("incongruent", "the start does not fit the shape");
    SmallVector<IntTuple, 4> parts;
    for (std::size_t i = 0; i < shape.rank(); ++i)
      parts.push_back(compact(op, shape[i], start[i], left_first));
    return IntTuple::of(parts.span());
  }
  const Layout l = left_first ? Layout::col_major(shape) : Layout::row_major(shape);
  TupleBuilder<Int> out;
  out.profile(shape.profile().view());
  for (const Mode& m : l.modes()) out.leaves().push_back(m.stride.scale * start.leaf());
  return std::move(out).finish();
}
} // namespace

IntTuple compact_col_major(const IntTuple& shape, const IntTuple& start) {
  return compact(Operation("compact_col_major").with("shape", shape).with("start", start), shape, start,
                 true);
}
IntTuple compact_row_major(const IntTuple& shape, const IntTuple& start) {
  return compact(Operation("compact_row_major").with("shape", shape).with("start", start), shape, start,
                 false);
}

} // namespace inlay
