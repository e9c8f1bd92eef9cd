#include "thread_value.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/lds.h>
#include <inlay/codegen/tiled_copy.h>
#include <inlay/codegen/tiled_mma.h>

namespace inlay::codegen {
namespace {

// Each mode keeps its extent; a stride along axis i becomes scale * strides[i].
template <class S>
BasicLayout<S> replace_strides(const Layout& tv, std::span<const S> strides) {
  TupleBuilder<BasicMode<S>> b;
  b.profile(tv.profile().view());
  for (const Mode& m : tv.modes()) {
    S step = 0;
    if (m.stride.is_basis()) {
      const Axis axis = m.stride.axis;
      INLAY_CHECK(axis.size() == 1 && axis[0] < strides.size(), "a stride along one axis of the tensor");
      step = S(m.stride.scale) * strides[axis[0]];
    } else {
      INLAY_CHECK(m.stride.scale == Int(0), "a basis stride");
    }
    b.leaves().push_back(BasicMode<S>{S(m.extent), BasicStride<S>(step)});
  }
  return BasicLayout<S>(std::move(b).finish());
}

int to_int(Int v) { return static_cast<int>(v.value()); }

} // namespace

SymLayout offsets(const Layout& tv, std::span<const Sym> strides) {
  return replace_strides<Sym>(tv, strides);
}
Layout offsets(const Layout& tv, std::span<const Int> strides) { return replace_strides<Int>(tv, strides); }

std::vector<Int> coordinate(const Layout& tv, Int thread, Int value, std::size_t axes) {
  std::vector<Int> out;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::vector<Int> unit(axes, Int(0));
    unit[axis] = 1;
    out.push_back(offsets(tv, unit)(IntTuple::of({thread, value})));
  }
  return out;
}

Partition::Partition(const SymLayout& tv, Sym thread) : base_(tv.mode(0)(thread)), value_(tv.mode(1)) {
  INLAY_CHECK(tv.rank() == 2, "a layout of (thread, value)");
}
Int Partition::size() const { return *value_.size().constant(); }

std::vector<int> retile(const Layout& from, const Layout& to) {
  const Int threads = from.mode(0).size(), values = from.mode(1).size();
  if (threads != to.mode(0).size() || values != to.mode(1).size())
    throw CodegenError("retile: different numbers of threads or values",
                       to_string(from) + " and " + to_string(to));
  std::vector<int> place(static_cast<std::size_t>(values.value()), -1);
  for (Int t = 0; t < threads; t += 1) {
    std::map<std::vector<Int>, int> where;
    for (Int v = 0; v < values; v += 1) where.emplace(coordinate(to, t, v), to_int(v));
    for (Int v = 0; v < values; v += 1) {
      const auto found = where.find(coordinate(from, t, v));
      int& p = place[static_cast<std::size_t>(v.value())];
      if (found == where.end() || (t > Int(0) && p != found->second))
        throw CodegenError("retile: the values of a thread cannot be renamed",
                           "thread " + to_string(t) + " value " + to_string(v) + " of " + to_string(from) +
                               "\n  in     " + to_string(to));
      p = found->second;
    }
  }
  return place;
}

int TiledCopy::instructions() const { return to_int(tv.mode(1).size()) / vector(); }

TiledCopy TiledCopy::rows(const CopyAtom& atom, Element element, int rows, int columns, int threads) {
  const int vector = atom.bits / bits(element);
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("tiled copy: " + why,
                       "tile   " + std::to_string(rows) + " x " + std::to_string(columns) + " " +
                           to_string(element) + ", " + std::to_string(threads) + " threads, " +
                           std::to_string(vector) + " elements each",
                       hint);
  };
  if (vector < 1 || columns % vector != 0) refuse("a row is not a whole number of vectors", "other columns");
  const int across = columns / vector;
  if (threads % across != 0)
    refuse("the vectors of a row do not divide the threads", "other columns or threads");
  const int down = threads / across;
  if (rows % down != 0)
    refuse("the threads do not divide the rows", "rows that are a multiple of " + std::to_string(down));
  return {atom, element,
          thread_value({{across, vector, 1}, {down, 1, 0}}, {{vector, 1, 1}, {rows / down, down, 0}})};
}

