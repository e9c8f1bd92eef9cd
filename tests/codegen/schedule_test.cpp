// Orders of loops: edges against their definition, the modulo scheduler's promises, rings without collisions, and the order in
// the machine code, instruction for instruction.
#include <inlay/codegen/emit_ir.h>
#include <inlay/codegen/provenance.h>
#include <inlay/codegen/schedule.h>
#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/block_scale/spec.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/moe/spec.h>
#include <inlay/kernels/weight_only/spec.h>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/solver/prover.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

namespace schedule_test {

using namespace inlay;
using namespace inlay::codegen;

namespace {

struct Case {
  const char* name;
  kernels::GemmSpec spec;
  LoopForm form;
};
kernels::GemmSpec spec_of(const char* arch, int m, int n, int k, int mfma = 16, bool preshuffled = false,
                          bool transfer = false) {
  kernels::GemmSpec s;
  s.arch = arch;
  s.tile_m = m, s.tile_n = n, s.tile_k = k, s.mfma = mfma;
  s.preshuffled_b = preshuffled;
  s.transfer = transfer;
  if (preshuffled) s.waves_m = 1, s.waves_n = 4;
  return s;
}
kernels::GemmSpec of_fp8(kernels::GemmSpec s) {
  s.in = Element::e4m3fn, s.out = Element::bf16;
  return s;
}
kernels::GemmSpec of_fp4(kernels::GemmSpec s) {
  s.in = Element::e2m1, s.out = Element::bf16;
  return s;
}
std::vector<Case> cases() {
  return {{"64x64x32", spec_of("gfx942", 64, 64, 32), LoopForm::automatic},
          {"64x64x64 asm", spec_of("gfx950", 64, 64, 64), LoopForm::block},
          {"128x128x64", spec_of("gfx942", 128, 128, 64), LoopForm::ir},
          {"128x128x64", spec_of("gfx950", 128, 128, 64), LoopForm::automatic},
          {"64x64x256 transfers", spec_of("gfx950", 64, 64, 256, 16, false, true), LoopForm::automatic},
          {"128x128x64 by 32", spec_of("gfx950", 128, 128, 64, 32), LoopForm::block},
          {"preshuffled", spec_of("gfx950", 128, 128, 64, 16, true), LoopForm::ir},
          {"preshuffled asm", spec_of("gfx942", 128, 128, 64, 16, true), LoopForm::block},
          {"256x256x32", spec_of("gfx942", 256, 256, 32), LoopForm::automatic},
          {"256x256x64", spec_of("gfx950", 256, 256, 64), LoopForm::automatic},
          {"64x64x64 transfers", spec_of("gfx950", 64, 64, 64, 16, false, true), LoopForm::automatic},
          {"preshuffled, transfers", spec_of("gfx950", 128, 128, 64, 16, true, true), LoopForm::automatic},
          {"256x256x32 transfers", spec_of("gfx950", 256, 256, 32, 16, false, true), LoopForm::automatic},
          {"256x256x64 transfers", spec_of("gfx950", 256, 256, 64, 16, false, true), LoopForm::automatic},
          {"64x64x64 transfers", spec_of("gfx942", 64, 64, 64, 16, false, true), LoopForm::automatic},
          {"64x64x32 transfers", spec_of("gfx942", 64, 64, 32, 16, false, true), LoopForm::block},
          {"64x64x128 transfers", spec_of("gfx942", 64, 64, 128, 16, false, true), LoopForm::automatic},
          {"preshuffled, transfers", spec_of("gfx942", 64, 128, 64, 16, true, true), LoopForm::automatic},
          {"256x128x32 transfers", spec_of("gfx942", 256, 128, 32, 16, false, true), LoopForm::automatic},
          {"256x256x32 transfers", spec_of("gfx942", 256, 256, 32, 16, false, true), LoopForm::automatic},
          {"64x64x128 fp8", of_fp8(spec_of("gfx950", 64, 64, 128)), LoopForm::block},
          {"128x128x128 fp8", of_fp8(spec_of("gfx950", 128, 128, 128)), LoopForm::ir},
          {"256x256x128 fp8", of_fp8(spec_of("gfx950", 256, 256, 128)), LoopForm::automatic},
          {"64x64x256 fp4", of_fp4(spec_of("gfx950", 64, 64, 256)), LoopForm::automatic},
          {"128x128x256 fp4 preshuffled", of_fp4(spec_of("gfx950", 128, 128, 256, 16, true)),
           LoopForm::automatic},
          {"256x256x256 fp4 transfers", of_fp4(spec_of("gfx950", 256, 256, 256, 16, false, true)),
           LoopForm::automatic},
          {"256x256x128 fp8 transfers", of_fp8(spec_of("gfx950", 256, 256, 128, 16, false, true)),
           LoopForm::automatic}};
}

// Pipelines that the specification fixes; operands past LDS; operands in AGPRs.
std::vector<Case> deep_cases() {
  const auto with = [](kernels::GemmSpec s, const char* depth) {
    s.depth = parse_depth(depth);
    return s;
  };
  const auto past = [](kernels::GemmSpec s, kernels::GemmSpec::Direct operand, int waves_m) {
    s.direct = operand;
    s.waves_m = waves_m, s.waves_n = 4 / waves_m;
    return s;
  };
  using Direct = kernels::GemmSpec::Direct;
  return {
      {"quarters of one step", with(spec_of("gfx942", 64, 64, 32), "lead 3, trips 2"), LoopForm::block},
      {"half of a trip", with(spec_of("gfx942", 64, 64, 64, 16, true, true), "within 50"), LoopForm::block},
      {"loads in half of their window",
       with(spec_of("gfx942", 64, 128, 128, 16, true, true), "within 80, trips 2, loads 50"),
       LoopForm::block},
      {"more than a trip ahead", with(spec_of("gfx950", 128, 128, 64, 16, true), "lead 3, waves 1"),
       LoopForm::block},
      {"A past LDS", past(spec_of("gfx942", 64, 64, 64), Direct::a, 4), LoopForm::block},
      {"B past LDS", past(spec_of("gfx950", 64, 64, 64), Direct::b, 1), LoopForm::block},
      {"operands in AGPRs", with(past(spec_of("gfx942", 256, 256, 32), Direct::a, 4), "lead 4, trips 2"),
       LoopForm::block},
      {"more operands than VGPRs",
       with(spec_of("gfx942", 128, 128, 128, 16, true), "lead 4, waves 1, trips 2"), LoopForm::block}};
}

// Two halves of eight waves, a phase apart.
std::vector<Case> pingpong_cases() {
  const auto of = [](kernels::GemmSpec s) {
    s.waves_m = 2, s.waves_n = 4;
    s.pingpong = true;
    return s;
  };
  return {
      {"ping-pong 256x256x64", of(spec_of("gfx950", 256, 256, 64, 16, false, true)), LoopForm::automatic},
      {"ping-pong 256x256x128 fp8", of(of_fp8(spec_of("gfx950", 256, 256, 128, 16, false, true))),
       LoopForm::automatic},
      {"ping-pong 128x256x64", of(spec_of("gfx950", 128, 256, 64, 16, false, true)), LoopForm::automatic},
      {"ping-pong 256x256x32", of(spec_of("gfx942", 256, 256, 32, 16, false, true)), LoopForm::automatic}};
}

const Region& loop_of(const Graph& g) {
  return *std::find_if(g.regions.begin(), g.regions.end(), [](const Region& r) { return r.is_loop; });
}
const CodeRegion& loop_of(const Code& c) {
  return *std::find_if(c.regions.begin(), c.regions.end(), [](const CodeRegion& r) { return r.is_loop; });
}
bool is_memory(InstKind k) {
  return k == InstKind::load || k == InstKind::store || k == InstKind::lds_read || k == InstKind::lds_write;
}

// The definition: all trips one after the other; where instruction n of iteration i stands.
std::map<std::pair<int, int>, int> unrolled(const LoopSchedule& s, int trips) {
  std::map<std::pair<int, int>, int> at;
  int time = 0;
  for (int j = 0; j < trips; ++j)
    for (const Slot& slot : s.slots) at[{slot.node, j + slot.ahead}] = time++;
  return at;
}
bool holds(const Edge& e, const LoopSchedule& s) {
  const int trips = 12;
  const auto at = unrolled(s, trips);
  for (int i = 0; i < trips; ++i) {
    const auto from = at.find({e.from, i}), to = at.find({e.to, i + e.distance});
    if (from != at.end() && to != at.end() && from->second >= to->second) return false;
  }
  return true;
}

} // namespace

TEST_CASE("edges: a load, its write, the read and two products") {
  Region loop;
  loop.is_loop = true;
  loop.pipeline.ring = 2;
  std::vector<Register> registers = {
      {Element::f16, 8, false}, {Element::f16, 8, false}, {Element::f32, 4, true}};
  const auto add = [&](InstKind kind, int def, std::vector<int> uses) {
    Inst i;
    i.kind = kind;
    if (def >= 0) i.def = {def, 0, 0, registers[static_cast<std::size_t>(def)].count};
    for (const int u : uses) i.uses.push_back({u, 0, 0, 8});
    if (kind == InstKind::lds_read || kind == InstKind::lds_write) i.access.tensor = 0;
    loop.body.push_back(i);
  };
  add(InstKind::load, 0, {});
  add(InstKind::lds_write, -1, {0});
  add(InstKind::lds_read, 1, {});
  add(InstKind::mma, 2, {1, 1});
  add(InstKind::mma, 2, {1, 1});
  const std::vector<Edge> edges = edges_of(loop, registers);
  const std::vector<Edge> expected = {{0, 1, 0, EdgeKind::value},       {2, 3, 0, EdgeKind::value},
                                      {2, 4, 0, EdgeKind::value},       {3, 4, 0, EdgeKind::accumulated},
                                      {4, 3, 1, EdgeKind::accumulated}, {1, 2, 0, EdgeKind::arrived},
                                      {2, 1, 2, EdgeKind::free}};
  CHECK(edges.size() == expected.size());
  for (const Edge& e : expected) {
    INFO(e.from << " -> " << e.to << " " << to_string(e.kind) << " " << e.distance);
    CHECK(std::count(edges.begin(), edges.end(), e) == 1);
  }
}

TEST_CASE("edges: violated is what the unrolled loop says, for orders drawn at random") {
  const Program p = kernels::gemm_program(spec_of("gfx942", 64, 64, 32));
  const Graph graph = expand(p);
  const Region& loop = loop_of(graph);
  const std::vector<Edge> edges = edges_of(loop, graph.registers);
  std::mt19937 random(12);
  int refused = 0;
  for (int n = 0; n < 40; ++n) {
    LoopSchedule s = modulo_schedule(graph).loops[0];
    for (int change = static_cast<int>(random() % 3); change >= 0; --change) {
      if (random() % 2) {
        std::swap(s.slots[random() % s.slots.size()], s.slots[random() % s.slots.size()]);
      } else {
        s.slots[random() % s.slots.size()].ahead = static_cast<int>(random() % 4);
      }
    }
    const bool all = std::all_of(edges.begin(), edges.end(), [&](const Edge& e) { return holds(e, s); });
    CHECK(violated(edges, s).has_value() == !all);
    refused += all ? 0 : 1;
  }
  CHECK(refused > 0);
  CHECK(refused < 40);
}

TEST_CASE("modulo: edges, gaps, waits, barriers, and the same order every time") {
  for (const Case& c : cases()) {
    INFO(c.spec.arch << " " << c.name);
    const Program p = kernels::gemm_program(c.spec);
    const Graph graph = expand(p);
    const Schedule schedule = modulo_schedule(graph);
    const LoopSchedule& order = schedule.loops[0];
    REQUIRE(order.exact);
    for (const Edge& e : edges_of(loop_of(graph), graph.registers, order.parts)) {
      INFO(e.from << " -> " << e.to << " " << to_string(e.kind));
      CHECK(holds(e, order));
    }
    const Code code = apply(graph, schedule);
    std::vector<Inst> body = loop_of(code).body;
    std::erase_if(body,
                  [](const Inst& i) { return i.direct && i.kind == InstKind::load; }); // half an instruction
    std::size_t memory = 0, products = 0, waits = 0, barriers = 0, side_by_side = 0;
    int steps = 0, least = 1000, loads = 0, transfers = 0;
    bool before = is_memory(body.back().kind);
    for (const Inst& i : body) {
      memory += is_memory(i.kind), products += i.kind == InstKind::mma;
      waits += i.kind == InstKind::wait, barriers += i.kind == InstKind::barrier;
      loads += i.kind == InstKind::load || i.direct, transfers += i.direct;
      if (i.kind == InstKind::mma) steps = std::max(steps, i.step + 1);
      if (i.kind == InstKind::wait && i.vm >= 0) least = std::min(least, i.vm);
      if (is_memory(i.kind)) {
        side_by_side += before;
        before = true;
      } else if (i.kind == InstKind::mma) {
        before = false;
      }
    }
    const bool in_turn = !order.parts.empty();
    CHECK(barriers == (in_turn ? 3 : order.apart ? 2 : 1));
    // Two tiles by transfers in two stages: each has a half of the trip, and what comes from memory a whole one; or operands are
    // read in turn.
    if (c.spec.transfer && c.spec.in == Element::f16 && loop_of(code).ring == 2)
      CHECK((order.apart || in_turn));
    if (order.apart || in_turn) CHECK(least >= transfers);
    // Windows are steps, or quarters of one where the registers of whole ones do not fit: their first one has most reads.
    const bool quarters = c.spec.tile_m == 256 && c.spec.in == Element::e4m3fn;
    if (memory <= products && !quarters) CHECK(side_by_side == 0);
    CHECK(waits <= static_cast<std::size_t>(std::max(steps, in_turn || quarters ? 4 : 2)));
    if (!c.spec.transfer || loop_of(code).ring > 2 || order.apart || in_turn)
      CHECK(2 * least >=
            loads - (c.spec.preshuffled_b ? loads : 1)); // at least about half of what is under way stays so
    const Graph again = expand(p);
    CHECK(apply(again, modulo_schedule(again)).text() == code.text());
    // Refused where one instruction is turned around, by somebody who does not know edges.
    if (c.spec.tile_m == 64) {
      solver::SolverProver prover;
      CHECK(derive(code, prover).ok());
      Schedule wrong = schedule;
      bool first = true; // written when others read it already
      for (Slot& s : wrong.loops[0].slots) {
        const Inst& i = loop_of(graph).body[static_cast<std::size_t>(s.node)];
        if ((i.kind != InstKind::lds_write && !i.direct) || !first) continue;
        s.ahead -= c.spec.transfer ? 3 : 1;
        first = i.kind != InstKind::lds_write;
      }
      CHECK(violated(edges_of(loop_of(graph), graph.registers), wrong.loops[0]).has_value());
      CHECK_FALSE(derive(apply(graph, wrong), prover).ok());
    }
  }
}

namespace {

// Loops with arithmetic, or with two products that share an operand.
std::vector<std::pair<std::string, Program>> with_arithmetic() {
  std::vector<std::pair<std::string, Program>> out;
  for (const char* arch : {"gfx942", "gfx950"}) {
    kernels::BlockScaleSpec b;
    b.arch = arch;
    out.emplace_back(std::string("block_scale_gemm ") + arch, kernels::block_scale_gemm_program(b));
    kernels::AttentionSpec a;
    a.arch = arch;
    a.head_dim = 64;
    out.emplace_back(std::string("flash_attention ") + arch, kernels::flash_attention_program(a));
    kernels::MoeSpec m;
    m.arch = arch;
    out.emplace_back(std::string("moe_stage1 ") + arch, kernels::moe_stage1_program(m));
    kernels::WeightOnlySpec w;
    w.arch = arch;
    w.tile_m = w.tile_n = 128;
    out.emplace_back(std::string("weight_only_gemm ") + arch, kernels::weight_only_gemm_program(w));
  }
  return out;
}

} // namespace

TEST_CASE(
    "loops with arithmetic: edges, one barrier, products at even distances, nothing changed past the end") {
  for (const auto& [name, p] : with_arithmetic()) {
    INFO(name);
    const Graph graph = expand(p);
    const Region& loop = loop_of(graph);
    const Schedule schedule = modulo_schedule(graph);
    const LoopSchedule& order = schedule.loops[0];
    REQUIRE(order.exact);
    CHECK(order.slots.size() == loop.body.size());
    for (const Edge& e : edges_of(loop, graph.registers)) {
      INFO(e.from << " -> " << e.to << " " << to_string(e.kind));
      CHECK(holds(e, order));
    }
    for (const Slot& s : order.slots)
      if (const Reg& def = loop.body[static_cast<std::size_t>(s.node)].def;
          def.id >= 0 && graph.registers[static_cast<std::size_t>(def.id)].outside)
        CHECK(s.ahead <= 1); // a trip ahead is the last one's; two would be an iteration that does not exist
    const Code code = apply(graph, schedule);
    const std::vector<Inst>& body = loop_of(code).body;
    CHECK(std::count_if(body.begin(), body.end(),
                        [](const Inst& i) { return i.kind == InstKind::barrier; }) == 1);
    CHECK(apply(graph, modulo_schedule(graph)).text() == code.text());
    solver::SolverProver prover;
    CHECK(derive(code, prover).ok());
    // What others read already, written again; a result that is used before it is there.
    Schedule overwritten = schedule, early = schedule;
    for (Slot& s : overwritten.loops[0].slots)
      if (loop.body[static_cast<std::size_t>(s.node)].kind == InstKind::lds_write) {
        s.ahead = 0;
        break;
      }
    CHECK(violated(edges_of(loop, graph.registers), overwritten.loops[0]).has_value());
    Schedule less = schedule; // an instruction that others wait for is left out
    std::erase_if(less.loops[0].slots, [&](const Slot& s) {
      return loop.body[static_cast<std::size_t>(s.node)].kind == InstKind::lds_write;
    });
    CHECK(violated(edges_of(loop, graph.registers), less.loops[0]).has_value());
    CHECK_FALSE(derive(apply(graph, overwritten), prover).ok());
    for (Slot& s : early.loops[0].slots)
      if (loop.body[static_cast<std::size_t>(s.node)].kind == InstKind::map)
        s.ahead += 3; // further than loads are
    if (std::any_of(loop.body.begin(), loop.body.end(),
                    [](const Inst& i) { return i.kind == InstKind::map; })) {
      CHECK(violated(edges_of(loop, graph.registers), early.loops[0]).has_value());
      bool refused = false;
      try {
        refused = !derive(apply(graph, early), prover).ok();
      } catch (const std::exception&) { // a register that nothing has written
        refused = true;
      }
      CHECK(refused);
    }
  }
}

TEST_CASE(
    "maps between memory and LDS: trips ahead of the products, each after its loads and before its write") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Scheduler scheduler : {Scheduler::plain, Scheduler::modulo}) {
      kernels::WeightOnlySpec spec;
      spec.arch = arch;
      spec.tile_m = spec.tile_n = 128;
      const Program p = kernels::weight_only_gemm_program(spec);
      const Graph graph = expand(p);
      const Region& loop = loop_of(graph);
      const LoopSchedule order = schedule_with(scheduler, graph).loops[0];
      int maps = 0;
      const int length = static_cast<int>(order.slots.size());
      std::map<int, int> time; // of a node, for the iteration whose products the trip at 0 has
      for (int slot = 0; slot < length; ++slot)
        time[order.slots[static_cast<std::size_t>(slot)].node] =
            slot - order.slots[static_cast<std::size_t>(slot)].ahead * length;
      for (const Slot& s : order.slots) {
        const Inst& i = loop.body[static_cast<std::size_t>(s.node)];
        if (i.kind == InstKind::mma) CHECK(s.ahead == 0);
        if (i.kind != InstKind::map) continue;
        ++maps;
        CHECK(s.ahead >= 1);
        for (const Slot& l : order.slots)
          for (const Reg& r : i.uses)
            if (const Inst& load = loop.body[static_cast<std::size_t>(l.node)]; load.def.id == r.id)
              CHECK(time[s.node] - time[l.node] > length / 3); // for memory
      }
      CHECK(maps == 4);
      CHECK_FALSE(violated(edges_of(loop, graph.registers), order));
      solver::SolverProver prover;
      CHECK(derive(apply(graph, schedule_with(scheduler, graph)), prover).ok());
      // A scale that is another trip's.
      Schedule wrong = schedule_with(scheduler, graph);
      Code code = apply(graph, wrong);
      for (CodeRegion& r : code.regions)
        for (Inst& i : r.body)
          if (r.is_loop && i.kind == InstKind::map) i.uses.back().ahead += 1;
      bool refused = false;
      try {
        refused = !derive(code, prover).ok();
      } catch (const std::exception&) { // a register that nothing has written
        refused = true;
      }
      CHECK(refused);
    }
}

