// Values in registers: constants, integers, floats, vectors, exchanges between lanes.
#include "generate.h"
#include "kernel_builder_impl.h"

namespace inlay::codegen {

// ------------------------------------------------------------------------------------------------ constants

Value KernelBuilder::constant(std::int64_t value, Type type) {
  Impl& s = live();
  llvm::Type* t = s.type(type);
  INLAY_CHECK(t->isIntOrIntVectorTy(), "an integer type, not " + to_string(type));
  return s.make(llvm::ConstantInt::get(t, std::uint64_t(value), true, true), type);
}
Value KernelBuilder::zero(Type type) {
  return live().make(llvm::Constant::getNullValue(live().type(type)), type);
}
Value KernelBuilder::float_constant(double value, Type type) {
  return live().make(llvm::ConstantFP::get(live().type(type), value), type);
}

std::optional<std::int64_t> KernelBuilder::known(Value a) const {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(live().get(a));
  return constant ? std::optional(constant->getSExtValue()) : std::nullopt;
}

// ------------------------------------------------------------------------------------------------- integers

#define INLAY_BINARY(name, create)                                                                           \
  Value KernelBuilder::name(Value a, Value b) {                                                              \
    live().same(a, b);                                                                                       \
    return live().make(live().ir.create(live().get(a), live().get(b)), a.type);                              \
  }
INLAY_BINARY(add, CreateAdd)
INLAY_BINARY(sub, CreateSub)
INLAY_BINARY(mul, CreateMul)
INLAY_BINARY(udiv, CreateUDiv)
INLAY_BINARY(urem, CreateURem)
INLAY_BINARY(bit_and, CreateAnd)
INLAY_BINARY(bit_or, CreateOr)
INLAY_BINARY(bit_xor, CreateXor)
INLAY_BINARY(shl, CreateShl)
INLAY_BINARY(lshr, CreateLShr)
INLAY_BINARY(ashr, CreateAShr)
INLAY_BINARY(fadd, CreateFAdd)
INLAY_BINARY(fsub, CreateFSub)
INLAY_BINARY(fmul, CreateFMul)
#undef INLAY_BINARY

#define INLAY_BINARY(name)                                                                                   \
  Value KernelBuilder::name(Value a, Value b) {                                                              \
    live().same(a, b);                                                                                       \
    return live().make(live().ir.CreateBinaryIntrinsic(intrinsic::name, live().get(a), live().get(b)),       \
                       a.type);                                                                              \
  }
INLAY_BINARY(umin)
INLAY_BINARY(umax)
INLAY_BINARY(smin)
INLAY_BINARY(smax)
#undef INLAY_BINARY

Value KernelBuilder::bit_xor(Value a, Value b, Value c) {
  if (!live().target.bitop3) return bit_xor(bit_xor(a, b), c);
  live().same(a, b), live().same(a, c);
  auto& ir = live().ir;
  const auto of_lane = [&](int lane) {
    std::vector<llvm::Value*> arguments;
    for (const Value v : {a, b, c}) arguments.push_back(live().get(a.type.lanes == 1 ? v : extract(v, lane)));
    arguments.push_back(ir.getInt32(0x96)); // bit 4a + 2b + c: whether an odd number of them is set
    return live().make(ir.CreateIntrinsic(intrinsic::amdgcn_bitop3, {ir.getInt32Ty()}, arguments),
                       Type::i32());
  };
  std::vector<Value> lanes;
  for (int lane = 0; lane < a.type.lanes; ++lane) lanes.push_back(of_lane(lane));
  return lanes.size() == 1 ? lanes[0] : pack(lanes);
}
Value KernelBuilder::umul_high(Value a, Value b) {
  live().same(a, b);
  auto& ir = live().ir;
  const Type wide = Type::i64(a.type.lanes);
  llvm::Value* product = ir.CreateMul(ir.CreateZExt(live().get(a), live().type(wide)),
                                      ir.CreateZExt(live().get(b), live().type(wide)));
  return live().make(ir.CreateTrunc(ir.CreateLShr(product, 32), live().type(a.type)), a.type);
}
Value KernelBuilder::popcount(Value a) {
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::ctpop, live().get(a)), a.type);
}
Value KernelBuilder::leading_zeros(Value a) {
  Impl& s = live();
  return s.make(s.ir.CreateBinaryIntrinsic(intrinsic::ctlz, s.get(a), s.ir.getFalse()), a.type);
}
Value KernelBuilder::trailing_zeros(Value a) {
  Impl& s = live();
  return s.make(s.ir.CreateBinaryIntrinsic(intrinsic::cttz, s.get(a), s.ir.getFalse()), a.type);
}
Value KernelBuilder::flag(Value condition) {
  const Type to = Type::i32(condition.type.lanes);
  return live().make(live().ir.CreateZExt(live().get(condition), live().type(to)), to);
}
Value KernelBuilder::choose(Value word, Value yes, Value no) {
  live().same(yes, no);
  const Value holds = compare(Compare::ne, word, zero(word.type));
  return live().make(live().ir.CreateSelect(live().get(holds), live().get(yes), live().get(no)), yes.type);
}

