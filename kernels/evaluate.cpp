// Arrays over the indices that a subexpression depends on; see evaluate.h.
#include <inlay/kernels/evaluate.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace inlay::kernels {
namespace {

using namespace codegen;

/// Above that many elements of an intermediate array, the first coordinate is evaluated value by value.
constexpr double largest_array = 1 << 26;

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Array {
  std::vector<AtomId> dims; ///< sorted
  std::vector<std::int64_t> extents;
  std::vector<double> data; ///< row-major
};
using Shared = std::shared_ptr<const Array>;

std::size_t count(const std::vector<std::int64_t>& extents) {
  std::size_t n = 1;
  for (const std::int64_t e : extents) n *= static_cast<std::size_t>(e);
  return n;
}

/// Calls f(position in each operand) for every element of `dims`, row-major.
template <class F>
void each(const std::vector<AtomId>& dims, const std::vector<std::int64_t>& extents,
          std::span<const Array* const> operands, F f) {
  const std::size_t n = dims.size(), m = operands.size();
  std::vector<std::vector<std::int64_t>> step(m, std::vector<std::int64_t>(n, 0));
  for (std::size_t o = 0; o < m; ++o) {
    std::int64_t stride = 1;
    for (std::size_t d = operands[o]->dims.size(); d-- > 0;) {
      const auto at = std::find(dims.begin(), dims.end(), operands[o]->dims[d]) - dims.begin();
      step[o][static_cast<std::size_t>(at)] = stride;
      stride *= operands[o]->extents[d];
    }
  }
  std::vector<std::int64_t> index(n, 0), at(m, 0);
  for (std::size_t left = count(extents); left-- > 0;) {
    f(at);
    for (std::size_t d = n; d-- > 0;) {
      ++index[d];
      for (std::size_t o = 0; o < m; ++o) at[o] += step[o][d];
      if (index[d] < extents[d]) break;
      for (std::size_t o = 0; o < m; ++o) at[o] -= step[o][d] * extents[d];
      index[d] = 0;
    }
  }
}

class Evaluator {
public:
  Evaluator(const Program& program, const EvaluationInput& input) : p_(program), input_(input) {
    if (input.sizes.size() != program.sizes().size())
      throw CodegenError("evaluate: " + program.name() + " has " + std::to_string(program.sizes().size()) +
                             " sizes",
                         "given  " + std::to_string(input.sizes.size()));
    for (std::size_t i = 0; i < input.sizes.size(); ++i)
      at_.set(program.sizes()[i].symbol, Int(input.sizes[i]));
    // A number that is the same for all workgroups may stand in a specification.
    for (const Uniform& u : program.uniforms())
      if (const auto table = input.tensors.find(u.tensor); u.at.constant() && table != input.tensors.end())
        at_.set(u.symbol, Int(static_cast<std::int64_t>(
                              table->second.at(static_cast<std::size_t>(u.at.constant()->value())))));
  }

  std::vector<double> run(Expr value, std::span<const Sym> coordinate,
                          std::span<const std::int64_t> extents) {
    value = p_.in_memory(value);
    for (std::size_t i = 0; i < coordinate.size(); ++i) extent_[*coordinate[i].as_atom()] = extents[i];
    if (coordinate.size() < 2 || largest(value) <= largest_array) return spread(value, coordinate, extents);
    std::vector<double> out;
    const AtomId first = *coordinate[0].as_atom();
    extent_.erase(first);
    for (std::int64_t i = 0; i < extents[0]; ++i) {
      at_.set(first, Int(i));
      done_.clear();
      const std::vector<double> slice = spread(value, coordinate.subspan(1), extents.subspan(1));
      out.insert(out.end(), slice.begin(), slice.end());
    }
    return out;
  }

private:
  // The array over all coordinates, in their order.
  std::vector<double> spread(Expr value, std::span<const Sym> coordinate,
                             std::span<const std::int64_t> extents) {
    const Shared a = eval(value);
    std::vector<AtomId> dims;
    for (const Sym& c : coordinate) dims.push_back(*c.as_atom());
    std::vector<double> out;
    const Array* operands[] = {a.get()};
    each(dims, {extents.begin(), extents.end()}, operands,
         [&](const auto& at) { out.push_back(a->data[static_cast<std::size_t>(at[0])]); });
    return out;
  }

