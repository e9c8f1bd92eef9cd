// What a proof rests on and nobody checks, broken one by one: what the launch refuses, what `run` and the emulator say, and what goes
// wrong silently, with the number that it gives. docs/guide/36-launch-conditions.md lists them.
#include "attack.h"

#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>
#include <inlay/runtime/isa/assemble.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

namespace assumptions_test {

using namespace adversary;
using Catch::Matchers::Contains;

namespace {

template <class T>
kernels::Bytes bytes_of(const std::vector<T>& values) {
  kernels::Bytes out(sizeof(T) * values.size());
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}
template <class T>
std::vector<T> values_of(const kernels::Bytes& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}
void put(runtime::Device& on, const runtime::Buffer& to, float value) {
  const std::vector<float> all(to.size() / sizeof(float), value);
  on.copy_in(to.address(), {reinterpret_cast<const std::uint8_t*>(all.data()), to.size()});
}
std::vector<float> held(runtime::Device& on, const runtime::Buffer& by) {
  std::vector<float> all(by.size() / sizeof(float));
  on.copy_out({reinterpret_cast<std::uint8_t*>(all.data()), by.size()}, by.address());
  return all;
}
bool said(const kernels::Artifact& a, const std::string& claim) {
  return std::any_of(a.proofs.items().begin(), a.proofs.items().end(), [&](const auto& i) {
    return i.verdict == "the caller's" && i.subject.find(claim) != std::string::npos;
  });
}
std::unique_ptr<runtime::Device> device() {
  runtime::EmulatorOptions o;
  o.checks = runtime::Checks::all();
  return kernels::open_device("emulator", "gfx942", o);
}
std::vector<kernels::Bytes> run(const kernels::Artifact& a, const std::vector<kernels::Bytes>& buffers,
                                const std::vector<std::int64_t>& sizes) {
  return kernels::run(*device(), a, buffers, sizes);
}

// y(i) = 2 x(i)
Program twice() {
  Program k("twice", target(), 64);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
  k.computes(y, [&](const auto& c) { return k(x, {c[0]}) * 2.0; });
  const Sym w = k.workgroups(0, n, 256);
  const Layout tv = line_tv(256, 4, 64);
  k.store(k.map({k.load(k.tile(x, {256}, {w}), tv, 4)}, [](const auto& v) { return v[0] * 2.0; }),
          k.tile(y, {256}, {w}), 4);
  return k;
}

// y(i) = the sum over p of x(p,i): parts of rows by workgroups, added, or stored and summed by the last.
enum class Sums { adds, ticket };
Program sums(Sums way) {
  Program k("sums", target(), 64);
  const Sym n = k.size("n", {.most = 1000}), m = k.size("m", {.most = 1 << 14});
  const Tensor y = k.output("y", Element::f32, {Sym(1), m});
  const Tensor x = k.input("x", Element::f32, {n, m});
  const Layout tv = rows_tv(1, 64, 1, 64), line = without_axis(tv, 0);
  const Sym column = k.workgroups(0, m, 64), part = k.workgroups(1, n, 1);
  const auto row = [&](const Tensor& of, Sym at) { return k.tile(of, {1, 64}, {at, column}); };
  const auto all = [&](const Tensor& of, Sym end, const auto& c) {
    return k.sum(n, Sym(0), end, [&, c](Sym i) { return k(of, {i, c}); });
  };
  if (way == Sums::adds) {
    k.computes(y, [&](const auto& c) { return all(x, n, c[1]); });
    k.add(k.fold(Monoid::sum, k.load(row(x, part), tv, 1), 0), row(y, 0));
    return k;
  }
  const Tensor parts = k.output("parts", Element::f32, {n, m});
  k.computes(parts, [&](const auto& c) { return k(x, {c[0], c[1]}); });
  k.computes(y, [&](const auto& c) { return all(parts, n, c[1]); });
  k.store(k.load(row(x, part), tv, 1), row(parts, part), 1);
  k.if_less(n - Sym(2), k.ticket("arrived", part), [&] {
    const Fragment sum = k.zeros(Element::f32, line, {64});
    k.loop(n, 1, {.distance = 1, .ring = 1}, [&](Sym t) {
      k.update(sum, {k.fold(Monoid::sum, k.load(row(parts, t), tv, 1), 0)},
               [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(sum, row(y, 0), 1);
  });
  return k;
}

// y(i) = 2 x(i) before a number that memory holds, 0 after it.
Program before() {
  Program k("before", target(), 64);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
               table = k.input("used", Element::i32, {1});
  const Sym used = k.uniform(table, 0);
  k.computes(y, [&](const auto& c) { return inside(c[0], used, k(x, {c[0]}) * 2.0, 0); });
  const Sym w = k.workgroups(0, n, 256);
  const Layout tv = line_tv(256, 4, 64);
  const View to = k.tile(y, {256}, {w});
  k.if_less(
      Sym(256) * w, used,
      [&] {
        const Fragment f =
            k.map({k.load(k.tile(x, {256}, {w}), tv, 4)}, [](const auto& v) { return v[0] * 2.0; });
        k.store(k.fill(f, 0, Sym(256) * w, used, 0), to, 4);
      },
      [&] { k.store(k.zeros(Element::f32, tv, {256}), to, 4); });
  return k;
}

// y(ids(t)) = x(t)
Program put() {
  Program k("put", target(), 64);
  const Sym t = k.size("t", {.most = 1 << 20, .multiple = 64}), v = k.size("rows", {.most = 1 << 20});
  const Tensor y = k.inout("y", Element::f32, {v}), x = k.input("x", Element::f32, {t}),
               ids = k.input("ids", Element::i32, {t});
  k.puts(y, ids, [&](const auto& c) { return k(x, {c[0]}); });
  const Sym w = k.workgroups(0, t, 64);
  const Layout tv = line_tv(64, 1, 64);
  const Fragment at = k.load(k.tile(ids, {64}, {w}), tv, 1);
  k.store(k.load(k.tile(x, {64}, {w}), tv, 1), k.tile(y, {64}, {0}).through(0, at), 1);
  return k;
}

// y(i) = x_0(i) + x_1(i), of what two devices hold.
Program meeting() {
  Program k("meeting", target(), 64);
  const Sym n = k.size("n", {.most = 1 << 20});
  static_cast<void>(k.devices(2));
  const Tensor y = k.output("y", Element::f32, {n});
  const std::vector<Tensor> x = k.peers("x", Element::f32, {n});
  k.computes(y, [&](const auto& c) { return k(x[0], {c[0]}) + k(x[1], {c[0]}); });
  const Sym w = k.workgroups(0, n, 64);
  const Layout tv = line_tv(64, 1, 64);
  k.meet("signals");
  const Fragment a = k.load(k.tile(x[0], {64}, {w}), tv, 1), b = k.load(k.tile(x[1], {64}, {w}), tv, 1);
  k.store(k.map({a, b}, [](const auto& v) { return v[0] + v[1]; }), k.tile(y, {64}, {w}), 1);
  k.meet("signals");
  return k;
}

} // namespace

TEST_CASE("assumptions: what the launch checks is refused, and nothing runs") {
  const kernels::Artifact a = kernels::build(twice());
  const auto on = device();
  kernels::LoadedKernel kernel(*on, a);
  const runtime::Buffer y(*on, 4096), x(*on, 4096);
  const std::vector<std::uint64_t> both{y.address(), x.address()};
  CHECK_NOTHROW(kernel.launch(both, {1024}));
  on->synchronize();
  CHECK_THROWS_WITH(kernel.launch(both, {1023}), Contains("n = 1023"));
  CHECK_THROWS_WITH(kernel.launch(both, {(1 << 20) + 4}), Contains("n = 1048580"));
  CHECK_THROWS_WITH(kernel.launch(std::vector{y.address(), x.address() + 2}, {512}),
                    Contains("the address of x") && Contains("is no multiple of 4"));
  CHECK_THROWS_WITH(kernel.launch(std::vector<std::uint64_t>{y.address(), 0}, {512}),
                    Contains("x is a null pointer, and has 2048 bytes"));
  CHECK_THROWS_WITH(kernel.launch(std::vector<std::uint64_t>{0, x.address()}, {512}),
                    Contains("y is a null pointer"));
  CHECK_THROWS_WITH(kernel.launch(std::vector{y.address(), y.address() + 512}, {512}),
                    Contains("y") && Contains("x"));
  kernels::LaunchPlan plan = a.contract.plan({1024});
  CHECK_NOTHROW(kernel.launch(plan, both));
  on->synchronize();
  plan.grid[0] += 1;
  CHECK_THROWS_WITH(kernel.launch(plan, both), Contains("the plan is not the one for its sizes"));
}

TEST_CASE("assumptions: buffers are as large as the sizes ask for") {
  const kernels::Artifact a = kernels::build(twice());
  const std::vector<float> ones(1024, 1);
  CHECK_THROWS_WITH(run(a, {kernels::Bytes(4096), bytes_of(std::vector<float>(1020, 1))}, {1024}),
                    Contains("x") && Contains("4080") && Contains("4096"));
  // A launch by addresses does not know: the emulator finds the access.
  const auto on = device();
  kernels::LoadedKernel kernel(*on, a);
  const runtime::Buffer y(*on, 4096), x(*on, 2048);
  const auto launch = [&] {
    kernel.launch(std::vector{y.address(), x.address()}, {1024});
    on->synchronize();
  };
  bool found = false;
  try {
    launch();
    const auto& last = dynamic_cast<runtime::EmulatorDevice&>(*on).last_launch();
    found = !last.findings.empty();
  } catch (const std::exception& e) {
    INFO(e.what());
    found = true;
  }
  CHECK(found);
}

TEST_CASE("assumptions: what is added to holds 0") {
  const kernels::Artifact a = kernels::build(sums(Sums::adds));
  CHECK(said(a, "y holds 0 before the launch"));
  const std::vector<float> x(128, 1);
  CHECK(values_of<float>(run(a, {kernels::Bytes(256), bytes_of(x)}, {2, 64})[0]) ==
        std::vector<float>(64, 2));
  // Silently: the sum begins at what was there.
  CHECK(values_of<float>(run(a, {bytes_of(std::vector<float>(64, 5)), bytes_of(x)}, {2, 64})[0]) ==
        std::vector<float>(64, 7));
}

TEST_CASE("assumptions: counters hold 0") {
  const kernels::Artifact a = kernels::build(sums(Sums::ticket));
  CHECK(said(a, "arrived holds 0 before the launch"));
  const std::vector<float> x(3 * 64, 1), there(64, -1);
  const auto sum = [&](std::int32_t counter) {
    return values_of<float>(run(a,
                                {bytes_of(there), bytes_of(x), kernels::Bytes(4 * 3 * 64),
                                 bytes_of(std::vector<std::int32_t>{counter})},
                                {3, 64})[0]);
  };
  CHECK(sum(0) == std::vector<float>(64, 3));
  // With tickets from 7 on each takes itself for the last one, or none does: the emulator reports what they read too early.
  CHECK_THROWS_AS(sum(7), kernels::FindingsError);
  // Turns: the first one waits for ever, and the emulator says so.
  const kernels::Artifact turns =
      kernels::find_kernel("cumsum")->build({{"rows", "1"}, {"dtype", "f32"}, {"threads", "64"}}, {});
  CHECK(said(turns, "turn holds 0 before the launch"));
  const std::vector<float> ones(3 * 256, 1);
  const auto running = [&](std::int32_t counter) {
    return values_of<float>(run(turns,
                                {kernels::Bytes(4 * ones.size()), kernels::Bytes(4 * ones.size()),
                                 bytes_of(ones), bytes_of(std::vector<std::int32_t>{counter})},
                                {3, 256})[0]);
  };
  CHECK(running(0)[512] == 3);
  CHECK_THROWS_AS(running(5), runtime::ExecutionError);
}

TEST_CASE("assumptions: a table of bounds holds nothing negative") {
  const kernels::Artifact a = kernels::build(before());
  CHECK(said(a, "used holds nothing negative"));
  const auto with = [&](std::int32_t used) {
    return values_of<float>(run(a,
                                {kernels::Bytes(4096), bytes_of(std::vector<float>(1024, 1)),
                                 bytes_of(std::vector<std::int32_t>{used})},
                                {1024})[0]);
  };
  const auto twos = [](const std::vector<float>& y) { return std::count(y.begin(), y.end(), 2.0F); };
  CHECK(twos(with(300)) == 300);
  CHECK(twos(with(0)) == 0);
  // A negative one counts as 0.
  for (const std::int32_t used : {-1, -300, INT32_MIN}) CHECK(twos(with(used)) == 0);
}

TEST_CASE("assumptions: no two entries of a table name one row") {
  const kernels::Artifact a = kernels::build(put());
  CHECK(said(a, "no two entries of ids name one row of y"));
  std::vector<std::int32_t> ids(128);
  std::vector<float> x(128);
  for (std::size_t i = 0; i < 128; ++i)
    ids[i] = static_cast<std::int32_t>(127 - i), x[i] = static_cast<float>(i);
  const auto put_at = [&] {
    return values_of<float>(
        run(a, {bytes_of(std::vector<float>(128, -1)), bytes_of(x), bytes_of(ids)}, {128, 128})[0]);
  };
  CHECK(put_at()[0] == 127);
  ids[3] = ids[70]; // of two workgroups: the emulator reports the race
  CHECK_THROWS_AS(put_at(), kernels::FindingsError);
}

TEST_CASE("assumptions: data are numbers; NaN is where the specification has it, and there alone") {
  const kernels::Artifact a = kernels::build(twice());
  std::vector<float> x(1024, 3);
  x[17] = NAN, x[1000] = INFINITY;
  const auto y = values_of<float>(run(a, {kernels::Bytes(4096), bytes_of(x)}, {1024})[0]);
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK((i == 17 ? std::isnan(y[i]) : y[i] == (i == 1000 ? INFINITY : 6.0F)));
}

TEST_CASE("assumptions: workgroups begin in the order of their numbers") {
  kernels::Artifact a =
      kernels::find_kernel("cumsum")->build({{"rows", "1"}, {"dtype", "f32"}, {"threads", "256"}}, {});
  CHECK(said(a, "workgroups begin in the order of their numbers"));
  const auto last_row = [&](std::int64_t n) {
    const std::vector<float> ones(static_cast<std::size_t>(4 * n), 1);
    const kernels::Bytes none(4 * ones.size());
    return values_of<float>(run(a, {none, none, bytes_of(ones), kernels::Bytes(4)}, {n, 4})[0]).back();
  };
  CHECK(last_row(310) == 310);
  // The same code with the rows' workgroups numbered from the other end, the first to begin the last in turn, and one of them a compute
  // unit, of which there are 304.
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = a.assembly.find(from);
    REQUIRE(at != std::string::npos);
    a.assembly.replace(at, from.size(), to);
  };
  replace("s_lshl_b32 s0, s12, 10\n",
          "s_not_b32 s13, s13\n\ts_add_i32 s13, s13, s10\n\ts_lshl_b32 s0, s12, 10\n");
  replace("amdhsa_group_segment_fixed_size 0", "amdhsa_group_segment_fixed_size 65536");
  replace(".group_segment_fixed_size: 0", ".group_segment_fixed_size: 65536");
  const auto code = runtime::isa::assemble_code_object(a.assembly, runtime::isa::Arch::gfx942);
  const auto* p = reinterpret_cast<const std::byte*>(code.data());
  a.hsaco.assign(p, p + code.size());
  CHECK(last_row(50) == 50); // all of them are on the device at once, and the last one comes there
  CHECK_THROWS_WITH(last_row(310), Contains("6 have not begun, as the device holds 304 of them"));
}

TEST_CASE("assumptions: the flags of all devices hold the same") {
  const kernels::Artifact a = kernels::build(meeting());
  CHECK(said(a, "the flags signals of all devices hold the same before the launch"));
  CHECK(said(a, "all 2 devices launch the kernel"));
  const auto sums = [&](std::int32_t of_device_1) {
    const auto on = device();
    auto& emulator = dynamic_cast<runtime::EmulatorDevice&>(*on);
    emulator.options().max_wave_instructions = 1'000'000;
    kernels::LoadedKernel kernel(*on, a);
    const std::vector<kernels::Bytes> buffers = {
        kernels::Bytes(256), bytes_of(std::vector<float>(64, 1)), bytes_of(std::vector<float>(64, 2)),
        bytes_of(std::vector<std::int32_t>(2, 0)), bytes_of(std::vector<std::int32_t>(2, of_device_1))};
    kernels::PlacedBuffers placed(*on, a.contract, {buffers.begin(), buffers.end()});
    kernel.launch_on_devices(a.contract.plan({64, 0}), placed.addresses());
    const auto& found = emulator.last_launch().findings;
    return std::pair(values_of<float>(placed.read([](std::size_t) { return true; })[0])[63],
                     std::count_if(found.begin(), found.end(), [](const auto& f) { return !f.note; }));
  };
  CHECK(sums(0) == std::pair(3.0F, std::ptrdiff_t{0}));
  // One device waits for a number that the other one does not reach, or does not wait at all.
  const auto wrong = [&](std::int32_t of_device_1) {
    try {
      return sums(of_device_1).second != 0;
    } catch (const runtime::ExecutionError& e) {
      INFO(e.what());
      return true;
    }
  };
  CHECK(wrong(7));
  CHECK(wrong(-7));
  // One device alone would wait for ever; it is not launched.
  const auto on = device();
  kernels::LoadedKernel kernel(*on, a);
  const runtime::Buffer memory(*on, 4096);
  CHECK_THROWS_WITH(kernel.launch(a.contract.plan({64, 0}),
                                  std::vector<std::uint64_t>(a.contract.buffers.size(), memory.address())),
                    Contains("2 devices run it together"));
}

TEST_CASE("assumptions: nothing else writes what a kernel reads while it runs") {
  const kernels::Artifact a = kernels::build(twice());
  runtime::EmulatorOptions o;
  o.checks = runtime::Checks::all();
  o.threads = 1;
  runtime::EmulatorDevice on(runtime::isa::Arch::gfx942, o);
  kernels::LoadedKernel kernel(on, a);
  const runtime::Buffer y(on, 4096), x(on, 4096);
  put(on, x, 1);
  on.options().progress = [&](std::uint64_t done, std::uint64_t) { // the host, between two workgroups
    if (done == 2) put(on, x, 5);
  };
  kernel.launch(std::vector{y.address(), x.address()}, {1024});
  on.synchronize();
  // Silently: of some workgroups what was there, of others what came.
  const auto out = held(on, y);
  CHECK(std::count(out.begin(), out.end(), 2.0F) == 512);
  CHECK(std::count(out.begin(), out.end(), 10.0F) == 512);
  CHECK(on.last_launch().findings.empty());
}

TEST_CASE("assumptions: addresses are below 2^48") {
  const kernels::Artifact a = kernels::build(twice());
  const auto on = device();
  kernels::LoadedKernel kernel(*on, a);
  const runtime::Buffer y(*on, 4096), x(*on, 4096);
  put(*on, x, 1);
  // Silently: a descriptor keeps 48 bits of an address.
  kernel.launch(std::vector{y.address() + (std::uint64_t{1} << 48), x.address()}, {1024});
  on->synchronize();
  CHECK(held(*on, y) == std::vector<float>(1024, 2));
}

} // namespace assumptions_test
