// Layouts as functions: write them, apply them, compose them, divide them.
#include "expect.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <iostream>

using namespace inlay;
using namespace inlay::literals;

int main() {
  // [a layout]
  // 6 x 2 elements; one step along the first mode is 8 elements of memory, along the second 2.
  const Layout a = "(6,2):(8,2)"_layout;
  std::cout << to_string(a) << " at 7 is " << a(7).value() << "\n"; // index 7 is coordinate (1,1): 8 + 2
  // [a layout end]
  expect(a(7) == Int(10), "a(7) = 10");

  // [composition]
  // A o B is the layout that first applies B, then A; that it is that function is checked here, point by point.
  const Layout b = "(4,3):(3,1)"_layout;
  const Layout r = composition(a, b);
  std::cout << to_string(a) << " o " << to_string(b) << " = " << to_string(r) << "\n";
  for (int c = 0; c < 12; ++c) expect(r(c) == a(b(c)), "R(c) = A(B(c))");
  // [composition end]
  expect(to_string(r) == "((2,2),3):((24,2),8)", "the composition");

  // [divide]
  // A tile of 4 x 8 elements of a 16 x 32 matrix: mode 0 is inside the tile, mode 1 is which tile.
  const Layout matrix = Layout::row_major("(16,32)"_tuple);
  const Layout tiles = zipped_divide(matrix, Tile::shape("(4,8)"_tuple));
  std::cout << to_string(matrix) << " in tiles of 4 x 8: " << to_string(tiles) << "\n";
  // [divide end]
  expect(tiles.mode(0).size() == Int(32) && tiles.mode(1).size() == Int(16), "16 tiles of 32 elements");

  // [an error]
  // 5 elements do not fill modes of 6 evenly: the result would not be a layout, so there is none.
  try {
    (void)composition("(6,2):(8,2)"_layout, "5:3"_layout);
    expect(false, "a refusal");
  } catch (const LayoutError& e) {
    std::cout << e.what() << "\n";
  }
  // [an error end]
}
