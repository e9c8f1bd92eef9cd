// What becomes of a Program: its proofs, its machine code, a launch on the emulator.
#include "program.h"

#include "../cli/build_manifest.h"

#include <inlay/algebra/print.h>
#include <inlay/codegen/schedule.h>
#include <inlay/codegen/sum_order.h>
#include <inlay/kernels/launch.h>
#ifdef INLAY_PYTHON_CLAIMS
#include <inlay/validate/code.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <regex>

namespace inlay::python {
namespace {

/// A built kernel, and its launch as a file says it.
struct Built {
  kernels::Artifact artifact;
  launch::Manifest manifest{};
  std::string validation{}; ///< "", "validated", or "undecided: " and why
};

/// The message of the library, whose line is of the program's file: of a claim `spec FILE:LINE`, of an operation `line FILE:LINE` or
/// `line LINE`.
ProgramError of_build(const std::string& message, const codegen::Program& program) {
  std::smatch found;
  static const std::regex spec("\n  (?:spec|line)   (.*):([0-9]+)$"), line("line +([0-9]+)");
  if (std::regex_search(message, found, spec))
    return {message, location(found[1], static_cast<unsigned>(std::stoul(found[2]))), true};
  if (std::regex_search(message, found, line))
    return {message, location(program.where().file_name(), static_cast<unsigned>(std::stoul(found[1])))};
  return {message, program.where()};
}

/// f of the whole program, without the interpreter's lock.
template <class F>
auto of_whole(const Owner& k, F&& f) {
  const codegen::Program& program = k->source.program;
  if (k->broken || k->open > 0)
    throw ProgramError(program.name() + ": " +
                           (k->open > 0 ? "it is built inside of its own loop, branch or role"
                                        : "a function of it ended with an error, and the program there"),
                       here());
  try {
    const py::gil_scoped_release release;
    return f(program);
  } catch (const std::exception& e) {
    throw of_build(e.what(), program);
  }
}

kernels::ProofReport prove(const Owner& k, const std::string& scheduler) {
  return of_whole(k, [&](const codegen::Program& program) {
    const codegen::Graph graph = expand(program);
    return kernels::prove(apply(graph, schedule_with(codegen::parse_scheduler(scheduler), graph)));
  });
}

codegen::SumOrders orders(const Owner& k) {
  return of_whole(k, [](const codegen::Program& program) { return codegen::sum_orders(expand(program)); });
}

/// A loop that asks for loads some trips ahead and has one stage for them: the default order loads nothing ahead, which is right and slow.
void warn_of_one_stage(const codegen::Program& program, const kernels::BuildOptions& options) {
  std::vector<const codegen::Op*> asking;
  codegen::each_op(program.body(), [&](const codegen::Op& op) {
    const auto* l = std::get_if<codegen::LoopOp>(&op.what);
    if (l && l->pipeline.ring == 1 && l->pipeline.distance > 0) asking.push_back(&op);
  });
  if (asking.empty()) return;
  const codegen::Graph graph = expand(program);
  const auto code = apply(graph, schedule_with(codegen::parse_scheduler(options.scheduler), graph));
  for (const codegen::CodeRegion& r : code.regions)
    for (const codegen::Inst& i : r.body)
      if (r.is_loop && r.ring == 1 && i.ahead > 0) return;
  const codegen::Op& first = *asking[0];
  const int distance = std::get<codegen::LoopOp>(first.what).pipeline.distance;
  const std::string text = fmt::format(
      "{}: the loop at {}:{} loads nothing ahead, though distance = {}: with ring = 1 there is one stage\n"
      "  hint   ring = 2 or more, or distance = 0",
      program.name(), first.where.file_name(), first.where.line(), distance);
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 2) != 0) throw py::error_already_set();
}

#ifdef INLAY_PYTHON_CLAIMS
/// Steps of build(validate=True), about a minute; `inlay validate --budget` takes others.
constexpr std::uint64_t validation_budget = 60'000'000;

