// Microbenchmarks and the search for the number that explains each.
#include <inlay/machine/matrix.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/runtime/timing/calibrate.h>

#include <cmath>
#include <cstring>

namespace inlay::runtime::timing {
namespace {

std::string times(unsigned n, const char* text) {
  std::string out;
  for (unsigned i = 0; i < n; ++i) out += std::string(text) + "\n";
  return out;
}

/// Lines of 128 bytes one after the other from the 64 KiB that n counts in, one lane each.
std::string new_lines(unsigned n) {
  std::string out;
  for (unsigned i = 0; i < n; ++i)
    out += "global_load_dword v40, v41, s[6:7]\ns_waitcnt vmcnt(0)\nv_add_u32 v41, 128, v41\n";
  return out;
}

/// 512 lines, 64 KiB, twice as much as L1 holds, n times over.
std::string sweeps(unsigned n) {
  return "s_movk_i32 s20, " + std::to_string(n) +
         "\nv_mov_b32 v41, 0\nv_mov_b32 v42, 0\nsweep:\n"
         "s_movk_i32 s21, 64\nline:\n" +
         times(8, "global_load_dword v40, v41, s[6:7]\ns_waitcnt vmcnt(0)\nv_add_u32 v41, 128, v41") +
         "s_sub_u32 s21, s21, 1\ns_cmp_lg_u32 s21, 0\ns_cbranch_scc1 line\n"
         "v_mov_b32 v41, 0\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 sweep\n";
}

/// The same 256 KiB, far more than L1 holds, by four waves, 16 bytes a lane, n times over; nothing is waited for until the end: as fast as
/// L2 gives it.
std::string streams(unsigned n) {
  return "s_movk_i32 s20, " + std::to_string(n) +
         "\nsweep:\nv_lshlrev_b32 v41, 4, v0\ns_movk_i32 s21, 16\nline:\n" +
         times(4, "global_load_dwordx4 v[48:51], v41, s[6:7]\nv_add_u32 v41, 0x1000, v41") +
         "s_sub_u32 s21, s21, 1\ns_cmp_lg_u32 s21, 0\ns_cbranch_scc1 line\n"
         "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 sweep\ns_waitcnt vmcnt(0)\n";
}

std::string scalar_lines(unsigned n) {
  std::string out;
  for (unsigned i = 0; i < n; ++i)
    out += "s_load_dword s22, s[6:7], " + std::to_string(0x4000 + 256 * i) + "\ns_waitcnt lgkmcnt(0)\n";
  return out;
}

std::string branches(unsigned n) {
  std::string out;
  for (unsigned i = 0; i < n; ++i)
    out += "s_branch over" + std::to_string(i) + "\ns_nop 0\nover" + std::to_string(i) + ":\n";
  return out;
}

template <const char* text>
std::string repeat(unsigned n) {
  return times(n, text);
}

#define TEXT(name, ...) constexpr char name[] = __VA_ARGS__
TEXT(exp_text, "v_exp_f32 v40, v41");
TEXT(mul_lo_text, "v_mul_lo_u32 v40, v41, v42");
TEXT(permlane_text, "v_permlane32_swap_b32 v40, v41");
TEXT(write_b32_text, "ds_write_b32 v1, v44");
TEXT(write_b64_text, "ds_write_b64 v1, v[44:45]");
TEXT(write_b128_text, "ds_write_b128 v1, v[44:47]");
TEXT(read_b128_text, "ds_read_b128 v[48:51], v1");
TEXT(read_wait_text, "ds_read_b32 v48, v1\ns_waitcnt lgkmcnt(0)");
TEXT(load_wait_text, "global_load_dword v40, v41, s[6:7]\ns_waitcnt vmcnt(0)");
TEXT(store_wait_text, "global_store_dword v41, v40, s[6:7]\ns_waitcnt vmcnt(0)");
TEXT(scalar_wait_text, "s_load_dword s22, s[6:7], 0x4000\ns_waitcnt lgkmcnt(0)");
TEXT(barrier_text, "s_barrier");
// The result of the matrix instruction goes through a vector instruction into the next one's operand.
TEXT(xdl_text, "v_mfma_f32_16x16x16_f16 v[48:51], v[44:45], v[46:47], 0\nv_add_f32 v44, v48, v48");
TEXT(two_pass_text, "v_mfma_f32_4x4x4_16b_f16 v[48:51], v[44:45], v[46:47], 0\nv_add_f32 v44, v48, v48");
TEXT(f32_text, "v_mfma_f32_16x16x4_f32 v[48:51], v44, v46, 0\nv_add_f32 v44, v48, v48");
TEXT(beside_text, "v_mfma_f32_16x16x16_f16 v[48:51], v[44:45], v[46:47], v[48:51]\nv_mov_b32 v60, v61\n"
                  "v_mov_b32 v60, v61\nv_mov_b32 v60, v61\nv_mov_b32 v60, v61");
TEXT(packed_text, "v_mfma_f32_16x16x16_f16 v[48:51], v[44:45], v[46:47], v[48:51]\nv_pk_mul_f32 v[60:61], "
                  "v[62:63], v[62:63]");
TEXT(loads_x4_text, "global_load_dwordx4 v[48:51], v41, s[6:7]");
TEXT(loads_x2_text, "global_load_dwordx2 v[48:49], v41, s[6:7]");
TEXT(loads_text, "global_load_dword v48, v41, s[6:7]");
#undef TEXT

// The line is in L1 before the clock starts: how far away memory is does not matter.
const std::string one_line = "v_mov_b32 v41, 0\nglobal_load_dword v40, v41, s[6:7]\ns_waitcnt vmcnt(0)\n";
const std::string aligned = "v_and_b32 v1, 63, v0\nv_lshlrev_b32 v1, 4, v1\n";

std::vector<Microbenchmark> all(isa::Arch arch) {
  const machine::Target& t = machine::target(arch);
  std::vector<Microbenchmark> b = {
      {"issue:v_exp_", "transcendental after transcendental", 4, 64, 16, 80, 64, "", repeat<exp_text>},
      {"issue:v_mul_lo_u32", "32-bit product after product", 4, 64, 16, 80, 64, "", repeat<mul_lo_text>},
  };
  if (t.swaps_lanes)
    b.push_back({"issue:v_permlane", "exchange of lanes after exchange", 4, 64, 16, 80, 64, "",
                 repeat<permlane_text>});
  if (!t.packed_beside_products)
    b.push_back({"mfma_packed_f32_hazard_clk", "packed f32 after a matrix instruction", 0, 64, 8, 40, 64, "",
                 repeat<packed_text>});
  b.insert(
      b.end(),
      {{"mfma_xdl_extra_wait_states", "f16 matrix result to vector instruction", 0, 64, 4, 36, 64, "",
        repeat<xdl_text>},
       {"mfma_two_pass_wait_states", "the same of 2 passes", 0, 64, 4, 36, 64, "", repeat<two_pass_text>},
       {"mfma_f32_extra_wait_states", "f32 matrix result to vector instruction", 0, 64, 4, 36, 64, "",
        repeat<f32_text>},
       {"mfma_coissue_from_clk", "vector instructions after a matrix instruction", 0, 64, 8, 40, 64, "",
        repeat<beside_text>},
       {"branch_taken_clk", "a taken branch", 0, 200, 8, 40, 64, "", branches},
       {"lds_latency_clk", "ds_read_b32 and its wait", 0, 400, 8, 40, 64, "v_lshlrev_b32 v1, 2, v0\n",
        repeat<read_wait_text>},
       {"lds_read_port_bytes", "ds_read_b128 of one wave", 16, 512, 32, 96, 64, aligned,
        repeat<read_b128_text>},
       {"lds_misaligned_b128_clk", "ds_read_b128 at a multiple of 4", 0, 400, 32, 64, 64,
        aligned + "v_add_u32 v1, 4, v1\n", repeat<read_b128_text>},
       {"lds_fifo_entries", "issue of ds_read_b128 at a multiple of 4", 1, 64, 1, 24, 64,
        aligned + "v_add_u32 v1, 4, v1\n", repeat<read_b128_text>},
       {"issue:ds_write_b32", "ds_write_b32 of one wave", 4, 64, 4, 36, 64, "v_lshlrev_b32 v1, 2, v0\n",
        repeat<write_b32_text>},
       {"issue:ds_write_b64", "ds_write_b64 of one wave", 4, 64, 4, 36, 64, aligned, repeat<write_b64_text>},
       {"issue:ds_write_b128", "ds_write_b128 of one wave", 4, 64, 4, 36, 64, aligned,
        repeat<write_b128_text>},
       {"lds_write_port_bytes", "ds_write_b128 of two waves of a SIMD pair", 16, 512, 4, 36, 128, aligned,
        repeat<write_b128_text>},
       {"barrier_clk", "s_barrier of four waves", 0, 400, 8, 40, 256, "", repeat<barrier_text>},
       {"scalar_hit_clk", "s_load_dword and its wait, again", 0, 2000, 8, 24, 64,
        "s_load_dword s22, s[6:7], 0x4000\ns_waitcnt lgkmcnt(0)\n", repeat<scalar_wait_text>},
       {"scalar_miss_clk", "s_load_dword of a new line and its wait", 0, 8000, 4, 12, 64, "", scalar_lines},
       {"l1_latency_clk", "a load from L1 and its wait", 0, 2000, 8, 24, 64,
        "v_mov_b32 v41, 0\nglobal_load_dword v40, v41, s[6:7]\ns_waitcnt vmcnt(0)\n", repeat<load_wait_text>},
       {"l2_latency_clk", "a load from L2 and its wait", 0, 4000, 2, 3, 64, "", sweeps},
       {"hbm_latency_clk", "a load from memory and its wait", 0, 8000, 4, 12, 64, "v_mov_b32 v41, 0x40000\n",
        new_lines},
       {"store_latency_clk", "a store and its wait", 0, 4000, 8, 24, 64, "v_mov_b32 v41, 0\n",
        repeat<store_wait_text>},
       {"vmem_dwordx4_clk", "loads of 16 bytes by four waves, from one line", 1, 256, 16, 32, 256, one_line,
        repeat<loads_x4_text>},
       {"vmem_dwordx2_clk", "loads of 8 bytes by four waves, from one line", 1, 256, 16, 32, 256, one_line,
        repeat<loads_x2_text>},
       {"vmem_dword_clk", "loads of 4 bytes by four waves, from one line", 1, 256, 16, 32, 256, one_line,
        repeat<loads_text>},
       {"vmem_line_clk", "loads of 4 bytes, each lane from a line of its own", 1, 64, 16, 32, 64,
        "v_lshlrev_b32 v41, 7, v0\nglobal_load_dword v40, v41, s[6:7]\ns_waitcnt vmcnt(0)\n",
        repeat<loads_text>},
       // Beyond 64 bytes a clock L1 decides.
       {"l2_bytes_per_clk", "256 KiB from L2 by four waves", 8, 64, 2, 3, 256, "", streams}});
  return b;
}

struct Recorded {
  Trace trace;
  std::vector<std::uint32_t> marks;
};

} // namespace

const std::vector<Microbenchmark>& microbenchmarks(isa::Arch arch) {
  static const std::vector<std::vector<Microbenchmark>> sets = [] {
    std::vector<std::vector<Microbenchmark>> s;
    for (const machine::Target& t : machine::targets) s.push_back(all(t.arch));
    return s;
  }();
  return sets[static_cast<std::size_t>(arch)];
}

namespace {

/// Matrix instructions by the names that they have on `arch`.
std::string with_names_of(std::string text, isa::Arch arch) {
  for (const machine::MatrixInstruction& i : machine::matrix_instructions()) {
    const machine::MatrixInstruction* const here = i.on(arch) ? nullptr : machine::same_product(i, arch);
    const std::string name = std::string(i.name) + " ";
    for (std::size_t at = 0; here != nullptr && (at = text.find(name, at)) != std::string::npos;)
      text.replace(at, i.name.size(), here->name);
  }
  return text;
}

} // namespace

std::vector<std::uint8_t> microbenchmark_kernel(const Microbenchmark& b, unsigned n, isa::Arch arch) {
  const std::string text =
      ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n"
      "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n" +
      b.setup +
      // Everybody has fetched the code and is here.
      "s_barrier\ns_nop 7\ns_memtime s[8:9]\ns_waitcnt lgkmcnt(0)\n" + b.repeated(n) +
      "s_barrier\ns_memtime s[10:11]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
      "s_sub_u32 s10, s10, s8\ns_subb_u32 s11, s11, s9\n"
      "v_mov_b32 v2, s10\nv_mov_b32 v3, s11\nv_mov_b32 v4, 0\nv_cmp_eq_u32 vcc, 0, v0\n"
      "s_and_b64 exec, exec, vcc\nglobal_store_dwordx2 v4, v[2:3], s[4:5]\ns_endpgm\n"
      ".Lend:\n.size k, .Lend-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n"
      ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_group_segment_fixed_size 8192\n"
      ".amdhsa_kernarg_size 16\n.amdhsa_next_free_vgpr 64\n.amdhsa_accum_offset 64\n"
      ".amdhsa_next_free_sgpr 32\n.end_amdhsa_kernel\n"
      ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n"
      "  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: 16\n"
      "    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 8192\n"
      "    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n    .sgpr_count: 38\n"
      "    .vgpr_count: 64\n    .agpr_count: 0\n    .max_flat_workgroup_size: 256\n    .args:\n"
      "      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}\n"
      "      - {.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}\n"
      "...\n.end_amdgpu_metadata\n";
  return isa::assemble_code_object(with_names_of(text, arch), arch);
}

struct ModelDevice::State {
  isa::Arch arch;
  std::map<std::pair<std::string, unsigned>, Recorded> recorded;
};

ModelDevice::ModelDevice(isa::Arch arch) : state_(std::make_unique<State>()) { state_->arch = arch; }
ModelDevice::~ModelDevice() = default;

double ModelDevice::clocks(const Microbenchmark& b, unsigned n, const Parameters& p) {
  auto [at, fresh] = state_->recorded.try_emplace({b.parameter, n});
  Recorded& r = at->second;
  if (fresh) {
    TraceRecorder recorder(state_->arch, {0});
    EmulatorDevice device(state_->arch, {.checks = Checks::none(), .observer = &recorder});
    const DevicePointer result = device.allocate(64), zeros = device.allocate(1U << 20);
    const std::uint64_t pointers[2] = {result, zeros};
    std::vector<std::uint8_t> arguments(16);
    std::memcpy(arguments.data(), pointers, 16);
    const Module module = device.load(CodeObject::parse(microbenchmark_kernel(b, n, state_->arch)));
    device.launch(device.function(module, "k"), {.grid = {1}, .block = {b.block}}, arguments);
    r.trace = recorder.take();
    for (std::size_t i = 0; i < r.trace.program.instructions.size(); ++i)
      if (r.trace.program.instructions[i].mnemonic == "s_memtime")
        r.marks.push_back(static_cast<std::uint32_t>(i));
  }
  const UnitResult u = simulate(r.trace, p, {.keep_segments = false, .marks = r.marks});
  const auto& marks = u.waves.at(0).marks;
  return marks.size() < 2 ? 0.0 : static_cast<double>(marks.back().clock - marks.front().clock);
}

Calibration calibrate(isa::Arch arch, const std::function<double(const Microbenchmark&, unsigned)>& measure,
                      const std::string& source, ModelDevice& model) {
  Calibration c{Parameters::of(arch), {}};
  for (const Microbenchmark& b : microbenchmarks(arch)) {
    Fitted f{b.parameter, b.what, 0, 0, 0, 0};
    const bool rule = b.parameter.starts_with("issue:");
    f.before = rule ? c.parameters.issue_clocks(b.parameter.substr(6)) : c.parameters[b.parameter];
    f.measured = measure(b, b.many) - measure(b, b.few);
    const auto predicted = [&](double v) {
      const Parameters p = c.parameters.with(b.parameter, v, source);
      return model.clocks(b, b.many, p) - model.clocks(b, b.few, p);
    };
    // As exact as the slots of a SIMD: no closer can hardware be read either.
    const double exact = 0.5 + 0.002 * std::abs(f.measured);
    f.after = f.before;
    f.explained = predicted(f.before);
    if (std::abs(f.explained - f.measured) > exact) {
      double low = b.low, high = b.high;
      const bool rising = predicted(high) >= predicted(low);
      while (high - low > 1) {
        const double middle = std::floor((low + high) / 2);
        ((predicted(middle) < f.measured) == rising ? low : high) = middle;
      }
      const double best =
          std::abs(predicted(low) - f.measured) < std::abs(predicted(high) - f.measured) ? low : high;
      f.explained = predicted(best);
      // What happens in slots of 4 clocks shows a number to within one: of those that explain the same, a whole number of slots, else
      // the middle.
      double first = best, last = best;
      while (first > b.low && best - first < 32 && predicted(first - 1) == f.explained) --first;
      while (last < b.high && last - best < 32 && predicted(last + 1) == f.explained) ++last;
      f.after = 4 * std::floor(last / 4) >= first && last - first < 8 ? 4 * std::floor(last / 4)
                                                                      : std::floor((first + last) / 2);
      c.parameters = c.parameters.with(b.parameter, f.after, source);
    }
    c.fitted.push_back(f);
  }
  return c;
}

} // namespace inlay::runtime::timing
