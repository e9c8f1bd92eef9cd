; Of clang 22, --offload-arch=gfx942 -mprintf-kind=buffered -O2 -S: printf of a constant text and of one in memory by work-items 3, 23, 43, 63 and 5.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.protected	show
	.globl	show
	.p2align	8
	.type	show,@function
show:
	v_mov_b32_e32 v2, v0
	s_movk_i32 s2, 0xcccd
	v_mov_b32_e32 v0, 0xffff9999
	v_mad_legacy_u16 v0, v2, s2, v0
	v_lshlrev_b16_e32 v1, 14, v0
	v_lshrrev_b16_e32 v0, 2, v0
	v_or_b32_e32 v0, v0, v1
	s_movk_i32 s2, 0xccd
	v_cmp_gt_u16_e32 vcc, s2, v0
	s_and_saveexec_b64 s[2:3], vcc
	s_cbranch_execz .LBB0_9
	s_load_dwordx2 s[4:5], s[0:1], 0x58
	v_mov_b32_e32 v3, 0
	s_mov_b64 s[6:7], 0
	s_waitcnt lgkmcnt(0)
	s_load_dword s16, s[4:5], 0x4
	global_load_dword v0, v3, s[4:5] sc1
	s_branch .LBB0_3
.LBB0_2:
	s_or_b64 exec, exec, s[14:15]
	s_and_b64 s[14:15], exec, s[12:13]
	s_or_b64 s[6:7], s[14:15], s[6:7]
	s_andn2_b64 s[8:9], s[8:9], exec
	s_and_b64 s[14:15], s[10:11], exec
	s_or_b64 s[8:9], s[8:9], s[14:15]
	s_andn2_b64 exec, exec, s[6:7]
	s_cbranch_execz .LBB0_5
.LBB0_3:
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v1, v0
	v_add_u32_e32 v0, 0x44, v1
	s_waitcnt lgkmcnt(0)
	v_cmp_ge_u32_e32 vcc, s16, v0
	s_or_b64 s[10:11], s[10:11], exec
	s_or_b64 s[12:13], s[12:13], exec
	s_and_saveexec_b64 s[14:15], vcc
	s_cbranch_execz .LBB0_2
	v_add_u32_e32 v0, 60, v1
	global_atomic_cmpswap v0, v3, v[0:1], s[4:5] sc0
	s_andn2_b64 s[12:13], s[12:13], exec
	s_andn2_b64 s[10:11], s[10:11], exec
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, v0, v1
	s_and_b64 s[18:19], vcc, exec
	s_or_b64 s[12:13], s[12:13], s[18:19]
	s_branch .LBB0_2
.LBB0_5:
	s_or_b64 exec, exec, s[6:7]
	s_xor_b64 s[6:7], s[8:9], -1
	v_mov_b64_e32 v[4:5], 0
	s_and_saveexec_b64 s[8:9], s[6:7]
	s_xor_b64 s[6:7], exec, s[8:9]
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v4, v1
	v_lshl_add_u64 v[0:1], s[4:5], 0, v[4:5]
	v_lshl_add_u64 v[4:5], v[0:1], 0, 8
	s_or_b64 exec, exec, s[6:7]
	v_cmp_ne_u64_e32 vcc, 0, v[4:5]
	s_and_b64 exec, exec, vcc
	s_cbranch_execz .LBB0_9
	v_cvt_f64_u32_e32 v[0:1], v2
	v_mul_f64 v[6:7], v[0:1], 0.5
	v_mov_b32_e32 v0, 0xf2
	v_mov_b32_e32 v3, 0
	global_store_dword v[4:5], v0, off
	v_mov_b32_e32 v1, 0x42c51bf2
	v_mov_b32_e32 v0, 0x2ce3607c
	s_mov_b32 s4, 0
	v_mov_b32_e32 v8, 0x74786574
	v_mov_b32_e32 v9, 0x6e6f6c20
	v_mov_b32_e32 v10, 0x67
	v_mov_b32_e32 v11, v3
	global_store_dwordx4 v[4:5], v[0:3], off offset:4
	global_store_dwordx4 v[4:5], v[8:11], off offset:20
	s_nop 0
	v_mov_b32_e32 v1, 0x100
	v_mov_b32_e32 v8, 0x78
	v_mov_b32_e32 v9, s4
	v_mov_b32_e32 v0, v3
	global_store_dwordx4 v[4:5], v[6:9], off offset:36
	global_store_dwordx2 v[4:5], v[0:1], off offset:52
