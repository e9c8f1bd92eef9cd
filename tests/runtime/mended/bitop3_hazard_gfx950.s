; v_bitop3_b16 takes as long as a transcendental and is none.
; run --arg out:256
; quiet hazard
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl lit
.p2align 8
.type lit,@function
lit:
  v_mov_b32 v16, v0
  v_mov_b32 v21, 3
  v_bitop3_b16 v21, v16, v21, v0 bitop3:0xf8
  v_add_u16_e32 v40, 0x500, v21
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
