/// What `exec` prints of a launch, as text and as JSON.
#pragma once

#include <inlay/runtime/emulator.h>
#include <nlohmann/json.hpp>

namespace inlay::cli {

[[nodiscard]] nlohmann::ordered_json to_json(const runtime::Finding& finding);
[[nodiscard]] nlohmann::ordered_json to_json(const runtime::LaunchStatistics& statistics);
[[nodiscard]] std::string stats_text(const runtime::LaunchStatistics& statistics);
/// The LDS instructions with bank conflicts that cost most; all of them in JSON.
[[nodiscard]] std::string conflicts_text(const std::vector<runtime::LdsConflict>& all);
[[nodiscard]] nlohmann::ordered_json conflicts_json(const std::vector<runtime::LdsConflict>& all);
/// Which executed instructions are not exact, and why.
[[nodiscard]] std::string fidelity_text(const std::vector<runtime::InstructionFidelity>& all);
[[nodiscard]] nlohmann::ordered_json fidelity_json(const std::vector<runtime::InstructionFidelity>& all);

} // namespace inlay::cli
