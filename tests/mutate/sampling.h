/// What every program that changes things at random is asked on its command line.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>

namespace inlay::mutate {

struct Sampling {
  int sample;
  std::uint64_t seed = 1;
  bool verbose = false;

  void add_to(CLI::App& app) {
    app.add_option("--sample", sample, "How many")->capture_default_str();
    app.add_option("--seed", seed, "The same seed, the same sample")->capture_default_str();
    app.add_flag("--verbose", verbose, "What became of each");
  }
};

/// The exit status when the program is not to run: 0 after --help, 2 for bad arguments, with CLI11's message.
inline std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
}

} // namespace inlay::mutate
