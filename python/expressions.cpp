// Sizes, formulas and expressions of a Program, with Python's operators.
#include "program.h"

#include <inlay/algebra/print.h>
#include <inlay/codegen/functions.h>
#include <inlay/codegen/small_numbers.h>
#include <inlay/kernels/philox.h>

namespace inlay::python {

Owner common(const Owner& a, const Owner& b) {
  if (a && b && a != b)
    throw std::invalid_argument("values of two programs, " + a->source.program.name() + " and " +
                                b->source.program.name() + ", do not meet");
  return a ? a : b;
}

std::optional<Expr> expression(const Owner& program, const py::handle& object) {
  if (py::isinstance<PyExpr>(object)) return of(program, object.cast<const PyExpr&>());
  codegen::Program& k = program->source.program;
  if (py::isinstance<PySym>(object)) return k.number(of(program, object.cast<const PySym&>()));
  if (py::isinstance<py::bool_>(object) || !(PyFloat_Check(object.ptr()) || PyIndex_Check(object.ptr())))
    return std::nullopt;
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1.0 && PyErr_Occurred()) throw py::error_already_set();
  return k.constant(value);
}

namespace {

py::object not_implemented() { return py::reinterpret_borrow<py::object>(Py_NotImplemented); }

/// An operand of a function, of which one at least is an expression.
Expr operand(const Owner& program, const char* function, const py::handle& object) {
  if (const auto e = expression(program, object)) return *e;
  throw py::type_error(std::string(function) + " takes expressions and numbers, not " +
                       py::repr(object).cast<std::string>());
}

using Binary = Expr (*)(Expr, Expr);
template <Binary f, bool reversed>
py::object binary(const PyExpr& a, const py::object& other) {
  return at_call([&]() -> py::object {
    const std::optional<Expr> b = expression(a.program, other);
    if (!b) return not_implemented();
    return py::cast(PyExpr{a.program, reversed ? f(*b, a.value) : f(a.value, *b)});
  });
}

Expr sum_of(Expr a, Expr b) { return a + b; }
Expr difference(Expr a, Expr b) { return a - b; }
Expr product(Expr a, Expr b) { return a * b; }
Expr quotient(Expr a, Expr b) { return a / b; }
Expr both(Expr a, Expr b) { return a & b; }
Expr either(Expr a, Expr b) { return a | b; }
Expr exclusive(Expr a, Expr b) { return a ^ b; }
Expr shifted_up(Expr a, Expr b) { return a << b; }
Expr shifted_down(Expr a, Expr b) { return a >> b; }

/// A function of two integers, of which the second one may be a number of Python.
template <Binary f>
void add_integers(py::module_& m, const char* name, const char* text) {
  m.def(
      name,
      [name](const PyExpr& a, const py::object& b) {
        return at_call([&] { return PyExpr{a.program, f(a.value, operand(a.program, name, b))}; });
      },
      py::arg("a"), py::arg("b"), text);
}

// f of an element of few bits.
template <codegen::Expr (*f)(codegen::Element, codegen::Expr)>
PyExpr small(const std::string& type, const PyExpr& x) {
  return at_call([&] {
    return PyExpr{x.program, f(codegen::parse_element(type, x.program->source.program.target()), x.value)};
  });
}

template <Expr (*f)(Expr)>
PyExpr unary(const PyExpr& a) {
  return at_call([&] { return PyExpr{a.program, f(a.value)}; });
}

using SymBinary = Sym (*)(Sym, Sym);
template <SymBinary f>
PySym formula(const PySym& a, const PySym& b) {
  return at_call([&] { return PySym{common(a.program, b.program), f(a.value, b.value)}; });
}

template <SymBinary f>
PySym reversed(const PySym& a, const PySym& b) {
  return formula<f>(b, a);
}
Sym plus(Sym a, Sym b) { return a + b; }
Sym minus(Sym a, Sym b) { return a - b; }
Sym times(Sym a, Sym b) { return a * b; }

/// Of two formulas, or of expressions.
template <SymBinary of_formulas, Binary of_expressions>
py::object least_or_most(const char* name, const py::object& a, const py::object& b) {
  return at_call([&]() -> py::object {
    const auto* x = py::isinstance<PyExpr>(a)   ? a.cast<const PyExpr*>()
                    : py::isinstance<PyExpr>(b) ? b.cast<const PyExpr*>()
                                                : nullptr;
    if (x == nullptr) return py::cast(formula<of_formulas>(a.cast<PySym>(), b.cast<PySym>()));
    return py::cast(
        PyExpr{x->program, of_expressions(operand(x->program, name, a), operand(x->program, name, b))});
  });
}

std::string text_of(const PyExpr& e) {
  return codegen::to_string(e.value, [&](int id) { return e.program->source.program.tensor_name(id); });
}

std::string text_of(const PySym& a) { return to_string(a.value); }

template <class T>
bool unordered(const T& a, const py::object& b) {
  const std::string pair = text_of(a) + " and " + std::string(py::str(b));
  if constexpr (std::is_same_v<T, PySym>)
    throw py::type_error("which of " + pair +
                         " is less depends on the launch\n  hint   k.if_less(a, b, ...) branches "
                         "there; inside(i, n, x, y) chooses a value; min(a, b), max(a, b)");
  else
    throw py::type_error("which of " + pair +
                         " is less is known on the device\n  hint   select(a, b, yes, no) is a >= b "
                         "? yes : no; min(a, b), max(a, b)");
}
template <class T>
T no_power(const T& a, const py::object&) {
  throw py::type_error("no power of " + text_of(a) + "\n  hint   x * x" +
                       (std::is_same_v<T, PyExpr> ? ", sqrt(x), or exp2(p * log2(x)) of inlay.codegen" : ""));
}

} // namespace

