// Where `exec`, `time`, `compare` take block and LDS from, how arguments are named, and what is printed of outputs; errors as JSON, help of
// kernels, completion, manual pages.
#include "busy.h"
#include "colour.h"
#include "inlay_command.h"
#include "values.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <inlay/launch/bundle.h>
#include <inlay/runtime/isa/assemble.h>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

namespace launch_geometry_test {

namespace {

using Json = nlohmann::json;

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// out[i] = i of `block` work-items, with the metadata and the accesses asked for.
std::string kernel(const std::string& metadata, const std::string& body = "", unsigned dimensions = 0,
                   unsigned lds = 0) {
  return R"(.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl numbers
.p2align 8
.type numbers,@function
numbers:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
)" + body +
         R"(  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]
  s_endpgm
.Lend:
.size numbers, .Lend-numbers
.rodata
.p2align 6
.amdhsa_kernel numbers
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id )" +
         std::to_string(dimensions) + "\n  .amdhsa_group_segment_fixed_size " + std::to_string(lds) + R"(
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: numbers
    .symbol: numbers.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: )" +
         std::to_string(lds) + R"(
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
)" + metadata +
         R"(    .args:
      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
)";
}

const std::string flat256 = "    .max_flat_workgroup_size: 256\n";
const std::string required = "    .max_flat_workgroup_size: 512\n    .reqd_workgroup_size: [8, 16, 4]\n";
const std::string flat1024 = "    .max_flat_workgroup_size: 1024\n";
const std::string writes_lds = "  ds_write_b32 v1, v0\n";

} // namespace

TEST_CASE("exec and time: the block is the code object's, and said; where it does not say, it is asked for",
          "[geometry]") {
  const auto r = inlay_command(
      {"exec", "-", "--arg", "out:1024", "--print", "u32", "--values", "256", "--json"}, kernel(flat256));
  REQUIRE(r.exit == 0);
  const auto j = Json::parse(r.out);
  CHECK(j.at("geometry") == "grid 1x1x1 block 256x1x1");
  CHECK(j.at("geometry_from")[1] == "block 256x1x1 by the code object (max_flat_workgroup_size)");
  const auto& values = j.at("outputs")[0].at("values");
  REQUIRE(values.size() == 256);
  for (unsigned i = 0; i < 256; ++i) CHECK(values[i] == i); // all of them ran
  const auto text = inlay_command({"exec", "-", "--arg", "out:1024"}, kernel(flat256));
  CHECK(says(
      text.out,
      "grid 1x1x1, as --grid was not given; block 256x1x1 by the code object (max_flat_workgroup_size)"));
  // Given in full: nothing is said.
  const auto given =
      inlay_command({"exec", "-", "--grid", "1", "--block", "64", "--arg", "out:256"}, kernel(flat256));
  CHECK(given.exit == 0);
  CHECK_FALSE(says(given.out, "by the code object"));

  const auto three = inlay_command({"exec", "-", "--arg", "out:2048", "--json"}, kernel(required, "", 2));
  CHECK(says(three.out, "block 8x16x4"));
  CHECK(says(three.out, "reqd_workgroup_size"));

  for (const char* command : {"exec", "time"}) {
    CAPTURE(command);
    const auto any = inlay_command({command, "-", "--arg", "out:4096"}, kernel(flat1024));
    CHECK(any.exit == 2);
    CHECK(says(any.err, "does not say how many work-items numbers takes\n  hint   --block 256,1,1"));
    const auto shaped = inlay_command({command, "-", "--arg", "out:4096"}, kernel(flat256, "", 1));
    CHECK(shaped.exit == 2);
    CHECK(says(shaped.err, "at most 256, which it numbers along 2 axes"));
    CHECK(inlay_command({command, "-", "--block", "16,16", "--arg", "zeros:4096"}, kernel(flat256, "", 1))
              .exit == 0);
  }
  const auto timed = inlay_command({"time", "-", "--arg", "out:1024", "--json", "--quick"}, kernel(flat256));
  REQUIRE(timed.exit == 0);
  CHECK(Json::parse(timed.out).at("geometry") == "grid 1x1x1 block 256x1x1");
}

