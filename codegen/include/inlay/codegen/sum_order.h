/// `sum_orders`: the order of every floating-point sum of a kernel as a tree, and what follows from it about bits.
///
/// Provenance (provenance.h) knows of a sum the set of what is added: every k once. Floating-point sums depend on the order too. Here the
/// same instructions are run with trees in place of terms, for each work-item and value: a load is a leaf at its coordinates, a matrix
/// instruction one node over the k of its row and column, a loop a node over its trips, lanes and waves meet in the order in which they
/// are folded. No law of arithmetic is used but a + b = b + a of two lanes. A row of an output is the coordinate along one of its axes:
/// leaves of that row count from it, so that two rows that are summed alike have one tree. With each tree goes what it depends on beside
/// data: sizes in the extents of loops, numbers of workgroups, tickets.
///
///     deterministic                  a second launch with the same data gives the same bits, in whatever order workgroups run
///     batch-invariant (m)            the bits of a row of C[m,..] depend neither on other rows nor on m
///     position-invariant (m)         nor on the row's number: equal rows have equal bits
///     split-invariant                where a sum is cut follows from its own extent and the build, not from how many workgroups
///                                    there are or from other sizes
///
///     C(m,n), K in parts of 512 that are stored and summed in order       all four
///     the same, parts added by atomics                                    none: refuted, with the operation and its line
///     trips shared out among 304 workgroups (stream-K)                    likewise: where a share ends depends on m
///
/// A claim is proved, refuted, or undecided with a reason; what the rules do not follow is undecided. It is about one build: a kernel
/// that is built for other tiles may sum in another order. It stands on the claims of provenance (no races, every element written once)
/// and on a matrix instruction and a fused multiply-add giving the same bits for the same operands in every lane.
/// Sources: Goldberg, "What Every Computer Scientist Should Know About Floating-Point Arithmetic", 1991; He and Thinking Machines Lab,
/// "Defeating Nondeterminism in LLM Inference", 2025, for batch invariance.
#pragma once

#include <inlay/codegen/code.h>

#include <string>
#include <vector>

namespace inlay::codegen {

struct OrderClaim {
  enum class Verdict : std::uint8_t { proved, refuted, undecided };
  std::string claim; ///< `batch-invariant (m)`
  Verdict verdict = Verdict::undecided;
  std::string reason; ///< what proves it, what refutes it, or what is not known
  int op = -1;        ///< number of the operation in the program's text, of what refutes it or is not known
  std::source_location where{};
};
[[nodiscard]] std::string to_string(OrderClaim::Verdict verdict);
/// `refuted    deterministic: c is added to by atomics, in whatever order workgroups come [operation 9, program.cpp:340]`.
[[nodiscard]] std::string to_string(const OrderClaim& claim);

/// How the elements of an output are summed, of the first element of a tile; the others differ in their leaves.
struct SumOrder {
  std::string output;
  std::string order; ///< `c: loop over k by 64 of 4 x v_mfma_f32_16x16x16_f16`
};

struct SumOrders {
  std::vector<OrderClaim> claims; ///< `deterministic` first
  std::vector<SumOrder> orders;   ///< of outputs with sums
  /// The claim that begins so, or null.
  [[nodiscard]] const OrderClaim* find(const std::string& begin) const;
};

/// Requires: the claims of provenance hold of the code that is made from `graph`.
[[nodiscard]] SumOrders sum_orders(const Graph& graph);

} // namespace inlay::codegen
