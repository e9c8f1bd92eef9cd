"""The 18 launches of published thread traces of MI350X that the cycle model is held against: how each was launched.

Source of the traces: github.com/jhinpan/flydsl-kernel-profiling-lib, commit bce529c: decoded thread traces (rocprofv3) of FlyDSL kernels. Nothing of it is kept
here; shapes, strides and the state of inputs are those of its harness, as far as it tells them. MoE routing and page tables are rebuilt: it does not
publish them.
"""
import os
import struct

# Name, folder of the trace below examples/, grid, VGPRs, bytes of LDS, where inputs were, arguments (offset, what), and whether the case was looked at while numbers
# of the model were chosen.
MB = 1 << 20


def z(n):
    return ("zeros", n)


def i(v):
    return ("i32", v)


def q(v):
    return ("i64", v)


def words(values):
    return ("words", list(values))


def moe(tokens, experts, topk, tile, blocks):
    """Sorted token ids as AITER's sorting makes them: topk slot in the top byte, experts padded to whole tiles."""
    of = [[] for _ in range(experts)]
    for t in range(tokens):
        for s in range(topk):
            of[(5 * t + 3 * s + t // 8) % experts].append(s << 24 | t)
    ids, expert = [], []
    for e, mine in enumerate(of):
        while len(mine) % tile:
            mine.append(topk << 24 | tokens)
        ids += mine
        expert += [e] * (len(mine) // tile)
    valid = len(ids)
    ids += [topk << 24 | tokens] * (blocks * tile - valid)
    expert += [0] * (blocks - len(expert))
    return ids, expert, valid


def mqa(chunks, safe):
    """Rows of the schedule: batch, first chunk, chunks, context length."""
    rows = []
    for b, n in enumerate(chunks):
        for s in range(0, n, safe):
            rows += [b, s, min(safe, n - s), n * 256]
    return rows


def mqa_launch(chunks, safe, context=131072):
    """Grid and arguments; `context`: the most that the harness allows for."""
    rows = mqa(chunks, safe)
    pages = len(chunks) * context // 64
    return (len(rows) // 4,), [
        (0x0, z(len(chunks) * context * 4)), (0x18, z(len(chunks) * 4096)), (0x30, i(4096)), (0x40, i(64)), (0x48, z(len(chunks) * 256)),
        (0x68, i(256)), (0x80, i(64)), (0x88, i(4)), (0x90, z(pages * 4096)), (0xd0, z(pages * 256)), (0x100, words(range(pages))),
        (0x118, z(len(chunks) * 256)), (0x128, i(64)), (0x130, words(rows)), (0x148, i(context))]


# Contexts of the harness, in chunks of 256: torch.randint with seed 0 between a quarter and three quarters of the most.
big_grid, big_arguments = mqa_launch([255, 147, 368, 373, 153, 248, 364, 293, 184, 192, 300, 245, 200, 367, 216, 304, 292, 264, 344, 329, 308, 251, 161, 206, 333, 167, 378, 237, 218, 194, 133, 370], 17)
small_grid, small_arguments = mqa_launch([12, 23, 14, 20], 1, 8192)
moe1_ids, moe1_experts, moe1_valid = moe(32, 8, 2, 32, 10)
moebs_ids, moebs_experts, moebs_valid = moe(256, 8, 2, 16, 40)

CASES = [
    # Looked at while numbers were chosen.
    ("preshuffle fp8 4096^3", "preshuffle_gemm/big", (32, 32), 168, 32768, "hbm", True,
     [(0, z(4096 * 4096 * 2)), (0x10, z(4096 * 4096)), (0x20, z(4096 * 4096)), (0x30, z(16384)), (0x40, z(16384)), (0x50, z(16384)),
      (0x5c, i(4096)), (0x60, i(4096))]),
    ("hgemm split-K 32x384x7168", "hgemm_splitk/big", (6, 14), 128, 98304, "hbm", True,
     [(0, z(32 * 384 * 2)), (0x18, z(32 * 7168 * 2)), (0x30, z(384 * 7168 * 2)), (0x48, z(4096)), (0x60, i(32)), (0x68, z(4096)), (0x78, z(4096))]),
    ("moe_gemm1 fp8", "moe_gemm/big", (32, 10), 160, 16384, "hbm", True,
     [(0, z(64 * 4096 * 2)), (0x28, z(32 * 6144)), (0x40, z(8 * 8192 * 6144)), (0x58, z(4096)), (0x68, z(8 * 8192 * 4)), (0x78, words(moe1_ids)),
      (0x88, words(moe1_experts)), (0x98, z(4096)), (0xa8, words([moe1_valid, 0])), (0xb4, i(32)), (0xb8, i(4096)), (0xbc, i(6144)), (0xc0, i(10))]),
    ("attention S = 1024 causal", "flash_attn_func/small", (128,), 248, 49152, "l2", True,
     [(0, z(1024 * 16 * 128 * 2)), (0x10, z(1024 * 16 * 128 * 2)), (0x20, z(1024 * 16 * 128 * 2)), (0x30, z(1024 * 16 * 128 * 2)), (0x3c, i(1024))]),
    ("pa_mqa fp4 small", "pa_mqa_logits_fp4/small", small_grid, 96, 0, "l2", True, small_arguments),
    ("rmsnorm 1024x8192", "rmsnorm/big", (1024,), 64, 512, "mall", True,
     [(0, z(16 * MB)), (0x10, i(8192)), (0x18, z(16384)), (0x28, z(16384)), (0x38, z(16 * MB)), (0x48, i(8192))]),
    ("quant 4096x8192", "quant/big", (4096,), 48, 512, "mall", True, [(0, z(64 * MB)), (0x18, z(32 * MB)), (0x30, z(16384))]),
    ("moe_reduce 2.1 GB", "moe_reduce/big", (16384, 4), 56, 0, "hbm", True,
     [(0, z(16384 * 8 * 7168 * 2)), (0x14, i(8 * 7168)), (0x1c, i(7168)), (0x28, z(16384 * 7168 * 2)), (0x38, i(7168)), (0x58, i(16384))]),
    ("rope_cache", "fused_rope_cache/big", (8, 32), 16, 0, "l2", True,
     [(0, z(32 * 8 * 128 * 2)), (0x14, i(1024)), (0x1c, i(128)), (0x28, z(32 * 128 * 2)), (0x3c, i(128)), (0x44, i(128)), (0x50, z(32 * 128 * 2)),
      (0x64, i(128)), (0x6c, i(128)), (0x78, words(range(32))), (0x88, z(8192 * 128)), (0x98, i(64)), (0xa0, z(8192 * 128)), (0xb0, i(64)),
      (0xb8, words(range(32))), (0xc8, z(4 * MB)), (0x108, z(4 * MB)), (0x138, z(32 * 8 * 128 * 2)), (0x14c, i(1024)), (0x154, i(128)),
      (0x160, z(32 * 128 * 2)), (0x174, i(128)), (0x17c, i(128))]),
    # Held back.
    ("preshuffle_v2 bf16 128x5120x8192", "preshuffle_gemm_v2/big", (2, 40), 112, 16384, "mall", False,
     [(0, z(128 * 5120 * 2)), (8, z(128 * 8192 * 2)), (0x10, z(5120 * 8192 * 2))]),
    ("block-scale fp8 16x7168x2304", "blockscale_preshuffle_gemm/big", (1, 112), 80, 8192, "hbm", False,
     [(0, z(16 * 7168 * 2)), (0x18, z(16 * 2304)), (0x30, z(7168 * 2304)), (0x48, z(16 * 18 * 4)), (0x58, z(56 * 18 * 4)), (0x64, i(16)), (0x68, i(7168))]),
    ("moe_blockscale1", "moe_blockscale/big", (1, 40), 208, 8192, "mall", False,
     [(0, z(512 * 256 * 2)), (0x10, z(256 * 7168)), (0x20, z(8 * 512 * 7168)), (0x30, z(256 * 56 * 4)), (0x40, z(8 * 4 * 56 * 4)), (0x50, words(moebs_ids)),
      (0x60, words(moebs_experts)), (0x70, z(4096)), (0x80, words([moebs_valid, 0])), (0x8c, i(256)), (0x90, i(256)), (0x94, i(7168)), (0x98, i(40))]),
    ("attention S = 2048 causal", "flash_attn_func/big", (512,), 248, 49152, "mall", False,
     [(0, z(2048 * 32 * 128 * 2)), (0x10, z(2048 * 32 * 128 * 2)), (0x20, z(2048 * 32 * 128 * 2)), (0x30, z(2048 * 32 * 128 * 2)), (0x3c, i(2048))]),
    ("pa_mqa fp4 big", "pa_mqa_logits_fp4/big", big_grid, 96, 0, "mall", False, big_arguments),
    ("softmax 32768x8192", "softmax/big", (32768,), 48, 512, "hbm", False,
     [(0, z(512 * MB)), (0x10, i(8192)), (0x48, z(512 * MB)), (0x58, i(8192))]),
    ("layernorm 256x8192", "layernorm/big", (256,), 72, 512, "l2", False,
     [(0, z(4 * MB)), (0x10, i(8192)), (0x18, z(16384)), (0x28, z(16384)), (0x38, z(4 * MB)), (0x48, i(8192))]),
    ("topk_gating", "topk_gating_softmax/big", (512,), 56, 0, "l2", False,
     [(0, z(4 * MB)), (0x10, i(128)), (0x18, z(MB)), (0x28, i(6)), (0x30, z(MB)), (0x40, i(6)), (0x48, z(MB)), (0x58, i(6)), (0x60, i(16384))]),
    ("vec_add 123 MB", "vec_add/big", (10000,), 16, 0, "mall", False, [(0, z(40960000)), (0x10, z(40960000)), (0x20, z(40960000))]),
]


def arguments(case, folder):
    """--arg values in the order of their offsets; contents are written to `folder`."""
    out, layout = [], []
    for n, (offset, (kind, value)) in enumerate(sorted(case[7])):
        if kind == "zeros":
            out.append(f"zeros:{value}")
        elif kind == "words":
            file = os.path.join(folder, f"a{n}.bin")
            with open(file, "wb") as f:
                f.write(struct.pack(f"<{len(value)}I", *value))
            out.append(f"in:{file}")
        else:
            out.append(f"{kind}:{value}")
        layout.append((offset, 4 if kind == "i32" else 8, kind in ("zeros", "words")))
    return out, layout


def assembly(code, case, layout):
    """The kernel of a trace as assembly text: its instructions as decoded, with a descriptor made of what the trace tells."""
    lines = ['.amdgcn_target "amdgcn-amd-amdhsa--gfx950"', ".amdhsa_code_object_version 5", ".text", ".globl k", ".p2align 8", ".type k,@function", "k:"]
    at = None
    for row in code:
        text, address = row[0], row[5]
        if text.startswith(";"):
            continue
        if at is None:
            at = address
        lines.append(text)
    end = max(o + s for o, s, _ in layout)
    end = (end + 7) // 8 * 8
    lines += [".size k, .-k", '.section .rodata,"a",@progbits', ".p2align 6", ".amdhsa_kernel k", f"  .amdhsa_group_segment_fixed_size {case[4]}",
              f"  .amdhsa_kernarg_size {end}", "  .amdhsa_user_sgpr_count 2", "  .amdhsa_user_sgpr_kernarg_segment_ptr 1",
              f"  .amdhsa_next_free_vgpr {case[3]}", f"  .amdhsa_accum_offset {(case[3] + 3) // 4 * 4 if case[3] <= 256 else 256}", "  .amdhsa_next_free_sgpr 96",
              "  .amdhsa_system_sgpr_workgroup_id_x 1", "  .amdhsa_system_sgpr_workgroup_id_y 1", "  .amdhsa_float_denorm_mode_16_64 3",
              "  .amdhsa_ieee_mode 1", "  .amdhsa_dx10_clamp 1", ".end_amdhsa_kernel", ".amdgpu_metadata", "---", "amdhsa.kernels:",
              "  - .args:"]
    for o, s, pointer in layout:
        lines += [f"      - .offset: {o}", f"        .size: {s}", f"        .value_kind: {'global_buffer' if pointer else 'by_value'}"]
        if pointer:
            lines.append("        .address_space: global")
    lines += [f"    .group_segment_fixed_size: {case[4]}", "    .kernarg_segment_align: 8", f"    .kernarg_segment_size: {end}",
              "    .max_flat_workgroup_size: 1024", "    .name: k", "    .private_segment_fixed_size: 0", "    .sgpr_count: 96", "    .symbol: k.kd",
              f"    .vgpr_count: {case[3]}", "    .wavefront_size: 64", "amdhsa.target: amdgcn-amd-amdhsa--gfx950", "amdhsa.version:", "  - 1", "  - 2",
              "...", ".end_amdgpu_metadata", ""]
    return "\n".join(lines)
# Percent by which the model of commit f4aa8de was off, in the order of CASES, with the inputs where the table has them.
BEFORE = [32, -44, 118, -4, -13, -2, -31, 0, -24, -10, -32, -18, 67, -8, -7, -21, 0, -63]
# Inputs as --data-in takes them where that is not what the table says: rmsnorm lies between L2 and MALL.
DATA_IN = {"rmsnorm 1024x8192": "auto"}
BLOCK = {"rope_cache": 64}  # work-items of a workgroup; 256 otherwise
