; 16 bytes, the last 12 of which lie beyond the buffer: a finding, and the word that there is arrives, as it does on hardware.
; run --block 64 --arg in:4 --arg out:16
; finds bounds global_load_dwordx4
; out fffffffd 0 0 0
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v2, 0
  s_mov_b64 exec, 1
  s_waitcnt lgkmcnt(0)
  global_load_dwordx4 v[4:7], v2, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dwordx4 v2, v[4:7], s[6:7]
  s_endpgm

.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
  .amdhsa_group_segment_fixed_size 256
  .amdhsa_next_free_vgpr 16
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 16
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
    .sgpr_count: 32
    .vgpr_count: 16
    .max_flat_workgroup_size: 128
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 8
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
.end_amdgpu_metadata
