// Accesses past the end of everything: short kernels made at random, each of every width that there is, run with several LDS sizes, wave
// counts, check combinations and turns. Which lanes go past the end is worked out here from the addresses; a finding is there exactly
// where one does, and nothing ever touches the process's own memory (AddressSanitizer, preset asan).
//
// INLAY_FUZZ_KERNELS and INLAY_FUZZ_SEED ask for more and for others, INLAY_FUZZ_LAUNCHES for other than twelve launches of each.
#include "emulator_support.h"

#include <algorithm>
#include <cstdlib>
#include <random>

namespace emulator_bounds_test {

using namespace emulator_test;

namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

enum class Place { lds, to_lds, scratch, global, flat_lds };

/// `A`: the register of the address, `O`: offset, `D`: data.
struct Form {
  Place place;
  const char* text;
  unsigned bytes;
  unsigned second = 0; ///< how far the other element is per unit of offset1, of those that have two
  bool gfx950 = false;
};

const Form forms[] = {
    {Place::lds, "ds_read_u8 v30, A offset:O", 1},
    {Place::lds, "ds_read_i8 v30, A offset:O", 1},
    {Place::lds, "ds_read_u16_d16_hi v30, A offset:O", 2},
    {Place::lds, "ds_read_u16 v30, A offset:O", 2},
    {Place::lds, "ds_read_b32 v30, A offset:O", 4},
    {Place::lds, "ds_read_b64 v[30:31], A offset:O", 8},
    {Place::lds, "ds_read_b96 v[30:32], A offset:O", 12},
    {Place::lds, "ds_read_b128 v[30:33], A offset:O", 16},
    {Place::lds, "ds_read2_b32 v[30:31], A offset1:3", 4, 12},
    {Place::lds, "ds_read2_b64 v[30:33], A offset1:5", 8, 40},
    {Place::lds, "ds_read2st64_b32 v[30:31], A offset1:1", 4, 256},
    {Place::lds, "ds_read2st64_b64 v[30:33], A offset1:1", 8, 512},
    {Place::lds, "ds_write_b8 A, v30 offset:O", 1},
    {Place::lds, "ds_write_b8_d16_hi A, v30 offset:O", 1},
    {Place::lds, "ds_write_b16 A, v30 offset:O", 2},
    {Place::lds, "ds_write_b32 A, v30 offset:O", 4},
    {Place::lds, "ds_write_b64 A, v[30:31] offset:O", 8},
    {Place::lds, "ds_write_b96 A, v[30:32] offset:O", 12},
    {Place::lds, "ds_write_b128 A, v[30:33] offset:O", 16},
    {Place::lds, "ds_write2_b32 A, v30, v31 offset1:7", 4, 28},
    {Place::lds, "ds_write2_b64 A, v[30:31], v[32:33] offset1:1", 8, 8},
    {Place::lds, "ds_write2st64_b32 A, v30, v31 offset1:1", 4, 256},
    {Place::lds, "ds_add_u32 A, v30 offset:O", 4},
    {Place::lds, "ds_add_rtn_u64 v[32:33], A, v[30:31] offset:O", 8},
    {Place::lds, "ds_cmpst_rtn_b32 v32, A, v30, v31 offset:O", 4},
    {Place::lds, "ds_max_rtn_i32 v32, A, v30 offset:O", 4},
    {Place::lds, "ds_mskor_b32 A, v30, v31 offset:O", 4},
    {Place::lds, "ds_wrxchg2_rtn_b32 v[32:33], A, v30, v31 offset1:2", 4, 8},
    {Place::lds, "ds_add_f32 A, v30 offset:O", 4},
    {Place::lds, "ds_pk_add_f16 A, v30 offset:O", 4},
    {Place::lds, "ds_read_b64_tr_b16 v[30:31], A offset:O", 8, 0, true},
    {Place::lds, "ds_read_b64_tr_b8 v[30:31], A offset:O", 8, 0, true},
    {Place::lds, "ds_read_b96_tr_b6 v[30:32], A offset:O", 12, 0, true},
    {Place::to_lds, "buffer_load_dword v9, s[8:11], 0 offen lds", 4},
    {Place::to_lds, "buffer_load_ubyte v9, s[8:11], 0 offen lds", 4},
    {Place::to_lds, "buffer_load_dwordx3 v9, s[8:11], 0 offen lds", 12, 0, true},
    {Place::to_lds, "buffer_load_dwordx4 v9, s[8:11], 0 offen lds", 16, 0, true},
    {Place::to_lds, "global_load_lds_dword v9, s[4:5]", 4},
    {Place::to_lds, "global_load_lds_dwordx4 v9, s[4:5]", 16, 0, true},
    {Place::scratch, "scratch_load_ubyte v30, A, off offset:O", 1},
    {Place::scratch, "scratch_load_dword v30, A, off offset:O", 4},
    {Place::scratch, "scratch_load_dwordx2 v[30:31], A, off offset:O", 8},
    {Place::scratch, "scratch_load_dwordx3 v[30:32], A, off offset:O", 12},
    {Place::scratch, "scratch_load_dwordx4 v[30:33], A, off offset:O", 16},
    {Place::scratch, "scratch_store_byte A, v30, off offset:O", 1},
    {Place::scratch, "scratch_store_short A, v30, off offset:O", 2},
    {Place::scratch, "scratch_store_dword A, v30, off offset:O", 4},
    {Place::scratch, "scratch_store_dwordx4 A, v[30:33], off offset:O", 16},
    {Place::global, "global_load_ubyte v30, A, s[4:5] offset:O", 1},
    {Place::global, "global_load_short_d16 v30, A, s[4:5] offset:O", 2},
    {Place::global, "global_load_dword v30, A, s[4:5] offset:O", 4},
    {Place::global, "global_load_dwordx2 v[30:31], A, s[4:5] offset:O", 8},
    {Place::global, "global_load_dwordx3 v[30:32], A, s[4:5] offset:O", 12},
    {Place::global, "global_load_dwordx4 v[30:33], A, s[4:5] offset:O", 16},
    {Place::global, "global_store_byte A, v30, s[4:5] offset:O", 1},
    {Place::global, "global_store_dword A, v30, s[4:5] offset:O", 4},
    {Place::global, "global_store_dwordx3 A, v[30:32], s[4:5] offset:O", 12},
    {Place::global, "global_store_dwordx4 A, v[30:33], s[4:5] offset:O", 16},
    {Place::global, "global_atomic_add A, v30, s[4:5] offset:O", 4},
    {Place::global, "global_atomic_cmpswap_x2 v[34:35], A, v[30:33], s[4:5] offset:O sc0", 8},
    {Place::flat_lds, "flat_load_dword v30, v[A:A] offset:O", 4},
    {Place::flat_lds, "flat_load_dwordx4 v[30:33], v[A:A] offset:O", 16},
    {Place::flat_lds, "flat_store_dwordx2 v[A:A], v[30:31] offset:O", 8},
    {Place::flat_lds, "flat_atomic_add v[A:A], v30 offset:O", 4},
};

constexpr std::uint32_t global_bytes = 1000;

/// One access: the address of work-item t is base + t * stride, modulo 2^32.
struct Step {
  const Form* form = nullptr;
  std::uint32_t base = 0, stride = 0, offset = 0, mask = 0; ///< lanes of each wave: those below `mask`
};

class Program {
public:
  Program(std::mt19937& random, isa::Arch arch) : random_(random), arch_(arch) {
    const unsigned count = 1 + random_() % 4;
    while (steps.size() < count) {
      Step s;
      s.form = &forms[random_() % std::size(forms)];
      if (s.form->gfx950 && arch != isa::Arch::gfx950) continue;
      static constexpr std::uint32_t strides[] = {0,  1,  2,  4,   4,          4,         8,
                                                  12, 16, 16, 256, 0xfffffffc, 0x01000000};
      s.stride = strides[random_() % std::size(strides)];
      // The ends of LDS, scratch and buffer are what is asked for; every size of `sizes` has its turn.
      static constexpr std::uint32_t ends[] = {0,    4,    64,   252,   256,    260,        512,
                                               1000, 1024, 2048, 65536, 163840, 0x7fffffff, 0xfffffff0};
      const std::uint32_t span = random_() % 2 == 0 ? 0 : s.stride * 63;
      s.base = ends[random_() % std::size(ends)] - span + static_cast<std::uint32_t>(random_() % 24) - 16;
      const bool aligned = random_() % 2 == 0; // all widths at once and one by one
      if (aligned) s.base = s.base / s.form->bytes * s.form->bytes;
      s.offset =
          s.form->second != 0 || random_() % 2 == 0 ? 0 : static_cast<std::uint32_t>(random_() % 64) * 4;
      if (s.form->place == Place::to_lds) {
        s.base = (s.base / 4 * 4) & 0x3ffffU; // what m0 has
        s.stride = s.form->bytes;
        s.offset = 0;
      }
      if (s.form->place == Place::global) s.base &= 0x7fffffffU; // beyond, address spaces differ
      static constexpr std::uint32_t masks[] = {64, 64, 63, 32, 1, 0};
      s.mask = masks[random_() % std::size(masks)];
      steps.push_back(s);
    }
  }

