// The bits that claims about the order of sums speak of: a program run with workgroups in shuffled orders, under hostile schedules, and
// with other rows beside the same ones. What is run shares nothing with what is claimed but the program.
#pragma once

#include <inlay/algebra/sym.h>
#include <inlay/codegen/sum_order.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/evaluate.h>
#include <inlay/kernels/launch.h>
#include <inlay/runtime/emulator.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>

namespace row_bits {

using namespace inlay;
using namespace inlay::codegen;
using Verdict = OrderClaim::Verdict;

inline SumOrders orders(const Program& p) { return sum_orders(expand(p)); }
inline std::string text(const SumOrders& o) {
  std::string out;
  for (const OrderClaim& c : o.claims) out += to_string(c) + "\n";
  return out;
}

/// One workgroup of a launch.
struct One : runtime::LaunchObserver {
  std::uint64_t only = 0;
  bool wants(std::uint64_t workgroup) override { return workgroup == only; }
  void executed(const runtime::ExecutedInstruction&) override {}
};

inline std::vector<kernels::Bytes> launched(const kernels::Artifact& artifact,
                                            const kernels::LaunchPlan& plan,
                                            const std::vector<kernels::Bytes>& buffers,
                                            std::optional<std::uint64_t> shuffled,
                                            std::optional<std::uint64_t> stress = {}) {
  const auto device = kernels::open_device("emulator", artifact.arch);
  runtime::EmulatorOptions& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  if (stress) {
    options.stress = true;
    options.seed = *stress;
  }
  std::vector<runtime::Buffer> on_device;
  std::vector<std::uint64_t> addresses;
  for (const kernels::Bytes& b : buffers) {
    on_device.emplace_back(*device, b.size());
    device->copy_in(on_device.back().address(), {reinterpret_cast<const std::uint8_t*>(b.data()), b.size()});
    addresses.push_back(on_device.back().address());
  }
  kernels::LoadedKernel kernel(*device, artifact);
  One one;
  if (shuffled) {
    std::vector<std::uint64_t> order(std::size_t{plan.grid[0]} * plan.grid[1] * plan.grid[2]);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(*shuffled);
    std::shuffle(order.begin(), order.end(), random);
    options.observer = &one;
    for (const std::uint64_t w : order) {
      one.only = w;
      kernel.launch(plan, addresses);
      device->synchronize();
    }
  } else {
    kernel.launch(plan, addresses);
    device->synchronize();
  }
  std::vector<kernels::Bytes> out;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    out.emplace_back(buffers[b].size());
    device->copy_out({reinterpret_cast<std::uint8_t*>(out.back().data()), out.back().size()}, addresses[b]);
  }
  return out;
}

/// A program with sizes, built once, whose rows are known by numbers that stay when they stand elsewhere.
class Rows {
public:
  Rows(Program program, std::vector<std::int64_t> sizes, const std::string& batch)
      : sizes_(std::move(sizes)), orders_(orders(program)), artifact_(kernels::build(std::move(program))) {
    const Program& p = artifact_.source->program;
    for (std::size_t s = 0; s < p.sizes().size(); ++s)
      if (p.sizes()[s].name == batch) batch_ = s;
  }
  [[nodiscard]] const SumOrders& claims() const { return orders_; }
  /// Another value of a size in the launches that follow.
  void set(const std::string& size, std::int64_t value) {
    const std::vector<Size>& all = artifact_.source->program.sizes();
    for (std::size_t s = 0; s < all.size(); ++s)
      if (all[s].name == size) sizes_[s] = value;
  }

