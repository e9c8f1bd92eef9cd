// The extension module of the package `inlay`: values, operations and proofs. It converts values and forwards: every function is a row of the algebra's table of operations
// (expression.h), every class wraps one value type, and an error keeps its fields.
//
//     >>> import inlay
//     >>> inlay.composition("(6,2):(8,2)", "3:2")
//     Layout('3:16')
//     >>> inlay.Layout((4, 8), (8, 1)).values()
//     array([ 0,  8, 16, ...])
//     >>> inlay.prove("injective", "(M,K):(ld,1)", where=["ld >= K"])
//     <Verdict injective: proved (domination)>
#include <inlay/algebra/error.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/render/svg.h>
#include <inlay/algebra/render/views.h>

#ifdef INLAY_PYTHON_SOLVER
#include <inlay/machine/target.h>
#include <inlay/solver/certificate.h>
#include <inlay/solver/coalescing.h>
#include <inlay/solver/prove.h>
#endif

#include <inlay/algebra/nearest.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <set>

namespace py = pybind11;
using namespace inlay;

namespace {

// ---- values in and out ----------------------------------------------------------------------------------------

Value to_value(const py::handle& object) {
  if (object.is_none()) return {};
  if (py::isinstance<py::bool_>(object)) return object.cast<bool>();
  if (py::isinstance<py::int_>(object)) return Int(object.cast<std::int64_t>());
  if (py::isinstance<Layout>(object)) return object.cast<Layout>();
  if (py::isinstance<ComposedLayout>(object)) return object.cast<ComposedLayout>();
  if (py::isinstance<Swizzle>(object)) return object.cast<Swizzle>();
  if (py::isinstance<CoordSwizzle>(object)) return object.cast<CoordSwizzle>();
  if (py::isinstance<py::str>(object)) return evaluate_expression(object.cast<std::string>());
  if (py::isinstance<py::tuple>(object) || py::isinstance<py::list>(object)) {
    List list;
    for (const py::handle entry : object) list.push_back(to_value(entry));
    return list;
  }
  throw py::type_error(
      "an argument is a layout, an int, None, a text of the algebra, or a tuple of these, not " +
      py::repr(object).cast<std::string>());
}

py::object to_python(const Value& value);

py::object to_python(const IntTuple& tuple) {
  if (tuple.is_leaf()) return py::int_(tuple.leaf().value());
  py::tuple entries(tuple.rank());
  for (std::size_t i = 0; i < tuple.rank(); ++i) entries[i] = to_python(tuple[i]);
  return entries;
}

py::object to_python(const Value& value) {
  struct Convert {
    py::object operator()(Free) const { return py::none(); }
    py::object operator()(bool b) const { return py::bool_(b); }
    py::object operator()(Int n) const { return py::int_(n.value()); }
    py::object operator()(const Layout& l) const { return py::cast(l); }
    py::object operator()(const ComposedLayout& l) const { return py::cast(l); }
    py::object operator()(const Swizzle& s) const { return py::cast(s); }
    py::object operator()(const NestedLayout& l) const { return py::str(to_string(l)); }
    py::object operator()(const CoordSwizzle& s) const { return py::cast(s); }
    py::object operator()(const std::string& s) const { return py::str(s); }
    py::object operator()(const List& list) const {
      py::tuple entries(list.size());
      for (std::size_t i = 0; i < list.size(); ++i) entries[i] = to_python(list[i]);
      return entries;
    }
    py::object operator()(const Record& record) const {
      py::dict entries;
      for (const auto& [name, entry] : record) entries[py::str(name)] = to_python(entry);
      return entries;
    }
  };
  return std::visit(Convert{}, value.data());
}

/// Strides may be basis strides and are then texts: `1@0`.
py::object stride_of(const Layout& layout) {
  const Tuple<Stride> stride = layout.stride();
  const auto convert = [](auto&& self, TupleView<Stride> t) -> py::object {
    if (t.is_leaf()) {
      if (t.leaf().is_basis()) return py::str(to_string(t.leaf()));
      return py::int_(t.leaf().scale.value());
    }
    py::list entries;
    for (TupleView<Stride> entry : t) entries.append(self(self, entry));
    return py::tuple(entries);
  };
  return convert(convert, stride.view());
}

template <class L>
py::array_t<std::int64_t> values_of(const L& layout) {
  const Int size = layout.size();
  // The stride is named: pybind11 before 2.12 asks numpy's descriptor for the size of an element, which numpy 2 keeps elsewhere, and
  // gets 0, so that all values would be the last one.
  py::array_t<std::int64_t> values(std::vector<py::ssize_t>{static_cast<py::ssize_t>(size.value())},
                                   std::vector<py::ssize_t>{static_cast<py::ssize_t>(sizeof(std::int64_t))});
  auto out = values.mutable_unchecked<1>();
  for (Int i = 0; i < size; i += 1) out(static_cast<py::ssize_t>(i.value())) = layout(i).value();
  return values;
}

template <class L>
py::object at(const L& layout, const py::args& coordinate) {
  const py::object c = coordinate.size() == 1 ? py::object(coordinate[0]) : py::object(coordinate);
  return to_python(value_of(Value(layout), to_value(c)));
}

template <class L>
std::string svg_of(const L& layout) {
  return render_svg({layout_picture(layout)});
}

// Values are their texts: copies and pickles go through these.
template <class T, class Parse>
auto by_text(Parse parse) {
  return py::pickle([](const T& value) { return py::str(to_string(value)); },
                    [parse](const py::str& text) -> T { return parse(text.cast<std::string>()); });
}

// ---- errors ---------------------------------------------------------------------------------------------------

py::dict as_dict(const std::vector<std::pair<std::string, std::string>>& pairs) {
  py::dict d;
  for (const auto& [name, text] : pairs) d[py::str(name)] = text;
  return d;
}

void raise(const py::handle& type, const LayoutError& e) {
  py::object error = type(std::string(e.what()));
  const ErrorFields& f = e.fields();
  error.attr("code") = f.code;
  error.attr("operation") = f.operation;
  error.attr("summary") = f.summary;
  error.attr("operands") = as_dict(f.operands);
  error.attr("where") = f.where;
  error.attr("numbers") = as_dict(f.numbers);
  error.attr("hint") = f.hint;
  PyErr_SetObject(type.ptr(), error.ptr());
}

// ---- the table of operations as functions --------------------------------------------------------------------------

// Names that the golden vectors use for one form of an operation (a swizzle, an offset and a layout as three arguments, parts
// of a tiled copy); the general operation takes a ComposedLayout itself.
bool only_for_vectors(std::string_view name) {
  for (std::string_view prefix : {"composed", "composition_layout_", "coord_swizzle", "identity_",
                                  "layout_call", "ldsm_copy", "swizzle_", "tiled_copy_", "tiled_mma_", "tv_"})
    if (name.substr(0, prefix.size()) == prefix) return true;
  return false;
}

// "(layout, path [, order])" as Python writes it: "(layout, path, order=..., /)".
std::string text_signature(std::string_view written) {
  if (written.find("...") != std::string_view::npos) return "(*layouts_or_shape_and_stride)";
  std::vector<std::pair<std::string, bool>> parameters; // name, optional
  std::string word;
  bool optional = false;
  int brackets = 0;
  auto finish = [&] {
    while (!word.empty() && word.back() == '_') word.pop_back();
    if (word.empty()) return;
    if (word == "from") word += '_'; // a keyword
    std::string name = word;
    for (int k = 2;
         std::any_of(parameters.begin(), parameters.end(), [&](const auto& p) { return p.first == name; });
         ++k)
      name = word + std::to_string(k);
    parameters.emplace_back(name, optional);
    word.clear();
  };
  for (char c : written.substr(1, written.size() - 2)) {
    if (c == ',') {
      finish();
      optional = brackets > 0;
    } else if (c == '[') {
      finish();
      ++brackets;
      optional = true;
    } else if (c == ']') {
      finish();
      --brackets;
      optional = false;
    } else if (c == ' ' || c == '-') {
      if (!word.empty() && word.back() != '_') word += '_';
    } else {
      word += c;
    }
  }
  finish();
  // `append(layout, [rank,] mode)`: what may be left out comes last for Python.
  std::stable_partition(parameters.begin(), parameters.end(), [](const auto& p) { return !p.second; });
  std::string out = "(";
  for (const auto& [name, may_be_missing] : parameters) out += name + (may_be_missing ? "=..." : "") + ", ";
  return out + "/)";
}

#ifdef INLAY_PYTHON_SOLVER
// ---- proofs ----------------------------------------------------------------------------------------------------

solver::Verdict prove(const std::string& property, const py::args& arguments,
                      const std::vector<std::string>& where, const std::vector<std::string>& domain,
                      bool by_mode, const std::string& access, const std::string& arch,
                      unsigned element_bytes, unsigned lines, bool recheck,
                      std::optional<std::uint64_t> limit, std::optional<std::uint64_t> steps) {
  using namespace solver;
  std::vector<std::string> texts;
  for (const py::handle a : arguments) texts.push_back(py::str(a).cast<std::string>());
  static const std::vector<std::string> properties = {"equal",         "injective", "bijective", "disjoint",
                                                      "covers",        "within",    "aligned",   "inverse",
                                                      "conflict-free", "coalesced"};
  if (std::ranges::find(properties, property) == properties.end()) {
    std::string known;
    for (const std::string& p : properties) known += (known.empty() ? "" : ", ") + p;
    throw QuestionError("prove: unknown property '" + property + "'\n  hint   " +
                        did_you_mean(property, properties) + known);
  }
  const bool two = property == "equal" || property == "disjoint" || property == "inverse";
  const bool term = property == "covers" || property == "within" || property == "aligned";
  if (texts.size() != (two || term ? 2U : 1U))
    throw QuestionError(
        "prove " + property + ": " + std::to_string(texts.size()) + " arguments" +
        "\n  hint   equal, disjoint, inverse A B; covers, within, aligned A N; injective, bijective, "
        "conflict-free, coalesced A");
  Options options;
  options.by_mode = by_mode;
  options.recheck = recheck;
  if (limit) options.enumeration_limit = *limit;
  if (steps) options.solver_steps = *steps;
  std::size_t used = 0;
  const auto subject = [&](std::size_t k) {
    const bool formula = texts[k].find("->") != std::string::npos || texts[k].find(':') == std::string::npos;
    if (!formula || domain.empty()) return Subject(texts[k]);
    return Subject(texts[k], domain[std::min(used++, domain.size() - 1)]);
  };
  const Subject a = subject(0), b = two ? subject(1) : a;
  const py::gil_scoped_release release; // it may take seconds
  if (property == "equal") return prove_equal(a, b, where, options);
  if (property == "disjoint") return prove_disjoint(a, b, where, options);
  if (property == "inverse") return prove_inverse(a, b, where, options);
  if (property == "injective") return prove_injective(a, where, options);
  if (property == "bijective") return prove_bijective(a, where, options);
  if (property == "covers") return prove_covers(a, texts[1], where, options);
  if (property == "within") return prove_within(a, texts[1], where, options);
  if (property == "aligned") return prove_aligned(a, texts[1], where, options);
  if (property == "conflict-free") return prove_conflict_free(a, access, arch, where, options);
  return prove_coalesced(a, element_bytes, arch, lines, where, options);
}

py::object witness_of(const solver::Verdict& v) {
  if (!v.witness) return py::none();
  py::dict symbols, out;
  for (const auto& [name, value] : v.witness->symbols) symbols[py::str(name)] = value;
  out["symbols"] = symbols;
  out["index"] = v.witness->index;
  out["second_index"] = v.witness->second_index;
  out["coordinate"] = v.witness->coordinate;
  out["lhs"] = v.witness->lhs;
  out["rhs"] = v.witness->rhs;
  out["text"] = v.witness->text;
  return out;
}

// A pickle of a verdict: its fields, those of the witness apart. Another process may keep it, recheck() judges the certificate anew.
py::tuple state_of(const solver::Verdict& v) {
  py::object witness = py::none();
  if (const auto& w = v.witness)
    witness = py::make_tuple(w->symbols, w->index, w->coordinate, w->second_index, w->lhs, w->rhs, w->text);
  return py::make_tuple(static_cast<int>(v.outcome), v.property, v.method, v.certificate, witness,
                        v.obligations, v.smt2, v.notes);
}

solver::Verdict verdict_of(const py::tuple& state) {
  if (state.size() != 8) throw py::value_error("this is no pickle of a Verdict");
  solver::Verdict v;
  const auto take = [](const py::tuple& from, std::size_t i, auto& into) {
    into = from[i].cast<std::remove_reference_t<decltype(into)>>();
  };
  const int outcome = state[0].cast<int>();
  if (outcome < 0 || outcome > static_cast<int>(solver::Outcome::unknown))
    throw py::value_error("this is no pickle of a Verdict");
  v.outcome = static_cast<solver::Outcome>(outcome);
  take(state, 1, v.property), take(state, 2, v.method), take(state, 3, v.certificate);
  if (!state[4].is_none()) {
    const auto fields = state[4].cast<py::tuple>();
    solver::Witness& w = v.witness.emplace();
    take(fields, 0, w.symbols), take(fields, 1, w.index), take(fields, 2, w.coordinate);
    take(fields, 3, w.second_index), take(fields, 4, w.lhs), take(fields, 5, w.rhs), take(fields, 6, w.text);
  }
  take(state, 5, v.obligations), take(state, 6, v.smt2), take(state, 7, v.notes);
  return v;
}

void add_solver(py::module_& m) {
  using solver::Verdict;
  py::class_<Verdict>(
      m, "Verdict",
      "The answer of prove(): proved, refuted with a witness, or unknown. True only when proved.")
      .def_property_readonly("outcome", [](const Verdict& v) { return solver::to_string(v.outcome); })
      .def_readonly("property", &Verdict::property)
      .def_readonly("method", &Verdict::method, "What decided it: 'normal form', 'stride chain', 'Z3', ...")
      .def_readonly("certificate", &Verdict::certificate,
                    "When proved: SMT-LIB 2 that recheck() and `inlay recheck` read.")
      .def_readonly("obligations", &Verdict::obligations, "When unknown: what would settle it.")
      .def_readonly("smt2", &Verdict::smt2,
                    "When unknown: the open question as SMT-LIB 2, where it can be said so.")
      .def_readonly("notes", &Verdict::notes)
      .def_property_readonly(
          "witness", &witness_of,
          "When refuted: a dict of symbols, index, second_index, coordinate, lhs, rhs and text.")
      .def(py::pickle(&state_of, &verdict_of))
      .def("__bool__", [](const Verdict& v) { return static_cast<bool>(v); })
      .def("__str__", [](const Verdict& v) { return v.summary(); })
      .def("__repr__", [](const Verdict& v) { return "<Verdict " + v.summary() + ">"; });
  m.def(
      "prove",
      [](const std::string& property, const py::args& arguments, const py::kwargs& k) {
        static const std::set<std::string> known{"where",         "domain", "by_mode", "access", "arch",
                                                 "element_bytes", "lines",  "recheck", "limit",  "steps"};
        for (const auto& [name, value] : k)
          if (known.count(py::str(name).cast<std::string>()) == 0)
            throw py::type_error("prove() has no argument '" + py::str(name).cast<std::string>() + "'");
        const auto get = [&](const char* name, auto otherwise) {
          return k.contains(name) ? k[name].cast<decltype(otherwise)>() : otherwise;
        };
        const auto texts = [&](const char* name) {
          if (!k.contains(name)) return std::vector<std::string>{};
          if (py::isinstance<py::str>(k[name])) return std::vector<std::string>{k[name].cast<std::string>()};
          return k[name].cast<std::vector<std::string>>();
        };
        const auto number = [&](const char* name) {
          return k.contains(name) ? std::optional(k[name].cast<std::uint64_t>()) : std::nullopt;
        };
        return prove(property, arguments, texts("where"), texts("domain"), get("by_mode", false),
                     get("access", std::string()), get("arch", std::string(machine::usual_target)),
                     get("element_bytes", 1U), get("lines", 0U), get("recheck", solver::recheck_by_default()),
                     number("limit"), number("steps"));
      },
      "prove(property, /, *arguments, where=[], domain=[], by_mode=False, access='', arch='MI300X', "
      "element_bytes=1, lines=0, "
      "recheck=False, limit=None, steps=None)\n--\n\nIs a statement about layouts true for all values of "
      "their symbols? "
      "Properties and arguments are those of `inlay prove`: equal, disjoint, inverse A B; covers, within, "
      "aligned A N; "
      "injective, bijective, conflict-free, coalesced A. Returns a Verdict; a question without a meaning is "
      "a ValueError.");
  m.def(
      "recheck",
      [](const std::string& certificate) {
        const solver::Recheck r = solver::recheck(certificate);
        py::dict out;
        out["accepted"] = r.accepted;
        out["answers"] = r.answers;
        out["reason"] = r.reason;
        return out;
      },
      "recheck(certificate, /)\n--\n\nChecks a certificate without the prover: a dict of accepted, answers "
      "and reason.");
}
#endif

} // namespace

