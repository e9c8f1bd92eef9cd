// Atomics on elements of 4 and 8 bytes. Sources: as memory.cpp.
#include "atomics.h"

#include "numerics/formats.h"

#include <bit>
#include <cstring>

namespace inlay::runtime::emulator {
namespace {

template <class F>
F as(u64 bits) {
  if constexpr (sizeof(F) == 4) {
    return std::bit_cast<F>(static_cast<u32>(bits));
  } else {
    return std::bit_cast<F>(bits);
  }
}

/// a + b, of two NaNs the first made quiet: what the host's addition gives of them depends on how the compiler orders its operands.
/// No document says what the hardware does.
template <class F>
F sum(F a, F b) {
  using Bits = std::conditional_t<sizeof(F) == 4, u32, u64>;
  constexpr Bits quiet = Bits{1} << (sizeof(F) == 4 ? 22 : 51);
  return a != a ? std::bit_cast<F>(std::bit_cast<Bits>(a) | quiet) : a + b;
}

template <class S, class F>
[[gnu::always_inline]] inline u64 combine(AtomicOp op, u64 old, u64 value, u64 compare) {
  using U = std::make_unsigned_t<S>;
  const U x = static_cast<U>(old);
  const U y = static_cast<U>(value);
  const auto float_bits = [](F v) {
    if constexpr (sizeof(F) == 4) {
      return u64{std::bit_cast<u32>(v)};
    } else {
      return std::bit_cast<u64>(v);
    }
  };
  const auto packed = [&](auto format) { // two 16-bit numbers
    const auto half = [&](unsigned s) {
      return numerics::narrow<format()>(sum(numerics::widen<format()>(static_cast<u32>(x >> s) & 0xffff),
                                            numerics::widen<format()>(static_cast<u32>(y >> s) & 0xffff)));
    };
    return half(0) | (half(16) << 16);
  };
  switch (op) {
  case AtomicOp::add: return static_cast<U>(x + y);
  case AtomicOp::sub: return static_cast<U>(x - y);
  case AtomicOp::rsub: return static_cast<U>(y - x);
  case AtomicOp::swap: return y;
  case AtomicOp::cmpswap: return x == static_cast<U>(compare) ? y : x;
  case AtomicOp::cmpswap_f: return as<F>(old) == as<F>(compare) ? y : x;
  case AtomicOp::smin: return static_cast<S>(y) < static_cast<S>(x) ? y : x;
  case AtomicOp::smax: return static_cast<S>(y) > static_cast<S>(x) ? y : x;
  case AtomicOp::umin: return std::min(x, y);
  case AtomicOp::umax: return std::max(x, y);
  case AtomicOp::bit_and: return x & y;
  case AtomicOp::bit_or: return x | y;
  case AtomicOp::bit_xor: return x ^ y;
  case AtomicOp::inc: return x >= y ? 0 : x + 1U;
  case AtomicOp::dec: return x == 0 || x > y ? y : x - 1U;
  case AtomicOp::mskor: return (x & ~y) | static_cast<U>(compare);
  case AtomicOp::wrap: return x >= y ? x - y : static_cast<U>(x + static_cast<U>(compare));
  case AtomicOp::
      condxchg32: { // each half is replaced when the top bit of its data is set, which is not stored
    const auto half = [&](unsigned s) {
      const u32 data = static_cast<u32>(value >> s);
      return u64{(data >> 31) != 0 ? data & 0x7fffffffU : static_cast<u32>(old >> s)} << s;
    };
    return half(0) | half(32);
  }
  case AtomicOp::add_f: return float_bits(sum(as<F>(value), as<F>(old)));
  case AtomicOp::min_f: return as<F>(value) < as<F>(old) ? y : x;
  case AtomicOp::max_f: return as<F>(value) > as<F>(old) ? y : x;
  case AtomicOp::pk_add_f16: return packed(std::integral_constant<numerics::Format, numerics::Format::f16>{});
  case AtomicOp::pk_add_bf16:
    return packed(std::integral_constant<numerics::Format, numerics::Format::bf16>{});
  default: return old;
  }
}

/// What was at `p`, which other host threads may change at the same time.
template <class S, class F, class U = std::make_unsigned_t<S>>
U exchange(U* p, AtomicOp op, u64 value, u64 compare) {
  U old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, static_cast<U>(combine<S, F>(op, old, value, compare)), false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  return old;
}

/// All lanes, one after the other: no two of them meet, and the host may do several at once.
template <AtomicOp op, class S, class F>
void combine_row(u8* __restrict place, const u32* __restrict value, const u32* __restrict compare,
                 u32* __restrict old) {
  const auto all = [&](auto compare_of, auto keep) {
    for (unsigned l = 0; l < lanes; ++l) {
      u32 was = 0;
      std::memcpy(&was, place + std::size_t{4} * l, 4);
      const u32 now = static_cast<u32>(combine<S, F>(op, was, value[l], compare_of(l)));
      std::memcpy(place + std::size_t{4} * l, &now, 4);
      keep(l, was);
    }
  };
  const auto none = [](unsigned) { return 0U; };
  const auto compared = [&](unsigned l) { return compare[l]; };
  const auto forget = [](unsigned, u32) {};
  const auto keep = [&](unsigned l, u32 was) { old[l] = was; };
  if (compare == nullptr) {
    old == nullptr ? all(none, forget) : all(none, keep);
  } else {
    old == nullptr ? all(compared, forget) : all(compared, keep);
  }
}

template <AtomicOp op, class S, class F, bool shared>
void combine_rows(u8* base, const LaneOffsets& at, const u32* value, const u32* compare, u32* old, u64 mask) {
  using U = std::make_unsigned_t<S>;
  constexpr bool wide = sizeof(S) == 8;
  // The halves of wide operands are put together for all lanes before: what the lanes do one after another is then the rest.
  alignas(64) u64 both[2][wide ? lanes : 1];
  const auto zip = [](u64* to, const u32* rows) {
    for (unsigned l = 0; wide && rows != nullptr && l < lanes; ++l)
      to[l] = rows[l] | u64{rows[l + lanes]} << 32;
  };
  zip(both[0], value);
  zip(both[1], compare);
  const auto operand = [&](unsigned which, const u32* rows, unsigned l) {
    return wide ? both[which][l] : u64{rows[l]};
  };
  const auto one = [&](unsigned l, u8* place) {
    const u64 x = operand(0, value, l), y = compare == nullptr ? 0 : operand(1, compare, l);
    U was = 0;
    if constexpr (shared) {
      was = exchange<S, F>(reinterpret_cast<U*>(place), op, x, y);
    } else {
      std::memcpy(&was, place, sizeof was);
      const U now = static_cast<U>(combine<S, F>(op, was, x, y));
      std::memcpy(place, &now, sizeof now);
    }
    if (old == nullptr) return;
    old[l] = static_cast<u32>(was);
    if constexpr (wide) old[l + lanes] = static_cast<u32>(was >> 32);
  };
  if constexpr (!shared && !wide) {
    if (at.rising) return combine_row<op, S, F>(base + at.low, value, compare, old);
  }
  if (mask == ~u64{0}) {
    for (unsigned l = 0; l < lanes; ++l) one(l, base + at.at[l]);
    return;
  }
  for (; mask != 0; mask &= mask - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(mask));
    one(l, base + at.at[l]);
  }
}

template <bool shared, AtomicOp... ops>
AtomicRows choose(AtomicOp op, unsigned bytes) {
  AtomicRows found = nullptr;
  const auto try_one = [&]<AtomicOp one>() {
    if (op == one)
      found = bytes == 4 ? combine_rows<one, i32, float, shared> : combine_rows<one, i64, double, shared>;
  };
  (try_one.template operator()<ops>(), ...);
  return found;
}
template <bool shared>
AtomicRows choose_any(AtomicOp op, unsigned bytes) {
  using enum AtomicOp;
  return choose<shared, add, sub, rsub, swap, cmpswap, cmpswap_f, smin, umin, smax, umax, bit_and, bit_or,
                bit_xor, inc, dec, add_f, min_f, max_f, pk_add_f16, pk_add_bf16, mskor, wrap, condxchg32>(
      op, bytes);
}

} // namespace

u64 atomic_at(u8* p, unsigned bytes, AtomicOp op, u64 value, u64 compare) {
  if (reinterpret_cast<u64>(p) % bytes != 0) { // reported as misaligned; done without atomicity
    u64 old = 0;
    std::memcpy(&old, p, bytes);
    const u64 next = bytes == 4 ? combine<i32, float>(op, old, value, compare)
                                : combine<i64, double>(op, old, value, compare);
    std::memcpy(p, &next, bytes);
    return old;
  }
  return bytes == 4 ? exchange<i32, float>(reinterpret_cast<u32*>(p), op, value, compare)
                    : exchange<i64, double>(reinterpret_cast<u64*>(p), op, value, compare);
}

AtomicRows atomic_rows(AtomicOp op, unsigned bytes, bool shared) {
  return shared ? choose_any<true>(op, bytes) : choose_any<false>(op, bytes);
}

} // namespace inlay::runtime::emulator
