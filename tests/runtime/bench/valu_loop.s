	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 5
	.text
	.globl	valu
	.p2align	8
	.type	valu,@function
valu:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshl_or_b32 v1, s2, 8, v0
  v_mov_b32 v2, v1
  v_mov_b32 v3, 1.0
  v_mov_b32 v4, 2.0
  v_mov_b32 v5, 0.5
  s_movk_i32 s6, 1000
loop:
  v_add_u32 v2, v2, v1
  v_fma_f32 v3, v3, v5, v4
  v_lshlrev_b32 v6, 3, v2
  v_xor_b32 v2, v6, v2
  v_fma_f32 v4, v4, v5, v3
  v_add_f32 v7, v3, v4
  v_mul_f32 v8, v7, v5
  v_max_f32 v9, v7, v8
  v_and_b32 v10, v2, v6
  v_add_u32 v11, v10, v1
  v_fma_f32 v12, v9, v5, v8
  v_min_f32 v13, v12, v9
  v_or_b32 v14, v11, v10
  v_sub_u32 v15, v14, v1
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 loop
  v_add_f32 v3, v3, v13
  v_add_u32 v3, v3, v15
  v_add_u32 v3, v3, v2
  v_lshlrev_b32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[4:5]
  s_endpgm
.Lend:
  .size valu, .Lend-valu
	.section .rodata,"a",@progbits
	.p2align	6
	.amdhsa_kernel valu
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_next_free_vgpr 16
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 16
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 1024
    .name:           valu
    .private_segment_fixed_size: 0
    .sgpr_count: 16
    .symbol: valu.kd
    .vgpr_count: 16
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version: [1, 2]
...
	.end_amdgpu_metadata
