#include "program_checks.h"

#include <algorithm>
#include <map>

namespace inlay::codegen {

void refuse_empty(const std::vector<Size>& sizes, Sym extent, const std::string& what) {
  const std::vector<AtomId> all = inlay::symbols(extent);
  for (const Size& s : sizes)
    if (s.facts.least == 0 && s.name != "rank" &&
        std::find(all.begin(), all.end(), *s.symbol.as_atom()) != all.end())
      throw CodegenError(what + ": the size " + s.name + ", which may be 0, is part of an extent",
                         "extent " + to_string(extent),
                         "a size from 1 on; what may be 0 stands in strides, (m,n):(n+" + s.name + ",1)");
}

void check_depth(const char* operation, Expr e, const std::string& line) {
  constexpr int deepest = 1000;
  std::map<int, int> depth{{e.id, 1}}; // from e down to its arguments, which are made before what takes them
  int most = 1;
  for (auto at = depth.rbegin(); at != depth.rend(); ++at) {
    most = std::max(most, at->second);
    for (const int a : e.arena->node(at->first).args) depth[a] = std::max(depth[a], at->second + 1);
  }
  if (most > deepest)
    throw CodegenError(std::string(operation) + ": a formula " + std::to_string(most) +
                           " levels deep, of at most " + std::to_string(deepest),
                       line, "several maps, each of what the one before it gives");
}

void check_own(const std::vector<Fragment>& all, const Fragment& f, const char* operation,
               const std::source_location& where) {
  const auto n = static_cast<std::size_t>(f.id);
  if (f.id >= 0 && n < all.size() && all[n].element == f.element && all[n].tv == f.tv) return;
  throw CodegenError(std::string(operation) + ": its fragment is not one of this program's",
                     "line   " + std::to_string(where.line()), "what k.load, k.map or k.zeros of it gave");
}
void check_own(const std::vector<Tensor>& all, const Tensor& t, const char* operation) {
  const auto n = static_cast<std::size_t>(t.id);
  if (t.id >= 0 && n < all.size() && all[n].name == t.name && all[n].element == t.element) return;
  throw CodegenError(std::string(operation) + ": the tensor '" + t.name + "' is not one of this program's",
                     "", "what k.input, k.output or k.lds of it gave");
}

void check_vector(const Layout& tv, int vector, const char* what) {
  const auto values = tv.mode(1).size().value();
  if (vector < 1 || values % vector != 0)
    throw CodegenError(std::string(what) + ": the vectors do not divide a thread's values",
                       "tv     " + to_string(tv) + ", vectors of " + std::to_string(vector));
}

bool is_short(Element e) { return e == Element::f32 || e == Element::f16 || e == Element::bf16; }

bool names_rows(Element e) { return e == Element::i32 || e == Element::i64; }

void check_wide(const std::string& operation, Expr e, const std::function<bool(const ExprNode&)>& wide,
                const std::string& line) {
  const auto refuse = [&] {
    throw CodegenError(operation + ": an element of i64 is taken as a number", line,
                       "integer(x), the nearest number of 32 bits");
  };
  if (wide(e.node())) refuse();
  (void)e.arena->rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::word)
      for (const int a : n.args)
        if (wide(e.arena->node(a))) refuse();
    return std::nullopt;
  });
}

void check_integers(const std::string& operation, Expr e,
                    const std::function<bool(const ExprNode&, bool whole)>& holds) {
  (void)e.arena->rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::word && !holds(e.arena->node(n.args[0]), true))
      throw CodegenError(
          operation +
              ": integer(x) is of an operand of i32 or i64, of one of i8 as an input has it, or of an "
              "index",
          "", "truncated(x) of other numbers");
    if (n.fn == Fn::float_bits && !holds(e.arena->node(n.args[0]), false))
      throw CodegenError(operation + ": float_bits(x) is of f32, f16 or bf16 as an input has it: what is "
                                     "computed is rounded otherwise",
                         "", "the fragment that `load` gives from an input");
    return std::nullopt;
  });
}

void check_elements(const char* operation, const Target& target, const std::vector<Element>& from, Element to,
                    const std::source_location& where) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw CodegenError(std::string(operation) + ": " + what, "line   " + std::to_string(where.line()), hint);
  };
  const auto among = [](Element e, std::initializer_list<Element> those) {
    return std::find(those.begin(), those.end(), e) != those.end();
  };
  const std::string of_target = float8_names(target);
  for (const Element e : from)
    if (!among(e, {Element::f32, Element::f16, Element::bf16, Element::i32, Element::i8}) &&
        !is_float8(target, e))
      refuse("it computes in f32, to which " + to_string(e) + " is not converted",
             "operands of f32, f16, bf16, i32, i8, " + of_target);
  if (!among(to, {Element::f32, Element::f16, Element::bf16, Element::i8}) && !is_float8(target, to))
    refuse("it computes in f32, which is not converted to " + to_string(to),
           "f32, f16, bf16, i8, " + of_target +
               (to == Element::i32 ? "; i32 of integers: truncated(x), truncated(nearest(x)); a sum or a "
                                     "fold is f32 until it is over"
                                   : ""));
}
} // namespace inlay::codegen
