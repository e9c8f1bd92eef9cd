// How many waves a SIMD holds, and what compilers print beside their kernels.
#include <inlay/runtime/isa/assemble.h>
#include <inlay/runtime/isa/report.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace target_test {

using namespace inlay;
namespace isa = runtime::isa;

TEST_CASE("occupancy is what the compiler of a kernel printed beside it") {
  unsigned files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(INLAY_TESTS_DIR) / "isa/triton")) {
    std::ifstream stream(entry.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}}, label = "; Occupancy: ";
    const std::size_t at = text.find(label);
    if (at == std::string::npos) continue;
    ++files;
    INFO(entry.path().filename());
    const auto object =
        runtime::CodeObject::parse(isa::assemble_code_object(text, isa::target_of(text).value()));
    CHECK(isa::report(object, object.kernel("")).resources.waves_per_simd ==
          static_cast<unsigned>(std::stoi(text.substr(at + label.size()))));
  }
  CHECK(files >= 14);
}

} // namespace target_test