TEST_CASE("LDS that is used and not declared is asked for", "[geometry]") {
  const auto source = kernel(flat256, writes_lds);
  for (const char* command : {"exec", "time"}) {
    const auto r = inlay_command({command, "-", "--arg", "out:1024"}, source);
    CAPTURE(command, r.err);
    CHECK(r.exit == 2);
    CHECK(says(r.err, "numbers reads or writes LDS and declares none"));
    CHECK(inlay_command({command, "-", "--lds", "1024", "--arg", "out:1024"}, source).exit == 0);
  }
  CHECK(inlay_command({"exec", "-", "--block", "64", "--lds", "0", "--arg", "out:1024"}, source).exit ==
        1); // none, and so it is outside
  CHECK(inlay_command({"exec", "-", "--arg", "out:1024"}, kernel(flat256, writes_lds, 0, 1024)).exit ==
        0); // declared
  // Lanes exchange values without LDS.
  CHECK(inlay_command({"exec", "-", "--block", "64", "--arg", "out:1024"},
                      kernel(flat256, "  ds_swizzle_b32 v2, v0 offset:0x8000\n"))
            .exit == 0);
  CHECK(says(inlay_command({"inspect", "-"}, source).out, "LDS is used and none declared"));
  CHECK_FALSE(says(inlay_command({"inspect", "-", "--lds", "1024"}, source).out, "none declared"));
  CHECK_FALSE(says(inlay_command({"inspect", "-"}, kernel(flat256)).out, "none declared"));
}

TEST_CASE("arguments by name, zeros, printed values, findings at their argument", "[geometry]") {
  const std::string vadd = std::string(INLAY_TESTS_DIR) + "/isa/add_scalar.gfx942.s";
  const auto r = inlay_command({"exec", vadd, "--arg", "s=f32:2.5", "y=out:256", "x=zeros:256", "--json"});
  REQUIRE(r.exit == 0);
  const auto j = Json::parse(r.out);
  CHECK(j.at("outputs")[0].at("name") == "y");
  CHECK(j.at("outputs")[0].at("values") == Json({2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5}));
  CHECK(says(inlay_command({"exec", vadd, "--arg", "zeros:256", "out:256", "f32:1"}).out,
             "256 bytes: 1 1 1 1 1 1 1 1 ... of 64 f32"));
  // Zeros count as written, outputs do not.
  CHECK(inlay_command({"exec", vadd, "--arg", "out:256", "out:256", "f32:1"}).exit == 1);
  const auto over = inlay_command({"exec", vadd, "--arg", "x=zeros:256", "y=out:128", "s=f32:1", "--json"});
  CHECK(over.exit == 1);
  CHECK(
      says(Json::parse(over.out).at("findings")[0].at("message"), "writes 4 bytes at y + 0x80 of 128 bytes"));
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& part) {
    std::vector<std::string> words = {"exec", vadd, "--arg"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const auto ran = inlay_command(words);
    CAPTURE(part, ran.err);
    CHECK(ran.exit == 2);
    CHECK(says(ran.err, part));
  };
  refused({"z=zeros:4", "y=out:256", "s=f32:1"}, "no argument 'z'\n  hint   its arguments are x, y, s");
  refused({"x=zeros:256", "x=zeros:256", "y=out:256", "s=f32:1"}, "given twice");
  refused({"x=zeros:256", "y=out:256"}, "argument 's' is not given\n  hint   --arg s=i32:V or f32:V, or");
  refused({"x=zeros:256", "s=f32:1"}, "argument 'y' is not given\n  hint   --arg y=in:FILE, or");
  refused({"y=out:256", "zeros:256", "f32:1", "f32:2"}, "more --arg");
  refused({"zeros:many", "out:256", "f32:1"}, "not zeros:BYTES");
  CHECK(inlay_command({"exec", vadd, "--arg", "zeros:256", "out:256", "f32:1", "--print", "f33"}).exit == 2);
}

