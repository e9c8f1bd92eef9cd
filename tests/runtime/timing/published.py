"""Published TFLOP/s of other sources than AITER's own tables: rows of `published` in measured.json, beside what `inlay time` says by default, at its clock under load.

A row has one of three kernels: `loop`, a stand-in around the order of the kernel's own loop (orders.gemm), which needs nothing; `aiter`, a code object of the checkout of AITER;
`trace`, the machine code in a published thread trace, for which INLAY_TRACES names the checkout (traces.py).
"""
import json
import os
import struct
import subprocess
import tempfile

import end_to_end
import orders
import trace_cases
import traces


def tile_of(pid, rows, columns, remap, group, xcds=8):
    """Row and column of the tile that workgroup `pid` computes; `remap`: an XCD has neighbouring tiles."""
    if remap:
        pid = pid % xcds * (rows * columns // xcds) + pid // xcds
    if group == 1:
        return divmod(pid, columns)
    first = pid // (group * columns) * group
    high = min(rows - first, group)
    inside = pid % (group * columns)
    return first + inside % high, inside // high


def load_of(command):
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {ran.stderr.strip()}")
    return json.loads(ran.stdout)["timing"]["chip"]["load"]


def of_loop(inlay, r, loop, reads, work):
    m, n, k = r["m"], r["n"], r["k"]
    source, table = os.path.join(work, "k.s"), os.path.join(work, "tiles")
    with open(source, "w") as f:
        f.write(orders.gemm(loop["order"], loop["matrix"], loop["waves"], m, n, k, prologue=loop["prologue"], read_address=reads[loop["reads"]], apart=loop.get("apart", False),
                            short_stores=r.get("short", False)))
    rows, columns = m // 256, n // 256
    with open(table, "wb") as f:
        for pid in range(rows * columns):
            f.write(struct.pack("<II", *tile_of(pid, rows, columns, r.get("remap", False), r.get("group", 1))))
    return load_of([inlay, "time", source, "--arch", loop["arch"], "--grid", str(rows * columns), "--block", str(64 * loop["waves"]), "--quick", "--json", "--arg", f"zeros:{2 * k * (m + n)}",
                    "--arg", f"in:{table}", "--arg", f"zeros:{2 * m * n}"])


def of_aiter(inlay, checkout, r):
    row = {"chip": ("gfx950", 256), "family": "bf16gemm", "split": 1, "kernel": os.path.basename(r["aiter"])[:-3], "path": r["aiter"], "at": "HEAD", "m": r["m"], "n": r["n"], "k": r["k"],
           "wide": False, "bias": False}
    return end_to_end.Launches(inlay, checkout).time(row)["chip"]["load"]


def of_trace(inlay, root, r, work):
    case = list(next(c for c in trace_cases.CASES if c[0] == r["trace"]))
    s, heads = r["sequence"], r["heads"]
    case[2] = (s // 128 * heads,)
    case[7] = [(offset, trace_cases.z(s * heads * 256)) for offset in (0, 0x10, 0x20, 0x30)] + [(0x3c, trace_cases.i(s))]
    values, layout = trace_cases.arguments(case, work)
    source = os.path.join(work, "k.s")
    with open(source, "w") as f:
        f.write(trace_cases.assembly(traces.read(traces.bundle(root, case), "code.json")["code"], case, layout))
    return load_of([inlay, "time", source, "--arch", "gfx950", "--grid", str(case[2][0]), "--block", "256", "--quick", "--json", "--data-in", "auto"] + [w for a in values for w in ("--arg", a)])


def rows(inlay, checkout, data, reads):
    """(chip, source, kernel, shape, published TFLOP/s, modelled `load`, work) of each row; what needs a checkout that is not there is left out with a message."""
    loops = {loop["name"]: loop for loop in data["loops"] + data["published"]["loops"]}
    root = os.environ.get("INLAY_TRACES", "")
    for r in data["published"]["rows"]:
        with tempfile.TemporaryDirectory() as work:
            if "loop" in r:
                load, kernel, chip = of_loop(inlay, r, loops[r["loop"]], reads, work), "its loop: " + r["loop"], "MI355X"
            elif "aiter" in r:
                load, chip = of_aiter(inlay, checkout, r), "MI355X"
                kernel = "bf16gemm 256x256" if r["of"] == "AITER" else "stand-in: AITER's bf16gemm 256x256"
            elif root:
                load, kernel, chip = of_trace(inlay, root, r, work), "attention", "MI350X"
            else:
                print(f"skipped: {r['of']}, {r['trace']}: INLAY_TRACES names no checkout")
                continue
        if "trace" in r:
            s, heads = r["sequence"], r["heads"]
            yield chip, r["of"], kernel, f"batch 1, heads {heads}/{heads}, {s}, causal", r["tflops"], load, 2 * heads * s * s * 128
        else:
            yield chip, r["of"], kernel, f"{r['m']} x {r['n']} x {r['k']}", r["tflops"], load, 2 * r["m"] * r["n"] * r["k"]
