#include <inlay/runtime/symbolic/quotient.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace inlay::runtime::symbolic {
namespace {

constexpr std::uint32_t scale = 0x4f7ffffe; ///< 2^32 - 512
constexpr std::size_t most = 400;           ///< terms that are looked at: quotients of quotients are long

} // namespace

std::optional<Term> Quotients::argument_of(Term t, std::string_view mnemonic) const {
  if (t_.kind(t) != TermKind::function || (t_.raw(t) >> 32) != 0) return std::nullopt;
  const isa::Instruction& i = program_.instructions[t_.raw(t) & 0xffffffffU];
  const isa::Modifiers& m = i.modifiers;
  const bool plain = !m.clamp && m.omod == 0 && i.form != isa::Form::sdwa && i.form != isa::Form::dpp &&
                     std::none_of(i.operands.begin(), i.operands.end(),
                                  [](const isa::Operand& o) { return o.neg || o.abs || o.sext; });
  if (!plain || i.mnemonic != mnemonic) return std::nullopt;
  const auto a = t_.children(t);
  if (a.size() == 1) return a[0];
  // A product with the scale.
  for (const std::size_t k : {0, 1})
    if (a.size() == 2 && t_.value(a[k]) == scale) return a[1 - k];
  return std::nullopt;
}

/// y, when the term is z.
std::optional<Term> Quotients::estimated(Term t) const {
  std::optional<Term> x = argument_of(t, "v_cvt_u32_f32");
  if (x) x = argument_of(*x, "v_mul_f32");
  if (x) {
    const auto iflag = argument_of(*x, "v_rcp_iflag_f32");
    x = iflag ? iflag : argument_of(*x, "v_rcp_f32");
  }
  return x ? argument_of(*x, "v_cvt_f32_u32") : x;
}

std::optional<Quotient> Quotients::read(Term t) {
  if (!nearest_ || t_.kind(t) != TermKind::select) return std::nullopt;
  if (const auto at = done_.find(t); at != done_.end()) return at->second;
  const auto found = search(t);
  return done_[t] = found;
}

std::optional<Quotient> Quotients::search(Term t) {
  // Breadth first: of quotients in quotients the outermost comes first.
  std::vector<Term> seen = {t}, estimates;
  std::unordered_set<Term> known = {t};
  const auto visit = [&](Term x) {
    if (x != 0 && seen.size() < most && known.insert(x).second) seen.push_back(x);
  };
  for (std::size_t at = 0; at < seen.size(); ++at) {
    const Term x = seen[at];
    switch (t_.kind(x)) {
    case TermKind::linear:
      for (const TermPart& p : t_.parts(x)) visit(p.atom);
      break;
    case TermKind::function:
      if (estimated(x)) estimates.push_back(x);
      break;
    case TermKind::select:
    case TermKind::less_unsigned:
    case TermKind::multiply:
    case TermKind::multiply_high_unsigned:
    case TermKind::invert:
    case TermKind::high:
    case TermKind::product:
      for (const Term c : t_.children(x)) visit(c);
      break;
    default: break;
    }
  }
  for (const Term z : estimates) {
    const Term y = *estimated(z);
    const Term missing = t_.multiply(t_.subtract(t_.constant(0), y), z); // e
    const Term better[] = {t_.add(z, t_.multiply_high(z, missing, false)),
                           t_.add(z, t_.high(t_.product(z, missing, false)))};
    for (const Term product : seen) {
      Term of = product; // the upper half of a product, as one instruction or as half of one
      if (t_.kind(of) == TermKind::high) of = t_.children(of)[0];
      if (t_.kind(of) != (of == product ? TermKind::multiply_high_unsigned : TermKind::product)) continue;
      const Term first = t_.children(of)[0], second = t_.children(of)[1];
      const auto is_better = [&](Term t2) { return t2 == better[0] || t2 == better[1]; };
      if (!is_better(first) && !is_better(second)) continue;
      const Term x = is_better(first) ? second : first;
      Term q = product, r = t_.subtract(x, t_.multiply(q, y));
      for (int round = 0; round < 2; ++round) {
        const Term below = t_.less(r, y, false);
        q = t_.select(below, q, t_.add(q, t_.constant(1)));
        r = t_.select(below, r, t_.subtract(r, y));
      }
      if (t == q || t == r) return Quotient{x, y, t == r};
    }
  }
  return std::nullopt;
}

} // namespace inlay::runtime::symbolic