TEST_CASE("products of operands in halves: halves of different k or of different rows are refused") {
  const Program p = kernels::gemm_program(of_fp8(spec_of("gfx950", 64, 64, 128)));
  const Graph graph = expand(p);
  solver::SolverProver prover;
  CHECK(derive(apply(graph, modulo_schedule(graph)), prover).ok());
  int changed = 0;
  for (const auto& [a, b] : {std::pair{2, 3}, std::pair{0, 1}}) {
    Graph other = graph; // both halves are there, each at the other's k
    for (Region& r : other.regions)
      for (Inst& i : r.body)
        if (i.kind == InstKind::mma)
          std::swap(i.uses[static_cast<std::size_t>(a)], i.uses[static_cast<std::size_t>(b)]), ++changed;
    CHECK_FALSE(derive(apply(other, default_schedule(other)), prover).ok());
  }
  Graph rows = graph; // the second half of another row's operand
  for (Region& r : rows.regions) {
    std::vector<Inst*> products;
    for (Inst& i : r.body)
      if (i.kind == InstKind::mma) products.push_back(&i);
    for (std::size_t n = 1; n < products.size(); ++n)
      if (products[n]->uses[3].id != products[0]->uses[3].id) {
        std::swap(products[n]->uses[3], products[0]->uses[3]);
        ++changed;
        break;
      }
  }
  CHECK_FALSE(derive(apply(rows, default_schedule(rows)), prover).ok());
  CHECK(changed > 2);
}

