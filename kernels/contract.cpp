#include "refusal.h"

#include <inlay/kernels/artifact.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/sym.h>
#include <inlay/codegen/tile_order.h>
#include <inlay/launch/limits.h>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace inlay::kernels {

LaunchPlan LaunchContract::plan(const std::vector<std::int64_t>& values) const {
  const Refusal refuse{kernel};
  if (values.size() != sizes.size())
    refuse(fmt::format("{} sizes were given", values.size()), fmt::format("the kernel has {}", sizes.size()));
  // A size of 0 is nothing to do where it leaves nothing to write. Else (K = 0 of a product) what is to be written does not come from
  // the kernel's loop, and it is refused.
  const bool nothing = nothing_to_write(values);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Size& s = sizes[i];
    if (const auto no = launch::refused_size(s.name, values[i], s.least, s.most, s.multiple, nothing))
      refuse(no->what, no->hint);
  }
  LaunchPlan plan;
  const auto tiles = [&](const Axis& g) {
    const std::int64_t extent = g.formula     ? g.formula(values)
                                : g.size >= 0 ? values[static_cast<std::size_t>(g.size)]
                                              : g.extent;
    return extent / g.tile + (extent % g.tile != 0 ? 1 : 0);
  };
  if (workers > 0 && !nothing) {
    constexpr std::int64_t most = codegen::Shares::most_steps;
    std::int64_t steps = tiles(summed);
    for (const Axis& g : grid) steps = std::min(steps, most + 1) * tiles(g); // below 2^62
    if (steps > most)
      refuse(fmt::format("more than {} trips of all tiles", most), "larger tiles or a launch for each part");
    plan.grid[0] = static_cast<std::uint32_t>(workers);
  }
  for (const Axis& g : workers > 0 || nothing ? std::vector<Axis>() : grid) {
    const std::int64_t items = g.axis == 0 ? threads : 1, count = tiles(g);
    const std::int64_t most = launch::most_workgroups(static_cast<std::size_t>(g.axis), items);
    if (count > most)
      refuse(fmt::format("{} workgroups of {} work-items along axis {}", count, items, "xyz"[g.axis]),
             fmt::format("at most {}{}; larger tiles or a launch for each part", most,
                         most < INT32_MAX && g.axis == 0 ? ", which is below 2^32 work-items" : ""));
    plan.grid[static_cast<std::size_t>(g.axis)] = static_cast<std::uint32_t>(count);
  }
  if (nothing) plan.grid = {0, 0, 0};
  plan.block = {static_cast<std::uint32_t>(threads), 1, 1};
  for (const Argument& a : arguments)
    plan.arguments.push_back(a.buffer ? LaunchArgument::of_buffer(static_cast<int>(a.number))
                                      : LaunchArgument::of_i32(static_cast<std::int32_t>(values[a.number])));
  return plan;
}

LaunchPlan LaunchContract::of_device(LaunchPlan plan, int number) const {
  for (std::size_t i = 0; i < plan.arguments.size() && devices > 1; ++i)
    if (!arguments.at(i).buffer && arguments[i].number == rank)
      plan.arguments[i] = LaunchArgument::of_i32(number);
  return plan;
}

struct SizeFormula::Parsed {
  std::string text;
  SymContext context;
  std::vector<Sym> names;
  Sym formula{};
};

SizeFormula::SizeFormula(const std::string& text, const std::vector<std::string>& names) {
  auto parsed = std::make_shared<Parsed>();
  parsed->text = text;
  for (const std::string& n : names)
    parsed->names.push_back(parsed->context.symbol(n, Interval{Int(0), std::nullopt}));
  parsed->formula = parse_sym(parsed->context, text, UnknownSymbol::refuse);
  parsed_ = std::move(parsed);
}

std::string SizeFormula::text() const { return parsed_ ? parsed_->text : ""; }

std::int64_t SizeFormula::operator()(const std::vector<std::int64_t>& values) const {
  Assignment all;
  for (std::size_t i = 0; i < parsed_->names.size(); ++i) all.set(parsed_->names[i], Int(values.at(i)));
  try {
    return evaluate(parsed_->formula, all).value();
  } catch (const OverflowError&) {
    return INT64_MAX;
  }
}

Problem zeros(const LaunchContract& contract, const std::vector<std::int64_t>& sizes) {
  Problem out;
  out.launch = contract.plan(sizes);
  const auto bytes = [](std::int64_t n) {
    return Bytes(static_cast<std::size_t>(std::max<std::int64_t>(n, 16)));
  };
  for (const auto& b : contract.buffers) out.buffers.push_back({b.name, bytes(b.bytes(sizes)), b.output});
  for (std::size_t i = 0; i < contract.buffers.size(); ++i) {
    const LaunchContract::Buffer& b = contract.buffers[i];
    for (std::int64_t z = 0; b.points_to && z < b.bytes(sizes) / 8; ++z) {
      out.buffers[i].points_to.push_back(static_cast<int>(out.buffers.size()));
      out.buffers.push_back({b.name + " of a problem", bytes(b.points_to(sizes) / 8 + 1), false});
    }
    if (b.own < 0) continue;
    const auto value = static_cast<std::int32_t>(sizes.at(static_cast<std::size_t>(b.own)));
    for (std::int64_t z = 0; z < b.bytes(sizes) / 4; ++z)
      std::memcpy(out.buffers[i].data.data() + 4 * z, &value, sizeof value);
  }
  return out;
}

bool LaunchContract::nothing_to_write(const std::vector<std::int64_t>& values) const {
  if (values.empty() || *std::min_element(values.begin(), values.end()) != 0) return false;
  std::size_t outputs = 0;
  for (const Buffer& b : buffers) {
    if (b.output && !b.empty(values)) return false;
    outputs += b.output;
  }
  return outputs > 0;
}

std::int64_t LaunchContract::Buffer::bytes(const std::vector<std::int64_t>& values) const {
  const std::int64_t n = bits ? bits(values) : 0;
  return std::max<std::int64_t>(n / 8 + (n % 8 != 0 ? 1 : 0), 1);
}

bool LaunchContract::Buffer::empty(const std::vector<std::int64_t>& values) const {
  return bits && bits(values) <= 0;
}

void LaunchContract::check_addresses(const std::vector<std::uint64_t>& addresses,
                                     const std::vector<std::int64_t>& values) const {
  const auto empty = [&](std::size_t i) { return buffers[i].empty(values); };
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (const auto no =
            launch::refused_address(buffers[i].name, addresses[i], empty(i) ? 0 : buffers[i].bytes(values)))
      throw std::invalid_argument(fmt::format("{}: {}\n  hint   {}", kernel, no->what, no->hint));
  const auto end = [&](std::size_t i) {
    return addresses[i] + static_cast<std::uint64_t>(buffers[i].bytes(values));
  };
  for (std::size_t o = 0; o < buffers.size(); ++o)
    for (std::size_t i = 0; buffers[o].output && !empty(o) && i < buffers.size(); ++i)
      if (i != o && !empty(i) && addresses[o] < end(i) && addresses[i] < end(o))
        throw std::invalid_argument(
            fmt::format("{}: the output {} shares memory with {}\n  {} at {:#x} to {:#x}, {} at {:#x} to "
                        "{:#x}\n  hint   a buffer of its own: the "
                        "kernel may write before it has read",
                        kernel, buffers[o].name, buffers[i].name, buffers[o].name, addresses[o], end(o),
                        buffers[i].name, addresses[i], end(i)));
}

} // namespace inlay::kernels
