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
/// Bytes of scratch a lane and registers that were spilled there, as `192 bytes a lane, 3 VGPR and 0 SGPR spilled`.
[[nodiscard]] std::string scratch_text(const runtime::Kernel& kernel);
/// The instructions that reach scratch most often; all of them in JSON.
[[nodiscard]] std::string scratch_text(const std::vector<runtime::ScratchUse>& all);
[[nodiscard]] nlohmann::ordered_json scratch_json(const std::vector<runtime::ScratchUse>& all);

/// Which executed instructions are not exact, and why.
[[nodiscard]] std::string fidelity_text(const std::vector<runtime::InstructionFidelity>& all);
[[nodiscard]] nlohmann::ordered_json fidelity_json(const std::vector<runtime::InstructionFidelity>& all);

} // namespace inlay::cli
