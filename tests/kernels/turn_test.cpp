// Turns: a workgroup waits for those before it, and reads what they stored: on the emulator, against the specification; and what
// refuses a program or code that is wrong.
#include "../mutate/tokens.h"
#include "running_sums.h"
#include "specified.h"

#include <inlay/codegen/tile_order.h>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/isa/program.h>

#include <cstring>
#include <sstream>

namespace turn_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace specified;
using Catch::Matchers::Contains;
using running_sums::carried;

namespace {

// y(p, i) = sum over q <= p of parts(q, i), parts(p, i) = 2 x(p, i): row p by workgroup p.
struct Running {
  bool turn = true, signal = true;
  bool before = true;      ///< parts are stored before the signal, not after it
  int more = 1;            ///< so many rows after the workgroup's are summed
  int from = 0;            ///< how many tiles after the workgroup's the parts are read
  bool again = false;      ///< it stores its part once more
  bool transposed = false; ///< the turns are along the columns
  bool some = false;       ///< the first workgroup stores its part after its turn
};
Program running(const Running& c = {}, const char* arch = "gfx942") {
  Program k("running", Target::named(arch), 128);
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1000});
  const Tensor y = k.output("y", Element::f32, {n, m}), parts = k.output("parts", Element::f32, {n, m}),
               x = k.input("x", Element::f32, {n, m});
  k.computes(parts, [&](const auto& at) { return k(x, {at[0], at[1]}) * 2.0; });
  k.computes(y, [&](const auto& at) {
    return k.sum(n, Sym(0), at[0] + Sym(c.more), [&](Sym i) { return k(parts, {i, at[1]}); });
  });
  const Sym column = k.workgroups(0, m, 128), part = k.workgroups(1, n, 1);
  const Layout tv = rows_tv(1, 128, 1, 128);
  const auto put = [&] {
    const Fragment f =
        k.map({k.load(k.tile(x, {1, 128}, {part, column}), tv, 1)}, [](const auto& v) { return v[0] * 2.0; });
    k.store(f, k.tile(parts, {1, 128}, {part, column}), 1);
  };
  if (c.some)
    k.if_less(Sym(0), part, put);
  else if (c.before)
    put();
  if (c.turn) k.await("turn", c.transposed ? column : part);
  if (c.turn && c.signal) k.signal("turn");
  if (!c.before) put();
  if (c.some) k.if_less(part, Sym(1), put);
  const Fragment sum = k.zeros(Element::f32, tv, {1, 128});
  k.loop(min(n, part + Sym(c.more)), 1, {.distance = 1, .ring = 1}, [&](Sym t) {
    const Fragment f = k.load(k.tile(parts, {1, 128}, {t, column + Sym(c.from)}), tv, 1);
    k.update(sum, {k.fold(Monoid::sum, f, 0)}, [](const auto& v) { return v[0] + v[1]; });
  });
  k.store(sum, k.tile(y, {1, 128}, {part, column}), 1);
  if (c.again) put();
  return k;
}

// The first instruction of a kind, in its region's body.
std::pair<std::vector<Inst>*, std::size_t> find(Code& code, InstKind kind) {
  for (CodeRegion& r : code.regions)
    for (std::size_t n = 0; n < r.body.size(); ++n)
      if (r.body[n].kind == kind) return {&r.body, n};
  throw std::runtime_error(to_string(kind));
}

} // namespace

TEST_CASE("turns: each workgroup goes on from what those before stored") {
  const Undecided validation; // it knows no turns yet
  CHECK(refuted(running()) == "");
  CHECK(refuted(carried()) == "");
  const specified::Built runs(running()), carries(carried());
  for (const std::int64_t m : {1, 128, 300})
    for (const std::int64_t n : {1, 2, 5, 17}) {
      INFO(m << " x " << n);
      runs.check({m, n}, 0, true);
      carries.check({m, 5 * n}, 0, true);
    }
}

TEST_CASE("turns: the write-back of what was stored is waited for") {
  // What is stored has been waited for with the turn: LLVM 22.1 knows of nothing outstanding after buffer_wbl2.
  const Undecided validation;
  for (const char* arch : {"gfx942", "gfx950"}) {
    std::istringstream lines(kernels::build(running({}, arch)).assembly);
    int written_back = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("buffer_wbl2 sc1") == std::string::npos) continue;
      ++written_back;
      while (std::getline(lines, line) && line.find_first_not_of(" \t") != std::string::npos &&
             (line.find(".loc") != std::string::npos || line.find(';') == line.find_first_not_of(" \t")))
        ;
      INFO(arch << ": " << line);
      CHECK(line.find("s_waitcnt vmcnt(0)") != std::string::npos);
    }
    CHECK(written_back == 1);
  }
}

