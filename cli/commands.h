/// The table of commands: a new command is one line here, one file beside it, one line in CMakeLists.txt.
#pragma once

#include "command.h"

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
inline constexpr AddCommand commands[] = {
    add_completion,
    add_man,
    add_version,
#ifdef INLAY_CLI_ALGEBRA
    add_draw,
    add_eval,
    add_fuzz,
#endif
#ifdef INLAY_CLI_CODEGEN
    add_atoms,
#endif
#ifdef INLAY_CLI_SOLVER
    add_prove,
    add_recheck,
    add_search,
#endif
#ifdef INLAY_CLI_RUNTIME
    add_bundle,
    add_calibrate,
    add_compare,
    add_devices,
    add_exec,
    add_inspect,
    add_run_with,
    add_time,
    add_validate,
#endif
#ifdef INLAY_CLI_KERNELS
    add_kernels,
    add_build,
    add_run,
    add_bench,
    add_tune,
    add_audit,
    add_campaign,
#endif
};
// clang-format on

} // namespace inlay::cli
