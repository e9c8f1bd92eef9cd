#include "progress.h"

#include <catch2/catch.hpp>
#include <sstream>
#include <thread>

namespace progress_test {

using inlay::cli::ProgressBar;

TEST_CASE("a bar on a terminal, nothing elsewhere, and no trace of it afterwards") {
  std::istringstream in;
  std::ostringstream out, err;
  inlay::cli::Session session{in, out, err};
  {
    ProgressBar bar(session, "gemm", true, std::chrono::milliseconds(0));
    const auto show = inlay::cli::launch_progress(bar);
    show(16, 64);
    CHECK(err.str() == "\rgemm [#######                       ]  25 %  16 of 64 workgroups\x1b[K");
    show(17, 64); // at most ten times a second
    CHECK(err.str().find("17 of") == std::string::npos);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    show(64, 64);
    CHECK(err.str().ends_with("\rgemm [##############################] 100 %  64 of 64 workgroups\x1b[K"));
  }
  CHECK(err.str().ends_with("\r\x1b[K"));
  err.str("");
  {
    ProgressBar early(session, "gemm", true); // not in the first second
    early.show(0.5, "");
    ProgressBar unseen(session, "gemm", false, std::chrono::milliseconds(0));
    unseen.show(0.5, "");
    ProgressBar piped(session, "gemm"); // this session's err is no terminal
    std::this_thread::sleep_for(std::chrono::milliseconds(1010));
    piped.show(0.5, "");
    early.show(0.5, "now");
    early.erase();
  }
  CHECK(err.str() == "\rgemm [###############               ]  50 %  now\x1b[K\r\x1b[K");
  CHECK(out.str().empty());
}

} // namespace progress_test
