#include <inlay/algebra/print.h>
#include <inlay/algebra/prover.h>

#include <ostream>

namespace inlay {
namespace {

// The text of a tuple whose leaves print by `leaf`.
template <class T, class Leaf>
void write(std::string& out, TupleView<T> tuple, const Leaf& leaf) {
  if (tuple.is_leaf()) {
    out += leaf(tuple.leaf());
    return;
  }
  out += '(';
  bool first = true;
  for (TupleView<T> entry : tuple) {
    if (!first) out += ',';
    first = false;
    write(out, entry, leaf);
  }
  out += ')';
}

template <class S>
std::string layout_text(LayoutView<S> layout) {
  std::string out;
  write(out, layout, [](const BasicMode<S>& m) { return to_string(m.extent); });
  out += ':';
  write(out, layout, [](const BasicMode<S>& m) { return to_string(m.stride); });
  return out;
}

template <class S>
std::string tuple_text(TupleView<S> tuple) {
  std::string out;
  write(out, tuple, [](const S& s) { return to_string(s); });
  return out;
}

std::string axis_text(Axis axis) {
  std::string out;
  for (std::size_t level = axis.size(); level-- > 0;) out += '@' + std::to_string(axis[level]);
  return out;
}

const char* infix(AtomKind kind) {
  switch (kind) {
  case AtomKind::floor_div: return "/";
  case AtomKind::mod: return "%";
  case AtomKind::bit_xor: return "^";
  case AtomKind::bit_and: return "&";
  case AtomKind::bit_or: return "|";
  case AtomKind::shift_left: return "<<";
  case AtomKind::shift_right: return ">>";
  case AtomKind::less_equal: return "<=";
  case AtomKind::equal: return "==";
  default: return nullptr;
  }
}

bool needs_no_parentheses(Sym a) {
  if (const auto c = a.constant()) return *c >= 0;
  const auto id = a.as_atom();
  return id && !infix(a.context()->atom(*id).kind);
}

std::string operand_text(Sym a) { return needs_no_parentheses(a) ? to_string(a) : "(" + to_string(a) + ")"; }

std::string atom_text(const SymAtom& atom) {
  if (atom.kind == AtomKind::symbol) return atom.name;
  if (const char* op = infix(atom.kind))
    return operand_text(atom.operands[0]) + op + operand_text(atom.operands[1]);
  std::string out = atom.kind == AtomKind::min ? "min(" : atom.kind == AtomKind::max ? "max(" : "select(";
  for (std::size_t i = 0; i < atom.operands.size(); ++i) out += (i ? "," : "") + to_string(atom.operands[i]);
  return out + ")";
}

std::string term_text(SymContext& context, const Term& t, bool alone) {
  std::string out;
  if (t.coefficient == -1) {
    out = "-";
  } else if (t.coefficient != 1) {
    out = to_string(t.coefficient) + "*";
  }
  const bool bare = alone && out.empty() && t.factors().size() == 1 && t.factors()[0].power == 1;
  bool first = true;
  for (const Factor& f : t.factors()) {
    const SymAtom& atom = context.atom(f.atom);
    const std::string text = infix(atom.kind) && !bare ? "(" + atom_text(atom) + ")" : atom_text(atom);
    for (std::uint32_t i = 0; i < f.power; ++i) {
      if (!first) out += '*';
      first = false;
      out += text;
    }
  }
  return out;
}

} // namespace

std::string to_string(Int value) { return std::to_string(value.value()); }

std::string to_string(Sym a) {
  if (const auto c = a.constant()) return to_string(*c);
  const bool alone = a.terms().size() == 1 && a.constant_term() == 0;
  std::string out;
  for (const Term& t : a.terms()) {
    const std::string text = term_text(*a.context(), t, alone);
    if (!out.empty() && text[0] != '-') out += '+';
    out += text;
  }
  if (a.constant_term() > 0) out += '+';
  if (a.constant_term() != 0) out += to_string(a.constant_term());
  return out;
}

std::string to_string(Truth value) {
  return value == Truth::yes ? "yes" : value == Truth::no ? "no" : "unknown";
}
std::string to_string(const Stride& s) { return to_string(s.scale) + axis_text(s.axis); }
std::string to_string(const BasicStride<Sym>& s) {
  if (!s.is_basis()) return to_string(s.scale);
  return operand_text(s.scale) + axis_text(s.axis);
}
std::string to_string(const IntTuple& t) { return tuple_text(t.view()); }
std::string to_string(const BasicIntTuple<Sym>& t) { return tuple_text(t.view()); }
std::string to_string(const Tuple<Stride>& t) {
  std::string out;
  write(out, t.view(), [](const Stride& s) { return to_string(s); });
  return out;
}
std::string to_string(const Layout& l) { return layout_text(l.view()); }
std::string to_string(const SymLayout& l) { return layout_text(l.view()); }
std::string to_string(LayoutView<Int> l) { return layout_text(l); }
std::string to_string(LayoutView<Sym> l) { return layout_text(l); }

std::ostream& operator<<(std::ostream& out, Int value) { return out << to_string(value); }
std::ostream& operator<<(std::ostream& out, Sym value) { return out << to_string(value); }
std::ostream& operator<<(std::ostream& out, Truth value) { return out << to_string(value); }
std::ostream& operator<<(std::ostream& out, const IntTuple& tuple) { return out << to_string(tuple); }
std::ostream& operator<<(std::ostream& out, const Layout& layout) { return out << to_string(layout); }
std::ostream& operator<<(std::ostream& out, const SymLayout& layout) { return out << to_string(layout); }

std::string to_string(const Claim& claim) {
  const auto operand = [&](std::size_t i) { return to_string(claim.operands.at(i)); };
  const auto layout = [&](std::size_t i) { return to_string(claim.layouts.at(i)); };
  switch (claim.kind) {
  case ClaimKind::equal: return operand(0) + " = " + operand(1);
  case ClaimKind::less_equal: return operand(0) + " <= " + operand(1);
  case ClaimKind::divides: return operand(0) + " divides " + operand(1);
  case ClaimKind::injective: return "injective " + layout(0);
  case ClaimKind::bijective: return "bijective " + layout(0);
  case ClaimKind::disjoint: return "disjoint " + layout(0) + " " + layout(1);
  case ClaimKind::same: return "equal " + layout(0) + " " + layout(1);
  }
  return "";
}

std::string to_string(const Obligation& o) {
  std::string out = to_string(o.claim) + "  (" + o.operation;
  for (const auto& [name, text] : o.operands) out += ", " + name + " " + text;
  return out + (o.where.empty() ? ")" : "; " + o.where + ")");
}

Truth FactProver::decide(const Claim& claim) {
  switch (claim.kind) {
  case ClaimKind::equal: return eq(claim.operands[0], claim.operands[1]);
  case ClaimKind::less_equal: return le(claim.operands[0], claim.operands[1]);
  case ClaimKind::divides: return divides(claim.operands[0], claim.operands[1]);
  default: return Truth::unknown;
  }
}

std::vector<Obligation> undischarged(std::span<const Obligation> obligations, Prover& prover) {
  std::vector<Obligation> left;
  for (const Obligation& o : obligations)
    if (prover.decide(o.claim) != Truth::yes) left.push_back(o);
  return left;
}

} // namespace inlay
