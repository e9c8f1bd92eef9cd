// What forms a GEMM does not have: tiles, waves, instructions, stages.
#include "parts.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace inlay::kernels::gemm {

void check_form(const GemmSpec& s, const Target& target) {
  const bool doubles = s.in == Element::f64, wide = bits(s.in) >= 32;
  if (doubles && s.mfma != 16) refuse("mfma", std::to_string(s.mfma), "16 rows: f64 has no other");
  if (s.mfma != 16 && s.mfma != 32) refuse("mfma", std::to_string(s.mfma), "16 or 32 rows");
  const int waves = s.waves_m * s.waves_n;
  if (s.waves_m < 1 || s.waves_n < 1 || waves > 16 || !std::has_single_bit(static_cast<unsigned>(waves)))
    refuse("waves", fmt::format("{} x {}", s.waves_m, s.waves_n), "1, 2, 4, 8 or 16 waves altogether");
  const int row = s.tile_k * bits(s.in) / 8;
  if (wide ? row != 64 && row != 128 && row != 256
           : s.tile_k != 32 && s.tile_k != 64 && s.tile_k != 128 && s.tile_k != 256 &&
                 (bits(s.in) >= 8 || s.tile_k != 512))
    refuse("tile_k", std::to_string(s.tile_k),
           is_mx(s)  ? bits(s.in) < 8 ? "256 or 512" : "256"
           : doubles ? "8, 16 or 32"
           : wide    ? "16, 32 or 64"
                     : "32, 64, 128 or 256");
  if (s.preshuffled_b && (wide || bits(s.in) == 6))
    refuse("in", to_string(s.in), "16, 8 or 4 bits: weights of an inference engine");
  if (s.preshuffled_b && s.mfma != 16)
    refuse("mfma", std::to_string(s.mfma), "16 rows when B is preshuffled: its blocks are 16 rows of 32 k");
  const int vector = vector_of(s.in), least_k = is_mx(s) ? 256 : 4 * vector,
            narrowest = s.transfer ? vector / target.lanes_per_transfer() : std::max(32 / bits(s.in), 1);
  if (s.direct != GemmSpec::Direct::none && (s.preshuffled_b || is_mx(s)))
    refuse("direct-to-vgpr", s.direct == GemmSpec::Direct::a ? "a" : "b",
           s.preshuffled_b ? "none: a preshuffled B goes past LDS already, and one operand has to go there"
                           : "none: elements with scales of 32 k go by LDS, or with a preshuffled B");
  if (bits(s.in) == 6 && !s.transfer)
    refuse("direct-to-lds", "no", fmt::format("yes: {} goes to LDS 12 bytes a lane", to_string(s.in)));
  if (s.mfma == 16 && s.tile_k < least_k)
    refuse("tile_k", std::to_string(s.tile_k), fmt::format("at least {} for {}", least_k, to_string(s.in)));
  const int rows_at_once = bits(s.in) == 6 || (s.transfer && target.lanes_per_transfer() > 1)
                               ? 4 * waves
                               : 64 * waves / (s.tile_k / narrowest);
  for (const auto& [name, tile, along] :
       {std::tuple{"tile_m", s.tile_m, s.waves_m}, std::tuple{"tile_n", s.tile_n, s.waves_n}}) {
    const int rows = is_mx(s) ? 2 * s.mfma : s.mfma;
    if (tile < 1 || tile > 512 || tile % (along * rows) != 0)
      refuse(name, std::to_string(tile),
             fmt::format("a multiple of {} ({} waves of {} rows), at most 512", along * rows, along, rows));
    const bool by_rows = name[5] == 'm' ? s.staged_a() : s.staged_b();
    if (by_rows && copied(s, target, tile) == 0)
      refuse(name, std::to_string(tile),
             fmt::format("a multiple of {}, the rows that {} work-items load at once",
                         std::max(rows_at_once, 1), 64 * waves));
  }
  if (s.multiple_n < 1 || s.multiple_n > 4096)
    refuse("multiple_n", std::to_string(s.multiple_n), "1 to 4096");
  if (s.stages != 0 && (s.stages < 2 || s.stages > 4))
    refuse("stages", std::to_string(s.stages), "2, 3 or 4, or 0 for the library's choice");
  const int lds = stages(s, target) * s.stage_bytes();
  if (lds > room(s, target))
    refuse("tile", fmt::format("{} x {} x {}", s.tile_m, s.tile_n, s.tile_k),
           fmt::format("{} stages take {} bytes of LDS, and {} has room for {}; halve tile_k or a tile",
                       stages(s, target), lds, s.arch, room(s, target)));
  if (const int accumulators = s.tile_m / s.waves_m * (s.tile_n / s.waves_n) / 64 * (doubles ? 2 : 1);
      accumulators > 256)
    refuse("tile", fmt::format("{} x {}", s.tile_m, s.tile_n),
           fmt::format("a lane would hold {} accumulators, at most 256; more waves or a smaller tile",
                       accumulators));
}

} // namespace inlay::kernels::gemm
