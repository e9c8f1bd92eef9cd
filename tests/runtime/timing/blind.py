#!/usr/bin/env python3
"""A blind test of the cycle model: measurements that no number was chosen by, taken by rules that were written down before the model was run on them.

    blind.py INLAY --traces CLONE --aiter CLONE [--write docs/measurements/timing.md] [--only traces|launches|tables]

CLONE of --traces: github.com/jhinpan/flydsl-kernel-profiling-lib with its history, of --aiter: github.com/ROCm/aiter with its history. Nothing is fetched here. The rules are in
docs/measurements/timing.md, section "A blind test"; the lists below follow from them.
"""
import argparse
import csv
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import end_to_end
import trace_cases
import traces
from trace_cases import i, z

ATTENTION = "examples/flash_attn_func/att_viewer/"
MQA = "examples/pa_mqa_logits_fp4/att_viewer/"
OLD_CHUNKS = [178, 187, 121, 93, 191, 92, 160, 140]  # contexts of the harness: torch.randint, seed 0, 16384 to 49152, in chunks of 256


def attention(sequence, heads, batch=1):
    return (batch * sequence // 128 * heads,), [(o, z(batch * sequence * heads * 256)) for o in (0, 0x10, 0x20, 0x30)] + [(0x3c, i(sequence))]


# Launches that no table has: name, commit, folder, the case whose kernel it is, grid, arguments.
NEW = [
    ("attention S = 512, 8 heads, causal", "503130e", ATTENTION + "small/ui_output_agent_7267_dispatch_42", "attention S = 1024 causal", *attention(512, 8)),
    ("pa_mqa fp4, 8 contexts to 49152", "c239255", MQA + "big/ui_output_agent_64914_dispatch_234", "pa_mqa fp4 big", *trace_cases.mqa_launch(OLD_CHUNKS, 3, 65536)),
    ("the same again", "c239255", MQA + "big/ui_output_agent_64914_dispatch_236", "pa_mqa fp4 big", *trace_cases.mqa_launch(OLD_CHUNKS, 3, 65536)),
]
# Launches of the table recorded at other times.
AGAIN = [(case, commit, ATTENTION + folder) for case, commit, folder in (
    ("attention S = 2048 causal", "503130e", "big/ui_output_agent_25171_dispatch_44"),
    ("attention S = 2048 causal", "4952d45", "big/ui_output_agent_48046_dispatch_44_after_loc_fix"),
    ("attention S = 2048 causal", "6b0bc67", "big/ui_output_agent_27340_dispatch_44_after_loc_fix"),
    ("attention S = 2048 causal", "54c46b3", "big/ui_output_agent_50261_dispatch_44_after_loc_fix"),
    ("attention S = 2048 causal", "15792fe", "big/ui_output_agent_34195_dispatch_44_after_loc_fix"),
    ("attention S = 2048 causal", "f0a7664", "big/ui_output_agent_55287_dispatch_44_after_loc_fix"),
    ("attention S = 1024 causal", "4952d45", "small/ui_output_agent_14326_dispatch_44_after_loc_fix"),
    ("attention S = 1024 causal", "6b0bc67", "small/ui_output_agent_56505_dispatch_44_after_loc_fix"),
    ("attention S = 1024 causal", "54c46b3", "small/ui_output_agent_23205_dispatch_44_after_loc_fix"),
    ("attention S = 1024 causal", "15792fe", "small/ui_output_agent_50498_dispatch_44_after_loc_fix"),
    ("attention S = 1024 causal", "f0a7664", "small/ui_output_agent_58550_dispatch_44_after_loc_fix"))] + [
    ("pa_mqa fp4 small", "c239255", MQA + "small/ui_output_agent_26025_dispatch_201")]


def rows_of(kernel, m):
    """Grid and arguments of a kernel of the table that works on `m` rows (tokens, elements) where the trace has others."""
    if kernel.startswith("attention"):
        return attention(*m)
    if kernel == "vec_add 123 MB":
        return (m // 1024,), [(o, z(4 * m)) for o in (0, 0x10, 0x20)]
    if kernel == "quant 4096x8192":
        return (m,), [(0, z(m * 8192 * 2)), (0x18, z(m * 8192)), (0x30, z(4 * m))]
    data = z(m * 8192 * 2)
    if kernel == "softmax 32768x8192":
        return (m,), [(0, data), (0x10, i(8192)), (0x48, data), (0x58, i(8192))]
    return (m,), [(0, data), (0x10, i(8192)), (0x18, z(16384)), (0x28, z(16384)), (0x38, data), (0x48, i(8192))]


# Kernels whose machine code does not hold the number of rows: operation and type in the tables of benchmarks/, what else has to be so, how many rows, the traced number.
KERNELS = {
    "softmax 32768x8192": ("softmax", "bf16", {"N": 8192}, "M", 32768),
    "rmsnorm 1024x8192": ("rmsnorm", "bf16", {"N": 8192}, "M", 1024),
    "quant 4096x8192": ("quant", "fp16", {"N": 8192}, "M", 4096),
    "vec_add 123 MB": ("vec_add", "fp32", {}, "n", 10240000),
    "attention S = 2048 causal": ("flash_attn", "bf16", {"num_heads": 32, "causal": True}, None, (2048, 32, 1)),
    "attention S = 1024 causal": ("flash_attn", "bf16", {"num_heads": 16, "causal": True}, None, (1024, 16, 1)),
}
LEAST, MOST, PUBLISHED = 50, 2000, {(4096, 32, 1)}  # microseconds; in the table of published TFLOP/s


def git(clone, *arguments):
    return subprocess.run(["git", "-C", clone, *arguments], stdout=subprocess.PIPE, check=True).stdout


def unpack(clone, commit, folder, work):
    subprocess.run(["tar", "x", "-C", work], input=git(clone, "archive", commit, folder), check=True)
    return os.path.join(work, folder)


def case_of(name):
    return list(next(c for c in trace_cases.CASES if c[0] == name))


def of_traces(inlay, clone):
    """Lines of the table of thread traces."""
    out = ["| launch | recorded | clocks, measured | modelled | error | at another instruction | at another kind |", "|---|---|--:|--:|--:|--:|--:|"]
    errors, again = [], []
    for n, (name, commit, folder, kernel, grid, arguments) in enumerate(NEW + [(a[0], a[1], a[2], a[0], None, None) for a in AGAIN]):
        case = case_of(kernel)
        options = []
        if grid is not None:
            case[2], case[7], options = grid, arguments, ["--data-in", "auto"]
        with tempfile.TemporaryDirectory() as work:
            r = traces.run(inlay, case, unpack(clone, commit, folder, work), work, options)
        error = r["modelled"] / r["measured"] - 1
        (errors if n < len(NEW) else again).append(abs(error))
        out.append(f"| {name} | {commit}, {folder.split('agent_')[1].split('_')[0]} | {r['measured']:.0f} | {r['modelled']:.0f} | {100 * error:+.1f} % | {100 * r['misplaced']:.1f} % | {100 * r['kinds']:.1f} % |")
        print(out[-1], file=sys.stderr)
    for what, e in (("Launches that no table has", errors), ("Launches of the table, recorded again", again)):
        out += ["", f"{what}: {len(e)} recordings, median error {100 * statistics.median(e):.1f} %, mean {100 * statistics.mean(e):.1f} %, largest {100 * max(e):.1f} %."]
    return out


def of_launches(inlay, clone):
    """Lines of the table of FlyDSL's kernel times by shape."""
    found, overheads = [], []
    with tempfile.TemporaryDirectory() as work:
        for kernel, (operation, dtype, fixed, size, traced) in KERNELS.items():
            case, mine = case_of(kernel), {}
            head, size_folder = case[1].split("/")
            names = git(clone, "ls-tree", "--name-only", traces.COMMIT, f"examples/{head}/att_viewer/{size_folder}/").decode().split()
            folder = min(f for f in names if "ui_output_" in f and "after_loc_fix" not in f)
            code = json.loads(git(clone, "show", f"{traces.COMMIT}:{folder}/code.json"))["code"]
            table = git(clone, "show", f"{traces.COMMIT}:benchmarks/examples/{operation}/benchmark_results.csv").decode()
            for row in csv.DictReader(io.StringIO(table)):
                told = json.loads(row["args"])
                if (row["provider"] != "flydsl" or row["benchmark_status"] != "ok" or row["dtype"] != dtype or any(told.get(k) != v for k, v in fixed.items())
                        or "generic-scalar" in row["provider_detail"] and operation != "softmax"):
                    continue
                m = told[size] if size else (told["seq_len"], told["num_heads"], told["batch"])
                mine.setdefault(m, float(row["median_us"]))  # a shape that is there twice: the first
            for m, us in sorted(mine.items()):
                if m == traced or m in PUBLISHED or us > MOST:
                    continue
                shortest = us == min(mine.values())
                if us < LEAST and not shortest:
                    continue
                case[2], case[7] = rows_of(kernel, m)
                values, layout = trace_cases.arguments(case, work)
                source = os.path.join(work, "k.s")
                with open(source, "w") as f:
                    f.write(trace_cases.assembly(code, case, layout))
                command = [inlay, "time", source, "--arch", "gfx950", "--grid", ",".join(map(str, case[2])), "--block", "256", "--quick", "--json", "--data-in", "hbm"]
                ran = subprocess.run(command + [w for a in values for w in ("--arg", a)], capture_output=True, text=True)
                if ran.returncode != 0:
                    raise SystemExit(f"{kernel} {m}: {ran.stderr.strip()}")
                modelled = json.loads(ran.stdout)["timing"]["chip"]["load"]["microseconds"]
                print(kernel, m, us, modelled, file=sys.stderr)
                if us < LEAST:
                    overheads.append(us - modelled)
                else:
                    found.append((kernel.split()[0], m, us, modelled))
    harness = statistics.median(overheads)
    out = [f"What the harness adds, the median over the {len(overheads)} shortest rows: {harness:.1f} us.", "", "| kernel | rows (sequence, heads, batch) | measured, us | modelled, with what the harness adds | error |",
           "|---|--:|--:|--:|--:|"]
    errors = []
    for kernel, m, us, modelled in found:
        errors.append((modelled + harness) / us - 1)
        out.append(f"| {kernel} | {m if isinstance(m, int) else ', '.join(map(str, m))} | {us:.1f} | {modelled + harness:.1f} | {100 * errors[-1]:+.1f} % |")
    e = [abs(x) for x in errors]
    return out + ["", f"{len(e)} rows: median error {100 * statistics.median(e):.1f} %, mean {100 * statistics.mean(e):.1f} %, largest {100 * max(e):.1f} %, {sum(x <= 0.15 for x in e)} within 15 %; "
                  f"rank correlation {traces.rank_correlation([f[2] for f in found], [f[3] for f in found]):.2f}."]


def rows_of_tables(checkout):
    """Of each chip and family, rows that no table of the page has and that took less than 200 us: eight (of attention four), evenly spaced by time."""
    everything = end_to_end.tables(checkout) + end_to_end.attention(checkout)
    known = {(r["kernel"], r["shape"]) for r in end_to_end.choose(everything) + end_to_end.long_launches(everything)}
    groups = {}
    for r in everything:
        if (r["kernel"], r["shape"]) not in known and r["us"] < 200 and end_to_end.label(r) != "f4gemm 256x256":
            groups.setdefault((r["chip"], r["family"]), {}).setdefault((r["kernel"], r["shape"]), r)
    out = []
    for key in sorted(groups):
        mine = sorted(groups[key].values(), key=lambda r: (r["us"], r["shape"]))
        take = min(end_to_end.ROWS_EACH // (2 if key[1] == "attention" else 1), len(mine))
        out += [mine[(2 * n + 1) * len(mine) // (2 * take)] for n in range(take)]
    return out


def of_tables(inlay, checkout):
    """Lines of the table of AITER's rows."""
    model, by = end_to_end.Launches(inlay, checkout), {}
    out = ["| chip | kernel | M x N x K, or sequences | measured, us | modelled | error |", "|---|---|---|--:|--:|--:|"]
    for r in rows_of_tables(checkout):
        modelled = model.microseconds(r)
        error = modelled / r["us"] - 1
        by.setdefault((end_to_end.CHIPS[r["chip"]][0], r["family"]), []).append((abs(error), r["us"], modelled))
        out.append(f"| {end_to_end.CHIPS[r['chip']][0]} | {end_to_end.label(r)} | {r['shape']} | {r['us']:.1f} | {modelled:.1f} | {100 * error:+.1f} % |")
        print(out[-1], file=sys.stderr)
    out += ["", "| chip | kernels | rows | median error | mean | largest | rank correlation |", "|---|---|--:|--:|--:|--:|--:|"]
    for (chip, family), mine in [*by.items(), (("all", "all"), [m for mine in by.values() for m in mine])]:
        e = [m[0] for m in mine]
        out.append(f"| {chip} | {family} | {len(e)} | {100 * statistics.median(e):.1f} % | {100 * statistics.mean(e):.1f} % | {100 * max(e):.1f} % | "
                   f"{traces.rank_correlation([m[1] for m in mine], [m[2] for m in mine]):.2f} |")
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("inlay")
    parser.add_argument("--traces")
    parser.add_argument("--aiter")
    parser.add_argument("--only", choices=["traces", "launches", "tables"])
    parser.add_argument("--list", action="store_true", help="with --aiter: the rows, without running anything")
    parser.add_argument("--write")
    o = parser.parse_args()
    if o.list:
        for r in rows_of_tables(o.aiter):
            print(f"{end_to_end.CHIPS[r['chip']][0]} {end_to_end.label(r)} {r['shape']}")
        return 0
    for name, clone, run in (("traces", o.traces, of_traces), ("launches", o.traces, of_launches), ("tables", o.aiter, of_tables)):
        if clone is None or o.only not in (None, name):
            continue
        text = "\n".join(run(os.path.abspath(o.inlay), clone))
        print(text + "\n")
        if o.write:
            with open(o.write, encoding="utf-8") as f:
                page = f.read()
            begin, end = f"<!-- blind {name} -->", f"<!-- blind {name} end -->"
            with open(o.write, "w", encoding="utf-8") as f:
                f.write(page[:page.index(begin)] + begin + "\n\n" + text + "\n\n" + page[page.index(end):])
    return 0


if __name__ == "__main__":
    sys.exit(main())
