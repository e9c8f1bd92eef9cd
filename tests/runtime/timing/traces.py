#!/usr/bin/env python3
"""The cycle model against thread traces of MI350X: the table of docs/measurements/timing.md.

    INLAY_TRACES=DIR tests/runtime/timing/traces.py INLAY [--write docs/measurements/timing.md] [--only WORD] [--held-back no|yes] [--json FILE] [--calibrate] [--dispatch] [-- options of `inlay time`]

DIR is a checkout of github.com/jhinpan/flydsl-kernel-profiling-lib (commit bce529c); nothing is fetched here. Without INLAY_TRACES it says so and ends with 77, which ctest
takes as skipped. --calibrate: the held-back half by the numbers that `inlay calibrate --from-att` takes from the other half, which must be as good as the built-in ones.
--dispatch: to which of the compute units that have room the next workgroup goes.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trace_cases

COMMIT = "bce529c"


def bundle(root, case):
    kernel, size = case[1].split("/")
    found = sorted(d for d in glob.glob(os.path.join(root, "examples", kernel, "att_viewer", size, "ui_output_*")) if "after_loc_fix" not in d)
    return found[0] if found else None


def read(folder, name):
    with open(os.path.join(folder, name)) as f:
        return json.load(f)


def measured(folder):
    """Clocks from the first begin to the last end of a wave on XCD 0, and MHz. Engines count from different clocks, which their first real time aligns."""
    events, real = read(folder, "occupancy.json"), read(folder, "realtime.json")
    first, last, mhz = None, None, 0
    for engine, of_engine in events.items():
        if not engine.isdigit() or not of_engine:
            continue
        marks = real["SE" + engine]
        mhz = (marks[-1][0] - marks[0][0]) / ((marks[-1][1] - marks[0][1]) / real["metadata"]["frequency"]) / 1e6
        begins = [e[0] - marks[0][0] for e in of_engine if e[4] == 1]
        ends = [e[0] - marks[0][0] for e in of_engine if e[4] == 0]
        first = min(begins) if first is None else min(first, min(begins))
        last = max(ends) if last is None else max(last, max(ends))
    return last - first, mhz


def trips(folder, code):
    """Mean clocks between two arrivals of a wave at the first instruction of each loop: {offset: (trips of a wave, clocks)}."""
    base = next(r[5] for r in code if not r[0].startswith(";"))
    loops = {}
    for n, row in enumerate(code):
        word = row[0].split()
        if not word[0].startswith("s_cbranch"):
            continue
        jump = int(word[1], 0)
        if jump >= 0x8000:
            loops[row[5] + 4 + 4 * (jump - 0x10000)] = [0, 0, 0]
    heads = {n: loops[r[5]] for n, r in enumerate(code) if r[5] in loops and not r[0].startswith(";")}
    for file in sorted(glob.glob(os.path.join(folder, "se*.json")))[:64]:
        before = {}
        with open(file) as f:
            instructions = json.load(f)["wave"]["instructions"]
        for at, _, stall, _, line in instructions:
            if line in heads:
                if line in before:
                    heads[line][0] += 1
                    heads[line][1] += at + stall - before[line]
                else:
                    heads[line][2] += 1
                before[line] = at + stall
    return {a - base: (n / waves, total / n) for a, (n, total, waves) in loops.items() if n and waves}


def run(inlay, case, folder, work, options):
    code = read(folder, "code.json")["code"]
    clocks, mhz = measured(folder)
    arguments, layout = trace_cases.arguments(case, work)
    source = os.path.join(work, "k.s")
    with open(source, "w") as f:
        f.write(trace_cases.assembly(code, case, layout))
    command = [inlay, "time", source, "--arch", "gfx950", "--grid", ",".join(map(str, case[2])), "--block", str(trace_cases.BLOCK.get(case[0], 256)),
               "--clock", f"{mhz:.1f}", "--quick", "--json", "--against", folder]
    if "--data-in" not in options:
        command += ["--data-in", trace_cases.DATA_IN.get(case[0], case[5])]
    for a in arguments:
        command += ["--arg", a]
    begin = time.time()
    result = subprocess.run(command + options, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{case[0]}: {result.stderr.strip()}")
    t = json.loads(result.stdout)
    against, t = t["against"], t["timing"]
    modelled = t["chip"]["clocks"] - t["chip"]["drain"]
    of_trace = trips(folder, code)
    rows = [(of_trace[l["offset"]][1], l["modelled"], l["trips"]) for l in against["loops"] if l["offset"] in of_trace and l["trips"] >= 2.5]
    return {"name": case[0], "inputs": case[5], "seen": case[6], "measured": clocks, "mhz": mhz, "modelled": modelled, "uncertainty": t["chip"]["uncertainty"],
            "chip": t["chip"], "misplaced": against["misplaced"], "kinds": against["kinds_off"], "order": against["rank"], "trips": rows, "seconds": time.time() - begin}


def rank_correlation(a, b):
    def ranks(v):
        order = sorted(range(len(v)), key=lambda i: v[i])
        r = [0.0] * len(v)
        for n, i in enumerate(order):
            r[i] = n
        return r
    x, y = ranks(a), ranks(b)
    n = len(a)
    return 1 - 6 * sum((p - q) ** 2 for p, q in zip(x, y)) / (n * (n * n - 1)) if n > 1 else 1.0


def median(v):
    v = sorted(v)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2 if v else 0.0


def summary(rows):
    errors = [abs(r["modelled"] / r["measured"] - 1) for r in rows]
    loops = [abs(m / t - 1) for r in rows for t, m, _ in r["trips"][:1]]
    return {"cases": len(rows), "median": median(errors), "mean": sum(errors) / max(1, len(errors)), "largest": max(errors, default=0),
            "within 15": sum(e <= 0.15 for e in errors), "rank": rank_correlation([r["measured"] for r in rows], [r["modelled"] for r in rows]),
            "misplaced": median([r["misplaced"] for r in rows]), "kinds": median([r["kinds"] for r in rows]), "trips": sum(loops) / max(1, len(loops)), "loops": len(loops)}


def write(file, rows):
    lines = ["| kernel | inputs | | clocks, measured | modelled | error | before | clocks a trip, measured | modelled |", "|---|---|---|--:|--:|--:|--:|--:|--:|"]
    for r, before in zip(rows, trace_cases.BEFORE):
        inputs = trace_cases.DATA_IN.get(r["name"], r["inputs"])
        trip = f"{r['trips'][0][0]:.0f} | {r['trips'][0][1]:.0f}" if r["trips"] else " | "
        lines.append(f"| {r['name']} | {inputs} | {'' if r['seen'] else 'held back'} | {r['measured']:.0f} | {r['modelled']:.0f} | "
                     f"{100 * (r['modelled'] / r['measured'] - 1):+.1f} % | {before:+d} % | {trip} |")
    lines += ["", "| cases | median error | mean | largest | within 15 % | rank correlation | trips, mean | at another instruction | at another kind |", "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for name, part in (("all 18", rows), ("looked at", [r for r in rows if r["seen"]]), ("held back", [r for r in rows if not r["seen"]])):
        s = summary(part)
        lines.append(f"| {name} | {100 * s['median']:.1f} % | {100 * s['mean']:.1f} % | {100 * s['largest']:.0f} % | {s['within 15']} of {s['cases']} | {s['rank']:.2f} | "
                     f"{100 * s['trips']:.1f} % | {100 * s['misplaced']:.1f} % | {100 * s['kinds']:.1f} % |")
    lines += ["", "*At another instruction*, *at another kind*: share of a wave's clocks that the model has there and the trace elsewhere; medians of the cases."]
    text = open(file, encoding="utf-8").read()
    begin, end = text.index("<!-- traces -->"), text.index("<!-- traces end -->")
    with open(file, "w", encoding="utf-8") as f:
        f.write(text[:begin] + "<!-- traces -->\n\n" + "\n".join(lines) + "\n\n" + text[end:])


def calibrated(inlay, root):
    """The held-back cases by the built-in numbers and by those that the looked-at traces give: 1 if these are worse by more than a point."""
    held, found = [c for c in trace_cases.CASES if not c[6]], []
    with tempfile.TemporaryDirectory() as work:
        numbers = os.path.join(work, "numbers.json")
        subprocess.run([inlay, "calibrate", "--arch", "gfx950", "--from-att", *(bundle(root, c) for c in trace_cases.CASES if c[6]), "-o", numbers], check=True, stdout=subprocess.DEVNULL)
        for name, options in (("built in", []), ("from the other half", ["--parameters", numbers])):
            s = summary([run(inlay, c, bundle(root, c), work, options) for c in held])
            print(f"{name}: {s['cases']} cases, median {100 * s['median']:.1f} %, mean {100 * s['mean']:.1f} %, largest {100 * s['largest']:.0f} %", flush=True)
            found.append(s)
    return int(any(found[1][what] > found[0][what] + 0.01 for what in ("median", "mean")))


def dispatched(root):
    """Of workgroups that begin when several units of their engine have room: shares that go to the next of these in turn, to the unit that was given the last one, and by chance.

    A unit has room for as many waves as it ever has at once. Left out is what begins before every unit has had a workgroup.
    """
    print(f"{'trace':30} {'workgroups':>10} {'next':>6} {'same':>6} {'chance':>6}")
    sums = [0, 0, 0, 0.0]
    for case in trace_cases.CASES:
        of_case = [0, 0, 0, 0.0]
        for engine, events in read(bundle(root, case), "occupancy.json").items():
            if not engine.isdigit() or not events:
                continue
            events = sorted(events, key=lambda e: (e[0], e[4]))  # clock, unit, SIMD, slot, begins
            units, most, waves = sorted({e[1] for e in events}), {}, dict.fromkeys((e[1] for e in events), 0)
            for _, unit, _, _, begins, *_ in events:
                waves[unit] += 1 if begins else -1
                most[unit] = max(most.get(unit, 0), waves[unit])
            begun = [e[1] for e in events if e[4]]
            size = next((n for n, unit in enumerate(begun[:16]) if unit != begun[0]), 16)  # waves of a workgroup
            waves, last, groups, n = dict.fromkeys(units, 0), None, 0, 0
            for _, unit, _, _, begins, *_ in events:
                if not begins:
                    waves[unit] -= 1
                    continue
                if n % size == 0:
                    room = [u for u in units if waves[u] + size <= most[u]]
                    if groups >= len(units) and len(room) > 1 and unit in room:
                        at = units.index(last) + 1
                        following = next(u for u in units[at:] + units[:at] if u in room)
                        of_case = [a + b for a, b in zip(of_case, (1, unit == following, unit == last, 1 / len(room)))]
                    last, groups = unit, groups + 1
                waves[unit] += 1
                n += 1
        if of_case[0]:
            print(f"{case[0]:30} {of_case[0]:10} " + " ".join(f"{100 * x / of_case[0]:4.0f} %" for x in of_case[1:]))
        sums = [a + b for a, b in zip(sums, of_case)]
    print(f"{'all':30} {sums[0]:10} " + " ".join(f"{100 * x / sums[0]:4.0f} %" for x in sums[1:]))
    return int(sums[1] < 0.8 * sums[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("inlay")
    parser.add_argument("--write")
    parser.add_argument("--only", default="")
    parser.add_argument("--held-back", choices=["no", "yes"])
    parser.add_argument("--json")
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--dispatch", action="store_true")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    o = parser.parse_args(sys.argv[1:at])
    o.options = sys.argv[at + 1:]
    root = os.environ.get("INLAY_TRACES", "")
    if not root or not os.path.isdir(os.path.join(root, "examples")):
        print("skipped: INLAY_TRACES names no checkout of github.com/jhinpan/flydsl-kernel-profiling-lib")
        return 77
    if o.calibrate:
        return calibrated(o.inlay, root)
    if o.dispatch:
        return dispatched(root)
    rows = []
    for case in trace_cases.CASES:
        if o.only not in case[0] or (o.held_back and case[6] == (o.held_back == "yes")):
            continue
        folder = bundle(root, case)
        if folder is None:
            raise SystemExit(f"{case[0]}: no trace below examples/{case[1]} of {root}")
        with tempfile.TemporaryDirectory() as work:
            r = run(o.inlay, case, folder, work, o.options)
        rows.append(r)
        loops = " ".join(f"{t:.0f}|{m:.0f}" for t, m, _ in r["trips"][:2])
        print(f"{r['name']:34} {r['inputs']:5} {'' if r['seen'] else 'held back':9} {r['measured']:8.0f} {r['modelled']:8.0f} "
              f"{100 * (r['modelled'] / r['measured'] - 1):+6.1f} %  trips {loops}  ({r['seconds']:.1f} s)", flush=True)
    for name, part in (("all", rows), ("looked at", [r for r in rows if r["seen"]]), ("held back", [r for r in rows if not r["seen"]])):
        s = summary(part)
        print(f"{name}: median {100 * s['median']:.1f} %, mean {100 * s['mean']:.1f} %, largest {100 * s['largest']:.0f} %, {s['within 15']} of {s['cases']} within 15 %, "
              f"rank {s['rank']:.2f}; trips of {s['loops']} loops {100 * s['trips']:.1f} %; {100 * s['misplaced']:.0f} % of clocks at another instruction, "
              f"{100 * s['kinds']:.0f} % at another kind (medians)")
    if o.write and len(rows) == len(trace_cases.CASES):
        write(o.write, rows)
    all_rows = summary(rows)
    # Of the whole table: it must not become worse.
    if len(rows) == len(trace_cases.CASES) and not o.options and (
            all_rows["median"] > 0.10 or all_rows["mean"] > 0.10 or all_rows["within 15"] < 15 or all_rows["largest"] > 0.25 or all_rows["rank"] < 0.985
            or all_rows["trips"] > 0.05 or all_rows["misplaced"] > 0.15 or all_rows["kinds"] > 0.08):
        print("the model is worse against traces than docs/measurements/timing.md says")
        return 1
    if o.json:
        with open(o.json, "w") as f:
            json.dump(rows, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
