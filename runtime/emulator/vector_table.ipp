// One line an instruction. F/U/S/H: f32, 32-bit, 16-bit integer, f16; the digit counts sources; X is anything else.
// clang-format off

// ---- moves and bits
{"v_mov_b32", Type::b32, {Type::b32}, no_flush, [](A& a) { map1(a, [](u32 x) { return x; }); }},
{"v_accvgpr_read_b32", Type::b32, {Type::b32}, no_flush, [](A& a) { map1(a, [](u32 x) { return x; }); }},
{"v_accvgpr_write_b32", Type::b32, {Type::b32}, no_flush, [](A& a) { map1(a, [](u32 x) { return x; }); }},
{"v_accvgpr_mov_b32", Type::b32, {Type::b32}, no_flush, [](A& a) { map1(a, [](u32 x) { return x; }); }},
X(mov_b64, b64, b64, none, none, no_flush, put(a.d, l, WX)),
{"v_cndmask_b32", Type::b32, {Type::b32, Type::b32}, reads_mask | no_flush, [](A& a) {
   for (unsigned l = 0; l < lane_count; ++l) { a.d[l] = ((a.mask_in >> l) & 1U) != 0 ? a.s[1][l] : a.s[0][l]; }
 }},
U1(not_b32, ~x), U1(bfrev_b32, reverse(x)),
U1(ffbh_u32, x == 0 ? 0xffffffffU : static_cast<u32>(std::countl_zero(x))),
U1(ffbl_b32, x == 0 ? 0xffffffffU : static_cast<u32>(std::countr_zero(x))),
U1(ffbh_i32, x == 0 || x == 0xffffffffU ? 0xffffffffU : static_cast<u32>(std::countl_zero(static_cast<i32>(x) < 0 ? ~x : x))),
U2(and_b32, x & y), U2(or_b32, x | y), U2(xor_b32, x ^ y), U2(xnor_b32, ~(x ^ y)),
U2(lshlrev_b32, y << (x & 31)), U2(lshrrev_b32, y >> (x & 31)), U2(ashrrev_i32, static_cast<u32>(static_cast<i32>(y) >> (x & 31))),
X(lshlrev_b64, b64, b32, b64, none, 0, put(a.d, l, WY << (SX & 63))),
X(lshrrev_b64, b64, b32, b64, none, 0, put(a.d, l, WY >> (SX & 63))),
X(ashrrev_i64, b64, b32, b64, none, 0, put(a.d, l, static_cast<u64>(static_cast<i64>(WY) >> (SX & 63)))),
U2(bfm_b32, ((1U << (x & 31)) - 1) << (y & 31)),
U2(bcnt_u32_b32, static_cast<u32>(std::popcount(x)) + y),
X(mbcnt_lo_u32_b32, b32, b32, b32, none, 0, a.d[l] = SY + static_cast<u32>(std::popcount(SX & static_cast<u32>(l >= 32 ? 0xffffffffU : (1U << l) - 1)))),
X(mbcnt_hi_u32_b32, b32, b32, b32, none, 0, a.d[l] = SY + static_cast<u32>(std::popcount(SX & (l <= 32 ? 0U : (1U << (l - 32)) - 1)))),
U3(bfe_u32, bfe_u32(x, y, z)), U3(bfe_i32, bfe_i32(x, y, z)), U3(bfi_b32, (x & y) | (~x & z)),
U3(alignbit_b32, static_cast<u32>(((u64{x} << 32) | y) >> (z & 31))),
U3(alignbyte_b32, static_cast<u32>(((u64{x} << 32) | y) >> (8 * (z & 3)))),
U3(perm_b32, perm_b32(x, y, z)),
U3(lshl_add_u32, (x << (y & 31)) + z), U3(add_lshl_u32, (x + y) << (z & 31)), U3(add3_u32, x + y + z),
U3(lshl_or_b32, (x << (y & 31)) | z), U3(and_or_b32, (x & y) | z), U3(or3_b32, x | y | z), U3(xad_u32, (x ^ y) + z),
X(lshl_add_u64, b64, b64, b32, b64, 0, put(a.d, l, (WX << (SY & 7)) + WZ)),
{"v_bitop3_b32", Type::b32, {Type::b32, Type::b32, Type::b32}, 0, [](A& a) {
   const u32 t = a.truth;
   map3(a, [t](u32 x, u32 y, u32 z) {
     u32 r = 0;
     for (unsigned i = 0; i < 8; ++i) { r |= ((t >> i) & 1U) != 0 ? ((i & 4U) != 0 ? x : ~x) & ((i & 2U) != 0 ? y : ~y) & ((i & 1U) != 0 ? z : ~z) : 0U; }
     return r;
   });
 }},
{"v_bitop3_b16", Type::b16, {Type::b16, Type::b16, Type::b16}, 0, [](A& a) {
   const u32 t = a.truth;
   map3(a, [t](u32 x, u32 y, u32 z) {
     u32 r = 0;
     for (unsigned i = 0; i < 8; ++i) { r |= ((t >> i) & 1U) != 0 ? ((i & 4U) != 0 ? x : ~x) & ((i & 2U) != 0 ? y : ~y) & ((i & 1U) != 0 ? z : ~z) : 0U; }
     return r & 0xffffU;
   });
 }},

