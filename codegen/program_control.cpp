// Program: loops, branches, roles, and what workgroups wait for.
#include "program_checks.h"

#include <inlay/codegen/symbol_kinds.h>

#include <algorithm>

namespace inlay::codegen {
namespace {
// No operations but roles that have none.
bool idle(const std::vector<Op>& ops) {
  return std::all_of(ops.begin(), ops.end(), [](const Op& op) {
    const auto* roles = std::get_if<RolesOp>(&op.what);
    return roles != nullptr && std::all_of(roles->roles.begin(), roles->roles.end(),
                                           [](const RolesOp::Role& r) { return r.body.empty(); });
  });
}
} // namespace

void Program::loop(Sym extent, int tile, Pipeline pipeline, const std::function<void(Sym)>& body,
                   Where where) {
  if (tile < 1) throw CodegenError("loop: a tile of " + std::to_string(tile));
  refuse_empty(sizes_, extent, "loop");
  if (!role_.all())
    throw CodegenError("roles: a loop inside of a role is not generated",
                       "role   " + role_name_ + ", line " + std::to_string(where.line()),
                       "the roles inside of the loop");
  if (pipeline.ring < 1 || pipeline.ring > 8 || pipeline.distance < 0 || pipeline.distance > 8)
    throw CodegenError("loop: a pipeline of distance " + std::to_string(pipeline.distance) + " over " +
                           std::to_string(pipeline.ring) + " stages",
                       "", "distance 0 to 8, ring 1 to 8");
  LoopOp l;
  l.t = own_symbol(*symbols_, name_of(SymbolKind::loop, {loops_++}), tile_numbers(extent, tile));
  trips_.push_back(*l.t.as_atom());
  l.extent = extent;
  l.tile = tile;
  l.pipeline = pipeline;
  std::vector<Op> ops;
  open_.push_back(&ops);
  ++loops_open_;
  body(l.t);
  --loops_open_;
  open_.pop_back();
  if (idle(ops))
    throw CodegenError("loop: it does nothing",
                       "over   " + to_string(extent) + ", line " + std::to_string(where.line()));
  l.body = std::move(ops);
  append(std::move(l), where);
}

void Program::loop(Sym begin, Sym end, int tile, Pipeline pipeline, const std::function<void(Sym)>& body,
                   Where where) {
  if (begin == Sym(0)) return loop(end, tile, pipeline, body, where);
  // Its first tile's row would be one that a table names, which is read where the tensor has it alone.
  if (const Sym alone = begin - Sym(begin.constant_term());
      pipeline.distance > 0 && pipeline.ring > 1 &&
      std::any_of(uniforms_.begin(), uniforms_.end(), [&](const Uniform& u) { return u.symbol == alone; }))
    throw CodegenError("loop: one that begins where memory says loads nothing ahead",
                       "begin  " + Words(*this)(to_string(begin)) + ", distance " +
                           std::to_string(pipeline.distance) + ", line " + std::to_string(where.line()),
                       "distance 0, ring 1");
  // Where it is known to be 0 or more, it is written so that no part of an address is negative.
  const auto from = [&](Sym at, bool positive) {
    if (at == end) return; // no trip, of a window of one row
    const Sym first = floor_div(at, Sym(tile));
    if (!(Sym(tile) * first == at)) {
      const bool moves = std::any_of(first.terms().begin(), first.terms().end(), [&](const Term& t) {
        return std::any_of(t.factors().begin(), t.factors().end(),
                           [&](const Factor& f) { return symbols_->atom(f.atom).kind != AtomKind::symbol; });
      });
      const Words words(*this);
      throw CodegenError(
          "loop: it begins inside of a tile",
          "begin  " + words(to_string(at)) + ", tiles of " + std::to_string(tile) + ", line " +
              std::to_string(where.line()),
          moves ? "a window, which begins anywhere, k.window(name, x, {.., {length, {{length, axis}}}}, {.., "
                  "begin}), and a loop over its length from 0 on; or a workgroup for a tile of rows"
                : "max(0, " + words(to_string(Sym(tile) * first)) + "), and inside(" +
                      words(to_string(at - Sym(1))) + ", index, x, 0) in the body for what lies before");
    }
    const auto two = least_of(end);
    loop(
        two ? min(two->first - at, two->second - at) : end - at, tile, pipeline,
        [&](Sym t) { body(t + (positive ? max(Sym(0), first) : first)); }, where);
  };
  const auto atom = begin.as_atom();
  if (!atom || symbols_->atom(*atom).kind != AtomKind::max) return from(begin, false);
  // max(0, x) is x where it is more.
  const auto& two = symbols_->atom(*atom).operands;
  const Sym x = two[two[0] == Sym(0) ? 1 : 0];
  if (!(two[0] == Sym(0) || two[1] == Sym(0)))
    throw CodegenError("loop: it begins at the greater of two",
                       "begin  " + to_string(begin) + ", line " + std::to_string(where.line()),
                       "max(0, a number of whole tiles)");
  if_less(
      Sym(0), x, [&] { from(x, true); }, [&] { loop(end, tile, pipeline, body, where); }, where);
}

const GridAxis& Program::axis(int number) const {
  return *std::find_if(grid_.begin(), grid_.end(), [&](const GridAxis& g) { return g.axis == number; });
}
Sym Program::count(int axis) const {
  const GridAxis& g = this->axis(axis);
  return ceil_div(g.extent, Sym(g.tile));
}

std::pair<int, int> Program::counters(const std::string& what, const std::string& name, Sym number,
                                      const std::string& why, const Where& where) {
  const auto refuse = [&](const std::string& error, const std::string& hint) {
    throw CodegenError(what + ": " + error, name + ", line " + std::to_string(where.line()), hint);
  };
  if (loops_open_ > 0 || branches_open_ > 0 || !role_.all())
    refuse("it stands in a loop, a branch or a role", why);
  if (shares_)
    refuse("workgroups have shares of tiles, and no grid axis counts these", "parts that are added");
  const auto of =
      std::find_if(grid_.begin(), grid_.end(), [&](const GridAxis& g) { return g.symbol == number; });
  if (of == grid_.end())
    refuse("no grid axis counts " + Words(*this)(to_string(number)), "what k.workgroups gave");
  const int along = of->axis;
  std::vector<Sym> groups;
  for (const GridAxis& g : grid_)
    if (g.axis != along) groups.push_back(count(g.axis));
  if (groups.empty()) groups.push_back(Sym(1));
  return {along, output(name, Element::i32, groups).id};
}

Sym Program::ticket(const std::string& name, Sym number, Where where) {
  const auto [axis, tensor] = counters("ticket", name, number, "every workgroup draws once", where);
  const GridAxis& of = this->axis(axis);
  const int id = static_cast<int>(tickets_.size());
  Ticket t;
  t.tensor = tensor;
  t.exchange = lds("ticket" + std::to_string(id), Element::i32, {1}).id;
  t.axis = axis;
  t.symbol = own_symbol(*symbols_, name_of(SymbolKind::ticket, {id}, name), tile_numbers(of.extent, of.tile));
  tickets_.push_back(t);
  append(TicketOp{id}, where);
  return t.symbol;
}

void Program::await(const std::string& name, Sym number, Where where) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("await: " + why, name + ", line " + std::to_string(where.line()), hint);
  };
  if (std::any_of(turns_.begin(), turns_.end(), [&](const Turn& t) { return tensor(t.tensor).name == name; }))
    refuse("it has waited for this turn", "a workgroup has one turn of a name");
  const auto [axis, id] = counters("await", name, number, "every workgroup waits once", where);
  if (tile_map_ && axis != 2)
    refuse("workgroups begin in another order than that of " + to_string(number),
           "no order_tiles, or an axis that it leaves as it is");
  turns_.push_back({id, axis});
  append(AwaitOp{static_cast<int>(turns_.size()) - 1}, where);
}

