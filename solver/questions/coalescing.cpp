// Cache lines of a wave. On numbers the definition is evaluated. On symbols each lane's byte address is lowered to a
// constant plus terms in symbols and in digits of symbolic instances; where the line size divides all the terms,
// floor(address / line) is floor(constant / line) plus a form, and lanes with equal forms share a line. Counting
// distinct forms counts at most too many lines, because two of them may meet for some values. That does not spoil the
// proof: when fewer bytes than one line are wasted in all with every form distinct, then fewer are when some coincide
// (a union of two lines' bytes wastes no more than either), and lines = ceil(bytes / line) exactly when the waste is less
// than a line.
#include "inlay/solver/coalescing.h"

#include "questions/statements.h"

#include <inlay/machine/target.h>

#include <algorithm>
#include <array>

namespace inlay::solver {
namespace {

constexpr auto memories = [] {
  std::array<GlobalMemory, machine::targets.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const machine::Target& t = machine::targets[i];
    all[i] = {t.name, static_cast<unsigned>(t.line_bytes), static_cast<unsigned>(t.segment_bytes)};
  }
  return all;
}();

// Disjoint intervals that cover the same bytes.
std::vector<std::pair<std::int64_t, std::int64_t>>
merged(std::vector<std::pair<std::int64_t, std::int64_t>> parts) {
  std::sort(parts.begin(), parts.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const auto& [from, to] : parts) {
    // Neighbours become one as well: then each interval after the first may share no byte, though a block,
    // with the one before.
    if (!out.empty() && from <= out.back().second) {
      out.back().second = std::max(out.back().second, to);
    } else {
      out.emplace_back(from, to);
    }
  }
  return out;
}

// Distinct blocks of `size` bytes in sorted disjoint intervals.
unsigned blocks(const std::vector<std::pair<std::int64_t, std::int64_t>>& parts, unsigned size) {
  unsigned count = 0;
  Wide last = 0;
  for (const auto& [from, to] : parts) {
    Wide first = floor_div(from, size), end = floor_div(to - 1, size);
    // An interval may begin in the block in which the one before it ended.
    if (count > 0) first = std::max(first, last + 1);
    if (end >= first) count += static_cast<unsigned>(end - first + 1);
    last = end;
  }
  return count;
}

unsigned ceil_div(std::uint64_t n, unsigned d) { return static_cast<unsigned>((n + d - 1) / d); }

std::string cost(const WaveAccess& w, const GlobalMemory& m) {
  return std::to_string(w.lines) + " lines of " + std::to_string(m.line_bytes) + " bytes (least " +
         std::to_string(w.least_lines) + "), " + std::to_string(w.segments) + " segments of " +
         std::to_string(m.segment_bytes) + " (least " + std::to_string(w.least_segments) +
         "); contiguous: " + std::to_string(w.lane_run) + " bytes a lane, " + std::to_string(w.wave_run) +
         " across lanes";
}

struct Question {
  const GlobalMemory& memory;
  unsigned lanes, values, element_bytes, allowed; // allowed 0: the least
  [[nodiscard]] bool holds(const WaveAccess& w) const {
    return w.torn_lane < 0 && w.lines <= (allowed == 0 ? w.least_lines : allowed);
  }
};

std::int64_t narrow(Wide v) {
  // A quarter of the range, so that shifts by a line and ends of vectors stay inside 64 bits without a check at every addition.
  if (v < INT64_MIN / 4 || v > INT64_MAX / 4) throw Overflow("a byte address beyond 64 bits");
  return static_cast<std::int64_t>(v);
}

// The instance at index `first` (of lane 0, value 0) of a concrete function.
template <class At>
WaveAccess instance(const Question& q, const At& at, Wide first) {
  return wave_access(
      q.memory,
      [&](unsigned lane, unsigned value) {
        Wide index = first + static_cast<Wide>(lane) + static_cast<Wide>(value) * static_cast<Wide>(q.lanes);
        return narrow(multiply(at(index), static_cast<Wide>(q.element_bytes)));
      },
      q.lanes, q.values, q.element_bytes);
}

// Replayed with the naive evaluator before anybody sees it.
Verdict refutation(const Engine& e, const Question& q, Wide first, const naive::Environment& env) {
  const Parts& a = e.a();
  WaveAccess w = instance(
      q, [&](Wide index) { return naive::at(a, index, env); }, first);
  // The one that was found used the compiled evaluator; both wrong in the same way is what this asks about.
  if (q.holds(w)) throw InternalError("prove coalesced: a counterexample that does not replay");
  auto byte = [&](int lane, int value) {
    Wide index = first + lane + static_cast<Wide>(value) * static_cast<Wide>(q.lanes);
    return to_string(multiply(naive::at(a, index, env), static_cast<Wide>(q.element_bytes)));
  };
  Verdict v;
  v.outcome = Outcome::refuted;
  v.property = "coalesced";
  v.method = "enumeration of lanes";
  v.notes = e.notes;
  Witness out;
  // Symbols beyond 64 bits cannot be told in a witness; the text below gives bytes, which were checked to
  // fit.
  for (const auto& [n, value] : env)
    if (value >= INT64_MIN && value <= INT64_MAX)
      out.symbols.emplace_back(n, static_cast<std::int64_t>(value));
  std::vector<Wide> at = naive::coordinate(a, first, env);
  std::string where;
  for (std::size_t k = 2; k < at.size(); ++k) where += (where.empty() ? "" : ",") + to_string(at[k]);
  if (!where.empty()) where = " of instance (" + where + ")";
  int lane = w.torn_lane >= 0 ? w.torn_lane : std::max(w.break_lane, 0);
  int value = w.torn_lane >= 0 ? w.torn_value : 0;
  out.index = narrow(first + lane + static_cast<Wide>(value) * static_cast<Wide>(q.lanes));
  for (Wide c : naive::coordinate(a, *out.index, env)) out.coordinate.push_back(narrow(c));
  if (w.torn_lane >= 0) {
    out.lhs = w.lane_run;
    out.rhs = q.values * q.element_bytes;
    out.text = "value " + std::to_string(value) + " of lane " + std::to_string(lane) + where +
               " is at byte " + byte(lane, value) + ", value 0 at byte " + byte(lane, 0) + ": no vector of " +
               std::to_string(*out.rhs) + " bytes";
  } else {
    out.lhs = w.lines;
    out.rhs = q.allowed == 0 ? w.least_lines : q.allowed;
    out.text = "the wave" + where + " touches " + cost(w, q.memory);
    if (w.break_lane >= 0)
      out.text += "; lane " + std::to_string(w.break_lane) + " is at byte " + byte(w.break_lane, 0) +
                  ", lane " + std::to_string(w.break_lane - 1) + " at byte " + byte(w.break_lane - 1, 0);
    else
      out.text += "; lane 0 begins at byte " + byte(0, 0);
  }
  v.witness = out;
  return v;
}

// Lines as forms, for one choice of the concrete instance coordinates.
bool symbolic_instance(Engine& e, const Question& q, const FormulaRef& address,
                       const std::vector<FormulaRef>& names, const std::vector<FormulaRef>& extents,
                       const std::vector<std::optional<Wide>>& fixed, WaveAccess& cost) {
  const auto line = static_cast<Wide>(q.memory.line_bytes);
  Lowering l(e.context);
  std::map<std::string, Form> bound;
  for (std::size_t k = 2; k < extents.size(); ++k) {
    if (fixed[k]) {
      bound[names[k]->name] = Lowering::constant(Poly(*fixed[k]));
      continue;
    }
    auto n = e.context.poly(extents[k]);
    if (!n) {
      e.obligation("a polynomial extent instead of " + to_string(extents[k]));
      return false;
    }
    bound[names[k]->name] = l.digit(l.root(*n));
  }
  std::vector<Form> at; // lane fastest
  for (unsigned value = 0; value < q.values; ++value)
    for (unsigned lane = 0; lane < q.lanes; ++lane) {
      bound[names[0]->name] = Lowering::constant(Poly(static_cast<Wide>(lane)));
      if (names.size() > 1) bound[names[1]->name] = Lowering::constant(Poly(static_cast<Wide>(value)));
      auto f = l.lower(address, bound);
      if (!f) {
        e.obligation(l.reason());
        return false;
      }
      at.push_back(Lowering::scale(*f, Poly(static_cast<Wide>(q.element_bytes))));
    }
  for (Form& f : at) f = l.normal(f);
  // The constant without symbols: the part of an address that is known exactly.
  auto number = [](const Form& f) {
    auto it = f.constant.terms().find(Monomial{});
    return it == f.constant.terms().end() ? Wide{0} : it->second;
  };
  // What all lanes share, the base, may be any multiple of the gcd of its coefficients; what they differ in has to be
  // a multiple of the line but for a number.
  Form base = at[0];
  base.constant = base.constant - Poly(number(base));
  Wide step = line;
  step = gcd(step, base.constant.content());
  for (const auto& [d, p] : base.linear) step = gcd(step, p.content());
  for (const auto& [m, p] : base.parity) step = gcd(step, p.content());
  struct Byte {
    std::size_t place;
    std::int64_t from;
  };
  std::vector<Form> places;
  std::vector<Byte> bytes;
  for (const Form& f : at) {
    Wide c = number(f);
    Form rest = l.normal(f + Lowering::scale(base, Poly(-1)));
    rest.constant = rest.constant - Poly(c);
    auto check = [&](const Poly& p) {
      if (p.is_zero() || p.content() % line == 0) return true;
      e.obligation(to_string(line) + " divides " + e.context.str(p));
      return false;
    };
    bool whole = check(rest.constant);
    for (const auto& [d, p] : rest.linear) whole = whole && check(p);
    for (const auto& [m, p] : rest.parity) whole = whole && check(p);
    if (!whole) return false;
    // Equal forms are equal for all symbols; different ones may meet, which only makes the count too large.
    auto it = std::find(places.begin(), places.end(), rest);
    if (it == places.end()) it = places.insert(places.end(), rest);
    bytes.push_back({static_cast<std::size_t>(it - places.begin()), narrow(c)});
  }
  // Values of a lane follow each other byte by byte, for all symbols: one instruction moves them, and their order in memory is its own.
  for (std::size_t k = q.lanes; k < bytes.size(); ++k) {
    const Byte& first = bytes[k % q.lanes];
    if (bytes[k].place == first.place &&
        bytes[k].from == first.from + static_cast<std::int64_t>(k / q.lanes) * q.element_bytes)
      continue;
    e.obligation("value " + std::to_string(k / q.lanes) + " of lane " + std::to_string(k % q.lanes) +
                 " continues its vector");
    return false;
  }
  // Every residue that the base can have modulo the line: a multiple of `step`, which divides the line, and no other.
  for (Wide shift = 0; shift < line; shift += step) {
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> parts(places.size());
    for (const Byte& b : bytes)
      parts[b.place].emplace_back(b.from + narrow(shift), b.from + narrow(shift) + q.element_bytes);
    std::uint64_t total = 0;
    WaveAccess w;
    // Form by form: inside of one the distances are numbers and lines are counted exactly; between two
    // nothing is known.
    for (auto& p : parts) {
      p = merged(p);
      for (const auto& [from, to] : p) total += static_cast<std::uint64_t>(to - from);
      w.lines += blocks(p, q.memory.line_bytes);
      w.segments += blocks(p, q.memory.segment_bytes);
    }
    w.least_lines = ceil_div(total, q.memory.line_bytes);
    w.least_segments = ceil_div(total, q.memory.segment_bytes);
    w.lane_run = q.values * q.element_bytes;
    unsigned run = 0;
    for (unsigned lane = 0; lane < q.lanes; ++lane) {
      // For the note alone: how far the wave continues lane by lane.
      bool goes_on = lane > 0 && bytes[lane].place == bytes[lane - 1].place &&
                     bytes[lane].from == bytes[lane - 1].from + w.lane_run;
      run = goes_on ? run + w.lane_run : w.lane_run;
      w.wave_run = std::max(w.wave_run, run);
    }
    // The worst residue is what the note tells.
    if (w.lines > cost.lines) cost = w;
    if (q.holds(w)) continue;
    e.obligation("at most " + std::to_string(q.allowed == 0 ? w.least_lines : q.allowed) +
                 " lines; there are " + std::to_string(w.lines) + " where " + e.context.str(base.constant) +
                 " is " + to_string(shift) + " modulo " + to_string(line));
    return false;
  }
  return true;
}

} // namespace