TEST_CASE("rings: no register has two values at once, and none is wasted") {
  for (const Case& c : cases()) {
    INFO(c.spec.arch << " " << c.name);
    const Program p = kernels::gemm_program(c.spec);
    const Graph graph = expand(p);
    const LoopSchedule order = modulo_schedule(graph).loops[0];
    const int slots = static_cast<int>(order.slots.size());
    const std::vector<Lifetime> lives = lifetimes(loop_of(graph), graph.registers, order);
    const Rings rings = ring_registers(lives, slots, loop_of(graph).pipeline.ring);
    // Every iteration of a long run takes its place for its whole life.
    std::map<std::pair<int, int>, std::pair<int, int>> owner; // (dword, time) -> (register, iteration)
    bool collides = false;
    std::map<int, int> alive;
    for (const Lifetime& l : lives)
      for (int i = 0; i < 3 * rings.copies; ++i) {
        const int at = rings.place.at({l.reg, i % rings.copies});
        CHECK(at % std::min(l.dwords, 4) == 0);
        for (int t = l.begin + i * slots; t <= l.end + i * slots; ++t) {
          alive[t] += l.dwords;
          for (int d = at; d < at + l.dwords; ++d) {
            const auto [found, fresh] = owner.try_emplace({d, t}, std::pair(l.reg, i));
            collides = collides || (!fresh && found->second != std::pair(l.reg, i));
          }
        }
      }
    CHECK_FALSE(collides);
    int most = 0;
    for (const auto& [t, n] : alive) most = std::max(most, n);
    CHECK(rings.dwords >= most);
    CHECK(2 * rings.dwords <= 3 * most);
    const std::vector<int> counted = pressure(lives, slots);
    CHECK(*std::max_element(counted.begin(), counted.end()) == most);
  }
}

namespace {

namespace isa = runtime::isa;

// The loops with the most matrix instructions, copies of one: each from the target of a backward branch to it.
std::vector<std::vector<isa::Instruction>> hot_loops(const std::vector<std::byte>& hsaco,
                                                     const std::string& kernel, const std::string& arch) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(hsaco.data());
  const auto object = runtime::CodeObject::parse({begin, begin + hsaco.size()}, arch);
  const auto& k = object.kernel(kernel);
  const isa::Program program = isa::decode(object.code(k), k.address, isa::parse_arch(arch));
  std::vector<std::vector<isa::Instruction>> best;
  std::ptrdiff_t most = 1;
  for (const isa::Instruction& branch : program.instructions) {
    if (!branch.branch_target || *branch.branch_target > branch.address) continue;
    std::vector<isa::Instruction> here;
    for (const isa::Instruction& i : program.instructions)
      if (i.address >= *branch.branch_target && i.address <= branch.address) here.push_back(i);
    const auto mfmas = std::count_if(here.begin(), here.end(), [](const isa::Instruction& i) {
      return i.mnemonic.substr(0, 6) == "v_mfma";
    });
    if (mfmas > most) most = mfmas, best.clear();
    if (mfmas == most) best.push_back(std::move(here));
  }
  return best;
}
std::vector<isa::Instruction> hot_loop(const std::vector<std::byte>& hsaco, const std::string& kernel,
                                       const std::string& arch) {
  return hot_loops(hsaco, kernel, arch).at(0);
}

InstKind kind_of(const isa::Instruction& i) {
  const auto begins = [&](const char* s) { return i.mnemonic.rfind(s, 0) == 0; };
  if (begins("v_mfma")) return InstKind::mma;
  if (begins("buffer_load")) return i.modifiers.lds ? InstKind::lds_write : InstKind::load;
  if (begins("ds_read")) return InstKind::lds_read;
  if (begins("ds_write")) return InstKind::lds_write;
  if (begins("s_waitcnt")) return InstKind::wait;
  if (begins("s_barrier")) return InstKind::barrier;
  if (begins("s_setprio")) return InstKind::priority;
  if (begins("v_pk_fma_f32") || begins("v_fmac_f32") || begins("v_mul_f32")) return InstKind::map;
  return InstKind::fill; // scalar: moves pointers, counts trips
}

struct Found {
  std::string problem;
  int checked = 0;
};

