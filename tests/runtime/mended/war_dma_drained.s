; The same, overwritten by a load to LDS.
; run --block 128 --arg in:4096 --arg out:256 --stress
; finds waits buffer_load_dword
; stress differs
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0     ; in, out
  v_readfirstlane_b32 s8, v0
  s_lshr_b32 s8, s8, 6                   ; wave
  v_and_b32_e32 v1, 63, v0
  v_lshlrev_b32_e32 v1, 2, v1            ; lane * 4
  v_mov_b32_e32 v2, 1.0
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[12:13], s[4:5]             ; buffer descriptor of `in`
  s_mov_b32 s14, 0x1000
  s_mov_b32 s15, 0x20000
  s_mov_b32 m0, 0
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 wave1
  ds_write_b32 v1, v2                    ; the tile
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v3, v1                     ; read it ...
  s_barrier                              ; ... and go through the barrier
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[6:7]
  s_endpgm
wave1:
  s_barrier
  buffer_load_dword v1, s[12:15], 0 offen lds   ; overwrites the tile
  s_waitcnt vmcnt(0)
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
