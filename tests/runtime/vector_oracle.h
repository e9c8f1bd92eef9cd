/// What every vector instruction computes in one lane, written from the pseudo-code of the CDNA3 and CDNA4 manuals in
/// plain scalar C++: the reference that the emulator's vectorised functions are compared with.
///
/// Sources arrive as the instruction sees them: selected, negated, 16-bit values in the low half. `number` says how a
/// result may differ: bits must agree except between NaNs, and within `ulps` for transcendental functions.
#pragma once

#include "emulator/numerics/float_ops.h"
#include "emulator/numerics/formats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace oracle {

using namespace inlay::runtime::numerics;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

struct Lane {
  u64 s[3] = {}; ///< sources
  unsigned lane = 0;
  bool carry = false; ///< this lane's bit of VCC or of the mask operand
  bool ieee = true, ocp = false, clamp = false, saturate = false;
  unsigned op_sel = 0, op_sel_hi = 7, neg_lo = 0, neg_hi = 0;
  unsigned truth = 0; ///< table of V_BITOP3

  [[nodiscard]] u32 x() const { return static_cast<u32>(s[0]); }
  [[nodiscard]] u32 y() const { return static_cast<u32>(s[1]); }
  [[nodiscard]] u32 z() const { return static_cast<u32>(s[2]); }
  [[nodiscard]] float f(int n) const { return std::bit_cast<float>(static_cast<u32>(s[n])); }
  [[nodiscard]] double g(int n) const { return std::bit_cast<double>(s[n]); }
  [[nodiscard]] float h(int n) const { return widen<Format::f16>(static_cast<u32>(s[n])); }
  [[nodiscard]] Overflow overflow() const { return saturate ? Overflow::saturate : Overflow::special; }
};

enum class Number { bits, f16, f32, f64, packed_f16, packed_f32 };

struct Result {
  u64 value = 0;
  bool mask = false;
};

struct Rule {
  std::function<Result(const Lane&)> of;
  Number number = Number::bits;
  double ulps = 0;
  std::function<bool(const Lane&, u64)> accepts = nullptr; ///< instead of comparing with `of`
};

// ---- helpers --------------------------------------------------------------------------------------------------------

inline u64 b(float x) { return std::bit_cast<u32>(x); }
inline u64 b(double x) { return std::bit_cast<u64>(x); }
/// f16 code of an exact double, rounded once.
inline u64 half(double exact) { return narrow<Format::f16>(odd_float(exact)); }
inline i64 sx(u64 x, int bits) { return static_cast<i64>(x << (64 - bits)) >> (64 - bits); }
inline u64 zx(u64 x, int bits) { return bits == 64 ? x : x & ((u64{1} << bits) - 1); }
inline i64 clamp_to(i64 x, int bits) {
  return std::clamp(x, -(i64{1} << (bits - 1)), (i64{1} << (bits - 1)) - 1);
}
inline u64 clamp_unsigned(i64 x, int bits) {
  return static_cast<u64>(std::clamp<i64>(x, 0, static_cast<i64>((u64{1} << bits) - 1)));
}
inline u32 byte(u32 x, int n) { return x >> 8 * n & 0xffu; }

inline u32 sad(u32 a, u32 b, u32 c, bool masked) {
  for (int n = 0; n < 4; ++n) {
    const u32 x = byte(a, n), y = byte(b, n);
    c += masked && y == 0 ? 0 : x > y ? x - y : y - x;
  }
  return c;
}

inline u32 permuted(u64 data, u32 select) {
  const auto in = [&](u32 n) { return static_cast<u32>(data >> 8 * n & 0xffu); };
  if (select >= 13) {
    return 0xff;
  }
  if (select == 12) {
    return 0;
  }
  return select >= 8 ? (in(2 * (select - 8) + 1) & 0x80u) != 0 ? 0xffu : 0u : in(select);
}

inline int major_axis(const Lane& a) { // 2 z, 1 y, 0 x
  const float x = std::fabs(a.f(0)), y = std::fabs(a.f(1)), z = std::fabs(a.f(2));
  return z >= x && z >= y ? 2 : y >= x ? 1 : 0;
}

/// A source half of a packed instruction: op_sel picks for the low result, op_sel_hi for the high one.
inline u32 half_of(const Lane& a, int n, bool high, bool negate = false) {
  const bool upper = ((high ? a.op_sel_hi : a.op_sel) >> n & 1u) != 0;
  u32 code = static_cast<u32>(upper ? a.s[n] >> 16 : a.s[n]) & 0xffffu;
  if (negate && ((high ? a.neg_hi : a.neg_lo) >> n & 1u) != 0) {
    code ^= 0x8000u;
  }
  return code;
}
inline float packed_half(const Lane& a, int n, bool high) {
  return widen<Format::f16>(half_of(a, n, high, true));
}
inline float packed_word(const Lane& a, int n, bool high) {
  const bool upper = ((high ? a.op_sel_hi : a.op_sel) >> n & 1u) != 0;
  const auto value = std::bit_cast<float>(static_cast<u32>(upper ? a.s[n] >> 32 : a.s[n]));
  return ((high ? a.neg_hi : a.neg_lo) >> n & 1u) != 0 ? -value : value;
}

// ---- the table ------------------------------------------------------------------------------------------------------

