/// What is shown of a loop's slots, as text and as a picture. Private.
#pragma once

#include <inlay/codegen/schedule.h>

namespace inlay::codegen {

struct ShownSlot {
  const Inst* inst = nullptr;
  int clock = 0;  ///< of the matrix pipe, at its start
  int dwords = 0; ///< alive
  const char* resource = "";
  std::string iteration; ///< `j+1`; empty for waits and barriers
  std::string what;      ///< `lds_read lds_a (0, 32) v7`
};
struct ShownLoop {
  std::string title, sum;
  int clocks = 0, results = 0; ///< of the matrix pipe; dwords that live across trips
  std::vector<ShownSlot> slots;
};
[[nodiscard]] std::vector<ShownLoop> shown_loops(const Code& code);

} // namespace inlay::codegen
