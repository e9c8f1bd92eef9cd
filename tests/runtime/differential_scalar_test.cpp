// Scalar instructions against one formula each, from the chapters "SOP2", "SOPK", "SOP1", "SOPC", "SOPP" and "SMEM" of the
// CDNA3 and CDNA4 manuals.
#include "differential.h"
#include "emulator_support.h"

#include <map>

using namespace differential;

namespace {

constexpr isa::Arch archs[] = {isa::Arch::gfx942, isa::Arch::gfx950, isa::Arch::gfx90a};

struct Sources {
  u64 x, y, old; ///< sources; the destination before
  bool scc;
  u64 exec;
  [[nodiscard]] u32 a() const { return static_cast<u32>(x); }
  [[nodiscard]] u32 b() const { return static_cast<u32>(y); }
  [[nodiscard]] i64 sa() const { return static_cast<i32>(a()); }
  [[nodiscard]] i64 sb() const { return static_cast<i32>(b()); }
};

enum class Scc { keeps, nonzero, given };

struct Result {
  u64 value;
  bool scc = false;
};

/// Words of destination, first and second source; 0: the instruction has none.
struct Row {
  const char* name;
  unsigned d, x, y;
  Scc scc;
  Result (*of)(const Sources&);
};

u64 ones(unsigned n) { return n >= 64 ? ~u64{0} : (u64{1} << n) - 1; }
unsigned count_ones(u64 x) {
  unsigned n = 0;
  for (; x != 0; x >>= 1) n += x & 1U;
  return n;
}
/// Position of the first bit equal to `bit` among `width`, from the top or the bottom; -1 when there is none.
u64 first_bit(u64 x, unsigned width, bool bit, bool from_top) {
  for (unsigned n = 0; n < width; ++n) {
    if (((x >> (from_top ? width - 1 - n : n) & 1U) != 0) == bit) return n;
  }
  return 0xffffffffU;
}
u64 reversed(u64 x, unsigned width) {
  u64 r = 0;
  for (unsigned n = 0; n < width; ++n) r |= (x >> n & 1U) << (width - 1 - n);
  return r;
}
u64 quads(u64 x, unsigned width, bool spread) {
  u64 r = 0;
  for (unsigned n = 0; n < width / 4; ++n) {
    if ((x >> 4 * n & 15U) != 0) r |= spread ? u64{15} << 4 * n : u64{1} << n;
  }
  return r;
}
u64 field(u64 x, u32 control, unsigned width, bool is_signed) {
  const unsigned offset = control & (width - 1), length = std::min(control >> 16 & 127U, width);
  u64 r = 0;
  for (unsigned n = 0; n < length; ++n) {
    const unsigned at = offset + n;
    const bool bit = at < width ? (x >> at & 1U) != 0 : is_signed && (x >> (width - 1) & 1U) != 0;
    r |= u64{bit} << n;
  }
  if (is_signed && length != 0 && (r >> (length - 1) & 1U) != 0) r |= ~ones(length);
  return r & ones(width);
}
bool overflows(i64 r) { return r < -(i64{1} << 31) || r >= i64{1} << 31; }

using S = const Sources&;

const Row rows[] = {
    // SOP2
    {"s_add_u32", 1, 1, 1, Scc::given, [](S s) { const u64 r = u64{s.a()} + s.b(); return Result{r, r > 0xffffffffU}; }},
    {"s_sub_u32", 1, 1, 1, Scc::given, [](S s) { return Result{s.x - s.y, s.b() > s.a()}; }},
    {"s_add_i32", 1, 1, 1, Scc::given, [](S s) { const i64 r = s.sa() + s.sb(); return Result{static_cast<u64>(r), overflows(r)}; }},
    {"s_sub_i32", 1, 1, 1, Scc::given, [](S s) { const i64 r = s.sa() - s.sb(); return Result{static_cast<u64>(r), overflows(r)}; }},
    {"s_addc_u32", 1, 1, 1, Scc::given, [](S s) { const u64 r = u64{s.a()} + s.b() + s.scc; return Result{r, r > 0xffffffffU}; }},
    {"s_subb_u32", 1, 1, 1, Scc::given, [](S s) { const u64 t = u64{s.b()} + s.scc; return Result{s.a() - t, t > s.a()}; }},
    {"s_min_i32", 1, 1, 1, Scc::given, [](S s) { return Result{s.sa() < s.sb() ? s.x : s.y, s.sa() < s.sb()}; }},
    {"s_min_u32", 1, 1, 1, Scc::given, [](S s) { return Result{s.a() < s.b() ? s.x : s.y, s.a() < s.b()}; }},
    {"s_max_i32", 1, 1, 1, Scc::given, [](S s) { return Result{s.sa() > s.sb() ? s.x : s.y, s.sa() > s.sb()}; }},
    {"s_max_u32", 1, 1, 1, Scc::given, [](S s) { return Result{s.a() > s.b() ? s.x : s.y, s.a() > s.b()}; }},
    {"s_cselect_b32", 1, 1, 1, Scc::keeps, [](S s) { return Result{s.scc ? s.x : s.y}; }},
    {"s_cselect_b64", 2, 2, 2, Scc::keeps, [](S s) { return Result{s.scc ? s.x : s.y}; }},
    {"s_and_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{s.x & s.y}; }},
    {"s_and_b64", 2, 2, 2, Scc::nonzero, [](S s) { return Result{s.x & s.y}; }},
    {"s_or_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{s.x | s.y}; }},
    {"s_or_b64", 2, 2, 2, Scc::nonzero, [](S s) { return Result{s.x | s.y}; }},
    {"s_xor_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{s.x ^ s.y}; }},
    {"s_xor_b64", 2, 2, 2, Scc::nonzero, [](S s) { return Result{s.x ^ s.y}; }},
    {"s_andn2_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{s.x & ~s.y}; }},
    {"s_andn2_b64", 2, 2, 2, Scc::nonzero, [](S s) { return Result{s.x & ~s.y}; }},
    {"s_orn2_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{s.x | ~s.y}; }},
    {"s_orn2_b64", 2, 2, 2, Scc::nonzero, [](S s) { return Result{s.x | ~s.y}; }},
    {"s_nand_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{~(s.x & s.y)}; }},
    {"s_nand_b64", 2, 2, 2, Scc::nonzero, [](S s) { return Result{~(s.x & s.y)}; }},
    {"s_nor_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{~(s.x | s.y)}; }},
    {"s_nor_b64", 2, 2, 2, Scc::nonzero, [](S s) { return Result{~(s.x | s.y)}; }},
    {"s_xnor_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{~(s.x ^ s.y)}; }},
    {"s_xnor_b64", 2, 2, 2, Scc::nonzero, [](S s) { return Result{~(s.x ^ s.y)}; }},
    {"s_lshl_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{u64{s.a()} << (s.b() % 32)}; }},
    {"s_lshl_b64", 2, 2, 1, Scc::nonzero, [](S s) { return Result{s.x << (s.b() % 64)}; }},
    {"s_lshr_b32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{u64{s.a()} >> (s.b() % 32)}; }},
    {"s_lshr_b64", 2, 2, 1, Scc::nonzero, [](S s) { return Result{s.x >> (s.b() % 64)}; }},
    {"s_ashr_i32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{static_cast<u64>(s.sa() >> (s.b() % 32))}; }},
    {"s_ashr_i64", 2, 2, 1, Scc::nonzero, [](S s) { return Result{static_cast<u64>(static_cast<i64>(s.x) >> (s.b() % 64))}; }},
    {"s_bfm_b32", 1, 1, 1, Scc::keeps, [](S s) { return Result{ones(s.a() % 32) << (s.b() % 32)}; }},
    {"s_bfm_b64", 2, 1, 1, Scc::keeps, [](S s) { return Result{ones(s.a() % 64) << (s.b() % 64)}; }},
    {"s_mul_i32", 1, 1, 1, Scc::keeps, [](S s) { return Result{u64{s.a()} * s.b()}; }},
    {"s_mul_hi_u32", 1, 1, 1, Scc::keeps, [](S s) { return Result{u64{s.a()} * s.b() >> 32}; }},
    {"s_mul_hi_i32", 1, 1, 1, Scc::keeps, [](S s) { return Result{static_cast<u64>(s.sa() * s.sb() >> 32)}; }},
    {"s_bfe_u32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{field(s.a(), s.b(), 32, false)}; }},
    {"s_bfe_i32", 1, 1, 1, Scc::nonzero, [](S s) { return Result{field(s.a(), s.b(), 32, true)}; }},
    {"s_bfe_u64", 2, 2, 1, Scc::nonzero, [](S s) { return Result{field(s.x, s.b(), 64, false)}; }},
    {"s_bfe_i64", 2, 2, 1, Scc::nonzero, [](S s) { return Result{field(s.x, s.b(), 64, true)}; }},
    {"s_absdiff_i32", 1, 1, 1, Scc::nonzero, [](S s) { const i64 r = static_cast<i32>(s.a() - s.b()); return Result{static_cast<u64>(r < 0 ? -r : r)}; }},
    {"s_lshl1_add_u32", 1, 1, 1, Scc::given, [](S s) { const u64 r = (u64{s.a()} << 1) + s.b(); return Result{r, r > 0xffffffffU}; }},
    {"s_lshl2_add_u32", 1, 1, 1, Scc::given, [](S s) { const u64 r = (u64{s.a()} << 2) + s.b(); return Result{r, r > 0xffffffffU}; }},
    {"s_lshl3_add_u32", 1, 1, 1, Scc::given, [](S s) { const u64 r = (u64{s.a()} << 3) + s.b(); return Result{r, r > 0xffffffffU}; }},
    {"s_lshl4_add_u32", 1, 1, 1, Scc::given, [](S s) { const u64 r = (u64{s.a()} << 4) + s.b(); return Result{r, r > 0xffffffffU}; }},
    {"s_pack_ll_b32_b16", 1, 1, 1, Scc::keeps, [](S s) { return Result{(s.x & 0xffffU) | (s.y & 0xffffU) << 16}; }},
    {"s_pack_lh_b32_b16", 1, 1, 1, Scc::keeps, [](S s) { return Result{(s.x & 0xffffU) | (s.y & 0xffff0000U)}; }},
    {"s_pack_hh_b32_b16", 1, 1, 1, Scc::keeps, [](S s) { return Result{(s.x >> 16 & 0xffffU) | (s.y & 0xffff0000U)}; }},
    // SOP1
    {"s_mov_b32", 1, 1, 0, Scc::keeps, [](S s) { return Result{s.x}; }},
    {"s_mov_b64", 2, 2, 0, Scc::keeps, [](S s) { return Result{s.x}; }},
    {"s_cmov_b32", 1, 1, 0, Scc::keeps, [](S s) { return Result{s.scc ? s.x : s.old}; }},
    {"s_cmov_b64", 2, 2, 0, Scc::keeps, [](S s) { return Result{s.scc ? s.x : s.old}; }},
    {"s_not_b32", 1, 1, 0, Scc::nonzero, [](S s) { return Result{~s.x}; }},
    {"s_not_b64", 2, 2, 0, Scc::nonzero, [](S s) { return Result{~s.x}; }},
    {"s_wqm_b32", 1, 1, 0, Scc::nonzero, [](S s) { return Result{quads(s.a(), 32, true)}; }},
    {"s_wqm_b64", 2, 2, 0, Scc::nonzero, [](S s) { return Result{quads(s.x, 64, true)}; }},
    {"s_quadmask_b32", 1, 1, 0, Scc::nonzero, [](S s) { return Result{quads(s.a(), 32, false)}; }},
    {"s_quadmask_b64", 2, 2, 0, Scc::nonzero, [](S s) { return Result{quads(s.x, 64, false)}; }},
    {"s_brev_b32", 1, 1, 0, Scc::keeps, [](S s) { return Result{reversed(s.a(), 32)}; }},
    {"s_brev_b64", 2, 2, 0, Scc::keeps, [](S s) { return Result{reversed(s.x, 64)}; }},
    {"s_bcnt0_i32_b32", 1, 1, 0, Scc::nonzero, [](S s) { return Result{32 - count_ones(s.a())}; }},
    {"s_bcnt0_i32_b64", 1, 2, 0, Scc::nonzero, [](S s) { return Result{64 - count_ones(s.x)}; }},
    {"s_bcnt1_i32_b32", 1, 1, 0, Scc::nonzero, [](S s) { return Result{count_ones(s.a())}; }},
    {"s_bcnt1_i32_b64", 1, 2, 0, Scc::nonzero, [](S s) { return Result{count_ones(s.x)}; }},
    {"s_ff0_i32_b32", 1, 1, 0, Scc::keeps, [](S s) { return Result{first_bit(s.a(), 32, false, false)}; }},
    {"s_ff0_i32_b64", 1, 2, 0, Scc::keeps, [](S s) { return Result{first_bit(s.x, 64, false, false)}; }},
    {"s_ff1_i32_b32", 1, 1, 0, Scc::keeps, [](S s) { return Result{first_bit(s.a(), 32, true, false)}; }},
    {"s_ff1_i32_b64", 1, 2, 0, Scc::keeps, [](S s) { return Result{first_bit(s.x, 64, true, false)}; }},
    {"s_flbit_i32_b32", 1, 1, 0, Scc::keeps, [](S s) { return Result{first_bit(s.a(), 32, true, true)}; }},
    {"s_flbit_i32_b64", 1, 2, 0, Scc::keeps, [](S s) { return Result{first_bit(s.x, 64, true, true)}; }},
    {"s_flbit_i32", 1, 1, 0, Scc::keeps, [](S s) { return Result{first_bit(s.a(), 32, s.a() >> 31 == 0, true)}; }},
    {"s_flbit_i32_i64", 1, 2, 0, Scc::keeps, [](S s) { return Result{first_bit(s.x, 64, s.x >> 63 == 0, true)}; }},
    {"s_sext_i32_i8", 1, 1, 0, Scc::keeps, [](S s) { return Result{static_cast<u64>(i64{static_cast<i8>(s.x)})}; }},
    {"s_sext_i32_i16", 1, 1, 0, Scc::keeps, [](S s) { return Result{static_cast<u64>(i64{static_cast<i16>(s.x)})}; }},
    {"s_bitset0_b32", 1, 1, 0, Scc::keeps, [](S s) { return Result{s.old & ~(u64{1} << (s.a() % 32))}; }},
    {"s_bitset0_b64", 2, 1, 0, Scc::keeps, [](S s) { return Result{s.old & ~(u64{1} << (s.a() % 64))}; }},
    {"s_bitset1_b32", 1, 1, 0, Scc::keeps, [](S s) { return Result{s.old | u64{1} << (s.a() % 32)}; }},
    {"s_bitset1_b64", 2, 1, 0, Scc::keeps, [](S s) { return Result{s.old | u64{1} << (s.a() % 64)}; }},
    {"s_bitreplicate_b64_b32", 2, 1, 0, Scc::keeps, [](S s) { u64 r = 0; for (unsigned n = 0; n < 64; ++n) r |= (s.x >> n / 2 & 1U) << n; return Result{r}; }},
    {"s_abs_i32", 1, 1, 0, Scc::nonzero, [](S s) { return Result{static_cast<u64>(s.sa() < 0 ? -s.sa() : s.sa())}; }},
    // SOPC
    {"s_cmp_eq_i32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.sa() == s.sb()}; }},
    {"s_cmp_lg_i32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.sa() != s.sb()}; }},
    {"s_cmp_gt_i32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.sa() > s.sb()}; }},
    {"s_cmp_ge_i32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.sa() >= s.sb()}; }},
    {"s_cmp_lt_i32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.sa() < s.sb()}; }},
    {"s_cmp_le_i32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.sa() <= s.sb()}; }},
    {"s_cmp_eq_u32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.a() == s.b()}; }},
    {"s_cmp_lg_u32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.a() != s.b()}; }},
    {"s_cmp_gt_u32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.a() > s.b()}; }},
    {"s_cmp_ge_u32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.a() >= s.b()}; }},
    {"s_cmp_lt_u32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.a() < s.b()}; }},
    {"s_cmp_le_u32", 0, 1, 1, Scc::given, [](S s) { return Result{0, s.a() <= s.b()}; }},
    {"s_cmp_eq_u64", 0, 2, 2, Scc::given, [](S s) { return Result{0, s.x == s.y}; }},
    {"s_cmp_lg_u64", 0, 2, 2, Scc::given, [](S s) { return Result{0, s.x != s.y}; }},
    {"s_bitcmp0_b32", 0, 1, 1, Scc::given, [](S s) { return Result{0, (s.x >> (s.b() % 32) & 1U) == 0}; }},
    {"s_bitcmp1_b32", 0, 1, 1, Scc::given, [](S s) { return Result{0, (s.x >> (s.b() % 32) & 1U) == 1}; }},
    {"s_bitcmp0_b64", 0, 2, 1, Scc::given, [](S s) { return Result{0, (s.x >> (s.b() % 64) & 1U) == 0}; }},
    {"s_bitcmp1_b64", 0, 2, 1, Scc::given, [](S s) { return Result{0, (s.x >> (s.b() % 64) & 1U) == 1}; }},
};

/// SOPK: `y` is the constant as the instruction extends it, `x` the register.
struct ConstantRow {
  const char* name;
  bool writes;
  bool zero_extends;
  Scc scc;
  Result (*of)(const Sources&);
};
const ConstantRow constant_rows[] = {
    {"s_movk_i32", true, false, Scc::keeps, [](S s) { return Result{s.y}; }},
    {"s_cmovk_i32", true, false, Scc::keeps, [](S s) { return Result{s.scc ? s.y : s.x}; }},
    {"s_addk_i32", true, false, Scc::given,
     [](S s) {
       const i64 r = s.sa() + s.sb();
       return Result{static_cast<u64>(r), overflows(r)};
     }},
    {"s_mulk_i32", true, false, Scc::keeps, [](S s) { return Result{s.x * s.y}; }},
    {"s_cmpk_eq_i32", false, false, Scc::given,
     [](S s) {
       return Result{0, s.sa() == s.sb()};
     }},
    {"s_cmpk_lg_i32", false, false, Scc::given,
     [](S s) {
       return Result{0, s.sa() != s.sb()};
     }},
    {"s_cmpk_gt_i32", false, false, Scc::given,
     [](S s) {
       return Result{0, s.sa() > s.sb()};
     }},
    {"s_cmpk_ge_i32", false, false, Scc::given,
     [](S s) {
       return Result{0, s.sa() >= s.sb()};
     }},
    {"s_cmpk_lt_i32", false, false, Scc::given,
     [](S s) {
       return Result{0, s.sa() < s.sb()};
     }},
    {"s_cmpk_le_i32", false, false, Scc::given,
     [](S s) {
       return Result{0, s.sa() <= s.sb()};
     }},
    {"s_cmpk_eq_u32", false, true, Scc::given,
     [](S s) {
       return Result{0, s.a() == s.b()};
     }},
    {"s_cmpk_lg_u32", false, true, Scc::given,
     [](S s) {
       return Result{0, s.a() != s.b()};
     }},
    {"s_cmpk_gt_u32", false, true, Scc::given,
     [](S s) {
       return Result{0, s.a() > s.b()};
     }},
    {"s_cmpk_ge_u32", false, true, Scc::given,
     [](S s) {
       return Result{0, s.a() >= s.b()};
     }},
    {"s_cmpk_lt_u32", false, true, Scc::given,
     [](S s) {
       return Result{0, s.a() < s.b()};
     }},
    {"s_cmpk_le_u32", false, true, Scc::given,
     [](S s) {
       return Result{0, s.a() <= s.b()};
     }},
};

std::string sgpr(unsigned n, unsigned words) {
  return words == 1 ? "s" + std::to_string(32 + n)
                    : "s[" + std::to_string(32 + n) + ":" + std::to_string(32 + n + words - 1) + "]";
}

u64 read(const State& s, unsigned n, unsigned words) { return words == 2 ? s.s64(n) : s.s[n]; }

void put_result(State& s, Scc scc, unsigned n, unsigned words, const Result& r) {
  const u64 value = words == 1 ? r.value & 0xffffffffU : r.value;
  if (words == 1) s.s[n] = static_cast<u32>(value);
  if (words == 2) s.set64(n, value);
  if (scc == Scc::given) s.scc = r.scc;
  if (scc == Scc::nonzero) s.scc = value != 0;
}

std::vector<Case> arithmetic_cases(std::mt19937_64& random) {
  std::vector<Case> cases;
  for (const Row& row : rows) {
    for (int variant = 0; variant < 12; ++variant) {
      State before = random_state(random);
      std::string text = row.name;
      std::string separator = " ";
      if (row.d != 0) {
        text += " " + sgpr(8, row.d);
        separator = ", ";
      }
      // The first or the second source may be a constant: inline, extended by its sign, or a literal of 32 bits, which
      // only a 64-bit operand that is a signed integer extends so.
      const std::string_view name = row.name;
      std::array<u64, 2> constant{};
      std::array<bool, 2> is_constant{};
      const unsigned words[2] = {row.x, row.y};
      const unsigned which = variant % 4 == 2 ? 0 : variant % 4 == 3 ? 1 : 2;
      for (unsigned n = 0; n < 2; ++n) {
        if (words[n] == 0) continue;
        if (n == which) {
          const i32 value = variant < 6 ? static_cast<i32>(random() % 81) - 16 : static_cast<i32>(random());
          is_constant[n] = true;
          const bool literal = variant >= 6 && words[n] == 2 && !name.ends_with("_i64");
          constant[n] = literal ? u64{static_cast<u32>(value)} : static_cast<u64>(i64{value});
          text += separator + (variant < 6 ? std::to_string(value) : "0x" + [&] {
                    std::ostringstream hex;
                    hex << std::hex << static_cast<u32>(value);
                    return hex.str();
                  }());
        } else {
          text += separator + sgpr(2 * n, words[n]);
        }
        separator = ", ";
      }
      if (variant % 4 == 1) before.set64(2, before.s64(0)); // equal sources
      cases.push_back({text, before, [=](State& s) {
                         Sources in{};
                         in.x = is_constant[0] ? constant[0] : row.x == 0 ? 0 : read(s, 0, row.x);
                         in.y = is_constant[1] ? constant[1] : row.y == 0 ? 0 : read(s, 2, row.y);
                         if (row.x == 1) in.x &= 0xffffffffU;
                         if (row.y == 1) in.y &= 0xffffffffU;
                         in.old = row.d == 0 ? 0 : read(s, 8, row.d);
                         in.scc = s.scc;
                         in.exec = s.exec;
                         put_result(s, row.scc, 8, row.d, row.of(in));
                       }});
    }
  }
  for (const ConstantRow& row : constant_rows) {
    for (int variant = 0; variant < 6; ++variant) {
      State before = random_state(random);
      const auto k = static_cast<u16>(random());
      const u64 value = row.zero_extends ? u64{k} : static_cast<u64>(i64{static_cast<i16>(k)});
      if (variant < 2) before.s[8] = static_cast<u32>(value);
      cases.push_back({std::string(row.name) + " s40, " +
                           (row.zero_extends ? std::to_string(k) : std::to_string(static_cast<i16>(k))),
                       before, [=](State& s) {
                         put_result(s, row.scc, 8, row.writes ? 1 : 0,
                                    row.of(Sources{s.s[8], value, s.s[8], s.scc, s.exec}));
                       }});
    }
  }
  // Destination and EXEC change together; SCC says whether EXEC is left with lanes.
  struct Mask {
    const char* name;
    u64 (*of)(u64 x, u64 exec);
  };
  const Mask masks[] = {
      {"and", [](u64 x, u64 e) { return x & e; }},    {"or", [](u64 x, u64 e) { return x | e; }},
      {"xor", [](u64 x, u64 e) { return x ^ e; }},    {"andn2", [](u64 x, u64 e) { return x & ~e; }},
      {"orn2", [](u64 x, u64 e) { return x | ~e; }},  {"nand", [](u64 x, u64 e) { return ~(x & e); }},
      {"nor", [](u64 x, u64 e) { return ~(x | e); }}, {"xnor", [](u64 x, u64 e) { return ~(x ^ e); }},
      {"andn1", [](u64 x, u64 e) { return ~x & e; }}, {"orn1", [](u64 x, u64 e) { return ~x | e; }}};
  for (const Mask& m : masks) {
    for (const bool save : {true, false}) {
      const std::string name = std::string("s_") + m.name + (save ? "_saveexec_b64" : "_wrexec_b64");
      const std::string text = name + " s[40:41], s[32:33]";
      if (!assembles(text, isa::Arch::gfx942)) continue;
      for (int variant = 0; variant < 4; ++variant) {
        State before = random_state(random);
        before.exec = random();
        if (variant == 0) before.set64(0, before.exec);
        if (variant == 1) before.set64(0, ~before.exec);
        cases.push_back({text, before, [m, save](State& s) {
                           const u64 old = s.exec;
                           s.exec = m.of(s.s64(0), old);
                           s.set64(8, save ? old : s.exec);
                           s.scc = s.exec != 0;
                         }});
      }
    }
  }
  return cases;
}

/// State without effect: cases that must change nothing.
std::vector<Case> quiet_cases(std::mt19937_64& random, isa::Arch arch) {
  std::vector<Case> cases;
  for (const char* text : {"s_nop 3",
                           "s_sleep 2",
                           "s_setprio 3",
                           "s_sethalt 0",
                           "s_setkill 0",
                           "s_sendmsg sendmsg(MSG_INTERRUPT)",
                           "s_sendmsghalt 0",
                           "s_icache_inv",
                           "s_incperflevel 1",
                           "s_decperflevel 1",
                           "s_ttracedata",
                           "s_wakeup",
                           "s_waitcnt vmcnt(3) lgkmcnt(2)",
                           "s_barrier",
                           "s_set_gpr_idx_off",
                           "s_dcache_inv",
                           "s_dcache_wb",
                           "s_dcache_inv_vol",
                           "s_dcache_wb_vol",
                           "s_cbranch_cdbgsys 1",
                           "s_cbranch_cdbguser 1",
                           "s_cbranch_cdbgsys_or_user 1",
                           "s_cbranch_cdbgsys_and_user 1",
                           "s_dcache_discard s[62:63], 0x40",
                           "s_dcache_discard_x2 s[62:63], 0x40",
                           "s_atc_probe 0, s[62:63], 0x40",
                           "s_atc_probe_buffer 0, s[56:59], 0x40",
                           "v_nop",
                           "v_clrexcp",
                           "buffer_wbl2 sc1",
                           "buffer_inv sc1",
                           "buffer_wbl2",
                           "buffer_invl2",
                           "buffer_wbinvl1",
                           "buffer_wbinvl1_vol",
                           "ds_nop"}) {
    const bool caches = std::string_view(text).starts_with("buffer_");
    if (caches && !assembles(text, arch)) continue; // names by the processor
    State before = random_state(random);
    with_memory(before, random);
    cases.push_back({text, before, [](State&) {}});
  }
  return cases;
}

std::vector<Case> flow_cases(std::mt19937_64& random) {
  std::vector<Case> cases;
  // A taken branch leaves s40 alone, one that falls through sets it.
  struct Branch {
    const char* name;
    bool (*taken)(const State&);
  };
  const Branch branches[] = {{"s_branch", [](const State&) { return true; }},
                             {"s_cbranch_scc0", [](const State& s) { return !s.scc; }},
                             {"s_cbranch_scc1", [](const State& s) { return s.scc; }},
                             {"s_cbranch_vccz", [](const State& s) { return s.vcc == 0; }},
                             {"s_cbranch_vccnz", [](const State& s) { return s.vcc != 0; }},
                             {"s_cbranch_execz", [](const State& s) { return s.exec == 0; }},
                             {"s_cbranch_execnz", [](const State& s) { return s.exec != 0; }}};
  for (const Branch& b : branches) {
    for (int variant = 0; variant < 8; ++variant) {
      State before = random_state(random);
      if (variant % 2 == 0) before.vcc = variant % 4 == 0 ? 0 : u64{1} << 63;
      if (variant / 2 % 2 == 0) before.exec = variant / 4 % 2 == 0 ? 0 : u64{1} << 40;
      cases.push_back({std::string(b.name) + " 1\n  s_movk_i32 s40, 77", before, [b](State& s) {
                         if (!b.taken(s)) s.s[8] = 77;
                       }});
    }
  }
  const auto add = [&](const std::string& text, std::function<void(State&)> f,
                       std::function<void(State&)> setup = {}) {
    State before = random_state(random);
    if (setup) setup(before);
    cases.push_back({text, before, std::move(f)});
  };
  // Addresses: how far a jump lands from where s_getpc_b64 says the next instruction is.
  add("s_getpc_b64 s[40:41]\n  s_getpc_b64 s[42:43]\n  s_sub_u32 s40, s42, s40\n  s_subb_u32 s41, s43, s41\n "
      " s_mov_b64 s[42:43], 0",
      [](State& s) {
        s.set64(8, 4);
        s.set64(10, 0);
        s.scc = false;
      });
  add("s_getpc_b64 s[40:41]\n  s_add_u32 s40, s40, 16\n  s_addc_u32 s41, s41, 0\n  s_setpc_b64 s[40:41]\n  "
      "s_movk_i32 s42, 1\n"
      "  s_mov_b64 s[40:41], 0",
      [](State& s) {
        s.set64(8, 0);
        s.scc = false;
      });
  add("s_getpc_b64 s[40:41]\n  s_add_u32 s40, s40, 16\n  s_addc_u32 s41, s41, 0\n  s_swappc_b64 s[42:43], "
      "s[40:41]\n"
      "  s_movk_i32 s44, 1\n  s_sub_u32 s42, s40, s42\n  s_subb_u32 s43, s41, s43\n  s_mov_b64 s[40:41], 0",
      [](State& s) { // the saved address is that of the instruction that was jumped over
        s.set64(8, 0);
        s.set64(10, 4);
        s.scc = false;
      });
  add("s_call_b64 s[40:41], 1\n  s_movk_i32 s44, 1\n  s_getpc_b64 s[42:43]\n  s_sub_u32 s40, s42, s40\n  "
      "s_subb_u32 s41, s43, s41\n"
      "  s_mov_b64 s[42:43], 0",
      [](State& s) {
        s.set64(8, 8);
        s.set64(10, 0);
        s.scc = false;
      });
  // The branch stack: both sides of a fork add to v8 of their lanes and meet at the join. s[0:3] hold what waits.
  const auto both_sides = [](State& s, u64 mask) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      if (s.on(lane)) s.v[lane][0] += (mask >> lane & 1U) != 0 ? 100 : 7;
    }
    s.s[8] = 0; // the depth at the fork, for the join
    // The larger side goes second, and its lanes are what a join leaves: the manual does not restore EXEC.
    const u64 pass = mask & s.exec, fail = ~mask & s.exec;
    if (pass != 0 && fail != 0) s.exec = count_ones(fail) < count_ones(pass) ? pass : fail;
  };
  for (const u64 mask : {u64{0xff}, ~u64{0xff}, u64{0}, ~u64{0}, u64{0xffffffff}}) {
    for (const u64 exec : {~u64{0}, u64{0xf0f0f0f0f0f0f0f0}}) {
      const auto setup = [mask, exec](State& s) {
        s.set64(0, mask);
        s.exec = exec;
      };
      // The depth is MODE[31:29]; a join pops until it is that again, so that uniform forks pass it at once.
      add(
          "s_mov_b32 s40, 0\n  s_cbranch_i_fork s[32:33], 2\n  v_add_u32 v8, 7, v8\n  s_branch 2\n"
          "  v_add_u32 v8, 0x64, v8\n  s_cbranch_join s40",
          [both_sides, mask](State& s) { both_sides(s, mask); }, setup);
      add(
          "s_mov_b32 s40, 0\n  s_getpc_b64 s[42:43]\n  s_add_u32 s42, s42, 20\n  s_addc_u32 s43, s43, 0\n"
          "  s_cbranch_g_fork s[32:33], s[42:43]\n  v_add_u32 v8, 7, v8\n  s_branch 2\n"
          "  v_add_u32 v8, 0x64, v8\n  s_cbranch_join s40\n  s_mov_b64 s[42:43], 0",
          [both_sides, mask](State& s) {
            both_sides(s, mask);
            s.set64(10, 0);
            s.scc = false;
          },
          setup);
    }
  }
  // Relative registers.
  for (u32 offset = 0; offset < 6; offset += 2) {
    const auto index = [offset](State& s) { s.m0 = offset; };
    add(
        "s_movrels_b32 s40, s32", [offset](State& s) { s.s[8] = s.s[offset]; }, index);
    add(
        "s_movrels_b64 s[40:41], s[32:33]", [offset](State& s) { s.set64(8, s.s64(offset)); }, index);
    add(
        "s_movreld_b32 s40, s32", [offset](State& s) { s.s[8 + offset] = s.s[0]; }, index);
    add(
        "s_movreld_b64 s[40:41], s[32:33]", [offset](State& s) { s.set64(8 + offset, s.s64(0)); }, index);
  }
  // Index mode for vector registers: M0[7:0] is added to the sources and destinations that M0[15:12] names.
  const auto lanes = [](State& s, unsigned to, unsigned from) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      if (s.on(lane)) s.v[lane][to] = s.v[lane][from];
    }
  };
  const auto mode_in_m0 = [](State& s, u32 index, u32 mode) {
    s.m0 = (s.m0 & 0xffff0f00U) | index | mode << 12;
  };
  const auto small = [](State& s) { s.s[0] = 3; };
  add(
      "s_set_gpr_idx_on s32, gpr_idx(SRC0)\n  v_mov_b32 v8, v12\n  s_set_gpr_idx_off",
      [=](State& s) {
        mode_in_m0(s, 3, 1);
        lanes(s, 0, 7);
      },
      small);
  add(
      "s_set_gpr_idx_on s32, gpr_idx(DST)\n  v_mov_b32 v8, v12\n  s_set_gpr_idx_off",
      [=](State& s) {
        mode_in_m0(s, 3, 8);
        lanes(s, 3, 4);
      },
      small);
  add(
      "s_set_gpr_idx_on s32, gpr_idx(SRC0)\n  s_set_gpr_idx_idx s33\n  v_mov_b32 v8, v12\n  "
      "s_set_gpr_idx_mode gpr_idx(DST)\n"
      "  v_mov_b32 v8, v12\n  s_set_gpr_idx_off",
      [=](State& s) {
        lanes(s, 0, 9);
        lanes(s, 5, 4);
        mode_in_m0(s, 5, 8);
      },
      [](State& s) {
        s.s[0] = 3;
        s.s[1] = 5;
      });
  // While VSKIP is set, vector instructions are not executed.
  add(
      "s_setvskip s32, 4\n  v_mov_b32 v8, 1\n  v_readfirstlane_b32 s40, v8\n  v_swap_b32 v8, v9\n  "
      "v_cmp_eq_u32 vcc, v8, v8\n"
      "  ds_write_b32 v8, v8\n  s_setvskip 0, 0\n  v_mov_b32 v9, 2",
      [](State& s) {
        for (auto& lane : s.v) lane[1] = 2;
      },
      [](State& s) { s.s[0] = 16; });
  // MODE: fields are read and written bit by bit.
  add("s_getreg_b32 s40, hwreg(HW_REG_MODE, 4, 4)", [](State& s) { s.s[8] = 15; });
  add("s_setreg_b32 hwreg(HW_REG_MODE, 24, 5), s32\n  s_getreg_b32 s40, hwreg(HW_REG_MODE, 23, 7)\n"
      "  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 24, 5), 0x15\n  s_getreg_b32 s41, hwreg(HW_REG_MODE, 24, 5)\n"
      "  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 24, 5), 0",
      [](State& s) {
        s.s[8] = (s.s[0] & 31U) << 1;
        s.s[9] = 0x15;
      });
  // Clocks only grow.
  for (const char* name : {"s_memtime", "s_memrealtime"}) {
    add(std::string(name) + " s[40:41]\n  " + name +
            " s[42:43]\n  s_waitcnt lgkmcnt(0)\n  s_sub_u32 s42, s42, s40\n"
            "  s_subb_u32 s43, s43, s41\n  s_cmp_gt_i32 s43, -1\n  s_mov_b64 s[40:41], 0\n  s_mov_b64 "
            "s[42:43], 0",
        [](State& s) {
          s.set64(8, 0);
          s.set64(10, 0);
          s.scc = true;
        });
  }
  // Named sources.
  add(
      "s_mov_b32 s40, src_vccz", [](State& s) { s.s[8] = 1; }, [](State& s) { s.vcc = 0; });
  add("s_mov_b32 s40, src_execz", [](State& s) { s.s[8] = 0; });
  add("s_mov_b32 s40, src_scc", [](State& s) { s.s[8] = s.scc ? 1 : 0; });
  // The apertures' bases are multiples of 4 GiB; 32-bit reads give the high half (LLVM, "Memory Spaces").
  add("s_mov_b64 s[40:41], src_shared_base\n  s_mov_b32 s42, src_shared_base\n  s_cmp_eq_u32 s41, s42\n  "
      "s_mov_b64 s[42:43], 0\n"
      "  s_mov_b32 s41, 0",
      [](State& s) {
        s.set64(8, 0);
        s.set64(10, 0);
        s.scc = true;
      });
  add("s_mov_b64 s[40:41], src_private_base\n  s_mov_b32 s42, src_private_base\n  s_cmp_eq_u32 s41, s42\n  "
      "s_mov_b64 s[42:43], 0\n"
      "  s_mov_b32 s41, 0",
      [](State& s) {
        s.set64(8, 0);
        s.set64(10, 0);
        s.scc = true;
      });
  add("s_mov_b32 s40, 0.15915494\n  s_mov_b32 s41, -4.0", [](State& s) {
    s.s[8] = 0x3e22f983U;
    s.s[9] = 0xc0800000U;
  });
  return cases;
}

/// An instruction that ends the wave: the store before it happens, the one after it does not.
void check_ends(isa::Arch arch) {
  for (const char* text : {"s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"}) {
    EmulatorDevice device(arch, {.threads = 1});
    std::set<std::string> trace;
    device.options().trace = {.enabled = true,
                              .line = [&](std::string_view l) { trace.insert(traced_instruction(l)); }};
    const DevicePointer out = device.allocate(16);
    device.fill(out, 0, 16);
    emulator_test::run(
        device,
        emulator_test::kernel("s_load_dwordx2 s[4:5], s[0:1], 0x0\n  v_mov_b32 v1, 0\n  v_mov_b32 v2, 7\n"
                              "  s_waitcnt lgkmcnt(0)\n  global_store_dword v1, v2, s[4:5]\n  " +
                                  std::string(text) +
                                  "\n  global_store_dword v1, v2, s[4:5] offset:4\n  s_endpgm",
                              arch),
        {.grid = {1}, .block = {64}}, emulator_test::Arguments().pointer(out).bytes());
    INFO(text);
    CHECK(emulator_test::download<u32>(device, out, 2) == std::vector<u32>{7, 0});
    note_covered(arch, text, trace);
  }
  // A trap ends the launch with an error that says so.
  EmulatorDevice device(arch, {.threads = 1});
  CHECK_THROWS_WITH(emulator_test::run(device, emulator_test::kernel("s_trap 2\n  s_endpgm", arch),
                                       {.grid = {1}, .block = {64}}, {}),
                    Catch::Contains("s_trap"));
  covered().emplace(arch, isa::Format::sopp, "s_trap");
}

// ---- scalar memory --------------------------------------------------------------------------------------------------

u64 load(const State& s, u64 at, unsigned bytes) {
  u64 x = 0;
  std::memcpy(&x, s.memory.data() + at, bytes);
  return x;
}
void store(State& s, u64 at, u64 value, unsigned bytes) { std::memcpy(s.memory.data() + at, &value, bytes); }

struct Atomic {
  const char* name;
  u64 (*of)(u64 old, u64 data, u64 compare, unsigned bits);
};
i64 as_signed(u64 x, unsigned bits) { return bits == 64 ? static_cast<i64>(x) : i64{static_cast<i32>(x)}; }
const Atomic atomics[] = {
    {"swap", [](u64, u64 d, u64, unsigned) { return d; }},
    {"cmpswap", [](u64 o, u64 d, u64 c, unsigned) { return o == c ? d : o; }},
    {"add", [](u64 o, u64 d, u64, unsigned) { return o + d; }},
    {"sub", [](u64 o, u64 d, u64, unsigned) { return o - d; }},
    {"smin", [](u64 o, u64 d, u64, unsigned n) { return as_signed(d, n) < as_signed(o, n) ? d : o; }},
    {"umin", [](u64 o, u64 d, u64, unsigned) { return d < o ? d : o; }},
    {"smax", [](u64 o, u64 d, u64, unsigned n) { return as_signed(d, n) > as_signed(o, n) ? d : o; }},
    {"umax", [](u64 o, u64 d, u64, unsigned) { return d > o ? d : o; }},
    {"and", [](u64 o, u64 d, u64, unsigned) { return o & d; }},
    {"or", [](u64 o, u64 d, u64, unsigned) { return o | d; }},
    {"xor", [](u64 o, u64 d, u64, unsigned) { return o ^ d; }},
    {"inc", [](u64 o, u64 d, u64, unsigned) { return o >= d ? 0 : o + 1; }},
    {"dec", [](u64 o, u64 d, u64, unsigned) { return o == 0 || o > d ? d : o - 1; }},
};

/// Raw descriptor of the case's memory in s[56:59], made by the text itself: base s[62:63], size in `records`.
std::string descriptor(u32 records, u32 stride = 0) {
  return "s_mov_b32 s56, s62\n  s_or_b32 s57, s63, " + std::to_string(stride << 16) + "\n  s_mov_b32 s58, " +
         std::to_string(records) + "\n  s_mov_b32 s59, 0x27000\n  ";
}
void set_descriptor(State& s, u32 records, u32 stride = 0) {
  s.s[24] = s.s[30];
  s.s[25] = s.s[31] | stride << 16;
  s.s[26] = records;
  s.s[27] = 0x27000;
  s.scc = s.s[25] != 0;
}

std::vector<Case> memory_cases(std::mt19937_64& random) {
  std::vector<Case> cases;
  const auto fresh = [&] {
    State s = random_state(random);
    with_memory(s, random);
    return s;
  };
  constexpr unsigned sizes[] = {1, 2, 4, 8, 16};
  for (const unsigned words : sizes) {
    const std::string suffix = words == 1 ? "dword" : "dwordx" + std::to_string(words);
    const std::string data = words == 1 ? "s32" : "s[32:" + std::to_string(31 + words) + "]";
    for (int variant = 0; variant < 6; ++variant) {
      // Offsets: an immediate, a register (in bytes; 64 bytes for scratch), or both. The two low bits are ignored.
      const u32 immediate = static_cast<u32>(random() % 1000), reg = static_cast<u32>(random() % 60);
      const bool uses_reg = variant % 3 != 0, uses_imm = variant % 3 != 1;
      const auto place = [&](unsigned unit) {
        return u64{(uses_reg ? reg * unit : 0) + (uses_imm ? immediate : 0)} & ~u64{3};
      };
      const std::string offset =
          uses_reg ? uses_imm ? "s50 offset:" + std::to_string(immediate) : std::string("s50")
                   : std::to_string(immediate);
      const auto access = [&](const std::string& name, const std::string& base, unsigned unit, bool is_store,
                              const std::string& setup, std::function<void(State&)> effect, u32 limit) {
        State before = fresh();
        before.s[18] = reg;
        const u64 at = place(unit);
        const std::string text = setup + name + " " + data + ", " + base + ", " + offset;
        if (!assembles(text, isa::Arch::gfx942)) return;
        cases.push_back({text, before, [=](State& s) {
                           if (effect) effect(s);
                           for (unsigned n = 0; n < words; ++n) {
                             const u64 a = at + 4 * n;
                             if (is_store) {
                               store(s, a, s.s[n], 4);
                             } else {
                               s.s[n] = a + 4 <= limit ? static_cast<u32>(load(s, a, 4)) : 0;
                             }
                           }
                         }});
      };
      access("s_load_" + suffix, "s[62:63]", 1, false, "", {}, memory_bytes);
      // Bounds of a buffer are per dword.
      const auto limit = static_cast<u32>(variant == 5 ? (place(1) + 4 * (words + 1) / 2) : 4096);
      access(
          "s_buffer_load_" + suffix, "s[56:59]", 1, false, descriptor(limit),
          [limit](State& s) { set_descriptor(s, limit); }, limit);
      if (words <= 4) {
        access("s_scratch_load_" + suffix, "s[62:63]", 64, false, "", {}, memory_bytes);
        access("s_store_" + suffix, "s[62:63]", 1, true, "", {}, memory_bytes);
        access("s_scratch_store_" + suffix, "s[62:63]", 64, true, "", {}, memory_bytes);
        access(
            "s_buffer_store_" + suffix, "s[56:59]", 1, true, descriptor(8192),
            [](State& s) { set_descriptor(s, 8192); }, memory_bytes);
      }
    }
  }
  for (const Atomic& a : atomics) {
    for (const unsigned words : {1U, 2U}) {
      for (const bool buffer : {false, true}) {
        for (int variant = 0; variant < 4; ++variant) {
          const bool returns = variant % 2 == 1;
          const unsigned registers = words * (std::string(a.name) == "cmpswap" ? 2 : 1);
          State before = fresh();
          const u64 at = random() % 100 * 8;
          const u64 old = load(before, at, 4 * words);
          if (variant >= 2) { // equal values decide these
            if (registers == words) {
              words == 2 ? before.set64(0, old) : void(before.s[0] = static_cast<u32>(old));
            } else {
              words == 2 ? before.set64(2, old) : void(before.s[1] = static_cast<u32>(old));
            }
          }
          const std::string text =
              (buffer ? descriptor(8192) : std::string()) + (buffer ? "s_buffer_atomic_" : "s_atomic_") +
              a.name + (words == 2 ? "_x2 " : " ") +
              (registers == 1 ? "s32" : "s[32:" + std::to_string(31 + registers) + "]") +
              (buffer ? ", s[56:59], " : ", s[62:63], ") + std::to_string(at) + (returns ? " glc" : "");
          cases.push_back({text, before, [=](State& s) {
                             if (buffer) set_descriptor(s, 8192);
                             const u64 now = load(s, at, 4 * words);
                             const u64 data = words == 2 ? s.s64(0) : s.s[0];
                             const u64 compare = words == 2 ? s.s64(2) : s.s[1];
                             store(s, at, a.of(now, data, compare, 32 * words), 4 * words);
                             if (returns && words == 2) s.set64(0, now);
                             if (returns && words == 1) s.s[0] = static_cast<u32>(now);
                           }});
        }
      }
    }
  }
  return cases;
}

} // namespace

void differential::scalar_family() {
  static const bool once = [] {
    for (const isa::Arch arch : archs) {
      std::mt19937_64 random(11);
      run(arch, arithmetic_cases(random));
      run(arch, quiet_cases(random, arch));
      run(arch, flow_cases(random));
      check_ends(arch);
    }
    return true;
  }();
  static_cast<void>(once);
}

void differential::scalar_memory_family() {
  static const bool once = [] {
    for (const isa::Arch arch : archs) {
      std::mt19937_64 random(12);
      run(arch, memory_cases(random));
    }
    return true;
  }();
  static_cast<void>(once);
}
