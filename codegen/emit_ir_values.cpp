// What registers hold: maps, folds, conversions, operands of matrix products.
#include "emitter.h"

#include "integer_sums.h"
#include <inlay/codegen/top_network.h>

namespace inlay::codegen {

Value Emitter::to_store(const Reg& r, Element element) {
  for (const auto& [from, v] : rounded_)
    if (from.first == r.id && from.second <= r.first && r.first + r.count <= from.second + v.type.lanes &&
        v.type.element == element)
      return k.slice(v, r.first - from.second, r.count);
  const Value v = stay(r);
  if (element == Element::i64 && v.type.element == Element::i32) return k.sext64(v);
  return v.type.element == element ? v : k.convert(to_real(v), element);
}

// An operand of a product from its halves, as dwords.
Value Emitter::operand(const Inst& i, std::size_t which) {
  std::vector<Value> halves;
  for (const std::size_t h : {2 * which, 2 * which + 1}) {
    const Value v = use(i.uses[h]);
    halves.push_back(k.bitcast(v, Type::i32(v.type.bytes() / 4)));
  }
  return k.pack(halves);
}

Value Emitter::scaled_product(const Inst& i) {
  const auto scale = [&](const Reg& r) { // one of the bytes of a register
    const Value all = whole(r);
    const int from = r.first / 4 * 4, has = std::min(4, all.type.lanes - from);
    std::vector<Value> bytes = {k.slice(all, from, has)};
    if (has < 4) bytes.push_back(k.constant(0, {all.type.element, 4 - has})); // nobody looks at them
    return KernelBuilder::Scale{k.bitcast(k.pack(bytes), Type::i32()), r.first % 4};
  };
  const std::size_t parts = operand_parts(i);
  const auto of = [&](std::size_t which) { return parts == 2 ? operand(i, which) : use(i.uses[which]); };
  return k.mfma_scaled(i.atom->emission.name, of(0), of(1), whole(i.def), scale(i.uses[2 * parts]),
                       scale(i.uses[2 * parts + 1]), format_of(*i.atom, "cbsz:"),
                       format_of(*i.atom, "blgp:"));
}

// A modifier of the mnemonic: the format of an operand.
int Emitter::format_of(const Atom& atom, const std::string& modifier) {
  const std::size_t at = atom.name.find(modifier);
  return at == std::string::npos ? 0 : atom.name[at + modifier.size()] - '0';
}

// The value of lane 0 for the whole wave.
Value Emitter::uniform(Value v) {
  auto [at, fresh] = uniform_.try_emplace(v.id);
  if (fresh) at->second = k.readfirstlane(v);
  return at->second;
}

Value Emitter::combine(Monoid m, Value a, Value b) {
  switch (m) {
  case Monoid::sum: return k.fadd(a, b);
  case Monoid::max: return k.fmax(a, b);
  case Monoid::min: return k.fmin(a, b);
  case Monoid::wrapping_sum: return k.add(a, b);
  case Monoid::signed_max: return k.smax(a, b);
  case Monoid::signed_min: return k.smin(a, b);
  case Monoid::unsigned_max: return k.umax(a, b);
  case Monoid::unsigned_min: return k.umin(a, b);
  }
  throw InternalError("unknown monoid");
}

// count single elements as one vector; a register used as a whole stays one value.
Value Emitter::gather(std::span<const Reg> uses) {
  return gathered(uses, [&](Value v) { return to_real(v); });
}

Value Emitter::gathered(std::span<const Reg> uses, const std::function<Value(Value)>& as) {
  const int n = static_cast<int>(uses.size());
  bool whole_register = code_.registers[static_cast<std::size_t>(uses[0].id)].count == n;
  bool splat = true;
  for (int e = 0; e < n; ++e) {
    const Reg& r = uses[static_cast<std::size_t>(e)];
    whole_register = whole_register && r.id == uses[0].id && r.ahead == uses[0].ahead && r.first == e;
    splat = splat && r == uses[0];
  }
  if (whole_register) return as(stay({uses[0].id, uses[0].ahead, 0, n}));
  std::vector<Value> parts;
  if (splat) {
    parts.assign(static_cast<std::size_t>(n), as(use(uses[0])));
  } else {
    for (const Value& v : elements(uses)) parts.push_back(as(v));
  }
  return n == 1 ? parts[0] : k.pack(parts);
}

// One value each; what a block has left in AGPRs is read here, each register once.
std::vector<Value> Emitter::elements(std::span<const Reg> uses) {
  std::vector<Value> parts;
  std::map<RegKey, Value> out_of_agprs;
  for (const Reg& r : uses) {
    if (!in_agprs_.contains(r.id)) {
      parts.push_back(use(r));
      continue;
    }
    auto [at, fresh] = out_of_agprs.try_emplace(key(r));
    if (fresh) at->second = stay({r.id, r.ahead, 0, code_.registers[static_cast<std::size_t>(r.id)].count});
    parts.push_back(k.slice(at->second, r.first, r.count));
  }
  return parts;
}

Value Emitter::each(Value v, const std::function<Value(Value)>& f) {
  if (v.type.lanes == 1) return f(v);
  std::vector<Value> out;
  for (int e = 0; e < v.type.lanes; ++e) out.push_back(f(k.extract(v, e)));
  return k.pack(out);
}

Value Emitter::map(const Inst& i) {
  const int n = i.def.count;
  if (renames(i, code_.registers))
    return k.pack(elements(std::span(i.uses).first(static_cast<std::size_t>(n))));
  const Element to = reg_element(i.def);
  if (to == Element::i32 && adds_operands(i.map)) return integer_sum(i);
  if (const Element from = reg_element(i.uses[0]); chooses(i, from))
    return widened(chosen(i, i.map, k.pack(elements(i.uses))), to);
  const bool by_addition = rounds_by_addition(i, code_.registers, p_.target(), shares_scales(i.op));
  // In an order of ours each by itself, where that costs no more: what stands between two matrix instructions is that much.
  const bool shortened = by_addition && i.nan == Nan::kept;
  const int few = exact_ && shortened ? 1 : n;
  std::vector<Value> operands, words;
  for (std::size_t at = 0; at < i.uses.size(); at += static_cast<std::size_t>(n)) {
    const auto uses = std::span(i.uses).subspan(at, static_cast<std::size_t>(n));
    Value v = gather(uses);
    if (shortened && nan_is_long(reg_element(uses[0]))) {
      const bool one = std::all_of(uses.begin(), uses.end(), [&](const Reg& r) { return r == uses[0]; });
      std::vector<Value> each;
      for (int e = 0; e < n; ++e) each.push_back(one && e > 0 ? each[0] : k.short_nan(k.extract(v, e)));
      v = k.pack(each);
    }
    operands.push_back(v);
    const bool integers = reg_element(uses[0]) == Element::i32 && takes_words(i.map);
    words.push_back(integers ? gathered(uses, [](Value word) { return word; }) : v);
  }
  // An integer stays one.
  const bool integer = to == Element::i32 && i.map.node().fn == Fn::to_number;
  const Expr what = integer ? Expr{i.map.arena, i.map.node().args[0]} : i.map;
  std::vector<Value> parts;
  for (int first = 0; first < n; first += few) {
    Inst part = i;
    part.def.count = few; // one of them has no places: sums and products of operands alone
    std::vector<Value> some;
    for (const auto* all : {&operands, &words}) // as numbers, then as integers
      for (const Value& o : *all) some.push_back(k.slice(o, first, part.def.count));
    std::map<int, Value> done;
    const Value v = value(part, what, some, done);
    parts.push_back(v.type.element == to ? v : k.convert(v, to, by_addition ? Nan::any : i.nan));
  }
  return k.pack(parts);
}

// An operand that stands in the sum twice is added twice.
Value Emitter::integer_sum(const Inst& i) {
  const auto n = static_cast<std::size_t>(i.def.count);
  const auto sum = [&](auto&& self, Expr e) -> Value {
    const ExprNode& node = e.node();
    if (node.fn == Fn::parameter)
      return gathered(std::span(i.uses).subspan(static_cast<std::size_t>(node.tensor) * n, n),
                      [](Value word) { return word; });
    return joined(
        node,
        [&](std::size_t a) {
          return self(self, Expr{e.arena, node.args[a]});
        },
        [&](Value a, Value b) { return k.add(a, b); });
  };
  return sum(sum, i.map);
}

// Whether a map leaves elements of 8 or 16 bits as they are, or makes them 0, in a type that has all of them: codes are enough.
bool Emitter::chooses(const Inst& i, Element from) {
  const Element to = reg_element(i.def);
  if (from == to && i.def.count % 8 != 0)
    return false; // short vectors stay as they are: LLVM makes as little of them
  if (codegen::is_integer(from) || bits(from) > 16 || bits(from) < 8 ||
      static_cast<int>(i.uses.size()) != i.def.count)
    return false;
  if (from != to && !(bits(from) == 8 && to == Element::bf16 && i.def.count % 2 == 0)) return false;
  Expr e = i.map;
  while (e.node().fn == Fn::inside && e.node().value == 0 && !std::signbit(e.node().value))
    e = {e.arena, e.node().args[0]};
  return e.node().fn == Fn::parameter &&
         std::all_of(i.uses.begin(), i.uses.end(), [&](const Reg& r) { return reg_element(r) == from; });
}

// 8 bits as bf16: the upper half of f32 has all of their digits.
Value Emitter::widened(Value v, Element to) {
  if (v.type.element == to) return v;
  const Value halves = k.bitcast(k.convert(v, Element::f32), Type{to, 2 * v.type.lanes});
  std::vector<Value> upper;
  for (int e = 0; e < v.type.lanes; ++e) upper.push_back(k.extract(halves, 2 * e + 1));
  return k.pack(upper);
}

Value Emitter::chosen(const Inst& i, Expr e, Value v) {
  const ExprNode& n = e.node();
  if (n.fn == Fn::parameter) return v;
  const Value of = chosen(i, {e.arena, n.args[0]}, v);
  const auto at = positions(i, n.index[0], n.index[1]);
  if (std::all_of(at.begin(), at.end(), [&](const auto& x) { return x == at[0]; }))
    return k.select(k.less(at[0].first, at[0].second), of, k.zero(of.type));
  std::vector<Value> out;
  for (int b = 0; b < of.type.lanes; ++b) {
    const auto& [index, bound] = at[static_cast<std::size_t>(b)];
    out.push_back(k.select(k.less(index, bound), k.extract(of, b), k.zero({of.type.element, 1})));
  }
  return k.pack(out);
}

bool Emitter::takes_words(Expr map) {
  bool found = false;
  (void)map.arena->rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    found = found || n.fn == Fn::word;
    return std::nullopt;
  });
  return found;
}

