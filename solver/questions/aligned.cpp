// W | A(i): W divides the constant and every coefficient, exactly or for every residue of the symbols.
#include "questions/pointwise.h"

#include "inlay/solver/error.h"

namespace inlay::solver {

namespace {

// Does w divide p for all values? By exact division, else by trying every residue class of the symbols modulo w: a polynomial with
// integer coefficients takes residues to residues. n (n + 1) is even, though no coefficient is.
bool divides(Engine& e, const Poly& w, const Poly& p) {
  if (auto q = exact_quotient(p, w)) {
    e.claims.equal(p, w * *q, "multiple");
    return true;
  }
  auto m = w.constant();
  std::vector<Symbol> symbols = p.symbols();
  if (!m || *m <= 0) return false;
  Wide classes = 1;
  for (std::size_t k = 0; k < symbols.size(); ++k)
    // Some milliseconds. Polynomials of strides have few symbols, and alignments are small.
    if (*m > 65536 || (classes *= *m) > 65536) return false;
  std::vector<Wide> values(e.context.names().size(), 0);
  for (Wide c = 0; c < classes; ++c) {
    Wide rest = c;
    // From 0, whatever the bounds are: a residue is one of some value, and all of them have to do.
    for (Symbol s : symbols) values[s] = rest % *m, rest /= *m;
    if (floor_mod(p.at(values), *m) != 0) return false;
  }
  e.claims.note(e.context.str(w) + " divides " + e.context.str(p) + ": all " + to_string(classes) +
                " residue classes");
  return true;
}

} // namespace

Verdict decide_aligned(Engine& e) {
  const Parts& a = e.a();
  auto w = e.context.poly(e.term());
  if (w && w->constant() && *w->constant() < 1)
    throw QuestionError("aligned: the alignment is " + to_string(*w->constant()) +
                        "\n  hint   it is at least 1");
  // Every term on its own. Nothing less will do where digits have two values: at 0 the constant is the value, and one step of one
  // digit adds its coefficient.
  auto aligned = [&](Lowering&, const Form& f) {
    // An alignment that may be 0 divides nothing there but 0.
    if (!w || !e.at_least(*w, Poly(1), "the alignment is positive")) return false;
    bool yes = divides(e, *w, f.constant);
    for (const auto& [d, c] : f.linear) yes = yes && divides(e, *w, c);
    for (const auto& [m, c] : f.parity) yes = yes && divides(e, *w, c);
    return yes;
  };
  // On the larger box where digits were rounded up: every index is in it.
  if (auto own = e.lower_alone(a)) {
    if (aligned(own->lowering, own->form)) {
      e.digits("first", own->lowering);
      return e.proved("residues");
    }
    e.claims.clear();
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::misaligned;
    f.environment = env;
    f.bound = evaluate(e.term(), [&](const std::string& n) { return env.at(n); });
    if (f.bound < 1)
      throw QuestionError("aligned: the alignment is " + to_string(f.bound) +
                          " for some values of the symbols\n  hint   it is at least 1");
    Evaluator x(a, env);
    auto fails = [&](Wide i) -> std::optional<Finding> {
      if (x(i) % f.bound == 0) return std::nullopt;
      f.index = i;
      return f;
    };
    if (a.is_plain_layout()) { // V divides L(i) for all i iff it divides every stride that is used: L(P_k) =
                               // d_k
      Wide before = 1;
      for (const auto& m : concrete_modes(a, env)) {
        if (m.extent > 1)
          if (auto bad = fails(before)) return Check::fails(*bad);
        before = multiply(before, m.extent);
      }
      return Check::holds();
    }
    return scan(e, x.size(), fails);
  };
  if (auto v = e.by_instances(check, "residues")) return *v;
  auto proof = [&](Lowering& l, const std::vector<Form>& f) { return aligned(l, f[0]); };
  auto negated = [&](smt::Query& q, const std::vector<std::string>& t) -> std::optional<std::string> {
    auto n = q.term(e.term(), {});
    if (!n) return std::nullopt;
    return "(not (= (mod " + t[0] + " " + *n + ") 0))";
  };
  if (auto v = prove_pointwise(e, {&a}, proof, negated, Finding::Kind::misaligned, e.term())) return *v;
  return e.unknown();
}

} // namespace inlay::solver
