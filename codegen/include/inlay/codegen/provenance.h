/// Provenance: what every place of a kernel holds, and so every claim about it, derived from its `Code`.
///
/// The interpreter runs the instructions of all waves with terms in place of numbers. A term is an expression over
/// tensor elements whose indices are `origin + _ci`: a symbolic origin, uniform for the workgroup, and a column _ci, a
/// concrete table with one entry for each thread and value. The running example, after the copy of a tile of A to LDS and
/// the read of a fragment, thread 9, value 0:
///
///     a(128*wg_y + _c0, 64*t + _c1)       _c0[thread 9] = 9, _c1[thread 9] = 0
///
/// Rules:
/// * **copy**        moves terms; a read that finds terms of two tiles is refused;
/// * **product**     sum over k of x(i,k) y(j,k): for each instruction, kX(i,q) = kY(j,q) for all i, j, q, and rows do not
///                   depend on q. What an accumulator holds is the product summed over a *set* of k, which has to be exactly
///                   [0, K) when it is used: every k once, beyond K nothing but 0 * 0;
/// * **map**         applies an expression; where a fact says what lies outside of a tensor, it is carried along. A maximum
///                   under way is a number (a partial fold, expression.h), if it is of at least one element. A sum under way
///                   stays one where the map is linear in it: factors go into its body (s(t) as s(k/128), where the sum moves
///                   inside block t and the specification has it so), and sums of equal bodies join: online softmax;
/// * **gather**      a coordinate that is an element of a table makes an index through that table; what the tensor does not
///                   have reads as 0, which a comparison as unsigned has to ensure;
/// * **fold**        a monoid over a set of indices, joined in registers, across lanes and through LDS; a sum counts each
///                   index once, and what lies outside has to be the empty element;
/// * **store**       the term has to be the specification at the coordinate that is written (normal forms, expression.h).
///
/// Loops: the state after trip p and after trip p + ring give the slope of every origin; the extrapolated state is run for
/// one more round with a symbolic trip number and has to come out one round further. Each number of trips up to there, and
/// each exit of the symbolic round, runs the epilogue and what follows. So the claims hold for every size.
///
/// Order between waves is part of it: a wave may read what another wrote only if that write was waited for and a barrier
/// passed since; it may overwrite only what every reader has received before a barrier.
///
/// Tests compare this with tokens.h, which shares nothing with it but the instructions.
#pragma once

#include <inlay/algebra/prover.h>
#include <inlay/codegen/code.h>

namespace inlay::codegen {

/// One derived claim and its fate.
struct DerivedClaim {
  std::string claim;   ///< `c(m,n) is what the specification says`
  std::string subject; ///< the term, view or formula that it is about
  std::string method;  ///< `provenance`, `facts`, `prover`, `enumeration`
  int op = -1;
  std::source_location where;
  bool proved = false;
  std::string counterexample; ///< when refuted
};

/// The byte addresses of an LDS instruction, for the bank model: one for each thread, -1 for idle ones.
struct LdsPattern {
  int op = -1;
  bool read = false;
  int bytes = 0;
  int elements = 0; ///< that its operation moves at once: of several instructions those of all
  std::string tensor;
  std::vector<std::int64_t> address;
  std::source_location where;
};

/// A condition of every launch, and why. The launch checks it; or it cannot, because only memory knows or the device, and it is the
/// caller's.
struct LaunchCondition {
  std::string condition, reason;
  bool callers = false;
};

/// Of how many bytes the address of a tensor in memory has to be a multiple: of what is moved at once, up to a register. `f16` in
/// vectors of 8: 4; one by one: 2.
[[nodiscard]] int pointer_alignment(const Program& program, const Tensor& tensor);

struct Derivation {
  std::vector<DerivedClaim> claims;
  std::vector<LdsPattern> lds;
  std::vector<LaunchCondition> contract;
  int lds_bytes = 0;
  [[nodiscard]] bool ok() const;
  /// The first claim that does not hold, or null.
  [[nodiscard]] const DerivedClaim* refuted() const;
};

/// Derives every claim. Inequalities and divisibilities that facts do not decide go to `prover`.
/// Ensures: stops at the first claim that fails; `ok` says that all hold.
[[nodiscard]] Derivation derive(const Code& code, Prover& prover);

} // namespace inlay::codegen
