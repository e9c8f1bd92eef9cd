#include "tables.h"

#include <inlay/algebra/parse.h>
#include <inlay/machine/matrix.h>
#include <inlay/machine/target.h>

#include <map>
#include <string_view>

namespace inlay::codegen {
namespace {

using machine::MatrixInstruction;
using machine::Operand;

Element element_of(Operand o, const machine::Target& target) {
  switch (o) {
  case Operand::f64: return Element::f64;
  case Operand::f32: return Element::f32;
  case Operand::xf32: return Element::xf32;
  case Operand::f16: return Element::f16;
  case Operand::bf16: return Element::bf16;
  case Operand::i8: return Element::i8;
  case Operand::fp8: return target.ocp_fp8 ? Element::e4m3fn : Element::e4m3fnuz;
  case Operand::bf8: return target.ocp_fp8 ? Element::e5m2 : Element::e5m2fnuz;
  case Operand::fp6: return Element::e2m3;
  case Operand::bf6: return Element::e3m2;
  case Operand::fp4: return Element::e2m1;
  case Operand::i32: return Element::i32;
  }
  throw InternalError("unknown operand of a matrix instruction");
}

// `<16 x float>`: LLVM's type of C and D in a lane.
std::string type_of_sums(const MatrixInstruction& i) {
  const std::string one = i.d == Operand::f64 ? "double" : i.d == Operand::i32 ? "i32" : "float";
  const int many = i.m * i.n * i.blocks / 64;
  return many == 1 ? one : "<" + std::to_string(many) + " x " + one + ">";
}

// Of the f8f6f4 instructions an operand is 32 elements in as many bits as they need.
std::string type_of_mixed(Element e) { return "<" + std::to_string(bits(e)) + " x i32>"; }

// Layouts by their text: most instructions have another one's.
using Layouts = std::map<std::string_view, Layout>;
const Layout& layout_of(Layouts& known, std::string_view text) {
  const auto found = known.find(text);
  return found != known.end() ? found->second : known.emplace(text, parse_layout(text)).first->second;
}

// One atom: the instruction with what CBSZ and BLGP say of A and B.
Atom atom_of(const MatrixInstruction& i, TargetSet targets, const machine::Target& target, std::size_t cbsz,
             std::size_t blgp, Layouts& layouts) {
  const bool mixed = i.typed_by_modifiers;
  const Operand of_a = mixed ? machine::f8f6f4_operands[cbsz] : i.a,
                of_b = mixed ? machine::f8f6f4_operands[blgp] : i.b;
  const Element a = element_of(of_a, target), b = element_of(of_b, target);
  const auto layout = [&](std::string_view text, Element e) {
    return mixed && bits(e) < 8 ? i.narrow_layout : text;
  };
  Atom atom;
  atom.name = i.name;
  if (cbsz != 0) atom.name += " cbsz:" + std::to_string(cbsz);
  if (blgp != 0) atom.name += " blgp:" + std::to_string(blgp);
  atom.kind = Atom::Kind::mma;
  atom.targets = targets;

  Emission& e = atom.emission;
  e.name = std::string(i.intrinsic);
  e.result = type_of_sums(i);
  const auto constant = [&](std::size_t v) { e.operands.push_back("i32 " + std::to_string(v)); };
  if (mixed) {
    e.name += ".v" + std::to_string(bits(a)) + "i32.v" + std::to_string(bits(b)) + "i32";
    e.operands = {type_of_mixed(a), type_of_mixed(b), e.result};
    constant(cbsz);
    constant(blgp);
    for (int k = 0; k < 2;
         ++k) { // OPSEL, scale: LLVM selects the form without scales where both are the constant 0
      constant(0);
      if (i.scaled)
        e.operands.emplace_back("i32");
      else
        constant(0);
    }
  } else {
    e.operands = {std::string(i.a_type), std::string(i.b_type), e.result};
    if (i.sparse) e.operands.emplace_back("i32");           // the index register
    for (int k = i.sparse ? 1 : 0; k < 3; ++k) constant(0); // CBSZ, ABID, and of a dense one BLGP
  }

  const std::string_view a_layout = layout(i.a_layout, a), b_layout = layout(i.b_layout, b);
  Mma mma{i.m,
          i.n,
          i.k,
          i.blocks,
          a,
          b,
          element_of(i.d, target),
          layout_of(layouts, a_layout),
          layout_of(layouts, b_layout),
          layout_of(layouts, i.d_layout)};
  mma.sparse = i.sparse;
  mma.scaled = i.scaled;
  if (mma.scaled) mma.scale = layout_of(layouts, i.scale_layout);
  const machine::MatrixTiming& timing = i.timing_on(target.arch, bits(a) < 8 && bits(b) < 8);
  mma.passes = timing.passes;
  mma.result_wait_states = timing.wait_states;
  atom.mma = std::move(mma);
  return atom;
}

} // namespace

void append_mma(std::deque<Atom>& atoms) {
  Layouts layouts;
  for (const MatrixInstruction& i : machine::matrix_instructions()) {
    // One atom for all targets that agree in everything.
    unsigned done = 0;
    for (const machine::Target& target : machine::targets) {
      const unsigned bit = 1u << static_cast<unsigned>(target.arch);
      if (!i.on(target.arch) || (done & bit) != 0) continue;
      unsigned members = 0;
      for (const machine::Target& other : machine::targets)
        if (i.on(other.arch) && i.timing_on(other.arch) == i.timing_on(target.arch) &&
            i.timing_on(other.arch, true) == i.timing_on(target.arch, true) &&
            element_of(i.a, other) == element_of(i.a, target) &&
            element_of(i.b, other) == element_of(i.b, target))
          members |= 1u << static_cast<unsigned>(other.arch);
      done |= members;
      const TargetSet targets{static_cast<std::uint8_t>(members)};
      const std::size_t formats = i.typed_by_modifiers ? machine::f8f6f4_operands.size() : 1;
      for (std::size_t cbsz = 0; cbsz < formats; ++cbsz)
        for (std::size_t blgp = 0; blgp < formats; ++blgp)
          atoms.push_back(atom_of(i, targets, target, cbsz, blgp, layouts));
    }
  }
}

} // namespace inlay::codegen
