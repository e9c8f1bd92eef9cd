// Program::print: what it writes, where, and that it changes nothing else.
#include "specified.h"

#include <cmath>
#include <cstring>
#include <inlay/algebra/parse.h>
#include <set>

namespace print_test {

using namespace inlay;
using namespace inlay::codegen;
using Catch::Matchers::Contains;

namespace {

using Values = std::vector<Expr>;

/// y = 2 x of workgroups of 512; `prints` what is wanted.
Program doubled(const std::string& arch, const std::function<void(Program&, Sym, const Fragment&)>& prints) {
  Program k("doubled", Target::named(arch), 128);
  const Sym N = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor Y = k.output("y", Element::f32, {N}), X = k.input("x", Element::f32, {N});
  k.computes(Y, [&](const auto& c) { return k(X, {c[0]}) * 2.0; });
  const Sym part = k.workgroups(0, N, 512);
  const Fragment x = k.load(k.tile(X, {512}, {part}), line_tv(512, 4, 128), 4);
  prints(k, part, x);
  k.store(k.map({x}, [](const auto& v) { return v[0] * 2.0; }), k.tile(Y, {512}, {part}), 4);
  return k;
}
/// Of the elements from 9 on, with their numbers.
void large(Program& k, Sym part, const Fragment& x) {
  // [print]
  k.print(
      "x[{}] is {}", {x},
      [&](const auto& v) {
        return std::vector{integer(k.number(Sym(512) * part + k.position(0))), v[0]};
      },
      [&](const auto& v) { return select(v[0], k.constant(9), k.constant(1), k.constant(0)); });
  // [print end]
}
void nothing(Program&, Sym, const Fragment&) {}

struct Ran {
  std::vector<float> y;
  std::string printed;
};
Ran run(const kernels::Artifact& artifact, const std::vector<float>& x, unsigned threads = 0) {
  kernels::Bytes bytes(4 * x.size());
  std::memcpy(bytes.data(), x.data(), bytes.size());
  const auto device = kernels::open_device("emulator", artifact.arch);
  auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  options.checks = runtime::Checks::all();
  options.threads = threads;
  Ran ran;
  options.print = [&](std::string_view text, bool to_stderr) {
    CHECK(!to_stderr);
    ran.printed += text;
  };
  const kernels::Bytes after = kernels::run(*device, artifact, {kernels::Bytes(bytes.size()), bytes},
                                            {static_cast<std::int64_t>(x.size())})[0];
  ran.y.resize(x.size());
  std::memcpy(ran.y.data(), after.data(), after.size());
  return ran;
}

std::vector<std::string> claims_of(const kernels::Artifact& a) {
  std::vector<std::string> out;
  for (const kernels::ProofItem& i : a.proofs.items()) out.push_back(i.claim + " | " + i.verdict);
  std::sort(out.begin(), out.end());
  return out;
}
std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

} // namespace

TEST_CASE("print: a line for each element of the condition, with place and values") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const kernels::Artifact artifact = kernels::build(doubled(arch, large));
    std::vector<float> x(2000, 3), twice(2000, 6);
    CHECK(run(artifact, x).printed.empty());
    x[1999] = 16777217.5F, twice[1999] = 2 * x[1999];
    x[512 + 300] = 9.1F, twice[512 + 300] = 2 * 9.1F; // of work-item 75
    x[512 + 303] = INFINITY, twice[512 + 303] = INFINITY;
    const Ran ran = run(artifact, x);
    CHECK(ran.y == twice);
    CHECK(ran.printed == "workgroup 1,0,0, wave 1, lane 11: x[812] is 9.10000038\n"
                         "workgroup 1,0,0, wave 1, lane 11: x[815] is inf\n"
                         "workgroup 3,0,0, wave 1, lane 51: x[1999] is 16777218\n");
  }
}

