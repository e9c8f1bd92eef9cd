/// Products of 8-bit operands with scales: of rows and of channels, or of blocks of 128; and of mxfp4. Private.
#pragma once

#include "../options.h"
#include "../program_names.h"

#include <inlay/codegen/mma_tiling.h>
#include <inlay/kernels/moe/spec.h>

namespace inlay::kernels {

/// A product of operands of one type, A by rows and B by channels, and its scales, f32:
///
///     row      c[m,n] = sa[m] sb[n] sum_k a[m,k] b[n,k]
///     block    c[m,n] = sum_k sa[m,k/128] sb[n/128,k/128] a[m,k] b[n,k]
///     mx       c[m,n] = sum_k sa[m,k/32] sb[n,k/32] a[m,k] b[n,k]                 scales in e8m0, which the instruction takes
struct ScaledProduct {
  Scales by = Scales::none;
  codegen::MmaTiling tiling;
  int tile_m = 64, tile_n = 64; ///< of blocks and of mxfp4 tile_n is 128
  static constexpr int block = 128, micro = 32;

  /// Of tiles of 128 bytes along k. Errors: std::invalid_argument for a type that is not multiplied, or a scale that it does not have.
  static ScaledProduct of(const std::string& kernel, const Target& target, codegen::Element type, Scales by,
                          int waves_m, int waves_n, int tile_m, int tile_n);
  [[nodiscard]] codegen::Element type() const { return tiling.mma().a_element; }
  [[nodiscard]] int depth() const { return 1024 / codegen::bits(type()); } ///< of a tile
  [[nodiscard]] int vector() const { return 128 / codegen::bits(type()); }
  /// K is a multiple of this.
  [[nodiscard]] int multiple() const { return by == Scales::block ? block : mx() ? 8 * micro : vector(); }
  [[nodiscard]] bool mx() const { return by == Scales::mx; }
  [[nodiscard]] codegen::Element scale() const {
    return mx() ? codegen::Element::e8m0 : codegen::Element::f32;
  }
  /// Scales of a row of k, and of so many channels.
  [[nodiscard]] Sym of_k(Sym k) const {
    return by == Scales::block ? floor_div(k, Sym(block)) : mx() ? floor_div(k, Sym(micro)) : Sym(1);
  }
  [[nodiscard]] Sym of_channels(Sym n) const {
    return by == Scales::block ? ceil_div(n, Sym(block)) : mx() ? micro * ceil_div(n, Sym(micro)) : n;
  }
  /// Where the scales of so many matrices of n channels are, one after the other; nothing of those in rows. `n` and `k` are names of sizes.
  [[nodiscard]] std::optional<SymLayout> place(Program& p, const std::vector<std::string>& matrices,
                                               const std::string& n, const std::string& k) const;
  [[nodiscard]] Sym channel(Sym n) const { return by == Scales::block ? floor_div(n, Sym(block)) : n; }
  /// The specification: of elements, and of scales by their number along k.
  [[nodiscard]] Expr sum(Program& k, Sym extent, const std::function<Expr(Sym)>& product,
                         const std::function<Expr(Sym)>& scale) const;

  /// What of the tile's rows a work-item has, and where it wants their scales, and those of the tile's channels.
  [[nodiscard]] Layout rows() const { return codegen::without_axis(tiling.c(), 1); }
  [[nodiscard]] Layout of_rows() const { return mx() ? tiling.a_scales() : rows(); }
  [[nodiscard]] Layout of_columns() const {
    if (mx()) return tiling.b_scales();
    return codegen::without_axis(by == Scales::block ? rows() : tiling.c(), 0);
  }
  [[nodiscard]] int columns() const { return by == Scales::block ? 1 : tile_n; }
  /// Scales of a row in a trip, and those that one instruction loads.
  [[nodiscard]] int of_trip() const { return mx() ? depth() / micro : 1; }
  [[nodiscard]] int at_once() const { return mx() ? 4 : 1; }
  /// Channels in the order in which the waves have the scales of two blocks of 16 in a register.
  [[nodiscard]] codegen::View in_order(const codegen::View& view, std::size_t mode) const;
  /// A tile of scales, of channels along one axis and of k along another, as `of_columns` wants it.
  [[nodiscard]] codegen::View channels(const codegen::View& tile, std::size_t n, std::size_t k) const {
    return mx() ? in_order(tile.keep({n, k}), 0) : tile.keep({k, n});
  }
  /// Two stages of tiles of so many rows in LDS, or one where it has no room.
  [[nodiscard]] codegen::Pipeline pipeline(const Target& target, int rows) const {
    // Of blocks a trip ahead and no more: the second one's scales need not be there.
    const int stages = by != Scales::block && 2 * 128 * rows <= target.lds_bytes ? 2 : 1;
    return {.distance = stages, .ring = stages};
  }

  /// Scales of blocks of matrices that a table names are loaded ahead of the loop's end, and compared with it.
  void ahead(Program& k, const Tensor& scales) const {
    if (by == Scales::block) k.far(scales);
  }
  using Where = std::source_location; ///< the kernel's line
  [[nodiscard]] Fragment zeros(Program& k, Where where = Where::current()) const {
    return k.zeros(tiling.mma().c_element, tiling.c(), {tile_m, tile_n}, where);
  }
  /// acc += a b, of a block times its scales, which `scales` loads.
  void mma(Program& k, const Fragment& acc, const Fragment& a, const Fragment& b,
           const std::function<std::vector<Fragment>()>& scales, Where where = Where::current()) const;
  /// What the loop summed, times the scales of rows and channels.
  [[nodiscard]] Fragment scaled(Program& k, const Fragment& acc,
                                const std::function<std::vector<Fragment>()>& scales,
                                Where where = Where::current()) const;
};

class Workload;
/// Scales up to `most`, of mxfp4 powers of two; nothing without them.
void random_scales(Workload& w, Scales by, const std::string& name, double most, std::uint64_t seed);

/// `--scales`, after the option of the type: what it needs unless something is said.
template <class Asked, class Of>
[[nodiscard]] Option<Asked> scales_option(Scales Of::*member, codegen::Element Of::*type) {
  return {"scales",
          Reads<Asked>::parsed(member, "type, no, row, block, mx",
                               [=](const Asked& asked, const std::string& text) {
                                 if (text == "type")
                                   return codegen::bits(asked.*type) == 8   ? Scales::row
                                          : codegen::bits(asked.*type) == 4 ? Scales::mx
                                                                            : Scales::none;
                                 for (const Scales s : {Scales::none, Scales::row, Scales::block, Scales::mx})
                                   if (text == to_string(s)) return s;
                                 throw std::invalid_argument("--scales '" + text +
                                                             "' is none of type, no, row, block, mx");
                               }),
          "type",
          "of 8 bits: row, of rows and channels; block, of 1 x 128 and 128 x 128; of fp4: mx, of 32 k; type: "
          "row of 8 "
          "bits, mx of fp4"};
}

/// `moe_stage1` and `moe_stage2` of 8 and 4 bits.
[[nodiscard]] Program narrow_stage1_program(const MoeSpec& s);
[[nodiscard]] Program narrow_stage2_program(const MoeSpec& s);

} // namespace inlay::kernels