/// The machine code held against the instructions that it was made from. Errors: std::runtime_error where it does something else.
std::string validation_of(const codegen::Program& program, const kernels::Artifact& artifact,
                          const kernels::BuildOptions& options) {
  using runtime::symbolic::Verdict;
  const codegen::Graph graph = expand(program);
  const auto code = apply(graph, schedule_with(codegen::parse_scheduler(options.scheduler), graph));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + artifact.hsaco.size()});
  const auto report = kernels::validate::validate_code(object, object.kernel(artifact.kernel), code,
                                                       {.budget = validation_budget});
  if (report.verdict == Verdict::validated) return "validated";
  std::string why;
  for (const auto& f : report.refuted)
    why += fmt::format("\n  {:#x} '{}', wave {} lane {}: {}", f.address, f.text, f.wave, f.lane, f.message);
  if (report.verdict == Verdict::undecided && report.refuted.empty())
    return "undecided: " +
           (report.undecided.empty() ? "nothing that was tried decides it" : report.undecided.front());
  throw std::runtime_error(fmt::format("{}: machine code {}{}", artifact.kernel,
                                       runtime::symbolic::to_string(report.verdict), why));
}
#else
std::string validation_of(const codegen::Program&, const kernels::Artifact&, const kernels::BuildOptions&) {
  return "undecided: this package was built without validation";
}
#endif

std::shared_ptr<Built> build(const Owner& k, const std::string& scheduler, const std::string& loops,
                             bool validate) {
  kernels::BuildOptions options;
  options.scheduler = scheduler;
  options.loops = loops;
  const auto built = of_whole(k, [&](const codegen::Program& program) {
    auto out = std::make_shared<Built>(Built{kernels::build(program, options), {}});
    if (validate) out->validation = validation_of(program, out->artifact, options);
    out->artifact.source = std::shared_ptr<const kernels::Source>(k, &k->source);
    out->manifest = cli::manifest_of(out->artifact, program.name() + ".hsaco", {});
    out->artifact.source.reset();
    return out;
  });
  warn_of_one_stage(k->source.program, options);
  if (built->validation.starts_with("undecided")) {
    const std::string text = k->source.program.name() +
                             ": the claims are proved; whether the machine code does what was proved is " +
                             built->validation + "\n  hint   artifact.run(.., stress=4) tries it";
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 2) != 0) throw py::error_already_set();
  }
  return built;
}

std::vector<std::int64_t> sizes_of(const Built& b, const std::map<std::string, std::int64_t>& given) {
  std::vector<std::int64_t> out;
  std::string names;
  for (const auto& s : b.artifact.contract.sizes) {
    names += (names.empty() ? "" : ", ") + s.name;
    if (const auto at = given.find(s.name); at != given.end()) out.push_back(at->second);
  }
  if (out.size() == given.size() && out.size() == b.artifact.contract.sizes.size()) return out;
  std::string said;
  for (const auto& [name, value] : given) said += (said.empty() ? "" : ", ") + name;
  throw std::invalid_argument(fmt::format("{}: the sizes {} were given\n  hint   {}", b.artifact.kernel,
                                          said.empty() ? "none" : said, names.empty() ? "none" : names));
}

/// The extents of each buffer whose elements lie row by row, else none, in the order of the contract. Errors: as of a launch.
std::vector<std::vector<std::int64_t>> shapes(const Built& b,
                                              const std::map<std::string, std::int64_t>& given) {
  const std::vector<std::int64_t> sizes = sizes_of(b, given);
  static_cast<void>(b.artifact.contract.plan(sizes));
  std::vector<std::vector<std::int64_t>> out;
  for (const launch::Argument& a : b.manifest.arguments) {
    if (a.kind != launch::Argument::Kind::buffer) continue;
    auto& shape = out.emplace_back();
    for (const launch::Formula& extent : a.shape) shape.push_back(extent(given));
  }
  return out;
}

/// Launches under stress, each of which has to leave what `after` says. Errors: std::runtime_error, where one leaves something else.
void stressed(const Built& b, runtime::EmulatorOptions options, unsigned stress,
              const std::vector<kernels::Bytes>& after,
              const std::function<std::string(std::size_t)>& name_of,
              const std::function<std::vector<kernels::Bytes>(const runtime::EmulatorOptions&)>& launched) {
  options.stress = true;
  for (unsigned seed = 1; seed <= stress; ++seed) {
    options.seed = seed;
    std::vector<kernels::Bytes> again;
    try {
      again = launched(options);
    } catch (const std::exception& e) {
      throw std::runtime_error(fmt::format("under stress, seed {}: {}", seed, e.what()));
    }
    for (std::size_t i = 0; i < after.size(); ++i)
      if (const auto at = std::mismatch(after[i].begin(), after[i].end(), again[i].begin());
          at.first != after[i].end())
        throw std::runtime_error(
            fmt::format("{}: byte {} of {} is {:#04x} in a plain run and {:#04x} under stress, seed {}",
                        b.artifact.kernel, at.first - after[i].begin(), name_of(i),
                        std::to_integer<int>(*at.first), std::to_integer<int>(*at.second), seed));
  }
}

