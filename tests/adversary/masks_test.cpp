// Branches inside of loops by what the trip reads of a table: blocks that a mask leaves out.
#include "attack.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <climits>
#include <inlay/algebra/parse.h>

namespace masks_test {

namespace masks { // names of their own: the folder is one unit

using namespace adversary;

namespace {

// y(m) = fold of x(m, n) over the blocks of 64 columns whose entry of the mask is more than `least`; four rows a workgroup.
struct Blocks {
  Monoid monoid = Monoid::sum;
  Element element = Element::i32; ///< of the mask
  int least = 0, asked = 0;       ///< of the specification, and of the branch
  bool reversed = false;          ///< if_less(u, asked + 1, nothing, the block)
  bool both = false;              ///< the block is added by either path
  bool left_in = false;           ///< by the other path alone
  int further = 0;                ///< entries after the trip's
  bool rows_too = false;          ///< an entry for each row of blocks and column of them
  bool other_table = false;
  bool squares = false;  ///< are added where the mask says so
  bool again = false;    ///< a block is added twice
  bool unmasked = false; ///< of the specification
  bool through_lds = false;
  bool outside = false; ///< the load stands before the branch
  bool stores = false;
  bool also = false;         ///< the first block is added whatever the mask says
  int tile = 64, block = 64; ///< of the loop, and of the specification
  bool below = false;        ///< the specification says: less than `least` + 1
  int shifted = 0;           ///< elements after the trip's tile, of the sum from there on
  bool small = false;        ///< the block counts where m is less than 5, too
  bool inner = false;        ///< the block is a loop of its own
  bool read_after = false;   ///< what the branch writes to LDS is read after it
  bool first = false;        ///< the first block is added whatever the mask says, the others where it says so
  bool split = false;        ///< the first block and the others in two branches, alike
  bool lanes = false;        ///< each work-item adds its own elements
  bool overwrites = false;   ///< what the block has takes the place of what was there
  double begin = 0;          ///< what was there
  int threads = 64, most = 1 << 10;
};
std::function<Program()> blocks(Blocks how) {
  return [how] {
    Program k("masks", target(), how.threads);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = how.most}),
              count = ceil_div(n, Sym(64));
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n}),
                 mask = k.input("mask", how.element,
                                {how.rows_too ? ceil_div(m, Sym(4)) * count : count + Sym(8)}),
                 others = k.input("others", how.element, {count + Sym(8)}),
                 lds = k.lds("lds", Element::f32, {4, 64});
    const double empty = empty_element(how.monoid);
    k.computes(y, [&](const auto& i) {
      const auto body = [&](Sym j) {
        if (how.unmasked) return k(x, {i[0], j});
        const Sym b = floor_div(j, Sym(how.block));
        const Expr is = k(mask, {how.rows_too ? floor_div(i[0], Sym(4)) * count + b : b});
        const Expr there = how.below ? less_signed(integer(is), k.integer(how.least + 1))
                                     : less_signed(k.integer(how.least), integer(is));
        return choose(there, k(x, {i[0], j}), k.constant(empty));
      };
      return how.shifted != 0 ? k.sum(n, Sym(how.shifted), n, body) : k.fold(how.monoid, n, body);
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, how.threads), down = parse_layout("((64,1),(1,4)):((1@1,0),(0,1@0))"),
                 of = how.through_lds && how.threads == 64 ? down : tv, row = without_axis(of, 1);
    const Fragment all =
        k.full(how.begin != 0 ? how.begin : empty, how.lanes ? of : row, {4, how.lanes ? 64 : 1});
    k.loop(n, how.tile, {.distance = 0, .ring = 1}, [&](Sym t) {
      Fragment before;
      if (how.outside) before = k.load(k.tile(x, {4, 64}, {w, t}), tv, 1);
      const Tensor& table = how.other_table ? others : mask;
      const Sym u = k.uniform(table, (how.rows_too ? w * count + t : t) + Sym(how.further));
      const auto add = [&](Fragment f, Sym at) {
        f = k.map({f}, [&](const auto& v) {
          return inside(at + k.position(1), n, how.squares ? v[0] * v[0] : v[0], empty);
        });
        const Fragment part = how.lanes ? f : k.fold(how.monoid, f, 1);
        if (how.overwrites) return k.update(all, {part}, [](const auto& v) { return v[1]; });
        for (int i = 0; i < (how.again ? 2 : 1); ++i)
          k.update(all, {part},
                   [&](const auto& v) { return how.monoid == Monoid::sum ? v[0] + v[1] : max(v[0], v[1]); });
        if (how.stores) k.store(all, k.tile(y, {4, 1}, {w, 0}), 1);
      };
      const auto body = [&] {
        View from = k.tile(x, {4, 64}, {w, t});
        from.origin[1] += Sym(how.shifted);
        if (how.inner) {
          return k.loop(Sym(64), 64, {.distance = 0, .ring = 1}, [&](Sym i) {
            const Fragment f = k.load(k.tile(x, {4, 64}, {w, t + i}), tv, 1),
                           part = k.fold(how.monoid,
                                         k.map({f},
                                               [&](const auto&v) {
                                                 return inside(Sym(64) * (t + i) + k.position(1), n, v[0],
                                                               empty);
                                               }),
                                         1);
            k.update(all, {part}, [](const auto& v) { return v[0] + v[1]; });
          });
        }
        if (how.through_lds) k.copy(from, lds, tv, 1);
        if (how.read_after) return;
        add(how.through_lds ? k.read(lds, of, 1)
            : how.outside   ? before
                            : k.load(from, tv, 1),
            Sym(64) * t + Sym(how.shifted));
      };
      if (how.also) k.if_less(t, 1, body);
      const std::function<void()> nothing, block = [&] { how.small ? k.if_less(m, 5, body) : body(); };
      if (how.first || how.split)
        return k.if_less(
            t, 1, [&] { how.first ? body() : k.if_less(how.asked, u, body); },
            [&] { k.if_less(how.asked, u, body); });
      if (how.reversed)
        k.if_less(
            u, how.asked + 1,
            how.left_in ? block
            : how.both  ? block
                        : [] {},
            how.left_in ? nothing : block);
      else
        k.if_less(how.asked, u, how.left_in ? [] {} : block, how.left_in || how.both ? block : nothing);
      if (how.read_after) add(k.read(lds, of, 1), Sym(64) * t);
    });
    k.store(how.lanes ? k.fold(how.monoid, all, 1) : all, k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}

// The branch's number changed in the code, which `expand` has let through.
std::function<void(Code&)> by_number(std::int64_t number) {
  return [=](Code& code) {
    for (CodeRegion& r : code.regions)
      for (Guard& g : r.guards) g.condition.a = Sym(number);
  };
}

std::function<void(Code&)> by_one_less() {
  return [](Code& code) {
    for (CodeRegion& r : code.regions)
      for (Guard& g : r.guards) g.condition.b += Sym(-1);
  };
}
// The code of the branch changed.
std::function<void(Code&)> in_branch(const std::function<void(std::vector<Inst>&)>& change) {
  return [=](Code& code) {
    for (CodeRegion& r : code.regions)
      if (!r.guards.empty()) change(r.body);
  };
}

// y = A B over the blocks of k that a mask has.
// `more`: beside it the product of all blocks is said, which the branch adds as well.
// `Second`: another product, of all blocks where it is said so, and added outside of the branch or in it.
enum class Second { none, masked, masked_outside, all, all_inside };
std::function<Program()> product(int asked, bool scaled, Second second = Second::none) {
  return [=] {
    const bool more = second != Second::none, said = second == Second::all || second == Second::all_inside,
               outside = second == Second::all || second == Second::masked_outside;
    const MmaTiling mma = MmaTiling::of(
        Atom::mma_best(target(), Element::f16, Element::f16, Element::f32, 16), 1, 1, 16, 16, 32, 8);
    Program k("product", target(), mma.threads());
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
              depth = k.size("k", {.most = 1 << 10, .multiple = 32});
    const Tensor y = k.output("y", Element::f32, {m, n}), a = k.input("a", Element::f16, {m, depth}),
                 b = k.input("b", Element::f16, {n, depth}),
                 d = more ? k.input("d", Element::f16, {n, depth}) : b,
                 mask = k.input("mask", Element::i32, {ceil_div(depth, Sym(32))});
    k.computes(y, [&](const auto& c) {
      const auto sum = [&](const Tensor& of, bool everywhere) {
        return k.sum(depth, [&](Sym i) {
          const Expr is = less_signed(k.integer(0), integer(k(mask, {floor_div(i, Sym(32))}))),
                     one = k(a, {c[0], i}) * k(of, {c[1], i});
          return everywhere ? one : choose(is, one, k.constant(0));
        });
      };
      return more ? sum(b, false) + sum(d, said) : sum(b, false);
    });
    const Sym bn = k.workgroups(0, n, 16), bm = k.workgroups(1, m, 16);
    const Fragment acc = k.zeros(Element::f32, mma.c(), {16, 16});
    k.loop(depth, 32, {.distance = 0, .ring = 1}, [&](Sym t) {
      k.if_less(asked, k.uniform(mask, t), [&] {
        const Fragment of_a = k.load(k.tile(a, {16, 32}, {bm, t}), mma.a(), 4),
                       of_b = k.load(k.tile(b, {16, 32}, {bn, t}), mma.b(), 4);
        k.mma(acc, of_a, scaled ? of_a : of_b, mma);
        if (more && !outside) k.mma(acc, of_a, k.load(k.tile(d, {16, 32}, {bn, t}), mma.b(), 4), mma);
      });
      if (outside)
        k.mma(acc, k.load(k.tile(a, {16, 32}, {bm, t}), mma.a(), 4),
              k.load(k.tile(d, {16, 32}, {bn, t}), mma.b(), 4), mma);
    });
    k.store(acc, k.tile(y, {16, 16}, {bm, bn}), 1);
    return k;
  };
}

// c(m, n) = sum over the blocks k of (mask(k) > 0 ? a(m, k) b(n, k) : a(m, k) d(n, k)), with a product on each side of a branch; or
// y(m) = sum of (mask > 0 ? x(m, i) : z(m, i)), with folds.
struct Sides {
  bool products = true;
  bool otherwise = true;  ///< there is something on the other side
  bool exchanged = false; ///< the sides
  bool same = false;      ///< the other side has the first one's
  bool both = false;      ///< one side adds both
  bool scaled = false;    ///< the other side counts twice
  bool kept = false;      ///< of the other side the specification says nothing
  bool one_more = false;  ///< a third sum, whatever the mask says
  bool begins_with_a_matrix = false;
  bool replaces = false; ///< the other side forgets what was there
  int further = 0;       ///< entries after the trip's
};
std::function<Program()> sides(Sides how) {
  return [how] {
    const Element e = how.products ? Element::f16 : Element::f32;
    const MmaTiling mma = MmaTiling::of(
        Atom::mma_best(target(), Element::f16, Element::f16, Element::f32, 16), 1, 1, 16, 16, 32, 8);
    const int wide = how.products ? 32 : 64;
    Program k("sides", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 9}), n = k.size("n", {.most = 1 << 9}),
              deep = k.size("k", {.most = 1 << 10, .multiple = wide});
    const Tensor c = k.output("c", Element::f32, {m, how.products ? n : Sym(1)}),
                 a = k.input("a", e, {m, deep}), b = k.input("b", e, {how.products ? n : m, deep}),
                 d = k.input("d", e, {how.products ? n : m, deep}),
                 z = k.input("z", Element::f32, {m, how.products ? n : Sym(1)}),
                 mask = k.input("mask", Element::i32, {floor_div(deep, Sym(wide)) + Sym(1)});
    k.computes(c, [&](const auto& i) {
      const auto body = [&](Sym j) {
        const Expr there = less_signed(k.integer(0), integer(k(mask, {floor_div(j, Sym(wide))})));
        const auto of = [&](const Tensor& t) {
          return how.products ? k(a, {i[0], j}) * k(t, {i[1], j}) : k(t, {i[0], j});
        };
        const Expr chosen = choose(there, of(b), how.kept ? k.constant(0) : of(d));
        return how.one_more && !how.products ? chosen + k(a, {i[0], j}) : chosen;
      };
      const Expr all = k.sum(deep, body);
      return how.begins_with_a_matrix ? k(z, {i[0], i[1]}) + all : all;
    });
    const Sym bn = how.products ? k.workgroups(0, n, 16) : Sym(0),
              bm = k.workgroups(1, m, how.products ? 16 : 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const std::vector<int> tile = how.products ? std::vector{16, 16} : std::vector{4, 1};
    const View to = k.tile(c, tile, {bm, bn});
    const Layout& of_acc = how.products ? mma.c() : row;
    const Fragment acc = how.begins_with_a_matrix ? k.map({k.load(k.tile(z, tile, {bm, bn}), of_acc, 1)},
                                                          [](const auto& v) { return v[0]; })
                                                  : k.zeros(Element::f32, of_acc, tile);
    k.loop(deep, wide, {.distance = 0, .ring = 1}, [&](Sym t) {
      const auto add = [&](const Tensor& with, double factor = 1) {
        if (how.products)
          return k.mma(acc, k.load(k.tile(a, {16, 32}, {bm, t}), mma.a(), 8),
                       k.load(k.tile(with, {16, 32}, {bn, t}), mma.b(), 8), mma);
        const Fragment part = k.fold(Monoid::sum, k.load(k.tile(with, {4, 64}, {bm, t}), tv, 1), 1);
        k.update(acc, {part}, [&](const auto& v) { return v[0] + v[1] * k.constant(factor); });
      };
      const Sym u = k.uniform(mask, t + Sym(how.further));
      const auto yes = [&] {
        add(how.exchanged ? d : b);
        if (how.both) add(d);
      };
      const auto no = [&] {
        if (how.replaces) k.update(acc, {}, [&](const auto&) { return k.constant(0); });
        if (how.otherwise) add(how.exchanged || how.same ? b : d, how.scaled ? 2 : 1);
      };
      k.if_less(0, u, yes, no);
      if (how.one_more && !how.products) add(a);
    });
    k.store(acc, to, 1);
    return k;
  };
}

} // namespace

TEST_CASE("adversary: a branch with a sum of its own on each side") {
  for (const bool products : {true, false}) {
    const std::vector<Sizes> sizes = products ? std::vector<Sizes>{{1, 1, 32}, {17, 20, 96}, {5, 16, 128}}
                                              : std::vector<Sizes>{{1, 1, 64}, {5, 1, 192}, {4, 1, 256}};
    const auto of = [&](Sides how) {
      how.products = products;
      return sides(how);
    };
    const std::string says = "c is what the specification says";
    attack({
        {"each its own", "", of({}), sizes},
        {"which begins with a matrix", "", of({.begins_with_a_matrix = true}), sizes},
        {"the sides exchanged", says, of({.exchanged = true}), sizes},
        {"the same on both", says, of({.same = true}), sizes},
        {"nothing on the other", says, of({.otherwise = false}), sizes},
        {"both on one", says, of({.both = true}), sizes},
        {"more than is said", says, of({.kept = true}), sizes},
        {"by the next entry", ":", of({.further = 1}), sizes},
        {"what was there is forgotten", ":", of({.replaces = true}), sizes},
    });
    if (!products)
      attack({
          {"one more for both", "", of({.one_more = true}), sizes},
          {"the other side twice", says, of({.scaled = true}), sizes},
      });
  }
}

TEST_CASE("adversary: a block is left out where its trip reads so") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {4, 300}, {3, 200}};
  attack({
      {"sums", "", blocks({}), sizes},
      {"maxima", "", blocks({.monoid = Monoid::max}), sizes},
      {"a mask of 64 bits", "", blocks({.element = Element::i64}), sizes},
      {"the other way around", "", blocks({.reversed = true}), sizes},
      {"through LDS", "", blocks({.through_lds = true}), sizes},
      {"a mask for rows and columns", "", blocks({.rows_too = true}), sizes},
      {"loaded before the branch", "", blocks({.outside = true}), sizes},
      {"by either path", "x", blocks({.both = true}), sizes},
      {"by either path, without a mask", "", blocks({.both = true, .unmasked = true}), sizes},
      {"by the wrong path", "y is what", blocks({.left_in = true}), sizes},
      {"by the wrong path, the other way around", "y is what", blocks({.reversed = true, .left_in = true}),
       sizes},
      {"by more than 1", "y is what", blocks({.asked = 1}), sizes},
      {"by more than 0 where 1 is said", "y is what", blocks({.least = 1}), sizes},
      {"by more than 1, as said", "", blocks({.least = 1, .asked = 1}), sizes},
      {"the next entry", "y is what", blocks({.further = 1}), sizes},
      {"another table", "y is what", blocks({.other_table = true}), sizes},
      {"squares", "y is what", blocks({.squares = true}), sizes},
      {"twice", "y is what the specification says", blocks({.again = true}), sizes},
      {"all blocks are said", "y is what", blocks({.unmasked = true}), sizes},
      {"stored where the mask says", "a store stands in it", blocks({.stores = true}), sizes},
      {"the first one in any case", "y is what the specification says", blocks({.also = true}), sizes},
      {"blocks of 128 are said", "y is what", blocks({.block = 128}), sizes},
      {"blocks of 32 are said", "y is what", blocks({.block = 32}), sizes},
      {"by a negative number, in the code", "is by a number of that trip", blocks({.least = -1}), sizes,
       by_number(-1)},
      {"by 2^31, in the code", "is by a number of that trip", blocks({.least = INT32_MIN}), sizes,
       by_number(std::int64_t{1} << 31)},
      {"by one less than what is read, in the code", "is by a number of that trip", blocks({}), sizes,
       by_one_less()},
      {"by the other path, as said", "", blocks({.left_in = true, .below = true}), sizes},
      {"by what is less, as said", "", blocks({.reversed = true, .left_in = true, .below = true}), sizes},
      {"by what is less than another number", "y is what",
       blocks({.least = 1, .reversed = true, .left_in = true, .below = true}), sizes},
      {"elements of the next tile", "the other path leaves", blocks({.shifted = 1}), sizes},
      {"the next tile", "the other path leaves", blocks({.shifted = 64}), {{5, 130}, {4, 300}}},
      {"where there are few rows, too", "it holds a loop or another branch", blocks({.small = true}), sizes},
      {"in two halves",
       "it holds a loop or another branch",
       blocks({.inner = true}),
       sizes,
       {},
       "it is right"},
      {"LDS that the branch writes, read after it", "only one path of a branch",
       blocks({.through_lds = true, .read_after = true}), sizes},
      {"the first one whatever it says", "the other path leaves", blocks({.unmasked = true, .first = true}),
       sizes},
      {"the first one by itself", "", blocks({.split = true}), sizes},
      {"lane by lane", "not both are one sum", blocks({.lanes = true}), sizes, {}, "it is right"},
      {"in the place of ones",
       "and not both are one sum",
       blocks({.overwrites = true, .begin = 1, .most = 64}),
       {{1, 1}, {5, 64}, {9, 30}}},
      {"in two waves, through LDS", "", blocks({.through_lds = true, .threads = 128}), sizes},
      {"barriers of a half of the waves", "a barrier stands in it",
       blocks({.left_in = true, .through_lds = true, .below = true, .threads = 128}), sizes,
       in_branch([](auto& list) {
         for (Inst& i : list)
           if (i.kind == InstKind::barrier) i.waves = {0, 1};
       }),
       "a launch that does not end"},
      {"without the barrier at its end", "before the branch's end",
       blocks({.through_lds = true, .threads = 128}), sizes, in_branch([](auto& list) {
         const auto barrier = [](const Inst& i) { return i.kind == InstKind::barrier; };
         const auto last = std::find_if(list.rbegin(), list.rend(), barrier);
         if (last != list.rend()) list.erase(std::next(last).base());
       }),
       "waves of the emulator are not that far apart"},
      {"where the length divides", "stands in it", blocks({}), sizes, in_branch([](auto& list) {
         for (Inst& i : list) i.when = When{Sym(7), 2, true};
       })},
      {"a load that is under way", "an access is under way where it ends", blocks({.outside = true}), sizes,
       [](Code& code) {
         for (CodeRegion& r : code.regions)
           if (r.guards.empty())
             std::erase_if(r.body, [](const Inst& i) { return i.kind == InstKind::wait; });
           else
             r.body.insert(r.body.begin(), [&] {
               Inst wait = r.body.front();
               wait = Inst{};
               wait.kind = InstKind::wait;
               wait.vm = wait.lgkm = 0;
               return wait;
             }());
       },
       "nothing looks at it"},
      {"products", "", product(0, false), {{16, 16, 32}, {17, 5, 96}, {40, 33, 160}}},
      {"two products", "", product(0, false, Second::masked), {{16, 16, 32}, {17, 5, 96}, {40, 33, 160}}},
      {"two products by more than 1",
       "y is what",
       product(1, false, Second::masked),
       {{17, 5, 96}, {40, 33, 160}}},
      {"two products, one of another row",
       "y is what",
       product(0, true, Second::masked),
       {{16, 16, 32}, {17, 5, 96}}},
      {"a product of some blocks, and one of all",
       "",
       product(0, false, Second::all),
       {{16, 16, 32}, {17, 5, 96}}},
      {"a product of some blocks, and one of all in them",
       "y is what",
       product(0, false, Second::all_inside),
       {{16, 16, 32}, {17, 5, 96}}},
      {"a product of some blocks, and one of them outside",
       "y is what",
       product(0, false, Second::masked_outside),
       {{16, 16, 32}, {17, 5, 96}}},
      {"products by more than 1", "y is what", product(1, false), {{16, 16, 32}, {17, 5, 96}, {40, 33, 160}}},
  });
}

} // namespace masks

} // namespace masks_test