TiledMma TiledMma::of(const MfmaAtom& atom, int waves_m, int waves_n, int m, int n, int k, int k_vector) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("tiled mma: " + why,
                       "block  " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) +
                           ", " + std::to_string(waves_m) + " x " + std::to_string(waves_n) + " waves of " +
                           std::string(atom.instruction),
                       hint);
  };
  if (waves_m < 1 || waves_n < 1) refuse("no waves", "at least 1 x 1");
  if (m < 1 || m % (atom.m * waves_m) != 0)
    refuse("the waves do not divide m", "multiples of " + std::to_string(atom.m * waves_m));
  if (n < 1 || n % (atom.n * waves_n) != 0)
    refuse("the waves do not divide n", "multiples of " + std::to_string(atom.n * waves_n));
  if (k_vector % atom.operand_values() != 0)
    refuse("a lane's vector is no whole number of operands",
           "multiples of " + std::to_string(atom.operand_values()));
  const int step = k_vector * atom.lane_groups();
  if (k < 1 || k % step != 0)
    refuse("the instruction does not divide k", "multiples of " + std::to_string(step));
  return {&atom, waves_m, waves_n, m, n, k, k_vector};
}

Layout TiledMma::a() const {
  const int g = atom->lane_groups();
  return thread_value({{atom->m, 1, 0}, {g, k_vector, 1}, {waves_m, atom->m, 0}, {waves_n, 0, -1}},
                      {{k_vector, 1, 1}, {repeat_m(), atom->m * waves_m, 0}, {k_steps(), k_vector * g, 1}});
}

Layout TiledMma::b() const {
  const int g = atom->lane_groups();
  return thread_value({{atom->n, 1, 0}, {g, k_vector, 1}, {waves_m, 0, -1}, {waves_n, atom->n, 0}},
                      {{k_vector, 1, 1}, {repeat_n(), atom->n * waves_n, 0}, {k_steps(), k_vector * g, 1}});
}

// The atom's result layout with rows and columns exchanged, because the operands are.
Layout TiledMma::c() const {
  const int g = 64 / atom->n;
  return thread_value({{atom->n, 1, 0}, {g, 4, 1}, {waves_m, atom->m, 0}, {waves_n, atom->n, 1}},
                      {{4, 1, 1},
                       {atom->m / (4 * g), 4 * g, 1},
                       {repeat_m(), atom->m * waves_m, 0},
                       {repeat_n(), atom->n * waves_n, 1}});
}

// ------------------------------------------------------------------------------------------------------- LDS

LdsAddresses::LdsAddresses(const LdsTile& tile, const Layout& tv, Sym thread) : tile_(tile) {
  const Int strides[] = {tile.row_stride, 1};
  const Layout linear = offsets(tv, strides);
  thread_ = linear.mode(0);
  value_ = linear.mode(1);
  const Sym symbolic[] = {tile.row_stride, 1};
  const int size = bits(tile.element) / 8;
  base_ = tile.swizzle(offsets(tv, symbolic).mode(0)(thread)) * Sym(size);
  std::int64_t thread_bits = 0, value_bits = 0;
  for (Int t = 0; t < thread_.size(); t += 1) {
    thread_bits |= thread_(t).value();
    base_bits_ |= tile.swizzle(thread_(t)).value() * size;
  }
  for (Int v = 0; v < value_.size(); v += 1) value_bits |= value_(v).value();
  splits_ = (thread_bits & value_bits) == 0;
  if (!splits_)
    throw CodegenError("LDS addresses: threads and values share address bits",
                       "tile   " + std::to_string(tile.rows) + " x " + std::to_string(tile.columns) +
                           ", layout " + to_string(tv),
                       "extents and strides that are powers of two");
}

LdsAddresses::Address LdsAddresses::operator()(int value) const {
  const int size = bits(tile_.element) / 8;
  const std::int64_t c = tile_.swizzle(value_(Int(value))).value() * size;
  const std::int64_t shared = c & base_bits_, free = c & ~base_bits_;
  for (Int t = 0; t < thread_.size(); t += 1) {
    const std::int64_t direct = tile_.swizzle(thread_(t) + value_(Int(value))).value() * size;
    const std::int64_t split = ((tile_.swizzle(thread_(t)).value() * size) ^ shared) + free;
    INLAY_CHECK(direct == split, "split LDS address of thread " + to_string(t));
  }
  return {shared == 0 ? base_ : bit_xor(base_, Sym(shared)), static_cast<int>(free)};
}

} // namespace inlay::codegen
