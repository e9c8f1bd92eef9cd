// The operations that compute: composition, complement, inverses, divides, products. Bodies are in bodies/.
#include "retry.h"

#include <inlay/algebra/bodies/construct.h>
#include <inlay/algebra/bodies/divide.h>
#include <inlay/algebra/bodies/inverse.h>
#include <inlay/algebra/bodies/recast.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/ops/product.h>
#include <inlay/algebra/ops/recast.h>

namespace inlay {

using detail::exact;

namespace detail {

void throw_too_large(const std::string& where) {
  throw OverflowError({"overflow",
                       "integers",
                       "the result does not fit in 64 bits",
                       {},
                       where,
                       {},
                       "numbers lie in -2^63 .. 2^63 - 1"});
}

void throw_extent_cut(const Operation& op, std::span<const Mode> left, Int s, Int d, std::size_t leaf,
                      std::size_t k, Int rest_s, Int rest_d) {
  // What would be accepted: the extents for which the same walk succeeds and stays inside the left layout.
  std::string accepted;
  const Int size = body::product<Int>(left);
  const Operation quiet = Operation::trial();
  int found = 0;
  // Eight suggestions fill the line of a hint, and beyond 256 nobody reads a list; trying is cheap, an error is not on any fast path.
  for (Int candidate = 1; found < 8 && candidate <= 256 && (candidate - 1) * abs(d) < size; candidate += 1) {
    body::CompositionTarget<Int> target;
    target.modes = Modes<Int>(left);
    for (std::size_t i = 0; i + 1 < left.size(); ++i) target.sum.push_back(0);
    try {
      if (candidate == s) continue;
      Modes<Int> ignored;
      (void)body::compose_leaf<Int>(quiet, ignored, target, candidate, d < 0 ? -d : d, leaf);
      accepted += (found++ ? ", " : "") + to_string(candidate);
      // The trial is the question: a candidate that is refused is no suggestion.
    } catch (const LayoutError&) {
    }
    // One beyond the extent that was asked for is enough to choose from both sides.
    if (candidate > s && found > 0) break;
  }
  const Int extent = left[k].extent;
  const Int share = floor_div(extent, rest_d);
  const bool cut = share * rest_d == extent;
  std::string where = "right mode " + std::to_string(leaf) + ": " + to_string(rest_s);
  if (cut) {
    where += " is cut at " + to_string(extent) + "/" + to_string(rest_d) + " = " + to_string(share) +
             " by left mode " + std::to_string(k) + " (" + to_string(extent) + ":" +
             to_string(left[k].stride.scale) + "), and " + to_string(share) + " does not divide " +
             to_string(rest_s);
  } else {
    where += " elements " + to_string(rest_d) + " apart cross the end of left mode " + std::to_string(k) +
             " (" + to_string(extent) + ":" + to_string(left[k].stride.scale) + "), and " +
             to_string(rest_d) + " does not divide " + to_string(extent);
  }
  op.fail(cut ? "shape_divisibility" : "stride_divisibility",
          cut ? "extent does not divide" : "stride does not divide", std::move(where),
          accepted.empty() ? ""
                           : "extents that divide and stay inside the " + to_string(size) +
                                 " elements of left: " + accepted,
          {{"extent", to_string(rest_s)}, {"stride", to_string(rest_d)}, {"left_extent", to_string(extent)}});
}

} // namespace detail

void Operation::fail(const char* code, const char* summary, std::string where, std::string hint,
                     std::vector<std::pair<std::string, std::string>> numbers) const {
  // Who tries catches it and reads nothing of it; texts of the operands would cost more than the operation.
  if (is_trial()) throw LayoutError({code, "", summary, {}, "", {}, ""});
  ErrorFields fields{code, name_, summary, {}, std::move(where), std::move(numbers), std::move(hint)};
  for (std::size_t i = 0; i < count_; ++i)
    fields.operands.emplace_back(operands_[i].name, operands_[i].text(operands_[i].value));
  throw LayoutError(std::move(fields));
}

void Operation::oblige(ClaimKind kind, Sym a, Sym b, std::string where) const {
  SymContext* context = a.context() ? a.context() : b.context();
  // Of two numbers every question has an answer, so that this is a mistake of ours.
  INLAY_CHECK(context, "an open question about constants");
  Obligation o{{kind, {a, b}, {}}, name_, {}, std::move(where)};
  for (std::size_t i = 0; i < count_; ++i)
    o.operands.emplace_back(operands_[i].name, operands_[i].text(operands_[i].value));
  context->oblige(std::move(o));
}

// One line per operation and domain: the Int line may run again on big integers.
namespace {
template <class A, class B>
Operation binary(const char* name, const A& a, const B& b) {
  return Operation(name).with("left", a).with("right", b);
}
template <class A, class B>
Operation tiled(const char* name, const A& a, const B& b) {
  return Operation(name).with("layout", a).with("tile", b);
}
template <class A>
Operation unary(const char* name, const A& a) {
  return Operation(name).with("layout", a);
}

const auto compose = [](const Operation& op) {
  return [&op](const auto& a, const auto& b) { return body::composition(op, a.view(), b.view()); };
};
const auto compose_tile = [](const Operation& op) {
  return [&op](const auto& a, const auto& b) { return body::composition(op, a.view(), b); };
};
} // namespace

Layout composition(const Layout& a, const Layout& b) {
  const Operation op = binary("composition", a, b);
  return exact(compose(op), a, b);
}
SymLayout composition(const SymLayout& a, const SymLayout& b) {
  return compose(binary("composition", a, b))(a, b);
}
Layout composition(const Layout& a, const Tile& tile) {
  const Operation op = binary("composition", a, tile);
  return exact(compose_tile(op), a, tile);
}
SymLayout composition(const SymLayout& a, const SymTile& tile) {
  return compose_tile(binary("composition", a, tile))(a, tile);
}

namespace {
template <class S>
std::span<const S> one(const S& s) {
  return std::span<const S>(&s, 1);
}
} // namespace

Layout complement(const Layout& l) {
  const Operation op = unary("complement", l);
  return exact([&](const auto& x) { return body::complement(op, x.view(), decltype(x.shape().leaves()){}); },
               l);
}
SymLayout complement(const SymLayout& l) {
  return body::complement(unary("complement", l), l.view(), std::span<const Sym>());
}
Layout complement(const Layout& l, Int target) {
  const Operation op = unary("complement", l).with("target", target);
  return exact([&](const auto& x, const auto& n) { return body::complement(op, x.view(), one(n)); }, l,
               target);
}
SymLayout complement(const SymLayout& l, Sym target) {
  return body::complement(unary("complement", l).with("target", target), l.view(), one(target));
}
Layout complement(const Layout& l, const IntTuple& target) {
  const Operation op = unary("complement", l).with("target", target);
  return exact([&](const auto& x, const auto& n) { return body::complement(op, x.view(), n.leaves()); }, l,
               target);
}
SymLayout complement(const SymLayout& l, const BasicIntTuple<Sym>& target) {
  return body::complement(unary("complement", l).with("target", target), l.view(), target.leaves());
}

#define INLAY_UNARY(name)                                                                                    \
  Layout name(const Layout& l) {                                                                             \
    const Operation op = unary(#name, l);                                                                    \
    return exact([&](const auto& x) { return body::name(op, x.view()); }, l);                                \
  }                                                                                                          \
  SymLayout name(const SymLayout& l) { return body::name(unary(#name, l), l.view()); }
INLAY_UNARY(right_inverse)
INLAY_UNARY(left_inverse)
#undef INLAY_UNARY

Layout nullspace(const Layout& l) {
  return exact([](const auto& x) { return body::nullspace(x.view()); }, l);
}
SymLayout nullspace(const SymLayout& l) { return body::nullspace(l.view()); }

Int max_common_vector(const Layout& a, const Layout& b) {
  const Operation op = binary("max_common_vector", a, b);
  return exact([&](const auto& x, const auto& y) { return body::max_common_vector(op, x.view(), y.view()); },
               a, b);
}
Layout max_common_layout(const Layout& a, const Layout& b) {
  const Operation op = binary("max_common_layout", a, b);
  return exact([&](const auto& x, const auto& y) { return body::max_common_layout(op, x.view(), y.view()); },
               a, b);
}

Int max_alignment(const Layout& l) {
  const Operation op = unary("max_alignment", l);
  // The longest run that begins at offset 0 is as wide as an access can be, and every stride that leads from one
  // such run to another has to be a multiple of its width.
  const Layout flat = body::coalesce<Int>(l.view());
  const Layout run = body::right_inverse<Int>(op, flat.view());
  const Layout divided = body::logical_divide<Int>(op, flat.view(), Tile(run));
  Int n = body::product<Int>(divided.view()[0].leaves());
  for (const Mode& m : divided.view()[1].leaves()) n = gcd(n, m.stride.scale);
  return n;
}

Layout domain_distribute(const IntTuple& shape, Int n) {
  if (n < 1)
    Operation("domain_distribute")
        .with("shape", shape)
        .with("n", n)
        .fail("extent", "the number is not positive");
  return body::domain_distribute(shape.view(), n);
}

namespace {
enum class Regroup : std::uint8_t { none, zipped, tiled, flat };
template <class L>
auto regrouped(const Operation& op, const L& paired, const auto& tile, Regroup how) {
  if (how == Regroup::none) return paired;
  const L z = body::zipped(op, paired, tile);
  return how == Regroup::zipped ? z : body::unpacked(op, z, how == Regroup::flat);
}
const auto divide = [](const Operation& op, Regroup how) {
  return [&op, how](const auto& a, const auto& t) {
    return regrouped(op, body::logical_divide(op, a.view(), t), t, how);
  };
};
const auto multiply = [](const Operation& op, Regroup how) {
  return [&op, how](const auto& a, const auto& t) {
    return regrouped(op, body::logical_product(op, a.view(), t), t, how);
  };
};
} // namespace

#define INLAY_TILED(name, body_of, how)                                                                      \
  Layout name(const Layout& a, const Tile& t) {                                                              \
    const Operation op = tiled(#name, a, t);                                                                 \
    return exact(body_of(op, how), a, t);                                                                    \
  }                                                                                                          \
  SymLayout name(const SymLayout& a, const SymTile& t) { return body_of(tiled(#name, a, t), how)(a, t); }
INLAY_TILED(logical_divide, divide, Regroup::none)
INLAY_TILED(zipped_divide, divide, Regroup::zipped)
INLAY_TILED(tiled_divide, divide, Regroup::tiled)
INLAY_TILED(flat_divide, divide, Regroup::flat)
INLAY_TILED(logical_product, multiply, Regroup::none)
INLAY_TILED(zipped_product, multiply, Regroup::zipped)
INLAY_TILED(tiled_product, multiply, Regroup::tiled)
INLAY_TILED(flat_product, multiply, Regroup::flat)
#undef INLAY_TILED

#define INLAY_PAIRED(name, raked)                                                                            \
  Layout name(const Layout& a, const Layout& t) {                                                            \
    const Operation op = Operation(#name).with("block", a).with("tiler", t);                                 \
    return exact(                                                                                            \
        [&](const auto& x, const auto& y) { return body::paired_product(op, x.view(), y.view(), raked); },   \
        a, t);                                                                                               \
  }                                                                                                          \
  SymLayout name(const SymLayout& a, const SymLayout& t) {                                                   \
    return body::paired_product(Operation(#name).with("block", a).with("tiler", t), a.view(), t.view(),      \
                                raked);                                                                      \
  }
INLAY_PAIRED(blocked_product, false)
INLAY_PAIRED(raked_product, true)
#undef INLAY_PAIRED

namespace {
template <class S>
BasicLayout<S> tile_to(const Operation& op, const BasicLayout<S>& block, const BasicIntTuple<S>& shape,
                       const IntTuple* order) {
  const std::size_t rank = shape.rank();
  if (block.rank() > rank) op.fail("rank", "the block has more modes than the shape");
  TupleBuilder<BasicMode<S>> padded;
  const std::size_t at = padded.open();
  body::append_modes<BasicMode<S>>(padded, block.view());
  // A block of a lower rank is one element wide in the modes that it does not have.
  for (std::size_t i = block.rank(); i < rank; ++i) padded.append(BasicLayout<S>().view());
  padded.close(at, rank);
  const BasicLayout<S> full = body::finish(std::move(padded));
  TupleBuilder<S> copies;
  const std::size_t copies_at = copies.open();
  auto mode = full.view().begin();
  for (TupleView<S> s : shape.view()) {
    const S have = body::product<S>((*mode).leaves());
    const S want = size<S>(s);
    op.require_divides(have, want, "tile_does_not_divide", "the block does not divide the shape",
                       [&] { return "a mode of " + to_string(have) + " into " + to_string(want); });
    copies.leaf(exact_div(want, have));
    ++mode;
  }
  copies.close(copies_at, rank);
  const BasicIntTuple<S> count = std::move(copies).finish();
  const BasicLayout<S> grid =
      order ? body::ordered<S>(op, count.view(), order->view()) : BasicLayout<S>::col_major(count);
  return body::paired_product<S>(op, full.view(), grid.view(), false);
}
} // namespace

Layout tile_to_shape(const Layout& block, const IntTuple& shape) {
  const Operation op = Operation("tile_to_shape").with("block", block).with("shape", shape);
  return exact([&](const auto& b, const auto& s) { return tile_to(op, b, s, nullptr); }, block, shape);
}
Layout tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple& order) {
  const Operation op =
      Operation("tile_to_shape").with("block", block).with("shape", shape).with("order", order);
  return exact([&](const auto& b, const auto& s) { return tile_to(op, b, s, &order); }, block, shape);
}
SymLayout tile_to_shape(const SymLayout& block, const BasicIntTuple<Sym>& shape) {
  return tile_to(Operation("tile_to_shape").with("block", block).with("shape", shape), block, shape, nullptr);
}
SymLayout tile_to_shape(const SymLayout& block, const BasicIntTuple<Sym>& shape, const IntTuple& order) {
  return tile_to(Operation("tile_to_shape").with("block", block).with("shape", shape), block, shape, &order);
}

namespace {
template <class S>
void require_unit(const Operation& op, const S& n) {
  if (le(S(1), n) == Truth::no) op.fail("extent", "the unit is not positive");
}
} // namespace

#define INLAY_CAST(name)                                                                                     \
  Layout name(const Layout& l, Int n) {                                                                      \
    const Operation op = unary(#name, l).with("unit", n);                                                    \
    require_unit(op, n);                                                                                     \
    return exact([&](const auto& x, const auto& u) { return body::name(op, x.view(), u); }, l, n);           \
  }                                                                                                          \
  SymLayout name(const SymLayout& l, Sym n) {                                                                \
    const Operation op = unary(#name, l).with("unit", n);                                                    \
    require_unit(op, n);                                                                                     \
    return body::name(op, l.view(), n);                                                                      \
  }
INLAY_CAST(upcast)
INLAY_CAST(downcast)
#undef INLAY_CAST

namespace {
template <class L>
L recast_by(const L& l, Int old_bits, Int new_bits) {
  if (old_bits < 1 || new_bits < 1)
    unary("recast", l)
        .with("old bits", old_bits)
        .with("new bits", new_bits)
        .fail("extent", "an element has no bits");
  // 16 to 24 bits is neither up nor down alone: up by 3 to 48, then down by 2.
  const Int common = gcd(old_bits, new_bits);
  const Int up = floor_div(new_bits, common);
  const Int down = floor_div(old_bits, common);
  if (down == 1) return up == 1 ? l : upcast(l, up);
  return up == 1 ? downcast(l, down) : downcast(upcast(l, up), down);
}
} // namespace
Layout recast(const Layout& l, Int old_bits, Int new_bits) { return recast_by(l, old_bits, new_bits); }
SymLayout recast(const SymLayout& l, Int old_bits, Int new_bits) { return recast_by(l, old_bits, new_bits); }

} // namespace inlay
