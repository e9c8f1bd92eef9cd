#include "build_manifest.h"

#include "exec_arguments.h"

#include <fmt/format.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/element.h>
#include <inlay/codegen/tile_order.h>
#include <inlay/kernels/build.h>

#include <algorithm>
#include <set>

namespace inlay::cli {

kernels::Flags with_fallbacks(const kernels::Kernel& kernel, kernels::Flags given) {
  for (const auto& f : kernel.flags()) given.try_emplace(f.name, f.fallback);
  return given;
}

launch::Made made_from(const kernels::Kernel& kernel, const kernels::Flags& flags,
                       const kernels::BuildOptions& options) {
  launch::Made out{kernel.name(), options.scheduler, options.loops, kernel.renamed(flags)};
  std::erase_if(out.options, [](const auto& f) { return f.second == "auto"; });
  return out;
}

namespace {

/// Tensors that the kernel takes to be 0: counters of tickets and turns, flags of devices, and outputs that parts are added to.
std::set<int> zeros_before(const codegen::Program& program) {
  std::set<int> out;
  for (const codegen::Ticket& t : program.tickets()) out.insert(t.tensor);
  for (const codegen::Turn& t : program.turns()) out.insert(t.tensor);
  for (const int flags : program.together().flags) out.insert(flags);
  each_op(program.body(), [&](const codegen::Op& op) {
    if (const auto* copy = std::get_if<codegen::CopyOp>(&op.what); copy && copy->combine && copy->to)
      out.insert(program.tensor(copy->to->tensor).memory());
  });
  return out;
}

/// Every axis has one stride, which is the product of the extents that follow.
bool lies_row_by_row(const codegen::Tensor& t) {
  if (!t.place.is_plain() || codegen::bits(t.element) < 8) return false;
  Sym product(1);
  for (std::size_t i = t.shape.size(); i-- > 0; product = product * t.shape[i]) {
    const SymLayout mode = t.shape.size() == 1 ? t.place.inner() : t.place.inner().mode(i);
    if (mode.modes().size() != 1 || !(mode.modes()[0].extent == t.shape[i]) ||
        !(mode.modes()[0].stride.scale == product))
      return false;
  }
  return true;
}

launch::Argument buffer_of(const codegen::Tensor& t, const std::set<int>& zeros) {
  launch::Argument out;
  out.kind = launch::Argument::Kind::buffer;
  out.name = t.name;
  out.type = to_string(t.element);
  out.output = t.output;
  if (t.device >= 0) out.device = static_cast<std::uint32_t>(t.device);
  if (t.output && t.in_place)
    out.before = launch::Argument::Before::data;
  else if (t.output && zeros.contains(t.id))
    out.before = launch::Argument::Before::zeros;
  // Up to the last element; strides in memory are not negative.
  std::vector<Sym> last;
  for (const Sym& extent : t.shape) last.push_back(extent - Sym(1));
  const Sym bits = (t.at(last) + Sym(1)) * Sym(codegen::bits(t.element));
  out.bytes = launch::Formula(to_string(floor_div(bits + Sym(7), Sym(8))));
  if (lies_row_by_row(t))
    for (const Sym& extent : t.shape) out.shape.emplace_back(to_string(extent));
  return out;
}

} // namespace

launch::Manifest manifest_of(const kernels::Artifact& artifact, const std::string& code,
                             const kernels::Flags& values) {
  const kernels::LaunchContract& c = artifact.contract;
  launch::Manifest m;
  m.kernel = artifact.kernel;
  m.arch = artifact.arch;
  m.code = code;
  for (const auto& s : c.sizes) {
    launch::Size size{s.name, s.least, s.most, s.multiple, std::nullopt};
    std::string option = s.name; // as the command line writes it
    std::replace(option.begin(), option.end(), '_', '-');
    if (const auto at = values.find(values.contains(option) ? option : s.name); at != values.end())
      if (const auto v = parse_number<std::int64_t>(at->second);
          v && *v >= s.least && *v <= s.most && *v % s.multiple == 0)
        size.value = *v;
    m.sizes.push_back(std::move(size));
  }
  const codegen::Program& program = artifact.source->program;
  const std::set<int> zeros = zeros_before(program);
  std::vector<const codegen::Tensor*> tensors; // in the order of the contract's buffers
  for (const codegen::Tensor& t : program.tensors())
    if (t.space == codegen::Space::global && t.addresses < 0) tensors.push_back(&t);
  for (const auto& a : c.arguments) {
    launch::Argument out;
    if (a.buffer) {
      const codegen::Tensor& t = *tensors.at(a.number);
      out = buffer_of(t, zeros);
      for (const codegen::Tensor& to : program.tensors())
        if (to.addresses == t.id) out.points_to.push_back(buffer_of(to, zeros));
      for (const codegen::Problems::Own& own : program.problems().sizes)
        if (own.table == t.id) out.values_of = to_string(own.size);
    } else {
      out.kind = launch::Argument::Kind::size;
      out.name = c.sizes.at(a.number).name;
      out.type = "i32";
    }
    m.arguments.push_back(std::move(out));
  }
  const auto tiles = [&](const kernels::LaunchContract::Axis& g) {
    if (g.size < 0 && !g.formula) return std::to_string((g.extent + g.tile - 1) / g.tile);
    const std::string name =
        g.formula ? "(" + g.formula.text() + ")" : c.sizes[static_cast<std::size_t>(g.size)].name;
    return g.tile == 1 ? name : fmt::format("({} + {})/{}", name, g.tile - 1, g.tile);
  };
  if (c.workers > 0) {
    m.grid[0] = launch::Formula(std::to_string(c.workers));
    std::string steps = tiles(c.summed);
    for (const auto& g : c.grid) steps += "*" + tiles(g);
    m.limits.push_back({launch::Formula(steps), codegen::Shares::most_steps, "trips of all tiles"});
  } else {
    for (const auto& g : c.grid) m.grid[static_cast<std::size_t>(g.axis)] = launch::Formula(tiles(g));
  }
  m.block = {static_cast<std::uint32_t>(c.threads), 1, 1};
  m.outputs_apart = true;
  if (c.devices > 1) {
    m.devices = static_cast<std::uint32_t>(c.devices);
    m.rank = c.sizes[c.rank].name;
    for (launch::Size& s : m.sizes)
      if (s.name == m.rank) s.value = 0; // each device's launch has its own
  }
  return m;
}

} // namespace inlay::cli
