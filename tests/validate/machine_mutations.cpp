// Machine code with one bit of one instruction flipped, again and again: it is refuted without being run, or it behaves the
// same on ten sizes.
//
//   machine_mutations [--sample N] [--first N] [--seed S] [--least PERCENT] [--kernels order|fp4|scales|branches|choices|integers|bits|options|windows|tables|turns|ahead|stream|blocks|recent|tops|parts|f64] [--budget STEPS] [--symbols-first] [--verbose]
//
// For each mutation: `refuted` (statically), `same` (not refuted, and the emulator's outputs are those of the kernel as it
// is, with memory as fast and as slow as may be), `rounded` (the same, but for rounding: all within the error bounds of the
// kernel's reference), `UNDECIDED` (not refuted, not validated, and it behaves differently),
// `WRONG` (validated, and it behaves differently). The last line is `caught X of N`, N being the mutations that change
// anything. Exit 1 when one is wrongly validated, when less than that (98 %) are caught or when a kernel as it is is not validated.
#include "sampling.h"

#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/validate/code.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>

using namespace inlay;
using runtime::symbolic::Verdict;

namespace {

struct Subject {
  std::string kernel;
  kernels::Flags flags;
  std::vector<kernels::Flags> sizes; ///< ten
};

std::vector<Subject> subjects(const std::string& more) {
  using Numbers = std::vector<std::vector<int>>;
  const auto shaped = [](const std::vector<std::string>& names, const Numbers& all) {
    std::vector<kernels::Flags> out;
    for (const auto& values : all) {
      out.emplace_back();
      for (std::size_t k = 0; k < names.size(); ++k) out.back()[names[k]] = std::to_string(values[k]);
    }
    return out;
  };
  const auto sizes = [&](const Numbers& all) { return shaped({"m", "n", "k"}, all); };
  const auto rows = [&](const Numbers& all) { return shaped({"m", "n"}, all); };
  const auto gemm = sizes({{1, 1, 8},
                           {64, 64, 64},
                           {65, 63, 72},
                           {100, 36, 128},
                           {33, 70, 200},
                           {64, 128, 256},
                           {17, 129, 320},
                           {130, 65, 64},
                           {96, 96, 136},
                           {5, 300, 24}});
  if (more == "fp4") // a machine's loop of two trips of the code, whose guards the path decides
    return {{"preshuffle_gemm",
             {{"tile", "32x32x256"}, {"waves", "1x1"}, {"arch", "gfx950"}, {"dtype", "fp4"}},
             sizes({{1, 16, 256},
                    {32, 32, 512},
                    {33, 48, 768},
                    {64, 64, 1024},
                    {5, 80, 1280},
                    {17, 16, 1536},
                    {40, 32, 1792},
                    {31, 96, 2048},
                    {65, 64, 2304},
                    {8, 112, 256}})}};
  if (more == "scales") // i32 sums, converted and scaled
    return {{"gemm",
             {{"tile", "32x32x64"}, {"waves", "1x1"}, {"dtype", "i8"}, {"scales", "yes"}, {"bias", "yes"}},
             sizes({{1, 1, 16},
                    {64, 64, 64},
                    {65, 63, 80},
                    {100, 36, 128},
                    {33, 70, 208},
                    {64, 128, 256},
                    {17, 129, 320},
                    {130, 65, 64},
                    {96, 96, 144},
                    {5, 300, 32}})}};
  if (more == "branches") { // workgroups after the rows in use
    const auto routed = shaped({"tokens", "experts", "k", "inter"}, {{1, 1, 8, 8},
                                                                     {20, 3, 64, 16},
                                                                     {33, 2, 72, 24},
                                                                     {7, 5, 128, 40},
                                                                     {64, 4, 136, 64},
                                                                     {3, 8, 200, 72},
                                                                     {50, 1, 64, 80},
                                                                     {16, 6, 32, 8},
                                                                     {90, 2, 96, 32},
                                                                     {5, 7, 40, 136}});
    return {{"moe_stage1", {{"tile-m", "32"}, {"arch", "gfx950"}}, routed},
            {"moe_stage2", {{"tile-m", "32"}}, routed}};
  }
  const auto of = [&](const char* name, const std::vector<int>& all) { // sizes of one name
    Numbers each;
    for (const int n : all) each.push_back({n});
    return shaped({name}, each);
  };
  const auto short_row =
      rows({{1, 8}, {2, 64}, {3, 512}, {2, 496}, {4, 504}, {1, 16}, {2, 264}, {1, 256}, {5, 24}, {3, 392}});
  const auto counts = of("m", {1, 2, 3, 5, 7, 8, 12, 17, 33, 40});
  const std::vector<Subject> choices{
      {"argmax", {{"threads", "64"}, {"vectors", "1"}, {"dtype", "bf16"}}, short_row},
      {"cross_entropy", {{"threads", "64"}, {"vectors", "1"}, {"arch", "gfx950"}}, short_row},
      {"topk_gating", {{"experts", "64"}, {"k", "2"}, {"renormalise", "no"}}, counts},
      {"gate_and_mul", {{"act", "gelu"}, {"threads", "64"}, {"dtype", "bf16"}}, short_row}};
  if (more == "choices") return choices; // by comparison of what has been loaded
  if (more == "integers") {
    const auto joined = shaped({"rows", "a", "b"}, {{1, 8, 8},
                                                    {2, 16, 504},
                                                    {3, 256, 512},
                                                    {1, 2040, 8},
                                                    {2, 2048, 16},
                                                    {1, 2056, 2048},
                                                    {5, 64, 8},
                                                    {1, 8, 4096},
                                                    {4, 24, 40},
                                                    {2, 1000, 1032}});
    const auto entries = shaped({"n", "experts"}, {{64, 1},
                                                   {128, 2},
                                                   {64, 3},
                                                   {192, 8},
                                                   {512, 64},
                                                   {64, 256},
                                                   {256, 17},
                                                   {320, 5},
                                                   {1024, 33},
                                                   {128, 100}});
    return {{"concat", {}, joined},
            {"concat", {{"dtype", "f32"}, {"arch", "gfx950"}}, joined},
            {"moe_blocks", {}, entries},
            {"moe_blocks", {{"block", "128"}, {"arch", "gfx950"}}, entries},
            {"moe_sort", {}, entries}};
  }
  if (more ==
      "bits") { // shifts, bits and high halves of products; registers that are spilled; base addresses of 64 bits
    const auto entries = shaped({"n", "experts"}, {{1, 1},
                                                   {64, 2},
                                                   {63, 3},
                                                   {200, 8},
                                                   {512, 64},
                                                   {65, 256},
                                                   {256, 17},
                                                   {333, 5},
                                                   {1000, 33},
                                                   {130, 100}});
    const auto parts = shaped({"sequences", "keys"}, {{1, 256},
                                                      {1, 1024},
                                                      {2, 1280},
                                                      {3, 3072},
                                                      {1, 5120},
                                                      {4, 512},
                                                      {2, 2048},
                                                      {1, 6144},
                                                      {5, 1536},
                                                      {2, 4096}});
    return {{"dropout", {{"threads", "64"}}, of("n", {8, 64, 512, 504, 520, 1024, 2000, 16, 5000, 4096})},
            {"dropout",
             {{"p", "0.7"}, {"threads", "64"}, {"dtype", "f32"}, {"arch", "gfx950"}},
             of("n", {4, 64, 256, 252, 260, 1024, 2000, 16, 5000, 4096})},
            {"moe_starts", {}, entries},
            {"mla_reduce", {{"heads", "16"}}, parts}};
  }
  if (more == "tables") { // pages by pointers of 64 bits, as many trips as memory says
    const auto sequences =
        shaped({"sequences", "queries", "keys", "pages", "kv-heads"}, {{1, 1, 32, 8, 1},
                                                                       {3, 20, 64, 40, 1},
                                                                       {2, 33, 96, 30, 2},
                                                                       {4, 7, 32, 9, 1},
                                                                       {1, 65, 160, 64, 1},
                                                                       {2, 16, 128, 20, 3},
                                                                       {5, 50, 64, 70, 1},
                                                                       {3, 5, 192, 50, 2},
                                                                       {2, 100, 128, 33, 1},
                                                                       {1, 31, 256, 300, 1}});
    return {{"varlen_attention",
             {{"tile-q", "16"}, {"waves", "1"}, {"tile-k", "32"}, {"head-dim", "64"}, {"page", "4"}},
             sequences},
            {"varlen_attention",
             {{"tile-q", "32"},
              {"waves", "2"},
              {"tile-k", "32"},
              {"head-dim", "64"},
              {"causal", "no"},
              {"group", "2"},
              {"page", "1"},
              {"arch", "gfx950"}},
             sequences},
            {"mla_decode",
             {{"split", "64"}, {"page", "8"}},
             shaped({"sequences", "keys", "pages"}, {{1, 64, 8},
                                                     {2, 128, 40},
                                                     {3, 64, 9},
                                                     {1, 256, 33},
                                                     {4, 128, 64},
                                                     {2, 192, 30},
                                                     {1, 320, 50},
                                                     {5, 64, 41},
                                                     {3, 128, 20},
                                                     {2, 256, 70}})}};
  }
  if (more ==
      "ahead") // loads of the next iteration whose guard the path decides, keys of 8 bits, addresses of 64 bits
    return {{"grouped_gemm",
             {{"dtype", "fp8"}, {"scales", "block"}},
             shaped({"m", "n", "k", "groups"}, {{64, 12, 128, 1},
                                                {64, 128, 256, 1},
                                                {128, 132, 384, 2},
                                                {192, 36, 512, 3},
                                                {64, 260, 640, 2},
                                                {128, 64, 768, 5},
                                                {64, 4, 896, 1},
                                                {256, 16, 1024, 2},
                                                {192, 140, 128, 2},
                                                {64, 96, 1152, 3}})},
            {"attention_backward_dq",
             {{"causal", "1"}, {"group", "2"}},
             shaped({"batch", "queries", "keys", "heads"}, {{1, 5, 40, 2},
                                                            {2, 64, 64, 2},
                                                            {1, 70, 100, 4},
                                                            {1, 130, 33, 2},
                                                            {2, 1, 200, 2},
                                                            {1, 65, 129, 6},
                                                            {3, 33, 65, 2},
                                                            {1, 100, 300, 2},
                                                            {2, 16, 1, 4},
                                                            {1, 128, 128, 2}})},
            {"kv_write",
             {{"kv-dtype", "fp8"}, {"arch", "gfx950"}},
             shaped({"tokens", "kv-heads", "slots", "rows"}, {{1, 1, 8, 4},
                                                              {5, 2, 40, 16},
                                                              {16, 1, 16, 100},
                                                              {33, 3, 64, 40},
                                                              {7, 8, 9, 7},
                                                              {40, 2, 100, 64},
                                                              {3, 4, 30, 5},
                                                              {64, 1, 64, 64},
                                                              {9, 6, 12, 90},
                                                              {20, 2, 33, 21}})}};
  if (more == "turns") { // workgroups that wait for each other
    return {{"cumsum",
             {{"rows", "4"}, {"dtype", "f32"}},
             shaped({"n", "m"}, {{4, 4},
                                 {8, 4},
                                 {12, 260},
                                 {4, 520},
                                 {20, 128},
                                 {32, 64},
                                 {8, 700},
                                 {40, 8},
                                 {16, 256},
                                 {28, 300}})},
            {"cumsum",
             {{"rows", "2"}, {"dtype", "bf16"}, {"arch", "gfx950"}},
             shaped({"n", "m"}, {{2, 8},
                                 {4, 8},
                                 {6, 520},
                                 {2, 1040},
                                 {10, 256},
                                 {16, 64},
                                 {4, 1400},
                                 {20, 16},
                                 {8, 512},
                                 {14, 600}})}};
  }
  if (more == "windows") { // of more and of less than the array, and taps
    // channels are of the build
    const auto pixels = shaped({"n", "h", "w"}, {{1, 5, 6},
                                                 {2, 7, 5},
                                                 {1, 9, 33},
                                                 {3, 4, 70},
                                                 {2, 6, 6},
                                                 {1, 5, 40},
                                                 {1, 12, 7},
                                                 {4, 4, 4},
                                                 {1, 30, 9},
                                                 {2, 5, 64}});
    const auto steps = shaped({"b", "t", "d"}, {{1, 1, 8},
                                                {2, 37, 16},
                                                {1, 64, 512},
                                                {3, 33, 520},
                                                {1, 31, 64},
                                                {2, 3, 136},
                                                {1, 100, 24},
                                                {4, 32, 8},
                                                {1, 65, 264},
                                                {2, 2, 1032}});
    const auto images =
        shaped({"n", "h", "w", "k"},
               {{1, 5, 6, 8}, {2, 7, 5, 36}, {1, 9, 33, 4}, {3, 4, 20, 32}, {2, 3, 3, 64}, {1, 1, 1, 4}});
    return {
        {"conv2d", {{"c", "32"}, {"tile", "32x32"}}, images},
        {"conv2d", {{"c", "128"}, {"tile", "32x32"}}, images},
        {"pad", {{"top", "2"}, {"left", "1"}}, pixels},
        {"pad", {{"top", "-2"}, {"bottom", "3"}, {"left", "-1"}, {"right", "4"}, {"arch", "gfx950"}}, pixels},
        {"causal_conv1d", {{"width", "3"}, {"dtype", "f16"}}, steps}};
  }
  if (more == "options") { // twelve kernels, none as it is by default
    std::vector<Subject> all = choices;
    const std::vector<Subject> others{
        {"gemm", {{"tile", "32x64x32"}, {"waves", "1x2"}, {"dtype", "bf16"}, {"out", "f32"}}, gemm},
        {"preshuffle_gemm",
         {{"tile", "32x32x128"}, {"waves", "1x1"}, {"dtype", "i8"}, {"scales", "yes"}, {"bias", "yes"}},
         sizes({{1, 16, 128},
                {32, 32, 256},
                {33, 48, 128},
                {64, 64, 384},
                {5, 80, 128},
                {17, 16, 512},
                {40, 32, 256},
                {31, 96, 128},
                {65, 64, 128},
                {8, 112, 256}})},
        {"softmax",
         {{"threads", "64"}, {"vectors", "1"}, {"dtype", "f32"}},
         rows({{1, 8},
               {2, 64},
               {3, 256},
               {2, 248},
               {4, 252},
               {1, 16},
               {2, 132},
               {1, 128},
               {5, 12},
               {3, 196}})},
        {"layernorm",
         {{"threads", "64"}, {"vectors", "1"}, {"residual", "yes"}, {"arch", "gfx950"}},
         short_row},
        {"rmsnorm", {{"threads", "64"}, {"vectors", "1"}, {"quant", "fp8"}}, short_row},
        {"quantise", {{"threads", "64"}, {"quant", "i8"}, {"dtype", "bf16"}}, short_row},
        {"row_reduce",
         {{"threads", "64"}, {"vectors", "1"}, {"op", "logsumexp"}, {"arch", "gfx950"}},
         short_row},
        {"gemv",
         {{"m", "2"}, {"rows", "4"}, {"vectors", "1"}, {"dtype", "bf16"}},
         shaped({"n", "k"}, {{1, 8},
                             {4, 512},
                             {5, 520},
                             {16, 64},
                             {17, 1032},
                             {3, 16},
                             {33, 256},
                             {8, 1024},
                             {40, 200},
                             {7, 504}})}};
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
  if (more == "stream") { // loops one after the other that store, or with a store in place after them
    const auto long_row = rows({{1, 8},
                                {2, 4104},
                                {3, 8192},
                                {1, 8200},
                                {2, 9000},
                                {1, 16384},
                                {2, 16400},
                                {1, 24576},
                                {1, 30000},
                                {1, 49152}});
    return {{"softmax", {{"stream", "yes"}}, long_row},
            {"rmsnorm", {{"stream", "yes"}, {"arch", "gfx950"}}, long_row},
            {"layernorm", {{"stream", "yes"}, {"dtype", "bf16"}}, long_row},
            {"cross_entropy_backward", {{"stream", "yes"}}, long_row},
            {"log_softmax_backward", {{"stream", "yes"}, {"arch", "gfx950"}}, long_row},
            {"gemm",
             {{"tile", "64x64x64"},
              {"split", "64"},
              {"split-k-fixup", "yes"},
              {"alpha", "yes"},
              {"beta", "in-place"}},
             gemm}};
  }
  if (more == "tops") // the greatest by sorting networks
    return {{"topk_gating", {{"experts", "64"}, {"k", "2"}, {"lanes", "16"}, {"dtype", "bf16"}}, counts},
            {"topk_gating", {{"experts", "128"}, {"k", "3"}, {"lanes", "32"}, {"arch", "gfx950"}}, counts},
            {"topk_gating", {{"experts", "64"}, {"k", "5"}, {"lanes", "64"}, {"dtype", "f16"}}, counts},
            {"topk_gating", {{"experts", "64"}, {"k", "4"}, {"lanes", "8"}, {"renormalise", "no"}}, counts},
            {"grouped_gating", {{"experts", "32"}, {"groups", "4"}, {"topk-group", "2"}, {"k", "2"}}, counts},
            {"grouped_gating", // with logits beside ranks
             {{"experts", "32"}, {"groups", "4"}, {"topk-group", "2"}, {"k", "2"}, {"dtype", "bf16"}},
             counts}};
  if (more ==
      "blocks") { // comparisons of differences of what memory says, loops whose end is the least of two
    const auto sequences = shaped({"sequences", "blocks", "pages"}, {{1, 1, 1},
                                                                     {5, 3, 256},
                                                                     {4, 2, 64},
                                                                     {5, 1, 65},
                                                                     {6, 3, 200},
                                                                     {5, 4, 127},
                                                                     {2, 2, 128},
                                                                     {7, 2, 33},
                                                                     {5, 5, 300},
                                                                     {3, 1, 192}});
    const auto entries = shaped({"n", "experts"}, {{4, 1},
                                                   {64, 2},
                                                   {68, 3},
                                                   {200, 8},
                                                   {512, 64},
                                                   {60, 256},
                                                   {256, 17},
                                                   {332, 5},
                                                   {516, 33},
                                                   {128, 100}});
    return {{"attention_blocks", {}, sequences},
            {"attention_blocks", {{"window", "70"}, {"arch", "gfx950"}}, sequences},
            {"attention_blocks", {{"causal", "no"}, {"tile", "128"}}, sequences},
            {"moe_places", {}, entries}};
  }
  if (more == "recent") { // states in place
    const auto steps =
        shaped({"batch", "heads"},
               {{1, 2}, {2, 2}, {1, 4}, {3, 4}, {2, 6}, {5, 2}, {1, 8}, {4, 4}, {2, 10}, {1, 16}});
    const auto tokens = shaped(
        {"b", "d"},
        {{1, 8}, {3, 64}, {2, 520}, {5, 136}, {1, 1032}, {4, 264}, {7, 16}, {2, 2048}, {11, 24}, {1, 504}});
    return {
        {"gated_delta_step", {{"key", "32"}, {"value", "32"}, {"columns", "32"}, {"threads", "64"}}, steps},
        {"gated_delta_step",
         {{"key", "64"},
          {"value", "32"},
          {"columns", "32"},
          {"threads", "64"},
          {"state", "bf16"},
          {"dtype", "f16"},
          {"arch", "gfx950"}},
         steps},
        {"causal_conv1d_update", {{"rows", "2"}}, tokens},
        {"causal_conv1d_update",
         {{"width", "2"}, {"dtype", "f16"}, {"rows", "2"}, {"arch", "gfx950"}},
         tokens}};
  }
  if (more ==
      "parts") { // of K, which a workgroup of the last adds; numbers of tiles that are quotients by 160 and 96
    auto by_four = gemm;
    for (kernels::Flags& f : by_four) f["n"] = std::to_string((std::stoi(f["n"]) + 3) / 4 * 4);
    const auto in_parts = [](kernels::Flags flags) {
      flags["split-k-fixup"] = "yes";
      return flags;
    };
    return {{"gemm",
             in_parts({{"tile", "16x64x64"},
                       {"waves", "1x4"},
                       {"dtype", "f32"},
                       {"split", "64"},
                       {"split-k-at-once", "2"}}),
             by_four},
            {"gemm",
             in_parts({{"tile", "32x64x64"}, {"arch", "gfx950"}, {"split", "64"}, {"split-k-at-once", "3"}}),
             by_four},
            {"gemm",
             {{"tile", "32x160x64"}, {"waves", "1x2"}, {"arch", "gfx950"}, {"tile-order", "rows:2"}},
             gemm},
            {"gemm",
             {{"tile", "96x32x64"}, {"waves", "2x1"}, {"dtype", "bf16"}, {"tile-order", "xcd+columns:2"}},
             gemm},
            {"gemm", {{"tile", "32x96x64"}, {"waves", "2x2"}, {"arch", "gfx950"}, {"dtype", "f32"}}, gemm}};
  }
  if (more == "f64") // numbers in two words
    return {
        {"gemm", {{"tile", "16x64x16"}, {"waves", "1x4"}, {"dtype", "f64"}}, gemm},
        {"gemm",
         {{"tile", "32x32x16"},
          {"waves", "2x1"},
          {"dtype", "f64"},
          {"arch", "gfx950"},
          {"alpha", "yes"},
          {"beta", "yes"}},
         gemm},
        {"gemm",
         {{"tile", "32x32x16"}, {"waves", "1x2"}, {"dtype", "f64"}, {"bias", "yes"}, {"activation", "relu"}},
         gemm}};
  if (more == "order")
    return {{"gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}, {"tile-order", "xcd+rows:2"}}, gemm},
            {"gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}, {"tile-order", "columns:3"}}, gemm},
            {"gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}, {"split", "64"}, {"out", "f32"}}, gemm}};
  const auto row = rows(
      {{1, 8}, {2, 64}, {3, 512}, {2, 1000}, {4, 1024}, {1, 1016}, {2, 520}, {1, 256}, {2, 16}, {3, 776}});
  return {{"gemm", {{"tile", "64x64x64"}}, gemm},
          {"gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}, {"arch", "gfx950"}}, gemm},
          {"gemm", {{"tile", "64x32x32"}, {"waves", "2x1"}, {"mfma", "32"}, {"out", "f32"}}, gemm},
          {"gemm", {{"tile", "32x64x32"}, {"waves", "1x2"}, {"dtype", "bf16"}}, gemm},
          {"softmax", {{"threads", "128"}, {"vectors", "1"}}, row},
          {"rmsnorm", {{"threads", "128"}, {"vectors", "1"}, {"arch", "gfx950"}}, row}};
}

struct Output {
  std::string bytes; ///< or why there are none
  bool ok = false;   ///< within the error bound of the kernel's reference
};
/// The outputs for one size.
Output outputs(const kernels::Kernel& kernel, const Subject& s, const kernels::Artifact& artifact,
               const kernels::Flags& size, bool stress) {
  kernels::Flags flags = s.flags;
  for (const auto& f : size) flags[f.first] = f.second;
  const kernels::Problem problem = kernel.problem(flags, 1);
  runtime::EmulatorOptions o;
  o.threads = 1;
  o.checks = runtime::Checks::none();
  o.stress = stress;
  o.max_wave_instructions = 3'000'000;
  try {
    const auto device = kernels::open_device("emulator", artifact.arch, o);
    const auto after = kernels::run(*device, artifact, problem);
    Output out;
    for (std::size_t k = 0; k < after.size(); ++k)
      out.bytes.append(reinterpret_cast<const char*>(after[k].data()), after[k].size());
    out.ok = problem.check(after).ok;
    return out;
  } catch (const std::exception& e) {
    return {std::string("error: ") + e.what(), false};
  }
}

const char* category(const runtime::isa::Instruction& i) {
  const std::string_view n = i.mnemonic;
  if (n.starts_with("v_mfma")) return "matrix";
  if (n.starts_with("s_waitcnt") || n == "s_barrier") return "order";
  if (n.starts_with("buffer_")) return "memory";
  if (n.starts_with("ds_")) return "lds";
  if (n.starts_with("v_")) return "vector";
  if (n.starts_with("s_cbranch") || n == "s_branch" || n.starts_with("s_cmp")) return "branch";
  if (n == "s_nop" || n == "s_endpgm" || n == "s_code_end") return nullptr;
  return n.starts_with("s_") ? "scalar" : nullptr;
}

struct Count {
  int refuted = 0, same = 0, rounded = 0, undecided = 0, wrong = 0;
};

} // namespace

int main(int argc, char** argv) {
  mutate::Sampling how{.sample = 24};
  int least = 98;
  std::string more;
  std::uint64_t budget = 5'000'000;
  CLI::App app("Machine code with one bit changed, refuted without being run");
  how.add_to(app);
  app.add_option("--least", least, "Per cent of what behaves differently to be refuted")
      ->capture_default_str();
  app.add_option("--kernels", more,
                 "Instead: `order`, with orders of tiles and with sums by atomics; `fp4`; `scales`, of i8; "
                 "`branches`; `choices`, by comparison; `integers`, modulo 2^32; `bits` of them; `options`, "
                 "twelve kernels; "
                 "`windows`; `tables`, of pages and trips from memory; `turns` of workgroups; `ahead`, "
                 "guards that a path decides; `stream`, loops one after the other that store; `recent`: "
                 "states in place; `tops`, the greatest of rows; `parts`, of K, and quotients by numbers "
                 "that are no powers of two; `f64`, "
                 "numbers in two words")
      ->check(CLI::IsMember({"order", "fp4", "scales", "branches", "choices", "integers", "bits", "options",
                             "tops", "windows", "tables", "turns", "ahead", "stream", "blocks", "recent",
                             "parts", "f64"}));
  app.add_option("--budget", budget, "Steps for one mutation, as of inlay validate; 0: as many as it takes")
      ->capture_default_str();
  int first = 0;
  app.add_option("--first", first, "Those before this one are drawn and not judged")->capture_default_str();
  bool symbols_first = false;
  app.add_flag(
      "--symbols-first", symbols_first,
      "Numbers only where symbols show nothing: what a wrong induction would validate is not refuted before");
  if (const auto status = mutate::parse(app, argc, argv)) return *status;
  const int sample = how.sample;
  const bool verbose = how.verbose;
  std::mt19937_64 random(how.seed);
  const auto all = subjects(more);
  struct Built {
    std::unique_ptr<kernels::Kernel> kernel;
    kernels::Artifact artifact;
    runtime::isa::Program program;
    std::size_t at = 0; ///< of the code in the file
    std::map<std::string, std::vector<std::size_t>> sites;
    std::vector<std::string> expected;
  };
  std::vector<Built> built;
  bool good = true;
  const auto validate = [&](const Built& b, const kernels::Bytes& bytes, bool refute_first) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const auto object = runtime::CodeObject::parse({p, p + bytes.size()});
    kernels::validate::CodeOptions o;
    o.budget = budget;
    o.first_runs = refute_first ? o.refuter_runs : 0;
    return kernels::validate::validate_code(object, object.kernel(b.artifact.kernel), b.artifact.source->code,
                                            o);
  };
  for (const Subject& s : all) {
    Built b;
    b.kernel = kernels::find_kernel(s.kernel);
    b.artifact = b.kernel->build(s.flags, {});
    const auto* p = reinterpret_cast<const std::uint8_t*>(b.artifact.hsaco.data());
    const auto object = runtime::CodeObject::parse({p, p + b.artifact.hsaco.size()});
    const auto& kernel = object.kernel(b.artifact.kernel);
    const auto& section = object.sections()[kernel.section];
    b.program = runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
    const auto found =
        std::search(p, p + b.artifact.hsaco.size(), section.bytes.begin(), section.bytes.end());
    b.at = static_cast<std::size_t>(found - p);
    for (std::size_t k = 0; k < b.program.instructions.size(); ++k) {
      const auto& i = b.program.instructions[k];
      if (i.mnemonic == "s_code_end") break;
      if (const char* c = category(i)) b.sites[c].push_back(k);
    }
    const auto r = validate(b, b.artifact.hsaco, true);
    if (r.verdict != Verdict::validated) {
      std::cout << s.kernel << ": not validated as it is: "
                << (!r.refuted.empty()    ? r.refuted[0].message
                    : r.undecided.empty() ? std::string()
                                          : r.undecided[0])
                << "\n";
      good = false;
    }
    built.push_back(std::move(b));
  }
  std::map<std::string, Count> counts;
  Count total;
  double seconds = 0;
  for (int n = 0; n < sample; ++n) {
    const std::size_t which = random() % built.size();
    Built& b = built[which];
    auto site = b.sites.begin();
    std::advance(site, static_cast<std::ptrdiff_t>(random() % b.sites.size()));
    const auto& instruction = b.program.instructions[site->second[random() % site->second.size()]];
    const std::size_t bit = random() % (std::size_t{8} * instruction.size);
    kernels::Bytes bytes = b.artifact.hsaco;
    const std::size_t offset = b.at + (instruction.address - b.program.begin) + bit / 8;
    bytes[offset] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))};
    // It must still be an instruction of that size, and another one.
    std::vector<std::uint8_t> code(instruction.size);
    std::memcpy(code.data(), bytes.data() + b.at + (instruction.address - b.program.begin), code.size());
    const auto now = runtime::isa::decode(code, instruction.address, b.program.arch);
    if (now.instructions.size() != 1 || now.instructions[0].is_unknown() ||
        now.instructions[0].text == instruction.text) {
      --n;
      continue;
    }
    if (n < first) continue;
    std::ostringstream what;
    what << n << "  " << all[which].kernel;
    for (const auto& f : all[which].flags) what << " --" << f.first << " " << f.second;
    what << "  0x" << std::hex << instruction.address << "  " << instruction.text << "  ->  "
         << now.instructions[0].text;
    if (verbose) std::cout << what.str() << std::endl; // before, so that one without an end has a name
    const auto begin = std::chrono::steady_clock::now();
    std::string verdict;
    std::string why;
    bool validated = false;
    try {
      const auto r = validate(b, bytes, !symbols_first);
      validated = r.verdict == Verdict::validated;
      if (r.verdict == Verdict::refuted) verdict = "refuted";
      if (!r.refuted.empty()) why = r.refuted[0].message;
      for (const auto& u : r.undecided)
        if (r.refuted.empty()) why += (why.empty() ? "" : "\n    ") + u.substr(0, 250);
    } catch (const std::exception& e) {
      why = e.what();
    }
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (verdict.empty()) {
      kernels::Artifact changed = b.artifact;
      changed.hsaco = bytes;
      bool same = true, ok = true;
      for (const auto& size : all[which].sizes)
        for (const bool stress : {false, true}) {
          if (!ok) break;
          const Output now_out = outputs(*b.kernel, all[which], changed, size, stress);
          ok = now_out.ok;
          same = same && ok && outputs(*b.kernel, all[which], b.artifact, size, false).bytes == now_out.bytes;
        }
      verdict = same ? "same" : ok ? "rounded" : validated ? "WRONG" : "UNDECIDED";
    }
    for (Count* c : {&counts[site->first], &total}) {
      c->refuted += verdict == "refuted" ? 1 : 0;
      c->same += verdict == "same" ? 1 : 0;
      c->rounded += verdict == "rounded" ? 1 : 0;
      c->undecided += verdict == "UNDECIDED" ? 1 : 0;
      c->wrong += verdict == "WRONG" ? 1 : 0;
    }
    if (verbose || verdict == "WRONG" || verdict == "UNDECIDED")
      std::cout << verdict
                << ((verdict == "same" || verdict == "rounded") && !validated ? " (undecided)" : "") << "  "
                << (verbose ? "" : what.str()) << "\n    " << why << std::endl;
  }
  for (const auto& [name, c] : counts)
    std::printf("%-8s refuted %d, same %d, rounded %d, undecided %d, wrong %d\n", name.c_str(), c.refuted,
                c.same, c.rounded, c.undecided, c.wrong);
  const int changing = total.refuted + total.undecided + total.wrong;
  std::printf("%.2f s a mutation to validate\n", seconds / std::max(1, sample - first));
  std::printf("caught %d of %d (%d behave the same, %d but for rounding)\n", total.refuted, changing,
              total.same, total.rounded);
  good = good && total.wrong == 0 && 100 * total.refuted >= least * changing;
  return good ? 0 : 1;
}
