/// A hash table whose entries stand in one array, in the order in which they came.
///
/// What the validator keeps most of are small things by the ten thousand, made anew on every path: what is stored, what a
/// word was read as. An entry of std::unordered_map is an allocation each (a third of the time of a 256x256 GEMM went into
/// these), and its order depends on the library. Entries are never taken out one by one.
///
/// Requires: `Hash` returns 64 well mixed bits. References are valid until the next entry is made.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace inlay::kernels::validate {

/// Of numbers that are random already, or few.
struct HashNumber {
  std::size_t operator()(std::uint64_t n) const {
    n *= 0xd6e8feb86659fd93ULL;
    return n ^ (n >> 32);
  }
};

template <class Key, class Value, class Hash = HashNumber>
class Flat {
public:
  using Entry = std::pair<Key, Value>;
  using iterator = typename std::vector<Entry>::iterator;
  using const_iterator = typename std::vector<Entry>::const_iterator;

  [[nodiscard]] const_iterator begin() const { return entries_.begin(); }
  [[nodiscard]] const_iterator end() const { return entries_.end(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const_iterator find(const Key& key) const {
    if (slots_.empty()) return end();
    const Slot& s = slots_[slot_of(key, mixed(key))];
    return s.entry == 0 ? end() : begin() + (s.entry - 1);
  }
  [[nodiscard]] bool contains(const Key& key) const { return find(key) != end(); }
  /// The entry of that key, and whether it is new.
  std::pair<iterator, bool> try_emplace(const Key& key, Value value = {}) {
    if (2 * (entries_.size() + 1) > slots_.size()) grow();
    const std::uint32_t hash = mixed(key);
    Slot& s = slots_[slot_of(key, hash)];
    const bool fresh = s.entry == 0;
    if (fresh) {
      entries_.emplace_back(key, std::move(value));
      s = {hash, static_cast<std::uint32_t>(entries_.size())};
    }
    return {entries_.begin() + (s.entry - 1), fresh};
  }
  Value& operator[](const Key& key) { return try_emplace(key).first->second; }
  void clear() {
    entries_.clear();
    slots_.assign(slots_.size(), {});
  }

private:
  struct Slot {
    std::uint32_t hash = 0, entry = 0; ///< entry: its number and 1
  };
  static std::uint32_t mixed(const Key& key) { return static_cast<std::uint32_t>(Hash()(key)); }
  /// Where the key is, or would be.
  [[nodiscard]] std::size_t slot_of(const Key& key, std::uint32_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t k = hash & mask;; k = (k + 1) & mask) {
      const Slot& s = slots_[k];
      if (s.entry == 0 || (s.hash == hash && entries_[s.entry - 1].first == key)) return k;
    }
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 4 * slots_.size());
    std::swap(old, slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& s : old) {
      if (s.entry == 0) continue;
      std::size_t k = s.hash & mask;
      while (slots_[k].entry != 0) k = (k + 1) & mask;
      slots_[k] = s;
    }
  }

  std::vector<Entry> entries_;
  std::vector<Slot> slots_; ///< a power of two of them, at most half full
};

} // namespace inlay::kernels::validate
