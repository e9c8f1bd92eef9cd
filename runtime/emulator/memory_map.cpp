// Allocations of device memory and their lookup.
#include "memory_map.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace inlay::runtime::emulator {

std::atomic<std::uint64_t>* Allocation::writer_entries() {
  using Entry = std::atomic<std::uint64_t>;
  Entry* entries = writers.load(std::memory_order_acquire);
  if (entries != nullptr) return entries;
  static_assert(sizeof(Entry) == 8 && std::atomic<std::uint64_t>::is_always_lock_free);
  auto* const made = static_cast<Entry*>(std::calloc(17 * writer_lines(), sizeof(Entry)));
  if (made == nullptr) throw std::bad_alloc();
  if (writers.compare_exchange_strong(entries, made, std::memory_order_acq_rel)) return made;
  std::free(made); // another thread was first
  return entries;
}

void Allocation::forget_writers() { std::free(writers.exchange(nullptr)); }

std::uint64_t MemoryMap::allocate(std::uint64_t bytes, bool track) {
  constexpr std::uint64_t alignment = 256;
  auto made = std::make_unique<Allocation>();
  made->storage = std::make_unique<std::uint8_t[]>(bytes + alignment);
  const auto raw = reinterpret_cast<std::uint64_t>(made->storage.get());
  made->begin = (raw + alignment - 1) / alignment * alignment;
  made->end = made->begin + bytes;
  if (track) {
    made->written.assign(bytes / 64 + 1, 0);
  }
  const std::uint64_t address = made->begin;
  const auto at = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                   [](std::uint64_t a, const auto& range) { return a < range->begin; });
  ranges_.insert(at, std::move(made));
  bytes_ += bytes;
  return address;
}

bool MemoryMap::release(std::uint64_t address) {
  Allocation* found = find(address);
  if (found == nullptr || found->begin != address) {
    return false;
  }
  bytes_ -= found->end - found->begin;
  std::erase_if(ranges_, [&](const auto& range) { return range.get() == found; });
  return true;
}

Allocation* MemoryMap::find(std::uint64_t address) {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                      [](std::uint64_t a, const auto& range) { return a < range->begin; });
  if (after == ranges_.begin()) {
    return nullptr;
  }
  Allocation* found = std::prev(after)->get();
  return address < found->end || address == found->begin ? found : nullptr;
}

} // namespace inlay::runtime::emulator
