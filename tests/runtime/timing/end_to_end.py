"""Times of whole launches that AITER's tuners measured, beside the model's: rows of its tables whose kernel is hand-written and shipped
as machine code, run from that code object.

The checkout needs its history. A row counts if the code object has not changed since the row was written and if it needs one launch: with
split K the int8, fp8 and fp4 kernels need another that clears their output. Of each chip and family ROWS_EACH rows are taken (of attention half as many), evenly spaced
by their time. Times are those of `inlay time` without --clock: at its clock under load, with its time of a launch. Rows marked as fitted (every second of those that take more than 50 us)
are those that numbers of that clock may be chosen by. For MI308X, of whose clock under load there are no numbers, the clock is the median of what its fitted rows ask for.
"""
import collections
import csv
import io
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROWS_EACH = 8
# gfx, compute units -> name, fitted clock in MHz, settings beside the processor's own
CHIPS = {
    ("gfx942", 304): ("MI300X", None, []),
    ("gfx942", 80): ("MI308X", 1270, ["--set", "compute_units=80", "--set", "xcds=4"]),
    ("gfx950", 256): ("MI355X", None, []),
}
COPIES, MALL_BYTES = 101, 256 << 20
FOLDERS = {"I8gemm": "i8gemm", "bf16gemm": "bf16gemm", "f4gemm": "f4gemm", "fp8gemm": "fp8gemm_blockscale"}


def git(checkout, *arguments, text=True):
    return subprocess.run(["git", "-C", checkout, *arguments], stdout=subprocess.PIPE, text=text, check=True).stdout


def tables(checkout):
    """Every row of a tuned table that names a code object unchanged since."""
    changed = {}  # path -> position of its last change
    position = {c: i for i, c in enumerate(reversed(git(checkout, "rev-list", "HEAD").split()))}
    for line in git(checkout, "log", "--no-renames", "--raw", "--format=C %H", "--", "hsa/gfx942", "hsa/gfx950").split("\n"):
        if line.startswith("C "):
            commit = position[line[2:]]
        elif line.startswith(":"):
            path = line.split("\t")[1]
            changed[path] = max(commit, changed.get(path, -1))
    out = []
    for file in sorted(git(checkout, "ls-tree", "-r", "--name-only", "HEAD", "aiter/configs").split()):
        if not file.endswith("gemm.csv") and "_tuned_gemm_" not in file or "untuned" in file:
            continue
        rows = list(csv.DictReader(io.StringIO(git(checkout, "show", "HEAD:" + file))))
        if not any("_ZN5aiter" in (r.get("kernelName") or "") for r in rows):
            continue
        written = [line.split()[0].lstrip("^") for line in git(checkout, "blame", "-s", "-l", "HEAD", "--", file).split("\n") if line]
        for n, r in enumerate(rows):
            named = re.match(r"_ZN5aiter\d+(.*)E$", r.get("kernelName") or "")
            family = next((f for p, f in FOLDERS.items() if named and named[1].startswith(p)), None)
            if family is None:
                continue
            path = f"hsa/{r['gfx']}/{family}/{named[1]}.co"
            by = next((i for c, i in position.items() if c.startswith(written[n + 1])), -1)
            split = int(float(r["splitK"]))
            if path not in changed or by < changed[path] or family != "bf16gemm" and split > (0 if family == "f4gemm" else 1):
                continue
            out.append({"chip": (r["gfx"], int(r["cu_num"])), "family": family + (" split K" if split > 1 else ""), "split": max(1, split), "kernel": named[1], "path": path, "m": int(r["M"]), "n": int(r["N"]),
                        "k": int(r["K"]), "shape": f"{r['M']} x {r['N']} x {r['K']}", "at": "HEAD", "us": float(r["us"]), "wide": "32" in (r.get("outdtype") or ""),
                        "bias": r.get("bias") == "True"})
    return out


