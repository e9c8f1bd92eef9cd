// LDS and vector memory instructions against a formula each, from the chapters "DS", "MUBUF", "MTBUF" and "FLAT, SCRATCH and
// GLOBAL" of the CDNA3 and CDNA4 manuals. Where manual and LLVM differ the comment says which one is meant.
#include "differential.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace differential;

namespace {

constexpr isa::Arch archs[] = {isa::Arch::gfx942, isa::Arch::gfx950, isa::Arch::gfx90a};

// v8 (and v9) are the address, v10.. the data, v14.. the second data, v20.. the result.
constexpr unsigned address = 0, data = 2, data2 = 6, result = 12;

std::string vgpr(unsigned n, unsigned words) {
  return words == 1 ? "v" + std::to_string(8 + n)
                    : "v[" + std::to_string(8 + n) + ":" + std::to_string(8 + n + words - 1) + "]";
}

u64 load(const std::vector<u8>& from, u64 at, unsigned bytes) {
  u64 x = 0;
  if (at + bytes <= from.size()) std::memcpy(&x, from.data() + at, bytes);
  return x;
}
void store(std::vector<u8>& to, u64 at, u64 value, unsigned bytes) {
  if (at + bytes <= to.size()) std::memcpy(to.data() + at, &value, bytes);
}

// ---- numbers, by definition ------------------------------------------------------------------------------------------

/// Binary float of e exponent and m mantissa bits from an exact number: nearest, ties to even.
u32 encode(double x, int e, int m) {
  const u32 sign = std::signbit(x) ? 1U << (e + m) : 0;
  const int bias = (1 << (e - 1)) - 1;
  const u32 infinity = ((1U << e) - 1) << m;
  if (std::isnan(x)) return infinity | 1U << (m - 1);
  x = std::fabs(x);
  if (std::isinf(x)) return sign | infinity;
  if (x == 0) return sign;
  const int exponent = std::max(std::ilogb(x), 1 - bias);
  const double steps = std::nearbyint(std::ldexp(x, m - exponent));
  return sign |
         std::min(infinity, static_cast<u32>(exponent + bias - 1) * (1U << m) + static_cast<u32>(steps));
}
double decode(u32 code, int e, int m) {
  const int bias = (1 << (e - 1)) - 1;
  const int exponent = static_cast<int>(code >> m & ((1U << e) - 1));
  const double mantissa = static_cast<double>(code & ((1U << m) - 1));
  const double sign = (code >> (e + m) & 1U) != 0 ? -1 : 1;
  if (exponent == (1 << e) - 1) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(mantissa, 1 - bias - m)
                               : std::ldexp(mantissa + std::ldexp(1.0, m), exponent - bias - m));
}

// ---- atomics ---------------------------------------------------------------------------------------------------------

struct Atomic {
  const char* buffer; ///< name after buffer_atomic_, or nullptr
  const char* ds;     ///< name after ds_, with $ for _rtn, or nullptr
  unsigned words;     ///< 0: 32 bits, and 64 bits with the suffix _x2 (or 64 for 32 in the name of DS)
  bool floating;
  u64 (*of)(u64 old, u64 d, u64 e, unsigned bits); ///< e: second data
};
i64 as_signed(u64 x, unsigned bits) { return bits == 64 ? static_cast<i64>(x) : i64{static_cast<i32>(x)}; }
template <class T>
u64 float_op(u64 x, u64 y, T (*f)(T, T)) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<u32>(
        f(std::bit_cast<float>(static_cast<u32>(x)), std::bit_cast<float>(static_cast<u32>(y))));
  } else {
    return std::bit_cast<u64>(f(std::bit_cast<double>(x), std::bit_cast<double>(y)));
  }
}
u64 packed(u64 x, u64 y, int e, int m) {
  u64 r = 0;
  for (const int s : {0, 16}) {
    r |= u64{encode(decode(static_cast<u32>(x >> s) & 0xffffU, e, m) +
                        decode(static_cast<u32>(y >> s) & 0xffffU, e, m),
                    e, m)}
         << s;
  }
  return r;
}

const Atomic atomics[] = {
    {"swap", "wrxchg$_b32", 0, false, [](u64, u64 d, u64, unsigned) { return d; }},
    {"cmpswap", nullptr, 0, false, [](u64 o, u64 d, u64 e, unsigned) { return o == e ? d : o; }},
    {"add", "add$_u32", 0, false, [](u64 o, u64 d, u64, unsigned) { return o + d; }},
    {"sub", "sub$_u32", 0, false, [](u64 o, u64 d, u64, unsigned) { return o - d; }},
    {"smin", "min$_i32", 0, false,
     [](u64 o, u64 d, u64, unsigned n) { return as_signed(d, n) < as_signed(o, n) ? d : o; }},
    {"umin", "min$_u32", 0, false, [](u64 o, u64 d, u64, unsigned) { return d < o ? d : o; }},
    {"smax", "max$_i32", 0, false,
     [](u64 o, u64 d, u64, unsigned n) { return as_signed(d, n) > as_signed(o, n) ? d : o; }},
    {"umax", "max$_u32", 0, false, [](u64 o, u64 d, u64, unsigned) { return d > o ? d : o; }},
    {"and", "and$_b32", 0, false, [](u64 o, u64 d, u64, unsigned) { return o & d; }},
    {"or", "or$_b32", 0, false, [](u64 o, u64 d, u64, unsigned) { return o | d; }},
    {"xor", "xor$_b32", 0, false, [](u64 o, u64 d, u64, unsigned) { return o ^ d; }},
    {"inc", "inc$_u32", 0, false, [](u64 o, u64 d, u64, unsigned) { return o >= d ? 0 : o + 1; }},
    {"dec", "dec$_u32", 0, false, [](u64 o, u64 d, u64, unsigned) { return o == 0 || o > d ? d : o - 1; }},
    {nullptr, "rsub$_u32", 0, false, [](u64 o, u64 d, u64, unsigned) { return d - o; }},
    {nullptr, "mskor$_b32", 0, false, [](u64 o, u64 d, u64 e, unsigned) { return (o & ~d) | e; }},
    {nullptr, "cmpst$_b32", 0, false, [](u64 o, u64 d, u64 e, unsigned) { return o == d ? e : o; }},
    {nullptr, "cmpst$_f32", 1, true,
     [](u64 o, u64 d, u64 e, unsigned) {
       return std::bit_cast<float>(static_cast<u32>(o)) == std::bit_cast<float>(static_cast<u32>(d)) ? e : o;
     }},
    {nullptr, "cmpst$_f64", 2, true,
     [](u64 o, u64 d, u64 e, unsigned) {
       return std::bit_cast<double>(o) == std::bit_cast<double>(d) ? e : o;
     }},
    {nullptr, "wrap$_b32", 1, false, [](u64 o, u64 d, u64 e, unsigned) { return o >= d ? o - d : o + e; }},
    {nullptr, "condxchg32$_b64", 2, false,
     [](u64 o, u64 d, u64, unsigned) {
       for (const int s : {0, 32}) {
         if ((d >> (s + 31) & 1U) != 0) o = (o & ~(u64{0xffffffffU} << s)) | (d >> s & 0x7fffffffU) << s;
       }
       return o;
     }},
    {"add_f32", "add$_f32", 1, true,
     [](u64 o, u64 d, u64, unsigned) {
       return float_op<float>(o, d, [](float x, float y) { return x + y; });
     }},
    {"add_f64", "add$_f64", 2, true,
     [](u64 o, u64 d, u64, unsigned) {
       return float_op<double>(o, d, [](double x, double y) { return x + y; });
     }},
    {"min_f64", "min$_f64", 2, true,
     [](u64 o, u64 d, u64, unsigned) {
       return float_op<double>(o, d, [](double x, double y) { return y < x ? y : x; });
     }},
    {"max_f64", "max$_f64", 2, true,
     [](u64 o, u64 d, u64, unsigned) {
       return float_op<double>(o, d, [](double x, double y) { return y > x ? y : x; });
     }},
    {nullptr, "min$_f32", 1, true,
     [](u64 o, u64 d, u64, unsigned) {
       return float_op<float>(o, d, [](float x, float y) { return y < x ? y : x; });
     }},
    {nullptr, "max$_f32", 1, true,
     [](u64 o, u64 d, u64, unsigned) {
       return float_op<float>(o, d, [](float x, float y) { return y > x ? y : x; });
     }},
    {"pk_add_f16", "pk_add$_f16", 1, true, [](u64 o, u64 d, u64, unsigned) { return packed(o, d, 5, 10); }},
    {"pk_add_bf16", "pk_add$_bf16", 1, true, [](u64 o, u64 d, u64, unsigned) { return packed(o, d, 8, 7); }},
};

