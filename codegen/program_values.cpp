// Program: what is made of fragments.
#include "program_checks.h"

#include "integer_sums.h"
#include "lane_exchange.h"
#include "lds_place.h"
#include "scan_order.h"
#include "thread_value.h"

#include <inlay/machine/lds.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

namespace inlay::codegen {
namespace {

std::string as_text(double value) {
  Expressions x;
  return to_string(x.constant(value), [](int) { return std::string(); });
}
// As few digits as read back the same number.
std::string digits(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}
// Every number is one that f32 has: 1e300 would be infinite, and 1e-300 would be 0.
void check_constant(const char* operation, double value, const std::source_location& where) {
  const auto narrow = static_cast<float>(value);
  if (std::isnan(value) || (std::isfinite(value) && (!std::isfinite(narrow) || (value != 0 && narrow == 0))))
    throw CodegenError(std::string(operation) + ": " + as_text(value) +
                           " is no number of f32, in which it computes",
                       "line   " + std::to_string(where.line()),
                       "what has been multiplied out, between 1.5e-45 and 3.4e38, or INFINITY");
}
// Also on the way no number that is made of constants alone passes what f32 holds.
void check_constants(const char* operation, Expr map, const std::source_location& where) {
  constexpr double least = std::numeric_limits<float>::min();
  std::unordered_map<int, std::optional<double>> known;
  const auto value_of = [&](auto&& self, Expr e) -> std::optional<double> {
    if (const auto at = known.find(e.id); at != known.end()) return at->second;
    const ExprNode n = e.node();
    if (n.fn == Fn::constant || n.fn == Fn::inside) check_constant(operation, n.value, where);
    const auto refuse = [&](const std::string& what) {
      throw CodegenError(std::string(operation) + ": " + what, "line   " + std::to_string(where.line()),
                         "what has been multiplied out, between 1.2e-38 and 3.4e38");
    };
    std::vector<double> x;
    for (const int a : n.args)
      if (const auto v = self(self, Expr{e.arena, a}); v && std::isfinite(*v)) x.push_back(*v);
    const auto last = n.args.empty() ? std::nullopt : known.at(n.args.back());
    // 1 / x, log(x), 1 / sqrt(x) of a number that hardware may take for 0.
    const bool takes = n.fn == Fn::div || n.fn == Fn::power || n.fn == Fn::log || n.fn == Fn::log2;
    if (takes && last && *last != 0 && std::abs(*last) < least)
      refuse(to_string(e, [](int) { return std::string("x"); }) + " takes " + as_text(*last) +
             ", which f32 may flush to 0");
    std::optional<double> out;
    if (n.fn == Fn::constant) out = n.value;
    const bool folds = takes || n.fn == Fn::add || n.fn == Fn::mul || n.fn == Fn::sub || n.fn == Fn::exp ||
                       n.fn == Fn::exp2 || n.fn == Fn::max || n.fn == Fn::min;
    if (folds && x.size() == n.args.size()) {
      out = function_value(n, x);
      const bool nowhere = takes && !std::isfinite(*out); // log(0): a claim says so
      const double size = std::abs(*out);
      if (!nowhere && (!std::isfinite(static_cast<float>(*out)) || (size != 0 && size < least)))
        refuse(to_string(e, [](int) { return std::string("x"); }) + " is " + as_text(*out) +
               ", which f32, in which it computes, does not hold");
    }
    return known[e.id] = out;
  };
  (void)value_of(value_of, map);
}

// Literals that a map may come to are numbers of what it gives.
void check_literals(Expr map, Element to, const std::source_location& where) {
  const auto look = [&](auto&& self, Expr e) -> void {
    const ExprNode n = e.node();
    const auto arg = [&](std::size_t i) { self(self, Expr{e.arena, n.args[i]}); };
    if ((n.fn == Fn::constant || n.fn == Fn::inside) && !holds(to, n.value))
      throw CodegenError("map: it may come to " + as_text(n.value) + ", and " + to_string(to) +
                             " has no such number",
                         "line   " + std::to_string(where.line()),
                         "a result of f32, or a number up to " + as_text(largest_finite(to)));
    if (n.fn == Fn::inside) arg(0);
    if (n.fn == Fn::max || n.fn == Fn::min) arg(0), arg(1);
    if (n.fn == Fn::select) arg(2), arg(3);
    if (n.fn == Fn::choose) arg(1), arg(2);
  };
  look(look, map);
}

} // namespace

void check_number_of_f64(const std::string& operation, const ExprNode& n, const std::string& line) {
  const bool has_value = n.fn == Fn::constant || n.fn == Fn::inside;
  if (has_value && !std::isnan(n.value) && rounded(Element::f32, n.value) != n.value)
    throw CodegenError(operation + ": it is of f64, and " + digits(n.value) +
                           " is compared with others within 1e-11 of it",
                       line, "a number that f32 holds, or one in a tensor");
}

namespace {
// Arithmetic of f64 is of f64 alone, and of what one instruction each computes.
void check_doubles(Expr map, const std::vector<Element>& from, Element to,
                   const std::source_location& where) {
  const std::string line = "line   " + std::to_string(where.line());
  for (const Element e : from)
    if (e != Element::f64 || to != Element::f64)
      throw CodegenError("map: no conversion between " + to_string(e) + " and " + to_string(to), line,
                         "operands and a result of f64, which is computed in f64");
  (void)map.arena->rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    check_number_of_f64("map", n, line);
    switch (n.fn) {
    case Fn::constant:
    case Fn::parameter:
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::max:
    case Fn::min:
    case Fn::select:
    case Fn::inside: return std::nullopt;
    default:
      throw CodegenError("map: it is of f64, for which there is no instruction of a function in it", line,
                         "sums, products, max, min, select and inside");
    }
  });
}

