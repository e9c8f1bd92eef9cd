// `inlay build KERNEL [options] -o DIR`: HSACO, launch manifest, .ll, .s, proof report and resource report as files.
#include "build_forms.h"
#include "build_manifest.h"
#include "built.h"
#include "exec_arguments.h"
#include "hipblaslt_file.h"
#include "kernel_options.h"
#include "orders.h"
#include "resources.h"
#include "write_all.h"

#include <inlay/codegen/schedule.h>
#include <inlay/kernels/build.h>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <memory>
#include <ostream>

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The claims that each operation gives, in the order of the program's text; -1 for those of the whole.
std::string claims_by_operation(const kernels::ProofReport& proofs) {
  std::map<int, std::string> by;
  for (const kernels::ProofItem& item : proofs.items())
    by[item.op] += fmt::format("    {:<18} {}  [{}]\n", item.verdict, item.claim, item.method);
  std::string out;
  for (const auto& [op, text] : by)
    out += (op < 0 ? std::string("  of the whole\n") : fmt::format("  of operation {}\n", op)) + text;
  return out;
}

int show_program(Session& session, const kernels::Artifact& artifact, bool json) {
  if (json) {
    Json claims = Json::array();
    for (const kernels::ProofItem& i : artifact.proofs.items())
      claims.push_back({{"operation", i.op},
                        {"line", i.line},
                        {"claim", i.claim},
                        {"subject", i.subject},
                        {"verdict", i.verdict},
                        {"method", i.method}});
    session.out << Json{{"kernel", artifact.kernel},
                        {"arch", artifact.arch},
                        {"program", artifact.program},
                        {"code", artifact.code},
                        {"claims", claims},
                        {"order", orders_json(orders_of(artifact))}}
                       .dump(2)
                << "\n";
  } else {
    session.out << artifact.program << "\ninstructions\n"
                << artifact.code << "\nclaims\n"
                << claims_by_operation(artifact.proofs) << "\norder of sums\n"
                << orders_table(orders_of(artifact));
  }
  return Exit::yes;
}

/// Every level of what a kernel goes through, numbered: `diff -r` of two of them shows where they part.
void dump_levels(const kernels::Artifact& artifact, const fs::path& directory) {
  write_all(directory, {{"00-program.txt", artifact.program},
                        {"01-graph.txt", codegen::expand(artifact.source->program).text()},
                        {"02-schedule.txt", artifact.schedule},
                        {"03-code.txt", artifact.code},
                        {"04-ir.ll", artifact.ir},
                        {"05-assembly.s", artifact.assembly}});
}

/// Errors: std::invalid_argument for sizes that were given and that no launch of the kernel takes.
void check_sizes(const kernels::Kernel& kernel, const kernels::Flags& flags,
                 const kernels::Artifact& artifact) {
  if (names_sizes(kernel, flags)) {
    (void)artifact.contract.plan(kernel.sizes(flags));
    return;
  }
  for (const auto& size : artifact.contract.sizes) { // of which only some were given
    std::string option = size.name;
    std::replace(option.begin(), option.end(), '_', '-');
    const auto given = flags.find(flags.contains(option) ? option : size.name);
    const auto v = given == flags.end() ? std::nullopt : parse_number<std::int64_t>(given->second);
    if (v && (*v < size.least || *v > size.most || *v % size.multiple != 0))
      refuse(fmt::format("{}: {} = {}", artifact.kernel, size.name, *v),
             fmt::format("{} to {}, a multiple of {}", size.least, size.most, size.multiple));
  }
}

/// The numbers of `64x32x128`, of an option as it was chosen, or as it is without sizes.
std::vector<int> numbers_of(const kernels::Kernel& kernel, const Chosen& form, const std::string& option) {
  const kernels::Flags flags = kernels::with(kernel.renamed(form.flags), form.choice);
  std::string text = flags.contains(option) ? flags.at(option) : "auto";
  for (const kernels::FlagHelp& f : kernel.flags())
    if (f.name == option && text == "auto") text = f.unchosen.empty() ? f.range : f.unchosen;
  std::vector<int> out;
  for (std::size_t at = 0; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    out.push_back(std::stoi(text.substr(at, end - at)));
    at = end + (end < text.size() && text[end] == 'x' ? 1 : 0);
    if (end < text.size() && text[end] != 'x') break;
  }
  return out;
}

