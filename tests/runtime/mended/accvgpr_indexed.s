; s_set_gpr_idx_on moves AGPRs as it moves VGPRs, as sources and as destinations.
; run --arg out:512
; out 0b 16
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 3, v0
  v_mov_b32_e32 v1, 11
  v_mov_b32_e32 v2, 22
  v_accvgpr_write_b32 a3, v1
  s_mov_b32 s4, 3
  s_nop 4
  s_set_gpr_idx_on s4, gpr_idx(SRC0)
  v_accvgpr_read_b32 v4, a0            ; a3
  s_set_gpr_idx_off
  s_set_gpr_idx_on s4, gpr_idx(DST)
  v_accvgpr_write_b32 a1, v2           ; a4
  s_set_gpr_idx_off
  s_nop 4
  v_accvgpr_read_b32 v5, a4
  s_waitcnt lgkmcnt(0)
  global_store_dwordx2 v0, v[4:5], s[2:3]
  s_endpgm
.Lend:
  .size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
  .amdhsa_next_free_vgpr 24
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 24
    .max_flat_workgroup_size: 64
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
