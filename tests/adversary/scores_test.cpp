// Branches by what a trip reads: after other loops, in trips of outer ones, with numbers of the maximum so far (block-sparse attention);
// the order in which something is chosen; and what the last trip alone does.
#include "attack.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace scores_test {

namespace scores { // names of their own: the folder is one unit

using namespace adversary;

namespace {

const auto add = [](const auto& v) { return v[0] + v[1]; };
Expr more_than(Program& k, int least, Expr entry) { return less_signed(k.integer(least), integer(entry)); }

// y(m) = sum of x(m, n) over the blocks of 64 that a mask has, z(m) = sum of x(m, n)^2 over all, or over those; one loop for each.
struct Two {
  bool both = false;     ///< z is over the mask's blocks, too
  int fixed = 0;         ///< columns, where that is no size
  int asked = 0;         ///< more than that, of the second loop
  int further = 0;       ///< entries after the trip's
  bool other = false;    ///< another table
  bool one = false;      ///< both loops add to one sum, that of all blocks; the second where the mask says so
  bool rest = false;     ///< the first adds those that the mask has, the second the others
  bool unmasked = false; ///< the second adds all blocks
  int stages = 1;        ///< of the first loop
  bool through_lds = false; ///< the second loop reads a tile in LDS
};
std::function<Program()> two(Two how) {
  return [how] {
    Program k("two", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}),
              n = how.fixed > 0 ? Sym(how.fixed) : k.size("n", {.most = 1 << 10}),
              count = ceil_div(n, Sym(64));
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), z = k.output("z", Element::f32, {m, Sym(1)}),
                 x = k.input("x", Element::f32, {m, n}),
                 mask = k.input("mask", Element::i32, {count + Sym(1)}),
                 others = k.input("others", Element::i32, {count + Sym(1)}),
                 lds = k.lds("lds", Element::f32, {4, 64});
    const auto said = [&](Sym j, Expr v) {
      return choose(more_than(k, 0, k(mask, {floor_div(j, Sym(64))})), v, k.constant(0));
    };
    k.computes(y, [&](const auto& i) {
      return k.sum(n, [&](Sym j) {
        return how.one || how.rest ? k(x, {i[0], j}) : said(j, k(x, {i[0], j}));
      });
    });
    k.computes(z, [&](const auto& i) {
      return k.sum(n, [&](Sym j) {
        const Expr square = k(x, {i[0], j}) * k(x, {i[0], j});
        return how.both ? said(j, square) : square;
      });
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const Fragment sum = k.zeros(Element::f32, row, {4, 1}), squares = k.zeros(Element::f32, row, {4, 1});
    const auto of_trip = [&](Sym t, const Fragment& into, bool square) {
      if (how.through_lds && !square) k.copy(k.tile(x, {4, 64}, {w, t}), lds, tv, 1);
      const Fragment f = how.through_lds && !square ? k.read(lds, tv, 1)
                                                    : k.load(k.tile(x, {4, 64}, {w, t}), tv, 1),
                     v = k.map({f}, [&](const auto&e) {
                       return inside(Sym(64) * t + k.position(1), n, square ? e[0] * e[0] : e[0], 0);
                     });
      k.update(into, {k.fold(Monoid::sum, v, 1)}, add);
    };
    const Pipeline plain{.distance = 0, .ring = 1};
    k.loop(n, 64, how.stages > 1 ? Pipeline{.distance = how.stages, .ring = how.stages} : plain, [&](Sym t) {
      const auto first = [&] { of_trip(t, squares, true); };
      if (how.one) of_trip(t, sum, false);
      if (how.rest) k.if_less(0, k.uniform(mask, t), [&] { of_trip(t, sum, false); });
      how.both ? k.if_less(0, k.uniform(mask, t), first) : first();
    });
    k.loop(n, 64, plain, [&](Sym t) {
      const auto second = [&] { of_trip(t, sum, false); };
      if (how.unmasked) return second();
      const Sym u = k.uniform(how.other ? others : mask, t + Sym(how.further));
      if (how.rest)
        return k.if_less(
            how.asked, u, [] {}, second);
      k.if_less(how.asked, u, second);
    });
    k.store(sum, k.tile(y, {4, 1}, {w, 0}), 1);
    k.store(squares, k.tile(z, {4, 1}, {w, 0}), 1);
    return k;
  };
}

// y(m) = sum over o and n of x(m, o, n), over the blocks of n that the mask has, whose trips stand in a trip of o. Or rows of their own.
struct Within {
  int fixed = 0;
  bool rows = false;     ///< the outer loop is over rows, each of which is stored in its trip
  bool carried = false;  ///< the inner sum is not begun anew
  bool by_outer = false; ///< the branch is by the outer trip's entry
  int asked = 0;
};
std::function<Program()> within(Within how) {
  return [how] {
    Program k("within", target(), 64);
    const Sym o = k.size("o", {.most = 1 << 6}),
              n = how.fixed > 0 ? Sym(how.fixed) : k.size("n", {.most = 1 << 10}),
              count = ceil_div(n, Sym(64)), m = how.rows ? o : Sym(4);
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}),
                 x = k.input("x", Element::f32, {m, how.rows ? Sym(1) : o, n}),
                 mask = k.input("mask", Element::i32, {how.by_outer ? o : count});
    k.computes(y, [&](const auto& i) {
      const auto row = [&](Sym p) {
        return k.sum(n, [&](Sym j) {
          return choose(more_than(k, 0, k(mask, {how.by_outer ? p : floor_div(j, Sym(64))})),
                        k(x, {i[0], p, j}), k.constant(0));
        });
      };
      return how.rows ? row(Sym(0)) : k.sum(o, row);
    });
    k.workgroups(0, Sym(1), 1);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const Fragment all = k.zeros(Element::f32, row, {4, 1});
    Fragment part = k.zeros(Element::f32, row, {4, 1});
    const Pipeline plain{.distance = 0, .ring = 1};
    k.loop(o, how.rows ? 4 : 1, plain, [&](Sym p) {
      if (!how.carried) part = k.zeros(Element::f32, row, {4, 1});
      k.loop(n, 64, plain, [&](Sym t) {
        k.if_less(how.asked, k.uniform(mask, how.by_outer ? p : t), [&] {
          const View tile = k.tile(x, {4, 1, 64}, {how.rows ? p : Sym(0), how.rows ? Sym(0) : p, t});
          const Fragment f = k.load(tile.keep({0, 2}), tv, 1), v = k.map({f}, [&](const auto&e) {
            return inside(Sym(64) * t + k.position(1), n, e[0], 0);
          });
          k.update(part, {k.fold(Monoid::sum, v, 1)}, add);
        });
      });
      if (how.rows)
        k.store(part, k.tile(y, {4, 1}, {p, 0}), 1);
      else
        k.update(all, {part}, add);
    });
    if (!how.rows) k.store(all, k.tile(y, {4, 1}, {0, 0}), 1);
    return k;
  };
}

