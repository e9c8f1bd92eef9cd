#include <inlay/runtime/places.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <inlay/runtime/kernarg.h>

namespace inlay::runtime {

std::string place_of(std::uint64_t address, std::span<const ArgumentRange> ranges) {
  const ArgumentRange* best = nullptr;
  std::uint64_t least = 0;
  for (const ArgumentRange& r : ranges) {
    const std::uint64_t end = r.begin + r.bytes;
    const std::uint64_t distance = address < r.begin ? r.begin - address
                                   : address < end   ? 0
                                                     : address - end + 1;
    if (distance > std::max<std::uint64_t>(r.bytes, std::uint64_t{64} << 10)) continue;
    if (best == nullptr || distance < least) best = &r, least = distance;
  }
  if (best == nullptr) return "";
  const auto offset = static_cast<std::int64_t>(address - best->pointer);
  char text[80];
  std::snprintf(text, sizeof text, " %c 0x%llx of %llu bytes", offset < 0 ? '-' : '+',
                static_cast<unsigned long long>(offset < 0 ? -offset : offset),
                static_cast<unsigned long long>(best->begin + best->bytes - best->pointer));
  return best->name + text;
}

std::vector<Finding> with_places(std::vector<Finding> findings, std::span<const ArgumentRange> ranges) {
  for (Finding& f : findings) {
    if (f.memory_address == 0) continue;
    const std::string place = place_of(f.memory_address, ranges);
    if (place.empty()) continue;
    char address[24];
    std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(f.memory_address));
    const auto at = f.message.find(address);
    if (at != std::string::npos)
      f.message.replace(at, std::strlen(address), place);
    else
      f.message += ", at " + place;
  }
  return findings;
}

std::vector<ArgumentRange>
argument_ranges(const Kernel& kernel, std::span<const std::uint8_t> segment,
                const std::function<std::pair<std::uint64_t, std::uint64_t>(std::uint64_t)>& find) {
  std::vector<ArgumentRange> out;
  std::size_t number = 0;
  for (const KernelArgument& a : visible_arguments(kernel)) {
    const std::size_t n = number++;
    if (a.size != 8 || std::size_t{a.offset} + 8 > segment.size()) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, segment.data() + a.offset, 8);
    const auto [begin, bytes] = find(value);
    if (begin != 0)
      out.push_back({a.name.empty() ? "argument " + std::to_string(n) : a.name, value, begin, bytes});
  }
  return out;
}

} // namespace inlay::runtime
