#include "thread_value.h"

#include <inlay/algebra/error.h>
#include <inlay/codegen/atoms/copy.h>
#include <inlay/codegen/atoms/mfma.h>
#include <inlay/codegen/error.h>

#include <algorithm>

namespace inlay::codegen {
namespace {

constexpr MfmaAtom atoms[] = {
    {"v_mfma_f32_16x16x16_f16", "llvm.amdgcn.mfma.f32.16x16x16f16", 16, 16, 16, Element::f16, 16, false},
    {"v_mfma_f32_32x32x8_f16", "llvm.amdgcn.mfma.f32.32x32x8f16", 32, 32, 8, Element::f16, 32, false},
    {"v_mfma_f32_16x16x16_bf16", "llvm.amdgcn.mfma.f32.16x16x16bf16.1k", 16, 16, 16, Element::bf16, 16,
     false},
    {"v_mfma_f32_32x32x8_bf16", "llvm.amdgcn.mfma.f32.32x32x8bf16.1k", 32, 32, 8, Element::bf16, 32, false},
    {"v_mfma_f32_16x16x32_f16", "llvm.amdgcn.mfma.f32.16x16x32.f16", 16, 16, 32, Element::f16, 16, true},
    {"v_mfma_f32_32x32x16_f16", "llvm.amdgcn.mfma.f32.32x32x16.f16", 32, 32, 16, Element::f16, 32, true},
    {"v_mfma_f32_16x16x32_bf16", "llvm.amdgcn.mfma.f32.16x16x32.bf16", 16, 16, 32, Element::bf16, 16, true},
    {"v_mfma_f32_32x32x16_bf16", "llvm.amdgcn.mfma.f32.32x32x16.bf16", 32, 32, 16, Element::bf16, 32, true},
};

std::string shape(const MfmaAtom& a) {
  return std::to_string(a.m) + "x" + std::to_string(a.n) + "x" + std::to_string(a.k);
}

[[noreturn]] void no_atom(const Target& target, Element operand, const std::string& wanted) {
  std::string there;
  for (const MfmaAtom& a : atoms)
    if (a.operand == operand && a.admissible(target)) there += (there.empty() ? "" : ", ") + shape(a);
  throw CodegenError("no such matrix instruction",
                     "asked  " + wanted + " for " + to_string(operand) + " on " + std::string(target.name),
                     there.empty() ? "f16 or bf16 operands" : "there are " + there);
}

CopyAtom one_lane(const char* what, std::string instruction, const Target& target, int bits, int alignment) {
  if (bits != 16 && bits != 32 && bits != 64 && bits != 128)
    throw CodegenError(std::string(what) + ": no instruction of that width",
                       "width  " + std::to_string(bits) + " bits on " + std::string(target.name),
                       "16, 32, 64 or 128");
  const Layout bit_for_bit = Layout::col_major(IntTuple::of({Int(1), Int(bits)}));
  return {std::move(instruction), bits, alignment, bit_for_bit, bit_for_bit};
}

std::string buffer_suffix(int bits) {
  return bits == 16 ? "short" : bits == 32 ? "dword" : "dwordx" + std::to_string(bits / 32);
}

} // namespace

std::span<const MfmaAtom> MfmaAtom::all() { return atoms; }

const MfmaAtom& MfmaAtom::of(const Target& target, Element operand, int m, int k) {
  for (const MfmaAtom& a : atoms)
    if (a.operand == operand && a.m == m && a.k == k && a.admissible(target)) return a;
  no_atom(target, operand, std::to_string(m) + "x" + std::to_string(m) + "x" + std::to_string(k));
}

const MfmaAtom& MfmaAtom::best(const Target& target, Element operand, int m) {
  const MfmaAtom* found = nullptr;
  for (const MfmaAtom& a : atoms)
    if (a.operand == operand && a.m == m && a.admissible(target) && (!found || a.k > found->k)) found = &a;
  if (!found) no_atom(target, operand, std::to_string(m) + "x" + std::to_string(m) + "x?");
  return *found;
}

Layout MfmaAtom::operand_layout() const {
  return thread_value({{m, 1, 0}, {lane_groups(), operand_values(), 1}}, {{operand_values(), 1, 1}});
}

Layout MfmaAtom::result_layout() const {
  const int groups = 64 / n;
  return thread_value({{n, 1, 1}, {groups, 4, 0}}, {{4, 1, 0}, {m / (4 * groups), 4 * groups, 0}});
}

CopyAtom CopyAtom::buffer_load(const Target& target, int bits) {
  return one_lane("buffer_load", std::string("buffer_load_") + (bits == 16 ? "u" : "") + buffer_suffix(bits),
                  target, bits, std::min(bits / 8, 4));
}
CopyAtom CopyAtom::buffer_store(const Target& target, int bits) {
  return one_lane("buffer_store", "buffer_store_" + buffer_suffix(bits), target, bits, std::min(bits / 8, 4));
}
CopyAtom CopyAtom::lds_read(const Target& target, int bits) {
  return one_lane("lds_read", bits == 16 ? "ds_read_u16" : "ds_read_b" + std::to_string(bits), target, bits,
                  bits / 8);
}
CopyAtom CopyAtom::lds_write(const Target& target, int bits) {
  return one_lane("lds_write", "ds_write_b" + std::to_string(bits), target, bits, bits / 8);
}

CopyAtom CopyAtom::lds_dma(const Target& target, int bits) {
  if (std::find(target.lds_dma_bytes.begin(), target.lds_dma_bytes.end(), bits / 8) ==
          target.lds_dma_bytes.end() ||
      bits < 32) {
    std::string there;
    for (const int bytes : target.lds_dma_bytes)
      if (bytes >= 4) there += (there.empty() ? "" : ", ") + std::to_string(8 * bytes);
    throw CodegenError("no transfer from memory to LDS of that width",
                       "width  " + std::to_string(bits) + " bits a lane on " + std::string(target.name),
                       "bits   " + there);
  }
  // 64 lanes side by side in LDS; in memory each lane has its own address.
  const IntTuple shape = IntTuple::of({Int(64), Int(bits)});
  return {"buffer_load_" + buffer_suffix(bits) + " lds", bits, 4,
          Layout::col_major(IntTuple::of({Int(1), Int(bits)})), Layout::row_major(shape)};
}

} // namespace inlay::codegen
