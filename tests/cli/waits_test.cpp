// Our kernels without any one of their s_waitcnt and s_barrier: noticed, by a sanitizer or by differing bits under stress.
#include "../undecided.h"
#include "launch.h"

#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/block_scale/spec.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/moe/spec.h>
#include <inlay/kernels/rows/spec.h>
#include <inlay/kernels/weight_only/spec.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/symbolic/order.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

namespace waits_test {

using namespace inlay;
using namespace inlay::kernels;

namespace {

struct Outcome {
  std::vector<Bytes> after;
  bool failed = false;
  std::size_t findings = 0;
};

Outcome run(const Artifact& kernel, const Problem& problem, runtime::EmulatorOptions options) {
  options.max_wave_instructions = 3'000'000;
  const auto device = cli::open_device("emulator", kernel.arch, options);
  cli::LoadedProblem loaded(*device, kernel, problem);
  Outcome out;
  try {
    loaded.launch();
  } catch (const runtime::ExecutionError&) {
    out.failed = true;
  }
  out.after = loaded.read();
  for (const auto& f : dynamic_cast<runtime::EmulatorDevice&>(*device).last_launch().findings)
    out.findings += f.note ? 0 : 1;
  return out;
}

/// Where the waits and barriers are that a launch of `problem` executes: text and byte of the file, by address.
struct Site {
  std::string text;
  std::size_t byte = 0;
  bool some = false; ///< for some waves: a branch goes past it
};
std::map<std::uint64_t, Site> sites(const Artifact& kernel, const Problem& problem) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(kernel.hsaco.data());
  const auto object = runtime::CodeObject::parse({begin, begin + kernel.hsaco.size()}, kernel.arch);
  const auto& k = object.kernel(kernel.kernel);
  const auto program = runtime::isa::decode(object.code(k), k.address, runtime::isa::parse_arch(kernel.arch));
  std::map<std::uint64_t, Site> all, executed;
  runtime::EmulatorOptions options;
  bool branch = false; // the instruction before
  for (const auto& i : program.instructions) {
    const bool past = std::exchange(branch, i.mnemonic == "s_cbranch_scc1");
    if (i.mnemonic != "s_waitcnt" && i.mnemonic != "s_barrier") continue;
    all[i.address] = {i.text,
                      static_cast<std::size_t>(object.code(k).data() - object.bytes().data()) +
                          (i.address - k.address),
                      past};
    options.debug.breakpoints.push_back({i.address, {}});
  }
  options.debug.on_break = [&](const runtime::BreakHit& hit) {
    executed.insert(*all.find(hit.site.address));
  };
  (void)run(kernel, problem, options);
  return executed;
}

/// What the static checker, which shares nothing with the emulator's sanitizers, says for all sizes and schedules.
runtime::symbolic::OrderReport statically(const Artifact& kernel) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(kernel.hsaco.data());
  const auto object = runtime::CodeObject::parse({begin, begin + kernel.hsaco.size()}, kernel.arch);
  runtime::symbolic::OrderOptions options;
  options.first = true;
  for (const codegen::Tensor& t : kernel.source->code.program->tensors())
    if (t.space == codegen::Space::global && !t.output) options.read_only.push_back(t.name);
  return runtime::symbolic::check_order(object, object.kernel(kernel.kernel), options);
}

