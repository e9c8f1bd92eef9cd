; run --arg out:256 --arg in:1024
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.protected	test
	.globl	test
	.p2align	8
	.type	test,@function
test:
	s_load_dwordx4 s[0:3], s[0:1], 0x0
	v_mov_b32_e32 v3, 0
	v_lshlrev_b32_e32 v2, 2, v0
	s_mov_b64 s[4:5], 0
	v_mov_b32_e32 v13, 5
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[2:3], s[2:3], 0, v[2:3]
	v_lshl_add_u64 v[2:3], v[2:3], 0, 12
	v_mov_b32_e32 v6, 15
	v_mov_b32_e32 v9, 0
	s_movk_i32 s33, 0x41
	v_mov_b32_e32 v7, 0x3e8
	s_branch .LBB0_7
.LBB0_1:
	s_or_b64 exec, exec, s[40:41]
	v_add_u32_e32 v9, v9, v12
	s_xor_b64 s[40:41], exec, -1
	s_orn2_b64 s[38:39], s[36:37], exec
.LBB0_2:
	s_or_b64 exec, exec, s[34:35]
	s_and_b64 s[36:37], s[40:41], exec
	s_xor_b64 s[40:41], exec, -1
	s_orn2_b64 s[38:39], s[38:39], exec
.LBB0_3:
	s_or_b64 exec, exec, s[30:31]
	s_and_b64 s[36:37], s[36:37], exec
	s_and_b64 s[30:31], s[40:41], exec
	s_xor_b64 s[34:35], exec, -1
	s_orn2_b64 s[40:41], s[38:39], exec
.LBB0_4:
	s_or_b64 exec, exec, s[28:29]
	s_and_b64 s[38:39], s[36:37], exec
	s_and_b64 s[36:37], s[30:31], exec
	s_and_b64 s[30:31], s[34:35], exec
	s_xor_b64 s[34:35], exec, -1
	s_orn2_b64 s[28:29], s[40:41], exec
.LBB0_5:
	s_or_b64 exec, exec, s[26:27]
	s_andn2_b64 s[22:23], s[22:23], exec
	s_and_b64 s[26:27], s[38:39], exec
	s_or_b64 s[22:23], s[22:23], s[26:27]
	s_andn2_b64 s[20:21], s[20:21], exec
	s_and_b64 s[26:27], s[36:37], exec
	s_or_b64 s[20:21], s[20:21], s[26:27]
	s_andn2_b64 s[18:19], s[18:19], exec
	s_and_b64 s[26:27], s[30:31], exec
	s_or_b64 s[18:19], s[18:19], s[26:27]
	s_andn2_b64 s[16:17], s[16:17], exec
	s_and_b64 s[26:27], s[34:35], exec
	s_or_b64 s[16:17], s[16:17], s[26:27]
	s_andn2_b64 s[14:15], s[14:15], exec
	s_orn2_b64 s[26:27], s[28:29], exec
.LBB0_6:
	s_or_b64 exec, exec, s[24:25]
	s_and_b64 s[24:25], exec, s[26:27]
	s_or_b64 s[4:5], s[24:25], s[4:5]
	s_andn2_b64 s[2:3], s[2:3], exec
	s_and_b64 s[24:25], s[22:23], exec
	s_or_b64 s[2:3], s[2:3], s[24:25]
	s_andn2_b64 s[6:7], s[6:7], exec
	s_and_b64 s[24:25], s[20:21], exec
	s_or_b64 s[6:7], s[6:7], s[24:25]
	s_andn2_b64 s[8:9], s[8:9], exec
	s_and_b64 s[24:25], s[18:19], exec
	s_or_b64 s[8:9], s[8:9], s[24:25]
	s_andn2_b64 s[10:11], s[10:11], exec
	s_and_b64 s[24:25], s[16:17], exec
	s_or_b64 s[10:11], s[10:11], s[24:25]
	s_andn2_b64 s[12:13], s[12:13], exec
	s_and_b64 s[24:25], s[14:15], exec
	s_or_b64 s[12:13], s[12:13], s[24:25]
	s_andn2_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB0_36
