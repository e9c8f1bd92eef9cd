// What the specification fixes of a loop's order: places in it, how deep it is.
#include <inlay/codegen/schedule.h>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace inlay::codegen {
namespace {

struct Name {
  std::string_view name;
  Pin::Access access;
  InstKind kind;
};
constexpr Name names[] = {{"load", Pin::Access::load, InstKind::load},
                          {"read", Pin::Access::read, InstKind::lds_read},
                          {"write", Pin::Access::write, InstKind::lds_write}};
const Name& name_of(Pin::Access access) {
  return *std::find_if(std::begin(names), std::end(names), [&](const Name& n) { return n.access == access; });
}

/// What stands between commas; nothing in an empty text.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

} // namespace

std::string to_string(const Pin& pin) {
  return std::string(name_of(pin.access).name) + " " + pin.tensor + " " + std::to_string(pin.number) +
         " after " + std::to_string(pin.behind);
}

std::vector<Pin> parse_pins(const std::string& text) {
  std::vector<Pin> pins;
  for (const std::string& part : split(text)) {
    std::istringstream in(part);
    std::string access, after, more;
    Pin pin;
    const bool whole = in >> access >> pin.tensor >> pin.number >> after >> pin.behind && !(in >> more) &&
                       (after == "after" || after == "behind") && pin.number >= 0 && pin.behind >= -1;
    const auto known =
        std::find_if(std::begin(names), std::end(names), [&](const Name& n) { return n.name == access; });
    if (!whole || known == std::end(names))
      throw CodegenError("not a pin", "pin    " + part,
                         "load a 0 after 5, read lds_b 3 after 17, write lds_a 1 after -1: the number of "
                         "the access and of the matrix product");
    pin.access = known->access;
    pins.push_back(std::move(pin));
  }
  return pins;
}

namespace {

struct Member {
  const char* name;
  int Depth::*value;
  int most;
};
constexpr Member members[] = {{"waves", &Depth::waves, 8},     {"lead", &Depth::lead, 32},
                              {"within", &Depth::within, 100}, {"trips", &Depth::trips, 8},
                              {"loads", &Depth::loads, 100},   {"barriers", &Depth::barriers, 3}};

} // namespace

Depth parse_depth(const std::string& text) {
  Depth depth;
  for (const std::string& part : split(text)) {
    std::istringstream in(part);
    std::string name, more;
    int value = 0;
    const bool whole = in >> name >> value && !(in >> more);
    const auto known =
        std::find_if(std::begin(members), std::end(members), [&](const Member& m) { return name == m.name; });
    if (!whole || known == std::end(members) || value < 1 || value > known->most || depth.*known->value != 0)
      throw CodegenError(
          "a pipeline that is none", "pipeline   " + part,
          "waves 1 to 8, lead 1 to 32 (windows), within 1 to 100 (percent), trips 1 to 8, "
          "loads 1 to 100 (percent), each once: waves 1, lead 5, within 50, trips 3; or barriers 1 to 3");
    depth.*known->value = value;
  }
  Depth alone;
  alone.barriers = depth.barriers;
  if (depth.barriers > 1 && !(depth == alone))
    throw CodegenError("a pipeline that is none: with tiles apart or operands in turn all else is fixed",
                       "pipeline   " + text, "barriers " + std::to_string(depth.barriers) + " alone");
  return depth;
}

std::string to_string(const Depth& depth) {
  std::string out;
  for (const Member& m : members)
    if (const int value = depth.*m.value)
      out += (out.empty() ? "" : ", ") + std::string(m.name) + " " + std::to_string(value);
  return out;
}

