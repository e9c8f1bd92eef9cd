#include "progress.h"

#include "colour.h"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace inlay::cli {

bool ProgressBar::on_terminal(const Session& session) { return cli::on_terminal(session.err); }

ProgressBar::ProgressBar(Session& session, std::string name, bool terminal, std::chrono::milliseconds quiet)
    : session_(session), name_(std::move(name)), terminal_(terminal),
      next_(std::chrono::steady_clock::now() + quiet) {}

void ProgressBar::show(double fraction, const std::string& note) {
  if (!terminal_ || std::chrono::steady_clock::now() < next_) return;
  constexpr int width = 30;
  const double f = std::clamp(fraction, 0.0, 1.0);
  const auto done = static_cast<std::size_t>(f * width);
  session_.err << fmt::format("\r{} [{}{}] {:3.0f} %  {}\x1b[K", name_, std::string(done, '#'),
                              std::string(width - done, ' '), 100 * f, note)
               << std::flush;
  shown_ = true;
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
}

void ProgressBar::erase() {
  if (shown_) session_.err << "\r\x1b[K" << std::flush;
  shown_ = false;
}

} // namespace inlay::cli
