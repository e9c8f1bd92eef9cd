// `inlay kernels`: what is prebuilt, and which options each takes.
#include "kernel_options.h"

#include <inlay/kernels/groups.h>

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

int kernels_command(Session& session, const std::vector<std::string>& names, bool as_json) {
  std::vector<std::unique_ptr<kernels::Kernel>> list;
  for (const std::string& name : names) list.push_back(kernels::find_kernel(name));
  if (names.empty()) list = kernels::registry();
  if (as_json) {
    nlohmann::ordered_json all = nlohmann::json::array();
    for (const auto& kernel : list) {
      nlohmann::ordered_json options = nlohmann::json::array();
      for (const kernels::FlagHelp& f : kernel->flags()) {
        nlohmann::ordered_json one = {
            {"name", f.name}, {"default", f.fallback}, {"range", f.range}, {"help", f.help}};
        if (!f.more.empty()) one["more"] = f.more;
        if (f.speed) one["without_sizes"] = f.unchosen;
        if (!f.former.empty()) one["former"] = f.former;
        options.push_back(std::move(one));
      }
      all.push_back({{"name", kernel->name()}, {"summary", kernel->summary()}, {"options", options}});
    }
    session.out << all.dump(2) << "\n";
    return Exit::yes;
  }
  if (names.empty()) {
    for (const kernels::KernelGroup& group : kernels::kernel_groups()) {
      session.out << group.title << "\n";
      for (const std::string& name : group.kernels)
        session.out << fmt::format("  {:<22} {}\n", name, kernels::find_kernel(name)->summary());
    }
    session.out << "\ninlay kernels KERNEL lists the options of one\n";
    return Exit::yes;
  }
  for (const auto& kernel : list)
    session.out << kernel->name() << ": " << kernel->summary() << "\n\n" << flags_text(*kernel) << "\n";
  return Exit::yes;
}

} // namespace

void add_kernels(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("kernels", "The prebuilt kernels and their options");
  auto json = std::make_shared<bool>(false);
  auto names = std::make_shared<std::vector<std::string>>();
  command->add_option("KERNEL", *names, "These kernels, with all their options");
  command->add_flag("--json", *json, "As JSON");
  command->callback([=, &session] { session.exit = kernels_command(session, *names, *json); });
}

} // namespace inlay::cli
