// What validation asks beside the formulas: hardware registers, wait states, guards by enumeration; stores inside of loops; budgets.
#include "guards.h"

#include <inlay/codegen/program.h>
#include <inlay/codegen/schedule.h>
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/validate/code.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

namespace hands_test {

using namespace inlay;
using namespace inlay::codegen;
using kernels::validate::CodeOptions, kernels::validate::CodeReport, kernels::validate::validate_code;
using kernels::validate::Guards;
using Verdict = runtime::symbolic::Verdict;

namespace {

runtime::CodeObject object_of(const kernels::Bytes& bytes) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return runtime::CodeObject::parse({p, p + bytes.size()});
}

std::string text_of(const CodeReport& r) {
  std::string s(runtime::symbolic::to_string(r.verdict));
  for (const auto& f : r.refuted) s += "\n  refuted '" + f.text + "' " + f.source + ": " + f.message;
  for (const auto& u : r.undecided) s += "\n  undecided: " + u;
  return s;
}

CodeReport judged(const kernels::Artifact& a, const kernels::Bytes& bytes, const Code& code,
                  const CodeOptions& o = {}) {
  const auto object = object_of(bytes);
  return validate_code(object, object.kernel(a.kernel), code, o);
}
CodeReport judged(const kernels::Artifact& a, const CodeOptions& o = {}) {
  return judged(a, a.hsaco, a.source->code, o);
}

/// Where in the file each instruction of that name begins.
std::vector<std::size_t> places_of(const kernels::Artifact& a, const std::string& text) {
  const auto object = object_of(a.hsaco);
  const auto& section = object.sections()[object.kernel(a.kernel).section];
  const auto program =
      runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
  const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
  const auto begin = std::search(p, p + a.hsaco.size(), section.bytes.begin(), section.bytes.end()) - p;
  std::vector<std::size_t> out;
  for (const auto& i : program.instructions) {
    if (i.mnemonic == "s_code_end") break;
    if (std::string(i.text).starts_with(text))
      out.push_back(static_cast<std::size_t>(begin) + (i.address - program.begin));
  }
  return out;
}

bool says(const CodeReport& r, const std::string& what) {
  return std::any_of(r.undecided.begin(), r.undecided.end(),
                     [&](const std::string& u) { return u.find(what) != std::string::npos; });
}

kernels::Artifact build(const std::string& name, const kernels::Flags& flags) {
  return kernels::find_kernel(name)->build(flags, {});
}

/// y = x + add, a tile of 256 columns a trip.
Program stream_copy(double add = 1.0) {
  Program k("stream", Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 20});
  const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
  k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}) + add; });
  const Sym r = k.workgroups(0, m, 1);
  const Layout tv = rows_tv(1, 256, 1, 64);
  k.loop(n, 256, {.distance = 0, .ring = 1}, [&](Sym t) {
    k.store(k.map({k.load(k.tile(x, {1, 256}, {r, t}), tv, 1)}, [&](const auto& v) { return v[0] + add; }),
            k.tile(y, {1, 256}, {r, t}), 1);
  });
  return k;
}

/// Y = X W^T of few rows, operands straight in registers.
Program few_rows(const codegen::Pipeline& stages) {
  const Target& target = Target::named("gfx942");
  const Element e = Element::bf16;
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, e, e, Element::f32, 16), 1, 2, 16, 32, 32, 8);
  Program k("few_rows", target, mma.threads());
  const Sym m = k.size("m", {.most = 1 << 16}), n = k.size("n", {.most = 1 << 20, .multiple = 4}),
            depth = k.size("k", {.most = 1 << 20, .multiple = 8});
  const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", e, {m, depth}),
               w = k.input("w", e, {n, depth});
  k.computes(y, [&](const auto& i) {
    return k.sum(depth, [&](Sym l) { return k(x, {i[0], l}) * k(w, {i[1], l}); });
  });
  const Sym bn = k.workgroups(0, n, 32), bm = k.workgroups(1, m, 16);
  const Fragment acc = k.zeros(Element::f32, mma.c(), {16, 32});
  k.loop(depth, 32, stages, [&](Sym t) {
    const Fragment a = k.load(k.tile(x, {16, 32}, {bm, t}), mma.a(), 8);
    k.mma(acc, a, k.load(k.tile(w, {32, 32}, {bn, t}), mma.b(), 8), mma);
  });
  k.store(acc, k.tile(y, {16, 32}, {bm, bn}), 4);
  return k;
}

} // namespace