/// A launch, and what it leaves in the first buffer.
struct Case {
  Problem problem;
  Bytes plain;
};
/// The launches of a kernel as it is, of which nothing is said; and the waits and barriers that they execute.
std::pair<std::vector<Case>, std::map<std::uint64_t, Site>>
cases_of(const std::string& name, const Artifact& kernel, std::vector<Problem> problems) {
  std::vector<Case> cases;
  std::map<std::uint64_t, Site> places;
  for (Problem& problem : problems) {
    Case c{std::move(problem), {}};
    const Outcome plain = run(kernel, c.problem, {});
    INFO(name << ": " << c.problem.text);
    REQUIRE(c.problem.check(plain.after).ok);
    runtime::EmulatorOptions strict, shuffled;
    strict.checks = runtime::Checks::all();
    shuffled.stress = true;
    CHECK(run(kernel, c.problem, strict).findings == 0);
    CHECK(run(kernel, c.problem, shuffled).after == plain.after);
    places.merge(sites(kernel, c.problem));
    c.plain = plain.after.at(0);
    cases.push_back(std::move(c));
  }
  CHECK_FALSE(places.empty());
  return {std::move(cases), std::move(places)};
}
Artifact without(const Artifact& kernel, const Site& site) {
  Artifact mutant = kernel;
  const std::uint32_t nop = 0xbf800000;
  std::memcpy(mutant.hsaco.data() + site.byte, &nop, 4);
  return mutant;
}
/// By a sanitizer in one of the launches, or by differing bits under stress.
bool caught(const Artifact& mutant, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    runtime::EmulatorOptions checked;
    checked.checks = runtime::Checks::all();
    const Outcome sanitized = run(mutant, c.problem, checked);
    if (sanitized.failed || sanitized.findings != 0) return true;
  }
  for (const Case& c : cases)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      runtime::EmulatorOptions stress;
      stress.stress = true;
      stress.seed = seed;
      const Outcome hostile = run(mutant, c.problem, stress);
      if (hostile.failed || hostile.after.at(0) != c.plain) return true;
    }
  return false;
}

/// Each wait and barrier that these launches execute, gone: caught by a sanitizer, by differing bits under stress, or shown
/// redundant by the static checker. The two hands agree: what runs wrong somewhere is refuted for all schedules, and what is
/// not caught is a wait that LLVM places where paths join, for what only one of them left open.
/// `phases`: barriers of a loop may be there to keep halves of the waves apart, and nothing else.
void every_wait_counts(const std::string& name, const Artifact& kernel, std::vector<Problem> problems,
                       bool phases = false) {
  const auto [cases, places] = cases_of(name, kernel, std::move(problems));
  int missed = 0, kept = 0,
      halves = 0; // barriers that are missed, that nothing depends on, that half of the waves run
  for (const auto& [address, site] : places) {
    const Artifact mutant = without(kernel, site);
    const bool noticed = caught(mutant, cases);
    INFO(fmt::format("{}: without {} at {:#x}", name, site.text, address));
    using runtime::symbolic::Verdict;
    const auto order = statically(mutant);
    // Of a register that only a full counter says is filled the emulator, where the issue stalls, has nothing to say.
    const bool full = !noticed && !order.findings.empty() &&
                      std::all_of(order.findings.begin(), order.findings.end(), [](const auto& f) {
                        return f.message.find("fill the counter") != std::string::npos;
                      });
    CHECK(order.verdict == (noticed || full ? Verdict::refuted : Verdict::validated));
    const bool wait = site.text.rfind("s_waitcnt", 0) == 0;
    CHECK((noticed || wait || (phases && !site.some)));
    (noticed ? missed : kept) += !wait;
    halves += site.some;
  }
  if (!phases) return;
  CHECK(missed > 0);
  CHECK(kept > 0);
  CHECK(halves >= 2); // one before the loop, one after each of its exits
}

} // namespace

TEST_CASE("every wait and barrier of our GEMMs is missed when it is gone") {
  struct Variant {
    const char* name;
    int mfma;
    bool preshuffled;
    const char* loops = "ir"; // as a block of assembly, registers and waits are all ours
    bool transfer = false;    // gfx950: 16 bytes a lane, gfx942: 4
    int rows = 64;            // 48: 8 bytes a work-item and copy
    int tile_k = 64;          // 256 (gfx942: 128): two stages of transfers, tiles apart
    bool stagger = false;     // those of either half of the waves
  };
  for (const char* arch : {"gfx942", "gfx950"}) {
    for (const Variant& v : {Variant{"16 rows", 16, false},
                             {"32 rows", 32, false},
                             {"preshuffled", 16, true},
                             {"16 rows, asm", 16, false, "asm"},
                             {"preshuffled, tile of 48", 16, true, "asm", false, 48},
                             {"preshuffled, asm", 16, true, "asm"},
                             {"transfers", 16, false, "asm", true},
                             {"transfers, two stages", 16, false, "asm", true, 64, 256},
                             {"preshuffled, transfers", 16, true, "asm", true},
                             {"16 rows, staggered", 16, false, "asm", false, 64, 64, true},
                             {"preshuffled, transfers, staggered", 16, true, "asm", true, 64, 64, true}}) {
      GemmSpec spec;
      spec.arch = arch;
      spec.mfma = v.mfma;
      spec.preshuffled_b = v.preshuffled;
      spec.transfer = v.transfer;
      spec.stagger = v.stagger;
      const int tile_k = arch == std::string("gfx942") ? std::min(v.tile_k, 128) : v.tile_k;
      spec.tile_m = v.rows, spec.tile_n = 64, spec.tile_k = tile_k;
      if (v.preshuffled) spec.waves_m = 1, spec.waves_n = 4;
      const Artifact kernel = build_gemm(spec, {.loops = v.loops});
      // Whole tiles and the edges of each dimension; one tile of K, an even and an odd number: every exit of the loop.
      std::vector<Problem> problems;
      const int n = v.preshuffled ? 80 : 72, odd = v.preshuffled ? 16 : 8;
      // A row of C that is no whole number of vectors is stored by other code.
      for (const int k : {4 * tile_k + 4 * odd, tile_k, 5 * tile_k})
        problems.push_back(
            gemm_problem(spec, 100, k > 4 * tile_k + 4 * odd && !v.preshuffled ? n - 2 : n, k, 3));
      every_wait_counts(fmt::format("{} {}", arch, v.name), kernel, std::move(problems));
    }
  }
}

