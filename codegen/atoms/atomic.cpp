// memory = combine(memory, register), in global memory and in LDS.
#include "tables.h"

#include <inlay/machine/target.h>

namespace inlay::codegen {
namespace {

struct Row {
  Combine combine;
  Element element;
  int values;              // of the element in one operation
  std::string_view memory; // `add_f32` of buffer_, global_ and flat_atomic_add_f32; empty: there is none
  std::string_view lds;    // `add_f32` of ds_add_f32
  std::string_view ir;     // `fadd` of atomicrmw
  std::string_view buffer; // `fadd` of llvm.amdgcn.raw.ptr.buffer.atomic.fadd
  std::string_view type;   // LLVM's, mangled in `suffix`
  std::string_view suffix;
};

using enum Combine;
constexpr Row rows[] = {
    {add, Element::i32, 1, "add", "add_u32", "add", "add", "i32", "i32"},
    {add, Element::i64, 1, "add_x2", "add_u64", "add", "add", "i64", "i64"},
    {sub, Element::i32, 1, "sub", "sub_u32", "sub", "sub", "i32", "i32"},
    {sub, Element::i64, 1, "sub_x2", "sub_u64", "sub", "sub", "i64", "i64"},
    {Combine::min, Element::i32, 1, "smin", "min_i32", "min", "smin", "i32", "i32"},
    {Combine::min, Element::i64, 1, "smin_x2", "min_i64", "min", "smin", "i64", "i64"},
    {Combine::max, Element::i32, 1, "smax", "max_i32", "max", "smax", "i32", "i32"},
    {Combine::max, Element::i64, 1, "smax_x2", "max_i64", "max", "smax", "i64", "i64"},
    {umin, Element::i32, 1, "umin", "min_u32", "umin", "umin", "i32", "i32"},
    {umin, Element::i64, 1, "umin_x2", "min_u64", "umin", "umin", "i64", "i64"},
    {umax, Element::i32, 1, "umax", "max_u32", "umax", "umax", "i32", "i32"},
    {umax, Element::i64, 1, "umax_x2", "max_u64", "umax", "umax", "i64", "i64"},
    {bit_and, Element::i32, 1, "and", "and_b32", "and", "and", "i32", "i32"},
    {bit_and, Element::i64, 1, "and_x2", "and_b64", "and", "and", "i64", "i64"},
    {bit_or, Element::i32, 1, "or", "or_b32", "or", "or", "i32", "i32"},
    {bit_or, Element::i64, 1, "or_x2", "or_b64", "or", "or", "i64", "i64"},
    {bit_xor, Element::i32, 1, "xor", "xor_b32", "xor", "xor", "i32", "i32"},
    {bit_xor, Element::i64, 1, "xor_x2", "xor_b64", "xor", "xor", "i64", "i64"},
    {swap, Element::i32, 1, "swap", "wrxchg", "xchg", "swap", "i32", "i32"},
    {swap, Element::i64, 1, "swap_x2", "wrxchg", "xchg", "swap", "i64", "i64"},
    {compare_swap, Element::i32, 1, "cmpswap", "cmpst_b32", "", "cmpswap", "i32", "i32"},
    {compare_swap, Element::i64, 1, "cmpswap_x2", "cmpst_b64", "", "cmpswap", "i64", "i64"},
    {increment, Element::i32, 1, "inc", "inc_u32", "uinc_wrap", "inc", "i32", "i32"},
    {increment, Element::i64, 1, "inc_x2", "inc_u64", "uinc_wrap", "inc", "i64", "i64"},
    {decrement, Element::i32, 1, "dec", "dec_u32", "udec_wrap", "dec", "i32", "i32"},
    {decrement, Element::i64, 1, "dec_x2", "dec_u64", "udec_wrap", "dec", "i64", "i64"},
    {add, Element::f32, 1, "add_f32", "add_f32", "fadd", "fadd", "float", "f32"},
    {add, Element::f64, 1, "add_f64", "add_f64", "fadd", "fadd", "double", "f64"},
    {Combine::min, Element::f64, 1, "min_f64", "min_f64", "fmin", "fmin", "double", "f64"},
    {Combine::max, Element::f64, 1, "max_f64", "max_f64", "fmax", "fmax", "double", "f64"},
    {Combine::min, Element::f32, 1, "", "min_f32", "fmin", "", "float", "f32"},
    {Combine::max, Element::f32, 1, "", "max_f32", "fmax", "", "float", "f32"},
    {add, Element::f16, 2, "pk_add_f16", "pk_add_f16", "fadd", "fadd", "<2 x half>", "v2f16"},
    {add, Element::bf16, 2, "pk_add_bf16", "pk_add_bf16", "fadd", "fadd", "<2 x bfloat>", "v2bf16"},
};

struct Way {
  std::string_view prefix;
  Addressing addressing;
  AtomSpace space;
  Immediate immediate;
  Counter counter;
  std::string_view pointer;
};
constexpr Way ways[] = {
    {"buffer_atomic_",
     Addressing::descriptor,
     AtomSpace::global,
     {0, 4095, 1},
     Counter::vm,
     "ptr addrspace(8)"},
    {"global_atomic_",
     Addressing::pointer,
     AtomSpace::global,
     {-4096, 4095, 1},
     Counter::vm,
     "ptr addrspace(1)"},
    {"flat_atomic_", Addressing::flat, AtomSpace::global, {0, 4095, 1}, Counter::vm_and_lgkm, "ptr"},
    {"ds_", Addressing::lds, AtomSpace::lds, {0, 65535, 1}, Counter::lgkm, "ptr addrspace(3)"},
};

// Those that CDNA2 has not got: sums by flat addresses other than f64, of pairs in LDS, and of pairs of bf16.
bool is_late(const Way& way, const Row& r) {
  if (r.element == Element::bf16) return true;
  if (way.addressing == Addressing::lds) return r.element == Element::f16;
  return way.addressing == Addressing::flat && (r.element == Element::f32 || r.element == Element::f16);
}

std::string name_of(const Way& way, const Row& r, bool returns, bool scopes) {
  if (way.addressing != Addressing::lds)
    return std::string(way.prefix) + std::string(r.memory) + (!returns ? "" : scopes ? " sc0" : " glc");
  const std::string width = r.element == Element::i64 ? "b64" : "b32";
  if (r.combine == swap) return "ds_wrxchg_rtn_" + width;
  // _rtn comes before the type: ds_add_rtn_u32, ds_pk_add_rtn_f16.
  std::string name(r.lds);
  if (returns) name.insert(name.rfind('_'), "_rtn");
  return "ds_" + name;
}

Atom atom_of(const Way& way, const Row& r, bool returns, bool scopes, TargetSet targets) {
  const int bits = codegen::bits(r.element) * r.values;
  Atom a;
  a.name = name_of(way, r, returns, scopes);
  a.kind = Atom::Kind::atomic;
  a.targets = targets;
  a.source = lane_side(AtomSpace::vector_registers, Addressing::none, bits);
  a.destination = lane_side(way.space, way.addressing, bits);
  a.bits = bits;
  a.alignment = bits / 8;
  a.immediate = way.immediate;
  a.combine = r.combine;
  a.element = r.element;
  a.returns = returns;
  a.counter = way.counter;
  a.in_order = way.addressing != Addressing::flat;
  const std::string type(r.type);
  if (way.addressing ==
      Addressing::descriptor) { // value (and compared value), descriptor, offset, scalar offset, cache policy
    a.emission = {"llvm.amdgcn.raw.ptr.buffer.atomic." + std::string(r.buffer) + "." + std::string(r.suffix),
                  type,
                  {type}};
    if (r.combine == compare_swap) a.emission.operands.push_back(type);
    for (const char* o : {"ptr addrspace(8)", "i32", "i32", "i32 0"}) a.emission.operands.emplace_back(o);
  } else if (r.combine == compare_swap) { // place, compared value, value
    a.emission = {"cmpxchg", type, {std::string(way.pointer), type, type}};
  } else {
    a.emission = {"atomicrmw " + std::string(r.ir), type, {std::string(way.pointer), type}};
  }
  return a;
}

} // namespace

void append_atomics(std::deque<Atom>& atoms) {
  for (const Way& way : ways)
    for (const Row& r : rows)
      for (const bool returns : {false, true}) {
        const bool in_lds = way.addressing == Addressing::lds;
        if (!in_lds && r.memory.empty()) continue;
        if (in_lds && r.combine == swap && !returns) continue; // ds_wrxchg always returns
        const TargetSet who = way.addressing == Addressing::descriptor && r.element == Element::bf16
                                  ? machine::with(&Target::buffer_adds_bf16)
                              : is_late(way, r) ? machine::with(&Target::adds_pairs)
                                                : machine::every_target;
        // What returns has another name by the target: the bit that says so is SC0 or GLC.
        for (const bool scopes : {true, false}) {
          const bool one_name = in_lds || !returns;
          const TargetSet targets = machine::targets_where(
              [&](const Target& t) { return who.contains(t) && (one_name || t.scopes == scopes); });
          if (targets == TargetSet{} || (one_name && !scopes)) continue;
          atoms.push_back(atom_of(way, r, returns, scopes, targets));
        }
      }
}

} // namespace inlay::codegen
