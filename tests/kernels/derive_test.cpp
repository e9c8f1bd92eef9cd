// Programs and code with one place changed: a claim fails, with the operation and a counterexample, before there is code.
#include "specified.h"

#include <inlay/algebra/parse.h>
#include <inlay/codegen/schedule.h>
#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/rows/spec.h>

#include <span>

namespace derive_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace specified;
using Catch::Matchers::Contains;

namespace {

template <class Change>
std::string changed(const Program& p, Change change) {
  Code code = code_of(p);
  change(code);
  return refuted(code);
}
std::vector<Inst>& loop_body(Code& code) {
  for (CodeRegion& r : code.regions)
    if (r.is_loop) return r.body;
  throw std::logic_error("no loop");
}
Inst& nth(std::vector<Inst>& list, InstKind kind, std::size_t n) {
  for (Inst& i : list)
    if (i.kind == kind && n-- == 0) return i;
  throw std::logic_error("no such instruction");
}
kernels::GemmSpec small() {
  kernels::GemmSpec spec;
  spec.tile_m = spec.tile_n = 64;
  spec.tile_k = 32;
  return spec;
}

} // namespace

TEST_CASE("derive: unmodified kernels prove") {
  CHECK(refuted(code_of(kernels::gemm_program(small()))) == "");
  kernels::RowSpec rows;
  CHECK(refuted(code_of(kernels::softmax_program(rows))) == "");
  CHECK(refuted(code_of(kernels::rmsnorm_program(rows))) == "");
  CHECK(refuted(code_of(kernels::silu_and_mul_program(rows))) == "");
  rows.residual = true;
  rows.quantised = Element::i8;
  CHECK(refuted(code_of(kernels::layernorm_program(rows))) == "");
}

TEST_CASE("derive: one place of a GEMM's code changed is a claim refuted") {
  const Program p = kernels::gemm_program(small());
  // The order of the loads of two tiles: the defect that text beside the code could not see.
  CHECK_THAT(changed(p,
                     [](Code& c) {
                       std::swap(nth(loop_body(c), InstKind::load, 0).access,
                                 nth(loop_body(c), InstKind::load, 1).access);
                     }),
             !Catch::Equals(""));
  CHECK_THAT(changed(p, [](Code& c) { nth(loop_body(c), InstKind::load, 0).access.origin[1] += Sym(8); }),
             !Catch::Equals(""));
  CHECK_THAT(changed(p, [](Code& c) { nth(loop_body(c), InstKind::load, 0).access.origin[0] += Sym(1); }),
             !Catch::Equals(""));
  // A barrier less, a wait less.
  CHECK_THAT(changed(p,
                     [](Code& c) {
                       std::erase_if(loop_body(c), [](const Inst& i) { return i.kind == InstKind::barrier; });
                     }),
             Contains("has arrived there") || Contains("overwritten"));
  CHECK_THAT(changed(p,
                     [](Code& c) {
                       std::erase_if(loop_body(c), [](const Inst& i) { return i.kind == InstKind::wait; });
                     }),
             Contains("waited for"));
  // k permuted for one operand, rows of the accumulator exchanged, a stage mixed up.
  CHECK_THAT(changed(p,
                     [](Code& c) {
                       for (Inst& i : loop_body(c))
                         if (i.kind == InstKind::mma) i.uses[1].first ^= 4;
                     }),
             Contains("same k"));
  CHECK_THAT(changed(p,
                     [](Code& c) {
                       std::swap(nth(loop_body(c), InstKind::mma, 0).def,
                                 nth(loop_body(c), InstKind::mma, 1).def);
                     }),
             Contains("accumulator"));
  CHECK_THAT(changed(p, [](Code& c) { nth(loop_body(c), InstKind::lds_write, 0).access.slot = 0; }),
             !Catch::Equals(""));
  // The mask of the last tile.
  CHECK_THAT(changed(p,
                     [](Code& c) {
                       for (CodeRegion& r : c.regions)
                         for (Inst& i : r.prologue)
                           if (i.kind == InstKind::load) i.access.masked[1] = false;
                     }),
             Contains("beyond the end of k"));
  // A store to the transposed place.
  CHECK_THAT(changed(p,
                     [](Code& c) {
                       for (CodeRegion& r : c.regions)
                         for (Inst& i : r.body)
                           if (i.kind == InstKind::store) i.access.elements[0][0] += 1;
                     }),
             !Catch::Equals(""));
}

TEST_CASE(
    "derive: of 8 bits with scales of 32 k another scale, half of an operand or order of halves is refuted") {
  kernels::GemmSpec spec;
  spec.arch = "gfx950";
  spec.in = Element::e4m3fn, spec.block_scales = true, spec.out = Element::f32;
  spec.tile_m = spec.tile_n = 64, spec.tile_k = 256;
  const Program p = kernels::gemm_program(spec);
  CHECK(refuted(code_of(p)) == "");
  const auto product = [&](auto change) {
    return changed(p, [change](Code& c) { change(nth(loop_body(c), InstKind::mma, 3)); });
  };
  for (const std::size_t which : {4, 5}) { // after two halves of each operand
    CHECK_THAT(product([&](Inst& i) { i.uses[which].first ^= 1; }),
               Contains("accumulator") || Contains("c is what"));
    CHECK_THAT(product([&](Inst& i) { i.uses[which].first ^= 2; }),
               Contains("meets the scale of its row and block"));
    CHECK_THAT(product([&](Inst& i) { i.uses[which].ahead += 1; }), !Catch::Equals(""));
  }
  CHECK_THAT(product([](Inst& i) { std::swap(i.uses[4], i.uses[5]); }), !Catch::Equals(""));
  // The halves of one operand alone, of both, and where the second half of B stands for that of A.
  CHECK_THAT(product([](Inst& i) { std::swap(i.uses[0], i.uses[1]); }),
             Contains("meets the scale of its row and block") || Contains("multiplied at the same k"));
  CHECK_THAT(product([](Inst& i) {
               std::swap(i.uses[0], i.uses[1]);
               std::swap(i.uses[2], i.uses[3]);
             }),
             Contains("meets the scale of its row and block"));
  CHECK_THAT(product([](Inst& i) { std::swap(i.uses[1], i.uses[3]); }), !Catch::Equals(""));
}

TEST_CASE(
    "derive: a scale of another row, block of k, operand or trip is refuted, and one that may be no number") {
  for (const bool preshuffled : {false, true}) {
    kernels::GemmSpec spec;
    spec.arch = "gfx950";
    spec.in = Element::e2m1, spec.out = Element::f32;
    spec.preshuffled_b = preshuffled;
    spec.tile_m = spec.tile_n = 64,
    spec.tile_k = 512; // K is a multiple of 256: the last tile may be half of one
    const Program p = kernels::gemm_program(spec);
    CHECK(refuted(code_of(p)) == "");
    const auto product = [](auto change) {
      return [change](Code& c) { change(nth(loop_body(c), InstKind::mma, 3)); };
    };
    for (const std::size_t which : {2, 3}) {
      // The bytes of a register are two blocks of rows by two of k.
      CHECK_THAT(changed(p, product([&](Inst& i) { i.uses[which].first ^= 1; })),
                 Contains("accumulator") || Contains("c is what"));
      CHECK_THAT(changed(p, product([&](Inst& i) { i.uses[which].first ^= 2; })),
                 Contains("meets the scale of its row and block"));
      CHECK_THAT(changed(p, product([&](Inst& i) { i.uses[which].ahead += 1; })), !Catch::Equals(""));
    }
    CHECK_THAT(changed(p, product([](Inst& i) { std::swap(i.uses[2], i.uses[3]); })), !Catch::Equals(""));
    // Of every trip, so that each sum is of one thing.
    const auto loads = [](const std::string& tensor, auto change) {
      return [=](Code& c) {
        for (CodeRegion& r : c.regions)
          for (auto* list : {&r.prologue, &r.body, &r.epilogue})
            for (Inst& i : *list)
              if (i.kind == InstKind::load && c.program->tensor(i.access.tensor).name == tensor) change(i);
      };
    };
    for (const char* tensor : {"sa", "sb"}) {
      CHECK_THAT(changed(p, loads(tensor, [](Inst& i) { i.access.origin[0] += Sym(32); })),
                 !Catch::Equals(""));
      CHECK_THAT(changed(p, loads(tensor, [](Inst& i) { i.access.origin[1] += Sym(8); })),
                 Contains("meets the scale of its row and block"));
      // Without a mask, past the end of K is whatever memory holds, NaN too: 0 times it is not 0.
      CHECK_THAT(changed(p, loads(tensor, [](Inst& i) { i.access.masked[1] = false; })),
                 Contains("beyond the end of k both factors are 0"));
    }
    // Scales that lie in rows: four of a register are of one row, and are not where the instruction takes them from.
    Program rows = kernels::gemm_program(spec);
    for (Tensor& t : rows.mutable_tensors())
      if (t.name == "sa") {
        TupleBuilder<BasicMode<Sym>> b;
        const std::size_t both = b.open();
        b.leaf(BasicMode<Sym>{t.shape[0], BasicStride<Sym>(t.shape[1])});
        b.leaf(BasicMode<Sym>{t.shape[1], BasicStride<Sym>(Sym(1))});
        b.close(both, 2);
        t.place = SymComposedLayout(Swizzle(), Sym(0), SymLayout(std::move(b).finish()));
      }
    CHECK_THAT(refuted(code_of(rows)), Contains("a vector of sa is contiguous"));
    // K that may end inside of a register's eight blocks.
    CHECK_THAT(changed(p, loads("sa", [](Inst& i) { i.access.elements[2][1] += 8; })), !Catch::Equals(""));
  }
}

