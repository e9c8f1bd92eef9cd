// The rest of the extension: prebuilt kernels on the emulator with the caller's data.
#include "program.h"

#include <inlay/kernels/artifact.h>
#include <inlay/kernels/launch.h>
#include <inlay/machine/target.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

namespace py = pybind11;
using namespace inlay;

namespace {

kernels::Bytes bytes_of(const py::bytes& data) {
  char* begin = nullptr;
  py::ssize_t size = 0;
  if (PyBytes_AsStringAndSize(data.ptr(), &begin, &size) != 0) throw py::error_already_set();
  kernels::Bytes out(static_cast<std::size_t>(size));
  std::copy(begin, begin + size, reinterpret_cast<char*>(out.data()));
  return out;
}

// What was built for these flags in this process: building proves, compiles and links, which costs more than most launches.
std::shared_ptr<const kernels::Artifact> artifact_of(const kernels::Kernel& kernel,
                                                     const kernels::Flags& flags) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, kernels::Flags>, std::shared_ptr<const kernels::Artifact>> known;
  const std::pair key{std::string(kernel.name()), flags};
  {
    const std::lock_guard lock(mutex);
    if (const auto at = known.find(key); at != known.end()) return at->second;
  }
  auto built = std::make_shared<const kernels::Artifact>(kernel.build(flags, {}));
  const std::lock_guard lock(mutex);
  return known.emplace(key, std::move(built)).first->second;
}

// Buffers of a problem, those that were given in the place of the random ones; what the outputs hold after one launch.
py::dict run_kernel(const std::string& name, const kernels::Flags& flags, const py::dict& buffers,
                    const std::string& checks, bool poisoned) {
  const auto kernel = kernels::find_kernel(name);
  kernels::Problem problem = kernel->problem(flags, 1);
  std::string known;
  for (const auto& b : problem.buffers) known += (known.empty() ? "" : ", ") + b.name;
  for (const auto& [key, value] : buffers) {
    const std::string wanted = py::str(key).cast<std::string>();
    kernels::Problem::Buffer* buffer = nullptr;
    for (auto& b : problem.buffers)
      if (b.name == wanted) buffer = &b;
    if (!buffer) throw std::invalid_argument(name + " has no buffer '" + wanted + "'\n  hint   " + known);
    kernels::Bytes data = bytes_of(py::reinterpret_borrow<py::bytes>(value));
    if (data.size() != buffer->data.size())
      throw std::invalid_argument(name + ": buffer '" + wanted + "' has " + std::to_string(data.size()) +
                                  " bytes, and " + std::to_string(buffer->data.size()) + " are wanted for " +
                                  problem.text);
    buffer->data = std::move(data);
  }
  if (!poisoned)
    for (const auto& b : problem.buffers)
      if (!b.output && !buffers.contains(b.name.c_str()))
        throw std::invalid_argument(name + ": input '" + b.name +
                                    "' is missing\n  hint   inputs and outputs are " + known);
  std::vector<kernels::Bytes> after;
  std::vector<bool> output;
  for (const auto& b : problem.buffers) output.push_back(b.output);
  {
    const py::gil_scoped_release release;
    const auto built = artifact_of(*kernel, flags);
    const kernels::Artifact& artifact = *built;
    runtime::EmulatorOptions options;
    options.checks = runtime::Checks::parse(checks);
    const auto device = kernels::open_device("emulator", artifact.arch, options);
    after = kernels::run(*device, artifact, problem);
  }
  py::dict out;
  for (std::size_t i = 0; i < after.size(); ++i) // of several devices one after the other
    if (const std::size_t of = i % output.size(); output[of])
      out[py::str(problem.buffers[of].name +
                  (i < output.size() ? "" : " of device " + std::to_string(i / output.size())))] =
          py::bytes(reinterpret_cast<const char*>(after[i].data()), after[i].size());
  return out;
}

py::list kernel_names() {
  py::list out;
  for (const auto& kernel : kernels::registry()) out.append(kernel->name());
  return out;
}

py::dict kernel_options(const std::string& name) {
  py::dict out;
  for (const kernels::FlagHelp& f : kernels::find_kernel(name)->flags())
    out[py::str(f.name)] = py::make_tuple(f.fallback, f.help);
  return out;
}

// name, bytes, whether it is an output: of the buffers for these options, in the order of the kernel's arguments.
py::list kernel_buffers(const std::string& name, const kernels::Flags& flags) {
  py::list out;
  for (const auto& b : kernels::find_kernel(name)->problem(flags, 1).buffers)
    out.append(py::make_tuple(b.name, b.data.size(), b.output));
  return out;
}

} // namespace

namespace {
// The Program interface, as the module inlay.codegen, whose functions say their arguments and types.
void add_codegen(py::module_& m) {
  static py::exception<python::ProgramError> error(m, "ProgramError", PyExc_ValueError);
  error.doc() = "A program that is refused: a claim that does not hold, with its counterexample, or an "
                "operation that is none. Fields: "
                "file, line, of the program.";
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const python::ProgramError& e) {
      py::object object = static_cast<py::handle&>(error)(std::string(e.what()));
      object.attr("file") = e.file;
      object.attr("line") = e.line;
      PyErr_SetObject(error.ptr(), object.ptr());
    }
  });
  py::options options;
  options.enable_function_signatures();
  python::add_expressions(m);
  python::add_program(m);
  python::add_built(m);
  for (const auto& [name, value] : m.attr("__dict__").cast<py::dict>())
    if (PyType_Check(value.ptr())) value.attr("__module__") = "inlay.codegen";
}
} // namespace

void add_tools(py::module_& m) {
  m.attr("version") = INLAY_VERSION;
  py::module_ codegen = m.def_submodule("codegen", "Kernels as programs: inlay.codegen.");
  add_codegen(codegen);
  m.def("run_kernel", &run_kernel, py::arg("name"), py::arg("flags"), py::arg("buffers"), py::arg("checks"),
        py::arg("poisoned"));
  m.def("kernel_names", &kernel_names);
  m.def("processor", [](const std::string& name) { return std::string(machine::Target::named(name).name); });
  m.def("kernel_options", &kernel_options);
  m.def("kernel_buffers", &kernel_buffers);
}
