// Program to instructions: one node for each instruction of a wave, in program order.
#include "about.h"
#include <inlay/codegen/address.h>
#include <inlay/codegen/code.h>
#include <inlay/codegen/nest.h>

#include "scan_order.h"
#include "thread_value.h"
#include "words.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <utility>

namespace inlay::codegen {
namespace {

struct Piece {
  int reg;
  int count;
};

class Expander {
public:
  explicit Expander(const Program& program) : p_(program) {
    pieces_.resize(p_.fragments().size());
    graph_.program = &program;
  }

  Graph run() {
    trips_inside(p_.body());
    open_region();
    list(p_.body());
    only_used_tops();
    return std::move(graph_);
  }

private:
  Region& open_region() {
    Region& r = graph_.regions.emplace_back();
    r.guards = guards_;
    return r;
  }
  // The number of a trip is one inside of its loop alone: after it no place or value can depend on it.
  void want(const std::vector<AtomId>& used, const Op& op) const {
    for (const AtomId atom : used)
      if (std::find(closed_trips_.begin(), closed_trips_.end(), atom) != closed_trips_.end())
        throw CodegenError(
            "loop: the number of a trip, " + p_.symbols().atom(atom).name + ", is used outside of its loop",
            "line   " + std::to_string(op.where.line()),
            "inside of the loop; or what is meant of the last trip, as ceil_div(extent, tile) - 1");
  }
  void trips_inside(const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      if (const auto* c = std::get_if<CopyOp>(&op.what)) {
        for (const std::optional<View>* v : {&c->from, &c->to})
          if (*v)
            for (const Sym o : (*v)->origin) want(inlay::symbols(o), op);
      } else if (const auto* m = std::get_if<MapOp>(&op.what)) {
        want(p_.expressions().symbols(m->map), op);
      } else if (const auto* l = std::get_if<LoopOp>(&op.what)) {
        want(inlay::symbols(l->extent), op);
        trips_inside(l->body);
        closed_trips_.push_back(inlay::symbols(l->t).front());
      } else if (const auto* b = std::get_if<IfOp>(&op.what)) {
        want(inlay::symbols(b->condition.a), op), want(inlay::symbols(b->condition.b), op);
        trips_inside(b->then), trips_inside(b->otherwise);
      } else if (const auto* all = std::get_if<RolesOp>(&op.what)) {
        for (const RolesOp::Role& r : all->roles) trips_inside(r.body);
      }
    }
  }
  void list(const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      const auto* l = std::get_if<LoopOp>(&op.what);
      if (l) ends_alike(*l, op.where);
      if (l && is_nest(*l)) {
        op_ = next_op_++;
        check_nest(*l, op.where);
        loops_.push_back(l);
        open_region();
        list(l->body);
        loops_.pop_back();
        open_region();
      } else if (l) {
        op_ = next_op_++;
        Region& loop = open_region();
        loop.is_loop = true;
        loop.t = l->t;
        loop.extent = l->extent;
        loop.tile = l->tile;
        loop.pipeline = l->pipeline;
        loops_.push_back(l);
        in_trips_ = true;
        list(l->body);
        in_trips_ = false;
        loops_.pop_back();
        written_before_read(*l);
        open_region();
      } else if (const auto* b = std::get_if<IfOp>(&op.what)) {
        op_ = next_op_++;
        for (const bool holds : {true, false}) {
          guards_.push_back({b->condition, holds});
          open_region();
          list(holds ? b->then : b->otherwise);
          guards_.pop_back();
        }
        open_region();
      } else if (const auto* all = std::get_if<RolesOp>(&op.what)) {
        op_ = next_op_++;
        for (const RolesOp::Role& r : all->roles) {
          waves_ = all->roles.size() == 1 ? Waves{} : r.waves;
          list(r.body);
        }
        waves_ = {};
      } else {
        one(op);
      }
    }
  }

  /// A loop inside of a loop ends at the same number in each trip.
  void ends_alike(const LoopOp& l, const std::source_location& where) const {
    for (const AtomId a : symbols(l.extent))
      for (const LoopOp* around : loops_)
        if (a == *around->t.as_atom())
          throw CodegenError("loop: the end of a loop inside of a loop depends on the trip of that one",
                             "extent " + to_string(l.extent) + ", line   " + std::to_string(where.line()),
                             "the greatest end, with inside(..) in a map or a fill for what lies past it");
  }
  /// Its trips follow one another.
  static void check_nest(const LoopOp& l, const std::source_location& where) {
    const Pipeline& p = l.pipeline;
    const std::string line = "line   " + std::to_string(where.line());
    if (p.distance != 0 || p.ring != 1 || !p.pins.empty() || p.depth.given() || p.stagger || p.pingpong)
      throw CodegenError(
          "loop: a loop that holds loops or branches is not pipelined",
          "distance " + std::to_string(p.distance) + ", ring " + std::to_string(p.ring) + ", " + line,
          "distance 0, ring 1: the loops inside of it have pipelines of their own; or, in the place of a "
          "branch, two loops, one after the other");
    if (least_of(l.extent))
      throw CodegenError("loop: a loop that holds loops or branches ends at one number",
                         "extent " + to_string(l.extent) + ", " + line,
                         "a size, a number, or how many workgroups a grid axis has");
  }

  /// A tile with stages is of one trip: what a trip reads of it the trip has written before.
  void written_before_read(const LoopOp& l) {
    const std::vector<Inst>& body = graph_.regions.back().body;
    for (const Inst& i : body)
      if (i.kind == InstKind::lds_write && i.combine &&
          (l.pipeline.ring > 1 ||
           std::any_of(body.begin(), body.end(), [](const Inst& x) { return x.kind == InstKind::mma; })))
        throw CodegenError("loop: it adds to " + graph_.program->tensor(i.access.tensor).name +
                               " in LDS, which all trips share",
                           "ring " + std::to_string(l.pipeline.ring) + ", line " +
                               std::to_string(i.where.line()),
                           "a Pipeline of one stage, and matrix products in a loop of their own");
    if (l.pipeline.ring < 2) return;
    std::map<int, const Inst*> first;
    for (const Inst& i : body)
      if (i.kind == InstKind::lds_read || i.kind == InstKind::lds_write)
        first.try_emplace(i.access.tensor, &i);
    for (const Inst& i : body)
      if (i.kind == InstKind::lds_write && first.at(i.access.tensor)->kind == InstKind::lds_read)
        throw CodegenError("loop: " + graph_.program->tensor(i.access.tensor).name +
                               " is read in each trip before it is written, and has a stage for each trip",
                           "read in line " + std::to_string(first.at(i.access.tensor)->where.line()) +
                               ", written in line " + std::to_string(i.where.line()),
                           "the copy before what reads it, or a Pipeline of one stage");
  }