void check_map(const MapOp& m, const Target& target, const std::vector<Fragment>& fragments, Element to,
               const std::source_location& where) {
  if (to == Element::i64)
    throw CodegenError("map: its result would be i64", "line   " + std::to_string(where.line()),
                       "i32, which k.store writes to a tensor of i64 with its sign");
  if (bits(to) < 8)
    throw CodegenError(
        "map: its result would be " + to_string(to) +
            ", and elements narrower than a byte are loaded, stored and multiplied as they are",
        "line   " + std::to_string(where.line()),
        "bytes of them as integers, by to_code(\"" + to_string(to) + "\", x): guide, page 30");
  check_constants("map", m.map, where);
  if (to != Element::i32) check_literals(m.map, to, where);
  const auto element = [&](int f) { return fragments[static_cast<std::size_t>(f)].element; };
  check_wide(
      "map", m.map,
      [&](const ExprNode& n) {
        return n.fn == Fn::parameter && element(m.from[static_cast<std::size_t>(n.tensor)]) == Element::i64;
      },
      "line   " + std::to_string(where.line()));
  std::vector<Element> from;
  for (const int f : m.from) from.push_back(element(f) == Element::i64 ? Element::i32 : element(f));
  const bool first = m.map.node().fn == Fn::parameter && m.map.node().tensor == 0;
  const bool alike = std::all_of(from.begin(), from.end(), [&](Element e) { return e == to; });
  if (alike && (first || (to == Element::i32 && adds_operands(m.map)))) return;
  if (to == Element::f64 || std::find(from.begin(), from.end(), Element::f64) != from.end())
    return check_doubles(m.map, from, to, where);
  const bool integer = to == Element::i32 && m.map.node().fn == Fn::to_number;
  check_elements("map", target, from, integer ? Element::f32 : to, where);
}
} // namespace

namespace {
// Of `exact`: a fragment, or ~fragment where something was made of its elements' codes. What is i32 stays a whole number.
void takes_codes(Expr map, const std::vector<int>& from, const std::vector<Fragment>& fragments,
                 std::vector<int>& exact) {
  (void)map.arena->rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::float_bits && n.fn != Fn::word) return std::nullopt;
    const ExprNode& x = map.arena->node(n.args[0]);
    if (x.fn != Fn::parameter) return std::nullopt;
    const int f = from[static_cast<std::size_t>(x.tensor)];
    if (fragments[static_cast<std::size_t>(f)].element != Element::i32) exact.push_back(~f);
    return std::nullopt;
  });
}
// A fragment is no longer what its input has; in a loop what was made of its codes is made of them again.
void changes(int fragment, std::vector<int>& exact, const std::source_location& where) {
  if (std::erase(exact, fragment) == 0) return;
  if (std::find(exact.begin(), exact.end(), ~fragment) != exact.end())
    throw CodegenError(
        "r" + std::to_string(fragment) + " is changed, and float_bits or integer took it as its input has it",
        "line   " + std::to_string(where.line()), "map it to another fragment, and change that one");
}
} // namespace