  // Of how many elements a fold is; of an extent below 0 none.
  std::int64_t length_of(const ExprNode& fold) const {
    return std::max<std::int64_t>(evaluate(fold.index[0], at_).value(), 0);
  }

  // The number of elements of the largest intermediate array.
  double largest(Expr e) {
    double most = 1;
    for (const AtomId a : dims_of(e)) most *= static_cast<double>(extent_.at(a));
    const ExprNode& n = e.node();
    if (n.fn == Fn::fold) {
      const AtomId k = *n.sym.as_atom();
      extent_[k] = length_of(n);
      most = std::max(most, largest({e.arena, n.args[0]}));
      extent_.erase(k);
      return most;
    }
    for (const int a : n.args) most = std::max(most, largest({e.arena, a}));
    return most;
  }

  void add_dims(Sym s, std::vector<AtomId>& dims) const {
    for (const Entry& v : p_.values())
      if (const auto all = symbols(s); std::find(all.begin(), all.end(), *v.symbol.as_atom()) != all.end())
        add_dims(v.at, dims);
    for (const AtomId a : symbols(s))
      if (extent_.contains(a) && std::find(dims.begin(), dims.end(), a) == dims.end()) dims.push_back(a);
  }
  std::vector<AtomId> dims_of(Expr e) const {
    std::vector<AtomId> dims;
    const auto visit = [&](auto&& self, int id, std::vector<AtomId> bound) -> void {
      const ExprNode& n = e.arena->node(id);
      std::vector<AtomId> here;
      if (n.fn == Fn::number) add_dims(n.sym, here);
      for (const Sym& s : n.index) add_dims(s, here);
      for (const AtomId a : here)
        if (std::find(bound.begin(), bound.end(), a) == bound.end() &&
            std::find(dims.begin(), dims.end(), a) == dims.end())
          dims.push_back(a);
      if (n.fn == Fn::fold) bound.push_back(*n.sym.as_atom());
      for (const int a : n.args) self(self, a, bound);
    };
    visit(visit, e.id, {});
    std::sort(dims.begin(), dims.end());
    return dims;
  }
  std::vector<std::int64_t> extents_of_dims(const std::vector<AtomId>& dims) const {
    std::vector<std::int64_t> out;
    for (const AtomId a : dims) out.push_back(extent_.at(a));
    return out;
  }

  // A formula over the indices that it depends on.
  Array number(Sym s) {
    Array a;
    add_dims(s, a.dims);
    std::sort(a.dims.begin(), a.dims.end());
    a.extents = extents_of_dims(a.dims);
    std::vector<std::int64_t> index(a.dims.size(), 0);
    const std::vector<AtomId> all = symbols(s);
    for (std::size_t left = count(a.extents); left-- > 0;) {
      for (std::size_t d = 0; d < index.size(); ++d) at_.set(a.dims[d], Int(index[d]));
      for (const Entry& v : p_.values())
        if (std::find(all.begin(), all.end(), *v.symbol.as_atom()) != all.end()) {
          const Tensor& table = p_.tensor(v.tensor);
          const std::int64_t length = extents_of(p_, table, input_.sizes)[0],
                             at = evaluate(v.at, at_).value();
          if (at < 0 || at >= length) outside(table, 0, static_cast<double>(at), length);
          at_.set(v.symbol, Int(static_cast<std::int64_t>(values_of(
                                table, static_cast<std::size_t>(length))[static_cast<std::size_t>(at)])));
        }
      a.data.push_back(static_cast<double>(evaluate(s, at_).value()));
      for (std::size_t d = index.size(); d-- > 0;) {
        if (++index[d] < a.extents[d]) break;
        index[d] = 0;
      }
    }
    return a;
  }
  static Int evaluate(Sym s, const Assignment& at) { return inlay::evaluate(s, at); }

