// The forms of a GEMM that are worth a thought for given sizes.
#include "../options.h"
#include "forms.h"

#include <algorithm>
#include <fmt/format.h>

namespace inlay::kernels {

std::vector<Flags> gemm_candidates(const GemmSpec& s, const Flags& fixed, std::int64_t m, std::int64_t n,
                                   std::int64_t k) {
  std::vector<Flags> all;
  const auto values = [&](const std::string& name, std::vector<std::string> otherwise) {
    const auto found = fixed.find(name);
    return found != fixed.end() ? std::vector{found->second} : std::move(otherwise);
  };
  // Rows and columns of tiles; a trip takes 64 to 256 bytes of a row, of 6 bits 192 or 384.
  const int line = codegen::bits(s.in) == 6 ? 256 : 1024 / codegen::bits(s.in);
  // Scales of 32 k lie in blocks of 32 rows and 256 k.
  const bool blocks = s.has_block_scales();
  const int least_rows = blocks ? 32 : 16;
  std::vector<std::string> tiles;
  for (const int rows : {16, 32, 48, 64, 96, 128, 160, 192, 256})
    for (const int columns : {64, 96, 128, 160, 192, 256}) {
      if (rows * columns > 256 * 256 || columns > 16 * rows) continue;
      if (rows > 64 && columns < 96 && rows != 96 && rows != 128) continue;
      if (rows >= 2 * m && rows > least_rows) continue;
      if (columns >= 2 * n && columns > 64) continue;
      for (const int bytes : {64, 128, 256}) {
        const int of_k = bytes * line / 128;
        if (of_k > 2 * k && bytes > 64) continue;
        if (bytes == 64 && rows * columns < 128 * 128) continue;
        if (blocks ? of_k != 256 && of_k != 512 : bytes == 256 && rows * columns > 128 * 128) continue;
        tiles.push_back(fmt::format("{}x{}x{}", rows, columns, of_k));
      }
    }
  // What is given of how parts come together.
  const auto fixup = fixed.find("split-k-fixup");
  const bool added = fixup != fixed.end() && fixup->second != "yes" && fixup->second != "true" &&
                     fixup->second != "on" && fixup->second != "1";
  // What codegen adds to memory, and what each part may have done to it alone. Sums of 16 bits are rounded at every part.
  const bool of_16 = codegen::bits(s.out) == 16;
  const bool can_be_added = (of_16 ? n % 2 == 0 : codegen::bits(s.out) == 32) && !s.amax && !s.bias &&
                            !s.row_bias && !s.adds_c() && !s.residual &&
                            s.activation == GemmSpec::Activation::none;
  const std::int64_t most_added = of_16 ? 8 : 32; // parts
  // Rows of C that are loaded want whole vectors, too.
  const std::string by_vectors =
      (codegen::bits(s.out) == 16 || s.adds_c() || s.residual) && n % 8 == 0 ? "8" : "1";
  for (const std::string& tile : values("tile", tiles))
    for (const std::string& waves :
         values("waves", s.amax            ? std::vector<std::string>{"4x1", "2x1", "1x1"}
                         : s.preshuffled_b ? std::vector<std::string>{"1x4", "2x4"}
                                           : std::vector<std::string>{"2x2", "1x4", "2x4"}))
      for (const std::string& transfer :
           values("direct-to-lds", s.stored == GemmSpec::Stored::nt ? std::vector<std::string>{"yes", "no"}
                                                                    : std::vector<std::string>{"no"}))
        for (const std::string& pingpong :
             values("pingpong", waves == "2x4" && transfer == "yes" ? std::vector<std::string>{"yes", "no"}
                                                                    : std::vector<std::string>{"no"})) {
          Flags one = {{"tile", tile},
                       {"waves", waves},
                       {"direct-to-lds", transfer},
                       {"pingpong", pingpong},
                       {"n-multiple", by_vectors},
                       {"mfma", "16"},
                       {"direct-to-vgpr", "none"},
                       {"stages", "0"},
                       {"stagger", "no"},
                       {"tile-order", "linear"},
                       {"split", "0"},
                       {"split-k-fixup", "no"},
                       {"split-k-at-once", "1"}};
          for (const auto& [name, value] : fixed)
            if (one.contains(name)) one[name] = value;
          all.push_back(one);
          // Parts of K where the tiles leave units without work. They are added by atomics only for who asks for that: C is 0 then.
          if (fixed.contains("split") || fixed.contains("stream-k-workgroups") ||
              (added ? !can_be_added : n % 4 != 0))
            continue;
          int rows = 0, columns = 0, of_k = 0;
          if (std::sscanf(tile.c_str(), "%dx%dx%d", &rows, &columns, &of_k) != 3 || of_k < 1) continue;
          const std::int64_t count = (m + rows - 1) / rows * ((n + columns - 1) / columns),
                             trips = (k + of_k - 1) / of_k;
          // Parts that are loaded together take no more registers than the loop's operands did.
          int waves_m = 1, waves_n = 1;
          std::sscanf(waves.c_str(), "%dx%d", &waves_m, &waves_n);
          const int of_lane = rows * columns / (64 * waves_m * waves_n);
          const int together = std::clamp(64 / std::max(1, of_lane), 1, 8);
          // As long as one another: the workgroup that adds the parts up is the last to end, and the model takes the last in number for it.
          for (const std::int64_t parts : {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32}) {
            if (parts * (s.stored == GemmSpec::Stored::nt ? 4 : 2) > trips || count * parts > 2 * 304 ||
                pingpong == "yes" || (added && parts > most_added))
              break;
            const std::int64_t each = (trips + parts - 1) / parts;
            if (each * parts - trips > 1) continue;
            one["split"] = std::to_string(each * of_k);
            if (added) {
              all.push_back(one);
              continue;
            }
            one["split-k-fixup"] = "yes";
            one["split-k-at-once"] = fixed.contains("split-k-at-once")
                                         ? fixed.at("split-k-at-once")
                                         : std::to_string(std::min<std::int64_t>(together, parts));
            all.push_back(one);
          }
        }
  // Few rows and a matrix that is read once: a wave a tile, whose rows of B go from memory to its registers, far ahead.
  if (m <= 16 && codegen::bits(s.in) == 16 && !s.preshuffled_b && s.stored == GemmSpec::Stored::nt) {
    add_candidate(all,
                  {{"tile", "16x16x256"},
                   {"waves", "1x1"},
                   {"direct-to-lds", "no"},
                   {"pingpong", "no"},
                   {"mfma", "16"},
                   {"direct-to-vgpr", "b"},
                   {"stages", "0"},
                   {"stagger", "no"},
                   {"split", "0"},
                   {"split-k-fixup", "no"},
                   {"split-k-at-once", "1"},
                   {"n-multiple", by_vectors},
                   {"tile-order", "linear"}},
                  fixed);
  }
  return all;
}

} // namespace inlay::kernels