TEST_CASE("every wait and barrier of operands past LDS and of deep pipelines is missed when it is gone") {
  const auto counts = [](const char* name, const GemmSpec& spec) {
    const Artifact kernel = build_gemm(spec, {.loops = "asm"});
    std::vector<Problem> problems;
    for (const int trips : {1, 2, 3, 4, 5}) // every exit of the loop
      for (const int n : {72, 70})
        problems.push_back(gemm_problem(spec, 100, n, trips * spec.tile_k - (trips % 2 ? 0 : 24), 5));
    every_wait_counts(name, kernel, std::move(problems));
  };
  GemmSpec spec;
  spec.tile_m = spec.tile_n = 64;
  spec.direct = GemmSpec::Direct::a, spec.waves_m = 4, spec.waves_n = 1;
  counts("A past LDS", spec);
  spec.arch = "gfx950", spec.transfer = true;
  spec.direct = GemmSpec::Direct::b, spec.waves_m = 1, spec.waves_n = 4;
  counts("B past LDS", spec);
  spec = GemmSpec();
  spec.tile_m = spec.tile_n = 64, spec.tile_k = 32;
  spec.depth = codegen::parse_depth("lead 3, trips 3");
  counts("deep", spec);
}

TEST_CASE(
    "every wait of ping-pong loops is missed when it is gone, and every barrier that orders something") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    GemmSpec spec;
    spec.arch = arch;
    spec.tile_m = 64, spec.tile_n = 128, spec.tile_k = arch == std::string("gfx942") ? 32 : 64;
    spec.waves_m = 2, spec.waves_n = 4, spec.stages = 2;
    spec.transfer = spec.pingpong = true;
    const Artifact kernel = build_gemm(spec);
    std::vector<Problem> problems;
    for (const int trips : {5, 1, 2, 4}) // every exit of the loop
      problems.push_back(
          gemm_problem(spec, 60, trips % 2 ? 120 : 118, trips * spec.tile_k - (trips % 2 ? 0 : 8), 5));
    every_wait_counts(fmt::format("{} ping-pong", arch), kernel, std::move(problems), true);
  }
}

TEST_CASE("every wait and barrier of products with scales of 32 k is missed when it is gone") {
  for (const bool preshuffled : {false, true})
    for (const char* loops : {"ir", "asm"}) {
      GemmSpec spec;
      spec.arch = "gfx950";
      spec.in = codegen::Element::e2m1, spec.out = codegen::Element::f32;
      spec.preshuffled_b = preshuffled;
      spec.transfer = loops[0] == 'a';
      spec.tile_m = spec.tile_n = spec.transfer ? 128 : 64; // scales by LDS, too
      spec.tile_k = 256;
      const Artifact kernel = build_gemm(spec, {.loops = loops});
      std::vector<Problem> problems;
      for (const int k : {1536, 256, 512, 768})
        problems.push_back(gemm_problem(spec, 100, preshuffled ? 80 : 72, k, 3));
      every_wait_counts(fmt::format("fp4, {}{}", loops, preshuffled ? ", preshuffled" : ""), kernel,
                        std::move(problems));
    }
  // Of 6 bits, whose reads are three instructions each.
  const Undecided validation;
  GemmSpec spec;
  spec.arch = "gfx950";
  spec.in = codegen::Element::e2m3, spec.out = codegen::Element::f32;
  spec.transfer = true;
  spec.tile_m = spec.tile_n = 64, spec.tile_k = 256;
  std::vector<Problem> problems;
  for (const int k : {1536, 256, 512, 768}) problems.push_back(gemm_problem(spec, 100, 72, k, 3));
  every_wait_counts("mxfp6", build_gemm(spec, {.loops = "asm"}), std::move(problems));
}