Fragment Program::zeros(Element element, const Layout& tv, std::vector<int> extents, Where where) {
  if (element == Element::i64)
    throw CodegenError("zeros: i64, which memory alone holds", "line   " + std::to_string(where.line()),
                       "i32, which k.store writes to a tensor of i64 with its sign");
  const Fragment f = fragment(element, of_role(tv, where), std::move(extents));
  append(FillOp{f.id, 0}, where);
  return f;
}

Fragment Program::full(double value, const Layout& tv, std::vector<int> extents, Where where) {
  check_constant("full", value, where);
  const Fragment f = fragment(Element::f32, of_role(tv, where), std::move(extents));
  append(FillOp{f.id, value}, where);
  return f;
}

namespace {
void check_products(const Fragment& acc, const Fragment& a, const Fragment& b, const MmaTiling& tiling,
                    const std::source_location& where) {
  const Mma& mma = tiling.mma();
  for (const auto& [what, of, wanted] :
       {std::tuple("A", &a, mma.a_element), std::tuple("B", &b, mma.b_element),
        std::tuple("the accumulator", &acc, mma.c_element)})
    if (of->element != wanted)
      throw CodegenError("mma: " + std::string(what) + " holds " + to_string(of->element) + ", and " +
                             tiling.atom->name + " takes " + to_string(wanted),
                         "line   " + std::to_string(where.line()),
                         "an instruction for " + to_string(of->element) + ", or k.map(.., " +
                             to_string(wanted) + ")");
}
} // namespace

void Program::mma(const Fragment& acc, const Fragment& a, const Fragment& b, const MmaTiling& mma,
                  Where where) {
  if (mma.mma().scaled)
    throw CodegenError("mma: " + mma.atom->name + " multiplies by scales, and there are none",
                       "line   " + std::to_string(where.line()),
                       "mma(acc, a, a_scales, b, b_scales, tiling)");
  for (const Fragment* f : {&acc, &a, &b}) check_own(fragments_, *f, "mma", where);
  check_products(acc, a, b, mma, where);
  changes(acc.id, exact_, where);
  append(MmaOp{acc.id, a.id, b.id, mma}, where);
}

void Program::mma(const Fragment& acc, const Fragment& a, const Fragment& a_scales, const Fragment& b,
                  const Fragment& b_scales, const MmaTiling& mma, Where where) {
  if (!mma.mma().scaled || a_scales.element != Element::e8m0 || b_scales.element != Element::e8m0)
    throw CodegenError("mma: scales are e8m0, of an instruction that takes some",
                       mma.atom->name + ", " + to_string(a_scales.element) + " and " +
                           to_string(b_scales.element) + ", line " + std::to_string(where.line()));
  for (const Fragment* f : {&acc, &a, &a_scales, &b, &b_scales}) check_own(fragments_, *f, "mma", where);
  check_products(acc, a, b, mma, where);
  changes(acc.id, exact_, where);
  append(MmaOp{acc.id, a.id, b.id, mma, a_scales.id, b_scales.id}, where);
}

namespace {
const Fragment& widest(const std::vector<Fragment>& from) {
  if (from.empty()) throw CodegenError("map: no operands");
  return *std::max_element(from.begin(), from.end(),
                           [](const auto& a, const auto& b) { return a.values() < b.values(); });
}
} // namespace

namespace {
// Sums and products of four operands and more, at most 64, as (a + b) + (c + d).
Expr by_halves(Expr map) {
  constexpr std::size_t least = 4, most = 64;
  return map.arena->rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::add && n.fn != Fn::mul) return std::nullopt;
    std::vector<Expr> all;
    const std::function<void(const ExprNode&)> collect = [&](const ExprNode& of) {
      for (const int a : of.args) {
        const Expr x{map.arena, a};
        if (all.size() > most) return;
        if (const ExprNode inner = x.node(); inner.fn == n.fn)
          collect(inner);
        else
          all.push_back(x);
      }
    };
    collect(n);
    if (all.size() < least || all.size() > most) return std::nullopt;
    while (all.size() > 1) {
      std::vector<Expr> halves;
      for (std::size_t i = 0; i + 1 < all.size(); i += 2)
        halves.push_back(n.fn == Fn::add ? all[i] + all[i + 1] : all[i] * all[i + 1]);
      if (all.size() % 2 != 0) halves.push_back(all.back());
      all = std::move(halves);
    }
    return all[0];
  });
}
} // namespace