// Softmax of x(m, n) over the blocks of n that a mask has, times v(n): a maximum, a sum and a value that trips carry, without matrices.
struct Scores {
  bool rescaled = true, rescaled_value = true, grown = true; ///< the sum, the value, the maximum
  int asked = 0;
  bool otherwise = false; ///< the block is taken where the mask has it not
  bool bare = false;      ///< nothing bounds the maximum
  bool masked = true;     ///< of the specification: the sum is over the mask's blocks, too
  bool ragged = true;
  bool outside = false; ///< the value is added to beside the branch, too
  bool late = false;    ///< the maximum is that of the trip before

  double least = -1e30, begin = -INFINITY;
};
std::function<Program()> attention(Scores how) {
  return [how] {
    Program k("scores", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}),
              n = k.size("n", {.most = 1 << 10, .multiple = how.ragged ? 1 : 64}),
              count = ceil_div(n, Sym(64));
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n}),
                 v = k.input("v", Element::f32, {Sym(1), n}), mask = k.input("mask", Element::i32, {count});
    const auto floor = [&](Expr e) { return how.bare ? e : max(e, k.constant(how.least)); };
    k.computes(y, [&](const auto& i) {
      const auto score = [&](Sym j) {
        return choose(more_than(k, 0, k(mask, {floor_div(j, Sym(64))})), k(x, {i[0], j}),
                      k.constant(-INFINITY));
      };
      const Expr most = floor(k.fold(Monoid::max, n, [&](Sym j) { return score(j); }));
      const auto p = [&](Sym j) { return exp((how.masked ? score(j) : k(x, {i[0], j})) - most); };
      return k.sum(n, [&](Sym j) { return p(j) * k(v, {Sym(0), j}); }) / k.sum(n, p);
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const Fragment most = k.full(how.begin, row, {4, 1}), sum = k.zeros(Element::f32, row, {4, 1}),
                   value = k.zeros(Element::f32, row, {4, 1});
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const auto body = [&] {
        const Fragment s = k.fill(k.load(k.tile(x, {4, 64}, {w, t}), tv, 1), 1, Sym(64) * t, n, -INFINITY),
                       of_v = k.load(k.tile(v, {1, 64}, {0, t}), without_axis(tv, 0), 1);
        const Fragment now =
            k.map({most, k.fold(Monoid::max, s, 1)}, [](const auto& e) { return max(e[0], e[1]); });
        const Fragment by = k.map({how.late ? most : now}, [&](const auto& e) { return floor(e[0]); });
        const Fragment again = k.map({most, by}, [&](const auto& e) { return exp(floor(e[0]) - e[1]); });
        const Fragment p = k.map({s, by}, [](const auto& e) { return exp(e[0] - e[1]); });
        const Fragment weighted =
            k.fill(k.map({p, of_v}, [](const auto& e) { return e[0] * e[1]; }), 1, Sym(64) * t, n, 0);
        const auto go_on = [&](const Fragment& into, const Fragment& more, bool scaled) {
          k.update(into, {again, k.fold(Monoid::sum, more, 1)},
                   [&](const auto& e) { return scaled ? e[0] * e[1] + e[2] : e[0] + e[2]; });
        };
        go_on(sum, p, how.rescaled), go_on(value, weighted, how.rescaled_value);
        if (how.grown) k.update(most, {now}, [](const auto& e) { return e[1]; });
      };
      if (how.otherwise)
        k.if_less(
            0, k.uniform(mask, t), [] {}, body);
      else
        k.if_less(how.asked, k.uniform(mask, t), body);
      if (how.outside) k.update(value, {k.full(1, row, {4, 1})}, add);
    });
    k.store(k.map({value, sum}, [](const auto& e) { return e[0] / e[1]; }), k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}

