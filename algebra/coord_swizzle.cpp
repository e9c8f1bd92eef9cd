// Coordinate swizzles: their values, their text, and when they are swizzles of offsets.
#include "text_reader.h"

#include <inlay/algebra/coord_swizzle.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace inlay {
namespace {

constexpr std::int64_t most_coordinates = std::int64_t{1} << 20;

std::string path_text(Axis path) {
  std::string out = "[";
  for (std::size_t i = 0; i < path.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(path[i]);
  return out + "]";
}

std::string text(int bits, int row_base, Axis row, int column_base, Axis column) {
  return "CS<" + std::to_string(bits) + "," + std::to_string(row_base) + "," + path_text(row) + "," +
         std::to_string(column_base) + "," + path_text(column) + ">";
}

// The place of a path's leaf among all leaves; also where an integer leaf stands for deeper modes, there is none.
template <class T>
std::size_t leaf_at(TupleView<T> whole, Axis path, const std::string& shown, const std::string& in) {
  TupleView<T> at = whole;
  for (std::size_t level = 0; level < path.size(); ++level) {
    if (at.is_leaf() || path[level] >= at.rank())
      throw LayoutError({"incongruent",
                         "coordinate swizzle",
                         "there is no " + path_text(path) + " in it",
                         {{"swizzle", shown}, {"tuple", in}},
                         "",
                         {},
                         "a path counts modes from 0, outermost first"});
    at = at[path[level]];
  }
  if (!at.is_leaf())
    throw LayoutError({"incongruent",
                       "coordinate swizzle",
                       path_text(path) + " is not an integer",
                       {{"swizzle", shown}, {"tuple", in}},
                       "",
                       {},
                       "give the path of a leaf"});
  return static_cast<std::size_t>(at.leaves().data() - whole.leaves().data());
}

Int exchange(Int column, Int row, int bits, int row_base, int column_base) {
  const auto field = (static_cast<std::uint64_t>(row.value() >> row_base) & ((std::uint64_t{1} << bits) - 1))
                     << column_base;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(column.value()) ^ field);
}
Sym exchange(Sym column, Sym row, int bits, int row_base, int column_base) {
  const auto power = [](int n) { return Sym(std::int64_t{1} << n); };
  return bit_xor(column, floor_mod(floor_div(row, power(row_base)), power(bits)) * power(column_base));
}

} // namespace

CoordSwizzle::CoordSwizzle(int bits, int row_base, Axis row, int column_base, Axis column)
    : bits_(bits), row_base_(row_base), column_base_(column_base), row_(row), column_(column) {
  const bool meet = row == column && row_base < column_base + bits && column_base < row_base + bits;
  if (bits < 0 || row_base < 0 || column_base < 0 || bits > 62 || row_base > 62 || column_base > 62 ||
      bits + std::max(row_base, column_base) > 62 || row.empty() || column.empty() || (bits > 0 && meet))
    throw LayoutError(
        {"swizzle",
         "coordinate swizzle",
         "not a coordinate swizzle",
         {},
         text(bits, row_base, row, column_base, column),
         {},
         "all numbers are at least 0, the fields lie in 62 bits, both paths name a leaf, and two "
         "fields of one leaf do not meet"});
}

template <class S>
BasicIntTuple<S> CoordSwizzle::apply(const BasicIntTuple<S>& coordinate) const {
  const auto at = [&](Axis path) {
    return leaf_at<S>(coordinate.view(), path, inlay::to_string(*this), inlay::to_string(coordinate));
  };
  const std::size_t row = at(row_), column = at(column_);
  TupleBuilder<S> b;
  b.profile(coordinate.profile().view());
  for (std::size_t i = 0; i < coordinate.leaves().size(); ++i) {
    const S& x = coordinate.leaves()[i];
    b.leaves().push_back(i == column ? exchange(x, coordinate.leaves()[row], bits_, row_base_, column_base_)
                                     : x);
  }
  return std::move(b).finish();
}

IntTuple CoordSwizzle::operator()(const IntTuple& coordinate) const { return apply(coordinate); }
BasicIntTuple<Sym> CoordSwizzle::operator()(const BasicIntTuple<Sym>& coordinate) const {
  return apply(coordinate);
}

