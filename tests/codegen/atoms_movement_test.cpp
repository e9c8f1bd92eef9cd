// Every atom that moves data, run on the emulator with random bits and scattered addresses; each bit of the result must be
// where the table's layouts put it, and nothing else may have changed.
#include "atoms_support.h"

#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace atoms_movement_test {

using namespace atoms_test;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int memory_bytes = 16384, lds_bytes = 16384;
constexpr std::uint32_t descriptor_flags = 0x27000;

Bytes random_bytes(std::mt19937& random, std::size_t n) {
  Bytes b(n);
  for (auto& x : b) x = static_cast<std::uint8_t>(random());
  return b;
}
int bit_of(const Bytes& b, std::int64_t at) { return b[static_cast<std::size_t>(at / 8)] >> at % 8 & 1; }
void set_bit(Bytes& b, std::int64_t at, int value) {
  auto& byte = b[static_cast<std::size_t>(at / 8)];
  byte = static_cast<std::uint8_t>((byte & ~(1 << at % 8)) | value << at % 8);
}
Bytes from_words(const std::vector<std::uint32_t>& words) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(words.data());
  return Bytes(p, p + 4 * words.size());
}

// Addresses of the lanes: each its own stretch of 128 bytes, out of order.
std::vector<std::uint32_t> scattered(std::mt19937& random) {
  std::vector<std::uint32_t> at;
  for (int lane = 0; lane < lanes; ++lane) at.push_back(static_cast<std::uint32_t>(128 * lane));
  std::shuffle(at.begin(), at.end(), random);
  return at;
}

// s[4:5] memory, s[6:7] lane addresses, s[8:9] registers (in or out), s[10:11] LDS as it is before and after.
// v2: the lane's address; v[8:9]: the same as a pointer; s[16:19]: a descriptor of the memory; v0: 4 x lane.
const std::string prologue = "v_lshlrev_b32 v0, 2, v0\n"
                             "global_load_dword v2, v0, s[6:7]\n"
                             "s_mov_b32 s16, s4\ns_and_b32 s17, s5, 0xffff\ns_mov_b32 s18, " +
                             std::to_string(memory_bytes) + "\ns_mov_b32 s19, " +
                             std::to_string(descriptor_flags) +
                             "\nv_mov_b32 v9, s5\ns_waitcnt vmcnt(0)\nv_add_co_u32 v8, vcc, s4, "
                             "v2\nv_addc_co_u32 v9, vcc, 0, v9, vcc\n";

// The whole LDS from s[10:11], or to it: a dword a lane at a time.
std::string whole_lds(bool to_lds) {
  std::string text = "v_mov_b32 v1, v0\ns_movk_i32 s20, " + std::to_string(lds_bytes / 256) + "\n.Lwhole" +
                     (to_lds ? "in" : "out") + ":\n";
  text += to_lds ? "global_load_dword v3, v1, s[10:11]\ns_waitcnt vmcnt(0)\nds_write_b32 v1, v3\n"
                 : "ds_read_b32 v3, v1\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, s[10:11]\n";
  text += std::string(
              "v_add_u32 v1, 0x100, v1\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 .Lwhole") +
          (to_lds ? "in" : "out") + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n";
  return text;
}

// Data registers v[16:], one row of 256 bytes each in the buffer.
std::string data_registers(int count, bool in) {
  std::string text;
  for (int r = 0; r < count; ++r)
    text += in ? "global_load_dword v" + std::to_string(16 + r) +
                     ", v0, s[8:9] offset:" + std::to_string(256 * r) + "\n"
               : "global_store_dword v0, v" + std::to_string(16 + r) +
                     ", s[8:9] offset:" + std::to_string(256 * r) + "\n";
  return text + "s_waitcnt vmcnt(0)\n";
}

// How an operand that names an address is written, by its addressing. `first`: the address alone (v2, v[8:9]); the rest
// (descriptor or base) follows the data in stores.
struct AddressText {
  std::string first, rest;
};
AddressText address_text(Addressing a) {
  switch (a) {
  case Addressing::descriptor: return {"v2", "s[16:19], 0 offen"};
  case Addressing::pointer: return {"v2", "s[4:5]"};
  case Addressing::flat: return {"v[8:9]", ""};
  default: return {"v2", ""};
  }
}

