; run --arg out:256
; out 13 13
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.hidden	tribonacci
	.globl	tribonacci
	.p2align	2
	.type	tribonacci,@function
tribonacci:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_mov_b32 s0, s33
	s_mov_b32 s33, s32
	s_or_saveexec_b64 s[2:3], -1
	scratch_store_dword off, v43, s33 offset:16
	s_mov_b64 exec, s[2:3]
	v_writelane_b32 v43, s0, 8
	v_writelane_b32 v43, s30, 0
	v_writelane_b32 v43, s31, 1
	v_writelane_b32 v43, s34, 2
	s_add_i32 s32, s32, 32
	v_writelane_b32 v43, s35, 3
	v_writelane_b32 v43, s36, 4
	s_mov_b64 s[34:35], src_private_base
	s_add_i32 s0, s33, 12
	scratch_store_dword off, v40, s33 offset:8
	scratch_store_dword off, v41, s33 offset:4
	scratch_store_dword off, v42, s33
	v_writelane_b32 v43, s37, 5
	v_mov_b32_e32 v40, v0
	s_mov_b32 s34, s0
	v_writelane_b32 v43, s38, 6
	v_mov_b64_e32 v[0:1], s[34:35]
	v_cmp_lt_i32_e32 vcc, 2, v40
	v_writelane_b32 v43, s39, 7
	flat_store_dword v[0:1], v40 sc0 sc1
	s_waitcnt vmcnt(0)
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[36:37], exec, s[0:1]
	s_cbranch_execz .LBB0_2
	v_add_u32_e32 v0, -1, v40
	s_getpc_b64 s[38:39]
	s_add_u32 s38, s38, tribonacci@rel32@lo+4
	s_addc_u32 s39, s39, tribonacci@rel32@hi+12
	s_swappc_b64 s[30:31], s[38:39]
	v_mov_b32_e32 v41, v0
	v_add_u32_e32 v0, -2, v40
	s_swappc_b64 s[30:31], s[38:39]
	v_mov_b32_e32 v42, v0
	v_add_u32_e32 v0, -3, v40
	s_swappc_b64 s[30:31], s[38:39]
	v_mov_b64_e32 v[2:3], s[34:35]
	flat_load_dword v1, v[2:3] sc0 sc1
	s_waitcnt vmcnt(0)
	v_sub_u32_e32 v2, v41, v40
	v_add_u32_e32 v2, v2, v42
	s_waitcnt lgkmcnt(0)
	v_add3_u32 v0, v2, v0, v1
.LBB0_2:
	s_andn2_saveexec_b64 s[0:1], s[36:37]
	v_cmp_eq_u32_e32 vcc, 2, v40
	s_nop 1
	v_cndmask_b32_e64 v0, 0, 1, vcc
	s_or_b64 exec, exec, s[0:1]
	scratch_load_dword v42, off, s33
	scratch_load_dword v41, off, s33 offset:4
	scratch_load_dword v40, off, s33 offset:8
	v_readlane_b32 s39, v43, 7
	v_readlane_b32 s38, v43, 6
	v_readlane_b32 s37, v43, 5
	v_readlane_b32 s36, v43, 4
	v_readlane_b32 s35, v43, 3
	v_readlane_b32 s34, v43, 2
	v_readlane_b32 s31, v43, 1
	v_readlane_b32 s30, v43, 0
	s_mov_b32 s32, s33
	v_readlane_b32 s0, v43, 8
	s_or_saveexec_b64 s[2:3], -1
	scratch_load_dword v43, off, s33 offset:16
	s_mov_b64 exec, s[2:3]
	s_mov_b32 s33, s0
	s_waitcnt vmcnt(0) lgkmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end0:
	.size	tribonacci, .Lfunc_end0-tribonacci
	.set tribonacci.num_vgpr, 44
	.set tribonacci.num_agpr, 0
	.set tribonacci.numbered_sgpr, 40
	.set tribonacci.num_named_barrier, 0
	.set tribonacci.private_seg_size, 32
	.set tribonacci.uses_vcc, 1
	.set tribonacci.uses_flat_scratch, 0
	.set tribonacci.has_dyn_sized_stack, 0
	.set tribonacci.has_recursion, 1
	.set tribonacci.has_indirect_call, 0
	.text
	.protected	test
	.globl	test
	.p2align	8
	.type	test,@function
test:
	s_load_dwordx2 s[48:49], s[0:1], 0x0
	v_mov_b32_e32 v40, v0
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, tribonacci@rel32@lo+4
	s_addc_u32 s1, s1, tribonacci@rel32@hi+12
	v_mov_b32_e32 v0, 8
	s_mov_b32 s32, 0
	s_swappc_b64 s[30:31], s[0:1]
	v_add_u32_e32 v0, -5, v0
	v_lshlrev_b32_e32 v1, 2, v40
	global_store_dword v1, v0, s[48:49]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel test
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 32
		.amdhsa_kernarg_size 8
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
		.amdhsa_next_free_vgpr 44
		.amdhsa_next_free_sgpr 50
		.amdhsa_accum_offset 44
		.amdhsa_reserve_vcc 1
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
.Lfunc_end1:
	.size	test, .Lfunc_end1-test
	.set test.num_vgpr, max(41, tribonacci.num_vgpr)
	.set test.num_agpr, max(0, tribonacci.num_agpr)
	.set test.numbered_sgpr, max(50, tribonacci.numbered_sgpr)
	.set test.num_named_barrier, max(0, tribonacci.num_named_barrier)
	.set test.private_seg_size, 0+max(tribonacci.private_seg_size)
	.set test.uses_vcc, or(1, tribonacci.uses_vcc)
	.set test.uses_flat_scratch, or(0, tribonacci.uses_flat_scratch)
	.set test.has_dyn_sized_stack, or(0, tribonacci.has_dyn_sized_stack)
	.set test.has_recursion, or(1, tribonacci.has_recursion)
	.set test.has_indirect_call, or(0, tribonacci.has_indirect_call)
	.text
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 44
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 40
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
    .private_segment_fixed_size: 32
    .sgpr_count:     56
    .sgpr_spill_count: 0
    .symbol:         test.kd
    .uses_dynamic_stack: true
    .vgpr_count:     44
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
