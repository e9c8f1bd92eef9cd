// Speed of the emulator: wave instructions a second on vector code, multiply-adds a second in a GEMM.
#include <benchmark/benchmark.h>
#include <fstream>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/isa/assemble.h>
#include <sstream>

using namespace inlay::runtime;

namespace {

std::vector<std::uint8_t> kernel(const std::string& body) {
  return isa::assemble_code_object(
      ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + body +
          "\n.Lend:\n.size k, .Lend-k\n.rodata\n.p2align 6\n.amdhsa_kernel "
          "k\n.amdhsa_private_segment_fixed_size 64\n"
          ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_next_free_vgpr 64\n"
          ".amdhsa_kernarg_size 16\n.amdhsa_accum_offset 32\n.amdhsa_next_free_sgpr "
          "96\n.amdhsa_group_segment_fixed_size 4096\n.end_amdhsa_kernel\n",
      isa::Arch::gfx942);
}

void loop(benchmark::State& state, const std::string& body, Checks checks) {
  std::string text =
      "s_movk_i32 s8, 2000\nv_mov_b32 v1, 1.0\nv_mov_b32 v2, 2.0\nv_mov_b32 v3, "
      "0.5\nv_lshlrev_b32 v4, 2, v0\n"
      "v_mov_b32 v12, 0\nscratch_store_dword off, v12, off offset:16\nv_mov_b32 v5, 0\nv_mov_b32 v6, "
      "0\nv_mov_b32 v7, 0\nv_mov_b32 v8, 0\nv_mov_b32 v9, "
      "0\nv_lshlrev_b32 v10, 4, v0\nv_mov_b32 v16, 1\nv_mov_b32 v17, 2\nv_mov_b32 v18, 3\nv_mov_b32 v19, 4\n"
      "ds_write_b32 v4, v1\nds_write_b128 v10, v[16:19]\ns_lshl_b32 s16, s2, 12\ns_load_dwordx4 s[0:3], "
      "s[0:1], 0x0\n"
      "s_waitcnt lgkmcnt(0)\n" // each workgroup has 4 KiB of its own: where two store to one place there is something to say
      "s_add_u32 s0, s0, s16\ns_addc_u32 s1, s1, 0\ns_add_u32 s2, s2, s16\ns_addc_u32 s3, s3, 0\ns_mov_b32 "
      "m0, 0\nv_mov_b32 v20, s0\nv_mov_b32 v21, s1\nv_add_co_u32 v20, vcc, "
      "v20, v4\n"
      "v_addc_co_u32 v21, vcc, 0, v21, vcc\nv_and_b32 v11, 15, v0\nv_lshlrev_b32 v11, 8, v11\nv_lshrrev_b32 "
      "v22, 4, v0\n"
      "v_lshlrev_b32 v22, 4, v22\nv_or_b32 v11, v11, v22\n" // rows of 256 bytes, as results of matrix instructions are stored
      "s_mov_b64 s[4:5], s[0:1]\ns_movk_i32 s6, 0x1000\ns_mov_b32 s7, 0x27000\ns_mov_b64 s[12:13], s[2:3]\n"
      "s_mov_b64 s[14:15], s[6:7]\nloop:\n";
  for (int i = 0; i < 16; ++i) text += body;
  text += "s_sub_u32 s8, s8, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 loop\ns_endpgm\n";
  EmulatorDevice device(isa::Arch::gfx942, {.threads = 1, .checks = checks});
  const Module module = device.load(CodeObject::parse(kernel(text)));
  const Function function = device.function(module, "k");
  std::uint64_t instructions = 0;
  const std::vector<std::uint8_t> zeros(4 * 4096);
  const DevicePointer buffers[2] = {device.allocate(zeros.size()), device.allocate(zeros.size())};
  device.copy_in(buffers[0], zeros);
  const std::span<const std::uint8_t> arguments(reinterpret_cast<const std::uint8_t*>(buffers),
                                                sizeof buffers);
  for (auto _ : state) {
    device.launch(function, {.grid = {4}, .block = {64}}, arguments);
    instructions += device.last_launch().statistics.instructions;
  }
  state.counters["instructions/s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void gemm(benchmark::State& state, Checks checks) {
  std::ifstream in(std::string(INLAY_TESTS_DIR) + "/isa/triton/gemm_f16_128x128x64.gfx942.s");
  std::stringstream text;
  text << in.rdbuf();
  const std::uint32_t size = static_cast<std::uint32_t>(state.range(0));
  EmulatorDevice device(isa::Arch::gfx942, {.checks = checks});
  const Module module =
      device.load(CodeObject::parse(isa::assemble_code_object(text.str(), isa::Arch::gfx942)));
  const Function function = device.function(module, "matmul");
  const std::vector<std::uint8_t> data(std::size_t{size} * size * 2, 0x31);
  std::uint64_t pointers[3];
  for (auto& p : pointers) {
    p = device.allocate(data.size());
    device.copy_in(p, data);
  }
  std::vector<std::uint8_t> arguments(64);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(pointers), 24, arguments.begin());
  for (std::size_t i = 0; i < 6; ++i)
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&size), 4,
                arguments.begin() + 24 + static_cast<std::ptrdiff_t>(4 * i));
  std::uint64_t instructions = 0, products = 0;
  for (auto _ : state) {
    device.launch(function, {.grid = {size / 128 * (size / 128)}, .block = {256}, .dynamic_lds = 65536},
                  arguments);
    instructions += device.last_launch().statistics.instructions;
    products += device.last_launch().statistics.multiply_adds;
  }
  state.counters["instructions/s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
  state.counters["multiply-adds/s"] =
      benchmark::Counter(static_cast<double>(products), benchmark::Counter::kIsRate);
}

} // namespace

