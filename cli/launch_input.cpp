#include "launch_input.h"

#include "code_object_input.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <inlay/launch/limits.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/report.h>
#include <inlay/runtime/names.h>
#include <numeric>

namespace inlay::cli {

using namespace runtime;

bool uses_lds(const CodeObject& object, const Kernel& kernel) {
  const auto program = isa::decode(object.code(kernel), kernel.address, isa::arch_of(object));
  return std::any_of(program.instructions.begin(), program.instructions.end(), [](const isa::Instruction& i) {
    switch (isa::kind_of(i)) {
    case isa::Kind::lds_read:
    case isa::Kind::lds_write:
    case isa::Kind::load_to_lds: return true;
    case isa::Kind::lds_other: // values of other lanes pass through no memory
      return i.text.find("permute") == std::string::npos && i.text.find("swizzle") == std::string::npos &&
             i.text.find("nop") == std::string::npos && i.text.find("gws") == std::string::npos;
    default: return false;
    }
  });
}

Block block_of(const Kernel& k) {
  if (!k.required_workgroup.empty()) {
    const auto& r = k.required_workgroup;
    return {{r[0], r[1], r[2]}, "reqd_workgroup_size"};
  }
  const bool says = k.has_metadata && k.max_flat_workgroup_size < 1024;
  if (says && k.descriptor.workitem_id_dimensions <= 1)
    return {{k.max_flat_workgroup_size, 1, 1}, "max_flat_workgroup_size"};
  refuse(fmt::format("--block is not given, and the code object does not say how many work-items {} takes{}",
                     demangled(k.name),
                     says ? fmt::format(": at most {}, which it numbers along {} axes",
                                        k.max_flat_workgroup_size, k.descriptor.workitem_id_dimensions)
                          : ""),
         says ? fmt::format("--block {},1,1, or as the launch shapes it", k.max_flat_workgroup_size)
              : "--block 256,1,1: what its launch says (Triton: 64 times num_warps)");
}

std::string LaunchInput::said_text() const {
  std::string out;
  for (const auto& s : said) out += (out.empty() ? "" : "; ") + s;
  return out.empty() ? out : "  launch                " + out + "\n";
}

namespace {

launch::Sizes parse_sizes(const std::vector<std::string>& texts) {
  launch::Sizes out;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    const auto v = equals == std::string::npos
                       ? std::nullopt
                       : parse_number<std::int64_t>(std::string_view(text).substr(equals + 1));
    if (!v || equals == 0) refuse("--size " + text + ": not NAME=NUMBER", "--size m=256");
    if (!out.emplace(text.substr(0, equals), *v).second)
      refuse("--size " + text + ": given twice", "each size once");
  }
  return out;
}

/// Whether an array of shape `a` may be the buffer of these extents: of another number of dimensions, of which those of 1 do not count; the same; or
/// rows of as many elements that are counted by other dimensions: 5 x 128 x 64 for 10 x 64 x 64, and not 64 x 10 x 64.
bool fits(std::vector<std::uint64_t> a, const std::vector<std::int64_t>& extents) {
  std::vector<std::uint64_t> b;
  for (const std::int64_t e : extents) b.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(0, e)));
  std::erase(a, 1U);
  std::erase(b, 1U);
  if (a == b || b.size() < 2 || a.size() != b.size()) return true;
  const auto product = [](const auto& v) {
    return std::accumulate(v.begin(), v.end(), std::uint64_t{1}, std::multiplies<>());
  };
  if (a.back() != b.back() || product(a) != product(b)) return false;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a != b;
}

/// An --arg against what the manifest knows of it, which stays. Memory of one device that all see is theirs by --buffer: an argument of it
/// would give each one another memory.
void check_given(const std::optional<ArgumentSpec>& known, ArgumentSpec& given, const std::string& text) {
  if (!known) return;
  if (known->peer && given.peers.empty())
    refuse(fmt::format("--arg {}: '{}' is memory of device {}, which all devices see", text, known->name,
                       *known->peer),
           fmt::format("--buffer {}=in:FILE{{rank}}, of each device", known->peers));
  refuse_other_array(*known, given, "--arg " + text);
  if (given.type.empty()) given.type = known->type;
}

