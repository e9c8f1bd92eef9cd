#include "inlay/solver/lds.h"

#include <inlay/machine/target.h>

#include <inlay/machine/lds.h>

#include <algorithm>
#include <tuple>

namespace inlay::solver {
namespace {

const std::vector<LdsAccess>& table() {
  static const std::vector<LdsAccess> accesses = [] {
    std::vector<LdsAccess> all;
    for (const machine::LdsService& s : machine::lds_services) {
      std::vector<std::vector<unsigned>> phases(s.phases());
      for (unsigned lane = 0; lane < s.phase.size(); ++lane) phases[s.phase[lane]].push_back(lane);
      all.push_back({machine::to_string(s.arch), s.write ? "write" : "read", s.bytes, s.banks,
                     std::move(phases), s.measured, s.source});
    }
    // Counted before the narrow ones are appended, which are made from the rows of a dword.
    const std::size_t words = all.size();
    for (std::size_t k = 0; k < words; ++k) {
      all[k].alignment = all[k].bytes == 12 ? 4 : all[k].bytes;
      // A byte or a half comes out of the dword around it, whose bank is all that the clocks see; its address needs no more
      // alignment than its own width.
      for (unsigned narrow : {1U, 2U})
        if (all[k].bytes == 4) {
          all.push_back(all[k]);
          all.back().alignment = narrow;
          all.back().measured = false;
          all.back().source = "no published measurement: as the dword around it";
        }
    }
    return all;
  }();
  return accesses;
}

struct Instruction {
  std::string_view name, direction;
  unsigned bytes, alignment;
};
constexpr Instruction instructions[] = {
    {"ds_read_b32", "read", 4, 4},     {"ds_read_b64", "read", 8, 8},      {"ds_read_b96", "read", 12, 4},
    {"ds_read_b128", "read", 16, 16},  {"ds_write_b32", "write", 4, 4},    {"ds_write_b64", "write", 8, 8},
    {"ds_write_b96", "write", 12, 4},  {"ds_write_b128", "write", 16, 16}, {"ds_read_u8", "read", 4, 1},
    {"ds_read_i8", "read", 4, 1},      {"ds_read_u16", "read", 4, 2},      {"ds_read_i16", "read", 4, 2},
    {"ds_read_u16_d16", "read", 4, 2}, {"ds_write_b8", "write", 4, 1},     {"ds_write_b16", "write", 4, 2},
};
// Transposing reads go through the read pipe of their width, where there are any.
constexpr Instruction transposing[] = {
    {"ds_read_b64_tr_b16", "read", 8, 8},
    {"ds_read_b64_tr_b8", "read", 8, 8},
    {"ds_read_b64_tr_b4", "read", 8, 8},
    {"ds_read_b96_tr_b6", "read", 12, 4},
};

} // namespace

std::span<const LdsAccess> lds_accesses() { return table(); }

const LdsAccess& lds_access(std::string_view instruction, std::string_view arch) {
  const Instruction* found = nullptr;
  const machine::Target* const target = machine::find_chip(arch);
  const bool transposes = target != nullptr && target->transposes_lds;
  for (const Instruction& i : instructions)
    if (i.name == instruction) found = &i;
  if (transposes)
    for (const Instruction& i : transposing)
      if (i.name == instruction) found = &i;
  for (const LdsAccess& a : table())
    if (found && target && a.arch == target->name && a.direction == found->direction &&
        a.bytes == found->bytes && a.alignment == found->alignment)
      return a;
  // A wrong architecture and a wrong instruction are different mistakes, with different lists of what there is.
  if (target == nullptr)
    throw QuestionError("conflict-free: no LDS model of '" + std::string(arch) + "'\n  hint   " +
                        machine::names(", "));
  std::string names;
  for (const Instruction& i : instructions) names += (names.empty() ? "" : ", ") + std::string(i.name);
  if (transposes)
    for (const Instruction& i : transposing) names += ", " + std::string(i.name);
  throw QuestionError("conflict-free: '" + std::string(instruction) + "' is not an LDS access of " +
                      std::string(arch) + "\n  hint   " + names);
}

LdsConflicts lds_conflicts(const LdsAccess& access, const std::function<std::int64_t(unsigned)>& address,
                           unsigned lanes) {
  LdsConflicts out;
  std::vector<std::int64_t> at(std::min(lanes, 64U));
  for (unsigned lane = 0; lane < at.size(); ++lane) {
    // Asked once a lane: the callback may evaluate a formula, and each phase looks at its lanes again.
    at[lane] = address(lane);
    if (out.misaligned_lane < 0 && at[lane] % access.alignment != 0)
      out.misaligned_lane = static_cast<int>(lane);
  }
  struct Want {
    std::int64_t dword;
    unsigned bank, order, lane; ///< order: of the lanes in their phase
  };
  const auto banks = static_cast<std::int64_t>(access.banks);
  std::vector<Want> wanted;
  std::vector<const Want*> of_bank; // the first that is wanted of it
  for (const auto& phase : access.phases) {
    // The different dwords wanted, bank by bank, each with the first lane that wants it.
    wanted.clear();
    unsigned order = 0;
    for (unsigned lane : phase) {
      if (lane >= at.size()) continue;
      // Rounded down below 0 as well: a negative address is out of bounds, but here it is a residue class
      // that stands for others (banks.cpp).
      const std::int64_t first = at[lane] >= 0 ? at[lane] / 4 : -((3 - at[lane]) / 4);
      for (std::int64_t dword = first; dword < first + access.bytes / 4; ++dword)
        wanted.push_back({dword, static_cast<unsigned>(((dword % banks) + banks) % banks), order++, lane});
    }
    // Mostly each bank has one dword to deliver, which is seen without an order.
    of_bank.assign(access.banks, nullptr);
    const bool free = std::all_of(wanted.begin(), wanted.end(), [&](const Want& w) {
      if (!of_bank[w.bank]) of_bank[w.bank] = &w;
      return of_bank[w.bank]->dword == w.dword;
    });
    if (free) {
      out.clocks += wanted.empty() ? 0 : 1;
      continue;
    }
    // By bank, then by dword: equal dwords of a bank stand together and are one delivery, however many lanes
    // want it. `order` keeps the lane that is named the same whatever the sort does.
    std::sort(wanted.begin(), wanted.end(), [](const Want& a, const Want& b) {
      return std::tie(a.bank, a.dword, a.order) < std::tie(b.bank, b.dword, b.order);
    });
    wanted.erase(std::unique(wanted.begin(), wanted.end(),
                             [](const Want& a, const Want& b) { return a.dword == b.dword; }),
                 wanted.end());
    unsigned worst = 0;
    for (auto begin = wanted.begin(); begin != wanted.end();) {
      const auto end =
          std::find_if(begin, wanted.end(), [&](const Want& w) { return w.bank != begin->bank; });
      const auto n = static_cast<unsigned>(end - begin);
      // Banks work side by side, so that a phase takes as long as its most demanded bank; phases follow each
      // other, so that their times add up.
      worst = std::max(worst, n);
      if (n > out.degree) {
        out.degree = n;
        out.bank = begin->bank;
        out.lanes.clear();
        for (auto w = begin; w != end; ++w) out.lanes.push_back(w->lane);
      }
      begin = end;
    }
    out.clocks += worst;
  }
  std::sort(out.lanes.begin(), out.lanes.end());
  return out;
}

} // namespace inlay::solver
