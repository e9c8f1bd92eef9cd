// `inlay atoms`: the table as text, data and pictures.
#include "inlay_command.h"

#include <catch2/catch.hpp>
#include <inlay/algebra/print.h>
#include <inlay/codegen/atoms.h>
#include <nlohmann/json.hpp>

namespace atoms_test {

using namespace inlay::codegen;

TEST_CASE("the list as JSON is the table") {
  for (const std::string arch : {"gfx942", "gfx950"}) {
    const Ran ran = inlay_command({"atoms", "--arch", arch, "--json"});
    REQUIRE(ran.exit == 0);
    const auto list = nlohmann::json::parse(ran.out);
    const auto table = Atom::on(Target::named(arch));
    REQUIRE(list.size() == table.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      const Atom& a = *table[i];
      const auto& j = list[i];
      INFO(a.name);
      CHECK(j["name"] == a.name);
      CHECK(j["llvm"]["name"] == a.emission.name);
      if (a.mma) {
        CHECK(j["a"]["layout"] == to_string(a.mma->a));
        CHECK(j["b"]["layout"] == to_string(a.mma->b));
        CHECK(j["c"]["layout"] == to_string(a.mma->c));
        CHECK(j["a"]["element"] == to_string(a.mma->a_element));
        CHECK(j["passes"] == a.mma->passes);
      } else {
        CHECK(j["source"]["data"] == to_string(a.source.data));
        CHECK(j["destination"]["address"] == to_string(a.destination.address));
        CHECK(j["forced_place"] == a.forced_place());
      }
    }
  }
}

TEST_CASE("a whole name gives every fact of it, a part a list") {
  const Ran one = inlay_command({"atoms", "v_mfma_f32_16x16x32_f16"});
  CHECK(one.exit == 0);
  CHECK(one.out.find("on gfx950\n") != std::string::npos);
  CHECK(one.out.find("((16,4),8):((1@0,8@1),1@1)   8 values in 4 registers") != std::string::npos);
  CHECK(one.out.find("4 passes, 16 clocks") != std::string::npos);
  CHECK(one.out.find("llvm.amdgcn.mfma.f32.16x16x32.f16(") != std::string::npos);
  // A name that is the beginning of others is still that one.
  const Ran exact = inlay_command({"atoms", "v_mfma_f32_16x16x128_f8f6f4", "--arch", "gfx950"});
  CHECK(exact.out.find("cbsz:") == std::string::npos);
  const Ran part = inlay_command({"atoms", "16x16x128_f8f6f4", "--arch", "gfx950"});
  CHECK(part.out.find("v_mfma_scale_f32_16x16x128_f8f6f4 cbsz:4 blgp:4") != std::string::npos);
  const Ran typed = inlay_command({"atoms", "--kind", "mma", "--type", "fp8", "--arch", "gfx942"});
  CHECK(typed.exit == 0);
  CHECK(typed.out.find("v_mfma_f32_16x16x32_fp8_bf8") != std::string::npos);
  CHECK(typed.out.find("_f16 ") == std::string::npos);
}

TEST_CASE("pictures show who holds what") {
  const Ran ran = inlay_command({"atoms", "v_mfma_f32_16x16x16_f16", "--arch", "gfx942", "--draw"});
  CHECK(ran.exit == 0);
  // Row 1, column 4 of A is value 0 of lane 17: column 4, row 1 of the first picture.
  CHECK(ran.out.find("1 |  T1V0  T1V1  T1V2  T1V3 T17V0") != std::string::npos);
  for (const Target& target : Target::all())
    for (const Atom* a : Atom::on(target)) {
      INFO(a->name);
      CHECK(inlay_command({"atoms", a->name, "--arch", std::string(target.name), "--draw"}).exit == 0);
    }
  CHECK(inlay_command({"atoms", "v_mfma_f64_4x4x4_4b_f64", "--svg", "-"}).out.find("<svg") !=
        std::string::npos);
}

TEST_CASE("what is not there is said with what is") {
  const Ran other = inlay_command({"atoms", "ds_read_b64_tr_b16", "--arch", "gfx942"});
  CHECK(other.exit == 2);
  CHECK(other.err.find("gfx950 has it") != std::string::npos);
  const Ran near = inlay_command({"atoms", "ds_read_b256"});
  CHECK(near.exit == 2);
  CHECK(near.err.find("near: ds_read_b") != std::string::npos);
  CHECK(inlay_command({"atoms", "--arch", "gfx908"}).exit == 2);
  CHECK(inlay_command({"atoms", "--type", "fp8"}).err.find("e4m3fn (gfx950)") != std::string::npos);
  CHECK(inlay_command({"atoms", "--kind", "mma", "--type", "i64"}).exit == 2);
  CHECK(inlay_command({"atoms", "ds_read", "--draw"}).err.find("a whole name") != std::string::npos);
}

} // namespace atoms_test
