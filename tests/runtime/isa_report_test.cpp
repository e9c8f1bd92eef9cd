#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <inlay/machine/matrix.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/runtime/isa/compare.h>
#include <inlay/runtime/isa/report.h>
#include <random>
#include <sstream>

namespace isa_report_test {

using namespace inlay::runtime;
using namespace inlay::runtime::isa;

namespace {

/// A kernel around a body: the least that LLVM's assembler wants.
std::string kernel_text(const std::string& body, const std::string& more = "") {
  return ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n.globl k\n.p2align 8\n.type "
         "k,@function\nk:\n" +
         body +
         "\n  s_endpgm\n.Lend:\n.size k, .Lend-k\n"
         ".rodata\n.p2align 6\n.amdhsa_kernel k\n  .amdhsa_next_free_vgpr 128\n  .amdhsa_next_free_sgpr 32\n"
         "  .amdhsa_accum_offset 64\n" +
         more + ".end_amdhsa_kernel\n";
}

KernelReport report_of(const std::string& body, const std::string& more = "", Arch arch = Arch::gfx942) {
  std::string text = kernel_text(body, more);
  if (arch == Arch::gfx950) text.replace(text.find("gfx942"), 6, "gfx950");
  const auto object = CodeObject::parse(assemble_code_object(text, arch));
  return report(object, object.kernel("k"));
}

Instruction one(const std::string& text, Arch arch = Arch::gfx942) {
  return decode(assemble(text, arch), 0, arch).instructions.at(0);
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t at = 0;
  for (std::size_t bar; (bar = line.find(" | ", at)) != std::string::npos; at = bar + 3)
    cells.push_back(line.substr(at, bar - at));
  cells.push_back(line.substr(at));
  return cells;
}

std::string tally(const Tally& t, const char* none = "0") {
  std::string out;
  for (const auto& [name, n] : t) out += (out.empty() ? "" : " ") + name + ":" + std::to_string(n);
  return out.empty() ? none : out;
}

std::string cover(const Cover& c) {
  if (c.loads == 0) return "-";
  std::ostringstream s;
  s << c.least.instructions << '/' << c.least.matrix << '/' << c.least.clocks << "; " << c.median.instructions
    << '/' << c.median.matrix << '/' << c.median.clocks;
  return s.str();
}

std::string read(const std::filesystem::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_CASE("kinds, widths and clocks of single instructions") {
  struct Case {
    const char* text;
    char letter;
    unsigned bits, issue, matrix;
  };
  const Case cases[] = {
      {"v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 'M', 0, 4, 16},
      {"v_mfma_i32_32x32x16_i8 v[0:15], v[16:17], v[18:19], v[0:15]", 'M', 0, 4, 32},
      {"v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]", 'M', 0, 4, 32},
      {"v_smfmac_f32_16x16x64_bf8_fp8 v[0:3], v[4:5], v[6:9], v10", 'M', 0, 4, 16},
      {"v_add_f32 v0, v1, v2", 'v', 0, 4, 0},
      {"v_accvgpr_read_b32 v0, a1", 'v', 0, 4, 0},
      {"v_exp_f32 v0, v1", 'v', 0, 8, 0},
      {"s_add_u32 s0, s1, s2", 's', 0, 4, 0},
      {"s_load_dwordx4 s[0:3], s[4:5], 0x0", 'K', 0, 4, 0},
      {"ds_read_b128 v[0:3], v4", 'R', 128, 4, 0},
      {"ds_read2_b32 v[0:1], v4 offset0:0 offset1:1", 'R', 64, 4, 0},
      {"ds_read2st64_b64 v[0:3], v4 offset0:0 offset1:1", 'R', 128, 4, 0},
      {"ds_read_u16_d16 v0, v4", 'R', 16, 4, 0},
      {"ds_read_i8 v0, v4", 'R', 8, 4, 0},
      {"ds_write_b8 v0, v4", 'W', 8, 8, 0},
      {"ds_write_b32 v0, v4", 'W', 32, 8, 0},
      {"ds_write_b64 v0, v[4:5]", 'W', 64, 12, 0},
      {"ds_write_b128 v0, v[4:7]", 'W', 128, 20, 0},
      {"ds_write2_b32 v0, v4, v5 offset0:0 offset1:1", 'W', 64, 12, 0},
      {"ds_bpermute_b32 v0, v1, v2", 'D', 0, 8, 0},
      {"ds_add_u32 v0, v1", 'D', 0, 4, 0},
      {"buffer_load_dword v0, s[0:3], 0 offen lds", 'L', 32, 4, 0},
      {"global_load_lds_dword v0, s[0:1]", 'L', 32, 4, 0},
      {"buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", 'G', 128, 4, 0},
      {"buffer_load_ubyte v0, v4, s[0:3], 0 offen", 'G', 8, 4, 0},
      {"global_load_short_d16 v0, v[2:3], off", 'G', 16, 4, 0},
      {"buffer_load_format_xyz v[0:2], v4, s[0:3], 0 idxen", 'G', 96, 4, 0},
      {"buffer_load_format_d16_xy v0, v4, s[0:3], 0 idxen", 'G', 32, 4, 0},
      {"scratch_load_dwordx2 v[0:1], off, s0", 'G', 64, 4, 0},
      {"flat_store_dwordx4 v[0:1], v[2:5]", 'S', 128, 16, 0},
      {"global_store_dword v[0:1], v2, off", 'S', 32, 4, 0},
      {"global_atomic_pk_add_bf16 v[0:1], v2, off", 'A', 0, 4, 0},
      {"s_waitcnt vmcnt(0)", 'w', 0, 4, 0},
      {"s_barrier", 'B', 0, 4, 0},
      {"s_setprio 1", 'P', 0, 4, 0},
      {"s_nop 7", 'n', 0, 32, 0},
      {"s_branch 0", 'J', 0, 4, 0},
      {"buffer_wbl2 sc1", 's', 0, 4, 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Instruction i = one(c.text);
    CHECK(letter(kind_of(i)) == c.letter);
    CHECK(memory_bits(i) == c.bits);
    CHECK(issue_clocks(i) == c.issue);
    CHECK(matrix_clocks(i, Arch::gfx942) == c.matrix);
  }
  const Instruction tr = one("ds_read_b64_tr_b16 v[0:1], v2", Arch::gfx950);
  CHECK(memory_bits(tr) == 64);
  CHECK(width_name(tr) == "trb64");
  CHECK(memory_bits(one("ds_read_b96_tr_b6 v[0:2], v4", Arch::gfx950)) == 96);
  CHECK(memory_bits(one("buffer_load_dwordx4 v0, s[0:3], 0 offen lds", Arch::gfx950)) == 128);
}

TEST_CASE("f8f6f4 matrix instructions cost by their formats, scaled ones one slot more") {
  // cbsz, blgp: 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4.
  const unsigned registers[] = {8, 8, 6, 6, 4};
  for (unsigned a = 0; a < 5; ++a)
    for (unsigned b = 0; b < 5; ++b) {
      const auto range = [](unsigned first, unsigned n) {
        return "v[" + std::to_string(first) + ":" + std::to_string(first + n - 1) + "]";
      };
      const std::string tail = " cbsz:" + std::to_string(a) + " blgp:" + std::to_string(b);
      const std::string ab = range(32, registers[a]) + ", " + range(40, registers[b]) + ", ";
      const Instruction small =
          one("v_mfma_f32_16x16x128_f8f6f4 v[0:3], " + ab + "v[0:3]" + tail, Arch::gfx950);
      const Instruction large =
          one("v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], " + ab + "v[0:15], v50, v51" + tail, Arch::gfx950);
      const unsigned twice = a < 2 || b < 2 ? 2 : 1;
      CAPTURE(a, b);
      CHECK(matrix_clocks(small, Arch::gfx950) == 16 * twice);
      CHECK(matrix_clocks(large, Arch::gfx950) == 32 * twice);
      CHECK(matrix_work(small) == 2ULL * 16 * 16 * 128);
      CHECK(matrix_work(large) == 2ULL * 32 * 32 * 64);
      CHECK(issue_clocks(small) == 4);
      CHECK(issue_clocks(large) == 8);
    }
}

TEST_CASE("matrix instructions: shape and blocks are those of the name") {
  int rows = 0;
  for (const auto& i : inlay::machine::matrix_instructions()) {
    const std::string name(i.name);
    CAPTURE(name);
    unsigned m = 0, n = 0, k = 0, blocks = 1;
    const auto shape = name.find("32_", name.find('_', 2) + 1) == std::string::npos ? name.find("64_") + 3
                                                                                    : name.find("32_") + 3;
    REQUIRE(std::sscanf(name.c_str() + shape, "%ux%ux%u_%ub", &m, &n, &k, &blocks) >= 3);
    // The names of gfx90a leave the blocks out: tests/runtime/data/mfma_calculator.txt has places in them.
    const bool earlier = i.on(inlay::machine::Arch::gfx90a);
    if (earlier) blocks = i.blocks;
    CHECK((i.m == m && i.n == n && i.k == k && i.blocks == blocks));
    // A sparse instruction states the K of A's dense form: half of it is multiplied, the dense equivalent counts.
    CHECK(i.work() == 2UL * m * n * k * blocks);
    CHECK((i.on(inlay::machine::Arch::gfx942) || i.on(inlay::machine::Arch::gfx950) || earlier));
    ++rows;
  }
  CHECK(rows == 97);
}

TEST_CASE("operand roles") {
  const auto written = [](const char* t) { return registers_written(one(t)); };
  const auto read = [](const char* t) { return registers_read(one(t)); };
  CHECK(written("v_add_f32 v3, v1, v2").count() == 1);
  CHECK(written("v_add_f32 v3, v1, v2").test(3));
  CHECK((read("v_add_f32 v3, v1, v2").test(1) && read("v_add_f32 v3, v1, v2").test(2) &&
         !read("v_add_f32 v3, v1, v2").test(3)));
  CHECK(read("v_fmac_f32 v3, v1, v2").test(3));
  CHECK(written("v_add_co_u32 v3, vcc, v1, v2").test(512 + 106));
  CHECK(written("ds_read_b128 a[4:7], v0").count() == 4);
  CHECK(written("ds_read_b128 a[4:7], v0").test(256 + 7));
  CHECK(written("ds_write_b64 v0, v[2:3]").none());
  CHECK(read("ds_write_b64 v0, v[2:3]").count() == 3);
  CHECK(written("buffer_load_dword v9, s[0:3], 0 offen lds").none());
  CHECK(read("global_store_dwordx2 v[0:1], v[2:3], off").count() == 4);
  CHECK(written("global_atomic_add v5, v[0:1], v2, off sc0").test(5));
  CHECK(written("global_atomic_add v[0:1], v2, off").none());
  CHECK(written("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]").count() == 4);
  CHECK(read("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]").count() == 8);
  CHECK(written("s_cmp_eq_u32 s0, s1").none());
  CHECK(written("s_load_dwordx8 s[8:15], s[0:1], 0x0").count() == 8);
}

TEST_CASE("occupancy: registers, LDS, slots") {
  // Registers to waves, as LLVM 22 reports for both processors.
  for (const auto& [registers, waves] : {std::pair{64U, 8U},
                                         {72U, 7U},
                                         {80U, 6U},
                                         {96U, 5U},
                                         {128U, 4U},
                                         {168U, 3U},
                                         {256U, 2U},
                                         {264U, 1U},
                                         {512U, 1U}})
    CHECK(occupancy(registers, 0, 256, Arch::gfx942).waves_per_simd == waves);
  CHECK(occupancy(1, 0, 256, Arch::gfx942).waves_per_simd == 8);
  for (const auto& [sgprs, waves] : {std::pair{16U, 8U}, {96U, 8U}, {97U, 7U}, {112U, 7U}})
    CHECK(occupancy(64, 0, 256, Arch::gfx950, sgprs).waves_per_simd == waves);
  CHECK(occupancy(64, 0, 256, Arch::gfx942, 112).limited_by == "sgprs");
  CHECK(occupancy(80, 0, 256, Arch::gfx942, 112).limited_by == "vgprs");
  CHECK(occupancy(128, 36864, 256, Arch::gfx950).waves_per_simd == 4);
  CHECK(occupancy(128, 36864, 256, Arch::gfx942).waves_per_simd == 1);
  CHECK(occupancy(128, 36864, 256, Arch::gfx942).limited_by == "lds");
  CHECK(occupancy(256, 65536, 512, Arch::gfx942).waves_per_simd == 2);
  CHECK(occupancy(24, 8448, 256, Arch::gfx942).waves_per_simd == 7);
}

TEST_CASE("dominators and loops of random graphs are those of the definition") {
  std::mt19937_64 random(7);
  int loops = 0;
  for (int round = 0; round < 150; ++round) {
    const unsigned blocks = 2 + static_cast<unsigned>(random() % 9);
    std::string text;
    for (unsigned b = 0; b < blocks; ++b) {
      text += "L" + std::to_string(b) + ":\n  s_nop 0\n";
      const auto target = "L" + std::to_string(random() % blocks);
      switch (random() % 4) {
      case 0: text += "  s_cbranch_scc0 " + target + "\n"; break;
      case 1: text += "  s_cbranch_scc1 " + target + "\n"; break;
      case 2: text += "  s_branch " + target + "\n"; break;
      default: break;
      }
    }
    const Program p = decode(assemble(text + "s_endpgm\n", Arch::gfx942), 0, Arch::gfx942);
    const ControlFlow f = control_flow(p, 0);
    const std::size_t n = f.blocks.size();
    const auto reach = [&](std::size_t without) {
      std::vector<bool> seen(n, false);
      std::vector<std::size_t> work;
      if (f.order[0] != without) work.push_back(f.order[0]);
      while (!work.empty()) {
        const std::size_t b = work.back();
        work.pop_back();
        if (seen[b]) continue;
        seen[b] = true;
        for (const std::size_t s : f.blocks[b].successors)
          if (s != without) work.push_back(s);
      }
      return seen;
    };
    REQUIRE(f.order.size() == n);
    for (std::size_t a = 0; a < n; ++a) {
      const auto seen = reach(a); // without a: what is no longer reached, a dominates
      for (std::size_t b = 0; b < n; ++b) REQUIRE(f.dominates(a, b) == (a == b || !seen[b]));
    }
    for (std::size_t h = 0; h < n; ++h) {
      std::vector<std::size_t> latches;
      for (const std::size_t q : f.blocks[h].predecessors)
        if (f.dominates(h, q)) latches.push_back(q);
      const auto found =
          std::find_if(f.loops.begin(), f.loops.end(), [&](const Loop& l) { return l.header == h; });
      REQUIRE((found != f.loops.end()) == !latches.empty());
      if (latches.empty()) continue;
      ++loops;
      for (std::size_t b = 0; b < n; ++b) { // b is in the loop when it reaches a latch without passing h
        std::vector<bool> seen(n, false);
        std::vector<std::size_t> work = {b};
        bool inside = b == h;
        while (!work.empty() && !inside) {
          const std::size_t at = work.back();
          work.pop_back();
          if (seen[at] || at == h) continue;
          seen[at] = true;
          inside = std::find(latches.begin(), latches.end(), at) != latches.end();
          for (const std::size_t s : f.blocks[at].successors) work.push_back(s);
        }
        REQUIRE(found->contains(b) == (inside && f.dominates(h, b)));
      }
    }
    for (const Block& b : f.blocks) // every instruction of a block but the last falls through
      for (std::size_t i = b.first; i < b.last; ++i) REQUIRE_FALSE(p.instructions[i].is_branch());
  }
  CHECK(loops > 100);
}

TEST_CASE("a loop counted by hand") {
  // Two matrix instructions a trip; the load of one trip is used in the next, after vmcnt(1).
  const auto r = report_of("  s_mov_b32 s8, 4\n"
                           "L:\n"
                           "  buffer_load_dwordx2 v[8:9], v0, s[0:3], 0 offen\n" // 0 G
                           "  s_waitcnt vmcnt(1)\n" // 1 w: the load of the trip before
                           "  v_mfma_f32_16x16x16_f16 a[0:3], v[8:9], v[10:11], a[0:3]\n" // 2 M
                           "  ds_read_b64 v[10:11], v1\n"                                 // 3 R
                           "  s_cbranch_vccz S\n" // 4 J, skips a block without MFMA
                           "  v_exp_f32 v2, v2\n  v_exp_f32 v2, v2\n"
                           "S:\n"
                           "  s_waitcnt lgkmcnt(0)\n"                                     // 5 w
                           "  v_mfma_f32_16x16x16_f16 a[4:7], v[4:5], v[10:11], a[4:7]\n" // 6 M
                           "  v_exp_f32 v3, v3\n"                                         // 7 v
                           "  s_sub_u32 s8, s8, 1\n"                                      // 8 s
                           "  s_cbranch_scc0 L\n"                                         // 9 J
                           "  s_nop 1");
  REQUIRE(r.hot);
  const LoopReport& h = *r.hot;
  CHECK(h.interleave == "G w M R J w M v s J");
  CHECK(h.total() == 10);
  CHECK(h.matrix_clocks == 32);
  CHECK(h.issue_clocks == 44); // ten at 4, v_exp at 8
  CHECK(h.valu_clocks == 8);
  CHECK(h.work == 2 * 8192);
  CHECK(h.vm_outstanding == 2);
  CHECK(h.lgkm_outstanding == 1);
  CHECK(waits_text(h.waits) == "v1 l0");
  // From the load at 0 around to the wait at 11: matrix instructions at 2 and 6 between.
  CHECK(cover(h.load_cover) == "11/2/32; 11/2/32");
  CHECK(cover(h.load_use) ==
        "2/0/0; 2/0/0"); // the MFMA right after reads the register: the trip after overwrites it
  CHECK(cover(h.lds_cover) == "2/0/0; 2/0/0");
  CHECK(cover(h.lds_use) == "3/0/0; 3/0/0");
  CHECK(h.accumulators_in_agprs == 1.0);
  CHECK(h.sources_in_agprs == 0.0);
  CHECK(h.memory_bytes == 512);
  CHECK(h.lds_read_bytes == 512);
  CHECK(h.memory_bytes_per_clock() == 64.0);
  CHECK(h.divergent_branches == 1);
  CHECK(h.longest_memory_run == 1);
  CHECK((r.resources.vgprs_used == 12 && r.resources.agprs_used == 8 && r.resources.sgprs_used == 9));
  CHECK((r.resources.vgprs_reserved == 128 && r.resources.accum_offset == 64));
  CHECK(r.loops == 1);
}

TEST_CASE("scalar loads return in any order: only lgkmcnt(0) says so") {
  const auto r =
      report_of("L:\n  ds_read_b32 v1, v0\n  s_load_dword s4, s[0:1], 0x0\n  s_waitcnt lgkmcnt(1)\n"
                "  v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[2:3], a[0:3]\n  s_waitcnt lgkmcnt(0)\n"
                "  v_mov_b32 v2, v1\n  s_cbranch_scc0 L");
  CHECK(cover(r.hot->lds_cover) == "4/1/16; 4/1/16");
  const auto in_order =
      report_of("L:\n  ds_read_b32 v1, v0\n  ds_read_b32 v5, v0\n  s_waitcnt lgkmcnt(1)\n"
                "  v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[2:3], a[0:3]\n  s_waitcnt lgkmcnt(0)\n"
                "  v_mov_b32 v2, v1\n  s_cbranch_scc0 L");
  CHECK(cover(in_order.hot->lds_cover) == "2/0/0; 3/1/16");
}

TEST_CASE("garbage decodes to instructions and unknowns that cover it, also where LLVM's disassembler would "
          "crash") {
  // A literal past the end, a literal in an encoding of 8 bytes, and random bytes under every encoding.
  for (const auto& bytes : {std::vector<std::uint8_t>{0xff, 0x00, 0xbf, 0x00},
                            {0x7f, 0xc3, 0x08, 0xe3, 0xd5, 0x5e, 0x05, 0xff, 0, 0, 0, 0}})
    CHECK(decode(bytes, 0, Arch::gfx942).instructions.at(0).is_unknown());
  std::mt19937_64 random(3);
  const std::uint32_t encodings[] = {0xd0000000, 0xd3800000, 0xd8000000, 0xdc000000, 0xe0000000, 0xe8000000,
                                     0xc0000000, 0x7e000000, 0x7c000000, 0xbe800000, 0xbf000000, 0xbf800000};
  for (int round = 0; round < 40; ++round) {
    std::vector<std::uint8_t> bytes(1 + random() % 2048);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      const auto word = encodings[random() % 12] | static_cast<std::uint32_t>(random() & 0x03ffffff);
      std::memcpy(&bytes[at], &word, 4);
    }
    for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
      std::uint64_t end = 0;
      for (const Instruction& i : decode(bytes, 0, arch).instructions) {
        REQUIRE(i.address == end);
        REQUIRE(i.size > 0);
        end += i.size;
      }
      CHECK(end == bytes.size());
    }
  }
}

TEST_CASE("strings fold runs and whole repeats") {
  CHECK(fold("MMsM") == "M2 s M");
  CHECK(fold("wBMMwBMM") == "(w B M2)x2");
  CHECK(fold("wBMMwBMMJ") == "(w B M2)x2 J");
  CHECK(fold("MMMM") == "M4");
  CHECK(fold("") == "");
  WaitCounts a, b;
  a.vmcnt = 20, a.lgkmcnt = 0, b.lgkmcnt = 3;
  CHECK(waits_text(std::vector{a, a, a}) == "[v20,l0]x3");
  CHECK(waits_text(std::vector{a, b}) == "v20,l0 l3");
  CHECK(waits_text(std::vector{a, b, b}) == "v20,l0 l3*2");
}

TEST_CASE("a kernel equals itself, and loses where it was made worse") {
  const std::string good = "L:\n  buffer_load_dwordx4 v[16:19], v0, s[0:3], 0 offen\n"
                           "  v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]\n"
                           "  ds_read_b128 v[4:7], v1\n"
                           "  v_mfma_f32_16x16x16_f16 a[4:7], v[16:17], v[18:19], a[4:7]\n"
                           "  s_waitcnt vmcnt(1) lgkmcnt(0)\n  s_barrier\n  s_cbranch_scc0 L";
  const auto anchor = report_of(good);
  const auto failing = [&](const std::string& body) {
    std::string numbers;
    const auto c = compare(report_of(body), anchor);
    for (const auto& k : c.criteria)
      if (k.verdict == Verdict::fails) numbers += (numbers.empty() ? "" : " ") + std::to_string(k.number);
    CHECK(c.passes() == numbers.empty());
    return numbers;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string body = good;
    const auto at = body.find(from);
    REQUIRE(at != std::string::npos);
    return body.replace(at, from.size(), to);
  };
  CHECK(failing(good).empty());
  const auto same = compare(anchor, anchor);
  CHECK(same.criteria.size() == 15);
  CHECK(same.similarity == 1.0);
  CHECK(std::all_of(same.rows.begin(), same.rows.end(), [](const Row& r) { return r.same; }));
  CHECK(failing(with("  s_barrier\n", "  s_barrier\n  s_barrier\n")) == "2 5");
  CHECK(failing(with("  s_barrier\n", "  s_barrier\n  v_mov_b32 v15, 0\n")) == "2 3");
  CHECK(failing(with("vmcnt(1) lgkmcnt(0)", "vmcnt(0) lgkmcnt(0)")) == "4");
  CHECK(failing(with("v_mfma_f32_16x16x16_f16 a[4:7], v[16:17], v[18:19]",
                     "v_mfma_f32_16x16x4_f32 a[4:7], v16, v17"))
            .starts_with("1"));
  CHECK(failing(with("s_cbranch_scc0 L", "s_cbranch_vccnz L")) == "13");
  CHECK(failing(with("  ds_read_b128 v[4:7], v1\n",
                     "  ds_read_b64 v[4:5], v1\n  ds_read_b64 v[6:7], v1\n")) == "2 7 9");
  CHECK(failing(with("a[4:7], v[16:17], v[18:19], a[4:7]", "a[64:67], v[16:17], v[18:19], a[64:67]")) ==
        "10");
  CHECK(failing("  s_nop 0") == "1");
}

TEST_CASE("what Triton emits: reports of all its kernels, from text") {
  int seen = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(INLAY_TESTS_DIR) + "/isa/triton")) {
    const std::string text = read(entry.path());
    const auto arch = target_of(text);
    REQUIRE(arch);
    const auto object = CodeObject::parse(assemble_code_object(text, *arch));
    const KernelReport r = report(object, object.kernel(""));
    CAPTURE(entry.path().filename().string());
    ++seen;
    CHECK(r.counts[static_cast<std::size_t>(Kind::unknown)] == 0);
    // What the assembler wrote into the metadata is what the code names, up to its rounding.
    CHECK(r.resources.vgprs_used + r.resources.agprs_used <= object.kernels()[0].declared_vgprs);
    CHECK(r.resources.scratch_bytes == 0);
    const bool gemm = entry.path().filename().string().starts_with("gemm");
    CHECK((r.matrix_loops > 0) == gemm);
    if (gemm) CHECK(r.hot->issue_per_matrix() > 0.2);
  }
  CHECK(seen == 14);
}

TEST_CASE("hand-tuned kernels: the numbers of an independent analysis") {
  const char* folder = std::getenv("INLAY_AITER_DIR");
  if (folder == nullptr) {
    WARN("skipped: set INLAY_AITER_DIR to the folder hsa of ROCm/aiter (docs/isa_report.md says how)");
    return;
  }
  std::ifstream rows(std::string(INLAY_TESTS_DIR) + "/isa/hand_tuned.txt");
  std::string line;
  int seen = 0;
  while (std::getline(rows, line)) {
    if (line.starts_with("#")) continue;
    const auto row = split(line);
    REQUIRE(row.size() == 44);
    const auto path = std::filesystem::path(folder) / row[1];
    if (!std::filesystem::exists(path)) continue;
    ++seen;
    const auto object = CodeObject::read(path.string());
    const KernelReport r = report(object, object.kernel(""));
    CAPTURE(row[0]);
    const Resources& s = r.resources;
    const auto n = [](auto v) { return std::to_string(v); };
    CHECK(row[3] == n(s.workgroup));
    CHECK(row[4] == n(s.vgprs_used) + "/" + n(s.agprs_used));
    CHECK(row[5] == n(s.vgprs_reserved) + " (" + n(s.accum_offset) + ")");
    CHECK(row[6] == n(s.sgprs_used));
    CHECK(row[7] == n(s.lds_bytes));
    CHECK(row[8] == n(s.waves_per_simd));
    CHECK(row[9] == n(s.instructions));
    CHECK(row[10] == n(s.code_bytes));
    CHECK(row[11] == n(r.loops) + " (" + n(r.matrix_loops) + ")");
    REQUIRE(r.hot);
    const LoopReport& h = *r.hot;
    CHECK(row[12] == tally(h.matrix));
    CHECK(row[13] == n(h.count(Kind::valu)));
    CHECK(row[14] == n(h.count(Kind::salu)));
    CHECK(row[15] == n(h.count(Kind::smem)));
    CHECK(row[16] == tally(h.lds_reads));
    CHECK(row[17] == tally(h.lds_writes));
    CHECK(row[18] == tally(h.loads_to_lds));
    CHECK(row[19] == tally(h.loads));
    CHECK(row[20] == tally(h.stores));
    CHECK(row[21] == n(h.count(Kind::wait)));
    CHECK(row[22] == n(h.count(Kind::barrier)));
    CHECK(row[23] == n(h.count(Kind::priority)));
    CHECK(row[24] == n(h.count(Kind::nop)));
    CHECK(row[25] == n(h.count(Kind::branch)));
    CHECK(row[26] == n(h.total()));
    CHECK(std::stod(row[27]) == Approx(h.matrix_per_other()).margin(0.00051));
    CHECK(row[28] == n(h.matrix_clocks));
    CHECK(row[29] == n(h.issue_clocks));
    CHECK(std::stod(row[30]) == Approx(h.issue_per_matrix()).margin(0.00051));
    CHECK(row[31] == n(h.valu_clocks));
    CHECK(std::stod(row[32]) ==
          Approx(static_cast<double>(h.work) * (s.workgroup / 64) / 1e6).margin(0.0051));
    CHECK(row[33] == n(h.vm_outstanding));
    CHECK(row[34] == n(h.lgkm_outstanding));
    CHECK(row[35] == cover(h.load_to_lds_cover));
    CHECK(row[36] == cover(h.load_cover));
    CHECK(row[37] == cover(h.load_use));
    CHECK(row[38] == cover(h.lds_cover));
    CHECK(row[39] == cover(h.lds_use));
    CHECK(std::stod(row[40]) == Approx(h.accumulators_in_agprs).margin(0.0051));
    CHECK(std::stod(row[41]) == Approx(h.sources_in_agprs).margin(0.0051));
    CHECK(std::stod(row[42]) == Approx(h.memory_bytes_per_clock()).margin(0.051));
    CHECK(std::stod(row[43]) == Approx(h.lds_bytes_per_clock()).margin(0.051));
  }
  CHECK(seen > 0);
}

} // namespace isa_report_test
