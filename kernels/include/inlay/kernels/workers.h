/// Jobs in processes of their own: machine code is generated one module at a time in a process, and a job that dies costs its
/// answer and nothing else.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace inlay::kernels {

/// `job(i)` for 0 <= i < count, `at_a_time` of them side by side, in order of i as processes come free; `done` hears each answer
/// in the caller's process, nothing where the process died. It says whether to go on, as `go_on` does, which is asked often: with false
/// no more are begun, and those under way are ended. `at_a_time` 1: in this process, and exceptions pass; else a job's exceptions are a lost job.
void in_processes(std::size_t count, unsigned at_a_time, const std::function<std::string(std::size_t)>& job,
                  const std::function<bool(std::size_t, std::optional<std::string>)>& done,
                  const std::function<bool()>& go_on = {});

/// Processors that this process may use, at least 1.
[[nodiscard]] unsigned processors();

} // namespace inlay::kernels
