; Constants by the format of the element: a pair of f16 or bf16 has it in its low half, v_pk_mov_b32 takes two words, and the
; literal of a signed 64-bit comparison is extended by its sign, of an unsigned one with zeros.
; run --arch gfx950 --arg out:1024
; out 40000000 40000000 3f800000 1
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 4, v0
  v_mov_b32_e32 v1, 0x40004000         ; 2, 2 as f16
  v_mov_b32_e32 v2, 0x40004000         ; 2, 2 as bf16
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  v_dot2_f32_f16 v4, v1, 1.0, 0        ; 2 * 1 + 2 * 0
  v_dot2_f32_bf16 v5, v2, 1.0, 0
  s_nop 3
  v_pk_mov_b32 v[6:7], 1.0, v[10:11] op_sel:[0,1]
  v_mov_b32_e32 v8, -1
  v_mov_b32_e32 v9, -1
  v_cmp_eq_i64_e32 vcc, 0xfffffff0, v[8:9]
  s_nop 1
  v_cndmask_b32_e64 v7, 0, 2, vcc
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v8, 0xfffffff0
  v_cmp_eq_u64_e32 vcc, 0xfffffff0, v[8:9]
  s_nop 1
  v_cndmask_b32_e64 v12, 0, 1, vcc
  v_or_b32_e32 v7, v7, v12
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v0, v[4:7], s[2:3]
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
