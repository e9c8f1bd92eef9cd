#include "stagger.h"

#include <inlay/codegen/schedule.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace inlay::codegen {
namespace {

bool is_access(const Inst& i) {
  return i.kind == InstKind::load || i.kind == InstKind::lds_read || i.kind == InstKind::lds_write;
}

// What stands between a wait or barrier and the next, from `begin` to `end`, with its accesses `by` products later, or earlier.
void shift(const std::vector<Inst>& body, int begin, int end, int by, std::vector<int>& order) {
  struct Access {
    int node, before; // products of the stretch that stand before it
  };
  std::vector<Access> accesses;
  std::vector<int> others;
  for (int n = begin; n < end; ++n) {
    if (is_access(body[static_cast<std::size_t>(n)]))
      accesses.push_back({n, static_cast<int>(others.size())});
    else
      others.push_back(n);
  }
  // From the end that they move to: after or before all products at most, and apart from the one there if they were.
  int most = by > 0 ? static_cast<int>(others.size()) : 0, was = -1;
  const auto move = [&](Access& a) {
    if (was >= 0 && a.before != was) most += by > 0 ? -1 : 1;
    was = a.before;
    a.before = most = by > 0 ? std::min(a.before + by, most) : std::max(a.before + by, most);
  };
  if (by > 0) {
    std::for_each(accesses.rbegin(), accesses.rend(), move);
  } else {
    std::for_each(accesses.begin(), accesses.end(), move);
  }
  auto next = accesses.begin();
  for (int seen = 0; seen <= static_cast<int>(others.size()); ++seen) {
    for (; next != accesses.end() && next->before == seen; ++next) order.push_back(next->node);
    if (seen < static_cast<int>(others.size())) order.push_back(others[static_cast<std::size_t>(seen)]);
  }
}

std::vector<int> shifted(const std::vector<Inst>& body, int by) {
  std::vector<int> order;
  int begin = 0;
  for (int n = 0; n <= static_cast<int>(body.size()); ++n) {
    const bool fixed =
        n < static_cast<int>(body.size()) && (body[static_cast<std::size_t>(n)].kind == InstKind::wait ||
                                              body[static_cast<std::size_t>(n)].kind == InstKind::barrier);
    if (!fixed && n < static_cast<int>(body.size())) continue;
    shift(body, begin, n, by, order);
    if (fixed) order.push_back(n);
    begin = n + 1;
  }
  return order;
}

// Accesses that both orders have after the same product, and there is another one of the kind: LDS or memory.
int meetings(const std::vector<Inst>& body, const std::vector<int>& order) {
  const auto behind = [&](const std::vector<int>& nodes) {
    std::map<std::pair<int, bool>, int> count; // (products before, memory)
    int products = 0;
    for (const int n : nodes) {
      const Inst& i = body[static_cast<std::size_t>(n)];
      products += i.kind == InstKind::mma;
      if (is_access(i) && !(i.kind == InstKind::lds_write && i.direct))
        ++count[{products, i.kind == InstKind::load}];
    }
    return count;
  };
  const auto lower = behind(own_order(body)), upper = behind(order);
  int sum = 0;
  for (const auto& [where, count] : lower)
    if (const auto other = upper.find(where); other != upper.end()) sum += std::min(count, other->second);
  return sum;
}

} // namespace

std::vector<int> staggered_order(const std::vector<Inst>& body) {
  const std::vector<int> same = own_order(body);
  std::vector<int> best = same;
  int fewest = meetings(body, same);
  for (const int sign : {1, -1})
    for (int by = 1; by <= most_products_apart; ++by) {
      std::vector<int> order = shifted(body, sign * by);
      if (const int meet = meetings(body, order); meet < fewest) fewest = meet, best = std::move(order);
    }
  return best == same ? std::vector<int>() : best;
}

} // namespace inlay::codegen
