#include <inlay/runtime/guarded_copies.h>

#include "emulator/memory_map.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace inlay::runtime {

namespace {
constexpr std::uint64_t page = 4096;
void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
} // NOLINT(performance-no-int-to-ptr)
} // namespace

GuardedCopies::~GuardedCopies() {
  for (const Copy& c : copies_) {
    device_.release(c.begin);
    munmap(c.mapping, c.mapped);
    device_.share(c.array.first, c.array.second - c.array.first);
  }
}

void GuardedCopies::add(MemoryRange array) {
  const std::uint64_t bytes = array.second - array.first, gap = emulator::guard_of(bytes);
  Copy c{array, 0, nullptr, bytes + 2 * gap + page};
  c.mapping =
      mmap(nullptr, c.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (c.mapping == MAP_FAILED) throw std::bad_alloc();
  c.begin = reinterpret_cast<std::uint64_t>(c.mapping) + gap + array.first % page;
  copies_.reserve(copies_.size() + 1);
  try {
    device_.release(array.first);
  } catch (...) {
    munmap(c.mapping, c.mapped);
    throw;
  }
  std::memcpy(pointer(c.begin), pointer(array.first), bytes);
  device_.share(c.begin, bytes);
  copies_.push_back(c);
}

std::uint64_t GuardedCopies::address(std::uint64_t at) const {
  for (const Copy& c : copies_)
    if (c.array.first <= at && at < c.array.second) return at - c.array.first + c.begin;
  return at;
}

void GuardedCopies::write_back() {
  for (const Copy& c : copies_) {
    const std::uint64_t bytes = c.array.second - c.array.first;
    auto* const array = static_cast<std::uint8_t*>(pointer(c.array.first));
    const auto* const copy = static_cast<const std::uint8_t*>(pointer(c.begin));
    for (std::uint64_t at = 0; at < bytes; at += page) {
      const std::uint64_t end = std::min(bytes, at + page);
      if (std::memcmp(array + at, copy + at, end - at) == 0) continue;
      for (std::uint64_t k = at; k < end; ++k)
        if (array[k] != copy[k]) array[k] = copy[k];
    }
  }
}

std::vector<MemoryRange> without_gaps(std::vector<MemoryRange> arrays, std::vector<MemoryRange> ranges) {
  const auto gap = [](const MemoryRange& r) { return emulator::guard_of(r.second - r.first); };
  const auto neighbours = [&](const MemoryRange& array) {
    return std::ranges::count_if(ranges, [&](const MemoryRange& other) {
      const std::uint64_t least = std::max(gap(array), gap(other));
      return other != array && (other.first < array.first ? array.first < other.second + least
                                                          : other.first < array.second + least);
    });
  };
  std::vector<MemoryRange> out;
  // The smallest first, of those the one with most neighbours: of three in a row the one between.
  std::ranges::sort(arrays, {},
                    [&](const MemoryRange& r) { return std::pair(r.second - r.first, -neighbours(r)); });
  for (const MemoryRange& array : arrays)
    if (neighbours(array) != 0) {
      out.push_back(array);
      std::erase(ranges, array);
    }
  return out;
}

} // namespace inlay::runtime
