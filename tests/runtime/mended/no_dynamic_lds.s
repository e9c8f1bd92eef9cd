; A kernel that wants dynamic LDS and is launched with none: one finding for all its accesses, which names --lds.
; run --lds 0 --arg out:256
; finds bounds ds_write_b32
; says --lds BYTES
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl lit
.p2align 8
.type lit,@function
lit:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v40, 0
  v_mov_b32 v41, -4
  v_mov_b32 v42, 77
  v_mov_b32 v43, 88
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v30, 0
  ds_write_b32 v30, v42 offset:4
  ds_write_b32 v30, v43 offset:8
  s_waitcnt lgkmcnt(0)
  ds_read2_b32 v[0:1], v41 offset0:2 offset1:3
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dwordx2 v40, v[0:1], s[4:5]
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
