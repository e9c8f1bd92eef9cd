#include "busy.h"

#include <cstdio>
#include <ostream>

namespace inlay::cli {

using Clock = std::chrono::steady_clock;

Busy::Busy(std::ostream& out, std::ostream& err, std::string name, bool terminal,
           std::chrono::milliseconds quiet)
    : out_(out), err_(err), raw_out_(out.rdbuf()), raw_err_(err.rdbuf()), name_(std::move(name)),
      quiet_(quiet), begin_(Clock::now()), last_(begin_) {
  if (!terminal) return;
  watched_out_ = std::make_unique<Watched>(*this, raw_out_);
  watched_err_ = std::make_unique<Watched>(*this, raw_err_);
  out_.rdbuf(watched_out_.get());
  err_.rdbuf(watched_err_.get());
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    show(lock);
  });
}

Busy::~Busy() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    erase();
  }
  changed_.notify_all();
  thread_.join();
  out_.rdbuf(raw_out_);
  err_.rdbuf(raw_err_);
}

void Busy::show(std::unique_lock<std::mutex>& lock) {
  while (!ended_) {
    changed_.wait_for(lock, std::min<std::chrono::milliseconds>(quiet_, std::chrono::milliseconds(200)));
    if (ended_ || Clock::now() - last_ < quiet_) continue;
    char text[160];
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count();
    const int n = std::snprintf(text, sizeof text, "\r%.100s  %lld s\x1b[K", name_.c_str(),
                                static_cast<long long>(seconds));
    raw_err_->sputn(text, n);
    raw_err_->pubsync();
    shown_ = true;
  }
}

void Busy::erase() {
  last_ = Clock::now();
  if (!shown_) return;
  raw_err_->sputn("\r\x1b[K", 4);
  raw_err_->pubsync();
  shown_ = false;
}

int Busy::Watched::overflow(int c) {
  const std::lock_guard lock(busy_.mutex_);
  busy_.erase();
  return c == EOF ? 0 : to_->sputc(static_cast<char>(c));
}
std::streamsize Busy::Watched::xsputn(const char* text, std::streamsize count) {
  const std::lock_guard lock(busy_.mutex_);
  busy_.erase();
  return to_->sputn(text, count);
}
int Busy::Watched::sync() {
  const std::lock_guard lock(busy_.mutex_);
  return to_->pubsync();
}

} // namespace inlay::cli