// Without what takes no instruction; scaled sums as many elements at a time as the target adds: product, scale, sum.
std::vector<Inst> by_instruction(const std::vector<Inst>& body, int at_once, std::set<std::size_t>& begins) {
  std::vector<Inst> out;
  std::set<int> empty;
  for (const Inst& i : body) {
    if (i.kind == InstKind::fill) {
      empty.insert(i.def.id);
      continue;
    }
    if (i.kind == InstKind::mma && empty.erase(i.def.id)) begins.insert(out.size());
    if (i.kind != InstKind::map || i.uses.size() == 2) {
      out.push_back(i);
      continue;
    }
    const auto use = [&](int operand, int e) {
      return i.uses[static_cast<std::size_t>(operand * i.def.count + e)];
    };
    int sum = 0, scale = 0, product = 0;
    for (int operand = 0; operand < 3; ++operand)
      (use(operand, 0).id == i.def.id ? sum : use(operand, 0) == use(operand, 1) ? scale : product) = operand;
    for (int e = 0; e < i.def.count; e += at_once) {
      out.push_back(i);
      out.back().uses = {use(product, e), use(scale, e), use(sum, e)};
      out.back().def.first += e;
    }
  }
  return out;
}

// The loop of the machine code against the body of the code, copy by copy: same instructions in the same order, waits with the
// same counts, and each operand in a register that holds the value which the code names there.
Found same_order(const std::vector<isa::Instruction>& machine, const Code& code) {
  std::vector<Inst> body = loop_of(code).body;
  std::erase_if(body,
                [](const Inst& i) { return i.direct && i.kind == InstKind::load; }); // half an instruction
  std::set<std::size_t> begins; // products that begin with a constant
  body = by_instruction(body, code.program->target().packed_beside_products ? 2 : 1, begins);
  std::vector<const isa::Instruction*> order;
  for (const isa::Instruction& i : machine) {
    if (kind_of(i) != InstKind::fill) {
      order.push_back(&i);
    } else if (i.mnemonic[0] != 's' || (i.mnemonic == "s_nop" && loop_of(code).phases == 0)) {
      // (In a phase of accesses two transfers may have nothing but M0 and a slot between them.)
      return {"in the loop: " + i.text};
    }
  }
  if (order.empty() || order.size() % body.size() != 0)
    return {std::to_string(order.size()) + " instructions for " + std::to_string(body.size()) + " a trip"};
  const int copies = static_cast<int>(order.size() / body.size());
  using Value = std::pair<int, int>; // register, iteration
  std::map<std::pair<isa::OperandKind, int>, Value> holds;
  Found out;
  for (int turn = 0; turn < 4; ++turn)
    for (int copy = 0; copy < copies; ++copy)
      for (std::size_t n = 0; n < body.size(); ++n) {
        const isa::Instruction& is = *order[static_cast<std::size_t>(copy) * body.size() + n];
        const Inst& want = body[n];
        const std::string where = "trip copy " + std::to_string(copy) + ", instruction " + std::to_string(n) +
                                  ": " + is.text + " for " + to_string(want.kind);
        if (kind_of(is) != want.kind) return {where};
        if (want.kind == InstKind::wait) {
          const int vm = want.vm < 0 ? 63 : std::min(want.vm, 63),
                    lgkm = want.lgkm < 0 ? 15 : std::min(want.lgkm, 15);
          if (!is.wait || is.wait->vmcnt != vm || is.wait->lgkmcnt != lgkm) return {where};
          continue;
        }
        if (want.kind == InstKind::barrier) continue;
        if (want.kind == InstKind::priority) {
          if (static_cast<double>(is.operands.at(0).value) != want.value) return {where};
          continue;
        }
        const int trip = turn * copies + copy;
        const auto value = [&](const Reg& r) {
          return Value{r.id, code.registers[static_cast<std::size_t>(r.id)].outside ? 0 : trip + r.ahead};
        };
        const auto first_of = [&](const Reg& r) {
          return r.first * bits(code.registers[static_cast<std::size_t>(r.id)].element) / 32;
        };
        // The register that begins `first_of` dwords before the operand.
        const auto check = [&](const isa::Operand& o, const Reg& r) {
          const auto found = holds.find({o.kind, o.index - first_of(r)});
          if (found == holds.end()) return turn < 3;
          ++out.checked;
          return found->second == value(r);
        };
        const auto& o = is.operands;
        switch (want.kind) {
        case InstKind::mma:
          if (is.mnemonic != want.atom->mnemonic()) return {where + " " + want.atom->name};
          for (std::size_t u = 0; want.atom->mma->scaled && u < want.uses.size(); ++u) {
            // Scales after the accumulator: a register, and which byte of it.
            Reg r = want.uses[u];
            if (u >= 2) {
              const int byte = r.first % 4, bit = 1 << (u - 2);
              if (((is.modifiers.op_sel & bit) != 0) != (byte % 2 == 1) ||
                  ((is.modifiers.op_sel_hi & bit) != 0) != (byte / 2 == 1))
                return {where + ": another byte of a scale"};
              r.first -= byte;
            }
            if (!check(o[u < 2 ? 1 + u : 2 + u], r)) return {where + ": another value"};
          }
          for (std::size_t u = 0; !want.atom->mma->scaled && u < want.uses.size();
               ++u) { // operands in one register or in two one after another
            isa::Operand part = o[1 + 2 * u / want.uses.size()];
            if (want.uses.size() == 4)
              part.index =
                  static_cast<std::uint16_t>(part.index + static_cast<int>(u % 2) * want.uses[u].count / 4);
            if (!check(part, want.uses[u])) return {where + ": another value"};
          }
          if (begins.contains(n)) {
            if (is.text.find(", 0") == std::string::npos || o[3].kind == o[0].kind) return {where};
          } else {
            if (!check(o[3], want.def)) return {where + ": another value"};
            if (o[0].index != o[3].index) return {where + ": moves its accumulator"};
          }
          holds[{o[0].kind, o[0].index}] = value(want.def);
          break;
        case InstKind::map:
          for (std::size_t u = 0; u < want.uses.size(); ++u) {
            isa::Operand part = o[(1 + u) % o.size()]; // v_fmac_f32 adds to what it writes
            const int bit = 1 << u;
            if (want.uses.size() == 3 && u == 1) { // the scale for both: either half of a pair
              if (((is.modifiers.op_sel & bit) != 0) != ((is.modifiers.op_sel_hi & bit) != 0)) return {where};
              part.index = static_cast<std::uint16_t>(part.index + ((is.modifiers.op_sel & bit) != 0));
            }
            if (!check(part, want.uses[u])) return {where + ": another value"};
          }
          if (o.size() == 4 && o[0].index != o[3].index) return {where + ": moves its sum"};
          holds[{o[0].kind, o[0].index - first_of(want.def)}] = value(want.def);
          break;
        case InstKind::lds_write:
          if (is.modifiers.lds != want.direct) return {where};
          if (!want.direct && !check(o[1], want.uses[0])) return {where + ": another value"};
          break;
        default: holds[{o[0].kind, o[0].index}] = value(want.def);
        }
      }
  return out;
}

} // namespace

TEST_CASE("the machine code has the order of the code, instruction for instruction, value for value") {
  std::vector<Case> all = cases();
  for (Case& c : deep_cases()) all.push_back(std::move(c));
  for (Case& c : pingpong_cases()) all.push_back(std::move(c));
  bool agprs = false; // that hold operands
  for (const Case& c : all) {
    INFO(c.spec.arch << " " << c.name);
    const Program p = kernels::gemm_program(c.spec);
    const Graph graph = expand(p);
    const Code code = apply(graph, modulo_schedule(graph));
    const Emitted emitted = emit(emit_ir(code, c.form), p.target(), {.level = 3, .keep_order = true});
    const auto machine = hot_loop(emitted.hsaco, p.name(), c.spec.arch);
    const Found found = same_order(machine, code);
    CHECK(found.problem == "");
    CHECK(found.checked > 0);
    for (const isa::Instruction& i : machine)
      agprs = agprs || (kind_of(i) == InstKind::mma &&
                        std::any_of(i.operands.begin() + 1, i.operands.begin() + 3,
                                    [](const isa::Operand& o) { return o.kind == isa::OperandKind::agpr; }));
    // The test can fail: two neighbours exchanged, a wait with another count.
    Code other = apply(graph, modulo_schedule(graph));
    auto& body = const_cast<CodeRegion&>(loop_of(other)).body;
    std::vector<std::size_t> products;
    for (std::size_t n = 0; n < body.size(); ++n)
      if (body[n].kind == InstKind::mma) products.push_back(n);
    std::swap(body[products[0]], body[products[1]]);
    CHECK(same_order(machine, other).problem != "");
    Code looser = apply(graph, modulo_schedule(graph));
    for (Inst& i : const_cast<CodeRegion&>(loop_of(looser)).body)
      if (i.kind == InstKind::wait) i.vm += 1;
    CHECK(same_order(machine, looser).problem != "");
  }
  CHECK(agprs);
}

