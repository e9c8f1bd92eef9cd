/// What one global memory instruction of a wave costs: cache lines touched, against the least possible.
///
/// A vector memory instruction moves up to 16 bytes for each of 64 lanes. The address unit gathers the lanes into
/// requests by cache line, so that the number of *distinct lines* is what the instruction pays for: 64 lanes of 16
/// bytes are 1024 bytes and at best 8 lines of 128 bytes; in rows of 64 bytes they are 16, at half the rate. An access
/// is *coalesced* when no lane's vector is torn and no other placement of the same bytes would touch fewer lines.
///
///     lane -> (row lane / 8, 16-byte chunk lane % 8) of rows of K elements of 2 bytes, "((8,8),8):((8,K),1)":
///     prove_coalesced("((8,8),8):((8,K),1)", 2, "MI300X", 0, {"K % 64 == 0"}) is proved, 8 lines of 8
///
/// Line size: 128 bytes of vector L1 on both, "AMD CDNA 3 Architecture" white paper (2023), Cache and Memory
/// Hierarchy, and "Introducing AMD CDNA 4 Architecture" (2025), likewise. Segments: the L2 takes writes of 64 bytes a
/// channel and clock (the same papers) and counts its requests to memory in 32, 64 and 128 bytes (ROCm, "MI300 and MI200
/// series performance counters and metrics", TCC_EA0_RDREQ_32B, TCC_EA0_WRREQ_64B, TCC_BUBBLE); segments are reported,
/// not judged.
#pragma once

#include <inlay/solver/prove.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace inlay::solver {

struct GlobalMemory {
  std::string_view arch;
  unsigned line_bytes;    ///< of the vector L1 and the L2
  unsigned segment_bytes; ///< of a write to the L2
};

/// CDNA3 and CDNA4. Errors: QuestionError listing them.
[[nodiscard]] const GlobalMemory& global_memory(std::string_view arch);

struct WaveAccess {
  unsigned lines = 0, least_lines = 0;       ///< distinct lines; ceil(distinct bytes / line)
  unsigned segments = 0, least_segments = 0; ///< the same in segments
  unsigned lane_run =
      0; ///< bytes from a lane's first element on that are contiguous, the least over the lanes
  unsigned wave_run = 0; ///< bytes of the longest run in which each lane continues the one before
  int torn_lane = -1;    ///< a lane whose elements are not contiguous; -1: none
  int torn_value = 0;    ///< the element of it that leaves the run
  int break_lane = -1;   ///< the first lane that does not continue the one before; -1: none
};

/// `address(lane, value)` is the byte at which element `value` of `lane` begins. 64 lanes of 8 two-byte elements at
/// 16*lane + 2*value: 8 lines, least 8, runs of 16 and 1024 bytes.
[[nodiscard]] WaveAccess wave_access(const GlobalMemory& memory,
                                     const std::function<std::int64_t(unsigned, unsigned)>& address,
                                     unsigned lanes, unsigned values, unsigned element_bytes);

/// A maps (lane, value, instance...) to offsets in elements of `element_bytes`; a rank-1 A has one value a lane. For
/// every instance: each lane's values are contiguous and the wave touches the least number of lines, or no more than
/// `lines` when that is not 0. A symbolic base is a summand, its alignment a fact:
/// `"base o (64,4):(4,1)"` with `"base % 128 == 0"`.
/// Errors: QuestionError for more than 64 lanes and for vectors of other than 1, 2, 4, 8, 12 or 16 bytes.
[[nodiscard]] Verdict prove_coalesced(const Subject& a, unsigned element_bytes, std::string_view arch,
                                      unsigned lines = 0, const Facts& facts = {},
                                      const Options& options = {});

} // namespace inlay::solver
