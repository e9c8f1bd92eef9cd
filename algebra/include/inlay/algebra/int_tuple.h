/// `IntTuple`: an integer, or a tuple of IntTuples: `8`, `(4,8)`, `((2,2),3)`. Shapes, coordinates and orders
/// are these.
///
/// A tuple is one `Profile` and one flat array of leaves in order, both inline up to the usual sizes. The
/// template `Tuple<T>` is the same tree over other leaves: strides, or the modes of a layout (layout.h).
/// `TupleView<T>` is a subtree by reference; loops over it visit the top-level entries, and a leaf counts as
/// one entry, itself:
///
///     for (TupleView<Int> mode : shape.view()) total *= size(mode);
///
/// Values are immutable: `TupleBuilder` writes one front to back and hands it out.
#pragma once

#include <inlay/algebra/profile.h>

namespace inlay {

template <class T>
class TupleView {
public:
  constexpr TupleView(ProfileView profile, const T* leaves) : profile_(profile), leaves_(leaves) {}

  [[nodiscard]] constexpr ProfileView profile() const { return profile_; }
  [[nodiscard]] constexpr bool is_leaf() const { return profile_.is_leaf(); }
  [[nodiscard]] constexpr std::size_t rank() const { return profile_.rank(); }
  [[nodiscard]] constexpr const T& leaf() const { return *leaves_; }
  [[nodiscard]] constexpr std::span<const T> leaves() const { return {leaves_, profile_.leaf_count()}; }
  [[nodiscard]] constexpr TupleView operator[](std::size_t i) const {
    auto it = begin();
    while (i-- > 0) ++it;
    return *it;
  }

  class Iterator {
  public:
    using value_type = TupleView;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr Iterator(const std::uint8_t* node, const T* leaves, std::size_t left)
        : node_(node), leaves_(leaves), left_(left) {}
    constexpr TupleView operator*() const { return {ProfileView(node_, detail::skip(node_)), leaves_}; }
    constexpr Iterator& operator++() {
      const std::uint8_t* next = detail::skip(node_);
      leaves_ += std::count(node_, next, detail::leaf_byte);
      node_ = next;
      --left_;
      return *this;
    }
    constexpr Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    friend constexpr bool operator==(const Iterator& a, const Iterator& b) { return a.left_ == b.left_; }

  private:
    const std::uint8_t* node_ = nullptr;
    const T* leaves_ = nullptr;
    std::size_t left_ = 0;
  };
  [[nodiscard]] constexpr Iterator begin() const {
    return is_leaf() ? Iterator(profile_.begin(), leaves_, 1)
                     : Iterator(profile_.begin() + 1, leaves_, *profile_.begin());
  }
  [[nodiscard]] constexpr Iterator end() const { return {}; }

private:
  ProfileView profile_;
  const T* leaves_;
};

/// An entry or a tuple of entries. The default is the leaf `T{}`.
template <class T>
class Tuple {
public:
  using Leaves = SmallVector<T, 8>;

  constexpr Tuple() { leaves_.push_back(T{}); }
  constexpr Tuple(T leaf) { leaves_.push_back(std::move(leaf)); } // NOLINT: an integer is an IntTuple
  constexpr explicit Tuple(TupleView<T> view) : profile_(view.profile()), leaves_(view.leaves()) {}
  /// `Tuple({2, 3})` is `(2,3)`; entries may be tuples: `IntTuple({IntTuple({2, 2}), 3})` is `((2,2),3)`.
  [[nodiscard]] static constexpr Tuple of(std::span<const Tuple> entries) {
    Tuple t;
    t.clear();
    t.profile_.close(t.profile_.open(), entries.size());
    for (const Tuple& e : entries) {
      t.profile_.append(e.profile_.view());
      t.leaves_.append(e.leaves_.span());
    }
    t.profile_.check();
    return t;
  }
  [[nodiscard]] static constexpr Tuple of(std::initializer_list<Tuple> entries) {
    return of(std::span<const Tuple>(entries.begin(), entries.size()));
  }
  /// The tuple with this profile and these leaves. Requires: as many leaves as the profile has.
  [[nodiscard]] static constexpr Tuple from(Profile profile, std::span<const T> leaves) {
    if (profile.leaf_count() != leaves.size())
      detail::throw_limit("number of leaves", leaves.size(), profile.leaf_count());
    Tuple t;
    t.profile_ = std::move(profile);
    t.leaves_.clear();
    t.leaves_.append(leaves);
    return t;
  }