// Whether the maps of an operation have few numbers whose NaN may be long, beside their results: scales of rows and columns.
bool Emitter::shares_scales(int op) {
  auto [at, fresh] = shares_scales_.try_emplace(op, false);
  if (!fresh) return at->second;
  std::set<std::pair<int, int>> numbers;
  std::size_t results = 0;
  for (const CodeRegion& r : code_.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) {
        if (i.op != op || i.kind != InstKind::map || r.is_loop) continue;
        results += static_cast<std::size_t>(i.def.count);
        for (const Reg& u : i.uses)
          if (nan_is_long(reg_element(u))) numbers.emplace(u.id, u.first);
      }
  return at->second = 2 * numbers.size() <= results;
}

Value Emitter::value(const Inst& i, Expr e, const std::vector<Value>& operands, std::map<int, Value>& done) {
  if (const auto found = done.find(e.id); found != done.end()) return found->second;
  const ExprNode& n = e.node();
  const Type type = Type{reg_element(i.def) == Element::f64 ? Element::f64 : Element::f32, i.def.count};
  const auto arg = [&](std::size_t a) { return value(i, {e.arena, n.args[a]}, operands, done); };
  Value out;
  switch (n.fn) {
  case Fn::constant: out = k.float_constant(n.value, type); break;
  case Fn::parameter: out = operands[static_cast<std::size_t>(n.tensor)]; break;
  case Fn::number: {
    std::vector<Value> each;
    for (const auto& [index, bound] : positions(i, n.sym, Sym(0))) each.push_back(k.to_float(index));
    out = type.lanes == 1 ? each[0] : k.pack(each);
    break;
  }
  case Fn::add: {
    // A product and a sum are one instruction.
    const auto product = [&](std::size_t a) { return Expr{e.arena, n.args[a]}.node().fn == Fn::mul; };
    if (!i.math.contract || (!product(0) && !product(1))) {
      out = k.fadd(arg(0), arg(1));
      break;
    }
    const std::size_t which = product(1) ? 1 : 0;
    const ExprNode& m = Expr{e.arena, n.args[which]}.node();
    const Value a = value(i, {e.arena, m.args[0]}, operands, done),
                b = value(i, {e.arena, m.args[1]}, operands, done);
    out = k.fma(a, b, arg(1 - which));
    break;
  }
  case Fn::sub: out = k.fsub(arg(0), arg(1)); break;
  case Fn::mul: out = k.fmul(arg(0), arg(1)); break;
  case Fn::div:
    out = !i.math.approximate ? k.fdiv(arg(0), arg(1))
                              : k.fmul(arg(0), each(arg(1), [&](Value x) { return k.rcp(x); }));
    break;
  case Fn::power:
    if (!i.math.approximate && (n.value == -1 || std::abs(n.value) == 0.5)) {
      const Value root = n.value == -1 ? arg(0) : k.rounded_sqrt(arg(0));
      out = n.value == 0.5 ? root : k.fdiv(k.float_constant(1, type), root);
      break;
    }
    if (n.value == -1) {
      out = each(arg(0), [&](Value x) { return k.rcp(x); });
    } else if (n.value == -0.5) {
      out = each(arg(0), [&](Value x) { return k.rsqrt(x); });
    } else if (n.value == 0.5) {
      out = each(arg(0), [&](Value x) { return k.sqrt(x); });
    } else {
      throw CodegenError("map: no instruction raises to the power " + std::to_string(n.value));
    }
    break;
  case Fn::exp: {
    const Value scaled = k.fmul(arg(0), k.float_constant(log2_e, type));
    out = each(scaled, [&](Value x) { return k.exp2(x); });
    break;
  }
  case Fn::exp2: out = each(arg(0), [&](Value x) { return k.exp2(x); }); break;
  case Fn::log:
    out = k.fmul(each(arg(0), [&](Value x) { return k.log2(x); }), k.float_constant(ln_2, type));
    break;
  case Fn::log2: out = each(arg(0), [&](Value x) { return k.log2(x); }); break;
  case Fn::max: out = k.fmax(arg(0), arg(1)); break;
  case Fn::min: out = k.fmin(arg(0), arg(1)); break;
  case Fn::inside: out = inside(i, n, arg(0)); break;
  case Fn::select: out = k.at_least(arg(0), arg(1), arg(2), arg(3)); break;
  case Fn::nearest: out = k.round_even(arg(0)); break;
  case Fn::to_number: out = k.convert(arg(0), Element::f32); break;
  case Fn::to_number_unsigned: out = k.unsigned_to_float(arg(0)); break;
  case Fn::from_bits: out = k.bitcast(arg(0), type); break;
  case Fn::choose: out = k.choose(arg(0), arg(1), arg(2)); break;
  case Fn::integer: out = k.constant(static_cast<std::int64_t>(n.value), Type::i32(type.lanes)); break;
  case Fn::word: out = word(i, {e.arena, n.args[0]}, operands); break;
  case Fn::truncated: out = k.truncate(arg(0)); break;
  case Fn::float_bits: out = k.bitcast(arg(0), Type::i32(type.lanes)); break;
  case Fn::word_add: out = joined(n, arg, [&](Value a, Value b) { return k.add(a, b); }); break;
  case Fn::word_sub: out = k.sub(arg(0), arg(1)); break;
  case Fn::word_mul: out = joined(n, arg, [&](Value a, Value b) { return k.mul(a, b); }); break;
  case Fn::word_mul_hi: out = k.umul_high(arg(0), arg(1)); break;
  case Fn::word_and: out = joined(n, arg, [&](Value a, Value b) { return k.bit_and(a, b); }); break;
  case Fn::word_or: out = joined(n, arg, [&](Value a, Value b) { return k.bit_or(a, b); }); break;
  case Fn::word_xor: out = exclusive(i, e, operands, done); break;
  case Fn::word_shl: out = k.shl(arg(0), shift(arg(1))); break;
  case Fn::word_shr: out = k.lshr(arg(0), shift(arg(1))); break;
  case Fn::word_sar: out = k.ashr(arg(0), shift(arg(1))); break;
  case Fn::popcount: out = k.popcount(arg(0)); break;
  case Fn::leading_zeros: out = k.leading_zeros(arg(0)); break;
  case Fn::trailing_zeros: out = k.trailing_zeros(arg(0)); break;
  case Fn::word_less: out = k.flag(k.compare(Compare::ult, arg(0), arg(1))); break;
  case Fn::word_less_signed: out = k.flag(k.compare(Compare::slt, arg(0), arg(1))); break;
  case Fn::word_equal: out = k.flag(k.compare(Compare::eq, arg(0), arg(1))); break;
  case Fn::load:
  case Fn::fold: throw CodegenError("map: loads and folds are operations of their own");
  }
  done.emplace(e.id, out);
  return out;
}