TEST_CASE("scaled sums: the machine code has their order, and what they add is there and its wait states are "
          "past") {
  for (const auto& [arch, tile] : {std::pair{"gfx942", 128},
                                   {"gfx942", 64},
                                   {"gfx942", 80},
                                   {"gfx942", 32},
                                   {"gfx950", 128},
                                   {"gfx950", 64}}) {
    INFO(arch << " " << tile);
    kernels::BlockScaleSpec spec;
    spec.arch = arch;
    spec.tile_m = tile;
    const Program p = kernels::block_scale_gemm_program(spec);
    const Graph graph = expand(p);
    const Code code = apply(graph, modulo_schedule(graph));
    const std::vector<Inst>& body = loop_of(code).body;
    const auto count = [&](InstKind kind) {
      return std::count_if(body.begin(), body.end(), [&](const Inst& i) { return i.kind == kind; });
    };
    CHECK(count(InstKind::wait) == 1);
    CHECK(count(InstKind::barrier) == 1);
    const auto loads = count(InstKind::load);
    for (const Inst& i : body)
      if (i.kind == InstKind::wait) CHECK(i.vm >= loads); // a whole trip's stay under way
    // Two accesses with no product or sum between them: none.
    int side_by_side = 0, since = 1;
    for (const Inst& i : body) {
      if (i.kind == InstKind::mma || i.kind == InstKind::map) since = 0;
      if (i.kind == InstKind::lds_read || (i.kind == InstKind::load)) side_by_side += since++ > 0;
    }
    CHECK(side_by_side == 0);
    const Emitted emitted =
        emit(emit_ir(code, LoopForm::automatic), p.target(), {.level = 3, .keep_order = true});
    const auto machine = hot_loop(emitted.hsaco, p.name(), arch);
    const Found found = same_order(machine, code);
    CHECK(found.problem == "");
    CHECK(found.checked > 0);
    // Wait states from a matrix result to its sum, around the loop: passes and 3, one more on gfx950.
    const auto product =
        std::find_if(body.begin(), body.end(), [](const Inst& i) { return i.kind == InstKind::mma; });
    const int needed = product->atom->mma->clocks() / 4 + 3 + (std::string(arch) == "gfx950");
    std::map<int, int> written; // register -> when
    bool soon = false;
    int sums_seen = 0;
    for (int turn = 0, clock = 0; turn < 2; ++turn)
      for (const isa::Instruction& i : machine) {
        ++clock;
        if (kind_of(i) == InstKind::mma)
          for (int d = 0; d < 4; ++d) written[i.operands[0].index + d] = clock;
        const bool packed = i.mnemonic.starts_with("v_pk_fma_f32");
        if (!packed && !i.mnemonic.starts_with("v_fmac_f32")) continue;
        ++sums_seen;
        for (int d = 0; d < (packed ? 2 : 1); ++d)
          if (const auto w = written.find(i.operands[1].index + d); w != written.end())
            soon = soon || clock - w->second - 1 < needed;
      }
    CHECK_FALSE(soon);
    CHECK(sums_seen > 0);
    // The test can fail: a sum before the product before it, a sum of another product.
    for (const bool swapped : {true, false}) {
      Code other = apply(graph, modulo_schedule(graph));
      auto& list = const_cast<CodeRegion&>(loop_of(other)).body;
      std::vector<std::size_t> sums;
      for (std::size_t n = 0; n < list.size(); ++n)
        if (list[n].kind == InstKind::map && list[n].uses.size() > 2) sums.push_back(n);
      if (swapped)
        std::swap(list[sums[0]], list[sums[1]]);
      else
        list[sums[0]].uses = list[sums[1]].uses;
      CHECK(same_order(machine, other).problem != "");
      solver::SolverProver prover;
      if (!swapped) CHECK_FALSE(derive(other, prover).ok());
    }
  }
}

TEST_CASE("staggered: two copies of the loop, each in its own order, value for value, with every edge kept") {
  for (const Case& c : cases()) {
    INFO(c.spec.arch << " " << c.name);
    kernels::GemmSpec spec = c.spec;
    spec.stagger = true;
    const Program p = kernels::gemm_program(spec);
    const Graph graph = expand(p);
    const LoopSchedule schedule = modulo_schedule(graph).loops[0];
    const Code code = apply(graph, modulo_schedule(graph));
    const CodeRegion& loop = loop_of(code);
    REQUIRE(loop.staggered.size() == loop.body.size());
    // By the definition of edges, all trips one after the other.
    LoopSchedule upper_schedule = schedule;
    std::vector<int> slot_of;
    int slots = 0;
    for (const Inst& i : loop.body)
      slot_of.push_back(i.kind == InstKind::wait || i.kind == InstKind::barrier ? -1 : slots++);
    REQUIRE(slots == static_cast<int>(schedule.slots.size()));
    upper_schedule.slots.clear();
    for (const int n : loop.staggered)
      if (const int s = slot_of[static_cast<std::size_t>(n)]; s >= 0)
        upper_schedule.slots.push_back(schedule.slots[static_cast<std::size_t>(s)]);
    const std::vector<Edge> edges = edges_of(loop_of(graph), graph.registers, schedule.parts);
    CHECK(std::all_of(edges.begin(), edges.end(), [&](const Edge& e) { return holds(e, upper_schedule); }));
    // The machine code.
    Code upper = code;
    auto& body = const_cast<CodeRegion&>(loop_of(upper)).body;
    for (std::size_t n = 0; n < body.size(); ++n)
      body[n] = loop.body[static_cast<std::size_t>(loop.staggered[n])];
    const LoopForm form = c.form == LoopForm::ir ? LoopForm::automatic : c.form;
    const Emitted emitted = emit(emit_ir(code, form), p.target(), {.level = 3, .keep_order = true});
    const auto machine = hot_loops(emitted.hsaco, p.name(), spec.arch);
    REQUIRE(machine.size() == 2);
    CHECK(same_order(machine[0], upper).problem == "");
    CHECK(same_order(machine[1], code).problem == "");
    CHECK(same_order(machine[0], upper).checked > 0);
    CHECK(same_order(machine[0], code).problem != "");
    CHECK(same_order(machine[1], upper).problem != "");
    const auto names = [](const std::vector<isa::Instruction>& list) {
      std::multiset<std::string> out;
      for (const isa::Instruction& i : list) out.insert(std::string(i.mnemonic));
      return out;
    };
    CHECK(names(machine[0]) == names(machine[1]));
    const std::string text = show_schedule(code);
    CHECK(text.find("lower half of the waves") < text.find("upper half of the waves"));
    CHECK_THROWS_AS(emit_ir(code, LoopForm::ir), CodegenError);
  }
}

TEST_CASE("a trip that is short beside memory's latency: one wait, and loads three or four trips before "
          "their writes") {
  const auto of = [](const kernels::GemmSpec& spec) { // waits of a trip; trips from a load to its write
    const Program p = kernels::gemm_program(spec);
    const Graph graph = expand(p);
    const Code code = apply(graph, modulo_schedule(graph));
    int waits = 0, load = 0, write = 0;
    for (const Inst& i : loop_of(code).body) {
      waits += i.kind == InstKind::wait;
      if (i.kind == InstKind::load) load = std::max(load, i.ahead);
      if (i.kind == InstKind::lds_write) write = std::max(write, i.ahead);
    }
    return std::pair(waits, load - write);
  };
  for (const char* arch : {"gfx942", "gfx950"})
    for (const bool preshuffled : {false, true}) {
      INFO(arch << " " << preshuffled);
      const auto [waits, trips] = of(spec_of(arch, 64, 64, 64, 16, preshuffled));
      CHECK(waits == 1);
      CHECK((trips == 3 || trips == 4));
    }
  CHECK(of(spec_of("gfx942", 128, 128, 64)).second == 2); // 1024 clocks
  CHECK(of(spec_of("gfx942", 128, 128, 64, 16, true)).first == 2);
}

TEST_CASE(
    "loops with arithmetic: memory, products and barriers of the machine code have the order of the code") {
  for (const auto& [name, p] : with_arithmetic()) {
    if (name[0] == 'f') continue; // LLVM makes one instruction of two reads of V
    INFO(name);
    const Graph graph = expand(p);
    const Code code = apply(graph, modulo_schedule(graph));
    const kernels::Artifact built = kernels::build(p);
    const auto told = [](InstKind k) { return is_memory(k) || k == InstKind::mma || k == InstKind::barrier; };
    std::vector<InstKind> wanted, found;
    for (const Inst& i : loop_of(code).body)
      if (told(i.kind) && !(i.direct && i.kind == InstKind::load)) // half an instruction
        wanted.push_back(i.kind);
    for (const isa::Instruction& i : hot_loop(built.hsaco, built.kernel, built.arch))
      if (told(kind_of(i))) found.push_back(kind_of(i));
    REQUIRE(found.size() % wanted.size() == 0);
    REQUIRE(!found.empty());
    for (std::size_t n = 0; n < found.size(); ++n) {
      INFO("instruction " << n);
      REQUIRE(to_string(found[n]) == to_string(wanted[n % wanted.size()]));
    }
  }
}

TEST_CASE("an order in turn that leaves instructions out is not taken") {
  kernels::GemmSpec s;
  s.arch = "gfx950", s.in = Element::e2m1, s.out = Element::bf16, s.transfer = true, s.multiple_n = 8;
  s.tile_m = 192, s.tile_n = 256, s.tile_k = 256, s.waves_m = 1, s.waves_n = 4;
  const Program k = kernels::gemm_program(s);
  const Graph graph = expand(k);
  const Schedule schedule = modulo_schedule(graph);
  const LoopSchedule& order = schedule.loops[0];
  CHECK(order.slots.size() >= loop_of(graph).body.size());
  CHECK_FALSE(violated(edges_of(loop_of(graph), graph.registers, order.parts), order));
}

