// `gemm` on the command line: its options, turned into the specification and sizes of gemm/spec.h.
#include "../flags.h"
#include "../kernels.h"

#include <inlay/kernels/gemm/spec.h>

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

class GemmKernel final : public Kernel {
public:
  explicit GemmKernel(bool preshuffled) : preshuffled_(preshuffled) {}
  std::string name() const override { return preshuffled_ ? "preshuffle_gemm" : "gemm"; }
  std::string summary() const override {
    return preshuffled_ ? "the same with B stored in the order of the registers that multiply it"
                        : "C[M,N] = A[M,K] x B[N,K]^T, f16, bf16, fp8, bf8, fp4 with MX scales (accumulated "
                          "in f32) or i8 (i32)";
  }
  std::vector<FlagHelp> flags() const override {
    return {
        {"arch", "gfx942", "gfx942 or gfx950"},
        {"dtype", "f16",
         "element type of A and B: f16, bf16, fp8, bf8, i8; fp4 with e8m0 scales of 32 k, "
         "C = sum_k A[m,k] SA[m,k/32] B[n,k] SB[n,k/32] (gfx950)"},
        {"out", "",
         "element type of C: f32 or that of A and B (default); fp8, bf8, fp4: f32, f16, bf16 (default); "
         "i8: i32, with scales as fp8"},
        {"m", "256", "rows of A and C"},
        {"n", "256", preshuffled_ ? "rows of B, columns of C, a multiple of 16" : "rows of B, columns of C"},
        {"n-multiple", "1", "divides n: with 8, C of 16 bits is stored by vectors alone"},
        {"k", "256",
         preshuffled_ ? "columns of A and B, a multiple of 32 (8-bit: 64; fp4: 256)"
                      : "columns of A and B, a multiple of 8 (8-bit: 16; fp4: 256)"},
        {"tile", "128x128x64", "tile of C and of K that a workgroup works on; fp4: 128x128x256"},
        {"waves", preshuffled_ ? "1x4" : "2x2", "waves along M and N"},
        {"mfma", "16", "rows of the matrix instruction, 16 or 32"},
        {"transfer", "no", "yes: tiles go to LDS without registers"},
        {"direct", "none", "an operand that goes from memory straight to registers, past LDS: none, a, b"},
        {"stages", "0", "of tiles in LDS: 2, 3, 4; 0: the library's choice"},
        {"scales", "no",
         "yes: C times sa[m] sb[n], f32 (per token and per channel); i8 then gives f32, f16, bf16"},
        {"bias", "no", "yes, with scales: plus bias[n], f32"},
        {"split", "0",
         "elements of K that a workgroup sums, a multiple of the tile's, parts added by atomics; 0: all"},
        {"parts", "added",
         "with split: added to C by atomics, or stored, and summed in their order by the workgroup that "
         "comes last"},
        {"stream-k", "0",
         "that many workgroups, as many as the device runs at a time, share out the trips of all tiles "
         "evenly, "
         "parts added by atomics; 0: a workgroup has a tile"},
        {"tile-order", "linear",
         "which tile a workgroup works on: linear, xcd, rows:G, columns:G, xcd+rows:G, xcd+columns:G; auto: "
         "the one with the smallest footprint in the L2 caches for m and n"},
        {"pin", "",
         "places in the loop that are fixed: 'load a 0 behind 5, read lds_b 3 behind 17', the number of the "
         "access and of the matrix product"},
        {"pipeline", "",
         "how deep the loop is pipelined, where that is fixed: 'waves 1, lead 5, within 50, trips 3': "
         "waves a SIMD, windows from LDS reads to products, the percent of a trip in which reads and "
         "transfers stand, trips that loads are under way; 'loads 50': the percent of a window in which "
         "loads "
         "that feed products stand; or, with two stages by transfers, barriers a trip: 'barriers 1', 2 for "
         "tiles apart, 3 for operands read in turn"},
        {"stagger", "no",
         "yes: the loop exists twice, and the upper half of the waves has its accesses to LDS and memory "
         "some matrix products later or earlier"},
        {"pingpong", "no",
         "yes, with 8 waves and transfers: one half of the waves multiplies while the other one reads LDS, "
         "in phases with a barrier behind each"}};
  }
  Artifact build(const Flags& flags, const BuildOptions& options) const override {
    return build_gemm(spec_of(reader(flags)), options);
  }
  Problem problem(const Flags& flags, std::uint64_t seed) const override {
    const FlagReader read = reader(flags);
    return gemm_problem(spec_of(read), read.number("m", 1, most), read.number("n", 1, most),
                        read.number("k", 1, most), seed);
  }

