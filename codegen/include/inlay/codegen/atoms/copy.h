/// `CopyAtom`: one load or store instruction, as width, alignment and layouts.
///
///     CopyAtom::buffer_load(target, 128).instruction   // buffer_load_dwordx4
///     CopyAtom::lds_dma(gfx942, 128)                   // CodegenError: gfx942 moves 8, 16 or 32 bits a lane
///
/// A lane moves `bits` adjacent bits, except that a transfer from memory to LDS puts the lanes of a wave side
/// by side in LDS, whatever their addresses in memory. Source and destination are layouts from (lane, bit) to
/// bits.
///
/// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide",
/// chapters on vector memory (MUBUF) and data share instructions.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/codegen/target.h>

#include <string>

namespace inlay::codegen {

struct CopyAtom {
  std::string instruction; ///< `ds_read_b128`
  int bits;                ///< that a lane moves
  int alignment;           ///< bytes of which the address in LDS, or in memory, must be a multiple
  Layout source; ///< (lane, bit) -> bit, where the instruction fixes it: (1,bits):(0,1) for one lane
  Layout destination;

  [[nodiscard]] int bytes() const { return bits / 8; }

  /// Memory to registers and back through a buffer descriptor: 16, 32, 64 or 128 bits.
  [[nodiscard]] static CopyAtom buffer_load(const Target& target, int bits);
  [[nodiscard]] static CopyAtom buffer_store(const Target& target, int bits);
  /// LDS to registers and back: 16, 32, 64 or 128 bits.
  [[nodiscard]] static CopyAtom lds_read(const Target& target, int bits);
  [[nodiscard]] static CopyAtom lds_write(const Target& target, int bits);
  /// Memory to LDS without registers: 32 bits; on gfx950 also 96 and 128.
  [[nodiscard]] static CopyAtom lds_dma(const Target& target, int bits);
};

} // namespace inlay::codegen
