/// What the descriptors and predicates of codegen::split let through, against the masks of the accesses: by enumeration.
///
/// Machine code is made from `split`, and the formulas that it is compared with are, too: a descriptor that is one element
/// short is so on both sides. Here each access is looked at in numbers: the element of a work-item lies at its tensor's place
/// (places.h), is moved where its coordinates are inside, and neither the address nor the range check nor the predicates may say
/// anything else. Work-items at the ends are looked at, where one too few or too many shows.
#pragma once

#include "places.h"

#include <inlay/codegen/address.h>

#include <optional>
#include <random>
#include <string>
#include <unordered_map>

namespace inlay::kernels::validate {

class Guards {
public:
  explicit Guards(const codegen::Code& code);

  struct Mismatch {
    const codegen::Inst* inst = nullptr;
    int thread = 0;
    std::string message;
  };
  /// The first access of one workgroup that moves something else. `numbers`: of sizes and of the workgroup; entries of tables are
  /// drawn, at the extent and at -1 where the masks allow it.
  [[nodiscard]] std::optional<Mismatch> at(Assignment numbers, std::uint64_t seed);

private:
  struct Prepared {
    codegen::AddressSplit split;
    std::vector<std::vector<std::int64_t>> thread; ///< [axis][work-item]
    std::vector<int> acting;
    std::vector<std::pair<std::size_t, Sym>> rows; ///< axis, and the symbol for what the register holds
  };
  const Prepared& prepared(const codegen::Inst& inst);
  std::optional<Mismatch> check(const codegen::Inst& inst, Places& places, Assignment& numbers);

  const codegen::Code& code_;
  const codegen::Program& p_;
  codegen::ThreadCoordinates coordinates_{p_};
  AtomId tid_;
  std::mt19937_64 random_;
  std::unordered_map<const codegen::Inst*, Prepared> prepared_;
};

/// An entry of a table of coordinates below `extent`: at its ends and outside of them, where `any`.
[[nodiscard]] std::int64_t entry_of_table(std::uint64_t random, std::int64_t extent, bool any);

} // namespace inlay::kernels::validate