// ---- 32-bit integers
X(add_u32, b32, b32, b32, none, integer_clamp, const u32 r = SX + SY; a.d[l] = a.clamp && r < SX ? 0xffffffffU : r),
X(sub_u32, b32, b32, b32, none, integer_clamp, a.d[l] = a.clamp && SY > SX ? 0U : SX - SY),
X(subrev_u32, b32, b32, b32, none, integer_clamp, a.d[l] = a.clamp && SX > SY ? 0U : SY - SX),
X(add_i32, b32, b32, b32, none, integer_clamp, a.d[l] = a.clamp ? clamp_i32(i64{static_cast<i32>(SX)} + static_cast<i32>(SY)) : SX + SY),
X(sub_i32, b32, b32, b32, none, integer_clamp, a.d[l] = a.clamp ? clamp_i32(i64{static_cast<i32>(SX)} - static_cast<i32>(SY)) : SX - SY),
{"v_add_co_u32", Type::b32, {Type::b32, Type::b32}, carry_out | integer_clamp, carry_chain<false, false, false>},
{"v_sub_co_u32", Type::b32, {Type::b32, Type::b32}, carry_out | integer_clamp, carry_chain<true, false, false>},
{"v_subrev_co_u32", Type::b32, {Type::b32, Type::b32}, carry_out | integer_clamp, carry_chain<true, true, false>},
{"v_addc_co_u32", Type::b32, {Type::b32, Type::b32}, carry_out | reads_mask | integer_clamp, carry_chain<false, false, true>},
{"v_subb_co_u32", Type::b32, {Type::b32, Type::b32}, carry_out | reads_mask | integer_clamp, carry_chain<true, false, true>},
{"v_subbrev_co_u32", Type::b32, {Type::b32, Type::b32}, carry_out | reads_mask | integer_clamp, carry_chain<true, true, true>},
U2(mul_lo_u32, x * y), U2(mul_hi_u32, static_cast<u32>((u64{x} * y) >> 32)),
U2(mul_hi_i32, static_cast<u32>((i64{static_cast<i32>(x)} * static_cast<i32>(y)) >> 32)),
U2(mul_i32_i24, static_cast<u32>(sext24(x)) * static_cast<u32>(sext24(y))),
U2(mul_hi_i32_i24, static_cast<u32>((i64{sext24(x)} * sext24(y)) >> 32)),
U2(mul_u32_u24, (x & 0xffffffU) * (y & 0xffffffU)),
U2(mul_hi_u32_u24, static_cast<u32>((u64{x & 0xffffffU} * (y & 0xffffffU)) >> 32)),
X(mad_i32_i24, b32, b32, b32, b32, integer_clamp, const i64 r = i64{sext24(SX)} * sext24(SY) + static_cast<i32>(SZ); a.d[l] = a.clamp ? clamp_i32(r) : static_cast<u32>(r)),
X(mad_u32_u24, b32, b32, b32, b32, integer_clamp, const u64 r = u64{SX & 0xffffffU} * (SY & 0xffffffU) + SZ; a.d[l] = a.clamp && r > 0xffffffffU ? 0xffffffffU : static_cast<u32>(r)),
{"v_mad_u64_u32", Type::b64, {Type::b32, Type::b32, Type::b64}, carry_out | integer_clamp, [](A& a) {
   u64 out = 0;
   for (unsigned l = 0; l < lane_count; ++l) {
     const u64 z = WZ;
     const u64 r = u64{SX} * SY + z;
     out |= u64{r < z ? 1U : 0U} << l;
     put(a.d, l, a.clamp && r < z ? ~u64{0} : r);
   }
   a.mask_out = out;
 }},
{"v_mad_i64_i32", Type::b64, {Type::b32, Type::b32, Type::b64}, carry_out | integer_clamp, [](A& a) {
   u64 out = 0;
   for (unsigned l = 0; l < lane_count; ++l) {
     const __int128 r = static_cast<__int128>(i64{static_cast<i32>(SX)} * static_cast<i32>(SY)) + static_cast<i64>(WZ);
     const bool over = r != static_cast<i64>(r);
     out |= u64{over ? 1U : 0U} << l;
     put(a.d, l, a.clamp && over ? (r < 0 ? u64{1} << 63 : ~(u64{1} << 63)) : static_cast<u64>(r));
   }
   a.mask_out = out;
 }},
U2(min_i32, static_cast<i32>(x) < static_cast<i32>(y) ? x : y), U2(max_i32, static_cast<i32>(x) > static_cast<i32>(y) ? x : y),
U2(min_u32, x < y ? x : y), U2(max_u32, x > y ? x : y),
U3(min3_i32, static_cast<u32>(std::min(std::min(static_cast<i32>(x), static_cast<i32>(y)), static_cast<i32>(z)))),
U3(max3_i32, static_cast<u32>(std::max(std::max(static_cast<i32>(x), static_cast<i32>(y)), static_cast<i32>(z)))),
U3(med3_i32, static_cast<u32>(std::max(std::min(static_cast<i32>(x), static_cast<i32>(y)), std::min(std::max(static_cast<i32>(x), static_cast<i32>(y)), static_cast<i32>(z))))),
U3(min3_u32, std::min(std::min(x, y), z)), U3(max3_u32, std::max(std::max(x, y), z)),
U3(med3_u32, std::max(std::min(x, y), std::min(std::max(x, y), z))),
U3(sad_u8, sad_u8(x, y, z, false)), U3(msad_u8, sad_u8(x, y, z, true)), U3(sad_hi_u8, (sad_u8(x, y, 0, false) << 16) + z),
U3(sad_u16, difference(x & 0xffff, y & 0xffff) + difference(x >> 16, y >> 16) + z), U3(sad_u32, difference(x, y) + z),
X(qsad_pk_u16_u8, b64, b64, b32, b64, 0, u64 r = 0; for (unsigned i = 0; i < 4; ++i) { r |= u64{(sad_u8(static_cast<u32>(WX >> (8 * i)), SY, static_cast<u32>((WZ >> (16 * i)) & 0xffff), false)) & 0xffff} << (16 * i); } put(a.d, l, r)),
X(mqsad_pk_u16_u8, b64, b64, b32, b64, 0, u64 r = 0; for (unsigned i = 0; i < 4; ++i) { r |= u64{(sad_u8(static_cast<u32>(WX >> (8 * i)), SY, static_cast<u32>((WZ >> (16 * i)) & 0xffff), true)) & 0xffff} << (16 * i); } put(a.d, l, r)),
U3(lerp_u8, [=] { u32 r = 0; for (unsigned i = 0; i < 4; ++i) { r |= ((byte_of(x, i) + byte_of(y, i) + (byte_of(z, i) & 1U)) >> 1) << (8 * i); } return r; }()),

