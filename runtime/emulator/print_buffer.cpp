#include "print_buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace inlay::runtime::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 header_bytes = 8, all_bytes = u64{16} << 20;
constexpr u64 longest_record = 4 + 8 + 8 * 21; ///< of Program::print
constexpr u32 to_stderr = 1, constant_text = 2;
constexpr int nothing =
    0xa5; ///< bytes that nobody has written; a word of them may be one that is not there yet

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
  std::memset(reinterpret_cast<void*>(at_), nothing, all_bytes);
  const u32 header[2] = {0, static_cast<u32>(all_bytes - header_bytes)};
  std::memcpy(reinterpret_cast<void*>(at_), header, sizeof header);
}

void PrintBuffer::print(const HostCalls::Print& print, Until until) {
  u32 used = 0;
  std::memcpy(&used, reinterpret_cast<const void*>(at_), 4);
  if (used == printed_) return;
  const auto wrong = [&] {
    throw std::invalid_argument("the kernel printed what is no record, at byte " + std::to_string(printed_) +
                                " of " + std::to_string(used) + " of its hidden_printf_buffer");
  };
  if (used > all_bytes - header_bytes) wrong();
  u32 no_word = 0;
  std::memset(&no_word, nothing, sizeof no_word);
  const u64 no_words = u64{no_word} << 32 | no_word;
  std::uint8_t* const records = reinterpret_cast<std::uint8_t*>(at_ + header_bytes);
  while (printed_ < used) {
    u32 control = no_word;
    if (used - printed_ >= 4) std::memcpy(&control, records + printed_, 4);
    if (control == no_word && until != Until::end) break;
    const u64 bytes = control >> 2;
    if (bytes < 12 || bytes > used - printed_ || bytes % 8 != 4) wrong();
    std::vector<u64> words(bytes / 8);
    std::memcpy(words.data(), records + printed_ + 4, bytes - 4);
    if (until != Until::end && std::find(words.begin(), words.end(), no_words) != words.end()) break;
    if ((control & constant_text) != 0) {
      const auto text =
          std::find_if(texts_.begin(), texts_.end(), [&](const auto& t) { return t.first == words[0]; });
      if (text == texts_.end()) wrong();
      std::vector<u64> whole(text->second.size() / 8 + 1); // ended by a zero
      std::memcpy(whole.data(), text->second.data(), text->second.size());
      whole.insert(whole.end(), words.begin() + 1, words.end());
      words = std::move(whole);
    }
    printed_ += static_cast<u32>(bytes);
    print(printed(words), (control & to_stderr) != 0);
  }
  full_ = full_ || used + longest_record > all_bytes - header_bytes;
  if (printed_ == used && used > all_bytes / 2) { // nobody is about to write
    std::memset(records, nothing, used);
    std::memset(reinterpret_cast<void*>(at_), 0, 4);
    printed_ = 0;
  }
  if (until == Until::now || !full_) return;
  print("the buffer of 16 MiB for what a kernel prints was full: lines may be missing\n", true);
}

} // namespace inlay::runtime::emulator