TEST_CASE("validation: a product whose operands go straight to registers, in several stages") {
  // Of one trip the last tile is the first one: an element has two names then, and each operand is of its own.
  const kernels::Artifact a = kernels::build(few_rows({.distance = 2, .ring = 2}));
  const CodeReport r = judged(a);
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::validated);
  CHECK(judged(kernels::build(few_rows({.distance = 1, .ring = 2}))).verdict == Verdict::validated);
  CodeOptions symbols; // no numbers, which would refute it first
  symbols.first_runs = symbols.refuter_runs = 0;
  symbols.order = false;
  symbols.budget = 100'000;
  const std::vector<std::size_t> products = places_of(a, "v_mfma");
  for (const std::size_t at : {products.front(), products.back()}) { // another register as an operand
    kernels::Bytes bytes = a.hsaco;
    bytes[at + 4] ^= std::byte{2};
    const CodeReport changed = judged(a, bytes, a.source->code, symbols);
    INFO("at " << at << ": " << text_of(changed));
    CHECK(changed.verdict != Verdict::validated);
  }
}

TEST_CASE("validation: loads in flight over a loop that stores without waiting") {
  const kernels::Artifact a = build("attention_blocks", {});
  const CodeReport r = judged(a);
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::validated);
  CodeOptions order;
  order.symbols = false;
  order.first_runs = order.refuter_runs = 0;
  for (const std::size_t at : places_of(a, "s_waitcnt vmcnt")) { // one more may be in flight
    kernels::Bytes bytes = a.hsaco;
    bytes[at] = static_cast<std::byte>(std::to_integer<unsigned>(bytes[at]) + 1);
    CHECK(judged(a, bytes, a.source->code, order).order != Verdict::validated);
  }
}

TEST_CASE("validation: a loop that holds nothing from trip to trip and stores a tile in each") {
  const kernels::Artifact a = kernels::build(stream_copy());
  const CodeReport r = judged(a);
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::validated);
  CHECK(judged(a, kernels::build(stream_copy(2.0)).hsaco, a.source->code).verdict == Verdict::refuted);
  // Each instruction that steps from trip to trip, one bit of what it adds changed.
  std::size_t damaged = 0;
  for (const char* of : {"s_add", "v_add"})
    for (const std::size_t at : places_of(a, of)) {
      kernels::Bytes bytes = a.hsaco;
      bytes[at] ^= std::byte{2};
      const CodeReport changed = judged(a, bytes, a.source->code);
      INFO(of << " at " << at << ": " << text_of(changed));
      CHECK(changed.verdict != Verdict::validated);
      ++damaged;
    }
  CHECK(damaged >= 4);
}

