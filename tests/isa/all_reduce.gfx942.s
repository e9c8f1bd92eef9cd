	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 5
	.text
	.protected	one_shot
	.globl	one_shot
	.p2align	8
	.type	one_shot,@function
one_shot:
	s_load_dwordx4 s[8:11], s[0:1], 0x88
	s_load_dword s3, s[0:1], 0x98
	s_add_u32 s12, s0, 64
	s_addc_u32 s13, s1, 0
	s_waitcnt lgkmcnt(0)
	v_cmp_gt_u32_e64 s[6:7], s9, v0
	s_barrier
	s_and_saveexec_b64 s[4:5], s[6:7]
	s_cbranch_execz .LBB0_3
	v_lshlrev_b32_e32 v1, 3, v0
	global_load_dwordx2 v[2:3], v1, s[12:13]
	s_lshl_b32 s17, s2, 3
	s_mov_b32 s15, 0
	s_add_i32 s14, s8, s17
	s_add_i32 s16, s11, 1
	v_mov_b32_e32 v1, s16
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[2:3], s[14:15], 2, v[2:3]
	s_mov_b32 s14, s8
	s_lshl_b64 s[14:15], s[14:15], 3
	s_add_u32 s14, s12, s14
	buffer_wbl2 sc0 sc1
	global_store_dword v[2:3], v1, off sc0 sc1
	s_addc_u32 s15, s13, s15
	s_load_dwordx2 s[14:15], s[14:15], 0x0
	v_mov_b32_e32 v3, 0
	v_add_u32_e32 v2, s17, v0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[2:3], v[2:3], 2, s[14:15]
	s_mov_b64 s[14:15], 0
.LBB0_2:
	global_load_dword v1, v[2:3], off sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_subrev_u32_e32 v1, s16, v1
	v_cmp_lt_i32_e32 vcc, -1, v1
	s_or_b64 s[14:15], vcc, s[14:15]
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .LBB0_2
.LBB0_3:
	s_or_b64 exec, exec, s[4:5]
	v_lshl_or_b32 v1, s2, 8, v0
	v_cmp_gt_u32_e32 vcc, s10, v1
	s_barrier
	s_and_saveexec_b64 s[14:15], vcc
	s_cbranch_execz .LBB0_9
	s_load_dwordx2 s[16:17], s[0:1], 0x80
	s_cmp_lg_u32 s9, 0
	s_cselect_b64 s[4:5], -1, 0
	v_cndmask_b32_e64 v2, 0, 1, s[4:5]
	s_mov_b64 s[18:19], 0
	v_mov_b32_e32 v3, 0
	v_cmp_ne_u32_e64 s[4:5], 1, v2
	v_mov_b32_e32 v2, v1
	s_branch .LBB0_6
.LBB0_5:
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[6:7], v[2:3], 2, s[16:17]
	v_add_u32_e32 v2, s3, v2
	v_cmp_le_u32_e32 vcc, s10, v2
	s_or_b64 s[18:19], vcc, s[18:19]
	global_store_dword v[6:7], v4, off
	s_andn2_b64 exec, exec, s[18:19]
	s_cbranch_execz .LBB0_9
.LBB0_6:
	s_and_b64 vcc, exec, s[4:5]
	v_mov_b32_e32 v4, 0
	s_cbranch_vccnz .LBB0_5
	v_mov_b32_e32 v4, 0
	s_mov_b64 s[20:21], s[0:1]
	s_mov_b32 s22, s9
.LBB0_8:
	s_load_dwordx2 s[24:25], s[20:21], 0x0
	s_add_i32 s22, s22, -1
	s_add_u32 s20, s20, 8
	s_addc_u32 s21, s21, 0
	s_cmp_eq_u32 s22, 0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[6:7], v[2:3], 2, s[24:25]
	global_load_dword v5, v[6:7], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v4, v4, v5
	s_cbranch_scc0 .LBB0_8
	s_branch .LBB0_5
