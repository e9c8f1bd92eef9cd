// Limits that a user sets: cache policies of accesses, and room for waves on a SIMD. They change nothing of what a program means.
#include "specified.h"

#include <set>
#include <sstream>

namespace limits_test {

using namespace inlay;
using namespace inlay::codegen;
using Catch::Matchers::Contains;

namespace {

/// y = x + z, where x is loaded, and y stored, with a policy.
Program sum(const std::string& arch, const std::string& of_x, const std::string& of_y,
            std::int64_t most = 1 << 20) {
  Program k("sum", Target::named(arch), 64);
  const Sym n = k.size("n", {.most = most, .multiple = 4});
  const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
               z = k.input("z", Element::f32, {n});
  k.computes(y, [&](const auto& c) { return k(x, {c[0]}) + k(z, {c[0]}); });
  const Sym w = k.workgroups(0, n, 256);
  const Layout tv = line_tv(256, 4, 64);
  const auto tile = [&](const Tensor& t) { return k.tile(t, {256}, {w}); };
  const Fragment a = k.load(tile(x).cached(of_x), tv, 4), b = k.load(tile(z), tv, 4);
  k.store(k.map({a, b}, [](const auto& v) { return v[0] + v[1]; }), tile(y).cached(of_y), 4);
  return k;
}

/// c = a b', one of whose operands is used once.
Program product(const std::string& arch, const std::string& of_b, bool transfers, int waves = 0) {
  const Target& target = Target::named(arch);
  const Element e = Element::bf16;
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, e, e, Element::f32, 16), 2, 2, 64, 64, 64, 8);
  Program k("product", target, mma.threads());
  if (waves > 0) k.waves_per_simd(waves);
  const Sym M = k.size("m", {.most = 1 << 12}), N = k.size("n", {.most = 1 << 12, .multiple = 4}),
            K = k.size("k", {.most = 1 << 12, .multiple = 8});
  const Tensor C = k.output("c", Element::f32, {M, N}), A = k.input("a", e, {M, K}),
               B = k.input("b", e, {N, K});
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); });
  });
  const Sym bn = k.workgroups(0, N, 64), bm = k.workgroups(1, M, 64);
  const Layout rows = transfers ? transfer_tv(64, 64, 8, 256) : rows_tv(64, 64, 8, 256);
  const auto lds = [&](const char* name) {
    return transfers ? k.lds(name, e, {64, 64}, transfer_place(64, 64, 8))
                     : k.lds(name, e, {64, 64}, Swizzle(3, 3, 3));
  };
  const Tensor a = lds("lds_a"), b = lds("lds_b");
  const Fragment acc = k.zeros(Element::f32, mma.c(), {64, 64});
  k.loop(K, 64, {.distance = 2, .ring = 2}, [&](Sym t) {
    const auto bring = [&](const View& from, const Tensor& to) {
      transfers ? k.transfer(from, to, rows, 8) : k.copy(from, to, rows, 8);
    };
    bring(k.tile(A, {64, 64}, {bm, t}), a);
    bring(k.tile(B, {64, 64}, {bn, t}).cached(of_b), b);
    k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma);
  });
  k.store(acc, k.tile(C, {64, 64}, {bm, bn}), 4);
  return k;
}

/// The policies of loads or stores of memory, each as the machine code has it: `buffer_load_dwordx4 .. offen nt lds` is "nt".
std::multiset<std::string> policies(const kernels::Artifact& a, const std::string& mnemonic) {
  std::multiset<std::string> out;
  std::istringstream lines(a.assembly);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find(';')));
    std::string word, policy;
    if (!(words >> word) || !word.starts_with(mnemonic)) continue;
    while (words >> word)
      if (word == "nt" || word == "sc0" || word == "sc1" || word == "slc" || word == "glc" || word == "scc")
        policy += (policy.empty() ? "" : " ") + word;
    out.insert(policy);
  }
  return out;
}

/// The same but for the policies.
std::string without_policies(const kernels::Artifact& a) {
  std::string out;
  std::istringstream lines(a.assembly);
  for (std::string line; std::getline(lines, line);) {
    for (const char* word : {" nt", " sc0", " sc1", " slc", " glc", " scc"})
      for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at))
        line.erase(at, std::string(word).size());
    if (line.find(".loc") == std::string::npos) out += line.substr(0, line.find(';')) + "\n";
  }
  return out;
}

} // namespace

TEST_CASE("limits: cache policies are those of the accesses that have them") {
  for (const auto& [arch, nt, scope] :
       {std::tuple("gfx942", "nt", "sc0 sc1"), std::tuple("gfx950", "nt", "sc0 sc1"),
        std::tuple("gfx90a", "slc", "glc scc")}) {
    INFO(arch);
    const kernels::Artifact a = kernels::build(sum(arch, "nt", "sc1 sc0"), {.validate = true});
    CHECK(policies(a, "buffer_load") == std::multiset<std::string>{"", nt});
    CHECK(policies(a, "buffer_store") == std::multiset<std::string>{scope});
    specified::check(sum(arch, "nt", "sc1 sc0"), {1000}, 0, true);
    CHECK(without_policies(kernels::build(sum(arch, "nt", "nt"))) ==
          without_policies(kernels::build(sum(arch, "", ""))));
  }
  const Program k = sum("gfx942", "nt sc1", "");
  CHECK_THAT(k.text(), Contains("nt sc1]"));
  CHECK_THAT(specified::code_of(k).text(), Contains(", nt sc1"));
}