// ---- 16-bit integers
{"v_add_u16", Type::b16, {Type::b16, Type::b16}, integer_clamp, [](A& a) { map2(a, [c = a.clamp](u32 x, u32 y) { const i32 r = static_cast<i32>((x & 0xffff) + (y & 0xffff)); return c ? clamp_u16(r) : static_cast<u32>(r) & 0xffff; }); }},
{"v_sub_u16", Type::b16, {Type::b16, Type::b16}, integer_clamp, [](A& a) { map2(a, [c = a.clamp](u32 x, u32 y) { const i32 r = static_cast<i32>(x & 0xffff) - static_cast<i32>(y & 0xffff); return c ? clamp_u16(r) : static_cast<u32>(r) & 0xffff; }); }},
{"v_subrev_u16", Type::b16, {Type::b16, Type::b16}, integer_clamp, [](A& a) { map2(a, [c = a.clamp](u32 x, u32 y) { const i32 r = static_cast<i32>(y & 0xffff) - static_cast<i32>(x & 0xffff); return c ? clamp_u16(r) : static_cast<u32>(r) & 0xffff; }); }},
{"v_add_i16", Type::b16, {Type::b16, Type::b16}, integer_clamp | keeps_high, [](A& a) { map2(a, [c = a.clamp](u32 x, u32 y) { const i32 r = s16(x) + s16(y); return c ? clamp_i16(r) : static_cast<u32>(r) & 0xffff; }); }},
{"v_sub_i16", Type::b16, {Type::b16, Type::b16}, integer_clamp | keeps_high, [](A& a) { map2(a, [c = a.clamp](u32 x, u32 y) { const i32 r = s16(x) - s16(y); return c ? clamp_i16(r) : static_cast<u32>(r) & 0xffff; }); }},
S2(mul_lo_u16, x * y), S2(lshlrev_b16, y << (x & 15)), S2(lshrrev_b16, (y & 0xffff) >> (x & 15)), S2(ashrrev_i16, static_cast<u32>(s16(y) >> (x & 15))),
S2(max_u16, std::max(x & 0xffff, y & 0xffff)), S2(min_u16, std::min(x & 0xffff, y & 0xffff)),
S2(max_i16, static_cast<u32>(std::max(s16(x), s16(y)))), S2(min_i16, static_cast<u32>(std::min(s16(x), s16(y)))),
X(mad_u16, b16, b16, b16, b16, integer_clamp | keeps_high, const u32 r = (SX & 0xffff) * (SY & 0xffff) + (SZ & 0xffff); a.d[l] = a.clamp && r > 0xffff ? 0xffffU : r & 0xffff),
X(mad_i16, b16, b16, b16, b16, integer_clamp | keeps_high, const i32 r = s16(SX) * s16(SY) + s16(SZ); a.d[l] = a.clamp ? clamp_i16(r) : static_cast<u32>(r) & 0xffff),
// The legacy forms differ in clearing the high half.
X(mad_legacy_u16, b16, b16, b16, b16, integer_clamp, const u32 r = (SX & 0xffff) * (SY & 0xffff) + (SZ & 0xffff); a.d[l] = a.clamp && r > 0xffff ? 0xffffU : r & 0xffff),
X(mad_legacy_i16, b16, b16, b16, b16, integer_clamp, const i32 r = s16(SX) * s16(SY) + s16(SZ); a.d[l] = a.clamp ? clamp_i16(r) : static_cast<u32>(r) & 0xffff),
X(mad_u32_u16, b32, b16, b16, b32, integer_clamp, const u64 r = u64{SX & 0xffff} * (SY & 0xffff) + SZ; a.d[l] = a.clamp && r > 0xffffffffU ? 0xffffffffU : static_cast<u32>(r)),
X(mad_i32_i16, b32, b16, b16, b32, integer_clamp, const i64 r = i64{s16(SX) * s16(SY)} + static_cast<i32>(SZ); a.d[l] = a.clamp ? clamp_i32(r) : static_cast<u32>(r)),
X(min3_i16, b16, b16, b16, b16, keeps_high, a.d[l] = static_cast<u32>(std::min(std::min(s16(SX), s16(SY)), s16(SZ))) & 0xffff),
X(max3_i16, b16, b16, b16, b16, keeps_high, a.d[l] = static_cast<u32>(std::max(std::max(s16(SX), s16(SY)), s16(SZ))) & 0xffff),
X(med3_i16, b16, b16, b16, b16, keeps_high, a.d[l] = static_cast<u32>(std::max(std::min(s16(SX), s16(SY)), std::min(std::max(s16(SX), s16(SY)), s16(SZ)))) & 0xffff),
X(min3_u16, b16, b16, b16, b16, keeps_high, a.d[l] = std::min(std::min(SX & 0xffff, SY & 0xffff), SZ & 0xffff)),
X(max3_u16, b16, b16, b16, b16, keeps_high, a.d[l] = std::max(std::max(SX & 0xffff, SY & 0xffff), SZ & 0xffff)),
X(med3_u16, b16, b16, b16, b16, keeps_high, const u32 x = SX & 0xffff; const u32 y = SY & 0xffff; a.d[l] = std::max(std::min(x, y), std::min(std::max(x, y), SZ & 0xffff))),
X(pack_b32_f16, b32, f16, f16, none, no_flush, a.d[l] = (SX & 0xffff) | (SY << 16)),
U1(sat_pk_u8_i16, (static_cast<u32>(std::clamp(s16(x), 0, 255))) | (static_cast<u32>(std::clamp(s16(x >> 16), 0, 255)) << 8)),

