#include "guards.h"

#include <algorithm>

namespace inlay::kernels::validate {

using codegen::Access;
using codegen::Code;
using codegen::CodeRegion;
using codegen::Inst;
using codegen::InstKind;
using codegen::Tensor;

std::int64_t entry_of_table(std::uint64_t random, std::int64_t extent, bool any) {
  switch (random % 8) {
  case 0: return any ? -1 : 0;
  case 1: return any ? extent : extent - 1;
  case 2: return extent - 1;
  default: return static_cast<std::int64_t>(random / 8 % static_cast<std::uint64_t>(extent));
  }
}

Guards::Guards(const Code& code)
    : code_(code), p_(*code.program), tid_(*codegen::work_item(*code.program).as_atom()) {}

const Guards::Prepared& Guards::prepared(const Inst& i) {
  const auto [at, fresh] = prepared_.try_emplace(&i);
  Prepared& p = at->second;
  if (!fresh) return p;
  const Tensor& t = p_.tensor(i.access.tensor);
  p.split = codegen::split(coordinates_, i.access, i.uses);
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
    p.thread.push_back(Places::along(i.access.threads, p_.threads(), axis));
    if (i.access.gathered(axis))
      p.rows.emplace_back(
          axis, codegen::row_symbol(p_, t, axis, i.uses[static_cast<std::size_t>(i.access.rows[axis])]));
  }
  for (int thread = 0; thread < p_.threads(); ++thread)
    if (i.waves.contains(thread / 64) && i.access.acts(thread)) p.acting.push_back(thread);
  return p;
}

std::optional<Guards::Mismatch> Guards::check(const Inst& i, Places& places, Assignment& numbers) {
  const Prepared& p = prepared(i);
  const Access& access = i.access;
  const Tensor& t = p_.tensor(access.tensor);
  const std::size_t axes = t.shape.size();
  const auto number = [&](Sym s) { return evaluate(s, numbers).value(); };
  std::vector<std::int64_t> origin, extent;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    origin.push_back(number(access.origin[axis]));
    extent.push_back(number(t.shape[axis]));
  }
  for (const auto& [axis, symbol] :
       p.rows) { // one entry for all work-items: which of them it is does not matter
    origin[axis] = entry_of_table(random_(), extent[axis], access.masked[axis]);
    numbers.set(symbol, Int(origin[axis]));
  }
  const auto count = static_cast<std::int64_t>(access.elements.size());
  std::vector<std::int64_t> c(axes);
  bool moved = false, exists = false; // by the masks; in the tensor
  const auto look = [&](int thread, std::size_t e) {
    moved = exists = true;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      c[axis] = origin[axis] + access.elements[e][axis] +
                (access.gathered(axis) ? 0 : p.thread[axis][static_cast<std::size_t>(thread)]);
      const bool inside = c[axis] >= 0 && c[axis] < extent[axis];
      exists = exists && inside;
      moved = moved && (inside || !access.masked[axis]);
    }
    if (t.space == codegen::Space::window) {
      const auto seen = places.seen(t, c); // what it looks at outside is compared, always
      exists = exists && seen;
      moved = moved && seen;
      if (seen) return places.of(p_.tensor(t.of), *seen);
    }
    return exists || !moved ? places.of(t, c) : 0;
  };
  // The last element inside and the first one outside, a few at the border between them, and any.
  std::vector<int> wanted;
  std::int64_t last = -1, first = INT64_MAX;
  int last_thread = -1, first_thread = -1, before = -1;
  bool moved_before = false;
  unsigned borders = 0;
  for (const int thread : p.acting)
    for (std::size_t e = 0; e < access.elements.size();
         e += std::max<std::size_t>(1, access.elements.size() - 1)) {
      const std::int64_t place = look(thread, e);
      if (exists && place > last) last = place, last_thread = thread;
      if (!moved && place >= 0 && place < first) first = place, first_thread = thread;
      if (before >= 0 && moved != moved_before && borders < 6) {
        ++borders;
        wanted.insert(wanted.end(), {before, thread});
      }
      before = thread;
      moved_before = moved;
    }
  if (last_thread >= 0) wanted.push_back(last_thread);
  if (first_thread >= 0) wanted.push_back(first_thread);
  for (int k = 0; k < 3 && !p.acting.empty(); ++k) wanted.push_back(p.acting[random_() % p.acting.size()]);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());

  const codegen::AddressSplit& s = p.split;
  const std::int64_t width = bits(t.element);
  const auto bytes = [&](std::int64_t elements) { return elements * width / 8; };
  const std::int64_t base = number(s.base), step = number(s.step);
  const std::int64_t records = s.far      ? INT64_MAX
                               : s.ends() ? bytes(number(s.records))
                                          : (std::int64_t{1} << 31) - 1;
  const std::int64_t size = std::max<std::int64_t>(1, bytes(count));
  for (const int thread : wanted) {
    numbers.set(tid_, Int(thread));
    const std::int64_t lane = number(s.lane) + s.immediate;
    bool passes = true;
    for (const auto& q : s.predicates) {
      const std::int64_t at = number(q.coordinate), room = number(q.room);
      passes =
          passes && (q.data ? static_cast<std::uint32_t>(at) < static_cast<std::uint32_t>(room) : at < room);
    }
    for (std::size_t e = 0; e < access.elements.size(); ++e) {
      const std::int64_t place = look(thread, e), n = static_cast<std::int64_t>(e);
      // By whole words; an access below a word as one. The scalar offset is compared, or not.
      const std::int64_t end = size < 4 ? size : bytes(n) / 4 * 4 + 4;
      const auto in_range = [&](std::int64_t more) {
        const std::int64_t begin = bytes(lane) + more;
        return begin >= 0 && begin + end <= records;
      };
      const bool without = in_range(0), with = s.far ? without : in_range(bytes(step));
      std::string what;
      if (exists && !(passes && with && without))
        what = passes ? "its descriptor ends before an element that is inside"
                      : "its predicates drop an element that is inside";
      else if (!moved && passes && (with || without))
        what = "its descriptor and predicates let an element through that is outside";
      else if (exists && base + step + lane + n != place)
        what = "its address is that of element " + std::to_string(base + step + lane + n) +
               ", the place is " + std::to_string(place);
      if (what.empty()) continue;
      std::string at;
      for (const std::int64_t x : c) at += (at.empty() ? "(" : ",") + std::to_string(x);
      return Mismatch{&i, thread,
                      std::string(i.kind == InstKind::load ? "the load of " : "the store to ") + t.name +
                          " is not what its masks say: " + what + ": " + at + ") of work-item " +
                          std::to_string(thread)};
    }
  }
  return std::nullopt;
}

