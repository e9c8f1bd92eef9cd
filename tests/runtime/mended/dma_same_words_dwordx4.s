; Two waves load the same words to the same words of LDS: whichever lands last leaves the same.
; run --block 128 --arg in:4096 --arg out:512
; note races buffer_load_dwordx4
; says the value is the same
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v1, 63, v0
  v_lshlrev_b32 v2, 4, v1
  s_mov_b32 m0, 0
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[8:9], s[4:5]
  s_mov_b32 s10, 4096
  s_mov_b32 s11, 0x20000
  s_nop 4
  buffer_load_dwordx4 v2, s[8:11], 0 offen lds
  s_waitcnt vmcnt(0)
  s_barrier
  v_lshlrev_b32 v2, 2, v1
  ds_read_b32 v3, v2
  v_lshlrev_b32 v4, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v4, v3, s[6:7]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
  .amdhsa_group_segment_fixed_size 1024
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
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 48
    .vgpr_count: 32
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
