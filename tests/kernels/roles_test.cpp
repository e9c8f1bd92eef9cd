// Roles: groups of waves that do different things, on the emulator against the specification; and what refuses them.
#include "role_product.h"
#include "specified.h"

#include <algorithm>
#include <set>

namespace roles_test {

using namespace inlay;
using namespace inlay::codegen;
using Catch::Matchers::Contains;
using specified::refuted, specified::Undecided;

namespace {

Code code_of(const Program& p, Scheduler scheduler = Scheduler::plain) {
  const Graph graph = expand(p);
  return apply(graph, schedule_with(scheduler, graph));
}

enum class Form { transfers, gather, branch };

// The same with another way to bring the operands, or with roles in one path of a branch.
Program formed(Form form, const char* arch, Pipeline pipeline) {
  const Target& target = Target::named(arch);
  const MmaTiling mma = MmaTiling::of(Atom::mma_of(target, Element::f16, Element::f16, Element::f32, 16, 16),
                                      2, 1, 64, 64, 64, 8);
  Program k("formed", target, 256);
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1 << 14}),
            d = k.size("k", {.most = 1 << 14, .multiple = 8});
  const Tensor C = k.output("c", Element::f32, {m, n}), A = k.input("a", Element::f16, {m, d}),
               B = k.input("b", Element::f16, {n, d}), ids = k.input("ids", Element::i32, {m});
  k.computes(C, [&](const auto& c) {
    return k.sum(d, [&](Sym i) {
      return (form == Form::gather ? k(A, {k.at(ids, c[0]), i}) : k(A, {c[0], i})) * k(B, {c[1], i});
    });
  });
  const Sym bn = k.workgroups(0, n, 64), bm = k.workgroups(1, m, 64);
  const int lanes = target.lanes_per_transfer();
  const auto tile = [&](const char* name) {
    return form == Form::transfers ? k.lds(name, Element::f16, {64, 64}, transfer_place(64, 64, 8, lanes))
                                   : k.lds(name, Element::f16, {64, 64}, Swizzle(3, 3, 3));
  };
  const Tensor a = tile("lds_a"), b = tile("lds_b");
  const Layout by_rows = rows_tv(64, 64, 8, 128);
  const auto bring = [&](const View& from, const Tensor& to) {
    if (form == Form::transfers)
      k.transfer(from, to, transfer_tv(64, 64, 8, 128, lanes), 8 / lanes);
    else
      k.copy(from, to, by_rows, 8);
  };
  const auto by_roles = [&] {
    Fragment acc, rows;
    k.roles({{"producer", 2,
              [&] {
                if (form == Form::gather) rows = k.load(k.tile(ids, {64}, {bm}), without_axis(by_rows, 1), 1);
              }},
             {"consumer", 2, [&] {
                acc = k.zeros(Element::f32, mma.c(), {64, 64});
              }}});
    k.loop(d, 64, pipeline, [&](Sym t) {
      k.roles({{"producer", 2,
                [&] {
                  bring(form == Form::gather ? k.tile(A, {64, 64}, {0, t}).through(0, rows)
                                             : k.tile(A, {64, 64}, {bm, t}),
                        a);
                  bring(k.tile(B, {64, 64}, {bn, t}), b);
                }},
               {"consumer", 2, [&] { k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma); }}});
    });
    k.roles({{"producer", 2, {}}, {"consumer", 2, [&] { k.store(acc, k.tile(C, {64, 64}, {bm, bn}), 1); }}});
  };
  if (form != Form::branch) {
    by_roles();
    return k;
  }
  k.if_less(d, 96, by_roles, [&] {
    const MmaTiling all = MmaTiling::of(
        Atom::mma_of(target, Element::f16, Element::f16, Element::f32, 16, 16), 2, 2, 64, 64, 64, 8);
    const Layout rows = rows_tv(64, 64, 8, 256);
    const Fragment acc = k.zeros(Element::f32, all.c(), {64, 64});
    k.loop(d, 64, pipeline, [&](Sym t) {
      k.copy(k.tile(A, {64, 64}, {bm, t}), a, rows, 8);
      k.copy(k.tile(B, {64, 64}, {bn, t}), b, rows, 8);
      k.mma(acc, k.read(a, all.a(), 8), k.read(b, all.b(), 8), all);
    });
    k.store(acc, k.tile(C, {64, 64}, {bm, bn}), 1);
  });
  return k;
}

