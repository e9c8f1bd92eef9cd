// A kernel on the emulator with every sanitizer on: what a test of what kernels compute starts with.
#pragma once

#include "inlay_command.h"
#include "launch.h"

#include <inlay/kernels/build.h>

#include <catch2/catch.hpp>

#include <cstring>

/// Launches and expects silence.
inline std::vector<inlay::kernels::Bytes>
launch(const inlay::kernels::Artifact& kernel, const inlay::kernels::Problem& problem, bool stress = false) {
  inlay::runtime::EmulatorOptions strict;
  strict.checks = inlay::runtime::Checks::all();
  strict.stress = stress;
  const auto device = inlay::cli::open_device("emulator", kernel.arch, strict);
  inlay::cli::LoadedProblem loaded(*device, kernel, problem);
  loaded.launch();
  std::vector<inlay::kernels::Bytes> after = loaded.read();
  for (const auto& finding : dynamic_cast<inlay::runtime::EmulatorDevice&>(*device).last_launch().findings)
    FAIL_CHECK(inlay::runtime::to_string(finding));
  return after;
}

inline void expect_right(const inlay::kernels::Artifact& kernel, const inlay::kernels::Problem& problem,
                         bool stress = false) {
  INFO(kernel.arch << ": " << problem.text);
  const inlay::kernels::Check check = problem.check(launch(kernel, problem, stress));
  INFO(check.message);
  CHECK(check.ok);
}

/// The first buffer that a kernel leaves, as `count` numbers; it reads `input` from the second.
template <class Result, class Input>
std::vector<Result> first_of(const inlay::kernels::Artifact& kernel, const std::vector<Input>& input,
                             const std::vector<std::int64_t>& sizes, std::size_t count) {
  inlay::kernels::Bytes in(sizeof(Input) * input.size());
  std::memcpy(in.data(), input.data(), in.size());
  const auto device = inlay::kernels::open_device("emulator", kernel.arch);
  const auto after =
      inlay::kernels::run(*device, kernel, {inlay::kernels::Bytes(sizeof(Result) * count), in}, sizes);
  std::vector<Result> out(count);
  std::memcpy(out.data(), after[0].data(), after[0].size());
  return out;
}

/// `inlay run ARGUMENTS...`, with the form that stands without sizes where no other is given: choosing has tests of its own.
inline Ran inlay_run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  arguments.insert(arguments.end(), {"--auto", "no"});
  return inlay_command(arguments);
}
