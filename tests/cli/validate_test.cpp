// `inlay validate`, and our kernels without any one of their waits and barriers: refuted without being run.
#include "inlay_command.h"
#include "slow.h"

#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/symbolic/order.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>
#include <unistd.h>

namespace validate_test {

using namespace inlay::runtime;

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("inlay_validate." + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::vector<std::uint8_t> build(const Folder& folder, const std::vector<std::string>& spec) {
  std::vector<std::string> arguments = {"build"};
  arguments.insert(arguments.end(), spec.begin(), spec.end());
  arguments.insert(arguments.end(), {"-o", folder.path.string()});
  const Ran r = inlay_command(arguments);
  INFO(r.err);
  REQUIRE(r.exit == 0);
  std::ifstream in(folder.path / (spec[0] + ".hsaco"), std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  const std::string s = text.str();
  REQUIRE_FALSE(s.empty());
  return {s.begin(), s.end()};
}

std::string text_of(const symbolic::OrderReport& r) {
  std::string s(symbolic::to_string(r.verdict));
  for (const auto& f : r.findings) s += "\n  " + f.message + (f.conditional ? " (conditional)" : "");
  for (const auto& u : r.undecided) s += "\n  undecided: " + u;
  return s;
}

/// A kernel without names: a pointer at byte 0 and a word at byte 8 of s[0:1].
std::string nameless(const std::string& body) {
  return R"(.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
)" + body +
         R"(  s_endpgm
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 4, .value_kind: by_value}
...
.end_amdgpu_metadata
)";
}

} // namespace

TEST_CASE("kernels are validated, and refuted without any one wait or barrier", "[slow]") {
  const std::vector<std::vector<std::string>> more = {
      {"gemm", "--tile", "64x64x64"},
      {"gemm", "--tile", "64x64x64", "--mfma", "32"},
      {"preshuffle_gemm", "--tile", "64x64x64"},
      {"gemm", "--tile", "64x64x64", "--arch", "gfx950"},
      {"gemm", "--tile", "64x64x64", "--mfma", "32", "--arch", "gfx950"},
      {"gemm", "--tile", "128x64x32", "--dtype", "bf16"},
      {"softmax", "--n", "8192", "--threads", "1024"}};
  std::vector<std::vector<std::string>> kernels = {
      {"gemm", "--tile", "64x64x32"},
      {"preshuffle_gemm", "--tile", "64x64x64", "--arch", "gfx950"},
      {"softmax"},
      {"softmax", "--arch", "gfx950"},
      {"rmsnorm"},
      {"rmsnorm", "--arch", "gfx950"},
      {"layernorm", "--residual", "yes", "--quant", "fp8"},
      {"rmsnorm", "--residual", "yes", "--in-place", "yes"},
      {"silu_and_mul", "--arch", "gfx950"},
      {"rope", "--in-place", "yes"},
      {"vector_add"}};
  if (is_slow()) kernels.insert(kernels.end(), more.begin(), more.end());
  const Folder folder;
  for (const auto& spec : kernels) {
    const auto bytes = build(folder, spec);
    const auto object = CodeObject::parse(bytes);
    const Kernel& k = object.kernel("");
    std::string name;
    for (const auto& s : spec) name += s + " ";
    const auto whole = symbolic::check_order(object, k, {});
    INFO(name << text_of(whole));
    CHECK(whole.verdict == symbolic::Verdict::validated);
    const auto program = isa::decode(object.code(k), k.address, isa::parse_arch(object.arch()));
    std::size_t removed = 0, refuted = 0;
    for (const auto& i : program.instructions) {
      if (i.mnemonic != "s_waitcnt" && i.mnemonic != "s_barrier") continue;
      auto mutant = bytes;
      const std::uint32_t nop = 0xbf800000;
      const auto at =
          static_cast<std::size_t>(object.code(k).data() - object.bytes().data()) + (i.address - k.address);
      std::memcpy(mutant.data() + at, &nop, 4);
      const auto other = CodeObject::parse(mutant);
      symbolic::OrderOptions options;
      options.first = true;
      const auto r = symbolic::check_order(other, other.kernel(""), options);
      if (k.descriptor.preload_length != 0 && i.address < k.address + 256) { // executed by old firmware alone
        CHECK(r.verdict == symbolic::Verdict::undecided);
        continue;
      }
      ++removed;
      // Where paths join, LLVM waits for what only one of them left open: without such a wait the code is right, in every
      // schedule. waits_test.cpp runs both kinds on the emulator and finds the same ones harmless.
      if (i.mnemonic == "s_waitcnt" && r.verdict == symbolic::Verdict::validated) {
        --removed;
        continue;
      }
      refuted += r.verdict == symbolic::Verdict::refuted ? 1 : 0;
      INFO("without " << i.text << " at " << i.address << ": " << text_of(r));
      CHECK(r.verdict == symbolic::Verdict::refuted);
    }
    CHECK(removed == refuted);
    CHECK(removed != 0);
  }
}