// y(m) = sum of x(m, n) by s(m) over the blocks that a mask has; `outside`: the quotient is that of the sum.
struct Factor {
  bool quotient = false;                      ///< or a product
  bool said_outside = false, outside = false; ///< of the specification, and of the code
  int asked = 0;
  std::int64_t least = 1; ///< columns, of one trip or more
};
std::function<Program()> factor(Factor how) {
  return [how] {
    Program k("factor", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.least = how.least, .most = 1 << 10}),
              count = ceil_div(n, Sym(64));
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n}),
                 s = k.input("s", Element::f32, {m, Sym(1)}), mask = k.input("mask", Element::i32, {count});
    const auto by = [&](Expr a, Expr b) { return how.quotient ? a / b : a * b; };
    k.computes(y, [&](const auto& i) {
      const Expr one = k(s, {i[0], Sym(0)});
      const Expr all = k.sum(n, [&](Sym j) {
        const Expr e = k(x, {i[0], j});
        return choose(more_than(k, 0, k(mask, {floor_div(j, Sym(64))})), how.said_outside ? e : by(e, one),
                      k.constant(0));
      });
      return how.said_outside ? by(all, one) : all;
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const Fragment sum = k.zeros(Element::f32, row, {4, 1}),
                   of_row = k.load(k.tile(s, {4, 1}, {w, 0}), row, 1);
    const auto factors = [&](const auto& e) { return by(e[0], e[1]); };
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      k.if_less(how.asked, k.uniform(mask, t), [&] {
        Fragment f = k.load(k.tile(x, {4, 64}, {w, t}), tv, 1);
        if (!how.outside) f = k.map({f, of_row}, factors);
        f = k.fill(f, 1, Sym(64) * t, n, 0);
        k.update(sum, {k.fold(Monoid::sum, f, 1)}, add);
      });
    });
    k.store(how.outside ? k.map({sum, of_row}, factors) : sum, k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}

// y = x, or x where a says so and else 1: a tile that is loaded before a loop, and made anew where the mask says so, or where not.
enum class Anew { copied, transposed, root, rooted_choice, plain_choice };
std::function<Program()> kept(Anew anew, bool otherwise) {
  return [=] {
    Program k("kept", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
              l = k.size("l", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n}),
                 a = k.input("a", Element::i32, {m, n}),
                 mask = k.input("mask", Element::i32, {ceil_div(l, Sym(64))}),
                 lds = k.lds("lds", Element::f32, {8, 8});
    const bool choice = anew == Anew::rooted_choice || anew == Anew::plain_choice;
    const auto chosen = [&](Expr e, Expr of) { return choose(more_than(k, 0, of), e, k.constant(1)); };
    k.computes(y, [&](const auto& i) {
      const Expr e = k(x, {i[0], i[1]});
      return choice ? chosen(e, k(a, {i[0], i[1]})) : e;
    });
    const Sym w = k.workgroups(0, m, 8), v = k.workgroups(1, n, 8);
    const Layout tv = rows_tv(8, 8, 1, 64);
    const View tile = k.tile(x, {8, 8}, {w, v});
    const Fragment of_x = k.load(tile, tv, 1), of_a = k.load(k.tile(a, {8, 8}, {w, v}), tv, 1),
                   r = choice ? k.map({of_x, of_a}, [&](const auto&e) { return chosen(e[0], e[1]); })
                              : k.load(tile, tv, 1);
    k.loop(l, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const std::function<void()> body = [&] {
        if (anew == Anew::copied || anew == Anew::transposed) {
          k.copy(tile, lds, tv, 1);
          const View back = anew == Anew::transposed ? k.whole(lds).keep({1, 0}) : k.whole(lds);
          return k.update(r, {k.load(back, tv, 1)}, [](const auto& e) { return e[1]; });
        }
        k.update(r, {of_x, of_a}, [&](const auto& e) {
          const Expr one =
              anew == Anew::root ? sqrt(e[1]) : chosen(anew == Anew::plain_choice ? e[1] : sqrt(e[1]), e[2]);
          return anew == Anew::plain_choice ? one * one / one : one * one;
        });
      };
      const std::function<void()> nothing = [] {};
      k.if_less(0, k.uniform(mask, t), otherwise ? nothing : body, otherwise ? body : nothing);
    });
    k.store(r, k.tile(y, {8, 8}, {w, v}), 1);
    return k;
  };
}