std::string offset_text(const Atom& atom, int first, int second) {
  if (atom.parts == 2)
    return " offset0:" + std::to_string(first / atom.immediate.unit) +
           " offset1:" + std::to_string(second / atom.immediate.unit);
  return first == 0 ? "" : " offset:" + std::to_string(first);
}

std::string joined(std::initializer_list<std::string> parts) {
  std::string out;
  for (const std::string& p : parts)
    if (!p.empty()) out += (out.empty() ? " " : ", ") + p;
  return out;
}

int registers_of(const Atom& atom) { return std::max(1, atom.bits / 32); }

// The instruction with its data in v[16:] (of two parts: the second part follows).
std::string copy_text(const Atom& atom, int first, int second) {
  const bool load = atom.is_load();
  const AtomSide& memory = load ? atom.source : atom.destination;
  const AddressText at = address_text(memory.addressing);
  const std::string offsets = offset_text(atom, first, second), mnemonic(atom.mnemonic());
  if (atom.forced_place()) {
    return mnemonic + joined({at.first, at.rest}) + offsets + (atom.name.ends_with(" lds") ? " lds" : "");
  }
  const int n = registers_of(atom);
  if (load) return mnemonic + joined({registers(16, n), at.first, at.rest}) + offsets;
  const bool buffer = memory.addressing == Addressing::descriptor;
  std::string data = registers(16, n);
  if (atom.parts == 2) data = registers(16, n / 2) + ", " + registers(16 + n / 2, n / 2);
  return mnemonic + (buffer ? joined({data, at.first, at.rest}) : joined({at.first, data, at.rest})) +
         offsets;
}

// Where bit `bit` of `lane` lies on a side that has addresses, in bits from the start of its memory. `first`, `second`:
// the immediates of the parts in bytes.
std::int64_t bit_address(const Atom& atom, const AtomSide& side,
                         const std::vector<std::uint32_t>& lane_address, std::int64_t uniform, int lane,
                         int bit, int first, int second) {
  const int part = atom.parts == 2 && bit >= atom.bits / 2 ? 1 : 0;
  // The layouts have the second part follow the first; its own immediate takes it elsewhere.
  const std::int64_t moved = part == 1 ? 8 * second - atom.bits / 2 : 8 * first;
  const std::int64_t base = side.uniform() ? uniform : lane_address[static_cast<std::size_t>(lane)];
  return 8 * base + place(side.address, lane, bit) + moved;
}

struct Copied {
  Bytes memory, registers, lds;
};

// What the layouts say that the instruction does. Both sides' slots are matched by number.
Copied by_layouts(const Atom& atom, Copied before, const std::vector<std::uint32_t>& addresses,
                  std::int64_t uniform, int first, int second) {
  Copied after = before;
  const auto memory_of = [](Copied& c, AtomSpace space) -> Bytes& {
    return space == AtomSpace::lds ? c.lds : c.memory;
  };
  std::map<std::int64_t, int> slots; // number -> the bit there
  const int last = static_cast<int>(atom.source.data.mode(0).size().value());
  for (int lane = 0; lane < last; ++lane)
    for (int bit = 0; bit < atom.bits; ++bit) {
      std::int64_t at = 0;
      if (atom.source.addressing == Addressing::none) { // registers in rows of 256 bytes
        at = 8 * (256 * (place(atom.source.address, lane, bit) / 32) + 4 * lane) +
             place(atom.source.address, lane, bit) % 32;
        REQUIRE(slots.emplace(place(atom.source.data, lane, bit), bit_of(before.registers, at)).second);
      } else {
        at = bit_address(atom, atom.source, addresses, uniform, lane, bit, first, second);
        REQUIRE(
            slots
                .emplace(place(atom.source.data, lane, bit), bit_of(memory_of(before, atom.source.space), at))
                .second);
      }
    }
  const bool to_registers = atom.destination.addressing == Addressing::none;
  const int shift_lds = atom.immediate_moves_both ? first : 0;
  for (int lane = 0; lane < last; ++lane) {
    const auto write = [&](std::int64_t row_bit, int value) {
      set_bit(after.registers, 8 * (256 * (row_bit / 32) + 4 * lane) + row_bit % 32, value);
    };
    for (int bit = 0; bit < atom.bits; ++bit) {
      const int value = slots.at(place(atom.destination.data, lane, bit));
      if (to_registers)
        write(place(atom.destination.address, lane, bit), value);
      else
        set_bit(memory_of(after, atom.destination.space),
                bit_address(atom, atom.destination, addresses, uniform, lane, bit,
                            atom.forced_place() ? shift_lds : first, second),
                value);
    }
    if (atom.bits < 32 && to_registers) // the rest of the register
      for (int bit = atom.bits; bit < 32; ++bit)
        write(bit, atom.sign_extends ? slots.at(place(atom.destination.data, lane, atom.bits - 1)) : 0);
    if (atom.bits < 32 && atom.forced_place()) // a word a lane
      for (int bit = atom.bits; bit < 32; ++bit)
        set_bit(after.lds, 8 * (uniform + 4 * lane + shift_lds) + bit, 0);
  }
  return after;
}