.LBB0_9:
	s_or_b64 exec, exec, s[14:15]
	s_barrier
	s_and_saveexec_b64 s[0:1], s[6:7]
	s_cbranch_execz .LBB0_12
	v_lshlrev_b32_e32 v0, 3, v0
	global_load_dwordx2 v[2:3], v0, s[12:13]
	s_mov_b32 s7, 0
	s_mov_b32 s9, s7
	s_add_i32 s4, s11, 2
	s_lshl3_add_u32 s6, s2, s8
	s_lshl_b64 s[8:9], s[8:9], 3
	v_mov_b32_e32 v0, s4
	s_add_u32 s8, s12, s8
	s_addc_u32 s9, s13, s9
	s_mulk_i32 s2, 0xff08
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[2:3], s[6:7], 2, v[2:3]
	buffer_wbl2 sc0 sc1
	global_store_dword v[2:3], v0, off sc0 sc1
	s_load_dwordx2 s[6:7], s[8:9], 0x0
	v_mov_b32_e32 v3, 0
	v_add_u32_e32 v2, s2, v1
	s_mov_b64 s[2:3], 0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[0:1], v[2:3], 2, s[6:7]
.LBB0_11:
	global_load_dword v2, v[0:1], off sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_subrev_u32_e32 v2, s4, v2
	v_cmp_lt_i32_e32 vcc, -1, v2
	s_or_b64 s[2:3], vcc, s[2:3]
	s_andn2_b64 exec, exec, s[2:3]
	s_cbranch_execnz .LBB0_11
.LBB0_12:
	s_or_b64 exec, exec, s[0:1]
	s_barrier
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel one_shot
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 156
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
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 26
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 1
		.amdhsa_reserve_xnack_mask 1
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
	.size	one_shot, .Lfunc_end0-one_shot
	.set one_shot.num_vgpr, 8
	.set one_shot.num_agpr, 0
	.set one_shot.numbered_sgpr, 26
	.set one_shot.num_named_barrier, 0
	.set one_shot.private_seg_size, 0
	.set one_shot.uses_vcc, 1
	.set one_shot.uses_flat_scratch, 0
	.set one_shot.has_dyn_sized_stack, 0
	.set one_shot.has_recursion, 0
	.set one_shot.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.protected	two_shot
	.globl	two_shot
	.p2align	8
	.type	two_shot,@function
two_shot:
	s_load_dwordx4 s[8:11], s[0:1], 0xc8
	s_load_dword s3, s[0:1], 0xd8
	s_add_u32 s12, s0, 0x80
	s_addc_u32 s13, s1, 0
	v_lshlrev_b32_e32 v4, 3, v0
	s_waitcnt lgkmcnt(0)
	v_cmp_gt_u32_e32 vcc, s9, v0
	s_barrier
	s_and_saveexec_b64 s[6:7], vcc
	s_cbranch_execz .LBB1_3
	global_load_dwordx2 v[2:3], v4, s[12:13]
	s_lshl_b32 s14, s2, 3
	s_mov_b32 s5, 0
	s_add_i32 s4, s8, s14
	s_add_i32 s16, s11, 1
	v_mov_b32_e32 v1, s16
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[2:3], s[4:5], 2, v[2:3]
	s_mov_b32 s4, s8
	s_lshl_b64 s[4:5], s[4:5], 3
	s_add_u32 s4, s12, s4
	buffer_wbl2 sc0 sc1
	global_store_dword v[2:3], v1, off sc0 sc1
	s_addc_u32 s5, s13, s5
	s_load_dwordx2 s[4:5], s[4:5], 0x0
	v_mov_b32_e32 v3, 0
	v_add_u32_e32 v2, s14, v0
	s_mov_b64 s[14:15], 0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[2:3], v[2:3], 2, s[4:5]
