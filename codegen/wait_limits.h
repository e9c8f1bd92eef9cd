/// The largest counts that s_waitcnt waits for. The counters have 6 and 4 bits and stop at 63 and 15; of a wait for as many, which is none,
/// nothing says that what was issued first is in its registers, so that LLVM waits for one less (SIInsertWaitcnts), and so do we.
#pragma once

namespace inlay::codegen {

inline constexpr int most_vm = 62, most_lgkm = 14;

} // namespace inlay::codegen
