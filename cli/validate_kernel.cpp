#include "validate_kernel.h"

#include "build_manifest.h"
#include "code_object_input.h"
#include "exec_arguments.h"
#include "isa_json.h"
#include "progress.h"
#include "verdict.h"

#include <inlay/codegen/target.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/switches.h>
#include <inlay/validate/code.h>

#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ostream>

namespace inlay::cli {
namespace {

namespace symbolic = runtime::symbolic;

/// What the machine code is held against.
struct Form {
  kernels::Flags flags;
  kernels::BuildOptions build;
  kernels::Choice choice;
  std::string manifest; ///< that says so; empty: none does
};

/// What the manifest says that code was made from: FILE itself, or the .json beside it that is about a file of this name.
std::optional<launch::Made> made_of(const std::string& file, const std::optional<launch::Manifest>& read,
                                    std::string& which) {
  which = file;
  if (read) return read->made;
  const std::filesystem::path beside = std::filesystem::path(file).replace_extension(".json");
  which = beside.string();
  std::ifstream in(beside, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!launch::is_manifest(text)) return {};
  const auto manifest = launch::Manifest::parse(text, which);
  if (std::filesystem::path(manifest.code).stem() != beside.stem()) return {};
  return manifest.made;
}

/// The same word for what options take in several ones.
std::string canonical(const std::string& option, const std::string& value) {
  if (option == "arch") return std::string(codegen::Target::named(value).name);
  const std::optional<bool> on = kernels::yes_or_no(value);
  return on ? *on ? "yes" : "no" : value;
}

/// Errors: where what is asked for is not what the code was made from.
Form form_of(const kernels::Kernel& kernel, const ValidateKernel& o, const kernels::Flags& asked,
             const launch::Made& made, std::string manifest) {
  const auto other = [&](const std::string& is, const std::string& hint) {
    refuse(fmt::format("{} was made {}, as {} says", o.code, is, manifest), hint);
  };
  if (made.kernel != kernel.name()) other("from " + made.kernel, "inlay validate " + made.kernel);
  const kernels::Flags all = with_fallbacks(kernel, made.options);
  for (const auto& [option, value] : asked) {
    if (value == "auto") continue;
    const auto found = all.find(option);
    if (found == all.end()) continue; // the build says that there is no such option
    if (canonical(option, found->second) != canonical(option, value))
      other(fmt::format("with --{} {}", option, found->second),
            fmt::format("without --{} {}: what it was made with is taken from there", option, value));
  }
  const kernels::BuildOptions usual;
  if (o.build.scheduler != usual.scheduler && o.build.scheduler != made.scheduler)
    other("with --scheduler " + made.scheduler, "without --scheduler");
  if (o.build.loops != usual.loops && o.build.loops != made.loops)
    other("with --loops " + made.loops, "without --loops");
  Form out{asked, usual, {}, std::move(manifest)};
  for (const auto& [option, value] : made.options) out.flags[option] = value;
  out.build.scheduler = made.scheduler, out.build.loops = made.loops;
  return out;
}

/// Errors: where a launch of the code would be another one than the form's, so that it is code of something else.
void check_same_launch(const std::string& file, const runtime::Kernel& given, const runtime::Kernel& built) {
  const auto other = [&](const std::string& what, const std::string& is, const std::string& wanted) {
    refuse(
        fmt::format("{} is of another form or kernel: {} {}, where the form that it is held against has {}",
                    file, what, is, wanted),
        "the options that it was built with, or the manifest beside it; without sizes `inlay build` takes "
        "no form by auto");
  };
  const auto number = [](std::uint32_t n) { return std::to_string(n); };
  if (given.max_flat_workgroup_size != built.max_flat_workgroup_size)
    other("work-items of a workgroup", number(given.max_flat_workgroup_size),
          number(built.max_flat_workgroup_size));
  if (given.descriptor.lds_bytes != built.descriptor.lds_bytes)
    other("bytes of LDS", number(given.descriptor.lds_bytes), number(built.descriptor.lds_bytes));
  const auto arguments = [&](const runtime::Kernel& k) {
    std::string text;
    for (const runtime::KernelArgument& a : k.arguments)
      if (!a.hidden())
        text += fmt::format("{}{} at {}", text.empty() ? "" : ", ",
                            a.pointer() ? "a pointer" : number(a.size) + " bytes", a.offset);
    return text.empty() ? "none" : text;
  };
  if (given.has_metadata && built.has_metadata && arguments(given) != arguments(built))
    other("arguments", arguments(given), arguments(built));
}

} // namespace

bool is_kernel(const std::string& name) {
  for (const auto& k : kernels::registry())
    if (k->name() == name) return true;
  return false;
}

int validate_kernel(Session& session, const ValidateKernel& o, const std::vector<std::string>& rest) {
  const auto kernel = kernels::find_kernel(o.name);
  kernels::Flags asked = read_flags(rest);
  if (!o.arch.empty()) asked["arch"] = o.arch;
  asked = kernel->renamed(asked);
  std::optional<SourceFile> file;
  std::optional<launch::Made> made;
  std::string manifest;
  if (!o.code.empty()) {
    file = read_source(session, o.code, o.arch);
    made = made_of(o.code, file->manifest, manifest);
  }
  Form form{asked, o.build, {}, ""};
  if (made) {
    form = form_of(*kernel, o, asked, *made, manifest);
  } else if (names_sizes(*kernel, asked)) { // as `build` does
    Chosen c = chosen(*kernel, asked, o.automatic, o.build);
    form.flags = std::move(c.flags), form.choice = std::move(c.choice);
  }
  const kernels::Artifact artifact = kernels::build(*kernel, form.flags, form.choice, form.build);
  if (artifact.source == nullptr) throw std::runtime_error(o.name + ": its build does not keep the program");
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
  auto built = runtime::CodeObject::parse({bytes, bytes + artifact.hsaco.size()});
  const runtime::Kernel of_build = built.kernel(artifact.kernel);
  const runtime::CodeObject object = file ? std::move(file->object) : std::move(built);
  if (object.arch() != artifact.arch)
    throw std::runtime_error(fmt::format("{} is for {}, the kernel for {}\n  hint   --arch {}", o.code,
                                         object.arch(), artifact.arch, object.arch()));
  const runtime::Kernel& function = kernel_named(object, o.function.empty() ? artifact.kernel : o.function);
  if (file) check_same_launch(o.code, function, of_build);
  const std::clock_t begin = std::clock(); // processor time, which a busy machine changes least
  ProgressBar bar(session, "validate " + o.name);
  kernels::validate::CodeOptions how;
  how.budget = o.budget;
  how.progress = [&](std::uint64_t steps) {
    const double whole = how.budget != 0 ? static_cast<double>(how.budget) : 2e7;
    bar.show(static_cast<double>(steps) / whole, std::to_string(steps / 1000) + " thousand steps");
  };
  const auto r = kernels::validate::validate_code(object, function, artifact.source->code, how);
  bar.erase();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const int status = exit_of(r.verdict);
  if (o.json) {
    nlohmann::ordered_json j = {
        {"kernel", artifact.kernel},
        {"arch", artifact.arch},
        {"form", kernels::words(form.flags)},
        {"choice", form.choice.why.empty() ? nlohmann::ordered_json() : choice_json(form.choice)},
        {"verdict", symbolic::to_string(r.verdict)},
        {"order", symbolic::to_string(r.order)},
        {"loads", r.loads},
        {"stores", r.stores},
        {"matrix_products", r.products},
        {"elements_loaded", r.elements_loaded},
        {"elements_stored", r.elements_stored},
        {"paths", r.paths},
        {"loops", r.loops}};
    j["refuted"] = nlohmann::ordered_json::array();
    for (const auto& f : r.refuted) {
      nlohmann::ordered_json sizes = nlohmann::ordered_json::object();
      for (const auto& [name, value] : f.sizes) sizes[name] = value;
      j["refuted"].push_back({{"address", f.address},
                              {"text", f.text},
                              {"source", f.source},
                              {"wave", f.wave},
                              {"lane", f.lane},
                              {"message", f.message},
                              {"sizes", std::move(sizes)}});
    }
    j["undecided"] = r.undecided;
    j["steps"] = r.steps;
    j["seconds"] = seconds;
    session.out << dump(j) << "\n";
    return status;
  }
  session.out << fmt::format("{} for {}: machine code {}\n", artifact.kernel, artifact.arch,
                             painted(session, r.verdict))
              << (form.choice.why.empty() ? "" : "  auto: " + form.choice.why + "\n")
              << (o.automatic.why && !form.choice.ranking.empty() ? ranking_text(form.choice) : "")
              << (form.manifest.empty() ? ""
                                        : fmt::format("  against the form that {} names: {}\n", form.manifest,
                                                      kernels::words_that_tell(*kernel, form.flags)));
  session.out << fmt::format(
      "  order {}; {} loads, {} stores, {} matrix instructions; {} elements loaded and {} stored "
      "compared on one path\n  {} paths, {} loops by induction, {:.2f} s\n",
      painted(session, r.order), r.loads, r.stores, r.products, r.elements_loaded, r.elements_stored, r.paths,
      r.loops, seconds);
  for (const auto& f : r.refuted) {
    std::string sizes;
    for (const auto& [name, value] : f.sizes)
      sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", name, value);
    session.out << fmt::format("  refuted at {:#x}  {}{}, wave {} lane {}\n    {}\n", f.address, f.text,
                               f.source.empty() ? "" : "  (" + f.source + ")", f.wave, f.lane, f.message);
    if (!sizes.empty()) session.out << "    for   " << sizes << "\n";
  }
  for (const auto& reason : r.undecided)
    session.out << (r.refuted.empty() ? "  undecided: " : "  also not shown: ") << reason << "\n";
  if (status != Exit::yes && !o.code.empty() && form.manifest.empty())
    session.out
        << "  note      another form of the kernel is not validated, either; the manifest that `inlay "
           "build` writes beside its code says which one it is\n";
  return status;
}

} // namespace inlay::cli
