// `inlay kernels`: what is prebuilt, and which options each takes.
#include "kernel_options.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

int kernels_command(Session& session, const std::vector<std::string>& names, bool as_json) {
  nlohmann::ordered_json list = nlohmann::json::array();
  for (const std::string& name : names)
    static_cast<void>(kernels::find_kernel(name)); // refuses what there is not
  for (const auto& kernel : kernels::registry()) {
    if (!names.empty() && std::find(names.begin(), names.end(), kernel->name()) == names.end()) continue;
    if (!as_json) {
      session.out << kernel->name() << ": " << kernel->summary() << "\n" << flags_text(*kernel) << "\n";
      continue;
    }
    nlohmann::ordered_json flags = nlohmann::json::array();
    for (const auto& flag : kernel->flags())
      flags.push_back({{"name", flag.name}, {"default", flag.fallback}, {"help", flag.help}});
    list.push_back({{"name", kernel->name()}, {"summary", kernel->summary()}, {"options", flags}});
  }
  if (as_json) session.out << list.dump(2) << "\n";
  return Exit::yes;
}

} // namespace

void add_kernels(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("kernels", "The prebuilt kernels and their options");
  auto json = std::make_shared<bool>(false);
  auto names = std::make_shared<std::vector<std::string>>();
  command->add_option("KERNEL", *names, "Of these only");
  command->add_flag("--json", *json, "As JSON");
  command->callback([=, &session] { session.exit = kernels_command(session, *names, *json); });
}

} // namespace inlay::cli