// y(m) = sum of x(m, n), or of 1 where a says so; the first trip's part is written otherwise than those of the others.
std::function<Program()> forms(bool root, bool first) {
  return [=] {
    Program k("forms", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n}),
                 a = k.input("a", Element::i32, {m, n});
    const auto chosen = [&](Expr e, Expr of) { return choose(more_than(k, 0, of), e, k.constant(1)); };
    k.computes(y, [&](const auto& i) {
      return k.sum(n, [&](Sym j) { return chosen(k(x, {i[0], j}), k(a, {i[0], j})); });
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const Fragment sum = k.zeros(Element::f32, row, {4, 1});
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const auto part = [&](bool other) {
        const Fragment e = k.load(k.tile(x, {4, 64}, {w, t}), tv, 1),
                       of = k.load(k.tile(a, {4, 64}, {w, t}), tv, 1);
        const Fragment f = k.map({e, of}, [&](const auto& v) {
          const Expr plain = chosen(v[0], v[1]), by = chosen(sqrt(v[0]), v[1]),
                     twice = chosen(v[0] * 2, v[1]);
          const Expr half = choose(more_than(k, 0, v[1]), k.constant(0.5), k.constant(1));
          return inside(Sym(64) * t + k.position(1), n, !other ? plain : root ? by * by : twice * half, 0);
        });
        k.update(sum, {k.fold(Monoid::sum, f, 1)}, add);
      };
      k.if_less(
          t, 1, [&] { part(first); }, [&] { part(!first); });
    });
    k.store(sum, k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}

// y = x, chosen by a, with quotients that are 1: what is not to be 0 for that is `s1 s2` where a says so, or else z; or it is said of one.
std::function<Program()> quotients(int said) {
  return [=] {
    Program k("quotients", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
                 a = k.input("a", Element::i32, {n}), s1 = k.input("s1", Element::f32, {n}),
                 s2 = k.input("s2", Element::f32, {n}), z = k.input("z", Element::f32, {n});
    k.computes(y, [&](const auto& i) {
      const Expr e = k(x, {i[0]}), p = k(s1, {i[0]}), q = k(s2, {i[0]}), r = k(z, {i[0]});
      const Expr by = said == 0 ? p * q : said == 1 ? p : q;
      return choose(more_than(k, 0, k(a, {i[0]})), e * (by / by), said == 3 ? e : e * (r / r));
    });
    const Sym w = k.workgroups(0, n, 64);
    const Layout tv = line_tv(64, 1, 64);
    std::vector<Fragment> all;
    for (const Tensor& t : {x, a, s1, s2, z}) all.push_back(k.load(k.tile(t, {64}, {w}), tv, 1));
    k.store(k.map(all,
                  [&](const auto& e) {
                    const Expr there = more_than(k, 0, e[1]), b = choose(there, e[2], k.constant(0)) * e[3] +
                                                                  choose(there, k.constant(0), e[4]);
                    return e[0] * (b / b);
                  }),
            k.tile(y, {64}, {w}), 1);
    return k;
  };
}

// y(m) = sum of x(m, n) over columns 64 to 127 where the mask has their block; of 128, in a loop of one trip, whose entry is that of
// columns 0 to 63, or theirs.
std::function<Program()> second_block(int entry) {
  return [=] {
    Program k("second", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n(128);
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n}),
                 mask = k.input("mask", Element::i32, {Sym(4)});
    k.computes(y, [&](const auto& i) {
      return k.sum(n, Sym(64), n, [&](Sym j) {
        return choose(more_than(k, 0, k(mask, {floor_div(j, Sym(64))})), k(x, {i[0], j}), k.constant(0));
      });
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const Fragment sum = k.zeros(Element::f32, row, {4, 1});
    k.loop(Sym(64), 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      k.if_less(0, k.uniform(mask, t + Sym(entry)), [&] {
        k.update(sum, {k.fold(Monoid::sum, k.load(k.tile(x, {4, 64}, {w, t + Sym(1)}), tv, 1), 1)}, add);
      });
    });
    k.store(sum, k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}

// y(m) = sum of x(m, n): the first trips in one loop, those from `second` on in another.
std::function<Program()> halves(int first, int second, bool more = false) {
  return [=] {
    Program k("halves", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& i) { return k.sum(n, [&](Sym j) { return k(x, {i[0], j}); }); });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const Fragment sum = k.zeros(Element::f32, row, {4, 1});
    const Pipeline plain{.distance = 0, .ring = 1};
    const auto part = [&](Sym t) {
      k.update(sum, {k.fold(Monoid::sum, k.load(k.tile(x, {4, 64}, {w, t}), tv, 1), 1)}, add);
    };
    k.loop(n, 64, plain, [&](Sym t) { k.if_less(t, first, [&] { part(t); }); });
    k.loop(n, 64, plain, [&](Sym t) {
      if (more) return k.if_less(Sym(second - 1), t, [&] { part(t); });
      k.if_less(
          t, second, [] {}, [&] { part(t); });
    });
    k.store(sum, k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}

// What is chosen by two numbers of a row, in the code otherwise than in the specification.
std::function<Program()> chosen(const std::function<Expr(Program&, Expr p, Expr q, Expr x, Expr z)>& said,
                                const std::function<Expr(Program&, Expr p, Expr q, Expr x, Expr z)>& done) {
  return [=] {
    Program k("chosen", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
                 z = k.input("z", Element::f32, {n}), a = k.input("a", Element::i32, {n}),
                 b = k.input("b", Element::i32, {n});
    const auto of = [&](const auto& f, Expr of_a, Expr of_b, Expr of_x, Expr of_z) {
      return f(k, more_than(k, 0, of_a), more_than(k, 3, of_b), of_x, of_z);
    };
    k.computes(
        y, [&](const auto& i) { return of(said, k(a, {i[0]}), k(b, {i[0]}), k(x, {i[0]}), k(z, {i[0]})); });
    const Sym w = k.workgroups(0, n, 64);
    const Layout tv = line_tv(64, 1, 64);
    std::vector<Fragment> all;
    for (const Tensor& t : {a, b, x, z}) all.push_back(k.load(k.tile(t, {64}, {w}), tv, 1));
    k.store(k.map(all, [&](const auto& e) { return of(done, e[0], e[1], e[2], e[3]); }), k.tile(y, {64}, {w}),
            1);
    return k;
  };
}

// y(m) = sum of x(m, n), stored in the trips that `less` says; and of squares for each loop of so many stages that comes first.
std::function<Program()> stored_in(const std::function<std::array<Sym, 2>(Sym t, Sym n)>& less,
                                   bool otherwise, int columns = 64, std::int64_t multiple = 1,
                                   const std::vector<int>& before = {}) {
  return [=] {
    Program k("last", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10, .multiple = multiple});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& i) {
      Expr all = k.sum(n, [&](Sym j) { return k(x, {i[0], j}); });
      for (std::size_t loop = 0; loop < before.size(); ++loop)
        all = all + k.sum(n, [&](Sym j) { return k(x, {i[0], j}) * k(x, {i[0], j}); });
      return all;
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, columns, 1, 64), row = without_axis(tv, 1);
    const Fragment sum = k.zeros(Element::f32, row, {4, 1});
    std::vector<Fragment> sums{sum};
    for (const int stages : before) {
      const Fragment squares = k.zeros(Element::f32, row, {4, 1});
      sums.push_back(squares);
      k.loop(n, columns, {.distance = stages - 1, .ring = stages}, [&](Sym t) {
        const Fragment f = k.map({k.load(k.tile(x, {4, columns}, {w, t}), tv, 1)},
                                 [](const auto& v) { return v[0] * v[0]; });
        k.update(squares, {k.fold(Monoid::sum, f, 1)}, add);
      });
    }
    k.loop(n, columns, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(k.tile(x, {4, columns}, {w, t}), tv, 1);
      k.update(sum, {k.fold(Monoid::sum, f, 1)}, add);
      const auto [a, b] = less(t, n);
      const auto total = [](const auto& v) {
        Expr all = v[0];
        for (std::size_t of = 1; of < v.size(); ++of) all = all + v[of];
        return all;
      };
      const std::function<void()>
          store =
              [&] {
                k.store(before.empty() ? sum : k.map(sums, total), k.tile(y, {4, 1}, {w, 0}), 1);
              },
          nothing = [] {};
      k.if_less(a, b, otherwise ? nothing : store, otherwise ? store : nothing);
    });
    return k;
  };
}

} // namespace

TEST_CASE("adversary: blocks that a mask leaves out after another loop over them") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {4, 300}, {3, 200}}, rows = {{1}, {5}, {9}};
  const std::string right = "it is right";
  attack({
      {"after a sum of all", "", two({}), sizes},
      {"after the same blocks", "", two({.both = true}), sizes},
      {"of one trip", "", two({.fixed = 64}), rows},
      {"of one trip, after the same blocks", "", two({.both = true, .fixed = 40}), rows},
      {"of two trips", "", two({.both = true, .fixed = 100}), rows},
      {"of five trips", "", two({.fixed = 300}), rows},
      {"after a loop with two stages", "", two({.stages = 2}), sizes},
      {"after a loop with two stages, through LDS", "", two({.stages = 2, .through_lds = true}), sizes},
      {"after a loop with three stages, through LDS",
       "",
       two({.stages = 3, .through_lds = true}),
       {{1, 1}, {5, 64}, {4, 300}, {3, 700}}},
      {"after a loop with two stages, through LDS, by more than 1", "y is what",
       two({.asked = 1, .stages = 2, .through_lds = true}), sizes},
      {"after a loop with two stages, through LDS, some blocks twice", "every element is summed once",
       two({.one = true, .stages = 2, .through_lds = true}), sizes},
      {"after a loop with three stages",
       "",
       two({.stages = 3}),
       {{1, 1}, {5, 64}, {9, 130}, {4, 300}, {3, 700}}},
      {"after a loop with two stages, by more than 1", "y is what", two({.asked = 1, .stages = 2}), sizes},
      {"after a loop with two stages, the next entry", "y is what", two({.further = 1, .stages = 2}), sizes},
      {"after a loop with two stages, all blocks", "y is what", two({.unmasked = true, .stages = 2}), sizes},
      {"after a loop with two stages, some blocks twice", "every element is summed once",
       two({.one = true, .stages = 2}), sizes},
      {"by more than 1", "y is what", two({.asked = 1}), sizes},
      {"by more than 1, of one trip", "y is what", two({.fixed = 64, .asked = 1}), rows},
      {"the next entry", "y is what", two({.further = 1}), sizes},
      {"the next entry, after the same blocks", "y is what", two({.both = true, .further = 1}), sizes},
      {"another table", "y is what", two({.both = true, .other = true}), sizes},
      {"all blocks", "y is what", two({.unmasked = true}), sizes},
      {"all blocks, of one trip", "y is what", two({.fixed = 64, .unmasked = true}), rows},
      {"some blocks twice", "every element is summed once", two({.one = true}), sizes},
      {"some blocks twice, of one trip", "every element is summed once", two({.fixed = 64, .one = true}),
       rows},
      {"those that it has, and then the others", "leaves one state", two({.rest = true}), sizes, {}, right},
      {"those that it has, and then others", "leaves one state", two({.asked = 1, .rest = true}), sizes},
  });
}