/// Positional and named `--arg` against what the kernel or manifest calls its arguments; `defaults`: of a manifest. `spelled`: how an argument
/// may be given, where the kernel says it.
std::vector<ArgumentSpec> in_order(const std::vector<std::string>& texts,
                                   const std::vector<std::string>& names,
                                   std::vector<std::optional<ArgumentSpec>> defaults,
                                   const std::vector<std::string>& spelled = {}) {
  std::vector<ArgumentSpec> positional;
  bool any_named = false;
  for (const auto& text : texts) {
    ArgumentSpec spec = parse_argument(text);
    if (spec.name.empty()) {
      positional.push_back(std::move(spec));
      continue;
    }
    any_named = true;
    const auto at = std::find(names.begin(), names.end(), spec.name);
    if (at == names.end()) {
      std::string all;
      for (const auto& n : names) all += (all.empty() ? "" : ", ") + n;
      refuse("--arg " + text + ": the kernel has no argument '" + spec.name + "'",
             all.empty() ? "its arguments have no names: give them in order" : "its arguments are " + all);
    }
    auto& place = defaults[static_cast<std::size_t>(at - names.begin())];
    if (place && !place->spelled.empty())
      refuse("--arg " + text + ": argument '" + spec.name + "' is given twice", "each once");
    check_given(place, spec, text);
    place = std::move(spec);
  }
  const bool manifest =
      std::any_of(defaults.begin(), defaults.end(), [](const auto& d) { return d && d->spelled.empty(); });
  if (!any_named && !manifest) return positional;
  std::vector<ArgumentSpec> out;
  std::size_t next = 0;
  if (manifest && !positional.empty() && positional.size() != names.size())
    refuse(fmt::format("{} --arg without a name were given, the launch has {} arguments", positional.size(),
                       names.size()),
           "all of them in order, or NAME=... for some");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool given = defaults[i] && !defaults[i]->spelled.empty();
    if (!given && next < positional.size()) {
      check_given(defaults[i], positional[next], positional[next].spelled);
      out.push_back(std::move(positional[next++]));
    } else if (defaults[i]) {
      out.push_back(std::move(*defaults[i]));
    } else {
      refuse("argument '" + names[i] + "' is not given",
             "--arg " + names[i] + "=" + (i < spelled.size() ? spelled[i] : "in:FILE") + ", or all in order");
    }
    out.back().name = names[i];
  }
  if (next < positional.size()) refuse("more --arg than the kernel has arguments", "each once");
  return out;
}

/// What a manifest says of an array at these sizes.
ArgumentSpec described(const launch::Argument& a, std::string name, const launch::Sizes& sizes) {
  ArgumentSpec spec;
  spec.name = std::move(name);
  spec.type = a.type;
  for (const launch::Formula& extent : a.shape) spec.shape.push_back(extent(sizes));
  return spec;
}

std::vector<std::optional<ArgumentSpec>> defaults_of(const launch::Manifest& m, const launch::Sizes& sizes,
                                                     const std::filesystem::path& folder) {
  std::vector<std::optional<ArgumentSpec>> out;
  std::map<std::string, std::size_t> files;
  for (std::size_t i = 0; i < m.arguments.size(); ++i) {
    const launch::Argument& a = m.arguments[i];
    ArgumentSpec spec = described(a, a.name, sizes);
    if (a.device) {
      spec.peers = a.of_all();
      spec.peer = *a.device;
      out.push_back(std::move(spec));
      continue;
    }
    if (a.kind != launch::Argument::Kind::buffer) {
      spec.value = Argument{.spelled = a.name, .bytes = m.bytes_of(i, sizes)};
      out.push_back(std::move(spec));
      continue;
    }
    const auto bytes = std::max<std::int64_t>(1, a.bytes(sizes));
    if (bytes > static_cast<std::int64_t>(most_buffer_bytes))
      refuse(fmt::format("{}: {} bytes", a.name, bytes), "smaller sizes");
    spec.printed = a.output;
    spec.offset = a.file_offset;
    if (!a.file.empty()) {
      const auto [at, fresh] = files.try_emplace(a.file, i);
      if (!fresh) {
        spec.same_as = at->second;
        spec.printed = false;
      } else {
        spec.contents = read_buffer((folder / a.file).string());
        spec.filled = true;
      }
    } else {
      spec.zero_bytes = static_cast<std::uint64_t>(bytes);
      spec.filled = !a.output || a.before != launch::Argument::Before::anything;
    }
    out.push_back(std::move(spec));
  }
  return out;
}

