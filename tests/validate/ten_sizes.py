#!/usr/bin/env python3
"""Kernels and tile shapes that are right on ten sizes each: none of them is refuted.

    ten_sizes.py INLAY [--only TEXT] [--first N]

Each line of the table is a kernel with a tile shape. It is emulated on ten sizes with every sanitizer, ragged ones among
them, against its reference: passes, without a finding; and it is validated: not refuted. Kernels of `UNDECIDED` may stay
undecided, for the reasons of docs/validate.md, all others are validated. Exit 1 where any of that is not so, and where fewer
than 40 are held against each other.
"""
import argparse
import json
import subprocess
import sys

M = [1, 5, 17, 33, 64, 65, 96, 100, 130, 200]
N = [16, 300, 63, 70, 64, 128, 1, 36, 129, 257]
K = [8, 24, 72, 200, 64, 256, 320, 128, 136, 512]


def products(names="m n k", n_by=1, k_by=8):
    """Ten sizes of a matrix product, N and K raised to multiples."""
    def up(v, by):
        return (v + by - 1) // by * by
    m, n, k = names.split()
    return [{m: a, n: up(b, n_by), k: up(c, k_by)} for a, b, c in zip(M, N, K)]


def rows(width, by, most):
    """Ten sizes of rows: the shortest, the longest, and what is no multiple of anything."""
    columns = [by, 2 * by, 3 * by, most // 2, most // 2 + by, most - by, most, most // 4, most // 4 - by, 5 * by]
    return [{"m": 1 + i % 4, width: max(by, min(most, c) // by * by)} for i, c in enumerate(columns)]


GEMM = products()
GEMM8 = products(k_by=16)
PRE = products(n_by=16, k_by=32)
PRE8 = products(n_by=16, k_by=64)
FP4 = products(n_by=16, k_by=256)
MOE = [{"tokens": t, "k": k, "inter": i, "experts": e} for t, k, i, e in [
    (1, 8, 8, 1), (5, 64, 64, 2), (17, 72, 40, 3), (33, 128, 128, 4), (64, 256, 64, 4), (65, 136, 72, 5), (100, 64, 200, 7),
    (130, 320, 128, 8), (7, 200, 8, 6), (96, 512, 136, 2)]]
ATTENTION = [{"queries": q, "keys": k, "heads": h, "batch": b} for q, k, h, b in [
    (1, 1, 2, 1), (5, 64, 2, 1), (33, 65, 2, 2), (64, 64, 4, 1), (65, 129, 2, 1), (100, 36, 2, 1), (130, 200, 2, 1),
    (128, 128, 2, 1), (200, 300, 2, 1), (31, 257, 2, 2)]]
CAUSAL = [dict(s, keys=max(s["queries"], s["keys"])) for s in ATTENTION]
ROPE = [{"tokens": t, "heads": h} for t, h in
        [(1, 1), (2, 3), (5, 8), (7, 32), (16, 5), (33, 2), (64, 7), (3, 16), (65, 1), (10, 9)]]
ADD = [{"n": n} for n in (1, 2, 63, 64, 255, 256, 257, 1000, 4096, 5003)]

TABLE = [(f"gemm --arch {g} {x}", GEMM) for g, x in [
    ("gfx942", "--tile 64x64x64"), ("gfx942", "--tile 32x32x64 --waves 1x1"),
    ("gfx942", "--tile 64x32x32 --waves 2x1 --mfma 32 --out f32"), ("gfx942", "--tile 32x64x32 --waves 1x2 --dtype bf16"),
    ("gfx942", "--tile 128x64x64"), ("gfx942", "--tile 64x128x32"), ("gfx942", ""), ("gfx942", "--tile-order xcd+rows:2"),
    ("gfx942", "--tile 64x64x64 --split 128 --out f32"), ("gfx950", "--tile 64x64x64"),
    ("gfx950", "--tile 32x32x64 --waves 1x1"), ("gfx950", "--tile 256x256x64"), ("gfx950", "--tile 64x64x64 --transfer yes"),
    ("gfx950", "--tile 128x128x64 --dtype bf16 --mfma 32")]]
TABLE += [(f"gemm --arch {g} {x}", GEMM8) for g, x in [
    ("gfx942", "--dtype fp8"), ("gfx942", "--dtype bf8 --tile 64x64x128"), ("gfx942", "--dtype i8"),
    ("gfx950", "--dtype fp8"), ("gfx950", "--dtype i8 --tile 64x128x128"),
    ("gfx942", "--dtype fp8 --scales yes --bias yes"), ("gfx950", "--dtype i8 --scales yes")]]
TABLE += [(f"preshuffle_gemm --arch {g} {x}", PRE) for g, x in [
    ("gfx942", ""), ("gfx942", "--tile 64x128x64 --dtype bf16"), ("gfx950", ""), ("gfx950", "--transfer yes")]]
TABLE += [(f"preshuffle_gemm --arch {g} {x}", PRE8) for g, x in [
    ("gfx942", "--dtype fp8"), ("gfx950", "--dtype i8"), ("gfx942", "--dtype bf8")]]
TABLE += [("preshuffle_gemm --arch gfx950 --dtype fp4 --tile 32x32x256 --waves 1x1", FP4),
          ("gemm --arch gfx950 --dtype fp4 --tile 32x32x256 --waves 1x1", FP4)]
TABLE += [(f"block_scale_gemm --arch {g}", products(n_by=16, k_by=128)) for g in ("gfx942", "gfx950")]
TABLE += [(f"weight_only_gemm --arch {g}", products(n_by=4, k_by=64)) for g in ("gfx942", "gfx950")]
TABLE += [(f"{k} --arch {g}", MOE) for k in ("moe_stage1", "moe_stage2") for g in ("gfx942", "gfx950")]
TABLE += [("flash_attention --arch gfx942", ATTENTION), ("flash_attention --arch gfx950 --causal 1", CAUSAL),
          ("flash_attention --arch gfx942 --waves 1 --tile-q 32 --tile-k 32 --head-dim 64 --group 2", ATTENTION)]
TABLE += [(f"{k} --arch {g}", rows("n", 8, 8192)) for k in ("softmax", "rmsnorm", "layernorm") for g in ("gfx942", "gfx950")]
TABLE += [("softmax --threads 128 --vectors 1", rows("n", 8, 1024)), ("rmsnorm --dtype f32 --vector 1", rows("n", 1, 1024)),
          ("layernorm --residual yes --dtype f32 --arch gfx950", rows("n", 4, 4096)),
          ("rmsnorm --quant i8", rows("n", 8, 8192)), ("layernorm --quant fp8 --arch gfx950", rows("n", 8, 8192))]
TABLE += [(f"silu_and_mul --arch {g}", rows("d", 8, 8192)) for g in ("gfx942", "gfx950")]
TABLE += [("rope", ROPE), ("rope --arch gfx950 --in-place yes", ROPE)]
TABLE += [(f"vector_add --arch {g}", ADD) for g in ("gfx942", "gfx950")]

UNDECIDED = []

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("inlay")
parser.add_argument("--only", default="", help="lines that contain this")
parser.add_argument("--first", type=int, default=0, help="that many lines only")
a = parser.parse_args()
chosen = [(line, sizes) for line, sizes in TABLE if a.only in line]
if a.first:
    chosen = chosen[:a.first]


def call(command, *arguments):
    r = subprocess.run([a.inlay, command, *arguments, "--json"], capture_output=True, text=True, timeout=1800)
    return r.returncode, json.loads(r.stdout) if r.stdout.startswith("{") else {}, r.stderr.strip()


counts, bad, runs = {}, 0, 0
for line, sizes in chosen:
    options = line.split()
    wrong = []
    assert len({json.dumps(s, sort_keys=True) for s in sizes}) == 10, line
    for size in sizes:
        text = [x for name, v in size.items() for x in ("--" + name, str(v))]
        status, report, error = call("run", *options, *text, "--check", "all", "--auto", "no")
        runs += 1
        found = [f for f in report.get("findings", []) if not f.get("note")]
        if status != 0 or not report.get("ok") or found:
            wrong.append(" ".join(text) + ": " + (report.get("message") or str(found)[:200] or error[:300]))
    status, report, error = call("validate", *options)
    verdict = {0: "validated", 1: "refuted", 3: "undecided"}.get(status, "error")
    counts[verdict] = counts.get(verdict, 0) + 1
    right = not wrong and (verdict == "validated" or (verdict == "undecided" and line in UNDECIDED))
    bad += not right
    print(f"{verdict:10} {10 - len(wrong):2} of 10 sizes pass  {' '.join(options)}", flush=True)
    for w in wrong:
        print("    " + w, flush=True)
    if verdict == "refuted" or verdict == "error":
        print("    " + str(report.get("refuted", [error])[:1])[:400], flush=True)
print(f"{len(chosen)} kernels and shapes, {runs} runs: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
if not a.only and not a.first and len(chosen) < 40:
    bad += 1
sys.exit(1 if bad else 0)
