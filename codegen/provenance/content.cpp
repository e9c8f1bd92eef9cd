#include "content.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/small_vector.h>

#include <algorithm>
#include <bit>
#include <set>
#include <span>

namespace inlay::codegen::provenance {
namespace {

std::uint64_t scramble(std::uint64_t x) { // splitmix64
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::string text(Wide v) {
  if (v < 0) return "-" + text(-v);
  const auto digit = static_cast<char>('0' + static_cast<int>(v % 10));
  return v < 10 ? std::string(1, digit) : text(v / 10) + digit;
}

std::int64_t number(Sym s, const Assignment& at) { return evaluate(s, at).value(); }

/// What a coordinate along one axis adds to the place.
Wide place(const std::vector<std::pair<std::int64_t, std::int64_t>>& modes, std::int64_t coordinate) {
  Wide sum = 0;
  std::int64_t rest = coordinate;
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const auto [extent, stride] = modes[k];
    std::int64_t digit = rest;
    if (k + 1 < modes.size()) {
      digit = rest % extent;
      if (digit < 0) digit += extent;
      rest = (rest - digit) / extent;
    }
    sum += Wide{digit} * stride;
  }
  return sum;
}

} // namespace

Content::Content(const Code& code) : code_(code), p_(*code.program) {
  std::size_t accesses = 0;
  std::vector<std::int64_t> tiles;
  std::map<AtomId, Sym> named; // how many a number of the workgroup may name
  for (const CodeRegion& r : code_.regions) {
    int part = 0;
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue}) {
      for (const Inst& i : *list) {
        if (i.access.tensor < 0 || p_.tensor(i.access.tensor).space == Space::lds) continue;
        home_[&i] = {&r, part};
        ++accesses;
        for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis)
          if (const Uniform* u = uniform_of(p_, i.access.origin[axis]))
            named.try_emplace(*u->symbol.as_atom(), p_.tensor(i.access.tensor).shape[axis]);
      }
      ++part;
    }
    if (r.is_loop) tiles.push_back(r.tile);
  }
  // Many accesses of one program differ in little: together they see all points.
  each_ = std::clamp<std::size_t>(400 / std::max<std::size_t>(accesses, 1), 3, 24);
  for (const GridAxis& g : p_.grid()) tiles.push_back(g.tile);
  std::sort(tiles.begin(), tiles.end());
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());

  constexpr std::uint64_t count = 72;
  for (std::uint64_t n = 0; n < count; ++n) {
    Point point;
    point.seed = scramble(n);
    std::uint64_t state = point.seed;
    const auto random = [&] { return state = scramble(state); };
    const auto below = [&](std::int64_t end) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::max<std::int64_t>(end, 1)));
    };
    const auto set = [&](const std::string& name, Sym symbol, std::int64_t value) {
      point.at.set(symbol, Int(value));
      point.text += (point.text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
    };
    std::vector<std::int64_t> values;
    for (const Size& s : p_.sizes()) {
      const std::int64_t unit = s.facts.multiple, least = (s.facts.least + unit - 1) / unit * unit,
                         most = s.facts.most / unit * unit;
      std::vector<std::int64_t> likely = {least, least + unit, most, most - unit};
      for (const std::int64_t t : tiles)
        for (const std::int64_t v : {t, t + 1, t - 1, 2 * t, 2 * t + 1, 3 * t - 1, 5 * t + t / 2})
          likely.push_back((v + unit - 1) / unit * unit);
      const std::int64_t wide = std::min<std::int64_t>(most - least, std::int64_t{1} << below(31));
      likely.push_back((least + below(wide + 1)) / unit * unit);
      // At first all of them small, or large, or just past a tile.
      std::int64_t v =
          n == 0   ? least
          : n == 1 ? most
          : n == 2 && !tiles.empty()
              ? likely[5]
              : likely[static_cast<std::size_t>(below(static_cast<std::int64_t>(likely.size())))];
      v = std::clamp(v, least, most);
      values.push_back(v);
      set(s.name, s.symbol, v);
    }
    const auto one_of = [&](std::int64_t end) { // of 0 .. end - 1, mostly at its ends
      const std::int64_t choice = n < 3 ? static_cast<std::int64_t>(n) % 2 : below(4);
      return end <= 1 || choice == 0 ? 0 : choice == 1 ? end - 1 : choice == 2 ? end / 2 : below(end);
    };
    const auto tiles_of = [&](Sym extent, int tile) { return (number(extent, point.at) + tile - 1) / tile; };
    try {
      for (const Uniform& u : p_.uniforms()) {
        const auto of = named.find(*u.symbol.as_atom());
        const std::int64_t about =
            of != named.end() ? number(of->second, point.at)
            : values.empty()
                ? 1
                : values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
        const std::int64_t least = is_bound(code_, u) ? 0 : -1;
        const std::int64_t some[] = {least, 0, 1, about - 1, about, below(about)};
        set(p_.tensor(u.tensor).name + "[..]", u.symbol, some[below(6)]);
      }
      for (const GridAxis& g : p_.grid())
        set("workgroup " + std::to_string(g.axis), g.symbol, one_of(tiles_of(g.extent, g.tile)));
      if (const auto& s = p_.shares()) {
        const std::int64_t trips = tiles_of(s->extent, s->tile), begin = one_of(trips);
        set("share from", s->begin, begin);
        set("trips", s->count, 1 + one_of(trips - begin));
      }
      for (const Ticket& t : p_.tickets()) {
        const GridAxis& g = p_.axis(t.axis);
        set("ticket", t.symbol, one_of(tiles_of(g.extent, g.tile)));
      }
    } catch (const OverflowError&) {
      continue;
    }
    all_.push_back(std::move(point));
  }
}