.LBB0_7:
	global_load_dword v5, v[2:3], off offset:-12
	v_mov_b32_e32 v1, v13
	s_waitcnt vmcnt(0)
	v_cmp_gt_i32_e32 vcc, 7, v5
	s_and_saveexec_b64 s[24:25], vcc
	s_xor_b64 s[24:25], exec, s[24:25]
	v_cmp_ne_u32_e64 s[28:29], v5, v9
	s_nop 1
	v_cndmask_b32_e64 v4, v7, v5, s[28:29]
	s_andn2_saveexec_b64 s[24:25], s[24:25]
	v_add_u32_e32 v4, -15, v6
	s_andn2_b64 s[28:29], s[28:29], exec
	s_or_b64 exec, exec, s[24:25]
	v_add_u32_e32 v4, v4, v9
	s_mov_b64 s[26:27], -1
	s_andn2_b64 s[22:23], s[22:23], exec
	s_andn2_b64 s[20:21], s[20:21], exec
	s_andn2_b64 s[18:19], s[18:19], exec
	s_andn2_b64 s[16:17], s[16:17], exec
	s_or_b64 s[14:15], s[14:15], exec
	s_and_saveexec_b64 s[24:25], s[28:29]
	s_cbranch_execz .LBB0_6
	global_load_dword v8, v[2:3], off offset:-8
	s_waitcnt vmcnt(0)
	v_cmp_gt_i32_e32 vcc, 7, v8
	s_and_saveexec_b64 s[26:27], vcc
	s_xor_b64 s[26:27], exec, s[26:27]
	v_cmp_ne_u32_e64 s[40:41], v8, v4
	s_nop 1
	v_cndmask_b32_e64 v5, v7, v8, s[40:41]
	s_andn2_saveexec_b64 s[26:27], s[26:27]
	v_add_u32_e32 v5, -12, v6
	s_andn2_b64 s[40:41], s[40:41], exec
	s_or_b64 exec, exec, s[26:27]
	v_add_u32_e32 v5, v5, v4
	s_mov_b64 s[28:29], -1
	s_mov_b64 s[30:31], 0
	s_mov_b64 s[34:35], -1
	s_mov_b64 s[36:37], 0
	s_mov_b64 s[38:39], 0
	s_and_saveexec_b64 s[26:27], s[40:41]
	s_cbranch_execz .LBB0_5
	global_load_dword v9, v[2:3], off offset:-4
	s_waitcnt vmcnt(0)
	v_cmp_gt_i32_e32 vcc, 7, v9
	s_and_saveexec_b64 s[28:29], vcc
	s_xor_b64 s[28:29], exec, s[28:29]
	v_cmp_ne_u32_e64 s[38:39], v9, v5
	s_nop 1
	v_cndmask_b32_e64 v8, v7, v9, s[38:39]
	s_andn2_saveexec_b64 s[28:29], s[28:29]
	v_add_u32_e32 v8, -9, v6
	s_andn2_b64 s[38:39], s[38:39], exec
	s_or_b64 exec, exec, s[28:29]
	v_add_u32_e32 v8, v8, v5
	s_mov_b64 s[40:41], -1
	s_and_saveexec_b64 s[28:29], s[38:39]
	s_cbranch_execz .LBB0_4
	global_load_dword v10, v[2:3], off
	s_waitcnt vmcnt(0)
	v_cmp_gt_i32_e32 vcc, 7, v10
	s_and_saveexec_b64 s[30:31], vcc
	s_xor_b64 s[30:31], exec, s[30:31]
	v_cmp_ne_u32_e64 s[34:35], v10, v8
	s_nop 1
	v_cndmask_b32_e64 v9, v7, v10, s[34:35]
	s_andn2_saveexec_b64 s[30:31], s[30:31]
	v_add_u32_e32 v9, -6, v6
	s_andn2_b64 s[34:35], s[34:35], exec
	s_or_b64 exec, exec, s[30:31]
	v_add_u32_e32 v10, v9, v8
	s_mov_b64 s[38:39], -1
	s_and_saveexec_b64 s[30:31], s[34:35]
	s_cbranch_execz .LBB0_3
	global_load_dword v11, v[2:3], off offset:4
	s_waitcnt vmcnt(0)
	v_cmp_gt_i32_e32 vcc, 7, v11
	s_and_saveexec_b64 s[34:35], vcc
	s_xor_b64 s[34:35], exec, s[34:35]
	v_cmp_ne_u32_e64 s[36:37], v11, v10
	s_nop 1
	v_cndmask_b32_e64 v9, v7, v11, s[36:37]
	s_andn2_saveexec_b64 s[34:35], s[34:35]
	v_add_u32_e32 v9, -3, v6
	s_andn2_b64 s[36:37], s[36:37], exec
	s_or_b64 exec, exec, s[34:35]
	v_add_u32_e32 v12, v9, v10
	s_and_saveexec_b64 s[34:35], s[36:37]
	s_cbranch_execz .LBB0_2
	global_load_dword v11, v[2:3], off offset:8
	s_mov_b64 s[38:39], 0
	v_mov_b32_e32 v9, v6
	s_waitcnt vmcnt(0)
	v_cmp_gt_i32_e32 vcc, 7, v11
	s_and_saveexec_b64 s[36:37], vcc
	v_cmp_ne_u32_e32 vcc, v11, v12
	s_and_b64 s[38:39], vcc, exec
	s_nop 0
	v_cndmask_b32_e32 v9, v7, v11, vcc
	s_or_b64 exec, exec, s[36:37]
	s_mov_b64 s[36:37], -1
	v_mov_b32_e32 v11, v1
	s_and_saveexec_b64 s[40:41], s[38:39]
	s_cbranch_execz .LBB0_1
	v_add_u32_e32 v13, 6, v1
	v_cmp_eq_u32_e32 vcc, s33, v13
	v_add_u32_e32 v6, 18, v6
	v_lshl_add_u64 v[2:3], v[2:3], 0, 24
	v_mov_b32_e32 v11, 60
	s_orn2_b64 s[36:37], vcc, exec
	s_branch .LBB0_1
