; Eight waves load 64 words each to LDS, of which there are 64 words: seven of them land past its end. Once the shadow of LDS was written
; past its own end instead (github.com/facebookexperimental/triton, issue 2801).
; run --block 512 --arg in:256 --arg out:2048
; finds bounds buffer_load_dword
; says writes LDS byte 256 of 256
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_min_u32_e32 v1, 63, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_readfirstlane_b32 s12, v0
  s_lshl_b32 m0, s12, 2
  v_lshlrev_b32_e32 v3, 2, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[8:9], s[4:5]
  s_mov_b32 s10, 0x100
  s_mov_b32 s11, 0x20000
  s_nop 4
  buffer_load_dword v1, s[8:11], 0 offen lds
  s_waitcnt vmcnt(0)
  s_barrier
  v_and_b32_e32 v2, 63, v0
  v_lshlrev_b32_e32 v2, 2, v2
  ds_read_b32 v4, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v3, v4, s[6:7]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
  .amdhsa_group_segment_fixed_size 256
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
    .group_segment_fixed_size: 256
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 48
    .vgpr_count: 32
    .max_flat_workgroup_size: 512
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
