#include "code_object_input.h"

#include <filesystem>
#include <inlay/algebra/nearest.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/runtime/names.h>
#include <nlohmann/json.hpp>

namespace inlay::cli {

namespace {

runtime::CodeObject code_object_of(const std::string& bytes, const std::string& file,
                                   const std::string& arch) {
  namespace isa = runtime::isa;
  const bool binary = bytes.starts_with("\177ELF") || bytes.starts_with("__CLANG_OFFLOAD_BUNDLE__") ||
                      bytes.starts_with("CCOB") || bytes.find('\0') != std::string::npos || bytes.empty();
  if (binary) return runtime::CodeObject::parse({bytes.begin(), bytes.end()}, arch);
  auto target = isa::target_of(bytes);
  if (!arch.empty()) {
    const isa::Arch asked = isa::parse_arch(arch);
    if (target && *target != asked)
      throw runtime::CodeObjectError(file + " is assembly for " + std::string(isa::to_string(*target)) +
                                         ", not for " + arch,
                                     "leave --arch out");
    target = asked;
  }
  if (!target)
    throw runtime::CodeObjectError(file + " is neither a code object nor assembly with a .amdgcn_target line",
                                   "for assembly without one, give --arch " + machine::names(" or "));
  return runtime::CodeObject::parse(isa::assemble_code_object(bytes, *target, file == "-" ? "stdin" : file));
}

/// What Triton's cache writes beside NAME.hsaco; nothing when the text is something else.
std::optional<nlohmann::json> triton_metadata(const std::string& text) {
  const auto j = nlohmann::json::parse(text, nullptr, false);
  if (!j.is_object() || !j.contains("shared") || !j.contains("num_warps") ||
      !j["shared"].is_number_unsigned() || !j["num_warps"].is_number_unsigned())
    return std::nullopt;
  return j;
}

SourceFile of_bundle(const std::string& bytes, const std::string& file, const std::string& arch,
                     const OfBundle& which) {
  namespace isa = runtime::isa;
  const auto bundle = launch::Bundle::parse({bytes.begin(), bytes.end()}, file);
  // As the bundle names it, or as C++ does.
  std::vector<std::string> symbols;
  for (const auto& entry : bundle.entries()) symbols.push_back(entry.kernel());
  const auto found = runtime::meant(which.kernel, symbols);
  for (const std::size_t i : found) // for several processors they have one name
    if (symbols[i] != symbols[found.front()])
      throw launch::LaunchError(file + ": '" + which.kernel + "' may mean several kernels",
                                runtime::demangled(symbols[found.front()]) + ", " +
                                    runtime::demangled(symbols[i]));
  const auto& e = bundle.find(found.empty() ? which.kernel : symbols[found.front()],
                              arch.empty() ? "" : std::string(to_string(isa::parse_arch(arch))));
  const auto& all = e.forms.forms();
  if (all.size() > 1 && !which.sizes)
    throw launch::LaunchError(file + ": " + e.kernel() + " has " + std::to_string(all.size()) + " forms",
                              "inlay bundle " + file + " --extract DIR writes each with its manifest");
  launch::Forms::Plan plan;
  if (which.sizes) plan = e.forms.plan(*which.sizes);
  SourceFile out{runtime::CodeObject::parse(e.code[plan.form], e.arch()), all[plan.form].manifest, 0,
                 std::nullopt};
  if (all.size() > 1) out.forms = e.forms, out.plan = std::move(plan);
  return out;
}

} // namespace

SourceFile read_source(Session& session, const std::string& file, const std::string& arch,
                       const OfBundle& which) {
  const std::string bytes = read_text(session, file);
  if (launch::Bundle::is_bundle(bytes)) return of_bundle(bytes, file, arch, which);
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (launch::is_manifest(bytes)) {
    auto manifest = launch::Manifest::parse(bytes, file);
    if (manifest.code.empty())
      throw launch::LaunchError(file + ": field \"code\": names no code object",
                                "\"code\": \"kernel.hsaco\"");
    const std::string code = (folder / manifest.code).string();
    auto object = code_object_of(read_text(session, code), code, arch.empty() ? manifest.arch : arch);
    return {std::move(object), std::move(manifest), 0, std::nullopt};
  }
  if (bytes.starts_with("{")) {
    if (const auto j = triton_metadata(bytes)) {
      const std::string code = std::filesystem::path(file).replace_extension(".hsaco").string();
      return {code_object_of(read_text(session, code), code, arch), std::nullopt,
              j->at("num_warps").get<std::uint32_t>() * 64, j->at("shared").get<std::uint32_t>()};
    }
  }
  return {code_object_of(bytes, file, arch), std::nullopt, 0, std::nullopt};
}

const runtime::Kernel& kernel_named(const runtime::CodeObject& object, const std::string& name) {
  if (object.kernels().empty() || (name.empty() && object.kernels().size() == 1)) return object.kernel(name);
  std::vector<std::string> symbols, known;
  for (const auto& k : object.kernels()) {
    symbols.push_back(k.name);
    for (std::string& s : runtime::spellings(k.name)) known.push_back(std::move(s));
  }
  const auto found = runtime::meant(name, symbols);
  if (found.size() == 1) return object.kernels()[found.front()];
  const auto listed = [&](const std::vector<std::string>& of) {
    std::string out;
    for (const std::string& s : of) {
      if (out.size() > 2000) return out + ", ...";
      out += (out.empty() ? "" : ", ") + runtime::demangled(s);
    }
    return out;
  };
  if (name.empty())
    throw runtime::CodeObjectError("holds " + std::to_string(symbols.size()) + " kernels",
                                   "choose one: " + listed(symbols));
  if (found.empty())
    throw runtime::CodeObjectError("holds no kernel named '" + name.substr(0, 200) + "'",
                                   did_you_mean(name, known) + "there are: " + listed(symbols));
  std::vector<std::string> of;
  for (const std::size_t i : found) of.push_back(symbols[i]);
  throw runtime::CodeObjectError("'" + name.substr(0, 200) + "' may mean " + std::to_string(of.size()) +
                                     " of its kernels",
                                 "with its arguments, or as the linker names it: " + listed(of));
}

runtime::CodeObject read_code_object(Session& session, const std::string& file, const std::string& arch) {
  return read_source(session, file, arch).object;
}

} // namespace inlay::cli