TEST_CASE("derive: a read of 32 elements of 6 bits is three instructions for whoever waits for it") {
  kernels::GemmSpec spec;
  spec.arch = "gfx950";
  spec.in = Element::e2m3, spec.out = Element::f32, spec.transfer = true;
  spec.tile_m = spec.tile_n = 64, spec.tile_k = 256;
  const Program p = kernels::gemm_program(spec);
  Code code = code_of(p);
  CHECK(refuted(code) == "");
  // Each wait that lets something be under way lets as much as it may: with one instruction more a product takes what is not there.
  int waits = 0;
  for (CodeRegion& r : code.regions)
    for (auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (Inst& i : *list) {
        if (i.kind != InstKind::wait || i.lgkm < 1) continue;
        ++i.lgkm, ++waits;
        CHECK(refuted(code) != "");
        --i.lgkm;
      }
  CHECK(waits > 0);
  const auto product = [](auto change) {
    return [change](Code& c) { change(nth(loop_body(c), InstKind::mma, 3)); };
  };
  for (const std::size_t which : {2, 3})
    CHECK_THAT(changed(p, product([&](Inst& i) { i.uses[which].first ^= 2; })),
               Contains("meets the scale of its row and block"));
  const auto first_of = [&](InstKind kind, auto change) {
    return changed(p, [&](Code& c) { change(nth(loop_body(c), kind, 0)); });
  };
  // Half a vector further, which is whole bytes: neither aligned nor what the instruction has at that k.
  const auto further = [](Inst& i) {
    for (auto& e : i.access.elements) e[1] += 16;
  };
  CHECK_THAT(first_of(InstKind::lds_read, further), Contains("are aligned") || Contains("inside it"));
  CHECK_THAT(first_of(InstKind::load, further), !Catch::Equals(""));
  // What lies between the rows.
  CHECK_THAT(first_of(InstKind::lds_write, [](Inst& i) { i.access.origin[0] += Sym(4); }),
             !Catch::Equals(""));
}

TEST_CASE("derive: a program whose tiles do not agree with its specification is refused with the line") {
  const auto moved = [](std::size_t axis, int by) {
    Program p = kernels::gemm_program(small());
    for (Op& op : p.mutable_body())
      if (auto* loop = std::get_if<LoopOp>(&op.what))
        std::get<CopyOp>(loop->body[0].what).from->origin[axis] += Sym(by);
    return refuted(code_of(p));
  };
  CHECK_THAT(moved(1, 32), Contains("A and B are multiplied at the same k"));
  CHECK_THAT(moved(0, 64), Contains("loads of a stay inside its memory") && Contains("may pass k"));
  CHECK_THAT(moved(0, -64), Contains("tiles of a begin inside it") && Contains("negative coordinate"));
  Program swizzled = kernels::gemm_program(small());
  // Read with another swizzle than written: as if the two sides disagreed about the tile.
  Code code = code_of(swizzled);
  for (Inst& i : loop_body(code))
    if (i.kind == InstKind::lds_read) i.access.elements[0][1] ^= 8;
  CHECK_THAT(refuted(code), !Catch::Equals(""));
}

TEST_CASE(
    "derive: a loop that ends at the diagonal sees all that the mask lets through, and not a tile less") {
  kernels::AttentionSpec spec;
  spec.head_dim = 128;
  spec.causal = true;
  spec.tile_k = 32;
  // Tiles of rows that are one, two and four tiles of columns.
  for (const int waves : {2, 4, 8}) {
    spec.waves = waves;
    spec.tile_q = 16 * waves;
    const auto ending = [&](int add) {
      Program p = kernels::flash_attention_program(spec);
      for (Op& op : p.mutable_body())
        if (auto* loop = std::get_if<LoopOp>(&op.what)) {
          const auto two = least_of(loop->extent);
          REQUIRE(two);
          const Sym keys = p.sizes()[2].symbol;
          loop->extent = min(keys, (two->first == keys ? two->second : two->first) + Sym(add));
        }
      return refuted(code_of(p));
    };
    INFO(waves << " waves");
    CHECK(ending(0) == "");
    CHECK_THAT(ending(-32),
               waves == 2 ? Contains("the loop runs at least once") : Contains("is over the whole extent"));
    CHECK_THAT(ending(16), Contains("an end before it has to be a whole number of tiles"));
  }
}

TEST_CASE("derive: parts of a sum that workgroups add are all of it, and nothing twice") {
  kernels::GemmSpec spec = small();
  spec.out = Element::f32;
  spec.split = 96;
  const auto with = [&](auto change) {
    Program p = kernels::gemm_program(spec);
    for (Op& op : p.mutable_body()) change(p, op);
    return refuted(code_of(p));
  };
  const auto ending = [&](int tiles) {
    return with([&](const Program& p, Op& op) {
      if (auto* loop = std::get_if<LoopOp>(&op.what))
        loop->extent = min(p.sizes()[2].symbol - Sym(96) * p.grid()[2].symbol, Sym(32 * tiles));
    });
  };
  CHECK(ending(3) == "");
  const std::string claim = "the parts of c that workgroups add make up its sum, each element once";
  CHECK_THAT(ending(2), Contains(claim));
  CHECK_THAT(ending(4), Contains(claim));
  // The loop over all of K: every workgroup would add the whole.
  CHECK_THAT(with([](const Program& p, Op& op) {
               if (auto* loop = std::get_if<LoopOp>(&op.what)) loop->extent = p.sizes()[2].symbol;
             }),
             !Catch::Equals(""));
  // Stored in the place of what other workgroups wrote.
  CHECK_THAT(with([](const Program&, Op& op) {
               if (auto* copy = std::get_if<CopyOp>(&op.what)) copy->combine.reset();
             }),
             Contains("a sum is over the whole extent before it is used"));
  // Parts that begin a tile later.
  CHECK_THAT(with([](const Program&, Op& op) {
               if (auto* loop = std::get_if<LoopOp>(&op.what))
                 for (Op& inner : loop->body)
                   if (auto* copy = std::get_if<CopyOp>(&inner.what); copy && copy->from && copy->to)
                     copy->from->origin[1] += Sym(32);
             }),
             Contains(claim));
}

TEST_CASE("derive: shares of a sum are added once, in their tile, and LDS is free for the next tile") {
  kernels::GemmSpec spec = small();
  spec.out = Element::f32;
  spec.workers = 5;
  const auto with = [&](auto change) {
    Program p = kernels::gemm_program(spec);
    change(p);
    return refuted(code_of(p));
  };
  const auto loop = [&](auto change) {
    return with([&](Program& p) {
      for (Op& op : p.mutable_body())
        if (auto* l = std::get_if<LoopOp>(&op.what)) change(p, *l);
    });
  };
  CHECK(with([](Program&) {}) == "");
  const std::string claim = "the parts of c that workgroups add make up its sum, each element once";
  const auto ending = [&](int more) {
    return loop([&](const Program& p, LoopOp& l) {
      const Shares& s = *p.shares();
      l.extent = min(s.extent - Sym(32) * s.begin, Sym(32) * s.count + Sym(32 * more));
    });
  };
  CHECK(ending(0) == "");
  CHECK_THAT(ending(1), Contains(claim));
  // A trip less: none where the share has one.
  CHECK_THAT(ending(-1), Contains("the loop runs at least once"));
  // All of K, whatever the share is; from the start of K; and trips that begin one later.
  CHECK_THAT(loop([](const Program& p, LoopOp& l) { l.extent = p.sizes()[2].symbol; }), !Catch::Equals(""));
  for (const bool later : {false, true})
    CHECK_THAT(loop([&](const Program& p, LoopOp& l) {
                 for (Op& inner : l.body)
                   if (auto* copy = std::get_if<CopyOp>(&inner.what); copy && copy->from && copy->to)
                     copy->from->origin[1] += later ? Sym(32) : Sym(-32) * p.shares()->begin;
               }),
               Contains(claim));
  // Stored in the place of what other workgroups add; all of K by everybody, too.
  for (const bool whole : {false, true})
    CHECK_THAT(with([&](Program& p) {
                 for (Op& op : p.mutable_body()) {
                   if (auto* copy = std::get_if<CopyOp>(&op.what)) copy->combine.reset();
                   if (auto* l = std::get_if<LoopOp>(&op.what); l && whole) {
                     l->extent = p.sizes()[2].symbol;
                     for (Op& inner : l->body)
                       if (auto* copy = std::get_if<CopyOp>(&inner.what); copy && copy->from && copy->to)
                         copy->from->origin[1] -= Sym(32) * p.shares()->begin;
                   }
                 }
               }),
               Contains(whole ? "no two workgroups write one element of c"
                              : "a sum is over the whole extent before it is used"));
  // Shares that leave out a step, and ones that have one twice.
  for (const int by : {-1, 1})
    CHECK_THAT(with([&](Program& p) { p.mutable_shares()->each[4].value += Sym(by); }),
               Contains("each trip of each tile is in one share"));
  CHECK_THAT(with([&](Program& p) { p.mutable_shares()->once[4].value += Sym(1); }),
             Contains("each trip of each tile is in one share"));
  // The barrier before the next tile, and what is waited for before it.
  const Program p = kernels::gemm_program(spec);
  const std::string through = "all waves are through with LDS before the workgroup's next tile";
  CHECK_THAT(changed(p,
                     [](Code& c) {
                       std::erase_if(c.regions.back().body,
                                     [](const Inst& i) { return i.kind == InstKind::barrier; });
                     }),
             Contains(through));
  spec.arch = "gfx950", spec.transfer = true;
  const Program moved = kernels::gemm_program(spec);
  CHECK(changed(moved, [](Code&) {}) == "");
  CHECK_THAT(changed(moved,
                     [](Code& c) {
                       std::erase_if(c.regions.back().body,
                                     [](const Inst& i) { return i.kind == InstKind::wait; });
                     }),
             Contains(through));
}

TEST_CASE("derive: an output's elements have places of their own, as many as coordinates") {
  const auto placed = [](const std::string& place, bool output) {
    Program k("placed", Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    std::optional<SymLayout> p;
    if (!place.empty()) p = parse_sym_layout(k.symbols(), place);
    const Tensor y = k.output("y", Element::f32, {m, n}, output ? p : std::nullopt),
                 x = k.input("x", Element::f32, {m, n}, output ? std::nullopt : p);
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}); });
    const Sym bn = k.workgroups(0, n, 64), bm = k.workgroups(1, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    k.store(k.load(k.tile(x, {1, 64}, {bm, bn}), tv, 1), k.tile(y, {1, 64}, {bm, bn}), 1);
    return refuted(code_of(k));
  };
  for (const char* place : {"", "(m,n):(n,1)", "(m,n):(1,m)", "(m,n):(n+5,1)", "(m,n):(2*n,2)"})
    CHECK(placed(place, true) == "");
  for (const char* place : {"(m,n):(1,1)", "(m,n):(0,1)", "(m,n):(2,1)", "(m,n):(n,0)"})
    CHECK_THAT(placed(place, true), Contains("each element of y has a place of its own"));
  CHECK(placed("(m,n):(0,1)", false) == ""); // a row for all
  for (const bool output : {false, true})
    CHECK_THAT(placed("(m,2):(2,1)", output), Contains("is that of its coordinates"));
}

