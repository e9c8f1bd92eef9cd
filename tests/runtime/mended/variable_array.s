; run --arg out:256 --arg i32:12
; out 0 42
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.protected	test
	.globl	test
	.p2align	8
	.type	test,@function
test:
	s_load_dword s2, s[0:1], 0x8
	s_mov_b32 s33, 0
	s_mov_b32 s32, 16
	s_waitcnt lgkmcnt(0)
	s_cmp_lt_i32 s2, 1
	s_cbranch_scc1 .LBB0_5
	s_lshl2_add_u32 s3, s2, 15
	s_mov_b64 s[4:5], src_private_base
	s_and_b32 s3, s3, -16
	s_lshl_b32 s4, s3, 6
	s_mov_b32 s3, s32
	s_add_i32 s32, s3, s4
	v_mul_u32_u24_e32 v1, v0, v0
	v_mov_b32_e32 v3, s5
	s_mov_b32 s4, s3
	s_mov_b32 s5, s2
.LBB0_2:
	v_mov_b32_e32 v2, s4
	s_add_i32 s5, s5, -1
	s_add_i32 s4, s4, 4
	flat_store_dword v[2:3], v1 sc0 sc1
	s_waitcnt vmcnt(0)
	s_cmp_eq_u32 s5, 0
	v_add_u32_e32 v1, v1, v0
	s_cbranch_scc0 .LBB0_2
	s_mov_b64 s[4:5], src_private_base
	s_lshl2_add_u32 s3, s2, s3
	s_add_i32 s3, s3, -4
	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v3, s5
.LBB0_4:
	v_mov_b32_e32 v2, s3
	flat_load_dword v2, v[2:3] sc0 sc1
	s_waitcnt vmcnt(0)
	v_sub_u32_e32 v1, v1, v0
	s_add_i32 s2, s2, -1
	s_add_i32 s3, s3, -4
	s_cmp_eq_u32 s2, 0
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v1, v1, v2
	s_cbranch_scc0 .LBB0_4
	s_branch .LBB0_6
.LBB0_5:
	v_mov_b32_e32 v1, 0
.LBB0_6:
	s_load_dwordx2 s[0:1], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[0:1]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel test
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 16
		.amdhsa_kernarg_size 12
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 1
		.amdhsa_enable_private_segment 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 34
		.amdhsa_accum_offset 4
		.amdhsa_reserve_vcc 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	test, .Lfunc_end0-test
	.set test.num_vgpr, 4
	.set test.num_agpr, 0
	.set test.numbered_sgpr, 34
	.set test.num_named_barrier, 0
	.set test.private_seg_size, 16
	.set test.uses_vcc, 0
	.set test.uses_flat_scratch, 0
	.set test.has_dyn_sized_stack, 1
	.set test.has_recursion, 0
	.set test.has_indirect_call, 0
	.text
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 0
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 0
	.set amdgpu.max_num_named_barrier, 0
	.text
	.section	".note.GNU-stack","",@progbits
	.addrsig
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  generic
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .offset:         8
        .size:           4
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 12
    .max_flat_workgroup_size: 1024
    .name:           test
    .private_segment_fixed_size: 16
    .sgpr_count:     40
    .sgpr_spill_count: 0
    .symbol:         test.kd
    .uses_dynamic_stack: true
    .vgpr_count:     4
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