TEST_CASE("values of every type", "[geometry]") {
  const auto values_text = [](const std::vector<std::uint8_t>& all, const std::string& type,
                              std::size_t most) {
    const auto count = std::min(all.size(), most * inlay::cli::value_bytes(type == "fp8" ? "hex" : type));
    return inlay::cli::values_text(std::span(all).first(count), type, most, all.size()); // a prefix is enough
  };
  const std::vector<std::uint8_t> half = {0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0x00, 0x7c, 0xff, 0x7b};
  CHECK(values_text(half, "f16", 8) == "1 -2 5.96046e-08 inf 65504 of 5 f16");
  const std::vector<std::uint8_t> four = {0x80, 0x3f, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff};
  CHECK(values_text(four, "bf16", 1) == "1 ... of 4 bf16");
  CHECK(values_text(four, "i32", 8) == "16256 -1 of 2 i32");
  CHECK(values_text(four, "u32", 8) == "16256 4294967295 of 2 u32");
  CHECK(values_text(four, "i8", 2) == "-128 63 ... of 8 i8");
  CHECK(values_text(four, "hex", 3) == "80 3f 00 ... of 8 hex");
  CHECK(values_text(four, "fp8", 1) == "80 ... of 8 fp8 bytes");
  CHECK(values_text({}, "f32", 8) == " of 0 f32");
}

TEST_CASE("errors are JSON under --json, in every command", "[geometry]") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"exec", "no-such-file"},
                                                {"inspect", "no-such-file"},
                                                {"time", "no-such-file"},
                                                {"validate", "no-such-file"},
                                                {"compare", "a", "b"},
                                                {"prove", "equal", "((((", "1:0"},
                                                {"eval", "coalesce(("},
                                                {"exec", "f", "--nosuch"},
                                                {"bundle", "none"}}) {
    auto with = words;
    with.emplace_back("--json");
    const auto r = inlay_command(with);
    CAPTURE(words[0], r.out, r.err);
    REQUIRE(r.exit == 2);
    const auto j = Json::parse(r.out);
    CHECK(j.at("exit") == 2);
    CHECK_FALSE(j.at("error").at("message").get<std::string>().empty());
    CHECK(says(r.err, "error: "));
    CHECK(inlay_command(words).out.empty());
  }
  CHECK(says(Json::parse(inlay_command({"exec", "f", "--lds", "many", "--json"}).out).at("error").at("hint"),
             "inlay exec --help"));
}