TEST_CASE("turns: whose turn it is is 0 again after a launch") {
  const Undecided validation;
  const kernels::Artifact artifact = kernels::build(carried());
  const auto device = kernels::open_device("emulator", artifact.arch);
  // carry, x, turn
  std::vector<kernels::Bytes> buffers = {kernels::Bytes(4 * 300 * 3), kernels::Bytes(4 * 300 * 20),
                                         kernels::Bytes(4 * 3)};
  for (std::size_t i = 0; i < buffers[1].size(); i += 4) {
    const float one = 1;
    std::memcpy(buffers[1].data() + i, &one, 4);
  }
  for (int run = 0; run < 2; ++run) {
    buffers = kernels::run(*device, artifact, buffers, {300, 20});
    REQUIRE(buffers.size() == 3);
    for (std::size_t part = 0; part < 3; ++part)
      for (std::size_t row = 0; row < 300; ++row) {
        float sum;
        std::memcpy(&sum, buffers[0].data() + 4 * (300 * part + row), 4);
        REQUIRE(sum == static_cast<float>(part == 2 ? 20 : 8 * (part + 1)));
      }
    CHECK(buffers[2] == kernels::Bytes(12));
    buffers[0].assign(buffers[0].size(), std::byte(0x7f));
  }
}

TEST_CASE("turns: a wrong program is refused") {
  const std::string launch = "what is read is what was there before the launch",
                    released = "what is read of parts was released by whoever stores it";
  CHECK_THAT(refuted(running({.turn = false})), Contains(launch));
  CHECK_THAT(refuted(running({.signal = false})), Contains("others wait for ever"));
  CHECK_THAT(refuted(running({.before = false})), Contains(launch));
  CHECK_THAT(refuted(running({.more = 2})), Contains(released) && Contains("those before store to wg_y+1"));
  CHECK_THAT(refuted(running({.from = 1})), Contains(released) && Contains("axis 1"));
  CHECK_THAT(refuted(running({.again = true})), Contains("what was released is not stored again"));
  CHECK_THAT(refuted(running({.transposed = true})), Contains(released));
  CHECK_THAT(refuted(running({.some = true})), Contains(launch));

  // The operations are: load, fold, await, if, signal.
  const auto changed = [&](const std::function<void(std::vector<Op>&)>& change) {
    Program p = carried();
    change(p.mutable_body());
    INFO(p.text());
    return refuted(p);
  };
  const auto branch = [](std::vector<Op>& ops) -> IfOp& { return std::get<IfOp>(ops.at(3).what); };
  const auto before = [&](std::vector<Op>& ops) -> Sym& {
    return std::get<CopyOp>(branch(ops).then.at(0).what).from->origin.at(0);
  };
  CHECK(changed([](auto&) {}) == "");
  CHECK_THAT(changed([](auto& ops) { ops.erase(ops.begin() + 4), ops.erase(ops.begin() + 2); }),
             Contains(launch));
  CHECK_THAT(changed([](auto& ops) { ops.pop_back(); }), Contains("others wait for ever"));
  CHECK_THAT(changed([](auto& ops) { ops.erase(ops.begin() + 2); }), Contains(launch));
  CHECK_THAT(changed([](auto& ops) { std::swap(ops[2], ops[3]); }), Contains(launch)); // read before the turn
  CHECK_THAT(changed([](auto& ops) { std::swap(ops[3], ops[4]); }), Contains(launch)); // stored after it
  CHECK_THAT(changed([](auto& ops) { std::swap(ops[2], ops[4]); }), Contains("its own"));
  CHECK_THAT(changed([](auto& ops) { ops.push_back(ops[4]); }), Contains("its own") || Contains("once"));
  CHECK_THAT(changed([&](auto& ops) { before(ops) += Sym(1); }), Contains("every element is summed once"));
  CHECK_THAT(changed([&](auto& ops) { before(ops) -= Sym(1); }), Contains("tiles of carry begin inside it"));
  CHECK_THAT(changed([&](auto& ops) { before(ops) -= Sym(1), branch(ops).condition.a = Sym(1); }),
             Contains("carry is what the specification says"));
  CHECK_THAT(changed([&](auto& ops) { branch(ops).condition.a = Sym(1); }),
             Contains("carry is what the specification says"));
  CHECK_THAT(changed([&](auto& ops) {
               auto& from = std::get<MapOp>(branch(ops).then.at(1).what).from;
               from[0] = from[1];
             }),
             Contains("every element is summed once"));
  // The first workgroup stores its row after its turn, and reads nothing: the next one finds nothing.
  CHECK_THAT(changed([&](auto& ops) {
               IfOp first = branch(ops);
               first.then = std::move(branch(ops).otherwise);
               first.otherwise.clear();
               branch(ops).otherwise.clear();
               first.condition = {branch(ops).condition.b, Sym(1)};
               ops.push_back({first, ops[3].where});
             }),
             Contains("on one path a workgroup does not store it before"));
}