#ifdef INLAY_PYTHON_TOOLS
void add_tools(py::module_& m); // tools.cpp
#endif

PYBIND11_MODULE(_inlay, m) {
  m.doc() = "Layout algebra: layouts as values, and every operation on them. Functions take layouts, texts "
            "of the algebra "
            "('(4,8):(8,1)'), integers, None for _, and tuples of these.";

  static py::exception<LayoutError> layout_error(m, "LayoutError", PyExc_ValueError);
  layout_error.doc() = "A request without a meaning or an answer. Fields: code, operation, summary, "
                       "operands, where, numbers, hint.";
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const LayoutError& e) {
      raise(layout_error, e);
    }
  });

  py::class_<Layout>(m, "Layout", "A function from coordinates to offsets, written shape:stride.")
      .def(py::init([](const std::string& text) { return parse_layout(text); }), py::arg("text"))
      .def(py::init([](const py::object& shape) { return Layout::col_major(to_value(shape).as_tuple()); }),
           py::arg("shape"))
      .def(py::init([](const py::object& shape, const py::object& stride) {
             return Layout::from(to_value(shape).as_tuple(), to_value(stride).as_tuple());
           }),
           py::arg("shape"), py::arg("stride"))
      .def_property_readonly("shape", [](const Layout& l) { return to_python(l.shape()); })
      .def_property_readonly("stride", stride_of)
      .def_property_readonly("size", [](const Layout& l) { return l.size().value(); })
      .def_property_readonly("cosize", [](const Layout& l) { return l.cosize().value(); })
      .def_property_readonly("rank", &Layout::rank)
      .def_property_readonly("depth", &Layout::depth)
      .def("__len__", &Layout::rank)
      .def("__getitem__",
           [](const Layout& l, std::size_t i) {
             if (i >= l.rank()) // also how Python's loops find the end
               throw py::index_error("mode " + std::to_string(i) + " of " + to_string(l) + ", which has " +
                                     std::to_string(l.rank()) + "; an offset is layout(index)");
             return l.mode(i);
           })
      .def("__call__", &at<Layout>, "The value at an index or a coordinate: L(5), L((1,0), 2).")
      .def("values", &values_of<Layout>, "All values in the order of the index, as a numpy array.")
      .def("_repr_svg_", &svg_of<Layout>)
      .def("__str__", [](const Layout& l) { return to_string(l); })
      .def("__repr__", [](const Layout& l) { return "Layout('" + to_string(l) + "')"; })
      .def("__hash__", [](const Layout& l) { return stable_hash(l); })
      .def(by_text<Layout>(parse_layout))
      .def(
          "__eq__", [](const Layout& a, const Layout& b) { return a == b; }, py::is_operator());

  py::class_<Swizzle>(m, "Swizzle", "Exchanges elements by XOR-ing one field of address bits onto another.")
      .def(py::init<int, int, int>(), py::arg("bits"), py::arg("base"), py::arg("shift"))
      .def_property_readonly("bits", &Swizzle::bits)
      .def_property_readonly("base", &Swizzle::base)
      .def_property_readonly("shift", &Swizzle::shift)
      .def(by_text<Swizzle>(parse_swizzle))
      .def("__hash__",
           [](const Swizzle& s) { return py::hash(py::make_tuple(s.bits(), s.base(), s.shift())); })
      .def("__call__", [](const Swizzle& s, std::int64_t x) { return s(Int(x)).value(); })
      .def("__str__", [](const Swizzle& s) { return to_string(s); })
      .def("__repr__",
           [](const Swizzle& s) {
             return "Swizzle(" + std::to_string(s.bits()) + ", " + std::to_string(s.base()) + ", " +
                    std::to_string(s.shift()) + ")";
           })
      .def(
          "__eq__", [](const Swizzle& a, const Swizzle& b) { return a == b; }, py::is_operator());

  py::class_<CoordSwizzle>(m, "CoordSwizzle", "XORs a field of one coordinate onto another.")
      .def(py::init([](const std::string& text) { return parse_coord_swizzle(text); }), py::arg("text"))
      .def("__call__",
           [](const CoordSwizzle& s, const py::object& coordinate) {
             return to_python(s(to_value(coordinate).as_tuple()));
           })
      .def("__str__", [](const CoordSwizzle& s) { return to_string(s); })
      .def(by_text<CoordSwizzle>(parse_coord_swizzle))
      .def("__hash__", [](const CoordSwizzle& s) { return py::hash(py::str(to_string(s))); })
      .def("__repr__", [](const CoordSwizzle& s) { return "CoordSwizzle('" + to_string(s) + "')"; })
      .def(
          "__eq__", [](const CoordSwizzle& a, const CoordSwizzle& b) { return a == b; }, py::is_operator());

  py::class_<ComposedLayout>(m, "ComposedLayout", "outer o offset o inner: the layout of swizzled memory.")
      .def(py::init([](const std::string& text) { return parse_composed_layout(text); }), py::arg("text"))
      .def(py::init([](const Swizzle& outer, std::int64_t offset, const Layout& inner) {
             return ComposedLayout(outer, Int(offset), inner);
           }),
           py::arg("outer"), py::arg("offset"), py::arg("inner"))
      .def_property_readonly("inner", &ComposedLayout::inner)
      .def_property_readonly("offset", [](const ComposedLayout& l) { return l.offset().value(); })
      .def_property_readonly("shape", [](const ComposedLayout& l) { return to_python(l.shape()); })
      .def_property_readonly("size", [](const ComposedLayout& l) { return l.size().value(); })
      .def_property_readonly("rank", &ComposedLayout::rank)
      .def("__call__", &at<ComposedLayout>)
      .def(by_text<ComposedLayout>(parse_composed_layout))
      .def("__hash__", [](const ComposedLayout& l) { return py::hash(py::str(to_string(l))); })
      .def("values", &values_of<ComposedLayout>)
      .def("_repr_svg_", &svg_of<ComposedLayout>)
      .def("__str__", [](const ComposedLayout& l) { return to_string(l); })
      .def("__repr__", [](const ComposedLayout& l) { return "ComposedLayout('" + to_string(l) + "')"; })
      .def(
          "__eq__", [](const ComposedLayout& a, const ComposedLayout& b) { return a == b; },
          py::is_operator());

  py::options options; // *args says nothing; inspect.signature reads the first line of the texts below
  options.disable_function_signatures();
  m.def(
      "evaluate", [](const std::string& text) { return to_python(evaluate_expression(text)); },
      "evaluate(text, /)\n--\n\nAn expression of the algebra: evaluate('composition((6,2):(8,2), 3:2)').");
  for (const NamedOperation& operation : named_operations()) {
    if (only_for_vectors(operation.name)) continue;
    m.def(
        operation.name,
        [&operation](const py::args& arguments) {
          List values;
          for (const py::handle a : arguments) values.push_back(to_value(a));
          return to_python(apply_operation(operation.name, values));
        },
        (std::string(operation.name) + text_signature(operation.signature) + "\n--\n\n" + operation.name +
         operation.signature + ", as in `inlay eval`; guide/2-algebra.md explains it.")
            .c_str());
  }
#ifdef INLAY_PYTHON_SOLVER
  add_solver(m);
#endif
#ifdef INLAY_PYTHON_TOOLS
  add_tools(m);
#endif
}
