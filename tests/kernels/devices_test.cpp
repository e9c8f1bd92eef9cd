// Several devices: sums of what peers hold, on the emulator, against a plain loop; and what refuses a program, code or machine code in
// which the devices do not meet as they have to.
#include "../../kernels/communication/between_devices.h"
#include "../mutate/tokens.h"
#include "specified.h"

#include <inlay/runtime/code_object.h>
#include <inlay/runtime/isa/program.h>

#include <cstring>

namespace devices_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace specified;
using Catch::Matchers::Contains;

namespace {

constexpr int threads = 128;

// y(i) = x_0(i) + x_1(i) + ..., in that order, of f32.
struct Sum {
  int devices = 3;
  bool first = true, last = true; ///< meetings
  bool early = false;             ///< the first load stands before the meeting
  bool by_rank = false;           ///< of each device its own part
  int paths = 0; ///< the store stands on two paths: 1, by the size; 2, by the device's number
};
Program sums(const Sum& c = {}, const char* arch = "gfx942") {
  Program k("sums", Target::named(arch), threads);
  const Sym n = k.size("n", {.most = 1 << 24}), rank = k.devices(c.devices);
  const Tensor y = k.output("y", Element::f32, {n});
  const std::vector<Tensor> x =
      c.by_rank ? k.peers("x", Element::f32, {c.devices, n}) : k.peers("x", Element::f32, {n});
  const auto sum = [](const std::vector<Expr>& v) {
    Expr all = v[0];
    for (std::size_t i = 1; i < v.size(); ++i) all = all + v[i];
    return all;
  };
  k.computes(y, [&](const auto& at) {
    std::vector<Expr> v;
    for (const Tensor& t : x) v.push_back(c.by_rank ? k(t, {rank, at[0]}) : k(t, {at[0]}));
    return sum(v);
  });
  const Sym part = k.workgroups(0, n, threads);
  const Layout tv = line_tv(threads, 1, threads);
  std::vector<Fragment> all;
  const auto load = [&](const Tensor& t) {
    all.push_back(k.load(
        c.by_rank ? k.tile(t, {1, threads}, {rank, part}).keep({1}) : k.tile(t, {threads}, {part}), tv, 1));
  };
  if (c.early) load(x[0]);
  if (c.first) k.meet("signals");
  for (std::size_t d = c.early ? 1 : 0; d < x.size(); ++d) load(x[d]);
  const auto store = [&] { k.store(k.map(all, sum), k.tile(y, {threads}, {part}), 1); };
  if (c.paths == 0)
    store();
  else
    k.if_less(c.paths == 1 ? n : rank, c.paths == 1 ? 1000 : 1, store, store);
  if (c.last) k.meet("signals");
  return k;
}

std::pair<std::vector<Inst>*, std::size_t> find(Code& code, InstKind kind, int number = 0) {
  for (CodeRegion& r : code.regions)
    for (std::size_t n = 0; n < r.body.size(); ++n)
      if (r.body[n].kind == kind && number-- == 0) return {&r.body, n};
  throw std::runtime_error(to_string(kind));
}

// Device d has 100 d + i % 50 at place i: sums are exact.
kernels::Bytes values(int device, std::int64_t n) {
  kernels::Bytes out(static_cast<std::size_t>(4 * n));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<float>(100 * device + i % 50);
    std::memcpy(out.data() + 4 * i, &v, 4);
  }
  return out;
}

// Buffers of a launch of `sums`: y, what each device brings, flags.
std::vector<kernels::Bytes> buffers_of(int devices, std::int64_t n, int parts = 1) {
  std::vector<kernels::Bytes> out = {kernels::Bytes(static_cast<std::size_t>(4 * n))};
  for (int d = 0; d < devices; ++d) out.push_back(values(d, n * parts));
  for (int d = 0; d < devices; ++d)
    out.emplace_back(static_cast<std::size_t>(4 * devices * ((n + threads - 1) / threads)));
  return out;
}

std::vector<std::span<const std::byte>> spans(const std::vector<kernels::Bytes>& buffers) {
  return {buffers.begin(), buffers.end()};
}

} // namespace