TEST_CASE("a loop that LLVM may reorder is not exact, and forms of loops have names") {
  const Program p = kernels::gemm_program(spec_of("gfx942", 64, 64, 32));
  const Graph graph = expand(p);
  CHECK_FALSE(default_schedule(graph).loops[0].exact);
  CHECK_THROWS_AS(parse_loop_form("best"), CodegenError);
  CHECK_THROWS_AS(parse_scheduler("best"), CodegenError);
  CHECK(parse_scheduler("modulo") == Scheduler::modulo);
  CHECK(show_schedule(apply(graph, modulo_schedule(graph)))
            .find("at most 1 memory instructions side by side") != std::string::npos);
}

namespace {

// Where each access of a tensor stands in the body: the number of the last product before it, -1 for none.
std::vector<int> behind(const Code& code, InstKind kind, const std::string& tensor) {
  std::vector<int> out;
  int products = -1;
  for (const Inst& i : loop_of(code).body) {
    products += i.kind == InstKind::mma ? 1 : 0;
    if (i.kind == kind && code.program->tensor(i.access.tensor).name == tensor) out.push_back(products);
  }
  return out;
}
std::string refusal(const kernels::GemmSpec& spec, Scheduler scheduler = Scheduler::modulo) {
  try {
    const Program p = kernels::gemm_program(spec);
    (void)schedule_with(scheduler, expand(p));
  } catch (const CodegenError& e) {
    return e.what();
  }
  return "held";
}

} // namespace

TEST_CASE("pins: text, both ways") {
  for (const char* text : {"load a 0 after 5", "read lds_b 3 after 17", "write lds_a 1 after -1"})
    CHECK(to_string(parse_pins(text)[0]) == text);
  CHECK(parse_pins("").empty());
  CHECK(parse_pins("load a 0 after 5, read lds_b 3 after 17").size() == 2);
  CHECK(to_string(parse_pins("load a 0 behind 5")[0]) == "load a 0 after 5"); // the former word
  for (const char* text :
       {"load a 0", "load a 0 before 5", "move a 0 after 5", "load a x after 5", "load a -1 after 5",
        "load a 0 after -2", "load a 0 after 5 6", "load a 0 after 5,,"})
    CHECK_THROWS_AS(parse_pins(text), CodegenError);
}

TEST_CASE("pins: held in the machine code, and proved") {
  for (const bool transfer : {false, true})
    for (const LoopForm form : {LoopForm::ir, LoopForm::block}) {
      if (transfer && form == LoopForm::ir) continue;
      kernels::GemmSpec spec = spec_of(transfer ? "gfx950" : "gfx942", 64, 64, 64, 16, false, transfer);
      const int product = transfer ? 4 : 9;
      spec.pins = parse_pins("load b 1 after " + std::to_string(product));
      const Program p = kernels::gemm_program(spec);
      const Graph graph = expand(p);
      const Code code = apply(graph, schedule_with(Scheduler::modulo, graph));
      solver::SolverProver prover;
      const Derivation proofs = derive(code, prover);
      CHECK(proofs.ok());
      // The schedule without pins has them elsewhere: the test can fail.
      const Code free = apply(graph, modulo_schedule(graph));
      CHECK(behind(free, InstKind::load, "b") != behind(code, InstKind::load, "b"));
      // In the machine code: the loads between two products, in each copy of the trip.
      const Emitted emitted = emit(emit_ir(code, form), p.target(), {.level = 3, .keep_order = true});
      const auto machine = hot_loop(emitted.hsaco, p.name(), spec.arch);
      std::vector<std::string> wanted, found;
      for (const Inst& i : loop_of(code).body)
        if (i.kind == InstKind::mma || (is_memory(i.kind) && !(i.kind == InstKind::load && i.direct)))
          wanted.emplace_back(to_string(i.kind));
      for (const isa::Instruction& i : machine)
        if (kind_of(i) == InstKind::mma || is_memory(kind_of(i))) found.emplace_back(to_string(kind_of(i)));
      REQUIRE(!found.empty());
      REQUIRE(found.size() % wanted.size() == 0);
      for (std::size_t n = 0; n < found.size(); ++n) CHECK(found[n] == wanted[n % wanted.size()]);
      int products = -1, trip = 0, held = 0, copies = 0;
      for (const Inst& i : loop_of(code).body) trip += i.kind == InstKind::mma ? 1 : 0;
      for (std::size_t n = 0; n < machine.size(); ++n) {
        if (kind_of(machine[n]) == InstKind::mma) ++products, copies += products % trip == 0;
        if (kind_of(machine[n]) == InstKind::mma && products % trip == product)
          for (std::size_t next = n + 1; next < machine.size(); ++next) {
            if (machine[next].mnemonic[0] == 's' && machine[next].mnemonic != "s_waitcnt") continue;
            held += machine[next].mnemonic.rfind("buffer_load", 0) == 0;
            break;
          }
      }
      CHECK(copies > 0);
      CHECK(held == copies);
    }
}

TEST_CASE("pins: what cannot be held is refused, with the reason") {
  using Catch::Matchers::Contains;
  const auto with = [](const char* pins) {
    kernels::GemmSpec spec = spec_of("gfx942", 64, 64, 64);
    spec.pins = parse_pins(pins);
    return spec;
  };
  CHECK(refusal(with("load a 0 after 3")) == "held");
  CHECK_THAT(refusal(with("load c 0 after 3")), Contains("no load of c") && Contains("of a, b"));
  CHECK_THAT(refusal(with("load a 9 after 3")), Contains("it has 2 of them and 16 matrix products"));
  CHECK_THAT(refusal(with("load a 0 after 16")), Contains("16 matrix products"));
  CHECK_THAT(refusal(with("load a 0 after 3, load a 0 after 4")), Contains("pinned twice"));
  CHECK_THAT(refusal(with("load a 0 after 3"), Scheduler::plain), Contains("left to LLVM"));
  // Between the last read of an iteration and the first one of the next but one there is no room for what fills the stage;
  // not so where tiles are apart.
  kernels::GemmSpec large = spec_of("gfx950", 256, 256, 64);
  large.pins = parse_pins("read lds_a 0 after 3");
  CHECK(refusal(large) == "held");
  large.pins = parse_pins("read lds_a 1 after 10, write lds_a 0 after 3");
  CHECK(refusal(large) == "held");
  large.pins = parse_pins("read lds_a 0 after 3, write lds_a 0 after 12");
  CHECK_THAT(refusal(large),
             Contains("would stand before") && Contains("(free)") && Contains("write lds_a 0 after 12"));
  kernels::GemmSpec apart = spec_of("gfx950", 256, 256, 64, 16, false, true);
  apart.pins = parse_pins("read lds_a 0 after 3, load a 0 after 20");
  CHECK(refusal(apart) == "held");
  // Every place of every access: held and right by the definition, or refused by an edge.
  const Program free = kernels::gemm_program(spec_of("gfx950", 256, 256, 64));
  const Graph graph = expand(free);
  const Region& loop = loop_of(graph);
  const std::vector<Edge> edges = edges_of(loop, graph.registers);
  int held = 0, refused = 0;
  for (const char* access : {"write lds_a 0", "write lds_b 1", "read lds_a 1", "read lds_b 3"})
    for (int p = -1; p < 128; p += 32)
      for (const char* other :
           {"", ", write lds_a 1 after 0", ", read lds_a 0 after 3, write lds_a 2 after 12"}) {
        const std::string text = access + std::string(" after ") + std::to_string(p) + other;
        INFO(text);
        Region pinned_loop = loop;
        pinned_loop.pipeline.pins = parse_pins(text);
        try {
          const LoopSchedule s = pinned(pinned_loop, graph.registers, free, modulo_schedule(graph).loops[0]);
          ++held;
          CHECK(s.slots.size() == loop.body.size());
          CHECK(std::all_of(edges.begin(), edges.end(), [&](const Edge& e) { return holds(e, s); }));
        } catch (const CodegenError& e) {
          ++refused;
          CHECK_THAT(e.what(), Contains("would stand before") || Contains("pinned twice"));
        }
      }
  CHECK(held > 15);
  CHECK(refused > 5);
}

