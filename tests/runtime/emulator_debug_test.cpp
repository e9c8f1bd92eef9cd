// Breakpoints, watched memory and source lines.
#include "emulator_support.h"

#include <algorithm>
#include <inlay/runtime/isa/line_table.h>

namespace emulator_debug_test {

using namespace emulator_test;

namespace {

/// out[i] = 3 i; two loads and stores of one LDS word a lane on the way, a counter that every lane increases.
const char* const body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_mul_u32_u24 v2, 3, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s9, 3
loop:
  ds_write_b32 v1, v2
  s_sub_u32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 loop
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[4:5]
  v_mov_b32 v4, 0
  v_mov_b32 v5, 2
  global_atomic_add v4, v5, s[6:7]
  v_accvgpr_write_b32 a1, v0
  v_cmp_gt_u32 vcc, 5, v0
  s_mov_b32 m0, 0x1234
  s_endpgm
)";

struct Seen {
  std::vector<BreakHit> breaks;
  std::vector<WatchHit> watches;
};

struct Fixture {
  EmulatorDevice device{isa::Arch::gfx942, {.threads = 4, .checks = Checks::none()}};
  CodeObject object = CodeObject::parse(kernel(body, isa::Arch::gfx942, {.lds = 512}));
  DevicePointer out = upload(device, std::vector<std::uint32_t>(128));
  DevicePointer counter = upload(device, std::vector<std::uint32_t>(1));
  isa::Program program =
      isa::decode(object.code(object.kernels()[0]), object.kernels()[0].address, isa::Arch::gfx942);

  [[nodiscard]] std::uint64_t at(std::string_view mnemonic) const {
    const auto found = std::find_if(program.instructions.begin(), program.instructions.end(),
                                    [&](const isa::Instruction& i) { return i.mnemonic == mnemonic; });
    REQUIRE(found != program.instructions.end());
    return found->address;
  }
  Seen run(DebugOptions d, std::uint32_t groups = 1, std::uint32_t block = 128) {
    Seen seen;
    d.on_break = [&](const BreakHit& h) { seen.breaks.push_back(h); };
    d.on_watch = [&](const WatchHit& h) { seen.watches.push_back(h); };
    device.options().debug = std::move(d);
    const Module module = device.load(object);
    device.launch(device.function(module, "k"), {.grid = {groups}, .block = {block}},
                  Arguments().pointer(out).pointer(counter).bytes());
    device.release(module);
    device.options().debug = {};
    return seen;
  }
};

std::uint32_t word(const std::vector<std::uint8_t>& bytes) {
  REQUIRE(bytes.size() == 4);
  std::uint32_t v = 0;
  std::memcpy(&v, bytes.data(), 4);
  return v;
}

} // namespace

TEST_CASE("a breakpoint reports every wave once, before its instruction, with the registers asked for") {
  Fixture f;
  DebugOptions d;
  d.breakpoints = {{f.at("ds_read_b32"), {}}, {f.at("s_endpgm"), {}}};
  for (const char* name : {"v[2:3]", "a1", "s[8:9]", "vcc", "exec", "scc", "m0", "pc"})
    d.dump.push_back(RegisterRange::parse(name));
  const Seen seen = f.run(d, 2);
  REQUIRE(seen.breaks.size() == 8); // two breakpoints, two workgroups of two waves
  const BreakHit& first = seen.breaks[0];
  CHECK(first.site.address == f.at("ds_read_b32"));
  CHECK(first.site.disassembly == "ds_read_b32 v3, v1");
  CHECK(first.exec == ~std::uint64_t{0});
  const auto reg = [](const BreakHit& h, const std::string& name) -> const RegisterValue& {
    const auto at = std::find_if(h.registers.begin(), h.registers.end(),
                                 [&](const RegisterValue& r) { return r.name == name; });
    REQUIRE(at != h.registers.end());
    return *at;
  };
  for (const BreakHit& h : seen.breaks) {
    CAPTURE(h.site.address, h.site.workgroup.x, h.site.wave);
    REQUIRE(h.registers.size() == 10);
    const bool end = h.site.address == f.at("s_endpgm");
    for (std::uint32_t l = 0; l < 64; ++l) {
      const std::uint32_t item = 64 * h.site.wave + l;
      REQUIRE(reg(h, "v2").lanes.at(l) == 3 * item);
      REQUIRE(reg(h, "v3").lanes.at(l) == (end ? 3 * item : 0)); // not yet read before
      REQUIRE(reg(h, "a1").lanes.at(l) == (end ? item : 0));
    }
    CHECK(reg(h, "s9").value == 0);
    CHECK(reg(h, "scc").value == 0);
    CHECK(reg(h, "vcc").value == (end && h.site.wave == 0 ? 0x1f : 0));
    CHECK(reg(h, "vcc").bits == 64);
    CHECK(reg(h, "m0").value == (end ? 0x1234 : 0));
    CHECK(reg(h, "pc").value == h.site.address);
  }
  CHECK(download<std::uint32_t>(f.device, f.counter, 1)[0] == 2 * 256); // and the kernel ran as ever
}

