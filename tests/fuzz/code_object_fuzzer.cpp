// Any bytes at all: the code-object reader answers with a value or one CodeObjectError, and whatever it accepts can be
// reported, packed for and compared without looking outside the file.
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/isa/compare.h>
#include <inlay/runtime/kernarg.h>

#include <cstdio>
#include <cstdlib>

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inlay::runtime;
  if (size > 65536) return 0;
  try {
    const auto object = CodeObject::parse({data, data + size});
    const auto begin = object.bytes().data(), end = begin + object.bytes().size();
    std::size_t reported = 0;
    for (const Kernel& k : object.kernels()) {
      const auto code = object.code(k);
      require(code.data() >= begin && code.data() + code.size() <= end, "code outside the file");
      for (const auto& a : k.arguments)
        require(a.offset + a.size <= k.kernarg_bytes, "argument outside its segment");
      (void)signature(k);
      std::vector<Argument> arguments;
      for (const auto& w : visible_arguments(k)) {
        arguments.push_back(w.pointer() ? Argument::pointer(0) : Argument::u32(0));
        arguments.back().bytes.resize(w.size);
      }
      try {
        require(pack_arguments(k, arguments, {}).size() >= k.kernarg_bytes, "segment too small");
      } catch (const ArgumentError&) { // a pointer of 4 bytes, say
      }
      if (++reported <= 2) {
        const auto r = isa::report(object, k);
        require(isa::compare(r, r).passes(), "a kernel is worse than itself");
        (void)isa::to_text(r);
      }
    }
    for (const Section& s : object.sections())
      require(s.bytes.empty() || (s.bytes.data() >= begin && s.bytes.data() + s.bytes.size() <= end),
              "section outside the file");
    for (const Segment& s : object.segments())
      require(s.memory_bytes >= s.bytes.size(), "segment larger in the file");
  } catch (const CodeObjectError& e) {
    require(!e.hint().empty(), "error without a hint");
  }
  return 0;
}
