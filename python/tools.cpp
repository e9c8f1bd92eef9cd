// The rest of the extension: prebuilt kernels on the emulator with the caller's data.
#include "program.h"

#include "../cli/build_manifest.h"

#include <inlay/kernels/artifact.h>
#include <inlay/kernels/choose.h>
#include <inlay/kernels/launch.h>
#include <inlay/machine/target.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <pybind11/numpy.h>

namespace py = pybind11;
using namespace inlay;

namespace {

/// What was chosen for some options, and built: building proves, compiles and links, which costs more than most launches.
struct Built {
  kernels::Choice choice;
  kernels::Flags flags; ///< with what was chosen
  std::shared_ptr<const kernels::Artifact> artifact;
};
std::shared_ptr<const Built> built(const kernels::Kernel& kernel, const kernels::Flags& given) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, kernels::Flags>, std::shared_ptr<const Built>> known;
  const std::pair key{std::string(kernel.name()), given};
  {
    const std::lock_guard lock(mutex);
    if (const auto at = known.find(key); at != known.end()) return at->second;
  }
  const kernels::Flags asked = kernel.renamed(given);
  Built now{kernels::choose(kernel, asked), {}, {}};
  now.flags = kernels::with(asked, now.choice);
  now.artifact = std::make_shared<const kernels::Artifact>(kernels::build(kernel, asked, now.choice, {}));
  const auto shared = std::make_shared<const Built>(std::move(now));
  const std::lock_guard lock(mutex);
  known.emplace(std::pair{key.first, shared->flags}, shared); // who asks for what was chosen
  return known.emplace(key, shared).first->second;
}

// Of each buffer whose elements lie row by row, its extents in the launch, by its name.
std::map<std::string, std::vector<std::int64_t>> shapes_of(const kernels::Artifact& artifact,
                                                           const kernels::LaunchPlan& plan) {
  launch::Sizes sizes;
  const auto& arguments = artifact.contract.arguments;
  for (std::size_t i = 0; i < arguments.size() && i < plan.arguments.size(); ++i) {
    const kernels::Bytes& scalar = plan.arguments[i].scalar;
    std::int32_t value = 0;
    if (arguments[i].buffer || scalar.size() != sizeof value) continue;
    std::memcpy(&value, scalar.data(), sizeof value);
    sizes[artifact.contract.sizes.at(arguments[i].number).name] = value;
  }
  std::map<std::string, std::vector<std::int64_t>> out;
  for (const launch::Argument& a : cli::manifest_of(artifact, "", {}).arguments) {
    const auto known = [&](const launch::Formula& f) {
      return std::ranges::all_of(f.names(), [&](const std::string& n) { return sizes.contains(n); });
    };
    if (!std::ranges::all_of(a.shape, known)) continue;
    for (const launch::Formula& extent : a.shape) out[a.name].push_back(extent(sizes));
  }
  return out;
}

