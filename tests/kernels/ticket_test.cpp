// Tickets: workgroups store parts, and the last one puts them together: on the emulator, against the specification; and what
// refuses a program or code that is wrong.
#include "../mutate/tokens.h"
#include "specified.h"

#include <inlay/kernels/gemm/spec.h>

#include <cstring>

namespace ticket_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace specified;
using Catch::Matchers::Contains;

namespace {

// y(i) = sum over p of 2 x(i, p): column p by workgroup p, the sum by whoever comes last.
struct Columns {
  bool ticket = true, branch = true;
  int others = 2;          ///< the branch is taken where count - others < number
  bool before = true;      ///< parts are stored before the ticket, not after it
  int from = 0;            ///< how many tiles after the workgroup's the parts are read
  bool by_each = false;    ///< the last workgroup stores where its part is, not where its rows are
  bool again = false;      ///< it stores its part once more
  bool transposed = false; ///< the ticket is drawn along the rows
  bool otherwise = false;  ///< the others store the sum too
};
Program columns(const Columns& c = {}) {
  Program k("columns", Target::named("gfx942"), 128);
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1000});
  const Tensor y = k.output("y", Element::f32, {m}),
               parts = k.output("parts", Element::f32, {m, n},
                                SymLayout::col_major(BasicIntTuple<Sym>::of({m, n}))),
               x = k.input("x", Element::f32, {m, n}, SymLayout::col_major(BasicIntTuple<Sym>::of({m, n})));
  k.computes(parts, [&](const auto& at) { return k(x, {at[0], at[1]}) * 2.0; });
  k.computes(y, [&](const auto& at) { return k.sum(n, [&](Sym i) { return k(parts, {at[0], i}); }); });
  const Sym row = k.workgroups(0, m, 128), part = k.workgroups(1, n, 1);
  const Layout tv = line_tv(128, 1, 128);
  const auto put = [&] {
    const Fragment f =
        k.map({k.load(k.tile(x, {128, 1}, {row, part}), tv, 1)}, [](const auto& v) { return v[0] * 2.0; });
    k.store(f, k.tile(parts, {128, 1}, {row, part}), 1);
  };
  if (c.before) put();
  const Sym number = c.ticket ? k.ticket("arrived", c.transposed ? row : part) : part;
  if (!c.before) put();
  const auto finish = [&] {
    const Fragment sum = k.zeros(Element::f32, tv, {128, 1});
    k.loop(n, 1, {.distance = 1, .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(k.tile(parts, {128, 1}, {row + Sym(c.from), t}), tv, 1);
      k.update(sum, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(sum, k.tile(y, {128}, {c.by_each ? part : row}), 1);
    if (c.again) put();
  };
  if (!c.branch)
    finish();
  else
    k.if_less(n - Sym(c.others), number, finish, c.otherwise ? std::function<void()>(finish) : nullptr);
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

TEST_CASE("tickets: the last workgroup sums what all stored, whoever it is") {
  const Undecided validation; // it knows no tickets yet
  CHECK(refuted(columns()) == "");
  for (const std::int64_t m : {1, 128, 300})
    for (const std::int64_t n : {1, 2, 5, 17}) {
      INFO(m << " x " << n);
      Program p = columns();
      std::vector<float> x(static_cast<std::size_t>(m * n));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(static_cast<int>(i * 37 % 41) - 20);
      const auto bytes = [](std::size_t count) { return kernels::Bytes(count); };
      std::vector<kernels::Bytes> buffers;
      for (const Tensor& t : p.tensors()) {
        if (t.space != Space::global) continue;
        buffers.push_back(t.name == "y"         ? bytes(4 * static_cast<std::size_t>(m))
                          : t.name == "arrived" ? bytes(4 * static_cast<std::size_t>((m + 127) / 128))
                                                : bytes(4 * x.size()));
        if (t.name == "x") std::memcpy(buffers.back().data(), x.data(), 4 * x.size());
      }
      const kernels::Artifact artifact = kernels::build(std::move(p));
      const auto device = kernels::open_device("emulator", artifact.arch);
      // Twice: what counts is at 0 again after the first launch.
      for (int run = 0; run < 2; ++run) {
        const std::vector<kernels::Bytes> after = kernels::run(*device, artifact, buffers, {m, n});
        for (std::int64_t i = 0; i < m; ++i) {
          float wanted = 0, got = 0;
          for (std::int64_t c = 0; c < n; ++c) wanted += 2 * x[static_cast<std::size_t>(c * m + i)];
          std::memcpy(&got, after[0].data() + 4 * i, 4);
          INFO("row " << i);
          REQUIRE(got == wanted); // small whole numbers
        }
        for (const std::byte b : after.back()) REQUIRE(b == std::byte(0));
        buffers.back() = after.back();
      }
    }
}

TEST_CASE("tickets: a wrong program is refused") {
  CHECK_THAT(refuted(columns({.ticket = false})),
             Contains("what is read is what was there before the launch"));
  CHECK_THAT(refuted(columns({.branch = false})), Contains("others may come later"));
  CHECK_THAT(refuted(columns({.others = 3})), Contains("others may come later"));
  // Never taken: nobody stores y.
  CHECK_THAT(refuted(columns({.others = 1})), Contains("every element of y is written once"));
  CHECK_THAT(refuted(columns({.before = false})),
             Contains("what is read is what was there before the launch"));
  CHECK_THAT(refuted(columns({.from = 1})), Contains("those that came store from"));
  CHECK_THAT(refuted(columns({.by_each = true})), Contains("y"));
  CHECK_THAT(refuted(columns({.again = true})), Contains("every element of parts is written once"));
  CHECK_THAT(refuted(columns({.transposed = true})), Contains("others may come later"));
  CHECK_THAT(refuted(columns({.otherwise = true})), Contains("others may come later"));
}

TEST_CASE("tickets: refused where they cannot be") {
  const auto refused = [](const std::function<void(Program&, Sym, Sym)>& f) {
    Program k("refused", Target::named("gfx942"), 64);
    const Sym n = k.size("n"), w = k.workgroups(0, n, 64);
    try {
      f(k, n, w);
    } catch (const CodegenError& e) {
      return std::string(e.what());
    }
    return std::string("no");
  };
  CHECK_THAT(refused([](Program& k, Sym n, Sym) { (void)k.ticket("t", n); }),
             Contains("no grid axis counts n"));
  CHECK_THAT(refused([](Program& k, Sym n, Sym w) {
               (void)k.ticket("t", w);
               (void)k.workgroups(1, n, 1);
             }),
             Contains("the whole grid first"));
  CHECK_THAT(refused([](Program& k, Sym n, Sym w) { k.if_less(w, n, [&] { (void)k.ticket("t", w); }); }),
             Contains("every workgroup draws once"));
  CHECK_THAT(
      refused([](Program& k, Sym n, Sym w) { k.loop(n, 64, {}, [&](Sym) { (void)k.ticket("t", w); }); }),
      Contains("every workgroup draws once"));
}

TEST_CASE("tickets: code of which one place is changed is refused, and tokens see it too") {
  const Program p = columns();
  const std::vector<mutate::Sizes> sizes = {{300, 3}, {130, 2}, {1, 4}};
  const auto wrong = [&](const Code& code) {
    for (const mutate::Sizes& s : sizes)
      for (std::uint64_t seed = 0; seed < 9; ++seed)
        if (std::string what = mutate::run_tokens(code, s, seed); !what.empty()) return what;
    return std::string();
  };
  CHECK(wrong(code_of(p)) == "");
  const auto changed = [&](const std::function<void(Code&)>& change, const std::string& claim) {
    Code code = code_of(p);
    change(code);
    INFO(code.text());
    CHECK_THAT(refuted(code), Contains(claim));
    CHECK(wrong(code) != "");
  };
  const auto without = [&](InstKind kind) {
    return [=](Code& code) {
      const auto [list, at] = find(code, kind);
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
    };
  };
  changed(without(InstKind::release), "a number is drawn when all waves have released what they stored");
  changed(without(InstKind::acquire), "a branch is by numbers that the workgroup has");
  changed(without(InstKind::ticket), "written before it is read");
  changed(
      [](Code& code) { // the barrier between the release and the ticket
        const auto [list, at] = find(code, InstKind::ticket);
        REQUIRE((*list)[at - 1].kind == InstKind::barrier);
        list->erase(list->begin() + static_cast<std::ptrdiff_t>(at) - 1);
      },
      "a number is drawn when all waves have released what they stored");
  changed(
      [](Code& code) { // the wait for the stores, before the release
        const auto [list, at] = find(code, InstKind::release);
        REQUIRE((*list)[at - 1].kind == InstKind::wait);
        list->erase(list->begin() + static_cast<std::ptrdiff_t>(at) - 1);
      },
      "what a wave stored is there before it is released");
  changed(
      [](Code& code) { // released before it is stored
        const auto [list, at] = find(code, InstKind::release);
        const auto [stores, store] = find(code, InstKind::store);
        REQUIRE(list == stores);
        const Inst release = (*list)[at];
        list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
        list->insert(list->begin() + static_cast<std::ptrdiff_t>(store), release);
      },
      "a number is drawn when all waves have released what they stored");
  changed(
      [](Code& code) {
        const auto [list, at] = find(code, InstKind::ticket);
        (*list)[at].access.idle.reset();
      },
      "one work-item draws the number of a workgroup");
  changed(
      [](Code& code) {
        const auto [list, at] = find(code, InstKind::ticket);
        (*list)[at].access.origin[0] = Sym(0);
      },
      "a group of workgroups has a counter of its own");
}

TEST_CASE("tickets: parts of a matrix product, stored and summed by the last") {
  const Undecided validation; // it knows no tickets yet
  kernels::GemmSpec spec;
  spec.split = 128, spec.gather = true;
  spec.tile_m = spec.tile_n = 64;
  for (const auto& [in, out] : {std::pair{Element::f16, Element::f16}, {Element::e4m3fn, Element::bf16}}) {
    spec.scales = spec.bias = out == Element::bf16;
    spec.arch = spec.scales ? "gfx950" : "gfx942";
    spec.in = in, spec.out = out;
    for (const int at_once : {1, 4}) {
      spec.at_once = at_once;
      const kernels::Artifact artifact = kernels::build_gemm(spec);
      const auto device = kernels::open_device("emulator", artifact.arch);
      for (const std::int64_t k : {16, 128, 144, 400, 640, 1300}) {
        INFO(to_string(in) << " k " << k << ", parts at once " << at_once);
        const kernels::Problem problem = kernels::gemm_problem(spec, 70, 132, k / 16 * 16, 3);
        const kernels::Check check = problem.check(kernels::run(*device, artifact, problem));
        INFO(check.message);
        CHECK(check.ok);
      }
    }
  }
}

TEST_CASE("tickets: parts are summed together only where they are stored") {
  kernels::GemmSpec spec;
  spec.at_once = 2;
  CHECK_THROWS_WITH(kernels::gemm_program(spec),
                    Contains("split-k-at-once = 2") && Contains("split-k-fixup yes"));
  spec.split = 128, spec.gather = true, spec.at_once = 9;
  CHECK_THROWS_WITH(kernels::gemm_program(spec), Contains("1 to 8"));
}

} // namespace ticket_test
