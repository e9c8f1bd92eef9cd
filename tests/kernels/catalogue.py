#!/usr/bin/env python3
"""What the prebuilt kernels are and do, from what ran: claims, result, checks, validation, registers, clocks beside the bound of memory.

catalogue.py INLAY                       every kernel of `inlay kernels` is on the page; 100 of its rows, one of each kernel and more, are proved, right and silent
                                         again, and four as fast
catalogue.py INLAY --write docs/kernels.md   runs all rows and writes the page
catalogue.py INLAY --only gemv           prints these rows; with --write they are written anew and the others stay
"""
import argparse
import array
import concurrent.futures
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SIZE = {"f32": 4, "f16": 2, "bf16": 2, "fp8": 1, "i8": 1}
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "kernels.md"


def rows():
    """(kernel, options of the form, sizes of a small run, sizes of the model's launch, bytes of that): no bytes for products."""
    out = []

    def add(kernel, form="", small="", large="", moved=None, types=("bf16",), archs=("gfx942", "gfx950")):
        for arch in archs:
            for t in types:
                dtype = "" if t is None else f" --dtype {t}"
                out.append((kernel, f"--arch {arch}{dtype} {form}".strip(), small, large, moved(SIZE.get(t, 4)) if moved else None))

    both, all_types = ("f16", "bf16"), ("bf16", "f32")
    for kernel in "gemm preshuffle_gemm weight_only_gemm flash_attention".split():
        add(kernel, types=both)
    add("gemm", "--layout nn", "--m 150 --n 72 --k 200", types=both)
    add("gemm", "--alpha yes --beta yes --bias yes --n-multiple 8", "--m 150 --n 72 --k 200", types=both)
    add("gemm", "--bias yes --row-bias yes --activation gelu --residual yes --n-multiple 8", "--m 150 --n 72 --k 200", types=both)
    for act in ("relu", "silu", "gelu_tanh"):
        add("gemm", f"--tile 64x64x64 --bias yes --activation {act}", "--m 150 --n 72 --k 200")
    odd = "--m 70 --n 80 --k 192"
    for layout in ("tn", "tt"):
        add("gemm", f"--tile 64x64x64 --layout {layout}", "--m 72 --n 80 --k 192", types=both)
    for layout in ("nn", "tn", "tt"):
        for narrow in ("fp8", "i8"):
            add("gemm", f"--layout {layout}", "--m 80 --n 144 --k 208", types=(narrow,))
    add("gemm", "--amax yes --out fp8 --scales yes --bias yes --activation gelu", odd, types=("fp8",))
    add("gemm", "--amax yes --tile 64x64x64", odd)
    for narrow in ("fp8", "bf8", "i8"):
        for kernel in ("gemm", "preshuffle_gemm"):
            add(kernel, "", odd, types=(narrow,))
            add(kernel, "--tile 64x64x64 --waves 1x4 --scales yes --bias yes", odd, types=(narrow,))
    for kernel in ("gemm", "preshuffle_gemm"):
        add(kernel, "", "--m 70 --n 80 --k 512", types=("fp4",), archs=("gfx950",))
    for kernel in ("gemm", "preshuffle_gemm"):
        add(kernel, "", "--m 70 --n 80 --k 512", types=("mxfp8", "mxbf8"), archs=("gfx950",))
    add("gemm", "", "--m 70 --n 80 --k 512", types=("mxfp6", "mxbf6"), archs=("gfx950",))
    add("gemm", "--tile 128x256x256 --n-multiple 8", "--m 70 --n 80 --k 512", "--m 4096 --n 4096 --k 4096", types=("mxfp6",), archs=("gfx950",))
    skinny = "--m 16 --n 2112 --k 7168"
    add("gemm", "--tile 16x64x32 --waves 1x4", "--m 15 --n 133 --k 204", skinny, types=("f32",))
    add("gemm", "--tile 16x64x16 --waves 1x4", "--m 15 --n 133 --k 204", skinny, types=("f64",))
    add("gemm", "--tile 16x64x32 --waves 1x4", "--m 15 --n 133 --k 204", skinny, types=("xf32",), archs=("gfx942",))
    add("gemm", "--tile 32x128x256 --waves 1x4", "--m 15 --n 133 --k 512", skinny, types=("mxfp8",), archs=("gfx950",))
    add("gemm", "", "--m 150 --n 133 --k 204", types=("f32", "f64"))
    add("gemm", "", "--m 150 --n 133 --k 204", types=("xf32",), archs=("gfx942",))
    add("gemm", "--layout nn", "--m 150 --n 136 --k 204", types=("f32", "f64"))
    add("gemm", "--alpha yes --beta yes", "--m 150 --n 133 --k 204", types=("f32", "f64"))
    add("gemm", "--tile 64x64x64 --split 64 --split-k-fixup yes --alpha yes --beta in-place", odd)
    add("gemm", "--tile 64x64x64 --split 64 --out f32", odd)
    add("gemm", "--tile 64x64x64 --stream-k-workgroups 304 --out f32", odd)
    add("gemm", "--tile 64x64x64 --pad-a 8 --pad-b 16 --pad-d 4", odd)
    ragged = "--groups 70,0,1,130 --n 80 --k 192"
    add("gemm", "--tile 64x64x64", ragged, types=both)
    add("gemm", "--tile 64x64x64 --layout nn --bias yes --activation silu", ragged, types=both)
    add("gemm", "--tile 64x64x64", ragged, types=("f16",), archs=("gfx90a",))
    for narrow in ("fp8", "i8"):
        add("gemm", "--tile 64x64x128 --scales yes", "--groups 70x80x192,33x0x16,130x131x64", types=(narrow,))
    for group in (32, 128):
        add("weight_only_gemm", f"--group {group} --tile-m 64 --tile-n 64", "--m 70 --n 80 --k 256")
    for weights in ("fp8", "i4"):
        add("weight_only_gemm", f"--weights {weights}", "--m 70 --n 80 --k 256")
    for form in ("--causal 1 --group 4", "--head-dim 64 --causal 1"):
        add("flash_attention", form, "--heads 4 --queries 150 --keys 150")
    add("flash_attention", "--window 1024", "--queries 300 --keys 300", "--batch 1 --queries 4096 --keys 4096 --heads 16")
    add("block_scale_gemm", types=(None,))
    add("batched_gemm", small="--b 3 --m 72 --n 136 --k 200", large="--b 64 --m 512 --n 512 --k 512", types=both)
    add("batched_gemm", "--pad-a 8 --gap-a 16 --pad-x 24 --gap-x 8 --pad-c 4 --gap-c 12", "--b 3 --m 72 --n 136 --k 200")
    for same in ("a", "x"):
        add("batched_gemm", f"--same-{same} yes", "--b 3 --m 72 --n 136 --k 200")
    add("dual_gemm", "--tile 256x128x32 --waves 2x4 --transfer yes", "--m 150 --n 72 --k 200", "--m 4096 --n 2048 --k 4096")
    add("dual_gemm", "--tile 16x32x128 --waves 1x2", "--m 9 --n 72 --k 200", "--m 16 --n 2048 --k 7168", lambda s: 2 * 2048 * 7168 * s, archs=("gfx942",))
    for m in (1, 2, 4):
        add("gemv", f"--m {m} --rows 8 --vectors 2", "--n 101 --k 1032", "--n 16384 --k 8192",
            lambda s, m=m: 16384 * 8192 * s + m * (8192 * s + 16384 * 2))
    add("topk_gating", "--experts 256 --k 8", "--m 7", "--m 131072", lambda s: 131072 * (256 * s + 64), types=("bf16", "f32"))
    add("topk_gating", "--experts 128 --k 4 --renormalise no", "--m 7", "--m 131072", lambda s: 131072 * (128 * s + 32), types=("f32",))
    add("grouped_gating", "--scale 2.5", "--m 7", "--m 131072", lambda s: 131072 * (256 * s + 64), types=("bf16", "f32"))
    add("grouped_gating", "--experts 384 --groups 1 --topk-group 1", "--m 7", "--m 131072", lambda s: 131072 * (384 * s + 64), archs=("gfx942",))
    for kernel, sizes in (("moe_starts", "--n 8192 --experts 256"), ("moe_blocks", "--blocks 512 --experts 256"),
                          ("moe_places", "--m 8192 --n 8192 --experts 256"), ("moe_sort", "--n 8192 --rows 16384")):
        add(kernel, "", "--n 192 --experts 7", sizes, types=(None,))
    add("moe_stage1", types=both)
    add("moe_stage2", types=both)
    for kernel in ("moe_stage1", "moe_stage2"):
        add(kernel, "--group 64", "--tokens 33 --k 256 --inter 192", types=both)
        for form in ("--dtype fp8", "--dtype fp8 --scales block", "--dtype i8"):
            add(kernel, form, "--tokens 33 --k 256 --inter 256", types=(None,))
        add(kernel, "--dtype fp4", "--tokens 33 --k 256 --inter 256", types=(None,), archs=("gfx950",))
    groups, fast = "--m 8192 --n 4096 --k 4096 --groups 8", {"gfx942": "--tile-m 128 --tile-n 128", "gfx950": "--tile-m 256 --tile-n 256 --waves 2x4 --direct-to-lds yes"}
    for arch, form in fast.items():
        add("grouped_gemm", form, "--m 300 --n 72 --k 200", groups, types=both, archs=(arch,))
        for narrow in ("fp8", "i8"):
            add("grouped_gemm", form, "--m 300 --n 260 --k 256", groups, types=(narrow,), archs=(arch,))
    add("grouped_gemm", "--tile-m 128 --waves 2x4 --direct-to-lds yes", "--m 300 --n 260 --k 256", groups, types=("fp4",), archs=("gfx950",))
    add("grouped_gemm", "--scales block", "--m 300 --n 260 --k 256", groups, types=("fp8",))
    add("weighted_combine", "", "--m 5 --n 264 --rows 9", "--m 8192 --n 7168 --rows 65536",
        lambda s: 8192 * 7168 * 9 * s + 8192 * 8 * 8)
    add("attention_backward_delta", "", "--queries 70", types=both)
    for kernel in ("attention_backward_dq", "attention_backward_dkv"):
        add(kernel, small="--queries 70 --keys 90", types=both)
        add(kernel, "--causal 1 --group 2", "--queries 70 --keys 90")
        add(kernel, "--head-dim 64", "--queries 70 --keys 90")
    add("varlen_attention", "", "--sequences 7 --queries 130 --keys 192", types=both)
    add("varlen_attention", "--causal no --page 1 --group 4", "--sequences 7 --queries 130 --keys 192")
    add("varlen_attention", "--head-dim 64 --page 64 --tile-q 128", "--sequences 7 --queries 200 --keys 256")
    for form in ("--window 128 --sinks yes", "--soft-cap 30", "--alibi yes --group 4", "--bias yes", "--kv-dtype fp8", "--head-dim 96", "--head-dim 192 --value-dim 128", "--head-dim 256"):
        add("varlen_attention", form, "--sequences 7 --queries 130 --keys 256")
    add("varlen_attention", "--dtype fp8", "--sequences 7 --queries 130 --keys 256", types=(None,))
    for form in ("", "--window 128", "--paged yes"):
        add("attention_blocks", form, "--sequences 7 --blocks 3 --pages 200", types=(None,))
    for form in ("--page 1", "--page 16", "--page 64", "--kv-dtype fp8"):
        add("paged_decode", form, "--sequences 9 --keys 512")
    # Splits that auto takes for these sizes.
    add("paged_decode", "--window 128 --sinks yes --split 160", "--sequences 9 --keys 512", "--sequences 64 --kv_heads 8 --keys 16384 --pages 65536",
        lambda s: 64 * 8 * 128 * 2 * 128 * s)
    add("paged_decode", "--window 4096 --page 64 --split 1088", "--sequences 9 --keys 4608", "--sequences 64 --kv_heads 8 --keys 16384 --pages 16384",
        lambda s: 64 * 8 * 4096 * 2 * 128 * s)
    splits = {("gfx942", 2048): {16: (288, 288), 64: (320, 320)}, ("gfx942", 4096): (576, 576), ("gfx942", 8192): (1152, 1152),
              ("gfx950", 2048): (512, 256), ("gfx950", 4096): (1024, 512), ("gfx950", 8192): (1024, 1024)}
    for keys in (4096, 2048, 8192):  # K and V of two heads of 128
        for page in (16, 64):
            for which, (cache, size) in enumerate((("bf16", 2), ("fp8", 1))):
                for arch in ("gfx942", "gfx950"):
                    of = splits[arch, keys]
                    add("paged_decode", f"--page {page} --kv-dtype {cache} --split {(of[page] if isinstance(of, dict) else of)[which]}", "--sequences 9 --keys 2368 --pages 400",
                        f"--sequences 64 --kv_heads 2 --keys {keys} --pages {64 * keys // page}", lambda s, n=keys, b=size: 64 * 2 * n * 2 * 128 * b, archs=(arch,))
    for heads, splits in ((16, (448, 512)), (128, (2048, 2048))):  # a row of 576 a token, and f32 parts of 512 for every head; splits that auto takes
        for cache, size in (("bf16", 2), ("fp8", 1)):
            for arch, split in zip(("gfx942", "gfx950"), splits):
                add("mla_decode", f"--heads {heads} --kv-dtype {cache} --split {split}", "--sequences 9 --keys 1120", "--sequences 64 --keys 4096 --pages 16384",
                    lambda s, h=heads, b=size, p=-(-4096 // split): 64 * (4096 * 576 * b + h * (576 * 2 + p * 514 * 4)), archs=(arch,))
    add("mla_decode", "--page 1 --heads 64 --queries 4", "--sequences 9 --keys 512 --pages 800")
    add("mla_reduce", "--heads 128", "--sequences 9 --keys 512", "--sequences 64 --splits 16", lambda s: 64 * 128 * (16 * 514 * 4 + 512 * s))
    add("kv_write", "", "--tokens 9 --kv-heads 5 --slots 40", "--tokens 16384 --kv-heads 8 --slots 32768 --rows 8192", lambda s: 16384 * 8 * 128 * 8)
    add("kv_write", "--kv-dtype fp8", "--tokens 9 --kv-heads 5 --slots 40", "--tokens 16384 --kv-heads 8 --slots 32768 --rows 8192", lambda s: 16384 * 8 * 128 * 6)
    add("rope", types=all_types)
    big = "--m 12800 --n 8192"
    for kernel, tensors in (("rmsnorm", 2), ("layernorm", 2), ("rmsnorm_backward", 3), ("layernorm_backward", 3), ("softmax", 2),
                            ("log_softmax", 2), ("softmax_backward", 3), ("log_softmax_backward", 3), ("cross_entropy", 1),
                            ("cross_entropy_backward", 2), ("argmax", 1), ("row_reduce", 1)):
        form = "--threads 64 --stream yes" if kernel == "cross_entropy" else ""  # what auto takes
        add(kernel, form, "--m 5 --n 1000", big, lambda s, n=tensors: 12800 * 8192 * n * s)
        add(kernel, "--vectors 8", "--m 5 --n 1028", big, lambda s, n=tensors: 12800 * 8192 * n * s, types=("f32",), archs=("gfx942",))
        add(kernel, "--stream yes", "--m 3 --n 9000", "--m 2432 --n 65536", lambda s, n=tensors: 2432 * 65536 * n * s, archs=("gfx942",))
    image = lambda s: 64 * 32 * 10 * 4096 * 2 * s
    add("group_norm", "--channels 10 --threads 512", "--b 2 --groups 3 --pixels 1000", "--b 64 --groups 32 --pixels 4096", image)
    add("group_norm", "--channels 10 --threads 1024", "--b 2 --groups 3 --pixels 1000", "--b 64 --groups 32 --pixels 4096", image, types=("f32",), archs=("gfx942",))
    add("group_norm", "--channels 10 --stream yes --vector 4", "--b 2 --groups 3 --pixels 1500", "--b 64 --groups 32 --pixels 4096", image, archs=("gfx942",))
    for op in "mean max min absmax squares norm logsumexp".split():
        add("row_reduce", f"--op {op}", "--m 5 --n 1000", big, lambda s: 12800 * 8192 * s, archs=("gfx942",))
    add("map", "", "--n 10000", "--n 67108864", lambda s: 67108864 * 4 * s, types=all_types)
    add("map", "--expr 'y = gelu(x)'", "--n 10000", "--n 67108864", lambda s: 67108864 * 2 * s)
    add("map", "--expr 'y = x' --operands y:f32", "--n 10000", "--n 67108864", lambda s: 67108864 * 6)
    add("map", "--expr 'y = x * s' --operands s:f32:scalar,y:fp8", "--n 10000", "--n 67108864", lambda s: 67108864 * 3)
    add("map", "--expr 'y = (x - m) * r * w + b' --operands m:f32:column,r:f32:column,w:row,b:row", "--m 5 --n 1000", big,
        lambda s: 12800 * 8192 * 2 * s)
    add("map", "--expr 'm = 0.9 * m + 0.1 * g; v = 0.999 * v + 0.001 * g * g; p = p - 0.001 * m / (sqrt(v) + 1e-8)' "
        "--operands m:f32,v:f32:positive,p:f32", "--n 10000", "--n 67108864", lambda s: 67108864 * 26)
    add("silu_and_mul", "", "--m 5 --d 1000", "--m 12800 --d 8192", lambda s: 12800 * 8192 * 3 * s, types=all_types)
    for act in "silu gelu gelu_tanh".split():
        add("gate_and_mul", f"--act {act}", "--m 5 --n 1000", big, lambda s: 12800 * 8192 * 3 * s)
        add("gate_and_mul", f"--act {act} --quant fp8", "--m 5 --n 1000", big, lambda s: 12800 * 8192 * 5)
        add("gate_and_mul", f"--act {act} --quant fp8 --block 128", "--m 5 --n 1024", big, lambda s: 12800 * 8192 * 5 + 12800 * 256)
    add("quantise", "--quant fp8 --amax yes", "--m 5 --n 1000", big, lambda s: 12800 * 8192 * (s + 1))
    for quant in ("fp8", "i8"):
        add("quantise", f"--quant {quant}", "--m 5 --n 1000", big, lambda s: 12800 * 8192 * (s + 1))
        add("quantise", f"--quant {quant} --block 128", "--m 5 --n 1152", big, lambda s: 12800 * 8192 * (s + 1) + 12800 * 256)
    add("vector_add", "", "--n 1001", "--n 67108864", lambda s: 67108864 * 12, types=(None,))
    add("dropout", "", "--n 1000", "--n 67108864", lambda s: 67108864 * 2 * s, types=all_types)
    add("cumsum", small="--n 48 --m 520", types=all_types)
    for kernel in ("all_reduce", "reduce_scatter", "all_gather"):
        for devices in (2, 4, 8):
            add(kernel, f"--devices {devices}", "--n 10008", types=("bf16", "f32") if devices == 4 else ("bf16",))
        if kernel == "all_gather":
            add("moe_dispatch", "--devices 8", "--m 9 --rows 5 --n 520", types=all_types)
            add("moe_combine", "--devices 8 --k 8", "--m 9 --rows 5 --n 520", types=all_types)
        if kernel == "all_reduce":
            add("all_reduce_rmsnorm", "--devices 8", "--m 5 --n 1000", types=all_types)
    add("transpose", "", "--b 2 --m 72 --n 136", "--b 1 --m 8192 --n 8192", lambda s: 8192 * 8192 * 2 * s, types=all_types)
    add("transpose", "--vector 1", "--b 2 --m 67 --n 131", "--b 1 --m 8191 --n 8191", lambda s: 8191 * 8191 * 2 * s)
    add("swap_axes", "", "--b 2 --s 33 --h 5", "--b 8 --s 4096 --h 32", lambda s: 8 * 4096 * 32 * 128 * 2 * s, types=all_types)
    add("gather_rows", "", "--tokens 9 --rows 11 --n 520", "--tokens 16384 --rows 128000 --n 8192", lambda s: 16384 * 8192 * 2 * s, types=all_types)
    add("pad", "", "--n 2 --h 7 --w 5", "--n 64 --h 112 --w 112 --ho 114 --wo 114 --c 64", lambda s: 64 * 64 * (112 * 112 + 114 * 114) * s, types=all_types)
    add("concat", "", "--rows 9 --a 24 --b 40", "--rows 16384 --a 4096 --b 4096 --columns 8192", lambda s: 16384 * 8192 * 2 * s, types=all_types)
    add("causal_conv1d", "", "--t 37 --d 520", "--b 8 --t 4096 --d 4096", lambda s: 8 * 4096 * 4096 * 2 * s, types=all_types)
    add("causal_conv1d_update", "", "--b 5 --d 520", "--b 1024 --d 8192", lambda s: 1024 * 8192 * 8 * s, types=all_types)
    state = lambda size: lambda s: 64 * 32 * (128 * 128 * 2 * size + 256 * s) + 64 * 16 * 256 * s
    add("gated_delta_step", "", "--batch 3 --heads 4", "--batch 64 --heads 32", state(4), types=all_types)
    add("gated_delta_step", "--state bf16", "--batch 3 --heads 4", "--batch 64 --heads 32", state(2))
    prefill, tokens, heads = "--batch 1 --tokens 8192 --heads 32", 8192, 32  # 16 heads of keys, 128 wide as values are
    of_keys, of_values = tokens * 16 * 128, tokens * heads * 128
    add("gated_delta_gates", "", "--tokens 70 --heads 3", prefill, lambda s: 16 * tokens * heads, types=(None,))
    add("gated_delta_keys", "", "--tokens 70 --heads 3", "--batch 1 --tokens 8192 --heads 16", lambda s: 5 * of_keys * s, types=both)
    add("gated_delta_inverse", "", "--tokens 70", prefill, lambda s: of_keys * s + tokens * heads * (8 + 64 * s), types=both)
    add("gated_delta_rows", "", "--tokens 70", prefill, lambda s: (of_keys + 3 * of_values + tokens * heads * 64) * s + tokens * heads * 8, types=both)
    for chunks in (4, 1):
        add("gated_delta_state", f"--chunks {chunks}", "", "--batch 8 --heads 32",
            lambda s, n=chunks: 8 * (heads * 128 * 128 * 4 * (n + 1) + 64 * n * (16 + 3 * heads) * 128 * s), types=both if chunks == 4 else ("bf16",))
    add("gated_delta_out", "", "--tokens 70", prefill, lambda s: (2 * of_keys + 2 * of_values) * s + 128 * heads * 128 * 128 * 4, types=both)
    for kernel in ("inverse", "rows", "state", "out"):
        add(f"gated_delta_{kernel}", "--key 64 --group 1" + (" --value 64" if kernel != "inverse" else ""), "" if kernel == "state" else "--tokens 70", archs=("gfx942",))
    for side, c, tile in ((56, 64, "64x64"), (28, 256, "128x128")):
        add("conv2d", f"--c {c} --tile {tile}", "--n 3 --h 9 --w 7 --k 36", f"--n 16 --h {side} --w {side} --p {side} --q {side} --pixels {16 * side * side} --k {c}", types=both)
        add("conv2d", f"--c {2 * c} --tile {tile}", "--n 3 --h 9 --w 7 --k 36", f"--n 16 --h {side} --w {side} --p {side} --q {side} --pixels {16 * side * side} --k {c}", types=("fp8",))
    add("conv3d", "--c 64", "--n 3 --d 4 --h 5 --w 7 --k 36", "--n 1 --d 16 --h 28 --w 28 --o 16 --p 28 --q 28 --pixels 12544 --k 64", types=both)
    add("scatter_rows", "", "--tokens 9 --rows 11 --n 520", "--tokens 16384 --rows 32768 --n 8192", lambda s: 16384 * 8192 * 2 * s, types=all_types)
    add("scatter_add", "--n 8192", "--tokens 9 --rows 11", "", None, types=all_types)
    return out


def words(text):
    return [a or b for a, b in re.findall(r"'([^']*)'|(\S+)", text)]


def run(inlay, *arguments):
    done = subprocess.run([inlay, *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"inlay {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else done.stdout


def parameter(inlay, arch, name):
    text = run(inlay, "time", "--list-parameters", "--arch", arch)
    return float(re.search(rf"^{name}\s+(\S+)", text, re.M).group(1))


def tables(folder, kernel, sizes):
    """Arguments that are no zeros in the model's launch: of decode attention all positions in use, each page by one sequence, in any order."""
    if kernel == "mla_reduce":
        (pathlib.Path(folder) / "lengths").write_bytes(array.array("i", [256 * int(sizes["splits"])] * int(sizes["sequences"])).tobytes())
        return ["--arg", f"lengths=in:{folder}/lengths"]
    if kernel not in ("paged_decode", "mla_decode"):
        return []
    pages = list(range(int(sizes["pages"])))
    random.Random(1).shuffle(pages)
    for name, values in (("table", pages), ("lengths", [int(sizes["keys"])] * int(sizes["sequences"]))):
        (pathlib.Path(folder) / name).write_bytes(array.array("i", values).tobytes())
    return [x for name in ("table", "lengths") for x in ("--arg", f"{name}=in:{folder}/{name}")]


def ran(inlay, row, *arguments):
    kernel, form, small, large, _ = row
    r = run(inlay, "run", kernel, *words(form), *words(small), "--auto", "no", "--check", "all", *arguments, "--json")
    return {"kernel": kernel, "form": form, "small": small, "claims": r["proofs"]["proved"], "launch": r["proofs"]["runtime_checked"],
            "ok": r["ok"] and r["proofs"]["refuted"] == 0, "message": r["message"], "findings": len(r["findings"]), "validated": (r["validation"] or {}).get("verdict"),
            "large": large, "clocks": None, **r["resources"]}


def quick(chosen, count=100):
    """A row of each kernel on gfx942, and of as many as there is room for the last one on gfx950; not of what takes seconds."""
    slow = "flash_attention varlen_attention paged_decode mla_decode block_scale_gemm moe_combine".split()
    of = {}
    for row in chosen:
        of.setdefault(row[0], {}).setdefault(re.search(r"--arch (\S+)", row[1]).group(1), []).append(row)
    first = [archs["gfx942"][0] for archs in of.values()]
    more = [archs["gfx950"][-1] for kernel, archs in of.items() if kernel not in slow and "gfx950" in archs]
    return first + more[:count - len(first)]


def measured(inlay, row, hbm):
    kernel, form, small, large, moved = row
    out = ran(inlay, row)
    if large:
        with tempfile.TemporaryDirectory() as folder:
            run(inlay, "build", kernel, *words(form), "--no-validate", "-o", folder)
            sizes = [f"{n.replace('-', '_')}={v}" for n, v in zip(*[iter(words(large.replace("--", "")))] * 2)]
            manifest = json.loads((pathlib.Path(folder) / f"{kernel}.json").read_text())
            names = [s["name"] for s in manifest["sizes"]]
            given = dict(s.split("=") for s in sizes)
            if kernel == "map":
                given = {"count": given["n"]} if names == ["count"] else {"rows": given["m"], "columns": given["n"]}
            if names == ["m", "blocks"]:
                given = {"m": given["m"], "blocks": str(int(given["n"]) // 128)}
            t = run(inlay, "time", f"{folder}/{kernel}.json", *[x for n in names for x in ("--size", f"{n}={given[n]}")],
                    *tables(folder, kernel, given), "--quick", "--json")
            chip = t["timing"]["chip"]
            out["clocks"] = chip["clocks"]
            if moved:
                rate = hbm[re.search(r"gfx\d+", form).group(0)] / (chip["clock_mhz"] * 1e6)
                out["bound"] = moved / rate
    return out


def key(row):
    """What a row of the page begins with."""
    kernel, form, small, large, _ = row
    dtype = re.search(r"--dtype (\S+)", form)
    options = re.sub(r"--(arch|dtype) \S+ ?", "", form)
    cells = [kernel, dtype.group(1) if dtype else "", re.search(r"--arch (\S+)", form).group(1), f"`{large or small}`" if large or small else "",
             f"`{options}`" if options else ""]
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " | "


def line(row, r):
    cells = [f"{r['claims']} + {r['launch']}", "right" if r["ok"] else "WRONG", "silent" if r["findings"] == 0 else str(r["findings"]),
             r["validated"], r["vgpr"] + r["agpr"], r["lds_bytes"], r["scratch_bytes"],
             f"{r['clocks']:.0f}" if r["clocks"] else "", f"{r['bound']:.0f}" if r.get("bound") else "",
             f"{r['clocks'] / r['bound']:.2f}" if r.get("bound") else ""]
    return key(row) + " | ".join(str(c) for c in cells) + " |"


HEAD = """# The prebuilt kernels

Written by `tests/kernels/catalogue.py INLAY --write docs/kernels.md` from what ran. `inlay kernels` is the same list with a line each, `inlay kernels KERNEL` has
its options, and `inlay run KERNEL` builds, proves, runs and judges it.

Each row is one build. *Claims*: proved for all sizes, + those that the launch checks. *Result*: of a launch of ragged sizes on the emulator, within the bound of its error, element by
element, against plain loops in double. *Checks*: of all sanitizers. *Machine code*: whether it holds what its instructions say, within the budget of a build (`inlay validate` has none; [validation](validate.md)).
*Clocks*: of a launch of *sizes* (nothing there: of the default ones, not timed), by the [cycle model](timing.md), with everything in memory; *bound*: its bytes, each counted once, at the model's bandwidth (peak of the
data sheet times 0.8). A memory-bound kernel is to be at most 1.15 times that; below 1 is what the last writes leave in caches. topk_gating of 16 bits
computes: lanes sort their logits. So does grouped_gating, DeepSeek-V3's (`inlay run grouped_gating --m 7 --scale 2.5`): sigmoids, the best groups, and of f32 the logits of the chosen experts, each by a fold.

"""


def page(lines, groups):
    text = HEAD
    for title, names in groups:
        text += f"## {title}\n\n| kernel | type | target | sizes | options | claims | result | checks | machine code | registers | LDS | scratch | clocks | bound | ratio |\n"
        text += "|" + "---|" * 15 + "\n"
        text += "".join(one + "\n" for one in lines if one.split(" | ")[0][2:] in names) + "\n"
    return text.rstrip() + "\n"


def groups_of(inlay):
    groups = []
    for one in run(inlay, "kernels").splitlines():
        if one and not one.startswith(" ") and not one.startswith("inlay "):
            groups.append((one, []))
        elif one.startswith("  "):
            groups[-1][1].append(one.split()[0])
    return groups


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inlay")
    parser.add_argument("--write")
    parser.add_argument("--keep", action="store_true", help="rows that FILE has already are not run again")
    parser.add_argument("--rows", type=int, default=1000, help="at most so many of a kernel, and those that are kept")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    inlay = options.inlay
    groups = groups_of(inlay)
    hbm = {a: parameter(inlay, a, "hbm_tbytes") * 1e12 * parameter(inlay, a, "hbm_efficiency") for a in ("gfx942", "gfx950")}
    wanted = lambda row: not options.only or row[0] in options.only
    chosen = [r for r in rows() if wanted(r) or options.write]
    if not options.write and not options.only:
        text = PAGE.read_text()
        missing = [k for _, names in groups for k in names if f"\n| {k} |" not in text]
        if missing:
            sys.exit(f"docs/kernels.md has no {', '.join(missing)}; write it again: catalogue.py INLAY --write docs/kernels.md")
        timed = [next(r for r in chosen if r[0] == k) for k in "gemv cross_entropy map transpose".split()]
        untimed = [r for r in quick(chosen) if r not in timed]
        absent = [row for row in timed + untimed if key(row) not in text]
        if absent:
            sys.exit(f"docs/kernels.md has no row {key(absent[0])}; write it again: catalogue.py INLAY --write docs/kernels.md")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda row: measured(inlay, row, hbm) if row in timed else ran(inlay, row, "--no-validate"), timed + untimed))
        for row, r in zip(timed + untimed, results):
            if not r["ok"] or r["findings"] or row in timed and r["clocks"] > 1.15 * r["bound"]:
                sys.exit(f"wrong, not silent, or above 1.15 of its bound: {line(row, r)} {r['message']}")
        print(f"{len(results)} rows proved, right and silent, {len(timed)} of them timed and at the bound of memory; the page has every kernel")
        return

    kept = {}
    if options.write and (options.keep or options.only):
        had = pathlib.Path(options.write).read_text().splitlines()
        kept = {row: one for row in chosen for one in had if one.startswith(key(row)) and (options.keep or not wanted(row))}
        chosen = [row for row in chosen if row in kept or wanted(row)]
    of_kernel = {}
    for row in chosen:
        of_kernel.setdefault(row[0], []).append(row)
    chosen = [row for row in chosen if row in kept or row in of_kernel[row[0]][:options.rows]]

    def shown(row):
        if row in kept:
            return kept[row]
        r = measured(inlay, row, hbm)
        print(line(row, r), r["message"], flush=True)
        return line(row, r)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        lines = list(pool.map(shown, chosen))
    if options.write:
        pathlib.Path(options.write).write_text(page(lines, groups))
    bad = [one for one in lines if " | right | silent | " not in one]
    slow = [one for one in lines if re.search(r"\| ([0-9.]+) \|$", one) and float(one.split()[-2]) > 1.15]
    print(f"{len(lines)} rows, {len(bad)} wrong, {len(slow)} above 1.15 of their bound")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
