#include "hipblaslt_file.h"

#include "build_manifest.h"

#include <inlay/codegen/emit.h>
#include <inlay/kernels/build.h>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace inlay::cli {
namespace {

[[noreturn]] void cannot(const std::string& what, const std::string& hint) {
  throw std::invalid_argument("build: --hipblaslt: " + what + "\n  hint   " + hint);
}

/// An argument as the library passes it: what it means there, its type in `custom.config`, and its name here.
struct Passed {
  const char *semantic, *type, *ir, *name;
  unsigned bytes;
};
// Addresses first: every argument is aligned without a gap.
constexpr std::array<Passed, 13> passed{{{"AddressD", "address", "ptr addrspace(1)", "d", 8},
                                         {"AddressA", "address", "ptr addrspace(1)", "b", 8},
                                         {"AddressB", "address", "ptr addrspace(1)", "a", 8},
                                         {"AddressC", "address", "ptr addrspace(1)", "c", 8},
                                         {"SizeFree0", "int32", "i32", "n", 4},
                                         {"SizeFree1", "int32", "i32", "m", 4},
                                         {"SizeSum", "int32", "i32", "k", 4},
                                         {"StrideA0", "int32", "i32", "stride_b", 4},
                                         {"StrideB0", "int32", "i32", "stride_a", 4},
                                         {"StrideC0", "int32", "i32", "stride_c", 4},
                                         {"StrideD0", "int32", "i32", "stride_d", 4},
                                         {"Alpha", "float32", "float", "by_value_alpha", 4},
                                         {"Beta", "float32", "float", "by_value_beta", 4}}};

unsigned offset_of(const std::string& name) {
  unsigned at = 0;
  for (const Passed& p : passed) {
    if (p.name == name) return at;
    at += p.bytes;
  }
  throw std::logic_error("no argument " + name);
}

/// `(n + 127)/128`: 128. 0 for another formula.
int tile_of(const std::string& formula, const std::string& size) {
  std::smatch found;
  if (!std::regex_match(formula, found, std::regex("\\(" + size + " \\+ ([0-9]+)\\)/([0-9]+)"))) return 0;
  const int tile = std::stoi(found[2]);
  return std::stoi(found[1]) == tile - 1 ? tile : 0;
}

/// The IR with another head: the arguments of the library, and from them what the kernel's own were.
std::string with_its_arguments(const kernels::Artifact& kernel, const std::string& name) {
  std::istringstream lines(kernel.ir);
  std::string out, line;
  bool head = false, entry = false;
  for (; std::getline(lines, line); out += line + "\n") {
    if (!head && line.starts_with("define amdgpu_kernel void @" + kernel.kernel + "(")) {
      const bool preloads = line.find(" inreg ") != std::string::npos;
      const std::size_t close = line.find(") #");
      if (close == std::string::npos) break;
      std::string arguments;
      unsigned words = 0; // of 16 registers, which the address of the arguments shares
      for (const Passed& p : passed) {
        words += p.bytes / 4;
        arguments += fmt::format("{}{}{}{} %{}", arguments.empty() ? "" : ", ", p.ir,
                                 preloads && words <= 14 ? " inreg" : "",
                                 p.bytes == 8 ? " noalias noundef" : "", p.name);
      }
      line = "define amdgpu_kernel void @" + name + "(" + arguments + line.substr(close);
      head = true;
    } else if (head && !entry && line == "entry:") {
      // A number in memory is one of the arguments, which lie in memory themselves.
      line += "\n  %arguments = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()";
      for (const std::string number : {"alpha", "beta"})
        line += fmt::format("\n  %at_{0} = getelementptr i8, ptr addrspace(4) %arguments, i64 {1}"
                            "\n  %{0} = addrspacecast ptr addrspace(4) %at_{0} to ptr addrspace(1)",
                            number, offset_of("by_value_" + number));
      for (const auto& [matrix, columns] :
           std::map<std::string, std::string>{{"a", "k"}, {"b", "k"}, {"c", "n"}, {"d", "n"}})
        line += fmt::format("\n  %pad_{0} = sub i32 %stride_{0}, %{1}", matrix, columns);
      entry = true;
    }
  }
  if (!entry) throw std::logic_error("the IR of " + kernel.kernel + " has no entry");
  if (out.find("declare ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr") == std::string::npos)
    out += "declare ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()\n";
  return out;
}

} // namespace

kernels::Flags hipblaslt_flags() {
  return {{"alpha", "yes"}, {"beta", "yes"}, {"pad-a", "0"}, {"pad-b", "0"}, {"pad-c", "0"}, {"pad-d", "0"}};
}