TEST_CASE("derive: what a kernel writes it does not read") {
  for (const bool after : {false, true}) {
    Program k("again", Target::named("gfx942"), 64);
    const Sym n = k.size("n", {.most = 1 << 20});
    const Tensor y = k.output("y", Element::f32, {n}), z = k.output("z", Element::f32, {n}),
                 x = k.input("x", Element::f32, {n});
    k.computes(y, [&](const auto& c) { return k(x, {c[0]}); });
    k.computes(z, [&](const auto& c) { return k(y, {c[0]}); });
    const Sym tile = k.workgroups(0, n, 64);
    const Layout tv = line_tv(64, 1, 64);
    const auto write = [&] { k.store(k.load(k.tile(x, {64}, {tile}), tv, 1), k.tile(y, {64}, {tile}), 1); };
    if (!after) write();
    k.store(k.load(k.tile(y, {64}, {tile}), tv, 1), k.tile(z, {64}, {tile}), 1);
    if (after) write();
    CHECK_THAT(refuted(code_of(k)), Contains("what is read is what was there before the launch") &&
                                        Contains("read another tensor"));
  }
}

TEST_CASE("derive: a map that is a number for fewer values than the specification is refused") {
  using Body = std::function<Expr(Expr)>;
  const auto result = [](const Body& specified, const Body& mapped, bool in_two) {
    Program k("domain", Target::named("gfx942"), 64);
    const Sym n = k.size("n", {.most = 1 << 20});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
    k.computes(y, [&](const auto& c) { return specified(k(x, {c[0]})); });
    const Sym tile = k.workgroups(0, n, 64);
    Fragment v = k.load(k.tile(x, {64}, {tile}), line_tv(64, 1, 64), 1);
    if (in_two) { // the root of one map, squared by the next
      v = k.map({v}, [&](const auto& a) { return sqrt(a[0]); });
      v = k.map({v}, [&](const auto& a) { return a[0] * a[0]; });
    } else {
      v = k.map({v}, [&](const auto& a) { return mapped(a[0]); });
    }
    k.store(v, k.tile(y, {64}, {tile}), 1);
    return refuted(code_of(k));
  };
  const Body same = [](Expr x) { return x; };
  const auto one = [](Expr x) { return x * 0.0 + 1.0; };
  for (const auto& [specified, mapped, lost] : std::vector<std::tuple<Body, Body, std::string>>{
           {same, [](Expr x) { return sqrt(x) * sqrt(x); }, "is not negative"},
           {same, [](Expr x) { return x + sqrt(x) * 0.0; }, "is not negative"},
           {same, [](Expr x) { return x + sqrt(x) - sqrt(x); }, "is not negative"},
           {same, [](Expr x) { return x * x / x; }, "is not 0"},
           {same, [](Expr x) { return x + log(x) - log(x); }, "is positive"},
           {[](Expr x) { return x * x; }, [](Expr x) { return sqrt(x * x * x) * sqrt(x); },
            "is not negative"},
           {[](Expr x) { return rcp(x); }, [](Expr x) { return rsqrt(x) * rsqrt(x); }, "is not negative"},
           {one, [](Expr x) { return x / x; }, "is not 0"}}) {
    const std::string why = result(specified, mapped, false);
    INFO(why);
    CHECK_THAT(why, Contains("a map loses no condition of what it takes") && Contains(lost));
  }
  CHECK_THAT(result(same, same, true), Contains("is not negative"));
  // What is positive has its root and its reciprocal; what the specification asks for too is no loss.
  for (const auto& [specified, mapped] : std::vector<std::pair<Body, Body>>{
           {same, [](Expr x) { return x * exp(x) / exp(x); }},
           {[](Expr x) { return 1.0 + exp(x); },
            [](Expr x) { return sqrt(exp(x) + 1.0) * sqrt(exp(x) + 1.0); }},
           {[](Expr x) { return x / (x * x + 1.0); }, [](Expr x) { return x * rcp(x * x + 1.0); }},
           {[](Expr x) { return rcp(x / 2.0); }, [](Expr x) { return rcp(x) + rcp(x); }},
           {[](Expr x) { return log(x) * 2.0; }, [](Expr x) { return log(x) + log(x); }},
           {[](Expr x) { return sqrt(x) * sqrt(x); }, [](Expr x) { return sqrt(x) * sqrt(x); }},
           {[](Expr x) { return sqrt(x * x); }, [](Expr x) { return sqrt(x * x); }}})
    CHECK(result(specified, mapped, false) == "");
}

TEST_CASE("derive: what is added in 16 bits is added in pairs") {
  const auto adding = [](const char* arch, Element element, const Layout& tv, SizeFacts facts) {
    Program k("pairs", Target::named(arch), 64);
    const Sym n = k.size("n", facts), parts = k.size("parts", {.most = 1 << 10});
    const Tensor y = k.output("y", element, {n}), x = k.input("x", Element::f32, {parts, n});
    k.computes(y, [&](const auto& c) { return k.sum(parts, [&](Sym i) { return k(x, {i, c[0]}); }); });
    const Sym tile = k.workgroups(0, n, 128), part = k.workgroups(1, parts, 1);
    const Fragment v = k.load(k.tile(x, {1, 128}, {part, tile}).keep({1}), tv, 1);
    k.add(k.map(
              {v}, [](const auto& a) { return a[0]; }, element),
          k.tile(y, {128}, {tile}));
    return refuted(code_of(k));
  };
  const Layout pairs = line_tv(128, 2, 64), apart = line_tv(128, 1, 64);
  const SizeFacts even{.most = 1 << 20, .multiple = 2};
  for (const char* arch : {"gfx942", "gfx950"}) CHECK_NOTHROW(adding(arch, Element::bf16, pairs, even));
  CHECK_THROWS_WITH(adding("gfx90a", Element::bf16, pairs, even), Contains("gfx942, gfx950 has it"));
  CHECK_THROWS_WITH(adding("gfx950", Element::e4m3fn, pairs, even),
                    Contains("y is e4m3fn, which no atomic adds"));
  CHECK_THROWS_WITH(adding("gfx950", Element::bf16, pairs, {.most = 1 << 20}),
                    Contains("a row may end inside one") && Contains("declare it a multiple of 2"));
  CHECK_THAT(adding("gfx942", Element::f16, apart, even), Contains("a vector of y is contiguous"));
}

TEST_CASE("derive: rows are added where a table names them, each entry once") {
  // y(ids(p), n) += w(p) x(p, n); `through` names the table, `from` the tile of it, `by` the row of weights.
  struct Way {
    int from = 0, by = 0;
    bool scattered = true, other_table = false, whole_blocks = true, masked = true, adds = true;
    const char* because;
  };
  const auto result = [](const Way& way) {
    Program k("scatter", Target::named("gfx942"), 64);
    const Sym t = k.size("tokens", {.most = 1 << 14}), n = k.size("n", {.most = 1 << 12, .multiple = 4}),
              p = k.size("rows", {.most = 1 << 20, .multiple = way.whole_blocks ? 16 : 1});
    const Tensor y = k.output("y", Element::f32, {t, n}), x = k.input("x", Element::f32, {p, n}),
                 w = k.input("w", Element::f32, {p, Sym(1)}), ids = k.input("ids", Element::i32, {p}),
                 others = k.input("others", Element::i32, {p});
    const auto value = [&](const auto& c) { return k(w, {c[0], Sym(0)}) * k(x, {c[0], c[1]}); };
    way.scattered ? k.scatters(y, ids, value) : k.computes(y, value);
    const Sym bn = k.workgroups(0, n, 16), bp = k.workgroups(1, p, 16);
    const Layout tv = rows_tv(16, 16, 4, 64), row = without_axis(tv, 1);
    const Fragment rows = k.load(k.tile(way.other_table ? others : ids, {16}, {bp + Sym(way.from)}), row, 1),
                   weight = k.load(k.tile(w, {16, 1}, {bp + Sym(way.by), 0}), row, 1),
                   v = k.load(k.tile(x, {16, 16}, {bp, bn}), tv, 4);
    k.add(k.map({v, weight}, [](const auto& a) { return a[0] * a[1]; }),
          k.tile(y, {16, 16}, {0, bn}).through(0, rows));
    return changed(k, [&](Code& code) {
      for (Inst& i : code.regions.back().body)
        if (i.kind == InstKind::store) {
          if (!way.adds) i.combine.reset();
          i.access.masked[0] = way.masked;
        }
    });
  };
  CHECK(result({.because = ""}) == "");
  for (const Way& way :
       {Way{.from = 1, .because = "y is what the specification says"},
        Way{.by = 1, .because = "y is what the specification says"},
        Way{.scattered = false, .because = "goes through a table, and not in the specification"},
        Way{.other_table = true, .because = "the rows are those of others"},
        Way{.whole_blocks = false, .because = "rows declared a multiple of 16"},
        Way{.masked = false, .because = "guards leave out what masks do"},
        Way{.adds = false, .because = "a row may be named twice"}}) {
    INFO(way.because);
    CHECK_THAT(result(way), Contains(way.because));
  }
  // All entries, and each by one workgroup.
  Program k("half", Target::named("gfx942"), 64);
  const Sym t = k.size("tokens", {.most = 1 << 14}), p = k.size("rows", {.most = 1 << 20, .multiple = 64});
  const Tensor y = k.output("y", Element::f32, {t}), x = k.input("x", Element::f32, {p}),
               ids = k.input("ids", Element::i32, {p});
  k.scatters(y, ids, [&](const auto& c) { return k(x, {c[0]}); });
  const Sym b = k.workgroups(0, p, 128);
  const Layout tv = line_tv(64, 1, 64);
  k.add(k.load(k.tile(x, {64}, {b}), tv, 1),
        k.tile(y, {64}, {0}).through(0, k.load(k.tile(ids, {64}, {b}), tv, 1)));
  CHECK_THAT(refuted(code_of(k)), Contains("workgroups share out axis 0 of y"));
}