std::optional<Guards::Mismatch> Guards::at(Assignment numbers, std::uint64_t seed) {
  random_.seed(seed);
  for (const codegen::Uniform& u : p_.uniforms()) {
    std::int64_t extent = 64;
    bool any = !codegen::is_bound(code_, u);
    for (const CodeRegion& r : code_.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (const Inst& i : *list)
          for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis)
            if (i.access.origin[axis] == u.symbol) {
              extent = evaluate(p_.tensor(i.access.tensor).shape[axis], numbers).value();
              any = any && axis < i.access.masked.size() && i.access.masked[axis];
            }
    numbers.set(u.symbol, Int(entry_of_table(random_(), extent, any)));
  }
  Places places(p_, numbers);
  for (const CodeRegion& r : code_.regions) {
    const bool runs = std::all_of(r.guards.begin(), r.guards.end(), [&](const codegen::Guard& g) {
      return (evaluate(g.condition.a, numbers) < evaluate(g.condition.b, numbers)) == g.holds;
    });
    if (!runs) continue;
    const std::int64_t trips = r.is_loop ? evaluate(r.trips, numbers).value() : 1;
    const auto list = [&](const std::vector<Inst>& all, std::int64_t trip) -> std::optional<Mismatch> {
      if (r.is_loop) numbers.set(r.trip, Int(trip));
      for (const Inst& i : all) {
        if ((i.kind != InstKind::load && i.kind != InstKind::store) ||
            p_.tensor(i.access.tensor).space == codegen::Space::lds ||
            (i.when && (evaluate(i.when->size, numbers).value() % i.when->modulus == 0) != i.when->divides))
          continue;
        if (auto bad = check(i, places, numbers)) return bad;
      }
      return std::nullopt;
    };
    if (auto bad = list(r.prologue, 0)) return bad;
    if (auto bad = trips > 1 || !r.is_loop ? list(r.body, 0) : std::nullopt) return bad;
    if (auto bad = trips > 2 ? list(r.body, trips - 2) : std::nullopt) return bad;
    if (auto bad = list(r.epilogue, trips - 1)) return bad;
  }
  return std::nullopt;
}

} // namespace inlay::kernels::validate