TEST_CASE("devices: each has the sum of all, launch after launch, in every schedule") {
  const Undecided validation; // it knows no meetings
  for (const char* arch : {"gfx942", "gfx950"})
    for (const bool by_rank : {false, true})
      for (const int devices : {2, 3, 8}) {
        const kernels::Artifact artifact =
            kernels::build(sums({.devices = devices, .by_rank = by_rank}, arch));
        CHECK(artifact.contract.devices == devices);
        for (const std::int64_t n : {1, 300}) {
          INFO(arch << ", " << devices << " devices, n = " << n << ", by rank " << by_rank);
          runtime::EmulatorOptions strict;
          strict.checks = runtime::Checks::all();
          runtime::EmulatorDevice device(runtime::isa::parse_arch(arch), strict);
          kernels::LoadedKernel kernel(device, artifact);
          kernels::PlacedBuffers placed(device, artifact.contract,
                                        spans(buffers_of(devices, n, by_rank ? devices : 1)));
          for (int launch = 0; launch < 3; ++launch) {
            device.options().stress = launch == 1;
            kernel.launch_on_devices(artifact.contract.plan({n, 0}), placed.addresses());
            for (const runtime::Finding& f : device.last_launch().findings)
              if (!f.note) FAIL_CHECK(to_string(f));
          }
          const auto after = placed.read([](std::size_t) { return true; });
          const std::size_t each = after.size() / static_cast<std::size_t>(devices);
          for (int r = 0; r < devices; ++r) {
            const auto& y = after[static_cast<std::size_t>(r) * each];
            for (std::int64_t i = 0; i < n; ++i) {
              float got = 0, wanted = 0;
              std::memcpy(&got, y.data() + 4 * i, 4);
              for (int d = 0; d < devices; ++d)
                wanted += static_cast<float>(100 * d + (by_rank ? r * n + i : i) % 50);
              REQUIRE(got == wanted);
            }
            // Two meetings a launch.
            std::int32_t flag = 0;
            std::memcpy(&flag, after[static_cast<std::size_t>(r) * each + each - 1].data(), 4);
            CHECK(flag == 6);
          }
        }
      }
}

TEST_CASE("devices: flags count around") {
  const Undecided validation;
  const kernels::Artifact artifact = kernels::build(sums());
  auto buffers = buffers_of(3, 300);
  for (std::size_t b = 4; b < 7; ++b)
    for (std::size_t i = 0; i < buffers[b].size(); i += 4) {
      const std::int32_t most = INT32_MAX;
      std::memcpy(buffers[b].data() + i, &most, 4);
    }
  const auto device = kernels::open_device("emulator", artifact.arch);
  const auto after = kernels::run(*device, artifact, buffers, {300, 0});
  REQUIRE(after.size() == 21);
  std::int32_t flag = 0;
  std::memcpy(&flag, after[4].data(), 4);
  CHECK(flag == INT32_MIN + 1);
  for (std::size_t r = 1; r < 3; ++r) CHECK(after[7 * r] == after[0]);
}

TEST_CASE("devices: what is proved, and what is the caller's") {
  solver::SolverProver prover;
  const auto says = [&](const Derivation& d, const std::string& claim) {
    return std::any_of(d.claims.begin(), d.claims.end(), [&](const DerivedClaim& c) {
      return c.proved && c.claim.find(claim) != std::string::npos;
    });
  };
  const Program all = sums(), parts = sums({.by_rank = true});
  const Derivation d = derive(code_of(all), prover), by_rank = derive(code_of(parts), prover);
  REQUIRE(d.refuted() == nullptr);
  REQUIRE(by_rank.refuted() == nullptr);
  CHECK(says(d, "what is read of x_2 is there: its device's launch has begun"));
  CHECK(says(d, "no device's launch ends while another one reads of its memory"));
  CHECK(says(d, "devices that read the same compute the same bits"));
  CHECK_FALSE(says(by_rank, "the same bits"));
  for (const int paths : {1, 2}) {
    const Program branched = sums({.paths = paths});
    const Derivation of = derive(code_of(branched), prover);
    INFO(paths << (of.refuted() ? of.refuted()->claim + of.refuted()->counterexample : ""));
    CHECK(of.refuted() == nullptr);
    CHECK(says(of, "the same bits") == (paths == 1));
  }
  std::string callers;
  for (const LaunchCondition& c : d.contract)
    if (c.callers) callers += c.condition + "\n";
  CHECK_THAT(callers, Contains("all 3 devices launch the kernel, with the same sizes but rank, 0 to 2") &&
                          Contains("workgroups begin in the order of their numbers") &&
                          Contains("the flags signals of all devices hold the same before the launch") &&
                          Contains("x_0, x_1, x_2 are in each launch the memory of their devices"));
}