const std::vector<Content::Point>& Content::points(const Home& home) {
  const auto [at, fresh] = points_.try_emplace(home);
  std::vector<Point>& out = at->second;
  if (!fresh) return out;
  const CodeRegion& r = *home.first;
  for (const Point& point : all_) try {
      Point here = point;
      for (const Nest& nest : nests_) {
        if (!nest.holds(r)) continue;
        const std::int64_t trips = number(nest.trips(), point.at),
                           trip = static_cast<std::int64_t>(
                               scramble(point.seed + 2 + *nest.t.as_atom()) %
                               static_cast<std::uint64_t>(std::max<std::int64_t>(trips, 1)));
        here.at.set(nest.t, Int(trip));
        here.text += ", " + to_string(nest.t) + " = " + std::to_string(trip);
      }
      if (std::any_of(r.guards.begin(), r.guards.end(), [&](const Guard& g) {
            return (number(g.condition.a, here.at) < number(g.condition.b, here.at)) != g.holds;
          }))
        continue;
      if (r.is_loop) {
        const std::int64_t trips = number(r.trips, point.at), bodies = trips - 1;
        if (trips < 1 || (home.second == 1 && bodies < 1)) continue;
        const std::uint64_t some = scramble(point.seed + 1);
        const std::int64_t trip =
            home.second == 0   ? 0
            : home.second == 2 ? trips - 1
            : some % 3 == 0    ? 0
            : some % 3 == 1    ? bodies - 1
                            : static_cast<std::int64_t>(scramble(some) % static_cast<std::uint64_t>(bodies));
        for (const CodeRegion& other : code_.regions)
          if (other.is_loop) here.at.set(other.trip, Int(trip));
        here.text += ", trip " + std::to_string(trip);
      }
      out.push_back(std::move(here));
    } catch (const OverflowError&) {
    }
  return out;
}

const Content::Placed& Content::placed(const Tensor& t, const Point& point) {
  const auto [at, fresh] = placed_.try_emplace({t.id, point.seed});
  Placed& out = at->second;
  if (!fresh) return out;
  Wide last = 0;
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
    out.extent.push_back(number(t.shape[axis], point.at));
    const SymLayout mode = t.shape.size() == 1 ? t.place.inner() : t.place.inner().mode(axis);
    out.modes.emplace_back();
    for (const auto& m : mode.modes()) {
      out.modes.back().emplace_back(number(m.extent, point.at), number(m.stride.scale, point.at));
      last += Wide{out.modes.back().back().first - 1} * out.modes.back().back().second;
    }
  }
  out.offset = number(t.place.offset(), point.at);
  if (t.space == Space::window) { // what it looks at, and where: by its own digits
    last = 0;
    const Tensor& of = p_.tensor(t.of);
    for (std::size_t axis = 0; axis < of.shape.size(); ++axis) {
      out.of.push_back(number(of.shape[axis], point.at));
      out.stride.push_back(number(of.place.inner().modes()[axis].stride.scale, point.at));
      out.origin.push_back(number(t.look_origin[axis], point.at));
      last += Wide{out.of.back() - 1} * out.stride.back();
    }
    for (const WindowAxis& axis : t.looks) {
      out.looks.emplace_back();
      for (const Look& look : axis.looks)
        out.looks.back().push_back({number(look.extent, point.at), look.axis, number(look.step, point.at)});
    }
  }
  out.elements = last < (Wide{1} << 62) ? static_cast<std::int64_t>(last) + 1 : std::int64_t{1} << 62;
  return out;
}