TEST_CASE("derive: what lies outside of a row is known, or it is refused") {
  // max(j < n, (i < r ? x(i,j) : beyond)) and sum(j < n, x(i,j) + more)
  const auto rows = [](Monoid monoid, double filled, bool chooses, double more) {
    Program k("rows", Target::named("gfx942"), 64);
    const Sym m = k.size("m"), n = k.size("n", {.most = 64, .multiple = 4}), r = k.size("r");
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
    const auto value = [&](Expr e, Sym row) { return chooses ? inside(row, r, e, 5) : e + more; };
    k.computes(y, [&](const auto& c) {
      return k.fold(monoid, n, [&](Sym j) { return value(k(x, {c[0], j}), c[0]); });
    });
    const Sym tile = k.workgroups(0, m, 4);
    Fragment v = k.load(k.tile(x, {4, 64}, {tile, 0}), rows_tv(4, 64, 4, 64), 4);
    if (filled != 0) v = k.fill(v, 1, 0, n, filled);
    const Fragment e = k.map({v}, [&](const auto& a) { return value(a[0], Sym(4) * tile + k.position(0)); });
    k.store(k.fold(monoid, e, 1), k.tile(y, {4, 1}, {tile, 0}), 1);
    return refuted(code_of(k));
  };
  CHECK(rows(Monoid::max, -INFINITY, false, 1) == "");
  CHECK(rows(Monoid::sum, 0, false, 0) == "");
  // Either of the two, and one of them is 5.
  CHECK_THAT(rows(Monoid::max, -INFINITY, true, 0),
             Contains("what lies outside of a max is its empty element"));
  CHECK_THAT(rows(Monoid::sum, 0, false, 1),
             Contains("what lies outside of a sum is its empty element | it is 1"));
}

TEST_CASE("derive: the other order of a staggered loop keeps what depends on what") {
  for (const bool transfer : {false, true}) {
    kernels::GemmSpec spec = small();
    spec.stagger = true, spec.transfer = transfer;
    const Program p = kernels::gemm_program(spec);
    const Graph graph = expand(p);
    const Code code = apply(graph, modulo_schedule(graph));
    CHECK(refuted(code) == "");
    const auto with = [&](auto change) {
      Code other = code;
      for (CodeRegion& r : other.regions)
        if (r.is_loop) change(r);
      return refuted(other);
    };
    CHECK_THAT(with([](CodeRegion& r) { r.staggered.pop_back(); }), !Catch::Equals(""));
    CHECK_THAT(with([](CodeRegion& r) { r.staggered[0] = r.staggered[1]; }), !Catch::Equals(""));
    // A wait, a barrier or an access that changes places with its neighbour: two products or a product and an access that are
    // independent may, nothing may cross a wait or a barrier.
    const auto kind = [](const CodeRegion& r, std::size_t s) {
      return r.body[static_cast<std::size_t>(r.staggered[s])].kind;
    };
    std::size_t across = 0;
    for (const CodeRegion& region : code.regions) {
      if (!region.is_loop) continue;
      for (std::size_t s = 0; s + 1 < region.staggered.size(); ++s) {
        const bool a = kind(region, s) == InstKind::wait || kind(region, s) == InstKind::barrier,
                   b = kind(region, s + 1) == InstKind::wait || kind(region, s + 1) == InstKind::barrier;
        if (a == b) continue;
        ++across;
        INFO(s);
        CHECK_THAT(with([&](CodeRegion& r) { std::swap(r.staggered[s], r.staggered[s + 1]); }),
                   !Catch::Equals(""));
      }
    }
    CHECK(across > 0);
  }
  kernels::GemmSpec one = small();
  one.stagger = true, one.waves_m = one.waves_n = 1;
  const Program of_one = kernels::gemm_program(one);
  const Graph graph = expand(of_one);
  CHECK_THROWS_WITH(apply(graph, modulo_schedule(graph)), Contains("1 wave has no two halves"));
}

TEST_CASE("derive: a descriptor that ends with its tensor cuts nothing of it off") {
  // Sums down the columns of a matrix whose rows begin `distance` apart: below a row's length they overlap, and the last row
  // goes on after where the next one would begin.
  const auto sums = [](const std::optional<int>& distance) {
    Program k("columns", Target::named("gfx942"), 64);
    const Sym T = k.size("t", {.most = 1 << 12}), M = k.size("m", {.most = 1 << 12});
    TupleBuilder<BasicMode<Sym>> b;
    const std::size_t all = b.open();
    b.leaf(BasicMode<Sym>{T, BasicStride<Sym>(distance ? Sym(*distance) : M)});
    b.leaf(BasicMode<Sym>{M, BasicStride<Sym>(Sym(1))});
    b.close(all, 2);
    const Tensor C = k.output("c", Element::f32, {1, M}),
                 X = k.input("x", Element::f32, {T, M}, SymLayout(std::move(b).finish()));
    k.computes(C, [&](const auto& c) { return k.sum(T, [&](Sym i) { return k(X, {i, c[1]}); }); });
    const Sym bm = k.workgroups(0, M, 64);
    const Layout row = rows_tv(1, 64, 1, 64), line = without_axis(row, 0);
    const Fragment sum = k.zeros(Element::f32, line, {1, 64});
    k.loop(T, 1, {.distance = 2, .ring = 1}, [&](Sym t) {
      const Fragment one = k.load(k.tile(X, {1, 64}, {t, bm}), row, 1);
      k.update(sum, {k.fold(Monoid::sum, one, 0)}, [](const auto& x) { return x[0] + x[1]; });
    });
    k.store(sum, k.tile(C, {1, 64}, {0, bm}), 1);
    return k;
  };
  const Undecided validation; // of formulas with rows that overlap
  for (const int distance : {0, 4, 100})
    for (const auto& [t, m] : {std::pair{5, 100}, {3, 64}, {1, 70}}) {
      INFO(distance << ": " << t << " x " << m);
      Program p = sums(distance ? std::optional(distance) : std::nullopt);
      CHECK(refuted(p) == "");
      const int apart = distance ? distance : m;
      std::vector<float> x, wanted(static_cast<std::size_t>(m)), found(wanted.size());
      for (int n = 0; n < apart * (t - 1) + m; ++n) x.push_back(static_cast<float>(n * 37 % 41 - 20));
      for (int row = 0; row < t; ++row)
        for (int column = 0; column < m; ++column)
          wanted[static_cast<std::size_t>(column)] += x[static_cast<std::size_t>(apart * row + column)];
      const auto bytes = [](const std::vector<float>& v) {
        const auto view = std::as_bytes(std::span(v));
        return kernels::Bytes(view.begin(), view.end());
      };
      const kernels::Artifact artifact = kernels::build(std::move(p));
      const auto device = kernels::open_device("emulator", artifact.arch);
      const kernels::Bytes after = kernels::run(*device, artifact, {bytes(found), bytes(x)}, {t, m})[0];
      CHECK(after == bytes(wanted));
    }
}

TEST_CASE("derive: one wave needs its waits, and no barriers") {
  Program k("through_lds", Target::named("gfx942"), 64);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
  k.computes(y, [&](const auto& c) { return k(x, {c[0]}); });
  const Sym tile = k.workgroups(0, n, 256);
  const Tensor lds = k.lds("lds", Element::f32, {256});
  k.store(k.load(k.tile(x, {256}, {tile}), line_tv(256, 4, 64), 4), k.whole(lds), 4);
  k.store(k.read(lds, line_tv(256, 1, 64), 1), k.tile(y, {256}, {tile}), 1);
  const auto without = [&](bool waits) {
    return changed(k, [&](Code& code) {
      for (CodeRegion& r : code.regions) {
        std::erase_if(r.body, [](const Inst& i) { return i.kind == InstKind::barrier; });
        for (Inst& i : r.body)
          if (i.kind == InstKind::wait && waits) i.lgkm = -1;
      }
    });
  };
  CHECK(without(false) == "");
  CHECK_THAT(without(true), Contains("what is read from lds has arrived there"));
}

TEST_CASE("derive: two loads into one register are waited for both") {
  Program k("twice", Target::named("gfx942"), 64);
  const Sym n = k.size("n", {.most = 1 << 20});
  const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
  k.computes(y, [&](const auto& c) { return k(x, {c[0]}) * 2.0; });
  const Sym tile = k.workgroups(0, n, 64);
  const Fragment f = k.load(k.tile(x, {64}, {tile}), line_tv(64, 1, 64), 1);
  k.store(k.map({f}, [](const auto& v) { return v[0] * 2.0; }), k.tile(y, {64}, {tile}), 1);
  const auto twice = [&](int keep) {
    return changed(k, [&](Code& code) {
      std::vector<Inst>& list = code.regions[0].body;
      const auto load =
          std::find_if(list.begin(), list.end(), [](const Inst& i) { return i.kind == InstKind::load; });
      const Inst again = *load;
      list.insert(load, again);
      nth(list, InstKind::wait, 0).vm = keep;
    });
  };
  CHECK(twice(0) == "");
  CHECK_THAT(twice(1), Contains("every register is waited for before it is used"));
}

