; run --arg out:256 --arg i32:3
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.hidden	turn
	.globl	turn
	.p2align	2
	.type	turn,@function
turn:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_cmp_ne_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_3
	s_mov_b64 s[2:3], 0
.LBB0_2:
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+4
	s_addc_u32 s5, s5, table@rel32@hi+12
	v_mov_b64_e32 v[2:3], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+8
	s_addc_u32 s5, s5, table@rel32@hi+16
	v_mov_b64_e32 v[4:5], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+12
	s_addc_u32 s5, s5, table@rel32@hi+20
	v_mov_b64_e32 v[6:7], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+16
	s_addc_u32 s5, s5, table@rel32@hi+24
	v_mov_b64_e32 v[8:9], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+20
	s_addc_u32 s5, s5, table@rel32@hi+28
	v_mov_b64_e32 v[10:11], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+24
	s_addc_u32 s5, s5, table@rel32@hi+32
	v_mov_b64_e32 v[12:13], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+28
	s_addc_u32 s5, s5, table@rel32@hi+36
	v_mov_b64_e32 v[14:15], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+32
	s_addc_u32 s5, s5, table@rel32@hi+40
	v_mov_b64_e32 v[16:17], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+36
	s_addc_u32 s5, s5, table@rel32@hi+44
	v_mov_b64_e32 v[18:19], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+40
	s_addc_u32 s5, s5, table@rel32@hi+48
	v_mov_b64_e32 v[20:21], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+44
	s_addc_u32 s5, s5, table@rel32@hi+52
	v_mov_b64_e32 v[22:23], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+48
	s_addc_u32 s5, s5, table@rel32@hi+56
	v_mov_b64_e32 v[24:25], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+52
	s_addc_u32 s5, s5, table@rel32@hi+60
	v_mov_b64_e32 v[26:27], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+56
	s_addc_u32 s5, s5, table@rel32@hi+64
	v_mov_b64_e32 v[28:29], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+60
	s_addc_u32 s5, s5, table@rel32@hi+68
	v_mov_b64_e32 v[30:31], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+64
	s_addc_u32 s5, s5, table@rel32@hi+72
	flat_load_dword v1, v[2:3] sc0 sc1
	s_waitcnt vmcnt(0)
	v_mov_b64_e32 v[32:33], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+68
	s_addc_u32 s5, s5, table@rel32@hi+76
	flat_load_dword v38, v[4:5] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v39, v[6:7] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v48, v[8:9] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v49, v[10:11] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v50, v[12:13] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v51, v[14:15] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v52, v[16:17] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v53, v[18:19] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v54, v[20:21] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v55, v[22:23] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v64, v[24:25] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v65, v[26:27] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v66, v[28:29] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v67, v[30:31] sc0 sc1
	s_waitcnt vmcnt(0)
	flat_load_dword v68, v[32:33] sc0 sc1
	s_waitcnt vmcnt(0)
	v_mov_b64_e32 v[34:35], s[4:5]
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+72
	s_addc_u32 s5, s5, table@rel32@hi+80
	flat_load_dword v69, v[34:35] sc0 sc1
	s_waitcnt vmcnt(0)
	v_mov_b64_e32 v[36:37], s[4:5]
	flat_load_dword v70, v[36:37] sc0 sc1
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v0, -1, v0
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_or_b64 s[2:3], vcc, s[2:3]
	v_add_u32_e32 v1, 1, v1
	v_add_u32_e32 v38, 1, v38
	v_add_u32_e32 v39, 1, v39
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v48, 1, v48
	v_add_u32_e32 v49, 1, v49
	v_add_u32_e32 v50, 1, v50
	v_add_u32_e32 v51, 1, v51
	v_add_u32_e32 v52, 1, v52
	v_add_u32_e32 v53, 1, v53
	v_add_u32_e32 v54, 1, v54
	v_add_u32_e32 v55, 1, v55
	v_add_u32_e32 v64, 1, v64
	v_add_u32_e32 v65, 1, v65
	v_add_u32_e32 v66, 1, v66
	v_add_u32_e32 v67, 1, v67
	flat_store_dword v[36:37], v1 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[34:35], v38 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[32:33], v39 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[30:31], v48 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[28:29], v49 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[26:27], v50 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[24:25], v51 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[22:23], v52 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[20:21], v53 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[18:19], v54 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[16:17], v55 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[14:15], v64 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[12:13], v65 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[10:11], v66 sc0 sc1
	s_waitcnt vmcnt(0)
	flat_store_dword v[8:9], v67 sc0 sc1
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v1, 1, v68
	flat_store_dword v[6:7], v1 sc0 sc1
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v1, 1, v69
	flat_store_dword v[4:5], v1 sc0 sc1
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v1, 1, v70
	flat_store_dword v[2:3], v1 sc0 sc1
	s_waitcnt vmcnt(0)
	s_andn2_b64 exec, exec, s[2:3]
	s_cbranch_execnz .LBB0_2
