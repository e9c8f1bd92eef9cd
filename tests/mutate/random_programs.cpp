// Programs drawn at random, as they are and with one fault planted in the program or in its code: what the claims prove, the
// tokens find right, without exception. What the claims refuse though the tokens find it right is counted.
//
//   random_programs [--sample N] [--seed S] [--first N] [--only FAMILY] [--emulate] [--validate] [--verbose]
//
// --emulate: what is right and proved is compiled, and run on the emulator with its sanitizers. --validate: that machine code is held
// against its code, which must not refute it; and that of a code that tokens find wrong against the code without the fault: where it is
// validated, the emulator must find it right.
//
// Number n of a seed is the same program in every run: `--first n --sample 1 --verbose` prints it.
//
// Families: pointwise (maps, broadcasts, LDS on the way, any order of memory), rows (folds of rows), carried (what a loop
// carries), products (matrix products with an epilogue), streamed (stores in loops, several loops, several stores),
// branches (paths by sizes, workgroups and tables), tickets (the last workgroup puts together what all stored), turns (each
// goes on from what those before stored), elements (of 8, 16 and 32 bits, rows named by a table), roles (groups of waves that
// do different things), gathers (a trip loads the ids of the rows that it gathers), lanes (sums, maxima and minima lane by lane, folded after the
// loop), scans (sums up to each element of a row), bounded (a loop ends where a table says), shifted (operands beside the element), integers (modulo 2^32), nested (a loop
// around a loop), persistent (workgroups walk over tiles, with tables and checks), named (rows that a table names are replaced or
// added to), windows (elements that stand elsewhere), pages (caches of pages, with lengths), parts (of sums, added by atomics),
// formulas (grids over n / 2), devices (what peers hold), columns (folds of columns over waves), sums (several products in one accumulator,
// which begins with a row, a matrix or zeros), segments (sums of rows from where a table says to where it says), counts (atomics
// that add to LDS where a table says), masked (branches by what a trip reads), scores (a softmax in such branches), written (maps whose arithmetic is as it is written,
// or not), wraps (sums of integers). The last line is `wrong words: X of N`; exit 1 when there is one, or when more than 5 % of them are refused though right, or as many as drawn because what they fold or multiply cancels (a sum of x / x: docs/guide/14-trust.md).
#include "emulated.h"
#include "judge.h"
#include "sampling.h"
#include "tokens.h"

#include <inlay/codegen/schedule.h>

#include <bit>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>

using namespace inlay;
using namespace inlay::codegen;
using namespace inlay::mutate;

namespace {

struct Drawn {
  Program program;
  std::vector<Sizes> sizes;
  Scheduler scheduler = Scheduler::plain;
};

int one_of(Random& random, std::initializer_list<int> from) { return from.begin()[random() % from.size()]; }
bool chance(Random& random, unsigned of) { return random() % of == 0; }

// A function of some operands, which can be written in several ways.
struct Tree {
  enum Kind { leaf, constant, add, sub, mul, max, exp2, over, choose } kind = leaf;
  int operand = 0;
  double value = 0;
  std::vector<Tree> args;

  // `exact`: of operands with few bits nothing is rounded.
  static Tree draw(Random& random, int operands, int depth, bool exact = false) {
    Tree t;
    if (depth == 0 || chance(random, 4)) {
      t.kind = chance(random, 4) ? constant : leaf;
      t.operand = static_cast<int>(random() % static_cast<unsigned>(operands));
      t.value = one_of(random, {1, 2, 3, -1}) * 0.25;
      return t;
    }
    t.kind = exact ? std::vector<Kind>{add, sub, mul, max, choose}[random() % 5]
                   : std::vector<Kind>{add, sub, mul, mul, max, exp2, over, choose}[random() % 8];
    t.args.push_back(draw(random, operands, depth - 1, exact));
    if (t.kind == over) {
      t.args.push_back(Tree{}); // by an operand, which is positive
      t.args.back().operand = static_cast<int>(random() % static_cast<unsigned>(operands));
    } else if (t.kind != exp2) {
      t.args.push_back(draw(random, operands, depth - 1, exact));
    }
    if (t.kind == choose) { // compared are an operand and another or a number: what nobody rounds
      t.args.insert(t.args.begin(), {draw(random, operands, 0), draw(random, operands, 0)});
      t.args[0].kind = leaf;
    }
    return t;
  }
  [[nodiscard]] double at(const std::vector<double>& x) const {
    const auto arg = [&](std::size_t i) { return args[i].at(x); };
    switch (kind) {
    case leaf: return x[static_cast<std::size_t>(operand)];
    case constant: return value;
    case add: return arg(0) + arg(1);
    case sub: return arg(0) - arg(1);
    case mul: return arg(0) * arg(1);
    case max: return std::max(arg(0), arg(1));
    case exp2: return std::exp2(arg(0) * 0.125);
    case over: return arg(0) / arg(1);
    case choose: return arg(0) >= arg(1) ? arg(2) : arg(3);
    }
    return 0;
  }
  // A difference of two that are the same: what is left of exp(x) - exp2(y), which may be large, is their rounding.
  [[nodiscard]] bool cancels(const std::vector<double>& x) const {
    if (kind == sub && std::abs(args[0].at(x) - args[1].at(x)) <= 1e-9 * std::abs(args[0].at(x))) return true;
    return std::any_of(args.begin(), args.end(), [&](const Tree& t) { return t.cancels(x); });
  }
  // One that depends on every operand: nothing that the program computes is for nothing, and what is folded is no constant.
  static Tree of_all(Random& random, int operands, int depth, bool exact = false) {
    while (true) {
      const Tree t = draw(random, operands, depth, exact);
      const std::vector<double> x(static_cast<std::size_t>(operands), 1.1);
      std::vector<double> apart = x;
      for (std::size_t i = 0; i < x.size(); ++i) apart[i] += 0.37 * static_cast<double>(i);
      bool all = !t.cancels(apart);
      for (std::size_t i = 0; i < x.size(); ++i) {
        std::vector<double> y = x;
        y[i] = -0.7;
        all = all && std::abs(t.at(x) - t.at(y)) > 1e-9;
      }
      if (all) return t;
    }
  }
  // `vary`: another way to write the same.
  [[nodiscard]] Expr of(const std::vector<Expr>& x, Random* vary) const {
    const auto arg = [&](std::size_t i) { return args[i].of(x, vary); };
    const bool other = vary && chance(*vary, 3);
    switch (kind) {
    case leaf: return x[static_cast<std::size_t>(operand)];
    case constant: return x[0].arena->constant(value);
    case add: return other ? arg(1) + arg(0) : arg(0) + arg(1);
    case sub: return other ? arg(0) + arg(1) * -1.0 : arg(0) - arg(1);
    case mul:
      if (other && args[0].kind == add) { // distributed
        const Expr f = arg(1);
        return args[0].args[0].of(x, vary) * f + args[0].args[1].of(x, vary) * f;
      }
      return other ? arg(1) * arg(0) : arg(0) * arg(1);
    case max: return other ? codegen::max(arg(1), arg(0)) : codegen::max(arg(0), arg(1));
    case exp2: {
      const Expr small = arg(0) * 0.125; // a few of them in each other stay finite
      return other ? codegen::exp(small * std::log(2.0)) : codegen::exp2(small);
    }
    case over: return other ? arg(0) * rcp(arg(1)) : arg(0) / arg(1);
    case choose: return select(arg(0), arg(1), arg(2), arg(3));
    }
    return x[0];
  }
};

// What a specification says, read without the algebra that is judged.
class Spec {
public:
  explicit Spec(Expr e) : e_(e) {}
  // Somewhere a factor is divided by itself: x * x / x, (x / y + z) * y. The claims refuse to lose that it is not 0.
  [[nodiscard]] bool cancels() const {
    return any(e_.id, [&](int n) { return at(n); });
  }
  // What is compared was rounded so, and beside a number that is as large another branch may be taken.
  [[nodiscard]] bool compares_what_cancels() const {
    return any(e_.id, [&](int n) {
      const ExprNode& s = node(n);
      return s.fn == Fn::select &&
             (Spec({e_.arena, s.args[0]}).cancels() || Spec({e_.arena, s.args[1]}).cancels());
    });
  }

private:
  [[nodiscard]] const ExprNode& node(int n) const { return e_.arena->node(n); }
  bool any(int n, const std::function<bool(int)>& holds) const {
    const std::vector<int>& args = node(n).args;
    return holds(n) || std::any_of(args.begin(), args.end(), [&](int a) { return any(a, holds); });
  }
  bool at(int n) const {
    const ExprNode& f = node(n);
    if (f.fn == Fn::div) return divides(f.args[1], f.args[0]);
    if (f.fn != Fn::mul) return false;
    for (const auto& [one, other] : {std::pair(f.args[0], f.args[1]), {f.args[1], f.args[0]}})
      for (const int u : divisors(one))
        if (divides(u, other)) return true;
    return false;
  }
  // Whether n is u times something.
  bool divides(int u, int n) const {
    const ExprNode& f = node(n);
    const auto arg = [&](std::size_t i) { return divides(u, f.args[i]); };
    switch (f.fn) {
    case Fn::mul: return n == u || arg(0) || arg(1);
    case Fn::add:
    case Fn::sub:
    case Fn::max:
    case Fn::min: return n == u || (arg(0) && arg(1));
    case Fn::select: return n == u || (arg(2) && arg(3));
    case Fn::div:
    case Fn::inside:
    case Fn::fold: return n == u || arg(0);
    default: return n == u;
    }
  }
  // By what the terms of n are divided.
  std::vector<int> divisors(int n) const {
    const ExprNode& f = node(n);
    if (f.fn == Fn::div) return {f.args[1]};
    std::vector<int> out;
    if (f.fn == Fn::mul || f.fn == Fn::add || f.fn == Fn::sub)
      for (const int a : f.args)
        for (const int u : divisors(a)) out.push_back(u);
    return out;
  }

  Expr e_;
};

// The same of integers modulo 2^32.
struct Words {
  enum Kind {
    leaf,
    index,
    constant,
    add,
    sub,
    mul,
    mul_hi,
    both,
    either,
    one,
    left,
    right,
    sign,
    ends,
    choose
  } kind = leaf;
  int operand = 0;
  std::uint32_t value = 0;
  std::vector<Words> args;

  static Words draw(Random& random, int operands, int depth) {
    Words t;
    if (depth == 0 || chance(random, 4)) {
      t.kind = std::vector<Kind>{leaf, leaf, index, constant}[random() % 4];
      t.operand = static_cast<int>(random() % static_cast<unsigned>(operands));
      t.value = std::vector<std::uint32_t>{1, 3, 17, 0xff, 0xd2511f53, 0x80000001}[random() % 6];
      return t;
    }
    t.kind = static_cast<Kind>(add + static_cast<int>(random() % 12));
    for (int i = t.kind == choose ? 4 : 2; i > 0; --i) t.args.push_back(draw(random, operands, depth - 1));
    return t;
  }
  [[nodiscard]] std::uint32_t at(const std::vector<std::uint32_t>& x) const {
    const auto arg = [&](std::size_t i) { return args[i].at(x); };
    switch (kind) {
    case leaf: return x[static_cast<std::size_t>(operand)];
    case index: return 12345;
    case constant: return value;
    case add: return arg(0) + arg(1);
    case sub: return arg(0) - arg(1);
    case mul: return arg(0) * arg(1);
    case mul_hi: return static_cast<std::uint32_t>(std::uint64_t{arg(0)} * arg(1) >> 32);
    case both: return arg(0) & arg(1);
    case either: return arg(0) | arg(1);
    case one: return arg(0) ^ arg(1);
    case left: return arg(0) << (arg(1) & 31);
    case right: return arg(0) >> (arg(1) & 31);
    case sign: return static_cast<std::uint32_t>(static_cast<std::int32_t>(arg(0)) >> (arg(1) & 31));
    case ends: return static_cast<std::uint32_t>(std::countl_zero(arg(0)) - std::countr_zero(arg(1)));
    case choose: return arg(0) < arg(1) ? arg(2) : arg(3);
    }
    return 0;
  }
  // One that depends on every operand.
  static Words of_all(Random& random, int operands, int depth) {
    while (true) {
      const Words t = draw(random, operands, depth);
      bool all = true;
      for (int i = 0; i < operands; ++i) {
        bool some = false;
        for (int n = 0; n < 4; ++n) {
          std::vector<std::uint32_t> x;
          for (int k = 0; k < operands; ++k) x.push_back(static_cast<std::uint32_t>(random()));
          const std::uint32_t before = t.at(x);
          x[static_cast<std::size_t>(i)] ^= static_cast<std::uint32_t>(random());
          some = some || t.at(x) != before;
        }
        all = all && some;
      }
      if (all) return t;
    }
  }
  [[nodiscard]] Expr of(const std::vector<Expr>& x, Expr number, Random* vary) const {
    const auto arg = [&](std::size_t i) { return args[i].of(x, number, vary); };
    const bool other = vary && chance(*vary, 3);
    const auto swapped = [&](auto f) { return other ? f(arg(1), arg(0)) : f(arg(0), arg(1)); };
    switch (kind) {
    case leaf: {
      const Expr w = integer(x[static_cast<std::size_t>(operand)]);
      return other ? (w ^ integer(x[0])) ^ integer(x[0]) : w;
    }
    case index: return integer(number);
    case constant: return x[0].arena->integer(value);
    case add: return swapped([](Expr a, Expr b) { return a + b; });
    case sub: return other ? arg(1) * -1.0 + arg(0) : arg(0) - arg(1);
    case mul: return swapped([](Expr a, Expr b) { return a * b; });
    case mul_hi: return swapped([](Expr a, Expr b) { return codegen::mul_hi(a, b); });
    case both: return swapped([](Expr a, Expr b) { return a & b; });
    case either: return swapped([](Expr a, Expr b) { return a | b; });
    case one: return swapped([](Expr a, Expr b) { return a ^ b; });
    case left: return arg(0) << arg(1);
    case right: return arg(0) >> arg(1);
    case sign: return shift_right_signed(arg(0), arg(1));
    case ends: return leading_zeros(arg(0)) - trailing_zeros(arg(1));
    case choose: return codegen::choose(less_unsigned(arg(0), arg(1)), arg(2), arg(3));
    }
    return x[0];
  }
};

// (M,N):(N,1), or (1,M).
SymLayout matrix_place(Sym rows, Sym columns, bool by_columns) {
  const auto shape = BasicIntTuple<Sym>::of({rows, columns});
  return by_columns ? SymLayout::col_major(shape) : SymLayout::row_major(shape);
}

// A size of some tiles and a part of one.
std::int64_t around(Random& random, int tile, int multiple, int tiles) {
  const int span = tile * (1 + static_cast<int>(random() % static_cast<unsigned>(tiles)));
  const int n = span - static_cast<int>(random() % static_cast<unsigned>(tile));
  return std::max(multiple, n / multiple * multiple);
}

Layout some_tv(Random& random, int rows, int columns, int vector, int threads) {
  return chance(random, 3) ? columns_tv(rows, columns, vector, threads)
                           : rows_tv(rows, columns, vector, threads);
}

// The elements in other lanes of the same waves: some bits of lanes and values change places. What is no power of two, or
// where several work-items hold one element, stays as it is.
Layout in_other_lanes(Random& random, const Layout& tv, int rows, int columns) {
  const int threads = static_cast<int>(tv.mode(0).size().value()),
            values = static_cast<int>(tv.mode(1).size().value());
  if (threads * values != rows * columns) return tv;
  const std::vector<int> row = coordinates(tv, 0), column = coordinates(tv, 1);
  const auto at = [&](int thread, int value) { return static_cast<std::size_t>(thread * values + value); };
  std::vector<Mode> of_values, of_lanes, of_waves;
  const auto bit = [&](std::vector<Mode>& to, std::size_t n) {
    if ((row[n] != 0 && column[n] != 0) || (row[n] == 0 && column[n] == 0)) return false;
    to.push_back(Mode{2, row[n] != 0 ? Stride(row[n], {0}) : Stride(column[n], {1})});
    return true;
  };
  for (int v = 1; v < values; v *= 2)
    if (!bit(of_values, at(0, v))) return tv;
  for (int t = 1; t < threads; t *= 2)
    if (!bit(t < 64 ? of_lanes : of_waves, at(t, 0))) return tv;
  if (of_values.empty()) return tv;
  for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) {
    Mode& lane = of_lanes[random() % of_lanes.size()];
    std::swap(lane, chance(random, 4) ? of_lanes[random() % of_lanes.size()]
                                      : of_values[random() % of_values.size()]);
  }
  TupleBuilder<Mode> b;
  const std::size_t both = b.open(), of_threads = b.open();
  for (const Mode& m : of_lanes) b.leaf(m);
  for (const Mode& m : of_waves) b.leaf(m);
  b.close(of_threads, of_lanes.size() + of_waves.size());
  const std::size_t inside = b.open();
  for (const Mode& m : of_values) b.leaf(m);
  b.close(inside, of_values.size());
  b.close(both, 2);
  return Layout(std::move(b).finish());
}