void Program::signal(const std::string& name, Where where) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("signal: " + why, name + ", line " + std::to_string(where.line()), hint);
  };
  if (loops_open_ > 0 || branches_open_ > 0 || !role_.all())
    refuse("it stands in a loop, a branch or a role", "every workgroup signals once");
  const auto of = std::find_if(turns_.begin(), turns_.end(),
                               [&](const Turn& t) { return tensor(t.tensor).name == name; });
  if (of == turns_.end()) refuse("it is not this workgroup's turn", "k.await(\"" + name + "\", ...) before");
  const int turn = static_cast<int>(of - turns_.begin());
  each_op(body_, [&](const Op& op) {
    if (const auto* s = std::get_if<SignalOp>(&op.what); s && s->turn == turn)
      refuse("the turn was passed on", "a workgroup signals once");
  });
  append(SignalOp{turn}, where);
}

void Program::meet(const std::string& name, Where where) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("meet: " + why, name + ", line " + std::to_string(where.line()), hint);
  };
  if (loops_open_ > 0 || branches_open_ > 0 || !role_.all())
    refuse("it stands in a loop, a branch or a role", "all workgroups of all devices meet as often");
  if (devices_.count == 0) refuse("the program runs on one device", "k.devices(4) before");
  if (shares_ || tile_map_)
    refuse("workgroups of one number have shares of tiles, or other tiles", "a workgroup for each tile");
  if (grid_.empty()) refuse("the program has no grid", "k.workgroups before");
  if (!devices_.flags.empty() && devices_.name != name)
    refuse("the devices' flags are '" + devices_.name + "'", "one name for all meetings");
  if (devices_.flags.empty()) {
    devices_.name = name;
    std::vector<Sym> shape;
    for (const GridAxis& g : grid_) shape.push_back(count(g.axis));
    shape.push_back(Sym(devices_.count));
    for (int d = 0; d < devices_.count; ++d) {
      devices_.flags.push_back(global(name + "_" + std::to_string(d), Element::i32, shape, {}, true).id);
      tensors_.back().device = d;
    }
  }
  append(MeetOp{}, where);
}