.LBB0_3:
	s_or_b64 exec, exec, s[0:1]
	s_waitcnt lgkmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end0:
	.size	turn, .Lfunc_end0-turn
	.set turn.num_vgpr, 71
	.set turn.num_agpr, 0
	.set turn.numbered_sgpr, 32
	.set turn.num_named_barrier, 0
	.set turn.private_seg_size, 0
	.set turn.uses_vcc, 1
	.set turn.uses_flat_scratch, 0
	.set turn.has_dyn_sized_stack, 0
	.set turn.has_recursion, 0
	.set turn.has_indirect_call, 0
	.text
	.protected	test
	.globl	test
	.p2align	8
	.type	test,@function
test:
	s_load_dword s2, s[0:1], 0x8
	s_load_dwordx2 s[6:7], s[0:1], 0x0
	v_mov_b32_e32 v40, v0
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, turn@rel32@lo+4
	s_addc_u32 s1, s1, turn@rel32@hi+12
	s_mov_b32 s32, 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v0, s2
	s_swappc_b64 s[30:31], s[0:1]
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, table@rel32@lo+16
	s_addc_u32 s1, s1, table@rel32@hi+24
	v_mov_b64_e32 v[0:1], s[0:1]
	flat_load_dword v1, v[0:1] sc0 sc1
	s_waitcnt vmcnt(0)
	v_lshlrev_b32_e32 v0, 2, v40
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel test
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 12
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
		.amdhsa_next_free_vgpr 71
		.amdhsa_next_free_sgpr 33
		.amdhsa_accum_offset 72
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
	.set test.num_vgpr, max(41, turn.num_vgpr)
	.set test.num_agpr, max(0, turn.num_agpr)
	.set test.numbered_sgpr, max(33, turn.numbered_sgpr)
	.set test.num_named_barrier, max(0, turn.num_named_barrier)
	.set test.private_seg_size, 0+max(turn.private_seg_size)
	.set test.uses_vcc, or(1, turn.uses_vcc)
	.set test.uses_flat_scratch, or(0, turn.uses_flat_scratch)
	.set test.has_dyn_sized_stack, or(0, turn.has_dyn_sized_stack)
	.set test.has_recursion, or(0, turn.has_recursion)
	.set test.has_indirect_call, or(0, turn.has_indirect_call)
	.text
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 71
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 32
	.set amdgpu.max_num_named_barrier, 0
	.text
	.hidden	table
	.type	table,@object
	.section	.bss,"aw",@nobits
	.globl	table
	.p2align	2, 0x0
table:
	.zero	256
	.size	table, 256

	.section	".note.GNU-stack","",@progbits
	.addrsig
	.addrsig_sym table
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
    .private_segment_fixed_size: 0
    .sgpr_count:     39
    .sgpr_spill_count: 0
    .symbol:         test.kd
    .uses_dynamic_stack: false
    .vgpr_count:     71
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