TEST_CASE("pipelines: text both ways, held, and refused with the registers that they take") {
  using Catch::Matchers::Contains;
  for (const char* text : {"waves 1", "lead 5", "within 50, trips 3", "waves 1, lead 5, within 50, trips 3",
                           "within 80, trips 2, loads 50", "barriers 3"})
    CHECK(to_string(parse_depth(text)) == text);
  CHECK_FALSE(parse_depth("").given());
  for (const char* text : {"lead", "lead 0", "lead 33", "within 101", "lead 2 3", "lead 1, lead 2",
                           "loads 101", "depth 3", "barriers 4", "barriers 2, lead 1"})
    CHECK_THROWS_AS(parse_depth(text), CodegenError);
  // Reads stand as many windows before their products as is said, or in the part of the trip that is said.
  for (const Case& c : deep_cases()) {
    INFO(c.spec.arch << " " << c.name);
    const Program program = kernels::gemm_program(c.spec);
    const Graph graph = expand(program);
    const LoopSchedule order = modulo_schedule(graph).loops[0];
    for (const Edge& e : edges_of(loop_of(graph), graph.registers)) CHECK(holds(e, order));
    kernels::GemmSpec free = c.spec;
    free.depth = {};
    const Program of_free = kernels::gemm_program(free);
    const LoopSchedule usual = modulo_schedule(expand(of_free)).loops[0];
    const auto same =
        std::equal(order.slots.begin(), order.slots.end(), usual.slots.begin(), usual.slots.end(),
                   [](const Slot& a, const Slot& b) { return a.node == b.node && a.ahead == b.ahead; });
    CHECK(same != c.spec.depth.given());
    if (c.spec.depth.loads !=
        0) { // products that pass between a load past LDS and the end of its iteration: more than otherwise
      kernels::GemmSpec late = c.spec;
      late.depth.loads = 0;
      const Program of_late = kernels::gemm_program(late);
      const auto under_way = [&](const LoopSchedule& of) {
        int before = 0, all = 0, sum = 0, loads = 0;
        for (const Slot& s : of.slots) {
          const Inst& i = loop_of(graph).body[static_cast<std::size_t>(s.node)];
          all += i.kind == InstKind::mma;
        }
        for (const Slot& s : of.slots) {
          const Inst& i = loop_of(graph).body[static_cast<std::size_t>(s.node)];
          before += i.kind == InstKind::mma;
          if (i.kind == InstKind::load && !i.direct) ++loads, sum += s.ahead * all - before;
        }
        CHECK(loads > 0);
        return sum;
      };
      CHECK(under_way(order) > under_way(modulo_schedule(expand(of_late)).loops[0]));
    }
    if (c.spec.depth.within == 0) continue;
    int products = 0, last = 0;
    for (const Slot& s : order.slots) {
      const Inst& i = loop_of(graph).body[static_cast<std::size_t>(s.node)];
      products += i.kind == InstKind::mma;
      if (i.kind == InstKind::lds_read || i.direct) last = products;
    }
    CHECK(100 * (last - 1) <= c.spec.depth.within * products);
  }
  const auto with = [](kernels::GemmSpec s, const char* depth) {
    s.depth = parse_depth(depth);
    return s;
  };
  CHECK_THAT(refusal(with(spec_of("gfx942", 256, 256, 64, 16, true), "lead 4, trips 8")),
             Contains("does not fit") && Contains("registers beside 256 of results") &&
                 Contains("lead 4, trips 8"));
  CHECK_THAT(refusal(with(spec_of("gfx942", 64, 64, 64), "lead 2"), Scheduler::plain),
             Contains("a scheduler that has none"));
}

TEST_CASE("in turn: one tile of operands at each slot, each read after the last use of its register, parts "
          "by places") {
  struct Turn {
    kernels::GemmSpec spec;
    int registers; // of a tile's operands and scales, by hand
  };
  // 256x256x64 of 16 bits in 2 x 2 waves: 128 rows and 128 columns, 64 k, in 64 lanes: 2 * 128 * 64 / 64 / 2. fp4: an eighth of a
  // dword each, and the scales of 8 x 128 x 2 blocks of 32 k, four bytes a dword of which half are other lanes' too: 8.
  const Turn turns[] = {{spec_of("gfx950", 256, 256, 64, 16, false, true), 128},
                        {of_fp4(spec_of("gfx950", 256, 256, 256, 16, false, true)), 136},
                        {spec_of("gfx942", 256, 256, 32, 16, false, true), 64}};
  for (const Turn& turn : turns) {
    INFO(turn.spec.arch << " " << turn.spec.tile_k);
    const Program p = kernels::gemm_program(turn.spec);
    const Graph graph = expand(p);
    const Region& loop = loop_of(graph);
    const Schedule schedule = modulo_schedule(graph);
    const LoopSchedule& order = schedule.loops[0];
    REQUIRE(!order.parts.empty());
    const int slots = static_cast<int>(order.slots.size());
    const std::vector<Lifetime> lives = lifetimes(loop, graph.registers, order);
    const std::vector<int> alive = pressure(lives, slots);
    CHECK(*std::max_element(alive.begin(), alive.end()) <= turn.registers);
    for (const Lifetime& l : lives) CHECK(l.end - l.begin < slots);
    CHECK(ring_registers(lives, slots, loop.pipeline.ring).dwords <= turn.registers);
    // Accesses of different parts share no place: by sets of places.
    std::map<int, std::set<std::pair<int, std::int64_t>>> places; // part -> tensor, place
    for (std::size_t n = 0; n < loop.body.size(); ++n) {
      const Inst& i = loop.body[n];
      if (i.kind != InstKind::lds_read && i.kind != InstKind::lds_write) continue;
      const std::vector<int> row = thread_coordinates(i.access.threads, 0),
                             column = thread_coordinates(i.access.threads, 1);
      for (std::size_t t = 0; t < row.size(); ++t)
        for (const auto& e : i.access.elements)
          places[order.parts[n]].insert(
              {i.access.tensor,
               p.tensor(i.access.tensor).at(std::vector<std::int64_t>{row[t] + e[0], column[t] + e[1]})});
    }
    REQUIRE(places.size() == 2);
    std::vector<std::pair<int, std::int64_t>> both;
    std::set_intersection(places[0].begin(), places[0].end(), places[1].begin(), places[1].end(),
                          std::back_inserter(both));
    CHECK(both.empty());
    // All that the first quarter reads is in one part.
    solver::SolverProver prover;
    CHECK(derive(apply(graph, schedule), prover).ok());
    // Where transfers are said to fill other places than are read, nothing waits for them, and provenance refuses that.
    Schedule wrong = schedule;
    for (std::size_t n = 0; n < loop.body.size(); ++n)
      if (loop.body[n].kind == InstKind::lds_write) wrong.loops[0].parts[n] += 2;
    CHECK_FALSE(derive(apply(graph, wrong), prover).ok());
  }
}

TEST_CASE("in turn: as the specification says, or refused") {
  const auto with = [](const char* depth, int tile) {
    kernels::GemmSpec s = spec_of("gfx950", tile, tile, tile == 256 ? 64 : 128, 16, false, true);
    s.depth = parse_depth(depth);
    return s;
  };
  const auto barriers = [](const kernels::GemmSpec& spec) {
    const Program p = kernels::gemm_program(spec);
    const Graph graph = expand(p);
    const Code code = apply(graph, modulo_schedule(graph));
    const std::vector<Inst>& body = loop_of(code).body;
    return std::count_if(body.begin(), body.end(), [](const Inst& i) { return i.kind == InstKind::barrier; });
  };
  for (const int n : {1, 2, 3}) CHECK(barriers(with(("barriers " + std::to_string(n)).c_str(), 256)) == n);
  CHECK(barriers(with("", 256)) == 3);
  CHECK(barriers(with("", 128)) == 2); // reads of all operands take LDS for the whole trip
  using Catch::Matchers::Contains;
  CHECK_THAT(refusal(with("barriers 3", 128)), Contains("cannot be had"));
}

TEST_CASE("early: what the code after a loop loads stands after the first products of the last trip") {
  for (const bool preshuffled : {false, true})
    for (const LoopForm form : {LoopForm::ir, LoopForm::block}) {
      kernels::GemmSpec spec = spec_of("gfx942", 64, 64, 64, 16, preshuffled);
      spec.in = Element::i8, spec.out = Element::bf16;
      spec.scales = spec.bias = true;
      const Program p = kernels::gemm_program(spec);
      const Graph graph = expand(p);
      const Schedule schedule = modulo_schedule(graph);
      const Code code = apply(graph, schedule);
      Schedule late = schedule;
      late.loops[0].early.clear();
      const auto loads = [&](const std::vector<Inst>& list) {
        return std::count_if(list.begin(), list.end(), [&](const Inst& i) {
          return i.kind == InstKind::load && p.tensor(i.access.tensor).name.find_first_of("sb") == 0 &&
                 p.tensor(i.access.tensor).name != "b";
        });
      };
      const auto behind = [&](const Code& c) { return loads(c.regions.back().body); };
      CHECK(loads(loop_of(code).epilogue) == static_cast<std::ptrdiff_t>(schedule.loops[0].early.size()));
      CHECK(behind(apply(graph, late)) == loads(loop_of(code).epilogue));
      CHECK(loads(loop_of(code).epilogue) > 0);
      CHECK(behind(code) == 0);
      // After a product each, and no two side by side while products last.
      const auto& last = loop_of(code).epilogue;
      std::size_t alone = 0;
      for (std::size_t n = 1; n < last.size(); ++n)
        alone += last[n].kind == InstKind::load && last[n - 1].kind == InstKind::mma;
      const auto products = static_cast<std::size_t>(
          std::count_if(last.begin(), last.end(), [](const Inst& i) { return i.kind == InstKind::mma; }));
      CHECK(alone == std::min(schedule.loops[0].early.size(), products));
      solver::SolverProver prover;
      CHECK(derive(code, prover).ok());
      const Emitted emitted = emit(emit_ir(code, form), p.target(), {.level = 3, .keep_order = true});
      CHECK_FALSE(emitted.hsaco.empty());
    }
}