/// Words that are ordinary numbers as f16 pairs, bf16 pairs, f32 and the high half of f64.
u32 ordinary(std::mt19937_64& random) {
  const auto half = [&] { return (static_cast<u32>(random()) & 0x8fffU) | 0x3000U; };
  return half() | half() << 16;
}

/// Every lane its own place of 64 bytes in the first 4096; some lanes off.
void place_lanes(State& s, std::mt19937_64& random, unsigned align) {
  std::array<u32, 64> order{};
  for (u32 n = 0; n < 64; ++n) order[n] = n;
  std::shuffle(order.begin(), order.end(), random);
  for (unsigned lane = 0; lane < 64; ++lane) {
    s.v[lane][address] = order[lane] * 64 + static_cast<u32>(random() % (32 / align)) * align;
  }
  s.exec = random() % 3 == 0 ? all_lanes : random();
}

/// A load's element as the register gets it.
struct Sized {
  const char* suffix; ///< of the vector memory form; nullptr: none
  const char* ds;     ///< of the LDS form
  unsigned bytes;
  bool is_signed, d16, high;
};
const Sized loads[] = {
    {"dword", "b32", 4, false, false, false},        {"dwordx2", "b64", 8, false, false, false},
    {"dwordx3", "b96", 12, false, false, false},     {"dwordx4", "b128", 16, false, false, false},
    {"ubyte", "u8", 1, false, false, false},         {"sbyte", "i8", 1, true, false, false},
    {"ushort", "u16", 2, false, false, false},       {"sshort", "i16", 2, true, false, false},
    {"ubyte_d16", "u8_d16", 1, false, true, false},  {"ubyte_d16_hi", "u8_d16_hi", 1, false, true, true},
    {"sbyte_d16", "i8_d16", 1, true, true, false},   {"sbyte_d16_hi", "i8_d16_hi", 1, true, true, true},
    {"short_d16", "u16_d16", 2, false, true, false}, {"short_d16_hi", "u16_d16_hi", 2, false, true, true}};
const Sized stores[] = {{"dword", "b32", 4, false, false, false},
                        {"dwordx2", "b64", 8, false, false, false},
                        {"dwordx3", "b96", 12, false, false, false},
                        {"dwordx4", "b128", 16, false, false, false},
                        {"byte", "b8", 1, false, false, false},
                        {"short", "b16", 2, false, false, false},
                        {"byte_d16_hi", "b8_d16_hi", 1, false, true, true},
                        {"short_d16_hi", "b16_d16_hi", 2, false, true, true}};

unsigned words_of(unsigned bytes) { return std::max(1U, bytes / 4); }

/// What a load leaves in the registers from n; `valid` bytes of the element are in range, the rest reads as zero.
void receive(State& s, unsigned lane, unsigned n, const Sized& z, const std::vector<u8>& from, u64 at,
             unsigned valid = 16) {
  if (z.bytes >= 4) {
    for (unsigned w = 0; w < z.bytes / 4; ++w) {
      s.v[lane][n + w] = 4 * w + 4 <= valid ? static_cast<u32>(load(from, at + 4 * w, 4)) : 0;
    }
    return;
  }
  u32 x = z.bytes <= valid ? static_cast<u32>(load(from, at, z.bytes)) : 0;
  if (z.is_signed) x = static_cast<u32>(z.bytes == 1 ? i32{static_cast<i8>(x)} : i32{static_cast<i16>(x)});
  u32& to = s.v[lane][n];
  to = !z.d16 ? x : z.high ? (to & 0xffffU) | x << 16 : (to & 0xffff0000U) | (x & 0xffffU);
}
void send(const State& s, unsigned lane, unsigned n, const Sized& z, std::vector<u8>& to, u64 at,
          unsigned valid = 16) {
  if (z.bytes >= 4) {
    for (unsigned w = 0; w < z.bytes / 4; ++w) {
      if (4 * w + 4 <= valid) store(to, at + 4 * w, s.v[lane][n + w], 4);
    }
  } else if (z.bytes <= valid) {
    store(to, at, z.high ? s.v[lane][n] >> 16 : s.v[lane][n], z.bytes);
  }
}

template <class F>
std::function<void(State&)> lanes(F f) {
  return [f](State& s) {
    const State before = s;
    for (unsigned lane = 0; lane < 64; ++lane) {
      if (before.on(lane)) f(s, lane, before);
    }
  };
}