TEST_CASE("turns: what another specification names is read as itself") {
  // y(p, i) = 2 carry(p - 1, i), of the first workgroup its own: what is loaded is not the sum that it is.
  for (const bool own_too : {true, false}) {
    Program k("doubled", Target::named("gfx942"), 128);
    const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1000});
    const Tensor y = k.output("y", Element::f32, {n, m}), carry = k.output("carry", Element::f32, {n, m}),
                 x = k.input("x", Element::f32, {n, m});
    k.computes(carry, [&](const auto& c) {
      return k.sum(n, c[0], c[0] + Sym(1), [&](Sym j) { return k(x, {j, c[1]}); });
    });
    k.computes(y, [&](const auto& c) { return k(carry, {max(c[0] - Sym(1), Sym(0)), c[1]}) * 2.0; });
    const Sym column = k.workgroups(0, m, 128), part = k.workgroups(1, n, 1);
    const Layout tv = rows_tv(1, 128, 1, 128), row = without_axis(tv, 0);
    const auto tile = [&](const Tensor& t, Sym number) { return k.tile(t, {1, 128}, {number, column}); };
    k.store(k.fold(Monoid::sum, k.load(tile(x, part), tv, 1), 0), tile(carry, part), 1);
    k.await("turn", part), k.signal("turn");
    const auto twice = [&](Sym number) {
      k.store(k.map({k.load(tile(carry, number), row, 1)}, [](const auto& v) { return v[0] * 2.0; }),
              tile(y, part), 1);
    };
    k.if_less(
        Sym(0), part, [&] { twice(own_too ? part - Sym(1) : part); }, [&] { twice(part); });
    if (own_too)
      CHECK(refuted(k) == "");
    else
      CHECK_THAT(refuted(k), Contains("y is what the specification says"));
  }
}

TEST_CASE("turns: what is read in one turn is not what another one orders") {
  CHECK_THAT(refuted(running_sums::carried("gfx942", true)),
             Contains("was released by whoever stores it")); // with care: it is right
}

TEST_CASE("turns: refused where they cannot be") {
  const auto refused = [](const std::function<void(Program&, Sym, Sym)>& f) {
    Program k("refused", Target::named("gfx942"), 64);
    const Sym n = k.size("n", {.most = 1000}), w = k.workgroups(0, n, 64);
    try {
      f(k, n, w);
    } catch (const CodegenError& e) {
      return std::string(e.what());
    }
    return std::string("no");
  };
  CHECK(refused([](Program& k, Sym, Sym w) { k.await("t", w), k.signal("t"); }) == "no");
  CHECK_THAT(refused([](Program& k, Sym n, Sym) { k.await("t", n); }), Contains("no grid axis counts n"));
  CHECK_THAT(refused([](Program& k, Sym, Sym w) { k.await("t", w), k.await("t", w); }),
             Contains("it has waited"));
  CHECK_THAT(refused([](Program& k, Sym, Sym) { k.signal("t"); }),
             Contains("it is not this workgroup's turn"));
  CHECK_THAT(refused([](Program& k, Sym, Sym w) { k.await("t", w), k.signal("t"), k.signal("t"); }),
             Contains("a workgroup signals once"));
  CHECK_THAT(refused([](Program& k, Sym n, Sym w) {
               k.await("t", w);
               (void)k.workgroups(1, n, 1);
             }),
             Contains("the whole grid first"));
  CHECK_THAT(refused([](Program& k, Sym n, Sym w) { k.if_less(w, n, [&] { k.await("t", w); }); }),
             Contains("every workgroup waits once"));
  CHECK_THAT(refused([](Program& k, Sym n, Sym w) {
               k.await("t", w);
               k.loop(n, 64, {}, [&](Sym) { k.signal("t"); });
             }),
             Contains("every workgroup signals once"));
  // Workgroups that begin in another order than that of their tiles.
  for (const bool first : {true, false})
    CHECK_THAT(refused([&](Program& k, Sym n, Sym w) {
                 (void)k.workgroups(1, n, 1);
                 if (first) k.order_tiles(parse_tile_order("rows:8"));
                 k.await("t", w);
                 if (!first) k.order_tiles(parse_tile_order("rows:8"));
               }),
               Contains("in another order"));
}