BENCHMARK_CAPTURE(loop, v_fma_f32, "v_fma_f32 v5, v1, v2, v3\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, v_add_u32_scalar, "v_add_u32 v5, s8, v2\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, mixed_valu,
                  "v_add_f32 v5, v1, v2\nv_mul_f32 v6, v5, v3\nv_lshlrev_b32 v7, 3, v4\nv_cmp_gt_f32 vcc, "
                  "v5, v6\nv_cndmask_b32 v8, v5, v6, vcc\nv_max_f32 v9, v5, v8\n",
                  Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, v_pk_fma_f32, "v_pk_fma_f32 v[6:7], v[2:3], v[8:9], v[6:7]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, v_exp_f32, "v_exp_f32 v5, v1\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, v_log_f32, "v_log_f32 v5, v2\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, v_rcp_f32, "v_rcp_f32 v5, v2\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, v_rsq_f32, "v_rsq_f32 v5, v2\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, v_sin_f32, "v_sin_f32 v5, v3\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, s_add, "s_add_u32 s9, s8, 3\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_read_b32, "ds_read_b32 v5, v4\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, v_fma_f32_all_checks, "v_fma_f32 v5, v1, v2, v3\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, s_add_all_checks, "s_add_u32 s9, s8, 3\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_read_b32_all_checks, "ds_read_b32 v5, v4\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_read_b128, "ds_read_b128 v[12:15], v10\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_read_b128_all_checks, "ds_read_b128 v[12:15], v10\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_write_b128, "ds_write_b128 v10, v[16:19]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_write_b128_all_checks, "ds_write_b128 v10, v[16:19]\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_read2_b32, "ds_read2_b32 v[12:13], v4 offset1:64\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_read2_b32_all_checks, "ds_read2_b32 v[12:13], v4 offset1:64\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_read_u16, "ds_read_u16 v12, v4\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_read_u16_all_checks, "ds_read_u16 v12, v4\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_write_b16, "ds_write_b16 v4, v16\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_write_b16_all_checks, "ds_write_b16 v4, v16\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_bpermute_b32, "ds_bpermute_b32 v12, v4, v16\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_bpermute_b32_all_checks, "ds_bpermute_b32 v12, v4, v16\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_load_dwordx4, "global_load_dwordx4 v[12:15], v10, s[0:1]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_load_dwordx4_all_checks, "global_load_dwordx4 v[12:15], v10, s[0:1]\n",
                  Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_load_ushort, "global_load_ushort v12, v4, s[0:1]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_load_ushort_all_checks, "global_load_ushort v12, v4, s[0:1]\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_store_dwordx4, "global_store_dwordx4 v10, v[16:19], s[2:3]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_store_dwordx4_all_checks, "global_store_dwordx4 v10, v[16:19], s[2:3]\n",
                  Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, flat_load_dword, "flat_load_dword v12, v[20:21]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, flat_load_dword_all_checks, "flat_load_dword v12, v[20:21]\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, buffer_load_dwordx4, "buffer_load_dwordx4 v[12:15], v10, s[4:7], 0 offen\n",
                  Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, buffer_load_dwordx4_all_checks,
                  "buffer_load_dwordx4 v[12:15], v10, s[4:7], 0 offen\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, buffer_load_lds, "buffer_load_dword v4, s[4:7], 0 offen lds\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, buffer_load_lds_all_checks, "buffer_load_dword v4, s[4:7], 0 offen lds\n",
                  Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, buffer_store_dwordx4_rows, "buffer_store_dwordx4 v[16:19], v11, s[12:15], 0 offen\n",
                  Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, buffer_store_dwordx4_rows_all_checks,
                  "buffer_store_dwordx4 v[16:19], v11, s[12:15], 0 offen\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, scratch_load_dword, "scratch_load_dword v12, off, off offset:16\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, scratch_load_dword_all_checks, "scratch_load_dword v12, off, off offset:16\n",
                  Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_u32, "ds_add_u32 v4, v16\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_u32_all_checks, "ds_add_u32 v4, v16\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_u32_one_address, "ds_add_u32 v7, v16\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_u32_one_address_all_checks, "ds_add_u32 v7, v16\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_rtn_u32, "ds_add_rtn_u32 v12, v4, v16\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_rtn_u32_all_checks, "ds_add_rtn_u32 v12, v4, v16\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_f32, "ds_add_f32 v4, v16\n", Checks::none())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_f32_all_checks, "ds_add_f32 v4, v16\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_u64, "ds_add_u64 v10, v[16:17]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_add_u64_all_checks, "ds_add_u64 v10, v[16:17]\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_max_rtn_i32, "ds_max_rtn_i32 v12, v10, v16\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_max_rtn_i32_all_checks, "ds_max_rtn_i32 v12, v10, v16\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_cmpst_rtn_b32, "ds_cmpst_rtn_b32 v12, v4, v16, v17\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, ds_cmpst_rtn_b32_all_checks, "ds_cmpst_rtn_b32 v12, v4, v16, v17\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_atomic_add, "global_atomic_add v4, v16, s[0:1]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_atomic_add_all_checks, "global_atomic_add v4, v16, s[0:1]\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_atomic_add_returned, "global_atomic_add v12, v4, v16, s[0:1] sc0\n",
                  Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_atomic_add_returned_all_checks, "global_atomic_add v12, v4, v16, s[0:1] sc0\n",
                  Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, scratch_store_dword, "scratch_store_dword off, v16, off offset:16\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, scratch_store_dword_all_checks, "scratch_store_dword off, v16, off offset:16\n",
                  Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, flat_store_dword, "flat_store_dword v[20:21], v16\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, flat_store_dword_all_checks, "flat_store_dword v[20:21], v16\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, flat_load_dword_waited,
                  "flat_load_dword v12, v[20:21]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, flat_load_dword_waited_all_checks,
                  "flat_load_dword v12, v[20:21]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_load_dword, "global_load_dword v12, v4, s[0:1]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_load_dword_all_checks, "global_load_dword v12, v4, s[0:1]\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_store_dword, "global_store_dword v4, v16, s[2:3]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_store_dword_all_checks, "global_store_dword v4, v16, s[2:3]\n", Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_store_short_scattered, "global_store_short v4, v16, s[2:3]\n", Checks::none())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop, global_store_short_scattered_all_checks, "global_store_short v4, v16, s[2:3]\n",
                  Checks::all())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gemm, plain, Checks{})->Arg(512)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gemm, all_checks, Checks::all())->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