.LBB0_36:
	s_or_b64 exec, exec, s[4:5]
	s_xor_b64 s[4:5], s[12:13], -1
	s_xor_b64 s[12:13], s[10:11], -1
	s_xor_b64 s[8:9], s[8:9], -1
	s_xor_b64 s[10:11], s[6:7], -1
	s_and_saveexec_b64 s[6:7], s[4:5]
	s_xor_b64 s[4:5], exec, s[6:7]
	s_cbranch_execz .LBB0_52
	s_and_saveexec_b64 s[6:7], s[12:13]
	s_xor_b64 s[6:7], exec, s[6:7]
	s_cbranch_execz .LBB0_49
	s_and_saveexec_b64 s[12:13], s[8:9]
	s_xor_b64 s[8:9], exec, s[12:13]
	s_cbranch_execz .LBB0_46
	s_and_saveexec_b64 s[12:13], s[10:11]
	s_xor_b64 s[10:11], exec, s[12:13]
	s_cbranch_execz .LBB0_43
	s_and_saveexec_b64 s[12:13], s[2:3]
	s_xor_b64 s[2:3], exec, s[12:13]
	v_add_u32_e32 v11, -1, v1
	v_mov_b32_e32 v9, v12
	s_or_b64 exec, exec, s[2:3]
.LBB0_43:
	s_andn2_saveexec_b64 s[2:3], s[10:11]
	v_add_u32_e32 v11, -2, v1
	v_mov_b32_e32 v9, v10
	s_or_b64 exec, exec, s[2:3]
.LBB0_46:
	s_andn2_saveexec_b64 s[2:3], s[8:9]
	v_add_u32_e32 v11, -3, v1
	v_mov_b32_e32 v9, v8
	s_or_b64 exec, exec, s[2:3]
.LBB0_49:
	s_andn2_saveexec_b64 s[2:3], s[6:7]
	v_add_u32_e32 v11, -4, v1
	v_mov_b32_e32 v9, v5
	s_or_b64 exec, exec, s[2:3]
.LBB0_52:
	s_andn2_saveexec_b64 s[2:3], s[4:5]
	v_add_u32_e32 v11, -5, v1
	v_mov_b32_e32 v9, v4
	s_or_b64 exec, exec, s[2:3]
	v_xor_b32_e32 v1, 21, v9
	v_cmp_eq_u32_e32 vcc, 60, v11
	v_lshlrev_b32_e32 v0, 2, v0
	s_nop 0
	v_cndmask_b32_e32 v1, v9, v1, vcc
	global_store_dword v0, v1, s[0:1]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel test
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 14
		.amdhsa_next_free_sgpr 42
		.amdhsa_accum_offset 16
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
.Lfunc_end0:
	.size	test, .Lfunc_end0-test
	.set test.num_vgpr, 14
	.set test.num_agpr, 0
	.set test.numbered_sgpr, 42
	.set test.num_named_barrier, 0
	.set test.private_seg_size, 0
	.set test.uses_vcc, 1
	.set test.uses_flat_scratch, 0
	.set test.has_dyn_sized_stack, 0
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
      - .actual_access:  write_only
        .address_space:  generic
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .actual_access:  read_only
        .address_space:  generic
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 1024
    .name:           test
    .private_segment_fixed_size: 0
    .sgpr_count:     48
    .sgpr_spill_count: 0
    .symbol:         test.kd
    .uses_dynamic_stack: false
    .vgpr_count:     14
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
