/// How LDS serves an access: which lanes of a wave together, and over how many banks.
///
/// A DS instruction of one wave takes several *phases*; each serves a fixed group of lanes. Banks are 4 bytes wide, bank(a) = a / 4 mod
/// `banks`. A phase takes one clock when no bank has to deliver two different dwords, else as many as the most demanded bank.
///
///     lds_service(Arch::gfx942, false, 16).phase[20]     // 0: lanes 0 to 3 and 20 to 23 are served first
///
/// Sources: measured on MI300X (nod-ai/amd-shark-ai, docs/empirical-lds) and MI355X (HazyResearch/HipKittens,
/// analysis/paper_experiments/phases; nod-ai empirical-lds on MI350X); where nobody published a measurement, consecutive lanes up to the
/// bandwidth of the banks. Banks: "AMD Instinct MI200 ISA (CDNA2) Reference Guide", "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide", chapter
/// "Data Share".
#pragma once

#include <inlay/machine/target.h>

namespace inlay::machine {

inline constexpr unsigned lanes_of_a_wave = 64;

/// One row: accesses of `bytes` a lane (4, 8, 12, 16; bytes and halves are served as the dword around them).
struct LdsService {
  Arch arch;
  bool write;
  unsigned bytes;
  unsigned banks;
  std::array<std::uint8_t, lanes_of_a_wave> phase; ///< [lane]
  bool measured;
  std::string_view source;

  [[nodiscard]] constexpr unsigned phases() const {
    return *std::max_element(phase.begin(), phase.end()) + 1U;
  }
};

namespace detail {

/// Lanes by phase, as the sources print them: `0-3 20-23, 4-7 16-19` are two phases of eight lanes.
consteval std::array<std::uint8_t, lanes_of_a_wave> lanes(std::string_view text) {
  std::array<std::uint8_t, lanes_of_a_wave> phase{};
  std::array<bool, lanes_of_a_wave> named{};
  std::uint8_t now = 0;
  unsigned number = 0, first = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (c >= '0' && c <= '9') {
      number = 10 * number + static_cast<unsigned>(c - '0');
    } else if (c == '-') {
      first = number, number = 0;
    } else if (i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9') {
      for (unsigned lane = first; lane <= number; ++lane) {
        if (named[lane]) throw "a lane is named twice";
        phase[lane] = now, named[lane] = true;
      }
      number = 0;
    }
    if (c == ',') ++now;
  }
  for (const bool n : named)
    if (!n) throw "a lane is not named";
  return phase;
}
/// That many lanes after one another in each phase.
consteval std::array<std::uint8_t, lanes_of_a_wave> consecutive(unsigned lanes) {
  std::array<std::uint8_t, lanes_of_a_wave> phase{};
  for (unsigned lane = 0; lane < lanes_of_a_wave; ++lane)
    phase[lane] = static_cast<std::uint8_t>(lane / lanes);
  return phase;
}

inline constexpr std::string_view mi300x = "nod-ai/amd-shark-ai docs/empirical-lds, measured on MI300X";
inline constexpr std::string_view mi355x =
    "HazyResearch/HipKittens analysis/paper_experiments/phases, measured on "
    "MI355X; nod-ai empirical-lds (MI350X)";
inline constexpr std::string_view by_bandwidth =
    "no published measurement: consecutive lanes up to the bandwidth of the banks";
inline constexpr std::string_view as_mi300x =
    "no published measurement: as MI300X, which has as many banks and ports";
/// The eight groups of ds_read_b128 on gfx942, which are also those of ds_read_b96 on gfx950.
inline constexpr auto interleaved_eights = lanes("0-3 20-23, 32-35 52-55, 4-7 16-19, 36-39 48-51, "
                                                 "8-11 28-31, 40-43 60-63, 12-15 24-27, 44-47 56-59");

} // namespace detail

inline constexpr std::array<LdsService, 24> lds_services{{
    {Arch::gfx942, false, 4, 32, detail::consecutive(32), true, detail::mi300x},
    {Arch::gfx942, false, 8, 32, detail::consecutive(16), true, detail::mi300x},
    {Arch::gfx942, false, 12, 32, detail::interleaved_eights, false,
     "no published measurement: the groups of ds_read_b96 on gfx950"},
    {Arch::gfx942, false, 16, 32, detail::interleaved_eights, true, detail::mi300x},
    {Arch::gfx942, true, 4, 32, detail::consecutive(32), false, detail::by_bandwidth},
    {Arch::gfx942, true, 8, 32, detail::consecutive(16), false, detail::by_bandwidth},
    {Arch::gfx942, true, 12, 32, detail::consecutive(8), false, detail::by_bandwidth},
    {Arch::gfx942, true, 16, 32, detail::consecutive(8), true, detail::mi300x},
    {Arch::gfx950, false, 4, 64, detail::consecutive(64), true, detail::mi355x},
    {Arch::gfx950, false, 8, 64, detail::consecutive(32), true, detail::mi355x},
    {Arch::gfx950, false, 12, 32, detail::interleaved_eights, true, detail::mi355x},
    {Arch::gfx950, false, 16, 64,
     detail::lanes("0-3 12-15 20-27, 4-11 16-19 28-31, 32-35 44-47 52-59, 36-43 48-51 60-63"), true,
     detail::mi355x},
    {Arch::gfx950, true, 4, 32, detail::consecutive(32), false, detail::by_bandwidth},
    {Arch::gfx950, true, 8, 32, detail::consecutive(16), true, detail::mi355x},
    {Arch::gfx950, true, 12, 32, detail::consecutive(8), false, detail::by_bandwidth},
    {Arch::gfx950, true, 16, 32, detail::consecutive(8), false, detail::by_bandwidth},
    {Arch::gfx90a, false, 4, 32, detail::consecutive(32), false, detail::as_mi300x},
    {Arch::gfx90a, false, 8, 32, detail::consecutive(16), false, detail::as_mi300x},
    {Arch::gfx90a, false, 12, 32, detail::interleaved_eights, false, detail::as_mi300x},
    {Arch::gfx90a, false, 16, 32, detail::interleaved_eights, false, detail::as_mi300x},
    {Arch::gfx90a, true, 4, 32, detail::consecutive(32), false, detail::as_mi300x},
    {Arch::gfx90a, true, 8, 32, detail::consecutive(16), false, detail::as_mi300x},
    {Arch::gfx90a, true, 12, 32, detail::consecutive(8), false, detail::as_mi300x},
    {Arch::gfx90a, true, 16, 32, detail::consecutive(8), false, detail::as_mi300x},
}};

/// The row of an access of `bytes` a lane: 1, 2, 4, 8, 12 or 16.
[[nodiscard]] constexpr const LdsService& lds_service(Arch arch, bool write, unsigned bytes) {
  for (const LdsService& s : lds_services)
    if (s.arch == arch && s.write == write && s.bytes == std::max(bytes, 4U)) return s;
  throw std::invalid_argument("no access to LDS has that width");
}

} // namespace inlay::machine
