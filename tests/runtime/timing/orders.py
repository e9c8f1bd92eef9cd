"""Loops from their published order: a string of letters with counts becomes a kernel that executes that loop.

  M  matrix instruction     R  ds_read_b128        W  ds_write_b128       G  buffer_load_dwordx4 to registers
  L  buffer_load_dwordx4 to LDS                    T  ds_read_b64_tr_b16  D  ds_read_b64
  v  vector instruction     a  v_accvgpr move      s  scalar instruction  n  s_nop 0     S scratch load   C scratch store
  B  s_barrier              w  s_waitcnt: l and v follow with their counts, wl0, wv3, wv0l0
  F  global_load_dwordx4   x  v_lshl_add_u64 (the address of the next F)      b  a branch that is not taken
  P  s_setprio, with the priority after it

A number after a letter repeats it, (...)xN a group: `w B R4 M1`, `(M4 s L)x16`. Which registers and addresses the instructions of the
original name is not part of the order: matrix instructions go round independent accumulators, LDS accesses are free of conflicts unless
`read_address` says otherwise, loads go forward through memory by `row` bytes a lane group.
"""
import re


def expand(order):
    """`M2 (s L)x2` -> ['M', 'M', 's', 'L', 's', 'L']; waits keep their counts: 'wl0'."""
    while True:
        group = re.search(r"\(([^()]*)\)x(\d+)", order)
        if not group:
            break
        order = order[:group.start()] + " " + (group.group(1) + " ") * int(group.group(2)) + order[group.end():]
    out = []
    for token in order.split():
        if token[0] == "w":
            out.append(token)
        elif token[0] == "P":
            out.append(token)
        else:
            match = re.fullmatch(r"([MRWGLTDvasnBSCFxb])(\d*)", token)
            if not match:
                raise ValueError(f"'{token}' in an order")
            out += [match.group(1)] * int(match.group(2) or 1)
    return out


MATRIX = {
    "16x16x16_f16": ("v_mfma_f32_16x16x16_f16", 2, 4),
    "16x16x32_f16": ("v_mfma_f32_16x16x32_f16", 4, 4),
    "32x32x8_f16": ("v_mfma_f32_32x32x8_f16", 2, 16),
    "32x32x16_f16": ("v_mfma_f32_32x32x16_f16", 4, 16),
}


def body(tokens, matrix, waves):
    """The instructions, one a token. More than four waves have half the registers each."""
    name, operand, result = MATRIX[matrix]
    accumulators = (256 if waves <= 4 else 128) // result
    first, second = (128, 160) if waves <= 4 else (116, 116)
    out = []
    m = r = w = g = f = 0
    for token in tokens:
        kind = token[0]
        if kind == "M":
            a = m % accumulators * result
            x, y = first + m % 4 * operand, second + m // 4 % 4 * operand
            out.append(f"{name} a[{a}:{a + result - 1}], v[{x}:{x + operand - 1}], v[{y}:{y + operand - 1}], a[{a}:{a + result - 1}]")
            m += 1
        elif kind in "RTD":
            d = 16 + r % 16 * 4
            op = {"R": "ds_read_b128", "T": "ds_read_b64_tr_b16", "D": "ds_read_b64"}[kind]
            last = d + (3 if kind == "R" else 1)
            out.append(f"{op} v[{d}:{last}], v1 offset:{r % 16 * 1024}")
            r += 1
        elif kind == "W":
            out.append(f"ds_write_b128 v2, v[80:83] offset:{w % 16 * 1024}")
            w += 1
        elif kind in "GL":
            where = f"v3, s[8:11], s{12 + g // 4 % 4} offen offset:{g % 4 * 1024 % 4096}"
            d = 84 + g % 8 * 4
            out.append(f"buffer_load_dwordx4 {where} lds" if kind == "L" else f"buffer_load_dwordx4 v[{d}:{d + 3}], {where}")
            g += 1
        elif kind == "F":
            d = 84 + g % 8 * 4
            out.append(f"global_load_dwordx4 v[{d}:{d + 3}], v[10:11], off")
            g += 1
        elif kind == "x":
            out.append(f"v_lshl_add_u64 v[10:11], v[{208 + 2 * (f % 16)}:{209 + 2 * (f % 16)}], 0, s[22:23]")
            f += 1
        elif kind == "b":
            out.append("s_cbranch_execz end")
        elif kind == "S":
            out.append("scratch_load_dword v14, off, off")
        elif kind == "C":
            out.append("scratch_store_dword off, v14, off")
        elif kind == "v":
            out.append("v_add_u32 v4, v5, v6")
        elif kind == "a":
            out.append(f"v_accvgpr_read_b32 v7, a{accumulators * result - 1}")
        elif kind == "s":
            out.append("s_add_u32 s20, s20, 1")
        elif kind == "n":
            out.append("s_nop 0")
        elif kind == "B":
            out.append("s_barrier")
        elif kind == "P":
            out.append(f"s_setprio {token[1:]}")
        elif kind == "w":
            counts = re.findall(r"([vl])(\d+)", token)
            out.append("s_waitcnt " + " ".join(f"{'vmcnt' if c == 'v' else 'lgkmcnt'}({n})" for c, n in counts))
    return out