// Runs the atom; returns what differs from the layouts.
std::string probe_copy(const Target& target, const Atom& atom, const Atom& layouts, int first, int second,
                       unsigned seed) {
  std::mt19937 random(seed);
  const int uniform = 512; // the LDS base of M0
  std::vector<std::uint32_t> addresses = scattered(random);
  Copied before{random_bytes(random, memory_bytes), random_bytes(random, 16 * 256),
                random_bytes(random, lds_bytes)};
  // Registers that a load does not write stay as they were.
  std::string text = prologue + whole_lds(true) + data_registers(registers_of(atom), true);
  if (atom.forced_place()) text += "s_mov_b32 m0, " + std::to_string(uniform) + "\n";
  text += copy_text(atom, first, second) + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n" +
          data_registers(registers_of(atom), false) + whole_lds(false);
  Copied got = before;
  Bytes address_bytes = from_words(addresses);
  run(target, text, {&got.memory, &address_bytes, &got.registers, &got.lds}, 1, lds_bytes);
  const Copied want = by_layouts(layouts, before, addresses, uniform, first, second);
  return got.memory != want.memory         ? "memory"
         : got.registers != want.registers ? "registers"
         : got.lds != want.lds             ? "LDS"
                                           : "";
}

bool is_vector_copy(const Atom& a) {
  return a.kind == Atom::Kind::copy && a.destination.space != AtomSpace::scalar_registers;
}

} // namespace

TEST_CASE("loads, stores, transfers to LDS and transposing reads move each bit where the layouts say") {
  for (const Target& target : Target::all())
    for (const Atom* atom : Atom::on(target)) {
      if (!is_vector_copy(*atom)) continue;
      INFO(target.name << ": " << atom->name);
      const int unit = atom->immediate.unit, size = atom->bits / 8 / atom->parts;
      // Without immediates (of two parts: the next place), and with some.
      if (atom->parts == 2 && unit >= 256) { // the second parts beyond the lanes' stretches
        CHECK(probe_copy(target, *atom, *atom, 0, 8192, 1) == "");
        CHECK(probe_copy(target, *atom, *atom, 8192, 0, 2) == "");
        continue;
      }
      CHECK(probe_copy(target, *atom, *atom, 0, atom->parts == 2 ? size : 0, 1) == "");
      if (atom->parts == 2)
        CHECK(probe_copy(target, *atom, *atom, 5 * unit, 2 * unit, 2) == "");
      else
        CHECK(probe_copy(target, *atom, *atom, 64, 0, 2) == "");
    }
}