Verdict decide_coalesced(Engine& e, const GlobalMemory& memory, unsigned element_bytes, unsigned allowed) {
  const Parts& a = e.a();
  std::vector<FormulaRef> extents = extent_formulas(a);
  auto number = [&](std::size_t k, const char* what, Wide most) {
    auto n = e.context.poly(extents[k]);
    // Lanes and values are what one instruction moves, and it moves a number of them.
    if (!n || !n->constant() || *n->constant() > most)
      throw QuestionError("coalesced: mode " + std::to_string(k) + " counts " + what +
                          " and has to be a number up to " + to_string(most) + ", not " +
                          to_string(extents[k]) + "\n  in     " + a.text +
                          "\n  hint   group the modes: ((lane...),(value...),instance...)");
    return static_cast<unsigned>(*n->constant());
  };
  Question q{memory, number(0, "lanes", 64), extents.size() > 1 ? number(1, "values of a lane", 16) : 1,
             element_bytes, allowed};
  unsigned vector = q.values * element_bytes;
  if (vector != 1 && vector != 2 && vector != 4 && vector != 8 && vector != 12 && vector != 16)
    throw QuestionError("coalesced: a lane moves " + std::to_string(q.values) + " values of " +
                        std::to_string(element_bytes) + " bytes, " + std::to_string(vector) +
                        " in all\n  in     " + a.text +
                        "\n  hint   one instruction moves 1, 2, 4, 8, 12 or 16 bytes a lane; what is "
                        "beyond is a further instance mode");
  Wide per_instance = static_cast<Wide>(q.lanes) * static_cast<Wide>(q.values);
  // Symbols, and symbolic instances as digits; instances that are numbers one by one.
  auto by_forms = [&] {
    std::vector<FormulaRef> names;
    for (std::size_t k = 0; k < extents.size(); ++k) names.push_back(variable("\x02" + std::to_string(k)));
    FormulaRef address = expand(a, names);
    std::vector<std::optional<Wide>> fixed(extents.size());
    Wide instances = 1;
    std::vector<std::pair<std::size_t, Wide>> counted;
    for (std::size_t k = 2; k < extents.size(); ++k) {
      auto n = e.context.poly(extents[k]);
      auto c = n ? n->constant() : std::nullopt;
      // Others become digits, which may then have to be multiples of the line.
      if (!c || *c > 1024 || instances * *c > 1024) continue;
      instances *= *c;
      counted.emplace_back(k, *c);
    }
    WaveAccess worst;
    for (Wide i = 0; i < instances && !e.cancelled(); ++i) {
      Wide rest = i;
      for (const auto& [k, n] : counted) fixed[k] = rest % n, rest /= n;
      if (!symbolic_instance(e, q, address, names, extents, fixed, worst)) return false;
    }
    e.notes.push_back(cost(worst, memory));
    return !e.cancelled();
  };
  // Few assignments are looked at one by one, which is exact where forms may only overestimate.
  bool complete = e.context.finite(4096);
  if (!complete && by_forms()) return e.proved("lines as forms");
  std::optional<Verdict> found;
  WaveAccess worst;
  bool all = true;
  // Refuting takes few indices of each of many assignments; deciding a concrete one takes all of them.
  Wide share = e.concrete() ? e.evaluations() : std::min<Wide>(e.evaluations(), 1 << 12);
  e.context.search(complete ? 4096 : e.options.refuter_assignments, [&](const std::vector<Wide>& values) {
    if (e.cancelled()) return true;
    auto env = e.context.environment(values);
    Evaluator at(a, env);
    Wide size = at.size(), looked = 0;
    for (Wide first = 0; first < size && !found; first += per_instance) {
      if ((looked += per_instance) > share) {
        all = false;
        break;
      }
      try {
        WaveAccess w = instance(q, at, first);
        if (!q.holds(w)) found = refutation(e, q, first, env);
        if (w.lines > worst.lines) worst = w;
      } catch (const Overflow&) {
        all = false;
      }
    }
    return found.has_value();
  });
  if (found) return *found;
  if (e.cancelled()) return e.unknown();
  if (complete && all) {
    e.notes.push_back(cost(worst, memory));
    return e.proved("enumeration of lanes");
  }
  if (complete && by_forms()) return e.proved("lines as forms");
  if (e.concrete())
    e.obligation("enumeration of more than " + std::to_string(e.options.enumeration_limit) +
                 " indices (the limit; --limit N raises it)");
  return e.unknown();
}

