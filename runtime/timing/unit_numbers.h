/// The parameters of the cycle model as its loop asks for them, with one limit taken away.
#pragma once

#include <inlay/runtime/timing/compute_unit.h>

#include <algorithm>
#include <limits>

namespace inlay::runtime::timing::unit {

using Clock = std::uint64_t;
constexpr Clock never = std::numeric_limits<Clock>::max() / 4;

/// The numbers that the loop asks for, looked up once.
struct Numbers {
  explicit Numbers(const Parameters& p, const UnitOptions& o)
      : simds(static_cast<unsigned>(p["simds"])), slot(static_cast<Clock>(p["slot_clk"])),
        valu_result(static_cast<Clock>(p["valu_result_clk"])),
        coissue_from(static_cast<Clock>(p["mfma_coissue_from_clk"])),
        packed_coissues(p["mfma_packed_f32_coissues"] != 0),
        packed_hazard(static_cast<Clock>(p["mfma_packed_f32_hazard_clk"])),
        forward(static_cast<Clock>(p["mfma_srcc_forward_clk"])),
        lds_entries(static_cast<std::size_t>(p["lds_fifo_entries"])),
        lds_latency(static_cast<Clock>(p["lds_latency_clk"])), dma_bytes(p["lds_dma_bytes"]),
        read_port(p["lds_read_port_bytes"]), write_port(p["lds_write_port_bytes"]),
        misaligned(static_cast<Clock>(p["lds_misaligned_b128_clk"])),
        write_stall(p["lds_write_pipe_stall_clk"]), crossbar(static_cast<Clock>(p["lds_crossbar_clk"])),
        queue_entries(static_cast<std::size_t>(p["vmem_queue_entries"])),
        inflight_bytes(static_cast<std::uint64_t>(p["vmem_inflight_bytes"])), line_clk(p["vmem_line_clk"]),
        line_bytes(p["line_bytes"]), l1_latency(static_cast<Clock>(p["l1_latency_clk"])),
        l2_latency(static_cast<Clock>(p["l2_latency_clk"])), has_mall(p["mall_bytes"] > 0),
        mall_latency(static_cast<Clock>(p["mall_latency_clk"])),
        hbm_latency(static_cast<Clock>(p["hbm_latency_clk"])), l1_rate(p["l1_bytes_per_clk"]),
        l2_rate(p["l2_bytes_per_clk"]), store_latency(static_cast<Clock>(p["store_latency_clk"])),
        scalar_hit(static_cast<Clock>(p["scalar_hit_clk"])),
        scalar_miss(static_cast<Clock>(p["scalar_miss_clk"])),
        scalar_interval(static_cast<Clock>(p["scalar_miss_interval_clk"])),
        scalar_line(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(p["scalar_line_bytes"]) / 64)),
        valu_to_memory(static_cast<Clock>(p["valu_to_memory_clk"])),
        mfma_to_memory(static_cast<Clock>(p["mfma_to_memory_clk"])),
        salu_to_memory(static_cast<Clock>(p["salu_to_memory_clk"])),
        salu_to_branch(static_cast<Clock>(p["salu_to_branch_clk"])),
        valu_sgpr(static_cast<Clock>(p["valu_sgpr_clk"])), spread(p["latency_spread"]),
        stagger(p["unit_stagger_clk"]), drift(p["unit_drift"]), mall_write_cost(p["mall_write_cost"]),

        atomic_latency(static_cast<Clock>(p["atomic_latency_clk"])),
        place_free(static_cast<Clock>(p["workgroup_launch_clk"])),
        icache_miss(static_cast<Clock>(p["icache_miss_clk"])),
        branch_taken(static_cast<Clock>(p["branch_taken_clk"])),
        next_fetch(static_cast<Clock>(p["branch_next_fetch_clk"])),
        barrier(static_cast<Clock>(p["barrier_clk"])), wave_launch(static_cast<Clock>(p["wave_launch_clk"])),
        first_issue(static_cast<Clock>(p["first_issue_clk"])) {
    const double hz = p["clock_mhz"] * 1e6;
    const double units = std::clamp(o.active_units, 1.0, p["compute_units"]);
    l2_sharers = std::max(1.0, o.l2_sharers);
    mall_sharers = std::max(1.0, o.mall_sharers);
    // What is stored is shared by nobody.
    hbm_store_rate = p["hbm_tbytes"] * 1e12 * p["hbm_efficiency"] / hz / units;
    mall_store_rate = p["mall_tbytes"] * 1e12 / hz / units / mall_write_cost;
    hbm_rate = hbm_store_rate * mall_sharers;
    mall_rate = p["mall_tbytes"] * 1e12 / hz / units * l2_sharers;
    // One unit alone is bound by its own port.
    for (double* rate : {&hbm_rate, &mall_rate, &hbm_store_rate, &mall_store_rate})
      *rate = std::min(*rate, l2_rate);
    switch (o.without) {
    case Limit::lds_latency: lds_latency = 0; break;
    case Limit::memory_latency:
      l2_latency = mall_latency = hbm_latency = scalar_miss = l1_latency, scalar_interval = 0;
      break;
    case Limit::memory_bandwidth:
      l1_rate = l2_rate = mall_rate = hbm_rate = hbm_store_rate = mall_store_rate = 1e12;
      break;
    case Limit::launch: wave_launch = first_issue = place_free = 0; break;
    case Limit::issue:
      valu_to_memory = mfma_to_memory = salu_to_memory = salu_to_branch = valu_sgpr = 0;
      break;
    default: break;
    }
  }
  unsigned simds;
  Clock slot, valu_result, coissue_from;
  bool packed_coissues;
  Clock packed_hazard, forward;
  std::size_t lds_entries;
  Clock lds_latency;
  double dma_bytes, read_port, write_port;
  Clock misaligned;
  double write_stall;
  Clock crossbar;
  std::size_t queue_entries;
  std::uint64_t inflight_bytes;
  double line_clk, line_bytes;
  Clock l1_latency, l2_latency;
  bool has_mall;
  Clock mall_latency, hbm_latency;
  double l1_rate, l2_rate, mall_rate = 0, hbm_rate = 0, hbm_store_rate = 0, mall_store_rate = 0;
  double l2_sharers = 1, mall_sharers = 1;
  Clock store_latency, scalar_hit, scalar_miss, scalar_interval;
  std::uint64_t scalar_line; ///< in units of 64 bytes
  Clock valu_to_memory, mfma_to_memory, salu_to_memory, salu_to_branch, valu_sgpr;
  double spread, stagger, drift, mall_write_cost;
  Clock atomic_latency, place_free, icache_miss, branch_taken, next_fetch, barrier, wave_launch, first_issue;
};

} // namespace inlay::runtime::timing::unit
