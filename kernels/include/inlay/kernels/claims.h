/// Builds whose clocks are compared and which are then thrown away.
///
///     const WithoutClaims none;
///     model(kernel.build(flags, {}), sizes)       // a third of the time; what is handed out is built again, with its claims
#pragma once

namespace inlay::kernels {

/// While it lives, builds of this thread decide no claims: `Artifact::proofs` has none.
class WithoutClaims {
public:
  WithoutClaims();
  ~WithoutClaims();
  WithoutClaims(const WithoutClaims&) = delete;
  WithoutClaims& operator=(const WithoutClaims&) = delete;

private:
  bool before_;
};

} // namespace inlay::kernels
