// Any bytes at all: the parsers answer with a value or one LayoutError, and what they accept survives
// `parse(print(x)) == x`. The first byte chooses the parser.
#include <inlay/algebra/error.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

void require(bool holds, const char* what, std::string_view text) {
  if (holds) return;
  std::fprintf(stderr, "%s: '%.*s'\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 4) {
    case 0: {
      const inlay::Layout value = inlay::parse_layout(text);
      require(inlay::parse_layout(inlay::to_string(value)) == value, "layout", text);
      break;
    }
    case 1: {
      const inlay::IntTuple value = inlay::parse_int_tuple(text);
      require(inlay::parse_int_tuple(inlay::to_string(value)) == value, "int tuple", text);
      break;
    }
    case 2: {
      inlay::SymContext context;
      const inlay::SymLayout value = inlay::parse_sym_layout(context, text);
      require(inlay::parse_sym_layout(context, inlay::to_string(value)) == value, "symbolic layout", text);
      break;
    }
    default: {
      inlay::SymContext context;
      const inlay::Sym value = inlay::parse_sym(context, text);
      require(inlay::parse_sym(context, inlay::to_string(value)) == value, "formula", text);
    }
    }
  } catch (const inlay::LayoutError&) { // refused with one message: fine
  }
  return 0;
}
