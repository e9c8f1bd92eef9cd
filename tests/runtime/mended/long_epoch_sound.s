; No two waves touch one word.
; run --block 128 --arg out:512
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl lit
.p2align 8
.type lit,@function
lit:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s8, v0
  v_lshlrev_b32 v1, 2, v0
  v_xor_b32 v2, 0x14, v1
  v_mov_b32 v5, 0
  v_mov_b32 v20, 0x1000
  s_movk_i32 s9, 3000
  ds_write_b32 v1, v5
  ds_write_b32 v1, v5 offset:512
  ds_write_b32 v20, v5
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 loop
  ds_read_b32 v6, v20 offset:4
  s_waitcnt lgkmcnt(0)
loop:
  ds_write_b32 v1, v0
  ds_add_u32 v2, v0
  ds_read_b32 v5, v2
  ds_read2_b32 v[8:9], v1 offset0:0 offset1:128
  v_add_u32 v2, 4, v2
  v_and_b32 v2, 0xfc, v2
  v_lshrrev_b32 v7, 6, v0
  v_lshl_or_b32 v2, v7, 8, v2
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 loop
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 done
  v_mov_b32 v21, 3
  ds_write_b32 v20, v21
done:
  global_store_dword v1, v5, s[4:5]
  s_endpgm
.Lend:
  .size lit, .Lend-lit
.rodata
.p2align 6
.amdhsa_kernel lit
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 44
  .amdhsa_group_segment_fixed_size 8192
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 44
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: lit
    .symbol: lit.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 8192
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 44
    .max_flat_workgroup_size: 128
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