// Three at a time: what a xor in here is of stands in its place.
Value Emitter::exclusive(const Inst& i, Expr e, const std::vector<Value>& operands,
                         std::map<int, Value>& done) {
  std::vector<Value> terms;
  const auto take = [&](auto&& self, int id, int depth) -> void {
    const Expr x{e.arena, id};
    if (x.node().fn == Fn::word_xor && depth < 2 && !done.contains(id)) {
      for (const int inner : x.node().args) self(self, inner, depth + 1);
    } else {
      terms.push_back(value(i, x, operands, done));
    }
  };
  take(take, e.id, 0);
  Value out = terms[0];
  std::size_t n = 1;
  for (; n + 1 < terms.size(); n += 2) out = k.bit_xor(out, terms[n], terms[n + 1]);
  return n < terms.size() ? k.bit_xor(out, terms[n]) : out;
}

Value Emitter::joined(const ExprNode& n, const std::function<Value(std::size_t)>& arg,
                      const std::function<Value(Value, Value)>& join) {
  Value out = arg(0);
  for (std::size_t a = 1; a < n.args.size(); ++a) out = join(out, arg(a));
  return out;
}

// A whole number modulo 2^32: an operand as it is in its register, or an index.
Value Emitter::word(const Inst& i, Expr e, const std::vector<Value>& operands) {
  const ExprNode& n = e.node();
  const Type type = Type::i32(i.def.count);
  if (n.fn == Fn::parameter) {
    const Value v = operands[operands.size() / 2 + static_cast<std::size_t>(n.tensor)];
    return v.type.element == Element::i32 ? v : k.truncate(v);
  }
  if (n.fn == Fn::constant) // an index that is one; of a number below 0 the constant has the low 32 bits
    return k.constant(static_cast<std::int64_t>(n.value), type);
  std::vector<Value> each;
  for (const auto& [index, bound] : positions(i, n.sym, Sym(0))) each.push_back(k.lower_low(index));
  return type.lanes == 1 ? each[0] : k.pack(each);
}

