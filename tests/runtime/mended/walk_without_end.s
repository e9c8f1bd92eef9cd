; A count of trips that is taken from the carry of an address makes a loop of 2^32 trips walk off its buffer (LLVM, issue 215745): the findings are
; there as soon as there are so many of them.
; run --arg in:256 --arg out:256 --limit 5000
; finds bounds global_load_dword
; fails stopped after 5000 findings
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, 8
  s_cmp_lt_u32 s8, 4
  s_add_u32 s4, s4, 0
  s_addc_u32 s5, s5, 0
  s_cselect_b32 s9, s8, 0
loop:
  global_load_dword v3, v2, s[4:5]
  s_add_u32 s4, s4, 4
  s_addc_u32 s5, s5, 0
  s_sub_u32 s9, s9, 1
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v1, v1, v3
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 loop
  global_store_dword v2, v1, s[6:7]
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