TEST_CASE("derive: sums join every part once, and transfers are one instruction") {
  kernels::RowSpec spec;
  spec.threads = 128;
  spec.vectors = 1;
  CHECK_THAT(changed(kernels::rmsnorm_program(spec),
                     [](Code& c) { nth(c.regions[0].body, InstKind::fold_lanes, 0).lane_mask = 2; }),
             Contains("every element is summed once"));
  kernels::GemmSpec transfer = small();
  transfer.arch = "gfx950";
  transfer.tile_k = 64;
  transfer.transfer = true;
  const Program p = kernels::gemm_program(transfer);
  CHECK(refuted(code_of(p)) == "");
  CHECK_THAT(changed(p,
                     [](Code& c) {
                       auto& body = std::find_if(c.regions.begin(), c.regions.end(), [](const CodeRegion& r) {
                                      return r.is_loop;
                                    })->body;
                       const auto half = std::find_if(body.begin(), body.end(), [](const Inst& i) {
                         return i.kind == InstKind::load && i.direct;
                       });
                       std::swap(half[1], half[2]); // the next one's first half comes between
                     }),
             Contains("a transfer is one instruction"));
}

TEST_CASE("derive: how far a loop may go is part of what fits an offset") {
  const auto summed = [](std::int64_t most) {
    Program k("long_sum", Target::named("gfx942"), 64);
    const Sym n = k.size("n", {.most = most, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {Sym(1)}), x = k.input("x", Element::f32, {n});
    k.computes(y, [&](const auto&) { return k.sum(n, [&](Sym i) { return k(x, {i}); }); });
    const Layout tv = line_tv(256, 4, 64);
    const Fragment zero = k.zeros(Element::f32, without_axis(tv, 0), {1});
    k.loop(n, 256, {.distance = 1, .ring = 1}, [&](Sym t) {
      const Fragment part = k.fold(Monoid::sum, k.load(k.tile(x, {256}, {t}), tv, 4), 0);
      k.update(zero, {part}, [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(zero, k.tile(y, {1}, {0}), 1);
    return refuted(code_of(k));
  };
  CHECK(summed(std::int64_t{1} << 28) == "");
  CHECK_THAT(summed(std::int64_t{1} << 30),
             Contains("byte offsets into x fit 31 bits") && Contains("the offset of a trip may be"));
}

TEST_CASE("derive: normalised rows whose masks, mean, scale or halves are another's") {
  kernels::RowSpec spec;
  spec.threads = 128, spec.vectors = 1;
  spec.residual = true;
  spec.quantised = Element::i8;
  const auto maps = [](Program& p) {
    std::vector<MapOp*> out;
    for (Op& op : p.mutable_body())
      if (auto* m = std::get_if<MapOp>(&op.what)) out.push_back(m);
    return out;
  };
  const auto without_mask = [&](std::size_t which) {
    Program p = kernels::layernorm_program(spec);
    for (MapOp* m : maps(p))
      if (m->map.node().fn == Fn::inside && which-- == 0) m->map = {m->map.arena, m->map.node().args[0]};
    return refuted(code_of(p));
  };
  // Beyond the row lies -mean, the square of which counts; and b, which may be the largest.
  CHECK_THAT(without_mask(0), Contains("what lies outside of a sum is its empty element"));
  CHECK_THAT(without_mask(1), Contains("what lies outside of a max is its empty element"));
  // x + r, x - mean, squares, 1 / s, y, |y|, scale, 1 / scale, y / scale
  const auto changed_maps = [&](auto change) {
    Program p = kernels::layernorm_program(spec);
    const std::vector<MapOp*> all = maps(p);
    REQUIRE(all.size() == 9);
    change(all);
    return refuted(code_of(p));
  };
  using Maps = const std::vector<MapOp*>&;
  CHECK_THAT(changed_maps([](Maps m) { m[1]->from[0] = m[0]->from[0]; }), // without the residual
             Contains("is what the specification says"));
  CHECK_THAT(changed_maps([](Maps m) { std::swap(m[4]->from[2], m[4]->from[3]); }), // w and b
             Contains("is what the specification says"));
  CHECK_THAT(changed_maps([](Maps m) { m[8]->from[1] = m[6]->to; }), // times the scale
             Contains("y is what the specification says"));
  CHECK_THAT(changed_maps([](Maps m) { m[2]->from[0] = m[0]->to; }), // squares of what is not centred
             Contains("is what the specification says"));
  Program halves = kernels::silu_and_mul_program(spec);
  for (Op& op : halves.mutable_body())
    if (auto* c = std::get_if<CopyOp>(&op.what); c && c->from) c->from->origin[1] = Sym(1);
  CHECK_THAT(refuted(code_of(halves)), Contains("y is what the specification says"));
}

// A row and the one before it, or a tile that begins elsewhere: before its start nothing protects a tensor.
TEST_CASE("derive: tiles begin inside their tensor") {
  const auto shifted = [](const Sym& rows, const Sym& tiles, bool used) {
    Program k("shifted", Target::named("gfx942"), 64);
    const Sym M = k.size("m", {.most = 1 << 16}), N = k.size("n", {.most = 1 << 12, .multiple = 4});
    const Tensor Y = k.output("y", Element::f32, {M, N}), X = k.input("x", Element::f32, {M, N}),
                 stage = k.lds("stage", Element::f32, {1, 256});
    const Sym w = k.workgroups(0, N, 256), row = k.workgroups(1, M, 1);
    const Sym dr = rows, dw = tiles;
    k.computes(Y, [&](const auto& c) {
      const Expr x = k(X, {c[0], c[1]});
      return used ? x - k(X, {c[0] + dr, c[1] + 256 * dw}) : x;
    });
    const Layout tv = rows_tv(1, 256, 4, 64);
    const View there = k.tile(X, {1, 256}, {row + dr, w + dw});
    const Fragment x = k.load(k.tile(X, {1, 256}, {row, w}), tv, 4);
    if (used) {
      k.store(k.map({x, k.load(there, tv, 4)}, [](const auto& a) { return a[0] - a[1]; }),
              k.tile(Y, {1, 256}, {row, w}), 4);
    } else { // a prefetch
      k.copy(there, stage, tv, 4);
      k.store(x, k.tile(Y, {1, 256}, {row, w}), 4);
    }
    return refuted(code_of(k));
  };
  for (const bool used : {false, true}) {
    CHECK_THAT(shifted(Sym(-1), Sym(0), used), Contains("axis 0 may begin at a negative coordinate"));
    CHECK_THAT(shifted(Sym(0), Sym(-1), used), Contains("axis 1 may begin at a negative coordinate"));
    // Behind the end it is compared, and reads nothing: that is no difference of elements.
    for (const auto& [rows, tiles] : {std::pair(0, 1), {1, 0}}) {
      const std::string what = shifted(Sym(rows), Sym(tiles), used);
      CHECK(what.empty() == !used);
      if (used) CHECK_THAT(what, Contains("it holds something else, and that is stored"));
    }
    CHECK(shifted(Sym(0), Sym(0), used) == "");
  }
  Program k("labels", Target::named("gfx942"), 64);
  const Sym M = k.size("m", {.most = 1 << 16}), N = k.size("n", {.most = 256, .multiple = 4});
  const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {M, N}),
               T = k.input("t", Element::i32, {M});
  k.computes(Y, [&](const auto& c) { return k(X, {c[0], k.at(T, c[0] - 1)}); });
  const Sym row = k.workgroups(0, M, 1), label = k.uniform(T, row - 1);
  k.store(k.load(k.tile(X, {1, 1}, {row, label}), without_axis(rows_tv(1, 256, 4, 64), 1), 1),
          k.tile(Y, {1, 1}, {row, 0}), 1);
  CHECK_THAT(refuted(code_of(k)),
             Contains("a number of the workgroup is read inside t") && Contains("may be negative"));
}

TEST_CASE("derive: infinities that an expression makes itself do not cancel") {
  using Of = std::function<Expr(Program&, Expr, Expr)>;
  const auto computed = [](const Of& specified, const Of& map) {
    Program k("pair", Target::named("gfx942"), 64);
    const Sym N = k.size("n", {.most = 1 << 20});
    const Tensor Z = k.output("z", Element::f32, {N}), X = k.input("x", Element::f32, {N}),
                 Y = k.input("y", Element::f32, {N});
    k.computes(Z, [&](const auto& c) { return specified(k, k(X, {c[0]}), k(Y, {c[0]})); });
    const View z = k.tile(Z, {256}, {k.workgroups(0, N, 256)});
    const auto load = [&](const Tensor& t) {
      return k.load(k.tile(t, {256}, {k.grid()[0].symbol}), line_tv(256, 1, 64), 1);
    };
    k.store(k.map({load(X), load(Y)}, [&](const auto& a) { return map(k, a[0], a[1]); }), z, 1);
    return refuted(code_of(k));
  };
  const auto masked = [](Program& k, Expr x, Expr y) { return select(x, y, x, k.constant(-INFINITY)); };
  const Of y = [](Program&, Expr, Expr b) { return b + 0.0; };
  const Of maps[] = {
      [&](Program& k, Expr a, Expr b) { return b + (masked(k, a, b) - masked(k, a, b)); },
      [&](Program& k, Expr a, Expr b) { return b + masked(k, a, b) * 0.0; },
      [&](Program& k, Expr a, Expr b) { return b * exp(masked(k, a, b)) / exp(masked(k, a, b)); },
      [&](Program& k, Expr a, Expr b) { return b + max(a, k.constant(INFINITY)) * 0.0; },
  };
  for (const Of& map : maps) {
    CHECK_THAT(computed(y, map), Contains("a map loses no condition of what it takes"));
    CHECK(computed(map, map) == "");
  }
  const Of weight = [&](Program& k, Expr a, Expr b) { return exp(masked(k, a, b)); };
  CHECK(computed(weight, weight) == ""); // where nothing cancels
  CHECK(computed([&](Program& k, Expr a, Expr b) { return exp(masked(k, a, b) - b); },
                 [&](Program& k, Expr a, Expr b) { return exp(masked(k, a, b)) / exp(b); }) == "");
}

TEST_CASE("derive: a maximum under way that may be of masked elements alone scales beside a number only") {
  struct Masks {
    double fill = 0;                                  // of masked elements; 0: none is masked
    std::optional<double> bound;                      // max(most, bound) is subtracted
    bool of_old = true, of_new = true, stored = true; // where the bound is taken
  };
  const auto log_sum_exp = [](const Masks& s) {
    Program k("lse", Target::named("gfx942"), 64);
    const Sym M = k.size("m", {.most = 1 << 16}), N = k.size("n", {.most = 1 << 16, .multiple = 4});
    const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {M, N});
    const auto mask = [&](Sym j, Expr e) {
      return s.fill != 0 ? select(k.number(j), k.constant(300), e, k.constant(s.fill)) : e;
    };
    const auto bounded = [&](Expr e, bool here = true) {
      return s.bound && here ? max(e, k.constant(*s.bound)) : e;
    };
    k.computes(Y, [&](const auto& c) {
      const auto x = [&](Sym j) { return mask(j, k(X, {c[0], j})); };
      const Expr most = bounded(k.fold(Monoid::max, N, x));
      return log(k.sum(N, [&](Sym j) { return exp(x(j) - most); })) + most;
    });
    const Sym row = k.workgroups(0, M, 1);
    const Layout tv = rows_tv(1, 256, 4, 64), of = without_axis(tv, 1);
    const Fragment m = k.full(-INFINITY, of, {1, 1}), l = k.zeros(Element::f32, of, {1, 1});
    k.loop(N, 256, {.distance = 1, .ring = 1}, [&](Sym t) {
      const Sym column = 256 * t + k.position(1);
      const Fragment x = k.map({k.load(k.tile(X, {1, 256}, {row, t}), tv, 4)}, [&](const auto& a) {
        return inside(column, N, mask(column, a[0]), -INFINITY);
      });
      const Fragment most =
          k.map({m, k.fold(Monoid::max, x, 1)}, [](const auto& v) { return max(v[0], v[1]); });
      const Fragment p = k.map({x, most}, [&](const auto&v) { return exp(v[0] - bounded(v[1], s.of_new)); }),
                     again = k.map({m, most}, [&](const auto&v) {
                       return exp(bounded(v[0], s.of_old) - bounded(v[1], s.of_new));
                     });
      k.update(l, {again, k.fold(Monoid::sum, p, 1)}, [](const auto& v) { return v[0] * v[1] + v[2]; });
      k.update(m, {most}, [](const auto& v) { return v[1]; });
    });
    k.store(k.map({m, l}, [&](const auto& v) { return bounded(v[0], s.stored) + log(v[1]); }),
            k.tile(Y, {1, 1}, {row, 0}), 1);
    return refuted(code_of(k));
  };
  CHECK(log_sum_exp({}) == "");
  const auto infinite = Contains("its elements so far may all be infinite");
  CHECK_THAT(log_sum_exp({-INFINITY, {}}), infinite);
  CHECK(log_sum_exp({-INFINITY, -1e30}) == "");
  CHECK(log_sum_exp({0, -1e30}) == "");
  // In each place, beside a number, and of what is no infinity upwards.
  CHECK_THAT(log_sum_exp({-INFINITY, -1e30, false, true, true}), infinite);
  CHECK(log_sum_exp({-INFINITY, -1e30, true, false, true}) != "");
  CHECK_THAT(log_sum_exp({-INFINITY, -INFINITY}), infinite);
  CHECK_THAT(log_sum_exp({-INFINITY, INFINITY}), Contains("a map loses no condition of what it takes"));
  CHECK_THAT(log_sum_exp({INFINITY, -1e30}), Contains("a map loses no condition"));
  // One number in all of them.
  CHECK(log_sum_exp({-INFINITY, -1e30, true, true, false}) != "");
}

TEST_CASE("derive: a workgroup reads in place what it alone writes, and before") {
  const Target& target = Target::named("gfx942");
  const Layout one_by_one = line_tv(256, 1, 128), in_pairs = line_tv(256, 2, 128);
  struct Parts {
    Program k;
    Tensor x, y;
    View of_x, of_y;
  };
  const auto parts = [&](int multiple = 2) {
    Program k("in_place", target, 128);
    const Sym N = k.size("n", {.most = 1 << 20, .multiple = multiple});
    const Tensor x = k.inout("x", Element::f32, {N}), y = k.output("y", Element::f32, {N});
    const Sym w = k.workgroups(0, N, 256);
    const View of_x = k.tile(x, {256}, {w}), of_y = k.tile(y, {256}, {w});
    return Parts{std::move(k), x, y, of_x, of_y};
  };
  // y = x, x = what it says
  const auto specify = [](Parts& p, auto what) {
    p.k.computes(p.y, [&](const auto& c) { return p.k(p.x, {c[0]}); });
    p.k.computes(p.x, [&](const auto& c) { return what(p, c[0]); });
  };
  const auto nothing = [](Parts& p, Sym) { return p.k.constant(0); };
  const auto cleared = [&](const Layout& read_by, const Layout& written_by, bool at_first) {
    Parts p = parts();
    specify(p, nothing);
    const Fragment zero = p.k.full(0, written_by, {256});
    if (at_first) p.k.store(zero, p.of_x, 1);
    p.k.store(p.k.load(p.of_x, read_by, 1), p.of_y, 1);
    if (!at_first) p.k.store(zero, p.of_x, 1);
    return refuted(code_of(p.k));
  };
  CHECK(cleared(one_by_one, one_by_one, false) == "");
  CHECK_THAT(cleared(one_by_one, one_by_one, true), Contains("reads what was written"));
  CHECK_THAT(cleared(one_by_one, in_pairs, false),
             Contains("nothing of x is overwritten while it is read") && Contains("may still be reading"));

  // Other waves write what a wave has read: the barrier of the exchange is what makes it right.
  const auto exchanged = [&] {
    Parts p = parts();
    specify(p, [](Parts& of, Sym i) { return of.k(of.x, {i}) * 2.0; });
    const Fragment x = p.k.load(p.of_x, one_by_one, 1);
    p.k.store(x, p.of_y, 1);
    const Fragment to = p.k.relayout(x, in_pairs, Element::f32);
    p.k.store(p.k.map({to}, [](const auto& a) { return a[0] * 2.0; }), p.of_x, 2);
    return refuted(code_of(p.k));
  };
  CHECK(exchanged() == "");

  // The first element of the tensor is another workgroup's.
  const auto first_added = [&](int extent, Sym at) {
    Parts p = parts();
    specify(p, [&](Parts& of, Sym i) { return of.k(of.x, {i}) + of.k(of.x, {Sym(0)}); });
    const Fragment x = p.k.load(p.of_x, one_by_one, 1),
                   first = p.k.load(p.k.tile(p.x, {extent}, {at}), without_axis(one_by_one, 0), 1);
    p.k.store(x, p.of_y, 1);
    p.k.store(p.k.map({x, first}, [](const auto& a) { return a[0] + a[1]; }), p.of_x, 1);
    return refuted(code_of(p.k));
  };
  CHECK_THAT(first_added(1, Sym(0)), Contains("a workgroup reads of x what it alone writes"));

  // Halves of a tile, one written before the other is read; and one more element than is written.
  const auto halves = [&](bool at_once, int more) {
    Parts p = parts(256);
    specify(p, nothing);
    const Layout half = line_tv(128, 1, 128);
    const auto of = [&](const Tensor& t, int which) {
      return p.k.tile(t, {128}, {Sym(2) * p.k.grid()[0].symbol + Sym(which)});
    };
    const Fragment zero = p.k.full(0, half, {128}), low = p.k.load(of(p.x, 0), half, 1);
    if (!at_once) p.k.store(zero, of(p.x, 0), 1);
    const Fragment high = p.k.load(of(p.x, 1 + more), half, 1);
    p.k.store(low, of(p.y, 0), 1), p.k.store(high, of(p.y, 1), 1);
    if (at_once) p.k.store(zero, of(p.x, 0), 1);
    p.k.store(zero, of(p.x, 1), 1);
    return refuted(code_of(p.k));
  };
  CHECK(halves(true, 0) == "");
  CHECK_THAT(halves(false, 0), Contains("reads what was written"));
  CHECK_THAT(halves(true, 1), Contains("x"));

  Parts added = parts();
  specify(added, [](Parts& of, Sym i) { return of.k(of.x, {i}); });
  const Fragment x = added.k.load(added.of_x, one_by_one, 1);
  added.k.store(x, added.of_y, 1);
  added.k.add(x, added.of_x);
  CHECK_THAT(refuted(code_of(added.k)), Contains("x holds 0 before the launch"));

  Program k("numbers", target, 64);
  const Tensor table = k.inout("table", Element::i32, {k.size("n")});
  CHECK_THROWS_WITH(k.uniform(table, Sym(0)), Contains("is an output"));
}

TEST_CASE("derive: what a workgroup reads in place before a loop and in it") {
  // x(r, c) = x(r, c) + sum of w(r, j): read before the loop, or in it, the same tile each trip or another.
  enum class How { before, same, next };
  const auto added = [](How how) {
    Program k("in_place", Target::named("gfx942"), 64);
    const Sym M = k.size("m", {.most = 1 << 12}), N = k.size("n", {.most = 1 << 12, .multiple = 64});
    const Tensor x = k.inout("x", Element::f32, {M, how == How::next ? N : Sym(64)}),
                 w = k.input("w", Element::f32, {M, N});
    k.computes(x, [&](const auto& c) {
      return k(x, {c[0], c[1]}) + k.sum(N, [&](Sym j) { return k(w, {c[0], j}); });
    });
    const Sym row = k.workgroups(0, M, 1);
    const Layout tv = rows_tv(1, 64, 1, 64), one = without_axis(tv, 1);
    const auto read = [&](Sym t) { return k.load(k.tile(x, {1, 64}, {row, t}), tv, 1); };
    const Fragment before = read(0), sum = k.zeros(Element::f32, one, {1, 1});
    k.loop(N, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      std::vector<Fragment> parts{k.fold(Monoid::sum, k.load(k.tile(w, {1, 64}, {row, t}), tv, 1), 1)};
      if (how != How::before) parts.push_back(k.fold(Monoid::sum, read(how == How::next ? t : Sym(0)), 1));
      k.update(sum, parts,
               [](const auto& v) { return v.size() > 2 ? v[0] + v[1] + 0.0 * v[2] : v[0] + v[1]; });
    });
    k.store(k.map({before, sum}, [](const auto& v) { return v[0] + v[1]; }), k.tile(x, {1, 64}, {row, 0}), 1);
    return refuted(code_of(k));
  };
  CHECK(added(How::before) == "");
  CHECK_THAT(added(How::same), Contains("other reads are under way")); // nothing orders them with a store
  CHECK_THAT(added(How::next), Contains("the first one read has to be the first of all") ||
                                   Contains("what is read of x in place is not the same"));
}

TEST_CASE("derive: what is read of LDS at once is of one tile") {
  const auto halves = [](bool other) {
    Program k("halves", Target::named("gfx942"), 128);
    const Sym n = k.size("n", {.most = 1 << 20});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
                 z = k.input("z", Element::f32, {n}), lds = k.lds("lds", Element::f32, {256});
    k.computes(y, [&](const auto& c) { return k(x, {c[0]}) + 0.0 * k(z, {c[0]}); });
    const Sym w = k.workgroups(0, n, 256);
    const Layout ones = line_tv(256, 1, 128), pairs = line_tv(256, 2, 128);
    k.copy(k.tile(x, {256}, {w}), lds, ones, 1);
    k.store(k.read(lds, pairs, 2), k.tile(y, {256}, {w}), 1);
    return changed(k, [&](Code& c) {
      if (other) nth(c.regions.front().body, InstKind::load, 1).access.tensor = z.id;
    });
  };
  CHECK(halves(false) == "");
  CHECK_THAT(halves(true), Contains("a fragment of lds is of one tile"));
}

TEST_CASE("derive: rows with a part left out, joined twice, or filled with the wrong element") {
  kernels::RowSpec spec;
  spec.threads = 128;
  spec.vectors = 1;
  const Program p = kernels::softmax_program(spec);
  const auto straight = [](Code& c) -> std::vector<Inst>& { return c.regions[0].body; };
  CHECK_THAT(changed(p, [&](Code& c) { nth(straight(c), InstKind::fold_lanes, 0).lane_mask = 2; }),
             !Catch::Equals(""));
  CHECK_THAT(changed(p, [&](Code& c) { nth(straight(c), InstKind::fold_values, 0).uses.pop_back(); }),
             !Catch::Equals(""));
  CHECK_THAT(changed(p,
                     [&](Code& c) {
                       for (Inst& i : straight(c))
                         if (i.kind == InstKind::fold_values || i.kind == InstKind::fold_lanes)
                           i.monoid = Monoid::sum;
                     }),
             !Catch::Equals(""));
  Program unfilled("unfilled", p.target(), 64);
  const Sym n = unfilled.size("n", {.most = 512, .multiple = 8});
  const Tensor y = unfilled.output("y", Element::f32, {n}), x = unfilled.input("x", Element::f32, {n});
  unfilled.computes(y, [&](const auto& c) {
    return unfilled(x, {c[0]}) - unfilled.fold(Monoid::max, n, [&](Sym j) { return unfilled(x, {j}); });
  });
  const Layout tv = line_tv(512, 4, 64);
  const Fragment v = unfilled.load(unfilled.tile(x, {512}, {0}), tv, 4);
  const Fragment r =
      unfilled.map({v, unfilled.fold(Monoid::max, v, 0)}, [](const auto& e) { return e[0] - e[1]; });
  unfilled.store(r, unfilled.tile(y, {512}, {0}), 4);
  // What lies outside is 0 by the descriptor, and the maximum of negative numbers and 0 is 0.
  CHECK_THAT(refuted(code_of(unfilled)), Contains("what lies outside of a max is its empty element"));
}

namespace {
// Rows of [M, N] doubled, tile by tile of 256 in a loop: which tile is stored in trip t, and over how much the loop runs.
struct InLoop {
  std::function<Sym(Sym)> to = [](Sym t) { return t; };
  int multiple = 4, vector = 4, twice = 0, second = 256;
  bool before = false;
};
std::string stored_in_loop(const InLoop& how) {
  Program k("loopstore", Target::named("gfx942"), 64);
  const Sym M = k.size("m", {.most = 1 << 12}), N = k.size("n", {.most = 1 << 12, .multiple = how.multiple});
  const Tensor Y = k.output("y", Element::f32, {M, N}), X = k.input("x", Element::f32, {M, N});
  k.computes(Y, [&](const auto& c) { return k(X, {c[0], c[1]}) * 2.0; });
  const Sym row = k.workgroups(0, M, 1);
  const auto doubled = [&](int tile, Sym from, Sym to) {
    const Layout tv = rows_tv(1, tile, how.vector, 64);
    const Fragment x = k.load(k.tile(X, {1, tile}, {row, from}), tv, how.vector);
    k.store(k.map({x}, [](const auto& a) { return a[0] * 2.0; }), k.tile(Y, {1, tile}, {row, to}),
            how.vector);
  };
  if (how.before) doubled(256, 0, 0);
  k.loop(N, 256, {.distance = 2, .ring = 2}, [&](Sym t) { doubled(256, t, how.to(t)); });
  if (how.twice > 0)
    k.loop(N, how.second, {.distance = 0, .ring = 1}, [&](Sym t) { doubled(how.second, t, t); });
  return refuted(code_of(k));
}
} // namespace

TEST_CASE("derive: what a loop stores is every element once, tile by tile") {
  CHECK(stored_in_loop({}) == "");
  CHECK_THAT(stored_in_loop({.to = [](Sym) { return Sym(0); }}),
             Contains("y is what the specification says"));
  CHECK_THAT(stored_in_loop({.to = [](Sym t) { return t + Sym(1); }}),
             Contains("y is what the specification says"));
  CHECK_THAT(stored_in_loop({.before = true}), Contains("every element of y is written once"));
  CHECK_THAT(stored_in_loop({.twice = 1}), Contains("every element of y is written once"));
  CHECK_THAT(stored_in_loop({.twice = 1, .second = 512}), Contains("loops over one size have one tile"));
  CHECK(stored_in_loop({.multiple = 1, .vector = 1}) == "");
  CHECK_THROWS_WITH(stored_in_loop({.multiple = 2}),
                    Contains("in a loop there is one version") && Contains("n"));
}

TEST_CASE("derive: what one loop folds is whole in the next, and parts of it are not") {
  const auto normalised = [](bool whole, bool all) {
    Program k("twoloops", Target::named("gfx942"), 64);
    const Sym M = k.size("m", {.most = 1 << 12}), N = k.size("n", {.most = 1 << 12, .multiple = 4});
    const Tensor Y = k.output("y", Element::f32, {M, N}), X = k.input("x", Element::f32, {M, N});
    k.computes(Y, [&](const auto& c) {
      return k(X, {c[0], c[1]}) - k.fold(Monoid::max, N, [&](Sym j) { return k(X, {c[0], j}); });
    });
    const Sym row = k.workgroups(0, M, 1);
    const Layout tv = rows_tv(1, 256, 4, 64);
    const Fragment most = k.full(-INFINITY, without_axis(tv, 1), {1, 1});
    const auto of = [&](Sym t) { return k.load(k.tile(X, {1, 256}, {row, t}), tv, 4); };
    const auto fold = [&](Sym t) {
      k.update(most, {k.fold(Monoid::max, k.fill(of(t), 1, 256 * t, N, -INFINITY), 1)},
               [](const auto& a) { return codegen::max(a[0], a[1]); });
    };
    const auto store = [&](Sym t) {
      k.store(k.map({of(t), most}, [](const auto& a) { return a[0] - a[1]; }), k.tile(Y, {1, 256}, {row, t}),
              4);
    };
    if (all)
      k.loop(N, 256, {.distance = 0, .ring = 1}, [&](Sym t) {
        fold(t);
        if (!whole) store(t);
      });
    if (!all) fold(0); // of the first tile
    if (whole) k.loop(N, 256, {.distance = 0, .ring = 1}, store);
    return refuted(code_of(k));
  };
  CHECK(normalised(true, true) == "");
  CHECK_THAT(normalised(false, true), Contains("over [0, 256)"));
  CHECK_THAT(normalised(true, false), Contains("over [0, 256)"));
}

TEST_CASE("derive: a sum that is over is a factor of what is no sum") {
  // y(r) = (w(r) - 1/2) (sum of the row / 4), the sum carried by a loop: w s/4 and -s/8 have no body in common.
  Program k("scaled", Target::named("gfx942"), 64);
  const Sym M = k.size("m", {.most = 1 << 12}), N = k.size("n", {.most = 1 << 12});
  const Tensor Y = k.output("y", Element::f32, {M, 1}), X = k.input("x", Element::f32, {M, N}),
               W = k.input("w", Element::f32, {M, 1});
  k.computes(Y, [&](const auto& c) {
    return (k(W, {c[0], 0}) - 0.5) * (k.sum(N, [&](Sym j) { return k(X, {c[0], j}); }) * 0.25);
  });
  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, 64, 1, 64), of_row = without_axis(tv, 1);
  const Fragment total = k.zeros(Element::f32, of_row, {1, 1});
  k.loop(N, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
    k.update(total, {k.fold(Monoid::sum, k.load(k.tile(X, {1, 64}, {row, t}), tv, 1), 1)},
             [](const auto& a) { return a[0] + a[1]; });
  });
  const Fragment w = k.load(k.tile(W, {1, 1}, {row, 0}), of_row, 1);
  k.store(k.map({total, w}, [](const auto& a) { return (a[1] - 0.5) * (a[0] * 0.25); }),
          k.tile(Y, {1, 1}, {row, 0}), 1);
  CHECK(refuted(code_of(k)) == "");
}