.LBB0_9:
	s_or_b64 exec, exec, s[2:3]
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_cmp_eq_u32_e32 vcc, 5, v2
	s_and_saveexec_b64 s[2:3], vcc
	s_cbranch_execz .LBB0_28
	s_waitcnt lgkmcnt(0)
	s_cmp_eq_u64 s[6:7], 0
	s_mov_b64 s[8:9], 0
	s_cbranch_scc1 .LBB0_14
	s_add_u32 s8, s6, -1
	s_addc_u32 s9, s7, -1
	v_mov_b32_e32 v0, 0
.LBB0_12:
	global_load_ubyte v1, v0, s[8:9] offset:1
	s_add_u32 s8, s8, 1
	s_addc_u32 s9, s9, 0
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e32 vcc, 0, v1
	s_cbranch_vccnz .LBB0_12
	s_sub_u32 s8, s8, s6
	s_subb_u32 s9, s9, s7
	s_add_u32 s8, s8, 1
	s_addc_u32 s9, s9, 0
.LBB0_14:
	s_load_dwordx2 s[10:11], s[0:1], 0x58
	v_mov_b32_e32 v0, 0
	s_add_i32 s0, s8, 7
	s_and_b32 s0, s0, -8
	s_mov_b32 s1, 0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[10:11] offset:4
	global_load_dword v3, v0, s[10:11] sc1
	s_add_i32 s22, s0, 28
	s_mov_b64 s[12:13], 0
	s_branch .LBB0_16
.LBB0_15:
	s_or_b64 exec, exec, s[20:21]
	s_and_b64 s[20:21], exec, s[18:19]
	s_or_b64 s[12:13], s[20:21], s[12:13]
	s_andn2_b64 s[14:15], s[14:15], exec
	s_and_b64 s[20:21], s[16:17], exec
	s_or_b64 s[14:15], s[14:15], s[20:21]
	s_andn2_b64 exec, exec, s[12:13]
	s_cbranch_execz .LBB0_18
.LBB0_16:
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v5, v3
	v_add_u32_e32 v4, s22, v5
	v_cmp_le_u32_e32 vcc, v4, v1
	s_or_b64 s[16:17], s[16:17], exec
	s_or_b64 s[18:19], s[18:19], exec
	s_and_saveexec_b64 s[20:21], vcc
	s_cbranch_execz .LBB0_15
	v_add_u32_e32 v4, -8, v4
	global_atomic_cmpswap v3, v0, v[4:5], s[10:11] sc0
	s_andn2_b64 s[18:19], s[18:19], exec
	s_andn2_b64 s[16:17], s[16:17], exec
	s_waitcnt vmcnt(0)
	v_cmp_eq_u32_e32 vcc, v3, v5
	s_and_b64 s[24:25], vcc, exec
	s_or_b64 s[18:19], s[18:19], s[24:25]
	s_branch .LBB0_15
.LBB0_18:
	s_or_b64 exec, exec, s[12:13]
	s_xor_b64 s[12:13], s[14:15], -1
	v_mov_b64_e32 v[0:1], 0
	s_and_saveexec_b64 s[14:15], s[12:13]
	s_xor_b64 s[12:13], exec, s[14:15]
	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v0, v5
	v_lshl_add_u64 v[0:1], s[10:11], 0, v[0:1]
	v_lshl_add_u64 v[0:1], v[0:1], 0, 8
	s_or_b64 exec, exec, s[12:13]
	v_cmp_ne_u64_e32 vcc, 0, v[0:1]
	s_and_b64 exec, exec, vcc
	s_cbranch_execz .LBB0_28
	s_lshl2_add_u32 s10, s0, 0x50
	v_mov_b32_e32 v3, s10
	s_and_b32 s10, s8, 15
	s_and_b32 s8, s8, -16
	s_cmp_eq_u64 s[8:9], 0
	s_mov_b32 s11, 0
	global_store_dword v[0:1], v3, off
	s_cbranch_scc1 .LBB0_24
	v_lshl_add_u64 v[4:5], v[0:1], 0, 4
	s_mov_b64 s[12:13], 0
	v_mov_b32_e32 v3, 0
	v_mov_b64_e32 v[6:7], s[8:9]