// ---- LDS -------------------------------------------------------------------------------------------------------------

std::vector<Case> lds_cases(isa::Arch arch, std::mt19937_64& random) {
  std::vector<Case> cases;
  const auto fresh = [&](unsigned align) {
    State s = random_state(random);
    with_lds(s, random);
    place_lanes(s, random, align);
    return s;
  };
  const auto add = [&](const std::string& text, const State& before, std::function<void(State&)> f) {
    if (assembles(text, arch)) cases.push_back({text, before, std::move(f)});
  };
  for (int variant = 0; variant < 3; ++variant) {
    const unsigned offset = variant == 0 ? 0 : static_cast<unsigned>(random() % 200) * 16;
    const std::string tail = offset == 0 ? "" : " offset:" + std::to_string(offset);
    for (const Sized& z : loads) {
      add(std::string("ds_read_") + z.ds + " " + vgpr(result, words_of(z.bytes)) + ", v8" + tail,
          fresh(z.bytes == 12 ? 16 : z.bytes), lanes([=](State& s, unsigned l, const State& b) {
            receive(s, l, result, z, b.lds, b.v[l][address] + u64{offset});
          }));
    }
    for (const Sized& z : stores) {
      add(std::string("ds_write_") + z.ds + " v8, " + vgpr(data, words_of(z.bytes)) + tail,
          fresh(z.bytes == 12 ? 16 : z.bytes), lanes([=](State& s, unsigned l, const State& b) {
            send(b, l, data, z, s.lds, b.v[l][address] + u64{offset});
          }));
    }
    // Two places, counted in elements or in 64 elements.
    for (const unsigned bytes : {4U, 8U}) {
      for (const bool far : {false, true}) {
        const unsigned unit = bytes * (far ? 64 : 1);
        const unsigned o0 = static_cast<unsigned>(random() % (far ? 4 : 100)),
                       o1 = o0 + 1 + static_cast<unsigned>(random() % 3);
        const std::string two = " offset0:" + std::to_string(o0) + " offset1:" + std::to_string(o1);
        const std::string type = std::string(far ? "2st64_" : "2_") + "b" + std::to_string(8 * bytes);
        const unsigned w = bytes / 4;
        const Sized z{nullptr, nullptr, bytes, false, false, false};
        add("ds_read" + type + " " + vgpr(result, 2 * w) + ", v8" + two, fresh(8),
            lanes([=](State& s, unsigned l, const State& b) {
              receive(s, l, result, z, b.lds, b.v[l][address] + u64{o0} * unit);
              receive(s, l, result + w, z, b.lds, b.v[l][address] + u64{o1} * unit);
            }));
        // Places of different lanes may meet: lanes write in order, first place before second.
        add(
            "ds_write" + type + " v8, " + vgpr(data, w) + ", " + vgpr(data2, w) + two,
            [&] {
              State s = fresh(8);
              for (unsigned l = 0; l < 64; ++l) s.v[l][address] = l * bytes * (far ? 1 : 8);
              return s;
            }(),
            [=](State& s) {
              const State b = s;
              for (unsigned l = 0; l < 64; ++l) {
                if (b.on(l)) send(b, l, data, z, s.lds, b.v[l][address] + u64{o0} * unit);
              }
              for (unsigned l = 0; l < 64; ++l) {
                if (b.on(l)) send(b, l, data2, z, s.lds, b.v[l][address] + u64{o1} * unit);
              }
            });
        const std::string type2 =
            std::string(far ? "2st64_rtn_" : "2_rtn_") + "b" + std::to_string(8 * bytes);
        State before = fresh(8);
        const unsigned base1 = o0 + (far ? 4 : 0); // far apart lanes: neither place meets another lane's
        const unsigned places[2] = {far ? o0 % 4 : o0, far ? base1 : o1};
        for (unsigned l = 0; l < 64; ++l) before.v[l][address] = l * bytes * (far ? 1 : 8);
        if (!far && (places[1] - places[0]) % 8 == 0) continue;
        add("ds_wrxchg" + type2 + " " + vgpr(result, 2 * w) + ", v8, " + vgpr(data, w) + ", " +
                vgpr(data2, w) + " offset0:" + std::to_string(places[0]) +
                " offset1:" + std::to_string(places[1]),
            before, lanes([=, p0 = places[0], p1 = places[1]](State& s, unsigned l, const State& b) {
              const u64 a0 = b.v[l][address] + u64{p0} * unit, a1 = b.v[l][address] + u64{p1} * unit;
              receive(s, l, result, z, b.lds, a0);
              receive(s, l, result + w, z, b.lds, a1);
              send(b, l, data, z, s.lds, a0);
              send(b, l, data2, z, s.lds, a1);
            }));
      }
    }
    for (const Atomic& a : atomics) {
      if (a.ds == nullptr) continue;
      for (const bool returns : {false, true}) {
        for (const unsigned words : {1U, 2U}) {
          if (a.words != 0 && a.words != words) continue;
          std::string name = a.ds;
          name.replace(name.find('$'), 1, returns ? "_rtn" : "");
          if (a.words == 0 && words == 2) name.replace(name.size() - 2, 2, "64");
          State before = fresh(8);
          for (unsigned l = 0; l < 64; ++l) {
            const u64 at = before.v[l][address] + u64{offset};
            if (a.floating) {
              for (unsigned w = 0; w < words; ++w) {
                store(before.lds, at + 4 * w, ordinary(random), 4);
                before.v[l][data + w] = ordinary(random);
              }
            }
            if (l % 3 == 0) { // equal values
              for (unsigned w = 0; w < words; ++w)
                before.v[l][data + w] = static_cast<u32>(load(before.lds, at + 4 * w, 4));
            }
            if (a.floating && l % 5 == 0) { // zeros of both signs are equal floats
              store(before.lds, at, 0, 4 * words);
              before.v[l][data] = words == 1 ? 0x80000000U : 0;
              before.v[l][data + 1] = 0x80000000U;
            }
          }
          const std::string one =
              "ds_" + name + " " + (returns ? vgpr(result, words) + ", " : "") + "v8, " + vgpr(data, words);
          const std::string text =
              assembles(one + tail, arch) ? one + tail : one + ", " + vgpr(data2, words) + tail;
          add(text, before, lanes([=](State& s, unsigned l, const State& b) {
                const u64 at = b.v[l][address] + u64{offset};
                const u64 old = load(s.lds, at, 4 * words);
                const u64 d = words == 2 ? b.v64(l, data) : b.v[l][data],
                          e = words == 2 ? b.v64(l, data2) : b.v[l][data2];
                store(s.lds, at, a.of(old, d, e, 32 * words), 4 * words);
                if (returns && words == 2) s.set_v64(l, result, old);
                if (returns && words == 1) s.v[l][result] = static_cast<u32>(old);
              }));
        }
      }
    }
    // The lane's number is the address. M0[15:0] is added.
    State tid = fresh(4);
    tid.m0 = 0xabc00000U | static_cast<u32>(random() % 500) * 4;
    add("ds_read_addtid_b32 " + vgpr(result, 1) + tail, tid, lanes([=](State& s, unsigned l, const State& b) {
          s.v[l][result] = static_cast<u32>(load(b.lds, (b.m0 & 0xffffU) + u64{offset} + 4 * l, 4));
        }));
    add("ds_write_addtid_b32 " + vgpr(data, 1) + tail, tid, lanes([=](State& s, unsigned l, const State& b) {
          store(s.lds, (b.m0 & 0xffffU) + u64{offset} + 4 * l, b.v[l][data], 4);
        }));
    // LLVM puts the address into M0; the manual mentions only the offset for LDS.
    for (const bool append : {true, false}) {
      add(std::string(append ? "ds_append " : "ds_consume ") + vgpr(result, 1) + tail, tid, [=](State& s) {
        const u64 at = (s.m0 & 0xffffU) + u64{offset};
        const auto old = static_cast<u32>(load(s.lds, at, 4));
        u32 count = 0;
        for (unsigned l = 0; l < 64; ++l) {
          if (s.on(l)) s.v[l][result] = old, ++count;
        }
        if (count != 0) store(s.lds, at, append ? old + count : old - count, 4);
      });
    }
    // Lanes push to and pull from each other; bits 7:2 of the address count.
    const unsigned turn = offset % 256;
    const std::string turn_text = turn == 0 ? "" : " offset:" + std::to_string(turn);
    State exchange = fresh(4);
    for (auto& lane : exchange.v) lane[address] = random_word(random);
    add("ds_bpermute_b32 " + vgpr(result, 1) + ", v8, v10" + turn_text, exchange,
        lanes([=](State& s, unsigned l, const State& b) {
          const unsigned from = (b.v[l][address] + turn) / 4 % 64;
          s.v[l][result] = b.on(from) ? b.v[from][data] : 0;
        }));
    add("ds_permute_b32 " + vgpr(result, 1) + ", v8, v10" + turn_text, exchange, [=](State& s) {
      std::array<u32, 64> pushed{};
      for (unsigned l = 0; l < 64; ++l) {
        if (s.on(l)) pushed[(s.v[l][address] + turn) / 4 % 64] = s.v[l][data];
      }
      for (unsigned l = 0; l < 64; ++l) {
        if (s.on(l)) s.v[l][result] = pushed[l];
      }
    });
  }
  for (int variant = 0; variant < 8; ++variant) {
    // Four lanes by pairs of bits, or 32 lanes by and, or, xor.
    const auto pattern = static_cast<unsigned>(random() & 0x7fffU) | (variant % 2 == 0 ? 0x8000U : 0U);
    const unsigned code = variant % 2 == 0 ? pattern & 0x80ffU : pattern;
    add("ds_swizzle_b32 " + vgpr(result, 1) + ", v10 offset:" + std::to_string(code), fresh(4),
        lanes([=](State& s, unsigned l, const State& b) {
          const unsigned from =
              (code & 0x8000U) != 0
                  ? l / 4 * 4 + (code >> 2 * (l % 4) & 3U)
                  : l / 32 * 32 + (((l % 32 & code % 32) | (code / 32 % 32)) ^ (code / 1024 % 32));
          s.v[l][result] = b.on(from) ? b.v[from][data] : 0;
        }));
  }
  // Transposing reads (CDNA4): sixteen lanes give rows of sixteen elements, a lane receives its column.
  struct Transpose {
    const char* name;
    unsigned bits, bytes;
  };
  for (const Transpose& t :
       {Transpose{"b64_tr_b16", 16, 8}, {"b64_tr_b8", 8, 8}, {"b64_tr_b4", 4, 8}, {"b96_tr_b6", 6, 12}}) {
    State before = fresh(16);
    before.exec = all_lanes;
    add(std::string("ds_read_") + t.name + " " + vgpr(result, t.bytes / 4) + ", v8 offset:32", before,
        lanes([=](State& s, unsigned l, const State& b) {
          const unsigned elements = 8 * t.bytes / t.bits, lanes_a_row = 16 / elements;
          std::array<u8, 12> out{};
          for (unsigned row = 0; row < elements; ++row) {
            const unsigned column = l % 16;
            const unsigned owner = l / 16 * 16 + row * lanes_a_row + column / elements;
            for (unsigned bit = 0; bit < t.bits; ++bit) {
              const unsigned at = column % elements * t.bits + bit, to = row * t.bits + bit;
              const u64 byte = load(b.lds, b.v[owner][address] + 32 + at / 8, 1);
              out[to / 8] = static_cast<u8>(out[to / 8] | (byte >> at % 8 & 1U) << to % 8);
            }
          }
          for (unsigned w = 0; w < t.bytes / 4; ++w) std::memcpy(&s.v[l][result + w], out.data() + 4 * w, 4);
        }));
  }
  return cases;
}

