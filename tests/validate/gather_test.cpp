// `validate_code` where coordinates come from memory: rows through a table, numbers of the workgroup; and what takes longer.
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/build.h>
#include <inlay/validate/code.h>

#include <catch2/catch.hpp>

using namespace inlay;
using namespace inlay::kernels::validate;
using MachineVerdict = runtime::symbolic::Verdict;

namespace {

CodeReport validate(const kernels::Artifact& a, const codegen::Code& code) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
  const auto object = runtime::CodeObject::parse({p, p + a.hsaco.size()});
  return validate_code(object, object.kernel(a.kernel), code);
}

template <class Change>
codegen::Code changed(const codegen::Code& code, Change change) {
  codegen::Code out = code;
  bool any = false;
  for (auto& region : out.regions)
    for (auto* list : {&region.prologue, &region.body, &region.epilogue})
      for (auto& i : *list)
        if (i.kind == codegen::InstKind::load) any = change(i) || any;
  REQUIRE(any);
  return out;
}

} // namespace

TEST_CASE("rows through a table are validated; without their guard they are not") {
  const kernels::Artifact a = kernels::find_kernel("moe_stage1")->build({}, {});
  const codegen::Code& code = a.source->code;
  const CodeReport r = validate(a, code);
  INFO((r.refuted.empty() ? r.undecided.empty() ? "" : r.undecided[0] : r.refuted[0].message));
  CHECK(r.verdict == MachineVerdict::validated);
  CHECK(r.loops == 1);
  // The code's rows are not compared with the number of tokens.
  CHECK(validate(a, changed(code,
                            [](codegen::Inst& i) {
                              if (!i.access.gathered(0)) return false;
                              i.access.masked[0] = false;
                              return true;
                            }))
            .verdict != MachineVerdict::validated);
}

TEST_CASE("a word that may hold anything may be read and dropped") {
  // The upper half of a conversion to bf16 is of a scalar register with an old mask: it changes from trip to trip.
  kernels::AttentionSpec attention;
  attention.arch = "gfx950";
  const kernels::Artifact a = kernels::build(kernels::flash_attention_program(attention));
  const CodeReport r = validate(a, a.source->code);
  INFO((r.refuted.empty() ? r.undecided.empty() ? "" : r.undecided[0] : r.refuted[0].message));
  CHECK(r.verdict == MachineVerdict::validated);
  CHECK(r.loops == 1);
}
