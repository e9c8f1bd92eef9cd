#include <inlay/kernels/workers.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <stdexcept>
#include <vector>

#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace inlay::kernels {
namespace {

struct Worker {
  pid_t process = -1;
  std::size_t job = 0;
  std::string answer;
};

void write_all(int to, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(to, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

} // namespace

unsigned processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1U, static_cast<unsigned>(CPU_COUNT(&set)));
}

void in_processes(std::size_t count, unsigned at_a_time, const std::function<std::string(std::size_t)>& job,
                  const std::function<bool(std::size_t, std::optional<std::string>)>& done,
                  const std::function<bool()>& go_on) {
  if (at_a_time <= 1) {
    for (std::size_t i = 0; i < count; ++i)
      if ((go_on && !go_on()) || !done(i, job(i))) return;
    return;
  }
  std::map<int, Worker> workers; // by the end of the pipe that we read
  std::size_t next = 0;
  bool more = true;
  const auto begin = [&] {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe for another process");
    const pid_t process = ::fork();
    if (process < 0) {
      ::close(ends[0]), ::close(ends[1]);
      throw std::runtime_error("no other process can be begun");
    }
    if (process == 0) {
      // An interrupt from the terminal is for the parent, which ends us.
      ::signal(SIGINT, SIG_IGN);
      ::close(ends[0]);
      int status = 0;
      try {
        write_all(ends[1], job(next) + '\n');
      } catch (...) {
        status = 1;
      }
      ::_exit(status);
    }
    ::close(ends[1]);
    workers[ends[0]] = {process, next++, {}};
  };
  const auto end_all = [&] {
    for (const auto& [end, worker] : workers) {
      ::kill(worker.process, SIGKILL);
      ::waitpid(worker.process, nullptr, 0);
      ::close(end);
    }
    workers.clear();
  };
  try {
    while ((more && next < count) || !workers.empty()) {
      while (more && next < count && workers.size() < at_a_time) begin();
      std::vector<pollfd> ends;
      for (const auto& [end, worker] : workers) ends.push_back({end, POLLIN, 0});
      if (::poll(ends.data(), ends.size(), 200) < 0 && errno != EINTR) throw std::runtime_error("poll fails");
      for (const pollfd& p : ends) {
        if (p.revents == 0) continue;
        Worker& worker = workers[p.fd];
        char text[4096];
        const ssize_t n = ::read(p.fd, text, sizeof text);
        if (n > 0) {
          worker.answer.append(text, static_cast<std::size_t>(n));
          continue;
        }
        if (n < 0 && errno == EINTR) continue;
        int status = 0;
        while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
        }
        ::close(p.fd);
        const Worker ended = std::move(worker);
        workers.erase(p.fd);
        const bool whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !ended.answer.empty();
        more = done(ended.job,
                    whole ? std::optional(ended.answer.substr(0, ended.answer.size() - 1)) : std::nullopt) &&
               more;
      }
      more = more && (!go_on || go_on());
      if (!more) end_all();
    }
  } catch (...) {
    end_all();
    throw;
  }
}

} // namespace inlay::kernels