.LBB1_2:
	global_load_dword v1, v[2:3], off sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_subrev_u32_e32 v1, s16, v1
	v_cmp_lt_i32_e64 s[4:5], -1, v1
	s_or_b64 s[14:15], s[4:5], s[14:15]
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .LBB1_2
.LBB1_3:
	s_or_b64 exec, exec, s[6:7]
	v_cvt_f32_u32_e32 v1, s9
	s_add_u32 s26, s0, 64
	s_addc_u32 s27, s1, 0
	s_sub_i32 s5, 0, s9
	v_rcp_iflag_f32_e32 v1, v1
	s_add_i32 s4, s9, s10
	s_add_i32 s4, s4, -1
	v_lshl_or_b32 v5, s2, 8, v0
	v_mul_f32_e32 v1, 0x4f7ffffe, v1
	v_cvt_u32_f32_e32 v1, v1
	s_mov_b32 s7, 0
	s_barrier
	v_readfirstlane_b32 s6, v1
	s_mul_i32 s5, s5, s6
	s_mul_hi_u32 s5, s6, s5
	s_add_i32 s6, s6, s5
	s_mul_hi_u32 s5, s4, s6
	s_mul_i32 s6, s5, s9
	s_sub_i32 s4, s4, s6
	s_add_i32 s14, s5, 1
	s_sub_i32 s6, s4, s9
	s_cmp_ge_u32 s4, s9
	s_cselect_b32 s5, s14, s5
	s_cselect_b32 s4, s6, s4
	s_add_i32 s6, s5, 1
	s_cmp_ge_u32 s4, s9
	s_cselect_b32 s28, s6, s5
	v_cmp_gt_u32_e64 s[4:5], s28, v5
	s_and_saveexec_b64 s[14:15], s[4:5]
	s_cbranch_execz .LBB1_10
	s_mov_b32 s6, s8
	s_lshl_b64 s[6:7], s[6:7], 3
	s_add_u32 s16, s26, s6
	s_mul_i32 s24, s28, s8
	s_addc_u32 s17, s27, s7
	s_mov_b64 s[18:19], 0
	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v2, v5
	s_branch .LBB1_6
.LBB1_5:
	s_or_b64 exec, exec, s[22:23]
	s_and_b64 s[6:7], exec, s[20:21]
	s_or_b64 s[18:19], s[6:7], s[18:19]
	s_andn2_b64 exec, exec, s[18:19]
	s_cbranch_execz .LBB1_10
.LBB1_6:
	v_add_u32_e32 v0, s24, v2
	v_cmp_gt_u32_e64 s[6:7], s10, v0
	s_or_b64 s[20:21], s[20:21], exec
	s_and_saveexec_b64 s[22:23], s[6:7]
	s_cbranch_execz .LBB1_5
	v_mov_b32_e32 v6, 0
	s_mov_b64 s[6:7], s[0:1]
	s_mov_b32 s25, s9
.LBB1_8:
	s_load_dwordx2 s[30:31], s[6:7], 0x0
	s_add_i32 s25, s25, -1
	s_add_u32 s6, s6, 8
	s_addc_u32 s7, s7, 0
	s_cmp_eq_u32 s25, 0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[8:9], v[0:1], 2, s[30:31]
	global_load_dword v3, v[8:9], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v6, v6, v3
	s_cbranch_scc0 .LBB1_8
	s_load_dwordx2 s[6:7], s[16:17], 0x0
	v_mov_b32_e32 v3, v1
	s_andn2_b64 s[20:21], s[20:21], exec
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[8:9], v[2:3], 2, s[6:7]
	v_add_u32_e32 v2, s3, v2
	v_cmp_le_u32_e64 s[6:7], s28, v2
	s_and_b64 s[6:7], s[6:7], exec
	s_or_b64 s[20:21], s[20:21], s[6:7]
	global_store_dword v[8:9], v6, off
	s_branch .LBB1_5
