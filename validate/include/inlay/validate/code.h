/// Machine code against the `Code` that it was made from: addresses, guards and data flow, for all sizes.
///
///     CodeReport r = validate_code(object, kernel, code);
///     r.verdict            // validated: in every launch that the contract allows, what is stored is what `code` stores
///
/// The machine code is executed with symbols (runtime/symbolic/flow.h), all lanes of all waves, path by path; `code` is run
/// beside it by plain loops. Both name each element of memory that they load by its byte address, the room to the end of the
/// descriptor, the scalar offset and the predicates, as formulas in normal form; what is multiplied, converted and folded
/// are numbers of a field of 2^61 - 1 (values.h). On every path the same elements have to be stored, with the same
/// guards and the same values; what is loaded has to be loaded by the code.
///
/// **Loops.** What registers and LDS hold at the head of the machine's loop is read off two trips as places of the code
/// (register and iteration, place in LDS), not taken from the compiler: each word is the same element of the code in both.
/// Then all of these places get fresh random values, scalars become base + step u, and one period runs on both sides for
/// any u. If the machine's state comes back as the same places of the code, one period on, and every exit stores the same,
/// that holds for all numbers of trips. A word for which it does not hold is unknown and tried again.
///
/// *Refuted* is a counterexample in numbers: one workgroup with sizes, pointers and small integers as elements, the masks of
/// the code's accesses evaluated one by one. An element that is stored with another value or at another place, or a load of an
/// element that the code does not load, is named with sizes, wave, lane and both addresses. *Undecided* names what is
/// missing.
///
/// **Numbers.** Symbols name elements by the formulas that the code was made from (codegen::split); whether these say what the
/// accesses' masks say is looked at in numbers, by enumeration from the tensors' places alone: for the ends of descriptors and
/// for predicates of every access at several sizes (guards.h), and for whole workgroups that the machine code is run beside.
///
/// Requires for `validated`, and is part of it: the order of the code object is validated (runtime/symbolic/order.h).
/// Not looked at: rounding (conversions are the identity), and that `code` computes what the specification says, which
/// `derive` (codegen/provenance.h) proves.
#pragma once

#include <inlay/codegen/code.h>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/symbolic/order.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace inlay::kernels::validate {

struct CodeOptions {
  bool order = true;   ///< also the order of LDS, registers and barriers
  bool symbols = true; ///< false: numbers alone, which validate nothing
  unsigned visits = 7;
  unsigned max_paths = 200;
  /// Of formulas, and of states that wait at forks, about, each by itself, and half of what memory grows by in all: undecided
  /// beyond it. A 256x256 GEMM takes a third.
  std::size_t max_bytes = std::size_t{1} << 30;
  /// Workgroups of sizes that are numbers: `first_runs` before the symbols, whatever these then show, because numbers share less with
  /// the code that is judged; all of them when the symbols show nothing.
  unsigned first_runs = 2, refuter_runs = 8;
  unsigned guard_sizes = 12; ///< at which guards are looked at by enumeration
  /// Steps of about a microsecond, the same on every machine: undecided beyond it; 0: as many as it takes.
  std::uint64_t budget = 0;
  std::function<void(std::uint64_t)> progress{}; ///< hears of the steps
};

struct CodeFinding {
  std::uint64_t address = 0; ///< of the instruction
  std::string text, source;
  unsigned wave = 0, lane = 0;
  std::string message;
  std::vector<std::pair<std::string, std::int64_t>> sizes; ///< under which it is so
};

struct CodeReport {
  runtime::symbolic::Verdict verdict = runtime::symbolic::Verdict::undecided;
  runtime::symbolic::Verdict order = runtime::symbolic::Verdict::undecided;
  std::vector<CodeFinding> refuted;
  std::vector<std::string> undecided;
  std::size_t loads = 0, stores = 0, products = 0; ///< instructions
  std::size_t elements_loaded = 0, elements_stored = 0;
  unsigned paths = 0, loops = 0;
  std::uint64_t steps = 0;
};

[[nodiscard]] CodeReport validate_code(const runtime::CodeObject& object, const runtime::Kernel& kernel,
                                       const codegen::Code& code, const CodeOptions& options = {});

} // namespace inlay::kernels::validate
