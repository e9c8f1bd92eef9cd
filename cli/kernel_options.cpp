#include "kernel_options.h"

#include <algorithm>
#include <fmt/format.h>
#include <inlay/kernels/switches.h>
#include <inlay/kernels/workers.h>
#include <nlohmann/json.hpp>
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
      throw std::invalid_argument(
          fmt::format("option '--{}' has no value\n  hint   a kernel's options are written --name value; "
                      "inlay COMMAND --help has the command's own",
                      name));
    }
    if (!flags.emplace(name, value).second)
      throw std::invalid_argument(fmt::format("option '--{}' is given twice", name));
  }
  return flags;
}

void add_order_options(CLI::App& command, kernels::BuildOptions& options) {
  command
      .add_option("--scheduler", options.scheduler, "Loop scheduler: modulo (default), or default for LLVM's")
      ->check(CLI::IsMember({"modulo", "default"}));
  command
      .add_option("--loops", options.loops,
                  "Ordered loops as LLVM IR (ir), as one block of assembly (asm), or by what their registers "
                  "need (auto)")
      ->check(CLI::IsMember({"auto", "ir", "asm"}));
}

void add_auto_options(CLI::App& command, AutoOptions& options) {
  command
      .add_option(
          "--auto", options.choose,
          "yes (default): options that change only speed are chosen for the sizes; no: their defaults")
      ->check(CLI::IsMember({"yes", "no"}))
      ->transform(CLI::Validator( // as the kernels' own switches are spelled
          [](std::string& text) {
            if (const auto on = kernels::yes_or_no(text)) text = *on ? "yes" : "no";
            return std::string();
          },
          ""));
  command.add_flag("--why", options.why, "Print the ranking from which the form was chosen");
}

bool names_sizes(const kernels::Kernel& kernel, const kernels::Flags& flags) {
  const std::vector<std::string> names = kernel.size_names();
  return !names.empty() && std::all_of(names.begin(), names.end(),
                                       [&](const std::string& name) { return flags.contains(name); });
}

kernels::ChooseOptions choose_options(const kernels::BuildOptions& build) {
  kernels::ChooseOptions how;
  how.build = build;
  how.build.validate = false;
  how.processes = std::min(4U, kernels::processors());
  return how;
}

Chosen chosen(const kernels::Kernel& kernel, const kernels::Flags& given, const AutoOptions& options,
              const kernels::BuildOptions& build) {
  const kernels::Flags flags = kernel.renamed(given);
  if (options.choose == "no") return {flags, {}};
  kernels::ChooseOptions how = choose_options(build);
  how.cache = !options.why; // which keeps no ranking
  Chosen out;
  out.choice = kernels::choose(kernel, flags, how);
  out.flags = kernels::with(flags, out.choice);
  return out;
}

Rows rows_of(const std::vector<kernels::Flags>& all) {
  kernels::Flags shared;
  if (all.size() > 1)
    for (const auto& option : all[0])
      if (std::all_of(all.begin(), all.end(), [&](const kernels::Flags& flags) {
            const auto found = flags.find(option.first);
            return found != flags.end() && found->second == option.second;
          }))
        shared.insert(option);
  Rows out{kernels::words(shared), {}};
  for (kernels::Flags flags : all) {
    std::erase_if(flags, [&](const auto& f) { return shared.contains(f.first); });
    out.each.push_back(kernels::words(flags));
  }
  return out;
}

std::string ranking_text(const kernels::Choice& choice) {
  if (choice.ranking.empty()) return "";
  std::vector<kernels::Flags> all;
  for (const kernels::Ranked& r : choice.ranking) all.push_back(r.form.options);
  const Rows rows = rows_of(all);
  std::string text = "    modelled   by bounds  form\n";
  std::size_t row = 0;
  for (const kernels::Ranked& r : choice.ranking)
    text +=
        fmt::format("  {:>10}  {:>10}  {}{}\n", r.modelled ? fmt::format("{:.0f}", r.modelled->clocks) : "-",
                    r.form.clocks > 0 ? fmt::format("{:.0f}", r.form.clocks) : "table", rows.each[row++],
                    r.refused.empty() ? "" : "  (" + r.refused + ")");
  if (!rows.shared.empty()) text += "    all of them " + rows.shared + "\n";
  return text;
}

nlohmann::ordered_json choice_json(const kernels::Choice& choice) {
  using From = kernels::Choice::From;
  nlohmann::ordered_json out = {{"options", choice.options},
                                {"clocks", choice.clocks},
                                {"forms", choice.considered},
                                {"modelled", choice.modelled},
                                {"from", choice.from == From::model     ? "model"
                                         : choice.from == From::disk    ? "disk"
                                         : choice.from == From::nothing ? "nothing"
                                                                        : "memory"},
                                {"why", choice.why}};
  if (!choice.table.empty()) out["nearest_in_table"] = choice.table;
  for (const kernels::Ranked& r : choice.ranking) {
    nlohmann::ordered_json one = {{"options", r.form.options}, {"bound", r.form.clocks}};
    if (r.modelled) one["clocks"] = r.modelled->clocks;
    if (!r.refused.empty()) one["refused"] = r.refused;
    out["ranking"].push_back(std::move(one));
  }
  return out;
}

std::string flags_text(const kernels::Kernel& kernel) {
  const std::vector<kernels::FlagHelp> flags = kernel.flags();
  std::size_t name = 0, value = 0;
  for (const kernels::FlagHelp& f : flags)
    name = std::max(name, f.name.size()), value = std::max(value, f.fallback.size());
  std::string text;
  for (const kernels::FlagHelp& f : flags) {
    text += fmt::format("  --{:<{}}  {:<{}}  {}\n", f.name, name, f.fallback, value, f.help);
    std::string second = f.range;
    if (!f.unchosen.empty()) second += fmt::format("; where sizes are not known {}", f.unchosen);
    if (!f.more.empty()) second += "; " + f.more;
    if (!f.former.empty()) second += "; formerly --" + f.former;
    // Lines of about 100 columns, and those that the row has of its own.
    const std::string indent(name + value + 8, ' ');
    for (std::size_t at = 0; at < second.size();) {
      std::size_t end = std::min(second.size(), at + 100 - std::min<std::size_t>(indent.size(), 60));
      if (const std::size_t own = second.find('\n', at); own <= end)
        end = own;
      else if (end < second.size())
        if (const std::size_t space = second.rfind(' ', end); space != std::string::npos && space > at)
          end = space;
      text += indent + second.substr(at, end - at) + "\n";
      at = end + (end < second.size() && (second[end] == ' ' || second[end] == '\n') ? 1 : 0);
    }
  }
  return text;
}

void add_kernel(CLI::App& command, std::string& name) {
  command.add_option("KERNEL", name, "A name that `inlay kernels` lists; its options follow")->required();
  command.footer([&name]() -> std::string {
    if (name.empty()) return "";
    const auto kernel = kernels::find_kernel(name);
    return fmt::format("{}: {}\n\n{}", kernel->name(), kernel->summary(), flags_text(*kernel));
  });
}

} // namespace inlay::cli