TEST_CASE(
    "limits: cache policies in loops, through LLVM and as blocks of assembly, of copies and of transfers") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const char* loops : {"ir", "asm"})
      for (const bool transfers : {false, true}) {
        if (transfers && std::string(arch) == "gfx942") continue; // 16 bytes a lane
        INFO(arch << " " << loops << (transfers ? " transfers" : ""));
        const kernels::BuildOptions how{.scheduler = "modulo", .loops = loops, .validate = true};
        const kernels::Artifact a = kernels::build(product(arch, "nt", transfers), how),
                                plain = kernels::build(product(arch, "", transfers), how);
        const auto loads = policies(a, "buffer_load");
        CHECK(2 * loads.count("nt") >= loads.size() - 2);
        CHECK(2 * loads.count("nt") <= loads.size() + 2);
        CHECK(loads.count("nt") > 1);
        CHECK(policies(plain, "buffer_load").count("nt") == 0);
        CHECK(without_policies(a) == without_policies(plain));
      }
}

TEST_CASE("limits: what has no cache policy is refused") {
  CHECK_THROWS_WITH(sum("gfx942", "slc", ""),
                    Contains("'slc' is no cache policy") && Contains("nt (used once)"));
  CHECK_THROWS_WITH(sum("gfx942", "nt nt", ""), Contains("'nt' stands there twice"));
  Program k("none", Target::named("gfx942"), 64);
  const Sym n = k.size("n", {.most = 1 << 10});
  const Tensor y = k.output("y", Element::f32, {n}), l = k.lds("l", Element::f32, {64});
  const Layout tv = line_tv(64, 1, 64);
  const int line = __LINE__ + 1;
  CHECK_THROWS_WITH(k.load(k.whole(l).cached("nt"), tv, 1),
                    Contains("l is in LDS") && Contains(std::to_string(line)));
  const Fragment f = k.zeros(Element::f32, tv, {64});
  CHECK_THROWS_WITH(k.store(f, k.whole(l).cached("nt"), 1), Contains("l is in LDS"));
  CHECK_THROWS_WITH(k.add(f, k.tile(y, {64}, {0}).cached("nt")), Contains("atomics have no cache policy"));
  Program far = [] {
    Program p("far", Target::named("gfx942"), 64);
    const Sym m = p.size("m");
    const Tensor to = p.output("to", Element::f32, {1, 64}), x = p.input("x", Element::f32, {m, 64}),
                 ids = p.input("ids", Element::i32, {1});
    p.computes(to, [&](const auto& c) { return p(x, {p.at(ids, Sym(0)), c[1]}); });
    (void)p.workgroups(0, Sym(1), 1);
    const Layout all = rows_tv(1, 64, 1, 64);
    const Fragment id = p.load(p.tile(ids, {1}, {0}), without_axis(all, 1), 1);
    p.store(p.load(p.tile(x, {1, 64}, {0, 0}).through(0, id).cached("nt"), all, 1),
            p.tile(to, {1, 64}, {0, 0}), 1);
    return p;
  }();
  CHECK_THROWS_WITH(kernels::build(std::move(far)),
                    Contains("by addresses of 64 bits in each lane have no cache policy"));
}

TEST_CASE("limits: room for waves on a SIMD, or what stands in its way") {
  const auto registers = [](const kernels::Artifact& a) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
    return runtime::CodeObject::parse({bytes, bytes + a.hsaco.size()}).kernel(a.kernel).descriptor.vgprs;
  };
  const kernels::Artifact free = kernels::build(product("gfx942", "", false)),
                          two = kernels::build(product("gfx942", "", false, 2), {.validate = true});
  CHECK(registers(two) <= 256);
  CHECK_THAT(two.program, Contains("limit   room for 2 waves on a SIMD"));
  for (const char* loops :
       {"ir", "asm"}) // two stages of two tiles of 8 KB leave two workgroups, of a wave a SIMD each
    CHECK_THROWS_WITH(kernels::build(product("gfx942", "", false, 4), {.loops = loops}),
                      Contains("no room for 4 waves on a SIMD") &&
                          Contains("32768 bytes of LDS a workgroup leave 2") && Contains("limits_test.cpp:"));
  specified::check(sum("gfx942", "", ""), {1000});
  Program k("k", Target::named("gfx942"), 64);
  CHECK_THROWS_WITH(k.waves_per_simd(0), Contains("0 waves on a SIMD") && Contains("1 to 8"));
  CHECK_THROWS_WITH(k.waves_per_simd(9), Contains("9 waves on a SIMD"));
  k.waves_per_simd(3);
  CHECK_THROWS_WITH(k.waves_per_simd(2), Contains("2 where 3 were said"));
  CHECK(registers(free) > 0);
}

} // namespace limits_test