// ---- f32
F2(add_f32, x + y), F2(sub_f32, x - y), F2(subrev_f32, y - x), F2(mul_f32, x * y), F2(mul_legacy_f32, multiply_legacy(x, y)),
X(min_f32, f32, f32, f32, none, 0, a.d[l] = min_f32(SX, SY, ieee(a))), X(max_f32, f32, f32, f32, none, 0, a.d[l] = max_f32(SX, SY, ieee(a))),
X(min3_f32, f32, f32, f32, f32, 0, a.d[l] = min_f32(min_f32(SX, SY, ieee(a)), SZ, ieee(a))),
X(max3_f32, f32, f32, f32, f32, 0, a.d[l] = max_f32(max_f32(SX, SY, ieee(a)), SZ, ieee(a))),
X(med3_f32, f32, f32, f32, f32, 0, a.d[l] = med3_f32(SX, SY, SZ, ieee(a))),
X(minimum3_f32, f32, f32, f32, f32, 0, a.d[l] = minimum_f32(minimum_f32(SX, SY), SZ)),
X(maximum3_f32, f32, f32, f32, f32, 0, a.d[l] = maximum_f32(maximum_f32(SX, SY), SZ)),
{"v_fma_f32", Type::f32, {Type::f32, Type::f32, Type::f32}, 0, [](A& a) { float3(a, [](float x, float y, float z) { return __builtin_fmaf(x, y, z); }); }},
{"v_fmac_f32", Type::f32, {Type::f32, Type::f32, Type::f32}, reads_destination, [](A& a) { float3(a, [](float x, float y, float z) { return __builtin_fmaf(x, y, z); }); }},
{"v_fmamk_f32", Type::f32, {Type::f32, Type::f32, Type::f32}, three_in_two, [](A& a) { float3(a, [](float x, float k, float y) { return __builtin_fmaf(x, k, y); }); }},
{"v_fmaak_f32", Type::f32, {Type::f32, Type::f32, Type::f32}, three_in_two, [](A& a) { float3(a, [](float x, float y, float k) { return __builtin_fmaf(x, y, k); }); }},
{"v_mad_f32", Type::f32, {Type::f32, Type::f32, Type::f32}, flushes_always, [](A& a) { float3(a, [](float x, float y, float z) { const float p = x * y; return p + z; }); }},
{"v_mac_f32", Type::f32, {Type::f32, Type::f32, Type::f32}, flushes_always | reads_destination, [](A& a) { float3(a, [](float x, float y, float z) { const float p = x * y; return p + z; }); }},
{"v_madmk_f32", Type::f32, {Type::f32, Type::f32, Type::f32}, flushes_always | three_in_two, [](A& a) { float3(a, [](float x, float k, float y) { const float p = x * k; return p + y; }); }},
{"v_madak_f32", Type::f32, {Type::f32, Type::f32, Type::f32}, flushes_always | three_in_two, [](A& a) { float3(a, [](float x, float y, float k) { const float p = x * y; return p + k; }); }},
X(mad_legacy_f32, f32, f32, f32, f32, flushes_always, a.d[l] = bits(multiply_legacy(f32(SX), f32(SY)) + f32(SZ))),
F1(trunc_f32, std::trunc(x)), F1(ceil_f32, std::ceil(x)), F1(rndne_f32, std::nearbyint(x)), F1(floor_f32, std::floor(x)), F1(fract_f32, fract_f32(x)),
{"v_exp_f32", Type::f32, {Type::f32}, flushes_always, [](A& a) { float1(a, [](float x) { return exp2_f32(x); }); }},
{"v_exp_legacy_f32", Type::f32, {Type::f32}, flushes_always, [](A& a) { float1(a, [](float x) { return exp2_f32(x); }); }},
{"v_log_f32", Type::f32, {Type::f32}, flushes_always, [](A& a) { float1(a, [](float x) { return log2_f32(x); }); }},
{"v_log_legacy_f32", Type::f32, {Type::f32}, flushes_always, [](A& a) { float1(a, [](float x) { return log2_f32(x); }); }},
{"v_rcp_f32", Type::f32, {Type::f32}, flushes_always, [](A& a) { float1(a, [](float x) { return 1.0F / x; }); }},
{"v_rcp_iflag_f32", Type::f32, {Type::f32}, flushes_always, [](A& a) { float1(a, [](float x) { return 1.0F / x; }); }},
{"v_rsq_f32", Type::f32, {Type::f32}, flushes_always, [](A& a) { map1(a, [](u32 x) { return f32(x) == 0.0F ? (x & 0x80000000U) | 0x7f800000U : bits(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(f32(x))))); }); }},
{"v_sqrt_f32", Type::f32, {Type::f32}, flushes_always, [](A& a) { float1(a, [](float x) { return __builtin_sqrtf(x); }); }},
X(sin_f32, f32, f32, none, none, flushes_always, a.d[l] = bits(sine(f32(SX)))),
X(cos_f32, f32, f32, none, none, flushes_always, a.d[l] = bits(cosine(f32(SX)))),
X(frexp_exp_i32_f32, b32, f32, none, none, 0, a.d[l] = static_cast<u32>(frexp_exponent(static_cast<double>(f32(SX))))),
X(frexp_mant_f32, f32, f32, none, none, 0, a.d[l] = bits(static_cast<float>(frexp_mantissa(static_cast<double>(f32(SX)))))),
X(ldexp_f32, f32, f32, b32, none, 0, a.d[l] = ldexp_f32(SX, SY)),
{"v_div_scale_f32", Type::f32, {Type::f32, Type::f32, Type::f32}, carry_out | no_flush, [](A& a) {
   u64 out = 0;
   for (unsigned l = 0; l < lane_count; ++l) { bool c = false; a.d[l] = div_scale_f32(SX, SY, SZ, c); out |= u64{c ? 1U : 0U} << l; }
   a.mask_out = out;
 }},
X(div_fmas_f32, f32, f32, f32, f32, reads_vcc, a.d[l] = div_fmas_f32(SX, SY, SZ, ((a.mask_in >> l) & 1U) != 0)),
X(div_fixup_f32, f32, f32, f32, f32, 0, a.d[l] = div_fixup_f32(SX, SY, SZ)),
X(cubeid_f32, f32, f32, f32, f32, 0, const float x = f32(SX); const float y = f32(SY); const float z = f32(SZ); a.d[l] = bits(std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y) ? (z < 0 ? 5.0F : 4.0F) : std::fabs(y) >= std::fabs(x) ? (y < 0 ? 3.0F : 2.0F) : (x < 0 ? 1.0F : 0.0F))),
X(cubema_f32, f32, f32, f32, f32, 0, const float x = f32(SX); const float y = f32(SY); const float z = f32(SZ); a.d[l] = bits(2.0F * (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y) ? z : std::fabs(y) >= std::fabs(x) ? y : x))),
X(cubesc_f32, f32, f32, f32, f32, 0, const float x = f32(SX); const float y = f32(SY); const float z = f32(SZ); a.d[l] = bits(std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y) ? (z < 0 ? -x : x) : std::fabs(y) >= std::fabs(x) ? x : (x < 0 ? z : -z))),
X(cubetc_f32, f32, f32, f32, f32, 0, const float x = f32(SX); const float y = f32(SY); const float z = f32(SZ); a.d[l] = bits(std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y) ? -y : std::fabs(y) >= std::fabs(x) ? (y < 0 ? -z : z) : -y)),

// ---- f64
{"v_add_f64", Type::f64, {Type::f64, Type::f64}, 0, [](A& a) { double2(a, [](double x, double y) { return x + y; }); }},
{"v_mul_f64", Type::f64, {Type::f64, Type::f64}, 0, [](A& a) { double2(a, [](double x, double y) { return x * y; }); }},
X(min_f64, f64, f64, f64, none, 0, put(a.d, l, min_f64(WX, WY, ieee(a)))), X(max_f64, f64, f64, f64, none, 0, put(a.d, l, max_f64(WX, WY, ieee(a)))),
X(fma_f64, f64, f64, f64, f64, 0, put(a.d, l, bits(__builtin_fma(f64(WX), f64(WY), f64(WZ))))),
X(fmac_f64, f64, f64, f64, f64, reads_destination, put(a.d, l, bits(__builtin_fma(f64(WX), f64(WY), f64(WZ))))),
{"v_trunc_f64", Type::f64, {Type::f64}, 0, [](A& a) { double1(a, [](double x) { return std::trunc(x); }); }},
{"v_ceil_f64", Type::f64, {Type::f64}, 0, [](A& a) { double1(a, [](double x) { return std::ceil(x); }); }},
{"v_rndne_f64", Type::f64, {Type::f64}, 0, [](A& a) { double1(a, [](double x) { return std::nearbyint(x); }); }},
{"v_floor_f64", Type::f64, {Type::f64}, 0, [](A& a) { double1(a, [](double x) { return std::floor(x); }); }},
{"v_fract_f64", Type::f64, {Type::f64}, 0, [](A& a) { double1(a, [](double x) { return fract_f64(x); }); }},
{"v_rcp_f64", Type::f64, {Type::f64}, 0, [](A& a) { double1(a, [](double x) { return 1.0 / x; }); }},
X(rsq_f64, f64, f64, none, none, 0, const double x = f64(WX); put(a.d, l, x == 0 ? (WX & (u64{1} << 63)) | 0x7ff0000000000000ULL : bits(1.0 / std::sqrt(x)))),
{"v_sqrt_f64", Type::f64, {Type::f64}, 0, [](A& a) { double1(a, [](double x) { return __builtin_sqrt(x); }); }},
X(frexp_exp_i32_f64, b32, f64, none, none, 0, a.d[l] = static_cast<u32>(frexp_exponent(f64(WX)))),
X(frexp_mant_f64, f64, f64, none, none, 0, put(a.d, l, bits(frexp_mantissa(f64(WX))))),
X(ldexp_f64, f64, f64, b32, none, 0, const i32 n = static_cast<i32>(SY); put(a.d, l, bits(std::ldexp(f64(WX), n > 3000 ? 3000 : n < -3000 ? -3000 : n)))),
{"v_div_scale_f64", Type::f64, {Type::f64, Type::f64, Type::f64}, carry_out | no_flush, [](A& a) {
   u64 out = 0;
   for (unsigned l = 0; l < lane_count; ++l) { bool c = false; put(a.d, l, div_scale_f64(WX, WY, WZ, c)); out |= u64{c ? 1U : 0U} << l; }
   a.mask_out = out;
 }},
