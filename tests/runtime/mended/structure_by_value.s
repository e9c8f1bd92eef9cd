; A structure of 12 bytes by value, and several values after one --arg.
; run --arg out:512 bytes:0100000022000000ff000000 i32:5
; out 22 5
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx4 s[8:11], s[0:1], 0x8
  v_lshlrev_b32_e32 v0, 3, v0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s9
  v_mov_b32_e32 v3, s11
  global_store_dwordx2 v0, v[2:3], s[4:5]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 24
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 24
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 12, .value_kind: by_value}
      - {.offset: 20, .size: 4, .value_kind: by_value}
...
.end_amdgpu_metadata