Expr Program::checked(Expr map, const std::vector<int>& from, Element to, const Where& where) const {
  const std::string line = "line   " + std::to_string(where.line());
  if (map.arena != expressions_.get())
    throw CodegenError(map.arena ? "map: its expression is another program's" : "map: it gives no expression",
                       line, "a formula of its operands, as `return v[0] + v[1];`");
  check_depth("map", map, line);
  if (is_integer(map)) {
    if (to != Element::i32)
      throw CodegenError("map: the result is an integer, and " + to_string(to) + " is asked for", line,
                         "Element::i32, or to_number(w)");
    map = to_number(map);
  }
  try {
    check_integers("map", map, [&](const ExprNode& n, bool whole) {
      if (n.fn == Fn::number) return whole;
      if (n.fn != Fn::parameter) return false;
      const int f = from[static_cast<std::size_t>(n.tensor)];
      const Element e = fragment(f).element;
      const bool exact = std::find(exact_.begin(), exact_.end(), f) != exact_.end();
      return whole ? names_rows(e) || (e == Element::i8 && exact) : is_short(e) && exact;
    });
  } catch (const CodegenError& e) {
    throw CodegenError(e.what(), line);
  }
  return map;
}

namespace {
// Operands that the map does not take are none, but for those of f32 of one that gives f32: they say where its elements are. Of a map that
// takes none, the one at `least` stays. `updated` stays, as the last.
void take_operands(MapOp& m, const std::vector<Fragment>& fragments, Element to, std::size_t least,
                   int updated = -1) {
  std::vector<bool> taken;
  for (const int f : m.from)
    taken.push_back(to == Element::f32 && fragments[static_cast<std::size_t>(f)].element == Element::f32);
  for (const int k : m.map.arena->parameters(m.map)) taken[static_cast<std::size_t>(k)] = true;
  if (std::find(taken.begin(), taken.end(), true) == taken.end()) taken[least] = true;
  std::vector<int> from, now;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    now.push_back(static_cast<int>(from.size()));
    if (taken[i]) from.push_back(m.from[i]);
  }
  if (from.size() == m.from.size()) return;
  if (updated >= 0 && std::find(from.begin(), from.end(), updated) == from.end()) from.push_back(updated);
  m.from = std::move(from);
  m.map = m.map.arena->rewrite(m.map, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::parameter) return std::nullopt;
    return m.map.arena->parameter(now[static_cast<std::size_t>(n.tensor)]);
  });
}
} // namespace

Fragment Program::map(const std::vector<Fragment>& from,
                      const std::function<Expr(const std::vector<Expr>&)>& body, Element element,
                      Where where) {
  return map(widest(from).tv, from, body, FastMath{}, element, where);
}

Fragment Program::map(const std::vector<Fragment>& from,
                      const std::function<Expr(const std::vector<Expr>&)>& body, FastMath math,
                      Element element, Where where) {
  return map(widest(from).tv, from, body, math, element, where);
}

Fragment Program::map(const Layout& tv, const std::vector<Fragment>& from,
                      const std::function<Expr(const std::vector<Expr>&)>& body, Element element,
                      Where where) {
  return map(tv, from, body, FastMath{}, element, where);
}

Fragment Program::map(const Layout& tv, const std::vector<Fragment>& from,
                      const std::function<Expr(const std::vector<Expr>&)>& body, FastMath math,
                      Element element, Where where) {
  std::vector<Expr> parameters;
  MapOp m;
  for (std::size_t i = 0; i < from.size(); ++i) {
    check_own(fragments_, from[i], "map", where);
    parameters.push_back(expressions_->parameter(static_cast<int>(i)));
    m.from.push_back(from[i].id);
  }
  m.map = checked(body(parameters), m.from, element, where);
  take_operands(m, fragments_, element, static_cast<std::size_t>(&widest(from) - from.data()));
  m.math = math;
  if (math.reassociate) m.map = by_halves(m.map);
  check_map(m, *target_, fragments_, element, where);
  takes_codes(m.map, m.from, fragments_, exact_);
  const Fragment f = fragment(element, of_role(tv, where), widest(from).extents);
  m.to = f.id;
  append(m, where);
  return f;
}

