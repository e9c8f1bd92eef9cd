// Rule of several devices: what is in a peer's memory may be read between two meetings, the first of which knows that its launch has
// begun, and the last of which lets it end. All devices run the code; here is one of them, any.
#include "interpreter.h"

#include <algorithm>

namespace inlay::codegen::provenance {

void Interpreter::device_claims() {
  const Devices& all = p_.together();
  for (const CodeRegion& r : code_.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) {
        at_ = &i;
        if (i.kind == InstKind::meet && (r.is_loop || !r.guards.empty()))
          refute("every workgroup of every device meets as often", all.name,
                 "it stands in a loop or a branch");
      }
  at_ = nullptr;
  if (all.count == 0) return;
  const std::string n = std::to_string(all.count);
  callers("all " + n + " devices launch the kernel, with the same sizes but rank, 0 to " +
              std::to_string(all.count - 1) + ", each once",
          "their workgroups wait for one another");
  callers("workgroups begin in the order of their numbers",
          "some wait for those of the same number, and one that runs goes on running");
  std::string names;
  for (const Tensor& t : p_.tensors())
    if (t.device >= 0 && !t.output) names += (names.empty() ? "" : ", ") + t.name;
  if (!names.empty())
    callers(names + " are in each launch the memory of their devices, which no other stream writes while "
                    "they run",
            "the devices compute in common what they read there");
  // What depends on rank, other than where the flags lie.
  const AtomId rank = *all.rank.as_atom();
  const auto in = [&](Sym s) { return mentions(s, rank); };
  const auto in_expr = [&](Expr e) {
    bool found = false;
    (void)x_.rewrite(e, [&](const ExprNode& node) -> std::optional<Expr> {
      found = found || in(node.sym) || std::any_of(node.index.begin(), node.index.end(), in);
      return std::nullopt;
    });
    return found;
  };
  bool found = false;
  for (const Tensor& t : p_.tensors()) {
    found = found || std::any_of(t.shape.begin(), t.shape.end(), in);
    std::vector<Sym> last;
    for (const Sym& s : t.shape) last.push_back(s - Sym(1));
    if (t.space == Space::global) found = found || in(t.at(last));
  }
  for (const GridAxis& g : p_.grid()) found = found || in(g.extent);
  for (const Uniform& u : p_.uniforms()) found = found || in(u.at);
  for (const Entry& v : p_.values()) found = found || in(v.at);
  for (const auto& s : p_.specifications()) found = found || in_expr(s.value);
  for (const CodeRegion& r : code_.regions) {
    if (r.is_loop) found = found || in(r.extent) || in(r.trips);
    for (const Guard& g : r.guards) found = found || in(g.condition.a) || in(g.condition.b);
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) {
        if (i.kind != InstKind::meet)
          found = found || std::any_of(i.access.origin.begin(), i.access.origin.end(), in);
        if (i.map) found = found || in_expr(i.map);
        if (i.when) found = found || in(i.when->size);
      }
  }
  if (!found)
    prove("no address, bound or value depends on rank: devices that read the same compute the same bits",
          n + " devices", "enumeration");
}

// Of the flags that a workgroup sets and waits for: set on each device in the place of its own number and of this device's, which is no
// other workgroup's and no other device's, and waited for in its own number's.
void Interpreter::meet_devices(State& s, const Inst& i) {
  const Devices& all = p_.together();
  if (s.released != Status::published || !s.released_to_devices)
    refute("devices meet when all waves have released what they did, for all devices", all.name,
           s.released != Status::published ? "no barrier stands between the release of every wave and this"
                                           : "it is released for the workgroups of this device");
  const std::string claim = "a workgroup of a device has a flag of its own on each device, " + all.name;
  if (all.flags.empty() || i.access.tensor != all.flags[0]) refute(claim, all.name, "it is another tensor");
  const Tensor& first = p_.tensor(all.flags[0]);
  std::vector<Sym> shape, own;
  for (const GridAxis& g : p_.grid())
    shape.push_back(ceil_div(g.extent, Sym(g.tile))), own.push_back(g.symbol);
  shape.push_back(Sym(all.count)), own.push_back(all.rank);
  if (static_cast<int>(all.flags.size()) != all.count)
    refute(claim, std::to_string(all.flags.size()), "there are " + std::to_string(all.count) + " devices");
  for (std::size_t d = 0; d < all.flags.size(); ++d) {
    const Tensor& t = p_.tensor(all.flags[d]);
    if (t.device != static_cast<int>(d) || t.element != Element::i32 || !(t.shape == shape) ||
        !(t.at(own) == first.at(own)))
      refute(claim, t.name, "it is not laid out as that of device 0, or in the memory of another device");
  }
  if (!(i.access.origin == own))
    refute(claim, to_string(i.access.origin.back()), "it is not the place of this workgroup and device");
  std::vector<Sym> at = own, next = own;
  at.back() = Sym(0), next.back() = Sym(1);
  if (!(first.at(next) - first.at(at) == Sym(1)) ||
      !(first.at(own) - first.at(at) == all.rank)) // what is waited for is found by adding the other's number
    refute(claim, to_string(first.place), "the devices' flags of a workgroup do not lie side by side");
  if (i.access.elements.size() != 1 ||
      std::any_of(i.access.elements[0].begin(), i.access.elements[0].end(), [](int e) { return e != 0; }))
    refute(claim, first.name, "it is not one element");
  for (const Mode& m : i.access.threads.modes())
    if (m.extent != Int(1) && m.stride.scale != Int(0))
      refute(claim, to_string(i.access.threads), "work-items have several");
  prove(claim, to_string(all.rank), "enumeration");
  callers(
      "the flags " + all.name + " of all devices hold the same before the launch",
      "0 before the first launch; each launch leaves on all of them what it found, and as often as it meets");
  s.meeting = Status::done;
  s.knows_peers = false;
  s.read_of_peers = -1;
}

void Interpreter::acquire_devices(State& s) {
  const std::string claim = "every wave knows that the devices have met";
  if (s.meeting != Status::published)
    refute(claim, p_.together().name,
           s.meeting ? "no barrier stands between the wait of the work-items and this" : "they have not");
  s.knows_peers = true;
  prove(claim, p_.together().name, "provenance");
}

void Interpreter::load_of_peer(State& s, const Tensor& t) {
  if (t.output) refute("flags are read by meetings alone", t.name, "it is loaded");
  const std::string claim = "what is read of " + t.name + " is there: its device's launch has begun";
  if (!s.knows_peers) refute(claim, t.name, "no meeting of the devices stands before it (k.meet)");
  prove(claim, t.name, "provenance");
  s.read_of_peers = t.id;
  s.peer_load = at_;
  s.released.reset();
}

void Interpreter::leave_peers(const State& s) {
  const Devices& all = p_.together();
  if (all.count == 0) return;
  if (s.read_of_peers >= 0) {
    at_ = s.peer_load; // whose line is the one that lacks a meeting
    refute("no device's launch ends while another one reads of its memory", p_.tensor(s.read_of_peers).name,
           "no meeting of the devices stands after it (k.meet)");
  }
  if (s.meeting && !s.knows_peers)
    refute("every wave knows that the devices have met", all.name, "no wave acquires what the last one says");
  if (s.meeting)
    prove("no device's launch ends while another one reads of its memory", all.name, "provenance");
}

} // namespace inlay::codegen::provenance
