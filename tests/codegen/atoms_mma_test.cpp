// Every matrix instruction is probed on the emulator, and what comes out must be what the table's layouts say.
//
// One workgroup puts a single 1 into one (lane, value) of A; every (lane, value) of B holds a number of its own. D then
// shows, for each of its places, which place of B met that 1. That is the whole bilinear map of the instruction, seen
// from outside; the layouts must give the same map. Types that cannot count far enough get B's numbers digit by digit.
#include "atoms_support.h"

#include <inlay/algebra/print.h>

#include <map>
#include <random>
#include <set>
#include <unordered_map>

namespace atoms_mma_test {

using namespace atoms_test;

namespace {

using Registers = std::vector<std::uint32_t>; // [register][lane]

int register_count(Element e, int values) { return std::max(1, bits(e) * values / 32); }

void put(std::uint32_t* r, int lane, int value, int width, std::uint64_t code) {
  for (int b = 0; b < width; ++b) {
    const int at = value * width + b;
    r[at / 32 * lanes + lane] |= static_cast<std::uint32_t>(code >> b & 1) << at % 32;
  }
}
std::uint64_t get(const std::uint32_t* r, int lane, int value, int width) {
  if (width == 32) return r[value * lanes + lane];
  std::uint64_t code = 0;
  for (int b = 0; b < width; ++b) {
    const int at = value * width + b;
    code |= std::uint64_t{r[at / 32 * lanes + lane] >> at % 32 & 1u} << b;
  }
  return code;
}

// Numbers of an element, none 0, that products with 1 show exactly: as many as the type has between two powers of two,
// or small integers.
std::vector<std::uint64_t> digits(Element e) {
  std::vector<std::uint64_t> codes;
  const int count = bits(e) >= 16 && e != Element::bf16 ? 2048
                    : e == Element::bf16                ? 256
                    : bits(e) == 8                      ? 64
                    : bits(e) == 6                      ? 16
                                                        : 7;
  // Narrow floats: consecutive codes from the smallest normal number on.
  const bool by_code = is_floating(e) && bits(e) <= 8;
  const std::uint64_t first = by_code && bits(e) > 4 ? std::uint64_t{1} << facts(e).mantissa_bits : 1;
  for (int i = 0; i < count; ++i)
    codes.push_back(by_code ? first + static_cast<std::uint64_t>(i) : encode(e, i + 1));
  return codes;
}

// The instruction with A in v[2:], B in v[10:], the index in v26, the scales in v27 and v28, C and D in v[32:].
std::string instruction(const Atom& atom) {
  const Mma& m = *atom.mma;
  const std::string d = registers(32, register_count(m.c_element, m.c_values()));
  std::string text = std::string(atom.mnemonic()) + " " + d + ", " +
                     registers(2, register_count(m.a_element, m.a_values())) + ", " +
                     registers(10, register_count(m.b_element, m.b_values())) + ", " + (m.sparse ? "v26" : d);
  if (m.scaled) text += ", v27, v28 op_sel_hi:[0,0,0]";
  return text + " " + atom.name.substr(atom.mnemonic().size());
}

// Buffers A, B (of the whole launch or one a workgroup), index and scales, C, D. D of each workgroup.
struct Launch {
  Registers a, b, scales_a, scales_b, index, c;
  bool b_each = false, scales_each = false; // one a workgroup, as A
};

std::vector<Registers> run_mma(const Target& target, const Atom& atom, const Launch& l, unsigned workgroups) {
  const Mma& m = *atom.mma;
  const int a = register_count(m.a_element, m.a_values()), b = register_count(m.b_element, m.b_values());
  const int d = register_count(m.c_element, m.c_values());
  std::string text = "v_lshlrev_b32 v0, 2, v0\n";
  const auto advance = [&](int base, int words) { // s[base:base+1] += workgroup * words * 256 bytes
    text += "s_mul_i32 s20, s2, " + std::to_string(words * 256) + "\ns_add_u32 s" + std::to_string(base) +
            ", s" + std::to_string(base) + ", s20\ns_addc_u32 s" + std::to_string(base + 1) + ", s" +
            std::to_string(base + 1) + ", 0\n";
  };
  const auto load = [&](int first, int count, int base) {
    for (int r = 0; r < count; ++r)
      text += "v_add_u32 v1, " + std::to_string(256 * r) + ", v0\nglobal_load_dword v" +
              std::to_string(first + r) + ", v1, " + registers(base, 2, 's') + "\n";
  };
  advance(4, a);
  if (l.b_each) advance(6, b);
  if (l.scales_each) advance(8, 3);
  advance(12, d);
  load(2, a, 4);
  load(10, b, 6);
  load(26, 3, 8); // index, scales of A, scales of B
  load(32, d, 10);
  text += "s_waitcnt vmcnt(0)\n" + instruction(atom) + "\ns_nop 15\ns_nop 15\n";
  for (int r = 0; r < d; ++r)
    text += "v_add_u32 v1, " + std::to_string(256 * r) + ", v0\nglobal_store_dword v1, v" +
            std::to_string(32 + r) + ", s[12:13]\n";
  const auto bytes = [](const Registers& r) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(r.data());
    return std::vector<std::uint8_t>(p, p + r.size() * 4);
  };
  Registers extra;
  const std::size_t sets = l.scales_each ? workgroups : 1;
  for (std::size_t w = 0; w < sets; ++w)
    for (const Registers* r : {&l.index, &l.scales_a, &l.scales_b})
      for (int lane = 0; lane < lanes; ++lane)
        extra.push_back(
            r->empty() ? 0 : (*r)[(r->size() > lanes ? w * lanes : 0) + static_cast<std::size_t>(lane)]);
  std::vector<std::uint8_t> ab = bytes(l.a), bb = bytes(l.b), eb = bytes(extra), cb = bytes(l.c);
  std::vector<std::uint8_t> db(static_cast<std::size_t>(workgroups) * static_cast<std::size_t>(d) * 256);
  run(target, text, {&ab, &bb, &eb, &cb, &db}, workgroups);
  std::vector<Registers> out;
  for (unsigned w = 0; w < workgroups; ++w) {
    Registers r(static_cast<std::size_t>(d * lanes));
    std::memcpy(r.data(), db.data() + w * r.size() * 4, r.size() * 4);
    out.push_back(std::move(r));
  }
  return out;
}

using Coordinate3 = std::array<int, 3>;

// Where each coordinate is; demands that the layout is one-to-one and onto.
std::map<Coordinate3, std::pair<int, int>> places(const Layout& layout, int values, Coordinate3 extents) {
  std::map<Coordinate3, std::pair<int, int>> at;
  for (int lane = 0; lane < lanes; ++lane)
    for (int v = 0; v < values; ++v) {
      const Coordinate3 c = coordinate(layout, lane, v);
      for (int axis = 0; axis < 3; ++axis) REQUIRE((c[axis] >= 0 && c[axis] < extents[axis]));
      REQUIRE(at.emplace(c, std::pair(lane, v)).second);
    }
  REQUIRE(at.size() == static_cast<std::size_t>(extents[0] * extents[1] * extents[2]));
  return at;
}

// The k of a packed sparse element: two of every four, chosen by 2 bits of the index register of its lane.
int k_of(const Mma& m, const Registers& index, int lane, int value, int k) {
  if (!m.sparse) return k;
  return k / 2 * 4 + static_cast<int>(index[static_cast<std::size_t>(lane)] >> 2 * value & 3u);
}

// Compares the map seen from outside with the layouts; returns what differs, empty when nothing does.
std::string probe(const Target& target, const Atom& atom) {
  const Mma& m = *atom.mma;
  const int width_a = bits(m.a_element), width_b = bits(m.b_element), width_c = bits(m.c_element);
  const int words_a = register_count(m.a_element, m.a_values()),
            words_b = register_count(m.b_element, m.b_values());
  const int words_c = register_count(m.c_element, m.c_values());
  const int packed = m.sparse ? m.k / 2 : m.k;
  const auto in_a = places(m.a, m.a_values(), {m.m, packed, m.blocks});
  const auto in_b = places(m.b, m.b_values(), {m.n, m.k, m.blocks});
  const auto in_c = places(m.c, m.c_values(), {m.m, m.n, m.blocks});
  Launch l;
  const auto slots_a = static_cast<std::size_t>(lanes * m.a_values());
  l.a.assign(slots_a * static_cast<std::size_t>(words_a * lanes), 0);
  for (int lane = 0; lane < lanes; ++lane)
    for (int v = 0; v < m.a_values(); ++v)
      put(l.a.data() +
              static_cast<std::size_t>(lane * m.a_values() + v) * static_cast<std::size_t>(words_a * lanes),
          lane, v, width_a, encode(m.a_element, 1));
  l.c.assign(static_cast<std::size_t>(words_c * lanes), 0);
  if (m.scaled) l.scales_a.assign(lanes, 127), l.scales_b.assign(lanes, 127);
  std::mt19937 random(7);
  if (m.sparse) // two different places in ascending order for each pair
    for (int lane = 0; lane < lanes; ++lane) {
      constexpr std::uint32_t fields[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
      std::uint32_t word = 0;
      for (int n = 0; n < 8; ++n) word |= fields[random() % 6] << 4 * n;
      l.index.push_back(word);
    }
  const std::vector<std::uint64_t> digit = digits(m.b_element);
  const int base = static_cast<int>(digit.size()), slots_b = lanes * m.b_values();
  // met[a slot][d slot]: the number of the place of B, plus 1, that contributed.
  std::vector<std::vector<int>> met(slots_a,
                                    std::vector<int>(static_cast<std::size_t>(lanes * m.c_values()), 0));
  // The forms with scales are as many again: there B's places have one digit each, at random.
  std::vector<int> number(static_cast<std::size_t>(slots_b));
  for (int s = 0; s < slots_b; ++s)
    number[static_cast<std::size_t>(s)] =
        m.scaled ? static_cast<int>(random() % static_cast<unsigned>(base)) : s;
  const int numbers = m.scaled ? base : slots_b;
  std::unordered_map<std::uint64_t, int> value_of_product;
  for (int i = 0; i < base; ++i)
    value_of_product[encode(m.c_element, decode(m.b_element, digit[static_cast<std::size_t>(i)]))] = i;
  for (int scale = 1; scale < numbers; scale *= base) {
    l.b.assign(static_cast<std::size_t>(words_b * lanes), 0);
    for (int s = 0; s < slots_b; ++s)
      put(l.b.data(), s / m.b_values(), s % m.b_values(), width_b,
          digit[static_cast<std::size_t>(number[static_cast<std::size_t>(s)] / scale % base)]);
    const std::vector<Registers> d = run_mma(target, atom, l, static_cast<unsigned>(slots_a));
    for (std::size_t a = 0; a < slots_a; ++a)
      for (int lane = 0; lane < lanes; ++lane)
        for (int v = 0; v < m.c_values(); ++v) {
          const std::uint64_t code = get(d[a].data(), lane, v, width_c);
          if (code == 0) continue;
          const auto found = value_of_product.find(code);
          if (found == value_of_product.end()) return "a sum of several products";
          met[a][static_cast<std::size_t>(lane * m.c_values() + v)] +=
              found->second * scale + (scale == 1 ? 1 : 0);
        }
  }
  for (const auto& [at, where] : in_a) {
    const auto [lane, value] = where;
    const int k = k_of(m, l.index, lane, value, at[1]);
    std::vector<int> expected(static_cast<std::size_t>(lanes * m.c_values()), 0);
    for (int n = 0; n < m.n; ++n) {
      const auto [b_lane, b_value] = in_b.at({n, k, at[2]});
      const auto [c_lane, c_value] = in_c.at({at[0], n, at[2]});
      expected[static_cast<std::size_t>(c_lane * m.c_values() + c_value)] =
          number[static_cast<std::size_t>(b_lane * m.b_values() + b_value)] + 1;
    }
    if (met[static_cast<std::size_t>(lane * m.a_values() + value)] != expected)
      return "a 1 in lane " + std::to_string(lane) + " value " + std::to_string(value) + " of A";
  }
  // C is laid out as D: with A = 0, D is C.
  l.a.assign(static_cast<std::size_t>(words_a * lanes), 0);
  for (int s = 0; s < lanes * m.c_values(); ++s)
    put(l.c.data(), s / m.c_values(), s % m.c_values(), width_c, encode(m.c_element, s + 1));
  if (run_mma(target, atom, l, 1)[0] != l.c) return "C";
  return "";
}

// One lane's scale at a time is 2, and B (or A) is 1 in one group of 32 k only: D doubles where the layout says.
std::string probe_scales(const Target& target, const Atom& atom) {
  const Mma& m = *atom.mma;
  const int words_a = register_count(m.a_element, m.a_values()),
            words_b = register_count(m.b_element, m.b_values());
  const int words_c = register_count(m.c_element, m.c_values()), groups = m.k / 32;
  for (const bool of_a : {true, false}) {
    Launch l;
    l.b_each = l.scales_each = true;
    l.c.assign(static_cast<std::size_t>(words_c * lanes), 0);
    for (int group = 0; group < groups; ++group)
      for (int chosen = 0; chosen < lanes; ++chosen) {
        Registers a(static_cast<std::size_t>(words_a * lanes)), b(static_cast<std::size_t>(words_b * lanes));
        for (int lane = 0; lane < lanes; ++lane) {
          for (int v = 0; v < m.a_values(); ++v)
            if (coordinate(m.a, lane, v)[1] / 32 == group)
              put(a.data(), lane, v, bits(m.a_element), encode(m.a_element, 1));
          for (int v = 0; v < m.b_values(); ++v)
            if (coordinate(m.b, lane, v)[1] / 32 == group)
              put(b.data(), lane, v, bits(m.b_element), encode(m.b_element, 1));
          (of_a ? l.scales_a : l.scales_b).push_back(lane == chosen ? 128 : 127);
          (of_a ? l.scales_b : l.scales_a).push_back(127);
        }
        l.a.insert(l.a.end(), a.begin(), a.end());
        l.b.insert(l.b.end(), b.begin(), b.end());
      }
    const std::vector<Registers> d = run_mma(target, atom, l, static_cast<unsigned>(groups * lanes));
    for (int group = 0; group < groups; ++group)
      for (int chosen = 0; chosen < lanes; ++chosen) {
        const Coordinate3 scaled = coordinate(*m.scale, chosen, 0);
        for (int lane = 0; lane < lanes; ++lane)
          for (int v = 0; v < m.c_values(); ++v) {
            const Coordinate3 at = coordinate(m.c, lane, v);
            const bool twice = at[of_a ? 0 : 1] == scaled[0] && scaled[1] == 32 * group;
            const double value = decode(
                m.c_element, get(d[static_cast<std::size_t>(group * lanes + chosen)].data(), lane, v, 32));
            if (value != (twice ? 64 : 32))
              return std::string("scale of ") + (of_a ? "A" : "B") + " in lane " + std::to_string(chosen);
          }
      }
  }
  return "";
}

// Every stride of a layout changed by one, and neighbours exchanged: what a slip of the pen makes of a row.
std::vector<Layout> slips(const Layout& layout) {
  std::vector<Layout> out;
  const auto with = [&](std::size_t i, Stride s, std::size_t j, Stride t) {
    TupleBuilder<Mode> b;
    b.profile(layout.profile().view());
    for (std::size_t k = 0; k < layout.modes().size(); ++k)
      b.leaves().push_back(Mode{layout.modes()[k].extent, k == i   ? s
                                                          : k == j ? t
                                                                   : layout.modes()[k].stride});
    out.push_back(Layout(std::move(b).finish()));
  };
  for (std::size_t i = 0; i < layout.modes().size(); ++i) {
    const Mode& m = layout.modes()[i];
    if (m.extent == Int(1)) continue;
    with(i, Stride(m.stride.scale * Int(2), m.stride.axis), i, {});
    with(i, Stride(m.stride.scale, {(m.stride.axis[0] + 1) % 2}), i, {});
    for (std::size_t j = i + 1; j < layout.modes().size(); ++j)
      if (layout.modes()[j].extent == m.extent && layout.modes()[j].stride != m.stride)
        with(i, layout.modes()[j].stride, j, m.stride);
  }
  return out;
}

} // namespace

namespace {
void probe_all(bool (*wanted)(const Atom&)) {
  for (const Target& target : Target::all())
    for (const Atom* atom : Atom::on(target)) {
      if (!atom->mma || !wanted(*atom)) continue;
      INFO(target.name << ": " << atom->name);
      CHECK(probe(target, *atom) == "");
      if (atom->mma->scaled) CHECK(probe_scales(target, *atom) == "");
    }
}
bool is_mixed(const Atom& a) { return a.name.find("f8f6f4") != std::string::npos; }
} // namespace

TEST_CASE("a 1 in A meets the places of B and D that the layouts say: dense and sparse instructions") {
  probe_all([](const Atom& a) { return !is_mixed(a); });
}
TEST_CASE("a 1 in A meets the places of B and D that the layouts say: 16x16x128 of 8, 6 and 4 bits") {
  probe_all([](const Atom& a) { return is_mixed(a) && a.mma->m == 16; });
}
TEST_CASE("a 1 in A meets the places of B and D that the layouts say: 32x32x64 of 8, 6 and 4 bits") {
  probe_all([](const Atom& a) { return is_mixed(a) && a.mma->m == 32; });
}

TEST_CASE("the types of matrix instructions are their target's, and the packed values fill whole registers") {
  for (const Target& target : Target::all())
    for (const Atom* atom : Atom::on(target)) {
      if (!atom->mma) continue;
      const Mma& m = *atom->mma;
      INFO(target.name << ": " << atom->name);
      for (const Element e : {m.a_element, m.b_element}) {
        if (e == Element::e4m3fn || e == Element::e4m3fnuz) CHECK(e == fp8(target));
        if (e == Element::e5m2 || e == Element::e5m2fnuz) CHECK(e == bf8(target));
      }
      CHECK(m.a_values() * bits(m.a_element) % 32 == 0);
      CHECK(m.b_values() * bits(m.b_element) % 32 == 0);
      for (const Layout* l : {&m.a, &m.b, &m.c}) CHECK(l->mode(0).size() == Int(64));
      CHECK(m.a.mode(1).size() == Int(m.a_values()));
      CHECK(m.b.mode(1).size() == Int(m.b_values()));
      CHECK(m.c.mode(1).size() == Int(m.c_values()));
    }
}

namespace {
// Whether a wrong layout of one operand (0: A, 1: B, 2: C) is noticed: it is no longer one-to-one and onto, or the probe
// differs. `probed` counts those that got as far as the probe.
bool noticed(const Target& target, const Atom& right, int operand, const Layout& slip, int& probed) {
  const Mma& m = *right.mma;
  const int packed = m.sparse && operand == 0 ? m.k / 2 : m.k;
  const Coordinate3 extents = {operand == 1 ? m.n : m.m, operand == 2 ? m.n : packed, m.blocks};
  const int values = operand == 0 ? m.a_values() : operand == 1 ? m.b_values() : m.c_values();
  std::set<Coordinate3> hit;
  for (int lane = 0; lane < lanes; ++lane)
    for (int v = 0; v < values; ++v) {
      const Coordinate3 c = coordinate(slip, lane, v);
      for (int axis = 0; axis < 3; ++axis)
        if (c[axis] >= extents[axis]) return true;
      if (!hit.insert(c).second) return true;
    }
  Atom wrong = right;
  (operand == 0 ? wrong.mma->a : operand == 1 ? wrong.mma->b : wrong.mma->c) = slip;
  ++probed;
  return !probe(target, wrong).empty();
}
const Layout& operand_of(const Mma& m, int operand) { return operand == 0 ? m.a : operand == 1 ? m.b : m.c; }
} // namespace

TEST_CASE("the probe catches every slip in a layout: a stride doubled or turned, two exchanged") {
  const Target& target = Target::named("gfx950");
  int probed = 0;
  for (const char* name :
       {"v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_bf16", "v_mfma_f32_32x32x4_2b_f16",
        "v_mfma_f32_4x4x4_16b_f16", "v_mfma_i32_16x16x64_i8", "v_mfma_f64_16x16x4_f64",
        "v_mfma_f64_4x4x4_4b_f64", "v_smfmac_f32_16x16x64_f16", "v_mfma_f32_16x16x128_f8f6f4 cbsz:4"})
    for (int operand = 0; operand < 3; ++operand) {
      const Atom& right = Atom::named(target, name);
      for (const Layout& slip : slips(operand_of(*right.mma, operand))) {
        INFO(name << ", operand " << operand << ": " << to_string(slip));
        CHECK(noticed(target, right, operand, slip, probed));
      }
    }
  CHECK(probed > 0); // some slips do get as far as the probe
}

TEST_CASE("one slip in any row of the table is caught") {
  std::mt19937 random(9);
  int probed = 0;
  for (const Atom& atom : Atom::all()) {
    if (!atom.mma || (is_mixed(atom) && random() % 8 != 0)) continue;
    const auto on = [&](const char* name) { return atom.targets.contains(Target::named(name)); };
    const Target& target = Target::named(on("gfx950") ? "gfx950" : on("gfx942") ? "gfx942" : "gfx90a");
    const int operand = static_cast<int>(random() % 3);
    const std::vector<Layout> all = slips(operand_of(*atom.mma, operand));
    const Layout& slip = all[random() % all.size()];
    INFO(atom.name << ", operand " << operand << ": " << to_string(slip));
    CHECK(noticed(target, atom, operand, slip, probed));
  }
}

} // namespace atoms_mma_test