  std::vector<Variation> variations(const Flags& flags) const override {
    // Rows of K of 128 bytes, or half of that where a tile of them is too large for LDS.
    const FlagReader read = reader(flags);
    const Element in = codegen::parse_element(read.text("dtype"), codegen::Target::named(read.text("arch")));
    const int line = 1024 / codegen::bits(in);
    std::vector<std::string> tiles;
    for (const auto& [m, n] : {std::pair{64, 64}, {64, 128}, {128, 128}, {256, 128}, {256, 256}})
      for (const int k : {line / 2, line}) tiles.push_back(fmt::format("{}x{}x{}", m, n, k));
    return {{"tile", tiles}, {"transfer", {"no", "yes"}}, {"stagger", {"no", "yes"}}};
  }

private:
  static constexpr std::int64_t most = 1 << 24; // refuses nonsense; plan_gemm_launch has the real limits

  static codegen::TileOrder order_of(const GemmSpec& s, std::int64_t m, std::int64_t n) {
    const std::int64_t row = s.tile_k * codegen::bits(s.in) / 8;
    return codegen::smallest_footprint({.tiles_x = (n + s.tile_n - 1) / s.tile_n,
                                        .tiles_y = (m + s.tile_m - 1) / s.tile_m,
                                        .column_bytes = s.tile_n * row,
                                        .row_bytes = s.tile_m * row,
                                        .resident = codegen::Target::named(s.arch).compute_units});
  }

  FlagReader reader(const Flags& given) const {
    Flags all = given;
    const auto type = all.find("dtype");
    if (type != all.end() && (type->second == "fp4" || type->second == "e2m1"))
      all.try_emplace("tile", "128x128x256"); // a row of 128 bytes, as of f16
    return {name(), all, flags()};
  }

  GemmSpec spec_of(const FlagReader& read) const {
    GemmSpec spec;
    spec.preshuffled_b = preshuffled_;
    spec.arch = read.text("arch");
    spec.in = codegen::parse_element(read.text("dtype"), codegen::Target::named(spec.arch));
    spec.scales = read.yes("scales"), spec.bias = read.yes("bias"), spec.transfer = read.yes("transfer");
    const Element usual = spec.in == Element::i8 && !spec.scales ? Element::i32
                          : codegen::bits(spec.in) <= 8          ? Element::bf16
                                                                 : spec.in;
    spec.out = read.text("out").empty() ? usual : codegen::parse_element(read.text("out"));
    spec.pins = codegen::parse_pins(read.text("pin"));
    spec.depth = codegen::parse_depth(read.text("pipeline"));
    const std::string direct = read.text("direct");
    if (direct == "a" || direct == "b") {
      spec.direct = direct == "a" ? GemmSpec::Direct::a : GemmSpec::Direct::b;
    } else if (direct != "none") {
      throw std::invalid_argument(fmt::format("gemm: --direct '{}' is none of none, a, b", direct));
    }
    spec.stages = static_cast<int>(read.number("stages", 0, 4));
    spec.stagger = read.yes("stagger");
    spec.pingpong = read.yes("pingpong");
    spec.multiple_n = static_cast<int>(read.number("n-multiple", 1, 4096));
    const std::vector<int> tile = sizes(read, "tile", 3), waves = sizes(read, "waves", 2);
    spec.tile_m = tile[0];
    spec.tile_n = tile[1];
    spec.tile_k = tile[2];
    spec.waves_m = waves[0];
    spec.waves_n = waves[1];
    spec.mfma = static_cast<int>(read.number("mfma", 16, 32));
    spec.order = read.text("tile-order") == "auto"
                     ? order_of(spec, read.number("m", 1, most), read.number("n", 1, most))
                     : codegen::parse_tile_order(read.text("tile-order"));
    spec.split = static_cast<int>(read.number("split", 0, 1 << 20));
    spec.workers = static_cast<int>(read.number("stream-k", 0, 1 << 16));
    if (const std::string parts = read.text("parts"); parts == "stored") {
      spec.gather = true;
    } else if (parts != "added") {
      throw std::invalid_argument(fmt::format("gemm: --parts '{}' is neither added nor stored", parts));
    }
    return spec;
  }

  /// `128x128x64` as numbers.
  static std::vector<int> sizes(const FlagReader& read, const std::string& name, std::size_t count) {
    const std::string text = read.text(name);
    std::vector<int> values;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('x', begin), text.size());
      const std::string part = text.substr(begin, end - begin);
      if (part.empty() || part.size() > 4 || part.find_first_not_of("0123456789") != std::string::npos) {
        values.clear();
        break;
      }
      values.push_back(std::stoi(part));
      begin = end + 1;
    }
    if (values.size() != count)
      throw std::invalid_argument(fmt::format("gemm: --{} '{}' is not of the form {}", name, text,
                                              count == 3 ? "128x128x64" : "2x2"));
    return values;
  }

  bool preshuffled_;
};

} // namespace

std::unique_ptr<Kernel> gemm_kernel() { return std::make_unique<GemmKernel>(false); }
std::unique_ptr<Kernel> preshuffle_gemm_kernel() { return std::make_unique<GemmKernel>(true); }

} // namespace inlay::kernels
