// Lines of Python as the library keeps lines of C++.
#include "program.h"

#include <bit>
#include <map>

namespace inlay::python {
namespace {

// What a std::source_location of GCC and Clang points to: __builtin_source_location is defined by these four members.
struct Line {
  const char* file;
  const char* function;
  unsigned line, column;
};
static_assert(sizeof(std::source_location) == sizeof(const Line*));

std::string text_of(PyObject* owned) {
  const auto text = py::reinterpret_steal<py::object>(owned);
  if (!text) throw py::error_already_set();
  return text.cast<std::string>();
}

std::string filename_of(PyFrameObject* frame) {
  const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  return text_of(PyObject_GetAttrString(code.ptr(), "co_filename"));
}

const std::string& package() {
  static const std::string folder = [] {
    const std::string file = py::module_::import("inlay").attr("__file__").cast<std::string>();
    return file.substr(0, file.rfind('/') + 1);
  }();
  return folder;
}

} // namespace

std::source_location location(const std::string& file, unsigned line) {
  static std::map<std::pair<std::string, unsigned>, Line>
      known; // for good: programs and artifacts point here
  const auto at = known.try_emplace({file, line}).first;
  at->second = {at->first.first.c_str(), "", line, 0};
  const auto where = std::bit_cast<std::source_location>(static_cast<const Line*>(&at->second));
  if (where.file_name() != at->second.file || where.line() != line || where.column() != 0)
    throw std::logic_error("std::source_location is not what this compiler was thought to make of it");
  return where;
}

std::source_location here() {
  const py::gil_scoped_acquire lock;
  auto frame = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame) {
    auto* const f = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const std::string file = filename_of(f);
    if (!file.starts_with(package())) return location(file, static_cast<unsigned>(PyFrame_GetLineNumber(f)));
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return location("<python>", 0);
}

} // namespace inlay::python