/// One launch on arrays of bytes, where they lie; of several devices those of the first come first. With launches under stress the first is
/// made on copies, and arrays are written when all have left the same bits. Errors: std::runtime_error, where one leaves others.
void run(const Built& b, const std::vector<py::buffer>& arrays,
         const std::map<std::string, std::int64_t>& given, const std::string& checks, unsigned stress) {
  std::vector<std::span<std::byte>> buffers;
  for (const py::buffer& a : arrays) buffers.push_back(memory_of(a));
  const auto sizes = sizes_of(b, given);
  const py::gil_scoped_release release;
  runtime::EmulatorOptions options;
  options.checks = runtime::Checks::parse(checks);
  if (stress == 0 && b.artifact.contract.devices == 1) {
    runtime::EmulatorDevice device(runtime::isa::parse_arch(b.artifact.arch), options);
    return kernels::run_in_place(device, b.artifact, buffers, sizes);
  }
  std::vector<kernels::Bytes> data;
  for (const auto& x : buffers) data.emplace_back(x.begin(), x.end());
  const auto launched = [&](const runtime::EmulatorOptions& how) {
    return kernels::run(*kernels::open_device("emulator", b.artifact.arch, how), b.artifact, data, sizes);
  };
  const std::vector<kernels::Bytes> after = launched(options);
  const auto& of_contract = b.artifact.contract.buffers;
  stressed(
      b, options, stress, after, [&](std::size_t i) { return of_contract[i % of_contract.size()].name; },
      launched);
  for (std::size_t i = 0; i < after.size() && i < buffers.size(); ++i)
    if (of_contract[i % of_contract.size()].output) std::ranges::copy(after[i], buffers[i].begin());
}

/// Sizes by name of each problem: `given` of all, in which own sizes are the largest, and those of `own` by problem.
std::vector<std::map<std::string, std::int64_t>>
sizes_of_problems(const std::map<std::string, std::int64_t>& given,
                  const std::map<std::string, std::vector<std::int64_t>>& own, std::size_t count) {
  std::vector<std::map<std::string, std::int64_t>> out(count, given);
  for (const auto& [name, values] : own)
    for (std::size_t z = 0; z < count; ++z) out[z][name] = values.at(z);
  return out;
}

/// What the entries of each table of pointers point to, in the order of the tables; nothing for one problem.
std::vector<launch::Argument> of_problems(const Built& b) {
  std::vector<launch::Argument> out;
  for (const launch::Argument& a : b.manifest.arguments)
    out.insert(out.end(), a.points_to.begin(), a.points_to.end());
  return out;
}

/// A launch for many problems, on copies: arrays[t][z] is tensor t of problem z, or nothing for one without elements; outputs are written
/// when nothing was found. Errors: as of `run`; std::invalid_argument for sizes that no problem has, and for too few bytes.
void run_problems(const Built& b, const std::vector<std::vector<std::optional<py::buffer>>>& arrays,
                  const std::map<std::string, std::int64_t>& given,
                  const std::map<std::string, std::vector<std::int64_t>>& own, const std::string& checks,
                  unsigned stress) {
  const kernels::LaunchContract& contract = b.artifact.contract;
  kernels::Problem problem;
  problem.launch = contract.plan(sizes_of(b, given));
  const std::size_t count = own.begin()->second.size();
  const std::vector<launch::Argument> pointed = of_problems(b);
  const auto each = sizes_of_problems(given, own, count);
  for (const auto& sizes : each) // 0 in the place of an own size is nothing to do
    if (std::ranges::none_of(own, [&](const auto& o) { return sizes.at(o.first) == 0; }))
      static_cast<void>(contract.plan(sizes_of(b, sizes)));
  std::vector<std::size_t> tables;
  for (const kernels::LaunchContract::Buffer& buffer : contract.buffers) {
    auto& table = problem.buffers.emplace_back(kernels::Problem::Buffer{buffer.name, {}, false});
    if (buffer.points_to) tables.push_back(problem.buffers.size() - 1);
    if (buffer.own < 0) continue;
    for (const std::int64_t value : own.at(contract.sizes[static_cast<std::size_t>(buffer.own)].name)) {
      const auto number = static_cast<std::int32_t>(value);
      const auto bytes = std::as_bytes(std::span(&number, 1));
      table.data.insert(table.data.end(), bytes.begin(), bytes.end());
    }
  }
  std::vector<std::pair<std::size_t, std::span<std::byte>>> written;
  for (std::size_t z = 0; z < count; ++z)
    for (std::size_t t = 0; t < tables.size(); ++t) {
      kernels::Problem::Buffer& table = problem.buffers[tables[t]];
      table.data.resize(table.data.size() + sizeof(std::uint64_t));
      const auto& array = arrays.at(t).at(z);
      table.points_to.push_back(array ? static_cast<int>(problem.buffers.size()) : -1);
      if (!array) continue;
      const launch::Argument& of = pointed.at(t);
      const std::string name = fmt::format("{} of problem {}", of.name, z);
      const std::span<std::byte> memory = memory_of(*array);
      if (const std::int64_t least = of.bytes(each[z]); static_cast<std::int64_t>(memory.size()) < least)
        throw std::invalid_argument(fmt::format("{}: {} has {} bytes, and {} are wanted", b.artifact.kernel,
                                                name, memory.size(), least));
      if (of.output) written.emplace_back(problem.buffers.size(), memory);
      problem.buffers.push_back({name, {memory.begin(), memory.end()}, of.output});
    }
  const py::gil_scoped_release release;
  runtime::EmulatorOptions options;
  options.checks = runtime::Checks::parse(checks);
  const auto launched = [&](const runtime::EmulatorOptions& how) {
    return kernels::run(*kernels::open_device("emulator", b.artifact.arch, how), b.artifact, problem);
  };
  const std::vector<kernels::Bytes> after = launched(options);
  stressed(
      b, options, stress, after, [&](std::size_t i) { return problem.buffers[i].name; }, launched);
  for (const auto& [i, memory] : written) std::ranges::copy(after[i], memory.begin());
}