inline const std::map<std::string, Rule, std::less<>>& rules() {
  static const auto table = [] {
    std::map<std::string, Rule, std::less<>> t;
    using L = const Lane&;
    const auto bits = [&](const char* name, std::function<u64(L)> f) {
      t["v_" + std::string(name)] = {[f](L a) { return Result{f(a), false}; }};
    };
    const auto with = [&](Number number, double ulps) {
      return [&t, number, ulps](const char* name, std::function<u64(L)> f) {
        t["v_" + std::string(name)] = {[f](L a) { return Result{f(a), false}; }, number, ulps};
      };
    };
    const auto f16 = with(Number::f16, 0), f32 = with(Number::f32, 0), f64 = with(Number::f64, 0);
    const auto near32 = with(Number::f32, 1), near16 = with(Number::f16, 1), near64 = with(Number::f64, 1);
    const auto mask = [&](const std::string& name, std::function<bool(L)> f) {
      t["v_cmp_" + name] = {[f](L a) { return Result{0, f(a)}; }};
      t["v_cmpx_" + name] = t["v_cmp_" + name];
    };

    // Bits and integers.
    for (const char* name :
         {"mov_b32", "accvgpr_read_b32", "accvgpr_write_b32", "accvgpr_mov_b32", "mov_b64"}) {
      bits(name, [](L a) { return a.s[0]; });
    }
    bits("cndmask_b32", [](L a) { return a.carry ? a.s[1] : a.s[0]; });
    bits("not_b32", [](L a) { return zx(~a.s[0], 32); });
    bits("bfrev_b32", [](L a) {
      u32 r = 0;
      for (int n = 0; n < 32; ++n) {
        r |= (a.x() >> n & 1u) << (31 - n);
      }
      return r;
    });
    const auto first = [](u32 x, bool from_top) {
      for (u32 n = 0; n < 32; ++n) {
        if ((x >> (from_top ? 31 - n : n) & 1u) != 0) {
          return n;
        }
      }
      return ~u32{0};
    };
    bits("ffbh_u32", [first](L a) { return first(a.x(), true); });
    bits("ffbl_b32", [first](L a) { return first(a.x(), false); });
    bits("ffbh_i32", [first](L a) { return first((a.x() >> 31) != 0 ? ~a.x() : a.x(), true); });
    bits("and_b32", [](L a) { return a.x() & a.y(); });
    bits("or_b32", [](L a) { return a.x() | a.y(); });
    bits("xor_b32", [](L a) { return a.x() ^ a.y(); });
    bits("xnor_b32", [](L a) { return ~(a.x() ^ a.y()); });
    bits("lshlrev_b32", [](L a) { return a.y() << (a.x() & 31u); });
    bits("lshrrev_b32", [](L a) { return a.y() >> (a.x() & 31u); });
    bits("ashrrev_i32", [](L a) { return zx(static_cast<u64>(sx(a.y(), 32) >> (a.x() & 31u)), 32); });
    bits("lshlrev_b64", [](L a) { return a.s[1] << (a.x() & 63u); });
    bits("lshrrev_b64", [](L a) { return a.s[1] >> (a.x() & 63u); });
    bits("ashrrev_i64", [](L a) { return static_cast<u64>(static_cast<i64>(a.s[1]) >> (a.x() & 63u)); });
    bits("bfm_b32", [](L a) { return ((1u << (a.x() & 31u)) - 1) << (a.y() & 31u); });
    bits("bcnt_u32_b32", [](L a) { return static_cast<u32>(std::popcount(a.x())) + a.y(); });
    bits("mbcnt_lo_u32_b32",
         [](L a) { return a.y() + static_cast<u32>(std::popcount(a.x() & ((u64{1} << a.lane) - 1))); });
    bits("mbcnt_hi_u32_b32",
         [](L a) { return a.y() + static_cast<u32>(std::popcount(a.x() & ((u64{1} << a.lane) - 1) >> 32)); });
    bits("bfe_u32", [](L a) { return a.x() >> (a.y() & 31u) & ((1u << (a.z() & 31u)) - 1); });
    bits("bfe_i32", [](L a) {
      const int width = static_cast<int>(a.z() & 31u);
      return width == 0
                 ? 0
                 : zx(static_cast<u64>(sx(static_cast<u64>(sx(a.x(), 32) >> (a.y() & 31u)), width)), 32);
    });
    bits("bfi_b32", [](L a) { return (a.x() & a.y()) | (~a.x() & a.z()); });
    bits("alignbit_b32", [](L a) { return zx((u64{a.x()} << 32 | a.y()) >> (a.z() & 31u), 32); });
    bits("alignbyte_b32", [](L a) { return zx((u64{a.x()} << 32 | a.y()) >> 8 * (a.z() & 3u), 32); });
    bits("perm_b32", [](L a) {
      u32 r = 0;
      for (int n = 0; n < 4; ++n) {
        r |= permuted(u64{a.x()} << 32 | a.y(), byte(a.z(), n)) << 8 * n;
      }
      return r;
    });
    bits("lshl_add_u32", [](L a) { return (a.x() << (a.y() & 31u)) + a.z(); });
    bits("add_lshl_u32", [](L a) { return (a.x() + a.y()) << (a.z() & 31u); });
    bits("add3_u32", [](L a) { return a.x() + a.y() + a.z(); });
    bits("lshl_or_b32", [](L a) { return (a.x() << (a.y() & 31u)) | a.z(); });
    bits("and_or_b32", [](L a) { return (a.x() & a.y()) | a.z(); });
    bits("or3_b32", [](L a) { return a.x() | a.y() | a.z(); });
    bits("xad_u32", [](L a) { return (a.x() ^ a.y()) + a.z(); });
    bits("lshl_add_u64", [](L a) { return (a.s[0] << (a.y() & 7u)) + a.s[2]; });
    bits("add_u32", [](L a) {
      return a.clamp ? std::min<u64>(u64{a.x()} + a.y(), 0xffffffffu) : zx(a.s[0] + a.s[1], 32);
    });
    bits("sub_u32", [](L a) { return a.clamp && a.y() > a.x() ? 0u : a.x() - a.y(); });
    bits("subrev_u32", [](L a) { return a.clamp && a.x() > a.y() ? 0u : a.y() - a.x(); });
    bits("add_i32", [](L a) {
      const i64 r = sx(a.s[0], 32) + sx(a.s[1], 32);
      return zx(static_cast<u64>(a.clamp ? clamp_to(r, 32) : r), 32);
    });
    bits("sub_i32", [](L a) {
      const i64 r = sx(a.s[0], 32) - sx(a.s[1], 32);
      return zx(static_cast<u64>(a.clamp ? clamp_to(r, 32) : r), 32);
    });
    const auto carry = [&](const char* name, int sign, bool reversed, bool takes) {
      t["v_" + std::string(name)] = {[=](L a) {
        const u64 left = reversed ? a.y() : a.x(),
                  right = u64{reversed ? a.x() : a.y()} + (takes && a.carry ? 1 : 0);
        if (sign > 0) {
          const u64 sum = left + right;
          return Result{a.clamp && sum > 0xffffffffu ? 0xffffffffu : zx(sum, 32), sum > 0xffffffffu};
        }
        return Result{a.clamp && right > left ? 0 : zx(left - right, 32), right > left};
      }};
    };
    carry("add_co_u32", 1, false, false);
    carry("sub_co_u32", -1, false, false);
    carry("subrev_co_u32", -1, true, false);
    carry("addc_co_u32", 1, false, true);
    carry("subb_co_u32", -1, false, true);
    carry("subbrev_co_u32", -1, true, true);
    bits("mul_lo_u32", [](L a) { return a.x() * a.y(); });
    bits("mul_hi_u32", [](L a) { return u64{a.x()} * a.y() >> 32; });
    bits("mul_hi_i32", [](L a) { return zx(static_cast<u64>(sx(a.x(), 32) * sx(a.y(), 32) >> 32), 32); });
    bits("mul_i32_i24", [](L a) { return zx(static_cast<u64>(sx(a.x(), 24) * sx(a.y(), 24)), 32); });
    bits("mul_hi_i32_i24", [](L a) { return zx(static_cast<u64>(sx(a.x(), 24) * sx(a.y(), 24) >> 32), 32); });
    bits("mul_u32_u24", [](L a) { return zx(zx(a.x(), 24) * zx(a.y(), 24), 32); });
    bits("mul_hi_u32_u24", [](L a) { return zx(a.x(), 24) * zx(a.y(), 24) >> 32; });
    bits("mad_i32_i24", [](L a) {
      const i64 r = sx(a.x(), 24) * sx(a.y(), 24) + sx(a.z(), 32);
      return zx(static_cast<u64>(a.clamp ? clamp_to(r, 32) : r), 32);
    });
    bits("mad_u32_u24", [](L a) {
      const u64 r = zx(a.x(), 24) * zx(a.y(), 24) + a.z();
      return a.clamp ? std::min<u64>(r, 0xffffffffu) : zx(r, 32);
    });
    t["v_mad_u64_u32"] = {[](L a) {
      const u64 p = u64{a.x()} * a.y(), r = p + a.s[2];
      return Result{a.clamp && r < p ? ~u64{0} : r, r < p};
    }};
    t["v_mad_i64_i32"] = {[](L a) {
      const auto exact = static_cast<__int128>(sx(a.x(), 32) * sx(a.y(), 32)) +
                         static_cast<__int128>(static_cast<i64>(a.s[2]));
      const auto low = static_cast<i64>(static_cast<u64>(static_cast<unsigned __int128>(exact)));
      const bool over = exact != low;
      return Result{static_cast<u64>(a.clamp && over ? (exact < 0 ? std::numeric_limits<i64>::min()
                                                                  : std::numeric_limits<i64>::max())
                                                     : low),
                    over};
    }};
    struct Width {
      const char* suffix;
      int bits;
      bool is_signed;
    };
    for (const auto& [suffix, width, is_signed] :
         {Width{"i32", 32, true}, Width{"u32", 32, false}, Width{"i16", 16, true}, Width{"u16", 16, false}}) {
      const auto value = [=](u64 x) { return is_signed ? sx(x, width) : static_cast<i64>(zx(x, width)); };
      const auto put = [=](i64 x) { return zx(static_cast<u64>(x), width); };
      const auto name = [&](const char* op) { return std::string(op) + "_" + suffix; };
      bits(name("min").c_str(), [=](L a) { return put(std::min(value(a.s[0]), value(a.s[1]))); });
      bits(name("max").c_str(), [=](L a) { return put(std::max(value(a.s[0]), value(a.s[1]))); });
      bits(name("min3").c_str(), [=](L a) {
        return put(std::min({value(a.s[0]), value(a.s[1]), value(a.s[2])}));
      });
      bits(name("max3").c_str(), [=](L a) {
        return put(std::max({value(a.s[0]), value(a.s[1]), value(a.s[2])}));
      });
      bits(name("med3").c_str(), [=](L a) {
        i64 v[3] = {value(a.s[0]), value(a.s[1]), value(a.s[2])};
        std::sort(v, v + 3);
        return put(v[1]);
      });
    }
    bits("sad_u8", [](L a) { return sad(a.x(), a.y(), a.z(), false); });
    bits("msad_u8", [](L a) { return sad(a.x(), a.y(), a.z(), true); });
    bits("sad_hi_u8", [](L a) { return (sad(a.x(), a.y(), 0, false) << 16) + a.z(); });
    bits("sad_u16", [](L a) {
      const auto d = [](u32 x, u32 y) { return x > y ? x - y : y - x; };
      return zx(u64{d(a.x() & 0xffffu, a.y() & 0xffffu)} + d(a.x() >> 16, a.y() >> 16) + a.z(), 32);
    });
    bits("sad_u32", [](L a) { return (a.x() > a.y() ? a.x() - a.y() : a.y() - a.x()) + a.z(); });
    const auto quad_sad = [](L a, bool masked) {
      u64 r = 0;
      for (int n = 0; n < 4; ++n) {
        r |= zx(sad(static_cast<u32>(a.s[0] >> 8 * n), a.y(), static_cast<u32>(zx(a.s[2] >> 16 * n, 16)),
                    masked),
                16)
             << 16 * n;
      }
      return r;
    };
    bits("qsad_pk_u16_u8", [=](L a) { return quad_sad(a, false); });
    bits("mqsad_pk_u16_u8", [=](L a) { return quad_sad(a, true); });
    bits("lerp_u8", [](L a) {
      u32 r = 0;
      for (int n = 0; n < 4; ++n) {
        r |= (byte(a.x(), n) + byte(a.y(), n) + (byte(a.z(), n) & 1u)) >> 1 << 8 * n;
      }
      return r;
    });
    const auto sum16 = [&](const char* name, std::function<i64(i64, i64)> op, bool is_signed) {
      bits(name, [=](L a) {
        const auto v = [=](u64 x) { return is_signed ? sx(x, 16) : static_cast<i64>(zx(x, 16)); };
        const i64 r = op(v(a.s[0]), v(a.s[1]));
        return a.clamp ? (is_signed ? zx(static_cast<u64>(clamp_to(r, 16)), 16) : clamp_unsigned(r, 16))
                       : zx(static_cast<u64>(r), 16);
      });
    };
    sum16(
        "add_u16", [](i64 x, i64 y) { return x + y; }, false);
    sum16(
        "sub_u16", [](i64 x, i64 y) { return x - y; }, false);
    sum16(
        "subrev_u16", [](i64 x, i64 y) { return y - x; }, false);
    sum16(
        "add_i16", [](i64 x, i64 y) { return x + y; }, true);
    sum16(
        "sub_i16", [](i64 x, i64 y) { return x - y; }, true);
    bits("mul_lo_u16", [](L a) { return zx(a.s[0] * a.s[1], 16); });
    bits("lshlrev_b16", [](L a) { return zx(a.s[1] << (a.x() & 15u), 16); });
    bits("lshrrev_b16", [](L a) { return zx(a.s[1], 16) >> (a.x() & 15u); });
    bits("ashrrev_i16", [](L a) { return zx(static_cast<u64>(sx(a.s[1], 16) >> (a.x() & 15u)), 16); });
    for (const char* name : {"mad_u16", "mad_legacy_u16"})
      bits(name, [](L a) {
        const u64 r = zx(a.s[0], 16) * zx(a.s[1], 16) + zx(a.s[2], 16);
        return a.clamp ? std::min<u64>(r, 0xffffu) : zx(r, 16);
      });
    for (const char* name : {"mad_i16", "mad_legacy_i16"})
      bits(name, [](L a) {
        const i64 r = sx(a.s[0], 16) * sx(a.s[1], 16) + sx(a.s[2], 16);
        return zx(static_cast<u64>(a.clamp ? clamp_to(r, 16) : r), 16);
      });
    bits("mad_u32_u16", [](L a) {
      const u64 r = zx(a.s[0], 16) * zx(a.s[1], 16) + a.z();
      return a.clamp ? std::min<u64>(r, 0xffffffffu) : zx(r, 32);
    });
    bits("mad_i32_i16", [](L a) {
      const i64 r = sx(a.s[0], 16) * sx(a.s[1], 16) + sx(a.z(), 32);
      return zx(static_cast<u64>(a.clamp ? clamp_to(r, 32) : r), 32);
    });
    bits("pack_b32_f16", [](L a) { return zx(a.s[0], 16) | zx(a.s[1], 16) << 16; });
    bits("sat_pk_u8_i16",
         [](L a) { return clamp_unsigned(sx(a.x(), 16), 8) | clamp_unsigned(sx(a.x() >> 16, 16), 8) << 8; });
    bits("ashr_pk_i8_i32", [](L a) {
      return zx(static_cast<u64>(clamp_to(sx(a.x(), 32) >> (a.z() & 31u), 8)), 8) |
             zx(static_cast<u64>(clamp_to(sx(a.y(), 32) >> (a.z() & 31u), 8)), 8) << 8;
    });
    bits("ashr_pk_u8_i32", [](L a) {
      return clamp_unsigned(sx(a.x(), 32) >> (a.z() & 31u), 8) |
             clamp_unsigned(sx(a.y(), 32) >> (a.z() & 31u), 8) << 8;
    });
    bits("prng_b32", [](L a) { return prng(a.x()); });

    // f32.
    f32("add_f32", [](L a) { return b(a.f(0) + a.f(1)); });
    f32("sub_f32", [](L a) { return b(a.f(0) - a.f(1)); });
    f32("subrev_f32", [](L a) { return b(a.f(1) - a.f(0)); });
    f32("mul_f32", [](L a) { return b(a.f(0) * a.f(1)); });
    f32("mul_legacy_f32", [](L a) { return a.f(0) == 0 || a.f(1) == 0 ? b(0.0f) : b(a.f(0) * a.f(1)); });
    f32("min_f32", [](L a) { return b(minimum_number(a.f(0), a.f(1), a.ieee)); });
    f32("max_f32", [](L a) { return b(maximum_number(a.f(0), a.f(1), a.ieee)); });
    f32("min3_f32",
        [](L a) { return b(minimum_number(minimum_number(a.f(0), a.f(1), a.ieee), a.f(2), a.ieee)); });
    f32("max3_f32",
        [](L a) { return b(maximum_number(maximum_number(a.f(0), a.f(1), a.ieee), a.f(2), a.ieee)); });
    f32("med3_f32", [](L a) { return b(median(a.f(0), a.f(1), a.f(2), a.ieee)); });
    f32("minimum3_f32", [](L a) { return b(minimum(minimum(a.f(0), a.f(1)), a.f(2))); });
    f32("maximum3_f32", [](L a) { return b(maximum(maximum(a.f(0), a.f(1)), a.f(2))); });
    for (const char* name : {"fma_f32", "fmac_f32"}) {
      f32(name, [](L a) { return b(std::fma(a.f(0), a.f(1), a.f(2))); });
    }
    f32("fmamk_f32", [](L a) { return b(std::fma(a.f(0), a.f(1), a.f(2))); });
    f32("fmaak_f32", [](L a) { return b(std::fma(a.f(0), a.f(1), a.f(2))); });
    f32("trunc_f32", [](L a) { return b(std::trunc(a.f(0))); });
    f32("ceil_f32", [](L a) { return b(std::ceil(a.f(0))); });
    f32("floor_f32", [](L a) { return b(std::floor(a.f(0))); });
    f32("rndne_f32", [](L a) { return b(rndne(a.f(0))); });
    f32("fract_f32", [](L a) { return b(fract(a.f(0))); });
    for (const char* name : {"exp_f32", "exp_legacy_f32"}) {
      near32(name, [](L a) { return b(exp2_flushed(a.f(0))); });
    }
    for (const char* name : {"log_f32", "log_legacy_f32"}) {
      near32(name, [](L a) { return b(log2_flushed(a.f(0))); });
    }
    for (const char* name : {"rcp_f32", "rcp_iflag_f32"}) {
      near32(name, [](L a) { return b(rcp(a.f(0))); });
    }
    near32("rsq_f32", [](L a) { return b(rsq(a.f(0))); });
    near32("sqrt_f32", [](L a) { return b(sqrt_flushed(a.f(0))); });
    near32("sin_f32", [](L a) { return b(sin_turns(a.f(0))); });
    near32("cos_f32", [](L a) { return b(cos_turns(a.f(0))); });
    bits("frexp_exp_i32_f32",
         [](L a) { return zx(static_cast<u64>(frexp_exponent(static_cast<double>(a.f(0)))), 32); });
    f32("frexp_mant_f32", [](L a) { return b(frexp_mantissa(a.f(0))); });
    f32("ldexp_f32", [](L a) { return b(ldexp_any(a.f(0), static_cast<i32>(a.y()))); });
    t["v_div_scale_f32"] = {[](L a) {
                              const auto r = div_scale(a.f(0), a.f(1), a.f(2));
                              return Result{b(r.value), r.rescale};
                            },
                            Number::f32};
    f32("div_fmas_f32", [](L a) { return b(div_fmas(a.f(0), a.f(1), a.f(2), a.carry)); });
    f32("div_fixup_f32", [](L a) { return b(div_fixup(a.f(0), a.f(1), a.f(2))); });
    f32("cubeid_f32", [](L a) {
      const int axis = major_axis(a);
      return b(static_cast<float>(2 * axis + (a.f(axis) < 0 ? 1 : 0)));
    });
    f32("cubema_f32", [](L a) { return b(a.f(major_axis(a)) * 2); });
    f32("cubesc_f32", [](L a) {
      switch (major_axis(a)) {
      case 2: return b(a.f(2) < 0 ? -a.f(0) : a.f(0));
      case 1: return b(a.f(0));
      default: return b(a.f(0) < 0 ? a.f(2) : -a.f(2));
      }
    });
    f32("cubetc_f32", [](L a) { return major_axis(a) == 1 ? b(a.f(1) < 0 ? -a.f(2) : a.f(2)) : b(-a.f(1)); });

    // f64.
    f64("add_f64", [](L a) { return b(a.g(0) + a.g(1)); });
    f64("mul_f64", [](L a) { return b(a.g(0) * a.g(1)); });
    f64("min_f64", [](L a) { return b(minimum_number(a.g(0), a.g(1), a.ieee)); });
    f64("max_f64", [](L a) { return b(maximum_number(a.g(0), a.g(1), a.ieee)); });
    for (const char* name : {"fma_f64", "fmac_f64"}) {
      f64(name, [](L a) { return b(std::fma(a.g(0), a.g(1), a.g(2))); });
    }
    f64("trunc_f64", [](L a) { return b(std::trunc(a.g(0))); });
    f64("ceil_f64", [](L a) { return b(std::ceil(a.g(0))); });
    f64("floor_f64", [](L a) { return b(std::floor(a.g(0))); });
    f64("rndne_f64", [](L a) { return b(rndne(a.g(0))); });
    f64("fract_f64", [](L a) { return b(fract(a.g(0))); });
    near64("rcp_f64", [](L a) { return b(rcp(a.g(0))); });
    near64("rsq_f64", [](L a) { return b(rsq(a.g(0))); });
    near64("sqrt_f64", [](L a) { return b(std::sqrt(a.g(0))); });
    bits("frexp_exp_i32_f64", [](L a) { return zx(static_cast<u64>(frexp_exponent(a.g(0))), 32); });
    f64("frexp_mant_f64", [](L a) { return b(frexp_mantissa(a.g(0))); });
    f64("ldexp_f64", [](L a) { return b(ldexp_any(a.g(0), static_cast<i32>(a.y()))); });
    t["v_div_scale_f64"] = {[](L a) {
                              const auto r = div_scale(a.g(0), a.g(1), a.g(2));
                              return Result{b(r.value), r.rescale};
                            },
                            Number::f64};
    f64("div_fmas_f64", [](L a) { return b(div_fmas(a.g(0), a.g(1), a.g(2), a.carry)); });
    f64("div_fixup_f64", [](L a) { return b(div_fixup(a.g(0), a.g(1), a.g(2))); });
    f64("trig_preop_f64", [](L a) { return b(trig_preop(a.g(0), a.y())); });

    // f16.
    const auto wide = [](L a, int n) { return static_cast<double>(a.h(n)); };
    f16("add_f16", [=](L a) { return half(wide(a, 0) + wide(a, 1)); });
    f16("sub_f16", [=](L a) { return half(wide(a, 0) - wide(a, 1)); });
    f16("subrev_f16", [=](L a) { return half(wide(a, 1) - wide(a, 0)); });
    f16("mul_f16", [=](L a) { return half(wide(a, 0) * wide(a, 1)); });
    f16("min_f16", [](L a) { return f16_minimum_number(a.x(), a.y(), a.ieee); });
    f16("max_f16", [](L a) { return f16_maximum_number(a.x(), a.y(), a.ieee); });
    f16("min3_f16",
        [](L a) { return f16_minimum_number(f16_minimum_number(a.x(), a.y(), a.ieee), a.z(), a.ieee); });
    f16("max3_f16",
        [](L a) { return f16_maximum_number(f16_maximum_number(a.x(), a.y(), a.ieee), a.z(), a.ieee); });
    f16("med3_f16", [](L a) { return f16_median(a.x(), a.y(), a.z(), a.ieee); });
    for (const char* name : {"fma_f16", "fmac_f16", "fma_legacy_f16"}) {
      f16(name, [](L a) { return narrow_fma<Format::f16>(a.h(0), a.h(1), a.h(2)); });
    }
    f16("trunc_f16", [](L a) { return narrow<Format::f16>(std::trunc(a.h(0))); });
    f16("ceil_f16", [](L a) { return narrow<Format::f16>(std::ceil(a.h(0))); });
    f16("floor_f16", [](L a) { return narrow<Format::f16>(std::floor(a.h(0))); });
    f16("rndne_f16", [](L a) { return narrow<Format::f16>(rndne(a.h(0))); });
    f16("fract_f16", [](L a) { return narrow<Format::f16>(fract_f16(a.h(0))); });
    near16("rcp_f16", [=](L a) { return half(1.0 / wide(a, 0)); });
    near16("sqrt_f16", [=](L a) { return half(std::sqrt(wide(a, 0))); });
    near16("rsq_f16", [=](L a) { return half(1.0 / std::sqrt(wide(a, 0))); });
    near16("exp_f16", [=](L a) { return half(std::exp2(wide(a, 0))); });
    near16("log_f16", [=](L a) { return half(std::log2(wide(a, 0))); });
    near16("sin_f16", [](L a) { return narrow<Format::f16>(sin_turns(a.h(0))); });
    near16("cos_f16", [](L a) { return narrow<Format::f16>(cos_turns(a.h(0))); });
    f16("frexp_mant_f16", [](L a) { return narrow<Format::f16>(frexp_mantissa(a.h(0))); });
    bits("frexp_exp_i16_f16", [=](L a) { return zx(static_cast<u64>(frexp_exponent(wide(a, 0))), 16); });
    f16("ldexp_f16", [=](L a) { return half(std::ldexp(wide(a, 0), static_cast<int>(sx(a.y(), 16)))); });
    f16("div_fixup_legacy_f16",
        [](L a) { return narrow<Format::f16>(div_fixup_f16(a.h(0), a.h(1), a.h(2))); });
    f16("div_fixup_f16", [](L a) { return narrow<Format::f16>(div_fixup_f16(a.h(0), a.h(1), a.h(2))); });

    // Conversions.
    f32("cvt_f32_i32", [](L a) { return b(static_cast<float>(static_cast<i32>(a.x()))); });
    f32("cvt_f32_u32", [](L a) { return b(static_cast<float>(a.x())); });
    bits("cvt_i32_f32",
         [](L a) { return zx(static_cast<u64>(to_integer<i32>(static_cast<double>(a.f(0)))), 32); });
    bits("cvt_u32_f32", [](L a) { return to_integer<u32>(static_cast<double>(a.f(0))); });
    bits("cvt_rpi_i32_f32", [](L a) { return zx(static_cast<u64>(round_half_up(a.f(0))), 32); });
    bits("cvt_flr_i32_f32", [](L a) { return zx(static_cast<u64>(floor_integer(a.f(0))), 32); });
    f32("cvt_off_f32_i4", [](L a) { return b(offset_i4(a.x())); });
    f16("cvt_f16_f32", [](L a) { return narrow<Format::f16>(a.f(0), Rounding::nearest_even, a.overflow()); });
    f32("cvt_f32_f16", [](L a) { return b(a.h(0)); });
    f32("cvt_f32_bf16", [](L a) { return zx(a.s[0] << 16, 32); });
    f32("cvt_f32_f64", [](L a) { return b(static_cast<float>(a.g(0))); });
    f64("cvt_f64_f32", [](L a) { return b(static_cast<double>(a.f(0))); });
    f64("cvt_f64_i32", [](L a) { return b(static_cast<double>(static_cast<i32>(a.x()))); });
    f64("cvt_f64_u32", [](L a) { return b(static_cast<double>(a.x())); });
    bits("cvt_i32_f64", [](L a) { return zx(static_cast<u64>(to_integer<i32>(a.g(0))), 32); });
    bits("cvt_u32_f64", [](L a) { return to_integer<u32>(a.g(0)); });
    for (int n = 0; n < 4; ++n) {
      f32(("cvt_f32_ubyte" + std::to_string(n)).c_str(),
          [n](L a) { return b(static_cast<float>(byte(a.x(), n))); });
    }
    f16("cvt_f16_u16", [](L a) { return half(static_cast<double>(zx(a.s[0], 16))); });
    f16("cvt_f16_i16", [](L a) { return half(static_cast<double>(sx(a.s[0], 16))); });
    bits("cvt_u16_f16", [=](L a) { return to_integer<u16>(wide(a, 0)); });
    bits("cvt_i16_f16", [=](L a) { return zx(static_cast<u64>(to_integer<i16>(wide(a, 0))), 16); });
    const auto snorm = [](float x) { return zx(static_cast<u64>(to_snorm16(x)), 16); };
    const auto unorm = [](float x) { return u64{to_unorm16(x)}; };
    bits("cvt_norm_i16_f16", [=](L a) { return snorm(a.h(0)); });
    bits("cvt_norm_u16_f16", [=](L a) { return unorm(a.h(0)); });
    bits("cvt_pknorm_i16_f32", [=](L a) { return snorm(a.f(0)) | snorm(a.f(1)) << 16; });
    bits("cvt_pknorm_u16_f32", [=](L a) { return unorm(a.f(0)) | unorm(a.f(1)) << 16; });
    bits("cvt_pknorm_i16_f16", [=](L a) { return snorm(a.h(0)) | snorm(a.h(1)) << 16; });
    bits("cvt_pknorm_u16_f16", [=](L a) { return unorm(a.h(0)) | unorm(a.h(1)) << 16; });
    const auto packed = with(Number::packed_f16, 0);
    packed("cvt_pkrtz_f16_f32", [](L a) {
      return narrow<Format::f16>(a.f(0), Rounding::toward_zero) |
             narrow<Format::f16>(a.f(1), Rounding::toward_zero) << 16;
    });
    bits("cvt_pk_u16_u32", [](L a) { return std::min(a.x(), 0xffffu) | std::min(a.y(), 0xffffu) << 16; });
    bits("cvt_pk_i16_i32", [](L a) {
      return zx(static_cast<u64>(clamp_to(sx(a.x(), 32), 16)), 16) |
             zx(static_cast<u64>(clamp_to(sx(a.y(), 32), 16)), 16) << 16;
    });
    packed("cvt_pk_f16_f32",
           [](L a) { return narrow<Format::f16>(a.f(0)) | narrow<Format::f16>(a.f(1)) << 16; });
    bits("cvt_pk_bf16_f32",
         [](L a) { return narrow<Format::bf16>(a.f(0)) | narrow<Format::bf16>(a.f(1)) << 16; });
    for (const bool wide8 : {false, true}) { // bf8
      const std::string type = wide8 ? "bf8" : "fp8";
      const auto format = [wide8](L a) {
        return wide8 ? (a.ocp ? Format::e5m2 : Format::e5m2fnuz)
                     : (a.ocp ? Format::e4m3fn : Format::e4m3fnuz);
      };
      f32(("cvt_f32_" + type).c_str(), [format](L a) { return b(widen(format(a), a.x() & 0xffu)); });
      with(Number::packed_f32, 0)(("cvt_pk_f32_" + type).c_str(), [format](L a) {
        const u32 word = (a.op_sel & 1u) != 0 ? a.x() >> 16 : a.x();
        return b(widen(format(a), word & 0xffu)) | b(widen(format(a), word >> 8 & 0xffu)) << 32;
      });
      bits(("cvt_pk_" + type + "_f32").c_str(), [format](L a) {
        const u32 pair = narrow(format(a), a.f(0), Rounding::nearest_even, a.overflow()) |
                         narrow(format(a), a.f(1), Rounding::nearest_even, a.overflow()) << 8;
        return (a.op_sel & 8u) != 0 ? (a.z() & 0xffffu) | pair << 16 : (a.z() & 0xffff0000u) | pair;
      });
      bits(("cvt_sr_" + type + "_f32").c_str(), [format](L a) {
        const int at = 8 * static_cast<int>(a.op_sel >> 2 & 3u);
        return (a.z() & ~(0xffu << at)) | narrow(format(a), a.f(0), Rounding::stochastic, a.overflow(), a.y())
                                              << at;
      });
    }

    const auto one_half = [](L a, u32 code) {
      return (a.op_sel & 8u) != 0 ? (a.z() & 0xffffu) | code << 16 : (a.z() & 0xffff0000u) | code;
    };
    bits("cvt_sr_f16_f32", [=](L a) {
      return one_half(a, narrow<Format::f16>(a.f(0), Rounding::stochastic, a.overflow(), a.y()));
    });
    bits("cvt_sr_bf16_f32", [=](L a) {
      return one_half(a, narrow<Format::bf16>(a.f(0), Rounding::stochastic, a.overflow(), a.y()));
    });

    // Packed and mixed.
    const auto pairs = [&](const char* name, std::function<u64(L, bool)> f) {
      t["v_pk_" + std::string(name)] = {[f](L a) {
        return Result{zx(f(a, false), 16) | zx(f(a, true), 16) << 16, false};
      }};
    };
    const auto pairs_f16 = [&](const char* name, std::function<u64(L, bool)> f) {
      pairs(name, f);
      t["v_pk_" + std::string(name)].number = Number::packed_f16;
    };
    pairs("mul_lo_u16", [](L a, bool h) { return u64{half_of(a, 0, h)} * half_of(a, 1, h); });
    pairs("lshlrev_b16", [](L a, bool h) { return u64{half_of(a, 1, h)} << (half_of(a, 0, h) & 15u); });
    pairs("lshrrev_b16", [](L a, bool h) { return u64{half_of(a, 1, h)} >> (half_of(a, 0, h) & 15u); });
    pairs("ashrrev_i16",
          [](L a, bool h) { return static_cast<u64>(sx(half_of(a, 1, h), 16) >> (half_of(a, 0, h) & 15u)); });
    const auto pair_sum = [&](const char* name, int sign, bool is_signed) {
      pairs(name, [=](L a, bool h) {
        const auto v = [&](int n) {
          return is_signed ? sx(half_of(a, n, h), 16) : static_cast<i64>(half_of(a, n, h));
        };
        const i64 r = v(0) + sign * v(1);
        return a.clamp ? (is_signed ? static_cast<u64>(clamp_to(r, 16)) : clamp_unsigned(r, 16))
                       : static_cast<u64>(r);
      });
    };
    pair_sum("add_i16", 1, true);
    pair_sum("sub_i16", -1, true);
    pair_sum("add_u16", 1, false);
    pair_sum("sub_u16", -1, false);
    pairs("max_i16", [](L a, bool h) {
      return static_cast<u64>(std::max(sx(half_of(a, 0, h), 16), sx(half_of(a, 1, h), 16)));
    });
    pairs("min_i16", [](L a, bool h) {
      return static_cast<u64>(std::min(sx(half_of(a, 0, h), 16), sx(half_of(a, 1, h), 16)));
    });
    pairs("max_u16", [](L a, bool h) { return u64{std::max(half_of(a, 0, h), half_of(a, 1, h))}; });
    pairs("min_u16", [](L a, bool h) { return u64{std::min(half_of(a, 0, h), half_of(a, 1, h))}; });
    pairs("mad_i16", [](L a, bool h) {
      const i64 r = sx(half_of(a, 0, h), 16) * sx(half_of(a, 1, h), 16) + sx(half_of(a, 2, h), 16);
      return static_cast<u64>(a.clamp ? clamp_to(r, 16) : r);
    });
    pairs("mad_u16", [](L a, bool h) {
      const u64 r = u64{half_of(a, 0, h)} * half_of(a, 1, h) + half_of(a, 2, h);
      return a.clamp ? std::min<u64>(r, 0xffffu) : r;
    });
    pairs_f16("add_f16", [](L a, bool h) {
      return half(static_cast<double>(packed_half(a, 0, h)) + static_cast<double>(packed_half(a, 1, h)));
    });
    pairs_f16("mul_f16", [](L a, bool h) {
      return half(static_cast<double>(packed_half(a, 0, h)) * static_cast<double>(packed_half(a, 1, h)));
    });
    pairs_f16("min_f16", [](L a, bool h) {
      return f16_minimum_number(half_of(a, 0, h, true), half_of(a, 1, h, true), a.ieee);
    });
    pairs_f16("max_f16", [](L a, bool h) {
      return f16_maximum_number(half_of(a, 0, h, true), half_of(a, 1, h, true), a.ieee);
    });
    for (const char* name : {"fma_f16", "fmac_f16"}) {
      pairs_f16(name, [](L a, bool h) {
        return narrow_fma<Format::f16>(packed_half(a, 0, h), packed_half(a, 1, h), packed_half(a, 2, h));
      });
    }
    pairs_f16("minimum3_f16", [](L a, bool h) {
      return narrow<Format::f16>(
          minimum(minimum(packed_half(a, 0, h), packed_half(a, 1, h)), packed_half(a, 2, h)));
    });
    pairs_f16("maximum3_f16", [](L a, bool h) {
      return narrow<Format::f16>(
          maximum(maximum(packed_half(a, 0, h), packed_half(a, 1, h)), packed_half(a, 2, h)));
    });
    const auto words = with(Number::packed_f32, 0);
    words("pk_fma_f32", [](L a) {
      return b(std::fma(packed_word(a, 0, false), packed_word(a, 1, false), packed_word(a, 2, false))) |
             b(std::fma(packed_word(a, 0, true), packed_word(a, 1, true), packed_word(a, 2, true))) << 32;
    });
    words("pk_mul_f32", [](L a) {
      return b(packed_word(a, 0, false) * packed_word(a, 1, false)) |
             b(packed_word(a, 0, true) * packed_word(a, 1, true)) << 32;
    });
    words("pk_add_f32", [](L a) {
      return b(packed_word(a, 0, false) + packed_word(a, 1, false)) |
             b(packed_word(a, 0, true) + packed_word(a, 1, true)) << 32;
    });
    bits("pk_mov_b32", [](L a) {
      const u64 low = (a.op_sel & 1u) != 0 ? a.s[0] >> 32 : zx(a.s[0], 32);
      const u64 high = (a.op_sel & 2u) != 0 ? a.s[1] >> 32 : zx(a.s[1], 32);
      return low | high << 32;
    });

    // Dot products: integers exactly (clamp saturates the sum), floats within the rounding of their two products.
    const auto dot = [](L a, int count, int width, bool is_signed, bool selects = false) {
      i64 sum = is_signed ? sx(a.z(), 32) : static_cast<i64>(a.z());
      for (int n = 0; n < count; ++n) {
        const u64 x = selects ? half_of(a, 0, n == 1) : a.s[0] >> n * width;
        const u64 y = selects ? half_of(a, 1, n == 1) : a.s[1] >> n * width;
        sum += is_signed ? sx(x, width) * sx(y, width) : static_cast<i64>(zx(x, width) * zx(y, width));
      }
      return a.clamp ? (is_signed ? zx(static_cast<u64>(clamp_to(sum, 32)), 32) : clamp_unsigned(sum, 32))
                     : zx(static_cast<u64>(sum), 32);
    };
    for (const char* name : {"dot4_i32_i8", "dot4c_i32_i8"}) {
      bits(name, [=](L a) { return dot(a, 4, 8, true); });
    }
    for (const char* name : {"dot8_i32_i4", "dot8c_i32_i4"}) {
      bits(name, [=](L a) { return dot(a, 8, 4, true); });
    }
    bits("dot2_i32_i16", [=](L a) { return dot(a, 2, 16, true, true); });
    bits("dot2c_i32_i16", [=](L a) { return dot(a, 2, 16, true); });
    bits("dot4_u32_u8", [=](L a) { return dot(a, 4, 8, false); });
    bits("dot8_u32_u4", [=](L a) { return dot(a, 8, 4, false); });
    bits("dot2_u32_u16", [=](L a) { return dot(a, 2, 16, false, true); });
    // The manual adds two products in order and says nothing of the width in between.
    for (const bool brain : {false, true}) {
      for (const bool accumulates : {false, true}) {
        const std::string name =
            std::string(accumulates ? "v_dot2c_f32_" : "v_dot2_f32_") + (brain ? "bf16" : "f16");
        const auto term = [brain](L a, int n, bool high) {
          const u32 code = half_of(a, n, high, true);
          return static_cast<double>(brain ? widen<Format::bf16>(code) : widen<Format::f16>(code));
        };
        t[name] = {[=](L a) {
                     return Result{b(static_cast<float>(
                         term(a, 0, false) * term(a, 1, false) + term(a, 0, true) * term(a, 1, true) +
                         static_cast<double>((a.neg_lo & 4u) != 0 ? -a.f(2) : a.f(2))))};
                   },
                   Number::f32, 0,
                   [=](L a, u64 got) {
                     const double x = term(a, 0, false) * term(a, 1, false),
                                  y = term(a, 0, true) * term(a, 1, true);
                     const double z = static_cast<double>((a.neg_lo & 4u) != 0 ? -a.f(2) : a.f(2));
                     const auto value = static_cast<double>(std::bit_cast<float>(static_cast<u32>(got)));
                     const double sum = x + y + z;
                     const double slack =
                         std::max(0x1p-148, (std::fabs(x) + std::fabs(y) + std::fabs(z)) * 0x1p-22);
                     if (std::isnan(sum) || std::isnan(value)) {
                       return std::isnan(sum) == std::isnan(value) || slack > 0x1p127;
                     }
                     return value == sum || std::fabs(value - sum) <= slack || slack > 0x1p104;
                   }};
      }
    }

    const auto looked_up = [](L a, int width) {
      u64 r = 0;
      for (int n = 0; n < width; ++n) {
        const auto at = (a.s[0] >> n & 1u) << 2 | (a.s[1] >> n & 1u) << 1 | (a.s[2] >> n & 1u);
        r |= u64{a.truth >> at & 1u} << n;
      }
      return r;
    };
    bits("bitop3_b32", [=](L a) { return looked_up(a, 32); });
    bits("bitop3_b16", [=](L a) { return looked_up(a, 16); });
    for (const char* name : {"cvt_pk_u8_f32", "cvt_pkaccum_u8_f32"})
      bits(name, [](L a) {
        const u32 at = 8 * (a.y() & 3u);
        return (a.z() & ~(0xffu << at)) | u32{to_integer<u8>(static_cast<double>(rndne(a.f(0))))} << at;
      });
    for (const char* name : {"mad_f32", "mac_f32", "madmk_f32", "madak_f32"})
      f32(name, [](L a) { return b(flush(flush(a.f(0)) * flush(a.f(1)) + flush(a.f(2)))); });
    f32("mad_legacy_f32", [](L a) {
      const float x = flush(a.f(0)), y = flush(a.f(1));
      return b(flush((x == 0 || y == 0 ? 0.0f : x * y) + flush(a.f(2))));
    });
    for (const char* name : {"mad_f16", "mac_f16", "mad_legacy_f16", "madak_f16", "madmk_f16"}) {
      f16(name, [=](L a) {
        return half(static_cast<double>(widen<Format::f16>(static_cast<u32>(half(wide(a, 0) * wide(a, 1))))) +
                    wide(a, 2));
      });
    }
    // OPSEL_HI makes a source f16, OPSEL picks its half; NEG_HI is the absolute value, NEG_LO the sign.
    const auto mixed = [](L a) {
      float v[3];
      for (int n = 0; n < 3; ++n) {
        const u32 code =
            (a.op_sel >> n & 1u) != 0 ? static_cast<u32>(a.s[n] >> 16) : static_cast<u32>(a.s[n]);
        v[n] = (a.op_sel_hi >> n & 1u) != 0 ? widen<Format::f16>(code & 0xffffu) : a.f(n);
        v[n] = (a.neg_hi >> n & 1u) != 0 ? std::fabs(v[n]) : v[n];
        v[n] = (a.neg_lo >> n & 1u) != 0 ? -v[n] : v[n];
      }
      return std::fma(v[0], v[1], v[2]);
    };
    f32("fma_mix_f32", [=](L a) { return b(mixed(a)); });
    f16("fma_mixlo_f16", [=](L a) { return narrow<Format::f16>(mixed(a)); });
    f16("fma_mixhi_f16", [=](L a) { return narrow<Format::f16>(mixed(a)); });

    // Compares.
    struct Relation {
      const char* name;
      bool less, equal, greater, unordered;
    };
    constexpr Relation float_relations[] = {
        {"f", false, false, false, false}, {"lt", true, false, false, false},
        {"eq", false, true, false, false}, {"le", true, true, false, false},
        {"gt", false, false, true, false}, {"lg", true, false, true, false},
        {"ge", false, true, true, false},  {"o", true, true, true, false},
        {"u", false, false, false, true},  {"nge", true, false, false, true},
        {"nlg", false, true, false, true}, {"ngt", true, true, false, true},
        {"nle", false, false, true, true}, {"neq", true, false, true, true},
        {"nlt", false, true, true, true},  {"tru", true, true, true, true}};
    for (const auto& r : float_relations) {
      const auto holds = [r](double x, double y) {
        return x < y ? r.less : x > y ? r.greater : x == y ? r.equal : r.unordered;
      };
      mask(std::string(r.name) + "_f32",
           [=](L a) { return holds(static_cast<double>(a.f(0)), static_cast<double>(a.f(1))); });
      mask(std::string(r.name) + "_f16",
           [=](L a) { return holds(static_cast<double>(a.h(0)), static_cast<double>(a.h(1))); });
      mask(std::string(r.name) + "_f64", [=](L a) { return holds(a.g(0), a.g(1)); });
    }
    constexpr Relation integer_relations[] = {
        {"f", false, false, false, false}, {"lt", true, false, false, false},
        {"eq", false, true, false, false}, {"le", true, true, false, false},
        {"gt", false, false, true, false}, {"ne", true, false, true, false},
        {"ge", false, true, true, false},  {"t", true, true, true, false}};
    for (const auto& r : integer_relations) {
      for (const int width : {16, 32, 64}) {
        mask(std::string(r.name) + "_i" + std::to_string(width), [=](L a) {
          const i64 x = sx(a.s[0], width), y = sx(a.s[1], width);
          return x < y ? r.less : x > y ? r.greater : r.equal;
        });
        mask(std::string(r.name) + "_u" + std::to_string(width), [=](L a) {
          const u64 x = zx(a.s[0], width), y = zx(a.s[1], width);
          return x < y ? r.less : x > y ? r.greater : r.equal;
        });
      }
    }
    mask("class_f32", [](L a) { return (class_of(a.f(0)) & a.y()) != 0; });
    mask("class_f64", [](L a) { return (class_of(a.g(0)) & a.y()) != 0; });
    mask("class_f16", [](L a) {
      const u32 x = a.x() & 0xffffu, m = x & 0x7fffu;
      const bool negative = (x & 0x8000u) != 0;
      const u32 c = m > 0x7c00u    ? ((m & 0x200u) == 0 ? 1u : 2u)
                    : m == 0x7c00u ? (negative ? 4u : 0x200u)
                    : m >= 0x400u  ? (negative ? 8u : 0x100u)
                    : m != 0       ? (negative ? 0x10u : 0x80u)
                    : negative     ? 0x20u
                                   : 0x40u;
      return (c & a.y()) != 0;
    });
    return t;
  }();
  return table;
}

