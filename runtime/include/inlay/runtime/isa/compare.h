/// Two kernels side by side: a candidate and the anchor that it is to be called equal to.
///
///     Comparison c = compare(ours, theirs);
///     to_text(c)                   // the table, the verdicts, the difference of the two hot loops
///     c.passes()                   // the regression gate: no criterion failed
///
/// Two schedules of the same tile may unroll differently, so everything that counts is taken *per 1000 matrix clocks* of
/// one wave; distances and ratios are taken as they are. A criterion *fails* when the candidate is worse than the
/// anchor by more than `tolerance` of the anchor's number, is *undecided* when machine code cannot tell (bank phases depend
/// on addresses, time on a device), and *does not apply* when the anchor has nothing of the kind. Registers are those of a workgroup
/// (a tile may be shared between four waves or eight), occupancy is counted in workgroups, and LDS is not compared where the anchor's is
/// asked for by the launch alone.
///
/// The criteria are those by which hand-tuned GEMM kernels of AMD's AITER library differ from compiled ones: how densely
/// matrix instructions are issued, how far loads run ahead, how little stands between.
#pragma once

#include <inlay/runtime/isa/report.h>

namespace inlay::runtime::isa {

enum class Verdict : std::uint8_t { passes, fails, undecided, does_not_apply };

/// `pass`, `FAIL`, `?`, `-`
[[nodiscard]] std::string_view to_string(Verdict v);

struct Criterion {
  unsigned number = 0; ///< 1 to 15
  std::string name;
  std::string candidate, anchor; ///< the numbers, as text
  Verdict verdict = Verdict::undecided;
  std::string why; ///< in a few words, when it is no pass
};

/// One line of the table.
struct Row {
  std::string name, candidate, anchor;
  bool same = false;
};

/// One line of the difference of the hot loops: ' ' in both, '-' only in the candidate, '+' only in the anchor.
struct DiffLine {
  char side = ' ';
  std::string text;      ///< mnemonic and modifiers; registers left out
  std::size_t count = 1; ///< equal lines in a row
};

/// The instructions of a hot loop between two waits or barriers, which they begin with.
struct Stretch {
  std::size_t first = 0;      ///< index of its first instruction in the program
  std::string text;           ///< what it waits for, then its letters: `v20,l0 B M4 (R M2)x8`
  unsigned matrix_clocks = 0; ///< of its matrix instructions
  std::map<char, unsigned> letters;
  std::optional<double> clocks; ///< of a trip, by the cycle model (timing/compare.h)
};

/// One line of the two hot loops side by side; what has no partner stands alone.
struct StretchPair {
  std::optional<Stretch> candidate, anchor;
};

struct Comparison {
  std::string candidate, anchor; ///< kernel names
  std::vector<Row> rows;
  std::vector<Criterion> criteria;
  std::vector<DiffLine> difference; ///< of the hot loops, shortest edit script
  double similarity = 0;            ///< instructions in common, as a fraction of both loops
  std::vector<StretchPair>
      schedule; ///< of the hot loops, aligned by what the stretches between waits hold: a page

  /// No criterion failed.
  [[nodiscard]] bool passes() const;
};

/// Compares. Requires: reports of the same architecture or not; a loop that only one of them has fails criterion 1.
[[nodiscard]] Comparison compare(const KernelReport& candidate, const KernelReport& anchor,
                                 double tolerance = 0.02);

/// The page for people. The difference by line is in it when it is short; the schedule says the rest.
[[nodiscard]] std::string to_text(const Comparison& c);
/// The two hot loops side by side.
[[nodiscard]] std::string schedule_text(const Comparison& c);

} // namespace inlay::runtime::isa
