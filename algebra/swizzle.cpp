// Swizzles, composed layouts and their linear algebra over bits.
#include "text_reader.h"

#include <inlay/algebra/bit_matrix.h>
#include <inlay/algebra/bodies/operation.h>
#include <inlay/algebra/composed.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/print.h>

#include <bit>
#include <ostream>

namespace inlay {

namespace {

std::string hexadecimal(std::uint64_t v) {
  std::string out;
  do out.insert(out.begin(), "0123456789abcdef"[v % 16]);
  while ((v /= 16) != 0);
  return "0x" + out;
}

// Moved down to bit 0, a run of ones is one less than a power of two.
bool one_run(std::uint64_t m) { return std::has_single_bit((m >> std::countr_zero(m)) + 1); }

// Why the masks are no swizzle's, empty when they are.
std::string fault_of(std::uint64_t source, std::uint64_t target) {
  const auto bits = [](std::uint64_t m) { return std::to_string(std::popcount(m)) + " bits"; };
  // 62 bits, so that offsets with a swizzled field are still positive numbers of 64.
  if (((source | target) >> 62) != 0) return "a field lies beyond 62 bits";
  if (source != 0 && !one_run(source)) return "the bits of the source are not adjacent";
  if (target != 0 && !one_run(target)) return "the bits of the target are not adjacent";
  if (std::popcount(source) != std::popcount(target))
    return "the source has " + bits(source) + " and the target " + bits(target);
  if ((source & target) != 0) return "the source and the target have bits in common";
  return {};
}

} // namespace

void Swizzle::refuse(int bits, int base, int shift) {
  const std::string b = std::to_string(bits), d = std::to_string(std::abs(shift));
  const std::string why = bits < 0 || base < 0     ? "bits and base are at least 0"
                          : std::abs(shift) < bits ? "|shift| is at least bits, as otherwise the " + b +
                                                         " bits that are read and those that are written, " +
                                                         d + " apart, have some in common"
                                                   : "all fields lie in 62 bits: bits + base + |shift| <= 62";
  throw LayoutError({"swizzle",
                     "swizzle",
                     "not a swizzle",
                     {},
                     "Sw<" + b + "," + std::to_string(base) + "," + std::to_string(shift) + ">",
                     {},
                     why});
}

Swizzle Swizzle::from_masks(std::uint64_t source, std::uint64_t target) {
  if (const std::string fault = fault_of(source, target); !fault.empty())
    throw LayoutError({"swizzle",
                       "make_swizzle",
                       "the masks are not two fields of equally many adjacent bits",
                       {},
                       "source " + std::to_string(source) + " = " + hexadecimal(source) + ", target " +
                           std::to_string(target) + " = " + hexadecimal(target) + ": " + fault,
                       {},
                       "a swizzle reads one run of bits and writes another: source 896 = 0x380 and target "
                       "112 = 0x70 are Sw<3,4,3>"});
  if (source == 0) return {};
  const int y = std::countr_zero(source);
  const int z = std::countr_zero(target);
  return {std::popcount(source), std::min(y, z), y - z};
}

Sym Swizzle::operator()(Sym x) const {
  if (is_identity()) return x;
  const Sym field = bit_and(x, static_cast<std::int64_t>(source_mask()));
  // Symbols have no shift: a field is moved by a product or a quotient, which the solver knows digits of.
  const Int factor = std::int64_t{1} << std::abs(shift_);
  return bit_xor(x, shift_ >= 0 ? floor_div(field, factor) : field * factor);
}

int detail::log2_of_unit(Int n, const std::string& swizzle) {
  if (n < 1 || (n.value() & (n.value() - 1)) != 0)
    throw LayoutError({"swizzle",
                       "recast",
                       "a swizzle needs a power of two",
                       {{"swizzle", swizzle}},
                       "unit " + to_string(n),
                       {},
                       ""});
  return std::countr_zero(static_cast<std::uint64_t>(n.value()));
}

std::string to_string(const Swizzle& s) {
  return "Sw<" + std::to_string(s.bits()) + "," + std::to_string(s.base()) + "," + std::to_string(s.shift()) +
         ">";
}

namespace {

int log2_of(Int n, const Swizzle& s) { return detail::log2_of_unit(n, to_string(s)); }

[[noreturn]] void refuse_offset(const char* operation, const ComposedLayout& l) {
  throw LayoutError({"offset",
                     operation,
                     "the composed layout has an offset",
                     {{"layout", to_string(l)}},
                     "",
                     {},
                     "add the offset outside of the layout"});
}

const Swizzle& swizzle_of(const char* operation, const ComposedLayout& l) {
  if (!l.swizzle())
    throw LayoutError(
        {"outer", operation, "the outer part is not a swizzle", {{"layout", to_string(l)}}, "", {}, ""});
  return *l.swizzle();
}

} // namespace

// A shift to the left reads low bits. Those that tell the elements of a unit apart would then be exchanged onto the unit's own number: its
// elements go to different units, and there is no swizzle of units that does it. (CuTe returns one.)
Swizzle upcast(const Swizzle& s, Int n) {
  const int k = log2_of(n, s);
  const int read = std::min(s.base() + s.bits(), k) - 1; // the topmost of them that is read
  if (!s.is_identity() && s.shift() < 0 && s.base() < k && read - s.shift() >= k)
    throw LayoutError({"swizzle",
                       "upcast",
                       "the swizzle takes the elements of a unit apart",
                       {{"swizzle", to_string(s)}},
                       "bit " + std::to_string(read) + ", which is inside a unit of " + to_string(n) +
                           ", is exchanged onto bit " + std::to_string(read - s.shift()),
                       {},
                       "units of at most 2^base = " + std::to_string(std::uint64_t{1} << s.base()) +
                           " elements stay whole"});
  if (s.base() >= k) return {s.bits(), s.base() - k, s.shift()};
  return {std::max(s.bits() - (k - s.base()), 0), 0, s.shift()};
}
Swizzle downcast(const Swizzle& s, Int n) { return {s.bits(), s.base() + log2_of(n, s), s.shift()}; }

Swizzle composition(const Swizzle& a, const Swizzle& b) {
  if (a.is_identity()) return b;
  if (b.is_identity()) return a;
  const auto fail = [&](const char* why) {
    throw LayoutError(
        {"swizzle", "composition", why, {{"left", to_string(a)}, {"right", to_string(b)}}, "", {}, ""});
  };
  if (a.shift() != b.shift()) fail("swizzles with different shifts do not make one swizzle");
  const std::uint64_t source = a.source_mask() ^ b.source_mask();
  const std::uint64_t target = a.target_mask() ^ b.target_mask();
  if (source == 0) return {};
  if (!fault_of(source, target).empty()) fail("the two exchanges do not make one swizzle");
  const Swizzle s = Swizzle::from_masks(source, target);
  for (int bit = 0; bit < 62; ++bit) { // linear: the basis decides
    const Int x = std::int64_t{1} << bit;
    if (s(x) != a(b(x))) fail("the two exchanges do not make one swizzle");
  }
  return s;
}

namespace {

template <class S>
std::string composed_text(const BasicComposedLayout<S>& l) {
  const std::string outer = std::visit([](const auto& f) { return to_string(f); }, l.outer());
  const std::string offset = to_string(l.offset());
  return outer + " o " + offset + " o " + to_string(l.inner());
}

Swizzle read_swizzle(detail::TextReader& in) {
  const std::size_t start = in.position();
  const auto small = [&] {
    const Int n = in.signed_number();
    if (n < -62 || n > 62) in.fail_at(start, "a field of a swizzle lies beyond 62 bits");
    return static_cast<int>(n.value());
  };
  if (!in.accept("Swizzle<") && !in.accept("Sw<") && !in.accept("S<")) in.fail("'Sw<'");
  const int bits = small();
  in.expect(',');
  const int base = small();
  in.expect(',');
  const int shift = small();
  in.expect('>');
  if (in.accept('{')) in.expect('}'); // Swizzle<3,4,3>{}
  return {bits, base, shift};
}

} // namespace

std::string to_string(const ComposedLayout& l) { return composed_text(l); }
std::string to_string(const SymComposedLayout& l) { return composed_text(l); }
std::ostream& operator<<(std::ostream& out, const ComposedLayout& l) { return out << to_string(l); }

Swizzle parse_swizzle(std::string_view text) {
  detail::TextReader in(text, "parse swizzle");
  const Swizzle s = read_swizzle(in);
  in.finish();
  return s;
}

ComposedLayout parse_composed_layout(std::string_view text) {
  detail::TextReader in(text, "parse composed layout");
  ComposedLayout::Outer outer;
  if (in.peek() == 'S') {
    outer = read_swizzle(in);
  } else {
    const Layout l = detail::read_layout(in);
    if (in.peek() == '\0') return {Swizzle(), 0, l};
    outer = l;
  }
  in.expect('o');
  const Int offset = in.signed_number();
  in.expect('o');
  const Layout inner = detail::read_layout(in);
  in.finish();
  return {outer, offset, inner};
}

SymComposedLayout parse_sym_composed_layout(SymContext& context, std::string_view text) {
  detail::TextReader in(text, "parse composed layout");
  (void)in.peek();
  const std::string_view rest = text.substr(in.position());
  bool swizzle = false;
  for (const std::string_view prefix : {"Sw<", "S<", "Swizzle<"})
    swizzle |= rest.substr(0, prefix.size()) == prefix;
  if (!swizzle) return {Swizzle(), 0, parse_sym_layout(context, text)};
  const Swizzle s = read_swizzle(in);
  in.expect('o');
  const std::size_t offset_at = in.position();
  const std::size_t end = text.find(" o ", offset_at);
  if (end == std::string_view::npos) in.fail("an offset and ' o '");
  const Sym offset = parse_sym(context, text.substr(offset_at, end - offset_at));
  return {s, offset, parse_sym_layout(context, text.substr(end + 3))};
}

ComposedLayout composition(const ComposedLayout& a, const Layout& b) {
  return a.with_inner(composition(a.inner(), b));
}
ComposedLayout composition(const ComposedLayout& a, const Tile& t) {
  return a.with_inner(composition(a.inner(), t));
}

namespace {

constexpr std::int64_t enumerable = std::int64_t{1} << 20;

// The bits that values of l have; all bits where there are too many values to look at.
std::uint64_t bits_of(const ComposedLayout& l) {
  std::uint64_t bits = 0;
  if (const auto matrix = BitMatrix::of(l)) {
    for (std::size_t k = 0; k < matrix->columns(); ++k) bits |= matrix->column(k);
    return bits;
  }
  if (l.size() > enumerable) return ~std::uint64_t{0};
  for (Int i = 0; i < l.size(); i += 1) bits |= static_cast<std::uint64_t>(l(i).value());
  return bits;
}

Int lowest_source(const Swizzle& s) { return s.source_mask() & (~s.source_mask() + 1); }

// s' with a(s(y)) = s'(a(y)) for every value y of `at`: a carries the masks of s to those of s'. Beyond its size a
// goes on as its last mode does, as in every composition.
Swizzle carried(const Layout& a, const Swizzle& s, const ComposedLayout& at) {
  if (s.is_identity() || (bits_of(at) & s.source_mask()) == 0) return {};
  const auto fail = [&](const std::string& where) {
    throw LayoutError({"swizzle",
                       "composition",
                       "the layout does not carry the swizzle to a swizzle",
                       {{"left", to_string(a)}, {"right", to_string(s)}},
                       where,
                       {},
                       ""});
  };
  const Int source = a(static_cast<std::int64_t>(s.source_mask()));
  const Int target = a(static_cast<std::int64_t>(s.target_mask()));
  if (source < 0 || target < 0) fail("masks become negative");
  if (const std::string fault =
          fault_of(static_cast<std::uint64_t>(source.value()), static_cast<std::uint64_t>(target.value()));
      !fault.empty())
    fail("its masks become " + to_string(source) + " and " + to_string(target) + ": " + fault);
  const Swizzle t = Swizzle::from_masks(static_cast<std::uint64_t>(source.value()),
                                        static_cast<std::uint64_t>(target.value()));
  const auto check = [&](Int y) {
    if (a(s(y)) != t(a(y))) fail("at index " + to_string(y));
  };
  const auto matrix = BitMatrix::of(at);
  const bool linear = matrix && BitMatrix::of(a) && [&] { // and inside, where a is linear
    for (std::size_t k = 0; k < matrix->columns(); ++k)
      if (Int(matrix->column(k)) >= a.size() || s(Int(matrix->column(k))) >= a.size()) return false;
    return true;
  }();
  if (linear) {
    for (std::size_t k = 0; k < matrix->columns(); ++k) check(Int(matrix->column(k)));
  } else if (at.size() <= enumerable) {
    for (Int i = 0; i < at.size(); i += 1) check(at(i));
  } else {
    fail("not linear over bits, and more than " + std::to_string(enumerable) + " elements");
  }
  return t;
}

ComposedLayout plain(const Layout& l) { return {Swizzle(), 0, l}; }

// The largest n <= end for which s keeps 0..n-1 below `end`.
Int kept_below(const Swizzle& s, Int end) {
  if (s.is_identity()) return end;
  const bool power = std::has_single_bit(static_cast<std::uint64_t>(end.value()));
  if (!power && end > enumerable && lowest_source(s) < end)
    throw LayoutError({"swizzle",
                       "right_inverse",
                       "more than " + std::to_string(enumerable) + " elements, and no power of two",
                       {{"swizzle", to_string(s)}},
                       to_string(end) + " elements",
                       {},
                       ""});
  for (Int i = lowest_source(s); i < end;
       i = power ? i * 2 : i + 1) // alone, a bit is the least that is moved
    if (s(i) >= end) return i;
  return end;
}

} // namespace

ComposedLayout composition(const Layout& a, const Swizzle& b) {
  if (b.is_identity() || a.size() <= lowest_source(b)) return plain(a);
  return {carried(a, b, plain(Layout(a.size(), 1))), 0, a};
}

ComposedLayout composition(const Layout& a, const ComposedLayout& b) {
  if (b.offset() != 0) refuse_offset("composition", b);
  const Layout inner = composition(a, b.inner());
  return {carried(a, swizzle_of("composition", b), plain(b.inner())), 0, inner};
}

ComposedLayout right_inverse(const ComposedLayout& l) {
  if (l.offset() != 0) refuse_offset("right_inverse", l);
  const Swizzle& s = swizzle_of("right_inverse", l);
  const Layout r = right_inverse(l.inner());
  const Int n = kept_below(s, r.size()); // past these, r(s(i)) is no index of l
  return n == r.size() ? composition(r, s) : composition(r, ComposedLayout(s, 0, Layout(n, 1)));
}

ComposedLayout left_inverse(const ComposedLayout& l) {
  if (l.offset() != 0) refuse_offset("left_inverse", l);
  const Swizzle& s = swizzle_of("left_inverse", l);
  Layout r = left_inverse(l.inner());
  Int end = r.size(); // past the values of l
  if (l.size() <= enumerable) {
    for (Int i = 0; i < l.size(); i += 1) end = max(end, l(i) + 1);
  } else if (BitMatrix::of(l)) {
    end = max(end, Int(bits_of(l)) + 1);
  }
  if (end > r.size()) { // values that the swizzle alone makes: a digit of their own, which r does not reach
    const Int stride = r.cosize() == r.size()
                           ? r.size()
                           : Int(std::bit_ceil(static_cast<std::uint64_t>(r.cosize().value())));
    const Layout parts[] = {r, Layout(ceil_div(end, r.size()), stride)};
    r = coalesce(concatenate(parts));
  }
  return {carried(r, s, l), 0, r};
}

ComposedLayout upcast(const ComposedLayout& l, Int n) {
  if (n < 1 || floor_mod(l.offset(), n) != 0) refuse_offset("upcast", l);
  return {upcast(swizzle_of("upcast", l), n), floor_div(l.offset(), n), upcast(l.inner(), n)};
}
ComposedLayout downcast(const ComposedLayout& l, Int n) {
  return {downcast(swizzle_of("downcast", l), n), l.offset() * n, downcast(l.inner(), n)};
}

Int max_common_vector(const ComposedLayout& a, const ComposedLayout& b) {
  Int n = max_common_vector(a.inner(), b.inner());
  if (a.outer() == b.outer() && a.offset() == b.offset()) return n;
  for (const ComposedLayout* side : {&a, &b}) {
    const Swizzle& s = swizzle_of("max_common_vector", *side);
    if (!s.is_identity()) n = min(n, std::int64_t{1} << s.base());
  }
  return n;
}

ComposedLayout slice(const Coordinate& c, const ComposedLayout& l) {
  const auto [rest, offset] = slice_and_offset(c, l.inner());
  return {l.outer(), l.offset() + offset, rest};
}

BitMatrix::BitMatrix(std::span<const std::uint64_t> columns) : count_(columns.size()) {
  if (columns.size() > 63) detail::throw_limit("columns of a bit matrix", columns.size(), 63);
  std::copy(columns.begin(), columns.end(), columns_.begin());
}

BitMatrix BitMatrix::identity(std::size_t n) { return of(Swizzle(), n); }

BitMatrix BitMatrix::of(const Swizzle& s, std::size_t n) {
  SmallVector<std::uint64_t, 64> columns;
  for (std::size_t k = 0; k < n && k < 63; ++k)
    columns.push_back(static_cast<std::uint64_t>(s(Int(std::int64_t{1} << k)).value()));
  return BitMatrix(columns.span());
}

std::optional<BitMatrix> BitMatrix::of(const Layout& l) {
  SmallVector<std::uint64_t, 64> columns;
  std::uint64_t used = 0;
  for (const Mode& m : l.modes()) {
    const std::int64_t extent = m.extent.value();
    if (extent == 1) continue;
    if ((extent & (extent - 1)) != 0 || m.stride.is_basis() || m.stride.scale < 0) return std::nullopt;
    for (std::int64_t step = 1; step < extent; step *= 2) {
      std::int64_t weight = 0;
      if (columns.size() >= 63 || __builtin_mul_overflow(m.stride.scale.value(), step, &weight))
        return std::nullopt;
      const auto bits = static_cast<std::uint64_t>(weight);
      if ((used & bits) != 0) return std::nullopt; // a carry
      used |= bits;
      columns.push_back(bits);
    }
  }
  return BitMatrix(columns.span());
}

std::optional<BitMatrix> BitMatrix::of(const ComposedLayout& l) {
  if (!l.swizzle() || l.offset() != 0) return std::nullopt;
  auto m = of(l.inner());
  if (!m) return m;
  for (std::size_t k = 0; k < m->count_; ++k) {
    if (m->columns_[k] >> 62) return std::nullopt;
    m->columns_[k] = static_cast<std::uint64_t>((*l.swizzle())(Int(m->columns_[k])).value());
  }
  return m;
}

std::uint64_t BitMatrix::operator()(std::uint64_t index) const {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < count_; ++k)
    if ((index >> k) & 1) sum ^= columns_[k];
  return sum;
}