TEST_CASE("hits a wave, and the waves that are asked for") {
  Fixture f;
  const auto count = [&](std::uint32_t hits, WaveFilter where) {
    DebugOptions d;
    d.breakpoints = {{f.at("s_sub_u32"), where}};
    d.hits = hits;
    return f.run(d, 3).breaks;
  };
  CHECK(count(1, {}).size() == 6);
  CHECK(count(2, {}).size() == 12);
  CHECK(count(0, {}).size() == 18);
  const auto one = count(0, {.workgroup = 2, .wave = 1});
  REQUIRE(one.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(one[i].hit == i + 1);
    CHECK(one[i].site.workgroup == Extent3{2, 0, 0});
    CHECK(one[i].site.wave == 1);
  }
}

TEST_CASE("a watch reports reads, writes and atomics with lane, old and new value") {
  Fixture f;
  DebugOptions d;
  d.watches = {{.lds = true, .address = 4 * 70, .name = "lds"},
               {.address = f.out + 4 * 5, .name = "out"},
               {.address = f.counter, .name = "counter"}};
  const Seen seen = f.run(d);
  const auto of = [&](const std::string& name) {
    std::vector<WatchHit> hits;
    for (const WatchHit& h : seen.watches)
      if (h.watch == name) hits.push_back(h);
    return hits;
  };
  const auto lds = of("lds"); // written three times and read once, by lane 6 of wave 1
  REQUIRE(lds.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(lds[i].access == (i < 3 ? WatchHit::Access::write : WatchHit::Access::read));
    CHECK(lds[i].site.wave == 1);
    CHECK(lds[i].lane == 6);
    CHECK(word(lds[i].before) == (i == 0 ? 0 : 210));
    CHECK(word(lds[i].after) == 210);
  }
  const auto out = of("out");
  REQUIRE(out.size() == 1);
  CHECK(out[0].site.address == f.at("global_store_dword"));
  CHECK((out[0].lane == 5 && out[0].site.wave == 0));
  CHECK((word(out[0].before) == 0 && word(out[0].after) == 15));
  const auto counter = of("counter"); // each lane sees what the one before it left
  REQUIRE(counter.size() == 128);
  for (std::uint32_t i = 0; i < 128; ++i) {
    CHECK(counter[i].access == WatchHit::Access::atomic);
    CHECK((word(counter[i].before) == 2 * i && word(counter[i].after) == 2 * i + 2));
    CHECK(counter[i].lane == i % 64);
  }
  d.watches[2].where.wave = 1;
  d.accesses = 3;
  std::size_t waves_of_counter = 0, lds_hits = 0;
  for (const WatchHit& h : f.run(d).watches) {
    waves_of_counter += h.watch == "counter" && h.site.wave == 1 ? 1 : 0;
    CHECK_FALSE((h.watch == "counter" && h.site.wave == 0));
    lds_hits += h.watch == "lds" ? 1 : 0;
  }
  CHECK(waves_of_counter == 3);
  CHECK(lds_hits == 3);
}

