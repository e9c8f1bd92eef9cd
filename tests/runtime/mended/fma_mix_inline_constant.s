; v_fma_mix reads a float constant as f16 where op_sel_hi says that the operand is one.
; run --arg out:1024
; out 40a00000 bf800000 40a00000
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 4, v0
  v_mov_b32_e32 v1, 0x4000          ; f16 2.0
  v_mov_b32_e32 v2, 0x40400000      ; f32 3.0
  v_fma_mix_f32 v4, v1, 1.0, v2 op_sel_hi:[1,1,0]    ; 2*1+3 = 5
  v_fma_mix_f32 v5, v2, -1.0, v1 op_sel_hi:[0,1,1]   ; 3*-1+2 = -1
  v_fma_mix_f32 v6, v1, 1.0, v2 op_sel_hi:[1,0,0]    ; 5 (f32 constant)
  v_mov_b32_e32 v7, 0
  v_fma_mixlo_f16 v7, v1, 0.5, v2 op_sel_hi:[1,1,0]  ; 2*.5+3 = 4 (f16 4400)
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v0, v[4:7], s[2:3]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
  .amdhsa_next_free_vgpr 8
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
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
.end_amdgpu_metadata