TEST_CASE("devices: programs that do not meet, or not everywhere, are refused", "[error]") {
  CHECK_THAT(refuted(sums({.first = false})), Contains("what is read of x_0 is there") && Contains("k.meet"));
  CHECK_THAT(refuted(sums({.early = true})), Contains("what is read of x_0 is there"));
  CHECK_THAT(refuted(sums({.last = false})),
             Contains("no device's launch ends while another one reads of its memory"));
  { // said at the line of the load
    const Program k = sums({.last = false});
    Code code = code_of(k);
    solver::SolverProver prover;
    const Derivation d = derive(code, prover);
    REQUIRE(d.refuted() != nullptr);
    const auto [body, at] = find(code, InstKind::load, 0);
    CHECK(d.refuted()->where.line() == (*body)[at].where.line());
    CHECK(d.refuted()->where.line() != k.where().line());
  }
  { // nor is a window's memory its own
    Program k("window", Target::named("gfx942"), threads);
    const Sym n = k.size("n", {.most = 1 << 20});
    (void)k.devices(2);
    const Tensor y = k.output("y", Element::f32, {n}), x = k.peers("x", Element::f32, {n})[0],
                 w = k.window("w", x, {{n, {{n, 0, 1}}}}, {Sym(0)});
    k.computes(y, [&](const auto& at) { return k(w, {at[0]}); });
    const Sym part = k.workgroups(0, n, threads);
    const Layout tv = line_tv(threads, 1, threads);
    k.store(k.load(k.tile(w, {threads}, {part}), tv, 1), k.tile(y, {threads}, {part}), 1);
    CHECK_THAT(refuted(k), Contains("what is read of x_0 is there"));
  }
  const auto with = [](const std::function<void(Program&, Sym)>& more, const char* arch = "gfx942") {
    Program k("wrong", Target::named(arch), threads);
    const Sym n = k.size("n", {.most = 1000});
    more(k, n);
  };
  CHECK_THROWS_WITH(with([](Program& k, Sym) { (void)k.devices(2); }, "gfx90a"), Contains("gfx90a"));
  CHECK_THROWS_WITH(with([](Program& k, Sym) { (void)k.devices(1); }), Contains("2 to 64"));
  CHECK_THROWS_WITH(with([](Program& k, Sym) { (void)k.devices(2), (void)k.devices(2); }),
                    Contains("already"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) { (void)k.peers("x", Element::f32, {n}); }),
                    Contains("k.devices(4) before"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) { (void)k.workgroups(0, n, 1), k.meet("s"); }),
                    Contains("k.devices(4) before"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) {
                      (void)k.devices(2);
                      (void)k.uniform(k.peers("t", Element::i32, {n})[1], Sym(0));
                    }),
                    Contains("read before devices meet"));
  CHECK_THROWS_WITH(with([](Program& k, Sym) { (void)k.devices(2), k.meet("s"); }), Contains("no grid"));
  // Memory is the same whoever looks at it, and arguments have names of their own.
  CHECK_THROWS_WITH(
      with([](Program& k, Sym n) { (void)k.peers("x", Element::f32, {n * (k.devices(2) + 1)}); }),
      Contains("depends on who looks at it"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) {
                      TupleBuilder<BasicMode<Sym>> place;
                      place.leaf({n, BasicStride<Sym>(k.devices(2) + 1)});
                      (void)k.input("x", Element::f32, {n}, SymLayout(std::move(place).finish()));
                    }),
                    Contains("depends on who looks at it"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) {
                      (void)k.devices(2), (void)k.workgroups(0, n, 1);
                      (void)k.peers("x", Element::i32, {n}), k.meet("x");
                    }),
                    Contains("tensor x_0: the kernel has an argument of this name"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) {
                      (void)k.input("x", Element::f32, {n}), (void)k.output("x", Element::f32, {n});
                    }),
                    Contains("tensor x: the kernel has an argument of this name"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) { (void)k.input("n", Element::f32, {n}); }),
                    Contains("tensor n: the kernel has an argument of this name"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) {
                      (void)k.devices(2), (void)k.workgroups(0, n, 1), k.meet("s"), k.meet("t");
                    }),
                    Contains("one name for all meetings"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) {
                      (void)k.devices(2), (void)k.workgroups(0, n, 1), k.meet("s");
                      (void)k.workgroups(1, n, 1);
                    }),
                    Contains("the whole grid first"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) {
                      (void)k.devices(2), (void)k.workgroups(0, n, 1);
                      k.loop(n, 1, {}, [&](Sym) { k.meet("s"); });
                    }),
                    Contains("all workgroups of all devices meet as often"));
  CHECK_THROWS_WITH(with([](Program& k, Sym n) {
                      (void)k.devices(2);
                      const Sym w = k.workgroups(0, n, 1);
                      k.if_less(w, Sym(1), [&] { k.meet("s"); });
                    }),
                    Contains("all workgroups of all devices meet as often"));
  for (const bool first : {true, false})
    CHECK_THROWS_WITH(with([&](Program& k, Sym n) {
                        (void)k.devices(2), (void)k.workgroups(0, n, 1), (void)k.workgroups(1, n, 1);
                        if (first) k.order_tiles(parse_tile_order("rows:8"));
                        k.meet("s");
                        k.order_tiles(parse_tile_order("rows:8"));
                      }),
                      Contains("other tiles") || Contains("the same tile on all devices"));
}

