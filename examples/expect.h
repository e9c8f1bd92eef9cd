// Examples assert what they print: a wrong line ends the program with status 1.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>

inline void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "not as expected: " << what << "\n";
  std::exit(1);
}