const std::vector<std::size_t>& Content::some_of(const Point& point) {
  const auto [found, fresh] = some_.try_emplace(point.seed);
  for (std::size_t th = 0; fresh && th < static_cast<std::size_t>(p_.threads()); ++th)
    if (scramble(point.seed + th) % 61 == 0) found->second.push_back(th);
  return found->second;
}

const Content::Coordinates& Content::coordinates(const Layout& threads, std::size_t axes) {
  const auto found = std::find_if(coordinates_.begin(), coordinates_.end(), [&](const auto& c) {
    return c.second.at.size() == axes && c.first == threads;
  });
  if (found != coordinates_.end()) return found->second;
  Coordinates all;
  std::vector<std::vector<int>>& out = all.at;
  out.assign(axes, std::vector<int>(static_cast<std::size_t>(p_.threads()), 0));
  for (int th = 0; th < p_.threads(); ++th) {
    std::int64_t rest = th;
    for (const Mode& m : threads.modes()) {
      const std::int64_t digit = rest % m.extent.value();
      rest /= m.extent.value();
      if (m.stride.is_basis() && m.stride.axis[0] < axes)
        out[m.stride.axis[0]][static_cast<std::size_t>(th)] +=
            static_cast<int>(digit * m.stride.scale.value());
    }
  }
  for (const std::vector<int>& along : out) {
    std::vector<int> different = along;
    std::sort(different.begin(), different.end());
    different.erase(std::unique(different.begin(), different.end()), different.end());
    std::vector<int>& number = all.number.emplace_back();
    for (const int c : along)
      number.push_back(
          static_cast<int>(std::lower_bound(different.begin(), different.end(), c) - different.begin()));
    std::vector<int>& first = all.first.emplace_back(different.size());
    for (std::size_t th = number.size(); th-- > 0;)
      first[static_cast<std::size_t>(number[th])] = static_cast<int>(th);
    all.different.push_back(std::move(different));
  }
  return coordinates_.emplace_back(threads, std::move(all)).second;
}

std::optional<Wide> Content::seen(const Placed& in, std::span<const std::int64_t> c) {
  std::vector<std::int64_t> at = in.origin;
  for (std::size_t axis = 0; axis < c.size(); ++axis) {
    std::int64_t rest = c[axis];
    for (std::size_t d = 0; d < in.looks[axis].size(); ++d) {
      const auto& [extent, along, step] = in.looks[axis][d];
      const std::int64_t digit = d + 1 == in.looks[axis].size() ? rest : ((rest % extent) + extent) % extent;
      at[static_cast<std::size_t>(along)] += step * digit;
      rest = (rest - digit) / extent;
    }
  }
  Wide element = 0;
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    if (at[axis] < 0 || at[axis] >= in.of[axis]) return std::nullopt;
    element += Wide{at[axis]} * in.stride[axis];
  }
  return element;
}

std::optional<std::string> Content::wrong(const Inst& inst, const AddressSplit& split) {
  const std::vector<Point>& all = points(home_.at(&inst));
  for (std::size_t n = 0; n < std::min(each_, all.size()); ++n) {
    const Point& point = all[next_++ % all.size()];
    try {
      if (auto why = wrong_at(inst, split, point)) return *why + "\n  at " + point.text;
    } catch (const OverflowError&) { // beyond 64 bits: claims about 31 bits refuse it where it is emitted
    }
  }
  return std::nullopt;
}