TEST_CASE("a slip in the layout of a copy is caught") {
  const Target& gfx950 = Target::named("gfx950");
  const auto slipped = [&](const char* name, bool destination, bool data, const char* layout) {
    const Atom& right = Atom::named(gfx950, name);
    Atom wrong = right;
    AtomSide& side = destination ? wrong.destination : wrong.source;
    (data ? side.data : side.address) = parse_layout(layout);
    INFO(name << " " << layout);
    CHECK(probe_copy(gfx950, right, right, 0, 0, 3) == "");
    CHECK(probe_copy(gfx950, right, wrong, 0, 0, 3) != "");
  };
  slipped("buffer_load_dwordx4 lds", true, false, "((32,2),128):((128,4224),1)");
  slipped("buffer_load_ushort lds", true, false, "(64,16):(16,1)");
  slipped("global_load_lds_dword", true, false, "((2,32),32):((1024,32),1)");
  slipped("ds_read_b64_tr_b16", true, true, "((16,4),(16,4)):((64,1024),(1,16))");
  slipped("ds_read_b64_tr_b8", true, true, "((16,4),(8,8)):((8,1024),(1,64))");
  slipped("ds_read_b96_tr_b6", true, true, "((16,4),(6,16)):((96,1536),(1,6))");
  slipped("ds_read_b64_tr_b4", true, true, "((16,4),(4,16)):((64,1024),(1,4))");
  slipped("global_load_dwordx2", true, true, "(64,(32,2)):(64,(2,1))");
}

TEST_CASE("scalar loads bring their words into scalar registers") {
  for (const Target& target : Target::all())
    for (const Atom* atom : Atom::on(target)) {
      if (atom->kind != Atom::Kind::copy || atom->destination.space != AtomSpace::scalar_registers) continue;
      INFO(target.name << ": " << atom->name);
      for (const int immediate : {0, 256}) {
        std::mt19937 random(4);
        Bytes memory = random_bytes(random, memory_bytes), none(256), out(16 * 256), lds(256);
        std::string text = prologue + std::string(atom->mnemonic()) + " " +
                           registers(32, atom->bits / 32, 's') + ", " +
                           (atom->source.addressing == Addressing::scalar ? "s[4:5]" : "s[16:19]") + ", " +
                           std::to_string(immediate) + "\ns_waitcnt lgkmcnt(0)\n";
        for (int r = 0; r < atom->bits / 32; ++r)
          text += "v_mov_b32 v" + std::to_string(16 + r) + ", s" + std::to_string(32 + r) + "\n";
        run(target, text + data_registers(atom->bits / 32, false), {&memory, &none, &out, &lds});
        for (int bit = 0; bit < atom->bits; ++bit) {
          REQUIRE(place(atom->source.data, 0, bit) == place(atom->destination.data, 0, bit));
          const std::int64_t in = 8 * immediate + place(atom->source.address, 0, bit),
                             at = place(atom->destination.address, 0, bit);
          for (const int lane : {0, 63})
            REQUIRE(bit_of(out, 8 * (256 * (at / 32) + 4 * lane) + at % 32) == bit_of(memory, in));
        }
      }
    }
}

TEST_CASE("the assembler takes immediates up to the table's limits and no further") {
  for (const Target& target : Target::all())
    for (const Atom* atom : Atom::on(target)) {
      if (atom->kind != Atom::Kind::copy) continue;
      INFO(target.name << ": " << atom->name);
      const Immediate i = atom->immediate;
      const auto text = [&](int value) {
        if (atom->destination.space == AtomSpace::scalar_registers)
          return std::string(atom->mnemonic()) + " " + registers(32, atom->bits / 32, 's') + ", " +
                 (atom->source.addressing == Addressing::scalar ? "s[4:5]" : "s[16:19]") + ", " +
                 std::to_string(value);
        return copy_text(*atom, value, 0);
      };
      // LLVM's assembler takes 16 bits for a buffer's offset and encodes the low 12. A value counts as expressed only if
      // each of its bits makes a difference.
      const auto expresses = [&](int value) {
        try {
          const auto code = rt::isa::assemble(text(value), arch_of(target));
          bool all = true;
          for (int bit = i.unit; value > 0 && bit <= value; bit *= 2)
            if ((value & bit) != 0)
              all = all && code != rt::isa::assemble(text(value & ~bit), arch_of(target));
          return all && (value >= 0 || code != rt::isa::assemble(text(0), arch_of(target)));
        } catch (const std::exception&) {
          return false;
        }
      };
      CHECK(expresses(i.max));
      CHECK(expresses(i.min));
      CHECK_FALSE(expresses(i.max + i.unit));
      CHECK_FALSE(expresses(i.min - i.unit));
      CHECK(i.holds(i.max));
      CHECK_FALSE(i.holds(i.max + i.unit));
      if (i.unit > 1) CHECK_FALSE(i.holds(1));
    }
}