X(div_fmas_f64, f64, f64, f64, f64, reads_vcc, put(a.d, l, div_fmas_f64(WX, WY, WZ, ((a.mask_in >> l) & 1U) != 0))),
X(trig_preop_f64, f64, f64, b32, none, 0, put(a.d, l, bits(numerics::trig_preop(f64(WX), SY)))),
X(div_fixup_f64, f64, f64, f64, f64, 0, put(a.d, l, div_fixup_f64(WX, WY, WZ))),

// ---- f16
H2(add_f16, x + y), H2(sub_f16, x - y), H2(subrev_f16, y - x), H2(mul_f16, x * y),
X(min_f16, f16, f16, f16, none, 0, a.d[l] = min_f16(SX, SY, ieee(a))), X(max_f16, f16, f16, f16, none, 0, a.d[l] = max_f16(SX, SY, ieee(a))),
X(min3_f16, f16, f16, f16, f16, keeps_high, a.d[l] = min_f16(min_f16(SX, SY, ieee(a)), SZ, ieee(a))),
X(max3_f16, f16, f16, f16, f16, keeps_high, a.d[l] = max_f16(max_f16(SX, SY, ieee(a)), SZ, ieee(a))),
X(med3_f16, f16, f16, f16, f16, keeps_high, a.d[l] = med3_f16(SX, SY, SZ, ieee(a))),
X(fma_f16, f16, f16, f16, f16, keeps_high, a.d[l] = fma_f16(SX, SY, SZ)),
X(fmac_f16, f16, f16, f16, f16, keeps_high | reads_destination, a.d[l] = fma_f16(SX, SY, SZ)),
X(mac_f16, f16, f16, f16, f16, keeps_high | reads_destination, a.d[l] = to_f16(f16(to_f16(f16(SX) * f16(SY))) + f16(SZ))),
X(mad_f16, f16, f16, f16, f16, keeps_high, a.d[l] = to_f16(f16(to_f16(f16(SX) * f16(SY))) + f16(SZ))),
H1(trunc_f16, std::trunc(x)), H1(ceil_f16, std::ceil(x)), H1(rndne_f16, std::nearbyint(x)), H1(floor_f16, std::floor(x)),
X(fract_f16, f16, f16, none, none, 0, const u32 r = to_f16(f16(SX) - std::floor(f16(SX))); a.d[l] = r == 0x3c00U ? 0x3bffU : r),
H1(rcp_f16, 1.0F / x), H1(sqrt_f16, __builtin_sqrtf(x)),
X(rsq_f16, f16, f16, none, none, 0, const float x = f16(SX); a.d[l] = x == 0 ? (SX & 0x8000U) | 0x7c00U : to_f16(1.0 / std::sqrt(static_cast<double>(x)))),
X(exp_f16, f16, f16, none, none, 0, a.d[l] = to_f16(std::exp2(static_cast<double>(f16(SX))))),
X(log_f16, f16, f16, none, none, 0, a.d[l] = to_f16(std::log2(static_cast<double>(f16(SX))))),
X(sin_f16, f16, f16, none, none, 0, a.d[l] = to_f16(sine(f16(SX)))), X(cos_f16, f16, f16, none, none, 0, a.d[l] = to_f16(cosine(f16(SX)))),
X(frexp_mant_f16, f16, f16, none, none, 0, a.d[l] = to_f16(static_cast<float>(frexp_mantissa(static_cast<double>(f16(SX)))))),
X(frexp_exp_i16_f16, b16, f16, none, none, 0, a.d[l] = static_cast<u32>(frexp_exponent(static_cast<double>(f16(SX)))) & 0xffff),
X(ldexp_f16, f16, f16, b16, none, 0, a.d[l] = to_f16(std::ldexp(static_cast<double>(f16(SX)), s16(SY) > 100 ? 100 : s16(SY) < -100 ? -100 : s16(SY)))),
X(mad_legacy_f16, f16, f16, f16, f16, 0, a.d[l] = to_f16(f16(to_f16(f16(SX) * f16(SY))) + f16(SZ))),
X(fma_legacy_f16, f16, f16, f16, f16, 0, a.d[l] = fma_f16(SX, SY, SZ)),
X(div_fixup_legacy_f16, f16, f16, f16, f16, 0, a.d[l] = div_fixup_f16(SX, SY, SZ)),
X(madak_f16, f16, f16, f16, f16, keeps_high | three_in_two, a.d[l] = to_f16(f16(to_f16(f16(SX) * f16(SY))) + f16(SZ))),
X(madmk_f16, f16, f16, f16, f16, keeps_high | three_in_two, a.d[l] = to_f16(f16(to_f16(f16(SX) * f16(SY))) + f16(SZ))),
X(div_fixup_f16, f16, f16, f16, f16, keeps_high, a.d[l] = div_fixup_f16(SX, SY, SZ)),

