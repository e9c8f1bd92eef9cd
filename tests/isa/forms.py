"""Instructions as LLVM's machine IR writes them, with their register operands named: what compiler.py makes pairs of.

`<d0:v4>` is operand d0, four VGPRs; letters: v VGPR, a AGPR, s SGPR. Names begin with d where the register is written, u where
it is read; `<=d0>` repeats one (a tied operand).
"""
import re

E = ', implicit $exec'
ME = ', implicit $mode, implicit $exec'
FORMS = {}


def form(name, text, arch='gfx942 gfx950 gfx90a'):
    assert name not in FORMS, name
    FORMS[name] = (text, arch.split())


# ---- vector
form('v_mov', '<d0:v1> = V_MOV_B32_e32 <u0:v1>' + E)
form('v_mov_sgpr', '<d0:v1> = V_MOV_B32_e32 <u0:s1>' + E)
form('v_add', '<d0:v1> = V_ADD_U32_e32 <u0:v1>, <u1:v1>' + E)
form('v_add_e64', '<d0:v1> = V_ADD_U32_e64 <u0:s1>, <u1:v1>, 0' + E)
form('v_fma', '<d0:v1> = V_FMA_F32_e64 0, <u0:v1>, 0, <u1:v1>, 0, <u2:v1>, 0, 0' + ME)
form('v_fma_f64', '<d0:v2> = V_FMA_F64_e64 0, <u0:v2>, 0, <u1:v2>, 0, <u2:v2>, 0, 0' + ME)
form('v_fmac', '<d0:v1> = V_FMAC_F32_e32 <u0:v1>, <u1:v1>, <=d0>' + ME)
form('v_fmac_f64', '<d0:v2> = V_FMAC_F64_e32 <u0:v2>, <u1:v2>, <=d0>' + ME)
form('v_pk_fma', '<d0:v2> = V_PK_FMA_F32 8, <u0:v2>, 8, <u1:v2>, 8, <u2:v2>, 0, 0, 0, 0, 0' + ME)
form('v_pk_fma_f16', '<d0:v1> = V_PK_FMA_F16 8, <u0:v1>, 8, <u1:v1>, 8, <u2:v1>, 0, 0, 0, 0, 0' + ME)
form('v_lshl_add_u64', '<d0:v2> = V_LSHL_ADD_U64_e64 <u0:v2>, <u1:v1>, <u2:v2>' + E, 'gfx942 gfx950')
form('v_exp', '<d0:v1> = V_EXP_F32_e32 <u0:v1>' + ME)
form('v_rcp', '<d0:v1> = V_RCP_F32_e32 <u0:v1>' + ME)
form('v_rcp_f64', '<d0:v2> = V_RCP_F64_e32 <u0:v2>' + ME)
form('v_sqrt_f16', '<d0:v1> = V_SQRT_F16_e32 <u0:v1>' + ME)
form('v_log_e64', '<d0:v1> = V_LOG_F32_e64 0, <u0:v1>, 0, 0' + ME)
form('v_sdwa_word', '<d0:v1> = V_ADD_U16_sdwa 0, <u0:v1>, 0, <u1:v1>, 0, 5, 2, 6, 6' + E + ', implicit <=d0>(tied-def 0)')
form('v_sdwa_dword', '<d0:v1> = V_ADD_U16_sdwa 0, <u0:v1>, 0, <u1:v1>, 0, 6, 0, 6, 6' + E)
form('v_opsel_low', '<d0:v1> = V_MAD_U16_gfx9_e64 0, <u0:v1>, 0, <u1:v1>, 0, <u2:v1>, 0, 0' + E)
form('v_opsel_high', '<d0:v1> = V_MAD_U16_gfx9_e64 8, <u0:v1>, 0, <u1:v1>, 0, <u2:v1>, 0, 0' + E)
form('v_mixlo', '<d0:v1> = V_FMA_MIXLO_F16 8, <u0:v1>, 8, <u1:v1>, 8, <u2:v1>, 0, <=d0>, 0, 0' + ME)
form('v_mixhi', '<d0:v1> = V_FMA_MIXHI_F16 8, <u0:v1>, 8, <u1:v1>, 8, <u2:v1>, 0, <=d0>, 0, 0' + ME)
form('v_cvt_pk_fp8', '<d0:v1> = V_CVT_PK_FP8_F32_e64 0, <u0:v1>, 0, <u1:v1>, <=d0>, 0' + ME, 'gfx942 gfx950')
form('v_cvt_pk_fp8_high', '<d0:v1> = V_CVT_PK_FP8_F32_e64 8, <u0:v1>, 0, <u1:v1>, <=d0>, 0' + ME, 'gfx942 gfx950')
form('v_cvt_sr_fp8', '<d0:v1> = V_CVT_SR_FP8_F32_e64 0, <u0:v1>, 0, <u1:v1>, 0, <=d0>, 0' + ME, 'gfx942 gfx950')
form('v_cvt_sr_fp8_byte', '<d0:v1> = V_CVT_SR_FP8_F32_e64 8, <u0:v1>, 0, <u1:v1>, 0, <=d0>, 0' + ME, 'gfx942 gfx950')
form('v_readfirstlane', '<d0:s1> = V_READFIRSTLANE_B32 <u0:v1>' + E)
form('v_readlane', '<d0:s1> = V_READLANE_B32 <u0:v1>, <u1:s1>')
form('v_readlane_imm', '<d0:s1> = V_READLANE_B32 <u0:v1>, 3')
form('v_writelane', '<d0:v1> = V_WRITELANE_B32 3, <u0:s1>, <=d0>')
form('v_writelane_sgpr', '<d0:v1> = V_WRITELANE_B32 <u0:s1>, $m0, <=d0>')
form('v_cmp', 'V_CMP_GT_U32_e32 <u0:v1>, <u1:v1>, implicit-def $vcc' + E)
form('v_cmp_e64', '<d0:s2> = V_CMP_GT_U32_e64 <u0:v1>, <u1:v1>' + E)
form('v_cmpx', 'V_CMPX_GT_U32_e32 <u0:v1>, <u1:v1>, implicit-def $exec, implicit-def $vcc' + E)
form('v_cmpx_e64', '<d0:s2> = V_CMPX_GT_U32_e64 <u0:v1>, <u1:v1>, implicit-def $exec' + E)
form('v_cndmask', '<d0:v1> = V_CNDMASK_B32_e32 <u0:v1>, <u1:v1>, implicit $vcc' + E)
form('v_cndmask_e64', '<d0:v1> = V_CNDMASK_B32_e64 0, <u0:v1>, 0, <u1:v1>, <u2:s2>' + E)
form('v_addc', '<d0:v1> = V_ADDC_U32_e32 <u0:v1>, <u1:v1>, implicit-def $vcc, implicit $vcc' + E)
form('v_add_co', '<d0:v1> = V_ADD_CO_U32_e32 <u0:v1>, <u1:v1>, implicit-def $vcc' + E)
form('v_add_co_e64', '<d0:v1>, <d1:s2> = V_ADD_CO_U32_e64 <u0:v1>, <u1:v1>, 0' + E)
form('v_div_scale', '<d0:v1>, $vcc = V_DIV_SCALE_F32_e64 0, <u0:v1>, 0, <u1:v1>, 0, <=u0>, 0, 0' + ME)
form('v_div_fmas', '<d0:v1> = V_DIV_FMAS_F32_e64 0, <u0:v1>, 0, <u1:v1>, 0, <u2:v1>, 0, 0, implicit $vcc' + ME)
form('v_div_fmas_f64', '<d0:v2> = V_DIV_FMAS_F64_e64 0, <u0:v2>, 0, <u1:v2>, 0, <u2:v2>, 0, 0, implicit $vcc' + ME)
form('v_mad_u64', '<d0:v2>, <d1:s2> = V_MAD_U64_U32_e64 <u0:v1>, <u1:v1>, <u2:v2>, 0' + E)
form('v_swap', '<d0:v1>, <d1:v1> = V_SWAP_B32 <=d1>, <=d0>' + E)
form('v_mov_dpp', '<d0:v1> = V_MOV_B32_dpp <=d0>, <u0:v1>, 273, 15, 15, 0' + E)
form('v_add_dpp', '<d0:v1> = V_ADD_U32_dpp <=d0>, <u0:v1>, <u1:v1>, 273, 15, 15, 0' + E)
form('v_dot2', '<d0:v1> = V_DOT2_F32_F16 8, <u0:v1>, 8, <u1:v1>, 8, <u2:v1>, 0, 0, 0, 0, 0' + ME)
form('v_dot4', '<d0:v1> = V_DOT4_I32_I8 8, <u0:v1>, 8, <u1:v1>, 8, <u2:v1>, 0, 0, 0' + E)
form('v_dot2c', '<d0:v1> = V_DOT2C_F32_F16_e32 <u0:v1>, <u1:v1>, <=d0>' + ME)
form('v_nop', 'V_NOP_e32 implicit $exec')
form('v_accvgpr_write', '<d0:a1> = V_ACCVGPR_WRITE_B32_e64 <u0:v1>' + E)
form('v_accvgpr_read', '<d0:v1> = V_ACCVGPR_READ_B32_e64 <u0:a1>' + E)
form('v_accvgpr_mov', '<d0:a1> = V_ACCVGPR_MOV_B32 <u0:a1>' + E)
form('v_permlane16_swap', '<d0:v1>, <d1:v1> = V_PERMLANE16_SWAP_B32_e32 <=d0>, <=d1>' + E, 'gfx950')
form('v_permlane32_swap_e64', '<d0:v1>, <d1:v1> = V_PERMLANE32_SWAP_B32_e64 <=d0>, <=d1>, 0, 0' + E, 'gfx950')
form('v_prng', '<d0:v1> = V_PRNG_B32_e32 <u0:v1>' + E, 'gfx950')
form('v_bitop3_b16', '<d0:v1> = V_BITOP3_B16_e64 0, <u0:v1>, 0, <u1:v1>, 0, <u2:v1>, 1, 0' + E, 'gfx950')
form('v_cvt_scalef32', '<d0:v1> = V_CVT_SCALEF32_PK_FP8_F32_e64 0, <u0:v1>, 0, <u1:v1>, 0, <u2:v1>, <=d0>, 0' + ME, 'gfx950')
form('v_cvt_scalef32_high', '<d0:v1> = V_CVT_SCALEF32_PK_FP8_F32_e64 8, <u0:v1>, 0, <u1:v1>, 0, <u2:v1>, <=d0>, 0' + ME, 'gfx950')

