; run --block 64 --arg zeros:512 --arg in:64 --stress
; A store through a flat pointer that may point to scratch, and a load of scratch after it: the wave's accesses keep their order.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.protected	k
	.globl	k
	.p2align	8
	.type	k,@function
k:
	s_load_dwordx2 s[2:3], s[0:1], 0x8
	s_mov_b32 s6, 0
	s_mov_b64 s[4:5], 0
.LBB0_1:
	s_waitcnt lgkmcnt(0)
	s_add_u32 s8, s2, s4
	s_addc_u32 s9, s3, s5
	s_load_dword s7, s[8:9], 0x0
	s_add_u32 s4, s4, 4
	s_addc_u32 s5, s5, 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s7
	scratch_store_dword off, v1, s6
	s_add_i32 s6, s6, 4
	s_cmp_eq_u32 s4, 64
	s_cbranch_scc0 .LBB0_1
	v_and_b32_e32 v1, 15, v0
	v_lshlrev_b32_e32 v1, 2, v1
	global_load_dword v6, v1, s[2:3]
	s_load_dwordx2 s[0:1], s[0:1], 0x0
	v_mov_b32_e32 v3, 0
	v_lshlrev_b32_e32 v2, 2, v0
	s_mov_b64 s[4:5], src_private_base
	s_mov_b64 s[6:7], 0x100
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[4:5], s[0:1], 0, v[2:3]
	v_mov_b32_e32 v8, s5
	v_lshl_add_u64 v[4:5], v[4:5], 0, s[6:7]
	s_mov_b32 s2, 0
	v_add_u32_e32 v7, 7, v0
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v2, 1, v6
	v_cmp_eq_u32_e32 vcc, 0, v2
	v_mov_b32_e32 v2, v3
	s_nop 0
	v_cndmask_b32_e32 v4, v1, v4, vcc
	v_cndmask_b32_e32 v5, v8, v5, vcc
	flat_store_dword v[4:5], v7
.LBB0_3:
	scratch_load_dword v4, off, s2
	s_add_i32 s2, s2, 4
	s_cmp_eq_u32 s2, 64
	s_waitcnt vmcnt(0)
	v_mad_u64_u32 v[2:3], s[4:5], v2, 31, v[4:5]
	s_cbranch_scc0 .LBB0_3
	v_lshlrev_b32_e32 v0, 2, v0
	global_store_dword v0, v2, s[0:1]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 68
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
		.amdhsa_enable_private_segment 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 9
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 12
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
    .private_segment_fixed_size: 68
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         k.kd
    .uses_dynamic_stack: false
    .vgpr_count:     9
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