void Program::update(const Fragment& to, const std::vector<Fragment>& from,
                     const std::function<Expr(const std::vector<Expr>&)>& body, Where where) {
  update(to, from, body, FastMath{}, where);
}

void Program::update(const Fragment& to, const std::vector<Fragment>& from,
                     const std::function<Expr(const std::vector<Expr>&)>& body, FastMath math, Where where) {
  MapOp m;
  check_own(fragments_, to, "update", where);
  m.to = to.id;
  m.from.push_back(to.id);
  for (const Fragment& f : from) check_own(fragments_, f, "update", where), m.from.push_back(f.id);
  std::vector<Expr> parameters;
  for (std::size_t i = 0; i < m.from.size(); ++i)
    parameters.push_back(expressions_->parameter(static_cast<int>(i)));
  m.map = checked(body(parameters), m.from, to.element, where);
  take_operands(m, fragments_, to.element, 0, to.id);
  m.math = math;
  if (math.reassociate) m.map = by_halves(m.map);
  check_map(m, *target_, fragments_, to.element, where);
  takes_codes(m.map, m.from, fragments_, exact_);
  changes(to.id, exact_, where);
  append(m, where);
}

Fragment Program::relayout(const Fragment& from, const Layout& wanted, Element element, Nan nan,
                           Where where) {
  check_own(fragments_, from, "relayout", where);
  if (from.element == Element::i64)
    throw CodegenError("relayout: its fragment holds i64, as memory has it",
                       "line   " + std::to_string(where.line()), "k.map({x}, integer(x), i32) before it");
  const Layout tv = of_role(wanted, where);
  const Fragment to = fragment(element, tv, from.extents);
  bool here = true; // each thread has the elements that it wants
  const std::size_t axes = from.extents.size();
  std::vector<std::vector<int>> has, wants;
  for (std::size_t axis = 0; axis < axes; ++axis)
    has.push_back(coordinates(from.tv, axis)), wants.push_back(coordinates(tv, axis));
  for (int t = 0; t < threads_ && here; ++t) {
    std::set<std::vector<int>> mine;
    const auto at = [&](const std::vector<std::vector<int>>& of, int values, int v) {
      std::vector<int> c;
      for (const std::vector<int>& column : of) c.push_back(column[static_cast<std::size_t>(t * values + v)]);
      return c;
    };
    for (int v = 0; v < from.values(); ++v) mine.insert(at(has, from.values(), v));
    for (int v = 0; v < to.values() && here; ++v) here = mine.contains(at(wants, to.values(), v));
  }
  if (here) {
    const MapOp m{to.id, {from.id}, expressions_->parameter(0), nan};
    check_map(m, *target_, fragments_, element, where);
    append(m, where);
    return to;
  }
  // Lanes exchange words: what is narrower moves in its own type, what is wider is rounded after.
  if (auto exchanged =
          bits(from.element) > 32 ? std::optional<RelayoutOp>() : lane_exchanges(from, to, *target_)) {
    exchanged->nan = nan;
    check_map({to.id, {from.id}, expressions_->parameter(0), nan}, *target_, fragments_, element, where);
    append(*std::move(exchanged), where);
    return to;
  }
  // Through LDS, in the type that is wanted: fewer bytes, and the write rounds.
  Fragment rounded = from;
  if (from.element != element)
    rounded = map(
        {from}, [](const std::vector<Expr>& x) { return x[0]; }, element, where);
  const auto place =
      axes <= 2 && bits(element) <= 32
          ? place_without_conflicts(
                bits(element), from.extents[0], axes == 2 ? from.extents[1] : 1, rounded.tv, tv,
                static_cast<int>(
                    machine::lds_service(machine::find_target(target_->name)->arch, false, 4).banks))
          : std::nullopt;
  const std::string name = "relayout" + std::to_string(to.id);
  Tensor tile;
  if (place && place->high > 1) {
    const int low = place->low, high = place->high, rest = from.extents[0] / (low * high),
              row = from.extents[1];
    TupleBuilder<BasicMode<Sym>> digits;
    const auto leaf = [&](int extent, int stride) {
      digits.leaf({Sym(extent), BasicStride<Sym>(Sym(stride))});
    };
    const std::size_t all = digits.open(), rows = digits.open();
    leaf(low, row), leaf(high, row * low * rest), leaf(rest, row * low);
    digits.close(rows, 3);
    leaf(row, 1);
    digits.close(all, 2);
    tile = lds(name, element, from.extents, SymLayout(std::move(digits).finish()), place->swizzle);
  } else {
    tile = lds(name, element, from.extents, place ? place->swizzle : Swizzle(), place ? place->padding : 0);
  }
  store(rounded, whole(tile), 1, where);
  CopyOp c;
  c.from = whole(tile);
  c.to_fragment = to.id;
  c.tv = tv;
  append(c, where);
  return to;
}