Value KernelBuilder::compare(Compare how, Value a, Value b) {
  live().same(a, b);
  INLAY_CHECK(live().get(a)->getType()->isIntOrIntVectorTy(),
              "integers to compare, not " + to_string(a.type));
  static constexpr llvm::CmpInst::Predicate predicates[] = {llvm::CmpInst::ICMP_EQ,  llvm::CmpInst::ICMP_NE,
                                                            llvm::CmpInst::ICMP_ULT, llvm::CmpInst::ICMP_ULE,
                                                            llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_SLE};
  return live().make(
      live().ir.CreateICmp(predicates[static_cast<std::size_t>(how)], live().get(a), live().get(b)),
      {Element::i1, a.type.lanes});
}

Value KernelBuilder::select(Value condition, Value yes, Value no) {
  live().same(yes, no);
  Impl::want(condition, Type::i1());
  return live().make(live().ir.CreateSelect(live().get(condition), live().get(yes), live().get(no)),
                     yes.type);
}

Value KernelBuilder::zext64(Value a) {
  Impl::want(a, Type::i32());
  return live().make(live().ir.CreateZExt(live().get(a), live().ir.getInt64Ty()), Type::i64());
}
Value KernelBuilder::trunc32(Value a) {
  Impl::want(a, Type::i64());
  return live().i32(live().ir.CreateTrunc(live().get(a), live().ir.getInt32Ty()));
}

Value KernelBuilder::nearest32(Value a) {
  auto& ir = live().ir;
  const Type type = Type::i32(a.type.lanes);
  Impl::want(a, Type::i64(a.type.lanes));
  const auto all = [&](unsigned n) { return llvm::ConstantInt::get(live().type(type), n); };
  llvm::Value* low = ir.CreateTrunc(live().get(a), live().type(type));
  llvm::Value* high = ir.CreateTrunc(ir.CreateLShr(live().get(a), 32), live().type(type));
  llvm::Value* fits = ir.CreateICmpEQ(high, ir.CreateAShr(low, all(31)));
  llvm::Value* end = ir.CreateXor(ir.CreateAShr(high, all(31)), all(0x7fffffff));
  return live().make(ir.CreateSelect(fits, low, end), type);
}

Value KernelBuilder::sext64(Value a) {
  const Type wide = Type::i64(a.type.lanes);
  Impl::want(a, Type::i32(a.type.lanes));
  return live().make(live().ir.CreateSExt(live().get(a), live().type(wide)), wide);
}

// -------------------------------------------------------------------------------------------- floating point

Value KernelBuilder::fma(Value a, Value b, Value c) {
  live().same(a, b), live().same(a, c);
  return live().make(live().ir.CreateIntrinsic(intrinsic::fma, {live().type(a.type)},
                                               {live().get(a), live().get(b), live().get(c)}),
                     a.type);
}
Value KernelBuilder::short_nan(Value a) {
  auto& ir = live().ir;
  INLAY_CHECK(a.type.element == Element::f32, "f32, not " + to_string(a.type));
  llvm::Value* v = live().get(a);
  llvm::Value* nan = llvm::ConstantFP::getQNaN(v->getType());
  return live().make(ir.CreateSelect(ir.CreateFCmpUNO(v, v), nan, v), a.type);
}

namespace {
const llvm::FastMathFlags no_nan = [] {
  llvm::FastMathFlags flags;
  flags.setNoNaNs();
  return flags;
}();
} // namespace

