#include "questions/banks.h"

#include <algorithm>

namespace inlay::solver {
namespace {

// The value of every address modulo this decides the bank, when symbols and instances enter by + - * only: the banks repeat every
// banks * 4 bytes, and a swizzle looks no higher than its own reach. Both are powers of two, so that the greater is a multiple of the
// other.
Wide period(const Parts& f, const LdsAccess& access) {
  Wide p = static_cast<Wide>(access.banks) * 4;
  for (const Step& s : f.outer)
    if (s.kind == Step::Kind::swizzle) p = std::max(p, Wide{1} << (s.bits + s.base + std::abs(s.shift)));
  return p;
}

// Are coordinates (beyond the lane) and symbols only added, subtracted and multiplied? Then residues decide residues; a quotient of a
// residue is none of the quotient.
bool ring_only(const FormulaRef& f, const std::set<std::string>& names) {
  bool mentions = false;
  for (const std::string& n : names_of(f)) mentions |= names.count(n) != 0;
  if (!mentions) return true;
  if (f->op == Op::name) return true;
  if (f->op != Op::add && f->op != Op::sub && f->op != Op::mul && f->op != Op::neg) return false;
  return std::all_of(f->args.begin(), f->args.end(),
                     [&](const FormulaRef& a) { return ring_only(a, names); });
}

} // namespace

Verdict decide_conflict_free(Engine& e, const LdsAccess& access) {
  const Parts& a = e.a();
  if (!access.measured)
    e.notes.push_back("phase groups of this access are assumed: " + std::string(access.source));
  std::vector<FormulaRef> extents = extent_formulas(a);
  auto lane_count = e.context.poly(extents[0]);
  if (!lane_count || !lane_count->constant() || *lane_count->constant() > 64)
    throw QuestionError("conflict-free: the first mode counts lanes and has to be a number up to 64, not " +
                        to_string(extents[0]) + "\n  in     " + a.text +
                        "\n  hint   group the modes of the lane: ((16,4),...)");
  auto lanes = static_cast<unsigned>(*lane_count->constant());

  // The address as a formula of the lane, the instances and the symbols; what is symbolic is reduced modulo
  // the period.
  std::vector<FormulaRef> names;
  std::set<std::string> symbolic;
  for (std::size_t k = 0; k < extents.size(); ++k) names.push_back(variable("\x02" + std::to_string(k)));
  FormulaRef address = expand(a, names);
  Wide modulus = period(a, access);

  // Each instance coordinate: its values, or its residues when there are more or unboundedly many.
  struct Free {
    std::string name;
    Wide count;
    bool symbol;
    bool reduced;            // stands for its residue class
    std::optional<Wide> end; // of an instance coordinate, when it is a number
  };
  std::vector<Free> free;
  bool reduced = false;
  Wide points = 1;
  for (std::size_t k = 1; k < extents.size(); ++k) {
    auto n = e.context.poly(extents[k]);
    auto c = n ? n->constant() : std::nullopt;
    Wide count = c ? *c : modulus;
    bool many = !c || count > modulus;
    if (many) reduced = true, symbolic.insert(names[k]->name);
    free.push_back({names[k]->name, std::min(count, modulus), false, many, c});
  }
  for (const auto& [name, p] : e.context.substitution()) symbolic.insert(name);
  // A symbol of the question is a polynomial in internal symbols; those are what is enumerated.
  for (std::size_t k = 0; k < e.context.names().size(); ++k) {
    const Bounds& b = e.context.bounds()[k];
    bool many = !b.upper || subtract(*b.upper, b.lower) >= modulus;
    Wide count = many ? modulus : *b.upper - b.lower + 1;
    reduced |= many;
    free.push_back({e.context.names()[k], count, true, many, {}});
  }
  for (const Free& f : free) {
    points = multiply(points, f.count);
    // Each point is a wave of up to 64 lanes.
    if (points > static_cast<Wide>(e.options.enumeration_limit) / 64) {
      e.obligation("enumeration of the residues of " + std::to_string(free.size()) +
                   " symbols and instances modulo " + to_string(modulus) + " (over the limit)");
      return e.unknown();
    }
  }
  // Under the outer swizzles sits a sum; below that the residues pass through + - * only.
  Parts core = a;
  while (!core.outer.empty() && core.outer.front().kind != Step::Kind::layout)
    core.outer.erase(core.outer.begin());
  auto active = std::count_if(access.phases.begin(), access.phases.end(), [&](const auto& phase) {
    return std::any_of(phase.begin(), phase.end(), [&](unsigned lane) { return lane < lanes; });
  });
  bool transparent = ring_only(expand(core, names), symbolic);
  // A residue class is looked at in its two least values, of several classes in all combinations: lanes that want one
  // dword at the first may want two at another. More are not needed. Lanes whose bank is the same want one dword only
  // where the difference of their addresses, a polynomial, vanishes, say in the two least values of a class. The numbers
  // between them differ from these by less and less powers of two, where the difference has the same residue and must
  // vanish as well, or a conflict is seen. That ends in a polynomial with dozens of zeros, whose other values are past 128 bits.
  // A class need not have a value there that the conditions allow, or that makes an instance exist; then a
  // conflict is looked for further up, and when there is none that can be shown it remains possible.
  bool possible = false;
  std::optional<std::string> bad_text;
  Witness w;
  std::vector<Wide> internal(e.context.names().size());
  std::map<std::string, Wide> env, user;
  std::vector<Wide> coordinate;
  // `which`: a bit for each class, is it shifted? False: beyond a bound.
  auto place = [&](Wide point, Wide shift, unsigned which) {
    std::size_t symbol = 0;
    coordinate.clear();
    bool inside = true;
    for (const Free& f : free) {
      Wide v = point % f.count;
      point /= f.count;
      if (f.reduced) {
        v += (which & 1) != 0 ? shift * modulus : 0;
        which >>= 1;
      }
      if (f.symbol) {
        const Bounds& b = e.context.bounds()[symbol];
        internal[symbol] = add(b.lower, v);
        inside = inside && (!b.upper || internal[symbol] <= *b.upper);
        ++symbol;
      } else {
        env[f.name] = v;
        inside = inside && (!f.end || v < *f.end);
        coordinate.push_back(v);
      }
    }
    user = e.context.environment(internal);
    for (const auto& [n, v] : user) env[n] = v;
    return inside;
  };
  auto real = [&] {
    if (!e.context.holds(user)) return false;
    for (std::size_t k = 1; k < extents.size(); ++k)
      if (coordinate[k - 1] >= evaluate(extents[k], [&](const std::string& n) { return user.at(n); }))
        return false;
    return true;
  };
  auto at_lane = [&](unsigned lane) {
    env[names[0]->name] = static_cast<Wide>(lane);
    Wide x = evaluate(address, [&](const std::string& n) { return env.at(n); });
    // Room for the width of an access and for the rounding to dwords, so that lds_conflicts() need not check.
    if (x > INT64_MAX / 2 || x < INT64_MIN / 2) throw Overflow("a byte address beyond 64 bits");
    return static_cast<std::int64_t>(x);
  };
  // At most two classes within the limit above, as the period is 128 or more.
  const auto classes =
      static_cast<unsigned>(std::count_if(free.begin(), free.end(), [](const Free& f) { return f.reduced; }));
  const unsigned everything = (1U << classes) - 1;
  std::vector<std::pair<Wide, unsigned>> shifts{{0, 0}};
  for (unsigned which = everything; which > 0; --which) shifts.emplace_back(1, which);
  for (Wide further : {16, 4096}) shifts.emplace_back(further, everything);
  for (Wide point = 0; point < points && !bad_text; ++point) {
    if ((point & 1023) == 0 && e.cancelled()) return e.unknown();
    LdsConflicts c;
    bool pending = false, found = false;
    // The class itself and its next value always; 16 and 4096 periods further up only where a conflict was seen that no allowed value has shown.
    for (const auto& [shift, which] : shifts) {
      if ((shift > 0 && !reduced) || (shift > 1 && !pending)) break;
      // Beyond a bound the least value of the class still stands for it, the others do not.
      if (!place(point, shift, which) && shift > 0) continue;
      bool here = real();
      // Values that the conditions exclude stand for their class: a class without conflict there has none at the allowed ones either.
      if (!here && (!reduced || shift > 1)) continue;
      c = lds_conflicts(access, at_lane, lanes);
      if (c.misaligned_lane < 0 && c.degree <= 1) continue;
      pending = true;
      found = here;
      if (found) break;
    }
    if (!found) {
      possible |= pending;
      continue;
    }
    for (const auto& [n, v] : user)
      if (v >= INT64_MIN && v <= INT64_MAX) w.symbols.emplace_back(n, static_cast<std::int64_t>(v));
    w.coordinate.push_back(c.misaligned_lane >= 0 ? c.misaligned_lane
                           : c.lanes.empty()      ? 0
                                                  : static_cast<std::int64_t>(c.lanes[0]));
    for (Wide v : coordinate) w.coordinate.push_back(static_cast<std::int64_t>(v));
    std::string instance;
    for (std::size_t k = 0; k < coordinate.size(); ++k) instance += (k ? "," : "") + to_string(coordinate[k]);
    if (!instance.empty()) instance = " of instance (" + instance + ")";
    if (c.misaligned_lane >= 0) {
      env[names[0]->name] = c.misaligned_lane;
      w.lhs = static_cast<std::int64_t>(evaluate(address, [&](const std::string& n) { return env.at(n); }));
      w.rhs = access.alignment;
      bad_text = "lane " + std::to_string(c.misaligned_lane) + instance + " accesses byte " +
                 std::to_string(*w.lhs) + ", which is not aligned for " + std::to_string(access.alignment) +
                 " bytes";
    } else {
      w.lhs = c.degree;
      w.rhs = 1;
      std::string who;
      for (unsigned lane : c.lanes) who += (who.empty() ? "" : ", ") + std::to_string(lane);
      bad_text = std::to_string(c.degree) + "-way conflict: lanes " + who + instance + " meet in bank " +
                 std::to_string(c.bank) + " (" + std::to_string(c.clocks) + " clocks instead of " +
                 std::to_string(active) + ")";
    }
  }
  if (bad_text) {
    Verdict v;
    v.outcome = Outcome::refuted;
    v.property = "conflict-free";
    v.method = "enumeration of lanes";
    w.text = *bad_text;
    v.witness = w;
    v.notes = e.notes;
    return v;
  }
  if (possible) {
    e.obligation("no conflict in residue classes modulo " + to_string(modulus) +
                 " that small values of the symbols do not reach");
    return e.unknown();
  }
  // A quotient or a mask of a symbol does not pass residues on; without conflict in the classes nothing is known then.
  if (reduced && !transparent) {
    e.obligation("symbols and instances that enter the address by + - * only, so that their residues decide");
    return e.unknown();
  }
  e.claims.note("all " + to_string(points) + " instances" + (reduced ? " modulo " + to_string(modulus) : "") +
                ", every phase of " + std::string(access.arch) + " " + std::string(access.direction) + " " +
                std::to_string(access.bytes) + " bytes");
  return e.proved(reduced ? "enumeration of lanes and residues" : "enumeration of lanes");
}

} // namespace inlay::solver