Drawn pointwise(Random& random) {
  const int threads = one_of(random, {64, 128, 256}), rows = one_of(random, {1, 4, 8, 16, 32}),
            columns = one_of(random, {16, 32, 64, 128}), v = one_of(random, {1, 2, 4}),
            multiple = std::max(v, one_of(random, {1, 4}));
  Program k("pointwise", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 20}), N = k.size("n", {.most = 1 << 20, .multiple = multiple});
  const bool x_by_columns = v == 1 && chance(random, 4);
  bool y_by_columns = chance(random, 4);
  const bool in_place =
      chance(random, 4); // its own tile, read first: by other work-items if it goes through LDS
  const Tensor Y = in_place ? k.inout("x", Element::f32, {M, N}, matrix_place(M, N, x_by_columns))
                            : k.output("y", Element::f32, {M, N}, matrix_place(M, N, y_by_columns)),
               X = in_place ? Y : k.input("x", Element::f32, {M, N}, matrix_place(M, N, x_by_columns));
  if (in_place) y_by_columns = x_by_columns;
  std::vector<Tensor> more; // the whole, a row for all rows, a column for all columns
  std::vector<int> kinds;
  for (int i = static_cast<int>(random() % 3); i > 0; --i) {
    kinds.push_back(one_of(random, {0, 1, 2}));
    const Sym one = Sym(1);
    more.push_back(k.input("z" + std::to_string(i), Element::f32,
                           {kinds.back() == 1 ? one : M, kinds.back() == 2 ? one : N}));
  }
  const Tree tree = Tree::of_all(random, 1 + static_cast<int>(more.size()), 3);
  k.computes(Y, [&](const auto& c) {
    std::vector<Expr> x = {k(X, {c[0], c[1]})};
    for (std::size_t i = 0; i < more.size(); ++i)
      x.push_back(k(more[i], {kinds[i] == 1 ? Sym(0) : c[0], kinds[i] == 2 ? Sym(0) : c[1]}));
    return tree.of(x, nullptr);
  });
  const bool swapped = chance(random, 2);
  const Sym bn = k.workgroups(swapped ? 1 : 0, N, columns), bm = k.workgroups(swapped ? 0 : 1, M, rows);
  const Layout tv = some_tv(random, rows, columns, v, threads);
  const View from = k.tile(X, {rows, columns}, {bm, bn});
  Layout now = tv;
  Fragment x;
  int w = v;
  if (chance(random, 2)) { // through LDS, to other threads
    const Swizzle swizzle = chance(random, 3) && columns == 64 ? Swizzle(3, 2, 3) : Swizzle();
    const Tensor stage = k.lds("stage", Element::f32, {rows, columns}, swizzle,
                               swizzle.is_identity() ? one_of(random, {0, 4, 8}) : 0);
    k.copy(from, stage, tv, v);
    w = one_of(random, {1, 2, 4});
    now = some_tv(random, rows, columns, w, threads);
    x = k.read(stage, now, w);
  } else {
    x = k.load(from, tv, v);
  }
  std::vector<Fragment> all = {x};
  for (std::size_t i = 0; i < more.size(); ++i) {
    const bool row = kinds[i] == 1, column = kinds[i] == 2;
    const Layout of = row ? without_axis(now, 0) : column ? without_axis(now, 1) : now;
    all.push_back(k.load(
        k.tile(more[i], {row ? 1 : rows, column ? 1 : columns}, {row ? Sym(0) : bm, column ? Sym(0) : bn}),
        of, 1));
  }
  Fragment y = k.map(all, [&](const auto& e) { return tree.of(e, &random); });
  int out = chance(random, 2) ? w : 1;
  if (chance(random, 3)) {
    y = k.relayout(y, in_other_lanes(random, now, rows, columns), Element::f32);
    out = 1;
  }
  if (chance(random, 4)) {
    y = k.relayout(y, some_tv(random, rows, columns, 1, threads), Element::f32);
    out = 1;
  }
  k.store(y, k.tile(Y, {rows, columns}, {bm, bn}), y_by_columns ? 1 : out);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, 1, 2), around(random, columns, multiple, 2)});
  return {std::move(k), sizes};
}

Drawn row_folds(Random& random) {
  const int threads = one_of(random, {64, 128, 256}), v = one_of(random, {1, 2, 4}),
            per_row = one_of(random, {16, 64, 256}), rows = std::max(1, threads / per_row),
            capacity = std::min(per_row, threads) * v * one_of(random, {1, 2});
  Program k("rows", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m"), N = k.size("n", {.most = capacity, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {M, N}), X = k.input("x", Element::f32, {M, N});
  const auto monoid = [&] { return std::vector{Monoid::sum, Monoid::max, Monoid::min}[random() % 3]; };
  const Monoid first = monoid(), second = monoid();
  const bool twice = chance(random, 2);
  const Tree inner = Tree::of_all(random, 1, 2), between = Tree::of_all(random, 2, 2),
             outer = Tree::of_all(random, twice ? 3 : 2, 3);
  k.computes(Y, [&](const auto& c) {
    const auto x = [&](Sym i) { return k(X, {c[0], i}); };
    const Expr f = k.fold(first, N, [&](Sym i) { return inner.of({x(i)}, nullptr); });
    std::vector<Expr> all = {x(c[1]), f};
    if (twice) all.push_back(k.fold(second, N, [&](Sym i) { return between.of({x(i), f}, nullptr); }));
    return outer.of(all, nullptr);
  });
  const Sym bm = k.workgroups(0, M, rows);
  const Layout tv = rows_tv(rows, capacity, v, threads);
  const Fragment x = k.load(k.tile(X, {rows, capacity}, {bm, 0}), tv, v);
  const auto fold = [&](Monoid m, const Fragment& of) {
    return k.fold(m, k.fill(of, 1, 0, N, empty_element(m)), 1);
  };
  const Fragment f = fold(first, k.map({x}, [&](const auto& e) { return inner.of(e, &random); }));
  std::vector<Fragment> all = {x, f};
  if (twice)
    all.push_back(fold(second, k.map({x, f}, [&](const auto& e) { return between.of(e, &random); })));
  const Fragment y = k.map(all, [&](const auto& e) { return outer.of(e, &random); });
  k.store(y, k.tile(Y, {rows, capacity}, {bm, 0}), v);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, rows, 1, 2), around(random, capacity, v, 1)});
  return {std::move(k), sizes};
}

// Rows that go through registers part by part: in a loop over all of a row or over the workgroup's part of it, after a fold
// of the row in a loop of its own, or as several stores one after another.
Drawn streamed(Random& random) {
  const int threads = one_of(random, {64, 128}), rows = one_of(random, {1, 4, 8}),
            v = one_of(random, {1, 2, 4}), tile = one_of(random, {32, 64}), parts = one_of(random, {1, 2, 3}),
            kind = one_of(random, {0, 1, 2, 3});
  Program k("streamed", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m"), N = k.size("n", {.most = 1 << 20, .multiple = v});
  const bool pieces = kind == 3;
  const Sym columns = pieces ? Sym(tile * parts) : N;
  const Tensor X = k.input("x", Element::f32, {M, columns}),
               W = k.input("w", Element::f32, {Sym(1), columns});
  const Tensor Y = k.output("y", Element::f32, {M, columns});
  const Tree tree = Tree::of_all(random, kind == 1 ? 3 : 2, 2);
  const Monoid m = std::vector{Monoid::sum, Monoid::max, Monoid::min}[random() % 3];
  k.computes(Y, [&](const auto& c) {
    std::vector<Expr> operands = {k(X, {c[0], c[1]}), k(W, {0, c[1]})};
    if (kind == 1) operands.push_back(k.fold(m, N, [&](Sym i) { return k(X, {c[0], i}); }));
    return tree.of(operands, nullptr);
  });
  const Sym bm = k.workgroups(0, M, rows);
  const Layout tv = rows_tv(rows, tile, v, threads);
  const Layout row = without_axis(tv, 1), column = without_axis(tv, 0);
  const auto pipeline = [&] {
    return Pipeline{static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 3)};
  };
  const bool lds = chance(random, 2);
  const Tensor stage =
      lds ? k.lds("stage", Element::f32, {rows, tile}, Swizzle(), one_of(random, {0, 4})) : X;
  std::vector<Fragment> carried;
  const auto part = [&](Sym at) {
    const View from = k.tile(X, {rows, tile}, {bm, at});
    if (lds) k.copy(from, stage, tv, v);
    std::vector<Fragment> operands = {lds ? k.read(stage, tv, v) : k.load(from, tv, v),
                                      k.load(k.tile(W, {1, tile}, {0, at}), column, 1)};
    operands.insert(operands.end(), carried.begin(), carried.end());
    k.store(k.map(operands, [&](const auto& e) { return tree.of(e, &random); }),
            k.tile(Y, {rows, tile}, {bm, at}), v);
  };
  if (kind == 1) {
    const Fragment acc = k.full(empty_element(m), row, {rows, 1});
    k.loop(N, tile, pipeline(), [&](Sym t) {
      const Fragment x =
          k.fill(k.load(k.tile(X, {rows, tile}, {bm, t}), tv, v), 1, t * Sym(tile), N, empty_element(m));
      k.update(acc, {k.fold(m, x, 1)}, [&](const auto& e) {
        return m == Monoid::sum   ? e[0] + e[1]
               : m == Monoid::max ? codegen::max(e[0], e[1])
                                  : codegen::min(e[0], e[1]);
      });
    });
    carried.push_back(acc);
  }
  if (kind == 2) { // the workgroup's part
    const Sym bn = k.workgroups(1, N, tile * parts);
    k.loop(min(N - Sym(tile * parts) * bn, Sym(tile * parts)), tile, pipeline(),
           [&](Sym t) { part(Sym(parts) * bn + t); });
  } else if (pieces) {
    std::vector<int> order(static_cast<std::size_t>(parts));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (const int p : order) part(Sym(p));
  } else {
    k.loop(N, tile, pipeline(), part);
  }
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, rows, 1, 2), around(random, tile, v, 5)});
  return {std::move(k), sizes};
}

Drawn carried(Random& random) {
  const int threads = one_of(random, {64, 128}), rows = one_of(random, {4, 8, 16}),
            v = one_of(random, {1, 2, 4}), tile = one_of(random, {16, 32, 64});
  Program k("carried", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m"), K = k.size("k", {.most = 1 << 20, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {M, K}),
               W = k.input("w", Element::f32, {Sym(1), K});
  const Monoid m = std::vector{Monoid::sum, Monoid::max, Monoid::min}[random() % 3];
  const Tree inner = Tree::of_all(random, 2, 2), outer = Tree::of_all(random, 1, 2);
  k.computes(Y, [&](const auto& c) {
    return outer.of({k.fold(m, K,
                            [&](Sym i) {
                              return inner.of({k(X, {c[0], i}), k(W, {0, i})}, nullptr);
                            })},
                    nullptr);
  });
  const Sym bm = k.workgroups(0, M, rows);
  const Layout tv = rows_tv(rows, tile, v, threads), row = without_axis(tv, 1);
  const Fragment acc = k.full(empty_element(m), row, {rows, 1});
  const Pipeline pipeline{static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 3)};
  const bool lds = chance(random, 2);
  const Tensor stage =
      lds ? k.lds("stage", Element::f32, {rows, tile}, Swizzle(), one_of(random, {0, 4})) : X;
  k.loop(K, tile, pipeline, [&](Sym t) {
    const View from = k.tile(X, {rows, tile}, {bm, t});
    if (lds) k.copy(from, stage, tv, v);
    const Fragment x = lds ? k.read(stage, tv, v) : k.load(from, tv, v),
                   w = k.load(k.tile(W, {1, tile}, {0, t}), without_axis(tv, 0), 1);
    const Fragment y = k.fill(k.map({x, w}, [&](const auto& e) { return inner.of(e, &random); }), 1,
                              t * Sym(tile), K, empty_element(m));
    k.update(acc, {k.fold(m, y, 1)}, [&](const auto& e) {
      const Expr a = e[0], b = e[1];
      return m == Monoid::sum ? a + b : m == Monoid::max ? codegen::max(a, b) : codegen::min(a, b);
    });
  });
  k.store(k.map({acc}, [&](const auto& e) { return outer.of(e, &random); }), k.tile(Y, {rows, 1}, {bm, 0}),
          1);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, rows, 1, 2), around(random, tile, v, 5)});
  return {std::move(k), sizes};
}

Drawn products(Random& random) {
  const Target& target = Target::named(chance(random, 2) ? "gfx942" : "gfx950");
  const bool wide = chance(random, 3);
  const int rows = wide ? 32 : 16, deep = wide ? 8 : target.name == "gfx950" && chance(random, 2) ? 32 : 16;
  const int waves_m = one_of(random, {1, 2}), waves_n = one_of(random, {1, 2}),
            tile_m = rows * waves_m * one_of(random, {1, 2}),
            tile_n = rows * waves_n * one_of(random, {1, 2}), v = one_of(random, {4, 8}),
            tile_k = one_of(random, {32, 64});
  const MmaTiling mma =
      MmaTiling::of(Atom::mma_of(target, Element::f16, Element::f16, Element::f32, rows, deep), waves_m,
                    waves_n, tile_m, tile_n, tile_k, v);
  Program k("products", target, mma.threads());
  const Sym M = k.size("m", {.most = 1 << 20}), N = k.size("n", {.most = 1 << 20}),
            K = k.size("k", {.most = 1 << 20, .multiple = v});
  const bool c_by_columns = chance(random, 4), bias = chance(random, 2), scale = chance(random, 2),
             adds = chance(random, 4); // to what C held
  const SymLayout place_of_c = matrix_place(M, N, c_by_columns);
  const Tensor C = adds ? k.inout("c", Element::f32, {M, N}, place_of_c)
                        : k.output("c", Element::f32, {M, N}, place_of_c),
               A = k.input("a", Element::f16, {M, K}), B = k.input("b", Element::f16, {N, K}),
               Z = k.input("bias", Element::f32, {Sym(1), N}),
               S = k.input("scale", Element::f32, {M, Sym(1)});
  const int operands = 1 + bias + scale + adds;
  const Tree tree = Tree::of_all(random, operands, 3);
  const bool epilogue = adds || chance(random, 2);
  k.computes(C, [&](const auto& c) {
    std::vector<Expr> all = {k.sum(K, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); })};
    if (bias) all.push_back(k(Z, {0, c[1]}));
    if (scale) all.push_back(k(S, {c[0], 0}));
    if (adds) all.push_back(k(C, {c[0], c[1]}));
    return epilogue ? tree.of(all, nullptr) : all[0];
  });
  const bool swapped = chance(random, 2);
  const Sym bn = k.workgroups(swapped ? 1 : 0, N, tile_n), bm = k.workgroups(swapped ? 0 : 1, M, tile_m);
  if (chance(random, 4)) k.persistent(one_of(random, {1, 2, 3}));
  const auto stage = [&](const char* name, int extent) {
    const bool swizzled = tile_k == 64 && chance(random, 2);
    return k.lds(name, Element::f16, {extent, tile_k}, swizzled ? Swizzle(3, 3, 3) : Swizzle(),
                 swizzled ? 0 : one_of(random, {0, 8}));
  };
  const Tensor a = stage("lds_a", tile_m);
  const bool b_in_lds = !chance(random, 3);
  const std::optional<Tensor> b = b_in_lds ? std::optional(stage("lds_b", tile_n)) : std::nullopt;
  const View of_c = k.tile(C, {tile_m, tile_n}, {bm, bn});
  const bool early = chance(random, 2);
  std::optional<Fragment> old_c;
  if (adds && early) old_c = k.load(of_c, mma.c(), 1);
  const Fragment acc = k.zeros(Element::f32, mma.c(), {tile_m, tile_n});
  const Pipeline pipeline{static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 3)};
  k.loop(K, tile_k, pipeline, [&](Sym t) {
    const View of_tile_b = k.tile(B, {tile_n, tile_k}, {bn, t});
    k.copy(k.tile(A, {tile_m, tile_k}, {bm, t}), a, rows_tv(tile_m, tile_k, v, mma.threads()), v);
    if (b) k.copy(of_tile_b, *b, rows_tv(tile_n, tile_k, v, mma.threads()), v);
    const Fragment of_a = k.read(a, mma.a(), v),
                   of_b = b ? k.read(*b, mma.b(), v) : k.load(of_tile_b, mma.b(), v);
    k.mma(acc, of_a, of_b, mma);
  });
  Fragment result = acc;
  if (epilogue) {
    std::vector<Fragment> all = {acc};
    if (bias) all.push_back(k.load(k.tile(Z, {1, tile_n}, {0, bn}), without_axis(mma.c(), 0), 1));
    if (scale) all.push_back(k.load(k.tile(S, {tile_m, 1}, {bm, 0}), without_axis(mma.c(), 1), 1));
    if (adds) all.push_back(early ? *old_c : k.load(of_c, mma.c(), 1));
    result = k.map(all, [&](const auto& e) { return tree.of(e, &random); });
  }
  if (chance(random, 4))
    result = k.relayout(result, in_other_lanes(random, result.tv, tile_m, tile_n), Element::f32);
  if (chance(random, 4)) result = k.relayout(result, rows_tv(tile_m, tile_n, 1, mma.threads()), Element::f32);
  k.store(result, of_c, 1);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back(
        {around(random, tile_m, 1, 2), around(random, tile_n, 1, 2), around(random, tile_k, v, 4)});
  return {std::move(k), sizes, chance(random, 2) ? Scheduler::modulo : Scheduler::plain};
}