// ---- conversions
X(cvt_f32_i32, f32, b32, none, none, 0, a.d[l] = bits(static_cast<float>(static_cast<i32>(SX)))),
X(cvt_f32_u32, f32, b32, none, none, 0, a.d[l] = bits(static_cast<float>(SX))),
X(cvt_i32_f32, b32, f32, none, none, 0, a.d[l] = f32_to_i32(f32(SX))), X(cvt_u32_f32, b32, f32, none, none, 0, a.d[l] = f32_to_u32(f32(SX))),
X(cvt_rpi_i32_f32, b32, f32, none, none, 0, a.d[l] = f32_to_i32(static_cast<float>(std::floor(static_cast<double>(f32(SX)) + 0.5)))),
X(cvt_flr_i32_f32, b32, f32, none, none, 0, a.d[l] = f32_to_i32(std::floor(f32(SX)))),
X(cvt_off_f32_i4, f32, b32, none, none, 0, a.d[l] = bits(static_cast<float>(static_cast<i32>(SX << 28) >> 28) / 16.0F)),
X(cvt_f16_f32, f16, f32, none, none, 0, a.d[l] = narrow(NumericFormat::f16, f32(SX), numerics::Rounding::nearest_even, ((a.mode >> 23) & 1U) != 0 ? numerics::Overflow::saturate : numerics::Overflow::special)),
X(cvt_f32_f16, f32, f16, none, none, 0, a.d[l] = bits(f16(SX))),
X(cvt_f32_bf16, f32, b16, none, none, 0, a.d[l] = SX << 16),
X(cvt_f32_f64, f32, f64, none, none, 0, a.d[l] = bits(static_cast<float>(f64(WX)))),
X(cvt_f64_f32, f64, f32, none, none, 0, put(a.d, l, bits(static_cast<double>(f32(SX))))),
X(cvt_f64_i32, f64, b32, none, none, 0, put(a.d, l, bits(static_cast<double>(static_cast<i32>(SX))))),
X(cvt_f64_u32, f64, b32, none, none, 0, put(a.d, l, bits(static_cast<double>(SX)))),
X(cvt_i32_f64, b32, f64, none, none, 0, a.d[l] = static_cast<u32>(saturating<i32>(f64(WX)))),
X(cvt_u32_f64, b32, f64, none, none, 0, a.d[l] = saturating<u32>(f64(WX))),
X(cvt_f32_ubyte0, f32, b32, none, none, 0, a.d[l] = bits(static_cast<float>(byte_of(SX, 0)))),
X(cvt_f32_ubyte1, f32, b32, none, none, 0, a.d[l] = bits(static_cast<float>(byte_of(SX, 1)))),
X(cvt_f32_ubyte2, f32, b32, none, none, 0, a.d[l] = bits(static_cast<float>(byte_of(SX, 2)))),
X(cvt_f32_ubyte3, f32, b32, none, none, 0, a.d[l] = bits(static_cast<float>(byte_of(SX, 3)))),
X(cvt_f16_u16, f16, b16, none, none, 0, a.d[l] = to_f16(static_cast<float>(SX & 0xffff))), X(cvt_f16_i16, f16, b16, none, none, 0, a.d[l] = to_f16(static_cast<float>(s16(SX)))),
X(cvt_u16_f16, b16, f16, none, none, 0, a.d[l] = saturating<u16>(f16(SX))), X(cvt_i16_f16, b16, f16, none, none, 0, a.d[l] = static_cast<u32>(saturating<i16>(f16(SX))) & 0xffff),
X(cvt_norm_i16_f16, b16, f16, none, none, 0, a.d[l] = snorm(f16(SX))),
X(cvt_norm_u16_f16, b16, f16, none, none, 0, a.d[l] = unorm(f16(SX))),
X(cvt_pknorm_i16_f32, b32, f32, f32, none, 0, a.d[l] = snorm(f32(SX)) | (snorm(f32(SY)) << 16)),
X(cvt_pknorm_u16_f32, b32, f32, f32, none, 0, a.d[l] = unorm(f32(SX)) | (unorm(f32(SY)) << 16)),
X(cvt_pknorm_i16_f16, b32, f16, f16, none, 0, a.d[l] = snorm(f16(SX)) | (snorm(f16(SY)) << 16)),
X(cvt_pknorm_u16_f16, b32, f16, f16, none, 0, a.d[l] = unorm(f16(SX)) | (unorm(f16(SY)) << 16)),
X(cvt_pkrtz_f16_f32, b32, f32, f32, none, 0, a.d[l] = narrow<NumericFormat::f16>(f32(SX), numerics::Rounding::toward_zero) | (narrow<NumericFormat::f16>(f32(SY), numerics::Rounding::toward_zero) << 16)),
U2(cvt_pk_u16_u32, std::min(x, 0xffffU) | (std::min(y, 0xffffU) << 16)),
U2(cvt_pk_i16_i32, clamp_i16(static_cast<i32>(x)) | (clamp_i16(static_cast<i32>(y)) << 16)),
X(cvt_pk_u8_f32, b32, f32, b32, b32, 0, const unsigned at = 8 * (SY & 3); a.d[l] = (SZ & ~(0xffU << at)) | (u32{saturating<u8>(std::nearbyint(f32(SX)))} << at)),
X(cvt_pkaccum_u8_f32, b32, f32, b32, b32, reads_destination, const unsigned at = 8 * (SY & 3); a.d[l] = (SZ & ~(0xffU << at)) | (u32{saturating<u8>(std::nearbyint(f32(SX)))} << at)),
X(cvt_pk_f16_f32, b32, f32, f32, none, 0, a.d[l] = to_f16(f32(SX)) | (to_f16(f32(SY)) << 16)),
X(cvt_pk_bf16_f32, b32, f32, f32, none, 0, a.d[l] = to_bf16(f32(SX)) | (to_bf16(f32(SY)) << 16)),
X(cvt_sr_f16_f32, b32, f32, b32, b32, own_op_sel | reads_destination, const unsigned at = (a.op_sel & 8U) != 0 ? 16 : 0; a.d[l] = (SZ & ~(0xffffU << at)) | (narrow<NumericFormat::f16>(f32(SX), numerics::Rounding::stochastic, ((a.mode >> 23) & 1U) != 0 ? numerics::Overflow::saturate : numerics::Overflow::special, SY) << at)),
X(cvt_sr_bf16_f32, b32, f32, b32, b32, own_op_sel | reads_destination, const unsigned at = (a.op_sel & 8U) != 0 ? 16 : 0; a.d[l] = (SZ & ~(0xffffU << at)) | (narrow<NumericFormat::bf16>(f32(SX), numerics::Rounding::stochastic, ((a.mode >> 23) & 1U) != 0 ? numerics::Overflow::saturate : numerics::Overflow::special, SY) << at)),
X(cvt_f32_fp8, f32, b32, none, none, 0, a.d[l] = bits(fp8(a, SX))), X(cvt_f32_bf8, f32, b32, none, none, 0, a.d[l] = bits(bf8(a, SX))),
X(cvt_pk_f32_fp8, packed_f32, b32, none, none, own_op_sel, const u32 x = (a.op_sel & 1U) != 0 ? SX >> 16 : SX; a.d[l] = bits(fp8(a, x)); a.d[l + lane_count] = bits(fp8(a, x >> 8))),
X(cvt_pk_f32_bf8, packed_f32, b32, none, none, own_op_sel, const u32 x = (a.op_sel & 1U) != 0 ? SX >> 16 : SX; a.d[l] = bits(bf8(a, x)); a.d[l + lane_count] = bits(bf8(a, x >> 8))),
X(cvt_pk_fp8_f32, b32, f32, f32, b32, own_op_sel | reads_destination, const u32 v = to_8(a, false, f32(SX)) | (to_8(a, false, f32(SY)) << 8); a.d[l] = (a.op_sel & 8U) != 0 ? (SZ & 0xffffU) | (v << 16) : (SZ & 0xffff0000U) | v),
X(cvt_pk_bf8_f32, b32, f32, f32, b32, own_op_sel | reads_destination, const u32 v = to_8(a, true, f32(SX)) | (to_8(a, true, f32(SY)) << 8); a.d[l] = (a.op_sel & 8U) != 0 ? (SZ & 0xffffU) | (v << 16) : (SZ & 0xffff0000U) | v),
X(cvt_sr_fp8_f32, b32, f32, b32, b32, own_op_sel | reads_destination, const unsigned at = 8 * ((a.op_sel >> 2) & 3U); a.d[l] = (SZ & ~(0xffU << at)) | (to_8(a, false, f32(SX), true, SY) << at)),
X(cvt_sr_bf8_f32, b32, f32, b32, b32, own_op_sel | reads_destination, const unsigned at = 8 * ((a.op_sel >> 2) & 3U); a.d[l] = (SZ & ~(0xffU << at)) | (to_8(a, true, f32(SX), true, SY) << at)),
X(ashr_pk_i8_i32, b32, b32, b32, b32, 0, const auto n = [&](u32 x) { return static_cast<u32>(std::clamp(static_cast<i32>(x) >> (SZ & 31), -128, 127)) & 0xff; }; a.d[l] = n(SX) | (n(SY) << 8)),
X(ashr_pk_u8_i32, b32, b32, b32, b32, 0, const auto n = [&](u32 x) { return static_cast<u32>(std::clamp(static_cast<i32>(x) >> (SZ & 31), 0, 255)); }; a.d[l] = n(SX) | (n(SY) << 8)),
U1(prng_b32, (x << 1) ^ ((x >> 31) != 0 ? 0xc5U : 0U)),

