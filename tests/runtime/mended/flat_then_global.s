; A flat store and a global load of the same place: the wave's accesses to memory keep their order whatever counter holds which.
; run --arg out:512 --stress
; out 7 7
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v10, 2, v0
  v_mov_b32 v11, 0
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u64 v[2:3], s[4:5], 0, v[10:11]
  v_mov_b32 v5, 7
  flat_store_dword v[2:3], v5
  global_load_dword v6, v[2:3], off
  s_waitcnt vmcnt(0)
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dword v10, v6, s[4:5] offset:256
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
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
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 48
    .vgpr_count: 32
    .max_flat_workgroup_size: 64
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