def attention(checkout):
    """Rows of the table of forward attention in op_tests/cpp/mha/README.md, heads of 128, with the code objects of the commit that wrote each row."""
    file = "op_tests/cpp/mha/README.md"
    out = []
    blamed = git(checkout, "blame", "-s", "-l", "HEAD", "--", file).split("\n")
    for commit, line in ((b.split()[0].lstrip("^"), b[b.index(")") + 1:]) for b in blamed if ")" in b):
        cells = [c.strip() for c in line.split("|")[1:-1]]
        if len(cells) != 13 or not all(c.isdigit() for c in cells[:7]) or cells[5] != "128":
            continue
        batch, heads, kv, sq, sk, size, causal = map(int, cells[:7])
        if batch * heads * sq > 131072:
            continue  # minutes each
        for chip, folder, rounding, tflops in ((("gfx942", 304), "gfx942/fmha_v3_fwd/MI300", "_rtna", cells[7]), (("gfx950", 256), "gfx950/fmha_v3_fwd", "", cells[8])):
            name = "fwd_hd128_bf16" + "_causal" * causal + rounding
            us = 4 * batch * heads * sq * sk * size / (2 if causal else 1) / (float(tflops) * 1e6)
            out.append({"chip": chip, "family": "attention", "split": 1, "kernel": name, "path": f"hsa/{folder}/{name}.co", "at": commit, "m": sq, "n": heads, "k": batch, "kv": kv,
                        "shape": f"batch {batch}, heads {heads}/{kv}, {sq}" + ", causal" * causal, "us": us})
    return out