std::size_t BitMatrix::rank_in(std::uint64_t mask) const {
  std::array<std::uint64_t, 64> pivot{};
  std::size_t n = 0;
  for (std::size_t k = 0; k < count_; ++k) {
    std::uint64_t v = columns_[k] & mask;
    while (v != 0) {
      const auto top = static_cast<std::size_t>(63 - std::countl_zero(v));
      if (pivot[top] == 0) {
        pivot[top] = v;
        ++n;
        break;
      }
      v ^= pivot[top];
    }
  }
  return n;
}
std::size_t BitMatrix::rank() const { return rank_in(~std::uint64_t{0}); }

BitMatrix BitMatrix::after(const BitMatrix& first) const {
  BitMatrix r;
  r.count_ = first.count_;
  for (std::size_t k = 0; k < first.count_; ++k) {
    if ((first.columns_[k] >> count_) != 0)
      throw LayoutError(
          {"rank", "bit matrix", "the first map leaves the domain of the second", {}, "", {}, ""});
    r.columns_[k] = (*this)(first.columns_[k]);
  }
  return r;
}

std::optional<BitMatrix> BitMatrix::inverse() const {
  // Gauss-Jordan on the columns, the same steps on the identity.
  BitMatrix a = *this;
  BitMatrix r = identity(count_);
  for (std::size_t bit = 0; bit < count_; ++bit) {
    std::size_t p = bit;
    while (p < count_ && ((a.columns_[p] >> bit) & 1) == 0) ++p;
    if (p == count_ || (a.columns_[p] >> count_) != 0) return std::nullopt;
    std::swap(a.columns_[p], a.columns_[bit]);
    std::swap(r.columns_[p], r.columns_[bit]);
    for (std::size_t k = 0; k < count_; ++k)
      if (k != bit && ((a.columns_[k] >> bit) & 1) != 0) {
        a.columns_[k] ^= a.columns_[bit];
        r.columns_[k] ^= r.columns_[bit];
      }
  }
  return r;
}

