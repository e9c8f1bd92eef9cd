/// A second hand for where accesses go and what their guards leave out, by enumeration. Private.
///
/// `AddressSplit` has one author, and claims about its formulas know how it was made. This one does not: coordinates of work-items
/// are digits of a layout, element numbers are digits of a tensor's modes, masks are compared one by one, and with what comes of it
/// are held the numbers that the hardware is given: base, offset, scalar offset, records, the two sides of each comparison.
///
///     inside along all axes       it passes, and base + step + lane + immediate is the place of the coordinate
///     outside along a masked one  it does not pass
///     outside along another one   it passes only to what is the tensor's memory
///
/// at sizes around all bounds that the program has (the least and the most of its contract, tiles and their neighbours), for the
/// first and last workgroups and trips, for the work-items nearest to each end. A symbolic claim says it for all; this says that what
/// it was said of is what is meant.
#pragma once

#include <inlay/codegen/address.h>
#include <inlay/codegen/nest.h>

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inlay::codegen::provenance {

__extension__ using Wide = __int128; // no product of two sizes and a width leaves it

class Content {
public:
  explicit Content(const Code& code);

  /// What is wrong about an access of the code, and where; nothing when it is right wherever it was looked at.
  /// Requires: `inst` is one of the code's, on memory.
  [[nodiscard]] std::optional<std::string> wrong(const Inst& inst, const AddressSplit& split);

private:
  struct Point { ///< numbers for all symbols that the program declares
    Assignment at;
    std::string text;
    std::uint64_t seed = 0;
  };
  using Digits = std::vector<std::pair<std::int64_t, std::int64_t>>; ///< extent and stride of each mode
  struct Placed {                                                    ///< a tensor at a point
    std::vector<std::int64_t> extent;
    std::vector<Digits> modes; ///< [axis]
    std::int64_t elements = 0; ///< up to past the last one
    std::int64_t offset = 0;   ///< of coordinate 0
    // Of a window: extents, strides and first coordinate of what it looks at, and its own digits.
    std::vector<std::int64_t> of, stride, origin;
    struct Digit {
      std::int64_t extent;
      int axis;
      std::int64_t step;
    };
    std::vector<std::vector<Digit>> looks;
  };
  using Home = std::pair<const CodeRegion*, int>; ///< and prologue, body or epilogue: 0, 1, 2

  const std::vector<Point>& points(const Home& home);
  const Placed& placed(const Tensor& t, const Point& point);
  struct Coordinates {                       ///< of work-items
    std::vector<std::vector<int>> at;        ///< [axis][work-item]
    std::vector<std::vector<int>> different; ///< [axis]: those that there are, each once
    std::vector<std::vector<int>> number;    ///< [axis][work-item]: which of them it is at
    std::vector<std::vector<int>> first;     ///< [axis][which of them]: the first work-item there
  };
  const Coordinates& coordinates(const Layout& threads, std::size_t axes);
  // A few work-items, other ones at each point.
  const std::vector<std::size_t>& some_of(const Point& point);
  // The element of what a window looks at that a coordinate stands for, if there is one.
  static std::optional<Wide> seen(const Placed& in, std::span<const std::int64_t> c);
  std::optional<std::string> wrong_at(const Inst& inst, const AddressSplit& split, const Point& point);

  const Code& code_;
  const Program& p_;
  std::vector<Nest> nests_ = nests_of(p_);
  std::map<const Inst*, Home> home_;
  std::vector<Point> all_;
  std::map<Home, std::vector<Point>> points_;
  std::map<std::pair<int, std::uint64_t>, Placed> placed_;
  std::deque<std::pair<Layout, Coordinates>> coordinates_;
  std::map<std::uint64_t, std::vector<std::size_t>> some_; ///< by a point's seed
  std::size_t each_ = 0;                                   ///< points that an access is looked at
  std::uint64_t next_ = 0;
};

} // namespace inlay::codegen::provenance