TEST_CASE("print: many lines at once, one workgroup after the other, whatever runs first") {
  const kernels::Artifact artifact =
      kernels::build(doubled("gfx942", [](Program& k, Sym, const Fragment& x) { k.print("{}", {x}); }));
  std::vector<float> x(20000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const std::string once = run(artifact, x, 1).printed, again = run(artifact, x, 4).printed;
  CHECK(lines_of(once) == 20480); // the last tile is filled up with 0
  std::vector<std::string> of_group[2];
  std::vector<bool> seen(x.size());
  for (const auto& [text, out] : {std::pair(&once, &of_group[0]), {&again, &of_group[1]}}) {
    std::istringstream in(*text);
    for (std::string line; std::getline(in, line);) {
      int group = 0, wave = 0, lane = 0;
      double value = 0;
      REQUIRE(std::sscanf(line.c_str(), "workgroup %d,0,0, wave %d, lane %d: %lf", &group, &wave, &lane,
                          &value) == 4);
      const int n = static_cast<int>(value);
      if (n != 0) REQUIRE((group == n / 512 && wave == n % 512 / 256 && lane == n % 256 / 4));
      seen[static_cast<std::size_t>(n)] = true;
      out->push_back(std::to_string(group));
    }
    CHECK(std::is_sorted(out->begin(), out->end(), [](const std::string& a, const std::string& b) {
      return std::stoi(a) < std::stoi(b);
    }));
  }
  CHECK(of_group[0] == of_group[1]);
  CHECK(std::count(seen.begin(), seen.end(), false) == 0);
}

TEST_CASE("print: of what a loop carries, of trips, and of elements that several threads hold, once") {
  const auto [distance, ring] = GENERATE(std::pair(0, 1), std::pair(2, 3));
  Program k("sums", Target::named("gfx942"), 64);
  const Sym M = k.size("m"), N = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {M, N}),
               T = k.input("t", Element::i32, {M});
  k.computes(Y, [&](const auto& c) { return k.sum(N, [&](Sym i) { return k(X, {c[0], i}); }); });
  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, 256, 4, 64);
  const Fragment tag = k.load(k.tile(T, {1}, {row}), parse_layout("(64,1):(0,0)"), 1);
  k.print("100 % tag {}, {}", {tag, tag});
  const Fragment sum = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
  k.loop(N, 256, {.distance = distance, .ring = ring}, [&](Sym t) {
    const Fragment x = k.load(k.tile(X, {1, 256}, {row, t}), tv, 4);
    k.print("trip {} of row {}", {t, row});
    k.update(sum, {k.fold(Monoid::sum, x, 1)}, [](const auto& v) { return v[0] + v[1]; });
    k.print("up to here {}", {sum});
  });
  k.store(sum, k.tile(Y, {1, 1}, {row, 0}), 1);
  const kernels::Artifact artifact = kernels::build(std::move(k));
  CHECK_THAT(artifact.program, Contains("print   \"trip {} of row {}\" of"));
  const auto device = kernels::open_device("emulator", "gfx942");
  auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  options.checks = runtime::Checks::all();
  std::string printed;
  options.print = [&](std::string_view text, bool) { printed += text; };
  const std::vector<float> x(2 * 1000, 0.5F);
  const std::int32_t tags[] = {2147483647, -16777219};
  kernels::Bytes bytes(4 * x.size()), of_tags(8);
  std::memcpy(bytes.data(), x.data(), bytes.size());
  std::memcpy(of_tags.data(), tags, 8);
  (void)kernels::run(*device, artifact, {kernels::Bytes(8), bytes, of_tags}, {2, 1000});
  std::string wanted;
  for (int m = 0; m < 2; ++m) {
    const std::string place = "workgroup " + std::to_string(m) + ",0,0, wave 0, lane 0: ";
    wanted += place + "100 % tag " + std::to_string(tags[m]) + ", " + std::to_string(tags[m]) + "\n";
    for (int t = 0; t < 4; ++t)
      wanted += place + "trip " + std::to_string(t) + " of row " + std::to_string(m) + "\n" + place +
                "up to here " + std::to_string(t == 3 ? 500 : 128 * (t + 1)) + "\n";
  }
  CHECK(printed == wanted);
}

