// Claims about layouts for all sizes: proved with a certificate, or refuted with a witness.
#include "expect.h"

#include <inlay/solver/prove.h>

#include <iostream>

using namespace inlay::solver;

int main() {
  // [prove]
  // A matrix of 128m x 128n elements, read in tiles of 128 x 128, is the same function as the plain matrix:
  // for every m and n at once.
  const Verdict tiled = prove_equal("((128,m),(128,n)):((1,128),(128*m,16384*m))", "(128*m,128*n):(1,128*m)");
  std::cout << tiled.summary() << "\n";
  // [prove end]
  expect(tiled.outcome == Outcome::proved, "the tiled matrix is the matrix");

  // [refute]
  // One stride off by one: refuted, with the smallest index at which the two differ.
  const Verdict wrong =
      prove_equal("((128,m),(128,n)):((1,128),(128*m,16384*m+1))", "(128*m,128*n):(1,128*m)");
  std::cout << wrong.summary() << "\n  " << wrong.witness->text << "\n";
  // [refute end]
  expect(wrong.outcome == Outcome::refuted && wrong.witness.has_value(), "a witness");

  // [banks]
  // Sixteen rows of 128 bytes, read 16 bytes a lane: four lanes meet in each bank, until a swizzle spreads them.
  const std::string rows = "((16,4),2):((128,16),64)";
  const Verdict plain = prove_conflict_free(rows, "ds_read_b128", "MI300X");
  const Verdict swizzled = prove_conflict_free("Sw<3,4,3> o 0 o " + rows, "ds_read_b128", "MI300X");
  std::cout << plain.summary() << "\n" << swizzled.summary() << "\n";
  // [banks end]
  expect(plain.outcome == Outcome::refuted && swizzled.outcome == Outcome::proved, "the swizzle helps");
}