int build_command(Session& session, const std::string& name, const std::vector<std::string>& rest,
                  const std::string& directory, const std::string& dump, const std::string& hipblaslt,
                  bool program, bool slots, const std::string& svg, const kernels::BuildOptions& options,
                  const AutoOptions& automatic, const ValidateOptions& validate, const FormsOptions& forms,
                  bool json) {
  if (!svg.empty() && !slots) refuse("build: --svg draws the schedule", "--schedule --svg " + svg);
  const auto kernel = kernels::find_kernel(name);
  if (!forms.ranges.empty()) {
    if (!dump.empty() || program || slots)
      refuse("build: --dump, --program and --schedule show one form, and --for builds several",
             "the same with --m, .. in place of --for");
    if (automatic.choose == "no")
      refuse("build: --for chooses forms, and --auto no chooses none", "one of them");
    return build_forms(session, *kernel, read_flags(rest), forms, directory, options, validate, json);
  }
  if (forms.set()) refuse("build: --forms, --most and --points belong to --for", "--for m=1..4096");
  // For sizes that are named a form of the kernel is chosen; without them it is one that is sound for all.
  Chosen form{read_flags(rest), {}};
  if (!hipblaslt.empty()) {
    if (name != "gemm")
      refuse("build: --hipblaslt is of the kernel gemm", "inlay build gemm --hipblaslt " + hipblaslt);
    form.flags.merge(hipblaslt_flags()); // what is given stays
  }
  if (names_sizes(*kernel, form.flags)) form = chosen(*kernel, form.flags, automatic, options);
  const kernels::Artifact artifact = kernels::build(*kernel, form.flags, form.choice, options);
  check_sizes(*kernel, form.flags, artifact);
  if (!dump.empty()) dump_levels(artifact, dump);
  if (slots) {
    if (!svg.empty()) write_one(svg, codegen::schedule_svg(artifact.source->code));
    if (json) {
      session.out
          << Json{{"kernel", artifact.kernel}, {"arch", artifact.arch}, {"schedule", artifact.schedule}}.dump(
                 2)
          << "\n";
    } else {
      session.out << artifact.schedule;
    }
    return Exit::yes;
  }
  if (program) return show_program(session, artifact, json);
  if (!hipblaslt.empty()) {
    const auto [file, text] =
        hipblaslt_file(artifact, numbers_of(*kernel, form, "tile"), numbers_of(*kernel, form, "waves"));
    write_all(hipblaslt, {{file + ".s", text}});
  }
  const Validated validated = validate_built(session, artifact, validate);
  const std::string hsaco(reinterpret_cast<const char*>(artifact.hsaco.data()), artifact.hsaco.size());
  const Resources needs = resources_of(artifact);
  const std::string resources = resources_text(needs) + "\n";
  const codegen::SumOrders orders = orders_of(artifact);
  const std::string proofs = artifact.proofs.text() + orders_table(orders);
  launch::Manifest manifest = manifest_of(artifact, name + ".hsaco", with_fallbacks(*kernel, form.flags));
  manifest.made = made_from(*kernel, form.flags, options);
  write_all(directory, {{name + ".hsaco", hsaco},
                        {name + ".json", manifest.text()},
                        {name + ".ll", artifact.ir},
                        {name + ".s", artifact.assembly},
                        {name + ".proofs.txt", proofs},
                        {name + ".resources.txt", resources}});
  if (json) {
    session.out << Json{{"kernel", artifact.kernel},
                        {"arch", artifact.arch},
                        {"choice", form.any() ? choice_json(form.choice) : Json()},
                        {"file", (fs::path(directory) / (name + ".hsaco")).string()},
                        {"manifest", (fs::path(directory) / (name + ".json")).string()},
                        {"bytes", hsaco.size()},
                        {"proofs",
                         {{"proved", artifact.proofs.proved()},
                          {"runtime_checked", artifact.proofs.at_launch_count()}}},
                        {"order", orders_json(orders)},
                        {"validation", to_json(validated)},
                        {"resources", resources_json(needs)},
                        {"from_cache", artifact.from_cache},
                        {"milliseconds",
                         {{"proofs", artifact.times.layouts_and_proofs},
                          {"ir", artifact.times.ir},
                          {"optimisation", artifact.times.opt},
                          {"code generation", artifact.times.codegen},
                          {"link", artifact.times.link}}}}
                       .dump(2)
                << "\n";
    return Exit::yes;
  }
  session.out << fmt::format("{}/{}.hsaco  {} bytes, {}{}\n", directory, name, hsaco.size(), artifact.arch,
                             artifact.from_cache ? ", from the cache" : "")
              << (form.choice.why.empty() ? "" : "  auto: " + form.choice.why + "\n")
              << (form.any() && automatic.why ? ranking_text(form.choice) : "")
              << fmt::format("  {} claims proved, {} checked at launch ({}.proofs.txt)\n",
                             artifact.proofs.proved(), artifact.proofs.at_launch_count(), name)
              << "  " << orders_text(orders, 2) << "\n"
              << "  " << to_text(validated) << "\n"
              << "  " << resources
              << fmt::format("  layouts and proofs {:.1f} ms, IR {:.1f}, optimisation {:.1f}, code "
                             "generation {:.1f}, link {:.1f}\n",
                             artifact.times.layouts_and_proofs, artifact.times.ir, artifact.times.opt,
                             artifact.times.codegen, artifact.times.link);
  if (needs.scratch_bytes > 0)
    session.err << fmt::format(
        "warning: {} spills {} bytes a work-item to scratch\n  hint   a smaller tile, or more waves\n", name,
        needs.scratch_bytes);
  return Exit::yes;
}

} // namespace

