#include "problem.h"
#include "with_data.h"

#include <inlay/kernels/build.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>

namespace inlay::kernels {
namespace {

using codegen::Tensor;

std::size_t count(const std::vector<std::int64_t>& extents) {
  std::size_t n = 1;
  for (const std::int64_t e : extents) n *= static_cast<std::size_t>(e);
  return n;
}

/// The element number of every coordinate, row-major over coordinates: plain digits of each mode, none of the algebra.
std::vector<std::size_t> places(const codegen::Program& program, const Tensor& t,
                                const std::vector<std::int64_t>& sizes) {
  Assignment at;
  for (std::size_t i = 0; i < sizes.size(); ++i) at.set(program.sizes()[i].symbol, Int(sizes[i]));
  std::vector<std::size_t> out{0};
  const std::vector<std::int64_t> extents = extents_of(program, t, sizes);
  const SymLayout& inner = t.place.inner();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const SymLayout mode = extents.size() == 1 ? inner : inner.mode(axis);
    std::vector<std::size_t> along;
    for (std::int64_t c = 0; c < extents[axis]; ++c) {
      std::int64_t rest = c, sum = 0;
      for (std::size_t k = 0; k < mode.modes().size(); ++k) {
        const std::int64_t extent = inlay::evaluate(mode.modes()[k].extent, at).value(),
                           stride = inlay::evaluate(mode.modes()[k].stride.scale, at).value();
        const bool last = k + 1 == mode.modes().size();
        sum += (last ? rest : rest % extent) * stride;
        rest /= extent;
      }
      along.push_back(static_cast<std::size_t>(sum));
    }
    std::vector<std::size_t> next;
    next.reserve(out.size() * along.size());
    for (const std::size_t o : out)
      for (const std::size_t a : along) next.push_back(o + a);
    out = std::move(next);
  }
  return out;
}

} // namespace

