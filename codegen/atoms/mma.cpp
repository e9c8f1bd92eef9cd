#include "tables.h"

#include <inlay/algebra/parse.h>

namespace inlay::codegen {
namespace {

enum class MmaKind : std::uint8_t { dense, sparse, mixed, scaled };

struct Row {
  MmaKind kind;
  TargetSet targets;
  std::string_view name;
  int m, n, k, blocks;
  Element a, b, c;
  int passes, wait;
  std::string_view a_layout, b_layout, c_layout, scale_layout;
  std::string_view intrinsic, a_type, b_type, c_type;
};

constexpr Row rows[] = {
#include "../data/mma.inc"
};

// CBSZ and BLGP of the f8f6f4 family: which format an operand has.
int format_code(Element e) {
  switch (e) {
  case Element::e4m3fn: return 0;
  case Element::e5m2: return 1;
  case Element::e2m3: return 2;
  case Element::e3m2: return 3;
  default: return 4;
  }
}

Emission emission_of(const Row& r) {
  Emission e{std::string(r.intrinsic), std::string(r.c_type), {}};
  e.operands = {std::string(r.a_type), std::string(r.b_type), std::string(r.c_type)};
  const auto constant = [&](int v) { e.operands.push_back("i32 " + std::to_string(v)); };
  switch (r.kind) {
  case MmaKind::dense: // CBSZ, ABID, BLGP
    for (int i = 0; i < 3; ++i) constant(0);
    break;
  case MmaKind::sparse: // the index register, CBSZ, ABID
    e.operands.emplace_back("i32");
    for (int i = 0; i < 2; ++i) constant(0);
    break;
  case MmaKind::mixed: // LLVM selects the form without scales where both are the constant 0
  case MmaKind::scaled:
    constant(format_code(r.a));
    constant(format_code(r.b));
    for (int i = 0; i < 2; ++i) { // OPSEL, scale
      constant(0);
      if (r.kind == MmaKind::mixed)
        constant(0);
      else
        e.operands.emplace_back("i32");
    }
    break;
  }
  return e;
}

} // namespace

void append_mma(std::deque<Atom>& atoms) {
  for (const Row& r : rows) {
    Atom atom;
    atom.name = r.name;
    atom.kind = Atom::Kind::mma;
    atom.targets = r.targets;
    atom.emission = emission_of(r);
    Mma mma{r.m, r.n, r.k, r.blocks, r.a, r.b, r.c, parse_layout(r.a_layout), {}, parse_layout(r.c_layout)};
    mma.b = r.b_layout == r.a_layout ? mma.a : parse_layout(r.b_layout);
    mma.sparse = r.kind == MmaKind::sparse;
    mma.scaled = r.kind == MmaKind::scaled;
    if (mma.scaled) mma.scale = parse_layout(r.scale_layout);
    mma.passes = r.passes;
    mma.result_wait_states = r.wait;
    atom.mma = std::move(mma);
    atoms.push_back(std::move(atom));
  }
}

} // namespace inlay::codegen
