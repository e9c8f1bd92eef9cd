#include "print_buffer.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace inlay::runtime::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 header_bytes = 8, all_bytes = u64{64} << 20;
constexpr u64 longest_record = 4 + 8 + 8 * 21; ///< of Program::print
constexpr u32 to_stderr = 1, constant_text = 2;

/// What the text of a line begins with that says its workgroup.
constexpr std::string_view with_place = "workgroup %u,%u,%u, ";

/// A text of the metadata, in which line ends are escaped.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\n")
      out += '\n', ++i;
    else
      out += text[i];
  }
  return out;
}

} // namespace

PrintBuffer::PrintBuffer(MemoryMap& memory, std::span<const std::string> texts) : memory_(memory) {
  // 0:0:1f,text
  for (const std::string& t : texts) {
    const std::size_t comma = t.find(','), colon = t.rfind(':', comma);
    if (comma == t.npos || colon == t.npos) continue;
    texts_.emplace_back(std::strtoull(t.c_str() + colon + 1, nullptr, 16), unescaped(t.substr(comma + 1)));
  }
  at_ = memory_.allocate(all_bytes, false);
  memory_.find(at_)->of_host = true;
  const u32 header[2] = {0, static_cast<u32>(all_bytes - header_bytes)};
  std::memcpy(reinterpret_cast<void*>(at_), header, sizeof header);
}

void PrintBuffer::drain(const HostCalls::Print& print, bool broken_off) {
  u32 used = 0;
  std::memcpy(&used, reinterpret_cast<const void*>(at_), 4);
  const auto wrong = [&](u64 at) {
    throw std::invalid_argument("the kernel printed what is no record, at byte " + std::to_string(at) +
                                " of " + std::to_string(used) + " of its hidden_printf_buffer");
  };
  if (used > all_bytes - header_bytes) wrong(all_bytes - header_bytes);
  struct Line {
    std::array<u64, 3> workgroup; ///< z, y, x
    std::string text;
    bool to_stderr;
  };
  std::vector<Line> lines;
  const std::uint8_t* const records = reinterpret_cast<const std::uint8_t*>(at_ + header_bytes);
  for (u64 at = 0; at < used;) {
    u32 control = 0;
    if (used - at >= 4) std::memcpy(&control, records + at, 4);
    const u64 bytes = control >> 2;
    if (bytes == 0 && broken_off) break;
    if (bytes < 12 || bytes > used - at || bytes % 8 != 4) wrong(at);
    std::vector<u64> words(bytes / 8);
    std::memcpy(words.data(), records + at + 4, bytes - 4);
    std::array<u64, 3> workgroup{};
    if ((control & constant_text) != 0) {
      const auto text =
          std::find_if(texts_.begin(), texts_.end(), [&](const auto& t) { return t.first == words[0]; });
      if (text == texts_.end()) wrong(at);
      if (text->second.starts_with(with_place) && words.size() > 3)
        workgroup = {words[3], words[2], words[1]};
      std::vector<u64> whole(text->second.size() / 8 + 1); // ended by a zero
      std::memcpy(whole.data(), text->second.data(), text->second.size());
      whole.insert(whole.end(), words.begin() + 1, words.end());
      words = std::move(whole);
    }
    lines.push_back({workgroup, printed(words), (control & to_stderr) != 0});
    at += bytes;
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.workgroup < b.workgroup; });
  for (const Line& l : lines) print(l.text, l.to_stderr);
  if (used + longest_record > all_bytes - header_bytes)
    print("the buffer of 64 MiB for what a kernel prints is full: lines may be missing\n", true);
  std::memset(reinterpret_cast<void*>(at_), 0, 4);
}

} // namespace inlay::runtime::emulator
