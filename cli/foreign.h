/// Another implementation of the algebra, as a process that answers JSON lines.
///
/// The process is started through the shell and kept: one request a line on its standard input, one answer a
/// line on its standard output (the protocol of `inlay eval --jsonl`). One that dies, answers nonsense or
/// takes longer than the limit is started again for the next request.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace inlay::cli {

class Foreign {
public:
  explicit Foreign(std::string command, std::chrono::milliseconds limit = std::chrono::seconds(10));
  ~Foreign();
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  struct Answer {
    bool alive = false; ///< false: it ended, or did not answer in time; `line` then says which
    std::string line;
  };
  /// Sends one line and waits for one. Throws std::runtime_error when the process cannot be started.
  [[nodiscard]] Answer ask(const std::string& line);
  /// Asks the simplest question there is. Throws std::runtime_error when nothing comes back: a command that is missing or
  /// broken is not an implementation that refuses every input.
  void greet();
  [[nodiscard]] std::int64_t next_id() { return ++id_; }

private:
  void start();
  void stop();

  std::string command_;
  std::chrono::milliseconds limit_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::int64_t id_ = 0;
  int status_ = 0;      // of the process that ended last, as of waitpid
  std::string pending_; // read and not yet used
};

} // namespace inlay::cli