TEST_CASE("adversary: blocks that a mask leaves out in trips of an outer loop") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {3, 300}}, one = {{1}, {5}, {9}};
  attack({
      {"of any length", "", within({}), sizes},
      {"of one trip", "", within({.fixed = 64}), one},
      {"of less than one", "", within({.fixed = 40}), one},
      {"of two trips", "", within({.fixed = 100}), one},
      {"rows that are stored", "", within({.rows = true}), sizes},
      {"rows of one trip that are stored", "", within({.fixed = 64, .rows = true}), one},
      {"by more than 1", "y is what", within({.asked = 1}), sizes},
      {"the second block of two, in one trip, by the first one's entry", "leaves one state", second_block(0),
       one},
      {"the second block of two, in one trip", "leaves one state", second_block(1), one, {}, "it is right"},
      {"by more than 1, of one trip", "y is what", within({.fixed = 64, .asked = 1}), one},
      {"rows, by more than 1", "y is what", within({.rows = true, .asked = 1}), sizes},
      {"sums that go on", "leaves one state", within({.carried = true}), sizes},
      {"rows whose sums go on", "leaves one state", within({.rows = true, .carried = true}), sizes},
      {"by the outer trip's entry", "", within({.by_outer = true}), sizes},
      {"by the outer trip's entry and another number", "y is what", within({.by_outer = true, .asked = 1}),
       sizes},
  });
}

