; run --grid 2 --block 64 --arg zeros:64 --arg in:256
; note races load
; says a compare and swap expects what it brings
; Sound: relaxed atomics of both workgroups for which there is no instruction. LLVM makes each a plain load and a loop of compare and swap; that the
; load may bring an old value does no harm.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.protected	k
	.globl	k
	.p2align	8
	.type	k,@function
k:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v2, 1, v0
	v_mov_b32_e32 v7, 0
	v_lshlrev_b32_e32 v6, 1, v2
	s_mov_b32 s0, 0xffff
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[4:5], s[4:5], 0, v[6:7]
	v_lshlrev_b32_e32 v6, 2, v0
	global_load_dword v10, v6, s[6:7]
	v_and_b32_e32 v8, -4, v4
	v_mov_b32_e32 v9, v5
	global_load_dword v11, v[8:9], off
	v_and_b32_e32 v1, 3, v4
	v_lshlrev_b32_e32 v12, 3, v1
	v_lshlrev_b32_e64 v1, v12, s0
	v_lshl_add_u64 v[6:7], s[6:7], 0, v[6:7]
	v_not_b32_e32 v3, v1
	s_mov_b64 s[0:1], 0
	s_waitcnt vmcnt(1)
	v_lshlrev_b32_sdwa v12, v12, v10 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_0
.LBB0_1:
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v10, v11, v12
	v_and_b32_e32 v10, v10, v1
	v_and_or_b32 v10, v11, v3, v10
	global_atomic_cmpswap v10, v[8:9], v[10:11], off sc0
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, v10, v11
	s_or_b64 s[0:1], vcc, s[0:1]
	v_mov_b32_e32 v11, v10
	s_andn2_b64 exec, exec, s[0:1]
	s_cbranch_execnz .LBB0_1
	s_or_b64 exec, exec, s[0:1]
	v_lshlrev_b32_e32 v8, 1, v2
	v_mov_b32_e32 v9, 0
	global_load_dword v1, v[6:7], off
	v_lshl_add_u64 v[8:9], v[4:5], 0, v[8:9]
	global_load_dword v11, v[8:9], off offset:4
	s_mov_b64 s[0:1], 0
	s_waitcnt vmcnt(1)
	v_add_u32_e32 v1, s2, v1
.LBB0_3:
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v3, v11, v1
	v_not_b32_e32 v10, v3
	global_atomic_cmpswap v3, v[8:9], v[10:11], off offset:4 sc0
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, v3, v11
	s_or_b64 s[0:1], vcc, s[0:1]
	v_mov_b32_e32 v11, v3
	s_andn2_b64 exec, exec, s[0:1]
	s_cbranch_execnz .LBB0_3
	s_or_b64 exec, exec, s[0:1]
	global_load_dword v1, v[6:7], off
	global_load_dword v11, v[8:9], off offset:12
	s_mov_b64 s[0:1], 0
	s_waitcnt vmcnt(1)
	v_cvt_f32_u32_e32 v1, v1
	v_max_f32_e32 v1, v1, v1
.LBB0_5:
	s_waitcnt vmcnt(0)
	v_max_f32_e32 v3, v11, v11
	v_max_f32_e32 v10, v3, v1
	global_atomic_cmpswap v3, v[8:9], v[10:11], off offset:12 sc0
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, v3, v11
	s_or_b64 s[0:1], vcc, s[0:1]
	v_mov_b32_e32 v11, v3
	s_andn2_b64 exec, exec, s[0:1]
	s_cbranch_execnz .LBB0_5
	s_or_b64 exec, exec, s[0:1]
	v_and_b32_e32 v0, 3, v0
	v_mov_b32_e32 v1, 0
	v_lshl_add_u64 v[0:1], s[4:5], 0, v[0:1]
	v_lshl_add_u64 v[8:9], v[0:1], 0, 20
	v_and_b32_e32 v0, -4, v8
	v_mov_b32_e32 v1, v9
	global_load_dword v3, v[6:7], off
	v_and_b32_e32 v6, 3, v8
	global_load_dword v7, v[0:1], off
	v_lshlrev_b32_e32 v8, 3, v6
	s_movk_i32 s0, 0xff
	v_lshlrev_b32_e64 v6, v8, s0
	v_not_b32_e32 v9, v6
	s_mov_b64 s[0:1], 0
.LBB0_7:
	s_waitcnt vmcnt(0)
	v_lshrrev_b32_e32 v6, v8, v7
	v_min_u16_sdwa v6, v6, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_0
	v_lshlrev_b32_e32 v6, v8, v6
	v_and_or_b32 v6, v7, v9, v6
	global_atomic_cmpswap v6, v[0:1], v[6:7], off sc0
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, v6, v7
	s_or_b64 s[0:1], vcc, s[0:1]
	v_mov_b32_e32 v7, v6
	s_andn2_b64 exec, exec, s[0:1]
	s_cbranch_execnz .LBB0_7
	s_or_b64 exec, exec, s[0:1]
	v_lshl_add_u64 v[6:7], v[4:5], 0, 24
	v_and_b32_e32 v0, -4, v6
	v_mov_b32_e32 v1, v7
	global_load_dword v7, v[0:1], off
	v_and_b32_e32 v3, 3, v6
	v_lshlrev_b32_e32 v3, 3, v3
	s_mov_b32 s0, 0xffff
	v_lshlrev_b32_e64 v6, v3, s0
	v_not_b32_e32 v8, v6
	s_mov_b64 s[0:1], 0
.LBB0_9:
	s_waitcnt vmcnt(0)
	v_lshrrev_b32_e32 v6, v3, v7
	v_add_f16_e32 v6, 1.0, v6
	v_lshlrev_b32_e32 v6, v3, v6
	v_and_or_b32 v6, v7, v8, v6
	global_atomic_cmpswap v6, v[0:1], v[6:7], off sc0
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, v6, v7
	s_or_b64 s[0:1], vcc, s[0:1]
	v_mov_b32_e32 v7, v6
	s_andn2_b64 exec, exec, s[0:1]
	s_cbranch_execnz .LBB0_9
	s_or_b64 exec, exec, s[0:1]
	v_mad_u64_u32 v[0:1], s[0:1], v2, 6, v[4:5]
	v_mov_b64_e32 v[2:3], 1.0
	global_atomic_add_f64 v[0:1], v[2:3], off offset:32
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel k
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
		.amdhsa_next_free_vgpr 13
		.amdhsa_next_free_sgpr 8
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
	.size	k, .Lfunc_end0-k
	.text
	.text
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  generic
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  generic
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 1024
    .name:           k
    .private_segment_fixed_size: 0
    .sgpr_count:     14
    .sgpr_spill_count: 0
    .symbol:         k.kd
    .uses_dynamic_stack: false
    .vgpr_count:     13
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