namespace {

// memory = combine(memory, register) by the definition, on codes of one element.
std::uint64_t combined(const Atom& a, std::uint64_t memory, std::uint64_t value, std::uint64_t compare) {
  const int width = bits(a.element);
  const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  const int unused = 64 - width;
  const auto sign = [&](std::uint64_t x) { return static_cast<std::int64_t>(x << unused) >> unused; };
  if (is_floating(a.element)) {
    const double m = decode(a.element, memory), v = decode(a.element, value);
    switch (a.combine) {
    case Combine::add: return encode(a.element, m + v); // the operands are small integers: exact
    case Combine::min: return encode(a.element, std::min(m, v));
    case Combine::max: return encode(a.element, std::max(m, v));
    default: FAIL("no such float operation");
    }
  }
  switch (a.combine) {
  case Combine::add: return (memory + value) & mask;
  case Combine::sub: return (memory - value) & mask;
  case Combine::min: return sign(memory) < sign(value) ? memory : value;
  case Combine::max: return sign(memory) > sign(value) ? memory : value;
  case Combine::umin: return std::min(memory, value);
  case Combine::umax: return std::max(memory, value);
  case Combine::bit_and: return memory & value;
  case Combine::bit_or: return memory | value;
  case Combine::bit_xor: return memory ^ value;
  case Combine::swap: return value;
  case Combine::compare_swap: return memory == compare ? value : memory;
  case Combine::increment: return memory >= value ? 0 : memory + 1;
  case Combine::decrement: return memory == 0 || memory > value ? value : memory - 1;
  default: FAIL("no such operation");
  }
  return 0;
}

} // namespace

