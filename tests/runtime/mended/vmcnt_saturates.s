; vmcnt holds 63: of 64 loads in flight the first is done when the last is issued.
; run --stress --arg in:1024 --arg out:256
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl lit
.p2align 8
.type lit,@function
lit:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
.set n, 0
.rept 64
  global_load_dword v[10+n], v0, s[4:5] offset:4*n
  .set n, n+1
.endr
  s_waitcnt vmcnt(63)
  v_add_u32_e32 v1, 1, v10
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[6:7]
  s_endpgm
.Lend:
  .size lit, .Lend-lit
.rodata
.p2align 6
.amdhsa_kernel lit
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 76
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 76
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: lit
    .symbol: lit.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 76
    .max_flat_workgroup_size: 64
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
