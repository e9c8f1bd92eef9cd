#include "kernel_options.h"

#include <fmt/format.h>
#include <stdexcept>

namespace inlay::cli {

kernels::Flags read_flags(const std::vector<std::string>& rest) {
  kernels::Flags flags;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::string& word = rest[i];
    if (word.rfind("--", 0) != 0 || word.size() < 3)
      throw std::invalid_argument(
          fmt::format("'{}' is not an option\n  hint   options are written --name value", word));
    std::string name = word.substr(2), value;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < rest.size() && rest[i + 1].rfind("--", 0) != 0) {
      value = rest[++i];
    } else {
      throw std::invalid_argument(fmt::format("option '--{}' has no value", name));
    }
    if (!flags.emplace(name, value).second)
      throw std::invalid_argument(fmt::format("option '--{}' is given twice", name));
  }
  return flags;
}

void add_order_options(CLI::App& command, kernels::BuildOptions& options) {
  command.add_option("--scheduler", options.scheduler, "Who orders the loops: modulo (default) or default")
      ->check(CLI::IsMember({"modulo", "default"}));
  command
      .add_option(
          "--loops", options.loops,
          "Ordered loops as LLVM IR, as one block of asm, or as their registers demand: ir, asm, auto")
      ->check(CLI::IsMember({"auto", "ir", "asm"}));
}

std::string flags_text(const kernels::Kernel& kernel) {
  std::string text;
  for (const kernels::FlagHelp& flag : kernel.flags())
    text += fmt::format("  --{:<8} {:<62} {}\n", flag.name, flag.help,
                        flag.fallback.empty() ? "" : "[" + flag.fallback + "]");
  return text;
}

} // namespace inlay::cli
