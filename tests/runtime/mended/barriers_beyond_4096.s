; Two waves store to one byte with 4,096 barriers between: the record of who stored last counts epochs in 12 bits.
; run --block 128 --arg out:256
; out 2
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl lit
.p2align 8
.type lit,@function
lit:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s8, v0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  s_movk_i32 s9, 4096
  s_waitcnt lgkmcnt(0)
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 wait
  global_store_dword v1, v2, s[4:5]
wait:
  s_waitcnt vmcnt(0)
  s_barrier
  s_sub_u32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 wait
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 done
  v_mov_b32 v2, 2
  global_store_dword v1, v2, s[4:5]
done:
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
    .max_flat_workgroup_size: 128
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