  int reg(Element element, int count) {
    graph_.registers.push_back({element, count, !in_trips_});
    return static_cast<int>(graph_.registers.size()) - 1;
  }
  std::vector<Piece>& pieces(int fragment) { return pieces_[static_cast<std::size_t>(fragment)]; }

  // Elements first .. first + count of a fragment's values.
  Reg part(int fragment, int first, int count) {
    for (const Piece& piece : pieces(fragment)) {
      if (first < piece.count) {
        if (first + count > piece.count)
          throw CodegenError("an operand of " + std::to_string(count) + " elements is not in one register",
                             "fragment r" + std::to_string(fragment) + " has vectors of " +
                                 std::to_string(piece.count) + ", and is read in line " +
                                 std::to_string(where_.line()),
                             bits(p_.fragment(fragment).element) < 8
                                 ? "a tile in LDS, which is read in vectors of " + std::to_string(count)
                                 : "a load in vectors of " + std::to_string(count) +
                                       ", or after it k.map by the identity, which packs its elements");
        return {piece.reg, 0, first, count};
      }
      first -= piece.count;
    }
    throw InternalError("a value of fragment r" + std::to_string(fragment) + " that was written before");
  }

  Inst& add(InstKind kind) {
    Inst inst;
    inst.kind = kind;
    inst.op = op_;
    inst.where = where_;
    inst.waves = waves_;
    graph_.regions.back().body.push_back(std::move(inst));
    return graph_.regions.back().body.back();
  }

  void one(const Op& op) {
    op_ = next_op_++;
    where_ = op.where;
    about([&] { return op.where; }, [&] { std::visit([&](const auto& what) { expand(what); }, op.what); });
  }
  void expand(const LoopOp&) {}
  void expand(const IfOp&) {}
  void expand(const RolesOp&) {}

  // One element, for all work-items.
  Access one_element(int tensor, std::vector<Sym> origin) const {
    Access a;
    a.tensor = tensor;
    a.threads = thread_value({{p_.threads(), 0, -1}}, {{1, 0, -1}}).mode(0);
    a.elements.assign(1, std::vector<int>(origin.size(), 0));
    a.masked.assign(origin.size(), false);
    a.extents.assign(origin.size(), 1);
    a.rows.assign(origin.size(), -1);
    a.origin = std::move(origin);
    return a;
  }
  // The same for one of them.
  Access by_one(int tensor, std::vector<Sym> origin) const {
    Access a = one_element(tensor, std::move(origin));
    a.idle = replicas(a.threads);
    return a;
  }
  // The workgroup's numbers along the other axes.
  std::vector<Sym> group(int axis) const {
    std::vector<Sym> out;
    for (const GridAxis& g : p_.grid())
      if (g.axis != axis) out.push_back(g.symbol);
    if (out.empty()) out.emplace_back(0);
    return out;
  }

  // One work-item draws, and tells the others through LDS.
  void expand(const TicketOp& op) {
    const Ticket& t = p_.tickets()[static_cast<std::size_t>(op.ticket)];
    add(InstKind::release);
    Inst& draw = add(InstKind::ticket);
    const Reg drawn{reg(Element::i32, 1), 0, 0, 1}, told{reg(Element::i32, 1), 0, 0, 1};
    draw.def = drawn;
    draw.ticket = op.ticket;
    draw.access = by_one(t.tensor, group(t.axis));
    Inst& write = add(InstKind::lds_write);
    write.uses = {drawn};
    write.access = by_one(t.exchange, {Sym(0)});
    Inst& read = add(InstKind::lds_read);
    read.def = told;
    read.access = one_element(t.exchange, {Sym(0)});
    Inst& take = add(InstKind::acquire);
    take.uses = {told};
    take.ticket = op.ticket;
  }
  // One work-item waits, and the others for it, at the barrier before what they acquire.
  void expand(const AwaitOp& op) {
    const Turn& t = p_.turns()[static_cast<std::size_t>(op.turn)];
    Inst& wait = add(InstKind::await);
    wait.turn = op.turn;
    wait.access = by_one(t.tensor, group(t.axis));
    add(InstKind::acquire).turn = op.turn;
  }
  // Work-items 0 to count - 1, one for each device, and the others wait for them at the barrier before what they acquire.
  void expand(const MeetOp&) {
    add(InstKind::release).system = true;
    Inst& meet = add(InstKind::meet);
    std::vector<Sym> own;
    for (const GridAxis& g : p_.grid()) own.push_back(g.symbol);
    own.push_back(p_.together().rank);
    meet.access = one_element(p_.together().flags[0], std::move(own));
    add(InstKind::acquire).system = true;
  }
  void expand(const CheckOp& op) {
    for (const Piece& piece : pieces(op.of)) {
      Inst& inst = add(InstKind::check);
      for (int e = 0; e < piece.count; ++e) inst.uses.push_back({piece.reg, 0, e, 1});
    }
  }
  void expand(const PrintOp& op) {
    std::vector<int> fragments = op.values;
    if (op.when >= 0) fragments.push_back(op.when);
    const std::optional<Layout> idle = replicas(p_.fragment(fragments[0]).tv.mode(0));
    std::vector<std::vector<Piece>> all;
    for (const int v : fragments) all.push_back(pieces(v));
    for (std::size_t n = 0; n < all[0].size(); ++n)
      for (int e = 0; e < all[0][n].count; ++e) {
        Inst& inst = add(InstKind::print);
        inst.print = op.line;
        inst.access.idle = idle;
        for (const std::vector<Piece>& of : all) inst.uses.push_back({of[n].reg, 0, e, 1});
      }
  }
  void expand(const SignalOp& op) {
    const Turn& t = p_.turns()[static_cast<std::size_t>(op.turn)];
    add(InstKind::release);
    Inst& pass = add(InstKind::signal);
    pass.turn = op.turn;
    pass.access = by_one(t.tensor, group(t.axis));
  }

  // Which values of the fragment that holds the coordinates along a gathered axis belong to values of `tv`.
  Reg row_of(int ids, const Layout& part, std::size_t axis, int base, int count) {
    const Fragment& f = p_.fragment(ids);
    const std::vector<int> wanted = coordinates(part, axis), has = coordinates(f.tv, 0);
    const int n = static_cast<int>(part.mode(1).size().value()), m = f.values();
    for (int v = 0; v < m; ++v) {
      bool all = true;
      for (int t = 0; t < p_.threads() && all; ++t)
        for (int e = base; e < base + count && all; ++e)
          all = wanted[static_cast<std::size_t>(t * n + e)] == has[static_cast<std::size_t>(t * m + v)];
      if (all) return this->part(ids, v, 1);
    }
    throw CodegenError("through: a work-item does not hold the index of a row that it moves",
                       "tile   " + to_string(part) + "\n  ids    " + to_string(f.tv),
                       "indices loaded with the tile's thread-value layout without its other axes, and "
                       "vectors along a row");
  }

