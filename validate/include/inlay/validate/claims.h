/// What a user says of the memory that machine code accesses, decided for all sizes.
///
/// Claims are text, one a line, `#` begins a comment:
///
///     where m >= 1 && m <= 1000000        facts about arguments, in the syntax of `inlay prove --where`
///     grid (n + 63) / 64, (m + 63) / 64   workgroups along x, y, z
///     trips 4096                          no loop runs more often (taken as given: byte counts of far trips must not wrap)
///     unchanged ids sizes                 nobody else writes the memory of these pointer arguments while the kernel runs (taken as given;
///                                         that the kernel does not is checked): what all waves read of one word is one number
///     buffer a 2*m*k                      the pointer argument `a` has that many bytes, and every access by it stays inside
///     access 0x1a2c a 2*k*(64*workgroup_y + lane) + 128*visit
///                                         the byte offset in `a` that the instruction at 0x1a2c accesses, in the arguments and
///                                         workgroup_x, workgroup_y, workgroup_z, wave, lane, and visit: how often the wave has
///                                         executed the instruction before
///     tensor a f16 (m,k):(k,1)            the pointer argument `a` has elements of that type, coordinate -> element number; it is
///                                         exactly as large as its layout
///     tensor ids i32 (t):(1) below n      a table: its elements are indices, 0 <= ids[i] < n
///     value c(i,j) = sum(q < k, a(i,q) * b(j,q))   what the kernel stores, an index expression (expression.h)
///     within 0.01                         how far a stored number may be off in runs, relative to the largest one, beside what f32 and
///                                         the element round (not said: 2^-7, and what is off by less than that refutes nothing)
///     sizes m = 256, n = 128, k = 96      for which values are looked at: every argument that is no pointer of a tensor
///
/// Arguments are named as in the code object's metadata, `arg16` for a nameless one at byte 16. They are unsigned words: of 4
/// bytes `n`, of 8 `n_lo` and `n_hi`, of more `n_0`, `n_4`, ...; another name is an error, and so is half a word. Pointers are taken as different allocations. Formulas are integers, with floor division.
///
/// The machine computes modulo 2^32. A sum or product of words is taken for the integer that it would be without the wrap only
/// after the prover has shown that it lies in [0, 2^32) (signed forms: [0, 2^31)) under the facts. An access through a buffer
/// descriptor is inside when the descriptor's range is: the hardware drops what lies outside the range. A scalar access is one
/// of lane 0. Every claim ends as
/// proved, refuted with the wave, the lane and numbers, or undecided with what is missing.
///
///     Claims c = Claims::parse(text);
///     OrderReport r = check_order(object, kernel, {.block = {256}}, true);    // with addresses
///     for (const ClaimResult& x : check_claims(r, program, c)) ...
#pragma once

#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/symbolic/order.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::kernels::validate {

struct BufferClaim {
  std::string argument, bytes;
};

/// What a view says that one instruction accesses; also how a program hands in its own expected accesses.
struct AccessClaim {
  std::uint64_t address = 0; ///< of the instruction
  std::string argument, offset;
};

/// `place`: coordinate -> element number, in arguments. `below`: of a table of indices, their bound.
struct TensorClaim {
  std::string argument, element, place, below;
};

/// argument(coordinate...) = value
struct ValueClaim {
  std::string argument;
  std::vector<std::string> coordinate;
  std::string value;
};

/// Numbers for arguments as they were written: `96`, `-1`, `0.5` for a float.
using SizesClaim = std::vector<std::pair<std::string, std::string>>;

struct Claims {
  std::vector<std::string> where;
  std::array<std::string, 3> grid; ///< empty: any number of workgroups
  std::optional<std::uint32_t> trips;
  std::vector<std::string> unchanged;
  std::vector<BufferClaim> buffers;
  std::vector<AccessClaim> accesses;
  std::vector<TensorClaim> tensors;
  std::vector<ValueClaim> values;
  std::vector<SizesClaim> sizes;
  std::optional<double> within;

  /// Errors: std::invalid_argument naming the line.
  [[nodiscard]] static Claims parse(std::string_view text);
};

struct ClaimResult {
  runtime::symbolic::Verdict verdict = runtime::symbolic::Verdict::undecided;
  std::string claim;         ///< `inside a`, `access a`
  std::uint64_t address = 0; ///< of the instruction
  std::string instruction;
  unsigned wave = 0, lane = 0;
  std::string message; ///< how it was shown, or what refutes it, or what is missing
};

/// Errors: std::invalid_argument with the kernel's arguments when a claim names what is none of them.
void check_names(const runtime::Kernel& kernel, const Claims& claims);

struct ClaimOptions {
  std::uint64_t budget =
      0; ///< steps of about a microsecond: what is not decided by then is undecided; 0: as many as it takes
  std::function<void(std::uint64_t)> progress{}; ///< hears of the steps
};

/// One result an instruction and claim. Requires: `report` was made with addresses. Errors: as `check_names`.
[[nodiscard]] std::vector<ClaimResult> check_claims(const runtime::symbolic::OrderReport& report,
                                                    const runtime::isa::Program& program,
                                                    const runtime::Kernel& kernel, const Claims& claims,
                                                    const ClaimOptions& options = {});

} // namespace inlay::kernels::validate