TEST_CASE("turns: code of which one place is changed is refused, and tokens see it too") {
  const std::vector<mutate::Sizes> sizes = {{300, 3}, {130, 20}, {1, 40}};
  const auto wrong = [&](const Code& code) {
    for (const mutate::Sizes& s : sizes)
      for (std::uint64_t seed = 0; seed < 9; ++seed)
        if (std::string what = mutate::run_tokens(code, s, seed); !what.empty()) return what;
    return std::string();
  };
  const auto without = [&](InstKind kind) {
    return [=](Code& code) {
      const auto [list, at] = find(code, kind);
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
    };
  };
  // What stands right before an instruction.
  const auto before = [&](InstKind kind, InstKind gone) {
    return [=](Code& code) {
      const auto [list, at] = find(code, kind);
      REQUIRE((*list)[at - 1].kind == gone);
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(at) - 1);
    };
  };
  const auto element = [&](InstKind kind, const std::function<void(Access&)>& change) {
    return [=](Code& code) {
      const auto [list, at] = find(code, kind);
      change((*list)[at].access);
    };
  };
  const auto moved = [&](InstKind kind, InstKind to) { // before the first of another kind
    return [=](Code& code) {
      const auto [list, at] = find(code, kind);
      const Inst i = (*list)[at];
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
      const auto [other, there] = find(code, to);
      other->insert(other->begin() + static_cast<std::ptrdiff_t>(there), i);
    };
  };
  for (const Program& p : {running(), carried()}) {
    CHECK(wrong(code_of(p)) == "");
    const auto changed = [&](const std::function<void(Code&)>& change, const std::string& claim) {
      Code code = code_of(p);
      change(code);
      INFO(code.text());
      CHECK_THAT(refuted(code), Contains(claim));
      CHECK(wrong(code) != "");
    };
    const std::string of_all = "the turn is passed on when all waves have released what they stored",
                      known = "every wave knows that it is the workgroup's turn",
                      own = "a group of workgroups has a counter of its own";
    changed(without(InstKind::await), known);
    changed(before(InstKind::acquire, InstKind::barrier), known);
    changed(without(InstKind::acquire), p.name() == "carried" ? "what is read is what was there" : "its own");
    changed(without(InstKind::signal), "a workgroup passes its turn on");
    changed(without(InstKind::release), of_all);
    changed(before(InstKind::signal, InstKind::barrier), of_all);
    if (p.name() == "running") // in the other one each path of the branch ends with it
      changed(before(InstKind::release, InstKind::wait), "what a wave stored is there before it is released");
    changed(moved(InstKind::signal, InstKind::await), of_all);
    changed(element(InstKind::await, [](Access& a) { a.idle.reset(); }), "one work-item waits");
    changed(element(InstKind::signal, [](Access& a) { a.idle.reset(); }), "one work-item passes the turn on");
    changed(element(InstKind::await, [](Access& a) { a.origin[0] = Sym(0); }), own);
    changed(element(InstKind::signal, [](Access& a) { a.origin[0] = Sym(0); }), own);
  }
}