// Two formulas in an element's coordinate, for each element of the result.
std::vector<std::pair<Sym, Sym>> Emitter::positions(const Inst& i, Sym a, Sym b) {
  std::vector<std::pair<Sym, Sym>> out;
  for (int e = 0; e < i.def.count; ++e) {
    std::vector<std::pair<AtomId, Sym>> at;
    for (std::size_t axis = 0; !i.position.empty() && axis < i.position[static_cast<std::size_t>(e)].size();
         ++axis)
      at.emplace_back(*p_.symbols()
                           .symbol(Program::position_name(static_cast<int>(axis)), {Int(0), std::nullopt})
                           .as_atom(),
                      coordinates_(i.access.threads, axis) +
                          Sym(i.position[static_cast<std::size_t>(e)][axis]));
    out.emplace_back(substitute(a, at), substitute(b, at));
  }
  return out;
}

// One comparison for the whole vector where bound and position are multiples of its length.
Value Emitter::inside(const Inst& i, const ExprNode& n, Value v) {
  const auto at = positions(i, n.index[0], n.index[1]);
  const auto position = [&](std::size_t element) { return at[element]; };
  const auto holds = [&](std::size_t element) {
    const auto [index, bound] = position(element);
    return k.less(index, bound);
  };
  const Value beyond = k.float_constant(n.value, v.type);
  if (whole_vector(n.index[1], v.type.lanes) && divides(Sym(v.type.lanes), position(0).first) == Truth::yes) {
    bool run = position(0).second == n.index[1];
    for (std::size_t e = 1; e < i.position.size(); ++e)
      run = run && eq(position(e).first - position(0).first, Sym(static_cast<std::int64_t>(e))) == Truth::yes;
    if (run) return k.select(holds(0), v, beyond);
  }
  // All comparisons first: a selection right after its own has to wait for it.
  std::vector<Value> held, out;
  for (int e = 0; e < v.type.lanes; ++e) held.push_back(holds(static_cast<std::size_t>(e)));
  for (int e = 0; e < v.type.lanes; ++e)
    out.push_back(k.select(held[static_cast<std::size_t>(e)], k.extract(v, e),
                           k.float_constant(n.value, {v.type.element, 1})));
  return v.type.lanes == 1 ? out[0] : k.pack(out);
}

