// Machine code in which groups of waves do different things: validated, and not when one of them does something else.
#include "role_product.h"

#include <inlay/codegen/atoms.h>
#include <inlay/codegen/target.h>
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/validate/code.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>

namespace roles_test {

using namespace inlay;
using namespace inlay::codegen;
using kernels::validate::CodeOptions, kernels::validate::CodeReport, kernels::validate::validate_code;
using Verdict = runtime::symbolic::Verdict;

namespace {

/// C for two sizes, with memory as slow as may be.
std::vector<kernels::Bytes> outputs(const kernels::Artifact& a) {
  std::vector<kernels::Bytes> out;
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{70, 64, 200}, {64, 3, 64}, {33, 70, 384}}) {
    std::vector<kernels::Bytes> buffers(3);
    buffers[0].resize(static_cast<std::size_t>(4 * sizes[0] * sizes[1]));
    for (const int side : {0, 1})
      for (std::int64_t i = 0; i < sizes[static_cast<std::size_t>(side)] * sizes[2]; ++i) {
        const auto code = encode(Element::f16, static_cast<double>((i * 37 + side) % 41 - 20) / 8);
        for (int b = 0; b < 2; ++b)
          buffers[static_cast<std::size_t>(1 + side)].push_back(static_cast<std::byte>(code >> (8 * b)));
      }
    runtime::EmulatorOptions o;
    o.checks = runtime::Checks::all();
    o.stress = true;
    out.push_back(kernels::run(*kernels::open_device("emulator", a.arch, o), a, buffers, sizes)[0]);
  }
  return out;
}

} // namespace

TEST_CASE("roles: machine code is validated, and not when a wave does something else") {
  for (const Pipeline& pipeline : {Pipeline{0, 1}, Pipeline{2, 2}}) {
    const kernels::Artifact a = kernels::build(role_product::product("gfx942", pipeline));
    const auto validated = [&](const kernels::Bytes& bytes, bool numbers_first) {
      const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
      const auto object = runtime::CodeObject::parse({p, p + bytes.size()});
      CodeOptions o;
      o.first_runs = numbers_first ? o.refuter_runs : 0;
      return validate_code(object, object.kernel(a.kernel), a.source->code, o);
    };
    const CodeReport good = validated(a.hsaco, true);
    INFO((good.undecided.empty() ? "" : good.undecided[0]));
    CHECK(good.verdict == Verdict::validated);
    CHECK(good.loops == 1);
    if (pipeline.ring == 1) continue;
    // Each branch the other way around, each barrier and wait gone, another operand, place or stage.
    const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
    const auto object = runtime::CodeObject::parse({p, p + a.hsaco.size()});
    const auto& section = object.sections()[object.kernel(a.kernel).section];
    const auto program =
        runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
    const auto at = std::search(p, p + a.hsaco.size(), section.bytes.begin(), section.bytes.end()) - p;
    std::map<std::string, std::pair<int, int>> counts; // not validated, tried
    std::map<std::string, int> seen;
    int same = 0;
    for (const auto& i : program.instructions) {
      const std::string n(i.mnemonic);
      if (n == "s_code_end") break;
      std::vector<std::uint8_t> code = i.encoding;
      if (n.starts_with("s_cbranch_scc") || n == "s_cbranch_vccnz" || n == "s_cbranch_vccz")
        code[2] ^= 1;
      else if (n == "s_barrier")
        code = {0x00, 0x00, 0x80, 0xbf};
      else if ((n.starts_with("v_mfma") || n.starts_with("ds_read")) && ++seen[n] % 12 == 1)
        n.starts_with("v_mfma") ? code[4] ^= 4 : code[0] ^= 0x40; // the first operand; 64 bytes further on
      else if (n.starts_with("ds_write") && ++seen[n] % 4 == 1)
        code[0] ^= 0x40;
      else if (n.starts_with("buffer_load") && ++seen[n] % 4 == 1)
        code[0] ^= 0x10;
      else if (n.starts_with("v_readfirstlane") || n.starts_with("s_cmp_gt_u32") ||
               n.starts_with("s_cmp_lt_u32"))
        code[0] ^= 1;
      else
        continue;
      kernels::Bytes bytes = a.hsaco;
      std::memcpy(bytes.data() + at + static_cast<std::ptrdiff_t>(i.address - program.begin), code.data(),
                  code.size());
      const CodeReport r = validated(bytes, true);
      INFO(i.text << " at " << i.address);
      if (r.verdict == Verdict::validated) { // a producer that multiplies what it holds, and stores nothing
        kernels::Artifact changed = a;
        changed.hsaco = bytes;
        CHECK(outputs(changed) == outputs(a));
        ++same;
        continue;
      }
      auto& [caught, tried] = counts[n.substr(0, 6)];
      ++tried;
      caught += r.verdict == Verdict::refuted ? 1 : 0;
    }
    CHECK(counts.size() >= 5);
    CHECK(same <= 2);
    for (const auto& [n, c] : counts) {
      INFO(n << " " << c.first << " of " << c.second);
      CHECK(2 * c.first > c.second); // most with a counterexample in numbers
    }
  }
}

} // namespace roles_test
