// The claims about the order of sums, from the trees of sum_order/trees.h.
#include "sum_order/trees.h"

#include <inlay/codegen/nest.h>
#include <inlay/codegen/sum_order.h>

#include <inlay/algebra/print.h>

#include <functional>
#include <memory>

namespace inlay::codegen {
namespace {

using sums::Cause, sums::Causes, sums::Key, sums::most_causes, sums::Trees;

/// The extents of sums in the specifications, and whether an output's value is a sum over all rows whatever they hold.
std::set<AtomId> summed_sizes(const Program& p) {
  std::set<AtomId> out;
  for (const Program::Specification& spec : p.specifications()) {
    std::set<int> seen;
    const auto visit = [&](auto&& self, Expr e) -> void {
      if (!seen.insert(e.id).second) return;
      const ExprNode n = e.node();
      if (n.fn == Fn::fold)
        for (const AtomId a : symbols(n.index[0])) out.insert(a);
      for (const int a : n.args) self(self, Expr{e.arena, a});
    };
    visit(visit, spec.value);
  }
  return out;
}
/// Of what the specification says, a sum over all of `batch`, of which no element is left out by a condition.
bool sums_over(const Program& p, Sym batch, std::string& output) {
  for (const Program::Specification& spec : p.specifications()) {
    const ExprNode n = spec.value.node();
    if (n.fn != Fn::fold || n.monoid != Monoid::sum || !(n.index[0] == batch) || n.index.size() != 1)
      continue;
    bool plain = true;
    std::set<int> seen;
    const auto visit = [&](auto&& self, Expr e) -> void {
      if (!seen.insert(e.id).second) return;
      const ExprNode x = e.node();
      plain = plain && (x.fn == Fn::load || x.fn == Fn::mul || x.fn == Fn::constant);
      for (const int a : x.args) self(self, Expr{e.arena, a});
    };
    visit(visit, Expr{spec.value.arena, n.args[0]});
    if (plain) return output = p.tensor(spec.tensor).name, true;
  }
  return false;
}

using Verdict = OrderClaim::Verdict;

OrderClaim refuted(const std::string& claim, const std::string& why, int op,
                   const std::source_location& where) {
  return {claim, Verdict::refuted, why, op, where};
}
OrderClaim undecided(const std::string& claim, const std::string& why, int op,
                     const std::source_location& where) {
  return {claim, Verdict::undecided, why, op, where};
}

/// What two claims and more have in common.
class Judge {
public:
  Judge(const Program& program, const Trees& trees) : p_(program), t_(trees) {}

