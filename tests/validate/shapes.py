#!/usr/bin/env python3
"""Kernels and tile shapes whose machine code is right: none of them may be refuted.

    shapes.py INLAY [--only TEXT] [--catalogue | --options] [--budget STEPS]

--catalogue: each kernel that `inlay kernels` lists, with its default shape, on all targets that have its instructions.
--options: every build of tests/kernels/catalogue.py, which are those of docs/kernels.md: other types, shapes, options.

Prints the verdict of `inlay validate` for each, with its first reason where it is undecided. Exit 1 when one is not validated,
but for those of UNDECIDED, which docs/validate.md lists: these have to be undecided.
"""
import argparse
import json
import pathlib
import resource
import shlex
import subprocess
import sys

GEMM = [
    "", "--tile 64x64x64", "--tile 32x32x64 --waves 1x1", "--tile 64x32x32 --waves 2x1 --mfma 32 --out f32",
    "--tile 32x64x32 --waves 1x2 --dtype bf16", "--tile 128x64x64", "--tile 64x128x32", "--dtype fp8", "--dtype bf8",
    "--dtype i8",
]
GFX950 = [
    "--dtype fp8", "--tile 32x32x64 --waves 1x1", "--tile 256x256x64", "--transfer yes",
    "--tile 64x64x64 --transfer yes", "--tile 256x256x64 --transfer yes",
]
TRANSFERS = ["--tile 64x64x64", "--tile 256x256x32", "--tile 64x64x128 --dtype i8"]  # gfx942: 4 bytes a lane
KERNELS = ["gemm --transfer yes " + x for x in TRANSFERS] + ["preshuffle_gemm --transfer yes", "preshuffle_gemm --tile 48x128x128 --dtype i8 --transfer yes"]
KERNELS += ["gemm " + x for x in GEMM] + ["gemm --arch gfx950 " + x for x in GFX950]
KERNELS += ["preshuffle_gemm", "preshuffle_gemm --dtype bf8"]
KERNELS += ["preshuffle_gemm --arch gfx950 " + x for x in ("", "--transfer yes", "--dtype i8")]
KERNELS += ["softmax", "softmax --threads 128 --vectors 1", "rmsnorm --arch gfx950 --threads 128 --vectors 1"]
KERNELS += [k + " --threads 128 --vectors 2 --arch " + g for k in ("softmax", "rmsnorm") for g in ("gfx942", "gfx950")]
KERNELS += ["layernorm", "layernorm --dtype f32 --arch gfx950", "layernorm --residual yes", "rmsnorm --residual yes --arch gfx950"]
KERNELS += ["silu_and_mul", "silu_and_mul --arch gfx950 --dtype bf16", "rmsnorm --dtype f32 --vector 1"]
KERNELS += ["softmax --stream yes", "layernorm --stream yes --arch gfx950", "layernorm_backward --stream yes --dtype bf16"]
KERNELS += ["gemm --tile 64x64x64 --split 64 --split-k-fixup yes --alpha yes --beta in-place --arch " + g for g in ("gfx942", "gfx950")]
KERNELS += ["vector_add", "moe_stage1"]
KERNELS += ["gemm --dtype i8 --scales yes", "gemm --arch gfx950 --dtype i8 --scales yes --bias yes"]
KERNELS += ["gemm --tile 64x64x64 --alpha yes --beta yes --bias yes", "gemm --arch gfx950 --tile 64x64x64 --alpha yes --beta in-place",
            "gemm --tile 64x64x64 --beta yes --pad-a 8 --pad-b 16 --pad-c 5 --pad-d 3"]
KERNELS += [f"gemm --tile 64x64x64 --activation {act} --bias yes --row-bias yes --residual yes" for act in ("relu", "silu")]
KERNELS += ["flash_attention", "flash_attention --arch gfx950 --waves 1 --tile-q 32 --tile-k 32 --head-dim 64"]
KERNELS += ["flash_attention --causal 1", "flash_attention --causal 1 --group 2 --head-dim 64"]
KERNELS += ["block_scale_gemm", "block_scale_gemm --arch gfx950"]
KERNELS += ["preshuffle_gemm --arch gfx950 --dtype fp4" + x for x in ("", " --tile 32x32x256 --waves 1x1", " --tile 64x128x256")]
KERNELS += ["gemm --arch gfx950 --dtype fp4 --tile 32x32x256 --waves 1x1"]
KERNELS += ["gemm " + x for x in ("--dtype f32 --tile 64x64x32", "--dtype xf32", "--arch gfx950 --dtype f32 --layout nn --tile 64x64x32", "--arch gfx950 --dtype mxfp8")]
KERNELS += ["gemm --dtype f64", "gemm --arch gfx950 --dtype f64 --tile 16x64x16 --waves 1x4 --alpha yes --beta yes --bias yes --activation relu"]
KERNELS += ["gemm --arch gfx950 --dtype mxbf8 --tile 64x64x256 --transfer yes", "preshuffle_gemm --arch gfx950 --dtype mxfp8 --waves 1x4"]
KERNELS += ["weight_only_gemm " + x for x in ("", "--dtype f16 --arch gfx950", "--weights fp8", "--weights fp8 --arch gfx950 --group 32")]
KERNELS += ["flash_attention --dtype f16 --waves 2 --tile-q 64", "flash_attention --waves 1 --tile-q 32 --tile-k 32 --head-dim 64"]
KERNELS += ["block_scale_gemm --tile-m 64 --out f32"]
KERNELS += ["flash_attention --arch gfx950", "flash_attention --arch gfx950 --causal 1"]
KERNELS += ["gemm --tile-order " + x for x in ("xcd", "rows:8", "columns:4", "xcd+rows:8 --arch gfx950")]
KERNELS += ["gemm --arch gfx950 --dtype fp8 --tile 96x192x128 --waves 1x4 --tile-order rows:8 --n-multiple 8", # divided by 192
            "gemm --arch gfx950 --tile 128x160x64 --tile-order xcd+rows:4 --n-multiple 8",
            "gemm --dtype f32 --tile 16x64x64 --waves 1x4 --split 4096 --split-k-at-once 2 --split-k-fixup yes",
            "gemm --arch gfx950 --dtype f32 --tile 32x96x64 --waves 2x2"] # more accesses of LDS in a trip than lgkmcnt counts
