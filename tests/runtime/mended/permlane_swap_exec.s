; v_cmpx three wait states before v_permlane16_swap_b32 (LLVM, pull requests 117286 and 117287).
; run --arg out:256
; note hazard v_permlane16_swap
; says exec is used 3 wait states after a v_cmpx wrote it; 4 are needed
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v3, 3
  v_mov_b32_e32 v4, 5
  s_waitcnt lgkmcnt(0)
  s_nop 7
  v_cmpx_gt_u32_e32 64, v0
  s_nop 2
  v_permlane16_swap_b32 v3, v4
  global_store_dword v1, v3, s[4:5]
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
