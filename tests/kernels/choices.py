#!/usr/bin/env python3
"""How good `auto` is, and the table of forms that ships.

  choices.py INLAY --journal FILE [--only tuned|chosen] [--sample N] [--most N] [--within W]
  choices.py INLAY --journal FILE --sample 0 --write docs/measurements/choosing.md --table kernels/tables/forms.tsv

For each shape that the journal has not yet, the cheapest first: what `inlay tune` finds among the first N (--most) forms within W (--within) times the best
bound, and what `inlay build KERNEL --m .. --json` chooses. A line of the journal is one of the two for one shape, so that it can be interrupted,
and made in parts. --table: the best form of each shape, a row a shape. --write: the table of the page. A choice knows the table that its library was built
with, and so the best form of these shapes: the page has what is chosen without it, which follows from what was tuned where no choice was made, and of the choices their
time. Rows of shapes that the journal does not have stay as they are.

Shapes are sizes of linear layers of models that people run, without anything else of the tables that they stand in:
  ROCm/aiter c786c7a42235d8e98d39f8cdd6b20e8e1b9a5dcf, aiter/configs/a8w8_gemm_model_config/ (Llama-3.1-70B-Instruct-TP8.csv,
  Llama-3.1-8B-Instruct-TP1.csv, Mixtral-8x7B-Instruct-v0.1-TP1.csv), and squares.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

LAYERS = [  # N, K
    (1280, 8192), (7168, 8192), (8192, 3584), (8192, 1024),  # Llama 3.1 70B, 8 ways
    (6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336),  # Llama 3.1 8B
]
ROWS = [1, 16, 64, 256, 1024, 4096, 16384]
ARCHES = ["gfx942", "gfx950"]
NAMES = {"gemm": "m n k", "preshuffle_gemm": "m n k", "block_scale_gemm": "m n k", "weight_only_gemm": "m n k",
         "softmax": "m n", "rmsnorm": "m n", "layernorm": "m n", "flash_attention": "batch queries keys heads"}


def shapes():
    """Kernel, processor, type, sizes: 62 of them, each once, the cheapest first."""
    out = [("gemm", "gfx950", "bf16", (4096, 4096, 4096))]
    types = ["bf16", "fp8", "f16", "i8"]
    k = 0
    for i, m in enumerate(ROWS):
        for j in range(4):
            arch = ARCHES[(i + j) % 2]
            mx = arch == "gfx950" and (i, j) in ((3, 0), (5, 2))
            out.append(("gemm", arch, "fp4" if mx else types[k % 4], (m, *LAYERS[(2 * j + i) % 8])))
            k += 1
        k += 1
    for i, m in enumerate(ROWS):
        out.append(("preshuffle_gemm", ARCHES[i % 2], "bf16", (m, *LAYERS[(3 * i) % 8])))
    for i, m in enumerate(ROWS[:6]):
        out.append(("block_scale_gemm", ARCHES[i % 2], "", (m, *LAYERS[(i * 5 + 1) % 8])))
        out.append(("weight_only_gemm", ARCHES[(i + 1) % 2], "bf16", (m, *LAYERS[(i * 3 + 2) % 8])))
    for i, sizes in enumerate(((1, 2048, 2048, 16), (4, 512, 512, 32), (1, 8192, 8192, 8), (8, 128, 4096, 16), (2, 1024, 1024, 64))):
        out.append(("flash_attention", ARCHES[i % 2], "bf16" if i % 2 else "f16", sizes))
    for i, sizes in enumerate(((1, 8192), (1024, 8192), (16384, 4096))):
        out.append(("rmsnorm", ARCHES[i % 2], "bf16", sizes))
        out.append(("layernorm", ARCHES[(i + 1) % 2], "f16", sizes))
        out.append(("softmax", ARCHES[i % 2], "f16", sizes))
    return sorted(out, key=lambda case: math.prod(case[3]))


def options(case):
    kernel, arch, dtype, sizes = case
    out = [kernel, "--arch", arch] + (["--dtype", dtype] if dtype else [])
    for name, size in zip(NAMES[kernel].split(), sizes):
        out += ["--" + name, str(size)]
    return out


def run(inlay, arguments):
    """The command's JSON, and seconds of processor time: others may be at work on this machine."""
    before = os.times()
    ran = subprocess.run([inlay] + arguments, capture_output=True, text=True, env=dict(os.environ, INLAY_CACHE_DIR=""))
    after = os.times()
    if ran.returncode != 0:
        sys.exit(f"inlay {' '.join(arguments)}\n{ran.stderr}")
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return json.loads(ran.stdout), seconds


def chosen(inlay, case):
    with tempfile.TemporaryDirectory() as folder:
        told, seconds = run(inlay, ["build"] + options(case) + ["--json", "-o", folder])
    if not told.get("choice", {}).get("clocks"):  # one form, which needs no clocks
        return {"clocks": 0, "options": told.get("choice", {}).get("options", {}), "seconds": seconds}
    # Forms of the table that the ranking would not have modelled have no bound.
    first = [c for c in told["choice"]["ranking"] if c.get("clocks") and c["bound"] > 0]
    best = min(first, key=lambda c: c["clocks"])
    return {"clocks": told["choice"]["clocks"], "options": told["choice"]["options"], "alone": [best["clocks"], best["options"]], "seconds": seconds}


