// The options of a GEMM that say how it is computed.
#include "asked.h"

namespace inlay::kernels {
namespace {

ReadsGemm tile() {
  const ReadsGemm sizes =
      ReadsGemm::product("128x128x64", &GemmAsked::tile_m, &GemmAsked::tile_n, &GemmAsked::tile_k);
  return {sizes.range, [=](GemmAsked& asked, const std::string& text) {
            // A row of 128 bytes where nobody says otherwise.
            const bool by_line = codegen::bits(asked.in) >= 32 || asked.has_block_scales();
            return sizes.put(asked,
                             !text.empty() ? text : fmt::format("128x128x{}", by_line ? line_of(asked) : 64));
          }};
}

ReadsGemm waves(bool pre) {
  const ReadsGemm sizes = ReadsGemm::product("2x2", &GemmAsked::waves_m, &GemmAsked::waves_n);
  return {sizes.range, [=](GemmAsked& asked, const std::string& text) {
            return sizes.put(asked, !text.empty() ? text : asked.amax ? "4x1" : pre ? "1x4" : "2x2");
          }};
}

/// Of 6 bits where nobody says otherwise.
ReadsGemm transfer() {
  const ReadsGemm yes = ReadsGemm::yes(&GemmAsked::transfer);
  return {yes.range, [=](GemmAsked& asked, const std::string& text) {
            return yes.put(asked, !text.empty() ? text : codegen::bits(asked.in) == 6 ? "yes" : "no");
          }};
}

/// The words of every switch, and `batch`.
Same same_bits(const GemmAsked&, const std::string& text) {
  if (text == "batch") return Same::batch;
  GemmAsked asked;
  if (!ReadsGemm::yes(&GemmAsked::stagger).put(asked, text).empty())
    throw std::invalid_argument(fmt::format("--deterministic '{}' is none of no, yes, batch", text));
  return asked.stagger ? Same::launch : Same::any;
}

} // namespace

std::vector<Option<GemmAsked>> options_of_form(bool pre) {
  return {
      {"tile", tile(), "auto", "tile of C and of K that a workgroup works on", "",
       "where sizes are not known 128x128x64, of fp4 and mx.. 128x128x256, f32 128x128x32, f64 128x128x16"},
      {"waves", waves(pre), "auto", "waves along M and N", "",
       "where sizes are not known 2x2, with a preshuffled B 1x4, with amax 4x1"},
      {"mfma", ReadsGemm::number(&GemmAsked::mfma, 16, 32), "auto",
       "rows of the matrix instruction, 16 or 32", "16"},
      {"direct-to-lds",
       transfer(),
       "auto",
       "direct global-to-LDS loads, without registers",
       "",
       "where sizes are not known no, and yes of mxfp6 and mxbf6, which go to LDS in no other way",
       {"transfer"}},
      {"direct-to-vgpr",
       ReadsGemm::one_of(
           &GemmAsked::direct,
           {{"none", GemmSpec::Direct::none}, {"a", GemmSpec::Direct::a}, {"b", GemmSpec::Direct::b}}),
       "auto",
       "an operand that is loaded directly to VGPRs, past LDS",
       "none",
       "",
       {"direct"}},
      {"stages", ReadsGemm::number(&GemmAsked::stages, 0, 4), "auto", "stages of a tile in LDS: 2, 3, 4", "0",
       "0: as many as memory latency asks for and LDS has room for"},
      {"n-multiple", ReadsGemm::number(&GemmAsked::multiple_n, 1, 4096), "auto", "n is a multiple of this",
       "1", "8 enables 16-byte stores of a C of 16 bits, in one version"},
      {"tile-order",
       ReadsGemm::parsed(
           &GemmAsked::order, "linear, xcd, rows:G, columns:G, xcd+rows:G, xcd+columns:G",
           [](const GemmAsked&, const std::string& text) { return codegen::parse_tile_order(text); }),
       "auto", "which workgroup has which tile", "linear",
       "auto: the order with the smallest footprint in the L2 caches for m and n"},
      {"stagger", ReadsGemm::yes(&GemmAsked::stagger), "auto",
       "half of the waves run a copy of the loop that is some MFMAs apart", "no",
       "the upper half of the waves accesses LDS and memory some MFMAs later or earlier"},
      {"pingpong", ReadsGemm::yes(&GemmAsked::pingpong), "auto",
       "half of the waves multiply while the others read LDS", "no",
       "with 8 waves and direct-to-LDS loads, in phases with a barrier after each"},
      {"split", ReadsGemm::number(&GemmAsked::split, 0, 1 << 20), "auto",
       "split-K: elements of K that a workgroup sums; 0: all of them", "0", "a multiple of the tile's"},
      {"split-k-fixup",
       ReadsGemm::yes(&GemmAsked::gather),
       "auto",
       "with split: parts are stored, and summed by the last workgroup of a tile",
       "no",
       "the same bits in every run; no: parts are added to C by atomics, so C is 0 before the launch\n"
       "auto takes forms of the second kind only where no is given; a C of 16 bits is rounded at each part: "
       "at most 8",
       {"parts", {{"stored", "yes"}, {"added", "no"}}}},
      {"split-k-at-once", ReadsGemm::number(&GemmAsked::at_once, 1, 8), "auto",
       "with split-k-fixup: parts that are loaded and summed together", "1",
       "each takes as many registers as a workgroup's tile of C"},
      {"stream-k-workgroups",
       ReadsGemm::number(&GemmAsked::workers, 0, 1 << 16),
       "0",
       "stream-K: so many workgroups share all iterations evenly; 0: a workgroup has a tile",
       "",
       "as many as the device runs at a time; parts are added by atomics, so C is 0 before the launch",
       {"stream-k"}},
      {"deterministic", ReadsGemm::parsed(&GemmAsked::same, "no, yes, batch", same_bits), "no",
       "the same bits in every launch and beside any rows", "",
       "yes: proved, or refused (parts that are added by atomics, stream-K); auto chooses among such forms\n"
       "batch: and from builds for any m: K in tiles of 128 bytes, and in parts only as --split says"},
      {"pin",
       ReadsGemm::parsed(&GemmAsked::pins, "'load a 0 after 5, ..'",
                         [](const GemmAsked&, const std::string& text) { return codegen::parse_pins(text); }),
       "", "fixed places in the order of the loop", "",
       "'load a 0 after 5, read lds_b 3 after 17': the number of the access and of the MFMA"},
      {"pipeline",
       ReadsGemm::parsed(
           &GemmAsked::depth, "'waves 1, lead 5, ..'",
           [](const GemmAsked&, const std::string& text) { return codegen::parse_depth(text); }),
       "", "software pipeline of the loop", "",
       "any of these, separated by commas\n"
       "waves W: registers are to suffice for W waves a SIMD\n"
       "lead L: LDS reads are L windows before their MFMAs\n"
       "within P: LDS reads and direct-to-LDS loads are in the first P percent of an iteration\n"
       "trips T: loads are under way for T iterations\n"
       "loads P: loads past LDS are in the first P percent of a window\n"
       "barriers B: with two stages of direct-to-LDS loads, barriers an iteration: 1, 2 (tiles apart), "
       "3 (each operand read into the registers of the one before)"}};
}

} // namespace inlay::kernels