Value KernelBuilder::fmax(Value a, Value b) {
  live().same(a, b);
  return live().make(live().ir.CreateBinaryIntrinsic(intrinsic::maxnum, live().get(a), live().get(b)),
                     a.type);
}
Value KernelBuilder::fmin(Value a, Value b) {
  live().same(a, b);
  return live().make(live().ir.CreateBinaryIntrinsic(intrinsic::minnum, live().get(a), live().get(b)),
                     a.type);
}
Value KernelBuilder::greater_of(Value a, Value b) {
  live().same(a, b);
  return live().make(live().ir.CreateBinaryIntrinsic(intrinsic::maxnum, live().get(a), live().get(b), no_nan),
                     a.type);
}
Value KernelBuilder::less_of(Value a, Value b) {
  live().same(a, b);
  return live().make(live().ir.CreateBinaryIntrinsic(intrinsic::minnum, live().get(a), live().get(b), no_nan),
                     a.type);
}
Value KernelBuilder::fence(Value a) {
  return live().make(live().ir.CreateArithmeticFence(live().get(a), live().get(a)->getType()), a.type);
}
Value KernelBuilder::at_least(Value a, Value b, Value yes, Value no) {
  live().same(a, b);
  live().same(yes, no);
  auto& ir = live().ir;
  return live().make(
      ir.CreateSelect(ir.CreateFCmpOGE(live().get(a), live().get(b)), live().get(yes), live().get(no)),
      yes.type);
}
Value KernelBuilder::round_even(Value a) {
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::roundeven, live().get(a)), a.type);
}
Value KernelBuilder::truncate(Value a) {
  const Type to = Type::i32(a.type.lanes);
  return live().make(live().ir.CreateIntrinsic(intrinsic::fptosi_sat, {live().type(to), live().type(a.type)},
                                               {live().get(a)}),
                     to);
}
Value KernelBuilder::unsigned_to_float(Value a) {
  const Type to = Type::f32(a.type.lanes);
  return live().make(live().ir.CreateUIToFP(live().get(a), live().type(to)), to);
}
Value KernelBuilder::sqrt(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_sqrt, live().get(a)), a.type);
}
Value KernelBuilder::fdiv(Value a, Value b) {
  live().same(a, b);
  return live().make(live().ir.CreateFDiv(live().get(a), live().get(b)), a.type);
}
Value KernelBuilder::rounded_sqrt(Value a) {
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::sqrt, live().get(a)), a.type);
}
Value KernelBuilder::log2(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_log, live().get(a)), a.type);
}
Value KernelBuilder::exp2(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_exp2, live().get(a)), a.type);
}
Value KernelBuilder::rcp(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_rcp, live().get(a)), a.type);
}
Value KernelBuilder::rsqrt(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_rsq, live().get(a)), a.type);
}

// f32 to bytes, four to a dword.
Value KernelBuilder::to_bytes(Value a, Element element) {
  const Type to{element, a.type.lanes};
  auto& ir = live().ir;
  if (element == Element::i8) {
    const Type words = Type::i32(a.type.lanes);
    const auto all = [&](int n) {
      return llvm::ConstantInt::get(live().type(words), static_cast<std::uint64_t>(n), true);
    };
    llvm::Value* whole = ir.CreateUnaryIntrinsic(intrinsic::roundeven, live().get(a));
    llvm::Value* i =
        ir.CreateIntrinsic(intrinsic::fptosi_sat, {live().type(words), live().type(a.type)}, {whole});
    i = ir.CreateBinaryIntrinsic(intrinsic::smax, i, all(-128));
    i = ir.CreateBinaryIntrinsic(intrinsic::smin, i, all(127));
    return live().make(ir.CreateTrunc(i, live().type(to)), to);
  }
  if (!is_float8(live().target, element))
    throw CodegenError("no instruction converts to " + to_string(element),
                       "on " + std::string(live().target.name), float8_names(live().target));
  const bool fp8 = element == codegen::fp8(live().target);
  std::vector<Value> words;
  for (int first = 0; first < a.type.lanes; first += 4) {
    llvm::Value* word = ir.getInt32(0);
    for (int half = 0; half < 2; ++half) {
      const int lane = first + 2 * half;
      if (lane >= a.type.lanes) break;
      const Value x = extract(a, lane), y = lane + 1 < a.type.lanes ? extract(a, lane + 1) : x;
      word = ir.CreateIntrinsic(fp8 ? intrinsic::amdgcn_cvt_pk_fp8_f32 : intrinsic::amdgcn_cvt_pk_bf8_f32, {},
                                {live().get(x), live().get(y), word, ir.getInt1(half == 1)});
    }
    words.push_back(live().i32(word));
  }
  const Value all = pack(words);
  if (a.type.lanes % 4 == 0) return bitcast(all, to);
  INLAY_CHECK(a.type.lanes < 4, "one word, or whole ones");
  llvm::Value* part = ir.CreateTrunc(live().get(all), ir.getIntNTy(static_cast<unsigned>(8 * a.type.lanes)));
  return live().make(ir.CreateBitCast(part, live().type(to)), to);
}