/// `--arg` of a kernel with several forms: those of the contract are taken, and this form's are what comes out.
std::vector<ArgumentSpec> of_form(const launch::Forms& forms, std::size_t form,
                                  const std::vector<std::string>& texts,
                                  std::vector<std::optional<ArgumentSpec>> own) {
  std::vector<std::string> names;
  std::vector<std::optional<ArgumentSpec>> all;
  for (const launch::Argument& a : forms.arguments()) {
    names.push_back(a.name);
    ArgumentSpec other; // of a form that is not launched
    other.name = a.name;
    other.type = a.type;
    other.zero_bytes = 4;
    all.emplace_back(std::move(other));
  }
  const auto& places = forms.places(form);
  for (std::size_t i = 0; i < own.size(); ++i) all[places[i]] = std::move(own[i]);
  std::vector<ArgumentSpec> given = in_order(texts, names, std::move(all)), out;
  for (const std::size_t place : places) out.push_back(given[place]);
  return out;
}

/// Memory of each device that all of them know: zeros, as their flags begin.
std::vector<ArgumentSpec> buffers_of(const launch::Manifest& m, const launch::Sizes& sizes) {
  std::vector<ArgumentSpec> out;
  for (const launch::Argument& a : m.arguments) {
    if (a.device != 0U) continue; // of all, that of device 0
    ArgumentSpec spec = described(a, a.of_all(), sizes);
    spec.filled = true;
    spec.zero_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(1, a.bytes(sizes)));
    out.push_back(std::move(spec));
  }
  return out;
}

/// What a launch of several devices cannot be given: another number than a device's own, and, where outputs lie apart, memory of
/// another buffer for one of them.
void check_devices(const launch::Manifest& m, const launch::Sizes& sizes,
                   const std::vector<ArgumentSpec>& specs) {
  const auto writes = [&](const std::string& name) {
    return std::any_of(m.arguments.begin(), m.arguments.end(),
                       [&](const launch::Argument& a) { return !a.device && a.output && a.name == name; });
  };
  for (std::size_t i = 0; i < m.arguments.size(); ++i) {
    const launch::Argument& a = m.arguments[i];
    const ArgumentSpec& s = specs[i];
    if (a.kind == launch::Argument::Kind::size && a.name == m.rank &&
        (!s.value || s.value->bytes != m.bytes_of(i, sizes)))
      refuse(fmt::format("--arg {}: each of the {} devices has its own '{}'", s.spelled, m.devices, a.name),
             fmt::format("leave it out, or {}=i32:{{rank}}", a.name));
    if (m.outputs_apart && !a.device && !s.peers.empty() && (a.output || writes(s.peers)))
      refuse(fmt::format("--arg {}: '{}' would share memory with '{}', and outputs of this kernel lie apart "
                         "from all other "
                         "buffers",
                         s.spelled, a.name, s.peers),
             fmt::format("{}={}:BYTES", a.name, a.output ? "out" : "zeros"));
  }
}

/// An address in the place of a buffer of the manifest is one that a launch takes.
void check_pointers(const launch::Manifest& m, const launch::Sizes& sizes,
                    const std::vector<ArgumentSpec>& specs) {
  for (std::size_t i = 0; i < m.arguments.size(); ++i) {
    const launch::Argument& a = m.arguments[i];
    if (a.kind != launch::Argument::Kind::buffer || !specs[i].value || specs[i].value->bytes.size() != 8)
      continue;
    std::uint64_t address = 0;
    std::memcpy(&address, specs[i].value->bytes.data(), sizeof address);
    if (const auto no = launch::refused_address(a.name, address, a.bytes(sizes)))
      refuse("--arg " + specs[i].spelled + ": " + no->what, no->hint);
  }
}

/// `at:K:BYTES` of each argument: K is a buffer of its own, of as many bytes, which may be shared.
void check_shared(const std::vector<ArgumentSpec>& specs, const std::optional<launch::Manifest>& manifest,
                  bool of_several_forms) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const ArgumentSpec& s = specs[i];
    if (!s.same_as || s.spelled.empty()) continue; // a manifest's own
    const std::string what = "--arg " + s.spelled + ": ";
    if (*s.same_as >= specs.size())
      refuse(fmt::format("{}there is no argument {}", what, *s.same_as),
             fmt::format("0 to {}, in the kernel's order", specs.size() - 1));
    const ArgumentSpec& of = specs[*s.same_as];
    if (of.value || of.same_as || !of.peers.empty())
      refuse(fmt::format("{}argument {} is {}, and no buffer", what, *s.same_as,
                         of.spelled.empty() ? of.name : of.spelled),
             "the number of an argument given as in:, out:, inout: or zeros:");
    if (s.offset > of.bytes())
      refuse(fmt::format("{}the buffer of argument {} has {} bytes", what, *s.same_as, of.bytes()),
             "a place inside of it");
    if (of_several_forms)
      refuse(what + "the kernel has several forms, and each has other arguments", "in:FILE");
    if (manifest && manifest->outputs_apart && manifest->arguments.size() == specs.size() &&
        (manifest->arguments[i].output || manifest->arguments[*s.same_as].output))
      refuse(fmt::format("{}'{}' would share memory with '{}', and outputs of this kernel lie apart from all "
                         "other buffers",
                         what, s.name, of.name),
             fmt::format("{}={}:BYTES", s.name, manifest->arguments[i].output ? "out" : "zeros"));
  }
}

} // namespace