TEST_CASE("print: it changes no claim, no argument, and no other operation") {
  const kernels::Artifact with = kernels::build(doubled("gfx942", large)),
                          without = kernels::build(doubled("gfx942", nothing));
  CHECK(claims_of(with) == claims_of(without));
  CHECK(with.contract.arguments.size() == without.contract.arguments.size());
  const Program p = doubled("gfx942", large), q = doubled("gfx942", nothing);
  std::vector<std::string> kinds[2];
  for (const auto& [of, out] : {std::pair(&p, &kinds[0]), {&q, &kinds[1]}})
    for (const CodeRegion& r : specified::code_of(*of).regions) {
      std::set<int> needed; // registers that others use than prints
      for (const Inst& i : r.body)
        if (i.kind != InstKind::print)
          for (const Reg& u : i.uses) needed.insert(u.id);
      for (const Inst& i : r.body)
        if (i.kind != InstKind::print && (i.kind != InstKind::map || needed.contains(i.def.id)))
          out->emplace_back(to_string(i.kind));
    }
  CHECK(kinds[0] == kinds[1]);
  CHECK(std::find(kinds[0].begin(), kinds[0].end(), "store") != kinds[0].end());
}

TEST_CASE("print: what it prints has to be there") {
  const Program p = doubled("gfx942", [](Program& k, Sym, const Fragment& x) { k.print("{}", {x}); });
  Code code = specified::code_of(p);
  CHECK(specified::refuted(code) == "");
  std::size_t moved = 0;
  for (CodeRegion& r : code.regions) {
    const auto is_print = [](const Inst& i) { return i.kind == InstKind::print; };
    const auto first = std::find_if(r.body.begin(), r.body.end(), is_print);
    if (first == r.body.end()) continue;
    std::rotate(r.body.begin(), first, first + 1);
    ++moved;
  }
  CHECK(moved == 1);
  CHECK(specified::refuted(code) != "");
}

TEST_CASE("print: lines before a check that fails are there", "[error]") {
  const kernels::Artifact artifact =
      kernels::build(doubled("gfx950", [](Program& k, Sym part, const Fragment& x) {
        large(k, part, x);
        k.check(
            {x}, [&](const Values& v) { return select(k.constant(20), v[0], k.constant(1), k.constant(0)); },
            "x is at most 20");
      }));
  std::vector<float> x(512, 1);
  x[5] = 10, x[300] = 30;
  const auto device = kernels::open_device("emulator", "gfx950");
  std::string printed;
  dynamic_cast<runtime::EmulatorDevice&>(*device).options().print = [&](std::string_view text, bool) {
    printed += text;
  };
  kernels::Bytes bytes(4 * x.size());
  std::memcpy(bytes.data(), x.data(), bytes.size());
  CHECK_THROWS_WITH(kernels::run(*device, artifact, {kernels::Bytes(2048), bytes}, {512}),
                    Contains("check failed: x is at most 20"));
  CHECK_THAT(printed, Contains("x[5] is 10\n") && Contains("x[300] is 30\n"));
}

TEST_CASE("print: at once, while the launch runs") {
  const kernels::Artifact artifact = kernels::build(
      doubled("gfx942", [](Program& k, Sym part, const Fragment&) { k.print("part {}", {part}); }));
  const auto device = kernels::open_device("emulator", "gfx942");
  auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  std::string seen;
  options.print = [&](std::string_view text, bool) { seen += text.substr(text.find(": ")); };
  options.progress = [&](std::uint64_t done, std::uint64_t) {
    seen += "; " + std::to_string(done) + " over\n";
  };
  (void)kernels::run(*device, artifact, {kernels::Bytes(4 * 1000), kernels::Bytes(4 * 1000)}, {1000});
  CHECK(seen == ": part 0\n; 1 over\n: part 1\n; 2 over\n");
}

