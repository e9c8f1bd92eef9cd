// `inlay build KERNEL [options] -o DIR`: HSACO, .ll, .s, proof report and resource report as files.
#include "kernel_options.h"
#include "resources.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <ostream>
#include <unistd.h>

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

/// All files or none: they are written beside their place and renamed when every one of them is whole.
void write_all(const fs::path& directory, const std::vector<std::pair<std::string, std::string>>& files) {
  fs::create_directories(directory);
  std::vector<std::pair<fs::path, fs::path>> moves;
  try {
    for (const auto& [name, text] : files) {
      const fs::path target = directory / name,
                     temporary = directory / fmt::format(".{}.{}", name, ::getpid());
      moves.emplace_back(temporary, target);
      std::ofstream stream(temporary, std::ios::binary);
      stream.write(text.data(), static_cast<std::streamsize>(text.size()));
      stream.close();
      if (!stream) throw std::runtime_error(fmt::format("cannot write '{}'", target.string()));
    }
    for (const auto& [temporary, target] : moves) fs::rename(temporary, target);
  } catch (...) {
    std::error_code ignored;
    for (const auto& [temporary, target] : moves) fs::remove(temporary, ignored);
    throw;
  }
}

int build_command(Session& session, const std::string& name, const std::vector<std::string>& rest,
                  const std::string& directory) {
  const auto kernel = kernels::find_kernel(name);
  const kernels::Artifact artifact = kernel->build(read_flags(rest), {.assembly = true});
  const std::string hsaco(reinterpret_cast<const char*>(artifact.hsaco.data()), artifact.hsaco.size());
  const std::string resources = resources_text(resources_of(artifact)) + "\n";
  const std::string proofs = artifact.proofs.text();
  write_all(directory, {{name + ".hsaco", hsaco},
                        {name + ".ll", artifact.ir},
                        {name + ".s", artifact.assembly},
                        {name + ".proofs.txt", proofs},
                        {name + ".resources.txt", resources}});
  session.out << fmt::format("{}/{}.hsaco  {} bytes, {}\n", directory, name, hsaco.size(), artifact.arch)
              << fmt::format("  {} claims proved, {} checked at launch ({}.proofs.txt)\n",
                             artifact.proofs.proved(), artifact.proofs.at_launch_count(), name)
              << "  " << resources
              << fmt::format("  layouts and proofs {:.1f} ms, IR {:.1f}, optimisation {:.1f}, code "
                             "generation {:.1f}, link {:.1f}\n",
                             artifact.times.layouts_and_proofs, artifact.times.ir, artifact.times.opt,
                             artifact.times.codegen, artifact.times.link);
  return Exit::yes;
}

} // namespace

void add_build(CLI::App& app, Session& session) {
  auto* command =
      app.add_subcommand("build", "Build a kernel: HSACO, .ll, .s, proof report, resource report");
  auto name = std::make_shared<std::string>(), directory = std::make_shared<std::string>(".");
  command->add_option("KERNEL", *name, "A name that `inlay kernels` lists; its options follow")->required();
  command->add_option("-o,--output", *directory, "Directory for the files");
  command->allow_extras();
  command->callback(
      [=, &session] { session.exit = build_command(session, *name, command->remaining(), *directory); });
}

} // namespace inlay::cli
