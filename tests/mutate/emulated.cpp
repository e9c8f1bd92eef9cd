#include "emulated.h"

#include <inlay/codegen/address.h>
#include <inlay/codegen/emit_ir.h>
#include <inlay/codegen/nest.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/evaluate.h>
#include <inlay/kernels/launch.h>
#include <inlay/runtime/code_object.h>
#ifdef INLAY_VALIDATE
#include <inlay/validate/code.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

namespace inlay::mutate {
namespace {

using namespace codegen;

/// The element number of every coordinate, row-major.
std::vector<std::size_t> places(const Program& p, const Tensor& t, const Sizes& sizes) {
  Assignment at;
  for (std::size_t i = 0; i < sizes.size(); ++i) at.set(p.sizes()[i].symbol, Int(sizes[i]));
  const std::vector<std::int64_t> extents = kernels::extents_of(p, t, sizes);
  std::vector<Sym> coordinate;
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    coordinate.push_back(p.symbols().symbol("_place" + std::to_string(axis), {Int(0), std::nullopt}));
  const Sym place = t.at(coordinate);
  std::vector<std::size_t> out;
  std::vector<std::int64_t> c(extents.size(), 0);
  while (true) {
    for (std::size_t axis = 0; axis < c.size(); ++axis) at.set(coordinate[axis], Int(c[axis]));
    out.push_back(static_cast<std::size_t>(evaluate(place, at).value()));
    std::size_t axis = c.size();
    while (axis > 0 && ++c[axis - 1] == extents[axis - 1]) c[--axis] = 0;
    if (axis == 0) return out;
  }
}

/// Of a table: the extent of the axis that it names indices of, or of what it bounds.
std::int64_t named(const Program& p, const Tensor& table, const Sizes& sizes) {
  std::int64_t most = 1;
  for (const auto& s : p.specifications()) {
    most = std::max(most, kernels::extents_of(p, p.tensor(s.tensor), sizes)[0]);
    (void)p.expressions().rewrite(s.value, [&](const ExprNode& n) -> std::optional<Expr> {
      for (std::size_t axis = 0; axis < n.through.size(); ++axis)
        if (n.through[axis] == table.id) most = kernels::extents_of(p, p.tensor(n.tensor), sizes)[axis];
      return std::nullopt;
    });
  }
  return most;
}

/// The same, where the result of every step on numbers is wrong by up to 2^-20 of it, each by another part: of what differs the rounding is
/// most, as of (a + 1) - a for a large a.
std::vector<double> roughly(const Program& p, Program::Specification s,
                            const kernels::EvaluationInput& input) {
  int step = 0;
  s.value = p.expressions().rewrite(s.value, [&](const ExprNode& n) -> std::optional<Expr> {
    switch (n.fn) {
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::div:
    case Fn::exp:
    case Fn::exp2:
    case Fn::log:
    case Fn::log2:
    case Fn::power: break;
    case Fn::fold:
      if (n.monoid == Monoid::sum) break;
      return std::nullopt;
    default: return std::nullopt;
    }
    const double part = std::fmod(0.618 * ++step, 1) - 0.5;
    return p.expressions().make(n) * (1 + 0x1p-19 * part);
  });
  return kernels::evaluate(p, s, input);
}

std::string run(const Code& code, const kernels::Artifact& artifact, const Sizes& sizes, std::uint64_t seed) {
  const Program& p = *code.program;
  std::mt19937_64 random(seed);
  const bool integers = p.name() == "integers"; // all of 32 bits
  const bool exact =
      integers || p.name() == "elements"; // few bits, which no operation rounds: only what is stored is
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto once = [&](const Tensor& t) { // no two of whose entries name one row
    return std::any_of(p.specifications().begin(), p.specifications().end(),
                       [&](const auto& s) { return s.replaces && s.table == t.id; });
  };
  const auto starts_at_0 = [&](const Tensor& t) {
    const std::vector<int>& flags = p.together().flags;
    if (std::find(flags.begin(), flags.end(), t.id) != flags.end()) return true;
    for (const CodeRegion& r : code.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (const Inst& i : *list)
          if (i.access.tensor == t.id && (i.ticket >= 0 || i.turn >= 0 || i.combine)) return true;
    return false;
  };
  kernels::EvaluationInput input{sizes, {}};
  std::vector<kernels::Bytes> buffers;
  std::map<int, std::vector<std::size_t>> where;
  for (const Tensor& t : p.tensors()) {
    if (t.space != Space::global) continue;
    const std::vector<std::size_t>& at = where[t.id] = places(p, t, sizes);
    const auto size = static_cast<std::size_t>(bits(t.element) / 8);
    const bool zero = starts_at_0(t);
    // What nobody writes is no number.
    kernels::Bytes bytes((*std::max_element(at.begin(), at.end()) + 1) * size, std::byte(zero ? 0 : 0xff));
    if (!t.output || t.in_place) {
      std::vector<double>& values = input.tensors[t.id];
      const bool whole = t.element == Element::i32 || t.element == Element::i64;
      const std::int64_t most = whole ? named(p, t, sizes) : 0;
      const auto of_table = [&](const Uniform& u) { return u.tensor == t.id; };
      const bool names = std::none_of(p.uniforms().begin(), p.uniforms().end(), of_table);
      const bool in_trips = std::any_of(p.uniforms().begin(), p.uniforms().end(), [&](const Uniform& u) {
        return of_table(u) && !trips_of(p, u).empty();
      });
      // Past 32 bits, but for bounds, of which the launch says that they are not.
      const bool wide = t.element == Element::i64 &&
                        std::none_of(p.uniforms().begin(), p.uniforms().end(),
                                     [&](const Uniform& u) { return of_table(u) && is_bound(code, u); });
      std::map<std::size_t, double> there; // coordinates may share a place
      for (const std::size_t place : at) {
        if (const auto same = there.find(place); same != there.end()) {
          values.push_back(same->second);
          continue;
        }
        double v = in_trips ? std::floor(6 * uniform()) - 2
                   : t.element == Element::i8 && p.name() == "counts"
                       ? static_cast<double>(random() % 256) - 128
                   : whole && integers ? std::floor((uniform() - 0.5) * 0x1p32)
                   : whole ? std::floor((uniform() - (names ? 0.25 : 0)) * static_cast<double>(most + 2))
                   : exact ? static_cast<double>(random() % 7) - 3
                           : rounded(t.element, 0.5 + uniform(), Overflow::saturate);
        if (once(t) && std::find(values.begin(), values.end(), v) != values.end())
          v = random() % 2 == 0 ? -1 : static_cast<double>(most);
        std::uint64_t word = encode(t.element, v);
        if (wide && random() % 3 == 0) { // what the lower half says is an entry like others
          const std::int64_t high = std::array<std::int64_t, 5>{1, -1, 2, -2, INT32_MIN}[random() % 5];
          word += static_cast<std::uint64_t>(high) << 32;
          v = std::clamp(static_cast<double>(static_cast<std::int64_t>(word)), -0x1p31, 0x1p31 - 1);
        }
        values.push_back(there[place] = v);
        for (std::size_t b = 0; b < size; ++b)
          bytes[place * size + b] = static_cast<std::byte>(word >> (8 * b));
      }
    }
    buffers.push_back(std::move(bytes));
  }
  const auto device = kernels::open_device("emulator", artifact.arch, {.checks = runtime::Checks::all()});
  const std::vector<kernels::Bytes> after = kernels::run(*device, artifact, buffers, sizes);
  std::size_t number = 0;
  for (int rank = 0; rank < artifact.contract.devices; ++rank)
    for (const Tensor& t : p.tensors()) {
      if (t.space != Space::global) continue;
      const kernels::Bytes& bytes = after[number++];
      const Program::Specification* s = p.specification(t);
      if (!s) continue;
      for (std::size_t i = 0; i < sizes.size(); ++i)
        if (p.together().count > 0 && p.sizes()[i].symbol == p.together().rank) input.sizes[i] = rank;
      const std::vector<double> wanted = kernels::evaluate(p, *s, input);
      std::vector<double> near; // where it is asked for
      const auto size = static_cast<std::size_t>(bits(t.element) / 8);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        std::uint64_t word = 0;
        for (std::size_t b = 0; b < size; ++b)
          word |= std::to_integer<std::uint64_t>(bytes[where[t.id][i] * size + b]) << (8 * b);
        const double got = decode(t.element, word), bound = 1e-2 * (1 + std::abs(wanted[i]));
        if (exact && got == rounded(t.element, wanted[i], Overflow::saturate)) continue;
        const bool other = std::isinf(wanted[i])
                               ? got != wanted[i]
                               : std::abs(wanted[i]) < 1e6 && !(std::abs(got - wanted[i]) <= bound);
        if (other && !exact && near.empty()) near = roughly(p, *s, input);
        if (exact || (other && !(std::abs(got - wanted[i]) <= 4 * std::abs(near[i] - wanted[i]))))
          return t.name + ": element " + std::to_string(i) + " is " + std::to_string(got) +
                 " on the emulator, not " + std::to_string(wanted[i]);
      }
    }
  return "";
}

} // namespace

Machine::Machine(const Code& code) : code_(code) {
  const Program& p = *code.program;
  artifact_.kernel = p.name();
  artifact_.arch = std::string(p.target().name);
  artifact_.contract = kernels::contract_of(p);
  bool keep_order = false;
  for (const CodeRegion& r : code.regions) keep_order = keep_order || r.exact;
  artifact_.hsaco = emit(emit_ir(code), p.target(), {.keep_order = keep_order}).hsaco;
}

std::string Machine::wrong(const std::vector<Sizes>& sizes) const {
  std::uint64_t seed = 0;
  for (const Sizes& s : sizes) try {
      if (std::string what = run(code_, artifact_, s, ++seed); !what.empty()) {
        for (std::size_t i = 0; i < s.size(); ++i) what += (i == 0 ? ", sizes " : " ") + std::to_string(s[i]);
        return what;
      }
    } catch (const std::exception& e) {
      return e.what();
    }
  return "";
}

std::string emulated(const Code& code, const std::vector<Sizes>& sizes) { return Machine(code).wrong(sizes); }

#ifdef INLAY_VALIDATE
Machine::Verdict Machine::against(const Code& code) const {
  using runtime::symbolic::Verdict;
  constexpr std::uint64_t some_seconds = 3000000;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact_.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + artifact_.hsaco.size()});
  const auto report = kernels::validate::validate_code(object, object.kernel(artifact_.kernel), code,
                                                       {.budget = some_seconds});
  if (report.verdict == Verdict::validated) return {Machine::Verdict::validated, ""};
  if (report.verdict == Verdict::undecided)
    return {Machine::Verdict::undecided, report.undecided.empty() ? "" : report.undecided[0]};
  return {Machine::Verdict::refuted, report.refuted.empty() ? "its order" : report.refuted[0].message};
}
#else
Machine::Verdict Machine::against(const Code&) const {
  return {Machine::Verdict::undecided, "built without inlay_validate"};
}
#endif

} // namespace inlay::mutate
