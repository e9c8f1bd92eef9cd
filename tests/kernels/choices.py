#!/usr/bin/env python3
"""How good `auto` is, and the table of forms that ships.

  choices.py INLAY --compare [--skip N] [--sample N] [--most N] [--write docs/choosing.md]
  choices.py INLAY --table kernels/tables/forms.tsv [--sample N] [--most N]

--compare: for shapes x types x processors the modelled clocks of what `inlay build KERNEL --m .. --json` chooses beside the fewest that
`inlay tune` finds among all forms within three times the best bound. --table: the forms that tuning finds, a row a shape; rows
that the file has already are kept. Nothing is read from a cache (INLAY_CACHE_DIR is empty).

Shapes are sizes of linear layers of models that people run, without anything else of the tables that they stand in:
  ROCm/aiter c786c7a42235d8e98d39f8cdd6b20e8e1b9a5dcf, aiter/configs/a8w8_gemm_model_config/ (Llama-3.1-70B-Instruct-TP8.csv,
  Llama-3.1-8B-Instruct-TP1.csv, Mixtral-8x7B-Instruct-v0.1-TP1.csv), and squares.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

LAYERS = [  # N, K
    (1280, 8192), (7168, 8192), (8192, 3584), (8192, 1024),  # Llama 3.1 70B, 8 ways
    (6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336),  # Llama 3.1 8B
]
ROWS = [1, 16, 64, 256, 1024, 4096, 16384]


def gemms():
    """Shapes with types and processors, each once, mixed so that a sample of the first N has of everything."""
    all_of_them = [("gemm", "gfx950", "bf16", (4096, 4096, 4096)), ("gemm", "gfx942", "f16", (4096, 4096, 4096)),
                   ("gemm", "gfx950", "fp8", (4096, 4096, 4096)), ("gemm", "gfx942", "bf16", (16, 8192, 1024)),
                   ("preshuffle_gemm", "gfx950", "bf16", (1024, 4096, 4096)),
                   ("block_scale_gemm", "gfx942", "", (256, 4096, 4096)),
                   ("softmax", "gfx942", "f16", (4096, 4096)), ("gemm", "gfx942", "fp8", (1, 1280, 8192)),
                   ("flash_attention", "gfx950", "bf16", (1, 2048, 2048, 16)), ("gemm", "gfx950", "f16", (64, 7168, 8192)),
                   ("weight_only_gemm", "gfx942", "bf16", (64, 4096, 4096)), ("rmsnorm", "gfx950", "bf16", (1024, 8192)),
                   ("gemm", "gfx950", "bf16", (256, 1280, 8192)), ("gemm", "gfx942", "i8", (1024, 8192, 1024)),
                   ("gemm", "gfx950", "fp4", (4096, 4096, 4096)), ("gemm", "gfx942", "bf16", (2048, 4224, 4096))]
    k = 0
    for m in ROWS:
        for n, of_k in LAYERS:
            for arch in ("gfx942", "gfx950"):
                for kernel, types in (("gemm", ("bf16", "fp8")), ("preshuffle_gemm", ("bf16",))):
                    one = (kernel, arch, types[k % len(types)], (m, n, of_k))
                    k += 1
                    if one not in all_of_them:
                        all_of_them.append(one)
    return all_of_them


NAMES = {"gemm": "m n k", "preshuffle_gemm": "m n k", "block_scale_gemm": "m n k", "weight_only_gemm": "m n k",
         "softmax": "m n", "rmsnorm": "m n", "layernorm": "m n", "flash_attention": "batch queries keys heads"}


def options(case):
    kernel, arch, dtype, sizes = case
    out = [kernel, "--arch", arch] + (["--dtype", dtype] if dtype else [])
    for name, size in zip(NAMES[kernel].split(), sizes):
        out += ["--" + name, str(size)]
    return out


def run(inlay, arguments):
    environment = dict(os.environ, INLAY_CACHE_DIR="")
    begin = time.time()
    ran = subprocess.run([inlay] + arguments, capture_output=True, text=True, env=environment)
    if ran.returncode != 0:
        sys.exit(f"inlay {' '.join(arguments)}\n{ran.stderr}")
    return json.loads(ran.stdout), time.time() - begin


def tuned(inlay, case, most):
    told, seconds = run(inlay, ["tune"] + options(case) + ["--json", "--within", "3", "--most", str(most)])
    return told, seconds


def compare(inlay, skip, sample, most, page):
    rows, losses = [], []
    for case in gemms()[skip:skip + sample]:
        with tempfile.TemporaryDirectory() as folder:
            built, seconds = run(inlay, ["build"] + options(case) + ["--json", "-o", folder])
        choice = built["choice"]
        told, of_tuning = tuned(inlay, case, most)
        best = min(told["candidates"], key=lambda c: c["clocks"])
        least = min(best["clocks"], choice["clocks"])
        loss = 100 * (choice["clocks"] / least - 1)
        losses.append(loss)
        name = " ".join(x for x in (case[0], case[1], case[2]) if x)
        form = " ".join(f"{k}={v}" for k, v in sorted(choice["options"].items()) if k in
                        ("tile", "waves", "direct-to-lds", "pingpong", "split", "tile-m", "tile-n", "tile-q", "threads", "vectors"))
        rows.append(f"| {name} | {'x'.join(map(str, case[3]))} | {choice['clocks']:.0f} | {least:.0f} | {loss:.1f} % | "
                    f"{len(told['candidates'])} | {seconds:.1f} | {of_tuning:.0f} | {form} |")
        print(rows[-1], flush=True)
    text = ["| kernel | sizes | clocks of the choice | fewest found | loss | forms modelled | s to choose and build | s to tune | chosen |",
            "|---|---|--:|--:|--:|--:|--:|--:|---|"] + rows
    tail = (f"\n{len(losses)} shapes: median loss {statistics.median(losses):.1f} %, largest {max(losses):.1f} %.")
    print(tail)
    if page:
        with open(page, encoding="utf-8") as f:
            before = f.read()
        begin, end = before.index("<!-- choices -->"), before.index("<!-- choices end -->")
        with open(page, "w", encoding="utf-8") as f:
            f.write(before[:begin] + "<!-- choices -->\n\n" + "\n".join(text) + "\n" + tail + "\n\n" + before[end:])
    return losses


def table(inlay, sample, most, file):
    with open(file, encoding="utf-8") as f:
        lines = f.read().splitlines()
    have = {tuple(line.split()[:4]) for line in lines if line and not line.startswith("#")}
    for case in gemms()[:sample]:
        key = (case[0], case[1], case[2], "x".join(map(str, case[3])))
        if not case[2] or key in have:
            continue
        told, _ = tuned(inlay, case, most)
        best = min(told["candidates"], key=lambda c: c["clocks"])
        words = " ".join(f"{k}={v}" for k, v in sorted(best["options"].items()))
        with open(file, "a", encoding="utf-8") as f:
            f.write("\t".join(key) + f"\t{best['clocks']:.0f}\t{words}\n")
        print("\t".join(key), f"{best['clocks']:.0f}", words, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("inlay")
    p.add_argument("--compare", action="store_true")
    p.add_argument("--table")
    p.add_argument("--skip", type=int, default=0)
    p.add_argument("--sample", type=int, default=60)
    p.add_argument("--most", type=int, default=64)
    p.add_argument("--write")
    a = p.parse_args()
    if a.table:
        table(a.inlay, a.sample, a.most, a.table)
    if a.compare:
        losses = compare(a.inlay, a.skip, a.sample, a.most, a.write)
        sys.exit(0 if statistics.median(losses) <= 1 and max(losses) <= 3 else 1)


if __name__ == "__main__":
    main()
