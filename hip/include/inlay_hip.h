/**
 * What libamdhip64 on the emulator has beside HIP's own calls: for programs and scripts that open it themselves. `inlay run-with` says the
 * same by the environment (INLAY_HIP_ARCH, INLAY_HIP_CHECK, ...; docs/hip.md), and is what unchanged programs need.
 * Functions that return int return 0, or an error of HIP; inlay_hip_error says more.
 */
#ifndef INLAY_HIP_H
#define INLAY_HIP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** New, empty devices of that processor (`MI300X`, `MI355X`): what was allocated and loaded is gone, and its handles are those
 * of nothing else; devices that are shared (inlay_hip_share) stay, and another processor is refused. `checks` as for --check; `seeds`: runs
 * under stress after each launch; `threads` of the emulator, 0 for all; `dump`: a folder for code objects, buffers and manifests,
 * or NULL. INLAY_HIP_DEVICES devices, 1 when that is not set. */
int inlay_hip_open(const char* arch, const char* checks, unsigned seeds, unsigned threads, const char* dump);
/** The devices that are open where they are of that processor, else new ones where none are; NULL: of any. For users that share a process:
 * nothing that was loaded is disturbed, and inlay_hip_open keeps it from then on. Refused: another processor than that of the devices. */
int inlay_hip_share(const char* arch);
/** Whether inlay_hip_open or inlay_hip_share was called: the process asked for an emulator, and HIP did not find one as its device. */
int inlay_hip_asked(void);
/** A flag of hipHostRegister: nobody but launches accesses the memory while one is under way. A launch that checks bounds gets a copy of what it has
 * as an argument where other memory lies so near that an overrun could end there, and gives back what it changed. */
#define INLAY_HIP_LAUNCHES_ONLY 0x80000000u
/** What was launched since the last call, as a JSON list; valid until the next call. */
const char* inlay_hip_report(void);
/** The text of this thread's last failure. */
const char* inlay_hip_error(void);
/** A launch in which a check finds a defect fails, with hipErrorLaunchFailure. */
int inlay_hip_fail_on_finding(int yes);
/** The host wrote these bytes without a call. */
int inlay_hip_written(void* at, size_t bytes);
/** Sums of matrix instructions: "sequential" or "cdna3". */
int inlay_hip_matrix(const char* arithmetic);
/** A launch with the whole argument segment given. */
int inlay_hip_launch(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                     unsigned bz, unsigned lds, const void* segment, size_t bytes);
/** Kernel number `n` of a module, or NULL. */
const char* inlay_hip_kernel_name(void* module, unsigned n);

#ifdef __cplusplus
}
#endif

#endif
