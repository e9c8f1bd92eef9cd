/// Device memory: ranges of host memory, each with shadow bits that say which bytes have been written.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace inlay::runtime::emulator {

/// Zeroed memory that costs what is touched of it: pages of the system, above a size from which asking for them pays.
class ZeroPages {
public:
  ZeroPages() = default;
  /// Errors: std::bad_alloc.
  explicit ZeroPages(std::uint64_t bytes);
  ZeroPages(ZeroPages&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), mapped_(std::exchange(other.mapped_, 0)) {}
  ZeroPages& operator=(ZeroPages&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  ZeroPages(const ZeroPages&) = delete;
  ZeroPages& operator=(const ZeroPages&) = delete;
  ~ZeroPages();
  [[nodiscard]] void* get() const { return at_; }
  /// Nobody frees it any more, but free_pages.
  [[nodiscard]] std::pair<void*, std::uint64_t> release() {
    return {std::exchange(at_, nullptr), std::exchange(mapped_, 0)};
  }

private:
  void* at_ = nullptr;
  std::uint64_t mapped_ = 0; ///< 0: from the heap
};

/// A bit for each of many things, zero at first.
class SparseBits {
public:
  [[nodiscard]] bool empty() const { return words_ == 0; }
  void clear() { *this = SparseBits(); }
  void assign(std::uint64_t words) {
    pages_ = ZeroPages(words * 8);
    words_ = words;
  }
  [[nodiscard]] std::uint64_t& operator[](std::uint64_t word) {
    return static_cast<std::uint64_t*>(pages_.get())[word];
  }
  [[nodiscard]] const std::uint64_t& operator[](std::uint64_t word) const {
    return static_cast<const std::uint64_t*>(pages_.get())[word];
  }

private:
  ZeroPages pages_;
  std::uint64_t words_ = 0;
};

/// One allocation; its device address is the host address of its first byte.
struct Allocation {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  void* mapping = nullptr; ///< the allocation between its guards
  std::uint64_t mapped = 0;
  /// Whose it is in a launch on several devices; -1: nobody's.
  std::int32_t device = -1;
  bool uncached = false; ///< no L2 keeps it
  bool of_host = false;  ///< the host answers in it: nobody asks in which order it is accessed
  SparseBits written;    ///< one bit a byte; empty: everything counts as written
  /// Who stored last in this launch, to each 64 bytes and to each four; nullptr until somebody did. See check_global_write.
  std::atomic<std::atomic<std::uint64_t>*> writers{nullptr};

  Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();
  /// The entries of lines, followed by the bytes of each line and by the entries of words. Made at the first call, as ZeroPages.
  [[nodiscard]] std::atomic<std::uint64_t>* writer_entries();
  /// Who loaded last, and who before that, in this launch; nullptr until somebody did. See check_global_reads.
  std::atomic<std::atomic<std::uint64_t>*> readers{nullptr};
  /// Two entries a word, followed by two of each line: of loads of the whole of it.
  [[nodiscard]] std::atomic<std::uint64_t>* reader_entries();
  [[nodiscard]] std::uint64_t readers_of_line(std::uint64_t line) const {
    return 32 * writer_lines() + 2 * line;
  }
  [[nodiscard]] std::uint64_t writer_lines() const { return (end - begin) / 64 + 1; }
  void forget_accesses();
  /// Its pages that somebody has touched, from its first byte on, as [begin, end); all of it where the system does not say.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> touched() const;

  [[nodiscard]] bool covers(std::uint64_t address, std::uint64_t bytes) const {
    return address >= begin && bytes <= end - begin && address - begin <= end - begin - bytes;
  }
  [[nodiscard]] bool is_written(std::uint64_t address, unsigned bytes) const {
    if (written.empty()) {
      return true;
    }
    std::uint64_t at = address - begin;
    const std::uint64_t last = at + bytes;
    while (at < last) {
      const std::uint64_t count = std::min<std::uint64_t>(64 - at % 64, last - at);
      const std::uint64_t mask = (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1)
                                 << (at % 64);
      if ((__atomic_load_n(&written[at / 64], __ATOMIC_RELAXED) & mask) != mask) return false;
      at += count;
    }
    return true;
  }
  void mark_written(std::uint64_t address, std::uint64_t bytes) {
    if (written.empty() || bytes == 0) return;
    const std::uint64_t at = address - begin, to = at + bytes;
    const std::uint64_t first = at / 64, last = (to - 1) / 64;
    const std::uint64_t head = ~std::uint64_t{0} << (at % 64),
                        tail = ~std::uint64_t{0} >> (63 - (to - 1) % 64);
    if (first == last) return mark_bits(first, head & tail);
    mark_bits(first, head);
    mark_bits(last, tail);
    std::uint64_t all = ~std::uint64_t{0}; // as a rule they are written already
    for (std::uint64_t word = first + 1; word < last; ++word)
      all &= __atomic_load_n(&written[word], __ATOMIC_RELAXED);
    if (all == ~std::uint64_t{0}) return;
    for (std::uint64_t word = first + 1; word < last;
         ++word) // all of a word's bytes: nobody can take a bit back meanwhile
      __atomic_store_n(&written[word], ~std::uint64_t{0}, __ATOMIC_RELAXED);
  }
  /// Those of the 64 bytes from `word` times 64 on that have a bit.
  void mark_bits(std::uint64_t word, std::uint64_t mask) {
    if ((__atomic_load_n(&written[word], __ATOMIC_RELAXED) & mask) != mask)
      __atomic_fetch_or(&written[word], mask, __ATOMIC_RELAXED);
  }
};

/// How far an allocation lies from others: 64 KiB, or its own size.
[[nodiscard]] std::uint64_t guard_of(std::uint64_t bytes);

class MemoryMap {
public:
  MemoryMap();
  ~MemoryMap();
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;

  /// Zeroed memory that begins on a page; `track` keeps shadow bits. No other allocation lies nearer to it than 64 KiB, nor than its
  /// own size: an address that is off by a row belongs to nobody. The gaps are address space without memory.
  /// The same calls give the same distances between addresses in every process, and in a process with one map the same addresses,
  /// where the host has not put something else there: messages and times can be compared between runs.
  /// Errors: std::bad_alloc.
  std::uint64_t allocate(std::uint64_t bytes, bool track);
  /// Memory that lies elsewhere and is not freed here; all of it counts as written. False when it overlaps a range or is empty.
  bool adopt(std::uint64_t begin, std::uint64_t bytes);
  bool release(std::uint64_t address);
  /// The allocation that contains `address`, or nullptr.
  [[nodiscard]] Allocation* find(std::uint64_t address);
  [[nodiscard]] Allocation* find(std::uint64_t address, std::uint64_t bytes) {
    Allocation* found = find(address);
    return found != nullptr && found->covers(address, bytes) ? found : nullptr;
  }
  /// The one that ends before `address` or starts past it and is nearest, when it is nearer than its guard is wide.
  [[nodiscard]] const Allocation* beside(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// All of them, by address.
  [[nodiscard]] const std::vector<std::unique_ptr<Allocation>>& ranges() const { return ranges_; }
  /// A new launch begins.
  void forget_accesses() {
    for (const auto& range : ranges_) range->forget_accesses();
  }

private:
  std::vector<std::unique_ptr<Allocation>> ranges_; // by address
  std::uint64_t bytes_ = 0;
  std::size_t slot_;   ///< of the address space, this map's alone
  std::uint64_t next_; ///< where the next allocation is asked for
};

} // namespace inlay::runtime::emulator