LoopSchedule pinned(const Region& loop, const std::vector<Register>& registers, const Program& program,
                    LoopSchedule order) {
  const auto& body = loop.body;
  const auto at = [&](const Slot& s) -> const Inst& { return body[static_cast<std::size_t>(s.node)]; };
  const auto refuse = [&](const Pin& pin, const std::string& why, const std::string& hint) {
    throw CodegenError("a pin that cannot be held: " + why, "pin    " + to_string(pin), hint);
  };
  const auto what = [&](int node) {
    const Inst& i = body[static_cast<std::size_t>(node)];
    int number = 0;
    for (int n = 0; n < node; ++n) {
      const Inst& before = body[static_cast<std::size_t>(n)];
      number += before.kind == i.kind && before.access.tensor == i.access.tensor ? 1 : 0;
    }
    return std::string(to_string(i.kind)) + " " + std::to_string(number) +
           (i.access.tensor >= 0 ? " of " + program.tensor(i.access.tensor).name : "");
  };
  const std::vector<Edge> edges = edges_of(loop, registers, order.parts);
  int reach = 0;
  for (const Slot& s : order.slots) reach = std::max(reach, s.ahead);
  std::vector<int> fixed; // nodes that are pinned already
  for (const Pin& pin : loop.pipeline.pins) {
    if (!order.exact)
      refuse(pin, "the order of this loop is left to LLVM", "--scheduler modulo, in a loop that it orders");
    std::vector<int> accesses;
    int products = 0;
    std::string tensors;
    for (std::size_t n = 0; n < body.size(); ++n) {
      const Inst& i = body[n];
      products += i.kind == InstKind::mma ? 1 : 0;
      if (i.access.tensor < 0 || i.kind != name_of(pin.access).kind) continue;
      if (i.kind == InstKind::lds_write && i.direct) continue; // its load is what is pinned
      const std::string& name = program.tensor(i.access.tensor).name;
      if (name == pin.tensor) accesses.push_back(static_cast<int>(n));
      if ((", " + tensors + ",").find(", " + name + ",") == std::string::npos)
        tensors += (tensors.empty() ? "" : ", ") + name;
    }
    if (accesses.empty())
      refuse(pin, "the loop has no " + std::string(name_of(pin.access).name) + " of " + pin.tensor,
             tensors.empty() ? "accesses that it has" : "of " + tensors);
    if (pin.number >= static_cast<int>(accesses.size()) || pin.behind >= products)
      refuse(pin,
             "it has " + std::to_string(accesses.size()) + " of them and " + std::to_string(products) +
                 " matrix products",
             "numbers from 0 on, and -1 for the start of the trip");
    const int node = accesses[static_cast<std::size_t>(pin.number)];
    if (std::find(fixed.begin(), fixed.end(), node) != fixed.end())
      refuse(pin, "it is pinned twice", "one place");

    // Out, with the other half of a transfer, and in after the product and what is pinned there.
    std::vector<Slot> moved;
    std::vector<Slot> rest;
    for (std::size_t s = 0; s < order.slots.size(); ++s) {
      const bool half = s > 0 && order.slots[s - 1].node == node && at(order.slots[s - 1]).direct;
      (order.slots[s].node == node || half ? moved : rest).push_back(order.slots[s]);
    }
    auto place = rest.begin();
    for (int seen = -1; seen < pin.behind; ++place)
      if (at(*place).kind == InstKind::mma) ++seen;
    while (place != rest.end() && std::find(fixed.begin(), fixed.end(), place->node) != fixed.end()) ++place;
    const auto index = place - rest.begin();
    // In the trip in which it was, or the one before or after, whichever leaves the order right.
    std::optional<Edge> wrong;
    const int before = moved[0].ahead;
    bool found = false;
    for (const int ahead : {before, before + 1, before - 1}) {
      if (ahead < 0 || ahead > std::max(reach, 1)) continue;
      LoopSchedule next = order;
      next.slots = rest;
      for (Slot& s : moved) s.ahead = ahead, s.joint = false;
      next.slots.insert(next.slots.begin() + index, moved.begin(), moved.end());
      const auto here = violated(edges, next);
      if (!here) {
        order = std::move(next);
        found = true;
        break;
      }
      if (!wrong) wrong = here;
    }
    if (!found)
      refuse(pin,
             what(wrong->to) + " would stand before " + what(wrong->from) + " (" + to_string(wrong->kind) +
                 ")",
             "another product");
    for (const Slot& s : moved) fixed.push_back(s.node);
  }
  return order;
}

} // namespace inlay::codegen
