#include "atom_names.h"
#ifdef INLAY_CLI_CODEGEN
#include "atom_pictures.h"
#include <inlay/codegen/error.h>
#endif

#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <charconv>

namespace inlay::cli {
namespace {

Value record(std::string_view name, const IntTuple& shape, const Layout& threads, const Layout& a,
             const Layout& b, const Layout& c) {
  return Record{{"name", std::string(name)},
                {"shape_mnk", Value(shape)},
                {"thrid", threads},
                {"A", a},
                {"B", b},
                {"C", c}};
}

bool take(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}
std::optional<int> take_number(std::string_view& text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || n < 1 || n > 1024) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return n;
}

// Elements of a 32-bit register (one of a double's two), by CuTe's name of the type.
int per_register(std::string_view type) {
  constexpr std::pair<std::string_view, int> types[] = {{"F16", 2}, {"BF16", 2}, {"TF32", 1}, {"F64", 1},
                                                        {"S8", 4},  {"U8", 4},   {"S4", 8},   {"U4", 8},
                                                        {"U1", 32}, {"E4M3", 4}, {"E5M2", 4}, {"F8", 4}};
  for (const auto& [name, n] : types)
    if (type == name) return n;
  return 0;
}
std::string_view take_type(std::string_view& text) {
  for (const std::string_view type :
       {"E4M3", "E5M2", "TF32", "BF16", "F16", "F32", "F64", "S32", "S8", "U8", "S4", "U4", "U1"})
    if (take(text, type)) return type;
  return {};
}

// ((4,8),(v,2,r)) with a level left out where its extent is 1.
Layout operand(int v, bool rows, int r, int lane, int register_rows) {
  std::vector<IntTuple> extents, strides;
  const auto level = [&](int extent, int stride) {
    if (extent > 1) extents.emplace_back(Int(extent)), strides.emplace_back(Int(stride));
  };
  level(v, register_rows);
  if (rows) level(2, 8);
  level(r, 4 * v * register_rows);
  const auto tuple = [](const std::vector<IntTuple>& t, Int single) {
    return t.empty() ? IntTuple(single) : t.size() == 1 ? t[0] : IntTuple::of(t);
  };
  return Layout::from(IntTuple::of({IntTuple::of({Int(4), Int(8)}), tuple(extents, 1)}),
                      IntTuple::of({IntTuple::of({Int(lane), Int(1)}), tuple(strides, 0)}));
}

// mma.sync of a warp (PTX ISA, "Matrix Fragments for mma.m16n8k8" and its relatives): lane l holds row l / 4, and of a row the
// elements of register l % 4; further registers are 8 rows below, then the next 4 registers of the row. SM70's 8x8x4 is of a quarter
// of a warp and has a table of its own.
std::optional<Value> nvidia(std::string_view name) {
  std::string_view rest = name;
  if (name == "SM70_8x8x4_F32F16F16F32_TN")
    return record(name, parse_int_tuple("(8,8,4)"), parse_layout("(4,2):(1,16)"), parse_layout("(8,4):(1,8)"),
                  parse_layout("(8,4):(1,8)"), parse_layout("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))"));
  if (!take(rest, "SM")) return std::nullopt;
  const auto target = take_number(rest);
  if (!target || *target < 75 || !take(rest, "_")) return std::nullopt;
  const auto m = take_number(rest);
  if (!m || !take(rest, "x")) return std::nullopt;
  const auto n = take_number(rest);
  if (!n || !take(rest, "x")) return std::nullopt;
  const auto k = take_number(rest);
  if (!k || !take(rest, "_") || take_type(rest).empty()) return std::nullopt;
  const std::string_view a = take_type(rest), b = take_type(rest), c = take_type(rest);
  const int va = per_register(a), vb = per_register(b);
  if (va == 0 || va != vb || c.empty() || rest.substr(0, 3) != "_TN") return std::nullopt;
  if ((*m != 16 && *m != 8) || *n != 8 || *k % (4 * va) != 0) return std::nullopt;
  const int r = *k / (4 * va);
  const bool rows = *m == 16;
  return record(name, IntTuple::of({Int(*m), Int(*n), Int(*k)}), Layout(Int(32), 1),
                operand(va, rows, r, *m * va, *m), operand(va, false, r, *n * va, *n),
                operand(2, rows, 1, *m * 2, *m));
}

std::optional<Value> amd(std::string_view name) {
#ifdef INLAY_CLI_CODEGEN
  std::string wanted(name);
  if (wanted.rfind("mfma_", 0) == 0) {
    std::string_view shape = name.substr(5);
    const bool by_shape = !shape.empty() && shape[0] >= '0' && shape[0] <= '9';
    wanted = by_shape ? std::string(shape) : "v_" + wanted;
  }
  if (wanted.rfind("v_mfma_", 0) != 0 && wanted.rfind("v_smfmac_", 0) != 0 &&
      (wanted.empty() || wanted[0] < '0' || wanted[0] > '9'))
    return std::nullopt;
  const codegen::Atom& atom = matrix_instruction(wanted);
  const codegen::Mma& mma = *atom.mma;
  if (mma.blocks != 1 || mma.sparse)
    throw codegen::CodegenError("an instruction of several products or of a sparse A is no single tile",
                                "given  " + wanted, "`inlay atoms --kind mma` lists the others");
  const MfmaOperands o = flat_operands(atom);
  return record(atom.name, IntTuple::of({Int(mma.m), Int(mma.n), Int(mma.k)}), Layout(Int(64), 1), o.a, o.b,
                o.c);
#else
  (void)name;
  return std::nullopt;
#endif
}

} // namespace

const NameLookup& atom_names() {
  static const NameLookup names = [](std::string_view name) {
    if (auto v = nvidia(name)) return v;
    return amd(name);
  };
  return names;
}

} // namespace inlay::cli
