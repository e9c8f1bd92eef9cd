/// Quotients of words that are no numbers: the sequence by which compilers divide, read back.
///
/// There is no instruction that divides integers. LLVM estimates 2^32 / y in floating point, improves the estimate once, and
/// corrects the quotient twice (all modulo 2^32, comparisons unsigned):
///
///     z  = trunc((2^32 - 512) rcp(float(y)))      v_cvt_f32_u32, v_rcp_iflag_f32, v_mul_f32 0x4f7ffffe, v_cvt_u32_f32
///     z' = z + (z (-y z mod 2^32) >> 32)          one step of Newton's
///     q  = x z' >> 32,  r = x - q y               both at most two steps off
///     twice:  where r >= y:  q + 1, r - y
///
/// The last q is x / y and the last r is x mod y for all words x and all y >= 1:
///
/// 1. z y <= 2^32, and e = 2^32 - z y has e^2 < 2^32 y, or z = 0 and y > 2^31. Only the float of y matters for z, so there
///    are 83,886,080 cases, and a test goes through all of them.
/// 2. z' = z + floor(z e / 2^32) <= z (2 - z y / 2^32) <= 2^32 / y, as t (2 - t) <= 1; and 2^32 / y - z' <
///    e^2 / (2^32 y) + 1 < 2. (With z = 0, z' = 0, and 2^32 / y < 2.)
/// 3. So x / y - x z' / 2^32 is in [0, 2), and floor(x / y) - q is 0, 1 or 2: two corrections are enough, r is never negative.
///
/// Step 1 holds where v_rcp_iflag_f32 is rounded to nearest, as the emulator has it, and where it is one unit less. The manual
/// promises one unit either way: with one more, 1,539 of the floats (3 is the first) would break the sequence, and with it every
/// program that LLVM compiles. That hardware is not so is taken from there.
///
///     Quotients q(terms, flow.program(), flow.rounds_to_nearest());
///     q.read(t)     // {dividend, divisor, remainder} when t is that, for every divisor that is not 0
///
/// What is read is not matched piece by piece: the sequence is built again from its dividend and divisor, and must come to
/// the same term. Whatever computes something else is another term.
#pragma once

#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/symbolic/term.h>

#include <optional>
#include <unordered_map>

namespace inlay::runtime::symbolic {

struct Quotient {
  Term dividend = 0, divisor = 0;
  bool remainder = false; ///< instead of the quotient
};

class Quotients {
public:
  /// `nearest`: floats of 32 bits are rounded to nearest, all the time. Terms' functions are named by instructions of `program`.
  Quotients(Terms& terms, const isa::Program& program, bool nearest)
      : t_(terms), program_(program), nearest_(nearest) {}

  /// Ensures: the term is floor(dividend / divisor), or dividend mod divisor, as words, wherever divisor >= 1.
  [[nodiscard]] std::optional<Quotient> read(Term t);

private:
  std::optional<Quotient> search(Term t);
  /// The argument of a function when it is one of that instruction, without modifiers.
  [[nodiscard]] std::optional<Term> argument_of(Term t, std::string_view mnemonic) const;
  [[nodiscard]] std::optional<Term> estimated(Term t) const;

  Terms& t_;
  const isa::Program& program_;
  bool nearest_;
  std::unordered_map<Term, std::optional<Quotient>> done_;
};

} // namespace inlay::runtime::symbolic