  [[nodiscard]] constexpr TupleView<T> view() const { return {profile_.view(), leaves_.data()}; }
  constexpr operator TupleView<T>() const { return view(); } // NOLINT: a tuple is a view of itself
  [[nodiscard]] constexpr const Profile& profile() const { return profile_; }
  [[nodiscard]] constexpr std::span<const T> leaves() const { return leaves_.span(); }
  [[nodiscard]] constexpr bool is_leaf() const { return profile_.is_leaf(); }
  [[nodiscard]] constexpr const T& leaf() const { return leaves_[0]; }
  [[nodiscard]] constexpr std::size_t rank() const { return profile_.rank(); }
  [[nodiscard]] constexpr std::size_t depth() const { return profile_.depth(); }
  [[nodiscard]] constexpr Tuple operator[](std::size_t i) const { return Tuple(view()[i]); }

  friend bool operator==(const Tuple&, const Tuple&) = default;
  friend constexpr auto operator<=>(const Tuple& a, const Tuple& b) {
    if (auto c = a.profile_ <=> b.profile_; c != 0) return std::strong_ordering(c);
    return std::strong_ordering(a.leaves_ <=> b.leaves_);
  }
  [[nodiscard]] friend constexpr std::uint64_t stable_hash(const Tuple& t) {
    std::uint64_t h = stable_hash(t.profile_);
    for (const T& leaf : t.leaves_) h = detail::mix(h, stable_hash(leaf));
    return h;
  }

private:
  template <class U>
  friend class TupleBuilder;
  constexpr void clear() {
    profile_.clear();
    leaves_.clear();
  }

  Profile profile_;
  Leaves leaves_;
};

/// Writes a tuple front to back:
///
///     TupleBuilder<Int> b;
///     auto at = b.open();          // (
///     b.leaf(2); b.append(view);   //   2, ...
///     b.close(at, 2);              // )      two entries
///     Tuple<Int> t = std::move(b).finish();
template <class T>
class TupleBuilder {
public:
  constexpr TupleBuilder() { tuple_.clear(); }
  constexpr std::size_t open() { return tuple_.profile_.open(); }
  constexpr void close(std::size_t at, std::size_t rank) { tuple_.profile_.close(at, rank); }
  constexpr void leaf(T value) {
    tuple_.profile_.leaf();
    tuple_.leaves_.push_back(std::move(value));
  }
  constexpr void append(TupleView<T> view) {
    tuple_.profile_.append(view.profile());
    tuple_.leaves_.append(view.leaves());
  }
  [[nodiscard]] constexpr std::size_t leaf_count() const { return tuple_.leaves_.size(); }
  [[nodiscard]] constexpr typename Tuple<T>::Leaves& leaves() { return tuple_.leaves_; }
  /// Writes the tuple of a given structure, where `write(leaf, number)` writes what stands for each leaf: an
  /// entry or a whole tuple.
  template <class U, class Write>
  constexpr void profile_with(ProfileView profile, std::span<const U> from, Write write) {
    std::size_t i = 0;
    for (const std::uint8_t node : profile.bytes()) {
      if (node == detail::leaf_byte) {
        write(from[i], i);
        ++i;
      } else {
        close(open(), node);
      }
    }
  }
  /// Copies a profile whose leaves follow through `leaves()`.
  constexpr void profile(ProfileView view) { tuple_.profile_.append(view); }
  /// Writes one entry for the last `n` leaves, which were written through `leaves()`: a leaf, or a flat tuple of them.
  constexpr void run(std::size_t n) {
    if (n != 1) close(open(), n);
    for (std::size_t i = 0; i < n; ++i) tuple_.profile_.leaf();
  }
  [[nodiscard]] constexpr Tuple<T> finish() && {
    tuple_.profile_.check();
    return std::move(tuple_);
  }

private:
  Tuple<T> tuple_;
};

template <class S>
using BasicIntTuple = Tuple<S>;
using IntTuple = BasicIntTuple<Int>;

/// The product of the leaves; 1 for `()`. `size(((2,2),3)) = 12`.
template <class S>
[[nodiscard]] constexpr S size(TupleView<S> shape) {
  S n = 1;
  for (const S& s : shape.leaves()) n *= s;
  return n;
}
template <class S>
[[nodiscard]] constexpr S size(const Tuple<S>& shape) {
  return size(shape.view());
}

} // namespace inlay