TEST_CASE("atomics combine each lane's register with the memory at its address, and return what was there") {
  for (const Target& target : Target::all())
    for (const Atom* atom : Atom::on(target)) {
      if (atom->kind != Atom::Kind::atomic) continue;
      INFO(target.name << ": " << atom->name);
      std::mt19937 random(5);
      const std::vector<std::uint32_t> addresses = scattered(random);
      const int width = bits(atom->element), values = atom->bits / width, n = atom->bits / 32;
      const bool in_lds = atom->destination.space == AtomSpace::lds;
      const auto code = [&]() -> std::uint64_t {
        if (is_floating(atom->element))
          return encode(atom->element, static_cast<double>(static_cast<int>(random() % 65) - 32));
        const std::uint64_t r = std::uint64_t{random()} << 32 | random();
        const std::uint64_t chosen = random() % 2 == 0 ? r % 4 : r; // equal values and small ones occur
        return width == 64 ? chosen : chosen & 0xffffffff;
      };
      Bytes memory(memory_bytes), lds(lds_bytes), registers_in(16 * 256);
      Bytes& place_of = in_lds ? lds : memory;
      std::vector<std::uint64_t> old_codes, value_codes, compare_codes;
      const auto store = [&](Bytes& to, std::int64_t bit, std::uint64_t c) {
        for (int b = 0; b < width; ++b) set_bit(to, bit + b, static_cast<int>(c >> b & 1));
      };
      const auto register_bit = [](int lane, std::int64_t bit) {
        return 8 * (256 * (bit / 32) + 4 * lane) + bit % 32;
      };
      // Registers v[16:]: of cmpswap in memory the new value, then the compared one; DS takes the compared one first.
      const bool exchange = atom->combine == Combine::compare_swap;
      const auto put = [&](int lane, int first, std::uint64_t c, int value) {
        for (int b = 0; b < width; ++b)
          set_bit(registers_in, register_bit(lane, 32 * first + value * width + b),
                  static_cast<int>(c >> b & 1));
      };
      for (int lane = 0; lane < lanes; ++lane)
        for (int v = 0; v < values; ++v) {
          const std::uint64_t old = code(), value = code(), compare = random() % 2 == 0 ? old : code();
          old_codes.push_back(old), value_codes.push_back(value), compare_codes.push_back(compare);
          store(place_of,
                8 * std::int64_t{addresses[static_cast<std::size_t>(lane)]} +
                    place(atom->destination.address, lane, v * width),
                old);
          put(lane, exchange && in_lds ? n : 0, value, v);
          if (exchange) put(lane, in_lds ? 0 : n, compare, v);
        }
      const AddressText at = address_text(atom->destination.addressing);
      const std::string result = atom->returns ? registers(24, n) : "", mnemonic(atom->mnemonic());
      std::string text = prologue + whole_lds(true) + data_registers(exchange ? 2 * n : n, true);
      if (in_lds)
        text += mnemonic + joined({result, at.first, registers(16, n), exchange ? registers(16 + n, n) : ""});
      else if (atom->destination.addressing == Addressing::descriptor)
        text += mnemonic + joined({registers(16, exchange ? 2 * n : n), at.first, at.rest}) +
                (!atom->returns  ? ""
                 : target.scopes ? " sc0"
                                 : " glc");
      else
        text += mnemonic + joined({result, at.first, registers(16, exchange ? 2 * n : n), at.rest}) +
                (!atom->returns  ? ""
                 : target.scopes ? " sc0"
                                 : " glc");
      text += "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n";
      if (atom->returns && atom->destination.addressing != Addressing::descriptor)
        for (int r = 0; r < n; ++r)
          text += "v_mov_b32 v" + std::to_string(16 + r) + ", v" + std::to_string(24 + r) + "\n";
      text += data_registers(n, false) + whole_lds(false);
      Bytes got_memory = memory, got_lds = lds, got_registers = registers_in,
            address_bytes = from_words(addresses);
      run(target, text, {&got_memory, &address_bytes, &got_registers, &got_lds}, 1, lds_bytes);
      Bytes want_memory = memory, want_lds = lds;
      std::size_t i = 0;
      for (int lane = 0; lane < lanes; ++lane)
        for (int v = 0; v < values; ++v, ++i) {
          REQUIRE(place(atom->source.data, lane, v * width) ==
                  place(atom->destination.data, lane, v * width));
          const std::int64_t bit = 8 * std::int64_t{addresses[static_cast<std::size_t>(lane)]} +
                                   place(atom->destination.address, lane, v * width);
          store(in_lds ? want_lds : want_memory, bit,
                combined(*atom, old_codes[i], value_codes[i], compare_codes[i]));
          if (atom->returns) {
            INFO("lane " << lane);
            std::uint64_t back = 0;
            for (int b = 0; b < width; ++b)
              back |= static_cast<std::uint64_t>(bit_of(got_registers, register_bit(lane, v * width + b)))
                      << b;
            CHECK(back == old_codes[i]);
          }
        }
      CHECK(got_memory == want_memory);
      CHECK(got_lds == want_lds);
    }
}

