// One wave along a path, as far as what has been decided takes it.
#include "symbolic/order_explorer.h"

#include <inlay/runtime/hex.h>

namespace inlay::runtime::symbolic::exploring {

/// Whether a wave that does not jump from the branch `at` to `target` comes there, too, whatever it finds, and by no barrier: up to
/// it, or by a stretch that stands behind the loop, without a branch but the last one, which goes there.
bool Explorer::is_plain_stretch(u32 at, u32 target) const {
  for (u32 k = at + 1; k != target; ++k) {
    if (k >= setting_.code->operations.size()) return false;
    const Operation& inside = operation(k);
    const std::string_view n = inside.instruction->mnemonic;
    if (n == "s_barrier" || n == "s_endpgm" || n.starts_with("s_setpc")) return false;
    if (target < at && inside.cls == Class::branch) return n == "s_branch" && inside.target == target;
    if (inside.cls == Class::branch && (inside.target <= at || inside.target > target)) return false;
  }
  return true;
}

Explorer::Stop Explorer::advance(State& state, std::size_t index, Term& question) {
  WaveRun& run = state.waves[index];
  emulator::Wave& w = run.machine.wave();
  for (;;) {
    const u32 at = w.at;
    while (!run.optional.empty() &&
           run.optional.back().end == at) { // both ways meet: with the stretch, without it
      Optional o = std::move(run.optional.back());
      run.optional.pop_back();
      const Term taken = o.taken;
      for (unsigned r = 0; r < 128; ++r) {
        const Term now = run.machine.scalar(r);
        if (now != o.scalar[r] && r != exec_lo && r != exec_lo + 1)
          run.machine.set_scalar(r, now == Terms::unknown ? now : t().select(taken, now, o.scalar[r]));
      }
      const Term scc_now = run.machine.scc();
      if (scc_now != o.scalar[128]) run.machine.set_scc(t().select(taken, scc_now, o.scalar[128]));
      std::vector<Pending> merged = std::move(o.pending);
      for (const Pending& p : merged)
        if (p.access != open_end) run.trace[p.access].done = open_end;
      for (const Pending& p : run.pending) {
        const bool older = std::any_of(merged.begin(), merged.end(), [&](const Pending& q) {
          return q.op == p.op && q.access == p.access && q.after <= p.after;
        });
        if (!older) merged.push_back(p);
      }
      run.pending = std::move(merged);
    }
    if (at >= setting_.code->operations.size()) throw Budget{"no instruction at the end of a jump"};
    const Operation& op = operation(at);
    if (++report_.instructions > options_.max_instructions)
      throw Budget{"more than " + std::to_string(options_.max_instructions) + " wave instructions"};
    spend(step_instruction);
    if (const auto why = setting_.not_reserved.find(at); why != setting_.not_reserved.end())
      throw Budget{why->second};
    w.current = at;
    if (heads_.contains(at)) {
      const u32 visit = ++run.visits[at];
      const u32 before = run.open_at_visit.contains(at) ? run.open_at_visit[at] : 0;
      run.open_at_visit[at] = run.opened;
      if (run.home && run.home->head == at && visit == run.home->visit) {
        check_home(state, run, index);
        run.looped = true;
        return Stop::looped;
      }
      if (!run.home || run.home->head != at) {
        auto& kept = run.snapshots[at];
        const bool by_number = run.opened == before && visit > 1; // a loop whose trips are a number
        u32& numbered = run.numbered[at];
        numbered = by_number ? numbered + 1 : 0;
        if (by_number) kept.clear();
        // After many such trips no more copies of the state are kept: of a loop of 2^32 trips they are all there is time for.
        if (visit + 5 > options_.trips && numbered < 100) {
          WaveRun copy = run;
          copy.snapshots.clear();
          kept.push_back(std::make_shared<const Snapshot>(Snapshot{std::move(copy)}));
          if (kept.size() > 6) kept.erase(kept.begin());
        }
        if (visit > options_.trips && run.opened != before && kept.size() > 1) {
          run.cut = true;
          run.cut_head = at;
          return Stop::cut;
        }
      }
    }
    if (op.execute == nullptr || op.instruction->is_unknown())
      throw Budget{"no instruction at " + hex(op.instruction->address)};
    check_registers(state, run, op, at);
    if (w.hazards != nullptr) emulator::check_hazards(w, op);
    w.at = op.next;
    const isa::Instruction& i = *op.instruction;
    switch (op.cls) {
    case Class::wait: wait(run, i.wait->vmcnt, i.wait->lgkmcnt); break;
    case Class::lds:
      // A stage that is chosen by a condition: each of them by itself, as after a branch.
      while (const Term condition = run.optional.empty() ? run.machine.lds_choice(op) : 0) {
        const auto chosen = decide(state, condition);
        if (!chosen) {
          w.at = at;
          question = condition;
          if (heads_.contains(at)) --run.visits[at];
          return Stop::fork;
        }
        run.machine.choose(op, condition, *chosen);
      }
      memory(state, run, op, at);
      break;
    case Class::memory: memory(state, run, op, at); break;
    case Class::scalar_memory:
      scalar_memory(state, run, op, at);
      if (i.mnemonic.starts_with("s_load") || i.mnemonic.starts_with("s_buffer_load") ||
          op.scalar_writes[0] != 0 || op.scalar_writes[1] != 0) {
        run.machine.scalar_load(op);
        issue(run, op, on_lgkm, false, open_end);
      } else if (i.mnemonic.find("store") != std::string_view::npos ||
                 i.mnemonic.find("atomic") != std::string_view::npos) {
        issue(run, op, on_lgkm, false, open_end);
      }
      break;
    case Class::branch: {
      if (i.mnemonic == "s_branch") {
        w.at = op.target;
        break;
      }
      if (i.mnemonic.starts_with("s_cbranch_cdbg")) break; // no debugger
      Term condition = run.machine.branch_condition(op);
      // A stretch that a wave without active lanes jumps over: executed, and nothing in it counted on.
      if (i.mnemonic == "s_cbranch_execz" && !t().value(condition)) {
        const bool plain = is_plain_stretch(at, op.target);
        if (plain && condition != Terms::unknown && !decide(state, condition)) {
          Optional o;
          o.end = op.target;
          o.taken = t().invert(condition);
          o.pending = run.pending;
          for (unsigned r = 0; r < 128; ++r) o.scalar[r] = run.machine.scalar(r);
          o.scalar[128] = run.machine.scc();
          run.optional.push_back(std::move(o));
          break;
        }
      }
      if (condition == Terms::unknown) {
        condition = t().symbol("choice." + std::to_string(w.id) + "." + std::to_string(run.choices), 1);
        if (!decide(state, condition)) {
          w.at = at;
          question = condition;
          return Stop::fork;
        }
        ++run.choices;
      }
      const bool number = t().value(condition).has_value();
      const auto taken = decide(state, condition);
      if (!taken) {
        w.at = at;
        question = condition;
        if (heads_.contains(at)) { // the head will be entered again
          --run.visits[at];
        }
        return Stop::fork;
      }
      if (!number) ++run.opened;
      if (*taken) w.at = op.target;
      break;
    }
    case Class::other:
      if (i.mnemonic == "s_barrier") {
        if (!run.optional.empty()) throw Budget{"barrier in a stretch that may be skipped at " + place(at)};
        ++run.barriers;
      } else if (i.mnemonic.starts_with("s_endpgm")) {
        run.ended = true;
        return Stop::ended;
      } else if (i.mnemonic == "s_trap") {
        run.ended = true;
        return Stop::ended;
      } else if (i.mnemonic.starts_with("s_set_gpr_idx")) {
        op.execute(w, op);
      }
      break;
    default:
      if (!run.machine.execute(op)) throw Budget{"instruction without formula: " + place(at)};
      break;
    }
  }
}

} // namespace inlay::runtime::symbolic::exploring
