// From a file to a running wave: relocations, constants beside the code, several kernels, versions, preloaded arguments,
// dynamic LDS.
#include "emulator_support.h"

#include <algorithm>
#include <cstring>

namespace emulator_loading_test {

using namespace emulator_test;

namespace {

std::string descriptor(const std::string& name, const std::string& extra = "") {
  return ".rodata\n.p2align 6\n.amdhsa_kernel " + name +
         "\n.amdhsa_next_free_vgpr 16\n.amdhsa_next_free_sgpr 40\n.amdhsa_accum_offset 16\n"
         ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_kernarg_size 24\n" +
         extra + ".end_amdhsa_kernel\n";
}
std::string function(const std::string& name, const std::string& body) {
  return ".text\n.globl " + name + "\n.p2align 8\n.type " + name + ",@function\n" + name + ":\n" + body +
         ".Lend_" + name + ":\n.size " + name + ", .Lend_" + name + "-" + name + "\n";
}

/// Loads words from addresses that tables of the image hold and stores them, one after the other.
const char* const prologue = "s_load_dwordx2 s[20:21], s[0:1], 0x0\nv_mov_b32 v1, 0\ns_waitcnt lgkmcnt(0)\n";
std::string store(unsigned place, const std::string& sgpr) {
  return "v_mov_b32 v2, " + sgpr +
         "\nglobal_store_dword v1, v2, s[20:21] offset:" + std::to_string(4 * place) + "\n";
}

std::vector<std::uint32_t> words_of(const std::vector<std::uint8_t>& object, std::size_t count,
                                    const LaunchGeometry& geometry = {{1}, {64}}) {
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
  const DevicePointer out = device.allocate(4 * count);
  const LaunchResult r =
      run(device, object, geometry, Arguments().pointer(out).pointer(0).pointer(0).bytes());
  INFO(all(r.findings));
  CHECK(r.findings.empty());
  return download<std::uint32_t>(device, out, count);
}

} // namespace

TEST_CASE("relocations: constants beside the code, tables of addresses, the global offset table") {
  const std::string text =
      function("k", prologue + std::string(R"(
  ; a constant in .rodata, relative to the program counter
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, constants@rel32@lo+4
  s_addc_u32 s5, s5, constants@rel32@hi+12
  s_load_dwordx2 s[6:7], s[4:5], 0x4
  ; a local table of addresses: R_AMDGPU_RELATIVE64
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_load_dwordx4 s[8:11], s[4:5], 0x0
  ; a symbol that may be replaced: R_AMDGPU_ABS64 in the global offset table
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, shared@gotpcrel32@lo+4
  s_addc_u32 s5, s5, shared@gotpcrel32@hi+12
  s_load_dwordx2 s[12:13], s[4:5], 0x0
  ; a weak symbol that nobody defines: 0
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, missing@gotpcrel32@lo+4
  s_addc_u32 s5, s5, missing@gotpcrel32@hi+12
  s_load_dwordx2 s[14:15], s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s16, s[8:9], 0x0
  s_load_dword s17, s[10:11], 0x0
  s_load_dword s18, s[12:13], 0x0
  s_waitcnt lgkmcnt(0)
)") + store(0, "s6") + store(1, "s7") +
                        store(2, "s16") + store(3, "s17") + store(4, "s18") + store(5, "s14") +
                        store(6, "s15") + "s_endpgm\n") +
      ".rodata\n.p2align 3\nconstants: .long 11, 22, 33\n"
      ".section .data.rel.ro,\"aw\"\n.p2align 3\ntable: .quad constants+8\n.quad shared+4\n"
      ".data\n.globl shared\n.type shared,@object\nshared: .long 44, 55\n.size shared, 8\n.weak missing\n" +
      descriptor("k");
  const auto bytes = isa::assemble_code_object(text, isa::Arch::gfx942);
  const auto object = CodeObject::parse(bytes);
  const auto has = [&](std::uint32_t type, const std::string& symbol) {
    const auto r = object.relocations();
    return std::any_of(r.begin(), r.end(),
                       [&](const Relocation& x) { return x.type == type && x.symbol == symbol; });
  };
  CHECK(has(13, ""));      // the table's first entry
  CHECK(has(3, "shared")); // its second, and the global offset table
  CHECK(has(3, "missing"));
  CHECK(words_of(bytes, 7) == std::vector<std::uint32_t>{22, 33, 33, 55, 44, 0, 0});
}

TEST_CASE("relocations: every type by its formula, the others and missing symbols by name") {
  const std::string base =
      function("k", "s_nop 0\ns_nop 0\ns_endpgm\n") +
      ".data\n.globl shared\n.type shared,@object\n.p2align 3\nshared: .quad shared+5\n.size shared, 8\n";
  const auto linked = isa::assemble_code_object(base + descriptor("k"), isa::Arch::gfx942);
  const auto object = CodeObject::parse(linked);
  REQUIRE(object.relocations().size() == 1);
  const Relocation r = object.relocations()[0];
  CHECK(r.type == 3);
  CHECK(r.kind == Relocation::Symbol::defined);
  const auto rela = std::find_if(object.sections().begin(), object.sections().end(),
                                 [](const Section& s) { return s.name == ".rela.dyn"; });
  REQUIRE(rela != object.sections().end());
  const auto record = static_cast<std::size_t>(rela->bytes.data() - object.bytes().data());
  const auto with = [&](std::uint32_t type) {
    auto changed = linked;
    std::memcpy(changed.data() + record + 8, &type, 4); // r_info: type below, symbol above
    return CodeObject::parse(changed);
  };
  constexpr std::uint64_t image = 0x7f1234567000;
  const std::uint64_t s = image + r.symbol_value, p = image + r.address, a = 5;
  const auto patch = [&](std::uint32_t type) {
    const auto patches = with(type).relocate(image);
    REQUIRE(patches.size() == 1);
    CHECK(patches[0].address == r.address);
    return patches[0];
  };
  const auto is = [&](std::uint32_t type, std::uint64_t value, unsigned width) {
    CAPTURE(type);
    const auto got = patch(type);
    CHECK(got.value == value);
    CHECK(got.bytes == width);
  };
  is(1, (s + a) & 0xffffffffU, 4);              // ABS32_LO
  is(2, (s + a) >> 32, 4);                      // ABS32_HI
  is(3, s + a, 8);                              // ABS64
  is(4, (s + a - p) & 0xffffffffU, 4);          // REL32
  is(5, s + a - p, 8);                          // REL64
  is(10, (s + a - p) & 0xffffffffU, 4);         // REL32_LO
  is(11, ((s + a - p) >> 32) & 0xffffffffU, 4); // REL32_HI
  is(13, image + a, 8);                         // RELATIVE64
  CHECK(with(0).relocate(image).empty());       // NONE
  CHECK_THROWS_WITH(with(6).relocate(image), Catch::Contains("more than 32 bits") && Catch::Contains("hint"));
  CHECK(with(6).relocate(0x1000).at(0).value == 0x1000 + r.symbol_value + a); // ABS32
  for (const std::uint32_t type : {7U, 8U, 9U, 12U, 14U, 99U}) {
    EmulatorDevice device(isa::Arch::gfx942);
    CHECK_THROWS_WITH(device.load(with(type)),
                      Catch::Contains("of type " + std::to_string(type) + ", which loaders do not apply"));
  }
  // A field outside the image; a symbol of another object; code that would have to change.
  auto outside = linked;
  const std::uint64_t far = 0x123456;
  std::memcpy(outside.data() + record, &far, 8);
  CHECK_THROWS_WITH(CodeObject::parse(outside), Catch::Contains("0x123456 lies outside every segment"));
  auto code = linked;
  std::memcpy(code.data() + record, &object.kernels()[0].address, 8);
  CHECK_THROWS_WITH(CodeObject::parse(code).relocate(image), Catch::Contains("would change code"));
  auto undefined = linked;
  const auto symbols = std::find_if(object.sections().begin(), object.sections().end(),
                                    [](const Section& x) { return x.name == ".dynsym"; });
  REQUIRE(symbols != object.sections().end());
  std::uint64_t info = 0;
  std::memcpy(&info, linked.data() + record + 8, 8);
  const auto entry =
      static_cast<std::size_t>(symbols->bytes.data() - object.bytes().data()) + (info >> 32) * 24;
  undefined[entry + 6] = undefined[entry + 7] = 0; // st_shndx
  CHECK_THROWS_WITH(CodeObject::parse(undefined).relocate(image), Catch::Contains("needs the symbol shared"));
}

TEST_CASE("code object versions 4, 5 and 6, and several kernels of one file") {
  for (const unsigned version : {4U, 5U, 6U}) {
    const std::string text =
        ".amdhsa_code_object_version " + std::to_string(version) + "\n" +
        function("one", prologue + std::string("s_movk_i32 s4, 1\n") + store(0, "s4") + "s_endpgm\n") +
        function("two", prologue + std::string("s_movk_i32 s4, 2\n") + store(0, "s4") + "s_endpgm\n") +
        descriptor("one") + descriptor("two");
    const auto object = CodeObject::parse(isa::assemble_code_object(text, isa::Arch::gfx942));
    CHECK(object.abi_version() == version);
    EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
    const Module module = device.load(object);
    const DevicePointer out = device.allocate(4);
    for (std::uint32_t i = 1; i <= 2; ++i) {
      device.launch(device.function(module, i == 1 ? "one" : "two"), {.grid = {1}, .block = {1}},
                    Arguments().pointer(out).bytes());
      CHECK(download<std::uint32_t>(device, out, 1)[0] == i);
    }
  }
}

TEST_CASE(
    "preloaded arguments arrive in user SGPRs, after the 256 bytes for firmware that does not preload") {
  // s[0:1] kernel arguments, s[2:5] the words 2 to 5 of the argument segment, s6 workgroup id.
  const std::string stub = "s_trap 2\n.p2align 8\n"; // where old firmware would begin
  const std::string text =
      function("k", stub + prologue + std::string("s_mul_i32 s7, s6, 20\nv_mov_b32 v1, s7\n") +
                        store(0, "s2") + store(1, "s3") + store(2, "s4") + store(3, "s5") + store(4, "s6") +
                        "s_endpgm\n") +
      descriptor("k", ".amdhsa_user_sgpr_kernarg_preload_offset 2\n"
                      ".amdhsa_user_sgpr_kernarg_preload_length 4\n"
                      ".amdhsa_system_sgpr_workgroup_id_x 1\n");
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
  const DevicePointer out = device.allocate(60);
  const LaunchResult r =
      run(device, isa::assemble_code_object(text, isa::Arch::gfx942), {.grid = {3}, .block = {1}},
          Arguments().pointer(out).i32(71).i32(72).i32(73).i32(74).bytes());
  INFO(all(r.findings));
  CHECK(r.findings.empty());
  CHECK(download<std::uint32_t>(device, out, 15) ==
        std::vector<std::uint32_t>{71, 72, 73, 74, 0, 71, 72, 73, 74, 1, 71, 72, 73, 74, 2});
}

TEST_CASE("dynamic LDS comes on top of what the kernel declares") {
  // Writes and reads the last word of 512 + 1024 bytes.
  const std::string body =
      prologue + std::string("v_mov_b32 v3, 0x5fc\nv_mov_b32 v4, 7\nds_write_b32 v3, v4\n"
                             "s_waitcnt lgkmcnt(0)\nds_read_b32 v5, v3\ns_waitcnt lgkmcnt(0)\n"
                             "global_store_dword v1, v5, s[20:21]\ns_endpgm\n");
  const auto object = isa::assemble_code_object(
      function("k", body) + descriptor("k", ".amdhsa_group_segment_fixed_size 512\n"), isa::Arch::gfx942);
  CHECK(words_of(object, 1, {.grid = {1}, .block = {1}, .dynamic_lds = 1024})[0] == 7);
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
  const DevicePointer out = device.allocate(4);
  const LaunchResult short_of_it =
      run(device, object, {.grid = {1}, .block = {1}, .dynamic_lds = 1020}, Arguments().pointer(out).bytes());
  REQUIRE_FALSE(short_of_it.findings.empty());
  CHECK(short_of_it.findings[0].kind == FindingKind::bounds);
  CHECK_THROWS_AS(run(device, object, {.grid = {1}, .block = {1}, .dynamic_lds = 65536}, {}), std::exception);
}

TEST_CASE("scratch is each lane's own and starts anew with the wave") {
  const std::string body =
      prologue + std::string("v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v4, 12\nscratch_store_dword v4, v0, off\n"
                             "s_waitcnt vmcnt(0)\nscratch_load_dword v5, v4, off\ns_waitcnt vmcnt(0)\n"
                             "global_store_dword v1, v5, s[20:21]\ns_endpgm\n");
  const auto object = isa::assemble_code_object(
      function("k", body) +
          descriptor("k", ".amdhsa_private_segment_fixed_size 16\n.amdhsa_enable_private_segment 1\n"),
      isa::Arch::gfx942);
  const auto got = words_of(object, 64);
  for (std::uint32_t l = 0; l < 64; ++l) CHECK(got[l] == l);
}

TEST_CASE("between allocations lies more than either's size: an access that is off by a row is in none") {
  EmulatorDevice device(isa::Arch::gfx942);
  struct Range {
    DevicePointer begin;
    std::uint64_t bytes;
  };
  std::vector<Range> all_of_them;
  for (const std::uint64_t bytes :
       {1U, 256U, 4096U, 5000U, 65536U, 100000U, 1U << 20, 3U << 20, 64U, 1U << 20})
    all_of_them.push_back({device.allocate(bytes), bytes});
  for (const Range& a : all_of_them) {
    CHECK(a.begin % 256 == 0);
    for (const Range& b : all_of_them) {
      if (a.begin >= b.begin) continue;
      CHECK(b.begin - (a.begin + a.bytes) >= std::max({a.bytes, b.bytes, std::uint64_t{65536}}));
    }
  }
  // A load off by the size of the buffer in either direction, another buffer on each side of it.
  for (const char* const offset : {"-4096", "4096", "-61440", "61440"}) {
    const DevicePointer before = device.allocate(4096), in = device.allocate(4096),
                        behind = device.allocate(4096);
    for (const DevicePointer p : {before, in, behind}) device.fill(p, 0, 4096);
    const auto findings =
        run(device,
            kernel(
                std::string("s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
                            "v_mov_b32 v6, s4\nv_mov_b32 v7, s5\nv_mov_b32 v3, 0x") +
                    [&] {
                      char hex[24];
                      std::snprintf(hex, sizeof hex, "%x", static_cast<unsigned>(std::stoi(offset)));
                      return std::string(hex);
                    }() +
                    "\nv_ashrrev_i32 v4, 31, v3\nv_add_co_u32 v6, vcc, v6, v3\n"
                    "v_addc_co_u32 v7, vcc, v7, v4, vcc\nglobal_load_dword v5, v[6:7], off\n"
                    "s_waitcnt vmcnt(0)\ns_endpgm\n",
                isa::Arch::gfx942),
            {.grid = {1}, .block = {64}}, Arguments().pointer(in).bytes())
            .findings;
    INFO(offset << "\n" << all(findings));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == FindingKind::bounds);
    CHECK_THAT(findings[0].message,
               Catch::Contains("no allocation contains; ") && Catch::Contains("of one of 4096 bytes"));
  }
  CHECK_THROWS_AS(device.allocate(std::uint64_t{1} << 50), DeviceError);
}