TEST_CASE("derive: halves that exchange their elements, in place too") {
  enum class How { right, early, one_half, swapped, sign, other_waves };
  const auto turned = [](bool in_place, How how) {
    Program k("halves", Target::named("gfx942"), 128);
    const Sym M = k.size("m", {.most = 1 << 12});
    const Tensor Y = in_place ? k.inout("x", Element::f32, {M, 2, 256})
                              : k.output("y", Element::f32, {M, 2, 256}),
                 X = in_place ? Y : k.input("x", Element::f32, {M, 2, 256});
    k.computes(Y, [&](const auto& c) {
      return k(X, {c[0], c[1], c[2]}) + k.number(Sym(2) * c[1] - Sym(1)) * k(X, {c[0], Sym(1) - c[1], c[2]});
    });
    const Sym row = k.workgroups(0, M, 1);
    const Layout tv = rows_tv(1, 256, 2, 128), by_ones = rows_tv(1, 256, 1, 128);
    const auto half = [&](const Tensor& of, int which) {
      return k.tile(of, {1, 1, 256}, {row, which, 0}).keep({1, 2});
    };
    const auto less = [](const auto& a) { return a[0] - a[1]; };
    const auto sum = [](const auto& a) { return a[0] + a[1]; };
    const Fragment low = k.load(half(X, 0), tv, 2);
    if (how == How::early) k.store(low, half(Y, 0), 2);
    const Fragment high = k.load(half(X, 1), tv, 2);
    const int first = how == How::swapped ? 1 : 0;
    if (how != How::early) {
      const Fragment y = how == How::sign ? k.map({low, high}, sum) : k.map({low, high}, less);
      if (how == How::other_waves)
        k.store(k.relayout(y, by_ones, Element::f32), half(Y, 0), 1);
      else
        k.store(y, half(Y, first), 2);
    }
    if (how != How::one_half) k.store(k.map({high, low}, sum), half(Y, 1 - first), 2);
    return refuted(code_of(k));
  };
  for (const bool in_place : {false, true}) {
    INFO("in place " << in_place);
    CHECK(turned(in_place, How::right) == "");
    CHECK(turned(in_place, How::other_waves) == ""); // the barrier of the exchange is after all loads
    CHECK_THAT(turned(in_place, How::one_half), Contains(in_place ? "it reads beyond the tile that it writes"
                                                                  : "no grid axis counts these tiles"));
    CHECK_THAT(turned(in_place, How::swapped), Contains("is what the specification says"));
    CHECK_THAT(turned(in_place, How::sign), Contains("is what the specification says"));
  }
  CHECK_THAT(turned(true, How::early), Contains("x is what the specification says"));
}