bool Emitter::whole_vector(Sym bound, int lanes) const {
  for (const Size& s : p_.sizes())
    if (s.symbol == bound) return s.facts.multiple % lanes == 0;
  return divides(Sym(lanes), bound) == Truth::yes;
}

Value Emitter::folded(Monoid m, Value v) { return is_of_i32(m) ? v : to_real(v); }

Value Emitter::fold(const Inst& i) {
  if (i.lane_mask > 0) { // in order, and of these sums the one that the work-item is to have
    Value before = k.lshr(tid_, number(std::countr_zero(static_cast<unsigned>(i.lane_mask))));
    if (i.lane_mask >= p_.target().wave_size) before = k.readfirstlane(before);
    Value all = folded(i.monoid, use(i.uses[0]));
    Value out = is_of_i32(i.monoid) ? k.zero(all.type) : k.float_constant(empty_element(i.monoid), all.type);
    for (int e = 0; e < static_cast<int>(i.uses.size()) && (e + 1) * i.lane_mask < p_.threads(); ++e) {
      if (e > 0) all = combine(i.monoid, all, folded(i.monoid, use(i.uses[static_cast<std::size_t>(e)])));
      out = k.select(k.compare(Compare::ult, number(e), before), all, out);
    }
    return out;
  }
  // Whole registers are joined as vectors first, then halves, then what is left one by one.
  std::vector<Value> vectors, singles;
  for (std::size_t at = 0; at < i.uses.size();) {
    const Reg& r = i.uses[at];
    const std::size_t count = whole_register(i, at, code_.registers);
    if (count > 1)
      vectors.push_back(folded(i.monoid, whole(r)));
    else
      singles.push_back(folded(i.monoid, use(r)));
    at += count;
  }
  std::vector<Value> joined;
  for (const Value& v : vectors) {
    bool found = false;
    for (Value& j : joined)
      if (j.type == v.type && !found) j = combine(i.monoid, j, v), found = true;
    if (!found) joined.push_back(v);
  }
  for (Value j : joined) {
    while (j.type.lanes > 1 && j.type.lanes % 2 == 0) {
      const int half = j.type.lanes / 2;
      j = combine(i.monoid, k.slice(j, 0, half), k.slice(j, half, half));
    }
    for (int e = 0; e < j.type.lanes; ++e) singles.push_back(k.extract(j, e));
  }
  Value out = singles[0];
  for (std::size_t s = 1; s < singles.size(); ++s) out = combine(i.monoid, out, singles[s]);
  return out;
}