std::optional<std::string> Content::wrong_at(const Inst& inst, const AddressSplit& split,
                                             const Point& point) {
  const Access& a = inst.access;
  const Tensor& t = p_.tensor(a.tensor);
  const std::size_t axes = t.shape.size(), count = a.elements.size();
  const int width = bits(t.element);
  if (inst.when && (number(inst.when->size, point.at) % inst.when->modulus == 0) != inst.when->divides)
    return std::nullopt;
  const Placed& in = placed(t, point);
  const Coordinates& thread = coordinates(a.threads, axes);
  std::vector<std::int64_t> origin;
  for (const Sym& o : a.origin) origin.push_back(number(o, point.at));

  using Coordinate = SmallVector<std::int64_t, 8>;
  const auto inside = [&](const Coordinate& c, bool all) {
    for (std::size_t axis = 0; axis < axes; ++axis)
      if ((all || a.masked[axis]) && (c[axis] < 0 || c[axis] >= in.extent[axis])) return false;
    return in.looks.empty() || seen(in, c.span()).has_value(); // what a window looks at is always compared
  };
  // Along an axis, where the first or the last element of a work-item is that has coordinate d there.
  const auto along_at = [&](std::size_t axis, int d, std::size_t e) {
    return a.gathered(axis) ? in.extent[axis] - 1 : origin[axis] + d + a.elements[e][axis];
  };
  Coordinate c(axes, 0);
  // Who is nearest to the ends: of those inside and of those outside the first and the last in memory and along each axis.
  std::vector<std::size_t> chosen;
  struct Best {
    std::size_t thread = 0;
    Wide value = 0;
    bool found = false;
    void offer(std::size_t th, Wide v) {
      if (found && v >= value) return;
      thread = th, value = v, found = true;
    }
  };
  std::vector<Best> best(8 + 4 * axes);
  std::size_t some = 0, borders = 0;
  bool was_in = true;
  const std::vector<std::size_t>& others = some_of(point);
  auto other = others.begin();
  // Where all work-items are on one side of each end, their places alone tell them apart.
  const auto side = [&](std::size_t axis, int d, std::size_t e) {
    const std::int64_t at = along_at(axis, d, e);
    return at < 0 ? -1 : at < in.extent[axis] ? 0 : 1;
  };
  bool even = in.looks.empty() && !a.idle && inst.waves.all();
  for (std::size_t axis = 0; axis < axes && even; ++axis)
    for (const std::size_t e : {std::size_t{0}, count - 1})
      even = even && (!a.masked[axis] || side(axis, thread.different[axis].front(), e) ==
                                             side(axis, thread.different[axis].back(), e));
  if (even) {
    // Along a single mode places follow the coordinate, and who has its least and its greatest is chosen below.
    std::size_t moving = 0, ordered = 0;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const bool moves = thread.different[axis].size() > 1;
      moving += moves;
      ordered += moves && !a.gathered(axis) && in.modes[axis].size() == 1 && in.modes[axis][0].second != 0;
    }
    if (moving != 1 || ordered != 1) {
      std::vector<std::vector<Wide>> places(axes);
      for (std::size_t axis = 0; axis < axes; ++axis) {
        places[axis].reserve(thread.different[axis].size());
        for (const int d : thread.different[axis])
          places[axis].push_back(place(in.modes[axis], along_at(axis, d, count - 1)));
      }
      std::size_t least = 0, most = 0;
      Wide least_at = 0, most_at = 0;
      for (std::size_t th = 0; th < static_cast<std::size_t>(p_.threads()); ++th) {
        Wide at = 0;
        for (std::size_t axis = 0; axis < axes; ++axis)
          at += places[axis][static_cast<std::size_t>(thread.number[axis][th])];
        if (th == 0 || at < least_at) least = th, least_at = at;
        if (th == 0 || at > most_at) most = th, most_at = at;
      }
      chosen = {least, most};
    }
    for (std::size_t n = 0; n < std::min<std::size_t>(others.size(), 2); ++n) chosen.push_back(others[n]);
    for (std::size_t axis = 0; axis < axes; ++axis)
      for (const int th : {thread.first[axis].front(), thread.first[axis].back()})
        chosen.push_back(a.gathered(axis) ? 0 : static_cast<std::size_t>(th));
  }
  // Elsewhere for each coordinate that a work-item has: its first and last element there.
  struct Along {
    std::int64_t first, last;
    bool in_first, in_last; ///< or nobody asks
    Wide place;             ///< of the last one
  };
  std::vector<std::vector<Along>> along(axes);
  for (std::size_t axis = 0; axis < axes && !even; ++axis) {
    along[axis].reserve(thread.different[axis].size());
    for (const int d : thread.different[axis]) {
      const auto is_in = [&](std::int64_t at) {
        return !a.masked[axis] || (at >= 0 && at < in.extent[axis]);
      };
      const std::int64_t one = along_at(axis, d, 0), last = along_at(axis, d, count - 1);
      along[axis].push_back({one, last, is_in(one), is_in(last), place(in.modes[axis], last)});
    }
  }
  // Those with one coordinate say the same of all work-items: the first one of each kind is nearest there.
  bool same_first = true, same_last = true;
  Wide same_at = in.offset;
  std::vector<std::size_t> moving;
  for (std::size_t axis = 0; axis < axes && !even; ++axis) {
    if (along[axis].size() > 1 || !in.looks.empty()) {
      moving.push_back(axis);
      continue;
    }
    const Along& x = along[axis].front();
    same_first = same_first && x.in_first, same_last = same_last && x.in_last;
    same_at += x.place;
  }
  const bool some_same = moving.size() < axes;
  for (std::size_t th = 0; !even && th < static_cast<std::size_t>(p_.threads()); ++th) {
    if (!inst.waves.contains(static_cast<int>(th) / p_.target().wave_size)) continue;
    if (a.idle) {
      std::int64_t sum = 0, rest = static_cast<std::int64_t>(th);
      for (const Mode& m : a.idle->modes()) {
        sum += rest % m.extent.value() * m.stride.scale.value();
        rest /= m.extent.value();
      }
      if (sum != 0) continue;
    }
    bool in_first = same_first, in_last = same_last;
    Wide at = same_at;
    for (const std::size_t axis : moving) {
      const Along& x = along[axis][static_cast<std::size_t>(thread.number[axis][th])];
      in_first = in_first && x.in_first, in_last = in_last && x.in_last;
      at += x.place;
    }
    if (!in.looks.empty()) { // what a window looks at is always compared
      const auto looks_at = [&](bool last) {
        for (std::size_t axis = 0; axis < axes; ++axis) {
          const Along& x = along[axis][static_cast<std::size_t>(thread.number[axis][th])];
          c[axis] = last ? x.last : x.first;
        }
        return seen(in, c.span()).has_value();
      };
      in_first = in_first && looks_at(false), in_last = in_last && looks_at(true);
    }
    const std::size_t of = in_last ? 0 : 2;
    best[of].offer(th, at), best[of + 1].offer(th, -at);
    for (const std::size_t axis : moving) {
      const Along& x = along[axis][static_cast<std::size_t>(thread.number[axis][th])];
      best[4 + 4 * axis + (in_last ? 0 : 1)].offer(th, -Wide{x.last});
      best[4 + 4 * axis + (in_first ? 2 : 3)].offer(th, Wide{x.first});
    }
    if (some_same) {
      best[4 + 4 * axes + (in_last ? 0 : 1)].offer(th, 0);
      best[4 + 4 * axes + (in_first ? 2 : 3)].offer(th, 0);
    }
    while (other != others.end() && *other < th) ++other;
    if (other != others.end() && *other == th && some++ < 2) chosen.push_back(th);
    // A window has borders inside of its tile: who stands at one.
    if (!in.looks.empty() && borders < 12 && (in_last != was_in || in_first != in_last)) {
      ++borders;
      if (th > 0) chosen.push_back(th - 1);
      chosen.push_back(th);
    }
    was_in = in_last;
  }
  for (const Best& b : best)
    if (b.found) chosen.push_back(b.thread);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());

  const auto bytes = [&](Wide elements) { return elements * width >> 3; };
  const Wide base = number(split.base, point.at), step = number(split.step, point.at),
             limit = split.far      ? Wide{INT64_MAX}
                     : split.ends() ? bytes(number(split.records, point.at))
                                    : Wide{INT32_MAX};
  const auto at_work_item = [&](std::size_t th, std::size_t e) {
    std::string s = "work-item " + std::to_string(th) + ", element " + std::to_string(e) + ", at (";
    for (std::size_t axis = 0; axis < axes; ++axis) s += (axis ? "," : "") + std::to_string(c[axis]);
    s += ") of (";
    for (std::size_t axis = 0; axis < axes; ++axis) s += (axis ? "," : "") + std::to_string(in.extent[axis]);
    return s + ")";
  };
  if (split.ends() && (limit < 0 || limit > INT32_MAX))
    return "the descriptor of " + t.name + " has " + text(limit) + " bytes";
  if (!split.far && (step < 0 || bytes(step) > INT32_MAX))
    return "the scalar offset is " + text(bytes(step)) + " bytes";
  std::uint64_t turn = point.seed;
  const Sym item = work_item(p_);
  for (const std::size_t th : chosen) {
    Assignment at = point.at;
    at.set(item, Int(static_cast<std::int64_t>(th)));
    std::vector<std::int64_t> named(axes, 0);
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (!a.gathered(axis)) continue;
      const std::int64_t e = in.extent[axis], any[] = {e - 1, 0, e, -1, e / 2, INT32_MIN, INT32_MAX};
      named[axis] = any[scramble(++turn) % 7];
      at.set(row_symbol(p_, t, axis, inst.uses[static_cast<std::size_t>(a.rows[axis])]), Int(named[axis]));
    }
    bool compared = true; // what is compared in registers, once for the vector
    for (const AddressSplit::Predicate& q : split.predicates) {
      const std::int64_t x = number(q.coordinate, at), room = number(q.room, at);
      if (q.axis < 0 && (x > INT32_MAX || x < INT32_MIN))
        return "a coordinate of " + text(x) + " leaves 32 bits";
      if (room > UINT32_MAX || room < INT32_MIN) return "a comparison with " + text(room) + " leaves 32 bits";
      compared =
          compared && (q.data ? static_cast<std::uint32_t>(x) < static_cast<std::uint32_t>(room) : x < room);
    }
    const Wide lane = compared ? number(split.lane, at) + split.immediate : 0, offset = bytes(lane);
    if (!split.far && compared && (offset < 0 || offset > INT32_MAX))
      return "work-item " + std::to_string(th) + " has the offset " + text(offset);
    for (std::size_t e = 0; e < count; ++e) {
      for (std::size_t axis = 0; axis < axes; ++axis)
        c[axis] = a.gathered(axis) ? named[axis] : origin[axis] + thread.at[axis][th] + a.elements[e][axis];
      // A descriptor ends by dwords, and what is less than one by the whole access.
      const Wide whole = std::max<Wide>(bytes(static_cast<Wide>(count)), 1),
                 until = std::min(bytes(static_cast<Wide>(e)) / 4 * 4 + 4, whole);
      const bool passes = compared && offset + bytes(step) + until <= limit,
                 without = compared && offset + until <= limit; // the scalar offset
      if (inside(c, true)) {
        if (!passes || !without)
          return at_work_item(th, e) + " is inside, and " +
                 (!compared ? "a comparison leaves it out"
                            : "the descriptor of " + text(limit) + " bytes ends before byte " +
                                  text(offset + bytes(step) + until));
        Wide wanted = in.offset;
        for (std::size_t axis = 0; axis < axes; ++axis) wanted += place(in.modes[axis], c[axis]);
        if (!in.looks.empty()) wanted = *seen(in, c.span());
        const Wide is = base + step + lane + static_cast<Wide>(e);
        if (is != wanted)
          return at_work_item(th, e) + " is element " + text(wanted) + ", and the address is that of " +
                 text(is);
        if (e == 0 && (base * width % 8 != 0 || step * width % 8 != 0 || lane * width % 8 != 0))
          return at_work_item(th, e) + " has an address in the middle of a byte";
      } else if (!inside(c, false)) {
        if (passes || without)
          return at_work_item(th, e) + " is outside, and neither a comparison nor the descriptor of " +
                 text(limit) + " bytes leaves out byte " + text(offset + bytes(step));
      } else if (passes) {
        const Wide is = base + step + lane + static_cast<Wide>(e);
        if (is < 0 || is >= in.elements)
          return at_work_item(th, e) + " is no element, is not masked, and touches element " + text(is) +
                 " of " + std::to_string(in.elements);
      }
    }
  }
  return std::nullopt;
}

} // namespace inlay::codegen::provenance