# ---- matrix; 2, 4, 8 and 16 passes, each pipe, accumulators in VGPRs and in AGPRs
M = ', 0, 0, 0' + ME


def matrix(name, opcode, d, a, b, arch='gfx942 gfx950 gfx90a', suffix='', more='', also_a=True):
    form(name, '<d0:v%d> = %s_vgprcd_e64%s <u0:v%d>, <u1:v%d>, <u2:v%d>%s' % (d, opcode, suffix, a, b, d, more or M), arch)
    if also_a:
        form(name + '_a', '<d0:a%d> = %s_e64%s <u0:v%d>, <u1:v%d>, <u2:a%d>%s' % (d, opcode, suffix, a, b, d, more or M), arch)


matrix('mfma_4x4_f16', 'V_MFMA_F32_4X4X4F16', 4, 2, 2)
matrix('mfma_16x16_f16', 'V_MFMA_F32_16X16X16F16', 4, 2, 2)
matrix('mfma_32x32_f16', 'V_MFMA_F32_32X32X8F16', 16, 2, 2)
matrix('mfma_32x32_4_f16', 'V_MFMA_F32_32X32X4F16', 32, 2, 2, also_a=False)
matrix('mfma_16x16_f32', 'V_MFMA_F32_16X16X4F32', 4, 1, 1)
matrix('mfma_32x32_f32', 'V_MFMA_F32_32X32X2F32', 16, 1, 1, also_a=False)
matrix('mfma_4x4_f32', 'V_MFMA_F32_4X4X1F32', 4, 1, 1, also_a=False)
matrix('mfma_16x16_i8', 'V_MFMA_I32_16X16X32I8', 4, 2, 2, 'gfx942 gfx950', also_a=False)
matrix('mfma_16x16_fp8', 'V_MFMA_F32_16X16X32_FP8_FP8', 4, 2, 2, 'gfx942 gfx950', also_a=False)
matrix('mfma_16x16_xf32', 'V_MFMA_F32_16X16X8XF32', 4, 2, 2, 'gfx942', also_a=False)
matrix('mfma_16x16_f64', 'V_MFMA_F64_16X16X4F64', 8, 2, 2)
matrix('mfma_4x4_f64', 'V_MFMA_F64_4X4X4F64', 2, 2, 2, also_a=False)
matrix('mfma_16x16x16_i8', 'V_MFMA_I32_16X16X16I8', 4, 1, 1, 'gfx90a', also_a=False)
matrix('mfma_32x32x8_bf16', 'V_MFMA_F32_32X32X8BF16_1K', 16, 2, 2, 'gfx90a')
matrix('mfma_4x4x2_bf16', 'V_MFMA_F32_4X4X2BF16', 4, 1, 1, 'gfx90a', also_a=False)
matrix('mfma_16x16x32_bf16', 'V_MFMA_F32_16X16X32_BF16', 4, 4, 4, 'gfx950', also_a=False)
matrix('mfma_32x32x16_f16', 'V_MFMA_F32_32X32X16_F16', 16, 4, 4, 'gfx950', also_a=False)
form('mfma_f8f6f4_fp8', '<d0:v4> = V_MFMA_F32_16X16X128_F8F6F4_f8_f8_vgprcd_e64 <u0:v8>, <u1:v8>, <u2:v4>, 0, 0' + ME, 'gfx950')
form('mfma_f8f6f4_fp4', '<d0:v4> = V_MFMA_F32_16X16X128_F8F6F4_f4_f4_vgprcd_e64 <u0:v4>, <u1:v4>, <u2:v4>, 4, 4' + ME, 'gfx950')
form('mfma_scale_fp8', '<d0:v16> = V_MFMA_SCALE_F32_32X32X64_F8F6F4_f8_f8_vgprcd_e64 <u0:v8>, <u1:v8>, <u2:v16>, 0, 0, <u3:v1>, <u4:v1>, 0, 0' + ME, 'gfx950')
form('smfmac_16x16_f16', '<d0:v4> = V_SMFMAC_F32_16X16X32_F16_e64 <u0:v2>, <u1:v4>, <u2:v1>, 0, 0, <=d0>' + ME, 'gfx942 gfx950')