TEST_CASE("print: devices that wait for one another print all lines, each once") {
  Program k("both", Target::named("gfx942"), 64);
  const Sym N = k.size("n", {.most = 1 << 20}), rank = k.devices(2);
  const Tensor Y = k.output("y", Element::f32, {N});
  const std::vector<Tensor> X = k.peers("x", Element::f32, {N});
  k.computes(Y, [&](const auto& c) { return k(X[0], {c[0]}) + k(X[1], {c[0]}); });
  const Sym part = k.workgroups(0, N, 64);
  const Layout tv = line_tv(64, 1, 64);
  k.print("{} comes with {}", {rank, part});
  k.meet("flags");
  const Fragment a = k.load(k.tile(X[0], {64}, {part}), tv, 1), b = k.load(k.tile(X[1], {64}, {part}), tv, 1);
  k.print("{} and {}", {a, b});
  k.store(k.map({a, b}, [](const auto& v) { return v[0] + v[1]; }), k.tile(Y, {64}, {part}), 1);
  k.meet("flags");
  const kernels::Artifact artifact = kernels::build(std::move(k));
  const auto device = kernels::open_device("emulator", "gfx942");
  auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  std::multiset<std::string> lines;
  options.print = [&](std::string_view text, bool) { lines.emplace(text); };
  kernels::Bytes x(4 * 640);
  for (std::size_t i = 0; i < 640; ++i) {
    const auto v = static_cast<float>(i);
    std::memcpy(x.data() + 4 * i, &v, 4);
  }
  (void)kernels::run(*device, artifact,
                     {kernels::Bytes(4 * 640), x, x, kernels::Bytes(80), kernels::Bytes(80)}, {640, 0});
  std::multiset<std::string> wanted;
  for (int i = 0; i < 640; ++i) {
    const std::string at = "workgroup " + std::to_string(i / 64) + ",0,0, wave 0, lane ",
                      both = std::to_string(i) + " and " + std::to_string(i) + "\n";
    for (int r = 0; r < 2; ++r) {
      wanted.insert(at + std::to_string(i % 64) + ": " + both);
      if (i % 64 == 0)
        wanted.insert(at + "0: " + std::to_string(r) + " comes with " + std::to_string(i / 64) + "\n");
    }
  }
  CHECK(lines == wanted);
}

TEST_CASE("print: more lines than the buffer holds at a time are all there") {
  const kernels::Artifact artifact = kernels::build(doubled("gfx942", [](Program& k, Sym, const Fragment& x) {
    k.print("{} {}", {x, x});
  }));
  const auto device = kernels::open_device("emulator", "gfx942");
  auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
  std::size_t lines = 0, wrong = 0;
  options.print = [&](std::string_view text, bool to_stderr) {
    ++lines;
    wrong += to_stderr || !text.ends_with(": 0 0\n") ? 1 : 0;
  };
  // A record is 4 bytes, a number of 8, and values of 8: three of the workgroup, wave, lane and two elements; 68 bytes, of 16 MiB.
  const std::int64_t n = 1 << 19;
  const auto bytes = static_cast<std::size_t>(4 * n);
  (void)kernels::run(*device, artifact, {kernels::Bytes(bytes), kernels::Bytes(bytes)}, {n});
  CHECK(lines == n);
  CHECK(wrong == 0);
}

TEST_CASE("print: what it refuses", "[error]") {
  const auto with = [](const std::string& text, int count) {
    (void)doubled("gfx942", [&](Program& k, Sym, const Fragment& x) {
      k.print(text, {x}, [&](const Values& v) { return Values(static_cast<std::size_t>(count), v[0]); });
    });
  };
  CHECK_THROWS_WITH(with("{} {}", 1),
                    Contains("a value for each {}, at most 16") && Contains("values 1 for 2 {}"));
  CHECK_THROWS_WITH(with("none", 1), Contains("values 1 for 0 {}"));
  std::string many;
  for (int i = 0; i < 17; ++i) many += "{}";
  CHECK_THROWS_WITH(with(many, 17), Contains("at most 16"));
  CHECK_THROWS_WITH(with("two\nlines {}", 1), Contains("a line of ASCII without a backslash"));
  CHECK_THROWS_WITH(with("\\n {}", 1), Contains("a line of ASCII without a backslash"));
  CHECK_NOTHROW(with(many.substr(2), 16));
}

} // namespace print_test
