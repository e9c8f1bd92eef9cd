/// Work in steps, which are the same on every machine and in every run; about a microsecond each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace inlay::kernels::validate {

struct NotFollowed {
  std::string why;
};

class Steps {
public:
  /// `most` 0: as many as it takes. `told` hears of them now and then.
  Steps(std::uint64_t most, std::function<void(std::uint64_t)> told) : most_(most), told_(std::move(told)) {}
  /// Errors: NotFollowed when there are none left.
  void take(std::uint64_t n) {
    used_ += n;
    if (told_ && used_ >= next_) {
      next_ = used_ + 50'000;
      told_(used_);
    }
    if (spent()) throw NotFollowed{"more than " + std::to_string(most_) + " steps (--budget)"};
  }
  [[nodiscard]] bool spent() const { return most_ != 0 && used_ > most_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }

  // What things take, by the clock on an idle machine (`inlay validate KERNEL --json` says steps and seconds).
  static constexpr std::uint64_t followed_instruction = 20, number_instruction = 5, question = 1500,
                                 left_open = 100'000, element = 1, guard = 100;

private:
  std::uint64_t most_, used_ = 0, next_ = 50'000;
  std::function<void(std::uint64_t)> told_;
};

} // namespace inlay::kernels::validate