TEST_CASE("completion and manual pages say what the parser takes", "[geometry]") {
  const auto bash = inlay_command({"completion", "bash"}).out;
  for (const char* word : {"exec", "run-with", "--stress", "--block"}) CHECK(says(bash, word));
  CHECK(says(bash, "\"time --data-in\") COMPREPLY=($(compgen -W \"hbm mall l2 auto\""));
  // The shell itself reads it, and completes.
  const auto file =
      std::filesystem::temp_directory_path() / ("inlay-completion-" + std::to_string(::getpid()));
  std::ofstream(file) << bash << "inlay() {\n  case \"$*\" in\n    'completion words gemm') echo '"
                      << inlay_command({"completion", "words", "gemm"}).out
                      << "' ;;\n    'completion words gemm dtype') echo '"
                      << inlay_command({"completion", "words", "gemm", "dtype"}).out << R"sh(' ;;
  esac
}
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _inlay; printf '%s\n' "${COMPREPLY[@]}"; }
[ "$(ask inlay exe)" = exec ] && ask inlay exec --stre | grep -qx -- --stress && [ "$(ask inlay time --data-in ma)" = mall ] &&
[ "$(ask inlay prove inj)" = injective ] && [ "$(ask inlay run conv2)" = conv2d ] && [ "$(ask inlay validate conv2)" = conv2d ] &&
[ "$(ask inlay search swi)" = swizzle ] && [ "$(ask inlay fuzz right)" = right-inverse ] && [ "$(ask inlay campaign tu)" = tune ] &&
[ "$(ask inlay run gemm --direct-to-v)" = --direct-to-vgpr ] && [ "$(ask inlay tune gemm --dtype bf1)" = bf16 ] &&
ask inlay run gemm --see | grep -qx -- --seed && ! ask inlay run gemm conv2 | grep -q conv2d
)sh";
  CHECK(std::system(("bash " + file.string()).c_str()) == 0);
  std::filesystem::remove(file);
  CHECK(says(inlay_command({"completion", "zsh"}).out, "#compdef inlay"));
  const auto fish = inlay_command({"completion", "fish"}).out;
  CHECK(says(fish, "__fish_seen_subcommand_from exec' -l stress"));
  CHECK(
      says(fish, "__fish_seen_subcommand_from prove; and test (count (commandline -opc)) -eq 2' -a 'equal "));
  if (std::system("fish --version >/dev/null 2>&1") == 0) {
    std::ofstream(file) << fish << R"sh(function inlay
  switch "$argv"
    case 'completion words gemm dtype'
      printf '%s\n' bf16 f16
    case 'completion words gemm*'
      test (count $argv) -eq 3; and printf '%s\n' --dtype
  end
end
function ask
  complete -C "$argv[1]" | string replace -r '\t.*' ''
end
contains gemm (ask "inlay run ge"); and contains bf16 (ask "inlay run gemm --dtype "); and not contains conv2d (ask "inlay run gemm --dtype ")
and not contains -- --dtype (ask "inlay run gemm --dtype "); and contains -- --dtype (ask "inlay run gemm --dt"); and contains injective (ask "inlay prove inj")
)sh";
    CHECK(std::system(("fish --no-config " + file.string()).c_str()) == 0);
    std::filesystem::remove(file);
  }
  CHECK(inlay_command({"completion", "tcsh"}).exit == 2);
  CHECK(inlay_command({"completion", "words", "gemm", "scales"}).out == "yes\nno\n");
  CHECK(inlay_command({"completion", "words", "gemm", "m"}).out.empty()); // 1 to 16777216
  CHECK(inlay_command({"completion", "words", "gmm"}).out.empty());
  const auto misspelt = inlay_command({"validate", "softmx"});
  CHECK(misspelt.exit == 2);
  CHECK(says(misspelt.err, "did you mean softmax?"));
  CHECK(
      says(inlay_command({"validate", "nothing_like_it.hsaco"}).err, "cannot read 'nothing_like_it.hsaco'"));
  const auto page = inlay_command({"man", "exec"}).out;
  CHECK(says(page, ".TH INLAY\\-exec 1"));
  CHECK(says(page, "\\fB\\-\\-stress\\fR"));
  CHECK(says(inlay_command({"man"}).out, ".BR inlay\\-prove (1)"));
  CHECK(inlay_command({"man", "nosuch"}).exit == 2);
}

#ifdef INLAY_CLI_KERNELS
TEST_CASE("help of a kernel, and yes and no in every spelling", "[geometry]") {
  const auto help = inlay_command({"run", "gemm", "--help"});
  CHECK(help.exit == 0);
  CHECK(says(help.out, "--stress"));
  CHECK(says(help.out, "--pipeline"));
  CHECK_FALSE(says(inlay_command({"run", "--help"}).out, "--pipeline"));
  CHECK(says(inlay_command({"build", "gemm", "--bias", "maybe", "--program"}).err, "is not yes or no"));
  // Two words, and two of three; True is what Python calls it.
  for (const auto& [kernel, option] :
       {std::pair{"softmax", "--in-place"}, {"gemm", "--bias"}, {"gemm", "--beta"}, {"gemm", "--auto"}}) {
    const auto program = [&, kernel = kernel, option = option](const std::string& word) {
      const auto ran = inlay_command({"build", kernel, option, word, "--program"});
      INFO(kernel << " " << option << " " << word << "\n" << ran.err);
      CHECK(ran.exit == 0);
      return ran.out;
    };
    const std::string on = program("yes"), off = program("no");
    CHECK((on == off) == (option == std::string("--auto")));
    for (const char* word : {"Yes", "true", "True", "TRUE", "on", "On", "1"}) CHECK(program(word) == on);
    for (const char* word : {"No", "NO", "false", "False", "off", "OFF", "0"}) CHECK(program(word) == off);
    for (const char* word : {"", "y", "truee", "2", "nope"})
      CHECK(inlay_command({"build", kernel, option, word, "--program"}).exit == 2);
  }
}
#endif

