#include "aiter_files.h"

#include <fmt/format.h>
#include <stdexcept>

namespace inlay::cli {
namespace {

using launch::Argument;
using launch::Manifest;

/// `gemm` of a function's name: a name in C++, in a file system and in a table.
std::string plain(const std::string& name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  return out;
}

/// The structure that a launch passes by HIP_LAUNCH_PARAM_BUFFER_POINTER: each argument where the code object's metadata has it.
std::string structure(const Manifest& m, const runtime::Kernel& k) {
  std::string out = "struct __attribute__((packed)) Args {\n", checks;
  std::uint32_t at = 0;
  std::size_t n = 0;
  for (const runtime::KernelArgument& a : k.arguments) {
    if (a.hidden()) continue;
    const Argument& of = m.arguments.at(n);
    if (a.offset > at) out += fmt::format("  unsigned char gap_{}[{}];\n", n, a.offset - at);
    const std::string name = of.name.empty() ? fmt::format("arg{}", n) : plain(of.name);
    std::string note;
    if (of.kind == Argument::Kind::buffer) {
      out += fmt::format("  {}void* {};", of.output ? "" : "const ", name);
      note = fmt::format("{} of {} bytes{}", of.type.empty() ? "memory" : of.type, of.bytes.text(),
                         of.before == Argument::Before::zeros ? ", zeros before the launch" : "");
    } else if (of.kind == Argument::Kind::size) {
      out += fmt::format("  {} {};", a.size == 8 ? "long long" : "int", name);
    } else {
      std::string bytes;
      for (const std::uint8_t b : of.value) bytes += fmt::format("{}{}", bytes.empty() ? "" : ", ", b);
      out += fmt::format("  unsigned char {}[{}] = {{{}}};", name, a.size, bytes);
    }
    out += (note.empty() ? "" : " // " + note) + "\n";
    checks += fmt::format("static_assert(offsetof(Args, {}) == {});\n", name, a.offset);
    at = a.offset + a.size;
    ++n;
  }
  return out + "};\n" + checks;
}

std::string header(const Manifest& m, const runtime::Kernel& k, const std::string& name) {
  std::string sizes, contract;
  for (const launch::Size& s : m.sizes) {
    sizes += fmt::format("{}[[maybe_unused]] long long {}", sizes.empty() ? "" : ", ", s.name);
    std::string one = fmt::format("{0} >= {1} && {0} <= {2}", s.name, s.least, s.most);
    if (s.multiple > 1) one += fmt::format(" && {} % {} == 0", s.name, s.multiple);
    contract += fmt::format("{}{}", contract.empty() ? "" : " && ", one);
  }
  for (const launch::Limit& l : m.limits)
    contract += fmt::format("{}{} <= {}", contract.empty() ? "" : " && ", l.formula.text(), l.most);
  std::string grid;
  for (const launch::Formula& f : m.grid)
    grid += fmt::format("{}static_cast<int>({})", grid.empty() ? "" : ", ", f.text());
  return fmt::format(
      R"(// How '{kernel}' of {arch} is launched: what a host function of AITER passes to AiterAsmKernel::launch_kernel. Made from its
// launch manifest, whose every other condition (alignment, buffers apart, no sizes of 0) holds too.
//
//   {name}::Args args{{...}};
//   std::size_t size = sizeof args;
//   const auto g = {name}::grid(...);
//   kernel.launch_kernel({{&args, &size, g[0], g[1], g[2], {name}::block[0], {name}::block[1], {name}::block[2], stream}});
#pragma once

#include <array>
#include <cstddef>

namespace {name} {{

{structure}
inline constexpr std::array<int, 3> block{{{bx}, {by}, {bz}}};
inline constexpr int dynamic_lds = {lds};
inline constexpr long long min(long long a, long long b) {{ return a < b ? a : b; }}
inline constexpr long long max(long long a, long long b) {{ return a > b ? a : b; }}
/// What the kernel takes.
inline constexpr bool takes({sizes}) {{ return {contract}; }}
/// Workgroups. Requires: takes(...).
inline constexpr std::array<int, 3> grid({sizes}) {{ return {{{grid}}}; }}

}} // namespace {name}
)",
      fmt::arg("kernel", m.kernel), fmt::arg("arch", m.arch), fmt::arg("name", name),
      fmt::arg("structure", structure(m, k)), fmt::arg("bx", m.block[0]), fmt::arg("by", m.block[1]),
      fmt::arg("bz", m.block[2]), fmt::arg("lds", m.lds), fmt::arg("sizes", sizes),
      fmt::arg("contract", contract.empty() ? "true" : contract), fmt::arg("grid", grid));
}

} // namespace

std::vector<std::pair<std::string, std::string>> aiter_files(const Manifest& m,
                                                             const std::vector<std::uint8_t>& code) {
  const auto object = runtime::CodeObject::parse(code, m.arch);
  const runtime::Kernel& kernel = object.kernel(m.kernel);
  if (!kernel.has_metadata)
    throw std::invalid_argument(fmt::format("{}: its code object does not say which arguments it takes\n  "
                                            "hint   a code object as `inlay build` writes it",
                                            m.kernel));
  if (m.devices > 1)
    throw std::invalid_argument(
        fmt::format("{}: a launch of {} devices is no row of AITER's tables\n  hint   inlay bundle -o FILE",
                    m.kernel, m.devices));
  const std::string name = plain(m.kernel), folder = fmt::format("hsa/{}/{}/", m.arch, name);
  std::string columns = "knl_name,co_name,block,lds",
              row =
                  fmt::format("{},{}.co,{},{}", m.kernel, name, m.block[0] * m.block[1] * m.block[2], m.lds);
  for (const launch::Size& s : m.sizes) {
    columns += fmt::format(",{0}_least,{0}_most,{0}_multiple", s.name);
    row += fmt::format(",{},{},{}", s.least, s.most, s.multiple);
  }
  return {{folder + name + ".co", {code.begin(), code.end()}},
          {folder + name + ".csv", columns + "\n" + row + "\n"},
          {folder + name + ".h", header(m, kernel, name)}};
}

} // namespace inlay::cli
