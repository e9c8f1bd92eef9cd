// What the emulator executes: the table in docs/ is what the code says, and nothing that AITER or Triton use is missing.
#include "emulator_support.h"

#include <array>
#include <cstdlib>
#include <inlay/machine/target.h>
#include <map>
#include <set>

namespace emulator_instructions_test {

using namespace emulator_test;

namespace {

std::string_view name_of(isa::Format format) {
  static constexpr std::string_view names[] = {
      "unknown", "SOP1",  "SOP2",      "SOPK", "SOPC",  "SOPP",  "SMEM", "VOP1",   "VOP2",   "VOPC",
      "VOP3",    "VOP3P", "VOP3P-MAI", "DS",   "MUBUF", "MTBUF", "FLAT", "GLOBAL", "SCRATCH"};
  return names[static_cast<std::size_t>(format)];
}

std::string table() {
  using inlay::machine::targets;
  using Row = std::array<char, targets.size()>;
  std::map<isa::Format, std::map<std::string, Row>> rows;
  for (std::size_t t = 0; t < targets.size(); ++t)
    for (const InstructionSupport& i : instruction_support(targets[t].arch))
      rows[i.format].try_emplace(i.mnemonic, Row{}).first->second[t] = i.emulated ? 'y' : 'n';
  const auto word = [](char c) { return c == 'y' ? "yes" : c == 'n' ? "**no**" : "-"; };
  std::string out = "# Instructions of the emulator\n\nGenerated from the code "
                    "(`tests/runtime/emulator_instructions_test.cpp`; "
                    "INLAY_UPDATE_DOCS=1 writes it). `yes`: executed; **no**: an error that names the "
                    "instruction; `-`: not an "
                    "instruction of that processor.\n";
  for (const auto& [format, list] : rows) {
    out += "\n## " + std::string(name_of(format)) + "\n\n| mnemonic |";
    for (const auto& t : targets) out += " " + std::string(t.name) + " |";
    out += "\n|---|";
    for (std::size_t t = 0; t < targets.size(); ++t) out += "---|";
    out += "\n";
    for (const auto& [mnemonic, row] : list) {
      out += "| " + mnemonic + " |";
      for (const char c : row) out += " " + std::string(word(c)) + " |";
      out += "\n";
    }
  }
  return out;
}

} // namespace

TEST_CASE("the table of instructions is up to date") {
  const std::string path = std::string(INLAY_TESTS_DIR) + "/../docs/emulator_instructions.md";
  const std::string now = table();
  if (std::getenv("INLAY_UPDATE_DOCS") != nullptr) std::ofstream(path) << now;
  CHECK(now == read_file(path));
}

TEST_CASE("everything hand-tuned kernels use is executed") {
  std::set<std::string> emulated;
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    for (const InstructionSupport& i : instruction_support(arch)) {
      if (i.emulated) emulated.insert(i.mnemonic);
    }
  }
  CHECK(emulated.size() > 900);
  std::istringstream in(read_file(std::string(INLAY_TESTS_DIR) + "/runtime/data/aiter_mnemonics.txt"));
  std::size_t names = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#") || line.starts_with("modifiers")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      std::string name = word.substr(0, word.find(':'));
      for (const char* suffix : {"_dpp", "_sdwa"}) {
        if (name.ends_with(suffix)) name.resize(name.size() - std::string(suffix).size());
      }
      if (name == "total" || name.find('_') == std::string::npos) continue;
      ++names;
      INFO(name);
      CHECK(emulated.count(name) == 1);
    }
  }
  CHECK(names > 500);
}

TEST_CASE("every instruction of Triton's kernels is executed") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    for (const char* name :
         {"gemm_f16_128x128x64", "gemm_f16_256x256x64", "gemm_bf16_256x256x64", "gemm_fp8_256x256x128",
          "gemm_i8_128x128x128", "softmax_f16_8192", "rmsnorm_bf16_8192"}) {
      const auto code = isa::assemble(read_file(std::string(INLAY_TESTS_DIR) + "/isa/triton/" + name + "." +
                                                std::string(isa::to_string(arch)) + ".s"),
                                      arch);
      for (const isa::Instruction& i : isa::decode(code, 0, arch).instructions) {
        INFO(name << ": " << i.text);
        REQUIRE(is_emulated(i, arch));
      }
    }
  }
}

} // namespace emulator_instructions_test