TEST_CASE("devices: code of which one place is changed is refused, and tokens see it too") {
  const std::vector<mutate::Sizes> sizes = {{300, 1}, {130, 0}, {1, 2}};
  const auto wrong = [&](const Code& code) {
    for (const mutate::Sizes& s : sizes)
      for (std::uint64_t seed = 0; seed < 9; ++seed)
        if (std::string what = mutate::run_tokens(code, s, seed); !what.empty()) return what;
    return std::string();
  };
  const Program p = sums();
  CHECK(wrong(code_of(p)) == "");
  CHECK(refuted(p) == "");
  const auto changed = [&](const std::function<void(Code&)>& change, const std::string& claim) {
    Code code = code_of(p);
    change(code);
    INFO(code.text());
    CHECK_THAT(refuted(code), Contains(claim));
    CHECK(wrong(code) != "");
  };
  const auto without = [](InstKind kind, int number) {
    return [=](Code& code) {
      const auto [list, at] = find(code, kind, number);
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
    };
  };
  const auto before = [](InstKind kind, int number,
                         InstKind gone) { // what stands right before an instruction
    return [=](Code& code) {
      const auto [list, at] = find(code, kind, number);
      REQUIRE((*list)[at - 1].kind == gone);
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(at) - 1);
    };
  };
  const std::string through = "devices meet when all waves have released what they did",
                    known = "every wave knows that the devices have met",
                    own = "a workgroup of a device has a flag of its own on each device";
  for (const int n : {0, 1}) {
    changed(without(InstKind::release, n), through);
    changed(before(InstKind::meet, n, InstKind::barrier), through);
    changed(
        [=](Code& code) {
          find(code, InstKind::release, n).first->at(find(code, InstKind::release, n).second).system = false;
        },
        "it is released for the workgroups of this device");
    changed(
        [=](Code& code) {
          find(code, InstKind::meet, n).first->at(find(code, InstKind::meet, n).second).access.origin.back() =
              Sym(1);
        },
        own);
    changed(
        [=](Code& code) {
          find(code, InstKind::meet, n).first->at(find(code, InstKind::meet, n).second).access.origin[0] =
              Sym(0);
        },
        own);
  }
  changed(without(InstKind::meet, 0), known);
  changed(without(InstKind::acquire, 0), "what is read of x_0 is there");
  changed(before(InstKind::acquire, 0, InstKind::barrier), known);
  changed(without(InstKind::meet, 1), "no device's launch ends");
  // A load that comes after the devices were told that there is none.
  changed(
      [](Code& code) {
        const auto [list, at] = find(code, InstKind::load, 2);
        const Inst load = (*list)[at];
        const auto [other, there] = find(code, InstKind::meet, 1);
        other->insert(other->begin() + static_cast<std::ptrdiff_t>(there), load);
      },
      through);
  // That y is there, and that all waves know of the second meeting: nobody reads anything any more, and tokens have nothing to say.
  {
    Code code = code_of(p);
    before(InstKind::release, 1, InstKind::wait)(code);
    CHECK_THAT(refuted(code), Contains("what a wave stored is there before it is released"));
  }
  for (const std::function<void(Code&)>& change :
       {std::function<void(Code&)>(before(InstKind::acquire, 1, InstKind::barrier)),
        std::function<void(Code&)>(without(InstKind::acquire, 1))}) {
    Code code = code_of(p);
    change(code);
    CHECK_THAT(refuted(code), Contains(known));
  }
}

TEST_CASE("all_gather: every device's part in its own place, and nothing next to it") {
  const Program p = kernels::gather_program({.type = Element::f32, .devices = 3, .vectors = 1, .vector = 1});
  CHECK(refuted(p) == "");
  CHECK(mutate::run_tokens(code_of(p), {300, 1}, 1) == "");
  for (int number = 0; number < 3; ++number)
    for (const std::size_t axis : {0, 1}) { // the place of another device, and another tile
      INFO("store " << number << ", axis " << axis);
      Code code = code_of(p);
      const auto [list, at] = find(code, InstKind::store, number);
      Sym& origin = (*list)[at].access.origin[axis];
      origin = axis == 0 ? floor_mod(origin + 1, Sym(3)) : origin + 1;
      CHECK(refuted(code) != "");
    }
  for (int number = 0; number < 3; ++number) { // what another device has
    Code code = code_of(p);
    const auto [list, at] = find(code, InstKind::load, number);
    const auto [others, other] = find(code, InstKind::load, (number + 1) % 3);
    (*list)[at].access.tensor = (*others)[other].access.tensor;
    CHECK(refuted(code) != "");
  }
}