// Bytes to f32, exactly: a word of four at a time.
Value KernelBuilder::from_bytes(Value a) {
  auto& ir = live().ir;
  const Type to{Element::f32, a.type.lanes};
  if (a.type.element == Element::i8 && a.type.lanes % 4 == 0) { // by words: conversions read bytes of them
    llvm::Value* words = live().get(bitcast(a, Type::i32(a.type.lanes / 4)));
    std::vector<Value> each;
    for (int e = 0; e < a.type.lanes; ++e) {
      llvm::Value* word = a.type.lanes == 4 ? words : ir.CreateExtractElement(words, unsigned(e / 4));
      llvm::Value* byte = ir.CreateAShr(ir.CreateShl(word, 24 - 8 * (e % 4)), 24);
      each.push_back(live().make(ir.CreateSIToFP(byte, live().type({Element::f32, 1})), {Element::f32, 1}));
    }
    return pack(each);
  }
  if (a.type.element == Element::i8) {
    llvm::Value* wide = ir.CreateSExt(live().get(a), live().type(Type::i32(a.type.lanes)));
    return live().make(ir.CreateSIToFP(wide, live().type(to)), to);
  }
  INLAY_CHECK(is_float8(live().target, a.type.element), "a type that the target converts");
  const bool fp8 = a.type.element == codegen::fp8(live().target);
  std::vector<Value> pairs;
  for (int first = 0; first < a.type.lanes; first += 4) {
    const int count = std::min(4, a.type.lanes - first);
    llvm::Value* part = live().get(slice(a, first, count));
    llvm::Value* word = ir.CreateZExtOrBitCast(
        ir.CreateBitCast(part, ir.getIntNTy(static_cast<unsigned>(8 * count))), ir.getInt32Ty());
    for (int half = 0; 2 * half < count; ++half) {
      const Value pair = live().make(
          ir.CreateIntrinsic(fp8 ? intrinsic::amdgcn_cvt_pk_f32_fp8 : intrinsic::amdgcn_cvt_pk_f32_bf8, {},
                             {word, ir.getInt1(half == 1)}),
          {Element::f32, 2});
      pairs.push_back(slice(pair, 0, std::min(2, count - 2 * half)));
    }
  }
  return pack(pairs);
}

