/// What the engine calls when a launch is looked into (inlay/runtime/debug.h). None of it is called otherwise.
#pragma once

#include "engine.h"

namespace inlay::runtime::emulator {

/// Errors: std::invalid_argument for a breakpoint that is no instruction, a watch outside memory.
void check_debug(const Launch& launch);
/// Before the wave executes its current operation.
void report_breakpoints(Wave& wave);
/// A lane is about to read or write `bytes` bytes that are at `at`.
void note_access(Wave& wave, bool lds, u64 address, unsigned bytes, unsigned lane, bool is_write,
                 const u8* at);
/// The accesses noted so far have been performed.
void finish_access(Wave& wave);

} // namespace inlay::runtime::emulator