KERNELS += ["preshuffle_gemm --tile-order xcd+columns:3", "gemm --split 1024 --out f32", "gemm --split 512 --out i32 --dtype i8"]
KERNELS += ["preshuffle_gemm --split 1024 --out f32 --arch gfx950", "preshuffle_gemm --split 1024 --out f32 --tile-order rows:4"]
KERNELS += [k + " --dtype fp8 --scales block" for k in ("grouped_gemm", "moe_stage1", "moe_stage2 --arch gfx950")]
KERNELS += ["attention_backward_dq --causal 1 --group 2", "kv_write --kv-dtype fp8", "kv_write --kv-dtype fp8 --arch gfx950", "mla_decode --heads 16 --kv-dtype fp8"]
KERNELS += ["gated_delta_inverse", "gated_delta_rows", "gated_delta_rows --arch gfx950 --group 4", "gated_delta_state --arch gfx950"]
KERNELS += ["varlen_attention " + x for x in ("--kv-dtype fp8", "--dtype fp8 --arch gfx950", "--head-dim 96")]

# What a target has no instructions for.
ABSENT = ("block_scale_gemm --arch gfx90a", "quantise --arch gfx90a", "all_reduce --arch gfx90a", "all_reduce_rmsnorm --arch gfx90a", "reduce_scatter --arch gfx90a", "all_gather --arch gfx90a", "moe_dispatch --arch gfx90a", "moe_combine --arch gfx90a")
# Lines that begin so; docs/validate.md says why.
UNDECIDED = ("moe_starts --arch gfx90a", "conv3d --arch gfx90a")
# Of --options, docs/measurements/validate.md.
UNDECIDED_OPTIONS = tuple(f"{k} --arch {g} {o}" for g in ("gfx942", "gfx950") for k, o in (
    ("gemm", "--dtype bf16 --tile 64x64x64 --stream-k-workgroups "), ("flash_attention", "--dtype bf16 --window "),
    ("varlen_attention", "--dtype bf16 --bias "), ("paged_decode", "--dtype bf16 --window 4096 --page 64"),
    ("moe_stage1", "--dtype f16 --group 64"), ("moe_stage1", "--dtype bf16 --group 64"))) + (
    "moe_stage2 --arch gfx950 --dtype f16 --group 64", "moe_stage2 --arch gfx950 --dtype bf16 --group 64",
    "gemm --arch gfx942 --dtype f32 --alpha yes --beta yes")
# Undecided too, and not worth 100 s each time: products of f16 and bf16 on gfx90a flush subnormals, which is read as a function of both.
PRODUCTS = [f"{k} --arch gfx90a" for k in ("gemm", "preshuffle_gemm", "dual_gemm", "moe_stage1", "flash_attention")]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("inlay")
parser.add_argument("--only", default="", help="kernels whose line contains this")
parser.add_argument("--catalogue", action="store_true", help="every kernel with its default shape on all targets")
parser.add_argument("--targets", default="gfx942,gfx950,gfx90a", help="with --catalogue")
parser.add_argument("--options", action="store_true", help="every build of tests/kernels/catalogue.py")
parser.add_argument("--budget", help="of inlay validate")
parser.add_argument("--limit", type=float, default=1e9, help="with --catalogue: processor seconds, with the build")
a = parser.parse_args()
if a.catalogue:
    listed = json.loads(subprocess.run([a.inlay, "kernels", "--json"], capture_output=True, text=True, check=True).stdout)
    KERNELS = [f"{k['name']} --arch {g}" for k in listed for g in a.targets.split(",")]
    KERNELS = [k for k in KERNELS if k not in ABSENT and k not in PRODUCTS]
if a.options:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "kernels"))
    import catalogue

    KERNELS = list(dict.fromkeys(f"{kernel} {form}" for kernel, form, *_ in catalogue.rows()))
    UNDECIDED += UNDECIDED_OPTIONS


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


counts, bad = {}, 0
for line in KERNELS:
    if a.only not in line:
        continue
    begin = processor_seconds()
    try:
        r = subprocess.run([a.inlay, "validate", *shlex.split(line), *(["--budget", a.budget] if a.budget else []), "--json"], capture_output=True, text=True, timeout=1800)
        verdict = {0: "validated", 1: "refuted", 3: "undecided"}.get(r.returncode, "error")
        report = json.loads(r.stdout) if r.stdout.startswith("{") else {}
        why = report.get("refuted") or report.get("undecided") or [r.stderr.strip()]
        why = why[0] if isinstance(why[0], str) else why[0].get("message", "")
    except subprocess.TimeoutExpired:
        verdict, why = "undecided", "more than half an hour"
    seconds = processor_seconds() - begin
    counts[verdict] = counts.get(verdict, 0) + 1
    expected = "undecided" if line.startswith(UNDECIDED) else "validated"
    slow = a.catalogue and seconds > a.limit
    bad += verdict != expected or slow
    print(f"{verdict:10} {seconds:6.1f} s  {' '.join(line.split())}{'  too slow' if slow else ''}", flush=True)
    if verdict != "validated":
        print("    " + why[:300], flush=True)
print(", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
sys.exit(1 if bad else 0)
