// Quotients that compilers compute without an instruction for them: the sequence is the quotient for every word, it is read
// back from what the symbolic machine makes of it, and a sequence with any one instruction changed is not.
#include "emulator_support.h"
#include "symbolic/machine.h"

#include <inlay/runtime/symbolic/quotient.h>

#include <cmath>
#include <random>

namespace quotient_test {

using namespace inlay::runtime;
using namespace inlay::runtime::symbolic;

namespace {

using Lines = std::vector<std::string>;

/// s8 / s9 to s20, the remainder to s21.
const Lines scalar = {
    "v_cvt_f32_u32 v1, s9",        "v_rcp_iflag_f32 v1, v1",      "v_mul_f32 v1, 0x4f7ffffe, v1",
    "v_cvt_u32_f32 v1, v1",        "s_sub_i32 s12, 0, s9",        "v_readfirstlane_b32 s13, v1",
    "s_mul_i32 s12, s12, s13",     "s_mul_hi_u32 s12, s13, s12",  "s_add_i32 s13, s13, s12",
    "s_mul_hi_u32 s20, s8, s13",   "s_mul_i32 s12, s20, s9",      "s_sub_i32 s21, s8, s12",
    "s_add_i32 s14, s20, 1",       "s_sub_i32 s15, s21, s9",      "s_cmp_ge_u32 s21, s9",
    "s_cselect_b32 s20, s14, s20", "s_cselect_b32 s21, s15, s21", "s_add_i32 s14, s20, 1",
    "s_sub_i32 s15, s21, s9",      "s_cmp_ge_u32 s21, s9",        "s_cselect_b32 s20, s14, s20",
    "s_cselect_b32 s21, s15, s21"};
/// v0 / v1 to v8, the remainder to v9; the upper halves of products in two ways.
const Lines vector = {"v_cvt_f32_u32 v2, v1",
                      "v_rcp_iflag_f32 v2, v2",
                      "v_mul_f32 v2, 0x4f7ffffe, v2",
                      "v_cvt_u32_f32 v2, v2",
                      "v_sub_u32 v3, 0, v1",
                      "v_mul_lo_u32 v3, v3, v2",
                      "v_mul_hi_u32 v3, v2, v3",
                      "v_add_u32 v2, v2, v3",
                      "v_mad_u64_u32 v[4:5], s[20:21], v0, v2, 0",
                      "v_mov_b32 v8, v5",
                      "v_mul_lo_u32 v3, v8, v1",
                      "v_sub_u32 v9, v0, v3",
                      "v_add_u32 v4, 1, v8",
                      "v_cmp_ge_u32 vcc, v9, v1",
                      "v_cndmask_b32 v8, v8, v4, vcc",
                      "v_subrev_u32 v5, v1, v9",
                      "v_cndmask_b32 v9, v9, v5, vcc",
                      "v_add_u32 v4, 1, v8",
                      "v_cmp_le_u32 vcc, v1, v9",
                      "v_cndmask_b32 v8, v8, v4, vcc",
                      "v_subrev_u32 v5, v1, v9",
                      "v_cndmask_b32 v9, v9, v5, vcc"};

CodeObject assembled(const Lines& lines) {
  std::string body;
  for (const auto& l : lines) body += l + "\n";
  return CodeObject::parse(
      emulator_test::kernel(body + "s_endpgm\n", isa::Arch::gfx942, {.vgprs = 64, .accum_offset = 32}));
}

struct Run {
  Term quotient = 0, remainder = 0;
};
/// What the lines make of x and y, in the first lane.
Run run(Setting& setting, std::size_t lines, bool is_vector, Term x, Term y) {
  Machine m(setting, 0);
  Terms& t = setting.terms;
  // What a line that is gone would have written is something else.
  for (const unsigned r : {12U, 13U, 14U, 15U, 20U, 21U})
    m.set_scalar(r, t.symbol("was.s" + std::to_string(r)));
  for (const unsigned r : {0U, 1U, 2U, 3U, 4U, 5U, 8U, 9U})
    for (unsigned l = 0; l < lanes; ++l) m.set_vector(r, l, t.symbol("was.v" + std::to_string(r)));
  m.set_scc(t.symbol("was.scc", 1));
  m.set_scalar(8, x), m.set_scalar(9, y);
  for (unsigned l = 0; l < lanes; ++l)
    if (is_vector) m.set_vector(0, l, x), m.set_vector(1, l, y);
  for (std::size_t n = 0; n < lines; ++n) REQUIRE(m.execute(setting.code->operations[setting.entry + n]));
  return is_vector ? Run{m.vector(8, 0), m.vector(9, 0)} : Run{m.scalar(20), m.scalar(21)};
}

bool is(const std::optional<Quotient>& q, Term x, Term y, bool remainder) {
  return q && q->dividend == x && q->divisor == y && q->remainder == remainder;
}

} // namespace

TEST_CASE("the estimate of a reciprocal is close enough for every divisor") {
  // Step 1 of quotient.h: all floats that words are converted to, each with the least and the greatest of its words.
  for (const int unit : {0, -1}) { // rounded to nearest, and one less
    u64 floats = 0, wrong = 0;
    for (u64 least = 1; least < (u64{1} << 32);) {
      const auto f = static_cast<float>(static_cast<u32>(least));
      u64 greatest = least;
      if (f >= 16777216.0F) { // from here on floats stand for several words: up to the middle to the next one
        const double middle = (static_cast<double>(f) + static_cast<double>(std::nextafter(f, INFINITY))) / 2;
        greatest = std::min(static_cast<u64>(middle), u64{0xffffffff});
        if (static_cast<float>(static_cast<u32>(greatest)) != f) --greatest;
      }
      const float r = std::bit_cast<float>(std::bit_cast<u32>(1.0F / f) + static_cast<u32>(unit));
      const auto z = static_cast<u64>(r * std::bit_cast<float>(0x4f7ffffeU));
      const u64 two32 = u64{1} << 32, rest = two32 - z * least;
      const bool good = z <= 0xffffffff && z * greatest <= two32 &&
                        (z == 0 ? least > 0x80000000U
                                : static_cast<unsigned __int128>(rest) * rest <
                                      static_cast<unsigned __int128>(least) << 32);
      ++floats;
      wrong += good ? 0 : 1;
      least = greatest + 1;
    }
    CHECK(floats == 83'886'080);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a quotient and a remainder are read from the sequence that computes them") {
  for (const Lines& lines : {scalar, vector}) {
    const bool is_vector = &lines != &scalar && lines[0] == vector[0];
    const auto object = assembled(lines);
    Setting setting(object, object.kernel("k"), {64}, 0);
    Terms& t = setting.terms;
    CHECK(setting.rounds_to_nearest());
    const Term x = t.symbol("x"), y = t.symbol("y");
    const Run with = run(setting, lines.size(), is_vector, x, y);
    Quotients read(t, setting.program, true), other_rounding(t, setting.program, false);
    CHECK(is(read.read(with.quotient), x, y, false));
    CHECK(is(read.read(with.remainder), x, y, true));
    CHECK_FALSE(other_rounding.read(with.quotient));
    // Of sums and products as of anything else.
    const Term a = t.add(t.multiply(x, y), t.constant(127)), b = t.add(t.shl(y, t.constant(3)), x);
    const Run more = run(setting, lines.size(), is_vector, a, b);
    CHECK(is(read.read(more.quotient), a, b, false));
    CHECK(is(read.read(more.remainder), a, b, true));
    // A quotient's quotient.
    const Run twice = run(setting, lines.size(), is_vector, with.quotient, b);
    CHECK(is(read.read(twice.quotient), with.quotient, b, false));
    // The emulator computes it.
    std::mt19937_64 random(7);
    const auto draw = [&] {
      static constexpr u32 edges[] = {1,          2,          3,          255,        256,
                                      0xffffff,   0x1000000,  0x1000001,  0x7fffffff, 0x80000000,
                                      0x80000001, 0xfffffe00, 0xfffffe01, 0xffffffff};
      return random() % 3 == 0 ? edges[random() % std::size(edges)]
                               : static_cast<u32>(random() >> (32 + random() % 32));
    };
    for (int k = 0; k < 4000; ++k) {
      u32 v = draw();
      const u32 w = std::max(1U, draw());
      if (k % 4 == 0) v = v / w * w - static_cast<u32>(k % 8 == 0); // just at a multiple, or below it
      const Run now = run(setting, lines.size(), is_vector, t.constant(v), t.constant(w));
      INFO(v << " / " << w);
      REQUIRE(t.value(now.quotient) == u64{v / w});
      REQUIRE(t.value(now.remainder) == u64{v % w});
    }
  }
}

TEST_CASE("a sequence that is another one is no quotient") {
  const std::vector<std::pair<std::string, std::string>> changes = {{"0x4f7ffffe", "0x4f7fffff"},
                                                                    {"0x4f7ffffe", "0x4f800000"},
                                                                    {"0x4f7ffffe", "0x4f7ffffc"},
                                                                    {"_ge_", "_gt_"},
                                                                    {"_ge_", "_lt_"},
                                                                    {"_ge_u32", "_ge_i32"},
                                                                    {"_le_", "_lt_"},
                                                                    {"_le_u32", "_le_i32"},
                                                                    {"mul_hi_u32", "mul_hi_i32"},
                                                                    {"mul_hi_u32 s", "mul_i32 s"},
                                                                    {"s_add_i32", "s_sub_i32"},
                                                                    {"s_sub_i32", "s_add_i32"},
                                                                    {"v_add_u32", "v_sub_u32"},
                                                                    {"v_sub_u32", "v_subrev_u32"},
                                                                    {"v_subrev_u32", "v_sub_u32"},
                                                                    {", 1", ", 2"},
                                                                    {" 1,", " 2,"},
                                                                    {" 0,", " 1,"},
                                                                    {"rcp_iflag", "rsq"},
                                                                    {"cvt_f32_u32", "cvt_f32_i32"},
                                                                    {"cvt_u32_f32", "cvt_i32_f32"},
                                                                    {"v_mul_f32 v1,", "v_mul_f32_e64 v1, -"},
                                                                    {"v_mul_f32 v", "v_add_f32 v"},
                                                                    {"v_mad_u64_u32", "v_mad_i64_i32"},
                                                                    {"s9", "s8"},
                                                                    {"s8", "s9"},
                                                                    {"s13", "s12"},
                                                                    {"s12", "s13"},
                                                                    {"s14", "s15"},
                                                                    {"s15", "s14"},
                                                                    {"s20", "s21"},
                                                                    {"s21", "s20"},
                                                                    {"v1", "v0"},
                                                                    {"v0", "v1"},
                                                                    {"v8", "v9"},
                                                                    {"v9", "v8"},
                                                                    {"v4", "v3"},
                                                                    {"v5", "v4"},
                                                                    {"v2", "v3"},
                                                                    {"v3", "v2"}};
  std::size_t tried = 0, gone = 0;
  for (const bool is_vector : {false, true}) {
    const Lines& lines = is_vector ? vector : scalar;
    const auto attempt = [&](const Lines& now, const std::string& what) {
      std::optional<CodeObject> object;
      try {
        object = assembled(now);
      } catch (const std::exception&) { // no instruction
        return;
      }
      Setting setting(*object, object->kernel("k"), {64}, 0);
      const Term x = setting.terms.symbol("x"), y = setting.terms.symbol("y");
      const Run with = run(setting, now.size(), is_vector, x, y);
      Quotients read(setting.terms, setting.program, true);
      // One of the two may not hang on what was changed.
      const bool q = is(read.read(with.quotient), x, y, false), r = is(read.read(with.remainder), x, y, true);
      INFO(what);
      CHECK_FALSE((q && r));
      // Whatever is read is so, on numbers too.
      std::mt19937_64 random(tried);
      for (int k = 0; k < 20 && (q || r); ++k) {
        const auto v = static_cast<u32>(random()), w = std::max(1U, static_cast<u32>(random() >> (32 + k)));
        const Run numbers =
            run(setting, now.size(), is_vector, setting.terms.constant(v), setting.terms.constant(w));
        if (q) CHECK(setting.terms.value(numbers.quotient) == u64{v / w});
        if (r) CHECK(setting.terms.value(numbers.remainder) == u64{v % w});
      }
      ++tried;
    };
    for (std::size_t n = 0; n < lines.size(); ++n) {
      Lines without = lines;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(n));
      attempt(without, "without '" + lines[n] + "'");
      ++gone;
      for (const auto& [from, to] : changes)
        for (auto at = lines[n].find(from); at != std::string::npos; at = lines[n].find(from, at + 1)) {
          const std::size_t behind = at + from.size();
          if (std::isdigit(static_cast<unsigned char>(from.back())) != 0 && behind < lines[n].size() &&
              std::isdigit(static_cast<unsigned char>(lines[n][behind])) != 0)
            continue; // s1 in s12
          Lines now = lines;
          now[n].replace(at, from.size(), to);
          attempt(now, "'" + lines[n] + "' -> '" + now[n] + "'");
        }
    }
  }
  CHECK(gone == scalar.size() + vector.size());
  CHECK(tried > 150);
}

TEST_CASE("a program that may change how floats are rounded has no quotients") {
  Lines lines = scalar;
  lines.insert(lines.begin(), "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 1");
  const auto object = assembled(lines);
  CHECK_FALSE(Setting(object, object.kernel("k"), {64}, 0).rounds_to_nearest());
}

} // namespace quotient_test
