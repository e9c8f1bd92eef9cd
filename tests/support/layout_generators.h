/// Random layouts for RapidCheck, with shrinking towards few modes, small extents and small strides.
#pragma once

#include <inlay/algebra/laws.h>

#include <rapidcheck.h>
#include <sstream>

namespace inlay::generators {

/// A layout as plain data, so that RapidCheck shrinks it: per mode an extent and a stride, and how modes are
/// nested.
struct Recipe {
  std::vector<std::pair<int, int>> modes;
  int nesting = 0; // 0 flat; 1 a leaf if there is one mode; 2 the first two grouped; 3 each wrapped
  [[nodiscard]] Layout layout() const {
    std::vector<Tuple<Mode>> entries;
    for (const auto& [extent, stride] : modes) entries.push_back(Tuple<Mode>({extent, stride}));
    if (entries.empty()) return {};
    if (nesting == 1 && entries.size() == 1) return Layout(entries[0]);
    if (nesting == 2 && entries.size() >= 2) {
      entries[0] = Tuple<Mode>::of({entries[0], entries[1]});
      entries.erase(entries.begin() + 1);
    }
    if (nesting == 3)
      for (auto& e : entries) e = Tuple<Mode>::of({e});
    return Layout(Tuple<Mode>::of(entries));
  }
};

/// At most three modes and 60 elements; strides that often fit together (products of extents), else any in
/// -4..24.
inline rc::Gen<Recipe> recipe() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::container<std::vector<std::tuple<int, int, int>>>(rc::gen::tuple(
                         rc::gen::inRange(1, 9), rc::gen::inRange(-4, 25), rc::gen::inRange(0, 4))),
                     rc::gen::inRange(0, 4)),
      [](const std::tuple<std::vector<std::tuple<int, int, int>>, int>& raw) {
        Recipe r;
        r.nesting = std::get<1>(raw);
        int size = 1;
        int run = 1;
        for (const auto& [extent, stride, kind] : std::get<0>(raw)) {
          if (r.modes.size() == 3 || size * extent > 60) break;
          const int d = kind == 0   ? stride
                        : kind == 1 ? run
                        : kind == 2 ? run * (1 + (stride & 1))
                                    : (stride % 7 == 0 ? 0 : run);
          r.modes.emplace_back(extent, d);
          size *= extent;
          run = std::abs(d) * extent > run ? std::abs(d) * extent : run;
        }
        return r;
      });
}

/// Checks a law on random inputs and counts on how many it held (and did not refuse); `message` receives the
/// shrunk counterexample if there is one.
inline bool holds_randomly(const laws::Law& law, int cases, std::string* message, std::uint64_t seed = 20) {
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = cases;
  params.maxSize = 12;
  std::size_t held = 0;
  const auto result = rc::detail::checkTestable(
      [&law, &held] {
        const Recipe a = *recipe();
        const Recipe b = law.binary ? *recipe() : Recipe{};
        const int n = *rc::gen::inRange(1, 49);
        const laws::Outcome o = law.check({a.layout(), b.layout(), n});
        held += o.verdict == laws::Verdict::holds;
        if (o.verdict == laws::Verdict::broken) RC_FAIL(std::string(law.name) + ": " + o.message);
      },
      rc::detail::TestMetadata{law.name, law.statement}, params);
  if (result.is<rc::detail::SuccessResult>()) {
    const int done = result.get<rc::detail::SuccessResult>().numSuccess;
    *message = std::to_string(done) + " cases, " + std::to_string(static_cast<std::size_t>(done) - held) +
               " of them refused";
    // A law that refuses nearly everything has not been tested.
    return done >= cases && held * 20 >= static_cast<std::size_t>(cases);
  }
  std::ostringstream out;
  rc::detail::printResultMessage(result, out);
  *message = out.str();
  return false;
}

} // namespace inlay::generators