// Sums of products of several pairs of operands in one accumulator, in one loop or one after the other.
Drawn sums(Random& random) {
  const Target& target = Target::named(chance(random, 2) ? "gfx942" : "gfx950");
  const bool whole = chance(random, 4); // numbers
  const Element e = whole ? Element::i8 : std::vector{Element::f16, Element::bf16}[random() % 2],
                of_c = whole ? Element::i32 : Element::f32;
  const int deep = whole ? 32 : 16, waves_m = one_of(random, {1, 2}), waves_n = one_of(random, {1, 2}),
            tile_m = 16 * waves_m * waves_n, tile_n = 16 * waves_n * waves_m * one_of(random, {1, 2}),
            v = whole ? 8 : one_of(random, {4, 8}), tile_k = one_of(random, {32, 64}),
            products = one_of(random, {1, 2, 2, 3}), begins = whole ? 0 : one_of(random, {0, 0, 1, 2, 3});
  const MmaTiling mma =
      MmaTiling::of(Atom::mma_of(target, e, e, of_c, 16, deep), waves_m, waves_n, tile_m, tile_n, tile_k, v);
  Program k("sums", target, mma.threads());
  const Sym M = k.size("m", {.most = 1 << 12}), N = k.size("n", {.most = 1 << 12});
  const bool one_loop = chance(random, 2), taps = chance(random, 4), in_lds = !chance(random, 3);
  // A window is not loaded ahead of a trip that may end inside of its tile.
  const SizeFacts facts{.most = 1 << 12, .multiple = taps ? tile_k : v};
  std::vector<Sym> K;
  for (int s = 0; s < (one_loop ? 1 : products); ++s) K.push_back(k.size("k" + std::to_string(s), facts));
  const auto depth = [&](std::size_t s) { return K[one_loop ? 0 : s]; };
  const Tensor C = k.output("c", of_c, {M, N}), R = k.input("row", of_c, {Sym(1), N}),
               Z = k.input("z", of_c, {M, N});
  const Tensor pixels = taps ? k.input("pixels", e, {M, K[0]}) : C;
  std::vector<Tensor> A, B;
  for (std::size_t s = 0; s < static_cast<std::size_t>(products); ++s) {
    const std::string number = std::to_string(s);
    const bool window = taps && (one_loop || s == 0);
    A.push_back(window ? k.window("tap" + number, pixels, {{M, {{M, 0}}}, {K[0], {{K[0], 1}}}},
                                  {static_cast<int>(s) - 1, 0})
                       : k.input("a" + number, e, {M, depth(s)}));
    B.push_back(k.input("b" + number, e, {N, depth(s)}));
  }
  const bool epilogue = !whole && chance(random, 3);
  const Tree tree = Tree::of_all(random, 1, 2);
  k.computes(C, [&](const auto& c) {
    std::vector<Expr> parts;
    if (begins == 1) parts.push_back(k(R, {0, c[1]}));
    if (begins == 2) parts.push_back(k(Z, {c[0], c[1]}));
    if (begins == 3) parts.push_back(k.constant(2));
    for (std::size_t s = 0; s < A.size(); ++s)
      parts.push_back(k.sum(depth(s), [&](Sym i) { return k(A[s], {c[0], i}) * k(B[s], {c[1], i}); }));
    std::shuffle(parts.begin(), parts.end(), random);
    Expr all = parts[0];
    for (std::size_t s = 1; s < parts.size(); ++s) all = all + parts[s];
    return epilogue ? tree.of({all}, nullptr) : all;
  });
  const Sym bn = k.workgroups(0, N, tile_n), bm = k.workgroups(1, M, tile_m);
  if (chance(random, 5)) k.persistent(one_of(random, {1, 2, 3}));
  const View of_tile = k.tile(C, {tile_m, tile_n}, {bm, bn});
  Fragment acc = begins == 2 ? k.load(k.tile(Z, {tile_m, tile_n}, {bm, bn}), mma.c(), 1)
                             : k.zeros(of_c, mma.c(), {tile_m, tile_n});
  if (begins == 1)
    k.update(acc, {k.load(k.tile(R, {1, tile_n}, {0, bn}), without_axis(mma.c(), 0), 1)},
             [](const auto& x) { return x[0] + x[1]; });
  if (begins == 2)
    acc = k.map(
        {acc}, [](const auto& x) { return x[0]; }, of_c);
  if (begins == 3) k.update(acc, {}, [&](const auto& x) { return x[0] + k.constant(2); });
  std::vector<Tensor> lds;
  const int places = one_loop || chance(random, 2) ? products : 1;
  for (int s = 0; s < places; ++s)
    for (const auto& [name, rows] : {std::pair("lds_a", tile_m), std::pair("lds_b", tile_n)})
      lds.push_back(k.lds(name + std::to_string(s), e, {rows, tile_k}, Swizzle(), one_of(random, {0, 16})));
  const auto add = [&](std::size_t s, Sym t) {
    const std::size_t at = 2 * (s % static_cast<std::size_t>(places));
    k.copy(k.tile(A[s], {tile_m, tile_k}, {bm, t}), lds[at], rows_tv(tile_m, tile_k, v, mma.threads()), v);
    const View from = k.tile(B[s], {tile_n, tile_k}, {bn, t});
    if (in_lds) k.copy(from, lds[at + 1], rows_tv(tile_n, tile_k, v, mma.threads()), v);
    k.mma(acc, k.read(lds[at], mma.a(), v),
          in_lds ? k.read(lds[at + 1], mma.b(), v) : k.load(from, mma.b(), v), mma);
  };
  const auto pipeline = [&] { return Pipeline{one_of(random, {0, 1, 2}), one_of(random, {1, 2, 3})}; };
  if (one_loop)
    k.loop(K[0], tile_k, pipeline(), [&](Sym t) {
      for (std::size_t s = 0; s < A.size(); ++s) add(s, t);
    });
  else
    for (std::size_t s = 0; s < A.size(); ++s) k.loop(K[s], tile_k, pipeline(), [&](Sym t) { add(s, t); });
  k.store(epilogue ? k.map({acc}, [&](const auto& x) { return tree.of(x, &random); }) : acc, of_tile, 1);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) {
    sizes.push_back({around(random, tile_m, 1, 2), around(random, tile_n, 1, 2)});
    for (std::size_t s = 0; s < K.size(); ++s)
      sizes.back().push_back(around(random, tile_k, taps ? tile_k : v, 3));
  }
  return {std::move(k), sizes, chance(random, 2) ? Scheduler::modulo : Scheduler::plain};
}

// Paths of workgroups: by a size, by the workgroup's number, or by a number from a table; by one condition or by two. Where
// the specification does not depend on the condition, the paths compute the same in two ways.
Drawn branches(Random& random) {
  const int threads = one_of(random, {64, 128}), v = one_of(random, {1, 4}),
            tile = threads * v * one_of(random, {1, 2});
  Program k("branches", Target::named("gfx942"), threads);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = v}), m = k.size("m", {.most = 1 << 16});
  const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
               g = k.input("g", Element::f32, {n}), table = k.input("table", Element::i32, {1});
  const Tree tree = Tree::of_all(random, 2, 2);
  const Sym w = k.workgroups(0, n, tile);
  enum { by_size, by_workgroup, by_table };
  const int kind = static_cast<int>(random() % 3);
  const int number = one_of(random, {1, 2, 3});
  const Sym used = kind == by_table ? k.uniform(table, 0) : Sym(0);
  // Elements of which the specification says one thing, and workgroups that may have some.
  const auto first = [&](Sym i) { return kind == by_size ? m : i; };
  const Sym bound = kind == by_size ? Sym(50 * number) : kind == by_workgroup ? Sym(tile * number) : used;
  const bool depends = kind == by_table || !chance(random, 3);
  const double beyond = one_of(random, {0, 0, 1});
  k.computes(y, [&](const auto& c) {
    const std::vector<Expr> all = {k(x, {c[0]}), k(g, {c[0]})};
    const Expr f = tree.of(all, nullptr);
    return depends ? inside(first(c[0]), bound, f, beyond) : f;
  });
  const Layout tv = line_tv(tile, v, threads);
  const View to = k.tile(y, {tile}, {w});
  const Tensor lds = k.lds("lds", Element::f32, {tile});
  const auto value = [&](bool through_lds) {
    Fragment a = k.load(k.tile(x, {tile}, {w}), tv, v);
    const Fragment b = k.load(k.tile(g, {tile}, {w}), tv, v);
    if (through_lds) {
      k.store(a, k.whole(lds), v);
      a = k.read(lds, tv, v);
    }
    Fragment f = k.map({a, b}, [&](const auto& e) { return tree.of(e, &random); });
    if (kind == by_table) f = k.fill(f, 0, Sym(tile) * w, used, beyond);
    return f;
  };
  const bool joins = chance(random, 2); // the paths update one fragment, or store by themselves
  const Fragment acc = k.full(joins && depends ? beyond : 0, tv, {tile});
  const auto take = [&](const Fragment& f) {
    if (joins)
      k.update(acc, {f}, [](const auto& e) { return e[1] + e[0] * 0.0; });
    else
      k.store(f, to, v);
  };
  const Sym a = kind == by_size ? m : Sym(tile) * w;
  const bool late = chance(random, 2), early = chance(random, 2), twice = chance(random, 3);
  const auto path = [&](bool through_lds) {
    if (!twice) return take(value(through_lds));
    k.if_less(
        n, Sym(3 * tile), [&] { take(value(through_lds)); }, [&] { take(value(!through_lds)); });
  };
  k.if_less(
      a, bound, [&] { path(early); },
      [&] {
        if (!depends)
          path(late);
        else if (!joins)
          k.store(k.full(beyond, tv, {tile}), to, v);
      });
  if (joins) k.store(acc, to, v);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, tile, v, 5), around(random, 50, 1, 4)});
  sizes.push_back({around(random, tile, v, 5), 50 * number});
  sizes.push_back({around(random, tile, v, 5), 50 * number - 1});
  return {std::move(k), sizes, Scheduler::plain};
}

// Workgroups store parts, and the one that comes last puts them together: elements of a column each, or sums over a part of a
// row; in one, two or three axes of the grid.
Drawn tickets(Random& random) {
  const bool sums = chance(random, 3); // parts of a row's sum
  const int threads = one_of(random, {64, 128}), v = sums ? 4 : one_of(random, {1, 1, 4});
  const int rows = sums ? 1 : threads * v * one_of(random, {1, 2}), split = 512 * one_of(random, {1, 2});
  Program k("tickets", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym m = k.size("m", {.most = 1 << 14, .multiple = v == 4 && !sums ? 4 : 1}),
            p = k.size("p", {.most = sums ? 1 << 14 : 64, .multiple = sums ? 4 : 1});
  const bool heads = chance(random, 3);
  const Sym h = heads ? k.size("h", {.most = 100}) : Sym(1);
  const int across = static_cast<int>(random() % 2); // which axis counts the rows
  const Sym part_first = chance(random, 4) ? k.workgroups(2, p, sums ? split : 1) : Sym(-1);
  const bool last_axis = !(part_first == Sym(-1));
  const Sym w = k.workgroups(across, m, rows),
            part = last_axis ? part_first : k.workgroups(1 - across, p, sums ? split : 1),
            head = heads ? k.workgroups(last_axis ? 1 - across : 2, h, 1) : Sym(0);
  const Sym parts = sums ? ceil_div(p, split) : p;
  const bool by_parts = v == 1 && chance(random, 2); // the parts of an element side by side
  const auto place = [&](Sym columns) {
    TupleBuilder<BasicMode<Sym>> b;
    const std::size_t all = b.open();
    b.leaf(BasicMode<Sym>{h, BasicStride<Sym>(m * columns)});
    b.leaf(BasicMode<Sym>{m, BasicStride<Sym>(by_parts ? columns : Sym(1))});
    b.leaf(BasicMode<Sym>{columns, BasicStride<Sym>(by_parts ? Sym(1) : m)});
    b.close(all, 3);
    return SymLayout(std::move(b).finish());
  };
  const Tensor y = k.output("y", Element::f32, {h, m}),
               parts_of = k.output("parts", Element::f32, {h, m, parts}, place(parts)),
               x = sums ? k.input("x", Element::f32, {h, m, p})
                        : k.input("x", Element::f32, {h, m, p}, place(p)),
               g = k.input("g", Element::f32, {h, m});
  const Tree tree = Tree::of_all(random, 2, 2), after = Tree::of_all(random, 2, 1);
  const Monoid monoid = chance(random, 3) ? Monoid::max : Monoid::sum;
  k.computes(parts_of, [&](const auto& c) {
    if (!sums) return tree.of({k(x, {c[0], c[1], c[2]}), k(g, {c[0], c[1]})}, nullptr);
    const Sym begin = Sym(split) * c[2];
    return k.sum(p, begin, begin + min(p - begin, Sym(split)), [&](Sym i) { return k(x, {c[0], c[1], i}); });
  });
  k.computes(y, [&](const auto& c) {
    return after.of({k.fold(monoid, parts,
                            [&](Sym i) {
                              return k(parts_of, {c[0], c[1], i});
                            }),
                     k(g, {c[0], c[1]})},
                    nullptr);
  });
  const Layout tv = sums ? rows_tv(1, 512, 4, threads) : line_tv(rows, v, threads);
  const Layout one = sums ? without_axis(tv, 1) : tv;
  const auto factor = [&] {
    return k.load(k.tile(g, {1, rows}, {head, w}).keep({1}), sums ? without_axis(one, 0) : one, sums ? 1 : v);
  };
  const auto tile_of = [&](Sym number) {
    return k.tile(parts_of, {1, rows, 1}, {head, w, number}).keep({1, 2});
  };
  if (sums) {
    const Fragment sum = k.zeros(Element::f32, one, {1, 1});
    k.loop(min(p - Sym(split) * part, Sym(split)), 512, {.distance = one_of(random, {0, 1}), .ring = 1},
           [&](Sym t) {
             const Fragment f =
                 k.load(k.tile(x, {1, 1, 512}, {head, w, Sym(split / 512) * part + t}).keep({1, 2}), tv, 4);
             k.update(sum, {k.fold(Monoid::sum, f, 1)}, [](const auto& e) { return e[0] + e[1]; });
           });
    k.store(sum, tile_of(part), 1);
  } else {
    Fragment f = k.map({k.load(k.tile(x, {1, rows, 1}, {head, w, part}).keep({1, 2}), tv, v), factor()},
                       [&](const auto& e) { return tree.of(e, &random); });
    k.store(f, tile_of(part), v);
  }
  const Sym number = k.ticket("arrived", part);
  const bool other_way = chance(random, 3);
  const auto finish = [&] {
    const Fragment acc = k.full(empty_element(monoid), sums ? one : tv, {rows, 1});
    k.loop(parts, 1, {.distance = one_of(random, {0, 1}), .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(tile_of(t), sums ? one : tv, sums ? 1 : v);
      k.update(acc, {k.fold(monoid, f, 1)},
               [&](const auto& e) { return monoid == Monoid::sum ? e[0] + e[1] : max(e[0], e[1]); });
    });
    const Fragment out = k.map({acc, k.load(k.tile(g, {1, rows}, {head, w}).keep({1}),
                                            sums ? without_axis(one, 0) : one, sums ? 1 : v)},
                               [&](const auto& e) { return after.of(e, &random); });
    k.store(out, k.tile(y, {1, rows}, {head, w}).keep({1}), sums ? 1 : v);
  };
  if (other_way)
    k.if_less(
        number, parts - Sym(1), [] {}, finish);
  else
    k.if_less(parts - Sym(2), number, finish);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) {
    sizes.push_back(
        {sums ? 1 + static_cast<std::int64_t>(random() % 3) : around(random, rows, v == 4 ? 4 : 1, 3),
         sums ? around(random, split, 4, 4) : 1 + static_cast<std::int64_t>(random() % 5)});
    if (heads) sizes.back().push_back(1 + static_cast<std::int64_t>(random() % 3));
  }
  return {std::move(k), sizes, Scheduler::plain};
}

// Workgroups in turn: each goes on from the sum that the one before stored, or sums what all of them did; in one, two or three axes
// of the grid.
Drawn turns(Random& random) {
  const bool chain = chance(random, 2);
  const int threads = one_of(random, {64, 128}), v = one_of(random, {1, 1, 4}), wide = threads * v,
            high = chain ? one_of(random, {1, 2, 8}) : 1;
  Program k("turns", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym m = k.size("m", {.most = 1 << 14, .multiple = v}), n = k.size("n", {.most = 500});
  const bool heads = chance(random, 3);
  const Sym h = heads ? k.size("h", {.most = 100}) : Sym(1);
  const int across = static_cast<int>(random() % 2); // which axis counts the columns
  const bool last_axis = chance(random, 3);          // counts the parts
  const Sym w = k.workgroups(across, m, wide), part = k.workgroups(last_axis ? 2 : 1 - across, n, high),
            head = heads ? k.workgroups(last_axis ? 1 - across : 2, h, 1) : Sym(0);
  const Sym parts = ceil_div(n, Sym(high));
  std::optional<Tensor> y;
  if (!chain) y = k.output("y", Element::f32, {h, n, m});
  const Tensor of_part = k.output("parts", Element::f32, {h, parts, m}),
               x = k.input("x", Element::f32, {h, n, m}), g = k.input("g", Element::f32, {h, m});
  const Tree tree = Tree::of_all(random, 2, 2), after = Tree::of_all(random, 2, 1);
  k.computes(of_part, [&](const auto& c) {
    if (!chain) return tree.of({k(x, {c[0], c[1], c[2]}), k(g, {c[0], c[2]})}, nullptr);
    return k.sum(n, Sym(0), high * (c[1] + Sym(1)), [&](Sym j) { return k(x, {c[0], j, c[2]}); });
  });
  if (!chain)
    k.computes(*y, [&](const auto& c) {
      return after.of({k.sum(n, Sym(0), c[1] + Sym(1),
                             [&](Sym j) {
                               return k(of_part, {c[0], j, c[2]});
                             }),
                       k(g, {c[0], c[2]})},
                      nullptr);
    });
  const Layout tv = rows_tv(high, wide, v, threads), row = without_axis(tv, 0);
  const Layout line = v == 1 ? row : rows_tv(1, wide, v, threads);
  const auto tile_of = [&](Sym number) {
    return k.tile(of_part, {1, 1, wide}, {head, number, w}).keep({1, 2});
  };
  const auto factor = [&] { return k.load(k.tile(g, {1, wide}, {head, w}), line, v); };
  const Fragment in = k.load(k.tile(x, {1, high, wide}, {head, part, w}).keep({1, 2}), tv, v);
  if (chain) {
    const Fragment own = k.fold(Monoid::sum, in, 0);
    k.await("turn", part);
    const int first = static_cast<int>(random() % 2);
    const auto add = [&] {
      const Fragment before = k.load(tile_of(part - Sym(1)), row, v);
      k.store(k.map({own, before}, [&](const auto& e) { return first == 0 ? e[0] + e[1] : e[1] + e[0]; }),
              tile_of(part), v);
    };
    const auto alone = [&] { k.store(own, tile_of(part), v); };
    if (chance(random, 2))
      k.if_less(Sym(0), part, add, alone);
    else
      k.if_less(part, Sym(1), alone, add);
    k.signal("turn");
  } else {
    k.store(k.map({in, factor()}, [&](const auto& e) { return tree.of(e, &random); }), tile_of(part), v);
    k.await("turn", part);
    k.signal("turn");
    const Fragment acc = k.zeros(Element::f32, line, {1, wide});
    k.loop(min(n, part + Sym(1)), 1, {.distance = one_of(random, {0, 1}), .ring = 1}, [&](Sym t) {
      k.update(acc, {k.fold(Monoid::sum, k.load(tile_of(t), line, v), 0)},
               [](const auto& e) { return e[0] + e[1]; });
    });
    k.store(k.map({acc, factor()}, [&](const auto& e) { return after.of(e, &random); }),
            k.tile(*y, {1, 1, wide}, {head, part, w}).keep({1, 2}), v);
  }
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) {
    sizes.push_back({around(random, wide, v, 3),
                     1 + static_cast<std::int64_t>(random() % (4U * static_cast<unsigned>(high)))});
    if (heads) sizes.back().push_back(1 + static_cast<std::int64_t>(random() % 3));
  }
  return {std::move(k), sizes, Scheduler::plain};
}

// Tables of i64 for a third of the programs; the others are drawn as ever.
Element index_type(Random random) { return random() % 3 == 0 ? Element::i64 : Element::i32; }