TEST_CASE("a line that says that work goes on leaves no trace, and gives way to what is printed",
          "[geometry]") {
  using namespace std::chrono_literals;
  std::ostringstream out, err;
  {
    const inlay::cli::Busy busy(out, err, "prove", true, 20ms);
    std::this_thread::sleep_for(200ms);
    out << "answer\n";
    err << "warning\n";
  }
  CHECK(out.str() == "answer\n");
  CHECK(says(err.str(), "\rprove  0 s\x1b[K"));
  CHECK(says(err.str(), "\r\x1b[K"));
  CHECK(err.str().find("\r\x1b[K") < err.str().find("warning"));
  std::ostringstream quiet;
  {
    const inlay::cli::Busy busy(out, quiet, "prove", false, 1ms);
    std::this_thread::sleep_for(30ms);
  }
  CHECK(quiet.str().empty());
}

TEST_CASE("colour where a terminal is, and not where NO_COLOR asks for none", "[geometry]") {
  using namespace inlay::cli;
  std::istringstream in;
  std::ostringstream out, err;
  const Session session{in, out, err};
  unsetenv("NO_COLOR");
  unsetenv("CLICOLOR_FORCE");
  set_terminals(nullptr, nullptr);
  CHECK(painted(session, Colour::red, "x") == "x");
  set_terminals(&out, nullptr);
  CHECK(painted(session, Colour::red, "x") == "\x1b[31mx\x1b[0m");
  CHECK(painted_error(session, Colour::red, "x") == "x");
  setenv("NO_COLOR", "1", 1);
  CHECK(painted(session, Colour::red, "x") == "x");
  unsetenv("NO_COLOR");
  set_terminals(nullptr, nullptr);
  setenv("CLICOLOR_FORCE", "1", 1);
  CHECK(painted(session, Colour::green, "x") == "\x1b[32mx\x1b[0m");
  unsetenv("CLICOLOR_FORCE");
}

namespace {

/// Assembly with a kernel a name, each of which writes a number through its argument.
std::string cpp_kernels(const std::vector<std::string>& names) {
  std::string code = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n", descriptors = ".rodata\n",
              metadata = ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n";
  for (const std::string& n : names) {
    code += ".globl " + n + "\n.p2align 8\n.type " + n + ",@function\n" + n +
            ":\n  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  v_and_b32 v0, 0x3ff, v0\n  v_lshlrev_b32 v1, 2, v0\n"
            "  s_waitcnt lgkmcnt(0)\n  global_store_dword v1, v0, s[4:5]\n  s_endpgm\n.Lend" +
            n + ":\n.size " + n + ", .Lend" + n + "-" + n + "\n";
    descriptors +=
        ".p2align 6\n.amdhsa_kernel " + n +
        "\n  .amdhsa_next_free_vgpr 8\n  .amdhsa_next_free_sgpr 16\n  .amdhsa_accum_offset 8\n"
        "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n  .amdhsa_kernarg_size 8\n.end_amdhsa_kernel\n";
    metadata +=
        "  - .name: " + n + "\n    .symbol: " + n +
        ".kd\n    .kernarg_segment_size: 8\n    .kernarg_segment_align: 8\n"
        "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n"
        "    .sgpr_count: 16\n    .vgpr_count: 8\n    .max_flat_workgroup_size: 64\n    .args:\n"
        "      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}\n";
  }
  return code + descriptors + metadata + "...\n.end_amdgpu_metadata\n";
}

} // namespace

