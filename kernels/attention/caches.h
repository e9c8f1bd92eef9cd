/// Test data of caches in pages. Private.
#pragma once

#include "../page.h"

namespace inlay::kernels {

/// Which positions of a cache a launch may look at: positions of pages that a table names, of a sequence that has them.
class CacheUse {
public:
  CacheUse(std::int64_t pages, int page) : pages_(pages), page_(page), used_(at(pages * page), false) {}
  /// Positions `begin` to `end` of page n of a sequence, which the table says is page `number`, or none.
  void add(std::int64_t number, std::int64_t n, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = n * page_; number >= 0 && number < pages_ && i < std::min((n + 1) * page_, end);
         ++i)
      if (i >= begin) used_[at(number * page_ + i % page_)] = true;
  }
  /// Nothing but NaN in all others, whose rows of `row` numbers are those of the tensor.
  void leave_alone(Workload& w, const std::string& name, std::int64_t row) const {
    std::vector<double> values = w.values(name);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!used_[i / at(row)]) values[i] = NAN;
    w.set(name, std::move(values));
  }

private:
  std::int64_t pages_;
  int page_;
  std::vector<bool> used_;
};

} // namespace inlay::kernels