// An element x at place p is the number of f64 whose upper word is the code of x, and whose lower word is p where x is negative, else ~p:
// numbers of f64 are in the order of their upper words, as f32 is, and where these are equal in that of their lower ones, which is turned
// round below 0. Of f32 that is no NaN the upper word is none of f64, an infinity neither. -0 becomes 0, which it is equal to.
//
// What stands beside x has the lower half of that lower word, and p the upper one.
//
// Where x is of bf16, it is one word, an integer with its sign: in its upper half the code of x, of which all bits but the sign are turned
// round below 0, and ~p in its lower one. Where nobody asks for a place, it is x.
Emitter::Ranked Emitter::ranked(const Inst& i) {
  const Type wide{Element::f64, 1};
  const std::size_t axes = i.access.extents.size(), n = i.position.size();
  // The place is that of the lane and that of the use, which have no bit in common: then the lane's is put in at the end.
  Sym of_lane(0);
  std::vector<int> of_use(n, 0), lanes(static_cast<std::size_t>(p_.threads()), 0);
  std::int64_t places = 1;
  for (std::size_t a = 0; a < axes; ++a) {
    const int extent = i.access.extents[a];
    places *= extent;
    of_lane = extent * of_lane + coordinates_(i.access.threads, a);
    const std::vector<int> along = thread_coordinates(i.access.threads, a);
    for (std::size_t t = 0; t < lanes.size(); ++t) lanes[t] = extent * lanes[t] + along[t];
    for (std::size_t u = 0; u < n; ++u) of_use[u] = extent * of_use[u] + i.position[u][a];
  }
  const auto bits_of = [](const std::vector<int>& all) {
    return std::accumulate(all.begin(), all.end(), 0, std::bit_or<>());
  };
  const bool apart = (bits_of(lanes) & bits_of(of_use)) == 0, beside = i.uses.size() > n, alone = !i.places;
  const auto of_bf16 = [&](const Reg& r) {
    return code_.registers[static_cast<std::size_t>(r.id)].element == Element::bf16;
  };
  const bool one_word =
      !alone && !beside && places <= 0x10000 && std::all_of(i.uses.begin(), i.uses.end(), of_bf16);
  const int shift = beside ? 16 : 0;
  const Value mine = alone ? Value{} : k.shl(k.lower(of_lane), number(shift));
  const auto words = [&](Value v) {
    const Value both = k.bitcast(v, Type::i32(2));
    return std::pair(k.extract(both, 0), k.extract(both, 1));
  };
  const auto put = [&](Value low, Value high) { return k.bitcast(k.pack(std::array{low, high}), wide); };
  Ranked all, elements;
  for (std::size_t u = 0; u < n; ++u) elements.push_back(to_real(use(i.uses[u])));
  // What compares leaves the sign of a 0 open to LLVM, which would drop the sum, if it knew that it is one with 0. It makes a NaN a quiet
  // one, too, which v_max_f32 leaves out; LLVM takes it that no bf16 is a signalling one. Two at a time, as v_pk_add_f32 adds.
  const Value zero = k.fence(k.zero(Type::f32(2)));
  for (std::size_t u = 0; u < n; u += 2) {
    const int two = static_cast<int>(std::min<std::size_t>(2, n - u));
    const Value x = k.pack(std::span(elements).subspan(u, static_cast<std::size_t>(two))),
                sum = k.fadd(x, two == 2 ? zero : k.extract(zero, 0));
    for (int e = 0; e < two; ++e) elements[u + static_cast<std::size_t>(e)] = k.extract(sum, e);
  }
  for (std::size_t u = 0; u < n; ++u) {
    const Value x = k.fmax(elements[u], k.float_constant(-INFINITY));
    if (alone) {
      all.push_back(x);
      continue;
    }
    const Value high = k.bitcast(x, Type::i32()), sign = k.ashr(high, number(31));
    const Value here = number(std::int64_t{of_use[u]} << shift), place = apart ? here : k.add(mine, here);
    if (one_word) {
      all.push_back(k.add(k.bit_xor(high, k.bit_and(sign, number(0x7fff0000))), // v_xad_u32
                          k.bit_xor(place, number(0xffff))));
      continue;
    }
    Value low = place;
    if (beside) {
      const Value other = use(i.uses[n + u]);
      low = k.bit_or(low, k.bitcast(k.pack(std::array{other, k.zero(other.type)}), Type::i32()));
    }
    all.push_back(put(k.bit_xor(k.bit_xor(low, number(-1)), sign), high));
  }
  const auto greater = [&](Value a, Value b) { return one_word ? k.smax(a, b) : k.greater_of(a, b); };
  const auto less = [&](Value a, Value b) { return one_word ? k.smin(a, b) : k.less_of(a, b); };
  const TopNetwork<Value, decltype(greater), decltype(less)> network(static_cast<std::size_t>(i.top), greater,
                                                                     less);
  Ranked best = network.of(all);
  if (apart && !alone)
    for (Value& v : best) {
      if (one_word) {
        v = k.bit_xor(v, mine);
        continue;
      }
      const auto [low, high] = words(v);
      v = put(k.bit_xor(low, mine), high);
    }
  for (const int step : lane_steps(i.lane_mask)) {
    Ranked theirs;
    for (const Value& v : best) {
      if (v.type.bytes() == 4) {
        theirs.push_back(k.bitcast(k.lane_xor(v, step), v.type));
        continue;
      }
      const auto [low, high] = words(v);
      theirs.push_back(put(k.lane_xor(low, step), k.lane_xor(high, step)));
    }
    best = network.merged(best, theirs);
  }
  return best;
}

