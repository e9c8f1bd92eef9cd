#include "scaled_sums.h"

#include "circle.h"

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <tuple>

namespace inlay::codegen {
namespace {

Element element_of(const std::vector<Register>& registers, const Reg& r) {
  return registers[static_cast<std::size_t>(r.id)].element;
}
bool all_f32(const Inst& i, const std::vector<Register>& registers) {
  return element_of(registers, i.def) == Element::f32 &&
         std::all_of(i.uses.begin(), i.uses.end(),
                     [&](const Reg& r) { return element_of(registers, r) == Element::f32; });
}
// Both operands of a product of two parameters.
std::optional<std::pair<int, int>> factors(Expr e) {
  const ExprNode& n = e.node();
  if (n.fn != Fn::mul || n.args.size() != 2) return std::nullopt;
  const ExprNode &a = Expr{e.arena, n.args[0]}.node(), &b = Expr{e.arena, n.args[1]}.node();
  if (a.fn != Fn::parameter || b.fn != Fn::parameter) return std::nullopt;
  return std::pair(a.tensor, b.tensor);
}

class ScaledSums {
public:
  ScaledSums(const Region& loop, const std::vector<Register>& registers, const Program& program)
      : loop_(loop), registers_(registers), target_(program.target()) {}

  bool analyse() {
    if (loop_.pipeline.ring < 3 || loop_.pipeline.distance < 1) return false;
    for (int n = 0; n < static_cast<int>(loop_.body.size()); ++n) {
      const Inst& i = inst(n);
      if (!i.waves.all()) return false;
      const bool outside = i.def.id >= 0 && registers_[static_cast<std::size_t>(i.def.id)].outside;
      switch (i.kind) {
      case InstKind::fill:
        if (outside || i.value != 0) return false;
        results_[i.def.id].fill = n;
        break;
      case InstKind::mma:
        if (outside || !i.atom || !i.atom->mma || i.atom->mma->scaled) return false;
        clocks_ = i.atom->mma->clocks();
        results_[i.def.id].products.push_back(n);
        break;
      case InstKind::map:
        if (const auto sum = scaled_sum(i, registers_)) {
          if (!outside) return false;
          Result& r = results_[i.uses[static_cast<std::size_t>(sum->product * i.def.count)].id];
          if (r.sum >= 0) return false;
          r.sum = n;
        } else if (!outside && multiplies(i, registers_)) {
          factors_.push_back(n);
        } else {
          return false;
        }
        break;
      case InstKind::load:
        if (!i.direct) loads_.push_back(n);
        break;
      case InstKind::lds_read: reads_.push_back(n); break;
      case InstKind::lds_write:
        if (!i.direct || n == 0 || inst(n - 1).kind != InstKind::load) return false;
        transfers_.push_back(n);
        break;
      default: return false;
      }
    }
    return !results_.empty() && std::all_of(results_.begin(), results_.end(), [](const auto& r) {
      return r.second.fill >= 0 && r.second.sum >= 0 && !r.second.products.empty();
    });
  }

