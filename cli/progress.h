/// A bar on standard error for work that takes longer than a second, where that is a terminal. It leaves no trace.
#pragma once

#include "command.h"

#include <chrono>

namespace inlay::cli {

class ProgressBar {
public:
  /// `terminal`: whether anybody looks; tests say so themselves.
  ProgressBar(Session& session, std::string name)
      : ProgressBar(session, std::move(name), on_terminal(session)) {}
  ProgressBar(Session& session, std::string name, bool terminal,
              std::chrono::milliseconds quiet = std::chrono::seconds(1));
  ~ProgressBar() { erase(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `gemm [#####     ]  50 %  note`, in place of what was there; at most ten times a second.
  void show(double fraction, const std::string& note);
  /// Takes the bar away: before anything else is printed.
  void erase();

private:
  static bool on_terminal(const Session& session);

  Session& session_;
  std::string name_;
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

/// For EmulatorOptions::progress: workgroups of a launch. The bar must outlive the launches.
[[nodiscard]] inline auto launch_progress(ProgressBar& bar) {
  return [&bar](std::uint64_t done, std::uint64_t total) {
    bar.show(static_cast<double>(done) / static_cast<double>(total),
             std::to_string(done) + " of " + std::to_string(total) + " workgroups");
  };
}

} // namespace inlay::cli
