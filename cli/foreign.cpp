#include "foreign.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace inlay::cli {
namespace {

constexpr std::size_t longest_answer = std::size_t{1} << 24;

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

} // namespace

Foreign::Foreign(std::string command, std::chrono::milliseconds limit)
    : command_(std::move(command)), limit_(limit) {}

Foreign::~Foreign() { stop(); }

void Foreign::start() {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) throw_errno("cannot make a pipe");
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    throw_errno("cannot make a pipe");
  }
  process_ = fork();
  if (process_ == 0) {
    // Its own group, so that stop() ends the shell's children too.
    setpgid(0, 0);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    const int nothing = open("/dev/null", O_WRONLY);
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", command_.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  pending_.clear();
  if (process_ < 0) throw_errno("cannot start '" + command_ + "'");
}

void Foreign::stop() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (process_ > 0) {
    // Its own status, when it ended by itself a moment ago.
    for (int k = 0; k < 50 && waitpid(process_, &status_, WNOHANG) == 0; ++k) usleep(k < 40 ? 100 : 1000);
    kill(-process_, SIGKILL);
    if (waitpid(process_, nullptr, 0) == process_) status_ = 0;
  }
  process_ = -1;
}

void Foreign::greet() {
  const Answer a = ask(R"({"id":0,"op":"size","args":["4:1"]})");
  if (a.alive) return;
  std::string how = a.line;
  if (a.line == "it ended" && WIFEXITED(status_))
    how += " with status " + std::to_string(WEXITSTATUS(status_));
  throw std::runtime_error(
      "fuzz: no answer from '" + command_ + "': " + how +
      (WIFEXITED(status_) && WEXITSTATUS(status_) == 127
           ? "\n  hint   the shell does not find the command"
           : "\n  hint   it reads one JSON object a line and answers each, like inlay eval --jsonl; try "
             "echo '{\"op\":\"size\",\"args\":[\"4:1\"]}' | " +
                 command_));
}

Foreign::Answer Foreign::ask(const std::string& line) {
  if (process_ < 0) start();
  const auto lost = [&](const std::string& why) {
    stop();
    return Answer{false, why};
  };

  // Writing to a process that has ended raises SIGPIPE; ignored here, it is an error of write() instead.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  const std::string message = line + "\n";
  bool sent = true;
  for (std::size_t done = 0; done < message.size() && sent;) {
    const ssize_t n = write(to_, message.data() + done, message.size() - done);
    if (n > 0)
      done += static_cast<std::size_t>(n);
    else if (errno != EINTR)
      sent = false;
  }
  sigaction(SIGPIPE, &before, nullptr);
  if (!sent) return lost("it ended");

  const auto deadline = std::chrono::steady_clock::now() + limit_;
  for (;;) {
    const auto end = pending_.find('\n');
    if (end != std::string::npos) {
      Answer answer{true, pending_.substr(0, end)};
      pending_.erase(0, end + 1);
      return answer;
    }
    if (pending_.size() > longest_answer) return lost("it answers with more than 16 MiB");
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return lost("it did not answer in time");
    pollfd wait{from_, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(left.count()));
    if (ready == 0) return lost("it did not answer in time");
    if (ready < 0) {
      if (errno == EINTR) continue;
      return lost("it cannot be read");
    }
    char buffer[4096];
    const ssize_t n = read(from_, buffer, sizeof buffer);
    if (n <= 0) return lost("it ended");
    pending_.append(buffer, static_cast<std::size_t>(n));
  }
}

} // namespace inlay::cli