TEST_CASE("relayouts give each lane what the table says") {
  for (const Target& target : Target::all())
    for (const Atom* atom : Atom::on(target)) {
      if (atom->kind != Atom::Kind::relayout) continue;
      INFO(target.name << ": " << atom->name);
      std::mt19937 random(6);
      Bytes memory(memory_bytes), in = random_bytes(random, 16 * 256), lds(lds_bytes);
      const std::string mnemonic(atom->mnemonic()), modifiers = atom->name.substr(mnemonic.size());
      // v2 holds numbers of lanes, in any order and with repetitions, times 4.
      std::vector<std::uint32_t> numbers;
      for (int lane = 0; lane < lanes; ++lane) numbers.push_back(4 * (random() % 64));
      const bool pushes = atom->name == "ds_permute_b32";
      if (pushes) { // each lane is written once: what happens otherwise is not the table's matter
        for (int lane = 0; lane < lanes; ++lane)
          numbers[static_cast<std::size_t>(lane)] = static_cast<std::uint32_t>(4 * lane);
        std::shuffle(numbers.begin(), numbers.end(), random);
      }
      std::string text = prologue + data_registers(2, true);
      const bool scalar_result = atom->destination.space == AtomSpace::scalar_registers;
      const bool swaps = atom->bits == 64;
      if (swaps)
        text += mnemonic + " v16, v17";
      else if (mnemonic == "v_mov_b32_dpp")
        text += mnemonic + " v20, v16" + modifiers +
                " row_mask:0xf bank_mask:0xf bound_ctrl:0\ns_nop 4\nv_mov_b32 v16, v20";
      else if (atom->name == "ds_bpermute_b32" || pushes)
        text += mnemonic + " v20, v2, v16\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v16, v20";
      else if (mnemonic == "v_readlane_b32")
        text += "s_mov_b32 s30, 37\n" + mnemonic + " s31, v16, s30\nv_mov_b32 v16, s31";
      else if (mnemonic == "v_readfirstlane_b32")
        text += mnemonic + " s31, v16\nv_mov_b32 v16, s31";
      else if (mnemonic == "v_writelane_b32")
        text += "s_mov_b32 s30, 37\ns_mov_b32 s31, 0x12345678\n" + mnemonic + " v16, s31, 37";
      else
        text += mnemonic + " v20, v16" + modifiers + "\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v16, v20";
      Bytes got = in, address_bytes = from_words(numbers);
      run(target, text + "\ns_nop 4\n" + data_registers(2, false), {&memory, &address_bytes, &got, &lds}, 1,
          lds_bytes);
      const auto word = [](const Bytes& b, int lane, int r = 0) {
        std::uint32_t w = 0;
        std::memcpy(&w, b.data() + 256 * r + 4 * lane, 4);
        return w;
      };
      for (int lane = 0; lane < lanes; ++lane) {
        INFO("lane " << lane);
        if (swaps) {
          for (int r = 0; r < 2; ++r) { // which (lane, register) before holds the slot that is here after
            const std::int64_t slot = place(atom->destination.data, lane, 32 * r);
            int found = 0;
            for (int l = 0; l < lanes; ++l)
              for (int s = 0; s < 2; ++s)
                if (place(atom->source.data, l, 32 * s) == slot) {
                  CHECK(word(got, lane, r) == word(in, l, s));
                  ++found;
                }
            CHECK(found == 1);
            for (int bit = 0; bit < 32; ++bit)
              CHECK(place(atom->destination.data, lane, 32 * r + bit) == slot + bit);
          }
        } else if (scalar_result) {
          CHECK(word(got, lane) == word(in, atom->gather.empty() ? 37 : atom->gather[0]));
        } else if (!atom->gather.empty()) {
          REQUIRE(atom->gather.size() == lanes);
          const int from = atom->gather[static_cast<std::size_t>(lane)];
          CHECK(word(got, lane) == (from < 0 ? 0 : word(in, from)));
        } else if (atom->name == "ds_bpermute_b32") {
          CHECK(word(got, lane) == word(in, static_cast<int>(numbers[static_cast<std::size_t>(lane)] / 4)));
        } else if (pushes) {
          CHECK(word(got, static_cast<int>(numbers[static_cast<std::size_t>(lane)] / 4)) == word(in, lane));
        } else {
          CHECK(word(got, lane) == (lane == 37 ? 0x12345678 : word(in, lane)));
        }
      }
    }
}

TEST_CASE("every atom is probed by one of these tests") {
  for (const Atom& a : Atom::all()) {
    INFO(a.name);
    CHECK((a.kind == Atom::Kind::mma) == a.mma.has_value());
    CHECK(a.targets.members != 0);
    // Where layouts speak of a wave, they speak of 64 lanes (or one, where there is one address or a scalar).
    if (a.kind == Atom::Kind::mma) continue;
    for (const AtomSide* side : {&a.source, &a.destination})
      for (const Layout* l : {&side->address, &side->data}) {
        REQUIRE(l->rank() == 2);
        const Int size = l->mode(0).size();
        CHECK((size == Int(64) || size == Int(1)));
        CHECK(l->mode(1).size() == Int(a.bits));
      }
  }
}

