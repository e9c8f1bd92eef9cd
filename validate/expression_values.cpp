#include "expression_values.h"

#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace inlay::kernels::validate {

using codegen::Expr;
using codegen::ExprNode;
using codegen::Fn;

std::optional<Number> function_number(Fn function, double exponent, Number x, Number y, Arithmetic& a) {
  switch (function) {
  case Fn::add: return a.sum(x, y);
  case Fn::sub: return a.difference(x, y);
  case Fn::mul: return a.product(x, y);
  case Fn::div: return a.product(x, a.reciprocal(y));
  case Fn::exp: return a.of(Function::exp2, a.product(x, constant_of_f32(a, 1.4426950408889634)));
  case Fn::exp2: return a.of(Function::exp2, x);
  case Fn::log: return a.product(a.of(Function::log2, x), constant_of_f32(a, 0.6931471805599453));
  case Fn::log2: return a.of(Function::log2, x);
  case Fn::max: return a.extreme(x, y, true);
  case Fn::min: return a.extreme(x, y, false);
  case Fn::power:
    if (exponent == -1) return a.reciprocal(x);
    if (exponent == 0.5) return a.of(Function::sqrt, x);
    if (exponent == -0.5) return a.of(Function::rsqrt, x);
    return std::nullopt;
  default: return std::nullopt;
  }
}

ExpressionValues::ExpressionValues(Expr value, std::span<const Sym> coordinate, Arithmetic& arithmetic,
                                   Elements elements)
    : a_(arithmetic), elements_(std::move(elements)) {
  for (const Sym& c : coordinate) {
    slots_[*c.as_atom()] = static_cast<int>(atoms_.size());
    atoms_.push_back(*c.as_atom());
  }
  root_ = compile(value, static_cast<int>(atoms_.size()));
  now_.resize(atoms_.size());
}

ExpressionValues::Place ExpressionValues::place(Sym s, std::vector<int>& free) {
  Place p;
  for (const AtomId a : symbols(s)) {
    const auto slot = slots_.find(a);
    if (slot == slots_.end())
      throw codegen::CodegenError("expression: '" + to_string(s) +
                                  "' has a symbol that is neither a size nor an index");
    if (std::find(free.begin(), free.end(), slot->second) == free.end()) free.push_back(slot->second);
  }
  p.constant = s.constant_term().value();
  for (const inlay::Term& t : s.terms()) {
    const auto factors = t.factors();
    const auto slot =
        factors.size() == 1 && factors[0].power == 1 ? slots_.find(factors[0].atom) : slots_.end();
    if (slot == slots_.end()) {
      p.other = s;
      break;
    }
    p.parts.emplace_back(slot->second, t.coefficient.value());
  }
  return p;
}

int ExpressionValues::compile(Expr e, int in_scope) {
  if (const auto at = compiled_.find({e.id, in_scope}); at != compiled_.end()) return at->second;
  const ExprNode& n = e.node();
  Node out;
  out.fn = n.fn;
  out.monoid = n.monoid;
  out.value = n.value;
  out.tensor = n.tensor;
  out.through = n.through;
  if (n.fn == Fn::parameter)
    throw codegen::CodegenError("expression: an operand of a map in a specification");
  if (n.fn == Fn::fold && n.index.size() != 1) throw codegen::CodegenError("expression: a fold under way");
  if (n.index.size() > 16) throw codegen::CodegenError("expression: more than 16 indices");
  if (n.fn == Fn::number) out.index.push_back(place(n.sym, out.free));
  for (const Sym& s : n.index) out.index.push_back(place(s, out.free));
  if (n.fn == Fn::fold) {
    const AtomId k = *n.sym.as_atom();
    if (!slots_.contains(k)) {
      slots_[k] = static_cast<int>(atoms_.size());
      atoms_.push_back(k);
    }
    out.slot = slots_[k];
  }
  for (const int a : n.args) {
    const int child = compile(Expr{e.arena, a}, in_scope + (n.fn == Fn::fold ? 1 : 0));
    out.args.push_back(child);
    for (const int slot : nodes_[static_cast<std::size_t>(child)].free)
      if (slot != out.slot && std::find(out.free.begin(), out.free.end(), slot) == out.free.end())
        out.free.push_back(slot);
  }
  std::sort(out.free.begin(), out.free.end());
  out.kept = n.fn == Fn::fold && static_cast<int>(out.free.size()) < in_scope;
  nodes_.push_back(std::move(out));
  return compiled_[{e.id, in_scope}] = static_cast<int>(nodes_.size()) - 1;
}

