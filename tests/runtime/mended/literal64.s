; A 32-bit literal of a 64-bit scalar operand: zeros above it, but for a signed integer (s_ashr_i64) its sign.
; run --arg out:64
; out f2345678 0 f2345678 0 f2345678 0 f2345678 0 1 ff234567 ffffffff
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl lit
.p2align 8
.type lit,@function
lit:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v40, 0
  s_mov_b64 s[8:9], 0xf2345678
  v_mov_b32 v0, s8
  v_mov_b32 v1, s9
  v_mov_b64 v[2:3], 0xf2345678
  s_or_b64 s[10:11], 0, 0xf2345678
  v_mov_b32 v4, s10
  v_mov_b32 v5, s11
  s_mov_b64 s[12:13], -1
  s_and_b64 s[10:11], s[12:13], 0xf2345678
  v_mov_b32 v6, s10
  v_mov_b32 v7, s11
  s_mov_b32 s12, 0xf2345678
  s_mov_b32 s13, 0
  s_cmp_eq_u64 s[12:13], 0xf2345678
  s_cselect_b32 s14, 1, 0
  v_mov_b32 v8, s14
  s_ashr_i64 s[10:11], 0xf2345678, 4
  v_mov_b32 v9, s10
  v_mov_b32 v10, s11
  v_mov_b32 v11, 0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v40, v[0:3], s[4:5]
  global_store_dwordx4 v40, v[4:7], s[4:5] offset:16
  global_store_dwordx4 v40, v[8:11], s[4:5] offset:32
  s_endpgm
.Lend:
  .size lit, .Lend-lit
.rodata
.p2align 6
.amdhsa_kernel lit
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 44
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 44
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: lit
    .symbol: lit.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 44
    .max_flat_workgroup_size: 64
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
