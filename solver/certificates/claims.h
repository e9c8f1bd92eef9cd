/// What a proof consists of once a layer has found it: polynomial equations and inequalities, each checked
/// here and each written into the certificate, where another solver checks it again.
#pragma once

#include "arithmetic/context.h"

#include <string>
#include <vector>

namespace inlay::solver {

struct Claim {
  enum class Relation { equal, at_least } relation; // left = right, left >= right
  Poly left, right;
  std::string why;
};

class Claims {
public:
  void equal(const Poly& left, const Poly& right, std::string why) {
    list_.push_back({Claim::Relation::equal, left, right, std::move(why)});
  }
  void at_least(const Poly& left, const Poly& right, std::string why) {
    list_.push_back({Claim::Relation::at_least, left, right, std::move(why)});
  }
  void note(std::string line) { notes_.push_back(std::move(line)); }
  [[nodiscard]] const std::vector<Claim>& list() const { return list_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  void clear() {
    list_.clear();
    notes_.clear();
  }

private:
  std::vector<Claim> list_;
  std::vector<std::string> notes_; // lines of the trace that are not equations
};

} // namespace inlay::solver
