#include "inlay/solver/prove.h"
#include "inlay/solver/certificate.h"
#include "inlay/solver/prover.h"

#include "questions/banks.h"
#include "questions/ranges.h"
#include "questions/statements.h"

#include <inlay/algebra/composed.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/sym.h>
#include <inlay/algebra/sym_expression.h>
#include <inlay/algebra/triton_layout.h>

namespace inlay::solver {
namespace {

// Overflow is "unknown"; so is a statement about a layout that exists only under an assumption nobody proved.
template <class Decide>
Verdict guarded(const std::string& property, std::initializer_list<const Subject*> subjects,
                const Facts& facts, const Options& options, Decide decide) {
  for (const Subject* s : subjects) {
    // Before anything is asked: where an operation needed what nobody proved, the layout of its result may
    // not exist, and a verdict either way would be about something else.
    std::vector<std::string> open = s->open(facts, options);
    if (open.empty()) continue;
    Verdict v;
    v.property = property;
    v.method = "none";
    v.obligations = open;
    return v;
  }
  try {
    // The one catch for all layers: a number beyond 128 bits may turn up in any of them, and none has to know
    // what that means for the question as a whole. It means nothing: neither yes nor no.
    Verdict v = decide();
    return options.recheck ? rechecked(std::move(v)) : v;
  } catch (const Overflow& o) {
    Verdict v;
    v.property = property;
    v.method = "none";
    v.obligations.push_back(std::string("numbers within 128 bits: ") + o.what());
    return v;
  }
}

// First with a symbol for each min, max and quotient that no fact decides, without a solver for the question as a whole; then as it is.
Verdict answered(const std::string& property, const std::vector<const Subject*>& subjects,
                 const std::vector<std::string>& terms, const Facts& facts, const Options& options,
                 Verdict (*decide)(Engine&)) {
  // A min among the extents is no polynomial, and without polynomials most layers have nothing to say. As a
  // symbol it is one. What overflows in this attempt may well be smaller in the other, where nothing is
  // named.
  Engine first(property, subjects, terms, facts, options);
  if (first.name_choices()) try {
      if (Verdict v = decide(first); v.outcome != Outcome::unknown) return v;
    } catch (const Overflow&) {
    }
  else
    return decide(first);
  Engine e(property, subjects, terms, facts, options);
  return decide(e);
}

// Values of the algebra come in as the same parts that texts are parsed into; from there on nothing knows where a question came from.
std::vector<std::vector<FlatMode>> modes_of(const Layout& layout) {
  std::vector<std::vector<FlatMode>> out;
  auto add_modes = [&](const Layout& l) {
    out.emplace_back();
    for (const auto& m : l.modes()) {
      if (m.stride.is_basis())
        throw QuestionError("layout: basis strides map to coordinates, not to numbers\n  in     " +
                            to_string(layout) + "\n  hint   ask about one coordinate at a time");
      out.back().push_back({{m.extent.value(), nullptr}, {m.stride.scale.value(), nullptr}});
    }
  };
  // Top-level modes are the coordinates of a question (lanes, values, by-mode equality), so that (4,8):(1,4)
  // has two and 32:1 has one.
  if (layout.is_leaf()) {
    add_modes(layout);
  } else {
    for (std::size_t k = 0; k < layout.rank(); ++k) add_modes(layout.mode(k));
  }
  return out;
}

} // namespace

struct Subject::Assumed {
  SymContext context;
  std::vector<Obligation> obligations;
};

Subject::Subject(std::string_view text, std::string_view domain) {
  if (!is_algebra_call(text)) {
    parts_ = parse_subject(text, domain);
    return;
  }
  // On numbers the whole table of operations, on symbols those that return layouts, with what they had to assume.
  std::string value;
  try {
    // The algebra computes and the prover judges: between them goes text, so that a question about an operation is one about what it
    // printed.
    value = to_string(evaluate_expression(text));
    // Operations that print one of Triton's layouts, which is a layout.
    if (is_triton_layout(value)) value = to_string(parse_triton_layout(value));
  } catch (const LayoutError&) {
    if (is_triton_layout(text)) throw; // it has no symbols
    // Only what fails on numbers is tried on symbols: for numbers the operations are exact, and symbols would
    // bring assumptions that numbers do not need. A text that is wrong on both fails here once more, with the
    // message of the symbolic reader.
    auto assumed = std::make_shared<Assumed>();
    value = to_string(evaluate_sym_expression(assumed->context, text));
    // The identity in front is how a composed value prints a plain layout; with it no layer would take the
    // ways that plain layouts have (normal form, extremes).
    if (value.rfind("Sw<0,0,0> o 0 o ", 0) == 0) value = value.substr(16);
    assumed->obligations = assumed->context.take_obligations();
    assumed_ = assumed;
  }
  auto parts = std::make_shared<Parts>(*parse_subject(value, domain));
  // Every symbol that was written is one of the question's, though no extent or stride of the result names it: a condition about it may
  // be what proves an assumption, or what the user knows, and would else be refused as being about nothing in the question.
  if (assumed_)
    for (AtomId id = 0; id < assumed_->context.atom_count(); ++id)
      if (const SymAtom& a = assumed_->context.atom(id); a.kind == AtomKind::symbol)
        parts->written.insert(a.name);
  parts_ = parts;
}

Subject::Subject(const Layout& layout) {
  auto parts = std::make_shared<Parts>();
  parts->text = to_string(layout);
  parts->modes = modes_of(layout);
  parts_ = parts;
}

Subject::Subject(const SymLayout& layout) : parts_(parse_subject(to_string(layout), {})) {
  // The text has the symbols' names and nothing of what their context knows; that comes along as conditions,
  // which certificates state.
  facts_ = ranges_of(symbols_in(layout));
}

Subject::Subject(const ComposedLayout& layout) : parts_(parse_subject(to_string(layout), {})) {}

Subject::Subject(const SymComposedLayout& layout) : parts_(parse_subject(to_string(layout), {})) {
  std::vector<Sym> all = symbols_in(layout.inner());
  if (const auto* outer = std::get_if<SymLayout>(&layout.outer()))
    for (const Sym& s : symbols_in(*outer)) all.push_back(s);
  all.push_back(layout.offset());
  facts_ = ranges_of(all);
}

std::string Subject::text() const { return parts_->text; }

std::vector<std::string> Subject::open(const Facts& facts, const Options& options) const {
  std::vector<std::string> out;
  // An operation on symbols may hold only where divisors divide. What these facts do not prove of that is the answer: the layout that was asked
  // about may not exist.
  if (!assumed_) return out;
  // By the caller's options, so that an assumption costs no more steps than the question itself may.
  SolverProver prover(facts, options);
  for (const Obligation& o : assumed_->obligations)
    if (prover.decide(o.claim) != Truth::yes) out.push_back(to_string(o));
  return out;
}

const char* to_string(Outcome o) {
  return o == Outcome::proved ? "proved" : o == Outcome::refuted ? "refuted" : "unknown";
}

std::string Verdict::summary() const {
  std::string out = property + ": " + to_string(outcome);
  if (outcome != Outcome::unknown) out += " (" + method + ")";
  if (witness) {
    std::string symbols;
    for (const auto& [n, v] : witness->symbols)
      symbols += (symbols.empty() ? "" : ", ") + n + " = " + std::to_string(v);
    out += ": " + (symbols.empty() ? "" : "with " + symbols + ", ") + witness->text;
  }
  for (const std::string& o : obligations) out += "\n  needs  " + o;
  return out;
}

Verdict prove_equal(const Subject& a, const Subject& b, const Facts& facts, const Options& options) {
  return guarded("equal", {&a, &b}, facts, options, [&] {
    return answered("equal", {&a, &b}, {}, facts, options, decide_equal);
  });
}

Verdict prove_injective(const Subject& a, const Facts& facts, const Options& options) {
  return guarded("injective", {&a}, facts, options,
                 [&] { return answered("injective", {&a}, {}, facts, options, decide_injective); });
}

Verdict prove_bijective(const Subject& a, const Facts& facts, const Options& options) {
  return guarded("bijective", {&a}, facts, options,
                 [&] { return answered("bijective", {&a}, {}, facts, options, decide_bijective); });
}

Verdict prove_disjoint(const Subject& a, const Subject& b, const Facts& facts, const Options& options) {
  return guarded("disjoint", {&a, &b}, facts, options, [&] {
    return answered("disjoint", {&a, &b}, {}, facts, options, decide_disjoint);
  });
}

Verdict prove_covers(const Subject& a, std::string_view n, const Facts& facts, const Options& options) {
  return guarded("covers", {&a}, facts, options,
                 [&] { return answered("covers", {&a}, {std::string(n)}, facts, options, decide_covers); });
}

Verdict prove_within(const Subject& a, std::string_view n, const Facts& facts, const Options& options) {
  return guarded("within", {&a}, facts, options,
                 [&] { return answered("within", {&a}, {std::string(n)}, facts, options, decide_within); });
}

Verdict prove_aligned(const Subject& a, std::string_view w, const Facts& facts, const Options& options) {
  return guarded("aligned", {&a}, facts, options,
                 [&] { return answered("aligned", {&a}, {std::string(w)}, facts, options, decide_aligned); });
}

Verdict prove_inverse(const Subject& a, const Subject& b, const Facts& facts, const Options& options) {
  return guarded("inverse", {&a, &b}, facts, options, [&] {
    return answered("inverse", {&a, &b}, {}, facts, options, decide_inverse);
  });
}

Verdict prove_conflict_free(const Subject& a, std::string_view access, std::string_view arch,
                            const Facts& facts, const Options& options) {
  // Not through answered(): lanes and banks are enumerated, and a min that became a symbol would only lose its values.
  const LdsAccess& model = lds_access(access, arch);
  return guarded("conflict-free", {&a}, facts, options, [&] {
    Engine e("conflict-free", {&a}, {}, facts, options);
    // Part of the claim, though not of the layout: a certificate that did not name them could be read as one
    // about another machine.
    e.settings = {"arch " + std::string(arch), "access " + std::string(access)};
    return decide_conflict_free(e, model);
  });
}

Verdict prove_coalesced(const Subject& a, unsigned element_bytes, std::string_view arch, unsigned lines,
                        const Facts& facts, const Options& options) {
  const GlobalMemory& memory = global_memory(arch);
  // The widest access moves 16 bytes a lane; an element of more would be torn whatever its layout.
  if (element_bytes < 1 || element_bytes > 16)
    throw QuestionError("coalesced: elements of " + std::to_string(element_bytes) +
                        " bytes\n  hint   1 to 16 bytes an element");
  return guarded("coalesced", {&a}, facts, options, [&] {
    Engine e("coalesced", {&a}, {}, facts, options);
    e.settings = {"arch " + std::string(arch), "element-bytes " + std::to_string(element_bytes),
                  "lines " + std::to_string(lines)};
    return decide_coalesced(e, memory, element_bytes, lines);
  });
}

} // namespace inlay::solver
