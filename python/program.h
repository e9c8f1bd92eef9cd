// What the parts of the Program interface in Python share: values that know their program, the line of Python that calls, and errors
// that name it.
#pragma once

#include <inlay/kernels/build.h>

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace inlay::python {

namespace py = pybind11;
using codegen::Expr, codegen::Fragment, codegen::Index, codegen::Tensor, codegen::View;

/// A program and what Python holds of it. Symbols, expressions, tensors and fragments point into it, so each of them keeps it.
struct Held {
  kernels::Source source;
  int open = 0;        ///< bodies of loops, branches and roles that run now
  bool broken = false; ///< such a body ended with an error
};
using Owner = std::shared_ptr<Held>;

/// A value of a program; a number belongs to none.
template <class T>
struct Of {
  Owner program;
  T value;
};
using PySym = Of<Sym>;
using PyExpr = Of<Expr>;
using PyIndex = Of<Index>;
using PyTensor = Of<Tensor>;
using PyFragment = Of<Fragment>;
using PyView = Of<View>;
using PyPlace = Of<SymLayout>;

/// The line of Python that called: of the first frame outside of the package.
[[nodiscard]] std::source_location here();
/// A line of some file, as the library keeps lines.
[[nodiscard]] std::source_location location(const std::string& file, unsigned line);

/// The memory of a contiguous array.
[[nodiscard]] inline std::span<std::byte> memory_of(const py::buffer& array) {
  const py::buffer_info info = array.request();
  return {static_cast<std::byte*>(info.ptr), static_cast<std::size_t>(info.size * info.itemsize)};
}

/// What the library refuses, with the line of Python that it is about. Python: inlay.ProgramError.
struct ProgramError : std::runtime_error {
  ProgramError(const std::string& message, const std::source_location& where, bool named = false)
      : std::runtime_error(named ? message
                                 : message + "\n  line   " + where.file_name() + ":" +
                                       std::to_string(where.line())),
        file(where.file_name()), line(where.line()) {}
  std::string file;
  unsigned line;
};

/// f(), its errors with the line that called.
template <class F>
auto at_call(F&& f) {
  try {
    return f();
  } catch (const py::error_already_set&) { // of a body that is Python
    throw;
  } catch (const py::builtin_exception&) {
    throw;
  } catch (const ProgramError&) {
    throw;
  } catch (const std::exception& e) {
    throw ProgramError(e.what(), here());
  }
}
template <class R, class... A>
auto located(R (*f)(A...)) {
  return [f](A... a) -> R { return at_call([&]() -> R { return f(std::forward<A>(a)...); }); };
}

/// The value, of that program or of none. Errors: std::invalid_argument.
template <class T>
const T& of(const Owner& program, const Of<T>& x) {
  if (x.program && x.program != program)
    throw std::invalid_argument("a value of the program " + x.program->source.program.name() +
                                " does not belong to " + program->source.program.name());
  return x.value;
}
template <class T>
std::vector<T> of(const Owner& program, const std::vector<Of<T>>& list) {
  std::vector<T> out;
  for (const Of<T>& x : list) out.push_back(of(program, x));
  return out;
}

/// The program of two operands. Errors: std::invalid_argument when they are of two.
[[nodiscard]] Owner common(const Owner& a, const Owner& b);
/// An expression of that program: an expression, a formula, a number; nothing for other objects.
[[nodiscard]] std::optional<Expr> expression(const Owner& program, const py::handle& object);

void add_expressions(py::module_& m); // expressions.cpp
void add_program(py::module_& m);     // program.cpp
void add_built(py::module_& m);       // built.cpp

} // namespace inlay::python