// ---- vector memory ---------------------------------------------------------------------------------------------------

/// v[8:9] becomes the 64-bit address of the lane's place.
void absolute(State& s) {
  for (auto& lane : s.v) {
    const u64 a = s.address + lane[address];
    lane[address] = static_cast<u32>(a);
    lane[address + 1] = static_cast<u32>(a >> 32);
  }
}

std::vector<Case> flat_cases(isa::Arch arch, std::mt19937_64& random) {
  std::vector<Case> cases;
  const auto fresh = [&](unsigned align) {
    State s = random_state(random);
    with_memory(s, random);
    place_lanes(s, random, align);
    return s;
  };
  struct Form {
    const char* prefix;
    bool based; ///< 32-bit register and scalar base
    int offset;
  };
  const Form forms[] = {{"flat_", false, 0},       {"flat_", false, 2048}, {"global_", false, 1024},
                        {"global_", false, -4096}, {"global_", true, 0},   {"global_", true, 4064}};
  const auto add = [&](const std::string& text, State before, const Form& f,
                       std::function<void(State&)> effect) {
    if (!assembles(text, arch)) return;
    if (f.offset < 0) {
      for (auto& lane : before.v) lane[address] += 4096; // stays inside
    }
    Case c{text, before, std::move(effect)};
    if (!f.based) c.place = absolute;
    cases.push_back(std::move(c));
  };
  const auto where = [](const Form& f, const State& b, unsigned l) {
    return static_cast<u64>(static_cast<i64>(f.based ? b.v[l][address] : b.v64(l, address) - b.address) +
                            f.offset);
  };
  for (const Form& f : forms) {
    const std::string at = f.based ? "v8" : "v[8:9]";
    const std::string base = std::string(f.prefix) == "flat_" ? "" : f.based ? ", s[62:63]" : ", off";
    const std::string tail = base + (f.offset == 0 ? "" : " offset:" + std::to_string(f.offset));
    for (const Sized& z : loads) {
      add(f.prefix + std::string("load_") + z.suffix + " " + vgpr(result, words_of(z.bytes)) + ", " + at +
              tail,
          fresh(4), f, lanes([=](State& s, unsigned l, const State& b) {
            receive(s, l, result, z, b.memory, where(f, b, l));
          }));
    }
    for (const Sized& z : stores) {
      add(f.prefix + std::string("store_") + z.suffix + " " + at + ", " + vgpr(data, words_of(z.bytes)) +
              tail,
          fresh(4), f, lanes([=](State& s, unsigned l, const State& b) {
            send(b, l, data, z, s.memory, where(f, b, l));
          }));
    }
    for (const Atomic& a : atomics) {
      if (a.buffer == nullptr) continue;
      for (const bool returns : {false, true}) {
        for (const unsigned words : {1U, 2U}) {
          if (a.words != 0 && a.words != words) continue;
          const bool compares = std::string(a.buffer) == "cmpswap";
          State before = fresh(8);
          for (unsigned l = 0; l < 64; ++l) {
            const u64 place = before.v[l][address] + static_cast<u64>(f.offset < 0 ? 0 : f.offset);
            for (unsigned w = 0; w < words; ++w) {
              if (a.floating) {
                store(before.memory, place + 4 * w, ordinary(random), 4);
                before.v[l][data + w] = ordinary(random);
              }
              if (l % 3 == 0) {
                before.v[l][data + (compares ? words : 0) + w] =
                    static_cast<u32>(load(before.memory, place + 4 * w, 4));
              }
            }
          }
          add(f.prefix + std::string("atomic_") + a.buffer + (a.words == 0 && words == 2 ? "_x2 " : " ") +
                  (returns ? vgpr(result, words) + ", " : "") + at + ", " +
                  vgpr(data, compares ? 2 * words : words) + tail +
                  (!returns                    ? ""
                   : arch == isa::Arch::gfx90a ? " glc"
                                               : " sc0"),
              before, f, lanes([=](State& s, unsigned l, const State& b) {
                const u64 place = where(f, b, l);
                const u64 old = load(s.memory, place, 4 * words);
                const u64 d = words == 2 ? b.v64(l, data) : b.v[l][data];
                const u64 e = words == 2 ? b.v64(l, data + 2) : b.v[l][data + 1];
                store(s.memory, place, a.of(old, d, e, 32 * words), 4 * words);
                if (returns && words == 2) s.set_v64(l, result, old);
                if (returns && words == 1) s.v[l][result] = static_cast<u32>(old);
              }));
        }
      }
    }
  }
  // Straight to LDS: M0 + offset + 4 times the lane (12 or 16 for wide ones); disabled lanes leave their place alone. The offset
  // is added to both addresses.
  for (const char* suffix : {"dword", "ubyte", "sbyte", "ushort", "sshort", "dwordx3", "dwordx4"}) {
    for (const bool based : {false, true}) {
      State before = fresh(4);
      with_lds(before, random);
      before.m0 = static_cast<u32>(random() % 200) * 16;
      const Sized* z = std::find_if(std::begin(loads), std::end(loads),
                                    [&](const Sized& x) { return std::string(x.suffix) == suffix; });
      const unsigned slot = std::max(4U, z->bytes);
      const bool earlier = arch == isa::Arch::gfx90a;
      add(std::string(earlier ? "global_load_" : "global_load_lds_") + suffix +
              (based ? " v8, s[62:63]" : " v[8:9], off") + " offset:64" + (earlier ? " lds" : ""),
          before, {"", based, 64}, lanes([=](State& s, unsigned l, const State& b) {
            State one = b;
            receive(one, l, result, *z, b.memory, where({"", based, 64}, b, l));
            for (unsigned w = 0; w < slot / 4; ++w)
              store(s.lds, (b.m0 & 0x3ffffU) + 64 + u64{l} * slot + 4 * w, one.v[l][result + w], 4);
          }));
    }
  }
  // Scratch: written and read back, each lane its own; v8 or a scalar is the address.
  for (const bool scalar : {false, true}) {
    const std::string at = scalar ? "off" : "v8", base = scalar ? ", s40" : ", off";
    const auto ready = [&] {
      State s = random_state(random);
      with_lds(s, random);
      s.exec = random();
      s.m0 = 512;
      s.s[8] = 32;
      for (auto& lane : s.v) lane[address] = 32;
      return s;
    };
    const std::string fill =
        "scratch_store_dwordx4 " + at + ", v[10:13]" + base + " offset:16\n  s_waitcnt vmcnt(0)\n  ";
    const auto bytes = [](const State& b, unsigned l) {
      std::vector<u8> x(16);
      std::memcpy(x.data(), &b.v[l][data], 16);
      return x;
    };
    for (const Sized& z : loads) {
      const std::string text = fill + "scratch_load_" + z.suffix + " " + vgpr(result, words_of(z.bytes)) +
                               ", " + at + base + " offset:16";
      cases.push_back({text, ready(), lanes([=](State& s, unsigned l, const State& b) {
                         receive(s, l, result, z, bytes(b, l), 0);
                       })});
      if (z.bytes <= 4 && !z.d16) {
        // The offset is added to both addresses; the lane's slot is four bytes.
        const std::string lds = fill + "scratch_load_lds_" + z.suffix + " " + at + base + " offset:16";
        if (assembles(lds, arch)) {
          cases.push_back({lds, ready(), lanes([=](State& s, unsigned l, const State& b) {
                             State one = b;
                             receive(one, l, result, z, bytes(b, l), 0);
                             store(s.lds, 512 + 16 + 4 * u64{l}, one.v[l][result], 4);
                           })});
        }
      }
    }
    for (const Sized& z : stores) {
      cases.push_back({fill + "scratch_store_" + z.suffix + " " + at + ", " + vgpr(data2, words_of(z.bytes)) +
                           base + " offset:16\n  s_waitcnt vmcnt(0)\n  scratch_load_dwordx4 v[20:23], " + at +
                           base + " offset:16",
                       ready(), lanes([=](State& s, unsigned l, const State& b) {
                         auto x = bytes(b, l);
                         send(b, l, data2, z, x, 0);
                         std::memcpy(&s.v[l][result], x.data(), 16);
                       })});
    }
  }
  return cases;
}