TEST_CASE("adversary: scores of blocks that a mask leaves out") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {4, 300}};
  attack({
      {"a softmax", "", attention({}), sizes},
      {"of whole blocks", "", attention({.ragged = false}), {{1, 64}, {5, 256}}},
      {"by more than 1", "y is what", attention({.asked = 1}), sizes},
      {"the blocks that are left out", "y is what", attention({.otherwise = true}), sizes},
      {"a sum that is not scaled", "an accumulator sums one element", attention({.rescaled = false}), sizes},
      {"a value that is not scaled", "an accumulator sums one element", attention({.rescaled_value = false}),
       sizes},
      {"a maximum that does not grow", "an accumulator sums one element of the result",
       attention({.grown = false}), sizes},
      {"the maximum of the trip before", "a map loses no condition", attention({.late = true}), sizes},
      {"a sum over all blocks", "y is what", attention({.masked = false}), sizes},
      {"a value that every trip adds to", "a sum is over the whole extent", attention({.outside = true}),
       sizes},
      {"without a least number",
       "a map loses no condition",
       attention({.bare = true}),
       sizes,
       {},
       "scores are finite"},
      {"a maximum that begins with 0", "leaves one state", attention({.begin = 0}), sizes, {}, "it is right"},
  });
}

TEST_CASE("adversary: factors of blocks that a mask leaves out") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {4, 300}};
  attack({
      {"a product in the sum", "", factor({}), sizes},
      {"of the sum", "", factor({.said_outside = true, .outside = true}), sizes},
      {"said in the sum", "", factor({.outside = true}), sizes},
      {"said of the sum", "", factor({.said_outside = true}), sizes},
      {"by more than 1", "y is what", factor({.asked = 1}), sizes},
      {"a quotient of the sum", "", factor({.quotient = true, .said_outside = true, .outside = true}), sizes},
      {"a quotient in the sum", "", factor({.quotient = true}), sizes},
      {"of two trips or more, a quotient in the sum",
       "",
       factor({.quotient = true, .least = 65}),
       {{1, 65}, {5, 128}, {9, 300}}},
      // 0 where nothing is in the sum, and 0/0 of a sum of nothing
      {"of two trips or more, a quotient that is said in the sum",
       "loses no condition",
       factor({.quotient = true, .outside = true, .least = 65}),
       {{1, 65}},
       {},
       "numbers are not 0"},
      {"a quotient that is said in the sum",
       "loses no condition",
       factor({.quotient = true, .outside = true}),
       sizes,
       {},
       "numbers are not 0"},
      {"a quotient that is said of the sum", "", factor({.quotient = true, .said_outside = true}), sizes},
  });
}

TEST_CASE("adversary: what a tile is by either path of a branch by what a trip reads") {
  const std::vector<Sizes> sizes = {{8, 8, 64}, {3, 5, 130}, {20, 9, 300}};
  const std::string state = "leaves one state";
  attack({
      {"it is loaded again", "", kept(Anew::copied, false), sizes},
      {"it is loaded again on the other path", "", kept(Anew::copied, true), sizes},
      {"it is transposed", state, kept(Anew::transposed, false), sizes},
      {"it is transposed on the other path", state, kept(Anew::transposed, true), sizes},
      {"a root is squared", state, kept(Anew::root, false), sizes},
      {"a root is squared on the other path", state, kept(Anew::root, true), sizes},
      {"what is chosen of a root is squared", state, kept(Anew::rooted_choice, false), sizes},
      {"what is chosen of a root is squared on the other path", state, kept(Anew::rooted_choice, true),
       sizes},
      {"a sum of what is chosen", "", forms(false, true), {{1, 1}, {5, 64}, {9, 130}}},
      {"a sum of what is chosen, the first part as it is said",
       "",
       forms(false, false),
       {{1, 1}, {5, 64}, {9, 130}}},
      {"a sum of squares of roots that are chosen",
       "loses no condition",
       forms(true, true),
       {{1, 1}, {5, 64}, {9, 130}}},
      {"a sum of squares of roots that are chosen, from the second part on",
       "a sum is over the whole extent",
       forms(true, false),
       {{9, 130}}},
      {"1 as a quotient", "", quotients(0), {{1}, {70}}},
      {"1 as a quotient, where one factor is said",
       "loses no condition",
       quotients(1),
       {{1}},
       {},
       "numbers are not 0"},
      {"1 as a quotient, where the other factor is said",
       "loses no condition",
       quotients(2),
       {{1}},
       {},
       "numbers are not 0"},
      {"1 as a quotient, where it is said on one path",
       "loses no condition",
       quotients(3),
       {{1}},
       {},
       "numbers are not 0"},
  });
}