  // The access of values base .. base + count of a thread-value layout, at a view.
  Access access(const View& view, const Layout& tv, int base, int count) const {
    const View part = view.partition(tv);
    Access a;
    a.tensor = view.tensor;
    a.cache = view.cache;
    a.threads = part.where.mode(0);
    a.origin = view.origin;
    a.rows = std::vector<int>(view.rows.size(), -1);
    a.extents.assign(view.origin.size(), 1);
    for (std::size_t i = 0; i < view.where.rank(); ++i) {
      const Layout mode = view.where.mode(i);
      for (const Mode& m : mode.modes()) { // of one axis, or of several that are grouped
        if (m.stride.axis.size() != 1)
          throw CodegenError("what moves is a tile, and this view is a part of one",
                             "view   " + to_string(view.where) + ", line " + std::to_string(where_.line()),
                             "the tile itself, with the thread-value layout beside it");
        a.extents[m.stride.axis[0]] += static_cast<int>(((m.extent - Int(1)) * abs(m.stride.scale)).value());
      }
    }
    const std::size_t axes = p_.tensor(view.tensor).shape.size();
    a.masked.assign(axes, false);
    a.elements.assign(static_cast<std::size_t>(count), std::vector<int>(axes, 0));
    const Int values = part.where.mode(1).size();
    const Layout first = part.where.mode(1); // of thread 0, whose own coordinates are 0
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::vector<int> all = thread_coordinates(first, axis);
      for (int e = 0; e < count; ++e)
        a.elements[static_cast<std::size_t>(e)][axis] = all[static_cast<std::size_t>(base + e)];
      INLAY_CHECK(Int(base + count) <= values, "values of the layout");
    }
    return a;
  }

  // The coordinates of gathered axes come from registers: nothing of them is left in the access.
  void gather(Inst& inst, const View& view, const Layout& tv, int base, int count) {
    if (p_.tensor(view.tensor).space == Space::window &&
        std::any_of(view.rows.begin(), view.rows.end(), [](int row) { return row >= 0; }))
      throw CodegenError("through: " + p_.tensor(view.tensor).name +
                             " is a window, and no table names its rows",
                         "line   " + std::to_string(where_.line()), "a view of the tensor that it looks at");
    for (std::size_t axis = 0; axis < view.rows.size(); ++axis) {
      if (view.rows[axis] < 0) continue;
      const Reg row = row_of(view.rows[axis], view.partition(tv).where, axis, base, count);
      inst.access.rows[axis] = static_cast<int>(inst.uses.size());
      inst.uses.push_back(row);
      inst.access.threads = with_strides(
          inst.access.threads, [&](const Mode& m) { return moves_along(m, axis) ? Stride(0) : m.stride; });
      for (auto& e : inst.access.elements) e[axis] = 0;
    }
  }
  // The number of a thread in its wave: (wave,waves):(1,0).
  static Layout lane_number(int wave, int waves) {
    TupleBuilder<Mode> b;
    const std::size_t at = b.open();
    b.leaf(Mode{wave, Stride(1)});
    b.leaf(Mode{waves, Stride(0)});
    b.close(at, 2);
    return Layout(std::move(b).finish());
  }
  // The number of a thread among those of its wave that have its row.
  static Layout number_in_row(const std::vector<TvMode>& lanes, int waves) {
    TupleBuilder<Mode> b;
    const std::size_t at = b.open();
    int step = 1;
    for (const TvMode& m : lanes)
      b.leaf(Mode{m.extent, Stride(m.axis < 0 ? std::exchange(step, step * m.extent) : 0)});
    b.leaf(Mode{waves, Stride(0)});
    b.close(at, lanes.size() + 1);
    return Layout(std::move(b).finish());
  }
  // Threads that hold the same as another one: their number among these, or nothing when there are none.
  // Of a role, among its own: the groups of waves beside it do not run.
  std::optional<Layout> replicas(const Layout& threads) const {
    std::int64_t step = 1, thread = 1;
    const std::int64_t own = waves_.all() ? p_.threads() : waves_.count * p_.target().wave_size;
    Layout number = with_strides(threads, [&](const Mode& m) {
      const std::int64_t begin = std::exchange(thread, thread * m.extent.value());
      if (begin >= own) return Stride(0);
      INLAY_CHECK(thread <= own, "a mode of a role's threads that ends with the role");
      if (m.stride.is_basis() && m.stride.scale != Int(0)) return Stride(0);
      return Stride(std::exchange(step, step * m.extent.value()));
    });
    if (step == 1) return {};
    return number;
  }

  [[nodiscard]] bool in_pages(const Tensor& cache) const {
    return std::any_of(p_.tensors().begin(), p_.tensors().end(),
                       [&](const Tensor& t) { return t.space == Space::paged && t.cache == cache.id; });
  }
  // Everything that may lie outside is masked; one coordinate for each workgroup of an axis, or a tile of a fixed extent,
  // cannot (and provenance demands a proof of whatever is not masked).
  void mask(Access& a, bool loads) const {
    const Tensor& t = p_.tensor(a.tensor);
    for (std::size_t axis = 0; axis < a.masked.size(); ++axis) {
      if (a.gathered(axis)) {
        a.masked[axis] = true;
        continue;
      }
      bool inside = false;
      for (const LoopOp* l : loops_) // whole tiles of a number
        if (const auto n = t.shape[axis].constant(); n && l->extent == t.shape[axis])
          inside = inside || (a.extents[axis] == l->tile && a.origin[axis] == Sym(l->tile) * l->t &&
                              floor_mod(*n, Int(l->tile)) == Int(0));
      for (const LoopOp* l : loops_)
        inside = inside || (a.origin[axis] == l->t && single(a, axis) &&
                            t.shape[axis] == ceil_div(l->extent, Sym(l->tile)));
      // Whole tiles of a size that is a multiple of them.
      for (const LoopOp* l : loops_)
        for (const Size& z : p_.sizes()) {
          const int tile = a.extents[axis], each = l->tile / std::max(tile, 1);
          inside = inside || (l->extent == z.symbol && each >= 1 && l->tile % tile == 0 &&
                              a.origin[axis] == Sym(tile) * l->t && z.facts.multiple % l->tile == 0 &&
                              t.shape[axis] == floor_div(z.symbol, Sym(each)));
        }
      for (const GridAxis& g : p_.grid())
        for (const Size& z : p_.sizes()) // one of several heads that share a head of keys
          inside =
              inside || (g.tile == 1 && g.extent == z.symbol && z.facts.multiple > 1 && single(a, axis) &&
                         a.origin[axis] == floor_div(g.symbol, Sym(z.facts.multiple)) &&
                         t.shape[axis] == floor_div(z.symbol, Sym(z.facts.multiple)));
      for (const GridAxis& g : p_.grid())
        inside = inside || (a.origin[axis] == g.symbol && single(a, axis) &&
                            t.shape[axis] == ceil_div(g.extent, Sym(g.tile)));
      if (const auto o = a.origin[axis].constant(); o && single(a, axis))
        inside = inside || le(Sym(*o + Int(1)), t.shape[axis]) == Truth::yes;
      // Pages that a table names have addresses of 64 bits, where each mask is instructions; what workgroups hand to the last one is stored
      // and loaded while nothing else is under way. A part of fixed extents needs none.
      inside = inside || ((t.output ? !p_.tickets().empty() : loads && in_pages(t)) &&
                          t.shape[axis].constant() && le(Sym(0), a.origin[axis]) == Truth::yes &&
                          le(a.origin[axis] + Sym(a.extents[axis]), t.shape[axis]) == Truth::yes);
      a.masked[axis] = !inside;
    }
  }
  static bool single(const Access& a, std::size_t axis) {
    for (const Mode& m : a.threads.modes())
      if (moves_along(m, axis) && m.extent != Int(1) && m.stride.scale != Int(0)) return false;
    return std::all_of(a.elements.begin(), a.elements.end(), [&](const auto& e) { return e[axis] == 0; });
  }

  // Vectors of a store need a row that is a whole number of them. Where the size does not promise that, the launch decides
  // between two versions.
  std::optional<When> version(const CopyOp& c) const {
    if (!c.to || c.vector == 1 || p_.tensor(c.to->tensor).space == Space::lds) return {};
    const Tensor& t = p_.tensor(c.to->tensor);
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
      const std::vector<int> all = coordinates(c.to->partition(c.tv).where, axis);
      if (all[0] == all[1]) continue;
      for (const Size& z : p_.sizes())
        if (z.symbol == t.shape[axis] && z.facts.multiple % c.vector != 0)
          return When{z.symbol, c.vector, true};
    }
    return {};
  }

  void expand(const CopyOp& c) {
    const auto when = version(c);
    if (when && !loops_.empty())
      throw CodegenError("store: in a loop there is one version, and a row may end inside a vector",
                         "size   " + to_string(when->size) + "\n  line   " + std::to_string(where_.line()),
                         "declare it a multiple of " + std::to_string(c.vector) +
                             ", or store single elements");
    if (when && c.combine)
      throw CodegenError("add: elements of 16 bits are added in pairs, and a row may end inside one",
                         "size   " + to_string(when->size), "declare it a multiple of 2");
    if (when) {
      CopyOp single = c;
      single.vector = 1;
      copy(c, when);
      copy(single, When{when->size, when->modulus, false});
    } else {
      copy(c, {});
    }
  }

  void copy(const CopyOp& c, std::optional<When> when) {
    const int count = static_cast<int>(c.tv.mode(1).size().value());
    const bool from_lds = c.from && p_.tensor(c.from->tensor).space == Space::lds;
    const bool to_lds = c.to && p_.tensor(c.to->tensor).space == Space::lds;
    const std::size_t first = graph_.regions.back().body.size();
    for (int base = 0; base < count; base += c.vector) {
      Reg value;
      if (c.from) {
        const Element element = p_.tensor(c.from->tensor).element;
        value = {reg(element, c.vector), 0, 0, c.vector};
        Inst& load = add(from_lds ? InstKind::lds_read : InstKind::load);
        load.def = value;
        load.direct = c.direct;
        load.access = access(*c.from, c.tv, base, c.vector);
        gather(load, *c.from, c.tv, base, c.vector);
        if (!from_lds) mask(load.access, true);
        if (c.direct && is_far(p_, load.access))
          throw CodegenError("transfer: " + p_.tensor(c.from->tensor).name +
                                 " may have 2 GiB, and there is no transfer by 64 bits of address",
                             "line   " + std::to_string(where_.line()), "copy, through registers");
        if (c.to_fragment >= 0) pieces(c.to_fragment).push_back({value.id, c.vector});
      } else {
        value = word(c.from_fragment, base, c.vector);
      }
      if (c.to) {
        Inst& store = add(to_lds ? InstKind::lds_write : InstKind::store);
        store.uses = {value};
        store.direct = c.direct;
        store.when = when;
        store.combine = c.combine;
        store.access = access(*c.to, c.tv, base, c.vector);
        store.access.idle = replicas(store.access.threads);
        gather(store, *c.to, c.tv, base, c.vector);
        if (!to_lds) mask(store.access, false);
      }
    }
    if (c.from && !from_lds) alike(first);
  }
  // Loads of one operation have one mask: where the first row of a tile at a constant origin is inside and the others may not be, what
  // the fragment holds outside is said of all of them.
  void alike(std::size_t first) {
    auto& body = graph_.regions.back().body;
    std::vector<bool> any;
    const auto each = [&](const auto& f) {
      for (std::size_t n = first; n < body.size(); ++n)
        if (body[n].kind == InstKind::load) f(body[n].access.masked);
    };
    each([&](const std::vector<bool>& m) {
      any.resize(m.size(), false);
      for (std::size_t axis = 0; axis < m.size(); ++axis) any[axis] = any[axis] || m[axis];
    });
    each([&](std::vector<bool>& m) { m = any; });
  }

  void expand(const FillOp& z) {
    const Fragment& f = p_.fragment(z.to);
    // Pieces of the size of a matrix instruction's result, when there is one; the first product decides.
    const int size = result_values(z.to);
    for (int v = 0; v < f.values(); v += size) {
      const int r = reg(f.element, size);
      Inst& inst = add(InstKind::fill);
      inst.def = {r, 0, 0, size};
      inst.value = z.value;
      pieces(z.to).push_back({r, size});
    }
  }

  // What is updated by the results of products has their size, so that each is added when it is there.
  int result_values(int fragment) const {
    const int values = p_.fragment(fragment).values();
    int size = product_values(fragment).value_or(values);
    each_op(p_.body(), [&](const Op& op) {
      if (const auto* m = std::get_if<MapOp>(&op.what); m && m->to == fragment)
        for (const int f : m->from)
          if (f != fragment && p_.fragment(f).values() == values)
            size = std::min(size, product_values(f).value_or(values));
    });
    return size;
  }
  // Elements that one store takes, 0 when the fragment is not stored there.
  int stored_vector(int fragment, Space where) const {
    int vector = 0;
    each_op(p_.body(), [&](const Op& op) {
      if (const auto* c = std::get_if<CopyOp>(&op.what); c && c->from_fragment == fragment)
        vector = p_.tensor(c->to->tensor).space == where ? c->vector : 0;
    });
    return vector;
  }
  // Elements of a fragment that one matrix instruction takes or gives, when there is one.
  std::optional<int> product_values(int fragment) const {
    std::optional<int> size;
    each_op(p_.body(), [&](const Op& op) {
      const auto* m = std::get_if<MmaOp>(&op.what);
      if (m && m->acc == fragment) size = m->mma.atom->mma->c_values();
      if (m && (m->a == fragment || m->b == fragment)) size = m->mma.atom->mma->a_values();
    });
    return size;
  }

  void expand(const MmaOp& m) {
    const MmaTiling& t = m.mma;
    const int values = t.atom->mma->a_values() / t.parts(), result = t.atom->mma->c_values();
    for (int step = 0; step < t.k_steps(); step += t.parts())
      for (int j = 0; j < std::max(t.atoms_per_step(), 1); ++j)
        for (int rn = 0; rn < t.repeat_n(); ++rn)
          for (int rm = 0; rm < t.repeat_m(); ++rm) {
            Inst& inst = add(InstKind::mma);
            inst.atom = t.atom;
            inst.step = step / t.parts();
            // The instruction's rows are our columns: its first operand is B (MmaTiling says why).
            for (int h = 0; h < t.parts(); ++h)
              inst.uses.push_back(
                  part(m.b, t.k_vector * (rn + t.repeat_n() * (step + h)) + j * values, values));
            for (int h = 0; h < t.parts(); ++h)
              inst.uses.push_back(
                  part(m.a, t.k_vector * (rm + t.repeat_m() * (step + h)) + j * values, values));
            if (m.a_scales >= 0) {
              inst.uses.push_back(part(m.b_scales, MmaTiling::scale_value(rn, t.repeat_n(), inst.step), 1));
              inst.uses.push_back(part(m.a_scales, MmaTiling::scale_value(rm, t.repeat_m(), inst.step), 1));
            }
            inst.def = part(m.acc, result * (rm + t.repeat_m() * rn), result);
          }
  }

  // For each value of `to`, the value of `from` at the same coordinate; extent 1 along an axis matches every coordinate.
  std::vector<int> matching(const Fragment& to, const Fragment& from) const {
    struct Along { // one axis: what work-items and values add to a coordinate, there and here
      std::vector<int> thread, value, from_thread, from_value;
    };
    std::vector<Along> axes;
    for (std::size_t axis = 0; axis < to.extents.size(); ++axis) {
      if (axis >= from.extents.size() || (from.extents[axis] == 1 && to.extents[axis] != 1)) continue;
      axes.push_back({thread_coordinates(to.tv.mode(0), axis), thread_coordinates(to.tv.mode(1), axis),
                      thread_coordinates(from.tv.mode(0), axis), thread_coordinates(from.tv.mode(1), axis)});
    }
    const auto nowhere = [&](std::size_t t, std::size_t v) {
      throw CodegenError("map: an operand is not where the result is",
                         "thread " + std::to_string(t) + " value " + std::to_string(v) + " of " +
                             to_string(to.tv) + "\n  operand " + to_string(from.tv),
                         "operands of one thread-value layout, or of extent 1 along an axis");
    };
    // Of work-item 0; any other one has the same values in both where both have gone as far.
    std::vector<int> out;
    for (std::size_t v = 0; v < static_cast<std::size_t>(to.values()); ++v) {
      int found = -1;
      for (int w = 0; w < from.values() && found < 0; ++w)
        if (std::all_of(axes.begin(), axes.end(), [&](const Along& x) {
              return x.thread[0] + x.value[v] == x.from_thread[0] + x.from_value[static_cast<std::size_t>(w)];
            }))
          found = w;
      if (found < 0) nowhere(0, v);
      out.push_back(found);
    }
    for (std::size_t t = 1; t < static_cast<std::size_t>(p_.threads()); ++t)
      for (const Along& x : axes)
        if (x.thread[t] - x.thread[0] != x.from_thread[t] - x.from_thread[0]) nowhere(t, 0);
    return out;
  }

  void expand(const MapOp& m) {
    std::vector<std::vector<Reg>> operands;
    for (const int f : m.from) {
      operands.emplace_back();
      for (const int v : matching(p_.fragment(m.to), p_.fragment(f)))
        operands.back().push_back(part(f, v, 1));
    }
    assign(m, operands);
  }

  void expand(const RelayoutOp& r) {
    const Fragment& from = p_.fragment(r.from);
    const int unit = std::max(1, 32 / bits(from.element)); // elements of a register
    std::vector<Reg> words;
    for (int v = 0; v < from.values(); v += unit) words.push_back(word(r.from, v, unit));
    for (const LaneExchange& x : r.exchanges) {
      const auto apart = static_cast<std::size_t>(x.value / unit);
      for (std::size_t w = 0; w < words.size(); ++w) {
        if ((w & apart) != 0) continue;
        Reg &low = words[w], &high = words[w | apart];
        Inst& inst = add(InstKind::exchange_lanes);
        inst.lane_mask = x.lane;
        inst.uses = {low, high};
        const int both = reg(from.element, 2 * unit);
        inst.def = {both, 0, 0, 2 * unit};
        low = {both, 0, 0, unit}, high = {both, 0, unit, unit};
      }
    }
    std::vector<Reg> now;
    for (const int v : r.values) {
      now.push_back(words[static_cast<std::size_t>(v / unit)]);
      now.back().first += v % unit, now.back().count = 1;
    }
    assign({r.to, {r.from}, p_.expressions().parameter(0), r.nan}, {now});
  }

  // The same elements side by side in one register.
  Reg word(int fragment, int first, int count) {
    std::vector<Reg> elements;
    for (int v = first; v < first + count; ++v) elements.push_back(part(fragment, v, 1));
    const bool joint =
        std::all_of(elements.begin(), elements.end(), [&](const Reg& r) { return r.id == elements[0].id; });
    if (joint) return part(fragment, first, count);
    Inst& inst = add(InstKind::map);
    inst.map = p_.expressions().parameter(0);
    inst.uses = std::move(elements);
    inst.def = {reg(p_.fragment(fragment).element, count), 0, 0, count};
    return inst.def;
  }

  // `operands`: of each, the register of every value of the result.
  void assign(const MapOp& m, const std::vector<std::vector<Reg>>& operands) {
    const Fragment& to = p_.fragment(m.to);
    std::vector<std::vector<int>> columns;
    for (std::size_t axis = 0; axis < to.extents.size(); ++axis) columns.push_back(coordinates(to.tv, axis));
    // What is updated keeps its registers; an operand of a matrix product gets that size; else they are like those of
    // the operand that has as many values.
    const bool update = std::find(m.from.begin(), m.from.end(), m.to) != m.from.end();
    std::vector<Piece> into = update ? pieces(m.to) : std::vector<Piece>{};
    if (!update) {
      std::vector<int> sizes;
      if (const auto size = product_values(m.to))
        sizes.assign(static_cast<std::size_t>(to.values() / *size), *size);
      for (const int f : m.from)
        if (p_.fragment(f).values() == to.values() && sizes.empty())
          for (const Piece& piece : pieces(f)) sizes.push_back(piece.count);
      if (const int vector = stored_vector(m.to, Space::global);
          !sizes.empty() && vector > *std::max_element(sizes.begin(), sizes.end()))
        sizes.assign(static_cast<std::size_t>(to.values() / vector), vector);
      // Only another order on the way to LDS: each write by itself.
      if (const int vector = stored_vector(m.to, Space::lds); vector > 0 && m.from.size() == 1 &&
                                                              m.map.node().fn == Fn::parameter &&
                                                              p_.fragment(m.from[0]).element == to.element)
        sizes.assign(static_cast<std::size_t>(to.values() / vector), vector);
      if (sizes.empty()) sizes.push_back(to.values()); // of what is the same along an axis
      for (const int size : sizes) into.push_back({reg(to.element, size), size});
    }
    int base = 0;
    for (const auto& [r, size] : into) {
      Inst& inst = add(InstKind::map);
      inst.map = m.map;
      inst.nan = m.nan;
      inst.math = m.math;
      inst.def = {r, 0, 0, size};
      inst.access.threads = to.tv.mode(0);
      for (const std::vector<Reg>& operand : operands)
        for (int e = 0; e < size; ++e) inst.uses.push_back(operand[static_cast<std::size_t>(base + e)]);
      for (int e = 0; e < size; ++e) {
        inst.position.emplace_back();
        for (const std::vector<int>& column : columns)
          inst.position.back().push_back(column[static_cast<std::size_t>(base + e)]);
      }
      if (!update) pieces(m.to).push_back({r, size});
      base += size;
    }
  }

  // The coordinate along one axis alone, as axis 0.
  static Layout along_axis(const Layout& threads, std::size_t axis) {
    return with_strides(threads, [&](const Mode& m) {
      return moves_along(m, axis) ? Stride(m.stride.scale, {0}) : Stride(0);
    });
  }

  // lane -> its row, along axis 2 of a fold's exchange. One mode where all lanes of a wave have one row.
  std::vector<TvMode> rows_of_lanes(const Fragment& from, std::size_t axis) const {
    const int wave = p_.target().wave_size, bits = row_bits(from.tv, from.extents.size(), axis, wave);
    const std::vector<int> along = thread_coordinates(from.tv.mode(0), axis);
    std::vector<TvMode> lanes;
    int rows = 1;
    bool both = false;
    for (int bit = 1; bit < wave; bit *= 2) {
      const bool row = (bits & bit) != 0;
      both = both || (row && along[static_cast<std::size_t>(bit)] != along[0]);
      lanes.push_back(row ? TvMode{2, rows, 2} : TvMode{2, 0, -1});
      if (row) rows *= 2;
    }
    for (std::size_t other = 0; other < from.extents.size(); ++other) {
      if (other == axis) continue;
      const std::vector<int> c = thread_coordinates(from.tv.mode(0), other);
      for (int lane = 0; lane < wave; ++lane)
        both = both || c[static_cast<std::size_t>(lane)] != c[static_cast<std::size_t>(lane & bits)];
    }
    if (both)
      throw CodegenError("fold: a step from lane to lane goes along the axis and to another row at once",
                         "tv     " + to_string(from.tv), "lanes that step along one axis each");
    return rows == 1 ? std::vector<TvMode>{{wave, 0, -1}} : lanes;
  }

  // Up to each element: in a work-item its run from neighbour to neighbour, from lane to lane in steps of 1, 2, 4, ... of what all lanes
  // below have, then what all waves below have, and what all runs before have.
  void scan(const FoldOp& f) {
    const Fragment &from = p_.fragment(f.from), &to = p_.fragment(f.to);
    const int wave = p_.target().wave_size;
    const auto axis = static_cast<std::size_t>(f.axis);
    const std::vector<int> column = coordinates(from.tv, axis);
    const std::optional<ScanOrder> order = scan_order(from, axis, p_.threads(), wave);
    INLAY_CHECK(order && static_cast<int>(order->row.size()) == to.values(), "Program::scan looked at it");
    const auto fresh = [&](InstKind kind) -> Inst& {
      Inst& inst = add(kind);
      inst.monoid = f.monoid;
      inst.def = {reg(to.element, 1), 0, 0, 1};
      return inst;
    };
    const auto joined = [&](std::vector<Reg> uses) {
      if (uses.size() == 1) return uses[0];
      Inst& inst = fresh(InstKind::fold_values);
      inst.uses = std::move(uses);
      return inst.def;
    };
    struct Run {
      std::vector<Reg> up_to; // its elements, in the work-item
      std::vector<Reg> below; // parts of what lies below the work-item's
      Reg all;
    };
    std::vector<Run> runs; // of the first row, and then of the next
    for (const std::vector<int>& row : order->row)
      for (std::size_t k = 0; k < row.size(); ++k) {
        const bool first = k % static_cast<std::size_t>(order->unit) == 0;
        if (first) runs.emplace_back();
        Inst& inst = fresh(InstKind::fold_values);
        inst.access.threads = along_axis(from.tv.mode(0), axis);
        inst.uses = {part(f.from, row[k], 1)};
        inst.position = {{column[static_cast<std::size_t>(row[k])]}};
        const Reg one = inst.def;
        std::vector<Reg>& up_to = runs.back().up_to;
        up_to.push_back(first ? one : joined({up_to.back(), one}));
      }
    for (Run& run : runs) {
      run.all = run.up_to.back();
      if (order->lanes.empty()) continue;
      Inst& none = fresh(InstKind::fill);
      none.value = empty_element(f.monoid);
      run.below = {none.def};
    }
    for (const int bit : order->lanes)
      for (Run& run : runs) {
        Inst& below = fresh(InstKind::fold_lanes);
        below.lane_mask = bit;
        below.uses = {run.below[0], run.all};
        run.below[0] = below.def;
        Inst& all = fresh(InstKind::fold_lanes);
        all.lane_mask = bit;
        all.uses = {run.all};
        run.all = all.def;
      }
    if (f.exchange >= 0) {
      const auto exchange = [&](InstKind kind, int run, int w) -> Inst& {
        Inst& inst = add(kind);
        inst.access.tensor = f.exchange;
        inst.access.origin = {Sym(0), Sym(0)};
        inst.access.masked = {false, false};
        inst.access.elements = {{run, w}};
        return inst;
      };
      const int count = static_cast<int>(runs.size());
      for (int r = 0; r < count; ++r) {
        Inst& inst = exchange(InstKind::lds_write, r, 0);
        inst.uses = {runs[static_cast<std::size_t>(r)].all};
        inst.access.threads = thread_value({{wave, 0, -1}, {order->waves, 1, 1}}, {{1, 0, -1}}).mode(0);
        inst.access.idle = lane_number(wave, order->waves);
      }
      for (int r = 0; r < count; ++r) {
        Run& run = runs[static_cast<std::size_t>(r)];
        std::vector<Reg> all;
        for (int w = 0; w < order->waves; ++w) {
          Inst& inst = exchange(InstKind::lds_read, r, w);
          inst.def = {reg(to.element, 1), 0, 0, 1};
          inst.access.threads = thread_value({{p_.threads(), 0, -1}}, {{1, 0, -1}}).mode(0);
          all.push_back(inst.def);
        }
        Inst& below = fresh(InstKind::fold_values);
        below.uses = all;
        below.lane_mask = wave;
        run.below.push_back(below.def);
        run.all = joined(all);
      }
    }
    std::vector<Reg> up_to(static_cast<std::size_t>(from.values()));
    std::size_t next = 0;
    for (const std::vector<int>& row : order->row) {
      std::optional<Reg> before; // of the row, in runs that are over
      for (std::size_t k = 0; k < row.size(); k += static_cast<std::size_t>(order->unit)) {
        Run& run = runs[next++];
        if (before) run.below.push_back(*before);
        if (!run.below.empty()) {
          const Reg below = joined(run.below);
          for (Reg& r : run.up_to) r = joined({below, r});
        }
        for (std::size_t e = 0; e < run.up_to.size(); ++e)
          up_to[static_cast<std::size_t>(row[k + e])] = run.up_to[e];
        before = before ? joined({*before, run.all}) : run.all;
      }
      pieces(f.to).push_back({before->id, 1});
    }
    for (const Reg& r : up_to) pieces(f.prefix).push_back({r.id, 1});
  }

  void expand(const FoldOp& f) {
    if (f.prefix >= 0) return scan(f);
    const Fragment &from = p_.fragment(f.from), &to = p_.fragment(f.to);
    const int n = from.values(), wave = p_.target().wave_size;
    const std::vector<int> column = coordinates(from.tv, static_cast<std::size_t>(f.axis));
    // Which value of the result each value goes to: the one at the same coordinate but for the axis.
    const std::vector<int> group = matching(from, to);
    std::vector<Reg> parts;
    for (int v = 0; v < to.values(); ++v) {
      Inst& inst = add(InstKind::fold_values);
      inst.monoid = f.monoid;
      inst.access.threads = along_axis(from.tv.mode(0), static_cast<std::size_t>(f.axis));
      for (int i = 0; i < n; ++i)
        if (group[static_cast<std::size_t>(i)] == v) {
          inst.uses.push_back(part(f.from, i, 1));
          inst.position.push_back({column[static_cast<std::size_t>(i)]});
        }
      inst.def = {reg(to.element, 1), 0, 0, 1};
      parts.push_back(inst.def);
    }
    for (int bit = 1; bit < wave; bit *= 2) {
      if (column[static_cast<std::size_t>(bit * n)] == column[0]) continue;
      for (Reg& r : parts) {
        Inst& inst = add(InstKind::fold_lanes);
        inst.monoid = f.monoid;
        inst.lane_mask = bit;
        inst.uses = {r};
        inst.def = {reg(to.element, 1), 0, 0, 1};
        r = inst.def;
      }
    }
    if (f.exchange >= 0) {
      const int waves = p_.threads() / wave;
      const std::vector<TvMode> lanes = rows_of_lanes(from, static_cast<std::size_t>(f.axis));
      const bool one_row = lanes.size() == 1;
      // Waves that go on with a row, and waves that have other rows: (extent of the threads, distance in waves).
      std::vector<int> along = {0};      // numbers of the waves that share a row, from the first of them
      std::vector<TvMode> first = lanes; // thread -> the first wave of its row
      for (int distance = 1; distance < waves; distance *= 2) {
        const int extent = std::min(2, waves / distance);
        bool moves = false, others = false;
        for (std::size_t axis = 0; axis < from.extents.size(); ++axis) {
          const std::vector<int> c = coordinates(from.tv, axis);
          if (c[static_cast<std::size_t>(distance * wave * n)] != c[0])
            (axis == static_cast<std::size_t>(f.axis) ? moves : others) = true;
        }
        if ((moves && others) || (others && !std::has_single_bit(static_cast<unsigned>(waves))))
          throw CodegenError("fold: waves differ along the axis and in their rows at once",
                             "tv     " + to_string(from.tv),
                             "threads along the axis first, in powers of two");
        if (others) {
          first.push_back({extent, distance, 1});
          continue;
        }
        first.push_back({extent, 0, -1});
        if (!moves && !idempotent(f.monoid)) continue; // they have the same elements: one of them is read
        const std::size_t so_far = along.size();
        for (std::size_t i = 0; i < so_far; ++i) along.push_back(along[i] + distance);
      }
      if (!std::has_single_bit(static_cast<unsigned>(waves))) {
        along.resize(static_cast<std::size_t>(waves));
        std::iota(along.begin(), along.end(), 0);
      }
      if (along.size() == static_cast<std::size_t>(waves)) {
        first = one_row ? std::vector<TvMode>{{p_.threads(), 0, -1}} : lanes;
        if (!one_row) first.push_back({waves, 0, -1});
      }
      std::vector<TvMode> mine = lanes; // thread -> its wave and row
      mine.push_back({waves, 1, 1});
      const std::vector<Sym> zero(one_row ? 2 : 3, Sym(0));
      const auto exchange = [&](InstKind kind) -> Inst& {
        Inst& inst = add(kind);
        inst.access.tensor = f.exchange;
        inst.access.origin = zero;
        inst.access.masked.assign(zero.size(), false);
        return inst;
      };
      const auto element = [&](int v, int w) {
        return one_row ? std::vector<int>{v, w} : std::vector<int>{v, w, 0};
      };
      for (int v = 0; v < to.values(); ++v) {
        Inst& inst = exchange(InstKind::lds_write);
        inst.uses = {parts[static_cast<std::size_t>(v)]};
        inst.access.threads = thread_value(mine, {{1, 0, -1}}).mode(0);
        inst.access.elements = {element(v, 0)};
        inst.access.idle = one_row ? lane_number(wave, waves) : number_in_row(lanes, waves);
      }
      for (int v = 0; v < to.values(); ++v) {
        std::vector<Reg> all;
        for (const int w : along) {
          Inst& inst = exchange(InstKind::lds_read);
          inst.def = {reg(to.element, 1), 0, 0, 1};
          inst.access.threads = thread_value(first, {{1, 0, -1}}).mode(0);
          inst.access.elements = {element(v, w)};
          all.push_back(inst.def);
        }
        Inst& inst = add(InstKind::fold_values);
        inst.monoid = f.monoid;
        inst.uses = all;
        inst.def = {reg(to.element, 1), 0, 0, 1};
        parts[static_cast<std::size_t>(v)] = inst.def;
      }
    }
    for (const Reg& r : parts) pieces(f.to).push_back({r.id, 1});
  }

  void expand(const TopOp& t) {
    const Fragment &from = p_.fragment(t.from), &to = p_.fragment(t.to);
    const int n = from.values();
    const std::vector<int> group = matching(from, to);
    std::vector<std::vector<int>> columns;
    std::vector<int> extents;
    for (const int axis : t.axes) {
      columns.push_back(coordinates(from.tv, static_cast<std::size_t>(axis)));
      extents.push_back(from.extents[static_cast<std::size_t>(axis)]);
    }
    int lanes = 0;
    for (int bit = 1; bit < p_.target().wave_size; bit *= 2)
      for (const std::vector<int>& column : columns)
        if (column[static_cast<std::size_t>(bit * n)] != column[0]) lanes |= bit;
    for (int v = 0; v < to.values(); ++v) {
      Inst& inst = add(InstKind::top);
      inst.rank = t.rank, inst.top = t.count, inst.place = t.place, inst.lane_mask = lanes;
      inst.access.extents = extents;
      inst.access.threads = with_strides(from.tv.mode(0), [&](const Mode& m) {
        for (std::size_t a = 0; a < t.axes.size(); ++a)
          if (moves_along(m, static_cast<std::size_t>(t.axes[a]))) return Stride(m.stride.scale, {a});
        return Stride(0);
      });
      for (int i = 0; i < n; ++i) {
        if (group[static_cast<std::size_t>(i)] != v) continue;
        inst.uses.push_back(part(t.from, i, 1));
        inst.position.emplace_back();
        for (const std::vector<int>& column : columns)
          inst.position.back().push_back(column[static_cast<std::size_t>(i)]);
      }
      inst.beside = t.of_beside;
      for (int i = 0; i < n && t.beside >= 0; ++i)
        if (group[static_cast<std::size_t>(i)] == v) inst.uses.push_back(part(t.beside, i, 1));
      inst.def = {reg(to.element, 1), 0, 0, 1};
      pieces(t.to).push_back({inst.def.id, 1});
    }
  }

  /// Ranks that nobody asks for go, and lists of which nobody asks for a place need none.
  void only_used_tops() {
    std::set<int> used;
    for (const Region& r : graph_.regions)
      for (const Inst& i : r.body)
        for (const Reg& u : i.uses) used.insert(u.id);
    for (Region& r : graph_.regions)
      std::erase_if(r.body,
                    [&](const Inst& i) { return i.kind == InstKind::top && !used.contains(i.def.id); });
    std::set<std::vector<int>> with_places;
    const auto list = [](const Inst& i) {
      std::vector<int> out = {i.top, i.lane_mask};
      for (const Reg& u : i.uses) out.insert(out.end(), {u.id, u.first});
      for (const std::vector<int>& at : i.position) out.insert(out.end(), at.begin(), at.end());
      return out;
    };
    const auto each = [&](const auto& f) {
      for (Region& r : graph_.regions)
        for (Inst& i : r.body)
          if (i.kind == InstKind::top) f(i);
    };
    each([&](const Inst& i) {
      if (i.place || i.beside) with_places.insert(list(i));
    });
    each([&](Inst& i) { i.places = with_places.contains(list(i)); });
  }

  const Program& p_;
  Graph graph_;
  std::vector<AtomId> closed_trips_;       ///< numbers of the trips of loops that `trips_inside` has left
  std::vector<std::vector<Piece>> pieces_; ///< of each fragment
  std::vector<const LoopOp*> loops_;       ///< open ones
  bool in_trips_ = false;                  ///< the last of them holds no loops: registers are an iteration's
  std::vector<Guard> guards_;              ///< of the branches that are open
  Waves waves_;                            ///< of the role that is open
  int op_ = -1, next_op_ = 0;
  std::source_location where_;
};

} // namespace