  std::optional<LoopSchedule> run() {
    place_products();
    const int length = static_cast<int>(products_.size());
    if (length < 16) return std::nullopt;
    gaps_.assign(static_cast<std::size_t>(length), {});
    many_ = static_cast<int>(loads_.size() + reads_.size() + transfers_.size()) > length;
    // Sums, and what they take.
    std::map<int, int> use; // node -> when what it gives is used: first, of products and arithmetic
    std::map<int, int> last;
    const auto note = [&](const Inst& i, int time) {
      for (const Reg& r : i.uses)
        if (const auto from = defined_.find(r.id); from != defined_.end()) {
          const auto [at, fresh] = use.try_emplace(from->second, time);
          at->second = std::min(at->second, time);
          const auto [end, new_end] = last.try_emplace(from->second, time);
          end->second = std::max(end->second, time);
        }
    };
    for (std::size_t n = 0; n < loop_.body.size(); ++n)
      if (const Inst& i = loop_.body[n]; i.def.id >= 0 && i.kind != InstKind::mma && i.kind != InstKind::fill)
        defined_[i.def.id] = static_cast<int>(n);
    for (int p = 0; p < length; ++p) note(inst(products_[static_cast<std::size_t>(p)]), p);
    for (const auto& [node, time] : sums_) put(node, time), note(inst(node), time);
    for (const int node : factors_) {
      if (!use.contains(node)) return std::nullopt;
      const int time = use.at(node) - 2;
      put(node, time), note(inst(node), time);
    }
    // Memory: what has the least choice first.
    const int rest = (Latencies::of(target_).lds + clocks_ - 1) / clocks_;
    std::vector<int> operands;
    for (const int l : loads_) {
      if (!use.contains(l)) return std::nullopt;
      const bool feeds = std::any_of(products_.begin(), products_.end(), [&](int p) {
        const auto& uses = inst(p).uses;
        return std::any_of(uses.begin(), uses.end(), [&](const Reg& r) { return r.id == inst(l).def.id; });
      });
      if (feeds) {
        operands.push_back(l);
        continue;
      }
      const int earliest = last.at(l) - loop_.pipeline.ring * length + 2;
      if (!access(l, earliest, earliest, -length - 1)) return std::nullopt;
    }
    const auto by_use = [&](int a, int b) { return use.at(a) < use.at(b); };
    for (const int r : reads_)
      if (!use.contains(r)) return std::nullopt;
    std::stable_sort(reads_.begin(), reads_.end(), by_use);
    std::stable_sort(operands.begin(), operands.end(), by_use);
    const auto spread = [&](const std::vector<int>& nodes, int begin, int size, double shift) {
      const int count = static_cast<int>(nodes.size());
      for (int k = 0; k < count; ++k) {
        const int wanted = begin + static_cast<int>((k + shift) * size / count);
        if (!access(nodes[static_cast<std::size_t>(k)], wanted, begin, begin + size - 1)) return false;
      }
      return true;
    };
    if (!spread(reads_, -length, length - rest, 0.1) || !spread(operands, -2 * length, length, 0.5) ||
        !spread(transfers_, -3 * length, length, 0.7))
      return std::nullopt;

    LoopSchedule out;
    out.exact = true;
    std::set<int> begun;
    for (int p = 0; p < length; ++p) {
      const int product = products_[static_cast<std::size_t>(p)];
      const Result& result = results_.at(inst(product).def.id);
      if (begun.insert(result.fill).second) out.slots.push_back({result.fill, 1, p == 0});
      out.slots.push_back({product, 1, false});
      auto& gap = gaps_[static_cast<std::size_t>(p)];
      if (many_) apart(gap);
      for (const Slot& s : gap) {
        if (inst(s.node).direct) out.slots.push_back({s.node - 1, s.ahead, false}); // its other half
        out.slots.push_back(s);
      }
    }
    return out;
  }

private:
  struct Result {
    int fill = -1, sum = -1;
    std::vector<int> products;
  };
  const Inst& inst(int n) const { return loop_.body[static_cast<std::size_t>(n)]; }

  // The products of four results at a time, step by step; by the operand of which there are more.
  void place_products() {
    std::set<int> first, second;
    for (const auto& [id, r] : results_) {
      first.insert(inst(r.products[0]).uses[0].id);
      second.insert(inst(r.products[0]).uses.back().id);
    }
    const bool many = second.size() >= first.size();
    std::vector<std::tuple<int, int>> order; // operand, result
    for (const auto& [id, r] : results_) {
      const auto& uses = inst(r.products[0]).uses;
      order.emplace_back((many ? uses.back() : uses[0]).id, id);
    }
    std::sort(order.begin(), order.end());
    constexpr std::size_t at_once = 4;
    // Products between the last one of a result and its sum, each of them a wait state: passes and 3, and one on CDNA4.
    const int behind = clocks_ / 4 + 4;
    for (std::size_t g = 0; g < order.size(); g += at_once) {
      const std::size_t many_of = std::min(at_once, order.size() - g);
      std::map<int, int> end;
      std::size_t steps = 0;
      for (std::size_t r = g; r < g + many_of; ++r)
        steps = std::max(steps, results_.at(std::get<1>(order[r])).products.size());
      for (std::size_t s = 0; s < steps; ++s)
        for (std::size_t r = g; r < g + many_of; ++r) {
          const int id = std::get<1>(order[r]);
          if (s >= results_.at(id).products.size()) continue;
          end[id] = static_cast<int>(products_.size());
          products_.push_back(results_.at(id).products[s]);
        }
      int time = 0;
      for (std::size_t r = g; r < g + many_of; ++r) {
        const int id = std::get<1>(order[r]);
        time = std::max(time, end.at(id) + behind);
        sums_.emplace_back(results_.at(id).sum, time);
        // Two packed ones fill the gap after a product, and memory instructions want some.
        time += std::min(3, static_cast<int>(steps));
      }
    }
  }