def tuned(inlay, case, most, within):
    told, seconds = run(inlay, ["tune"] + options(case) + ["--json", "--within", str(within), "--most", str(most), "--processes", "1"])
    best = min(told["candidates"], key=lambda c: c["clocks"])
    # Among equals the longest first: no choice is said to be better than it is. A form of the table that the ranking would not have modelled has no bound.
    ranked = sorted(([c.get("bound", math.inf), c["clocks"], c["options"]] for c in told["candidates"]), key=lambda c: (c[0], -c[1]))
    return {"clocks": best["clocks"], "options": best["options"], "forms": len(ranked), "seconds": seconds, "of": len(ranked) + told["pruned"], "ranked": ranked}


def alone(tuning):
    """Clocks and options of what `auto` chooses without a table, by the ranking of what was tuned: among the first four, and two more that are as close;
    of at most twelve forms among all (ChooseOptions)."""
    ranked = tuning["ranked"]
    if tuning["of"] <= 12:
        return min((c[1:] for c in ranked), key=lambda c: c[0])
    return min((c[1:] for c in ranked[:4] + [c for c in ranked[4:6] if c[0] <= 1.1 * ranked[0][0]]), key=lambda c: c[0])


def read(journal):
    found = {}
    if os.path.exists(journal):
        with open(journal, encoding="utf-8") as f:
            for line in f:
                one = json.loads(line)
                kernel, arch, dtype, sizes = one["case"]
                found[(kernel, arch, dtype, tuple(sizes)), one["what"]] = one
    return found


def collect(inlay, journal, only, sample, most, within):
    for case in shapes()[:sample]:
        for what, ask in (("tuned", lambda *of: tuned(*of, most, within)), ("chosen", chosen)):
            if (only and what != only) or (case, what) in read(journal):
                continue
            one = {"case": case, "what": what, **ask(inlay, case)}
            with open(journal, "a", encoding="utf-8") as f:
                f.write(json.dumps(one) + "\n")
            print(*case, what, f"{one['clocks']:.0f}, {one['seconds']:.1f} s", flush=True)


def write(journal, page):
    found = read(journal)
    rows, losses = [], []
    with open(page, encoding="utf-8") as f:
        before = f.read()
    begin, end = before.index("<!-- choices -->"), before.index("<!-- choices end -->")
    old = {tuple(c.strip() for c in line.split("|")[1:3]): line for line in before[begin:end].split("\n") if line.startswith("| ")}
    for case in shapes():
        choice, tuning = found.get((case, "chosen")), found.get((case, "tuned"))
        if not tuning:
            stays = old.get((" ".join(x for x in case[:3] if x), "x".join(map(str, case[3]))))
            if stays:
                rows.append(stays)
                losses.append(float(stays.split("|")[5].split("%")[0]))
            continue
        clocks, options_of = choice["alone"] if choice and "alone" in choice else alone(tuning)
        least = min([tuning["clocks"]] + ([choice["clocks"]] if choice and choice["clocks"] else []))
        losses.append(100 * (clocks / least - 1))
        shown = ("tile", "waves", "direct-to-lds", "direct-to-vgpr", "pingpong", "split", "tile-m", "tile-n", "tile-q", "tile-k", "threads", "vectors")
        form = " ".join(f"{k}={v}" for k, v in sorted(options_of.items()) if k in shown and v not in ("0", "no", "none"))
        rows.append(f"| {' '.join(x for x in case[:3] if x)} | {'x'.join(map(str, case[3]))} | {clocks:.0f} | {least:.0f} | "
                    f"{losses[-1]:.1f} % | {tuning['forms']} of {tuning['of']} | {round(choice['seconds'], 1) if choice and choice['seconds'] else '-'} | {tuning['seconds']:.1f} | {form} |")
    text = ["| kernel | sizes | clocks of the choice | fewest found | loss | forms tried | s to choose and build | s to tune | chosen |",
            "|---|---|--:|--:|--:|--:|--:|--:|---|"] + rows
    tail = f"\n{len(losses)} shapes: median loss {statistics.median(losses):.1f} %, largest {max(losses):.1f} %; {sum(x > 3 for x in losses)} above 3 %."
    print(tail)
    with open(page, "w", encoding="utf-8") as f:
        f.write(before[:begin] + "<!-- choices -->\n\n" + "\n".join(text) + "\n" + tail + "\n\n" + before[end:])
    return losses


def table(journal, file):
    found = read(journal)
    with open(file, encoding="utf-8") as f:
        old = {tuple(line.split("\t")[:4]): line.rstrip("\n") for line in f if not line.startswith("#")}
    lines = ["# kernel\tarch\tdtype\tsizes\tclocks\toptions: made by tests/kernels/choices.py"]
    for case in shapes():
        of_case = [found[case, what] for what in ("chosen", "tuned") if (case, what) in found and found[case, what]["clocks"]]
        if not case[2] or not of_case:
            stays = old.get((*case[:3], "x".join(map(str, case[3]))))
            lines += [stays] if stays else []
            continue
        best = min(of_case, key=lambda one: one["clocks"])
        words = " ".join(f"{k}={v}" for k, v in sorted(best["options"].items()))
        lines.append("\t".join([*case[:3], "x".join(map(str, case[3])), f"{best['clocks']:.0f}", words]))
    with open(file, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("inlay")
    p.add_argument("--journal", required=True)
    p.add_argument("--only", choices=("chosen", "tuned"))
    p.add_argument("--sample", type=int, default=1000)
    p.add_argument("--most", type=int, default=24)
    p.add_argument("--within", type=float, default=2)
    p.add_argument("--write")
    p.add_argument("--table")
    a = p.parse_args()
    collect(a.inlay, a.journal, a.only, a.sample, a.most, a.within)
    if a.table:
        table(a.journal, a.table)
    if a.write:
        losses = write(a.journal, a.write)
        sys.exit(0 if statistics.median(losses) <= 1 and max(losses) <= 3 else 1)


if __name__ == "__main__":
    main()
