// What a machine has: the code generator's table and the report's.
#include <inlay/codegen/target.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/runtime/isa/report.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace inlay;
namespace isa = runtime::isa;

TEST_CASE("both tables of machines say the same") {
  for (const codegen::Target& t : codegen::Target::all()) {
    INFO(t.name);
    const isa::Arch arch = isa::parse_arch(std::string(t.name));
    const isa::Machine m = isa::machine(arch);
    CHECK(static_cast<unsigned>(t.simds) == m.simds);
    CHECK(static_cast<unsigned>(t.max_waves_per_simd) == m.waves_per_simd);
    CHECK(static_cast<unsigned>(t.registers_per_simd_lane) == m.vector_registers);
    CHECK(static_cast<unsigned>(t.register_granule) == m.vector_granule);
    CHECK(static_cast<unsigned>(t.lds_bytes) == m.lds_bytes);
    for (int registers = 1; registers <= t.registers_per_simd_lane; ++registers) {
      INFO(registers << " registers");
      CHECK(static_cast<unsigned>(t.occupancy(registers)) ==
            isa::occupancy(static_cast<unsigned>(registers), 0, 64, arch).waves_per_simd);
    }
  }
}

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