// ---- buffers ---------------------------------------------------------------------------------------------------------

constexpr unsigned widths[16][4] = {{},
                                    {8},
                                    {16},
                                    {8, 8},
                                    {32},
                                    {16, 16},
                                    {11, 11, 10},
                                    {10, 11, 11},
                                    {2, 10, 10, 10},
                                    {10, 10, 10, 2},
                                    {8, 8, 8, 8},
                                    {32, 32},
                                    {16, 16, 16, 16},
                                    {32, 32, 32},
                                    {32, 32, 32, 32},
                                    {}};
constexpr const char* number_names[] = {"unorm", "snorm", "uscaled",  "sscaled",
                                        "uint",  "sint",  "reserved", "float"};

bool exists(unsigned d, unsigned n) {
  if (d == 0 || d == 15 || n == 6) return false;
  return n != 7 || (widths[d][0] != 8 && widths[d][0] != 2 && widths[d][3] != 2);
}

i64 extended(u64 x, unsigned width) {
  return (x >> (width - 1) & 1U) != 0 ? static_cast<i64>(x) - (i64{1} << width) : static_cast<i64>(x);
}

/// A component in a register of 32 or 16 bits.
u32 component(u64 bits, unsigned width, unsigned number, bool half) {
  const auto real = [&](double x) {
    return half ? encode(x, 5, 10) : std::bit_cast<u32>(static_cast<float>(x));
  };
  const std::string kind = number_names[number];
  if (kind == "uint") return static_cast<u32>(half ? bits % 65536 : bits);
  if (kind == "sint")
    return static_cast<u32>(static_cast<u64>(extended(bits, width)) & (half ? 0xffffU : 0xffffffffU));
  if (width == 32)
    return half ? real(static_cast<double>(std::bit_cast<float>(static_cast<u32>(bits))))
                : static_cast<u32>(bits);
  const double u = static_cast<double>(bits), i = static_cast<double>(extended(bits, width));
  // Float results of the 32-bit forms are rounded once to f32, those of the d16 forms once more to f16.
  const auto once = [&](double x) { return real(static_cast<double>(static_cast<float>(x))); };
  if (kind == "unorm") return once(u / (std::exp2(width) - 1));
  if (kind == "snorm") return once(std::fmax(i / (std::exp2(width - 1) - 1), -1));
  if (kind == "uscaled") return once(u);
  if (kind == "sscaled") return once(i);
  return real(width == 16 ? decode(static_cast<u32>(bits), 5, 10)
                          : decode(static_cast<u32>(bits), 5, static_cast<int>(width) - 5));
}

