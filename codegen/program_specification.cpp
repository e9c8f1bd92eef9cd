// Program: what an output is computed as.
#include "program_checks.h"

#include <inlay/codegen/symbol_kinds.h>

#include <algorithm>

namespace inlay::codegen {

Expr Program::operator()(const Tensor& tensor, std::initializer_list<Index> index) {
  if (index.size() != tensor.shape.size())
    throw CodegenError("specification: " + tensor.name + " has " + std::to_string(tensor.shape.size()) +
                       " axes and is read with " + std::to_string(index.size()) + " indices");
  std::vector<Sym> at;
  std::vector<int> through;
  for (const Index& i : index) at.push_back(i.at), through.push_back(i.through);
  return expressions_->load(tensor.id, std::move(at), std::move(through));
}

Sym Program::entry(const Tensor& table, const std::vector<Sym>& at) {
  if (at.size() != table.shape.size() || !names_rows(table.element) || table.space != Space::global)
    throw CodegenError("specification: " + table.name + " is no table of i32 or i64 with " +
                           std::to_string(at.size()) + (at.size() == 1 ? " axis" : " axes"),
                       "it has " + std::to_string(table.shape.size()) + " of " + to_string(table.element),
                       "at(" + table.name + ", ...) with a number for each axis");
  Sym number = at[0];
  for (std::size_t axis = 1; axis < at.size(); ++axis) number = number * table.shape[axis] + at[axis];
  return number;
}

Expr Program::in_memory(Expr e) const {
  return expressions_->rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::load && tensor(n.tensor).space == Space::window) {
      const Tensor& w = tensor(n.tensor);
      const std::vector<Sym> at = w.seen(n.index);
      Expr x = expressions_->load(w.of, at, {});
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        if (!w.leaves(axis)) continue;
        x = inside(at[axis], w.of_shape[axis], x, 0);
        x = inside(Sym(0) - at[axis], Sym(1), x, 0); // not negative
      }
      return x;
    }
    if (n.fn != Fn::load || tensor(n.tensor).space != Space::paged) return std::nullopt;
    const Tensor &table = tensor(tensor(n.tensor).table), &cache = tensor(tensor(n.tensor).cache);
    const auto axes = static_cast<std::ptrdiff_t>(table.shape.size());
    std::vector<Sym> entry_at(n.index.begin(), n.index.begin() + axes);
    const Sym position = entry_at.back();
    entry_at.back() = floor_div(position, cache.shape[1]);
    std::vector<Sym> at{entry(table, entry_at), floor_mod(position, cache.shape[1])};
    at.insert(at.end(), n.index.begin() + axes, n.index.end());
    std::vector<int> through(at.size(), -1);
    through[0] = table.id;
    return expressions_->load(cache.id, std::move(at), std::move(through));
  });
}

Expr Program::fold(Monoid monoid, Sym extent, const std::function<Expr(Sym)>& body) {
  refuse_empty(sizes_, extent, "fold");
  const Sym k = own_symbol(*symbols_, name_of(SymbolKind::index, {loops_++}), {Int(0), std::nullopt});
  const Expr value = body(k);
  if (is_of_i32(monoid) && !is_integer(value))
    throw CodegenError("fold: a " + std::string(to_string(monoid)) + " of numbers, and it is of integers", "",
                       "integer(x) of elements of i32");
  return expressions_->fold(monoid, k, extent, value);
}

std::vector<std::pair<Sym, Sym>> Program::along(const std::vector<Sym>& extents) {
  std::vector<std::pair<Sym, Sym>> out;
  for (const Sym& extent : extents) {
    refuse_empty(sizes_, extent, "top");
    out.emplace_back(own_symbol(*symbols_, name_of(SymbolKind::index, {loops_++}), {Int(0), std::nullopt}),
                     extent);
  }
  return out;
}

namespace {
std::vector<Sym> indices(const std::vector<std::pair<Sym, Sym>>& along) {
  std::vector<Sym> out;
  for (const auto& [index, extent] : along) out.push_back(extent == Sym(1) ? Sym(0) : index);
  return out;
}
} // namespace

Expr Program::at_place(Expr place, const std::vector<Sym>& extents,
                       const std::function<Expr(const std::vector<Sym>&)>& body) {
  const auto over = along(extents);
  return expressions_->at_place(place, over, body(indices(over)));
}

TopOf Program::top(int count, const std::vector<Sym>& extents,
                   const std::function<Expr(const std::vector<Sym>&)>& body) {
  Sym all(1);
  for (const Sym& extent : extents) all = all * extent;
  const auto over = along(extents);
  if (count < 1 || extents.empty() || le(Sym(count), all) != Truth::yes)
    throw CodegenError("top: the " + std::to_string(count) + " greatest of " + to_string(all), "",
                       "from 1 to as many as there are in any case: `least` of a size");
  return expressions_->top(count, over, body(indices(over)));
}