// Elements of 8, 16 and 32 bits from one type to another, with numbers that nothing rounds on the way: rows as they lie or named
// by a table, through LDS or not, to other work-items or not.
Drawn elements(Random& random) {
  const Target& target = Target::named(chance(random, 2) ? "gfx942" : "gfx950");
  const auto type = [&] {
    return std::vector{
        Element::f16, Element::bf16, Element::f32, Element::i8, fp8(target), bf8(target)}[random() % 6];
  };
  const Element ex = type(), ey = type();
  const int threads = one_of(random, {64, 128, 256}), rows = one_of(random, {4, 8, 16, 32}),
            columns = one_of(random, {32, 64, 128}),
            v = std::min(one_of(random, {1, 2, 4, 8, 16}), 128 / std::max(bits(ex), bits(ey))),
            multiple = std::max(v, one_of(random, {1, 4}));
  Program k("elements", target, threads);
  const Sym M = k.size("m", {.most = 1 << 12}), N = k.size("n", {.most = 1 << 12, .multiple = multiple});
  const bool named = chance(random, 2), bias = chance(random, 2);
  const Sym T = named ? k.size("tokens", {.most = 1 << 12}) : M;
  const Tensor Y = k.output("y", ey, {M, N}), X = k.input("x", ex, {T, N}),
               ids = named ? k.input("ids", index_type(random), {M}) : X,
               Z = bias ? k.input("z", type(), {Sym(1), N}) : X;
  const Tree tree = Tree::of_all(random, 1 + bias, 2, true);
  k.computes(Y, [&](const auto& c) {
    std::vector<Expr> of = {named ? k(X, {k.at(ids, c[0]), c[1]}) : k(X, {c[0], c[1]})};
    if (bias) of.push_back(k(Z, {0, c[1]}));
    return tree.of(of, nullptr);
  });
  const bool swapped = chance(random, 2);
  const Sym bn = k.workgroups(swapped ? 1 : 0, N, columns), bm = k.workgroups(swapped ? 0 : 1, M, rows);
  const Layout tv = rows_tv(rows, columns, v, threads);
  View from = k.tile(X, {rows, columns}, {named ? Sym(0) : bm, bn});
  if (named) from = from.through(0, k.load(k.tile(ids, {rows}, {bm}), without_axis(tv, 1), 1));
  Layout now = tv;
  int w = v;
  Fragment x;
  if (chance(random, 2)) { // through LDS, to other work-items
    const Tensor stage =
        k.lds("stage", ex, {rows, columns}, Swizzle(), one_of(random, {0, 1, 2}) * 128 / bits(ex));
    k.copy(from, stage, tv, v);
    w = std::min(one_of(random, {1, 2, 4, 8}), 128 / std::max(bits(ex), bits(ey)));
    now = some_tv(random, rows, columns, w, threads);
    x = k.read(stage, now, w);
  } else {
    x = k.load(from, tv, v);
  }
  std::vector<Fragment> all = {x};
  if (bias) all.push_back(k.load(k.tile(Z, {1, columns}, {0, bn}), without_axis(now, 0), 1));
  const bool early = chance(random, 2); // rounded by the map
  Fragment y = k.map(
      all, [&](const auto& e) { return tree.of(e, &random); }, early ? ey : Element::f32);
  int out = chance(random, 2) ? w : 1;
  if (!early || chance(random, 3)) {
    const int u = std::min(one_of(random, {1, 2, 4, 8}), 128 / bits(ey));
    const Layout to = chance(random, 2)   ? in_other_lanes(random, now, rows, columns)
                      : chance(random, 2) ? rows_tv(rows, columns, u, threads)
                                          : now;
    y = k.relayout(y, to, ey);
    out = 1;
  }
  k.store(y, k.tile(Y, {rows, columns}, {bm, bn}), out);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) {
    sizes.push_back({around(random, rows, 1, 2), around(random, columns, multiple, 2)});
    if (named) sizes.back().push_back(1 + static_cast<std::int64_t>(random() % 20));
  }
  return {std::move(k), sizes};
}

// Groups of waves that do different things: one loads what others compute with, once or trip by trip; two of them load, or store.
Drawn roles(Random& random) {
  const Target& target = Target::named(chance(random, 2) ? "gfx942" : "gfx950");
  const int waves = one_of(random, {1, 2}), kind = one_of(random, {0, 1, 2}), v = one_of(random, {1, 2, 4}),
            second = waves == 2 && chance(random, 2), // two roles of one wave beside one of two
      threads = 128 * waves, own = 64 * waves;
  const Pipeline pipeline{static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 3)};
  // What `a` and `b` do stands in roles of their own, or in one.
  const auto pair = [&](std::vector<Program::Role>& to, const char* name,
                        const std::function<void(int)>& part) {
    if (second)
      for (int n = 0; n < 2; ++n) to.push_back({name, 1, [&part, n] { part(n); }});
    else
      to.push_back({name, waves, [&part] { part(-1); }});
  };
  if (kind == 2) { // a product whose operands others bring
    const int rows = 16, deep = 16, tile_m = rows * waves * one_of(random, {1, 2}),
              tile_n = rows * one_of(random, {1, 2}), tile_k = one_of(random, {32, 64}),
              w = one_of(random, {4, 8});
    const MmaTiling mma =
        MmaTiling::of(Atom::mma_of(target, Element::f16, Element::f16, Element::f32, rows, deep), waves, 1,
                      tile_m, tile_n, tile_k, w);
    Program k("roles", target, threads);
    const Sym M = k.size("m", {.most = 1 << 20}), N = k.size("n", {.most = 1 << 20}),
              K = k.size("k", {.most = 1 << 20, .multiple = w});
    const Tensor C = k.output("c", Element::f32, {M, N}), A = k.input("a", Element::f16, {M, K}),
                 B = k.input("b", Element::f16, {N, K});
    k.computes(C, [&](const auto& c) {
      return k.sum(K, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); });
    });
    const Sym bn = k.workgroups(0, N, tile_n), bm = k.workgroups(1, M, tile_m);
    const Tensor a = k.lds("lds_a", Element::f16, {tile_m, tile_k}, Swizzle(), one_of(random, {0, 8})),
                 b = k.lds("lds_b", Element::f16, {tile_n, tile_k}, Swizzle(), one_of(random, {0, 8}));
    Fragment acc;
    const auto consumers = [&](const std::function<void()>& body) {
      k.roles({{"producer", waves, {}}, {"consumer", waves, body}});
    };
    consumers([&] { acc = k.zeros(Element::f32, mma.c(), {tile_m, tile_n}); });
    k.loop(K, tile_k, pipeline, [&](Sym t) {
      std::vector<Program::Role> all;
      const std::function<void(int)> load = [&](int part) {
        const int by = second ? 64 : own;
        if (part != 1) k.copy(k.tile(A, {tile_m, tile_k}, {bm, t}), a, rows_tv(tile_m, tile_k, w, by), w);
        if (part != 0) k.copy(k.tile(B, {tile_n, tile_k}, {bn, t}), b, rows_tv(tile_n, tile_k, w, by), w);
      };
      pair(all, "producer", load);
      all.push_back({"consumer", waves, [&] {
                       const Fragment of_a = k.read(a, mma.a(), w), of_b = k.read(b, mma.b(), w);
                       k.mma(acc, of_a, of_b, mma);
                     }});
      k.roles(all);
    });
    consumers([&] { k.store(acc, k.tile(C, {tile_m, tile_n}, {bm, bn}), 1); });
    std::vector<Sizes> sizes;
    for (int i = 0; i < 3; ++i)
      sizes.push_back(
          {around(random, tile_m, 1, 2), around(random, tile_n, 1, 2), around(random, tile_k, w, 5)});
    return {std::move(k), sizes};
  }
  const int rows = one_of(random, {4, 8}), columns = one_of(random, {32, 64});
  Program k("roles", target, threads);
  const Sym M = k.size("m", {.most = 1 << 20}), N = k.size("n", {.most = 1 << 20, .multiple = v});
  const Tensor X = k.input("x", Element::f32, {M, N}), x = k.lds("stage", Element::f32, {rows, columns});
  const Layout tv = some_tv(random, rows, columns, v, own);
  if (kind == 1) { // sums of rows: where a row is one wave's
    const Tensor Y = k.output("y", Element::f32, {M, Sym(1)});
    k.computes(Y, [&](const auto& c) { return k.sum(N, [&](Sym i) { return k(X, {c[0], i}) * 2.0; }); });
    const Sym bm = k.workgroups(0, M, rows);
    const Layout by_rows = rows_tv(rows, columns, std::max(1, columns * rows / own), own);
    Fragment acc;
    const auto consumers = [&](const std::function<void()>& body) {
      k.roles({{"producer", waves, {}}, {"consumer", waves, body}});
    };
    consumers([&] { acc = k.zeros(Element::f32, without_axis(by_rows, 1), {rows, 1}); });
    k.loop(N, columns, pipeline, [&](Sym t) {
      const bool doubled = chance(random, 2); // who doubles
      k.roles({{"producer", waves,
                [&] {
                  const View from = k.tile(X, {rows, columns}, {bm, t});
                  if (doubled)
                    k.store(k.map({k.load(from, tv, v)}, [](const auto& e) { return e[0] * 2.0; }),
                            k.whole(x), v);
                  else
                    k.copy(from, x, tv, v);
                }},
               {"consumer", waves, [&] {
                  Fragment f = k.read(x, by_rows, 1);
                  if (!doubled) f = k.map({f}, [](const auto& e) { return e[0] + e[0]; });
                  k.update(acc, {k.fold(Monoid::sum, f, 1)}, [](const auto& e) { return e[0] + e[1]; });
                }}});
    });
    consumers([&] { k.store(acc, k.tile(Y, {rows, 1}, {bm, 0}), 1); });
    std::vector<Sizes> sizes;
    for (int i = 0; i < 3; ++i) sizes.push_back({around(random, rows, 1, 2), around(random, columns, v, 5)});
    return {std::move(k), sizes};
  }
  // A tile that one role loads and others store, in halves; with a way back through LDS or not.
  const Tensor Y = k.output("y", Element::f32, {M, N});
  const Tree tree = Tree::of_all(random, 1, 3);
  k.computes(Y, [&](const auto& c) { return tree.of({k(X, {c[0], c[1]})}, nullptr); });
  const Sym bn = k.workgroups(0, N, columns), bm = k.workgroups(1, M, rows);
  const Tensor back = k.lds("back", Element::f32, {rows, columns});
  const bool returns = chance(random, 2);
  const int half = rows / 2;
  const auto load = [&] { k.copy(k.tile(X, {rows, columns}, {bm, bn}), x, tv, v); };
  const std::function<void(int)> compute = [&](int part) {
    const int tall = part < 0 ? rows : half, by = part < 0 ? own : 64;
    const Layout mine = rows_tv(tall, columns, 1, by);
    const Sym at = Sym(part == 1 ? 1 : 0);
    const Fragment f = k.map({k.load(k.tile(x, {tall, columns}, {at, 0}), mine, 1)},
                             [&](const auto& e) { return tree.of(e, &random); });
    if (returns)
      k.store(f, k.tile(back, {tall, columns}, {at, 0}), 1);
    else
      k.store(f, k.tile(Y, {tall, columns}, {part < 0 ? bm : Sym(2) * bm + at, bn}), 1);
  };
  std::vector<Program::Role> all;
  all.push_back({"loader", waves, load});
  pair(all, "other", compute);
  k.roles(all);
  if (returns)
    k.roles({{"storer", waves,
              [&] {
                k.store(k.read(back, tv, v), k.tile(Y, {rows, columns}, {bm, bn}), chance(random, 2) ? v : 1);
              }},
             {"other", waves, {}}});
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, rows, 1, 2), around(random, columns, v, 2)});
  return {std::move(k), sizes};
}

// Rows that a table names, their numbers loaded in the trip that gathers them; summed in each trip, or lane by lane.
Drawn gathers(Random& random) {
  const int threads = one_of(random, {64, 128}), v = one_of(random, {1, 2, 4}),
            rows = one_of(random, {2, 4, 8}), columns = threads * v / one_of(random, {1, 2});
  Program k("gathers", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym T = k.size("t", {.most = 1 << 12, .multiple = one_of(random, {1, 1, rows})}),
            V = k.size("v", {.most = 1 << 10}), D = k.size("d", {.most = 1 << 10, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {Sym(1), D}), W = k.input("w", Element::f32, {V, D}),
               I = k.input("ids", index_type(random), {T});
  const Tree tree = Tree::of_all(random, 1, 2);
  k.computes(Y, [&](const auto& c) {
    return k.sum(T, [&](Sym p) { return tree.of({k(W, {k.at(I, p), c[1]})}, nullptr); });
  });
  const Sym w = k.workgroups(0, D, columns);
  const Layout tv = rows_tv(rows, columns, v, threads);
  const bool lanes = chance(random, 2);
  const Layout of = lanes ? tv : without_axis(tv, 0);
  const Fragment acc = k.zeros(Element::f32, of, {lanes ? rows : 1, columns});
  k.loop(T, rows, {static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 3)}, [&](Sym t) {
    const Fragment ids = k.load(k.tile(I, {rows}, {t}), without_axis(tv, 1), 1);
    const Fragment x = k.load(k.tile(W, {rows, columns}, {0, w}).through(0, ids), tv, v);
    const Fragment y =
        k.fill(k.map({x}, [&](const auto& e) { return tree.of(e, &random); }), 0, Sym(rows) * t, T, 0);
    k.update(acc, {lanes ? y : k.fold(Monoid::sum, y, 0)}, [](const auto& e) { return e[0] + e[1]; });
  });
  k.store(lanes ? k.fold(Monoid::sum, acc, 0) : acc, k.tile(Y, {1, columns}, {0, w}),
          chance(random, 2) ? v : 1);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, static_cast<int>(k.sizes()[0].facts.multiple), 5),
                     1 + static_cast<std::int64_t>(random() % 9), around(random, columns, v, 2)});
  return {std::move(k), sizes};
}

// Sums up to each element of a row, tile by tile: one tile, or a loop that carries the sum of those before.
Drawn scans(Random& random) {
  const int threads = one_of(random, {64, 128, 192, 256}), v = one_of(random, {1, 2, 4}),
            rows = one_of(random, {1, 1, 1, 2, 4}), runs = one_of(random, {1, 1, 2}),
            wide = std::max(v, threads * v / rows * runs);
  const bool words = chance(random, 4), loops = !chance(random, 3);
  const Element e = words ? Element::i32 : Element::f32;
  Program k("scans", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 14}),
            N = k.size("n", {.most = loops ? 1 << 18 : wide, .multiple = v});
  const Tensor Y = k.output("y", e, {M, N}), X = k.input("x", e, {M, N});
  const Tree inner = Tree::of_all(random, 1, 2);
  const bool plain = words || chance(random, 2);
  const auto of = [&](Expr x, Random* any) { return words ? integer(x) : plain ? x : inner.of({x}, any); };
  k.computes(Y, [&](const auto& c) {
    return k.sum(N, Sym(0), c[1] + Sym(1), [&](Sym i) { return of(k(X, {c[0], i}), nullptr); });
  });
  const Sym bm = k.workgroups(0, M, rows);
  const Layout tv = rows_tv(rows, wide, v, threads);
  const auto add = [&](const auto& f) { return words ? integer(f[0]) + integer(f[1]) : f[0] + f[1]; };
  const auto tile = [&](const Tensor& t, Sym at) { return k.tile(t, {rows, wide}, {bm, at}); };
  const auto scan = [&](Sym at) {
    Fragment x = k.load(tile(X, at), tv, v);
    if (!plain)
      x = k.fill(k.map({x}, [&](const auto& f) { return inner.of(f, &random); }), 1, Sym(wide) * at, N, 0);
    return k.scan(Monoid::sum, x, 1, e);
  };
  // The sums may take another way to where they are stored, and single elements of a work-item may stand apart there.
  const Layout other = rows_tv(rows, wide, one_of(random, {1, v}), threads);
  const int way = one_of(random, {0, 0, 0, 1, 2});
  const auto store = [&](Fragment up_to, Sym at) {
    if (way == 1) up_to = k.relayout(up_to, other, e);
    k.store(up_to, tile(Y, at), way == 0 && chance(random, 2) ? v : 1);
  };
  if (loops) {
    const Fragment before = k.zeros(e, without_axis(tv, 1), {rows, 1});
    const bool first = chance(random, 2);
    k.loop(N, wide, {static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 3)}, [&](Sym t) {
      Program::Scan s = scan(t);
      if (way == 2) s.prefix = k.relayout(s.prefix, other, e);
      const Fragment up_to = first ? k.map({before, s.prefix}, add, e) : k.map({s.prefix, before}, add, e);
      store(up_to, t);
      k.update(before, {s.all}, add);
    });
  } else {
    store(scan(Sym(0)).prefix, Sym(0));
  }
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, 1, 2),
                     std::min<std::int64_t>(around(random, wide, v, 4), loops ? 1 << 18 : wide)});
  sizes.push_back({rows, wide});
  return {std::move(k), sizes};
}

// A sum, or a max or min, of which each work-item has the elements of its columns, one or two of them a trip.
Drawn lanes(Random& random) {
  const int threads = one_of(random, {64, 128, 256}), v = one_of(random, {1, 2, 4}),
            rows = one_of(random, {1, 2, 4}), wide = std::max(v, threads * v / rows * one_of(random, {1, 2})),
            parts = one_of(random, {1, 1, 2});
  Program k("lanes", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 14}),
            N = k.size("n", {.least = one_of(random, {1, 1, 3 * wide}), .most = 1 << 18, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), A = k.input("a", Element::f32, {M, N}),
               X = k.input("x", Element::f32, {Sym(1), N});
  const Tree inner = Tree::of_all(random, 2, 2), outer = Tree::of_all(random, 1, 2);
  const Monoid monoid = chance(random, 3) ? (chance(random, 2) ? Monoid::max : Monoid::min) : Monoid::sum;
  k.computes(Y, [&](const auto& c) {
    return outer.of({k.fold(monoid, N,
                            [&](Sym i) {
                              return inner.of({k(A, {c[0], i}), k(X, {0, i})}, nullptr);
                            })},
                    nullptr);
  });
  const Sym bm = k.workgroups(0, M, rows);
  const Layout tv = rows_tv(rows, wide, v, threads);
  const double nothing = empty_element(monoid);
  const Fragment acc = k.full(nothing, tv, {rows, wide});
  k.loop(N, wide * parts, {static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 3)}, [&](Sym t) {
    for (int part = 0; part < parts; ++part) {
      const Sym at = Sym(parts) * t + Sym(part);
      const Fragment a = k.load(k.tile(A, {rows, wide}, {bm, at}), tv, v),
                     x = k.load(k.tile(X, {1, wide}, {0, at}), without_axis(tv, 0), v);
      const Fragment y = k.fill(k.map({a, x}, [&](const auto& e) { return inner.of(e, &random); }), 1,
                                Sym(wide) * at, N, nothing);
      k.update(acc, {y}, [&](const auto& e) {
        return monoid == Monoid::sum   ? e[0] + e[1]
               : monoid == Monoid::max ? max(e[0], e[1])
                                       : min(e[1], e[0]);
      });
    }
  });
  k.store(k.map({k.fold(monoid, acc, 1)}, [&](const auto& e) { return outer.of(e, &random); }),
          k.tile(Y, {rows, 1}, {bm, 0}), 1);
  const auto least = k.sizes()[1].facts.least;
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, 1, 2), std::max(least, around(random, wide, v, 5))});
  for (const int tiles : {1, 2}) sizes.push_back({rows, std::max<std::int64_t>(least, tiles * wide)});
  return {std::move(k), sizes};
}