TEST_CASE("every wait and barrier of gathers, scaled products and attention is missed when it is gone") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    MoeSpec moe;
    moe.arch = arch;
    moe.tile_m = moe.tile_n = moe.tile_k = 32;
    moe.waves_n = 1;
    every_wait_counts(fmt::format("{} moe_stage1", arch), kernels::build(moe_stage1_program(moe)),
                      {moe_stage1_problem(moe, {20, 232, 40, 3, 150}, 1),
                       moe_stage1_problem(moe, {9, 24, 32, 2, 40}, 2),
                       moe_stage1_problem(moe, {9, 64, 32, 2, 40}, 3)});
    every_wait_counts(fmt::format("{} moe_stage2", arch), kernels::build(moe_stage2_program(moe)),
                      {moe_stage2_problem(moe, {20, 40, 232, 3, 160}, 1),
                       moe_stage2_problem(moe, {9, 32, 24, 2, 64}, 2),
                       moe_stage2_problem(moe, {9, 32, 64, 2, 64}, 3)});
    BlockScaleSpec scaled;
    scaled.arch = arch;
    scaled.tile_m = 32;
    scaled.waves_m = 1;
    every_wait_counts(
        fmt::format("{} block_scale_gemm", arch), kernels::build(block_scale_gemm_program(scaled)),
        {block_scale_gemm_problem(scaled, 40, 144, 896, 1), block_scale_gemm_problem(scaled, 33, 16, 128, 2),
         block_scale_gemm_problem(scaled, 8, 128, 768, 3)});
    scaled.tile_m = 128;
    scaled.waves_m = BlockScaleSpec().waves_m;
    std::vector<Problem> tall;
    for (const int k : {128, 256, 384, 512, 640})
      tall.push_back(block_scale_gemm_problem(scaled, 130, 144, k, k));
    every_wait_counts(fmt::format("{} block_scale_gemm of 128 rows", arch),
                      kernels::build(block_scale_gemm_program(scaled)), std::move(tall));
    WeightOnlySpec weights;
    weights.arch = arch;
    weights.group = 32;
    std::vector<Problem> of_weights = {weight_only_gemm_problem(weights, 33, 16, 32, 2)};
    for (const int k : {64, 96, 128, 160, 192, 224}) // what is left open differs with the trips
      of_weights.push_back(weight_only_gemm_problem(weights, 40, 72, k, k));
    every_wait_counts(fmt::format("{} weight_only_gemm", arch),
                      kernels::build(weight_only_gemm_program(weights)), of_weights);
    AttentionSpec attention;
    attention.arch = arch;
    attention.head_dim = 64;
    attention.tile_q = 32;
    attention.tile_k = 32;
    attention.waves = 2;
    attention.causal = true;
    attention.group = 2;
    every_wait_counts(fmt::format("{} flash_attention", arch),
                      kernels::build(flash_attention_program(attention)),
                      // One to five tiles of keys, by the rows of the workgroup.
                      {flash_attention_problem(attention, {1, 130, 200, 2}, 1),
                       flash_attention_problem(attention, {2, 20, 20, 2}, 2),
                       flash_attention_problem(attention, {1, 70, 170, 2}, 3),
                       flash_attention_problem(attention, {1, 33, 64, 2}, 4)});
  }
}

