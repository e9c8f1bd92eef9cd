// Turns of workgroups and devices that meet: the waits, the words that are told, the fences and barriers between, in the order of the
// program. Stores and loads are named by the fences before them (AccessNames::epoch), so that what is told of them and what has been
// waited for are the same on both sides. Loops that wait are gone through once: what they read last is what sends them on.
#include "code_sides.h"

#include <inlay/runtime/isa/report.h>

namespace inlay::kernels::validate::sides {

bool Sides::waits_for_others() const {
  return std::any_of(code_.regions.begin(), code_.regions.end(), [](const CodeRegion& r) {
    return std::any_of(r.body.begin(), r.body.end(), [](const Inst& i) {
      return i.kind == InstKind::release || i.kind == InstKind::ticket || i.kind == InstKind::await ||
             i.kind == InstKind::signal || i.kind == InstKind::meet;
    });
  });
}

std::string Sides::unfollowed() const {
  if (!p_.tickets().empty()) return "tickets of workgroups, which are not followed";
  for (const CodeRegion& r : code_.regions) {
    if (r.is_loop) return "a loop beside turns or meetings, which are followed without one";
    if (!r.guards.empty() && std::any_of(r.body.begin(), r.body.end(), [&](const Inst& i) {
          return i.kind == InstKind::barrier || is_fence(p_, i);
        }))
      return "barriers in a branch beside turns or meetings, which are followed without one";
  }
  if (p_.threads() > 64 && !p_.target().scopes)
    return "turns of workgroups of several waves on " + std::string(p_.target().name) +
           ", which are not followed";
  return "";
}

namespace {

constexpr unsigned lanes = 64;

/// Whether a work-item takes part in what waits or tells.
bool acts(const codegen::Program& p, const Inst& i, unsigned thread) {
  return i.kind == InstKind::meet ? static_cast<int>(thread) < p.together().count
                                  : i.access.acts(static_cast<int>(thread));
}

const char* name_of(Meeting::Kind kind) {
  switch (kind) {
  case Meeting::Kind::write_back: return "a write-back";
  case Meeting::Kind::invalidate: return "an invalidation";
  case Meeting::Kind::barrier: return "a barrier";
  case Meeting::Kind::read: return "a read of a word of order";
  case Meeting::Kind::tell: return "a store of a word of order";
  case Meeting::Kind::wait: return "a loop that waits";
  }
  return "";
}

} // namespace

void Sides::meetings(const Path& path, const std::string& where) {
  std::vector<const Inst*> order;
  for (const CodeRegion& r : code_.regions)
    for (const Inst& i : r.body)
      if (i.kind == InstKind::barrier || i.kind == InstKind::release || i.kind == InstKind::acquire ||
          i.kind == InstKind::await || i.kind == InstKind::signal || i.kind == InstKind::meet)
        order.push_back(&i);
  const unsigned waves = path.flow.waves();
  using Kind = Meeting::Kind;
  for (unsigned w = 0; w < waves; ++w) {
    const std::vector<Meeting> none;
    const std::vector<Meeting>& found = w < path.trace.meetings.size() ? path.trace.meetings[w] : none;
    std::size_t at = 0;
    bool released = false; // and no barrier since
    const auto barriers = [&](std::size_t wanted, const std::string& before) {
      std::size_t count = 0;
      for (; at < found.size() && found[at].kind == Kind::barrier; ++at, ++count)
        if (std::exchange(released, false) && !found[at].landed && waves > 1)
          missing(where + ": wave " + std::to_string(w) + " comes to the barrier at " +
                  this->at(found[at].instruction) + " without a wait for what it has written back");
      if (waves > 1 && count != wanted) // of one wave LLVM leaves them out
        missing(where + ": wave " + std::to_string(w) + " meets the others " + std::to_string(count) +
                " times before " + before + ", in the code " + std::to_string(wanted) + " times");
    };
    std::size_t wanted = 0;
    bool differs = false;
    const auto next = [&](std::initializer_list<Kind> kinds,
                          const std::string& what) -> std::span<const Meeting> {
      barriers(wanted, what);
      wanted = 0;
      const std::size_t first = at;
      for (const Kind k : kinds) {
        if (at < found.size() && found[at].kind == k) {
          ++at;
          continue;
        }
        differs = true;
        missing(where + ": wave " + std::to_string(w) + " has " +
                (at < found.size() ? name_of(found[at].kind) + (" at " + this->at(found[at].instruction))
                                   : std::string("nothing")) +
                " where the code has " + what);
        return {};
      }
      return std::span(found).subspan(first, at - first);
    };
    for (const Inst* i : order) {
      if (differs) break;
      const auto in_wave = [&] {
        for (unsigned l = 0; l < lanes; ++l)
          if (acts(p_, *i, w * lanes + l)) return true;
        return false;
      };
      switch (i->kind) {
      case InstKind::barrier: ++wanted; break;
      case InstKind::release:
        if (p_.target().scopes)
          if (const auto m = next({Kind::write_back}, "a release"); !m.empty()) {
            if (!(i->system ? m[0].system : m[0].device))
              missing(where + ": " + this->at(m[0].instruction) +
                      " writes back for fewer than the code does");
            released = true;
          }
        break;
      case InstKind::acquire:
        if (const auto m = next({Kind::invalidate}, "an acquire");
            !m.empty() && !(i->system ? m[0].system : m[0].device))
          missing(where + ": " + this->at(m[0].instruction) + " makes invalid for fewer than the code does");
        break;
      case InstKind::await:
        if (in_wave()) meeting(path, *i, w, next({Kind::wait}, "a wait for its turn"));
        break;
      case InstKind::signal:
        if (in_wave()) meeting(path, *i, w, next({Kind::tell}, "a turn that is passed on"));
        break;
      default:
        if (in_wave())
          meeting(path, *i, w, next({Kind::read, Kind::tell, Kind::wait}, "a meeting of devices"));
        break;
      }
    }
    if (differs) continue;
    barriers(wanted, "its end");
    if (at < found.size())
      missing(where + ": wave " + std::to_string(w) + " has " + name_of(found[at].kind) + " at " +
              this->at(found[at].instruction) + ", which the code does not");
  }
}

/// The words and conditions of one wait, one turn that is passed on or one meeting.
void Sides::meeting(const Path& path, const Inst& i, unsigned wave, std::span<const Meeting> found) {
  if (found.empty()) return;
  Terms& t = path.flow.terms();
  const auto wrong = [&](const Meeting& m, unsigned lane, const std::string& what) {
    missing(at(m.instruction) + ", wave " + std::to_string(wave) + " lane " + std::to_string(lane) + ": " +
            what);
  };
  const bool devices = i.kind == InstKind::meet;
  for (const Meeting& m : found) {
    if (!(devices ? m.system : m.device)) wrong(m, 0, "of a narrower scope than the code's");
    if (m.kind == Meeting::Kind::tell && !m.landed)
      wrong(m, 0, "comes before a wait for what was stored and written back");
    for (unsigned l = 0; l < lanes; ++l) {
      const bool has =
          std::any_of(m.lanes.begin(), m.lanes.end(), [&](const auto& x) { return x.lane == l; });
      if (has != acts(p_, i, wave * lanes + l))
        return wrong(m, l, has ? "takes part, in the code it does not" : "takes no part");
    }
  }
  // What the word is, and where it should be.
  const auto at_place = [&](const Meeting& m, const Meeting::Lane& lane, int tensor,
                            const std::vector<Sym>& coordinate, std::int64_t further) {
    ElementAccess wanted = code_run_->place_of(tensor, coordinate);
    wanted.byte += further;
    wanted.left -= further;
    if (lane.at == wanted) return;
    wrong(m, lane.lane, "takes " + text(lane.at) + " for " + text(wanted));
  };
  const std::vector<std::string> known = facts(path, nullptr);
  if (!devices) {
    const codegen::Turn& turn = p_.turns()[static_cast<std::size_t>(i.turn)];
    const Sym mine = code_run_->fixed(p_.axis(turn.axis).symbol),
              count = code_run_->fixed(p_.count(turn.axis));
    for (const Meeting::Lane& lane : found[0].lanes) {
      at_place(found[0], lane, i.access.tensor, i.access.origin, 0);
      if (i.kind == InstKind::await) { // until it is this workgroup's turn
        const auto goes = formulas_->condition(lane.stays, false, known);
        const auto value = formulas_->value_of_datum(lane.word);
        Formulas::Condition wanted;
        if (value) {
          Formulas::require(wanted, formulas_->element(*value) - mine);
          Formulas::require(wanted, mine - formulas_->element(*value));
        }
        if (!goes || !value || !(formulas_->canonical(*goes) == formulas_->canonical(wanted)))
          wrong(found[0], lane.lane,
                "goes on waiting while " + t.text(lane.stays, 5) + ", the code until the word is " +
                    to_string(mine));
        continue;
      }
      // The next one's turn, and after the last one's the first one's.
      const Word v = lane.word;
      const auto chooses = [&](Word c, bool value) { // exactly where the next one is none
        const auto yes = formulas_->facts(known, {{c, value}}), no = formulas_->facts(known, {{c, !value}});
        return formulas_->decide(true, mine + Sym(1), count, yes) == Truth::yes &&
               formulas_->decide(false, mine + Sym(2), count, no) == Truth::yes;
      };
      const auto is_next = [&](Word x) { return formulas_->of(x) == mine + Sym(1); };
      const bool passes =
          t.kind(v) == TermKind::select && ((t.value(t.children(v)[1]) == 0U && is_next(t.children(v)[2]) &&
                                             chooses(t.children(v)[0], true)) ||
                                            (t.value(t.children(v)[2]) == 0U && is_next(t.children(v)[1]) &&
                                             chooses(t.children(v)[0], false)));
      if (!passes)
        wrong(found[0], lane.lane,
              "passes the turn on to " + t.text(v, 5) + ", the code to " + to_string(mine + Sym(1)) +
                  ", or 0 at the end");
    }
    return;
  }
  // Each work-item of a device: one more than this device has said, to that device; then until that one has said as much.
  const codegen::Devices& d = p_.together();
  const Meeting &own = found[0], &tell = found[1], &wait = found[2];
  const int here = d.flags[rank_.value_or(0)];
  std::vector<Sym> first = i.access.origin;
  first.back() = Sym(0);
  for (std::size_t k = 0; k < own.lanes.size(); ++k) {
    const unsigned l = own.lanes[k].lane;
    at_place(own, own.lanes[k], here, i.access.origin, 0);
    at_place(tell, tell.lanes[k], d.flags[l], i.access.origin, 0);
    at_place(wait, wait.lanes[k], here, first, 4 * std::int64_t{l});
    const Word said = t.add(own.lanes[k].word, t.constant(1)), behind = t.subtract(wait.lanes[k].word, said);
    if (tell.lanes[k].word != said)
      wrong(tell, l, "says " + t.text(tell.lanes[k].word, 5) + ", the code one more than before");
    const Word goes = t.invert(wait.lanes[k].stays);
    if (goes != t.less(t.constant(~0U), behind, true) &&
        goes != t.invert(t.less(behind, t.constant(0), true)))
      wrong(wait, l,
            "goes on waiting while " + t.text(wait.lanes[k].stays, 5) +
                ", the code until the other one has said as much");
  }
}

} // namespace inlay::kernels::validate::sides
