/// `Nest`: a loop of a program that holds loops or branches, in `Graph` and `Code`.
///
/// Their lists of regions stay flat, as they do for branches: a nest is the regions whose instructions are of operations inside of
/// it, and they run in order once for each of its trips, those of a branch where its condition holds in that trip. Where a trip begins or ends nothing is under way, so each trip goes on from
/// the same state, and the schedulers see the loops inside alone. Its number stands in origins as the symbol that it is in the
/// program (`Nest::t`); what a trip hands on lies in registers that live across trips (`Register::outside`), in LDS and in memory.
#pragma once

#include <inlay/codegen/code.h>

#include <vector>

namespace inlay::codegen {

struct Nest {
  Sym t{};      ///< 0 <= t < trips
  Sym extent{}; ///< as the loop's: ceil_div(extent, tile) trips
  int tile = 1;
  int op = 0, last = 0; ///< numbers of the loop and of the last operation in it (Inst::op)
  std::size_t guards =
      0; ///< of branches around it: its regions have these first, and then those of branches inside
  bool branches = false; ///< there are some inside
  std::source_location where;

  [[nodiscard]] Sym trips() const { return ceil_div(extent, Sym(tile)); }
  /// Whether a region of instructions is one of its own.
  [[nodiscard]] bool holds(const Region& r) const { return of(r.body); }
  [[nodiscard]] bool holds(const CodeRegion& r) const { return of(r.body) || of(r.epilogue); }

private:
  [[nodiscard]] bool of(const std::vector<Inst>& list) const;
};

/// Those of a program, the outer ones first.
[[nodiscard]] std::vector<Nest> nests_of(const Program& program);
/// Whether a symbol counts the trips of one.
[[nodiscard]] bool counts_trips_of_nest(const Program& program, AtomId symbol);
/// The loops whose trips read a number anew, by the symbols of their trips; empty for one that the workgroup reads once.
[[nodiscard]] std::vector<AtomId> trips_of(const Program& program, const Uniform& uniform);
/// Whether a loop's trips follow one another: it holds loops or branches.
[[nodiscard]] bool is_nest(const LoopOp& loop);
/// The first of the code's regions that it holds, and the one after the last. Requires: it holds some.
[[nodiscard]] std::pair<std::size_t, std::size_t> regions_of(const Nest& nest, const Code& code);

} // namespace inlay::codegen