std::pair<std::string, std::string> hipblaslt_file(const kernels::Artifact& artifact,
                                                   const std::vector<int>& tile,
                                                   const std::vector<int>& waves) {
  const launch::Manifest m = manifest_of(artifact, "", {});
  const std::map<std::string, std::string> letters{{"f16", "h"}, {"bf16", "b"}, {"f32", "s"}};
  std::string in, out;
  std::vector<std::string> wanted{"beta",  "alpha", "c",     "d", "a", "b", "pad_a",
                                  "pad_b", "pad_c", "pad_d", "m", "n", "k"};
  for (const launch::Argument& a : m.arguments) {
    const auto at = std::find(wanted.begin(), wanted.end(), a.name); // each once
    if (at == wanted.end())
      cannot("the library has no argument '" + a.name + "'", "without bias, scales and parts of sums");
    wanted.erase(at);
    if (a.kind == launch::Argument::Kind::size && a.type != "i32")
      cannot("size " + a.name + " is of " + a.type + ", and strides are passed in 32 bits", "smaller sizes");
    if (a.name == "a") in = a.type;
    if (a.name == "d") out = a.type;
  }
  if (!wanted.empty())
    cannot("the kernel has no argument '" + wanted.front() + "'", "gemm with --beta yes and --layout nt");
  if (!letters.contains(in) || !letters.contains(out))
    cannot("matrices of " + in + " that give " + out, "--dtype f16 or bf16");
  const int tile_n = tile_of(m.grid[0].text(), "n"), tile_m = tile_of(m.grid[1].text(), "m");
  if (tile_n == 0 || tile_m == 0 || m.grid[2].text() != "1")
    cannot(fmt::format("the grid is {} x {} x {}, and the library's one of tiles of n, m", m.grid[0].text(),
                       m.grid[1].text(), m.grid[2].text()),
           "without split and stream-K");
  if (tile.size() != 3 || waves.size() != 2 || tile[0] != tile_m || tile[1] != tile_n)
    throw std::logic_error("the tile and the grid of " + artifact.kernel + " differ");
  const std::string name =
      fmt::format("inlay_gemm_{}_{}_TN_MT{}x{}_{}", in, out, tile_n, tile_m, artifact.arch);

  bool keep_order = false;
  for (const codegen::CodeRegion& r : artifact.source->code.regions) keep_order = keep_order || r.exact;
  const std::string assembly =
      codegen::emit(codegen::IrModule::parse(with_its_arguments(artifact, name)),
                    codegen::Target::named(artifact.arch), {.keep_order = keep_order})
          .assembly;
  std::smatch mfma;
  if (!std::regex_search(assembly, mfma, std::regex("v_mfma_f32_([0-9]+)x([0-9]+)x([0-9]+)")))
    cannot("there is no matrix instruction in it", "a tile of at least 16 x 16");
  const int rows = std::stoi(mfma[1]), columns = std::stoi(mfma[2]),
            threads = static_cast<int>(m.block.at(0));

  std::string arguments, least, most, multiples;
  for (const Passed& p : passed)
    arguments += fmt::format("{}{{ type: {}, semantic: {} }}", arguments.empty() ? "" : ",\n            ",
                             p.type, p.semantic);
  const auto size = [&](const std::string& of) {
    return *std::find_if(m.sizes.begin(), m.sizes.end(), [&](const launch::Size& s) { return s.name == of; });
  };
  for (const auto& [index, of] : std::map<int, std::string>{{0, "n"}, {1, "m"}, {3, "k"}})
    if (size(of).most < 2147483647)
      most += fmt::format("{}{}: {}", most.empty() ? "" : ", ", index, size(of).most + 1);
  for (const auto& [parameter, of] : std::map<std::string, std::string>{
           {"AssertFree0ElementMultiple", "n"}, {"AssertSummationElementMultiple", "k"}}) {
    if (const auto multiple = size(of).multiple; multiple > 16 || (multiple & (multiple - 1)) != 0)
      cannot(fmt::format("{} is a multiple of {}, and the library asserts 1, 2, 4, 8 or 16", of, multiple),
             "--n-multiple 8");
    multiples += fmt::format("  {}: {}\n", parameter, size(of).multiple);
  }
  const std::string config = fmt::format(
      "custom.config:\n  Source:\n    Origin: inlay\n  Version: {}\n"
      "  Features:\n    SupportsUserArgs: false\n    SupportsBias: false\n    SupportsActivation: false\n"
      "    SupportsScaleAlpha: false\n    SupportsGSU: false\n"
      "  InternalSupportParams:\n    KernArgsVersion: 0\n    UseUniversalArgs: False\n"
      "  ProblemType:\n    OperationType: GEMM\n    DataType: {}\n    DestDataType: {}\n    ComputeDataType: "
      "s\n"
      "    HighPrecisionAccumulate: True\n    TransposeA: True\n    TransposeB: False\n    UseBeta: True\n"
      "    Batched: True\n    UseBias: 0\n    Activation: False\n    UseScaleAlphaVec: 0\n"
      "  CustomKernel:\n    args: [ {} ]\n    macrotile: [{}, {}, {}]\n    threads: [{}, 1, 1]\n"
      "    grid: [TilesX, TilesY, One]\n"
      "  MatrixInstruction: [{}, {}, {}, 1]\n  EnableMatrixInstruction: True\n  MIWaveTile: [{}, {}]\n"
      "{}  AssertSizeEqual: {{ 2: 1 }}\n{}"
      "  AssertStrideAEqual: {{ 0: 1 }}\n  AssertStrideBEqual: {{ 0: 1 }}\n"
      "  AssertStrideCEqual: {{ 0: 1 }}\n  AssertStrideDEqual: {{ 0: 1 }}\n"
      "  StaggerU: 0\n  WavefrontSize: 64\n",
      INLAY_VERSION, letters.at(in), letters.at(out), arguments, tile_n, tile_m, tile[2], threads, rows,
      columns, mfma[3].str(), std::max(1, tile_n / (rows * waves[1])),
      std::max(1, tile_m / (columns * waves[0])), multiples,
      most.empty() ? "" : "  AssertSizeLessThan: { " + most + " }\n");
  const std::string begin = "\t.amdgpu_metadata\n---\n";
  const std::size_t at = assembly.find(begin);
  if (at == std::string::npos) throw std::logic_error("assembly without metadata");
  return {name, assembly.substr(0, at + begin.size()) + config + assembly.substr(at + begin.size())};
}

} // namespace inlay::cli