std::vector<std::vector<Inst>*> lists_of(Code& code) {
  std::vector<std::vector<Inst>*> out;
  for (CodeRegion& r : code.regions)
    for (auto* list : {&r.prologue, &r.body, &r.epilogue}) out.push_back(list);
  return out;
}

} // namespace

TEST_CASE("roles: a product whose operands other waves bring") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Pipeline& pipeline : {Pipeline{0, 1}, Pipeline{2, 2}, Pipeline{3, 3}}) {
      // With three stages the machine leaves its loop by a remainder of three, which validation does not follow.
      std::optional<Undecided> validation;
      if (pipeline.ring == 3) validation.emplace();
      INFO(arch << " distance " << pipeline.distance << " ring " << pipeline.ring);
      const specified::Built kernel(role_product::product(arch, pipeline));
      for (const std::vector<std::int64_t>& sizes :
           {std::vector<std::int64_t>{64, 64, 32}, {70, 130, 104}, {1, 3, 200}}) {
        INFO("k " << sizes[2]);
        kernel.check(sizes, 0, true);
      }
    }
}

TEST_CASE("roles: with loads straight to LDS, with rows through a table, and in one path of a branch") {
  for (const Form form : {Form::transfers, Form::gather, Form::branch})
    for (const char* arch : {"gfx942", "gfx950"})
      for (const Pipeline& pipeline : {Pipeline{0, 1}, Pipeline{1, 2}, Pipeline{2, 3}}) {
        INFO("form " << static_cast<int>(form) << " " << arch << " distance " << pipeline.distance << " ring "
                     << pipeline.ring);
        const Undecided validation;
        // The order of transfers that some waves make and others wait for takes validation minutes.
        if (form == Form::transfers && pipeline.ring > 1) setenv("INLAY_VALIDATE", "", 1);
        const specified::Built kernel(formed(form, arch, pipeline));
        for (const std::vector<std::int64_t>& sizes :
             {std::vector<std::int64_t>{64, 64, 64}, {70, 130, 104}}) {
          INFO("k " << sizes[2]);
          kernel.check(sizes, 0, true);
        }
      }
}

TEST_CASE("roles: each instruction is its role's, and barriers are everybody's") {
  const Program p = role_product::product("gfx942", {2, 2});
  CHECK_THAT(p.text(), Contains("consumer, waves 2 to 3"));
  for (const Scheduler scheduler : {Scheduler::plain, Scheduler::modulo}) {
    Code code = code_of(p, scheduler);
    CHECK(refuted(code) == "");
    int barriers = 0;
    for (const auto* list : lists_of(code))
      for (const Inst& i : *list) {
        if (i.kind == InstKind::load || i.kind == InstKind::lds_write) CHECK(i.waves == Waves{0, 2});
        if (i.kind == InstKind::mma || i.kind == InstKind::lds_read || i.kind == InstKind::store)
          CHECK(i.waves == Waves{2, 2});
        if (i.kind == InstKind::barrier) CHECK(i.waves.all());
        barriers += list == &code.regions[1].body && i.kind == InstKind::barrier;
      }
    CHECK(barriers == 1); // of two stages
  }
}

TEST_CASE("roles: what is wrong about them is refused") {
  const Program p = role_product::product("gfx942", {2, 2});
  const Code right = code_of(p);
  // Every wait and barrier of the trip is needed, each instruction by its role's waves.
  int tried = 0;
  std::set<std::string> claims;
  const std::size_t lists = lists_of(const_cast<Code&>(right)).size();
  for (std::size_t l = 0; l < lists; ++l) {
    Code count = right;
    const std::size_t size = lists_of(count)[l]->size();
    for (std::size_t n = 0; n < size; ++n) {
      const InstKind kind = (*lists_of(count)[l])[n].kind;
      if (kind != InstKind::wait && kind != InstKind::barrier && kind != InstKind::mma &&
          kind != InstKind::fill && kind != InstKind::lds_write)
        continue;
      Code code = right;
      auto& list = *lists_of(code)[l];
      if (kind == InstKind::wait || kind == InstKind::barrier) {
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(n));
      } else {
        list[n].waves.first = 2 - list[n].waves.first;
      }
      ++tried;
      INFO("list " << l << " number " << n << " " << to_string(kind));
      const std::string claim = refuted(code);
      CHECK(claim != "");
      claims.insert(claim.substr(0, claim.find(" | ")));
    }
  }
  CHECK(tried > 20);
  CHECK(claims.contains("every register is written before it is read"));

  Code code = right; // half of the waves alone would wait for ever
  for (auto* list : lists_of(code))
    for (Inst& i : *list)
      if (i.kind == InstKind::barrier) i.waves = {0, 2};
  CHECK_THAT(refuted(code), Contains("all waves of the workgroup run every barrier"));

  Program other = role_product::product("gfx942", {2, 2});
  for (Op& op : other.mutable_body())
    if (auto* loop = std::get_if<LoopOp>(&op.what)) {
      auto& all = std::get<RolesOp>(loop->body[0].what).roles;
      std::swap(all[0].waves, all[1].waves);
    }
  CHECK_THAT(refuted(code_of(other)), Contains("every register is written before it is read"));
}