TEST_CASE("moe over devices: the rows that entries name of each device, and nothing next to them") {
  for (const bool weighted : {false, true}) {
    INFO("weighted " << weighted);
    const Program p = kernels::moe_devices_program(
        {.weighted = weighted, .devices = 2, .k = 2, .threads = 64, .vector = 1});
    CHECK(refuted(p) == "");
    CHECK(mutate::run_tokens(code_of(p), {3, 65, 4, 1}, 1) == "");
    for (int number = 0; number < (weighted ? 6 : 2); ++number)
      for (const std::size_t axis : {0, 1}) { // another entry's row, or weight; other columns
        INFO("load " << number << ", axis " << axis);
        Code code = code_of(p);
        const auto [list, at] = find(code, InstKind::load, number);
        Sym& origin = (*list)[at].access.origin[axis];
        const auto other = std::find_if(p.uniforms().begin(), p.uniforms().end(),
                                        [&](const Uniform& u) { return !(u.symbol == origin); });
        origin = axis == 0 && p.tensor((*list)[at].access.tensor).device >= 0 ? other->symbol : origin + 1;
        CHECK(refuted(code) != "");
      }
    Code code = code_of(p); // the rows of the other device
    const auto [list, at] = find(code, InstKind::load, 0);
    const auto [others, other] = find(code, InstKind::load, 1);
    std::swap((*list)[at].access.tensor, (*others)[other].access.tensor);
    CHECK(refuted(code) != "");
  }
}

TEST_CASE("devices: what orders them in machine code is missed when it is gone") {
  const Undecided validation;
  for (const char* arch : {"gfx942", "gfx950"}) {
    const kernels::Artifact kernel = kernels::build(sums({.devices = 2}, arch));
    const auto* begin = reinterpret_cast<const std::uint8_t*>(kernel.hsaco.data());
    const auto object = runtime::CodeObject::parse({begin, begin + kernel.hsaco.size()}, kernel.arch);
    const auto& k = object.kernel(kernel.kernel);
    const auto program =
        runtime::isa::decode(object.code(k), k.address, runtime::isa::parse_arch(kernel.arch));
    const auto first = static_cast<std::size_t>(object.code(k).data() - object.bytes().data());
    const auto buffers = buffers_of(2, 300);
    runtime::EmulatorOptions strict;
    strict.checks = runtime::Checks::all();
    strict.max_wave_instructions = 200'000;
    const auto run = [&](const kernels::Artifact& artifact) {
      const auto device = kernels::open_device("emulator", arch);
      dynamic_cast<runtime::EmulatorDevice&>(*device).options() = strict;
      return kernels::run(*device, artifact, buffers, {300, 0});
    };
    CHECK_NOTHROW(run(kernel));
    std::map<std::string, int> all, missed;
    for (const auto& i : program.instructions) {
      const std::string name(i.mnemonic);
      if (name != "s_barrier" && name != "buffer_wbl2" && name != "buffer_inv" &&
          name != "global_store_dword" && name != "global_load_dword")
        continue;
      kernels::Artifact mutant = kernel;
      const std::uint32_t nop = 0xbf800000;
      for (std::size_t at = 0; at < i.size; at += 4)
        std::memcpy(mutant.hsaco.data() + first + (i.address - k.address) + at, &nop, 4);
      ++all[name];
      try {
        (void)run(mutant);
      } catch (const std::exception&) {
        ++missed[name];
      }
    }
    INFO(arch);
    CHECK(all["s_barrier"] == 4);
    CHECK(all["buffer_wbl2"] == 2);
    CHECK(all["buffer_inv"] == 2);
    CHECK(all["global_store_dword"] == 2);
    CHECK(all["global_load_dword"] == 4); // what it set last, and what it waits for
    // Before the first meeting the other waves have done nothing. Who waits for loads alone writes nothing back, clears nothing, and need
    // not tell the other waves, which end.
    CHECK(missed["s_barrier"] == 2);
    CHECK(missed["buffer_wbl2"] == 1);
    CHECK(missed["buffer_inv"] == 1);
    CHECK(missed["global_store_dword"] == 2);
    CHECK(missed["global_load_dword"] == 4);
  }
}

} // namespace devices_test
