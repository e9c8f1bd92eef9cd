/// The order of a loop that reads its operands in turn, each into the registers of the one before it. Private.
///
/// A tile's products go by quarters: upper or lower half of the rows by left or right half of the columns, each with all its steps.
/// Rows change each time, so what a quarter has read is free for at least one other before the next iteration wants it, and a read
/// stands in between: registers hold one tile of operands and no more. The tile in LDS is two parts, what the first quarter wants and the
/// rest, each with all that is wanted of A, B and their scales:
///
///     product   begin            middle              end                       begin of the next
///               |  first part     |  second part      |                         |
///     reads     | b b b b a a a a | a a a a b b b b   |                         |
///     transfers                   | to the first part . . . to the second part . . . . . .
///     waits     vm, barrier       vm, lgkm, barrier   lgkm, barrier
///
/// At `begin` the first part has arrived; at `middle` it is read and free, and the second part has arrived; at `end` that is free, too.
/// So a part is filled again within a trip of being read, transfers are spread over the whole trip, and each is under way for more
/// than a trip, with two stages. The model is the fp4 kernel of 256 x 256 in AITER (noBpreShuffle): 128 operand registers, three barriers.
///
/// Reads stand as far apart as LDS takes for them (128 bytes a clock, all waves), so that none waits for those before it, and are over a rest before
/// the wait for them. A read stands some products after the last one that uses its register: as many as the other half of a
/// staggered loop may be apart.
#pragma once

#include <inlay/codegen/code.h>

#include <optional>
#include <vector>

namespace inlay::codegen {

/// A loop of products, reads and transfers.
struct Turns {
  struct Read {
    int node, first, last; ///< and the numbers of the products that it feeds
  };
  struct Transfer {
    int write, load; ///< the two halves of one instruction
  };
  std::vector<int> products; ///< in their order
  std::vector<Read> reads;
  std::vector<Transfer> transfers;
  int clocks = 16; ///< of a product
  int rest = 8;    ///< products from the last read to the wait for it
};

/// Requires: Region::pipeline.ring is 2.
/// Ensures: LoopSchedule::parts; at each slot one tile of operands is alive at most.
/// Nothing where the reads of a half take longer than their registers are free.
[[nodiscard]] std::optional<LoopSchedule> read_in_turn(const Turns& turns, const Region& loop,
                                                       const std::vector<Register>& registers,
                                                       const Program& program);

} // namespace inlay::codegen
