#include "host_calls.h"

#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace inlay::runtime::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 slots_bytes = 64 * 8 * 8; ///< of a packet: eight words a lane
constexpr u32 print_service = 2;
/// A message comes in parts, each with this descriptor in its first word.
constexpr u64 is_first = 1, is_last = 2;
u64 words_of(u64 descriptor) { return descriptor >> 5 & 7; }
u64 number_of(u64 descriptor) { return descriptor >> 8; }

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  std::string text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, again);
  va_end(arguments), va_end(again);
  text.pop_back();
  return text;
}

/// An integer argument, cut to what the length (`hh`, `h`, none, `l` and longer) says.
u64 cut(u64 value, std::string_view length, bool with_sign) {
  const unsigned bits = length == "hh" ? 8 : length == "h" ? 16 : length.empty() ? 32 : 64;
  const u64 low = value << (64 - bits);
  return with_sign ? static_cast<u64>(static_cast<std::int64_t>(low) >> (64 - bits)) : low >> (64 - bits);
}

} // namespace

struct HostCalls::Header {
  u64 next, lanes;
  u32 service, control; ///< bit 0 of control: waits for an answer
};
struct HostCalls::Buffer {
  Header* headers;
  u64* slots;
  u64 doorbell, free, ready; ///< stacks: a packet's number, and above it a count that tells its uses apart
  u64 mask;
};

std::string printed(const std::vector<u64>& words) {
  std::size_t at = 0;
  const auto text = [&] {
    const char* const begin = reinterpret_cast<const char*>(words.data() + at);
    const std::string s(begin, strnlen(begin, 8 * (words.size() - at)));
    at = std::min(words.size(), at + s.size() / 8 + 1);
    return s;
  };
  if (words.empty()) return "";
  const std::string format = text();
  std::string out;
  for (std::size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      const std::size_t next = std::min(format.find('%', i), format.size());
      out.append(format, i, next - i);
      i = next;
      continue;
    }
    if (format.compare(i, 2, "%%") == 0) {
      out += '%';
      i += 2;
      continue;
    }
    // %[flags][width][.precision][length]conversion
    std::string spec = "%";
    std::string_view length;
    std::size_t k = i + 1;
    bool missing = false;
    for (; k < format.size() && std::strchr("-+ #0123456789.*", format[k]) != nullptr; ++k) {
      if (format[k] != '*') {
        spec += format[k];
        continue;
      }
      missing = missing || at == words.size();
      if (!missing) spec += std::to_string(static_cast<std::int32_t>(words[at++]));
    }
    const std::size_t first = k;
    while (k < format.size() && std::strchr("hljztqL", format[k]) != nullptr) ++k;
    length = std::string_view(format).substr(first, k - first);
    if (k == format.size() || missing || at == words.size()) return out;
    const char conversion = format[k];
    i = k + 1;
    const char* const f =
        (spec += std::strchr("diouxX", conversion) != nullptr ? std::string("ll") + conversion
                                                              : std::string(1, conversion))
            .c_str();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    switch (conversion) {
    case 'd':
    case 'i': out += formatted(f, static_cast<long long>(cut(words[at++], length, true))); break;
    case 'o':
    case 'u':
    case 'x':
    case 'X': out += formatted(f, static_cast<unsigned long long>(cut(words[at++], length, false))); break;
    case 'c': out += formatted(f, static_cast<int>(words[at++])); break;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': out += formatted(f, std::bit_cast<double>(words[at++])); break;
    case 's': out += formatted(f, text().c_str()); break;
    case 'p': out += formatted(f, reinterpret_cast<void*>(words[at++])); break;
    case 'n': ++at; break;
    default: return out;
    }
#pragma GCC diagnostic pop
  }
  return out;
}

HostCalls::HostCalls(MemoryMap& memory, u64 waves, Print print) : memory_(memory), print_(std::move(print)) {
  // As many packets as a device holds waves: 304 compute units of 32.
  const u64 packets = std::bit_ceil(std::min<u64>(std::max<u64>(waves, 2), 16384));
  const u64 doorbell = 64, headers = 128, slots = (headers + packets * sizeof(Header) + 4095) / 4096 * 4096;
  at_ = memory_.allocate(slots + packets * slots_bytes, false);
  memory_.find(at_)->of_host = true;
  auto* const b = reinterpret_cast<Buffer*>(at_);
  b->headers = reinterpret_cast<Header*>(at_ + headers);
  b->slots = reinterpret_cast<u64*>(at_ + slots);
  b->doorbell = at_ + doorbell;
  *reinterpret_cast<u64*>(b->doorbell) =
      1; // a signal's kind: of the user; without a mailbox that would want a message
  b->mask = packets - 1;
  // No entry of a stack is 0: packet 0 has been used once.
  u64 top = packets;
  for (u64 p = 1; p < packets; ++p) {
    b->headers[p].next = top;
    top = p;
  }
  b->free = top;
}

bool HostCalls::answer() {
  const std::lock_guard lock(mutex_);
  auto* const b = reinterpret_cast<Buffer*>(at_);
  std::vector<u64> ready;
  for (u64 p = __atomic_exchange_n(&b->ready, 0, __ATOMIC_ACQUIRE); p != 0; p = b->headers[p & b->mask].next)
    ready.push_back(p & b->mask);
  for (auto p = ready.rbegin(); p != ready.rend(); ++p) {
    Header& h = b->headers[*p];
    for (u64 lanes = h.lanes; lanes != 0; lanes &= lanes - 1)
      answer_lane(h.service, b->slots + *p * slots_bytes / 8 + 8 * std::countr_zero(lanes));
    __atomic_and_fetch(&h.control, ~1U, __ATOMIC_RELEASE);
  }
  return !ready.empty();
}

void HostCalls::answer_lane(u32 service, u64* slot) {
  if (service != print_service)
    throw std::invalid_argument("the kernel asks the host for service " + std::to_string(service) +
                                (service == 3   ? " (malloc and free on the device)"
                                 : service == 1 ? " (a function of the host)"
                                                : "") +
                                "; printf is offered here, and nothing else");
  u64 descriptor = slot[0];
  if ((descriptor & is_first) != 0) {
    if (free_.empty()) free_.push_back(messages_.size()), messages_.emplace_back();
    descriptor = (descriptor & 0xfeU) | free_.back() << 8;
    free_.pop_back();
  }
  const u64 number = number_of(descriptor);
  if (number >= messages_.size())
    throw std::invalid_argument("the kernel goes on with message " + std::to_string(number) +
                                " to the host, which it has not begun");
  std::vector<u64>& all = messages_[number];
  all.insert(all.end(), slot + 1, slot + 1 + words_of(descriptor));
  slot[0] = descriptor;
  if ((descriptor & is_last) == 0) return;
  // Bit 0 of the first word: stderr.
  const bool to_stderr = !all.empty() && (all[0] & 1) != 0;
  const std::string text = all.empty() ? "" : printed({all.begin() + 1, all.end()});
  slot[0] = text.size();
  all.clear();
  free_.push_back(number);
  if (!text.empty()) print_(text, to_stderr);
}

} // namespace inlay::runtime::emulator
