// `inlay bundle -o kernels.inlay gemm.json softmax.json`: kernels for several processors with their manifests in one file.
#include "command.h"

#include <fmt/format.h>
#include <fstream>
#include <inlay/launch/bundle.h>
#include <inlay/runtime/code_object.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string output;
  bool json = false;
};

int bundle(Session& session, const Options& o) {
  std::vector<launch::Bundle::Entry> entries;
  for (const std::string& file : o.files) {
    const launch::Bundle one = launch::Bundle::read(file);
    for (const auto& e : one.entries()) {
      // What is packed can be launched: the code is for the processor, and has the kernel.
      (void)runtime::CodeObject::parse(e.code, e.manifest.arch).kernel(e.manifest.kernel);
      entries.push_back(e);
      entries.back().manifest.code.clear();
    }
  }
  const launch::Bundle all(std::move(entries));
  if (!o.output.empty()) {
    const auto bytes = all.bytes();
    std::ofstream out(o.output, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw std::runtime_error("cannot write '" + o.output + "'");
  }
  auto list = nlohmann::ordered_json::array();
  for (const auto& e : all.entries()) {
    if (o.json)
      list.push_back({{"kernel", e.manifest.kernel},
                      {"arch", e.manifest.arch},
                      {"bytes", e.code.size()},
                      {"manifest", nlohmann::ordered_json::parse(e.manifest.text())}});
    else
      session.out << fmt::format("{:<24}{:<8}{:>9} bytes\n", e.manifest.kernel, e.manifest.arch,
                                 e.code.size());
  }
  if (o.json) session.out << nlohmann::ordered_json{{"file", o.output}, {"kernels", list}}.dump(2) << "\n";
  return Exit::yes;
}

} // namespace

void add_bundle(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand(
      "bundle", "Pack kernels for several processors with their launch manifests into one file");
  auto o = std::make_shared<Options>();
  c->add_option("FILE", o->files, "Launch manifests with their code objects beside them, and bundles")
      ->required();
  c->add_option("-o,--output", o->output, "The bundle; without it, FILEs are listed");
  c->add_flag("--json", o->json, "As JSON, with the manifests");
  c->callback([=, &session] { session.exit = bundle(session, *o); });
}

} // namespace inlay::cli