TEST_CASE("a watch sees scalar loads, wide accesses in part, and loads straight to LDS") {
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::none()});
  std::vector<std::uint32_t> data(64);
  for (std::uint32_t i = 0; i < 64; ++i) data[i] = 100 + i;
  const DevicePointer in = upload(device, data);
  std::vector<WatchHit> hits;
  DebugOptions d;
  d.watches = {{.address = in + 10, .bytes = 4, .name = "in"}, {.lds = true, .address = 8, .name = "lds"}};
  d.on_watch = [&](const WatchHit& h) { hits.push_back(h); };
  device.options().debug = d;
  run(device,
      kernel("s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_load_dwordx4 s[8:11], s[4:5], 0x0\n"
             "v_lshlrev_b32 v1, 2, v0\ns_mov_b32 m0, 0\nglobal_load_lds_dword v1, s[4:5]\ns_endpgm\n",
             isa::Arch::gfx942, {.lds = 256}),
      {.grid = {1}, .block = {64}}, Arguments().pointer(in).bytes());
  REQUIRE(hits.size() == 4);
  CHECK(hits[0].site.disassembly.starts_with("s_load_dwordx4"));
  CHECK(word(hits[0].before) == (102U >> 16 | 103U << 16)); // bytes 10 to 13 of the buffer
  CHECK(hits[1].site.disassembly.starts_with("global_load_lds_dword"));
  CHECK((hits[1].lane == 2 && hits[1].address == in + 10 && hits[1].before.size() == 2));
  CHECK((hits[2].watch == "lds" && hits[2].lane == 2 && word(hits[2].after) == 102));
  CHECK((hits[3].watch == "in" && hits[3].lane == 3 && hits[3].address == in + 12));
}

TEST_CASE("what cannot be watched or stopped at is refused with a hint") {
  Fixture f;
  const auto refused = [&](const DebugOptions& d, const std::string& what, const std::string& hint) {
    CHECK_THROWS_WITH(f.run(d), Catch::Contains(what) && Catch::Contains("hint") && Catch::Contains(hint));
  };
  DebugOptions d;
  d.breakpoints = {{f.at("ds_read_b32") + 2, {}}};
  refused(d, "no instruction starts at", "the instructions around it are at");
  d.breakpoints = {{0x10, {}}};
  refused(d, "no instruction starts at 0x10", "inlay inspect");
  d.breakpoints = {};
  d.watches = {{.lds = true, .address = 510, .name = "lds:0x1fe"}};
  refused(d, "lds:0x1fe: the workgroup has 512 bytes of LDS", "--lds");
  d.watches = {{.address = 0x123, .name = "0x123"}};
  refused(d, "no allocation contains 4 bytes at 0x123", "arg0+0x40");
  for (const char* name :
       {"v256", "v[3:2]", "v[0:3", "a", "s102", "s[100:103]", "x1", "", "vcc_mid", "v-1", "ttmp16"})
    CHECK_THROWS_AS(RegisterRange::parse(name), std::invalid_argument);
}