std::string to_string(const CoordSwizzle& s) {
  return text(s.bits(), s.row_base(), s.row(), s.column_base(), s.column());
}

namespace detail {

CoordSwizzle read_coord_swizzle(TextReader& in) {
  const auto small = [&] {
    const std::size_t start = in.position();
    const Int n = in.signed_number();
    if (n < -62 || n > 62) in.fail_at(start, "a field of a swizzle lies beyond 62 bits");
    return static_cast<int>(n.value());
  };
  const auto path = [&] {
    Axis axis{};
    in.expect('[');
    do {
      const Int index = in.number();
      if (index > 254) throw_axis("index of a path", static_cast<std::size_t>(index.value()), 254);
      axis = axis.child(static_cast<std::size_t>(index.value()));
    } while (in.accept(','));
    in.expect(']');
    return axis;
  };
  in.expect('<');
  const int bits = small();
  in.expect(',');
  const int row_base = small();
  in.expect(',');
  const Axis row = path();
  in.expect(',');
  const int column_base = small();
  in.expect(',');
  const Axis column = path();
  in.expect('>');
  return {bits, row_base, row, column_base, column};
}

} // namespace detail

CoordSwizzle parse_coord_swizzle(std::string_view text) {
  detail::TextReader in(text, "parse coordinate swizzle");
  if (!in.accept("CS")) in.fail("'CS<'");
  const CoordSwizzle s = detail::read_coord_swizzle(in);
  in.finish();
  return s;
}

CoordSwizzle upcast(const CoordSwizzle& s, Int n) {
  const int k = detail::log2_of_unit(n, to_string(s));
  return {s.bits(), s.row_base() - k, s.row(), s.column_base() - k, s.column()};
}
CoordSwizzle downcast(const CoordSwizzle& s, Int n) {
  const int k = detail::log2_of_unit(n, to_string(s));
  return {s.bits(), s.row_base() + k, s.row(), s.column_base() + k, s.column()};
}

ComposedLayout composition(const Layout& a, const CoordSwizzle& b) {
  const auto refuse = [&](const std::string& why) {
    throw LayoutError({"swizzle",
                       "composition",
                       why,
                       {{"layout", to_string(a)}, {"swizzle", to_string(b)}},
                       "",
                       {},
                       "write it as a formula in named coordinates: (r,c) -> r*pitch + (c ^ r % 8)"});
  };
  const auto mode = [&](Axis path) {
    return a.modes()[leaf_at<BasicMode<Int>>(a.view(), path, to_string(b), to_string(a))];
  };
  const BasicMode<Int> row = mode(b.row()), column = mode(b.column());
  if (b.bits() == 0) return {Swizzle(), 0, a};
  const auto power = [](const BasicMode<Int>& m) {
    return !m.stride.is_basis() && m.stride.scale > 0 &&
           std::has_single_bit(static_cast<std::uint64_t>(m.stride.scale.value()));
  };
  if (!power(row) || !power(column)) refuse("the strides of row and column are not powers of two");
  if (a.size() > Int(most_coordinates))
    detail::throw_limit("number of coordinates", static_cast<std::size_t>(a.size().value()),
                        static_cast<std::size_t>(most_coordinates));
  const auto log2 = [](const BasicMode<Int>& m) {
    return std::countr_zero(static_cast<std::uint64_t>(m.stride.scale.value()));
  };
  const int from = b.row_base() + log2(row), to = b.column_base() + log2(column);
  if (std::abs(from - to) < b.bits()) refuse("the two fields meet in the offset");
  const Swizzle s(b.bits(), std::min(from, to), from - to);
  const IntTuple shape = a.shape();
  for (Int i = 0; i < a.size(); i += 1) {
    const IntTuple c = idx2crd(i, shape);
    if (a(b(c)) != s(a(c)))
      refuse("no swizzle of offsets does the same: at " + to_string(c) + " the offset is " +
             to_string(a(b(c))) + ", " + to_string(s) + " gives " + to_string(s(a(c))));
  }
  return {s, 0, a};
}

} // namespace inlay
