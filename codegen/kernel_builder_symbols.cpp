// Symbolic expressions as values of 32 bits.
#include "kernel_builder_impl.h"

namespace inlay::codegen {

// -------------------------------------------------------------------------------------------------- symbols

void KernelBuilder::bind(Sym symbol, Value value) {
  Impl::want(value, Type::i32());
  const auto atom = symbol.as_atom();
  INLAY_CHECK(atom && symbol.context()->atom(*atom).kind == AtomKind::symbol, "a single symbol");
  live().of_one_context(symbol);
  if (live().bound(*atom))
    throw CodegenError("a symbol is bound twice", "symbol " + symbol.context()->atom(*atom).name,
                       "code lowered from it would keep the first value");
  live().symbols.back()[*atom] = value;
}

namespace {

constexpr std::int64_t i32_min = INT32_MIN, u32_max = UINT32_MAX;

// Is the value known to be in [low, high]?
bool known_within(Sym a, std::int64_t low, std::int64_t high) {
  const Interval r = interval(a);
  return r.lower && r.upper && r.lower->value() >= low && r.upper->value() <= high;
}
bool all_within(std::initializer_list<Sym> values, std::int64_t low, std::int64_t high) {
  return std::all_of(values.begin(), values.end(), [&](Sym a) { return known_within(a, low, high); });
}
bool known_nonnegative(Sym a) {
  const Interval r = interval(a);
  return r.lower && r.lower->value() >= 0;
}
std::optional<int> log2_of(Sym a) {
  const auto c = a.constant();
  if (!c || c->value() <= 0 || (c->value() & (c->value() - 1)) != 0) return std::nullopt;
  return __builtin_ctzll(static_cast<unsigned long long>(c->value()));
}
enum class Sign : std::uint8_t { no, yes };
bool fits(Sym a) { return known_within(a, 0, u32_max) || known_within(a, i32_min, INT32_MAX); }
// The same value, as one whose bounds are known to fit where this one's are not: n - i - min(n - i, m - i) is max(0, n - m).
Sym fitting(Sym a) {
  if (fits(a)) return a;
  for (const Term& t : a.terms()) {
    const Int c = t.coefficient;
    if (t.factors().size() != 1 || t.factors()[0].power != 1 || (c != Int(1) && c != Int(-1))) continue;
    const SymAtom& atom = a.context()->atom(t.factors()[0].atom);
    if ((atom.kind != AtomKind::min && atom.kind != AtomKind::max) || atom.operands.size() != 2) continue;
    const Sym rest = a - Sym(c) * a.context()->value(t.factors()[0].atom),
              x = rest + Sym(c) * atom.operands[0], y = rest + Sym(c) * atom.operands[1];
    const Sym same = (atom.kind == AtomKind::min) == (c == Int(1)) ? min(x, y) : max(x, y);
    if (fits(same)) return same;
  }
  return a;
}
// a = first - second, neither with a term below 0.
std::pair<Sym, Sym> parts_of(Sym a) {
  Sym less = Sym(std::min(Int(0), a.constant_term()));
  for (const Term& t : a.terms())
    if (t.coefficient < Int(0)) {
      Sym of = Sym(t.coefficient);
      for (const Factor& f : t.factors())
        for (std::uint32_t n = 0; n < f.power; ++n) of = of * a.context()->value(f.atom);
      less += of;
    }
  return {a - less, Sym(0) - less};
}
// Two values as two that are as much apart, where their difference may need more than 32 bits.
void fit_both(Sym& a, Sym& b) {
  a = fitting(a), b = fitting(b);
  if (fits(a) && fits(b)) return;
  const auto [more, less] = parts_of(b - a);
  if (fits(more) && fits(less)) a = less, b = more;
}
// How these values lie in 32 bits, so that they can be compared, divided and shifted right. Sums, products, shifts left and
// bits need no such thing: their low 32 bits are those of their operands'.
Sign sign_in_32_bits(std::initializer_list<Sym> values) {
  if (all_within(values, 0, u32_max)) return Sign::no;
  if (all_within(values, i32_min, INT32_MAX)) return Sign::yes;
  const auto text = [](const std::optional<Int>& bound, const char* none) {
    return bound ? std::to_string(bound->value()) : none;
  };
  std::string lines;
  for (const Sym& a : values) {
    const Interval r = interval(a);
    lines += (lines.empty() ? "value  " : "\nvalue  ") + to_string(a) + "   from " + text(r.lower, "-oo") +
             " to " + text(r.upper, "oo");
  }
  throw CodegenError("an address expression needs more than 32 bits", lines,
                     "give its symbols narrower ranges");
}

} // namespace

Value KernelBuilder::lower(Sym value) {
  value = fitting(value);
  (void)sign_in_32_bits({value});
  return lower_low(value);
}
Value KernelBuilder::lower_low(Sym value) {
  live().of_one_context(value);
  return live().lower(value);
}

Value KernelBuilder::to_float(Sym a) {
  const bool is_signed = sign_in_32_bits({a}) == Sign::yes;
  const Value v = lower_low(a);
  auto& ir = live().ir;
  return live().make(is_signed ? ir.CreateSIToFP(live().get(v), ir.getFloatTy())
                               : ir.CreateUIToFP(live().get(v), ir.getFloatTy()),
                     Type::f32());
}
Value KernelBuilder::less(Sym a, Sym b) {
  fit_both(a, b);
  const bool is_signed = sign_in_32_bits({a, b}) == Sign::yes;
  return compare(is_signed ? Compare::slt : Compare::ult, lower_low(a), lower_low(b));
}
Value KernelBuilder::at_most(Sym a, Sym b) {
  fit_both(a, b);
  const bool is_signed = sign_in_32_bits({a, b}) == Sign::yes;
  return compare(is_signed ? Compare::sle : Compare::ule, lower_low(a), lower_low(b));
}

Value KernelBuilder::Impl::lower(Sym a) {
  if (const auto c = a.constant()) {
    return i32(ir.getInt32(static_cast<std::uint32_t>(c->value())));
  }
  for (auto region = lowered.rbegin(); region != lowered.rend(); ++region)
    if (const auto found = region->find(a); found != region->end()) return found->second;

  Value result;
  if (const auto atom = a.as_atom()) {
    result = lower_atom(*a.context(), *atom);
  } else {
    // When no term can be negative, no partial result exceeds the sum, and nothing wraps if the sum does not.
    bool grows = known_within(a, 0, u32_max) && a.constant_term().value() >= 0;
    for (const Term& t : a.terms()) {
      grows = grows && t.coefficient.value() > 0;
      for (const Factor& f : t.factors()) grows = grows && known_nonnegative(a.context()->value(f.atom));
    }
    llvm::Value* sum = nullptr;
    for (const Term& t : a.terms()) {
      llvm::Value* p = nullptr;
      for (const Factor& f : t.factors())
        for (std::uint32_t n = 0; n < f.power; ++n) {
          llvm::Value* v = get(lower(a.context()->value(f.atom)));
          p = p ? ir.CreateMul(p, v, "", grows, false) : v;
        }
      const std::int64_t k = t.coefficient.value();
      if (k > 0 && k <= u32_max && (k & (k - 1)) == 0) {
        p = ir.CreateShl(p, ir.getInt32(unsigned(__builtin_ctzll(std::uint64_t(k)))), "", grows);
      } else {
        p = ir.CreateMul(p, ir.getInt32(static_cast<std::uint32_t>(k)), "", grows, false);
      }
      sum = sum ? ir.CreateAdd(sum, p, "", grows, false) : p;
    }
    if (const std::int64_t c = a.constant_term().value(); c != 0)
      sum = ir.CreateAdd(sum, ir.getInt32(static_cast<std::uint32_t>(c)), "", grows, false);
    result = i32(sum);
  }
  lowered.back().emplace(a, result);
  return result;
}

Value KernelBuilder::Impl::lower_atom(SymContext& symbols_of, AtomId id) {
  SymAtom atom = symbols_of.atom(id);
  for (Sym& x : atom.operands) x = fitting(x);
  if (atom.kind == AtomKind::max && atom.operands[0] == Sym(0) && !fits(atom.operands[1]))
    if (const auto [more, less] = parts_of(atom.operands[1]); fits(more) && fits(less))
      return lower(more - min(more, less));
  const auto operand = [&](std::size_t k) { return get(lower(atom.operands[k])); };
  const auto flag = [&](llvm::Value* condition) { return i32(ir.CreateZExt(condition, ir.getInt32Ty())); };
  const auto is_signed = [&] { return sign_in_32_bits({atom.operands[0], atom.operands[1]}) == Sign::yes; };
  const auto shift = [&] {
    if (!known_within(atom.operands[1], 0, 31))
      throw CodegenError("a shift by a number that may not be 0 to 31",
                         "number " + to_string(atom.operands[1]));
    return operand(1);
  };
  switch (atom.kind) {
  case AtomKind::symbol: {
    const Value* value = bound(id);
    INLAY_CHECK(value, "a value bound to the symbol " + atom.name);
    return *value;
  }
  case AtomKind::floor_div: {
    const Sign sign = sign_in_32_bits({atom.operands[0]});
    if (const auto power = log2_of(atom.operands[1])) // arithmetic shifts round down, as floor division does
      return i32(sign == Sign::no ? ir.CreateLShr(operand(0), unsigned(*power))
                                  : ir.CreateAShr(operand(0), unsigned(*power)));
    if (is_signed())
      throw CodegenError("a division whose sign is not known",
                         "in     " + to_string(atom.operands[0]) + " / " + to_string(atom.operands[1]),
                         "give the symbols ranges from 0 on");
    return i32(ir.CreateUDiv(operand(0), operand(1)));
  }
  case AtomKind::mod: {
    if (const auto power = log2_of(atom.operands[1]))
      return i32(ir.CreateAnd(operand(0), ir.getInt32((1u << unsigned(*power)) - 1)));
    if (is_signed())
      throw CodegenError("a remainder whose sign is not known", "in     an address expression",
                         "give the symbols ranges from 0 on");
    return i32(ir.CreateURem(operand(0), operand(1)));
  }
  case AtomKind::min:
  case AtomKind::max: { // compare and select, which LLVM folds and recognises
    // min(n - i, m + 1 - i) is min(n, m + 1) - i: the ends may be compared where their distances need more than 32 bits.
    if (!all_within({atom.operands[0], atom.operands[1]}, 0, u32_max) &&
        !all_within({atom.operands[0], atom.operands[1]}, i32_min, INT32_MAX)) {
      const auto [x, less] = parts_of(atom.operands[0]);
      const auto [y, as_much] = parts_of(atom.operands[1]);
      if (less == as_much && !(less == Sym(0)))
        return lower((atom.kind == AtomKind::min ? min(x, y) : max(x, y)) - less);
    }
    llvm::Value *a = operand(0), *b = operand(1);
    llvm::Value* less = is_signed() ? ir.CreateICmpSLT(a, b) : ir.CreateICmpULT(a, b);
    return i32(atom.kind == AtomKind::min ? ir.CreateSelect(less, a, b) : ir.CreateSelect(less, b, a));
  }
  case AtomKind::bit_xor: return i32(ir.CreateXor(operand(0), operand(1)));
  case AtomKind::bit_and: return i32(ir.CreateAnd(operand(0), operand(1)));
  case AtomKind::bit_or: return i32(ir.CreateOr(operand(0), operand(1)));
  case AtomKind::shift_left: return i32(ir.CreateShl(operand(0), shift()));
  case AtomKind::shift_right:
    return i32(sign_in_32_bits({atom.operands[0]}) == Sign::no ? ir.CreateLShr(operand(0), shift())
                                                               : ir.CreateAShr(operand(0), shift()));
  case AtomKind::select:
    (void)sign_in_32_bits({atom.operands[0]});
    return i32(ir.CreateSelect(ir.CreateICmpNE(operand(0), ir.getInt32(0)), operand(1), operand(2)));
  case AtomKind::less_equal:
    return flag(is_signed() ? ir.CreateICmpSLE(operand(0), operand(1))
                            : ir.CreateICmpULE(operand(0), operand(1)));
  case AtomKind::equal:
    (void)is_signed(); // both in one range
    return flag(ir.CreateICmpEQ(operand(0), operand(1)));
  }
  throw InternalError("unknown atom");
}

} // namespace inlay::codegen