namespace {

/// Bytes of memory that this process can have without swapping, by the kernel's MemAvailable and the limit of its control group; nothing
/// where neither is said. Sources: proc_meminfo(5), Linux's cgroup-v2 documentation.
std::optional<std::uint64_t> free_memory() {
  std::optional<std::uint64_t> least;
  std::ifstream lines("/proc/meminfo");
  for (std::string name, line; lines >> name; std::getline(lines, line))
    if (std::uint64_t kib = 0; name == "MemAvailable:" && lines >> kib) least = kib * 1024;
  std::ifstream most_of_group("/sys/fs/cgroup/memory.max"), used_of_group("/sys/fs/cgroup/memory.current");
  if (std::uint64_t most = 0, used = 0; most_of_group >> most && used_of_group >> used) // "max" is no number
    least = std::min(least.value_or(UINT64_MAX), most - std::min(most, used));
  return least;
}

/// "4.4 TB".
std::string in_words(double bytes) {
  constexpr const char* units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

} // namespace

LaunchPlan plan_with_data(const codegen::Program& program, const std::vector<std::int64_t>& sizes) {
  const LaunchContract contract = contract_of(program);
  LaunchPlan plan = contract.plan(sizes);
  double all = 0;
  std::string largest;
  double most = 0;
  std::size_t i = 0;
  for (const Tensor& t : program.tensors()) {
    if (t.space != codegen::Space::global || t.addresses >= 0) continue;
    const auto bytes = static_cast<double>(contract.buffers.at(i++).bytes(sizes));
    const double elements = bytes * 8 / codegen::bits(t.element);
    all += 2 * bytes + 8 * elements * (t.output ? 2 : 1);
    if (bytes > most) most = bytes, largest = t.name;
  }
  if (const auto there = free_memory(); there && all > static_cast<double>(*there))
    throw std::invalid_argument(fmt::format(
        "{}: data for these sizes take {} of memory ({} alone has {}; on the host, on the emulated device "
        "and as "
        "doubles to compare with), and {} are free\n  hint   smaller sizes; inlay build needs no data",
        program.name(), in_words(all), largest, in_words(most), in_words(static_cast<double>(*there))));
  return plan;
}

Workload::Workload(codegen::Program program, std::vector<std::int64_t> sizes)
    : program_(std::move(program)), sizes_(std::move(sizes)),
      plan_(plan_with_data(program_, sizes_)) { // refuses sizes that the kernel does not cover
  input_.sizes = sizes_;
}

const Tensor& Workload::tensor(const std::string& name) const {
  for (const Tensor& t : program_.tensors())
    if (t.name == name) return t;
  throw std::invalid_argument(fmt::format("{} has no tensor '{}'", program_.name(), name));
}
std::vector<std::int64_t> Workload::extents(const std::string& name) const {
  return extents_of(program_, tensor(name), sizes_);
}
const std::vector<double>& Workload::nothing_for(const std::string& name) const {
  return input_.tensors.at(tensor(name).id);
}

void Workload::set(const std::string& name, std::vector<double> values) {
  const Tensor& t = tensor(name);
  if (values.size() != count(extents(name)))
    throw std::invalid_argument(
        fmt::format("{}: {} values for {} elements", name, values.size(), count(extents(name))));
  for (double& v : values) v = codegen::rounded(t.element, v, codegen::Overflow::saturate);
  const auto [at, is_new] = input_.tensors.insert_or_assign(t.id, std::move(values));
  if (is_new) given_.emplace_back(name, &at->second);
}

void Workload::random(const std::string& name, std::uint64_t seed, double scale, bool positive) {
  std::mt19937_64 random(seed);
  std::vector<double> values(count(extents(name)));
  for (double& v : values) {
    const double u = uniform(random);
    v = scale * (positive ? 1 - std::abs(u) / 2 : u);
  }
  set(name, std::move(values));
}

std::vector<double> Workload::reference(const std::string& output, const std::vector<std::string>& absolute,
                                        codegen::Expr other) const {
  const Tensor& t = tensor(output);
  EvaluationInput input = input_;
  for (const std::string& name : absolute)
    for (double& v : input.tensors.at(tensor(name).id)) v = std::abs(v);
  const auto* found = program_.specification(t);
  if (found == nullptr) throw std::invalid_argument(fmt::format("nothing says what {} is", output));
  codegen::Program::Specification s = *found;
  if (other) s.value = other;
  return evaluate(program_, s, input);
}

void Workload::check_names_once(const codegen::Program::Specification& spec) const {
  const Tensor &t = program_.tensor(spec.tensor), &table = program_.tensor(spec.table);
  const std::int64_t rows = extents(t.name)[0];
  std::map<double, std::size_t> by;
  for (std::size_t s = 0; const double row : values(table.name)) {
    const auto [other, first] = by.emplace(row, s);
    if (!first && row >= 0 && row < static_cast<double>(rows))
      throw std::invalid_argument(
          fmt::format("{}: entries {} and {} of {} both name row {} of {}\n  hint   a row is stored once",
                      program_.name(), other->second, s, table.name, row, t.name));
    ++s;
  }
}

Problem Workload::problem() const {
  Problem out;
  out.launch = plan_;
  for (const Tensor& t : program_.tensors()) {
    if (t.space != codegen::Space::global) continue;
    const std::vector<std::size_t> at = places(program_, t, sizes_);
    const auto last = std::max_element(at.begin(), at.end()); // none of an axis of 0
    const auto all = static_cast<std::size_t>(
        bytes_of(t.element, last == at.end() ? 0 : static_cast<std::int64_t>(*last + 1)));
    const auto* spec = program_.specification(t);
    const auto counts = [&](const auto& x) { return x.tensor == t.id; };
    const bool zero = (t.output && t.device >= 0) ||                              // flags of devices
                      (spec != nullptr && spec->table >= 0 && !spec->replaces) || // rows are added to 0
                      std::any_of(program_.tickets().begin(), program_.tickets().end(), counts) ||
                      std::any_of(program_.turns().begin(), program_.turns().end(), counts);
    Bytes bytes = zero ? Bytes(all) : poison(all);
    if (const auto found = input_.tensors.find(t.id); found != input_.tensors.end())
      for (std::size_t i = 0; i < at.size(); ++i)
        put_code(bytes, at[i], t.element, codegen::encode(t.element, found->second[i]));
    if (spec != nullptr && spec->replaces) check_names_once(*spec);
    out.buffers.push_back({t.name, std::move(bytes), t.output && t.device < 0});
  }
  return out;
}

std::vector<double> Workload::result(const std::string& output, std::span<const Bytes> buffers) const {
  const Tensor& t = tensor(output);
  std::size_t number = 0;
  for (const Tensor& other : program_.tensors()) {
    if (other.id == t.id) break;
    number += other.space == codegen::Space::global ? 1 : 0;
  }
  std::vector<double> out;
  for (const std::size_t at : places(program_, t, sizes_))
    out.push_back(codegen::decode(t.element, code_at(buffers[number], at, t.element)));
  return out;
}

Problem together(const codegen::Program& program, const std::vector<std::int64_t>& sizes,
                 std::vector<Problem> each, const std::vector<std::vector<std::int64_t>>& own) {
  Problem out;
  const codegen::Problems& problems = program.problems();
  out.launch = plan_with_data(program, sizes);
  for (const Tensor& table : program.tensors()) {
    if (table.space != codegen::Space::global || table.addresses >= 0) continue;
    Problem::Buffer& b = out.buffers.emplace_back(Problem::Buffer{table.name, {}, false});
    for (std::size_t s = 0; s < problems.sizes.size(); ++s)
      if (problems.sizes[s].table == table.id)
        for (const std::vector<std::int64_t>& of : own) {
          const auto value = static_cast<std::int32_t>(of.at(s));
          const auto bytes = std::as_bytes(std::span(&value, 1));
          b.data.insert(b.data.end(), bytes.begin(), bytes.end());
        }
  }
  std::vector<std::size_t> tables; // of the tensors in the order in which a problem has its buffers
  for (const Tensor& t : program.tensors()) {
    if (t.addresses < 0) continue;
    const std::string& name = program.tensor_name(t.addresses);
    tables.push_back(static_cast<std::size_t>(
        std::find_if(out.buffers.begin(), out.buffers.end(), [&](const auto& b) { return b.name == name; }) -
        out.buffers.begin()));
  }
  struct Part {
    std::size_t begin, count;
    std::function<Check(std::span<const Bytes>)> check;
  };
  std::vector<Part> parts;
  for (std::size_t z = 0; z < each.size(); ++z) {
    Problem& one = each[z];
    parts.push_back({out.buffers.size(), one.buffers.size(), std::move(one.check)});
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const bool there = i < one.buffers.size();
      Problem::Buffer& table = out.buffers[tables[i]];
      table.data.resize(table.data.size() + 8);
      table.points_to.push_back(there ? static_cast<int>(out.buffers.size()) : -1);
      if (!there) continue;
      one.buffers[i].name += fmt::format(" of problem {}", z);
      out.buffers.push_back(std::move(one.buffers[i]));
    }
    out.flops += one.flops;
  }
  out.check = [parts = std::move(parts)](std::span<const Bytes> buffers) {
    std::optional<Check> all;
    for (std::size_t z = 0; z < parts.size(); ++z) {
      if (!parts[z].check) continue;
      Check one = parts[z].check(buffers.subspan(parts[z].begin, parts[z].count));
      if (!one.message.empty()) one.message = fmt::format("problem {}: {}", z, one.message);
      if (all) one.bound = all->bound;
      all = all ? both(*all, one) : one;
    }
    Check nothing;
    nothing.ok = true;
    return all.value_or(nothing);
  };
  return out;
}

Check compare(const std::vector<double>& result, const std::vector<double>& reference,
              const std::vector<double>& bound, std::int64_t last, const std::string& formula) {
  const auto rows = static_cast<Eigen::Index>(reference.size()) / last;
  const auto matrix = [&](const std::vector<double>& v) {
    return Matrix(Eigen::Map<const Matrix>(v.data(), rows, last));
  };
  return compare(matrix(result), matrix(reference), matrix(bound), formula);
}

} // namespace inlay::kernels
