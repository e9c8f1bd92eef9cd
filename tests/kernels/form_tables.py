#!/usr/bin/env python3
"""What a file of several forms costs in modelled clocks: beside a choice for each size alone, and beside one form for all.

  form_tables.py INLAY [--kernel gemm] [--arch gfx950] [--dtype bf16] [--n 4096] [--k 4096] [--most-m 16384] [--between 100,700,3000] [--sample 40 --seed 1]

`inlay build KERNEL --for m=1..MOST` once, timed; then the forms that were chosen for some m as the only form for all m, and the one that stands
without sizes. `--between`, `--sample`: sizes that the grid does not have, given or drawn (every other one evenly, the others by their
logarithm), each with `auto`'s own choice for it. Not a test: it takes minutes.
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

SHOWN = [1, 16, 64, 256, 1024, 4096, 16384]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("inlay")
    for name, value in (("kernel", "gemm"), ("arch", "gfx950"), ("dtype", "bf16"), ("n", "4096"), ("k", "4096"), ("most-m", "16384"),
                        ("between", ""), ("most", "32"), ("fixed", "4096"), ("sample", "0"), ("seed", "1")):
        parser.add_argument("--" + name, default=value)
    o = parser.parse_args()
    folder = tempfile.TemporaryDirectory()

    def build(ranges, forms=None, validate=False):
        words = [o.inlay, "build", o.kernel, "--arch", o.arch, "--dtype", o.dtype, "--for", "m=" + ranges, "--n", o.n, "--k", o.k, "--most", o.most,
                 "--json", "-o", os.path.join(folder.name, "forms.inlay")] + ([] if validate else ["--no-validate"])
        if forms is not None:
            file = os.path.join(folder.name, "forms")
            with open(file, "w", encoding="utf-8") as f:
                f.write("\n".join(forms) + "\n")
            words += ["--forms", file]
        ran = subprocess.run(words, capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(" ".join(words) + "\n" + ran.stderr)
        return json.loads(ran.stdout)

    before, begin = os.times(), time.time()
    told = build("1.." + o.most_m, validate=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{told['bytes']} bytes, {len(told['forms'])} forms, {len(told['rows']) + 1} rows, {len(told['points'])} sizes, {told['chosen']} chosen; "
          f"{time.time() - begin:.0f} s, of processors {cpu:.0f} s")
    at = {p["sizes"][0]: p for p in told["points"]}
    fixed = build("1.." + o.most_m, [told["forms"][at[int(o.fixed)]["form"]]["options"]])
    of_fixed = {p["sizes"][0]: p["clocks"] for p in fixed["points"]}
    print(f"\n| m | clocks of the file | of its own choice | loss | of the form for m = {o.fixed} alone |\n|---|--:|--:|--:|--:|")
    for m in SHOWN:
        if m in at:
            p = at[m]
            print(f"| {m} | {p['clocks']:.0f} | {p['best']:.0f} | {100 * (p['clocks'] / p['best'] - 1):.1f} % | {of_fixed[m]:.0f}, {of_fixed[m] / p['clocks']:.2f} times |")
    losses = [100 * (p["clocks"] / p["best"] - 1) for p in told["points"]]
    ratios = [of_fixed[m] / p["clocks"] for m, p in at.items() if m in of_fixed]  # each file has points of its own
    print(f"\n{len(losses)} sizes: median loss {statistics.median(losses):.1f} %, largest {max(losses):.1f} %; one form for all takes "
          f"{statistics.median(ratios):.2f} times in the median, {max(ratios):.2f} at most")
    between = []
    drawn, random_, most = [], random.Random(int(o.seed)), int(o.most_m)
    while len(drawn) < int(o.sample):
        m = random_.randint(1, most) if len(drawn) % 2 else round(2 ** random_.uniform(0, math.log2(most)))
        if m not in at:
            drawn.append(m)
    for m in [int(x) for x in o.between.split(",") if x] + sorted(drawn):
        row = next(r for r in told["rows"] if r["least"][0] <= m <= r["most"][0])
        form = told["forms"][row["form"]]["options"]
        mine, own = build(f"{m}..{m}", [form])["points"][0]["clocks"], build(f"{m}..{m}")["points"][0]["clocks"]
        between.append(100 * (mine / own - 1))
        print(f"| {m} | {mine:.0f} | {own:.0f} | {between[-1]:.1f} % |")
    if between:
        print(f"\n{len(between)} sizes that the grid has not: median loss {statistics.median(between):.1f} %, largest {max(between):.1f} %")
    folder.cleanup()


if __name__ == "__main__":
    main()