TEST_CASE("what the command says") {
  const std::string race = R"(.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  v_lshlrev_b32_e32 v1, 2, v0
  ds_write_b32 v1, v0
  v_xor_b32_e32 v1, 0x100, v1
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
)";
  const Ran text = inlay_command({"validate", "-", "--block", "128"}, race);
  INFO(text.out << text.err);
  CHECK(text.exit == 1);
  CHECK(text.out.find("order refuted") != std::string::npos);
  const Ran json = inlay_command({"validate", "-", "--block", "128", "--json"}, race);
  const auto j = nlohmann::json::parse(json.out);
  REQUIRE(j["kernels"].size() == 1);
  CHECK(j["kernels"][0]["verdict"] == "refuted");
  const auto& f = j["kernels"][0]["findings"][0];
  CHECK(f["kind"] == "race");
  CHECK(f["text"] == "ds_read_b32 v2, v1");
  CHECK(f["other_text"] == "ds_write_b32 v1, v0");
  // Assembly is its own source; built from another one, both instructions have its lines.
  CHECK(f["source"] == nlohmann::json{{"file", "stdin"}, {"line", 10}});
  CHECK(f["other_source"]["line"] == 8);
  std::string lined = race;
  lined.insert(0, ".file 1 \"/src\" \"race.py\"\n");
  lined.replace(lined.find("  ds_write"), 0, "  .loc 1 10 0\n");
  lined.replace(lined.find("  ds_read"), 0, "  .loc 1 12 7\n");
  const Ran source = inlay_command({"validate", "-", "--block", "128"}, lined);
  INFO(source.out << source.err);
  CHECK(source.out.find("ds_read_b32 v2, v1  (race.py:12:7)") != std::string::npos);
  CHECK(source.out.find("ds_write_b32 v1, v0  (race.py:10)") != std::string::npos);
  const auto lines = nlohmann::json::parse(
      inlay_command({"validate", "-", "--block", "128", "--json"}, lined).out)["kernels"][0]["findings"][0];
  CHECK(lines["source"] == nlohmann::json{{"file", "race.py"}, {"line", 12}, {"column", 7}});
  CHECK(lines["other_source"]["line"] == 10);
  // One wave alone has no one to race with: LDS instructions of a wave are in order.
  CHECK(inlay_command({"validate", "-", "--block", "64"}, race).exit == 0);
  CHECK(inlay_command({"validate", "-", "--block", "4096"}, race).exit == 2);
  // A kernel's option of that name is the kernel's.
  const Ran no_block = inlay_command({"validate", "quantise", "--quant", "i8", "--block", "7777"});
  CHECK(no_block.exit == 2);
  CHECK(no_block.err.find("--block '7777'") != std::string::npos);
  CHECK(inlay_command({"validate", "vector_add", "--block", "64"}).exit == 2);
  CHECK(inlay_command({"validate", "no such file"}).exit == 2);
  CHECK(inlay_command({"validate", "-", "--kernel", "other"}, race).exit == 2);
  // An LDS address that comes from memory is not decided.
  std::string loaded = race;
  loaded.replace(loaded.find("  v_lshlrev"), 0, "  global_load_dword v0, v0, s[0:1]\n  s_waitcnt vmcnt(0)\n");
  CHECK(inlay_command({"validate", "-", "--block", "128"}, loaded).exit == 3);
}

TEST_CASE("a kernel's name takes the options of its build: loops as blocks of assembly are validated") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const Ran block = inlay_command(
        {"validate", "gemm", "--arch", arch, "--tile", "32x32x64", "--waves", "1x1", "--loops", "asm"});
    INFO(arch << ": " << block.out << block.err);
    CHECK(block.exit == 0);
    CHECK(block.out.find("machine code validated") != std::string::npos);
  }
  // The option reaches the build: this loop is none that a block can hold.
  const Ran refused = inlay_command({"validate", "flash_attention", "--waves", "1", "--tile-q", "32",
                                     "--tile-k", "32", "--head-dim", "64", "--loops", "asm"});
  CHECK(refused.exit > 0);
  CHECK(refused.err.find("cannot be a block of assembly") != std::string::npos);
  // A file has been built already.
  const Ran file = inlay_command({"validate", "-", "--loops", "asm"}, "");
  CHECK(file.exit == 2);
  CHECK(file.err.find("'--loops' belongs to a kernel's name") != std::string::npos);
}

