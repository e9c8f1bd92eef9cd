; Two waves write 7 to one word of LDS, which alone would be a note; then one of them writes 8: what remains depends on who comes last.
; run --block 128 --arg in:256 --arg out:4
; finds races ds_write_b32 v2, v4
; note races ds_write_b32 v2, v1
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 7
  v_mov_b32_e32 v4, 8
  v_mov_b32_e32 v2, 0
  ds_write_b32 v2, v1
  v_readfirstlane_b32 s8, v0
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 .Lmeet
  s_sleep 1
  s_sleep 1
  ds_write_b32 v2, v4
.Lmeet:
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_mov_b32_e32 v3, 1
  global_store_dword v2, v3, s[6:7]
  s_endpgm

.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
  .amdhsa_group_segment_fixed_size 256
  .amdhsa_next_free_vgpr 16
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 16
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 256
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 16
    .max_flat_workgroup_size: 128
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 8
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
.end_amdgpu_metadata