// Buffers of a problem, those that were given in the place of the random ones; what the outputs hold after one launch, which uses arrays where
// they lie, as long as one device runs it. `shape_check(name, shape)` judges what was given for each buffer whose elements lie row by row.
py::dict run_kernel(const std::string& name, const kernels::Flags& flags, const py::dict& buffers,
                    const std::string& checks, const py::object& shape_check) {
  const auto kernel = kernels::find_kernel(name);
  const auto form = [&] {
    const py::gil_scoped_release release;
    return built(*kernel, flags);
  }();
  kernels::Problem problem = kernel->problem(form->flags, 1);
  const kernels::Artifact& artifact = *form->artifact;
  const auto& of_contract = artifact.contract.buffers;
  // What the kernel itself writes and nobody asks for is its own: counters, parts of sums. So are tables of many problems.
  const auto written = [&](std::size_t i) { return i < of_contract.size() && of_contract[i].output; };
  const auto table = [&](std::size_t i) {
    return i < of_contract.size() && (of_contract[i].points_to || of_contract[i].own >= 0);
  };
  std::string known;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i)
    if (const auto& b = problem.buffers[i]; b.output || !(written(i) || table(i)))
      known += (known.empty() ? "" : ", ") + b.name;
  std::vector<std::optional<std::span<std::byte>>> given(problem.buffers.size());
  for (const auto& [key, value] : buffers) {
    const std::string wanted = py::str(key).cast<std::string>();
    const auto buffer = std::ranges::find(problem.buffers, wanted, &kernels::Problem::Buffer::name);
    if (buffer == problem.buffers.end())
      throw std::invalid_argument(name + " has no buffer '" + wanted + "'\n  hint   " + known);
    const auto data = python::memory_of(py::reinterpret_borrow<py::buffer>(value));
    if (data.size() != buffer->data.size())
      throw std::invalid_argument(name + ": buffer '" + wanted + "' has " + std::to_string(data.size()) +
                                  " bytes, and " + std::to_string(buffer->data.size()) + " are wanted for " +
                                  problem.text);
    given[static_cast<std::size_t>(buffer - problem.buffers.begin())] = data;
  }
  if (!shape_check.is_none())
    for (const auto& [buffer, shape] : shapes_of(artifact, problem.launch))
      shape_check(buffer, py::tuple(py::cast(shape)));
  const bool one = artifact.contract.devices == 1 && problem.buffers.size() == of_contract.size();
  std::vector<py::array_t<std::uint8_t>> arrays; // of outputs
  std::vector<std::span<std::byte>> places;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    auto& b = problem.buffers[i];
    if (!given[i] && !b.output && !written(i) && !table(i))
      throw std::invalid_argument(name + ": input '" + b.name +
                                  "' is missing\n  hint   inputs and outputs are " + known);
    if (one && given[i] && !written(i)) { // nobody changes it
      places.push_back(*given[i]);
      continue;
    }
    if (given[i]) b.data.assign(given[i]->begin(), given[i]->end());
    if (one && b.output) {
      auto& array = arrays.emplace_back(std::vector{static_cast<py::ssize_t>(b.data.size())});
      places.emplace_back(reinterpret_cast<std::byte*>(array.mutable_data()), b.data.size());
      std::ranges::copy(b.data, places.back().begin());
      b.data.clear();
    } else {
      places.emplace_back(b.data);
    }
  }
  std::vector<kernels::Bytes> after;
  {
    const py::gil_scoped_release release;
    runtime::EmulatorOptions options;
    options.checks = runtime::Checks::parse(checks);
    runtime::EmulatorDevice device(runtime::isa::parse_arch(artifact.arch), options);
    if (one)
      kernels::run_in_place(device, artifact, places, problem.launch);
    else
      after = kernels::run(device, artifact, problem);
  }
  py::dict out;
  std::size_t next = 0;
  for (std::size_t i = 0; one && i < problem.buffers.size(); ++i)
    if (const auto& b = problem.buffers[i]; b.output) out[py::str(b.name)] = arrays[next++];
  for (std::size_t i = 0; i < after.size(); ++i) { // of several devices one after the other
    const std::size_t count = problem.buffers.size();
    if (const auto& b = problem.buffers[i % count]; b.output)
      out[py::str(b.name + (i < count ? "" : " of device " + std::to_string(i / count)))] =
          py::array_t<std::uint8_t>(std::vector{static_cast<py::ssize_t>(after[i].size())},
                                    reinterpret_cast<const std::uint8_t*>(after[i].data()));
  }
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

// What `auto` takes for these options; with the ranking it is chosen anew.
py::dict kernel_choice(const std::string& name, const kernels::Flags& flags, bool ranking) {
  kernels::Choice c;
  kernels::Flags with_it;
  {
    const py::gil_scoped_release release;
    const auto kernel = kernels::find_kernel(name);
    kernels::ChooseOptions anew;
    anew.cache = false;
    if (ranking)
      c = kernels::choose(*kernel, flags, anew);
    else
      c = built(*kernel, flags)->choice, with_it = built(*kernel, flags)->flags;
  }
  const auto options = [](const kernels::Flags& of) {
    py::dict d;
    for (const auto& [option, value] : of) d[py::str(option)] = value;
    return d;
  };
  py::dict out;
  out["why"] = c.why, out["options"] = options(c.options), out["clocks"] = c.clocks;
  if (!ranking) {
    out["flags"] = options(with_it);
    return out;
  }
  py::list forms;
  for (const kernels::Ranked& r : c.ranking) {
    py::dict one;
    one["options"] = options(r.form.options), one["bound"] = r.form.clocks;
    if (r.modelled) one["clocks"] = r.modelled->clocks;
    if (!r.refused.empty()) one["refused"] = r.refused;
    forms.append(one);
  }
  out["ranking"] = forms;
  return out;
}

// name, bytes, whether it is an output: of the buffers for these options, in the order of the kernel's arguments.
// Of many problems those of each, without the tables that say where they lie.
py::list kernel_buffers(const std::string& name, const kernels::Flags& flags) {
  py::list out;
  const kernels::Problem problem = kernels::find_kernel(name)->problem(flags, 1);
  const auto& all = problem.buffers;
  const bool many = std::ranges::any_of(all, [](const auto& b) { return !b.points_to.empty(); });
  const auto tables =
      many ? std::ranges::count_if(problem.launch.arguments, [](const auto& a) { return a.buffer >= 0; }) : 0;
  for (auto b = all.begin() + tables; b != all.end(); ++b)
    out.append(py::make_tuple(b->name, b->data.size(), b->output));
  return out;
}

// How the form for these options is launched, as JSON.
std::string kernel_manifest(const std::string& name, const kernels::Flags& flags) {
  const py::gil_scoped_release release;
  return cli::manifest_of(*built(*kernels::find_kernel(name), flags)->artifact, "", {}).text();
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
        py::arg("shape_check") = py::none());
  m.def("kernel_names", &kernel_names);
  m.def("processor", [](const std::string& name) { return std::string(machine::Target::named(name).name); });
  m.def("kernel_options", &kernel_options);
  m.def("kernel_buffers", &kernel_buffers);
  m.def("kernel_manifest", &kernel_manifest);
  m.def("kernel_choice", &kernel_choice);
}