TEST_CASE("derive: several stores share out a tile") {
  // Three parts of 64 at these places of a row of 192.
  const auto parts = [](std::vector<int> at) {
    Program k("parts", Target::named("gfx942"), 64);
    const Sym M = k.size("m", {.most = 1 << 12});
    const Tensor Y = k.output("y", Element::f32, {M, 192}), X = k.input("x", Element::f32, {M, 192});
    k.computes(Y, [&](const auto& c) { return k(X, {c[0], c[1]}) * 2.0; });
    const Sym row = k.workgroups(0, M, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    for (const int p : at)
      k.store(k.map({k.load(k.tile(X, {1, 64}, {row, p}), tv, 1)}, [](const auto& a) { return a[0] * 2.0; }),
              k.tile(Y, {1, 64}, {row, p}), 1);
    return refuted(code_of(k));
  };
  CHECK(parts({0, 1, 2}) == "");
  CHECK(parts({2, 0, 1}) == "");
  CHECK_THAT(parts({0, 1}), Contains("every element of y is written once"));
  CHECK_THAT(parts({0, 2}), Contains("every element of y is written once"));
  CHECK_THAT(parts({1, 2}), Contains("every element of y is written once"));
  CHECK_THAT(parts({0, 1, 1, 2}), Contains("every element of y is written once"));
}

// Weights of another type with one scale for `group` k of a row, scaled on the way to LDS.
TEST_CASE("derive: an operand scaled by blocks of k before the product") {
  enum class How { right, first, next, half, other_rows, divided };
  const auto scaled = [](int group, How how) {
    const Target& target = Target::named("gfx942");
    const MmaTiling mma = MmaTiling::of(
        Atom::mma_best(target, Element::bf16, Element::bf16, Element::f32, 16), 2, 2, 64, 64, group, 8);
    Program k("dequantised", target, mma.threads());
    const Sym M = k.size("m", {.most = 1 << 16}), N = k.size("n", {.most = 1 << 16, .multiple = 4}),
              K = k.size("k", {.most = 1 << 14, .multiple = group});
    const Tensor C = k.output("c", Element::f32, {M, N}), A = k.input("a", Element::bf16, {M, K}),
                 W = k.input("w", Element::bf16, {N, K}),
                 S = k.input("s", Element::f32, {N, floor_div(K, Sym(group))});
    k.computes(C, [&](const auto& c) {
      return k.sum(K, [&](Sym i) {
        return k(A, {c[0], i}) * (k(W, {c[1], i}) * k(S, {c[1], floor_div(i, Sym(group))}));
      });
    });
    const Sym bn = k.workgroups(0, N, 64), bm = k.workgroups(1, M, 64);
    const Layout rows = rows_tv(64, group, 8, mma.threads());
    const Swizzle swizzle = group == 64 ? Swizzle(3, 3, 3) : Swizzle(2, 3, 3);
    const Tensor a = k.lds("lds_a", Element::bf16, {64, group}, swizzle),
                 b = k.lds("lds_b", Element::bf16, {64, group}, swizzle);
    const Fragment acc = k.zeros(Element::f32, mma.c(), {64, 64});
    k.loop(K, group, {.distance = 2, .ring = 2}, [&](Sym t) {
      k.copy(k.tile(A, {64, group}, {bm, t}), a, rows, 8);

      const Sym block = how == How::first  ? Sym(0)
                        : how == How::next ? t + 1
                        : how == How::half ? floor_div(t, Sym(2))
                                           : t;
      const Fragment s =
          k.load(k.tile(S, {64, 1}, {how == How::other_rows ? bm : bn, block}), without_axis(rows, 1), 1);
      const Fragment w = k.map(
          {k.load(k.tile(W, {64, group}, {bn, t}), rows, 8), s},
          [&](const auto& x) { return how == How::divided ? x[0] / x[1] : x[0] * x[1]; }, Element::bf16);
      k.store(w, k.whole(b), 8);
      k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma);
    });
    k.store(acc, k.tile(C, {64, 64}, {bm, bn}), 4);
    return refuted(code_of(k));
  };
  for (const int group : {32, 64}) {
    INFO(group);
    CHECK(scaled(group, How::right) == "");
    for (const How wrong : {How::first, How::next, How::half, How::other_rows, How::divided})
      CHECK(scaled(group, wrong) != "");
  }
}

