#include "inlay_command.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include <inlay/algebra/expression.h>

namespace version_test {

TEST_CASE("the command line: version, an unknown command, no command") {
  const Ran version = inlay_command({"version"});
  CHECK(version.exit == 0);
  CHECK(version.out.rfind("inlay ", 0) == 0);
  const Ran flag = inlay_command({"--version"});
  CHECK(flag.exit == 0);
  CHECK(flag.out.rfind("inlay ", 0) == 0);
  CHECK(inlay_command({"bnech"}).err.find("'bnech'") != std::string::npos);
  CHECK(inlay_command({"check"}).err.find("inlay run-with -- COMMAND") != std::string::npos);
  CHECK(inlay_command({"run-with", "python3", "-c", "1"}).err.find("-- COMMAND") != std::string::npos);
  CHECK(inlay_command({"vresion"}).err.find("did you mean inlay version?") != std::string::npos);
  const Ran option = inlay_command({"--no-such-option"});
  CHECK(option.exit == 2);
  CHECK(option.err.find("no option '--no-such-option'") != std::string::npos);
  CHECK(inlay_command({"build"}).err.find("inlay build --help") != std::string::npos);
  // Nothing at all: the commands, each with what it does.
  const std::string nothing = inlay_command({}).err;
  for (const char* command : {"build", "prove", "exec", "eval"})
    CHECK(nothing.find(std::string("\n  ") + command) != std::string::npos);
  const Ran one = inlay_command({"kernels", "softmax"});
  CHECK(one.out.rfind("softmax: ", 0) == 0);
  CHECK(one.out.find("rmsnorm: ") == std::string::npos);
  CHECK(inlay_command({"kernels", "sofmax"}).exit == 2);
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"no-such-command"}, {}}) {
    const Ran ran = inlay_command(bad);
    CHECK(ran.exit == 2);
    CHECK(ran.err.find("hint") != std::string::npos);
  }
}

TEST_CASE("eval names every operation and says where symbols belong") {
  const Ran help = inlay_command({"eval", "--help"});
  CHECK(help.exit == 0);
  for (const inlay::NamedOperation& op : inlay::named_operations())
    CHECK(help.out.find(std::string("\n  ") + op.name + op.signature) != std::string::npos);
  const Ran nothing = inlay_command({"eval"});
  CHECK(nothing.exit == 2);
  CHECK(nothing.err.find("inlay eval --help") != std::string::npos);
  CHECK(inlay_command({"eval", "size((M,4):(1,M))"}).err.find("symbols belong to `prove`") !=
        std::string::npos);
}

TEST_CASE("a kernel that spills is built with a warning that says how much") {
  // Without the modulo scheduler LLVM keeps more of this tile's operands alive than there are registers.
  const auto build = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "build",  "gemm", "--arch",
        "gfx950", "-o",   std::filesystem::temp_directory_path().string() + "/inlay_spills",
        "--tile"};
    words.insert(words.end(), more.begin(), more.end());
    return inlay_command(words);
  };
  const Ran spills = build({"256x256x64", "--loops", "ir", "--scheduler", "default"});
  CHECK(spills.exit == 0);
  CHECK(spills.out.find("scratch 0 bytes") == std::string::npos);
  CHECK(spills.err.find("warning: gemm spills ") != std::string::npos);
  const Ran fits = build({"128x128x64"});
  CHECK(fits.exit == 0);
  CHECK(fits.out.find("scratch 0 bytes") != std::string::npos);
  CHECK(fits.err.find("spills") == std::string::npos);
}

} // namespace version_test
