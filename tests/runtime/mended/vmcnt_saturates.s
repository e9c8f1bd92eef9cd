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
  global_load_dword v10, v0, s[4:5] offset:0
  global_load_dword v11, v0, s[4:5] offset:4
  global_load_dword v12, v0, s[4:5] offset:8
  global_load_dword v13, v0, s[4:5] offset:12
  global_load_dword v14, v0, s[4:5] offset:16
  global_load_dword v15, v0, s[4:5] offset:20
  global_load_dword v16, v0, s[4:5] offset:24
  global_load_dword v17, v0, s[4:5] offset:28
  global_load_dword v18, v0, s[4:5] offset:32
  global_load_dword v19, v0, s[4:5] offset:36
  global_load_dword v20, v0, s[4:5] offset:40
  global_load_dword v21, v0, s[4:5] offset:44
  global_load_dword v22, v0, s[4:5] offset:48
  global_load_dword v23, v0, s[4:5] offset:52
  global_load_dword v24, v0, s[4:5] offset:56
  global_load_dword v25, v0, s[4:5] offset:60
  global_load_dword v26, v0, s[4:5] offset:64
  global_load_dword v27, v0, s[4:5] offset:68
  global_load_dword v28, v0, s[4:5] offset:72
  global_load_dword v29, v0, s[4:5] offset:76
  global_load_dword v30, v0, s[4:5] offset:80
  global_load_dword v31, v0, s[4:5] offset:84
  global_load_dword v32, v0, s[4:5] offset:88
  global_load_dword v33, v0, s[4:5] offset:92
  global_load_dword v34, v0, s[4:5] offset:96
  global_load_dword v35, v0, s[4:5] offset:100
  global_load_dword v36, v0, s[4:5] offset:104
  global_load_dword v37, v0, s[4:5] offset:108
  global_load_dword v38, v0, s[4:5] offset:112
  global_load_dword v39, v0, s[4:5] offset:116
  global_load_dword v40, v0, s[4:5] offset:120
  global_load_dword v41, v0, s[4:5] offset:124
  global_load_dword v42, v0, s[4:5] offset:128
  global_load_dword v43, v0, s[4:5] offset:132
  global_load_dword v44, v0, s[4:5] offset:136
  global_load_dword v45, v0, s[4:5] offset:140
  global_load_dword v46, v0, s[4:5] offset:144
  global_load_dword v47, v0, s[4:5] offset:148
  global_load_dword v48, v0, s[4:5] offset:152
  global_load_dword v49, v0, s[4:5] offset:156
  global_load_dword v50, v0, s[4:5] offset:160
  global_load_dword v51, v0, s[4:5] offset:164
  global_load_dword v52, v0, s[4:5] offset:168
  global_load_dword v53, v0, s[4:5] offset:172
  global_load_dword v54, v0, s[4:5] offset:176
  global_load_dword v55, v0, s[4:5] offset:180
  global_load_dword v56, v0, s[4:5] offset:184
  global_load_dword v57, v0, s[4:5] offset:188
  global_load_dword v58, v0, s[4:5] offset:192
  global_load_dword v59, v0, s[4:5] offset:196
  global_load_dword v60, v0, s[4:5] offset:200
  global_load_dword v61, v0, s[4:5] offset:204
  global_load_dword v62, v0, s[4:5] offset:208
  global_load_dword v63, v0, s[4:5] offset:212
  global_load_dword v64, v0, s[4:5] offset:216
  global_load_dword v65, v0, s[4:5] offset:220
  global_load_dword v66, v0, s[4:5] offset:224
  global_load_dword v67, v0, s[4:5] offset:228
  global_load_dword v68, v0, s[4:5] offset:232
  global_load_dword v69, v0, s[4:5] offset:236
  global_load_dword v70, v0, s[4:5] offset:240
  global_load_dword v71, v0, s[4:5] offset:244
  global_load_dword v72, v0, s[4:5] offset:248
  global_load_dword v73, v0, s[4:5] offset:252
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