/// The rule of a mnemonic, or nullptr.
inline const Rule* rule(std::string_view mnemonic) {
  const auto found = rules().find(mnemonic);
  return found == rules().end() ? nullptr : &found->second;
}

/// Whether `got` is as near to `want` as the rule demands.
inline bool close(const Rule& r, u64 got, u64 want) {
  const auto floats = [&](double x, double y, double unit) {
    return (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= unit * r.ulps;
  };
  const auto single = [&](u64 x, u64 y) {
    const auto p = std::bit_cast<float>(static_cast<u32>(x)), q = std::bit_cast<float>(static_cast<u32>(y));
    if (zx(x, 32) == zx(y, 32)) {
      return true;
    }
    const double unit =
        std::max(std::ldexp(1.0, std::isfinite(q) && q != 0 ? std::ilogb(q) - 23 : -149), 0x1p-149);
    return floats(static_cast<double>(p), static_cast<double>(q), unit);
  };
  const auto halves = [&](u64 x, u64 y) {
    const float p = widen<Format::f16>(static_cast<u32>(x)), q = widen<Format::f16>(static_cast<u32>(y));
    if (zx(x, 16) == zx(y, 16)) {
      return true;
    }
    const double unit =
        std::max(std::ldexp(1.0, std::isfinite(q) && q != 0 ? std::ilogb(q) - 10 : -24), 0x1p-24);
    return floats(static_cast<double>(p), static_cast<double>(q), unit);
  };
  switch (r.number) {
  case Number::f32: return single(got, want);
  case Number::f16: return halves(got, want);
  case Number::packed_f16: return halves(got, want) && halves(got >> 16, want >> 16);
  case Number::packed_f32: return single(got, want) && single(got >> 32, want >> 32);
  case Number::f64: {
    const auto p = std::bit_cast<double>(got), q = std::bit_cast<double>(want);
    return got == want || floats(p, q, std::isfinite(q) && q != 0 ? std::ldexp(1.0, std::ilogb(q) - 52) : 0);
  }
  default: return got == want;
  }
}

/// Whether `got` is what the rule allows in this lane.
inline bool agrees(const Rule& r, const Lane& lane, u64 got) {
  return r.accepts ? r.accepts(lane, got) : close(r, got, r.of(lane).value);
}

} // namespace oracle