u64 uncomponent(u32 value, unsigned width, unsigned number, bool half) {
  const std::string kind = number_names[number];
  const double x = half ? decode(value & 0xffffU, 5, 10) : static_cast<double>(std::bit_cast<float>(value));
  const u64 mask = (u64{1} << width) - 1;
  const double top = static_cast<double>(mask), half_top = static_cast<double>(mask >> 1);
  const auto cut = [&](double v, double low, double high) {
    if (std::isnan(v)) return u64{0};
    v = v < low ? low : v > high ? high : v;
    const double down = std::floor(v), rest = v - down; // nearest, ties to even
    const double r = rest > 0.5 || (rest == 0.5 && std::fmod(down, 2) != 0) ? down + 1 : down;
    return static_cast<u64>(static_cast<i64>(r)) & mask;
  };
  if (kind == "uint") return std::min<u64>(half ? value & 0xffffU : value, mask);
  if (kind == "sint") {
    const i64 v = half ? extended(value & 0xffffU, 16) : extended(value, 32);
    return static_cast<u64>(
               std::min(std::max(v, -static_cast<i64>(mask >> 1) - 1), static_cast<i64>(mask >> 1))) &
           mask;
  }
  if (width == 32) return half ? std::bit_cast<u32>(static_cast<float>(x)) : value;
  if (kind == "unorm") return cut(x * top, 0, top);
  if (kind == "snorm") return cut(x * half_top, -half_top, half_top);
  if (kind == "uscaled") return cut(x, 0, top);
  if (kind == "sscaled") return cut(x, -half_top - 1, half_top);
  if (width == 16) return encode(x, 5, 10);
  if (std::isnan(x)) return mask;
  return x > 0 ? encode(x, 5, static_cast<int>(width) - 5) : 0; // unsigned: no negative numbers
}

struct BufferForm {
  bool offen, idxen;
  unsigned offset; ///< of the instruction
  u32 soffset;     ///< s41
  u32 stride, records;
  u32 word3; ///< formats and selections
  bool swizzle = false;
};

/// Index and offset of a lane come from v8 (and v9). Gives the place and how many bytes from there are in range.
struct Place {
  u64 at;
  u64 left;
};
Place find_place(const BufferForm& f, const State& b, unsigned l) {
  const u64 index = f.idxen ? b.v[l][address] : 0;
  const u32 offset = (f.offen ? b.v[l][address + (f.idxen ? 1 : 0)] : 0) + f.offset;
  u64 at = index * f.stride + offset + f.soffset;
  if (f.swizzle) {
    const u64 n = 16; // index stride; elements of 4 bytes
    at = f.soffset + (index / n * f.stride + offset / 4 * 4) * n + index % n * 4 + offset % 4;
  }
  if (f.idxen) return {at, index < f.records ? ~u64{0} : 0};
  const u64 checked = u64{offset} + f.soffset; // docs/emulator.md: soffset takes part
  return {at, checked < f.records ? f.records - checked : 0};
}