/// The extents of each tensor in each problem, or none where its elements do not lie row by row.
std::vector<std::vector<std::vector<std::int64_t>>>
shapes_of_problems(const Built& b, const std::map<std::string, std::int64_t>& given,
                   const std::map<std::string, std::vector<std::int64_t>>& own) {
  std::vector<std::vector<std::vector<std::int64_t>>> out;
  for (const launch::Argument& a : of_problems(b)) {
    auto& of = out.emplace_back();
    for (const auto& sizes : sizes_of_problems(given, own, own.begin()->second.size())) {
      auto& shape = of.emplace_back();
      for (const launch::Formula& extent : a.shape) shape.push_back(extent(sizes));
    }
  }
  return out;
}

py::list items(const kernels::ProofReport& report) {
  py::list out;
  for (const kernels::ProofItem& i : report.items()) {
    py::dict d;
    d["claim"] = i.claim, d["subject"] = i.subject, d["verdict"] = i.verdict, d["method"] = i.method;
    d["operation"] = i.op, d["line"] = i.line;
    out.append(d);
  }
  return out;
}

template <std::string kernels::Artifact::*member>
std::string text_of(const Built& b) {
  return b.artifact.*member;
}

void add_orders(py::module_& m) {
  using codegen::OrderClaim;
  py::class_<OrderClaim>(m, "OrderClaim",
                         "What is known of the bits of a kernel's sums; true when it is proved.")
      .def_readonly("claim", &OrderClaim::claim, "deterministic, batch-invariant (m), ...")
      .def_property_readonly(
          "verdict", [](const OrderClaim& c) { return to_string(c.verdict); },
          "proved, refuted or undecided.")
      .def_readonly("reason", &OrderClaim::reason)
      .def_readonly("operation", &OrderClaim::op,
                    "The number in the program's text of what refutes it or is not known, or -1.")
      .def_property_readonly("file", [](const OrderClaim& c) { return std::string(c.where.file_name()); })
      .def_property_readonly("line", [](const OrderClaim& c) { return c.where.line(); })
      .def("__bool__", [](const OrderClaim& c) { return c.verdict == OrderClaim::Verdict::proved; })
      .def("__str__", [](const OrderClaim& c) { return to_string(c); })
      .def("__repr__", [](const OrderClaim& c) { return "<OrderClaim " + to_string(c) + ">"; });
  py::class_<codegen::SumOrders>(m, "SumOrders",
                                 "The order of a kernel's floating-point sums, and what follows about bits.")
      .def_readonly("claims", &codegen::SumOrders::claims, "deterministic first.")
      .def_property_readonly(
          "sums",
          [](const codegen::SumOrders& s) {
            std::map<std::string, std::string> out;
            for (const codegen::SumOrder& o : s.orders) out[o.output] = o.order;
            return out;
          },
          "The order in words, by output.")
      .def(
          "__getitem__",
          [](const codegen::SumOrders& s, const std::string& begin) {
            const OrderClaim* found = s.find(begin);
            if (!found) throw py::key_error(begin);
            return *found;
          },
          py::arg("claim"), "The claim that starts so: orders['batch-invariant'].")
      .def("__str__", [](const codegen::SumOrders& s) {
        std::string out;
        for (const OrderClaim& c : s.claims) out += to_string(c) + "\n";
        for (const codegen::SumOrder& o : s.orders) out += "order      " + o.output + ": " + o.order + "\n";
        return out;
      });
}

} // namespace