  Shared eval(Expr e) {
    std::vector<std::int64_t> key{e.id, under_condition_ > 0 ? 1 : 0};
    const std::vector<AtomId> dims = dims_of(e);
    for (const AtomId a : dims) key.push_back(extent_.at(a));
    if (const auto found = done_.find(key); found != done_.end()) return found->second;
    auto out = std::make_shared<const Array>(compute(e, dims));
    done_.emplace(std::move(key), out);
    return out;
  }

  Array compute(Expr e, const std::vector<AtomId>& dims) {
    const ExprNode& n = e.node();
    if (n.fn == Fn::number) return number(n.sym);
    if (n.fn == Fn::load) return load(n, dims);
    if (n.fn == Fn::fold) return fold(e, n, dims);
    if (n.fn == Fn::parameter) throw CodegenError("evaluate: an expression with an operand of a map in it");
    Array out{dims, extents_of_dims(dims), {}};
    out.data.reserve(count(out.extents));
    std::vector<Array> made;
    std::vector<Shared> args;
    std::vector<const Array*> operands;
    // What a condition leaves out may lie outside of its tensor.
    const bool condition = n.fn == Fn::inside;
    under_condition_ += condition ? 1 : 0;
    for (const int a : n.args) args.push_back(eval({e.arena, a})), operands.push_back(args.back().get());
    under_condition_ -= condition ? 1 : 0;
    if (n.fn == Fn::inside) {
      made.reserve(2);
      for (const Sym& s : n.index) made.push_back(number(s));
      for (const Array& a : made) operands.push_back(&a);
    }
    std::vector<double> x(operands.size());
    each(out.dims, out.extents, operands, [&](const auto& at) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = operands[i]->data[static_cast<std::size_t>(at[i])];
      out.data.push_back(n.fn != Fn::inside ? function_value(n, x) : x[1] < x[2] ? x[0] : n.value);
    });
    return out;
  }
  const std::vector<double>& values_of(const Tensor& t, std::size_t elements) {
    auto found = input_.tensors.find(t.id);
    if (const Program::Specification* s = p_.specification(t); s && found == input_.tensors.end()) {
      // What the kernel stores first, and then reads.
      found = stored_.find(t.id);
      if (found == stored_.end()) found = stored_.emplace(t.id, kernels::evaluate(p_, *s, input_)).first;
      return found->second;
    }
    if (found == input_.tensors.end()) throw CodegenError("evaluate: no values of " + t.name);
    if (found->second.size() != elements)
      throw CodegenError("evaluate: " + t.name + " has " + std::to_string(elements) + " elements",
                         "given  " + std::to_string(found->second.size()));
    return found->second;
  }