std::vector<Case> buffer_cases(isa::Arch arch, std::mt19937_64& random) {
  std::vector<Case> cases;
  const BufferForm forms[] = {
      {true, false, 0, 0, 0, 4096, 0x27000},     {true, false, 40, 24, 0, 3000, 0x27000},
      {false, true, 8, 0, 48, 50, 0x27000},      {true, true, 4, 16, 64, 40, 0x27000},
      {false, false, 100, 20, 0, 1000, 0x27000}, {false, true, 4, 8, 64, 60, 0x27000 | 1U << 21, true}};
  const auto fresh = [&](const BufferForm& f, unsigned align) {
    State s = random_state(random);
    with_memory(s, random);
    place_lanes(s, random, align);
    if (f.idxen) {
      for (auto& lane : s.v) {
        lane[address] = lane[address] / 64;
        lane[address + 1] = static_cast<u32>(random() % (32 / align)) * align;
      }
    }
    s.s[9] = f.soffset;
    return s;
  };
  const auto add = [&](const std::string& text, const State& before, const BufferForm& f,
                       std::function<void(State&)> effect) {
    if (!assembles(text, arch)) return;
    Case c{text, before, std::move(effect)};
    c.place = [f](State& s) {
      s.s[24] = s.s[30];
      s.s[25] = (s.s[31] & 0xffffU) | f.stride << 16 | (f.swizzle ? 1U << 31 : 0U);
      s.s[26] = f.records;
      s.s[27] = f.word3;
    };
    cases.push_back(std::move(c));
  };
  const auto operands = [](const BufferForm& f) {
    const std::string at = f.offen && f.idxen ? "v[8:9]" : f.offen || f.idxen ? "v8" : "off";
    return at + ", s[56:59], s41" + (f.idxen ? " idxen" : "") + (f.offen ? " offen" : "") +
           (f.offset != 0 ? " offset:" + std::to_string(f.offset) : "");
  };
  for (const BufferForm& f : forms) {
    const bool one_place = !f.offen && !f.idxen;
    for (const Sized& z : loads) {
      add(std::string("buffer_load_") + z.suffix + " " + vgpr(result, words_of(z.bytes)) + ", " + operands(f),
          fresh(f, 4), f, lanes([=](State& s, unsigned l, const State& b) {
            const Place p = find_place(f, b, l);
            receive(s, l, result, z, b.memory, p.at, static_cast<unsigned>(std::min<u64>(p.left, 16)));
          }));
      if (z.bytes <= 4 && !z.d16) {
        State before = fresh(f, 4);
        with_lds(before, random);
        before.m0 = 256;
        add(std::string("buffer_load_") + z.suffix + " " + operands(f) + " lds", before, f,
            lanes([=](State& s, unsigned l, const State& b) {
              const Place p = find_place(f, b, l);
              State one = b;
              receive(one, l, result, z, b.memory, p.at, static_cast<unsigned>(std::min<u64>(p.left, 16)));
              store(s.lds, 256 + f.offset + 4 * u64{l}, one.v[l][result], 4);
            }));
      }
    }
    for (const Sized& z : stores) {
      State before = fresh(f, 16);
      if (one_place) before.exec = u64{1} << 17;
      if (f.swizzle && z.bytes > 4) continue; // elements of a swizzled buffer are dwords
      add(std::string("buffer_store_") + z.suffix + " " + vgpr(data, words_of(z.bytes)) + ", " + operands(f),
          before, f, lanes([=](State& s, unsigned l, const State& b) {
            const Place p = find_place(f, b, l);
            send(b, l, data, z, s.memory, p.at, static_cast<unsigned>(std::min<u64>(p.left, 16)));
          }));
    }
    for (const Atomic& a : atomics) {
      if (a.buffer == nullptr) continue;
      for (const bool returns : {false, true}) {
        for (const unsigned words : {1U, 2U}) {
          if ((a.words != 0 && a.words != words) || (f.swizzle && words == 2)) continue;
          const bool compares = std::string(a.buffer) == "cmpswap";
          State before = fresh(f, 8);
          if (one_place) before.exec = u64{1} << 41;
          for (unsigned l = 0; l < 64; ++l) {
            const Place p = find_place(f, before, l);
            for (unsigned w = 0; w < words; ++w) {
              if (a.floating) {
                store(before.memory, p.at + 4 * w, ordinary(random), 4);
                before.v[l][data + w] = ordinary(random);
              }
              if (l % 3 == 0) {
                before.v[l][data + (compares ? words : 0) + w] =
                    static_cast<u32>(load(before.memory, p.at + 4 * w, 4));
              }
            }
          }
          add(std::string("buffer_atomic_") + a.buffer + (a.words == 0 && words == 2 ? "_x2 " : " ") +
                  vgpr(data, compares ? 2 * words : words) + ", " + operands(f) +
                  (!returns                    ? ""
                   : arch == isa::Arch::gfx90a ? " glc"
                                               : " sc0"),
              before, f, lanes([=](State& s, unsigned l, const State& b) {
                const Place p = find_place(f, b, l);
                const bool inside = p.left >= 4 * words;
                const u64 old = inside ? load(s.memory, p.at, 4 * words) : 0;
                const u64 d = words == 2 ? b.v64(l, data) : b.v[l][data];
                const u64 e = words == 2 ? b.v64(l, data + 2) : b.v[l][data + 1];
                if (inside) store(s.memory, p.at, a.of(old, d, e, 32 * words), 4 * words);
                if (returns && words == 2) s.set_v64(l, data, old);
                if (returns && words == 1) s.v[l][data] = static_cast<u32>(old);
              }));
        }
      }
    }
  }
  // A private buffer: the lane is the index, nothing is out of range, DFMT continues the stride. With the long stride the
  // base lies so that lane 5 is inside the case's memory.
  for (const u32 stride : {64U, 16448U}) {
    const u32 first = stride > 4096 ? 5 : 0;
    State before = fresh({true, false, 0, 0, 0, 0, 0}, 4);
    before.exec = first != 0 ? u64{1} << first : before.exec;
    for (auto& lane : before.v) lane[address] %= 48;
    const BufferForm f{true, false, 4, 8, 0, 0, 0};
    before.s[9] = f.soffset;
    Case c{"buffer_load_dword v20, " + operands(f), before, lanes([=](State& s, unsigned l, const State& b) {
             s.v[l][result] =
                 static_cast<u32>(load(b.memory, u64{l - first} * stride + b.v[l][address] + 4 + 8, 4));
           })};
    c.place = [=](State& s) {
      const u64 base = s.address - u64{first} * stride;
      s.s[24] = static_cast<u32>(base);
      s.s[25] = static_cast<u32>(base >> 32 & 0xffffU) | (stride & 0x3fffU) << 16;
      s.s[26] = 1;
      s.s[27] = 1U << 23 | (stride >> 14) << 15;
    };
    cases.push_back(std::move(c));
  }
  // Typed: every format with every number of components, wide and d16, from the instruction (MTBUF) and the descriptor (MUBUF).
  for (unsigned d = 0; d < 16; ++d) {
    for (unsigned n = 0; n < 8; ++n) {
      if (!exists(d, n) && !(n == 0 && (d == 0 || d == 15))) continue;
      unsigned total = 0, count = 0;
      for (const unsigned w : widths[d]) total += w, count += w != 0 ? 1 : 0;
      const unsigned bytes = total / 8;
      for (const bool typed : {true, false}) {
        for (const char* channels :
             {"x", "xy", "xyz", "xyzw", "d16_x", "d16_xy", "d16_xyz", "d16_xyzw", "d16_hi_x"}) {
          const std::string suffix = channels;
          const bool half = suffix.starts_with("d16"), high = suffix.starts_with("d16_hi");
          const auto wanted = static_cast<unsigned>(suffix.size() - (high ? 7 : half ? 4 : 0));
          if ((typed && high) || random() % 3 != 0)
            continue; // a third of them, others for the other processor
          BufferForm f{true, false, 16, 0, 0, 3500, 0x27000};
          std::array<unsigned, 4> select{4, 5, 6, 7};
          if (!typed) {
            if (random() % 2 == 0) { // MTBUF ignores these
              std::shuffle(select.begin(), select.end(), random);
              if (random() % 2 == 0) select[random() % 4] = static_cast<unsigned>(random() % 2);
            }
            f.word3 = select[0] | select[1] << 3 | select[2] << 6 | select[3] << 9 | n << 12 | d << 15;
          } else {
            f.word3 = 1U | 1U << 3 | 4U << 12 | 3U << 15;
          }
          const unsigned registers = half ? (wanted + 1) / 2 : wanted;
          const std::string format = typed ? " format:" + std::to_string(d | n << 4) : "";
          std::string tail = operands(f);
          tail.insert(tail.find(" offen"), format);
          State before = fresh(f, 16);
          for (unsigned l = 0; l < 64; ++l) { // floats in reach of the formats
            for (unsigned w = 0; w < 4; ++w) {
              u32& x = before.v[l][data + w];
              if (n != 4 && n != 5 && l % 4 != 0) {
                const double scale = n == 2 || n == 3 ? std::exp2(static_cast<double>(random() % 18)) : 1.3;
                const double value = (static_cast<double>(random() % 20001) / 10000 - 1) * scale;
                x = half ? encode(value, 5, 10) | encode(value / 3, 5, 10) << 16
                         : std::bit_cast<u32>(static_cast<float>(value));
              }
            }
          }
          if (n == 7 ||
              (widths[d][0] == 32 && n != 4 &&
               n != 5)) { // which NaN a NaN becomes is open: the top exponent bit of every field is clear
            const u32 keep = d == 6   ? ~(1U << 10 | 1U << 21 | 1U << 31)
                             : d == 7 ? ~(1U << 9 | 1U << 20 | 1U << 31)
                                      : 0xbfffbfffU;
            for (unsigned at = 0; at < memory_bytes; at += 4)
              store(before.memory, at, load(before.memory, at, 4) & keep, 4);
            for (auto& lane : before.v) {
              for (unsigned w = 0; w < 4; ++w) lane[data + w] &= 0xbfffbfffU;
            }
          }
          const std::string family = typed ? "tbuffer_" : "buffer_";
          add(family + "load_format_" + suffix + " " + vgpr(result, registers) + ", " + tail, before, f,
              lanes([=](State& s, unsigned l, const State& b) {
                const Place p = find_place(f, b, l);
                const bool inside = bytes != 0 && p.left >= bytes;
                for (unsigned c = 0; c < wanted; ++c) {
                  u32 x = 0;
                  if (select[c] == 1) {
                    x = n == 4 || n == 5 ? 1 : half ? 0x3c00U : 0x3f800000U;
                  } else if (select[c] >= 4 && select[c] - 4 < count && inside) {
                    unsigned at = 0;
                    for (unsigned k = 0; k < select[c] - 4; ++k) at += widths[d][k];
                    u64 bits = 0;
                    for (unsigned k = 0; k < widths[d][select[c] - 4]; ++k) {
                      bits |= (load(b.memory, p.at + (at + k) / 8, 1) >> (at + k) % 8 & 1U) << k;
                    }
                    x = component(bits, widths[d][select[c] - 4], n, half);
                  }
                  if (!half) {
                    s.v[l][result + c] = x;
                  } else if (wanted == 1) {
                    s.v[l][result] =
                        high ? (s.v[l][result] & 0xffffU) | x << 16 : (s.v[l][result] & 0xffff0000U) | x;
                  } else {
                    s.v[l][result + c / 2] = c % 2 == 0 ? x : s.v[l][result + c / 2] | x << 16;
                  }
                }
              }));
          add(family + "store_format_" + suffix + " " + vgpr(data, registers) + ", " + tail, before, f,
              lanes([=](State& s, unsigned l, const State& b) {
                const Place p = find_place(f, b, l);
                if (bytes == 0 || p.left < bytes) return;
                std::vector<u8> element(bytes);
                unsigned at = 0;
                for (unsigned k = 0; k < count; ++k) {
                  u64 bits = 0; // of a component that no register supplies
                  for (unsigned c = 0; c < wanted; ++c) {
                    if (select[c] != 4 + k) continue;
                    const u32 x =
                        !half ? b.v[l][data + c] : b.v[l][data + c / 2] >> (high || c % 2 == 1 ? 16 : 0);
                    bits = uncomponent(x, widths[d][k], n, half);
                    break;
                  }
                  if (bits == 0) bits = uncomponent(0, widths[d][k], n, half);
                  for (unsigned m = 0; m < widths[d][k]; ++m) {
                    element[(at + m) / 8] =
                        static_cast<u8>(element[(at + m) / 8] | (bits >> m & 1U) << (at + m) % 8);
                  }
                  at += widths[d][k];
                }
                for (unsigned k = 0; k < bytes; ++k) store(s.memory, p.at + k, element[k], 1);
              }));
        }
      }
    }
  }
  return cases;
}

} // namespace

void differential::lds_family() {
  static const bool once = [] {
    for (const isa::Arch arch : archs) {
      std::mt19937_64 random(21);
      run(arch, lds_cases(arch, random));
    }
    return true;
  }();
  static_cast<void>(once);
}

void differential::vector_memory_family() {
  static const bool once = [] {
    for (const isa::Arch arch : archs) {
      std::mt19937_64 random(22);
      run(arch, flat_cases(arch, random));
      run(arch, buffer_cases(arch, random));
    }
    return true;
  }();
  static_cast<void>(once);
}