TEST_CASE(
    "transfers: the first are under way while other addresses are made, and those of a stage share M0") {
  kernels::GemmSpec i8 = spec_of("gfx942", 112, 256, 128, 16, true, true);
  i8.in = Element::i8, i8.out = Element::bf16, i8.scales = i8.bias = true;
  // 8 rows of as few as 8 k are 128 bytes, and 256 bytes apart in LDS.
  const kernels::GemmSpec narrow = spec_of("gfx942", 64, 64, 64, 16, false, true);
  for (const auto& [spec, shared] : {std::pair(i8, true), std::pair(narrow, false)}) {
    INFO(to_string(spec.in));
    const Program p = kernels::gemm_program(spec);
    const Graph graph = expand(p);
    const Code code = apply(graph, modulo_schedule(graph));
    std::istringstream text(
        emit(emit_ir(code, LoopForm::automatic), p.target(), {.level = 3, .keep_order = true}).assembly);
    int transfers = 0, loads = 0, places = 0, before = 0, beside = 0;
    for (std::string line; std::getline(text, line);) {
      const bool load = line.find("buffer_load_") != std::string::npos,
                 transfer = load && line.find(" lds") != std::string::npos;
      transfers += transfer, loads += load && !transfer;
      places += line.find(" m0, ") != std::string::npos;
      const bool arithmetic = line.find("v_") != std::string::npos && line.find("v_mov") == std::string::npos;
      if (loads == 0 && arithmetic) ++(transfers == 0 ? before : beside);
    }
    const int of_stage = spec.tile_m * spec.tile_k * bits(spec.in) / 8 / (256 * 4);
    CHECK(transfers >= 3 * of_stage);
    CHECK(beside > before); // of the addresses of all of the kernel's accesses
    if (shared)
      CHECK(places * of_stage <= 2 * transfers);
    else
      CHECK(places >= transfers);
  }
}

TEST_CASE("streamed: what is stored is made in portions, right before its stores") {
  struct Way {
    kernels::GemmSpec spec;
    bool portions, versions;
  };
  std::vector<Way> ways;
  kernels::GemmSpec i8 = spec_of("gfx942", 128, 128, 128, 16, true);
  i8.in = Element::i8, i8.out = Element::bf16, i8.scales = i8.bias = true;
  ways.push_back({i8, true, false});
  i8.preshuffled_b = false;
  ways.push_back({i8, true, true});
  kernels::GemmSpec wide = spec_of("gfx950", 256, 256, 64, 16, false);
  wide.transfer = true;
  wide.in = wide.out = Element::bf16;
  ways.push_back({wide, false, true}); // results in AGPRs, and a branch
  wide.multiple_n = 8;
  ways.push_back({wide, true, false});
  kernels::GemmSpec fp4 = wide; // lanes exchange their columns
  fp4.in = Element::e2m1, fp4.tile_k = 256, fp4.preshuffled_b = true;
  ways.push_back({fp4, true, false});
  for (const auto& [spec, portions, versions] : ways) {
    INFO(spec.arch << " " << to_string(spec.in) << " " << spec.tile_m << " " << spec.multiple_n << " "
                   << spec.preshuffled_b);
    const Program p = kernels::gemm_program(spec);
    const Graph graph = expand(p);
    Schedule schedule = modulo_schedule(graph);
    schedule.loops[0].early.clear();
    const Code code = apply(graph, schedule);
    const std::vector<Inst>& before = graph.regions.back().body;
    std::vector<Inst> after = code.regions.back().body;
    std::erase_if(after, [](const Inst& i) { return i.kind == InstKind::wait; });
    // The same instructions, stores of a version in their order.
    const auto name = [](const Inst& i) {
      std::string out = std::string(to_string(i.kind)) + " " + std::to_string(i.def.id);
      for (const Reg& u : i.uses) out += " " + std::to_string(u.id) + ":" + std::to_string(u.first);
      return out + (i.when ? i.when->divides ? " whole" : " single" : "");
    };
    std::multiset<std::string> was, is;
    for (const Inst& i : before) was.insert(name(i));
    for (const Inst& i : after) is.insert(name(i));
    CHECK(was == is);
    for (const std::optional<bool>& version : {std::optional<bool>(), {true}, {false}}) {
      const auto stores = [&](const std::vector<Inst>& list) {
        std::vector<std::string> out;
        for (const Inst& i : list)
          if (i.kind == InstKind::store &&
              version == (i.when ? std::optional(i.when->divides) : std::nullopt))
            out.push_back(name(i));
        return out;
      };
      CHECK(stores(before) == stores(after));
      CHECK(stores(after).empty() == (version.has_value() != versions));
    }
    // Each after what it uses.
    std::set<int> made, all;
    for (const Inst& i : after)
      if (i.def.id >= 0) all.insert(i.def.id);
    for (const Inst& i : after) {
      for (const Reg& u : i.uses) CHECK((made.contains(u.id) || !all.contains(u.id)));
      if (i.def.id >= 0) made.insert(i.def.id);
    }
    const auto first =
        std::find_if(after.begin(), after.end(), [](const Inst& i) { return i.kind == InstKind::store; });
    const auto arithmetic = [](const Inst& i) { return i.kind == InstKind::map; };
    const auto there = std::count_if(after.begin(), after.end(), arithmetic),
               behind = std::count_if(first, after.end(), arithmetic);
    CHECK(there > 0);
    CHECK((behind > 0) == portions);
    // In the machine code, too: where a wave reads a result, it is stored before the last ones are read.
    const Emitted emitted =
        emit(emit_ir(code, LoopForm::automatic), p.target(), {.level = 3, .keep_order = true});
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(emitted.hsaco.data());
    const auto object = runtime::CodeObject::parse({bytes, bytes + emitted.hsaco.size()}, spec.arch);
    const auto& k = object.kernel(p.name());
    const auto machine = isa::decode(object.code(k), k.address, isa::parse_arch(spec.arch)).instructions;
    const auto starts = [&](std::string_view text) {
      return [text](const isa::Instruction& i) { return i.mnemonic.starts_with(text); };
    };
    const auto store = std::find_if(machine.begin(), machine.end(), starts("buffer_store_dwordx"));
    const auto product = std::find_if(machine.rbegin(), machine.rend(), starts("v_mfma")).base();
    const bool converts = spec.arch == "gfx950"; // in one instruction
    const auto count = [&](auto begin, auto end) {
      return std::count_if(begin, end, starts(converts ? "v_cvt_pk_bf16" : "v_perm_b32"));
    };
    REQUIRE(store != machine.end());
    CHECK(count(product, machine.end()) > 0);
    const auto swaps = std::count_if(machine.begin(), machine.end(), starts("v_permlane16_swap"));
    CHECK(swaps ==
          (spec.in == Element::e2m1 ? spec.tile_m * spec.tile_n / (256 * 4) : 0)); // of two registers of two
    CHECK((count(store, machine.end()) > 0) == portions);
  }
}

TEST_CASE("a schedule's picture has each slot of its text") {
  const Program p = kernels::gemm_program(spec_of("gfx942", 64, 64, 32));
  const Graph graph = expand(p);
  const Code code = apply(graph, modulo_schedule(graph));
  const std::string svg = schedule_svg(code), text = show_schedule(code);
  std::size_t slots = 0;
  for (const Inst& i : loop_of(code).body) {
    const std::string name = "<title>slot " + std::to_string(slots++) + ", ";
    INFO(name << to_string(i.kind));
    CHECK(svg.find(name) != std::string::npos);
  }
  CHECK(svg.find("<title>slot " + std::to_string(slots) + ",") == std::string::npos);
  CHECK(svg.find("\nwait ") != std::string::npos);
  CHECK(svg.find(">barrier<") != std::string::npos);
  CHECK(text.find("lds_read lds_a") != std::string::npos);
  CHECK(svg.find("lds_read lds_a") != std::string::npos);
  // No two words lie over one another: a letter is about 0.6 of its size wide, and reaches a quarter of it below its line.
  struct Words {
    double left, right, top, bottom;
    std::string text;
  };
  std::vector<Words> all;
  const std::regex words(R"re(<text x="([^"]+)" y="([^"]+)" font-size="(\d+)">([^<]+)<)re");
  for (std::sregex_iterator at(svg.begin(), svg.end(), words), end; at != end; ++at) {
    const double x = std::stod((*at)[1]), y = std::stod((*at)[2]), size = std::stod((*at)[3]);
    const std::string word = (*at)[4];
    all.push_back({x, x + 0.6 * size * static_cast<double>(word.size()), y - size, y + size / 4, word});
  }
  CHECK(all.size() >= 10);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Words &a = all[i], &b = all[j];
      INFO(a.text << " | " << b.text);
      CHECK((a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top));
    }
}

} // namespace schedule_test
