/// What `exec` says while a launch is under way: findings as they are made, and how the launch ends when somebody interrupts it.
#pragma once

#include "progress.h"

#include <condition_variable>
#include <inlay/runtime/emulator.h>
#include <mutex>
#include <set>
#include <thread>

namespace inlay::cli {

/// The finding as text, its kind in colour.
[[nodiscard]] std::string painted(const Session& session, const runtime::Finding& finding);

/// Shows findings of launches that take longer than half a second, those that there are then and later ones at once; those of shorter
/// launches are left to who prints them all.
class LiveFindings {
public:
  LiveFindings(Session& session, ProgressBar& bar);
  ~LiveFindings();
  LiveFindings(const LiveFindings&) = delete;
  LiveFindings& operator=(const LiveFindings&) = delete;

  /// For EmulatorOptions::on_finding.
  void add(const runtime::Finding& finding);
  /// The launch is over: nothing is shown on its own any more.
  void end();
  /// The finding, or how often it was made when it has been shown before.
  [[nodiscard]] std::string rest_of(const runtime::Finding& finding) const;

private:
  void show_waiting();

  Session& session_;
  ProgressBar& bar_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool ended_ = false, live_ = false;
  std::vector<runtime::Finding> waiting_;
  std::set<std::tuple<runtime::FindingKind, std::uint64_t, bool>> shown_; ///< kind, address, note
  std::thread timer_;
};

/// While it lives SIGINT and SIGTERM set a flag instead of ending the process; a second one ends it as ever.
class Interruptible {
public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  [[nodiscard]] static const std::atomic<bool>* flag();
  /// `SIGINT`, `SIGTERM`; empty: none came.
  [[nodiscard]] static std::string signal_name();

private:
  void (*interrupt_)(int);
  void (*terminate_)(int);
};

} // namespace inlay::cli