.LBB0_23:
	s_add_u32 s14, s6, s12
	s_addc_u32 s15, s7, s13
	global_load_dwordx4 v[10:13], v3, s[14:15]
	v_lshl_add_u64 v[8:9], v[4:5], 0, s[12:13]
	s_add_u32 s12, s12, 16
	s_addc_u32 s13, s13, 0
	v_cmp_lt_u64_e32 vcc, s[12:13], v[6:7]
	s_waitcnt vmcnt(0)
	global_store_dwordx4 v[8:9], v[10:13], off
	s_cbranch_vccnz .LBB0_23
.LBB0_24:
	s_cmp_eq_u64 s[10:11], 0
	s_mov_b64 s[12:13], 0
	s_cbranch_scc1 .LBB0_27
	v_lshl_add_u64 v[4:5], v[0:1], 0, s[8:9]
	s_add_u32 s6, s6, s8
	v_lshl_add_u64 v[4:5], v[4:5], 0, 4
	s_addc_u32 s7, s7, s9
	v_mov_b32_e32 v3, 0
	v_mov_b64_e32 v[6:7], s[10:11]
.LBB0_26:
	s_add_u32 s8, s6, s12
	s_addc_u32 s9, s7, s13
	global_load_ubyte v10, v3, s[8:9]
	v_lshl_add_u64 v[8:9], v[4:5], 0, s[12:13]
	s_add_u32 s12, s12, 1
	s_addc_u32 s13, s13, 0
	v_cmp_lt_u64_e32 vcc, s[12:13], v[6:7]
	s_waitcnt vmcnt(0)
	global_store_byte v[8:9], v10, off
	s_cbranch_vccnz .LBB0_26
.LBB0_27:
	v_mov_b32_e32 v5, 0
	v_lshl_add_u64 v[0:1], v[0:1], 0, s[0:1]
	v_mov_b32_e32 v4, 5
	v_mov_b32_e32 v6, 2
	v_mov_b32_e32 v7, v5
	global_store_dwordx4 v[0:1], v[4:7], off offset:4
.LBB0_28:
	s_or_b64 exec, exec, s[2:3]
	v_lshlrev_b32_e32 v0, 2, v2
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v2, s[4:5]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel show
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 272
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
		.amdhsa_next_free_sgpr 26
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
	.size	show, .Lfunc_end0-show
	.set show.num_vgpr, 14
	.set show.num_agpr, 0
	.set show.numbered_sgpr, 26
	.set show.num_named_barrier, 0
	.set show.private_seg_size, 0
	.set show.uses_vcc, 1
	.set show.uses_flat_scratch, 0
	.set show.has_dyn_sized_stack, 0
	.set show.has_recursion, 0
	.set show.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 0
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 0
	.set amdgpu.max_num_named_barrier, 0
	.text
	.type	__hip_cuid_0,@object
	.section	.bss,"aw",@nobits
	.globl	__hip_cuid_0
__hip_cuid_0:
	.byte	0
	.size	__hip_cuid_0, 1
	.section	".note.GNU-stack","",@progbits
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .offset:         16
        .size:           4
        .value_kind:     hidden_block_count_x
      - .offset:         20
        .size:           4
        .value_kind:     hidden_block_count_y
      - .offset:         24
        .size:           4
        .value_kind:     hidden_block_count_z
      - .offset:         28
        .size:           2
        .value_kind:     hidden_group_size_x
      - .offset:         30
        .size:           2
        .value_kind:     hidden_group_size_y
      - .offset:         32
        .size:           2
        .value_kind:     hidden_group_size_z
      - .offset:         34
        .size:           2
        .value_kind:     hidden_remainder_x
      - .offset:         36
        .size:           2
        .value_kind:     hidden_remainder_y
      - .offset:         38
        .size:           2
        .value_kind:     hidden_remainder_z
      - .offset:         56
        .size:           8
        .value_kind:     hidden_global_offset_x
      - .offset:         64
        .size:           8
        .value_kind:     hidden_global_offset_y
      - .offset:         72
        .size:           8
        .value_kind:     hidden_global_offset_z
      - .offset:         80
        .size:           2
        .value_kind:     hidden_grid_dims
      - .offset:         88
        .size:           8
        .value_kind:     hidden_printf_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 272
    .max_flat_workgroup_size: 1024
    .name:           show
    .private_segment_fixed_size: 0
    .sgpr_count:     32
    .sgpr_spill_count: 0
    .symbol:         show.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     14
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.printf:
  - "0:0:42c51bf22ce3607c,item %d of: %s, %5.2f, 100 %%, %c, %lld\n"
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
