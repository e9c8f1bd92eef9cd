// `Program` in Python, under the names of codegen/program.h: what is a block of C++ is a function here, given as the argument or decorated.
#include "program.h"

#include <inlay/kernels/lds_swizzle.h>

#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/symbolic.h>
#include <inlay/codegen/mma_tiling.h>

#include <fmt/format.h>

#include <algorithm>

namespace inlay::python {
namespace {

using codegen::Atom, codegen::Element, codegen::MmaTiling, codegen::Monoid, codegen::Program;
using codegen::Target;
using Extents = std::vector<int>;

// ---- arguments ------------------------------------------------------------------------------------------------------

/// The program, to be added to. Errors: CodegenError after a body that ended with an error: what it began has no end.
Program& to(const Owner& k) {
  if (k->broken)
    throw codegen::CodegenError(
        "the function of a loop, a branch or a role ended with an error, and the program there",
        k->source.program.name(), "a new Program");
  return k->source.program;
}

Element element(const Owner& k, const std::string& name) {
  return codegen::parse_element(name, k->source.program.target());
}

// Of "u32" those that have another order there.
Monoid monoid(const std::string& name, const std::string& type = "") {
  if (type == "u32" && name != "sum")
    return monoid(name) == Monoid::max ? Monoid::unsigned_max : Monoid::unsigned_min;
  for (const Monoid m : {Monoid::sum, Monoid::max, Monoid::min})
    if (codegen::to_string(m) == name) return m;
  throw codegen::CodegenError("fold: no monoid '" + name + "'", "", "sum, max, min");
}

const Tensor& in_lds(const Owner& k, const PyTensor& t, const char* operation) {
  const Tensor& tensor = of(k, t);
  if (tensor.space != codegen::Space::lds)
    throw codegen::CodegenError(std::string(operation) + ": " + tensor.name + " is in memory", "",
                                "a tile of k.lds(...)");
  return tensor;
}

/// Where elements lie: a layout, the same as text in the names of sizes, or what transfer_place and b_place give.
SymLayout place_of(const Owner& k, const py::handle& object) {
  if (py::isinstance<PyPlace>(object)) return of(k, object.cast<const PyPlace&>());
  if (py::isinstance<Layout>(object)) return symbolic(object.cast<const Layout&>());
  if (py::isinstance<py::str>(object))
    return parse_sym_layout(k->source.program.symbols(), object.cast<std::string>(), UnknownSymbol::refuse);
  throw py::type_error("a place is a layout or a text such as '(m,k):(k,1)', not " +
                       py::repr(object).cast<std::string>());
}
std::optional<SymLayout> place_or_none(const Owner& k, const py::object& place) {
  return place.is_none() ? std::nullopt : std::optional(place_of(k, place));
}

/// f of a list of as many entries as the vector has.
template <class T, class F>
auto as_list(const std::vector<T>& v, const std::string& what, F f) {
  switch (v.size()) {
  case 1: return f({v[0]});
  case 2: return f({v[0], v[1]});
  case 3: return f({v[0], v[1], v[2]});
  case 4: return f({v[0], v[1], v[2], v[3]});
  case 5: return f({v[0], v[1], v[2], v[3], v[4]});
  case 6: return f({v[0], v[1], v[2], v[3], v[4], v[5]});
  default: throw codegen::CodegenError(what + " of " + std::to_string(v.size()) + " axes", "", "1 to 6");
  }
}

// ---- functions of the user ----------------------------------------------------------------------------------------

/// body(arguments...)
template <class T>
py::object result_of(const Owner& k, const py::function& body, const std::vector<T>& arguments) {
  py::tuple values(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) values[i] = py::cast(Of<T>{k, arguments[i]});
  return body(*values);
}
Expr expression_in(const Owner& k, const py::object& result) {
  if (const auto e = expression(k, result)) return *e;
  throw py::type_error("the function gives " + py::repr(result).cast<std::string>() +
                       ", and an expression is wanted");
}
template <class T>
Expr expression_of(const Owner& k, const py::function& body, const std::vector<T>& arguments) {
  return expression_in(k, result_of(k, body, arguments));
}
/// Of one expression, or of a tuple or a list of them.
std::vector<Expr> expressions_of(const Owner& k, const py::function& body,
                                 const std::vector<Expr>& arguments) {
  const py::object result = result_of(k, body, arguments);
  if (!py::isinstance<py::tuple>(result) && !py::isinstance<py::list>(result))
    return {expression_in(k, result)};
  std::vector<Expr> all;
  for (const py::handle e : result) all.push_back(expression_in(k, py::reinterpret_borrow<py::object>(e)));
  return all;
}
template <class T>
std::function<Expr(const std::vector<T>&)> mapping(const Owner& k, const py::function& body) {
  return [k, body](const std::vector<T>& x) { return expression_of(k, body, x); };
}
std::function<Expr(Sym)> indexed(const Owner& k, const py::function& body) {
  return [k, body](Sym i) { return expression_of<Sym>(k, body, {i}); };
}

/// Runs what holds bodies. A body that throws leaves the program without its end.
template <class F>
void with_bodies(const Owner& k, F&& f) {
  ++k->open;
  try {
    f();
  } catch (const codegen::CodegenError&) { // before a body ran, or of the whole
    --k->open;
    throw;
  } catch (...) {
    --k->open;
    k->broken = true;
    throw;
  }
  --k->open;
}

/// f(body) now, or the decorator that does it.
py::object now_or_decorated(const py::object& body, const std::function<void(const py::function&)>& f) {
  if (!body.is_none()) {
    f(body.cast<py::function>());
    return py::none();
  }
  return py::cpp_function([f](const py::function& decorated) {
    at_call([&] { f(decorated); });
    return decorated;
  });
}

// ---- operations that are more than a call --------------------------------------------------------------------------

PyExpr element_of(const Owner& k, const PyTensor& t, const std::vector<PyIndex>& index) {
  const std::vector<Index> at = of(k, index);
  return {
      k, as_list(at, t.value.name, [&](std::initializer_list<Index> list) { return to(k)(of(k, t), list); })};
}

py::object loop(const Owner& k, const std::optional<PySym>& begin, const PySym& end, int tile,
                const std::optional<py::function>& body, int distance, int ring, const std::string& pins,
                const std::string& depth, bool stagger, bool pingpong) {
  const codegen::Pipeline pipeline{distance, ring,    codegen::parse_pins(pins), codegen::parse_depth(depth),
                                   stagger,  pingpong};
  const std::optional<Sym> from = begin ? std::optional(of(k, *begin)) : std::nullopt;
  const Sym to_ = of(k, end);
  const auto where = here();
  return now_or_decorated(body ? py::object(*body) : py::none(), [=](const py::function& f) {
    const auto trip = [&](Sym t) { f(PySym{k, t}); };
    with_bodies(k, [&] {
      if (from)
        to(k).loop(*from, to_, tile, pipeline, trip, where);
      else
        to(k).loop(to_, tile, pipeline, trip, where);
    });
  });
}
py::object loop_over(const Owner& k, const PySym& extent, int tile, const std::optional<py::function>& body,
                     int distance, int ring, const std::string& pins, const std::string& depth, bool stagger,
                     bool pingpong) {
  return loop(k, std::nullopt, extent, tile, body, distance, ring, pins, depth, stagger, pingpong);
}
py::object loop_between(const Owner& k, const PySym& begin, const PySym& end, int tile,
                        const std::optional<py::function>& body, int distance, int ring,
                        const std::string& pins, const std::string& depth, bool stagger, bool pingpong) {
  return loop(k, begin, end, tile, body, distance, ring, pins, depth, stagger, pingpong);
}

py::object if_less(const Owner& k, const PySym& a, const PySym& b, const py::object& then,
                   const py::object& otherwise) {
  const Sym left = of(k, a), right = of(k, b);
  const auto where = here();
  std::function<void()> other;
  if (!otherwise.is_none()) other = [f = otherwise.cast<py::function>()] { f(); };
  return now_or_decorated(then, [=](const py::function& f) {
    with_bodies(k, [&] {
      to(k).if_less(
          left, right, [&] { f(); }, other, where);
    });
  });
}

py::list roles(const Owner& k, const std::vector<std::tuple<std::string, int, py::object>>& list) {
  py::list results;
  std::vector<Program::Role> all;
  for (const auto& [name, waves, body] : list) {
    const std::size_t n = all.size();
    results.append(py::none());
    all.push_back({name, waves, {}});
    if (!body.is_none()) all.back().body = [&results, n, f = body.cast<py::function>()] { results[n] = f(); };
  }
  with_bodies(k, [&] { to(k).roles(all, here()); });
  return results;
}

PyFragment map(const Owner& k, const std::vector<PyFragment>& from, const py::function& body,
               const std::string& type, const std::optional<Layout>& tv, bool contract, bool approximate,
               bool reassociate) {
  const auto f = mapping<Expr>(k, body);
  const auto where = here();
  const std::vector<Fragment> operands = of(k, from);
  const codegen::FastMath math{contract, approximate, reassociate};
  return {k, tv ? to(k).map(*tv, operands, f, math, element(k, type), where)
                : to(k).map(operands, f, math, element(k, type), where)};
}

void print(const Owner& k, const std::string& text,
           const std::variant<std::vector<PyFragment>, std::vector<PySym>>& from,
           const std::optional<py::function>& values, const std::optional<py::function>& when) {
  const auto where = here();
  if (const auto* numbers = std::get_if<std::vector<PySym>>(&from))
    return to(k).print(text, of(k, *numbers), where);
  std::function<std::vector<Expr>(const std::vector<Expr>&)> shown;
  if (values) shown = [&](const std::vector<Expr>& x) { return expressions_of(k, *values, x); };
  to(k).print(text, of(k, std::get<0>(from)), shown, when ? mapping<Expr>(k, *when) : nullptr, where);
}

py::object computes(const Owner& k, const PyTensor& tensor, const py::object& body) {
  const Tensor t = of(k, tensor);
  return now_or_decorated(body, [=](const py::function& f) { to(k).computes(t, mapping<Sym>(k, f)); });
}
/// `scatters` and `puts`.
template <auto method>
py::object through_table(const Owner& k, const PyTensor& tensor, const PyTensor& table,
                         const py::object& body) {
  const Tensor t = of(k, tensor), names = of(k, table);
  return now_or_decorated(body,
                          [=](const py::function& f) { (to(k).*method)(t, names, mapping<Sym>(k, f)); });
}

template <Tensor (Program::*declare)(const std::string&, Element, std::vector<Sym>, std::optional<SymLayout>)>
PyTensor declared(const Owner& k, const std::string& name, const std::string& type,
                  const std::vector<PySym>& shape, const py::object& place) {
  if (shape.empty()) throw codegen::CodegenError(name + " has no axes", "", "(1,) for one element");
  return {k, (to(k).*declare)(name, element(k, type), of(k, shape), place_or_none(k, place))};
}

std::vector<PyTensor> peers(const Owner& k, const std::string& name, const std::string& type,
                            const std::vector<PySym>& shape, const py::object& place) {
  if (shape.empty()) throw codegen::CodegenError(name + " has no axes", "", "(1,) for one element");
  std::vector<PyTensor> out;
  for (const Tensor& t : to(k).peers(name, element(k, type), of(k, shape), place_or_none(k, place)))
    out.push_back({k, t});
  return out;
}

PyTensor lds(const Owner& k, const std::string& name, const std::string& type, const Extents& shape,
             const std::optional<Swizzle>& swizzle, int padding, const py::object& place) {
  const auto one = [](int n) { return n >= 1; };
  if (shape.empty() || !std::all_of(shape.begin(), shape.end(), one) || padding < 0)
    throw codegen::CodegenError("lds: " + name + " has no shape",
                                fmt::format("{}, padding {}", fmt::join(shape, " x "), padding),
                                "extents of 1 and more");
  const Swizzle s = swizzle.value_or(Swizzle());
  if (const auto at = place_or_none(k, place)) {
    if (padding != 0) throw codegen::CodegenError("lds: " + name + " has a place of its own and padding");
    return {k, to(k).lds(name, element(k, type), shape, *at, s)};
  }
  return {k, to(k).lds(name, element(k, type), shape, s, padding)};
}

using Digit = std::variant<std::tuple<PySym, int>, std::tuple<PySym, int, PySym>>;
using WindowAxes = std::vector<std::pair<PySym, std::vector<Digit>>>;

std::vector<codegen::WindowAxis> window_axes(const Owner& k, const WindowAxes& axes) {
  std::vector<codegen::WindowAxis> out;
  for (const auto& [extent, digits] : axes) {
    codegen::WindowAxis& axis = out.emplace_back(codegen::WindowAxis{of(k, extent), {}});
    for (const Digit& d : digits)
      if (const auto* plain = std::get_if<0>(&d))
        axis.looks.push_back({of(k, std::get<0>(*plain)), std::get<1>(*plain)});
      else
        axis.looks.push_back({of(k, std::get<0>(std::get<1>(d))), std::get<1>(std::get<1>(d)),
                              of(k, std::get<2>(std::get<1>(d)))});
  }
  return out;
}

PySym workgroups(const Owner& k, int axis, const PySym& extent, int tile) {
  if (axis < 0 || axis > 2 || tile < 1)
    throw codegen::CodegenError(fmt::format("workgroups: tiles of {} along axis {}", tile, axis), "",
                                "axes 0, 1, 2; tiles of 1 and more");
  return {k, to(k).workgroups(axis, of(k, extent), tile)};
}

PyView tile(const Owner& k, const PyTensor& tensor, const Extents& extents, const std::vector<PySym>& index) {
  for (const int e : extents)
    if (e < 1)
      throw codegen::CodegenError("tile: " + tensor.value.name,
                                  fmt::format("extents {}", fmt::join(extents, " x ")), "1 and more");
  return {k, to(k).tile(of(k, tensor), extents, of(k, index))};
}

std::vector<kernels::LdsUse> uses_of(const std::vector<std::tuple<Layout, int, bool>>& uses) {
  std::vector<kernels::LdsUse> out;
  for (const auto& [tv, vector, read] : uses) out.push_back({tv, vector, read});
  return out;
}

/// The origin of a view, which it changes.
struct Origin {
  py::object view;
  [[nodiscard]] PyView& of() const { return view.cast<PyView&>(); }
  /// An axis counted from either end. Errors: IndexError, which ends an iteration too.
  [[nodiscard]] std::size_t at(std::int64_t axis) const {
    const auto n = static_cast<std::int64_t>(of().value.origin.size());
    if (axis < -n || axis >= n)
      throw py::index_error("origin: axis " + std::to_string(axis) + " of " + std::to_string(n));
    return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
  }
};

// ---- classes ----------------------------------------------------------------------------------------------------------

void add_values(py::module_& m) {
  py::class_<PyPlace>(m, "SymLayout",
                      "Where elements lie: a layout whose extents and strides may be formulas.")
      .def("__str__", [](const PyPlace& l) { return to_string(l.value); })
      .def("__repr__", [](const PyPlace& l) { return "<SymLayout " + to_string(l.value) + ">"; });

  py::class_<PyTensor>(m, "Tensor",
                       "An array in memory or in LDS. In a specification t[i, j] is its element.")
      .def_property_readonly("name", [](const PyTensor& t) { return t.value.name; })
      .def_property_readonly("element", [](const PyTensor& t) { return codegen::to_string(t.value.element); })
      .def_property_readonly("shape",
                             [](const PyTensor& t) {
                               py::tuple out(t.value.shape.size());
                               for (std::size_t i = 0; i < t.value.shape.size(); ++i)
                                 out[i] = PySym{t.program, t.value.shape[i]};
                               return out;
                             })
      .def_property_readonly(
          "place", [](const PyTensor& t) { return to_string(t.value.place); },
          "Coordinate -> element number, as text.")
      .def(
          "__getitem__",
          [](const PyTensor& t, const py::object& index) {
            return at_call([&] {
              if (py::isinstance<py::tuple>(index))
                return element_of(t.program, t, index.cast<std::vector<PyIndex>>());
              return element_of(t.program, t, {index.cast<PyIndex>()});
            });
          },
          py::arg("index"))
      .def("__repr__",
           [](const PyTensor& t) {
             return "<Tensor " + t.value.name + " " + codegen::to_string(t.value.element) + " " +
                    to_string(t.value.place) + ">";
           })
      .attr("__iter__") = py::none(); // else Python's loops ask for t[0], t[1], ... and never end

  py::class_<PyFragment>(m, "Fragment", "A tile in registers: (thread, value) -> coordinate of the tile.")
      .def_property_readonly("element",
                             [](const PyFragment& f) { return codegen::to_string(f.value.element); })
      .def_property_readonly("tv", [](const PyFragment& f) { return f.value.tv; })
      .def_property_readonly("extents",
                             [](const PyFragment& f) { return py::tuple(py::cast(f.value.extents)); })
      .def_property_readonly("threads", [](const PyFragment& f) { return f.value.threads(); })
      .def_property_readonly("values", [](const PyFragment& f) { return f.value.values(); })
      .def("__repr__", [](const PyFragment& f) {
        return "<Fragment " + codegen::to_string(f.value.element) + " " + to_string(f.value.tv) + ">";
      });

  py::class_<Origin>(m, "Origin", "Where a view begins: a formula for each axis of its tensor.")
      .def("__len__", [](const Origin& o) { return o.of().value.origin.size(); })
      .def("__getitem__",
           [](const Origin& o, std::int64_t axis) {
             return PySym{o.of().program, o.of().value.origin[o.at(axis)]};
           })
      .def("__setitem__",
           [](const Origin& o, std::int64_t axis, const PySym& to) {
             at_call([&] { o.of().value.origin[o.at(axis)] = of(o.of().program, to); });
           })
      .def("__repr__", [](const Origin& o) {
        std::string text;
        for (const Sym& s : o.of().value.origin) text += (text.empty() ? "" : ", ") + to_string(s);
        return "<Origin " + text + ">";
      });

  py::class_<PyView>(m, "View", "Positions of a tensor: a tile, or a part of it.")
      .def_property_readonly("where", [](const PyView& v) { return v.value.where; })
      .def_property_readonly(
          "origin", [](const py::object& v) { return Origin{v}; },
          "Where it begins, a formula for each axis of the tensor: tap.origin[1] += j moves the view.")
      .def_property_readonly("extents",
                             [](const PyView& v) { return py::tuple(py::cast(v.value.extents())); })
      .def("partition", located(+[](const PyView& v, const Layout& tv) {
             return PyView{v.program, v.value.partition(tv)};
           }),
           py::arg("tv"), "The same with positions (thread, value).")
      .def("keep", located(+[](const PyView& v, const std::vector<std::size_t>& modes) {
             return PyView{v.program, as_list(modes, "keep", [&](std::initializer_list<std::size_t> list) {
                             return v.value.keep(list);
                           })};
           }),
           py::arg("modes"), "The modes of these numbers alone; the others must have one position.")
      .def("reorder", located(+[](const PyView& v, std::size_t mode, const Layout& order) {
             return PyView{v.program, v.value.reorder(mode, order)};
           }),
           py::arg("mode"), py::arg("order"),
           "Position p along the mode is coordinate order(p) of what it was.")
      .def("through", located(+[](const PyView& v, std::size_t mode, const PyFragment& ids) {
             return PyView{v.program, v.value.through(mode, of(v.program, ids))};
           }),
           py::arg("mode"), py::arg("ids"),
           "Position p along the mode is coordinate ids(p): rows of a table. Elements outside of the tensor "
           "read as 0.")
      .def("cached", located(+[](const PyView& v, const std::string& policy) {
             return PyView{v.program, v.value.cached(policy)};
           }),
           py::arg("policy"),
           "What its loads, copies and stores tell caches: 'nt' (used once), 'sc0', 'sc1', or several of "
           "them.")
      .def("__repr__", [](const PyView& v) { return "<View " + to_string(v.value.where) + ">"; });
}

void add_tilings(py::module_& m) {
  py::class_<Atom, std::unique_ptr<Atom, py::nodelete>>(
      m, "Atom", "One instruction that moves data or multiplies matrices. `inlay atoms` lists them.")
      .def_static("named", located(+[](const std::string& arch, const std::string& name) {
                    return &Atom::named(Target::named(arch), name);
                  }),
                  py::arg("target"), py::arg("name"), py::return_value_policy::reference)
      .def_static("mma_best",
                  located(+[](const std::string& arch, const std::string& a, const std::string& b,
                              const std::string& c, int rows) {
                    const Target& t = Target::named(arch);
                    return &Atom::mma_best(t, codegen::parse_element(a, t), codegen::parse_element(b, t),
                                           codegen::parse_element(c, t), rows);
                  }),
                  py::arg("target"), py::arg("a"), py::arg("b"), py::arg("c"), py::arg("m"),
                  py::return_value_policy::reference,
                  "The dense product of m x m results with the largest k: "
                  "Atom.mma_best('MI355X', 'f16', 'f16', 'f32', 16).")
      .def_static("mma_of",
                  located(+[](const std::string& arch, const std::string& a, const std::string& b,
                              const std::string& c, int rows, int k) {
                    const Target& t = Target::named(arch);
                    return &Atom::mma_of(t, codegen::parse_element(a, t), codegen::parse_element(b, t),
                                         codegen::parse_element(c, t), rows, k);
                  }),
                  py::arg("target"), py::arg("a"), py::arg("b"), py::arg("c"), py::arg("m"), py::arg("k"),
                  py::return_value_policy::reference, "The dense product of m x m results with that k.")
      .def_static(
          "mma_scaled",
          located(+[](const std::string& arch, const std::string& a, const std::string& b, int rows) {
            const Target& t = Target::named(arch);
            return &Atom::mma_scaled(t, codegen::parse_element(a, t), codegen::parse_element(b, t), rows);
          }),
          py::arg("target"), py::arg("a"), py::arg("b"), py::arg("m"), py::return_value_policy::reference,
          "The product that multiplies A and B by e8m0 scales of 32 k each.")
      .def_readonly("name", &Atom::name)
      .def_readonly("bits", &Atom::bits)
      .def_property_readonly("kind", [](const Atom& a) { return codegen::to_string(a.kind); })
      .def_property_readonly(
          "mnk",
          [](const Atom& a) -> py::object {
            if (!a.mma) return py::none();
            return py::make_tuple(a.mma->m, a.mma->n, a.mma->k);
          },
          "Of a product: its shape.")
      .def("__repr__", [](const Atom& a) { return "<Atom " + a.name + ">"; });

  py::class_<MmaTiling>(
      m, "MmaTiling",
      "A block of C computed by several waves, one matrix instruction at a time. a(), b(), c() are "
      "(thread, value) -> coordinate: what each lane holds.")
      .def_static(
          "of",
          located(+[](const Atom& atom, int waves_m, int waves_n, int rows, int n, int k, int k_vector) {
            if (!atom.mma) throw codegen::CodegenError("MmaTiling: " + atom.name + " is no product");
            for (const int x : {waves_m, waves_n, rows, n, k, k_vector})
              if (x < 1) throw codegen::CodegenError(fmt::format("MmaTiling: {}", x), "", "1 and more");
            return MmaTiling::of(atom, waves_m, waves_n, rows, n, k, k_vector);
          }),
          py::arg("atom"), py::arg("waves_m"), py::arg("waves_n"), py::arg("m"), py::arg("n"), py::arg("k"),
          py::arg("k_vector"))
      .def("with_columns",
           located(+[](const MmaTiling& t, int adjacent) { return t.with_columns(adjacent); }),
           py::arg("adjacent"), "The same with that many adjacent columns of C in a lane.")
      .def("repeated", located(+[](const MmaTiling& t, int times) { return t.repeated(times); }),
           py::arg("times"), "The same by so many groups of waves, each of which computes the whole block.")
      .def("a", located(+[](const MmaTiling& t) { return t.a(); }), "(thread, value) -> (m, k)")
      .def("b", located(+[](const MmaTiling& t) { return t.b(); }), "(thread, value) -> (n, k)")
      .def("c", located(+[](const MmaTiling& t) { return t.c(); }), "(thread, value) -> (m, n)")
      .def("b_place", located(+[](const MmaTiling& t) {
             return PyPlace{nullptr, t.b_place()};
           }),
           "(n, k) -> element number of B's tile in the order of the instruction's lanes.")
      .def("c_by_eights", located(+[](const MmaTiling& t) { return t.c_by_eights(); }))
      .def("a_scales", located(+[](const MmaTiling& t) { return t.a_scales(); }), "-> (m, k // 32)")
      .def("b_scales", located(+[](const MmaTiling& t) { return t.b_scales(); }), "-> (n, k // 32)")
      .def("threads", [](const MmaTiling& t) { return t.threads(); })
      .def(
          "clocks", [](const MmaTiling& t) { return t.clocks(); },
          "That a wave's products of the block keep its matrix pipe busy.")
      .def_readonly("m", &MmaTiling::m)
      .def_readonly("n", &MmaTiling::n)
      .def_readonly("k", &MmaTiling::k)
      .def("__repr__", [](const MmaTiling& t) {
        return fmt::format("<MmaTiling {} x {} x {} by {} x {} waves of {}>", t.m, t.n, t.k, t.waves_m,
                           t.waves_n, t.atom->name);
      });

  m.def("line_tv", located(+[](int extent, int vector, int threads) {
          return codegen::line_tv(extent, vector, threads);
        }),
        py::arg("extent"), py::arg("vector"), py::arg("threads"), "Vectors along a line.");
  m.def("rows_tv", located(+[](int rows, int columns, int vector, int threads) {
          return codegen::rows_tv(rows, columns, vector, threads);
        }),
        py::arg("rows"), py::arg("columns"), py::arg("vector"), py::arg("threads"),
        "Work-items along rows of vectors.");
  m.def("columns_tv", located(+[](int rows, int columns, int vector, int threads, int down) {
          return codegen::columns_tv(rows, columns, vector, threads, down);
        }),
        py::arg("rows"), py::arg("columns"), py::arg("vector"), py::arg("threads"), py::arg("down") = 1,
        "Work-items down the rows, blocks of `down` rows each.");
  m.def("without_axis", located(+[](const Layout& tv, std::size_t axis, bool values_too) {
          return codegen::without_axis(tv, axis, values_too);
        }),
        py::arg("tv"), py::arg("axis"), py::arg("values_too") = true,
        "tv without movement along an axis: how a row's scale lies beside the tile that has the row.");
  m.def("transfer_tv",
        located(+[](int rows, int columns, int vector, int threads, int lanes, bool whole_lines) {
          return codegen::transfer_tv(rows, columns, vector, threads, lanes, whole_lines);
        }),
        py::arg("rows"), py::arg("columns"), py::arg("vector"), py::arg("threads"), py::arg("lanes") = 1,
        py::arg("whole_lines") = false, "What a transfer to LDS wants: a wave's data lies lane after lane.");
  m.def("transfer_place", located(+[](int rows, int columns, int vector, int lanes, bool whole_lines) {
          return PyPlace{nullptr, codegen::transfer_place(rows, columns, vector, lanes, whole_lines)};
        }),
        py::arg("rows"), py::arg("columns"), py::arg("vector"), py::arg("lanes") = 1,
        py::arg("whole_lines") = false, "The place of a tile that such a transfer fills.");
  m.def("scales_transfer_tv", located(+[](int rows, int columns, int waves, int threads) {
          return codegen::scales_transfer_tv(rows, columns, waves, threads);
        }),
        py::arg("rows"), py::arg("columns"), py::arg("waves"), py::arg("threads"),
        "The same for MX scales, one for 32 k.");
  m.def("scales_place", located(+[](int rows, int columns, int waves) {
          return PyPlace{nullptr, codegen::scales_place(rows, columns, waves)};
        }),
        py::arg("rows"), py::arg("columns"), py::arg("waves"),
        "The place of MX scales that such a transfer fills.");
  m.def("values_exchanged", located(+[](const Layout& tv) { return codegen::values_exchanged(tv); }),
        py::arg("tv"), "The same elements of each work-item, its first two modes of values exchanged.");
  m.def("transposed", located(+[](const Layout& tv) { return codegen::transposed(tv); }), py::arg("tv"),
        "tv in the transposed tile.");
  m.def("find_swizzle",
        located(+[](const std::string& arch, const std::string& type, int rows, int columns,
                    const std::vector<std::tuple<Layout, int, bool>>& uses) {
          const Target& t = Target::named(arch);
          return kernels::find_swizzle(t, codegen::parse_element(type, t), rows, columns, uses_of(uses));
        }),
        py::arg("target"), py::arg("element"), py::arg("rows"), py::arg("columns"), py::arg("uses"),
        "The smallest swizzle under which a row-major tile in LDS has no bank conflict in any of its uses, "
        "(tv, vector, whether it "
        "reads) each; None where there is none.");
  m.def("conflict_free_swizzle",
        located(+[](const std::string& arch, const std::string& type, int rows, int columns,
                    const std::vector<std::tuple<Layout, int, bool>>& uses) {
          const Target& t = Target::named(arch);
          return kernels::conflict_free_swizzle(t, codegen::parse_element(type, t), rows, columns,
                                                uses_of(uses));
        }),
        py::arg("target"), py::arg("element"), py::arg("rows"), py::arg("columns"), py::arg("uses"),
        "The same, which must be there.");
}

} // namespace

void add_program(py::module_& m) {
  py::implicitly_convertible<py::str, Layout>();
  add_values(m);
  add_tilings(m);
  using namespace py::literals;
  using Name = const std::string&;

  auto c = py::class_<Held, Owner>(
      m, "Program",
      "A kernel as tiles and operations on them, and the index expression that it computes "
      "(docs/guide/5-first-kernel.md). Each operation keeps the line of Python that wrote it.");
  c.def(py::init([](Name name, Name target, int threads) {
          return at_call([&] {
            return std::make_shared<Held>(Held{{Program(name, Target::named(target), threads, here()), {}}});
          });
        }),
        "name"_a, "target"_a, "threads"_a)
      .def_property_readonly("name", [](const Owner& k) { return k->source.program.name(); })
      .def_property_readonly("target",
                             [](const Owner& k) { return std::string(k->source.program.target().name); })
      .def_property_readonly("threads", [](const Owner& k) { return k->source.program.threads(); })
      .def("text", located(+[](const Owner& k) { return k->source.program.text(); }), "One operation a line.")
      .def("__str__", located(+[](const Owner& k) { return k->source.program.text(); }))
      .def("__repr__", [](const Owner& k) { return "<Program " + k->source.program.name() + ">"; });

  // Sizes, grid, tensors.
  c.def("size",
        located(+[](const Owner& k, Name name, std::int64_t least, std::int64_t most, std::int64_t multiple) {
          return PySym{k, to(k).size(name, {least, most, multiple})};
        }),
        "name"_a, py::kw_only(), "least"_a = 1, "most"_a = INT32_MAX, "multiple"_a = 1,
        "A size of the launch: any number with these facts, which the launch checks.")
      .def("workgroups", located(&workgroups), "axis"_a, "extent"_a, "tile"_a,
           "The number of this workgroup along a grid axis; there are ceil_div(extent, tile).")
      .def("order_tiles",
           located(+[](const Owner& k, Name order) { to(k).order_tiles(codegen::parse_tile_order(order)); }),
           "order"_a, "Another workgroup for each tile: 'xcd+rows:8'.")
      .def("share", located(+[](const Owner& k, int workers, const PySym& extent, int tile) {
             if (tile < 1) throw codegen::CodegenError(fmt::format("share: a tile of {}", tile));
             const Program::Share s = to(k).share(workers, of(k, extent), tile);
             return std::pair(PySym{k, s.begin}, PySym{k, s.count});
           }),
           "workers"_a, "extent"_a, "tile"_a,
           "A part of a tile's sum over an extent (stream-K): trips (begin, count).")
      .def("persistent", located(+[](const Owner& k, const py::int_& workers) {
             int past = 0; // what no integer of C++ holds
             const long n = PyLong_AsLongAndOverflow(workers.ptr(), &past);
             if (past != 0 || n < INT32_MIN || n > INT32_MAX)
               throw codegen::CodegenError("persistent: no device has so many workgroups",
                                           "number " + std::string(py::str(py::handle(workers))),
                                           "1 to 65536, as many as the device runs at a time");
             to(k).persistent(static_cast<int>(n));
           }),
           "workers"_a,
           "That many workgroups walk over all tiles of the grid, and run the program once for each of "
           "theirs.")
      .def("problems", located(+[](const Owner& k, Name count, const std::vector<PySym>& own) {
             to(k).problems(count, of(k, own), here());
           }),
           "count"_a, "own"_a,
           "One launch for many problems: each has tensors of its own, and these sizes. In artifact.run a "
           "tensor is then "
           "a list of arrays, one a problem, and an own size a list of numbers (docs/guide/35-problems.md).")
      .def("waves_per_simd", located(+[](const Owner& k, int waves) { to(k).waves_per_simd(waves, here()); }),
           "waves"_a, "A limit on registers: room for so many waves on a SIMD, or the build refuses.")
      .def("uniform", located(+[](const Owner& k, const PyTensor& table, const PySym& at) {
             return PySym{k, to(k).uniform(of(k, table), of(k, at), here())};
           }),
           "table"_a, "at"_a, "table[at], a number of the workgroup.")
      .def("input", located(&declared<&Program::input>), "name"_a, "element"_a, "shape"_a,
           "place"_a = py::none(),
           "A tensor in memory. place: coordinate -> element number, row-major when absent.")
      .def("output", located(&declared<&Program::output>), "name"_a, "element"_a, "shape"_a,
           "place"_a = py::none(), "A tensor that the kernel writes.")
      .def("inout", located(&declared<&Program::inout>), "name"_a, "element"_a, "shape"_a,
           "place"_a = py::none(),
           "An output that holds an input before the launch; in its specification it is what was there.")
      .def("devices", located(+[](const Owner& k, int count) {
             return PySym{k, to(k).devices(count)};
           }),
           "count"_a,
           "That many devices run the program together, each a launch of its own: its rank, 0 to count - 1.")
      .def("peers", located(&peers), "name"_a, "element"_a, "shape"_a, "place"_a = py::none(),
           "An input of every device, in the memory of each: `name_0`, `name_1`, ... They may be loaded "
           "between two meetings.")
      .def("paged", located(+[](const Owner& k, Name name, const PyTensor& cache, const PyTensor& table) {
             return PyTensor{k, to(k).paged(name, of(k, cache), of(k, table))};
           }),
           "name"_a, "cache"_a, "table"_a,
           "A cache of pages [P, page, ...] looked at by position through a table [S, pages]: a tensor "
           "without memory.")
      .def("window",
           located(+[](const Owner& k, Name name, const PyTensor& input, const WindowAxes& axes,
                       const std::vector<PySym>& origin) {
             return PyTensor{k, to(k).window(name, of(k, input), window_axes(k, axes), of(k, origin))};
           }),
           "name"_a, "of"_a, "axes"_a, "origin"_a,
           "An input looked at from elsewhere, 0 outside of it (im2col by views): of(origin + sum of step * "
           "digit). An axis is (extent, digits), a digit (extent, axis of the input) or (extent, axis of the "
           "input, step), the first one fastest.")
      .def("value", located(+[](const Owner& k, const PyTensor& table, const PySym& at) {
             return PySym{k, to(k).value(of(k, table), of(k, at))};
           }),
           "table"_a, "at"_a,
           "table[at] as a number in a specification, where `at` may be made of the coordinates.")
      .def("far", located(+[](const Owner& k, const PyTensor& t) { to(k).far(of(k, t)); }), "tensor"_a,
           "An input whose tiles are loaded by addresses of 64 bits in each lane.")
      .def("lds", located(&lds), "name"_a, "element"_a, "shape"_a, "swizzle"_a = py::none(), "padding"_a = 0,
           py::kw_only(), "place"_a = py::none(), "A tile in LDS, row-major or at a place, under a swizzle.")
      .def("conflict_free_tile",
           located(+[](const Owner& k, Name name, Name type, int rows, int columns, int vector,
                       const Layout& write, const Layout& read) {
             return PyTensor{k, kernels::conflict_free_tile(to(k), name, element(k, type), rows, columns,
                                                            vector, write, read)};
           }),
           "name"_a, "element"_a, "rows"_a, "columns"_a, "vector"_a, "write"_a, "read"_a,
           "A row-major tile in LDS under a swizzle with which neither its write nor its read has a bank "
           "conflict.");

  // The specification.
  c.def("__call__", located(&element_of), "tensor"_a, "index"_a,
        "An element in a specification, as tensor[index].")
      .def("at", located(+[](const Owner& k, const PyTensor& table, const py::args& at) {
             const Tensor& t = of(k, table);
             std::vector<Sym> numbers;
             for (const py::handle a : at) numbers.push_back(of(k, a.cast<PySym>()));
             if (numbers.empty()) throw codegen::CodegenError("at: no entry of " + t.name);
             return PyIndex{k, Index(Program::entry(t, numbers), t.id)};
           }),
           "table"_a, "table[first, ...] as an index: X[k.at(ids, m), j].")
      .def("entry", located(+[](const Owner& k, const PyTensor& table, const std::vector<PySym>& at) {
             if (at.empty()) throw codegen::CodegenError("entry: none of " + table.value.name);
             return PySym{k, Program::entry(of(k, table), of(k, at))};
           }),
           "table"_a, "at"_a, "The number of an entry of a table, row by row.")
      .def("number", located(+[](const Owner& k, const PySym& x) {
             return PyExpr{k, to(k).number(of(k, x))};
           }),
           "value"_a, "A formula as an expression.")
      .def("integer", located(+[](const Owner& k, std::int64_t x) {
             return PyExpr{k, to(k).integer(x)};
           }),
           "value"_a, "An integer modulo 2^32.")
      .def("constant", located(+[](const Owner& k, double x) {
             return PyExpr{k, to(k).constant(x)};
           }),
           "value"_a)
      .def("sum", located(+[](const Owner& k, const PySym& extent, const py::function& body) {
             return PyExpr{k, to(k).sum(of(k, extent), indexed(k, body))};
           }),
           "extent"_a, "body"_a, "The sum of body(i) over 0 <= i < extent.")
      .def("sum",
           located(+[](const Owner& k, const PySym& extent, const PySym& begin, const PySym& end,
                       const py::function& body) {
             return PyExpr{k, to(k).sum(of(k, extent), of(k, begin), of(k, end), indexed(k, body))};
           }),
           "extent"_a, "begin"_a, "end"_a, "body"_a, "A part of it: begin <= i < end.")
      .def("computes", located(&computes), "tensor"_a, "body"_a = py::none(),
           "tensor[i, j, ...] = body(i, j, ...) for all coordinates.")
      .def("scatters", located(&through_table<&Program::scatters>), "tensor"_a, "table"_a,
           "body"_a = py::none(),
           "tensor[r, j, ...] = the sum of body(s, j, ...) over the entries s of a table with table[s] = r.")
      .def("puts", located(&through_table<&Program::puts>), "tensor"_a, "table"_a, "body"_a = py::none(),
           "tensor[table[s], j, ...] = body(s, j, ...) for every entry s of a table, no two of which name "
           "one row; rows "
           "that none names keep what they held, so the tensor is an `inout`.");

  // Operations, in order.
  c.def("tile", located(&tile), "tensor"_a, "extents"_a, "index"_a, "Tile number `index` of a tensor.")
      .def("whole", located(+[](const Owner& k, const PyTensor& t) {
             return PyView{k, to(k).whole(in_lds(k, t, "whole"))};
           }),
           "lds"_a, "All of a tile in LDS.")
      .def("copy",
           located(+[](const Owner& k, const PyView& from, const PyTensor& to_, const Layout& tv,
                       int vector) { to(k).copy(of(k, from), in_lds(k, to_, "copy"), tv, vector, here()); }),
           "from_"_a, "to"_a, "tv"_a, "vector"_a, "Memory to LDS, through registers.")
      .def(
          "transfer",
          located(+[](const Owner& k, const PyView& from, const PyTensor& to_, const Layout& tv, int vector) {
            to(k).transfer(of(k, from), in_lds(k, to_, "transfer"), tv, vector, here());
          }),
          "from_"_a, "to"_a, "tv"_a, "vector"_a, "Memory to LDS, past the registers.")
      .def("load", located(+[](const Owner& k, const PyView& from, const Layout& tv, int vector) {
             return PyFragment{k, to(k).load(of(k, from), tv, vector, here())};
           }),
           "from_"_a, "tv"_a, "vector"_a, "A tile to registers, `vector` adjacent elements at a time.")
      .def("read", located(+[](const Owner& k, const PyTensor& from, const Layout& tv, int vector) {
             return PyFragment{k, to(k).read(in_lds(k, from, "read"), tv, vector, here())};
           }),
           "from_"_a, "tv"_a, "vector"_a, "A tile in LDS to registers.")
      .def("store", located(+[](const Owner& k, const PyFragment& from, const PyView& to_, int vector) {
             to(k).store(of(k, from), of(k, to_), vector, here());
           }),
           "from_"_a, "to"_a, "vector"_a, "Registers to a tile.")
      .def("add", located(+[](const Owner& k, const PyFragment& from, const PyView& to_) {
             to(k).add(of(k, from), of(k, to_), here());
           }),
           "from_"_a, "to"_a, "to += from, by atomics.")
      .def("zeros", located(+[](const Owner& k, Name type, const Layout& tv, const Extents& extents) {
             return PyFragment{k, to(k).zeros(element(k, type), tv, extents, here())};
           }),
           "element"_a, "tv"_a, "extents"_a, "A tile of zeros in registers.")
      .def("full", located(+[](const Owner& k, double value, const Layout& tv, const Extents& extents) {
             return PyFragment{k, to(k).full(value, tv, extents, here())};
           }),
           "value"_a, "tv"_a, "extents"_a, "A tile of one number in registers.")
      .def("mma",
           located(+[](const Owner& k, const PyFragment& acc, const PyFragment& a, const PyFragment& b,
                       const MmaTiling& mma) { to(k).mma(of(k, acc), of(k, a), of(k, b), mma, here()); }),
           "acc"_a, "a"_a, "b"_a, "mma"_a, "acc[m, n] += sum over k of a[m, k] b[n, k]")
      .def("mma",
           located(+[](const Owner& k, const PyFragment& acc, const PyFragment& a, const PyFragment& a_scales,
                       const PyFragment& b, const PyFragment& b_scales, const MmaTiling& mma) {
             to(k).mma(of(k, acc), of(k, a), of(k, a_scales), of(k, b), of(k, b_scales), mma, here());
           }),
           "acc"_a, "a"_a, "a_scales"_a, "b"_a, "b_scales"_a, "mma"_a, "The same with scales of 32 k each.")
      .def("map", located(&map), "from_"_a, "body"_a, "element"_a = "f32", py::kw_only(), "tv"_a = py::none(),
           "contract"_a = true, "approximate"_a = true, "reassociate"_a = false,
           "body(x, y, ...) of the elements of each place; tv: where the result is wanted. contract: a "
           "product and a sum are one "
           "instruction, rounded once; approximate: quotients and roots within 1 ulp of the reciprocal and "
           "the root; reassociate: sums "
           "of four and more by halves.")
      .def("update",
           located(+[](const Owner& k, const PyFragment& to_, const std::vector<PyFragment>& from,
                       const py::function& body, bool contract, bool approximate, bool reassociate) {
             const auto where = here();
             to(k).update(of(k, to_), of(k, from), mapping<Expr>(k, body),
                          {contract, approximate, reassociate}, where);
           }),
           "to"_a, "from_"_a, "body"_a, py::kw_only(), "contract"_a = true, "approximate"_a = true,
           "reassociate"_a = false, "to = body(to, from...): what a loop carries from trip to trip.")
      .def("relayout",
           located(+[](const Owner& k, const PyFragment& from, const Layout& tv, Name type, Name nan) {
             if (nan != "kept" && nan != "any")
               throw codegen::CodegenError("relayout: nan = '" + nan + "'", "", "kept, any");
             return PyFragment{k,
                               to(k).relayout(of(k, from), tv, element(k, type),
                                              nan == "any" ? codegen::Nan::any : codegen::Nan::kept, here())};
           }),
           "from_"_a, "tv"_a, "element"_a, "nan"_a = "kept", "The same elements where tv wants them.")
      .def("position", located(+[](const Owner& k, int axis) {
             if (axis < 0) throw codegen::CodegenError("position: no axis " + std::to_string(axis));
             return PySym{k, to(k).position(axis)};
           }),
           "axis"_a, "The coordinate of an element of a map along an axis of its tile.")
      .def("fill",
           located(+[](const Owner& k, const PyFragment& from, int axis, const PySym& origin,
                       const PySym& bound, double beyond) {
             if (axis < 0) throw codegen::CodegenError("fill: no axis " + std::to_string(axis));
             return PyFragment{k, to(k).fill(of(k, from), axis, of(k, origin), of(k, bound), beyond, here())};
           }),
           "from_"_a, "axis"_a, "origin"_a, "bound"_a, "beyond"_a,
           "`from_` inside of the tensor that it was loaded from, `beyond` outside.")
      .def("fold", located(+[](const Owner& k, Name name, const PyFragment& from, int axis, Name type) {
             return PyFragment{k, to(k).fold(monoid(name, type), of(k, from), axis,
                                             element(k, std::string(type) == "u32" ? "i32" : type), here())};
           }),
           "monoid"_a, "from_"_a, "axis"_a, "element"_a = "f32",
           "The sum, max or min of a tile along an axis; every thread gets it. \"i32\": of a fragment of "
           "i32, exactly, the sum modulo 2^32. \"u32\": likewise, its elements without a sign.")
      .def("fold",
           located(+[](const Owner& k, Name name, const PySym& extent, const py::function& body, Name type) {
             return PyExpr{k, to(k).fold(monoid(name, type), of(k, extent), indexed(k, body))};
           }),
           "monoid"_a, "extent"_a, "body"_a, "element"_a = "",
           "In a specification: over 0 <= i < extent of body(i). \"u32\": of integers without a sign.")
      .def("scan", located(+[](const Owner& k, Name name, const PyFragment& from, int axis, Name type) {
             const auto scan = to(k).scan(monoid(name, type), of(k, from), axis,
                                          element(k, std::string(type) == "u32" ? "i32" : type), here());
             return std::pair(PyFragment{k, scan.prefix}, PyFragment{k, scan.all});
           }),
           "monoid"_a, "from_"_a, "axis"_a, "element"_a = "f32",
           "The same up to each element along the axis, itself included, and of all of them: (prefix, all). "
           "In a specification k.sum(n, 0, i + 1, body).")
      .def("top",
           located(+[](const Owner& k, int count, const PyFragment& from, const std::vector<int>& axes) {
             const auto best = to(k).top(count, of(k, from), axes, here());
             std::vector<PyFragment> value, place;
             for (const Fragment& f : best.value) value.push_back({k, f});
             for (const Fragment& f : best.place) place.push_back({k, f});
             return std::pair(value, place);
           }),
           "count"_a, "from_"_a, "axes"_a,
           "The greatest elements of a tile along its axes and their places, (values, places): of equal ones "
           "the least place first. "
           "The tile has all of its tensor there, and a row lies in one wave.")
      .def("top",
           located(+[](const Owner& k, int count, const PyFragment& from, const PyFragment& beside,
                       const std::vector<int>& axes) {
             const auto best = to(k).top(count, of(k, from), of(k, beside), axes, here());
             std::vector<PyFragment> value, place, other;
             for (const Fragment& f : best.value) value.push_back({k, f});
             for (const Fragment& f : best.place) place.push_back({k, f});
             for (const Fragment& f : best.beside) other.push_back({k, f});
             return std::tuple(value, place, other);
           }),
           "count"_a, "from_"_a, "beside"_a, "axes"_a,
           "And what another fragment, of bf16 or f16 and laid out alike, has at those places: (values, "
           "places, "
           "of_beside).")
      .def("top",
           located(
               +[](const Owner& k, int count, const std::vector<PySym>& extents, const py::function& body) {
                 std::vector<Sym> all;
                 for (const PySym& e : extents) all.push_back(of(k, e));
                 const codegen::TopOf best = to(k).top(
                     count, all, [&](const std::vector<Sym>& at) { return expression_of<Sym>(k, body, at); });
                 std::vector<PyExpr> value, place;
                 for (const Expr& e : best.value) value.push_back({k, e});
                 for (const Expr& e : best.place) place.push_back({k, e});
                 return std::pair(value, place);
               }),
           "count"_a, "extents"_a, "body"_a,
           "In a specification: of body(i, ..) over 0 <= i < extent, (values, places).")
      .def("at_place",
           located(+[](const Owner& k, const PyExpr& place, const std::vector<PySym>& extents,
                       const py::function& body) {
             std::vector<Sym> all;
             for (const PySym& e : extents) all.push_back(of(k, e));
             return PyExpr{k, to(k).at_place(of(k, place), all, [&](const std::vector<Sym>& at) {
                             return expression_of<Sym>(k, body, at);
                           })};
           }),
           "place"_a, "extents"_a, "body"_a,
           "In a specification: body(i, ..) where it stands at a place that `top` gives over the same "
           "extents.")
      .def("loop", located(&loop_over), "extent"_a, "tile"_a, "body"_a = py::none(), py::kw_only(),
           "distance"_a = 2, "ring"_a = 2, "pins"_a = "", "depth"_a = "", "stagger"_a = false,
           "pingpong"_a = false,
           "body(t) for each tile of an extent, pipelined: loads run `distance` trips ahead, LDS has `ring` "
           "stages. As a decorator: "
           "@k.loop(K, 64) before def trip(t).")
      .def("loop", located(&loop_between), "begin"_a, "end"_a, "tile"_a, "body"_a = py::none(), py::kw_only(),
           "distance"_a = 2, "ring"_a = 2, "pins"_a = "", "depth"_a = "", "stagger"_a = false,
           "pingpong"_a = false,
           "The trips from where `begin` lies on, a number of whole tiles: the first t is begin / tile.")
      .def("check",
           located(
               +[](const Owner& k, const std::vector<PyFragment>& from, const py::function& body, Name text) {
                 const auto where = here();
                 to(k).check(of(k, from), mapping<Expr>(k, body), text, where);
               }),
           "from_"_a, "body"_a, "text"_a,
           "Ends the launch where body(x, y, ...) is 0 for an element: an assertion of the running kernel.")
      .def("print", located(&print), "text"_a, "from_"_a, "values"_a = py::none(), "when"_a = py::none(),
           "Prints text, a value in the place of each {}: of fragments for each element where when(x, y, "
           "...) is not "
           "0, values(x, y, ...) or the elements themselves; of numbers of the workgroup or the trip once.")
      .def("if_less", located(&if_less), "a"_a, "b"_a, "then"_a = py::none(), "otherwise"_a = py::none(),
           "`then` in the workgroups where a < b, `otherwise` in the others. As a decorator: @k.if_less(a, "
           "b) before def then().")
      .def("roles", located(&roles), "roles"_a,
           "Groups of waves that do different things: (name, waves, function or None) each. What the "
           "functions give.")
      .def("ticket", located(+[](const Owner& k, Name name, const PySym& number) {
             return PySym{k, to(k).ticket(name, of(k, number), here())};
           }),
           "name"_a, "number"_a, "The place of this workgroup among those that come here.")
      .def("await_", located(+[](const Owner& k, Name name, const PySym& number) {
             to(k).await(name, of(k, number), here());
           }),
           "name"_a, "number"_a, "Waits until it is this workgroup's turn; `await` in C++.")
      .def("meet", located(+[](const Owner& k, Name name) { to(k).meet(name, here()); }), "name"_a,
           "Waits until the workgroup of this number is here on all devices, by flags in the memory of each.")
      .def("signal", located(+[](const Owner& k, Name name) { to(k).signal(name, here()); }), "name"_a,
           "Passes the turn on.");
}

} // namespace inlay::python