def choose(rows):
    """Evenly spaced by time, of each chip and family; no shape and kernel twice."""
    groups = collections.defaultdict(dict)
    for r in rows:
        # A shape that several tables have with one kernel: the first.
        groups[r["chip"], r["family"]].setdefault((r["kernel"], r["shape"]), r)
    out = []
    for key in sorted(groups):
        mine = sorted(groups[key].values(), key=lambda r: (r["us"], r["shape"]))
        take = min(ROWS_EACH // 2 if key[1] == "attention" else ROWS_EACH, len(mine))
        for i in range(take):
            r = dict(mine[(2 * i + 1) * len(mine) // (2 * take)])
            r["fit"] = i % 2 == 0 and r["us"] > 50
            out.append(r)
    return out


def slots(r, tile_m, tile_n):
    """Grid and argument values, 16 bytes each, as csrc/py_itfs_cu/asm_*.cu fill them: (bytes,) is a buffer of that size."""
    m, n, k, split = r["m"], r["n"], r["k"], r["split"]
    if r["family"] == "attention":  # [batch][sequence][head][dimension]
        kv, tile = r["kv"], 256
        wide, narrow = [(h * 256, 256, m * h * 256) for h in (n, kv)]  # bytes to the next row, head, batch
        blocks = -(-(-(-m // tile)) // (2 if "causal" in r["kernel"] else 1))
        return (blocks, n, k), [(k * wide[2],), (k * wide[2],), (k * narrow[2],), (k * narrow[2],), (4 * k * n * m,), 0.088388, m, wide[0], tile * wide[0], wide[1], wide[2], n // kv,
                                *narrow, 5, 1, m, 128, 128, n, *narrow, *wide, 0, 0, 4 * m, 0, 0]
    rows = -(-m // tile_m)
    if r["family"] == "i8gemm":
        return (n // tile_n, rows, 1), [(2 * m * n,), (m * k,), (n * k,), (4 * m,), (4 * n,), (4 * n,), m, n, k, k, k, 2 * n, 1]
    if r["family"] == "fp8gemm_blockscale":
        blocks = -(-n // 128), k // 128
        return (n // tile_n, rows, 1), [(2 * m * n,), (m * k,), (n * k,), (4 * m * blocks[1],), (4 * blocks[0] * blocks[1],), (4 * n,), m, n, k, k, k, 2 * n, 1,
                                        m, *blocks]
    if r["family"].startswith("bf16gemm"):
        size = 4 if r["wide"] else 2
        return (-(-n // tile_n), rows, split), [(size * m * n,), 0, (2 * m * k,), (2 * n * k,), 1.0, 0.0, n * size, 0, n * size, 0, 2 * k, 0, 2 * k, 0, m, n, k, split,
                                                0 if r["wide"] else 1, (2 * n,) if r["bias"] else 0, int(r["bias"]), (4096,)]
    scales = -(-k // 256) * 8
    padded = [-(-x // 256) * 256 for x in (m, n)]
    return (-(-n // tile_n), rows, 1), [(2 * (-(-m // 32) * 32) * n,), 0, (m * k // 2,), (n * k // 2,), 1.0, 0.0, 0, 0, n, 0, k, 0, k, 0, m, n, k,
                                        (padded[0] * scales,), (padded[1] * scales,), scales, 0, scales, 0, 0]


def tile_of(r):
    return re.search(r"(\d+)x(\d+)", re.split("tn_|reShuffle_", r["kernel"])[-1])


def argument(value, size):
    if isinstance(value, tuple):
        return f"zeros:{value[0]}"
    if isinstance(value, float):
        return f"f32:{value}"
    return f"i{8 * size}:{value}" if size in (4, 8) else "bytes:" + int(value).to_bytes(size, "little").hex()


def data_in(r, values):
    """Where the inputs of a row were before its launch, by the harness that measured it. The attention benchmark launches again on the same buffers; the tuner's (perftest of aiter/test_common.py) takes
    turns over copies of all arguments, up to 101 of them for 101 launches: they are in HBM unless all copies fit in MALL."""
    if r["family"] == "attention":
        return "auto"
    bytes_of_all = sum(v[0] for v in values if isinstance(v, tuple))
    return "mall" if COPIES * bytes_of_all <= MALL_BYTES else "hbm"


class Launches:
    def __init__(self, inlay, checkout):
        self.inlay, self.checkout, self.directory, self.signatures = inlay, checkout, tempfile.mkdtemp(), {}

    def signature(self, path, at):
        if (path, at) not in self.signatures:
            file = os.path.join(self.directory, at + path.replace("/", "_"))
            with open(file, "wb") as f:
                f.write(git(self.checkout, "show", at + ":" + path, text=False))
            told = subprocess.run([self.inlay, "inspect", file, "--json"], stdout=subprocess.PIPE, text=True, check=True)
            self.signatures[path, at] = file, json.loads(told.stdout)["kernels"][0]
        return self.signatures[path, at]

    def time(self, r, *options):
        """What `inlay time` says of the launch."""
        file, kernel = self.signature(r["path"], r["at"])
        tile = tile_of(r)
        grid, values = slots(r, int(tile[1]) if tile else 0, int(tile[2]) if tile else 0)
        command = [self.inlay, "time", file, "--grid", ",".join(map(str, grid)), "--block", str(kernel["resources"]["workgroup"]), "--json", "--quick",
                   "--data-in", data_in(r, values), *options, *CHIPS[r["chip"]][2]]
        for a in kernel["arguments"]["list"]:
            if a["offset"] % 16 == 0:  # the others fill the slot
                value = values[a["offset"] // 16] if a["offset"] // 16 < len(values) else 0
                command += ["--arg", "ptr:0" if a["kind"] == "global_buffer" and value == 0 else argument(value, a["size"])]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"{r['kernel']} {r['shape']}: {ran.stderr.strip()}")
        return json.loads(ran.stdout)["timing"]

    def microseconds(self, r):
        """Modelled, with the launch, at the clock under load or, where one was fitted to the chip, at that."""
        mhz = CHIPS[r["chip"]][1]
        return self.time(r, *(["--clock", str(mhz)] if mhz else []))["chip"]["load"]["microseconds"]


def others(checkout, r):
    """The code objects of the row's family that differ from its own in the tile alone."""
    tile = tile_of(r)[0]
    pattern = re.escape(os.path.basename(r["path"])).replace(tile, r"(\d+)x(\d+)")
    out = []
    for file in git(checkout, "ls-tree", "--name-only", "HEAD", os.path.dirname(r["path"]) + "/").split():
        name = re.fullmatch(pattern, os.path.basename(file))
        if name and r["n"] % int(name[2]) == 0:
            out.append(dict(r, path=file, kernel=os.path.basename(file)[:-3]))
    return out


def label(r):
    return r["family"] if r["family"] == "attention" else f"{r['family']} {tile_of(r)[0]}"


def mark(r):
    return " *fit*" if r["fit"] else ""


def ratio_error(ratio):
    return abs(ratio - 1) * 100


def long_launches(rows):
    """Of MI300X and MI355X: six shapes of attention of at least 2048, two GEMMs of each family without split K, the longest below 3 ms and one of a quarter of its time."""
    out = []
    for chip in sorted({r["chip"] for r in rows}):
        if CHIPS[chip][0] == "MI308X":
            continue
        for family in sorted({r["family"] for r in rows if r["chip"] == chip and "split" not in r["family"]}):
            mine = list({(r["kernel"], r["shape"]): r for r in rows if r["chip"] == chip and r["family"] == family and r["us"] < 3000}.values())
            mine.sort(key=lambda r: (-r["us"], r["shape"]))
            if family == "attention":
                mine = [r for r in mine if r["m"] >= 2048]
                out += [mine[i * (len(mine) - 1) // 5] for i in range(6)]
            else:
                out += [mine[0], min(mine, key=lambda r: (abs(r["us"] - mine[0]["us"] / 4), r["shape"]))]
    return out


def published(inlay, checkout, others, sources, leave_out=()):
    """Lines for docs/measurements/timing.md: TFLOP/s that `inlay time` says by default, at its clock under load, beside the published ones: AITER's rows, and `others` of published.py."""
    model, errors = Launches(inlay, checkout), collections.defaultdict(list)
    out = [f"AITER's tables and figures at commit {git(checkout, 'rev-parse', '--short=7', 'HEAD').strip()}.", "",
           "| chip | of | kernel | M x N x K, or sequences | published, TFLOP/s | modelled | +- | at MHz | error |", "|---|---|---|---|--:|--:|--:|--:|--:|"]

    left_out = []

    def aiter_rows():
        for r in long_launches(tables(checkout) + attention(checkout)):
            work = 4 * r["k"] * r["n"] * r["m"] ** 2 * 128 / (2 if "causal" in r["kernel"] else 1) if r["family"] == "attention" else 2 * r["m"] * r["n"] * r["k"]
            if label(r) in leave_out:
                left_out.append(f"* Left out: {label(r)}, {r['shape']}.")
                continue
            yield CHIPS[r["chip"]][0], "AITER's tables", label(r), r["shape"], work / r["us"] / 1e6, model.time(r)["chip"]["load"], work

    for chip, of, kernel, shape, theirs, load, work in itertools.chain(aiter_rows(), others):
        ours, doubt = work / load["microseconds"] / 1e6, load["uncertainty_mhz"] / load["clock_mhz"]
        errors[of].append(abs(ours / theirs - 1))
        out.append(f"| {chip} | {of} | {kernel} | {shape} | {theirs:.0f} | {ours:.0f} | {ours * doubt:.0f} | {load['clock_mhz']:.0f} | {(ours / theirs - 1) * 100:+.1f} % |")
        print(out[-1], file=sys.stderr)
    out += ["", "| of | figures | median error | mean | largest |", "|---|--:|--:|--:|--:|"]
    for of, mine in [*errors.items(), ("all", [e for mine in errors.values() for e in mine])]:
        out.append(f"| {of} | {len(mine)} | {100 * statistics.median(mine):.1f} % | {100 * statistics.mean(mine):.1f} % | {100 * max(mine):.1f} % |")
    out += [""] + left_out + [f"* {of}: {source}." for of, source in sources.items()] + [""]
    return out, []


def section(inlay, checkout, spearman, leave_out=()):
    """Lines for docs/measurements/timing.md of the rows, and what passed its limit."""
    model, failed = Launches(inlay, checkout), []
    chosen = choose(tables(checkout) + attention(checkout))
    rows = [r for r in chosen if label(r) not in leave_out]
    for r in rows:
        r["modelled"] = model.microseconds(r)
        r["ratio"] = r["modelled"] / r["us"]
        print(CHIPS[r["chip"]][0], r["kernel"], r["shape"], f"{r['us']:.1f} us, modelled {r['modelled']:.1f}", file=sys.stderr)

    def limit(name, value, most):
        if value > most:
            failed.append(f"{name}: {value:.2f}, limit {most}")

    out = [f"AITER's tables at commit {git(checkout, 'rev-parse', '--short=7', 'HEAD').strip()}: time of one launch, inputs in HBM. *fit*: numbers of the clock under load may be chosen by this row.", "",
           "| chip | kernel | M x N x K, or sequences | measured, us | modelled | error |", "|---|---|---|--:|--:|--:|"]
    for r in rows:
        out.append(f"| {CHIPS[r['chip']][0]} | {label(r)}{mark(r)} | {r['shape']} | {r['us']:.1f} | {r['modelled']:.1f} | "
                   f"{(r['ratio'] - 1) * 100:+.1f} % |")
    out += ["", "| chip | kernels | clock | rows | median error | of the rows not marked fit | largest | rank correlation |", "|---|---|--:|--:|--:|--:|--:|--:|"]
    groups = collections.defaultdict(list)
    for r in rows:
        groups[r["chip"], "all"].append(r)
        groups[r["chip"], r["family"]].append(r)
    for (chip, family), mine in sorted(groups.items()):
        name, mhz, _ = CHIPS[chip]
        errors, test = [ratio_error(r["ratio"]) for r in mine], [ratio_error(r["ratio"]) for r in mine if not r["fit"]]
        rank = spearman([r["us"] for r in mine], [r["modelled"] for r in mine])
        out.append(f"| {name} | {family} | {f'{mhz} MHz' if mhz else 'under load'} | {len(mine)} | {statistics.median(errors):.1f} % | {statistics.median(test):.1f} % | {max(errors):.1f} % | {rank:.2f} |")
        if family == "all":
            limit(f"{name} median error of the rows not fitted to", statistics.median(test), 15)
            limit(f"{name} 1 - rank correlation", 1 - rank, 0.1)
            if mhz:
                wanted = mhz * statistics.median(r["ratio"] for r in mine if r["fit"])
                limit(f"{name} the clock that its rows ask for, {wanted:.0f} MHz, from {mhz}, %", abs(wanted / mhz - 1) * 100, 3)
    everything = [ratio_error(r["ratio"]) for r in rows if not r["fit"]]
    out += ["", f"Median error of the {len(everything)} rows not marked fit: {statistics.median(everything):.1f} %.", ""]
    out += [f"Left out: {CHIPS[r['chip']][0]}, {label(r)}, {r['shape']}, {r['us']:.1f} us." for r in chosen if label(r) in leave_out] + [""]
    limit("median error of the rows not marked fit", statistics.median(everything), 6)
    return out, failed


def choices(inlay, checkout):
    """Lines for docs/measurements/timing.md: what the tuner chose, and what the model would have; and what passed its limit."""
    model, groups = Launches(inlay, checkout), collections.defaultdict(list)
    for r in choose(tables(checkout) + attention(checkout)):
        groups[r["chip"], r["family"]].append(r)
    out = ["What the tuner chose, among the tiles of its family (without split K) by the model:", "",
            "| chip | family | M x N x K | tuner's choice | the model's | tiles | place of the tuner's | it costs, by the model |", "|---|---|---|---|---|--:|--:|--:|"]
    costs = []
    for (chip, family), mine in sorted(groups.items()):
        if family not in ("i8gemm", "f4gemm", "fp8gemm_blockscale"):
            continue
        for r in mine[1:4:2]:
            by_time = sorted((model.microseconds(o), o["kernel"]) for o in others(checkout, r))
            place = next(i for i, (_, kernel) in enumerate(by_time) if kernel == r["kernel"])
            cost = (by_time[place][0] / by_time[0][0] - 1) * 100
            costs.append(cost)
            out.append(f"| {CHIPS[chip][0]} | {family} | {r['shape']} | {tile_of(r)[0]} | {tile_of({'kernel': by_time[0][1]})[0]} | {len(by_time)} | {place + 1} | "
                       f"{cost:+.1f} % |")
    median = statistics.median(costs)
    out += ["", f"Median cost of the tuner's choice by the model: {median:.1f} %.", ""]
    return out, [f"median cost of the tuner's choices, %: {median:.2f}, limit 15"] if median > 15 else []