Expr Program::sum(Sym extent, Sym begin, Sym end, const std::function<Expr(Sym)>& body) {
  for (const Sym& s : {extent, begin, end}) refuse_empty(sizes_, s, "sum");
  const Sym k = own_symbol(*symbols_, name_of(SymbolKind::index, {loops_++}), {Int(0), std::nullopt});
  const std::pair<Sym, Sym> part[] = {{begin, end}};
  return expressions_->partial_fold(Monoid::sum, k, extent, part, body(k));
}

void Program::computes(const Tensor& tensor, const std::function<Expr(const std::vector<Sym>&)>& body) {
  if (specification(tensor))
    throw CodegenError("computes: it is said already what " + tensor.name + " is", "",
                       "one formula, k.computes, k.scatters or k.puts, for each output");
  Specification s;
  s.tensor = tensor.id;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    s.coordinate.push_back(
        own_symbol(*symbols_, tensor.name + "_" + std::to_string(i), {Int(0), std::nullopt}));
  s.value = body(s.coordinate);
  if (s.value.arena != expressions_.get())
    throw CodegenError(
        "computes: " + tensor.name +
            (s.value.arena ? " is said by another program's formula" : " is said by no formula"),
        "", "a formula of its coordinates, of this program's tensors");
  check_depth("computes", s.value, "output " + tensor.name);
  if (is_integer(s.value)) {
    if (!names_rows(tensor.element))
      throw CodegenError("computes: an integer, and " + tensor.name + " is " + to_string(tensor.element), "",
                         "an output of i32 or i64, or to_number(w)");
    s.value = to_number(s.value);
  }
  check_integers("computes", s.value, [&](const ExprNode& n, bool whole) {
    if (n.fn == Fn::number || is_of_i32(n.monoid)) return whole;
    if (n.fn != Fn::load) return false;
    const Element e = this->tensor(n.tensor).element;
    return whole ? names_rows(e) || e == Element::i8 : is_short(e);
  });
  if (tensor.element == Element::f64)
    (void)expressions_->rewrite(s.value, [&](const ExprNode& n) -> std::optional<Expr> {
      check_number_of_f64("computes", n, "output " + tensor.name);
      constexpr Fn inexact[] = {Fn::div, Fn::power, Fn::exp, Fn::exp2, Fn::log, Fn::log2};
      if (std::find(std::begin(inexact), std::end(inexact), n.fn) != std::end(inexact))
        throw CodegenError(
            "computes: it is of f64, and quotients, powers and functions of numbers are compared "
            "with others within 1e-11 of them",
            "output " + tensor.name, "sums, products, max, min, select and inside");
      return std::nullopt;
    });
  check_wide(
      "computes", s.value,
      [&](const ExprNode& n) { return n.fn == Fn::load && this->tensor(n.tensor).element == Element::i64; },
      "output " + tensor.name);
  specifications_.push_back(std::move(s));
}

namespace {
// Who names rows: what the table holds is there before the launch, and nobody changes it.
void check_names(const std::string& operation, const Tensor& table) {
  if (!names_rows(table.element) || table.shape.size() != 1 || table.space != Space::global)
    throw CodegenError(operation + ": rows are named by a table of i32 or i64 with one axis",
                       "given  " + table.name + " " + to_string(table.element) + " with " +
                           std::to_string(table.shape.size()) + " axes");
  if (table.output)
    throw CodegenError(operation + ": " + table.name + " is an output, and what names rows is not written",
                       "", "k.input(\"" + table.name + "\", Element::i32, ..)");
}
} // namespace

void Program::scatters(const Tensor& tensor, const Tensor& table,
                       const std::function<Expr(const std::vector<Sym>&)>& body) {
  check_names("scatters", table);
  computes(tensor, body);
  specifications_.back().table = table.id;
}

void Program::puts(const Tensor& tensor, const Tensor& table,
                   const std::function<Expr(const std::vector<Sym>&)>& body) {
  check_names("puts", table);
  if (!tensor.in_place)
    throw CodegenError("puts: " + tensor.name +
                           " is no inout, and a row of it that no entry names keeps what it held",
                       "", "k.inout(\"" + tensor.name + "\", ..)");
  computes(tensor, body);
  specifications_.back().table = table.id;
  specifications_.back().replaces = true;
}

const Program::Specification* Program::specification(const Tensor& tensor) const {
  for (const Specification& s : specifications_)
    if (s.tensor == tensor.id) return &s;
  return nullptr;
}

std::vector<Sym> Program::shape(const Specification& specification) const {
  std::vector<Sym> out = tensor(specification.tensor).shape;
  if (specification.table >= 0) out[0] = tensor(specification.table).shape[0];
  return out;
}

} // namespace inlay::codegen
