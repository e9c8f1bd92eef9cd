#!/usr/bin/env python3
"""Clocks of the catalogue that another binary models otherwise, and why.

    tests/runtime/timing/moved.py INLAY BEFORE [--numbers TARGET=FILE ..] [--write docs/measurements/timing.md] [--only WORD]
    tests/runtime/timing/moved.py INLAY - --numbers gfx950=FILE: INLAY's own kernels with the numbers of FILE, all groups together, by how much they move

BEFORE is the binary of an older commit; --numbers has its runtime/data/timing_TARGET.json. Each of its kernels is run by both, in its default form and in FORMS. Of those whose clocks differ by
more than 10 % the reasons are looked for with INLAY alone: groups of numbers are given their former values, one group at a time, and what that takes back of the clocks is the group's part.
"""
import argparse
import json
import re
import subprocess
import sys

FORMS = {
    "gemm": ["--m 512 --n 512 --k 512 --dtype bf16"],
    "flash_attention": ["--queries 512 --keys 512 --dtype bf16"],
    "softmax": ["--m 1024 --n 4096 --dtype bf16"],
    "rmsnorm": ["--m 1024 --n 4096 --dtype bf16"],
    "vector_add": ["--n 1048576"],
}
# What is said of a group, and its numbers: None for the former value; otherwise the value at which their mechanism does nothing, for numbers that the older binary does not have, and for OFF.
GROUPS = {
    "latencies of L1, L2, MALL and HBM": {"l1_latency_clk": None, "l2_latency_clk": None, "mall_latency_clk": None, "hbm_latency_clk": None},
    "scalar loads: lines of 64 bytes, one after the other": {"scalar_hit_clk": None, "scalar_miss_clk": None, "scalar_line_bytes": 128, "scalar_miss_interval_clk": 0},
    "how waves begin": {"wave_launch_clk": None, "workgroup_launch_clk": None, "first_issue_clk": 0},
    "distances between instructions, fetches after branches": {"branch_taken_clk": None, "branch_next_fetch_clk": 0, "valu_sgpr_clk": 4, "salu_to_branch_clk": 4, "salu_to_memory_clk": 4,
                                                               "mfma_to_memory_clk": 4, "valu_to_memory_clk": 4},
    "units apart, latencies spread": {"unit_drift": 0, "unit_stagger_clk": 0, "latency_spread": 0},
    "bandwidth of MALL": {"mall_tbytes": None, "mall_write_cost": 1},
    "stores that hold a wave at its end": {"store_latency_clk": 0},
}
OFF = {"store_latency_clk"}
LEAST = 0.10
NOW = ["--auto", "no", "--no-validate"]  # options that the older binary need not have


def timing(binary, kernel, form, target, *more):
    """Clocks of the launch, and wave instructions that the launch executes, or None where the binary has no such form."""
    ran = subprocess.run([binary, "run", kernel, "--arch", target, *form.split(), "--check", "none", "--time", "--quick", "--json", *more], capture_output=True, text=True)
    if ran.returncode != 0:
        return None
    told = json.loads(ran.stdout)
    return told["timing"]["chip"]["clocks"], told["instructions_executed"]


def kernels(binary):
    """By --json, or as older binaries print them."""
    ran = subprocess.run([binary, "kernels", "--json"], capture_output=True, text=True)
    if ran.returncode == 0:
        return [k["name"] for k in json.loads(ran.stdout)]
    told = subprocess.run([binary, "kernels"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^(\w+): ", told, re.M)


def former(names, numbers):
    """--set options that take a group back: the former value, or the one at which its mechanism does nothing."""
    sets = []
    for name, off in names.items():
        value = off if name in OFF else numbers.get(name, {}).get("value", off)
        if value is not None:
            sets += ["--set", f"{name}={value}"]
    return sets


def by_numbers(inlay, numbers, only):
    for target, of in numbers.items():
        sets, moved = [s for names in GROUPS.values() for s in former(names, of)], []
        for kernel in kernels(inlay):
            a, b = (timing(inlay, kernel, "", target, *NOW, *more) if only in kernel else None for more in (sets, []))
            if a and b and abs(b[0] / a[0] - 1) > LEAST:
                moved.append((b[0] / a[0] - 1, kernel))
        print(f"{target}: " + ", ".join(f"`{kernel}` {100 * part:+.0f}" for part, kernel in sorted(moved, key=lambda m: -m[0])))


def reasons(inlay, kernel, form, target, now, before, numbers, same_code):
    parts = []
    for what, names in GROUPS.items():
        t = timing(inlay, kernel, form, target, *NOW, *former(names, numbers))
        part = (now - t[0]) / before if t else 0
        if abs(part) >= 0.03:
            parts.append((part, what))
    left = (now - before) / before - sum(p for p, _ in parts)
    parts.sort(key=lambda p: -abs(p[0]))
    out = [f"{what} {100 * p:+.0f}" for p, what in parts]
    if abs(left) >= 0.03:
        out.append(("what has no number of its own" if same_code else "other machine code, and what has no number") + f" {100 * left:+.0f}")
    return "; ".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("inlay")
    parser.add_argument("before")
    parser.add_argument("--numbers", action="append", default=[])
    parser.add_argument("--write")
    parser.add_argument("--only", default="")
    o = parser.parse_args()
    numbers = {}
    for n in o.numbers:
        target, file = n.split("=", 1)
        with open(file, encoding="utf-8") as f:
            numbers[target] = json.load(f)["parameters"]
    if o.before == "-":
        by_numbers(o.inlay, numbers, o.only)
        return
    lines = ["| kernel | | target | clocks before | now | | of which, in points |", "|---|---|---|--:|--:|--:|---|"]
    moved = same = 0
    for kernel in kernels(o.before):
        if o.only not in kernel:
            continue
        for form in ["", *FORMS.get(kernel, [])]:
            for target in ("gfx942", "gfx950"):
                a = timing(o.before, kernel, form, target)
                b = timing(o.inlay, kernel, form, target, *NOW)
                if a is None or b is None:
                    print(f"left out: {kernel} {form} on {target}: {'the older' if a is None else 'this'} binary refuses it", file=sys.stderr)
                    continue
                if abs(b[0] / a[0] - 1) <= LEAST:
                    same += 1
                    continue
                moved += 1
                why = reasons(o.inlay, kernel, form, target, b[0], a[0], numbers.get(target, {}), a[1] == b[1])
                lines.append(f"| `{kernel}` | {form.replace('--', '') or 'default'} | {target} | {a[0]:.0f} | {b[0]:.0f} | {100 * (b[0] / a[0] - 1):+.0f} % | {why} |")
                print(lines[-1], flush=True)
    lines += ["", f"{same} others moved by a tenth or less."]
    print(lines[-1])
    if o.write:
        text = open(o.write, encoding="utf-8").read()
        begin, end = text.index("<!-- moved -->"), text.index("<!-- moved end -->")
        with open(o.write, "w", encoding="utf-8") as f:
            f.write(text[:begin] + "<!-- moved -->\n\n" + "\n".join(lines) + "\n\n" + text[end:])


if __name__ == "__main__":
    main()
