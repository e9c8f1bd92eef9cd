// `inlay validate`: what machine code does in every schedule and for all sizes, without running it.
#include "code_object_input.h"
#include "exec_debug.h"
#include "isa_json.h"
#include "progress.h"
#include "verdict.h"

#include <inlay/machine/target.h>
#include <inlay/runtime/names.h>
#include <inlay/runtime/symbolic/order.h>

#ifdef INLAY_CLI_CLAIMS
#include "validate_kernel.h"

#include <inlay/algebra/nearest.h>
#include <inlay/validate/claims.h>
#include <inlay/validate/values_at_sizes.h>
#endif

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <ostream>

namespace inlay::cli {
namespace {

namespace symbolic = runtime::symbolic;
using runtime::isa::LineTable;

/// Of a code object: some seconds. The order of a kernel that is not decided by then is rarely decided later.
constexpr std::uint64_t default_budget = 5'000'000;

struct ValidateOptions {
  std::string file, kernel, arch, claims;
  std::vector<std::uint32_t> block;
  std::optional<std::uint32_t> lds;
  unsigned trips = 8;
  std::optional<std::uint64_t> budget;
  bool json = false, addresses = false;
#ifdef INLAY_CLI_CLAIMS
  ValidateKernel of_kernel; // a kernel's name
#endif
};

std::string path_text(const symbolic::Terms& t, const symbolic::OrderFinding& f) {
  std::string s;
  for (const auto& [condition, value] : f.path) {
    if (!s.empty()) s += ", ";
    s += (value ? "" : "not ") + t.text(condition, 6);
    if (s.size() > 400) return s + ", ...";
  }
  return s;
}

std::string witness_text(const symbolic::Terms& t, const symbolic::OrderFinding& f) {
  std::string s;
  for (const auto& [symbol, value] : f.witness)
    s += (s.empty() ? "" : ", ") + t.text(symbol) + " = " + std::to_string(value);
  return s;
}

/// The line of the program that an instruction was made from; nothing without debug information.
std::string source_text(const LineTable& lines, std::uint64_t address) {
  const auto at = lines.at(address);
  return at ? "  (" + to_string(*at) + ")" : "";
}

nlohmann::ordered_json finding_json(const symbolic::Terms& t, const LineTable& lines,
                                    const symbolic::OrderFinding& f) {
  nlohmann::ordered_json j = {
      {"kind", symbolic::to_string(f.kind)}, {"address", f.address},       {"text", f.text},
      {"other_address", f.other_address},    {"other_text", f.other_text}, {"wave", f.wave},
      {"other_wave", f.other_wave}};
  if (const auto at = lines.at(f.address)) j["source"] = to_json(*at);
  if (const auto at = lines.at(f.other_address)) j["other_source"] = to_json(*at);
  if (f.kind == symbolic::OrderKind::race) {
    j["lane"] = f.lane;
    j["other_lane"] = f.other_lane;
    j["lds_byte"] = f.byte;
  }
  if (f.kind == symbolic::OrderKind::bounds) {
    j["lane"] = f.lane;
    j["lds_byte"] = f.byte;
  }
  j["conditional"] = f.conditional;
  j["message"] = f.message;
  j["path"] = path_text(t, f);
  j["sizes"] = nlohmann::ordered_json::object();
  for (const auto& [symbol, value] : f.witness) j["sizes"][t.text(symbol)] = value;
  return j;
}

int validate(Session& session, const ValidateOptions& given) {
  const auto source = read_source(session, given.file, given.arch);
  const auto& object = source.object;
  ValidateOptions o = given;
  // A description of the launch says what was not given; validation is for all sizes that its grid may have.
  if (source.manifest) {
    if (o.kernel.empty()) o.kernel = source.manifest->kernel;
    if (o.block.empty()) o.block.assign(source.manifest->block.begin(), source.manifest->block.end());
    if (!o.lds) o.lds = source.manifest->lds;
  }
  if (o.block.empty() && source.triton_block != 0) o.block = {source.triton_block, 1, 1};
  if (!o.lds) o.lds = source.triton_lds;
  std::vector<const runtime::Kernel*> chosen;
  if (!o.kernel.empty())
    chosen.push_back(&kernel_named(object, o.kernel));
  else
    for (const auto& k : object.kernels()) chosen.push_back(&k);
  if (chosen.empty()) (void)object.kernel(""); // says that there is none
#ifdef INLAY_CLI_CLAIMS
  std::optional<kernels::validate::Claims> claims;
  if (!o.claims.empty()) {
    claims = kernels::validate::Claims::parse(read_text(session, o.claims));
    for (const auto* k : chosen) kernels::validate::check_names(*k, *claims);
  }
#endif
  const LineTable lines = LineTable::read(object);
  int exit = Exit::yes;
  auto list = nlohmann::ordered_json::array();
  for (const auto* k : chosen) {
    symbolic::OrderOptions options;
    options.trips = o.trips;
    options.dynamic_lds = o.lds.value_or(0);
    if (!o.block.empty())
      options.block = {o.block[0], o.block.size() > 1 ? o.block[1] : 1, o.block.size() > 2 ? o.block[2] : 1};
#ifdef INLAY_CLI_CLAIMS
    if (claims) options.read_only = claims->unchanged;
    options.check_stores = true;
#endif
    const auto begin = std::chrono::steady_clock::now();
    ProgressBar bar(session, "validate " + runtime::short_name(k->name));
    options.budget = o.budget.value_or(default_budget);
    std::uint64_t taken = 0;
    options.progress = [&](std::uint64_t steps) {
      taken += steps;
      bar.show(static_cast<double>(taken) /
                   static_cast<double>(options.budget != 0 ? options.budget : 20'000'000),
               std::to_string(taken / 1000) + " thousand steps");
    };
    const auto r = symbolic::check_order(object, *k, options, o.addresses || !o.claims.empty());
    bar.erase();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    int status = exit_of(r.verdict);
    auto claimed = nlohmann::ordered_json::array();
    std::string claimed_text;
#ifdef INLAY_CLI_CLAIMS
    if (claims) {
      const auto& section = object.sections()[k->section];
      const auto program =
          runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
      std::size_t shown = 0;
      kernels::validate::ClaimOptions how; // what the order has left of the budget, where one is given
      if (o.budget.value_or(0) != 0) how.budget = options.budget > taken ? options.budget - taken : 1;
      how.progress = [&, of_order = taken](std::uint64_t steps) {
        bar.show(static_cast<double>(of_order + steps) /
                     static_cast<double>(options.budget != 0 ? options.budget : 20'000'000),
                 std::to_string((of_order + steps) / 1000) + " thousand steps");
      };
      auto results = kernels::validate::check_claims(r, program, *k, *claims, how);
      bar.erase();
      if (!claims->values.empty()) {
        kernels::validate::ValueOptions at;
        if (!o.block.empty()) at.block = {options.block.x, options.block.y, options.block.z};
        at.dynamic_lds = o.lds.value_or(0);
        at.ordered = r.verdict == symbolic::Verdict::validated;
        for (auto& v : kernels::validate::check_values(object, *k, *claims, at))
          results.push_back(std::move(v));
      }
      for (const auto& c : results) {
        if (c.verdict == symbolic::Verdict::refuted) status = Exit::no;
        if (c.verdict == symbolic::Verdict::undecided && status == Exit::yes) status = Exit::undecided;
        claimed.push_back({{"claim", c.claim},
                           {"address", c.address},
                           {"text", c.instruction},
                           {"verdict", symbolic::to_string(c.verdict)},
                           {"wave", c.wave},
                           {"lane", c.lane},
                           {"message", c.message}});
        if (const auto at = lines.at(c.address); at && !c.instruction.empty())
          claimed.back()["source"] = to_json(*at);
        shown += c.verdict == symbolic::Verdict::validated ? 1 : 0;
        if (c.verdict == symbolic::Verdict::validated && c.claim.starts_with("inside")) continue;
        const bool validated = c.verdict == symbolic::Verdict::validated;
        claimed_text += fmt::format(
            "  {}{}: {}{}\n    {}\n", c.claim,
            c.instruction.empty()
                ? ""
                : fmt::format(" at {:#x} {}{}", c.address, c.instruction, source_text(lines, c.address)),
            painted(session, c.verdict),
            validated || c.instruction.empty() ? "" : fmt::format(", wave {} lane {}", c.wave, c.lane),
            c.message);
      }
      claimed_text = fmt::format("  {} of {} claims validated\n", shown, results.size()) + claimed_text;
    }
#endif
    if (status == Exit::no || exit == Exit::yes) exit = status;
    if (o.json) {
      nlohmann::ordered_json j = kernel_json(k->name);
      j["verdict"] = symbolic::to_string(r.verdict);
      j["findings"] = nlohmann::ordered_json::array();
      for (const auto& f : r.findings) j["findings"].push_back(finding_json(*r.terms, lines, f));
      j["notes"] = nlohmann::ordered_json::array();
      for (const auto& f : r.notes) j["notes"].push_back(finding_json(*r.terms, lines, f));
      j["undecided"] = r.undecided;
      j["waves"] = r.waves;
      j["paths"] = r.paths;
      j["loops"] = r.loops;
      j["instructions"] = r.instructions;
      j["steps"] = r.steps;
      j["lds_sites"] = r.lds_sites;
      j["global_sites"] = r.global_sites;
      if (!o.claims.empty()) j["claims"] = std::move(claimed);
      j["seconds"] = seconds;
      list.push_back(std::move(j));
      continue;
    }
    session.out << fmt::format("{}: order {}\n", runtime::demangled(k->name), painted(session, r.verdict));
    session.out << fmt::format(
        "  {} waves, {} paths, {} loops by invariant, {} LDS instructions, {} pairs compared, {:.2f} s\n",
        r.waves, r.paths, r.loops, r.lds_sites, r.pairs, seconds);
    for (const auto& f : r.findings) {
      session.out << fmt::format(
          "  {}{}: {}\n    at    {:#x}  {}{}\n    after {:#x}  {}{}\n", symbolic::to_string(f.kind),
          f.conditional ? " (no launch that shows it is known)" : "", f.message, f.address, f.text,
          source_text(lines, f.address), f.other_address, f.other_text, source_text(lines, f.other_address));
      if (!f.path.empty()) session.out << "    path  " << path_text(*r.terms, f) << "\n";
      if (!f.witness.empty()) session.out << "    for   " << witness_text(*r.terms, f) << "\n";
    }
    session.out << claimed_text;
    for (const auto& reason : r.undecided) session.out << "  undecided: " << reason << "\n";
    if (!r.notes.empty())
      session.out << fmt::format("  {} notes about wait states, the first: {} at {:#x} {}\n", r.notes.size(),
                                 r.notes[0].message, r.notes[0].address, r.notes[0].text);
    if (o.addresses) {
      for (const auto& a : r.accesses) {
        session.out << fmt::format("  {:#x} wave {} visit {}", a.instruction, a.wave, a.visit);
        for (unsigned l = 0; l < 2; ++l)
          if (a.lanes[l].guard != 0)
            session.out << "  [" << l << "] " << r.terms->text(a.lanes[l].address, 7)
                        << (a.lanes[l].records != 0 ? " of " + r.terms->text(a.lanes[l].records, 7) : "")
                        << (r.terms->value(a.lanes[l].guard) == 1
                                ? ""
                                : " if " + r.terms->text(a.lanes[l].guard, 7));
        session.out << "\n";
      }
    }
  }
  if (o.json)
    session.out << dump({{"file", o.file}, {"arch", object.arch()}, {"kernels", std::move(list)}}) << "\n";
  return exit;
}

} // namespace

void add_validate(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand(
      "validate", "Machine code in every schedule and for all sizes: order of LDS, registers and barriers");
  auto o = std::make_shared<ValidateOptions>();
  command
      ->add_option(
          "FILE", o->file,
          "HSACO, relocatable object, offload bundle or assembly; - is standard input. Or a name that `inlay "
          "kernels` lists, with its options: machine code against the kernel's instructions")
      ->type_name("FILE or KERNEL")
      ->required();
  command->add_option("--kernel", o->kernel, "Only this kernel");
  command->add_option("--arch", o->arch,
                      machine::names(" or ") + ": which of a bundle, or what assembly is for");
  command
      ->add_option("--block", o->block,
                   "Work-items of a workgroup, X,Y,Z; default: what the kernel requires or its most")
      ->delimiter(',')
      ->expected(1, 3);
  command->add_option("--lds", o->lds, "Bytes of dynamic LDS")->check(CLI::Range(0, 163840));
  command
      ->add_option("--trips", o->trips,
                   "Iterations of a loop that are executed before its invariant is looked for")
      ->check(CLI::Range(5, 64));
#ifdef INLAY_CLI_CLAIMS
  command->add_option("--claims", o->claims,
                      "File with facts, the grid, sizes of buffers, expected accesses, and what is stored as "
                      "an index expression");
#endif
#ifdef INLAY_CLI_CLAIMS
  command->add_option(
      "--code", o->of_kernel.code,
      "With a kernel's name: the machine code; default: what `build` makes with these options");
  add_order_options(*command, o->of_kernel.build);
  add_auto_options(*command, o->of_kernel.automatic);
  command->allow_extras();
#endif
  command->add_option(
      "--budget", o->budget,
      "Steps of about a microsecond, the same on every machine, after which the verdict is undecided; 0: as "
      "many as it takes, as for a kernel's name. Default: 5000000 for each kernel of a file");
  command->add_flag("--addresses", o->addresses, "Also what each memory instruction accesses, as formulas");
  command->add_flag("--json", o->json, "As JSON");
  command->callback([=, &session] {
#ifdef INLAY_CLI_CLAIMS
    if (is_kernel(o->file) && !std::filesystem::exists(o->file)) {
      std::vector<std::string> options = command->remaining();
      if (!o->block.empty()) { // one of the kernel's own, or none
        options.emplace_back("--block");
        options.push_back(fmt::format("{}", fmt::join(o->block, ",")));
      }
      ValidateKernel& k = o->of_kernel;
      k.name = o->file, k.function = o->kernel, k.arch = o->arch;
      k.budget = o->budget.value_or(0), k.json = o->json;
      session.exit = validate_kernel(session, k, options);
      return;
    }
    if (o->file != "-" && !std::filesystem::exists(o->file)) {
      std::vector<std::string> known;
      for (const auto& k : kernels::registry()) known.emplace_back(k->name());
      if (const std::string hint = did_you_mean(o->file, known); !hint.empty())
        throw std::invalid_argument(
            fmt::format("validate: there is no file '{}', and no kernel of this name\n  hint   {}", o->file,
                        hint.substr(0, hint.size() - 1)));
    }
    std::string foreign = command->remaining().empty() ? "" : command->remaining()[0];
    for (const char* name : {"--code", "--scheduler", "--loops", "--auto", "--why"})
      if (command->count(name) != 0) foreign = name;
    if (!foreign.empty())
      throw std::invalid_argument(fmt::format("'{}' belongs to a kernel's name, and '{}' is none\n  hint   a "
                                              "file is validated for all sizes; inlay kernels lists names",
                                              foreign, o->file));
#endif
    session.exit = validate(session, *o);
  });
}

} // namespace inlay::cli
