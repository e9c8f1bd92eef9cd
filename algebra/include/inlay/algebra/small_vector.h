/// `SmallVector<T, N>`: a vector whose first N elements live inside it.
///
/// Layouts of up to eight leaf modes, which is nearly all of them, must not touch the heap: with
/// `std::vector` a single composition does dozens of allocations. Elements are regular values (default
/// constructible, copyable); for trivial ones the unused slots are left uninitialised, so that an empty
/// vector costs two words.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace inlay {

namespace detail {
/// Copies elements without calling memmove, which for the two or three of most calls costs more than they do.
template <class T>
constexpr void copy_few(const T* from, std::size_t n, T* to) {
  if constexpr (sizeof(T) == 1) {
    if (!std::is_constant_evaluated() && n <= 16) { // two overlapping words cover 8..16 bytes, halves 4..7
      if (n >= 8) {
        std::uint64_t first, last;
        __builtin_memcpy(&first, from, 8);
        __builtin_memcpy(&last, from + n - 8, 8);
        __builtin_memcpy(to, &first, 8);
        __builtin_memcpy(to + n - 8, &last, 8);
      } else if (n >= 4) {
        std::uint32_t first, last;
        __builtin_memcpy(&first, from, 4);
        __builtin_memcpy(&last, from + n - 4, 4);
        __builtin_memcpy(to, &first, 4);
        __builtin_memcpy(to + n - 4, &last, 4);
      } else if (n > 0) {
        to[0] = from[0];
        to[n / 2] = from[n / 2];
        to[n - 1] = from[n - 1];
      }
      return;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    // Keeps the compiler from turning the loop into the call of memmove that it is there to avoid.
    if (!std::is_constant_evaluated()) asm("" : "+r"(to));
    to[i] = from[i];
  }
}
} // namespace detail

template <class T, std::size_t N>
class SmallVector {
public:
  using value_type = T;

  constexpr SmallVector() {
    if (std::is_constant_evaluated()) // a constant may have no indeterminate part
      for (T& slot : inline_) slot = T{};
  }
  constexpr SmallVector(std::initializer_list<T> items) : SmallVector() {
    append(std::span<const T>(items.begin(), items.size()));
  }
  constexpr explicit SmallVector(std::span<const T> items) : SmallVector() { append(items); }
  constexpr SmallVector(std::size_t n, const T& item) : SmallVector() {
    reserve(n);
    for (std::size_t i = 0; i < n; ++i) push_back(item);
  }
  constexpr SmallVector(const SmallVector& other) : SmallVector() { append(other.span()); }
  constexpr SmallVector(SmallVector&& other) noexcept : SmallVector() { take(std::move(other)); }
  constexpr SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.span());
    }
    return *this;
  }
  constexpr SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      delete[] heap_;
      heap_ = nullptr;
      size_ = 0;
      capacity_ = N;
      take(std::move(other));
    }
    return *this;
  }
  constexpr ~SmallVector() { delete[] heap_; }

  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] constexpr T* data() { return heap_ ? heap_ : inline_; }
  [[nodiscard]] constexpr const T* data() const { return heap_ ? heap_ : inline_; }
  [[nodiscard]] constexpr T* begin() { return data(); }
  [[nodiscard]] constexpr T* end() { return data() + size_; }
  [[nodiscard]] constexpr const T* begin() const { return data(); }
  [[nodiscard]] constexpr const T* end() const { return data() + size_; }
  [[nodiscard]] constexpr T& operator[](std::size_t i) { return data()[i]; }
  [[nodiscard]] constexpr const T& operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] constexpr T& back() { return data()[size_ - 1]; }
  [[nodiscard]] constexpr const T& back() const { return data()[size_ - 1]; }
  [[nodiscard]] constexpr std::span<const T> span() const { return {data(), size_}; }

  constexpr void clear() { size_ = 0; }
  constexpr void pop_back() { --size_; }
  constexpr void reserve(std::size_t n) {
    if (n > capacity_) [[unlikely]]
      grow(n);
  }
  [[gnu::always_inline]] constexpr void push_back(T item) {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + std::size_t{1});
    data()[size_++] = std::move(item);
  }
  /// `items` may be a part of this vector only while capacity suffices; callers reserve first.
  constexpr void append(std::span<const T> items) {
    reserve(size_ + items.size());
    detail::copy_few(items.data(), items.size(), end());
    size_ += static_cast<std::uint32_t>(items.size());
  }
  constexpr void resize(std::size_t n) {
    reserve(n);
    for (std::size_t i = size_; i < n; ++i) data()[i] = T{};
    size_ = static_cast<std::uint32_t>(n);
  }

  friend constexpr bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend constexpr auto operator<=>(const SmallVector& a, const SmallVector& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

private:
  /// Out of line: the small path must stay small enough to be inlined.
  [[gnu::noinline]] constexpr void grow(std::size_t n) {
    const std::size_t wanted = std::max<std::size_t>(n, 2 * std::size_t{capacity_});
    T* fresh = new T[wanted]{};
    std::move(begin(), end(), fresh);
    delete[] heap_;
    heap_ = fresh;
    capacity_ = static_cast<std::uint32_t>(wanted);
  }
  constexpr void take(SmallVector&& other) {
    if (other.heap_) {
      heap_ = std::exchange(other.heap_, nullptr);
      capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
    } else {
      if constexpr (std::is_trivially_copyable_v<T>)
        detail::copy_few(other.inline_, other.size_, inline_);
      else
        std::move(other.begin(), other.end(), inline_);
    }
    size_ = std::exchange(other.size_, 0);
  }

  T* heap_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  T inline_[N];
};

} // namespace inlay