std::int64_t ExpressionValues::number(const Place& p) const {
  if (p.other) {
    Assignment values;
    for (const AtomId a : symbols(*p.other)) values.set(a, Int(now_[static_cast<std::size_t>(slots_.at(a))]));
    return evaluate(*p.other, values).value();
  }
  std::int64_t v = p.constant;
  for (const auto& [slot, factor] : p.parts) v += factor * now_[static_cast<std::size_t>(slot)];
  return v;
}

std::optional<Number> ExpressionValues::at(std::span<const std::int64_t> coordinate) {
  std::copy(coordinate.begin(), coordinate.end(), now_.begin());
  return run(root_);
}

std::optional<Number> ExpressionValues::fold(Node& n) {
  if (codegen::is_of_i32(n.monoid)) {
    missing_ =
        n.monoid == codegen::Monoid::wrapping_sum ? "integers modulo 2^32" : "a max or a min of integers";
    return std::nullopt;
  }
  std::vector<std::int64_t> key;
  if (n.kept) {
    for (const int slot : n.free) key.push_back(now_[static_cast<std::size_t>(slot)]);
    if (const auto at = n.known.find(key); at != n.known.end()) return at->second;
  }
  const std::int64_t extent = number(n.index[0]);
  const auto slot = static_cast<std::size_t>(n.slot);
  const std::int64_t before = now_[slot];
  Number all = a_.constant(codegen::empty_element(n.monoid));
  for (std::int64_t k = 0; k < extent; ++k) {
    now_[slot] = k;
    const auto v = run(n.args[0]);
    if (!v) return v;
    all = n.monoid == codegen::Monoid::sum ? a_.sum(all, *v)
                                           : a_.extreme(all, *v, n.monoid == codegen::Monoid::max);
  }
  now_[slot] = before;
  if (n.kept) n.known.emplace(std::move(key), all);
  return all;
}

std::optional<Number> ExpressionValues::run(int node) {
  Node& n = nodes_[static_cast<std::size_t>(node)];
  switch (n.fn) {
  case Fn::constant: return constant_of_f32(a_, n.value);
  case Fn::number: return a_.constant(static_cast<double>(number(n.index[0])));
  case Fn::parameter: return std::nullopt;
  case Fn::fold: return fold(n);
  case Fn::load: {
    std::array<std::int64_t, 16> all{};
    const std::span<std::int64_t> at = std::span(all).first(n.index.size());
    for (std::size_t k = 0; k < n.index.size(); ++k) {
      std::int64_t i = number(n.index[k]);
      if (!n.through.empty() && n.through[k] >= 0) {
        const auto through = elements_.index(n.through[k], i);
        if (!through)
          throw codegen::CodegenError("expression: a table is read at " + std::to_string(i) +
                                      ", outside of it");
        i = *through;
      }
      at[k] = i;
    }
    const auto v = elements_.value(n.tensor, at);
    if (v) return v;
    if (!n.through.empty()) return a_.constant(0); // rows of padding
    std::string text;
    for (const std::int64_t i : at) text += (text.empty() ? "" : ",") + std::to_string(i);
    throw codegen::CodegenError("expression: an element (" + text + ") outside of its tensor");
  }
  case Fn::inside:
    if (number(n.index[0]) < number(n.index[1])) return run(n.args[0]);
    return constant_of_f32(a_, n.value);
  case Fn::select: {
    const auto a = run(n.args[0]), b = run(n.args[1]);
    if (!a || !b) return std::nullopt;
    if (const auto which = a_.at_least(*a, *b)) return run(n.args[*which ? 2 : 3]);
    const auto yes = run(n.args[2]), no = run(n.args[3]);
    return yes && no ? std::optional(a_.choice(*a, *b, *yes, *no)) : std::nullopt;
  }
  default: break;
  }
  if (n.fn >= Fn::nearest) {
    missing_ = "integers modulo 2^32";
    return std::nullopt;
  }
  const auto x = run(n.args[0]);
  if (!x) return x;
  const auto y = n.args.size() > 1 ? run(n.args[1]) : std::optional<Number>(0);
  if (!y) return y;
  if (const auto v = function_number(n.fn, n.value, *x, *y, a_)) return v;
  const double whole = std::fabs(n.value);
  if (n.fn != Fn::power || whole != std::floor(whole) || whole > 64) {
    missing_ = n.fn == Fn::power ? "a power of " + std::to_string(n.value) : "an operation that has no value";
    return std::nullopt;
  }
  Number p = a_.constant(1);
  for (int k = 0; k < static_cast<int>(whole); ++k) p = a_.product(p, *x);
  return n.value < 0 ? a_.reciprocal(p) : p;
}

} // namespace inlay::kernels::validate
