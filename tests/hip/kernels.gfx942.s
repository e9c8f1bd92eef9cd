.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
; Kernels of tests/hip/program.cpp. Arguments: (ptr a, ptr b, u32 n).

.text
.globl add
.p2align 8
.type add,@function
add:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s8, s[0:1], 0x10
  v_lshlrev_b32 v1, 2, v0
  s_lshl_b32 s9, s2, 8
  v_add_u32 v1, s9, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_add_u32 v2, s8, v2
  global_store_dword v1, v2, s[6:7]
  s_endpgm
.Ladd_end:
.size add, .Ladd_end-add
.rodata
.p2align 6
.amdhsa_kernel add
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_kernarg_size 24
  .amdhsa_group_segment_fixed_size 0
.end_amdhsa_kernel

.text
.globl through
.p2align 8
.type through,@function
through:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s8, s[0:1], 0x10
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v3, 1
  v_mov_b32 v4, 0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx4 s[12:15], s[6:7], 0x0
  v_mov_b32 v2, s8
  s_waitcnt lgkmcnt(0)
  global_atomic_add v4, v3, s[14:15]
  global_store_dword v1, v2, s[12:13]
  s_waitcnt vmcnt(0)
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v1, v2, s[6:7] offset:16
  s_endpgm
.Lthrough_end:
.size through, .Lthrough_end-through
.rodata
.p2align 6
.amdhsa_kernel through
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_kernarg_size 24
  .amdhsa_group_segment_fixed_size 0
.end_amdhsa_kernel

.text
.globl race
.p2align 8
.type race,@function
race:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v1, 63, v0
  v_lshlrev_b32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[6:7]
  s_endpgm
.Lrace_end:
.size race, .Lrace_end-race
.rodata
.p2align 6
.amdhsa_kernel race
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_kernarg_size 24
  .amdhsa_group_segment_fixed_size 0
.end_amdhsa_kernel

.text
.globl await
.p2align 8
.type await,@function
await:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32 v1, 0
  s_waitcnt lgkmcnt(0)
.Lagain:
  global_load_dword v2, v1, s[4:5] sc0 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v2
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 .Lagain
  buffer_inv sc0 sc1
  v_cmp_eq_u32 vcc, 0, v0
  s_and_saveexec_b64 s[10:11], vcc
  global_store_dword v1, v2, s[6:7]
  s_endpgm
.Lawait_end:
.size await, .Lawait_end-await
.rodata
.p2align 6
.amdhsa_kernel await
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_kernarg_size 24
  .amdhsa_group_segment_fixed_size 0
.end_amdhsa_kernel

.text
.globl signal
.p2align 8
.type signal,@function
signal:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s8, s[0:1], 0x10
  v_mov_b32 v1, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v2, s8
  v_cmp_eq_u32 vcc, 0, v0
  s_and_saveexec_b64 s[10:11], vcc
  buffer_wbl2 sc0 sc1
  global_store_dword v1, v2, s[6:7] sc0 sc1
  s_waitcnt vmcnt(0)
  s_endpgm
.Lsignal_end:
.size signal, .Lsignal_end-signal
.rodata
.p2align 6
.amdhsa_kernel signal
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_kernarg_size 24
  .amdhsa_group_segment_fixed_size 0
.end_amdhsa_kernel

.text
.globl meet
.p2align 8
.type meet,@function
; Adds 1 to a, waits until a is n, and stores what it then reads in b of the workgroup. One lane of the first wave does it.
meet:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s8, s[0:1], 0x10
  v_cmp_eq_u32 vcc, 0, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz .Lmet
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  s_lshl_b32 s9, s2, 2
  v_mov_b32 v3, s9
  s_waitcnt lgkmcnt(0)
  global_atomic_add v1, v2, s[4:5]
.Lmeeting:
  global_load_dword v2, v1, s[4:5] sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s12, v2
  s_cmp_lt_u32 s12, s8
  s_cbranch_scc1 .Lmeeting
  global_store_dword v3, v2, s[6:7]
.Lmet:
  s_endpgm
.Lmeet_end:
.size meet, .Lmeet_end-meet
.rodata
.p2align 6
.amdhsa_kernel meet
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_kernarg_size 24
  .amdhsa_group_segment_fixed_size 0
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: add
    .symbol: add.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {.name: a, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: b, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: n, .offset: 16, .size: 4, .value_kind: by_value}
  - .name: through
    .symbol: through.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {.name: a, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: b, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: n, .offset: 16, .size: 4, .value_kind: by_value}
  - .name: race
    .symbol: race.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.name: a, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: b, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: n, .offset: 16, .size: 4, .value_kind: by_value}
  - .name: await
    .symbol: await.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {.name: a, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: b, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: n, .offset: 16, .size: 4, .value_kind: by_value}
  - .name: signal
    .symbol: signal.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {.name: a, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: b, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: n, .offset: 16, .size: 4, .value_kind: by_value}
  - .name: meet
    .symbol: meet.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
    .args:
      - {.name: a, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: b, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: n, .offset: 16, .size: 4, .value_kind: by_value}
...
.end_amdgpu_metadata