std::optional<Layout> BitMatrix::layout() const {
  std::uint64_t used = 0;
  SmallVector<Mode, 8> modes;
  for (std::size_t k = 0; k < count_; ++k) {
    if ((used & columns_[k]) != 0 || (columns_[k] >> 63) != 0) return std::nullopt;
    used |= columns_[k];
    const Int weight(columns_[k]);
    if (!modes.empty() && modes.back().stride.scale * modes.back().extent == weight) {
      modes.back().extent *= 2;
    } else {
      modes.push_back({2, Stride(weight)});
    }
  }
  TupleBuilder<Mode> b;
  if (modes.size() == 1) {
    b.leaf(modes[0]);
  } else if (modes.empty()) {
    return Layout();
  } else {
    const std::size_t at = b.open();
    for (const Mode& m : modes) b.leaf(m);
    b.close(at, modes.size());
  }
  return Layout(std::move(b).finish());
}

std::string to_string(const BitMatrix& m) {
  std::string out = "[";
  for (std::size_t k = 0; k < m.columns(); ++k) out += (k ? "," : "") + std::to_string(m.column(k));
  return out + "]";
}

BitMatrix parse_bit_matrix(std::string_view text) {
  detail::TextReader in(text, "parse bit matrix");
  SmallVector<std::uint64_t, 64> columns;
  in.expect('[');
  if (!in.accept(']')) {
    do {
      columns.push_back(static_cast<std::uint64_t>(in.number().value()));
      if (columns.size() > 63) detail::throw_limit("columns of a bit matrix", columns.size(), 63);
    } while (in.accept(','));
    in.expect(']');
  }
  in.finish();
  return BitMatrix(columns.span());
}

} // namespace inlay