  Array load(const ExprNode& n, const std::vector<AtomId>& dims) {
    const Tensor& t = p_.tensor(n.tensor);
    const std::vector<std::int64_t> shape = extents_of(p_, t, input_.sizes);
    const std::vector<double>& values = values_of(t, count(shape));
    std::vector<Array> axes;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      axes.push_back(number(n.index[axis]));
      const int through = n.through.empty() ? -1 : n.through[axis];
      if (through >= 0) {
        const Tensor& table = p_.tensor(through);
        const auto length = static_cast<std::int64_t>(count(extents_of(p_, table, input_.sizes)));
        const std::vector<double>& ids = values_of(table, static_cast<std::size_t>(length));
        for (double& v : axes.back().data) {
          if (v < 0 || v >= static_cast<double>(length)) outside(table, 0, v, length);
          v = ids[static_cast<std::size_t>(v)];
          if (v < 0 || v >= static_cast<double>(shape[axis])) v = -1;
        }
      } else {
        for (double& v : axes.back().data) {
          if (v >= 0 && v < static_cast<double>(shape[axis])) continue;
          if (under_condition_ == 0) outside(t, axis, v, shape[axis]);
          v = nowhere;
        }
      }
    }
    Array out{dims, extents_of_dims(dims), {}};
    out.data.reserve(count(out.extents));
    std::vector<const Array*> operands;
    for (const Array& a : axes) operands.push_back(&a);
    each(out.dims, out.extents, operands, [&](const auto& at) {
      std::size_t offset = 0;
      bool inside = true, there = true;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const double v = operands[axis]->data[static_cast<std::size_t>(at[axis])];
        inside = inside && v >= 0;
        there = there && v != nowhere;
        offset = offset * static_cast<std::size_t>(shape[axis]) + static_cast<std::size_t>(std::max(v, 0.0));
      }
      out.data.push_back(!there ? std::numeric_limits<double>::quiet_NaN() : inside ? values[offset] : 0);
    });
    return out;
  }
  [[noreturn]] static void outside(const Tensor& t, std::size_t axis, double v, std::int64_t extent) {
    throw CodegenError("evaluate: " + t.name + " is read outside of its shape",
                       "index  " + std::to_string(static_cast<std::int64_t>(v)) + " of " +
                           std::to_string(extent) + " along axis " + std::to_string(axis));
  }

  Array fold(Expr e, const ExprNode& n, const std::vector<AtomId>& dims) {
    const AtomId k = *n.sym.as_atom();
    const auto before = extent_.find(k);
    INLAY_CHECK(before == extent_.end(), "bound indices are numbered by depth");
    const std::int64_t length = length_of(n);
    extent_[k] = length;
    const ExprNode& body = e.arena->node(n.args[0]);
    Array out{dims, extents_of_dims(dims), {}};
    const bool part = n.index.size() == 3; // from one index to before another
    if (!part && n.monoid == Monoid::sum && body.fn == Fn::mul && body.args.size() == 2) {
      contract(*eval({e.arena, body.args[0]}), *eval({e.arena, body.args[1]}), k, length, out);
    } else {
      const Shared a = eval({e.arena, n.args[0]});
      out.data.assign(count(out.extents), empty_element(n.monoid));
      // Positions in the body's order; the result's follow.
      std::vector<AtomId> all = a->dims;
      if (std::find(all.begin(), all.end(), k) == all.end()) all.push_back(k); // does not depend on k
      for (const AtomId d : dims) // where a part begins and ends may depend on more than its elements
        if (std::find(all.begin(), all.end(), d) == all.end()) all.push_back(d);
      std::vector<const Array*> operands = {&out, a.get()};
      std::vector<Array> bounds;
      if (part)
        for (const Sym& s : {n.sym, n.index[1], n.index[2]}) bounds.push_back(number(s));
      for (const Array& b : bounds) operands.push_back(&b);
      each(all, extents_of_dims(all), operands, [&](const auto& at) {
        const auto bound = [&](std::size_t i) { return bounds[i].data[static_cast<std::size_t>(at[2 + i])]; };
        if (part && (bound(0) < bound(1) || bound(0) >= bound(2))) return;
        double& sum = out.data[static_cast<std::size_t>(at[0])];
        const double v = a->data[static_cast<std::size_t>(at[1])];
        sum = combined(n.monoid, sum, v);
      });
    }
    extent_.erase(k);
    return out;
  }

  // out[batch, rows, columns] = sum over k of x[batch, rows, k] y[batch, columns, k].
  void contract(const Array& x, const Array& y, AtomId k, std::int64_t length, Array& out) {
    const auto in = [](const Array& a, AtomId d) {
      return std::find(a.dims.begin(), a.dims.end(), d) != a.dims.end();
    };
    std::vector<AtomId> batch, rows, columns;
    for (const AtomId d : out.dims) (in(x, d) && in(y, d) ? batch : in(x, d) ? rows : columns).push_back(d);
    const auto arranged = [&](const Array& a, const std::vector<AtomId>& own) {
      std::vector<AtomId> order = batch;
      order.insert(order.end(), own.begin(), own.end());
      order.push_back(k);
      std::vector<double> data;
      const Array* operands[] = {&a};
      each(order, extents_of_dims(order), operands,
           [&](const auto& at) { data.push_back(a.data[static_cast<std::size_t>(at[0])]); });
      return data;
    };
    const std::vector<double> left = arranged(x, rows), right = arranged(y, columns);
    const auto b = count(extents_of_dims(batch)), r = count(extents_of_dims(rows)),
               c = count(extents_of_dims(columns)), depth = static_cast<std::size_t>(length);
    Array product{batch, {}, std::vector<double>(b * r * c)};
    product.dims.insert(product.dims.end(), rows.begin(), rows.end());
    product.dims.insert(product.dims.end(), columns.begin(), columns.end());
    product.extents = extents_of_dims(product.dims);
    const auto e = [](std::size_t v) { return static_cast<Eigen::Index>(v); };
    for (std::size_t i = 0; i < b; ++i) {
      const Eigen::Map<const Matrix> l(left.data() + i * r * depth, e(r), e(depth)),
          q(right.data() + i * c * depth, e(c), e(depth));
      Eigen::Map<Matrix>(product.data.data() + i * r * c, e(r), e(c)).noalias() = l * q.transpose();
    }
    const Array* operands[] = {&product};
    each(out.dims, out.extents, operands,
         [&](const auto& at) { out.data.push_back(product.data[static_cast<std::size_t>(at[0])]); });
  }

  const Program& p_;
  const EvaluationInput& input_;
  Assignment at_;
  static constexpr double nowhere = -2; ///< a coordinate outside that a condition leaves out
  int under_condition_ = 0;
  std::map<int, std::vector<double>> stored_; ///< outputs that other specifications read
  std::map<AtomId, std::int64_t> extent_;     ///< of the indices that are open here
  std::map<std::vector<std::int64_t>, Shared> done_;
};

} // namespace