TEST_CASE("names are unique on a target, and lookups answer or say who could") {
  for (const Target& target : Target::all()) {
    std::set<std::string> names;
    for (const Atom* a : Atom::on(target)) {
      INFO(a->name);
      CHECK(names.insert(a->name).second);
      CHECK(&Atom::named(target, a->name) == a);
    }
  }
  const Target &gfx942 = Target::named("gfx942"), &gfx950 = Target::named("gfx950");
  using E = Element;
  CHECK(Atom::mma_best(gfx942, E::f16, E::f16, E::f32, 16).name == "v_mfma_f32_16x16x16_f16");
  CHECK(Atom::mma_best(gfx950, E::f16, E::f16, E::f32, 16).name == "v_mfma_f32_16x16x32_f16");
  CHECK(Atom::mma_best(gfx950, E::bf16, E::bf16, E::f32, 32).name == "v_mfma_f32_32x32x16_bf16");
  CHECK(Atom::mma_best(gfx942, E::e4m3fnuz, E::e5m2fnuz, E::f32, 32).name == "v_mfma_f32_32x32x16_fp8_bf8");
  CHECK(Atom::mma_best(gfx950, E::e2m1, E::e4m3fn, E::f32, 16).name == "v_mfma_f32_16x16x128_f8f6f4 cbsz:4");
  CHECK(Atom::mma_best(gfx942, E::i8, E::i8, E::i32, 16).mma->k == 32);
  CHECK(Atom::mma_best(gfx950, E::f64, E::f64, E::f64, 16).mma->passes == 16);
  CHECK_THROWS_WITH(Atom::mma_of(gfx942, E::f16, E::f16, E::f32, 16, 32),
                    Catch::Contains("16x16x32") && Catch::Contains("there are") &&
                        Catch::Contains("gfx950 has it"));
  CHECK_THROWS_WITH(Atom::mma_best(gfx950, E::xf32, E::xf32, E::f32, 16), Catch::Contains("gfx942 has it"));
  CHECK_THROWS_WITH(Atom::mma_best(gfx942, E::e4m3fn, E::e4m3fn, E::f32, 16),
                    Catch::Contains("none for these types"));
  CHECK(Atom::load(gfx942, Addressing::descriptor, 16).name == "buffer_load_ushort");
  CHECK(Atom::load(gfx942, Addressing::lds, 64).name == "ds_read_b64");
  CHECK(Atom::store(gfx942, Addressing::pointer, 96).name == "global_store_dwordx3");
  CHECK(Atom::lds_dma(gfx950, Addressing::descriptor, 128).forced_place());
  CHECK_THROWS_WITH(Atom::lds_dma(gfx942, Addressing::descriptor, 128),
                    Catch::Contains("128 bits") && Catch::Contains("8, 16, 32; gfx950 has this one"));
  CHECK_THROWS_WITH(Atom::load(gfx942, Addressing::lds, 256), Catch::Contains("8, 16, 32, 64, 96, 128"));
  CHECK(Atom::transposing_read(gfx950, 16).name == "ds_read_b64_tr_b16");
  CHECK_THROWS_WITH(Atom::transposing_read(gfx942, 8), Catch::Contains("gfx950 has it"));
  CHECK(Atom::atomic(gfx942, Addressing::pointer, Combine::add, E::bf16, true).name ==
        "global_atomic_pk_add_bf16");
  CHECK_THROWS_WITH(Atom::atomic(gfx942, Addressing::descriptor, Combine::add, E::bf16, true),
                    Catch::Contains("gfx950 has it"));
  CHECK_THROWS_WITH(Atom::atomic(gfx942, Addressing::pointer, Combine::max, E::f32), Catch::Contains("f64"));
  CHECK_THROWS_WITH(Atom::named(gfx942, "ds_read_b64_tr_b16"), Catch::Contains("gfx950 has it"));
  CHECK_THROWS_WITH(Atom::named(gfx950, "read_b64"), Catch::Contains("names are the assembler's"));
  CHECK_THROWS_WITH(Atom::named(gfx950, "ds_read_b256"),
                    Catch::Contains("near: ") && Catch::Contains("ds_read_b"));
}

} // namespace atoms_movement_test