Value Emitter::top(const Inst& i) {
  // What is asked of every rank is of one list: that of these elements at these places, as long.
  const auto of_one = [&](const auto& known) {
    const Inst& other = known.first;
    return other.uses == i.uses && other.top == i.top && other.position == i.position &&
           other.lane_mask == i.lane_mask && other.access.extents == i.access.extents &&
           other.access.threads == i.access.threads && other.places == i.places;
  };
  auto at = std::find_if(tops_.begin(), tops_.end(), of_one);
  if (at == tops_.end()) at = tops_.insert(at, {i, ranked(i)});
  const Value found = at->second.at(static_cast<std::size_t>(i.rank));
  if (!i.places) return found;
  if (found.type == Type::i32()) {
    if (i.place) return k.unsigned_to_float(k.bit_and(k.bit_xor(found, number(-1)), number(0xffff)));
    const Value turned = k.bit_xor(found, k.bit_and(k.ashr(found, number(31)), number(0x7fff0000)));
    return k.bitcast(k.bit_and(turned, number(-0x10000)), Type::f32());
  }
  const Value both = k.bitcast(found, Type::i32(2)), high = k.extract(both, 1);
  if (!i.place && !i.beside) return k.bitcast(high, Type::f32());
  const Value low = k.bit_xor(k.bit_xor(k.extract(both, 0), number(-1)), k.ashr(high, number(31)));
  const std::size_t n = i.position.size();
  if (i.place) return k.unsigned_to_float(i.uses.size() > n ? k.lshr(low, number(16)) : low);
  const Element of = code_.registers[static_cast<std::size_t>(i.uses[n].id)].element;
  return to_real(k.extract(k.bitcast(low, Type{of, 2}), 0));
}