def kernel(arch, order, matrix, waves, trips, lds=65536, prologue="", read_address=None, scratch=0, apart=False):
    """Assembly of a kernel that runs `order` `trips` times in each of `waves` waves; `apart`: the second half of the waves one barrier behind."""
    lines = ["s_load_dwordx2 s[4:5], s[0:1], 0x0",
             "v_and_b32 v8, 63, v0", "v_lshrrev_b32 v9, 6, v0",
             "v_lshlrev_b32 v1, 4, v8", "v_lshlrev_b32 v2, 4, v8",
             "v_lshlrev_b32 v3, 4, v8", "v_lshlrev_b32 v10, 22, v9", "v_add_u32 v3, v3, v10"]
    if read_address:
        lines += read_address
    lines += ["s_waitcnt lgkmcnt(0)", "s_mov_b32 s8, s4", "s_and_b32 s9, s5, 0xffff", "s_mov_b32 s10, -1", "s_mov_b32 s11, 0x20000",
              "s_mov_b32 s12, 0", "s_mov_b32 s13, 0x1000", "s_mov_b32 s14, 0x2000", "s_mov_b32 s15, 0x3000", "s_mov_b32 m0, 0x8000"]
    far = "F" in expand(order)  # addresses of 64 bits, 1 KiB apart, beside s[22:23]
    if far:
        lines += ["v_mov_b32 v10, s5", "v_add_co_u32 v208, vcc, s4, v3", "v_addc_co_u32 v209, vcc, 0, v10, vcc", "s_mov_b64 s[22:23], 0", "s_mov_b64 s[24:25], 0x400"]
        lines += [f"v_lshl_add_u64 v[{210 + 2 * i}:{211 + 2 * i}], v[{208 + 2 * i}:{209 + 2 * i}], 0, s[24:25]" for i in range(15)]
    lines += body(expand(prologue), matrix, waves)
    if apart:
        lines += ["v_readfirstlane_b32 s16, v9", f"s_cmp_lt_u32 s16, {waves // 2}", "s_cbranch_scc1 first", "s_barrier", "first:"]
    lines += [f"s_movk_i32 s3, {trips}", ".p2align 6", "loop:"]
    # What the loads of a trip have read, the next one does not read again. The order's own last scalar instructions do this and count the
    # trips; where it names none, they stand at the end.
    control = [f"s_add_u32 s{i}, s{i}, 0x4000" for i in (22 if far else 12, 13, 14, 15)] + ["s_sub_u32 s3, s3, 1", "s_cmp_lg_u32 s3, 0"]
    loop = body(expand(order), matrix, waves)
    own = [i for i, line in enumerate(loop) if line.startswith("s_add_u32 s20")][-len(control):]
    for i in reversed(own):
        loop[i] = control.pop()
    lines += loop + control + ["s_cbranch_scc1 loop"]
    if apart:
        lines += [f"s_cmp_ge_u32 s16, {waves // 2}", "s_cbranch_scc1 second", "s_barrier", "second:"]
    lines += ["end:", "s_endpgm"]
    return assembled(lines, lds, scratch, waves, 1)