void Program::if_less(Sym a, Sym b, const std::function<void()>& then, const std::function<void()>& otherwise,
                      Where where) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError(
        "if_less: " + why,
        Words(*this)(to_string(a) + " < " + to_string(b)) + ", line " + std::to_string(where.line()), hint);
  };
  // Less than the least of two is less than both.
  if (const auto two = least_of(b))
    return if_less(
        a, two->first, [&] { if_less(a, two->second, then, otherwise, where); }, otherwise, where);
  if (!role_.all()) refuse("a branch inside of a role is not generated", "the roles inside of the branch");
  for (const Sym& s : {a, b})
    for (const AtomId atom : inlay::symbols(s)) {
      const auto is = [&](const auto& x) { return *x.symbol.as_atom() == atom; };
      if (std::none_of(sizes_.begin(), sizes_.end(), is) && std::none_of(grid_.begin(), grid_.end(), is) &&
          std::none_of(uniforms_.begin(), uniforms_.end(), is) &&
          std::none_of(tickets_.begin(), tickets_.end(), is) &&
          (loops_open_ == 0 || std::find(trips_.begin(), trips_.end(), atom) == trips_.end()))
        refuse("a workgroup has no " + Words(*this)(symbols_->atom(atom).name),
               "sizes, numbers of workgroups and of trips around it, uniforms and tickets decide");
    }
  IfOp op{{a, b}, {}, {}};
  for (const auto& [ops, body] : {std::pair(&op.then, &then), std::pair(&op.otherwise, &otherwise)}) {
    if (!*body) continue;
    open_.push_back(ops);
    ++branches_open_;
    (*body)();
    --branches_open_;
    open_.pop_back();
  }
  if (!idle(op.then) || !idle(op.otherwise)) append(std::move(op), where);
}

void Program::roles(const std::vector<Role>& roles, Where where) {
  const int waves = threads_ / target_->wave_size;
  const auto refuse = [&](const std::string& why, const std::string& what, const std::string& hint) {
    throw CodegenError("roles: " + why, what + ", line " + std::to_string(where.line()), hint);
  };
  if (!role_.all()) refuse("they stand inside of a role", "role   " + role_name_, "one list of roles");
  int sum = 0;
  std::string text;
  for (const Role& r : roles) {
    text += (text.empty() ? "" : " + ") + std::to_string(r.waves);
    if (r.waves < 1) refuse("a role has no waves", r.name + " " + std::to_string(r.waves), "at least 1");
    sum += r.waves;
  }
  if (sum != waves)
    refuse("they are not the waves of the workgroup", text + " of " + std::to_string(waves),
           std::to_string(threads_) + " work-items are " + std::to_string(waves) + " waves");
  RolesOp op;
  int first = 0;
  for (const Role& r : roles) {
    // Then every group of that many waves is like the role, and addresses need not know which one it is.
    if (waves % r.waves != 0 || first % r.waves != 0)
      refuse("the waves of " + r.name + " are not one of equal groups",
             std::to_string(r.waves) + " from wave " + std::to_string(first) + " on, of " +
                 std::to_string(waves),
             "numbers of waves that divide the workgroup's, the larger roles first");
    op.roles.push_back({r.name, {first, r.waves}, {}});
    first += r.waves;
  }
  for (std::size_t n = 0; n < roles.size(); ++n) {
    if (!roles[n].body) continue;
    std::vector<Op> ops;
    open_.push_back(&ops);
    role_ = roles.size() == 1 ? Waves{} : op.roles[n].waves;
    role_name_ = roles[n].name;
    roles[n].body();
    role_ = {};
    open_.pop_back();
    op.roles[n].body = std::move(ops);
  }
  append(std::move(op), where);
}

void each_op(const std::vector<Op>& ops, const std::function<void(const Op&)>& f) {
  for (const Op& op : ops) {
    f(op);
    if (const auto* l = std::get_if<LoopOp>(&op.what)) each_op(l->body, f);
    if (const auto* i = std::get_if<IfOp>(&op.what)) each_op(i->then, f), each_op(i->otherwise, f);
    if (const auto* r = std::get_if<RolesOp>(&op.what))
      for (const RolesOp::Role& role : r->roles) each_op(role.body, f);
  }
}

} // namespace inlay::codegen
