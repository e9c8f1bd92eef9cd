; The first three workgroups wait for what the last one writes: on hardware all four are under way.
; run --grid 4 --arg zeros:64 --arg out:4 --threads 2
; out 5
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v0, 0
  s_cmp_eq_u32 s2, 3
  s_cbranch_scc1 set
spin:
  v_mov_b32 v1, 0
  global_atomic_or v1, v0, v1, s[4:5] sc0
  s_waitcnt vmcnt(0)
  buffer_inv sc1
  v_readfirstlane_b32 s8, v1
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 spin
  v_mov_b32 v1, 5
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 over
  global_store_dword v0, v1, s[6:7]
over:
  s_endpgm
set:
  v_mov_b32 v1, 1
  global_store_dword v0, v1, s[4:5] sc1
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
