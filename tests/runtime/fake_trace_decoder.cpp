// A decoder of thread traces that hands over what the file holds: counts, each followed by so many records, occupancies, pairs of clocks, waves with their instructions after them. It asks
// for the text of every instruction, first with too little room, as the real one may.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {
struct Pc {
  std::uint64_t address, object;
};
struct Reader {
  const std::uint8_t* at;
  template <class T>
  T one() {
    T t;
    std::memcpy(&t, at, sizeof t);
    at += sizeof t;
    return t;
  }
  std::vector<std::uint8_t> bytes(std::uint64_t n) {
    at += n;
    return {at - n, at};
  }
};
} // namespace

extern "C" int rocprof_trace_decoder_parse_data(std::uint64_t (*more)(std::uint8_t**, std::uint64_t*, void*),
                                                int (*take)(int, void*, std::uint64_t, void*),
                                                int (*text)(char*, std::uint64_t*, std::uint64_t*, Pc, void*),
                                                void* user) {
  std::uint8_t* data = nullptr;
  std::uint64_t size = 0;
  while (more(&data, &size, user) != 0) {
    if (size < 8) return 4;
    Reader r{data};
    const auto events = r.one<std::uint64_t>();
    auto occupancy = r.bytes(events * 32);
    if (take(1, occupancy.data(), events, user) != 0) return 1;
    const auto pairs = r.one<std::uint64_t>();
    auto times = r.bytes(pairs * 24);
    take(7, times.data(), pairs, user);
    auto hertz = r.one<std::uint64_t>();
    take(8, &hertz, 1, user);
    const auto waves = r.one<std::uint64_t>();
    for (std::uint64_t w = 0; w < waves; ++w) {
      auto record = r.bytes(64);
      std::uint64_t n = 0;
      std::memcpy(&n, record.data() + 40, 8);
      auto instructions = r.bytes(n * 32);
      for (std::uint64_t i = 0; i < n; ++i) {
        Pc pc;
        std::memcpy(&pc, instructions.data() + 32 * i + 16, 16);
        char room[256];
        std::uint64_t next = 0, length = 1;
        const int status = text(room, &next, &length, pc, user);
        if (status == 3) continue; // code that nobody has
        if (status != 2 || length < 4 || length >= sizeof room || text(room, &next, &length, pc, user) != 0 ||
            next < 4)
          return 1;
      }
      const void* where = instructions.data();
      std::memcpy(record.data() + 56, &where, 8);
      take(3, record.data(), 1, user);
    }
  }
  return 0;
}