  [[nodiscard]] std::string text() const {
    std::string t = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_mov_b32 v9, 0\n";
    for (unsigned r = 30; r < 36; ++r) t += "v_mov_b32 v" + std::to_string(r) + ", 1\n";
    t += "v_mbcnt_lo_u32_b32 v8, -1, 0\nv_mbcnt_hi_u32_b32 v8, -1, v8\ns_waitcnt lgkmcnt(0)\ns_mov_b64 "
         "s[8:9], s[4:5]\n"
         "s_mov_b32 s10, 1000\ns_mov_b32 s11, 0x20000\nv_mov_b32 v29, 1\n";
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& s = steps[i];
      const std::string a = std::to_string(40 + 2 * i);
      t += "s_mov_b64 exec, -1\ns_mov_b32 s12, " + std::to_string(s.stride) + "\nv_mul_lo_u32 v" + a +
           ", v8, s12\nv_add_u32 v" + a + ", " + std::to_string(s.base) + ", v" + a + "\nv_mov_b32 v" +
           std::to_string(41 + 2 * i) + ", src_shared_base\n";
      // The upper half of the aperture's address.
      t += "s_mov_b64 s[14:15], src_shared_base\nv_mov_b32 v" + std::to_string(41 + 2 * i) +
           ", s15\ns_mov_b32 m0, " + std::to_string(s.form->place == Place::to_lds ? s.base : 0) + "\n";
      const std::uint64_t active = s.mask == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << s.mask) - 1;
      t += "s_mov_b32 exec_lo, " + std::to_string(active & 0xffffffffU) + "\ns_mov_b32 exec_hi, " +
           std::to_string(active >> 32) + "\n";
      t += "s_nop 4\n.globl site" + std::to_string(i) + "\n.type site" + std::to_string(i) +
           ",@function\nsite" + std::to_string(i) + ":\n";
      for (const char* c = s.form->text; *c != 0; ++c) {
        if (*c == 'A' && c[1] == ':') {
          t += a + ":" + std::to_string(41 + 2 * i);
          c += 2;
        } else if (*c == 'A') {
          t += "v" + a;
        } else if (*c == 'O') {
          t += std::to_string(s.offset);
        } else {
          t += *c;
        }
      }
      t += "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n";
      if (random_() % 2 == 0) t += "s_barrier\n";
    }
    return t + "s_endpgm\n";
  }

  std::vector<Step> steps;

