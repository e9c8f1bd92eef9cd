#include "built.h"
#include "progress.h"

#ifdef INLAY_CLI_CLAIMS
#include <inlay/kernels/build.h>
#include <inlay/validate/code.h>
#endif

#include <chrono>
#include <fmt/format.h>
#include <stdexcept>

namespace inlay::cli {

void add_validate_options(CLI::App& command, ValidateOptions& options) {
  auto* full =
      command.add_flag("--validate", options.full,
                       "Validate the machine code until it is decided; an error when it is not validated");
  command
      .add_flag("--no-validate", options.none,
                "Skip validation. Without either option: within a budget, and what is refuted is an error")
      ->excludes(full);
  command
      .add_option("--budget", options.budget,
                  "Steps of that budget, a few microseconds each; the same verdict on every machine")
      ->check(at_least(1))
      ->capture_default_str();
}

#ifdef INLAY_CLI_CLAIMS
Validated validate_built(Session& session, const kernels::Artifact& artifact,
                         const ValidateOptions& options) {
  using runtime::symbolic::Verdict;
  Validated out;
  if (options.none || artifact.source == nullptr) return out;
  out.asked = true;
  const auto begin = std::chrono::steady_clock::now();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + artifact.hsaco.size()});
  ProgressBar bar(session, "validate " + artifact.kernel);
  kernels::validate::CodeOptions how;
  if (!options.full) {
    how.budget = options.budget;
    how.refuter_runs = how.first_runs; // more of them are for those who ask
  }
  how.progress = [&](std::uint64_t steps) {
    bar.show(static_cast<double>(steps) / static_cast<double>(options.full ? 20'000'000 : options.budget),
             fmt::format("{} thousand steps", steps / 1000));
  };
  const auto r =
      kernels::validate::validate_code(object, object.kernel(artifact.kernel), artifact.source->code, how);
  bar.erase();
  out.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  out.validated = r.verdict == Verdict::validated;
  out.steps = r.steps;
  if (!r.undecided.empty()) out.missing = r.undecided.front();
  if (out.validated || (!options.full && r.verdict == Verdict::undecided)) return out;
  std::string why;
  for (const auto& f : r.refuted) {
    why += fmt::format("\n  {:#x}  {}{}, wave {} lane {}\n    {}", f.address, f.text,
                       f.source.empty() ? "" : "  (" + f.source + ")", f.wave, f.lane, f.message);
    std::string sizes;
    for (const auto& [name, value] : f.sizes)
      sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", name, value);
    if (!sizes.empty()) why += "\n    for   " + sizes;
  }
  for (const auto& u : r.undecided) why += "\n  " + u;
  throw std::invalid_argument(fmt::format(
      "{}: machine code {}{}\n  hint   --no-validate builds it all the same{}", artifact.kernel,
      runtime::symbolic::to_string(r.verdict), why,
      r.refuted.empty() ? "" : "; it does something else than what was proven: please report it"));
}
#else
Validated validate_built(Session&, const kernels::Artifact&, const ValidateOptions&) { return {}; }
#endif

std::string to_text(const Validated& v) {
  if (!v.asked) return "machine code not validated";
  if (v.validated) return fmt::format("machine code validated in {:.0f} ms", v.milliseconds);
  return "machine code not refuted, and not validated: " + v.missing;
}

nlohmann::ordered_json to_json(const Validated& v) {
  if (!v.asked) return nullptr;
  nlohmann::ordered_json out = {{"verdict", v.validated ? "validated" : "undecided"},
                                {"steps", v.steps},
                                {"milliseconds", v.milliseconds}};
  if (!v.validated) out["missing"] = v.missing;
  return out;
}

} // namespace inlay::cli