  /// The first output's rows, each by its number, of a launch in which row `rows[i]` stands at place i.
  std::map<int, std::vector<std::uint8_t>> run(const std::vector<int>& rows,
                                               std::optional<std::uint64_t> shuffled = {},
                                               std::optional<std::uint64_t> stress = {}) {
    const Program& p = artifact_.source->program;
    std::vector<std::int64_t> sizes = sizes_;
    sizes[batch_] = static_cast<std::int64_t>(rows.size());
    Assignment at;
    for (std::size_t s = 0; s < sizes.size(); ++s) at.set(p.sizes()[s].symbol, Int(sizes[s]));
    std::vector<kernels::Bytes> buffers;
    const Tensor* first = nullptr;
    const auto each = [&](const Tensor& t, auto f) { // number of the row, coordinate, place
      const std::vector<std::int64_t> extents = kernels::extents_of(p, t, sizes);
      std::int64_t n = 1;
      const auto place_of = [&](const std::vector<Sym>& c) { return evaluate(t.at(c), at).value(); };
      std::vector<std::int64_t> stride; // all places here are rows or columns
      for (std::size_t a = 0; a < extents.size(); ++a) {
        n *= extents[a];
        std::vector<Sym> one(extents.size(), Sym(0));
        one[a] = Sym(extents[a] > 1 ? 1 : 0);
        stride.push_back(place_of(one));
      }
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t to = 0;
        std::uint64_t name = static_cast<std::uint64_t>(t.id);
        std::int64_t rest = i;
        int row = -1;
        for (std::size_t a = 0; a < extents.size(); ++a) {
          std::int64_t c = rest % extents[a];
          rest /= extents[a];
          to += c * stride[a];
          if (row < 0 && t.shape[a] == p.sizes()[batch_].symbol) c = row = rows[static_cast<std::size_t>(c)];
          name = (name * 1000003 + static_cast<std::uint64_t>(c) + 1) * 0x9e3779b97f4a7c15;
        }
        f(row, name, static_cast<std::size_t>(to));
      }
    };
    for (const Tensor& t : p.tensors()) {
      if (t.space != Space::global) continue;
      const auto size = static_cast<std::size_t>(bits(t.element) / 8);
      kernels::Bytes& bytes = buffers.emplace_back();
      each(t, [&](int, std::uint64_t name, std::size_t place) {
        if (bytes.size() < (place + 1) * size) bytes.resize((place + 1) * size, std::byte{0});
        if (t.output) return;
        const double v = t.element == Element::i8 || t.element == Element::i32
                             ? static_cast<double>(name >> 40 & 63) - 32
                             : static_cast<double>(name >> 20 & 0xffffff) / 0x1p23 - 1;
        const std::uint64_t code = encode(t.element, v);
        for (std::size_t b = 0; b < size; ++b)
          bytes[place * size + b] = static_cast<std::byte>(code >> (8 * b));
      });
      if (!first && t.output) first = &t;
    }
    const std::vector<kernels::Bytes> after =
        launched(artifact_, artifact_.contract.plan(sizes), buffers, shuffled, stress);
    std::size_t number = 0;
    for (const Tensor& t : p.tensors()) {
      if (&t == first) break;
      number += t.space == Space::global ? 1 : 0;
    }
    std::map<int, std::vector<std::uint8_t>> out;
    const auto size = static_cast<std::size_t>(bits(first->element) / 8);
    each(*first, [&](int row, std::uint64_t, std::size_t place) {
      for (std::size_t b = 0; b < size; ++b)
        out[row].push_back(std::to_integer<std::uint8_t>(after[number][place * size + b]));
    });
    return out;
  }

private:
  std::vector<std::int64_t> sizes_;
  SumOrders orders_;
  kernels::Artifact artifact_;
  std::size_t batch_ = 0;
};

inline std::vector<int> numbered(int first, int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

/// What bits say of each claim against its verdict: proved ones hold in every launch, refuted ones fail in some. `few` rows at the
/// same place, then with others after them, then elsewhere; the number of rows is a multiple of `step`.
struct Agreement {
  bool order = true, others = true, place = true;
};
inline Agreement agree(Rows& rows, const std::string& batch, unsigned launches, int few = 5, int step = 1) {
  const SumOrders& claims = rows.claims();
  INFO(text(claims));
  const std::vector<int> these = numbered(0, few);
  const auto here = rows.run(these);
  Agreement is;
  for (unsigned seed = 1; seed <= launches; ++seed) {
    is.order = is.order && rows.run(these, seed) == here;
    is.order = is.order && rows.run(these, {}, seed) == here;
    std::mt19937_64 random(seed);
    std::vector<int> more = these; // the same at the same places, with others after them
    const int count = (3 + static_cast<int>(random() % 90) + step - 1) / step * step;
    const auto more_of_them = numbered(100 * static_cast<int>(seed), count);
    more.insert(more.end(), more_of_them.begin(), more_of_them.end());
    const auto beside = rows.run(more);
    std::shuffle(more.begin(), more.end(), random);
    const auto elsewhere = rows.run(more);
    for (const int r : these) {
      is.others = is.others && beside.at(r) == here.at(r);
      is.place = is.place && elsewhere.at(r) == here.at(r);
    }
  }
  const auto judged = [&](const std::string& claim, bool holds) {
    const OrderClaim* c = claims.find(claim);
    REQUIRE(c != nullptr);
    INFO(claim);
    if (c->verdict == Verdict::proved) CHECK(holds);
    if (c->verdict == Verdict::refuted) CHECK_FALSE(holds);
  };
  judged("deterministic", is.order);
  // In one order of workgroups rows may look as if they did not depend on others.
  const std::string size = " (" + batch + ")";
  if (claims.claims[0].verdict == Verdict::proved ||
      claims.find("batch-invariant" + size)->verdict == Verdict::proved) {
    judged("batch-invariant" + size, is.others);
    judged("position-invariant" + size, is.place);
  }
  return is;
}
inline void agree(Program program, const std::vector<std::int64_t>& sizes, const std::string& batch,
                  unsigned launches) {
  INFO(program.name());
  Rows rows(std::move(program), sizes, batch);
  (void)agree(rows, batch, launches);
}

} // namespace row_bits