TEST_CASE("findings, breakpoints, watches, faults and traces name the source line") {
  // What a compiler writes: .file and .loc. Lines of two files, one address without a line.
  const std::string text = R"(.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.file 1 "/home/user" "softmax.py"
.file 2 "/home/user" "helper.py"
.globl k
.p2align 8
.type k,@function
k:
  .loc 1 10 0
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  .loc 1 12 7
  s_waitcnt lgkmcnt(0)
  .loc 2 33 4
  v_add_u32 v2, v3, v0
  global_store_dword v1, v2, s[4:5]
  .loc 1 0 0
  v_mov_b32 v4, v0
  .loc 1 14 1
  s_endpgm
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel
)";
  const auto object = CodeObject::parse(isa::assemble_code_object(text, isa::Arch::gfx942));
  const std::uint64_t begin = object.kernels()[0].address;
  const isa::LineTable lines = isa::LineTable::read(object);
  const auto at = [&](std::uint64_t offset) {
    const auto s = lines.at(begin + offset);
    return s ? to_string(*s) : "none";
  };
  CHECK(at(0) == "softmax.py:10");
  CHECK(at(8) == "softmax.py:10");
  CHECK(at(12) == "softmax.py:12:7");
  CHECK(at(16) == "helper.py:33:4");
  CHECK(at(20) == "helper.py:33:4");
  CHECK(at(28) == "none");
  CHECK(at(32) == "softmax.py:14:1");
  CHECK(at(36) == "none"); // past the end of the sequence
  CHECK_FALSE(lines.at(begin - 4));

  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
  std::vector<std::string> trace, sites;
  device.options().trace = {.enabled = true, .line = [&](std::string_view l) { trace.emplace_back(l); }};
  const DevicePointer out = device.allocate(128);
  DebugOptions d;
  d.breakpoints = {{begin + 12, {}}};
  d.watches = {{.address = out, .name = "out"}};
  d.on_break = [&](const BreakHit& h) { sites.push_back(to_string(h.site.source.value())); };
  d.on_watch = [&](const WatchHit& h) { sites.push_back(to_string(h.site.source.value())); };
  device.options().debug = d;
  const Module module = device.load(object);
  const Function function = device.function(module, "k");
  device.launch(function, {.grid = {1}, .block = {64}}, Arguments().pointer(out).bytes());
  const auto& findings = device.last_launch().findings;
  REQUIRE(findings.size() == 2); // v3 was never written; the buffer is half as long as the wave
  for (const Finding& found : findings) {
    CHECK(found.source == isa::SourceLine{"helper.py", 33, 4});
    CHECK(to_string(found).find("\n  source helper.py:33:4\n") != std::string::npos);
  }
  CHECK(sites == std::vector<std::string>{"softmax.py:12:7", "helper.py:33:4"});
  REQUIRE(trace.size() == 7);
  CHECK(trace[0].ends_with("softmax.py:10"));
  CHECK(trace[5].find(".py") == std::string::npos);
  device.options().debug = {};
  device.options().checks = Checks::none();
  CHECK_THROWS_WITH(device.launch(function, {.grid = {1}, .block = {64}}, Arguments().pointer(out).bytes()),
                    Catch::Contains("source helper.py:33:4"));
}

TEST_CASE("assembly with a file name gets its own lines; a damaged table is no error") {
  const std::string text = read_file(std::string(INLAY_TESTS_DIR) + "/isa/add_scalar.gfx942.s");
  const auto bytes = isa::assemble_code_object(text, isa::Arch::gfx942, "add_scalar.gfx942.s");
  const auto object = CodeObject::parse(bytes);
  const auto lines = isa::LineTable::read(object);
  const Kernel& k = object.kernels()[0];
  const auto program = isa::decode(object.code(k), k.address, isa::Arch::gfx942);
  std::istringstream in(text);
  std::vector<std::string> source;
  for (std::string line; std::getline(in, line);) source.push_back(line);
  std::size_t judged = 0;
  for (const auto& i : program.instructions) {
    const auto s = lines.at(i.address);
    if (i.address >= k.address + 0x3c) break; // padding
    REQUIRE(s);
    CHECK(s->file == "add_scalar.gfx942.s");
    CHECK(source.at(s->line - 1).find(i.mnemonic) != std::string::npos);
    ++judged;
  }
  CHECK(judged == 11);
  CHECK(isa::LineTable::read(CodeObject::parse(isa::assemble_code_object(text, isa::Arch::gfx942))).empty());
  // Each byte of the section changed in turn: any table is fine, reading it ends.
  for (const Section& s : object.sections()) {
    if (!s.name.starts_with(".debug_line")) continue;
    const auto offset = static_cast<std::size_t>(s.bytes.data() - object.bytes().data());
    for (std::size_t i = 0; i < s.bytes.size(); ++i) {
      for (const std::uint8_t value : std::vector<std::uint8_t>{0x00, 0x7f, 0xff}) {
        auto damaged = bytes;
        damaged[offset + i] = value;
        (void)isa::LineTable::read(CodeObject::parse(damaged)).at(k.address);
      }
    }
  }
}

} // namespace emulator_debug_test