TEST_CASE(
    "turns: what orders workgroups in machine code is missed when it is gone: write-back, waits, barriers, "
    "signal and the cleared caches") {
  const Undecided validation;
  for (const char* arch : {"gfx942", "gfx950"}) {
    const kernels::Artifact kernel = kernels::build(carried(arch));
    const auto* begin = reinterpret_cast<const std::uint8_t*>(kernel.hsaco.data());
    const auto object = runtime::CodeObject::parse({begin, begin + kernel.hsaco.size()}, kernel.arch);
    const auto& k = object.kernel(kernel.kernel);
    const auto program =
        runtime::isa::decode(object.code(k), k.address, runtime::isa::parse_arch(kernel.arch));
    const auto first = static_cast<std::size_t>(object.code(k).data() - object.bytes().data());
    const std::vector<kernels::Bytes> buffers = {kernels::Bytes(4 * 300 * 3), kernels::Bytes(4 * 300 * 20),
                                                 kernels::Bytes(4 * 3)};
    runtime::EmulatorOptions strict;
    strict.checks = runtime::Checks::all();
    strict.max_wave_instructions = 20'000'000; // another thread may have to come first
    const auto run = [&](const kernels::Artifact& artifact) {
      const auto device = kernels::open_device("emulator", arch);
      dynamic_cast<runtime::EmulatorDevice&>(*device).options() = strict;
      return kernels::run(*device, artifact, buffers, {300, 20});
    };
    CHECK_NOTHROW(run(kernel));
    std::map<std::string, int> gone;
    bool within = false;
    for (const auto& i : program.instructions) {
      within = within || i.mnemonic == "s_sleep";
      const bool orders = i.mnemonic == "s_waitcnt" || i.mnemonic == "s_barrier" ||
                          i.mnemonic == "buffer_wbl2" || i.mnemonic == "buffer_inv" ||
                          i.mnemonic == "global_store_dword";
      if (!within || !orders) continue;
      kernels::Artifact mutant = kernel;
      const std::uint32_t nop = 0xbf800000;
      for (std::size_t at = 0; at < i.size; at += 4)
        std::memcpy(mutant.hsaco.data() + first + (i.address - k.address) + at, &nop, 4);
      INFO(arch << ": without " << i.text << " at " << i.address - k.address);
      CHECK_THROWS(run(mutant));
      ++gone[std::string(i.mnemonic)];
    }
    CHECK(gone["buffer_wbl2"] == 1);
    CHECK(gone["buffer_inv"] == 1);
    CHECK(gone["s_barrier"] == 2);
    CHECK(gone["global_store_dword"] == 1);
    CHECK(gone["s_waitcnt"] >= 4);
  }
}

TEST_CASE("turns: a load of others' row that passes its end is refused") {
  const Program p = carried();
  Code code = code_of(p);
  std::size_t loads = 0;
  for (CodeRegion& r : code.regions)
    for (Inst& i : r.body)
      if (i.kind == InstKind::load && p.tensor(i.access.tensor).name == "carry")
        i.access.masked[1] = false, ++loads;
  REQUIRE(loads == 1);
  CHECK_THAT(refuted(code), Contains("loads of carry stay inside its memory") && Contains("a row after it"));
}

TEST_CASE("tickets and turns: parts that workgroups add along another axis are not all there") {
  for (const bool by_ticket : {true, false}) {
    Program k("added", Target::named("gfx942"), 128);
    const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1000}),
              p = k.size("p", {.most = 1000});
    const Tensor y = k.output("y", Element::f32, {p, by_ticket ? Sym(1) : n, m}),
                 acc = k.output("acc", Element::f32, {n, m}), x = k.input("x", Element::f32, {p, n, m});
    k.computes(acc, [&](const auto& c) { return k.sum(p, [&](Sym j) { return k(x, {j, c[0], c[1]}); }); });
    k.computes(y, [&](const auto& c) {
      return by_ticket ? k.sum(n,
                               [&](Sym q) {
                                 return k(acc, {q, c[2]});
                               })
                       : k.sum(n, Sym(0), c[1] + Sym(1), [&](Sym q) {
                           return k(acc, {q, c[2]});
                         });
    });
    const Sym column = k.workgroups(0, m, 128), part = k.workgroups(1, n, 1), slice = k.workgroups(2, p, 1);
    const Layout tv = rows_tv(1, 128, 1, 128), row = without_axis(tv, 0);
    const Fragment own =
        k.fold(Monoid::sum, k.load(k.tile(x, {1, 1, 128}, {slice, part, column}).keep({0, 2}), tv, 1), 0);
    k.add(own, k.tile(acc, {1, 128}, {part, column}));
    const auto finish = [&](Sym until, Sym at) {
      const Fragment sum = k.zeros(Element::f32, row, {1, 128});
      k.loop(until, 1, {.distance = 1, .ring = 1}, [&](Sym t) {
        k.update(sum, {k.fold(Monoid::sum, k.load(k.tile(acc, {1, 128}, {t, column}), row, 1), 0)},
                 [](const auto& v) { return v[0] + v[1]; });
      });
      k.store(sum, k.tile(y, {1, 1, 128}, {slice, at, column}).keep({1, 2}), 1);
    };
    if (by_ticket) {
      const Sym number = k.ticket("arrived", part);
      k.if_less(n - Sym(2), number, [&] { finish(n, Sym(0)); });
    } else {
      k.await("turn", part), k.signal("turn");
      finish(min(n, part + Sym(1)), part);
    }
    CHECK_THAT(refuted(k),
               Contains("what is read of acc was released by whoever stores it") && Contains("add to it"));
  }
}

} // namespace turn_test
