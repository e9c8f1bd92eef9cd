// LDS bank occupancy: which lanes are served together, as data, and the picture of what they ask for.
#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/render/views.h>

#include <algorithm>
#include <set>

namespace inlay {
namespace {

constexpr unsigned lanes = 64;
constexpr std::int64_t word_bytes = 4;
using Phases = std::vector<std::vector<unsigned>>;

/// Groups of n consecutive lanes.
Phases in_order(unsigned n) {
  Phases phases;
  for (unsigned first = 0; first < lanes; first += n) {
    phases.emplace_back();
    for (unsigned lane = first; lane < first + n; ++lane) phases.back().push_back(lane);
  }
  return phases;
}

/// Groups made of runs of four lanes; `{{0, 20}}` stands for lanes 0-3 and 20-23.
Phases in_fours(const std::vector<std::vector<unsigned>>& firsts) {
  Phases phases;
  for (const auto& group : firsts) {
    phases.emplace_back();
    for (const unsigned first : group)
      for (unsigned lane = first; lane < first + 4; ++lane) phases.back().push_back(lane);
  }
  return phases;
}

const std::vector<LdsAccess>& known_accesses() {
  static const std::vector<LdsAccess> known = {
      {"ds_read_b32", "gfx942", 4, 32, in_order(32)},
      {"ds_read_b64", "gfx942", 8, 32, in_order(16)},
      {"ds_read_b128", "gfx942", 16, 32,
       in_fours({{0, 20}, {32, 52}, {4, 16}, {36, 48}, {8, 28}, {40, 60}, {12, 24}, {44, 56}})},
      {"ds_write_b128", "gfx942", 16, 32, in_order(8)},
      {"ds_read_b32", "gfx950", 4, 64, in_order(64)},
      {"ds_read_b64", "gfx950", 8, 64, in_order(32)},
      {"ds_read_b96", "gfx950", 12, 32,
       in_fours({{0, 20}, {4, 16}, {8, 28}, {12, 24}, {32, 52}, {36, 48}, {40, 60}, {44, 56}})},
      {"ds_read_b128", "gfx950", 16, 64,
       in_fours({{0, 12, 20, 24}, {4, 8, 16, 28}, {32, 44, 52, 56}, {36, 40, 48, 60}})},
      {"ds_write_b64", "gfx950", 8, 32, in_order(16)},
  };
  return known;
}

/// `0-3,20-23`
std::string ranges(const std::vector<unsigned>& sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t j = i;
    while (j + 1 < sorted.size() && sorted[j + 1] == sorted[j] + 1) ++j;
    text += (text.empty() ? "" : ",") + std::to_string(sorted[i]);
    if (j > i) text += "-" + std::to_string(sorted[j]);
    i = j + 1;
  }
  return text;
}

} // namespace

LdsAccess lds_access(std::string_view instruction, std::string_view arch) {
  std::string names;
  for (const LdsAccess& access : known_accesses()) {
    if (access.instruction == instruction && access.arch == arch) return access;
    names += (names.empty() ? "" : ", ") + access.instruction + " on " + access.arch;
  }
  throw LayoutError({"lds_access",
                     "draw",
                     "no measurement of this LDS access is known",
                     {{"access", std::string(instruction) + " on " + std::string(arch)}},
                     "",
                     {},
                     names});
}

Picture bank_picture(std::string title, const std::function<Int(unsigned lane)>& offset_of_lane,
                     const LdsAccess& access) {
  const auto banks = static_cast<std::size_t>(access.banks.value());
  Panel panel{"", access.phases.size(), banks, {}, {}, {}, Palette::load};
  for (std::size_t bank = 0; bank < banks; ++bank) panel.column_labels.push_back(std::to_string(bank));
  std::size_t clocks = 0, minimum = 0;
  for (const auto& phase : access.phases) {
    panel.row_labels.push_back("lanes " + ranges(phase));
    std::vector<std::set<std::int64_t>> words(banks); // what each bank must deliver
    std::vector<std::vector<unsigned>> asking(banks); // and to whom
    std::set<std::int64_t> all_words;
    for (const unsigned lane : phase) {
      const Int offset = offset_of_lane(lane);
      if (offset < 0)
        throw LayoutError({"range",
                           "draw",
                           "an LDS offset is negative",
                           {},
                           "lane " + std::to_string(lane) + " at byte " + to_string(offset),
                           {{"lane", std::to_string(lane)}, {"offset", to_string(offset)}},
                           "the layout maps a lane to a byte offset in LDS"});
      const std::int64_t first = floor_div(offset, word_bytes).value();
      const std::int64_t last = floor_div(offset + access.bytes_per_lane - 1, word_bytes).value();
      for (std::int64_t word = first; word <= last; ++word) {
        const auto bank = static_cast<std::size_t>(word) % banks;
        words[bank].insert(word);
        all_words.insert(word);
        if (asking[bank].empty() || asking[bank].back() != lane) asking[bank].push_back(lane);
      }
    }
    std::size_t slowest = 1;
    for (std::size_t bank = 0; bank < banks; ++bank) {
      const std::size_t load = words[bank].size();
      slowest = std::max(slowest, load);
      std::string note = "bank " + std::to_string(bank) + " is idle";
      if (load > 0) {
        note = "lanes " + ranges(asking[bank]) + " ask bank " + std::to_string(bank) + " for word";
        for (const std::int64_t word : words[bank]) note += " " + std::to_string(word);
      }
      panel.cells.push_back({load == 0 ? "" : std::to_string(load), std::to_string(load),
                             std::to_string(bank), "", static_cast<int>(std::min<std::size_t>(load, 7)),
                             asking[bank], note});
    }
    clocks += slowest;
    minimum += std::max<std::size_t>(1, (all_words.size() + banks - 1) / banks);
  }
  Picture picture{std::move(title), "", {std::move(panel)}};
  picture.caption = access.instruction + " on " + access.arch + ": " + std::to_string(clocks) + " clocks, " +
                    std::to_string(minimum) + " at least" +
                    (clocks == minimum ? "; no bank conflict" : "; bank conflicts");
  return picture;
}

} // namespace inlay
