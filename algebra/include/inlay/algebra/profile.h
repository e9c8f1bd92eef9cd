/// `Profile`: the shape of a tuple without its leaves.
///
/// `((2,2),3)` and `((8,1),5)` have the same profile: a pair whose first entry is a pair. It is stored as the
/// arities in preorder, one byte a node, with a byte of its own for a leaf:
///
///     ((2,2),3)   ->   2  2  leaf leaf  leaf
///     7           ->   leaf                      (4)  ->  1  leaf
///
/// Congruence of two tuples is then one comparison of a few bytes, hashing is one pass, walking needs no
/// pointers, and a rank-1 tuple `(4)` is something else than the integer `4`, as everywhere in CuTe.
///
/// Limits (an error names them): arity 254, depth 32, 4096 leaves.
#pragma once

#include <inlay/algebra/int.h>
#include <inlay/algebra/small_vector.h>

namespace inlay {

inline constexpr std::size_t max_rank = 254;
inline constexpr std::size_t max_depth = 32;
inline constexpr std::size_t max_leaves = 4096;

namespace detail {
inline constexpr std::uint8_t leaf_byte = 255;
[[noreturn]] void throw_limit(std::string_view what, std::size_t value, std::size_t limit);

/// The first byte after the subtree that starts at `node`.
[[nodiscard]] constexpr const std::uint8_t* skip(const std::uint8_t* node) {
  for (std::size_t pending = 1; pending > 0; ++node) {
    --pending;
    if (*node != leaf_byte) pending += *node;
  }
  return node;
}
} // namespace detail

/// A subtree of a profile, by reference.
class ProfileView {
public:
  constexpr ProfileView(const std::uint8_t* first, const std::uint8_t* last) : first_(first), last_(last) {}

  [[nodiscard]] constexpr bool is_leaf() const { return *first_ == detail::leaf_byte; }
  /// The number of modes; a leaf counts as one mode.
  [[nodiscard]] constexpr std::size_t rank() const { return is_leaf() ? 1 : *first_; }
  /// 0 for a leaf, else one more than the deepest entry.
  [[nodiscard]] constexpr std::size_t depth() const {
    SmallVector<std::uint8_t, max_depth + 1> pending; // entries still to come, per open tuple
    std::size_t deepest = 0;
    for (const std::uint8_t* b = first_; b != last_; ++b) {
      if (*b != detail::leaf_byte) {
        pending.push_back(*b);
        deepest = std::max(deepest, pending.size());
        if (*b != 0) continue;
        pending.pop_back();
      }
      while (!pending.empty() && --pending.back() == 0) pending.pop_back();
    }
    return deepest;
  }
  [[nodiscard]] constexpr std::size_t leaf_count() const {
    return static_cast<std::size_t>(std::count(first_, last_, detail::leaf_byte));
  }
  [[nodiscard]] constexpr const std::uint8_t* begin() const { return first_; }
  [[nodiscard]] constexpr const std::uint8_t* end() const { return last_; }
  [[nodiscard]] constexpr std::span<const std::uint8_t> bytes() const { return {first_, last_}; }

  friend constexpr bool operator==(ProfileView a, ProfileView b) {
    return std::equal(a.first_, a.last_, b.first_, b.last_);
  }

private:
  const std::uint8_t* first_;
  const std::uint8_t* last_;
};

/// The profile of a tuple; see the head of this file. Built by tuples and layouts, compared by everybody.
class Profile {
public:
  /// The profile of a lone integer.
  constexpr Profile() { bytes_.push_back(detail::leaf_byte); }
  constexpr explicit Profile(ProfileView view) : bytes_(view.bytes()) {}
  /// The profile of a tuple of `rank` leaves: `Profile::flat(2)` is that of `(4,8)`.
  [[nodiscard]] static constexpr Profile flat(std::size_t rank) {
    Profile p;
    p.bytes_.clear();
    p.close(p.open(), rank);
    for (std::size_t i = 0; i < rank; ++i) p.leaf();
    return p;
  }

  [[nodiscard]] constexpr ProfileView view() const { return {bytes_.data(), bytes_.data() + bytes_.size()}; }
  [[nodiscard]] constexpr bool is_leaf() const { return view().is_leaf(); }
  [[nodiscard]] constexpr std::size_t rank() const { return view().rank(); }
  [[nodiscard]] constexpr std::size_t depth() const { return view().depth(); }
  [[nodiscard]] constexpr std::size_t leaf_count() const { return view().leaf_count(); }
  [[nodiscard]] constexpr std::span<const std::uint8_t> bytes() const { return bytes_.span(); }

  friend constexpr bool operator==(const Profile&, const Profile&) = default;
  friend constexpr auto operator<=>(const Profile&, const Profile&) = default;
  [[nodiscard]] friend constexpr std::uint64_t stable_hash(const Profile& p) {
    std::uint64_t h = p.bytes_.size();
    for (const std::uint8_t b : p.bytes_) h = detail::mix(h, b);
    return h;
  }

private:
  template <class T>
  friend class TupleBuilder;
  template <class T>
  friend class Tuple;

  constexpr void clear() { bytes_.clear(); }
  constexpr std::size_t open() {
    bytes_.push_back(0);
    return bytes_.size() - 1;
  }
  constexpr void close(std::size_t at, std::size_t rank) {
    if (rank > max_rank) detail::throw_limit("rank", rank, max_rank);
    bytes_[at] = static_cast<std::uint8_t>(rank);
  }
  constexpr void leaf() { bytes_.push_back(detail::leaf_byte); }
  constexpr void append(ProfileView view) { bytes_.append(view.bytes()); }
  constexpr void check() const {
    if (bytes_.size() <= max_depth) return;
    if (const std::size_t n = leaf_count(); n > max_leaves)
      detail::throw_limit("number of leaves", n, max_leaves);
    if (const std::size_t n = depth(); n > max_depth) detail::throw_limit("depth", n, max_depth);
  }

  SmallVector<std::uint8_t, 24> bytes_;
};

} // namespace inlay