TEST_CASE("adversary: trips of two loops by their numbers") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {4, 300}, {3, 700}};
  const std::string over = "a sum is over the whole extent";
  attack({
      {"the first one by itself", "", halves(1, 1), sizes},
      {"two", "", halves(2, 2), sizes},
      {"three", "", halves(3, 3), sizes},
      {"eight", "", halves(8, 8), sizes},
      {"nine", "told apart up to trip 8", halves(9, 9), sizes, {}, "it is right"},
      {"the third in none", over, halves(2, 3), sizes},
      {"the second in both", over, halves(2, 1), sizes},
      {"the third in both", over, halves(3, 2), sizes},
      {"none in the first", "", halves(0, 0), sizes},
      {"two and then the others by what is more", "", halves(2, 2, true), sizes},
      {"three and then the others by what is more", over, halves(3, 2, true), sizes},
  });
}

TEST_CASE("adversary: what is chosen in one order or another") {
  using E = Expr;
  const auto p_then_q = [](Program& k, E p, E q, E x, E) {
    return choose(p, choose(q, x, k.constant(0)), k.constant(0));
  };
  const auto q_then_p = [](Program& k, E p, E q, E x, E) {
    return choose(q, choose(p, x, k.constant(0)), k.constant(0));
  };
  const auto outside = [](Program& k, E p, E, E x, E z) { return choose(p, x, k.constant(0)) * z; };
  const auto within = [](Program& k, E p, E, E x, E z) { return choose(p, x * z, k.constant(0)); };
  const std::vector<Sizes> sizes = {{1}, {70}, {300}};
  attack({
      {"as said", "", chosen(p_then_q, p_then_q), sizes},
      {"in the other order", "", chosen(p_then_q, q_then_p), sizes},
      {"a product of what is chosen", "", chosen(outside, within), sizes},
      {"what is chosen of products", "", chosen(within, outside), sizes},
      {"exp of minus infinity", "",
       chosen([](Program& k, E p, E, E x, E) { return exp(choose(p, x, k.constant(-INFINITY))); },
              [](Program& k, E p, E, E x, E) { return choose(p, exp(x), k.constant(0)); }),
       sizes},
      {"exp of 0", "y is what",
       chosen([](Program& k, E p, E, E x, E) { return exp(choose(p, x, k.constant(0))); },
              [](Program& k, E p, E, E x, E) { return choose(p, exp(x), k.constant(0)); }),
       sizes},
      {"by one of them alone", "y is what",
       chosen(p_then_q, [](Program& k, E p, E, E x, E) { return choose(p, x, k.constant(0)); }), sizes},
      {"the other one's", "y is what",
       chosen([](Program&, E p, E q, E x, E z) { return choose(p, choose(q, x, z), z); },
              [](Program&, E p, E q, E x, E z) { return choose(q, choose(p, z, x), z); }),
       sizes},
      {"both sides of two", "",
       chosen([](Program&, E p, E q, E x, E z) { return choose(p, choose(q, x, z), choose(q, z, x)); },
              [](Program&, E p, E q, E x, E z) { return choose(q, choose(p, x, z), choose(p, z, x)); }),
       sizes},
      {"a root where it is not taken",
       "",
       chosen([](Program& k, E p, E, E x, E z) { return choose(p, sqrt(x), k.constant(0)) * z; },
              [](Program& k, E p, E, E x, E z) { return choose(p, sqrt(x) * z, k.constant(0)); }),
       {{1}},
       {},
       ""},
      {"a root that both sides take", "loses no condition",
       chosen([](Program& k, E p, E, E x, E z) { return choose(p, x, k.constant(0)) * z; },
              [](Program& k, E p, E, E x, E z) { return choose(p, sqrt(x) * sqrt(x), k.constant(0)) * z; }),
       sizes},
      {"0/0 for 0",
       "y is what",
       chosen([](Program& k, E p, E, E x,
                 E z) { return choose(p, x, k.constant(0)) / choose(p, z, k.constant(0)); },
              [](Program& k, E p, E, E x, E z) { return choose(p, x / z, k.constant(0)); }),
       sizes,
       {},
       "the specification is no number there"},
      {"0 for 0/0", "y is what",
       chosen([](Program& k, E p, E, E x, E z) { return choose(p, x / z, k.constant(0)); },
              [](Program& k, E p, E, E x, E z) {
                return choose(p, x, k.constant(0)) / choose(p, z, k.constant(0));
              }),
       sizes},
      {"0 times infinity on both sides",
       "y is what",
       chosen([](Program& k, E p, E, E x,
                 E z) { return choose(p, x, k.constant(0)) * choose(p, z, k.constant(INFINITY)); },
              [](Program& k, E p, E, E x, E z) {
                return choose(p, x * 2, k.constant(0)) * choose(p, z * 0.5, k.constant(INFINITY));
              }),
       {{1}},
       {},
       "both are no number"},
      {"infinity less infinity by 0 on both sides",
       "y is what",
       chosen(
           [](Program& k, E p, E, E x, E z) {
             return (choose(p, x, k.constant(INFINITY)) + k.constant(-INFINITY)) /
                    choose(p, z, k.constant(0));
           },
           [](Program& k, E p, E, E x, E z) {
             return (choose(p, x, k.constant(INFINITY)) + k.constant(-INFINITY)) * 2 /
                    choose(p, z * 2, k.constant(0));
           }),
       {{1}},
       {},
       "both are no number"},
      {"0/0 on both sides",
       "",
       chosen([](Program& k, E p, E, E x,
                 E z) { return choose(p, x, k.constant(0)) / choose(p, z, k.constant(0)); },
              [](Program& k, E p, E, E x, E z) {
                return choose(p, x * 2, k.constant(0)) / choose(p, z * 2, k.constant(0));
              }),
       {{1}},
       {},
       ""},
  });
}

