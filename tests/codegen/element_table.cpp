// Answers questions about element types, for programs in other languages to check: lines `decode e4m3fn 126` and
// `encode e4m3fn 0x1.8p+3` on standard input, a line each on standard output: a number in hexadecimal (or nan, inf, -inf)
// and a code.
#include <inlay/codegen/element.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

int main() {
  using namespace inlay::codegen;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, name, value;
    words >> what >> name >> value;
    const Element e = parse_element(name);
    if (what == "decode")
      std::printf("%a\n", decode(e, std::strtoull(value.c_str(), nullptr, 10)));
    else
      std::printf("%" PRIu64 "\n", encode(e, std::strtod(value.c_str(), nullptr)));
  }
}