TEST_CASE("validation: what a loop stores, or what is stored before one, is not what the code loads") {
  // A loop that stores y, which the code is changed to load.
  const kernels::Artifact copy = kernels::build(stream_copy());
  Code changed = copy.source->code;
  int stored = -1;
  for (const bool stores : {true, false})
    for (CodeRegion& r : changed.regions)
      for (auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (Inst& i : *list) {
          if (i.kind == InstKind::store) stored = i.access.tensor;
          if (i.kind == InstKind::load && !stores) i.access.tensor = stored;
        }
  CodeOptions symbols; // no numbers, which would refute it first
  symbols.first_runs = symbols.refuter_runs = 0;
  const CodeReport loaded = judged(copy, copy.hsaco, changed, symbols);
  INFO(text_of(loaded));
  CHECK(says(loaded, "a loop that stores what the code loads"));
  // x = 2 x in place, before a loop that adds up the rows of b.
  const auto before = [] {
    Program k("in_front", Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 16});
    const Tensor x = k.inout("x", Element::f32, {m, Sym(64)}), y = k.output("y", Element::f32, {m, 1}),
                 b = k.input("b", Element::f32, {m, n});
    k.computes(x, [&](const auto& i) { return k(x, {i[0], i[1]}) * 2.0; });
    k.computes(y, [&](const auto& i) { return k.sum(n, [&](Sym j) { return k(b, {i[0], j}); }); });
    const Sym r = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const View tile = k.tile(x, {1, 64}, {r, 0});
    k.store(k.map({k.load(tile, tv, 1)}, [](const auto& v) { return v[0] * 2.0; }), tile, 1);
    const Fragment sum = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      k.update(sum, {k.fold(Monoid::sum, k.load(k.tile(b, {1, 64}, {r, t}), tv, 1), 1)},
               [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(sum, k.tile(y, {1, 1}, {r, 0}), 1);
    return k;
  };
  const CodeReport of = judged(kernels::build(before()));
  INFO(text_of(of));
  CHECK(of.verdict == Verdict::undecided);
  CHECK(says(of, "a loop after a store to what the code loads"));
}

TEST_CASE("validation: wait states that the generator owes") {
  const kernels::Artifact a = build("gemm", {{"tile", "128x128x64"}});
  CHECK(judged(a).verdict == Verdict::validated);
  kernels::Bytes bytes = a.hsaco;
  for (const std::size_t at : places_of(a, "s_nop")) bytes[at] = std::byte{0};
  const CodeReport r = judged(a, bytes, a.source->code);
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::undecided);
  CHECK(says(r, "wait states"));
}

TEST_CASE("validation: guards are compared with the masks by enumeration") {
  const kernels::Artifact a = build("gemm", {{"tile", "64x64x64"}});
  const auto mismatch = [&](const Code& code) {
    Guards guards(code);
    const Program& p = *code.program;
    std::string message;
    for (int k = 0; k < 40 && message.empty(); ++k) {
      Assignment numbers;
      const std::int64_t sizes[] = {1 + 37 * k % 150, 1 + 53 * k % 170, 8 * (1 + k % 40)};
      for (std::size_t s = 0; s < 3; ++s) numbers.set(p.sizes()[s].symbol, Int(sizes[s]));
      for (const GridAxis& g : p.grid())
        numbers.set(g.symbol, Int(k % 2 * ((evaluate(g.extent, numbers).value() - 1) / g.tile)));
      if (const auto bad = guards.at(numbers, static_cast<std::uint64_t>(k))) message = bad->message;
    }
    return message;
  };
  CHECK(mismatch(a.source->code).empty());
  const auto change = [&](auto f) { // of the loads of the tensor that is loaded first
    Code code = a.source->code;
    int tensor = -1;
    for (auto& r : code.regions)
      for (auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (Inst& i : *list) {
          if (i.kind != InstKind::load) continue;
          if (tensor < 0) tensor = i.access.tensor;
          if (i.access.tensor == tensor) f(i);
        }
    return code;
  };
  // A descriptor that ends a row too early, or does not end; elements that are not where the instruction puts them.
  CHECK(mismatch(change([](Inst& i) { i.access.extents[0] -= 1; })).find("ends before") != std::string::npos);
  const Code swapped = change([](Inst& i) { std::swap(i.access.elements[0], i.access.elements[1]); });
  CHECK(mismatch(swapped).find("address") != std::string::npos);
  // And validate_code says so of a machine code that does what such a code says.
  const CodeReport r = judged(a, a.hsaco, change([](Inst& i) { i.access.extents[0] -= 1; }));
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::refuted);
}

TEST_CASE("validation: a budget of steps") {
  const kernels::Artifact a = build("gemm", {{"tile", "64x64x64"}});
  CodeOptions o;
  o.budget = 20'000;
  const CodeReport little = judged(a, o), again = judged(a, o);
  CHECK(little.verdict == Verdict::undecided);
  REQUIRE(!little.undecided.empty());
  CHECK(little.undecided[0].find("--budget") != std::string::npos);
  CHECK(little.steps == again.steps);
  o.budget = 0;
  std::uint64_t told = 0;
  o.progress = [&](std::uint64_t steps) { told = steps; };
  const CodeReport all = judged(a, o);
  CHECK(all.verdict == Verdict::validated);
  CHECK(told > 20'000);
  CHECK(told <= all.steps);
}

TEST_CASE("validation: windows, by the tensors' places") {
  const auto pad = [](const char* top, const char* left, const char* c) {
    return build("pad", {{"top", top}, {"bottom", "1"}, {"left", left}, {"right", "2"}, {"c", c}});
  };
  const kernels::Artifact a = pad("2", "-1", "24");
  CHECK(text_of(judged(a)) == "validated");
  CHECK(text_of(judged(build("causal_conv1d", {{"width", "2"}, {"dtype", "f16"}}))) == "validated");
  // Machine code that looks elsewhere, one row or one column: symbols alone do not validate it, and numbers refute it.
  for (const kernels::Artifact& other : {pad("1", "-1", "24"), pad("2", "0", "24"), pad("-2", "-1", "24")}) {
    const Code& code = other.source->code;
    const CodeReport symbols =
        judged(a, a.hsaco, code, {.first_runs = 0, .refuter_runs = 0, .guard_sizes = 0});
    INFO(text_of(symbols));
    CHECK(symbols.verdict == Verdict::undecided);
    CHECK(says(symbols, "stores what is not seen to be the code's value"));
    CHECK(judged(a, a.hsaco, code).verdict == Verdict::refuted);
  }
}

TEST_CASE("validation: windows of several digits, pixels and taps") {
  const auto conv = [](const char* stride, const char* dilation, const char* pad) {
    return build("conv2d",
                 {{"c", "32"}, {"tile", "32x32"}, {"stride", stride}, {"dilation", dilation}, {"pad", pad}});
  };
  const kernels::Artifact a = conv("1", "1", "1");
  CHECK(text_of(judged(a)) == "validated");
  for (const kernels::Artifact& other : {conv("2", "1", "1"), conv("1", "2", "1"), conv("1", "1", "0")}) {
    const Code& code = other.source->code;
    const CodeReport symbols =
        judged(a, a.hsaco, code, {.first_runs = 0, .refuter_runs = 0, .guard_sizes = 0});
    INFO(text_of(symbols));
    CHECK(symbols.verdict == Verdict::undecided);
    CHECK(says(symbols, "which the code does not"));
    CHECK(judged(a, a.hsaco, code).verdict == Verdict::refuted);
  }
  // Taps in a loop of which the last trips have no loads: a quotient of the trip's number bounds them.
  CHECK(text_of(judged(build("conv2d", {{"c", "128"}, {"tile", "32x32"}}))) == "validated");
}

TEST_CASE("validation: neighbours of a window that are none in what it looks at") {
  // y(i, j) = x(i, j + from), loaded by one instruction a work-item; then the window looks elsewhere, which a claim would refuse,
  // and the machine code stays.
  struct Looks {
    kernels::Artifact of;
    Tensor *window, *seen;
    CodeReport judged_alone() const {
      return judged(of, of.hsaco, of.source->code, {.first_runs = 0, .refuter_runs = 0, .guard_sizes = 0});
    }
  };
  const auto built = [](int from) {
    Program k("looks", Target::named("gfx942"), 64);
    const Sym n = k.size("n", {.most = 1 << 20});
    const Tensor y = k.output("y", Element::f32, {n, Sym(4)}), x = k.input("x", Element::f32, {n, Sym(4)}),
                 w = k.window("w", x, {{n, {{n, 0}}}, {Sym(4), {{Sym(4), 1}}}}, {Sym(0), Sym(from)});
    k.computes(y, [&](const auto& c) { return k(w, {c[0], c[1]}); });
    const Sym b = k.workgroups(0, n, 64);
    k.store(k.load(k.tile(w, {64, 4}, {b, Sym(0)}), rows_tv(64, 4, 4, 64), 4),
            k.tile(y, {64, 4}, {b, Sym(0)}), 4);
    Looks out{kernels::build(std::move(k)), nullptr, nullptr};
    const Program& p = *out.of.source->code.program;
    out.window = &const_cast<Tensor&>(p.tensor(w.id)), out.seen = &const_cast<Tensor&>(p.tensor(x.id));
    return out;
  };
  // Columns 0 2 4 3: the first and the last of them are as far apart as before.
  Looks line = built(0);
  CHECK(text_of(line.judged_alone()) == "validated");
  line.window->looks[1].looks = {{Sym(3), 1, Sym(2)}, {Sym(2), 1, Sym(3)}};
  line.seen->shape[1] = Sym(5);
  CHECK(line.judged_alone().verdict == Verdict::undecided);
  // Columns -1 0 1 2 of two: the first and the last are outside, as all were before.
  Looks outside = built(-8);
  CHECK(text_of(outside.judged_alone()) == "validated");
  outside.window->look_origin[1] = Sym(-1);
  outside.seen->shape[1] = Sym(2);
  CHECK(outside.judged_alone().verdict == Verdict::undecided);
}

TEST_CASE("validation: comparisons of integers in maps, each with the machine's and with no other") {
  // y(i) = x(i) where the comparison of a(i) with a number holds, z(i) elsewhere.
  using Holds = std::function<Expr(Expr)>;
  const auto built = [](const Holds& holds) {
    Program k("chosen", Target::named("gfx942"), 64);
    const Sym n = k.size("n", {.most = 1 << 20});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
                 z = k.input("z", Element::f32, {n}), a = k.input("a", Element::i32, {n});
    const auto chosen = [&](Expr of, Expr yes, Expr no) { return choose(holds(integer(of)), yes, no); };
    k.computes(y, [&](const auto& i) { return chosen(k(a, {i[0]}), k(x, {i[0]}), k(z, {i[0]})); });
    const Sym w = k.workgroups(0, n, 64);
    const auto load = [&](const Tensor& t) { return k.load(k.tile(t, {64}, {w}), line_tv(64, 1, 64), 1); };
    k.store(k.map({load(a), load(x), load(z)}, [&](const auto& v) { return chosen(v[0], v[1], v[2]); }),
            k.tile(y, {64}, {w}), 1);
    return kernels::build(std::move(k));
  };
  const auto with = [&](Expr (*relation)(Expr, Expr), int number, bool first = true) {
    return built([=](Expr a) {
      const Expr b = integer(a.arena->constant(number));
      return first ? relation(a, b) : relation(b, a);
    });
  };
  const kernels::Artifact all[] = {with(equal, 2), with(equal, 3), with(less_unsigned, 2),
                                   with(less_unsigned, 3), with(less_unsigned, 2, false)};
  for (std::size_t m = 0; m < std::size(all); ++m)
    for (std::size_t c = 0; c < std::size(all); ++c) {
      const kernels::Artifact& machine = all[m];
      const CodeReport r = judged(machine, machine.hsaco, all[c].source->code,
                                  {.first_runs = 0, .refuter_runs = 0, .guard_sizes = 0});
      INFO("machine code " << m << ", code " << c << ": " << text_of(r));
      CHECK((r.verdict == Verdict::validated) == (m == c));
    }
}

} // namespace hands_test