TEST_CASE("names of C++ are shown and taken", "[geometry]") {
  const std::string add_float = "_ZN2ns3addIfEEvPT_", add_int = "_ZN2ns3addIiEEvPT_", scale = "_Z5scalePf";
  const std::string file = cpp_kernels({add_float, add_int, scale});
  const auto exec = [&](const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"exec", "-", "--kernel", name, "--grid", "1", "--arg", "out:128"};
    all.insert(all.end(), more.begin(), more.end());
    return inlay_command(all, file);
  };
  // Each spelling that says which one.
  for (const auto& [name, full] : {std::pair<std::string, std::string>{scale, "scale(float*)"},
                                   {"scale", "scale(float*)"},
                                   {"scale(float *)", "scale(float*)"},
                                   {"ns::add<int>", "void ns::add<int>(int*)"},
                                   {"void ns::add<float>(float*)", "void ns::add<float>(float*)"}}) {
    const Ran r = exec(name);
    INFO(name << r.out << r.err);
    CHECK(r.exit == 1); // 256 bytes into 128
    CHECK(says(r.out, "\n  in     " + full + ", workgroup 0,0,0"));
    CHECK(says(r.out, "\n" + full + " grid 1x1x1 "));
  }
  const auto json = Json::parse(exec("ns::add<int>", {"--json"}).out);
  CHECK(json["kernel"] == add_int);
  CHECK(json["demangled"] == "void ns::add<int>(int*)");
  CHECK_FALSE(
      Json::parse(
          inlay_command({"exec", "-", "--grid", "1", "--arg", "out:256", "--json"}, kernel(flat256)).out)
          .contains("demangled"));

  // Those that do not, and near ones.
  const Ran two = exec("ns::add");
  CHECK(two.exit == 2);
  CHECK(says(two.err, "'ns::add' may mean 2 of its kernels"));
  CHECK(says(two.err, "void ns::add<float>(float*), void ns::add<int>(int*)"));
  const Ran near = exec("scael");
  CHECK(near.exit == 2);
  CHECK(says(near.err, "holds no kernel named 'scael'"));
  CHECK(says(near.err, "did you mean scale? there are: void ns::add<float>(float*), "));
  const Ran none = inlay_command({"exec", "-", "--grid", "1", "--arg", "out:256"}, file);
  CHECK(none.exit == 2);
  CHECK(says(none.err, "holds 3 kernels"));
  CHECK(says(none.err, "choose one: void ns::add<float>(float*), "));

  const Ran inspected = inlay_command({"inspect", "-", "--kernel", "scale"}, file);
  CHECK(inspected.exit == 0);
  CHECK(says(inspected.out, "\nscale(float*) (gfx942)\n  symbol "));
  CHECK(says(inspected.out, scale));
  CHECK(Json::parse(inlay_command({"inspect", "-", "--kernel", "scale", "--json"}, file)
                        .out)["kernels"][0]["demangled"] == "scale(float*)");
  CHECK_FALSE(says(inlay_command({"inspect", "-"}, kernel(flat256)).out, "  symbol "));

  const Ran timed =
      inlay_command({"time", "-", "--kernel", "scale", "--grid", "1", "--arg", "out:256"}, file);
  INFO(timed.err);
  CHECK(timed.exit == 0);
  CHECK(says(timed.out, "scale(float*) on gfx942\n"));
  const Ran validated = inlay_command({"validate", "-", "--kernel", "ns::add<float>"}, file);
  CHECK(says(validated.out, "void ns::add<float>(float*): order validated\n"));
  const auto said =
      Json::parse(inlay_command({"validate", "-", "--kernel", "ns::add<float>", "--json"}, file).out);
  CHECK(said["kernels"][0]["kernel"] == add_float);
  CHECK(said["kernels"][0]["demangled"] == "void ns::add<float>(float*)");
}