Sym Program::position(int axis) const {
  return symbols_->symbol(position_name(axis), {Int(0), std::nullopt});
}

void Program::check(const std::vector<Fragment>& from,
                    const std::function<Expr(const std::vector<Expr>&)>& body, const std::string& text,
                    Where where) {
  const Fragment holds = map(
      from,
      [&](const std::vector<Expr>& x) {
        const Expr e = body(x);
        return is_integer(e) ? e : truncated(e);
      },
      Element::i32, where);
  append(CheckOp{holds.id, static_cast<int>(assertions_.size())}, where);
  assertions_.push_back({text, where});
}

void Program::print(const std::string& text, const std::vector<Fragment>& from,
                    const std::function<std::vector<Expr>(const std::vector<Expr>&)>& values,
                    const std::function<Expr(const std::vector<Expr>&)>& when, Where where) {
  std::size_t places = 0;
  for (std::size_t at = 0; (at = text.find("{}", at)) != text.npos; at += 2) ++places;
  const std::string line = "\nline   " + std::to_string(where.line());
  if (std::any_of(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~' || c == '\\'; }))
    throw CodegenError("print: its text is a line of ASCII without a backslash", "text   " + text + line,
                       "a line's end is added");
  if (from.empty())
    throw CodegenError("print: of no fragment", "text   " + text + line,
                       "k.print(\"tile {}\", {bm}) of numbers");
  // The condition is a map, and so is each value that is no element as it is.
  const auto element_of = [&](Expr e) {
    const ExprNode& n = e.node();
    return n.fn == Fn::parameter ? &from[static_cast<std::size_t>(n.tensor)] : nullptr;
  };
  const auto as_integer = [&](Expr e) {
    const Fragment* const f = element_of(e);
    return is_integer(e) ? e : f && names_rows(f->element) ? codegen::integer(e) : truncated(e);
  };
  std::vector<Expr> shown;
  for (std::size_t i = 0; i < from.size(); ++i) shown.push_back(expressions_->parameter(static_cast<int>(i)));
  if (values) shown = values(shown);
  if (shown.size() != places || places > 16)
    throw CodegenError("print: a value for each {}, at most 16",
                       "text   " + text + "\nvalues " + std::to_string(shown.size()) + " for " +
                           std::to_string(places) + " {}" + line,
                       "k.print(\"x is {}\", {x})");
  PrintOp op;
  op.line = static_cast<int>(prints_.size());
  if (when || shown.empty())
    op.when =
        map(
            from,
            [&](const std::vector<Expr>& x) { return when ? as_integer(when(x)) : expressions_->integer(1); },
            Element::i32, where)
            .id;
  for (const Expr& e : shown) {
    const Fragment* const f = element_of(e);
    const bool as_it_is =
                   f && f->tv == from[0].tv && (f->element == Element::i32 || f->element == Element::f32),
               whole = is_integer(e) || (f && f->element == Element::i64);
    op.values.push_back(as_it_is
                            ? f->id
                            : map(
                                  from, [&](const std::vector<Expr>&) { return whole ? as_integer(e) : e; },
                                  whole ? Element::i32 : Element::f32, where)
                                  .id);
  }
  append(std::move(op), where);
  prints_.push_back({text, where});
}

void Program::print(const std::string& text, const std::vector<Sym>& values, Where where) {
  // One element, which all threads hold: the first of them prints it.
  const int threads = role_.all() ? threads_ : role_.count * target_->wave_size;
  const Fragment one = full(0, thread_value({{threads, 0, -1}}, {{1, 0, -1}}), {1}, where);
  print(
      text, {one},
      [&](const std::vector<Expr>&) {
        std::vector<Expr> out;
        for (const Sym& s : values) out.push_back(codegen::integer(expressions_->number(s)));
        return out;
      },
      {}, where);
}

Fragment Program::fill(const Fragment& from, int axis, Sym origin, Sym bound, double beyond, Where where) {
  if (names_rows(from.element))
    throw CodegenError("fill: its fragment holds " + to_string(from.element) +
                           ", and what it fills in is a number of f32",
                       "line   " + std::to_string(where.line()),
                       "k.map with choose(less_unsigned(.., ..), integer(x), ..), which gives an i32");
  if (rounded(from.element, beyond) != beyond)
    throw CodegenError("fill: " + as_text(beyond) + " is no number of " + to_string(from.element) +
                           ", which its fragment holds",
                       "line   " + std::to_string(where.line()),
                       "the nearest that it has is " + digits(rounded(from.element, beyond)) +
                           (from.element == Element::f32 ? "" : "; a k.map before it gives f32"));
  return map(
      {from},
      [&](const std::vector<Expr>& x) { return inside(origin + position(axis), bound, x[0], beyond); },
      from.element, where);
}

Fragment Program::fold_result(Monoid& monoid, const Fragment& from, int axis, Element element,
                              const Where& where) {
  check_own(fragments_, from, "fold", where);
  if (element == Element::i32) {
    if (from.element != Element::i32)
      throw CodegenError("fold: a " + std::string(to_string(monoid)) + " of " + to_string(from.element) +
                             " as i32",
                         "line   " + std::to_string(where.line()), "k.map({x}, integer(x), i32) before it");
    monoid = of_words(monoid);
  } else if (is_of_i32(monoid)) {
    throw CodegenError("fold: its result would be " + to_string(element) + ", and a " + to_string(monoid) +
                           " is of integers",
                       "line   " + std::to_string(where.line()), "i32, of a fragment of i32");
  } else if (element != Element::f32) {
    throw CodegenError("fold: its result would be " + to_string(element),
                       "line   " + std::to_string(where.line()),
                       "f32, or i32 of a fragment of i32; a k.map of the result gives " + to_string(element));
  } else if (from.element == Element::i64 || from.element == Element::f64)
    throw CodegenError("fold: its fragment holds " + to_string(from.element) +
                           ", and it folds numbers of f32",
                       "line   " + std::to_string(where.line()),
                       from.element == Element::i64 ? "k.map({x}, to_number(integer(x))), exact up to 2^24"
                                                    : "k.update, a sum of the program's own order");
  if (axis < 0 || static_cast<std::size_t>(axis) >= from.extents.size())
    throw CodegenError("fold: the tile has no axis " + std::to_string(axis));
  // The result keeps every mode of the threads and, of the values, those that do not move along the axis.
  std::vector<int> extents = from.extents;
  extents[static_cast<std::size_t>(axis)] = 1;
  return fragment(element, without_axis(from.tv, static_cast<std::size_t>(axis)), extents);
}

Fragment Program::fold(Monoid monoid, const Fragment& from, int axis, Element element, Where where) {
  const Fragment f = fold_result(monoid, from, axis, element, where);
  // Waves that differ only along the axis exchange their parts through LDS: one word a wave and value.
  FoldOp op{f.id, from.id, monoid, axis, -1};
  const std::vector<int> column = coordinates(from.tv, static_cast<std::size_t>(axis));
  const int waves = threads_ / target_->wave_size, values = from.values();
  bool crosses = false;
  for (int w = 1; w < waves; ++w)
    crosses = crosses || column[static_cast<std::size_t>(w * target_->wave_size * values)] != column[0];
  if (crosses && !role_.all())
    throw CodegenError("roles: a fold over several waves inside of a role is not generated",
                       "role   " + role_name_ + ", line " + std::to_string(where.line()),
                       "rows inside of one wave each");
  if (crosses) {
    // And where a wave's lanes have several rows, one for each of them.
    const int rows = 1 << std::popcount(static_cast<unsigned>(row_bits(
                         from.tv, from.extents.size(), static_cast<std::size_t>(axis), target_->wave_size)));
    const std::vector<int> shape =
        rows == 1 ? std::vector{f.values(), waves} : std::vector{f.values(), waves, rows};
    const Tensor parts = lds("fold" + std::to_string(f.id), element, shape);
    op.exchange = parts.id;
  }
  append(op, where);
  return f;
}

Program::Scan Program::scan(Monoid monoid, const Fragment& from, int axis, Element element, Where where) {
  const Fragment all = fold_result(monoid, from, axis, element, where);
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw CodegenError("scan: " + what, "line   " + std::to_string(where.line()), hint);
  };
  if (is_of_i32(monoid) && monoid != Monoid::wrapping_sum)
    refuse("a " + std::string(to_string(monoid)) + " of integers is not generated",
           "a sum, or numbers of f32");
  const auto order = scan_order(from, static_cast<std::size_t>(axis), threads_, target_->wave_size);
  if (!order)
    refuse("work-items do not follow one another along axis " + std::to_string(axis) + " of " +
               to_string(from.tv),
           "rows_tv(rows, columns, vector, threads), or a row in each work-item");
  if (order->waves > 1 && !role_.all())
    throw CodegenError("roles: a scan over several waves inside of a role is not generated",
                       "role   " + role_name_ + ", line " + std::to_string(where.line()),
                       "rows inside of one wave each");
  const Fragment up_to = fragment(element, from.tv, from.extents);
  FoldOp op{all.id, from.id, monoid, axis, -1, up_to.id};
  if (order->waves > 1)
    op.exchange =
        lds("scan" + std::to_string(all.id), element, {from.values() / order->unit, order->waves}).id;
  append(op, where);
  return {up_to, all};
}

Program::Top Program::top(int count, const Fragment& from, const std::vector<int>& axes, Where where) {
  return top(count, from, nullptr, axes, where);
}

Program::Top Program::top(int count, const Fragment& from, const Fragment& beside,
                          const std::vector<int>& axes, Where where) {
  check_own(fragments_, beside, "top", where);
  return top(count, from, &beside, axes, where);
}

Program::Top Program::top(int count, const Fragment& from, const Fragment* beside,
                          const std::vector<int>& axes, Where where) {
  check_own(fragments_, from, "top", where);
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw CodegenError("top: " + what, "line   " + std::to_string(where.line()), hint);
  };
  if (names_rows(from.element) || bits(from.element) > 32)
    refuse("its fragment holds " + to_string(from.element) + ", and it compares numbers of f32",
           "k.map({x}, to_number(integer(x))), exact up to 2^24");
  std::vector<int> extents = from.extents;
  Layout tv = from.tv;
  int all = 1;
  const int waves = threads_ / target_->wave_size;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a] < 0 || static_cast<std::size_t>(axes[a]) >= extents.size() ||
        (a > 0 && axes[a] <= axes[a - 1]))
      refuse("axis " + std::to_string(axes[a]) + " of a tile of " + std::to_string(extents.size()),
             "each axis once, in their order");
    const auto axis = static_cast<std::size_t>(axes[a]);
    const std::vector<int> column = coordinates(from.tv, axis);
    for (int w = 1; w < waves; ++w)
      if (column[static_cast<std::size_t>(w * target_->wave_size * from.values())] != column[0])
        refuse("a row lies in several waves",
               "rows inside of one wave each, as rows_tv(.., 64 * vector, vector, ..) has them");
    all *= std::exchange(extents[axis], 1);
    tv = without_axis(tv, axis);
  }
  if (axes.empty() || count < 1 || count > 64 || count > all)
    refuse("the " + std::to_string(count) + " greatest of " + std::to_string(all),
           "1 to 64, of as many or more");
  if (beside != nullptr) {
    if (beside->element != Element::bf16 && beside->element != Element::f16)
      refuse("what stands beside its elements is " + to_string(beside->element), "bf16 or f16");
    if (!(beside->tv == from.tv) || beside->extents != from.extents)
      refuse("what stands beside its elements is laid out as " + to_string(beside->tv),
             "as they are, " + to_string(from.tv));
    if (all > 0x10000) refuse("there are " + std::to_string(all) + " places", "at most 65536 with `beside`");
  }
  Top out;
  const int other = beside != nullptr ? beside->id : -1;
  for (int rank = 0; rank < count; ++rank)
    for (auto* list : {&out.value, &out.place, &out.beside}) {
      if (list == &out.beside && beside == nullptr) continue;
      const Fragment f = fragment(Element::f32, tv, extents);
      list->push_back(f);
      append(TopOp{f.id, from.id, axes, rank, count, list == &out.place, other, list == &out.beside}, where);
    }
  return out;
}

} // namespace inlay::codegen