.LBB1_10:
	s_or_b64 exec, exec, s[14:15]
	s_mul_i32 s29, s2, 0xffffff08
	s_barrier
	s_and_saveexec_b64 s[14:15], vcc
	s_cbranch_execz .LBB1_13
	global_load_dwordx2 v[0:1], v4, s[12:13]
	s_lshl3_add_u32 s6, s2, s8
	s_mov_b32 s7, 0
	s_add_i32 s18, s11, 2
	v_mov_b32_e32 v2, s18
	s_mov_b64 s[16:17], 0
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[0:1], s[6:7], 2, v[0:1]
	s_mov_b32 s6, s8
	s_lshl_b64 s[6:7], s[6:7], 3
	s_add_u32 s6, s12, s6
	buffer_wbl2 sc0 sc1
	global_store_dword v[0:1], v2, off sc0 sc1
	s_addc_u32 s7, s13, s7
	s_load_dwordx2 s[6:7], s[6:7], 0x0
	v_add_u32_e32 v0, s29, v5
	v_mov_b32_e32 v1, 0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[0:1], v[0:1], 2, s[6:7]
.LBB1_12:
	global_load_dword v2, v[0:1], off sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_subrev_u32_e32 v2, s18, v2
	v_cmp_lt_i32_e64 s[6:7], -1, v2
	s_or_b64 s[16:17], s[6:7], s[16:17]
	s_andn2_b64 exec, exec, s[16:17]
	s_cbranch_execnz .LBB1_12
.LBB1_13:
	s_or_b64 exec, exec, s[14:15]
	s_load_dwordx2 s[6:7], s[0:1], 0xc0
	s_mov_b32 s15, 0
	v_mov_b32_e32 v1, 0
	s_mov_b32 s30, 0
	s_mov_b32 s14, s15
	s_barrier
	s_waitcnt lgkmcnt(0)
	s_branch .LBB1_15
.LBB1_14:
	s_or_b64 exec, exec, s[16:17]
	s_add_i32 s14, s14, 1
	s_add_i32 s30, s30, s28
	s_cmp_eq_u32 s14, s9
	s_cbranch_scc1 .LBB1_20
.LBB1_15:
	s_and_saveexec_b64 s[16:17], s[4:5]
	s_cbranch_execz .LBB1_14
	s_lshl_b64 s[0:1], s[14:15], 3
	s_add_u32 s18, s26, s0
	s_addc_u32 s19, s27, s1
	s_mov_b64 s[20:21], 0
	v_mov_b32_e32 v0, v5
	s_branch .LBB1_18
.LBB1_17:
	s_or_b64 exec, exec, s[24:25]
	s_and_b64 s[0:1], exec, s[22:23]
	s_or_b64 s[20:21], s[0:1], s[20:21]
	s_andn2_b64 exec, exec, s[20:21]
	s_cbranch_execz .LBB1_14
.LBB1_18:
	v_add_u32_e32 v2, s30, v0
	v_cmp_gt_u32_e64 s[0:1], s10, v2
	s_or_b64 s[22:23], s[22:23], exec
	s_and_saveexec_b64 s[24:25], s[0:1]
	s_cbranch_execz .LBB1_17
	s_load_dwordx2 s[0:1], s[18:19], 0x0
	v_mov_b32_e32 v3, v1
	s_andn2_b64 s[22:23], s[22:23], exec
	v_lshl_add_u64 v[2:3], v[2:3], 2, s[6:7]
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[6:7], v[0:1], 2, s[0:1]
	global_load_dword v6, v[6:7], off
	v_add_u32_e32 v0, s3, v0
	v_cmp_le_u32_e64 s[0:1], s28, v0
	s_and_b64 s[0:1], s[0:1], exec
	s_or_b64 s[22:23], s[22:23], s[0:1]
	s_waitcnt vmcnt(0)
	global_store_dword v[2:3], v6, off
	s_branch .LBB1_17
