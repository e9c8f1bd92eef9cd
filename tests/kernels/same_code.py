#!/usr/bin/env python3
"""Whether two builds of inlay emit the same code: same_code.py OLD NEW

Builds kernels that both have in many configurations, without sizes, and compares the disassembly; source lines are left out. For changes that
should not reach machine code. Exit status 1 when something differs.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

KERNELS = ("gemm preshuffle_gemm block_scale_gemm weight_only_gemm moe_stage1 moe_stage2 flash_attention varlen_attention attention_blocks mla_decode mla_reduce softmax rmsnorm layernorm "
           "silu_and_mul rope cumsum vector_add map row_reduce argmax log_softmax softmax_backward log_softmax_backward cross_entropy cross_entropy_backward rmsnorm_backward "
           "layernorm_backward group_norm quantise gate_and_mul topk_gating grouped_gating moe_starts moe_blocks moe_places moe_sort weighted_combine transpose swap_axes all_reduce all_reduce_rmsnorm reduce_scatter all_gather moe_dispatch moe_combine dropout gather_rows scatter_rows kv_write scatter_add pad concat causal_conv1d causal_conv1d_update gated_delta_step gated_delta_gates gated_delta_keys gated_delta_inverse gated_delta_rows gated_delta_state gated_delta_out conv2d conv3d gemv batched_gemm grouped_gemm dual_gemm").split()
MORE = """gemm --dtype fp8
gemm --dtype i8
gemm --arch gfx950 --dtype fp4
gemm --dtype i8 --scales yes --bias yes
gemm --tile 64x128x32 --waves 1x4 --mfma 32
gemm --arch gfx950 --transfer yes --tile 256x256x64 --waves 2x4 --pingpong yes --n-multiple 8 --dtype bf16
gemm --direct b
gemm --stages 3 --tile 64x64x64
gemm --stagger yes
gemm --split 128 --out f32
gemm --split 128 --tile 64x64x64 --parts stored
gemm --stream-k 304 --out f32
gemm --tile-order xcd+rows:4
gemm --pipeline 'waves 1, lead 5'
preshuffle_gemm --dtype fp8 --arch gfx950
softmax --threads 64 --vectors 2 --stream yes
softmax --vector 1
rmsnorm --quant fp8 --residual yes --epsilon 1e-6
layernorm --in-place yes --dtype bf16
weight_only_gemm --group 128 --weights fp8
weight_only_gemm --tile-m 64 --tile-n 64
block_scale_gemm --tile-m 32 --out f32
flash_attention --causal 1 --waves 8 --tile-q 128 --tile-k 64
moe_stage2 --out f16
rope --in-place yes
cumsum --rows 8 --threads 128"""


def code(inlay, reader, configuration):
    words = shlex.split(configuration)
    with tempfile.TemporaryDirectory() as folder:
        built = subprocess.run([inlay, "build", *words, "-o", folder], capture_output=True, text=True,
                               env=dict(os.environ, INLAY_CACHE_DIR=""))
        if built.returncode != 0:
            sys.exit(f"{inlay} build {configuration}\n{built.stderr}")
        read = subprocess.run([reader, "inspect", f"{folder}/{words[0]}.hsaco", "--disassemble"], capture_output=True,
                              text=True)
    return [line for line in read.stdout.split("\n")[1:] if not line.startswith("; ")]


def main():
    old, new = sys.argv[1:3]
    both = set.intersection(*({k["name"] for k in json.loads(subprocess.run([x, "kernels", "--json"], capture_output=True, text=True, check=True).stdout)} for x in (old, new)))
    all_of_them = [f"{k} --arch {a}" for a in ("gfx942", "gfx950") for k in KERNELS if k in both] + MORE.split("\n")
    differ = 0
    for configuration in all_of_them:
        a, b = code(old, old, configuration), code(new, old, configuration)
        differ += a != b
        print("same   " if a == b else "DIFFERS", f"{len(a):6} lines", configuration, flush=True)
    print(f"{len(all_of_them)} configurations, {differ} differ")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