void refuse_other_array(const ArgumentSpec& known, const ArgumentSpec& given, const std::string& text) {
  const auto& shape = given.contents.shape;
  if (!fits(shape, known.shape))
    refuse(fmt::format("{}: its shape is ({}), and that of '{}' is ({}) for these sizes", text,
                       fmt::join(shape, ", "), known.name, fmt::join(known.shape, ", ")),
           "numpy's reshape(-1) before numpy.save, if its elements lie as the kernel's do");
  const std::string& descr = given.contents.descr;
  if (known.type.empty() || descr.size() < 3) return;
  const std::string is = descr.substr(1);
  const std::string want = known.type == "f32"   ? "f4"
                           : known.type == "f16" ? "f2"
                           : known.type == "f64" ? "f8"
                           : known.type == "i32" ? "i4"
                                                 : "";
  if (is == want || (is[0] != 'f' && is[0] != 'i') || (is[0] == 'i' && (want.empty() || want[0] == 'i')))
    return;
  refuse(
      fmt::format("{}: its elements are {}, and those of '{}' are {}", text, descr, known.name, known.type),
      want.empty() ? "a file of raw bytes, or of '|u1'" : "numpy's astype('" + want + "') before numpy.save");
}

LaunchInput read_launch(Session& session, const LaunchOptions& o) {
  auto sizes = parse_sizes(o.sizes);
  const SourceFile source = read_source(session, o.file, o.arch, {o.kernel, sizes});
  LaunchInput in{source.object, {}, {}, {}, {}, 1, {}, {}};
  const auto& manifest = source.manifest;
  in.name = kernel_named(in.object, o.kernel.empty() && manifest ? manifest->kernel : o.kernel).name;
  const Kernel& kernel = in.kernel();
  in.arch = !o.arch.empty() ? isa::parse_arch(o.arch)
            : manifest      ? isa::parse_arch(manifest->arch)
                            : isa::arch_of(in.object);
  if (!manifest && !sizes.empty())
    refuse("--size belongs to a launch manifest, and " + o.file + " is none",
           "inlay build writes KERNEL.json");
  std::optional<launch::LaunchPlan> plan;
  if (manifest && manifest->devices > 1) {
    if (sizes.contains(manifest->rank))
      refuse("--size " + manifest->rank + ": each of the " + std::to_string(manifest->devices) +
                 " devices has its own",
             "leave it out");
    in.devices = manifest->devices;
    sizes[manifest->rank] = std::min(o.rank, manifest->devices - 1);
  }
  if (manifest) plan = manifest->plan(sizes);
  if (in.devices > 1) in.buffers = buffers_of(*manifest, plan->sizes);
  if (plan && plan->nothing())
    refuse(manifest->kernel + ": some size is 0 and every output is empty: a launch does nothing",
           "sizes of 1 and more, to see it run");

  if (source.forms)
    in.said.push_back(o.why ? source.forms->why(source.plan.row)
                            : fmt::format("form {} of {}, by row {}", source.plan.form,
                                          source.forms->forms().size(), source.plan.row));
  const auto shape = [](const Extent3& e) { return fmt::format("{}x{}x{}", e.x, e.y, e.z); };
  if (!o.grid.empty()) {
    in.geometry.grid = parse_extent("--grid", o.grid);
    if (const Extent3 whole{plan ? plan->grid[0] : 0, plan ? plan->grid[1] : 0, plan ? plan->grid[2] : 0};
        plan && shape(in.geometry.grid) != shape(whole))
      in.said.push_back("grid " + shape(in.geometry.grid) + " of " + shape(whole) + " by the manifest");
  } else if (plan) {
    in.geometry.grid = {plan->grid[0], plan->grid[1], plan->grid[2]};
    in.said.push_back("grid " + shape(in.geometry.grid) + " by the manifest");
  } else {
    in.said.push_back("grid 1x1x1, as --grid was not given");
  }
  const Extent3 block =
      manifest ? Extent3{manifest->block[0], manifest->block[1], manifest->block[2]} : Extent3{};
  if (!o.block.empty()) {
    in.geometry.block = parse_extent("--block", o.block);
    if (manifest && shape(in.geometry.block) != shape(block))
      refuse("--block " + o.block + ": the manifest's is " + shape(block),
             "no --block, or the code object in its place");
  } else if (manifest) {
    in.geometry.block = block;
    in.said.push_back("block " + shape(in.geometry.block) + " by the manifest");
  } else if (source.triton_block != 0) {
    in.geometry.block = {source.triton_block, 1, 1};
    in.said.push_back("block " + shape(in.geometry.block) + " by Triton's num_warps");
  } else {
    const Block b = block_of(kernel);
    in.geometry.block = b.extent;
    in.said.push_back("block " + shape(b.extent) + " by the code object (" + b.from + ")");
  }
  if (o.lds) {
    in.geometry.dynamic_lds = *o.lds;
  } else if (manifest) {
    in.geometry.dynamic_lds = manifest->lds;
  } else if (source.triton_lds) {
    in.geometry.dynamic_lds = *source.triton_lds;
    in.said.push_back(fmt::format("LDS +{} by Triton's shared", *source.triton_lds));
  } else if (kernel.descriptor.lds_bytes == 0 && uses_lds(in.object, kernel)) {
    refuse(demangled(kernel.name) +
               " reads or writes LDS and declares none: how much there is, its launch says",
           "--lds BYTES (Triton: `shared` in the .json beside the .hsaco, which may be given as FILE); --lds "
           "0 for none");
  }
  check_geometry(kernel, in.geometry, static_cast<unsigned>(machine::target(in.arch).lds_bytes));

  std::vector<std::string> names, spelled;
  std::vector<std::optional<ArgumentSpec>> defaults;
  if (manifest && !manifest->arguments.empty()) {
    for (const auto& a : manifest->arguments) names.push_back(a.name);
    defaults = defaults_of(*manifest, plan->sizes, std::filesystem::path(o.file).parent_path());
  } else {
    for (const auto& a : visible_arguments(kernel, o.arguments.size())) {
      names.push_back(a.name);
      spelled.emplace_back(a.pointer()   ? "in:FILE"
                           : a.size == 4 ? "i32:V or f32:V"
                           : a.size == 8 ? "i64:V or f64:V"
                                         : "bytes:HEX");
    }
    defaults.resize(names.size());
  }
  if (source.forms) {
    in.specs = of_form(*source.forms, source.plan.form, o.arguments, std::move(defaults));
  } else {
    in.specs = in_order(o.arguments, names, std::move(defaults), spelled);
  }
  for (std::size_t i = 0; i < in.specs.size(); ++i)
    if (in.specs[i].name.empty() && i < names.size()) in.specs[i].name = names[i];
  check_shared(in.specs, manifest, source.forms.has_value());
  if (manifest && manifest->arguments.size() == in.specs.size())
    check_pointers(*manifest, plan->sizes, in.specs);
  if (in.devices > 1) check_devices(*manifest, plan->sizes, in.specs);
  return in;
}

void add_launch_options(CLI::App& c, LaunchOptions& o) {
  c.add_option(
      "FILE", o.file,
      "HSACO, offload bundle, assembly, a launch manifest (inlay build, inlay run-with --keep, Triton's "
      "cache), or a bundle (inlay bundle, inlay build --for); - is standard input");
  c.add_option("--kernel", o.kernel, "Which kernel, when the file holds several");
  c.add_option("--grid", o.grid, "Workgroups: X,Y,Z; 1 when left out");
  c.add_option("--block", o.block,
               "Work-items of a workgroup: X,Y,Z; what the code object says when left out");
  c.add_option("--arg", o.arguments, argument_help);
  c.add_option("--size", o.sizes, "NAME=NUMBER: a size of a launch manifest");
  c.add_flag("--why", o.why,
             "Of a kernel with several forms: say which one is launched for these sizes, and why");
  c.add_option("--lds", o.lds, "Bytes of dynamic LDS")->check(CLI::Range(0, 163840));
  c.add_option("--arch", o.arch, machine::names(" or ") + ": which of a bundle, or what assembly is for");
}

} // namespace inlay::cli