// Folds of columns, of which lanes hold several and which go on in other waves: of a tile, in a loop, or behind one; through LDS in two loops
// one after the other; loads with a cache policy.
Drawn columns(Random& random) {
  const int threads = one_of(random, {128, 256}), v = one_of(random, {1, 2, 4}),
            high = one_of(random, {16, 32, 64}),
            wide = std::max(16, threads * v / high * one_of(random, {1, 2})),
            kind = one_of(random, {0, 1, 2});
  Program k("columns", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = kind == 0 ? high : 1 << 12}),
            N = k.size("n", {.most = 1 << 12, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {Sym(1), N}), X = k.input("x", Element::f32, {M, N}),
               Z = k.input("z", Element::f32, {Sym(1), N});
  const Monoid monoid = kind == 2 || chance(random, 2) ? Monoid::sum : Monoid::max;
  const bool twice = kind == 1 && chance(random, 2); // the greatest of each column first
  const Tree inner = Tree::of_all(random, twice ? 2 : 1, 2), outer = Tree::of_all(random, 2, 2);
  k.computes(Y, [&](const auto& c) {
    const auto x = [&](Sym i) { return k(X, {i, c[1]}); };
    const Expr most = twice ? k.fold(Monoid::max, M, x) : k.constant(0);
    const auto of = [&](Sym i) {
      return inner.of(twice ? std::vector{x(i), most} : std::vector{x(i)}, nullptr);
    };
    return outer.of({k.fold(monoid, M, of), k(Z, {0, c[1]})}, nullptr);
  });
  const Sym b = k.workgroups(0, N, wide);
  const Layout tv = rows_tv(high, wide, v, threads), row = without_axis(tv, 0);
  const bool lds = chance(random, 2), policy = chance(random, 2);
  const Tensor stage = lds ? k.lds("stage", Element::f32, {high, wide}) : X;
  const auto part = [&](Sym t) {
    const View from = k.tile(X, {high, wide}, {t, b}).cached(policy ? "nt" : "");
    if (!lds) return k.load(from, tv, v);
    k.copy(from, stage, tv, v);
    return k.read(stage, tv, v);
  };
  const auto fill = [&](const Fragment& f, Sym t, Monoid m) {
    return k.fill(f, 0, Sym(high) * t, M, empty_element(m));
  };
  const auto join = [](Monoid m) {
    return
        [m](const std::vector<Expr>& e) { return m == Monoid::sum ? e[0] + e[1] : codegen::max(e[0], e[1]); };
  };
  const auto pipeline = [&] {
    return Pipeline{static_cast<int>(random() % 3), 1 + static_cast<int>(random() % 3)};
  };
  std::vector<Fragment> most;
  if (twice) {
    most.push_back(k.full(empty_element(Monoid::max), row, {1, wide}));
    k.loop(M, high, pipeline(), [&](Sym t) {
      k.update(most[0], {k.fold(Monoid::max, fill(part(t), t, Monoid::max), 0)}, join(Monoid::max));
    });
  }
  const auto mapped = [&](Sym t) {
    std::vector<Fragment> all = {part(t)};
    all.insert(all.end(), most.begin(), most.end());
    return fill(k.map(all, [&](const auto& e) { return inner.of(e, &random); }), t, monoid);
  };
  Fragment folded;
  if (kind == 0) {
    folded = k.fold(monoid, mapped(Sym(0)), 0);
  } else {
    folded =
        kind == 1 ? k.full(empty_element(monoid), row, {1, wide}) : k.zeros(Element::f32, tv, {high, wide});
    k.loop(M, high, pipeline(), [&](Sym t) {
      const Fragment f = mapped(t);
      k.update(folded, {kind == 1 ? k.fold(monoid, f, 0) : f}, join(monoid));
    });
    if (kind == 2) folded = k.fold(monoid, folded, 0);
  }
  k.store(k.map({folded, k.load(k.tile(Z, {1, wide}, {0, b}), row, v)},
                [&](const auto& e) { return outer.of(e, &random); }),
          k.tile(Y, {1, wide}, {0, b}), v);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, high, 1, kind == 0 ? 1 : 4), around(random, wide, v, 2)});
  return {std::move(k), sizes};
}

// A loop around a loop: rows of one workgroup, tile by tile; a sum over layers, which the outer loop carries; a row of tiles of products.
Drawn nested(Random& random) {
  const Pipeline outer{.distance = 0, .ring = 1},
      pipeline{static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 3)};
  const bool lds = chance(random, 2);
  const Target& target = Target::named(chance(random, 2) ? "gfx942" : "gfx950");
  std::vector<Sizes> sizes;
  if (chance(random, 3)) {
    const int waves_n = one_of(random, {1, 2}), tile_n = 16 * waves_n, v = 4, tile_k = 32;
    const MmaTiling mma =
        MmaTiling::of(Atom::mma_of(target, Element::f16, Element::f16, Element::f32, 16, 16), 1, waves_n, 16,
                      tile_n, tile_k, v);
    Program k("nested", target, mma.threads());
    const Sym M = k.size("m", {.most = 1 << 20}), N = k.size("n", {.most = 1 << 20}),
              K = k.size("k", {.most = 1 << 20, .multiple = v});
    const Tensor C = k.output("c", Element::f32, {M, N}), A = k.input("a", Element::f16, {M, K}),
                 B = k.input("b", Element::f16, {N, K}),
                 stage = k.lds("stage", Element::f16, {tile_n, tile_k}, Swizzle(), one_of(random, {0, 8}));
    const Tree tree = Tree::of_all(random, 1, 2);
    k.computes(C, [&](const auto& c) {
      return tree.of({k.sum(K, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); })}, nullptr);
    });
    const Sym bm = k.workgroups(0, M, 16);
    k.loop(N, tile_n, outer, [&](Sym bn) {
      const Fragment acc = k.zeros(Element::f32, mma.c(), {16, tile_n});
      k.loop(K, tile_k, pipeline, [&](Sym t) {
        const View from = k.tile(B, {tile_n, tile_k}, {bn, t});
        if (lds) k.copy(from, stage, rows_tv(tile_n, tile_k, v, mma.threads()), v);
        const Fragment a = k.load(k.tile(A, {16, tile_k}, {bm, t}), mma.a(), v);
        k.mma(acc, a, lds ? k.read(stage, mma.b(), v) : k.load(from, mma.b(), v), mma);
      });
      k.store(k.map({acc}, [&](const auto& e) { return tree.of(e, &random); }),
              k.tile(C, {16, tile_n}, {bm, bn}), 1);
    });
    for (int i = 0; i < 3; ++i)
      sizes.push_back({around(random, 16, 1, 2), around(random, tile_n, 1, 4), around(random, tile_k, v, 4)});
    return {std::move(k), sizes, chance(random, 2) ? Scheduler::modulo : Scheduler::plain};
  }
  const int threads = one_of(random, {64, 128}), rows = one_of(random, {4, 8}), v = one_of(random, {1, 2}),
            tile = one_of(random, {16, 32});
  const bool layers = chance(random, 2);
  Program k("nested", target, threads);
  const Sym R = k.size("r", {.most = 1 << 8}), M = k.size("m", {.most = 1 << 12}),
            K = k.size("k", {.most = 1 << 12, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {R, M, K}),
               stage = k.lds("stage", Element::f32, {rows, tile}, Swizzle(), one_of(random, {0, 4}));
  const Monoid m = std::vector{Monoid::sum, Monoid::max, Monoid::min}[random() % 3];
  const Tree inner = Tree::of_all(random, 1, 2), tree = Tree::of_all(random, 1, 2);
  k.computes(Y, [&](const auto& c) {
    const auto row = [&](Sym r) {
      return tree.of({k.fold(m, K, [&](Sym i) { return inner.of({k(X, {r, c[0], i})}, nullptr); })}, nullptr);
    };
    return layers ? k.sum(R, row) : row(Sym(0));
  });
  const Layout tv = rows_tv(rows, tile, v, threads), row = without_axis(tv, 1);
  const auto of_row = [&](Sym r, Sym bm) {
    const Fragment acc = k.full(empty_element(m), row, {rows, 1});
    k.loop(K, tile, pipeline, [&](Sym t) {
      const View from = k.tile(X, {1, rows, tile}, {r, bm, t}).keep({1, 2});
      if (lds) k.copy(from, stage, tv, v);
      const Fragment x = lds ? k.read(stage, tv, v) : k.load(from, tv, v);
      const Fragment y = k.fill(k.map({x}, [&](const auto& e) { return inner.of(e, &random); }), 1,
                                t * Sym(tile), K, empty_element(m));
      k.update(acc, {k.fold(m, y, 1)}, [&](const auto& e) {
        const Expr a = e[0], b = e[1];
        return m == Monoid::sum ? a + b : m == Monoid::max ? codegen::max(a, b) : codegen::min(a, b);
      });
    });
    return k.map({acc}, [&](const auto& e) { return tree.of(e, &random); });
  };
  if (layers) {
    const Sym bm = k.workgroups(0, M, rows);
    const Fragment sum = k.zeros(Element::f32, row, {rows, 1});
    k.loop(R, 1, outer,
           [&](Sym r) { k.update(sum, {of_row(r, bm)}, [](const auto& e) { return e[0] + e[1]; }); });
    k.store(sum, k.tile(Y, {rows, 1}, {bm, 0}), 1);
  } else {
    (void)k.workgroups(0, 1, 1);
    k.loop(M, rows, outer, [&](Sym bm) { k.store(of_row(Sym(0), bm), k.tile(Y, {rows, 1}, {bm, 0}), 1); });
  }
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, 1, 1, 3), around(random, rows, 1, 3), around(random, tile, v, 4)});
  return {std::move(k), sizes};
}

// Workgroups that walk over tiles, each of which reads rows that a table names or its own; with checks that hold.
Drawn persistent(Random& random) {
  const int threads = one_of(random, {64, 128, 256}), rows = one_of(random, {1, 4, 8}),
            columns = one_of(random, {32, 64}), v = one_of(random, {1, 2, 4});
  Program k("persistent", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 12, .multiple = rows}),
            N = k.size("n", {.most = 1 << 12, .multiple = v});
  const bool folded = chance(random, 2), checked = chance(random, 2), lds = chance(random, 2),
             table = chance(random, 2);
  const Sym E = table ? k.size("e", {.most = 1 << 8}) : Sym(1), width = folded ? Sym(1) : N;
  const Tensor Y = k.output("y", Element::f32, {M, width}), X = k.input("x", Element::f32, {M, N}),
               B = k.input("b", Element::f32, {E, N});
  const Tensor of = table ? k.input("of", Element::i32, {floor_div(M, Int(rows))}) : Tensor{};
  const Monoid m = chance(random, 2) ? Monoid::sum : Monoid::max;
  const Tree tree = Tree::of_all(random, 2, 2);
  k.computes(Y, [&](const auto& c) {
    const Index e = table ? k.at(of, floor_div(c[0], Int(rows))) : Index(Sym(0));
    const auto at = [&](Sym j) { return tree.of({k(X, {c[0], j}), k(B, {e, j})}, nullptr); };
    return folded ? k.fold(m, N, at) : at(c[1]);
  });
  const Sym bm = k.workgroups(1, M, rows), bn = folded ? Sym(0) : k.workgroups(0, N, columns);
  if (folded) (void)k.workgroups(0, 1, 1);
  k.persistent(one_of(random, {1, 2, 3, 5}));
  const Sym e = table ? k.uniform(of, bm) : Sym(0);
  const Layout tv = rows_tv(rows, columns, v, threads), row = without_axis(tv, 1);
  const Tensor stage =
      lds ? k.lds("stage", Element::f32, {rows, columns}, Swizzle(), one_of(random, {0, 4})) : Tensor{};
  const auto tile = [&](Sym t) {
    const View from = k.tile(X, {rows, columns}, {bm, t});
    if (lds) k.copy(from, stage, tv, v);
    const Fragment x = lds ? k.read(stage, tv, v) : k.load(from, tv, v);
    const Fragment b = k.load(k.tile(B, {1, columns}, {e, t}), without_axis(tv, 0), 1);
    if (checked)
      k.check(
          {x},
          [&](const auto& of_x) {
            return select(of_x[0], k.constant(1 << 20), k.constant(0), k.constant(1));
          },
          "small");
    return k.map({x, b}, [&](const auto& of_both) { return tree.of(of_both, &random); });
  };
  if (folded) {
    const Fragment acc = k.full(empty_element(m), row, {rows, 1});
    k.loop(N, columns, {static_cast<int>(random() % 3), 1 + static_cast<int>(random() % 3)}, [&](Sym t) {
      const Fragment inside = k.fill(tile(t), 1, t * Sym(columns), N, empty_element(m));
      k.update(acc, {k.fold(m, inside, 1)}, [&](const auto& of_both) {
        return m == Monoid::sum ? of_both[0] + of_both[1] : codegen::max(of_both[0], of_both[1]);
      });
    });
    k.store(acc, k.tile(Y, {rows, 1}, {bm, 0}), 1);
  } else {
    k.store(tile(bn), k.tile(Y, {rows, columns}, {bm, bn}), v);
  }
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) {
    sizes.push_back({around(random, rows, rows, 3), around(random, columns, v, 3)});
    if (table) sizes.back().push_back(1 + static_cast<int>(random() % 4));
  }
  return {std::move(k), sizes, chance(random, 2) ? Scheduler::modulo : Scheduler::plain};
}

// A fold of as many elements of a row as a table says, which may be none, or more than there are.
Drawn bounded(Random& random) {
  const int threads = one_of(random, {64, 128}), v = one_of(random, {1, 4}), wide = threads * v;
  Program k("bounded", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 14}), N = k.size("n", {.most = 1 << 18, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {M, N}),
               L = k.input("len", index_type(random), {1});
  const Tree inner = Tree::of_all(random, 1, 2);
  const Sym len = k.uniform(L, 0);
  k.computes(Y, [&](const auto& c) {
    return k.sum(N, [&](Sym i) { return inside(i, len, inner.of({k(X, {c[0], i})}, nullptr), 0); });
  });
  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, wide, v, threads);
  const Layout one = without_axis(tv, 1);
  const View to = k.tile(Y, {1, 1}, {row, 0});
  k.if_less(
      Sym(0), len,
      [&] {
        const bool lanes = chance(random, 2);
        const Fragment acc = k.zeros(Element::f32, lanes ? tv : one, {1, lanes ? wide : 1});
        k.loop(min(N, len), wide, {static_cast<int>(random() % 3), 1 + static_cast<int>(random() % 2)},
               [&](Sym t) {
                 const Fragment x = k.load(k.tile(X, {1, wide}, {row, t}), tv, v);
                 const Sym at = Sym(wide) * t + k.position(1);
                 const Fragment y = k.map({x}, [&](const auto& e) {
                   return inside(at, N, inside(at, len, inner.of(e, &random), 0), 0);
                 });
                 k.update(acc, {lanes ? y : k.fold(Monoid::sum, y, 1)},
                          [](const auto& e) { return e[0] + e[1]; });
               });
        k.store(lanes ? k.fold(Monoid::sum, acc, 1) : acc, to, 1);
      },
      [&] {
        k.store(k.zeros(Element::f32, one, {1, 1}), to, 1);
      });
  std::vector<Sizes> sizes;
  for (int i = 0; i < 4; ++i)
    sizes.push_back({1 + static_cast<std::int64_t>(random() % 700), around(random, wide, v, 3)});
  return {std::move(k), sizes};
}

// Rows from where a table says to where it says, summed in trips of one.
Drawn segments(Random& random) {
  const int threads = one_of(random, {64, 128}), v = one_of(random, {1, 2, 4}), wide = threads * v;
  Program k("segments", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 14}), N = k.size("n", {.most = 1 << 16}),
            D = k.size("d", {.most = 1 << 10, .multiple = v});
  const bool mean = chance(random, 3), far = chance(random, 4), apart = chance(random, 3);
  const Tensor Y = k.output("y", Element::f32, {M, D}), X = k.input("x", Element::f32, {N, D}),
               G = k.input("g", Element::f32, {Sym(1), D}), S = k.input("starts", Element::i32, {M + Sym(1)});
  if (far) k.far(X);
  const Tree inner = Tree::of_all(random, 2, 2), outer = Tree::of_all(random, 1, 1);
  k.computes(Y, [&](const auto& c) {
    const Expr sum = k.sum(N, k.value(S, c[0]), k.value(S, c[0] + Sym(1)), [&](Sym i) {
      return inner.of({k(X, {i, c[1]}), k(G, {0, c[1]})}, nullptr);
    });
    return mean ? outer.of({sum}, nullptr) : sum;
  });
  const Sym s = k.workgroups(0, M, 1), part = k.workgroups(1, D, wide), first = k.uniform(S, s),
            last = k.uniform(S, s + Sym(1));
  const Layout tv = rows_tv(1, wide, v, threads), row = without_axis(tv, 0);
  const View to = k.tile(Y, {1, wide}, {s, part});
  const auto put = [&](const Fragment& f) {
    k.store(mean ? k.map({f}, [&](const auto& e) { return outer.of(e, &random); }) : f, to, v);
  };
  const Fragment g = k.load(k.tile(G, {1, wide}, {0, part}), row, v);
  const auto none = [&] { put(k.zeros(Element::f32, row, {1, wide})); };
  const auto some = [&] {
    const Fragment acc = k.zeros(Element::f32, row, {1, wide});
    k.loop(first, min(N, last), 1, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment x = k.load(k.tile(X, {1, wide}, {t, part}), tv, v),
                     y = k.map({x, g}, [&](const auto&e) { return inner.of(e, &random); });
      k.update(acc, {y}, [](const auto& e) { return e[0] + e[1]; });
    });
    put(acc);
  };
  if (apart)
    k.if_less(
        first, last, [&] { k.if_less(first, N, some, none); }, none);
  else
    k.if_less(first, min(N, last), some, none);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({1 + static_cast<std::int64_t>(random() % 9),
                     1 + static_cast<std::int64_t>(random() % 12), around(random, wide, v, 2)});
  return {std::move(k), sizes};
}

