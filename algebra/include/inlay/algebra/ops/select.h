/// Choosing, grouping and rearranging modes. The same functions exist for layouts and for tuples of integers.
///
/// A leaf counts as a tuple of one mode. Errors, everywhere: `mode` (no such mode), `rank`.
#pragma once

#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

#include <vector>

namespace inlay {

using Indices = std::span<const std::size_t>;

#define INLAY_MODE_OPERATIONS(T)                                                                             \
  [[nodiscard]] T concatenate(std::span<const T> modes);                                                     \
  [[nodiscard]] T select(const T& tuple, Indices indices);                                                   \
  [[nodiscard]] T get(const T& tuple, Indices path);                                                         \
  [[nodiscard]] T take(const T& tuple, std::size_t begin, std::size_t end);                                  \
  [[nodiscard]] T group(const T& tuple, std::size_t begin, std::size_t end);                                 \
  [[nodiscard]] T append(const T& tuple, const T& mode);                                                     \
  [[nodiscard]] T prepend(const T& tuple, const T& mode);                                                    \
  [[nodiscard]] T append(const T& tuple, std::size_t rank, const T& mode);                                   \
  [[nodiscard]] T prepend(const T& tuple, std::size_t rank, const T& mode);                                  \
  [[nodiscard]] T replace(const T& tuple, std::size_t index, const T& mode);                                 \
  [[nodiscard]] T zip(const T& tuple);                                                                       \
  [[nodiscard]] T slice(const Coordinate& coordinate, const T& tuple);                                       \
  [[nodiscard]] T dice(const Coordinate& coordinate, const T& tuple);

/// concatenate: the tuple of these modes. `concatenate({4:1, 8:4}) = (4,8):(1,4)`.
/// select: modes by number, repeats allowed. `select((2,3,5):(1,2,6), {2,0}) = (5,2):(6,1)`.
/// get: the part at a path. `get(((2,2),3):((24,2),8), {0,1}) = 2:2`.
/// take: modes [begin, end), at least one. `take((2,3,5):(1,2,6), 1, 3) = (3,5):(2,6)`.
/// group: modes [begin, end) as one nested mode. `group((2,3,5):(1,2,6), 0, 2) = ((2,3),5):((1,2),6)`.
/// append, prepend: one mode more, or as many copies as make the rank. `append(4:1, 2:4) = (4,2):(1,4)`.
/// replace: one mode exchanged. zip: `((a,b),(c,d))` becomes `((a,c),(b,d))`.
/// slice: the parts at `_`. `slice((_,2), (4,8):(1,4)) = (4):(1)`. dice: the parts at integers.
INLAY_MODE_OPERATIONS(Layout)
INLAY_MODE_OPERATIONS(SymLayout)
INLAY_MODE_OPERATIONS(IntTuple)
#undef INLAY_MODE_OPERATIONS

/// What is left when a coordinate is fixed: the layout of the free parts and the offset of the fixed ones.
template <class L, class S>
struct Sliced {
  L layout;
  S offset;
};
/// `slice_and_offset((_,2), (4,8):(1,4)) = {(4):(1), 8}`: slice(c, L)(x) + offset = L(c with _ replaced by
/// x). Law: slice.
[[nodiscard]] Sliced<Layout, Int> slice_and_offset(const Coordinate& coordinate, const Layout& layout);
[[nodiscard]] Sliced<SymLayout, Sym> slice_and_offset(const Coordinate& coordinate, const SymLayout& layout);

} // namespace inlay
