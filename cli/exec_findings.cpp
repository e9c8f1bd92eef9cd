#include "exec_findings.h"

#include "colour.h"

#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <ostream>

namespace inlay::cli {

using runtime::Finding;

namespace {

std::string kind_of(const Session& session, const Finding& f) {
  return painted(session, f.note ? Colour::yellow : Colour::red, std::string(to_string(f.kind)));
}

} // namespace

std::string painted(const Session& session, const Finding& f) {
  return kind_of(session, f) + to_string(f).substr(to_string(f.kind).size());
}

LiveFindings::LiveFindings(Session& session, ProgressBar& bar)
    : session_(session), bar_(bar), timer_([this] {
        std::unique_lock lock(mutex_);
        if (over_.wait_for(lock, std::chrono::milliseconds(500), [this] { return ended_; })) return;
        live_ = true;
        show_waiting();
      }) {}

LiveFindings::~LiveFindings() { end(); }

void LiveFindings::show_waiting() {
  if (waiting_.empty()) return;
  bar_.erase();
  for (const Finding& f : waiting_) {
    session_.out << painted(session_, f) << "\n";
    shown_.emplace(f.kind, f.address, f.note);
  }
  waiting_.clear();
  session_.out.flush();
}

void LiveFindings::add(const Finding& finding) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(finding);
  if (live_ && !ended_) show_waiting();
}

void LiveFindings::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  over_.notify_all();
  if (timer_.joinable()) timer_.join();
}

std::string LiveFindings::rest_of(const Finding& f) const {
  if (!shown_.contains({f.kind, f.address, f.note})) return painted(session_, f) + "\n";
  if (f.count == 1) return "";
  return fmt::format("{} at {:#x}: {} times\n", kind_of(session_, f), f.address, f.count);
}

namespace {

std::atomic<bool> interrupted{false};
std::atomic<int> which{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void note_signal(int number) {
  which = number;
  interrupted = true;
  std::signal(number, SIG_DFL);
}

} // namespace

Interruptible::Interruptible() {
  interrupted = false;
  which = 0;
  interrupt_ = std::signal(SIGINT, note_signal);
  terminate_ = std::signal(SIGTERM, note_signal);
}

Interruptible::~Interruptible() {
  std::signal(SIGINT, interrupt_);
  std::signal(SIGTERM, terminate_);
}

const std::atomic<bool>* Interruptible::flag() { return &interrupted; }

std::string Interruptible::signal_name() {
  return which == SIGINT ? "SIGINT" : which == SIGTERM ? "SIGTERM" : "";
}

} // namespace inlay::cli