TEST_CASE("sizes: facts that no number has are refused") {
  for (const SizeFacts& facts : std::vector<SizeFacts>{{.least = -1},
                                                       {.least = 0, .most = 0},
                                                       {.least = 3, .most = 2},
                                                       {.multiple = 0},
                                                       {.most = 3, .multiple = 7},
                                                       {.least = 8, .most = 13, .multiple = 7}}) {
    Program k("none", Target::named("gfx942"), 64);
    CHECK_THROWS_WITH(k.size("n", facts), Contains("say no such range"));
  }
  Program k("some", Target::named("gfx942"), 64);
  CHECK_NOTHROW(k.size("n", {.least = 8, .most = 14, .multiple = 7}));
}

TEST_CASE("sizes: one that may be 0 stands in strides, and is refused in extents") {
  Program k("apart", Target::named("gfx942"), 64);
  const Sym n = k.size("n"), gap = k.size("gap", {.least = 0, .most = 100});
  const Tensor y = k.output("y", Element::f32, {n});
  const auto refused = [&](const std::string& what, const auto& f) {
    CHECK_THROWS_WITH(f(), Contains(what) && Contains("the size gap, which may be 0, is part of an extent"));
  };
  refused("tensor x", [&] { k.input("x", Element::f32, {gap}); });
  refused("tensor x", [&] { k.output("x", Element::f32, {n, n + gap}); });
  refused("grid axis 0", [&] { k.workgroups(0, gap, 4); });
  refused("fold", [&] { k.sum(gap, [&](Sym) { return k.constant(1); }); });
  refused("sum", [&] { k.sum(n, Sym(0), gap, [&](Sym) { return k.constant(1); }); });
  refused("loop", [&] { k.loop(gap, 4, {}, [](Sym) {}); });
  refused("loop", [&] { k.loop(Sym(0), n + gap, 4, {}, [](Sym) {}); });
  k.workgroups(0, n, 4), k.workgroups(1, n, 4);
  refused("share", [&] { k.share(4, gap, 4); });
}

} // namespace derive_test
