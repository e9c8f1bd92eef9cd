; run --arg out:256
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.hidden	digits
	.globl	digits
	.p2align	2
	.type	digits,@function
digits:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_mov_b32 s0, 0x66666667
	v_mul_hi_i32 v2, v0, s0
	v_lshrrev_b32_e32 v3, 31, v2
	v_ashrrev_i32_e32 v2, 1, v2
	v_add_u32_e32 v2, v2, v3
	v_lshl_add_u32 v2, v2, 2, v2
	v_bcnt_u32_b32 v1, v0, 0
	v_sub_u32_e32 v0, v0, v2
	v_mad_u32_u24 v0, v1, 3, v0
	s_setpc_b64 s[30:31]
.Lfunc_end0:
	.size	digits, .Lfunc_end0-digits
	.set digits.num_vgpr, 4
	.set digits.num_agpr, 0
	.set digits.numbered_sgpr, 32
	.set digits.num_named_barrier, 0
	.set digits.private_seg_size, 0
	.set digits.uses_vcc, 0
	.set digits.uses_flat_scratch, 0
	.set digits.has_dyn_sized_stack, 0
	.set digits.has_recursion, 0
	.set digits.has_indirect_call, 0
	.text
	.hidden	pair
	.globl	pair
	.p2align	2
	.type	pair,@function
pair:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_mov_b32 s1, s33
	s_mov_b32 s33, s32
	s_xor_saveexec_b64 s[2:3], -1
	scratch_store_dword off, v6, s33
	s_mov_b64 exec, s[2:3]
	s_add_i32 s32, s32, 16
	v_writelane_b32 v6, s30, 0
	s_getpc_b64 s[2:3]
	s_add_u32 s2, s2, digits@rel32@lo+4
	s_addc_u32 s3, s3, digits@rel32@hi+12
	v_writelane_b32 v6, s31, 1
	v_mov_b32_e32 v4, v0
	s_swappc_b64 s[30:31], s[2:3]
	v_mov_b32_e32 v5, v0
	v_add_u32_e32 v0, 2, v4
	s_swappc_b64 s[30:31], s[2:3]
	v_mul_lo_u32 v5, v0, v5
	v_xor_b32_e32 v0, 9, v4
	s_swappc_b64 s[30:31], s[2:3]
	v_sub_u32_e32 v0, v5, v0
	v_readlane_b32 s31, v6, 1
	v_readlane_b32 s30, v6, 0
	s_mov_b32 s32, s33
	s_xor_saveexec_b64 s[2:3], -1
	scratch_load_dword v6, off, s33
	s_mov_b64 exec, s[2:3]
	s_mov_b32 s33, s1
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end1:
	.size	pair, .Lfunc_end1-pair
	.set pair.num_vgpr, max(7, digits.num_vgpr)
	.set pair.num_agpr, max(0, digits.num_agpr)
	.set pair.numbered_sgpr, max(34, digits.numbered_sgpr)
	.set pair.num_named_barrier, max(0, digits.num_named_barrier)
	.set pair.private_seg_size, 16+max(digits.private_seg_size)
	.set pair.uses_vcc, or(0, digits.uses_vcc)
	.set pair.uses_flat_scratch, or(0, digits.uses_flat_scratch)
	.set pair.has_dyn_sized_stack, or(0, digits.has_dyn_sized_stack)
	.set pair.has_recursion, or(0, digits.has_recursion)
	.set pair.has_indirect_call, or(0, digits.has_indirect_call)
	.text
	.protected	test
	.globl	test
	.p2align	8
	.type	test,@function
test:
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, pair@rel32@lo+4
	s_addc_u32 s1, s1, pair@rel32@hi+12
	s_mov_b32 s32, 0
	v_mov_b32_e32 v7, v0
	s_swappc_b64 s[30:31], s[0:1]
	v_lshlrev_b32_e32 v1, 2, v7
	global_store_dword v1, v0, s[4:5]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel test
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 16
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 34
		.amdhsa_accum_offset 8
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
.Lfunc_end2:
	.size	test, .Lfunc_end2-test
	.set test.num_vgpr, max(8, pair.num_vgpr)
	.set test.num_agpr, max(0, pair.num_agpr)
	.set test.numbered_sgpr, max(33, pair.numbered_sgpr)
	.set test.num_named_barrier, max(0, pair.num_named_barrier)
	.set test.private_seg_size, 0+max(pair.private_seg_size)
	.set test.uses_vcc, or(0, pair.uses_vcc)
	.set test.uses_flat_scratch, or(0, pair.uses_flat_scratch)
	.set test.has_dyn_sized_stack, or(0, pair.has_dyn_sized_stack)
	.set test.has_recursion, or(0, pair.has_recursion)
	.set test.has_indirect_call, or(0, pair.has_indirect_call)
	.text
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 7
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 34
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
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 1024
    .name:           test
    .private_segment_fixed_size: 16
    .sgpr_count:     40
    .sgpr_spill_count: 0
    .symbol:         test.kd
    .uses_dynamic_stack: false
    .vgpr_count:     8
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
