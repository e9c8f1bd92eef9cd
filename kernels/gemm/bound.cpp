// Clocks of a GEMM by the bounds of its parts, and the order of its tiles.
#include "forms.h"

#include "../options.h"
#include "../transposed.h"

#include <inlay/runtime/timing/chip.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace inlay::kernels {
namespace {

using runtime::timing::Parameters;

/// What the bounds need of the cycle model's parameters, looked up once.
struct Machine {
  double units, xcds, clock, l2_rate, mall_rate, hbm_rate, in_flight, l2_latency, mall_latency, hbm_latency,
      lds_rate, address_rate, launch, mall_bytes;

  explicit Machine(const Parameters& p)
      : units(p["compute_units"]), xcds(p["xcds"]), clock(p["clock_mhz"]), l2_rate(p["l2_bytes_per_clk"]),
        mall_rate(p["mall_tbytes"] * 1e6 / clock),
        hbm_rate(p["hbm_tbytes"] * p["hbm_efficiency"] * 1e6 / clock), in_flight(p["vmem_inflight_bytes"]),
        l2_latency(p["l2_latency_clk"]), mall_latency(p["mall_latency_clk"]),
        hbm_latency(p["hbm_latency_clk"]), lds_rate(2 * p["lds_read_port_bytes"]),
        address_rate(p["l1_bytes_per_clk"]), launch(p["workgroup_launch_clk"]), mall_bytes(p["mall_bytes"]) {}

  static const Machine& of(const std::string& arch) {
    static const std::map<std::string, Machine> all = [] {
      std::map<std::string, Machine> m;
      for (const codegen::Target& t : codegen::Target::all()) {
        const std::string name(t.name);
        m.emplace(name, Machine(Parameters::of(runtime::isa::parse_arch(name))));
      }
      return m;
    }();
    return all.at(arch);
  }
};

/// Units that ask for a line together, of an XCD and of the chip, in the first round of a launch: rows of tiles share A, columns B.
struct Sharers {
  double l2 = 1, mall = 1;
};

Sharers sharers(const GemmSpec& s, const Machine& machine, std::int64_t tiles_x, std::int64_t tiles_y,
                std::int64_t parts, std::int64_t resident) {
  const std::int64_t tiles = tiles_x * tiles_y, first = std::min(tiles * parts, resident);
  const auto xcds = static_cast<std::int64_t>(machine.xcds);
  const std::int64_t group = std::max(1, s.order.group);
  const auto many = [](std::int64_t n) { return std::vector<bool>(static_cast<std::size_t>(n)); };
  std::vector<bool> rows = many(tiles_y * parts), columns = many(tiles_x * parts), // of the chip
      xcd_rows = many(xcds * tiles_y * parts), xcd_columns = many(xcds * tiles_x * parts);
  for (std::int64_t i = 0; i < first; ++i) {
    const std::int64_t part = i / tiles, number = i % tiles;
    std::int64_t place = number;
    if (s.order.stretches)
      place = number % xcds * (tiles / xcds) + std::min(number % xcds, tiles % xcds) + number / xcds;
    const std::int64_t along = s.order.columns ? tiles_y : tiles_x,
                       across = s.order.columns ? tiles_x : tiles_y;
    const std::int64_t strip = place / (group * along), inside = place % (group * along);
    const std::int64_t height = std::max<std::int64_t>(1, std::min(group, across - group * strip));
    const std::int64_t a = group * strip + inside % height, b = inside / height;
    const std::int64_t x = (s.order.columns ? a : b) + part * tiles_x,
                       y = (s.order.columns ? b : a) + part * tiles_y;
    const auto mark = [](std::vector<bool>& of, std::int64_t at) { of[static_cast<std::size_t>(at)] = true; };
    mark(rows, y), mark(columns, x), mark(xcd_rows, i % xcds * tiles_y * parts + y);
    mark(xcd_columns, i % xcds * tiles_x * parts + x);
  }
  const double a = s.tile_m, b = s.tile_n, asked = static_cast<double>(first) * (a + b);
  const auto count = [](const std::vector<bool>& of) {
    return static_cast<double>(std::count(of.begin(), of.end(), true));
  };
  return {asked / (a * count(xcd_rows) + b * count(xcd_columns)),
          asked / (a * count(rows) + b * count(columns))};
}

/// Registers of a lane, as far as they follow from the specification: accumulators, a trip's operands in part, addresses.
double registers(const GemmSpec& s) {
  const int waves = s.waves_m * s.waves_n;
  const double accumulators = s.tile_m * s.tile_n / 64.0 / waves * (s.in == Element::f64 ? 2 : 1);
  const double operands = (double(s.tile_m) / s.waves_m + double(s.tile_n) / s.waves_n) * s.tile_k *
                          codegen::bits(s.in) / 8 / 256;
  const double staged = s.transfer ? 0 : 2.0 * s.stage_bytes() / waves / 256;
  return accumulators + std::min(operands, 192.0) + staged + 32;
}

/// What transposing takes, as a factor: of rows that work-items share out in vectors of no power of two, or one each, single elements are
/// written; and of registers above these, a wave's half or what two waves a SIMD have, what is exchanged goes through moves and scratch.
double turning(const GemmSpec& s) {
  double factor = 1;
  const int waves = s.waves_m * s.waves_n;
  for (const auto& [turned, rows] : {std::pair(s.turned_a(), s.tile_m), std::pair(s.turned_b(), s.tile_n)}) {
    const int vectors = rows * s.tile_k / (columns_at_once(s.in) * 64 * waves);
    if (turned && (vectors < 2 || (vectors & (vectors - 1)) != 0)) factor = 2;
  }
  if (s.stored != GemmSpec::Stored::nt && registers(s) > (waves > 4 ? 256 : 384)) factor *= 1.5;
  return factor;
}

} // namespace