const GlobalMemory& global_memory(std::string_view arch) {
  std::string known;
  const machine::Target* const target = machine::find_chip(arch);
  for (const GlobalMemory& m : memories) {
    if (target && m.arch == target->name) return m;
    known += (known.empty() ? "" : ", ") + std::string(m.arch);
  }
  throw QuestionError("coalesced: no cache lines are known for architecture '" + std::string(arch) +
                      "'\n  hint   one of " + known);
}

WaveAccess wave_access(const GlobalMemory& memory,
                       const std::function<std::int64_t(unsigned, unsigned)>& address, unsigned lanes,
                       unsigned values, unsigned element_bytes) {
  WaveAccess w;
  w.lane_run = values * element_bytes;
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  std::int64_t expected = 0;
  unsigned run = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    std::int64_t first = address(lane, 0);
    unsigned here = 0;
    for (unsigned value = 0; value < values; ++value) {
      std::int64_t byte = address(lane, value);
      parts.emplace_back(byte, byte + element_bytes);
      // Once torn, later elements that happen to stand right do not count: the run is from the first element
      // on.
      if (here == value * element_bytes && byte == first + here) here += element_bytes;
    }
    // The first one is told; a torn vector is no single access on this machine, whatever lines it touches.
    if (here < values * element_bytes && w.torn_lane < 0) {
      w.torn_lane = static_cast<int>(lane);
      w.torn_value = static_cast<int>(here / element_bytes);
    }
    w.lane_run = std::min(w.lane_run, here);
    if (lane > 0 && first != expected && w.break_lane < 0) w.break_lane = static_cast<int>(lane);
    run = lane > 0 && first == expected ? run + here : here;
    w.wave_run = std::max(w.wave_run, run);
    expected = first + here;
  }
  parts = merged(std::move(parts));
  std::uint64_t bytes = 0;
  for (const auto& [from, to] : parts) bytes += static_cast<std::uint64_t>(to - from);
  w.lines = blocks(parts, memory.line_bytes);
  w.segments = blocks(parts, memory.segment_bytes);
  w.least_lines = ceil_div(bytes, memory.line_bytes);
  w.least_segments = ceil_div(bytes, memory.segment_bytes);
  return w;
}

} // namespace inlay::solver