TEST_CASE(
    "a kernel's name with a file: the form is what its manifest says, or what build takes for the options") {
  const Folder folder;
  const auto at = [&](const std::string& file) { return (folder.path / file).string(); };
  const auto says = [](const Ran& r, const std::string& text) {
    return (r.out + r.err).find(text) != std::string::npos;
  };
  const auto validated = [](std::vector<std::string> words, const std::string& code) {
    words.insert(words.begin(), "validate");
    if (!code.empty()) words.insert(words.end(), {"--code", code});
    return inlay_command(words);
  };
  // What auto takes for these sizes has other workgroups than the form without sizes.
  const std::vector<std::string> spec = {"softmax", "--m", "1024", "--n", "512", "--dtype", "bf16"};
  const auto bytes = build(folder, spec);
  std::ofstream(at("alone.hsaco"), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  for (const char* file : {"softmax.hsaco", "softmax.json", "softmax.s"})
    for (const auto& words : {std::vector<std::string>{"softmax"}, spec}) {
      const Ran r = validated(words, at(file));
      INFO(file << ": " << r.out << r.err);
      CHECK(r.exit == 0);
      CHECK(says(r, "softmax.json names: "));
      CHECK(says(r, "--dtype bf16 "));
      CHECK(says(r, "--threads "));
    }
  // Without the manifest the options say it, as they do where there is no file.
  for (const std::string& code : {at("alone.hsaco"), std::string()}) {
    const Ran r = validated(spec, code);
    INFO(r.out << r.err);
    CHECK(r.exit == 0);
    CHECK(says(r, "  auto: --threads "));
  }
  const Ran data = validated({"softmax", "--json"}, at("softmax.hsaco"));
  CHECK(data.exit == 0);
  CHECK(nlohmann::json::parse(data.out)["form"].get<std::string>().find("--dtype bf16 ") !=
        std::string::npos);
  // Another form, another type, another kernel: no verdict.
  for (const auto& [words, code, message] :
       {std::tuple<std::vector<std::string>, const char*, const char*>{
            {"softmax", "--dtype", "bf16"}, "alone.hsaco", "work-items of a workgroup 64"},
        {{"softmax", "--m", "1024", "--n", "512", "--dtype", "bf16", "--auto", "no"},
         "alone.hsaco",
         "is of another form or kernel"},
        {{"softmax", "--dtype", "f16"}, "softmax.hsaco", "was made with --dtype bf16"},
        {{"softmax", "--m", "32"}, "softmax.hsaco", "was made with --m 1024"},
        {{"softmax", "--loops", "asm"}, "softmax.hsaco", "was made with --loops auto"},
        {{"softmax", "--arch", "gfx950"}, "softmax.hsaco", "code object is for gfx942"},
        {{"rmsnorm"}, "softmax.hsaco", "was made from softmax"},
        {{"rmsnorm", "--auto", "no", "--threads", "64", "--kernel", "softmax"},
         "alone.hsaco",
         "of another form or kernel: arguments"}}) {
    const Ran r = validated(words, at(code));
    INFO(message << ": " << r.out << r.err);
    CHECK(r.exit == 2);
    CHECK(says(r, message));
  }
  // Two forms of one launch cannot be told apart: what may be the reason is said.
  (void)build(folder, {"gemm", "--tile", "32x64x64", "--waves", "2x2"});
  CHECK(validated({"gemm", "--waves", "2x2", "--budget", "1000"}, at("gemm.hsaco")).exit == 3);
  std::filesystem::remove(at("gemm.json"));
  const Ran other = validated({"gemm", "--tile", "32x64x64", "--waves", "1x4"}, at("gemm.hsaco"));
  INFO(other.out << other.err);
  CHECK((other.exit == 1 || other.exit == 3));
  CHECK(says(other, "note      another form of the kernel is not validated, either"));
  // Damaged code is refuted beside its manifest.
  std::ifstream in(at("softmax.s"));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t store = text.find("offen", text.find("\tbuffer_store_"));
  text.insert(store + 5, " offset:16");
  std::ofstream(at("softmax.s")) << text;
  const Ran damaged = validated({"softmax"}, at("softmax.s"));
  INFO(damaged.out << damaged.err);
  CHECK(damaged.exit == 1);
}

TEST_CASE("build: sizes that no launch takes are refused", "[error]") {
  const Folder folder;
  for (const auto& [words, message] :
       {std::pair<std::vector<std::string>, const char*>{
            {"gemm", "--m", "16777216", "--n", "16777216", "--k", "16777216"}, "n = 16777216"},
        {{"gemm", "--n", "16777216"}, "n = 16777216"},
        {{"gemm", "--tile", "64x64x64", "--n-multiple", "8", "--n", "12"}, "a multiple of 8"}}) {
    std::vector<std::string> all = {"build"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"-o", folder.path.string()});
    const Ran r = inlay_command(all);
    INFO(r.out << r.err);
    CHECK(r.exit == 2);
    CHECK(r.err.find(message) != std::string::npos);
    CHECK(std::filesystem::is_empty(folder.path));
  }
}