namespace {
/// What a trip reads decides branches of that trip, and nothing else.
void check_read_in_trips(const Program& p) {
  for (const Uniform& u : p.uniforms()) {
    const std::vector<AtomId> trips = trips_of(p, u);
    if (trips.empty()) continue;
    const AtomId atom = *u.symbol.as_atom();
    const Words words(p);
    const auto refuse = [&](const std::string& why, const std::string& hint) {
      throw CodegenError("uniform: " + why,
                         p.tensor(u.tensor).name + "[" + words(to_string(u.at)) + "], line " +
                             std::to_string(u.where.line()),
                         hint);
    };
    const auto has = [&](Sym s) {
      const auto all = symbols(s);
      return std::find(all.begin(), all.end(), atom) != all.end();
    };
    const auto elsewhere = [&](bool is) {
      if (is)
        refuse("it moves with a loop, and is more than the condition of a branch in its trip",
               "k.if_less(0, k.uniform(..), ..) in the trip; as a row, k.load(k.tile(" +
                   p.tensor(u.tensor).name + ", {1}, {" + words(to_string(u.at)) +
                   "}), tv without its axes, 1), and a view through what that gives");
    };
    const auto all_of = [&](const std::vector<Sym>& list) {
      return std::any_of(list.begin(), list.end(), has);
    };
    for (const Uniform& other : p.uniforms()) elsewhere(has(other.at));
    const auto in_expression = [&](const Expr& e) {
      if (!e) return false;
      const auto all = e.arena->symbols(e);
      return std::find(all.begin(), all.end(), atom) != all.end();
    };
    for (const auto& s : p.specifications()) elsewhere(in_expression(s.value));
    const auto walk = [&](const auto& self, const std::vector<Op>& ops, std::set<AtomId> open) -> void {
      for (const Op& op : ops) {
        if (const auto* c = std::get_if<CopyOp>(&op.what))
          elsewhere((c->from && all_of(c->from->origin)) || (c->to && all_of(c->to->origin)));
        if (const auto* m = std::get_if<MapOp>(&op.what)) elsewhere(in_expression(m->map));
        if (const auto* l = std::get_if<LoopOp>(&op.what)) {
          elsewhere(has(l->extent));
          if (std::find(trips.begin(), trips.end(), *l->t.as_atom()) != trips.end() && !is_nest(*l))
            elsewhere(true);
          std::set<AtomId> inside = open;
          inside.insert(*l->t.as_atom());
          self(self, l->body, std::move(inside));
        }
        if (const auto* r = std::get_if<RolesOp>(&op.what))
          for (const RolesOp::Role& role : r->roles) self(self, role.body, open);
        const auto* branch = std::get_if<IfOp>(&op.what);
        if (!branch) continue;
        const auto [a, b] = branch->condition;
        if (has(a) || has(b)) {
          const auto number = a == u.symbol ? b.constant() : a.constant();
          if (!number || *number < Int(b == u.symbol ? 0 : 1) || *number > Int(INT32_MAX) ||
              !(a == u.symbol || b == u.symbol))
            refuse("a trip's branch is by " + words(to_string(a)) + " < " + words(to_string(b)),
                   "a number from 0 to 2147483647 that is less, or one from 1 on that is more");
          if (!std::all_of(trips.begin(), trips.end(), [&](AtomId t) { return open.contains(t); }))
            refuse("it is read in a loop, and a branch outside of it is by it", "the branch in that loop");
        }
        self(self, branch->then, open), self(self, branch->otherwise, open);
      }
    };
    walk(walk, p.body(), {});
  }
}
} // namespace

Graph expand(const Program& program) {
  check_read_in_trips(program);
  return Expander(program).run();
}

} // namespace inlay::codegen
