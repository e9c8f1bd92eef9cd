; A flat store may be done before the load that was issued before it: only vmcnt(0) covers that one then (CDNA3 ISA, "Flat Instructions").
; run --arg in:512 --arg out:512 --stress
; finds waits v_add_u32
; stress differs
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v10, 2, v0
  v_mov_b32 v11, 0
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u64 v[2:3], s[4:5], 0, v[10:11]
  v_mov_b32 v7, 1
  v_lshl_add_u64 v[4:5], s[6:7], 0, v[10:11]
  global_load_dword v6, v[2:3], off
  flat_store_dword v[4:5], v7 offset:256
  s_waitcnt vmcnt(1)
  v_add_u32 v6, 1, v6
  s_waitcnt lgkmcnt(0)
  global_store_dword v10, v6, s[6:7]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
  .amdhsa_group_segment_fixed_size 0
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 48
  .amdhsa_accum_offset 32
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 48
    .vgpr_count: 32
    .max_flat_workgroup_size: 64
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