# ---- memory
for n in 1, 2, 3, 4:
    w = '' if n == 1 else 'X%d' % n
    form('global_store_x%d' % n, 'GLOBAL_STORE_DWORD%s_SADDR <u0:v1>, <u1:v%d>, <u2:s2>, 0, 0%s' % (w, n, E))
    form('flat_store_x%d' % n, 'FLAT_STORE_DWORD%s <u0:v2>, <u1:v%d>, 0, 0, implicit $exec, implicit $flat_scr' % (w, n))
    form('buffer_store_x%d' % n, 'BUFFER_STORE_DWORD%s_OFFEN_exact <u0:v%d>, <u1:v1>, <u2:s4>, 0, 0, 0, 0%s' % (w, n, E))
    form('buffer_store_x%d_sgpr' % n, 'BUFFER_STORE_DWORD%s_OFFEN_exact <u0:v%d>, <u1:v1>, <u2:s4>, <u3:s1>, 0, 0, 0%s' % (w, n, E))
form('global_store_a', 'GLOBAL_STORE_DWORDX4_SADDR <u0:v1>, <u1:a4>, <u2:s2>, 0, 0' + E)
form('global_store_off', 'GLOBAL_STORE_DWORDX3 <u0:v2>, <u1:v3>, 0, 0' + E)
form('scratch_store_x4', 'SCRATCH_STORE_DWORDX4 <u0:v4>, <u1:v1>, 0, 0, implicit $exec, implicit $flat_scr')
form('scratch_store_x4_saddr', 'SCRATCH_STORE_DWORDX4_SADDR <u0:v4>, <u1:s1>, 0, 0, implicit $exec, implicit $flat_scr')
form('buffer_format_xyzw', 'BUFFER_STORE_FORMAT_XYZW_OFFEN_exact <u0:v4>, <u1:v1>, <u2:s4>, 0, 0, 0, 0' + E)
form('buffer_format_d16_xyzw', 'BUFFER_STORE_FORMAT_D16_XYZW_OFFEN_exact <u0:v2>, <u1:v1>, <u2:s4>, 0, 0, 0, 0' + E)
form('tbuffer_xyz', 'TBUFFER_STORE_FORMAT_XYZ_OFFEN_exact <u0:v3>, <u1:v1>, <u2:s4>, 0, 0, 77, 0, 0' + E)
form('global_cmpswap_x2', 'GLOBAL_ATOMIC_CMPSWAP_X2_SADDR <u0:v1>, <u1:v4>, <u2:s2>, 0, 0' + E)
form('global_cmpswap_x2_rtn', '<d0:v2> = GLOBAL_ATOMIC_CMPSWAP_X2_SADDR_RTN <u0:v1>, <u1:v4>, <u2:s2>, 0, 1' + E)
form('flat_cmpswap_x2', 'FLAT_ATOMIC_CMPSWAP_X2 <u0:v2>, <u1:v4>, 0, 0, implicit $exec, implicit $flat_scr')
form('buffer_cmpswap_x2', 'BUFFER_ATOMIC_CMPSWAP_X2_OFFEN <u0:v4>, <u1:v1>, <u2:s4>, 0, 0, 0' + E)
form('global_atomic_add', 'GLOBAL_ATOMIC_ADD_SADDR <u0:v1>, <u1:v1>, <u2:s2>, 0, 0' + E)
form('global_load', '<d0:v1> = GLOBAL_LOAD_DWORD_SADDR <u2:s2>, <u0:v1>, 0, 0' + E)
form('global_load_x4', '<d0:v4> = GLOBAL_LOAD_DWORDX4 <u0:v2>, 0, 0' + E)
form('global_load_a', '<d0:a4> = GLOBAL_LOAD_DWORDX4 <u0:v2>, 0, 0' + E)
form('global_load_d16', '<d0:v1> = GLOBAL_LOAD_SHORT_D16 <u0:v2>, 0, 0, <=d0>' + E)
form('buffer_load', '<d0:v1> = BUFFER_LOAD_DWORD_OFFEN <u1:v1>, <u2:s4>, <u3:s1>, 0, 0, 0' + E)
form('buffer_load_lds', 'BUFFER_LOAD_DWORD_LDS_OFFEN <u1:v1>, <u2:s4>, 0, 0, 0, 0' + E + ', implicit $m0')
form('global_load_lds', 'GLOBAL_LOAD_LDS_DWORD_SADDR <u2:s2>, <u0:v1>, 0, 0' + E + ', implicit $m0')
form('ds_read', '<d0:v1> = DS_READ_B32_gfx9 <u0:v1>, 0, 0' + E)
form('ds_read_b128', '<d0:v4> = DS_READ_B128_gfx9 <u0:v1>, 0, 0' + E)
form('ds_write', 'DS_WRITE_B32_gfx9 <u0:v1>, <u1:v1>, 0, 0' + E)
form('ds_write_b128', 'DS_WRITE_B128_gfx9 <u0:v1>, <u1:v4>, 0, 0' + E)
form('ds_write_a', 'DS_WRITE_B64_gfx9 <u0:v1>, <u1:a2>, 0, 0' + E)
form('ds_write_addtid', 'DS_WRITE_ADDTID_B32 <u0:v1>, 0, 0, implicit $m0' + E)
form('ds_bpermute', '<d0:v1> = DS_BPERMUTE_B32 <u0:v1>, <u1:v1>, 0' + E)
form('ds_swizzle', '<d0:v1> = DS_SWIZZLE_B32 <u0:v1>, 31, 0' + E)
form('ds_add', 'DS_ADD_U32_gfx9 <u0:v1>, <u1:v1>, 0, 0' + E)