Value KernelBuilder::convert(Value a, Element element, Nan nan) {
  const Type to{element, a.type.lanes};
  if (a.type == to) return a;
  if (a.type.element == Element::f32 && bits(element) == 8) return to_bytes(a, element);
  if (bits(a.type.element) == 8 && element == Element::f32) return from_bytes(a);
  llvm::Type* t = live().type(to);
  llvm::Value* v = live().get(a);
  if (a.type.element == Element::i32 && element == Element::f32)
    return live().make(live().ir.CreateSIToFP(v, t), to);
  INLAY_CHECK(v->getType()->isFPOrFPVectorTy() && t->isFPOrFPVectorTy(),
              "a conversion between floating-point types, not " + to_string(a.type) + " to " + to_string(to));
  INLAY_CHECK(bits(a.type.element) != bits(element), "a conversion that widens or narrows");
  if (a.type.element == Element::f32 && element == Element::bf16 && !live().target.bitop3 &&
      (a.type.lanes > 1 || nan == Nan::any)) {
    // What LLVM makes of it but for a NaN's payload, each step for all elements: one element after another waits for its
    // comparison every time.
    auto& ir = live().ir;
    const auto all = [&](unsigned n) {
      return llvm::ConstantInt::get(live().type(Type::i32(a.type.lanes)), n);
    };
    llvm::Value* x = ir.CreateBitCast(v, live().type(Type::i32(a.type.lanes)));
    llvm::Value* even = ir.CreateAnd(ir.CreateLShr(x, all(16)), all(1));
    llvm::Value* rounded = ir.CreateAdd(ir.CreateAdd(even, x), all(0x7fff));
    llvm::Value* word = rounded;
    if (nan == Nan::kept) word = ir.CreateSelect(ir.CreateFCmpUNO(v, v), all(0x7fc00000), rounded);
    llvm::Value* half =
        ir.CreateTrunc(ir.CreateLShr(word, all(16)), live().type({Element::i16, a.type.lanes}));
    return live().make(ir.CreateBitCast(half, t), to);
  }
  if (a.type.element == Element::bf16) live().has_bf16 = true;
  // What LLVM 22 does not make of f32 as it is when it becomes f16: it takes bf16 for a part of f16 and computes what is of bf16 in f16,
  // where 2^17 / 2^10 is an infinity. A product with a constant would be one of f16, too, which validation does not read: `mend` alone, after
  // the passes that make it so, does not keep it in f32. Of two f16 a product is one of f16.
  if (a.type.element == Element::f32 && element == Element::f16 && (live().has_bf16 || is_product(v, false)))
    v = live().get(fence(a));
  return live().make(live().ir.CreateFPCast(v, t), to);
}

// -------------------------------------------------------------------------------------------------- vectors

Value KernelBuilder::extract(Value vector, int lane) {
  INLAY_CHECK(lane >= 0 && lane < vector.type.lanes, "lane of " + to_string(vector.type));
  if (vector.type.lanes == 1) return vector;
  return live().make(live().ir.CreateExtractElement(live().get(vector), unsigned(lane)),
                     {vector.type.element, 1});
}

Value KernelBuilder::slice(Value vector, int first, int lanes) {
  INLAY_CHECK(first >= 0 && lanes >= 1 && first + lanes <= vector.type.lanes,
              "lanes of " + to_string(vector.type));
  if (lanes == vector.type.lanes) return vector;
  if (lanes == 1) return extract(vector, first);
  std::vector<int> mask(static_cast<std::size_t>(lanes));
  for (int i = 0; i < lanes; ++i) mask[std::size_t(i)] = first + i;
  return live().make(live().ir.CreateShuffleVector(live().get(vector), mask), {vector.type.element, lanes});
}

Value KernelBuilder::pack(std::span<const Value> parts) {
  INLAY_CHECK(!parts.empty(), "something to pack");
  if (parts.size() == 1) return parts[0];
  int lanes = 0;
  for (const Value& p : parts) {
    INLAY_CHECK(p.type.element == parts[0].type.element, "parts of one element type");
    lanes += p.type.lanes;
  }
  const Type type{parts[0].type.element, lanes};
  llvm::Value* v = llvm::PoisonValue::get(live().type(type));
  unsigned at = 0;
  for (const Value& p : parts)
    for (int i = 0; i < p.type.lanes; ++i)
      v = live().ir.CreateInsertElement(v, live().get(extract(p, i)), at++);
  return live().make(v, type);
}

Value KernelBuilder::bitcast(Value a, Type type) {
  INLAY_CHECK(a.type.bytes() == type.bytes(),
              "types of one size: " + to_string(a.type) + " and " + to_string(type));
  return live().make(live().cast(live().get(a), type), type);
}

Value KernelBuilder::words(Value a) {
  const int size = bits(a.type.element), words = (a.type.lanes * size + 31) / 32;
  Type whole = a.type;
  whole.lanes = 32 * words / size;
  if (whole.lanes != a.type.lanes) {
    llvm::Value* v = llvm::PoisonValue::get(live().type(whole));
    for (int i = 0; i < a.type.lanes; ++i)
      v = live().ir.CreateInsertElement(v, live().get(extract(a, i)), static_cast<unsigned>(i));
    a = live().make(v, whole);
  }
  return bitcast(a, Type::i32(words));
}

// ---------------------------------------------------------------------------------------------------- lanes