// An element some places on, where there is one, and a number elsewhere.
Drawn shifted(Random& random) {
  const int threads = one_of(random, {64, 128}), v = one_of(random, {1, 2}), tile = threads * v,
            by = one_of(random, {1, 2, 3, 4});
  Program k("shifted", Target::named("gfx942"), threads);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor Y = k.output("y", Element::f32, {n}), X = k.input("x", Element::f32, {n});
  const Tree tree = Tree::of_all(random, 1, 2);
  const double beyond = one_of(random, {0, 0, 1});
  k.computes(Y, [&](const auto& c) {
    return inside(c[0] + Sym(by), n, tree.of({k(X, {c[0] + Sym(by)})}, nullptr), beyond);
  });
  const Sym w = k.workgroups(0, n, tile);
  View from = k.tile(X, {tile}, {w});
  from.origin[0] += Sym(by);
  const Fragment x = k.map({k.load(from, line_tv(tile, v, threads), 1)}, [&](const auto& e) {
    return inside(Sym(tile) * w + k.position(0) + Sym(by), n, tree.of(e, &random), beyond);
  });
  k.store(x, k.tile(Y, {tile}, {w}), v);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, tile, 4, 4)});
  return {std::move(k), sizes};
}

// Integers modulo 2^32 of operands and of the element's numbers, in one map or in two, through LDS or not.
Drawn integers(Random& random) {
  const int threads = one_of(random, {64, 128, 256}), rows = one_of(random, {1, 4, 8}),
            columns = one_of(random, {32, 64, 128}), words = one_of(random, {1, 2, 4}),
            multiple = std::max(words, one_of(random, {1, 4}));
  Program k("integers", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 12}), N = k.size("n", {.most = 1 << 12, .multiple = multiple});
  const Element type = index_type(random);
  const int v = type == Element::i64 ? std::min(words, 2) : words;
  const Tensor Y = k.output("y", type, {M, N}), X = k.input("x", type, {M, N}),
               Z = k.input("z", type, {Sym(1), N});
  const bool twice = chance(random, 2);
  const Words inner = Words::of_all(random, 2, 3), outer = Words::of_all(random, twice ? 2 : 1, 2);
  const auto number = [&](Sym row, Sym column) { return k.number(Sym(3) * row + column); };
  const auto after = [&](Expr first, Expr x, Expr n, Random* vary) {
    std::vector<Expr> of = {to_number(first)};
    if (twice) of.push_back(x);
    return outer.of(of, n, vary);
  };
  k.computes(Y, [&](const auto& c) {
    const Expr x = k(X, {c[0], c[1]}), n = number(c[0], c[1]);
    return after(inner.of({x, k(Z, {0, c[1]})}, n, nullptr), x, n, nullptr);
  });
  const bool swapped = chance(random, 2);
  const Sym bn = k.workgroups(swapped ? 1 : 0, N, columns), bm = k.workgroups(swapped ? 0 : 1, M, rows);
  Layout tv = some_tv(random, rows, columns, v, threads);
  const View from = k.tile(X, {rows, columns}, {bm, bn});
  Fragment x;
  int out = v;
  if (chance(random, 2) && type == Element::i32) {
    const Tensor stage = k.lds("stage", Element::i32, {rows, columns}, Swizzle(), one_of(random, {0, 4, 8}));
    k.copy(from, stage, tv, v);
    out = one_of(random, {1, 2, 4});
    tv = some_tv(random, rows, columns, out, threads);
    x = k.read(stage, tv, out);
  } else {
    x = k.load(from, tv, v);
  }
  const Fragment z = k.load(k.tile(Z, {1, columns}, {0, bn}), without_axis(tv, 0), 1);
  const Expr here = number(Sym(rows) * bm + k.position(0), Sym(columns) * bn + k.position(1));
  const Fragment first = k.map(
      {x, z}, [&](const auto& e) { return inner.of(e, here, &random); }, Element::i32);
  std::vector<Fragment> of = {first};
  if (twice) of.push_back(x);
  const Fragment y = k.map(
      of, [&](const auto& e) { return outer.of(e, here, &random); }, Element::i32);
  k.store(y, k.tile(Y, {rows, columns}, {bm, bn}), chance(random, 2) ? out : 1);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, 1, 2), around(random, columns, multiple, 2)});
  return {std::move(k), sizes};
}

// Rows of integers summed modulo 2^32: folds of a tile in each trip, lane by lane and folded behind the loop, or parts that are added to
// memory.
Drawn wraps(Random& random) {
  const int threads = one_of(random, {64, 128, 256}), v = one_of(random, {1, 2, 4}),
            rows = one_of(random, {1, 2, 4}), wide = std::max(v, threads * v / rows * one_of(random, {1, 2})),
            kind = one_of(random, {0, 1, 2});
  Program k("wraps", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 12}), N = k.size("n", {.most = 1 << 14, .multiple = v});
  const Tensor Y = k.output("y", Element::i32, {M, Sym(1)}), X = k.input("x", Element::i32, {M, N}),
               Z = k.input("z", Element::i32, {Sym(1), N});
  const Words inner = Words::of_all(random, 2, 2), outer = Words::of_all(random, 1, 2);
  // 0 where x is, as it is outside.
  const auto body = [&](const std::vector<Expr>& e, Random* vary) {
    const Expr x = integer(e[0]), y = inner.of(e, k.constant(5), vary);
    return vary && chance(*vary, 2) ? y * x : x * y;
  };
  k.computes(Y, [&](const auto& c) {
    const Expr sum = k.sum(N, [&](Sym i) { return body({k(X, {c[0], i}), k(Z, {0, i})}, nullptr); });
    return kind == 2 ? sum : outer.of({to_number(sum)}, k.constant(5), nullptr);
  });
  const Sym bm = k.workgroups(0, M, rows), bn = kind == 2 ? k.workgroups(1, N, wide) : Sym(0);
  const Layout tv = rows_tv(rows, wide, v, threads);
  const auto load = [&](Sym t) {
    return std::vector{k.load(k.tile(X, {rows, wide}, {bm, t}), tv, v),
                       k.load(k.tile(Z, {1, wide}, {0, t}), without_axis(tv, 0), v)};
  };
  const auto fold = [&](Sym t) {
    const Fragment y = k.map(
        load(t), [&](const auto& e) { return body(e, &random); }, Element::i32);
    return k.fold(Monoid::sum, y, 1, Element::i32);
  };
  const View to = k.tile(Y, {rows, 1}, {bm, 0});
  if (kind == 2) {
    k.add(fold(bn), to);
  } else {
    const bool lanes = kind == 1;
    const Fragment acc = k.zeros(Element::i32, lanes ? tv : without_axis(tv, 1), {rows, lanes ? wide : 1});
    k.loop(N, wide, {static_cast<int>(random() % 3), 1 + static_cast<int>(random() % 3)}, [&](Sym t) {
      if (lanes)
        k.update(acc, load(t), [&](const auto& e) { return integer(e[0]) + body({e[1], e[2]}, &random); });
      else
        k.update(acc, {fold(t)}, [](const auto& e) { return integer(e[0]) + integer(e[1]); });
    });
    const Fragment sum = lanes ? k.fold(Monoid::sum, acc, 1, Element::i32) : acc;
    k.store(k.map(
                {sum}, [&](const auto& e) { return outer.of(e, k.constant(5), &random); }, Element::i32),
            to, 1);
  }
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, rows, 1, 2), around(random, wide, v, 4)});
  return {std::move(k), sizes};
}

// Rows that a table names: they replace what was there, or are added to it; their numbers in registers, or the workgroup's own.
Drawn named_rows(Random& random) {
  const bool adds = chance(random, 2), by_workgroup = chance(random, 2);
  const int threads = one_of(random, {64, 128, 256}), v = adds ? 1 : one_of(random, {1, 2, 4}),
            rows = by_workgroup ? 1 : one_of(random, {4, 8, 16}), columns = one_of(random, {64, 128, 256});
  Program k("named", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym T = k.size("t", {.most = 1 << 12, .multiple = rows}), V = k.size("rows", {.most = 1 << 12}),
            N = k.size("n", {.most = 1 << 12, .multiple = v});
  const Tensor Y = adds ? k.output("y", Element::f32, {V, N}) : k.inout("y", Element::f32, {V, N}),
               X = k.input("x", Element::f32, {T, N}), Z = k.input("z", Element::f32, {T, Sym(1)}),
               ids = k.input("ids", index_type(random), {T});
  const Tree tree = Tree::of_all(random, 2, 2);
  const auto said = [&](const auto& c) { return tree.of({k(X, {c[0], c[1]}), k(Z, {c[0], 0})}, nullptr); };
  if (adds)
    k.scatters(Y, ids, said);
  else
    k.puts(Y, ids, said);
  const bool swapped = chance(random, 2);
  const Sym bn = k.workgroups(swapped ? 1 : 0, N, columns), bm = k.workgroups(swapped ? 0 : 1, T, rows);
  const Layout tv = rows_tv(rows, columns, v, threads), row = without_axis(tv, 1);
  const Fragment x = k.load(k.tile(X, {rows, columns}, {bm, bn}), tv, v),
                 z = k.load(k.tile(Z, {rows, 1}, {bm, 0}), row, 1),
                 y = k.map({x, z}, [&](const auto&e) { return tree.of(e, &random); });
  View to = k.tile(Y, {rows, columns}, {by_workgroup ? k.uniform(ids, bm) : Sym(0), bn});
  if (!by_workgroup) to = to.through(0, k.load(k.tile(ids, {rows}, {bm}), row, 1));
  if (adds)
    k.add(y, to);
  else
    k.store(y, to, v);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, rows, 3), 1 + static_cast<std::int64_t>(random() % 20),
                     around(random, columns, v, 2)});
  return {std::move(k), sizes};
}

// Elements that stand elsewhere in their input, with zeros around it: shifted, in steps, of one window or two.
Drawn windows(Random& random) {
  const int threads = one_of(random, {64, 128}), rows = one_of(random, {1, 4, 8}),
            columns = one_of(random, {32, 64}), count = one_of(random, {1, 2}),
            v = one_of(random, {1, 1, 2, 4});
  Program k("windows", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 10}), N = k.size("n", {.most = 1 << 10, .multiple = v}),
            H = k.size("h", {.most = 1 << 10}), W = k.size("w", {.most = 1 << 10, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {M, N}), X = k.input("x", Element::f32, {H, W});
  std::vector<Tensor> of;
  for (int i = 0; i < count; ++i) {
    const int down = one_of(random, {-2, -1, 0, 1, 3}), step = one_of(random, {1, 1, 2, 3}),
              across = v == 1 ? one_of(random, {-3, -1, 0, 1, 2}) : v * one_of(random, {-1, 0, 1}),
              stride = v == 1 ? one_of(random, {1, 1, 2}) : 1;
    of.push_back(
        k.window("of" + std::to_string(i), X, {{M, {{M, 0, step}}}, {N, {{N, 1, stride}}}}, {down, across}));
  }
  const Tree tree = Tree::of_all(random, count, 2, true); // what lies outside is 0: nothing is divided by it
  k.computes(Y, [&](const auto& c) {
    std::vector<Expr> all;
    for (const Tensor& t : of) all.push_back(k(t, {c[0], c[1]}));
    return tree.of(all, nullptr);
  });
  const Sym bn = k.workgroups(0, N, columns), bm = k.workgroups(1, M, rows);
  const Layout tv = rows_tv(rows, columns, v, threads);
  std::vector<Fragment> all;
  for (const Tensor& t : of) all.push_back(k.load(k.tile(t, {rows, columns}, {bm, bn}), tv, v));
  k.store(k.map(all, [&](const auto& e) { return tree.of(e, &random); }),
          k.tile(Y, {rows, columns}, {bm, bn}), v);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, 1, 2), around(random, columns, v, 2),
                     1 + static_cast<std::int64_t>(random() % 20), around(random, columns, v, 2)});
  return {std::move(k), sizes};
}

// Sums over a cache of pages, of as many positions as each sequence has.
Drawn pages(Random& random) {
  const int page = one_of(random, {4, 8, 16}), rows = page * one_of(random, {1, 2}),
            v = one_of(random, {1, 2, 4}), columns = 64 * v;
  Program k("pages", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), 64);
  const Sym S = k.size("sequences", {.most = 1 << 10}), P = k.size("pages", {.most = 1 << 10}),
            N = k.size("keys", {.most = 1 << 12, .multiple = page}),
            D = k.size("d", {.most = 1 << 10, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {S, D}), X = k.input("x", Element::f32, {P, page, D}),
               T = k.input("table", index_type(random), {S, floor_div(N, Sym(page))}),
               L = k.input("lengths", index_type(random), {S}), at = k.paged("at", X, T);
  const Tree tree = Tree::of_all(random, 1, 2, true);
  k.computes(Y, [&](const auto& c) {
    const Sym length = k.value(L, c[0]);
    return k.sum(N, [&](Sym i) { return inside(i, length, tree.of({k(at, {c[0], i, c[1]})}, nullptr), 0); });
  });
  const Sym bd = k.workgroups(0, D, columns), s = k.workgroups(1, S, 1), length = k.uniform(L, s);
  const Layout tv = rows_tv(rows, columns, v, 64), row = without_axis(tv, 0);
  const View to = k.tile(Y, {1, columns}, {s, bd});
  const Pipeline pipeline{static_cast<int>(random() % 3), 1 + static_cast<int>(random() % 2)};
  k.if_less(
      Sym(0), length,
      [&] {
        const Fragment sum = k.zeros(Element::f32, row, {1, columns});
        k.loop(min(N, length), rows, pipeline, [&](Sym t) {
          const Sym i = rows * t + k.position(0);
          const Fragment x = k.load(k.tile(at, {1, rows, columns}, {s, t, bd}).keep({1, 2}), tv, v),
                         y = k.map({x}, [&](const auto&e) {
                           return inside(i, N, inside(i, length, tree.of(e, &random), 0), 0);
                         });
          k.update(sum, {k.fold(Monoid::sum, y, 0)}, [](const auto& e) { return e[0] + e[1]; });
        });
        k.store(sum, to, v);
      },
      [&] {
        k.store(k.zeros(Element::f32, row, {1, columns}), to, v);
      });
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({1 + static_cast<std::int64_t>(random() % 4), 1 + static_cast<std::int64_t>(random() % 9),
                     around(random, rows, page, 3), around(random, columns, v, 2)});
  return {std::move(k), sizes};
}

// Parts of a sum that workgroups add to one another's, by atomics.
Drawn parts(Random& random) {
  const int threads = one_of(random, {64, 128}), v = one_of(random, {1, 2, 4}), rows = one_of(random, {1, 4}),
            tile = threads * v / rows * one_of(random, {1, 2}), split = tile * one_of(random, {1, 2, 3});
  Program k("parts", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 10}), N = k.size("n", {.most = 1 << 14, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {M, N});
  const Tree tree = Tree::of_all(random, 1, 2);
  k.computes(Y, [&](const auto& c) {
    return k.sum(N, [&](Sym i) { return tree.of({k(X, {c[0], i})}, nullptr); });
  });
  const Sym bm = k.workgroups(0, M, rows), part = k.workgroups(1, N, split);
  const Layout tv = rows_tv(rows, tile, v, threads), row = without_axis(tv, 1);
  const bool lanes = chance(random, 2);
  const Fragment sum =
      lanes ? k.zeros(Element::f32, tv, {rows, tile}) : k.zeros(Element::f32, row, {rows, 1});
  const Pipeline pipeline{static_cast<int>(random() % 3), 1 + static_cast<int>(random() % 2)};
  k.loop(min(N - Sym(split) * part, Sym(split)), tile, pipeline, [&](Sym t) {
    const Sym number = Sym(split / tile) * part + t;
    const Fragment x = k.load(k.tile(X, {rows, tile}, {bm, number}), tv, v),
                   y = k.fill(k.map({x}, [&](const auto&e) { return tree.of(e, &random); }), 1,
                              Sym(tile) * number, N, 0);
    k.update(sum, {lanes ? y : k.fold(Monoid::sum, y, 1)}, [](const auto& e) { return e[0] + e[1]; });
  });
  k.add(lanes ? k.fold(Monoid::sum, sum, 1) : sum, k.tile(Y, {rows, 1}, {bm, 0}));
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, rows, 1, 3), around(random, tile, v, 7)});
  return {std::move(k), sizes};
}

// Results of another length than their operands: pairs, differences, heads of each row; grids that a formula of sizes counts.
Drawn formulas(Random& random) {
  const int threads = one_of(random, {64, 128}), rows = one_of(random, {1, 4}),
            columns = one_of(random, {32, 64}), kind = one_of(random, {0, 1, 2, 3}),
            v = kind == 3 ? one_of(random, {1, 2}) : 1;
  Program k("formulas", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 10}),
            N = k.size("n", {.least = kind == 3 ? 2 * v : 2, .most = 1 << 12, .multiple = 2 * v}),
            width = kind == 0   ? floor_div(N, Sym(2))
                    : kind == 1 ? N - Sym(1)
                    : kind == 2 ? ceil_div(N, Sym(3))
                                : floor_div(N, Sym(2));
  const Tensor Y = k.output("y", Element::f32, {M, width}), X = k.input("x", Element::f32, {M, N});
  std::vector<Tensor> of;
  if (kind == 0)
    for (const int by : {0, 1})
      of.push_back(
          k.window("of" + std::to_string(by), X, {{M, {{M, 0}}}, {width, {{width, 1, 2}}}}, {0, by}));
  if (kind == 1)
    for (const int by : {0, 1})
      of.push_back(k.window("of" + std::to_string(by), X, {{M, {{M, 0}}}, {width, {{width, 1}}}}, {0, by}));
  if (kind == 2) of.push_back(k.window("of", X, {{M, {{M, 0}}}, {width, {{width, 1, 3}}}}, {0, 0}));
  if (kind == 3) of.push_back(X);
  const Tree tree = Tree::of_all(random, static_cast<int>(of.size()), 2, true);
  k.computes(Y, [&](const auto& c) {
    std::vector<Expr> all;
    for (const Tensor& t : of) all.push_back(k(t, {c[0], c[1]}));
    return tree.of(all, nullptr);
  });
  const Sym bn = k.workgroups(0, width, columns), bm = k.workgroups(1, M, rows);
  if (chance(random, 4)) k.persistent(one_of(random, {1, 3}));
  const Layout tv = rows_tv(rows, columns, v, threads);
  std::vector<Fragment> all;
  for (const Tensor& t : of) all.push_back(k.load(k.tile(t, {rows, columns}, {bm, bn}), tv, v));
  k.store(k.map(all, [&](const auto& e) { return tree.of(e, &random); }),
          k.tile(Y, {rows, columns}, {bm, bn}), v);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, 1, 2), around(random, columns, 2 * v, 5)});
  return {std::move(k), sizes};
}

