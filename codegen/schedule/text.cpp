// Code as text, one instruction a line.
#include <inlay/codegen/address.h>
#include <inlay/codegen/code.h>
#include <inlay/codegen/nest.h>

#include <inlay/algebra/print.h>

#include <utility>

namespace inlay::codegen {

namespace {

class Text {
public:
  Text(const Program& of, const std::vector<Register>& all) : program(&of), registers(all) {}
  std::string out;

  void line(const Inst& i, const std::string& indent) {
    out += indent;
    switch (i.kind) {
    case InstKind::fill:
      out += reg(i.def) + " = " + to_string(program->expressions().constant(i.value), {});
      break;
    case InstKind::load:
    case InstKind::lds_read: out += reg(i.def) + " = " + access(i.access); break;
    case InstKind::store:
    case InstKind::lds_write: out += access(i.access) + (i.combine ? " += " : " = ") + reg(i.uses[0]); break;
    case InstKind::mma:
      out += reg(i.def) + " +=";
      for (std::size_t u = 0; u < i.uses.size(); ++u)
        out += (u == operand_parts(i)       ? " x "
                : u == 2 * operand_parts(i) ? ", scales "
                                            : " ") +
               reg(i.uses[u]);
      break;
    case InstKind::map:
    case InstKind::fold_values: {
      out += reg(i.def) + " = " +
             (i.kind == InstKind::map ? to_string(i.map, [&](int id) { return program->tensor_name(id); })
                                      : std::string(to_string(i.monoid))) +
             " of";
      for (const Reg& r : i.uses) out += " " + reg(r);
      if (i.kind == InstKind::fold_values && i.lane_mask > 0)
        out += " before number work-item / " + std::to_string(i.lane_mask);
      break;
    }
    case InstKind::fold_lanes:
      out += reg(i.def) + " = " + to_string(i.monoid) + " of " + reg(i.uses[0]) + " and " +
             (i.uses.size() == 2 ? "where the bit is set " + reg(i.uses[1]) + " of " : "") + "lane ^ " +
             std::to_string(i.lane_mask);
      break;
    case InstKind::top:
      out += reg(i.def) + " = " +
             (i.place    ? "place of "
              : i.beside ? "what is beside "
                         : "") +
             "number " + std::to_string(i.rank) + " of the " + std::to_string(i.top) + " greatest of";
      for (const Reg& r : i.uses) out += " " + reg(r);
      out += " and lanes ^ " + std::to_string(i.lane_mask);
      break;
    case InstKind::exchange_lanes:
      out += reg(i.def) + " = " + reg(i.uses[0]) + " and " + reg(i.uses[1]) + " exchanged with lane ^ " +
             std::to_string(i.lane_mask);
      break;
    case InstKind::wait:
      out += "wait" + (i.vm >= 0 ? " vm " + std::to_string(i.vm) : std::string()) +
             (i.lgkm >= 0 ? " lgkm " + std::to_string(i.lgkm) : std::string());
      break;
    case InstKind::barrier: out += "barrier"; break;
    case InstKind::priority: out += "priority " + std::to_string(static_cast<int>(i.value)); break;
    case InstKind::check:
    case InstKind::print:
      out += to_string(i.kind);
      for (const Reg& r : i.uses) out += " " + reg(r);
      break;
    case InstKind::release: out += i.system ? "release for all devices" : "release"; break;
    case InstKind::meet:
      out += "meet by " + program->together().name + ", " + access(i.access) + " and those of " +
             std::to_string(program->together().count) + " devices";
      break;
    case InstKind::ticket: out += reg(i.def) + " = ticket of " + access(i.access); break;
    case InstKind::await:
    case InstKind::signal: out += std::string(to_string(i.kind)) + " " + access(i.access); break;
    case InstKind::acquire:
      if (i.system) {
        out += "acquire what came before the devices met";
        break;
      }
      if (i.turn >= 0) {
        out += "acquire what came before the turn of " +
               program->tensor(program->turns()[static_cast<std::size_t>(i.turn)].tensor).name;
        break;
      }
      out += "acquire " + to_string(program->tickets()[static_cast<std::size_t>(i.ticket)].symbol) + " = " +
             reg(i.uses[0]);
      break;
    }
    if (!i.waves.all())
      out += ", waves " + std::to_string(i.waves.first) + " to " +
             std::to_string(i.waves.first + i.waves.count - 1);
    out += "   ; op " + std::to_string(i.op) + ", line " + std::to_string(i.where.line()) + "\n";
  }
  void guards(const std::vector<Guard>& all) {
    for (const Guard& g : all)
      out += "  where " + to_string(g.condition.a) + (g.holds ? " < " : " >= ") + to_string(g.condition.b) +
             "\n";
  }

private:
  [[nodiscard]] std::string reg(const Reg& r) const {
    std::string s = "v" + std::to_string(r.id);
    if (!registers[static_cast<std::size_t>(r.id)].outside && r.ahead != 0)
      s += "'" + std::to_string(r.ahead);
    if (r.first != 0 || r.count != registers[static_cast<std::size_t>(r.id)].count)
      s += "[" + std::to_string(r.first) + (r.count > 1 ? ":" + std::to_string(r.first + r.count) : "") + "]";
    return s;
  }
  [[nodiscard]] std::string access(const Access& a) const {
    const Tensor& t = program->tensor(a.tensor);
    std::string s = t.name;
    if (t.space == Space::lds) s += "." + std::to_string(a.slot);
    s += "(";
    for (std::size_t i = 0; i < a.origin.size(); ++i)
      s += (i ? ", " : "") + to_string(a.origin[i] + Sym(a.elements[0][i])) + (a.masked[i] ? "?" : "");
    return s + " + " + to_string(a.threads) + ")" +
           (a.elements.size() > 1 ? " x" + std::to_string(a.elements.size()) : "") +
           (t.space == Space::global && is_far(*program, a) ? ", 64 bits of address" : "") +
           (a.cache == CachePolicy{} ? "" : ", " + to_string(a.cache));
  }
  const Program* program;
  const std::vector<Register>& registers;
};

} // namespace

std::string Graph::text() const {
  Text t(*program, registers);
  for (const Region& r : regions) {
    t.guards(r.guards);
    if (r.is_loop)
      t.out += "  loop " + to_string(r.t) + " over " + to_string(r.extent) + " by " + std::to_string(r.tile) +
               "\n";
    for (const Inst& i : r.body) t.line(i, r.is_loop ? "    " : "  ");
    if (r.is_loop) t.out += "  end\n";
  }
  return std::move(t.out);
}

std::string Code::text() const {
  Text t(*program, registers);
  std::string& out = t.out;
  const std::vector<Nest> nests = nests_of(*program);
  for (std::size_t n = 0; n < regions.size(); ++n) {
    const CodeRegion& r = regions[n];
    t.guards(r.guards);
    for (const Nest& nest : nests)
      if (regions_of(nest, *this).first == n)
        out += "  trips " + to_string(nest.t) + " < " + to_string(nest.trips()) + "\n";
    for (const Inst& i : r.prologue) t.line(i, "  ");
    if (r.is_loop) {
      out += "  loop " + to_string(r.trip) + " < " + to_string(r.trips) + " - 1, ring " +
             std::to_string(r.ring) + (r.tail_first ? ", last tile first" : "") + "\n";
      for (const Inst& i : r.body) t.line(i, "    ");
      if (!r.staggered.empty()) {
        out += "    upper half of the waves:";
        for (const int number : r.staggered) out += " " + std::to_string(number);
        out += "\n";
      }
      out += "  end\n";
      for (const Inst& i : r.epilogue) t.line(i, "  ");
    } else {
      for (const Inst& i : r.body) t.line(i, "  ");
    }
    for (const Nest& nest : nests)
      if (regions_of(nest, *this).second == n + 1) out += "  next " + to_string(nest.t) + "\n";
  }
  return std::move(t.out);
}

} // namespace inlay::codegen
