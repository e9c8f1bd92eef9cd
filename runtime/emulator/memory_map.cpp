// Allocations of device memory and their lookup.
#include "memory_map.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace inlay::runtime::emulator {

namespace {

using Entry = std::atomic<std::uint64_t>;

constexpr std::uint64_t from_system = std::uint64_t{64} << 20; ///< bytes; below it calloc

std::uint64_t mapped_bytes(std::uint64_t bytes) { return bytes >= from_system ? bytes : 0; }

void free_pages(void* at, std::uint64_t mapped) {
  if (at == nullptr) return;
  if (mapped != 0) {
    munmap(at, mapped);
  } else {
    std::free(at);
  }
}

Entry* made_once(std::atomic<Entry*>& of, std::uint64_t count) {
  Entry* entries = of.load(std::memory_order_acquire);
  if (entries != nullptr) return entries;
  static_assert(sizeof(Entry) == 8 && Entry::is_always_lock_free);
  ZeroPages pages(count * sizeof(Entry));
  auto* const made = static_cast<Entry*>(pages.get());
  if (of.compare_exchange_strong(entries, made, std::memory_order_acq_rel)) {
    static_cast<void>(pages.release());
    return made;
  }
  return entries; // another thread was first
}

void forget(std::atomic<Entry*>& of, std::uint64_t count) {
  free_pages(of.exchange(nullptr), mapped_bytes(count * sizeof(Entry)));
}

} // namespace

ZeroPages::ZeroPages(std::uint64_t bytes) : mapped_(mapped_bytes(bytes)) {
  if (mapped_ == 0) {
    at_ = std::calloc(bytes, 1);
    if (at_ == nullptr && bytes != 0) throw std::bad_alloc();
    return;
  }
  at_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at_ != MAP_FAILED) return;
  at_ = nullptr;
  throw std::bad_alloc();
}

ZeroPages::~ZeroPages() { free_pages(at_, mapped_); }

Entry* Allocation::writer_entries() { return made_once(writers, 18 * writer_lines()); }
Entry* Allocation::reader_entries() { return made_once(readers, 34 * writer_lines()); }

void Allocation::forget_accesses() {
  forget(writers, 18 * writer_lines());
  forget(readers, 34 * writer_lines());
}

Allocation::~Allocation() {
  forget_accesses();
  if (mapping != nullptr) munmap(mapping, mapped);
}

namespace {

constexpr std::uint64_t page = 4096;

// Maps begin 1 TiB apart from 16 TiB on, where Linux puts neither programs nor what they ask for without a wish.
// From `last_slot` on Linux chooses: beyond 47 bits a wish would give addresses that no buffer descriptor holds.
constexpr std::uint64_t first_slot = std::uint64_t{1} << 44, slot_bytes = std::uint64_t{1} << 40,
                        last_slot = std::uint64_t{0x5} << 44;

std::mutex slots_mutex;
std::vector<bool> slots_taken;

std::size_t take_slot() {
  const std::lock_guard lock(slots_mutex);
  const auto free = std::find(slots_taken.begin(), slots_taken.end(), false);
  const auto slot = static_cast<std::size_t>(free - slots_taken.begin());
  if (free == slots_taken.end())
    slots_taken.push_back(true);
  else
    *free = true;
  return slot;
}

void give_back(std::size_t slot) {
  const std::lock_guard lock(slots_mutex);
  slots_taken[slot] = false;
}

} // namespace

std::uint64_t guard_of(std::uint64_t bytes) {
  return std::max<std::uint64_t>(std::uint64_t{64} << 10, (bytes + page - 1) / page * page);
}

// Of each page of the process /proc/self/pagemap has a word: bit 63 in memory, bit 62 swapped out (Linux, "pagemap").
std::vector<std::pair<std::uint64_t, std::uint64_t>> Allocation::touched() const {
  const std::uint64_t size = end - begin;
  if (mapping == nullptr) return {{0, size}}; // of somebody else
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  std::ifstream map("/proc/self/pagemap", std::ios::binary);
  std::vector<std::uint64_t> words(1 << 16);
  for (std::uint64_t at = 0; at < size; at += words.size() * page) {
    const std::uint64_t count = std::min<std::uint64_t>(words.size(), (size - at + page - 1) / page);
    map.seekg(static_cast<std::streamoff>((begin + at) / page * 8));
    map.read(reinterpret_cast<char*>(words.data()), static_cast<std::streamsize>(count * 8));
    if (!map) return {{0, size}};
    for (std::uint64_t k = 0; k < count; ++k) {
      if (words[k] >> 62 == 0) continue;
      const std::uint64_t first = at + k * page, last = std::min(first + page, size);
      if (!out.empty() && out.back().second == first) {
        out.back().second = last;
      } else {
        out.emplace_back(first, last);
      }
    }
  }
  return out;
}

MemoryMap::MemoryMap() : slot_(take_slot()), next_(first_slot + slot_ * slot_bytes) {}

MemoryMap::~MemoryMap() { give_back(slot_); }

std::uint64_t MemoryMap::allocate(std::uint64_t bytes, bool track) {
  if (bytes >= std::uint64_t{1} << 44)
    throw std::bad_alloc(); // beyond what a process can address with its guards
  const std::uint64_t guard = guard_of(bytes), inner = std::max(page, (bytes + page - 1) / page * page);
  auto made = std::make_unique<Allocation>();
  const std::uint64_t wish = next_ + inner + 2 * guard <= last_slot ? next_ : 0;
  void* const mapping =
      mmap(reinterpret_cast<void*>(wish), inner + 2 * guard, PROT_NONE, // NOLINT(performance-no-int-to-ptr)
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  next_ += inner + 2 * guard;
  made->mapping = mapping;
  made->mapped = inner + 2 * guard;
  made->begin = reinterpret_cast<std::uint64_t>(mapping) + guard;
  made->end = made->begin + bytes;
  if (mprotect(reinterpret_cast<void*>(made->begin), inner, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc();
  if (track) {
    made->written.assign(bytes / 64 + 1);
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