TEST_CASE("every wait and barrier of rows is missed when it is gone") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    RowSpec rows;
    rows.arch = arch;
    rows.threads = 256, rows.vectors = 1;
    every_wait_counts(fmt::format("{} silu_and_mul", arch), build_silu_and_mul(rows),
                      {silu_and_mul_problem(rows, 2, 2056, 1), silu_and_mul_problem(rows, 3, 8, 2)});
    RowSpec streamed = rows;
    streamed.streamed = true;
    every_wait_counts(fmt::format("{} softmax, streamed", arch), build_softmax(streamed),
                      {softmax_problem(streamed, 3, 4104, 1), softmax_problem(streamed, 2, 72, 2)});
    rows.residual = true;
    every_wait_counts(fmt::format("{} rmsnorm", arch), build_rmsnorm(rows),
                      {rmsnorm_problem(rows, 3, 2048, 1), rmsnorm_problem(rows, 2, 72, 2)});
    rows.quantised = Element::i8;
    every_wait_counts(fmt::format("{} layernorm", arch), build_layernorm(rows),
                      {layernorm_problem(rows, 3, 2048, 1), layernorm_problem(rows, 2, 72, 2)});
  }
}

TEST_CASE(
    "every barrier and wait of shares is missed when it is gone, those before a workgroup's next tile, too") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const char* loops : {"ir", "asm"})
      for (const bool transfer : {false, true}) {
        if (transfer && loops == std::string("ir")) continue;
        GemmSpec spec;
        spec.arch = arch;
        spec.in = Element::i8, spec.out = Element::i32; // the same bits in any order
        spec.tile_m = spec.tile_n = 64, spec.tile_k = 64;
        spec.transfer = transfer, spec.workers = 3;
        const Artifact kernel = build_gemm(spec, {.loops = loops});
        std::vector<Problem> problems;
        for (const auto& [m, n, k] : {std::tuple{130, 72, 320}, {64, 64, 64}, {200, 130, 144}})
          problems.push_back(gemm_problem(spec, m, n, k, 1));
        const std::string name = fmt::format("{} {}{}", arch, loops, transfer ? ", transfers" : "");
        const auto [cases, places] = cases_of(name, kernel, std::move(problems));
        for (const auto& [address, site] : places) {
          INFO(fmt::format("{}: without {} at {:#x}", name, site.text, address));
          CHECK(caught(without(kernel, site), cases));
        }
      }
}

TEST_CASE("all that orders a ticket is missed when it is gone: write-back, waits, barriers, and the cleared "
          "caches") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    GemmSpec spec;
    spec.arch = arch;
    spec.tile_m = spec.tile_n = 64, spec.tile_k = 32;
    spec.split = 96, spec.gather = true;
    const Artifact kernel = build_gemm(spec, {.loops = "ir"});
    const Problem problem = gemm_problem(spec, 70, 64, 256, 1);
    const auto* begin = reinterpret_cast<const std::uint8_t*>(kernel.hsaco.data());
    const auto object = runtime::CodeObject::parse({begin, begin + kernel.hsaco.size()}, kernel.arch);
    const auto& k = object.kernel(kernel.kernel);
    const auto program =
        runtime::isa::decode(object.code(k), k.address, runtime::isa::parse_arch(kernel.arch));
    const std::size_t first = static_cast<std::size_t>(object.code(k).data() - object.bytes().data());
    runtime::EmulatorOptions strict;
    strict.checks = runtime::Checks::all();
    CHECK(run(kernel, problem, strict).findings == 0);
    std::map<std::string, int> gone;
    bool within = false;
    for (const auto& i : program.instructions) {
      within = within || i.mnemonic == "buffer_wbl2";
      if (!within || (i.mnemonic != "s_waitcnt" && i.mnemonic != "s_barrier" && i.mnemonic != "buffer_wbl2" &&
                      i.mnemonic != "buffer_inv"))
        continue;
      Artifact mutant = kernel;
      const std::uint32_t nop = 0xbf800000;
      for (std::size_t at = 0; at < i.size; at += 4)
        std::memcpy(mutant.hsaco.data() + first + (i.address - k.address) + at, &nop, 4);
      const Outcome sanitized = run(mutant, problem, strict);
      INFO(fmt::format("{}: without {} at {:#x}", arch, i.text, i.address));
      CHECK((sanitized.failed || sanitized.findings != 0));
      ++gone[std::string(i.mnemonic)];
      if (i.mnemonic == "buffer_inv") break;
    }
    CHECK(gone["buffer_wbl2"] == 1);
    CHECK(gone["buffer_inv"] == 1);
    CHECK(gone["s_barrier"] == 2);
    CHECK(gone["s_waitcnt"] >= 3);
  }
}

} // namespace waits_test