.LBB1_20:
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB1_23
	global_load_dwordx2 v[0:1], v4, s[12:13]
	s_mov_b32 s3, 0
	s_mov_b32 s9, s3
	s_add_i32 s4, s11, 3
	s_lshl3_add_u32 s2, s2, s8
	s_lshl_b64 s[6:7], s[8:9], 3
	v_mov_b32_e32 v2, s4
	s_add_u32 s6, s12, s6
	s_addc_u32 s7, s13, s7
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[0:1], s[2:3], 2, v[0:1]
	buffer_wbl2 sc0 sc1
	global_store_dword v[0:1], v2, off sc0 sc1
	s_load_dwordx2 s[2:3], s[6:7], 0x0
	v_add_u32_e32 v0, s29, v5
	v_mov_b32_e32 v1, 0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[0:1], v[0:1], 2, s[2:3]
	s_mov_b64 s[2:3], 0
.LBB1_22:
	global_load_dword v2, v[0:1], off sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_subrev_u32_e32 v2, s4, v2
	v_cmp_lt_i32_e32 vcc, -1, v2
	s_or_b64 s[2:3], vcc, s[2:3]
	s_andn2_b64 exec, exec, s[2:3]
	s_cbranch_execnz .LBB1_22
.LBB1_23:
	s_or_b64 exec, exec, s[0:1]
	s_barrier
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel two_shot
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 220
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
		.amdhsa_next_free_vgpr 10
		.amdhsa_next_free_sgpr 32
		.amdhsa_accum_offset 12
		.amdhsa_reserve_vcc 1
		.amdhsa_reserve_xnack_mask 1
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
	.size	two_shot, .Lfunc_end1-two_shot
	.set two_shot.num_vgpr, 10
	.set two_shot.num_agpr, 0
	.set two_shot.numbered_sgpr, 32
	.set two_shot.num_named_barrier, 0
	.set two_shot.private_seg_size, 0
	.set two_shot.uses_vcc, 1
	.set two_shot.uses_flat_scratch, 0
	.set two_shot.has_dyn_sized_stack, 0
	.set two_shot.has_recursion, 0
	.set two_shot.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.p2alignl 6, 3212836864
	.fill 256, 4, 3212836864
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 0
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 0
	.set amdgpu.max_num_named_barrier, 0
	.text
	.type	__hip_cuid_97ffcb193e8464d2,@object
	.section	.bss,"aw",@nobits
	.globl	__hip_cuid_97ffcb193e8464d2
__hip_cuid_97ffcb193e8464d2:
	.byte	0
	.size	__hip_cuid_97ffcb193e8464d2, 1
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .offset:         0
        .size:           64
        .value_kind:     by_value
      - .offset:         64
        .size:           64
        .value_kind:     by_value
      - .address_space:  global
        .offset:         128
        .size:           8
        .value_kind:     global_buffer
      - .offset:         136
        .size:           4
        .value_kind:     by_value
      - .offset:         140
        .size:           4
        .value_kind:     by_value
      - .offset:         144
        .size:           4
        .value_kind:     by_value
      - .offset:         148
        .size:           4
        .value_kind:     by_value
      - .offset:         152
        .size:           4
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 156
    .max_flat_workgroup_size: 256
    .name:           one_shot
    .private_segment_fixed_size: 0
    .sgpr_count:     32
    .sgpr_spill_count: 0
    .symbol:         one_shot.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     8
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .offset:         0
        .size:           64
        .value_kind:     by_value
      - .offset:         64
        .size:           64
        .value_kind:     by_value
      - .offset:         128
        .size:           64
        .value_kind:     by_value
      - .address_space:  global
        .offset:         192
        .size:           8
        .value_kind:     global_buffer
      - .offset:         200
        .size:           4
        .value_kind:     by_value
      - .offset:         204
        .size:           4
        .value_kind:     by_value
      - .offset:         208
        .size:           4
        .value_kind:     by_value
      - .offset:         212
        .size:           4
        .value_kind:     by_value
      - .offset:         216
        .size:           4
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 220
    .max_flat_workgroup_size: 256
    .name:           two_shot
    .private_segment_fixed_size: 0
    .sgpr_count:     38
    .sgpr_spill_count: 0
    .symbol:         two_shot.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     10
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