// ---- packed 16-bit and packed f32
#define P2(NAME, ...) {"v_" #NAME, Type::packed16, {Type::packed16, Type::packed16}, own_op_sel | integer_clamp, [](A& a) { packed2(a, [c = a.clamp](u32 x, u32 y) -> u32 { static_cast<void>(c); return __VA_ARGS__; }); }}
P2(pk_mul_lo_u16, x * y), P2(pk_lshlrev_b16, y << (x & 15)), P2(pk_lshrrev_b16, y >> (x & 15)), P2(pk_ashrrev_i16, static_cast<u32>(s16(y) >> (x & 15))),
P2(pk_add_i16, c ? clamp_i16(s16(x) + s16(y)) : x + y), P2(pk_sub_i16, c ? clamp_i16(s16(x) - s16(y)) : x - y),
P2(pk_add_u16, c ? clamp_u16(static_cast<i32>(x + y)) : x + y), P2(pk_sub_u16, c ? clamp_u16(static_cast<i32>(x) - static_cast<i32>(y)) : x - y),
P2(pk_max_i16, static_cast<u32>(std::max(s16(x), s16(y)))), P2(pk_min_i16, static_cast<u32>(std::min(s16(x), s16(y)))),
P2(pk_max_u16, std::max(x, y)), P2(pk_min_u16, std::min(x, y)),
{"v_pk_mad_i16", Type::packed16, {Type::packed16, Type::packed16, Type::packed16}, own_op_sel | integer_clamp, [](A& a) { packed3(a, [c = a.clamp](u32 x, u32 y, u32 z) { const i32 r = s16(x) * s16(y) + s16(z); return c ? clamp_i16(r) : static_cast<u32>(r); }); }},
{"v_pk_mad_u16", Type::packed16, {Type::packed16, Type::packed16, Type::packed16}, own_op_sel | integer_clamp, [](A& a) { packed3(a, [c = a.clamp](u32 x, u32 y, u32 z) { const u32 r = x * y + z; return c ? std::min(r, 0xffffU) : r; }); }},
#define PH2(NAME, ...) {"v_" #NAME, Type::packed_f16, {Type::packed_f16, Type::packed_f16}, own_op_sel, [](A& a) { packed_half2(a, [m = ieee(a)](u32 x, u32 y) -> u32 { static_cast<void>(m); return __VA_ARGS__; }); }}
PH2(pk_add_f16, to_f16(f16(x) + f16(y))), PH2(pk_mul_f16, to_f16(f16(x) * f16(y))), PH2(pk_min_f16, min_f16(x, y, m)), PH2(pk_max_f16, max_f16(x, y, m)),
{"v_pk_fma_f16", Type::packed_f16, {Type::packed_f16, Type::packed_f16, Type::packed_f16}, own_op_sel, [](A& a) { packed_half3(a, [](u32 x, u32 y, u32 z) { return fma_f16(x, y, z); }); }},
{"v_pk_minimum3_f16", Type::packed_f16, {Type::packed_f16, Type::packed_f16, Type::packed_f16}, own_op_sel, [](A& a) { packed_half3(a, [](u32 x, u32 y, u32 z) { return minimum_f16(minimum_f16(x, y), z); }); }},
{"v_pk_maximum3_f16", Type::packed_f16, {Type::packed_f16, Type::packed_f16, Type::packed_f16}, own_op_sel, [](A& a) { packed_half3(a, [](u32 x, u32 y, u32 z) { return maximum_f16(maximum_f16(x, y), z); }); }},
{"v_pk_fmac_f16", Type::packed_f16, {Type::packed_f16, Type::packed_f16, Type::packed_f16}, own_op_sel | reads_destination, [](A& a) { a.op_sel = 0; a.op_sel_hi = 7; packed_half3(a, [](u32 x, u32 y, u32 z) { return fma_f16(x, y, z); }); }},
{"v_pk_fma_f32", Type::packed_f32, {Type::packed_f32, Type::packed_f32, Type::packed_f32}, own_op_sel, [](A& a) { packed_float<3>(a, [](float x, float y, float z) { return __builtin_fmaf(x, y, z); }); }},
{"v_pk_mul_f32", Type::packed_f32, {Type::packed_f32, Type::packed_f32}, own_op_sel, [](A& a) { packed_float<2>(a, [](float x, float y, float) { return x * y; }); }},
{"v_pk_add_f32", Type::packed_f32, {Type::packed_f32, Type::packed_f32}, own_op_sel, [](A& a) { packed_float<2>(a, [](float x, float y, float) { return x + y; }); }},
{"v_pk_mov_b32", Type::b64, {Type::b64, Type::b64}, own_op_sel | no_flush, [](A& a) {
   const u32* x = a.s[0] + (a.op_sel & 1U) * lane_count;
   const u32* y = a.s[1] + ((a.op_sel >> 1) & 1U) * lane_count;
   for (unsigned l = 0; l < lane_count; ++l) { a.d[l] = x[l]; a.d[l + lane_count] = y[l]; }
 }},