void add_build(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand(
      "build", "Build a kernel: HSACO, launch manifest, .ll, .s, proof report, resource report");
  auto name = std::make_shared<std::string>(), directory = std::make_shared<std::string>(".");
  add_kernel(*command, *name);
  command->add_option("-o,--output", *directory,
                      "Directory for the files; with --for the file, KERNEL.inlay if it is a directory");
  auto dump = std::make_shared<std::string>();
  command->add_option(
      "--dump", *dump,
      "Also every level as a file in this directory: 00-program, 01-graph, 02-schedule, 03-code, "
      "04-ir, 05-assembly; `diff -r` compares two of them");
  auto hipblaslt = std::make_shared<std::string>();
  command->add_option(
      "--hipblaslt", *hipblaslt,
      "Of gemm: also the assembly of a custom kernel of hipBLASLt in this directory, with that "
      "library's arguments and their description");
  auto program = std::make_shared<bool>(false), json = std::make_shared<bool>(false);
  command->add_flag("--program", *program,
                    "Print the program, its instructions and the claims that each operation gives");
  auto slots = std::make_shared<bool>(false);
  command->add_flag("--schedule", *slots,
                    "Print the loops as slots: instruction, iteration, waits, registers");
  auto svg = std::make_shared<std::string>();
  command->add_option("--svg", *svg, "With --schedule: also as a picture, in this file");
  auto options = std::make_shared<kernels::BuildOptions>();
  add_order_options(*command, *options);
  auto automatic = std::make_shared<AutoOptions>();
  add_auto_options(*command, *automatic);
  command->add_flag("--json", *json, "The same as data");
  auto validate = std::make_shared<ValidateOptions>();
  add_validate_options(*command, *validate);
  auto forms = std::make_shared<FormsOptions>();
  add_forms_options(*command, *forms);
  command->allow_extras();
  command->callback([=, &session] {
    session.exit = build_command(session, *name, command->remaining(), *directory, *dump, *hipblaslt,
                                 *program, *slots, *svg, *options, *automatic, *validate, *forms, *json);
  });
}

} // namespace inlay::cli