void add_expressions(py::module_& m) {
  py::class_<PySym>(
      m, "Sym",
      "An integer that depends on the sizes of a launch and on the workgroup: a polynomial, with // and % as "
      "floor division, and min and max. Equal values are equal polynomials.")
      .def(py::init([](std::int64_t value) {
             return PySym{nullptr, Sym(value)};
           }),
           py::arg("value"))
      .def("__add__", &formula<plus>, py::is_operator())
      .def("__radd__", &reversed<plus>, py::is_operator())
      .def("__sub__", &formula<minus>, py::is_operator())
      .def("__rsub__", &reversed<minus>, py::is_operator())
      .def("__mul__", &formula<times>, py::is_operator())
      .def("__rmul__", &reversed<times>, py::is_operator())
      .def("__floordiv__", &formula<floor_div>, py::is_operator())
      .def("__rfloordiv__", &reversed<floor_div>, py::is_operator())
      .def("__mod__", &formula<floor_mod>, py::is_operator())
      .def("__rmod__", &reversed<floor_mod>, py::is_operator())
      .def("__neg__",
           [](const PySym& a) {
             return PySym{a.program, -a.value};
           })
      .def(
          "__eq__", [](const PySym& a, const PySym& b) { return a.value == b.value; }, py::is_operator())
      .def("__hash__", [](const PySym& a) { return stable_hash(a.value); })
      .def("__lt__", &unordered<PySym>)
      .def("__le__", &unordered<PySym>)
      .def("__gt__", &unordered<PySym>)
      .def("__ge__", &unordered<PySym>)
      .def("__pow__", &no_power<PySym>)
      .def("__bool__",
           [](const PySym& a) -> bool {
             if (const auto c = a.value.constant()) return !(*c == Int(0));
             throw py::type_error("whether " + to_string(a.value) +
                                  " is 0 depends on the launch\n  hint   k.if_less(a, b, ...) branches "
                                  "there; inside(i, n, x, y) chooses a value");
           })
      .def("__str__", [](const PySym& a) { return to_string(a.value); })
      .def("__repr__", [](const PySym& a) { return "<Sym " + to_string(a.value) + ">"; });
  py::implicitly_convertible<py::int_, PySym>();

  py::class_<PyIndex>(
      m, "Index", "An index of a tensor in a specification: a formula, or an entry of a table (Program.at).")
      .def(py::init([](const PySym& at) {
             return PyIndex{at.program, Index(at.value)};
           }),
           py::arg("at"));
  py::implicitly_convertible<PySym, PyIndex>();
  py::implicitly_convertible<py::int_, PyIndex>();

  py::class_<PyExpr>(
      m, "Expr",
      "A real number as an expression over elements and indices: what a specification says, and what a map "
      "computes. + - * / with expressions, formulas and numbers. Of integers modulo 2^32 also & | ^ ~ << >>.")
      .def("__add__", &binary<sum_of, false>, py::is_operator())
      .def("__radd__", &binary<sum_of, true>, py::is_operator())
      .def("__sub__", &binary<difference, false>, py::is_operator())
      .def("__rsub__", &binary<difference, true>, py::is_operator())
      .def("__mul__", &binary<product, false>, py::is_operator())
      .def("__rmul__", &binary<product, true>, py::is_operator())
      .def("__truediv__", &binary<quotient, false>, py::is_operator())
      .def("__rtruediv__", &binary<quotient, true>, py::is_operator())
      .def("__and__", &binary<both, false>, py::is_operator())
      .def("__rand__", &binary<both, true>, py::is_operator())
      .def("__or__", &binary<either, false>, py::is_operator())
      .def("__ror__", &binary<either, true>, py::is_operator())
      .def("__xor__", &binary<exclusive, false>, py::is_operator())
      .def("__rxor__", &binary<exclusive, true>, py::is_operator())
      .def("__lshift__", &binary<shifted_up, false>, py::is_operator())
      .def("__rlshift__", &binary<shifted_up, true>, py::is_operator())
      .def("__rshift__", &binary<shifted_down, false>, py::is_operator())
      .def("__rrshift__", &binary<shifted_down, true>, py::is_operator())
      .def("__invert__", [](const PyExpr& a) { return at_call([&] {
                                                 return PyExpr{a.program, ~a.value};
                                               }); })
      .def_property_readonly(
          "is_integer", [](const PyExpr& a) { return codegen::is_integer(a.value); },
          "An integer modulo 2^32, and no real number.")
      .def("__neg__",
           [](const PyExpr& a) {
             return PyExpr{a.program, a.value * -1.0};
           })
      .def("__abs__", &unary<codegen::abs>)
      .def("__floor__", &unary<codegen::floor>)
      .def("__lt__", &unordered<PyExpr>)
      .def("__le__", &unordered<PyExpr>)
      .def("__gt__", &unordered<PyExpr>)
      .def("__ge__", &unordered<PyExpr>)
      .def("__pow__", &no_power<PyExpr>)
      .def("__float__",
           [](const PyExpr& a) -> double {
             throw py::type_error(text_of(a) +
                                  " is no number before the launch\n  hint   exp, exp2, log, log2, sqrt, "
                                  "rsqrt, rcp of inlay.codegen, in the place of math's");
           })
      .def("__bool__",
           [](const PyExpr& e) -> bool {
             throw py::type_error("whether " + text_of(e) +
                                  " holds is known on the device\n  hint   select(a, b, yes, no) is a >= b "
                                  "? yes : no");
           })
      .def("__str__", [](const PyExpr& e) { return text_of(e); })
      .def("__repr__", [](const PyExpr& e) { return "<Expr " + text_of(e) + ">"; });

  m.def("exp", &unary<codegen::exp>, py::arg("x"), "e^x");
  m.def("exp2", &unary<codegen::exp2>, py::arg("x"), "2^x");
  m.def("log", &unary<codegen::log>, py::arg("x"), "The natural logarithm.");
  m.def("log2", &unary<codegen::log2>, py::arg("x"), "The logarithm to base 2.");
  m.def("rcp", &unary<codegen::rcp>, py::arg("x"), "1 / x");
  m.def("erf", &unary<codegen::erf>, py::arg("x"), "The error function, within 6e-7.");
  m.def("floor", &unary<codegen::floor>, py::arg("x"), "The greatest whole number that is not above x.");
  m.def("gelu", &unary<codegen::gelu>, py::arg("x"), "x / 2 * (1 + erf(x / sqrt(2)))");
  m.def("gelu_tanh", &unary<codegen::gelu_tanh>, py::arg("x"),
        "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))");
  m.def("mish", &unary<codegen::mish>, py::arg("x"), "x * tanh(softplus(x))");
  m.def("relu", &unary<codegen::relu>, py::arg("x"), "max(x, 0)");
  m.def("sigmoid", &unary<codegen::sigmoid>, py::arg("x"), "1 / (1 + e^-x)");
  m.def("silu", &unary<codegen::silu>, py::arg("x"), "x / (1 + e^-x)");
  m.def("softplus", &unary<codegen::softplus>, py::arg("x"), "log(1 + e^x), without overflow.");
  m.def("tanh", &unary<codegen::tanh>, py::arg("x"), "The hyperbolic tangent, within 3e-7.");
  m.def("sqrt", &unary<codegen::sqrt>, py::arg("x"), "The square root.");
  m.def("rsqrt", &unary<codegen::rsqrt>, py::arg("x"), "1 / sqrt(x)");
  m.def(
      "max",
      [](const py::object& a, const py::object& b) {
        return least_or_most<inlay::max, codegen::max>("max", a, b);
      },
      py::arg("a"), py::arg("b"), "The larger of two formulas, or of two expressions.");
  m.def(
      "min",
      [](const py::object& a, const py::object& b) {
        return least_or_most<inlay::min, codegen::min>("min", a, b);
      },
      py::arg("a"), py::arg("b"), "The smaller of two formulas, or of two expressions.");
  m.def("floor_div", &formula<floor_div>, py::arg("a"), py::arg("b"), "a // b, rounded to minus infinity.");
  m.def("floor_mod", &formula<floor_mod>, py::arg("a"), py::arg("b"), "a - b * (a // b)");
  m.def("ceil_div", &formula<ceil_div>, py::arg("a"), py::arg("b"), "(a + b - 1) // b");
  m.def(
      "inside",
      [](const PySym& index, const PySym& bound, const PyExpr& x, double beyond) {
        return at_call([&] {
          return PyExpr{x.program,
                        codegen::inside(of(x.program, index), of(x.program, bound), x.value, beyond)};
        });
      },
      py::arg("index"), py::arg("bound"), py::arg("x"), py::arg("beyond"),
      "index < bound ? x : beyond. How the empty element of a fold takes the place of what is outside.");
  m.def("nearest", &unary<codegen::nearest>, py::arg("x"), "The nearest whole number, ties to the even one.");
  m.def("integer", &unary<codegen::integer>, py::arg("x"),
        "Of an element of i32 or i8, or a formula: the same integer modulo 2^32. Of an element of i64 the "
        "nearest "
        "of 32 bits: of 2**32 + 3 it is 2**31 - 1.");
  m.def("truncated", &unary<codegen::truncated>, py::arg("x"),
        "A number toward zero as an integer; saturates, 0 for NaN.");
  m.def("float_bits", &unary<codegen::float_bits>, py::arg("x"), "The code of a number as f32.");
  m.def("from_bits", &unary<codegen::from_bits>, py::arg("x"), "The f32 with that code.");
  m.def("to_number", &unary<codegen::to_number>, py::arg("x"), "An integer as a number, with its sign.");
  m.def("to_number_unsigned", &unary<codegen::to_number_unsigned>, py::arg("x"),
        "An integer as a number from 0 to 2^32 - 1.");
  m.def("popcount", &unary<codegen::popcount>, py::arg("x"), "How many bits of an integer are set.");
  m.def("leading_zeros", &unary<codegen::leading_zeros>, py::arg("x"),
        "How many bits of an integer are 0 above its highest one; 32 of 0.");
  m.def("trailing_zeros", &unary<codegen::trailing_zeros>, py::arg("x"),
        "How many bits of an integer are 0 below its lowest one; 32 of 0.");
  m.def(
      "from_code",
      [](const std::string& type, const PyExpr& code) { return small<codegen::from_code>(type, code); },
      py::arg("type"), py::arg("code"),
      "The number whose code of type 'e2m1', 'e2m3', 'e3m2' or 'i4' the lowest bits of an integer are.");
  m.def(
      "to_code", [](const std::string& type, const PyExpr& x) { return small<codegen::to_code>(type, x); },
      py::arg("type"), py::arg("x"),
      "The code of type 'e2m1', 'e2m3', 'e3m2' or 'i4' of the nearest number, ties to the even code; past "
      "the ends the last one.");
  add_integers<codegen::mul_hi>(m, "mul_hi", "Bits 32 to 63 of the product of two integers, unsigned.");
  add_integers<codegen::shift_right_signed>(m, "shift_right_signed", "a >> b with copies of the sign.");
  add_integers<codegen::less_unsigned>(m, "less_unsigned", "a < b, 1 or 0.");
  add_integers<codegen::less_signed>(m, "less_signed", "a < b with signs, 1 or 0.");
  add_integers<codegen::equal>(m, "equal", "a = b, 1 or 0.");
  m.def(
      "philox4x32",
      [](const std::vector<PyExpr>& counter, const std::vector<PyExpr>& key) {
        return at_call([&] {
          if (counter.size() != 4 || key.size() != 2)
            throw std::invalid_argument("philox4x32: a counter of 4 integers and a key of 2");
          const Owner& program = counter[0].program;
          std::array<Expr, 4> c{};
          std::array<Expr, 2> k{};
          for (std::size_t i = 0; i < 4; ++i) c[i] = of(program, counter[i]);
          for (std::size_t i = 0; i < 2; ++i) k[i] = of(program, key[i]);
          std::vector<PyExpr> words;
          for (const Expr& word : kernels::philox4x32(c, k)) words.push_back({program, word});
          return words;
        });
      },
      py::arg("counter"), py::arg("key"),
      "The four random words of a counter of four integers and a key of two, by Philox4x32-10.");
  m.def(
      "choose",
      [](const PyExpr& condition, const py::object& yes, const py::object& no) {
        return at_call([&] {
          const auto of_it = [&](const py::object& x) { return operand(condition.program, "choose", x); };
          return PyExpr{condition.program, codegen::choose(condition.value, of_it(yes), of_it(no))};
        });
      },
      py::arg("condition"), py::arg("yes"), py::arg("no"), "condition != 0 ? yes : no, of an integer.");
  m.def(
      "select",
      [](const PyExpr& a, const py::object& b, const py::object& yes, const py::object& no) {
        return at_call([&] {
          const auto of_a = [&](const py::object& x) { return operand(a.program, "select", x); };
          return PyExpr{a.program, codegen::select(a.value, of_a(b), of_a(yes), of_a(no))};
        });
      },
      py::arg("a"), py::arg("b"), py::arg("yes"), py::arg("no"), "a >= b ? yes : no");
}

} // namespace inlay::python
