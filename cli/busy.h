/// A line on the terminal for whatever takes longer than a second and shows nothing itself: `validate  12 s`. It goes away before
/// anything is printed, and comes back when nothing was for a second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <streambuf>
#include <string>
#include <thread>

namespace inlay::cli {

class Busy {
public:
  /// Watches both streams until it ends; `terminal`: whether anybody looks at `err`.
  Busy(std::ostream& out, std::ostream& err, std::string name, bool terminal,
       std::chrono::milliseconds quiet = std::chrono::seconds(1));
  ~Busy();
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

private:
  /// What is written to one of the streams passes through here.
  class Watched : public std::streambuf {
  public:
    Watched(Busy& busy, std::streambuf* to) : busy_(busy), to_(to) {}

  protected:
    int overflow(int c) override;
    std::streamsize xsputn(const char* text, std::streamsize count) override;
    int sync() override;

  private:
    Busy& busy_;
    std::streambuf* to_;
  };
  friend class Watched;

  void erase(); ///< under the lock
  void show(std::unique_lock<std::mutex>& lock);

  std::ostream &out_, &err_;
  std::streambuf *raw_out_, *raw_err_;
  std::string name_;
  std::chrono::milliseconds quiet_;
  std::chrono::steady_clock::time_point begin_, last_;
  std::unique_ptr<Watched> watched_out_, watched_err_;
  bool shown_ = false, ended_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

} // namespace inlay::cli