// What peers hold, put together: of all devices, of each its own part or a column of it, or side by side; now and then row by row, in a
// loop, with a tensor of this device's own, and with meetings that nobody needs.
Drawn devices(Random& random) {
  const int count = one_of(random, {2, 3, 4}), threads = one_of(random, {64, 128}),
            v = one_of(random, {1, 2, 4}), rows = one_of(random, {1, 4}),
            columns = threads * v / rows * one_of(random, {1, 2}), kind = one_of(random, {0, 1, 2, 3});
  Program k("devices", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 10}), N = k.size("n", {.most = 1 << 14, .multiple = v}),
            rank = k.devices(count);
  const bool gathers = kind == 2, folds = kind == 3, own = chance(random, 2);
  const Tensor Y = gathers ? k.output("y", Element::f32, {count, M, N})
                   : folds ? k.output("y", Element::f32, {M, Sym(1)})
                           : k.output("y", Element::f32, {M, N});
  std::vector<Tensor> X =
      kind == 1 ? k.peers("x", Element::f32, {count, M, N}) : k.peers("x", Element::f32, {M, N});
  if (own) X.push_back(k.input("z", Element::f32, {M, N}));
  const auto mine = [&](std::size_t i) { return own && i + 1 == X.size(); };
  const Tree tree = Tree::of_all(random, static_cast<int>(X.size()), 3);
  k.computes(Y, [&](const auto& c) {
    const auto all = [&](Sym row, Sym column) {
      std::vector<Expr> x;
      for (std::size_t i = 0; i < X.size(); ++i)
        x.push_back(kind == 1 && !mine(i) ? k(X[i], {rank, row, column}) : k(X[i], {row, column}));
      return x;
    };
    if (folds) return k.sum(N, [&](Sym i) { return tree.of(all(c[0], i), nullptr); });
    if (!gathers) return tree.of(all(c[0], c[1]), nullptr);
    Expr x = k(X[0], {c[1], c[2]}); // of device c[0]; what is this device's own is added everywhere
    for (int d = 1; d < count; ++d)
      x = select(k.number(c[0]), k.constant(d), k(X[static_cast<std::size_t>(d)], {c[1], c[2]}), x);
    return own ? x + k(X.back(), {c[1], c[2]}) : x;
  });
  const Sym bn = folds ? Sym(0) : k.workgroups(0, N, columns), bm = k.workgroups(1, M, rows);
  const Layout tv = rows_tv(rows, columns, v, threads);
  const auto load = [&](std::size_t i, Sym t) {
    return k.load(kind == 1 && !mine(i) ? k.tile(X[i], {1, rows, columns}, {rank, bm, t}).keep({1, 2})
                                        : k.tile(X[i], {rows, columns}, {bm, t}),
                  tv, v);
  };
  const bool early = own && !folds && chance(random, 3); // this device's own needs no meeting
  std::vector<std::optional<Fragment>> there(X.size());
  if (early) there.back() = load(X.size() - 1, bn);
  for (int n = 1 + static_cast<int>(chance(random, 4)); n > 0; --n) k.meet("signals");
  const auto loads = [&](Sym t) {
    std::vector<Fragment> x;
    for (std::size_t i = 0; i < X.size(); ++i) x.push_back(there[i] ? *there[i] : load(i, t));
    return x;
  };
  if (folds) {
    const Fragment sum = k.zeros(Element::f32, without_axis(tv, 1), {rows, 1});
    k.loop(N, columns, {static_cast<int>(random() % 3), 1 + static_cast<int>(random() % 2)}, [&](Sym t) {
      const Fragment x =
          k.fill(k.map(loads(t), [&](const auto& e) { return tree.of(e, &random); }), 1, columns * t, N, 0);
      k.update(sum, {k.fold(Monoid::sum, x, 1)}, [](const auto& e) { return e[0] + e[1]; });
    });
    k.store(sum, k.tile(Y, {rows, 1}, {bm, 0}), 1);
  } else if (gathers) {
    const std::vector<Fragment> x = loads(bn);
    for (int d = 0; d < count; ++d) {
      const Fragment& of = x[static_cast<std::size_t>(d)];
      k.store(own ? k.map({of, x.back()}, [](const auto& e) { return e[1] + e[0]; }) : of,
              k.tile(Y, {1, rows, columns}, {d, bm, bn}).keep({1, 2}), v);
    }
  } else {
    k.store(k.map(loads(bn), [&](const auto& e) { return tree.of(e, &random); }),
            k.tile(Y, {rows, columns}, {bm, bn}), v);
  }
  k.meet("signals");
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, 1, 2), around(random, columns, v, 2),
                     static_cast<std::int64_t>(random() % static_cast<unsigned>(count))});
  return {std::move(k), sizes};
}

// What the entries of a table that name an element have, summed: added to LDS by atomics, of one tile in each workgroup or of many.
Drawn counts(Random& random) {
  const int threads = one_of(random, {64, 128, 256}), bins = one_of(random, {5, 64, 128, 256, 512}),
            v = one_of(random, {1, 1, 2}), tile = threads * v * one_of(random, {1, 1, 2}),
            trips = one_of(random, {0, 1, 2, 3}), // of each workgroup; 0: all of one
      length = (bins + threads - 1) / threads * threads, kind = one_of(random, {0, 1, 2, 3, 4, 5}),
            by = one_of(random, {1, 2, 3, 7});
  Program k("counts", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym N = k.size("n", {.most = 1 << 13});
  const Tensor H = k.output("h", Element::i32, {bins}), ids = k.input("ids", index_type(random), {N}),
               X = k.input("x", Element::i8, {N}), flags = k.input("flags", Element::i32, {N});
  const auto value = [&](const Expr& x, const Expr& flag, Random* vary) {
    const bool other = vary && chance(*vary, 2);
    switch (kind) {
    case 0: return k.constant(1);
    case 1: return x;
    case 2: return other ? k.constant(by) * x + k.constant(1) : x * k.constant(by) + k.constant(1);
    case 3: return x * x;
    case 4: return choose(less_signed(k.integer(by), integer(flag)), k.constant(1), k.constant(0));
    default:
      return other ? choose(less_signed(k.integer(by - 1), integer(flag)), x - k.constant(by), x)
                   : choose(less_signed(integer(flag), k.integer(by)), x, x - k.constant(by));
    }
  };
  k.computes(H, [&](const auto& c) {
    return k.sum(N, [&](Sym s) {
      const Expr is = codegen::equal(integer(k(ids, {s})), integer(k.number(c[0])));
      return choose(is, value(k(X, {s}), k(flags, {s}), nullptr), k.constant(0));
    });
  });
  const Sym w = k.workgroups(0, trips == 0 ? Sym(1) : N, trips == 0 ? 1 : trips * tile);
  const Tensor lds = k.lds("tile", Element::i32, {length});
  const Layout tv = line_tv(tile, v, threads), all = line_tv(length, 1, threads);
  k.store(k.zeros(Element::i32, all, {length}), k.whole(lds), 1);
  const auto step = [&](Sym t) {
    const Fragment e = k.load(k.tile(ids, {tile}, {t}), tv, 1);
    std::vector<Fragment> of = {e};
    if (kind != 0 && kind != 4) of.push_back(k.load(k.tile(X, {tile}, {t}), tv, 1));
    if (kind >= 4) of.push_back(k.load(k.tile(flags, {tile}, {t}), tv, 1));
    const Fragment n = k.map(
        of,
        [&](const auto& f) {
          const Expr x = kind == 0 || kind == 4 ? k.constant(0) : f[1];
          return truncated(inside(Sym(tile) * t + k.position(0), N, value(x, f.back(), &random), 0));
        },
        Element::i32);
    k.add(n, k.tile(lds, {tile}, {0}).through(0, e));
  };
  if (trips == 1)
    step(w);
  else
    k.loop(trips == 0 ? N : min(N - Sym(trips * tile) * w, Sym(trips * tile)), tile,
           {.distance = 0, .ring = 1}, [&](Sym t) { step(trips == 0 ? t : Sym(trips) * w + t); });
  const Fragment sums = k.load(k.whole(lds), all, 1);
  const View to = k.tile(H, {length}, {0});
  if (trips == 0)
    k.store(sums, to, 1);
  else
    k.add(sums, to);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, tile, 1, 5)});
  return {std::move(k), sizes};
}

// What a trip does where its entry u is more than `least`, or not more (`reversed`); `other_way`: in the other branch of the opposite.
void by_entry(Program& k, Sym u, int least, bool reversed, bool other_way,
              const std::function<void()>& some) {
  const bool below = reversed != other_way;
  const Sym a = below ? u : Sym(least), b = below ? Sym(least + 1) : u;
  if (other_way)
    k.if_less(
        a, b, [] {}, some);
  else
    k.if_less(a, b, some);
}

// Folds of a row, and products, over the blocks of which the trip's entry of a table says that they count.
Drawn masked(Random& random) {
  const bool product = chance(random, 3), down = chance(random, 3), wide = chance(random, 3),
             lds = chance(random, 3), early = chance(random, 4), reversed = chance(random, 3);
  const Target& target = Target::named(chance(random, 2) ? "gfx942" : "gfx950");
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, Element::f16, Element::f16, Element::f32, 16), 1,
                                      1, 16, 16, 32, 8);
  const int threads = product ? mma.threads() : one_of(random, {64, 128}), v = one_of(random, {1, 2}),
            rows = product ? 16 : one_of(random, {1, 2, 4}),
            block = product ? 32 : std::max(32, threads * v / rows) * one_of(random, {1, 2}),
            least = one_of(random, {0, 0, 1, 2});
  const Monoid monoid = product || chance(random, 2) ? Monoid::sum : Monoid::max;
  const double empty = empty_element(monoid);
  Program k("masked", target, threads);
  const Sym M = k.size("m", {.most = 1 << 10}), J = k.size("j", {.most = 1 << 10}),
            N = k.size("n", {.most = 1 << 12, .multiple = product ? block : v}),
            blocks = ceil_div(N, Sym(block));
  const Tensor Y = k.output("y", Element::f32, {M, product ? J : Sym(1)}),
               X = k.input("x", product ? Element::f16 : Element::f32, {M, N}),
               B = k.input("b", product ? Element::f16 : Element::f32, {product ? J : Sym(1), N}),
               mask = k.input("mask", index_type(random),
                              {down ? ceil_div(M, Sym(rows)) * blocks : blocks + Sym(2)});
  const int further = down ? 0 : one_of(random, {0, 0, 2});
  const Tree tree = Tree::of_all(random, 2, 2);
  k.computes(Y, [&](const auto& c) {
    return k.fold(monoid, N, [&](Sym i) {
      const Sym b = floor_div(i, Sym(block));
      const Expr entry =
          integer(k(mask, {down ? floor_div(c[0], Sym(rows)) * blocks + b : b + Sym(further)}));
      const Expr there =
          reversed ? less_signed(entry, k.integer(least + 1)) : less_signed(k.integer(least), entry);
      const Expr x = k(X, {c[0], i}), z = k(B, {product ? c[1] : Sym(0), i});
      return choose(there, product ? x * z : tree.of({x, z}, nullptr), k.constant(empty));
    });
  });
  // Another loop over the same size, before: squares of all elements, or of those that the mask has.
  const bool before_it = !product && chance(random, 3), before_too = chance(random, 2);
  const Tensor Z = before_it ? k.output("z", Element::f32, {M, Sym(1)}) : Tensor{};
  if (before_it)
    k.computes(Z, [&](const auto& c) {
      return k.sum(N, [&](Sym i) {
        const Expr x = k(X, {c[0], i}), square = x * x;
        if (!before_too) return square;
        const Sym b = floor_div(i, Sym(block));
        const Expr entry =
            integer(k(mask, {down ? floor_div(c[0], Sym(rows)) * blocks + b : b + Sym(further)}));
        return choose(less_signed(k.integer(least), entry), square, k.constant(0));
      });
    });
  const Sym bj = product ? k.workgroups(0, J, 16) : Sym(0), bm = k.workgroups(1, M, rows);
  const Layout tv = product ? mma.a() : rows_tv(rows, block, v, threads), row = without_axis(tv, 1);
  const Tensor stage = lds ? k.lds("stage", X.element, {rows, block}, Swizzle(), 8) : Tensor{};
  const Fragment acc = product ? k.zeros(Element::f32, mma.c(), {16, 16}) : k.full(empty, row, {rows, 1});
  const Fragment squares = before_it ? k.zeros(Element::f32, row, {rows, 1}) : Fragment{};
  if (before_it)
    k.loop(N, block, {.distance = 0, .ring = 1}, [&](Sym t) {
      const std::function<void()> some = [&] {
        const Fragment y = k.map({k.load(k.tile(X, {rows, block}, {bm, t}), tv, v)}, [&](const auto& e) {
          return inside(Sym(block) * t + k.position(1), N, e[0] * e[0], 0);
        });
        k.update(squares, {k.fold(Monoid::sum, y, 1)}, [](const auto& e) { return e[0] + e[1]; });
      };
      if (!before_too) return some();
      k.if_less(Sym(least), k.uniform(mask, down ? bm * blocks + t : t + Sym(further)), some);
    });
  k.loop(N, block, {.distance = 0, .ring = 1}, [&](Sym t) {
    const View from = k.tile(X, {rows, block}, {bm, t});
    const int vector = product ? 8 : v;
    Fragment before;
    if (early && !lds) before = k.load(from, tv, vector);
    const std::function<void()> some = [&] {
      if (lds) k.copy(from, stage, rows_tv(rows, block, vector, threads), vector);
      const Fragment x = lds ? k.read(stage, tv, vector) : early ? before : k.load(from, tv, vector);
      if (product) return k.mma(acc, x, k.load(k.tile(B, {16, block}, {bj, t}), mma.b(), 8), mma);
      const Fragment z = k.load(k.tile(B, {1, block}, {0, t}), without_axis(tv, 0), 1);
      const Fragment y = k.map({x, z}, [&](const auto& e) {
        return inside(Sym(block) * t + k.position(1), N, tree.of(e, &random), empty);
      });
      k.update(acc, {k.fold(monoid, y, 1)},
               [&](const auto& e) { return monoid == Monoid::sum ? e[0] + e[1] : codegen::max(e[0], e[1]); });
    };
    const Sym u = k.uniform(mask, down ? bm * blocks + t : t + Sym(further));
    by_entry(k, u, least, reversed, wide, some);
  });
  if (before_it) k.store(squares, k.tile(Z, {rows, 1}, {bm, 0}), 1);
  k.store(acc, k.tile(Y, {rows, product ? 16 : 1}, {bm, bj}), 1);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i)
    sizes.push_back({around(random, rows, 1, 3), around(random, 16, 1, 2),
                     around(random, block, product ? block : v, 5)});
  return {std::move(k), sizes};
}

// A softmax over the blocks that a mask has, times a value: the maximum so far, which scales, a sum and a value go on where the trip's
// entry says so. The loop stands by itself, or in the trip of a row's tile.
Drawn scores(Random& random) {
  const bool outer = chance(random, 3), down = chance(random, 3), reversed = chance(random, 3),
             early = chance(random, 3), other_way = chance(random, 3);
  const int threads = one_of(random, {64, 128}), v = one_of(random, {1, 2}), rows = one_of(random, {1, 2, 4}),
            block = std::max(32, threads * v / rows), least = one_of(random, {0, 0, 1, 2});
  const double floor = chance(random, 2) ? -1e30 : -0x1p100;
  Program k("scores", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym M = k.size("m", {.most = 1 << 10}), N = k.size("n", {.most = 1 << 12, .multiple = v}),
            blocks = ceil_div(N, Sym(block));
  const Tensor Y = k.output("y", Element::f32, {M, Sym(1)}), X = k.input("x", Element::f32, {M, N}),
               V = k.input("v", Element::f32, {Sym(1), N}),
               mask = k.input("mask", index_type(random), {down ? ceil_div(M, Sym(rows)) * blocks : blocks});
  const bool scaled = chance(random, 2);
  const auto scale = [&](Expr e) { return scaled ? e * 0.125 : e; };
  const auto bounded = [&](Expr e) { return codegen::max(e, k.constant(floor)); };
  k.computes(Y, [&](const auto& c) {
    const auto score = [&](Sym i) {
      const Sym b = floor_div(i, Sym(block));
      const Expr entry = integer(k(mask, {down ? floor_div(c[0], Sym(rows)) * blocks + b : b}));
      const Expr there =
          reversed ? less_signed(entry, k.integer(least + 1)) : less_signed(k.integer(least), entry);
      return choose(there, k(X, {c[0], i}), k.constant(-INFINITY));
    };
    const Expr most = bounded(k.fold(Monoid::max, N, score));
    const auto p = [&](Sym i) { return exp(scale(score(i) - most)); };
    return k.sum(N, [&](Sym i) { return p(i) * k(V, {Sym(0), i}); }) / k.sum(N, p);
  });
  const Sym grid = k.workgroups(0, outer ? Sym(1) : M, outer ? 1 : rows);
  const Layout tv = rows_tv(rows, block, v, threads), row = without_axis(tv, 1);
  const auto all = [&](Sym w) {
    const Fragment most = k.full(-INFINITY, row, {rows, 1}), sum = k.zeros(Element::f32, row, {rows, 1}),
                   value = k.zeros(Element::f32, row, {rows, 1});
    k.loop(N, block, {.distance = 0, .ring = 1}, [&](Sym t) {
      Fragment before;
      if (early) before = k.load(k.tile(X, {rows, block}, {w, t}), tv, v);
      const std::function<void()> some = [&] {
        const Fragment s = k.fill(early ? before : k.load(k.tile(X, {rows, block}, {w, t}), tv, v), 1,
                                  Sym(block) * t, N, -INFINITY),
                       of_v = k.load(k.tile(V, {1, block}, {0, t}), without_axis(tv, 0), 1),
                       now = k.map({most, k.fold(Monoid::max, s, 1)},
                                   [](const auto&e) { return codegen::max(e[0], e[1]); }),
                       by = k.map({now}, [&](const auto&e) { return bounded(e[0]); }),
                       again =
                           k.map({most, by}, [&](const auto&e) { return exp(scale(bounded(e[0]) - e[1])); }),
                       p = k.map({s, by}, [&](const auto&e) { return exp(scale(e[0] - e[1])); });
        const auto go_on = [&](const Fragment& into, const Fragment& more) {
          k.update(into, {again, k.fold(Monoid::sum, more, 1)},
                   [&](const auto& e) { return e[0] * e[1] + e[2]; });
        };
        go_on(sum, p);
        go_on(value,
              k.fill(k.map({p, of_v}, [](const auto& e) { return e[0] * e[1]; }), 1, Sym(block) * t, N, 0));
        k.update(most, {now}, [](const auto& e) { return e[1]; });
      };
      const Sym u = k.uniform(mask, down ? w * blocks + t : t);
      by_entry(k, u, least, reversed, !reversed && other_way, some);
    });
    k.store(k.map({value, sum}, [](const auto& e) { return e[0] / e[1]; }), k.tile(Y, {rows, 1}, {w, 0}), 1);
  };
  if (outer)
    k.loop(M, rows, {.distance = 0, .ring = 1}, all);
  else
    all(grid);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, rows, 1, 3), around(random, block, v, 5)});
  return {std::move(k), sizes};
}