form('flat_load', '<d0:v1> = FLAT_LOAD_DWORD <u0:v2>, 0, 0, implicit $exec, implicit $flat_scr')
form('scratch_load', '<d0:v1> = SCRATCH_LOAD_DWORD <u0:v1>, 0, 0, implicit $exec, implicit $flat_scr')
form('tbuffer_load', '<d0:v4> = TBUFFER_LOAD_FORMAT_XYZW_OFFEN <u1:v1>, <u2:s4>, 0, 0, 77, 0, 0' + E)
form('buffer_wbl2', 'BUFFER_WBL2 16' + E)
form('buffer_wbinvl1', 'BUFFER_WBINVL1_VOL' + ' implicit $exec', 'gfx90a')
form('buffer_inv', 'BUFFER_INV 16' + E, 'gfx942 gfx950')

# ---- scalar
form('s_mov', '<d0:s1> = S_MOV_B32 7')
form('s_mov_m0', '$m0 = S_MOV_B32 0')
form('s_add_m0', '$m0 = S_ADD_U32 <u0:s1>, 4, implicit-def $scc')
form('s_mov_vcc', '$vcc = S_MOV_B64 -1')
form('s_mov_exec', '$exec = S_MOV_B64 -1')
form('s_movrels', '<d0:s1> = S_MOVRELS_B32 <u0:s1>, implicit $m0')
form('s_setreg', 'S_SETREG_B32 <u0:s1>, 2177, implicit-def $mode, implicit $mode')
form('s_getreg_other', '<d0:s1> = S_GETREG_B32 2180, implicit $mode')
form('s_getreg', '<d0:s1> = S_GETREG_B32 2177, implicit $mode')
form('s_load', '<d0:s2> = S_LOAD_DWORDX2_IMM <u0:s2>, 0, 0')
form('s_memtime', '<d0:s2> = S_MEMTIME')
form('s_dcache_inv', 'S_DCACHE_INV')
form('s_dcache_wb', 'S_DCACHE_WB')
form('s_sendmsg', 'S_SENDMSG 1, implicit $exec, implicit $m0')
form('s_sendmsg_trace', 'S_SENDMSG 10, implicit $exec, implicit $m0')

OPERAND = re.compile(r'<(=?)(\w\d)(?::([vas])(\d+))?>')


def operands(text):
    """[(name, letter, width)]"""
    return [(m[2], m[3], int(m[4])) for m in OPERAND.finditer(text) if not m[1]]


def spell(letter, first, width):
    one = {'v': 'vgpr', 'a': 'agpr', 's': 'sgpr'}[letter]
    return '$' + '_'.join('%s%d' % (one, first + k) for k in range(width))


def fill(text, place):
    """`place`: operand -> first register."""
    classes = {name: (letter, width) for name, letter, width in operands(text)}
    return OPERAND.sub(lambda m: spell(classes[m[2]][0], place[m[2]], classes[m[2]][1]), text)