TEST_CASE("of a sum with a word that nothing has written no bit counts as defined") {
  for (const char* const sum :
       {"v_add_u32 v3, 1, v2", "v_add_u32 v3, v2, v0", "v_sub_u32 v3, v2, v0", "v_sub_u32 v3, v0, v2",
        "v_add_u32 v3, 0x12345678, v2", "v_sub_u32 v3, 12, v2", "v_xor_b32 v3, v0, v2"}) {
    EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
    const DevicePointer out = device.allocate(256);
    const auto findings =
        run(device,
            kernel(std::string("s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\n"
                               "s_waitcnt lgkmcnt(0)\nglobal_load_dword v2, v1, s[4:5]\n"
                               "s_waitcnt vmcnt(0)\n") +
                       sum + "\nglobal_store_dword v1, v3, s[4:5]\ns_endpgm\n",
                   isa::Arch::gfx942),
            {.grid = {1}, .block = {64}}, Arguments().pointer(out).bytes())
            .findings;
    INFO(sum << "\n" << all(findings));
    REQUIRE(findings.size() == 1);
    CHECK_THAT(findings[0].message, Catch::Contains("v3 is undefined and is stored"));
  }
}

TEST_CASE("where the host puts memory is the same in every device and run") {
  const std::vector<std::uint64_t> bytes{64, 4096, 3ULL << 20, 5, 800ULL << 20, 64};
  const auto distances = [&] {
    EmulatorDevice device(isa::Arch::gfx950, {.checks = Checks::none()});
    std::vector<std::uint64_t> at;
    for (const std::uint64_t n : bytes) at.push_back(device.allocate(n));
    for (std::size_t k = at.size(); k-- > 0;) at[k] -= at[0];
    return at;
  };
  const std::vector<std::uint64_t> alone = distances();
  // Each allocation has a guard of its size, at least 64 KiB, on either side.
  CHECK(alone == std::vector<std::uint64_t>{0, 0x21000, 0x332000, 0x942000, 0x32953000, 0x96963000});
  EmulatorDevice other(isa::Arch::gfx942, {});
  static_cast<void>(other.allocate(12345));
  CHECK(distances() == alone);
}

TEST_CASE("printf of HIP through a buffer, as clang compiles it: of constant texts and of others") {
  const auto object = isa::assemble_code_object(
      read_file(std::string(INLAY_TESTS_DIR) + "/runtime/data/printf_buffered.gfx942.s"), isa::Arch::gfx942);
  std::string printed;
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
  device.options().print = [&](std::string_view line, bool to_stderr) {
    CHECK(!to_stderr);
    printed += line;
  };
  const DevicePointer out = device.allocate(256), format = device.allocate(64);
  std::vector<std::uint8_t> bytes(64);
  std::memcpy(bytes.data(), "from memory: %d %d\n", 19);
  device.copy_in(format, bytes);
  CHECK(run(device, object, {.grid = {1}, .block = {64}}, Arguments().pointer(out).pointer(format).bytes())
            .findings.empty());
  CHECK(printed == "item 3 of: text long,  1.50, 100 %, x, 1099511627776\n"
                   "item 23 of: text long, 11.50, 100 %, x, 1099511627776\n"
                   "item 43 of: text long, 21.50, 100 %, x, 1099511627776\n"
                   "item 63 of: text long, 31.50, 100 %, x, 1099511627776\n"
                   "from memory: 5 2\n");
}

} // namespace emulator_loading_test