// Maps whose arithmetic is fused, approximate or by halves, or is not.
Drawn written(Random& random) {
  const int threads = one_of(random, {64, 128}), v = one_of(random, {1, 2, 4}), tile = threads * v;
  Program k("written", Target::named(chance(random, 2) ? "gfx942" : "gfx950"), threads);
  const Sym N = k.size("n", {.most = 1 << 20, .multiple = v});
  const Tensor Y = k.output("y", Element::f32, {N}), Z = k.output("z", Element::f32, {N});
  std::vector<Tensor> of;
  for (const char* name : {"a", "b", "c", "d"}) of.push_back(k.input(name, Element::f32, {N}));
  const Tree one = Tree::of_all(random, 4, 3), other = Tree::of_all(random, 2, 2);
  const auto all = [&](Sym i) {
    std::vector<Expr> x;
    for (const Tensor& t : of) x.push_back(k(t, {i}));
    return x;
  };
  k.computes(Y, [&](const auto& c) { return one.of(all(c[0]), nullptr); });
  k.computes(Z, [&](const auto& c) {
    const std::vector<Expr> x = all(c[0]);
    return other.of({one.of(x, nullptr), x[1]}, nullptr);
  });
  const auto math = [&] { return FastMath{chance(random, 2), chance(random, 2), chance(random, 2)}; };
  const Sym w = k.workgroups(0, N, tile);
  const Layout tv = line_tv(tile, v, threads);
  std::vector<Fragment> x;
  for (const Tensor& t : of) x.push_back(k.load(k.tile(t, {tile}, {w}), tv, v));
  const Fragment y = k.map(
      x, [&](const auto& e) { return one.of(e, &random); }, math());
  k.store(y, k.tile(Y, {tile}, {w}), v);
  k.store(k.map(
              {y, x[1]}, [&](const auto& e) { return other.of(e, &random); }, math()),
          k.tile(Z, {tile}, {w}), v);
  std::vector<Sizes> sizes;
  for (int i = 0; i < 3; ++i) sizes.push_back({around(random, tile, v, 3)});
  return {std::move(k), sizes};
}

const std::map<std::string, Drawn (*)(Random&)>& families() {
  static const std::map<std::string, Drawn (*)(Random&)> all = {{"pointwise", pointwise},
                                                                {"rows", row_folds},
                                                                {"carried", carried},
                                                                {"products", products},
                                                                {"streamed", streamed},
                                                                {"branches", branches},
                                                                {"tickets", tickets},
                                                                {"turns", turns},
                                                                {"elements", elements},
                                                                {"roles", roles},
                                                                {"gathers", gathers},
                                                                {"lanes", lanes},
                                                                {"bounded", bounded},
                                                                {"shifted", shifted},
                                                                {"integers", integers},
                                                                {"nested", nested},
                                                                {"persistent", persistent},
                                                                {"named", named_rows},
                                                                {"windows", windows},
                                                                {"pages", pages},
                                                                {"parts", parts},
                                                                {"formulas", formulas},
                                                                {"devices", devices},
                                                                {"columns", columns},
                                                                {"sums", sums},
                                                                {"segments", segments},
                                                                {"counts", counts},
                                                                {"masked", masked},
                                                                {"scores", scores},
                                                                {"written", written},
                                                                {"wraps", wraps},
                                                                {"scans", scans}};
  return all;
}

/// One operation of the program changed; says what, or "" when the one drawn has nothing of that kind.
std::string change_program(Program& p, Random& random) {
  std::vector<Op>* list = &p.mutable_body();
  for (Op& op : *list) {
    if (auto* loop = std::get_if<LoopOp>(&op.what); loop && chance(random, 2)) {
      list = &loop->body;
      for (Op& in : *list)
        if (auto* inside = std::get_if<LoopOp>(&in.what); inside && !chance(random, 3)) {
          list = &inside->body;
          break;
        }
      break;
    }
    if (auto* branch = std::get_if<IfOp>(&op.what); branch && !chance(random, 4)) {
      list = branch->otherwise.empty() || chance(random, 2) ? &branch->then : &branch->otherwise;
      break;
    }
  }
  for (Op& op : *list)
    if (auto* all = std::get_if<RolesOp>(&op.what); all && !chance(random, 4)) {
      auto& body = all->roles[random() % all->roles.size()].body;
      if (body.empty()) continue;
      list = &body;
      break;
    }
  if (list->empty()) return "";
  const std::size_t at = random() % list->size();
  Op& op = (*list)[at];
  const auto view = [&](std::optional<View>& v, const char* which) -> std::string {
    if (!v || v->origin.empty()) return "";
    const std::size_t axis = random() % v->origin.size();
    switch (random() % 3) {
    case 0: {
      const int by = one_of(random, {1, -1, 16});
      v->origin[axis] += Sym(by);
      return std::string(which) + ": origin moved by " + std::to_string(by);
    }
    case 1:
      if (v->origin.size() < 2) return "";
      std::swap(v->origin[0], v->origin[1]);
      return std::string(which) + ": origins of two axes exchanged";
    default: {
      v->origin[axis] = Sym(0);
      return std::string(which) + ": always the first tile";
    }
    }
  };
  if (chance(random, 8)) {
    if (at + 1 == list->size()) return "";
    std::swap((*list)[at], (*list)[at + 1]);
    return "operation " + std::to_string(at) + " exchanged with the next";
  }
  if (auto* copy = std::get_if<CopyOp>(&op.what)) {
    if (chance(random, 3) && copy->tv.modes().size() > 1) {
      TupleBuilder<Mode> b;
      std::vector<Mode> modes(copy->tv.modes().begin(), copy->tv.modes().end());
      const std::size_t i = random() % (modes.size() - 1);
      std::swap(modes[i].stride, modes[i + 1].stride);
      b.profile(copy->tv.profile().view());
      for (const Mode& m : modes) b.leaves().push_back(m);
      copy->tv = Layout(std::move(b).finish());
      return "copy: two strides of threads and values exchanged";
    }
    return view(chance(random, 2) ? copy->from : copy->to, "copy");
  }
  if (auto* all = std::get_if<RolesOp>(&op.what)) {
    auto& role = all->roles[random() % all->roles.size()];
    switch (random() % 4) {
    case 0: std::swap(all->roles.front().body, all->roles.back().body); return "roles: bodies exchanged";
    case 1: std::swap(all->roles.front().waves, all->roles.back().waves); return "roles: waves exchanged";
    case 2: role.waves.first ^= 1; return "roles: another wave";
    default: role.waves.count += role.waves.count == 1 ? 1 : -1; return "roles: another number of waves";
    }
  }
  if (auto* branch = std::get_if<IfOp>(&op.what)) {
    switch (random() % 3) {
    case 0: branch->condition.a += Sym(1); return "branch: one later";
    case 1: std::swap(branch->then, branch->otherwise); return "branch: paths exchanged";
    default: branch->condition.b += Sym(1); return "branch: one earlier";
    }
  }
  if (auto* map = std::get_if<MapOp>(&op.what)) {
    if (map->from.size() > 1 && chance(random, 2)) {
      std::swap(map->from[0], map->from[1]);
      return "map: operands exchanged";
    }
    const std::optional<Expr> other = another_map(map->map, random);
    if (!other) return "";
    map->map = *other;
    return "map: changed";
  }
  if (auto* relayout = std::get_if<RelayoutOp>(&op.what)) {
    if (relayout->exchanges.empty()) return "";
    LaneExchange& x = relayout->exchanges[random() % relayout->exchanges.size()];
    switch (random() % 3) {
    case 0: x.lane = x.lane == 32 ? 1 : 2 * x.lane; return "exchange with another lane";
    case 1: relayout->exchanges.pop_back(); return "an exchange less";
    default: std::swap(relayout->values[0], relayout->values.back()); return "two values exchanged";
    }
  }
  if (auto* fold = std::get_if<FoldOp>(&op.what)) {
    fold->monoid = fold->monoid == Monoid::sum ? Monoid::max : Monoid::sum;
    return "fold: another monoid";
  }
  if (auto* fill = std::get_if<FillOp>(&op.what)) {
    fill->value = fill->value == 0 ? 1 : 0;
    return "fill: another value";
  }
  if (auto* mma = std::get_if<MmaOp>(&op.what)) {
    std::swap(mma->a, mma->b);
    return "mma: operands exchanged";
  }
  if (std::holds_alternative<MeetOp>(op.what)) {
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
    return "meet: left out";
  }
  return "";
}

// Sizes around ends of tiles: what a fault shows need not be among those that were drawn.
std::vector<Sizes> more_sizes(const Code& code, Random& random) {
  const Program& p = *code.program;
  std::vector<Sizes> out;
  for (int n = 0; n < 10; ++n) {
    Sizes sizes;
    Assignment at;
    for (const Size& z : p.sizes()) {
      std::vector<std::int64_t> tiles{1};
      const auto look = [&](Sym extent, int tile) {
        const std::vector<AtomId> all = symbols(extent);
        if (std::find(all.begin(), all.end(), *z.symbol.as_atom()) != all.end()) tiles.push_back(tile);
      };
      for (const GridAxis& g : p.grid()) look(g.extent, g.tile);
      for (const CodeRegion& r : code.regions)
        if (r.is_loop) look(r.extent, r.tile);
      const std::int64_t m = z.facts.multiple, tile = tiles[random() % tiles.size()],
                         v = tile * static_cast<std::int64_t>(random() % 5) +
                             m * one_of(random, {-1, 0, 1, 2}),
                         least = (z.facts.least + m - 1) / m * m;
      sizes.push_back(std::clamp(v / m * m, least, std::max(least, z.facts.most / m * m)));
      at.set(z.symbol, Int(sizes.back()));
    }
    const bool small = std::all_of(p.tensors().begin(), p.tensors().end(), [&](const Tensor& t) {
      std::int64_t elements = 1;
      for (const Sym& extent : t.shape) elements *= evaluate(extent, at).value();
      return t.space != Space::global || elements <= 8192;
    });
    if (small) out.push_back(std::move(sizes));
  }
  return out;
}

// What tokens say of them, in more orders, too.
std::string wrong_somewhere(const Code& code, const std::vector<Sizes>& drawn, Random& random) {
  for (const std::vector<Sizes>& all : {drawn, more_sizes(code, random)})
    for (const Sizes& s : all)
      for (std::uint64_t seed = 0; seed < 4; ++seed)
        if (std::string what = run_tokens(code, s, seed); !what.empty()) return what;
  return "";
}

std::string listed(const char* between) {
  std::string out;
  for (const auto& [name, draw] : families()) out += (out.empty() ? "" : between) + name;
  return out;
}

bool any_specification(const Program& p, bool (Spec::*holds)() const) {
  return std::any_of(p.specifications().begin(), p.specifications().end(),
                     [&](const auto& s) { return (Spec(s.value).*holds)(); });
}

} // namespace

int main(int argc, char** argv) {
  Sampling how{.sample = 200};
  std::uint64_t first = 0;
  std::string only;
  bool emulate = false, validate = false;
  CLI::App app("Programs drawn at random, before the claims and the tokens");
  how.add_to(app);
  app.add_option("--first", first, "Number of the first program");
  app.add_flag("--emulate", emulate, "What is right and proved is compiled, and run on the emulator");
  app.add_flag("--validate", validate, "The machine code is validated, too, and that of codes with a fault");
  app.add_option("--only", only, listed(", "));
  if (const auto status = parse(app, argc, argv)) return *status;
  std::vector<std::string> names;
  for (const auto& [name, draw] : families())
    if (only.empty() || only == name) names.push_back(name);
  if (names.empty()) {
    std::cerr << "error: no family '" << only << "'\n  hint   " << listed(", ") << "\n";
    return 2;
  }
  std::size_t drawn = 0, impossible = 0, right = 0, caught = 0, cautious = 0, cancels = 0, missed = 0,
              broken = 0, validated = 0, undecided = 0, faults_refuted = 0, faults_undecided = 0,
              faults_harmless = 0, stopped = 0;
  for (std::uint64_t n = first; drawn < static_cast<std::size_t>(how.sample); ++n) {
    Random random(how.seed * 1000003 + n); // each program by itself, so that one can be repeated
    const std::string& name = names[random() % names.size()];
    std::string what = "as drawn";
    std::optional<Drawn> d;
    Code code;
    try {
      d = families().at(name)(random);
      const auto fault = random() % 4;
      if (fault == 0 && (what = change_program(d->program, random)).empty()) continue;
      const Graph graph = expand(d->program);
      code = apply(graph, schedule_with(d->scheduler, graph));
      if (fault == 1 && (what = change(code, random)).empty()) continue;
    } catch (const std::exception& e) { // shapes that do not tile, or a program that no instructions are for
      ++impossible;
      if (how.verbose) std::cout << n << " " << name << ": " << what << ": " << e.what() << "\n";
      continue;
    }
    const std::string claim = refuted(code);
    if (what == "as drawn" && claim.rfind("the stages fit into LDS", 0) == 0) { // nothing that tokens know of
      ++impossible;
      continue;
    }
    ++drawn;
    std::string token = wrong(code, d->sizes);
    if (!claim.empty() && token.empty() && what != "as drawn")
      token = wrong_somewhere(code, d->sizes, random);
    if (emulate && claim.empty() && !token.empty()) try { // a wrong word, or tokens that say too much
        const std::string found = Machine(code).wrong(d->sizes);
        token += "\n    emulator: " + (found.empty() ? "right" : found);
      } catch (const std::exception& e) {
        token += "\n    emulator: " + std::string(e.what());
      }
    if ((emulate || validate) && claim.empty() && token.empty()) {
      try {
        const Machine machine(code);
        if (emulate) token = machine.wrong(d->sizes);
        // A changed k.check stops the launch and says so: it is no claim, and nothing that is stored is wrong.
        if (what != "as drawn" && !d->program.assertions().empty() &&
            token.find("it gave up") != std::string::npos) {
          ++stopped;
          if (how.verbose) std::cout << n << " " << name << ", " << what << ": " << token << "\n";
          continue;
        }
        if (validate && token.empty()) {
          const Machine::Verdict verdict = machine.against(code);
          validated += verdict.is == Machine::Verdict::validated ? 1 : 0;
          undecided += verdict.is == Machine::Verdict::undecided ? 1 : 0;
          if (verdict.is == Machine::Verdict::refuted) token = "validation refutes it: " + verdict.why;
          if (how.verbose && !verdict.why.empty())
            std::cout << n << " " << name << ": " << verdict.why << "\n";
        }
      } catch (const std::exception& e) { // of a changed code, no instruction may be what is left
        if (what == "as drawn") token = e.what();
      }
    }
    // What was made of a faulty code, held against the one without the fault.
    const bool all_written = claim.rfind("every register is written", 0) != 0; // the emitter asks for that
    if (validate && what != "as drawn" && !claim.empty() && !token.empty() && all_written) try {
        Random again(how.seed * 1000003 + n);
        (void)again();
        const Drawn whole = families().at(name)(again);
        const Graph graph = expand(whole.program);
        const Code right_code = apply(graph, schedule_with(whole.scheduler, graph));
        const Machine machine(code);
        const Machine::Verdict verdict = machine.against(right_code);
        faults_refuted += verdict.is == Machine::Verdict::refuted ? 1 : 0;
        faults_undecided += verdict.is == Machine::Verdict::undecided ? 1 : 0;
        if (verdict.is == Machine::Verdict::validated) {
          std::vector<Sizes> sizes = whole.sizes;
          for (Sizes& more : more_sizes(right_code, again)) sizes.push_back(std::move(more));
          const std::string found = machine.wrong(sizes);
          if (found.empty()) {
            ++faults_harmless; // LLVM's waits, say, where the code has lost one
          } else {
            ++missed;
            std::cout << "VALIDATED AND WRONG: number " << n << ", " << name << ", " << what << ": " << found
                      << "\n    tokens: " << token << "\n";
          }
        }
      } catch (const std::exception&) { // no instructions are for it
      }
    if (what == "as drawn" &&
        token.rfind("LLVM refuses the kernel", 0) == 0) { // an error, and nothing is handed out
      ++cautious;
      std::cout << "refused by LLVM: number " << n << ", " << name << ": " << token << "\n";
      continue;
    }
    const char* fate = nullptr;
    if (claim.empty() && token.empty()) {
      ++right, fate = "right";
    } else if (claim.empty()) {
      ++missed, fate = "MISSED";
    } else if ((what == "as drawn" || token.empty()) && claim.rfind("a map loses no condition", 0) == 0 &&
               any_specification(d->program, token.empty() ? &Spec::cancels : &Spec::compares_what_cancels)) {
      ++cancels, fate = "cancels";
    } else if (token.empty()) {
      ++cautious, fate = "cautious";
    } else if (what == "as drawn") {
      ++broken, fate = "BROKEN"; // the generator's mistake: what it draws should be right
    } else {
      ++caught, fate = "caught";
    }
    if (how.verbose || std::isupper(fate[0]))
      std::cout << fate << ": number " << n << ", " << name << ", " << what << "\n    claim: " << claim
                << "\n    tokens: " << token << "\n"
                << (std::isupper(fate[0]) || (how.verbose && how.sample == 1)
                        ? d->program.text() + code.text()
                        : "");
  }
  std::cout << drawn << " programs, " << impossible << " more that no instructions are for: " << right
            << " right and proved, " << caught << " wrong and refused, " << cautious
            << " refused though the tokens are right, " << cancels << " because something cancels, " << broken
            << " wrong as drawn, " << stopped << " stopped by a check of theirs that was changed\n";
  if (validate)
    std::cout << "machine code of what is proved: " << validated << " validated, " << undecided
              << " undecided; of faults, against the code without them: " << faults_refuted << " refuted, "
              << faults_undecided << " undecided, " << faults_harmless << " validated and right\n";
  std::cout << "wrong words: " << missed << " of " << drawn << "\n";
  return missed == 0 && broken == 0 && cautious * 20 <= drawn && cancels * 20 <= drawn ? 0 : 1;
}
