/// `Obligation` and `Prover`: what an operation could not decide, as data, and who may decide it.
///
/// A symbolic operation asks its domain; a precondition that is `unknown` does not stop it. It continues as
/// if the precondition held and records an `Obligation`, with the claim as data, in the `SymContext` of the
/// symbols involved:
///
///     SymLayout r = composition(a, b);         // (m,n):(1,m) o 96:1  ->  96:1
///     ctx.take_obligations();                  // [ 96 <= m,  from composition, left (m,n):(1,m), right 96:1
///     ]
///
/// The result is right for exactly those symbols that satisfy the claims. A definite `no` is an error at
/// once. `solver/` implements `Prover`; the algebra only names the interface.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

#include <string>
#include <vector>

namespace inlay {

enum class ClaimKind : std::uint8_t {
  equal,      ///< operands[0] = operands[1]
  less_equal, ///< operands[0] <= operands[1]
  divides,    ///< operands[0] divides operands[1]
  injective,  ///< layouts[0] is injective
  bijective,  ///< layouts[0] maps onto [0, size)
  disjoint,   ///< images of layouts[0] and layouts[1] share no value
  same,       ///< layouts[0] and layouts[1] are the same function on the same size
};

/// A statement about all values of the symbols.
struct Claim {
  ClaimKind kind;
  std::vector<Sym> operands;
  std::vector<SymLayout> layouts;
  friend bool operator==(const Claim&, const Claim&) = default;
};

/// A claim that an operation relied on, and where it came from.
struct Obligation {
  Claim claim;
  std::string operation;                                     ///< `composition`
  std::vector<std::pair<std::string, std::string>> operands; ///< {`left`, `(m,n):(1,m)`}, ...
  std::string where;                                         ///< `right mode 0, left mode 1`
};

/// `96 <= m`, `128 divides K`, `injective (m,2):(1,m)`.
[[nodiscard]] std::string to_string(const Claim& claim);
[[nodiscard]] std::string to_string(const Obligation& obligation);

/// Decides claims. `yes` must be right for all symbols, `no` for at least one of them.
class Prover {
public:
  virtual ~Prover() = default;
  [[nodiscard]] virtual Truth decide(const Claim& claim) = 0;
};

/// What the facts of the context decide without a solver: `eq`, `le` and `divides` of sym.h.
class FactProver final : public Prover {
public:
  [[nodiscard]] Truth decide(const Claim& claim) override;
};

/// The obligations that `prover` does not answer with `yes`.
[[nodiscard]] std::vector<Obligation> undischarged(std::span<const Obligation> obligations, Prover& prover);

} // namespace inlay