bool rounds_by_addition(const Inst& i, const std::vector<Register>& registers, const Target& target,
                        bool few) {
  const auto element = [&](const Reg& r) { return registers[static_cast<std::size_t>(r.id)].element; };
  if (i.kind != InstKind::map || element(i.def) != Element::bf16 || target.packs_bf16) return false;
  if (i.nan == Nan::any) return true;
  if (i.def.count < 2) return false; // LLVM's conversion
  const std::function<bool(Expr)> linear = [&](Expr e) {
    const ExprNode& n = e.node();
    if (n.fn == Fn::parameter || (n.fn == Fn::constant && std::isfinite(n.value))) return true;
    return (n.fn == Fn::add || n.fn == Fn::sub || n.fn == Fn::mul) &&
           std::all_of(n.args.begin(), n.args.end(), [&](int a) {
             return linear({e.arena, a});
           });
  };
  if (!linear(i.map)) return false;
  const auto n = static_cast<std::size_t>(i.def.count);
  for (std::size_t at = 0; at < i.uses.size(); at += n) {
    const auto uses = std::span(i.uses).subspan(at, n);
    if (!few && nan_is_long(element(uses[0])) &&
        !std::all_of(uses.begin(), uses.end(), [&](const Reg& r) { return r == uses[0]; }))
      return false;
  }
  return true;
}

} // namespace inlay::codegen
