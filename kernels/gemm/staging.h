/// How a GEMM's tiles come to the registers that multiply them: by LDS or past it, A and B and scales of 32 k. Private.
#pragma once

#include "../staged.h"
#include "parts.h"

namespace inlay::kernels::gemm {

/// Tiles of A or B, rows x tile_k.
class Operand {
public:
  using Where = std::source_location; ///< the kernel's line

  /// `staged`: by LDS, where its name is `lds`; `turned`: stored along its rows, and transposed on the way; `tv`: what of a tile a work-item
  /// multiplies.
  Operand(Program& k, const GemmSpec& s, const std::string& lds, int rows, bool staged, bool turned,
          const Layout& tv);
  /// A tile of memory to LDS; nothing of an operand that goes past it.
  void copy(const View& from, Where where = Where::current()) const;
  /// What a work-item multiplies of the tile.
  [[nodiscard]] Fragment load(const View& from, Where where = Where::current()) const;

private:
  Program& k_;
  int rows_, vector_;
  Layout tv_;
  Staged staged_;
  std::optional<TransposedTile> turned_;
  std::optional<Tensor> lds_;
};

/// Their scales of 32 k, rows x tile_k / 32: where several waves want them they go by LDS, and come from memory once for all.
class OperandScales {
public:
  using Where = std::source_location;

  /// Rows of so many `waves`, each of which `sharing` waves want.
  OperandScales(Program& k, const GemmSpec& s, const std::string& lds, int rows, int waves, int sharing,
                const Layout& tv);
  void copy(const View& from, Where where = Where::current()) const;
  [[nodiscard]] Fragment load(const View& from, Where where = Where::current()) const;

private:
  Program& k_;
  int rows_, columns_, waves_, threads_;
  Layout tv_;
  std::optional<Tensor> lds_;
};

} // namespace inlay::kernels::gemm