double gemm_bound(const GemmSpec& s, std::int64_t m, std::int64_t n, std::int64_t k) {
  const GemmFacts facts = gemm_facts(s);
  // What the launch contract refuses in every form.
  const int vector = 128 / codegen::bits(s.in);
  if (k % (s.has_block_scales()           ? 256
           : s.preshuffled_b              ? 4 * vector
           : s.turned_a() && s.turned_b() ? 1
                                          : vector) !=
          0 ||
      (s.turned_a() && m % vector != 0) || (s.turned_b() && n % vector != 0) || n % s.multiple_n != 0 ||
      (s.preshuffled_b && n % 16 != 0))
    throw std::invalid_argument("gemm: no form takes these sizes");
  const Machine& machine = Machine::of(s.arch);
  const codegen::Target& target = codegen::Target::named(s.arch);
  // What codegen::transfer_tv refuses: the lanes of all waves take whole rows, 8 at once or 16, of 6 bits 4.
  const auto divides = [&](bool staged, int rows) {
    const int at_once = codegen::bits(s.in) == 6 ? 4 : s.tile_k % (8 * vector) == 0 ? 8 : 16;
    return !staged || rows % (at_once * s.waves_m * s.waves_n) == 0;
  };
  if (s.transfer && target.lanes_per_transfer() == 1 &&
      !(divides(s.staged_a(), s.tile_m) && divides(s.staged_b(), s.tile_n)))
    throw std::invalid_argument("gemm: the lanes do not divide the tile");
  // What codegen's ping-pong refuses: other than 8 waves, loads past LDS, and waves of one row or column of matrix instructions.
  const bool staged_alone = s.staged_a() && s.staged_b() &&
                            (!s.has_block_scales() ||
                             (s.staged_scales(s.tile_m, s.waves_n) && s.staged_scales(s.tile_n, s.waves_m)));
  if (s.pingpong && (s.waves_m * s.waves_n != 8 || !s.transfer || !staged_alone ||
                     s.tile_m < 2 * s.mfma * s.waves_m || s.tile_n < 2 * s.mfma * s.waves_n))
    throw std::invalid_argument("gemm: no form for ping-pong");
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t tiles_x = up(n, s.tile_n), tiles_y = up(m, s.tile_m), summed = s.split > 0 ? s.split : k,
                     parts = s.split > 0 ? up(k, s.split) : 1, workgroups = tiles_x * tiles_y * parts;
  const auto trips = static_cast<double>(up(std::min(summed, k), s.tile_k));
  const int waves = s.waves_m * s.waves_n;

  // Workgroups that a unit holds.
  const double lds = facts.stages * s.stage_bytes();
  const double by_lds = lds > 0 ? std::floor(target.lds_bytes / lds) : 8;
  const double granule = target.register_granule, lanes = std::ceil(registers(s) / granule) * granule;
  const double by_registers = std::floor(
      std::min<double>(target.max_waves_per_simd, std::floor(target.registers_per_simd_lane / lanes)) * 4 /
      waves);
  const double places = std::clamp(std::min(by_lds, by_registers), 1.0, 8.0);
  const double units = machine.units;
  const double here = std::clamp(std::ceil(static_cast<double>(workgroups) / units), 1.0, places);
  const double active = std::min<double>(static_cast<double>(workgroups), units);

  // A trip of one workgroup, by what it keeps busy.
  const double bits = codegen::bits(s.in) / 8.0, of_a = s.tile_m * s.tile_k * bits,
               of_b = s.tile_n * s.tile_k * bits;
  const double staged = (s.staged_a() ? of_a : 0) + (s.staged_b() ? of_b : 0);
  const double past = (s.staged_a() ? 0 : of_a * s.waves_n) + (s.staged_b() ? 0 : of_b * s.waves_m);
  const double asked = staged + past;
  const double products = facts.products * std::max(1.0, waves / 4.0);
  const double reads =
      ((s.staged_a() ? of_a * s.waves_n : 0) + (s.staged_b() ? of_b * s.waves_m : 0) + staged) /
      machine.lds_rate;
  const Sharers share = sharers(s, machine, tiles_x, tiles_y, parts, static_cast<std::int64_t>(units * here));
  const double distinct = of_a + of_b;
  const double address = asked / machine.address_rate * (facts.half_lines ? 2 : 1);
  const double busy = std::max({products, reads, address, asked / machine.l2_rate,
                                distinct * active / share.l2 / machine.mall_rate,
                                distinct * active / share.mall / machine.hbm_rate});
  // One workgroup alone: what no other work hides.
  const double latency = machine.hbm_latency / share.mall +
                         machine.mall_latency * (1 / share.l2 - 1 / share.mall) +
                         machine.l2_latency * (1 - 1 / share.l2);
  const double far = std::max(latency, 0.8 * machine.hbm_latency);
  const double ahead = s.transfer ? facts.stages - 1 : 2;
  const double waits = std::max({far / ahead, asked * far / machine.in_flight});
  const double writes = s.transfer ? 0 : staged / 1024 / waves * 20 * std::max(1.0, waves / 4.0);
  const double between = s.pingpong ? 24 : s.transfer ? 60 : 120;
  const double work = products + writes + between;
  // What is transposed is waited for before its writes to LDS, two vectors a lane at a time; where there are many tiles others hide that.
  const double turned = (s.turned_a() ? of_a : 0) + (s.turned_b() ? of_b : 0);
  const bool few = static_cast<double>(m) * static_cast<double>(n) <= 64 * 64 * units / 2;
  const double alone =
      turned > 0 && few ? work + far * std::max(1.0, turned / (2048.0 * waves)) : std::max(work, waits);
  const auto trip = [&](double together) {
    return std::max(alone, together * (busy + (together > 1 ? 0.5 * writes : 0)));
  };

  // Around the loop: launch, addresses, first tiles; stores, by elements where rows of C may end inside a vector.
  const double before = machine.launch + 900 + machine.hbm_latency + 1.5 * address;
  const double of_c =
      s.tile_m * s.tile_n * (s.gather && s.in != Element::f64 ? 4.0 : codegen::bits(s.out) / 8.0);
  const bool by_vectors = codegen::bits(s.out) > 16 || s.multiple_n % 8 == 0 || s.gather;
  const double stored = 0.7 * of_c * active / machine.hbm_rate; // all units at once
  double after = 300 + std::max(of_c / 48 * (by_vectors ? 1 : 1.6), stored);
  // The parts come from memory past the caches, one after the other, or so many that wait together.
  if (s.gather)
    after += 1500 + std::ceil(static_cast<double>(parts) / s.at_once) * machine.hbm_latency +
             static_cast<double>(parts) * of_c / machine.l2_rate;
  if (s.adds()) after += of_c / 16;

  const double a_round = units * places;
  const double full = std::floor((static_cast<double>(workgroups) - 1) / a_round);
  const double rest = static_cast<double>(workgroups) - full * a_round, last = std::ceil(rest / units);
  const double between_rounds = places > 1 ? 0.6 * (before + after) : before + after;
  return turning(s) *
         (full * (trips * trip(places) + between_rounds) + trips * trip(last) + before + after * last);
}

codegen::TileOrder gemm_order(const GemmSpec& s, std::int64_t m, std::int64_t n) {
  const Machine& machine = Machine::of(s.arch);
  const std::int64_t x = (n + s.tile_n - 1) / s.tile_n, y = (m + s.tile_m - 1) / s.tile_m;
  GemmSpec one = s;
  const auto footprint = [&](const codegen::TileOrder& order) {
    one.order = order;
    const Sharers of = sharers(one, machine, x, y, 1, static_cast<std::int64_t>(machine.units));
    return 1 / of.l2 + 1 / of.mall;
  };
  codegen::TileOrder best;
  double least = footprint(best);
  const auto consider = [&](const codegen::TileOrder& order) {
    if (const double of = footprint(order); of < 0.98 * least) least = of, best = order;
  };
  consider({.stretches = true});
  for (const bool stretches : {false, true})
    for (const bool columns : {false, true})
      for (const int group : {2, 4, 8, 16})
        if (group < (columns ? x : y)) consider({stretches, columns, group});
  return best;
}

} // namespace inlay::kernels