  void put(int node, int time) {
    const int length = static_cast<int>(products_.size());
    gaps_[static_cast<std::size_t>(modulo(time, length))].push_back(
        {node, 1 - floor_of(time, length), false});
  }
  bool arithmetic(const Slot& s) const { return inst(s.node).kind == InstKind::map; }
  // Accesses and arithmetic in turn, an access first.
  void apart(std::vector<Slot>& gap) const {
    auto next = std::stable_partition(gap.begin(), gap.end(), [&](const Slot& s) { return !arithmetic(s); });
    for (auto at = gap.begin(); at != next && ++at != gap.end() && next != gap.end(); ++at, ++next)
      std::rotate(at, next, next + 1);
  }
  // For an access: one, or as many as arithmetic keeps apart.
  bool room(const std::vector<Slot>& gap) const {
    const auto sums = std::count_if(gap.begin(), gap.end(), [&](const Slot& s) { return arithmetic(s); });
    return std::ssize(gap) - sums < 1 + (many_ ? sums : 0);
  }
  // In the gap nearest to the wanted one that has room.
  bool access(int node, int wanted, int first, int last) {
    const int length = static_cast<int>(products_.size());
    const auto gap = [&](int time) -> const auto& {
      return gaps_[static_cast<std::size_t>(modulo(time, length))];
    };
    for (int d = 0; d < length; ++d)
      for (const int time : {wanted + d, wanted - d})
        if (time >= first && time <= last && room(gap(time))) {
          put(node, time);
          return true;
        }
    return false;
  }

  const Region& loop_;
  const std::vector<Register>& registers_;
  const Target& target_;
  int clocks_ = 16;
  std::map<int, Result> results_; // by register
  std::map<int, int> defined_;
  std::vector<int> factors_, loads_, reads_, transfers_, products_;
  std::vector<std::pair<int, int>> sums_; // node, time
  std::vector<std::vector<Slot>> gaps_;
  bool many_ = false; // more accesses than gaps
};

} // namespace

std::optional<ScaledSum> scaled_sum(const Inst& i, const std::vector<Register>& registers) {
  if (i.kind != InstKind::map || !i.math.contract || !all_f32(i, registers) || i.def.count % 2 != 0)
    return std::nullopt;
  const ExprNode& n = i.map.node();
  if (n.fn != Fn::add || n.args.size() != 2) return std::nullopt;
  const auto count = static_cast<std::size_t>(i.def.count);
  const auto use = [&](int operand, std::size_t e) {
    return i.uses[static_cast<std::size_t>(operand) * count + e];
  };
  const auto in_order = [&](int operand) { // elements of one register, from an even one on
    for (std::size_t e = 0; e < count; ++e)
      if (const Reg r = use(operand, e), first = use(operand, 0);
          r.id != first.id || r.first != first.first + static_cast<int>(e) || r.count != 1)
        return false;
    return use(operand, 0).first % 2 == 0;
  };
  const auto same = [&](int operand) {
    for (std::size_t e = 0; e < count; ++e)
      if (!(use(operand, e) == use(operand, 0))) return false;
    return true;
  };
  for (const std::size_t c : {std::size_t{0}, std::size_t{1}}) {
    const ExprNode& sum = Expr{i.map.arena, n.args[c]}.node();
    const auto product = factors(Expr{i.map.arena, n.args[1 - c]});
    if (sum.fn != Fn::parameter || !product || !in_order(sum.tensor)) continue;
    if (use(sum.tensor, 0).id != i.def.id || use(sum.tensor, 0).first != i.def.first) continue;
    const auto [a, b] = *product;
    if (in_order(a) && same(b)) return ScaledSum{a, b};
    if (in_order(b) && same(a)) return ScaledSum{b, a};
  }
  return std::nullopt;
}

bool multiplies(const Inst& i, const std::vector<Register>& registers) {
  return i.kind == InstKind::map && i.def.count == 1 && i.uses.size() == 2 && all_f32(i, registers) &&
         factors(i.map).has_value();
}

bool with_arithmetic(const std::vector<Inst>& body) {
  return std::any_of(body.begin(), body.end(), [](const Inst& i) { return i.kind == InstKind::map; });
}

std::optional<LoopSchedule> scaled_sums(const Region& loop, const std::vector<Register>& registers,
                                        const Program& program) {
  ScaledSums sums(loop, registers, program);
  return sums.analyse() ? sums.run() : std::nullopt;
}

} // namespace inlay::codegen
