// Allocations of device memory and their lookup.
#include "memory_map.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace inlay::runtime::emulator {

namespace {

using Entry = std::atomic<std::uint64_t>;

Entry* made_once(std::atomic<Entry*>& of, std::uint64_t count) {
  Entry* entries = of.load(std::memory_order_acquire);
  if (entries != nullptr) return entries;
  static_assert(sizeof(Entry) == 8 && Entry::is_always_lock_free);
  auto* const made = static_cast<Entry*>(std::calloc(count, sizeof(Entry)));
  if (made == nullptr) throw std::bad_alloc();
  if (of.compare_exchange_strong(entries, made, std::memory_order_acq_rel)) return made;
  std::free(made); // another thread was first
  return entries;
}

} // namespace

Entry* Allocation::writer_entries() { return made_once(writers, 18 * writer_lines()); }
Entry* Allocation::reader_entries() { return made_once(readers, 34 * writer_lines()); }

void Allocation::forget_accesses() {
  std::free(writers.exchange(nullptr));
  std::free(readers.exchange(nullptr));
}

Allocation::~Allocation() {
  forget_accesses();
  if (mapping != nullptr) munmap(mapping, mapped);
}

namespace {

constexpr std::uint64_t page = 4096;

std::uint64_t guard_of(std::uint64_t bytes) {
  return std::max<std::uint64_t>(std::uint64_t{64} << 10, (bytes + page - 1) / page * page);
}

} // namespace

std::uint64_t MemoryMap::allocate(std::uint64_t bytes, bool track) {
  if (bytes >= std::uint64_t{1} << 44)
    throw std::bad_alloc(); // beyond what a process can address with its guards
  const std::uint64_t guard = guard_of(bytes), inner = std::max(page, (bytes + page - 1) / page * page);
  auto made = std::make_unique<Allocation>();
  void* const mapping =
      mmap(nullptr, inner + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  made->mapping = mapping;
  made->mapped = inner + 2 * guard;
  made->begin = reinterpret_cast<std::uint64_t>(mapping) + guard;
  made->end = made->begin + bytes;
  if (mprotect(reinterpret_cast<void*>(made->begin), inner, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc();
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

bool MemoryMap::adopt(std::uint64_t begin, std::uint64_t bytes) {
  if (bytes == 0 || begin + bytes < begin) return false;
  const auto at = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                                   [](std::uint64_t a, const auto& range) { return a < range->begin; });
  if (at != ranges_.end() && (*at)->begin < begin + bytes) return false;
  if (at != ranges_.begin() && (*std::prev(at))->end > begin) return false;
  auto made = std::make_unique<Allocation>();
  made->begin = begin;
  made->end = begin + bytes;
  ranges_.insert(at, std::move(made));
  bytes_ += bytes;
  return true;
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

const Allocation* MemoryMap::beside(std::uint64_t address) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                      [](std::uint64_t a, const auto& range) { return a < range->begin; });
  const Allocation* found = nullptr;
  std::uint64_t distance = 0;
  if (after != ranges_.end()) {
    found = after->get();
    distance = found->begin - address;
  }
  if (after != ranges_.begin()) {
    const Allocation* const before = std::prev(after)->get();
    if (found == nullptr || address - before->end < distance) {
      found = before;
      distance = address - before->end;
    }
  }
  return found != nullptr && distance < guard_of(found->end - found->begin) ? found : nullptr;
}

} // namespace inlay::runtime::emulator