void add_built(py::module_& m) {
  add_orders(m);
  py::class_<kernels::ProofReport>(m, "ProofReport",
                                   "The claims of a kernel, and how each of them was decided.")
      .def_property_readonly("items", &items,
                             "Dicts of claim, subject, verdict ('proved', 'checked at launch', \"the "
                             "caller's\"), method, operation, "
                             "line.")
      .def_property_readonly("proved", &kernels::ProofReport::proved, "How many were proved.")
      .def_property_readonly("at_launch", &kernels::ProofReport::at_launch_count,
                             "How many conditions the launch checks.")
      .def("text", &kernels::ProofReport::text)
      .def("__str__", &kernels::ProofReport::text)
      .def("__repr__", [](const kernels::ProofReport& r) {
        return fmt::format("<ProofReport {} proved, {} checked at launch>", r.proved(), r.at_launch_count());
      });

  py::class_<Built, std::shared_ptr<Built>>(m, "Artifact",
                                            "A kernel as machine code, with what was proved about it.")
      .def_property_readonly("kernel", &text_of<&kernels::Artifact::kernel>)
      .def_property_readonly("arch", &text_of<&kernels::Artifact::arch>)
      .def_property_readonly("ir", &text_of<&kernels::Artifact::ir>, "LLVM IR before optimisation.")
      .def_property_readonly("assembly", &text_of<&kernels::Artifact::assembly>,
                             "What the code object was assembled from.")
      .def_property_readonly("program", &text_of<&kernels::Artifact::program>, "The operations, one a line.")
      .def_property_readonly("code", &text_of<&kernels::Artifact::code>,
                             "The instructions that were proved and emitted, one a line.")
      .def_property_readonly("schedule", &text_of<&kernels::Artifact::schedule>, "The loops as slots.")
      .def_property_readonly(
          "manifest", [](const Built& b) { return b.manifest.text(); },
          "The launch as JSON (docs/cli.md, launch manifests).")
      .def_property_readonly("proofs", [](const Built& b) { return b.artifact.proofs; })
      .def_property_readonly(
          "hsaco",
          [](const Built& b) {
            const auto& code = b.artifact.hsaco;
            return py::bytes(reinterpret_cast<const char*>(code.data()), code.size());
          },
          "The code object.")
      .def_property_readonly(
          "buffers",
          [](const Built& b) {
            std::vector<std::string> out;
            for (const auto& x : b.artifact.contract.buffers) out.push_back(x.name);
            return out;
          },
          "Names in the order of a launch.")
      .def_property_readonly("sizes",
                             [](const Built& b) {
                               std::vector<std::string> out;
                               for (const auto& x : b.artifact.contract.sizes) out.push_back(x.name);
                               return out;
                             })
      .def_readonly("validation", &Built::validation,
                    "What build(validate=True) found: 'validated', or 'undecided: ' and why; '' where it was "
                    "not asked. What is "
                    "refuted is a ProgramError.")
      .def("_run", &run)
      .def("_shapes", &shapes)
      .def("_run_problems", &run_problems)
      .def("_shapes_of_problems", &shapes_of_problems)
      .def("__repr__", [](const Built& b) {
        return fmt::format("<Artifact {} for {}, {} bytes, {} claims proved>", b.artifact.kernel,
                           b.artifact.arch, b.artifact.hsaco.size(), b.artifact.proofs.proved());
      });

  auto program = m.attr("Program").cast<py::class_<Held, Owner>>();
  program
      .def("prove", located(&prove), py::kw_only(), py::arg("scheduler") = "modulo",
           "Derives and decides every claim, and builds nothing: a ProofReport. What is refuted or not "
           "decided is a ProgramError with "
           "the operation, its line and a counterexample.")
      .def("orders", located(&orders),
           "The order of every floating-point sum, and whether bits depend on it: deterministic, "
           "batch-invariant, "
           "position-invariant, split-invariant (docs/guide/19-determinism.md). Holds of what `prove` "
           "accepts.")
      .def("build", located(&build), py::kw_only(), py::arg("scheduler") = "modulo",
           py::arg("loops") = "auto", py::arg("validate") = false,
           "Proves every claim, then emits machine code: an Artifact. `validate`: also holds the machine "
           "code against it, which artifact.validation tells; undecided, as after 60,000,000 steps (about a "
           "minute), is a UserWarning. A loop with ring = "
           "1 that asks for a distance and has none is a UserWarning.");
}

} // namespace inlay::python
