// LDS bank occupancy: what the lanes of each phase ask of each bank.
#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/render/views.h>

#include <algorithm>
#include <set>

namespace inlay {
namespace {

constexpr std::int64_t word_bytes = 4;

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

Picture bank_picture(std::string title, const std::function<Int(unsigned lane)>& offset_of_lane,
                     const BankModel& model) {
  const auto banks = model.banks;
  Panel panel{"", model.phases.size(), banks, {}, {}, {}, Palette::load};
  for (std::size_t bank = 0; bank < banks; ++bank) panel.column_labels.push_back(std::to_string(bank));
  std::size_t clocks = 0, minimum = 0;
  for (const auto& phase : model.phases) {
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
      const std::int64_t last = floor_div(offset + model.bytes_per_lane - 1, word_bytes).value();
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
  picture.caption = model.name + ": " + std::to_string(clocks) + " clocks, " + std::to_string(minimum) +
                    " at least" + (clocks == minimum ? "; no bank conflict" : "; bank conflicts");
  return picture;
}

} // namespace inlay
