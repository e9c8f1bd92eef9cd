// `inlay bundle -o kernels.inlay gemm.json softmax.json`: kernels for several processors with their manifests in one file.
#include "aiter_files.h"
#include "command.h"
#include "write_all.h"

#include <filesystem>
#include <fmt/format.h>
#include <inlay/launch/bundle.h>
#include <inlay/runtime/code_object.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

struct BundleOptions {
  std::vector<std::string> files;
  std::string output, directory, aiter;
  bool json = false;
};

/// In a bundle a manifest names no code object.
launch::Manifest without_file(launch::Manifest m) {
  m.code.clear();
  return m;
}

/// Each form with its manifest: `gemm.json`, or of several `gemm.gfx950.2.json`.
void extract(const launch::Bundle& all, const std::string& directory) {
  for (const auto& e : all.entries())
    for (std::size_t f = 0; f < e.code.size(); ++f) {
      const bool only = all.entries().size() == 1 && e.code.size() == 1;
      const std::string name = only ? e.kernel()
                                    : fmt::format("{}.{}{}", e.kernel(), e.arch(),
                                                  e.code.size() == 1 ? "" : fmt::format(".{}", f));
      launch::Manifest m = e.forms.forms()[f].manifest;
      m.code = name + ".hsaco";
      write_all(directory,
                {{m.code, std::string(e.code[f].begin(), e.code[f].end())}, {name + ".json", m.text()}});
    }
}

/// As AITER keeps its kernels, where a function's name is in a table once.
void export_aiter(const launch::Bundle& all, const std::string& directory) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& e : all.entries()) {
    if (e.code.size() > 1)
      throw std::invalid_argument(fmt::format(
          "bundle: --aiter: {} for {} has {} forms, and AITER's tables have a function of one name once\n"
          "  hint   inlay bundle FILE --extract DIR, and one of the manifests there",
          e.kernel(), e.arch(), e.code.size()));
    for (auto& file : aiter_files(e.forms.general(), e.code[0])) files.push_back(std::move(file));
  }
  for (auto& [name, contents] : files)
    write_one(std::filesystem::path(directory) / name, std::move(contents));
}

int bundle(Session& session, const BundleOptions& o) {
  std::vector<launch::Bundle::Entry> entries;
  for (const std::string& file : o.files) {
    const launch::Bundle one = launch::Bundle::read(file);
    for (const auto& e : one.entries()) {
      // What is packed can be launched: the code is for the processor, has the kernel, and that has these arguments.
      for (std::size_t f = 0; f < e.code.size(); ++f) {
        (void)runtime::CodeObject::parse(e.code[f], e.arch()).kernel(e.kernel());
        e.forms.forms()[f].manifest.check_code(e.code[f]);
      }
      entries.push_back(e);
      if (e.forms.ranges().empty()) entries.back() = {without_file(e.forms.general()), e.code[0]};
    }
  }
  const launch::Bundle all(std::move(entries));
  if (!o.output.empty()) {
    const auto bytes = all.bytes();
    write_one(o.output, {bytes.begin(), bytes.end()});
  }
  if (!o.directory.empty()) extract(all, o.directory);
  if (!o.aiter.empty()) export_aiter(all, o.aiter);
  auto list = nlohmann::ordered_json::array();
  for (const auto& e : all.entries()) {
    std::size_t bytes = 0;
    for (const auto& code : e.code) bytes += code.size();
    const bool several = e.code.size() > 1;
    if (o.json) {
      nlohmann::ordered_json one = {{"kernel", e.kernel()}, {"arch", e.arch()}, {"bytes", bytes}};
      if (several)
        one["table"] = nlohmann::ordered_json::parse(e.forms.table_text());
      else
        one["manifest"] = nlohmann::ordered_json::parse(e.forms.general().text());
      list.push_back(std::move(one));
      continue;
    }
    session.out << fmt::format("{:<24}{:<8}{:>9} bytes{}\n", e.kernel(), e.arch(), bytes,
                               several ? fmt::format(", {} forms", e.code.size()) : "");
    for (std::size_t r = 0; several && r <= e.forms.rows().size(); ++r)
      session.out << "  " << e.forms.why(r) << "\n";
  }
  if (o.json) session.out << nlohmann::ordered_json{{"file", o.output}, {"kernels", list}}.dump(2) << "\n";
  return Exit::yes;
}

} // namespace

void add_bundle(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand(
      "bundle", "Pack kernels for several processors with their launch manifests into one file");
  auto o = std::make_shared<BundleOptions>();
  c->add_option("FILE", o->files, "Launch manifests with their code objects beside them, and bundles")
      ->required();
  c->add_option("-o,--output", o->output, "The bundle; without it, FILEs are listed");
  c->add_option("--extract", o->directory,
                "Write each kernel, and each of its forms, with its launch manifest into this directory");
  c->add_option(
      "--aiter", o->aiter,
      "Write each kernel into this directory as AITER keeps its own: hsa/ARCH/KERNEL/KERNEL.co, the row of a "
      "table (.csv), and a C++ header with the structure of its arguments, grid and block");
  c->add_flag("--json", o->json, "As JSON, with the manifests");
  c->callback([=, &session] { session.exit = bundle(session, *o); });
}

} // namespace inlay::cli