  /// What every claim stands on: nothing is left to the order in which workgroups come.
  [[nodiscard]] std::optional<OrderClaim> order_is_open(const std::string& claim) const {
    for (const Inst* i : t_.atomic) {
      const Tensor& t = p_.tensor(i->access.tensor);
      const std::string what = "parts of " + t.name + " are added by atomics of " + to_string(t.element) +
                               ", in the order in which workgroups come";
      // Two parts and the 0 before them have one sum in either order; nothing says here that there are more.
      bool more = p_.shares().has_value() || i->access.gathered();
      for (const GridAxis& g : p_.grid()) {
        bool in_place = false;
        for (const Sym& o : i->access.origin) {
          const auto of = symbols(o);
          in_place = in_place || std::find(of.begin(), of.end(), *g.symbol.as_atom()) != of.end();
        }
        const Interval parts = tile_numbers(g.extent, g.tile);
        more = more || (!in_place && (!parts.upper || *parts.upper > Int(1)));
      }
      return more ? refuted(claim, what, i->op, i->where) : undecided(claim, what, i->op, i->where);
    }
    for (const auto& [i, axis] : t_.own_of_ticket)
      return undecided(claim,
                       p_.tensor(i->access.tensor).name +
                           " is stored by the last workgroup, of what is its own part",
                       i->op, i->where);
    return {};
  }
  [[nodiscard]] const Cause* first(const std::function<bool(const Cause&)>& is) const {
    for (std::size_t c = 0; c < t_.causes.size(); ++c)
      for (const auto& [tensor, s] : t_.stored)
        if (s.causes[c] && is(t_.causes[c])) return &t_.causes[c];
    return nullptr;
  }
  [[nodiscard]] bool too_many() const {
    return std::any_of(t_.stored.begin(), t_.stored.end(),
                       [](const auto& s) { return s.second.causes[most_causes - 1]; });
  }
  /// Tickets, and what the rules do not follow.
  [[nodiscard]] std::optional<OrderClaim> not_followed(const std::string& claim) const {
    // What one path of a branch on a ticket stores is stored once, by whoever takes it; of several, who comes when decides.
    for (const auto& [tensor, s] : t_.stored)
      if (s.drawn && by_chance(s))
        return undecided(
            claim,
            p_.tensor(tensor).name +
                " is stored on several paths, and a ticket's number says which one a workgroup takes",
            s.drawn->op, s.drawn->where);
    if (too_many())
      return undecided(claim, "there are too many things that sums may depend on", -1, p_.where());
    if (const Cause* c = first([](const Cause& x) { return x.what == Cause::What::ticket; }))
      return undecided(claim, "a value may depend on " + c->text, c->op, c->where);
    if (const Cause* c = first([](const Cause& x) { return x.what == Cause::What::unknown; }))
      return undecided(claim, c->text, c->op, c->where);
    return {};
  }
  [[nodiscard]] std::optional<OrderClaim> shares(const std::string& claim) const {
    if (const Cause* c = first([](const Cause& x) { return x.what == Cause::What::share; }))
      return refuted(claim,
                     "where a workgroup's share of a sum ends depends on all sizes and on there being " +
                         std::to_string(p_.shares()->workers) + " workgroups",
                     c->op, c->where);
    return {};
  }
  [[nodiscard]] std::string name(AtomId a) const { return p_.symbols().atom(a).name; }

private:
  /// Whether two of its ways part in another place than at a branch that no ticket decides.
  [[nodiscard]] bool by_chance(const Trees::Stored& s) const {
    for (const Key& a : s.ways)
      for (const Key& b : s.ways) {
        const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
        if (x == a.end() && y == b.end()) continue;
        if (x == a.end() || y == b.end() || *x / 2 != *y / 2 || t_.ticket_branches.contains(*x / 2))
          return true;
      }
    return false;
  }
  const Program& p_;
  const Trees& t_;
};

OrderClaim deterministic(const Program& p, const Trees& trees) {
  const std::string claim = "deterministic";
  const Judge judge(p, trees);
  if (auto open = judge.order_is_open(claim)) return *open;
  if (auto unclear = judge.not_followed(claim)) return *unclear;
  return {claim, Verdict::proved, "every sum has one order", -1, p.where()};
}

OrderClaim split_invariant(const Program& p, const Trees& trees) {
  const std::string claim = "split-invariant";
  const Judge judge(p, trees);
  if (auto open = judge.shares(claim)) return *open;
  if (auto open = judge.order_is_open(claim)) return *open;
  if (auto unclear = judge.not_followed(claim)) return *unclear;
  const std::set<AtomId> own = summed_sizes(p);
  if (const Cause* c = judge.first([&](const Cause& x) {
        return (x.what == Cause::What::cut || x.what == Cause::What::choice) && !own.contains(x.atom);
      }))
    return undecided(claim, c->text + ": " + judge.name(c->atom) + " is not what is summed over", c->op,
                     c->where);
  return {claim, Verdict::proved, "sums are cut where their own extent and the build say", -1, p.where()};
}

/// `batch-invariant` and `position-invariant` along one axis.
void along_rows(std::vector<OrderClaim>& out, const Program& p, Trees& trees, Sym batch) {
  const std::string size = to_string(batch), of_batch = "batch-invariant (" + size + ")",
                    of_place = "position-invariant (" + size + ")";
  const Judge judge(p, trees);
  const AtomId atom = *batch.as_atom();
  const auto own_entry = [&](AtomId a) { return trees.of_own_row(a); };
  const auto first_of = [&](const std::string& claim) -> OrderClaim {
    if (auto open = judge.shares(claim)) return *open;
    if (auto open = judge.order_is_open(claim)) return *open;
    if (std::string output; sums_over(p, batch, output)) {
      const Cause* c =
          judge.first([&](const Cause& x) { return x.what == Cause::What::cut && x.atom == atom; });
      return refuted(claim, output + " is a sum over all " + size + " rows, as its specification says",
                     c ? c->op : -1, c ? c->where : p.where());
    }
    if (auto unclear = judge.not_followed(claim)) return *unclear;
    if (const Cause* c = judge.first([](const Cause& x) { return x.what == Cause::What::rows; }))
      return undecided(claim, c->text, c->op, c->where);
    if (const Tensor* t = trees.rows_overlap())
      return undecided(claim,
                       "rows of " + t->name + " may share elements: its place is " + to_string(t->place), -1,
                       p.where());
    for (const auto& [tensor, s] : trees.stored)
      if (s.foreign)
        return undecided(claim, "a row of " + p.tensor(tensor).name + " may depend on other rows", s.at->op,
                         s.at->where);
    if (const Cause* c = judge.first([&](const Cause& x) {
          return (x.what == Cause::What::cut || x.what == Cause::What::bound ||
                  x.what == Cause::What::choice) &&
                 x.atom == atom;
        }))
      return undecided(claim, c->text + ", which depends on " + size, c->op, c->where);
    if (const Cause* c =
            judge.first([&](const Cause& x) { return x.what == Cause::What::uniform && !own_entry(x.atom); }))
      return undecided(claim, c->text + ", which is an entry of a table that is not the row's own", c->op,
                       c->where);
    return {claim, Verdict::proved, "", -1, p.where()};
  };
  OrderClaim b = first_of(of_batch);
  const bool holds = b.verdict == Verdict::proved;
  if (holds) b.reason = "a row's sums are of its own data, and in an order that " + size + " has no part in";
  out.push_back(b);
  if (!holds) {
    b.claim = of_place;
    out.push_back(std::move(b));
    return;
  }
  for (const auto& [tensor, s] : trees.stored) {
    if (!s.by_trip && !s.apart) continue;
    const std::string& name = p.tensor(tensor).name;
    out.push_back(undecided(of_place,
                            s.by_trip ? "a row of " + name + " may depend on the trip that has it"
                                      : "rows of a tile of " + name + " are summed in different orders",
                            s.at->op, s.at->where));
    return;
  }
  if (const Cause* c = judge.first([&](const Cause& x) {
        if (x.what != Cause::What::grid) return false;
        for (const GridAxis& g : p.grid())
          if (*g.symbol.as_atom() == x.atom) {
            const auto of = symbols(g.extent);
            return std::find(of.begin(), of.end(), atom) != of.end();
          }
        return true;
      })) {
    out.push_back(undecided(of_place, c->text + ", which depends on the row's number", c->op, c->where));
    return;
  }
  out.push_back({of_place, Verdict::proved, "all rows have one order", -1, p.where()});
}

} // namespace

std::string to_string(OrderClaim::Verdict verdict) {
  static const char* const names[] = {"proved", "refuted", "undecided"};
  return names[static_cast<std::size_t>(verdict)];
}

std::string to_string(const OrderClaim& claim) {
  std::string out = to_string(claim.verdict) + std::string(11 - to_string(claim.verdict).size(), ' ') +
                    claim.claim + ": " + claim.reason;
  if (claim.op < 0) return out;
  const std::string file = claim.where.file_name();
  return out + " [operation " + std::to_string(claim.op) + ", " + file.substr(file.find_last_of('/') + 1) +
         ":" + std::to_string(claim.where.line()) + "]";
}

const OrderClaim* SumOrders::find(const std::string& begin) const {
  for (const OrderClaim& c : claims)
    if (c.claim.starts_with(begin)) return &c;
  return nullptr;
}

SumOrders sum_orders(const Graph& graph) {
  const Program& p = *graph.program;
  // The axes of the first output but the last one: its rows.
  const Program::Specification* first = nullptr;
  for (const Tensor& t : p.tensors())
    if (!first && t.output) first = p.specification(t);
  std::vector<Sym> batches;
  const std::vector<Sym> shape = first ? p.shape(*first) : std::vector<Sym>();
  for (std::size_t a = 0; a < shape.size() && a < std::max<std::size_t>(shape.size() - 1, 1); ++a)
    if (std::any_of(p.sizes().begin(), p.sizes().end(),
                    [&](const Size& z) { return z.symbol == shape[a]; }) &&
        std::find(batches.begin(), batches.end(), shape[a]) == batches.end())
      batches.push_back(shape[a]);

  SumOrders out;
  if (const std::vector<Nest> nests = nests_of(p); !nests.empty()) {
    const auto leave_open = [&](const std::string& claim) {
      out.claims.push_back(undecided(claim,
                                     "sums over several trips of a loop that holds loops are not followed",
                                     nests[0].op, nests[0].where));
    };
    leave_open("deterministic");
    for (const char* claim : {"batch-invariant", "position-invariant"}) {
      if (batches.empty()) leave_open(claim);
      for (const Sym& batch : batches) leave_open(std::string(claim) + " (" + to_string(batch) + ")");
    }
    leave_open("split-invariant");
    return out;
  }
  std::unique_ptr<Trees> trees;
  for (const Sym& batch : batches) {
    trees = std::make_unique<Trees>(graph, batch);
    trees->run();
    along_rows(out.claims, p, *trees, batch);
  }
  if (!trees) {
    trees = std::make_unique<Trees>(graph, std::nullopt);
    trees->run();
    for (const char* claim : {"batch-invariant", "position-invariant"})
      out.claims.push_back(undecided(claim, "no axis of rows of the first output is a size", -1, p.where()));
  }
  out.claims.insert(out.claims.begin(), deterministic(p, *trees));
  out.claims.push_back(split_invariant(p, *trees));
  for (const auto& [tensor, s] : trees->stored)
    if (s.first >= 0)
      if (std::string text = trees->text(s.first); !text.empty())
        out.orders.push_back({p.tensor(tensor).name, std::move(text)});
  return out;
}

} // namespace inlay::codegen
