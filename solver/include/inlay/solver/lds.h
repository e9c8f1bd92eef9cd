/// The LDS of CDNA3 and CDNA4: which lanes an instruction serves together, and what a bank conflict costs.
///
/// A DS instruction of one wave takes several *phases*; in each phase a fixed group of lanes is served. The
/// phase takes one LDS clock when no bank has to deliver two different dwords, and as many as the most
/// demanded bank otherwise. Lanes that want the same dword share it. Which lanes form a group depends on
/// architecture, direction and width, is not "consecutive lanes", and decides verdicts: ds_read_b128 on
/// CDNA3 serves {0-3, 20-23} together, and 128 + 16 bytes of row padding, conflict-free for consecutive
/// groups, is 2-way there. So it is data here, with its source:
///
///     measured  on MI300X (nod-ai/amd-shark-ai, docs/empirical-lds) and MI355X (HazyResearch/HipKittens,
///               analysis/paper_experiments/phases)
///     assumed   consecutive lanes filling the bandwidth, where nobody published a measurement; the verdict says so
///
/// Banks are 4 bytes wide: bank(a) = a / 4 mod banks; "AMD Instinct MI300 ISA (CDNA3) Reference Guide",
/// chapter 11 (Data Share), and "AMD Instinct CDNA4 ISA Reference Guide", the same chapter.
#pragma once

#include <inlay/solver/error.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::solver {

struct LdsAccess {
  std::string_view arch;      ///< a name of `machine::targets`
  std::string_view direction; ///< "read" or "write"
  unsigned bytes;             ///< that the banks deliver per lane: 4, 8, 12, 16; 4 for bytes and halves, too
  unsigned banks;
  std::vector<std::vector<unsigned>> phases; ///< lanes served together
  bool measured;
  std::string_view source;
  unsigned alignment = 0; ///< of an address: 1 and 2 for bytes and halves, 4 for b96, the width otherwise
};

/// Every access of the table.
[[nodiscard]] std::span<const LdsAccess> lds_accesses();

/// The model of an instruction: `ds_read_b128`, `ds_write_b64`, `ds_read_u16` (served as b32, aligned to 2),
/// `ds_read_b64_tr_b16` (CDNA4, served as ds_read_b64). Errors: QuestionError listing what there is.
[[nodiscard]] const LdsAccess& lds_access(std::string_view instruction, std::string_view arch);

/// What one instruction costs at given addresses.
struct LdsConflicts {
  unsigned degree = 1;         ///< of the worst phase: 1 is conflict-free, 8 takes eight clocks
  unsigned clocks = 0;         ///< summed over phases; phases.size() when conflict-free
  std::vector<unsigned> lanes; ///< lanes of the worst phase that meet in the worst bank
  unsigned bank = 0;
  int misaligned_lane = -1; ///< a lane whose address is not a multiple of `alignment`, -1 if none
};

/// `address(lane)` in bytes for the lanes of one wave; lanes at or beyond `lanes` are idle. A phase of idle lanes
/// takes no clock (assumed).
/// 64 lanes reading 16 bytes at 16*lane on CDNA3: degree 1, 8 clocks.
[[nodiscard]] LdsConflicts lds_conflicts(const LdsAccess& access,
                                         const std::function<std::int64_t(unsigned)>& address,
                                         unsigned lanes = 64);

} // namespace inlay::solver
