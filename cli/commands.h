/// The table of commands: a new command is one line here, one file beside it, one line in CMakeLists.txt.
#pragma once

#include "command.h"

#include <string_view>

namespace inlay::cli {

#define INLAY_COMMAND(name) void add_##name(CLI::App& app, Session& session)
INLAY_COMMAND(completion);
INLAY_COMMAND(man);
INLAY_COMMAND(version);
#ifdef INLAY_CLI_ALGEBRA
INLAY_COMMAND(draw);
INLAY_COMMAND(eval);
INLAY_COMMAND(fuzz);
#endif
#ifdef INLAY_CLI_CODEGEN
INLAY_COMMAND(atoms);
#endif
#ifdef INLAY_CLI_SOLVER
INLAY_COMMAND(prove);
INLAY_COMMAND(recheck);
INLAY_COMMAND(search);
#endif
#ifdef INLAY_CLI_RUNTIME
INLAY_COMMAND(bundle);
INLAY_COMMAND(calibrate);
INLAY_COMMAND(compare);
INLAY_COMMAND(devices);
INLAY_COMMAND(exec);
INLAY_COMMAND(inspect);
INLAY_COMMAND(run_with);
INLAY_COMMAND(time);
INLAY_COMMAND(validate);
#endif
#ifdef INLAY_CLI_KERNELS
INLAY_COMMAND(kernels);
INLAY_COMMAND(build);
INLAY_COMMAND(run);
INLAY_COMMAND(bench);
INLAY_COMMAND(tune);
INLAY_COMMAND(audit);
INLAY_COMMAND(campaign);
#endif
#undef INLAY_COMMAND

// clang-format off
struct NamedCommand {
  std::string_view name;
  AddCommand add;
};
inline constexpr NamedCommand commands[] = {
    {"completion", add_completion},
    {"man", add_man},
    {"version", add_version},
#ifdef INLAY_CLI_ALGEBRA
    {"draw", add_draw},
    {"eval", add_eval},
    {"fuzz", add_fuzz},
#endif
#ifdef INLAY_CLI_CODEGEN
    {"atoms", add_atoms},
#endif
#ifdef INLAY_CLI_SOLVER
    {"prove", add_prove},
    {"recheck", add_recheck},
    {"search", add_search},
#endif
#ifdef INLAY_CLI_RUNTIME
    {"bundle", add_bundle},
    {"calibrate", add_calibrate},
    {"compare", add_compare},
    {"devices", add_devices},
    {"exec", add_exec},
    {"inspect", add_inspect},
    {"run-with", add_run_with},
    {"time", add_time},
    {"validate", add_validate},
#endif
#ifdef INLAY_CLI_KERNELS
    {"kernels", add_kernels},
    {"build", add_build},
    {"run", add_run},
    {"bench", add_bench},
    {"tune", add_tune},
    {"audit", add_audit},
    {"campaign", add_campaign},
#endif
};
// clang-format on

} // namespace inlay::cli