TEST_CASE("names of C++ in a bundle", "[geometry]") {
  using inlay::launch::Bundle;
  using inlay::launch::Manifest;
  const auto folder = std::filesystem::temp_directory_path() / ("inlay-names-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::vector<Bundle::Entry> entries;
  for (const std::string name : {"_ZN2ns3addIfEEvPT_", "_ZN2ns3addIiEEvPT_"}) {
    const auto elf = inlay::runtime::isa::assemble_code_object(
        cpp_kernels({name}), inlay::runtime::isa::parse_arch("gfx942"), "names.s");
    const Json manifest = {
        {"format", "inlay.launch/1"},
        {"kernel", name},
        {"arch", "gfx942"},
        {"code", "x.hsaco"},
        {"sizes", Json::array()},
        {"arguments",
         {{{"name", "out"}, {"kind", "buffer"}, {"type", "f32"}, {"output", true}, {"bytes", "256"}}}},
        {"grid", {"1", "1", "1"}},
        {"block", {64, 1, 1}},
        {"lds", 0}};
    entries.emplace_back(Manifest::parse(manifest.dump(), name), elf);
  }
  const auto bytes = Bundle(std::move(entries)).bytes();
  const std::string file = (folder / "k.inlay").string();
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const Ran one = inlay_command({"exec", file, "--kernel", "ns::add<int>"});
  INFO(one.out << one.err);
  CHECK(one.exit == 0);
  CHECK(says(one.out, "void ns::add<int>(int*) grid 1x1x1 "));
  const Ran two = inlay_command({"exec", file, "--kernel", "add"});
  CHECK(two.exit == 2);
  CHECK(says(two.err, "'add' may mean several kernels"));
  CHECK(says(two.err, "void ns::add<float>(float*), void ns::add<int>(int*)"));
  CHECK(inlay_command({"exec", file, "--kernel", "sub"}).exit == 2);
  std::filesystem::remove_all(folder);
}

TEST_CASE("findings and verdicts in colour", "[geometry]") {
  using namespace inlay::cli;
  unsetenv("NO_COLOR");
  setenv("CLICOLOR_FORCE", "1", 1);
  const std::string green = "\x1b[32m", red = "\x1b[31m", yellow = "\x1b[33m", end = "\x1b[0m";
  const std::string lds = "  v_mov_b32 v2, 0\n  ds_write_b32 v2, v0\n  ds_read_b32 v3, v2\n";
  const auto shown = [&](const std::vector<std::string>& command, const std::string& input = "") {
    const std::string out = inlay_command(command, input).out;
    setenv("NO_COLOR", "1", 1);
    const std::string plain = inlay_command(command, input).out;
    unsetenv("NO_COLOR");
    CHECK(plain.find('\x1b') == std::string::npos);
    return out;
  };
  CHECK(
      says(shown({"validate", "-"}, kernel(flat256)), "numbers: order " + green + "validated" + end + "\n"));
  CHECK(says(shown({"validate", "-"}, kernel(flat256, lds, 0, 64)),
             "numbers: order " + red + "refuted" + end + "\n"));
  CHECK(says(shown({"exec", "-", "--grid", "1", "--arg", "out:256"}, kernel(flat256)),
             red + "bounds" + end + ": "));
#ifdef INLAY_CLI_SOLVER
  CHECK(shown({"prove", "injective", "(4,2):(1,4)"})
            .starts_with("injective: " + green + "proved" + end + " ("));
  CHECK(
      shown({"prove", "injective", "(3,2):(1,1)"}).starts_with("injective: " + red + "refuted" + end + " ("));
  CHECK(shown({"prove", "injective", "i -> (a*i) % b", "--domain", "n", "--steps", "0", "--limit", "0"})
            .starts_with("injective: " + yellow + "unknown" + end));
#endif
  unsetenv("CLICOLOR_FORCE");
}

TEST_CASE("scratch at its instruction, in exec and time", "[geometry]") {
  // Three waves: a store and two loads by scratch instructions, a store by a flat one, all of them to scratch, and a flat one that is not.
  std::string code = kernel(flat256 + "    .vgpr_spill_count: 3\n    .sgpr_spill_count: 1\n",
                            "  s_mov_b64 s[6:7], src_private_base\n  v_mov_b32 v2, 8\n  v_mov_b32 v3, s7\n"
                            "  scratch_store_dword off, v0, off offset:4\n"
                            "  flat_store_dwordx2 v[2:3], v[0:1]\n"
                            "  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
                            "  scratch_load_dword v4, off, off offset:4\n"
                            "  scratch_load_dwordx2 v[4:5], off, off offset:8\n"
                            "  s_waitcnt vmcnt(0)\n  v_add_u32 v6, s4, v1\n  v_mov_b32 v7, s5\n"
                            "  flat_store_dword v[6:7], v4\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n");
  const auto put = [&](const std::string& before, const std::string& after) {
    const auto at = code.find(before);
    REQUIRE(at != std::string::npos);
    code.replace(at, before.size(), after);
  };
  put("  .amdhsa_kernarg_size 8", "  .amdhsa_kernarg_size 8\n  .amdhsa_private_segment_fixed_size 16\n"
                                  "  .amdhsa_enable_private_segment 1");
  put(".private_segment_fixed_size: 0", ".private_segment_fixed_size: 16");
  const std::vector<std::string> launch = {"-", "--grid", "1", "--block", "192", "--arg", "out:768"};
  const auto command = [&](const char* name, const char* more) {
    std::vector<std::string> all = {name};
    all.insert(all.end(), launch.begin(), launch.end());
    all.emplace_back(more);
    return inlay_command(all, code);
  };
  const auto run = command("exec", "--stats");
  INFO(run.out << run.err);
  CHECK(says(run.out, "  scratch               16 bytes a lane, 3 VGPR and 1 SGPR spilled\n"));
  CHECK(says(run.out, "  3 stores of 4 bytes a lane  scratch_store_dword off, v0, off offset:4  stdin:13\n"));
  CHECK(says(run.out, "  3 stores of 8 bytes a lane  flat_store_dwordx2 v[2:3], v[0:1]  stdin:14\n"));
  CHECK(says(run.out,
             "  3 loads of 8 bytes a lane  scratch_load_dwordx2 v[4:5], off, off offset:8  stdin:17\n"));
  CHECK_FALSE(says(run.out, "flat_store_dword v[6:7]"));
  // With and without what the checks look at: by rows and lane by lane.
  for (const char* check : {"none", "all"}) {
    const auto json = Json::parse(inlay_command({"exec", "-", "--grid", "2", "--block", "192", "--arg",
                                                 "out:768", "--check", check, "--json"},
                                                code)
                                      .out);
    REQUIRE(json["scratch"]["instructions"].size() == 4);
    CHECK(json["scratch"]["bytes_a_lane"] == 16);
    for (const auto& i : json["scratch"]["instructions"]) CHECK(i["accesses"] == 6);
  }
  const auto timed = command("time", "--json");
  INFO(timed.out << timed.err);
  REQUIRE(timed.exit == 0);
  const auto scratch = Json::parse(timed.out)["timing"]["scratch"];
  CHECK(scratch["instructions"].size() == 4);
  CHECK(scratch["instructions"][0]["source"]["file"] == "stdin");
  CHECK(says(command("time", "--quick").out, "  scratch at 0x"));
  CHECK_FALSE(
      says(inlay_command({"exec", "-", "--grid", "1", "--arg", "out:256", "--stats"}, kernel(flat256)).out,
           "scratch  "));
}

} // namespace launch_geometry_test