TEST_CASE("adversary: what the last trip alone stores after another loop over the size") {
  using S = std::array<Sym, 2>;
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {4, 300}, {3, 128}, {2, 65}, {2, 257}};
  std::vector<Attack> all;
  for (const std::vector<int>& before : std::vector<std::vector<int>>{
           {1}, {2}, {3}, {4}, {2, 3}, {3, 2}, {1, 2}, {4, 2}, {2, 2}, {4, 6}, {2, 3, 4}}) {
    std::string stages;
    for (const int loop : before) stages += std::to_string(loop) + " ";
    stages += "stages, ";
    const auto left = [&](int more) {
      return stored_in([more](Sym t, Sym n) { return S{Sym(64) * t + Sym(more), n}; }, true, 64, 1, before);
    };
    const auto number = [&](int less) {
      return stored_in(
          [less](Sym t, Sym n) {
            return S{t, ceil_div(n, Sym(64)) - Sym(less)};
          },
          true, 64, 1, before);
    };
    all.push_back({stages + "by its number", "", number(1), sizes});
    all.push_back({stages + "by what is left", "", left(64), sizes});
    all.push_back({stages + "one trip early", "sums one element", number(2), sizes});
    all.push_back({stages + "in none", "nothing is written", number(0), sizes});
    all.push_back({stages + "one element early", "sums one element", left(65), sizes});
    all.push_back({stages + "one element late", "nothing is written", left(63), sizes});
  }
  attack(all);
}

TEST_CASE("adversary: what the last trip alone stores") {
  using S = std::array<Sym, 2>;
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {4, 300}, {3, 128}, {2, 65}};
  const auto count = [](Sym n) { return ceil_div(n, Sym(64)); };
  attack({
      {"by its number", "",
       stored_in(
           [&](Sym t, Sym n) {
             return S{t, count(n) - Sym(1)};
           },
           true),
       sizes},
      {"by what is left", "",
       stored_in(
           [](Sym t, Sym n) {
             return S{Sym(64) * t + Sym(64), n};
           },
           true),
       sizes},
      {"by what is left, the other way around", "",
       stored_in(
           [](Sym t, Sym n) {
             return S{n, Sym(64) * t + Sym(65)};
           },
           false),
       sizes},
      {"by what is left of tiles of 32", "",
       stored_in(
           [](Sym t, Sym n) {
             return S{Sym(32) * t + Sym(32), n};
           },
           true, 32),
       sizes},
      {"of multiples of 4",
       "",
       stored_in(
           [](Sym t, Sym n) {
             return S{Sym(64) * t + Sym(64), n};
           },
           true, 64, 4),
       {{1, 4}, {5, 64}, {9, 132}}},
      {"of multiples of 4, by three more",
       "",
       stored_in(
           [](Sym t, Sym n) {
             return S{Sym(64) * t + Sym(67), n};
           },
           true, 64, 4),
       {{1, 4}, {5, 64}, {9, 132}}},
      {"one element early", "a sum is over the whole extent",
       stored_in(
           [](Sym t, Sym n) {
             return S{Sym(64) * t + Sym(65), n};
           },
           true),
       sizes},
      {"one element late", "on one path nothing is written",
       stored_in(
           [](Sym t, Sym n) {
             return S{Sym(64) * t + Sym(63), n};
           },
           true),
       sizes},
      {"one trip early", "a sum is over the whole extent",
       stored_in(
           [&](Sym t, Sym n) {
             return S{t, count(n) - Sym(2)};
           },
           true),
       sizes},
      {"the first one", "a sum is over the whole extent",
       stored_in(
           [](Sym t, Sym) {
             return S{t, Sym(1)};
           },
           false),
       sizes},
      {"all but the first", "a sum is over the whole extent",
       stored_in(
           [](Sym t, Sym) {
             return S{Sym(0), t};
           },
           false),
       sizes},
      {"in none", "nothing is written",
       stored_in(
           [](Sym t, Sym n) {
             return S{n, t};
           },
           false),
       sizes},
  });
}

} // namespace scores

} // namespace scores_test
