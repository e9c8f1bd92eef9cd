; lgkmcnt holds 15: of 21 reads in flight the first is done when the last is issued.
; run --arg out:256
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl lit
.p2align 8
.type lit,@function
lit:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v3, s5
  v_add_co_u32 v2, vcc, s4, v0
  v_addc_co_u32 v3, vcc, 0, v3, vcc
  ds_read_b32 v1, v0
  ds_read_b32 v4, v0
  ds_read_b32 v5, v0
  ds_read_b32 v6, v0
  ds_read_b32 v7, v0
  ds_read_b32 v8, v0
  ds_read_b32 v9, v0
  ds_read_b32 v10, v0
  ds_read_b32 v11, v0
  ds_read_b32 v12, v0
  ds_read_b32 v13, v0
  ds_read_b32 v14, v0
  ds_read_b32 v15, v0
  ds_read_b32 v16, v0
  ds_read_b32 v17, v0
  ds_read_b32 v18, v0
  ds_read_b32 v19, v0
  ds_read_b32 v20, v0
  ds_read_b32 v21, v0
  ds_read_b32 v22, v0
  ds_read_b32 v23, v0
  v_mov_b32 v1, 0
  s_endpgm
.Lend:
  .size lit, .Lend-lit
.rodata
.p2align 6
.amdhsa_kernel lit
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 44
  .amdhsa_group_segment_fixed_size 1024
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
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 44
    .max_flat_workgroup_size: 64
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