std::vector<double> evaluate(const Program& program, Expr value, std::span<const Sym> coordinate,
                             std::span<const std::int64_t> extents, const EvaluationInput& input) {
  return Evaluator(program, input).run(value, coordinate, extents);
}

std::vector<double> evaluate(const Program& program, const Program::Specification& specification,
                             const EvaluationInput& input) {
  const Tensor& t = program.tensor(specification.tensor);
  std::vector<std::int64_t> extents = extents_of(program, t, input.sizes);
  if (specification.table < 0)
    return evaluate(program, specification.value, specification.coordinate, extents, input);
  const Tensor& table = program.tensor(specification.table);
  const std::int64_t rows = extents[0];
  extents[0] = extents_of(program, table, input.sizes)[0];
  const std::vector<double> parts =
      evaluate(program, specification.value, specification.coordinate, extents, input);
  const std::vector<double>& named = input.tensors.at(table.id);
  const std::size_t row = parts.size() / std::max<std::size_t>(1, named.size());
  std::vector<double> out = specification.replaces
                                ? input.tensors.at(t.id)
                                : std::vector<double>(static_cast<std::size_t>(rows) * row);
  for (std::size_t s = 0; s < named.size(); ++s) {
    if (named[s] < 0 || named[s] >= static_cast<double>(rows)) continue;
    for (std::size_t i = 0; i < row; ++i) {
      double& there = out[static_cast<std::size_t>(named[s]) * row + i];
      there = (specification.replaces ? 0 : there) + parts[s * row + i];
    }
  }
  return out;
}

std::vector<std::int64_t> extents_of(const Program& program, const Tensor& tensor,
                                     const std::vector<std::int64_t>& sizes) {
  Assignment at;
  for (std::size_t i = 0; i < program.sizes().size(); ++i) at.set(program.sizes()[i].symbol, Int(sizes[i]));
  std::vector<std::int64_t> out;
  for (const Sym& s : tensor.shape) out.push_back(inlay::evaluate(s, at).value());
  return out;
}

} // namespace inlay::kernels