X(fma_mix_f32, b32, b32, b32, b32, own_op_sel, a.d[l] = bits(mix_fma(a, l))),
X(fma_mixlo_f16, b16, b32, b32, b32, own_op_sel | keeps_high, a.d[l] = to_f16(mix_fma(a, l))),
X(fma_mixhi_f16, b16, b32, b32, b32, own_op_sel | keeps_high | to_high, a.d[l] = to_f16(mix_fma(a, l))),

// ---- dot products
X(dot2_f32_f16, f32, b32, b32, f32, own_op_sel, const Packed p(a); const float z = ((a.neg_lo >> 2) & 1U) != 0 ? -f32(SZ) : f32(SZ); a.d[l] = bits(static_cast<float>(static_cast<double>(f16(p.low_f(0, SX))) * static_cast<double>(f16(p.low_f(1, SY))) + static_cast<double>(f16(p.high_f(0, SX))) * static_cast<double>(f16(p.high_f(1, SY))) + static_cast<double>(z)))),
X(dot2c_f32_f16, f32, b32, b32, f32, reads_destination, a.d[l] = bits(static_cast<float>(static_cast<double>(f16(SX)) * static_cast<double>(f16(SY)) + static_cast<double>(f16(SX >> 16)) * static_cast<double>(f16(SY >> 16)) + static_cast<double>(f32(SZ))))),
X(dot2_f32_bf16, f32, b32, b32, f32, own_op_sel, const Packed p(a); const float z = ((a.neg_lo >> 2) & 1U) != 0 ? -f32(SZ) : f32(SZ); a.d[l] = bits(static_cast<float>(static_cast<double>(bf16(p.low_f(0, SX))) * static_cast<double>(bf16(p.low_f(1, SY))) + static_cast<double>(bf16(p.high_f(0, SX))) * static_cast<double>(bf16(p.high_f(1, SY))) + static_cast<double>(z)))),
X(dot2c_f32_bf16, f32, b32, b32, f32, reads_destination, a.d[l] = bits(static_cast<float>(static_cast<double>(bf16(SX & 0xffff)) * static_cast<double>(bf16(SY & 0xffff)) + static_cast<double>(f32(SX & 0xffff0000U)) * static_cast<double>(f32(SY & 0xffff0000U)) + static_cast<double>(f32(SZ))))),
X(dot2_i32_i16, b32, b32, b32, b32, own_op_sel | integer_clamp, const Packed p(a); const i64 r = i64{s16(p.low(0, SX)) * s16(p.low(1, SY))} + i64{s16(p.high(0, SX)) * s16(p.high(1, SY))} + static_cast<i32>(SZ); a.d[l] = a.clamp ? clamp_i32(r) : static_cast<u32>(r)),
X(dot2_u32_u16, b32, b32, b32, b32, own_op_sel | integer_clamp, const Packed p(a); const u64 r = u64{p.low(0, SX)} * p.low(1, SY) + u64{p.high(0, SX)} * p.high(1, SY) + SZ; a.d[l] = a.clamp && r > 0xffffffffU ? 0xffffffffU : static_cast<u32>(r)),
X(dot2c_i32_i16, b32, b32, b32, b32, reads_destination | integer_clamp, a.d[l] = dot_signed<16>(a, SX, SY, SZ)),
X(dot4_i32_i8, b32, b32, b32, b32, own_op_sel | integer_clamp, a.d[l] = dot_signed<8>(a, SX, SY, SZ)), X(dot4_u32_u8, b32, b32, b32, b32, own_op_sel | integer_clamp, a.d[l] = dot_unsigned<8>(a, SX, SY, SZ)),
X(dot8_i32_i4, b32, b32, b32, b32, own_op_sel | integer_clamp, a.d[l] = dot_signed<4>(a, SX, SY, SZ)), X(dot8_u32_u4, b32, b32, b32, b32, own_op_sel | integer_clamp, a.d[l] = dot_unsigned<4>(a, SX, SY, SZ)),
X(dot4c_i32_i8, b32, b32, b32, b32, reads_destination | integer_clamp, a.d[l] = dot_signed<8>(a, SX, SY, SZ)),
X(dot8c_i32_i4, b32, b32, b32, b32, reads_destination | integer_clamp, a.d[l] = dot_signed<4>(a, SX, SY, SZ)),

// ---- compares
COMPARE_FLOAT("f32", f32, get_f32), COMPARE_FLOAT("f16", f16, get_f16), COMPARE_FLOAT("f64", f64, get_f64),
COMPARE_INTEGER("u32", b32, get_u32), COMPARE_INTEGER("i32", b32, get_i32), COMPARE_INTEGER("u64", b64, get_u64),
COMPARE_INTEGER("i64", b64, get_i64), COMPARE_INTEGER("u16", b16, get_u16), COMPARE_INTEGER("i16", b16, get_i16),
{"v_cmp_class_f32", Type::mask, {Type::f32, Type::b32}, writes_mask | no_flush, [](A& a) { compare(a, [&](unsigned l) { return (class_f32(SX) & SY) != 0; }); }},
{"v_cmpx_class_f32", Type::mask, {Type::f32, Type::b32}, writes_mask | writes_exec | no_flush, [](A& a) { compare(a, [&](unsigned l) { return (class_f32(SX) & SY) != 0; }); }},
{"v_cmp_class_f16", Type::mask, {Type::f16, Type::b32}, writes_mask | no_flush, [](A& a) { compare(a, [&](unsigned l) { return (class_f16(SX) & SY) != 0; }); }},
{"v_cmpx_class_f16", Type::mask, {Type::f16, Type::b32}, writes_mask | writes_exec | no_flush, [](A& a) { compare(a, [&](unsigned l) { return (class_f16(SX) & SY) != 0; }); }},
{"v_cmp_class_f64", Type::mask, {Type::f64, Type::b32}, writes_mask | no_flush, [](A& a) { compare(a, [&](unsigned l) { return (class_f64(WX) & SY) != 0; }); }},
{"v_cmpx_class_f64", Type::mask, {Type::f64, Type::b32}, writes_mask | writes_exec | no_flush, [](A& a) { compare(a, [&](unsigned l) { return (class_f64(WX) & SY) != 0; }); }},
