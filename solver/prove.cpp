#include "inlay/solver/prove.h"

#include "banks.h"
#include "layers.h"
#include "ranges.h"

#include <inlay/algebra/composed.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/sym.h>

namespace inlay::solver {
namespace {

template <class Decide>
Verdict guarded(const std::string& property, Decide decide) {
  try {
    return decide();
  } catch (const Overflow& o) {
    Verdict v;
    v.property = property;
    v.method = "none";
    v.obligations.push_back(std::string("numbers within 128 bits: ") + o.what());
    return v;
  }
}

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
  if (layout.is_leaf()) {
    add_modes(layout);
  } else {
    for (std::size_t k = 0; k < layout.rank(); ++k) add_modes(layout.mode(k));
  }
  return out;
}

} // namespace

Subject::Subject(std::string_view text, std::string_view domain)
    : parts_(is_algebra_call(text) ? parse_subject(to_string(evaluate_expression(text)), domain)
                                   : parse_subject(text, domain)) {}

Subject::Subject(const Layout& layout) {
  auto parts = std::make_shared<Parts>();
  parts->text = to_string(layout);
  parts->modes = modes_of(layout);
  parts_ = parts;
}

Subject::Subject(const SymLayout& layout) : parts_(parse_subject(to_string(layout), {})) {
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
  return guarded("equal", [&] {
    Engine e("equal", {&a, &b}, {}, facts, options);
    return decide_equal(e);
  });
}

Verdict prove_injective(const Subject& a, const Facts& facts, const Options& options) {
  return guarded("injective", [&] {
    Engine e("injective", {&a}, {}, facts, options);
    return decide_injective(e);
  });
}

Verdict prove_bijective(const Subject& a, const Facts& facts, const Options& options) {
  return guarded("bijective", [&] {
    Engine e("bijective", {&a}, {}, facts, options);
    return decide_bijective(e);
  });
}

Verdict prove_disjoint(const Subject& a, const Subject& b, const Facts& facts, const Options& options) {
  return guarded("disjoint", [&] {
    Engine e("disjoint", {&a, &b}, {}, facts, options);
    return decide_disjoint(e);
  });
}

Verdict prove_covers(const Subject& a, std::string_view n, const Facts& facts, const Options& options) {
  return guarded("covers", [&] {
    Engine e("covers", {&a}, {std::string(n)}, facts, options);
    return decide_covers(e);
  });
}

Verdict prove_within(const Subject& a, std::string_view n, const Facts& facts, const Options& options) {
  return guarded("within", [&] {
    Engine e("within", {&a}, {std::string(n)}, facts, options);
    return decide_within(e);
  });
}

Verdict prove_aligned(const Subject& a, std::string_view w, const Facts& facts, const Options& options) {
  return guarded("aligned", [&] {
    Engine e("aligned", {&a}, {std::string(w)}, facts, options);
    return decide_aligned(e);
  });
}

Verdict prove_inverse(const Subject& a, const Subject& b, const Facts& facts, const Options& options) {
  return guarded("inverse", [&] {
    Engine e("inverse", {&a, &b}, {}, facts, options);
    return decide_inverse(e);
  });
}

Verdict prove_conflict_free(const Subject& a, std::string_view access, std::string_view arch,
                            const Facts& facts, const Options& options) {
  const LdsAccess& model = lds_access(access, arch);
  return guarded("conflict-free", [&] {
    Engine e("conflict-free", {&a}, {}, facts, options);
    return decide_conflict_free(e, model);
  });
}

} // namespace inlay::solver