def gemm(order, matrix, waves, m, n, k, prologue="", read_address=None, apart=False, short_stores=False):
    """A whole GEMM of gfx950, as far as time sees it, around the order of its loop: a workgroup a tile of 256x256, 64 of K a step, tiles of A and B one after the other in memory,
    C in f16 in rows of n. Its arguments are A and B, a table of the tiles' rows and columns, C. Steps that the prologue loads ahead follow the loop without loads. C is stored 16
    bytes a lane or, with short_stores, 2."""
    per = 64 // waves  # loads of a wave and step, half of them of A
    tokens = expand(order)
    steps = tokens.count("M") * waves // 512
    ahead = (expand(prologue).count("L") // per + steps - 1) // steps  # trips
    loads = 0

    def tile_body(part):
        """The instructions of a part, with loads from the tiles: s12 and s13 go one step forward when a step has its half, by the order's own scalar instructions where it has some."""
        nonlocal loads
        out, due = [], []
        for token, line in zip(part, body(part, matrix, waves)):
            if token == "s" and due:
                line = due.pop(0)
            elif token in "GL":
                of_b, i = loads % per >= per // 2, loads % (per // 2)
                base = "s13" if of_b else "s12"
                out += [d for d in due if base in d]
                due = [d for d in due if base not in d]
                line = line.split(" v3, ")[0] + f" {'v3' if i < 4 else 'v10'}, s[8:11], {base} offen offset:{i % 4 * 1024}" + " lds" * (token == "L")
                loads += 1
                if loads % (per // 2) == 0:
                    due.append(f"s_add_u32 {base}, {base}, 0x8000")
            out.append(line)
        return out + due

    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "s_load_dwordx2 s[16:17], s[0:1], 0x10", "v_and_b32 v8, 63, v0", "v_lshrrev_b32 v9, 6, v0", "v_lshlrev_b32 v1, 4, v8", "v_lshlrev_b32 v2, 4, v8",
             "v_lshlrev_b32 v3, 4, v8", f"v_mul_u32_u24 v10, {32768 // waves}, v9", "v_add_u32 v3, v3, v10", "v_add_u32 v10, 0x1000, v3"]
    lines += read_address or []
    lines += ["s_lshl_b32 s3, s2, 3", "s_waitcnt lgkmcnt(0)", "s_add_u32 s6, s6, s3", "s_addc_u32 s7, s7, 0", "s_load_dwordx2 s[14:15], s[6:7], 0x0", "s_mov_b32 s8, s4", "s_and_b32 s9, s5, 0xffff",
              "s_mov_b32 s10, -1", "s_mov_b32 s11, 0x20000", "s_mov_b32 s18, -1", "s_mov_b32 s19, 0x20000", "s_mov_b32 m0, 0x8000", "s_waitcnt lgkmcnt(0)", f"s_mul_i32 s12, s14, {512 * k}",
              f"s_mul_i32 s13, s15, {512 * k}", f"s_add_u32 s13, s13, {2 * m * k}"]
    lines += tile_body(expand(prologue))
    if apart:
        lines += ["v_readfirstlane_b32 s21, v9", f"s_cmp_lt_u32 s21, {waves // 2}", "s_cbranch_scc1 first", "s_barrier", "first:"]
    lines += [f"s_movk_i32 s3, {k // 64 // steps - ahead}", ".p2align 6", "loop:"]
    loop = tile_body(tokens)
    count = ["s_sub_u32 s3, s3, 1", "s_cmp_lg_u32 s3, 0"]
    scalars = [i for i, line in enumerate(loop) if line.startswith("s_add_u32")]
    if len(scalars) >= 2 and all(loop[i].startswith("s_add_u32 s20") for i in scalars[-2:]):
        loop[scalars[-2]], loop[scalars[-1]] = count
        count = []
    lines += loop + count + ["s_cbranch_scc1 loop"]
    for _ in range(ahead):
        lines += body([re.sub(r"v\d+", "v0", t) if t[0] == "w" else t for t in tokens if t not in "GL"], matrix, waves)
    if apart:
        lines += [f"s_cmp_ge_u32 s21, {waves // 2}", "s_cbranch_scc1 second", "s_barrier", "second:"]
    # C: 16 rows of lanes to a row group, a wave below the other.
    lines += [f"s_mul_i32 s14, s14, {512 * n}", "s_lshl_b32 s15, s15, 9", "s_add_u32 s14, s14, s15", "v_lshrrev_b32 v11, 4, v8", "v_and_b32 v12, 15, v8", f"v_mul_u32_u24 v13, {256 // waves}, v9"]
    width = 2 if short_stores else 16
    lines += ["v_add_u32 v11, v11, v13", f"s_mov_b32 s20, {2 * n}", "v_mul_lo_u32 v11, s20, v11", f"v_mul_u32_u24 v12, {width}, v12",
              "v_add_u32 v11, v11, v12"]
    each = width // 2
    columns = 256 * 2 // (16 * width)  # stores side by side
    for i in range(1024 // waves // each):
        at = i // columns * 4 * 2 * n + i % columns * 16 * width
        lines += [f"v_accvgpr_read_b32 v{16 + j}, a{i * each + j}" for j in range(each)]
        lines += [f"v_cvt_pkrtz_f16_f32 v{16 + j}, v{16 + 2 * j}, v{16 + 2 * j + (each > 1)}" for j in range(max(1, each // 2))]
        lines += [f"s_add_u32 s20, s14, {at}", f"buffer_store_short v16, v11, s[16:19], s20 offen" if short_stores else "buffer_store_dwordx4 v[16:19], v11, s[16:19], s20 offen"]
    return assembled(lines + ["s_endpgm"], 131072, 0, waves, 3)


def loads_of_tiles(row, trips):
    """Four waves that load A and B of a 256x256x64 f16 tile `trips` times, rows of `row` bytes: the tile's row and column come from the second
    argument, two words a workgroup, A and B are one after the other from the first."""
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_lshl_b32 s3, s2, 3", "s_add_u32 s6, s6, s3", "s_addc_u32 s7, s7, 0",
             "s_load_dwordx2 s[12:13], s[6:7], 0x0", "s_mov_b32 s8, s4", "s_and_b32 s9, s5, 0xffff", "s_mov_b32 s10, -1", "s_mov_b32 s11, 0x20000",
             "v_lshrrev_b32 v2, 6, v0", "v_bfe_u32 v1, v0, 3, 3", "v_lshl_add_u32 v1, v2, 6, v1", f"v_mul_u32_u24 v1, {row}, v1", "v_and_b32 v2, 7, v0", "v_lshl_add_u32 v1, v2, 4, v1",
             "s_waitcnt lgkmcnt(0)", f"s_mul_i32 s12, s12, {256 * row}", f"s_mul_i32 s13, s13, {256 * row}", f"s_add_u32 s13, s13, {4096 * row}",
             f"s_movk_i32 s3, {trips}", "loop:"]
    for operand in ("s12", "s13"):
        for i in range(8):
            lines += [f"s_add_u32 s14, {operand}, {8 * i * row}", f"buffer_load_dwordx4 v[{8 + 4 * i}:{11 + 4 * i}], v1, s[8:11], s14 offen"]
    lines += ["s_waitcnt vmcnt(0)", "s_barrier", "s_add_u32 s12, s12, 128", "s_add_u32 s13, s13, 128", "s_sub_u32 s3, s3, 1", "s_cmp_lg_u32 s3, 0", "s_cbranch_scc1 loop",
              "s_endpgm"]
    return assembled(lines, 65536, 0, 4, 2)


def assembled(lines, lds, scratch, waves, arguments):
    """A code object's text around the instructions of kernel k, whose arguments are buffers."""
    listed = "\n".join(f"      - {{.size: 8, .offset: {8 * i}, .value_kind: global_buffer, .address_space: global}}" for i in range(arguments))
    return f""".text
.globl k
.p2align 8
.type k,@function
k:
""" + "\n".join(lines) + f"""
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_group_segment_fixed_size {lds}
.amdhsa_private_segment_fixed_size {scratch}
.amdhsa_enable_private_segment {1 if scratch else 0}
.amdhsa_kernarg_size {8 * arguments}
.amdhsa_next_free_vgpr {512 if waves <= 4 else 256}
.amdhsa_accum_offset {256 if waves <= 4 else 128}
.amdhsa_next_free_sgpr 96
.amdhsa_system_vgpr_workitem_id 0
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: {8 * arguments}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .wavefront_size: 64
    .sgpr_count: 102
    .vgpr_count: {512 if waves <= 4 else 256}
    .agpr_count: {256 if waves <= 4 else 128}
    .max_flat_workgroup_size: {waves * 64}
    .args:
{listed}
...
.end_amdgpu_metadata
"""
