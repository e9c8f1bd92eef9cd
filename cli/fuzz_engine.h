/// The loop behind `inlay fuzz`: draw, judge, remember the first input of each kind, shrink it.
///
/// A judge maps an input to a kind, a small number chosen by its caller; kinds below `first_kept` are normal.
/// Inputs come from RapidCheck with a seed a case (seed and number of the case), so that a run can be
/// repeated. The first input of every kept kind is shrunk at the end: as long as one of RapidCheck's smaller
/// candidates is of the same kind, it takes its place.
#pragma once

#include "fuzz_inputs.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace inlay::cli {

struct FuzzOptions {
  FuzzLimits limits;
  std::uint64_t cases = 10000;
  std::uint64_t seed = 1;
  double minutes = 0; ///< when above 0: until then, however many cases
};

struct FuzzFinding {
  FuzzInput input;
  std::uint64_t number = 0; ///< of the case that found it
  int shrunk = 0;           ///< how many times it became smaller
};

struct FuzzReport {
  std::uint64_t cases = 0;
  double seconds = 0;
  std::map<int, std::uint64_t> count;  ///< per kind
  std::map<int, FuzzFinding> findings; ///< per kept kind
};

using FuzzJudge = std::function<int(const FuzzInput&)>;
/// Told now and then how far the run is, from 0 to 1.
using FuzzProgress = std::function<void(double fraction, const FuzzReport&)>;

/// Stops early at the first finding when `stop_at_first`.
[[nodiscard]] FuzzReport fuzz(const FuzzOptions& options, int first_kept, bool stop_at_first,
                              const FuzzJudge& judge, const FuzzProgress& progress);

} // namespace inlay::cli
