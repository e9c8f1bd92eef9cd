/// What `inlay run-with` says of the launches of a program: text, JSON, JUnit XML, SARIF.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace inlay::cli {

/// One launch, as libamdhip64 on the emulator reports it, and what `--time` adds.
using Launch = nlohmann::ordered_json;

/// Findings that are no notes, errors, and differences under stress.
[[nodiscard]] std::size_t defects_of(const Launch& launch);
/// Per kernel how often it ran; then each finding once, with the launch that showed it first.
[[nodiscard]] std::string report_text(const std::vector<Launch>& launches);
[[nodiscard]] std::string report_json(const std::vector<Launch>& launches, const std::string& command,
                                      int status);
/// A test case a launch. Source: the schema of JUnit's XML as Jenkins and GitLab read it.
[[nodiscard]] std::string report_junit(const std::vector<Launch>& launches, const std::string& command);
/// Findings at source lines. Source: OASIS "Static Analysis Results Interchange Format (SARIF)" 2.1.0.
[[nodiscard]] std::string report_sarif(const std::vector<Launch>& launches);
/// By the name: .xml is JUnit, .sarif SARIF, .json JSON, others text.
[[nodiscard]] std::string report_for(const std::string& file, const std::vector<Launch>& launches,
                                     const std::string& command, int status);

} // namespace inlay::cli