private:
  std::mt19937& random_;
  isa::Arch arch_;
};

/// Whether some lane of a wave of `items` work-items goes past `size` bytes.
bool goes_past(const Step& s, std::uint64_t size, unsigned items) {
  for (unsigned l = 0; l < std::min({64U, items, s.mask}); ++l) {
    const std::uint32_t at32 = s.base + s.stride * l + s.offset;
    // 64-bit sums where the instruction makes one; LDS and scratch addresses have 32 bits.
    const std::uint64_t wide = std::uint64_t{s.base + s.stride * l} + s.offset;
    const std::uint64_t at = s.form->place == Place::global ? wide
                             : s.form->place == Place::to_lds
                                 ? std::uint64_t{s.base} + std::uint64_t{s.stride} * l
                             : s.form->place == Place::flat_lds ? wide & 0xffffffffU
                                                                : at32;
    if (at + s.form->bytes > size) return true;
    if (s.form->second != 0 && std::uint64_t{at32 + s.form->second} + s.form->bytes > size) return true;
  }
  return false;
}

} // namespace

TEST_CASE("accesses past the end are found, and only those", "[fuzz]") {
  const std::uint64_t seed = from_environment("INLAY_FUZZ_SEED", 1),
                      kernels = from_environment("INLAY_FUZZ_KERNELS", 150),
                      launches = from_environment("INLAY_FUZZ_LAUNCHES", 12);
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  std::uint64_t found = 0, silent = 0;
  for (std::uint64_t n = 0; n < kernels; ++n) {
    const isa::Arch arch = random() % 2 == 0 ? isa::Arch::gfx942 : isa::Arch::gfx950;
    const Program program(random, arch);
    const std::string text = program.text();
    static constexpr unsigned scratch_sizes[] = {0, 4, 16, 64, 260, 1000};
    const unsigned scratch = scratch_sizes[random() % std::size(scratch_sizes)];
    const auto object = kernel(text, arch, {.scratch = scratch, .vgprs = 64, .accum_offset = 64});
    const CodeObject code = CodeObject::parse(object);
    std::map<std::uint64_t, std::size_t> site;
    for (const Symbol& s : code.symbols())
      if (s.name.starts_with("site")) site[s.address] = std::stoul(s.name.substr(4));
    for (std::uint64_t run = 0; run < launches; ++run) {
      static constexpr unsigned lds_sizes[] = {0, 4, 60, 252, 256, 260, 1000, 1024, 4096, 65536};
      static constexpr unsigned blocks[] = {64, 64, 128, 192, 256, 320, 448, 512, 640, 832, 1000, 1024};
      const unsigned lds = lds_sizes[random() % std::size(lds_sizes)],
                     block = blocks[random() % std::size(blocks)];
      Checks checks = Checks::none();
      bool* const each[] = {&checks.bounds,  &checks.uninit, &checks.races, &checks.waits,
                            &checks.barrier, &checks.align,  &checks.hazard};
      for (bool* c : each) *c = random() % 3 != 0;
      EmulatorDevice device(arch, {.threads = 1,
                                   .checks = checks,
                                   .turn = 1U + static_cast<unsigned>(random() % 20),
                                   .bank_model = random() % 2 == 0});
      const DevicePointer p = device.allocate(global_bytes);
      device.fill(p, 1, global_bytes);
      Arguments arguments;
      arguments.pointer(p);
      std::vector<bool> expected(program.steps.size());
      for (std::size_t i = 0; i < program.steps.size(); ++i) {
        const Step& s = program.steps[i];
        const std::uint64_t size = s.form->place == Place::scratch  ? scratch
                                   : s.form->place == Place::global ? global_bytes
                                                                    : lds;
        expected[i] = goes_past(s, size, block);
      }
      const bool any = std::find(expected.begin(), expected.end(), true) != expected.end();
      CAPTURE(seed, n, run, text, lds, scratch, block, checks.bounds, checks.uninit, checks.races,
              checks.waits, checks.align);
      bool faulted = false;
      const Module module = device.load(code);
      try {
        device.launch(device.function(module, ""), {.grid = {1}, .block = {block}, .dynamic_lds = lds},
                      arguments.bytes());
      } catch (const ExecutionError& e) {
        INFO(e.what());
        REQUIRE(std::string(e.what()).find("memory fault") != std::string::npos);
        faulted = true;
      }
      REQUIRE(faulted == (any && !checks.bounds));
      if (faulted) {
        ++found;
        continue;
      }
      std::vector<bool> reported(expected.size());
      for (const Finding& f : device.last_launch().findings) {
        if (f.kind != FindingKind::bounds) continue;
        INFO(to_string(f));
        REQUIRE(site.contains(f.address));
        reported[site.at(f.address)] = true;
      }
      if (lds == 0 && checks.bounds) { // one finding stands for all accesses to LDS that is not there
        const auto of_lds = [&](const std::vector<bool>& v) {
          bool some = false;
          for (std::size_t i = 0; i < v.size(); ++i)
            some = some || (v[i] && program.steps[i].form->place != Place::scratch &&
                            program.steps[i].form->place != Place::global);
          return some;
        };
        REQUIRE(of_lds(reported) == of_lds(expected));
        for (std::size_t i = 0; i < expected.size(); ++i)
          if (program.steps[i].form->place == Place::scratch || program.steps[i].form->place == Place::global)
            REQUIRE(reported[i] == expected[i]);
      } else {
        REQUIRE(reported == expected);
      }
      (any ? found : silent) += 1;
    }
  }
  CHECK(found * 12 > kernels * launches);
  CHECK(silent * 12 > kernels * launches);
}