TEST_CASE("roles: refused where they cannot be") {
  Program k("refused", Target::named("gfx942"), 256);
  const Sym n = k.size("n");
  const Tensor x = k.input("x", Element::f32, {n});
  const auto nothing = [] {};
  CHECK_THROWS_WITH(k.roles({{"a", 2, nothing}, {"b", 1, nothing}}),
                    Contains("they are not the waves of the workgroup") && Contains("2 + 1 of 4"));
  CHECK_THROWS_WITH(k.roles({{"a", 4, nothing}, {"b", 2, nothing}}), Contains("4 + 2 of 4"));
  CHECK_THROWS_WITH(k.roles({{"a", 4, nothing}, {"b", 0, nothing}}), Contains("a role has no waves"));
  CHECK_THROWS_WITH(k.roles({{"a", 1, nothing}, {"b", 3, nothing}}),
                    Contains("the waves of b are not one of equal groups"));
  CHECK_THROWS_WITH(k.roles({{"a", 2, [&] { (void)k.load(k.tile(x, {256}, {0}), line_tv(256, 1, 256), 1); }},
                             {"b", 2, nothing}}),
                    Contains("the tile is not for the waves of a") &&
                        Contains("a layout over 128 work-items"));
  Program loop("refused", Target::named("gfx942"), 128);
  CHECK_THROWS_WITH(
      loop.roles({{"a", 1, [&] { loop.loop(loop.size("n"), 64, {}, [](Sym) {}); }}, {"b", 1, nothing}}),
      Contains("a loop inside of a role is not generated"));
  Program branch("refused", Target::named("gfx942"), 128);
  CHECK_THROWS_WITH(
      branch.roles({{"a", 1, [&] { branch.if_less(branch.size("n"), 3, [] {}); }}, {"b", 1, nothing}}),
      Contains("a branch inside of a role is not generated"));
  Program twice("refused", Target::named("gfx942"), 128);
  CHECK_THROWS_WITH(twice.roles({{"a", 1, [&] { twice.roles({}); }}, {"b", 1, nothing}}),
                    Contains("they stand inside of a role"));
  // What a trip reads is there before it is written: the consumer stands first.
  Program reversed("reversed", Target::named("gfx942"), 256);
  const Sym columns = reversed.size("n", {.most = 1 << 16, .multiple = 8});
  const Tensor y = reversed.output("y", Element::f16, {Sym(64), columns}),
               from = reversed.input("x", Element::f16, {Sym(64), columns});
  const Tensor lds = reversed.lds("lds_x", Element::f16, {64, 64});
  reversed.computes(y, [&](const auto& c) { return reversed(from, {c[0], c[1]}); });
  const Layout rows = rows_tv(64, 64, 8, 128);
  reversed.loop(columns, 64, {.distance = 2, .ring = 2}, [&](Sym t) {
    reversed.roles({{"consumer", 2,
                     [&] {
                       reversed.store(reversed.read(lds, rows, 8), reversed.tile(y, {64, 64}, {0, t}), 8);
                     }},
                    {"producer", 2, [&] {
                       reversed.copy(reversed.tile(from, {64, 64}, {0, t}), lds, rows, 8);
                     }}});
  });
  CHECK_THROWS_WITH(expand(reversed), Contains("lds_x is read in each trip before it is written") &&
                                          Contains("the copy before what reads it"));
}

} // namespace roles_test
