#!/usr/bin/env python3
"""How many wave instructions the cycle model takes a second of one processor, over kernels of the catalogue.

    tests/runtime/timing/speed.py INLAY [--arch gfx950] [--only WORD] [--write docs/measurements/timing.md] [--least MILLIONS]

Of each kernel `inlay run KERNEL --auto no --check none --time --json` at the size that it takes by itself: what the emulator executed for it, to record the
unit that is modelled and to see which lines other workgroups ask for, what the model went through, once for the answer, eleven times for what would help and once at the clock
under load, and the processor time of both together. Ends with 1 when all kernels together take less than --least.
"""
import argparse
import json
import os
import subprocess
import sys


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("inlay")
    p.add_argument("--arch", default="gfx950")
    p.add_argument("--only", default="")
    p.add_argument("--write")
    p.add_argument("--least", type=float, default=0)
    p.add_argument("--clocks", help="a file for every kernel's whole answer, to compare two builds")
    a = p.parse_args()
    listed = json.loads(subprocess.run([a.inlay, "kernels", "--json"], capture_output=True, text=True, check=True).stdout)
    names = [k["name"] for k in (listed["kernels"] if isinstance(listed, dict) else listed)]
    rows, left_out, answers = [], [], {}
    for name in names:
        if a.only not in name:
            continue
        ran = subprocess.run([a.inlay, "run", name, "--arch", a.arch, "--auto", "no", "--check", "none", "--time", "--json"], capture_output=True, text=True,
                             env=dict(os.environ, INLAY_CACHE_DIR=""))
        if ran.returncode != 0:
            left_out.append(name)
            print(name, ran.stderr.strip().split("\n")[0], file=sys.stderr)
            continue
        t = json.loads(ran.stdout)["timing"]
        e = t["effort"]
        rows.append((name, e["executed"], e["simulated"], e["processor_seconds"]))
        del t["effort"], t["seconds"]
        answers[name] = t
        print(f"{name:30} {e['executed']:11} {e['simulated']:11} {e['processor_seconds']:8.3f} s", flush=True)
    executed, simulated, seconds = (sum(r[i] for r in rows) for i in (1, 2, 3))
    rate = (executed + simulated) / seconds / 1e6
    print(f"{len(rows)} kernels: {executed + simulated} wave instructions, {seconds:.1f} s of one processor: {rate:.2f} million a second; without: {', '.join(left_out) or 'none'}")
    if a.clocks:
        with open(a.clocks, "w", encoding="utf-8") as f:
            json.dump(answers, f, indent=1)
    if a.write:
        lines = ["| kernel | executed | modelled | s | million a second |", "|---|--:|--:|--:|--:|"]
        for name, x, s, t in rows:
            lines.append(f"| {name} | {x:,} | {s:,} | {t:.3f} | {(x + s) / t / 1e6:.1f} |")
        lines.append(f"| all {len(rows)} | {executed:,} | {simulated:,} | {seconds:.2f} | {rate:.2f} |")
        with open(a.write, encoding="utf-8") as f:
            page = f.read()
        begin, end = page.index("<!-- speed -->"), page.index("<!-- speed end -->")
        with open(a.write, "w", encoding="utf-8") as f:
            f.write(page[:begin] + "<!-- speed -->\n\n" + "\n".join(lines) + "\n\n" + page[end:])
    return 1 if rate < a.least else 0


if __name__ == "__main__":
    sys.exit(main())