TEST_CASE("a flat offset carries into no aperture") {
  const auto object =
      kernel("s_mov_b64 s[14:15], src_shared_base\ns_add_i32 s15, s15, -1\nv_mov_b32 v40, -16\n"
             "v_mov_b32 v41, s15\nflat_load_dword v30, v[40:41] offset:32\n"
             "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_endpgm\n",
             isa::Arch::gfx950, {.vgprs = 64, .accum_offset = 64});
  EmulatorDevice device(isa::Arch::gfx950, {.threads = 1});
  const Module module = device.load(CodeObject::parse(object));
  device.launch(device.function(module, ""), {.grid = {1}, .block = {64}, .dynamic_lds = 256}, {});
  const auto& findings = device.last_launch().findings;
  REQUIRE_FALSE(findings.empty());
  CHECK(findings[0].kind == FindingKind::bounds);
}

TEST_CASE("a damaged code object ends in a result or in an error", "[fuzz]") {
  const std::uint64_t seed = from_environment("INLAY_FUZZ_SEED", 1),
                      objects = from_environment("INLAY_FUZZ_KERNELS", 150) * 10;
  std::mt19937 random(static_cast<std::uint32_t>(seed) + 7);
  std::uint64_t ran = 0, refused = 0;
  std::vector<std::uint8_t> whole;
  for (std::uint64_t n = 0; n < objects; ++n) {
    const isa::Arch arch = isa::Arch::gfx950;
    if (n % 50 == 0)
      whole = kernel(Program(random, arch).text(), arch,
                     {.lds = 256, .scratch = 16, .vgprs = 64, .accum_offset = 64});
    std::vector<std::uint8_t> bytes = whole;
    for (unsigned k = 0; k < 1 + random() % 6; ++k) {
      std::uint8_t& b = bytes[random() % bytes.size()];
      const unsigned how = random() % 4;
      b = static_cast<std::uint8_t>(how == 0   ? 0
                                    : how == 1 ? 0xff
                                    : how == 2 ? b ^ (1U << random() % 8)
                                               : random());
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    try {
      const CodeObject code = CodeObject::parse(bytes);
      EmulatorDevice device(arch, {.threads = 1,
                                   .checks = random() % 2 == 0 ? Checks::all() : Checks::none(),
                                   .max_wave_instructions = 5000});
      const DevicePointer p = device.allocate(global_bytes);
      Arguments arguments;
      arguments.pointer(p);
      const Module module = device.load(code);
      device.launch(device.function(module, ""), {.grid = {2}, .block = {128}}, arguments.bytes());
      ++ran;
    } catch (const std::runtime_error&) { // each of them has a text
      ++refused;
    } catch (const std::invalid_argument&) {
      ++refused;
    }
  }
  CHECK(ran > objects / 10);
  CHECK(refused > objects / 10);
}

} // namespace emulator_bounds_test
