// Operations on layouts of up to eight leaf modes do not touch the heap: operator new is counted.
#include <catch2/catch.hpp>

#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/ops/product.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/ops/select.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <cstdlib>
#include <new>

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p; // NOLINT: counting is the purpose
  throw std::bad_alloc();
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { // all forms, or sanitizers see a mismatch
  ++allocations;
  return std::malloc(n); // NOLINT
}
void operator delete(void* p) noexcept { std::free(p); }              // NOLINT
void operator delete(void* p, std::size_t) noexcept { std::free(p); } // NOLINT

using namespace inlay;
using namespace inlay::literals;

namespace {
template <class F>
std::size_t counted(const F& f) {
  const std::size_t before = allocations;
  f();
  return allocations - before;
}
} // namespace

TEST_CASE("no allocation on the small path") {
  const Layout a = "((2,4),(8,(2,2))):((1,2),(8,(64,128)))"_layout;
  const Layout eight = "((2,2),(2,2),(2,2),(2,2)):((1,2),(4,8),(16,32),(64,128))"_layout;
  const Layout t = "(4,2):(2,16)"_layout;
  const Tile tile(t);
  const Tile by_mode = Tile::by_mode({Tile(Layout(4, 2)), Tile(Int(8))});
  const IntTuple profile = "(1,1)"_tuple;
  const IntTuple crd = "((1,3),(2,(1,0)))"_tuple;
  Int sink = 0;
  CHECK(counted([&] { sink += a(37); }) == 0);
  CHECK(counted([&] { sink += a(crd); }) == 0);
  CHECK(counted([&] { sink += coalesce(a).size(); }) == 0);
  CHECK(counted([&] { sink += coalesce(eight).size(); }) == 0);
  CHECK(counted([&] { sink += coalesce(a, profile).size(); }) == 0);
  CHECK(counted([&] { sink += composition(a, t).size(); }) == 0);
  CHECK(counted([&] { sink += composition(eight, t).size(); }) == 0);
  CHECK(counted([&] { sink += composition(a, by_mode).size(); }) == 0);
  CHECK(counted([&] { sink += complement(t, 512).size(); }) == 0);
  CHECK(counted([&] { sink += right_inverse(eight).size(); }) == 0);
  CHECK(counted([&] { sink += left_inverse(a).size(); }) == 0);
  CHECK(counted([&] { sink += logical_divide(a, tile).size(); }) == 0);
  CHECK(counted([&] { sink += zipped_divide(a, by_mode).size(); }) == 0);
  CHECK(counted([&] { sink += logical_product(t, Tile(Layout(4, 1))).size(); }) == 0);
  CHECK(counted([&] { sink += blocked_product(t, t).size(); }) == 0);
  CHECK(counted([&] { sink += upcast(a, 2).size(); }) == 0);
  CHECK(counted([&] { sink += flatten(a).size(); }) == 0);
  CHECK(counted([&] { sink += Tile::by_mode({Tile(Int(4)), Tile::keep()}).rank(); }) == 0);
  // Eight leaf modes in and at most eight out.
  constexpr std::size_t two_modes[] = {2, 0};
  const Tile pairs = Tile::by_mode({Tile(Int(2)), Tile(Int(4)), Tile::keep(), Tile(Layout(2, 2))});
  CHECK(counted([&] { sink += eight(201); }) == 0);
  CHECK(counted([&] { sink += idx2crd(IntTuple(201), eight.shape()).rank(); }) == 0);
  CHECK(counted([&] { sink += coalesce(eight, "(1,1,1,1)"_tuple).size(); }) == 0);
  CHECK(counted([&] { sink += filter(eight).size(); }) == 0);
  CHECK(counted([&] { sink += composition(eight, eight).size(); }) == 0);
  CHECK(counted([&] { sink += composition(eight, pairs).size(); }) == 0);
  CHECK(counted([&] { sink += complement(eight, 512).size(); }) == 0);
  CHECK(counted([&] { sink += complement(eight).size(); }) == 0);
  CHECK(counted([&] { sink += left_inverse(eight).size(); }) == 0);
  CHECK(counted([&] { sink += nullspace(eight).size(); }) == 0);
  CHECK(counted([&] { sink += max_common_layout(eight, eight).size(); }) == 0);
  CHECK(counted([&] { sink += logical_divide(eight, Tile(Layout(16, 1))).size(); }) == 0);
  CHECK(counted([&] { sink += upcast(eight, 2).size(); }) == 0);
  CHECK(counted([&] { sink += downcast(eight, 2).size(); }) == 0);
  CHECK(counted([&] { sink += flatten(eight).size(); }) == 0);
  CHECK(counted([&] { sink += group(eight, 1, 3).size(); }) == 0);
  CHECK(counted([&] { sink += select(eight, two_modes).size(); }) == 0);
  CHECK(counted([&] { sink += zip(eight).size(); }) == 0);
  CHECK(counted([&] { sink += Int(to_string(eight).size()); }) > 0); // the counter counts
  CHECK(sink > 0);
}

TEST_CASE("a symbolic composition that has been seen does not allocate") {
  SymContext ctx;
  const SymLayout a = parse_sym_layout(ctx, "((128,m),(64,k)):((1,8192*k),(128,128*64*m))");
  const SymLayout b = parse_sym_layout(ctx, "(32,4):(1,32)");
  Sym sink = composition(a, b).size();
  CHECK(counted([&] { sink += composition(a, b).size(); }) == 0);
}