TEST_CASE("claims that name no argument of the kernel are errors of the command") {
  const std::string code = nameless(R"(  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 s6, s2, 4
  s_load_dwordx4 s[8:11], s[4:5], s6
  s_waitcnt lgkmcnt(0)
)");
  const Folder folder;
  const auto claims = folder.path / "claims";
  const auto run = [&](const std::string& text) {
    std::ofstream(claims) << "where arg8 < 1000\ngrid arg8\n" << text;
    return inlay_command({"validate", "-", "--claims", claims.string()}, code);
  };
  const Ran inside = run("buffer arg0 16*arg8\n");
  INFO(inside.out << inside.err);
  CHECK(inside.exit == 0);
  CHECK(inside.out.find("1 of 1 claims validated") != std::string::npos);
  const Ran outside = run("buffer arg0 4\n");
  CHECK(outside.exit == 1);
  CHECK(outside.out.find("of arg0, which has 4: outside for ") != std::string::npos);
  for (const char* text : {"buffer foo 7\n", "buffer arg0 4*baz\n"}) {
    const Ran wrong = run(text);
    CHECK(wrong.exit == 2);
    CHECK(wrong.err.find("arg8         byte 8, 4 bytes, by_value") != std::string::npos);
  }
}

TEST_CASE("what a kernel stores is held against an index expression") {
  // arg0[i] = 3 f32(work-item) for one workgroup of 64, arg8 takes no part.
  const std::string code = nameless(R"(  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v3, v2, v2
  v_add_f32_e32 v3, v3, v2
  global_store_dword v1, v3, s[4:5] offset:256
)");
  const Folder folder;
  const auto claims = folder.path / "claims";
  const auto run = [&](const std::string& value, bool json = false) {
    std::ofstream(claims) << "grid 1\ntensor arg0 f32 (2,64):(64,1)\nvalue arg0(h,i) = " << value
                          << "\nsizes arg8 = 5\n";
    std::vector<std::string> words = {"validate", "-", "--block", "64", "--claims", claims.string()};
    if (json) words.emplace_back("--json");
    return inlay_command(words, code);
  };
  // The first half is stored by nobody: it stays what it was, and is not 0.
  const Ran part = run("(0 < h ? 3 * arg0(0,i) : 0)");
  INFO(part.out << part.err);
  CHECK(part.exit == 1);
  const Ran kept = run("(0 < h ? 3 * arg0(0,i) : 0) + (h < 1 ? arg0(0,i) : 0)");
  INFO(kept.out << kept.err);
  CHECK(kept.exit == 0);
  CHECK(kept.out.find(
            "all 128 elements, of 1 workgroups, for all values of what is loaded, buffers at three places") !=
        std::string::npos);
  const Ran wrong = run("(0 < h ? 2 * arg0(0,i) : 0) + (h < 1 ? arg0(0,i) : 0)", true);
  CHECK(wrong.exit == 1);
  const auto j = nlohmann::json::parse(wrong.out);
  CHECK(j["kernels"][0]["claims"][0]["claim"] == "value arg0");
  CHECK(j["kernels"][0]["claims"][0]["verdict"] == "refuted");
  CHECK(j["kernels"][0]["claims"][0]["text"].get<std::string>().starts_with("global_store_dword"));
  const Ran bad = run("3 * arg1(0,i)");
  CHECK(bad.exit == 2);
  INFO(bad.err);
  CHECK(bad.err.find("a tensor or a function") != std::string::npos);
}

} // namespace validate_test