Value KernelBuilder::readfirstlane(Value a) {
  Impl::want(a, Type::i32());
  return live().i32(
      live().ir.CreateIntrinsic(intrinsic::amdgcn_readfirstlane, {live().ir.getInt32Ty()}, {live().get(a)}));
}

Value KernelBuilder::lane_xor(Value a, int mask) {
  Impl& s = live();
  INLAY_CHECK(bits(a.type.element) == 32 && a.type.lanes == 1, "a 32-bit value");
  INLAY_CHECK(mask > 0 && mask < s.target.wave_size, "a lane mask");
  llvm::Value* v = s.cast(s.get(a), Type::i32());
  llvm::Value* moved = nullptr;
  if (mask < 16) {
    // Inside rows of 16 lanes: data-parallel primitives, each at the cost of a move or of nothing. row_ror:8 is ^ 8,
    // row_half_mirror ^ 7, row_mirror ^ 15; a quad permutation does the rest.
    const auto move = [&](llvm::Value* x, unsigned control) {
      return s.ir.CreateIntrinsic(
          intrinsic::amdgcn_update_dpp, {s.ir.getInt32Ty()},
          {x, x, s.ir.getInt32(control), s.ir.getInt32(0xf), s.ir.getInt32(0xf), s.ir.getTrue()});
    };
    moved = v;
    unsigned rest = unsigned(mask);
    if (rest >= 12) {
      moved = move(moved, 0x140), rest ^= 15;
    } else if (rest >= 8) {
      moved = move(moved, 0x128), rest ^= 8;
    } else if (rest >= 4) {
      moved = move(moved, 0x141), rest ^= 7;
    }
    unsigned control = 0;
    for (unsigned lane = 0; lane < 4; ++lane) control |= (lane ^ rest) << (2 * lane);
    if (rest != 0) moved = move(moved, control);
  } else if (mask < 32) {
    // Inside halves of the wave: ds_swizzle in its bit-mask mode, xor << 10 | or << 5 | and.
    moved = s.ir.CreateIntrinsic(intrinsic::amdgcn_ds_swizzle, {},
                                 {v, s.ir.getInt32((unsigned(mask) << 10) | 0x1f)});
  } else {
    llvm::Value* all = s.ir.getInt32(~0u);
    llvm::Value* low = s.ir.CreateIntrinsic(intrinsic::amdgcn_mbcnt_lo, {}, {all, s.ir.getInt32(0)});
    llvm::Value* lane = s.ir.CreateIntrinsic(intrinsic::amdgcn_mbcnt_hi, {}, {all, low});
    llvm::Value* from = s.ir.CreateShl(s.ir.CreateXor(lane, s.ir.getInt32(unsigned(mask))), 2);
    moved = s.ir.CreateIntrinsic(intrinsic::amdgcn_ds_bpermute, {}, {from, v});
  }
  return s.make(s.cast(moved, a.type), a.type);
}

Value KernelBuilder::lanes_of(int mask) {
  Impl& s = live();
  std::uint64_t lanes = 0;
  for (int lane = 0; lane < s.target.wave_size; ++lane)
    if ((lane & mask) != 0) lanes |= std::uint64_t{1} << lane;
  return s.make(
      s.ir.CreateIntrinsic(intrinsic::amdgcn_inverse_ballot, {s.ir.getInt64Ty()}, {s.ir.getInt64(lanes)}),
      Type::i1());
}

std::pair<Value, Value> KernelBuilder::lane_exchange(Value a, Value b, int mask) {
  Impl& s = live();
  INLAY_CHECK(a.type == Type::i32() && b.type == Type::i32(), "32-bit values");
  if (s.target.swaps_lanes && (mask == 16 || mask == 32)) {
    llvm::Value* both = s.ir.CreateIntrinsic(mask == 16 ? intrinsic::amdgcn_permlane16_swap
                                                        : intrinsic::amdgcn_permlane32_swap,
                                             {}, {s.get(a), s.get(b), s.ir.getFalse(), s.ir.getFalse()});
    return {s.make(s.ir.CreateExtractValue(both, 0), a.type),
            s.make(s.ir.CreateExtractValue(both, 1), b.type)};
  }
  const Value upper = lanes_of(mask);
  const Value got = lane_xor(select(upper, a, b), mask);
  return {select(upper, got, a), select(upper, b, got)};
}

} // namespace inlay::codegen
