// Defects that others shipped and published, and ours must not have: the same job, with every sanitizer and under hostile schedules.
#include "strict_launch.h"

#include <catch2/catch.hpp>
#include <sstream>

namespace published_test {

using namespace inlay;
using namespace inlay::kernels;
using Catch::Matchers::Contains;

namespace {

Flags flags_of(const std::string& text, const std::string& arch) {
  Flags flags = {{"arch", arch}};
  std::istringstream words(text);
  for (std::string name, value; words >> name >> value;) flags[name.substr(2)] = value;
  return flags;
}

/// The form, and the sizes of one launch each.
void right(const std::string& name, const std::string& form, const std::vector<std::string>& all_sizes,
           const std::vector<std::string>& archs = {"gfx942", "gfx950"}) {
  for (const std::string& arch : archs) {
    const auto kernel = find_kernel(name);
    const Flags options = flags_of(form, arch);
    INFO(name << " " << form << " " << arch);
    const Artifact artifact = kernel->build(options, {});
    for (const std::string& sizes : all_sizes) {
      INFO(sizes);
      Flags flags = flags_of(sizes, arch);
      flags.insert(options.begin(), options.end());
      expect_right(artifact, kernel->problem(flags, 5), true);
    }
  }
}

std::string refused(std::vector<std::string> words) {
  const Ran ran = inlay_run(std::move(words));
  CHECK(ran.exit == 2);
  return ran.err;
}

} // namespace

// AITER 5781: a GEMM of one row and a short K gives wrong results.
TEST_CASE("published: one row, and a K of one vector or little more") {
  right("gemm", "--tile 64x64x64", {"--m 1 --n 1 --k 8", "--m 1 --n 130 --k 8", "--m 1 --n 7 --k 72"});
  right("gemm", "--tile 16x16x256 --waves 1x1 --direct-to-vgpr b",
        {"--m 1 --n 1 --k 8", "--m 1 --n 40 --k 264"});
  right("gemm", "--dtype fp8 --tile 64x64x64 --scales yes", {"--m 1 --n 1 --k 16", "--m 1 --n 70 --k 80"});
  right("gemm", "--dtype i8 --tile 64x64x64", {"--m 1 --n 1 --k 16", "--m 1 --n 70 --k 80"});
  right("gemm", "--dtype fp4", {"--m 1 --n 1 --k 256"}, {"gfx950"});
  right("gemm", "--layout nn --tile 64x64x64", {"--m 1 --n 8 --k 8"});
  right("preshuffle_gemm", "--tile 16x64x64", {"--m 1 --n 16 --k 32", "--m 1 --n 80 --k 96"});
  right("block_scale_gemm", "--tile-m 32", {"--m 1 --n 16 --k 128"});
  right("weight_only_gemm", "--tile-m 64 --tile-n 64", {"--m 1 --n 4 --k 64"});
  right("gemv", "--m 1", {"--n 1 --k 8", "--n 9 --k 8"});
  right("grouped_gemm", "--dtype fp8", {"--m 1 --n 4 --k 16 --groups 1"});
}

// AITER 4867: parts of K that begin or end outside of it are read; AITER 3445: waves that load overwrite LDS that others still read.
TEST_CASE("published: parts of K that do not divide it, and a K shorter than a part") {
  const std::vector<std::string> sizes = {"--m 1 --n 4 --k 8", "--m 70 --n 68 --k 200",
                                          "--m 33 --n 72 --k 1096"};
  right("gemm", "--tile 64x64x64 --split 128 --split-k-fixup yes", sizes);
  right("gemm", "--tile 64x64x64 --split 128 --out f32", sizes);
  right("gemm", "--tile 64x64x64 --split 256 --split-k-fixup yes --split-k-at-once 4 --bias yes", sizes);
  right("gemm", "--tile 64x64x64 --stream-k-workgroups 5 --out f32", sizes);
  right("preshuffle_gemm", "--tile 16x64x64 --split 128 --split-k-fixup yes",
        {"--m 1 --n 16 --k 32", "--m 17 --n 80 --k 288"});
  right("gemm", "--dtype i8 --tile 64x64x64 --split 128", {"--m 1 --n 4 --k 16", "--m 70 --n 68 --k 208"});
}

// Scales of the last, partial block are read from the next row, or the block is left out.
TEST_CASE("published: a K that is no multiple of a scale's block is refused by its name") {
  CHECK_THAT(refused({"block_scale_gemm", "--k", "200"}), Contains("k = 200") && Contains("multiple of 128"));
  CHECK_THAT(refused({"weight_only_gemm", "--k", "96"}), Contains("k = 96") && Contains("multiple of 64"));
  CHECK_THAT(refused({"gemm", "--arch", "gfx950", "--dtype", "fp4", "--k", "288"}), Contains("k = 288"));
  CHECK_THAT(refused({"moe_stage1", "--dtype", "fp8", "--scales", "block", "--k", "272"}),
             Contains("k = 272"));
  CHECK_THAT(refused({"moe_stage2", "--dtype", "fp8", "--scales", "block", "--inter", "192"}),
             Contains("inter = 192"));
  CHECK_THAT(refused({"grouped_gemm", "--dtype", "fp8", "--scales", "block", "--k", "64"}),
             Contains("k = 64"));
  CHECK_THAT(refused({"quantise", "--block", "128", "--n", "1000"}), Contains("--n 1000"));
}

// Triton 11696: a barrier before the wait of a ping-pong loop; FlyDSL's fp8 GEMM of 8 waves: the last steps read what has not come.
TEST_CASE("published: eight waves in two phases, of bf16 and fp8") {
  const std::string eight = "--tile 128x128x64 --waves 2x4 --direct-to-lds yes";
  right("gemm", eight + " --pingpong yes", {"--m 130 --n 140 --k 72", "--m 9 --n 8 --k 328"}, {"gfx950"});
  right("gemm", "--dtype fp8 --tile 128x128x128 --waves 2x4 --direct-to-lds yes --scales yes",
        {"--m 130 --n 140 --k 144", "--m 9 --n 8 --k 656"}, {"gfx950"});
}

// AITER 3033: lanes store sums to other waves' rows; AITER 5561: MoE of 8 bits waits for scales in the place of a tile; FlyDSL 1137: tiles
// of K and V of fp8 attention are read before they have come.
TEST_CASE("published: sums of rows, experts of 8 bits with their scales, attention of 8 bits") {
  right("row_reduce", "--op squares --threads 256 --vectors 1", {"--m 3 --n 1000", "--m 1 --n 8"});
  for (const char* scales : {"row", "block"})
    right("moe_stage1", std::string("--dtype fp8 --scales ") + scales,
          {"--tokens 33 --k 384 --inter 144 --experts 3"});
  right("varlen_attention", "--dtype fp8", {"--sequences 8 --queries 70 --keys 192"});
  right("paged_decode", "--kv-dtype fp8 --split 64", {"--sequences 9 --keys 192"});
}

} // namespace published_test
